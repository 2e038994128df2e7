//! `surelift verify`: repeat the proofs of saved plans.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::{Failure, say};
use crate::certify::{Certificate, Partition, Refusal};
use crate::plan::Plan;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{Family, Margin};

    #[test]
    fn a_verdict_names_margins_or_constraint_time_and_place() {
        let margin = |value: Option<f64>| Margin { value, t: 0.5, at: "joint 'a'".into() };
        let certificate = Certificate {
            position: margin(None),
            velocity: margin(Some(0.25)),
            torque: margin(Some(3.24999)),
            collision: margin(Some(0.012)),
            tube: margin(Some(0.5)),
            cells: 33,
        };
        let text = verdict(&Ok(certificate), 0.5);
        assert!(
            text.ends_with("margins: velocity 0.2500 rad/s, torque 3.249 N m, collision 0.01200 m"),
            "{text}"
        );
        let (family, at) = (Family::Torque, "joint 'a'".to_owned());
        let refusal = Refusal::Constraint { family, at, t0: 1.25, t1: 1.5, margin: -0.1 };
        let text = verdict(&Err(refusal), 0.5);
        for word in ["NOT PROVEN", "Torque", "joint 'a'", "1.25"] {
            assert!(text.contains(word), "{text}");
        }
    }
}
