//! F = (M - M_0) M^-1 over a cell: what the uncertainty of the mass matrix makes of the torques.
//!
//! # Assumed
//! The states of the cell, parameters in the set.
//!
//! # Proven
//! *Box.* M - M_0, with M at the true position and M_0 at the desired one, times X: mass matrices of composite bodies at both positions,
//! whose difference times X is one form each, and |y_p| g_p besides for each parameter, with momentum regressors at dq = X_k. G = (M - M_0) M_0^-1
//! is that times (1 + H)^-1 ([`super::cell`]). With |G| <= Q and all powers of Q summed in S, F = G (1 + G)^-1 = G - G F has |F| <= Q S,
//! and F_jj is within (Q Q S)_jj of G_jj.
//!
//! *Order.* The box has corners that no body has. [`super::order`] bounds rows of 1 - F by bodies alone. Both hold, so the better one of
//! each joint is taken, and one is enough.

use crate::enclose::Rounding;
use crate::inertia::ARMATURE;
use crate::reach::cell::Joints;
use crate::reach::prepared_set::PreparedSet;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::cell::{MomentumCell, entry_times};
use super::matrix::BoundMatrix;
use super::order::Ordered;
use super::workspace::MomentumWorkspace;
use crate::enclose::Affine;

/// What a unit of torque does to the momentum errors.
#[derive(Debug, Clone)]
pub(super) struct Coupling {
    /// By the box, if that is narrow enough for any bound.
    pub boxed: Option<Boxed>,
    /// By the order of mass matrices, if that gives any bound.
    pub ordered: Option<Ordered>,
    /// Least and largest 1 - F_jj.
    pub reaction: Joints<(f64, f64)>,
}

/// Entry by entry, from the set's box.
#[derive(Debug, Clone)]
pub(super) struct Boxed {
    /// Bounds of |F_ij|.
    pub across: BoundMatrix,
    /// Least and largest 1 - F_jj.
    pub reaction: Joints<(f64, f64)>,
}

impl Coupling {
    /// The least d = u_j - rho_j known with (1 - F_jj) d >= |sum_{i != j} F_ji x_i| + `besides` for all |x_i| <= `pushed`_i.
    pub fn outweighing(&self, j: usize, pushed: &[f64], besides: f64) -> f64 {
        let boxed = self.boxed.as_ref().map_or(f64::INFINITY, |boxed| {
            let others = (0..pushed.len()).filter(|&i| i != j);
            let others = others.map(|i| mul_up(boxed.across.at(j, i), pushed[i]));
            div_up(sum_up(others.chain([besides])), self.reaction[j].0)
        });
        let ordered = self.ordered.as_ref();
        boxed.min(ordered.map_or(f64::INFINITY, |ordered| ordered.outweighing(j, pushed, besides)))
    }
}

impl Coupling {
    /// Bounds of the entries of 1 - F, of either sign.
    pub fn entries(&self) -> BoundMatrix {
        let n = self.reaction.len();
        let mut bounds = BoundMatrix::zero(n);
        for j in 0..n {
            for i in 0..n {
                let boxed = self.boxed.as_ref().map_or(f64::INFINITY, |boxed| boxed.across.at(j, i));
                let ordered = self.ordered.as_ref().map_or(f64::INFINITY, |ordered| ordered.across(j, i));
                bounds.set(j, i, if i == j { self.reaction[j].1 } else { boxed.min(ordered) });
            }
        }
        bounds
    }
}

/// Bounds over the cell; `None` if M may be too far from M_0 for any. Leaves `moved` of the workspace placed at the positions of the tube.
pub(super) fn coupling<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Option<Coupling> {
    space.moved.place(robot, &cell.q);
    let boxed = boxed(robot, set, cell, space);
    let ordered = Ordered::new(robot, set, space);
    let of = |j: usize| {
        let (a, b) = (boxed.as_ref().map(|b| b.reaction[j]), ordered.as_ref().map(|o| o.reaction[j]));
        match (a, b) {
            (Some(a), Some(b)) => Some((a.0.max(b.0), a.1.min(b.1))),
            (a, b) => a.or(b),
        }
    };
    let reaction: Option<Joints<(f64, f64)>> = (0..robot.dof()).map(of).collect();
    Some(Coupling { reaction: reaction?, boxed, ordered })
}

/// Bounds from the set's box. Expects `moved` of the workspace placed at the positions of the tube.
fn boxed<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Option<Boxed> {
    let n = robot.dof();
    let mut difference = left_by_box(robot, set, cell, space);
    let mut change: Vec<Affine<N, R>> = space.mass_there(robot, set.center()).to_vec();
    change
        .iter_mut()
        .zip(&space.nominal)
        .for_each(|(moved, nominal)| *moved = *moved - nominal.with_symbols());
    let mut own = Joints::new();
    for j in 0..n {
        for k in 0..n {
            let moved = entry_times(&change, &cell.along.inverse, (n, j, k));
            let transmission = mul_up(set.joint(j).1[ARMATURE], cell.along.inverse[n * j + k].abs());
            let spread = add_up(difference.at(j, k), transmission);
            if j == k {
                own.push((-add_up(-moved.lower(), spread), add_up(moved.upper(), spread)));
            }
            difference.set(j, k, add_up(moved.sup_abs(), spread));
        }
    }
    from_difference(&difference, &own, &cell.along.near)
}

/// What the box leaves of the links' part of M X: sums of |y_p| g_p over the momentum regressors.
fn left_by_box<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> BoundMatrix {
    let n = robot.dof();
    let MomentumWorkspace { moved, units, .. } = space;
    let radius = set.radius().as_chunks::<{ crate::inertia::INERTIAL }>().0;
    let mut left = BoundMatrix::zero(n);
    units.place(robot, moved);
    for k in 0..n {
        let column: Joints<Affine<N, R>> =
            (0..n).map(|i| Affine::constant(cell.along.inverse[n * i + k])).collect();
        moved.sweep_velocities_there(robot, &column);
        units.momentum(moved, |j, i, ten| {
            let known = ten.iter().zip(&radius[i]).filter(|(_, g)| **g > 0.0);
            left.set(j, k, known.fold(left.at(j, k), |sum, (y, g)| add_up(sum, mul_up(y.sup_abs(), *g))));
        });
    }
    left
}

/// F from bounds of (M - M_0) X, the ranges of its diagonal, and bounds of (1 + H)^-1.
fn from_difference(difference: &BoundMatrix, own: &[(f64, f64)], near: &BoundMatrix) -> Option<Boxed> {
    let n = difference.size();
    let relative = difference.times(near);
    let across = relative.times(&relative.neumann()?);
    let again = relative.times(&across);
    // What (1 + H)^-1 adds beside the identity; S is at least 1 on its diagonal.
    let besides = |j: usize| {
        let others = (0..n).map(|k| {
            let off = if k == j { (near.at(k, j) - 1.0).next_up().max(0.0) } else { near.at(k, j) };
            mul_up(difference.at(j, k), off)
        });
        others.fold(again.at(j, j), add_up)
    };
    let reaction = (0..n).map(|j| {
        let (lower, upper) = own[j];
        let off = besides(j);
        ((1.0 - add_up(upper, off)).next_down(), (1.0 - (lower - off).next_down()).next_up())
    });
    let reaction: Joints<(f64, f64)> = reaction.collect();
    reaction.iter().all(|(least, _)| *least > 0.0).then_some(Boxed { across, reaction })
}
