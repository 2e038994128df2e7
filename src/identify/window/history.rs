//! Rows over any span of ticks, also across windows and later: the dear enclosures of past windows are kept.
//!
//! A row over a span adds up what its parts in each window tell ([`Integrals`]): each with that window's bound on the
//! accelerations. The enclosures that are kept do not depend on the set of z; all that does is made anew for each [`RowMaker`], so a row is
//! as tight as the set at hand allows, however old its measurements are.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::evaluator::{Evaluator, Evaluators, Form};
use super::integrals::{Charges, Enclosure, Integrals, Known};
use super::{Clock, Window};
use crate::enclose::Interval;
use crate::identify::polytope::{Origin, Rows, Source};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::recording::Sample;
use crate::robot::Arm;
use crate::scalar::{Scalar, replaced};

/// A span of ticks, and the joint whose row over it is worth having.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pick {
    /// First tick.
    pub from: usize,
    /// Last tick, later than the first.
    pub to: usize,
    /// Joint index.
    pub joint: usize,
}

/// Windows of the past, in stretches without a gap. Ticks are counted by whoever fills it.
#[derive(Debug, Clone, Default)]
pub struct History {
    stretches: Vec<Stretch>,
}

/// Consecutive windows.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// The first sample's tick.
    first: usize,
    samples: Vec<Sample>,
    windows: Vec<Arc<Past>>,
}

/// A window with what is dear about it.
#[derive(Debug, Clone)]
pub struct Past {
    /// First tick and last.
    ticks: Range<usize>,
    acceleration_bound: Vec<f64>,
    clock: Clock,
    enclosure: Enclosure,
    /// int Y_f over the whole window, row-major n x 10 n.
    whole: Vec<Interval>,
}

/// A window of a history, and where it is.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    /// Number of its stretch.
    pub stretch: usize,
    /// Its number within that.
    pub number: usize,
    /// The window.
    pub past: &'a Past,
}

/// What is at a tick, for one joint: coefficients of its momentum (10 n), and what the encoders may change in y z there.
#[derive(Debug, Clone)]
pub struct TickEnd {
    y: Vec<f64>,
    error: f64,
}

/// Makes rows over a history, z lying in one set; keeps what it has found at ticks.
#[derive(Debug)]
pub struct RowMaker<'a> {
    robot: &'a Arm,
    known: Known<'a>,
    history: &'a History,
    /// Of the windows of each stretch.
    charges: Vec<Vec<Charges>>,
    /// Noted in the rows: the step of learning that makes them.
    step: u32,
    ends: HashMap<(usize, usize), TickEnd>,
}

impl History {
    /// Encloses windows, each with the tick of its first sample. No set of parameters has a say in that: it may be done at any time.
    pub fn enclose(robot: &Arm, windows: &[(usize, Window)]) -> Vec<Past> {
        let storage = || Evaluators::new(robot);
        let enclose = |storage: &mut Evaluators, (first, window): &(usize, Window)| {
            let integrals = Integrals::new(robot, window);
            let mut enclosure = Enclosure::default();
            integrals.fill(storage, &mut enclosure);
            let (mut whole, mut row) = (vec![], vec![]);
            let span = 0..integrals.panels();
            for i in 0..robot.dof() {
                integrals.rate(&span, i, &enclosure, &mut row);
                whole.extend_from_slice(&row);
            }
            let ticks = *first..first + integrals.panels();
            let (acceleration_bound, clock) = (window.acceleration_bound.clone(), window.clock);
            Past { ticks, acceleration_bound, clock, enclosure, whole }
        };
        windows.par_iter().map_init(storage, enclose).collect()
    }

    /// Encloses windows and takes them in, in order of time.
    pub fn extend(&mut self, robot: &Arm, windows: &[(usize, Window)]) {
        self.extend_enclosed(windows, Self::enclose(robot, windows));
    }

    /// Takes windows in that have been enclosed, in order of time.
    pub fn extend_enclosed(&mut self, windows: &[(usize, Window)], past: Vec<Past>) {
        for (past, (first, window)) in past.into_iter().zip(windows) {
            let follows = |stretch: &&mut Stretch| {
                stretch.last() == *first && stretch.samples.last() == window.samples.first()
            };
            match self.stretches.last_mut().filter(follows) {
                Some(stretch) => {
                    stretch.samples.extend_from_slice(&window.samples[1..]);
                    stretch.windows.push(Arc::new(past));
                }
                None => self.stretches.push(Stretch {
                    first: *first,
                    samples: window.samples.clone(),
                    windows: vec![Arc::new(past)],
                }),
            }
        }
    }

    /// Drops all but the last `count` windows.
    pub fn forget(&mut self, count: usize) {
        let mut surplus = self.stretches.iter().map(|s| s.windows.len()).sum::<usize>().saturating_sub(count);
        for stretch in &mut self.stretches {
            let dropped = surplus.min(stretch.windows.len());
            surplus -= dropped;
            let ticks: usize = stretch.windows.drain(..dropped).map(|past| past.ticks.len()).sum();
            stretch.samples.drain(..ticks);
            stretch.first += ticks;
        }
        self.stretches.retain(|stretch| !stretch.windows.is_empty());
    }

    /// Drops the windows that end at `tick` or before.
    pub fn forget_before(&mut self, tick: usize) {
        let old = |past: &&Arc<Past>| past.ticks.end <= tick;
        let count: usize =
            self.stretches.iter().map(|s| s.windows.iter().filter(|past| !old(past)).count()).sum();
        self.forget(count);
    }

    /// Whether all of a span lies in windows that are remembered, without a gap.
    pub fn holds(&self, pick: &Pick) -> bool {
        self.around(pick).is_some()
    }

    /// The stretches, in order of time.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// All windows, in order of time.
    pub fn windows(&self) -> impl Iterator<Item = Placed<'_>> {
        let each = self.stretches.iter().enumerate();
        each.flat_map(|(stretch, s)| {
            let own = s.windows.iter().enumerate();
            own.map(move |(number, past)| Placed { stretch, number, past })
        })
    }

    /// Number of the stretch in which all of a span lies.
    fn around(&self, pick: &Pick) -> Option<usize> {
        self.stretches.iter().position(|s| s.first <= pick.from && pick.from < pick.to && pick.to <= s.last())
    }
}

impl Stretch {
    /// The last sample's tick.
    fn last(&self) -> usize {
        self.first + self.samples.len() - 1
    }

    /// Its windows, in order of time.
    pub fn windows(&self) -> &[Arc<Past>] {
        &self.windows
    }

    /// The samples from the first tick of `ticks` to the last.
    pub fn samples(&self, ticks: &Range<usize>) -> &[Sample] {
        &self.samples[ticks.start - self.first..=ticks.end - self.first]
    }
}

impl Placed<'_> {
    /// What to pick for the rows over all of it, of so many joints.
    pub fn whole(&self, joints: usize) -> impl Iterator<Item = Pick> + use<> {
        let Range { start: from, end: to } = self.past.ticks;
        (0..joints).map(move |joint| Pick { from, to, joint })
    }
}

impl Past {
    /// First tick and last.
    pub fn ticks(&self) -> &Range<usize> {
        &self.ticks
    }

    /// The middles of Y_f at the window's tick number `k` for row `i`, from the columns of body i on.
    pub fn rate(&self, n: usize, k: usize, i: usize) -> impl Iterator<Item = f64> + '_ {
        self.enclosure.rate(n, k, i).iter().map(|y| y.midpoint())
    }

    /// Its integrals.
    fn integrals<'a>(&'a self, robot: &'a Arm, stretch: &'a Stretch) -> Integrals<'a> {
        Integrals::of_samples(robot, stretch.samples(&self.ticks), &self.acceleration_bound, self.clock)
    }
}

impl TickEnd {
    /// What the encoders may change in y z, N m s.
    pub fn error(&self) -> f64 {
        self.error
    }
}

impl<'a> RowMaker<'a> {
    /// For z in `set`; the rows are those of the given step of learning.
    pub fn new(robot: &'a Arm, set: &'a ParameterSet, history: &'a History, step: usize) -> Self {
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        let known = Known::new(set);
        let of = |stretch: &Stretch| -> Vec<Charges> {
            let each = |past: &Arc<Past>| past.integrals(robot, stretch).charges(&known, &past.enclosure);
            stretch.windows.par_iter().map(each).collect()
        };
        let charges = history.stretches.iter().map(of).collect();
        Self { robot, known, history, charges, step, ends: HashMap::new() }
    }

    /// Whose rows they are.
    pub fn robot(&self) -> &'a Arm {
        self.robot
    }

    /// The rows of `picks`, over the full parameter vector; those whose span is not all in the history are left out.
    pub fn rows(&mut self, picks: &[Pick]) -> Rows {
        let picks: Vec<(&Pick, usize)> =
            picks.iter().filter_map(|pick| Some((pick, self.history.around(pick)?))).collect();
        let both = picks.iter().flat_map(|(p, s)| [(p.from, p.joint, *s), (p.to, p.joint, *s)]);
        self.place_ends(both.collect());
        let this = &*self;
        let made: Vec<_> = picks.par_iter().map(|(pick, stretch)| this.row(pick, *stretch)).collect();
        let number = |x: usize| u32::try_from(x).ok();
        let source = |pick: &Pick| {
            Some(Source::Span([number(pick.joint)?, number(pick.from)?, number(pick.to)?, self.step]))
        };
        let mut rows = Rows::none(self.robot.parameter_count());
        rows.y = nalgebra::DMatrix::zeros(made.len(), self.robot.parameter_count());
        for (w, (coefficients, u, radius, origin)) in made.into_iter().enumerate() {
            rows.y.row_mut(w).iter_mut().zip(coefficients).for_each(|(y, c)| *y = c);
            rows.u.push(u);
            rows.radius.push(radius);
            rows.origin.push(origin);
            rows.source.push(source(picks[w].0));
        }
        rows
    }

    /// Number `k` of its history's stretches.
    pub fn stretch(&self, k: usize) -> &'a Stretch {
        &self.history.stretches[k]
    }

    /// What is at a tick that a row has begun or ended at.
    pub fn end(&self, tick: usize, joint: usize) -> Option<&TickEnd> {
        self.ends.get(&(tick, joint))
    }

    /// What a row over one whole window is charged for the accelerations between its ticks and for the direction of gravity, by stretch,
    /// number of the window within it, and joint; N m s.
    pub fn charge(&self, stretch: usize, window: usize, joint: usize) -> f64 {
        let past = &self.history.stretches[stretch].windows[window];
        let integrals = past.integrals(self.robot, &self.history.stretches[stretch]);
        let (span, charges) = (0..past.ticks.len(), &self.charges[stretch][window]);
        let lever = integrals.lever(&span, joint, charges);
        (integrals.swing(&span, joint, charges) + integrals.tilt(&lever)).upper()
    }

    /// Places what is at the first ticks of these windows, for every joint.
    pub fn place_starts<'w>(&mut self, windows: impl Iterator<Item = Placed<'w>>) {
        let n = self.robot.dof();
        let each = |Placed { stretch, past, .. }: Placed<'w>| {
            let tick = past.ticks.start;
            (0..n).map(move |joint| (tick, joint, stretch))
        };
        self.place_ends(windows.flat_map(each).collect());
    }

    /// Momenta at these ticks, for a joint each, with the number of their stretch, unless they are known.
    fn place_ends(&mut self, mut wanted: Vec<(usize, usize, usize)>) {
        wanted.retain(|(tick, joint, _)| !self.ends.contains_key(&(*tick, *joint)));
        wanted.sort_unstable_by_key(|(tick, joint, _)| (*tick, *joint));
        wanted.dedup_by_key(|(tick, joint, _)| (*tick, *joint));
        let (robot, known, history) = (self.robot, &self.known, self.history);
        let at_tick = |forms: &mut Evaluator<Form>, group: &[(usize, usize, usize)]| {
            let (tick, _, stretch) = group[0];
            let stretch = &history.stretches[stretch];
            let sample = std::slice::from_ref(&stretch.samples[tick - stretch.first]);
            // A reading is of the time before its tick.
            let before =
                stretch.windows.iter().find(|past| past.ticks.start <= tick && tick <= past.ticks.end);
            let bound = before.map_or(&[][..], |past| &past.acceleration_bound);
            let integrals = Integrals::of_samples(robot, sample, bound, Clock::Control);
            integrals.place(forms, 0);
            let one = |&(tick, joint, _): &(usize, usize, usize)| {
                let mut y = vec![];
                let error = integrals.momentum(known, forms, joint, &mut y);
                ((tick, joint), TickEnd { y, error })
            };
            group.iter().map(one).collect::<Vec<_>>()
        };
        let groups: Vec<&[_]> = wanted.chunk_by(|a, b| a.0 == b.0).collect();
        let found: Vec<Vec<_>> = groups
            .par_iter()
            .map_init(|| Evaluator::new(robot), |forms, group| at_tick(forms, group))
            .collect();
        self.ends.extend(found.into_iter().flatten());
    }

    /// Coefficients, u, radius and origin of a row.
    fn row(&self, pick: &Pick, stretch: usize) -> (Vec<f64>, f64, f64, Origin) {
        let Self { robot, known, .. } = self;
        let (stretch, charges) = (&self.history.stretches[stretch], &self.charges[stretch]);
        let Pick { from, to, joint } = *pick;
        let width = INERTIAL * robot.dof();
        let [first, last] = [from, to].map(|tick| &self.ends[&(tick, joint)]);
        let mut error = Interval::constant(first.error) + Interval::constant(last.error);
        let mut lever = [Interval::zero(); 3];
        let (mut rate, mut part) = (vec![Interval::zero(); width], vec![]);
        let mut bound = vec![0.0_f64; robot.dof()];
        let windows = stretch.windows.iter().zip(charges);
        let touched = windows.filter(|(past, _)| past.ticks.start < to && from < past.ticks.end);
        let mut clock = Clock::Control;
        for (past, charges) in touched {
            let own = &past.ticks;
            let span = own.start.max(from) - own.start..own.end.min(to) - own.start;
            let integrals = past.integrals(robot, stretch);
            let part = if span.len() == own.len() {
                &past.whole[width * joint..][..width]
            } else {
                integrals.rate(&span, joint, &past.enclosure, &mut part);
                &part[..]
            };
            rate.iter_mut().zip(part).for_each(|(sum, y)| *sum = *sum + *y);
            error = error + integrals.swing(&span, joint, charges);
            let more = integrals.lever(&span, joint, charges);
            lever = replaced(lever, |k, x| x + more[k]);
            bound.iter_mut().zip(&past.acceleration_bound).for_each(|(a, b)| *a = a.max(*b));
            clock = past.clock;
        }
        let links = first.y.iter().zip(&last.y).zip(&rate);
        let links = links.map(|((a, b), rate)| Interval::constant(*b) - Interval::constant(*a) - *rate);
        let samples = stretch.samples(&(from..to));
        let own = Integrals::of_samples(robot, samples, &bound, clock);
        let error = error + own.tilt(&lever);
        let mut coefficients = vec![0.0; robot.parameter_count()];
        let (u, radius) = own.balance(known, joint, links, error, |column, y| coefficients[column] = y);
        (coefficients, u, radius, Origin { t: own.end(), joint })
    }
}
