//! Scenarios: files that describe a task for the loop ([`crate::horizon::Task`]), and the truth that only the simulator may know.
//!
//! A scenario file holds the task (robot, start, goal, obstacles, the prior on the payload) and the truth about the
//! payload, which exists for the simulated plant. Loading separates the two at once: the parsed file is visible in
//! [`load`] alone, the truth goes into a [`HiddenTruth`](crate::simulate::HiddenTruth) whose numbers only the
//! `simulate` room can read, and everything that plans, controls or identifies is handed a [`Task`](crate::horizon::Task). A line of
//! code elsewhere that reads the truth does not compile.

pub mod error;
pub mod load;
mod prior;
mod record;
mod replay;
pub mod task;
#[cfg(test)]
mod tests;
pub mod world;

pub use error::ScenarioError;
pub(crate) use record::simulate;
pub use record::{run, run_realtime};
pub use task::Scenario;
