//! From samples to a log: the checks and cuts that every format shares.

use std::ops::Range;
use std::path::Path;

use super::Sample;
use super::ending::with_extent;
use super::{AngleUnit, GAP, LogError, LogGap, LogPlace, MeasurementLog};
use crate::robot::{Arm, JointKind};

/// A speed or torque beyond this many times the joint's limit is taken for a wrong unit.
pub(super) const IMPLAUSIBLE: f64 = 3.0;
/// The sum of |q steps| and that of |dq| dt may differ by this factor; degrees against radians differ by 57.
const MISMATCH: f64 = 8.0;
/// Motion (rad or m, summed over a joint's samples) below which that comparison says nothing.
const ENOUGH_MOTION: f64 = 0.2;

/// A number of a sample; joints by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Time,
    Position(usize),
    Velocity(usize),
    Torque(usize),
}

/// Samples on their way from a file to a log.
pub(super) struct Assembler<'a> {
    path: &'a Path,
    robot: &'a Arm,
    unit: AngleUnit,
    samples: Vec<Sample>,
    /// Full turns that are taken off each joint's angle.
    turns: Vec<f64>,
    unwrapped: usize,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(path: &'a Path, robot: &'a Arm, unit: AngleUnit) -> Self {
        Self { path, robot, unit, samples: vec![], turns: vec![0.0; robot.dof()], unwrapped: 0 }
    }

    /// Takes the next sample, in the file's units; `place` says where each of its numbers stands.
    pub(super) fn push(
        &mut self,
        mut sample: Sample,
        place: impl Fn(Quantity) -> LogPlace,
    ) -> Result<(), LogError> {
        self.check_finite(&sample, &place)?;
        for (j, joint) in self.robot.joints.iter().enumerate() {
            if self.unit == AngleUnit::Degrees && joint.kind.is_rotation() {
                sample.q[j] = sample.q[j].to_radians();
                sample.dq[j] = sample.dq[j].to_radians();
            }
            let limits = [
                (Quantity::Velocity(j), sample.dq[j], joint.limits.velocity),
                (Quantity::Torque(j), sample.tau[j], joint.limits.torque),
            ];
            for (quantity, value, limit) in limits {
                if value.abs() > IMPLAUSIBLE * limit {
                    let (path, place) = (self.path.to_owned(), place(quantity));
                    return Err(LogError::Implausible { path, place, value, limit });
                }
            }
        }
        if let Some(previous) = self.samples.last() {
            if sample.t <= previous.t {
                let (path, place) = (self.path.to_owned(), place(Quantity::Time));
                return Err(LogError::TimeBackwards { path, place, t: sample.t, previous: previous.t });
            }
            self.unwrapped += unwrap(self.robot, previous, &mut sample, &mut self.turns);
        }
        self.samples.push(sample);
        Ok(())
    }

    fn check_finite(&self, sample: &Sample, place: impl Fn(Quantity) -> LogPlace) -> Result<(), LogError> {
        let time = [(Quantity::Time, sample.t)];
        let positions = sample.q.iter().enumerate().map(|(j, &x)| (Quantity::Position(j), x));
        let velocities = sample.dq.iter().enumerate().map(|(j, &x)| (Quantity::Velocity(j), x));
        let torques = sample.tau.iter().enumerate().map(|(j, &x)| (Quantity::Torque(j), x));
        let mut all = time.into_iter().chain(positions).chain(velocities).chain(torques);
        match all.find(|(_, x)| !x.is_finite()) {
            None => Ok(()),
            Some((quantity, x)) => {
                let (path, place) = (self.path.to_owned(), place(quantity));
                Err(LogError::BadNumber { path, place, text: x.to_string() })
            }
        }
    }

    /// The log; `ignored` are columns or joints that were not used, `done` is what the format did, in words, `cut_off` is where the file breaks
    /// off, and `both` names positions and velocities of a joint.
    pub(super) fn finish(
        self,
        ignored: Vec<String>,
        mut done: Vec<String>,
        cut_off: Option<String>,
        both: impl Fn(usize) -> String,
    ) -> Result<MeasurementLog, LogError> {
        let path = self.path.to_owned();
        let (found, expected) = (self.samples.len(), 2);
        if found < expected {
            return Err(match cut_off {
                None => LogError::TooShort { path, found, expected },
                Some(cut_off) => LogError::CutTooShort { path, found, expected, cut_off },
            });
        }
        let cut_off = cut_off.map(|what| with_extent(&what, &self.samples));
        let (period_s, segments, gaps) = cut(&self.samples);
        self.check_units(&segments, both)?;
        if self.unit == AngleUnit::Degrees {
            done.push("angles converted from degrees".to_owned());
        }
        let Self { samples, unwrapped, .. } = self;
        Ok(MeasurementLog { path, samples, segments, period_s, gaps, unwrapped, ignored, done, cut_off })
    }

    fn check_units(&self, segments: &[Range<usize>], both: impl Fn(usize) -> String) -> Result<(), LogError> {
        for j in 0..self.robot.dof() {
            let (mut moved, mut speeds) = (0.0, 0.0);
            for segment in segments {
                for pair in self.samples[segment.clone()].windows(2) {
                    moved += (pair[1].q[j] - pair[0].q[j]).abs();
                    speeds += 0.5 * (pair[1].t - pair[0].t) * (pair[0].dq[j].abs() + pair[1].dq[j].abs());
                }
            }
            let enough = moved.max(speeds) > ENOUGH_MOTION;
            if enough && (moved > MISMATCH * speeds || speeds > MISMATCH * moved) {
                return Err(LogError::Mismatch { path: self.path.to_owned(), what: both(j), moved, speeds });
            }
        }
        Ok(())
    }
}

/// Takes `turns` full turns off the angles of continuous joints, after correcting their number by where the
/// velocities lead from `previous`; returns for how many joints the number has changed.
fn unwrap(robot: &Arm, previous: &Sample, sample: &mut Sample, turns: &mut [f64]) -> usize {
    let mut changed = 0;
    for (j, joint) in robot.joints.iter().enumerate() {
        if joint.kind != JointKind::Continuous {
            continue;
        }
        let expected = previous.q[j] + 0.5 * (sample.t - previous.t) * (previous.dq[j] + sample.dq[j]);
        let found = ((sample.q[j] - expected) / std::f64::consts::TAU).round();
        changed += usize::from(found != turns[j]);
        turns[j] = found;
        sample.q[j] -= found * std::f64::consts::TAU;
    }
    changed
}

/// Median period, segments without gaps, gaps.
pub(super) fn cut(samples: &[Sample]) -> (f64, Vec<Range<usize>>, Vec<LogGap>) {
    let steps: Vec<f64> = samples.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let period = sorted[sorted.len() / 2];
    let (mut segments, mut gaps, mut first) = (vec![], vec![], 0);
    for (k, step) in steps.into_iter().enumerate() {
        if step > GAP * period {
            segments.push(first..k + 1);
            gaps.push(LogGap { from_s: samples[k].t, to_s: samples[k + 1].t });
            first = k + 1;
        }
    }
    segments.push(first..samples.len());
    (period, segments, gaps)
}
