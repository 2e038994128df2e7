//! From cell to cell: the domain is what is reached from a posture.

use std::collections::{BTreeMap, VecDeque};
use std::f64::consts::PI;

use super::{BlockDomain, CELLS, ClosureBlock, DomainError, ProvenCell, positions};
use crate::enclose::Interval;
use crate::robot::Model;

type Cells = BTreeMap<Vec<usize>, ProvenCell>;

/// Proves cells from `q` on, each from a neighbour's prediction, until nothing is left that can be proven.
pub(super) fn domain(robot: &Model, block: ClosureBlock, q: &[f64]) -> Result<BlockDomain, DomainError> {
    let range = |&joint: &usize| {
        let (lower, upper) = robot.joints[joint].limits.position.unwrap_or((-PI, PI));
        Interval::new(lower, upper)
    };
    let ranges: Vec<Interval> = block.motors.iter().map(range).collect();
    let count = CELLS[ranges.len().clamp(1, CELLS.len()) - 1];
    let edges: Vec<Vec<f64>> = ranges.iter().map(|range| divided(*range, count)).collect();
    let start = positions(robot, q, &block.motors);
    let first: Option<Vec<usize>> =
        edges.iter().zip(&start).map(|(edges, x)| holding(edges, *x).next()).collect();
    let nothing = || DomainError::Start { name: block.loops().next().unwrap_or_default().to_owned() };
    let first = first.ok_or_else(nothing)?;
    let cells = flood(robot, &block, &edges, &first, q);
    if cells.is_empty() {
        return Err(nothing());
    }
    let rectangle = rectangle(&cells, &edges, &first);
    Ok(BlockDomain { block, ranges, edges, cells, rectangle })
}

/// Edges of `count` cells that fill the range.
fn divided(range: Interval, count: usize) -> Vec<f64> {
    let inner = |k: usize| {
        let share = k as f64 / count as f64;
        (range.lower() + share * (range.upper() - range.lower())).clamp(range.lower(), range.upper())
    };
    (0..count).map(inner).chain([range.upper()]).collect()
}

/// The cells that hold `x`: none, one, or two that meet there.
pub(super) fn holding(edges: &[f64], x: f64) -> impl Iterator<Item = usize> {
    // Of a value that is no number: none.
    let from = edges.partition_point(|e| *e < x).saturating_sub(1);
    let to = if x.is_nan() { 0 } else { edges.partition_point(|e| *e <= x) };
    from..to.min(edges.len() - 1)
}

fn flood(robot: &Model, block: &ClosureBlock, edges: &[Vec<f64>], first: &[usize], q: &[f64]) -> Cells {
    let equations = block.equations();
    let ranges = |place: &[usize]| -> Vec<Interval> {
        place.iter().zip(edges).map(|(&k, edges)| Interval::new(edges[k], edges[k + 1])).collect()
    };
    let limits: Vec<Option<(f64, f64)>> =
        block.passive.iter().map(|&joint| robot.joints[joint].limits.position).collect();
    let within = |cell: &ProvenCell| {
        let inside = |(x, limits): (Interval, &Option<(f64, f64)>)| {
            limits.is_none_or(|(lower, upper)| lower <= x.lower() && x.upper() <= upper)
        };
        cell.passive_range().into_iter().zip(&limits).all(inside)
    };
    let mut cells = Cells::new();
    let from = equations.close(&positions(robot, q, &block.motors), &positions(robot, q, &block.passive));
    let Some(seed) = from.and_then(|from| equations.prove(&ranges(first), &from)).filter(within) else {
        return cells;
    };
    let mut open = VecDeque::from([first.to_vec()]);
    cells.insert(first.to_vec(), seed);
    // In a new cell the closure is that of all its neighbours, so that no way round leads to another branch.
    let continues = |cells: &Cells, to: &[usize], cell: &ProvenCell| {
        neighbours(to, edges).iter().filter_map(|(axis, at)| Some((axis, at, cells.get(at)?))).all(
            |(axis, at, other)| {
                // The middle of the common face.
                let mut shared: Vec<f64> = ranges(to).iter().map(|range| range.midpoint()).collect();
                shared[*axis] = edges[*axis][at[*axis].max(to[*axis])];
                other.continues(cell, &shared) || cell.continues(other, &shared)
            },
        )
    };
    while let Some(place) = open.pop_front() {
        for (_, to) in neighbours(&place, edges) {
            if cells.contains_key(&to) {
                continue;
            }
            let guess: Vec<f64> =
                cells[&place].predicted(&ranges(&to)).iter().map(|x| x.midpoint()).collect();
            let proven = equations.prove(&ranges(&to), &guess).filter(within);
            if let Some(cell) = proven.filter(|cell| continues(&cells, &to, cell)) {
                cells.insert(to.clone(), cell);
                open.push_back(to);
            }
        }
    }
    cells
}

/// Cells that share a face with the one at `place`, each with the axis across it.
fn neighbours(place: &[usize], edges: &[Vec<f64>]) -> Vec<(usize, Vec<usize>)> {
    let next = |axis: usize, to: usize| {
        let mut at = place.to_vec();
        at[axis] = to;
        (axis, at)
    };
    let along = |axis: usize| {
        let below = place[axis].checked_sub(1);
        let above = Some(place[axis] + 1).filter(|to| to + 1 < edges[axis].len());
        [below, above].into_iter().flatten().map(move |to| (axis, to))
    };
    (0..place.len()).flat_map(along).map(|(axis, to)| next(axis, to)).collect()
}

/// A box of proven cells around `first` that cannot be made longer by a cell in any direction.
fn rectangle(cells: &Cells, edges: &[Vec<f64>], first: &[usize]) -> Vec<Interval> {
    let (mut from, mut to) = (first.to_vec(), first.to_vec());
    // Whether all cells are proven of the slab at `at` across `axis`.
    let proven = |from: &[usize], to: &[usize], axis: usize, at: usize| {
        slab(from, to, axis, at).iter().all(|place| cells.contains_key(place))
    };
    let mut grows = true;
    while grows {
        grows = false;
        for axis in 0..first.len() {
            if from[axis] > 0 && proven(&from, &to, axis, from[axis] - 1) {
                from[axis] -= 1;
                grows = true;
            }
            if to[axis] + 2 < edges[axis].len() && proven(&from, &to, axis, to[axis] + 1) {
                to[axis] += 1;
                grows = true;
            }
        }
    }
    (0..first.len()).map(|k| Interval::new(edges[k][from[k]], edges[k][to[k] + 1])).collect()
}

/// Places of the cells with `at` along `axis`, and between `from` and `to` along the others.
fn slab(from: &[usize], to: &[usize], axis: usize, at: usize) -> Vec<Vec<usize>> {
    let mut places = vec![vec![]];
    for k in 0..from.len() {
        let range = if k == axis { at..=at } else { from[k]..=to[k] };
        places = places
            .into_iter()
            .flat_map(|place: Vec<usize>| {
                range.clone().map(move |x| place.iter().copied().chain([x]).collect::<Vec<_>>())
            })
            .collect();
    }
    places
}
