//! Where the bodies are at a configuration, in plain numbers.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

use super::model::{JointKind, Model, Placement};

/// What a joint at its coordinates `q` adds to its placement.
pub(crate) fn motion(kind: JointKind, q: &[f64]) -> Placement {
    match kind {
        JointKind::Revolute | JointKind::Continuous => {
            let (s, c) = q[0].sin_cos();
            let rotation = Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0);
            Placement { rotation, translation: Vector3::zeros() }
        }
        JointKind::Prismatic => {
            Placement { rotation: Matrix3::identity(), translation: Vector3::new(0.0, 0.0, q[0]) }
        }
        JointKind::FreeFlyer => {
            let rotation = UnitQuaternion::new_normalize(Quaternion::new(q[6], q[3], q[4], q[5]));
            let rotation = rotation.to_rotation_matrix().into_inner();
            Placement { rotation, translation: Vector3::new(q[0], q[1], q[2]) }
        }
    }
}

impl Model {
    /// Frames of all joints in the base frame at configuration `q` (length nq; rad or m).
    pub fn frames(&self, q: &[f64]) -> Vec<Placement> {
        let mut frames = Vec::with_capacity(self.bodies());
        self.frames_into(q, &mut frames);
        frames
    }

    /// [`Model::frames`] into `frames`, in place of what it holds.
    pub fn frames_into(&self, q: &[f64], frames: &mut Vec<Placement>) {
        frames.clear();
        for (i, joint) in self.joints.iter().enumerate() {
            let local = joint.placement.compose(&motion(joint.kind, &q[self.q_index(i)..]));
            frames.push(joint.parent.map_or(local, |p| frames[p].compose(&local)));
        }
    }

    /// Whether two bodies (`None` is the base) are the same or joined by one joint.
    pub fn adjacent(&self, a: Option<usize>, b: Option<usize>) -> bool {
        let hangs_on = |x: Option<usize>, y: Option<usize>| x.is_some_and(|j| self.joints[j].parent == y);
        a == b || hangs_on(a, b) || hangs_on(b, a)
    }
}
