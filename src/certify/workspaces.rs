//! Storage in which proofs are made, kept from problem to problem: one place a thread. It carries nothing from one problem to the
//! next, see [`crate::reach::CellWorkspace`].

use std::sync::{Mutex, PoisonError};

use crate::enclose::{Counted, Rounding};
use crate::reach::{CellWorkspace, Span, symbols};
use crate::robot::{Arm, Scene};

use super::{CellReport, Problem};

/// Storage for evaluating cells of any plan, kept from one problem to the next: one place a thread of the pool.
#[derive(Debug)]
pub struct Workspaces<R: Rounding = Counted> {
    places: Vec<Mutex<ThreadWorkspace<R>>>,
}

/// Storage of one thread.
#[derive(Debug)]
pub(crate) struct ThreadWorkspace<R: Rounding> {
    pub(crate) space: SizedWorkspace<R>,
    /// For the halves of cells.
    pub(crate) report: CellReport,
}

/// Storage for one cell, by the number of symbols.
#[derive(Debug)]
pub(crate) struct SizedWorkspace<R: Rounding> {
    small: Option<CellWorkspace<16, R>>,
    #[cfg(feature = "many-joints")]
    medium: Option<CellWorkspace<32, R>>,
    #[cfg(feature = "many-joints")]
    large: Option<CellWorkspace<64, R>>,
}

/// The storage for a number of symbols.
enum Fitting<'a, R: Rounding> {
    Small(&'a mut CellWorkspace<16, R>),
    #[cfg(feature = "many-joints")]
    Medium(&'a mut CellWorkspace<32, R>),
    #[cfg(feature = "many-joints")]
    Large(&'a mut CellWorkspace<64, R>),
}

impl<R: Rounding> Default for Workspaces<R> {
    fn default() -> Self {
        let place =
            |_| Mutex::new(ThreadWorkspace { space: SizedWorkspace::empty(), report: CellReport::default() });
        Self { places: (0..rayon::current_num_threads()).map(place).collect() }
    }
}

impl<R: Rounding> Workspaces<R> {
    /// Sees to it that every place has its storage, whichever threads come to work.
    pub(crate) fn prepare(&self, robot: &Arm, scene: &Scene) {
        let bodies = robot.shapes().len() + scene.obstacles.len();
        let pairs = robot.shapes().len() * scene.obstacles.len() + robot.self_pairs().len();
        // A place that is in use has it.
        for mut place in self.places.iter().filter_map(|place| place.try_lock().ok()) {
            match place.space.prepare(robot) {
                Fitting::Small(space) => space.reserve(bodies),
                #[cfg(feature = "many-joints")]
                Fitting::Medium(space) => space.reserve(bodies),
                #[cfg(feature = "many-joints")]
                Fitting::Large(space) => space.reserve(bodies),
            }
            place.report.clearances.clear();
            place.report.clearances.reserve(pairs);
        }
    }

    /// Does `work` in a place that nobody else uses meanwhile. It must not wait for other threads' work.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut ThreadWorkspace<R>) -> T) -> T {
        let mine = rayon::current_thread_index().unwrap_or(0) % self.places.len();
        // A panic leaves no harm behind: nothing is read before it is written.
        work(&mut self.places[mine].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<R: Rounding> SizedWorkspace<R> {
    pub(crate) fn empty() -> Self {
        Self {
            small: None,
            #[cfg(feature = "many-joints")]
            medium: None,
            #[cfg(feature = "many-joints")]
            large: None,
        }
    }

    /// The storage for `robot`, there or made.
    fn prepare(&mut self, robot: &Arm) -> Fitting<'_, R> {
        match symbols(robot.dof()) {
            #[cfg(feature = "many-joints")]
            17..=32 => {
                Fitting::Medium(self.medium.get_or_insert_with(|| CellWorkspace::new(robot)).fit(robot))
            }
            #[cfg(feature = "many-joints")]
            33.. => Fitting::Large(self.large.get_or_insert_with(|| CellWorkspace::new(robot)).fit(robot)),
            _ => Fitting::Small(self.small.get_or_insert_with(|| CellWorkspace::new(robot)).fit(robot)),
        }
    }

    /// Evaluates every constraint over one span.
    pub(crate) fn evaluate(&mut self, problem: &Problem<'_>, span: Span, report: &mut CellReport) {
        match self.prepare(problem.robot) {
            Fitting::Small(space) => report.fill(problem, span, space),
            #[cfg(feature = "many-joints")]
            Fitting::Medium(space) => report.fill(problem, span, space),
            #[cfg(feature = "many-joints")]
            Fitting::Large(space) => report.fill(problem, span, space),
        }
    }
}
