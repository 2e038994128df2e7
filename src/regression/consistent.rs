//! Least squares over physically consistent bodies: the nominal estimate of [1, eq. 25], plain, weighted, and
//! iteratively reweighted.
//!
//! The misfit of the momentum balance is a quadratic Q in the ten parameters theta; consistency is had by writing theta =
//! P(x) with free coordinates x, so that what is minimised is Q(P(x)). With g = dQ/dtheta and S = d2Q/dtheta2,
//!
//! ```text
//! gradient = P'(x)' g,          Hessian = P'(x)' S P'(x) + sum_i g_i P_i''(x),
//! ```
//!
//! both in closed form for the log-Cholesky map. The exponential-eigenvalue map has its Jacobian in closed form and drops
//! the second term (Gauss-Newton); both end at the same body. No guarantee rests on any of this.

use nalgebra::{DMatrix, DVector, SMatrix, SVector};

use super::error::RegressionError;
use super::least_squares::huber_weights;
use crate::inertia::pseudo::check_physical;
use crate::inertia::{Coordinates, INERTIAL, log_cholesky};

type Matrix10 = SMatrix<f64, INERTIAL, INERTIAL>;
type Vector10 = SVector<f64, INERTIAL>;

/// Steps of a minimisation at most.
const MAX_ITERATIONS: usize = 200;
/// Rounds of reweighting at most.
const MAX_ROUNDS: usize = 50;
/// Smallest standard deviation of a body's mass about its centre, m; an estimate is not to be thinner.
const THINNEST: f64 = 2e-3;

/// Q(theta) = (theta - center)' S (theta - center) / 2 - s' (theta - center), S symmetric and positive semi-definite.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadratic {
    /// Where it is expanded.
    pub center: Vector10,
    /// S.
    pub curvature: Matrix10,
    /// s.
    pub slope: Vector10,
}

/// A minimiser.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// m, h, I about the link frame's origin, SI units; physically consistent.
    pub theta: [f64; INERTIAL],
    /// Q there.
    pub value: f64,
    /// Norm of the gradient by the coordinates there.
    pub gradient: f64,
    /// Steps taken.
    pub iterations: usize,
}

impl Quadratic {
    /// Half the sum of weight_w (Y theta - u)_w^2, without its constant.
    ///
    /// # Errors
    /// [`RegressionError::WrongLength`] unless Y has ten columns and as many rows as there are `u` and `weights`;
    /// [`RegressionError::BadValue`] for numbers that are not finite and negative weights.
    pub fn of_rows(y: &DMatrix<f64>, u: &DVector<f64>, weights: &[f64]) -> Result<Self, RegressionError> {
        let lengths = [
            ("columns of the regressor", y.ncols(), INERTIAL),
            ("right-hand side", u.len(), y.nrows()),
            ("weights", weights.len(), y.nrows()),
        ];
        if let Some(&(what, found, expected)) = lengths.iter().find(|(_, a, b)| a != b) {
            return Err(RegressionError::WrongLength { what, found, expected });
        }
        let bad = y.iter().chain(u).chain(weights).find(|x| !x.is_finite());
        if let Some(&value) = bad.or(weights.iter().find(|w| **w < 0.0)) {
            let what = "data of the fit".to_owned();
            return Err(RegressionError::BadValue { what, value, expected: "finite numbers, weights >= 0" });
        }
        let (mut curvature, mut slope) = (Matrix10::zeros(), Vector10::zeros());
        for ((row, &u), &weight) in y.row_iter().zip(u).zip(weights) {
            let row = Vector10::from_iterator(row.iter().copied());
            curvature += weight * row * row.transpose();
            slope += weight * u * row;
        }
        Ok(Self { center: Vector10::zeros(), curvature, slope })
    }

    /// Q.
    pub fn value(&self, theta: &[f64; INERTIAL]) -> f64 {
        let d = Vector10::from(*theta) - self.center;
        0.5 * d.dot(&(self.curvature * d)) - self.slope.dot(&d)
    }

    /// Q and its gradient by the coordinates x, with a symmetric matrix that stands for the Hessian: the whole of it, or
    /// its Gauss-Newton part.
    pub fn expand(&self, coordinates: Coordinates, x: &[f64; INERTIAL]) -> (f64, Vector10, Matrix10) {
        let theta = coordinates.physical(x);
        let jacobian = coordinates.jacobian(x);
        let g = self.curvature * (Vector10::from(theta) - self.center) - self.slope;
        let mut hessian = jacobian.transpose() * self.curvature * jacobian;
        if coordinates == Coordinates::LogCholesky {
            for (second, g) in log_cholesky::hessian(x).iter().zip(&g) {
                hessian += *g * second;
            }
        }
        (self.value(&theta), jacobian.transpose() * g, hessian)
    }

    /// The physically consistent body that minimises Q, by damped Newton steps from `start`; where the data ask for one that
    /// is flatter than 2 mm, that one.
    ///
    /// # Errors
    /// [`RegressionError::BadStart`] if `start` is not physically consistent.
    pub fn minimise(
        &self,
        coordinates: Coordinates,
        start: &[f64; INERTIAL],
    ) -> Result<Fit, RegressionError> {
        let mut x = to_coordinates(coordinates, start)?;
        let (_, mut gradient, mut hessian) = self.expand(coordinates, &x);
        let mut theta = Vector10::from(coordinates.physical(&x));
        let (mut damping, mut iterations) = (1e-3, 0);
        while iterations < MAX_ITERATIONS && damping < 1e12 {
            iterations += 1;
            let scale = hessian.diagonal().amax().max(f64::MIN_POSITIVE);
            let weight = hessian.diagonal().map(|h| h.abs() + 1e-9 * scale);
            let Some(factor) = (hessian + Matrix10::from_diagonal(&(weight * damping))).cholesky() else {
                damping *= 10.0;
                continue;
            };
            let step = factor.solve(&-gradient);
            let trial = thick(coordinates, std::array::from_fn(|i| x[i] + step[i]));
            let reached = Vector10::from(coordinates.physical(&trial));
            // Q there less Q here, from the move itself: the values would cancel.
            let (moved, slope) = (reached - theta, self.curvature * (theta - self.center) - self.slope);
            let change = moved.dot(&(slope + 0.5 * (self.curvature * moved)));
            // `<` is false for NaN.
            if change < 0.0 {
                (x, theta, damping) = (trial, reached, (damping * 0.2).max(1e-14));
                (_, gradient, hessian) = self.expand(coordinates, &x);
                if moved.amax() <= 1e-14 * theta.amax() {
                    break;
                }
            } else {
                damping *= 5.0;
            }
        }
        let theta = theta.into();
        Ok(Fit { theta, value: self.value(&theta), gradient: gradient.norm(), iterations })
    }
}

fn to_coordinates(
    coordinates: Coordinates,
    theta: &[f64; INERTIAL],
) -> Result<[f64; INERTIAL], RegressionError> {
    coordinates.of(theta).map_err(|error| RegressionError::BadStart(error.to_string()))
}

/// Keeps a body from becoming flat, where the coordinates would run off to infinity.
fn thick(coordinates: Coordinates, mut x: [f64; INERTIAL]) -> [f64; INERTIAL] {
    match coordinates {
        // Logarithms of lengths.
        Coordinates::LogCholesky => x[1..4].iter_mut().for_each(|d| *d = d.max(THINNEST.ln())),
        // Logarithms of second moments, kg m^2.
        Coordinates::ExponentialEigenvalue => {
            let least = x[0] + 2.0 * THINNEST.ln();
            x[7..10].iter_mut().for_each(|sigma| *sigma = sigma.max(least));
        }
    }
    x
}

/// Minimises sum_w weight_w (Y theta - u)_w^2 over physically consistent theta, from `start`.
///
/// # Errors
/// Those of [`Quadratic::of_rows`] and [`Quadratic::minimise`].
pub fn weighted(
    y: &DMatrix<f64>,
    u: &DVector<f64>,
    weights: &[f64],
    coordinates: Coordinates,
    start: &[f64; INERTIAL],
) -> Result<Fit, RegressionError> {
    Quadratic::of_rows(y, u, weights)?.minimise(coordinates, start)
}

/// [`weighted`] with its weights times Huber's for its own residuals ([`huber_weights`] of weight^(1/2) times the
/// misfit), until nothing moves: outliers lose their pull.
///
/// # Errors
/// Those of [`weighted`].
pub fn reweighted(
    y: &DMatrix<f64>,
    u: &DVector<f64>,
    weights: &[f64],
    coordinates: Coordinates,
    start: &[f64; INERTIAL],
) -> Result<Fit, RegressionError> {
    let mut fit = weighted(y, u, weights, coordinates, start)?;
    for _ in 0..MAX_ROUNDS {
        let misfit = y * DVector::from_row_slice(&fit.theta) - u;
        let scaled: Vec<f64> = misfit.iter().zip(weights).map(|(r, w)| r * w.sqrt()).collect();
        let own: Vec<f64> = huber_weights(&scaled).iter().zip(weights).map(|(h, w)| h * w).collect();
        let next = weighted(y, u, &own, coordinates, &fit.theta)?;
        let moved = (0..INERTIAL).map(|i| (next.theta[i] - fit.theta[i]).abs()).fold(0.0, f64::max);
        fit = next;
        if moved <= 1e-10 {
            break;
        }
    }
    debug_assert!(check_physical(&fit.theta).is_ok());
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::regression::least_squares;

    const TRUTH: [f64; INERTIAL] = [4.9136, -4e-5, 9e-5, -0.76737, 0.1502, 0.0, 0.1354, 0.0, 0.0, 0.01944];
    const GUESS: [f64; INERTIAL] = [3.0, 0.05, -0.05, -0.4, 0.1, 0.0, 0.1, 0.0, 0.0, 0.05];
    const BOTH: [Coordinates; 2] = [Coordinates::LogCholesky, Coordinates::ExponentialEigenvalue];

    /// Rows like those of a window: gravity and accelerations of the size of the real ones.
    fn rows(seed: u64, noise: f64) -> (DMatrix<f64>, DVector<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let size = [3.0, 1.0, 1.0, 1.0, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3];
        let y = DMatrix::from_fn(200, INERTIAL, |_, p| size[p] * rng.random_range(-1.0..1.0));
        let u = &y * DVector::from_row_slice(&TRUTH);
        (y, u.map(|u| u + noise * rng.random_range(-1.0..1.0)))
    }

    fn distance(a: &[f64; INERTIAL], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn clean_data_give_the_truth_in_both_coordinates() {
        let (y, u) = rows(1, 0.0);
        for coordinates in BOTH {
            let fit = weighted(&y, &u, &vec![1.0; 200], coordinates, &GUESS).unwrap();
            assert!(distance(&fit.theta, &TRUTH) < 1e-7, "{coordinates:?}: {fit:?}");
        }
    }

    #[test]
    fn an_interior_minimiser_is_that_of_plain_least_squares() {
        let (y, u) = rows(2, 0.002);
        let weights: Vec<f64> = (0..200).map(|w| 1.0 + f64::from(w % 7)).collect();
        let plain = least_squares::weighted(&y, &u, &weights).unwrap();
        let body: [f64; INERTIAL] = plain.as_slice().try_into().unwrap();
        check_physical(&body).unwrap();
        for coordinates in BOTH {
            let fit = weighted(&y, &u, &weights, coordinates, &GUESS).unwrap();
            assert!(distance(&fit.theta, &body) < 1e-6, "{coordinates:?}: {fit:?}\n{body:?}");
            assert!(fit.gradient < 1e-4, "{coordinates:?}: {}", fit.gradient);
        }
    }

    #[test]
    fn a_minimiser_beyond_physics_is_replaced_by_a_body() {
        let (y, u) = rows(3, 3.0);
        let plain = least_squares::ordinary(&y, &u).unwrap();
        assert!(check_physical(&plain.as_slice().try_into().unwrap()).is_err());
        let fits = BOTH.map(|c| weighted(&y, &u, &vec![1.0; 200], c, &GUESS).unwrap());
        for fit in &fits {
            check_physical(&fit.theta).unwrap();
        }
        // No body is better than these by much: they agree in what they reach.
        assert!((fits[0].value - fits[1].value).abs() < 1e-2 * fits[0].value.abs(), "{fits:?}");
    }

    #[test]
    fn outliers_lose_their_pull() {
        let (y, mut u) = rows(4, 0.01);
        (0..200).step_by(17).for_each(|w| u[w] += 5.0);
        let ones = vec![1.0; 200];
        for coordinates in BOTH {
            let plain = weighted(&y, &u, &ones, coordinates, &GUESS).unwrap();
            let robust = reweighted(&y, &u, &ones, coordinates, &GUESS).unwrap();
            let (far, near) = (distance(&plain.theta, &TRUTH), distance(&robust.theta, &TRUTH));
            assert!(near < 0.1 * far, "{coordinates:?}: {far} {near}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (y, u) = rows(5, 0.0);
        let fit = |y: &DMatrix<f64>, u: &DVector<f64>, w: &[f64], start: &[f64; INERTIAL]| {
            weighted(y, u, w, Coordinates::LogCholesky, start).unwrap_err()
        };
        let ones = vec![1.0; 200];
        assert!(matches!(fit(&y, &u, &ones[1..], &GUESS), RegressionError::WrongLength { .. }));
        assert!(matches!(
            fit(&y.columns(0, 9).into_owned(), &u, &ones, &GUESS),
            RegressionError::WrongLength { .. }
        ));
        let mut bad = ones.clone();
        bad[3] = -1.0;
        assert!(matches!(fit(&y, &u, &bad, &GUESS), RegressionError::BadValue { .. }));
        bad[3] = f64::NAN;
        assert!(matches!(fit(&y, &u, &bad, &GUESS), RegressionError::BadValue { .. }));
        let mut flat = GUESS;
        flat[4] = -0.1;
        assert!(matches!(fit(&y, &u, &ones, &flat), RegressionError::BadStart(_)));
    }

    proptest! {
        #[test]
        fn gradient_and_hessian_agree_with_differences(x in prop::array::uniform10(-0.6..0.6f64), seed in 0..50u64) {
            let (y, u) = rows(seed, 0.3);
            let quadratic = Quadratic::of_rows(&y, &u, &vec![1.0; 200]).unwrap();
            let h = 1e-5;
            for coordinates in BOTH {
                let (_, gradient, hessian) = quadratic.expand(coordinates, &x);
                for k in 0..INERTIAL {
                    let at = |step: f64| {
                        let mut moved = x;
                        moved[k] += step;
                        quadratic.expand(coordinates, &moved)
                    };
                    let (a, b) = (at(-h), at(h));
                    let scale = 1.0 + gradient.amax() + hessian.amax();
                    prop_assert!(((b.0 - a.0) / (2.0 * h) - gradient[k]).abs() < 1e-6 * scale);
                    if coordinates == Coordinates::LogCholesky {
                        let change = (b.1 - a.1) / (2.0 * h);
                        prop_assert!((change - hessian.column(k)).amax() < 1e-6 * scale);
                    }
                }
            }
        }
    }
}
