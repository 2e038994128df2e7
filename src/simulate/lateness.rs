//! When the readings of a simulated arm are taken and its commands act, within the robot's bounds.
//!
//! The seed decides what habit each of them has, so that runs meet the ends of the bounds as well as their inside: always the same, often at the
//! bound; at each tick one end or the other; or anywhere between.

use std::collections::VecDeque;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::robot::{Arm, TimingBounds};

use super::drives::WITHIN;

/// How a time lies between its least and its largest value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Habit {
    /// Always this share of the way.
    Same(f64),
    /// At one end or the other.
    Ends,
    /// Anywhere.
    Any,
}

impl Habit {
    pub fn draw(rng: &mut ChaCha8Rng) -> Self {
        match rng.random_range(0..4) {
            0 => Self::Same(1.0),
            1 => Self::Same(rng.random()),
            2 => Self::Ends,
            _ => Self::Any,
        }
    }

    pub fn share(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Same(share) => share,
            Self::Ends => f64::from(u8::from(rng.random::<bool>())),
            Self::Any => rng.random(),
        }
    }
}

/// A state at the encoders.
#[derive(Debug, Clone)]
struct Passed {
    t: f64,
    q: Vec<f64>,
    dq: Vec<f64>,
}

/// Readings that were, and commands that are on their way.
#[derive(Debug)]
pub(crate) struct Lateness {
    bounds: TimingBounds,
    /// Of ages, delays and jitter.
    habits: [Habit; 3],
    rng: ChaCha8Rng,
    /// By how much the clock is ahead of whole periods, s.
    shift_s: f64,
    /// When they act, s; the next one first.
    coming: VecDeque<(f64, Vec<f64>)>,
    /// The command in effect, N m; none while the arm's own drives hold it.
    acting: Option<Vec<f64>>,
    /// Oldest first.
    past: VecDeque<Passed>,
}

impl Lateness {
    /// Of `robot` as `seed` makes it; none if all is on time.
    pub fn new(robot: &Arm, seed: u64) -> Option<Self> {
        robot.timing().first_above_zero()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(6);
        Some(Self {
            bounds: robot.timing(),
            habits: std::array::from_fn(|_| Habit::draw(&mut rng)),
            rng,
            shift_s: 0.0,
            coming: VecDeque::new(),
            acting: None,
            past: VecDeque::new(),
        })
    }

    /// By how much the clock is ahead of whole periods, s.
    pub fn shift_s(&self) -> f64 {
        self.shift_s
    }

    fn drawn(&mut self, k: usize) -> f64 {
        self.habits[k].share(&mut self.rng)
    }

    /// How long it takes from this tick to the next, s.
    pub fn next_length(&mut self, period_s: f64) -> f64 {
        let jitter = WITHIN * self.bounds.jitter_max_s * (2.0 * self.drawn(2) - 1.0);
        self.shift_s += jitter;
        period_s + jitter
    }

    /// Takes the command of the tick at `t`. Commands act in the order in which they are given.
    pub fn command(&mut self, t: f64, tau: &[f64]) {
        let at = t + WITHIN * self.bounds.command_delay_max_s * self.drawn(1);
        let before = self.coming.back().map_or(at, |(before, _)| *before);
        self.coming.push_back((at.max(before), tau.to_vec()));
    }

    /// Until when, at most `end` (s), the command in effect acts.
    pub fn until(&self, end: f64) -> f64 {
        self.coming.front().map_or(end, |(at, _)| at.min(end))
    }

    /// The commands that have come by `t` are in effect.
    pub fn arrive(&mut self, t: f64) {
        while self.coming.front().is_some_and(|(at, _)| *at <= t) {
            self.acting = self.coming.pop_front().map(|(_, tau)| tau);
        }
    }

    /// The command in effect, N m; none while the arm's own drives hold it.
    pub fn acting(&self) -> Option<&[f64]> {
        self.acting.as_deref()
    }

    /// The arm's own drives hold it from now on.
    pub fn let_go(&mut self) {
        self.coming.clear();
        self.acting = None;
    }

    /// Notes the state at the encoders at `t`.
    pub fn remember(&mut self, t: f64, (q, dq): (&[f64], &[f64])) {
        self.past.push_back(Passed { t, q: q.to_vec(), dq: dq.to_vec() });
        // One that is older than any reading stays, to come from.
        let oldest = t - self.bounds.reading_age_max_s;
        while self.past.get(1).is_some_and(|passed| passed.t < oldest) {
            self.past.pop_front();
        }
    }

    /// The state at the encoders that the tick at `t` is told, given the one there now. Between two states that are remembered it is the cubic through
    /// both; before the first one the arm stood.
    pub fn read(&mut self, t: f64, now: (&[f64], &[f64])) -> (Vec<f64>, Vec<f64>) {
        self.remember(t, now);
        let t = t - WITHIN * self.bounds.reading_age_max_s * self.drawn(0);
        let pairs = self.past.iter().zip(self.past.iter().skip(1));
        let around = pairs.rev().find(|(a, b)| a.t <= t && t <= b.t && a.t < b.t);
        let Some((a, b)) = around else {
            let end = if self.past[0].t >= t { self.past.front() } else { self.past.back() };
            return end.map_or_else(Default::default, |end| (end.q.clone(), end.dq.clone()));
        };
        let (length, x) = (b.t - a.t, (t - a.t) / (b.t - a.t));
        let cubic = |j: usize| {
            let (rise, start, end) = (b.q[j] - a.q[j], length * a.dq[j], length * b.dq[j]);
            // q_a + x (start + x (c + x d))
            let (c, d) = (3.0 * rise - 2.0 * start - end, start + end - 2.0 * rise);
            (a.q[j] + x * (start + x * (c + x * d)), (start + x * (2.0 * c + 3.0 * x * d)) / length)
        };
        (0..a.q.len()).map(cubic).unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot;

    const BOUNDS: TimingBounds = TimingBounds {
        reading_age_max_s: 2.5e-3,
        command_delay_max_s: 1.5e-3,
        jitter_max_s: 2e-4,
        ..TimingBounds::EXACT
    };

    #[test]
    fn readings_and_commands_are_late_within_their_bounds_and_reach_them() {
        let arm = robot::load("kinova_gen3_2f85").unwrap();
        assert!(Lateness::new(&arm, 1).is_none());
        let arm = arm.with_timing(BOUNDS).unwrap();
        let (mut ages, mut delays, mut jitters) = ([1.0f64, 0.0], [1.0f64, 0.0], [1.0f64, -1.0]);
        let note = |range: &mut [f64; 2], x: f64| *range = [range[0].min(x), range[1].max(x)];
        for seed in 0..20 {
            let mut late = Lateness::new(&arm, seed).unwrap();
            let (mut t, mut acts_at) = (0.0, 0.0);
            for k in 0..200 {
                // A motion whose position tells when it was: the cubic through it is exact.
                let q = |t: f64| [t * t * t - 2.0 * t, 5.0];
                let dq = |t: f64| [3.0 * t * t - 2.0, 0.0];
                let (read, rate) = late.read(t, (&q(t), &dq(t)));
                // By Newton: when that position was.
                let was = (0..9).fold(t, |s, _| s - (q(s)[0] - read[0]) / dq(s)[0]);
                assert!((rate[0] - dq(was)[0]).abs() < 1e-9 && read[1] == 5.0);
                if t > BOUNDS.reading_age_max_s {
                    note(&mut ages, t - was);
                }
                late.command(t, &[f64::from(k)]);
                let end = t + late.next_length(1e-3);
                note(&mut jitters, end - t - 1e-3);
                while late.until(end) < end {
                    acts_at = late.until(end);
                    late.arrive(acts_at);
                    let given = late.acting().unwrap()[0] as usize;
                    assert!(given <= k as usize);
                }
                let newest = late.coming.back().map_or(acts_at, |(at, _)| *at);
                note(&mut delays, newest - t);
                t = end;
            }
            late.let_go();
            assert!(late.acting().is_none() && late.until(t + 1.0) == t + 1.0);
        }
        let near = |range: [f64; 2], low: f64, high: f64| {
            assert!(range[0] >= low - 1e-9 && range[0] < low + 1e-6, "{range:?}");
            assert!(range[1] <= high + 1e-9 && range[1] > high - 1e-6, "{range:?}");
        };
        near(ages, 0.0, BOUNDS.reading_age_max_s);
        near(delays, 0.0, BOUNDS.command_delay_max_s);
        near(jitters, -BOUNDS.jitter_max_s, BOUNDS.jitter_max_s);
    }
}
