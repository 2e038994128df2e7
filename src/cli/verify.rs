//! `surelift verify`: repeat the proofs of saved plans.

use std::path::PathBuf;

use clap::Args;

use crate::report::Margins;
use crate::report::figure::with_unit;

/// Repeat the proof of saved plans; names the constraint, time and link that cannot be proven
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  surelift verify runs/dumbbell_c_8lb-ours-0/plans/*.json\n\n\
    Exit codes: 0 all proven, 1 at least one not proven, 2 a file cannot be read.")]
pub struct VerifyArgs {
    /// Plans as written by `surelift run`
    #[arg(value_name = "PLAN.json", required = true)]
    pub plans: Vec<PathBuf>,
}

/// What came of one plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Proven, with at least these margins.
    Proven {
        /// Smallest margins.
        margins: Margins,
        /// Time it took, s.
        seconds: f64,
    },
    /// Not proven.
    Unproven {
        /// The constraint, for example `torque`.
        constraint: String,
        /// Time into the plan, s.
        t: f64,
        /// The link or joint.
        link: String,
    },
}

/// One line a plan, and the exit code.
pub fn report(verdicts: &[(PathBuf, Verdict)]) -> (String, u8) {
    let line = |(path, verdict): &(PathBuf, Verdict)| match verdict {
        Verdict::Proven { margins, seconds } => {
            let entries = margins.entries().into_iter().filter(|(_, value, _)| value.is_some());
            let text: Vec<_> =
                entries.map(|(name, value, unit)| format!("{name} {}", with_unit(value, unit))).collect();
            format!("{}: proven in {seconds:.2} s; margins {}\n", path.display(), text.join(", "))
        }
        Verdict::Unproven { constraint, t, link } => {
            format!("{}: NOT PROVEN: {constraint} of `{link}` at t = {t:.4} s\n", path.display())
        }
    };
    let all = verdicts.iter().all(|(_, verdict)| matches!(verdict, Verdict::Proven { .. }));
    (verdicts.iter().map(line).collect(), u8::from(!all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unproven_plan_decides_the_exit_code_and_is_named() {
        let margins = Margins { torque: Some(3.25), ..Margins::default() };
        let good = (PathBuf::from("a.json"), Verdict::Proven { margins, seconds: 0.5 });
        let bad = Verdict::Unproven { constraint: "torque".into(), t: 1.25, link: "shoulder".into() };
        assert_eq!(report(std::slice::from_ref(&good)).1, 0);
        let (text, code) = report(&[good, (PathBuf::from("b.json"), bad)]);
        assert_eq!(code, 1);
        assert!(text.contains("a.json: proven in 0.50 s; margins torque 3.250 N m\n"), "{text}");
        assert!(text.contains("b.json: NOT PROVEN: torque of `shoulder` at t = 1.2500 s\n"), "{text}");
    }
}
