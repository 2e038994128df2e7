//! Studies: what recordings or a problem file tell, by all that the library has, as one result to print.
//!
//! [`identification`] is about an arm's recordings: an estimate by several methods, its errors on unseen data, and the proven set.
//! [`hints`] are about recordings whose torques fit with another sign, unit or gear.
//! [`external`] are torques from outside, noticed before anything is learnt.
//! [`validation`] is how well either predicts a recording that it has not seen.
//! [`mechanism`] is about a problem file of [`crate::discrete`]: bodies in maximal coordinates, their friction, motors and tilt.
//! [`standing`] are motions of a robot on its feet that tell the most.
//! [`estimation`] is about a problem file of [`crate::multibody`]: reading, simulating, solving, and comparison with the truth.

pub mod estimation;
mod excitation;
pub mod external;
pub mod hints;
pub mod identification;
pub mod limbs;
pub mod mechanism;
mod self_collision;
pub mod standing;
pub mod validation;
