//! The mismatch w of what is fed forward, the largest nominal torque, and what momentum errors may be misread by.
//!
//! # Assumed
//! The states of the cell, parameters in the set, drives' bounds, gravity's direction.
//!
//! # Proven
//! With T the torque that a motion needs under the true parameters and ddq_d for its acceleration, w(t) is the sum of
//! * T at the tube's state less T at the desired one, at t: regressors' difference times theta_0, and |difference| g besides; viscous friction
//!   of the error's speed.
//! * T of the desired motion at t less T at the time t_f that the command was meant for: no more than the largest rate over the cell times
//!   [`super::CycleTiming::command_shift_s`], and where drives lag times [`super::CycleTiming::average_shift_s`] for their average ([`super::lag`]).
//! * T of the desired motion at t_f less the nominal torque: what the set's box leaves ([`crate::reach::law::sums`]), and Coulomb friction. Where the desired
//!   speed is beyond the sign band, the true one has its sign and is beyond the stiction speed at all times at which the command may act.
//! * What drives that lag remember of commands that are too old to count: [`forgotten`].
//! * The drive's error and unmodelled torque, gravity's direction, and the rounding of the nominal torque, of v and of their sum. What the evaluation of the
//!   desired motion is off by goes through the nominal torque's own arithmetic, for all parameters of the set.
//!
//! *Readings.* r^ is off by delta_dq + K_r delta_q, and by the change of the desired motion between the reading's time and the one it is taken for.
//! M_0 is that of the tick, up to s_max later than the reading: (dM_0/dt r) s_max besides.

use crate::dynamics::placements;
use crate::enclose::{Affine, Rounding};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, VISCOUS};
use crate::reach::cell::Joints;
use crate::reach::gravity::tilt_torques;
use crate::reach::law::{Direction, LawScalar, TorqueRow, Upward, sums};
use crate::reach::prepared_set::PreparedSet;
use crate::reach::roundoff::{LAW_ROUNDOFF, Roundoff};
use crate::reach::upward::{add_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};

use super::cell::{CellNumbers, CellRadii, MomentumCell, OfTime};
use super::constants::{CycleTiming, MomentumTube};
use super::lag::FORGOTTEN;
use super::workspace::MomentumWorkspace;

/// What is bounded of one joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mismatch {
    /// |nominal torque|, N m.
    pub nominal_nm: f64,
    /// rho, N m.
    pub rho_nm: f64,
    /// What the momentum error is misread by, N m s.
    pub noise_nms: f64,
    /// Sign band that is needed, rad/s.
    pub sign_band_rad_s: f64,
}

/// What a joint's bounds are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct MismatchParts {
    /// |nominal torque|, and what the set's box leaves of it, N m.
    pub nominal_nm: f64,
    pub by_set_nm: f64,
    /// What the torque changes by from the desired state to the tube's, N m.
    pub followed_nm: f64,
    /// Rate at which the needed torque changes, N m / s.
    pub rate: f64,
    /// What gravity's direction changes, and plain arithmetic is off by, N m.
    pub tilt_nm: f64,
    pub rounding_nm: f64,
    /// |dq - dq_d|, rad/s.
    pub error_rad_s: f64,
    /// What the evaluation of the desired velocity is off by, rad/s.
    pub evaluation_rad_s: f64,
}

/// Parts of all joints, and what the entries of M_0 are off by in plain arithmetic.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub joints: Joints<MismatchParts>,
    pub mass_error: Vec<f64>,
}

/// The parts over a cell. Expects `moved` of the workspace placed at the positions of the tube.
pub(super) fn parts<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    tube: &MomentumTube,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Parts {
    let rounding = plain_arithmetic(robot, set, cell, space);
    let rate = needed_rate(robot, set, cell, space);
    let tilt = tilt(robot, set, cell, space);
    let followed = followed(robot, set, cell, space);
    let left = left_by_set(robot, set, tube, cell, space);
    let of = |j: usize| MismatchParts {
        nominal_nm: left[j].0,
        by_set_nm: left[j].1,
        followed_nm: followed[j],
        rate: rate[j],
        tilt_nm: tilt[j],
        rounding_nm: rounding.torque[j],
        error_rad_s: cell.error_rad_s[j],
        evaluation_rad_s: evaluation(cell, j, 1),
    };
    Parts { joints: (0..robot.dof()).map(of).collect(), mass_error: rounding.mass_error }
}

/// Bounds for all joints from their parts.
pub(super) fn mismatch(
    robot: &Arm,
    tube: &MomentumTube,
    (along, radii): (&CellNumbers, &CellRadii),
    parts: &Parts,
) -> Joints<Mismatch> {
    let timing = tube.timing;
    let noise = misreading(robot, (tube.gains.k_r, timing), (along, radii), &parts.mass_error);
    let of = |j: usize| {
        let part = &parts.joints[j];
        let (nominal_nm, drive) = (part.nominal_nm, robot.drive(j));
        let command = mul_up(add_up(nominal_nm, tube.robust_nm[j]), 1.0 + LAW_ROUNDOFF);
        let rho_nm = sum_up([
            part.by_set_nm,
            part.followed_nm,
            mul_up(part.rate, timing.average_shift_s()),
            part.tilt_nm,
            drive.error_nm,
            mul_up(drive.error_ratio, command),
            drive.unmodelled_nm,
            part.rounding_nm,
            mul_up(LAW_ROUNDOFF, command),
        ]);
        let rho_nm = forgotten(robot, tube, j).map_or(rho_nm, |forgotten| add_up(rho_nm, forgotten));
        let passing = mul_up(timing.with_memory(timing.command_shift_s()), along.speeds[j][1]);
        let stiction = robot.gains().stiction_speed_rad_s;
        let sign_band_rad_s = sum_up([stiction, part.error_rad_s, passing, part.evaluation_rad_s]);
        Mismatch { nominal_nm, rho_nm, noise_nms: noise[j], sign_band_rad_s }
    };
    (0..robot.dof()).map(of).collect()
}

/// What commands that are too old to count add to a drive that lags, N m: their share, which is missing of the others, and what the drive's error in
/// proportion makes of it.
fn forgotten(robot: &Arm, tube: &MomentumTube, j: usize) -> Option<f64> {
    let twice = mul_up(2.0 * FORGOTTEN, robot.joints[j].limits.torque);
    let charged = mul_up(twice, 1.0 + robot.drive(j).error_ratio.next_up());
    (tube.timing.drive_lag_s > 0.0).then_some(charged)
}

/// |nominal torque| and what the box leaves of it, along the desired motion.
fn left_by_set<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    tube: &MomentumTube,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Joints<(f64, f64)> {
    let n = robot.dof();
    // Filled by `followed`.
    let y = space.desired_regressor.filled();
    let of = |j: usize| {
        let (c, g) = set.joint(j);
        let (dq, ddq) = (cell.desired[j].dq, cell.desired[j].ddq);
        let row = TorqueRow::new(y, (j, INERTIAL * n), dq, ddq);
        let (coulomb, direction) = dq.coulomb(c[COULOMB], tube.sign_band_rad_s[j]);
        let charge = match direction {
            Direction::Known => g[COULOMB],
            Direction::Doubtful => {
                mul_up(add_up(c[COULOMB].abs(), g[COULOMB]), robot.uncertainty().breakaway_ratio)
            }
        };
        let own = coulomb + dq.scale(c[VISCOUS]) + ddq.scale(c[ARMATURE]) + Affine::constant(c[OFFSET]);
        let (nominal, left) = sums(set, j, (own, Upward(charge)), (&row, &row));
        (nominal.sup_abs(), left.0)
    };
    (0..n).map(of).collect()
}

/// What the torque changes by from the desired state to the tube's. Leaves the desired motion's regressor in the workspace.
fn followed<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Joints<f64> {
    let n = robot.dof();
    let of = |f: &dyn Fn(usize) -> OfTime<R>| -> Joints<OfTime<R>> { (0..n).map(f).collect() };
    let (q, dq) = (of(&|j| cell.desired[j].q), of(&|j| cell.desired[j].dq));
    let ddq = of(&|j| cell.desired[j].ddq);
    let moved_ddq: Joints<Affine<N, R>> = ddq.iter().map(OfTime::with_symbols).collect();
    space.moved.sweep(robot, &cell.q, &cell.dq, &cell.dq, &moved_ddq);
    space.desired.sweep(robot, &q, &dq, &dq, &ddq);
    let y = space.moved_regressor.torque(robot, &space.moved);
    let y0 = space.desired_regressor.torque(robot, &space.desired);
    let row = |j: usize| INERTIAL * n * j..INERTIAL * n * (j + 1);
    let change = |j: usize| {
        let columns = set.center().iter().zip(set.radius());
        let start = (Affine::zero(), 0.0);
        let (moved, spread) = y[row(j)].iter().zip(&y0[row(j)]).zip(columns).fold(
            start,
            |(moved, spread), ((y, y0), (c, g))| {
                let change = *y - y0.with_symbols();
                let left = if *g > 0.0 { mul_up(change.sup_abs(), *g) } else { 0.0 };
                (moved + change.scale(*c), add_up(spread, left))
            },
        );
        let (c, g) = set.joint(j);
        let viscous = mul_up(add_up(c[VISCOUS].abs(), g[VISCOUS]), cell.error_rad_s[j]);
        sum_up([moved.sup_abs(), spread, viscous])
    };
    (0..n).map(change).collect()
}

/// Bounds of the rate at which the needed torque changes along the desired motion, N m / s, but for Coulomb friction.
fn needed_rate<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Joints<f64> {
    type Rate<R> = Dual<OfTime<R>, 1>;
    let n = robot.dof();
    let rates = &mut space.rates;
    let of = |f: &dyn Fn(usize) -> (OfTime<R>, OfTime<R>)| -> Joints<Rate<R>> {
        (0..n).map(f).map(|(value, slope)| Dual::new(value, [slope])).collect()
    };
    let q = of(&|j| (cell.desired[j].q, cell.desired[j].dq));
    let dq = of(&|j| (cell.desired[j].dq, cell.desired[j].ddq));
    let ddq = of(&|j| (cell.desired[j].ddq, cell.desired[j].dddq));
    rates.fill_theta(set.range().iter().map(|x| Dual::new(Affine::from_interval(*x), [Affine::zero()])));
    rates.motion.sweep(robot, &q, &dq, &dq, &ddq);
    rates.inverse_dynamics(robot);
    let rate = |j: usize| {
        let f = &rates.theta[robot.friction_index(j)..];
        let total = rates.torque[j] + f[ARMATURE] * ddq[j] + f[VISCOUS] * dq[j];
        total.slope[0].sup_abs()
    };
    (0..n).map(rate).collect()
}

/// What the unknown direction of gravity changes, N m.
fn tilt<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Joints<f64> {
    let MomentumWorkspace { desired, desired_placed, range, levers, .. } = space;
    desired.place(robot, &cell.wide_positions());
    desired_placed.resize(robot.dof(), crate::dynamics::BodyPlacement::base());
    placements(robot, desired, desired_placed);
    tilt_torques(robot, set, desired_placed, (range, levers))
}

/// What r^ may be off by, joint by joint, carried into momentum by M_0; and what M_0 changes by between reading and tick.
pub(super) fn misreading(
    robot: &Arm,
    (k_r, timing): (f64, CycleTiming),
    (along, radii): (&CellNumbers, &CellRadii),
    mass_error: &[f64],
) -> Joints<f64> {
    let n = robot.dof();
    let sensors = robot.sensors();
    let read = |i: usize| {
        let [speed, acceleration] = along.speeds[i];
        let slope = add_up(acceleration, mul_up(k_r, speed));
        let sensed = add_up(sensors.velocity_rad_s, mul_up(k_r, sensors.position_rad));
        let off = add_up(sensed, mul_up(slope, timing.reading_shift_s()));
        // A dozen operations on numbers of these sizes make r^ of a reading.
        let [q, dq, _] = along.sizes[i];
        let sizes = sum_up([2.0, q, dq, radii.r[i], radii.e[i]]);
        add_up(off, mul_up(mul_up(2.0 * LAW_ROUNDOFF, add_up(1.0, k_r)), sizes))
    };
    let off: Joints<f64> = (0..n).map(read).collect();
    let of = |j: usize| {
        let misread = along.mass.row_times(j, &off);
        let rounded = (0..n).map(|i| {
            let factor = add_up(mass_error[n * j + i], mul_up(LAW_ROUNDOFF, along.mass.at(j, i)));
            mul_up(factor, add_up(radii.r[i], off[i]))
        });
        let turned = mul_up(timing.latency_s, along.turning.row_times(j, &radii.p));
        sum_up(rounded.chain([misread, turned]))
    };
    (0..n).map(of).collect()
}

/// What plain arithmetic is off by: nominal torques (N m), and entries of M_0.
pub(super) struct PlainArithmetic {
    pub torque: Joints<f64>,
    pub mass_error: Vec<f64>,
}

/// What the controller's desired position (0), velocity (1) or acceleration (2) may be off by: the rounding of its evaluation, and corrections at
/// junctions ([`crate::trajectory::junction`]); each is at most half of this.
fn evaluation<const N: usize, R: Rounding>(cell: &MomentumCell<N, R>, j: usize, order: usize) -> f64 {
    mul_up(LAW_ROUNDOFF, add_up(1.0, cell.along.sizes[j][order]))
}

pub(super) fn plain_arithmetic<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> PlainArithmetic {
    let n = robot.dof();
    let of = |order: usize, f: &dyn Fn(usize) -> OfTime<R>| -> Joints<Roundoff> {
        (0..n).map(|j| Roundoff::inexact(f(j).sup_abs(), evaluation(cell, j, order))).collect()
    };
    let (q, dq) = (of(0, &|j| cell.desired[j].q), of(1, &|j| cell.desired[j].dq));
    let ddq = of(2, &|j| cell.desired[j].ddq);
    space.sizes.sweep(robot, &q, &dq, &dq, &ddq);
    let y = space.size_regressor.torque(robot, &space.sizes);
    let torque = (0..n).map(|j| {
        let row = TorqueRow::new(y, (j, INERTIAL * n), dq[j], ddq[j]);
        let (c, g) = set.joint(j);
        let (coulomb, _) = dq[j].coulomb(c[COULOMB], 0.0);
        let own =
            coulomb + dq[j].scale(c[VISCOUS]) + ddq[j].scale(c[ARMATURE]) + Roundoff::constant(c[OFFSET]);
        // Where the motion is off the true parameters' torque is too, not only the nominal one's.
        let open = dq[j].scale(g[VISCOUS]) + ddq[j].scale(g[ARMATURE]);
        let (nominal, left) = sums(set, j, (own, open), (&row, &row));
        add_up(nominal.error, left.error)
    });
    let torque = torque.collect();
    let theta: Vec<Roundoff> = set.center().iter().map(|x| Roundoff::float(*x)).collect();
    let mass = space.size_mass.links(robot, &space.sizes, &theta);
    let with_transmission = |(k, m): (usize, &Roundoff)| {
        if k.is_multiple_of(n + 1) {
            (*m + Roundoff::float(set.joint(k / n).0[ARMATURE])).error
        } else {
            m.error
        }
    };
    PlainArithmetic { torque, mass_error: mass.iter().enumerate().map(with_transmission).collect() }
}
