//! Polynomials over all of K at one k: bounds along a direction with their gradients, in plain floating point.
//!
//! A polynomial zonotope is a polynomial in the parameters k and in normalised time, plus a remainder. At one k what is left is
//! c + b t + a t^2 + remainder with t in \[-1, 1\], whose bounds are cheap; each of the three is a polynomial in k, so their gradients are too.
//! Planners ask for thousands of them an end point. Nothing here is rounded outward: what is found is certified afterwards.

use crate::family::Polynomial;
use crate::family::polynomial::FACTORS;
use crate::family::polynomial_sets::TIME;

use super::nlp::MAX_DIMENSION;

/// Bits of an exponent of one factor.
const BITS: usize = 4;
/// No parameter.
const NONE: u8 = u8::MAX;
/// Most parameters that one monomial has, counted with multiplicity.
const DEGREE: usize = 2;

/// A monomial: up to two parameters, a power of time, and a coefficient in each of `W` coordinates.
#[derive(Debug, Clone, Copy)]
struct Term<const W: usize> {
    parameters: [u8; DEGREE],
    time: u32,
    coefficients: [f64; W],
}

/// Polynomials of degree 2 at most in `W` coordinates, ready to be sliced.
#[derive(Debug, Clone)]
pub(super) struct Sliced<const W: usize> {
    terms: Vec<Term<W>>,
    remainders: [f64; W],
}

/// An upper bound, and its gradient by k.
pub(super) struct Bound {
    pub(super) value: f64,
    pub(super) gradient: [f64; MAX_DIMENSION],
}

impl<const W: usize> Sliced<W> {
    /// The polynomials of one point. Parameters from [`MAX_DIMENSION`] on count as remainders.
    pub(super) fn new<const C: usize>(coordinates: &[Polynomial<C, 2>; W]) -> Self {
        let mut keyed: Vec<(u64, [f64; W])> = vec![];
        for (i, polynomial) in coordinates.iter().enumerate() {
            for (exponent, coefficient) in polynomial.terms() {
                let at = keyed.iter().position(|(known, _)| *known == exponent).unwrap_or_else(|| {
                    keyed.push((exponent, [0.0; W]));
                    keyed.len() - 1
                });
                keyed[at].1[i] += coefficient;
            }
        }
        let mut remainders = std::array::from_fn(|i| coordinates[i].remainder());
        let mut terms = Vec::with_capacity(keyed.len());
        for (exponent, coefficients) in keyed {
            match monomial(exponent) {
                Some((parameters, time)) => terms.push(Term { parameters, time, coefficients }),
                None => (0..W).for_each(|i| remainders[i] += coefficients[i].abs()),
            }
        }
        Self { terms, remainders }
    }

    /// The middle at `k`: without time and remainders.
    pub(super) fn middle(&self, k: &[f64]) -> [f64; W] {
        let still = self.terms.iter().filter(|term| term.time == 0);
        still.fold([0.0; W], |sum, term| {
            let at = term.parameters.iter().fold(1.0, |at, &p| at * value(k, p));
            std::array::from_fn(|i| sum[i] + at * term.coefficients[i])
        })
    }

    /// The largest value of `direction . x` at `k`.
    pub(super) fn most(&self, direction: &[f64; W], k: &[f64]) -> Bound {
        // What stands still, what goes with t, and what with t^2: each with its gradient.
        let mut parts = [(0.0, [0.0; MAX_DIMENSION]); 3];
        for term in &self.terms {
            let c: f64 = term.coefficients.iter().zip(direction).map(|(c, u)| c * u).sum();
            let [a, b] = term.parameters;
            let (x, y) = (value(k, a), value(k, b));
            let (sum, gradient) = &mut parts[term.time as usize];
            *sum += c * x * y;
            if a != NONE {
                gradient[usize::from(a)] += c * y;
            }
            if b != NONE {
                gradient[usize::from(b)] += c * x;
            }
        }
        let [still, linear, square] = parts;
        let (sign, rises) = (linear.0.signum(), f64::from(u8::from(square.0 > 0.0)));
        let spread: f64 = self.remainders.iter().zip(direction).map(|(r, u)| r * u.abs()).sum();
        Bound {
            value: still.0 + linear.0.abs() + square.0.max(0.0) + spread,
            gradient: std::array::from_fn(|j| still.1[j] + sign * linear.1[j] + rises * square.1[j]),
        }
    }
}

#[inline]
fn value(k: &[f64], parameter: u8) -> f64 {
    if parameter == NONE { 1.0 } else { k.get(usize::from(parameter)).copied().unwrap_or(0.0) }
}

/// The parameters of a monomial and its power of time; `None` if that is more than a [`Term`] holds.
fn monomial(exponent: u64) -> Option<([u8; DEGREE], u32)> {
    let (mut parameters, mut count, mut time) = ([NONE; DEGREE], 0, 0);
    for factor in 0..FACTORS {
        let power = (exponent >> (BITS * factor)) & 0xf;
        if factor == TIME {
            time = power as u32;
            continue;
        }
        for _ in 0..power {
            if factor >= MAX_DIMENSION || count == DEGREE {
                return None;
            }
            parameters[count] = factor as u8;
            count += 1;
        }
    }
    (time <= 2).then_some((parameters, time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    type Form = Polynomial<12, 2>;

    /// x = 1 + 2 k0 - k0 k1 + 0.5 k1^2 + 0.3 t + 0.4 k0 t - 0.2 t^2 +- 0.1, and y = 3 k0.
    fn point() -> [Form; 2] {
        let (a, b, t) = (Form::factor(0, 1.0), Form::factor(1, 1.0), Form::factor(TIME, 1.0));
        let x = Form::constant(1.0) + a.scale(2.0) - a * b + (b * b).scale(0.5) + t.scale(0.3);
        [(x + (a * t).scale(0.4) - (t * t).scale(0.2)).widen(0.1), a.scale(3.0)]
    }

    #[test]
    fn bounds_are_those_of_the_polynomial() {
        let sliced = Sliced::new(&point());
        let x = |k: [f64; 2], t: f64| {
            1.0 + 2.0 * k[0] - k[0] * k[1] + 0.5 * k[1] * k[1] + (0.3 + 0.4 * k[0]) * t - 0.2 * t * t
        };
        for k in [[0.0, 0.0], [0.7, -0.4], [-1.0, 1.0], [-0.9, 0.3]] {
            let middle = sliced.middle(&k);
            assert!((middle[0] - x(k, 0.0)).abs() < 1e-12 && (middle[1] - 3.0 * k[0]).abs() < 1e-12);
            for (u, t) in
                [([1.0, 0.5], (0.3f64 + 0.4 * k[0]).signum()), ([-1.0, 0.2], -(0.3f64 + 0.4 * k[0]).signum())]
            {
                let bound = sliced.most(&u, &k);
                let true_value = u[0] * x(k, t) + u[1] * 3.0 * k[0];
                // The parts are bounded one by one: at most what t^2 is worth above.
                assert!(
                    (0.0999..0.1 + 0.2001).contains(&(bound.value - true_value)),
                    "{k:?} {u:?} {}",
                    bound.value
                );
            }
        }
    }

    #[test]
    fn gradients_are_those_of_the_bounds() {
        let sliced = Sliced::new(&point());
        for (k, u) in [([0.7, -0.4], [1.0, 0.5]), ([-0.9, 0.3], [-0.3, 0.8]), ([0.1, 0.1], [-1.0, 0.0])] {
            let bound = sliced.most(&u, &k);
            for j in 0..2 {
                let mut ahead = k;
                ahead[j] += 1e-6;
                let slope = (sliced.most(&u, &ahead).value - bound.value) / 1e-6;
                assert!((slope - bound.gradient[j]).abs() < 1e-4, "{k:?} {j}: {slope}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_widens() {
        let far = Form::factor(MAX_DIMENSION, 0.25) + Form::factor(0, 1.0);
        let bound = Sliced::new(&[far]).most(&[1.0], &[0.5]);
        assert!((bound.value - 0.75).abs() < 1e-12);
    }
}
