//! Random configurations.

use std::f64::consts::PI;

use nalgebra::{Quaternion, Unit, UnitQuaternion};
use rand::RngExt;

use crate::robot::model::{JointKind, Model};

/// A random configuration: each coordinate uniform within its limits (a continuous joint: one turn), a free flyer
/// uniform in orientation and within 1 m of the origin along each axis.
pub fn random(robot: &Model, rng: &mut impl RngExt) -> Vec<f64> {
    let mut q = Vec::with_capacity(robot.nq());
    for joint in &robot.joints {
        if joint.kind == JointKind::FreeFlyer {
            q.extend((0..3).map(|_| rng.random_range(-1.0..1.0)));
            let rotation = random_rotation(rng);
            q.extend([rotation.i, rotation.j, rotation.k, rotation.w]);
        } else {
            let (lower, upper) = joint.limits.position.unwrap_or((-PI, PI));
            q.push(rng.random_range(lower..upper));
        }
    }
    q
}

/// A point in the unit ball of four dimensions, projected on the sphere.
fn random_rotation(rng: &mut impl RngExt) -> UnitQuaternion<f64> {
    loop {
        let x: [f64; 4] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let point = Quaternion::new(x[0], x[1], x[2], x[3]);
        if (0.01..1.0).contains(&point.norm_squared()) {
            return Unit::new_normalize(point);
        }
    }
}
