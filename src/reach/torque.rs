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

use arrayvec::ArrayVec;

use crate::dynamics::{Motion, RecursionStorage, RegressorStorage};
use crate::enclose::{Affine, Interval, Rounding};
use crate::inertia::{ARMATURE, COULOMB, FRICTION, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};

use super::cell::{Cell, Joints, MAX_JOINTS};
use super::extent;
use super::mass;
use super::roundoff::RoundoffBounds;
use super::strips::{Between, OWN, PreparedStrips};
use super::tube::Tube;
use super::upward::{add_up, mul_up};

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

/// Most parameters of a robot.
pub const MAX_PARAMETERS: usize = MAX_JOINTS * (INERTIAL + FRICTION);

/// Parameter set as centre, radius and enclosures, prepared once a plan.
#[derive(Debug, Clone)]
pub struct Uncertain {
    /// Centre theta_0, as the controller has it.
    pub center: ArrayVec<f64, MAX_PARAMETERS>,
    /// Radius about the centre, as the controller has it.
    pub radius: ArrayVec<f64, MAX_PARAMETERS>,
    /// Holds the set and all that the controller makes of it, centre +- radius.
    pub range: ArrayVec<Interval, MAX_PARAMETERS>,
    /// The strips of a correlated set.
    pub strips: Option<PreparedStrips>,
    /// Parameters between whose mass matrices those of the set are.
    pub between: mass::MassBounds,
}

impl Uncertain {
    /// Prepares `set`, that of `robot`, which has at most [`MAX_JOINTS`] joints.
    pub fn new(robot: &Arm, set: &ParameterSet) -> Self {
        let center: ArrayVec<f64, MAX_PARAMETERS> = set.centers_and_radii().map(|(c, _)| c).collect();
        let radius: ArrayVec<f64, MAX_PARAMETERS> = set.centers_and_radii().map(|(_, g)| g).collect();
        let range = set.centers_and_radii().map(|(c, g)| Interval::around(c, g)).collect();
        let strips = PreparedStrips::new(robot, set, &center, &radius);
        Self { center, radius, range, strips, between: mass::MassBounds::new(robot, set) }
    }
}

/// Nominal torques and disturbance bounds of all joints over a cell, at the ticks of which the law leans on the strips of
/// one of `stretches`. Leaves the motion swept over the cell.
pub fn joint_torques<const N: usize, R: Rounding>(
    robot: &Arm,
    tube: &Tube,
    uncertain: &Uncertain,
    cell: &Cell<N, R>,
    (roundoff, stretches): (&RoundoffBounds, &[Between<Affine<N, R>>]),
    (motion, y): (&mut Motion<Affine<N, R>>, &mut RegressorStorage<Affine<N, R>>),
) -> Joints<JointTorque> {
    let n = robot.dof();
    let width = INERTIAL * n;
    motion.sweep(robot, &cell.q, &cell.dq, &cell.dqa, &cell.ddqa);
    let y = y.torque(robot, motion);
    (0..n)
        .map(|j| {
            let (mut nominal, charge, own) = friction_part(robot, tube, uncertain, cell, j);
            let row = &y[width * j..width * (j + 1)];
            for (entry, &c) in row.iter().zip(&uncertain.center) {
                nominal = nominal + entry.scale(c);
            }
            nominal = nominal.widen(roundoff.torque_nm[j]);
            let by_box = spread(uncertain, robot, j, row, &own);
            let bounds = |form: &Affine<N, R>| (extent::lower(form), extent::upper(form));
            let (mut range, mut by_set) = (bounds(&nominal), by_box);
            if let Some(strips) = &uncertain.strips {
                (range, by_set) = ((f64::INFINITY, f64::NEG_INFINITY), 0.0);
                for between in stretches {
                    let (shift, known) = strip_bounds(robot, uncertain, (strips, between), j, row, &own);
                    let (lower, upper) = bounds(&(nominal + shift));
                    range = (range.0.min(lower), range.1.max(upper));
                    by_set = by_set.max(known.min(add_up(by_box, shift.sup_abs())));
                }
            }
            let rho = add_up(add_up(add_up(by_set, charge), tube.drift_nm[j]), roundoff.torque_nm[j]);
            JointTorque { nominal_lower: range.0, nominal_upper: range.1, rho }
        })
        .collect()
}

/// sum_p |y_p| g_p of the links' and the joint's own columns: where the tube leaves the sign of y_p in no doubt |y_p| is a form, and of
/// these the sum is bounded; of the others each.
pub fn spread<const N: usize, R: Rounding>(
    uncertain: &Uncertain,
    robot: &Arm,
    j: usize,
    row: &[Affine<N, R>],
    own: &[Affine<N, R>; 3],
) -> f64 {
    let at = robot.friction_index(j);
    let own = own.iter().zip(OWN.map(|column| uncertain.radius[at + column]));
    let (mut sum, mut each) = (Affine::zero(), 0.0);
    for (y, g) in row.iter().zip(uncertain.radius.iter().copied()).chain(own).filter(|(_, g)| *g > 0.0) {
        if extent::spread(y) < y.center().abs() {
            sum = sum + y.scale(g.copysign(y.center()));
        } else {
            each = add_up(each, mul_up(extent::sup_abs(y), g));
        }
    }
    add_up(each, extent::upper(&sum).max(0.0))
}

/// What the strips add to the nominal torque of joint `j`, and what they leave of rho; see [`super::strips`].
pub fn strip_bounds<const N: usize, R: Rounding>(
    robot: &Arm,
    uncertain: &Uncertain,
    (strips, between): (&PreparedStrips, &Between<Affine<N, R>>),
    j: usize,
    row: &[Affine<N, R>],
    own: &[Affine<N, R>; 3],
) -> (Affine<N, R>, f64) {
    let (a, b) = (strips.strip(between.first, j), strips.strip(between.second, j));
    let rest = Affine::constant(1.0) - between.share;
    let mix =
        |x: f64, y: f64| if x == y { Affine::constant(x) } else { rest.scale(x) + between.share.scale(y) };
    let off = |y: &[Affine<N, R>], a: &[f64], b: &[f64]| -> Vec<Affine<N, R>> {
        y.iter().zip(a.iter().zip(b)).map(|(y, (a, b))| *y - mix(*a, *b)).collect()
    };
    let own = off(own, &a.own, &b.own);
    let residual = spread(uncertain, robot, j, &off(row, &a.links, &b.links), &[own[0], own[1], own[2]]);
    (mix(a.shift, b.shift), add_up(extent::upper(&mix(a.half, b.half)), residual))
}

/// JointParameters, armature and offset of joint `j`, mirroring the controller: nominal torque, what Coulomb friction adds to the
/// disturbance, and the entries of its row in the columns of [`OWN`].
pub fn friction_part<const N: usize, R: Rounding>(
    robot: &Arm,
    tube: &Tube,
    uncertain: &Uncertain,
    cell: &Cell<N, R>,
    j: usize,
) -> (Affine<N, R>, f64, [Affine<N, R>; 3]) {
    let at = robot.friction_index(j);
    let (c, g) = (&uncertain.center[at..at + 4], &uncertain.radius[at..at + 4]);
    let (dq, ddqa) = (cell.dq[j], cell.ddqa[j]);
    let band = tube.sign_band(robot, j);
    let (coulomb, charge) = if dq.lower() > band {
        (Affine::constant(c[COULOMB]), g[COULOMB])
    } else if dq.upper() < -band {
        (Affine::constant(-c[COULOMB]), g[COULOMB])
    } else {
        // Nothing is compensated where the sign is in doubt; elsewhere in the cell it is, and less than this is left.
        let least = mul_up(robot.uncertainty().breakaway_ratio, add_up(c[COULOMB].abs(), g[COULOMB]));
        (Affine::zero().widen(c[COULOMB].abs()), least)
    };
    let nominal = coulomb + dq.scale(c[VISCOUS]) + ddqa.scale(c[ARMATURE]) + Affine::constant(c[OFFSET]);
    (nominal, charge, [dq, ddqa, Affine::constant(1.0)])
}

/// Bounds on the drift D_j (N m) over a cell, but for what dr/dt does.
pub fn drift<const N: usize, R: Rounding>(
    robot: &Arm,
    tube: &Tube,
    uncertain: &Uncertain,
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
    space.fill_theta(uncertain.range.iter().map(constant));
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
