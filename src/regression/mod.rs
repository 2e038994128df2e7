//! Regression: point estimates of parameters from recordings, without a guarantee.
//!
//! Textbook methods that the guaranteed set of [`crate::identify`] is compared with, and the fit over bodies that can exist which gives
//! the controller its nominal body. [`least_squares`] and [`consistent`] take rows of any kind; [`inverse`] makes rows with
//! filtered accelerations ([`filter`]), [`balance`] without any, [`gravity`] at rest; [`base`] says what rows can tell apart,
//! [`foresee`] which ones a coming motion will depend on. [`barrier`] and, in fewer steps, [`primal_dual`] fit many bodies at once, with a
//! duality gap; [`robust`] weighs samples of several joints.

pub mod balance;
#[cfg(feature = "studies")]
pub mod barrier;
#[cfg(feature = "studies")]
pub mod base;
pub mod consistent;
mod error;
#[cfg(feature = "studies")]
pub mod filter;
pub mod foresee;
#[cfg(feature = "studies")]
pub mod gravity;
#[cfg(feature = "studies")]
pub mod inverse;
pub mod least_squares;
#[cfg(feature = "studies")]
pub mod primal_dual;
#[cfg(feature = "studies")]
pub mod robust;

pub use error::RegressionError;
