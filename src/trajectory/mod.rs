//! Desired trajectories: evaluated on numbers here, enclosed over time intervals in `enclosure`.

pub mod bezier;
pub mod curve;
pub mod enclosure;
pub mod junction;
pub mod pieces;

pub use bezier::{Bezier, JointState, TrajectoryError, end_point_basis};
pub use curve::{BSpline, Curve, Fourier};
pub use enclosure::DesiredMotion;
pub use pieces::{Pieces, PiecewiseBezier};
