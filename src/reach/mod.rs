//! Reachable sets over a time interval: joint tube -> swept links -> input torques. What is assumed and proven stands in each part;
//! [`tube`] is where to begin.

pub mod block;
pub mod cell;
pub mod direction;
pub mod energy;
pub mod extent;
#[cfg(test)]
pub(crate) mod fixture;
pub mod formulas;
pub mod gravity;
pub mod law;
pub mod links;
pub mod mass;
pub mod momentum;
pub mod motor_loops;
pub mod moving;
pub mod prepared_set;
pub mod roundoff;
mod sized;
pub mod strips;
pub mod swept;
pub mod torque;
pub mod tracking;
pub mod tube;
pub mod upward;
mod workspace;

pub use cell::{Cell, Joints, Span, symbols};
pub use prepared_set::PreparedSet;
pub(crate) use sized::sized;
pub use tracking::TrackingTube;
pub use tube::Tube;
pub use workspace::CellWorkspace;
