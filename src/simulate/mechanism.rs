//! Recordings of mechanisms in maximal coordinates: encoders, controls, and the truth under seal.
//!
//! For those who ask what synthetic data are worth. There are two plants, so that no estimate checks itself: the step of [`crate::discrete`], finer and
//! stiffer than any estimator takes it, and minimal coordinates by [`crate::dynamics`] with the rule of Runge and Kutta ([`tree_model`]).

mod minimal;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::Deserialize;

use super::recording::{Sealed, normal};
use crate::discrete::{DiscreteError, DiscreteState, EncoderLog, Mechanism, MechanismParameter, Stepper};
use minimal::MinimalPlant;
pub use minimal::tree_model;

/// How the true mechanism is integrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MechanismPlant {
    /// By the estimator's own step, at an interval and a compliance of its own.
    #[default]
    Discrete,
    /// In minimal coordinates, hinges rigid, by the rule of Runge and Kutta.
    Minimal,
}

/// What the motors are told.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum MechanismExcitation {
    /// Nothing: the mechanism is let go.
    #[default]
    Release,
    /// One pulse on every motor.
    Pulse {
        /// When it begins, s.
        from_s: f64,
        /// When it ends, s.
        to_s: f64,
        /// Its size, in units of the control.
        size: f64,
    },
    /// The energy of the last body is brought to what it has upright: sat(gain (E - E_0) sgn(rate cos(angle))) on every motor, with E
    /// its energy about the last hinge. For pendulums whose last hinge has no motor.
    SwingUp {
        /// Control for each joule that lacks.
        gain: f64,
        /// Largest control.
        most: f64,
    },
}

/// How a recording is made.
#[derive(Debug, Clone, PartialEq)]
pub struct MechanismPlan {
    /// The plant.
    pub plant: MechanismPlant,
    /// Its interval, s.
    pub plant_step_s: f64,
    /// Interval of the readings, s: a multiple of the plant's.
    pub step_s: f64,
    /// Number of readings.
    pub samples: usize,
    /// Angles of the hinges at the beginning, at rest, rad.
    pub start_rad: Vec<f64>,
    /// What the motors are told.
    pub excitation: MechanismExcitation,
    /// Interval over which a control is held, s: a multiple of the plant's.
    pub hold_s: f64,
    /// Counts of an encoder a turn; none: it reads exactly.
    pub counts: Option<u32>,
    /// Standard deviation of further noise, rad, drawn anew for each reading.
    pub noise_rad: f64,
    /// Draws the noise.
    pub seed: u64,
}

/// Readings, and the truth under seal.
#[derive(Debug)]
pub struct MechanismRecording {
    /// What encoders said, and the controls (their mean around each reading).
    pub log: EncoderLog,
    /// True values of what is sought, and true (angles, rates) of the hinges.
    pub sealed: Sealed,
}

/// Lets the true mechanism move and writes down what encoders say of it.
///
/// # Errors
/// [`DiscreteError`] for a mechanism that cannot be, a plan whose intervals do not fit, or a motion that breaks down.
pub fn record_mechanism(
    truth: Mechanism,
    sought: &[MechanismParameter],
    plan: &MechanismPlan,
) -> Result<MechanismRecording, DiscreteError> {
    let every = multiple("step_s", plan.step_s, plan.plant_step_s)?;
    let hold = multiple("hold_s", plan.hold_s, plan.plant_step_s)?;
    let values = sought.iter().map(|p| p.get(&truth)).collect();
    let hinges = truth.hinges();
    let shaper = Shaper::new(&truth, plan.excitation)?;
    let mut plant = Plant::new(truth, plan)?;
    let mut draw = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut log = EncoderLog { step_s: plan.step_s, ..Default::default() };
    let (mut states, mut controls) = (vec![], vec![]);
    let mut sums = vec![(vec![0.0; shaper.motors.len()], 0.0); plan.samples + 1];
    for k in 0..plan.samples * every {
        let (angles, rates) = plant.hinges()?;
        if k % hold == 0 {
            controls = shaper.controls(k as f64 * plan.plant_step_s, &angles, &rates);
        }
        if k % every == 0 {
            let read = |a: &f64| read(*a, plan, &mut draw);
            log.angles.push(angles.iter().map(read).collect());
            states.push([angles, rates].concat());
        }
        // Of the reading that is nearest to the middle of the plant's step.
        let (sum, count) = &mut sums[(2 * k + 1 + every) / (2 * every)];
        sum.iter_mut().zip(&controls).for_each(|(m, u)| *m += u);
        *count += 1.0;
        plant.step(&controls)?;
    }
    sums.truncate(plan.samples);
    let mean = |(sum, count): (Vec<f64>, f64)| sum.into_iter().map(|s| s / f64::max(count, 1.0)).collect();
    log.controls = sums.into_iter().map(mean).collect();
    debug_assert_eq!(log.angles[0].len(), hinges.len());
    Ok(MechanismRecording { log, sealed: Sealed::new(values, states) })
}

fn read(angle: f64, plan: &MechanismPlan, draw: &mut ChaCha8Rng) -> f64 {
    let seen = if plan.noise_rad > 0.0 { angle + plan.noise_rad * normal(draw) } else { angle };
    match plan.counts {
        None => seen,
        Some(counts) => {
            let count = std::f64::consts::TAU / f64::from(counts);
            (seen / count).round() * count
        }
    }
}

fn multiple(field: &'static str, interval: f64, step: f64) -> Result<usize, DiscreteError> {
    let count = (interval / step).round();
    if step > 0.0 && count >= 1.0 && (count * step - interval).abs() <= 1e-6 * interval {
        return Ok(count as usize);
    }
    let expected = "a multiple of the plant's interval";
    Err(DiscreteError::Number { place: "simulate".into(), field, value: interval, expected })
}

/// Decides on the controls.
struct Shaper {
    excitation: MechanismExcitation,
    /// Of each joint: whether it has a motor.
    motors: Vec<bool>,
    /// Inertia of the last body about its hinge, kg m^2, and m g l, J.
    last: [f64; 2],
}

impl Shaper {
    fn new(truth: &Mechanism, excitation: MechanismExcitation) -> Result<Self, DiscreteError> {
        let motors: Vec<bool> = truth.joints.iter().map(|j| j.motor().gain != 0.0).collect();
        let mut last = [0.0; 2];
        if let MechanismExcitation::SwingUp { .. } = excitation {
            let Some(joint) = truth.joints.last().filter(|j| j.motor().gain == 0.0) else {
                let reason = "swinging up needs a last joint without a motor".to_owned();
                return Err(DiscreteError::Recording { what: "excitation".into(), reason });
            };
            let body = &truth.bodies[joint.child];
            let axis = joint.child_frame.rotation * nalgebra::Vector3::x();
            let arm = joint.child_frame.point_m;
            let across = (arm - axis * axis.dot(&arm)).norm_squared();
            let own: f64 = (0..3).map(|i| body.inertia_kg_m2[i] * axis[i] * axis[i]).sum();
            last = [own + body.mass_kg * across, body.mass_kg * truth.gravity_m_s2.norm() * across.sqrt()];
        }
        Ok(Self { excitation, motors, last })
    }

    fn controls(&self, t: f64, angles: &[f64], rates: &[f64]) -> Vec<f64> {
        let size = match self.excitation {
            MechanismExcitation::Release => 0.0,
            MechanismExcitation::Pulse { from_s, to_s, size } => {
                if (from_s..to_s).contains(&t) {
                    size
                } else {
                    0.0
                }
            }
            MechanismExcitation::SwingUp { gain, most } => {
                let (angle, rate) = (angles[angles.len() - 1], rates[rates.len() - 1]);
                let [inertia, weight] = self.last;
                let lacks = 0.5 * inertia * rate * rate - weight * (1.0 + angle.cos());
                let way = rate * angle.cos();
                (gain * lacks * if way < 0.0 { -1.0 } else { 1.0 }).clamp(-most, most)
            }
        };
        self.motors.iter().map(|m| if *m { size } else { 0.0 }).collect()
    }
}

/// Either plant.
enum Plant {
    Discrete { stepper: Box<Stepper>, state: DiscreteState, angles: Vec<f64>, hinges: Vec<usize> },
    Minimal(Box<MinimalPlant>),
}

impl Plant {
    fn new(truth: Mechanism, plan: &MechanismPlan) -> Result<Self, DiscreteError> {
        let joints = truth.joints.len();
        if plan.start_rad.len() != joints || plan.start_rad.iter().any(|a| !a.is_finite()) {
            let reason = format!("{joints} finite numbers are expected, one a joint");
            return Err(DiscreteError::Recording { what: "start_rad".into(), reason });
        }
        match plan.plant {
            MechanismPlant::Minimal => {
                MinimalPlant::new(&truth, &plan.start_rad, plan.plant_step_s).map(|p| Self::Minimal(p.into()))
            }
            MechanismPlant::Discrete => {
                let pose = truth.assemble(&plan.start_rad)?;
                let state = DiscreteState { velocity: vec![0.0; truth.freedoms()], pose };
                let hinges = truth.hinges();
                let stepper = Box::new(Stepper::new(truth, plan.plant_step_s, &state.pose)?);
                let angles = plan.start_rad.clone();
                Ok(Self::Discrete { stepper, state, angles, hinges })
            }
        }
    }

    /// Angles (continuous) and rates of the hinges.
    fn hinges(&mut self) -> Result<(Vec<f64>, Vec<f64>), DiscreteError> {
        let (angles, rates) = match self {
            Self::Minimal(plant) => (plant.q.clone(), plant.dq.clone()),
            Self::Discrete { stepper, state, angles, hinges } => {
                for (angle, &j) in angles.iter_mut().zip(&*hinges) {
                    *angle = stepper.angle(state, j, *angle);
                }
                let rates = hinges.iter().map(|&j| stepper.rate(state, j)).collect();
                (angles.clone(), rates)
            }
        };
        if angles.iter().chain(&rates).all(|x| x.is_finite()) {
            return Ok((angles, rates));
        }
        Err(DiscreteError::NoStep { reason: "the simulated mechanism runs away".into() })
    }

    fn step(&mut self, controls: &[f64]) -> Result<(), DiscreteError> {
        match self {
            Self::Minimal(plant) => {
                plant.step(controls);
                Ok(())
            }
            Self::Discrete { stepper, state, .. } => stepper.step(state, controls),
        }
    }
}
