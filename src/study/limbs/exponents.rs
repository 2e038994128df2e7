//! Exponents of viscous friction: a motor's friction as F_c s(v) + F_v sgn(v) |v|^alpha + offset, with alpha sought. The authors' code of [4] offers the same.
//!
//! A motor's own friction is felt by that motor alone. So, with all else as a robust fit leaves it, the motor's torques are explained by four numbers that are linear
//! (F_c, F_v, armature, offset) and one that is not, which a search along a line finds. Then all is fitted again. A motor whose torques gain too little by it keeps 1.

use nalgebra::{DMatrix, DVector};

use super::LimbUnknown;
use super::belief::Outliers;
use super::compressed::Compressed;
use super::fit::{Effort, Fitted, Free, fit};
use super::rows::LimbRows;
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::regression::RegressionError;
use crate::regression::least_squares::non_negative;
use crate::robot::Model;

/// Exponents that are looked at: below, viscous friction can hardly be told from dry friction.
const RANGE: (f64, f64) = (0.25, 3.0);
/// Points between which the least error is bracketed, and the width to which the bracket is narrowed.
const POINTS: usize = 23;
const WIDTH: f64 = 1e-3;
/// Rounds at most, and the change of an exponent with which they end.
const ROUNDS: usize = 10;
const SETTLED: f64 = 3e-3;
/// Share of a motor's squared errors that an exponent has to save, or it is 1: smoothed samples are hundreds of independent ones at most.
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
        let Fitted { theta, rounds, .. } =
            fit(limb, &free, &Compressed::of(limb, &now), (Outliers::Motors, Effort::Search))?;
        let errors = now.rows.residuals(&DVector::from_column_slice(&theta));
        let mut moved = 0.0f64;
        for (j, &joint) in motors.iter().enumerate() {
            let own = Own::new((limb, joint, j), (&now, rows), (&theta, &rounds.row_weights), &errors);
            let next = own.exponent()?;
            moved = moved.max((next - exponents[j]).abs());
            exponents[j] = next;
        }
        if moved <= SETTLED {
            break;
        }
    }
    Ok(exponents)
}

/// What a motor's own friction has to explain.
struct Own {
    /// Weighted columns of dry friction, armature and offset.
    others: DMatrix<f64>,
    speeds: Vec<f64>,
    roots: DVector<f64>,
    /// Weighted torques.
    torques: DVector<f64>,
}

impl Own {
    fn new(
        (limb, joint, j): (&Model, usize, usize),
        (now, rows): (&LimbRows, &LimbRows),
        (theta, weights): (&[f64], &[f64]),
        errors: &DMatrix<f64>,
    ) -> Self {
        let at = limb.joint_index(joint);
        let m = rows.rows.joints;
        let places: Vec<usize> = (j..rows.rows.u.len()).step_by(m).collect();
        let roots = DVector::from_fn(places.len(), |s, _| weights[places[s]].sqrt());
        let columns = [at.coulomb, at.armature, at.offset];
        let others = DMatrix::from_fn(places.len(), columns.len(), |s, c| {
            roots[s] * now.rows.y[(places[s], columns[c])]
        });
        let torques = DVector::from_fn(places.len(), |s, _| {
            let all = columns.iter().chain([&at.viscous]);
            let own: f64 = all.map(|&c| now.rows.y[(places[s], c)] * theta[c]).sum();
            roots[s] * (own - errors[(j, s)])
        });
        let speeds = places.iter().map(|&row| rows.speeds[row]).collect();
        Self { others, speeds, roots, torques }
    }

    /// Squared errors that are left with this exponent.
    fn left(&self, alpha: f64) -> Result<f64, RegressionError> {
        let mut columns = self.others.clone().insert_column(3, 0.0);
        for (s, v) in self.speeds.iter().enumerate() {
            columns[(s, 3)] = self.roots[s] * power(*v, alpha);
        }
        let found = non_negative(&columns, &self.torques, &[true, true, false, true])?;
        Ok((columns * found - &self.torques).norm_squared())
    }

    /// The best exponent, by golden section within the best of some brackets; 1 where it is hardly worse.
    fn exponent(&self) -> Result<f64, RegressionError> {
        let step = (RANGE.1 - RANGE.0) / (POINTS - 1) as f64;
        let point = |k: usize| RANGE.0 + step * k as f64;
        let values = (0..POINTS).map(|k| self.left(point(k))).collect::<Result<Vec<_>, _>>()?;
        let best = (0..POINTS).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0);
        let (mut low, mut high) = (point(best.saturating_sub(1)), point((best + 1).min(POINTS - 1)));
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        while high - low > WIDTH {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if self.left(a)? < self.left(b)? { high = b } else { low = a }
        }
        let found = 0.5 * (low + high);
        let worth = self.left(found)? <= (1.0 - WORTH) * self.left(1.0)?;
        Ok(if worth { found } else { 1.0 })
    }
}
