//! Most probable parameters of a recording, with standard deviations. The problem is stated in a file.
//!
//! ```text
//! cargo run --release --example estimate_parameters
//! ```

use surelift::study::estimation::{EstimationStudy, StudyResult};

/// Estimates the inertias and friction of a double pendulum.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    estimate("scenarios/estimation/double_pendulum.toml")?;
    Ok(())
}

/// Solves the problem of a file and prints its parameters.
pub fn estimate(problem: &str) -> Result<StudyResult, Box<dyn std::error::Error>> {
    let result = EstimationStudy::load(problem)?.run()?;
    println!("{} after {} iterations", result.status, result.iterations);
    for row in &result.parameters {
        println!(
            "  {:8} {:8} {:10.5} ± {:.5?} {}",
            row.place, row.name, row.estimate, row.deviation, row.unit
        );
    }
    Ok(result)
}
