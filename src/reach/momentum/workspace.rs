//! Storage of one cell, kept from cell to cell. It carries nothing from one to the next: every number is written before it is read.

use crate::dynamics::vec3::Vec3;
use crate::dynamics::{
    BodyPlacement, Composites, MassStorage, Motion, RecursionStorage, RegressorStorage, UnitMotions, crba,
};
use crate::enclose::{Affine, Rounding};
use crate::inertia::ARMATURE;
use crate::linear::triangular::solve_positive_definite;
use crate::reach::prepared_set::PreparedSet;
use crate::reach::roundoff::Roundoff;
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};

use super::cell::OfTime;

/// All the storage of one cell.
#[derive(Debug, Clone)]
pub struct MomentumWorkspace<const N: usize, R: Rounding> {
    /// Motions along the tube, and along the desired motion.
    pub(super) moved: Motion<Affine<N, R>>,
    pub(super) desired: Motion<OfTime<R>>,
    /// Their regressors.
    pub(super) moved_regressor: RegressorStorage<Affine<N, R>>,
    pub(super) desired_regressor: RegressorStorage<OfTime<R>>,
    /// Unit motions of the joints, carried to the bodies along the tube.
    pub(super) units: UnitMotions<Affine<N, R>>,
    /// Mass matrices along the tube.
    pub(super) mass: MassStorage<Affine<N, R>>,
    /// M_0 and its rate along the desired motion.
    pub(super) nominal: Vec<OfTime<R>>,
    pub(super) slopes: Vec<OfTime<R>>,
    /// Rates along the desired motion.
    pub(super) rates: RecursionStorage<Dual<OfTime<R>, 1>>,
    pub(super) rate_mass: MassStorage<Dual<OfTime<R>, 1>>,
    /// Sizes and errors of plain arithmetic.
    pub(super) sizes: Motion<Roundoff>,
    pub(super) size_regressor: RegressorStorage<Roundoff>,
    pub(super) size_mass: MassStorage<Roundoff>,
    /// For the ends of the capsules.
    pub(super) ends: Vec<[Vec3<Affine<N, R>>; 2]>,
    pub(super) placed: Vec<BodyPlacement<Affine<N, R>>>,
    /// Parameters of a mass matrix along the tube.
    theta: Vec<Affine<N, R>>,
    /// For gravity's levers along the desired motion.
    pub(super) desired_placed: Vec<BodyPlacement<OfTime<R>>>,
    pub(super) range: Vec<OfTime<R>>,
    pub(super) levers: Vec<Vec3<OfTime<R>>>,
    /// For the inverse of M_0 in the middle of the cell.
    plain: (Motion<f64>, Composites<f64>),
}

impl<const N: usize, R: Rounding> MomentumWorkspace<N, R> {
    /// Storage for `robot`.
    pub fn new(robot: &Arm) -> Self {
        Self {
            moved: Motion::new(robot),
            desired: Motion::new(robot),
            moved_regressor: RegressorStorage::new(robot),
            desired_regressor: RegressorStorage::new(robot),
            units: UnitMotions::empty(),
            mass: MassStorage::new(robot),
            nominal: Vec::with_capacity(robot.dof() * robot.dof()),
            slopes: Vec::with_capacity(robot.dof() * robot.dof()),
            rates: RecursionStorage::new(robot),
            rate_mass: MassStorage::new(robot),
            sizes: Motion::new(robot),
            size_regressor: RegressorStorage::new(robot),
            size_mass: MassStorage::new(robot),
            ends: Vec::with_capacity(robot.shapes().len()),
            placed: Vec::with_capacity(robot.dof()),
            theta: Vec::with_capacity(robot.parameter_count()),
            desired_placed: Vec::with_capacity(robot.dof()),
            range: Vec::with_capacity(robot.parameter_count()),
            levers: Vec::with_capacity(robot.dof()),
            plain: (Motion::new(robot), Composites::new(robot)),
        }
    }

    /// The ends of the capsules over the cell of the last report.
    pub fn ends(&self) -> &[[Vec3<Affine<N, R>>; 2]] {
        &self.ends
    }

    /// The mass matrix for `theta` where `moved` is placed, row-major, its transmissions with it.
    pub(super) fn mass_there(&mut self, robot: &Arm, theta: &[f64]) -> &[Affine<N, R>] {
        let n = robot.dof();
        self.theta.clear();
        self.theta.extend(theta.iter().map(|x| Affine::constant(*x)));
        let mass = self.mass.links(robot, &self.moved, &self.theta);
        for j in 0..n {
            let own = Affine::constant(theta[robot.joint_index(j).armature]);
            mass[n * j + j] = mass[n * j + j] + own;
        }
        mass
    }

    /// About the inverse of M_0 at `q`, row-major: any matrix is as true, and only one that is near is of use.
    pub(super) fn inverse(&mut self, robot: &Arm, set: &PreparedSet, q: &[f64]) -> Vec<f64> {
        let (motion, composites) = &mut self.plain;
        let mass = nominal_mass(robot, set, q, motion, composites);
        let n = robot.dof();
        let mut inverse = vec![0.0; n * n];
        for k in 0..n {
            let (mut factor, mut column) = (mass.clone(), vec![0.0; n]);
            column[k] = 1.0;
            solve_positive_definite(&mut factor, &mut column);
            (0..n).for_each(|i| inverse[n * i + k] = column[i]);
        }
        inverse
    }
}

/// M_0 at `q` in plain numbers, row-major: links and transmissions of the set's centre.
fn nominal_mass(
    robot: &Arm,
    set: &PreparedSet,
    q: &[f64],
    motion: &mut Motion<f64>,
    composites: &mut Composites<f64>,
) -> Vec<f64> {
    let n = robot.dof();
    let mut mass = vec![0.0; n * n];
    motion.place(robot, q);
    crba(robot, motion, set.center(), composites, &mut mass);
    (0..n).for_each(|j| mass[n * j + j] += set.joint(j).0[ARMATURE]);
    mass
}
