//! Rows over any span of ticks, also across windows and later: the dear enclosures of past windows are kept.
//!
//! A row over a span adds up what its parts in each window tell ([`Integrals`]): each with that window's bound on the
//! accelerations, and enclosures made with the set that was in force when the window came. Sets only shrink, so what was
//! made with an older one holds. What depends on the ends, and the charges on coefficients, are made with the present set.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::evaluator::{Evaluator, Evaluators, Form};
use super::integrals::{Enclosure, Integrals, Known};
use super::{Clock, Sample, Window};
use crate::enclose::Interval;
use crate::identify::polytope::{Origin, Rows, Source};
use crate::inertia::ParameterSet;
use crate::robot::{Arm, INERTIAL};
use crate::scalar::Scalar;

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
#[derive(Debug)]
pub struct Past {
    /// First tick and last.
    ticks: Range<usize>,
    acceleration_bound: Vec<f64>,
    clock: Clock,
    enclosure: Enclosure,
    /// int Y_f over the whole window, row-major n x 10 n.
    whole: Vec<Interval>,
}

/// What is at a tick, for one joint: coefficients of its momentum (10 n), and what the encoders may change in y z there.
#[derive(Debug, Clone)]
pub struct End {
    y: Vec<f64>,
    error: f64,
}

/// Makes rows over a history, z lying in one set; keeps what it has found at ticks.
#[derive(Debug)]
pub struct RowMaker<'a> {
    robot: &'a Arm,
    known: Known<'a>,
    history: &'a History,
    /// Noted in the rows: the step of learning that makes them.
    step: u32,
    ends: HashMap<(usize, usize), End>,
}

impl History {
    /// Encloses windows, each with the tick of its first sample, in order of time; z is taken to lie in `set`.
    pub fn extend(&mut self, robot: &Arm, set: &ParameterSet, windows: &[(usize, Window)]) {
        let known = Known::new(set);
        let storage = || Evaluators::new(robot);
        let enclose = |storage: &mut Evaluators, (first, window): &(usize, Window)| {
            let integrals = Integrals::new(robot, &known, window);
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
        let past: Vec<Past> = windows.par_iter().map_init(storage, enclose).collect();
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

    /// The stretch in which all of a span lies.
    fn around(&self, pick: &Pick) -> Option<&Stretch> {
        self.stretches.iter().find(|s| s.first <= pick.from && pick.from < pick.to && pick.to <= s.last())
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

impl Past {
    /// First tick and last.
    pub fn ticks(&self) -> &Range<usize> {
        &self.ticks
    }

    /// The middles of Y_f at the window's tick number `k` for row `i`: 10 n of them.
    pub fn rate(&self, n: usize, k: usize, i: usize) -> impl Iterator<Item = f64> + '_ {
        self.enclosure.rate(n, k, i).iter().map(|y| y.midpoint())
    }

    /// Its integrals.
    fn integrals<'a>(&'a self, robot: &'a Arm, known: &'a Known<'a>, stretch: &'a Stretch) -> Integrals<'a> {
        let samples = stretch.samples(&self.ticks);
        Integrals::of_samples(robot, known, samples, &self.acceleration_bound, self.clock)
    }
}

impl End {
    /// What the encoders may change in y z, N m s.
    pub fn error(&self) -> f64 {
        self.error
    }
}

impl<'a> RowMaker<'a> {
    /// For z in `set`, which must lie in those that the windows were enclosed with; the rows are those of the given step of learning.
    pub fn new(robot: &'a Arm, set: &'a ParameterSet, history: &'a History, step: usize) -> Self {
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        Self { robot, known: Known::new(set), history, step, ends: HashMap::new() }
    }

    /// Whose rows they are.
    pub fn robot(&self) -> &'a Arm {
        self.robot
    }

    /// The rows of `picks`, over the full parameter vector; those whose span is not all in the history are left out.
    pub fn rows(&mut self, picks: &[Pick]) -> Rows {
        let picks: Vec<(&Pick, &Stretch)> =
            picks.iter().filter_map(|pick| Some((pick, self.history.around(pick)?))).collect();
        self.place_ends(&picks);
        let this = &*self;
        let made: Vec<_> = picks.par_iter().map(|(pick, stretch)| this.row(pick, stretch)).collect();
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

    /// What is at a tick that a row has begun or ended at.
    pub fn end(&self, tick: usize, joint: usize) -> Option<&End> {
        self.ends.get(&(tick, joint))
    }

    /// Momenta at the ends of the picks' spans that are not known yet.
    fn place_ends(&mut self, picks: &[(&Pick, &'a Stretch)]) {
        let both = picks.iter().flat_map(|(p, s)| [(p.from, p.joint, *s), (p.to, p.joint, *s)]);
        let mut wanted: Vec<(usize, usize, &Stretch)> =
            both.filter(|(tick, joint, _)| !self.ends.contains_key(&(*tick, *joint))).collect();
        wanted.sort_unstable_by_key(|(tick, joint, _)| (*tick, *joint));
        wanted.dedup_by_key(|(tick, joint, _)| (*tick, *joint));
        let (robot, known) = (self.robot, &self.known);
        let at_tick = |forms: &mut Evaluator<Form>, group: &[(usize, usize, &Stretch)]| {
            let (tick, _, stretch) = group[0];
            // The bound on the accelerations is of no account at a tick.
            let sample = std::slice::from_ref(&stretch.samples[tick - stretch.first]);
            let integrals = Integrals::of_samples(robot, known, sample, &[], Clock::Control);
            integrals.place(forms, 0);
            let one = |&(tick, joint, _): &(usize, usize, &Stretch)| {
                let mut y = vec![];
                let error = integrals.momentum(forms, joint, &mut y);
                ((tick, joint), End { y, error })
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
    fn row(&self, pick: &Pick, stretch: &Stretch) -> (Vec<f64>, f64, f64, Origin) {
        let Self { robot, known, .. } = self;
        let Pick { from, to, joint } = *pick;
        let width = INERTIAL * robot.dof();
        let [first, last] = [from, to].map(|tick| &self.ends[&(tick, joint)]);
        let mut error = Interval::constant(first.error) + Interval::constant(last.error);
        let mut lever = [Interval::zero(); 3];
        let (mut rate, mut part) = (vec![Interval::zero(); width], vec![]);
        let mut bound = vec![0.0_f64; robot.dof()];
        let touched = stretch.windows.iter().filter(|past| past.ticks.start < to && from < past.ticks.end);
        let mut clock = Clock::Control;
        for past in touched {
            let own = &past.ticks;
            let span = own.start.max(from) - own.start..own.end.min(to) - own.start;
            let integrals = past.integrals(robot, known, stretch);
            let part = if span.len() == own.len() {
                &past.whole[width * joint..][..width]
            } else {
                integrals.rate(&span, joint, &past.enclosure, &mut part);
                &part[..]
            };
            rate.iter_mut().zip(part).for_each(|(sum, y)| *sum = *sum + *y);
            error = error + integrals.swing(&span, joint, &past.enclosure);
            let more = integrals.lever(&span, joint, &past.enclosure);
            lever = std::array::from_fn(|k| lever[k] + more[k]);
            bound.iter_mut().zip(&past.acceleration_bound).for_each(|(a, b)| *a = a.max(*b));
            clock = past.clock;
        }
        let links = first.y.iter().zip(&last.y).zip(&rate);
        let links = links.map(|((a, b), rate)| Interval::constant(*b) - Interval::constant(*a) - *rate);
        let samples = stretch.samples(&(from..to));
        let own = Integrals::of_samples(robot, known, samples, &bound, clock);
        let error = error + own.tilt(&lever);
        let mut coefficients = vec![0.0; robot.parameter_count()];
        let (u, radius) = own.balance(joint, links, error, |column, y| coefficients[column] = y);
        (coefficients, u, radius, Origin { t: own.end(), joint })
    }
}
