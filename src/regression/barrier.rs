//! Convex least squares over bodies that can exist, to an optimum with a duality gap.
//!
//! ```text
//! minimise f(z) = z'H z / 2 - b'z    with pseudo-inertia J_i(z) >= 0 of bodies, z_k >= 0 of some numbers
//! ```
//!
//! H positive definite. J_i is linear in z, so the problem is convex: a semidefinite program. The barrier method follows the
//! minimisers of t f(z) - sum log det J_i(z) - sum log z_k as t grows (Boyd and Vandenberghe 2004, ch. 11).
//!
//! At any strictly feasible z, Z_i = J_i(z)^-1 / t and y_k = 1 / (t z_k) are dual feasible, and the Lagrangian's minimum over z is
//! f(z) - nu / t - r'H^-1 r / 2, with r = H z - b - sum J_i*(Z_i) - y and nu = 4 bodies + numbers. So no feasible point has
//! a smaller value than f by more than
//!
//! ```text
//! gap = nu / t + r'H^-1 r / 2
//! ```
//!
//! whether or not Newton's method has converged. Where the minimiser without constraints is strictly feasible, it is the optimum. The gap is computed in floating point: it is exact but for rounding.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn, Matrix4};

use super::error::RegressionError;
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::pseudo_inertia;

/// Factor by which t grows.
const GROWTH: f64 = 8.0;
/// t ends at this many times what an exact path would need for the tolerance.
const LAST: f64 = 1e3;
/// Newton steps for one t, and halvings of a step. The numbers are only there to end.
const STEPS: usize = 60;
const HALVINGS: usize = 60;
/// Squared Newton decrement below which a minimiser for one t is close enough: the gap charges what is left, which weighs most in
/// directions that the data hardly tell.
const CENTERED: f64 = 1e-10;
/// Armijo's share of the predicted decrease.
const SUFFICIENT: f64 = 0.1;

/// The problem; see the module's documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvexFit {
    /// H, square, symmetric and positive definite.
    pub hessian: DMatrix<f64>,
    /// b.
    pub slope: DVector<f64>,
    /// Index of each body's first of ten inertial parameters.
    pub bodies: Vec<usize>,
    /// Indices of the numbers that are not negative.
    pub nonnegative: Vec<usize>,
}

/// A minimiser.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// z, strictly feasible.
    pub z: DVector<f64>,
    /// f(z).
    pub value: f64,
    /// No feasible point is better by more than this.
    pub gap: f64,
    /// Newton steps in all.
    pub steps: usize,
}

impl ConvexFit {
    /// Minimises from a strictly feasible `start` until the gap is at most `tolerance` (in units of f, > 0) or rounding lets it
    /// shrink no further; [`Optimum::gap`] tells which.
    ///
    /// # Errors
    /// [`RegressionError::WrongLength`] for sizes that do not fit, [`RegressionError::BadValue`] for numbers that are not finite,
    /// [`RegressionError::BadStart`] for a start that is not strictly feasible, [`RegressionError::NoEstimate`] unless H is
    /// positive definite.
    pub fn minimise(&self, start: &DVector<f64>, tolerance: f64) -> Result<Optimum, RegressionError> {
        self.check(start, tolerance)?;
        let factor = self.factor()?;
        if let Some(optimum) = self.unconstrained(&factor) {
            return Ok(optimum);
        }
        let order = self.order();
        // Where the barrier and f weigh alike.
        let scale = self.gradient(start).dot(&factor.solve(&self.gradient(start)));
        let (mut z, mut t, mut steps) = (start.clone(), order / scale.max(tolerance), 0);
        let mut best: Option<Optimum> = None;
        while t <= LAST * order / tolerance {
            steps += self.center(&mut z, t);
            let gap = self.gap(&z, t, &factor, order);
            if best.as_ref().is_none_or(|best| gap < best.gap) {
                best = Some(Optimum { z: z.clone(), value: self.value(&z), gap, steps });
            }
            if gap <= tolerance {
                break;
            }
            t *= GROWTH;
        }
        best.ok_or_else(|| RegressionError::NoEstimate("no point of the central path was found".to_owned()))
    }

    /// H's factor.
    pub(super) fn factor(&self) -> Result<Cholesky<f64, Dyn>, RegressionError> {
        Cholesky::new(self.hessian.clone()).ok_or_else(|| {
            RegressionError::NoEstimate("the normal matrix is not positive definite".to_owned())
        })
    }

    /// nu: four for a body, one for a number.
    pub(super) fn order(&self) -> f64 {
        (4 * self.bodies.len() + self.nonnegative.len()) as f64
    }

    /// The minimiser without constraints, where it is strictly feasible: then nothing that is feasible is better.
    pub(super) fn unconstrained(&self, factor: &Cholesky<f64, Dyn>) -> Option<Optimum> {
        let z = factor.solve(&self.slope);
        self.barrier(&z)?;
        Some(Optimum { value: self.value(&z), z, gap: 0.0, steps: 1 })
    }

    /// f(z).
    pub fn value(&self, z: &DVector<f64>) -> f64 {
        0.5 * z.dot(&(&self.hessian * z)) - self.slope.dot(z)
    }

    pub(super) fn gradient(&self, z: &DVector<f64>) -> DVector<f64> {
        &self.hessian * z - &self.slope
    }

    pub(super) fn check(&self, start: &DVector<f64>, tolerance: f64) -> Result<(), RegressionError> {
        let n = self.slope.len();
        let lengths = [
            ("rows of H", self.hessian.nrows(), n),
            ("columns of H", self.hessian.ncols(), n),
            ("the start", start.len(), n),
        ];
        if let Some(&(what, found, expected)) = lengths.iter().find(|(_, a, b)| a != b) {
            return Err(RegressionError::WrongLength { what, found, expected });
        }
        let ends = self.bodies.iter().map(|b| b + INERTIAL).chain(self.nonnegative.iter().map(|k| k + 1));
        if let Some(found) = ends.max().filter(|end| *end > n) {
            return Err(RegressionError::WrongLength { what: "the unknowns", found: n, expected: found });
        }
        let numbers = self.hessian.iter().chain(&self.slope).chain(start);
        if let Some(&value) = numbers.chain([&tolerance]).find(|x| !x.is_finite()) {
            let what = "data of the fit".to_owned();
            return Err(RegressionError::BadValue { what, value, expected: "finite numbers" });
        }
        if !(tolerance > 0.0) {
            let what = "tolerance of the gap".to_owned();
            return Err(RegressionError::BadValue { what, value: tolerance, expected: "a number > 0" });
        }
        match self.barrier(start) {
            Some(_) => Ok(()),
            None => Err(RegressionError::BadStart(self.violated(start))),
        }
    }

    /// What of a point is not strictly feasible, in words.
    pub(super) fn violated(&self, z: &DVector<f64>) -> String {
        match self.nonnegative.iter().find(|&&k| !(z[k] > 0.0)) {
            Some(&k) => format!("number {k} is {}, expected > 0", z[k]),
            None => "a body's pseudo-inertia is not positive definite".to_owned(),
        }
    }

    pub(super) fn body(z: &DVector<f64>, first: usize) -> Matrix4<f64> {
        let mut theta = [0.0; INERTIAL];
        theta.copy_from_slice(&z.as_slice()[first..first + INERTIAL]);
        pseudo_inertia(&theta)
    }

    /// -sum log det J_i - sum log z_k; `None` unless strictly feasible.
    pub(super) fn barrier(&self, z: &DVector<f64>) -> Option<f64> {
        let mut sum = 0.0;
        for &first in &self.bodies {
            let l = Cholesky::new(Self::body(z, first))?.l();
            sum -= 2.0 * (0..4).map(|i| l[(i, i)].ln()).sum::<f64>();
        }
        for &k in &self.nonnegative {
            if !(z[k] > 0.0) {
                return None;
            }
            sum -= z[k].ln();
        }
        sum.is_finite().then_some(sum)
    }

    /// Adds gradient and Hessian of the barrier.
    fn add_barrier(&self, z: &DVector<f64>, gradient: &mut DVector<f64>, hessian: &mut DMatrix<f64>) {
        let units = unit_pseudo_inertias();
        for &first in &self.bodies {
            let inverse = Cholesky::new(Self::body(z, first)).map_or_else(Matrix4::zeros, |c| c.inverse());
            let along = units.map(|unit| inverse * unit);
            for p in 0..INERTIAL {
                gradient[first + p] -= along[p].trace();
                for q in 0..INERTIAL {
                    hessian[(first + p, first + q)] += along[p].component_mul(&along[q].transpose()).sum();
                }
            }
        }
        for &k in &self.nonnegative {
            gradient[k] -= 1.0 / z[k];
            hessian[(k, k)] += 1.0 / (z[k] * z[k]);
        }
    }

    /// Newton's method to the minimiser for one t; gives the number of steps.
    fn center(&self, z: &mut DVector<f64>, t: f64) -> usize {
        for step in 0..STEPS {
            let (mut gradient, mut hessian) = (self.gradient(z) * t, &self.hessian * t);
            self.add_barrier(z, &mut gradient, &mut hessian);
            let Some(system) = Scaled::new(&hessian) else { return step };
            let direction = -system.solve(&gradient);
            let decrement = -gradient.dot(&direction);
            if !(decrement > CENTERED) {
                return step;
            }
            let barrier = self.barrier(z).unwrap_or(f64::INFINITY);
            // Differences of f without cancellation.
            let (slope, bend) =
                (self.gradient(z).dot(&direction), direction.dot(&(&self.hessian * &direction)));
            let mut size = 1.0;
            let mut moved = false;
            for _ in 0..HALVINGS {
                let to = &*z + size * &direction;
                if let Some(there) = self.barrier(&to) {
                    let change = t * size * (slope + 0.5 * size * bend) + there - barrier;
                    if change <= -SUFFICIENT * size * decrement {
                        *z = to;
                        moved = true;
                        break;
                    }
                }
                size *= 0.5;
            }
            if !moved {
                return step;
            }
        }
        STEPS
    }

    /// The bound of the module's documentation.
    fn gap(&self, z: &DVector<f64>, t: f64, factor: &Cholesky<f64, Dyn>, order: f64) -> f64 {
        let n = z.len();
        let (mut dual, mut unused) = (DVector::zeros(n), DMatrix::zeros(n, n));
        self.add_barrier(z, &mut dual, &mut unused);
        let r = self.gradient(z) + dual / t;
        order / t + 0.5 * r.dot(&factor.solve(&r))
    }
}

/// Pseudo-inertias of bodies with one parameter one and the others zero: J is a sum of them.
pub(super) fn unit_pseudo_inertias() -> [Matrix4<f64>; INERTIAL] {
    std::array::from_fn(|p| {
        let mut unit = [0.0; INERTIAL];
        unit[p] = 1.0;
        pseudo_inertia(&unit)
    })
}

/// A factored matrix, its rows and columns scaled to ones on the diagonal: parameters differ by ten orders of magnitude.
pub(crate) struct Scaled {
    factor: Cholesky<f64, Dyn>,
    scale: DVector<f64>,
}

impl Scaled {
    /// `None` unless positive definite.
    pub(crate) fn new(matrix: &DMatrix<f64>) -> Option<Self> {
        let scale = matrix.diagonal().map(|d| 1.0 / d.sqrt());
        let (rows, columns) = matrix.shape();
        let scaled = DMatrix::from_fn(rows, columns, |r, c| matrix[(r, c)] * scale[r] * scale[c]);
        Some(Self { factor: Cholesky::new(scaled)?, scale })
    }

    /// matrix^-1 right.
    pub(crate) fn solve(&self, right: &DVector<f64>) -> DVector<f64> {
        self.factor.solve(&right.component_mul(&self.scale)).component_mul(&self.scale)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::inertia::pseudo::check_physical;
    use crate::regression::least_squares;

    const BODY: [f64; INERTIAL] = [2.0, 0.1, -0.05, 0.2, 0.1, 0.0, 0.12, 0.0, 0.0, 0.05];

    /// Two bodies and three numbers, from random rows and a target that need not be feasible.
    fn problem(seed: u64, off: f64) -> (ConvexFit, DMatrix<f64>, DVector<f64>, DVector<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = 2 * INERTIAL + 3;
        let y = DMatrix::from_fn(120, n, |_, _| rng.random_range(-1.0..1.0));
        let start = DVector::from_iterator(n, BODY.iter().chain(&BODY).chain(&[0.5, 0.5, 0.5]).copied());
        let target = start.map(|x| x + off * rng.random_range(-1.0..1.0));
        let u = &y * target;
        let fit = ConvexFit {
            hessian: y.tr_mul(&y),
            slope: y.tr_mul(&u),
            bodies: vec![0, INERTIAL],
            nonnegative: vec![2 * INERTIAL, 2 * INERTIAL + 1, 2 * INERTIAL + 2],
        };
        (fit, y, u, start)
    }

    #[test]
    fn an_interior_minimiser_is_that_of_least_squares() {
        let (fit, y, u, start) = problem(1, 0.01);
        let plain = least_squares::ordinary(&y, &u).unwrap();
        let found = fit.minimise(&start, 1e-12).unwrap();
        assert!((&found.z - plain).amax() < 1e-4, "{found:?}");
        assert!(found.gap <= 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (fit, _, _, start) = problem(2, 0.1);
        let mut bad = start.clone();
        bad[21] = 0.0;
        assert!(fit.minimise(&bad, 1e-6).unwrap_err().to_string().contains("number 21 is 0"));
        bad[21] = 1.0;
        bad[4] = -1.0;
        assert!(fit.minimise(&bad, 1e-6).unwrap_err().to_string().contains("pseudo-inertia"));
        assert!(matches!(fit.minimise(&start, f64::NAN), Err(RegressionError::BadValue { .. })));
        assert!(matches!(fit.minimise(&start, 0.0), Err(RegressionError::BadValue { .. })));
        let short = start.rows(0, 5).into_owned();
        assert!(matches!(fit.minimise(&short, 1e-6), Err(RegressionError::WrongLength { .. })));
        let beyond = ConvexFit { bodies: vec![20], ..fit.clone() };
        assert!(matches!(beyond.minimise(&start, 1e-6), Err(RegressionError::WrongLength { .. })));
        let flat = ConvexFit { hessian: DMatrix::zeros(23, 23), ..fit };
        assert!(flat.minimise(&start, 1e-6).unwrap_err().to_string().contains("positive definite"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// The minimiser exists as a body, and no feasible point nearby or on the way to others is better by more than the gap.
        #[test]
        fn no_body_is_better_by_more_than_the_gap(seed in 0..1000u64, off in 0.05..2.0f64) {
            let (fit, _, _, start) = problem(seed, off);
            let tolerance = 1e-7;
            let found = fit.minimise(&start, tolerance).unwrap();
            // Rounding of values of this size may end it before the tolerance.
            prop_assert!(found.gap <= 1e-6 * (1.0 + found.value.abs()), "{}", found.gap);
            for &first in &fit.bodies {
                let body: [f64; INERTIAL] = found.z.as_slice()[first..first + INERTIAL].try_into().unwrap();
                prop_assert!(check_physical(&body).is_ok());
            }
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let step = fit.hessian.clone().cholesky().unwrap().solve(&-fit.gradient(&found.z));
            for k in 0..200 {
                // Towards the unconstrained minimiser, and anywhere.
                let size = 10f64.powf(rng.random_range(-9.0..0.0));
                let noise = DVector::from_fn(found.z.len(), |_, _| rng.random_range(-1.0..1.0));
                let mut to = &found.z + if k % 2 == 0 { size * noise } else { size * (&step + 0.3 * noise) };
                for &i in &fit.nonnegative {
                    to[i] = to[i].max(0.0);
                }
                let feasible = fit.bodies.iter().all(|&first| ConvexFit::body(&to, first).symmetric_eigenvalues().min() >= 0.0);
                if feasible {
                    let rounding = 1e-10 * (1.0 + found.value.abs());
                    prop_assert!(fit.value(&to) >= found.value - found.gap - rounding);
                }
            }
        }
    }
}
