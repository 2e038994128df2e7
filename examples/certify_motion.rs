//! One motion from rest to rest, proven or refused with the reason.
//!
//! ```text
//! cargo run --release --example certify_motion
//! ```

use surelift::certify::{Certificate, Partition, Problem, Start, certify};
use surelift::inertia::ParameterSet;
use surelift::plan::tube_fit;
use surelift::robot::{self, Arm, Scene};
use surelift::trajectory::{Bezier, JointState};

/// Proves one motion of the tutorial's arm.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let robot = robot::load("examples/my_arm/my_arm.toml")?;
    let certificate = prove(&robot, &[-0.8, 0.6, 0.9], &[0.2, 0.5, 0.7], 3.0)?;
    println!("proven, {:?} N m to spare at {}", certificate.torque.value, certificate.torque.at);
    match prove(&robot, &[-0.8, 0.6, 0.9], &[0.2, 0.5, 0.7], 0.5) {
        Ok(_) => Err("so fast a motion was not expected to be possible".into()),
        Err(refusal) => {
            println!("in half a second it is refused: {refusal}");
            Ok(())
        }
    }
}

/// The proof of a motion from rest to rest in `seconds`, for all parameters within the robot's own uncertainty.
pub fn prove(
    robot: &Arm,
    start: &[f64],
    end: &[f64],
    seconds: f64,
) -> Result<Certificate, Box<dyn std::error::Error>> {
    let curve = Bezier::to_rest(&JointState::at_rest(start), end, seconds)?;
    let (set, scene) = (ParameterSet::around_nominal(robot), Scene::default());
    // The tube holds the constants of the controller; this fits them to the motion, in 32 cells of time.
    let tube = tube_fit::fit(robot, &set, &curve, &tube_fit::initial(robot), 32)?;
    let problem = Problem::new(robot, &set, &scene, &tube, &curve)?;
    Ok(certify(&problem, &Start::Rest, Partition::default())?)
}
