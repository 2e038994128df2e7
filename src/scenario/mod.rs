//! Scenarios: what a run is given ([`PublicTask`]), and what it is not ([`Scenario::split`]).
//!
//! A scenario file holds the task (robot, start, goal, obstacles, the prior on the payload) and the truth about the
//! payload, which exists for the simulated plant. Loading separates the two at once: the parsed file is visible in
//! [`load`] alone, the truth goes into a [`HiddenTruth`](crate::simulate::HiddenTruth) whose numbers only the
//! `simulate` room can read, and everything that plans, controls or identifies is handed a [`PublicTask`]. A line of
//! code elsewhere that reads the truth does not compile.

pub mod error;
mod evidence;
mod learn;
pub mod load;
mod prior;
mod record;
pub mod run;
pub mod task;
pub mod world;

pub use error::ScenarioError;
pub use learn::first_set;
pub use run::{RunError, RunOptions, run};
pub use task::{Carry, Excite, ExciteCriterion, Held, Identify, Prior, PublicTask, Scenario, Timing};
