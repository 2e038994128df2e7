//! What drives the robot of a recording.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::body::constrained;
use super::{Drive, RecordingPlan};
use crate::dynamics::Workspace;
use crate::dynamics::actuation::{extended_parameters, joint_friction};
use crate::dynamics::constraint::{ConstrainedDynamics, Redundancy};
use crate::robot::configuration::{difference, integrate};
use crate::robot::{Model, Placement};
use crate::simulate::posture::{Posture, PostureReference};
use crate::simulate::whole_body::WholeBody;

/// Seconds over which an excitation grows to its full size: a start at full size would ask for a jump of the torques.
const RAMP_S: f64 = 1.0;

/// What a law believes of its robot.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct Belief {
    /// Parameters, extended.
    pub parameters: Vec<f64>,
    /// Whether all friction is made up for; otherwise not Coulomb's.
    pub all_friction: bool,
}

impl Belief {
    /// What the law adds for friction of joint `i` at speed `v`, N m.
    pub fn friction(&self, robot: &Model, i: usize, v: f64) -> f64 {
        if self.all_friction {
            return joint_friction(robot, &self.parameters, i, v).0;
        }
        let friction = robot.joint_parameters(&self.parameters, i);
        friction.viscous * v + friction.offset
    }
}

/// The controller of a recording; knows what it believes of the model, and the sensors.
pub(super) struct Law<'a> {
    robot: Arc<Model>,
    drive: &'a Drive,
    start: &'a [f64],
    phases: Vec<f64>,
    believed: Belief,
    dynamics: Workspace,
    whole: Option<WholeBody>,
}

impl<'a> Law<'a> {
    pub(super) fn new(
        robot: Arc<Model>,
        plan: &'a RecordingPlan,
        start: &'a [f64],
        draw: &mut ChaCha8Rng,
    ) -> Result<Self, String> {
        let (n, drive) = (robot.nv(), &plan.drive);
        let count = match drive {
            Drive::Free | Drive::Posture(_) => 0,
            Drive::Sines { harmonics, .. } | Drive::Torques { harmonics, .. } => n * harmonics,
        };
        let stated = plan.believed.clone();
        let believed = Belief {
            // Torques of a motion that was found are told with all friction ([`crate::study::standing`]).
            all_friction: stated.is_some()
                || matches!(drive, Drive::Posture(posture) if posture.series.is_some()),
            parameters: stated.unwrap_or_else(|| extended_parameters(&robot)),
        };
        let mut whole = None;
        if let Drive::Posture(posture) = drive {
            let mut reference = PostureReference::new(&robot, Posture::clone(posture), start)?;
            let held = constrained(&robot, &plan.footing)?;
            let held = held.map_or_else(
                || ConstrainedDynamics::new(&robot, Vec::new(), Redundancy::Drop).map_err(|e| e.to_string()),
                Ok,
            )?;
            if plan.ground.is_some() {
                reference.feel_the_ground();
            }
            whole = Some(WholeBody::new(robot.clone(), reference, held, believed.clone()));
        }
        Ok(Self {
            whole,
            drive,
            start,
            phases: (0..count).map(|_| draw.random_range(0.0..std::f64::consts::TAU)).collect(),
            believed,
            dynamics: Workspace::new(&robot),
            robot,
        })
    }

    pub(super) fn enter(&mut self, active: &[bool]) {
        if let Some(whole) = &mut self.whole {
            whole.enter(active);
        }
    }

    /// Foot `f` stands at `place` from now on, wherever it was meant to.
    pub(super) fn touch(&mut self, f: usize, place: Placement) {
        if let Some(whole) = &mut self.whole {
            whole.touch(f, place);
        }
    }

    /// A ramp s(t) times a sum of sines for joint `j` at `t`, with its first two derivatives.
    fn wave(&self, j: usize, t: f64, amplitude: f64, frequency_hz: f64, harmonics: usize) -> [f64; 3] {
        let (mut y, mut dy, mut ddy) = (0.0, 0.0, 0.0);
        for m in 1..=harmonics {
            let w = std::f64::consts::TAU * frequency_hz * m as f64;
            let (s, c) = (w * t + self.phases[j * harmonics + m - 1]).sin_cos();
            let a = amplitude / m as f64;
            (y, dy, ddy) = (y + a * s, dy + a * w * c, ddy - a * w * w * s);
        }
        // s = 3 x^2 - 2 x^3 on the ramp, 1 behind it.
        let x = (t / RAMP_S).min(1.0);
        let s = [
            3.0 * x * x - 2.0 * x.powi(3),
            6.0 * (x - x * x) / RAMP_S,
            6.0 * (1.0 - 2.0 * x) / RAMP_S.powi(2),
        ];
        let s = if x < 1.0 { s } else { [1.0, 0.0, 0.0] };
        [s[0] * y, s[1] * y + s[0] * dy, s[2] * y + 2.0 * s[1] * dy + s[0] * ddy]
    }

    /// Torques by the sensors (the whole body's law: by the true state).
    pub(super) fn torque(
        &mut self,
        t: f64,
        (q, dq): (&[f64], &[f64]),
        (true_q, true_v): (&[f64], &[f64]),
        tau: &mut [f64],
    ) -> Result<(), String> {
        if let Some(whole) = &mut self.whole {
            return whole.torque(t, true_q, true_v, tau);
        }
        let (amplitude, frequency_hz, harmonics, w) = match self.drive {
            Drive::Free | Drive::Posture(_) => return Ok(()),
            Drive::Torques { offset, amplitude, frequency_hz, harmonics } => {
                for (j, x) in tau.iter_mut().enumerate() {
                    *x = offset[j] + self.wave(j, t, amplitude[j], *frequency_hz, *harmonics)[0];
                }
                return Ok(());
            }
            Drive::Sines { amplitude, frequency_hz, harmonics, bandwidth_rad_s } => {
                (amplitude, *frequency_hz, *harmonics, *bandwidth_rad_s)
            }
        };
        let robot = &*self.robot;
        let n = dq.len();
        let waves: Vec<[f64; 3]> =
            (0..n).map(|j| self.wave(j, t, amplitude[j], frequency_hz, harmonics)).collect();
        let (mut desired, mut error) = (vec![0.0; q.len()], vec![0.0; n]);
        integrate(robot, self.start, &waves.iter().map(|w| w[0]).collect::<Vec<_>>(), &mut desired);
        difference(robot, q, &desired, &mut error);
        let wanted: Vec<f64> =
            (0..n).map(|j| waves[j][2] + w * w * error[j] + 2.0 * w * (waves[j][1] - dq[j])).collect();
        let model = &self.believed.parameters[..robot.parameter_count()];
        self.dynamics.inverse_dynamics(robot, q, dq, &wanted, model, tau);
        for i in robot.first_actuated()..robot.bodies() {
            let (joint, j) = (&robot.joints[i], robot.v_index(i));
            let friction = self.believed.friction(robot, i, dq[j]);
            tau[j] = (tau[j] + friction).clamp(-joint.limits.torque, joint.limits.torque);
        }
        Ok(())
    }
}
