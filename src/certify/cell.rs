//! All constraints over one cell of time: the margins, and what the tube's constants must be at least.
//!
//! Assumed: what [`super`] does. Proven, over all states of [`crate::reach::cell`]: no constraint has less than its margin, and
//! constants of the tube that are at least [`Required`] meet the conditions of [`crate::reach::tube`].

use crate::enclose::{Affine, Interval, Rounding};
use crate::reach::energy::{energy_slack, mass_diagonal, relative_mass, velocity_slopes};
use crate::reach::extent::growth;
use crate::reach::gravity::tilt_torques;
use crate::reach::law::LawBounds;
use crate::reach::links::sweep_capsules;
use crate::reach::mass::floor_factor;
use crate::reach::motor_loops::{MotorNeeds, rates};
use crate::reach::roundoff::{LAW_ROUNDOFF, RoundoffBounds};
use crate::reach::strips::PreparedStrips;
use crate::reach::torque::{JointTorque, drift, joint_torques};
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::reach::{Cell, CellWorkspace, Joints, Span, extent};
use crate::robot::{DriveBounds, JointLimits};

use super::Problem;
use super::separate::{ProvenClearance, Surroundings};

/// Least values that the constants of the tube must have for the proof to hold over a cell.
#[derive(Debug, Clone, Default)]
pub struct Required {
    /// g with diag(A) <= g M; at most 1 is allowed.
    pub floor_factor: f64,
    /// D_j, N m.
    pub drift_nm: Joints<f64>,
    /// beta, W.
    pub hold_power_w: f64,
    /// nu, J.
    pub energy_slack_j: f64,
    /// |ddq_j|, rad/s^2.
    pub acceleration_bound: Joints<f64>,
    /// h |v_j| / (A_j |r_j|), the largest; the gain condition asks for at most 1.
    pub gain: f64,
    /// Where the feedback runs in the motors: what their loops need.
    pub motor_loops: Option<MotorNeeds>,
}

/// Everything that is proven about one cell. Margins are limit minus proven supremum; negative means not proven.
#[derive(Debug, Clone, Default)]
pub struct CellReport {
    /// The times.
    pub span: Span,
    /// Position margin of each joint, rad; infinite for continuous joints.
    pub position: Joints<f64>,
    /// Velocity margin of each joint, rad/s.
    pub velocity: Joints<f64>,
    /// Torque sets of each joint.
    pub torque: Joints<JointTorque>,
    /// Bound on the robust torque |v_i|, N m.
    pub robust: Joints<f64>,
    /// Torque margin of each joint, N m.
    pub torque_margin: Joints<f64>,
    /// Separation of every pair that must stay apart.
    pub clearances: Vec<ProvenClearance>,
    /// Upper bound of how far tracking errors carry any capsule's end from the line that it would follow otherwise, m.
    pub growth_m: f64,
    /// Upper bound of r'Mr / sum A_j r_j^2 for all r, A the tube's floor.
    pub relative_mass: f64,
    /// What the tube needs.
    pub required: Required,
}

impl CellReport {
    /// Evaluates all constraints over `span`; only the first time does it ask for memory.
    pub(crate) fn fill<const N: usize, R: Rounding>(
        &mut self,
        problem: &Problem<'_>,
        span: Span,
        space: &mut CellWorkspace<N, R>,
    ) {
        let (robot, prepared) = (problem.robot, &*problem.set);
        let n = robot.dof();
        let cell = Cell::<N, R>::new(robot, problem.tube, problem.curve, span);
        let sizes = (&mut space.sizes.motion, &mut space.size_regressor);
        let roundoff = RoundoffBounds::new(robot, &problem.law(), &cell, sizes);
        let over = |strips: &PreparedStrips| strips.over(problem.tube, problem.curve.duration_s(), span);
        let stretches = prepared.strips().map(over).unwrap_or_default();
        let strip_bounds = (&roundoff, &stretches[..]);
        let place = (&mut space.forms.motion, &mut space.regressor);
        let torque = joint_torques(robot, &problem.law(), &cell, strip_bounds, place);
        sweep_capsules(robot, &space.forms.motion, &mut space.placed, &mut space.ends);
        self.growth_m = space.ends.iter().flatten().map(growth).fold(0.0, f64::max);
        let CellWorkspace { ends, blocks, weights, .. } = space;
        let near =
            Surroundings { robot, obstacles: &problem.scene.obstacles, after_s: problem.tube.gains.period_s };
        near.separate(span, (ends, blocks, weights), &mut self.clearances);
        let rho: Joints<f64> = torque.iter().map(|t| t.rho).collect();
        let floor = &problem.tube.inertia_floor[..];
        let mass = relative_mass(robot, prepared, &cell, floor, (&mut space.ranges, &mut space.mass));
        let readings: Joints<f64> = (0..n).map(|j| reading_sup(&cell, j)).collect();
        let law = match &problem.tube.motor_loops {
            None => LawBounds::new(problem.tube, &roundoff, &rho, &readings, floor, (mass.0, &mass.1)),
            Some(loops) => LawBounds::in_motors(loops, &rho, floor),
        };
        self.relative_mass = mass.0;
        self.required = required(problem, &cell, &roundoff, &torque, (floor, mass.0), &law, space);
        self.required.motor_loops = in_motors(problem, &cell, rho, &self.required, span, space);
        let limits = |j: usize| -> &JointLimits { &robot.joints[j].limits };
        let position = (0..n).map(|j| {
            limits(j).position.map_or(f64::INFINITY, |(lower, upper)| {
                (cell.q[j].lower() - lower).min(upper - cell.q[j].upper()).next_down()
            })
        });
        self.position = position.collect();
        self.velocity = (0..n).map(|j| (limits(j).velocity - cell.dq[j].sup_abs()).next_down()).collect();
        let applied = |j: usize| {
            let error = drive_error(robot.drive(j), &torque[j], law.robust[j]);
            add_up(command_sup(&torque[j], law.robust[j]), error)
        };
        let left = |j: usize| (limits(j).torque - applied(j)).next_down();
        self.torque_margin = (0..n).map(left).collect();
        self.robust = law.robust;
        self.torque = torque;
        self.span = span;
    }
}

/// What loops in the motors need; none where there are none.
fn in_motors<const N: usize, R: Rounding>(
    problem: &Problem<'_>,
    cell: &Cell<N, R>,
    rho: Joints<f64>,
    required: &Required,
    span: Span,
    space: &mut CellWorkspace<N, R>,
) -> Option<MotorNeeds> {
    let loops = problem.tube.motor_loops.as_ref()?;
    let robot = problem.robot;
    let mass = mass_diagonal(robot, &problem.set, cell, (&mut space.ranges, &mut space.mass));
    let over = (problem.curve, span, robot.timing().motor_loop_age_max_s);
    Some(MotorNeeds::new((problem.tube, loops), over, cell, rho, mass, &required.acceleration_bound))
}

/// Upper bound of the command, its own rounding included.
fn command_sup(torque: &JointTorque, robust: f64) -> f64 {
    mul_up(add_up(torque.nominal_sup(), robust), 1.0 + LAW_ROUNDOFF)
}

/// Upper bound of what the drive's torque may differ by from the command, N m.
fn drive_error(drive: DriveBounds, torque: &JointTorque, robust: f64) -> f64 {
    add_up(drive.error_nm, mul_up(drive.error_ratio, command_sup(torque, robust)))
}

/// Upper bound of |r^_j|, what the controller takes r_j for.
fn reading_sup<const N: usize, R: Rounding>(cell: &Cell<N, R>, j: usize) -> f64 {
    add_up(cell.r[j].sup_abs(), cell.deviation[j].r)
}

/// What one unit of r does to the torques and to C r, see [`velocity_slopes`]: over the tube's ellipsoids where links outweigh the
/// transmissions, as only there it is worth the time, and over the ranges elsewhere.
fn tube_slopes<const N: usize, R: Rounding>(
    problem: &Problem<'_>,
    cell: &Cell<N, R>,
    floor: &[f64],
    space: &mut CellWorkspace<N, R>,
) -> [Joints<f64>; 2] {
    let robot = problem.robot;
    let range = problem.set.range().iter();
    let own = |j: usize| problem.set.between().below[robot.joint_index(j).armature];
    if (0..robot.dof()).any(|j| floor[j] > own(j)) {
        let (at, theta) = ([&cell.q[..], &cell.dq, &cell.dqa], range.map(|x| Affine::from_interval(*x)));
        velocity_slopes(robot, at, theta, (floor, extent::sup_abs), &mut space.forms)
    } else {
        let [q, dq, dqa] = [&cell.q, &cell.dq, &cell.dqa]
            .map(|forms| -> Joints<Interval> { forms.iter().map(|x| x.interval()).collect() });
        let size = |x: &Interval| x.sup_abs();
        velocity_slopes(robot, [&q, &dq, &dqa], range.copied(), (floor, size), &mut space.ranges)
    }
}

/// The conditions of the tube's proof, see [`crate::reach::tube`].
fn required<const N: usize, R: Rounding>(
    problem: &Problem<'_>,
    cell: &Cell<N, R>,
    roundoff: &RoundoffBounds,
    torque: &[JointTorque],
    (floor, sigma): (&[f64], f64),
    law: &LawBounds,
    space: &mut CellWorkspace<N, R>,
) -> Required {
    let (robot, tube) = (problem.robot, problem.tube);
    let n = robot.dof();
    let gains = &tube.gains;
    // Transforms are still those of the cell's positions.
    let place = (&mut space.forms, &mut space.form_mass);
    let floor_factor = floor_factor(robot, problem.set.between(), floor, place);
    let [slope, turning] = tube_slopes(problem, cell, floor, space);

    // |dr/dt|: with d = w - v, sqrt(dr'M dr) <= |d| + |C r|, norms weighted by 1/A. And sum A_j r_j^2 <= 2 V.
    let radius = mul_up(2.0, tube.level_j()).sqrt().next_up();
    let coriolis: Joints<f64> = turning.iter().map(|slope| mul_up(*slope, radius)).collect();
    let squares = sum_up(coriolis.iter().zip(floor).map(|(f, a)| div_up(mul_up(*f, *f), *a)));
    let turned = squares.sqrt().next_up();
    let energy_rate = sum_up([law.rho_norm, law.robust_norm, turned]);
    let in_norm = |j: usize| div_up(energy_rate, floor[j].sqrt().next_down());
    let (r_rate, energy_rate) = match &tube.motor_loops {
        None => ((0..n).map(in_norm).collect::<Joints<f64>>(), energy_rate),
        Some(_) => {
            // By the inverse of M besides: what bends one joint bends no other as much.
            let pull: Joints<f64> =
                (0..n).map(|j| sum_up([torque[j].rho, law.robust[j], coriolis[j]])).collect();
            let place = (&mut space.forms, &mut space.form_mass);
            let by_inverse = rates(robot, problem.set.between(), &pull, place);
            let least = |j: usize| by_inverse.as_ref().map_or(f64::INFINITY, |by| by[j]).min(in_norm(j));
            let rate: Joints<f64> = (0..n).map(least).collect();
            let squares = sum_up(rate.iter().zip(floor).map(|(x, a)| mul_up(*a, mul_up(*x, *x))));
            (rate, energy_rate.min(squares.sqrt().next_up()))
        }
    };
    let acceleration_bound = (0..n).map(|j| add_up(cell.ddqa[j].sup_abs(), r_rate[j])).collect();

    // beta >= (h/2) sup sum m_j^2 / A_j + sum delta_r_j (rho_j + |v_j|) + (h/2) |C r| (|rho| + |v|).
    let pull: Joints<f64> = (0..n).map(|j| add_up(torque[j].rho, law.robust[j])).collect();
    let misread = sum_up((0..n).map(|j| mul_up(cell.deviation[j].r, pull[j])));
    let half_tick = mul_up(0.5, gains.period_s);
    let carried = mul_up(mul_up(half_tick, turned), add_up(law.rho_norm, law.robust_norm));
    let held = sum_up([law.own_mismatch_w, misread, carried]);
    // What rounding can take from r^'v: LAW_ROUNDOFF of every term of the law, and of the commands that v is added to.
    let commands =
        sum_up((0..n).map(|j| mul_up(reading_sup(cell, j), command_sup(&torque[j], law.robust[j]))));
    let hold_power_w = add_up(held, mul_up(LAW_ROUNDOFF, add_up(commands, law.terms_w)));

    let relative = (floor, sigma);
    let slack = energy_slack(robot, &problem.set, cell, relative, tube.level_j(), &mut space.changes);
    let energy_slack_j = add_up(slack, roundoff.energy_j);
    let parameters = (&mut space.forms.theta, &mut space.levers);
    let tilt = tilt_torques(robot, &problem.set, &space.placed, parameters);
    let mut drift_nm = drift(robot, tube, &problem.set, cell, &mut space.rates);
    for (j, drift) in drift_nm.iter_mut().enumerate() {
        // Through ddq_a, |M dr/dt| <= rho + |v| + |C r|; through dq, at |dr/dt| in its norm.
        let through = mul_up(gains.k_r, add_up(pull[j], coriolis[j]));
        let changed = add_up(through, mul_up(energy_rate, slope[j]));
        let beside =
            sum_up([drive_error(robot.drive(j), &torque[j], law.robust[j]), robot.drive(j).unmodelled_nm]);
        *drift = sum_up([*drift, mul_up(gains.period_s, changed), roundoff.torque_nm[j], tilt[j], beside]);
    }
    // The power that holding a torque costs is that of the law in the computer.
    let hold_power_w = if tube.motor_loops.is_some() { 0.0 } else { hold_power_w };
    Required {
        floor_factor,
        drift_nm,
        hold_power_w,
        energy_slack_j,
        acceleration_bound,
        gain: law.gain,
        motor_loops: None,
    }
}

#[cfg(test)]
mod tests;
