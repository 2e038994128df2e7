//! Storage for cells that are evaluated at the same time.

use std::sync::{Mutex, PoisonError};

use crate::enclose::{Counted, Rounding};
use crate::reach::workspace::Workspace;
use crate::reach::{Span, symbols};
use crate::robot::{Robot, Scene};

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

/// The storage for a number of symbols.
enum Fitting<'a, R: Rounding> {
    Small(&'a mut Workspace<16, R>),
    Medium(&'a mut Workspace<32, R>),
    Large(&'a mut Workspace<64, R>),
}

impl<R: Rounding> Default for Workspaces<R> {
    fn default() -> Self {
        let place = |_| Mutex::new(Place { space: Space::empty(), report: CellReport::default() });
        Self { places: (0..rayon::current_num_threads()).map(place).collect() }
    }
}

impl<R: Rounding> Workspaces<R> {
    /// Sees to it that every place has its storage, whichever threads come to work.
    pub(super) fn prepare(&self, robot: &Robot, scene: &Scene) {
        let bodies = robot.shapes.len() + scene.obstacles.len();
        let pairs = robot.shapes.len() * scene.obstacles.len() + robot.self_pairs.len();
        // A place that is in use has it.
        for mut place in self.places.iter().filter_map(|place| place.try_lock().ok()) {
            match place.space.prepare(robot) {
                Fitting::Small(space) => space.reserve(bodies),
                Fitting::Medium(space) => space.reserve(bodies),
                Fitting::Large(space) => space.reserve(bodies),
            }
            place.report.clearances.clear();
            place.report.clearances.reserve(pairs);
        }
    }

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

    /// The storage for `robot`, there or made.
    fn prepare(&mut self, robot: &Robot) -> Fitting<'_, R> {
        match symbols(robot.dof()) {
            0..=16 => Fitting::Small(self.small.get_or_insert_with(|| Workspace::new(robot)).fit(robot)),
            17..=32 => Fitting::Medium(self.medium.get_or_insert_with(|| Workspace::new(robot)).fit(robot)),
            _ => Fitting::Large(self.large.get_or_insert_with(|| Workspace::new(robot)).fit(robot)),
        }
    }

    /// Evaluates every constraint over one span.
    pub(super) fn evaluate(&mut self, problem: &Problem<'_>, span: Span, report: &mut CellReport) {
        match self.prepare(problem.robot) {
            Fitting::Small(space) => report.fill(problem, span, space),
            Fitting::Medium(space) => report.fill(problem, span, space),
            Fitting::Large(space) => report.fill(problem, span, space),
        }
    }
}
