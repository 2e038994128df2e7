//! What the momentum law promises of a true state: momentum errors with the nominal mass matrix, by the same definition as the law's.
//! Written again, so that an error of the simulator's auditor is not made twice.

use surelift::dynamics::{Composites, Motion, crba};
use surelift::reach::momentum::BoundedTube;
use surelift::robot::Arm;
use surelift::trajectory::JointState;

use crate::arm::larger;

/// Storage for the momentum errors of a true state.
#[derive(Debug)]
pub struct MomentumErrors {
    motion: Motion<f64>,
    composites: Composites<f64>,
    /// M_0, row by row.
    mass: Vec<f64>,
}

impl MomentumErrors {
    /// For this arm.
    pub fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        Self { motion: Motion::new(robot), composites: Composites::new(robot), mass: vec![0.0; n * n] }
    }

    /// The largest share that |p_j| = |M_0 r|_j or |M_0 e|_j has of its bound, `t` seconds by the plan's clock, for a state (q, dq). `center` are the nominal
    /// parameters: those at the centre of the plan's set.
    pub fn share(
        &mut self,
        robot: &Arm,
        (bounded, center, t): (&BoundedTube, &[f64], f64),
        (q, dq): (&[f64], &[f64]),
        desired: &JointState,
    ) -> f64 {
        let (n, tube) = (q.len(), &bounded.tube);
        self.motion.place(robot, &desired.q);
        crba(robot, &self.motion, center, &mut self.composites, &mut self.mass);
        for j in 0..n {
            self.mass[n * j + j] += robot.joint_parameters(center, j).armature;
        }
        let e: Vec<f64> = (0..n).map(|i| desired.q[i] - q[i]).collect();
        let r: Vec<f64> = (0..n).map(|i| desired.dq[i] - dq[i] + tube.gains.k_r * e[i]).collect();
        let shares = (0..n).map(|j| {
            let times = |x: &[f64]| (0..n).map(|i| self.mass[n * j + i] * x[i]).sum::<f64>().abs();
            let radius = tube.robust_at(j, t) / tube.gains.kappa + tube.noise_at(j, t);
            larger(times(&r) / radius, times(&e) / tube.lag_at(j, t))
        });
        shares.fold(0.0, larger)
    }
}
