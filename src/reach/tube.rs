//! The tracking tube: what the controller promises, and the numbers that the promise rests on.
//!
//! # What is proven
//! Notation: e = q_d - q, r = de + K_r e, dq_a = dq_d + K_r e, ddq_a = ddq_d + K_r de; M includes the transmission
//! inertia, V = r'M(q; theta) r / 2. At each tick k (period h) the controller measures q^, dq^, forms
//! tau_k = \[Y theta_0 + friction(theta_0)\] + v_k at the measured state and holds it. Then, for t in the tick,
//! M dr/dt + C r = w(t) - v_k with w(t) = (what the motion needs at t under the true theta) - (nominal part of tau_k).
//!
//! * **Disturbance.** |w_j| <= rho_j = sup over the set of |Y_k (theta - theta_0)|_j + Coulomb charge + D_j, where the
//!   *drift* D_j bounds, for every theta of the set, the change of Y theta between the measured state at the tick and
//!   the true state anywhere in the tick. The first part is linear in theta, hence exact over a box.
//! * **Law.** With P = sum rho_j |r^_j|, V^ = sup over the set of r^'M(q^)r^/2 + nu and
//!   lambda = max(0, P + beta - alpha max(0, V_max - V^)), v_j = lambda W_j r^_j / sum_i W_i r^_i^2.
//! * **Claim.** V(0) <= V_max implies V <= V_max for all time, if the constants satisfy the conditions below.
//!
//! Proof. C r drops out of dV/dt (dM/dt - 2C is skew), so dV/dt = r(t)'d(t), d = w - v_k, and r(t) = r^_k + delta_r +
//! int M^-1 (d - C r). Let A = diag(I_a) (lower bounds), M >= A. Over \[t_k, t_k + s\], s <= h, Cauchy-Schwarz gives
//! int r'd <= int \[ r^'d + (s/2) d'A^-1 d + (|delta_r| + s c) |d| \] with c >= |M^-1 C r|. For fixed v_k the first two terms
//! are a sum of convex functions of each w_j, largest at w_j = +-rho_j; as long as the *gain condition*
//! h lambda W_j / sum W r^2 <= A_j holds, the larger one is w_j = rho_j sign(r^_j): its rival -rho_j sign(r^_j) loses 2 rho_j |r^_j| in
//! the first term and gains at most 2 h rho_j |v_j| / A_j in the second. So the integral is at most s (P - r^'v_k + beta), with the
//! *hold power* beta >= (h/2) sup sum d_j^2 / A_j + (|delta_r| + h c)(|rho| + |v|), the supremum over that worst w. The law makes r^'v_k >= P + beta - alpha max(0, V_max - V^),
//! hence V(t_k + s) <= V(t_k) + s alpha max(0, V_max - V^). The *slack* nu >= |V(t_k) - r^'M(q^)r^/2| makes V^ >= V(t_k), and
//! alpha h <= 1 then gives V(t_k + s) <= max(V(t_k), V_max). Induction over ticks ends the proof: V <= V_max throughout.
//!
//! Consequences while V <= V_max, used as the tube: A <= M gives |r_j| <= eps_j = sqrt(2 V_max / A_j), and e is r through a
//! first-order lag, so |e_j| <= eps_j / K_r (it starts inside).
//!
//! The certifier evaluates rho, D, beta, nu, c, the gain condition and the acceleration bound over the whole plan with
//! outward rounding and refuses a plan whose stored constants are smaller than what it finds.

use serde::{Deserialize, Serialize};

use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, ControlGains, Robot};

/// Constants of the robust law for one plan, and of the proof that goes with it. Stored in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tube {
    /// Gains, V_max and the control period.
    pub gains: ControlGains,
    /// Weights W_j > 0 that distribute the robust torque over the joints; W_j / A_j within a factor of 2 of each other.
    pub weights: Vec<f64>,
    /// D_j, N m: change of the required torque within one tick and by measurement errors.
    pub drift_nm: Vec<f64>,
    /// beta, W: power that holding the input for a tick can cost.
    pub hold_power_w: f64,
    /// nu, J: error of V evaluated at the measured instead of the true state.
    pub energy_slack_j: f64,
    /// Bound on |ddq_j|, rad/s^2.
    pub acceleration_bound: Vec<f64>,
}

impl Tube {
    /// Radius of r_j: sqrt(2 V_max / A_j) with A_j the set's smallest transmission inertia of joint j; rounded up.
    /// Infinite where A_j is not positive: there is then no bound.
    pub fn r_radius(&self, robot: &Robot, set: &ParameterSet, j: usize) -> f64 {
        let floor = armature_floor(robot, set, j);
        if floor > 0.0 {
            ((2.0 * self.gains.v_max).next_up() / floor).next_up().sqrt().next_up()
        } else {
            f64::INFINITY
        }
    }

    /// Radius of the position error e_j, rad: r_radius / K_r, rounded up.
    pub fn e_radius(&self, robot: &Robot, set: &ParameterSet, j: usize) -> f64 {
        (self.r_radius(robot, set, j) / self.gains.k_r).next_up()
    }

    /// Speed below which the controller does not trust the sign of the measured dq_j, rad/s: the stiction speed, plus
    /// the encoder's error, plus what the joint can gain within a tick; rounded up.
    pub fn sign_band(&self, robot: &Robot, j: usize) -> f64 {
        let gained = (self.gains.period_s * self.acceleration_bound[j]).next_up();
        let known = (self.gains.stiction_speed_rad_s + robot.sensors.velocity_rad_s).next_up();
        (known + gained).next_up()
    }
}

/// Smallest transmission inertia of joint `j` over the set: a lower bound of M along that joint, because the links'
/// own mass matrix is positive semidefinite for every physically consistent theta.
pub fn armature_floor(robot: &Robot, set: &ParameterSet, j: usize) -> f64 {
    set.lower[robot.friction_index(j) + ARMATURE]
}
