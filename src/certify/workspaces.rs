//! Storage for cells that are evaluated at the same time.

use std::sync::{Mutex, PoisonError};

use crate::enclose::{Counted, Rounding};
use crate::reach::workspace::Workspace;
use crate::reach::{Span, symbols};

use super::{CellReport, Problem};

/// Storage for evaluating cells of any plan, kept from one problem to the next: one place a thread of the pool.
#[derive(Debug)]
pub struct Workspaces<R: Rounding = Counted> {
    places: Vec<Mutex<Place<R>>>,
}

/// Storage of one thread.
#[derive(Debug)]
pub(super) struct Place<R: Rounding> {
    pub(super) space: Space<R>,
    /// For the halves of cells.
    pub(super) report: CellReport,
}

/// Storage for one cell, by the number of symbols.
#[derive(Debug)]
pub(super) struct Space<R: Rounding> {
    small: Option<Workspace<16, R>>,
    medium: Option<Workspace<32, R>>,
    large: Option<Workspace<64, R>>,
}

impl<R: Rounding> Default for Workspaces<R> {
    fn default() -> Self {
        let place = |_| Mutex::new(Place { space: Space::empty(), report: CellReport::blank() });
        Self { places: (0..rayon::current_num_threads()).map(place).collect() }
    }
}

impl<R: Rounding> Workspaces<R> {
    /// Does `work` in a place that nobody else uses meanwhile. It must not wait for other threads' work.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Place<R>) -> T) -> T {
        let mine = rayon::current_thread_index().unwrap_or(0) % self.places.len();
        // A panic leaves no harm behind: nothing is read before it is written.
        work(&mut self.places[mine].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<R: Rounding> Space<R> {
    pub(super) fn empty() -> Self {
        Self { small: None, medium: None, large: None }
    }

    /// Evaluates every constraint over one span.
    pub(super) fn evaluate(&mut self, problem: &Problem<'_>, span: Span, report: &mut CellReport) {
        let robot = problem.robot;
        match symbols(robot.dof()) {
            0..=16 => {
                report.fill(problem, span, self.small.get_or_insert_with(|| Workspace::new(robot)));
            }
            17..=32 => {
                report.fill(problem, span, self.medium.get_or_insert_with(|| Workspace::new(robot)));
            }
            _ => report.fill(problem, span, self.large.get_or_insert_with(|| Workspace::new(robot))),
        }
    }
}
