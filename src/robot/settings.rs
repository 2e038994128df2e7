//! The robot TOML beside a URDF: what a URDF cannot say. Documented by its own example, `robots/*.toml`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use nalgebra::Rotation3;
use serde::Deserialize;

use super::drive::{DriveBounds, DriveSettings};
use super::error::RobotError;
use super::gains::Gains;
use super::load::find;
use super::mend::LinkSettings;
use super::model::{JointKind, JointLimits, LoopKind, Placement};
use super::sensors::Sensors;
use super::shape::Capsule;
use super::shipped;
use super::timing::TimingBounds;
use super::uncertainty::Uncertainty;
use crate::extend::{Layers, Source};
use crate::inertia::JointParameters;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Name of the robot.
    pub name: String,
    /// The URDF; written relative to the TOML that names it.
    pub urdf: PathBuf,
    /// Folders that hold the packages which the URDF's meshes are in (`package://NAME/...`), or are such a package; relative to the TOML that
    /// names them. Looked in before ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and the folders above the URDF.
    #[serde(default)]
    pub package_path: Vec<PathBuf>,
    /// How the root link is held.
    #[serde(default)]
    pub base: Base,
    /// Joint or link whose body holds the payload; only arms need one.
    pub end_effector: Option<String>,
    /// How far along its joint's axis the frame of the end effector lies from the URDF's, m: where things are held. What is
    /// known of that body is known about this frame.
    #[serde(default)]
    pub grip_along_axis_m: f64,
    /// Gravity in the base frame, m/s^2.
    #[serde(default = "earth")]
    pub gravity_m_s2: [f64; 3],
    /// How far the truth may be from this model; only arms need it.
    pub uncertainty: Option<Uncertainty>,
    /// Bounds on what the sensors get wrong; only arms need them.
    pub sensors: Option<Sensors>,
    /// What each drive does beside what it is asked for; ideal where nothing is said.
    #[serde(default)]
    pub drives: DriveBounds,
    /// When readings are taken and commands act; all on time where nothing is said.
    #[serde(default)]
    pub timing: TimingBounds,
    /// Gains of the robust controller; only arms need them.
    pub control: Option<Gains>,
    /// By joint name.
    #[serde(default)]
    pub joints: BTreeMap<String, JointSettings>,
    /// What the URDF says wrongly of links, by link name.
    #[serde(default)]
    pub links: BTreeMap<String, LinkSettings>,
    /// Without any, one capsule is laid around each collision primitive of the URDF, and up to four around each collision mesh.
    #[serde(default)]
    pub capsules: Vec<CapsuleSettings>,
    /// Pairs of capsules that need not be kept apart.
    #[serde(default)]
    pub self_collision: SelfCollision,
    /// Named frames: feet, hands, sensors.
    #[serde(default, rename = "frame")]
    pub frames: Vec<FrameSettings>,
    /// Closed chains.
    #[serde(default, rename = "loop")]
    pub loops: Vec<LoopSettings>,
    /// Rotors.
    #[serde(default, rename = "thrust")]
    pub thrusts: Vec<ThrustSettings>,
}

/// How the root link is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Base {
    /// It stands still.
    #[default]
    Fixed,
    /// It moves freely.
    FreeFlyer,
}

/// A named frame on a link of the URDF.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrameSettings {
    /// Its name.
    pub name: String,
    /// Link of the URDF that carries it.
    pub link: String,
    /// Its origin in the link's frame, m.
    #[serde(default)]
    xyz_m: [f64; 3],
    /// As in a URDF: about the link's x, then y, then z axis.
    #[serde(default)]
    rpy_rad: [f64; 3],
}

impl FrameSettings {
    /// The frame in its link's frame.
    pub fn placement(&self) -> Placement {
        let [roll, pitch, yaw] = self.rpy_rad;
        Placement {
            rotation: Rotation3::from_euler_angles(roll, pitch, yaw).into_inner(),
            translation: self.xyz_m.into(),
        }
    }
}

/// A loop closure between two named frames.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopSettings {
    /// Its name.
    pub name: String,
    /// One named frame.
    pub frame_a: String,
    /// The other.
    pub frame_b: String,
    /// What the two frames have in common.
    pub kind: LoopKind,
    /// Positions of joints where it is closed in the way that is meant, rad or m; of joints that are not named 0. The proof that loops close in one way begins there.
    #[serde(default)]
    pub closed_at: BTreeMap<String, f64>,
}

/// A rotor in a named frame.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThrustSettings {
    /// Its name.
    pub name: String,
    /// The named frame; it pushes along z.
    pub frame: String,
    /// Moment about the frame's z axis per force, N m/N; its sign tells which way the rotor turns.
    pub moment_per_force_m: f64,
    /// Smallest and largest force, N.
    pub force_n: [f64; 2],
}

/// No link is larger, m. Beyond 1e150 squares are no longer numbers.
const LARGEST_M: f64 = 1e3;

/// Gravity on Earth, z up.
pub(super) fn earth() -> [f64; 3] {
    [0.0, 0.0, -9.81]
}

/// Overrides of one joint: limits of the URDF, and friction.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JointSettings {
    /// Lower and upper position in place of the URDF's, degrees.
    position_deg: Option<[f64; 2]>,
    /// The same in rad.
    position_rad: Option<[f64; 2]>,
    /// The same for a joint that slides, m.
    position_m: Option<[f64; 2]>,
    /// Largest speed in place of the URDF's, degrees/s.
    velocity_deg_s: Option<f64>,
    /// The same in rad/s.
    velocity_rad_s: Option<f64>,
    /// The same for a joint that slides, m/s.
    velocity_m_s: Option<f64>,
    /// Largest torque of the drive in place of the URDF's, N m.
    torque_nm: Option<f64>,
    /// The same for a joint that slides, N.
    force_n: Option<f64>,
    /// Coulomb friction F_c, N m (N), >= 0.
    coulomb: Option<f64>,
    /// Viscous friction F_v, N m s/rad (N s/m), >= 0.
    viscous: Option<f64>,
    /// Transmission inertia I_a seen at the joint, kg m^2 (kg), >= 0.
    armature: Option<f64>,
    /// Constant torque offset, N m (N).
    offset: Option<f64>,
    /// Turns of the motor's rotor for one of the joint, not zero, negative where it turns the other way; of a motor that rides on the link before the joint, about
    /// the joint's axis. With it, estimates have the torque by which the rotor and that link turn each other. Proofs have it not: of arms it is refused.
    gear_ratio: Option<f64>,
    /// What this joint's drive does that others do not.
    drive: Option<DriveSettings>,
    /// How far this joint's torque sensor is off, where that is not what `[sensors]` has.
    torque_sensor: Option<TorqueSensorSettings>,
    /// Holds the joint still at this position, as if the URDF said `fixed`, rad; joints that mimic it are held with it. Nothing else can be said of
    /// such a joint.
    fixed_at_rad: Option<f64>,
    /// The same in degrees.
    fixed_at_deg: Option<f64>,
    /// The same for a joint that slides, m.
    fixed_at_m: Option<f64>,
    /// The joint has a drive of its own, though the URDF says that it mimics another.
    #[serde(default)]
    independent: bool,
    /// The joint turns about the z axis of its own frame, though the URDF says `fixed`: a spring that others hold rigid. Needs its limits here.
    #[serde(default)]
    hinge: bool,
}

/// A capsule in the frame of a link of the URDF.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CapsuleSettings {
    /// Its name in messages.
    pub name: String,
    /// Link of the URDF that carries it.
    pub link: String,
    /// One end of its segment in the link's frame, m.
    a_m: [f64; 3],
    /// The other end, m.
    b_m: [f64; 3],
    /// Radius, m, > 0.
    radius_m: f64,
}

/// Which pairs of capsules need not be kept apart.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SelfCollision {
    /// Such pairs; nobody proves them.
    #[serde(default)]
    pub ignore: Vec<IgnoredContact>,
}

/// One such pair, with the reason why it can't collide or needn't be checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IgnoredContact {
    /// Name of one capsule.
    pub a: String,
    /// Name of the other.
    pub b: String,
    /// Why; must not be empty.
    pub reason: String,
}

fn field_error(path: &Path, field: impl Into<String>, reason: impl Into<String>) -> RobotError {
    RobotError::Field { path: path.to_path_buf(), field: field.into(), reason: reason.into() }
}

/// Robot files, on the disk or in the program, by path or by name.
struct Files;

impl Source for Files {
    fn locate(&self, reference: &str, near: &Path) -> Result<PathBuf, String> {
        let by_name = !reference.contains(['.', '/', '\\']);
        if by_name {
            find(Path::new(reference), near).map_err(|e| e.to_string())
        } else {
            Ok(near.join(reference))
        }
    }

    fn text(&self, path: &Path) -> io::Result<String> {
        shipped::text(path)
    }
}

/// Reads and checks the file and what it extends (everything that can be checked without the URDF).
pub(super) fn read(path: &Path) -> Result<Settings, RobotError> {
    let layers = Layers::read(path, &Files)?;
    let mut settings: Settings = layers.parse(&[])?;
    let folder = |key: &str| layers.stated_in(key).parent().unwrap_or(Path::new("."));
    settings.urdf = folder("urdf").join(&settings.urdf);
    for place in &mut settings.package_path {
        *place = folder("package_path").join(&place);
    }
    check_numbers(path, &settings)?;
    for capsule in &settings.capsules {
        capsule.check(path)?;
    }
    for pair in &settings.self_collision.ignore {
        if pair.reason.trim().is_empty() {
            let reason = format!("`{}` and `{}` are ignored without a reason", pair.a, pair.b);
            return Err(field_error(path, "self_collision.ignore.reason", reason));
        }
    }
    Ok(settings)
}

/// Ranges of every number that stands for itself.
fn check_numbers(path: &Path, s: &Settings) -> Result<(), RobotError> {
    for x in s.gravity_m_s2 {
        if !x.is_finite() {
            return Err(field_error(path, "gravity_m_s2", format!("contains {x}, expected finite numbers")));
        }
    }
    let along = s.grip_along_axis_m;
    if !(along.abs() <= LARGEST_M) {
        let reason = format!("{along}, expected a finite number, at most {LARGEST_M} m");
        return Err(field_error(path, "grip_along_axis_m", reason));
    }
    if along != 0.0 && s.end_effector.is_none() {
        return Err(field_error(
            path,
            "grip_along_axis_m",
            "there is no `end_effector`, expected one".to_owned(),
        ));
    }
    if let Some((field, reason)) = s.uncertainty.as_ref().and_then(Uncertainty::fault) {
        return Err(field_error(path, format!("uncertainty.{field}"), reason));
    }
    if let Some((field, reason)) = s.drives.fault() {
        return Err(field_error(path, format!("drives.{field}"), reason));
    }
    if s.sensors.as_ref().is_some_and(|sensors| !sensors.torque_abs_of_joints_nm.is_empty()) {
        let reason =
            "expected `abs_nm` in `[joints.NAME.torque_sensor]` of each joint that differs".to_owned();
        return Err(field_error(path, "sensors.torque_abs_of_joints_nm", reason));
    }
    for (field, x, expected) in stated_numbers(s) {
        if !expected.holds(x) {
            return Err(field_error(path, field, format!("{x}, expected {}", expected.words())));
        }
    }
    let period_s = s.control.map_or(f64::INFINITY, |control| control.period_s);
    if let Some((field, reason)) = s.timing.fault(period_s) {
        return Err(field_error(path, format!("timing.{field}"), reason));
    }
    for frame in &s.frames {
        if let Some(x) = frame.xyz_m.iter().chain(&frame.rpy_rad).find(|x| !x.is_finite()) {
            let field = format!("frame.{}", frame.name);
            return Err(field_error(path, field, format!("{x}, expected finite numbers")));
        }
    }
    Ok(())
}

/// What a number has to be.
/// What a file states of one joint's torque sensor.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TorqueSensorSettings {
    /// Absolute part of its error, N m (N).
    abs_nm: f64,
}

#[derive(Clone, Copy)]
enum Expected {
    Ratio,
    NotNegative,
    Positive,
}

impl Expected {
    fn holds(self, x: f64) -> bool {
        match self {
            Expected::Ratio => (0.0..1.0).contains(&x),
            Expected::NotNegative => x.is_finite() && x >= 0.0,
            Expected::Positive => x.is_finite() && x > 0.0,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Expected::Ratio => "a ratio in [0, 1)",
            Expected::NotNegative => "a finite number >= 0",
            Expected::Positive => "a finite number > 0",
        }
    }
}

/// The numbers of sensors and control that the file states: field, value, and what it has to be.
fn stated_numbers(s: &Settings) -> impl Iterator<Item = (&'static str, f64, Expected)> {
    let sensors = s.sensors.as_ref().map(|e| {
        [
            ("sensors.torque_ratio", e.torque_ratio, Expected::Ratio),
            ("sensors.position_rad", e.position_rad, Expected::NotNegative),
            ("sensors.velocity_rad_s", e.velocity_rad_s, Expected::NotNegative),
            ("sensors.torque_abs_nm", e.torque_abs_nm, Expected::NotNegative),
        ]
    });
    let control = s.control.as_ref().map(|c| {
        [
            ("control.stiction_speed_rad_s", c.stiction_speed_rad_s, Expected::NotNegative),
            ("control.k_r", c.k_r, Expected::Positive),
            ("control.alpha", c.alpha, Expected::Positive),
            ("control.v_max", c.v_max, Expected::Positive),
            ("control.period_s", c.period_s, Expected::Positive),
        ]
    });
    sensors.into_iter().flatten().chain(control.into_iter().flatten())
}

impl CapsuleSettings {
    /// The capsule, in the link's frame.
    pub fn capsule(&self) -> Capsule {
        Capsule { a: self.a_m.into(), b: self.b_m.into(), radius: self.radius_m }
    }

    fn check(&self, path: &Path) -> Result<(), RobotError> {
        let refuse = |reason| Err(field_error(path, format!("capsules.{}", self.name), reason));
        if let Some(reason) = self.capsule().fault() {
            return refuse(reason);
        }
        let lengths = [("a_m", &self.a_m[..]), ("b_m", &self.b_m), ("radius_m", &[self.radius_m])];
        for (what, lengths) in lengths {
            if let Some(far) = lengths.iter().find(|x| x.abs() > LARGEST_M) {
                return refuse(format!("{what} contains {far}, expected at most {LARGEST_M} m"));
            }
        }
        Ok(())
    }
}

impl JointSettings {
    /// Applies the overrides of joint `name` to its kind, limits and friction.
    ///
    /// Position limits on a continuous joint make it a revolute one.
    ///
    /// # Errors
    /// [`RobotError`] that names the field in `path`: units that do not fit the kind of joint, numbers out of range.
    pub fn apply(
        &self,
        path: &Path,
        name: &str,
        kind: &mut JointKind,
        limits: &mut JointLimits,
        friction: &mut JointParameters,
    ) -> Result<(), RobotError> {
        let field = |what: &str| format!("joints.{name}.{what}");
        self.check_units(*kind).map_err(|(what, reason)| field_error(path, field(what), reason))?;
        let radians = self.position_deg.map(|p| p.map(f64::to_radians));
        if let Some([lower, upper]) = radians.or(self.position_rad).or(self.position_m) {
            limits.position = Some((lower, upper));
            if *kind == JointKind::Continuous {
                *kind = JointKind::Revolute;
            }
        }
        let radians = self.velocity_deg_s.map(f64::to_radians);
        limits.velocity = radians.or(self.velocity_rad_s).or(self.velocity_m_s).unwrap_or(limits.velocity);
        limits.torque = self.torque_nm.or(self.force_n).unwrap_or(limits.torque);
        for (what, value, target) in [
            ("coulomb", self.coulomb, &mut friction.coulomb),
            ("viscous", self.viscous, &mut friction.viscous),
            ("armature", self.armature, &mut friction.armature),
        ] {
            let Some(x) = value else { continue };
            if !(x.is_finite() && x >= 0.0) {
                return Err(field_error(path, field(what), format!("{x}, expected a finite number >= 0")));
            }
            *target = x;
        }
        if let Some(x) = self.offset {
            if !x.is_finite() {
                return Err(field_error(path, field("offset"), format!("{x}, expected a finite number")));
            }
            friction.offset = x;
        }
        Ok(())
    }

    /// Turns of the rotor for one of joint `name`, which is of this kind, if this says so.
    ///
    /// # Errors
    /// [`RobotError`] that names the field in `path`: zero, no number, a joint that slides.
    pub fn gear_ratio(&self, path: &Path, name: &str, kind: JointKind) -> Result<Option<f64>, RobotError> {
        let Some(ratio) = self.gear_ratio else { return Ok(None) };
        let reason = if !(ratio.is_finite() && ratio != 0.0) {
            format!("{ratio}, expected a finite number other than zero")
        } else if !kind.is_rotation() {
            "is stated of a joint that slides, expected one that turns: the rotor turns about its axis".into()
        } else {
            return Ok(Some(ratio));
        };
        Err(field_error(path, format!("joints.{name}.gear_ratio"), reason))
    }

    /// Where a joint of this kind is held still, rad or m.
    ///
    /// # Errors
    /// The key at fault: a unit that does not fit, a number that is none, or another key beside it.
    pub fn held_at(&self, kind: JointKind) -> Result<Option<f64>, (&'static str, String)> {
        let degrees = self.fixed_at_deg.map(f64::to_radians);
        let stated =
            [("fixed_at_rad", self.fixed_at_rad), ("fixed_at_deg", degrees), ("fixed_at_m", self.fixed_at_m)];
        let mut stated = stated.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let Some((key, at)) = stated.next() else { return Ok(None) };
        let alone = Self {
            fixed_at_rad: self.fixed_at_rad,
            fixed_at_deg: self.fixed_at_deg,
            fixed_at_m: self.fixed_at_m,
            ..Self::default()
        };
        if !at.is_finite() {
            return Err((key, format!("{at}, expected a finite number")));
        }
        if stated.next().is_some() || *self != alone {
            return Err((key, "the joint is held still, expected no other key beside it".to_owned()));
        }
        if (key == "fixed_at_m") == kind.is_rotation() {
            let (moves, unit) =
                if kind.is_rotation() { ("turns", "fixed_at_rad") } else { ("slides", "fixed_at_m") };
            return Err((key, format!("the joint {moves}, expected `{unit}`")));
        }
        Ok(Some(at))
    }

    /// Whether a joint that mimics another has a drive of its own.
    pub fn independent(&self) -> bool {
        self.independent
    }

    /// Whether a joint that the URDF holds turns, and where its limits are, rad.
    ///
    /// # Errors
    /// The key at fault, where it has no limits.
    pub fn hinge(&self) -> Result<Option<[f64; 2]>, (&'static str, String)> {
        let stated = self.position_deg.map(|p| p.map(f64::to_radians)).or(self.position_rad);
        match (self.hinge, stated) {
            (false, _) => Ok(None),
            (true, Some(limits)) => Ok(Some(limits)),
            (true, None) => {
                Err(("hinge", "the joint has no limits, expected `position_rad` beside it".to_owned()))
            }
        }
    }

    /// Applies what is said of the drive of joint `name`.
    ///
    /// # Errors
    /// [`RobotError`] that names the field in `path`: a bound that is none.
    pub fn apply_drive(&self, path: &Path, name: &str, drive: &mut DriveBounds) -> Result<(), RobotError> {
        let Some(own) = &self.drive else { return Ok(()) };
        own.apply(drive);
        match drive.fault() {
            Some((what, reason)) => Err(field_error(path, format!("joints.{name}.drive.{what}"), reason)),
            None => Ok(()),
        }
    }

    /// Absolute part of the error of the torque sensor of joint `name`, where it has its own, N m.
    ///
    /// # Errors
    /// [`RobotError`] that names the field in `path`: a bound that is none.
    pub fn torque_sensor_abs_nm(&self, path: &Path, name: &str) -> Result<Option<f64>, RobotError> {
        let Some(TorqueSensorSettings { abs_nm }) = self.torque_sensor else { return Ok(None) };
        if Expected::NotNegative.holds(abs_nm) {
            return Ok(Some(abs_nm));
        }
        let reason = format!("{abs_nm}, expected {}", Expected::NotNegative.words());
        Err(field_error(path, format!("joints.{name}.torque_sensor.abs_nm"), reason))
    }

    /// At most one unit for each limit, and one that suits the joint.
    fn check_units(&self, kind: JointKind) -> Result<(), (&'static str, String)> {
        let rotates = kind.is_rotation();
        let given = [
            ("position_deg", self.position_deg.is_some(), true),
            ("position_rad", self.position_rad.is_some(), true),
            ("position_m", self.position_m.is_some(), false),
            ("velocity_deg_s", self.velocity_deg_s.is_some(), true),
            ("velocity_rad_s", self.velocity_rad_s.is_some(), true),
            ("velocity_m_s", self.velocity_m_s.is_some(), false),
            ("torque_nm", self.torque_nm.is_some(), true),
            ("force_n", self.force_n.is_some(), false),
        ];
        for (what, present, for_rotation) in given {
            if present && for_rotation != rotates {
                let moves = if rotates { "rotates" } else { "slides" };
                return Err((what, format!("the joint {moves}, so this unit is not its own")));
            }
        }
        if self.position_deg.is_some() && self.position_rad.is_some() {
            return Err(("position_deg", "position_rad is given too; expected one of them".into()));
        }
        if self.velocity_deg_s.is_some() && self.velocity_rad_s.is_some() {
            return Err(("velocity_deg_s", "velocity_rad_s is given too; expected one of them".into()));
        }
        Ok(())
    }
}
