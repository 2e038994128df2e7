//! How far a loop is open, over any scalar: as a float for Newton's method, as an affine form for the proof, with derivatives for both.

use nalgebra::{Matrix3, Vector3};

use super::DomainError;
use crate::dynamics::constraint::{Constraint, ConstraintEnd};
use crate::robot::{JointKind, LoopKind, Model, Placement};
use crate::scalar::Scalar;

/// A point that a chain of joints carries, seen from the body where the chain begins.
#[derive(Debug, Clone)]
struct Side {
    /// In the frame of the first joint of `joints`, m.
    point: Vector3<f64>,
    /// From the point's body to the common one, which is not among them: index, motion, placement in the parent.
    joints: Vec<(usize, JointKind, Placement)>,
}

/// A loop cut at its constraint: two sides that start on one body.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    name: String,
    sides: [Side; 2],
    /// Rows in axes of the common body: three, or the two that span the plane of a planar loop.
    rows: Vec<Vector3<f64>>,
}

impl Chain {
    /// # Errors
    /// [`DomainError::Unfit`] for a constraint of all six rows, and for a free flyer within a loop.
    pub(super) fn new(robot: &Model, constraint: &Constraint) -> Result<Self, DomainError> {
        let unfit =
            |reason: &str| DomainError::Unfit { name: constraint.name.clone(), reason: reason.to_owned() };
        if constraint.kind != LoopKind::Point {
            return Err(unfit("holds whole frames together, expected points"));
        }
        let (mut a, mut b) = (constraint.a.joint, constraint.b.joint);
        while a != b {
            let end = if a > b { &mut a } else { &mut b };
            *end = end.and_then(|i| robot.joints[i].parent);
        }
        let sides = [constraint.a, constraint.b].map(|end| side(robot, end, a));
        if sides.iter().flat_map(|s| &s.joints).any(|(_, kind, _)| *kind == JointKind::FreeFlyer) {
            return Err(unfit("passes through the floating base"));
        }
        let rows = if constraint.planar {
            // The third row, across the plane, in axes of the common body: the same for all joint positions.
            let turn =
                sides[0].joints.iter().fold(Matrix3::identity(), |below, (.., at)| at.rotation * below);
            let normal = (turn * constraint.a.placement.rotation).column(2).into_owned();
            let other = normal.cross(&Vector3::ith(normal.iamin(), 1.0)).normalize();
            vec![other, normal.cross(&other)]
        } else {
            (0..3).map(|k| Vector3::ith(k, 1.0)).collect()
        };
        Ok(Self { name: constraint.name.clone(), sides, rows })
    }

    /// The loop's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Joints that move one end against the other.
    pub(super) fn joints(&self) -> impl Iterator<Item = usize> + '_ {
        self.sides.iter().flat_map(|side| side.joints.iter().map(|(joint, ..)| *joint))
    }

    /// Appends by how much the loop is open (m) where joint i is at `position(i)`.
    pub(super) fn errors<T: Scalar>(&self, position: impl Fn(usize) -> T, out: &mut Vec<T>) {
        let [a, b] = [0, 1].map(|k| self.sides[k].placed(&position));
        let gap = [0, 1, 2].map(|k| a[k] - b[k]);
        out.extend(self.rows.iter().map(|row| dot(row.iter(), &gap)));
    }
}

fn side(robot: &Model, end: ConstraintEnd, common: Option<usize>) -> Side {
    let (mut joints, mut at) = (vec![], end.joint);
    while at != common {
        let Some(i) = at else { break };
        joints.push((i, robot.joints[i].kind, robot.joints[i].placement));
        at = robot.joints[i].parent;
    }
    Side { point: end.placement.translation, joints }
}

impl Side {
    fn placed<T: Scalar>(&self, position: &impl Fn(usize) -> T) -> [T; 3] {
        let mut at = [0, 1, 2].map(|k| T::constant(self.point[k]));
        for (i, kind, placement) in &self.joints {
            let q = position(*i);
            at = if kind.is_rotation() {
                let (s, c) = q.sin_cos();
                [T::difference_of_products(c, at[0], s, at[1]), s.mul_add(at[0], c * at[1]), at[2]]
            } else {
                [at[0], at[1], at[2] + q]
            };
            at = [0, 1, 2]
                .map(|k| dot(placement.rotation.row(k).iter(), &at) + T::constant(placement.translation[k]));
        }
        at
    }
}

/// A constant row times a vector. Entries that are zero are left out: an enclosure would widen by them for nothing.
fn dot<'a, T: Scalar>(row: impl Iterator<Item = &'a f64>, x: &[T; 3]) -> T {
    let terms = row.zip(x).filter(|(factor, _)| **factor != 0.0).map(|(factor, x)| x.scale(*factor));
    terms.reduce(|sum, term| sum + term).unwrap_or_else(T::zero)
}
