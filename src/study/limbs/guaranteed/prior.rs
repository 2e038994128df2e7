//! What is believed of a robot before the first sample, as a box around its files.

use serde::{Deserialize, Serialize};

use crate::inertia::{ARMATURE, COULOMB, FRICTION, INERTIAL, OFFSET, ParameterSet, SetError, VISCOUS};
use crate::robot::Model;

/// How far the truth may be from a robot's files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrictionPrior {
    /// Each of a link's ten inertial parameters is the files', give or take this share of it.
    pub link_share: f64,
    /// Armatures likewise.
    pub armature_share: f64,
    /// Motors' Coulomb and viscous friction are between zero and so many times the files'.
    pub friction_factor: f64,
    /// Offsets of the motors' torques are within this, N m (N).
    pub offset: f64,
    /// Joints without a motor have Coulomb friction between zero and the files' plus this, N m, viscous friction likewise, N m s/rad; no offset.
    pub passive_friction: f64,
}

impl Default for FrictionPrior {
    /// Links and armatures as in the files, give or take 2 %; friction of motors up to three times the files', offsets within 1 N m; passive joints
    /// with up to 0.02 N m (N m s/rad) more than in the files.
    fn default() -> Self {
        Self {
            link_share: 0.02,
            armature_share: 0.02,
            friction_factor: 3.0,
            offset: 1.0,
            passive_friction: 0.02,
        }
    }
}

impl FrictionPrior {
    /// The box, for a robot whose base is held ([`Model::with_base_held`]); layout of [`Model::nominal_parameters`].
    ///
    /// # Errors
    /// [`SetError`] where a number here is none, or is negative.
    pub fn set(&self, held: &Model) -> Result<ParameterSet, SetError> {
        let nominal = held.nominal_parameters();
        let (mut lower, mut upper) = (nominal.clone(), nominal.clone());
        let links = INERTIAL * held.bodies();
        for (lower, upper) in lower.iter_mut().zip(&mut upper).take(links) {
            let by = self.link_share * lower.abs();
            (*lower, *upper) = (*lower - by, *upper + by);
        }
        for i in held.first_actuated()..held.bodies() {
            let at = held.friction_index(i);
            let driven = held.joints[i].limits.torque > 0.0;
            let own = &nominal[at..at + FRICTION];
            let by = self.armature_share * own[ARMATURE];
            let above = |x: f64| if driven { self.friction_factor * x } else { x + self.passive_friction };
            let offset = if driven { self.offset } else { 0.0 };
            let ranges = [
                (COULOMB, 0.0, above(own[COULOMB])),
                (VISCOUS, 0.0, above(own[VISCOUS])),
                (ARMATURE, own[ARMATURE] - by, own[ARMATURE] + by),
                (OFFSET, own[OFFSET] - offset, own[OFFSET] + offset),
            ];
            for (k, least, most) in ranges {
                (lower[at + k], upper[at + k]) = (least, most);
            }
        }
        ParameterSet::new(lower, upper)
    }
}
