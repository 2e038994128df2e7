//! THE TRUSTED PART of identification: a bound on d'z that holds whatever multipliers are proposed.
//!
//! **Claim.** Let z lie in the box, |y_w z - u_w| <= radius_w for all rows, c_k' z >= 0 for all cuts. For every row
//! vector l, every mu >= 0 and every d,
//!
//! ```text
//! d'z <= l u + |l| radius + sum_j max(g_j lower_j, g_j upper_j),     g = d + C' mu - Y' l.
//! ```
//!
//! **Proof.** d'z = l Y z - mu' C z + g'z with the three terms bounded by: l Y z = l u + l (Y z - u) <= l u + |l| radius;
//! -mu' C z <= 0; g'z <= the sum over the box of the larger end of each g_j z_j. No property of l and mu is used
//! but mu >= 0 (negative and NaN entries of mu are replaced by zero) and finiteness (otherwise the box's own bound
//! is returned).
//!
//! **Rounding.** Each sum of N products is evaluated in round-to-nearest beside the sum S of the absolute values of
//! its terms. The exact sum differs from the computed one by at most gamma_{N+1} S_exact + N eta with
//! gamma_k = k u/(1 - k u), u = 2^-53, eta the smallest subnormal (underflow of a product), and
//! S_exact <= S/(1 - gamma_{N+1}); for N + 2 < 2^40, `slack` = 2 (N + 2) u S + N MIN_POSITIVE is more than that plus
//! its own rounding. An overflow makes a sum infinite or NaN and so falls back to the box.

use super::polytope::Polytope;
use crate::enclose::environment;

/// A proposal: one multiplier a row of data and one a cut. Any numbers are sound; good ones give tight bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Multipliers {
    /// l, one entry a row, any sign.
    pub rows: Vec<f64>,
    /// mu, one entry a cut; negative entries count as zero.
    pub cuts: Vec<f64>,
}

/// A proven upper bound on a linear functional.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CertifiedBound {
    /// d'z <= value for every z of the polytope. -inf never, +inf if the box is unbounded in direction d.
    pub value: f64,
    /// An upper bound on |l| radius, the part of `value` that the noise accounts for (0 if the box alone gave it).
    pub noise: f64,
}

/// Error bound for a sum of `n` products whose absolute values sum (computed) to `magnitude`; see the module header.
fn slack(n: usize, magnitude: f64) -> f64 {
    (n + 2) as f64 * f64::EPSILON * magnitude + n as f64 * f64::MIN_POSITIVE
}

/// A sum of products that remembers how wrong it may be.
#[derive(Default, Clone, Copy)]
pub(super) struct Sum {
    value: f64,
    magnitude: f64,
    terms: usize,
}

impl Sum {
    /// Adds one product (rounded once).
    pub(super) fn add(&mut self, term: f64) {
        self.value += term;
        self.magnitude += term.abs();
        self.terms += 1;
    }

    fn error(&self) -> f64 {
        slack(self.terms, self.magnitude)
    }

    /// Upper bound on the exact sum.
    pub(super) fn upper(&self) -> f64 {
        (self.value + self.error()).next_up()
    }

    /// Upper bound on the exact sum's absolute value.
    pub(super) fn upper_abs(&self) -> f64 {
        (self.value.abs() + self.error()).next_up()
    }
}

/// The certified bound for direction `d` (length p) with the proposed multipliers, never above the box's own. In a thread whose arithmetic is not the one that is assumed
/// ([`environment`]) nothing is proven, and it is infinite.
pub fn upper_bound(polytope: &Polytope, d: &[f64], proposal: &Multipliers) -> CertifiedBound {
    if environment::fault().is_some() {
        return CertifiedBound { value: f64::INFINITY, noise: 0.0 };
    }
    let from_box = CertifiedBound { value: box_bound(polytope, d), noise: 0.0 };
    let lengths_fit = d.len() == polytope.len()
        && proposal.rows.len() == polytope.rows.len()
        && proposal.cuts.len() == polytope.cuts.coefficients.len();
    match lengths_fit.then(|| dual_bound(polytope, d, proposal)) {
        // `<` is false for NaN.
        Some(bound) if bound.value.is_finite() && bound.noise.is_finite() && bound.value < from_box.value => {
            bound
        }
        _ => from_box,
    }
}

/// sup d'z over the box alone, rounded up; +inf if a bound is infinite or something is NaN. `d` beyond its end
/// counts as zero, and entries beyond the box are ignored.
pub fn box_bound(polytope: &Polytope, d: &[f64]) -> f64 {
    let mut sum = Sum::default();
    for (&g, (&lower, &upper)) in d.iter().zip(polytope.set.lower().iter().zip(polytope.set.upper())) {
        if g != 0.0 {
            sum.add(if g > 0.0 { g * upper } else { g * lower });
        }
    }
    let value = sum.upper();
    if value.is_nan() { f64::INFINITY } else { value }
}

fn dual_bound(polytope: &Polytope, d: &[f64], proposal: &Multipliers) -> CertifiedBound {
    let Polytope { set, rows, cuts, .. } = polytope;
    let mut total = Sum::default();
    let mut noise = Sum::default();
    // An idle row says nothing, even if its radius is infinite.
    let active: Vec<usize> = (0..rows.len()).filter(|&w| proposal.rows[w] != 0.0).collect();
    for &w in &active {
        total.add(proposal.rows[w] * rows.u[w]);
        noise.add(proposal.rows[w].abs() * rows.radius[w]);
    }
    let noise = noise.upper();
    total.add(noise);
    for (j, &d) in d.iter().enumerate() {
        let mut g = Sum::default();
        g.add(d);
        for &w in &active {
            g.add(-(proposal.rows[w] * rows.y[(w, j)]));
        }
        if let Some(local) = j.checked_sub(cuts.offset).filter(|&k| k < crate::inertia::INERTIAL) {
            // An idle cut adds nothing, not even to the rounding; NaN is not above zero.
            for (mu, c) in proposal.cuts.iter().zip(&cuts.coefficients).filter(|(mu, _)| **mu > 0.0) {
                g.add(mu * c[local]);
            }
        }
        // g is within `error` of its computed value: sup over both g and z_j.
        let (lo, hi) = (set.lower()[j], set.upper()[j]);
        total.add((g.value * lo).max(g.value * hi));
        total.add(g.error() * lo.abs().max(hi.abs()));
        if g.value.is_nan() {
            // `max` would drop it.
            return CertifiedBound { value: f64::NAN, noise };
        }
    }
    CertifiedBound { value: total.upper(), noise }
}
