//! A robot from its files: what was understood of them.
//!
//! ```text
//! cargo run --release --example load_robot -- examples/my_arm/my_arm.toml
//! ```

use surelift::robot::{self, Arm};

/// Loads the robot that the command line names.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "examples/my_arm/my_arm.toml".to_owned());
    show(&path)?;
    Ok(())
}

/// Prints a robot's joints. The name of a robot that ships will do as well as a path to a TOML or URDF file.
pub fn show(path: &str) -> Result<Arm, Box<dyn std::error::Error>> {
    let robot = robot::load(path)?;
    println!("{}: {} joints, {} capsules", robot.name, robot.dof(), robot.shapes().len());
    for joint in &robot.joints {
        let (limits, friction) = (joint.limits, joint.friction);
        println!(
            "  {:10} {:?}, {} N m, friction {} N m",
            joint.name, limits.position, limits.torque, friction.coulomb
        );
    }
    Ok(robot)
}
