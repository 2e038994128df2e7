//! The control loop: a proven motion, tracked by the robust controller on a simulated arm whose masses differ from the model.
//!
//! ```text
//! cargo run --release --example control_loop
//! ```

use std::sync::Arc;

use surelift::certify::{Partition, Problem, Start, certify};
use surelift::control::{Controller, Measured, RobustController};
use surelift::dynamics::Workspace;
use surelift::inertia::ParameterSet;
use surelift::plan::tube_fit;
use surelift::robot::{self, Arm, Scene};
use surelift::trajectory::{Bezier, JointState};

/// Moves the tutorial's arm, and compares its tracking errors with what was proven.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let robot = Arc::new(robot::load("examples/my_arm/my_arm.toml")?);
    let (set, scene) = (ParameterSet::around_nominal(&robot), Scene::default());
    let mut desired = JointState::at_rest(&[-0.8, 0.6, 0.9]);
    let curve = Bezier::to_rest(&desired, &[0.2, 0.5, 0.7], 3.0)?;
    let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 32)?;
    certify(&Problem::new(&robot, &set, &scene, &tube, &curve)?, &Start::Rest, Partition::default())?;

    let mut controller = RobustController::new(robot.clone(), &set, &tube);
    let mut arm = Plant::new(&robot, &desired.q);
    let (mut tau, mut largest) = (vec![0.0; robot.dof()], vec![0.0_f64; robot.dof()]);
    for tick in 0..3000 {
        let t = f64::from(tick) * robot.gains().period_s;
        curve.evaluate(t, &mut desired);
        controller.tick(t, Measured { q: &arm.q, dq: &arm.dq }, &desired, &mut tau);
        for (j, error) in largest.iter_mut().enumerate() {
            *error = error.max((desired.q[j] - arm.q[j]).abs());
        }
        arm.advance(&robot, &tau);
    }
    let proven: Vec<f64> = (0..robot.dof()).map(|j| tube.e_radius(j)).collect();
    println!("largest tracking errors, rad: {largest:.5?}\nproven bounds:               {proven:.5?}");
    assert!(largest.iter().zip(&proven).all(|(error, bound)| error <= bound));
    Ok(())
}

/// A simulated arm, 4 % heavier than the model says; in its place stands yours.
struct Plant {
    q: Vec<f64>,
    dq: Vec<f64>,
    ddq: Vec<f64>,
    truth: Vec<f64>,
    dynamics: Workspace,
}

impl Plant {
    fn new(robot: &Arm, q: &[f64]) -> Self {
        let truth = robot.nominal_parameters().iter().map(|x| 1.04 * x).collect();
        let zeros = vec![0.0; q.len()];
        Self { q: q.to_vec(), dq: zeros.clone(), ddq: zeros, truth, dynamics: Workspace::new(robot) }
    }

    /// One tick, in which the torques are held: ten steps of the semi-implicit Euler method.
    fn advance(&mut self, robot: &Arm, tau: &[f64]) {
        let step = robot.gains().period_s / 10.0;
        for _ in 0..10 {
            let moved = robot.joints.iter().zip(tau).zip(&self.dq).map(|((joint, tau), dq)| {
                let sign = (dq / robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
                tau - joint.friction.coulomb * sign - joint.friction.viscous * dq
            });
            let moved: Vec<f64> = moved.collect();
            self.dynamics.forward_dynamics(robot, &self.q, &self.dq, &moved, &self.truth, &mut self.ddq);
            for j in 0..self.q.len() {
                self.dq[j] += step * self.ddq[j];
                self.q[j] += step * self.dq[j];
            }
        }
    }
}
