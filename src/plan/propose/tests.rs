use std::time::Duration;

use nalgebra::{Matrix3, Vector3};

use super::*;
use crate::certify::{ConstraintFamily, Partition, Problem, Start, certify};
use crate::plan::fixture::{Task, dumbbell, gen3_past_a_post};
use crate::robot::Zonotope3;

/// The task from `start`, without a running plan and with all the time in the world.
fn setting<'a>(
    task: &'a Task,
    set: &'a Arc<PreparedSet>,
    start: &'a JointState,
    reach: &'a [f64],
) -> Setting<'a> {
    Setting {
        robot: &task.robot,
        set,
        scene: &task.scene,
        start,
        duration_s: task.duration_s,
        reach,
        warm: None,
        held: None,
        growth_max_m: None,
        seed: 0,
        deadline: Instant::now() + Duration::from_secs(600),
    }
}

/// Proposes from rest at the task's start.
fn from_rest(task: &Task, target: &[f64], warm: Option<&[f64]>) -> Result<Proposal, ProposeError> {
    let start = JointState::at_rest(&task.start);
    let prepared = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let setting = Setting { warm, ..setting(task, &prepared, &start, &task.range_rad) };
    let proposal = propose(&setting, Purpose::Approach(target))?;
    let problem = Problem::new(&task.robot, &task.set, &task.scene, &proposal.tube, &proposal.curve).unwrap();
    certify(&problem, &Start::Believed, Partition::default())
        .expect("the planner proved it with fewer cells");
    Ok(proposal)
}

fn beside(task: &Task, step: f64) -> Vec<f64> {
    task.start.iter().map(|q| q + step).collect()
}

#[test]
fn a_free_target_is_reached() {
    let task = gen3_past_a_post();
    let target = beside(&task, 0.1);
    let end = from_rest(&task, &target, None).unwrap().curve.end();
    assert!(end.iter().zip(&target).all(|(e, t)| (e - t).abs() < 1e-9), "{end:?}");
}

#[test]
fn a_blocked_target_is_approached_as_far_as_can_be_proven() {
    let mut task = gen3_past_a_post();
    let target = beside(&task, 0.3);
    let hand = task.robot.shapes().len() - 1;
    let inside = task.robot.placed_capsule(hand, &task.robot.frames(&target)).b;
    let side = Vector3::repeat(0.05);
    task.scene.obstacles.push(Zonotope3::cuboid("block", inside, side, &Matrix3::identity()));
    let alone = from_rest(&task, &target, None).unwrap();
    assert!(alone.cost > 1e-4, "the target is blocked, but the cost is {}", alone.cost);
    let stays: f64 = task.start.iter().zip(&target).map(|(q, t)| (q - t) * (q - t)).sum();
    assert!(alone.cost < 0.9 * stays, "{} of {stays}: it could as well stay", alone.cost);
    // A second start can only help.
    let warm = from_rest(&task, &target, Some(&task.start)).unwrap();
    assert!(warm.cost <= alone.cost);
}

#[test]
fn what_stands_in_the_way_is_named() {
    let mut task = gen3_past_a_post();
    task.robot.joints[1].limits.torque = 1.0;
    let refused = from_rest(&task, &beside(&task, 0.1), None);
    let Err(ProposeError::Unproven(Some(Refusal::Constraint { family, at, margin, .. }))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(family, ConstraintFamily::Torque);
    assert!(at.contains("joint_2") && margin < 0.0, "{at} {margin}");
}

/// No plan is proposed whose errors carry a link farther than is asked for, and the one that does not know of it does.
#[test]
fn no_link_is_carried_farther_than_is_asked_for() {
    let task = gen3_past_a_post();
    let (start, target) = (JointState::at_rest(&task.start), beside(&task, 0.1));
    let prepared = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let free = setting(&task, &prepared, &start, &task.range_rad);
    let carried = |proposal: &Proposal| {
        let Proposal { tube, curve, .. } = proposal;
        let problem = Problem::new(&task.robot, &task.set, &task.scene, tube, curve).unwrap();
        let mut reports = vec![];
        let workspaces: Workspaces = Workspaces::default();
        problem.survey_into(cells(task.duration_s), &workspaces, &mut reports);
        reports.iter().map(|report| report.growth_m).fold(0.0, f64::max)
    };
    let growth_m = carried(&propose(&free, Purpose::Approach(&target)).unwrap());
    let allowed = Setting { growth_max_m: Some(1.001 * growth_m), ..free };
    assert!(carried(&propose(&allowed, Purpose::Approach(&target)).unwrap()) <= 1.001 * growth_m);
    let less = Setting { growth_max_m: Some(0.5 * growth_m), ..free };
    let refused = propose(&less, Purpose::Approach(&target)).unwrap_err();
    let ProposeError::Unproven(Some(Refusal::Growth { growth_m: found_m, most_m })) = refused else {
        panic!("{refused}");
    };
    assert!(most_m == 0.5 * growth_m && found_m > most_m, "{found_m} {most_m}");
}

/// Exciting plan after exciting plan, each from the middle of the one before, with so few assessments as a slow or busy machine has time
/// for: not one may be without a motion, for the one that runs ends soon.
#[test]
fn few_assessments_are_enough_for_some_motion() {
    // Coasting from one to the next would tell nothing.
    let moved = motions_of_few_assessments(0..1, 3);
    assert!(moved >= 2, "{moved} of 3 lead away from where the arm would come to rest anyway");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn few_assessments_are_enough_for_some_motion_at_length() {
    let moved = motions_of_few_assessments(0..2, 12);
    assert!(moved >= 18, "{moved} of 24 lead away from where the arm would come to rest anyway");
}

/// Of so many exciting plans for each of these seeds, how many lead away from where the arm would come to rest anyway.
fn motions_of_few_assessments(seeds: std::ops::Range<u64>, plans: u64) -> usize {
    let (task, samples) = (dumbbell(1.5), 64);
    let until_next_s = 0.5 * task.duration_s;
    let criterion = Criterion::predicted_width(&task.robot, &task.set);
    let prepared = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let mut planner = Planner::of_few_assessments(5);
    let mut moved = 0;
    for seed in seeds {
        let mut start = JointState::at_rest(&task.start);
        let mut running: Option<Proposal> = None;
        let mut known = Information::none();
        for plan in 0..plans {
            let end = running.as_ref().map(|running| running.curve.end());
            let setting = Setting {
                warm: end.as_deref(),
                held: running.as_ref().map(|running| &running.tube),
                seed: 1000 * seed + plan,
                ..setting(&task, &prepared, &start, &task.range_rad)
            };
            let purpose =
                Purpose::Excite { known: &known, criterion: &criterion, samples, horizon_s: task.duration_s };
            let found = planner.propose(&setting, purpose).cloned();
            let found = found.unwrap_or_else(|e| panic!("seed {seed}, plan {plan}: {e}"));
            let problem =
                Problem::new(&task.robot, &task.set, &task.scene, &found.tube, &found.curve).unwrap();
            certify(&problem, &Start::Believed, Partition::default())
                .expect("the planner proved it with fewer cells");
            let rest = coasting_end(&setting);
            let far = found.curve.end().iter().zip(&rest).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            moved += usize::from(far > 0.1);
            known.absorb(&task.robot, &task.set, &found.curve, until_next_s, samples);
            start = found.curve.state(until_next_s);
            running = Some(found);
        }
    }
    moved
}

#[test]
fn a_random_motion_is_one() {
    let (task, known) = (dumbbell(3.0), Information::none());
    let prepared = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let start = JointState::at_rest(&task.start);
    let ends = [1, 2].map(|seed| {
        let setting = Setting { seed, ..setting(&task, &prepared, &start, &task.range_rad) };
        let criterion = &Criterion::Random;
        let purpose = Purpose::Excite { known: &known, criterion, samples: 16, horizon_s: 1.5 };
        Planner::of_few_assessments(12).propose(&setting, purpose).unwrap().curve.end()
    });
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(ends.iter().all(|end| apart(end, &task.start) > 0.1), "{ends:?}");
    assert!(apart(&ends[0], &ends[1]) > 0.1, "{ends:?}");
}
