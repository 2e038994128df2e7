//! Motions that were found and written, read again.

use std::path::Path;

use serde::Deserialize;

use super::{StandingError, most_repeats};
use crate::robot::Model;
use crate::simulate::Sway;
use crate::simulate::sway::BASE;

/// What `summary.json` has of a motion.
#[derive(Debug, Deserialize)]
struct Saved {
    robot: String,
    duration_s: f64,
    /// Older ones went through their series once.
    #[serde(default = "once")]
    repeats: u32,
    start: Vec<f64>,
    coordinates: Vec<String>,
    coefficients: Vec<Vec<[f64; 2]>>,
}

const fn once() -> u32 {
    1
}

/// Reads the motion of a `summary.json` that `surelift excite` has written for feet that stand: the series and the configuration that it starts from (length nq).
///
/// # Errors
/// [`StandingError::Setting`] for a file that cannot be read, is of another robot, or whose numbers make no motion.
pub fn read_motion(robot: &Model, path: &Path) -> Result<(Sway, Vec<f64>), StandingError> {
    let bad = |reason: String| StandingError::Setting(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let saved: Saved = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if saved.robot != robot.name {
        return Err(bad(format!("is a motion of `{}`, expected one of `{}`", saved.robot, robot.name)));
    }
    if saved.start.len() != robot.nq() || saved.coordinates.len() < BASE {
        let found = (saved.start.len(), saved.coordinates.len());
        return Err(bad(format!(
            "start of {} numbers and {} coordinates, expected {} and at least {BASE}",
            found.0,
            found.1,
            robot.nq()
        )));
    }
    let dof = |name: &String| {
        let joint = robot.joints.iter().position(|joint| &joint.name == name);
        joint
            .map(|i| robot.v_index(i))
            .ok_or_else(|| bad(format!("coordinate `{name}` is no joint of `{}`", robot.name)))
    };
    let swinging = saved.coordinates[BASE..].iter().map(dof).collect::<Result<Vec<_>, _>>()?;
    let (repeats, most) = (saved.repeats, most_repeats(saved.duration_s));
    if !(1..=most).contains(&repeats) {
        return Err(bad(format!("repeats: {repeats} in {} s, expected 1 to {most}", saved.duration_s)));
    }
    let time = (saved.duration_s, repeats);
    let sway = Sway::series((&saved.start, &swinging), &saved.coefficients, time);
    Ok((sway.map_err(|error| bad(error.to_string()))?, saved.start))
}
