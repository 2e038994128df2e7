//! How old may readings be, how noisy velocities, and how far may drives lag? What the momentum law can be proven to do for a payload that is known to a tenth, and for one
//! that is not known yet.
//!
//! ```text
//! cargo run --release --example late_readings
//! ```

use surelift::certify::{MomentumProblem, MomentumStart};
use surelift::horizon::Task;
use surelift::identify::tighten_by_physics;
use surelift::inertia::ParameterSet;
use surelift::plan::momentum_fit::{MomentumRefusal, fit};
use surelift::reach::PreparedSet;
use surelift::reach::momentum::{CycleTiming, MomentumGains};
use surelift::robot::{Arm, Scene, Sensors};
use surelift::scenario::Scenario;
use surelift::trajectory::{Bezier, JointState};

/// What errors carry any point of the arm by at most, mm, and the largest robust torque, N m.
pub type Proven = Result<(f64, f64), MomentumRefusal>;

/// Shows what is proven as latency and delay grow.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    for other_ms in [0.5, 1.0, 2.0, 8.0] {
        match with_latency_and_delay(other_ms * 1e-3)? {
            Ok((growth_mm, robust_nm)) => {
                println!(
                    "{other_ms} ms besides the period: links carried by {growth_mm:.1} mm, {robust_nm:.1} N m"
                )
            }
            Err(refusal) => println!("{other_ms} ms besides the period: {refusal}"),
        }
    }
    let (growth_mm, robust_nm) = with_the_whole_prior(1e-3)??;
    println!(
        "1 ms besides the period, nothing learnt yet: links carried by {growth_mm:.1} mm, {robust_nm:.1} N m"
    );
    for lag_ms in [0.5, 1.0, 2.0, 4.0] {
        match with_drives_that_lag(lag_ms * 1e-3)? {
            Ok((growth_mm, robust_nm)) => println!(
                "1 ms besides the period, drives lag by {lag_ms} ms: links carried by {growth_mm:.1} mm, {robust_nm:.1} N m"
            ),
            Err(refusal) => println!("1 ms besides the period, drives lag by {lag_ms} ms: {refusal}"),
        }
    }
    Ok(())
}

/// Proves one motion of the Gen3 for readings that are up to `other_s` older than a period of 1 ms when the arm feels their command, and a payload that
/// is known to a tenth of the scenario's prior.
pub fn with_latency_and_delay(other_s: f64) -> Result<Proven, Box<dyn std::error::Error>> {
    let task = Scenario::load("scenarios/dumbbell_c_8lb.toml")?.split().0;
    let set = narrowed(&task.prior_set()?, 0.1)?;
    prove(&task, &set, (other_s, 0.0), (MomentumGains { k_r: 6.0, kappa: 60.0 }, 16))
}

/// The same with readings 1 ms older than a period, for drives that follow their commands with a first-order lag of at most `drive_lag_s`.
pub fn with_drives_that_lag(drive_lag_s: f64) -> Result<Proven, Box<dyn std::error::Error>> {
    let task = Scenario::load("scenarios/dumbbell_c_8lb.toml")?.split().0;
    let set = narrowed(&task.prior_set()?, 0.1)?;
    prove(&task, &set, (1e-3, drive_lag_s), (MomentumGains { k_r: 6.0, kappa: 60.0 }, 16))
}

/// The same for all that physics leaves of the prior. Its mass matrix is so uncertain that errors have to be answered faster, and the motion looked at
/// in shorter spans.
pub fn with_the_whole_prior(other_s: f64) -> Result<Proven, Box<dyn std::error::Error>> {
    let task = Scenario::load("scenarios/dumbbell_c_8lb.toml")?.split().0;
    let set = tighten_by_physics(&task.prior_set()?, task.robot.end_effector())?;
    prove(&task, &set, (other_s, 0.0), (MomentumGains { k_r: 4.0, kappa: 120.0 }, 32))
}

fn prove(
    task: &Task,
    set: &ParameterSet,
    (other_s, drive_lag_s): (f64, f64),
    (gains, cells): (MomentumGains, usize),
) -> Result<Proven, Box<dyn std::error::Error>> {
    // Velocities as torque-controlled arms have them: a hundred times worse than the scenario's.
    let sensors = Sensors { velocity_rad_s: 5e-3, position_rad: 2e-5, ..task.robot.sensors().clone() };
    let robot = task.robot.with_sensors(sensors)?;
    let set = PreparedSet::new(&robot, set);
    let curve = motion(&robot, &task.start)?;
    let scene = Scene::default();
    let problem = MomentumProblem::new(&robot, &set, &scene, &curve, MomentumStart::Rest)?;
    let (latency_s, delay_s) = (0.5 * other_s, 0.5 * other_s);
    let timing = CycleTiming { period_s: 1e-3, latency_s, delay_s, jitter_s: 1e-4, drive_lag_s };
    Ok(fit(&problem, gains, timing, cells).map(|(tube, reports)| {
        let growth_m = reports.iter().map(|report| report.needs.growth_m).fold(0.0, f64::max);
        (1e3 * growth_m, tube.robust_nm.iter().copied().fold(0.0, f64::max))
    }))
}

/// The part of a set about its middle, each interval so much narrower.
fn narrowed(set: &ParameterSet, share: f64) -> Result<ParameterSet, Box<dyn std::error::Error>> {
    let end = |sign: f64| -> Vec<f64> {
        set.center().iter().zip(set.radius()).map(|(c, g)| c + sign * share * g).collect()
    };
    Ok(ParameterSet::new(end(-1.0), end(1.0))?)
}

/// Half a radian in every joint, in three seconds.
fn motion(robot: &Arm, start: &[f64]) -> Result<Bezier, Box<dyn std::error::Error>> {
    let end: Vec<f64> = (0..robot.dof()).map(|j| start[j] + if j % 2 == 0 { 0.5 } else { -0.5 }).collect();
    Ok(Bezier::to_rest(&JointState::at_rest(start), &end, 3.0)?)
}
