//! A cost of your own: the planner makes it small, and proposes what can be proven.
//! `cargo run --release --example own_cost`

use std::time::{Duration, Instant};
use std::{error::Error, sync::Arc};

use surelift::certify::{Partition, Problem, Start, certify};
use surelift::inertia::ParameterSet;
use surelift::plan::decision::EndCost;
use surelift::plan::propose::{Planner, Purpose, Setting};
use surelift::reach::PreparedSet;
use surelift::scenario::Scenario;
use surelift::trajectory::JointState;

/// Turn the first joint as far as may be, and the others as little.
#[derive(Debug)]
struct Turn<'a>(&'a [f64]);

impl EndCost for Turn<'_> {
    fn evaluate(&self, end: &[f64], gradient: &mut [f64]) -> f64 {
        (0..end.len()).for_each(|j| gradient[j] = end[j] - self.0[j]);
        let cost = gradient[1..].iter().map(|moved| 0.5 * moved * moved).sum::<f64>() - gradient[0];
        gradient[0] = -1.0;
        cost
    }
}

/// Where the motion ends that costs least among those that can be proven, from where it starts, rad.
pub fn turned() -> Result<Vec<f64>, Box<dyn Error>> {
    let (task, _) = Scenario::load("examples/my_arm/first_move.toml")?.split();
    let (robot, scene, start) = (&task.robot, &task.scene, JointState::at_rest(&task.start));
    let set = Arc::new(PreparedSet::new(robot, &ParameterSet::around_nominal(robot)));
    let setting = Setting {
        robot,
        set: &set,
        scene,
        start: &start,
        duration_s: 3.0,
        reach: &[0.3; 3],
        warm: None,
        held: None,
        growth_max_m: None,
        seed: 0,
        deadline: Instant::now() + Duration::from_secs(60),
    };
    let cost = Turn(&task.start);
    let found = Planner::of_few_assessments(20).propose(&setting, Purpose::Least(&cost))?.clone();
    let problem = Problem::with_prepared(robot, &set, scene, &found.tube, &found.curve)?;
    certify(&problem, &Start::Rest, Partition::default())?;
    Ok(found.curve.end().iter().zip(&task.start).map(|(end, start)| end - start).collect())
}

/// Prints that.
pub fn main() -> Result<(), Box<dyn Error>> {
    println!("the joints turn by {:.3?} rad, proven", turned()?);
    Ok(())
}
