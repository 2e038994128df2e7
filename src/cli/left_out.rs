//! In place of the subcommands that a build without the feature `studies` does not have: they say how to get them.

use clap::Args;

use super::Failure;

/// Not in this build: `cargo run --release -- ...` compiles the whole program
#[derive(Debug, Clone, PartialEq, Args)]
#[command(disable_help_flag = true)]
pub struct LeftOutArgs {
    /// Whatever was typed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub typed: Vec<String>,
}

pub use LeftOutArgs as CampaignArgs;
pub use LeftOutArgs as EstimateArgs;
pub use LeftOutArgs as ExciteArgs;
pub use LeftOutArgs as IdentifyArgs;
pub use LeftOutArgs as PayloadArgs;
pub use LeftOutArgs as RobotArgs;

/// Says which command would have done it.
///
/// # Errors
/// Always bad input.
pub fn run(_: &LeftOutArgs) -> Result<u8, Failure> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    Err(Failure::Input(format!(
        "not in this build, which was compiled without the feature `studies`. Compile the whole program (some minutes): \
         cargo run --release -- {}",
        typed.join(" ")
    )))
}
