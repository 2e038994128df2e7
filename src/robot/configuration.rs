//! Arithmetic of configurations: they are a manifold as soon as the base floats.
//!
//! A configuration has [`Model::nq`] numbers, a tangent vector (velocity x time) [`Model::nv`]. For joints with one
//! coordinate both are the same number; for a free flyer see [`super::JointKind::FreeFlyer`]. Derivatives "with respect to q" are,
//! here and in [`crate::dynamics`], those with respect to a tangent vector v at v = 0 of q (+) v = [`integrate`].

use nalgebra::{Quaternion, UnitQuaternion, Vector3, Vector6};

use super::model::Model;
use crate::linear::rigid_motion::{adjoint, exp, left_jacobian, left_jacobian_inverse, log};

#[cfg(feature = "rand")]
mod random;
#[cfg(feature = "rand")]
pub use random::random;

/// Rotation and position of a free flyer's seven numbers; the quaternion need not be normalised.
fn pose(q: &[f64]) -> (UnitQuaternion<f64>, Vector3<f64>) {
    let rotation = UnitQuaternion::new_normalize(Quaternion::new(q[6], q[3], q[4], q[5]));
    (rotation, Vector3::new(q[0], q[1], q[2]))
}

/// The one between two configurations of a free flyer, in the first one's frame.
fn between(q0: &[f64], q1: &[f64]) -> Vector6<f64> {
    let ((r0, p0), (r1, p1)) = (pose(q0), pose(q1));
    log(&(r0.inverse() * r1), &(r0.inverse() * (p1 - p0)))
}

/// Indices (q, v) of the first joint with one coordinate.
fn first_single(robot: &Model) -> (usize, usize) {
    if robot.has_free_flyer() { (7, 6) } else { (0, 0) }
}

/// The neutral configuration: zeros and the identity rotation.
pub fn neutral(robot: &Model) -> Vec<f64> {
    let mut q = vec![0.0; robot.nq()];
    if robot.has_free_flyer() {
        q[6] = 1.0;
    }
    q
}

/// The configuration in which the robot's file says that its loops are closed; neutral where it says nothing.
pub fn closed(robot: &Model) -> Vec<f64> {
    let mut q = neutral(robot);
    for (name, position) in robot.loops.iter().flat_map(|closure| &closure.closed_at) {
        if let Some(joint) = robot.joints.iter().position(|joint| &joint.name == name) {
            q[robot.q_index(joint)] = *position;
        }
    }
    q
}

/// Lower and upper limits, each of length nq; infinite where there are none.
pub fn limits(robot: &Model) -> (Vec<f64>, Vec<f64>) {
    let numbers = robot.joints.iter().flat_map(|joint| {
        let limits = joint.limits.position.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        std::iter::repeat_n(limits, joint.kind.nq())
    });
    numbers.unzip()
}

/// The first joint whose position is beyond its limits (or not a number), if any.
pub fn beyond_limits(robot: &Model, q: &[f64]) -> Option<usize> {
    robot.joints.iter().enumerate().position(|(i, joint)| {
        let at = robot.q_index(i);
        let (lower, upper) = joint.limits.position.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        !q[at..at + joint.kind.nq()].iter().all(|x| lower <= *x && *x <= upper)
    })
}

/// q (+) v: the configuration that a constant body velocity v reaches from `q` (length nq) in unit time; `v` has length
/// nv, `out` nq. The quaternion comes out normalised.
pub fn integrate(robot: &Model, q: &[f64], v: &[f64], out: &mut [f64]) {
    let (at_q, at_v) = first_single(robot);
    if at_q > 0 {
        let (r, p) = pose(q);
        let (turn, shift) = exp(&Vector6::from_column_slice(&v[..6]));
        let (r, p) = (r * turn, p + r * shift);
        let r = UnitQuaternion::new_normalize(r.into_inner());
        out[..7].copy_from_slice(&[p.x, p.y, p.z, r.i, r.j, r.k, r.w]);
    }
    for (out, (q, v)) in out[at_q..].iter_mut().zip(q[at_q..].iter().zip(&v[at_v..])) {
        *out = q + v;
    }
}

/// q1 (-) q0: the tangent vector v (length nv, rotation at most half a turn) with q0 (+) v = q1.
pub fn difference(robot: &Model, q0: &[f64], q1: &[f64], out: &mut [f64]) {
    let (at_q, at_v) = first_single(robot);
    if at_q > 0 {
        out[..6].copy_from_slice(between(q0, q1).as_slice());
    }
    for (out, (a, b)) in out[at_v..].iter_mut().zip(q0[at_q..].iter().zip(&q1[at_q..])) {
        *out = b - a;
    }
}

/// Writes `block` and then `rest` times the identity into a row-major nv x nv matrix.
fn fill(robot: &Model, block: impl FnOnce() -> nalgebra::Matrix6<f64>, rest: f64, out: &mut [f64]) {
    let n = robot.nv();
    out.fill(0.0);
    if robot.has_free_flyer() {
        let block = block();
        for r in 0..6 {
            for c in 0..6 {
                out[n * r + c] = block[(r, c)];
            }
        }
    }
    for i in first_single(robot).1..n {
        out[n * i + i] = rest;
    }
}

/// Derivatives of [`integrate`], row-major nv x nv, in tangent spaces: with respect to `q`, Ad of exp(-v); with respect
/// to `v`, the right Jacobian of exp.
pub fn integrate_jacobians(robot: &Model, v: &[f64], by_q: &mut [f64], by_v: &mut [f64]) {
    let back = || -Vector6::from_column_slice(&v[..6]);
    let adjoint_back = || {
        let (r, p) = exp(&back());
        adjoint(&r, &p)
    };
    fill(robot, adjoint_back, 1.0, by_q);
    fill(robot, || left_jacobian(&back()), 1.0, by_v);
}

/// Derivatives of [`difference`], row-major nv x nv, in tangent spaces: with respect to `q0` and to `q1`.
pub fn difference_jacobians(robot: &Model, q0: &[f64], q1: &[f64], by_q0: &mut [f64], by_q1: &mut [f64]) {
    fill(robot, || -left_jacobian_inverse(&between(q0, q1)), -1.0, by_q0);
    fill(robot, || left_jacobian_inverse(&-between(q0, q1)), 1.0, by_q1);
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::robot::fixture::{floating, small_model};

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn difference_undoes_integrate() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for robot in [small_model(), floating(small_model())] {
            let (nq, nv) = (robot.nq(), robot.nv());
            assert_eq!((neutral(&robot).len(), limits(&robot).0.len()), (nq, nq));
            for _ in 0..50 {
                let q = random(&robot, &mut rng);
                assert_eq!(beyond_limits(&robot, &q), None);
                let v: Vec<f64> = (0..nv).map(|_| rng.random_range(-1.5..1.5)).collect();
                let (mut to, mut back) = (vec![0.0; nq], vec![0.0; nv]);
                integrate(&robot, &q, &v, &mut to);
                difference(&robot, &q, &to, &mut back);
                assert!(distance(&v, &back) < 1e-13);
            }
        }
    }

    #[test]
    fn jacobians_are_the_derivatives() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let robot = floating(small_model());
        let (nq, nv) = (robot.nq(), robot.nv());
        let apart = |a: &[f64], b: &[f64]| {
            let mut d = vec![0.0; nv];
            difference(&robot, a, b, &mut d);
            d
        };
        let moved = |q: &[f64], v: &[f64]| {
            let mut to = vec![0.0; nq];
            integrate(&robot, q, v, &mut to);
            to
        };
        let h = 1e-5;
        for _ in 0..10 {
            let (q, q1) = (random(&robot, &mut rng), random(&robot, &mut rng));
            let v: Vec<f64> = (0..nv).map(|_| rng.random_range(-1.5..1.5)).collect();
            let mut of = [(); 4].map(|()| vec![0.0; nv * nv]);
            let [by_q, by_v, by_0, by_1] = &mut of;
            integrate_jacobians(&robot, &v, by_q, by_v);
            difference_jacobians(&robot, &q, &q1, by_0, by_1);
            for k in 0..nv {
                let e = |x: f64| (0..nv).map(|i| if i == k { x } else { 0.0 }).collect::<Vec<_>>();
                let sum = |x: f64| v.iter().zip(e(x)).map(|(v, e)| v + e).collect::<Vec<_>>();
                let slopes = [
                    apart(&moved(&moved(&q, &e(-h)), &v), &moved(&moved(&q, &e(h)), &v)),
                    apart(&moved(&q, &sum(-h)), &moved(&q, &sum(h))),
                    minus(&apart(&moved(&q, &e(h)), &q1), &apart(&moved(&q, &e(-h)), &q1)),
                    minus(&apart(&q, &moved(&q1, &e(h))), &apart(&q, &moved(&q1, &e(-h)))),
                ];
                for (matrix, slope) in of.iter().zip(slopes) {
                    for r in 0..nv {
                        let (got, want) = (matrix[nv * r + k], slope[r] / (2.0 * h));
                        assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{r} {k}: {got} {want}");
                    }
                }
            }
        }
    }

    fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }

    #[test]
    fn limits_are_seen() {
        let robot = floating(small_model());
        let mut q = neutral(&robot);
        q[0] = 100.0;
        assert_eq!(beyond_limits(&robot, &q), None);
        q[7] = 3.1;
        assert_eq!(beyond_limits(&robot, &q), Some(1));
        q[4] = f64::NAN;
        assert_eq!(beyond_limits(&robot, &q), Some(0));
    }
}
