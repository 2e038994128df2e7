//! How a law answers what it reads, around the motions that it is meant for: velocity gain, crossover, phase margin, torque noise.
//!
//! A design report, no proof. What it takes for true:
//! * *Frozen states.* Law and arm are linearised by differences at states along plans, on their way and at the edge of the tube; each is taken
//!   as if it lasted. The law of the tube rests inside and acts near the edge, so its gains are those of the worst state found. Other states may be worse.
//! * *One age* for all readings ([`super::margins`]).
//! * *Bodies*: the centre of the set and a few extremes of it.

use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

use super::margins::{LinearLoop, LoopMargin};
use crate::control::{Controller, Measured, RobustController};
use crate::dynamics::truth;
use crate::inertia::ParameterSet;
use crate::plan::setup::Setup;
use crate::reach::momentum::CycleTiming;
use crate::reach::{PreparedSet, Tube};
use crate::robot::{Arm, Gains};
use crate::trajectory::{Bezier, JointState};

/// States along each plan.
const TIMES: usize = 5;
/// Shares of V_max at which the law is looked at: it rests at first, and acts near the edge.
const LEVELS: [f64; 7] = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0];
/// Directions of the error at random, beside each joint alone.
const DIRECTIONS: usize = 4;
/// Extreme bodies beside the centre of the set.
const BODIES: usize = 4;
/// Step of the differences as a share of a joint's tube: the law has kinks and no other structure within.
const STEP_SHARE: f64 = 1e-5;
/// Step of the differences of the arm's own torques, rad and rad/s: what they curve is below its roundings there.
const ARM_STEP: f64 = 1e-6;
/// Stream of the random numbers that draw bodies; those of the directions are of the first.
const BODY_STREAM: u64 = 1;
/// States whose loops are computed, for each way in which one can be the worst.
const WORST: usize = 4;

/// What a law's feedback amounts to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedbackFigures {
    /// Largest velocity gain of each joint, N m s/rad: torque by its own velocity.
    pub velocity_gain: Vec<f64>,
    /// Largest change of each joint's torque that velocity errors within their bound were found to make, N m. The step by the Coulomb friction that a
    /// command takes where a joint begins or ceases to move is not counted.
    pub torque_noise_nm: Vec<f64>,
    /// Age for which the margin is, s.
    pub age_s: f64,
    /// Highest crossover and least phase margin of the loops at the worst states; none if no loop crosses over.
    pub margin: Option<LoopMargin>,
}

/// Plans of which the figures are taken: states at the edge of the tube differ little from plan to plan.
const PLANS: usize = 3;

/// The feedback of `gains` over plans of `arm` under `timing`.
///
/// # Errors
/// In words, if the gains are none or no plan's tube is proven.
pub fn feedback(
    arm: &Setup,
    gains: Gains,
    curves: &[Bezier],
    (timing, seed): (&CycleTiming, u64),
) -> Result<FeedbackFigures, String> {
    if let Some(fault) = timing.fault() {
        return Err(fault);
    }
    let robot = Arc::new(arm.robot.with_gains(gains).map_err(|error| error.to_string())?);
    let prepared = Arc::new(PreparedSet::new(&robot, &arm.set));
    let mut all: Option<FeedbackFigures> = None;
    for curve in curves.iter().take(PLANS) {
        let (tube, ..) = super::measure::one(arm, gains, curve, super::CELLS).map_err(|w| w.term)?;
        let found = Probe::new(&robot, (&arm.set, &prepared), &tube).figures(curve, timing, seed);
        all = Some(match all {
            None => found,
            Some(all) => all.worse(found),
        });
    }
    all.ok_or_else(|| "there is no plan".to_owned())
}

impl FeedbackFigures {
    /// The larger gains, noise and crossover and the smaller margin of two.
    fn worse(self, other: Self) -> Self {
        let larger = |a: Vec<f64>, b: Vec<f64>| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect();
        Self {
            velocity_gain: larger(self.velocity_gain, other.velocity_gain),
            torque_noise_nm: larger(self.torque_noise_nm, other.torque_noise_nm),
            age_s: self.age_s,
            margin: [self.margin, other.margin].into_iter().flatten().reduce(LoopMargin::worse),
        }
    }
}

/// One state of a plan, and how the law answers there.
struct Answer {
    at: JointState,
    q: Vec<f64>,
    dq: Vec<f64>,
    velocity_gain: DMatrix<f64>,
    position_gain: DMatrix<f64>,
    noise: Vec<f64>,
    /// Largest entry of diag(A)^-1 D, 1/s: about how fast the loop is.
    speed: f64,
}

/// The law of the tube, with what it needs for one plan.
struct Probe<'a> {
    robot: &'a Arc<Arm>,
    set: &'a ParameterSet,
    tube: &'a Tube,
    controller: RobustController,
}

impl<'a> Probe<'a> {
    /// The law for `robot` under a tube.
    fn new(
        robot: &'a Arc<Arm>,
        (set, prepared): (&'a ParameterSet, &Arc<PreparedSet>),
        tube: &'a Tube,
    ) -> Self {
        let controller = RobustController::with_prepared(robot.clone(), prepared.clone(), tube);
        Self { robot, set, tube, controller }
    }

    /// The torques that the law asks for, N m.
    fn torques(&mut self, t: f64, (q, dq): (&[f64], &[f64]), at: &JointState) -> Vec<f64> {
        let mut tau = vec![0.0; q.len()];
        self.controller.tick(t, Measured { q, dq }, at, &mut tau);
        tau
    }

    /// What the law makes of a joint's reading that is `step` off, by differences; the column of the gain.
    fn column(
        &mut self,
        t: f64,
        (q, dq): (&[f64], &[f64]),
        at: &JointState,
        (j, speed, step): (usize, bool, f64),
    ) -> Vec<f64> {
        let mut side = |sign: f64| {
            let (mut q, mut dq) = (q.to_vec(), dq.to_vec());
            let moved = if speed { &mut dq[j] } else { &mut q[j] };
            *moved += sign * step;
            self.torques(t, (&q, &dq), at)
        };
        let (up, down) = (side(1.0), side(-1.0));
        up.iter().zip(&down).map(|(u, d)| (d - u) / (2.0 * step)).collect()
    }

    /// How the law answers at time `t` of the plan with an error r in direction `along` that takes it to `level` of V_max. None where the
    /// difference would cross the speed at which friction's sign is relied on: there the torque jumps, and has no slope.
    fn answer(&mut self, t: f64, at: &JointState, along: &[f64], level: f64) -> Option<Answer> {
        let n = at.q.len();
        let less = |scale: f64| -> Vec<f64> { at.dq.iter().zip(along).map(|(v, r)| v - scale * r).collect() };
        let scale = if level > 0.0 {
            let mut tau = vec![0.0; n];
            let energy =
                self.controller.tick(t, Measured { q: &at.q, dq: &less(1e-3) }, at, &mut tau).energy_j;
            1e-3 * (level * self.tube.gains.v_max / energy).sqrt()
        } else {
            0.0
        };
        let (q, dq) = (at.q.clone(), less(scale));
        let step = |j: usize| STEP_SHARE * self.tube.r_radius(j);
        let steps: Vec<f64> = (0..n).map(step).collect();
        let sensors = self.robot.sensors();
        let jumps = |j: usize| (dq[j].abs() - self.tube.sign_band(sensors, j)).abs() <= 2.0 * steps[j];
        if !scale.is_finite() || (0..n).any(jumps) {
            return None;
        }
        let gains = |probe: &mut Self, speed: bool| {
            let columns: Vec<f64> = (0..n)
                .flat_map(|j| {
                    let step = if speed { steps[j] } else { steps[j] / probe.tube.gains.k_r };
                    probe.column(t, (&q, &dq), at, (j, speed, step))
                })
                .collect();
            DMatrix::from_column_slice(n, n, &columns)
        };
        let (velocity_gain, position_gain) = (gains(self, true), gains(self, false));
        let noise = self.noise(t, (&q, &dq), at, &velocity_gain);
        let speed = (0..n).map(|j| velocity_gain[(j, j)] / self.tube.inertia_floor[j]).fold(0.0, f64::max);
        Some(Answer { at: at.clone(), q, dq, velocity_gain, position_gain, noise, speed })
    }

    /// Changes of the torques under velocity errors at the ends of their bound, for each joint with the signs that its gains ask for.
    fn noise(&mut self, t: f64, (q, dq): (&[f64], &[f64]), at: &JointState, gain: &DMatrix<f64>) -> Vec<f64> {
        let (n, sensors) = (q.len(), self.robot.sensors());
        let bound = sensors.velocity_rad_s;
        let still = self.torques(t, (q, dq), at);
        let mut most = vec![0.0f64; n];
        let sure: Vec<f64> = (0..n).map(|j| self.tube.sign_band(sensors, j)).collect();
        for (i, sign) in (0..n).flat_map(|i| [(i, 1.0), (i, -1.0)]) {
            let off: Vec<f64> = (0..n).map(|j| dq[j] + sign * bound * gain[(i, j)].signum()).collect();
            // Where friction's sign comes to be relied on, the command steps by the Coulomb friction. That is compensation, whatever the gains are.
            if (0..n).any(|j| (dq[j].abs() > sure[j]) != (off[j].abs() > sure[j])) {
                continue;
            }
            for (most, (a, b)) in most.iter_mut().zip(self.torques(t, (q, &off), at).iter().zip(&still)) {
                *most = most.max((a - b).abs());
            }
        }
        most
    }

    /// Answers along a plan.
    fn answers(&mut self, curve: &Bezier, seed: u64) -> Vec<Answer> {
        let n = self.robot.dof();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut found = Vec::new();
        for i in 0..TIMES {
            let t = curve.duration_s * i as f64 / (TIMES - 1) as f64;
            let at = curve.state(t);
            let alone = |j: usize, sign: f64| (0..n).map(|k| if k == j { sign } else { 0.0 }).collect();
            let mut ways: Vec<Vec<f64>> = (0..n).flat_map(|j| [alone(j, 1.0), alone(j, -1.0)]).collect();
            for _ in 0..DIRECTIONS {
                let scaled = |j: usize| self.tube.r_radius(j) * truth::extreme(&mut rng);
                ways.push((0..n).map(scaled).collect());
            }
            let levels = ways.iter().flat_map(|way| LEVELS.map(|level| (way, level)));
            found.extend(levels.filter_map(|(way, level)| self.answer(t, &at, way, level)));
        }
        found
    }

    /// The linear loop of an answer, for bodies `theta`: what the arm's own torques ask for, which the law makes up for, is taken off its gains.
    fn linear(&self, theta: &[f64], answer: &Answer) -> LinearLoop {
        let n = answer.q.len();
        let center = self.set.center();
        let own = |j: usize, speed: bool| -> DVector<f64> {
            let side = |sign: f64| {
                let (mut q, mut dq) = (answer.q.clone(), answer.dq.clone());
                *(if speed { &mut dq[j] } else { &mut q[j] }) += sign * ARM_STEP;
                DVector::from_vec(truth::needed(self.robot, &center, [&q, &dq, &dq, &answer.at.ddq]))
            };
            (side(1.0) - side(-1.0)) / (2.0 * ARM_STEP)
        };
        let matrix = |speed: bool| DMatrix::from_columns(&(0..n).map(|j| own(j, speed)).collect::<Vec<_>>());
        LinearLoop {
            mass: truth::mass(self.robot, theta, &answer.q),
            velocity_gain: &answer.velocity_gain + matrix(true),
            position_gain: &answer.position_gain + matrix(false),
        }
    }

    /// The answers at which the loop can be expected to be worst.
    fn worst(answers: &[Answer]) -> Vec<&Answer> {
        let n = answers.first().map_or(0, |a| a.q.len());
        let mut worst: Vec<&Answer> = Vec::new();
        let mut by = |rank: &dyn Fn(&Answer) -> f64| {
            let mut order: Vec<&Answer> = answers.iter().collect();
            order.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
            worst.extend(order.into_iter().take(WORST));
        };
        by(&|a| a.speed);
        (0..n).for_each(|j| by(&|a| a.velocity_gain[(j, j)]));
        worst
    }

    /// The figures along `curve` under `timing`.
    fn figures(&mut self, curve: &Bezier, timing: &CycleTiming, seed: u64) -> FeedbackFigures {
        let answers = self.answers(curve, seed);
        let n = self.robot.dof();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(BODY_STREAM);
        let mut bodies = vec![self.set.center()];
        bodies.extend((0..BODIES).map(|_| truth::consistent(self.robot, self.set, &mut rng)));
        let age_s = timing.age_s();
        let pairs: Vec<(&Answer, &Vec<f64>)> =
            Self::worst(&answers).into_iter().flat_map(|a| bodies.iter().map(move |b| (a, b))).collect();
        let law: &Self = self;
        let of = |(answer, theta): &(&Answer, &Vec<f64>)| {
            law.linear(theta, answer).margin(age_s, timing.drive_lag_s)
        };
        let margins: Vec<LoopMargin> = pairs.par_iter().filter_map(of).collect();
        let largest = |of: &dyn Fn(&Answer) -> f64| answers.iter().map(of).fold(0.0, f64::max);
        FeedbackFigures {
            velocity_gain: (0..n).map(|j| largest(&|a| a.velocity_gain[(j, j)])).collect(),
            torque_noise_nm: (0..n).map(|j| largest(&|a| a.noise[j])).collect(),
            age_s,
            margin: margins.into_iter().reduce(LoopMargin::worse),
        }
    }
}
