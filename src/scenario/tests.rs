use std::sync::Arc;

use super::*;
use crate::horizon::{Event, Learner, Observer, Reading, RunOptions};
use crate::inertia::INERTIAL;
use crate::recording::Sample;
use crate::simulate::{HiddenTruth, World};

mod learning;

/// Nobody watches.
struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Event) {}
}

fn weighed(seconds: f64) -> Scenario {
    Scenario::load("scenarios/dumbbell_c_8lb_weighed.toml").unwrap().adjusted(|task| {
        task.timing.max_plans = 1;
        let identify = &mut task.held.as_mut().unwrap().identify;
        assert_eq!(identify.weigh_s, 0.5);
        identify.weigh_s = seconds;
    })
}

fn options(method: &str) -> RunOptions {
    RunOptions { method: method.into(), seed: 4, timed: false }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_first_plan_is_made_with_what_weighing_tells_at_length() {
    let record = run(weighed(0.25), &options("ours"), &mut Silent).unwrap();
    let first = &record.summary.identification[0];
    assert!((first.t - 0.25).abs() < 1e-9, "{}", first.t);
    // 0.87 kg.
    assert!(first.known.upper[0] - first.known.lower[0] < 1.05, "{first:?}");
    assert!(record.summary.truth_inside);
    assert!(record.plans.first().is_some_and(|plan| plan.t_start_s == first.t));
    // The arm stood where it starts.
    let start = record.log[0].q_des.clone();
    assert!(record.log[..250].iter().all(|row| row.q_des == start && row.dq_des.iter().all(|x| *x == 0.0)));

    // Whoever does not learn does not weigh.
    let carried = run(weighed(0.25), &options("conservative"), &mut Silent).unwrap();
    assert!(carried.summary.identification.is_empty());
    assert!(carried.log.first().is_none_or(|row| row.t == 0.0));
}

/// Random loads and friction that sticks in any way: the truth is never outside of what weighing leaves.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn weighing_never_excludes_the_truth_at_length() {
    let (task, _) = weighed(0.0).split();
    let robot = Arc::new(task.robot.clone());
    let (held, prior) = (task.held.as_ref().unwrap(), task.prior_set().unwrap());
    let at = robot.inertial_index(robot.end_effector());
    let (mut narrowest, mut widest) = (f64::INFINITY, 0.0f64);
    for seed in 0..25 {
        let share = seed as f64 / 24.0;
        let (m, z) = (1.3 + 3.7 * share, -0.1 - 0.08 * (1.0 - share));
        let body: [f64; INERTIAL] =
            [m, 0.0, 0.0, m * z, 0.01 + m * z * z, 0.0, 0.01 + m * z * z, 0.0, 0.0, 0.005];
        let truth = HiddenTruth::new(body).unwrap();
        let mut world = World::new(robot.clone(), task.scene.clone(), &task.start, truth, seed);
        let mut learner = Learner::new(robot.clone(), held, &prior, vec![20.0; robot.dof()]).unwrap();
        learner.stands(0.0).unwrap();
        let (mut reading, mut tau) = (
            Reading { t: 0.0, q: vec![0.0; robot.dof()], dq: vec![0.0; robot.dof()] },
            vec![0.0; robot.dof()],
        );
        for _ in 0..210 {
            world.read(&mut reading);
            world.stand(&mut tau);
            let Reading { t, q, dq } = reading.clone();
            assert_eq!(learner.push(Sample { t, q, dq, tau: tau.clone() }).unwrap(), None);
        }
        let update = learner.update(world.time()).unwrap();
        world.witness(&update.set);
        assert!(world.reveal().truth_inside, "seed {seed}");
        let width = update.set.upper()[at] - update.set.lower()[at];
        (narrowest, widest) = (narrowest.min(width), widest.max(width));
    }
    println!("mass known to {narrowest:.3} to {widest:.3} kg");
    // 0.62 to 1.19 kg.
    assert!(widest < 1.42 && narrowest < 0.75, "{narrowest} {widest}");
}
