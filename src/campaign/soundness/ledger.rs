//! What was checked, and how close it came.

use serde::{Deserialize, Serialize};

use crate::campaign::exact;

/// Constraint families of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckFamily {
    /// Joint positions, rad.
    Position,
    /// Joint velocities, rad/s.
    Velocity,
    /// Commands, nominal and robust torques, disturbances, N m.
    Torque,
    /// Distances of links to obstacles and each other, m.
    Collision,
    /// Bounds on the tracking errors and on V.
    Tube,
    /// Enclosures of random expressions, in the units of their values.
    Arithmetic,
}

/// A claim that is held against possible states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is described by `Check::facts`")]
pub enum Check {
    Position,
    Velocity,
    Command,
    Applied,
    Nominal,
    Robust,
    Rho,
    Disturbance,
    Parameters,
    Drift,
    Collision,
    PositionError,
    R,
    LevelOfV,
    LevelOfVLater,
    RiseOfV,
    Slack,
    VBound,
    HoldPower,
    Gain,
    Acceleration,
    Momentum,
    Lag,
    MomentumByMeasurement,
    Enclosure,
}

impl Check {
    /// All of them, in the order of the ledger.
    pub const ALL: [Check; 25] = [
        Check::Position,
        Check::Velocity,
        Check::Command,
        Check::Applied,
        Check::Nominal,
        Check::Robust,
        Check::Rho,
        Check::Disturbance,
        Check::Parameters,
        Check::Drift,
        Check::Collision,
        Check::PositionError,
        Check::R,
        Check::LevelOfV,
        Check::LevelOfVLater,
        Check::RiseOfV,
        Check::Slack,
        Check::VBound,
        Check::HoldPower,
        Check::Gain,
        Check::Acceleration,
        Check::Momentum,
        Check::Lag,
        Check::MomentumByMeasurement,
        Check::Enclosure,
    ];

    /// Family, name and unit.
    pub fn facts(self) -> (CheckFamily, &'static str, &'static str) {
        match self {
            Check::Position => (CheckFamily::Position, "position", "rad"),
            Check::Velocity => (CheckFamily::Velocity, "velocity", "rad/s"),
            Check::Command => (CheckFamily::Torque, "command", "N m"),
            Check::Applied => (CheckFamily::Torque, "applied torque", "N m"),
            Check::Nominal => (CheckFamily::Torque, "nominal torque", "N m"),
            Check::Robust => (CheckFamily::Torque, "robust torque", "N m"),
            Check::Rho => (CheckFamily::Torque, "rho", "N m"),
            Check::Disturbance => (CheckFamily::Torque, "disturbance within a tick", "N m"),
            Check::Parameters => (CheckFamily::Torque, "effect of the parameters", "N m"),
            Check::Drift => (CheckFamily::Torque, "drift", "N m"),
            Check::Collision => (CheckFamily::Collision, "distance", "m"),
            Check::PositionError => (CheckFamily::Tube, "position error", "rad"),
            Check::R => (CheckFamily::Tube, "r", "rad/s"),
            Check::LevelOfV => (CheckFamily::Tube, "level of V", "J"),
            Check::LevelOfVLater => (CheckFamily::Tube, "level of V, later", "J"),
            Check::RiseOfV => (CheckFamily::Tube, "rise of V within a tick", "J"),
            Check::Slack => (CheckFamily::Tube, "V by measurement", "J"),
            Check::VBound => (CheckFamily::Tube, "bound of V", "J"),
            Check::HoldPower => (CheckFamily::Tube, "hold power", "W"),
            Check::Gain => (CheckFamily::Tube, "gain condition", "1"),
            Check::Acceleration => (CheckFamily::Tube, "acceleration", "rad/s^2"),
            Check::Momentum => (CheckFamily::Tube, "momentum error", "N m s"),
            Check::Lag => (CheckFamily::Tube, "M_0 e", "N m s^2"),
            Check::MomentumByMeasurement => (CheckFamily::Tube, "momentum error by measurement", "1"),
            Check::Enclosure => (CheckFamily::Arithmetic, "enclosure", "1"),
        }
    }
}

/// How close the trials came to one claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Closest {
    /// Smallest distance to the claimed bound, in the check's unit; negative if it was passed.
    #[serde(with = "exact")]
    pub gap: f64,
    /// Largest share of the bound that was used; above one if it was passed.
    #[serde(with = "exact")]
    pub used: f64,
    /// Number of trials.
    pub trials: u64,
}

impl Closest {
    /// Of the trials of both. What is no number, as a file may say, is held against the claim.
    fn and(&self, other: &Closest) -> Option<Closest> {
        let no_number = |x: f64, y: f64| x.is_nan() || y.is_nan();
        let (gap, used) = (self.gap.min(other.gap), self.used.max(other.used));
        Some(Closest {
            gap: if no_number(self.gap, other.gap) { f64::NEG_INFINITY } else { gap },
            used: if no_number(self.used, other.used) { f64::INFINITY } else { used },
            trials: self.trials.checked_add(other.trials)?,
        })
    }
}

/// The closest approach to each claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger([Closest; Check::ALL.len()]);

impl Default for Ledger {
    fn default() -> Self {
        Self([Closest { gap: f64::INFINITY, used: f64::NEG_INFINITY, trials: 0 }; Check::ALL.len()])
    }
}

impl Ledger {
    /// `value` was seen where at most `bound` was claimed.
    pub fn note(&mut self, check: Check, value: f64, bound: f64) {
        self.gap(check, bound - value, bound);
    }

    /// A bound was kept by `gap`, which is to be judged against `scale` > 0, the size of what the claim is about. What
    /// evaluation in plain floating point may take from it is added.
    pub fn gap(&mut self, check: Check, gap: f64, scale: f64) {
        let gap = gap + TOLERANCE * scale;
        let used = 1.0 - gap / scale;
        let slot = &mut self.0[check as usize];
        slot.trials += 1;
        // What is no number proves nothing, and is held against the claim.
        slot.used = if used.is_nan() { f64::INFINITY } else { slot.used.max(used) };
        slot.gap = if gap.is_nan() { f64::NEG_INFINITY } else { slot.gap.min(gap) };
    }

    /// The closest approach to one claim; none if it was never tried.
    pub fn get(&self, check: Check) -> Option<Closest> {
        Some(self.0[check as usize]).filter(|c| c.trials > 0)
    }

    /// The closest of two ledgers. None if there are more trials than can be counted.
    #[must_use]
    pub fn merged(mut self, other: &Ledger) -> Option<Ledger> {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = a.and(b)?;
        }
        Some(self)
    }

    /// Most trials of one claim.
    pub(super) fn most_trials(&self) -> u64 {
        self.0.iter().map(|closest| closest.trials).max().unwrap_or(0)
    }

    /// The claims that were passed.
    pub fn outside(&self) -> Vec<Check> {
        // Also where no trial is counted: a gap without one cannot come of trials.
        let passed = |c: &Check| !(self.0[*c as usize].gap >= 0.0);
        Check::ALL.into_iter().filter(passed).collect()
    }
}

/// What evaluation in plain floating point may add, relative. Seven powers of ten above one rounding, as sums of some
/// hundred terms cancel; what a mistake in a bound makes is far above.
const TOLERANCE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_own_place() {
        for (i, check) in Check::ALL.into_iter().enumerate() {
            assert_eq!(check as usize, i);
        }
    }

    #[test]
    fn what_is_passed_or_no_number_is_outside() {
        let mut ledger = Ledger::default();
        assert!(ledger.outside().is_empty() && ledger.get(Check::R).is_none());
        ledger.note(Check::R, 0.9, 1.0);
        ledger.note(Check::Gain, 1.1, 1.0);
        ledger.note(Check::Drift, f64::NAN, 1.0);
        assert_eq!(ledger.outside(), [Check::Drift, Check::Gain]);
        let both = Ledger::default().merged(&ledger).unwrap();
        assert_eq!(both.outside(), ledger.outside());
        assert!((both.get(Check::R).unwrap().gap - 0.1).abs() < 1e-8);
    }

    /// As a journal may say it, whatever wrote it.
    #[test]
    fn what_is_no_number_stays_outside_when_ledgers_are_merged() {
        let mut good = Ledger::default();
        good.note(Check::R, 0.9, 1.0);
        let mut bad = good.clone();
        (bad.0[Check::R as usize].gap, bad.0[Check::R as usize].used) = (f64::NAN, f64::NAN);
        for (a, b) in [(&good, &bad), (&bad, &good), (&bad, &bad), (&bad, &Ledger::default())] {
            let both = a.clone().merged(b).unwrap();
            assert_eq!(both.outside(), [Check::R]);
            assert_eq!(both.get(Check::R).unwrap().used, f64::INFINITY);
            assert_eq!(both.merged(&good).unwrap().outside(), [Check::R]);
        }
        assert_eq!(bad.outside(), [Check::R]);
        bad.0[Check::R as usize].trials = 0;
        assert_eq!(bad.outside(), [Check::R]);
    }

    #[test]
    fn trials_that_cannot_be_counted_are_not_merged() {
        let mut one = Ledger::default();
        one.note(Check::R, 0.9, 1.0);
        let mut many = one.clone();
        many.0[Check::R as usize].trials = u64::MAX;
        assert_eq!(many.most_trials(), u64::MAX);
        assert!(one.clone().merged(&one).is_some());
        assert!(one.clone().merged(&many).is_none() && many.merged(&one).is_none());
    }
}
