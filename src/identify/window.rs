//! From measurements to rows of data: the momentum balance over one window, with everything that may be wrong in it.
//!
//! # The balance
//! With p = M_links(q) dq = Y_m theta and d/dt p = tau - F_c s - F_v dq - I_a ddq - beta + Y_f theta, where
//! Y_f theta = C(q, dq)' dq - g(q) and s = sign(dq) (below the stiction speed anything up to the breakaway ratio), integration over
//! \[t1, t2\] gives, without any acceleration,
//!
//! ```text
//! [Y_m(t2) - Y_m(t1) - int Y_f] theta + I_a (dq2 - dq1) + F_v (q2 - q1) + F_c int s + beta (t2 - t1) = int tau.
//! ```
//!
//! The balances of consecutive windows add up to the balance of their union ([`rows_over_parts`]). That is a row of its own:
//! in it the encoder errors at the inner ends cancel, which no combination of the single rows knows. The other way round, the
//! torque errors of a short window seldom add up, so that some of many short rows are nearly at the end of what their bound
//! allows. So rows may be asked for over any span of ticks ([`History`]), and [`super::separate`] asks for those that matter.
//!
//! # Assumed
//! A2 of the guarantee: at every tick |q^ - q|, |dq^ - dq| and |tau^ - tau| are within [`Sensors`](crate::robot::Sensors); tau is the mean from tick to
//! tick, as it is where it is held, and as a sensor tells it where drives lag: int tau over whole ticks is then the sum of the samples times their lengths, whatever
//! the torque did within them, so that a lag of the drives costs a row nothing; gravity is within its angle of the stated direction; |ddq_j(t)| <= `acceleration_bound[j]`; q is continuous (not wrapped).
//! Ticks are exactly one period apart, or where the robot's file bounds a jitter, as far apart as their stamps say. Where it bounds the age of
//! readings ([`TimingBounds`](crate::robot::TimingBounds)), q^ and dq^ are of one moment t_k - s, s in \[0, s_max\], another one at each tick, which nobody knows; tau^ is not late.
//!
//! # What is bounded, and how
//! Each true row is y z = u with coefficients y that are known up to errors; the row returned has their midpoints and
//! charges to its radius a bound on |sum_j error_j z_j| over the box of z:
//! - *Encoders at the ends*: Y_m at a tick is an affine form in the 2 n encoder errors e_s of that tick,
//!   Y_j = c_j + sum_s g_js e_s +- remainder_j. Exchanging sums, |sum_j (Y_j - c_j) z_j| <= sum_s |sum_j g_js z_j| + sum_j remainder_j |z_j|,
//!   and |sum_j g_js z_j| <= |sum_j g_js c_j| + sum_j |g_js| r_j over z_j in c_j +- r_j. Charging each coefficient apart,
//!   radius x |z_j|, would count one encoder error seventy times.
//! - *Late readings*: the balance is that of the ticks' own times. As |ddq| <= a, what is at the tick of what was at t_k - s is
//!   dq within a s_max of it, and q beyond it by a time in \[0, s_max\] at a rate within a s_max / 2 of dq. So the encoders' errors are wider by that at each end
//!   and between, and lie to one side for positions: dq^ says to which. In a row's terms, momentum changes within s_max by at most a s_max times
//!   the mass matrix at each end, and int Y_f by the time it spans times s_max |d/dt Y_f|. All of it is charged whatever ages follow each other.
//!   An acceleration bound has to hold for s_max before a window as well; [`super::WindowCollector`] sees to that where bounds change.
//! - *Encoders between*: Y_f is evaluated on intervals q^ +- delta_q, dq^ +- delta_dq and its coefficients, like those of
//!   friction, are charged apart; integrated over a window this is small.
//! - *Quadrature*: with m the panel's middle, integration by parts gives
//!   int f = dt (f0 + f1)/2 - int (t - m) f' dt, and since int (t - m) dt = 0, any constant may be subtracted from f':
//!   the trapezoid is off by at most dt^2/4 times the *radius* of an interval that contains f' over the panel.
//!   Applied to Y_f z, f' = p z + sum_k (dY_f/d(dq_k) z) ddq_k with p = dY_f/dq dq. Of the second part only |ddq_k| <= a_k is
//!   known, so this bound is applied with sum_k a_k sup |dY_f/d(dq_k) z|, the sum over the parameters inside the bars as for
//!   the encoders. The first part has a derivative of its own, since dq has: int (t - m) p dt = -int W p' dt with
//!   W = ((t - m)^2 - dt^2/4)/2, which is zero at both ends and integrates to -dt^3/12. So it adds at most dt^3/12 sup |p'|, a share of
//!   dt smaller than the other. p' is linear in ddq; it is enclosed by dual numbers of dual numbers over intervals, once along
//!   the velocity and then along the motion with |ddq_k| <= a_k, on the hull of a block of panels, and charged coefficient by coefficient.
//!   Enclosures that hold over a block of panels hold over each part of it: rows over parts of a window share them ([`Enclosed`]).
//! - *Between ticks*: |ddq| <= a implies dq >= max(dq0 - a s, dq1 - a (dt - s)) >= min(dq0, dq1) - a dt/2, likewise from above, and in
//!   the same way q stays within dt/2 sup |dq| of the hull of its ends.
//! - *Coulomb*: s is the sign of dq where the panel's range of dq excludes the stiction speed, else anything up to the robot's
//!   `breakaway_ratio` on either side.
//! - *Gravity*: its direction is known to within an angle, the same at all times. What that changes in y z is the integral of a
//!   lever times the change of gravity; the lever ([`crate::dynamics::weight_levers`]) is enclosed over blocks of panels, for all
//!   positions there and all of the box, its integral added up over the row, and the change bounded as in [`crate::reach::gravity`].
//! - *Torque*: |tau^ - tau| <= ratio |tau| + abs gives |tau^ - tau| <= (ratio |tau^| + abs)/(1 - ratio).
//!
//! Rounding is outward throughout: all of it is interval arithmetic.

mod evaluator;
mod history;
mod integrals;
mod part;

use serde::{Deserialize, Serialize};

use crate::recording::Sample;
use crate::robot::Arm;

pub use history::{History, Past, Pick, Placed, RowMaker, Stretch, TickEnd};
pub use part::{Enclosed, Enclosures, Part, equal_spans, parts, rows_over_parts};

/// What is known of the time between two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Ticks of the control loop: exactly one control period apart, the torque held in between.
    #[default]
    Control,
    /// Ticks of a control loop whose rhythm shakes: the time stamps are right, and a torque is the mean from its tick to the next.
    Stamped,
    /// A recording: the time stamps are right, and the torque's mean between two samples is that of the two; how far it
    /// may be from that has to be part of the torque's error bound.
    Recorded,
}

impl Clock {
    /// Of the ticks of a control loop that runs `robot`.
    pub fn of_loop(robot: &Arm) -> Self {
        if robot.timing().jitter_max_s == 0.0 { Self::Control } else { Self::Stamped }
    }
}

/// Samples of one window: consecutive ticks, the last one being the first of the next window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// At least two ticks in order of time.
    pub samples: Vec<Sample>,
    /// Bound on |ddq_j| over the window, and before it for as long as a reading may be old, rad/s^2.
    pub acceleration_bound: Vec<f64>,
    /// What is known of the time between the ticks.
    pub clock: Clock,
}

impl Window {
    /// The union of consecutive windows; `None` of none.
    fn joined<'a>(mut windows: impl Iterator<Item = &'a Window>) -> Option<Window> {
        let mut union = windows.next()?.clone();
        for window in windows {
            union.samples.extend_from_slice(&window.samples[1..]);
            let bounds = union.acceleration_bound.iter_mut().zip(&window.acceleration_bound);
            bounds.for_each(|(a, b)| *a = a.max(*b));
        }
        Some(union)
    }

    /// Whether `next` begins with the tick that ends this window.
    pub fn precedes(&self, next: &Window) -> bool {
        self.samples.last().is_some_and(|last| next.samples.first() == Some(last))
    }
}

#[cfg(test)]
mod tests;
