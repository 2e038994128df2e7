//! One state held against what a [`CellReport`] claims of all states.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::case::{Case, Drawn};
use super::ledger::{Check, Ledger};
use super::tick::Pushed;
use crate::certify::{Body, CellReport};
use crate::control::{Controller, Measured, RobustController};
use crate::dynamics::truth::{self, extreme};
use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::{INERTIAL, TorqueStrips};
use crate::reach::Span;
use crate::reach::formulas;
use crate::robot::Arm;
use crate::robot::clearance::{between_capsules, to_zonotope};
use crate::trajectory::JointState;

/// Distances are judged against this, m: what is closest counts in the ledger, and a distance has no natural scale of its
/// own.
const CENTIMETRE: f64 = 0.01;
/// Share of the states for which the worst parameters of a set with strips are computed exactly. That takes a linear
/// program; the other states are many more in the same time.
const EXACT: f64 = 1.0 / 16.0;

/// A claim about one span of a plan, under attack by states that are possible according to `truth`. Claim and truth
/// are the same case, unless the attack itself is to be tested by a claim that is wrong on purpose.
pub struct Attack<'a> {
    /// What the claim was made for.
    pub claim: &'a Case,
    /// What is possible.
    pub truth: &'a Case,
    /// The claim.
    pub report: &'a CellReport,
    pub(super) controller: RobustController,
}

/// What the required torque is made of at a measured state: its derivative with respect to each parameter of a joint.
struct Rows {
    y: Vec<f64>,
    dq: Vec<f64>,
    ddqa: Vec<f64>,
}

impl Rows {
    fn new(case: &Case, read: [&[f64]; 4]) -> Self {
        let (robot, n) = (&case.robot, case.robot.dof());
        let [q, dq, dqa, ddqa] = read;
        let mut motion = Motion::new(robot);
        motion.sweep(robot, q, dq, dqa, ddqa);
        let mut y = vec![0.0; INERTIAL * n * n];
        torque_regressor(robot, &motion, 0..n, &mut y);
        Self { y, dq: dq.to_vec(), ddqa: ddqa.to_vec() }
    }

    /// The derivatives of joint `j`'s torque without Coulomb friction: index of the parameter, value.
    fn of<'a>(&'a self, case: &'a Case, j: usize) -> impl Iterator<Item = (usize, f64)> + 'a {
        let width = INERTIAL * case.robot.dof();
        let at = case.robot.joint_index(j);
        let joint = [(at.viscous, self.dq[j]), (at.armature, self.ddqa[j]), (at.offset, 1.0)];
        self.y[width * j..width * (j + 1)].iter().copied().enumerate().chain(joint)
    }

    /// Parameters of the set that drive joint `j` furthest up (or down).
    fn worst(&self, case: &Case, j: usize, up: bool, exact: bool) -> Vec<f64> {
        let sign = if up { 1.0 } else { -1.0 };
        let slopes: Vec<_> = self.of(case, j).map(|(p, slope)| (p, sign * slope)).collect();
        case.furthest(&slopes, exact)
    }

    /// What the strips of joint `j` add to its nominal torque at time `t` of the plan, and the spread of parameters that they
    /// leave, N m.
    fn strips(&self, case: &Case, j: usize, t: f64) -> Option<(f64, f64)> {
        let TorqueStrips { times, strips } = case.set.strips()?;
        let (center, radius, n) = (case.set.center(), case.set.radius(), case.robot.dof());
        let mut row = vec![None; center.len()];
        self.of(case, j).for_each(|(p, slope)| row[p] = Some(slope));
        let (mut shift, mut half) = (0.0, 0.0);
        let mut mixed = vec![0.0; center.len()];
        for (k, weight) in hats(times, t).into_iter().enumerate() {
            let strip = &strips[n * k + j];
            let at_center: f64 = strip.direction.iter().zip(&center).map(|(d, c)| d * c).sum();
            shift += weight * (0.5 * (strip.lower + strip.upper) - at_center);
            half += weight * 0.5 * (strip.upper - strip.lower);
            for (p, d) in strip.direction.iter().enumerate() {
                match row[p] {
                    Some(_) => mixed[p] += weight * d,
                    None => half += weight * d.abs() * radius[p],
                }
            }
        }
        let off = |p: usize| row[p].map_or(0.0, |y| (y - mixed[p]).abs() * radius[p]);
        Some((shift, half + (0..center.len()).map(off).sum::<f64>()))
    }
}

/// Hat functions over `times`, constant beyond their ends, at `t`.
fn hats(times: &[f64], t: f64) -> Vec<f64> {
    let t = t.clamp(times[0], times[times.len() - 1]);
    let side = |at: f64, other: Option<&f64>| other.map_or(0.0, |&o| ((o - t) / (o - at)).max(0.0));
    let hat = |k: usize| match t {
        t if t == times[k] => 1.0,
        t if t < times[k] => side(times[k], k.checked_sub(1).map(|k| &times[k])),
        _ => side(times[k], times.get(k + 1)),
    };
    (0..times.len()).map(hat).collect()
}

/// The controller's nominal torque and rho at a measured state, written out independently of it.
pub struct AttackedLaw {
    /// Nominal torque, N m; what strips add to it included.
    pub nominal: Vec<f64>,
    /// What strips add, N m.
    pub shift: Vec<f64>,
    /// Bound on the disturbance, drift included, N m.
    pub rho: Vec<f64>,
    /// The part of rho that the parameters without Coulomb friction make, N m.
    pub spread: Vec<f64>,
    rows: Rows,
}

impl AttackedLaw {
    /// The law of `case` at time `t` of the plan and the measured state `read`.
    pub fn new(case: &Case, t: f64, read: (&[f64], &[f64]), desired: &JointState) -> Self {
        let (robot, n) = (&case.robot, case.robot.dof());
        let [dqa, ddqa, _] = case.auxiliary(desired, read.0, read.1);
        let (center, radius) = (case.set.center(), case.set.radius());
        let state = [read.0, read.1, &dqa[..], &ddqa[..]];
        let rows = Rows::new(case, state);
        let mut nominal = truth::needed(robot, &center, state);
        let (mut shift, mut spread) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            spread[j] = rows.of(case, j).map(|(p, slope)| slope.abs() * radius[p]).sum();
            if let Some((more, known)) = rows.strips(case, j, t) {
                (shift[j], spread[j]) = (more, known.min(spread[j] + more.abs()));
                nominal[j] += more;
            }
        }
        let rho = (0..n)
            .map(|j| {
                let at = robot.joint_index(j).coulomb;
                let (c, g) = (center[at], radius[at]);
                let band = formulas::sign_band(&case.tube, robot, j);
                let doubtful = read.1[j].abs() <= band;
                nominal[j] += if doubtful { 0.0 } else { c * read.1[j].signum() };
                let sticking = robot.uncertainty().breakaway_ratio * (c + g);
                spread[j] + if doubtful { sticking } else { g } + case.tube.drift_nm[j]
            })
            .collect();
        Self { nominal, shift, rho, spread, rows }
    }
}

impl<'a> Attack<'a> {
    /// Prepares an attack.
    pub fn new(claim: &'a Case, truth: &'a Case, report: &'a CellReport) -> Self {
        let controller = RobustController::new(Arc::new(claim.robot.clone()), &claim.set, &claim.tube);
        Self { claim, truth, report, controller }
    }

    /// A time of the span, often an end.
    pub fn time(&self, rng: &mut ChaCha8Rng) -> f64 {
        let (t0, t1) = match self.report.span {
            Span::Between(t0, t1) => (t0, t1),
            Span::Rest => (self.truth.curve.duration_s, self.truth.curve.duration_s + 1.0),
        };
        (0.5 * (t0 + t1) + 0.5 * (t1 - t0) * extreme(rng)).clamp(t0, t1)
    }

    /// Attacks with random states, with fresh parameters for every eight of them.
    pub fn at_random(&mut self, draws: usize, rng: &mut ChaCha8Rng, ledger: &mut Ledger) {
        let mut theta = Vec::new();
        for k in 0..draws {
            if k % 8 == 0 {
                theta = self.truth.parameters(rng);
            }
            let t = self.time(rng);
            let drawn = self.truth.draw(&theta, t, rng);
            self.with(&theta, t, &drawn, rng, ledger);
        }
    }

    /// Attacks with one state.
    pub fn with(&mut self, theta: &[f64], t: f64, drawn: &Drawn, rng: &mut ChaCha8Rng, ledger: &mut Ledger) {
        self.still(drawn, ledger);
        // A tick that begins in the span ends after it.
        for share in [1.0, rng.random_range(0.0..1.0)] {
            self.still(&self.later(t + share * self.truth.tube.gains.period_s, drawn), ledger);
        }
        self.tick(theta, t, drawn, rng, ledger);
    }

    /// The same errors at a later time.
    fn later(&self, t: f64, d: &Drawn) -> Drawn {
        let desired = self.truth.curve.state(t);
        let moved = |x: &[f64], to: &[f64], from: &[f64]| -> Vec<f64> {
            (0..x.len()).map(|j| x[j] + (to[j] - from[j])).collect()
        };
        Drawn {
            q: moved(&d.q, &desired.q, &d.desired.q),
            dq: moved(&d.dq, &desired.dq, &d.desired.dq),
            read_q: moved(&d.read_q, &desired.q, &d.desired.q),
            read_dq: moved(&d.read_dq, &desired.dq, &d.desired.dq),
            desired,
        }
    }

    /// Positions, velocities and distances of one state.
    fn still(&self, d: &Drawn, ledger: &mut Ledger) {
        let (robot, report) = (&self.truth.robot, self.report);
        for (j, joint) in robot.joints.iter().enumerate() {
            let tube = &self.truth.tube;
            for (q, dq) in [(d.q[j], d.dq[j]), (d.read_q[j], d.read_dq[j])] {
                if let Some((lower, upper)) = joint.limits.position {
                    let left = (q - lower).min(upper - q);
                    let radius = formulas::e_radius(tube, j);
                    ledger.gap(Check::Position, left - report.position[j], radius);
                }
                let left = joint.limits.velocity - dq.abs();
                let radius = 2.0 * formulas::r_radius(tube, j);
                ledger.gap(Check::Velocity, left - report.velocity[j], radius);
            }
        }
        let frames = robot.frames(&d.q);
        for (k, c) in report.clearances.iter().enumerate() {
            // Of an obstacle that moves nothing is claimed at rest.
            if c.separation.clearance_m > 0.0 && c.separation.clearance_m.is_finite() {
                let gap = self.distance(k, &frames) - c.separation.clearance_m;
                ledger.gap(Check::Collision, gap, CENTIMETRE);
            }
        }
    }

    /// Distance of the `k`-th pair of the report with the robot's frames as given, an obstacle where it was seen.
    pub fn distance(&self, k: usize, frames: &[crate::robot::Placement]) -> f64 {
        let (robot, pair) = (&self.truth.robot, &self.report.clearances[k]);
        let capsule = robot.placed_capsule(pair.shape, frames);
        match pair.other {
            Body::Obstacle(o) => to_zonotope(&capsule, &self.claim.scene.obstacles[o]),
            Body::Shape(s) => between_capsules(&capsule, &robot.placed_capsule(s, frames)),
        }
    }

    /// One tick from a state: torques, disturbance, drift, energy.
    fn tick(&mut self, theta: &[f64], t: f64, d: &Drawn, rng: &mut ChaCha8Rng, ledger: &mut Ledger) {
        let (claim, report) = (self.claim, self.report);
        let n = claim.robot.dof();
        let mut tau = vec![0.0; n];
        let said = self.controller.tick(t, Measured { q: &d.read_q, dq: &d.read_dq }, &d.desired, &mut tau);
        let law = AttackedLaw::new(claim, t, (&d.read_q, &d.read_dq), &d.desired);
        let [_, _, read_r] = claim.auxiliary(&d.desired, &d.read_q, &d.read_dq);
        let [_, _, r] = claim.auxiliary(&d.desired, &d.q, &d.dq);
        let mut gave = 0.0;
        for j in 0..n {
            let bounds = &report.torque[j];
            let middle = 0.5 * (bounds.nominal_lower + bounds.nominal_upper);
            let half = 0.5 * (bounds.nominal_upper - bounds.nominal_lower);
            ledger.note(Check::Nominal, (law.nominal[j] - middle).abs(), half);
            ledger.note(Check::Rho, law.rho[j], bounds.rho);
            if said.saturated {
                continue;
            }
            let v = tau[j] - law.nominal[j];
            ledger.note(Check::Robust, v.abs(), report.robust[j]);
            ledger.note(Check::Command, tau[j].abs(), bounds.nominal_sup() + report.robust[j]);
            let (limit, most) =
                (claim.robot.joints[j].limits.torque, drive_error(&self.truth.robot, j, tau[j]));
            ledger.note(Check::Applied, tau[j].abs() + most, limit - report.torque_margin[j]);
            if v.abs() > 1e-9 {
                let inertia = claim.tube.inertia_floor[j];
                let gain = claim.tube.gains.period_s * v / (inertia * read_r[j]);
                ledger.note(Check::Gain, gain, report.required.gain);
            }
            // What is held may turn the disturbance within the tick: demand counts that apart from the hold power.
            let (h, left) = (claim.tube.gains.period_s, law.rho[j] - v.abs());
            gave += law.rho[j] * read_r[j].abs() - read_r[j] * v
                + 0.5 * h * left * left / claim.tube.inertia_floor[j];
        }
        let energy = truth::energy(&self.truth.robot, theta, &d.q, &r);
        let measured = truth::energy(&self.truth.robot, theta, &d.read_q, &read_r);
        ledger.note(Check::Slack, (energy - measured).abs(), report.required.energy_slack_j);
        // V^ must not be below V; it contains the stored slack, which may exceed what is required.
        ledger.note(Check::VBound, energy, said.energy_j);
        let robust: Vec<f64> = tau.iter().zip(&law.nominal).map(|(t, nominal)| t - nominal).collect();
        let allowance = claim.tube.gains.v_max - said.energy_j;
        let in_force = !said.saturated;
        let (robust, rho) = (&robust[..], &law.rho[..]);
        let beside: Vec<f64> = (0..n).map(|j| beside_command(&self.truth.robot, j, tau[j])).collect();
        let pushed =
            Pushed { theta, t, drawn: d, robust, rho, beside: &beside, energy, gave, allowance, in_force };
        self.pushed(&pushed, ledger);
        let held = Held { tau, law, energy, gave, allowance };
        self.hold(&held, in_force, theta, t, d, rng, ledger);
    }

    /// The command held for a tick: what the motion asks for meanwhile, and what becomes of V.
    fn hold(
        &self,
        held: &Held,
        in_force: bool,
        theta: &[f64],
        t: f64,
        d: &Drawn,
        rng: &mut ChaCha8Rng,
        ledger: &mut Ledger,
    ) {
        let (claim, report, law) = (self.claim, self.report, &held.law);
        let (robot, n) = (&self.truth.robot, self.truth.robot.dof());
        let (h, required) = (claim.tube.gains.period_s, &report.required);
        let [dqa, ddqa, _] = claim.auxiliary(&d.desired, &d.read_q, &d.read_dq);
        let read = [&d.read_q[..], &d.read_dq[..], &dqa[..], &ddqa[..]];
        let [_, _, r] = claim.auxiliary(&d.desired, &d.q, &d.dq);
        let joint = rng.random_range(0..n);
        let exact = rng.random_bool(EXACT);
        let worst = |up: bool| law.rows.worst(self.truth, joint, up, exact);
        let thetas = [theta.to_vec(), worst(true), worst(false)];
        // By the controller's gravity: what the true one adds is drift.
        let before: Vec<_> = thetas.iter().map(|theta| truth::needed(&claim.robot, theta, read)).collect();
        let center = truth::needed(&claim.robot, &claim.set.center(), read);
        for before in &before {
            // Without drift and Coulomb friction, the bound is sharp for the worst parameters.
            for j in 0..n {
                let effect = before[j] - center[j] - law.shift[j];
                ledger.note(Check::Parameters, effect.abs(), law.spread[j]);
            }
        }
        let pushes: Vec<f64> =
            (0..n).map(|j| if rng.random() { extreme(rng) } else { r[j].signum() }).collect();
        // What the drives do beside, mostly as much as they may, along r or anyhow.
        let mut beside = vec![0.0; n];
        for (j, beside) in beside.iter_mut().enumerate() {
            let most = beside_command(robot, j, held.tau[j]);
            if most > 0.0 {
                let share = if rng.random() { extreme(rng) } else { -r[j].signum() };
                *beside = share * most;
            }
        }
        let acting: Vec<f64> = held.tau.iter().zip(&beside).map(|(tau, beside)| tau + beside).collect();
        let (mut q, mut dq) = (d.q.clone(), d.dq.clone());
        for part in 0..=2 {
            if part > 0 {
                (q, dq) = truth::step(robot, theta, (&q, &dq), &acting, &pushes, 0.5 * h);
            }
            let desired = self.truth.curve.state(t + 0.5 * h * f64::from(part));
            let [dqa, ddqa, r] = claim.auxiliary(&desired, &q, &dq);
            // The drift is bounded for the parameters that the arm moves with; those that are worst for one joint need not be a
            // body's, so no arm moves with them. Their effect at the tick and the drift of the true ones may come together.
            let now = truth::needed(robot, theta, [&q, &dq, &dqa, &ddqa]);
            let drift: Vec<f64> = (0..n).map(|j| now[j] - before[0][j] - beside[j]).collect();
            for j in 0..n {
                ledger.note(Check::Drift, drift[j].abs(), required.drift_nm[j]);
            }
            for (theta, before) in thetas.iter().zip(&before) {
                let required: Vec<f64> = before.iter().zip(&drift).map(|(b, drift)| b + drift).collect();
                self.disturbed(law, theta, &dq, &required, ledger);
            }
            let ddq = truth::acceleration(robot, theta, &q, &dq, &acting, &pushes);
            for j in 0..n {
                ledger.note(Check::Acceleration, ddq[j].abs(), required.acceleration_bound[j]);
            }
            if part == 2 && in_force {
                self.risen(held, truth::energy(robot, theta, &q, &r), ledger);
            }
        }
    }

    /// V after the tick against what it may have become.
    fn risen(&self, held: &Held, after: f64, ledger: &mut Ledger) {
        let (gains, required) = (&self.claim.tube.gains, &self.report.required);
        let h = gains.period_s;
        let power = (after - held.energy) / h - held.gave;
        ledger.note(Check::HoldPower, power, required.hold_power_w);
        let allowed = held.energy + h * gains.alpha * held.allowance.max(0.0);
        ledger.note(Check::RiseOfV, after, allowed);
        ledger.note(Check::LevelOfV, after, gains.v_max);
    }

    /// What the motion asks for without Coulomb friction, against the nominal torques: with friction of either sign where the joint may
    /// stick.
    fn disturbed(&self, law: &AttackedLaw, theta: &[f64], dq: &[f64], required: &[f64], ledger: &mut Ledger) {
        let robot = &self.truth.robot;
        for j in 0..robot.dof() {
            let coulomb = theta[robot.joint_index(j).coulomb];
            let stuck = dq[j].abs() <= robot.gains().stiction_speed_rad_s;
            let most = robot.uncertainty().breakaway_ratio;
            let signs = if stuck { [-most, most] } else { [dq[j].signum(); 2] };
            for sign in signs {
                let disturbance = required[j] + coulomb * sign - law.nominal[j];
                ledger.note(Check::Disturbance, disturbance.abs(), law.rho[j]);
            }
        }
    }
}

/// How far the torque that drive `j` applies may be from its command, N m.
fn drive_error(robot: &Arm, j: usize, command: f64) -> f64 {
    robot.drive(j).error_nm + robot.drive(j).error_ratio * command.abs()
}

/// How far the torque that acts on joint `j` may be from its command, N m.
fn beside_command(robot: &Arm, j: usize, command: f64) -> f64 {
    drive_error(robot, j, command) + robot.drive(j).unmodelled_nm
}

/// A command and what goes with it.
struct Held {
    tau: Vec<f64>,
    law: AttackedLaw,
    /// V before, J.
    energy: f64,
    /// P - r'v, and (h/2) d'A^-1 d for what v leaves of rho, W.
    gave: f64,
    /// V_max - V^, J.
    allowance: f64,
}
