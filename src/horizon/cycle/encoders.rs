//! Which encoders the control loop still believes. Once one is known to be false, feedback from it would drive its joint
//! away with all that the actuator has: the controller is told that there is no reading, and stops gently
//! ([`crate::control::stop`]).

use crate::identify::IdentifyError;
use crate::identify::plausible::check_motion;
use crate::inertia::ParameterSet;
use crate::plan::inertia_floor::armature_floor;
use crate::recording::Sample;
use crate::robot::Arm;

use super::Reading;

/// Identical readings in a row after which an encoder is taken to be frozen, given that something is known to be broken.
/// Fewer may come of a joint that moves less than its encoder resolves; each further one delays the verdict by a tick.
const REPEATED: u32 = 5;

/// The encoders of a run. Looking neither allocates nor panics.
#[derive(Debug)]
pub(super) struct Encoders {
    /// Accelerations (rad/s^2) beyond what the actuators have, twice over: their whole torque and as much again from
    /// the load, on the joint's own transmission inertia.
    possible: Vec<f64>,
    /// The last reading and the present one, at the loop's own time; torques are not looked at.
    previous: Sample,
    present: Sample,
    begun: bool,
    /// Stamp of the reading before, s.
    stamp_s: f64,
    repeated: Vec<u32>,
    believed: Vec<bool>,
}

/// Of so many joints at rest.
fn still(joints: usize) -> Sample {
    Sample { t: 0.0, q: vec![0.0; joints], dq: vec![0.0; joints], tau: vec![] }
}

/// What is wrong with an encoder.
#[derive(Debug)]
pub(in super::super) enum EncoderFault {
    /// Its reading is no number. Of which joint.
    Silent(usize),
    /// Its motion is none that an actuator can bring about.
    Moved(IdentifyError),
}

impl Encoders {
    pub(super) fn new(robot: &Arm, set: &ParameterSet) -> Self {
        let n = robot.dof();
        let possible = |j: usize| {
            2.0 * robot.joints[j].limits.torque / armature_floor(robot, set, j).max(f64::MIN_POSITIVE)
        };
        Self {
            possible: (0..n).map(possible).collect(),
            previous: still(n),
            present: still(n),
            begun: false,
            stamp_s: 0.0,
            repeated: vec![0; n],
            believed: vec![true; n],
        }
    }

    /// Looks at the reading of tick number `tick` (the loop's own time; the stamps may be wrong). An error is an encoder's
    /// motion that no actuator can bring about, or no number at all: it is not believed any more. Nor is one that repeats itself to the last
    /// digit once something is known to be `broken`. Each is told once.
    pub(super) fn look(
        &mut self,
        robot: &Arm,
        reading: &Reading,
        tick: u64,
        broken: bool,
    ) -> Result<(), EncoderFault> {
        let unread = |j: &usize| !(reading.q[*j].is_finite() && reading.dq[*j].is_finite());
        let silent = (0..self.believed.len()).find(|j| self.believed[*j] && unread(j));
        (0..self.believed.len()).filter(unread).for_each(|j| self.believed[j] = false);
        if let Some(joint) = silent {
            return Err(EncoderFault::Silent(joint));
        }
        std::mem::swap(&mut self.previous, &mut self.present);
        let (before, now) = (&self.previous, &mut self.present);
        let (period, jitter) = (robot.gains().period_s, robot.timing().jitter_max_s);
        now.t = match jitter > 0.0 && self.begun {
            false => tick as f64 * period,
            // Ticks that shake are as far apart as their stamps say, within what they may be.
            true => before.t + (reading.t - self.stamp_s).max(period - jitter).min(period + jitter),
        };
        self.stamp_s = reading.t;
        now.q.copy_from_slice(&reading.q);
        now.dq.copy_from_slice(&reading.dq);
        if !std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        for (j, count) in self.repeated.iter_mut().enumerate() {
            *count = if before.q[j] == now.q[j] { *count + 1 } else { 0 };
            self.believed[j] &= !(broken && *count >= REPEATED);
        }
        match check_motion(robot, before, now, &self.possible) {
            Err(IdentifyError::Jump { joint, .. }) if !self.believed[joint] => Ok(()),
            Err(error) => {
                if let IdentifyError::Jump { joint, .. } = error {
                    self.believed[joint] = false;
                }
                Err(EncoderFault::Moved(error))
            }
            Ok(()) => Ok(()),
        }
    }

    /// What the controller is told: no number where the encoder is not believed.
    pub(super) fn told(&self, reading: &Reading, told: &mut Reading) {
        told.t = reading.t;
        for (j, &believed) in self.believed.iter().enumerate() {
            let measured = (reading.q[j], reading.dq[j]);
            (told.q[j], told.dq[j]) = if believed { measured } else { (f64::NAN, f64::NAN) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_that_jumps_or_repeats_itself_or_is_silent_is_not_believed() {
        let robot = crate::robot::load("robots/kinova_gen3_2f85.toml").unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let reading = |q: f64, dq: f64| Reading { t: 9.0, q: vec![q; 7], dq: vec![dq; 7] };
        let told = |encoders: &Encoders, reading: &Reading| {
            let mut told = reading.clone();
            encoders.told(reading, &mut told);
            told.q
        };
        let without = |q: f64, lost: usize, told: Vec<f64>| {
            (0..7).all(|j| if j == lost { told[j].is_nan() } else { told[j] == q })
        };
        let mut encoders = Encoders::new(&robot, &set);
        encoders.look(&robot, &reading(0.0, 0.3), 0, false).unwrap();
        encoders.look(&robot, &reading(0.0003, 0.3), 1, false).unwrap();
        let mut frozen = reading(0.0006, 0.3);
        (frozen.q[3], frozen.dq[3]) = (0.0003, 0.0);
        let error = encoders.look(&robot, &frozen, 2, false).unwrap_err();
        assert!(matches!(error, EncoderFault::Moved(IdentifyError::Jump { joint: 3, .. })), "{error:?}");
        assert!(without(0.0006, 3, told(&encoders, &frozen)));

        // A slow joint freezes without a jump: not told from rest until something is known to be broken.
        let mut encoders = Encoders::new(&robot, &set);
        for tick in 0..20 {
            encoders.look(&robot, &reading(0.1, 0.0), tick, false).unwrap();
        }
        assert_eq!(told(&encoders, &reading(0.1, 0.0)), [0.1; 7]);
        encoders.look(&robot, &reading(0.1, 0.0), 20, true).unwrap();
        assert!(told(&encoders, &reading(0.1, 0.0)).iter().all(|q| q.is_nan()));

        // One that says nothing is told of once.
        let mut encoders = Encoders::new(&robot, &set);
        encoders.look(&robot, &reading(0.1, 0.0), 0, false).unwrap();
        let mut silent = reading(0.1, 0.0);
        silent.dq[2] = f64::NAN;
        let error = encoders.look(&robot, &silent, 1, false).unwrap_err();
        assert!(matches!(error, EncoderFault::Silent(2)), "{error:?}");
        assert!(encoders.look(&robot, &silent, 2, true).is_ok());
        assert!(without(0.1, 2, told(&encoders, &silent)));
    }

    /// Ticks that shake are as far apart as their stamps say, but by no more than the file states.
    #[test]
    fn stamps_count_within_the_stated_jitter() {
        let robot = crate::robot::load("robots/kinova_gen3_2f85.toml").unwrap();
        let timing = crate::robot::TimingBounds { jitter_max_s: 1e-4, ..robot.timing() };
        let robot = robot.with_timing(timing).unwrap();
        let set = ParameterSet::around_nominal(&robot);
        // Two readings whose stamps are so far apart, of joints that have moved for so long, s, at 1 rad/s.
        let believed = |stamps_s: f64, moved_s: f64| {
            let mut encoders = Encoders::new(&robot, &set);
            let reading = |t: f64, q: f64| Reading { t, q: vec![q; 7], dq: vec![1.0; 7] };
            encoders.look(&robot, &reading(9.0, 0.0), 0, false).unwrap();
            encoders.look(&robot, &reading(9.0 + stamps_s, moved_s), 1, false).is_ok()
        };
        for step in [9e-4, 1e-3, 1.1e-3] {
            assert!(believed(step, step), "{step}");
        }
        assert!(!believed(1.1e-3, 1e-3) && !believed(1e-3, 1.1e-3));
        // A stamp beyond what is stated makes no longer motion possible.
        assert!(!believed(1.3e-3, 1.3e-3) && believed(1.3e-3, 1.1e-3));
        assert!(!believed(f64::INFINITY, 1.3e-3) && !believed(-1.0, 1.1e-3));
    }
}
