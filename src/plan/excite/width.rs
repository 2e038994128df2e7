//! How wide a guaranteed interval will be: the identifier's linear program, foreseen.
//!
//! A row a says |a theta| <= 1 about what is not known yet of the parameters, theta: the ten of the object in the hand, and those
//! of the arm that all rows share. The half-width in direction d
//! is the largest d'theta, and by duality the least sum |l_j| over all l with A'l = d: the identifier proves its bounds with
//! such an l (`identify`), so this is the width that it will reach, not a variance. That least sum has kinks where another
//! row takes over, at which a gradient search stops; so it is taken in the norm (sum |l_j|^P)^(1/P) with P a little above one,
//! which has none.
//!
//! It is found in the dual, theta: the least sum |a_j theta|^Q with theta_d = 1, 1/P + 1/Q = 1, by Newton's method. Any weights w
//! give a feasible l, l_j = w_j a_j t with (A' W A) t = d; with w_j = |a_j theta|^(Q - 2) it is that of the minimiser at the end,
//! and t - theta is Newton's direction on the way. The norm of l is an upper bound, d'theta over the norm of A theta a lower one.

/// Rows of one width: the present intervals of all unknowns (multiples of unit vectors), then measurements over their largest
/// errors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// Entries a row.
    pub width: usize,
    /// Row-major.
    pub entries: Vec<f64>,
}

impl Rows {
    /// The rows in turn.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.entries.chunks_exact(self.width.max(1))
    }

    fn len(&self) -> usize {
        self.entries.len() / self.width.max(1)
    }
}

/// Exponent of the norm. One would be the identifier's own; two is that of least squares. [`power`] knows it.
pub const P: f64 = 1.25;
/// The dual exponent.
const Q: i32 = 5;
/// Newton steps at most.
const ROUNDS: usize = 60;
/// Steps that are tried along Newton's direction, whose own length is 1 / (Q - 1).
const STEPS: [f64; 4] = [0.25, 0.5, 1.0, 0.06];
/// Measurements whose weight is below this share of the largest are left out for the moment.
const LIGHT: f64 = 1e-6;
/// What the weight of a present interval keeps at least, so that no direction is open.
const LEAST: f64 = 1e-12;

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
    weights: Vec<f64>,
    /// a_j theta, and a_j t.
    along: Vec<f64>,
    along_target: Vec<f64>,
    theta: Vec<f64>,
    target: Vec<f64>,
    /// Upper triangle, row-major.
    normal: Vec<f64>,
    best: HalfWidth,
    found: bool,
}

impl Default for Search {
    fn default() -> Self {
        let best = HalfWidth { value: f64::NAN, multipliers: vec![], theta: vec![] };
        let (weights, along, along_target) = (vec![], vec![], vec![]);
        let (theta, target, normal) = (vec![], vec![], vec![]);
        Self { weights, along, along_target, theta, target, normal, best, found: false }
    }
}

impl Search {
    /// Half-width of unknown `p`, within the relative `gap`; none is found where the rows leave a direction open or are not
    /// finite.
    pub fn run(&mut self, rows: &Rows, p: usize, gap: f64) {
        self.found = false;
        self.theta.clear();
        for list in [&mut self.weights, &mut self.along, &mut self.along_target] {
            list.clear();
            list.resize(rows.len(), 1.0);
        }
        let mut highest = 0.0;
        for round in 0..ROUNDS {
            let lower = if round > 0 { self.weigh(rows) } else { 0.0 };
            // Rows that weigh nothing can make the last digits useless: the round before stands.
            if !self.solve_weighted(rows, p) {
                break;
            }
            let mut sum = 0.0;
            for ((row, &weight), along) in rows.iter().zip(&self.weights).zip(&mut self.along_target) {
                *along = dot(row, &self.target);
                sum += power(weight * *along);
            }
            let value = sum.powf(1.0 / P);
            if !value.is_finite() {
                break;
            }
            if round == 0 {
                self.theta.extend(self.target.iter().map(|t| t / self.target[p]));
            }
            if !self.found || value <= self.best.value {
                let multipliers = self.weights.iter().zip(&self.along_target).map(|(w, along)| w * along);
                self.best.multipliers.clear();
                self.best.multipliers.extend(multipliers);
                self.best.value = value;
            }
            // The norm of l changes with A by its theta: that of the highest lower bound is the nearest to it.
            if !self.found || lower > highest {
                highest = lower;
                self.best.theta.clone_from(&self.theta);
            }
            self.found = true;
            if value <= lower * (1.0 + gap) {
                break;
            }
            if round > 0 {
                let share = self.step(p);
                let to = share / self.target[p];
                let ends = self.theta.iter_mut().zip(&self.target);
                ends.for_each(|(theta, t)| *theta = (1.0 - share) * *theta + to * t);
            }
        }
        let scale = self.best.value;
        self.best.theta.iter_mut().for_each(|theta| *theta *= scale);
    }

    /// Weighs the rows at theta, which is one in component p; returns the lower bound of the half-width that it gives.
    fn weigh(&mut self, rows: &Rows) -> f64 {
        let (mut largest, mut sum) = (0.0f64, 0.0);
        for (row, along) in rows.iter().zip(&mut self.along) {
            *along = dot(row, &self.theta);
            largest = largest.max(along.abs());
        }
        for (j, (along, weight)) in self.along.iter().zip(&mut self.weights).enumerate() {
            let share = along.abs() / largest;
            sum += share.powi(Q);
            let own = share.powi(Q - 2);
            // The first rows are the present intervals.
            *weight = if j < rows.width {
                own.max(LEAST)
            } else if own < LIGHT {
                0.0
            } else {
                own
            };
        }
        1.0 / (largest * sum.powf(1.0 / f64::from(Q)))
    }

    /// Puts t of the weighted rows into `target`; false where that cannot be.
    fn solve_weighted(&mut self, rows: &Rows, p: usize) -> bool {
        let (width, normal) = (rows.width, &mut self.normal);
        normal.clear();
        normal.resize(width * width, 0.0);
        for (row, &weight) in rows.iter().zip(&self.weights) {
            if weight == 0.0 {
                continue;
            }
            for (i, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                let by = weight * x;
                let line = &mut normal[width * i + i..width * (i + 1)];
                line.iter_mut().zip(&row[i..]).for_each(|(sum, y)| *sum += by * y);
            }
        }
        if !factorise(normal, width) {
            return false;
        }
        self.target.clear();
        self.target.resize(width, 0.0);
        self.target[p] = 1.0;
        solve(normal, &mut self.target);
        self.target[p] > 0.0
    }

    /// How far to go from theta to t: the best of a few shares.
    fn step(&self, p: usize) -> f64 {
        let norm = |share: f64| -> f64 {
            let to = share / self.target[p];
            let ends = self.along.iter().zip(&self.along_target);
            ends.map(|(x, y)| ((1.0 - share) * x + to * y).abs().powi(Q)).sum()
        };
        STEPS.iter().copied().min_by(|&x, &y| norm(x).total_cmp(&norm(y))).unwrap_or(STEPS[0])
    }

    /// What was found last.
    pub fn found(&self) -> Option<&HalfWidth> {
        self.found.then_some(&self.best)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The upper triangle U of U'U in place of that of the matrix; false if it is not positive definite.
fn factorise(matrix: &mut [f64], width: usize) -> bool {
    for k in 0..width {
        let (above, below) = matrix.split_at_mut(width * (k + 1));
        let line = &mut above[width * k + k..];
        let root = line[0].sqrt();
        if !(root.is_finite() && root > 0.0) {
            return false;
        }
        line.iter_mut().for_each(|x| *x /= root);
        for (m, target) in below.chunks_exact_mut(width).enumerate() {
            let by = line[m + 1];
            if by != 0.0 {
                let target = &mut target[k + 1 + m..];
                target.iter_mut().zip(&line[m + 1..]).for_each(|(x, y)| *x -= by * y);
            }
        }
    }
    true
}

/// U'U x = b, in place of b.
fn solve(factor: &[f64], b: &mut [f64]) {
    let width = b.len();
    for (k, line) in factor.chunks_exact(width).enumerate() {
        b[k] /= line[k];
        let by = b[k];
        b[k + 1..].iter_mut().zip(&line[k + 1..]).for_each(|(x, y)| *x -= by * y);
    }
    for (k, line) in factor.chunks_exact(width).enumerate().rev() {
        b[k] = (b[k] - dot(&line[k + 1..], &b[k + 1..])) / line[k];
    }
}

/// One search, see [`Search::run`].
pub fn half_width(rows: &Rows, p: usize, gap: f64) -> Option<HalfWidth> {
    let mut search = Search::default();
    search.run(rows, p, gap);
    search.found.then_some(search.best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const WIDTH: usize = 13;

    fn random_rows(rng: &mut ChaCha8Rng, count: usize) -> Rows {
        let mut entries = vec![0.0; WIDTH * WIDTH];
        (0..WIDTH).for_each(|p| entries[WIDTH * p + p] = 1.0);
        entries.extend((0..WIDTH * count).map(|_| rng.random_range(-3.0..3.0)));
        Rows { width: WIDTH, entries }
    }

    #[test]
    fn the_multipliers_balance_and_theta_reaches_the_width() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut again = Search::default();
        for count in [0, 3, 40, 400] {
            let rows = random_rows(&mut rng, count);
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
                let reached: f64 = rows.iter().map(|row| dot(row, &found.theta).abs().powf(dual)).sum();
                let reached = found.theta[p] / reached.powf(1.0 / dual);
                assert!(
                    reached <= found.value * (1.0 + 1e-9) && found.value <= reached * 1.03,
                    "{count} {p}: {reached} {}",
                    found.value
                );
                // In storage that another one left.
                again.run(&rows, p, 0.01);
                assert_eq!(again.found().map(|other| other.value), Some(found.value));
            }
        }
    }

    #[test]
    fn open_directions_and_undefined_rows_have_no_width() {
        let mut entries = vec![0.0; WIDTH];
        entries[0] = 1.0;
        assert!(half_width(&Rows { width: WIDTH, entries }, 0, 0.01).is_none());
        let mut rows = random_rows(&mut ChaCha8Rng::seed_from_u64(2), 5);
        rows.entries[WIDTH * (WIDTH + 2) + 3] = f64::NAN;
        assert!(half_width(&rows, 0, 0.01).is_none());
    }
}
