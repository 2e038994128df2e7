//! The way around obstacles: a sampling-based search in joint space, and the next target along the way.
//!
//! [`search`] is RRT-Connect (two trees that grow towards random points and towards each other), followed by random
//! shortcuts. It knows nothing of robots: a configuration is a slice of numbers and a closure says whether it is
//! valid. Results depend on the seed alone, unless the deadline cuts the search short. Nothing here is trusted:
//! edges are checked at a resolution only.

use crate::reach::Joints;
use crate::reach::cell::MAX_JOINTS;
use crate::robot::{Arm, JointKind};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::TAU;
use std::time::Instant;
use thiserror::Error;

/// A sequence of configurations. The straight segments between them are valid up to the search's resolution: a corner
/// may be cut by less than that.
pub type Path = Vec<Joints<f64>>;

/// How the search goes about it. Lengths are max-norm distances in joint space (rad or m).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Length of a tree's edge.
    pub step: f64,
    /// Distance between the points that are checked on an edge.
    pub resolution: f64,
    /// Largest number of nodes in both trees together.
    pub max_nodes: usize,
    /// Attempts at a shortcut.
    pub shortcuts: usize,
    /// When to give up (search) or to return what there is (shortcuts).
    pub deadline: Option<Instant>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { seed: 0, step: 0.3, resolution: 0.03, max_nodes: 20_000, shortcuts: 300, deadline: None }
    }
}

/// Why there is no path.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum SearchError {
    /// Sizes differ.
    #[error("{field}: expected {expected} coordinates, found {found}")]
    Size {
        /// `start`, `goal` or `bounds`.
        field: &'static str,
        /// Length of the bounds.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// An option or a bound that makes no sense.
    #[error("{field}: expected {expected}, found {found}")]
    Value {
        /// Name of the option, or of the coordinate's bounds.
        field: String,
        /// What was expected.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// The start or the goal is outside the bounds.
    #[error("{field}: coordinate {index} is {value}, expected {lower} to {upper}")]
    OutOfBounds {
        /// `start` or `goal`.
        field: &'static str,
        /// Which coordinate.
        index: usize,
        /// Its value.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// The start or the goal is not valid.
    #[error("{0} is not a valid configuration (in collision)")]
    Invalid(&'static str),
    /// No path was found with this many nodes, in the time given.
    #[error("no path found with {nodes} nodes{}", if *.out_of_time { " before the deadline" } else { "" })]
    NotFound {
        /// Nodes in both trees.
        nodes: usize,
        /// Whether time, not the number of nodes, ended the search.
        out_of_time: bool,
    },
}

/// Bounds for a search from `start` (length n): the position limits, and start +- 2 pi where a joint has none.
pub fn search_bounds(robot: &Arm, start: &[f64]) -> Joints<(f64, f64)> {
    let joints = robot.joints.iter().zip(start);
    joints.map(|(joint, &q)| joint.limits.position.unwrap_or((q - TAU, q + TAU))).collect()
}

/// The goal with its continuous joints turned by whole turns to within pi of `start` (both length n, rad).
pub fn nearest_turn(robot: &Arm, start: &[f64], goal: &[f64]) -> Joints<f64> {
    let joints = robot.joints.iter().zip(start).zip(goal);
    joints
        .map(|((joint, &from), &to)| match joint.kind {
            JointKind::Continuous => to - TAU * ((to - from) / TAU).round(),
            JointKind::Revolute | JointKind::Prismatic | JointKind::FreeFlyer => to,
        })
        .collect()
}

/// Whether all points of the straight segment, at most `resolution` apart (max norm), are valid; `from` is not asked.
pub fn segment_is_valid(from: &[f64], to: &[f64], resolution: f64, valid: &impl Fn(&[f64]) -> bool) -> bool {
    let count = (distance_max(from, to) / resolution).ceil().max(1.0) as usize;
    // Far points first: an edge that fails mostly fails at its far end.
    (1..=count).rev().all(|i| valid(&between(from, to, i as f64 / count as f64)))
}

/// Finds way-points from `start` to `goal` (both included) inside `bounds`.
///
/// # Errors
/// [`SearchError`]: wrong sizes or values, an invalid start or goal, or no path in the nodes and time given.
pub fn search(
    bounds: &[(f64, f64)],
    start: &[f64],
    goal: &[f64],
    valid: &impl Fn(&[f64]) -> bool,
    options: &SearchOptions,
) -> Result<Path, SearchError> {
    let mut space = SearchSpace::default();
    space.search(bounds, start, goal, valid, options).map(|()| space.path)
}

/// Storage of searches, kept from one to the next.
#[derive(Debug, Clone, Default)]
pub struct SearchSpace {
    grower: Tree,
    follower: Tree,
    /// What was found last.
    pub path: Path,
}

impl SearchSpace {
    /// [`search`] into [`SearchSpace::path`]; asks for memory only if no search before needed as much.
    ///
    /// # Errors
    /// As there.
    pub fn search(
        &mut self,
        bounds: &[(f64, f64)],
        start: &[f64],
        goal: &[f64],
        valid: &impl Fn(&[f64]) -> bool,
        options: &SearchOptions,
    ) -> Result<(), SearchError> {
        check(bounds, start, goal, options)?;
        for (field, q) in [("start", start), ("goal", goal)] {
            if !valid(q) {
                return Err(SearchError::Invalid(field));
            }
        }
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        self.path.clear();
        if segment_is_valid(start, goal, options.resolution, valid) {
            self.path.extend([point(start), point(goal)]);
        } else {
            self.connect(bounds, (start, goal), valid, options, &mut rng)?;
        }
        shorten(&mut self.path, valid, options, &mut rng);
        Ok(())
    }
}

/// A configuration in place; [`check`] has seen to it that there is room.
fn point(q: &[f64]) -> Joints<f64> {
    q.iter().copied().collect()
}

/// The next target on the way: the farthest point along `path` that is within `reach` of `q` in every joint and whose
/// straight segment from `q` is valid. Points of the path are tried `resolution` apart (max norm). `None` when no
/// point qualifies; search again then. All lengths n, rad or m.
pub fn lookahead(
    path: &[Joints<f64>],
    q: &[f64],
    reach: &[f64],
    resolution: f64,
    valid: &impl Fn(&[f64]) -> bool,
) -> Option<Joints<f64>> {
    let within = |p: &[f64]| p.iter().zip(q).zip(reach).all(|((p, q), r)| (p - q).abs() <= *r);
    let suits = |p: &[f64]| within(p) && segment_is_valid(q, p, resolution, valid);
    let mut points = path.last().into_iter().cloned().chain(path.windows(2).rev().flat_map(|pair| {
        let count = (distance_max(&pair[0], &pair[1]) / resolution).ceil().max(1.0) as usize;
        (0..count).rev().map(move |i| between(&pair[0], &pair[1], i as f64 / count as f64))
    }));
    points.find(|p| suits(p))
}

fn check(
    bounds: &[(f64, f64)],
    start: &[f64],
    goal: &[f64],
    options: &SearchOptions,
) -> Result<(), SearchError> {
    if bounds.len() > MAX_JOINTS {
        return Err(SearchError::Size { field: "bounds", expected: MAX_JOINTS, found: bounds.len() });
    }
    for (name, value) in [("step", options.step), ("resolution", options.resolution)] {
        if !(value > 0.0 && value.is_finite()) {
            let (field, found) = (name.to_string(), value.to_string());
            return Err(SearchError::Value { field, expected: "a finite number above zero", found });
        }
    }
    for (i, &(lower, upper)) in bounds.iter().enumerate() {
        if !(lower.is_finite() && upper.is_finite() && lower <= upper) {
            let (field, found) = (format!("bounds of coordinate {i}"), format!("{lower} to {upper}"));
            return Err(SearchError::Value { field, expected: "finite numbers in order", found });
        }
    }
    for (field, q) in [("start", start), ("goal", goal)] {
        if q.len() != bounds.len() {
            return Err(SearchError::Size { field, expected: bounds.len(), found: q.len() });
        }
        for (index, (&value, &(lower, upper))) in q.iter().zip(bounds).enumerate() {
            // Also true for NaN.
            if !(lower <= value && value <= upper) {
                return Err(SearchError::OutOfBounds { field, index, value, lower, upper });
            }
        }
    }
    Ok(())
}

fn distance_max(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()))
}

fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn between(a: &[f64], b: &[f64], s: f64) -> Joints<f64> {
    a.iter().zip(b).map(|(a, b)| a + s * (b - a)).collect()
}

/// A tree of valid configurations; the first node is the root and every other one names its parent.
#[derive(Debug, Clone, Default)]
struct Tree {
    nodes: Vec<(Joints<f64>, usize)>,
}

/// How far a tree came towards a point.
enum Reached {
    /// It stands there, at this node.
    There(usize),
    /// One or more edges were added, the last at this node, before the way was blocked.
    PartOfTheWay(usize),
    /// No edge was possible.
    Nothing,
}

impl Tree {
    fn plant(&mut self, root: &[f64]) {
        self.nodes.clear();
        self.nodes.push((point(root), 0));
    }

    fn nearest(&self, q: &[f64]) -> usize {
        let mut best = (f64::INFINITY, 0);
        for (i, (node, _)) in self.nodes.iter().enumerate() {
            let d = distance_squared(node, q);
            if d < best.0 {
                best = (d, i);
            }
        }
        best.1
    }

    /// Grows from the nearest node towards `q`, at most `limit` edges.
    fn grow(
        &mut self,
        q: &[f64],
        limit: usize,
        o: &SearchOptions,
        valid: &impl Fn(&[f64]) -> bool,
    ) -> Reached {
        let mut at = self.nearest(q);
        let mut reached = Reached::Nothing;
        for _ in 0..limit {
            let from = &self.nodes[at].0;
            let distance = distance_max(from, q);
            if distance == 0.0 {
                return Reached::There(at);
            }
            let next = if distance <= o.step { point(q) } else { between(from, q, o.step / distance) };
            if !segment_is_valid(from, &next, o.resolution, valid) {
                return reached;
            }
            self.nodes.push((next, at));
            at = self.nodes.len() - 1;
            if distance <= o.step {
                return Reached::There(at);
            }
            reached = Reached::PartOfTheWay(at);
        }
        reached
    }

    /// Adds the nodes between this one, itself not included, and the root.
    fn branch(&self, mut node: usize, path: &mut Path) {
        while node != 0 {
            node = self.nodes[node].1;
            path.push(self.nodes[node].0.clone());
        }
    }
}

impl SearchSpace {
    /// RRT-Connect: one tree takes a step towards a random point, the other goes all the way towards the new node.
    fn connect(
        &mut self,
        bounds: &[(f64, f64)],
        (start, goal): (&[f64], &[f64]),
        valid: &impl Fn(&[f64]) -> bool,
        options: &SearchOptions,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), SearchError> {
        let Self { grower, follower, path } = self;
        let (mut grower, mut follower) = (grower, follower);
        grower.plant(start);
        follower.plant(goal);
        let mut from_start = true;
        // Blocked growth adds no node: count attempts as well, so that a sealed start ends without a deadline.
        for _ in 0..10 * options.max_nodes {
            let nodes = grower.nodes.len() + follower.nodes.len();
            let out_of_time = options.deadline.is_some_and(|d| Instant::now() >= d);
            if out_of_time || nodes >= options.max_nodes {
                return Err(SearchError::NotFound { nodes, out_of_time });
            }
            let random: Joints<f64> = bounds.iter().map(|&(l, u)| rng.random_range(l..=u)).collect();
            if let Reached::There(a) | Reached::PartOfTheWay(a) = grower.grow(&random, 1, options, valid) {
                let meeting = grower.nodes[a].0.clone();
                if let Reached::There(b) = follower.grow(&meeting, options.max_nodes, options, valid) {
                    path.push(meeting);
                    grower.branch(a, path);
                    path.reverse();
                    follower.branch(b, path);
                    if !from_start {
                        path.reverse();
                    }
                    return Ok(());
                }
            }
            std::mem::swap(&mut grower, &mut follower);
            from_start = !from_start;
        }
        Err(SearchError::NotFound { nodes: grower.nodes.len() + follower.nodes.len(), out_of_time: false })
    }
}

/// Replaces stretches between two random points of the path by straight segments where these are valid.
fn shorten(path: &mut Path, valid: &impl Fn(&[f64]) -> bool, options: &SearchOptions, rng: &mut ChaCha8Rng) {
    for _ in 0..options.shortcuts {
        if path.len() < 3 || options.deadline.is_some_and(|d| Instant::now() >= d) {
            return;
        }
        let (i, j) = (rng.random_range(0..path.len() - 1), rng.random_range(0..path.len() - 1));
        let (i, j) = (i.min(j), i.max(j));
        if i == j {
            continue;
        }
        let p = between(&path[i], &path[i + 1], rng.random_range(0.0..1.0));
        let q = between(&path[j], &path[j + 1], rng.random_range(0.0..1.0));
        if segment_is_valid(&p, &q, options.resolution, valid) {
            path.splice(i + 1..=j, [p, q]);
        }
    }
    straighten(path, valid, options);
}

/// Drops way-points whose neighbours see each other.
fn straighten(path: &mut Path, valid: &impl Fn(&[f64]) -> bool, options: &SearchOptions) {
    let mut i = 1;
    while i + 1 < path.len() {
        if segment_is_valid(&path[i - 1], &path[i + 1], options.resolution, valid) {
            path.remove(i);
        } else {
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests;
