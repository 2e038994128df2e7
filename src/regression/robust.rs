//! Reweighted least squares for samples of several joints at once: outliers of a whole sample lose their pull, and joints count by
//! the covariance of their errors.
//!
//! With residuals e_s = Y_s z - u_s of sample s and their covariance Omega, the distance d_s = |Omega^(-1/2) e_s| of a
//! normal error with m joints has d^2 chi-square with m degrees of freedom. Rounds repeat: weights from d, covariance from the
//! weighted residuals, Omega = sum w e e' / sum w, scaled so that the median of d^2 is that of chi-square; then the weighted fit. First
//! come Huber's weights min(1, c / d), which have one minimum, then Tukey's (1 - (d / c)^2)^2, which ignore what is far off.
//! A weight is computed anew in every round, so a sample that was rejected may come back.
//!
//! [`reweight_each`] weighs every row by itself instead.
//!
//! Rows may be unknown. Of a sample only the known ones count: with their block of Omega, and as many degrees of freedom. An entry of Omega is then a mean over the
//! samples of which both rows are known. Such a matrix need not be a covariance, so correlations are halved as long as they make any error too sure.

use std::borrow::Cow;

use nalgebra::{Cholesky, DMatrix, DVector};

use super::error::RegressionError;

/// Probabilities that a normal sample keeps its full weight by Huber, and any weight by Tukey.
const HUBER: f64 = 0.9;
const TUKEY: f64 = 0.9999;
/// Spreads beyond which a row by itself loses weight (Huber 1964: 95 % efficient if errors are normal), and the median of a normal error's size.
const HUBER_ROW: f64 = 1.345;
const NORMAL_MEDIAN: f64 = 0.6745;
/// Errors of joints smaller than this share of the largest are rounding: they do not count as exact.
const LEAST: f64 = 1e-9;
/// Where rows are unknown, correlations may make an error so many times as sure as it is by itself; and how often they are halved for it.
const SURE: f64 = 5.0;
const HALVINGS: usize = 60;

/// When rounds end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// Rounds of each kind at most.
    pub most: usize,
    /// Rounds of a kind end where what an estimate explains moves by less than this share of the right-hand side's length.
    pub settled: f64,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { most: 20, settled: 1e-5 }
    }
}

/// Samples of `joints` rows each.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRows {
    /// Rows of one sample after the other, (joints times samples) x unknowns.
    pub y: DMatrix<f64>,
    /// Right-hand side.
    pub u: DVector<f64>,
    /// Rows of a sample.
    pub joints: usize,
    /// Whether each row is known. What it says does not count otherwise, but is a finite number all the same.
    pub known: Vec<bool>,
}

/// The end of the rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Reweighted {
    /// The estimate.
    pub z: DVector<f64>,
    /// Weight of each sample, 0 to 1.
    pub weights: Vec<f64>,
    /// Weight of each row, in their order, 0 to 1.
    pub row_weights: Vec<f64>,
    /// Covariance of the joints' errors.
    pub covariance: DMatrix<f64>,
    /// Rounds in all.
    pub rounds: usize,
}

impl SampleRows {
    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.u.len() / self.joints.max(1)
    }

    /// Y z - u with one column a sample.
    pub fn residuals(&self, z: &DVector<f64>) -> DMatrix<f64> {
        let flat = &self.y * z - &self.u;
        DMatrix::from_column_slice(self.joints, self.samples(), flat.as_slice())
    }

    /// Which rows of sample `s` are known.
    fn pattern(&self, s: usize) -> &[bool] {
        &self.known[self.joints * s..self.joints * (s + 1)]
    }

    /// Rows times Omega^(-1/2) and the root of their sample's weight; zeros for unknown ones.
    fn whitened(
        &self,
        covariance: &DMatrix<f64>,
        weights: &[f64],
    ) -> Result<(DMatrix<f64>, DVector<f64>), RegressionError> {
        let m = self.joints;
        let factors = Factors::of(self, covariance)?;
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let whiten = |column: &mut [f64]| {
            for ((s, own), root) in column.chunks_exact_mut(m).enumerate().zip(&roots) {
                for (i, factors) in factors.of_sample(s).iter().enumerate().rev() {
                    own[i] = root * factors.iter().zip(&*own).map(|(a, b)| a * b).sum::<f64>();
                }
            }
        };
        let (mut y, mut u) = (self.y.clone(), self.u.clone());
        y.as_mut_slice().chunks_exact_mut(self.u.len()).for_each(whiten);
        whiten(u.as_mut_slice());
        Ok((y, u))
    }

    /// Checked, with zeros in the place of unknown rows.
    fn told(&self) -> Result<Cow<'_, Self>, RegressionError> {
        self.check()?;
        let mut own = Cow::Borrowed(self);
        for row in (0..self.u.len()).filter(|row| !self.known[*row]) {
            let own = own.to_mut();
            own.y.row_mut(row).fill(0.0);
            own.u[row] = 0.0;
        }
        Ok(own)
    }

    fn check(&self) -> Result<(), RegressionError> {
        let (found, expected) = (self.y.nrows(), self.u.len());
        if found != expected || self.joints == 0 || !expected.is_multiple_of(self.joints) || expected == 0 {
            return Err(RegressionError::WrongLength { what: "rows of the regressor", found, expected });
        }
        if self.known.len() != expected {
            let (what, found) = ("flags of known rows", self.known.len());
            return Err(RegressionError::WrongLength { what, found, expected });
        }
        match self.y.iter().chain(&self.u).find(|x| !x.is_finite()) {
            Some(&value) => {
                let what = "data of the fit".to_owned();
                Err(RegressionError::BadValue { what, value, expected: "finite numbers" })
            }
            None => Ok(()),
        }
    }
}

/// Samples cannot be weighed by errors that are none.
pub(crate) fn no_errors() -> RegressionError {
    let reason = "some torques are explained without any error, so that samples cannot be weighed by theirs; expected recordings in which the motors move, with the \
                  noise of sensors";
    RegressionError::NoEstimate(reason.to_owned())
}

/// Rows that are all unknown.
fn nothing_known() -> RegressionError {
    RegressionError::NoEstimate(
        "no row is known: expected some in which motors move one way, longer than the filter's width"
            .to_owned(),
    )
}

/// Lower Cholesky factor of a covariance, with a floor of rounding.
fn root(covariance: &DMatrix<f64>) -> Result<DMatrix<f64>, RegressionError> {
    let m = covariance.nrows();
    let floor = LEAST * LEAST * covariance.diagonal().max() + f64::MIN_POSITIVE;
    let raised = covariance + DMatrix::identity(m, m) * floor;
    let factor = Cholesky::new(raised);
    Ok(factor.ok_or_else(no_errors)?.l())
}

/// Inverse Cholesky factors of the covariance's blocks that are known, one for each pattern of known rows.
struct Factors {
    /// Row after row, as long as the diagonal; an unknown row is zero.
    each: Vec<Vec<Vec<f64>>>,
    /// Of each sample its place in them.
    place: Vec<usize>,
}

impl Factors {
    fn of(rows: &SampleRows, covariance: &DMatrix<f64>) -> Result<Self, RegressionError> {
        let mut patterns: Vec<&[bool]> = vec![];
        let place = (0..rows.samples())
            .map(|s| {
                let own = rows.pattern(s);
                patterns.iter().position(|known| *known == own).unwrap_or_else(|| {
                    patterns.push(own);
                    patterns.len() - 1
                })
            })
            .collect();
        let factor = |known: &&[bool]| -> Result<Vec<Vec<f64>>, RegressionError> {
            let own: Vec<usize> = (0..known.len()).filter(|i| known[*i]).collect();
            let block = covariance.select_rows(&own).select_columns(&own);
            let identity = DMatrix::identity(own.len(), own.len());
            let inverse = root(&block)?.solve_lower_triangular(&identity).ok_or_else(no_errors)?;
            let mut rows: Vec<Vec<f64>> = (0..known.len()).map(|i| vec![0.0; i + 1]).collect();
            for (a, &i) in own.iter().enumerate() {
                own.iter().enumerate().take(a + 1).for_each(|(b, &k)| rows[i][k] = inverse[(a, b)]);
            }
            Ok(rows)
        };
        Ok(Self { each: patterns.iter().map(factor).collect::<Result<_, _>>()?, place })
    }

    fn of_sample(&self, s: usize) -> &[Vec<f64>] {
        &self.each[self.place[s]]
    }

    /// |Omega^(-1/2) e| of a sample's known residuals.
    fn distance(&self, s: usize, e: &[f64]) -> f64 {
        let square = |factors: &Vec<f64>| factors.iter().zip(e).map(|(a, b)| a * b).sum::<f64>().powi(2);
        self.of_sample(s).iter().map(square).sum::<f64>().sqrt()
    }
}

/// Variances, and covariances that come from other samples each: correlations are halved until none of them makes an error more than [`SURE`] times as sure as it is by itself.
pub(crate) fn definite(mut covariance: DMatrix<f64>) -> DMatrix<f64> {
    let diagonal = covariance.diagonal();
    let least = DMatrix::from_diagonal(&(&diagonal / (SURE * SURE)));
    for _ in 0..HALVINGS {
        if Cholesky::new(&covariance - &least).is_some() {
            break;
        }
        covariance *= 0.5;
        covariance.set_diagonal(&diagonal);
    }
    covariance
}

/// The rounds; `solve` fits weighted rows (y, u) from the estimate before, e.g. [`super::barrier::ConvexFit`].
///
/// # Errors
/// Sizes that do not fit, numbers that are not finite, and those of `solve`.
pub fn reweight(
    rows: &SampleRows,
    start: &DVector<f64>,
    until: Rounds,
    mut solve: impl FnMut(&DMatrix<f64>, &DVector<f64>, &DVector<f64>) -> Result<DVector<f64>, RegressionError>,
) -> Result<Reweighted, RegressionError> {
    let rows = &*rows.told()?;
    let (m, count) = (rows.joints, rows.samples());
    let mut weights = vec![1.0; count];
    let mut z = start.clone();
    let mut covariance = DMatrix::identity(m, m);
    let mut rounds = 0;
    let degrees: Vec<usize> =
        (0..count).map(|s| rows.pattern(s).iter().filter(|known| **known).count()).collect();
    let quantiles = |probability: f64| (0..=m).map(move |own| chi_square(own.max(1), probability));
    let medians: Vec<f64> = quantiles(0.5).collect();
    for huber in [true, false] {
        let limits: Vec<f64> = quantiles(if huber { HUBER } else { TUKEY }).map(f64::sqrt).collect();
        for _ in 0..until.most {
            rounds += 1;
            if rounds > 1 {
                let e = rows.residuals(&z);
                covariance = spread(rows, &e, &weights);
                let factors = Factors::of(rows, &covariance)?;
                let mut distances: Vec<f64> =
                    (0..count).map(|s| factors.distance(s, e.column(s).as_slice())).collect();
                let told = (0..count).filter(|s| degrees[*s] > 0);
                let mut sorted: Vec<f64> = told.map(|s| distances[s].powi(2) / medians[degrees[s]]).collect();
                sorted.sort_by(f64::total_cmp);
                let scale = sorted.get(sorted.len() / 2).ok_or_else(nothing_known)?.max(LEAST * LEAST);
                covariance *= scale;
                distances.iter_mut().for_each(|d| *d /= scale.sqrt());
                let weight = |(d, degrees): (&f64, &usize)| match (huber, limits[*degrees]) {
                    (true, limit) => (limit / d).min(1.0),
                    (false, limit) => (1.0 - (d / limit).powi(2)).max(0.0).powi(2),
                };
                weights = distances.iter().zip(&degrees).map(weight).collect();
            } else {
                // Each joint by its own size, until there are residuals.
                let own = rows.residuals(&DVector::zeros(z.len()));
                covariance = DMatrix::from_diagonal(&spread(rows, &own, &weights).diagonal());
            }
            let (y, u) = rows.whitened(&covariance, &weights)?;
            let next = solve(&y, &u, &z)?;
            let moved = (&rows.y * (&next - &z)).norm();
            z = next;
            if rounds > 1 && moved <= until.settled * rows.u.norm() {
                break;
            }
        }
    }
    let known = |row: usize| f64::from(u8::from(rows.known[row]));
    let row_weights = (0..m * count).map(|row| weights[row / m] * known(row)).collect();
    Ok(Reweighted { z, weights, row_weights, covariance, rounds })
}

/// The rounds with a weight for each row by itself, after Huber, and each joint by its own spread (the median of its errors): a drive that does what no model
/// has, while the others do not, costs no sample of theirs. `solve` as of [`reweight`]; a sample's weight is the mean of its known rows'.
///
/// # Errors
/// As [`reweight`].
pub fn reweight_each(
    rows: &SampleRows,
    start: &DVector<f64>,
    until: Rounds,
    mut solve: impl FnMut(&DMatrix<f64>, &DVector<f64>, &DVector<f64>) -> Result<DVector<f64>, RegressionError>,
) -> Result<Reweighted, RegressionError> {
    let rows = &*rows.told()?;
    let (m, count) = (rows.joints, rows.samples());
    let (mut z, mut weights) = (start.clone(), DMatrix::from_element(m, count, 1.0));
    let mut spreads = vec![1.0; m];
    let mut rounds = 0;
    for _ in 0..2 * until.most {
        rounds += 1;
        // Each joint by its own size, until there are residuals.
        let e = rows.residuals(&if rounds > 1 { z.clone() } else { DVector::zeros(z.len()) });
        for j in 0..m {
            let known = (0..count).filter(|s| rows.pattern(*s)[j]);
            let mut sizes: Vec<f64> = known.map(|s| e[(j, s)].abs()).collect();
            sizes.sort_by(f64::total_cmp);
            spreads[j] = sizes.get(sizes.len() / 2).map_or(1.0, |middle| middle / NORMAL_MEDIAN);
        }
        let least = LEAST * spreads.iter().copied().fold(0.0, f64::max) + f64::MIN_POSITIVE;
        spreads.iter_mut().for_each(|spread| *spread = spread.max(least));
        let mut factors = vec![0.0; m * count];
        for s in 0..count {
            for j in 0..m {
                let far = e[(j, s)].abs() / spreads[j];
                let weight = if rounds > 1 { (HUBER_ROW / far).min(1.0) } else { 1.0 };
                weights[(j, s)] = if rows.pattern(s)[j] { weight } else { 0.0 };
                factors[m * s + j] = weights[(j, s)].sqrt() / spreads[j];
            }
        }
        let (mut y, mut u) = (rows.y.clone(), rows.u.clone());
        for column in y.as_mut_slice().chunks_exact_mut(m * count) {
            column.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
        }
        u.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
        let next = solve(&y, &u, &z)?;
        let moved = (&rows.y * (&next - &z)).norm();
        z = next;
        if rounds > 1 && moved <= until.settled * rows.u.norm() {
            break;
        }
    }
    let mean = |s: usize| {
        let known = rows.pattern(s).iter().filter(|known| **known).count();
        if known > 0 { weights.column(s).sum() / known as f64 } else { 1.0 }
    };
    let variances = DVector::from_iterator(m, spreads.iter().map(|spread| spread * spread));
    let row_weights = weights.as_slice().to_vec();
    let weights = (0..count).map(mean).collect();
    Ok(Reweighted { z, weights, row_weights, covariance: DMatrix::from_diagonal(&variances), rounds })
}

/// sum w e e' / sum w, each entry over the samples of which both rows are known; one for a joint without any.
fn spread(rows: &SampleRows, e: &DMatrix<f64>, weights: &[f64]) -> DMatrix<f64> {
    let m = e.nrows();
    let (mut sum, mut of) = (DMatrix::<f64>::zeros(m, m), DMatrix::<f64>::zeros(m, m));
    for ((s, own), w) in e.column_iter().enumerate().zip(weights) {
        let known = rows.pattern(s);
        for k in (0..m).filter(|k| known[*k]) {
            for j in (0..m).filter(|j| known[*j]) {
                sum[(j, k)] += own[j] * own[k] * w;
                of[(j, k)] += w;
            }
        }
    }
    let mut covariance = sum.zip_map(&of, |sum, of| sum / of.max(f64::MIN_POSITIVE));
    (0..m).filter(|j| of[(*j, *j)] == 0.0).for_each(|j| covariance[(j, j)] = 1.0);
    if rows.known.iter().all(|known| *known) { covariance } else { definite(covariance) }
}

/// Quantile of chi-square with `m` degrees of freedom (Wilson and Hilferty 1931; within some percent of it).
fn chi_square(m: usize, probability: f64) -> f64 {
    let m = m as f64;
    let spread = 2.0 / (9.0 * m);
    m * (1.0 - spread + normal_quantile(probability) * spread.sqrt()).powi(3)
}

/// Quantile of the standard normal for a probability of at least a half (Abramowitz and Stegun, 26.2.23; within 5e-4).
fn normal_quantile(probability: f64) -> f64 {
    let t = (-2.0 * (1.0 - probability).ln()).sqrt();
    let top = 2.515517 + t * (0.802853 + t * 0.010328);
    t - top / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn plain(y: &DMatrix<f64>, u: &DVector<f64>, _: &DVector<f64>) -> Result<DVector<f64>, RegressionError> {
        crate::regression::least_squares::ordinary(y, u)
    }

    fn normal(rng: &mut impl RngExt) -> f64 {
        (0..12).map(|_| rng.random_range(0.0..1.0)).sum::<f64>() - 6.0
    }

    /// Two joints with correlated errors of different size, a tenth of the samples far off.
    fn rows(seed: u64, outliers: bool) -> (SampleRows, DVector<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (count, p) = (400, 5);
        let truth = DVector::from_fn(p, |_, _| rng.random_range(-1.0..1.0));
        let y = DMatrix::from_fn(2 * count, p, |_, _| rng.random_range(-1.0..1.0));
        let mut u = &y * &truth;
        for s in 0..count {
            let (a, b) = (normal(&mut rng), normal(&mut rng));
            u[2 * s] += 0.01 * a;
            u[2 * s + 1] += 0.2 * (0.8 * a + 0.6 * b);
            if outliers && s % 10 == 0 {
                u[2 * s] += 3.0;
            }
        }
        (SampleRows { known: vec![true; u.len()], y, u, joints: 2 }, truth)
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (m, p, known) in
            [(1, 0.9, 2.706), (2, 0.5, 1.386), (6, 0.9, 10.645), (6, 0.9999, 27.856), (4, 0.99, 13.277)]
        {
            assert!((chi_square(m, p) / known - 1.0).abs() < 0.03, "{m} {p}: {}", chi_square(m, p));
        }
    }

    #[test]
    fn outliers_are_ignored_and_joints_weighed() {
        for seed in 0..5 {
            let (rows, truth) = rows(seed, true);
            let found = reweight(&rows, &DVector::zeros(5), Rounds::default(), plain).unwrap();
            let simple = crate::regression::least_squares::ordinary(&rows.y, &rows.u).unwrap();
            let (near, far) = ((&found.z - &truth).amax(), (simple - &truth).amax());
            assert!(near < 0.005 && near < 0.1 * far, "{near} {far}");
            assert!((0..400).step_by(10).all(|s| found.weights[s] == 0.0));
            let kept = (0..400).filter(|s| s % 10 != 0 && found.weights[*s] > 0.2).count();
            assert!(kept > 340, "{kept}");
            assert!((found.covariance[(0, 0)].sqrt() - 0.01).abs() < 0.002, "{}", found.covariance);
            let c = &found.covariance;
            assert!((c[(0, 1)] / (c[(0, 0)] * c[(1, 1)]).sqrt() - 0.8).abs() < 0.1, "{c}");
        }
    }

    /// A joint that is off in most samples costs the other none of them; whole samples would be lost.
    #[test]
    fn a_joint_that_is_often_off_leaves_the_other_alone() {
        let (clean, _) = rows(3, false);
        // Each joint has unknowns of its own.
        let count = clean.samples();
        let y =
            DMatrix::from_fn(2 * count, 4, |row, c| if c / 2 == row % 2 { clean.y[(row, c)] } else { 0.0 });
        let truth = DVector::from_vec(vec![0.5, -1.0, 2.0, 0.3]);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut u = &y * &truth;
        for s in 0..count {
            u[2 * s] += 0.01 * normal(&mut rng);
            u[2 * s + 1] += 0.01 * normal(&mut rng) + if s % 10 < 4 { 3.0 } else { 0.0 };
        }
        let found = reweight_each(
            &SampleRows { known: vec![true; u.len()], y, u, joints: 2 },
            &DVector::zeros(4),
            Rounds::default(),
            plain,
        )
        .unwrap();
        assert!((found.z.rows(0, 2) - truth.rows(0, 2)).amax() < 2e-3, "{}", found.z);
        assert!((found.covariance[(0, 0)].sqrt() - 0.01).abs() < 0.002, "{}", found.covariance);
    }

    /// What unknown rows hold changes nothing, weights of the others are right, and so is the covariance.
    #[test]
    fn unknown_rows_do_not_count() {
        for seed in 0..5 {
            let (mut rows, truth) = rows(seed, true);
            let mut rng = ChaCha8Rng::seed_from_u64(seed + 100);
            // Half of the second joint's, a tenth of the first's, and some whole samples.
            for s in 0..rows.samples() {
                rows.known[2 * s] = !rng.random_bool(0.1);
                rows.known[2 * s + 1] = !rng.random_bool(0.5);
            }
            let fit = |rows: &SampleRows| {
                [reweight, reweight_each]
                    .map(|fit| fit(rows, &DVector::zeros(5), Rounds::default(), plain).unwrap())
            };
            let found = fit(&rows);
            for row in (0..rows.u.len()).filter(|row| !rows.known[*row]).collect::<Vec<_>>() {
                rows.u[row] += 1e3 * rng.random_range(-1.0..1.0);
                rows.y.row_mut(row).scale_mut(7.0);
            }
            assert!(fit(&rows) == found, "{seed}");
            let c = &found[0].covariance;
            assert!((found[0].z.clone() - &truth).amax() < 0.006, "{} {truth}", found[0].z);
            // The scale is the median's, a tenth outliers among them, which moves it more where samples have one row.
            assert!((c[(0, 0)].sqrt() - 0.01).abs() < 0.003 && (c[(1, 1)].sqrt() - 0.2).abs() < 0.06, "{c}");
            assert!((c[(0, 1)] / (c[(0, 0)] * c[(1, 1)]).sqrt() - 0.8).abs() < 0.15, "{c}");
            let far = (0..400).step_by(10).filter(|s| rows.known[2 * s]);
            assert!(far.map(|s| found[0].weights[s]).all(|w| w == 0.0));
            let kept = (0..400).filter(|s| s % 10 != 0 && found[0].weights[*s] > 0.2).count();
            assert!(kept > 330, "{kept}");
            for row in (0..rows.u.len()).filter(|row| !rows.known[*row]) {
                assert!(found.iter().all(|found| found.row_weights[row] == 0.0));
            }
        }
    }

    /// Covariances of other samples each need not be one.
    #[test]
    fn correlations_that_contradict_each_other_become_a_covariance() {
        let wild = DMatrix::from_row_slice(3, 3, &[1.0, 1.8, -0.9, 1.8, 4.0, 1.8, -0.9, 1.8, 1.0]);
        assert!(Cholesky::new(wild.clone()).is_none());
        let found = definite(wild.clone());
        assert_eq!(found.diagonal(), wild.diagonal());
        let own = found.clone().symmetric_eigenvalues().min();
        assert!(own > 0.0 && found[(0, 1)] > 0.2 && found[(0, 2)] < -0.1, "{own} {found}");
        let mild = DMatrix::from_row_slice(2, 2, &[1.0, 0.8, 0.8, 1.0]);
        assert_eq!(definite(mild.clone()), mild);
    }

    #[test]
    fn data_that_do_not_fit_are_refused() {
        let (mut rows, truth) = rows(1, false);
        let count = rows.u.len();
        rows.u = rows.u.rows(0, count - 1).into_owned();
        assert!(matches!(
            reweight(&rows, &truth, Rounds::default(), plain),
            Err(RegressionError::WrongLength { .. })
        ));
        rows.u = DVector::from_element(count, f64::NAN);
        assert!(matches!(
            reweight(&rows, &truth, Rounds::default(), plain),
            Err(RegressionError::BadValue { .. })
        ));
        assert!(matches!(
            reweight_each(&rows, &truth, Rounds::default(), plain),
            Err(RegressionError::BadValue { .. })
        ));
    }
}
