//! The second robust law, for drives and sensors that are not ideal: feedback of the momentum error, whose age costs nothing.
//!
//! It stands beside the law of [`super::tube`], which bounds an energy and is the better one where readings are fresh and velocities clean.
//! Source: derived here; the lemma is a comparison argument for delay equations.
//!
//! # The law
//! e = q_d - q, r = de + K_r e, M_0 the mass matrix at the desired position with the set's centre theta_0, and p = M_0 r the *momentum error*.
//! At a tick at t_k, with the desired motion at t_k - s_max / 2 for readings q^, dq^ and at t_f = t_k + (h + d_max) / 2 for what is fed forward,
//!
//! ```text
//! tau = Y(q_d, dq_d, dq_d, ddq_d)(t_f) theta_0 + friction_0(dq_d(t_f)) + v,
//! v_j = sat(kappa p^_j, u_j),          p^ = M_0(q_d(t_k)) (de^ + K_r e^).
//! ```
//!
//! The bound u_j may fall in the course of a plan; the law cuts with that of its tick.
//!
//! # Assumed
//! * *Drives* follow commands at once, or with a first-order lag of at most T: [`lag`] says what changes below.
//! * *Readings* of a tick are of one moment t_k - s, s in [0, s_max], off by at most delta_q and delta_dq. *Commands* act from t_k + d on, d in [0, d_max],
//!   until the next one does; ticks are at most h + j apart ([`CycleTiming`]). The *age* of a reading that a command in effect stems from is at
//!   most a = s_max + d_max + h + j.
//! * What acts besides: drives' errors and unmodelled torque ([`crate::robot::DriveBounds`]), gravity's direction, friction, parameters in the set.
//! * The plan starts at rest: the arm is held within the tube until a command of the law acts, and the desired motion rests until then; where drives lag,
//!   they are what holds it. Or it follows
//!   another plan of this law that is proven, at the first tick that is not before a given time of that plan.
//!
//! # Lemma
//! Let z' >= -b(t) y(t) from 0 on, 0 <= b <= b_max, y(t) = z(t') for some t' in \[t - a, t\]; and before 0 let z be not negative and e^(t/a) z not fall, as
//! if z is constant. **If b_max a <= 1/e then e^(t/a) z never falls, so z stays not negative; and above zero where it was.** Proof: with
//! g = e^(t/a) z and S(t) the largest g so far, y(t) <= e^(-t'/a) S(t) <= e e^(-t/a) S(t), so g' >= g / a - b e S >= -(S - g) / a. Where S - g
//! is above zero S stands still, so S - g grows by no more than (S - g) / a; it was zero, and stays so.
//!
//! # Theorem
//! Let F = (M - M_0) M^-1, M the true mass matrix. As M dr/dt = w + K_r M de - v, with w the mismatch of what is fed forward,
//!
//! ```text
//! dp/dt = (1 - F)(w - v) + K_r p - K_r^2 M_0 e + dM_0/dt r.
//! ```
//!
//! Let |w_j| <= rho_j, |M_0 e| <= E, |(dM_0/dt r)_j| <= c_j, and |p^_j - p_j(t_k - s)| <= N_j over the tube |p_j| <= P_j = u_j / kappa + N_j, where
//! u_j, N_j and E_j never grow with time. If for all j and at all times
//!
//! ```text
//! (1 - F_jj) (u_j - rho_j) >= sum_{i != j} |F_ji| (rho_i + u_i) + K_r P_j + K_r^2 E_j + c_j + |dP_j/dt|,     kappa a (1 - F_jj) <= 1/e,
//! ```
//!
//! with the u_j that the command in effect was cut at on the left, at most, and the u_i that it was cut at on the right, at least,
//! the tube is never left. The sum over i may as well be the largest |sum_{i != j} F_ji x_i| for |x_i| <= rho_i + u_i and one F at a time.
//!
//! Proof: let z = P_j - p_j. While no joint has left its tube, v_j = sat(kappa p^_j, u_j(t_k)) at a reading at t' is at least
//! min(u_j(t_k), kappa (p_j(t') - N_j(t'))) = min(u_j(t_k), u_j(t') - kappa z(t')). As u_j does not grow and t' <= t_k <= t, that is at least
//! u_j(t) - kappa z(t'). So dz/dt >= dP_j/dt - dp_j/dt >= -kappa (1 - F_jj) z(t'), and the lemma says that z stays above zero; the same
//! for P_j + p_j. A first exit of any joint would contradict it. Saturation costs nothing, and noise widens P but not the torque.
//!
//! So P_j may fall as fast as the torque that is left over pulls: |dP_j/dt| is charged as a torque is.
//!
//! *Position errors.* d(M_0 e)/dt = -K_r M_0 e + p + dM_0/dt e. With |dM_0/dt M_0^-1| <= B entry by entry, |M_0 e| <= E is never left if
//! K_r E_j >= P_j + (B E)_j + |dE_j/dt|: at its edge the derivative points inward by more than the edge falls. There is no age in this.
//!
//! *Starts.* From rest z is constant before. After another plan M_0, P, N and E are others, and K_r may be: [`handover()`] proves what they must be for the lemma's
//! history to hold with commands and readings of the plan before on their way. How they fall is in [`WideStart`].
//!
//! # Rounding
//! [`MomentumReport`] evaluates all of it cell by cell with outward rounding; what plain arithmetic of the controller is off by counts to rho and N.

mod acceleration;
mod bounds;
mod cell;
mod constants;
mod coupling;
mod disturbance;
mod handover;
pub mod lag;
pub mod matrix;
mod narrowing;
mod order;
mod outlook;
mod report;
#[cfg(test)]
mod tests;
mod workspace;

pub use acceleration::accelerations;
pub use bounds::{BoundedTube, LawName, StateBounds};
pub use constants::{CycleTiming, MomentumGains, MomentumTube};
pub use handover::{CarriedCommands, Handover, MomentumPredecessor, NeededAtStart, handover, jumps};
pub use narrowing::{Fall, WideStart};
pub(in crate::reach) use order::inverse_times;
pub use outlook::CellOutlook;
pub(in crate::reach) use report::growth;
pub use report::{MomentumNeeds, MomentumReport};
pub use workspace::MomentumWorkspace;
