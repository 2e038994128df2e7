//! Plans the fast path of a benchmark scenario: two quintic pieces of least jerk, proven with the 8 lb dumbbell known to 5 %.
//!
//! ```text
//! cargo run --release --example fast_path -- scenarios/dumbbell_a.toml 8lb 0.25,-0.43,0.34 0.35,0,0.26
//! ```
//!
//! The middle of the dumbbell is to go from the first to the second place, m. Printed are the keys of the scenario.

use std::error::Error;
use std::f64::consts::{FRAC_PI_2, PI};

use surelift::certify::{Certificate, Partition, Problem, Start, certify};
use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::plan::fast_path::least_jerk;
use surelift::plan::tube_fit;
use surelift::prelude::*;
use surelift::scenario::Scenario;
use surelift::trajectory::PiecewiseBezier;

/// The 8 lb dumbbell with the last link and the gripper, about the last joint's frame.
const HEAVIEST: [f64; INERTIAL] = [4.91360, -4e-5, 9e-5, -0.76737, 0.15020, 0.0, 0.13540, 0.0, 0.0, 0.01944];
/// Half-widths of each parameter in the proof: 5 % of these.
const SIZES: [f64; INERTIAL] = [5.0, 0.2, 0.2, 0.8, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15];
const KNOWN_TO: f64 = 0.05;
/// Middle of the handle in the frame of the last joint, m.
const HANDLE: [f64; 3] = [0.0, 0.0, -0.18153];
/// Durations of the pieces, s.
const PIECES_S: [f64; 2] = [1.0, 1.0];
const CELLS: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, item, from, to] = &arguments[..] else {
        return Err("expected a scenario, its variant, and two places x,y,z in m".into());
    };
    let scenario = Scenario::load_item(file, Some(item))?;
    let task = scenario.task();
    let (start, place) = (three(from)?, three(to)?);
    let (from, goal) = (reaching(&task.robot, start)?, reaching(&task.robot, place)?);
    let set = known(&task.robot)?;
    let mut best: Option<(f64, PiecewiseBezier, Certificate)> = None;
    let mut refused = String::new();
    for share in [0.5, 0.6, 0.7] {
        for inward in [0.0, 0.05, 0.1] {
            for height in 0..8 {
                let between = |a: f64, b: f64| a + share * (b - a);
                let azimuth = between(start[1].atan2(start[0]), place[1].atan2(place[0]));
                let radius = between(start[0].hypot(start[1]), place[0].hypot(place[1])) - inward;
                let z = start[2].max(place[2]) + 0.03 * f64::from(height - 3);
                let Ok(via) = reaching(&task.robot, [radius * azimuth.cos(), radius * azimuth.sin(), z])
                else {
                    continue;
                };
                let path = least_jerk(&from, &via, &goal, PIECES_S)?;
                let cost = jerk(&path);
                if best.as_ref().is_some_and(|(least, ..)| *least <= cost) {
                    continue;
                }
                match proven(&task.robot, &set, &task.scene, &path) {
                    Ok(certificate) => best = Some((cost, path, certificate)),
                    Err(reason) => refused = format!("{reason}, through {via:.3?}"),
                }
            }
        }
    }
    let (cost, path, certificate) =
        best.ok_or_else(|| format!("none of the paths is proven, the last because {refused}"))?;
    println!("# squared jerk {cost:.1}; {:?}", certificate.collision);
    println!("# torque to spare {:?}, speed {:?}", certificate.torque, certificate.velocity);
    println!("start_rad = {from:?}");
    println!("goal_rad = {:?}", path.end());
    println!("path = {{ via_rad = {:?}, durations_s = {PIECES_S:?} }}", path.state(PIECES_S[0]).q);
    Ok(())
}

fn proven(
    robot: &Arm,
    set: &ParameterSet,
    scene: &Scene,
    path: &PiecewiseBezier,
) -> Result<Certificate, Box<dyn Error>> {
    let tube = tube_fit::fit(robot, set, path, &tube_fit::initial(robot), CELLS)?;
    let problem = Problem::new(robot, set, scene, &tube, path)?;
    Ok(certify(&problem, &Start::Rest, Partition::default())?)
}

fn known(robot: &Arm) -> Result<ParameterSet, Box<dyn Error>> {
    let set = ParameterSet::around_nominal(robot);
    let bound =
        |sign: f64| -> [f64; INERTIAL] { std::array::from_fn(|k| HEAVIEST[k] + sign * KNOWN_TO * SIZES[k]) };
    Ok(set.with_intervals(INERTIAL * robot.end_effector(), &bound(-1.0), &bound(1.0))?)
}

/// Integral of the squared jerk over all joints, by differences of the acceleration.
fn jerk(path: &PiecewiseBezier) -> f64 {
    const PARTS: usize = 200;
    let h = path.duration_s() / PARTS as f64;
    let at = |k: usize| path.state(k as f64 * h).ddq;
    (0..PARTS)
        .flat_map(|k| at(k).into_iter().zip(at(k + 1)).map(|(a, b)| (b - a).powi(2) / h).collect::<Vec<_>>())
        .sum()
}

/// Three numbers between commas.
fn three(text: &str) -> Result<[f64; 3], Box<dyn Error>> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
    <[f64; 3]>::try_from(numbers?).map_err(|_| format!("`{text}`, expected x,y,z in m").into())
}

/// Joint positions at which the handle is at a place, m, with the hand pointing down: Newton's method on three joints, in the plane that the first one turns.
fn reaching(robot: &Arm, [x, y, z]: [f64; 3]) -> Result<Vec<f64>, String> {
    let miss = |bend: [f64; 3]| {
        let q = [0.0, bend[0], PI, bend[1], 0.0, bend[2], FRAC_PI_2];
        let hand = &robot.frames(&q)[robot.end_effector()];
        let at = hand.point(&HANDLE.into());
        [at.x - x.hypot(y), at.z - z, hand.rotation[(0, 2)]]
    };
    let mut bend = [0.0, -2.0, -1.0];
    for _ in 0..100 {
        let here = miss(bend);
        if here.iter().all(|miss| miss.abs() < 1e-9) {
            return Ok(vec![-y.atan2(x), bend[0], PI, bend[1], 0.0, bend[2], FRAC_PI_2]);
        }
        let slope = |k: usize| {
            let mut off = bend;
            off[k] += 1e-6;
            let there = miss(off);
            [0, 1, 2].map(|i| (there[i] - here[i]) / 1e-6)
        };
        let columns = [slope(0), slope(1), slope(2)];
        let whole = determinant(columns);
        for k in 0..3 {
            let mut replaced = columns;
            replaced[k] = here;
            bend[k] -= (determinant(replaced) / whole).clamp(-0.3, 0.3);
        }
    }
    Err(format!("the arm does not reach {x}, {y}, {z}"))
}

fn determinant([a, b, c]: [[f64; 3]; 3]) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1])
        + c[0] * (a[1] * b[2] - a[2] * b[1])
}
