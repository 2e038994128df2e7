//! Where the bounds of one cell are computed: storage that is kept from cell to cell.
//!
//! It carries nothing from one cell to the next: every number is written before it is read. Only what a [`crate::dynamics::Motion`]
//! knows of the robot's tree stays, and [`CellWorkspace::fit`] sees to it that it is this robot's. No proof needs it; it saves time.

use crate::dynamics::vec3::Vec3;
use crate::dynamics::{BodyPlacement, MassStorage, RecursionStorage, RegressorStorage};
use crate::enclose::{Affine, Interval, Rounding};
use crate::robot::{Arm, JointKind};
use crate::scalar::Dual;

use super::block::Block;
use super::roundoff::Roundoff;

/// Generators of two bodies that there is room for from the start.
const GENERATORS: usize = 16;

/// All the storage of one cell.
#[derive(Debug, Clone)]
pub struct CellWorkspace<const N: usize, R: Rounding> {
    tree: Vec<(Option<usize>, JointKind)>,
    /// Sizes and errors of plain arithmetic.
    pub sizes: RecursionStorage<Roundoff>,
    /// Forms of the cell.
    pub forms: RecursionStorage<Affine<N, R>>,
    /// Ranges of the cell.
    pub ranges: RecursionStorage<Interval>,
    /// Changes along the errors of positions.
    pub changes: RecursionStorage<Dual<Interval, 1>>,
    /// Changes within a tick.
    pub rates: RecursionStorage<Dual<Affine<N, R>, 1>>,
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

impl<const N: usize, R: Rounding> CellWorkspace<N, R> {
    /// Storage for `robot`.
    pub fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        Self {
            tree: tree(robot).collect(),
            sizes: RecursionStorage::new(robot),
            forms: RecursionStorage::new(robot),
            ranges: RecursionStorage::new(robot),
            changes: RecursionStorage::new(robot),
            rates: RecursionStorage::new(robot),
            size_regressor: RegressorStorage::new(robot),
            regressor: RegressorStorage::new(robot),
            mass: MassStorage::new(robot),
            form_mass: MassStorage::new(robot),
            ends: Vec::with_capacity(robot.shapes().len()),
            placed: Vec::with_capacity(n),
            levers: Vec::with_capacity(n),
            blocks: Vec::new(),
            weights: Vec::with_capacity(GENERATORS),
        }
    }

    /// This storage, made anew if it was for a robot with another tree of joints.
    pub fn fit(&mut self, robot: &Arm) -> &mut Self {
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

fn tree(robot: &Arm) -> impl Iterator<Item = (Option<usize>, JointKind)> + '_ {
    robot.joints.iter().map(|joint| (joint.parent, joint.kind))
}
