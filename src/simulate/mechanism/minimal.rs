//! Minimal coordinates of a tree of hinges: a model for [`crate::dynamics`], and a plant of the same truth that shares nothing with the steps in maximal
//! coordinates.
//!
//! A hinge turns about the x axis of its frames there, and about z here: (y, z, x) of the child's frame are the axes of the body here. Dry friction is bounded
//! by the bearing's forces, which inverse dynamics tells; where a hinge hardly turns its direction is a straight line through zero.

use nalgebra::{Matrix3, Rotation3, Vector3};

use crate::discrete::mechanism::{Attachment, HeldJoint, HeldJointKind};
use crate::discrete::{DiscreteError, Mechanism};
use crate::dynamics::{Motion, Workspace, Wrench, rnea};
use crate::inertia::JointParameters;
use crate::inertia::pseudo::from_center_of_mass;
use crate::robot::{Joint, JointKind, JointLimits, Model, Placement};

/// Speed below which the direction of dry friction is a straight line, rad/s.
const CREEP_RAD_S: f64 = 1e-3;
/// Rounds in which friction and the bearing's forces, which depend on each other, are brought together.
const ROUNDS: usize = 4;

/// Axes (y, z, x) of a frame.
fn axes(frame: &Attachment) -> Matrix3<f64> {
    let turn = |v: Vector3<f64>| frame.rotation * v;
    Matrix3::from_columns(&[turn(Vector3::y()), turn(Vector3::z()), turn(Vector3::x())])
}

/// The tree of hinges as a robot on a fixed base: angles mean the same, transmission inertias are the motors' shafts, viscous friction is the hinges'. Dry friction
/// is left out.
///
/// # Errors
/// [`DiscreteError::Joint`] where the joints are not a tree of hinges that starts in the world, parents first, with body `j` moved by joint `j`.
pub fn tree_model(name: &str, mechanism: &Mechanism) -> Result<Model, DiscreteError> {
    if mechanism.joints.len() != mechanism.bodies.len() {
        let (joints, bodies) = (mechanism.joints.len(), mechanism.bodies.len());
        let reason =
            format!("{joints} joints and {bodies} bodies: minimal coordinates need one hinge for each body");
        return Err(DiscreteError::Recording { what: "mechanism".into(), reason });
    }
    let joints = mechanism.joints.iter().enumerate().map(|(j, joint)| link(mechanism, j, joint));
    Ok(Model {
        name: name.to_owned(),
        gravity: mechanism.gravity(),
        joints: joints.collect::<Result<_, _>>()?,
        named_frames: vec![],
        link_frames: vec![],
        loops: vec![],
        thrusts: vec![],
        friction_speed_rad_s: CREEP_RAD_S,
        guesses: vec![],
    })
}

fn link(mechanism: &Mechanism, j: usize, joint: &HeldJoint) -> Result<Joint, DiscreteError> {
    let bad = |reason: &str| Err(DiscreteError::Joint { joint: joint.name.clone(), reason: reason.into() });
    if !matches!(joint.kind, HeldJointKind::Hinge { .. }) {
        return bad("is no hinge: minimal coordinates are of trees of hinges");
    }
    if joint.child != j || joint.parent.is_some_and(|p| p >= j) {
        return bad(
            "minimal coordinates need a tree, parents first, the bodies in the order of their joints",
        );
    }
    let (own, body) = (axes(&joint.child_frame), &mechanism.bodies[j]);
    let (base, at) = match joint.parent {
        None => (Matrix3::identity(), Vector3::zeros()),
        Some(p) => (axes(&mechanism.joints[p].child_frame), mechanism.joints[p].child_frame.point_m),
    };
    let placement = Placement {
        rotation: base.transpose() * axes(&joint.parent_frame),
        translation: base.transpose() * (joint.parent_frame.point_m - at),
    };
    let center = -(own.transpose() * joint.child_frame.point_m);
    let inertia = own.transpose() * Matrix3::from_diagonal(&Vector3::from(body.inertia_kg_m2)) * own;
    Ok(Joint {
        name: joint.name.clone(),
        link: body.name.clone(),
        kind: JointKind::Continuous,
        parent: joint.parent,
        placement,
        limits: JointLimits { position: None, velocity: f64::MAX, torque: f64::MAX },
        friction: JointParameters {
            coulomb: 0.0,
            viscous: joint.viscous(),
            armature: joint.motor().shaft_kg_m2,
            offset: 0.0,
        },
        gear_ratio: None,
        inertia: from_center_of_mass(body.mass_kg, &center, &inertia),
    })
}

/// The plant.
pub(super) struct MinimalPlant {
    model: Model,
    joints: Vec<HeldJoint>,
    theta: Vec<f64>,
    dynamics: Workspace,
    motion: Motion<f64>,
    wrenches: Vec<Wrench<f64>>,
    h: f64,
    pub(super) q: Vec<f64>,
    pub(super) dq: Vec<f64>,
}

impl MinimalPlant {
    pub(super) fn new(truth: &Mechanism, start_rad: &[f64], h: f64) -> Result<Self, DiscreteError> {
        let pose = truth.assemble(start_rad)?;
        truth.check(&pose)?;
        let model = tree_model("truth", truth)?;
        Ok(Self {
            theta: model.nominal_parameters(),
            dynamics: Workspace::new(&model),
            motion: Motion::new(&model),
            wrenches: vec![Wrench::zero(); model.bodies()],
            joints: truth.joints.clone(),
            h,
            q: start_rad.to_vec(),
            dq: vec![0.0; start_rad.len()],
            model,
        })
    }

    /// One step of the classical rule, the controls held.
    pub(super) fn step(&mut self, controls: &[f64]) {
        let (q, dq, h) = (self.q.clone(), self.dq.clone(), self.h);
        let along =
            |x: &[f64], k: &[f64], h: f64| x.iter().zip(k).map(|(x, k)| x + h * k).collect::<Vec<_>>();
        let k1 = (dq.clone(), self.acceleration(&q, &dq, controls));
        let at = |k: &(Vec<f64>, Vec<f64>), h: f64| (along(&q, &k.0, h), along(&dq, &k.1, h));
        let x2 = at(&k1, 0.5 * h);
        let k2 = (x2.1.clone(), self.acceleration(&x2.0, &x2.1, controls));
        let x3 = at(&k2, 0.5 * h);
        let k3 = (x3.1.clone(), self.acceleration(&x3.0, &x3.1, controls));
        let x4 = at(&k3, h);
        let k4 = (x4.1.clone(), self.acceleration(&x4.0, &x4.1, controls));
        for j in 0..q.len() {
            let mean = |a: f64, b: f64, c: f64, d: f64| h / 6.0 * (a + 2.0 * (b + c) + d);
            self.q[j] += mean(k1.0[j], k2.0[j], k3.0[j], k4.0[j]);
            self.dq[j] += mean(k1.1[j], k2.1[j], k3.1[j], k4.1[j]);
        }
    }

    fn acceleration(&mut self, q: &[f64], dq: &[f64], controls: &[f64]) -> Vec<f64> {
        let driven: Vec<f64> = (self.joints.iter().zip(dq).zip(controls))
            .map(|((joint, dq), u)| joint.motor().gain * u - joint.viscous() * dq)
            .collect();
        let (mut a, mut tau) = (vec![0.0; q.len()], driven.clone());
        self.dynamics.forward_dynamics(&self.model, q, dq, &tau, &self.theta, &mut a);
        if self.joints.iter().all(|j| j.dry().is_none()) {
            return a;
        }
        for _ in 0..ROUNDS {
            let bounds = self.friction(q, dq, &a);
            for (j, bound) in bounds.iter().enumerate() {
                tau[j] = driven[j] - bound * (dq[j] / CREEP_RAD_S).clamp(-1.0, 1.0);
            }
            self.dynamics.forward_dynamics(&self.model, q, dq, &tau, &self.theta, &mut a);
        }
        a
    }

    /// What dry friction is at most, N m, with the bearings' forces at these accelerations.
    fn friction(&mut self, q: &[f64], dq: &[f64], a: &[f64]) -> Vec<f64> {
        let mut tau = vec![0.0; q.len()];
        self.motion.sweep_plain(&self.model, q, dq, a);
        rnea(&self.model, &self.motion, &self.theta, &mut self.wrenches, &mut tau);
        let mut turns: Vec<Matrix3<f64>> = vec![];
        let mut out = vec![];
        for (j, joint) in self.model.joints.iter().enumerate() {
            let base = joint.parent.map_or_else(Matrix3::identity, |p| turns[p]);
            let turn = Rotation3::from_axis_angle(&Vector3::z_axis(), q[j]).into_inner();
            let world = base * joint.placement.rotation * turn;
            turns.push(world);
            let Some(dry) = self.joints[j].dry() else {
                out.push(0.0);
                continue;
            };
            let wrench = &self.wrenches[j];
            let force = world * Vector3::from(wrench.f);
            let pressed = dry.radius_m * force.abs().sum() + wrench.n[0].abs() + wrench.n[1].abs();
            out.push((dry.kinetic + dry.excess * (-dry.rate * dq[j] * dq[j]).exp()) * pressed);
        }
        out
    }
}
