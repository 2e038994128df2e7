//! Bounds on energy, mass matrix and Coriolis force over a cell, for the constants of the tube.
//!
//! Assumed: the states of [`super::cell`], parameters within the set, the floor A of [`super::tube`]. Proven: the bounds that each
//! function names, for all of these at once. Mass matrix and slack by interval arithmetic: its conservatism is no loss there.

use crate::dynamics::{MassStorage, RecursionStorage};
use crate::enclose::{Interval, Rounding};
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};

use super::cell::{Cell, Joints};
use super::prepared_set::PreparedSet;
use super::upward::{add_up, div_up, mul_up, sum_up};

/// How large M(q; theta) is relative to the weights W, transmission inertia included, over the cell and the set: smallest known sigma
/// with r'Mr <= sigma z^2, z^2 = sum W_j r_j^2, and for each joint s_j <= sigma with (W_j r_j^2 / z^2) r'Mr <= s_j z^2, for all r.
///
/// D^-1/2 M D^-1/2 with D = diag(W) is symmetric, so its largest eigenvalue is at most the spectral radius of the matrix
/// B of entrywise bounds, and by Collatz and Wielandt that is at most max_i (B x)_i / x_i for any positive x. With
/// y = D^-1/2 x this is max_i sum_j |M_ij| y_j / (W_i y_i). The y comes from a few power iterations.
///
/// For s_j let p = W_j r_j^2 / z^2, m = |M_jj| / W_j and c^2 = sum of M_ij^2 / (W_i W_j) over the others. By Cauchy and Schwarz r'Mr / z^2
/// <= p m + 2 sqrt(p (1 - p)) c + (1 - p) sigma <= p a + (1 - p) b with a = m + t c and b = sigma + c / t, whatever t > 0. Times p that
/// is a parabola, on [0, 1] at most a if b <= 2 a, else at most b^2 / (4 (b - a)).
pub fn relative_mass<const N: usize, R: Rounding>(
    robot: &Arm,
    prepared: &PreparedSet,
    cell: &Cell<N, R>,
    weights: &[f64],
    (space, mass): (&mut RecursionStorage<Interval>, &mut MassStorage<Interval>),
) -> (f64, Joints<f64>) {
    let n = robot.dof();
    let mass = mass_range(robot, prepared, cell, (space, mass));
    let bound = |i: usize, j: usize| mass[n * i + j].sup_abs();
    let row = |y: &[f64], i: usize| div_up(sum_up((0..n).map(|j| mul_up(bound(i, j), y[j]))), weights[i]);
    let mut y: Joints<f64> = (0..n).map(|_| 1.0).collect();
    for _ in 0..20 {
        let next: Joints<f64> = (0..n).map(|i| row(&y, i)).collect();
        let largest = next.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        // Bounded away from zero: joints that barely couple must not blow the quotient up.
        y = next.iter().map(|v| (v / largest).max(1e-3)).collect();
    }
    let sigma = (0..n).map(|i| div_up(row(&y, i), y[i])).fold(0.0, f64::max);
    let share = |j: usize| {
        let coupled = |i: usize| div_up(mul_up(bound(i, j), bound(i, j)), mul_up(weights[i], weights[j]));
        let c = sum_up((0..n).filter(|&i| i != j).map(coupled)).sqrt().next_up();
        let at = |t: f64| {
            let (a, b) = (add_up(div_up(bound(j, j), weights[j]), mul_up(t, c)), add_up(sigma, div_up(c, t)));
            if b <= 2.0 * a { a } else { div_up(mul_up(b, b), 4.0 * (b - a).next_down()) }
        };
        [0.25, 0.5, 1.0].into_iter().map(at).fold(sigma, f64::min)
    };
    (sigma, (0..n).map(share).collect())
}

/// Upper bounds of M_jj(q; theta), transmission inertia included, over the cell and the set, kg m^2 (kg).
pub fn mass_diagonal<const N: usize, R: Rounding>(
    robot: &Arm,
    prepared: &PreparedSet,
    cell: &Cell<N, R>,
    space: (&mut RecursionStorage<Interval>, &mut MassStorage<Interval>),
) -> Joints<f64> {
    let n = robot.dof();
    let mass = mass_range(robot, prepared, cell, space);
    (0..n).map(|j| mass[n * j + j].sup_abs()).collect()
}

/// M(q; theta) over the cell and the set, row by row.
fn mass_range<'a, const N: usize, R: Rounding>(
    robot: &Arm,
    prepared: &PreparedSet,
    cell: &Cell<N, R>,
    (space, mass): (&mut RecursionStorage<Interval>, &'a mut MassStorage<Interval>),
) -> &'a [Interval] {
    let n = robot.dof();
    let q: Joints<Interval> = cell.q.iter().map(|x| x.interval()).collect();
    space.motion.place(robot, &q);
    let mass = mass.links(robot, &space.motion, prepared.range());
    for j in 0..n {
        mass[n * j + j] = mass[n * j + j] + prepared.range()[robot.joint_index(j).armature];
    }
    mass
}

/// Upper bounds (N m) over the cell and the set, for all y with sum A_j y_j^2 <= 1: of |C(q, y) dq_a + F_v y|_i, what Y theta + F_v dq
/// changes by where dq does by y, and of |C(q, dq) y|_i. Both are linear in y, entry i some sum_j G_ij y_j, so at most
/// sqrt(sum_j G_ij^2 / A_j) (Cauchy-Schwarz); column j of G is inverse dynamics with e_j for y, in the first with the joint's own F_v.
/// All of q, dq, dq_a and theta are enclosed by numbers of one kind, of which `sup_abs` bounds the absolute value.
pub fn velocity_slopes<T: Scalar>(
    robot: &Arm,
    [q, dq, dqa]: [&[T]; 3],
    theta: impl Iterator<Item = T>,
    (floor, sup_abs): (&[f64], impl Fn(&T) -> f64),
    space: &mut RecursionStorage<T>,
) -> [Joints<f64>; 2] {
    let n = robot.dof();
    let zero: Joints<T> = (0..n).map(|_| T::zero()).collect();
    let none: Joints<f64> = (0..n).map(|_| 0.0).collect();
    let mut squares = [none.clone(), none];
    space.fill_theta(theta);
    for j in 0..n {
        let mut unit = zero.clone();
        unit[j] = T::constant(1.0);
        let own = [space.theta[robot.joint_index(j).viscous], T::zero()];
        let pairs: [(&[T], &[T]); 2] = [(&unit, dqa), (dq, &unit)];
        for (((turning, carried), own), squares) in pairs.into_iter().zip(own).zip(&mut squares) {
            space.motion.sweep_weightless(robot, q, turning, carried, &zero);
            space.inverse_dynamics(robot);
            space.torque[j] = space.torque[j] + own;
            for (sum, slope) in squares.iter_mut().zip(&space.torque) {
                *sum = add_up(*sum, div_up(mul_up(sup_abs(slope), sup_abs(slope)), floor[j]));
            }
        }
    }
    squares.map(|squares| squares.iter().map(|sum| sum.sqrt().next_up()).collect())
}

/// Upper bound of |r'M(q)r/2 at the true state - the same at the measured state| over the cell (J), for V <= `level` (J),
/// sigma with r'Mr <= sigma sum A_j r_j^2 over the cell and A_j = `floor`.
///
/// Let q^, r^ = r + delta be measured. V(q^, r) - V(q, r) is at most nu_q, the change of V along the errors of q, by the mean value
/// theorem as the slope of one dual number. And r^'M(q^)r^/2 - r'M(q^)r/2 = delta'M(q^)r + delta'M(q^)delta/2, at most
/// |delta| |r| + |delta|^2/2 in the norm of M(q^), where |r|^2 <= 2 (level + nu_q) and |delta|^2 <= sigma sum A_j delta_j^2.
pub fn energy_slack<const N: usize, R: Rounding>(
    robot: &Arm,
    prepared: &PreparedSet,
    cell: &Cell<N, R>,
    (floor, sigma): (&[f64], f64),
    level: f64,
    space: &mut RecursionStorage<Dual<Interval, 1>>,
) -> f64 {
    let by_position = position_slack(robot, prepared, cell, space);
    let weighted = floor.iter().zip(&cell.deviation).map(|(&a, d)| mul_up(a, mul_up(d.r, d.r)));
    let delta_squared = mul_up(sigma, sum_up(weighted));
    let r = mul_up(2.0, sum_up([level, by_position])).sqrt().next_up();
    let delta = delta_squared.sqrt().next_up();
    sum_up([by_position, mul_up(delta, r), mul_up(0.5, delta_squared)])
}

/// Upper bound of the change of r'M(q)r/2 along the errors of q (J).
fn position_slack<const N: usize, R: Rounding>(
    robot: &Arm,
    prepared: &PreparedSet,
    cell: &Cell<N, R>,
    space: &mut RecursionStorage<Dual<Interval, 1>>,
) -> f64 {
    type Change = Dual<Interval, 1>;
    let n = robot.dof();
    let constant = |x: Interval| Dual::new(x, [Interval::zero()]);
    let change = |j: usize| [Interval::new(-cell.deviation[j].q, cell.deviation[j].q)];
    let q: Joints<Change> = (0..n).map(|j| Dual::new(cell.q[j].interval(), change(j))).collect();
    let r: Joints<Change> = cell.r.iter().map(|r| constant(r.interval())).collect();
    let zero: Joints<Change> = (0..n).map(|_| Change::zero()).collect();
    space.motion.sweep_weightless(robot, &q, &zero, &zero, &r);
    space.fill_theta(prepared.range().iter().copied().map(constant));
    space.inverse_dynamics(robot);
    // Transmission inertia does not depend on q.
    let energy = (0..n).fold(Change::zero(), |sum, j| sum + r[j] * space.torque[j]);
    energy.scale(0.5).slope[0].sup_abs()
}

#[cfg(test)]
mod tests;
