//! Enclosures of real numbers: arithmetic that is never wrong by a rounding.
//!
//! Every operation of this module returns a set that contains the exact result for every element of its operands,
//! whatever was rounded on the way. It is part of the trusted core.
//!
//! - [`Interval`]: a closed interval, rounded outward.
//! - [`Affine`]: a value that is linear in shared symbols, plus a remainder. Dependencies between values are kept,
//!   so that `x - x` is small and a product of correlated values isn't a product of their ranges.
//! - [`Rounding`]: how the rounding errors of an affine form are bounded. [`Counted`] is portable and fast;
//!   `second::Directed` (feature `inari`) leaves them to an independently written interval library. Both run the same
//!   algorithm, so one checks the other.
//!
//! Polynomial zonotopes and other sets that no certificate rests on are in [`crate::family`].
//!
//! # Assumed
//! - `f64` addition, subtraction, multiplication, division and square root are those of IEEE 754 in
//!   round-to-nearest, subnormal numbers included. Rust promises it for all targets but 32-bit x86 without SSE2,
//!   which is refused at compile time. Code that changes the floating-point environment of its thread
//!   (flush-to-zero, rounding mode) breaks this, and Rust's own rules too. [`environment`] looks for it where a proof is drawn.
//!
//! Nothing is assumed of the platform's `sin` and `cos`: see [`sine`].
//!
//! # Numbers that are none
//! An overflow, a NaN or an infinite input never makes a set smaller: the result is then the whole real line
//! (or a half-line that contains the exact result).

#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("the enclosures need IEEE 754 arithmetic, which x86 without SSE2 does not have");

pub mod affine;
pub mod environment;
pub mod interval;
pub mod rounding;
#[cfg(feature = "inari")]
pub mod second;
pub mod sine;
pub mod twofold;

pub use affine::Affine;
pub use interval::Interval;
pub use rounding::{Counted, Rounding};

#[cfg(test)]
pub(crate) mod harness;
#[cfg(test)]
mod tests;
