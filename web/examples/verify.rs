//! Proves a plan file again, such as one that the page saved: `cargo run --release --example verify -- PLAN.json`. As `surelift verify`, without the program.

use surelift::certify::Partition;
use surelift::enclose::Counted;
use surelift::plan::Plan;

/// Reads the plan and proves it from what it holds.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("expected a plan file")?;
    let plan: Plan = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    plan.verify::<Counted>(None, Partition::default())?;
    println!("the browser's plan is proven again");
    Ok(())
}
