//! A span over which something is not proven is cut in two, and each half judged by itself: bounds over shorter spans are narrower.
//!
//! # Proven
//! If both halves are proven so is the whole, as they meet in the middle and together are all of it. A rest has no middle, nor have times
//! between which there is no other float.

use crate::reach::Span;

use super::Shortfall;
use super::verdict::Tally;

/// The verdict on the halves of `span`, over which there is this shortfall; halved again where need be, up to `depth` times.
pub(super) fn halve(
    span: Span,
    shortfall: Shortfall,
    depth: u32,
    judge: &mut impl FnMut(Span) -> Result<Tally, Shortfall>,
) -> Result<Tally, Shortfall> {
    let Span::Between(t0, t1) = span else { return Err(shortfall) };
    let middle = 0.5 * (t0 + t1);
    if depth == 0 || middle <= t0 || middle >= t1 {
        return Err(shortfall);
    }
    let mut half = |a: f64, b: f64| {
        let span = Span::Between(a, b);
        judge(span).or_else(|shortfall| halve(span, shortfall, depth - 1, judge))
    };
    let first = half(t0, middle)?;
    Ok(first.and(half(middle, t1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{ConstraintFamily, ConstraintIndex};

    fn short(t0: f64, t1: f64) -> Shortfall {
        let (family, place) = (ConstraintFamily::Torque, ConstraintIndex::Joint(0));
        Shortfall { family, place, t0, t1, margin: -1.0 }
    }

    /// Halves `span`, of which spans above 0.3 s about `hard` are not proven; what was proven, in its order, and the verdict.
    fn proven(span: Span, depth: u32, hard: f64) -> (Vec<(f64, f64)>, Result<Tally, Shortfall>) {
        let mut seen = vec![];
        let verdict = halve(span, short(0.0, 0.0), depth, &mut |span| {
            let Span::Between(t0, t1) = span else { panic!("a rest has no halves") };
            if (t0..=t1).contains(&hard) && t1 - t0 > 0.3 {
                return Err(short(t0, t1));
            }
            seen.push((t0, t1));
            Ok(Tally::of_a_cell())
        });
        (seen, verdict)
    }

    #[test]
    fn halves_meet_and_are_all_of_the_span() {
        let (seen, verdict) = proven(Span::Between(1.0, 3.0), 5, 1.6);
        assert_eq!(seen, [(1.0, 1.5), (1.5, 1.75), (1.75, 2.0), (2.0, 3.0)]);
        assert!(verdict.is_ok());
        let refused = proven(Span::Between(1.0, 3.0), 2, 1.6).1.unwrap_err();
        assert_eq!((refused.t0, refused.t1), (1.5, 2.0));
        for span in [Span::Rest, Span::Between(1.0, 1.0), Span::Between(1.0, 1.0f64.next_up())] {
            let (seen, verdict) = proven(span, 5, 9.0);
            assert!(seen.is_empty() && verdict.is_err(), "{span:?}");
        }
        assert!(proven(Span::Between(1.0, 3.0), 0, 9.0).1.is_err());
    }
}
