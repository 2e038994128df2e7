//! The robot as data: joints in topological order, limits, friction, collision capsules.
//!
//! A [`Robot`] is immutable and shared between threads. Everything that is computed from it lives elsewhere
//! (`dynamics`, `reach`); everything that is read from files is checked in [`mod@crate::robot::load`] before a
//! `Robot` exists, so the algorithms may rely on what is written here.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

use super::collision::CollisionPart;

/// Number of inertial parameters of one body: m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz.
pub const INERTIAL: usize = 10;
/// Number of joint parameters: Coulomb F_c, viscous F_v, transmission inertia I_a, offset beta.
pub const FRICTION: usize = 4;
/// Index of the Coulomb coefficient F_c (N m) among the joint parameters.
pub const COULOMB: usize = 0;
/// Index of the viscous coefficient F_v (N m s/rad) among the joint parameters.
pub const VISCOUS: usize = 1;
/// Index of the transmission inertia I_a (kg m^2) among the joint parameters.
pub const ARMATURE: usize = 2;
/// Index of the torque offset beta (N m) among the joint parameters.
pub const OFFSET: usize = 3;

/// A rigid placement: `p_parent = rotation * p_child + translation` (metres).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Rotation matrix from child to parent coordinates.
    pub rotation: Matrix3<f64>,
    /// Origin of the child frame in parent coordinates, metres.
    pub translation: Vector3<f64>,
}

impl Placement {
    /// The identity placement.
    pub fn identity() -> Self {
        Self { rotation: Matrix3::identity(), translation: Vector3::zeros() }
    }

    /// `self` followed by `inner`: maps `inner`'s child coordinates to `self`'s parent coordinates.
    pub fn compose(&self, inner: &Placement) -> Placement {
        Placement {
            rotation: self.rotation * inner.rotation,
            translation: self.rotation * inner.translation + self.translation,
        }
    }

    /// Maps a point from child to parent coordinates (metres).
    pub fn point(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * p + self.translation
    }
}

/// How a joint moves. The axis of a joint with one coordinate is always +z of the joint frame: a URDF axis in another
/// direction is turned into the fixed placement when the model is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Rotation about z with position limits, radians.
    Revolute,
    /// Rotation about z without position limits, radians.
    Continuous,
    /// Translation along z, metres.
    Prismatic,
    /// Free motion of the root body (joint 0 only). Configuration: position of the body frame in the base frame
    /// (x, y, z; metres), then its orientation as a unit quaternion (x, y, z, w). Velocity: that of the body in its
    /// own frame, linear (m/s) before angular (rad/s).
    FreeFlyer,
}

impl JointKind {
    /// Whether the coordinate is an angle.
    pub fn is_rotation(self) -> bool {
        matches!(self, JointKind::Revolute | JointKind::Continuous)
    }

    /// Numbers in the configuration: 7 for a free flyer, otherwise 1.
    pub fn nq(self) -> usize {
        if self == JointKind::FreeFlyer { 7 } else { 1 }
    }

    /// Numbers in the velocity: 6 for a free flyer, otherwise 1.
    pub fn nv(self) -> usize {
        if self == JointKind::FreeFlyer { 6 } else { 1 }
    }
}

/// Limits of one joint; SI units (rad or m, rad/s or m/s, N m or N).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JointLimits {
    /// Lower and upper position; `None` for a continuous joint and a free flyer.
    pub position: Option<(f64, f64)>,
    /// Largest speed, > 0 (a free flyer: the largest float).
    pub velocity: f64,
    /// Largest actuator torque (force), > 0; 0 for a free flyer, and for a joint without a motor in a robot that is no
    /// arm: nothing drives it.
    pub torque: f64,
}

/// Joint friction and transmission: tau_f = F_c sign(dq) + F_v dq + I_a ddq + beta.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Friction {
    /// Coulomb friction F_c, N m, >= 0.
    pub coulomb: f64,
    /// Viscous friction F_v, N m s/rad, >= 0.
    pub viscous: f64,
    /// Transmission (rotor) inertia I_a seen at the joint, kg m^2, >= 0.
    pub armature: f64,
    /// Constant torque offset beta, N m.
    pub offset: f64,
}

/// One joint and the body that it moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// Name of the joint in the URDF.
    pub name: String,
    /// Name of the link that moves with it.
    pub link: String,
    /// Kind of motion along or about the joint frame's z axis.
    pub kind: JointKind,
    /// Index of the parent joint, `None` at the base; always smaller than the joint's own index.
    pub parent: Option<usize>,
    /// Placement of the joint frame at q = 0 in the parent joint's frame (base frame for the first).
    pub placement: Placement,
    /// Position, velocity and torque limits.
    pub limits: JointLimits,
    /// Nominal friction and transmission inertia.
    pub friction: Friction,
    /// Nominal inertial parameters of the body (fixed children merged), about and in the joint frame.
    pub inertia: [f64; INERTIAL],
}

/// The set of points within `radius` of the segment from `a` to `b` (a sphere when they coincide); metres.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capsule {
    /// First end of the segment.
    pub a: Vector3<f64>,
    /// Second end of the segment.
    pub b: Vector3<f64>,
    /// Radius, > 0.
    pub radius: f64,
}

/// A collision capsule fixed to a body of the robot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkShape {
    /// Name for messages, for example `forearm`.
    pub name: String,
    /// Joint whose frame carries the capsule; `None` for the fixed base.
    pub joint: Option<usize>,
    /// The capsule in that frame.
    pub capsule: Capsule,
}

/// Two capsules that are not kept apart from each other because somebody said so. Nothing proves it: it is trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoredPair {
    /// Index of one capsule in [`Robot::shapes`].
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// Why they cannot touch, or need not be kept apart, in the words of the file.
    pub reason: String,
}

/// What is known of the shape of what the hand holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldShape {
    /// Nothing is held beyond what the URDF describes.
    #[default]
    Nothing,
    /// The held object lies within capsules that are among [`Robot::shapes`].
    Declared,
    /// Something is held whose shape nobody states: nothing is proven about what it touches.
    Undeclared,
}

/// How far the truth may be from the nominal model: ratios of the nominal values, and beside them absolute figures. A nominal value of zero with a ratio
/// alone is exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uncertainty {
    /// On each inertial parameter of each link (0.05 = 5 %).
    pub link_ratio: f64,
    /// On Coulomb, viscous friction and offset.
    pub friction_ratio: f64,
    /// On the transmission inertia.
    pub armature_ratio: f64,
    /// Largest angle between true gravity and the direction that the robot's file states, degrees: the base leans, or is not mounted
    /// as the file says. 0: the direction is exact.
    #[serde(default = "Uncertainty::usual_gravity_direction_deg")]
    pub gravity_direction_deg: f64,
    /// Static over Coulomb friction, >= 1: below the stiction speed the friction torque is anywhere in this times
    /// \[-F_c, F_c\]. 1: no joint needs more to break away than to keep moving.
    #[serde(default = "Uncertainty::usual_breakaway_ratio")]
    pub breakaway_ratio: f64,
    /// On each component of a link's first moment, beside the ratio, kg m.
    #[serde(default)]
    pub first_moment_kg_m: f64,
    /// On each moment and product of inertia of a link, beside the ratio, kg m^2.
    #[serde(default)]
    pub inertia_kg_m2: f64,
    /// On each joint's torque offset, beside the ratio, N m.
    #[serde(default)]
    pub offset_nm: f64,
}

impl Uncertainty {
    /// What a file that says nothing of the direction of gravity means, degrees: a base set up with a spirit level.
    pub fn usual_gravity_direction_deg() -> f64 {
        0.2
    }

    /// What a file that says nothing of static friction means: a lubricated gear that breaks away a fifth above its Coulomb friction.
    pub fn usual_breakaway_ratio() -> f64 {
        1.2
    }

    /// How far parameter `p` (0 to 9) of a link may be from its nominal value, in its unit; rounded up.
    pub fn of_link(&self, p: usize, nominal: f64) -> f64 {
        let absolute = match p {
            0 => 0.0,
            1..=3 => self.first_moment_kg_m,
            _ => self.inertia_kg_m2,
        };
        beside((nominal.abs() * self.link_ratio).next_up(), absolute)
    }

    /// How far a joint's parameter ([`COULOMB`] to [`OFFSET`]) may be from its nominal value, in its unit; rounded up.
    pub fn of_joint(&self, part: usize, nominal: f64) -> f64 {
        let (ratio, absolute) = match part {
            ARMATURE => (self.armature_ratio, 0.0),
            OFFSET => (self.friction_ratio, self.offset_nm),
            _ => (self.friction_ratio, 0.0),
        };
        beside((nominal.abs() * ratio).next_up(), absolute)
    }

    /// The first figure that is none, by its name, and why.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let ratio = |x: f64| (0.0..1.0).contains(&x);
        let (angle, breakaway) = (self.gravity_direction_deg, self.breakaway_ratio);
        let absolute = |x: f64| x >= 0.0 && x.is_finite();
        let (moment, inertia, offset) = (self.first_moment_kg_m, self.inertia_kg_m2, self.offset_nm);
        let all = [
            ("first_moment_kg_m", moment, absolute(moment), "a number of kg m not below 0"),
            ("inertia_kg_m2", inertia, absolute(inertia), "a number of kg m^2 not below 0"),
            ("offset_nm", offset, absolute(offset), "a number of N m not below 0"),
            ("link_ratio", self.link_ratio, ratio(self.link_ratio), "a ratio in [0, 1)"),
            ("friction_ratio", self.friction_ratio, ratio(self.friction_ratio), "a ratio in [0, 1)"),
            ("armature_ratio", self.armature_ratio, ratio(self.armature_ratio), "a ratio in [0, 1)"),
            ("gravity_direction_deg", angle, (0.0..=45.0).contains(&angle), "an angle from 0 to 45 degrees"),
            ("breakaway_ratio", breakaway, (1.0..=100.0).contains(&breakaway), "a ratio from 1 to 100"),
        ];
        let (what, x, _, expected) = all.into_iter().find(|(_, _, good, _)| !good)?;
        Some((what, format!("{x}, expected {expected}")))
    }
}

/// Upper bound of the sum of two figures of which the second may be absent.
fn beside(relative: f64, absolute: f64) -> f64 {
    if absolute > 0.0 { (relative + absolute).next_up() } else { relative }
}

/// Bounds on what the sensors may get wrong (assumption A2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensorBounds {
    /// |measured q - q| <= this, rad.
    pub position_rad: f64,
    /// |measured dq - dq| <= this, rad/s.
    pub velocity_rad_s: f64,
    /// |measured tau - tau| <= torque_ratio |tau| + torque_abs_nm.
    pub torque_ratio: f64,
    /// Absolute part of the torque bound, N m.
    pub torque_abs_nm: f64,
}

/// Gains of the robust controller and the radius of its tube (`control`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlGains {
    /// K_r, 1/s: r = de + K_r e.
    pub k_r: f64,
    /// alpha, 1/s: the rate at which V may approach V_max.
    pub alpha: f64,
    /// V_max, J: the invariant level of V = r'M r / 2.
    pub v_max: f64,
    /// Control period, s; the input is held between ticks.
    pub period_s: f64,
    /// Coulomb friction is known to follow F_c sign(dq) only for |dq| above this speed, rad/s; below it the
    /// friction torque is anywhere in [-F_c, F_c], times [`Uncertainty::breakaway_ratio`].
    pub stiction_speed_rad_s: f64,
}

impl ControlGains {
    /// The first that the control law cannot work with: all must be positive.
    pub fn fault(&self) -> Option<String> {
        let all = [
            ("k_r", self.k_r),
            ("alpha", self.alpha),
            ("v_max", self.v_max),
            ("period_s", self.period_s),
            ("stiction_speed_rad_s", self.stiction_speed_rad_s),
        ];
        let (what, x) = all.into_iter().find(|(_, x)| !(*x > 0.0 && x.is_finite()))?;
        Some(format!("{what}: expected a finite number above 0, found {x}"))
    }
}

/// A frame with a name, fixed to a body: a foot, a hand, a rotor, one end of a loop closure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedFrame {
    /// Its name.
    pub name: String,
    /// Joint whose body carries it; `None` for the fixed base.
    pub joint: Option<usize>,
    /// The frame in that joint's frame (the base frame).
    pub placement: Placement,
}

/// Which relative motion a loop closure forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The origins of both frames coincide: 3 equations.
    Point,
    /// Both frames coincide: 6 equations.
    Rigid,
}

/// Two frames that a mechanism holds together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopClosure {
    /// Its name.
    pub name: String,
    /// Index of one frame in [`Robot::named_frames`].
    pub frame_a: usize,
    /// Index of the other.
    pub frame_b: usize,
    /// What they have in common.
    pub kind: LoopKind,
}

/// A rotor: a force along the z axis of a frame, with a moment about it that is proportional to the force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thrust {
    /// Its name.
    pub name: String,
    /// Index of the frame in [`Robot::named_frames`].
    pub frame: usize,
    /// Moment about the frame's z axis per force, N m/N; its sign tells which way the rotor turns.
    pub moment_per_force_m: f64,
    /// Smallest and largest force, N.
    pub force_n: (f64, f64),
}

/// A robot: a tree of joints with one degree of freedom each, on a fixed base or on a free-flying root body.
///
/// In files it keeps what was stated; what follows from that ([`Robot::self_pairs`]) is derived anew when it is read, and what is
/// claimed of it (capsules that cover the parts) is proven anew: see [`super::pairs`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Robot {
    /// Name of the robot.
    pub name: String,
    /// Gravity in the base frame, m/s^2.
    pub gravity: Vector3<f64>,
    /// Joints with their bodies, parents before children. Only the first may be a [`JointKind::FreeFlyer`]; then it is
    /// the only one without a parent.
    pub joints: Vec<Joint>,
    /// Frames with a name, in the order of the robot TOML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_frames: Vec<NamedFrame>,
    /// Loop closures, in the order of the robot TOML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopClosure>,
    /// Rotors, in the order of the robot TOML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thrusts: Vec<Thrust>,
    /// Sections of the robot TOML that an arm needs (`end_effector`, `uncertainty`, `sensors`, `control`) and that
    /// were not given: the fields hold defaults that nobody vouches for, and [`Robot::arm_fault`] tells so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The collision primitives of the URDF and the capsules of what is held: what `shapes` must cover.
    pub parts: Vec<CollisionPart>,
    /// Collision capsules; together they cover `parts` (proven at loading).
    pub shapes: Vec<LinkShape>,
    /// Pairs of `shapes` that must stay apart, ascending: see [`super::pairs`]. Derived, never read from a file.
    #[serde(skip)]
    pub self_pairs: Vec<(usize, usize)>,
    /// Pairs of `shapes` that a file says need not be kept apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_pairs: Vec<IgnoredPair>,
    /// What is known of the shape of what the hand holds.
    #[serde(default)]
    pub held: HeldShape,
    /// Index of the joint whose body holds the payload.
    pub end_effector: usize,
    /// How far the truth may be from this model.
    pub uncertainty: Uncertainty,
    /// What the sensors may get wrong.
    pub sensors: SensorBounds,
    /// Gains of the robust controller.
    pub control: ControlGains,
}

impl Robot {
    /// Degrees of freedom n, the length of velocities, accelerations and torques.
    pub fn dof(&self) -> usize {
        self.nv()
    }

    /// Number of joints, and of the bodies that they move.
    pub fn bodies(&self) -> usize {
        self.joints.len()
    }

    /// Length of a velocity vector: 6 for a free flyer, then one number a joint.
    pub fn nv(&self) -> usize {
        self.joints.len() + if self.has_free_flyer() { 5 } else { 0 }
    }

    /// Length of a configuration vector: 7 for a free flyer, then one number a joint.
    pub fn nq(&self) -> usize {
        self.joints.len() + if self.has_free_flyer() { 6 } else { 0 }
    }

    /// Whether the root body floats: its joint is a [`JointKind::FreeFlyer`].
    pub fn has_free_flyer(&self) -> bool {
        self.joints.first().is_some_and(|j| j.kind == JointKind::FreeFlyer)
    }

    /// Index of joint `i`'s first number in a configuration vector.
    pub fn q_index(&self, i: usize) -> usize {
        if i > 0 && self.has_free_flyer() { i + 6 } else { i }
    }

    /// Index of joint `i`'s first number in a velocity vector.
    pub fn v_index(&self, i: usize) -> usize {
        if i > 0 && self.has_free_flyer() { i + 5 } else { i }
    }

    /// Index of the first joint with an actuator: 1 behind a free flyer, otherwise 0; all later ones have one too.
    pub fn first_actuated(&self) -> usize {
        usize::from(self.has_free_flyer())
    }

    /// Index of the frame of that name in [`Robot::named_frames`].
    pub fn frame_index(&self, name: &str) -> Option<usize> {
        self.named_frames.iter().position(|f| f.name == name)
    }

    /// Why this robot is no arm that reachability, certificate, control, identification and planning can work with:
    /// its base floats, or its file leaves out what they rest on. `None` if it is one.
    pub fn arm_fault(&self) -> Option<String> {
        if let Some(joint) = self.joints.iter().find(|j| j.kind == JointKind::FreeFlyer) {
            let (robot, joint) = (&self.name, &joint.name);
            return Some(format!(
                "robot `{robot}` floats on joint `{joint}`, expected an arm on a fixed base"
            ));
        }
        let missing = self.missing.join("`, `");
        (!self.missing.is_empty()).then(|| {
            format!("the file of robot `{}` does not say `{missing}`, which an arm needs", self.name)
        })
    }

    /// Length of the parameter vector: [`INERTIAL`] a body, then [`FRICTION`] an actuated joint.
    pub fn parameter_count(&self) -> usize {
        self.bodies() * INERTIAL + (self.bodies() - self.first_actuated()) * FRICTION
    }

    /// Index of the first inertial parameter of body `i` in the parameter vector.
    pub fn inertial_index(&self, i: usize) -> usize {
        INERTIAL * i
    }

    /// Index of the first joint parameter of joint `i` (no free flyer: it has none) in the parameter vector.
    pub fn friction_index(&self, i: usize) -> usize {
        INERTIAL * self.bodies() + FRICTION * (i - self.first_actuated())
    }

    /// Nominal parameter vector, length [`Robot::parameter_count`].
    pub fn nominal_parameters(&self) -> Vec<f64> {
        let mut theta = Vec::with_capacity(self.parameter_count());
        for joint in &self.joints {
            theta.extend_from_slice(&joint.inertia);
        }
        for joint in &self.joints[self.first_actuated()..] {
            let f = &joint.friction;
            theta.extend_from_slice(&[f.coulomb, f.viscous, f.armature, f.offset]);
        }
        theta
    }
}
