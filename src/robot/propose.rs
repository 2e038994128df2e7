//! A robot TOML for a URDF: what the URDF says, and guesses, each marked as one, for what it does not say.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use nalgebra::Vector3;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::arm::Arm;
use super::clearance;
use super::configuration::limits;
use super::error::RobotError;
use super::load::{self, Parts};
use super::mend::Mended;
use super::model::{JointKind, Placement};
use super::urdf::Tree;
use super::validate::Judge;

/// Guess of a transmission inertia: this many kg m^2 for each N m of the joint's torque limit. Arms whose figures are public have 0.003 (Z1) to 0.05
/// (Gen3).
const ARMATURE: f64 = 0.01;
/// Guess of Coulomb friction, as a share of the torque limit.
const COULOMB: f64 = 0.01;
/// Guess of viscous friction at the joint's speed limit, as a share of the torque limit.
const VISCOUS: f64 = 0.03;
/// Guess of a torque limit: so many times what the joint carries.
const HOLDS: f64 = 3.0;
/// Weight of a kilogram, N.
const GRAVITY: f64 = 9.81;
/// Guesses of limits of speed.
const TURN_RAD_S: f64 = 1.0;
const SLIDE_M_S: f64 = 0.2;
/// Random configurations in which capsules are looked at.
const SAMPLES: usize = 500;
/// Pairs that overlap in as large a share of them are proposed to be ignored even if they do not overlap at rest.
const MOSTLY: f64 = 0.9;
/// A capsule that never gets as far away from another body leaves no motion room, m: tubes carry links by some 20 mm.
const ROOM_M: f64 = 0.02;
/// What the ends of a capsule are rounded to when they are written, m; its radius grows by as much.
const ROUNDED: f64 = 1e-4;

/// What would be written for a URDF.
#[derive(Debug, Clone)]
pub struct ProposedFile {
    /// The robot TOML.
    pub text: String,
    /// The arm as the URDF alone makes it.
    pub arm: Arm,
    /// Pairs of capsules that it proposes to ignore.
    pub ignored: usize,
    /// Joints of grippers that it proposes to hold still.
    pub held: Vec<String>,
}

/// Proposes a robot TOML for the URDF at `path`, to stand in the folder `home`; `package_path` are folders in which its packages are.
///
/// # Errors
/// As [`super::load()`] of the URDF.
pub fn propose(path: &Path, home: &Path, package_path: &[PathBuf]) -> Result<ProposedFile, RobotError> {
    let path = load::find(path, Path::new("."))?;
    let mut judge = Judge::strict().of_shapes_in(package_path);
    let mut parts = load::read(&path, &mut judge)?;
    let missing = missing_limits(&mut parts.tree);
    let held = held(&parts);
    let frames = link_frames(&parts);
    let arm = load::assemble(&path, parts, None, &mut judge)?.arm(&path)?;
    let ignored = ignorable(&arm);
    let mut text = heading(&arm, &path, home, package_path);
    text += &defaults(&arm);
    text += &joints(&arm, &held, &missing);
    text += &links(&judge.mended);
    text += &pairs(&arm, &ignored);
    text += &capsules(&arm, &frames);
    let held = held.into_iter().map(|(name, ..)| name).collect();
    Ok(ProposedFile { text, arm, ignored: ignored.len(), held })
}

/// A limit that the URDF does not state, and a guess in its place.
struct MissingLimit {
    joint: String,
    key: &'static str,
    value: f64,
}

/// Puts guesses in the place of limits of speed and torque that are 0 or missing. A torque holds what the joint carries, however it is turned, a few times over.
fn missing_limits(tree: &mut Tree) -> Vec<MissingLimit> {
    let mut found = vec![];
    for j in 0..tree.joints.len() {
        let Some(kind) = tree.joints[j].kind else { continue };
        let slides = !kind.is_rotation();
        let stated = |x: f64| x.is_finite() && x > 0.0;
        let joint = tree.joints[j].name.clone();
        if !stated(tree.joints[j].velocity) {
            let (key, value) =
                if slides { ("velocity_m_s", SLIDE_M_S) } else { ("velocity_rad_s", TURN_RAD_S) };
            tree.joints[j].velocity = value;
            found.push(MissingLimit { joint: joint.clone(), key, value });
        }
        if !stated(tree.joints[j].effort) {
            let [weight, lever] = carried(tree, j);
            let (key, least) = if slides { ("force_n", weight) } else { ("torque_nm", lever) };
            let value = two_digits((HOLDS * least).max(1.0));
            tree.joints[j].effort = value;
            found.push(MissingLimit { joint, key, value });
        }
    }
    found
}

/// Weight of all that joint `j` carries, N, and the most that it may weigh about it, N m: with everything stretched out.
fn carried(tree: &Tree, j: usize) -> [f64; 2] {
    let (mut sum, mut next) = ([0.0; 2], vec![(tree.joints[j].child, 0.0)]);
    while let Some((link, reach)) = next.pop() {
        let own = &tree.links[link];
        let weight = GRAVITY * own.mass.max(0.0);
        sum = [sum[0] + weight, sum[1] + weight * (reach + own.com.norm())];
        for below in tree.joints.iter().filter(|joint| joint.parent == link) {
            let slide = match below.kind {
                Some(JointKind::Prismatic) => below.position.0.abs().max(below.position.1.abs()),
                _ => 0.0,
            };
            next.push((below.child, reach + below.origin.translation.norm() + slide));
        }
    }
    sum
}

/// Joints that were held, those that follow one of them left out: name, kind and position.
fn held(parts: &Parts) -> Vec<(String, JointKind, f64)> {
    let joints = parts.tree.joints.iter().filter(|joint| joint.mimic.is_none());
    joints.filter_map(|joint| joint.held_at.map(|(kind, at)| (joint.name.clone(), kind, at))).collect()
}

/// The frame of each link in that of its body.
fn link_frames(parts: &Parts) -> BTreeMap<String, Placement> {
    let names = parts.tree.links.iter().map(|link| link.name.clone());
    names.zip(parts.merged.placements.iter().map(|placement| placement.frame)).collect()
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A path as seen from the folder `home`, or as it is where the two have nothing in common.
fn seen_from(home: &Path, path: &Path) -> PathBuf {
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    let (Some(home), Some(path)) = (whole(home), whole(path)) else { return path.to_path_buf() };
    let common = home.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    if common < 2 {
        return path;
    }
    let up = home.components().skip(common).map(|_| PathBuf::from(".."));
    up.chain([path.components().skip(common).collect::<PathBuf>()]).collect()
}

fn heading(arm: &Arm, path: &Path, home: &Path, package_path: &[PathBuf]) -> String {
    let shown = |path: &Path| quoted(&seen_from(home, path).display().to_string());
    let mut text = format!(
        "# {}: what its URDF does not say. Made by `surelift robot init`.\n\
         # Every figure behind the word \"guess\" is one. Nothing that is proven with it holds for your arm until you have replaced it:\n\
         # data sheets give limits and sensors, recordings give friction and transmission inertia (surelift identify).\n\
         name = {}\nurdf = {}\n",
        arm.name,
        quoted(&arm.name),
        shown(path),
    );
    if !package_path.is_empty() {
        let folders: Vec<String> = package_path.iter().map(|folder| shown(folder)).collect();
        let _ = writeln!(text, "package_path = [{}]", folders.join(", "));
    }
    let hand = &arm.joints[arm.end_effector()];
    let _ = writeln!(
        text,
        "# Guess: the last link that moves, `{}`, holds the payload. If it is a finger or a jaw, name the link that carries it here, and hold the finger\n\
         # still: in place of all figures under its joint, fixed_at_rad = ... (fixed_at_m where it slides).\nend_effector = {}",
        hand.link,
        quoted(&hand.name)
    );
    text
}

/// The sections that an arm needs and a URDF does not have.
fn defaults(arm: &Arm) -> String {
    let (uncertainty, sensors, gains) = (arm.uncertainty(), arm.sensors(), arm.gains());
    format!(
        "\n# Guess: how far the truth may be from the model, as shares of its figures.\n[uncertainty]\nlink_ratio = {:?}\nfriction_ratio = {:?}\n\
         armature_ratio = {:?}\n\n# Guess: the most that sensors get wrong.\n[sensors]\nposition_rad = {:?}\nvelocity_rad_s = {:?}\n\
         torque_ratio = {:?}\ntorque_abs_nm = {:?}\n\n# Guess: gains; `surelift robot tune` finds better ones.\n[control]\nk_r = {:?}\nalpha = {:?}\n\
         v_max = {:?}\nperiod_s = {:?}\nstiction_speed_rad_s = {:?}\n",
        uncertainty.link_ratio,
        uncertainty.friction_ratio,
        uncertainty.armature_ratio,
        sensors.position_rad,
        sensors.velocity_rad_s,
        sensors.torque_ratio,
        sensors.torque_abs_nm,
        gains.k_r,
        gains.alpha,
        gains.v_max,
        gains.period_s,
        gains.stiction_speed_rad_s,
    )
}

/// Friction and transmission inertia of each joint, and the joints that are held.
fn joints(arm: &Arm, held: &[(String, JointKind, f64)], missing: &[MissingLimit]) -> String {
    let mut text = String::from(
        "\n# Guess of what nobody states: friction from the torque limits, transmission inertia (rotor inertia times the square of the reduction) 0.01 kg m^2\n\
         # for each N m of the torque limit. Position, speed and torque limits are the URDF's where none stands below; `position_rad`, `velocity_rad_s` and `torque_nm` here\n\
         # override them (`position_m`, `velocity_m_s`, `force_n` of a joint that slides).\n",
    );
    for joint in &arm.joints {
        let (torque, speed, stated) = (joint.limits.torque, joint.limits.velocity, &joint.friction);
        let _ = write!(text, "\n[joints.{}]\n", quoted(&joint.name));
        for MissingLimit { key, value, .. } in missing.iter().filter(|limit| limit.joint == joint.name) {
            let _ = writeln!(text, "{key} = {value:?}  # guess: the URDF states 0 or none");
        }
        let rows = [
            ("coulomb", stated.coulomb, COULOMB * torque),
            ("viscous", stated.viscous, VISCOUS * torque / speed),
            ("armature", 0.0, ARMATURE * torque),
        ];
        for (key, stated, guess) in rows {
            let _ = if stated > 0.0 {
                writeln!(text, "{key} = {stated:?}  # as in the URDF")
            } else {
                writeln!(text, "{key} = {:?}  # guess", two_digits(guess))
            };
        }
    }
    for (name, kind, at) in held {
        let key = if kind.is_rotation() { "fixed_at_rad" } else { "fixed_at_m" };
        let name = quoted(name);
        let _ = write!(text, "\n# Guess: a gripper's joint, held still.\n[joints.{name}]\n{key} = {at:?}\n");
    }
    text
}

/// Inertias in place of those that no body can have.
fn links(mended: &[Mended]) -> String {
    let mut text = String::new();
    for Mended { link, fault, taken } in mended {
        let _ = match taken {
            Some(inertia) => write!(
                text,
                "\n# Guess: the URDF states what no body has ({fault}); the nearest that one can have.\n[links.{}]\ninertia_kg_m2 = {inertia:?}\n",
                quoted(link)
            ),
            None => {
                write!(
                    text,
                    "\n# `{link}`: {fault}. It never moves, so this plays no part, and nothing is stated in its place.\n"
                )
            }
        };
    }
    text
}

/// A number rounded to two digits.
fn two_digits(x: f64) -> f64 {
    format!("{x:.1e}").parse().unwrap_or(x)
}

/// Two capsules that need not be kept apart, and why.
struct Overlap {
    pair: (usize, usize),
    reason: String,
}

/// Distances of the pairs that must be kept apart: at rest, and in random positions.
struct Distances {
    pairs: Vec<(usize, usize)>,
    at_rest: Vec<f64>,
    /// One row a position.
    elsewhere: Vec<Vec<f64>>,
}

impl Distances {
    fn of(arm: &Arm) -> Self {
        let (lower, upper) = limits(arm);
        let range = |j: usize| {
            if lower[j].is_finite() && upper[j].is_finite() { (lower[j], upper[j]) } else { (-PI, PI) }
        };
        let rest: Vec<f64> = (0..arm.dof()).map(|j| 0f64.clamp(range(j).0, range(j).1)).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut random =
            || (0..arm.dof()).map(|j| rng.random_range(range(j).0..=range(j).1)).collect::<Vec<f64>>();
        let pairs = arm.self_pairs().to_vec();
        let at = |q: &[f64]| {
            let frames = arm.frames(q);
            let placed = |k: usize| arm.placed_capsule(k, &frames);
            pairs.iter().map(|&(a, b)| clearance::between_capsules(&placed(a), &placed(b))).collect()
        };
        let elsewhere = (0..SAMPLES).map(|_| at(&random())).collect();
        Self { at_rest: at(&rest), elsewhere, pairs }
    }

    /// Pairs that overlap at rest, or nearly always.
    fn overlapping(&self) -> Vec<Overlap> {
        let overlaps = |k: usize| {
            let now = self.at_rest[k];
            let count = self.elsewhere.iter().filter(|distances| distances[k] <= 0.0).count();
            let share = 100 * count / SAMPLES;
            let mostly = count as f64 >= MOSTLY * SAMPLES as f64;
            let reason = if now <= 0.0 {
                format!(
                    "guess: they overlap by {:.1} mm at rest (all joints at zero, or as near as they get) and in {share} % of random positions",
                    -1e3 * now
                )
            } else {
                format!("guess: they overlap in {share} % of random positions")
            };
            (now <= 0.0 || mostly).then_some(Overlap { pair: self.pairs[k], reason })
        };
        (0..self.pairs.len()).filter_map(overlaps).collect()
    }

    /// Of the rest, capsules that stay so near to another body wherever the joints are that no motion has room: each with those capsules of that body that are to blame.
    fn crowded(&self, arm: &Arm, overlapping: &[Overlap]) -> Vec<Overlap> {
        let body = |shape: usize| arm.shapes()[shape].joint;
        let mut left: Vec<usize> = (0..self.pairs.len())
            .filter(|&k| overlapping.iter().all(|overlap| overlap.pair != self.pairs[k]))
            .collect();
        let mut found: Vec<Overlap> = vec![];
        for shape in 0..arm.shapes().len() {
            let others = left.iter().filter_map(|&k| other(self.pairs[k], shape)).map(body);
            for near in others.collect::<BTreeSet<_>>() {
                let of_body = |k: &&usize| other(self.pairs[**k], shape).is_some_and(|o| body(o) == near);
                let group = self.to_blame(left.iter().filter(of_body).copied().collect());
                let most = self.farthest(&group);
                if most >= ROOM_M {
                    continue;
                }
                let named = |name: &str| format!("`{name}`");
                let from = match group[..] {
                    [k] => other(self.pairs[k], shape).map(|o| named(&arm.shapes()[o].name)),
                    _ => near.map(|joint| named(&arm.joints[joint].link)),
                };
                let reason = format!(
                    "guess: {} is at most {:.0} mm away from {} in {SAMPLES} random positions: no motion has room between them",
                    named(&arm.shapes()[shape].name),
                    (1e3 * most).max(0.0),
                    from.unwrap_or_else(|| "the base".to_owned()),
                );
                found.extend(group.iter().map(|&k| Overlap { pair: self.pairs[k], reason: reason.clone() }));
                left.retain(|k| !group.contains(k));
            }
        }
        found
    }

    /// How far the nearest of these pairs is apart where that is most, m.
    fn farthest(&self, group: &[usize]) -> f64 {
        let nearest = |row: &Vec<f64>| group.iter().map(|&k| row[k]).fold(f64::INFINITY, f64::min);
        self.elsewhere.iter().map(nearest).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Those of these pairs without which there would be room, as few as can be found by leaving out one after the other.
    fn to_blame(&self, mut group: Vec<usize>) -> Vec<usize> {
        let mut far = group.clone();
        far.sort_by(|&a, &b| self.farthest(&[b]).total_cmp(&self.farthest(&[a])));
        for k in far {
            let fewer: Vec<usize> = group.iter().copied().filter(|&other| other != k).collect();
            if !fewer.is_empty() && self.farthest(&fewer) < ROOM_M {
                group = fewer;
            }
        }
        group
    }
}

/// The other one of a pair, if `shape` is one of it.
fn other((a, b): (usize, usize), shape: usize) -> Option<usize> {
    if a == shape { Some(b) } else { (b == shape).then_some(a) }
}

/// The pairs to be kept apart that are proposed to be ignored.
fn ignorable(arm: &Arm) -> Vec<Overlap> {
    let distances = Distances::of(arm);
    let mut found = distances.overlapping();
    let crowded = distances.crowded(arm, &found);
    found.extend(crowded);
    found
}

fn pairs(arm: &Arm, ignored: &[Overlap]) -> String {
    if ignored.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n# Guess: capsules that overlap, or leave no room, where the links do. Nobody proves these pairs: look at each, and shorten capsules\n\
         # where you can.\n[self_collision]\nignore = [\n",
    );
    for Overlap { pair, reason } in ignored {
        let [a, b] = [pair.0, pair.1].map(|k| quoted(&arm.shapes()[k].name));
        let _ = writeln!(text, "    {{ a = {a}, b = {b}, reason = {} }},", quoted(reason));
    }
    text + "]\n"
}

/// The capsules, in the frames of their links.
fn capsules(arm: &Arm, frames: &BTreeMap<String, Placement>) -> String {
    let mut text = String::from(
        "\n# Laid around the URDF's collision shapes. Loading proves that they cover them, whatever you change.\n",
    );
    for shape in arm.shapes() {
        let part =
            arm.parts().iter().find(|part| format!("{}: {}", part.link, part.collision.name) == shape.name);
        let Some((link, frame)) = part.and_then(|part| frames.get_key_value(&part.link)) else { continue };
        let capsule = shape.capsule.placed(&frame.inverse());
        let point = |p: &Vector3<f64>| {
            let [x, y, z] = [p.x, p.y, p.z].map(|x| (x / ROUNDED).round() * ROUNDED + 0.0);
            format!("[{x:.4}, {y:.4}, {z:.4}]")
        };
        let _ = write!(
            text,
            "\n[[capsules]]\nname = {}\nlink = {}\na_m = {}\nb_m = {}\nradius_m = {:.4}\n",
            quoted(&shape.name),
            quoted(link),
            point(&capsule.a),
            point(&capsule.b),
            ((capsule.radius + ROUNDED) / ROUNDED).ceil() * ROUNDED,
        );
    }
    text
}

#[cfg(test)]
mod tests;
