//! The tracking tube: what the controller promises, and the numbers that the promise rests on.
//!
//! # What is proven
//! Assumed: A1 to A4 (see [`crate::certify`]); a command acts at the tick of its reading; the torque that acts is the command but for what the
//! drives do beside it, [`crate::robot::DriveBounds`]; the friction law holds above the
//! stiction speed, and below it |friction - F_v dq - beta - I_a ddq| is at most F_c times the robot's `breakaway_ratio`; gravity is
//! within the robot's `gravity_direction_deg` of where its file says ([`super::gravity`]).
//!
//! Notation: e = q_d - q, r = de + K_r e, dq_a = dq_d + K_r e, ddq_a = ddq_d + K_r de; M includes the transmission
//! inertia, V = r'M(q; theta) r / 2. At each tick k (period h) the controller measures q^, dq^, forms
//! tau_k = \[Y theta_0 + friction(theta_0)\] + v_k at the measured state and holds it. Then, for t in the tick,
//! M dr/dt + C r = w(t) - v_k with w(t) = (what the motion needs at t under the true theta) - (nominal part of tau_k) - x(t), where x
//! is what acts beside the command: |x_j| <= b_j + k_j |tau_k,j| + u_j for the drive's error b_j, k_j and the unmodelled torque u_j.
//!
//! * **Disturbance.** |w_j| <= rho_j = sup over the set of |Y_k (theta - theta_0)|_j + Coulomb charge + D_j, where the
//!   *drift* D_j bounds, for the theta that the arm moves with, whichever of the set it is, the change of Y theta between the
//!   measured state at the tick and the true state anywhere in the tick, what the direction of gravity may change, and x_j under the largest command. The first part is linear in theta, hence exact over a box.
//! * **Law.** With P = sum rho_j |r^_j|, V^ = sup over the set of r^'M(q^)r^/2 + nu, the *floor* A with M >= diag(A) on the tube,
//!   u_j = min(rho_j, A_j |r^_j| / (c h)) for a number c >= 1 of *layer ticks*, and
//!   demand = P + (h/2) sum rho_j^2 / A_j + beta - alpha max(0, V_max - V^), grip = sum u_j |r^_j| + (h/2) sum u_j (2 rho_j - u_j) / A_j:
//!   v = 0 if demand <= 0, else v_j = kappa u_j sign(r^_j) + mu A_j r^_j / sum A_i r^_i^2 with kappa = min(1, demand / grip) and the
//!   *rest* mu = max(0, demand - grip). So each joint is asked for its own uncertainty and not for that of others, but
//!   within its layer |r^_j| < c h rho_j / A_j, where less will do; what is missing there the rest supplies.
//! * **Claim.** V(0) <= (1 + x) V_max implies V <= (1 + x) V_max for all time, for any x in \[0, 2^-21\], if the constants satisfy the conditions below.
//!
//! Proof. C r drops out of dV/dt (dM/dt - 2C is skew), so dV/dt = r(t)'d(t), d = w - v_k, and r(t) = r^_k + delta_r +
//! int M^-1 (d - C r). Let A = diag(A_j) <= M. Over \[t_k, t_k + s\], s <= h, Cauchy-Schwarz gives
//! int r'd <= int \[ r^'d + (s/2) d'A^-1 d + delta_r'd + (s/2) c |d| \] with norms weighted by A^-1, which bound those by M^-1,
//! c >= |C r|, and |d| at its supremum in the last term. For fixed v_k the first two terms are a sum of convex functions of each w_j, largest at
//! w_j = +-rho_j; as long as the *gain condition* h |v_j| <= A_j |r^_j| holds, the larger one is w_j = rho_j sign(r^_j): its rival
//! -rho_j sign(r^_j) loses 2 rho_j |r^_j| in the first term and gains at most 2 h rho_j |v_j| / A_j in the second (A is diagonal, so the
//! joints do not mix). There |d_j| = |rho_j - kappa u_j - m_j| with the rest's m_j = mu A_j |r^_j| / sum A r^^2, and
//! - if mu = 0: d_j^2 is convex in kappa, hence at most (1 - kappa) rho_j^2 + kappa (rho_j - u_j)^2, so the first two terms are at most
//!   P - kappa sum u |r^| + (h/2) sum rho^2 / A - kappa (h/2) sum u (2 rho - u) / A = demand + alpha max(0, V_max - V^) - beta - kappa grip;
//! - if mu > 0: kappa = 1 and d_j^2 <= (rho_j - u_j)^2 + m_j^2, as rho_j - u_j >= 0 and m_j >= 0, so they are at most the same with kappa = 1, less
//!   sum m_j |r^_j| = mu, plus (h/2) sum m_j^2 / A_j.
//!
//! Either way the law makes them at most alpha max(0, V_max - V^) - beta + (h/2) sum m^2 / A. With the *hold power*
//! beta >= (h/2) sup sum m_j^2 / A_j + sum |delta_r,j| (rho_j + |v_j|) + (h/2) c (|rho| + |v|), that is V(t_k + s) <= V(t_k) + s alpha max(0, V_max - V^).
//! The *slack* nu >= |V(t_k) - r^'M(q^)r^/2| makes V^ >= V(t_k), and
//! alpha h <= 1 then gives V(t_k + s) <= max(V(t_k), V_max). Induction over ticks ends the proof: V <= (1 + x) V_max throughout.
//!
//! All bounds are taken over the *tube*, the states with V <= (1 + 2^-20) V_max: A <= M, proven cell by cell, gives sum A_j r_j^2 <= 2 V there, so
//! |r_j| <= eps_j = sqrt(2 V / A_j), and e is r through a first-order lag, so |e_j| <= eps_j / K_r and all of
//! [`super::extent`] (it starts inside). The argument is
//! not circular: V is continuous, so a first time at which it leaves the tube would be preceded by a while in
//! ((1 + x) V_max, (1 + 2^-20) V_max], during which all bounds hold and hence V cannot have risen there from (1 + x) V_max.
//!
//! **Ticks and cells.** rho, D, beta and the rest are bounded cell by cell; a cell holds everything that happens in the ticks
//! that begin in its time span (see [`super::cell`]), so each tick is covered by one cell.
//!
//! **Rounding.** The controller computes r^, Y_k, P, V^ and v in floating point. Errors of r^ and of the desired motion
//! count as sensor errors ([`super::cell::Deviation`]); those of the nominal torque and of rho as drift, that of V^ as slack, those of
//! the law as hold power ([`super::roundoff`], [`super::law`]): the certifier asks for larger D, nu and beta.
//!
//! **Change of plan.** V contains neither theta_0 nor the set or the constants; it changes at a switch only as r
//! does. What the new curve misses of the old one's desired state is enclosed and charged to x, switch by switch; V_max and e_j's bound must
//! not shrink below where the state may be: [`crate::certify::switch`] proves it.
//!
//! The certifier evaluates rho, D, beta, nu, c, the gain condition and the acceleration bound over the whole plan with
//! outward rounding and refuses a plan whose stored constants are smaller than what it finds.

use serde::{Deserialize, Serialize};

use crate::robot::{Gains, Sensors};

use super::motor_loops::MotorLoops;
use super::upward::{div_up, mul_up};

/// The tube's level of V, relative to V_max: 1 + 2^-20. What is above V_max is for the switches between plans ([`crate::certify::switch`]), some
/// thousands of them.
pub(crate) const LEVEL: f64 = 1.0 + 1.0 / (1_u64 << 20) as f64;

/// Constants of the robust law for one plan, and of the proof that goes with it. Stored in the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Tube {
    /// Gains, V_max and the control period.
    pub gains: Gains,
    /// c >= 1: ticks in which the robust torque alone would bring a joint to rest that is within its layer. Fewer save
    /// power, more are gentler.
    pub layer_ticks: f64,
    /// A_j, kg m^2 (kg): M(q; theta) >= diag(A) on the tube.
    pub inertia_floor: Vec<f64>,
    /// As A_j, for the errors of position: none above A_j, and none that earlier plans of the run had below.
    pub lag_floor: Vec<f64>,
    /// D_j, N m: change of the required torque within one tick and by measurement errors.
    pub drift_nm: Vec<f64>,
    /// beta, W: power that holding the input for a tick can cost.
    pub hold_power_w: f64,
    /// nu, J: error of V evaluated at the measured instead of the true state.
    pub energy_slack_j: f64,
    /// Bound on |ddq_j|, rad/s^2.
    pub acceleration_bound: Vec<f64>,
    /// Where the feedback runs in the motors: the constants of their loops ([`super::motor_loops`]). Layer, hold power and alpha then have no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motor_loops: Option<Box<MotorLoops>>,
}

impl Tube {
    /// Makes the tube the same as `other`, in the memory that it has.
    pub fn assign(&mut self, other: &Self) {
        let Self { inertia_floor, lag_floor, drift_nm, acceleration_bound, motor_loops, .. } = self;
        inertia_floor.clone_from(&other.inertia_floor);
        lag_floor.clone_from(&other.lag_floor);
        drift_nm.clone_from(&other.drift_nm);
        acceleration_bound.clone_from(&other.acceleration_bound);
        match (motor_loops, &other.motor_loops) {
            (Some(own), Some(other)) => own.assign(other),
            (own, other) => own.clone_from(other),
        }
        let Self { gains, layer_ticks, hold_power_w, energy_slack_j, .. } = self;
        (*gains, *layer_ticks) = (other.gains, other.layer_ticks);
        (*hold_power_w, *energy_slack_j) = (other.hold_power_w, other.energy_slack_j);
    }

    /// The tube's level of V, J: (1 + 2^-20) V_max, rounded up.
    pub fn level_j(&self) -> f64 {
        mul_up(LEVEL, self.gains.v_max)
    }

    /// Radius of r_j: sqrt(2 V / A_j) at V = (1 + 2^-20) V_max; rounded up.
    /// Infinite where A_j is not positive: there is then no bound.
    pub fn r_radius(&self, j: usize) -> f64 {
        self.radius(self.inertia_floor[j])
    }

    /// Radius of the position error e_j, rad: the same with the floor of the lag, divided by K_r; rounded up.
    pub fn e_radius(&self, j: usize) -> f64 {
        (self.radius(self.lag_floor[j]) / self.gains.k_r).next_up()
    }

    fn radius(&self, floor: f64) -> f64 {
        if floor > 0.0 { div_up(2.0 * self.level_j(), floor).sqrt().next_up() } else { f64::INFINITY }
    }

    /// Time on a curve of `duration_s` after so many ticks of its plan, s: past the end, the end. The loop, the controller and the proof all take it
    /// from here.
    pub fn time_of_tick(&self, duration_s: f64, ticks: u64) -> f64 {
        (ticks as f64 * self.gains.period_s).min(duration_s)
    }

    /// Speed below which the controller does not trust the sign of the measured dq_j, rad/s: the stiction speed, plus
    /// the encoder's error, plus what the joint can gain within a tick; rounded up.
    pub fn sign_band(&self, sensors: &Sensors, j: usize) -> f64 {
        let gained = (self.gains.period_s * self.acceleration_bound[j]).next_up();
        let known = (self.gains.stiction_speed_rad_s + sensors.velocity_rad_s).next_up();
        (known + gained).next_up()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enclose::twofold::Twofold;
    use crate::reach::fixture;
    use crate::reach::formulas;
    use crate::robot::Arm;

    fn tube() -> (Arm, Tube) {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let mut tube = fixture::tube(&robot);
        for (j, lag) in tube.lag_floor.iter_mut().enumerate() {
            *lag *= 1.0 - 0.1 * j as f64;
        }
        (robot, tube)
    }

    /// A x^2 / 2, without a rounding that matters.
    fn energy(floor: f64, x: f64) -> Twofold {
        Twofold::from(0.5 * floor).mul(Twofold::product(x, x))
    }

    #[test]
    fn radii_reach_the_level_and_hardly_further() {
        let (robot, tube) = tube();
        let level = Twofold::from(tube.gains.v_max).mul(Twofold::from(1.0 + 2f64.powi(-20)));
        for j in 0..robot.dof() {
            let r = tube.r_radius(j);
            assert!(energy(tube.inertia_floor[j], r).sub(level).head >= 0.0);
            assert!(r <= formulas::r_radius(&tube, j) * (1.0 + 1e-6));
            // K_r e, rounded to twice the precision, is an r of the floor of the lag.
            let lag = Twofold::product(tube.gains.k_r, tube.e_radius(j));
            let reached = Twofold::from(0.5 * tube.lag_floor[j]).mul(lag.mul(lag));
            assert!(reached.sub(level).head >= 0.0);
            assert!(tube.e_radius(j) <= formulas::e_radius(&tube, j) * (1.0 + 1e-6));
        }
        let mut loose = tube.clone();
        loose.inertia_floor[0] = 0.0;
        assert_eq!(loose.r_radius(0), f64::INFINITY);
    }

    #[test]
    fn the_band_of_doubtful_signs_has_three_parts() {
        let (robot, tube) = tube();
        for j in 0..robot.dof() {
            let (found, right) = (tube.sign_band(robot.sensors(), j), formulas::sign_band(&tube, &robot, j));
            assert!((right..=right * (1.0 + 1e-14)).contains(&found), "{found} for {right}");
        }
    }
}
