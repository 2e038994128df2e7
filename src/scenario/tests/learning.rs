//! What a run learns, against what its measurements tell at most.

use std::sync::Arc;

use super::*;
use crate::identify::tests::{exhaustive, widest};
use crate::identify::{Identifier, IdentifierOptions};
use crate::inertia::ParameterSet;
use crate::plan::{Plan, tube_fit};
use crate::report::RunRecord;

/// The sets after each 1.5 s of the first 7.5 s of a run, whose truth they must hold, and the longest update, ms.
fn of_run(
    record: &RunRecord<Plan>,
    prior: &ParameterSet,
    options: IdentifierOptions,
) -> (Vec<ParameterSet>, f64) {
    let robot = Arc::new(record.plans[0].robot.clone());
    let bound = tube_fit::initial(&robot).acceleration_bound;
    let mut identifier = Identifier::new(robot, prior, bound, options).unwrap();
    let (mut sets, mut longest) = (vec![], 0.0_f64);
    for (k, row) in record.log.iter().take(7501).enumerate() {
        if let Some(plan) = record.plans.iter().find(|plan| (plan.t_start_s - row.t).abs() < 1e-6) {
            identifier.set_acceleration_bound(plan.tube.acceleration_bound().to_vec()).unwrap();
        }
        let (q, dq, tau) = (row.q.clone(), row.dq.clone(), row.tau.clone());
        identifier.push(Sample { t: row.t, q, dq, tau }).unwrap();
        if k > 0 && k % 1500 == 0 {
            let update = identifier.update().unwrap();
            longest = longest.max(update.update_ms);
            sets.push(update.set);
        }
    }
    (sets, longest)
}

/// On the main job's own measurements each interval of the body is at most 1.03 times as wide as the program with all rows leaves it.
#[test]
#[ignore = "three runs of the main job, and programs of thousands of rows"]
fn main_job_sets_are_nearly_those_of_the_program_with_all_rows() {
    for seed in 0..3 {
        let scenario =
            Scenario::load(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml")).unwrap();
        let prior = scenario.task().prior_set().unwrap();
        let options = RunOptions { method: "ours".into(), seed, timed: false };
        let record = run(scenario, &options, &mut ()).unwrap();
        let (found, longest) = of_run(&record, &prior, IdentifierOptions::default());
        let (all, exhaustive) = of_run(&record, &prior, exhaustive());
        let shares: Vec<f64> = found.iter().zip(&all).map(|(set, all)| widest(set, all)).collect();
        println!(
            "seed {seed}: at most {shares:.4?} of all rows'; updates {longest:.0} ms, {exhaustive:.0} ms with all rows"
        );
        assert!(shares.iter().all(|share| *share <= 1.03), "seed {seed}: {shares:?}");
    }
}
