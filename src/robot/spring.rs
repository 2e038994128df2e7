//! Joints whose links hang on springs (Spong 1987). Transmission inertia and friction are before the spring.
//!
//! # What is assumed
//! Where a plan from rest begins the links rest too. From then on the arm has a *common motion* x(t), twice differentiable, from rest where the encoders are. It is the motion of an arm with the same bodies and rigid
//! joints, under the same torques and others of at most `unmodelled_nm` besides. Encoders are within `position_rad` and `velocity_rad_s` of it. And the torque of a
//! spring is at most the joint's torque limit.
//!
//! Friction is that of the transmission, whose speed is not the common one. So `velocity_rad_s` is a part of the stiction speed of the arm's [`Gains`] too: where the
//! common motion is faster than that, the transmission goes the same way, faster than the rest of it.
//!
//! The last makes of the stiffness how far a link is from its encoder. The three figures before are *parts* of what `drive.unmodelled_nm` and the arm's
//! [`Sensors`] allow, which is all that proofs and identification look at: what holds of every rigid arm within these bounds holds of the common motion.
//!
//! Torque sensors read what the drive applies, before the transmission, as a motor's current tells it. Behind the gear they would read k (theta - q), which differs by
//! what the transmission's inertia and friction take.
//!
//! Not covered: links that swing while the transmissions are held, as after a load is taken or let go. Encoders stand still then, and the momentum does not. So jobs that grasp
//! and tasks that weigh at rest are refused for such an arm.
//!
//! # Why there is such a motion
//! Let theta be at the encoder, q of the link, and v the velocity of a rigid arm with the same momentum: M(theta) v = I_a dtheta + M_l(q) dq. Torques act on that
//! momentum as on a rigid arm's, but for what M, gravity and Coriolis torques differ by over the spring's bend. The springs' own torques are not in it. The motion
//! dx = v + c (theta - x) with any c > 0 follows v and stays by the encoder; it takes a torque of M c (dtheta - dx) more, and viscous friction is at dtheta. So most of what
//! vibrates is a part of dtheta - dx and no torque. The simulator follows x with [`crate::simulate::SpringAudit`], and says how much of these figures a run has used.

use serde::{Deserialize, Serialize};

use super::gains::Gains;
use super::sensors::Sensors;

/// Where the encoder of an elastic joint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EncoderSide {
    /// Behind the spring: it reads the link.
    Link,
    /// Before the spring: it reads the transmission.
    Motor,
}

/// A spring between the transmission of a joint and its link: how stiff it is, and what it needs of the arm's other bounds. `docs/howto/elastic_joints.md` says what is assumed of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spring {
    /// Its stiffness at least, N m/rad (N/m).
    pub stiffness_nm_rad: f64,
    /// Where the encoder is. Encoders behind the spring are refused.
    pub encoders: EncoderSide,
    /// Torque by which the common motion differs from that of rigid joints, N m (N): a part of `drive.unmodelled_nm`.
    pub unmodelled_nm: f64,
    /// How far an encoder's velocity is from the common one, rad/s (m/s): a part of `sensors.velocity_rad_s` and of `control.stiction_speed_rad_s`.
    pub velocity_rad_s: f64,
    /// How far its position is from the common one, rad (m): a part of `sensors.position_rad`.
    pub position_rad: f64,
}

impl Spring {
    /// The first figure that is none, by its name, and what was expected, in a drive with so much unmodelled torque (N m).
    pub fn fault(&self, unmodelled_nm: f64) -> Option<(&'static str, String)> {
        let k = self.stiffness_nm_rad;
        if !(k > 0.0 && k.is_finite()) {
            let expected = format!("{k}, expected a finite number of N m/rad above 0");
            return Some(("spring.stiffness_nm_rad", expected));
        }
        if self.encoders == EncoderSide::Link {
            let refused = "link, expected motor: an encoder behind the spring sees what the drive did only once the link has swung, and the loop rings; read \
                           the motor's encoder";
            return Some(("spring.encoders", refused.to_owned()));
        }
        part("spring.unmodelled_nm", self.unmodelled_nm, ("`unmodelled_nm` of the drive", unmodelled_nm))
    }

    /// As a robot's file states it: a table in one line.
    pub fn words(&self) -> String {
        let Self { stiffness_nm_rad: k, encoders, unmodelled_nm: w, velocity_rad_s: v, position_rad: p } =
            self;
        let side = match encoders {
            EncoderSide::Motor => "motor",
            EncoderSide::Link => "link",
        };
        format!(
            "{{ stiffness_nm_rad = {k:?}, encoders = \"{side}\", unmodelled_nm = {w:?}, velocity_rad_s = {v:?}, position_rad = {p:?} }}"
        )
    }

    /// The first figure that is no part of what `sensors` may be off by, or of the speed below which the friction of these `gains` is not known.
    pub fn beyond(&self, sensors: &Sensors, gains: &Gains) -> Option<(&'static str, String)> {
        let Sensors { position_rad, velocity_rad_s, .. } = *sensors;
        let velocity = |name, all| part("spring.velocity_rad_s", self.velocity_rad_s, (name, all));
        velocity("`sensors.velocity_rad_s`", velocity_rad_s)
            .or_else(|| velocity("`control.stiction_speed_rad_s`", gains.stiction_speed_rad_s.next_down()))
            .or_else(|| {
                part("spring.position_rad", self.position_rad, ("`sensors.position_rad`", position_rad))
            })
    }
}

/// What is wrong with `x`, a part of `all`.
fn part(what: &'static str, x: f64, (name, all): (&str, f64)) -> Option<(&'static str, String)> {
    let expected = || format!("{x}, expected a number from 0 to {all}: it is a part of {name}");
    (!(0.0..=all).contains(&x)).then(|| (what, expected()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_are_none_are_named() {
        let good = Spring {
            stiffness_nm_rad: 1e4,
            encoders: EncoderSide::Motor,
            unmodelled_nm: 0.5,
            velocity_rad_s: 2e-3,
            position_rad: 1e-4,
        };
        let sensors = Sensors { position_rad: 1e-4, velocity_rad_s: 2e-3, ..Sensors::PERFECT };
        let gains = Gains { k_r: 1.0, alpha: 1.0, v_max: 1.0, period_s: 1e-3, stiction_speed_rad_s: 3e-3 };
        assert_eq!((good.fault(0.5), good.beyond(&sensors, &gains)), (None, None));
        let quick = Gains { stiction_speed_rad_s: 2e-3, ..gains };
        let (what, reason) = good.beyond(&sensors, &quick).unwrap();
        assert!(what == "spring.velocity_rad_s" && reason.contains("stiction_speed"), "{reason}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let spring = Spring { stiffness_nm_rad: bad, ..good };
            assert_eq!(spring.fault(0.5).unwrap().0, "spring.stiffness_nm_rad");
        }
        // More than all is no part.
        for bad in [-1e-9, f64::NAN, f64::INFINITY, 0.6] {
            assert_eq!(Spring { unmodelled_nm: bad, ..good }.fault(0.5).unwrap().0, "spring.unmodelled_nm");
            let named = |spring: Spring| spring.beyond(&sensors, &gains).unwrap().0;
            assert_eq!(named(Spring { velocity_rad_s: bad, ..good }), "spring.velocity_rad_s");
            assert_eq!(named(Spring { position_rad: bad, ..good }), "spring.position_rad");
        }
        let (what, reason) = Spring { encoders: EncoderSide::Link, ..good }.fault(0.5).unwrap();
        assert!(what == "spring.encoders" && reason.contains("expected motor"), "{reason}");
    }

    #[cfg(feature = "urdf")]
    #[test]
    fn what_is_written_is_read_again() {
        let spring = Spring {
            stiffness_nm_rad: 1.25e4,
            encoders: EncoderSide::Motor,
            unmodelled_nm: 0.4,
            velocity_rad_s: 2.5e-3,
            position_rad: 1.5e-4,
        };
        let read: std::collections::BTreeMap<String, Spring> =
            toml::from_str(&format!("spring = {}", spring.words())).unwrap();
        assert_eq!(read["spring"], spring);
    }
}
