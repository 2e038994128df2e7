//! Search by adaptation of a covariance matrix (CMA-ES; Hansen 2016, "The CMA evolution strategy: a tutorial", arXiv:1604.00772).
//!
//! Points are drawn from a normal distribution, and the best half of them tells where it goes on and how it is stretched. Nothing but the order of points enters, so the measure may have
//! kinks and holes. Learning rates are those of the tutorial's first version. Weights are not negative, a generation has an even number of points, and the step is halved where no point is
//! of any use.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;

/// Smallest eigenvalue of the covariance that is drawn from, as a share of the largest: roundings make less of them.
const LEAST: f64 = 1e-14;

/// Standard deviation below which points differ by roundings, for coordinates of about 1.
const SETTLED: f64 = 1e-12;

/// The distribution that points are drawn from.
#[derive(Debug, Clone)]
pub(in crate::study) struct Adaptation {
    mean: DVector<f64>,
    /// Step: the standard deviation of a coordinate is this times the root of its variance.
    sigma: f64,
    covariance: DMatrix<f64>,
    /// Eigenvectors of the covariance, and roots of its eigenvalues.
    axes: DMatrix<f64>,
    lengths: DVector<f64>,
    /// Paths of the mean: of whitened steps, and of steps.
    path: [DVector<f64>; 2],
    /// Weights of the best points, best first.
    weights: Vec<f64>,
    /// Points a generation.
    count: usize,
    generation: i32,
    /// Generations since the axes were found.
    age: usize,
}

/// The tutorial's learning rates.
struct Rates {
    effective: f64,
    sigma: f64,
    damping: f64,
    path: f64,
    rank_one: f64,
    rank_many: f64,
    /// Expected length of a whitened step.
    length: f64,
}

impl Adaptation {
    /// Points around `start`, in the mean `sigma` from it along each axis.
    pub fn new(start: &[f64], sigma: f64) -> Self {
        let n = start.len();
        let count = 2 * (2.0 + 1.5 * (n as f64).ln()).ceil() as usize;
        let best = count / 2;
        let raw: Vec<f64> = (1..=best).map(|k| ((best as f64 + 0.5) / k as f64).ln()).collect();
        let sum: f64 = raw.iter().sum();
        Self {
            mean: DVector::from_column_slice(start),
            sigma,
            covariance: DMatrix::identity(n, n),
            axes: DMatrix::identity(n, n),
            lengths: DVector::from_element(n, 1.0),
            path: [DVector::zeros(n), DVector::zeros(n)],
            weights: raw.into_iter().map(|w| w / sum).collect(),
            count,
            generation: 0,
            age: 0,
        }
    }

    fn rates(&self) -> Rates {
        let n = self.mean.len() as f64;
        let m = 1.0 / self.weights.iter().map(|w| w * w).sum::<f64>();
        let sigma = (m + 2.0) / (n + m + 5.0);
        let rank_one = 2.0 / ((n + 1.3).powi(2) + m);
        let rank_many = 2.0 * (m - 2.0 + 1.0 / m) / ((n + 2.0).powi(2) + m);
        Rates {
            effective: m,
            sigma,
            damping: 1.0 + 2.0 * (((m - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + sigma,
            path: (4.0 + m / n) / (n + 4.0 + 2.0 * m / n),
            rank_one,
            rank_many: rank_many.min(1.0 - rank_one),
            length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        }
    }

    /// The points of a generation.
    pub fn draw(&self, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let n = self.mean.len();
        let one = |_| {
            let z = DVector::from_fn(n, |i, _| self.lengths[i] * normal(rng));
            (&self.mean + self.sigma * (&self.axes * z)).as_slice().to_vec()
        };
        (0..self.count).map(one).collect()
    }

    /// Whether points are drawn so near to each other that nothing more is found.
    pub fn is_settled(&self) -> bool {
        !(self.sigma * self.lengths.max() >= SETTLED)
    }

    /// Learns from the points of a generation, best first; those that count for nothing may be left out at the end.
    pub fn learn(&mut self, ranked: &[&[f64]]) {
        let steps: Vec<DVector<f64>> = ranked
            .iter()
            .take(self.weights.len())
            .map(|x| (DVector::from_column_slice(x) - &self.mean) / self.sigma)
            .collect();
        if steps.is_empty() {
            // Nothing was of any use: nearer to where something was.
            self.sigma *= 0.5;
            return;
        }
        let rates = self.rates();
        let n = self.mean.len();
        let together =
            steps.iter().zip(&self.weights).fold(DVector::zeros(n), |sum, (step, w)| sum + step * *w);
        self.mean += self.sigma * &together;
        self.generation += 1;
        let whitened = &self.axes * (self.axes.tr_mul(&together)).component_div(&self.lengths);
        let [ps, pc] = &mut self.path;
        *ps = &*ps * (1.0 - rates.sigma)
            + whitened * (rates.sigma * (2.0 - rates.sigma) * rates.effective).sqrt();
        let settled = (1.0 - (1.0 - rates.sigma).powi(2 * self.generation)).sqrt();
        let short = ps.norm() / settled < (1.4 + 2.0 / (n as f64 + 1.0)) * rates.length;
        *pc *= 1.0 - rates.path;
        if short {
            *pc += together * (rates.path * (2.0 - rates.path) * rates.effective).sqrt();
        }
        let lost = if short { 0.0 } else { rates.rank_one * rates.path * (2.0 - rates.path) };
        let weight: f64 = self.weights[..steps.len()].iter().sum();
        self.covariance *= 1.0 + lost - rates.rank_one - rates.rank_many * weight;
        self.covariance.ger(rates.rank_one, &*pc, &*pc, 1.0);
        for (step, w) in steps.iter().zip(&self.weights) {
            self.covariance.ger(rates.rank_many * w, step, step, 1.0);
        }
        self.sigma *= (rates.sigma / rates.damping * (ps.norm() / rates.length - 1.0)).exp();
        self.age += 1;
        // Finding the axes costs n^3, the rest n^2 a point.
        if self.age as f64 > 0.1 / ((rates.rank_one + rates.rank_many) * n as f64) {
            self.find_axes();
        }
    }

    fn find_axes(&mut self) {
        self.age = 0;
        let symmetric = 0.5 * (&self.covariance + self.covariance.transpose());
        let eigen = SymmetricEigen::new(symmetric.clone());
        let least = LEAST * eigen.eigenvalues.max();
        self.lengths = eigen.eigenvalues.map(|x| x.max(least).sqrt());
        self.axes = eigen.eigenvectors;
        self.covariance = symmetric;
    }
}

/// A number of the standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn search(value: impl Fn(&[f64]) -> f64, start: &[f64], generations: usize) -> f64 {
        let (mut adaptation, mut best) = (Adaptation::new(start, 0.3), f64::INFINITY);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..generations {
            let points = adaptation.draw(&mut rng);
            let mut ranked: Vec<(f64, &[f64])> = points.iter().map(|x| (value(x), x.as_slice())).collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            best = best.min(ranked[0].0);
            adaptation.learn(&ranked.iter().map(|(_, x)| *x).collect::<Vec<_>>());
        }
        best
    }

    /// A narrow ellipsoid that lies across the axes: drawing around the best point alone would go down it slowly.
    #[test]
    fn a_narrow_valley_is_learnt() {
        let n = 10;
        let value = |x: &[f64]| -> f64 {
            let sum: f64 = x.iter().sum::<f64>() / (n as f64).sqrt();
            x.iter().map(|x| 1e4 * x * x).sum::<f64>() - (1e4 - 1.0) * sum * sum
        };
        assert!(search(value, &vec![1.0; n], 600) < 1e-8);
        // Rosenbrock's valley is bent besides.
        let bent = |x: &[f64]| -> f64 {
            x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum()
        };
        assert!(search(bent, &[0.0; 6], 900) < 1e-8);
    }

    #[test]
    fn points_that_are_of_no_use_bring_the_next_ones_nearer() {
        let mut adaptation = Adaptation::new(&[0.0; 4], 1.0);
        adaptation.learn(&[]);
        assert_eq!(adaptation.sigma, 0.5);
        assert!(!adaptation.is_settled());
        (0..60).for_each(|_| adaptation.learn(&[]));
        assert!(adaptation.is_settled());
    }
}
