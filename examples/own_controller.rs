//! A controller of your own: computed torque, on the simulated arm.
//! `cargo run --release --example own_controller`

use std::{error::Error, sync::Arc};

use surelift::control::{Controller, Measured, Tick};
use surelift::dynamics::Workspace;
use surelift::horizon::{Hardware, Reading};
use surelift::robot::Arm;
use surelift::scenario::Scenario;
use surelift::simulate::World;
use surelift::trajectory::{Bezier, JointState};

/// The torques that the nominal model needs to accelerate as desired, with a spring (1/s^2) and a damper (1/s).
struct ComputedTorque {
    robot: Arc<Arm>,
    dynamics: Workspace,
    spring: f64,
    damper: f64,
}

impl Controller for ComputedTorque {
    fn tick(&mut self, _: f64, is: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        let Self { robot, dynamics, spring, damper } = self;
        let along = |j: usize| *spring * (desired.q[j] - is.q[j]) + *damper * (desired.dq[j] - is.dq[j]);
        let asked: Vec<f64> = (0..tau.len()).map(|j| desired.ddq[j] + along(j)).collect();
        dynamics.inverse_dynamics(robot, is.q, is.dq, &asked, &robot.nominal_parameters(), tau);
        for ((tau, joint), dq) in tau.iter_mut().zip(&robot.joints).zip(&desired.dq) {
            *tau += joint.friction.viscous * dq + joint.friction.coulomb * (100.0 * dq).clamp(-1.0, 1.0);
        }
        Tick { energy_j: 0.0, energy_floor_j: 0.0, saturated: false }
    }
}

/// The largest error of one second of motion, rad.
pub fn largest_error_rad(spring: f64, damper: f64) -> Result<f64, Box<dyn Error>> {
    let (task, truth) = Scenario::load("examples/my_arm/first_move.toml")?.split();
    let (robot, n) = (Arc::new(task.robot.clone()), task.robot.dof());
    let mut world = World::new(robot.clone(), task.scene.clone(), &task.start, truth, 0);
    let mut law = ComputedTorque { dynamics: Workspace::new(&robot), robot, spring, damper };
    let curve = Bezier::to_rest(&JointState::at_rest(&task.start), &[-0.3, 0.5, 0.8], 1.0)?;
    let (mut reading, mut tau, mut measured) = (Reading::new(n), vec![0.0; n], vec![0.0; n]);
    let mut largest = 0.0_f64;
    for tick in 0..1000 {
        let t = f64::from(tick) * task.robot.gains().period_s;
        let desired = curve.state(t);
        Hardware::read(&mut world, &mut reading);
        largest = desired.q.iter().zip(&reading.q).map(|(a, b)| (a - b).abs()).fold(largest, f64::max);
        law.tick(t, Measured { q: &reading.q, dq: &reading.dq }, &desired, &mut tau);
        world.command(&tau, &mut measured);
    }
    Ok(largest)
}

/// Prints the error of a stiff controller.
pub fn main() -> Result<(), Box<dyn Error>> {
    println!("{:.4} rad", largest_error_rad(400.0, 40.0)?);
    Ok(())
}
