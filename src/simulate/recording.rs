//! Recordings of a simulated arm for the estimators: encoders and torque sensors with Gaussian noise, and the truth
//! under seal.
//!
//! [`HiddenParameters`] go in, [`Recording`] comes out; who holds a recording sees the samples and nothing else.
//! [`Sealed::reveal`] consumes the seal, for the report of a finished estimate.

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::plant::Plant;
use crate::dynamics::{Motion, Wrench, rnea};
use crate::inertia::pseudo::check_physical;
use crate::robot::{INERTIAL, Robot};

/// Seconds over which an excitation grows to its full size.
const RAMP_S: f64 = 1.0;

/// The true parameters of a whole robot, for the plant alone (see [`super::HiddenTruth`] for why).
///
/// ```compile_fail,E0616
/// # fn peek(truth: surelift::simulate::HiddenParameters) -> f64 {
/// truth.parameters[0] // the field is private
/// # }
/// ```
pub struct HiddenParameters {
    parameters: Vec<f64>,
}

impl std::fmt::Debug for HiddenParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HiddenParameters")
    }
}

impl HiddenParameters {
    /// Hides the parameters (layout of [`Robot::nominal_parameters`]); `Err` names the link that no rigid body can be.
    pub(crate) fn new(robot: &Robot, parameters: Vec<f64>) -> Result<Self, String> {
        for (i, joint) in robot.joints.iter().enumerate() {
            let mut body = [0.0; INERTIAL];
            body.copy_from_slice(&parameters[robot.inertial_index(i)..][..INERTIAL]);
            check_physical(&body).map_err(|e| format!("link `{}`: {e}", joint.link))?;
        }
        Ok(Self { parameters })
    }
}

/// What moves the simulated arm.
#[derive(Debug, Clone, PartialEq)]
pub enum Drive {
    /// Nothing: it swings from where it is let go.
    Free,
    /// Torques that are sums of sines, whatever the arm does; no limits.
    Torques {
        /// Amplitude of each joint, N m.
        amplitude: Vec<f64>,
        /// Frequency of the first harmonic, Hz.
        frequency_hz: f64,
        /// Number of harmonics; their phases are drawn by the seed.
        harmonics: usize,
    },
    /// A computed-torque law with the nominal model, within the torque limits, along sums of sines around the start.
    Sines {
        /// Amplitude of each joint, rad.
        amplitude: Vec<f64>,
        /// Frequency of the first harmonic, Hz.
        frequency_hz: f64,
        /// Number of harmonics; their phases are drawn by the seed.
        harmonics: usize,
        /// Bandwidth of the law, rad/s.
        bandwidth_rad_s: f64,
    },
}

/// Standard deviations of the sensors and of the torque that is really applied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Encoders, rad.
    pub q: f64,
    /// Velocities, rad/s.
    pub dq: f64,
    /// Difference of measured and applied torque, N m.
    pub tau: f64,
}

/// How a recording is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Configuration at rest at the beginning, rad.
    pub start: Vec<f64>,
    /// What moves the arm.
    pub drive: Drive,
    /// Sampling interval, over which torques are held, s.
    pub step_s: f64,
    /// Number of samples.
    pub samples: usize,
    /// Sensors.
    pub noise: Noise,
    /// Draws noise and phases.
    pub seed: u64,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Measured positions, rad.
    pub q: Vec<f64>,
    /// Measured velocities, rad/s.
    pub dq: Vec<f64>,
    /// Measured torques, held from this sample to the next, N m.
    pub tau: Vec<f64>,
}

/// Samples, and the truth under seal.
#[derive(Debug)]
pub struct Recording {
    /// What the sensors said.
    pub samples: Vec<Recorded>,
    /// What was true.
    pub sealed: Sealed,
}

/// The truth behind a recording.
pub struct Sealed {
    parameters: Vec<f64>,
    states: Vec<Vec<f64>>,
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealed")
    }
}

impl Sealed {
    /// True parameters and true states (q, dq) at each sample; breaks the seal.
    pub fn reveal(self) -> (Vec<f64>, Vec<Vec<f64>>) {
        (self.parameters, self.states)
    }
}

/// A normal number of deviation one (Box and Muller).
pub(crate) fn normal(draw: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (1.0 - draw.random::<f64>(), draw.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Lets the plant move and writes down what the sensors say. `Err` if the simulated arm runs away.
pub fn record(robot: &Arc<Robot>, truth: HiddenParameters, plan: &Plan) -> Result<Recording, String> {
    let n = robot.dof();
    let mut draw = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut law = Law::new(robot.clone(), &plan.drive, &plan.start, &mut draw);
    let mut plant = Plant::at_rest(robot.clone(), truth.parameters, &plan.start);
    let (mut samples, mut states) = (Vec::with_capacity(plan.samples), Vec::with_capacity(plan.samples));
    for k in 0..plan.samples {
        let state = [plant.q.as_slice(), plant.dq.as_slice()].concat();
        if state.iter().any(|x| !x.is_finite()) {
            return Err(format!("the simulated arm runs away within {} s", k as f64 * plan.step_s));
        }
        let q: Vec<f64> = plant.q.iter().map(|x| x + plan.noise.q * normal(&mut draw)).collect();
        let dq: Vec<f64> = plant.dq.iter().map(|x| x + plan.noise.dq * normal(&mut draw)).collect();
        let mut tau = vec![0.0; n];
        law.torque(k as f64 * plan.step_s, &q, &dq, &mut tau);
        let applied: Vec<f64> = tau.iter().map(|x| x + plan.noise.tau * normal(&mut draw)).collect();
        plant.advance(&applied, plan.step_s, |_, _| {});
        states.push(state);
        samples.push(Recorded { q, dq, tau });
    }
    Ok(Recording { samples, sealed: Sealed { parameters: plant.theta().to_vec(), states } })
}

/// The controller of a recording; knows the nominal model and the sensors.
struct Law<'a> {
    robot: Arc<Robot>,
    drive: &'a Drive,
    start: &'a [f64],
    phases: Vec<f64>,
    nominal: Vec<f64>,
    motion: Motion<f64>,
    wrenches: Vec<Wrench<f64>>,
}

impl<'a> Law<'a> {
    fn new(robot: Arc<Robot>, drive: &'a Drive, start: &'a [f64], draw: &mut ChaCha8Rng) -> Self {
        let n = robot.dof();
        let count = match drive {
            Drive::Free => 0,
            Drive::Sines { harmonics, .. } | Drive::Torques { harmonics, .. } => n * harmonics,
        };
        Self {
            drive,
            start,
            phases: (0..count).map(|_| draw.random_range(0.0..std::f64::consts::TAU)).collect(),
            nominal: robot.nominal_parameters(),
            motion: Motion::new(&robot),
            wrenches: vec![Wrench::zero(); n],
            robot,
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

    fn torque(&mut self, t: f64, q: &[f64], dq: &[f64], tau: &mut [f64]) {
        let (amplitude, frequency_hz, harmonics, w) = match self.drive {
            Drive::Free => return,
            Drive::Torques { amplitude, frequency_hz, harmonics } => {
                for (j, x) in tau.iter_mut().enumerate() {
                    *x = self.wave(j, t, amplitude[j], *frequency_hz, *harmonics)[0];
                }
                return;
            }
            Drive::Sines { amplitude, frequency_hz, harmonics, bandwidth_rad_s } => {
                (amplitude, *frequency_hz, *harmonics, *bandwidth_rad_s)
            }
        };
        let wanted: Vec<f64> = (0..q.len())
            .map(|j| {
                let [y, dy, ddy] = self.wave(j, t, amplitude[j], frequency_hz, harmonics);
                ddy + w * w * (self.start[j] + y - q[j]) + 2.0 * w * (dy - dq[j])
            })
            .collect();
        self.motion.sweep(&self.robot, q, dq, dq, &wanted);
        rnea(&self.robot, &self.motion, &self.nominal, &mut self.wrenches, tau);
        for (j, joint) in self.robot.joints.iter().enumerate() {
            let f = &joint.friction;
            let friction = f.viscous * dq[j] + f.offset + f.armature * wanted[j];
            tau[j] = (tau[j] + friction).clamp(-joint.limits.torque, joint.limits.torque);
        }
    }
}
