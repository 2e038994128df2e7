//! Motions that were found and written, read again.

use std::num::NonZeroU32;
use std::path::Path;

use serde::Deserialize;

use super::StandingError;
use crate::robot::Model;
use crate::simulate::Sway;
use crate::simulate::sway::BASE;
use crate::trajectory::Fourier;

/// What `summary.json` has of a motion.
#[derive(Debug, Deserialize)]
struct Saved {
    robot: String,
    duration_s: f64,
    /// Older ones went through their series once.
    #[serde(default = "once")]
    repeats: NonZeroU32,
    start: Vec<f64>,
    coordinates: Vec<String>,
    coefficients: Vec<Vec<[f64; 2]>>,
}

const fn once() -> NonZeroU32 {
    NonZeroU32::MIN
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
    let repeats = saved.repeats.get();
    let period_s = saved.duration_s / f64::from(repeats);
    let curve = Fourier::at_rest(&vec![0.0; saved.coordinates.len()], &saved.coefficients, period_s);
    let curve = curve.map_err(|error| bad(error.to_string()))?.repeated(repeats);
    Ok((Sway::new(&saved.start, &swinging, curve), saved.start))
}
