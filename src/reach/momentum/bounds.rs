//! What is proven of the states of a plan under the law, joint by joint: what others than the proof ask for. Stored with the plan, and proven with it.

use serde::{Deserialize, Serialize};

use crate::reach::cell::Span;
use crate::reach::prepared_set::PreparedSet;
use crate::trajectory::Pieces;

use super::acceleration::accelerations;
use super::constants::MomentumTube;
use super::report::MomentumReport;

/// What is stored exceeds what a survey found by this factor: the certifier may cut time elsewhere, and forms over other cells round otherwise.
const RESERVE: f64 = 1.01;

/// Bounds at all times of a plan and after it, a joint each. The certifier refuses a plan of which they are not true.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct StateBounds {
    /// |e_j|, rad (m).
    pub position_error_rad: Vec<f64>,
    /// |e_j| once the desired motion rests, rad (m).
    pub rest_error_rad: Vec<f64>,
    /// |r_j|, rad/s (m/s).
    pub r_rad_s: Vec<f64>,
    /// |ddq_j|, rad/s^2 (m/s^2), from the time on at which a command of the plan acts.
    pub acceleration_rad_s2: Vec<f64>,
}

impl StateBounds {
    /// Bounds that hold, from the reports on spans that together are all of the plan's time; `None` where there is no bound of accelerations.
    /// What drives that lag remember of a plan before is `carried`, N m ([`super::CarriedCommands::torque_nm`]).
    pub fn of(
        set: &PreparedSet,
        (tube, carried): (&MomentumTube, Option<&[f64]>),
        curve: Pieces<'_>,
        reports: &[MomentumReport],
    ) -> Option<Self> {
        let n = set.joints();
        let most = |of: &dyn Fn(&MomentumReport) -> f64| reports.iter().map(of).fold(0.0, f64::max);
        let list = |of: &dyn Fn(&MomentumReport, usize) -> f64| -> Vec<f64> {
            (0..n).map(|j| RESERVE * most(&|report| of(report, j))).collect()
        };
        let at_rest = |report: &MomentumReport, x: f64| if report.needs.span == Span::Rest { x } else { 0.0 };
        let accelerations = accelerations(set, (tube, carried), curve, reports)?;
        Some(Self {
            position_error_rad: list(&|report, j| report.position_error_rad[j]),
            rest_error_rad: list(&|report, j| at_rest(report, report.position_error_rad[j])),
            r_rad_s: list(&|report, j| report.r_rad_s[j]),
            acceleration_rad_s2: accelerations.iter().map(|bound| RESERVE * bound).collect(),
        })
    }

    /// The first bound that is none, or a list that is not of `joints`.
    pub fn fault(&self, joints: usize) -> Option<String> {
        let lists = [
            ("position_error_rad", &self.position_error_rad),
            ("rest_error_rad", &self.rest_error_rad),
            ("r_rad_s", &self.r_rad_s),
            ("acceleration_rad_s2", &self.acceleration_rad_s2),
        ];
        for (what, list) in lists {
            if list.len() != joints {
                return Some(format!("{what}: expected {joints} values, found {}", list.len()));
            }
            if let Some(x) = list.iter().find(|x| !(**x >= 0.0 && x.is_finite())) {
                return Some(format!("{what}: expected finite numbers not below 0, found {x}"));
            }
        }
        None
    }
}

/// A law that is not the first, by its name in files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum LawName {
    /// [`super`].
    #[default]
    Momentum,
}

/// The constants of the law for a plan, and what is proven of its states.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct BoundedTube {
    /// The law.
    pub law: LawName,
    /// The constants.
    pub tube: MomentumTube,
    /// The bounds.
    pub bounds: StateBounds,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_none_are_named() {
        let good = StateBounds {
            position_error_rad: vec![0.01; 2],
            rest_error_rad: vec![0.0; 2],
            r_rad_s: vec![0.1; 2],
            acceleration_rad_s2: vec![9.0; 2],
        };
        assert_eq!(good.fault(2), None);
        assert!(good.fault(3).unwrap().contains("position_error_rad: expected 3 values, found 2"));
        let named = |change: &dyn Fn(&mut StateBounds)| {
            let mut bounds = good.clone();
            change(&mut bounds);
            bounds.fault(2).unwrap()
        };
        for bad in [-1e-9, f64::NAN, f64::INFINITY] {
            assert!(named(&|b| b.position_error_rad[1] = bad).starts_with("position_error_rad"));
            assert!(named(&|b| b.rest_error_rad[0] = bad).starts_with("rest_error_rad"));
            assert!(named(&|b| b.r_rad_s[0] = bad).starts_with("r_rad_s"));
            assert!(named(&|b| b.acceleration_rad_s2[1] = bad).starts_with("acceleration_rad_s2"));
        }
    }
}
