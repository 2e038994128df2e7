//! Links whose inertia no body can have, as makers' files sometimes state them.
//!
//! A robot TOML overrides what the URDF says of a link ([`LinkSettings`]). Where it does not, such a link is refused, with the nearest inertia that a body can
//! have. A URDF without a TOML gets that inertia, as a guess that is told wherever the robot is (`Model::guesses`), and `surelift robot init` writes it. What
//! is fixed to the world never moves, so its inertia plays no part; it is left as it is, and told too.

use std::collections::BTreeMap;
use std::path::Path;

use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;

use super::error::RobotError;
use super::urdf::{Link, Tree};
use super::validate::{Judge, link_fault};
use crate::inertia::pseudo::{from_center_of_mass, nearest_physical};

/// Least thickness of a body that is made of an impossible one, squared, m^2: a millimetre. Flat bodies exist, but not all coordinates of inertias
/// know them.
const THICKNESS_M2: f64 = 1e-6;

/// What the URDF says of a link, in its place.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkSettings {
    /// Mass, kg.
    mass_kg: Option<f64>,
    /// Centre of mass in the link's frame, m.
    center_m: Option<[f64; 3]>,
    /// Moments and products of inertia about the centre of mass, along the axes of the link's frame, kg m^2: ixx, ixy, ixz, iyy, iyz, izz, as a URDF names
    /// them.
    inertia_kg_m2: Option<[f64; 6]>,
}

/// A link of a URDF without a robot TOML, whose inertia no body can have.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "arm"), expect(dead_code, reason = "only `robot init` writes them down one by one"))]
pub(super) struct Mended {
    /// The link.
    pub link: String,
    /// What is wrong.
    pub fault: String,
    /// The inertia that it is taken to have, in the order of [`LinkSettings`]; `None` of a link that does not move.
    pub taken: Option<[f64; 6]>,
}

impl LinkSettings {
    /// What is wrong with the numbers: key and reason.
    fn fault(&self) -> Option<(&'static str, String)> {
        let all = [
            ("mass_kg", self.mass_kg.as_slice()),
            ("center_m", self.center_m.as_ref().map_or(&[][..], |center| center)),
            ("inertia_kg_m2", self.inertia_kg_m2.as_ref().map_or(&[][..], |inertia| inertia)),
        ];
        all.iter().find_map(|(key, numbers)| {
            let bad = numbers.iter().find(|x| !x.is_finite())?;
            Some((*key, format!("contains {bad}, expected finite numbers")))
        })
    }
}

/// Puts what the robot TOML at `path` says of links into the tree.
///
/// # Errors
/// [`RobotError::Field`] for a link that is none, and for numbers that are not finite. Whether they are a body is judged with the others.
pub(super) fn overrule(
    path: &Path,
    tree: &mut Tree,
    links: &BTreeMap<String, LinkSettings>,
) -> Result<(), RobotError> {
    for (name, stated) in links {
        let error = |what: &str, reason: String| RobotError::Field {
            path: path.to_path_buf(),
            field: format!("links.{name}{what}"),
            reason,
        };
        let file = tree.path.display().to_string();
        let Some(link) = tree.links.iter_mut().find(|link| link.name == *name) else {
            return Err(error("", format!("`{file}` has no link of that name")));
        };
        if let Some((key, reason)) = stated.fault() {
            return Err(error(&format!(".{key}"), reason));
        }
        link.mass = stated.mass_kg.unwrap_or(link.mass);
        link.com = stated.center_m.map_or(link.com, Vector3::from);
        link.inertia = stated.inertia_kg_m2.map_or(link.inertia, matrix);
    }
    Ok(())
}

fn matrix([ixx, ixy, ixz, iyy, iyz, izz]: [f64; 6]) -> Matrix3<f64> {
    Matrix3::new(ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz)
}

/// The inertia, in the order of [`LinkSettings`], of the body nearest to a link that is none: same mass and centre, second moments raised to what a body
/// has; none for a link without mass.
pub(super) fn nearest(link: &Link) -> Option<[f64; 6]> {
    if link.mass == 0.0 {
        return Some([0.0; 6]);
    }
    let about_center = from_center_of_mass(link.mass, &Vector3::zeros(), &link.inertia);
    let [.., ixx, ixy, iyy, ixz, iyz, izz] = nearest_physical(&about_center, THICKNESS_M2).ok()?;
    Some([ixx, ixy, ixz, iyy, iyz, izz])
}

/// Objects to links that no rigid body can have, of a robot whose root link floats or not; those of a URDF alone (`bare`) are mended.
///
/// # Errors
/// As [`Judge::hear`].
pub(super) fn links(
    tree: &mut Tree,
    (floating, bare): (bool, bool),
    judge: &mut Judge,
) -> Result<(), RobotError> {
    let moving = moving(tree, floating);
    for (link, moves) in tree.links.iter_mut().zip(moving) {
        let Some(fault) = link_fault(link) else { continue };
        let name = link.name.clone();
        // A mass below zero is no slip of the last digits.
        let mended = if link.mass >= 0.0 { nearest(link) } else { None };
        match mended {
            Some(_) if !moves => {
                judge.guesses.push(format!("link `{name}`: {fault}; it never moves, so this plays no part"));
                judge.mended.push(Mended { link: name, fault, taken: None });
            }
            Some(taken) if bare && judge.mends() => {
                judge.guesses.push(format!(
                    "link `{name}`: {fault}; the nearest that a body can have is taken, ixx, ixy, ixz, iyy, iyz, izz {taken:?} kg m^2"
                ));
                judge.mended.push(Mended { link: name, fault, taken: Some(taken) });
                link.inertia = matrix(taken);
            }
            _ => {
                let way_out = mended.map_or(String::new(), |nearest| {
                    format!(
                        "; nearest is a body that the robot TOML would state as inertia_kg_m2 = {nearest:?} under [links.\"{name}\"]"
                    )
                });
                let (path, reason) = (tree.path.clone(), fault + &way_out);
                judge.hear(RobotError::Link { path, link: name, reason })?;
            }
        }
    }
    Ok(())
}

/// Which links move.
fn moving(tree: &Tree, floating: bool) -> Vec<bool> {
    let mut moving = vec![floating; tree.links.len()];
    // Parents come first.
    for joint in &tree.joints {
        moving[joint.child] = moving[joint.parent] || joint.kind.is_some();
    }
    moving
}

#[cfg(all(test, feature = "arm"))]
mod tests;
