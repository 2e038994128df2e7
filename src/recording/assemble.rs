//! From samples to a log: the checks and cuts that every format shares.

use std::ops::Range;
use std::path::Path;

use super::Sample;
use super::ending::with_extent;
use super::table::joint_of;
use super::{AngleUnit, LogError, LogGap, LogPlace, LogRequest, MeasurementLog, MissingReadings, keep};
use crate::robot::{JointKind, Model};

/// A speed or torque beyond this many times the joint's limit is taken for a wrong unit.
pub(super) const IMPLAUSIBLE: f64 = 3.0;
/// The sum of |q steps| and that of |dq| dt may differ by this factor; degrees against radians differ by 57.
const MISMATCH: f64 = 8.0;
/// No position of a joint with limits is farther from zero than this, however it is wrapped, rad.
const FAR_RAD: f64 = 2.5 * std::f64::consts::PI;
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

/// Samples on their way from a file to a log. A number that is no reading is NaN on the way.
pub(super) struct Assembler<'a> {
    path: &'a Path,
    robot: &'a Model,
    request: &'a LogRequest,
    samples: Vec<Sample>,
    further: Vec<Vec<f64>>,
    /// Time of the last sample, wanted or not.
    last: Option<f64>,
    /// By joint, its last reading of the position: time, position, velocity.
    known: Vec<Option<[f64; 3]>>,
    /// Full turns that are taken off each joint's angle.
    turns: Vec<f64>,
    unwrapped: usize,
    /// Rows so far, how many of them were left out, and what is wrong with the first of those.
    rows: usize,
    skipped: usize,
    first_skipped: Option<LogError>,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(path: &'a Path, robot: &'a Model, request: &'a LogRequest) -> Self {
        let joints = robot.bodies();
        Self {
            path,
            robot,
            request,
            samples: vec![],
            further: vec![],
            last: None,
            known: vec![None; joints],
            turns: vec![0.0; joints],
            unwrapped: 0,
            rows: 0,
            skipped: 0,
            first_skipped: None,
        }
    }

    /// Passes on what a row gave; a bad row is counted and left out where that is asked for.
    pub(super) fn or_skip(&mut self, row: Result<(), LogError>) -> Result<(), LogError> {
        self.rows += 1;
        match row {
            Err(error) if self.request.format.skip_bad && error.is_of_a_row() => {
                self.skipped += 1;
                self.first_skipped.get_or_insert(error);
                Ok(())
            }
            other => other,
        }
    }

    /// Takes the next sample, in the file's units, with the further readings; `place` says where each of its numbers stands.
    pub(super) fn push(
        &mut self,
        mut sample: Sample,
        further: Vec<f64>,
        place: impl Fn(Quantity) -> LogPlace,
    ) -> Result<(), LogError> {
        self.check_finite(&sample, &place)?;
        self.check_radians(&sample, &place)?;
        for (i, joint) in self.robot.joints.iter().enumerate().skip(self.robot.first_actuated()) {
            let (at, j) = (self.robot.q_index(i), self.robot.v_index(i));
            let LogRequest { unit, format, .. } = self.request;
            if joint.kind.is_rotation() {
                let degrees = |k: usize| *unit == AngleUnit::Degrees || format.columns.in_degrees(k);
                if degrees(1) {
                    sample.q[at] = sample.q[at].to_radians();
                }
                if degrees(2) {
                    sample.dq[j] = sample.dq[j].to_radians();
                }
            }
            sample.tau[j] *= format.torque_scale(j);
            let limits = [
                (Quantity::Velocity(j), sample.dq[j], joint.limits.velocity),
                (Quantity::Torque(j), sample.tau[j], joint.limits.torque),
            ];
            for (quantity, value, limit) in limits {
                // A limit of zero is none: the joint has no motor that the robot's file knows of.
                if limit > 0.0 && value.abs() > IMPLAUSIBLE * limit {
                    let (path, place) = (self.path.to_owned(), place(quantity));
                    return Err(LogError::Implausible { path, place, value, limit });
                }
            }
        }
        if let Some(previous) = self.last
            && sample.t <= previous
        {
            let (path, place) = (self.path.to_owned(), place(Quantity::Time));
            return Err(LogError::TimeBackwards { path, place, t: sample.t, previous });
        }
        self.last = Some(sample.t);
        self.unwrap(&mut sample);
        if self.request.wants(sample.t) {
            self.samples.push(sample);
            self.further.push(further);
        }
        Ok(())
    }

    /// Refuses a position that no joint with these limits has, wrapped or not, and that must be in degrees.
    fn check_radians(&self, sample: &Sample, place: impl Fn(Quantity) -> LogPlace) -> Result<(), LogError> {
        let LogRequest { unit, format, .. } = self.request;
        if *unit == AngleUnit::Degrees || format.columns.in_degrees(1) {
            return Ok(());
        }
        for (i, joint) in self.robot.joints.iter().enumerate() {
            let (JointKind::Revolute, Some((lower, upper))) = (joint.kind, joint.limits.position) else {
                continue;
            };
            let at = self.robot.q_index(i);
            let (value, most) = (sample.q[at], (IMPLAUSIBLE * lower.abs().max(upper.abs())).max(FAR_RAD));
            if value.abs() > most {
                let joint = format!("and joint `{}` between {lower:.3} and {upper:.3}", joint.name);
                let (path, place) = (self.path.to_owned(), place(Quantity::Position(at)));
                return Err(LogError::Degrees { path, place, value, joint });
            }
        }
        Ok(())
    }

    fn check_finite(&self, sample: &Sample, place: impl Fn(Quantity) -> LogPlace) -> Result<(), LogError> {
        let mut all = numbers(sample).filter(|(_, x)| !x.is_nan());
        match all.find(|(_, x)| !x.is_finite()) {
            None => Ok(()),
            Some((quantity, x)) => Err(self.bad_number(place(quantity), x)),
        }
    }

    /// Refuses a number that is none. Formats call this before they put NaN where there is no reading.
    #[cfg(feature = "mcap")]
    pub(super) fn check_numbers(
        &self,
        sample: &Sample,
        place: impl Fn(Quantity) -> LogPlace,
    ) -> Result<(), LogError> {
        match numbers(sample).find(|(_, x)| !x.is_finite()) {
            None => Ok(()),
            Some((quantity, x)) => Err(self.bad_number(place(quantity), x)),
        }
    }

    fn bad_number(&self, place: LogPlace, x: f64) -> LogError {
        LogError::BadNumber { path: self.path.to_owned(), place, text: x.to_string() }
    }

    /// Takes full turns off the angles of continuous joints, after correcting their number by where the velocities lead from the last
    /// reading.
    fn unwrap(&mut self, sample: &mut Sample) {
        for (i, joint) in self.robot.joints.iter().enumerate() {
            if joint.kind != JointKind::Continuous {
                continue;
            }
            let (at, j) = (self.robot.q_index(i), self.robot.v_index(i));
            if sample.q[at].is_nan() {
                continue;
            }
            let speed =
                if sample.dq[j].is_nan() { self.known[i].map_or(0.0, |k| k[2]) } else { sample.dq[j] };
            if let Some([t, q, dq]) = self.known[i] {
                let expected = q + 0.5 * (sample.t - t) * (dq + speed);
                let found = ((sample.q[at] - expected) / std::f64::consts::TAU).round();
                self.unwrapped += usize::from(found != self.turns[i]);
                self.turns[i] = found;
                sample.q[at] -= found * std::f64::consts::TAU;
            }
            self.known[i] = Some([sample.t, sample.q[at], speed]);
        }
    }

    /// Leaves out samples without all readings, unless they are wanted; says so.
    fn leave_out(&mut self) -> Option<String> {
        if self.request.partial {
            return None;
        }
        let whole = |k: &usize| numbers(&self.samples[*k]).all(|(_, x)| !x.is_nan());
        let kept: Vec<usize> = (0..self.samples.len()).filter(whole).collect();
        let dropped = self.samples.len() - kept.len();
        let first = self.samples.iter().find_map(|sample| {
            let (quantity, _) = numbers(sample).find(|(_, x)| x.is_nan())?;
            Some((sample.t, quantity))
        });
        let told = first.map(|(t, quantity)| {
            let what = self.lacking(quantity);
            format!(
                "{dropped} sample(s) without all readings left out; the first, at t = {t:.4} s, lacks {what}"
            )
        });
        keep(&mut self.samples, &kept);
        keep(&mut self.further, &kept);
        told
    }

    /// A number of a sample, in words.
    fn lacking(&self, quantity: Quantity) -> String {
        let (what, configuration, j) = match quantity {
            Quantity::Time => return "its time".to_owned(),
            Quantity::Position(j) => ("position", true, j),
            Quantity::Velocity(j) => ("velocity", false, j),
            Quantity::Torque(j) => ("torque", false, j),
        };
        match joint_of(self.robot, configuration, j) {
            Some(joint) => format!("the {what} of joint `{joint}`"),
            None => format!("{what} {}", j + 1),
        }
    }

    /// The log; `ignored` are columns or joints that were not used, `done` is what the format did, in words, `cut_off` is where the file breaks
    /// off, and `both` names positions and velocities of a joint.
    pub(super) fn finish(
        mut self,
        ignored: Vec<String>,
        mut done: Vec<String>,
        cut_off: Option<String>,
        both: impl Fn(usize) -> String,
    ) -> Result<MeasurementLog, LogError> {
        let path = self.path.to_owned();
        let too_few = |found: usize| {
            let expected = 2;
            match &cut_off {
                None => LogError::TooShort { path: path.clone(), found, expected },
                Some(cut_off) => {
                    LogError::CutTooShort { path: path.clone(), found, expected, cut_off: cut_off.clone() }
                }
            }
        };
        done.extend(self.told_skipped()?);
        let half = self.request.format.velocity_half.filter(|_| !self.request.partial && self.is_still());
        if half.is_some() {
            // Until they are found.
            self.samples.iter_mut().for_each(|sample| sample.dq.fill(0.0));
        }
        done.extend(self.leave_out());
        if self.samples.len() < 2 {
            return Err(too_few(self.samples.len()));
        }
        let missing = fill_missing(self.robot, &mut self.samples).map_err(|what| LogError::NoReading {
            path: path.clone(),
            what,
            samples: self.samples.len(),
        })?;
        if let Some([from, to]) = self.request.range_s {
            done.push(format!("only samples from {from} s to {to} s are used"));
        }
        for [from, to] in &self.request.left_out_s {
            done.push(format!("samples from {from} s to {to} s are left out, as asked"));
        }
        let some = missing.iter().filter(|m| !m.is_empty()).count();
        if some > 0 {
            done.push(format!("{some} sample(s) lack readings"));
        }
        let cut_off = cut_off.map(|what| with_extent(&what, &self.samples));
        let (period_s, segments, gaps) = cut(&self.samples, self.request.gap_periods);
        if half.is_none() {
            self.check_units(&segments, both)?;
        }
        done.extend(self.converted());
        let Self { samples, unwrapped, further, .. } = self;
        let further = if self.request.further.is_empty() { vec![] } else { further };
        let log = MeasurementLog {
            path,
            samples,
            missing,
            further,
            segments,
            period_s,
            gaps,
            unwrapped,
            ignored,
            done,
            derived: None,
            cut_off,
        };
        match half {
            None => Ok(log),
            Some(half) => log.with_derived_velocities(half),
        }
    }

    /// Whether there is no reading of any velocity.
    fn is_still(&self) -> bool {
        self.samples.iter().all(|sample| sample.dq.iter().all(|x| x.is_nan()))
    }

    /// What was left out of bad rows, in words.
    fn told_skipped(&mut self) -> Result<Option<String>, LogError> {
        let (skipped, rows, path) = (self.skipped, self.rows, self.path.to_owned());
        let Some(first) = self.first_skipped.take().map(|error| error.to_string()) else { return Ok(None) };
        if 2 * skipped > rows {
            return Err(LogError::Skipped { path, skipped, rows, first });
        }
        Ok(Some(format!("{skipped} of {rows} row(s) skipped, the first: {first}")))
    }

    /// What was converted, in words.
    fn converted(&self) -> Vec<String> {
        let LogRequest { unit, format, .. } = self.request;
        let mut words = vec![];
        if *unit == AngleUnit::Degrees {
            words.push("angles converted from degrees".to_owned());
        }
        if !format.columns.is_default() {
            words.push(format!("columns read as {}", format.columns));
        }
        if !format.torque_scale.is_empty() {
            let factors: Vec<String> = format.torque_scale.iter().map(f64::to_string).collect();
            words.push(format!("torques multiplied by {}", factors.join(", ")));
        }
        words
    }

    fn check_units(&self, segments: &[Range<usize>], both: impl Fn(usize) -> String) -> Result<(), LogError> {
        for i in self.robot.first_actuated()..self.robot.bodies() {
            let (at, j) = (self.robot.q_index(i), self.robot.v_index(i));
            let (mut moved, mut speeds) = (0.0, 0.0);
            for segment in segments {
                for pair in self.samples[segment.clone()].windows(2) {
                    moved += (pair[1].q[at] - pair[0].q[at]).abs();
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

/// All numbers of a sample.
fn numbers(sample: &Sample) -> impl Iterator<Item = (Quantity, f64)> + '_ {
    let time = [(Quantity::Time, sample.t)];
    let positions = sample.q.iter().enumerate().map(|(j, &x)| (Quantity::Position(j), x));
    let velocities = sample.dq.iter().enumerate().map(|(j, &x)| (Quantity::Velocity(j), x));
    let torques = sample.tau.iter().enumerate().map(|(j, &x)| (Quantity::Torque(j), x));
    time.into_iter().chain(positions).chain(velocities).chain(torques)
}

/// Puts numbers on the line between readings where there are none (beyond the first and last reading: theirs), and says where; the name of a
/// column without a reading if there is one.
/// A floating base's quaternion is of length one there too.
pub(crate) fn fill_missing(robot: &Model, samples: &mut [Sample]) -> Result<Vec<MissingReadings>, String> {
    if robot.has_free_flyer() {
        keep_sides(samples);
    }
    let missing = fill(samples)?;
    let filled = samples
        .iter_mut()
        .zip(&missing)
        .filter(|(_, m)| robot.has_free_flyer() && m.q.iter().any(|&i| (3..7).contains(&i)));
    for (sample, _) in filled {
        let norm = sample.q[3..7].iter().map(|x| x * x).sum::<f64>().sqrt();
        sample.q[3..7].iter_mut().for_each(|x| *x /= norm);
    }
    Ok(missing)
}

/// Turns the signs of quaternions, of which both mean one attitude, so that each is nearer to the one that was read before: a line between two goes the short way.
fn keep_sides(samples: &mut [Sample]) {
    let mut before: Option<[f64; 4]> = None;
    for sample in samples {
        let now: [f64; 4] = std::array::from_fn(|i| sample.q[3 + i]);
        if now.iter().any(|x| x.is_nan()) {
            continue;
        }
        let along = before.map_or(1.0, |b| b.iter().zip(&now).map(|(a, b)| a * b).sum::<f64>());
        let side = if along < 0.0 { -1.0 } else { 1.0 };
        sample.q[3..7].iter_mut().for_each(|x| *x *= side);
        before = Some(now.map(|x| side * x));
    }
}

/// [`fill_missing`] number by number.
fn fill(samples: &mut [Sample]) -> Result<Vec<MissingReadings>, String> {
    let all = numbers(&samples[0]).map(|(quantity, _)| quantity);
    let columns: Vec<Quantity> = all.filter(|q| *q != Quantity::Time).collect();
    if samples.iter().all(|s| numbers(s).all(|(_, x)| !x.is_nan())) {
        return Ok(vec![]);
    }
    let mut missing = vec![MissingReadings::default(); samples.len()];
    for column in columns {
        let known: Vec<usize> =
            (0..samples.len()).filter(|&k| !value(&mut samples[k], column).is_nan()).collect();
        let (Some(&first), Some(&last)) = (known.first(), known.last()) else {
            return Err(match column {
                Quantity::Position(j) => format!("q{}", j + 1),
                Quantity::Velocity(j) => format!("dq{}", j + 1),
                Quantity::Torque(j) => format!("tau{}", j + 1),
                Quantity::Time => "t".to_owned(),
            });
        };
        let mut next = 0;
        for k in 0..samples.len() {
            if known.get(next) == Some(&k) {
                next += 1;
                continue;
            }
            let (a, b) =
                (next.checked_sub(1).map_or(first, |i| known[i]), known.get(next).copied().unwrap_or(last));
            let (from, to) = (*value(&mut samples[a], column), *value(&mut samples[b], column));
            let share =
                if a == b { 0.0 } else { (samples[k].t - samples[a].t) / (samples[b].t - samples[a].t) };
            *value(&mut samples[k], column) = from + share * (to - from);
            let of = &mut missing[k];
            match column {
                Quantity::Position(j) => of.q.push(j),
                Quantity::Velocity(j) => of.dq.push(j),
                Quantity::Torque(j) => of.tau.push(j),
                Quantity::Time => {}
            }
        }
    }
    Ok(missing)
}

fn value(sample: &mut Sample, column: Quantity) -> &mut f64 {
    match column {
        Quantity::Time => &mut sample.t,
        Quantity::Position(j) => &mut sample.q[j],
        Quantity::Velocity(j) => &mut sample.dq[j],
        Quantity::Torque(j) => &mut sample.tau[j],
    }
}

/// Median period, segments without gaps, gaps.
pub(super) fn cut(samples: &[Sample], gap_periods: f64) -> (f64, Vec<Range<usize>>, Vec<LogGap>) {
    let steps: Vec<f64> = samples.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let period = sorted[sorted.len() / 2];
    let (mut segments, mut gaps, mut first) = (vec![], vec![], 0);
    for (k, step) in steps.into_iter().enumerate() {
        if step > gap_periods * period {
            segments.push(first..k + 1);
            gaps.push(LogGap { from_s: samples[k].t, to_s: samples[k + 1].t });
            first = k + 1;
        }
    }
    segments.push(first..samples.len());
    (period, segments, gaps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::load_model;

    /// A quaternion and its negative mean one attitude: between them there is that attitude, not the line through zero.
    #[test]
    fn attitudes_between_readings_go_the_short_way() {
        let robot = load_model("robots/go1.toml").unwrap();
        let sample = |t: f64, z: f64, sign: f64, read: bool| {
            let mut q = vec![0.0; robot.nq()];
            q[3..7].copy_from_slice(&[0.0, 0.0, sign * z, sign * (1.0 - z * z).sqrt()]);
            if !read {
                q[..7].fill(f64::NAN);
            }
            Sample { t, q, dq: vec![0.0; robot.nv()], tau: vec![0.0; robot.nv()] }
        };
        let mut samples =
            vec![sample(0.0, 0.1, 1.0, true), sample(0.1, 0.0, 1.0, false), sample(0.2, 0.12, -1.0, true)];
        let missing = fill_missing(&robot, &mut samples).unwrap();
        assert_eq!(missing[1].q, (0..7).collect::<Vec<_>>());
        let between = &samples[1].q[3..7];
        let norm: f64 = between.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12 && (between[2] - 0.11).abs() < 1e-4, "{between:?}");
        assert!(samples[2].q[6] > 0.0);
    }
}
