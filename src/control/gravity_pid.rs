//! PID control with gravity compensation, the baseline `grav-pid` of [1, Table II].
//!
//! ```text
//! tau = g(q) + K_p e + K_i int e dt + K_d de,   e = q_d - q
//! ```
//!
//! *Source*: \[1\] names [23, eq. 6.19]. The book was not at hand; its chapter on motion control has PID control with gravity compensation for regulation,
//! with -K_d dq. Along a motion it is used, here as in \[24\], with K_d de. Neither friction nor accelerations are fed forward: it has no such terms.
//!
//! *Ours*: the integral of a joint stands still while its torque is beyond the limit on the side that the error pushes to (conditional integration), against windup.
//!
//! *Gains*: \[24\] has K_p = 1000 and K_d = 100 for the first four joints, 400 and 40 for the others, and no integral. Those of [`PidGains::default`] are stiffer
//! and remove what gravity leaves. With them the empty arm follows half a radian in 3 s in all joints to 0.8 mrad, to 1.0 mrad where links and friction are
//! 5 % more than modelled, and to 7.3 mrad with 8 lb in its hand that the model lacks (readings with the sensors' errors, friction with breakaway).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::robot::Arm;
use crate::trajectory::JointState;

use super::baseline::{Allowed, JointGain, NominalModel, Output, readable};
use super::{Controller, Measured, Tick};

/// Gains of [`GravityPid`]; the defaults are tuned for the empty Kinova Gen3 at 1 kHz.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PidGains {
    /// K_p, N m/rad, above 0.
    pub proportional: JointGain,
    /// K_i, N m/(rad s), not below 0.
    pub integral: JointGain,
    /// K_d, N m s/rad, above 0.
    pub derivative: JointGain,
}

impl Default for PidGains {
    fn default() -> Self {
        let all = |gain| JointGain::All(gain);
        Self { proportional: all(4000.0), integral: all(16_000.0), derivative: all(400.0) }
    }
}

impl PidGains {
    /// Whether they are gains for an arm with so many joints.
    ///
    /// # Errors
    /// The field that is not, and what was expected.
    pub fn check(&self, joints: usize) -> Result<(), String> {
        self.proportional.check("proportional", joints, Allowed::Positive)?;
        self.integral.check("integral", joints, Allowed::NotNegative)?;
        self.derivative.check("derivative", joints, Allowed::Positive)
    }
}

/// PID control with gravity compensation; see [the module](self). The tick neither allocates nor panics.
#[derive(Debug, Clone)]
pub struct GravityPid {
    model: NominalModel,
    output: Output,
    gains: [Vec<f64>; 3],
    /// int e dt, rad s.
    sum: Vec<f64>,
    zero: Vec<f64>,
    period_s: f64,
}

impl GravityPid {
    /// A controller for `robot` that compensates the gravity of `model`: all parameters, in the order of
    /// [`crate::inertia::ParameterSet::center`].
    ///
    /// # Errors
    /// In words, if the gains or the model are none for this arm.
    pub fn new(robot: Arc<Arm>, model: &[f64], gains: PidGains) -> Result<Self, String> {
        let n = robot.dof();
        gains.check(n)?;
        let PidGains { proportional, integral, derivative } = gains;
        Ok(Self {
            output: Output::new(&robot),
            gains: [proportional, integral, derivative].map(|gain| gain.spread(n)),
            sum: vec![0.0; n],
            zero: vec![0.0; n],
            period_s: robot.gains().period_s,
            model: NominalModel::new(robot, model)?,
        })
    }
}

impl Controller for GravityPid {
    /// Where a reading is no number, the torques of the tick before; the energies are 0.
    fn tick(&mut self, _t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        if !readable(measured, desired) {
            return self.output.hold(tau);
        }
        self.model.gravity(measured.q, &self.zero, tau);
        let [k_p, k_i, k_d] = &self.gains;
        for (j, tau) in tau.iter_mut().enumerate() {
            let (e, de) = (desired.q[j] - measured.q[j], desired.dq[j] - measured.dq[j]);
            *tau += k_p[j] * e + k_i[j] * self.sum[j] + k_d[j] * de;
            if !self.output.beyond(j, *tau, e) {
                self.sum[j] += self.period_s * e;
            }
        }
        self.output.finish(tau)
    }
}

#[cfg(test)]
mod tests {
    use super::super::baseline::tests::{Bench, HELD_KG, STRETCHED, half_radian};
    use super::*;
    use crate::dynamics::truth;

    fn pid(bench: &Bench, gains: PidGains) -> GravityPid {
        GravityPid::new(bench.robot.clone(), &bench.robot.nominal_parameters(), gains).unwrap()
    }

    #[test]
    fn it_holds_the_empty_arm_and_follows_a_slow_motion() {
        let mut bench = Bench::empty(&STRETCHED);
        let mut law = pid(&bench, PidGains::default());
        bench.run(&mut law, 2.0, |_| JointState::at_rest(&STRETCHED));
        let held = bench.run(&mut law, 1.0, |_| JointState::at_rest(&STRETCHED));
        assert!(held.most() < 2e-4, "holds to {held:?}");

        for (held_kg, heavier, bar) in [(0.0, 0.0, 1.2e-3), (0.0, 0.05, 1.5e-3), (HELD_KG, 0.0, 1e-2)] {
            let mut bench = Bench::holding(&STRETCHED, held_kg).heavier(heavier);
            let mut law = pid(&bench, PidGains::default());
            let followed = bench.run(&mut law, 3.0, half_radian(&STRETCHED));
            assert!(followed.most() < bar && followed.saturated == 0, "follows to {followed:?}");
        }
    }

    /// K_p e = g - g of the model, but for friction, without the integral; with it, nothing is left.
    #[test]
    fn it_sags_by_what_its_gain_predicts_until_the_integral_acts() {
        let at = |_| JointState::at_rest(&STRETCHED);
        let sagged = |integral: f64| {
            let mut bench = Bench::holding(&STRETCHED, HELD_KG);
            let gains = PidGains { integral: JointGain::All(integral), ..PidGains::default() };
            let mut law = pid(&bench, gains);
            bench.run(&mut law, 4.0, at);
            let error: Vec<f64> = STRETCHED.iter().zip(&bench.q).map(|(d, q)| d - q).collect();
            (error, bench)
        };
        let (error, bench) = sagged(0.0);
        let zero = [0.0; 7];
        let gravity = |theta: &[f64]| truth::needed(&bench.robot, theta, [&bench.q, &zero, &zero, &zero]);
        let (heavy, empty) = (gravity(&bench.theta), gravity(&bench.robot.nominal_parameters()));
        let mut most = 0.0f64;
        for j in 0..7 {
            let (left, coulomb) =
                (heavy[j] - empty[j], bench.robot.joint_parameters(&bench.theta, j).coulomb);
            assert!((4000.0 * error[j] - left).abs() < 1.2 * coulomb + 0.05, "joint {j}: {} rad", error[j]);
            most = most.max(left.abs());
        }
        assert!(most > 15.0, "the arm is not stretched: {most} N m");
        let (error, _) = sagged(16_000.0);
        assert!(error.iter().all(|e| e.abs() < 3e-4), "{error:?}");
    }

    #[test]
    fn what_is_out_of_reach_of_its_torques_does_not_wind_it_up() {
        let mut bench = Bench::empty(&STRETCHED);
        let mut far = STRETCHED;
        far[0] += 1.0;
        let mut law = pid(&bench, PidGains::default());
        let jump = bench.run(&mut law, 1.0, |_| JointState::at_rest(&far));
        assert!(jump.saturated > 100, "{jump:?}");
        let mut over = 0.0f64;
        for _ in 0..40 {
            bench.run(&mut law, 0.1, |_| JointState::at_rest(&far));
            over = over.max(bench.q[0] - far[0]);
        }
        assert!(over < 0.3 && (bench.q[0] - far[0]).abs() < 1e-3, "{over} rad too far, then {}", bench.q[0]);
    }

    #[test]
    fn bad_gains_are_refused_by_name() {
        let gains = |text: &str| toml::from_str::<PidGains>(text).unwrap();
        for (text, name) in [
            ("proportional = 0.0", "proportional"),
            ("integral = -1.0", "integral"),
            ("derivative = [1.0, 2.0]", "derivative"),
            ("derivative = [1.0, 2.0, 3.0, 4.0, 5.0, inf, 7.0]", "derivative, joint 6"),
            ("proportional = nan", "proportional"),
        ] {
            let found = gains(text).check(7).unwrap_err();
            assert!(found.starts_with(name), "{text}: {found}");
        }
        assert_eq!(gains("integral = 0.0").check(7), Ok(()));
        assert!(toml::from_str::<PidGains>("gain = 1.0").is_err());
        let bench = Bench::empty(&STRETCHED);
        assert!(GravityPid::new(bench.robot.clone(), &[0.0; 3], PidGains::default()).is_err());
    }

    #[test]
    fn a_lost_reading_holds_the_torques() {
        let bench = Bench::empty(&STRETCHED);
        let mut law = pid(&bench, PidGains::default());
        let (at, mut tau) = (JointState::at_rest(&STRETCHED), vec![0.0; 7]);
        law.tick(0.0, Measured { q: &at.q, dq: &at.dq }, &at, &mut tau);
        let before = tau.clone();
        let lost = [f64::NAN; 7];
        law.tick(1e-3, Measured { q: &lost, dq: &at.dq }, &at, &mut tau);
        assert!(before == tau && before[1].abs() > 1.0);
        law.tick(2e-3, Measured { q: &at.q, dq: &at.dq }, &at, &mut tau);
        assert_eq!(before, tau);
    }
}
