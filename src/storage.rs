//! Where the bounds of cells are computed: storage that is kept from cell to cell and from plan to plan, one place a thread.
//!
//! It carries nothing from one cell to the next: every number is written before it is read. Only what a [`crate::dynamics::Motion`]
//! knows of the robot's tree stays, and [`Workspace::fit`] sees to it that it is this robot's. No proof needs it; it saves time.

use std::sync::{Mutex, PoisonError};

use crate::certify::{CellReport, Certificate, Problem, Refusal, Shortfall, Start};
use crate::dynamics::vec3::Vec3;
use crate::dynamics::{BodyPlacement, MassStorage, RegressorStorage, Space};
use crate::enclose::{Affine, Counted, Interval, Rounding};
use crate::reach::block::Block;
use crate::reach::roundoff::Roundoff;
use crate::reach::{Span, symbols};
use crate::robot::{JointKind, Robot, Scene};
use crate::scalar::Dual;

/// Generators of two bodies that there is room for from the start.
const GENERATORS: usize = 16;

/// All the storage of one cell.
#[derive(Debug, Clone)]
pub struct Workspace<const N: usize, R: Rounding> {
    tree: Vec<(Option<usize>, JointKind)>,
    /// Sizes and errors of plain arithmetic.
    pub sizes: Space<Roundoff>,
    /// Forms of the cell.
    pub forms: Space<Affine<N, R>>,
    /// Ranges of the cell.
    pub ranges: Space<Interval>,
    /// Changes along the errors of positions.
    pub changes: Space<Dual<Interval, 1>>,
    /// Changes within a tick.
    pub rates: Space<Dual<Affine<N, R>, 1>>,
    /// Regressors of sizes and errors.
    pub size_regressor: RegressorStorage<Roundoff>,
    /// The torque regressor of the cell.
    pub regressor: RegressorStorage<Affine<N, R>>,
    /// The mass matrix as ranges.
    pub mass: MassStorage<Interval>,
    /// The mass matrix as forms.
    pub form_mass: MassStorage<Affine<N, R>>,
    /// For the ends of the capsules.
    pub ends: Vec<[Vec3<Affine<N, R>>; 2]>,
    /// For placements of the bodies.
    pub placed: Vec<BodyPlacement<Affine<N, R>>>,
    /// For what gravity pulls at the joints.
    pub levers: Vec<Vec3<Affine<N, R>>>,
    /// Boxes around the capsules, then around the obstacles.
    pub blocks: Vec<Block>,
    /// For the search for a direction.
    pub weights: Vec<f64>,
}

impl<const N: usize, R: Rounding> Workspace<N, R> {
    /// Storage for `robot`.
    pub fn new(robot: &Robot) -> Self {
        let n = robot.dof();
        Self {
            tree: tree(robot).collect(),
            sizes: Space::new(robot),
            forms: Space::new(robot),
            ranges: Space::new(robot),
            changes: Space::new(robot),
            rates: Space::new(robot),
            size_regressor: RegressorStorage::new(robot),
            regressor: RegressorStorage::new(robot),
            mass: MassStorage::new(robot),
            form_mass: MassStorage::new(robot),
            ends: Vec::with_capacity(robot.shapes.len()),
            placed: Vec::with_capacity(n),
            levers: Vec::with_capacity(n),
            blocks: Vec::new(),
            weights: Vec::with_capacity(GENERATORS),
        }
    }

    /// This storage, made anew if it was for a robot with another tree of joints.
    pub fn fit(&mut self, robot: &Robot) -> &mut Self {
        if !self.tree.iter().copied().eq(tree(robot)) {
            *self = Self::new(robot);
        }
        self
    }

    /// Asks for what so many boxes need.
    pub fn reserve(&mut self, blocks: usize) {
        self.blocks.clear();
        self.blocks.reserve(blocks);
    }
}

fn tree(robot: &Robot) -> impl Iterator<Item = (Option<usize>, JointKind)> + '_ {
    robot.joints.iter().map(|joint| (joint.parent, joint.kind))
}

/// Storage for evaluating cells of any plan, kept from one problem to the next: one place a thread of the pool.
#[derive(Debug)]
pub struct Workspaces<R: Rounding = Counted> {
    places: Vec<Mutex<Desk<R>>>,
}

/// Storage of one thread.
#[derive(Debug)]
pub(crate) struct Desk<R: Rounding> {
    pub(crate) space: Sizes<R>,
    /// For the halves of cells.
    pub(crate) report: CellReport,
}

/// Storage for one cell, by the number of symbols.
#[derive(Debug)]
pub(crate) struct Sizes<R: Rounding> {
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
        let place = |_| Mutex::new(Desk { space: Sizes::empty(), report: CellReport::default() });
        Self { places: (0..rayon::current_num_threads()).map(place).collect() }
    }
}

impl<R: Rounding> Workspaces<R> {
    /// Sees to it that every place has its storage, whichever threads come to work.
    pub(crate) fn prepare(&self, robot: &Robot, scene: &Scene) {
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
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Desk<R>) -> T) -> T {
        let mine = rayon::current_thread_index().unwrap_or(0) % self.places.len();
        // A panic leaves no harm behind: nothing is read before it is written.
        work(&mut self.places[mine].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<R: Rounding> Sizes<R> {
    pub(crate) fn empty() -> Self {
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
    pub(crate) fn evaluate(&mut self, problem: &Problem<'_>, span: Span, report: &mut CellReport) {
        match self.prepare(problem.robot) {
            Fitting::Small(space) => report.fill(problem, span, space),
            Fitting::Medium(space) => report.fill(problem, span, space),
            Fitting::Large(space) => report.fill(problem, span, space),
        }
    }
}

/// How finely time is cut. Coarser or finer, what is proven is as true; it is proven of fewer or more plans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Partition {
    /// Cells that every plan starts with.
    pub cells: usize,
    /// How often a cell may be halved.
    pub depth: u32,
}

impl Default for Partition {
    fn default() -> Self {
        Self { cells: 32, depth: 5 }
    }
}

/// The certifier's steps one by one, for those who prepare plans or look closer at them.
impl Problem<'_> {
    /// Evaluates every constraint over one span in the arithmetic `R`, in the storage in which [`crate::certify::certify_in`] does.
    pub fn report<R: Rounding>(&self, span: Span, workspaces: &Workspaces<R>) -> CellReport {
        let mut report = CellReport { span, ..CellReport::default() };
        self.renew(workspaces, &mut report);
        report
    }

    /// Evaluates every constraint anew over the span that `report` is of, in workspaces.
    pub fn renew<R: Rounding>(&self, workspaces: &Workspaces<R>, report: &mut CellReport) {
        workspaces.with(|place| place.space.evaluate(self, report.span, report));
    }

    /// Evaluates every cell of a partition in the default arithmetic, in parallel.
    pub fn survey(&self, cells: usize) -> Vec<CellReport> {
        let mut reports = Vec::new();
        self.survey_into(cells, &Workspaces::<Counted>::default(), &mut reports);
        reports
    }

    /// Smallest relative margin of the tube's constants over one cell; the tube is proven there if it is not negative.
    pub fn tube_margin(&self, report: &CellReport) -> f64 {
        let margins = self.tube_margins(report).map(|(_, margin)| margin);
        margins.fold(f64::INFINITY, |least, m| if m.is_nan() { f64::NEG_INFINITY } else { least.min(m) })
    }

    /// Draws the conclusion from a survey of this very problem; cells that are not proven are halved up to `depth` times.
    /// In the arithmetic `R`, without asking for memory in workspaces that have been used before.
    ///
    /// # Errors
    /// [`Refusal`] names the claim that is not proven, where and by how much.
    pub fn conclude<R: Rounding>(
        &self,
        survey: &[CellReport],
        start: &Start<'_>,
        depth: u32,
        workspaces: &Workspaces<R>,
    ) -> Result<Certificate, Refusal> {
        let tally = self.tally(survey, depth, workspaces);
        let tally = tally.map_err(|shortfall| shortfall.refusal(self.robot, self.scene))?;
        let excess = self.starts(start, survey)?;
        Ok(tally.certificate(self.robot, self.scene, excess))
    }

    /// [`Problem::conclude`] without names and without the plan's start, without asking for memory in workspaces that have been used before.
    ///
    /// # Errors
    /// [`Shortfall`] of the first cell that stays unproven.
    pub fn weigh<R: Rounding>(
        &self,
        survey: &[CellReport],
        depth: u32,
        workspaces: &Workspaces<R>,
    ) -> Result<(), Shortfall> {
        self.tally(survey, depth, workspaces).map(|_| ())
    }
}
