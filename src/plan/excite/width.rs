//! How wide a guaranteed interval will be: the identifier's linear program, foreseen.
//!
//! A row a (ten numbers) says |a theta| <= 1 about what is not known yet of the parameters, theta. The half-width in direction d
//! is the largest d'theta, and by duality the least sum |l_j| over all l with A'l = d: the identifier proves its bounds with
//! such an l (`identify`), so this is the width that it will reach, not a variance. That least sum has kinks where another
//! row takes over, at which a gradient search stops; so it is taken in the norm (sum |l_j|^P)^(1/P) with P a little above one,
//! which has none.
//!
//! It is found by reweighted least squares: l_j = w_j a_j theta with (A' W A) theta = d, and then w_j = |l_j|^(2 - P). Any l on
//! the way is feasible, so its norm is an upper bound; theta over the dual norm of A theta gives a lower one.

use super::super::decision::Square;
use crate::robot::INERTIAL;
use nalgebra::{Cholesky, SVector};

/// One row of a regressor over the largest error of its measurement.
pub type Row = SVector<f64, INERTIAL>;

/// Exponent of the norm. One would be the identifier's own; two is that of least squares.
pub const P: f64 = 1.25;
/// Reweightings at most.
const ROUNDS: usize = 60;

/// The least norm of l, its l, and the theta that belongs to it.
#[derive(Debug, Clone)]
pub struct HalfWidth {
    /// Norm of l, at most 1 + gap times the least.
    pub value: f64,
    /// l, one a row; d value / d a_j = -l_j theta.
    pub multipliers: Vec<f64>,
    /// theta, scaled so that its component in the direction asked for is `value`.
    pub theta: Row,
}

/// A search for a half-width, in storage that it keeps.
#[derive(Debug, Clone)]
pub struct Search {
    weights: Vec<f64>,
    multipliers: Vec<f64>,
    best: HalfWidth,
    found: bool,
}

impl Default for Search {
    fn default() -> Self {
        let best = HalfWidth { value: f64::NAN, multipliers: Vec::new(), theta: Row::zeros() };
        Self { weights: Vec::new(), multipliers: Vec::new(), best, found: false }
    }
}

impl Search {
    /// Half-width of parameter `p`, within the relative `gap`; none is found where the rows leave a direction open or are not
    /// finite.
    pub fn run(&mut self, rows: &[Row], p: usize, gap: f64) {
        let dual = P / (P - 1.0);
        let Self { weights, multipliers, best, found } = self;
        *found = false;
        for (list, start) in [(&mut *weights, 1.0), (&mut *multipliers, 0.0)] {
            list.clear();
            list.resize(rows.len(), start);
        }
        for _ in 0..ROUNDS {
            let mut normal = Square::zeros();
            for (row, &weight) in rows.iter().zip(&*weights) {
                normal.ger(weight, row, row, 1.0);
            }
            // Weights that have died out can make the last digits of `normal` useless: the round before stands.
            let Some(theta) = Cholesky::new(normal).map(|c| c.solve(&Row::ith(p, 1.0))) else { break };
            let (mut sum, mut largest) = (0.0f64, 0.0f64);
            for ((row, weight), l) in rows.iter().zip(&*weights).zip(&mut *multipliers) {
                let along = row.dot(&theta);
                *l = weight * along;
                sum += l.abs().powf(P);
                largest += along.abs().powf(dual);
            }
            let (value, largest) = (sum.powf(1.0 / P), largest.powf(1.0 / dual));
            if !(value.is_finite() && largest > 0.0) {
                break;
            }
            if !*found || value <= best.value {
                best.multipliers.clone_from(multipliers);
                (best.value, best.theta, *found) = (value, theta * (value / theta[p]), true);
            }
            if value * largest <= theta[p] * (1.0 + gap) {
                break;
            }
            let smallest = 1e-9 * value;
            weights.iter_mut().zip(&*multipliers).for_each(|(w, l)| *w = l.abs().max(smallest).powf(2.0 - P));
        }
    }

    /// What was found last.
    pub fn found(&self) -> Option<&HalfWidth> {
        self.found.then_some(&self.best)
    }
}

/// One search, see [`Search::run`].
pub fn half_width(rows: &[Row], p: usize, gap: f64) -> Option<HalfWidth> {
    let mut search = Search::default();
    search.run(rows, p, gap);
    search.found.then_some(search.best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random_rows(rng: &mut ChaCha8Rng, count: usize) -> Vec<Row> {
        let data = (0..count).map(|_| Row::from_fn(|_, _| rng.random_range(-3.0..3.0)));
        (0..INERTIAL).map(|p| Row::ith(p, 1.0)).chain(data.collect::<Vec<_>>()).collect()
    }

    #[test]
    fn the_multipliers_balance_and_theta_reaches_the_width() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for count in [0, 3, 40, 400] {
            let rows = random_rows(&mut rng, count);
            for p in 0..INERTIAL {
                let found = half_width(&rows, p, 0.01).unwrap();
                let mut balance = -Row::ith(p, 1.0);
                rows.iter().zip(&found.multipliers).for_each(|(row, l)| balance += row * *l);
                assert!(balance.amax() < 1e-8, "{balance}");
                let sum: f64 = found.multipliers.iter().map(|l| l.abs().powf(P)).sum();
                assert!((sum.powf(1.0 / P) / found.value - 1.0).abs() < 1e-12);
                let dual = P / (P - 1.0);
                let reached: f64 = rows.iter().map(|row| row.dot(&found.theta).abs().powf(dual)).sum();
                let reached = found.theta[p] / reached.powf(1.0 / dual);
                assert!(
                    reached <= found.value * (1.0 + 1e-9) && found.value <= reached * 1.03,
                    "{count} {p}"
                );
            }
        }
    }

    #[test]
    fn open_directions_and_undefined_rows_have_no_width() {
        assert!(half_width(&[Row::ith(0, 1.0)], 0, 0.01).is_none());
        let mut rows = random_rows(&mut ChaCha8Rng::seed_from_u64(2), 5);
        rows[12][3] = f64::NAN;
        assert!(half_width(&rows, 0, 0.01).is_none());
    }
}
