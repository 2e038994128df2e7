//! A tube for tests.

use super::Tube;
use crate::inertia::ParameterSet;
use crate::robot::Arm;

/// Constants of the size that those of plans have; the floor is that of the transmissions alone.
pub(crate) fn tube(robot: &Arm) -> Tube {
    let (n, set) = (robot.dof(), ParameterSet::around_nominal(robot));
    let bare: Vec<f64> = (0..n).map(|j| set.lower()[robot.joint_index(j).armature]).collect();
    Tube {
        gains: robot.gains(),
        layer_ticks: 2.0,
        inertia_floor: bare.clone(),
        lag_floor: bare,
        drift_nm: vec![0.5; n],
        hold_power_w: 0.0,
        energy_slack_j: 0.0,
        acceleration_bound: vec![20.0; n],
        motor_loops: None,
    }
}
