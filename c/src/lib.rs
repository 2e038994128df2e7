//! The C interface of surelift. `c/include/surelift.h` is made from this, and `docs/howto/c.md` says how it is used.
//!
//! # Conventions
//! - Every function gives a [`SureliftStatus`]; what it finds goes through pointers, which come last. With any other status than OK these are left as they were
//!   (the torques of [`surelift_controller_tick`] are the one exception), and [`surelift_last_error`] has the reason in words.
//! - Robots, plans and the like are numbers that stand for objects of the library: a copy stands for the same object. Each is closed once. One that is null (all zero), closed or
//!   of another kind is refused.
//! - Vectors come with their length, which has to be that of the robot. All numbers are SI: rad (m for a prismatic joint), s, N m, kg. Lengths of joint vectors are `dof`.
//! - Vectors that are written may overlap those that are read: they are written last.
//! - Functions may be called from any thread at any time. Where one object cannot serve two calls at once, the second gets `SURELIFT_STATUS_BUSY`.
//! - No panic crosses the border: it becomes `SURELIFT_STATUS_PANIC`.
//!
//! # Safety
//! What nobody can check is the caller's: pointers are null or point to as many numbers as the function says, and texts end with a zero byte.

#![deny(missing_docs)]
// What all of them ask of a caller stands above, once.
#![allow(clippy::missing_safety_doc)]

mod arrays;
mod border;
mod controller;
mod dynamics;
mod handles;
mod identifier;
mod payload;
mod plan;
mod robot;
mod scene;
mod set;
mod version;

pub use border::{SureliftStatus, surelift_last_error, surelift_status_name};
pub use controller::*;
pub use dynamics::*;
pub use identifier::*;
pub use payload::*;
pub use plan::*;
pub use robot::*;
pub use scene::*;
pub use set::*;
pub use version::*;
