//! The command-line program: it parses, calls the library and prints. One file a subcommand.
//!
//! Exit codes: 0 done, 1 internal error (also a violation that the proof excludes), 2 bad input, 3 safe stop,
//! 4 an assumption was proven broken.

mod advice;
#[cfg(feature = "studies")]
pub mod calibrate;
#[cfg(feature = "studies")]
pub mod campaign;
#[cfg(feature = "studies")]
pub mod closures;
#[cfg(feature = "studies")]
pub mod estimate;
#[cfg(feature = "studies")]
pub mod excite;
#[cfg(feature = "studies")]
mod guaranteed;
#[cfg(feature = "studies")]
pub mod identify;
#[cfg(feature = "studies")]
pub mod init;
mod interrupt;
#[cfg(not(all(feature = "studies", feature = "verify")))]
mod left_out;
#[cfg(feature = "studies")]
mod limbs;
#[cfg(feature = "studies")]
pub mod limits;
pub mod log;
#[cfg(any(feature = "studies", feature = "verify"))]
mod log_identity;
#[cfg(feature = "studies")]
mod logs;
#[cfg(feature = "studies")]
pub mod payload;
pub mod progress;
#[cfg(feature = "studies")]
pub mod robot;
#[cfg(feature = "studies")]
mod robot_lines;
pub mod run;
#[cfg(feature = "studies")]
pub mod tune;
#[cfg(feature = "verify")]
pub mod verify;
#[cfg(feature = "verify")]
mod verify_set;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(not(feature = "verify"))]
use left_out::verify;
#[cfg(not(feature = "studies"))]
use left_out::{
    self as campaign, self as estimate, self as excite, self as identify, self as payload, self as robot,
};

use crate::recording::MeasurementLog;
use crate::report::ReportError;

const EXAMPLES: &str = "\
Examples:
  Pick up an 8 lb dumbbell of unknown inertia, learn what it is, carry it to its place:
      surelift run scenarios/dumbbell_c_8lb.toml
  The same with another truth, into a folder of your choice:
      surelift run scenarios/dumbbell_c_8lb.toml --seed 7 --out runs/seven
  Repeat the proof of every plan of a run in this process:
      surelift verify runs/seven/plans/*.json
  What is known of a robot:
      surelift robot kinova_gen3_2f85
  Attack the proofs with a million states:
      surelift campaign scenarios/campaigns/soundness.toml
  Estimate parameters and states from a log, with standard deviations:
      surelift estimate scenarios/estimation/gen3_payload.toml
  What recordings say of a robot, and whether they can be believed:
      surelift identify --robot kinova_gen3_2f85 --log runs/seven/log.csv --unknown payload \\
          --prior scenarios/priors/gen3_hand.toml --out found
  Motions from which a robot's parameters are learnt best:
      surelift excite digit --out motions

Exit codes: 0 done, 1 internal error, 2 bad input, 3 safe stop, 4 an assumption was proven broken.
RUST_LOG=surelift=debug shows what goes on inside.";

/// Pick up something of unknown weight, with a proof.
#[derive(Debug, Parser)]
#[command(name = "surelift", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    /// How to tell of progress, events, warnings and errors on the standard error
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t = log::EventFormat::Text)]
    pub log_format: log::EventFormat,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands; each says for itself what it does.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    Run(run::RunArgs),
    #[allow(missing_docs, reason = "as above")]
    Verify(verify::VerifyArgs),
    #[allow(missing_docs, reason = "as above")]
    Robot(robot::RobotArgs),
    #[allow(missing_docs, reason = "as above")]
    Campaign(campaign::CampaignArgs),
    #[allow(missing_docs, reason = "as above")]
    Estimate(estimate::EstimateArgs),
    #[allow(missing_docs, reason = "as above")]
    Identify(Box<identify::IdentifyArgs>),
    #[allow(missing_docs, reason = "as above")]
    Excite(excite::ExciteArgs),
    #[allow(missing_docs, reason = "as above")]
    Payload(payload::PayloadArgs),
}

/// Why the program ends without having done what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The person who typed the command can put it right: exit code 2.
    Input(String),
    /// The program is wrong, or the machine failed it: exit code 1.
    Internal(String),
}

impl Failure {
    /// Bad input, with the whole chain of causes on one line.
    pub fn input(error: &dyn std::error::Error) -> Self {
        Failure::Input(chain(error))
    }

    /// After a panic, which has told its own story.
    fn panicked() -> Self {
        Self::Internal("the program panicked; please report this".to_owned())
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) => 2,
            Failure::Internal(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(message) => write!(f, "error: {message}"),
            Failure::Internal(message) => write!(f, "internal error: {message}"),
        }
    }
}

impl From<ReportError> for Failure {
    /// A destination that cannot be used is the person's to change; all else is not.
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Destination { .. } => Failure::input(&error),
            _ => Failure::Internal(chain(&error)),
        }
    }
}

/// An error and its causes, leaving out causes that the message already ends with.
fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let text = source.to_string();
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = source.source();
    }
    message
}

/// Parses the arguments of the process, does what they say and gives the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help that cannot be printed because nobody listens is no error.
            let _ = usage.print();
            return ExitCode::from(if usage.use_stderr() { 2 } else { 0 });
        }
    };
    log::start(cli.log_format);
    // A panic has already told its story on the standard error; it still has to leave with the code of an internal
    // error, not with Rust's own 101.
    let result = std::panic::catch_unwind(|| dispatch(cli)).unwrap_or_else(|_| Err(Failure::panicked()));
    ExitCode::from(result.unwrap_or_else(|failure| {
        log::fail(&failure);
        failure.code()
    }))
}

/// Does what the subcommand says; gives the exit code.
fn dispatch(cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Robot(args) => robot::run(&args),
        Command::Campaign(args) => campaign::run(&args),
        Command::Estimate(args) => estimate::run(&args),
        Command::Identify(args) => identify::run(&args),
        Command::Excite(args) => excite::run(&args),
        Command::Payload(args) => payload::run(&args),
    }
}

/// Warns on the standard error where a recording was read up to a cut.
pub(crate) fn warn_of_cut(recording: &MeasurementLog) {
    if let Some(what) = &recording.cut_off {
        log::warn(&format!("`{}`: {what}", recording.path.display()));
    }
}

/// Prints to the standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Internal(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}
