//! What a person wants to see of a model before trusting it: every link, and every problem that was found.
//!
//! [`inspect`] goes on where [`super::load()`] stops at the first fault, so makers' models can be looked at as they are.

use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, SymmetricEigen};
use serde::Serialize;

use super::arm::Arm;
use super::configuration::neutral;
use super::error::RobotError;
use super::load::{assemble, find, read};
use super::model::{JointKind, LoopKind, Model};
use super::shape::LinkShape;
use super::urdf::{Link, Tree};
use super::validate::Judge;

/// Ends of a loop that are closer than this at the neutral configuration are not worth a word, metres (and radians).
const CLOSED: f64 = 1e-9;

/// A robot model and what is to be said about it.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// The tree as [`super::load_lenient`] gives it.
    pub model: Model,
    /// Its collision capsules.
    pub shapes: Vec<LinkShape>,
    /// The arm that it is; `None` if it is none, or if a fault forbids it.
    pub arm: Option<Arm>,
    /// Mass of all links, those that do not move included, kg.
    pub total_mass_kg: f64,
    /// The links of the URDF, those on fixed joints included, parents before children; the root comes first.
    pub links: Vec<LinkFigures>,
    /// The loops of the robot TOML, in its order.
    pub loops: Vec<LoopFigures>,
    /// Everything that is wrong or odd, in the order in which it was found.
    pub problems: Vec<Diagnostic>,
}

/// A link of the URDF.
#[derive(Debug, Clone, Serialize)]
pub struct LinkFigures {
    /// Its name.
    pub name: String,
    /// Index of the link that it hangs on; `None` for the root.
    pub parent: Option<usize>,
    /// The joint between them; `None` for the root.
    pub joint: Option<String>,
    /// Whether that joint is fixed (in a root: whether it does not float).
    pub fixed: bool,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Centre of mass in the link's frame, m.
    pub center_of_mass_m: [f64; 3],
    /// Principal moments of inertia about the centre of mass, ascending, kg m^2.
    pub principal_moments_kg_m2: [f64; 3],
}

/// A loop closure.
#[derive(Debug, Clone, Serialize)]
pub struct LoopFigures {
    /// Its name.
    pub name: String,
    /// Names of the frames that it holds together.
    pub frames: [String; 2],
    /// What they have in common.
    pub kind: LoopKind,
    /// Distance of their origins at the neutral configuration, m.
    pub open_by_m: f64,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// [`super::load()`] refuses the model for it.
    Fault,
    /// It is taken as it is; a person should know.
    Note,
}

/// Something wrong or odd, with the link, joint, loop or field named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in words.
    pub message: String,
}

/// Looks at a robot TOML, a URDF or a robot that ships (names and paths as for [`super::load()`]).
///
/// # Errors
/// What [`super::load_lenient`] cannot survive, behind the problems that were found before it.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection, (Vec<Diagnostic>, RobotError)> {
    inspect_with(path, &[])
}

/// [`inspect`], with folders in which packages of meshes are (`package://NAME/...`), to be looked in first.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with(
    path: impl AsRef<Path>,
    package_path: &[PathBuf],
) -> Result<Inspection, (Vec<Diagnostic>, RobotError)> {
    let mut judge = Judge::lenient().of_shapes_in(package_path);
    let result = find(path.as_ref(), Path::new(".")).and_then(|path| {
        let parts = read(&path, &mut judge)?;
        let tree = parts.tree.clone();
        Ok((assemble(&path, parts, None, &mut judge)?, tree))
    });
    let faults = judge.found.iter();
    let mut problems: Vec<Diagnostic> =
        faults.map(|fault| Diagnostic { severity: Severity::Fault, message: fault.to_string() }).collect();
    let (robot, tree) = match result {
        Ok(read) => read,
        Err(fatal) => return Err((problems, fatal)),
    };
    let no_arm = robot.no_arm();
    let stated = robot.stated;
    let loops = loops(&stated.model);
    let odd = notes(&stated.model, &tree, &loops, judge.dynamics_only);
    problems.extend(odd.into_iter().map(|message| Diagnostic { severity: Severity::Note, message }));
    let guesses = judge.guesses.into_iter().map(|guess| format!("guess: {guess}"));
    problems.extend(guesses.map(|message| Diagnostic { severity: Severity::Note, message }));
    let for_dynamics = no_arm.iter().map(|reason| format!("for dynamics alone: {reason}"));
    problems.extend(for_dynamics.map(|message| Diagnostic { severity: Severity::Note, message }));
    Ok(Inspection {
        total_mass_kg: tree.links.iter().map(|link| link.mass).sum(),
        links: links(&tree, &stated.model),
        loops,
        model: stated.model.clone(),
        shapes: stated.shapes.clone(),
        arm: if no_arm.is_none() { Arm::new(stated).ok() } else { None },
        problems,
    })
}

/// The links in the order of the tree.
fn links(tree: &Tree, robot: &Model) -> Vec<LinkFigures> {
    let figures = |link: &Link, parent, joint, fixed| LinkFigures {
        name: link.name.clone(),
        parent,
        joint,
        fixed,
        mass_kg: link.mass,
        center_of_mass_m: link.com.into(),
        principal_moments_kg_m2: principal_moments(&link.inertia),
    };
    // Where each link of the tree ended up in the list.
    let mut place = vec![0; tree.links.len()];
    let mut list = vec![figures(&tree.links[tree.root], None, None, !robot.has_free_flyer())];
    for joint in &tree.joints {
        place[joint.child] = list.len();
        let (parent, name) = (Some(place[joint.parent]), Some(joint.name.clone()));
        list.push(figures(&tree.links[joint.child], parent, name, joint.kind.is_none()));
    }
    list
}

fn principal_moments(inertia: &Matrix3<f64>) -> [f64; 3] {
    let mut moments: [f64; 3] = SymmetricEigen::new(*inertia).eigenvalues.into();
    moments.sort_by(f64::total_cmp);
    moments
}

/// The loops, measured at the neutral configuration.
fn loops(robot: &Model) -> Vec<LoopFigures> {
    let frames = robot.frames(&neutral(robot));
    let origin = |k: usize| {
        let frame = &robot.named_frames[k];
        let at = frame.placement.translation;
        frame.joint.map_or(at, |j| frames[j].point(&at))
    };
    let name = |k: usize| robot.named_frames[k].name.clone();
    let figures = |closure: &super::model::LoopClosure| LoopFigures {
        name: closure.name.clone(),
        frames: [name(closure.frame_a), name(closure.frame_b)],
        kind: closure.kind,
        open_by_m: (origin(closure.frame_a) - origin(closure.frame_b)).norm(),
    };
    robot.loops.iter().map(figures).collect()
}

/// What is odd, but taken as it is.
fn notes(robot: &Model, tree: &Tree, loops: &[LoopFigures], dynamics_only: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for link in &tree.links {
        if link.mass > 0.0 && link.inertia == Matrix3::zeros() {
            let (name, mass) = (&link.name, link.mass);
            notes.push(format!("link `{name}`: {mass} kg in a point, without a moment of inertia"));
        }
    }
    // For an arm, these two are faults.
    for joint in robot.joints.iter().filter(|joint| dynamics_only && joint.kind != JointKind::FreeFlyer) {
        if joint.inertia[0] == 0.0 {
            let (name, link) = (&joint.name, &joint.link);
            notes.push(format!("joint `{name}`: moves `{link}`, which has no mass; what it carries has"));
        }
        if joint.limits.torque == 0.0 {
            notes.push(format!("joint `{}`: its torque limit is 0, so it has no motor", joint.name));
        }
    }
    for closure in loops.iter().filter(|closure| !(closure.open_by_m <= CLOSED)) {
        let (name, gap) = (&closure.name, closure.open_by_m);
        notes.push(format!("loop `{name}`: open by {gap:.2e} m at the neutral configuration"));
    }
    notes
}

#[cfg(test)]
mod tests;
