//! Sensors that are read at rates of their own: when samples are taken, and what is read then.

use crate::recording::Sample;
use crate::robot::Model;

/// Stamps closer than this are one, s.
const SAME: f64 = 1e-9;

/// Rates of a robot's sensors, Hz.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadingRates {
    /// Encoders: positions and velocities of the joints.
    pub joints: f64,
    /// The base's attitude and velocities, and sensors beside the encoders.
    pub base: f64,
    /// Torques of the motors.
    pub torques: f64,
}

/// A sample, and what is read of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reads {
    /// When it is taken, s.
    pub t: f64,
    /// Positions and velocities of the joints.
    pub joints: bool,
    /// Pose and velocities of a floating base, and sensors beside the encoders.
    pub base: bool,
    /// Torques of the motors.
    pub torques: bool,
}

impl Reads {
    /// `count` samples, `step_s` apart, of which everything is read.
    pub fn everything(step_s: f64, count: usize) -> Vec<Self> {
        (0..count).map(|k| Self { t: k as f64 * step_s, joints: true, base: true, torques: true }).collect()
    }

    /// Takes out of a sample what is not read: NaN stands for no reading.
    pub(super) fn keep(&self, robot: &Model, sample: &mut Sample, readings: &mut [f64]) {
        let base = if robot.has_free_flyer() { 6 } else { 0 };
        let ahead = robot.nq() - robot.nv();
        let Sample { q, dq, tau, .. } = sample;
        for (read, q, dq) in
            [(self.base, 0..base + ahead, 0..base), (self.joints, base + ahead..q.len(), base..dq.len())]
        {
            if !read {
                sample.q[q].fill(f64::NAN);
                sample.dq[dq].fill(f64::NAN);
            }
        }
        if !self.torques {
            tau.fill(f64::NAN);
        }
        if !self.base {
            readings.fill(f64::NAN);
        }
    }
}

impl ReadingRates {
    /// All samples of `duration_s` seconds in which something is read; the first reads everything.
    pub fn samples(&self, duration_s: f64) -> Vec<Reads> {
        let stamps =
            |rate: f64| (0..).map(move |i| i as f64 / rate).take_while(move |t| *t < duration_s - SAME);
        let mut times: Vec<f64> =
            [self.joints, self.base, self.torques].into_iter().flat_map(stamps).collect();
        times.sort_by(f64::total_cmp);
        times.dedup_by(|b, a| *b - *a < SAME);
        let due = |t: f64, rate: f64| (t * rate - (t * rate).round()).abs() < SAME * rate;
        let reads = |&t: &f64| Reads {
            t,
            joints: due(t, self.joints),
            base: due(t, self.base),
            torques: due(t, self.torques),
        };
        times.iter().map(reads).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_where_some_sensor_is_read() {
        let rates = ReadingRates { joints: 1000.0, base: 400.0, torques: 500.0 };
        let samples = rates.samples(0.01);
        // Every millisecond, and 2.5 and 7.5 ms besides.
        assert_eq!(samples.len(), 12);
        let count = |of: fn(&Reads) -> bool| samples.iter().filter(|r| of(r)).count();
        assert_eq!((count(|r| r.joints), count(|r| r.base), count(|r| r.torques)), (10, 4, 5));
        assert!(samples[0].joints && samples[0].base && samples[0].torques);
        let between = samples[3];
        assert!((between.t - 2.5e-3).abs() < 1e-12 && between.base && !between.joints && !between.torques);
    }
}
