//! The whole loop through a scenario: propose, prove, move, learn, and so on to the goal.
//!
//! ```text
//! cargo run --release --example whole_loop -- scenarios/dumbbell_c_8lb.toml
//! ```

use surelift::horizon::{Event, Observer, RunOptions};
use surelift::report::Summary;
use surelift::scenario::{self, Scenario};

/// Runs the scenario that the command line names.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "scenarios/dumbbell_c_8lb.toml".to_owned());
    run(&path)?;
    Ok(())
}

/// Prints what happens as it happens.
struct Watch;

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        println!("{event}");
    }
}

/// Runs a scenario in simulation. Without deadlines the run is the same on every machine.
pub fn run(path: &str) -> Result<Summary, Box<dyn std::error::Error>> {
    let scenario = Scenario::load(path)?;
    let options = RunOptions { method: "ours".to_owned(), seed: 0, timed: false };
    let record = scenario::run(scenario, &options, &mut Watch)?;
    println!("{}: {} plans", record.summary.outcome, record.summary.plans.len());
    Ok(record.summary)
}
