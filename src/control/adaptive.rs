//! The adaptive controller of Slotine and Li \[7\], the baseline `adap-1` of [1, Table II].
//!
//! ```text
//! tau = Y(q, dq, dq_r, ddq_r) theta^ + f(dq, ddq_r) + K_D s
//! d theta^/dt = Gamma Y_e' s
//! s = de + Lambda e,   dq_r = dq_d + Lambda e,   e = q_d - q
//! ```
//!
//! *Source*: \[7\]. With V = (s'M s + theta~' Gamma^-1 theta~) / 2 it has dV/dt = -s'K_D s, whatever the body is. It keeps the estimate in no set, so the estimate
//! may be no body that can exist; nor has it a dead zone. Both are left as they are. \[24\] adds a switching torque for errors of the other links and divides Gamma by
//! 1 + |s|^2; neither is in \[7\], and neither is here.
//!
//! *Ours*: only the ten inertial parameters of the end effector's body are adapted (Y_e are its columns of Y), as \[24\] does; the other bodies are those of
//! the model that is given. Friction and transmission f are fed forward by the model as in the proven law. Gamma = gamma diag(w^2) with w as large as the
//! parameters may be off, half the widths of a prior, so that gamma (1/J) says how fast: a body that is wrong by w in one parameter counts 1 / (2 gamma) in V.
//! The estimate is integrated by Euler's rule, once a tick, and stands still while a torque is cut at its limit.
//!
//! *Gains*: K_D Lambda and K_D + M Lambda are about the stiffness and the damping of [`super::PidGains::default`]; w is the prior of the shipped dumbbell of
//! 8 lb. With them the empty arm follows half a radian in 3 s in all joints to 0.03 mrad, to 0.24 mrad where links and friction are 5 % more than modelled, and
//! to 4.9 mrad with 8 lb in its hand that the first estimate lacks (readings with the sensors' errors, friction with breakaway).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dynamics::torque_regressor;
use crate::inertia::{INERTIAL, PARAMETER_NAMES};
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::baseline::{Allowed, JointGain, NominalModel, Output, check_number, readable};
use super::{Controller, Measured, Tick};

/// Gains of [`AdaptiveController`]; the defaults are tuned for the empty Kinova Gen3 at 1 kHz.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveGains {
    /// Lambda, 1/s, above 0.
    pub lambda: JointGain,
    /// K_D, N m s/rad, above 0.
    pub damping: JointGain,
    /// gamma, 1/J, not below 0; 0 adapts nothing.
    pub adaptation: f64,
    /// w: how far each of the ten parameters may be off, in its unit and the order of [`PARAMETER_NAMES`]; not below 0, and 0 for one that is known.
    pub parameter_scale: [f64; INERTIAL],
}

impl Default for AdaptiveGains {
    fn default() -> Self {
        Self {
            lambda: JointGain::All(20.0),
            damping: JointGain::All(200.0),
            adaptation: 4.0,
            parameter_scale: [2.0, 0.4, 0.4, 0.45, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
        }
    }
}

impl AdaptiveGains {
    /// Whether they are gains for an arm with so many joints.
    ///
    /// # Errors
    /// The field that is not, and what was expected.
    pub fn check(&self, joints: usize) -> Result<(), String> {
        self.lambda.check("lambda", joints, Allowed::Positive)?;
        self.damping.check("damping", joints, Allowed::Positive)?;
        check_number("adaptation", self.adaptation, Allowed::NotNegative)?;
        self.parameter_scale.iter().zip(PARAMETER_NAMES).try_for_each(|(scale, name)| {
            check_number(&format!("parameter_scale, {name}"), *scale, Allowed::NotNegative)
        })
    }
}

/// The adaptive controller of Slotine and Li; see [the module](self). The tick neither allocates nor panics.
#[derive(Debug, Clone)]
pub struct AdaptiveController {
    model: NominalModel,
    output: Output,
    lambda: Vec<f64>,
    damping: Vec<f64>,
    /// Diagonal of Gamma.
    rates: [f64; INERTIAL],
    regressor: Vec<f64>,
    dqr: Vec<f64>,
    ddqr: Vec<f64>,
    s: Vec<f64>,
    period_s: f64,
}

impl AdaptiveController {
    /// A controller for `robot` whose model is `model`: all parameters, in the order of [`crate::inertia::ParameterSet::center`]. The estimate starts from
    /// the model's end effector.
    ///
    /// # Errors
    /// In words, if the gains or the model are none for this arm.
    pub fn new(robot: Arc<Arm>, model: &[f64], gains: AdaptiveGains) -> Result<Self, String> {
        let n = robot.dof();
        gains.check(n)?;
        Ok(Self {
            output: Output::new(&robot),
            lambda: gains.lambda.spread(n),
            damping: gains.damping.spread(n),
            rates: gains.parameter_scale.map(|w| gains.adaptation * w * w),
            regressor: vec![0.0; INERTIAL * n * n],
            dqr: vec![0.0; n],
            ddqr: vec![0.0; n],
            s: vec![0.0; n],
            period_s: robot.gains().period_s,
            model: NominalModel::new(robot, model)?,
        })
    }

    /// The same controller whose estimate of the end effector's body is `body`, in the order of [`PARAMETER_NAMES`].
    #[must_use]
    pub fn with_estimate(mut self, body: &[f64; INERTIAL]) -> Self {
        let at = self.model.robot.body_range(self.model.robot.end_effector());
        self.model.theta[at].copy_from_slice(body);
        self
    }

    /// Estimate of the inertial parameters of the end effector's body with what it holds, in the order of [`PARAMETER_NAMES`] and about the frame of
    /// its joint.
    pub fn estimate(&self) -> [f64; INERTIAL] {
        let first = self.model.robot.body_range(self.model.robot.end_effector()).start;
        std::array::from_fn(|p| self.model.theta[first + p])
    }

    /// One step of the estimate, from the motion of the tick.
    fn adapt(&mut self) {
        let NominalModel { robot, theta, motion, .. } = &mut self.model;
        let (n, e) = (robot.dof(), robot.end_effector());
        torque_regressor(robot, motion, e..e + 1, &mut self.regressor);
        let first = robot.inertial_index(e);
        for (p, rate) in self.rates.iter().enumerate() {
            let power: f64 =
                (0..n).map(|j| self.regressor[INERTIAL * n * j + INERTIAL * e + p] * self.s[j]).sum();
            theta[first + p] += self.period_s * rate * power;
        }
    }
}

impl Controller for AdaptiveController {
    /// Where a reading is no number, the torques of the tick before; the energies are 0.
    fn tick(&mut self, _t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        if !readable(measured, desired) {
            return self.output.hold(tau);
        }
        for (j, lambda) in self.lambda.iter().enumerate() {
            let (e, de) = (desired.q[j] - measured.q[j], desired.dq[j] - measured.dq[j]);
            self.dqr[j] = desired.dq[j] + lambda * e;
            self.ddqr[j] = desired.ddq[j] + lambda * de;
            self.s[j] = de + lambda * e;
        }
        self.model.torques([measured.q, measured.dq, &self.dqr, &self.ddqr], tau);
        for ((tau, damping), s) in tau.iter_mut().zip(&self.damping).zip(&self.s) {
            *tau += damping * s;
        }
        let tick = self.output.finish(tau);
        if !tick.saturated {
            self.adapt();
        }
        tick
    }
}

#[cfg(test)]
mod tests {
    use super::super::baseline::tests::{Bench, HELD_KG, STRETCHED, exciting, half_radian};
    use super::*;
    use crate::dynamics::truth;

    fn law(bench: &Bench, gains: AdaptiveGains) -> AdaptiveController {
        let nominal = bench.robot.nominal_parameters();
        AdaptiveController::new(bench.robot.clone(), &bench.without_coulomb(&nominal), gains).unwrap()
    }

    /// V of the estimate's proof.
    fn lyapunov(bench: &Bench, law: &AdaptiveController, rates: &[f64; INERTIAL]) -> f64 {
        let true_body = &bench.theta[bench.robot.body_range(bench.robot.end_effector())];
        let off: f64 = (0..INERTIAL).map(|p| (law.estimate()[p] - true_body[p]).powi(2) / rates[p]).sum();
        truth::energy(&bench.robot, &bench.theta, &bench.q, &law.s) + 0.5 * off
    }

    #[test]
    fn its_energy_never_rises_and_the_body_is_found() {
        let mut bench = Bench::holding(&STRETCHED, HELD_KG).without_friction().ideal(2e-4);
        let mut law = law(&bench, AdaptiveGains::default());
        let rates = law.rates;
        let (mut before, mut rise) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut first, mut worst) = (0.0, 0.0);
        for k in 0..400 {
            let start = 0.05 * f64::from(k);
            worst = bench.run(&mut law, 0.05, |t| exciting(&STRETCHED, start + t)).most();
            let now = lyapunov(&bench, &law, &rates);
            rise = rise.max(now - before);
            before = now;
            first = if k == 0 { now } else { first };
        }
        let body = bench.robot.body_range(bench.robot.end_effector());
        let truth = &bench.theta[body];
        assert!(rise < 1e-4 * first, "V rises by {rise} of {first} J");
        assert!(worst < 2e-4, "{worst} rad");
        assert!((law.estimate()[0] - truth[0]).abs() < 0.1 * HELD_KG, "{} kg", law.estimate()[0]);
    }

    /// Empty as the model says, empty and as much heavier than it as the robot file allows, and loaded.
    #[test]
    fn it_follows_a_slow_motion_empty_and_loaded() {
        let nominal = Bench::empty(&STRETCHED).robot.nominal_parameters();
        for (held_kg, heavier, bar) in [(0.0, 0.0, 1e-4), (0.0, 0.05, 4e-4), (HELD_KG, 0.0, 7e-3)] {
            let mut bench = Bench::holding(&STRETCHED, held_kg).heavier(heavier);
            let mut law =
                AdaptiveController::new(bench.robot.clone(), &nominal, AdaptiveGains::default()).unwrap();
            let followed = bench.run(&mut law, 3.0, half_radian(&STRETCHED));
            assert!(followed.most() < bar && followed.saturated == 0, "{held_kg} kg: {followed:?}");
            // Nothing excites it at rest: the estimate may be wrong, the arm stands.
            let end = half_radian(&STRETCHED)(3.0);
            bench.run(&mut law, 2.0, |_| end.clone());
            let rest = bench.run(&mut law, 15.0, |_| end.clone());
            assert!(rest.most() < 1e-3, "{held_kg} kg: {rest:?}");
        }
    }

    #[test]
    fn bad_gains_are_refused_by_name() {
        let gains = |text: &str| toml::from_str::<AdaptiveGains>(text).unwrap();
        for (text, name) in [
            ("lambda = 0.0", "lambda"),
            ("damping = [1.0]", "damping"),
            ("adaptation = -1.0", "adaptation"),
            ("parameter_scale = [1, 1, 1, nan, 1, 1, 1, 1, 1, 1]", "parameter_scale, m c_z"),
        ] {
            let found = gains(text).check(7).unwrap_err();
            assert!(found.starts_with(name), "{text}: {found}");
        }
        assert!(toml::from_str::<AdaptiveGains>("gamma = 1.0").is_err());
    }

    #[test]
    fn a_lost_reading_holds_torques_and_estimate() {
        let bench = Bench::empty(&STRETCHED);
        let mut body = [0.0; INERTIAL];
        body[0] = 2.0;
        let mut law = law(&bench, AdaptiveGains::default()).with_estimate(&body);
        let (at, mut tau) = (JointState::at_rest(&STRETCHED), vec![0.0; 7]);
        law.tick(0.0, Measured { q: &at.q, dq: &at.dq }, &at, &mut tau);
        let before = tau.clone();
        law.tick(1e-3, Measured { q: &at.q, dq: &[f64::NAN; 7] }, &at, &mut tau);
        assert!(before == tau && law.estimate() == body && before[1].abs() > 1.0);
    }
}
