//! F = (M - M_0) M^-1 over a cell: what the uncertainty of the mass matrix makes of the torques.
//!
//! # Assumed
//! The states of the cell, parameters in the set.
//!
//! # Proven
//! M - M_0, with M at the true position and M_0 at the desired one, times X is enclosed column by column: momentum regressors at dq = X_k of both
//! positions, whose difference times theta_0 is one form, and |y_p| g_p besides for each parameter. G = (M - M_0) M_0^-1 is that times
//! (1 + H)^-1 ([`super::cell`]). With |G| <= Q and all powers of Q summed in S, F = G (1 + G)^-1 = G - G F has |F| <= Q S, and F_jj is
//! within (Q Q S)_jj of G_jj.

use crate::enclose::{Affine, Rounding};
use crate::inertia::{ARMATURE, INERTIAL};
use crate::reach::cell::Joints;
use crate::reach::prepared_set::PreparedSet;
use crate::reach::upward::{add_up, mul_up};
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::cell::{MomentumCell, momentum_of_column};
use super::matrix::BoundMatrix;
use super::workspace::MomentumWorkspace;

/// What a unit of torque does to the momentum errors.
pub(super) struct Coupling {
    /// Bounds of |F_ij|.
    pub across: BoundMatrix,
    /// Least and largest 1 - F_jj.
    pub reaction: Joints<(f64, f64)>,
}

/// Bounds over the cell; `None` if M may be too far from M_0 for any. Leaves `moved` of the workspace placed at the positions of the tube.
pub(super) fn coupling<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Option<Coupling> {
    let n = robot.dof();
    let desired: Joints<Affine<N, R>> = cell.desired.iter().map(|d| d.q).collect();
    space.moved.place(robot, &cell.q);
    space.desired.place(robot, &desired);
    let (mut difference, mut own) = (BoundMatrix::zero(n), Joints::new());
    for k in 0..n {
        let at = (&mut space.moved, &mut space.moved_regressor);
        let y = momentum_of_column(robot, &cell.inverse, k, at);
        let at = (&mut space.desired, &mut space.desired_regressor);
        let y0 = momentum_of_column(robot, &cell.inverse, k, at);
        for j in 0..n {
            let row = INERTIAL * n * j..INERTIAL * n * (j + 1);
            let (moved, spread) = changed(set, (&y[row.clone()], &y0[row]));
            let transmission = mul_up(set.joint(j).1[ARMATURE], cell.inverse[n * j + k].abs());
            let spread = add_up(spread, transmission);
            if j == k {
                own.push((-add_up(-moved.lower(), spread), add_up(moved.upper(), spread)));
            }
            difference.set(j, k, add_up(moved.sup_abs(), spread));
        }
    }
    from_difference(&difference, &own, &cell.near)
}

/// (y - y0) theta_0 as a form, and what the set leaves open of y theta: sum |y_p| g_p.
fn changed<const N: usize, R: Rounding>(
    set: &PreparedSet,
    (y, y0): (&[Affine<N, R>], &[Affine<N, R>]),
) -> (Affine<N, R>, f64) {
    let columns = set.center().iter().zip(set.radius());
    let start = (Affine::zero(), 0.0);
    y.iter().zip(y0).zip(columns).fold(start, |(moved, spread), ((y, y0), (c, g))| {
        (moved + (*y - *y0).scale(*c), add_up(spread, mul_up(y.sup_abs(), *g)))
    })
}

/// F from bounds of (M - M_0) X, the ranges of its diagonal, and bounds of (1 + H)^-1.
fn from_difference(difference: &BoundMatrix, own: &[(f64, f64)], near: &BoundMatrix) -> Option<Coupling> {
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
    reaction.iter().all(|(least, _)| *least > 0.0).then_some(Coupling { across, reaction })
}
