//! Proposes trajectories. Nothing here is trusted: `certify` decides what is safe.

pub mod tube_fit;
