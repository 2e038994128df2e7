//! What a recording says of what the hand holds: a guaranteed interval for each inertial parameter.
//!
//! ```text
//! cargo run --release -- run scenarios/dumbbell_c_8lb.toml
//! cargo run --release --example identify_log -- runs/dumbbell_c_8lb-ours-0/log.csv
//! ```
//!
//! The file has the columns `t, q1.., dq1.., tau1..`, or is an MCAP file with joint states.

use std::path::Path;

use surelift::identify::Unknown;
use surelift::recording::{AngleUnit, MeasurementLog};
use surelift::regression::filter::Smoothing;
use surelift::robot::{self, Prior};
use surelift::study::identification::estimators::Estimator;
use surelift::study::identification::{Delay, Findings, IdentificationStudy, StudyOptions};

/// Studies the recording that the command line names.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = std::env::args().nth(1).ok_or("expected a recording: LOG.csv or LOG.mcap")?;
    identify(Path::new(&log))?;
    Ok(())
}

/// The study of a recording of a Kinova Gen3 with a gripper.
pub fn identify(log: &Path) -> Result<Findings, Box<dyn std::error::Error>> {
    let robot = robot::load("kinova_gen3_2f85")?;
    let log = MeasurementLog::read(log, &robot, AngleUnit::Radians)?;
    // What is believed before: the robot's own uncertainty, and the payload's intervals from a file.
    let prior = Unknown::Payload.default_prior(&robot);
    let (_, prior) = Prior::read(Path::new("scenarios/priors/gen3_hand.toml"), prior, &robot)?;
    let options = StudyOptions {
        unknown: Unknown::Payload,
        method: Some(Estimator::Nominal),
        smoothing: Smoothing::default(),
        window_s: 0.1,
        acceleration: None,
        torque_abs_nm: vec![0.0; robot.dof()],
        delay: Delay::Seconds(0.0),
        frame: None,
        stated: None,
        margin: 2.0,
    };
    let study = IdentificationStudy {
        robot: &robot,
        prior: &prior,
        logs: &[log],
        validation: None,
        options: &options,
    };
    let findings = study.run()?;
    println!("{}", findings.guarantee);
    for parameter in &findings.parameters {
        println!("  {:20} {:?} {}", parameter.name, parameter.set, parameter.unit);
    }
    Ok(findings)
}
