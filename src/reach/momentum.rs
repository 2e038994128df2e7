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
//! # Assumed
//! * *Readings* of a tick are of one moment t_k - s, s in [0, s_max], off by at most delta_q and delta_dq. *Commands* act from t_k + d on, d in [0, d_max],
//!   until the next one does; ticks are at most h + j apart ([`CycleTiming`]). The *age* of a reading that a command in effect stems from is at
//!   most a = s_max + d_max + h + j.
//! * What acts besides: drives' errors and unmodelled torque ([`crate::robot::DriveBounds`]), gravity's direction, friction, parameters in the set.
//! * The plan starts at rest. The arm is held within the tube until a command of the law acts, and the desired motion rests until then.
//!
//! # Lemma
//! Let z' >= -b(t) y(t) with 0 <= b <= b_max, y(t) = z(t') for some t' in \[t - a, t\] and z constant and not negative before 0.
//! **If b_max a <= 1/e then z stays not negative.** Proof: with x e^(-x a) of maximum 1/(e a) at x = 1/a there is a lambda with
//! lambda = b_max e^(lambda a). Then e^(lambda t) z does not fall: it does not before 0; and while it does not, z(t') <= e^(lambda a) z(t), so
//! z' >= -b_max e^(lambda a) z = -lambda z.
//!
//! # Theorem
//! Let F = (M - M_0) M^-1, M the true mass matrix. As M dr/dt = w + K_r M de - v, with w the mismatch of what is fed forward,
//!
//! ```text
//! dp/dt = (1 - F)(w - v) + K_r p - K_r^2 M_0 e + dM_0/dt r.
//! ```
//!
//! Let |w_j| <= rho_j, |M_0 e| <= E, |(dM_0/dt r)_j| <= c_j, and |p^_j - p_j(t_k - s)| <= N_j over the tube |p_j| <= P_j = u_j / kappa + N_j. If for all j
//!
//! ```text
//! (1 - F_jj) (u_j - rho_j) >= sum_{i != j} |F_ji| (rho_i + u_i) + K_r P_j + K_r^2 E_j + c_j,     kappa a (1 - F_jj) <= 1/e,
//! ```
//!
//! the tube is never left. Proof: let z = P_j - p_j. While no joint has left its tube, v_j = sat(kappa p^_j, u_j) at a reading at t' is at least
//! sat(kappa (p_j(t') - N_j), u_j) = max(-u_j, u_j - kappa z(t')), so dp_j/dt <= kappa (1 - F_jj) z(t') and the lemma says z >= 0; the same
//! for P_j + p_j. A first exit of any joint would contradict it. Saturation costs nothing, and noise widens P but not the torque.
//!
//! *Position errors.* d(M_0 e)/dt = -K_r M_0 e + p + dM_0/dt e. With |dM_0/dt M_0^-1| <= B entry by entry, |M_0 e| <= E is never left if
//! K_r E_j >= P_j + (B E)_j: at its edge the derivative points inward.
//!
//! # Rounding
//! [`MomentumReport`] evaluates all of it cell by cell with outward rounding; what plain arithmetic of the controller is off by counts to rho and N.

mod cell;
mod constants;
mod coupling;
mod disturbance;
pub mod matrix;
mod report;
mod survey;
#[cfg(test)]
mod tests;
mod workspace;

pub use constants::{CycleTiming, MomentumGains, MomentumTube};
pub use report::MomentumReport;
pub use survey::MomentumProblem;
pub use workspace::MomentumWorkspace;
