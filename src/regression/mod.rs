//! Regression: point estimates of parameters from recordings, without a guarantee.
//!
//! Textbook methods that the guaranteed set of [`crate::identify`] is compared with, and the fit over bodies that can exist which gives
//! the controller its nominal body. [`least_squares`] and [`consistent`] take rows of any kind; [`inverse`] makes rows with
//! filtered accelerations ([`filter`]), [`balance`] without any, [`gravity`] at rest; [`base`] says what rows can tell apart,
//! [`foresee`] which ones a coming motion will depend on.

pub mod balance;
pub mod base;
pub mod consistent;
mod error;
pub mod filter;
pub mod foresee;
pub mod gravity;
pub mod inverse;
pub mod least_squares;

pub use error::RegressionError;
