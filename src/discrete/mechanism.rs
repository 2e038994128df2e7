//! Bodies and joints in maximal coordinates, and the manifold that their states live on.
//!
//! For those who build a mechanism. Every body has its six degrees of freedom: r, the centre of mass, and a unit
//! quaternion e from the body's principal axes to the world's. Velocities are (v, omega), both in world axes. A
//! tangent vector of a state is (all dr and dpsi, body by body; all dv and domega, body by body), dpsi a rotation vector in
//! world axes that turns from the left: e (+) dpsi = Exp(dpsi) * e ([5, eq. 2.13] has it on the right, against its own use).

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

use super::error::DiscreteError;
use crate::linear::orthogonal::Orthogonal;

/// Share of a moment that may be rounding.
const ROUNDING: f64 = 1e-9;

/// Numbers that hold the configuration of one body.
pub const POSE: usize = 7;

/// A rigid body in its principal axes.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeBody {
    /// Name, for messages.
    pub name: String,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Principal moments of inertia about the centre of mass, kg m^2.
    pub inertia_kg_m2: [f64; 3],
}

impl FreeBody {
    /// The axis whose principal moment is above the sum of the other two, and by how much, kg m^2.
    pub fn excess_moment(&self) -> Option<(usize, f64)> {
        let sum: f64 = self.inertia_kg_m2.iter().sum();
        let excess = |i: usize| 2.0 * self.inertia_kg_m2[i] - sum;
        (0..3).map(|i| (i, excess(i))).find(|(_, excess)| *excess > 0.0)
    }
}

/// A place and an orientation on a body (from its centre of mass, in its axes) or in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attachment {
    /// Place, m.
    pub point_m: Vector3<f64>,
    /// Axes of the frame in those of the body; x is the axis of a hinge.
    pub rotation: UnitQuaternion<f64>,
}

impl Attachment {
    /// A frame with the body's own axes.
    pub fn at(x: f64, y: f64, z: f64) -> Self {
        Self { point_m: Vector3::new(x, y, z), rotation: UnitQuaternion::identity() }
    }

    /// The same frame, turned by a rotation vector (rad) in its own axes.
    #[must_use]
    pub fn turned(self, x: f64, y: f64, z: f64) -> Self {
        let turn = UnitQuaternion::from_scaled_axis(Vector3::new(x, y, z));
        Self { rotation: self.rotation * turn, ..self }
    }
}

/// Dry friction in a hinge: |tau| <= mu (radius (|f_x| + |f_y| + |f_z|) + |tau_1| + |tau_2|) over the impulses of the hinge's
/// five rows ([5, eq. F.4], its five entries alone: on both signs of a row they come to the absolute value), forces in
/// world axes, with mu = kinetic + excess exp(-rate omega^2) ([5, eq. 4.1]) at the angular velocity before the step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DryFriction {
    /// Coefficient of kinetic friction.
    pub kinetic: f64,
    /// Coefficient of static friction, less the kinetic one; 0 without Stribeck's effect.
    pub excess: f64,
    /// How fast the excess fades, s^2 / rad^2.
    pub rate: f64,
    /// Arm at which the force acts, m.
    pub radius_m: f64,
    /// Angular velocity at which a sticking hinge creeps for each N m s of impulse, rad / (N m s^2); 0: none.
    pub creep: f64,
}

/// A motor on a hinge: torque gain times control, and a shaft that turns with it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HingeMotor {
    /// Torque for each unit of control, N m.
    pub gain: f64,
    /// Inertia of the shaft about the hinge's axis, kg m^2.
    pub shaft_kg_m2: f64,
}

/// What of a joint is held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HeldJointKind {
    /// The two points coincide: three rows.
    Point,
    /// They do, and the x axes of the two frames are parallel: five rows.
    Hinge {
        /// Viscous friction, N m s / rad.
        viscous: f64,
        /// Dry friction, if there is any.
        dry: Option<DryFriction>,
        /// The motor, if there is one.
        motor: Option<HingeMotor>,
    },
}

/// A joint between two bodies, or a body and the world.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldJoint {
    /// Name, for messages.
    pub name: String,
    /// FreeBody a, or the world.
    pub parent: Option<usize>,
    /// FreeBody b.
    pub child: usize,
    /// Attachment a, on the parent.
    pub parent_frame: Attachment,
    /// Attachment b, on the child.
    pub child_frame: Attachment,
    /// What is held.
    pub kind: HeldJointKind,
    /// Compliance of the point rows, m / N.
    pub compliance_m_n: f64,
    /// Compliance of the alignment rows, rad / (N m).
    pub compliance_rad_nm: f64,
    /// Relaxation time of both, s.
    pub relaxation_s: f64,
}

impl HeldJoint {
    /// Number of rows that are held.
    pub fn rows(&self) -> usize {
        match self.kind {
            HeldJointKind::Point => 3,
            HeldJointKind::Hinge { .. } => 5,
        }
    }

    /// Its dry friction.
    pub fn dry(&self) -> Option<DryFriction> {
        match self.kind {
            HeldJointKind::Hinge { dry, .. } => dry,
            HeldJointKind::Point => None,
        }
    }

    /// Its motor; one without gain and shaft where there is none.
    pub fn motor(&self) -> HingeMotor {
        match self.kind {
            HeldJointKind::Hinge { motor: Some(motor), .. } => motor,
            _ => HingeMotor::default(),
        }
    }

    /// Its viscous friction, N m s / rad.
    pub fn viscous(&self) -> f64 {
        match self.kind {
            HeldJointKind::Hinge { viscous, .. } => viscous,
            HeldJointKind::Point => 0.0,
        }
    }
}

/// Bodies, joints and gravity.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    /// The bodies.
    pub bodies: Vec<FreeBody>,
    /// The joints.
    pub joints: Vec<HeldJoint>,
    /// Gravity before the stand is tilted, m / s^2.
    pub gravity_m_s2: Vector3<f64>,
    /// Rotation vector that turns gravity, rad.
    pub tilt_rad: Vector3<f64>,
}

impl Mechanism {
    /// Whether all numbers are such that a step can be taken, and the rigid constraints independent at `pose`.
    ///
    /// # Errors
    /// [`DiscreteError`] names the body or joint and what was expected.
    pub fn check(&self, pose: &[f64]) -> Result<(), DiscreteError> {
        let refuse = |place: &str, field: &'static str, value: f64, expected: &'static str| {
            Err(DiscreteError::Number { place: place.to_owned(), field, value, expected })
        };
        for body in &self.bodies {
            let place = format!("body `{}`", body.name);
            if !(body.mass_kg > 0.0 && body.mass_kg.is_finite()) {
                return refuse(&place, "mass_kg", body.mass_kg, "a number above 0");
            }
            for moment in body.inertia_kg_m2 {
                if !(moment > 0.0 && moment.is_finite()) {
                    return refuse(&place, "inertia_kg_m2", moment, "numbers above 0");
                }
            }
        }
        self.check_joints()?;
        for x in self.gravity_m_s2.iter().chain(self.tilt_rad.iter()) {
            if !x.is_finite() {
                return refuse("gravity", "gravity_m_s2", *x, "finite numbers");
            }
        }
        self.check_rank(pose)
    }

    /// Whether there can be bodies with these principal moments: none is above the sum of the other two.
    ///
    /// # Errors
    /// [`DiscreteError::Number`] names the body and the moment.
    pub fn check_moments(&self) -> Result<(), DiscreteError> {
        for body in &self.bodies {
            if let Some((axis, excess)) = body.excess_moment()
                && excess > ROUNDING * body.inertia_kg_m2[axis]
            {
                return Err(DiscreteError::Number {
                    place: format!("body `{}`", body.name),
                    field: "inertia_kg_m2",
                    value: body.inertia_kg_m2[axis],
                    expected: "no principal moment above the sum of the other two: no body has such",
                });
            }
        }
        Ok(())
    }

    /// Whether joints join bodies that there are, with numbers that can be.
    pub(super) fn check_joints(&self) -> Result<(), DiscreteError> {
        self.joints.iter().try_for_each(|joint| self.check_joint(joint))
    }

    /// [`Mechanism::check`] where joints are first put together, whether or not they form a tree.
    ///
    /// # Errors
    /// As [`Mechanism::check`].
    pub fn check_at_rest(&self) -> Result<(), DiscreteError> {
        self.check_joints()?;
        self.check(&self.spread_out()?)
    }

    fn check_joint(&self, joint: &HeldJoint) -> Result<(), DiscreteError> {
        let bad = |reason: String| Err(DiscreteError::Joint { joint: joint.name.clone(), reason });
        let count = self.bodies.len();
        if joint.child >= count || joint.parent.is_some_and(|p| p >= count) {
            return bad(format!("names a body beyond the {count} that there are"));
        }
        if joint.parent == Some(joint.child) {
            return bad("joins a body with itself".into());
        }
        let dry = joint.dry().unwrap_or_default();
        let motor = joint.motor();
        for (field, value) in [
            ("compliance_m_n", joint.compliance_m_n),
            ("compliance_rad_nm", joint.compliance_rad_nm),
            ("relaxation_s", joint.relaxation_s),
            ("viscous", joint.viscous()),
            ("kinetic", dry.kinetic),
            ("excess", dry.excess),
            ("rate", dry.rate),
            ("radius_m", dry.radius_m),
            ("creep", dry.creep),
            ("shaft_kg_m2", motor.shaft_kg_m2),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                let place = format!("joint `{}`", joint.name);
                return Err(DiscreteError::Number { place, field, value, expected: "a number >= 0" });
            }
        }
        if !motor.gain.is_finite() {
            return bad(format!("`gain` is {}, expected a finite number", motor.gain));
        }
        let frames = [joint.parent_frame.point_m, joint.child_frame.point_m];
        if frames.iter().any(|p| p.iter().any(|x| !x.is_finite())) {
            return bad("a frame's place is not finite".into());
        }
        Ok(())
    }

    /// Rows without compliance must be independent.
    fn check_rank(&self, pose: &[f64]) -> Result<(), DiscreteError> {
        let size = 6 * self.bodies.len();
        let geometry = super::geometry::Geometry::at(self, pose);
        let (mut columns, mut owners) = (vec![], vec![]);
        for (j, joint) in self.joints.iter().enumerate() {
            for (i, row) in geometry.rows_of(j, size).into_iter().enumerate() {
                let soft = if i < 3 { joint.compliance_m_n } else { joint.compliance_rad_nm };
                if soft == 0.0 {
                    columns.push(row);
                    owners.push(j);
                }
            }
        }
        let mut matrix = crate::linear::dense::Mat::zeros(size, columns.len());
        for (c, column) in columns.iter().enumerate() {
            let length = crate::linear::dense::norm(column).max(f64::MIN_POSITIVE);
            for (out, x) in matrix.col_mut(c).iter_mut().zip(column) {
                *out = x / length;
            }
        }
        let mut qr = Orthogonal::default();
        qr.factor(&matrix, size, 1e-9);
        if qr.rank < columns.len() {
            let joint = qr.order[qr.rank..].iter().map(|&c| owners[c]).max().unwrap_or(0);
            let (joint, rows) = (self.joints[joint].name.clone(), columns.len());
            return Err(DiscreteError::OverConstrained { joint, rows, rank: qr.rank });
        }
        Ok(())
    }

    /// Degrees of freedom of all bodies together, 6 each.
    pub fn freedoms(&self) -> usize {
        6 * self.bodies.len()
    }

    /// Numbers that hold a configuration.
    pub fn pose_numbers(&self) -> usize {
        POSE * self.bodies.len()
    }

    /// Number of rows that joints hold.
    pub fn rows(&self) -> usize {
        self.joints.iter().map(HeldJoint::rows).sum()
    }

    /// Indices of the hinges.
    pub fn hinges(&self) -> Vec<usize> {
        let hinge = |j: &usize| matches!(self.joints[*j].kind, HeldJointKind::Hinge { .. });
        (0..self.joints.len()).filter(hinge).collect()
    }

    /// Gravity as the tilted stand sees it, m / s^2.
    pub fn gravity(&self) -> Vector3<f64> {
        UnitQuaternion::from_scaled_axis(self.tilt_rad) * self.gravity_m_s2
    }

    /// The configuration of a tree of hinges at these angles (rad, in the order of the joints), all constraints met.
    ///
    /// # Errors
    /// [`DiscreteError::Joint`] where the joints are not a tree of hinges that starts in the world, parents first.
    pub fn assemble(&self, angles_rad: &[f64]) -> Result<Vec<f64>, DiscreteError> {
        self.place(angles_rad, true)
    }

    /// The configuration that the first joint to reach each body gives at zero angles; joints that close loops are left out. For what is asked of
    /// constraints before anything moves.
    pub(super) fn spread_out(&self) -> Result<Vec<f64>, DiscreteError> {
        self.place(&vec![0.0; self.joints.len()], false)
    }

    fn place(&self, angles_rad: &[f64], strict: bool) -> Result<Vec<f64>, DiscreteError> {
        let mut poses: Vec<Option<(Vector3<f64>, UnitQuaternion<f64>)>> = vec![None; self.bodies.len()];
        for (j, joint) in self.joints.iter().enumerate() {
            let bad =
                |reason: &str| DiscreteError::Joint { joint: joint.name.clone(), reason: reason.into() };
            if strict && !matches!(joint.kind, HeldJointKind::Hinge { .. }) || j >= angles_rad.len() {
                return Err(bad("angles place trees of hinges alone, one angle each"));
            }
            let (r, e) = match joint.parent {
                None => (Vector3::zeros(), UnitQuaternion::identity()),
                Some(p) => poses[p].ok_or_else(|| bad("its parent must be placed by a joint before it"))?,
            };
            if !strict && poses[joint.child].is_some() {
                continue;
            }
            if poses[joint.child].is_some() {
                return Err(bad(
                    "its child is placed by another joint already: angles do not place closed loops",
                ));
            }
            let (a, b) = (joint.parent_frame, joint.child_frame);
            let turn = UnitQuaternion::from_scaled_axis(Vector3::new(angles_rad[j], 0.0, 0.0));
            let child = e * a.rotation * turn * b.rotation.inverse();
            poses[joint.child] = Some((r + e * a.point_m - child * b.point_m, child));
        }
        let mut out = Vec::with_capacity(self.pose_numbers());
        for (body, pose) in self.bodies.iter().zip(&poses) {
            let (r, e) = pose.ok_or_else(|| DiscreteError::Joint {
                joint: body.name.clone(),
                reason: "no joint places this body".into(),
            })?;
            out.extend([r.x, r.y, r.z, e.w, e.i, e.j, e.k]);
        }
        Ok(out)
    }
}

/// Place and orientation of body `b` in a configuration.
pub(super) fn pose_of(pose: &[f64], b: usize) -> (Vector3<f64>, UnitQuaternion<f64>) {
    let p = &pose[POSE * b..POSE * (b + 1)];
    let e = UnitQuaternion::new_unchecked(Quaternion::new(p[3], p[4], p[5], p[6]));
    (Vector3::new(p[0], p[1], p[2]), e)
}

/// The three numbers of `x` from `at` on.
pub(super) fn three(x: &[f64], at: usize) -> Vector3<f64> {
    Vector3::new(x[at], x[at + 1], x[at + 2])
}

/// Adds a vector to three numbers of `x` from `at` on.
pub(super) fn add_three(x: &mut [f64], at: usize, y: Vector3<f64>) {
    x[at] += y.x;
    x[at + 1] += y.y;
    x[at + 2] += y.z;
}

/// The rotation vector of `rotation`, at most pi long.
pub(super) fn rotation_vector(rotation: &UnitQuaternion<f64>) -> Vector3<f64> {
    let motion = crate::linear::rigid_motion::log(rotation, &Vector3::zeros());
    Vector3::new(motion[3], motion[4], motion[5])
}

/// pose (+) d: each body moved by (dr, dpsi).
pub fn move_pose(pose: &[f64], d: &[f64], out: &mut [f64]) {
    for b in 0..pose.len() / POSE {
        let (r, e) = pose_of(pose, b);
        let (dr, turn) = (three(d, 6 * b), UnitQuaternion::from_scaled_axis(three(d, 6 * b + 3)));
        let moved = (turn * e).into_inner().normalize();
        let r = r + dr;
        out[POSE * b..POSE * (b + 1)].copy_from_slice(&[r.x, r.y, r.z, moved.w, moved.i, moved.j, moved.k]);
    }
}

/// to (-) from: the (dr, dpsi) of each body that leads from the second to the first.
pub fn pose_difference(to: &[f64], from: &[f64], out: &mut [f64]) {
    for b in 0..to.len() / POSE {
        let ((r1, e1), (r0, e0)) = (pose_of(to, b), pose_of(from, b));
        let turn = rotation_vector(&(e1 * e0.inverse()));
        let d = r1 - r0;
        out[6 * b..6 * b + 6].copy_from_slice(&[d.x, d.y, d.z, turn.x, turn.y, turn.z]);
    }
}

/// How the tangent of a pose answers to that of the one it moves from and to the move: (Exp(psi), J_l(psi)).
pub(super) fn move_slopes(psi: &Vector3<f64>) -> (Matrix3<f64>, Matrix3<f64>) {
    let turn = UnitQuaternion::from_scaled_axis(*psi).to_rotation_matrix().into_inner();
    (turn, crate::linear::rigid_motion::left_jacobian3(psi))
}
