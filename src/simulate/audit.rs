//! The auditor of a simulated run: what is counted and measured on the true state. Where joints are elastic limits, distances and contacts are those of the links, and
//! the tube is judged by their common motion ([`crate::robot::Spring`]): what is proven is proven of that.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

use crate::inertia::INERTIAL;
use crate::robot::{Arm, Scene};
use crate::trajectory::{JointState, Pieces};

use super::contact::Contacts;
use super::springs::SpringAudit;
use super::stopping::StopAudit;

/// What the motion is supposed to be during a tick; used by the auditor alone.
#[derive(Debug, Clone, Copy)]
pub struct TrackingReference<'a> {
    /// The desired curve.
    pub curve: Pieces<'a>,
    /// Time since its start at the tick, s.
    pub t: f64,
    /// K_r, 1/s.
    pub k_r: f64,
    /// Proven bound on |e_j|, rad.
    pub e_radius: &'a [f64],
    /// Proven bound on |r_j|, rad/s.
    pub r_radius: &'a [f64],
}

/// Steps at which something happened that must not happen, counted on the true state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps with a contact.
    pub collision: u64,
    /// Steps beyond a torque limit.
    pub torque: u64,
    /// Steps beyond a position limit.
    pub position: u64,
    /// Steps beyond a velocity limit.
    pub velocity: u64,
    /// Steps outside the tracking tube.
    pub tube: u64,
}

/// How near an obstacle that may move was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Approach {
    /// When, s.
    pub t: f64,
    /// Distance, m; not positive where it touches.
    pub distance_m: f64,
    /// Whether the arm rested: before its first plan, or after the end of the last one.
    pub at_rest: bool,
}

/// The two bodies that came closest to each other in a run, and when.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct ClosestPair {
    /// When, s.
    pub t: f64,
    /// Distance, m; not positive where they touched.
    pub distance_m: f64,
    /// The link, or `payload`.
    pub link: String,
    /// The obstacle or the other link.
    pub other: String,
}

/// Where everything truly was at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct TrueState {
    /// When, s.
    pub t: f64,
    /// Positions of the links, rad (m).
    pub q: Vec<f64>,
    /// Centre of each obstacle that moves, m, by its index in the scene.
    pub obstacles: Vec<(usize, Vector3<f64>)>,
}

/// What the auditor saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// True inertial parameters of the last body at the start, where something is held.
    pub payload: Option<[f64; INERTIAL]>,
    /// Violations.
    pub counts: Counts,
    /// Whether the truth lay in every set that was witnessed.
    pub truth_inside: bool,
    /// Largest |e_j|, rad.
    pub tracking_error_rad: f64,
    /// Largest ratio of |e_j| or |r_j| to its bound; under the momentum law of |p_j| and |M_0 e|_j, too.
    pub tube_used: f64,
    /// Largest ratio of a torque to its limit.
    pub torque_ratio: f64,
    /// Smallest distance of a part of the URDF or of what is held to an obstacle or another body, m; infinite if there is nothing to
    /// touch.
    pub clearance_m: f64,
    /// Where that was; `None` if there is nothing to touch.
    pub closest: Option<ClosestPair>,
    /// The true state over time.
    pub states: Vec<TrueState>,
    /// Distance over time: (s, m).
    pub clearance: Vec<(f64, f64)>,
    /// Distance to the nearest obstacle that may move, at any time, of an arm that moves or rests.
    pub approaches: Vec<Approach>,
    /// Steps in which an obstacle that moves touched the arm while that rested. No plan promises that it does not.
    pub touched_at_rest: u64,
    /// Largest difference to an integration with steps four times finer, rad a tick.
    pub integration_error_rad: f64,
    /// True configuration at the end, rad.
    pub q: Vec<f64>,
    /// What its springs did; none of rigid joints.
    pub springs: Option<SpringAudit>,
    /// How the arm came to rest, where it was stopped gently.
    pub stop: Option<StopAudit>,
}

impl Audit {
    /// Of a run that begins at `start`.
    pub(super) fn new(payload: Option<[f64; INERTIAL]>, start: &[f64]) -> Self {
        Self {
            payload,
            counts: Counts::default(),
            truth_inside: true,
            tracking_error_rad: 0.0,
            tube_used: 0.0,
            torque_ratio: 0.0,
            clearance_m: f64::INFINITY,
            closest: None,
            states: Vec::new(),
            clearance: Vec::new(),
            approaches: Vec::new(),
            touched_at_rest: 0,
            integration_error_rad: 0.0,
            q: start.to_vec(),
            springs: None,
            stop: None,
        }
    }

    /// Checks the true state after an integration step at time `t` (s), of an arm that moves or rests; returns the clearance, and that to what may move.
    /// What moves may touch an arm that rests, and does no harm in that; whatever else touches is a collision.
    pub(super) fn look(
        &mut self,
        robot: &Arm,
        (contacts, scene): (&mut Contacts, &Scene),
        (t, q, dq): (f64, &[f64], &[f64]),
        at_rest: bool,
    ) -> (f64, f64) {
        let (mut position, mut velocity) = (false, false);
        for (j, joint) in robot.joints.iter().enumerate() {
            position |= joint.limits.position.is_some_and(|(lower, upper)| q[j] < lower || q[j] > upper);
            velocity |= dq[j].abs() > joint.limits.velocity;
        }
        let frames = robot.frames(q);
        let nearest = contacts.clearance(&frames, scene, !at_rest);
        let closest = nearest.distance_m;
        let nearest_moving = contacts.to_moving(&frames, scene);
        self.touched_at_rest += u64::from(at_rest && nearest_moving <= 0.0);
        if let Some(between) = nearest.between.filter(|_| closest < self.clearance_m) {
            let [link, other] = contacts.names(between, scene);
            self.closest = Some(ClosestPair { t, distance_m: closest, link, other });
        }
        self.clearance_m = self.clearance_m.min(closest);
        self.counts.position += u64::from(position);
        self.counts.velocity += u64::from(velocity);
        self.counts.collision += u64::from(closest <= 0.0);
        (closest, nearest_moving)
    }

    /// Checks the true state against the tube around `desired`, of whose other bounds it has this share.
    pub(super) fn follow(
        &mut self,
        q: &[f64],
        dq: &[f64],
        desired: &JointState,
        reference: &TrackingReference<'_>,
        share: f64,
    ) {
        let mut tube = share > 1.0;
        self.tube_used = self.tube_used.max(share);
        for j in 0..q.len() {
            let e = desired.q[j] - q[j];
            let r = desired.dq[j] - dq[j] + reference.k_r * e;
            let used = (e.abs() / reference.e_radius[j]).max(r.abs() / reference.r_radius[j]);
            tube |= used > 1.0;
            self.tube_used = self.tube_used.max(used);
            self.tracking_error_rad = self.tracking_error_rad.max(e.abs());
        }
        self.counts.tube += u64::from(tube);
    }
}
