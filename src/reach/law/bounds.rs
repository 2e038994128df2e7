//! What the robust law does at most over a cell: torques, gain, and the part of the hold power that it makes itself.
//!
//! # Assumed
//! Bounds rho_j on the disturbance over the cell, A with diag(A) <= M, sigma and s_j of [`crate::reach::energy::relative_mass`] for W = A.
//!
//! # Proven
//! Notation of [`crate::reach::tube`]: c layer ticks, h the period, u_j = min(rho_j, A_j |r_j| / (c h)), x_j = u_j / rho_j in [0, 1].
//! * *Rest.* mu = demand - grip <= beta + sum_j Q_j - alpha (V_max - V^), where Q_j = (rho_j - u_j) |r_j| + (h/2) (rho_j - u_j)^2 / A_j.
//!   Q_j = 0 where x_j = 1; elsewhere |r_j| = c h rho_j x_j / A_j, and Q_j = (h rho_j^2 / A_j) (c x (1 - x) + (1 - x)^2 / 2), at most
//!   f h rho_j^2 / A_j with f = 1/2 + (c - 1)^2 / (2 (2 c - 1)) (a parabola, c >= 1). So mu <= mu* = beta + sum of these.
//! * *Where.* mu > 0 only where alpha (V_max - V^) < mu*; there z^2 = sum A r^2 >= z1^2 = 2 (V_max - mu*/alpha - nu) / sigma.
//! * *Torque.* Where mu = 0, |v_j| <= rho_j. Elsewhere |v_j| = u_j + mu A_j |r_j| / z^2. If x_j = 1 then Q_j = 0 and the second part is
//!   at most (mu* - Q_j's bound) sqrt(A_j s_j / sigma) / z1: r'Mr >= sigma z1^2 for the theta that makes V^, and (A_j r_j^2 / z^4) r'Mr <=
//!   s_j for all. Else it is at most mu* c h rho_j / z1^2.
//! * *Gain.* h |v_j| / A_j <= (1/c + h mu* / z1^2) |r_j|: the gain condition asks that the factor be at most 1.
//! * *Norms* |x|^2 = sum x_j^2 / A_j: |v| <= |rho| + mu* / z1.
//! * *Own mismatch.* (h/2) sum m_j^2 / A_j for the rest's torques m_j is h mu^2 / (2 z^2) <= (h/2) (mu* / z1)^2.
//!
//! *Rounding.* Here upward, term by term. The controller's u, grip and demand are sums of products and quotients of
//! non-negative terms but for one difference (demand - grip), so what it makes of mu is off by at most [`LAW_ROUNDOFF`] of the sum
//! of all terms, which is added to mu*; v and its factors are off by a few units, which 1 + 8 [`LAW_ROUNDOFF`] covers.

use crate::enclose::Interval;
use crate::reach::cell::Joints;
use crate::reach::motor_loops::MotorLoops;
use crate::reach::roundoff::{LAW_ROUNDOFF, RoundoffBounds};
use crate::reach::tube::Tube;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::scalar::Scalar;

/// Bounds on the robust law over a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct LawBounds {
    /// |v_j|, N m; infinite if the hold power leaves no room below V_max.
    pub robust: Joints<f64>,
    /// Norm of rho, weighted by 1/A.
    pub rho_norm: f64,
    /// Norm of v, weighted by 1/A.
    pub robust_norm: f64,
    /// Power that the rest's own mismatch costs, W.
    pub own_mismatch_w: f64,
    /// h |v_j| / (A_j |r_j|), the largest.
    pub gain: f64,
    /// Size of all terms of demand and grip, W: what their rounding errors are relative to.
    pub terms_w: f64,
}

impl LawBounds {
    /// Where the feedback runs in the motors ([`crate::reach::motor_loops`]): torques are cut at their limits; nothing is held.
    pub fn in_motors(loops: &MotorLoops, rho: &[f64], a: &[f64]) -> Self {
        let norm =
            |x: &[f64]| sum_up(x.iter().zip(a).map(|(x, a)| div_up(mul_up(*x, *x), *a))).sqrt().next_up();
        Self {
            robust: loops.limit_nm.iter().copied().collect(),
            rho_norm: norm(rho),
            robust_norm: norm(&loops.limit_nm),
            own_mismatch_w: 0.0,
            gain: 0.0,
            terms_w: 0.0,
        }
    }

    /// Bounds for disturbance bounds `rho` (N m), |r^_j| <= `r` (rad/s), A_j = `a`, and sigma and all s_j.
    pub fn new(
        tube: &Tube,
        roundoff: &RoundoffBounds,
        rho: &[f64],
        r: &[f64],
        a: &[f64],
        mass: (f64, &[f64]),
    ) -> Self {
        let (sigma, alone) = mass;
        let (gains, c) = (&tube.gains, tube.layer_ticks);
        let h = gains.period_s;
        let n = rho.len();
        let squares: Joints<f64> = (0..n).map(|j| div_up(mul_up(rho[j], rho[j]), a[j])).collect();
        let squared = sum_up(squares.iter().copied());
        let rho_norm = squared.sqrt().next_up();

        let power = sum_up((0..n).map(|j| mul_up(rho[j], r[j])));
        let terms_w = sum_up([
            mul_up(2.0, power),
            mul_up(mul_up(2.0, h), squared),
            tube.hold_power_w,
            mul_up(gains.alpha, gains.v_max),
        ]);
        let layer: Joints<f64> = squares.iter().map(|s| mul_up(mul_up(layer_factor(c), h), *s)).collect();
        let base = add_up(tube.hold_power_w, mul_up(LAW_ROUNDOFF, terms_w));
        let rest = add_up(base, sum_up(layer.iter().copied()));
        let z1 = least_z(tube, roundoff, rest, sigma);
        let z1_squared = (z1 * z1).next_down().max(0.0);

        let robust = (0..n)
            .map(|j| {
                let others = add_up(base, sum_up((0..n).filter(|&i| i != j).map(|i| layer[i])));
                let along = mul_up(a[j], div_up(alone[j], sigma)).sqrt().next_up();
                let far = div_up(mul_up(others, along), z1);
                let near = div_up(mul_up(mul_up(mul_up(rest, c), h), rho[j]), z1_squared);
                mul_up(add_up(rho[j], far.max(near)), 1.0 + 8.0 * LAW_ROUNDOFF)
            })
            .collect();
        let turned = div_up(rest, z1);
        let gain = add_up(div_up(1.0, c), div_up(mul_up(h, rest), z1_squared));
        Self {
            robust,
            rho_norm,
            robust_norm: add_up(rho_norm, turned),
            own_mismatch_w: mul_up(mul_up(0.5, h), mul_up(turned, turned)),
            gain: mul_up(gain, 1.0 + 8.0 * LAW_ROUNDOFF),
            terms_w,
        }
    }
}

/// Upper bound of f = 1/2 + (c - 1)^2 / (2 (2 c - 1)) for c >= 1.
fn layer_factor(c: f64) -> f64 {
    let above = (c - 1.0).next_up();
    let below = (2.0 * (2.0 * c - 1.0).next_down()).next_down();
    add_up(0.5, div_up(mul_up(above, above), below))
}

/// Lower bound of z = sqrt(sum A r^2) where V^ > V_max - `rest` / alpha: sigma z^2 / 2 + nu >= V^. Zero if `rest` leaves no
/// room.
fn least_z(tube: &Tube, roundoff: &RoundoffBounds, rest: f64, sigma: f64) -> f64 {
    let gains = &tube.gains;
    let room = Interval::constant(gains.v_max)
        - Interval::constant(rest) / Interval::constant(gains.alpha)
        - Interval::constant(roundoff.slack_above(tube));
    (Interval::constant(2.0 * room.lower().max(0.0)) / Interval::constant(sigma)).sqrt().lower().max(0.0)
}

#[cfg(test)]
mod tests;
