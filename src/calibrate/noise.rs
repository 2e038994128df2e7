//! Noise floors of recorded signals, at rest and moving.
//!
//! The third difference x_3 - 3 x_2 + 3 x_1 - x_0 of even samples takes out all that is a parabola over three steps; white noise of deviation s
//! leaves 20 s^2 of variance. Motion that is faster than that, and noise that is not white (filters), falsify it: a signal that was filtered shows less
//! than its sensor makes. So a floor is evidence; the profile's bounds rest on what the recordings need besides.

use serde::Serialize;

use crate::recording::{MeasurementLog, Sample};
use crate::robot::Arm;

/// Samples of a third difference, and the variance that white noise of deviation 1 has in it.
const SPAN: usize = 4;
const VARIANCE: f64 = 20.0;
/// What one outlier of 1 makes of it at most.
const LONE: f64 = 3.0;
/// A joint is at rest while it is slower than this share of its speed limit all along.
const REST_SHARE: f64 = 0.002;

/// Noise of one kind of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct WhiteNoise {
    /// Third differences that it is from.
    pub samples: usize,
    /// Standard deviation of white noise that would make them; 0 without any.
    pub deviation: f64,
    /// The largest outlier that would make one of them.
    pub peak: f64,
}

/// Noise of one signal of one joint, in its unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct NoiseFloor {
    /// While the joint stands.
    pub rest: WhiteNoise,
    /// While it moves.
    pub moving: WhiteNoise,
}

impl NoiseFloor {
    /// The larger peak.
    pub fn peak(&self) -> f64 {
        self.rest.peak.max(self.moving.peak)
    }
}

/// Noise of position (rad), velocity (rad/s) and torque (N m) of every joint.
pub fn floors(robot: &Arm, logs: &[MeasurementLog]) -> Vec<[NoiseFloor; 3]> {
    (0..robot.dof()).map(|j| of_joint(robot, logs, j)).collect()
}

fn of_joint(robot: &Arm, logs: &[MeasurementLog], j: usize) -> [NoiseFloor; 3] {
    let still = REST_SHARE * robot.joints[j].limits.velocity;
    let mut sums = [[(0usize, 0.0f64, 0.0f64); 2]; 3];
    let spans = logs.iter().flat_map(|log| log.segments.iter().map(move |s| &log.samples[s.clone()]));
    for span in spans.flat_map(|segment| segment.windows(SPAN)) {
        let rests = span.iter().all(|s| s.dq[j].abs() <= still);
        let signals: [fn(&Sample, usize) -> f64; 3] = [|s, j| s.q[j], |s, j| s.dq[j], |s, j| s.tau[j]];
        for (sums, signal) in sums.iter_mut().zip(signals) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| signal(&span[k], j));
            let third = d - 3.0 * c + 3.0 * b - a;
            let (count, squares, most) = &mut sums[usize::from(!rests)];
            (*count, *squares, *most) = (*count + 1, *squares + third * third, most.max(third.abs()));
        }
    }
    sums.map(|[rest, moving]| {
        let noise = |(samples, squares, most): (usize, f64, f64)| WhiteNoise {
            samples,
            deviation: (squares / (VARIANCE * samples.max(1) as f64)).sqrt(),
            peak: most / LONE,
        };
        NoiseFloor { rest: noise(rest), moving: noise(moving) }
    })
}
