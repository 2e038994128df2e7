//! The dynamics alone: the torques that a motion needs, and the accelerations that torques cause.
//!
//! ```text
//! cargo run --release --example dynamics
//! ```

use surelift::dynamics::Workspace;
use surelift::robot;

/// Prints the torques of a motion.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let robot = robot::load_model("kinova_gen3")?;
    let parameters = robot.nominal_parameters();
    let mut dynamics = Workspace::new(&robot);

    let (q, dq, ddq) = ([0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5], [0.1; 7], [0.2; 7]);
    let mut tau = [0.0; 7];
    dynamics.inverse_dynamics(&robot, &q, &dq, &ddq, &parameters, &mut tau);
    println!("torques, N m: {tau:.2?}");

    let mut back = [0.0; 7];
    dynamics.forward_dynamics(&robot, &q, &dq, &tau, &parameters, &mut back);
    assert!(back.iter().zip(ddq).all(|(found, given)| (found - given).abs() < 1e-9), "{back:?}");
    Ok(())
}
