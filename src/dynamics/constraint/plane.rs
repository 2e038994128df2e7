//! Closed loops that move in a plane.

use nalgebra::{Matrix3, Unit, UnitQuaternion, Vector3};

use super::{Constraint, RowAxes};
use crate::robot::{JointKind, LoopKind, Model};

/// Sine of the angle between axes that count as parallel: above the rounding of a file's angles in double precision, and far
/// below any angle that is meant.
const PARALLEL: f64 = 1e-9;

impl Constraint {
    /// Where all joints of the loop turn about parallel axes (or slide across them) and only origins are held together:
    /// the constraint in axes of frame a's body whose third is the common one, with the third row left out
    /// ([`Constraint::planar`]). Any other constraint as it is.
    ///
    /// Both frames' distance along that axis does not depend on the joints, so the row across the plane binds nothing
    /// where the loop is closed. Where it is open by e (every iterate of an estimate is, and every step of a simulation, by
    /// some 1e-6 m), the row has entries of size e for the joints that turn the whole plane: left in, it would force on
    /// these an acceleration of rounding over e.
    pub fn in_plane(mut self, robot: &Model) -> Self {
        let Some(normal) = self.normal(robot) else { return self };
        let onto = UnitQuaternion::rotation_between_axis(&Vector3::z_axis(), &normal)
            // Opposite axes: any half turn across them.
            .unwrap_or_else(|| UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::PI));
        self.a.placement.rotation = onto.to_rotation_matrix().into_inner();
        (self.axes, self.planar) = (RowAxes::Local, true);
        self
    }

    /// The axis about which all joints of the loop turn, in the joint frame of end a; if there is one.
    fn normal(&self, robot: &Model) -> Option<Unit<Vector3<f64>>> {
        if self.kind != LoopKind::Point {
            return None;
        }
        let (mut a, mut b) = (self.a.joint, self.b.joint);
        // Parents have smaller indices than their children, and the base has none.
        while a != b {
            let end = if a > b { &mut a } else { &mut b };
            *end = end.and_then(|i| robot.joints[i].parent);
        }
        let common = a;
        let paths = [path(robot, self.a.joint, common), path(robot, self.b.joint, common)];
        let turning = paths.iter().flatten().find(|(_, kind)| kind.is_rotation())?;
        let normal = turning.0.column(2).into_owned();
        let fits = |(turn, kind): &(Matrix3<f64>, JointKind)| {
            let axis: Vector3<f64> = turn.column(2).into_owned();
            match kind {
                JointKind::Revolute | JointKind::Continuous => axis.cross(&normal).norm() < PARALLEL,
                JointKind::Prismatic => axis.dot(&normal).abs() < PARALLEL,
                JointKind::FreeFlyer => false,
            }
        };
        if !paths.iter().flatten().all(fits) {
            return None;
        }
        let turn = paths[0].last().map_or(Matrix3::identity(), |(turn, _)| *turn);
        Some(Unit::new_normalize(turn.tr_mul(&normal)))
    }
}

/// The joints from `common` (left out) to `end`: orientations in the frame of `common` at q = 0, and kinds. Where axes are
/// parallel in one configuration, they are in all.
fn path(robot: &Model, end: Option<usize>, common: Option<usize>) -> Vec<(Matrix3<f64>, JointKind)> {
    let mut joints = Vec::new();
    let mut at = end;
    while let Some(i) = at.filter(|_| at != common) {
        joints.push(i);
        at = robot.joints[i].parent;
    }
    let mut turn = Matrix3::identity();
    let oriented = joints.iter().rev().map(|&i| {
        turn *= robot.joints[i].placement.rotation;
        (turn, robot.joints[i].kind)
    });
    oriented.collect()
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::dynamics::constraint::{ConstrainedDynamics, Redundancy};
    use crate::robot::{Placement, load_model};

    fn leg() -> Model {
        load_model(concat!(env!("CARGO_MANIFEST_DIR"), "/robots/b1_leg.toml")).unwrap()
    }

    #[test]
    fn a_four_bar_moves_in_its_plane_and_nothing_binds_across_it() {
        let robot = leg();
        let closure = Constraint::closure(&robot, 0).in_plane(&robot);
        assert!(closure.planar);
        let mut held = ConstrainedDynamics::new(&robot, vec![closure], Redundancy::Refuse).unwrap();
        let theta = robot.nominal_parameters();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..20 {
            let mut q: Vec<f64> =
                [0.0, 0.8, -1.5, 0.0, 0.0].map(|x| x + rng.random_range(-0.3..0.3)).to_vec();
            assert!(held.close(&robot, &mut q, &theta).unwrap() < 1e-12);
            // Open by a little, as the iterates of an estimate are.
            q[4] += 1e-6;
            let mut errors = [0.0; 3];
            held.position_errors(&robot, &q, &mut errors).unwrap();
            assert!(errors[2].abs() < 1e-15 && errors[0].hypot(errors[1]) > 1e-8, "{errors:?}");
            let (v, tau) = (vec![0.3; 5], vec![1.0; 5]);
            held.forward(&robot, &q, &v, &tau, &theta).unwrap();
            assert_eq!(held.force()[2], 0.0);
            assert!(held.motion().iter().all(|a| a.abs() < 1e4), "{:?}", held.motion());
        }
    }

    #[test]
    fn loops_are_closed_by_joints_that_are_free() {
        let robot = leg();
        let closure = Constraint::closure(&robot, 0).in_plane(&robot);
        let mut held = ConstrainedDynamics::new(&robot, vec![closure], Redundancy::Refuse).unwrap();
        let theta = robot.nominal_parameters();
        let start = [0.1, 0.7, -1.4, 0.2, 0.1];
        let mut q = start.to_vec();
        // Calf and rod have no encoders: what the others say stays.
        assert!(held.close_by(&robot, &mut q, &theta, |k| k == 2 || k == 4).unwrap() < 1e-12);
        for j in [0, 1, 3] {
            assert!((q[j] - start[j]).abs() < 1e-5, "{q:?}");
        }
        assert!((q[2] - start[2]).abs() > 1e-2);
    }

    #[test]
    fn other_constraints_stay_as_they_are() {
        let robot = leg();
        // To the world the path has the hip in it, whose axis is another one.
        let frame = robot.frame_index("calf_lever").unwrap();
        let contact = Constraint::contact(&robot, frame, LoopKind::Point, Placement::identity());
        assert_eq!(contact.clone().in_plane(&robot), contact);
        let rigid = Constraint { kind: LoopKind::Rigid, ..Constraint::closure(&robot, 0) };
        assert_eq!(rigid.clone().in_plane(&robot), rigid);
        let digit = load_model(concat!(env!("CARGO_MANIFEST_DIR"), "/robots/digit.toml")).unwrap();
        for i in 0..digit.loops.len() {
            let closure = Constraint::closure(&digit, i);
            assert_eq!(closure.clone().in_plane(&digit), closure, "{}", closure.name);
        }
    }
}
