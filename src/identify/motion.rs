//! Whether a recorded motion is one that the stated bounds allow, and how much larger they would have to be.
//!
//! # What is compared
//! Over the steps from tick a to tick b of a segment, of lengths D_k and together T, the true motion satisfies for each joint
//!
//! ```text
//! |q_b - q_a - sum_k D_k (dq_k + dq_(k+1))/2| <= A sum_k D_k^2/4,     |dq_b - dq_a| <= A T,     A >= |ddq|.
//! ```
//!
//! **Proof.** With m the middle of a step, integration by parts gives int dq = D (dq_k + dq_(k+1))/2 - int (t - m) ddq dt, and
//! int |t - m| dt = D^2/4. The second is the integral of ddq.
//!
//! Readings are off by at most delta_q and delta_dq at every tick. So with readings in place of the truth the first right-hand side grows
//! by 2 delta_q + T delta_dq (the weights of the velocities sum to T), the second by 2 delta_dq. A reading beyond that proves that one of
//! four statements is false: the bound on positions, on velocities, on accelerations, or the time stamps.
//!
//! Where the robot's file says that readings may be s old, each is off by up to s A in velocity and s (|dq| + delta_dq) + s^2 A / 2 in position beside that. The
//! right-hand sides grow by 2 s delta_dq + (T s + s^2) A and by 2 s A, and s (|dq_a| + |dq_b|), as read, is taken from the first left-hand side.
//!
//! Steps are also taken together, by powers of two up to `LONGEST`: a small constant error of the velocity shows over many
//! steps alone. No comparison reaches over a gap, as no row of data does.
//!
//! Each right-hand side is linear in each bound. So the factor of one bound that is needed while the others stay as stated is a quotient,
//! and the largest of them over all comparisons is enough for all.

use serde::Serialize;

use super::recorded::clock_of;
use super::window::Clock;
use crate::recording::MeasurementLog;
use crate::recording::Sample;
use crate::robot::{Arm, Sensors};

mod stamps;

/// Steps that are taken together, at most.
const LONGEST: usize = 128;
/// Share of the size of what is compared that counts as rounding (of the file's figures and of the sums).
const ROUNDING: f64 = 1e-9;
/// A factor is given so much larger than the quotient, whose own rounding is smaller.
const UPWARD: f64 = 1.0 + 1e-9;

/// What two readings of the encoders say of one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Positions move as the integral of the velocities.
    PositionAgainstVelocity,
    /// Velocities change no faster than the accelerations allow.
    VelocityAgainstAcceleration,
}

/// A bound that may be too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MotionBound {
    /// On the error of measured positions.
    Position,
    /// On the error of measured velocities.
    Velocity,
    /// Both of these.
    Encoders,
    /// On the accelerations.
    Acceleration,
    /// On the error of measured torques.
    Torque,
    /// On the errors of positions, velocities and torques together.
    Sensors,
}

/// What a bound would have to be multiplied by, all others as stated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Remedy {
    /// Which.
    pub bound: MotionBound,
    /// Proven: with a smaller factor the recordings still contradict it. None: with any factor.
    pub at_least: Option<f64>,
    /// Proven: with this factor this comparison passes everywhere. None: no such factor was found.
    pub enough: Option<f64>,
}

/// A comparison that fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenMotion {
    /// Which.
    pub comparison: Comparison,
    /// Steps between successive samples over which it fails for some joint.
    pub steps: usize,
    /// Of so many.
    pub of: usize,
    /// Where it fails the most: index of the log,
    pub log: usize,
    /// joint index,
    pub joint: usize,
    /// end of the steps, s,
    pub t: f64,
    /// and how long they take, s.
    pub over_s: f64,
    /// Bound by bound what would be enough; each alone.
    pub remedies: Vec<Remedy>,
}

/// Recordings and what is said of their motion.
#[derive(Clone, Copy)]
pub struct RecordedMotion<'a> {
    /// The arm; its sensor bounds are the stated ones.
    pub robot: &'a Arm,
    /// The recordings.
    pub logs: &'a [MeasurementLog],
    /// Bound on |ddq_j|, rad/s^2.
    pub acceleration: &'a [f64],
}

/// One joint over some steps.
struct Reading {
    log: usize,
    joint: usize,
    /// First and last tick within the log.
    from: usize,
    to: usize,
    /// Left-hand sides less their rounding, rad and rad/s.
    moved: f64,
    gained: f64,
    /// T, s, and sum D_k^2/4, s^2.
    elapsed: f64,
    quarters: f64,
    /// Readings may be so old, s.
    age: f64,
}

impl Comparison {
    /// Both.
    pub const ALL: [Self; 2] = [Self::PositionAgainstVelocity, Self::VelocityAgainstAcceleration];

    /// The bounds of which some factor may be enough.
    fn bounds(self) -> &'static [MotionBound] {
        match self {
            Self::PositionAgainstVelocity => &[
                MotionBound::Position,
                MotionBound::Velocity,
                MotionBound::Encoders,
                MotionBound::Acceleration,
            ],
            Self::VelocityAgainstAcceleration => &[MotionBound::Velocity, MotionBound::Acceleration],
        }
    }
}

impl Reading {
    /// The left-hand side, and what each of positions, velocities and accelerations adds to the right-hand side.
    fn terms(&self, comparison: Comparison, sensors: &Sensors, acceleration: f64) -> (f64, [f64; 3]) {
        let Sensors { position_rad, velocity_rad_s, .. } = *sensors;
        match comparison {
            Comparison::PositionAgainstVelocity => {
                let (age, elapsed) = (self.age, self.elapsed);
                let late = age * (elapsed + age);
                let velocity = (elapsed + 2.0 * age) * velocity_rad_s;
                (self.moved, [2.0 * position_rad, velocity, acceleration * (self.quarters + late)])
            }
            Comparison::VelocityAgainstAcceleration => {
                let elapsed = self.elapsed + 2.0 * self.age;
                (self.gained, [0.0, 2.0 * velocity_rad_s, acceleration * elapsed])
            }
        }
    }

    /// The factor of `bound` from which on `comparison` passes; 1 if it passes as it is, infinite if none helps.
    fn factor(
        &self,
        comparison: Comparison,
        bound: MotionBound,
        sensors: &Sensors,
        acceleration: f64,
    ) -> f64 {
        let (left, right) = self.terms(comparison, sensors, acceleration);
        if left <= right.iter().sum::<f64>() {
            return 1.0;
        }
        let grows = match bound {
            MotionBound::Position => [true, false, false],
            MotionBound::Velocity => [false, true, false],
            MotionBound::Encoders => [true, true, false],
            MotionBound::Acceleration => [false, false, true],
            MotionBound::Torque | MotionBound::Sensors => [false; 3],
        };
        let part = |which: bool| -> f64 {
            right.iter().zip(grows).filter(|(_, grows)| *grows == which).map(|(x, _)| x).sum()
        };
        (left - part(false)) / part(true)
    }
}

impl RecordedMotion<'_> {
    /// The comparisons that fail, with what would be enough.
    pub fn broken(&self) -> Vec<BrokenMotion> {
        Comparison::ALL.into_iter().filter_map(|comparison| self.broken_by(comparison)).collect()
    }

    fn broken_by(&self, comparison: Comparison) -> Option<BrokenMotion> {
        let sensors = self.robot.sensors();
        let bounds = comparison.bounds();
        // A comparison that fails is told by the factor of all that may grow in it.
        let mut worst: Option<(f64, usize, usize, usize, f64)> = None;
        let mut factors = vec![1.0_f64; bounds.len()];
        let (mut of, mut steps) = (0, 0);
        let mut last: Option<(usize, usize)> = None;
        self.visit(&self.times(), |r| {
            let acceleration = self.acceleration[r.joint];
            let single = r.to == r.from + 1;
            of += usize::from(single && r.joint == 0);
            let (left, right) = r.terms(comparison, sensors, acceleration);
            let right: f64 = right.iter().sum();
            if left <= right {
                return;
            }
            if single && last != Some((r.log, r.from)) {
                steps += 1;
                last = Some((r.log, r.from));
            }
            for (factor, &bound) in factors.iter_mut().zip(bounds) {
                *factor = factor.max(r.factor(comparison, bound, sensors, acceleration));
            }
            let excess = left / right;
            if worst.as_ref().is_none_or(|(most, ..)| excess > *most) {
                worst = Some((excess, r.log, r.joint, r.to, r.elapsed));
            }
        });
        let (_, log, joint, to, over_s) = worst?;
        let remedy = |(&bound, &factor): (&MotionBound, &f64)| Remedy {
            bound,
            at_least: factor.is_finite().then_some(factor / UPWARD),
            enough: factor.is_finite().then_some(factor * UPWARD),
        };
        let remedies = bounds.iter().zip(&factors).map(remedy).collect();
        let t = self.logs[log].samples[to].t;
        Some(BrokenMotion { comparison, steps, of, log, joint, t, over_s, remedies })
    }

    /// The sensor bounds with positions and velocities as large as this motion needs, times `margin` where they have to grow; None if
    /// none are large enough. Velocities answer for the second comparison, positions for what then is left of the first.
    pub fn sensors_needed(&self, margin: f64) -> Option<Sensors> {
        let mut sensors = self.robot.sensors().clone();
        let needed = |sensors: &Sensors, comparison: Comparison, bound: MotionBound| {
            let mut most = 1.0_f64;
            self.visit(&self.times(), |r| {
                most = most.max(r.factor(comparison, bound, sensors, self.acceleration[r.joint]));
            });
            let grown = if most > 1.0 { margin * most * UPWARD } else { 1.0 };
            grown.is_finite().then_some(grown)
        };
        sensors.velocity_rad_s *=
            needed(&sensors, Comparison::VelocityAgainstAcceleration, MotionBound::Velocity)?;
        sensors.position_rad *= needed(&sensors, Comparison::PositionAgainstVelocity, MotionBound::Position)?;
        Some(sensors)
    }

    /// Whether all comparisons pass with these sensor bounds.
    pub fn holds_with(&self, sensors: &Sensors) -> bool {
        self.holds_at(&self.times(), sensors)
    }

    fn holds_at(&self, times: &[Vec<f64>], sensors: &Sensors) -> bool {
        let mut holds = true;
        self.visit(times, |r| {
            for comparison in Comparison::ALL {
                let (left, right) = r.terms(comparison, sensors, self.acceleration[r.joint]);
                holds &= left <= right.iter().sum::<f64>();
            }
        });
        holds
    }

    /// The times of each log's ticks as rows of data have them, s: its stamps, or whole control periods where it has every tick.
    fn times(&self) -> Vec<Vec<f64>> {
        let period = self.robot.gains().period_s;
        let of = |log: &MeasurementLog| match clock_of(self.robot, log) {
            Clock::Control => (0..log.samples.len()).map(|k| k as f64 * period).collect(),
            Clock::Stamped | Clock::Recorded => log.samples.iter().map(|s| s.t).collect(),
        };
        self.logs.iter().map(of).collect()
    }

    /// Every joint over every step, then over 2, 4, .. steps together.
    fn visit(&self, times: &[Vec<f64>], mut each: impl FnMut(&Reading)) {
        for (log, times) in times.iter().enumerate() {
            let all = &self.logs[log];
            for segment in &all.segments {
                let age = self.robot.timing().reading_age_max_s;
                let sums = Sums::of(&all.samples[segment.clone()], &times[segment.clone()], age);
                let mut length = 1;
                while length <= LONGEST.min(segment.len() - 1) {
                    for a in 0..segment.len() - length {
                        (0..self.robot.dof())
                            .for_each(|j| each(&sums.reading(log, segment.start, a..a + length, j)));
                    }
                    length *= 2;
                }
            }
        }
    }
}

/// Integrals of a segment's velocities, joint by joint, and of its steps.
struct Sums<'a> {
    samples: &'a [Sample],
    times: &'a [f64],
    /// (tick, joint): rad.
    moved: Vec<f64>,
    /// s^2.
    quarters: Vec<f64>,
    age: f64,
}

impl<'a> Sums<'a> {
    fn of(samples: &'a [Sample], times: &'a [f64], age: f64) -> Self {
        let n = samples.first().map_or(0, |s| s.q.len());
        let (mut moved, mut quarters) = (vec![0.0; n], vec![0.0]);
        for k in 1..samples.len() {
            let step = times[k] - times[k - 1];
            for j in 0..n {
                let mean = 0.5 * (samples[k - 1].dq[j] + samples[k].dq[j]);
                moved.push(moved[n * (k - 1) + j] + step * mean);
            }
            quarters.push(quarters[k - 1] + 0.25 * step * step);
        }
        Self { samples, times, moved, quarters, age }
    }

    fn reading(&self, log: usize, first: usize, span: std::ops::Range<usize>, j: usize) -> Reading {
        let n = self.samples[0].q.len();
        let (a, b) = (&self.samples[span.start], &self.samples[span.end]);
        let (from, to) = (self.moved[n * span.start + j], self.moved[n * span.end + j]);
        let size = a.q[j].abs() + b.q[j].abs() + from.abs() + to.abs();
        // A late position is where the joint was at about this speed.
        let late = self.age * (a.dq[j].abs() + b.dq[j].abs());
        let moved = (b.q[j] - a.q[j] - (to - from)).abs() - late - ROUNDING * size;
        let gained = (b.dq[j] - a.dq[j]).abs() - ROUNDING * (a.dq[j].abs() + b.dq[j].abs());
        Reading {
            log,
            joint: j,
            from: first + span.start,
            to: first + span.end,
            moved,
            gained,
            elapsed: self.times[span.end] - self.times[span.start],
            quarters: self.quarters[span.end] - self.quarters[span.start],
            age: self.age,
        }
    }
}

#[cfg(test)]
mod tests;
