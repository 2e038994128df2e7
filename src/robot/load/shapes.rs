//! The collision shapes of a robot: what the URDF states, and the capsules that provably cover it.

use std::collections::HashSet;
use std::path::Path;

use crate::robot::collision::{Collision, CollisionPart, Primitive};
use crate::robot::cover;
use crate::robot::error::RobotError;
use crate::robot::merge::{LinkPlacement, Merged};
use crate::robot::mesh::find::{Found, Places};
use crate::robot::mesh::{self, Triangle, slabs, union};
use crate::robot::settings::Settings;
use crate::robot::shape::{Capsule, LinkShape};
use crate::robot::urdf::{CollisionMesh, Tree};
use crate::robot::validate::Judge;

/// A collision mesh that was read, in the frame of its link.
struct ReadMesh<'a> {
    link: &'a str,
    of: &'a CollisionMesh,
    placement: LinkPlacement,
    triangles: Vec<Triangle>,
}

/// The capsules, in their bodies' frames, and the parts that they cover. A mesh stands among the parts as capsules that provably hold it.
pub(super) fn shapes(
    path: &Path,
    settings: &Settings,
    tree: &Tree,
    merged: &Merged,
    judge: &mut Judge,
) -> Result<(Vec<LinkShape>, Vec<CollisionPart>), RobotError> {
    let mut parts = merged.parts.clone();
    let meshes = meshes(settings, tree, merged, judge)?;
    if settings.capsules.is_empty() {
        for mesh in &meshes {
            match slabs::cover(&mesh.triangles) {
                Ok(found) => parts.extend(mesh.parts(found)),
                Err(reason) => judge.hear(mesh.fault(tree, &reason))?,
            }
        }
        return Ok((around(&parts), parts));
    }
    let shapes = stated(path, settings, tree, merged)?;
    check_cover(tree, &parts, &shapes, judge)?;
    for mesh in &meshes {
        match mesh.parts_of(&shapes) {
            Ok(found) => parts.extend(found),
            Err(reason) => judge.hear(mesh.fault(tree, &reason))?,
        }
    }
    Ok((shapes, parts))
}

/// The collision meshes, read, where shapes matter.
fn meshes<'a>(
    settings: &Settings,
    tree: &'a Tree,
    merged: &Merged,
    judge: &mut Judge,
) -> Result<Vec<ReadMesh<'a>>, RobotError> {
    let mut read = Vec::new();
    if !judge.shapes || judge.dynamics_only {
        return Ok(read);
    }
    let near = tree.path.parent().unwrap_or(Path::new(".")).to_path_buf();
    let places = Places { near, named: [&judge.package_path[..], &settings.package_path].concat() };
    for (link, placement) in tree.links.iter().zip(&merged.placements) {
        for of in &link.meshes {
            let mut mesh = ReadMesh { link: &link.name, of, placement: *placement, triangles: Vec::new() };
            let found = places.find(&of.file).map(|found| match found {
                Found::Stated(path) => path,
                Found::Guessed { path, guess } => {
                    judge.guesses.push(guess);
                    path
                }
            });
            match found.and_then(|file| mesh::triangles(&file)) {
                Ok(triangles) => {
                    let corner = |p: nalgebra::Vector3<f64>| of.placement.point(&p.component_mul(&of.scale));
                    mesh.triangles = triangles.into_iter().map(|triangle| triangle.map(corner)).collect();
                    read.push(mesh);
                }
                Err(reason) => judge.hear(mesh.fault(tree, &reason))?,
            }
        }
    }
    Ok(read)
}

impl ReadMesh<'_> {
    fn fault(&self, tree: &Tree, reason: &str) -> RobotError {
        let file = &self.of.file;
        let reason = format!("collision `{}`, mesh `{file}`: {reason}", self.of.name);
        RobotError::Link { path: tree.path.clone(), link: self.link.to_owned(), reason }
    }

    /// Capsules in the link's frame, as parts of the body.
    fn parts(&self, capsules: Vec<Capsule>) -> Vec<CollisionPart> {
        let one = capsules.len() == 1;
        let part = |(k, capsule): (usize, &Capsule)| {
            let name = if one { self.of.name.clone() } else { format!("{}.{}", self.of.name, k + 1) };
            let collision = Collision::of_capsule(name, &capsule.placed(&self.placement.frame));
            let (link, joint) = (self.link.to_owned(), self.placement.body);
            CollisionPart { link, joint, collision, holds_mesh: true }
        };
        capsules.iter().enumerate().map(part).collect()
    }

    /// The parts that stand for the mesh where capsules are stated: those of its body that hold it together, smaller by the excess that
    /// a capsule must have over its part.
    fn parts_of(&self, shapes: &[LinkShape]) -> Result<Vec<CollisionPart>, String> {
        let own: Vec<Capsule> = shapes
            .iter()
            .filter(|shape| shape.joint == self.placement.body)
            .map(|shape| shape.capsule.placed(&self.placement.frame.inverse()))
            .collect();
        let used = union::holds(&own, &self.triangles).map_err(|out| {
            let gap = |capsule: &Capsule| cover::distance_to_segment(capsule, &out) - capsule.radius;
            let gap = own.iter().map(gap).fold(f64::INFINITY, f64::min);
            let [x, y, z] = [out.x, out.y, out.z];
            if own.is_empty() {
                return "no capsule of the robot TOML is on its body".to_owned();
            }
            format!(
                "it is not provably inside the capsules of the robot TOML; the point ({x:.4}, {y:.4}, {z:.4}) of the link is {gap:.2e} m outside the \
                 nearest"
            )
        })?;
        let held = own.iter().zip(used).filter(|(_, used)| *used);
        let smaller = |capsule: &Capsule| Capsule { radius: capsule.radius - cover::ROOM, ..*capsule };
        Ok(self.parts(held.map(|(capsule, _)| smaller(capsule)).collect()))
    }
}

/// The capsules of the TOML in their bodies' frames.
fn stated(
    path: &Path,
    settings: &Settings,
    tree: &Tree,
    merged: &Merged,
) -> Result<Vec<LinkShape>, RobotError> {
    let placements = merged.placements_by_name(tree);
    let mut names = HashSet::new();
    let mut shapes = Vec::with_capacity(settings.capsules.len());
    for given in &settings.capsules {
        let error = |reason: String| RobotError::Field {
            path: path.to_path_buf(),
            field: format!("capsules.{}", given.name),
            reason,
        };
        if !names.insert(given.name.as_str()) {
            return Err(error("the name is used by two capsules".into()));
        }
        let placement = placements
            .get(given.link.as_str())
            .ok_or_else(|| error(format!("link `{}` does not exist in the URDF", given.link)))?;
        let mut capsule = given.capsule();
        capsule.a = placement.frame.point(&capsule.a);
        capsule.b = placement.frame.point(&capsule.b);
        shapes.push(LinkShape { name: given.name.clone(), joint: placement.body, capsule });
    }
    Ok(shapes)
}

/// One capsule around each part that is not inside the capsule of another one (as spheres are that round a cylinder off).
fn around(parts: &[CollisionPart]) -> Vec<LinkShape> {
    let mut shapes: Vec<LinkShape> = Vec::new();
    for round in [false, true] {
        let is_round =
            |part: &&CollisionPart| matches!(part.collision.primitive, Primitive::Sphere { .. }) == round;
        for part in parts.iter().filter(is_round) {
            let mut on_body = shapes.iter().filter(|shape| shape.joint == part.joint);
            if !on_body.any(|shape| cover::covers(&shape.capsule, &part.collision)) {
                let name = format!("{}: {}", part.link, part.collision.name);
                shapes.push(LinkShape {
                    name,
                    joint: part.joint,
                    capsule: cover::enclosing(&part.collision),
                });
            }
        }
    }
    shapes
}

/// Every collision primitive must be inside one capsule of its body (proof: [`cover`]).
fn check_cover(
    tree: &Tree,
    parts: &[CollisionPart],
    shapes: &[LinkShape],
    judge: &mut Judge,
) -> Result<(), RobotError> {
    for part in parts {
        let on_body = || shapes.iter().filter(|s| s.joint == part.joint);
        if on_body().any(|s| cover::covers(&s.capsule, &part.collision)) {
            continue;
        }
        let nearest = on_body()
            .map(|s| (cover::excess(&s.capsule, &part.collision), s))
            .min_by(|x, y| x.0.total_cmp(&y.0));
        let detail = match nearest {
            Some((gap, shape)) => format!("it sticks {gap:.2e} m out of the nearest, `{}`", shape.name),
            None => "there is none on that body".into(),
        };
        judge.hear(RobotError::Link {
            path: tree.path.clone(),
            link: part.link.clone(),
            reason: format!(
                "collision `{}` is not provably inside one capsule of the robot TOML; {detail}",
                part.collision.name
            ),
        })?;
    }
    Ok(())
}
