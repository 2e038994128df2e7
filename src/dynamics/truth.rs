//! The adversary's truth: parameters at corners of the set, and a plant of its own (not the simulator's).

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::{Composites, Motion, Wrench, crba, rnea};
use crate::inertia::pseudo::{nearest_physical, pseudo_inertia};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::robot::Arm;

/// Trials at a random body in its box before the nominal one, scaled to the edge, is taken, or one with a known part is
/// [`mended`]. More trials only draw more bodies at random where a box holds few that can exist.
const TRIALS: usize = 60;
/// Projections of a body onto what can exist, and into its box, in turn. They end once both hold; the number is only there
/// to end where the two hardly meet.
const PROJECTIONS: usize = 1000;
/// How thick a mended body is: second moments over the mass, m^2. A body of 1 mm is thinner than any link, and far from
/// singular.
const THICK: f64 = 1e-6;

/// A number in [-1, 1], often an end of it.
pub fn extreme(rng: &mut ChaCha8Rng) -> f64 {
    match rng.random_range(0..4) {
        0 => -1.0,
        1 => 1.0,
        _ => rng.random_range(-1.0..=1.0),
    }
}

/// A corner of the box, or near it.
pub fn corner(set: &ParameterSet, rng: &mut ChaCha8Rng) -> Vec<f64> {
    set.lower()
        .iter()
        .zip(set.upper())
        .map(|(l, u)| (0.5 * (l + u) + 0.5 * (u - l) * extreme(rng)).clamp(*l, *u))
        .collect()
}

fn is_body(p: &[f64; INERTIAL]) -> bool {
    p[0] > 0.0 && pseudo_inertia(p).cholesky().is_some()
}

/// Parameters as extreme as physics allows: every body consistent, also without its known part; everything else at corners.
pub fn consistent(robot: &Arm, set: &ParameterSet, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut theta = corner(set, rng);
    for i in 0..robot.dof() {
        let at = robot.inertial_index(i);
        let part = set.core().filter(|core| core.first == at).map(|core| core.part);
        // A whole link scaled to the edge of its box is always consistent.
        let scale = if rng.random() { 0.95 } else { 1.05 };
        let body = (0..TRIALS).find_map(|_| body(set, at, part.as_ref(), i == robot.end_effector(), rng));
        let body = body.unwrap_or_else(|| match &part {
            Some(part) => mended(set, at, part, rng).unwrap_or(*part),
            None => robot.joints[i].inertia.map(|x| x * scale),
        });
        for p in 0..INERTIAL {
            theta[at + p] = body[p].clamp(set.lower()[at + p], set.upper()[at + p]);
        }
    }
    theta
}

/// One draw of the body at `at` in its box, if it can exist with its known `part` taken away: extreme, or for a `held` body
/// point masses and a little solid body beside the part.
fn body(
    set: &ParameterSet,
    at: usize,
    part: Option<&[f64; INERTIAL]>,
    held: bool,
    rng: &mut ChaCha8Rng,
) -> Option<[f64; INERTIAL]> {
    let (lower, upper) = (&set.lower()[at..at + INERTIAL], &set.upper()[at..at + INERTIAL]);
    let part = part.unwrap_or(&[0.0; INERTIAL]);
    let mut rest: [f64; INERTIAL] = std::array::from_fn(|p| {
        let half = 0.5 * (upper[p] - lower[p]);
        lower[p] + half + half * extreme(rng) - part[p]
    });
    if held {
        // The edge of what is consistent.
        let [m, x, y, z] = [rest[0], rest[1], rest[2], rest[3]];
        let solid: f64 = rng.random_range(1e-4..0.02);
        let moment = |a: f64, b: f64| (a * a + b * b) / m + solid;
        let product = |a: f64, b: f64| -a * b / m;
        rest[4..].copy_from_slice(&[
            moment(y, z),
            product(x, y),
            moment(x, z),
            product(x, z),
            product(y, z),
            moment(x, y),
        ]);
    }
    let whole: [f64; INERTIAL] = std::array::from_fn(|p| part[p] + rest[p]);
    let inside = whole.iter().zip(lower.iter().zip(upper)).all(|(x, (l, u))| l <= x && x <= u);
    (inside && is_body(&rest)).then_some(whole)
}

/// A body at `at` that lies in its box and exists with its known `part` taken away: what is left of a corner of the box, projected
/// onto what can exist and into the box in turn. Both sets are convex, so this comes to a point of both if there is one; `None`
/// if not.
pub fn mended(
    set: &ParameterSet,
    at: usize,
    part: &[f64; INERTIAL],
    rng: &mut ChaCha8Rng,
) -> Option<[f64; INERTIAL]> {
    let (lower, upper) = (&set.lower()[at..at + INERTIAL], &set.upper()[at..at + INERTIAL]);
    let mut whole: [f64; INERTIAL] = std::array::from_fn(|p| {
        let half = 0.5 * (upper[p] - lower[p]);
        lower[p] + half + half * extreme(rng)
    });
    for _ in 0..PROJECTIONS {
        whole = std::array::from_fn(|p| whole[p].clamp(lower[p], upper[p]));
        let rest: [f64; INERTIAL] = std::array::from_fn(|p| whole[p] - part[p]);
        if is_body(&rest) {
            return Some(whole);
        }
        // Nothing is left of the mass: some of it, since a body without any has no neighbour.
        if rest[0] <= 0.0 {
            whole[0] = part[0] + 1e-3 * (upper[0] - part[0]);
            continue;
        }
        let near = nearest_physical(&rest, THICK).ok()?;
        whole = std::array::from_fn(|p| part[p] + near[p]);
    }
    None
}

/// Y(q, dq, dqa, ddqa) theta + I_a ddqa + F_v dq + beta: what the motion needs but for Coulomb friction.
pub fn needed(robot: &Arm, theta: &[f64], state: [&[f64]; 4]) -> Vec<f64> {
    let n = robot.dof();
    let [q, dq, dqa, ddqa] = state;
    let mut motion = Motion::new(robot);
    motion.sweep(robot, q, dq, dqa, ddqa);
    let mut tau = vec![0.0; n];
    rnea(robot, &motion, theta, &mut vec![Wrench::zero(); n], &mut tau);
    for j in 0..n {
        let f = robot.joint_parameters(theta, j);
        tau[j] += f.armature * ddqa[j] + f.viscous * dq[j] + f.offset;
    }
    tau
}

/// Mass matrix, transmission inertia included.
pub fn mass(robot: &Arm, theta: &[f64], q: &[f64]) -> DMatrix<f64> {
    let n = robot.dof();
    let mut motion = Motion::new(robot);
    motion.place(robot, q);
    let mut m = DMatrix::zeros(n, n);
    crba(robot, &motion, theta, &mut Composites::new(robot), m.as_mut_slice());
    for j in 0..n {
        m[(j, j)] += theta[robot.joint_index(j).armature];
    }
    m
}

/// r'M r / 2.
pub fn energy(robot: &Arm, theta: &[f64], q: &[f64], r: &[f64]) -> f64 {
    let r = DVector::from_column_slice(r);
    0.5 * (r.transpose() * mass(robot, theta, q) * &r)[0]
}

/// Accelerations under `tau`; below the stiction speed friction does what `pushes` says (in [-1, 1] a joint, of all that it can).
///
/// Infinite where M is not positive definite: outside every claim, so that a floor of M that fails there is reported as such.
pub fn acceleration(
    robot: &Arm,
    theta: &[f64],
    q: &[f64],
    dq: &[f64],
    tau: &[f64],
    pushes: &[f64],
) -> Vec<f64> {
    let n = robot.dof();
    let bias = needed(robot, theta, [q, dq, dq, &vec![0.0; n]]);
    let right = DVector::from_fn(n, |j, _| {
        let speed = robot.gains().stiction_speed_rad_s;
        let sign = if dq[j].abs() > speed {
            dq[j].signum()
        } else {
            robot.uncertainty().breakaway_ratio * pushes[j]
        };
        tau[j] - bias[j] - theta[robot.joint_index(j).coulomb] * sign
    });
    match mass(robot, theta, q).cholesky() {
        Some(mass) => mass.solve(&right).as_slice().to_vec(),
        None => vec![f64::INFINITY; n],
    }
}

/// The state after `h` under a held torque.
pub fn step(
    robot: &Arm,
    theta: &[f64],
    (q, dq): (&[f64], &[f64]),
    tau: &[f64],
    pushes: &[f64],
    h: f64,
) -> (Vec<f64>, Vec<f64>) {
    let plus =
        |x: &[f64], s: f64, y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(a, b)| a + s * b).collect() };
    let slope = |q: &[f64], dq: &[f64]| acceleration(robot, theta, q, dq, tau, pushes);
    let a1 = slope(q, dq);
    let (q2, v2) = (plus(q, 0.5 * h, dq), plus(dq, 0.5 * h, &a1));
    let a2 = slope(&q2, &v2);
    let (q3, v3) = (plus(q, 0.5 * h, &v2), plus(dq, 0.5 * h, &a2));
    let a3 = slope(&q3, &v3);
    let (q4, v4) = (plus(q, h, &v3), plus(dq, h, &a3));
    let a4 = slope(&q4, &v4);
    let mean = |a: &[f64], b: &[f64], c: &[f64], d: &[f64]| -> Vec<f64> {
        (0..a.len()).map(|j| (a[j] + 2.0 * b[j] + 2.0 * c[j] + d[j]) / 6.0).collect()
    };
    (plus(q, h, &mean(dq, &v2, &v3, &v4)), plus(dq, h, &mean(&a1, &a2, &a3, &a4)))
}
