//! Joint tube over one time interval (a *cell*): every state that the arm may be in, as affine forms.
//!
//! # Assumed
//! V <= V_max, that is |r_j| <= eps_j and |e_j| <= eps_j / K_r (see [`super::tube`], and [`super::extent`] for what joins the
//! joints); encoder bounds delta_q, delta_dq.
//!
//! # Proven
//! With e and r as shared symbols and normalised time as another, for all times of the cell, all errors in the tube
//! and all measurement errors: q = q_d - e, dq = dq_d - de with de = r - K_r e, dq_a = dq_d + K_r e,
//! ddq_a = ddq_d + K_r de. The forms hold the true values, the measured ones, and the floats that the controller makes
//! of those: they are widened by [`Deviation`].
//!
//! A cell is entered by the *ticks* in its time span, and holds all times until the tick's end: it reaches one control
//! period further than its span. So everything that happens within one tick is bounded by one cell, whichever cells
//! the tick overlaps. A tick that overlaps the end of the trajectory finds the desired motion at rest there: position,
//! velocity and acceleration are those of the curve's end (it ends at rest), the jerk is zero, which is added.

use arrayvec::ArrayVec;

use crate::enclose::{Affine, Interval, Rounding};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::{DesiredMotion, Pieces};

use super::tube::Tube;
use super::upward::{add_up, mul_up, sum_up};

/// Symbol of normalised time.
pub const TIME: usize = 0;

/// Symbol of e_j; that of r_j follows it.
pub const fn position_symbol(j: usize) -> usize {
    1 + 2 * j
}

/// Number of symbols that a robot of `dof` joints needs: time, and e and r of each joint.
pub const fn symbols(dof: usize) -> usize {
    2 * dof + 1
}

/// Most joints of a robot: 64 symbols with the feature `many-joints`, 16 without.
pub const MAX_JOINTS: usize = if cfg!(feature = "many-joints") { 31 } else { 7 };

/// Why a robot of `dof` joints is not proven, with the way out.
pub(crate) fn joints_fault(name: &str, dof: usize) -> Option<String> {
    let more = if cfg!(feature = "many-joints") {
        ""
    } else {
        " (more with the feature `many-joints`, which `cargo run --release` has)"
    };
    (dof > MAX_JOINTS).then(|| format!("robot '{name}' has {dof} joints, above {MAX_JOINTS}{more}"))
}

/// One value a joint, held in place: bounds of a cell ask for no memory.
pub type Joints<T> = ArrayVec<T, MAX_JOINTS>;

/// A time interval of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Span {
    /// Ticks from the first to the second time, s.
    Between(f64, f64),
    /// All times after the trajectory's end, at rest.
    #[default]
    Rest,
}

/// How far the values in the controller may be from the true ones (rad, s), given the true state and the exact curve:
/// sensor errors, and what rounding makes of desired motion, differences and sums. The latter are a dozen operations
/// and the evaluation of the curve, off by at most 2^-45 of its largest coefficient (see [`crate::trajectory`]);
/// `FUZZ` of all that takes part, plus one, is generous.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Of q.
    pub q: f64,
    /// Of dq.
    pub dq: f64,
    /// Of dq_a.
    pub dqa: f64,
    /// Of ddq_a.
    pub ddqa: f64,
    /// Of r.
    pub r: f64,
}

/// 2^-40.
const FUZZ: f64 = 1.0 / (1_u64 << 40) as f64;

impl Deviation {
    fn new(robot: &Arm, k_r: f64, r_radius: f64, magnitudes: [f64; 3]) -> Self {
        let fuzz = |of: f64, more: f64| mul_up(FUZZ, sum_up([1.0, of, more]));
        let [position, velocity, acceleration] = magnitudes;
        let off_dq = fuzz(velocity, r_radius);
        let q = add_up(robot.sensors().position_rad, fuzz(position, 0.0));
        let dq = add_up(robot.sensors().velocity_rad_s, off_dq);
        let off_ddq = fuzz(acceleration, mul_up(2.0 * k_r, r_radius));
        let lag = mul_up(k_r, q);
        Self { q, dq, dqa: add_up(lag, off_dq), ddqa: add_up(mul_up(k_r, dq), off_ddq), r: add_up(dq, lag) }
    }
}

/// Joint motion over a cell; each vector has one entry a joint (rad, s).
#[derive(Debug, Clone)]
pub struct Cell<const N: usize, R: Rounding> {
    /// True or measured position.
    pub q: Joints<Affine<N, R>>,
    /// True or measured velocity.
    pub dq: Joints<Affine<N, R>>,
    /// Auxiliary velocity dq_a, from true or measured positions.
    pub dqa: Joints<Affine<N, R>>,
    /// Auxiliary acceleration ddq_a, from true or measured velocities.
    pub ddqa: Joints<Affine<N, R>>,
    /// r.
    pub r: Joints<Affine<N, R>>,
    /// Rate of ddq_a without its part K_r dr/dt: dddq_d - K_r^2 de.
    pub jerk: Joints<Affine<N, R>>,
    /// How far the controller's values are from the true ones.
    pub deviation: Joints<Deviation>,
}

impl<const N: usize, R: Rounding> Cell<N, R> {
    /// The tube of `tube` around `curve` over `span`; `robot` has at most [`MAX_JOINTS`] joints.
    pub fn new<'a>(robot: &Arm, tube: &Tube, curve: impl Into<Pieces<'a>>, span: Span) -> Self {
        let curve = curve.into();
        let desired = |j: usize| match span {
            Span::Between(t0, t1) => through_ticks(tube, curve, j, t0, t1),
            Span::Rest => curve.enclose_rest(j),
        };
        Self::around(robot, tube, |j| (desired(j), curve.magnitudes(j)))
    }

    /// The tube around a desired motion, given joint by joint with what its position, velocity and acceleration are at
    /// most ([`Pieces::magnitudes`]).
    pub fn around(
        robot: &Arm,
        tube: &Tube,
        motion: impl Fn(usize) -> (DesiredMotion<N, R>, [f64; 3]),
    ) -> Self {
        let n = robot.dof();
        let mut cell = Self {
            q: Joints::new(),
            dq: Joints::new(),
            dqa: Joints::new(),
            ddqa: Joints::new(),
            r: Joints::new(),
            jerk: Joints::new(),
            deviation: Joints::new(),
        };
        let k_r = tube.gains.k_r;
        for j in 0..n {
            let (desired, magnitudes) = motion(j);
            let r_radius = tube.r_radius(j);
            let e: Affine<N, R> = Affine::symbol(position_symbol(j), tube.e_radius(j));
            let r: Affine<N, R> = Affine::symbol(position_symbol(j) + 1, r_radius);
            let lag = e.scale(k_r);
            let de = r - lag;
            let off = Deviation::new(robot, k_r, r_radius, magnitudes);
            cell.deviation.push(off);
            cell.q.push((desired.q - e).widen(off.q));
            cell.dq.push((desired.dq - de).widen(off.dq));
            cell.dqa.push((desired.dq + lag).widen(off.dqa));
            cell.ddqa.push((desired.ddq + de.scale(k_r)).widen(off.ddqa));
            cell.jerk.push(desired.dddq - de.scale(k_r).scale(k_r));
            cell.r.push(r);
        }
        cell
    }
}

/// End of the ticks that begin until `t1`, or of the trajectory: what the symbol of time reaches to, s.
pub fn end_of_ticks(tube: &Tube, duration_s: f64, t1: f64) -> f64 {
    add_up(t1, tube.gains.period_s).min(duration_s)
}

/// Desired motion during all ticks that begin between `t0` and `t1`.
pub fn through_ticks<const N: usize, R: Rounding>(
    tube: &Tube,
    curve: Pieces<'_>,
    joint: usize,
    t0: f64,
    t1: f64,
) -> DesiredMotion<N, R> {
    let mut desired = curve.enclose::<N, R>(joint, t0, end_of_ticks(tube, curve.duration_s(), t1), TIME);
    if add_up(t1, tube.gains.period_s) >= curve.duration_s() {
        let jerk = desired.dddq.interval();
        desired.dddq = Affine::from_interval(jerk.hull(Interval::constant(0.0)));
    }
    desired
}
