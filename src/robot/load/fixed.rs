//! Joints that are held still, fixed ones that turn, and joints that mimic others.
//!
//! A proof moves each joint by a drive of its own. A joint that follows another one is therefore held still, or taken as one with its own
//! drive: as the robot TOML says by key, or, for a URDF without one, held as far as grippers are concerned ([`hold_grippers`]).

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use nalgebra::{Rotation3, Unit, Vector3};

use crate::robot::error::RobotError;
use crate::robot::model::{JointKind, Placement};
use crate::robot::settings::JointSettings;
use crate::robot::urdf::Tree;
use crate::robot::validate::Judge;

/// Holds the joints that the robot TOML at `path` says are fixed, and those that mimic one of them; takes their entries out of `joints`. Joints that the
/// TOML says are hinges turn.
///
/// # Errors
/// [`RobotError`] for a position that the joint cannot have, for other keys of a joint that is fixed, for a hinge that moves already or has no limits, and
/// for a joint that mimics one that moves, of an arm.
pub(super) fn hold(
    path: &Path,
    tree: &mut Tree,
    joints: &mut BTreeMap<String, JointSettings>,
    judge: &mut Judge,
) -> Result<(), RobotError> {
    for (name, settings) in joints.iter() {
        let Some(j) = tree.joints.iter().position(|joint| joint.name == *name) else { continue };
        let error = |(what, reason): (&str, String)| RobotError::Field {
            path: path.to_path_buf(),
            field: format!("joints.{name}.{what}"),
            reason,
        };
        let hinge = settings.hinge().map_err(error)?;
        let Some(kind) = tree.joints[j].kind else {
            if let Some([lower, upper]) = hinge {
                let joint = &mut tree.joints[j];
                (joint.kind, joint.position) = (Some(JointKind::Revolute), (lower, upper));
            }
            continue;
        };
        if hinge.is_some() {
            return Err(error(("hinge", "the joint moves in the URDF, expected a fixed one".to_owned())));
        }
        if let Some(at) = settings.held_at(kind).map_err(error)? {
            let (lower, upper) = tree.joints[j].position;
            if kind != JointKind::Continuous && !(lower <= at && at <= upper) {
                let reason = format!("{at}, expected a position from {lower} to {upper}, the joint's limits");
                return Err(error(("fixed_at", reason)));
            }
            fix(tree, j, at);
        }
        if settings.independent() {
            tree.joints[j].mimic = None;
        }
    }
    let held: HashSet<&str> =
        tree.joints.iter().filter(|j| j.held_at.is_some()).map(|j| j.name.as_str()).collect();
    joints.retain(|name, _| !held.contains(name.as_str()));
    follow(tree);
    refuse_mimics(tree, judge)
}

/// Holds what moves the fingers of a gripper, of a URDF alone: joints that mimic another or are mimicked and carry nothing else that moves, and where several
/// joints are left at the end of one body, those. Each at the position nearest to zero. What was held is told to the judge.
pub(super) fn hold_grippers(tree: &mut Tree, judge: &mut Judge) {
    let moving = |tree: &Tree| -> Vec<usize> {
        (0..tree.joints.len()).filter(|&j| tree.joints[j].kind.is_some()).collect()
    };
    let leaders: HashSet<String> =
        tree.joints.iter().filter_map(|j| j.mimic.as_ref()).map(|mimic| mimic.joint.clone()).collect();
    let mut fingers: Vec<usize> = moving(tree)
        .into_iter()
        .filter(|&j| tree.joints[j].mimic.is_some() || leaders.contains(&tree.joints[j].name))
        .collect();
    // A joint that carries others is the arm's, as in a parallelogram; so is one that moves with it.
    loop {
        let follows = |a: usize, b: usize| {
            tree.joints[a].mimic.as_ref().is_some_and(|mimic| mimic.joint == tree.joints[b].name)
        };
        let partner_of_arm = |j: usize| {
            let mut others = moving(tree).into_iter().filter(|k| !fingers.contains(k));
            others.any(|k| follows(j, k) || follows(k, j))
        };
        let carries = |j: usize| {
            let mut further = moving(tree).into_iter().filter(|k| !fingers.contains(k));
            further
                .any(|k| std::iter::successors(Some(k), |&k| moving_above(tree, k)).any(|above| above == j))
        };
        let kept: Vec<usize> =
            fingers.iter().copied().filter(|&j| !(carries(j) || partner_of_arm(j))).collect();
        if kept.len() == fingers.len() {
            break;
        }
        fingers = kept;
    }
    let rest: Vec<usize> = moving(tree).into_iter().filter(|j| !fingers.contains(j)).collect();
    // None of the fingers carries one of the rest.
    let above = |j: usize| moving_above(tree, j);
    let leaves: Vec<usize> =
        rest.iter().copied().filter(|&j| rest.iter().all(|&k| above(k) != Some(j))).collect();
    let hand = leaves.first().and_then(|&leaf| above(leaf));
    if leaves.len() > 1 && hand.is_some() && leaves.iter().all(|&leaf| above(leaf) == hand) {
        fingers.extend(leaves);
    }
    for j in fingers {
        if tree.joints[j].mimic.is_some() {
            continue;
        }
        let (lower, upper) = tree.joints[j].position;
        let at = if lower <= upper { 0f64.clamp(lower, upper) } else { 0.0 };
        judge
            .guesses
            .push(format!("joint `{}` is taken for a gripper's and held at {at}", tree.joints[j].name));
        fix(tree, j, at);
    }
    for name in follow(tree) {
        judge.guesses.push(format!("joint `{name}` mimics one that is held, and is held too"));
    }
}

/// The moving joint next above joint `j`.
fn moving_above(tree: &Tree, j: usize) -> Option<usize> {
    let mut link = tree.joints[j].parent;
    loop {
        let above = tree.joints.iter().position(|joint| joint.child == link)?;
        if tree.joints[above].kind.is_some() {
            return Some(above);
        }
        link = tree.joints[above].parent;
    }
}

/// Makes joint `j` a fixed one, at this position, rad or m.
fn fix(tree: &mut Tree, j: usize, at: f64) {
    let joint = &mut tree.joints[j];
    let moved = match joint.kind {
        Some(JointKind::Prismatic) => Placement { translation: joint.axis * at, ..Placement::identity() },
        _ => {
            let rotation = Rotation3::from_axis_angle(&Unit::new_unchecked(joint.axis), at).into_inner();
            Placement { rotation, translation: Vector3::zeros() }
        }
    };
    joint.origin = joint.origin.compose(&moved);
    joint.held_at = joint.kind.take().map(|kind| (kind, at));
}

/// Holds the joints that mimic one that is held, until there is none left; gives their names.
pub(super) fn follow(tree: &mut Tree) -> Vec<String> {
    let mut held = Vec::new();
    loop {
        let next = tree.joints.iter().enumerate().find_map(|(j, joint)| {
            let mimic = joint.mimic.as_ref().filter(|_| joint.kind.is_some())?;
            let leader = tree.joints.iter().find(|other| other.name == mimic.joint)?.held_at?.1;
            Some((j, mimic.multiplier * leader + mimic.offset))
        });
        let Some((j, at)) = next else { return held };
        held.push(tree.joints[j].name.clone());
        fix(tree, j, at);
    }
}

/// Objects to joints that still mimic another one, of an arm.
pub(super) fn refuse_mimics(tree: &Tree, judge: &mut Judge) -> Result<(), RobotError> {
    for joint in tree.joints.iter().filter(|joint| joint.kind.is_some()) {
        let Some(mimic) = &joint.mimic else { continue };
        if tree.joints.iter().all(|other| other.name != mimic.joint) {
            let reason = format!("it mimics `{}`, which is no joint", mimic.joint);
            judge.hear(RobotError::Joint { path: tree.path.clone(), joint: joint.name.clone(), reason })?;
        } else if judge.shapes && !judge.dynamics_only {
            let (name, leader) = (&joint.name, &mimic.joint);
            let reason = format!(
                "it mimics `{leader}`, which moves; expected in the robot TOML `fixed_at_rad` (`fixed_at_m`) under [joints.{leader}] or \
                 [joints.{name}], which holds it still, or `independent = true` under [joints.{name}] if it has a drive of its own"
            );
            judge.hear(RobotError::Joint { path: tree.path.clone(), joint: name.clone(), reason })?;
        }
    }
    Ok(())
}
