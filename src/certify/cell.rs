//! All constraints over one cell of time: the margins, and what the tube's constants must be at least.

use crate::dynamics::Motion;
use crate::enclose::Rounding;
use crate::reach::energy::{coriolis_norm, energy_slack, largest_eigenvalue};
use crate::reach::links::{Separation, clear_of_capsule, clear_of_obstacle, swept_capsules};
use crate::reach::torque::{JointTorque, drift, joint_torques, robust_torque};
use crate::reach::tube::armature_floor;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::reach::{Cell, Span};
use crate::robot::JointLimits;

use super::{Body, Problem};

/// What must be kept apart, and how far it provably is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clearance {
    /// Index of the capsule in [`crate::robot::Robot::shapes`].
    pub shape: usize,
    /// The obstacle or the other capsule.
    pub other: Body,
    /// Proven distance and the direction that proves it.
    pub separation: Separation,
}

/// Least values that the constants of the tube must have for the proof to hold over a cell.
#[derive(Debug, Clone)]
pub struct Required {
    /// D_j, N m.
    pub drift_nm: Vec<f64>,
    /// beta, W.
    pub hold_power_w: f64,
    /// nu, J.
    pub energy_slack_j: f64,
    /// |ddq_j|, rad/s^2.
    pub acceleration_bound: Vec<f64>,
    /// h lambda W_j / (sum W r^2 A_j), at most 1 for the gain condition.
    pub gain: f64,
}

/// Everything that is proven about one cell. Margins are limit minus proven supremum; negative means not proven.
#[derive(Debug, Clone)]
pub struct CellReport {
    /// The times.
    pub span: Span,
    /// Position margin of each joint, rad; infinite for continuous joints.
    pub position: Vec<f64>,
    /// Velocity margin of each joint, rad/s.
    pub velocity: Vec<f64>,
    /// Torque sets of each joint.
    pub torque: Vec<JointTorque>,
    /// Bound on the robust torque |v_i|, N m.
    pub robust: Vec<f64>,
    /// Torque margin of each joint, N m.
    pub torque_margin: Vec<f64>,
    /// Separation of every pair that must stay apart.
    pub clearances: Vec<Clearance>,
    /// What the tube needs.
    pub required: Required,
}

impl CellReport {
    /// Evaluates all constraints over `span`.
    pub fn new<const N: usize, R: Rounding>(problem: &Problem<'_>, span: Span) -> Self {
        let robot = problem.robot;
        let cell = Cell::<N, R>::new(robot, problem.set, problem.tube, problem.curve, span);
        let mut motion = Motion::new(robot);
        let torque = joint_torques(robot, problem.tube, &problem.uncertain, &cell, &mut motion);
        let clearances = clearances(problem, &swept_capsules(robot, &motion));
        let rho: Vec<f64> = torque.iter().map(|t| t.rho).collect();
        let sigma_max = largest_eigenvalue(robot, &problem.uncertain, &cell);
        let robust = robust_torque(problem.tube, &rho, sigma_max);
        let required = required(problem, &cell, &rho, &robust, sigma_max);
        let limits = |j: usize| -> &JointLimits { &robot.joints[j].limits };
        let position = (0..robot.dof())
            .map(|j| {
                limits(j).position.map_or(f64::INFINITY, |(lower, upper)| {
                    (cell.q[j].lower() - lower).min(upper - cell.q[j].upper()).next_down()
                })
            })
            .collect();
        let velocity =
            (0..robot.dof()).map(|j| (limits(j).velocity - cell.dq[j].sup_abs()).next_down()).collect();
        let torque_margin = (0..robot.dof())
            .map(|j| (limits(j).torque - add_up(torque[j].nominal_sup(), robust[j])).next_down())
            .collect();
        Self { span, position, velocity, torque, robust, torque_margin, clearances, required }
    }
}

fn clearances<const N: usize, R: Rounding>(
    problem: &Problem<'_>,
    ends: &[[crate::dynamics::vec3::Vec3<crate::enclose::Affine<N, R>>; 2]],
) -> Vec<Clearance> {
    let robot = problem.robot;
    let mut out = Vec::new();
    for (shape, link) in robot.shapes.iter().enumerate() {
        // A capsule fixed to the base cannot be moved away; the scene is checked against it when it is loaded.
        if link.joint.is_none() {
            continue;
        }
        for (k, obstacle) in problem.scene.obstacles.iter().enumerate() {
            let separation = clear_of_obstacle(&ends[shape], link.capsule.radius, obstacle);
            out.push(Clearance { shape, other: Body::Obstacle(k), separation });
        }
    }
    for &(a, b) in &robot.self_pairs {
        let radii = add_up(robot.shapes[a].capsule.radius, robot.shapes[b].capsule.radius);
        let separation = clear_of_capsule(&ends[a], &ends[b], radii);
        out.push(Clearance { shape: a, other: Body::Shape(b), separation });
    }
    out
}

/// The conditions of the tube's proof, see [`crate::reach::tube`].
fn required<const N: usize, R: Rounding>(
    problem: &Problem<'_>,
    cell: &Cell<N, R>,
    rho: &[f64],
    robust: &[f64],
    sigma_max: f64,
) -> Required {
    let (robot, tube) = (problem.robot, problem.tube);
    let n = robot.dof();
    let gains = &tube.gains;
    let floor: Vec<f64> = (0..n).map(|j| armature_floor(robot, problem.set, j)).collect();
    let sigma_min = floor.iter().copied().fold(f64::INFINITY, f64::min);
    let coriolis = coriolis_norm(&problem.weightless, &problem.uncertain, cell);

    // |dr/dt|: with d = w - v, sqrt(dr'M dr) <= sqrt(sum d_j^2 / A_j) + |C r| / sqrt(min A).
    let worst = (0..n).map(|j| (add_up(rho[j], robust[j]), floor[j]));
    let pushed = sum_up(worst.map(|(d, a)| div_up(mul_up(d, d), a))).sqrt().next_up();
    let turned = div_up(coriolis, sigma_min.sqrt().next_down());
    let energy_rate = add_up(pushed, turned);
    let r_rate: Vec<f64> = floor.iter().map(|a| div_up(energy_rate, a.sqrt().next_down())).collect();
    let acceleration_bound = (0..n).map(|j| add_up(cell.ddqa[j].sup_abs(), r_rate[j])).collect();

    // beta >= (h/2) sum max(rho, |v|)^2 / A + (|delta_r| + h c)(|rho| + |v|), c = |C r| / min A.
    let kept = sum_up((0..n).map(|j| {
        let d = rho[j].max(robust[j]);
        div_up(mul_up(d, d), floor[j])
    }));
    let delta_r = add_up(robot.sensors.velocity_rad_s, mul_up(gains.k_r, robot.sensors.position_rad));
    let shift = add_up(
        mul_up(delta_r, (n as f64).sqrt().next_up()),
        mul_up(gains.period_s, div_up(coriolis, sigma_min)),
    );
    let hold_power_w = add_up(
        mul_up(mul_up(0.5, gains.period_s), kept),
        mul_up(shift, add_up(norm_up(rho), norm_up(robust))),
    );

    let energy_slack_j = energy_slack(&problem.weightless, &problem.uncertain, cell, gains.k_r);
    let gain = largest_gain(problem, rho, sigma_max, &floor);
    let drift_nm = drift(robot, tube, &problem.uncertain, cell, &r_rate);
    Required { drift_nm, hold_power_w, energy_slack_j, acceleration_bound, gain }
}

/// h max_j (W_j / A_j) lambda / sum W r^2. With x = |r^|, lambda <= |rho| x + beta - alpha (V_max - nu - sigma_M x^2 / 2), so the quotient is
/// at most (-B y^2 + |rho| y + alpha sigma_M / 2) / W_min with y = 1/x and B = alpha (V_max - nu) - beta, whose maximum over y is
/// (|rho|^2 / (4 B) + alpha sigma_M / 2) / W_min. Infinite if B <= 0.
fn largest_gain(problem: &Problem<'_>, rho: &[f64], sigma_max: f64, floor: &[f64]) -> f64 {
    let tube = problem.tube;
    let gains = &tube.gains;
    let reserve = (gains.v_max - tube.energy_slack_j).next_down();
    let b = ((gains.alpha * reserve).next_down() - tube.hold_power_w).next_down();
    if !(b > 0.0) {
        return f64::INFINITY;
    }
    let size = norm_up(rho);
    let quotient = add_up(
        div_up(mul_up(size, size), (4.0 * b).next_down()),
        mul_up(0.5, mul_up(gains.alpha, sigma_max)),
    );
    let lightest = tube.weights.iter().copied().fold(f64::INFINITY, f64::min);
    let steepest = tube.weights.iter().zip(floor).map(|(&w, &a)| div_up(w, a)).fold(0.0, f64::max);
    mul_up(mul_up(gains.period_s, steepest), div_up(quotient, lightest))
}

fn norm_up(x: &[f64]) -> f64 {
    sum_up(x.iter().map(|&x| mul_up(x, x))).sqrt().next_up()
}
