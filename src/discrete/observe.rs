//! What an encoder reads: the angle of a hinge.
//!
//! With z the rotation of frame b as frame a sees it, a unit quaternion, the angle about their common x axis is 2 atan2(z_x, z_w), however little the
//! axes agree.

use std::f64::consts::{PI, TAU};

use nalgebra::{UnitQuaternion, Vector3};

use super::mechanism::{Mechanism, pose_of};

/// Angle of hinge `j`, rad, and its gradient by the turn of the child (of the parent the opposite).
pub(super) fn encoder(mechanism: &Mechanism, pose: &[f64], j: usize) -> (f64, Vector3<f64>) {
    let joint = &mechanism.joints[j];
    let e_a = joint.parent.map_or_else(UnitQuaternion::identity, |a| pose_of(pose, a).1);
    let frame_a = e_a * joint.parent_frame.rotation;
    let z = frame_a.inverse() * pose_of(pose, joint.child).1 * joint.child_frame.rotation;
    let (w, v) = (z.w, z.imag());
    let squares = w * w + v.x * v.x;
    let slope = (Vector3::new(w, v.z, -v.y) * w + v * v.x) / squares;
    (2.0 * v.x.atan2(w), frame_a * slope)
}

/// The same angle within half a turn of nothing.
pub fn wrapped(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}

/// Angles that jump by a turn where the encoder wraps, made continuous. Nothing where a change is so near half a turn that either way could be meant; then the
/// index.
///
/// # Errors
/// The index of a reading whose change from the one before is beyond 0.9 of half a turn.
pub fn unwrapped(angles: &[f64]) -> Result<Vec<f64>, usize> {
    let mut out: Vec<f64> = Vec::with_capacity(angles.len());
    for (k, angle) in angles.iter().enumerate() {
        let Some(&last) = out.last() else {
            out.push(*angle);
            continue;
        };
        let change = wrapped(angle - last);
        if !(change.abs() < 0.9 * PI) {
            return Err(k);
        }
        out.push(last + change);
    }
    Ok(out)
}
