//! Methods side by side: whoever plans, learns, controls and proves in a certain way, on the same task.
//!
//! A method is a file ([`MethodPreset`]), `planners/*.toml` for those that ship; what it says is carried out here, and no method has code of its own. Methods
//! that ask for proofs run in the loop ([`crate::horizon`]). All others, the baselines of [1, Table II], carry out the path that the task gives with their own
//! controller and without any proof, as the paper has it. What becomes of that is judged on the true state by the simulator's auditor, as for everybody.

mod follow;
mod law;
mod learning;
mod preset;
mod run;

pub use preset::{
    AssumedBody, ControlLaw, FourierLearning, Learning, MethodPreset, PlannedLearning, PresetError, Proof,
};
pub use run::{MethodError, run};
