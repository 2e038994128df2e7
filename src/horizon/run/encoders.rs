//! Which encoders the control loop still believes. Once one is known to be false, feedback from it would drive its joint
//! away with all that the actuator has; the joint then follows the rest of its plan by feed-forward alone, with what
//! feedback had to add to it lately.
//!
//! This is damage control after an assumption broke: nothing is proven about it.

use crate::identify::IdentifyError;
use crate::identify::plausible::check_motion;
use crate::inertia::ParameterSet;
use crate::plan::inertia_floor::armature_floor;
use crate::recording::Sample;
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::super::hardware::Reading;

/// Identical readings in a row after which an encoder is taken to be frozen, given that something is known to be broken.
/// Fewer may come of a joint that moves less than its encoder resolves; each further one delays the verdict by a tick.
const REPEATED: u32 = 5;
/// Time over which the share of feedback in the torques is averaged, s: a hundred ticks of 1 ms, so that the noise of single
/// readings does not decide.
const MEMORY_S: f64 = 0.1;

/// The encoders of a run.
pub(super) struct Encoders {
    /// Accelerations (rad/s^2) beyond what the actuators have, twice over: their whole torque and as much again from
    /// the load, on the joint's own transmission inertia.
    possible: Vec<f64>,
    previous: Option<Sample>,
    repeated: Vec<u32>,
    believed: Vec<bool>,
    /// What feedback adds to the torques of each joint, N m, averaged until the encoder failed.
    feedback: Vec<f64>,
}

impl Encoders {
    pub(super) fn new(robot: &Arm, set: &ParameterSet) -> Self {
        let n = robot.dof();
        let possible = |j: usize| {
            2.0 * robot.joints[j].limits.torque / armature_floor(robot, set, j).max(f64::MIN_POSITIVE)
        };
        Self {
            possible: (0..n).map(possible).collect(),
            previous: None,
            repeated: vec![0; n],
            believed: vec![true; n],
            feedback: vec![0.0; n],
        }
    }

    /// Looks at the reading of tick number `tick` (the loop's own time; the stamps may be wrong). An error is an encoder's
    /// motion that no actuator can bring about: it is not believed any more. Nor is one that repeats itself to the last
    /// digit once something is known to be `broken`.
    pub(super) fn look(
        &mut self,
        robot: &Arm,
        reading: &Reading,
        tick: u64,
        broken: bool,
    ) -> Result<(), IdentifyError> {
        let now = Sample {
            t: tick as f64 * robot.gains().period_s,
            q: reading.q.clone(),
            dq: reading.dq.clone(),
            tau: vec![],
        };
        let Some(before) = self.previous.replace(now.clone()) else { return Ok(()) };
        for (j, count) in self.repeated.iter_mut().enumerate() {
            *count = if before.q[j] == now.q[j] { *count + 1 } else { 0 };
            self.believed[j] &= !(broken && *count >= REPEATED);
        }
        match check_motion(robot, &before, &now, &self.possible) {
            Err(IdentifyError::Jump { joint, .. }) if !self.believed[joint] => Ok(()),
            Err(error) => {
                if let IdentifyError::Jump { joint, .. } = error {
                    self.believed[joint] = false;
                }
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Remembers how far the torques `tau` are from feed-forward, `open` (N m), and adds that where the encoder is not
    /// believed any more.
    pub(super) fn correct(&mut self, robot: &Arm, open: &[f64], tau: &mut [f64]) {
        let share = (robot.gains().period_s / MEMORY_S).min(1.0);
        for (j, tau) in tau.iter_mut().enumerate() {
            if self.believed[j] {
                self.feedback[j] += share * (*tau - open[j] - self.feedback[j]);
            } else {
                let limit = robot.joints[j].limits.torque;
                *tau = (*tau + self.feedback[j]).clamp(-limit, limit);
            }
        }
    }

    /// What the controller is told: the desired motion where the encoder is not believed.
    pub(super) fn told(&self, reading: &Reading, desired: &JointState, told: &mut Reading) {
        told.t = reading.t;
        for (j, &believed) in self.believed.iter().enumerate() {
            let measured = (reading.q[j], reading.dq[j]);
            (told.q[j], told.dq[j]) = if believed { measured } else { (desired.q[j], desired.dq[j]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_that_jumps_or_repeats_itself_is_not_believed() {
        let robot = crate::robot::load("robots/kinova_gen3_2f85.toml").unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let reading = |q: f64, dq: f64| Reading { t: 9.0, q: vec![q; 7], dq: vec![dq; 7] };
        let desired = JointState { q: vec![5.0; 7], dq: vec![6.0; 7], ddq: vec![0.0; 7] };
        let told = |encoders: &Encoders, reading: &Reading| {
            let mut told = reading.clone();
            encoders.told(reading, &desired, &mut told);
            told.q
        };
        let mut encoders = Encoders::new(&robot, &set);
        encoders.look(&robot, &reading(0.0, 0.3), 0, false).unwrap();
        encoders.look(&robot, &reading(0.0003, 0.3), 1, false).unwrap();
        let mut frozen = reading(0.0006, 0.3);
        (frozen.q[3], frozen.dq[3]) = (0.0003, 0.0);
        let error = encoders.look(&robot, &frozen, 2, false).unwrap_err();
        assert!(matches!(error, IdentifyError::Jump { joint: 3, .. }), "{error}");
        // Before it failed, feedback had come to 2 N m.
        encoders.believed[3] = true;
        for _ in 0..2000 {
            encoders.correct(&robot, &[1.0; 7], &mut [3.0; 7]);
        }
        encoders.believed[3] = false;
        let mut tau = [1.0; 7];
        encoders.correct(&robot, &[1.0; 7], &mut tau);
        assert!((tau[3] - 3.0).abs() < 1e-6 && tau[2] == 1.0, "{tau:?}");
        assert_eq!(told(&encoders, &frozen), [0.0006, 0.0006, 0.0006, 5.0, 0.0006, 0.0006, 0.0006]);

        // A slow joint freezes without a jump: not told from rest until something is known to be broken.
        let mut encoders = Encoders::new(&robot, &set);
        for tick in 0..20 {
            encoders.look(&robot, &reading(0.1, 0.0), tick, false).unwrap();
        }
        assert_eq!(told(&encoders, &reading(0.1, 0.0)), [0.1; 7]);
        encoders.look(&robot, &reading(0.1, 0.0), 20, true).unwrap();
        assert_eq!(told(&encoders, &reading(0.1, 0.0)), [5.0; 7]);
    }
}
