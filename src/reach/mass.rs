//! The mass matrix over a cell between two that are known, with and without transmission inertia.
//!
//! # Assumed
//! Parameters inside the set, every body physically consistent (A1), joint positions inside the cell.
//!
//! # Proven
//! * *Bodies.* The kinetic energy of a body is m v'v / 2 + v'(w x h) + w'I w / 2. A parameter that is off by at most r changes a
//!   product 2 x y of it by at most r (x^2 s + y^2 / s), whatever s > 0. So a body with the centre's first moment and products of
//!   inertia, and with mass and moments of inertia lowered by what all such terms add to v_k^2 and w_k^2, never has more energy
//!   than any body of the box; raised by the same amounts, never less. A lowered body of which little is left is
//!   replaced by nothing, or by the known part ([`crate::inertia::Core`]): no consistent body has less.
//! * *Matrices.* M(q; theta) is a sum of bodies, so it lies between the matrices of the lowered and of the raised bodies, at any q,
//!   with the smallest and the largest transmission inertias on the diagonal. No inertia of the transmission is needed.
//! * *Definite.* A symmetric matrix with entries m_ij +- r_ij is positive definite if the matrix with entries m_ij, and
//!   m_ii - sum_j r_ij d_ij on the diagonal, is: |x_i x_j| <= (d_ij x_i^2 + d_ji x_j^2) / 2 for d_ij d_ji >= 1. And that one is if all
//!   pivots of its elimination in interval arithmetic are positive.
//!
//! Sums of bounds are rounded outward, term by term; entries are enclosed by affine forms over the cell.

use arrayvec::ArrayVec;

use crate::dynamics::{MassStorage, RecursionStorage};
use crate::enclose::{Affine, Interval, Rounding};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::cell::{Joints, MAX_JOINTS};
use super::extent;
use super::upward::{add_up, div_up, mul_up, sum_up};

/// Ratio of two neighbouring factors that [`least_factor`] tries: a factor is at most 2 % larger than need be, and finding
/// it takes a search by halves over the powers.
const STEP: f64 = 1.02;
/// Largest power of [`STEP`] that is tried, up and down: factors from 1e-9 to 1e9.
const POWERS: i32 = 1047;
/// Share of its mass that a lowered body must keep to be of use. One that loses more proves little, and its thin rest may
/// make the bounds of others worse; it is taken for no body, which is always below.
const KEPT: f64 = 0.5;
/// Arms at which mixed terms are weighed are at least this long, m: any length is sound, and 0 would divide by zero.
const LEAST_ARM_M: f64 = 1e-3;

/// Parameter vectors, transmission inertias included, whose mass matrices enclose those of a set at every q.
#[derive(Debug, Clone, PartialEq)]
pub struct MassBounds {
    /// Its mass matrix is never above any of the set.
    pub below: Vec<f64>,
    /// Its mass matrix is never below any of the set.
    pub above: Vec<f64>,
}

impl MassBounds {
    /// Lowered and raised bodies of `set`.
    pub fn new(robot: &Arm, set: &ParameterSet) -> Self {
        let mut below = set.lower().to_vec();
        let mut above = set.upper().to_vec();
        for i in 0..robot.bodies() {
            let body = robot.body_range(i);
            let range = (&set.lower()[body.clone()], &set.upper()[body.clone()]);
            let (lowered, raised) = lowered_and_raised(range.0, range.1, 0.5 * reach(robot, i));
            let more = |part: &[f64]| [0, 4, 6, 9].iter().any(|&p| part[p] > lowered[p]);
            let core = set.core().filter(|core| core.first == body.start && more(&core.part));
            let lowered = core.map_or(lowered, |core| core.part);
            below[body.clone()].copy_from_slice(&lowered);
            above[body].copy_from_slice(&raised);
        }
        Self { below, above }
    }
}

/// Index of I_kk among the parameters of a body.
const MOMENT: [usize; 3] = [4, 6, 9];
/// Pairs of axes and the index of their product of inertia.
const PRODUCT: [(usize, usize, usize); 3] = [(0, 1, 5), (0, 2, 7), (1, 2, 8)];

/// Length of the chain from the base to body `i`, m: what turning the base moves the body at, at most.
fn reach(robot: &Arm, i: usize) -> f64 {
    let own = robot.joints[i].placement.translation.norm();
    own + robot.joints[i].parent.map_or(0.0, |parent| reach(robot, parent))
}

/// `lever` is the distance at which a body's speed is weighed against its turning; any is right, and one that occurs is good.
fn lowered_and_raised(lower: &[f64], upper: &[f64], lever: f64) -> ([f64; INERTIAL], [f64; INERTIAL]) {
    let range = |p: usize| Interval::new(lower[p], upper[p]);
    let center: [f64; INERTIAL] = std::array::from_fn(|p| range(p).midpoint());
    let radius: [f64; INERTIAL] = std::array::from_fn(|p| range(p).radius());
    let moment = MOMENT.map(|p| center[p].max(f64::MIN_POSITIVE));
    let mass = center[0].max(f64::MIN_POSITIVE);
    let arm = moment.map(|i| (i / mass).sqrt().max(lever).max(LEAST_ARM_M));
    let mut turning = MOMENT.map(|p| radius[p]);
    let mut moving = [radius[0]; 3];
    // v'(w x h): h_c joins v_a with w_b and v_b with w_a for the two other axes.
    for c in 0..3 {
        let (a, b, off) = ((c + 1) % 3, (c + 2) % 3, radius[1 + c]);
        for (v, w) in [(a, b), (b, a)] {
            moving[v] = add_up(moving[v], div_up(off, arm[w]));
            turning[w] = add_up(turning[w], mul_up(off, arm[w]));
        }
    }
    for (a, b, p) in PRODUCT {
        let weight = (moment[a] / moment[b]).sqrt().clamp(1e-6, 1e6);
        turning[a] = add_up(turning[a], mul_up(radius[p], weight));
        turning[b] = add_up(turning[b], div_up(radius[p], weight));
    }
    let moving = moving.into_iter().fold(0.0, f64::max);
    let (mut lowered, mut raised) = (center, center);
    lowered[0] = (center[0] - moving).next_down();
    raised[0] = (center[0] + moving).next_up();
    for (k, &p) in MOMENT.iter().enumerate() {
        lowered[p] = (center[p] - turning[k]).next_down();
        raised[p] = (center[p] + turning[k]).next_up();
    }
    if !(lowered[0] >= KEPT * center[0]) {
        lowered.fill(0.0);
    }
    (lowered, raised)
}

/// A matrix of intervals, row-major n x n, held in place.
pub type IntervalMatrix = ArrayVec<Interval, { MAX_JOINTS * MAX_JOINTS }>;

/// Adds the transmission inertias of `theta` to the mass matrix of the links alone.
pub fn with_transmission<const N: usize, R: Rounding>(
    robot: &Arm,
    theta: &[f64],
    links: &[Affine<N, R>],
) -> IntervalMatrix {
    let n = robot.dof();
    let mut out: IntervalMatrix =
        links.iter().map(|m| Interval::new(extent::lower(m), extent::upper(m))).collect();
    for j in 0..n {
        out[n * j + j] = out[n * j + j] + Interval::constant(theta[robot.joint_index(j).armature]);
    }
    out
}

/// Smallest g known with diag(`floor`) <= g M(q; theta) for the positions that `space` is placed at and the set of `between`:
/// at most 1 where the floor is one. Where the transmissions alone make it one the links, positive semidefinite, are not looked at.
pub fn floor_factor<const N: usize, R: Rounding>(
    robot: &Arm,
    between: &MassBounds,
    floor: &[f64],
    (space, mass): (&mut RecursionStorage<Affine<N, R>>, &mut MassStorage<Affine<N, R>>),
) -> f64 {
    let n = robot.dof();
    let own = |j: usize| between.below[robot.joint_index(j).armature];
    if (0..n).all(|j| floor[j] <= own(j)) {
        return (0..n).map(|j| floor[j] / own(j)).fold(0.0, f64::max).min(1.0);
    }
    space.fill_theta(between.below.iter().map(|&x| Affine::constant(x)));
    let mass = with_transmission(robot, &between.below, mass.links(robot, &space.motion, &space.theta));
    let entry = |k: usize| if k.is_multiple_of(n + 1) { floor[k / n] } else { 0.0 };
    let floor: IntervalMatrix = (0..n * n).map(|k| Interval::constant(entry(k))).collect();
    least_factor(&floor, &mass, n)
}

/// Whether every symmetric matrix with these entries (row-major n x n) is positive definite.
pub fn definite(entries: &[Interval], n: usize) -> bool {
    let at = |i: usize, j: usize| entries[n * i.max(j) + i.min(j)];
    let size: Joints<f64> = (0..n).map(|i| at(i, i).midpoint()).collect();
    if !size.iter().all(|&s| s > 0.0 && s.is_finite()) {
        return false;
    }
    let mut left: IntervalMatrix =
        (0..n * n).map(|k| Interval::constant(at(k / n, k % n).midpoint())).collect();
    for i in 0..n {
        let share = |j: usize| if i == j { 1.0 } else { div_up(size[i].sqrt(), size[j].sqrt()) };
        let taken = sum_up((0..n).map(|j| mul_up(at(i, j).radius(), share(j))));
        left[n * i + i] = left[n * i + i] - Interval::constant(taken);
    }
    for k in 0..n {
        let pivot = left[n * k + k];
        if !(pivot.lower() > 0.0) {
            return false;
        }
        for i in k + 1..n {
            let factor = left[n * i + k] / pivot;
            for j in k + 1..=i {
                left[n * i + j] = left[n * i + j] - factor * left[n * j + k];
            }
        }
    }
    true
}

/// The least factor g of a geometric sequence for which g `large` - `small` is proven to be positive definite; infinite if
/// none is. Entries row-major n x n.
pub fn least_factor(small: &[Interval], large: &[Interval], n: usize) -> f64 {
    let proven = |power: i32| {
        let factor = Interval::constant(STEP.powi(power));
        let rest: IntervalMatrix = small.iter().zip(large).map(|(s, l)| factor * *l - *s).collect();
        definite(&rest, n)
    };
    if !proven(POWERS) {
        return f64::INFINITY;
    }
    let (mut fails, mut holds) = (-POWERS - 1, POWERS);
    while holds - fails > 1 {
        let middle = fails + (holds - fails) / 2;
        if proven(middle) { holds = middle } else { fails = middle }
    }
    STEP.powi(holds)
}

#[cfg(test)]
mod tests;
