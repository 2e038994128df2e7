//! The states of the tube over one span of time, as affine forms, and M_0 with its inverse along the desired motion.
//!
//! # Assumed
//! |p_j| <= P_j and |M_0 e|_j <= E_j, with M_0 at the desired position.
//!
//! # Proven
//! *Times.* The forms hold at all times that are at most twice the age before the span or after it, and where drives lag so much earlier as they
//! remember ([`super::lag`]); those of the last span also at all times after it. So everything that one moment depends on (the
//! reading and the tick of the command in effect, and the time that it is meant for) is in the moment's own cell. Before its start and
//! after its end the desired motion rests where it starts and ends, with the velocity and acceleration that it has there, none; the jerk is none
//! there either, which is added. A plan that starts in motion needs nothing before its start here: [`super::handover()`] sees to that.
//!
//! *Inverse.* X is any matrix of floats. With M_0 X = 1 + H, |H| <= H^ over the cell and S >= 1 + H^ + H^2 + ..., M_0^-1 = X (1 + H)^-1, so that
//! r = M_0^-1 p is X p~ for some |p~| <= S P, and e is X e~ for some |e~| <= S E. The entries of p~ and e~ are the symbols.
//!
//! *Links.* Of an arm with springs ([`crate::robot::Spring`]) the theorem is about its common motion x. Links are at q, |q - x| <= |q - theta| + |theta - x|. The first is
//! |k (theta - q)| / k, at most the torque limit over the stiffness; the second is stated. [`Arm::deflection`] rounds the sum up, and [`MomentumCell::links`] adds it
//! upwards to the remainder of each form.
//!
//! *The desired motion* depends on time alone, and so does all that is made of it: forms of the symbol of time ([`OfTime`]), which the other forms share.
//!
//! *M_0 and its rate* are one mass matrix of composite bodies, with slopes along the desired velocity, and the transmissions'
//! part. M_0 X, and its rate times X, are sums of these forms, in which what the entries have in common cancels.

use crate::enclose::{Affine, Interval, Rounding};
use crate::inertia::ARMATURE;
use crate::reach::cell::{Joints, Span, TIME, position_symbol};
use crate::reach::prepared_set::PreparedSet;
use crate::reach::upward::{mul_up, sum_up};
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};
use crate::trajectory::{DesiredMotion, Pieces};

use super::constants::MomentumTube;
use super::matrix::BoundMatrix;
use super::workspace::MomentumWorkspace;

/// What depends on time alone, whose symbol is the first.
pub(super) type OfTime<R> = Affine<{ TIME + 1 }, R>;

/// The desired motion of a joint.
pub(super) type Desired<R> = DesiredMotion<{ TIME + 1 }, R>;

/// States over a span, and M_0 along it.
pub(super) struct MomentumCell<const N: usize, R: Rounding> {
    /// The desired motion.
    pub desired: Joints<Desired<R>>,
    /// Positions and velocities of the tube.
    pub q: Joints<Affine<N, R>>,
    pub dq: Joints<Affine<N, R>>,
    /// Bounds of |dq - dq_d| (rad/s), at one moment: what dq_d is enclosed with has no part in them.
    pub error_rad_s: Joints<f64>,
    /// How far the tube reaches.
    pub radii: CellRadii,
    /// What the desired motion alone says.
    pub along: CellNumbers,
}

/// Radii of the tube over a span.
#[derive(Debug, Clone)]
pub(super) struct CellRadii {
    /// Of e and r (rad, rad/s).
    pub e: Joints<f64>,
    pub r: Joints<f64>,
    /// S P and S E.
    pub p: Vec<f64>,
    pub lag: Vec<f64>,
}

/// Bounds over a span, as numbers, that the width of the tube has no part in.
#[derive(Debug, Clone)]
pub(super) struct CellNumbers {
    /// X, row-major.
    pub inverse: Vec<f64>,
    /// Bounds of (1 + H)^-1.
    pub near: BoundMatrix,
    /// Bounds of M_0.
    pub mass: BoundMatrix,
    /// Bounds of dM_0/dt X.
    pub turning: BoundMatrix,
    /// Bounds of the desired velocity and acceleration.
    pub speeds: Joints<[f64; 2]>,
    /// Largest coefficients of the desired position, velocity and acceleration: what their roundings are relative to.
    pub sizes: Joints<[f64; 3]>,
}

impl CellNumbers {
    /// Radii under a tube that does not narrow.
    pub fn radii_of(&self, tube: &MomentumTube) -> CellRadii {
        let radius: Vec<f64> = (0..tube.robust_nm.len()).map(|j| tube.radius(j)).collect();
        self.radii(&radius, &tube.lag_nms2)
    }

    /// Radii of momentum errors and of M_0 e within P and E: |e| <= |X| S E and |r| <= |X| S P.
    pub fn radii(&self, radius_nms: &[f64], lag_nms2: &[f64]) -> CellRadii {
        let (p, lag) = (self.near.times_vector(radius_nms), self.near.times_vector(lag_nms2));
        let n = p.len();
        let within = |width: &[f64]| -> Joints<f64> {
            let row = |i: usize| (0..n).map(move |k| mul_up(self.inverse[n * i + k].abs(), width[k]));
            (0..n).map(|i| sum_up(row(i))).collect()
        };
        CellRadii { e: within(&lag), r: within(&p), p, lag }
    }
}

impl<const N: usize, R: Rounding> MomentumCell<N, R> {
    /// The cell over `span`; `None` where no inverse of M_0 is found. The tube does not narrow.
    pub fn new(
        robot: &Arm,
        set: &PreparedSet,
        tube: &MomentumTube,
        (curve, span): (Pieces<'_>, Span),
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<Self> {
        let desired = (0..robot.dof()).map(|j| along(curve, tube, j, span)).collect();
        let sizes = (0..robot.dof()).map(|j| curve.magnitudes(j)).collect();
        Self::around(robot, set, tube, (desired, sizes), space)
    }

    /// The cell around a desired motion, given with its sizes.
    pub fn around(
        robot: &Arm,
        set: &PreparedSet,
        tube: &MomentumTube,
        (desired, sizes): (Joints<Desired<R>>, Joints<[f64; 3]>),
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<Self> {
        let n = robot.dof();
        let middle: Joints<f64> = desired.iter().map(|d| d.q.center()).collect();
        let inverse = space.inverse(robot, set, &middle);
        if inverse.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let (mass, turning) = nominal_mass(robot, set, &desired, &inverse, space);
        let near = times_inverse(&space.nominal, &inverse, 1.0).neumann()?;
        let speeds = desired.iter().map(|d| [d.dq.sup_abs(), d.ddq.sup_abs()]).collect();
        let along = CellNumbers { inverse, near, mass, turning, speeds, sizes };
        let CellRadii { p, lag, .. } = along.radii_of(tube);
        let combined = |radii: &[f64], i: usize, first: usize| -> Affine<N, R> {
            (0..n).fold(Affine::zero(), |sum, k| {
                sum + Affine::symbol(first + 2 * k, radii[k]).scale(along.inverse[n * i + k])
            })
        };
        let first = position_symbol(0);
        let e: Joints<Affine<N, R>> = (0..n).map(|i| combined(&lag, i, first)).collect();
        let r: Joints<Affine<N, R>> = (0..n).map(|i| combined(&p, i, first + 1)).collect();
        let k_r = tube.gains.k_r;
        let off: Joints<Affine<N, R>> = (0..n).map(|j| e[j].scale(k_r) - r[j]).collect();
        Some(Self {
            q: (0..n).map(|j| desired[j].q.with_symbols() - e[j]).collect(),
            dq: (0..n).map(|j| desired[j].dq.with_symbols() + off[j]).collect(),
            error_rad_s: off.iter().map(Affine::sup_abs).collect(),
            radii: CellRadii {
                e: e.iter().map(Affine::sup_abs).collect(),
                r: r.iter().map(Affine::sup_abs).collect(),
                p,
                lag,
            },
            desired,
            along,
        })
    }

    /// Positions of the links: as far from the tube as springs may be bent.
    pub fn links(&self, robot: &Arm) -> Joints<Affine<N, R>> {
        self.q.iter().enumerate().map(|(j, q)| q.widen(robot.deflection(j))).collect()
    }

    /// Positions of the tube without its symbols: each joint's by itself.
    pub fn wide_positions(&self) -> Joints<OfTime<R>> {
        self.desired.iter().zip(&self.radii.e).map(|(desired, e)| desired.q.widen(*e)).collect()
    }
}

/// The desired motion of joint `j` at all times that matter over `span`.
fn along<R: Rounding>(curve: Pieces<'_>, tube: &MomentumTube, j: usize, span: Span) -> Desired<R> {
    let Span::Between(t0, t1) = span else { return curve.enclose_rest(j) };
    let around = 2.0 * tube.timing.age_s();
    let (from, to) = ((t0 - tube.timing.with_memory(around)).next_down(), (t1 + around).next_up());
    within(curve, j, (from, to))
}

/// The desired motion of joint `j` at all times from the first to the second; before the start and past the end it rests.
pub(super) fn within<R: Rounding>(curve: Pieces<'_>, j: usize, (from, to): (f64, f64)) -> Desired<R> {
    let end = curve.duration_s();
    let mut desired: Desired<R> = curve.enclose(j, from.clamp(0.0, end), to.clamp(0.0, end), TIME);
    if from <= 0.0 || to >= end {
        let jerk = desired.dddq.interval();
        desired.dddq = Affine::from_interval(jerk.hull(Interval::constant(0.0)));
    }
    desired
}

/// Entry (`j`, `k`) of a matrix of forms times the matrix of floats `x`, both row-major n x n.
pub(super) fn entry_times<const N: usize, R: Rounding>(
    forms: &[Affine<N, R>],
    x: &[f64],
    (n, j, k): (usize, usize, usize),
) -> Affine<N, R> {
    (0..n).fold(Affine::zero(), |sum, l| sum + forms[n * j + l].scale(x[n * l + k]))
}

/// Bounds of `nominal` X less `unit` on its diagonal.
pub(super) fn times_inverse<const N: usize, R: Rounding>(
    nominal: &[Affine<N, R>],
    inverse: &[f64],
    unit: f64,
) -> BoundMatrix {
    let n = inverse.len().isqrt();
    let mut off = BoundMatrix::zero(n);
    for j in 0..n {
        for k in 0..n {
            let unit = Affine::constant(if j == k { -unit } else { 0.0 });
            off.set(j, k, (entry_times(nominal, inverse, (n, j, k)) + unit).sup_abs());
        }
    }
    off
}

/// Bounds of M_0, and of dM_0/dt X, along the desired motion. Leaves M_0 in `nominal` of the workspace.
pub(super) fn nominal_mass<const N: usize, R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    desired: &[Desired<R>],
    inverse: &[f64],
    space: &mut MomentumWorkspace<N, R>,
) -> (BoundMatrix, BoundMatrix) {
    type Rate<R> = Dual<OfTime<R>, 1>;
    let n = robot.dof();
    let MomentumWorkspace { rates, rate_mass, nominal, slopes, .. } = space;
    let q: Joints<Rate<R>> = desired.iter().map(|d| Dual::new(d.q, [d.dq])).collect();
    rates.fill_theta(set.center().iter().map(|x| Rate::constant(*x)));
    rates.motion.place(robot, &q);
    let links = rate_mass.links(robot, &rates.motion, &rates.theta);
    nominal.clear();
    nominal.extend(links.iter().map(|entry| entry.value));
    for j in 0..n {
        nominal[n * j + j] = nominal[n * j + j] + Affine::constant(set.joint(j).0[ARMATURE]);
    }
    slopes.clear();
    slopes.extend(links.iter().map(|entry| entry.slope[0]));
    let (mut mass, mut turning) = (BoundMatrix::zero(n), BoundMatrix::zero(n));
    for j in 0..n {
        for k in 0..n {
            mass.set(j, k, nominal[n * j + k].sup_abs());
            turning.set(j, k, entry_times(slopes, inverse, (n, j, k)).sup_abs());
        }
    }
    (mass, turning)
}
