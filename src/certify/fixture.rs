//! A tube for tests, fitted to a motion.

use super::Problem;
use super::cell::Required;
use crate::inertia::ParameterSet;
use crate::reach::Tube;
use crate::robot::{Arm, Scene};
use crate::trajectory::Bezier;

/// Cells, and rounds of the fixed point; each brings the constants much nearer to it.
const CELLS: usize = 16;
const ROUNDS: usize = 4;
/// How much more is stored than a round asks for: enough for what the next one asks for.
const RESERVE: f64 = 1.1;

/// `tube` with constants that hold along `curve`; its floors stay.
pub(crate) fn fitted(robot: &Arm, set: &ParameterSet, curve: &Bezier, mut tube: Tube) -> Tube {
    let scene = Scene::default();
    for _ in 0..ROUNDS {
        let reports = Problem::new(robot, set, &scene, &tube, curve).unwrap().survey(CELLS);
        let most = |of: &dyn Fn(&Required) -> f64| {
            RESERVE * reports.iter().map(|report| of(&report.required)).fold(0.0, f64::max)
        };
        tube = Tube {
            drift_nm: (0..robot.dof()).map(|j| most(&|needed| needed.drift_nm[j])).collect(),
            acceleration_bound: (0..robot.dof())
                .map(|j| most(&|needed| needed.acceleration_bound[j]))
                .collect(),
            hold_power_w: most(&|needed| needed.hold_power_w),
            energy_slack_j: most(&|needed| needed.energy_slack_j),
            ..tube.clone()
        };
    }
    tube
}
