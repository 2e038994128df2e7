//! `surelift campaign`: many trials of one promise.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use super::log::is_json;
use super::{Failure, say};
use crate::campaign::{self, CampaignError, CampaignFindings, Shard, default_destination};
use crate::report::{self, table::align};

/// Make many trials of one promise, as a campaign file describes them; print a table and write all figures
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  surelift campaign scenarios/campaigns/soundness.toml\n  \
    On three machines, and what they found in one:\n  \
    surelift campaign scenarios/campaigns/soundness.toml --shard 1/3 --resume\n  \
    surelift campaign merge runs/soundness runs/campaign-soundness-shard-*\n\n\
    The folder holds summary.json and table.txt; while a campaign runs, also each finished trial.\n\
    Exit codes: 0 the promise held in all trials (a shard: all are made), 1 it did not, 2 a file cannot be used.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CampaignArgs {
    /// The campaign: what is tried, how often, on which robots
    #[arg(value_name = "FILE.toml", required = true)]
    pub file: Option<PathBuf>,
    /// Where to write the results [default: runs/campaign-NAME; of a shard runs/campaign-NAME-shard-I-of-N]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Take over the trials that an interrupted run (or one with fewer seeds) left in the folder
    #[arg(long)]
    pub resume: bool,
    /// Make part I of N of the trials alone, for example 2/5; `surelift campaign merge` sums the parts up
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    pub shard: Option<Shard>,
    /// No progress; the closing table still comes
    #[arg(long, short)]
    pub quiet: bool,
    /// What to do in place of making trials.
    #[command(subcommand)]
    pub action: Option<CampaignAction>,
}

/// What else can be done with a campaign; each says for itself what it does.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CampaignAction {
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    Merge(MergeArgs),
}

/// Merge the shards of a campaign into what one run of it writes, to the bit
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  surelift campaign merge runs/soundness runs/campaign-soundness-shard-*\n\n\
    Nothing is written unless every shard of one campaign is there, once and finished.\n\
    Exit codes: 0 the promise held in all trials, 1 it did not, 2 shards cannot be merged."
)]
pub struct MergeArgs {
    /// Where to write the results
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// The folders of all shards, in any order
    #[arg(value_name = "SHARD_DIR", required = true)]
    pub shards: Vec<PathBuf>,
    /// The campaign file [default: where the first shard read it]
    #[arg(long, value_name = "FILE.toml")]
    pub campaign: Option<PathBuf>,
}

/// Makes all trials of the campaign, or those of a shard, or merges shards; gives the exit code.
///
/// # Errors
/// Bad input if the file, or one that it names, cannot be used, or shards do not belong together.
pub fn run(args: &CampaignArgs) -> Result<u8, Failure> {
    if let Some(CampaignAction::Merge(args)) = &args.action {
        return merge(args);
    }
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    let campaign = campaign::load(file).map_err(|error| Failure::input(&error))?;
    let default = || {
        let mut folder = default_destination(campaign.name()).into_os_string();
        if let Some(shard) = args.shard {
            folder.push(format!("-shard-{}-of-{}", shard.number(), shard.of()));
        }
        PathBuf::from(folder)
    };
    let folder = args.out.clone().unwrap_or_else(default);
    // Before an hour of trials, not after it.
    report::check_open(&folder)?;
    let bar = if args.quiet || is_json() { ProgressBar::hidden() } else { bar() };
    let progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    if let Some(shard) = args.shard {
        let journal =
            campaign::begin_shard(&folder, file, &*campaign, (shard, args.resume)).map_err(failure)?;
        let trials = campaign.run_shard(shard, &journal, &progress).map_err(failure)?;
        bar.finish_and_clear();
        tracing::info!(campaign = campaign.name(), %shard, trials, "shard made");
        say(&format!("shard {shard}: {trials} trials are made\n  {}\n", folder.display()))?;
        return Ok(0);
    }
    let journal = campaign::begin_whole(&folder, args.resume).map_err(failure)?;
    let findings = campaign.go_on(&journal, &progress).map_err(failure)?;
    bar.finish_and_clear();
    finish(&folder, &findings)
}

/// Merges shards; gives the exit code.
fn merge(args: &MergeArgs) -> Result<u8, Failure> {
    report::check_open(&args.out)?;
    let findings = campaign::merge(&args.shards, args.campaign.as_deref()).map_err(failure)?;
    finish(&args.out, &findings)
}

/// Writes and prints what a campaign found; gives the exit code.
fn finish(folder: &Path, findings: &CampaignFindings) -> Result<u8, Failure> {
    campaign::write(folder, findings).map_err(failure)?;
    tracing::info!(passed = findings.passed, verdict = &*findings.verdict, "campaign summed up");
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
    use clap::Parser;

    use super::super::{Cli, Command};
    use super::*;

    /// What comes of these arguments after `surelift campaign`.
    fn ran(arguments: &[&str]) -> Result<u8, Failure> {
        let whole = [&["surelift", "campaign"], arguments].concat();
        let Command::Campaign(args) = Cli::try_parse_from(whole).unwrap().command else { unreachable!() };
        run(&args)
    }

    #[test]
    fn a_destination_that_cannot_be_written_is_found_out_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("thesis.tex");
        std::fs::write(&file, "precious").unwrap();
        for out in [file.clone(), file.join("inside")] {
            let out = out.to_str().unwrap();
            let trials = ["scenarios/campaigns/soundness.toml", "--quiet", "--out", out];
            for arguments in [&trials[..], &["merge", out, "no_such"]] {
                let failure = ran(arguments).unwrap_err();
                assert_eq!(failure.code(), 2);
                assert!(failure.to_string().contains("thesis.tex"), "{failure}");
            }
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn a_missing_file_is_bad_input() {
        let failure = ran(&["no_such.toml", "--quiet"]).unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("no_such.toml"), "{failure}");
    }

    #[test]
    fn shards_that_cannot_be_are_refused() {
        for (shard, words) in [
            ("0/3", "shard 0 of 3: expected 1 to 3"),
            ("4/3", "shard 4 of 3: expected 1 to 3"),
            ("1/0", "0 shards"),
            ("3", "expected I/N"),
            ("a/3", "`a` is no whole number"),
            ("1/", "`` is no whole number"),
            ("-1/3", "`-1` is no whole number"),
            ("+1/3", "`+1` is no whole number"),
            ("1/+3", "`+3` is no whole number"),
            (" 1/3", "` 1` is no whole number"),
            ("1/2/3", "`2/3` is no whole number"),
            ("1.5/3", "`1.5` is no whole number"),
            ("nan/inf", "`nan` is no whole number"),
            ("99999999999999999999/3", "is no whole number"),
        ] {
            // With a sign of equality, and without.
            for argument in [&[&*format!("--shard={shard}")][..], &["--shard", shard]] {
                let refused = Cli::try_parse_from([&["surelift", "campaign", "a.toml"], argument].concat());
                let said = refused.unwrap_err().to_string();
                assert!(said.contains("--shard <I/N>") && said.contains(words), "{shard}: {said}");
            }
        }
    }

    /// As job arrays may write them.
    #[test]
    fn numbers_of_shards_may_begin_with_zeros() {
        let whole = ["surelift", "campaign", "a.toml", "--shard", "01/003"];
        let Command::Campaign(args) = Cli::try_parse_from(whole).unwrap().command else { unreachable!() };
        assert_eq!(args.shard, Some(Shard::new(1, 3).unwrap()));
    }
}
