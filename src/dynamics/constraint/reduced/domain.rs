//! Where closed loops close in one way only, proven: boxes of motors' positions, found by an interval Newton test (Krawczyk's) on affine
//! forms.
//!
//! Identification and control from the motors' side take the passive joints for a function of the motors ([`super::ReducedDynamics`]).
//! On the whole box of joint limits that is false: loops do not close, or close outside a passive limit, or two closures meet in a
//! singular posture. [`ClosureDomain::around`] finds the part around a posture where it is true:
//! a union of cells, on each of which the closure exists, lies within the passive joints' limits, and is the only one in a tube around it; on
//! neighbouring cells it is the same one. So there it is one continuous function, with a Jacobian whose smallest singular value is bounded below.
//!
//! Loops that share no passive joint are proven apart, each over the motors that move it ([`ClosureBlock`]).

use std::collections::BTreeMap;

use rayon::prelude::*;
use thiserror::Error;

use super::motors_and_base;
use crate::dynamics::constraint::Constraint;
use crate::enclose::Interval;
use crate::robot::{Model, configuration};
use crate::scalar::Scalar;

mod cell;
mod chain;
pub(crate) mod enclosed;
mod grow;
#[cfg(test)]
mod tests;

use cell::Loops;
pub use cell::ProvenCell;
use chain::Chain;

/// Motors and passive joints of a block together, at most.
const SYMBOLS: usize = 9;
/// Passive joints of a block, at most.
const PASSIVE: usize = 8;
/// Cells along one motor, where a block has one, two, or more of them.
const CELLS: [usize; 3] = [256, 64, 16];

/// Why a robot has no proven domain, or a configuration does not lie in it.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DomainError {
    /// A loop that the proof does not cover.
    #[error("loop `{name}` {reason}")]
    Unfit {
        /// The loop.
        name: String,
        /// What does not fit, and what was expected.
        reason: String,
    },
    /// No closure is proven where the domain begins.
    #[error(
        "loop `{name}`: no closure can be proven around the first posture; is it closed, regular and within its limits there? (`closed_at` of the loop in the robot's file says where that is)"
    )]
    Start {
        /// A loop of the block.
        name: String,
    },
    /// A vector of the wrong length.
    #[error("the configuration has {found} numbers, expected {expected}")]
    Length {
        /// Its length.
        found: usize,
        /// The robot's.
        expected: usize,
    },
    /// A motor where the closure is not proven.
    #[error(
        "joint `{joint}` is at {position:.4}, where loop `{name}` is not proven to close in one way; expected {lower:.4} to {upper:.4}, where it \
         is, wherever the loop's other motors are in theirs"
    )]
    Outside {
        /// The motor.
        joint: String,
        /// Its position, rad or m.
        position: f64,
        /// A loop that it moves.
        name: String,
        /// Lower end of the proven box, rad or m.
        lower: f64,
        /// Its upper end.
        upper: f64,
    },
    /// A box of motors' positions, as errors and motion between samples make it, on which no proof succeeds.
    #[error(
        "joint `{joint}` may be anywhere from {lower:.5} to {upper:.5}, where loop `{name}` cannot be proven to close in one way; expected smaller \
         error bounds, a shorter period, or a posture farther from a singular one"
    )]
    Box {
        /// The motor with the widest range.
        joint: String,
        /// Its lower end, rad or m.
        lower: f64,
        /// Its upper end.
        upper: f64,
        /// A loop that it moves.
        name: String,
    },
    /// A passive joint on another branch of the closure.
    #[error(
        "joint `{joint}` is at {position:.4}, expected {expected:.4} within {within:.4} from where the motors are: \
         loop `{name}` is closed another way there, or the reading is wrong"
    )]
    Branch {
        /// The passive joint.
        joint: String,
        /// Where it is, rad or m.
        position: f64,
        /// Where the closure is.
        expected: f64,
        /// Off by this at most.
        within: f64,
        /// A loop that moves it.
        name: String,
    },
}

/// Loops that are tied to each other by the passive joints that they share, with the motors that move them.
#[derive(Debug, Clone)]
pub struct ClosureBlock {
    /// Indices of the motors' joints.
    pub motors: Vec<usize>,
    /// Indices of the passive joints.
    pub passive: Vec<usize>,
    chains: Vec<Chain>,
}

impl ClosureBlock {
    /// Names of the loops.
    pub fn loops(&self) -> impl Iterator<Item = &str> {
        self.chains.iter().map(Chain::name)
    }

    fn equations(&self) -> Loops<'_> {
        Loops { chains: &self.chains, motors: &self.motors, passive: &self.passive }
    }
}

/// The proven domain of one block: cells of a grid over the ranges of its motors.
#[derive(Debug, Clone)]
pub struct BlockDomain {
    /// Its joints and loops.
    pub block: ClosureBlock,
    /// Ranges of the motors, rad or m: what the grid divides.
    pub ranges: Vec<Interval>,
    /// Edges of the grid's cells along each motor.
    edges: Vec<Vec<f64>>,
    /// Proven cells by their place in the grid.
    cells: BTreeMap<Vec<usize>, ProvenCell>,
    /// A box of proven cells with the first posture in it.
    pub rectangle: Vec<Interval>,
}

impl BlockDomain {
    /// The proven cells.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &ProvenCell> {
        self.cells.values()
    }

    /// Share of all cells of the motors' ranges that is proven.
    pub fn share(&self) -> f64 {
        self.cells.len() as f64 / self.edges.iter().map(|edges| edges.len() - 1).product::<usize>() as f64
    }

    /// Lower bound of the smallest singular value of J_u of this block on the proven cells within `ranges` of the motors, m/rad where all
    /// passive joints turn.
    pub fn smallest_singular_value(&self, ranges: &[Interval]) -> f64 {
        let touches = |(x, y): (&Interval, &Interval)| x.lower() < y.upper() && y.lower() < x.upper();
        let within = self.cells().filter(|cell| cell.motors.iter().zip(ranges).all(touches));
        within.map(|cell| cell.smallest_singular_value).fold(f64::INFINITY, f64::min)
    }

    /// The proven cell that holds `motors`, where there is one; on an edge cells on both sides do.
    fn cell_at(&self, motors: &[f64]) -> Option<&ProvenCell> {
        let mut places = vec![vec![]];
        for (edges, x) in self.edges.iter().zip(motors) {
            let holding: Vec<usize> = grow::holding(edges, *x).collect();
            places = places
                .iter()
                .flat_map(|place: &Vec<usize>| holding.iter().map(move |k| [&place[..], &[*k]].concat()))
                .collect();
        }
        places.iter().find_map(|place| self.cells.get(place))
    }

    fn outside(&self, robot: &Model, motors: &[f64]) -> DomainError {
        let beyond = |k: usize| {
            let range = self.rectangle[k];
            // A value that is no number is the farthest out.
            let by = (range.lower() - motors[k]).max(motors[k] - range.upper());
            if motors[k].is_nan() { f64::INFINITY } else { by / range.radius() }
        };
        let worst = (0..motors.len()).max_by(|&a, &b| beyond(a).total_cmp(&beyond(b))).unwrap_or(0);
        DomainError::Outside {
            joint: robot.joints[self.block.motors[worst]].name.clone(),
            position: motors[worst],
            name: self.block.loops().next().unwrap_or_default().to_owned(),
            lower: self.rectangle[worst].lower(),
            upper: self.rectangle[worst].upper(),
        }
    }
}

/// Where the closure of all loops of a robot is proven to be unique. The module's documentation says how.
#[derive(Debug, Clone)]
pub struct ClosureDomain {
    /// Its blocks; their joints are all different.
    pub blocks: Vec<BlockDomain>,
}

impl ClosureDomain {
    /// The domain around the posture in which the robot's file says that its loops are closed ([`configuration::closed`]).
    ///
    /// # Errors
    /// As [`ClosureDomain::around`].
    pub fn of(robot: &Model) -> Result<Self, DomainError> {
        Self::around(robot, &configuration::closed(robot))
    }

    /// The domain that is reached from the motors' positions in `q` through proven cells; the passive joints in `q` are near the closure that is
    /// meant.
    ///
    /// # Errors
    /// [`DomainError::Unfit`] for loops of other kinds than points, or too large ones; [`DomainError::Start`] if nothing is proven at `q`;
    /// wrong lengths.
    pub fn around(robot: &Model, q: &[f64]) -> Result<Self, DomainError> {
        if q.len() != robot.nq() {
            return Err(DomainError::Length { found: q.len(), expected: robot.nq() });
        }
        let blocks = blocks(robot)?;
        let blocks: Result<_, _> =
            blocks.into_par_iter().map(|block| grow::domain(robot, block, q)).collect();
        Ok(Self { blocks: blocks? })
    }

    /// Checks that the motors of `q` lie in the domain, and the passive joints on its branch but for `tolerance` (rad, m).
    ///
    /// # Errors
    /// [`DomainError::Outside`] and [`DomainError::Branch`] name the joint; wrong lengths.
    pub fn check(&self, robot: &Model, q: &[f64], tolerance: f64) -> Result<(), DomainError> {
        self.each(robot, q, |block, place| {
            for ((&joint, expected), tight) in block.passive.iter().zip(&place.0).zip(place.1) {
                let (position, within) = (q[robot.q_index(joint)], tolerance + tight + expected.radius());
                if !((position - expected.midpoint()).abs() <= within) {
                    let of = |chain: &&Chain| chain.joints().any(|j| j == joint);
                    return Err(DomainError::Branch {
                        joint: robot.joints[joint].name.clone(),
                        position,
                        expected: expected.midpoint(),
                        within,
                        name: block.chains.iter().find(of).map_or("", Chain::name).to_owned(),
                    });
                }
            }
            Ok(())
        })
    }

    /// Checks that the motors of `q` lie in the domain; passive joints are not looked at.
    ///
    /// # Errors
    /// [`DomainError::Outside`]; wrong lengths.
    pub fn check_motors(&self, robot: &Model, q: &[f64]) -> Result<(), DomainError> {
        self.each(robot, q, |_, _| Ok(()))
    }

    /// Puts the passive joints of `q` where the proven closure is, to within its tube: the right start for
    /// [`super::ReducedDynamics::close`].
    ///
    /// # Errors
    /// As [`ClosureDomain::check_motors`].
    pub fn place(&self, robot: &Model, q: &mut [f64]) -> Result<(), DomainError> {
        let motors = q.to_vec();
        self.each(robot, &motors, |block, place| {
            for (&joint, expected) in block.passive.iter().zip(&place.0) {
                q[robot.q_index(joint)] = expected.midpoint();
            }
            Ok(())
        })
    }

    /// Proven lower bound of the smallest singular value of J_u where the motors of `q` are, m/rad where all passive joints turn; infinite
    /// without loops.
    ///
    /// # Errors
    /// As [`ClosureDomain::check_motors`].
    pub fn smallest_singular_value_at(&self, robot: &Model, q: &[f64]) -> Result<f64, DomainError> {
        let mut least = f64::INFINITY;
        for domain in &self.blocks {
            let motors = positions(robot, q, &domain.block.motors);
            let cell = domain.cell_at(&motors).ok_or_else(|| domain.outside(robot, &motors))?;
            least = least.min(cell.smallest_singular_value);
        }
        Ok(least)
    }

    /// Calls `then` with where the passive joints of each block are predicted, and how far they may be off.
    fn each(
        &self,
        robot: &Model,
        q: &[f64],
        mut then: impl FnMut(&ClosureBlock, (Vec<Interval>, &[f64])) -> Result<(), DomainError>,
    ) -> Result<(), DomainError> {
        if q.len() != robot.nq() {
            return Err(DomainError::Length { found: q.len(), expected: robot.nq() });
        }
        for domain in &self.blocks {
            let motors = positions(robot, q, &domain.block.motors);
            let cell = domain.cell_at(&motors).ok_or_else(|| domain.outside(robot, &motors))?;
            let at: Vec<Interval> = motors.iter().map(|x| Interval::constant(*x)).collect();
            then(&domain.block, (cell.predicted(&at), &cell.tight))?;
        }
        Ok(())
    }
}

/// The robot's loops, those together that share a passive joint.
fn blocks(robot: &Model) -> Result<Vec<ClosureBlock>, DomainError> {
    let independent = motors_and_base(robot);
    let passive = |joint: &usize| independent.binary_search(&robot.v_index(*joint)).is_err();
    let mut blocks: Vec<ClosureBlock> = vec![];
    for i in 0..robot.loops.len() {
        let chain = Chain::new(robot, &Constraint::closure(robot, i).in_plane(robot))?;
        let (mut own, mut motors): (Vec<usize>, Vec<usize>) = chain.joints().partition(passive);
        let mut chains = vec![chain];
        let (tied, apart) = blocks
            .into_iter()
            .partition(|block: &ClosureBlock| block.passive.iter().any(|joint| own.contains(joint)));
        blocks = apart;
        let tied: Vec<ClosureBlock> = tied;
        for block in tied {
            own.extend(block.passive);
            motors.extend(block.motors);
            chains.extend(block.chains);
        }
        for joints in [&mut own, &mut motors] {
            joints.sort_unstable();
            joints.dedup();
        }
        blocks.push(ClosureBlock { motors, passive: own, chains });
    }
    blocks.iter().try_for_each(fits)?;
    Ok(blocks)
}

fn fits(block: &ClosureBlock) -> Result<(), DomainError> {
    let (motors, passive) = (block.motors.len(), block.passive.len());
    let rows: usize = block.chains.iter().map(Chain::rows).sum();
    let reason = if rows != passive {
        format!(
            "and those tied to it bind {rows} coordinates, expected as many as their {passive} passive joints"
        )
    } else if passive > PASSIVE || motors + passive > SYMBOLS {
        format!(
            "has, with those tied to it, {motors} motors and {passive} passive joints; \
             expected at most {PASSIVE} passive ones, and {SYMBOLS} together"
        )
    } else {
        return Ok(());
    };
    Err(DomainError::Unfit { name: block.loops().next().unwrap_or_default().to_owned(), reason })
}

/// Positions of some joints.
fn positions(robot: &Model, q: &[f64], joints: &[usize]) -> Vec<f64> {
    joints.iter().map(|&j| q[robot.q_index(j)]).collect()
}
