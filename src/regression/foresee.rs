//! In which directions the parameters matter to a coming motion: the rows that its torques depend on them with.

use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::INERTIAL;
use crate::robot::Arm;
use crate::trajectory::Pieces;

/// Parts of a motion between two strips: a quarter catches both acceleration and braking of a curve to rest, and its ends
/// are ends of the certifier's cells.
const PARTS: usize = 4;

/// Times along `curve` (s) at which strips pay, and for each in turn and each joint the row of the torque regressor over all
/// parameters, friction but for its Coulomb part included.
pub fn torque_rows<'a>(robot: &Arm, curve: impl Into<Pieces<'a>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let curve = curve.into();
    let parts = PARTS * curve.count();
    let (n, width) = (robot.dof(), INERTIAL * robot.dof());
    let (mut motion, mut y) = (Motion::new(robot), vec![0.0; width * n]);
    let times: Vec<f64> = (0..=parts).map(|k| curve.duration_s() * k as f64 / parts as f64).collect();
    let mut rows = Vec::with_capacity(n * times.len());
    for &t in &times {
        let state = curve.state(t);
        motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
        torque_regressor(robot, &motion, 0..n, &mut y);
        for j in 0..n {
            let mut row = vec![0.0; robot.parameter_count()];
            row[..width].copy_from_slice(&y[width * j..width * (j + 1)]);
            let friction = robot.joint_index(j);
            row[friction.viscous] = state.dq[j];
            row[friction.armature] = state.ddq[j];
            row[friction.offset] = 1.0;
            rows.push(row);
        }
    }
    (times, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::{Wrench, rnea};
    use crate::robot::fixture::small_robot;
    use crate::trajectory::Bezier;
    use crate::trajectory::JointState;

    #[test]
    fn rows_times_parameters_are_torques() {
        let robot = small_robot();
        let n = robot.dof();
        let start = JointState { q: vec![0.1, 0.2, 0.1], dq: vec![0.3, -0.2, 0.1], ddq: vec![0.1, 0.2, 0.3] };
        let curve = Bezier::to_rest(&start, &[0.5, -0.3, 0.2], 2.0).unwrap();
        let (times, rows) = torque_rows(&robot, &curve);
        assert_eq!((times.len(), rows.len()), (5, 5 * n));
        let theta = robot.nominal_parameters();
        for (k, &t) in times.iter().enumerate() {
            let state = curve.state(t);
            let mut motion = Motion::new(&robot);
            motion.sweep(&robot, &state.q, &state.dq, &state.dq, &state.ddq);
            let mut tau = vec![0.0; n];
            rnea(&robot, &motion, &theta, &mut vec![Wrench::zero(); n], &mut tau);
            for j in 0..n {
                let f = robot.joint_parameters(&theta, j);
                let expected = tau[j] + f.viscous * state.dq[j] + f.armature * state.ddq[j] + f.offset;
                let found: f64 = rows[n * k + j].iter().zip(&theta).map(|(y, x)| y * x).sum();
                assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }
    }
}
