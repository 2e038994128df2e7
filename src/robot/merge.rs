//! A tree with fixed joints -> bodies: one per moving joint, plus the base.
//!
//! Every joint frame is turned so that its axis is +z; inertias and collision primitives are expressed in the
//! frame of the body that carries them.

use std::collections::HashMap;

use nalgebra::{Matrix3, Vector3};

use super::collision::{Collision, CollisionPart, turn_z_to};
use super::model::Placement;
use super::urdf::Tree;
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::from_center_of_mass;

/// A moving joint with its merged body.
#[derive(Debug, Clone)]
pub(super) struct Body {
    /// Index of the joint in [`Tree::joints`]; `None` for the free flyer that carries the root link.
    pub joint: Option<usize>,
    /// Body that the joint hangs on, `None` for the base; always smaller than the body's own index.
    pub parent: Option<usize>,
    /// The joint frame at q = 0 in the parent body's frame.
    pub placement: Placement,
    /// About and in the joint frame.
    pub inertia: [f64; INERTIAL],
    /// Links that make up the body, the joint's own child first.
    pub links: Vec<usize>,
}

/// Where a link ended up.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkPlacement {
    /// Body that carries it, `None` for the base.
    pub body: Option<usize>,
    /// The link's URDF frame in that body's frame.
    pub frame: Placement,
}

impl Body {
    /// Name of its joint.
    pub fn joint_name<'a>(&self, tree: &'a Tree) -> &'a str {
        self.joint.map_or(FREE_FLYER, |j| &tree.joints[j].name)
    }

    /// Name of the link that its joint moves.
    pub fn link_name<'a>(&self, tree: &'a Tree) -> &'a str {
        &tree.links[self.joint.map_or(tree.root, |j| tree.joints[j].child)].name
    }
}

/// Name of the joint of a floating root link.
pub(super) const FREE_FLYER: &str = "free_flyer";

/// The tree without its fixed joints.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    pub bodies: Vec<Body>,
    /// Where every link is, by index in [`Tree::links`].
    pub placements: Vec<LinkPlacement>,
    pub parts: Vec<CollisionPart>,
}

impl Merged {
    /// Where every link is, by name.
    pub fn placements_by_name<'a>(&self, tree: &'a Tree) -> HashMap<&'a str, LinkPlacement> {
        tree.links.iter().map(|l| l.name.as_str()).zip(self.placements.iter().copied()).collect()
    }

    /// Moves the frame of `body` by `along` metres on its joint's axis, +z. Nothing else moves: the links stay where they are in
    /// space, and what hangs on the body too.
    pub fn slide_frame(&mut self, tree: &Tree, body: usize, along: f64) {
        let shift =
            |z: f64| Placement { rotation: Matrix3::identity(), translation: Vector3::new(0.0, 0.0, z) };
        for (b, other) in self.bodies.iter_mut().enumerate() {
            if b == body {
                other.placement = other.placement.compose(&shift(along));
            } else if other.parent == Some(body) {
                other.placement = shift(-along).compose(&other.placement);
            }
        }
        for placement in self.placements.iter_mut().filter(|placement| placement.body == Some(body)) {
            placement.frame = shift(-along).compose(&placement.frame);
        }
        self.fill(tree);
    }

    /// Puts links and collision primitives onto the bodies, where `placements` has them.
    fn fill(&mut self, tree: &Tree) {
        let Self { bodies, placements, parts } = self;
        parts.clear();
        for body in bodies.iter_mut() {
            body.inertia = [0.0; INERTIAL];
            body.links.clear();
        }
        for l in std::iter::once(tree.root).chain(tree.joints.iter().map(|j| j.child)) {
            let (link, placement) = (&tree.links[l], placements[l]);
            if let Some(b) = placement.body {
                let added = inertial_at(&placement.frame, link.mass, &link.com, &link.inertia);
                for (total, part) in bodies[b].inertia.iter_mut().zip(added) {
                    *total += part;
                }
                bodies[b].links.push(l);
            }
            parts.extend(link.collisions.iter().map(|c| CollisionPart {
                link: link.name.clone(),
                joint: placement.body,
                collision: Collision { placement: placement.frame.compose(&c.placement), ..c.clone() },
                holds_mesh: false,
            }));
        }
    }
}

/// Inertial parameters about the body origin of a link with frame `frame` in the body.
fn inertial_at(frame: &Placement, mass: f64, com: &Vector3<f64>, inertia: &Matrix3<f64>) -> [f64; INERTIAL] {
    from_center_of_mass(mass, &frame.point(com), &(frame.rotation * inertia * frame.rotation.transpose()))
}

/// Merges fixed joints and aligns the axes of the others; with `floating`, the root link is body 0.
pub(super) fn merge(tree: &Tree, floating: bool) -> Merged {
    let base = LinkPlacement { body: floating.then_some(0), frame: Placement::identity() };
    // Parents come first in `joints`, so a parent's placement is final when its children are met.
    let mut placements = vec![base; tree.links.len()];
    let free = Body {
        joint: None,
        parent: None,
        placement: Placement::identity(),
        inertia: [0.0; INERTIAL],
        links: Vec::new(),
    };
    let mut bodies: Vec<Body> = if floating { vec![free] } else { Vec::new() };
    for (j, joint) in tree.joints.iter().enumerate() {
        let parent = placements[joint.parent];
        let origin = parent.frame.compose(&joint.origin);
        placements[joint.child] = if joint.kind.is_none() {
            LinkPlacement { body: parent.body, frame: origin }
        } else {
            let turn = turn_z_to(&joint.axis);
            let placement = origin.compose(&Placement { rotation: turn, translation: Vector3::zeros() });
            bodies.push(Body {
                joint: Some(j),
                parent: parent.body,
                placement,
                inertia: [0.0; INERTIAL],
                links: Vec::new(),
            });
            let frame = Placement { rotation: turn.transpose(), translation: Vector3::zeros() };
            LinkPlacement { body: Some(bodies.len() - 1), frame }
        };
    }
    let mut merged = Merged { bodies, placements, parts: Vec::new() };
    merged.fill(tree);
    merged
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::robot::urdf::parse;
    use crate::robot::validate::Judge;

    fn tree(body: &str) -> Tree {
        let text = format!(r#"<robot name="r">{body}</robot>"#);
        parse(Path::new("arm.urdf"), &text, &mut Judge::strict()).unwrap()
    }

    #[test]
    fn a_fixed_link_adds_its_inertia_by_the_parallel_axis_theorem() {
        let t = tree(
            r#"<link name="base"/>
            <link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
              <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <link name="tip"><inertial><origin xyz="0 0 0.3"/><mass value="1"/>
              <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial>
              <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
            <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
              <limit effort="5" velocity="2"/></joint>
            <joint name="f" type="fixed"><parent link="arm"/><child link="tip"/>
              <origin xyz="1 0 0" rpy="0 1.5707963267948966 0"/></joint>"#,
        );
        let m = merge(&t, false);
        assert_eq!(m.bodies.len(), 1);
        // The tip's z axis is the arm's x axis: its centre of mass is at x = 1.3, its ixx and izz change places.
        let expected = [
            3.0,
            2.0 * 0.1 + 1.3,
            0.0,
            0.0,
            0.1 + 0.025,
            0.0,
            0.2 + 0.02 + 2.0 * 0.01 + 1.69,
            0.0,
            0.0,
            0.25 + 0.01 + 2.0 * 0.01 + 1.69,
        ];
        for (got, want) in m.bodies[0].inertia.iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        assert_eq!(m.parts[0].joint, Some(0));
        assert!((m.parts[0].collision.placement.translation - Vector3::x()).norm() < 1e-15);
    }

    #[test]
    fn a_floating_root_link_is_a_body() {
        let inertial = r#"<inertial><origin xyz="0.1 0 0"/><mass value="2"/>
              <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>"#;
        let t = tree(&format!(
            r#"<link name="base"/><link name="trunk">{inertial}</link><link name="leg">{inertial}</link>
            <joint name="f" type="fixed"><parent link="base"/><child link="trunk"/><origin xyz="0 0 1"/></joint>
            <joint name="j" type="continuous"><parent link="trunk"/><child link="leg"/><axis xyz="0 0 1"/>
              <limit effort="5" velocity="2"/></joint>"#
        ));
        let m = merge(&t, true);
        let names: Vec<_> = m.bodies.iter().map(|b| (b.joint_name(&t), b.link_name(&t), b.parent)).collect();
        assert_eq!(names, [(FREE_FLYER, "base", None), ("j", "leg", Some(0))]);
        assert_eq!(m.bodies[0].inertia[..4], [2.0, 0.2, 0.0, 2.0]);
        assert_eq!(m.bodies[1].placement.translation, Vector3::z());
        assert_eq!(m.placements[t.root].body, Some(0));
    }

    #[test]
    fn any_axis_becomes_z_without_moving_anything() {
        for axis in ["0 0 -1", "1 0 0", "0.6 0 0.8", "-1 2 -3"] {
            let t = tree(&format!(
                r#"<link name="base"/>
                <link name="arm"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>
                  <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0.02" iyz="-0.01"/></inertial></link>
                <link name="next"><inertial><mass value="1"/>
                  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
                <joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
                  <origin xyz="1 2 3" rpy="0.3 0.2 0.1"/><axis xyz="{axis}"/>
                  <limit effort="5" velocity="2"/></joint>
                <joint name="k" type="continuous"><parent link="arm"/><child link="next"/>
                  <origin xyz="0 0.5 0" rpy="0.1 0 0.4"/><axis xyz="0 0 1"/>
                  <limit effort="5" velocity="2"/></joint>"#
            ));
            let m = merge(&t, false);
            let (first, second) = (&m.bodies[0], &m.bodies[1]);
            let origin = t.joints[0].origin;
            // The joint axis in the base frame, and the link's centre of mass at q = 0, are where the URDF has them.
            let z = first.placement.rotation * Vector3::z();
            assert!((z - origin.rotation * t.joints[0].axis).norm() < 1e-12);
            let com = Vector3::new(first.inertia[1], first.inertia[2], first.inertia[3]) / first.inertia[0];
            let want = origin.point(&Vector3::new(0.1, 0.2, 0.3));
            assert!((first.placement.point(&com) - want).norm() < 1e-12);
            // So is the next joint's frame.
            let chained = first.placement.compose(&second.placement);
            let direct = origin.compose(&t.joints[1].origin);
            assert!((chained.rotation - direct.rotation).norm() < 1e-12);
            assert!((chained.translation - direct.translation).norm() < 1e-12);
            // Moments of inertia do not depend on the frame's orientation.
            let trace = first.inertia[4] + first.inertia[6] + first.inertia[9];
            assert!((trace - (0.55 + 2.0 * 2.0 * 0.14)).abs() < 1e-12);
        }
    }
}
