//! Random states at the edge of what is assumed, held against what a [`CellReport`] claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use surelift::certify::{Body, CellReport, Problem};
use surelift::control::{Controller, Measured, RobustController};
use surelift::dynamics::{Motion, torque_regressor};
use surelift::inertia::ParameterSet;
use surelift::reach::tube::armature_floor;
use surelift::reach::{Span, Tube};
use surelift::robot::clearance::{between_capsules, to_zonotope};
use surelift::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, Scene, VISCOUS};
use surelift::trajectory::{Bezier, JointState};

use super::truth::{self, extreme};

/// Everything that a proof quantifies over.
#[derive(Clone)]
pub struct Case {
    pub robot: Robot,
    pub set: ParameterSet,
    pub scene: Scene,
    pub tube: Tube,
    pub curve: Bezier,
}

/// How much of each bound was used at most; above one, the bound is wrong. Margins of position and velocity are measured
/// in radii of the tube, distances in centimetres.
pub type Used = BTreeMap<&'static str, f64>;

pub fn note(used: &mut Used, what: &'static str, value: f64) {
    let worst = used.entry(what).or_insert(f64::NEG_INFINITY);
    *worst = if value.is_nan() { f64::INFINITY } else { worst.max(value) };
}

/// A true state, what is measured of it, and what is desired.
pub struct Drawn {
    pub q: Vec<f64>,
    pub dq: Vec<f64>,
    pub read_q: Vec<f64>,
    pub read_dq: Vec<f64>,
    pub desired: JointState,
}

impl Case {
    pub fn problem(&self) -> Problem<'_> {
        Problem::new(&self.robot, &self.set, &self.scene, &self.tube, &self.curve).unwrap()
    }

    /// dq_a, ddq_a and r from a true or a measured state.
    pub fn auxiliary(&self, desired: &JointState, q: &[f64], dq: &[f64]) -> [Vec<f64>; 3] {
        let k = self.tube.gains.k_r;
        let of = |f: &dyn Fn(f64, f64, usize) -> f64| -> Vec<f64> {
            (0..q.len()).map(|j| f(desired.q[j] - q[j], desired.dq[j] - dq[j], j)).collect()
        };
        [
            of(&|e, _, j| desired.dq[j] + k * e),
            of(&|_, de, j| desired.ddq[j] + k * de),
            of(&|e, de, _| de + k * e),
        ]
    }

    /// A state with V = V_max (or less), position errors at corners, and sensor errors at corners.
    pub fn draw(&self, theta: &[f64], t: f64, rng: &mut ChaCha8Rng) -> Drawn {
        let (robot, tube) = (&self.robot, &self.tube);
        let n = robot.dof();
        let desired = self.curve.state(t);
        let e: Vec<f64> = (0..n).map(|j| extreme(rng) * tube.e_radius(robot, &self.set, j)).collect();
        let q: Vec<f64> = (0..n).map(|j| desired.q[j] - e[j]).collect();
        let alone = rng.random_bool(0.3).then(|| rng.random_range(0..n));
        let direction: Vec<f64> = (0..n)
            .map(|j| if alone.is_none_or(|k| k == j) { rng.random_range(-1.0..1.0) } else { 0.0 })
            .collect();
        let level = if rng.random_bool(0.7) { 1.0 } else { rng.random_range(0.0..1.0f64) };
        let scale = (level * tube.gains.v_max / truth::energy(robot, theta, &q, &direction)).sqrt();
        let dq: Vec<f64> =
            (0..n).map(|j| desired.dq[j] - (scale * direction[j] - tube.gains.k_r * e[j])).collect();
        let sensors = robot.sensors;
        let read_q = q.iter().map(|x| x + sensors.position_rad * extreme(rng)).collect();
        let read_dq = dq.iter().map(|x| x + sensors.velocity_rad_s * extreme(rng)).collect();
        Drawn { q, dq, read_q, read_dq, desired }
    }

    /// Nominal torque and rho at a measured state without Coulomb friction and drift.
    fn links_part(&self, read: [&[f64]; 4]) -> (Vec<f64>, Vec<f64>) {
        let (robot, n) = (&self.robot, self.robot.dof());
        let (center, radius) = (self.set.center(), self.set.radius());
        let mut rho = vec![0.0; n];
        for p in 0..robot.parameter_count() {
            let mut unit = vec![0.0; robot.parameter_count()];
            unit[p] = 1.0;
            let column = truth::needed(robot, &unit, read);
            (0..n).for_each(|j| rho[j] += column[j].abs() * radius[p]);
        }
        (truth::needed(robot, &center, read), rho)
    }

    /// The controller's rho and nominal torque at a measured state, written out independently.
    fn law(&self, read: (&[f64], &[f64]), desired: &JointState) -> (Vec<f64>, Vec<f64>) {
        let (robot, n) = (&self.robot, self.robot.dof());
        let [dqa, ddqa, _] = self.auxiliary(desired, read.0, read.1);
        let (center, radius) = (self.set.center(), self.set.radius());
        let mut motion = Motion::new(robot);
        motion.sweep(robot, read.0, read.1, &dqa, &ddqa);
        let mut y = vec![0.0; INERTIAL * n * n];
        torque_regressor(robot, &motion, 0..n, &mut y);
        let mut nominal = truth::needed(robot, &center, [read.0, read.1, &dqa, &ddqa]);
        let rho = (0..n)
            .map(|j| {
                let at = robot.friction_index(j);
                let (c, g) = (&center[at..at + 4], &radius[at..at + 4]);
                let band = self.tube.sign_band(robot, j);
                let s = (read.1[j] / band).clamp(-1.0, 1.0);
                let inside = read.1[j].abs() <= band;
                nominal[j] += c[COULOMB] * s;
                let charge = if inside { (c[COULOMB] + g[COULOMB]) * (1.0 + s.abs()) } else { g[COULOMB] };
                let width = INERTIAL * n;
                let links: f64 = (0..width).map(|p| y[width * j + p].abs() * radius[p]).sum();
                let joint = g[VISCOUS] * read.1[j].abs() + g[ARMATURE] * ddqa[j].abs() + g[OFFSET];
                links + charge + joint + self.tube.drift_nm[j]
            })
            .collect();
        (nominal, rho)
    }
}

/// Parameters of the set that disturb joint `j` most at this measured state.
fn worst_for(case: &Case, d: &Drawn, j: usize, up: bool) -> Vec<f64> {
    let robot = &case.robot;
    let [dqa, ddqa, _] = case.auxiliary(&d.desired, &d.read_q, &d.read_dq);
    let state = [&d.read_q[..], &d.read_dq[..], &dqa[..], &ddqa[..]];
    let count = robot.parameter_count();
    (0..count)
        .map(|p| {
            let mut unit = vec![0.0; count];
            unit[p] = 1.0;
            let positive = truth::needed(robot, &unit, state)[j] >= 0.0;
            if positive == up { case.set.upper[p] } else { case.set.lower[p] }
        })
        .collect()
}

/// Attacks the report of `claim` over one span with states of `truth`; the controller is the claim's.
pub fn attack(
    claim: &Case,
    truth: &Case,
    span: (f64, f64),
    draws: usize,
    rng: &mut ChaCha8Rng,
    used: &mut Used,
) {
    let report = claim.problem().report(Span::Between(span.0, span.1));
    let mut controller = RobustController::new(Arc::new(claim.robot.clone()), &claim.set, &claim.tube);
    for _ in 0..draws {
        let theta = truth::consistent(&truth.robot, &truth.set, rng);
        let t = (0.5 * (span.0 + span.1) + 0.5 * (span.1 - span.0) * extreme(rng)).clamp(span.0, span.1);
        let drawn = truth.draw(&theta, t, rng);
        still(claim, truth, &report, &drawn, used);
        tick(claim, truth, &report, &mut controller, &theta, t, &drawn, rng, used);
    }
}

/// Positions, velocities and distances of one state.
fn still(claim: &Case, truth: &Case, report: &CellReport, d: &Drawn, used: &mut Used) {
    let robot = &truth.robot;
    for (j, joint) in robot.joints.iter().enumerate() {
        let radius = truth.tube.r_radius(robot, &truth.set, j);
        for (q, dq) in [(d.q[j], d.dq[j]), (d.read_q[j], d.read_dq[j])] {
            if let Some((lower, upper)) = joint.limits.position {
                let left = (q - lower).min(upper - q);
                let e_radius = radius / truth.tube.gains.k_r;
                note(used, "position", 1.0 - (left - report.position[j]) / e_radius);
            }
            let left = joint.limits.velocity - dq.abs();
            note(used, "velocity", 1.0 - (left - report.velocity[j]) / (2.0 * radius));
        }
    }
    let frames = robot.frames(&d.q);
    for c in &report.clearances {
        let capsule = robot.placed_capsule(c.shape, &frames);
        let distance = match c.other {
            Body::Obstacle(k) => to_zonotope(&capsule, &claim.scene.obstacles[k]),
            Body::Shape(k) => between_capsules(&capsule, &robot.placed_capsule(k, &frames)),
        };
        if c.separation.clearance_m > 0.0 {
            note(used, "collision", 1.0 - (distance - c.separation.clearance_m) / 0.01);
        }
    }
}

/// One tick from a drawn state: torques, disturbance, drift, energy.
fn tick(
    claim: &Case,
    truth: &Case,
    report: &CellReport,
    controller: &mut RobustController,
    theta: &[f64],
    t: f64,
    d: &Drawn,
    rng: &mut ChaCha8Rng,
    used: &mut Used,
) {
    let (robot, n) = (&truth.robot, truth.robot.dof());
    let gains = &claim.tube.gains;
    let h = gains.period_s;
    let mut tau = vec![0.0; n];
    let said = controller.tick(Measured { q: &d.read_q, dq: &d.read_dq }, &d.desired, &mut tau);
    let (nominal, rho) = claim.law((&d.read_q, &d.read_dq), &d.desired);
    let [_, _, read_r] = claim.auxiliary(&d.desired, &d.read_q, &d.read_dq);
    let [_, _, r] = claim.auxiliary(&d.desired, &d.q, &d.dq);
    let mut gave = 0.0;
    for j in 0..n {
        let bounds = &report.torque[j];
        let middle = 0.5 * (bounds.nominal_lower + bounds.nominal_upper);
        let half = 0.5 * (bounds.nominal_upper - bounds.nominal_lower);
        note(used, "nominal", (nominal[j] - middle).abs() / half);
        note(used, "rho", rho[j] / bounds.rho);
        note(used, "rho from below", bounds.rho_least / rho[j]);
        if said.saturated {
            continue;
        }
        let v = tau[j] - nominal[j];
        note(used, "robust", v.abs() / report.robust[j]);
        note(used, "command", tau[j].abs() / (bounds.nominal_sup() + report.robust[j]));
        if v.abs() > 1e-9 {
            let inertia = armature_floor(&claim.robot, &claim.set, j);
            note(used, "gain", h * v / (inertia * read_r[j]) / report.required.gain);
        }
        gave += rho[j] * read_r[j].abs() - read_r[j] * v;
    }
    let energy = truth::energy(robot, theta, &d.q, &r);
    let measured = truth::energy(robot, theta, &d.read_q, &read_r);
    note(used, "slack", (energy - measured).abs() / report.required.energy_slack_j);
    // V^ must not be below V; it contains the stored slack, which may exceed what is required.
    note(used, "V above V^", energy / said.energy_j);

    let [dqa, ddqa, _] = claim.auxiliary(&d.desired, &d.read_q, &d.read_dq);
    let read = [&d.read_q[..], &d.read_dq[..], &dqa[..], &ddqa[..]];
    let joint = rng.random_range(0..n);
    let thetas = [theta.to_vec(), worst_for(truth, d, joint, true), worst_for(truth, d, joint, false)];
    let pushes: Vec<f64> = (0..n).map(|j| if rng.random() { extreme(rng) } else { r[j].signum() }).collect();
    let sharp = claim.links_part(read);
    let (mut q, mut dq) = (d.q.clone(), d.dq.clone());
    for part in 0..=2 {
        if part > 0 {
            (q, dq) = truth::step(robot, theta, (&q, &dq), &tau, &pushes, 0.5 * h);
        }
        let desired = truth.curve.state(t + 0.5 * h * f64::from(part));
        let [dqa, ddqa, r] = claim.auxiliary(&desired, &q, &dq);
        for theta in &thetas {
            let before = truth::needed(robot, theta, read);
            // Without drift and Coulomb friction, the bound is sharp for the worst parameters.
            for j in 0..n {
                let bound = sharp.1[j];
                note(used, "parameters", (before[j] - sharp.0[j]).abs() / bound);
            }
            let now = truth::needed(robot, theta, [&q, &dq, &dqa, &ddqa]);
            for j in 0..n {
                note(used, "drift", (now[j] - before[j]).abs() / report.required.drift_nm[j]);
                let coulomb = theta[robot.friction_index(j) + COULOMB];
                let stuck = dq[j].abs() <= robot.control.stiction_speed_rad_s;
                let signs = if stuck { [-1.0, 1.0] } else { [dq[j].signum(); 2] };
                for sign in signs {
                    note(used, "disturbance", (now[j] + coulomb * sign - nominal[j]).abs() / rho[j]);
                }
            }
        }
        let ddq = truth::acceleration(robot, theta, &q, &dq, &tau, &pushes);
        for j in 0..n {
            note(used, "acceleration", ddq[j].abs() / report.required.acceleration_bound[j]);
        }
        if part == 2 && !said.saturated {
            let after = truth::energy(robot, theta, &q, &r);
            note(used, "hold power", ((after - energy) / h - gave) / report.required.hold_power_w);
            let allowed = energy + h * gains.alpha * (gains.v_max - said.energy_j).max(0.0);
            note(used, "rise of V", after / allowed);
            note(used, "level of V", after / gains.v_max);
        }
    }
}
