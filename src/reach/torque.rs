//! Input torques over a cell, and everything that the tube's proof needs to know about them.
//!
//! # Assumed
//! The tube (see [`super::tube`]) with the constants that it stores; all theta in the set.
//!
//! # Proven
//! * *Nominal torque*: Y theta_0 + friction(theta_0) is affine in the cell's symbols, evaluated at every measured state.
//! * *Disturbance bound*: rho_j <= sum_p sup|Y_jp| g_p + friction part + D_j, because |Y (theta - theta_0)| is linear in theta and
//!   theta_0 + g\[-1,1\] contains the set. Suprema are taken over the tube's ellipsoids ([`super::extent`]).
//! * *Correlations*: what the law makes of strips is bounded in the same way, see [`super::strips`].
//! * *Arithmetic*: what the controller computes differs from these by at most [`RoundoffBounds`], which is added.
//! * *Drift*: d/dt of Y theta + I_a ddq_a + F_v dq along the motion, for every theta of the set, by dual numbers over affine
//!   forms with the parameters as forms of their own. Within a tick the state is in the tube, so |change| <= h sup|rate|; the measurement
//!   error adds sup|gradient . delta| by the mean value theorem. Both are one dual direction: rate and state carry the
//!   same symbols (they are values at one time), the delta are independent remainders, so their suprema add.
//!
//!   In detail: a slope is a form L + x + y with L linear in the symbols, |x| <= s and |y| <= t where t is all that the delta
//!   contribute. Each operation of the recursion bounds |x| and |y| by multiples of s and t with non-negative factors, sups of
//!   values that the slopes are multiplied with, and neither changes L. Hence sup|total| is at least (sup over the cell of the part
//!   of the rate) + (sup over the cell of the part of the delta), at different states of the cell if need be. A whole tick, and the
//!   reading before it, are within one cell (see [`super::cell`]).
//!
//!   What dr/dt does is left out there and added. Through ddq_a, which changes at dddq_d - K_r^2 de + K_r dr/dt, it changes
//!   Y theta + I_a ddq_a at K_r M(q; theta) dr/dt. For the theta that the arm moves with, the only one that the drift is
//!   asked for, M dr/dt is w - v - C r at the same moment, so its j-th entry is at most rho_j + |v_j| + |(C r)_j|. Through dq,
//!   which changes at ddq_a - dr/dt, it does what [`super::energy::velocity_slopes`] bounds: along one vector, not joint by joint.
//!
//! Sums of bounds are rounded up term by term.

use crate::dynamics::{Motion, RecursionStorage, RegressorStorage};
use crate::enclose::{Affine, Interval, Rounding};
use crate::inertia::{ARMATURE, INERTIAL, VISCOUS};
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};

use super::cell::{Cell, Joints};
use super::extent;
use super::law::{ByBox, Law, TorqueRow, Upward, by_either, by_strips};
use super::prepared_set::PreparedSet;
use super::roundoff::RoundoffBounds;
use super::strips::Between;
use super::tube::Tube;

/// Torque sets of one joint over a cell, N m.
#[derive(Debug, Clone, Copy)]
pub struct JointTorque {
    /// Lower bound of the nominal torque.
    pub nominal_lower: f64,
    /// Upper bound of the nominal torque.
    pub nominal_upper: f64,
    /// Upper bound of rho, the controller's bound on the disturbance, drift included.
    pub rho: f64,
}

impl JointTorque {
    /// Upper bound of the absolute nominal torque.
    pub fn nominal_sup(&self) -> f64 {
        self.nominal_lower.abs().max(self.nominal_upper.abs())
    }
}

/// Nominal torques and disturbance bounds of all joints over a cell, by [`Law`], at the ticks of which it leans on the strips of
/// one of `stretches`. Leaves the motion swept over the cell.
pub fn joint_torques<const N: usize, R: Rounding>(
    robot: &Arm,
    law: &Law<'_>,
    cell: &Cell<N, R>,
    (roundoff, stretches): (&RoundoffBounds, &[Between<Affine<N, R>>]),
    (motion, y): (&mut Motion<Affine<N, R>>, &mut RegressorStorage<Affine<N, R>>),
) -> Joints<JointTorque> {
    let n = robot.dof();
    motion.sweep(robot, &cell.q, &cell.dq, &cell.dqa, &cell.ddqa);
    let y = y.torque(robot, motion);
    let of = |j: usize| {
        let row = TorqueRow::new(y, (j, INERTIAL * n), cell.dq[j], cell.ddqa[j]);
        let ByBox { nominal, charge, left } = law.by_box(j, &row, &row);
        let nominal = nominal.widen(roundoff.torque_nm[j]);
        let bounds = |form: &Affine<N, R>| (extent::lower(form), extent::upper(form));
        let (mut range, mut by_set) = (bounds(&nominal), left);
        if let Some(strips) = law.set.strips() {
            (range, by_set) = ((f64::INFINITY, f64::NEG_INFINITY), charge);
            for place in stretches {
                let (shift, known) = by_strips(law.set, j, (place, strips.pair(place, j)), &row);
                let (lower, upper) = bounds(&(nominal + shift));
                range = (range.0.min(lower), range.1.max(upper));
                let either = by_either((left, charge), (shift, known));
                by_set = Upward(by_set.0.max(either.0));
            }
        }
        let rho = law.disturbance(j, by_set) + Upward(roundoff.torque_nm[j]);
        JointTorque { nominal_lower: range.0, nominal_upper: range.1, rho: rho.0 }
    };
    (0..n).map(of).collect()
}

/// Bounds on the drift D_j (N m) over a cell, but for what dr/dt does.
pub fn drift<const N: usize, R: Rounding>(
    robot: &Arm,
    tube: &Tube,
    set: &PreparedSet,
    cell: &Cell<N, R>,
    space: &mut RecursionStorage<Dual<Affine<N, R>, 1>>,
) -> Joints<f64> {
    type Rate<const N: usize, R> = Dual<Affine<N, R>, 1>;
    let n = robot.dof();
    let h = tube.gains.period_s;
    let mut q: Joints<Rate<N, R>> = Joints::new();
    let (mut dq, mut dqa, mut ddqa) = (q.clone(), q.clone(), q.clone());
    for j in 0..n {
        let change = |rate: Affine<N, R>, delta: f64| [rate.scale(h).widen(delta)];
        let off = &cell.deviation[j];
        q.push(Rate::new(cell.q[j], change(cell.dq[j], off.q)));
        dq.push(Rate::new(cell.dq[j], change(cell.ddqa[j], off.dq)));
        dqa.push(Rate::new(cell.dqa[j], change(cell.ddqa[j], off.dqa)));
        ddqa.push(Rate::new(cell.ddqa[j], change(cell.jerk[j], off.ddqa)));
    }
    let constant = |x: &Interval| Rate::new(Affine::from_interval(*x), [Affine::zero()]);
    space.motion.sweep(robot, &q, &dq, &dqa, &ddqa);
    space.fill_theta(set.range().iter().map(constant));
    space.inverse_dynamics(robot);
    (0..n)
        .map(|j| {
            let f = &space.theta[robot.friction_index(j)..];
            let total = space.torque[j] + f[ARMATURE] * ddqa[j] + f[VISCOUS] * dq[j];
            extent::sup_abs(&total.slope[0])
        })
        .collect()
}

#[cfg(test)]
mod tests;
