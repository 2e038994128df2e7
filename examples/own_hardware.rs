//! The loop with your own arm: write `Hardware` for its driver, and the library does the rest.
//!
//! ```text
//! cargo run --release --example own_hardware
//! ```

use surelift::dynamics::Workspace;
use surelift::horizon::{self, Hardware, Outcome, Reading, RunOptions};
use surelift::robot::Arm;
use surelift::scenario::Scenario;

/// Runs a task with a driver of one's own; here it drives a simulated arm.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (task, _) = Scenario::load("examples/my_arm/first_move.toml")?.split();
    let mut driver = Driver::new(&task.robot, &task.start);
    let options = RunOptions { method: "ours".to_owned(), seed: 0, timed: false };
    let record = horizon::run(&task, &mut driver, &options, &mut ())?;
    println!("{} after {:.1} s; the arm is at {:.3?}", record.outcome, driver.time(), driver.q);
    let near = driver.q.iter().zip(&task.goal).all(|(q, goal)| (q - goal).abs() < 0.05);
    if record.outcome == Outcome::Success && near { Ok(()) } else { Err(record.outcome.to_string().into()) }
}

/// What stands between the loop and the arm. In place of the simulation, talk to your drives and sensors.
struct Driver<'a> {
    robot: &'a Arm,
    ticks: u64,
    q: Vec<f64>,
    dq: Vec<f64>,
    ddq: Vec<f64>,
    parameters: Vec<f64>,
    dynamics: Workspace,
}

impl<'a> Driver<'a> {
    fn new(robot: &'a Arm, start: &[f64]) -> Self {
        let zeros = vec![0.0; start.len()];
        Self {
            robot,
            ticks: 0,
            q: start.to_vec(),
            dq: zeros.clone(),
            ddq: zeros,
            parameters: robot.nominal_parameters(),
            dynamics: Workspace::new(robot),
        }
    }
}

impl Hardware for Driver<'_> {
    fn time(&self) -> f64 {
        self.ticks as f64 * self.robot.gains().period_s
    }

    fn read(&mut self, reading: &mut Reading) {
        reading.t = self.time();
        reading.q.copy_from_slice(&self.q);
        reading.dq.copy_from_slice(&self.dq);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let step = self.robot.gains().period_s / 10.0;
        for _ in 0..10 {
            let joints = self.robot.joints.iter().zip(tau).zip(&self.dq);
            let moved = joints.map(|((joint, tau), dq)| {
                let sign = (dq / self.robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
                tau - joint.friction.coulomb * sign - joint.friction.viscous * dq
            });
            let moved: Vec<f64> = moved.collect();
            let Self { robot, dynamics, q, dq, ddq, parameters, .. } = self;
            dynamics.forward_dynamics(robot, q, dq, &moved, parameters, ddq);
            for j in 0..q.len() {
                dq[j] += step * ddq[j];
                q[j] += step * dq[j];
            }
        }
        measured.copy_from_slice(tau);
        self.ticks += 1;
        true
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.dynamics.inverse_dynamics(self.robot, &self.q, &[0.0; 3], &[0.0; 3], &self.parameters, measured);
        self.ticks += 1;
        true
    }
}
