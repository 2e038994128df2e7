//! Obstacles that move: how far one may be from where it was seen.
//!
//! # Assumed
//! All of the obstacle was in its zonotope when it was seen, `age_s` before the plan starts, and no point of it moves faster than its
//! `speed_m_s` (A3). Ticks are one period apart (A4).
//!
//! # Proven
//! At time t of the plan every point of the obstacle is within v (age + t) of where it was. So the obstacle lies in the zonotope plus a ball of that
//! radius. A set that is at least d away from the zonotope is at least d - v (age + t) away from the sum. What [`super::links`] and
//! [`super::block`] prove of a distance thus holds with the ball's radius added to the capsule's.
//!
//! The ball grows with t. A cell holds the ticks that begin in its span, to their ends: until t1 and one period more. So the ball of that time
//! is the largest of the cell's. Sum and product are rounded up, and so is what is added to the capsule's radius.
//!
//! # Not claimed
//! After the end of a plan the arm rests and an obstacle may go on moving for ever: no distance could be promised. So the claim
//! is about the times from the plan's start to its end, with the tick in which it ends. What comes to the arm later is not kept away from. The arm
//! then stays within its tube about a point: it moves by no more than tracking errors.

use crate::robot::Zonotope3;

use super::cell::Span;
use super::upward::{add_up, mul_up, sum_up};

/// Upper bound of how far any point of an obstacle is from where it was seen, over the ticks that begin in `span`, m; 0 of one that does not
/// move. `None` of one that moves where the arm rests: nothing is claimed there.
pub fn moved_by(obstacle: &Zonotope3, period_s: f64, span: Span) -> Option<f64> {
    match span {
        _ if !obstacle.moves() => Some(0.0),
        Span::Between(_, t1) => {
            let since = sum_up([obstacle.age_s, t1, period_s]);
            Some(mul_up(obstacle.speed_m_s, since))
        }
        Span::Rest => None,
    }
}

/// Radius of a capsule and of the ball by which an obstacle has grown, m; the capsule's own to the last bit against one that does not move.
pub fn grown(radius: f64, moved: f64) -> f64 {
    if moved == 0.0 { radius } else { add_up(radius, moved) }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use proptest::prelude::*;

    use super::*;
    use crate::enclose::twofold::Twofold;

    fn obstacle(speed_m_s: f64, age_s: f64) -> Zonotope3 {
        Zonotope3 { speed_m_s, age_s, ..Zonotope3::still("person", Vector3::zeros(), vec![]) }
    }

    proptest! {
        /// Against twice the precision: never below, and above by a few units in the last place.
        #[test]
        fn the_ball_holds_all_that_a_speed_allows(
            speed in 1e-6..10.0f64,
            age in 0.0..2.0f64,
            t in 0.0..3.0f64,
            period in 1e-4..1e-2f64,
            radius in 0.01..0.5f64,
        ) {
            let moved = moved_by(&obstacle(speed, age), period, Span::Between(0.5 * t, t)).unwrap();
            let since = Twofold::from(age).add(Twofold::from(t)).add(Twofold::from(period));
            let exact = Twofold::from(speed).mul(since);
            let over = Twofold::from(moved).sub(exact).head;
            prop_assert!(over >= 0.0 && over <= 1e-14 * moved, "{over}");
            let both = Twofold::from(grown(radius, moved)).sub(Twofold::from(radius)).sub(Twofold::from(moved)).head;
            prop_assert!(both >= 0.0 && both <= 1e-14 * (radius + moved), "{both}");
        }
    }

    #[test]
    fn what_does_not_move_does_not_grow_and_at_rest_nothing_is_claimed() {
        for span in [Span::Between(0.0, 1.0), Span::Rest] {
            assert_eq!(moved_by(&obstacle(0.0, 7.0), 1e-3, span), Some(0.0));
        }
        assert_eq!(moved_by(&obstacle(1.0, 0.0), 1e-3, Span::Rest), None);
        assert_eq!(grown(0.1, 0.0).to_bits(), 0.1f64.to_bits());
        // A speed that is no number keeps nothing away.
        assert_eq!(moved_by(&obstacle(f64::NAN, 0.0), 1e-3, Span::Between(0.0, 1.0)), Some(f64::INFINITY));
    }
}
