//! Stacks five dumbbells, none of which is known beforehand: take one, learn it, carry it to the stack, let go, step back, and so on.
//!
//! ```text
//! cargo run --release --example pick_and_place
//! ```
//!
//! Here the simulator is the arm. For yours, write [`Hardware`] and pass it to `stack`.

use std::error::Error;
use std::sync::Arc;

use surelift::prelude::*;
use surelift::simulate::{SimulatedObject, World};

/// Where a dumbbell is in the tool frame once it is held, and a box that any of them lies in, m.
const IN_HAND: [f64; 3] = [0.0, 0.0, 0.12];
const SIZE: [f64; 3] = [0.09, 0.19, 0.09];
/// What they weigh, kg. Only the simulator knows.
const MASSES: [f64; 5] = [3.6, 1.1, 2.7, 0.9, 2.2];
const TABLE_TOP_M: f64 = -0.15;
/// Dumbbells are let go of this far above their place, m: a motion into contact is never proven.
const DROP_M: f64 = 0.05;
/// The empty hand then rises this far, m: the fifth place is near the end of the arm's reach.
const RISE_M: f64 = 0.1;
/// Where they are fetched, and where the stack stands, m.
const RACK: [f64; 2] = [0.1, -0.5];
const STACK: [f64; 2] = [0.3, 0.45];

/// Stacks five dumbbells with the simulated arm.
pub fn main() -> Result<(), Box<dyn Error>> {
    stack(MASSES.len()).map(drop)
}

/// Stacks so many of them. How close to its limits that was, says the auditor of the simulation.
pub fn stack(count: usize) -> Result<JobReport, Box<dyn Error>> {
    let robot = robot::load("kinova_gen3_2f85")?;
    let mut scene = Scene::default()
        .with_box("table", [0.35, 0.0, TABLE_TOP_M - 0.02], [1.5, 1.8, 0.04])
        .with_box("wall", [-0.75, 0.0, 0.4], [0.05, 1.8, 1.1]);
    let things: Result<Vec<_>, _> =
        MASSES.iter().map(|kg| SimulatedObject::cuboid(*kg, IN_HAND, [0.06, 0.18, 0.06])).collect();
    let fetch = reaching(&robot, [RACK[0], RACK[1], TABLE_TOP_M + 0.25])?;
    let mut world = World::with_objects(Arc::new(robot.clone()), scene.clone(), &fetch, things?, 1);
    // At most 4 kg; all of it in that box.
    let dumbbell = GraspPrior::within(4.0, IN_HAND, SIZE);
    let mut job = Job::new(robot.clone(), scene.clone(), &mut world)?;
    for level in 0..count {
        let place = [STACK[0], STACK[1], TABLE_TOP_M + SIZE[2] * (level as f64 + 0.5)];
        let above = |gap: f64| reaching(&robot, [place[0], place[1], place[2] + gap]);
        job.move_to(&fetch)?;
        let mut held = job.grasp(&dumbbell)?;
        println!("{}", held.learn(Until::Motions(2))?);
        held.carry_to(&above(DROP_M)?)?;
        held.release()?;
        job.move_to(&above(DROP_M + RISE_M)?)?;
        scene = scene.with_box(format!("dumbbell {}", level + 1), place, [0.1, 0.2, SIZE[2]]);
        job.set_scene(scene.clone())?;
    }
    let report = job.finish();
    println!("{report}");
    let counts = world.reveal().counts;
    let violated = counts.collision + counts.torque + counts.position + counts.velocity + counts.tube;
    if violated == 0 { Ok(report) } else { Err(format!("{counts:?}").into()) }
}

/// Joint positions at which a dumbbell in the hand is at a place, m, with the hand pointing down: Newton's method on three joints, in the plane that
/// the first one turns.
fn reaching(robot: &Arm, [x, y, z]: [f64; 3]) -> Result<Vec<f64>, String> {
    use std::f64::consts::{FRAC_PI_2, PI};
    let frames = robot.tool_frames();
    let tool = frames.get(None).map_err(|error| error.to_string())?.placement;
    let miss = |bend: [f64; 3]| {
        let q = [0.0, bend[0], PI, bend[1], 0.0, bend[2], FRAC_PI_2];
        let hand = &robot.frames(&q)[robot.end_effector()];
        let at = hand.compose(&tool).point(&IN_HAND.into());
        // The hand's own z axis points up.
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
