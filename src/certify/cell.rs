//! All constraints over one cell of time: the margins, and what the tube's constants must be at least.

use crate::dynamics::Motion;
use crate::enclose::Rounding;
use crate::reach::energy::{coriolis_norm, energy_slack, relative_mass};
use crate::reach::links::{Separation, clear_of_capsule, clear_of_obstacle, swept_capsules};
use crate::reach::roundoff::{GRAIN, Grain};
use crate::reach::torque::{JointTorque, drift, joint_torques, least_z_of_hold, robust_torque};
use crate::reach::tube::armature_floor;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::reach::{Cell, Span, Tube};
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
    /// h lambda W_j / (A_j sum W r^2); the gain condition asks for at most 1.
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
        let grain = Grain::new(robot, problem.tube, &problem.uncertain, &cell);
        let torque = joint_torques(robot, problem.tube, &problem.uncertain, &cell, &grain, &mut motion);
        let clearances = clearances(problem, &swept_capsules(robot, &motion));
        let rho: Vec<f64> = torque.iter().map(|t| t.rho).collect();
        let sigma = relative_mass(robot, &problem.uncertain, &cell, &problem.tube.weights);
        let robust = robust_torque(problem.tube, &grain, &rho, sigma);
        let required = required(problem, &cell, &grain, &torque, &robust, sigma);
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
            .map(|j| (limits(j).torque - command_sup(&torque[j], robust[j])).next_down())
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
        // A capsule fixed to the base does not move; where it is mounted is not for a plan to change.
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

/// Upper bound of the command, its own rounding included.
fn command_sup(torque: &JointTorque, robust: f64) -> f64 {
    mul_up(add_up(torque.nominal_sup(), robust), 1.0 + GRAIN)
}

/// The conditions of the tube's proof, see [`crate::reach::tube`].
fn required<const N: usize, R: Rounding>(
    problem: &Problem<'_>,
    cell: &Cell<N, R>,
    grain: &Grain,
    torque: &[JointTorque],
    robust: &[f64],
    sigma: f64,
) -> Required {
    let (robot, tube) = (problem.robot, problem.tube);
    let n = robot.dof();
    let gains = &tube.gains;
    let floor: Vec<f64> = (0..n).map(|j| armature_floor(robot, problem.set, j)).collect();
    let sigma_min = floor.iter().copied().fold(f64::INFINITY, f64::min);
    let coriolis = coriolis_norm(&problem.weightless, &problem.uncertain, cell);

    let rho: Vec<f64> = torque.iter().map(|t| t.rho).collect();
    let law = LawBounds::new(tube, grain, torque, &floor, sigma);
    // |dr/dt|: with d = w - v, sqrt(dr'M dr) <= |d| + |C r| / sqrt(min A), norms weighted by 1/A.
    let turned = div_up(coriolis, sigma_min.sqrt().next_down());
    let energy_rate = sum_up([law.rho_norm, law.robust_norm, turned]);
    let r_rate: Vec<f64> = floor.iter().map(|a| div_up(energy_rate, a.sqrt().next_down())).collect();
    let acceleration_bound = (0..n).map(|j| add_up(cell.ddqa[j].sup_abs(), r_rate[j])).collect();

    // beta >= (h/2) sup sum d_j^2 / A_j + (|delta_r| + h c)(|rho| + |v|), c = |C r| / min A.
    let delta_r: Vec<f64> = cell.deviation.iter().map(|d| d.r).collect();
    let shift = add_up(norm_up(&delta_r), mul_up(gains.period_s, div_up(coriolis, sigma_min)));
    let held = add_up(
        mul_up(mul_up(0.5, gains.period_s), law.mismatch),
        mul_up(shift, add_up(norm_up(&rho), norm_up(robust))),
    );
    // What rounding can take from r^'v: GRAIN of every term of lambda, and of the commands that v is added to.
    let commands = sum_up((0..n).map(|j| {
        let r = add_up(cell.r[j].sup_abs(), delta_r[j]);
        mul_up(r, add_up(rho[j], command_sup(&torque[j], robust[j])))
    }));
    let terms = sum_up([commands, tube.hold_power_w, mul_up(gains.alpha, gains.v_max)]);
    let hold_power_w = add_up(held, mul_up(GRAIN, terms));

    let energy_slack_j = add_up(energy_slack(&problem.weightless, &problem.uncertain, cell), grain.energy_j);
    let gain = mul_up(gains.period_s, law.steepest_gain);
    let drift_nm = drift(robot, tube, &problem.uncertain, cell, &r_rate)
        .into_iter()
        .zip(&grain.torque_nm)
        .map(|(drift, off)| add_up(drift, *off))
        .collect();
    Required { drift_nm, hold_power_w, energy_slack_j, acceleration_bound, gain }
}

/// What the robust law can do at most, in the norm |x|^2 = sum x_j^2 / A_j.
///
/// Let z^2 = sum W_j r_j^2, S^2 = sum rho_j^2 / W_j, M = max W/A, m = min W/A, g = lambda / z^2 (so v = g W r), and z1 the smallest z
/// at which lambda may exceed P (see [`crate::reach::torque::least_z_of_hold`]). By Cauchy-Schwarz
/// P <= S z, and lambda <= P + beta where z >= z1, lambda <= P elsewhere. Hence g z <= S + beta / z1 always.
/// * |v| = g sqrt(sum W^2 r^2 / A) <= sqrt(M) g z.
/// * Where w_j = rho_j sign(r_j): |w - v|^2 = |rho|^2 - 2 g sum rho_j W_j |r_j| / A_j + g^2 sum W^2 r^2 / A <= |rho|^2 + g (M lambda - 2 m P). As
///   M <= 2 m (a condition of the tube), this is at most |rho|^2 where lambda <= P. Elsewhere lambda <= P + beta, P >= p z with
///   p = min rho_j / sqrt(W_j) (rho_j from below), and g <= (S + beta / z1) / z1, so it is at most
///   |rho|^2 + g max(0, M beta - (2 m - M) p z1).
/// * Gain condition: h g W_j / A_j <= h M g. As V^ <= sigma z^2 / 2 + nu, lambda <= S z - B + alpha sigma z^2 / 2 with
///   B = alpha (V_max - nu) - beta, so g <= S y - B y^2 + alpha sigma / 2, y = 1/z, at most S^2 / (4 B) + alpha sigma / 2.
///
/// beta and nu are those of [`Grain`]. The computed lambda and v are the exact ones times factors within 1 +- GRAIN; in
/// each of the three that costs at most 8 GRAIN of M (in the second, M (1 + 3 GRAIN) <= 2 m (1 - GRAIN) must hold where
/// lambda <= P, and the tube's condition leaves half a millionth).
struct LawBounds {
    /// |rho|.
    rho_norm: f64,
    /// sup |v|.
    robust_norm: f64,
    /// sup |w - v|^2 for the worst w.
    mismatch: f64,
    /// sup M g; infinite if B <= 0.
    steepest_gain: f64,
}

impl LawBounds {
    fn new(tube: &Tube, grain: &Grain, torque: &[JointTorque], floor: &[f64], sigma: f64) -> Self {
        let gains = &tube.gains;
        let (hold, slack) = (grain.hold_above(tube), grain.slack_above(tube));
        let weighted =
            |by: &[f64]| sum_up(torque.iter().zip(by).map(|(t, &w)| div_up(mul_up(t.rho, t.rho), w)));
        let (rho_squared, s_squared) = (weighted(floor), weighted(&tube.weights));
        let (rho_norm, s) = (rho_squared.sqrt().next_up(), s_squared.sqrt().next_up());
        let largest = tube.weights.iter().zip(floor).map(|(&w, &a)| div_up(w, a)).fold(0.0, f64::max);
        let largest = mul_up(largest, 1.0 + 8.0 * GRAIN);
        let z1 = least_z_of_hold(tube, grain, sigma);
        let gz = add_up(s, div_up(hold, z1));
        let robust_norm = mul_up(largest.sqrt().next_up(), gz);
        let least =
            tube.weights.iter().zip(floor).map(|(&w, &a)| (w / a).next_down()).fold(f64::INFINITY, f64::min);
        let p =
            torque.iter().zip(&tube.weights).map(|(t, &w)| (t.rho_least / w.sqrt().next_up()).next_down());
        let p = p.fold(f64::INFINITY, f64::min).max(0.0);
        let relief =
            ((2.0 * least - largest).next_down().max(0.0) * (p * z1).next_down()).next_down().max(0.0);
        let excess = (mul_up(hold, largest) - relief).next_up().max(0.0);
        let held = if excess > 0.0 { mul_up(excess, div_up(gz, z1)) } else { 0.0 };
        let reserve = (gains.v_max - slack).next_down();
        let b = ((gains.alpha * reserve).next_down() - hold).next_down();
        let peak = if b > 0.0 { div_up(s_squared, (4.0 * b).next_down()) } else { f64::INFINITY };
        let linear = mul_up(0.5, mul_up(gains.alpha, sigma));
        let steepest_gain = mul_up(largest, add_up(peak, linear));
        Self { rho_norm, robust_norm, mismatch: add_up(rho_squared, held), steepest_gain }
    }
}

fn norm_up(x: &[f64]) -> f64 {
    sum_up(x.iter().map(|&x| mul_up(x, x))).sqrt().next_up()
}
