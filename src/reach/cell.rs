//! Joint tube over one time interval (a *cell*): every state that the arm may be in, as affine forms.
//!
//! # Assumed
//! V <= V_max, that is |r_j| <= eps_j and |e_j| <= eps_j / K_r (see [`super::tube`]); encoder bounds delta_q, delta_dq.
//!
//! # Proven
//! With e and r as shared symbols and normalised time as another, for all times of the cell, all errors in the tube
//! and all measurement errors: q = q_d - e, dq = dq_d - de with de = r - K_r e, dq_a = dq_d + K_r e,
//! ddq_a = ddq_d + K_r de. The forms hold both the true and the measured values: they are widened by delta_q,
//! delta_dq, and by what these make of dq_a and ddq_a (K_r delta_q, K_r delta_dq).

use crate::enclose::{Affine, Rounding};
use crate::inertia::ParameterSet;
use crate::robot::Robot;
use crate::scalar::Scalar;
use crate::trajectory::Bezier;

use super::tube::Tube;

/// Symbol of normalised time.
const TIME: usize = 0;

/// Number of symbols that a robot of `dof` joints needs: time, and e and r of each joint.
pub const fn symbols(dof: usize) -> usize {
    2 * dof + 1
}

/// A time interval of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Span {
    /// From the first to the second time, s.
    Between(f64, f64),
    /// All times after the trajectory's end, at rest.
    Rest,
}

/// Joint motion over a cell; each vector has one entry a joint (rad, s).
#[derive(Debug, Clone)]
pub struct Cell<const N: usize, R: Rounding> {
    /// True or measured position.
    pub q: Vec<Affine<N, R>>,
    /// True or measured velocity.
    pub dq: Vec<Affine<N, R>>,
    /// Auxiliary velocity dq_a, from true or measured positions.
    pub dqa: Vec<Affine<N, R>>,
    /// Auxiliary acceleration ddq_a, from true or measured velocities.
    pub ddqa: Vec<Affine<N, R>>,
    /// r.
    pub r: Vec<Affine<N, R>>,
    /// Rate of ddq_a without its part K_r dr/dt: dddq_d - K_r^2 de.
    pub jerk: Vec<Affine<N, R>>,
}

impl<const N: usize, R: Rounding> Cell<N, R> {
    /// The tube of `tube` around `curve` over `span`.
    pub fn new(robot: &Robot, set: &ParameterSet, tube: &Tube, curve: &Bezier, span: Span) -> Self {
        let n = robot.dof();
        let mut cell = Self {
            q: Vec::with_capacity(n),
            dq: Vec::with_capacity(n),
            dqa: Vec::with_capacity(n),
            ddqa: Vec::with_capacity(n),
            r: Vec::with_capacity(n),
            jerk: Vec::with_capacity(n),
        };
        let k_r = tube.gains.k_r;
        let (delta_q, delta_dq) = (robot.sensors.position_rad, robot.sensors.velocity_rad_s);
        for j in 0..n {
            let desired = match span {
                Span::Between(t0, t1) => curve.enclose::<N, R>(j, t0, t1, TIME),
                Span::Rest => curve.enclose_rest(j),
            };
            let e: Affine<N, R> = Affine::symbol(1 + 2 * j, tube.e_radius(robot, set, j));
            let r: Affine<N, R> = Affine::symbol(2 + 2 * j, tube.r_radius(robot, set, j));
            let lag = e.scale(k_r);
            let de = r - lag;
            cell.q.push((desired.q - e).widen(delta_q));
            cell.dq.push((desired.dq - de).widen(delta_dq));
            cell.dqa.push((desired.dq + lag).widen((k_r * delta_q).next_up()));
            cell.ddqa.push((desired.ddq + de.scale(k_r)).widen((k_r * delta_dq).next_up()));
            cell.jerk.push(desired.dddq - de.scale(k_r).scale(k_r));
            cell.r.push(r);
        }
        cell
    }
}
