//! Exponents of viscous friction: a motor's friction as F_c s(v) + F_v sgn(v) |v|^alpha + offset, with alpha sought. The authors' code of [4] offers the same.
//!
//! A motor's own friction is felt by that motor alone. For each exponent its viscous column is another one, and all parameters are fitted anew in closed form, without
//! their limits: with H, b the normal equations of the others, h the new column's products with theirs and K = H^-1, the fit's value falls by
//!
//! ```text
//! (b_k - h'K b)^2 / (h_kk - h'K h) / 2
//! ```
//!
//! through that column. A search along a line finds the exponent for which it falls most, motor by motor, until none moves; then all is fitted again with weights
//! and limits. A motor whose torques gain too little by it keeps 1.

use nalgebra::{DMatrix, DVector};

use super::LimbUnknown;
use super::belief::Outliers;
use super::compressed::Compressed;
use super::fit::{Effort, Fitted, Free, fit};
use super::rows::LimbRows;
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::regression::RegressionError;
use crate::regression::barrier::{ConvexFit, Scaled};
use crate::robot::Model;

/// Exponents that are looked at: below, viscous friction can hardly be told from dry friction.
const RANGE: (f64, f64) = (0.25, 3.0);
/// Points between which the least error is bracketed, and the width to which the bracket is narrowed.
const POINTS: usize = 23;
const WIDTH: f64 = 1e-3;
/// Rounds at most, and the change of an exponent with which they end.
const ROUNDS: usize = 10;
const SETTLED: f64 = 3e-3;
/// Share of a motor's squared errors that an exponent has to save, or it is 1: smoothed samples are hundreds of independent ones at most, so chance saves hundredths.
const WORTH: f64 = 0.02;

/// The same rows with the motors' viscous friction at these exponents.
pub(super) fn with(limb: &Model, rows: &LimbRows, exponents: &[f64]) -> LimbRows {
    let (mut changed, m) = (rows.clone(), rows.rows.joints);
    for (j, (&joint, alpha)) in motors_and_base(limb).iter().zip(exponents).enumerate() {
        let column = limb.joint_index(joint).viscous;
        for row in (j..rows.rows.u.len()).step_by(m) {
            changed.rows.y[(row, column)] = power(rows.speeds[row], *alpha);
        }
    }
    changed
}

/// sgn(v) |v|^alpha.
fn power(v: f64, alpha: f64) -> f64 {
    if alpha == 1.0 { v } else { v.abs().powf(alpha).copysign(v) }
}

/// The exponent of each motor.
pub(super) fn find(limb: &Model, unknown: LimbUnknown, rows: &LimbRows) -> Result<Vec<f64>, RegressionError> {
    let motors = motors_and_base(limb);
    let free = Free::of(limb, unknown, limb.bodies());
    let mut exponents = vec![1.0; motors.len()];
    for _ in 0..ROUNDS {
        let now = with(limb, rows, &exponents);
        let Fitted { theta, rounds, problem, .. } =
            fit(limb, &free, &Compressed::of(limb, &now), (Outliers::Motors, Effort::Search))?;
        let errors = now.rows.residuals(&DVector::from_column_slice(&theta));
        let weights = |j: usize| {
            let own = rounds.row_weights.iter().skip(j).step_by(motors.len());
            own.map(|w| w / rounds.covariance[(j, j)]).collect::<Vec<f64>>()
        };
        let mut moved = 0.0f64;
        for (j, &joint) in motors.iter().enumerate() {
            let Some(own) = Own::new((limb, joint, j), &free, (&now, &weights(j)), &problem) else {
                continue;
            };
            let left: f64 = weights(j).iter().zip(&errors.row(j)).map(|(w, e)| w * e * e).sum();
            let next = own.exponent(WORTH * left);
            moved = moved.max((next - exponents[j]).abs());
            exponents[j] = next;
        }
        if moved <= SETTLED {
            break;
        }
    }
    Ok(exponents)
}

/// What a motor's viscous friction has to explain.
struct Own {
    /// Weighted columns of the other free parameters in the motor's torques, and these torques.
    others: DMatrix<f64>,
    torques: DVector<f64>,
    roots: DVector<f64>,
    speeds: Vec<f64>,
    /// K, and K b.
    system: Scaled,
    without: DVector<f64>,
    /// Weight of the prior, and that times what is believed.
    prior: (f64, f64),
}

impl Own {
    /// `None` where the others' normal matrix is not positive definite.
    fn new(
        (limb, joint, j): (&Model, usize, usize),
        free: &Free,
        (now, weights): (&LimbRows, &[f64]),
        problem: &ConvexFit,
    ) -> Option<Self> {
        let (m, nominal) = (now.rows.joints, limb.nominal_parameters());
        let viscous = limb.joint_index(joint).viscous;
        let place = free.indices.iter().position(|k| *k == viscous)?;
        let others: Vec<usize> = (0..free.indices.len()).filter(|k| *k != place).collect();
        let rows: Vec<usize> = (j..now.rows.u.len()).step_by(m).collect();
        let roots = DVector::from_fn(rows.len(), |s, _| weights[s].sqrt());
        let columns: Vec<usize> = others.iter().map(|&k| free.indices[k]).collect();
        let y = now.rows.y.select_rows(&rows);
        let mut fixed = nominal.clone();
        free.indices.iter().for_each(|&k| fixed[k] = 0.0);
        let torques = now.rows.u.select_rows(&rows) - &y * DVector::from_vec(fixed);
        let mut weighted = y.select_columns(&columns);
        weighted.column_iter_mut().for_each(|mut column| column.component_mul_assign(&roots));
        let system = Scaled::new(&problem.hessian.select_rows(&others).select_columns(&others))?;
        let prior = free.deviations[place].powi(-2);
        Some(Self {
            others: weighted,
            torques: torques.component_mul(&roots),
            roots,
            speeds: rows.iter().map(|&row| now.speeds[row]).collect(),
            without: system.solve(&problem.slope.select_rows(&others)),
            system,
            prior: (prior, prior * nominal[viscous]),
        })
    }

    /// By how much the sum of squares falls through viscous friction with this exponent; friction that drives makes it no smaller.
    fn gain(&self, alpha: f64) -> f64 {
        let column = DVector::from_fn(self.speeds.len(), |s, _| self.roots[s] * power(self.speeds[s], alpha));
        let products = self.others.tr_mul(&column);
        let left = column.norm_squared() + self.prior.0 - products.dot(&self.system.solve(&products));
        let slope = column.dot(&self.torques) + self.prior.1 - products.dot(&self.without);
        if left > 0.0 { slope.max(0.0).powi(2) / left } else { 0.0 }
    }

    /// The best exponent, by golden section about the best of some points; 1 where that gains less than `worth`.
    fn exponent(&self, worth: f64) -> f64 {
        let step = (RANGE.1 - RANGE.0) / (POINTS - 1) as f64;
        let point = |k: usize| RANGE.0 + step * k as f64;
        let gains: Vec<f64> = (0..POINTS).map(|k| self.gain(point(k))).collect();
        let best = (0..POINTS).max_by(|&a, &b| gains[a].total_cmp(&gains[b])).unwrap_or(0);
        let (mut low, mut high) = (point(best.saturating_sub(1)), point((best + 1).min(POINTS - 1)));
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        while high - low > WIDTH {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if self.gain(a) > self.gain(b) { high = b } else { low = a }
        }
        let found = 0.5 * (low + high);
        if self.gain(found) - self.gain(1.0) >= worth { found } else { 1.0 }
    }
}
