//! Named frames, loop closures and rotors of the robot TOML -> [`NamedFrame`], [`LoopClosure`] and [`Thrust`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::error::RobotError;
use super::merge::LinkPlacement;
use super::model::{Joint, LoopClosure, NamedFrame, Thrust};
use super::settings::{FrameSettings, LoopSettings, ThrustSettings};
use super::urdf::Tree;

fn error(path: &Path, field: String, reason: String) -> RobotError {
    RobotError::Field { path: path.to_path_buf(), field, reason }
}

/// The frames in the frames of the joints that carry their links.
pub(super) fn frames(
    path: &Path,
    given: &[FrameSettings],
    tree: &Tree,
    placements: &HashMap<&str, LinkPlacement>,
) -> Result<Vec<NamedFrame>, RobotError> {
    let mut names = HashSet::new();
    let mut frames = Vec::with_capacity(given.len());
    for frame in given {
        let error = |reason| Err(error(path, format!("frame.{}", frame.name), reason));
        if !names.insert(frame.name.as_str()) {
            return error("the name is used by two frames".into());
        }
        let Some(placement) = placements.get(frame.link.as_str()) else {
            return error(format!("`{}` has no link `{}`", tree.path.display(), frame.link));
        };
        let joint = placement.body;
        let placement = placement.frame.compose(&frame.placement());
        frames.push(NamedFrame { name: frame.name.clone(), joint, placement });
    }
    Ok(frames)
}

/// The loops between `frames`.
pub(super) fn loops(
    path: &Path,
    given: &[LoopSettings],
    frames: &[NamedFrame],
    joints: &[Joint],
) -> Result<Vec<LoopClosure>, RobotError> {
    let mut names = HashSet::new();
    let mut positions = BTreeMap::new();
    let mut loops = Vec::with_capacity(given.len());
    for closure in given {
        let error = |reason| error(path, format!("loop.{}", closure.name), reason);
        if !names.insert(closure.name.as_str()) {
            return Err(error("the name is used by two loops".into()));
        }
        let find = |name: &str| {
            let index = frames.iter().position(|f| f.name == name);
            index.ok_or_else(|| error(format!("there is no [[frame]] `{name}`")))
        };
        let (frame_a, frame_b) = (find(&closure.frame_a)?, find(&closure.frame_b)?);
        if frames[frame_a].joint == frames[frame_b].joint {
            let (a, b) = (&closure.frame_a, &closure.frame_b);
            return Err(error(format!("`{a}` and `{b}` are on the same body, expected two that move apart")));
        }
        for (joint, position) in &closure.closed_at {
            closed_at_fault(joints, (joint, *position)).map_or(Ok(()), |reason| Err(error(reason)))?;
            // Loops share joints: one posture closes all.
            let other = *positions.entry(joint).or_insert(*position);
            if other != *position {
                let reason =
                    format!("closed_at.{joint} is {position}, expected {other} as another loop says");
                return Err(error(reason));
            }
        }
        let (name, kind, closed_at) = (closure.name.clone(), closure.kind, closure.closed_at.clone());
        loops.push(LoopClosure { name, frame_a, frame_b, kind, closed_at });
    }
    Ok(loops)
}

/// Why a joint cannot be where a loop is said to be closed.
fn closed_at_fault(joints: &[Joint], (name, position): (&str, f64)) -> Option<String> {
    let Some(joint) = joints.iter().find(|joint| joint.name == name) else {
        return Some(format!("closed_at: no moving joint is named `{name}`"));
    };
    if joint.kind.nq() != 1 {
        return Some(format!(
            "closed_at.{name}: the joint has more than one position, expected one that has one"
        ));
    }
    let (lower, upper) = joint.limits.position.unwrap_or((f64::MIN, f64::MAX));
    let within = (lower..=upper).contains(&position);
    (!within).then(|| format!("closed_at.{name} is {position}, expected a number from {lower} to {upper}"))
}

/// The rotors in `frames`.
pub(super) fn thrusts(
    path: &Path,
    given: &[ThrustSettings],
    frames: &[NamedFrame],
) -> Result<Vec<Thrust>, RobotError> {
    let mut names = HashSet::new();
    let mut thrusts = Vec::with_capacity(given.len());
    for thrust in given {
        let error = |reason| error(path, format!("thrust.{}", thrust.name), reason);
        if !names.insert(thrust.name.as_str()) {
            return Err(error("the name is used by two thrusts".into()));
        }
        let frame = frames.iter().position(|f| f.name == thrust.frame);
        let frame = frame.ok_or_else(|| error(format!("there is no [[frame]] `{}`", thrust.frame)))?;
        if !thrust.moment_per_force_m.is_finite() {
            let value = thrust.moment_per_force_m;
            return Err(error(format!("moment_per_force_m is {value}, expected a finite number")));
        }
        let [least, most] = thrust.force_n;
        if !(least.is_finite() && most.is_finite() && least < most) {
            return Err(error(format!(
                "force_n is [{least}, {most}], expected finite numbers, lower < upper"
            )));
        }
        let (name, moment_per_force_m) = (thrust.name.clone(), thrust.moment_per_force_m);
        thrusts.push(Thrust { name, frame, moment_per_force_m, force_n: (least, most) });
    }
    Ok(thrusts)
}
