//! What a running job tells whoever watches it.

use super::outcome::{Outcome, TaskPhase};
use super::record::Margins;

/// Somebody who watches a run. All that comes back is the wish that it end.
pub trait Observer {
    /// Called on the run's own thread in the order in which things happen; must return quickly.
    fn event(&mut self, event: &Event);

    /// Whether the run is to end: asked before each plan. The running plan is then followed to its end, where the arm rests, and the run ends as a
    /// safe stop with all that it has recorded.
    fn asks_to_stop(&mut self) -> bool {
        false
    }
}

/// A borrowed observer is one.
impl<O: Observer + ?Sized> Observer for &mut O {
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }

    fn asks_to_stop(&mut self) -> bool {
        (**self).asks_to_stop()
    }
}

/// Nobody watches.
impl Observer for () {
    fn event(&mut self, _: &Event) {}
}

/// Something that happened in a run. Its `Display` ([`crate::report`]) is one line of plain text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The inputs are read and checked; the run begins.
    RunStarted {
        /// Name of the scenario.
        scenario: String,
        /// Name of the method.
        method: String,
        /// Seed.
        seed: u64,
        /// Name of the robot.
        robot: String,
    },
    /// A plan has been proposed and goes to be certified.
    PlanProposed {
        /// Number of the plan, from 0.
        index: usize,
        /// What it is for.
        phase: TaskPhase,
        /// When its execution would start, s.
        t: f64,
        /// Time it took to propose, ms.
        propose_ms: f64,
    },
    /// A plan has been proven safe.
    PlanCertified {
        /// Number of the plan, from 0.
        index: usize,
        /// What it is for.
        phase: TaskPhase,
        /// When its execution starts, s.
        t: f64,
        /// Time it took to propose, ms.
        propose_ms: f64,
        /// Time it took to prove, ms.
        certify_ms: f64,
        /// Smallest proven margins.
        min_margin: Margins,
    },
    /// No plan was found, or it could not be proven.
    PlanFailed {
        /// Number of the plan, from 0.
        index: usize,
        /// What failed, where.
        reason: String,
    },
    /// A certified plan is being executed; sent a few times a second of simulated time.
    Executing {
        /// Time, s.
        t: f64,
        /// End of what is being executed, s.
        t_end: f64,
        /// What it is for.
        phase: TaskPhase,
        /// Largest tracking error over the tube's bound at this time.
        tracking_ratio: f64,
    },
    /// The set of possible payloads has been updated (the first time: the set before the first plan).
    Identified {
        /// Time, s.
        t: f64,
        /// Proven lower bound of the mass, kg.
        mass_lower: f64,
        /// Proven upper bound of the mass, kg.
        mass_upper: f64,
        /// Half-widths of all ten intervals.
        half_widths: Vec<f64>,
        /// Time the update took, ms.
        update_ms: f64,
        /// Condition number of the last body's regressor over all windows of data so far; `None` before the first data.
        condition_number: Option<f64>,
    },
    /// Measurements are missing; the window of data that they belong to is left out.
    Gap {
        /// The last sample before, s.
        from: f64,
        /// The first sample after, s.
        to: f64,
    },
    /// An obstacle that moves is too near for any proof: the arm comes to rest, or goes on standing.
    Waiting {
        /// Time, s.
        t: f64,
        /// Name of the obstacle.
        obstacle: String,
    },
    /// The run is over.
    Stopped {
        /// How it ended.
        outcome: Outcome,
        /// Why, when it is not success.
        reason: Option<String>,
    },
}
