//! What a plan's tube must be at its start, where it takes over from another plan while the arm moves: with another centre of the set, so with
//! another M_0' and p' = M_0' r, with other constants, and with readings and commands on their way.
//!
//! # Assumed
//! The plan before keeps its tube ([`super`]) as long as its commands act. The same timing. The desired motion changes at t_s: its position,
//! velocity and acceleration jump by no more than roundings, which are charged. K_r may become another one, K_r', if K_r a <= 1; where drives lag, K_r is at most
//! the rate that the lemma in [`super::lag`] goes by.
//!
//! # Proven
//! Let w be the age, t_1 <= t_s + w the time at which the first command of the next law acts, and J = M_0' M_0^-1 along the desired motions. Within w of
//! t_s, p' = J p + M_0' Dr, with Dr = 0 before t_s, and later what the two desired motions are apart by: with jumps Dq, Ddq, Dddq and
//! jerks that differ by at most y,
//!
//! ```text
//! |Dr| <= Ddq + w Dddq + w^2 y / 2 + K_r |De|,       |De| <= Dq + w Ddq + w^2 Dddq / 2 + w^3 y / 6.
//! ```
//!
//! As dJ/dt = (dM_0'/dt M_0^-1) - J (dM_0/dt M_0^-1), J is within w times that of J_s, its value at t_s. So |p' - J_s p| <= x, where
//!
//! ```text
//! x = w (|dM_0'/dt M_0^-1| + |J| |dM_0/dt M_0^-1|) P + |M_0'| |Dr|,
//! ```
//!
//! and the same for M_0' e with E and De. *Needed* at the start are P' >= |J| P + x, E' >= |J| E + x_e, and N' >= N'_w + 2 x with N'_w what the next
//! law's readings from within w of t_s may be off by.
//!
//! *History.* Up to t_1 let z'_j = P'_j - x_j - (J_s p)_j. With z^+_i = P_i - p_i where the entry of J_s is positive and z^-_i = P_i + p_i elsewhere, this is
//! (P'_j - x_j - sum |J_ji| P_i) + sum |J_ji| z^(+-)_i: a number that is not negative, and does not fall as P does not grow, and non-negative multiples
//! of functions that the plan before keeps from falling faster than e^(-t/a) ([`super`]; hence it must have run for twice the age). So
//! z' does not fall faster either, which is what the lemma asks of a history. At t_1 it becomes P'_j - p'_j and does not fall. A reading of a
//! time t' before t_1 is at least (J_s p)_j - x_j - N'_w,j = P'_j - z'_j - 2 x_j - N'_w,j, so N' as needed makes it what the theorem asks for. P' does not
//! fall before t_1 ([`super::WideStart`]). The same for the other sign.
//!
//! So the widths of the plan before are carried over by |J|, and what an age may add is x: of second order, some thousandths of P.
//!
//! *Another K_r.* With D = K_r' - K_r and l = M_0 e, r' is what it would be without a change and D e' besides, so p' gains D l'. As
//! |l' - J_s l| <= x_e, with x_e the turning of E and |M_0'| |De|, *needed* are
//!
//! ```text
//! P' >= |J| P + x + |D| (|J| E + x_e),       N' >= N'_w + 2 (x + |D| x_e),
//! ```
//!
//! where N'_w is what is misread with K_r'. In z' are then D (J_s l)_j and |D| x_e besides, so that sums of |D J_ji| (E_i -+ l_i) come to it. By the
//! condition on E, d(E - l)/dt >= -K_r (E - l): that falls no faster than e^(-K_r t), which is what is asked of a history. The same for E + l.
//!
//! *Drives that lag* ([`super::lag`]). Then w is the age and W, and from t_1 on, until w after t_s, commands c of the plan before are remembered, with a share m(t)
//! of at most e^(-(t - t_1) / T). Had c been what the next law feeds forward at t and v*_j = sat(kappa' q_j, u'_j), the theorem would hold with a reading of
//! no age for them. In truth they differ from that by at most U_j + u'_j, where U_j bounds |c_j - what is fed forward|: u_j of the plan before and what the
//! nominal torques of the two sets are apart over the window. The drive's error in proportion k_j grows with it. So let q be p' from t_1 on less
//! what that difference does: as m integrates to T at most,
//!
//! ```text
//! |p'_j - q_j| <= y_j = T sum_i |(1 - F)_ji| (1 + k_i) (U_i + u'_i).
//! ```
//!
//! With P' >= |J| P + x + y the number P'_j - y_j - q_j is what the lemma is about from t_1 on, and P'_j - x_j - y_j - (J_s p)_j before; it does not fall at t_1.
//! Readings from before t_1 are off by N'_w + 2 x + y, later ones by the misreadings of their cell and 2 y: both are asked of N'. P' and N' do not fall
//! before w after t_s, and from then on z = P'_j - p'_j is larger still. Within the tube that the plan starts with (1 - F)_ji is bounded for
//! position errors up to [`ROOM`] times E', and a start with larger ones is refused.

use crate::enclose::{Affine, Interval, Rounding};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, VISCOUS};
use crate::reach::cell::{Joints, TIME};
use crate::reach::law::{TorqueRow, Upward, sums};
use crate::reach::prepared_set::PreparedSet;
use crate::reach::roundoff::LAW_ROUNDOFF;
use crate::reach::sized;
use crate::reach::upward::{add_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::Pieces;

use super::cell::{CellNumbers, Desired, MomentumCell, OfTime, nominal_mass, times_inverse, within};
use super::constants::{CycleTiming, MomentumTube};
use super::coupling::coupling;
use super::disturbance::{misreading, plain_arithmetic};
use super::matrix::BoundMatrix;
use super::workspace::MomentumWorkspace;

/// Position errors at the start for which what drives remember is bounded, over those that are needed there.
const ROOM: f64 = 4.0;

/// A plan that the law follows until another one takes over.
#[derive(Debug, Clone, Copy)]
pub struct MomentumPredecessor<'a> {
    /// What its parameters may be.
    pub set: &'a PreparedSet,
    /// Its tube.
    pub tube: &'a MomentumTube,
    /// Its desired motion.
    pub curve: Pieces<'a>,
    /// When the next plan takes over, on its own clock, s: at the first tick that is not before.
    pub at_s: f64,
}

/// What a plan leaves to the one that takes over, whatever the gains of that one are.
#[derive(Debug, Clone)]
pub struct Handover {
    /// K_r of the plan before, 1/s.
    pub k_r: f64,
    timing: CycleTiming,
    /// |J| P + x and |J| E + x_e.
    momentum: Carried,
    position: Carried,
    /// What the next law's first readings are made of.
    along: CellNumbers,
    mass_error: Vec<f64>,
    /// What drives that lag remember of the plan before.
    pub carried: Option<CarriedCommands>,
}

/// A width of the plan before in the momenta of the next one, and what an age adds to it, which it contains.
#[derive(Debug, Clone)]
struct Carried {
    width: Joints<f64>,
    changes: Joints<f64>,
}

/// Least values at the start of the next plan, a joint each.
#[derive(Debug, Clone)]
pub struct NeededAtStart<'a> {
    /// P'_j, N m s.
    pub radius_nms: Joints<f64>,
    /// N'_j, N m s.
    pub noise_nms: Joints<f64>,
    /// E'_j, N m s^2.
    pub lag_nms2: Joints<f64>,
    /// What drives that lag remember of the plan before, which the others are without.
    pub carried: Option<&'a CarriedCommands>,
}

impl Handover {
    /// What a tube with gain `k_r` (1/s) needs at its start, on `robot`.
    pub fn needed(&self, robot: &Arm, k_r: f64) -> NeededAtStart<'_> {
        let n = self.momentum.width.len();
        let changed = (k_r - self.k_r).abs().next_up();
        let turned = |own: f64, position: f64| {
            if k_r == self.k_r { own } else { add_up(own, mul_up(changed, position)) }
        };
        let lag_nms2 = self.position.width.clone();
        let radius_nms: Joints<f64> = (0..n).map(|j| turned(self.momentum.width[j], lag_nms2[j])).collect();
        let radii = self.along.radii(&radius_nms, &lag_nms2);
        let read = misreading(robot, (k_r, self.timing), (&self.along, &radii), &self.mass_error);
        let noise = |j: usize| {
            let changes = turned(self.momentum.changes[j], self.position.changes[j]);
            sum_up([read[j], changes, changes])
        };
        let noise_nms = (0..n).map(noise).collect();
        NeededAtStart { radius_nms, noise_nms, lag_nms2, carried: self.carried.as_ref() }
    }

    /// Whether K_r may change: what is left of position errors fades no faster than the lemma allows. If not, the K_r up to which it may, 1/s.
    pub fn k_r_may_change(&self) -> Result<(), f64> {
        let most = self.timing.fades_1_s();
        if self.k_r <= most { Ok(()) } else { Err(most) }
    }
}

/// Commands of the plan before that drives which lag remember when the next law's come.
#[derive(Debug, Clone)]
pub struct CarriedCommands {
    /// T, s.
    drive_lag_s: f64,
    /// (1 + k_j) U_j: what the torques that they make differ by from what the next law feeds forward, N m.
    pub torque_nm: Joints<f64>,
    /// 1 + k_j.
    erring: Joints<f64>,
    /// |(1 - F)_ji|.
    reaction: BoundMatrix,
    /// Largest E'_j at the start for which this holds, N m s^2.
    pub most_lag_nms2: Joints<f64>,
}

impl CarriedCommands {
    /// y_j, N m s, for a next plan whose robust torques are cut at `robust_nm` at its start.
    pub fn impulse_nms(&self, robust_nm: &[f64]) -> Joints<f64> {
        let apart = |j: usize| add_up(self.torque_nm[j], mul_up(self.erring[j], robust_nm[j]));
        let apart: Joints<f64> = (0..robust_nm.len()).map(apart).collect();
        (0..apart.len()).map(|j| mul_up(self.drive_lag_s, self.reaction.row_times(j, &apart))).collect()
    }
}

/// Upper bounds of the jumps of the desired position, velocity and acceleration of each joint at a switch.
pub fn jumps<R: Rounding>(before: &MomentumPredecessor<'_>, curve: Pieces<'_>) -> Joints<[f64; 3]> {
    let apart = |a: OfTime<R>, b: OfTime<R>| (a - b).sup_abs();
    let of = |j: usize| {
        let at = before.at_s;
        let old: Desired<R> = within(before.curve, j, (at, at));
        let new: Desired<R> = curve.enclose(j, 0.0, 0.0, TIME);
        [apart(new.q, old.q), apart(new.dq, old.dq), apart(new.ddq, old.ddq)]
    };
    (0..curve.dof()).map(of).collect()
}

/// What is left to a plan along `curve` for `set`; `None` where M_0 may turn too fast for any bound.
pub fn handover<R: Rounding>(
    robot: &Arm,
    before: &MomentumPredecessor<'_>,
    (set, curve): (&PreparedSet, Pieces<'_>),
) -> Option<Handover> {
    sized!(robot, N => Switch::<N, R>::new(robot, before, (set, curve)).handover())
}

/// Both desired motions about the time of the switch.
struct Switch<'a, const N: usize, R: Rounding> {
    robot: &'a Arm,
    before: &'a MomentumPredecessor<'a>,
    set: &'a PreparedSet,
    window_s: f64,
    /// Ranges that hold both.
    desired: Joints<Desired<R>>,
    /// Largest coefficients of both.
    sizes: Joints<[f64; 3]>,
    /// Bounds of De and Dr.
    apart: (Joints<f64>, Joints<f64>),
}

impl<'a, const N: usize, R: Rounding> Switch<'a, N, R> {
    fn new(
        robot: &'a Arm,
        before: &'a MomentumPredecessor<'a>,
        (set, curve): (&'a PreparedSet, Pieces<'a>),
    ) -> Self {
        let w = before.tube.timing.window_s();
        let (from, to) = ((before.at_s - w).next_down(), add_up(before.at_s, w));
        let hull = |a: OfTime<R>, b: OfTime<R>| -> Interval { a.interval().hull(b.interval()) };
        let jumps = jumps::<R>(before, curve);
        let (mut desired, mut sizes) = (Joints::new(), Joints::new());
        let (mut e, mut r) = (Joints::new(), Joints::new());
        for j in 0..robot.dof() {
            let old: Desired<R> = within(before.curve, j, (from, to));
            // Before its start it is not followed: only past its end does it rest.
            let new: Desired<R> = if w < curve.duration_s() {
                curve.enclose(j, 0.0, w, TIME)
            } else {
                within(curve, j, (0.0, w))
            };
            let jerk = hull(old.dddq, new.dddq);
            let turn = (jerk.upper() - jerk.lower()).next_up();
            // Jumps of q, dq and ddq.
            let [dq, ddq, dddq] = jumps[j];
            let half = 0.5 * mul_up(w, w);
            let position =
                [dq, mul_up(w, ddq), mul_up(half, dddq), mul_up(mul_up(half, w) / 3.0, turn).next_up()];
            let velocity = [ddq, mul_up(w, dddq), mul_up(half, turn)];
            let lag = sum_up(position);
            e.push(lag);
            r.push(add_up(sum_up(velocity), mul_up(before.tube.gains.k_r, lag)));
            desired.push(Desired {
                q: Affine::from_interval(hull(old.q, new.q)),
                dq: Affine::from_interval(hull(old.dq, new.dq)),
                ddq: Affine::from_interval(hull(old.ddq, new.ddq)),
                dddq: Affine::from_interval(jerk),
            });
            let (a, b) = (before.curve.magnitudes(j), curve.magnitudes(j));
            sizes.push(std::array::from_fn(|k| a[k].max(b[k])));
        }
        Self { robot, before, set, window_s: w, desired, sizes, apart: (e, r) }
    }

    fn cell(
        &self,
        set: &PreparedSet,
        tube: &MomentumTube,
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<MomentumCell<N, R>> {
        MomentumCell::around(self.robot, set, tube, (self.desired.clone(), self.sizes.clone()), space)
    }

    fn handover(&self) -> Option<Handover> {
        let Self { robot, before, set, .. } = *self;
        let n = robot.dof();
        let space = &mut MomentumWorkspace::<N, R>::new(robot);
        let old_tube = before.tube.widest_from(before.at_s - 2.0 * self.window_s);
        let old = self.cell(before.set, &old_tube, space)?;
        let CellNumbers { inverse, near, turning: turned_before, .. } = &old.along;
        let (mass, turning) = nominal_mass(robot, set, &self.desired, inverse, space);
        let carried = times_inverse(&space.nominal, inverse, 0.0);
        let across = |width: &[f64], apart: &[f64]| -> Carried {
            let turned = near.times_vector(&turned_before.times_vector(width));
            let changes = |j: usize| {
                let turns = add_up(turning.row_times(j, width), carried.row_times(j, &turned));
                add_up(mul_up(self.window_s, turns), mass.row_times(j, apart))
            };
            let changes: Joints<f64> = (0..n).map(changes).collect();
            let width = (0..n).map(|j| add_up(carried.row_times(j, width), changes[j])).collect();
            Carried { width, changes }
        };
        let momentum = across(&old.radii.p, &self.apart.1);
        let position = across(&old.radii.lag, &self.apart.0);
        let still = self.still(&momentum.width, &position.width);
        let next = self.cell(self.set, &still, space)?;
        let mass_error = plain_arithmetic(robot, set, &next, space).mass_error;
        let carried = if before.tube.timing.drive_lag_s > 0.0 {
            Some(self.carried((&old_tube, &old), (&momentum.width, &position.width), space)?)
        } else {
            None
        };
        let (k_r, timing) = (before.tube.gains.k_r, before.tube.timing);
        Some(Handover { k_r, timing, momentum, position, along: next.along, mass_error, carried })
    }

    /// What drives remember.
    fn carried(
        &self,
        (old_tube, old): (&MomentumTube, &MomentumCell<N, R>),
        (radius_nms, lag_nms2): (&[f64], &[f64]),
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<CarriedCommands> {
        let robot = self.robot;
        let n = robot.dof();
        let most_lag_nms2: Joints<f64> = lag_nms2.iter().map(|lag| ROOM * lag).collect();
        let tube = self.still(radius_nms, &most_lag_nms2);
        let next = self.cell(self.set, &tube, space)?;
        let reaction = coupling(robot, self.set, &next, space)?.entries();
        let erring: Joints<f64> =
            (0..n).map(|j| (1.0 + robot.drive(j).error_ratio.next_up()).next_up()).collect();
        let (fed, feeds) =
            (fed_forward(robot, self.before.set, old, space), fed_forward(robot, self.set, &next, space));
        let of = |j: usize| {
            let rounded = mul_up(4.0 * LAW_ROUNDOFF, robot.joints[j].limits.torque);
            mul_up(erring[j], sum_up([old_tube.robust_nm[j], (fed[j] - feeds[j]).sup_abs(), rounded]))
        };
        let torque_nm = (0..n).map(of).collect();
        let drive_lag_s = self.before.tube.timing.drive_lag_s;
        Some(CarriedCommands { drive_lag_s, torque_nm, erring, reaction, most_lag_nms2 })
    }

    /// A tube with these radii that does not narrow.
    fn still(&self, radius_nms: &[f64], lag_nms2: &[f64]) -> MomentumTube {
        MomentumTube {
            robust_nm: vec![0.0; radius_nms.len()],
            noise_nms: radius_nms.to_vec(),
            lag_nms2: lag_nms2.to_vec(),
            ..self.before.tube.widest_from(self.before.at_s)
        }
    }
}

/// Ranges of what a law with the centre of `set` feeds forward along the desired motion of `cell`, whatever its sign bands, N m.
fn fed_forward<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    cell: &MomentumCell<N, R>,
    space: &mut MomentumWorkspace<N, R>,
) -> Joints<Interval> {
    let n = robot.dof();
    let rounding = plain_arithmetic(robot, set, cell, space);
    let of = |f: &dyn Fn(usize) -> OfTime<R>| -> Joints<OfTime<R>> { (0..n).map(f).collect() };
    let (q, dq) = (of(&|j| cell.desired[j].q), of(&|j| cell.desired[j].dq));
    let ddq = of(&|j| cell.desired[j].ddq);
    space.desired.sweep(robot, &q, &dq, &dq, &ddq);
    let y = space.desired_regressor.torque(robot, &space.desired);
    let of = |j: usize| {
        let row = TorqueRow::new(y, (j, INERTIAL * n), dq[j], ddq[j]);
        let c = set.joint(j).0;
        let own = dq[j].scale(c[VISCOUS]) + ddq[j].scale(c[ARMATURE]) + Affine::constant(c[OFFSET]);
        let (torque, _) = sums(set, j, (own, Upward(0.0)), (&row, &row));
        let (speed, dry) = (dq[j].interval(), c[COULOMB].abs());
        // None within the band, of one sign beyond.
        let low = if speed.lower() > 0.0 { 0.0 } else { -dry };
        let high = if speed.upper() < 0.0 { 0.0 } else { dry };
        torque.widen(rounding.torque[j]).interval() + Interval::new(low, high)
    };
    (0..n).map(of).collect()
}
