//! `surelift verify`: repeat the proofs of saved plans.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::{Failure, say};
use crate::certify::{Certificate, Partition, Plan, Refusal};
use crate::report::Margins;

/// Repeat the proof of saved plans; names the constraint, time and link that cannot be proven
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  surelift verify runs/dumbbell_c_8lb-ours-0/plans/*.json\n\n\
    Exit codes: 0 all proven, 1 at least one not proven, 2 a file cannot be read.")]
pub struct VerifyArgs {
    /// Plans as written by `surelift run`
    #[arg(value_name = "PLAN.json", required = true)]
    pub plans: Vec<PathBuf>,
}

/// Proves every plan anew, printing a line for each; gives the exit code.
///
/// # Errors
/// Bad input if a file is no plan; the plans before it have been told of by then.
pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let mut code = 0;
    for path in &args.plans {
        let plan = Plan::load(path).map_err(|error| Failure::input(&error))?;
        let start = Instant::now();
        let proof = prove(&plan);
        say(&format!("{}: {}\n", path.display(), verdict(&proof, start.elapsed().as_secs_f64())))?;
        code = code.max(u8::from(proof.is_err()));
    }
    Ok(code)
}

/// The proof in the ordinary arithmetic.
#[cfg(not(feature = "inari"))]
fn prove(plan: &Plan) -> Result<Certificate, Refusal> {
    plan.verify(Partition::default())
}

/// The proof in the ordinary arithmetic and again in the second one; both must succeed.
#[cfg(feature = "inari")]
fn prove(plan: &Plan) -> Result<Certificate, Refusal> {
    plan.verify(Partition::default())?;
    plan.verify_directed(Partition::default())
}

/// What came of one plan, on one line.
fn verdict(proof: &Result<Certificate, Refusal>, seconds: f64) -> String {
    match proof {
        Ok(certificate) => {
            let arithmetic = if cfg!(feature = "inari") { " in two arithmetics" } else { "" };
            format!("proven{arithmetic} in {seconds:.2} s; margins: {}", Margins::from(certificate))
        }
        Err(refusal) => format!("NOT PROVEN: {refusal}"),
    }
}
