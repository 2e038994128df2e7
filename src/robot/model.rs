//! The tree as data: joints in topological order with their limits, friction and bodies.

use std::collections::BTreeMap;
use std::ops::Range;

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

use crate::inertia::{FRICTION, INERTIAL, JointParameters};

/// A rigid placement: `p_parent = rotation * p_child + translation` (metres).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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

    /// The other way round: maps parent coordinates to child coordinates.
    pub fn inverse(&self) -> Placement {
        let rotation = self.rotation.transpose();
        Placement { rotation, translation: -(rotation * self.translation) }
    }

    /// Maps a point from child to parent coordinates (metres).
    #[inline]
    pub fn point(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * p + self.translation
    }
}

/// How a joint moves. The axis of a joint with one coordinate is always +z of the joint frame: a URDF axis in another
/// direction is turned into the fixed placement when the model is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct JointLimits {
    /// Lower and upper position; `None` for a continuous joint and a free flyer.
    pub position: Option<(f64, f64)>,
    /// Largest speed, > 0 (a free flyer: the largest float).
    pub velocity: f64,
    /// Largest actuator torque (force), > 0; 0 for a free flyer, and for a joint without a motor in a robot that is no
    /// arm: nothing drives it.
    pub torque: f64,
}

/// One joint and the body that it moves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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
    pub friction: JointParameters,
    /// Turns of the motor's rotor for one of the joint, both about the joint's axis against the link before, negative where it turns the other way;
    /// not zero. With it the rotor counts as one that turns with the link before too ([`crate::dynamics::rotor`]); `None`: for its own joint alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gear_ratio: Option<f64>,
    /// Nominal inertial parameters of the body (fixed children merged), about and in the joint frame.
    pub inertia: [f64; INERTIAL],
}

/// A frame with a name, fixed to a body: a foot, a hand, a rotor, one end of a loop closure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct LoopClosure {
    /// Its name.
    pub name: String,
    /// Index of one frame in [`Model::named_frames`].
    pub frame_a: usize,
    /// Index of the other.
    pub frame_b: usize,
    /// What they have in common.
    pub kind: LoopKind,
    /// Positions (rad, m) of joints, by name, where it is closed in the way that is meant; joints that are not named are at zero then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub closed_at: BTreeMap<String, f64>,
}

/// A rotor: a force along the z axis of a frame, with a moment about it that is proportional to the force.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Thrust {
    /// Its name.
    pub name: String,
    /// Index of the frame in [`Model::named_frames`].
    pub frame: usize,
    /// Moment about the frame's z axis per force, N m/N; its sign tells which way the rotor turns.
    pub moment_per_force_m: f64,
    /// Smallest and largest force, N.
    pub force_n: (f64, f64),
}

/// A tree of joints and bodies, on a fixed base or on a free-flying root body: all that dynamics needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Model {
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
    /// The frames of the URDF's links, in its order. A body's own frame is another one: it has the joint's axis along z.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_frames: Vec<NamedFrame>,
    /// Loop closures, in the order of the robot TOML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopClosure>,
    /// Rotors, in the order of the robot TOML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thrusts: Vec<Thrust>,
    /// Speed, rad/s, below which models of friction for estimation draw its direction as a straight line through zero
    /// ([`crate::dynamics::actuation`]); > 0. Guaranteed intervals of friction take it for the speed below which a joint may stick
    /// ([`crate::study::limbs::guaranteed`]); no other proof uses it.
    #[serde(default = "Model::usual_friction_speed_rad_s")]
    pub friction_speed_rad_s: f64,
    /// What was taken in place of figures that files state and no robot can have, and what of links that never move was left unused: one sentence for each link
    /// or joint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guesses: Vec<String>,
}

impl Model {
    /// What a file that says nothing of friction's direction near rest means.
    pub fn usual_friction_speed_rad_s() -> f64 {
        1e-3
    }

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
        // What `cargo try` compiles moves arms alone, and `Arm::new` refuses one that floats: there, code for free flyers goes no further than this.
        cfg!(not(surelift_program)) && self.joints.first().is_some_and(|j| j.kind == JointKind::FreeFlyer)
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

    /// The same robot with its floating base held, with the base frame where the root body's frame is: the free flyer is no joint any
    /// more, and the root body's parameters are gone. A robot on a fixed base stays as it is.
    pub fn with_base_held(&self) -> Model {
        let mut held = self.clone();
        if !self.has_free_flyer() {
            return held;
        }
        held.joints.remove(0);
        let behind = |carrier: &mut Option<usize>| *carrier = carrier.and_then(|joint| joint.checked_sub(1));
        held.joints.iter_mut().for_each(|joint| behind(&mut joint.parent));
        let frames = held.named_frames.iter_mut().chain(&mut held.link_frames);
        frames.for_each(|frame| behind(&mut frame.joint));
        held
    }

    /// The frame that a file calls `name`: one of [`Model::named_frames`], else a link's.
    pub fn frame(&self, name: &str) -> Option<&NamedFrame> {
        self.named_frames.iter().chain(&self.link_frames).find(|frame| frame.name == name)
    }

    /// Index of the frame of that name in [`Model::named_frames`].
    pub fn frame_index(&self, name: &str) -> Option<usize> {
        self.named_frames.iter().position(|f| f.name == name)
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

    /// Where the ten inertial parameters of body `i` stand in a parameter vector.
    pub fn body_range(&self, i: usize) -> Range<usize> {
        INERTIAL * i..INERTIAL * (i + 1)
    }

    /// Where the parameters of joint `i` (no free flyer: it has none) stand in a parameter vector.
    pub fn joint_index(&self, i: usize) -> JointParameters<usize> {
        let first = self.friction_index(i);
        JointParameters::from_array(std::array::from_fn(|k| first + k))
    }

    /// The parameters of joint `i` (no free flyer) in the parameter vector `theta`, or in one that holds something else for each.
    pub fn joint_parameters<T: Copy>(&self, theta: &[T], i: usize) -> JointParameters<T> {
        let own = &theta[self.friction_index(i)..][..FRICTION];
        JointParameters::from_array([own[0], own[1], own[2], own[3]])
    }

    /// Nominal parameter vector, length [`Model::parameter_count`].
    pub fn nominal_parameters(&self) -> Vec<f64> {
        let mut theta = Vec::with_capacity(self.parameter_count());
        for joint in &self.joints {
            theta.extend_from_slice(&joint.inertia);
        }
        for joint in &self.joints[self.first_actuated()..] {
            theta.extend_from_slice(&joint.friction.to_array());
        }
        theta
    }
}
