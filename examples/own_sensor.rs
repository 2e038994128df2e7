//! A sensor of your own: torques from motor currents, which come in steps. What it may get wrong is stated, and what is learnt from it is proven.
//! `cargo run --release --example own_sensor`

use std::{error::Error, sync::Arc};

use surelift::horizon::{self, Hardware, Reading, Record, RunOptions};
use surelift::robot::TorqueSensor;
use surelift::scenario::Scenario;
use surelift::simulate::World;

/// What the data sheet says: N m an ampere, known to 1 %, and the smallest step of a current, A.
const NM_PER_A: (f64, f64) = (4.0, 0.01);
const STEP_A: f64 = 0.01;

/// An arm whose torques are read from its currents; `nm_per_a` is what its motors truly give.
struct Currents<A> {
    arm: A,
    nm_per_a: f64,
}

impl<A: Hardware> Hardware for Currents<A> {
    fn time(&self) -> f64 {
        self.arm.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.arm.read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let known = self.arm.command(tau, measured);
        measured.iter_mut().for_each(|tau| *tau = (*tau / self.nm_per_a / STEP_A).round());
        measured.iter_mut().for_each(|steps| *steps *= STEP_A * NM_PER_A.0);
        known
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.arm.hold(measured)
    }
}

/// An unknown load is learnt by such an arm.
pub fn learn(nm_per_a: f64) -> Result<Record, Box<dyn Error>> {
    let (mut task, truth) = Scenario::load("examples/my_arm/unknown_load.toml")?.split();
    let with = |ratio, abs_nm| task.robot.sensors().clone().with_torque(TorqueSensor { ratio, abs_nm });
    let (perfect, own) = (with(0.0, 0.0), with(NM_PER_A.1, 0.5 * STEP_A * NM_PER_A.0));
    let robot = Arc::new(task.robot.with_sensors(perfect)?);
    let arm = World::new(robot, task.scene.clone(), &task.start, truth, 0);
    task.robot = task.robot.with_sensors(own)?;
    let options = RunOptions { method: "ours".to_owned(), seed: 0, timed: false };
    Ok(horizon::run(&task, &mut Currents { arm, nm_per_a }, &options, &mut ())?)
}

/// Prints what is known of the mass of forearm, gripper and load in the end.
pub fn main() -> Result<(), Box<dyn Error>> {
    let known = learn(NM_PER_A.0 * 0.995)?.identification.pop().ok_or("nothing was learnt")?.known;
    println!("{:.3} to {:.3} kg (truth 1.5)", known.lower[0], known.upper[0]);
    Ok(())
}
