//! Recordings of a simulated robot, on a fixed base or floating, for the estimators: encoders and torque sensors with Gaussian noise, and the truth
//! under seal.
//!
//! [`HiddenParameters`] go in, [`Recording`] comes out; who holds a recording sees the samples and nothing else.
//! [`Sealed::reveal`] consumes the seal, for the report of a finished estimate.

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::posture::{Posture, PostureReference};
use super::whole_body::WholeBody;
use crate::dynamics::Workspace;
use crate::dynamics::actuation::{drive_torque, joint_friction};
use crate::dynamics::constraint::{ConstrainedDynamics, Constraint, Redundancy};
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::check_physical;
use crate::recording::{EvenLog, Quantity, Sample, Sensor};
use crate::robot::Model;
use crate::robot::configuration::{difference, integrate};

/// Integration steps within one sampling interval; half as many err sixteen times as much.
const SUBSTEPS: usize = 4;

/// Seconds over which an excitation grows to its full size: a start at full size would ask for a jump of the torques.
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
    /// Hides the parameters (the extended layout of [`crate::dynamics::actuation`]); `Err` names the link that no rigid body can be.
    pub(crate) fn new(robot: &Model, parameters: Vec<f64>) -> Result<Self, String> {
        for (i, joint) in robot.joints.iter().enumerate() {
            let mut body = [0.0; INERTIAL];
            body.copy_from_slice(&parameters[robot.body_range(i)]);
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
    /// Generalised forces that are sums of sines, whatever the robot does; no limits.
    Torques {
        /// Constant part of each, N m.
        offset: Vec<f64>,
        /// Amplitude of each, N m.
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
    /// A law for the whole body that follows a posture, with the nominal model and the true state, under the contacts
    /// of the moment.
    Posture(Box<Posture>),
}

/// Contacts and closed loops of a recording: bilateral, and impacts without restitution where one begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Footing {
    /// All constraints that occur.
    pub constraints: Vec<Constraint>,
    /// Samples at which phases begin (the first one at 0), and the constraints that are active from there on.
    pub phases: Vec<(usize, Vec<bool>)>,
    /// Coefficient of friction of the ground under each constraint that is a contact: where its force leaves the cone, or pulls, the foot would slip or lift, and there is no recording.
    /// `None` where nobody asks.
    pub friction: Vec<Option<f64>>,
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
    /// Work metered over one interval, J.
    pub work: f64,
}

/// How a recording is made.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingPlan {
    /// Configuration at rest at the beginning, rad.
    pub start: Vec<f64>,
    /// What moves the arm.
    pub drive: Drive,
    /// Contacts and loops.
    pub footing: Footing,
    /// Sampling interval, over which torques are held, s.
    pub step_s: f64,
    /// Number of samples.
    pub samples: usize,
    /// Sensors.
    pub noise: Noise,
    /// Sensors beside the encoders, and the standard deviation of their noise.
    pub sensors: Vec<(Sensor, f64)>,
    /// Draws noise and phases.
    pub seed: u64,
}

/// Samples, and the truth under seal.
#[derive(Debug)]
pub struct Recording {
    /// What the sensors said.
    pub log: EvenLog,
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
    pub(super) fn new(parameters: Vec<f64>, states: Vec<Vec<f64>>) -> Self {
        Self { parameters, states }
    }

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

/// Lets the robot move and writes down what the sensors say, just before an impact where there is one. `Err` if it runs
/// away, if it cannot do what it should, or if loops cannot be closed at the start.
///
/// # Errors
/// In words: what went wrong, and when.
pub fn record(
    robot: &Arc<Model>,
    truth: HiddenParameters,
    plan: &RecordingPlan,
) -> Result<Recording, String> {
    let n = robot.nv();
    let mut draw = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut body = Body::at_rest(robot.clone(), truth.parameters, &plan.start, &plan.footing)?;
    let start = body.q.clone();
    let mut law = Law::new(robot.clone(), plan, &start, &mut draw)?;
    let rest = vec![0.0; n];
    let quiet = without_torque_sensor(robot, &plan.drive);
    let (mut log, mut states) = (EvenLog::default(), Vec::with_capacity(plan.samples));
    for k in 0..plan.samples {
        let state = [body.q.as_slice(), body.v.as_slice()].concat();
        if state.iter().any(|x| !x.is_finite()) {
            return Err(format!("the simulated robot runs away within {} s", k as f64 * plan.step_s));
        }
        let phase = plan.footing.phases.iter().find(|(from, _)| *from == k);
        let slip: Vec<f64> = (0..n).map(|_| plan.noise.q * normal(&mut draw)).collect();
        let mut q = vec![0.0; robot.nq()];
        integrate(robot, &body.q, &slip, &mut q);
        let dq: Vec<f64> = body.v.iter().map(|x| x + plan.noise.dq * normal(&mut draw)).collect();
        // As the encoders, before an impact; accelerations are told later, by the interval.
        let mut told: Vec<Vec<f64>> = plan.sensors.iter().map(|(s, _)| body.tell(s, &rest)).collect();
        if let Some((_, active)) = phase {
            law.enter(active);
            body.enter(active)?;
        }
        let (mut tau, t) = (vec![0.0; n], k as f64 * plan.step_s);
        law.torque(t, (&q, &dq), (&body.q, &body.v), &mut tau)?;
        let mut applied: Vec<f64> = tau.iter().map(|x| x + plan.noise.tau * normal(&mut draw)).collect();
        quiet.iter().for_each(|&j| applied[j] = tau[j]);
        let mut work = body.move_on(plan, &applied, &mut told)?;
        body.stands(&plan.footing).map_err(|reason| format!("{reason} at {t:.3} s"))?;
        for (told, (sensor, noise)) in told.iter_mut().zip(&plan.sensors) {
            let by = [(); 3].map(|()| noise * normal(&mut draw));
            sensor.disturb(told, &by);
        }
        let readings = told.concat();
        states.push(state);
        if plan.noise.work > 0.0 {
            work += plan.noise.work * normal(&mut draw);
        }
        log.samples.push(Sample { t, q, dq, tau });
        log.readings.push(readings);
        log.work.push(work);
    }
    Ok(Recording { log, sealed: Sealed { parameters: body.parameters, states } })
}

/// Degrees of freedom whose torques nothing measures: what has no motor has no torque sensor either.
fn without_torque_sensor(robot: &Model, drive: &Drive) -> Vec<usize> {
    let Drive::Posture(_) = drive else { return Vec::new() };
    let base = if robot.has_free_flyer() { 6 } else { 0 };
    let joints = robot.first_actuated()..robot.bodies();
    let passive = joints.filter(|&i| robot.joints[i].limits.torque == 0.0);
    (0..base).chain(passive.map(|i| robot.v_index(i))).collect()
}

/// The true robot: forward dynamics with the friction of the arm's plant, integrated by the classical Runge-Kutta rule
/// (in tangent space at the beginning of the step where the base floats).
struct Body {
    robot: Arc<Model>,
    parameters: Vec<f64>,
    q: Vec<f64>,
    v: Vec<f64>,
    dynamics: Workspace,
    held: Option<ConstrainedDynamics>,
    active: Vec<bool>,
}

/// Dynamics under the constraints of a recording, if there are any.
fn constrained(robot: &Model, footing: &Footing) -> Result<Option<ConstrainedDynamics>, String> {
    if footing.constraints.is_empty() {
        return Ok(None);
    }
    ConstrainedDynamics::new(robot, footing.constraints.clone(), Redundancy::Drop)
        .map(Some)
        .map_err(|e| e.to_string())
}

impl Body {
    /// At rest in `q`, or near it where loops have to be closed first.
    fn at_rest(
        robot: Arc<Model>,
        parameters: Vec<f64>,
        q: &[f64],
        footing: &Footing,
    ) -> Result<Self, String> {
        let mut held = constrained(&robot, footing)?;
        let mut q = q.to_vec();
        if let Some(held) = &mut held {
            // Contacts are wherever they are; loops have two ends that must meet.
            let loops: Vec<bool> = footing.constraints.iter().map(|c| c.b.joint.is_some()).collect();
            loops.iter().enumerate().for_each(|(i, l)| held.set_active(i, *l));
            if loops.contains(&true) {
                let p = &parameters[..robot.parameter_count()];
                let left = held.close(&robot, &mut q, p).map_err(|e| e.to_string())?;
                if left > 1e-9 {
                    return Err(format!("loops stay open by {left} m at the start"));
                }
            }
        }
        let active = vec![false; footing.constraints.len()];
        Ok(Self {
            q,
            v: vec![0.0; robot.nv()],
            dynamics: Workspace::new(&robot),
            robot,
            parameters,
            held,
            active,
        })
    }

    /// What a sensor says without noise, for acceleration `a`.
    fn tell(&mut self, sensor: &Sensor, a: &[f64]) -> Vec<f64> {
        self.dynamics.place_moving(&self.robot, &self.q, &self.v, a);
        sensor.read(&self.robot, &self.dynamics)
    }

    /// A new phase of contact: feet that touch down stay where they are, and stop.
    fn enter(&mut self, active: &[bool]) -> Result<(), String> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let mut begins = false;
        for (i, now) in active.iter().enumerate() {
            held.set_active(i, *now);
            if *now && !self.active[i] {
                begins = true;
                if held.constraints()[i].b.joint.is_none() {
                    held.hold_here(&self.robot, i, &self.q).map_err(|e| e.to_string())?;
                }
            }
        }
        self.active.copy_from_slice(active);
        if begins {
            let p = &self.parameters[..self.robot.parameter_count()];
            held.impulse(&self.robot, &self.q, &self.v, p).map_err(|e| e.to_string())?;
            self.v.copy_from_slice(held.motion());
        }
        Ok(())
    }

    /// One sampling interval under held forces; their work, J. What accelerometers tell is that of its middle.
    fn move_on(
        &mut self,
        plan: &RecordingPlan,
        applied: &[f64],
        told: &mut [Vec<f64>],
    ) -> Result<f64, String> {
        let mut work = 0.0;
        for part in 0..SUBSTEPS {
            if part == SUBSTEPS / 2 && !told.is_empty() {
                let (q, v) = (self.q.clone(), self.v.clone());
                let mut acceleration = vec![0.0; v.len()];
                self.acceleration(&q, &v, applied, &mut acceleration)?;
                for (told, (sensor, _)) in told.iter_mut().zip(&plan.sensors) {
                    if sensor.quantity == Quantity::Acceleration {
                        *told = self.tell(sensor, &acceleration);
                    }
                }
            }
            work += self.runge_kutta(applied, plan.step_s / SUBSTEPS as f64)?;
        }
        Ok(work)
    }

    /// One step under held forces; their work, J.
    fn runge_kutta(&mut self, tau: &[f64], h: f64) -> Result<f64, String> {
        let n = self.v.len();
        let (mut shift, mut change) = (vec![0.0; n], vec![0.0; n]);
        let (mut speed, mut acceleration) = (self.v.clone(), vec![0.0; n]);
        let (mut q, mut shifted) = (self.q.clone(), vec![0.0; n]);
        for (weight, ahead) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            self.acceleration(&q, &speed, tau, &mut acceleration)?;
            for j in 0..n {
                shift[j] += weight * h / 6.0 * speed[j];
                change[j] += weight * h / 6.0 * acceleration[j];
                shifted[j] = ahead * h * speed[j];
                speed[j] = self.v[j] + ahead * h * acceleration[j];
            }
            integrate(&self.robot, &self.q, &shifted, &mut q);
        }
        let start = self.q.clone();
        integrate(&self.robot, &start, &shift, &mut self.q);
        self.v.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
        let mut work = tau.iter().zip(&shift).map(|(t, s)| t * s).sum::<f64>();
        for i in self.robot.first_actuated()..self.robot.bodies() {
            let at = self.robot.v_index(i);
            work += (drive_torque(&self.robot, &self.parameters, i, tau[at]) - tau[at]) * shift[at];
        }
        Ok(work)
    }

    /// Whether feet push against the ground and within its friction, by the forces of the last step's end.
    fn stands(&self, footing: &Footing) -> Result<(), String> {
        let Some(held) = &self.held else { return Ok(()) };
        for (c, friction) in footing.friction.iter().enumerate() {
            let Some(friction) = friction.filter(|_| self.active[c]) else { continue };
            let (name, force) = (&held.constraints()[c].name, held.force_of(c));
            if !(force[2] > 0.0) {
                return Err(format!(
                    "foot `{name}` would lift: the ground would have to pull it by {:.2} N",
                    -force[2]
                ));
            }
            let share = force[0].hypot(force[1]) / (friction * force[2]);
            if !(share <= 1.0) {
                return Err(format!(
                    "foot `{name}` would slip: it asks for {share:.2} times the friction that there is"
                ));
            }
        }
        Ok(())
    }

    fn acceleration(&mut self, q: &[f64], v: &[f64], tau: &[f64], a: &mut [f64]) -> Result<(), String> {
        let robot = &*self.robot;
        let mut driving = tau.to_vec();
        for i in robot.first_actuated()..robot.bodies() {
            let at = robot.v_index(i);
            let drive = drive_torque(robot, &self.parameters, i, driving[at]);
            driving[at] = drive - joint_friction(robot, &self.parameters, i, v[at]).0;
        }
        let p = &self.parameters[..robot.parameter_count()];
        if let Some(held) = &mut self.held {
            held.forward(robot, q, v, &driving, p).map_err(|e| e.to_string())?;
            a.copy_from_slice(held.motion());
        } else {
            self.dynamics.forward_dynamics(robot, q, v, &driving, p, a);
        }
        Ok(())
    }
}

/// The controller of a recording; knows the nominal model and the sensors.
struct Law<'a> {
    robot: Arc<Model>,
    drive: &'a Drive,
    start: &'a [f64],
    phases: Vec<f64>,
    nominal: Vec<f64>,
    dynamics: Workspace,
    whole: Option<WholeBody>,
}

impl<'a> Law<'a> {
    fn new(
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
        let mut whole = None;
        if let Drive::Posture(posture) = drive {
            let reference = PostureReference::new(&robot, Posture::clone(posture), start)?;
            let held = constrained(&robot, &plan.footing)?;
            let held = held.map_or_else(
                || ConstrainedDynamics::new(&robot, Vec::new(), Redundancy::Drop).map_err(|e| e.to_string()),
                Ok,
            )?;
            whole = Some(WholeBody::new(robot.clone(), reference, held));
        }
        Ok(Self {
            whole,
            drive,
            start,
            phases: (0..count).map(|_| draw.random_range(0.0..std::f64::consts::TAU)).collect(),
            nominal: robot.nominal_parameters(),
            dynamics: Workspace::new(&robot),
            robot,
        })
    }

    fn enter(&mut self, active: &[bool]) {
        if let Some(whole) = &mut self.whole {
            whole.enter(active);
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
    fn torque(
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
        self.dynamics.inverse_dynamics(robot, q, dq, &wanted, &self.nominal, tau);
        for i in robot.first_actuated()..robot.bodies() {
            let (joint, j) = (&robot.joints[i], robot.v_index(i));
            let friction = joint.friction.viscous * dq[j] + joint.friction.offset;
            tau[j] = (tau[j] + friction).clamp(-joint.limits.torque, joint.limits.torque);
        }
        Ok(())
    }
}
