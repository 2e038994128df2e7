//! Upper bounds of sums, products and quotients: one step up after each operation.
//!
//! Assumed: IEEE 754 arithmetic, and nothing of signs; most operands are bounds of sizes, gaps may be negative. Proven: no result is below the exact one.
//!
//! Proof: round-to-nearest is off by at most half a step, so the next float above is not below the exact result. NaN
//! (from inf * 0 or 0 / 0) becomes infinity, so that nothing is ever bounded by it.
//!
//! For the few scalars of a cell, which chain products, quotients and roots of bounds. Long sums of products with signs are
//! counted instead, once at the end ([`crate::enclose::rounding`], [`crate::identify::certificate`]).

/// Upper bound of `a + b`.
#[inline]
pub fn add_up(a: f64, b: f64) -> f64 {
    bound(a + b)
}

/// Upper bound of `a b`.
#[inline]
pub fn mul_up(a: f64, b: f64) -> f64 {
    bound(a * b)
}

/// Upper bound of `a / b`, infinite for b = 0.
#[inline]
pub fn div_up(a: f64, b: f64) -> f64 {
    bound(a / b)
}

/// Upper bound of the sum of the terms.
pub fn sum_up(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().fold(0.0, add_up)
}

#[inline]
fn bound(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x.next_up() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_below_the_exact_result() {
        // 0.1 + 0.2 in exact arithmetic of the floats is below the float 0.30000000000000004's successor.
        assert!(add_up(0.1, 0.2) > 0.3);
        assert!(mul_up(f64::MIN_POSITIVE, 0.5e-10) > 0.0);
        assert_eq!(mul_up(f64::INFINITY, 0.0), f64::INFINITY);
        assert_eq!(div_up(0.0, 0.0), f64::INFINITY);
        assert!(sum_up([0.1; 10]) >= 1.0);
    }
}
