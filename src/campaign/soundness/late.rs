//! Attacks on what plans of the momentum law say, for arms whose readings and commands are late: the arm is simulated under the law, and at every step all that
//! the plan says of its states is held against it.
//!
//! Ages, delays and jitter are drawn within the file's bounds and at their ends ([`Lateness`]), and so are the lags of drives ([`DriveLag`]). Readings are off so that a joint's momentum error looks smaller than
//! it is, and all that acts beside the commands pushes that joint out. The plant is that of [`truth`]. Of an arm on springs it is the common motion
//! ([`crate::robot::Spring`]), and links are as far from it as springs may be bent.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::ledger::{Check, Ledger};
use crate::campaign::arm::Setup;
use crate::certify::{MomentumProblem, MomentumStart, Partition};
use crate::control::{Measured, MomentumController, MomentumPlan};
use crate::dynamics::truth::{self, extreme};
use crate::enclose::Counted;
use crate::plan::momentum_fit::fit_bounded;
use crate::plan::momentum_gains::choose;
use crate::plan::propose::cells;
use crate::reach::PreparedSet;
use crate::reach::momentum::BoundedTube;
use crate::robot::{Arm, Scene};
use crate::simulate::{DriveLag, Lateness};
use crate::trajectory::{Bezier, JointState, PiecewiseBezier};

/// Motions drawn before it is said that none can be proven for an arm. The number is only there to end.
const ATTEMPTS: usize = 30;
/// The arm is looked at, and what pushes it may change, at least so often, s: a quarter of a usual control period.
const STEP_S: f64 = 2.5e-4;
/// Where drives lag, so many times in the largest time constant at least.
const STEPS_IN_A_LAG: f64 = 8.0;
/// The law goes on for so long after the plan has ended, s: some ages, and a few time constants of position errors.
const REST_S: f64 = 0.3;

/// A plan from rest that is proven, and what it says.
#[derive(Debug, Clone)]
pub struct LateCase {
    /// The robot as the proof knows it.
    pub robot: Arc<Arm>,
    /// The obstacles.
    pub scene: Scene,
    /// Set, tube and motion.
    pub plan: Arc<MomentumPlan>,
    /// The constants, and the bounds of states.
    pub claim: BoundedTube,
}

/// The arm as it truly is.
struct Plant<'a> {
    case: &'a LateCase,
    /// On a base that leans.
    robot: Arm,
    theta: Vec<f64>,
    q: Vec<f64>,
    dq: Vec<f64>,
    /// The joint that is pushed out.
    pushed: usize,
    /// Shares of all that acts beside the commands, and of sticking friction.
    pushes: Vec<f64>,
    /// How far links are from the joints, rad (m): bent springs.
    bent: Vec<f64>,
}

impl LateCase {
    /// A random motion of the arm, from rest, that is proven; none if there is none among many.
    pub fn draw(arm: &Setup, rng: &mut ChaCha8Rng) -> Option<Self> {
        (0..ATTEMPTS).find_map(|_| Self::proven(arm, rng))
    }

    fn proven(arm: &Setup, rng: &mut ChaCha8Rng) -> Option<Self> {
        let end = arm.curve(rng)?.end();
        let curve = Bezier::to_rest(&JointState::at_rest(&arm.start), &end, arm.duration_s).ok()?;
        let set = Arc::new(PreparedSet::new(&arm.robot, &arm.set));
        let cells = cells(arm.duration_s);
        let problem = MomentumProblem::new(&arm.robot, &set, &arm.scene, &curve, MomentumStart::Rest).ok()?;
        let gains = choose(&problem, (cells / 4).max(8), None).ok()?.gains;
        let (claim, _) = fit_bounded(&problem, gains, None, cells).ok()?;
        let partition = Partition { cells, ..Partition::default() };
        problem.certify_bounded::<Counted>(&claim, partition).ok()?;
        let tube = claim.tube.clone();
        let plan = Arc::new(MomentumPlan { set, tube, curve: PiecewiseBezier::from(curve) });
        Some(Self { robot: Arc::new(arm.robot.clone()), scene: arm.scene.clone(), plan, claim })
    }

    /// Plays the plan once, on an arm that does beside its commands so many times what is claimed, and holds all of it against the claims; the number of states that
    /// were looked at.
    pub fn play(&self, beyond: f64, rng: &mut ChaCha8Rng, ledger: &mut Ledger) -> u64 {
        let n = self.robot.dof();
        let angle = (1.0 - 1e-9) * self.robot.uncertainty().gravity_direction_deg.to_radians();
        let mut plant = Plant {
            case: self,
            robot: self.robot.tilted(angle, rng.random_range(0.0..std::f64::consts::TAU)),
            theta: truth::consistent(&self.robot, self.plan.set.set(), rng),
            q: self.plan.curve.start(),
            dq: vec![0.0; n],
            pushed: rng.random_range(0..n),
            pushes: vec![0.0; n],
            bent: vec![0.0; n],
        };
        let Some(mut late) = Lateness::new(&self.robot, rng.random()) else { return 0 };
        let mut lag = DriveLag::new(&self.robot, rng.random());
        plant.stand(&mut lag);
        let step_s = lag.as_ref().map_or(STEP_S, |lag| STEP_S.min(lag.bound_s() / STEPS_IN_A_LAG));
        let mut controller = MomentumController::new(self.robot.clone(), self.plan.clone());
        let (mut t, mut states, mut tau) = (0.0, 0, vec![0.0; n]);
        let period_s = self.plan.tube.timing.period_s;
        while t < self.plan.curve.duration_s() + REST_S {
            let momentum = plant.momentum(t, &plant.r(t));
            let (q, dq) = late.read(t, (&plant.q, &plant.dq));
            let (q, dq) = plant.misread((&q, &dq), &momentum);
            let tick = controller.tick(t, Measured { q: &q, dq: &dq }, &mut tau);
            ledger.note(Check::MomentumByMeasurement, tick.share, 1.0);
            late.command(t, &tau);
            let end = t + late.next_length(period_s);
            plant.push(&momentum, rng);
            while t < end {
                late.arrive(t);
                let next = late.until(end.min(t + step_s)).max(t.next_up());
                let torque = late.acting().map(|command| followed(&mut lag, command, next - t));
                plant.look(t, torque.as_deref(), beyond, ledger);
                if let Some(torque) = torque {
                    plant.step(&torque, beyond, next - t);
                }
                late.remember(next, (&plant.q, &plant.dq));
                (t, states) = (next, states + 1);
            }
        }
        states
    }
}

/// What drives make of a command over the next `length_s`, N m: held at what it is at the end, where the share of older commands is least.
fn followed(lag: &mut Option<DriveLag>, command: &[f64], length_s: f64) -> Vec<f64> {
    let Some(lag) = lag else { return command.to_vec() };
    lag.redraw();
    command.iter().enumerate().map(|(j, x)| lag.follow(j, *x, length_s).end).collect()
}

impl Plant<'_> {
    /// The arm stands by its drives, with what static friction and unmodelled torques leave to them at an end of what they may: they push out then.
    fn stand(&self, lag: &mut Option<DriveLag>) {
        let Some(lag) = lag else { return };
        let zero = vec![0.0; self.q.len()];
        let bias = truth::needed(&self.robot, &self.theta, [&self.q, &zero, &zero, &zero]);
        let ratio = self.robot.uncertainty().breakaway_ratio;
        let torque: Vec<f64> = (0..zero.len())
            .map(|j| {
                let dry = ratio * self.robot.joint_parameters(&self.theta, j).coulomb;
                let push = if j % 2 == 0 { 1.0 } else { -1.0 };
                bias[j] + push * (dry + self.robot.drive(j).unmodelled_nm)
            })
            .collect();
        lag.hold(&torque);
    }

    /// r at `t` seconds of the plan.
    fn r(&self, t: f64) -> Vec<f64> {
        let (desired, k_r) = (self.case.plan.curve.state(t), self.case.plan.tube.gains.k_r);
        (0..self.q.len()).map(|j| desired.dq[j] - self.dq[j] + k_r * (desired.q[j] - self.q[j])).collect()
    }

    /// M_0 of the desired position times `x`.
    fn momentum(&self, t: f64, x: &[f64]) -> Vec<f64> {
        let (plan, robot) = (&self.case.plan, &self.case.robot);
        let mass: DMatrix<f64> = truth::mass(robot, plan.set.center(), &plan.curve.state(t).q);
        (mass * DVector::from_column_slice(x)).as_slice().to_vec()
    }

    /// What is read where the momentum error of the joint that is pushed looks smallest.
    fn misread(&self, (q, dq): (&[f64], &[f64]), momentum: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let sensors = self.robot.sensors();
        let toward = momentum[self.pushed].signum();
        let off = |x: &[f64], bound: f64| -> Vec<f64> { x.iter().map(|x| x + bound * toward).collect() };
        (off(q, sensors.position_rad), off(dq, sensors.velocity_rad_s))
    }

    /// What pushes in the coming tick: one joint outwards, the others anywhere.
    fn push(&mut self, momentum: &[f64], rng: &mut ChaCha8Rng) {
        for (j, push) in self.pushes.iter_mut().enumerate() {
            *push = if j == self.pushed { -momentum[j].signum() } else { extreme(rng) };
        }
        for (j, bent) in self.bent.iter_mut().enumerate() {
            let most = self.robot.deflection(j);
            *bent = if most > 0.0 { most * extreme(rng) } else { 0.0 };
        }
    }

    /// Torques that drives apply, and those that act.
    fn torques(&self, command: &[f64], beyond: f64) -> (Vec<f64>, Vec<f64>) {
        let applied = |j: usize| {
            let drive = self.robot.drive(j);
            command[j] + self.pushes[j] * (drive.error_nm + drive.error_ratio * command[j].abs())
        };
        let applied: Vec<f64> = (0..command.len()).map(applied).collect();
        let acting = |j: usize| {
            let besides = applied[j] - command[j] + self.pushes[j] * self.robot.drive(j).unmodelled_nm;
            command[j] + beyond * besides
        };
        let acting = (0..command.len()).map(acting).collect();
        (applied, acting)
    }

    fn step(&mut self, command: &[f64], beyond: f64, h: f64) {
        let (_, acting) = self.torques(command, beyond);
        let state = (&self.q[..], &self.dq[..]);
        (self.q, self.dq) = truth::step(&self.robot, &self.theta, state, &acting, &self.pushes, h);
    }

    /// Holds the state at `t` against all that is said of it.
    fn look(&self, t: f64, command: Option<&[f64]>, beyond: f64, ledger: &mut Ledger) {
        let (plan, bounds) = (&self.case.plan, &self.case.claim.bounds);
        let (desired, r) = (plan.curve.state(t), self.r(t));
        let e: Vec<f64> = desired.q.iter().zip(&self.q).map(|(desired, q)| desired - q).collect();
        let (momentum, lag) = (self.momentum(t, &r), self.momentum(t, &e));
        let links: Vec<f64> = self.q.iter().zip(&self.bent).map(|(q, bent)| q + bent).collect();
        for (j, joint) in self.robot.joints.iter().enumerate() {
            let radius = plan.tube.robust_at(j, t) / plan.tube.gains.kappa + plan.tube.noise_at(j, t);
            ledger.note(Check::Momentum, momentum[j].abs(), radius);
            ledger.note(Check::Lag, lag[j].abs(), plan.tube.lag_at(j, t));
            ledger.note(Check::PositionError, e[j].abs(), bounds.position_error_rad[j]);
            ledger.note(Check::R, r[j].abs(), bounds.r_rad_s[j]);
            ledger.note(Check::Velocity, self.dq[j].abs(), joint.limits.velocity);
            if let Some((lower, upper)) = joint.limits.position {
                let gap = (links[j] - lower).min(upper - links[j]);
                ledger.gap(Check::Position, gap, 0.5 * (upper - lower));
            }
        }
        let frames = self.robot.frames(&links);
        let clearances =
            [self.robot.obstacle_clearance(&frames, &self.case.scene), self.robot.self_clearance(&frames)];
        for clearance in clearances.into_iter().flatten() {
            ledger.gap(Check::Collision, clearance.distance, 1.0);
        }
        let Some(command) = command else { return };
        let (applied, acting) = self.torques(command, beyond);
        let ddq = truth::acceleration(&self.robot, &self.theta, &self.q, &self.dq, &acting, &self.pushes);
        for (j, joint) in self.robot.joints.iter().enumerate() {
            ledger.note(Check::Acceleration, ddq[j].abs(), bounds.acceleration_rad_s2[j]);
            ledger.note(Check::Applied, applied[j].abs(), joint.limits.torque);
        }
    }
}
