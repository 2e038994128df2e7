//! Few capsules that hold a mesh, and whatever it encloses.
//!
//! # The claim and its proof
//! The mesh is cut into slabs by planes upright to one axis u, and each slab gets a capsule ([`cover`]). Slab k holds the points p of the mesh with
//! c_k <= u.p <= c_(k+1), the first and the last slab without an end. Then
//! 1. every point of every triangle is in the capsule of its slab;
//! 2. so is every point that the mesh encloses, if the mesh is closed: the section of the solid at height t is bounded by points of the mesh
//!    at height t, all in one slab, and a capsule is convex.
//!
//! With one slab, the capsule holds the hull of all vertices.
//!
//! For 1: [`clip`] keeps of a convex polygon what is above a plane that lies [`OVERLAP`] below c_k. On each side that crosses the plane, it takes a
//! point of the side, x, as near the plane as rounding lets it. What it throws away is the hull of the corners that it found to be below the
//! plane and of the points x. All of these are less than 1e-10 above the plane, since heights are computed to within 1e-11 for coordinates up to
//! [`REACH`], and so is their hull: all of it is below c_k. What is kept is the hull of the remaining corners and of the points x, up to the
//! rounding of x, a convex combination of two corners: less than 1e-11. The same holds from above. Each corner that is kept is within
//! `radius - SLACK` of the capsule's segment (the distance as in `robot::cover`, off by less than 1e-10), so that their hull is in the
//! capsule, with room for those roundings: [`SLACK`] is 1e-9.

use nalgebra::{Matrix3, SymmetricEigen, Vector3};

use super::Triangle;
use super::fit;
use crate::robot::cover::distance_to_segment;
use crate::robot::shape::Capsule;

/// Largest coordinate for which the rounding argument is made, m.
pub(super) const REACH: f64 = 1e2;
/// Required excess of a capsule over the corners that it holds, m.
pub(super) const SLACK: f64 = 1e-9;
/// How far slabs reach over each other, m.
const OVERLAP: f64 = 1e-9;
/// Layers that slabs are made of, between the lowest and the highest point.
const LAYERS: usize = 12;
/// Most capsules for one mesh.
const MOST: usize = 4;
/// One capsule more must make the volume smaller by this factor.
const SMALLER: f64 = 0.92;

/// A way to cut: an axis, and heights along it between the slabs.
struct Cuts {
    axis: Vector3<f64>,
    heights: Vec<f64>,
}

/// Capsules, four at most, that hold the triangles and what they enclose. The proof is in the module's header.
///
/// # Errors
/// A coordinate beyond [`REACH`], or no triangle at all.
pub(in crate::robot) fn cover(triangles: &[Triangle]) -> Result<Vec<Capsule>, String> {
    if triangles.is_empty() {
        return Err("holds no faces".to_owned());
    }
    let mut corners = triangles.iter().flatten().flatten();
    if let Some(far) = corners.find(|x| !(x.abs() <= REACH)) {
        return Err(format!(
            "holds the coordinate {far} m, expected at most {REACH} m; is its unit the metre?"
        ));
    }
    let (_, cuts) = axes(triangles)
        .iter()
        .filter_map(|axis| best_cuts(triangles, axis))
        .min_by(|x, y| x.0.total_cmp(&y.0))
        .ok_or("no capsule holds it")?;
    let enclose = |cuts: &Cuts| -> Vec<Capsule> {
        let slabs = 0..=cuts.heights.len();
        slabs.filter_map(|k| enclosing(&slab(triangles, cuts, k), &cuts.axis)).collect()
    };
    // The cuts were chosen by rough fits; one capsule may do as well.
    let cost = |capsules: &[Capsule]| {
        capsules.iter().map(fit::volume).sum::<f64>() / SMALLER.powi(capsules.len() as i32 - 1)
    };
    let (several, one) = (enclose(&cuts), enclose(&Cuts { heights: Vec::new(), ..cuts }));
    Ok(if cost(&several) < cost(&one) { several } else { one })
}

/// The axes of the file and the principal axes of the corners.
fn axes(triangles: &[Triangle]) -> Vec<Vector3<f64>> {
    let corners = || triangles.iter().flatten();
    let count = corners().count().max(1) as f64;
    let middle = corners().sum::<Vector3<f64>>() / count;
    let spread: Matrix3<f64> =
        corners().map(|p| (p - middle) * (p - middle).transpose()).sum::<Matrix3<f64>>() / count;
    let principal = SymmetricEigen::new(spread).eigenvectors;
    let file = Matrix3::identity();
    file.column_iter()
        .map(|c| c.into_owned())
        .chain(principal.column_iter().map(|c| c.into_owned()))
        .collect()
}

/// The cheapest cuts along one axis, and their cost: volume, with something added for each capsule after the first.
fn best_cuts(triangles: &[Triangle], axis: &Vector3<f64>) -> Option<(f64, Cuts)> {
    let heights = || triangles.iter().flatten().map(|p| p.dot(axis));
    let (low, high) = (heights().fold(f64::INFINITY, f64::min), heights().fold(f64::NEG_INFINITY, f64::max));
    let height = |k: usize| low + (high - low) * k as f64 / LAYERS as f64;
    let all = Cuts { axis: *axis, heights: (1..LAYERS).map(height).collect() };
    let layers: Vec<_> = (0..LAYERS).map(|k| fit::outstanding(&slab(triangles, &all, k))).collect();
    let directions = directions(axis);
    let volume_of = |from: usize, to: usize| {
        let points: Vec<_> = layers[from..to].iter().flatten().copied().collect();
        fit::around(&fit::outstanding(&points), &directions, false)
            .map_or(0.0, |capsule| fit::volume(&capsule))
    };
    let volumes: Vec<Vec<f64>> =
        (0..LAYERS).map(|from| (from + 1..=LAYERS).map(|to| volume_of(from, to)).collect()).collect();
    let volume = |from: usize, to: usize| volumes[from][to - from - 1];
    // least[to]: smallest volume of the layers below `to` in so many capsules, and where its last cut is.
    let mut least: Vec<(f64, Vec<usize>)> = (1..=LAYERS).map(|to| (volume(0, to), Vec::new())).collect();
    let (whole, none) = least[LAYERS - 1].clone();
    let mut best = (whole, none);
    for count in 2..=MOST {
        let further = |to: usize| {
            let of = |at: usize| (least[at - 1].0 + volume(at, to), at);
            let (volume, at) = (count - 1..to).map(of).min_by(|x, y| x.0.total_cmp(&y.0))?;
            Some((volume, [&least[at - 1].1[..], &[at]].concat()))
        };
        let next: Vec<_> =
            (1..=LAYERS).map(|to| further(to).unwrap_or((f64::INFINITY, Vec::new()))).collect();
        least = next;
        let (volume, cuts) = &least[LAYERS - 1];
        let cost = volume / SMALLER.powi(count as i32 - 1);
        if cost < best.0 {
            best = (cost, cuts.clone());
        }
    }
    let heights = best.1.iter().map(|&k| height(k)).collect();
    best.0.is_finite().then_some((best.0, Cuts { axis: *axis, heights }))
}

/// Directions in which a capsule of a slab may lie.
fn directions(axis: &Vector3<f64>) -> Vec<Vector3<f64>> {
    let side = axis.cross(&Vector3::ith(axis.iamin(), 1.0));
    let other = axis.cross(&side);
    vec![*axis, side, other, Vector3::x(), Vector3::y(), Vector3::z()]
}

/// Corners of what the mesh has in slab `k`.
fn slab(triangles: &[Triangle], cuts: &Cuts, k: usize) -> Vec<Vector3<f64>> {
    let below = k.checked_sub(1).map(|k| cuts.heights[k] - OVERLAP);
    let above = cuts.heights.get(k).map(|height| height + OVERLAP);
    let mut kept = Vec::new();
    for triangle in triangles {
        let mut polygon = triangle.to_vec();
        if let Some(height) = below {
            polygon = clip(&polygon, &cuts.axis, height);
        }
        if let Some(height) = above {
            polygon = clip(&polygon, &-cuts.axis, -height);
        }
        kept.extend(polygon);
    }
    kept
}

/// What a convex polygon has at or above `height` along `axis` (module header).
fn clip(polygon: &[Vector3<f64>], axis: &Vector3<f64>, height: f64) -> Vec<Vector3<f64>> {
    let over: Vec<f64> = polygon.iter().map(|p| p.dot(axis) - height).collect();
    if over.iter().all(|x| *x >= 0.0) {
        return polygon.to_vec();
    }
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for i in 0..polygon.len() {
        let j = (i + 1) % polygon.len();
        if over[i] >= 0.0 {
            kept.push(polygon[i]);
        }
        if (over[i] >= 0.0) != (over[j] >= 0.0) {
            let share = (over[i] / (over[i] - over[j])).clamp(0.0, 1.0);
            kept.push(polygon[i] * (1.0 - share) + polygon[j] * share);
        }
    }
    kept
}

/// A small capsule that provably holds the hull of the points; none without points.
fn enclosing(points: &[Vector3<f64>], axis: &Vector3<f64>) -> Option<Capsule> {
    let guess = fit::around(&fit::outstanding(points), &directions(axis), true)?;
    let furthest = points.iter().map(|p| distance_to_segment(&guess, p)).fold(0.0, f64::max);
    Some(Capsule { radius: furthest + 2.0 * SLACK, ..guess })
}

#[cfg(test)]
mod tests;
