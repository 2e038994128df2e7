//! `surelift campaign`: many trials of one promise.

use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Failure, say};
use crate::campaign::{self, CampaignError, Journal, default_destination};
use crate::report::{self, table::align};

/// Make many trials of one promise, as a campaign file describes them; print a table and write all figures
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  surelift campaign scenarios/campaigns/soundness.toml\n\n\
    The folder holds summary.json and table.txt; while a campaign of kind methods or excitation runs, also each finished trial.\n\
    Exit codes: 0 the promise held in all trials, 1 it did not, 2 a file cannot be used.")]
pub struct CampaignArgs {
    /// The campaign: what is tried, how often, on which robots
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Where to write the results [default: runs/campaign-NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Take over the trials that an interrupted run (or one with fewer seeds) left in the folder; methods and excitation only
    #[arg(long)]
    pub resume: bool,
    /// No progress; the closing table still comes
    #[arg(long, short)]
    pub quiet: bool,
}

/// Makes all trials of the campaign; gives the exit code.
///
/// # Errors
/// Bad input if the file, or one that it names, cannot be used.
pub fn run(args: &CampaignArgs) -> Result<u8, Failure> {
    let campaign = campaign::load(&args.file).map_err(|error| Failure::input(&error))?;
    let folder = args.out.clone().unwrap_or_else(|| default_destination(campaign.name()));
    if args.resume && !campaign.keeps_trials() {
        let file = args.file.display();
        return Err(Failure::Input(format!("{file}: `--resume`: campaigns of this kind keep no trials")));
    }
    // Before an hour of trials, not after it.
    report::check_open(&folder)?;
    let bar = if args.quiet { ProgressBar::hidden() } else { bar() };
    let progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let findings = match campaign.keeps_trials() {
        true => campaign.go_on(&Journal::open(&folder, args.resume).map_err(failure)?, &progress),
        false => campaign.run(&progress),
    };
    let findings = findings.map_err(failure)?;
    bar.finish_and_clear();
    campaign::write(&folder, &findings).map_err(failure)?;
    say(&format!("{}\n{}\n  {}\n", align(&findings.table), findings.verdict, folder.display()))?;
    Ok(u8::from(!findings.passed))
}

/// A campaign whose trials fail for want of anything but a file is the program's own fault.
fn failure(error: CampaignError) -> Failure {
    match error {
        CampaignError::Trials(_) => Failure::Internal(error.to_string()),
        _ => Failure::input(&error),
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_bar} {human_pos} of {human_len}  {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style.progress_chars("━╸─"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_that_cannot_be_written_is_found_out_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("thesis.tex");
        std::fs::write(&file, "precious").unwrap();
        for out in [file.clone(), file.join("inside")] {
            let campaign = "scenarios/campaigns/soundness.toml".into();
            let failure = run(&CampaignArgs { file: campaign, out: Some(out), resume: false, quiet: true })
                .unwrap_err();
            assert_eq!(failure.code(), 2);
            assert!(failure.to_string().contains("thesis.tex"), "{failure}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn a_missing_file_is_bad_input() {
        let args = CampaignArgs { file: "no_such.toml".into(), out: None, resume: false, quiet: true };
        let failure = run(&args).unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("no_such.toml"), "{failure}");
    }
}
