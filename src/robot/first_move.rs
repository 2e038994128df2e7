//! A first motion for an arm that nobody has moved yet: from one configuration to another, with room between the arm's own shapes all the way.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::arm::Arm;
use super::clearance;
use super::model::Joint;

/// Configurations that are tried, and places on the way between two of them.
const TRIES: usize = 1000;
const PLACES: usize = 12;
/// Joints that turn begin within this angle of their middle, or of zero where that is within their limits, rad.
const NEAR_RAD: f64 = 1.2;
/// How far joints move: an angle, rad, or at most a share of the travel.
const MOVE_RAD: f64 = 0.4;
const MOVE_SHARE: f64 = 0.2;
/// Share of the travel at each end that is left alone.
const MARGIN_SHARE: f64 = 0.15;

/// Where to start and where to go, rad or m, and how far the nearest two of the arm's shapes stay apart on the straight way, m.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstMove {
    /// One number a joint.
    pub start: Vec<f64>,
    /// The same.
    pub goal: Vec<f64>,
    /// Infinite where there are no two shapes to be kept apart.
    pub clearance_m: f64,
}

/// Where a joint may begin, and how far it goes.
fn room(joint: &Joint) -> (f64, f64, f64) {
    let endless =
        if joint.kind.is_rotation() { (-std::f64::consts::PI, std::f64::consts::PI) } else { (-0.5, 0.5) };
    let (lower, upper) = joint.limits.position.unwrap_or(endless);
    let travel = upper - lower;
    let (lower, upper) = (lower + MARGIN_SHARE * travel, upper - MARGIN_SHARE * travel);
    let step = MOVE_SHARE * travel;
    if !joint.kind.is_rotation() {
        return (lower, upper, step);
    }
    let middle = if (lower..=upper).contains(&0.0) { 0.0 } else { 0.5 * (lower + upper) };
    (lower.max(middle - NEAR_RAD), upper.min(middle + NEAR_RAD), step.min(MOVE_RAD))
}

impl FirstMove {
    /// Of some random motions of all joints, the one on whose way the arm's shapes keep the most room. The same arm gives the same motion.
    pub fn of(arm: &Arm) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let rooms: Vec<_> = arm.joints.iter().map(room).collect();
        let mut best = None::<Self>;
        for _ in 0..TRIES {
            let start: Vec<f64> = rooms.iter().map(|(l, u, _)| short(rng.random_range(*l..=*u))).collect();
            let step = |(q, (lower, upper, step)): (&f64, &(f64, f64, f64))| {
                let up = q + step <= *upper && (q - step < *lower || rng.random());
                short(if up { q + step } else { q - step })
            };
            let goal: Vec<f64> = start.iter().zip(&rooms).map(step).collect();
            let least = best.as_ref().map_or(f64::NEG_INFINITY, |best| best.clearance_m);
            let clearance_m = way(arm, (&start, &goal), least);
            if clearance_m > least {
                best = Some(Self { start, goal, clearance_m });
            }
        }
        best.unwrap_or_else(|| {
            let middle: Vec<f64> = rooms.iter().map(|(l, u, _)| short(0.5 * (l + u))).collect();
            Self { start: middle.clone(), goal: middle, clearance_m: f64::NEG_INFINITY }
        })
    }
}

/// Two digits behind the point are enough for a guess; three where a joint slides a few centimetres.
fn short(x: f64) -> f64 {
    (x * 1e3).round() / 1e3 + 0.0
}

/// Least distance of two shapes that must stay apart, on the straight way; anything below `least` is as good as that.
fn way(arm: &Arm, (start, goal): (&[f64], &[f64]), least: f64) -> f64 {
    let mut clearance = f64::INFINITY;
    for place in 0..=PLACES {
        let share = place as f64 / PLACES as f64;
        let q: Vec<f64> = start.iter().zip(goal).map(|(a, b)| a + share * (b - a)).collect();
        let frames = arm.frames(&q);
        for &(a, b) in arm.self_pairs() {
            let [a, b] = [a, b].map(|k| arm.placed_capsule(k, &frames));
            clearance = clearance.min(clearance::between_capsules(&a, &b));
            if clearance <= least {
                return clearance;
            }
        }
    }
    clearance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::load;

    #[test]
    fn there_is_room_all_the_way_and_within_the_limits() {
        for name in ["kinova_gen3_2f85", "z1", "panda", "ur5e"] {
            let arm = load(name).unwrap();
            let found = FirstMove::of(&arm);
            assert!(found.clearance_m > 1e-3, "{name}: {found:?}");
            assert_eq!(found, FirstMove::of(&arm));
            for (joint, (a, b)) in arm.joints.iter().zip(found.start.iter().zip(&found.goal)) {
                assert!((a - b).abs() > 0.05, "{name}: {found:?}");
                if let Some((lower, upper)) = joint.limits.position {
                    assert!(
                        (lower + 0.05..=upper - 0.05).contains(a)
                            && (lower + 0.05..=upper - 0.05).contains(b),
                        "{name}: {found:?}"
                    );
                }
            }
            // Looked at more closely than it was chosen.
            for k in 0..=200 {
                let share = f64::from(k) / 200.0;
                let q: Vec<f64> =
                    found.start.iter().zip(&found.goal).map(|(a, b)| a + share * (b - a)).collect();
                let frames = arm.frames(&q);
                for &(a, b) in arm.self_pairs() {
                    let [a, b] = [a, b].map(|k| arm.placed_capsule(k, &frames));
                    assert!(
                        clearance::between_capsules(&a, &b) > 0.8 * found.clearance_m,
                        "{name} at {share}"
                    );
                }
            }
        }
    }
}
