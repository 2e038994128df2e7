//! Recordings of a simulated robot, on a fixed base or floating, for the estimators: encoders and torque sensors with Gaussian noise, and the truth
//! under seal.
//!
//! [`HiddenParameters`] go in, [`Recording`] comes out; who holds a recording sees the samples and nothing else.
//! [`Sealed::reveal`] consumes the seal, for the report of a finished estimate.

mod body;
mod ground;
mod law;
mod rates;

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::hold::Hold;
use super::posture::Posture;
use crate::dynamics::constraint::Constraint;
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::check_physical;
use crate::recording::{EvenLog, MissingReadings, Sample, Sensor, fill_missing};
use crate::robot::Model;
use crate::robot::configuration::integrate;
use body::Body;
use ground::FeltGround;
pub use ground::Ground;
pub(super) use law::Belief;
use law::Law;
pub use rates::{ReadingRates, Reads};

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
            // A link between two axes of one joint: what it carries has mass.
            if joint.inertia == body && body == [0.0; INERTIAL] {
                continue;
            }
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
    /// What the ground under each constraint that is a contact can do: where it would have to do more, the foot would slip, lift or tilt, and there is no recording.
    /// `None` where nobody asks.
    pub hold: Vec<Option<Hold>>,
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
    /// Parameters that the law believes, extended ([`crate::dynamics::actuation`]); left out, the nominal ones, and
    /// no Coulomb friction is made up for but along the series of a posture.
    pub believed: Option<Vec<f64>>,
    /// Contacts and loops.
    pub footing: Footing,
    /// When samples are taken, and what is read then. Torques are held from one to the next.
    pub samples: Vec<Reads>,
    /// The interval of samples that are evenly apart, s; left out, that between their times.
    pub step_s: Option<f64>,
    /// Ground that is not where the law believes it; for [`Drive::Posture`], whose feet are the first constraints. Without it feet stand as
    /// the footing's phases say.
    pub ground: Option<Ground>,
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
    /// Numbers of each sample that are no readings; empty where all are.
    pub missing: Vec<MissingReadings>,
    /// From when to when each foot was in the air, s, as it was told, where there is a [`Ground`]; the last end may be infinite.
    pub lifted: Option<Vec<Vec<[f64; 2]>>>,
    /// What was true.
    pub sealed: Sealed,
}

/// The truth behind a recording.
#[derive(Clone)]
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
    let mut ground = match (&plan.ground, &plan.drive) {
        (Some(ground), Drive::Posture(posture)) => {
            let places = posture.feet.iter().map(|f| body.place_of(f.frame)).collect();
            Some(FeltGround::new(*ground, posture, places, plan.seed))
        }
        _ => None,
    };
    let (mut log, mut states) = (EvenLog::default(), Vec::with_capacity(plan.samples.len()));
    for (k, reads) in plan.samples.iter().enumerate() {
        let state = [body.q.as_slice(), body.v.as_slice()].concat();
        if state.iter().any(|x| !x.is_finite()) {
            return Err(format!("the simulated robot runs away within {} s", reads.t));
        }
        let slip: Vec<f64> = (0..n).map(|_| plan.noise.q * normal(&mut draw)).collect();
        let mut q = vec![0.0; robot.nq()];
        integrate(robot, &body.q, &slip, &mut q);
        let dq: Vec<f64> = body.v.iter().map(|x| x + plan.noise.dq * normal(&mut draw)).collect();
        // As the encoders, before an impact; accelerations are told later, by the interval.
        let mut told: Vec<Vec<f64>> = plan.sensors.iter().map(|(s, _)| body.tell(s, &rest)).collect();
        let phase = match &mut ground {
            None => plan.footing.phases.iter().find(|(from, _)| *from == k).map(|(_, active)| active.clone()),
            Some(ground) => ground.feel(k, reads.t, &mut body, &mut law)?,
        };
        if let Some(active) = phase {
            law.enter(&active);
            body.enter(&active)?;
        }
        let (mut tau, t) = (vec![0.0; n], reads.t);
        law.torque(t, (&q, &dq), (&body.q, &body.v), &mut tau)?;
        let mut applied: Vec<f64> = tau.iter().map(|x| x + plan.noise.tau * normal(&mut draw)).collect();
        quiet.iter().for_each(|&j| applied[j] = tau[j]);
        let mut work = body.move_on((plan, plan.interval_s(k)), &applied, &mut told)?;
        body.stands(&plan.footing).map_err(|reason| format!("{reason} at {t:.3} s"))?;
        for (told, (sensor, noise)) in told.iter_mut().zip(&plan.sensors) {
            let by = [(); 3].map(|()| noise * normal(&mut draw));
            sensor.disturb(told, &by);
        }
        states.push(state);
        if plan.noise.work > 0.0 {
            work += plan.noise.work * normal(&mut draw);
        }
        let mut sample = Sample { t, q, dq, tau };
        let mut readings = told.concat();
        reads.keep(robot, &mut sample, &mut readings);
        log.samples.push(sample);
        log.readings.push(readings);
        log.work.push(work);
    }
    let missing = fill_missing(robot, &mut log.samples)?;
    let lifted = ground.map(|ground| ground.told(plan.seed));
    Ok(Recording { log, missing, lifted, sealed: Sealed { parameters: body.parameters, states } })
}

impl RecordingPlan {
    /// From sample `k` to the next, s; behind the last as before it.
    fn interval_s(&self, k: usize) -> f64 {
        let k = k.min(self.samples.len().saturating_sub(2));
        let between = || self.samples.get(k + 1).map_or(0.0, |next| next.t) - self.samples[k].t;
        self.step_s.unwrap_or_else(between)
    }
}

/// Degrees of freedom whose torques nothing measures: what has no motor has no torque sensor either.
fn without_torque_sensor(robot: &Model, drive: &Drive) -> Vec<usize> {
    let Drive::Posture(_) = drive else { return Vec::new() };
    let base = if robot.has_free_flyer() { 6 } else { 0 };
    let joints = robot.first_actuated()..robot.bodies();
    let passive = joints.filter(|&i| robot.joints[i].limits.torque == 0.0);
    (0..base).chain(passive.map(|i| robot.v_index(i))).collect()
}
