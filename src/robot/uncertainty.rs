//! How far the truth may be from the nominal model.

use serde::{Deserialize, Serialize};

use crate::inertia::{ARMATURE, OFFSET};

/// How far the truth may be from the nominal model: ratios of the nominal values, and beside them absolute figures. A nominal value of zero with a ratio
/// alone is exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uncertainty {
    /// On each inertial parameter of each link (0.05 = 5 %).
    pub link_ratio: f64,
    /// On Coulomb, viscous friction and offset.
    pub friction_ratio: f64,
    /// On the transmission inertia.
    pub armature_ratio: f64,
    /// Largest angle between true gravity and the direction that the robot's file states, degrees: the base leans, or is not mounted
    /// as the file says. 0: the direction is exact.
    #[serde(default = "Uncertainty::usual_gravity_direction_deg")]
    pub gravity_direction_deg: f64,
    /// Static over Coulomb friction, >= 1: below the stiction speed the friction torque is anywhere in this times
    /// \[-F_c, F_c\]. 1: no joint needs more to break away than to keep moving.
    #[serde(default = "Uncertainty::usual_breakaway_ratio")]
    pub breakaway_ratio: f64,
    /// On each component of a link's first moment, beside the ratio, kg m.
    #[serde(default)]
    pub first_moment_kg_m: f64,
    /// On each moment and product of inertia of a link, beside the ratio, kg m^2.
    #[serde(default)]
    pub inertia_kg_m2: f64,
    /// On each joint's torque offset, beside the ratio, N m.
    #[serde(default)]
    pub offset_nm: f64,
}

impl Uncertainty {
    /// What a file that says nothing of the direction of gravity means, degrees: a base set up with a spirit level.
    pub fn usual_gravity_direction_deg() -> f64 {
        0.2
    }

    /// What a file that says nothing of static friction means: a lubricated gear that breaks away a fifth above its Coulomb friction.
    pub fn usual_breakaway_ratio() -> f64 {
        1.2
    }

    /// How far parameter `p` (0 to 9) of a link may be from its nominal value, in its unit; rounded up.
    pub fn of_link(&self, p: usize, nominal: f64) -> f64 {
        let absolute = match p {
            0 => 0.0,
            1..=3 => self.first_moment_kg_m,
            _ => self.inertia_kg_m2,
        };
        beside((nominal.abs() * self.link_ratio).next_up(), absolute)
    }

    /// How far a joint's parameter ([`crate::inertia::COULOMB`] to [`OFFSET`]) may be from its nominal value, in its unit; rounded up.
    pub fn of_joint(&self, part: usize, nominal: f64) -> f64 {
        let (ratio, absolute) = match part {
            ARMATURE => (self.armature_ratio, 0.0),
            OFFSET => (self.friction_ratio, self.offset_nm),
            _ => (self.friction_ratio, 0.0),
        };
        beside((nominal.abs() * ratio).next_up(), absolute)
    }

    /// The first figure that is none, by its name, and why.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let ratio = |x: f64| (0.0..1.0).contains(&x);
        let (angle, breakaway) = (self.gravity_direction_deg, self.breakaway_ratio);
        let absolute = |x: f64| x >= 0.0 && x.is_finite();
        let (moment, inertia, offset) = (self.first_moment_kg_m, self.inertia_kg_m2, self.offset_nm);
        let all = [
            ("first_moment_kg_m", moment, absolute(moment), "a number of kg m not below 0"),
            ("inertia_kg_m2", inertia, absolute(inertia), "a number of kg m^2 not below 0"),
            ("offset_nm", offset, absolute(offset), "a number of N m not below 0"),
            ("link_ratio", self.link_ratio, ratio(self.link_ratio), "a ratio in [0, 1)"),
            ("friction_ratio", self.friction_ratio, ratio(self.friction_ratio), "a ratio in [0, 1)"),
            ("armature_ratio", self.armature_ratio, ratio(self.armature_ratio), "a ratio in [0, 1)"),
            ("gravity_direction_deg", angle, (0.0..=45.0).contains(&angle), "an angle from 0 to 45 degrees"),
            ("breakaway_ratio", breakaway, (1.0..=100.0).contains(&breakaway), "a ratio from 1 to 100"),
        ];
        let (what, x, _, expected) = all.into_iter().find(|(_, _, good, _)| !good)?;
        Some((what, format!("{x}, expected {expected}")))
    }
}

/// Upper bound of the sum of two figures of which the second may be absent.
fn beside(relative: f64, absolute: f64) -> f64 {
    if absolute > 0.0 { (relative + absolute).next_up() } else { relative }
}
