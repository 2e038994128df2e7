//! What may be false about the world although everybody believes it: one violation at a time of the assumptions on
//! which the guarantee rests, so that one can see whether it is noticed.

use crate::inertia::INERTIAL;
use crate::robot::EncoderSide;

/// Violations of the assumptions, all absent by default. Joints by index; times since the start of the run in s.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// The held object moves within the hand (assumption A1: the payload is one rigid body with the arm's last link).
    pub payload_slips: Option<PayloadSlips>,
    /// A torque sensor reads a multiple of the torque (A2).
    pub torque_gain: Option<TorqueGain>,
    /// True Coulomb and viscous friction of all joints over the nominal, less 1 (A1).
    pub friction_ratio: Option<f64>,
    /// The base leans by this angle, degrees, in a direction that the seed draws (A1, if it is more than the robot's file allows).
    pub base_tilt_deg: Option<f64>,
    /// The arm does not stand where the task says (A4).
    pub misplaced_start: Option<MisplacedStart>,
    /// An encoder repeats itself (A2).
    pub frozen_encoder: Option<FrozenEncoder>,
    /// The clock that stamps the measurements jumps (A2).
    pub clock_jump: Option<ClockJump>,
    /// Measurements are lost on their way to the identifier; no assumption, but a thing that happens.
    pub dropped_samples: Option<DroppedSamples>,
    /// An encoder says nothing any more (A2).
    pub lost_encoder: Option<LostEncoder>,
    /// A drive gives less than it is asked for, and does not tell (A1).
    pub clamped_drive: Option<ClampedDrive>,
    /// The joints are elastic although the robot's file says nothing of it, or other than it says (A1).
    pub elastic_joints: Option<ElasticJoints>,
    /// An obstacle is faster than it is said to be (A3).
    pub fast_obstacle: Option<FastObstacle>,
    /// The held object is let go (A1).
    pub payload_dropped: Option<PayloadDropped>,
    /// Encoders are read late (A2).
    pub late_readings: Option<LateReadings>,
    /// The planner is busy with something else; no assumption, but a thing that happens.
    pub planner_stalls: Option<PlannerStalls>,
}

/// The held object is at once at another place in the hand; the joints' velocities stay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PayloadSlips {
    /// When.
    pub at_s: f64,
    /// Whereto from where it was, in the end-effector joint's frame, m.
    pub by_m: [f64; 3],
}

/// The hand is empty from then on; the joints' velocities stay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PayloadDropped {
    /// When.
    pub at_s: f64,
}

/// From `at_s` on, what the encoders say is what was so many control periods ago. The torque sensors are in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LateReadings {
    /// When.
    pub at_s: f64,
    /// How many periods.
    pub periods: usize,
}

/// The first plan that would be proven for a start at `at_s` or later is held up by `for_s` on this computer's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannerStalls {
    /// When.
    pub at_s: f64,
    /// For how long.
    pub for_s: f64,
}

/// The reading is (1 + ratio) times the torque, then the sensor's ordinary error is added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TorqueGain {
    /// The gain's error.
    pub ratio: f64,
    /// The sensor at fault; all where `None`.
    pub joint: Option<usize>,
}

/// The arm stands at rest, one joint off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MisplacedStart {
    /// The joint.
    pub joint: usize,
    /// How far, rad (m).
    pub by_rad: f64,
}

/// From `at_s` on, the position is the one read last, the velocity 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrozenEncoder {
    /// The joint.
    pub joint: usize,
    /// When.
    pub at_s: f64,
}

/// From `at_s` on, position and velocity are no numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostEncoder {
    /// The joint.
    pub joint: usize,
    /// When.
    pub at_s: f64,
}

/// From `at_s` on, the torque that acts is cut at a share of the joint's limit. The torque sensor measures what acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClampedDrive {
    /// The joint; all where `None`.
    pub joint: Option<usize>,
    /// When.
    pub at_s: f64,
    /// Largest torque over the limit.
    pub share: f64,
}

/// Springs between the transmissions and the links. Transmission inertia and friction are before them.
#[derive(Debug, Clone, PartialEq)]
pub struct ElasticJoints {
    /// Stiffness of each joint, N m/rad (N/m); length n.
    pub stiffness_nm_rad: Vec<f64>,
    /// Where the encoders are.
    pub encoders: EncoderSide,
}

/// From `at_s` on, an obstacle goes along its path `factor` times as fast as the path says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastObstacle {
    /// Index of the obstacle in the scene.
    pub obstacle: usize,
    /// When.
    pub at_s: f64,
    /// How many times as fast.
    pub factor: f64,
}

impl FastObstacle {
    /// The time at which the path says what is true at time `t`, s.
    pub(super) fn hurried(&self, t: f64) -> f64 {
        if t > self.at_s { self.at_s + self.factor * (t - self.at_s) } else { t }
    }
}

/// From `at_s` on, all time stamps are off by `by_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockJump {
    /// When.
    pub at_s: f64,
    /// How far; positive: forward.
    pub by_s: f64,
}

/// `count` consecutive ticks from `at_s` on do not reach the identifier, and again so after every `every_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DroppedSamples {
    /// When.
    pub at_s: f64,
    /// How many ticks at a time.
    pub count: u64,
    /// Time from one loss to the next; once only where `None`.
    pub every_s: Option<f64>,
}

impl TorqueGain {
    /// The factor for joint j.
    pub(super) fn factor(&self, j: usize) -> f64 {
        if self.joint.is_none_or(|only| only == j) { 1.0 + self.ratio } else { 1.0 }
    }
}

impl ClampedDrive {
    /// What acts of the torque `tau` (N m) on joint j with this limit, N m, at time `now` (s).
    pub(super) fn acts(&self, j: usize, tau: f64, limit: f64, now: f64) -> f64 {
        let most = self.share * limit;
        let weak = now >= self.at_s && self.joint.is_none_or(|only| only == j);
        if weak { tau.clamp(-most, most) } else { tau }
    }
}

impl DroppedSamples {
    /// Whether tick number `tick` is lost.
    pub(super) fn loses(&self, tick: u64, period_s: f64) -> bool {
        let ticks = |s: f64| (s / period_s).round() as u64;
        let Some(since) = tick.checked_sub(ticks(self.at_s)) else { return false };
        let within = match self.every_s {
            Some(every) => since % ticks(every).max(1),
            None => since,
        };
        within < self.count
    }
}

/// The whole last body after its object, which is what exceeds `empty`, has moved by `by` (m).
pub(super) fn slipped(body: &[f64; INERTIAL], empty: &[f64; INERTIAL], by: [f64; 3]) -> [f64; INERTIAL] {
    let object: [f64; INERTIAL] = std::array::from_fn(|k| body[k] - empty[k]);
    let moved = translated(&object, by);
    std::array::from_fn(|k| empty[k] + moved[k])
}

/// Inertial parameters about the same origin after the body has moved by d: h' = h + m d and, with r' = r + d in
/// I = int (|r|^2 1 - r r'), I' = I + (2 h.d + m |d|^2) 1 - (h d' + d h' + m d d').
fn translated(theta: &[f64; INERTIAL], d: [f64; 3]) -> [f64; INERTIAL] {
    let (m, h) = (theta[0], [theta[1], theta[2], theta[3]]);
    let trace: f64 = (0..3).map(|i| 2.0 * h[i] * d[i] + m * d[i] * d[i]).sum();
    let term = |i: usize, j: usize| {
        let diagonal = if i == j { trace } else { 0.0 };
        diagonal - (h[i] * d[j] + d[i] * h[j] + m * d[i] * d[j])
    };
    let places = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)];
    let mut moved = *theta;
    (0..3).for_each(|i| moved[1 + i] += m * d[i]);
    places.iter().enumerate().for_each(|(k, &(i, j))| moved[4 + k] += term(i, j));
    moved
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Vector3};

    use super::*;
    use crate::inertia::pseudo::from_center_of_mass;

    #[test]
    fn a_moved_body_keeps_its_inertia_about_its_own_center() {
        let about_center = Matrix3::new(0.02, 0.001, 0.0, 0.001, 0.018, 0.002, 0.0, 0.002, 0.01);
        let (center, d) = (Vector3::new(0.02, -0.03, -0.18), [0.01, 0.05, -0.02]);
        let before = from_center_of_mass(3.0, &center, &about_center);
        let after = from_center_of_mass(3.0, &(center + Vector3::from(d)), &about_center);
        let moved = translated(&before, d);
        assert!(moved.iter().zip(after).all(|(a, b)| (a - b).abs() < 1e-14), "{moved:?} {after:?}");
        let empty = from_center_of_mass(1.0, &Vector3::new(0.0, 0.0, -0.05), &about_center);
        let whole: [f64; INERTIAL] = std::array::from_fn(|k| empty[k] + before[k]);
        let slipped = slipped(&whole, &empty, d);
        assert!((0..INERTIAL).all(|k| (slipped[k] - empty[k] - after[k]).abs() < 1e-14));
    }

    #[test]
    fn samples_are_lost_when_it_says() {
        let lost = |drop: DroppedSamples| (0..10).filter(|&k| drop.loses(k, 0.1)).collect::<Vec<u64>>();
        let once = DroppedSamples { at_s: 0.3, count: 2, every_s: None };
        assert_eq!(lost(once), [3, 4]);
        assert_eq!(lost(DroppedSamples { every_s: Some(0.4), ..once }), [3, 4, 7, 8]);
    }

    #[test]
    fn a_clamped_drive_gives_no_more_than_its_share() {
        let weak = ClampedDrive { joint: Some(1), at_s: 2.0, share: 0.25 };
        let acts = |j: usize, tau: f64, now: f64| weak.acts(j, tau, 40.0, now);
        assert_eq!([acts(1, -30.0, 2.0), acts(1, 9.0, 2.0), acts(1, 30.0, 1.9)], [-10.0, 9.0, 30.0]);
        assert_eq!(acts(0, 30.0, 3.0), 30.0);
        assert_eq!(ClampedDrive { joint: None, ..weak }.acts(0, 30.0, 40.0, 3.0), 10.0);
    }

    #[test]
    fn a_gain_is_one_sensors_or_all() {
        let one = TorqueGain { ratio: 0.08, joint: Some(2) };
        assert_eq!((one.factor(1), one.factor(2)), (1.0, 1.08));
        assert_eq!(TorqueGain { joint: None, ..one }.factor(1), 1.08);
    }
}
