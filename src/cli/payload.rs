//! `surelift payload`: what a run or a study found of the payload, as others take it.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, say};
use crate::report::export::{self, PayloadFormat};

/// Print the payload that a run or a study of recordings found, for a maker's call, a model file or a simulation
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  surelift payload runs/dumbbell_c_8lb-ours-0 --as ur\n  \
                        surelift payload found --as urdf > held.xml\n  surelift payload found --as ranges\n\n\
                        ur      set_target_payload(...) of Universal Robots\n\
                        franka  setLoad(...) of libfranka\n\
                        kinova  tool_mass and tool_mass_center of a Kortex tool configuration, JSON\n\
                        urdf, mjcf, sdf  the inertial element, with what is proven in a comment\n\
                        ranges  proven intervals for simulations that draw bodies at random, JSON\n\n\
                        All are about the payload without the hand, in the frame that the result names. Makers' calls take the frame of their flange:\n\
                        name that link as `frame` in the prior.\n\n\
                        Exit codes: 0 printed, 2 the folder tells of no such payload.")]
pub struct PayloadArgs {
    /// Folder that `surelift run` or `surelift identify` wrote
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// ur, franka, kinova, urdf, mjcf, sdf or ranges
    #[arg(long = "as", value_name = "FORMAT")]
    pub format: PayloadFormat,
}

/// Prints it; gives the exit code.
///
/// # Errors
/// Bad input if the folder tells of no payload, or not enough of it.
pub fn run(args: &PayloadArgs) -> Result<u8, Failure> {
    let payload = export::read(&args.folder).map_err(|error| Failure::input(&error))?;
    say(&export::write(&payload, args.format).map_err(|error| Failure::input(&error))?)?;
    Ok(0)
}
