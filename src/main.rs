//! The command-line program; everything is in [`surelift::cli`].
//!
//! With `--cfg surelift_program`, which `cargo try` and `cargo verify` set (`.cargo/config.toml`), the library is empty and its modules are the program's own.
//! Of a library all that is public is compiled, of a program what it uses: 165 CPU-seconds in place of 177, with all crates.
//!
//! What is public and no run needs, such as closed chains in `dynamics`, is left out by `cfg(not(surelift_program))`. What a run writes and never reads back
//! derives `Deserialize` for the library and for `cargo verify` alone. A run is about arms, so no robot has a free flyer (`Model::has_free_flyer`). The last two save
//! nearly a fifth of what the compiler has to look at (130 and 106 thousand lines, derived ones too), and a sixteenth of the machine code.
#![cfg_attr(surelift_program, allow(dead_code, unused_imports))]

use std::process::ExitCode;

#[cfg(not(surelift_program))]
use surelift::cli;

/// The modules of the library that a run needs.
macro_rules! own_modules {
    ($($name:ident)*) => { $(#[cfg(surelift_program)] mod $name;)* };
}
own_modules! {
    benchmark certify cli control dynamics enclose extend family horizon identify inertia linear plan reach recording regression report
    robot scalar scenario simulate trajectory
}

fn main() -> ExitCode {
    cli::main()
}
