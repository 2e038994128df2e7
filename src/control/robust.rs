//! The robust passivity-based law whose tube is proven in [`crate::reach::tube`]: [`crate::reach::law`], run on plain numbers.

use std::sync::Arc;

use crate::dynamics::{Motion, momentum_regressor, torque_regressor};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::reach::law::{self, ByBox, Law, TorqueRow, energy_floor, robust};
use crate::reach::{PreparedSet, Tube};
use crate::robot::{Arm, Model};
use crate::trajectory::JointState;

use super::{Controller, Measured, MotorCommand, Tick};

/// Robust controller for one robot; the parameter set and the tube change with the plan.
#[derive(Debug, Clone)]
pub struct RobustController {
    robot: Arc<Arm>,
    set: Arc<PreparedSet>,
    tube: Tube,
    motion: Motion<f64>,
    regressor: Vec<f64>,
    dqa: Vec<f64>,
    ddqa: Vec<f64>,
    r: Vec<f64>,
    rho: Vec<f64>,
    pull: Vec<f64>,
    v: Vec<f64>,
    /// Where the feedback runs in the motors: the references of their loops, rad and rad/s.
    references: [Vec<f64>; 2],
}

impl RobustController {
    /// A controller for `robot` under the parameter set and tube of a certified plan. It prepares the set itself.
    pub fn new(robot: Arc<Arm>, set: &ParameterSet, tube: &Tube) -> Self {
        let set = Arc::new(PreparedSet::new(&robot, set));
        Self::with_prepared(robot, set, tube)
    }

    /// [`RobustController::new`] with the set as the plan's proof had it.
    ///
    /// # Panics
    /// If set or tube are of an arm with another number of joints: here, where they are handed over, and not in a tick.
    pub fn with_prepared(robot: Arc<Arm>, set: Arc<PreparedSet>, tube: &Tube) -> Self {
        let n = robot.dof();
        assert_fits(n, &set, tube);
        Self {
            motion: Motion::new(&robot),
            regressor: vec![0.0; INERTIAL * n * n],
            dqa: vec![0.0; n],
            ddqa: vec![0.0; n],
            r: vec![0.0; n],
            rho: vec![0.0; n],
            pull: vec![0.0; n],
            v: vec![0.0; n],
            references: [vec![0.0; n], vec![0.0; n]],
            set,
            tube: tube.clone(),
            robot,
        }
    }

    /// Switches to the set and tube of the next certified plan. It neither prepares nor asks for memory; the set before is handed back, to be
    /// let go where that costs no tick any time.
    ///
    /// # Panics
    /// As [`RobustController::with_prepared`].
    pub fn switch(&mut self, set: Arc<PreparedSet>, tube: &Tube) -> Arc<PreparedSet> {
        assert_fits(self.r.len(), &set, tube);
        self.tube.assign(tube);
        std::mem::replace(&mut self.set, set)
    }

    /// V^ at the measured positions, for the r of the tick.
    fn energy_bound(&mut self, q: &[f64]) -> f64 {
        self.motion.sweep(&self.robot, q, &self.r, &self.r, &self.r);
        momentum_regressor(&self.robot, &self.motion, 0..self.robot.dof(), &mut self.regressor);
        Law::new(&self.robot, &self.set, &self.tube).energy_bound(&self.r, &self.regressor)
    }
}

/// Whether set and tube are of an arm with `n` joints.
fn assert_fits(n: usize, set: &PreparedSet, tube: &Tube) {
    let floors = (tube.inertia_floor.len(), tube.lag_floor.len(), tube.drift_nm.len());
    let loops = tube.motor_loops.as_ref().is_none_or(|loops| loops.fault(n).is_none());
    assert!(
        set.joints() == n && floors == (n, n, n) && loops,
        "set or tube of another arm, expected {n} joints"
    );
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

    /// Adds the robust torque v for rho and r, given V^.
    fn add_robust(&mut self, energy: f64, tau: &mut [f64]) {
        let (tube, at) = (&self.tube, (&self.rho[..], &self.r[..]));
        let sums = robust::demand(tube, at, energy, &mut self.pull);
        self.v.fill(0.0);
        let Some(shares) = robust::shares(&sums) else { return };
        for (j, t) in tau.iter_mut().enumerate() {
            self.v[j] = robust::torque(&shares, self.pull[j], tube.inertia_floor[j], self.r[j]);
            *t += self.v[j];
        }
    }

    /// What loops in the motors are to do until the next tick; none where the feedback is in the torques of the tick.
    pub fn motor_command(&self) -> Option<MotorCommand<'_>> {
        let loops = self.tube.motor_loops.as_ref()?;
        let [position_rad, velocity_rad_s] = &self.references;
        let (gain_nms_rad, limit_nm) = (&loops.gain_nms_rad[..], &loops.limit_nm[..]);
        Some(MotorCommand { position_rad, velocity_rad_s, k_r: self.tube.gains.k_r, gain_nms_rad, limit_nm })
    }

    /// References of loops in the motors, for the middle of the tick, and what the loops add at its beginning by this reading.
    fn refer(&mut self, measured: Measured<'_>, desired: &JointState) {
        let half = 0.5 * self.tube.gains.period_s;
        for j in 0..self.r.len() {
            self.references[0][j] = desired.q[j] + half * desired.dq[j];
            self.references[1][j] = desired.dq[j] + half * desired.ddq[j];
        }
        let mut v = std::mem::take(&mut self.v);
        if let Some(command) = self.motor_command() {
            for (j, v) in v.iter_mut().enumerate() {
                *v = command.torque_nm(j, measured.q[j], measured.dq[j]);
            }
        }
        self.v = v;
    }

    /// What loops in the motors add at the beginning of the last tick, N m; nothing where there are none.
    pub fn in_motor(&self, joint: usize) -> f64 {
        if self.tube.motor_loops.is_some() { self.v[joint] } else { 0.0 }
    }

    /// v_j of the last tick, N m, no farther from zero than rho_j: what the arm needed beyond the nominal torques, as far as the set allows it.
    pub fn needed_beyond_nominal(&self, joint: usize) -> f64 {
        let (v, rho) = (self.v[joint], self.rho[joint]);
        if v.is_finite() && rho >= 0.0 { v.clamp(-rho, rho) } else { 0.0 }
    }
}

/// Half-width of the torque (N m) that the parameters of `set` leave open to each joint of `robot` in the state `at`, `t` seconds after
/// the start of the motion that the strips are for, Coulomb friction aside: by the box alone, and as the law takes it.
pub fn open_torque(robot: &Model, set: &PreparedSet, at: &JointState, t: f64) -> Vec<(f64, f64)> {
    let n = robot.bodies();
    let width = INERTIAL * n;
    let (mut motion, mut y) = (Motion::new(robot), vec![0.0; width * n]);
    motion.sweep(robot, &at.q, &at.dq, &at.dq, &at.ddq);
    torque_regressor(robot, &motion, 0..n, &mut y);
    let place = set.strips().map(|strips| (strips, strips.at(t)));
    let of = |j: usize| {
        let row = TorqueRow::new(&y, (j, width), at.dq[j], at.ddq[j]);
        let (_, by_box) = law::sums(set, j, (0.0, 0.0), (&row, &row));
        let Some((strips, place)) = place else { return (by_box, by_box) };
        let left = law::by_strips(set, j, (&place, strips.pair(&place, j)), &row);
        (by_box, law::by_either((by_box, 0.0), left))
    };
    (0..n).map(of).collect()
}

impl Controller for RobustController {
    fn tick(&mut self, t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        let n = self.robot.dof();
        let k_r = self.tube.gains.k_r;
        for j in 0..n {
            let (e, de) = (desired.q[j] - measured.q[j], desired.dq[j] - measured.dq[j]);
            self.dqa[j] = desired.dq[j] + k_r * e;
            self.ddqa[j] = desired.ddq[j] + k_r * de;
            self.r[j] = de + k_r * e;
        }
        self.motion.sweep(&self.robot, measured.q, measured.dq, &self.dqa, &self.ddqa);
        torque_regressor(&self.robot, &self.motion, 0..n, &mut self.regressor);
        let law = Law::new(&self.robot, &self.set, &self.tube);
        let place = self.set.strips().map(|strips| (strips, strips.at(t)));
        for j in 0..n {
            let row = TorqueRow::new(&self.regressor, (j, INERTIAL * n), measured.dq[j], self.ddqa[j]);
            let ByBox { mut nominal, charge, left: mut by_set } = law.by_box(j, &row, &row);
            if let Some((strips, place)) = &place {
                let left = law::by_strips(&self.set, j, (place, strips.pair(place, j)), &row);
                nominal += left.0;
                by_set = law::by_either((by_set, charge), left);
            }
            tau[j] = nominal;
            self.rho[j] = law.disturbance(j, by_set);
        }
        let energy = self.energy_bound(measured.q);
        if self.tube.motor_loops.is_some() {
            self.refer(measured, desired);
        } else {
            self.add_robust(energy, tau);
        }
        let mut saturated = false;
        let in_motors = self.tube.motor_loops.is_some();
        for (j, (t, joint)) in tau.iter_mut().zip(&self.robot.joints).enumerate() {
            let limit = joint.limits.torque;
            // What a loop in the motor adds counts as well: the drive cuts the sum.
            let whole = *t + if in_motors { self.v[j] } else { 0.0 };
            saturated |= whole.is_nan() || whole.abs() > limit;
            // A torque that is not a number becomes none at all.
            *t = if t.is_nan() { 0.0 } else { t.clamp(-limit, limit) };
        }
        Tick { energy_j: energy, energy_floor_j: energy_floor(&self.tube, &self.r), saturated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inertia::COULOMB;
    use crate::reach::fixture;

    #[test]
    fn what_is_of_another_arm_is_refused_before_any_tick() {
        let arm = |name: &str| Arc::new(crate::robot::load(name).unwrap());
        let (gen3, z1) = (arm("kinova_gen3_2f85"), arm("z1"));
        let set = |robot: &Arm| Arc::new(PreparedSet::new(robot, &ParameterSet::around_nominal(robot)));
        let with = |set: &Arc<PreparedSet>, tube: &Tube| {
            let (robot, set) = (gen3.clone(), set.clone());
            std::panic::catch_unwind(move || RobustController::with_prepared(robot, set, tube)).is_ok()
        };
        let (own, other) = (fixture::tube(&gen3), fixture::tube(&z1));
        assert!(with(&set(&gen3), &own));
        assert!(!with(&set(&z1), &own) && !with(&set(&gen3), &other));
        let mut controller = RobustController::with_prepared(gen3.clone(), set(&gen3), &own);
        let refused = std::panic::AssertUnwindSafe(|| drop(controller.switch(set(&z1), &own)));
        assert!(std::panic::catch_unwind(refused).is_err());
    }

    /// Where a joint may stick the law counts with all that it may need to break away, and where its sign is known with none of it.
    #[test]
    fn what_a_joint_needs_to_break_away_is_in_rho_where_it_may_stick() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let (n, tube) = (robot.dof(), fixture::tube(&robot));
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
