//! Compares methods on one dumbbell: two that ship, and one that is made here.
//!
//! ```text
//! cargo run --release --example compare_methods
//! ```

use std::error::Error;

use surelift::benchmark::{AssumedBody, MethodPreset, run};
use surelift::horizon::Outcome;
use surelift::report::Summary;
use surelift::scenario::Scenario;

/// What is carried, and on which experiment.
const SCENARIO: &str = "scenarios/dumbbell_b.toml";
const ITEM: &str = "5lb";

/// Prints one line a method.
pub fn main() -> Result<(), Box<dyn Error>> {
    for summary in compare()? {
        let placed = summary.placing.ok_or("the scenario states no tolerance")?;
        let error_mrad = 1e3 * summary.max_tracking_error_rad.unwrap_or(f64::NAN);
        let (name, outcome, beside_mm) = (&summary.method, summary.outcome, 1e3 * placed.horizontal_m);
        println!("{name:10} {outcome:18} {error_mrad:5.1} mrad off at most, placed {beside_mm:.1} mm beside");
    }
    Ok(())
}

/// The runs of three methods with the same truth.
pub fn compare() -> Result<Vec<Summary>, Box<dyn Error>> {
    let told = MethodPreset {
        name: "told".to_owned(),
        description: "PID that is told which dumbbell it holds.".to_owned(),
        believes: AssumedBody::Item(ITEM.to_owned()),
        ..MethodPreset::find("grav-pid")?
    };
    let load = |item: Option<&str>| Scenario::load_item(SCENARIO, item.or(Some(ITEM)));
    let mut summaries = vec![];
    for method in [MethodPreset::find("wrong")?, MethodPreset::find("grav-pid")?, told] {
        let seed = 0;
        summaries.push(run(&load, &method, (seed, false), &mut ())?.summary);
    }
    assert!(summaries.iter().all(|summary| summary.outcome != Outcome::AssumptionBroken));
    Ok(summaries)
}
