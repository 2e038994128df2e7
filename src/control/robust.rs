//! The robust passivity-based law whose tube is proven in [`crate::reach::tube`].

use std::sync::Arc;

use crate::dynamics::{Motion, momentum_regressor, torque_regressor};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::reach::Tube;
use crate::reach::strips::{Between, OWN, PreparedStrips};
use crate::reach::tube::LEVEL;
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::{Controller, Measured, Tick};

/// Above this multiple of V_max a lower bound of V proves that an assumption is broken: farther from the tube's level than the
/// rounding of that lower bound, a sum of a few dozen terms, can reach.
const BROKEN: f64 = 1.0 + 1.0 / (1_u64 << 16) as f64;
const _: () = assert!(BROKEN > LEVEL);

/// Energy, J, that a lower bound of V, computed in `f64`, cannot pass while all assumptions hold.
pub fn broken_above_j(tube: &Tube) -> f64 {
    BROKEN * tube.gains.v_max
}

/// Robust controller for one robot; the parameter set and the tube change with the plan.
#[derive(Debug, Clone)]
pub struct RobustController {
    robot: Arc<Arm>,
    center: Vec<f64>,
    radius: Vec<f64>,
    strips: Option<PreparedStrips>,
    tube: Tube,
    motion: Motion<f64>,
    regressor: Vec<f64>,
    dqa: Vec<f64>,
    ddqa: Vec<f64>,
    r: Vec<f64>,
    rho: Vec<f64>,
    pull: Vec<f64>,
}

impl RobustController {
    /// A controller for `robot` under the parameter set and tube of a certified plan.
    pub fn new(robot: Arc<Arm>, set: &ParameterSet, tube: &Tube) -> Self {
        let n = robot.dof();
        let (center, radius) = (set.center(), set.radius());
        Self {
            strips: PreparedStrips::new(&robot, set, &center, &radius),
            motion: Motion::new(&robot),
            regressor: vec![0.0; INERTIAL * n * n],
            dqa: vec![0.0; n],
            ddqa: vec![0.0; n],
            r: vec![0.0; n],
            rho: vec![0.0; n],
            pull: vec![0.0; n],
            center,
            radius,
            tube: tube.clone(),
            robot,
        }
    }

    /// Switches to the set and tube of the next certified plan.
    pub fn switch(&mut self, set: &ParameterSet, tube: &Tube) {
        self.center = set.center();
        self.radius = set.radius();
        self.strips = PreparedStrips::new(&self.robot, set, &self.center, &self.radius);
        self.tube = tube.clone();
    }

    /// Nominal torque of one joint and what it adds to the disturbance bound, links' part excluded: all of friction, armature and
    /// offset, and Coulomb friction alone.
    fn joint_part(&self, j: usize, dq: f64) -> (f64, f64, f64) {
        let at = self.robot.friction_index(j);
        let (c, g) = (&self.center[at..at + 4], &self.radius[at..at + 4]);
        let band = self.tube.sign_band(&self.robot, j);
        // Where the sign of the true velocity is in doubt, anything in [-F_c, F_c] may act, and below the stiction speed as much more
        // as a joint needs to break away: to compensate nothing leaves least.
        let doubtful = || self.robot.uncertainty().breakaway_ratio * (c[COULOMB].abs() + g[COULOMB]);
        let (sign, charge) = if dq.abs() > band { (dq.signum(), g[COULOMB]) } else { (0.0, doubtful()) };
        let nominal = c[COULOMB] * sign + c[VISCOUS] * dq + c[ARMATURE] * self.ddqa[j] + c[OFFSET];
        let spread = charge + g[VISCOUS] * dq.abs() + g[ARMATURE] * self.ddqa[j].abs() + g[OFFSET];
        (nominal, spread, charge)
    }

    /// V >= sum A_j r_j^2 / 2 - nu, because M >= diag(A).
    fn energy_floor(&self) -> f64 {
        let own = (0..self.robot.dof()).map(|j| 0.5 * self.tube.inertia_floor[j] * self.r[j] * self.r[j]);
        own.sum::<f64>() - self.tube.energy_slack_j
    }

    /// V^ = sup over the set of r'M(q)r/2 + nu: linear in the parameters through the momentum regressor at dq := r.
    fn energy_bound(&mut self, q: &[f64]) -> f64 {
        let n = self.robot.dof();
        let width = INERTIAL * n;
        self.motion.sweep(&self.robot, q, &self.r, &self.r, &self.r);
        momentum_regressor(&self.robot, &self.motion, 0..n, &mut self.regressor);
        let mut energy = self.tube.energy_slack_j;
        for p in 0..width {
            let y: f64 = (0..n).map(|j| self.r[j] * self.regressor[width * j + p]).sum();
            energy += 0.5 * (y * self.center[p] + y.abs() * self.radius[p]);
        }
        for j in 0..n {
            let at = self.robot.friction_index(j) + ARMATURE;
            energy += 0.5 * (self.center[at] + self.radius[at]) * self.r[j] * self.r[j];
        }
        energy
    }
}

/// Room for the roundings of a few dozen operations.
const ROUNDED: f64 = 1.0 + 1e-12;

/// The arm does not stand where a plan from rest starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartFault {
    /// The joint that is furthest off, weighted by its inertia.
    pub joint: usize,
    /// How far it is measured to be off, rad.
    pub error_rad: f64,
    /// The larger of what V may be and of what the position errors alone would make of it, over V_max.
    pub share: f64,
}

impl RobustController {
    /// Whether the arm may be released into a plan that starts at rest at `desired`, given the readings of its first tick: `None` if V <= V_max and the
    /// position errors are within the tube's level set, whatever the sensors' errors and the parameters of the set are.
    ///
    /// Proof. Let e^, r^ be measured. *Positions*: |e_j| <= |e^_j| + delta_q, so sum L_j (K_r e_j)^2 / 2 is at most what is compared with V_max. *Energy*: move the
    /// state straight from the reading to the truth. All the way the reading is within its errors of the state, so V there is at most V^ as long as the state is in the
    /// tube, for which the slack was proven; it starts at r^'M r^ / 2 <= V^ <= V_max, within the tube, and cannot leave it without passing V^. Rounding of V^ is part of
    /// the slack; that of the rest, sums of positive terms, is below `ROUNDED`'s allowance.
    pub fn start_fault(&mut self, measured: Measured<'_>, desired: &JointState) -> Option<StartFault> {
        let n = self.robot.dof();
        let (k_r, v_max) = (self.tube.gains.k_r, self.tube.gains.v_max);
        let off = self.robot.sensors().position_rad;
        let error = |j: usize| desired.q[j] - measured.q[j];
        let lagging = |j: usize| {
            let lag = k_r * (error(j).abs() + off);
            0.5 * self.tube.lag_floor[j] * lag * lag
        };
        let positions = ROUNDED * (0..n).map(lagging).sum::<f64>();
        let joint = (0..n).fold(0, |most, j| if lagging(j) > lagging(most) { j } else { most });
        for j in 0..n {
            self.r[j] = desired.dq[j] - measured.dq[j] + k_r * error(j);
        }
        let energy = self.energy_bound(measured.q);
        // NaN is no proof either.
        let fine = positions <= v_max && energy <= v_max;
        let share = if energy.is_nan() { f64::NAN } else { positions.max(energy) / v_max };
        (!fine).then(|| StartFault { joint, error_rad: error(joint), share })
    }

    /// Adds the robust torque v ([`crate::reach::tube`], law) for rho and r, given V^ and a lower bound of V.
    fn add_robust(&mut self, energy: f64, energy_floor: f64, tau: &mut [f64]) {
        let h = self.tube.gains.period_s;
        let (mut power, mut held, mut grip, mut spread) = (0.0, 0.0, 0.0, 0.0);
        for j in 0..tau.len() {
            let (rho, r, floor) = (self.rho[j], self.r[j].abs(), self.tube.inertia_floor[j]);
            let pull = (floor * r / (self.tube.layer_ticks * h)).min(rho);
            power += rho * r;
            held += 0.5 * h * rho * rho / floor;
            grip += pull * r + 0.5 * h * pull * (rho + (rho - pull)) / floor;
            spread += floor * r * r;
            self.pull[j] = pull;
        }
        let gains = &self.tube.gains;
        // Past this an assumption is broken and nothing is promised any more: pull back harder, as the actuators allow.
        // Within the promise the excess is exactly zero, so the law is the proven one.
        let excess = (energy_floor - broken_above_j(&self.tube)).max(0.0);
        let room = (gains.v_max - energy).max(0.0);
        let demand = power + held + self.tube.hold_power_w - gains.alpha * room + gains.alpha * excess;
        if !(demand > 0.0 && spread > 0.0) {
            return;
        }
        let kappa = (demand / grip).min(1.0);
        let rest = (demand - grip).max(0.0) / spread;
        for (j, t) in tau.iter_mut().enumerate() {
            *t += kappa * self.pull[j] * self.r[j].signum() + rest * self.tube.inertia_floor[j] * self.r[j];
        }
    }
}

/// What the law takes of the strips at time `t` of the plan, s: hat functions of time.
fn at_time(strips: &PreparedStrips, t: f64) -> Between<f64> {
    let times = &strips.times;
    let second = times.partition_point(|x| *x <= t).max(1).min(times.len() - 1);
    let first = second.saturating_sub(1);
    let length = times[second] - times[first];
    let share = if length > 0.0 { ((t - times[first]) / length).clamp(0.0, 1.0) } else { 1.0 };
    Between { first, second, share }
}

/// What the law adds to the nominal torque of joint `j` (N m), and what the strips leave of rho but for Coulomb friction and drift,
/// for its torque row: `row` in the links' columns and `own` in those of [`OWN`]; the radii are their g.
fn strip_bounds(
    strips: &PreparedStrips,
    at: Between<f64>,
    j: usize,
    (row, radius): (&[f64], &[f64]),
    (own, own_radius): ([f64; 3], [f64; 3]),
) -> (f64, f64) {
    let (a, b) = (strips.strip(at.first, j), strips.strip(at.second, j));
    let rest = 1.0 - at.share;
    let mix = |x: f64, y: f64| rest * x + at.share * y;
    let mut known = mix(a.half, b.half);
    for (((y, g), x), z) in row.iter().zip(radius).zip(&a.links).zip(&b.links) {
        known += (y - mix(*x, *z)).abs() * g;
    }
    for ((y, g), (x, z)) in own.iter().zip(own_radius).zip(a.own.iter().zip(b.own)) {
        known += (y - mix(*x, z)).abs() * g;
    }
    (mix(a.shift, b.shift), known)
}

/// Half-width of the torque (N m) that the parameters of `set` leave open to each joint of `robot` in the state `at`, `t` seconds after
/// the start of the motion that the strips are for, Coulomb friction aside: by the box alone, and as the law takes it.
pub fn open_torque(robot: &Arm, set: &ParameterSet, at: &JointState, t: f64) -> Vec<(f64, f64)> {
    let (n, width) = (robot.dof(), INERTIAL * robot.dof());
    let (center, radius) = (set.center(), set.radius());
    let strips = PreparedStrips::new(robot, set, &center, &radius);
    let (mut motion, mut y) = (Motion::new(robot), vec![0.0; width * n]);
    motion.sweep(robot, &at.q, &at.dq, &at.dq, &at.ddq);
    torque_regressor(robot, &motion, 0..n, &mut y);
    let of = |j: usize| {
        let row = &y[width * j..width * (j + 1)];
        let own = [at.dq[j], at.ddq[j], 1.0];
        let own_radius = OWN.map(|column| radius[robot.friction_index(j) + column]);
        let sum = |y: &[f64], g: &[f64]| y.iter().zip(g).map(|(y, g)| y.abs() * g).sum::<f64>();
        let by_box = sum(row, &radius) + sum(&own, &own_radius);
        let Some(strips) = &strips else { return (by_box, by_box) };
        let between = at_time(strips, t);
        let (shift, known) = strip_bounds(strips, between, j, (row, &radius), (own, own_radius));
        (by_box, known.min(by_box + shift.abs()))
    };
    (0..n).map(of).collect()
}

impl Controller for RobustController {
    fn tick(&mut self, t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        let n = self.robot.dof();
        let width = INERTIAL * n;
        let k_r = self.tube.gains.k_r;
        for j in 0..n {
            let (e, de) = (desired.q[j] - measured.q[j], desired.dq[j] - measured.dq[j]);
            self.dqa[j] = desired.dq[j] + k_r * e;
            self.ddqa[j] = desired.ddq[j] + k_r * de;
            self.r[j] = de + k_r * e;
        }
        self.motion.sweep(&self.robot, measured.q, measured.dq, &self.dqa, &self.ddqa);
        torque_regressor(&self.robot, &self.motion, 0..n, &mut self.regressor);
        let strips_now = self.strips.as_ref().map(|strips| (strips, at_time(strips, t)));
        for j in 0..n {
            let (mut nominal, mut rho, charge) = self.joint_part(j, measured.dq[j]);
            let row = &self.regressor[width * j..width * (j + 1)];
            for (y, (c, g)) in row.iter().zip(self.center.iter().zip(&self.radius)) {
                nominal += y * c;
                rho += y.abs() * g;
            }
            if let Some((strips, at)) = strips_now {
                let own_radius = OWN.map(|column| self.radius[self.robot.friction_index(j) + column]);
                let own = ([measured.dq[j], self.ddqa[j], 1.0], own_radius);
                let (shift, known) = strip_bounds(strips, at, j, (row, &self.radius), own);
                nominal += shift;
                rho = (rho + shift.abs()).min(charge + known);
            }
            tau[j] = nominal;
            self.rho[j] = rho + self.tube.drift_nm[j];
        }
        let energy = self.energy_bound(measured.q);
        let floor = self.energy_floor();
        self.add_robust(energy, floor, tau);
        let mut saturated = false;
        for (t, joint) in tau.iter_mut().zip(&self.robot.joints) {
            let limit = joint.limits.torque;
            saturated |= t.is_nan() || t.abs() > limit;
            // A torque that is not a number becomes none at all.
            *t = if t.is_nan() { 0.0 } else { t.clamp(-limit, limit) };
        }
        Tick { energy_j: energy, energy_floor_j: floor, saturated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tube_fit;

    /// Where a joint may stick the law counts with all that it may need to break away, and where its sign is known with none of it.
    #[test]
    fn what_a_joint_needs_to_break_away_is_in_rho_where_it_may_stick() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let (n, tube) = (robot.dof(), tube_fit::initial(&robot));
        let set = ParameterSet::around_nominal(&robot);
        let rho = |breakaway: f64, speed: f64| {
            let mut robot = robot.clone();
            robot.stated().uncertainty.breakaway_ratio = breakaway;
            let mut controller = RobustController::new(Arc::new(robot), &set, &tube);
            let desired = JointState { q: vec![0.3; n], dq: vec![speed; n], ddq: vec![0.0; n] };
            let measured = Measured { q: &desired.q, dq: &desired.dq };
            controller.tick(0.0, measured, &desired, &mut vec![0.0; n]);
            controller.rho
        };
        for (speed, sticks) in [(0.0, true), (0.5, false)] {
            let (equal, more) = (rho(1.0, speed), rho(1.5, speed));
            for j in 0..n {
                let coulomb = set.upper()[robot.friction_index(j) + COULOMB];
                let expected = if sticks { 0.5 * coulomb } else { 0.0 };
                assert!((more[j] - equal[j] - expected).abs() < 1e-9, "joint {j} at {speed} rad/s");
            }
        }
    }
}
