//! How wide a guaranteed interval will be: the identifier's linear program, foreseen.
//!
//! A row a says |a theta| <= 1 about what is not known yet of the parameters, theta: the ten of the object in the hand, and those
//! of the arm that all rows share. The half-width in direction d
//! is the largest d'theta, and by duality the least sum |l_j| over all l with A'l = d: the identifier proves its bounds with
//! such an l (`identify`), so this is the width that it will reach, not a variance. That least sum has kinks where another
//! row takes over, at which a gradient search stops; so it is taken in the norm (sum |l_j|^P)^(1/P) with P a little above one,
//! which has none.
//!
//! It is found in the dual, theta: the least sum |a_j theta|^Q with theta_d = 1, 1/P + 1/Q = 1. At its minimiser the slopes of the
//! sum, g = A'l with l_j = |a_j theta|^(Q - 1) sign(a_j theta), are a multiple of d, and l over that multiple is the l sought. On the
//! way d'theta over the norm of A theta is a lower bound, and the norm of any l with A'l = d an upper one, and both say when to end.
//!
//! The search is Newton's method with weights w_j = |a_j theta|^(Q - 2), an exact search along its direction, and a damping that
//! adds A'A to Newton's matrix A'WA: a row that is nearly zero now has no weight, but may grow to anything on the way that Newton's
//! matrix alone would go, the more so where some rows are larger than others by powers of ten. How much is added follows from
//! how far the last direction could be followed.

use crate::linear::triangular::{add_times, ordered_dot, solve_factored, triangularise};

/// Rows of one width: the present intervals of all unknowns (the unit vectors in turn), then measurements over their largest
/// errors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WidthRows {
    /// Entries a row.
    pub width: usize,
    /// Row-major.
    pub entries: Vec<f64>,
}

impl WidthRows {
    /// The rows in turn.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.entries.chunks_exact(self.width.max(1))
    }

    /// Puts the triangular factor U, U'U = A'A, into `factor` (row-major, at the top), with storage `sums`; false if it has none.
    pub fn factor(&self, factor: &mut Vec<f64>, sums: &mut Vec<f64>) -> bool {
        factor.clone_from(&self.entries);
        self.len() >= self.width && triangularise(factor, self.width, sums)
    }

    fn len(&self) -> usize {
        self.entries.len() / self.width.max(1)
    }
}

/// Exponent of the norm. One would be the identifier's own; two is that of least squares. `power` knows it.
pub const P: f64 = 1.25;
/// The dual exponent.
const Q: i32 = 5;
/// Newton steps at most. The number is only there to end.
const ROUNDS: usize = 100;
/// Evaluations along a direction at most. The search along it is Newton's too, so a few suffice.
const TRIALS: usize = 12;
/// Share of A'A, against the largest weight, in Newton's matrix at first; what it grows by after a direction that leads less than
/// [`SHORT`] of its length and shrinks by after others; and where it ends, as a share of the gap. Rows that weigh less are left
/// out of A'WA (not of the slopes, which alone decide where the search ends).
const DAMPING: f64 = 1e-2;
/// See [`DAMPING`].
const CHANGE: f64 = 8.0;
/// See [`DAMPING`]. Newton's own step has a length of 1 / (Q - 1).
const SHORT: f64 = 0.1;
/// See [`DAMPING`].
const LEAST: f64 = 1e-4;

/// |x|^P.
fn power(x: f64) -> f64 {
    let x = x.abs();
    x * x.sqrt().sqrt()
}

/// The least norm of l, its l, and the theta that belongs to it.
#[derive(Debug, Clone)]
pub struct HalfWidth {
    /// Norm of l, at most 1 + gap times the least.
    pub value: f64,
    /// l, one a row; d value / d a_j = -l_j theta.
    pub multipliers: Vec<f64>,
    /// theta, scaled so that its component in the direction asked for is `value`.
    pub theta: Vec<f64>,
}

/// A search for a half-width, in storage that it keeps.
#[derive(Debug, Clone)]
pub struct Search {
    /// |a_j theta|^(Q - 2) over the largest.
    weights: Vec<f64>,
    /// A theta, and what it changes by along the direction.
    along: Vec<f64>,
    change: Vec<f64>,
    theta: Vec<f64>,
    /// Slopes of the sum, and solutions of Newton's linear system.
    slopes: Vec<f64>,
    direction: Vec<f64>,
    target: Vec<f64>,
    /// Row-major, its upper triangle at the top.
    factor: Vec<f64>,
    offered: Vec<f64>,
    balance: Vec<f64>,
    best: HalfWidth,
    found: bool,
}

impl Default for Search {
    fn default() -> Self {
        let best = HalfWidth { value: f64::NAN, multipliers: vec![], theta: vec![] };
        let (weights, along, change, theta) = (vec![], vec![], vec![], vec![]);
        let (slopes, direction, target, factor) = (vec![], vec![], vec![], vec![]);
        let (offered, balance) = (vec![], vec![]);
        Self {
            weights,
            along,
            change,
            theta,
            slopes,
            direction,
            target,
            factor,
            offered,
            balance,
            best,
            found: false,
        }
    }
}

impl Search {
    /// Half-width of unknown `p`, within the relative `gap` or as near as the digits allow; `whole` is the factor of all rows
    /// ([`WidthRows::factor`]). None is found where rows are not finite.
    pub fn run(&mut self, rows: &WidthRows, whole: &[f64], p: usize, gap: f64) {
        self.found = false;
        self.best.value = f64::INFINITY;
        let width = rows.width;
        if whole.len() < width * width || rows.len() < width {
            return;
        }
        for list in [&mut self.weights, &mut self.along, &mut self.change] {
            list.clear();
            list.resize(rows.len(), 0.0);
        }
        // Least squares to begin with.
        aim(whole, p, width, &mut self.theta);
        let scale = 1.0 / self.theta[p];
        self.theta.iter_mut().for_each(|theta| *theta *= scale);
        let least = LEAST * gap;
        let (mut damping, mut before) = (DAMPING, 0.0);
        for _ in 0..ROUNDS {
            let lower = self.weigh_rows(rows);
            // The sum shrinks in every round; where it does not, all digits are spent.
            if !(lower.is_finite() && lower > before) {
                break;
            }
            before = lower;
            self.take_slopes(rows);
            if !self.factorise(rows, whole, damping) {
                break;
            }
            aim(&self.factor, p, width, &mut self.target);
            self.offers(rows, p, damping);
            self.best.theta.clone_from(&self.theta);
            if self.best.value <= lower * (1.0 + gap) {
                break;
            }
            let step = self.advance(rows, p);
            if !(step.is_finite() && step > 0.0) {
                break;
            }
            damping = if step < SHORT { (damping * CHANGE).min(1.0) } else { (damping / CHANGE).max(least) };
        }
        self.found = self.best.value.is_finite();
        let scale = self.best.value;
        self.best.theta.iter_mut().for_each(|theta| *theta *= scale);
    }

    /// Weighs the rows at theta, which is one in component p; returns the lower bound of the half-width that it gives.
    fn weigh_rows(&mut self, rows: &WidthRows) -> f64 {
        let (mut largest, mut sum) = (0.0f64, 0.0);
        for (row, along) in rows.iter().zip(&mut self.along) {
            *along = ordered_dot(row, &self.theta);
            largest = largest.max(along.abs());
        }
        for (along, weight) in self.along.iter().zip(&mut self.weights) {
            let share = along.abs() / largest;
            sum += share.powi(Q);
            *weight = share.powi(Q - 2);
        }
        1.0 / (largest * sum.powf(1.0 / f64::from(Q)))
    }

    /// Puts A'WA theta into `slopes`.
    fn take_slopes(&mut self, rows: &WidthRows) {
        self.slopes.clear();
        self.slopes.resize(rows.width, 0.0);
        for (row, (weight, along)) in rows.iter().zip(self.weights.iter().zip(&self.along)) {
            let by = weight * along;
            add_times(&mut self.slopes, by, row);
        }
    }

    /// The triangular factor of Newton's matrix; false where that cannot be. It is made of rows, not of their products, of which the
    /// small ones would be lost.
    fn factorise(&mut self, rows: &WidthRows, whole: &[f64], damping: f64) -> bool {
        let root = damping.sqrt();
        self.factor.clear();
        self.factor.extend(whole[..rows.width * rows.width].iter().map(|x| root * x));
        for (row, &weight) in rows.iter().zip(&self.weights).filter(|(_, weight)| **weight > damping) {
            let root = weight.sqrt();
            self.factor.extend(row.iter().map(|x| root * x));
        }
        triangularise(&mut self.factor, rows.width, &mut self.balance)
    }

    /// Offers the l of Newton's system, and that of theta with what it lacks of A'l = d made up for by the system.
    fn offers(&mut self, rows: &WidthRows, p: usize, damping: f64) {
        let share = 1.0 / ordered_dot(&self.slopes, &self.theta);
        self.direction.clone_from(&self.target);
        self.offer(rows, p, 0.0, damping);
        self.direction.clear();
        self.direction.extend(self.slopes.iter().map(|slope| -share * slope));
        self.direction[p] += 1.0;
        solve_factored(&self.factor, rows.width, &mut self.direction);
        self.offer(rows, p, share, damping);
    }

    /// Offers l = `share` W A theta + W' A x, x in `direction` and W' the weights of Newton's matrix. What is still lacking, which is
    /// little, the intervals make up for. The best is kept.
    fn offer(&mut self, rows: &WidthRows, p: usize, share: f64, damping: f64) {
        self.offered.clear();
        self.balance.clear();
        self.balance.resize(rows.width, 0.0);
        self.balance[p] = 1.0;
        for (row, (&weight, along)) in rows.iter().zip(self.weights.iter().zip(&self.along)) {
            let system = damping + if weight > damping { weight } else { 0.0 };
            let l = share * weight * along + system * ordered_dot(row, &self.direction);
            add_times(&mut self.balance, -l, row);
            self.offered.push(l);
        }
        self.offered.iter_mut().zip(&self.balance).for_each(|(l, lack)| *l += lack);
        let value = self.offered.iter().map(|&l| power(l)).sum::<f64>().powf(1.0 / P);
        if value < self.best.value {
            self.best.value = value;
            std::mem::swap(&mut self.best.multipliers, &mut self.offered);
        }
    }

    /// Moves theta along Newton's direction to where the sum is least; returns how far that was.
    fn advance(&mut self, rows: &WidthRows, p: usize) -> f64 {
        self.direction.clone_from(&self.slopes);
        solve_factored(&self.factor, rows.width, &mut self.direction);
        let share = self.direction[p] / self.target[p];
        for (direction, target) in self.direction.iter_mut().zip(&self.target) {
            *direction = share * target - *direction;
        }
        self.direction[p] = 0.0;
        rows.iter()
            .zip(&mut self.change)
            .for_each(|(row, change)| *change = ordered_dot(row, &self.direction));
        let step = self.least_along();
        self.theta.iter_mut().zip(&self.direction).for_each(|(theta, by)| *theta += step * by);
        step
    }

    /// The step at which the sum of |along + step change|^Q is least, by Newton's method between bounds.
    fn least_along(&self) -> f64 {
        let (mut low, mut high, mut step) = (0.0, f64::INFINITY, 1.0 / f64::from(Q - 1));
        for _ in 0..TRIALS {
            let (mut slope, mut bend) = (0.0, 0.0);
            for (along, change) in self.along.iter().zip(&self.change) {
                let x = along + step * change;
                let cube = x.abs().powi(Q - 2) * change;
                slope += cube * x;
                bend += f64::from(Q - 1) * cube * change;
            }
            if slope < 0.0 {
                low = step;
            } else {
                high = step;
            }
            let newton = step - slope / bend;
            let within = newton > low && newton < high;
            let next = match (within, high.is_finite()) {
                (true, _) => newton,
                (false, true) => 0.5 * (low + high),
                (false, false) => 2.0 * step,
            };
            let done = (next - step).abs() < 1e-3 * step;
            step = next;
            if done {
                break;
            }
        }
        step
    }

    /// What was found last.
    pub fn found(&self) -> Option<&HalfWidth> {
        self.found.then_some(&self.best)
    }
}

/// U'U x = the unit vector p, into `x`.
fn aim(factor: &[f64], p: usize, width: usize, x: &mut Vec<f64>) {
    x.clear();
    x.resize(width, 0.0);
    x[p] = 1.0;
    solve_factored(factor, width, x);
}

/// One search, see [`Search::run`].
pub fn half_width(rows: &WidthRows, p: usize, gap: f64) -> Option<HalfWidth> {
    let (mut search, mut whole) = (Search::default(), Vec::new());
    if rows.factor(&mut whole, &mut Vec::new()) {
        search.run(rows, &whole, p, gap);
    }
    search.found.then_some(search.best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    const WIDTH: usize = 13;

    fn random_rows(rng: &mut ChaCha8Rng, count: usize) -> WidthRows {
        let mut entries = vec![0.0; WIDTH * WIDTH];
        (0..WIDTH).for_each(|p| entries[WIDTH * p + p] = 1.0);
        entries.extend((0..WIDTH * count).map(|_| rng.random_range(-3.0..3.0)));
        WidthRows { width: WIDTH, entries }
    }

    #[test]
    fn the_multipliers_balance_and_theta_reaches_the_width() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut again = Search::default();
        for count in [0, 3, 40, 400] {
            let (rows, mut whole) = (random_rows(&mut rng, count), vec![]);
            assert!(rows.factor(&mut whole, &mut Vec::new()));
            for p in 0..WIDTH {
                let found = half_width(&rows, p, 0.01).unwrap();
                let mut balance = vec![0.0; WIDTH];
                balance[p] = -1.0;
                for (row, l) in rows.iter().zip(&found.multipliers) {
                    balance.iter_mut().zip(row).for_each(|(sum, a)| *sum += l * a);
                }
                assert!(balance.iter().all(|x| x.abs() < 1e-8), "{balance:?}");
                let sum: f64 = found.multipliers.iter().map(|l| l.abs().powf(P)).sum();
                assert!((sum.powf(1.0 / P) / found.value - 1.0).abs() < 1e-12);
                let dual = P / (P - 1.0);
                let reached: f64 =
                    rows.iter().map(|row| ordered_dot(row, &found.theta).abs().powf(dual)).sum();
                let reached = found.theta[p] / reached.powf(1.0 / dual);
                assert!(
                    reached <= found.value * (1.0 + 1e-9) && found.value <= reached * 1.03,
                    "{count} {p}: {reached} {}",
                    found.value
                );
                // In storage that another one left.
                again.run(&rows, &whole, p, 0.01);
                assert_eq!(again.found().map(|other| other.value), Some(found.value));
            }
        }
    }

    /// Rows of precise sensors are larger than the intervals by many powers of ten, and some unknowns they do not see.
    #[test]
    fn the_gap_is_closed_whatever_the_scale() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for power in -2..7 {
            // At the upper end of it the last digits are spent.
            let least = if power < 4 { 1e-9 } else { 1e-6 };
            for (rank, gap) in [(3, least), (9, least), (WIDTH, least), (9, 0.01)] {
                let mut rows = random_rows(&mut rng, 60);
                let parts: Vec<f64> = (0..rank * WIDTH).map(|_| rng.random_range(-1.0..1.0)).collect();
                for row in rows.entries.chunks_exact_mut(WIDTH).skip(WIDTH) {
                    row.fill(0.0);
                    for part in parts.chunks_exact(WIDTH) {
                        let by = 10f64.powi(power) * rng.random_range(-1.0..1.0);
                        row.iter_mut().zip(part).for_each(|(x, part)| *x += by * part);
                    }
                }
                for p in 0..WIDTH {
                    let found = half_width(&rows, p, gap).unwrap();
                    let reached: f64 =
                        rows.iter().map(|row| ordered_dot(row, &found.theta).abs().powi(Q)).sum();
                    let reached = found.theta[p] / reached.powf(0.2);
                    assert!(
                        found.value <= reached * (1.0 + gap) && found.value <= 1.0 + gap,
                        "{power} {rank} {p}"
                    );
                }
            }
        }
    }

    #[test]
    fn open_directions_and_undefined_rows_have_no_width() {
        let mut entries = vec![0.0; WIDTH];
        entries[0] = 1.0;
        assert!(half_width(&WidthRows { width: WIDTH, entries }, 0, 0.01).is_none());
        let mut rows = random_rows(&mut ChaCha8Rng::seed_from_u64(2), 5);
        rows.entries[WIDTH * (WIDTH + 2) + 3] = f64::NAN;
        assert!(half_width(&rows, 0, 0.01).is_none());
    }
}
