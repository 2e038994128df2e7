//! Smooth joint friction: stiction, Stribeck effect, Coulomb and viscous friction in one differentiable formula.
//!
//! ```text
//! tau_f(v) = g0 (tanh(g1 v) - tanh(g2 v)) + g3 tanh(g4 v) + g5 v
//! ```
//!
//! acts against the motion (the joint feels -tau_f). Of its terms the first is a hump of height up to g0 at low speed:
//! it rises at rate g1 (stiction) and dies at rate g2 (Stribeck); the second is Coulomb friction of g3, smoothed at
//! rate g4; the third is viscous. Units: g0, g3 in N m; g1, g2, g4 in s/rad; g5 in N m s/rad (N and m for a slider).
//!
//! This is [3, eq. 56], with
//! the sign of the first term turned: they print -g0 (..) and ask for g1 >= g2 in [3, eq. 57], which would make the first
//! term drive the joint. With the sign here, their conditions do what they are meant for, see
//! [`SmoothFriction::dissipates`]. (The printed formula is this one with g1 and g2 exchanged.)

use crate::inertia::JointParameters;

/// Number of parameters of a joint's smooth friction.
pub const SMOOTH_FRICTION: usize = 6;

/// Smooth friction of one joint; the module's documentation has the formula and the units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothFriction {
    /// (g0, .., g5).
    pub gamma: [f64; SMOOTH_FRICTION],
}

impl SmoothFriction {
    /// Coulomb and viscous friction of a robot's joint, smoothed so that the Coulomb torque is reached to 76 % (tanh 1)
    /// at `speed` (rad/s or m/s, > 0); no stiction.
    pub fn smoothed(friction: &JointParameters, speed: f64) -> Self {
        let rate = 1.0 / speed;
        Self { gamma: [0.0, rate, rate, friction.coulomb, rate, friction.viscous] }
    }

    /// From free coordinates mu: g_k = e^mu_k, except g2 = mu_2 ([3, eq. 58]); then only g1 >= g2 is left to be ensured.
    pub fn from_free(mu: &[f64; SMOOTH_FRICTION]) -> Self {
        Self { gamma: std::array::from_fn(|k| if k == 2 { mu[2] } else { mu[k].exp() }) }
    }

    /// Whether the parameters satisfy g0, g1, g3, g4, g5 >= 0 and g1 >= g2 ([3, eq. 57]); then tau_f(v) v >= 0 for every v:
    /// friction never drives. Proof: tanh is odd and does not decrease, so for v > 0 each of the three terms is
    /// non-negative, for v < 0 none is positive.
    pub fn dissipates(&self) -> bool {
        let [g0, g1, g2, g3, g4, g5] = self.gamma;
        [g0, g1, g3, g4, g5].iter().all(|g| *g >= 0.0) && g1 >= g2
    }

    /// tau_f at speed `v` (rad/s or m/s).
    pub fn torque(&self, v: f64) -> f64 {
        let [g0, g1, g2, g3, g4, g5] = self.gamma;
        g0 * ((g1 * v).tanh() - (g2 * v).tanh()) + g3 * (g4 * v).tanh() + g5 * v
    }

    /// d tau_f / d v (N m s/rad or N s/m).
    pub fn by_velocity(&self, v: f64) -> f64 {
        let [g0, g1, g2, g3, g4, g5] = self.gamma;
        g0 * (g1 * slope(g1 * v) - g2 * slope(g2 * v)) + g3 * g4 * slope(g4 * v) + g5
    }

    /// d tau_f / d g ([3, eq. 59] with the sign of the first term turned).
    pub fn by_parameters(&self, v: f64) -> [f64; SMOOTH_FRICTION] {
        let [g0, g1, g2, g3, g4, _] = self.gamma;
        [
            (g1 * v).tanh() - (g2 * v).tanh(),
            g0 * v * slope(g1 * v),
            -g0 * v * slope(g2 * v),
            (g4 * v).tanh(),
            g3 * v * slope(g4 * v),
            v,
        ]
    }

    /// d^2 tau_f / (d v d g).
    pub fn by_velocity_and_parameters(&self, v: f64) -> [f64; SMOOTH_FRICTION] {
        let [g0, g1, g2, g3, g4, _] = self.gamma;
        // d (g tanh'(g v)) / d g.
        let steeper = |g: f64| slope(g * v) * (1.0 - 2.0 * g * v * (g * v).tanh());
        [
            g1 * slope(g1 * v) - g2 * slope(g2 * v),
            g0 * steeper(g1),
            -g0 * steeper(g2),
            g4 * slope(g4 * v),
            g3 * steeper(g4),
            1.0,
        ]
    }

    /// d tau_f / d mu for the free coordinates of [`SmoothFriction::from_free`] ([3, eq. 60]).
    pub fn by_free(&self, v: f64) -> [f64; SMOOTH_FRICTION] {
        let by = self.by_parameters(v);
        std::array::from_fn(|k| if k == 2 { by[2] } else { by[k] * self.gamma[k] })
    }
}

/// d tanh x / d x = 1 / cosh^2 x, without the cancellation of 1 - tanh^2 (it is zero, not NaN, for huge x).
fn slope(x: f64) -> f64 {
    let c = x.cosh();
    1.0 / (c * c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn derivatives_agree_with_differences(mu in prop::array::uniform6(-2.0..2.0f64), v in -3.0..3.0f64) {
            let step = 1e-5;
            let friction = SmoothFriction::from_free(&mu);
            let numeric = (friction.torque(v + step) - friction.torque(v - step)) / (2.0 * step);
            prop_assert!((numeric - friction.by_velocity(v)).abs() < 1e-6);
            for k in 0..SMOOTH_FRICTION {
                let at = |s: f64| {
                    let mut f = friction;
                    f.gamma[k] += s * step;
                    f.torque(v)
                };
                let numeric = (at(1.0) - at(-1.0)) / (2.0 * step);
                prop_assert!((numeric - friction.by_parameters(v)[k]).abs() < 1e-8, "{}", k);
                let slope = |s: f64| {
                    let mut f = friction;
                    f.gamma[k] += s * step;
                    f.by_velocity(v)
                };
                let numeric = (slope(1.0) - slope(-1.0)) / (2.0 * step);
                prop_assert!((numeric - friction.by_velocity_and_parameters(v)[k]).abs() < 1e-6, "{}", k);
                let at = |s: f64| {
                    let mut mu = mu;
                    mu[k] += s * step;
                    SmoothFriction::from_free(&mu).torque(v)
                };
                let numeric = (at(1.0) - at(-1.0)) / (2.0 * step);
                prop_assert!((numeric - friction.by_free(v)[k]).abs() < 1e-7, "{}", k);
            }
        }

        /// Also for a negative g2, which [3, eq. 57] allows.
        #[test]
        fn what_dissipates_never_drives(mu in prop::array::uniform6(-4.0..4.0f64), v in -100.0..100.0f64) {
            let mut friction = SmoothFriction::from_free(&mu);
            friction.gamma[2] = friction.gamma[2].min(friction.gamma[1]);
            prop_assert!(friction.dissipates());
            prop_assert!(friction.torque(v) * v >= 0.0);
            prop_assert_eq!(friction.torque(-v), -friction.torque(v));
        }
    }

    #[test]
    fn the_hump_stands_at_low_speed() {
        let friction = SmoothFriction { gamma: [0.5, 100.0, 2.0, 1.0, 100.0, 0.1] };
        let (rest, creep, fast) = (friction.torque(0.0), friction.torque(0.05), friction.torque(5.0));
        assert_eq!(rest, 0.0);
        assert!(creep > 1.4 && (fast - 1.5).abs() < 1e-6, "{creep} {fast}");
        assert!(friction.by_velocity(0.3) < 0.0, "the Stribeck effect is friction that falls with speed");
        // As printed in the paper, with g1 > g2, the first term drives.
        let printed = SmoothFriction { gamma: [-0.5, 100.0, 2.0, 0.0, 0.0, 0.0] };
        assert!(!printed.dissipates() && printed.torque(0.05) < 0.0);
    }

    #[test]
    fn it_smooths_the_robots_own_friction_and_survives_any_speed() {
        let own = JointParameters { coulomb: 2.0, viscous: 0.3, armature: 0.1, offset: 0.0 };
        let friction = SmoothFriction::smoothed(&own, 1e-3);
        assert!((friction.torque(1.0) - 2.3).abs() < 1e-12 && friction.dissipates());
        for v in [1e6, -1e300] {
            assert!(
                friction.by_velocity(v).is_finite() && friction.by_parameters(v).iter().all(|x| !x.is_nan())
            );
        }
    }
}
