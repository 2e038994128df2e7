//! What the plant knows and nobody else may: the true inertia of the last body, where something is held.
//!
//! # How peeking is made impossible
//! The fields of [`HiddenTruth`] are visible inside `simulate` alone. The type is neither `Clone` nor serialisable,
//! its `Debug` form says nothing, and it is built (crate-internally) by the scenario loader, which keeps no copy:
//! [`crate::scenario::Scenario::split`] moves it out, next to a
//! [`Task`](crate::horizon::Task) that has no such numbers. So a planner, controller or identifier
//! that reads the truth does not compile, wherever it lives:
//!
//! ```compile_fail,E0616
//! # fn peek(truth: surelift::simulate::HiddenTruth) -> f64 {
//! truth.payload[0] // the field is private
//! # }
//! ```
//!
//! [`HiddenTruth::reveal`] gives the numbers to the report *and consumes the truth*: no plant can be built from it
//! afterwards, so a run that looks first has nothing left to simulate. (What types cannot stop is code that opens the
//! scenario file a second time; only [`crate::scenario`] does that, once a run.)

use crate::inertia::{INERTIAL, pseudo::check_physical};

use super::faults::Faults;
use super::passage::ObstaclePath;

/// The true inertial parameters of the last body with gripper and payload, for the plant alone (module header).
pub struct HiddenTruth {
    /// m, h, I of the whole last body, about and in the end-effector joint's frame; SI units. `None` where nothing is
    /// held: the last body is then drawn like all others.
    pub(super) payload: Option<[f64; INERTIAL]>,
    /// What else is not as everybody believes.
    pub(super) faults: Faults,
    /// Where obstacles go.
    pub(super) paths: Vec<ObstaclePath>,
}

impl std::fmt::Debug for HiddenTruth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HiddenTruth")
    }
}

impl HiddenTruth {
    /// Hides the parameters of the whole last body; `Err` says why no rigid body has them.
    pub(crate) fn new(payload: [f64; INERTIAL]) -> Result<Self, String> {
        check_physical(&payload)
            .map(|()| Self { payload: Some(payload), ..Self::nothing() })
            .map_err(|e| e.to_string())
    }

    /// An empty hand.
    pub(crate) fn nothing() -> Self {
        Self { payload: None, faults: Faults::default(), paths: Vec::new() }
    }

    /// What is false about the world.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The same truth in a world with these faults.
    pub(crate) fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// The same truth in a world whose obstacles go these ways.
    pub(crate) fn with_paths(self, paths: Vec<ObstaclePath>) -> Self {
        Self { paths, ..self }
    }

    /// The same faults with another last body; `Err` says why no rigid body has these parameters.
    pub(crate) fn with_last_body(self, body: [f64; INERTIAL]) -> Result<Self, String> {
        Ok(Self { payload: Self::new(body)?.payload, ..self })
    }

    /// The same truth with a held object of `mass` kg: the object is what exceeds `empty` (the last body with its
    /// gripper, nominal), its first moment and inertia scale with its mass, its place in the hand stays.
    pub(crate) fn with_object_mass(self, mass: f64, empty: &[f64; INERTIAL]) -> Result<Self, String> {
        if !(mass.is_finite() && mass >= 0.0) {
            return Err(format!("{mass} kg, expected a finite number >= 0"));
        }
        let payload = self.payload.ok_or("the scenario's hand is empty")?;
        let object = payload[0] - empty[0];
        if object <= 0.0 {
            return Err("the scenario's last body is not heavier than its gripper: there is no object".into());
        }
        let ratio = mass / object;
        let heavier = Self::new(std::array::from_fn(|k| empty[k] + ratio * (payload[k] - empty[k])))?;
        Ok(heavier.with_faults(self.faults).with_paths(self.paths))
    }

    /// The numbers, for the report of a finished run: m (kg), h (kg m), I (kg m^2) about the joint frame's origin;
    /// `None` where nothing is held.
    pub fn reveal(self) -> Option<[f64; INERTIAL]> {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: [f64; INERTIAL] = [1.0, 0.0, 0.0, -0.1, 0.02, 0.0, 0.02, 0.0, 0.0, 0.01];
    const HELD: [f64; INERTIAL] = [3.0, 0.0, 0.0, -0.5, 0.12, 0.0, 0.12, 0.0, 0.0, 0.03];

    #[test]
    fn the_object_scales_and_the_gripper_stays() {
        let heavier = HiddenTruth::new(HELD).unwrap().with_object_mass(4.0, &EMPTY).unwrap();
        let expected = [5.0, 0.0, 0.0, -0.9, 0.22, 0.0, 0.22, 0.0, 0.0, 0.05];
        let heavier = heavier.reveal().unwrap();
        assert!(heavier.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{heavier:?}");
        let nothing = HiddenTruth::new(HELD).unwrap().with_object_mass(0.0, &EMPTY).unwrap();
        assert_eq!(nothing.reveal(), Some(EMPTY));
        assert!(HiddenTruth::nothing().with_object_mass(1.0, &EMPTY).is_err());
    }

    #[test]
    fn impossible_truths_are_refused() {
        for mass in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(HiddenTruth::new(HELD).unwrap().with_object_mass(mass, &EMPTY).is_err());
        }
        assert!(HiddenTruth::new(EMPTY).unwrap().with_object_mass(1.0, &EMPTY).is_err());
        let mut flat = HELD;
        flat[4] = 0.0;
        assert!(HiddenTruth::new(flat).is_err());
    }

    #[test]
    fn printing_says_nothing() {
        assert_eq!(format!("{:?}", HiddenTruth::new(HELD).unwrap()), "HiddenTruth");
    }
}
