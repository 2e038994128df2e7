//! Rows of 1 - F = M_0 M^-1 from two bodies between which every body of the set is, in the order of definite matrices.
//!
//! # Assumed
//! The states of the cell; parameters in the set, every body physically consistent (A1).
//!
//! # Proven
//! *Order.* At every position, M is between the mass matrices of the lowered and of the raised bodies of the set ([`crate::reach::mass`]). Let L be any
//! triangular matrix of floats without a zero on its diagonal, and T = L' M_below L, enclosed over the cell. With
//! l_i at most T_ii - sum_{k != i} |T_ik|, T - diag(l) is diagonally dominant, so T >= diag(l); and if all l_i > 0 then
//! M^-1 <= M_below^-1 <= B = L diag(1/l) L'. In the same way M^-1 >= A = K diag(1/m) K', with m_i at least the sums of |T_ik| for K' M_above K.
//! A and B are constants over the cell.
//!
//! *Pairs.* Let C = (A + B) / 2 and D = (B - A) / 2, so that E = M^-1 - C is between -D and D. Then |y'Ex| <= sqrt(y'Dy x'Dx): 4 y'Ex is
//! (y + x)'E(y + x) - (y - x)'E(y - x), no more than 2 y'Dy + 2 x'Dx, and so it is for s y and x / s, of which the best s gives the root.
//!
//! *Rows.* Row j of 1 - F times x is y'M^-1 x with y = M_0 e_j at the desired position. So 1 - F_jj is within sqrt(y'Dy D_jj) of
//! (C y)_j. And d = u_j - rho_j outweighs all x with |x_i| <= b_i, i != j, and x_j = -d, if f(d) <= 0 for
//!
//! ```text
//! f(d) = sum_{i != j} |(C y)_i| b_i + besides + sqrt(y'Dy) sqrt(D_jj d^2 + 2 d sum_{i != j} |D_ji| b_i + sum_{i, k != j} |D_ik| b_i b_k) - (C y)_j d.
//! ```
//!
//! f is convex, and falls in the end where 1 - F_jj > 0; so if f(d) <= 0 it is so for all larger d. What counts here is that the others push
//! together: their worst signs for one body, not the worst body for each.

use crate::enclose::{Affine, Interval, Rounding};
use crate::linear::triangular::cholesky;
use crate::reach::cell::Joints;
use crate::reach::prepared_set::PreparedSet;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::matrix::BoundMatrix;
use super::workspace::MomentumWorkspace;

/// A first guess is doubled at most so often to find a torque that is enough: from a newton metre to far beyond any drive.
const DOUBLINGS: usize = 40;
/// Steps down from a torque that is enough. Each takes away most of what is too much.
const STEPS: usize = 30;
/// A step that takes away less than this is the last: there is little more to be had.
const SETTLED: f64 = 1.0 - 1e-6;

/// Rows of 1 - F over a cell.
#[derive(Debug, Clone)]
pub(super) struct Ordered {
    /// Least and largest 1 - F_jj.
    pub reaction: Joints<(f64, f64)>,
    /// Rows C y: least (C y)_j on the diagonal, bounds of |(C y)_i| beside it.
    row: BoundMatrix,
    /// Bounds of sqrt(y'Dy).
    reach: Joints<f64>,
    /// Bounds of |D_ik|.
    half: BoundMatrix,
}

impl Ordered {
    /// Bounds over a cell; `None` where there are none. Expects `moved` of the workspace placed at the positions of the tube, and M_0 in `nominal`.
    pub fn new<const N: usize, R: Rounding>(
        robot: &Arm,
        set: &PreparedSet,
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<Self> {
        let n = robot.dof();
        let between = set.between();
        let upper = above_inverse(space.mass_there(robot, &between.below), n)?;
        let lower = below_inverse(space.mass_there(robot, &between.above), n)?;
        let half = |b: &Interval| Interval::constant(0.5) * *b;
        let middle: Vec<Interval> = upper.iter().zip(&lower).map(|(b, a)| half(&(*b + *a))).collect();
        let spread: Vec<Interval> = upper.iter().zip(&lower).map(|(b, a)| half(&(*b - *a))).collect();
        Self::from_rows(n, &space.nominal, &middle, &spread)
    }

    fn from_rows<const N: usize, R: Rounding>(
        n: usize,
        nominal: &[Affine<N, R>],
        middle: &[Interval],
        spread: &[Interval],
    ) -> Option<Self> {
        let zero = Interval::constant(0.0);
        let dot = |matrix: &[Interval], i: usize, y: &[Interval]| {
            matrix[n * i..n * (i + 1)].iter().zip(y).fold(zero, |sum, (m, y)| sum + *m * *y)
        };
        let (mut row, mut half) = (BoundMatrix::zero(n), BoundMatrix::zero(n));
        let (mut reach, mut reaction) = (Joints::new(), Joints::new());
        for j in 0..n {
            let y: Joints<Interval> = nominal[n * j..n * (j + 1)].iter().map(Affine::interval).collect();
            let square = (0..n).fold(zero, |sum, i| sum + y[i] * dot(spread, i, &y));
            let reached = square.upper().max(0.0).sqrt().next_up();
            for i in 0..n {
                half.set(j, i, spread[n * j + i].sup_abs());
                let entry = dot(middle, i, &y);
                row.set(j, i, if i == j { entry.lower() } else { entry.sup_abs() });
                if i == j {
                    let off = mul_up(reached, half.at(j, j).sqrt().next_up());
                    reaction.push(((entry.lower() - off).next_down(), add_up(entry.upper(), off)));
                }
            }
            reach.push(reached);
        }
        let some = reaction.iter().all(|(least, most): &(f64, f64)| *least > 0.0 && most.is_finite());
        some.then_some(Self { reaction, row, reach, half })
    }

    /// Bound of |F_ji| for another joint i.
    pub fn across(&self, j: usize, i: usize) -> f64 {
        add_up(self.row.at(j, i), mul_up(self.reach[j], self.half.at(i, i).sqrt().next_up()))
    }

    /// The least d known with (1 - F_jj) d >= |sum_{i != j} F_ji x_i| + `besides` for all |x_i| <= `pushed`_i; infinite if none is.
    ///
    /// With g(d) = (f(d) + (C y)_j d) / (C y)_j, which does not fall, f(d) <= 0 is g(d) <= d; and then g(g(d)) <= g(d).
    pub fn outweighing(&self, j: usize, pushed: &[f64], besides: f64) -> f64 {
        let others = || (0..pushed.len()).filter(|&i| i != j);
        let still = sum_up(others().map(|i| mul_up(self.row.at(j, i), pushed[i])).chain([besides]));
        let mixed = sum_up(others().map(|i| mul_up(self.half.at(j, i), pushed[i])));
        let square = sum_up(others().map(|i| {
            let along = sum_up(others().map(|k| mul_up(self.half.at(i, k), pushed[k])));
            mul_up(pushed[i], along)
        }));
        let g = |d: f64| {
            let own = mul_up(d, add_up(mul_up(self.half.at(j, j), d), mul_up(2.0, mixed)));
            let pushed = mul_up(self.reach[j], add_up(own, square).sqrt().next_up());
            div_up(add_up(still, pushed), self.row.at(j, j))
        };
        let mut d = g(0.0);
        for _ in 0..DOUBLINGS {
            if g(d) <= d {
                for _ in 0..STEPS {
                    let less = g(d);
                    if !(less < SETTLED * d) {
                        return less;
                    }
                    d = less;
                }
                return d;
            }
            d *= 2.0;
        }
        f64::INFINITY
    }
}

/// Bounds of |M^-1 d|, entry by entry, for all |d_i| <= `pull`_i and all M with M_below <= M <= M_above, matrices of which these are enclosures at one position; `None`
/// where there are none. By the pairs of the module, with a unit vector for y: |C d|_j + sqrt(D_jj d'Dd).
pub(in crate::reach) fn inverse_times<const N: usize, R: Rounding>(
    (below, above): (&[Affine<N, R>], &[Affine<N, R>]),
    pull: &[f64],
) -> Option<Joints<f64>> {
    let n = pull.len();
    let (upper, lower) = (above_inverse(below, n)?, below_inverse(above, n)?);
    let half = Interval::constant(0.5);
    let middle = |at: usize| (half * (upper[at] + lower[at])).sup_abs();
    let spread = |at: usize| half * (upper[at] - lower[at]);
    let times = |j: usize, of: &dyn Fn(usize) -> f64| sum_up((0..n).map(|i| mul_up(of(n * j + i), pull[i])));
    let square = sum_up((0..n).map(|j| mul_up(pull[j], times(j, &|at| spread(at).sup_abs()))));
    let entry = |j: usize| {
        let off = mul_up(spread(n * j + j).upper().max(0.0), square).sqrt().next_up();
        add_up(times(j, &middle), off)
    };
    Some((0..n).map(entry).collect())
}

/// B with M^-1 <= B for every matrix M in `mass`.
fn above_inverse<const N: usize, R: Rounding>(mass: &[Affine<N, R>], n: usize) -> Option<Vec<Interval>> {
    inverse_bound(mass, n, |own, others| (own.lower() - others).next_down())
}

/// A with A <= M^-1 for every matrix M in `mass`.
fn below_inverse<const N: usize, R: Rounding>(mass: &[Affine<N, R>], n: usize) -> Option<Vec<Interval>> {
    inverse_bound(mass, n, |own, others| add_up(own.upper(), others))
}

/// L diag(1/b) L' with b_i = `bound`(T_ii, sum_{k != i} |T_ik|) for T = L' `mass` L, row-major, and L that makes T about the identity in the middle of
/// the cell; `None` unless every b_i is above zero.
fn inverse_bound<const N: usize, R: Rounding>(
    mass: &[Affine<N, R>],
    n: usize,
    bound: impl Fn(&Affine<N, R>, f64) -> f64,
) -> Option<Vec<Interval>> {
    let l = inverse_factor(mass, n)?;
    // M L, then L' (M L); L is upper triangular.
    let zero = Affine::zero;
    let half: Vec<Affine<N, R>> = (0..n * n)
        .map(|at| (0..=at % n).fold(zero(), |sum, r| sum + mass[n * (at / n) + r].scale(l[n * r + at % n])))
        .collect();
    let entry = |i: usize, k: usize| -> Affine<N, R> {
        (0..=i).fold(zero(), |sum, r| sum + half[n * r + k].scale(l[n * r + i]))
    };
    let (mut own, mut others) = (Joints::new(), vec![0.0; n]);
    for i in 0..n {
        own.push(entry(i, i));
        for k in i + 1..n {
            let off = entry(i, k).sup_abs();
            others[i] = add_up(others[i], off);
            others[k] = add_up(others[k], off);
        }
    }
    let bounds: Joints<f64> = own.iter().zip(&others).map(|(own, others)| bound(own, *others)).collect();
    if !bounds.iter().all(|b| *b > 0.0 && b.is_finite()) {
        return None;
    }
    let constant = |r: usize, c: usize| Interval::constant(l[n * r + c]);
    let of = |at: usize| {
        let (i, k) = (at / n, at % n);
        (i.max(k)..n).fold(Interval::constant(0.0), |sum, c| {
            sum + constant(i, c) * constant(k, c) / Interval::constant(bounds[c])
        })
    };
    Some((0..n * n).map(of).collect())
}

/// An upper triangular L, row-major, without zeros on its diagonal, with L' M L about 1 for the centres of the forms of M.
fn inverse_factor<const N: usize, R: Rounding>(mass: &[Affine<N, R>], n: usize) -> Option<Vec<f64>> {
    let mut factor: Vec<f64> = mass.iter().map(Affine::center).collect();
    if !cholesky(&mut factor, n) {
        return None;
    }
    // The columns solve U l = e with U the factor's transpose, upper triangular: U_rk is entry r of the factor's column k, for k >= r.
    let mut inverse = vec![0.0; n * n];
    for c in 0..n {
        for r in (0..=c).rev() {
            let sum: f64 = (r + 1..=c).map(|k| factor[n * r + k] * inverse[n * k + c]).sum();
            inverse[n * r + c] = (f64::from(u8::from(r == c)) - sum) / factor[n * r + r];
        }
    }
    let usable = inverse.iter().all(|x| x.is_finite()) && (0..n).all(|c| inverse[n * c + c] > 0.0);
    usable.then_some(inverse)
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix2, SymmetricEigen};

    use super::*;
    use crate::enclose::Counted;

    /// Entries beside the diagonal that may be anything within 0.4 of none: the worst matrix meets either bound.
    #[test]
    fn bounds_of_the_inverse_are_met_by_the_worst_matrix() {
        let (one, off) = (Affine::<4, Counted>::constant(1.0), Affine::symbol(0, 0.4));
        let mass = [one, off, off, one];
        let (upper, lower) = (above_inverse(&mass, 2).unwrap(), below_inverse(&mass, 2).unwrap());
        let matrix = |x: &[Interval]| Matrix2::from_fn(|i, k| x[2 * i + k].midpoint());
        let eigenvalues = |x: Matrix2<f64>| SymmetricEigen::new(x).eigenvalues;
        for s in [-0.4, -0.1, 0.0, 0.3, 0.4] {
            let inverse = Matrix2::new(1.0, s, s, 1.0).try_inverse().unwrap();
            let (below, above) =
                (eigenvalues(inverse - matrix(&lower)).min(), eigenvalues(matrix(&upper) - inverse).min());
            assert!(below >= -1e-12 && above >= -1e-12, "{s}: {below} {above}");
            if f64::abs(s) == 0.4 {
                assert!(below < 1e-3 && above < 1e-3, "{s}: {below} {above}");
            }
        }
    }

    #[test]
    fn what_may_be_singular_has_no_bound() {
        let (one, off) = (Affine::<4, Counted>::constant(1.0), Affine::symbol(0, 1.0));
        for mass in [[one, off, off, one], [one, one, one, one]] {
            assert!(above_inverse(&mass, 2).is_none());
        }
    }
}
