//! What drives do beside what they are asked for.

use serde::{Deserialize, Serialize};

use super::spring::Spring;

/// Bounds on how the torque that moves a joint may differ from the command and from the model. Zero where a file says
/// nothing: the drive delivers its command, and the model is all that acts.
///
/// At each instant `applied = command + x` with `|x| <= error_nm + error_ratio |command|`, the joint moves as under `applied + u` with
/// `|u| <= unmodelled_nm`, and both may change at any time. A torque sensor reads `applied`, averaged over a tick; it does not see u. With a [`Spring`] the joint
/// is that of the arm's common motion, and u has in it what this one asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DriveBounds {
    /// Absolute part of the error of the applied torque, N m (N).
    pub error_nm: f64,
    /// Its part in proportion to the command.
    pub error_ratio: f64,
    /// Torque that neither the drive nor the model accounts for, N m (N): cogging, friction that depends on load or temperature, what bending gears
    /// leave.
    pub unmodelled_nm: f64,
    /// The spring that the link hangs on; rigid where there is none. What it needs of the bounds is part of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spring: Option<Spring>,
}

impl DriveBounds {
    /// A drive that does as it is told.
    pub const IDEAL: Self = Self { error_nm: 0.0, error_ratio: 0.0, unmodelled_nm: 0.0, spring: None };

    /// The part of `unmodelled_nm` that springs do not need, N m (N).
    pub fn unmodelled_besides_springs_nm(&self) -> f64 {
        self.unmodelled_nm - self.spring.map_or(0.0, |spring| spring.unmodelled_nm)
    }

    /// The first bound that is none, by its name, and what was expected.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let absolute = |x: f64| x >= 0.0 && x.is_finite();
        let ratio = (0.0..1.0).contains(&self.error_ratio);
        let all = [
            ("error_nm", self.error_nm, absolute(self.error_nm), "a number of N m not below 0"),
            ("error_ratio", self.error_ratio, ratio, "a ratio in [0, 1)"),
            (
                "unmodelled_nm",
                self.unmodelled_nm,
                absolute(self.unmodelled_nm),
                "a number of N m not below 0",
            ),
        ];
        let bad = all.into_iter().find(|(_, _, good, _)| !good);
        let bad = bad.map(|(what, x, _, expected)| (what, format!("{x}, expected {expected}")));
        bad.or_else(|| self.spring?.fault(self.unmodelled_nm))
    }
}

/// What a file states of one joint's drive; what it leaves out is that of all drives.
#[cfg(feature = "urdf")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriveSettings {
    /// Absolute part of the error of the applied torque, N m (N).
    error_nm: Option<f64>,
    /// Its part in proportion to the command.
    error_ratio: Option<f64>,
    /// Torque that neither the drive nor the model accounts for, N m (N).
    unmodelled_nm: Option<f64>,
    /// The spring that the link hangs on.
    spring: Option<Spring>,
}

#[cfg(feature = "urdf")]
impl DriveSettings {
    /// Overrides what is stated here.
    pub fn apply(&self, drive: &mut DriveBounds) {
        let stated = [
            (self.error_nm, &mut drive.error_nm),
            (self.error_ratio, &mut drive.error_ratio),
            (self.unmodelled_nm, &mut drive.unmodelled_nm),
        ];
        for (x, target) in stated {
            *target = x.unwrap_or(*target);
        }
        drive.spring = self.spring.or(drive.spring);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_none_are_named() {
        assert_eq!(DriveBounds::IDEAL.fault(), None);
        for bad in [-1e-9, f64::NAN, f64::INFINITY] {
            let with = |change: &dyn Fn(&mut DriveBounds)| {
                let mut drive = DriveBounds::IDEAL;
                change(&mut drive);
                drive.fault().unwrap().0
            };
            assert_eq!(with(&|d| d.error_nm = bad), "error_nm");
            assert_eq!(with(&|d| d.error_ratio = bad), "error_ratio");
            assert_eq!(with(&|d| d.unmodelled_nm = bad), "unmodelled_nm");
        }
        assert_eq!(DriveBounds { error_ratio: 1.0, ..DriveBounds::IDEAL }.fault().unwrap().0, "error_ratio");
    }
}
