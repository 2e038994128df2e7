//! In place of the subcommands that a build without the feature `studies`, or without `verify`, does not have: they say how to get them.

use clap::Args;

use super::Failure;

/// Not in this build: called, it says which command compiles it
#[derive(Debug, Clone, PartialEq, Args)]
#[command(disable_help_flag = true)]
pub struct LeftOutArgs {
    /// Whatever was typed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub typed: Vec<String>,
}

#[cfg(not(feature = "studies"))]
pub use {
    LeftOutArgs as CampaignArgs, LeftOutArgs as EstimateArgs, LeftOutArgs as ExciteArgs,
    LeftOutArgs as IdentifyArgs, LeftOutArgs as PayloadArgs, LeftOutArgs as RobotArgs,
};

/// Says which command would have done it.
///
/// # Errors
/// Always bad input.
#[cfg(not(feature = "studies"))]
pub fn run(_: &LeftOutArgs) -> Result<u8, Failure> {
    Err(Failure::Input(format!(
        "not in this build, which was compiled without the feature `studies`. Compile the whole program (some minutes): \
         cargo run --release -- {}",
        typed().join(" ")
    )))
}

/// In place of `verify`, which an alias of its own compiles (`.cargo/config.toml`).
#[cfg(not(feature = "verify"))]
pub mod verify {
    use super::Failure;

    pub use super::LeftOutArgs as VerifyArgs;

    /// Says which command would have done it.
    ///
    /// # Errors
    /// Always bad input.
    pub fn run(_: &VerifyArgs) -> Result<u8, Failure> {
        let mut typed = super::typed();
        // The alias says it.
        if let Some(subcommand) = typed.iter().position(|word| word == "verify") {
            typed.remove(subcommand);
        }
        Err(Failure::Input(format!(
            "not in this build, which was compiled without the feature `verify`. Compile it (a minute): cargo verify {}",
            typed.join(" ")
        )))
    }
}

/// What was typed behind the program's name.
fn typed() -> Vec<String> {
    std::env::args().skip(1).collect()
}
