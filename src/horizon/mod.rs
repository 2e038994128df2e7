//! The receding-horizon loop: propose, certify, execute, identify, and brake when something fails.
//!
//! Time is cut into planning periods of t_p. At the start of a period the measurements so far go to the identifier; then the plan
//! for the *next* period is proposed and certified, from the desired state that the running plan will have there; then
//! the running plan is executed for t_p. A plan that is not ready within t_p, or that cannot be certified, is not
//! executed: the running one goes on into its braking part, and planning continues from where that leads. The last
//! exciting trajectory is executed to its end, so that all its data are in hand. With an empty hand there is nothing to
//! learn: no updates, no exciting trajectories, and the set of parameters stays what it was. If the task asks for it, what is
//! held is weighed first: the arm stands, and the first plan is made with what the torques that hold it tell.
//!
//! Where obstacles move, each plan is made with where they are seen at the start of its planning period, and proven for wherever they may be while it is
//! executed. Where one is too near for any proof the arm comes to rest and waits, as long as the task's patience lasts.
//!
//! What happens in one control period is a thing of its own, which follows the running plan whether or not anybody plans. [`run_realtime`] gives it a thread, for an
//! arm that time does not wait for; with [`run()`] it waits for its turn.
//!
//! The loop sees the [`Task`], and of the arm what [`Hardware`] gives out. [`run()`] tells an [`Observer`] what happens
//! and returns a [`Record`].

mod cycle;
mod event;
mod evidence;
mod hardware;
mod learn;
pub(crate) mod nullable;
mod outcome;
mod realtime;
mod record;
mod run;
mod surroundings;
mod task;
mod telling;
mod tick_times;

pub use event::{Event, Observer};
pub use evidence::{Broken, Evidence, MeasurementGap, StopRecord};
pub use hardware::{Hardware, Reading, Sighting};
pub(crate) use learn::Learner;
pub use learn::first_set;
pub use outcome::{Outcome, TaskPhase};
pub use realtime::run_realtime;
pub(crate) use realtime::run_realtime_within;
pub use record::{
    AdaptedBody, BodyEstimate, Identification, LogRow, Margins, MostProbable, PlanSummary, Record,
    TorqueWidths, TubeStep, WaitRecord,
};
pub(crate) use run::run_within;
pub(crate) use run::session::{Ending, Session};
pub use run::{METHODS, RunError, RunOptions, run};
pub(crate) use task::usual_tolerance;
pub use task::{Carry, Excite, ExciteCriterion, HeldObject, Identify, Placing, PlacingError, Task, Timing};
pub(crate) use telling::{run_span, tell};
pub use tick_times::{TickSummary, TickTimes};
