//! Whether what is given to a job makes sense.

use super::error::JobError;
use crate::robot::{Arm, Scene};

/// No time in a job is longer, s.
const LONGEST_S: f64 = 600.0;

/// `n` numbers.
pub(super) fn length(field: &str, values: &[f64], n: usize) -> Result<(), JobError> {
    let fine = values.len() == n;
    let reason = || format!("{} numbers, expected {n}, one a joint", values.len());
    if fine { Ok(()) } else { Err(JobError::input(field, reason())) }
}

/// A finite number above 0.
pub(super) fn positive(field: &str, x: f64) -> Result<(), JobError> {
    let fine = x.is_finite() && x > 0.0;
    if fine { Ok(()) } else { Err(JobError::input(field, format!("{x}, expected a finite number > 0"))) }
}

/// A time above 0 that storage can be asked for.
pub(super) fn seconds(field: &str, x: f64) -> Result<(), JobError> {
    let fine = x > 0.0 && x <= LONGEST_S;
    let reason = || format!("{x} s, expected a number above 0, at most {LONGEST_S} s");
    if fine { Ok(()) } else { Err(JobError::input(field, reason())) }
}

/// One finite number a joint, within its limits.
pub(super) fn configuration(field: &str, robot: &Arm, q: &[f64]) -> Result<(), JobError> {
    length(field, q, robot.dof())?;
    for (joint, &x) in robot.joints.iter().zip(q) {
        let (lower, upper) = joint.limits.position.unwrap_or((f64::MIN, f64::MAX));
        if !(lower <= x && x <= upper) {
            let reason = format!("joint '{}' at {x}, expected within [{lower:.4}, {upper:.4}]", joint.name);
            return Err(JobError::input(field, reason));
        }
    }
    Ok(())
}

/// Obstacles of finite numbers.
pub(super) fn scene(scene: &Scene) -> Result<(), JobError> {
    for obstacle in &scene.obstacles {
        let bad = obstacle.center.iter().chain(obstacle.generators.iter().flatten()).find(|x| !x.is_finite());
        let told = |x: &f64| format!("obstacle '{}': contains {x}, expected finite numbers", obstacle.name);
        if let Some(reason) = bad.map(told).or_else(|| obstacle.fault()) {
            return Err(JobError::input("scene", reason));
        }
    }
    Ok(())
}

/// An arm whose links stand where its encoders do. On springs a load that is taken swings, and nothing is proven of an arm that does not start at rest.
pub(super) fn rigid(robot: &Arm) -> Result<(), JobError> {
    let reason = "its links hang on springs (`drives.spring`): what is taken would swing while the encoders stand still, which no proof covers; \
                  state what is held from the start in a scenario";
    if robot.has_springs() { Err(JobError::input("robot", reason)) } else { Ok(()) }
}
