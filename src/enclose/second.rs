//! A second arithmetic for the enclosures, independently written: directed rounding by the library inari (feature `inari`).
//!
//! No certificate rests on it; `surelift verify` repeats proofs in it, and the tests of [`crate::enclose`] run under both.

use crate::enclose::sine::Enclosure;
use crate::enclose::{Interval, Rounding};

impl Enclosure for inari::Interval {
    #[inline]
    fn between(lower: f64, upper: f64) -> Self {
        // inari refuses NaN, bounds out of order and infinite points, all of which mean "nothing known" here.
        Self::try_from((lower, upper)).unwrap_or(Self::ENTIRE)
    }

    #[inline]
    fn bounds(self) -> Interval {
        // The bounds of an empty set are NaN in inari, which becomes the whole line here.
        Interval::new(self.inf(), self.sup())
    }
}

/// Directed rounding by the library inari, which shares no code with [`crate::enclose::Counted`]. Slower and a little tighter.
///
/// Proof: inari's operations enclose (its own claim, IEEE 1788), and so does every expression made of them; the error is
/// the largest distance, rounded up by inari, from the midpoint to the enclosure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Directed;

impl Rounding for Directed {
    type Real = inari::Interval;
    type Enclosure = inari::Interval;

    #[inline]
    fn exact(x: f64) -> inari::Interval {
        inari::Interval::between(x, x)
    }

    #[inline]
    fn product(a: f64, b: f64) -> inari::Interval {
        // inari takes zero times the whole line for zero, which would hide where the whole line came from.
        if a.is_finite() && b.is_finite() { Self::exact(a) * Self::exact(b) } else { inari::Interval::ENTIRE }
    }

    #[inline]
    fn total<const N: usize>(terms: &[f64; N]) -> inari::Interval {
        terms.iter().fold(Self::exact(0.0), |sum, &x| sum + Self::exact(x))
    }

    #[inline]
    fn magnitude<const N: usize>(terms: &[f64; N]) -> inari::Interval {
        Self::total(&terms.map(f64::abs))
    }

    #[inline]
    fn split(x: inari::Interval) -> (f64, f64) {
        let value = x.mid();
        (value, (x - Self::exact(value)).mag())
    }

    #[inline]
    fn lower(x: inari::Interval) -> f64 {
        x.bounds().lower()
    }

    #[inline]
    fn upper(x: inari::Interval) -> f64 {
        x.bounds().upper()
    }
}
