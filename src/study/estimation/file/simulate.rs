//! The part of a problem file that asks for simulated samples: their motion, their noise, and what is true of the simulated robot.

use std::path::PathBuf;

use serde::Deserialize;

use crate::multibody::equations::Plane;
use crate::multibody::parameters::JointParameter;

/// Samples from the simulator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Simulate {
    /// Length of the simulation, s.
    pub duration_s: f64,
    /// Draws the noise.
    #[serde(default)]
    pub seed: u64,
    /// Configuration (nq numbers).
    pub start_rad: Vec<f64>,
    /// Standard deviations of the noise.
    pub noise: Noise,
    /// How often each sensor is read, Hz; left out: all in every sample.
    pub rates_hz: Option<Rates>,
    /// Ground that is not where the robot believes it, and times of contact that are not told as they are; left out: neither. For `posture`.
    pub ground: Option<GroundFile>,
    /// A motion that is followed.
    pub sines: Option<Sines>,
    /// Torques that are applied. Without either nothing drives the arm.
    pub torques: Option<Torques>,
    /// A posture that a law for the whole body follows.
    pub posture: Option<PostureFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Rates {
    /// Encoders: positions and velocities of the joints.
    pub joints: f64,
    /// The base's attitude and velocities, and sensors beside the encoders.
    pub base: f64,
    /// Torques of the motors.
    pub torques: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct GroundFile {
    /// Every place where a foot comes down is higher or lower by up to this, m.
    pub height_error_m: f64,
    /// Every time that is told of a contact is early or late by up to this, s.
    pub told_time_error_s: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct PostureFile {
    /// How fast errors are corrected, rad/s.
    pub bandwidth_rad_s: f64,
    /// What 1 N m costs the law against what 1 N m brings about in the mean over the motors, as an acceleration. With 1e-3 a robot with light joints, such as those
    /// of an arm, sinks under its weight; 1e-6 holds it. Left out: 1e-6 along a `motion`, otherwise 1e-3.
    pub effort: Option<f64>,
    /// A `summary.json` of `surelift excite` whose motion is followed, instead of sway and joints; relative to this file.
    pub motion: Option<PathBuf>,
    /// Amplitude (m, rad), frequency (Hz) and phase (rad) of the base along x, y, z and about them.
    #[serde(default)]
    pub sway: [[f64; 3]; 6],
    /// Speed of the base, and when it moves.
    #[serde(default)]
    pub speed_m_s: [f64; 3],
    /// From when to when, s.
    #[serde(default)]
    pub moving_s: [f64; 2],
    /// What every step adds to a foot's place, and how high it goes.
    #[serde(default)]
    pub step_m: [f64; 3],
    /// How high a foot is lifted, m.
    #[serde(default)]
    pub height_m: f64,
    /// A jump.
    pub jump: Option<JumpFile>,
    /// Joints that are no leg's.
    #[serde(default)]
    pub joint: Vec<Swing>,
    /// Frames that go round circles, as a hand may; the joints between them and the base follow. Circles stay where they are, wherever the base goes.
    #[serde(default)]
    pub circle: Vec<CircleFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct CircleFile {
    /// The named frame.
    pub frame: String,
    /// Radius of the circle, which goes through the frame's place at the start, m.
    pub radius_m: f64,
    /// Rounds a second, Hz.
    pub frequency_hz: f64,
    /// Axis of the world that the circle's plane is normal to.
    pub normal: Plane,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct JumpFile {
    /// When it begins, s.
    pub at_s: f64,
    /// How far the body goes down first, m.
    pub crouch_m: f64,
    /// From its beginning to taking off, s.
    pub lasts_s: f64,
    /// Time in the air, s.
    pub flight_s: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Swing {
    /// The joint.
    pub name: String,
    /// Amplitude, rad.
    pub amplitude_rad: f64,
    /// Frequency, Hz.
    pub frequency_hz: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Noise {
    /// Of positions, rad.
    pub q_rad: f64,
    /// Of velocities, rad/s.
    pub dq_rad_s: f64,
    /// Of torques, N m.
    pub tau_nm: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Sines {
    /// Amplitude of each joint, rad.
    pub amplitude_rad: Vec<f64>,
    /// Frequency of the first harmonic, Hz.
    pub frequency_hz: f64,
    /// How many harmonics.
    pub harmonics: usize,
    /// How fast errors are corrected, rad/s.
    pub bandwidth_rad_s: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Torques {
    /// Constant part of each joint's torque, N m; none if left out.
    #[serde(default)]
    pub offset_nm: Vec<f64>,
    /// Amplitude of each joint, N m.
    pub amplitude_nm: Vec<f64>,
    /// Frequency of the first harmonic, Hz.
    pub frequency_hz: f64,
    /// How many harmonics.
    pub harmonics: usize,
}

/// Harmonics of a drive; each costs a phase a joint.
const MOST_HARMONICS: usize = 1000;

/// What sines and torques have in common: names and numbers.
struct Waves<'a> {
    table: &'static str,
    lists: Vec<(&'static str, &'a [f64])>,
    rates: Vec<(&'static str, f64)>,
    harmonics: usize,
}

impl Waves<'_> {
    /// What is wrong with them: field and reason.
    fn fault(&self) -> Option<(String, String)> {
        let field = |name: &str| format!("simulate.{}.{name}", self.table);
        for (name, list) in &self.lists {
            if let Some(bad) = list.iter().find(|x| !x.is_finite()) {
                return Some((field(name), format!("contains {bad}, expected finite numbers")));
            }
        }
        for (name, rate) in &self.rates {
            if !(rate.is_finite() && *rate > 0.0) {
                return Some((field(name), format!("{rate}, expected a finite number > 0")));
            }
        }
        let fine = (1..=MOST_HARMONICS).contains(&self.harmonics);
        let reason = || format!("{}, expected 1 to {MOST_HARMONICS}", self.harmonics);
        (!fine).then(|| (field("harmonics"), reason()))
    }
}

/// Most samples a second.
const MOST_HZ: f64 = 1e6;

impl Simulate {
    /// What is wrong with rates and ground: field and reason.
    pub fn reading_fault(&self) -> Option<(String, String)> {
        if let Some(Rates { joints, base, torques }) = &self.rates_hz {
            for (name, rate) in [("joints", joints), ("base", base), ("torques", torques)] {
                if !(*rate > 0.0 && *rate <= MOST_HZ) {
                    let reason = format!("{rate}, expected a number > 0, at most {MOST_HZ}");
                    return Some((format!("simulate.rates_hz.{name}"), reason));
                }
            }
        }
        let GroundFile { height_error_m, told_time_error_s } = self.ground.as_ref()?;
        for (name, x) in [("height_error_m", height_error_m), ("told_time_error_s", told_time_error_s)] {
            if !(*x >= 0.0 && x.is_finite()) {
                return Some((format!("simulate.ground.{name}"), format!("{x}, expected a number >= 0")));
            }
        }
        let walks = self.posture.as_ref().is_some_and(|p| p.jump.is_none());
        let reason = "needs a `posture` without a jump: nothing else steps on ground";
        (!walks).then(|| ("simulate.ground".to_owned(), reason.to_owned()))
    }

    /// What is wrong with the waves that drive the robot: field and reason.
    pub fn drive_fault(&self) -> Option<(String, String)> {
        let sines = self.sines.as_ref().map(|x| Waves {
            table: "sines",
            lists: vec![("amplitude_rad", &x.amplitude_rad)],
            rates: vec![("frequency_hz", x.frequency_hz), ("bandwidth_rad_s", x.bandwidth_rad_s)],
            harmonics: x.harmonics,
        });
        let torques = self.torques.as_ref().map(|x| Waves {
            table: "torques",
            lists: vec![("amplitude_nm", &x.amplitude_nm), ("offset_nm", &x.offset_nm)],
            rates: vec![("frequency_hz", x.frequency_hz)],
            harmonics: x.harmonics,
        });
        [sines, torques].into_iter().flatten().find_map(|waves| waves.fault())
    }
}

/// What is true of the simulated arm beyond its nominal model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Truth {
    /// Rigid objects fixed to links.
    #[serde(default)]
    pub payload: Vec<Payload>,
    /// Friction that differs from the nominal one.
    #[serde(default)]
    pub joint: Vec<TrueJoint>,
    /// Coulomb and viscous friction of every motor is the nominal one times a factor, drawn by the seed between this and one over it (in logarithms).
    pub friction_factor: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct Payload {
    /// Link that it is fixed to.
    pub link: String,
    /// Mass, kg.
    pub mass_kg: f64,
    /// In the frame of the link's joint, whose z axis is the joint's ([`crate::robot::JointKind`]): the URDF's link frame only
    /// where the URDF's axis is `0 0 1`, or the base floats.
    pub center_m: [f64; 3],
    /// Principal moments about the centre of mass, axes of the joint frame.
    pub inertia_kg_m2: [f64; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::study::estimation) struct TrueJoint {
    /// The joint.
    pub name: String,
    /// Which parameter.
    pub parameter: JointParameter,
    /// Its true value.
    pub value: f64,
}
