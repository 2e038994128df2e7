//! What a saved plan asks one to believe, and how it is held against one's own files.
//!
//! A plan file is proven against the robot, set and scene inside it. Whoever has the robot's and the scenario's own files compares: every value of the
//! plan's robot and scene must be theirs ([`differences`] walks all of them, so that none is forgotten), and its first set must hold all that
//! the scenario's prior leaves. Whoever does not is told what there is to believe ([`Believed`]).

use serde::Serialize;
use serde_json::Value;

use crate::identify::parameter_name;
use crate::inertia::ParameterSet;
use crate::robot::{Arm, Zonotope3};

use super::Plan;
use super::saved::PlanStart;

/// Differences that are listed at most; the rest is counted. A refusal stays on one screen.
const LISTED: usize = 8;

/// Values that differ between what a plan file holds and one's own, each as `path: found, expected own`.
///
/// Both are compared as they are written to files, value by value; a value that only one of them has is a difference.
pub fn differences<T: Serialize>(name: &str, found: &T, own: &T) -> Vec<String> {
    let (Ok(found), Ok(own)) = (serde_json::to_value(found), serde_json::to_value(own)) else {
        return vec![format!("{name}: cannot be compared")];
    };
    let mut all = Vec::new();
    compare(name, &found, &own, &mut all);
    let more = all.len().saturating_sub(LISTED);
    all.truncate(LISTED);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all
}

fn compare(path: &str, found: &Value, own: &Value, all: &mut Vec<String>) {
    match (found, own) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, x) in a {
                compare(&format!("{path}.{key}"), x, b.get(key).unwrap_or(&Value::Null), all);
            }
            for (key, y) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                compare(&format!("{path}.{key}"), &Value::Null, y, all);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for k in 0..a.len().max(b.len()) {
                // Joints, capsules and obstacles are called by their names.
                let name = a.get(k).or(b.get(k)).and_then(|x| x.get("name")).and_then(Value::as_str);
                let at = name.map_or(format!("{path}[{k}]"), |name| format!("{path}['{name}']"));
                let entry = |list: &'_ [Value]| list.get(k).cloned().unwrap_or(Value::Null);
                compare(&at, &entry(a), &entry(b), all);
            }
        }
        _ if found == own => {}
        _ => all.push(format!("{path}: {}, expected {}", brief(found), brief(own))),
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Object(_) | Value::Array(_) => "something".to_owned(),
        other => other.to_string(),
    }
}

/// Differences of a plan's robot from one's own robot file. The plan's may carry more capsules, those of what it holds: more has then been
/// proven apart.
pub fn robot_differences(plan: &Arm, own: &Arm) -> Vec<String> {
    let (mut bare, own) = (plan.description().clone(), own.description());
    let count = own.shapes.len();
    if bare.shapes.len() > count {
        bare.shapes.truncate(count);
        bare.parts.truncate(own.parts.len());
        // What is held may be said to ignore capsules; that is told, not compared.
        bare.ignored_pairs.retain(|pair| pair.a < count && pair.b < count);
    }
    bare.held = own.held;
    differences("robot", &bare, own)
}

/// Parameters of `set` that do not reach as far as those of `expected`, as `name: [a, b], expected at least [c, d]`.
pub fn narrower(robot: &Arm, set: &ParameterSet, expected: &ParameterSet) -> Vec<String> {
    if set.lower().len() != expected.lower().len() {
        return vec![format!("set: {} parameters, expected {}", set.lower().len(), expected.lower().len())];
    }
    let mut all: Vec<String> = (0..set.lower().len())
        .filter(|&p| !(set.lower()[p] <= expected.lower()[p] && set.upper()[p] >= expected.upper()[p]))
        .map(|p| {
            let (name, [a, b, c, d]) = (
                parameter_name(robot, p).0,
                [set.lower()[p], set.upper()[p], expected.lower()[p], expected.upper()[p]],
            );
            format!("set: {name} in [{a}, {b}], expected at least [{c}, {d}]")
        })
        .collect();
    if set.strips().is_some() && expected.strips().is_none() {
        all.push("set: bounds on torques that the prior does not have".to_owned());
    }
    if set.core() != expected.core() && set.core().is_some() {
        all.push("set: a known part that the prior does not have".to_owned());
    }
    all.truncate(LISTED);
    all
}

/// What the proof of a plan rests on and the plan file alone says.
#[derive(Debug, Clone, PartialEq)]
pub struct Believed {
    /// The robot's name, and whether it has been compared with a robot file.
    pub robot: String,
    /// What may be in the hand: mass, kg.
    pub mass_kg: [f64; 2],
    /// Number of obstacles.
    pub obstacles: usize,
    /// What is said of each obstacle that moves, in words.
    pub moving: Vec<String>,
    /// Encoder and torque sensor bounds, in words.
    pub sensors: String,
    /// Whether the plan starts in motion, and the plan before it was not given.
    pub start: bool,
}

impl Believed {
    /// Of one plan; `alone` if the plan before it is not at hand.
    pub fn of(plan: &Plan, alone: bool) -> Self {
        let (robot, sensors) = (&plan.robot, plan.robot.sensors());
        let mass = plan.set.body(robot.end_effector()).mass();
        Self {
            robot: robot.name.clone(),
            mass_kg: [mass.lower, mass.upper],
            obstacles: plan.scene.obstacles.len(),
            moving: plan.scene.obstacles.iter().filter(|obstacle| obstacle.moves()).map(moving).collect(),
            sensors: format!(
                "{:e} rad, {:e} rad/s, torque {} % and {} N m",
                sensors.position_rad,
                sensors.velocity_rad_s,
                100.0 * sensors.torque_ratio,
                sensors.torque_abs_words()
            ) + &late(robot)
                + &elastic(robot),
            start: alone && plan.start != PlanStart::Rest,
        }
    }
}

/// How late readings and commands may be, where the robot says that they are.
fn late(robot: &Arm) -> String {
    let timing = robot.timing();
    if timing.has_motor_loops() {
        return format!(
            "; loops in the motors use readings that are at most {:e} s old, and cut their torques where the plan says",
            timing.motor_loop_age_max_s
        );
    }
    if timing.is_exact() {
        return String::new();
    }
    let lag = match timing.drive_lag_max_s {
        0.0 => String::new(),
        lag => format!(", drives follow their commands with a first-order lag of at most {lag:e} s"),
    };
    format!(
        "; readings are at most {:e} s old, commands act at most {:e} s after their tick, ticks are even to {:e} s{lag}",
        timing.reading_age_max_s, timing.command_delay_max_s, timing.jitter_max_s
    )
}

/// What is believed of the springs that links hang on, joint by joint, where they do.
fn elastic(robot: &Arm) -> String {
    let told = |j: usize| {
        let spring = robot.drive(j).spring?;
        let (name, k) = (&robot.joints[j].name, spring.stiffness_nm_rad);
        let (w, v, p) = (spring.unmodelled_nm, spring.velocity_rad_s, spring.position_rad);
        Some(format!("'{name}' {k:e} N m/rad ({w} N m, {v:e} rad/s, {p:e} rad)"))
    };
    let springs: Vec<String> = (0..robot.dof()).filter_map(told).collect();
    if springs.is_empty() {
        return String::new();
    }
    format!(
        "; links hang on springs, encoders before them, at rest where a plan starts from rest, and no spring carries more than its joint's torque limit; \
         stiffness at least, and how far a common motion may be from torques and encoders: {}",
        springs.join(", ")
    )
}

fn moving(Zonotope3 { name, speed_m_s, .. }: &Zonotope3) -> String {
    format!(
        "obstacle '{name}' was where each plan says when it was seen, and moves at most {speed_m_s} m/s; once the arm rests it may come to it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::{DriveBounds, load};

    #[test]
    fn every_number_of_a_robot_counts() {
        let own = load("kinova_gen3_2f85").unwrap();
        assert!(robot_differences(&own, &own).is_empty());
        let differs = |change: &dyn Fn(&mut Arm), path: &str| {
            let mut other = own.clone();
            change(&mut other);
            let found = robot_differences(&other, &own);
            assert!(found.len() == 1 && found[0].starts_with(path), "{path}: {found:?}");
        };
        differs(
            &|r| r.stated().sensors.velocity_rad_s = 0.0,
            "robot.sensors.velocity_rad_s: 0.0, expected 0.00005",
        );
        differs(&|r| r.stated().drives = vec![DriveBounds::IDEAL; 7], "robot.drives");
        differs(&|r| r.joints[2].limits.torque *= 1.01, "robot.joints['joint_3'].limits.torque: ");
        differs(&|r| r.stated().shapes[1].capsule.radius = 0.0, "robot.shapes[");
        differs(&|r| r.joints[6].placement.translation.x += 1e-6, "robot.joints['joint_7'].placement");
        differs(&|r| r.stated().uncertainty.link_ratio = 0.0, "robot.uncertainty.link_ratio");
    }

    #[test]
    fn springs_are_told_joint_by_joint() {
        let robot = load("kinova_gen3_2f85_elastic").unwrap();
        let mut drives: Vec<DriveBounds> = (0..7).map(|j| robot.drive(j)).collect();
        drives[3].spring.iter_mut().for_each(|spring| spring.stiffness_nm_rad = 3e4);
        let told = elastic(&robot.with_drives(drives).unwrap());
        assert!(told.contains("'joint_1' 1e4 N m/rad (0.4 N m, 2.5e-3 rad/s, 1.5e-4 rad)"), "{told}");
        assert!(told.contains("'joint_4' 3e4 N m/rad") && told.contains("at rest"), "{told}");
        assert_eq!(elastic(&load("kinova_gen3_2f85").unwrap()), "");
    }

    #[test]
    fn a_set_that_reaches_less_far_is_named() {
        let robot = load("kinova_gen3_2f85").unwrap();
        let own = ParameterSet::around_nominal(&robot);
        let mut set = own.clone();
        assert!(narrower(&robot, &set, &own).is_empty());
        set.bounds().0[1] += 1e-12;
        let found = narrower(&robot, &set, &own);
        assert!(found.len() == 1 && found[0].contains("expected at least"), "{found:?}");
    }
}
