//! The trusted core: given a trajectory, a parameter set and a scene, prove it safe or name the constraint that fails.
//!
//! # Assumed (A1 to A4 of the README)
//! The true parameters lie in the set and every body is physically consistent; the sensors keep their bounds;
//! obstacles lie inside their zonotopes and do not move, or were in them at a known time and no point of them has moved faster since than
//! their speed ([`crate::reach::moving`]); the plan starts as its [`Start`] says ([`switch`]); and the controller of
//! [`crate::reach::tube`] runs at its period, without delay between reading and command, with the constants stored in the plan.
//!
//! # Proven by [`certify`]
//! For every time of the plan and after it, every theta in the set, and every tracking error of the tube: joint positions and
//! velocities within limits, |torque command| within limits, every link capsule apart from every obstacle and from every
//! link it is paired with; the conditions under which the tube is invariant; and that the plan follows the one before it. From an
//! obstacle that moves every capsule stays apart until the plan has ended; at rest the arm does not keep away from it.
//!
//! # How
//! Time is cut into cells; [`cell::CellReport`] bounds every constraint over one cell with outward rounding (`reach`).
//! A cell with a margin below zero is halved, down to a floor. The cells make up [0, T] and the rest after it, and a cell's bounds
//! hold for all its times, so non-negative margins everywhere prove the plan, in whatever order. Nothing of `plan` is used.

pub mod cell;
#[cfg(test)]
pub(crate) mod fixture;
mod halving;
pub mod momentum;
mod problem;
mod separate;
pub mod switch;
mod verdict;
mod workspaces;

use crate::enclose::{Counted, Rounding};

pub use cell::CellReport;
pub use momentum::{MomentumProblem, MomentumStart, SurveyedCell};
pub use problem::{Partition, Problem, on_time};
pub use separate::{DETAIL_M, ProvenClearance};
pub use switch::{Predecessor, Start, StartRefusal};
pub use verdict::{Body, Certificate, ConstraintFamily, ConstraintIndex, Margin, Refusal, Shortfall};
pub use workspaces::Workspaces;

/// Proves the problem over its whole time, from its start.
///
/// # Errors
/// [`Refusal`] names the first constraint (in time) that it cannot prove, and its margin.
pub fn certify(
    problem: &Problem<'_>,
    start: &Start<'_>,
    partition: Partition,
) -> Result<Certificate, Refusal> {
    certify_in(problem, start, partition, &Workspaces::<Counted>::default())
}

/// [`certify`] in the arithmetic `R`, in storage that may have been used for anything before: the answer is the same to the last bit.
///
/// # Errors
/// As there.
pub fn certify_in<R: Rounding>(
    problem: &Problem<'_>,
    start: &Start<'_>,
    partition: Partition,
    workspaces: &Workspaces<R>,
) -> Result<Certificate, Refusal> {
    let _span = verdict::span(problem.robot, partition).entered();
    let mut reports = Vec::new();
    problem.survey_into(partition.cells, workspaces, &mut reports);
    let verdict = problem.conclude(&reports, start, partition.depth, workspaces);
    verdict::tell(&verdict);
    verdict
}

#[cfg(test)]
mod tests;
