//! Reading a robot: URDF + robot TOML -> [`Model`] or [`super::Arm`], or the reason why not.
//!
//! # Files
//! A relative path is taken from the current directory. A bare name (`kinova_gen3_2f85`: no extension, no
//! separator) is looked up as `robots/<name>.toml`, then `.urdf`, in the current directory and those above it, then
//! among the robots that ship ([`shipped`]).
//!
//! A TOML with `base = "free_flyer"` makes the root link a body that moves freely (joint 0). `[[frame]]` names frames on
//! links, `[[loop]]` holds two of them together. `end_effector`, `[uncertainty]`, `[sensors]` and `[control]` may be
//! left out where only dynamics are wanted: for [`load_model`].
//!
//! A TOML with `extends = "FILE"` (or a bare name, as above) takes all keys of that file but those that it gives itself: tables
//! are merged key by key, lists replaced as a whole. `urdf` is relative to the file that it stands in.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use nalgebra::Vector3;

use super::attach;
use super::description::ArmDescription;
use super::drive::DriveBounds;
use super::error::RobotError;
use super::gains::Gains;
use super::mend;
use super::merge::{Merged, merge};
use super::model::{Joint, JointKind, JointLimits, Model, NamedFrame};
use super::sensors::Sensors;
use super::settings::{self, Base, IgnoredContact, JointSettings, Settings};
use super::shape::{HeldShape, IgnoredPair, LinkShape};
use super::shipped;
use super::timing::TimingBounds;
use super::uncertainty::Uncertainty;
use super::urdf::{self, Tree, UrdfJoint};
use super::validate::{self, Judge};
use crate::inertia::JointParameters;
use shapes::shapes;

#[cfg(feature = "arm")]
mod arm;
mod fixed;
mod shapes;
#[cfg(feature = "arm")]
pub use arm::load;
#[cfg(feature = "arm")]
pub(crate) use arm::load_adjusted;

/// Loads the tree of any robot, arm or not, from a robot TOML or a bare URDF ([files](self)): all that dynamics and estimation need.
///
/// Of a bare URDF, an inertia that no body can have is replaced by the nearest that one can; [`Model::guesses`] says of which link. With a robot TOML
/// such a link is refused, unless the TOML says better (`[links.NAME]`).
///
/// # Errors
/// [`RobotError`] names the file and the link, joint or field at fault.
pub fn load_model(path: impl AsRef<Path>) -> Result<Model, RobotError> {
    let path = find(path.as_ref(), Path::new("."))?;
    Ok(load_file(&path, None, &mut Judge::strict())?.stated.model)
}

/// A model and the shapes of its links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedModel {
    /// The tree.
    pub model: Model,
    /// Capsules that the TOML states, or one around each collision primitive of the URDF; meshes are not looked at.
    pub shapes: Vec<LinkShape>,
    /// Pairs of capsules that the TOML ignores.
    pub ignored: Vec<IgnoredPair>,
}

/// As [`load_model`], with the capsules of its links.
///
/// # Errors
/// As [`load_model`].
pub fn load_model_with_shapes(path: impl AsRef<Path>) -> Result<LinkedModel, RobotError> {
    let path = find(path.as_ref(), Path::new("."))?;
    let stated = load_file(&path, None, &mut Judge::strict())?.stated;
    Ok(LinkedModel { model: stated.model, shapes: stated.shapes, ignored: stated.ignored_pairs })
}

/// What another file, at this path, says of joints instead of the robot's own.
pub(super) type Adjustment<'a> = Option<Layer<'a>>;

/// Loads a robot for dynamics alone and survives what [`load_model`] refuses but rigid-body algorithms can work with, most
/// notably inertias that no body can have. Gives the faults beside the robot, in the order in which they were found:
/// non-physical links, bodies without mass, unusable limits, collision primitives that were left out or stick out of their
/// capsules (meshes are not looked at), no telling which leaf is the end effector.
///
/// # Errors
/// As [`load_model`], for what cannot be survived: files, trees, names, numbers that are not finite.
pub fn load_lenient(path: impl AsRef<Path>) -> Result<(Model, Vec<RobotError>), RobotError> {
    let mut judge = Judge::lenient();
    let robot = load_file(&find(path.as_ref(), Path::new("."))?, None, &mut judge)?;
    Ok((robot.stated.model, judge.found))
}

/// The file that `reference` means when it is written in a file of the folder `near` (or given on the command
/// line, with `near` the current directory).
///
/// Tried in this order: the path as it stands if absolute; relative to `near` and to each folder above it, so
/// that `robots/arm.toml` works from anywhere inside a repository; relative to the current directory. A bare name
/// (no extension, no separator) stands for `robots/<name>.toml` or else `robots/<name>.urdf` of the nearest such folder, then
/// for the robot of that name that ships, whose path is one inside the program.
///
/// # Errors
/// [`RobotError::NotFound`] lists what was tried.
pub fn find(reference: &Path, near: &Path) -> Result<PathBuf, RobotError> {
    let bare = reference.extension().is_none() && reference.components().count() == 1;
    let candidates = if bare {
        let stem = Path::new("robots").join(reference);
        vec![stem.with_extension("toml"), stem.with_extension("urdf")]
    } else {
        vec![reference.to_path_buf()]
    };
    // Folders above `near` are only known from its absolute form; a message keeps the short one where it can.
    let folder = std::path::absolute(near).unwrap_or_else(|_| near.to_path_buf());
    // Folder by folder: a URDF that is near comes before a robot TOML of the same name further up.
    let near_by = |c: &PathBuf| if near == Path::new(".") { c.clone() } else { near.join(c) };
    let nearest = candidates.iter().map(near_by);
    let above = folder.ancestors().skip(1).flat_map(|a| candidates.iter().map(move |c| a.join(c)));
    if let Some(found) = nearest.chain(above).chain(candidates.iter().cloned()).find(|path| path.is_file()) {
        return Ok(found);
    }
    if bare && let Some(path) = shipped::find(reference) {
        return Ok(path);
    }
    let tried: Vec<String> = candidates.iter().map(|c| format!("`{}`", c.display())).collect();
    let mut tried = format!("{} in `{}` and the folders above it", tried.join(" and "), near.display());
    if bare {
        tried += &format!(", and among those that ship: {}", shipped::names().collect::<Vec<_>>().join(", "));
    }
    Err(RobotError::NotFound { name: reference.display().to_string(), tried })
}

fn load_file(path: &Path, adjustment: Adjustment<'_>, judge: &mut Judge) -> Result<Assembled, RobotError> {
    let parts = read(path, judge)?;
    assemble(path, parts, adjustment, judge)
}

/// What the files say, checked apart from what the robot TOML says of single joints and links.
pub(super) struct Parts {
    settings: Settings,
    /// The URDF, with its fixed joints.
    pub tree: Tree,
    /// Its links on bodies.
    pub merged: Merged,
}

/// Reads a robot TOML with its URDF, or a bare URDF.
pub(super) fn read(path: &Path, judge: &mut Judge) -> Result<Parts, RobotError> {
    if path.extension().is_some_and(|e| e == "urdf") {
        let mut tree = urdf::read(path, judge)?;
        if judge.shapes {
            fixed::hold_grippers(&mut tree, judge);
        }
        fixed::refuse_mimics(&tree, judge)?;
        mend::links(&mut tree, (false, true), judge)?;
        let merged = check(&tree, Base::Fixed, judge)?;
        let settings = settings_for_bare(&tree, &merged, judge)?;
        return Ok(Parts { settings, tree, merged });
    }
    let mut settings = settings::read(path)?;
    judge.dynamics_only = settings.base == Base::FreeFlyer || !missing(&settings).is_empty();
    let mut tree = urdf::read(&settings.urdf, judge).map_err(|error| match error {
        RobotError::Read { path: urdf, source } => RobotError::Field {
            path: path.to_path_buf(),
            field: "urdf".to_owned(),
            reason: format!("`{}` cannot be read: {source}", urdf.display()),
        },
        other => other,
    })?;
    fixed::hold(path, &mut tree, &mut settings.joints, judge)?;
    mend::overrule(path, &mut tree, &settings.links)?;
    mend::links(&mut tree, (settings.base == Base::FreeFlyer, false), judge)?;
    let mut merged = check(&tree, settings.base, judge)?;
    if settings.grip_along_axis_m != 0.0 {
        let body = end_effector(path, &settings, &tree, &merged)?;
        if merged.bodies[body].joint.is_none() {
            let reason = "the `end_effector` floats, expected one on a joint with an axis";
            let (path, field) = (path.to_path_buf(), "grip_along_axis_m".to_owned());
            return Err(RobotError::Field { path, field, reason: reason.to_owned() });
        }
        merged.slide_frame(&tree, body, settings.grip_along_axis_m);
    }
    Ok(Parts { settings, tree, merged })
}

/// Merges fixed joints and checks the bodies.
fn check(tree: &Tree, base: Base, judge: &mut Judge) -> Result<Merged, RobotError> {
    let merged = merge(tree, base == Base::FreeFlyer);
    validate::bodies(tree, &merged, judge)?;
    Ok(merged)
}

/// Uncertainty of a robot whose file does not state any.
const UNCERTAINTY: Uncertainty = Uncertainty {
    link_ratio: 0.05,
    friction_ratio: 0.05,
    armature_ratio: 0.05,
    gravity_direction_deg: 0.2,
    breakaway_ratio: 1.2,
    first_moment_kg_m: 0.0,
    inertia_kg_m2: 0.0,
    offset_nm: 0.0,
};
/// The same for sensors.
const SENSORS: Sensors = Sensors {
    position_rad: 1e-5,
    velocity_rad_s: 1e-4,
    torque_ratio: 0.025,
    torque_abs_nm: 0.0,
    torque_abs_of_joints_nm: Vec::new(),
};
/// The same for gains.
const CONTROL: Gains =
    Gains { k_r: 5.0, alpha: 20.0, v_max: 0.02, period_s: 1e-3, stiction_speed_rad_s: 1e-3 };

/// What a URDF without a robot TOML is given (see [`super::load()`]).
fn settings_for_bare(tree: &Tree, merged: &Merged, judge: &mut Judge) -> Result<Settings, RobotError> {
    let parents: HashSet<usize> = merged.bodies.iter().filter_map(|b| b.parent).collect();
    let leaves: Vec<&str> = (0..merged.bodies.len())
        .filter(|b| !parents.contains(b))
        .map(|b| merged.bodies[b].joint_name(tree))
        .collect();
    let end_effector = if let [leaf] = leaves[..] {
        Some(leaf.to_owned())
    } else {
        let reason = format!(
            "it has {} leaf joints ({}); write a robot TOML that says which is the `end_effector`",
            leaves.len(),
            leaves.join(", ")
        );
        judge.hear_of_arm(RobotError::Tree { path: tree.path.clone(), reason })?;
        None
    };
    Ok(Settings {
        name: tree.name.clone(),
        urdf: tree.path.clone(),
        package_path: Vec::new(),
        base: Base::Fixed,
        end_effector,
        grip_along_axis_m: 0.0,
        gravity_m_s2: settings::earth(),
        uncertainty: Some(UNCERTAINTY),
        sensors: Some(SENSORS),
        drives: DriveBounds::IDEAL,
        timing: TimingBounds::EXACT,
        control: Some(CONTROL),
        joints: BTreeMap::new(),
        links: BTreeMap::new(),
        capsules: Vec::new(),
        self_collision: Default::default(),
        frames: Vec::new(),
        loops: Vec::new(),
        thrusts: Vec::new(),
    })
}

/// Puts the checked parts together; `path` is the file that `settings` came from.
pub(super) fn assemble(
    path: &Path,
    parts: Parts,
    adjustment: Adjustment<'_>,
    judge: &mut Judge,
) -> Result<Assembled, RobotError> {
    let Parts { settings, tree, merged } = parts;
    let (tree, merged) = (&tree, &merged);
    // Later layers have the last word.
    let layers: Vec<_> = [(path, &settings.joints)].into_iter().chain(adjustment).collect();
    for (file, layer) in &layers {
        if let Some(unknown) = layer.keys().find(|name| body_of_joint(tree, merged, name).is_none()) {
            let reason = format!("`{}` has no moving joint of that name", tree.path.display());
            let (path, field) = (file.to_path_buf(), format!("joints.{unknown}"));
            return Err(RobotError::Field { path, field, reason });
        }
    }
    let placements = merged.placements_by_name(tree);
    let end_effector = end_effector(path, &settings, tree, merged)?;
    let (shapes, parts) = shapes(path, &settings, tree, merged, judge)?;
    let named_frames = attach::frames(path, &settings.frames, tree, &placements)?;
    let ignored_pairs = ignored_pairs(path, &shapes, &settings.self_collision.ignore)?;
    let missing = missing(&settings);
    let tool_frames = tool_frames(&settings, tree, merged, end_effector);
    let gains = settings.control.unwrap_or(CONTROL);
    let joints = joints(&layers, tree, merged, judge)?;
    let model = Model {
        loops: attach::loops(path, &settings.loops, &named_frames, &joints)?,
        joints,
        thrusts: attach::thrusts(path, &settings.thrusts, &named_frames)?,
        named_frames,
        link_frames: (0..tree.links.len()).map(|l| link_frame(tree, merged, l)).collect(),
        name: settings.name,
        gravity: Vector3::from(settings.gravity_m_s2),
        friction_speed_rad_s: gains.stiction_speed_rad_s,
        guesses: judge.guesses.clone(),
    };
    let drives = drives(&layers, settings.drives, &model)?;
    let sensors = sensors(&layers, settings.sensors.unwrap_or(SENSORS), &model)?;
    let stated = ArmDescription {
        model,
        drives,
        parts,
        shapes,
        ignored_pairs,
        held: HeldShape::Nothing,
        end_effector,
        tool_frames,
        uncertainty: settings.uncertainty.unwrap_or(UNCERTAINTY),
        sensors,
        timing: settings.timing,
        gains,
    };
    Ok(Assembled { stated, missing })
}

/// What the files state of a robot, arm or not.
pub(super) struct Assembled {
    /// As of an arm; what was not stated has values that nobody vouches for.
    pub stated: ArmDescription,
    /// Sections that an arm needs and the file does not have.
    #[cfg_attr(not(feature = "arm"), expect(dead_code, reason = "who asks for a model needs none of them"))]
    missing: Vec<String>,
}

/// The body that holds the payload, by its joint or one of its links; the last one where none is named.
fn end_effector(path: &Path, settings: &Settings, tree: &Tree, merged: &Merged) -> Result<usize, RobotError> {
    let Some(name) = &settings.end_effector else { return Ok(merged.bodies.len() - 1) };
    let by_link = || merged.placements_by_name(tree).get(name.as_str()).and_then(|placement| placement.body);
    body_of_joint(tree, merged, name).or_else(by_link).ok_or_else(|| {
        let file = tree.path.display();
        let reason = format!("`{name}` is no moving joint, and no link that moves, of `{file}`");
        RobotError::Field { path: path.to_path_buf(), field: "end_effector".to_owned(), reason }
    })
}

/// The links that move with the hand, and their frames in that of its joint. The tool frame comes first: the link that the file names as
/// `end_effector`; if it names a joint, or there is no such file, the last link that is fixed to the one which the joint moves.
fn tool_frames(settings: &Settings, tree: &Tree, merged: &Merged, hand: usize) -> Vec<NamedFrame> {
    let links = merged.bodies[hand].links.iter();
    let mut frames: Vec<NamedFrame> = links.map(|&l| link_frame(tree, merged, l)).collect();
    let named = frames.iter().position(|frame| settings.end_effector.as_ref() == Some(&frame.name));
    let tool = named.unwrap_or(frames.len().saturating_sub(1));
    if !frames.is_empty() {
        frames[..=tool].rotate_right(1);
    }
    frames
}

/// The frame of a link of the URDF, in that of the joint that moves it.
fn link_frame(tree: &Tree, merged: &Merged, link: usize) -> NamedFrame {
    let placement = merged.placements[link];
    NamedFrame { name: tree.links[link].name.clone(), joint: placement.body, placement: placement.frame }
}

/// Sections that an arm needs and the file does not have.
fn missing(settings: &Settings) -> Vec<String> {
    let given = [
        ("end_effector", settings.end_effector.is_some()),
        ("uncertainty", settings.uncertainty.is_some()),
        ("sensors", settings.sensors.is_some()),
        ("control", settings.control.is_some()),
    ];
    given.iter().filter(|(_, there)| !there).map(|(name, _)| (*name).to_owned()).collect()
}

/// Body moved by the joint of that name.
fn body_of_joint(tree: &Tree, merged: &Merged, name: &str) -> Option<usize> {
    merged.bodies.iter().position(|b| b.joint.is_some_and(|j| tree.joints[j].name == name))
}

/// Settings of joints by name, and the file that they stand in.
pub(super) type Layer<'a> = (&'a Path, &'a BTreeMap<String, JointSettings>);

fn joints(
    layers: &[Layer<'_>],
    tree: &Tree,
    merged: &Merged,
    judge: &mut Judge,
) -> Result<Vec<Joint>, RobotError> {
    let mut joints = Vec::with_capacity(merged.bodies.len());
    for body in &merged.bodies {
        let (name, link) = (body.joint_name(tree).to_owned(), body.link_name(tree).to_owned());
        let (kind, limits, friction, gear_ratio) = match body.joint {
            Some(j) => one_joint(layers, tree, &tree.joints[j], judge)?,
            None => (
                JointKind::FreeFlyer,
                JointLimits { position: None, velocity: f64::MAX, torque: 0.0 },
                JointParameters { coulomb: 0.0, viscous: 0.0, armature: 0.0, offset: 0.0 },
                None,
            ),
        };
        joints.push(Joint {
            name,
            link,
            kind,
            parent: body.parent,
            placement: body.placement,
            limits,
            friction,
            gear_ratio,
            inertia: body.inertia,
        });
    }
    Ok(joints)
}

/// What the sensors get wrong: what the file says of all, with the torque sensors of joints for which a layer says something else.
fn sensors(layers: &[Layer<'_>], of_all: Sensors, model: &Model) -> Result<Sensors, RobotError> {
    let own = |joint: &Joint| -> Result<Option<f64>, RobotError> {
        let mut own = None;
        for (path, layer) in layers {
            if let Some(settings) = layer.get(&joint.name) {
                own = settings.torque_sensor_abs_nm(path, &joint.name)?.or(own);
            }
        }
        Ok(own)
    };
    let own: Vec<Option<f64>> = model.joints.iter().map(own).collect::<Result<_, _>>()?;
    let mut sensors = of_all;
    if own.iter().any(Option::is_some) {
        let of_all = sensors.torque_abs_nm;
        sensors.torque_abs_of_joints_nm = own.into_iter().map(|own| own.unwrap_or(of_all)).collect();
    }
    Ok(sensors)
}

/// What the drive of each joint does beside what it is asked for: what the file says of all, overridden by each layer; none where all are ideal.
fn drives(layers: &[Layer<'_>], of_all: DriveBounds, model: &Model) -> Result<Vec<DriveBounds>, RobotError> {
    let mut drives = vec![of_all; model.joints.len()];
    for (joint, drive) in model.joints.iter().zip(&mut drives) {
        for (path, layer) in layers {
            if let Some(settings) = layer.get(&joint.name) {
                settings.apply_drive(path, &joint.name, drive)?;
            }
        }
    }
    if drives.iter().all(|drive| *drive == DriveBounds::IDEAL) {
        drives.clear();
    }
    Ok(drives)
}

/// Kind, limits, friction and turns of the rotor of a moving joint of the URDF, with the overrides of each layer.
fn one_joint(
    layers: &[Layer<'_>],
    tree: &Tree,
    source: &UrdfJoint,
    judge: &mut Judge,
) -> Result<(JointKind, JointLimits, JointParameters, Option<f64>), RobotError> {
    let error = |reason| RobotError::Joint { path: tree.path.clone(), joint: source.name.clone(), reason };
    let mut kind = source.kind.ok_or_else(|| error("is fixed, expected one that moves".into()))?;
    let position = (kind != JointKind::Continuous).then_some(source.position);
    let mut limits = JointLimits { position, velocity: source.velocity, torque: source.effort };
    if source.friction < 0.0 || source.damping < 0.0 {
        judge.hear(error("friction or damping in <dynamics> is negative, expected >= 0".into()))?;
    }
    let mut friction =
        JointParameters { coulomb: source.friction, viscous: source.damping, armature: 0.0, offset: 0.0 };
    let mut gear_ratio = None;
    for (path, layer) in layers {
        if let Some(settings) = layer.get(&source.name) {
            settings.apply(path, &source.name, &mut kind, &mut limits, &mut friction)?;
            gear_ratio = settings.gear_ratio(path, &source.name, kind)?.or(gear_ratio);
        }
    }
    if let Some(reason) = validate::limits_fault(&limits, judge.dynamics_only) {
        judge.hear(error(reason))?;
    }
    Ok((kind, limits, friction, gear_ratio))
}

/// The pairs of capsules that the file ignores, by index.
fn ignored_pairs(
    path: &Path,
    shapes: &[LinkShape],
    ignored: &[IgnoredContact],
) -> Result<Vec<IgnoredPair>, RobotError> {
    let index = |name: &str| {
        shapes.iter().position(|s| s.name == name).ok_or_else(|| RobotError::Field {
            path: path.to_path_buf(),
            field: "self_collision.ignore".into(),
            reason: format!("there is no capsule `{name}`"),
        })
    };
    let pair = |pair: &IgnoredContact| {
        let (a, b) = (index(&pair.a)?, index(&pair.b)?);
        Ok(IgnoredPair { a: a.min(b), b: a.max(b), reason: pair.reason.clone() })
    };
    ignored.iter().map(pair).collect()
}

#[cfg(test)]
pub(crate) mod tests;
