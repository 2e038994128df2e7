//! The first law where the feedback runs in the motors: each joint's loop by itself, fast, and the model's torques at the slower rate of the computer.
//!
//! # The law
//! Notation of [`super::tube`]: r = de + K_r e, V = r'M r / 2, ticks of period h. At its tick t_k the computer sends each drive the nominal torque of the measured state, as
//! the first law forms it, and a reference s_k = s(t_k) + s'(t_k) h / 2 of s = dq_d + K_r q_d: what the desired motion has in the middle of the tick. Until the next command
//! the drive adds to the nominal torque, at any rate of its own,
//!
//! ```text
//! v_j = sat(k_j (s_k - dq^_j(t') - K_r q^_j(t')), u_j).
//! ```
//!
//! A drive that takes q_ref, dq_ref, k_p and k_d does so with q_ref = q_d + dq_d h / 2, dq_ref = dq_d + ddq_d h / 2, k_d = k_j and k_p = K_r k_j, if the output of its loop
//! can be limited to u_j.
//!
//! # Assumed
//! * All that [`super::tube`] does of the computer's side: its readings are of their tick, and its commands act from there on. So does all that comes with them: from the tick on the
//!   drive uses the new nominal torque, reference, gain and limit, with whatever reading it has.
//! * The arm rests in the last a seconds before a plan that starts at rest, as its first readings may be of then.
//! * The reading in effect at t is of a time t' from t - a on, a the robot's `timing.motor_loop_age_max_s`: sampling, arithmetic and hold of the drive together. It may be of
//!   a time before the tick. Its errors are within those of the robot's sensors, what its own arithmetic and the way there round with them: of the reference and of the product with k_j.
//!
//! # Proven
//! *Readings.* q and dq of the arm do not jump, so the reading differs from dq(t) + K_r q(t) by at most a times the largest |ddq + K_r dq| of the last a seconds, besides the
//! sensors' errors. That rate is bounded by [`MotorLoops::rate_rad_s2`], which is stored, and holds for the plans before as well: it never falls from plan to plan. And s(t) differs from s_k by at
//! most (h/2) sup|s'| + (h^2/2) sup|s''| within the tick. So v_j = sat(k_j (r_j + n_j), u_j) with |n_j| <= eta_j, the sum of these.
//!
//! *One joint.* Let |w_j| <= rho_j < u_j and m_j = u_j - rho_j. Then r_j (w_j - v_j) <= (u_j + k_j eta_j)^2 / (4 k_j) - m_j |r_j|. Proof for r_j >= 0; v_j is at least
//! sat(k (r - eta), u). Where that is u, the left side is at most -m r. Where it is k (r - eta), left side and m r are together at most
//! u r + k eta r - k r^2, a parabola with that maximum. Where it is -u, they are at most 2 u r < 2 u (eta - u / k), and with y = k eta >= u the bound less that is
//! (y - 3 u)^2 / (4 k).
//!
//! *Claim.* With S the sum of all (u_j + k_j eta_j)^2 / (4 k_j), V never rises above V_max if for all j
//!
//! ```text
//! V_max >= M_jj (S / m_j)^2 / 2.
//! ```
//!
//! Proof: as C r drops out of dV/dt, dV/dt = sum r_j (w_j - v_j) <= S - sum m_j |r_j|. Where that is not below zero, r is in the convex hull of the points +-(S / m_j) e_j.
//! V is convex, so it is no larger there than at the largest of these, where it is M_jj (S / m_j)^2 / 2. Nothing couples joints but V itself: an unknown load
//! that ties them together costs nothing here.
//!
//! The loops' torques are at most u_j. As the law's torques they enter the drift D_j, the drives' errors, the bound of accelerations and the torque limits; hold power, layer
//! and gain condition have no meaning here. Everything else is as in [`super::tube`]: the tube's level, what it starts with, what a change of plan costs.
//!
//! # Rounding
//! Upward, term by term; m_j is rounded down. What the computer's references are off by is some roundings of what they are made of, for which
//! [`LAW_ROUNDOFF`] of their sizes is charged.
//!
//! # Memory
//! Bounds of rates ask for some in each cell ([`rates`]): planning for such loops does, other than for the first law in the computer. The tick asks for none.

use serde::{Deserialize, Serialize};

use crate::dynamics::{MassStorage, RecursionStorage};
use crate::enclose::{Affine, Rounding};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::Pieces;

use super::cell::{Cell, Joints, Span, through_ticks};
use super::mass::MassBounds;
use super::momentum::inverse_times;
use super::roundoff::LAW_ROUNDOFF;
use super::tube::Tube;
use super::upward::{add_up, div_up, mul_up, sum_up};

#[cfg(test)]
mod tests;

/// Constants of the loops for one plan, a joint each.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct MotorLoops {
    /// u_j, N m (N): the output of the loop is cut at it.
    pub limit_nm: Vec<f64>,
    /// k_j, N m s/rad (N s/m): torque for an r of one.
    pub gain_nms_rad: Vec<f64>,
    /// Bound on |ddq_j + K_r dq_j|, rad/s^2 (m/s^2): what a reading of the loop ages by. None below those of earlier plans of the run.
    pub rate_rad_s2: Vec<f64>,
}

/// What the loops need over a cell, a joint each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MotorNeeds {
    /// rho_j, N m: what a limit has to be above.
    pub rho_nm: Joints<f64>,
    /// eta_j, rad/s.
    pub misread_rad_s: Joints<f64>,
    /// M_jj at most, kg m^2.
    pub mass: Joints<f64>,
    /// |ddq_j + K_r dq_j| at most, rad/s^2.
    pub rate_rad_s2: Joints<f64>,
    /// The least V_max of the claim, J; infinite where a limit is not above rho_j.
    pub v_max_j: f64,
}

impl MotorLoops {
    /// Makes them the same as `other`, in the memory that they have.
    pub fn assign(&mut self, other: &Self) {
        self.limit_nm.clone_from(&other.limit_nm);
        self.gain_nms_rad.clone_from(&other.gain_nms_rad);
        self.rate_rad_s2.clone_from(&other.rate_rad_s2);
    }

    /// The first list that is not of `joints`, or number that is none.
    pub fn fault(&self, joints: usize) -> Option<String> {
        let lists = [
            ("limit_nm", &self.limit_nm),
            ("gain_nms_rad", &self.gain_nms_rad),
            ("rate_rad_s2", &self.rate_rad_s2),
        ];
        for (what, list) in lists {
            if list.len() != joints {
                return Some(format!("motor_loops.{what}: expected {joints} values, found {}", list.len()));
            }
            if let Some(x) = list.iter().find(|x| !(**x > 0.0 && x.is_finite())) {
                return Some(format!("motor_loops.{what}: expected finite numbers above 0, found {x}"));
            }
        }
        None
    }

    /// The least V_max of the claim for these rho_j, eta_j and M_jj, J.
    pub fn least_v_max_j(&self, rho_nm: &[f64], misread_rad_s: &[f64], mass: &[f64]) -> f64 {
        let slack = |(j, eta): (usize, &f64)| {
            let (u, k) = (self.limit_nm[j], self.gain_nms_rad[j]);
            let most = add_up(u, mul_up(k, *eta));
            div_up(mul_up(most, most), (4.0 * k).next_down())
        };
        let power = sum_up(misread_rad_s.iter().enumerate().map(slack));
        let level = |j: usize| {
            let margin = (self.limit_nm[j] - rho_nm[j]).next_down();
            if !(margin > 0.0) {
                return f64::INFINITY;
            }
            let r = div_up(power, margin);
            mul_up(0.5, mul_up(mass[j], mul_up(r, r)))
        };
        // What is no number is no bound.
        (0..mass.len()).map(level).fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
    }
}

/// Bounds of |M^-1(q; theta) d|, entry by entry, for all |d_i| <= `pull`_i (N m), at the positions that `space` is placed at and for the set of `between`: rad/s^2; `None` where there
/// are none.
///
/// M is between the mass matrices of the lowered and the raised bodies ([`super::mass`]), and M^-1 between the inverses of these ([`super::momentum`]).
pub fn rates<const N: usize, R: Rounding>(
    robot: &Arm,
    between: &MassBounds,
    pull: &[f64],
    (space, mass): (&mut RecursionStorage<Affine<N, R>>, &mut MassStorage<Affine<N, R>>),
) -> Option<Joints<f64>> {
    let n = robot.dof();
    let mut matrix = |theta: &[f64]| -> Vec<Affine<N, R>> {
        space.fill_theta(theta.iter().map(|&x| Affine::constant(x)));
        let mut entries = mass.links(robot, &space.motion, &space.theta).to_vec();
        for j in 0..n {
            entries[n * j + j] = entries[n * j + j] + Affine::constant(theta[robot.joint_index(j).armature]);
        }
        entries
    };
    let (below, above) = (matrix(&between.below), matrix(&between.above));
    inverse_times((&below, &above), pull)
}

impl MotorNeeds {
    /// Over a cell, for the loops of `tube`, whose readings are at most `age_s` old (s). Torques rho_j, M_jj and bounds of |ddq_j| are given.
    pub fn new<const N: usize, R: Rounding>(
        (tube, loops): (&Tube, &MotorLoops),
        (curve, span, age_s): (Pieces<'_>, Span, f64),
        cell: &Cell<N, R>,
        rho_nm: Joints<f64>,
        mass: Joints<f64>,
        acceleration: &[f64],
    ) -> Self {
        let (k_r, h) = (tube.gains.k_r, tube.gains.period_s);
        let n = rho_nm.len();
        let misread = |j: usize| {
            let moved = match span {
                Span::Rest => mul_up(h, LAW_ROUNDOFF),
                Span::Between(t0, t1) => {
                    let desired = through_ticks::<N, R>(tube, curve, j, t0, t1);
                    let first = (desired.ddq + desired.dq.scale(k_r)).sup_abs();
                    let second = (desired.dddq + desired.ddq.scale(k_r)).sup_abs();
                    let sizes = sum_up([1.0, desired.ddq.sup_abs(), mul_up(k_r, desired.dq.sup_abs())]);
                    let rounded = mul_up(mul_up(h, LAW_ROUNDOFF), sizes);
                    sum_up([mul_up(0.5 * h, first), mul_up(mul_up(0.5 * h, h), second), rounded])
                }
            };
            sum_up([cell.deviation[j].r, moved, mul_up(age_s, loops.rate_rad_s2[j])])
        };
        let misread_rad_s: Joints<f64> = (0..n).map(misread).collect();
        let rate = |j: usize| add_up(acceleration[j], mul_up(k_r, cell.dq[j].sup_abs()));
        let v_max_j = loops.least_v_max_j(&rho_nm, &misread_rad_s, &mass);
        Self { rate_rad_s2: (0..n).map(rate).collect(), rho_nm, misread_rad_s, mass, v_max_j }
    }
}
