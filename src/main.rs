//! The command-line program; everything is in [`surelift::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    surelift::cli::main()
}
