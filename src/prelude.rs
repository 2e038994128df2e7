//! What a program needs that gives an arm a job: `use surelift::prelude::*;`.

pub use crate::horizon::{Hardware, Reading};
pub use crate::job::{GraspPrior, Held, Job, JobError, JobOptions, JobReport, PayloadBounds, Until};
pub use crate::robot::{self, Arm, Scene};
