//! The shape that words give a payload: a box, an upright cylinder, or a mesh; where it is, how large it is, and how its points lie about its centre.
//!
//! # Meshes
//! Whatever is in the hull of the vertices is in the box along the axes around them, since a box is convex. Volume, centre and mean squares are
//! asked for where a density is stated. They are sums over the tetrahedra between one vertex and each triangle, with the sign of their orientation (Gauss's theorem).
//! That takes a mesh that is closed: each edge of a triangle is that of exactly one other one, the other way round. That its surface does not pass
//! through itself is trusted. Each sum of N terms of size s rounds by less than N s 1e-15; they are widened by 1e-9 of the sum of sizes, as few
//! meshes have a million triangles.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::path::Path;

use nalgebra::Vector3;

use super::{LARGEST, PayloadWords, PriorFault, Region, fault};
use crate::enclose::Interval;
use crate::robot::mesh::{self, Triangle};
use crate::scalar::Scalar;

/// Relative to the sum of the sizes of what is added up: what rounding makes of it, with much to spare.
const ROUNDED: f64 = 1e-9;

/// A shape that a payload lies in, and may fill.
pub(super) struct Solid {
    /// A box that holds it.
    pub region: Region,
    /// What filling it with matter makes of it.
    pub filled: Option<Filled>,
}

/// A shape as a volume.
pub(super) struct Filled {
    /// Its volume, m^3.
    pub volume: Interval,
    /// The centre of the volume, m.
    pub center: Region,
    /// The root of the mean square of the distance from the centre along each axis, at most, m.
    pub deviation: [f64; 3],
}

impl Solid {
    /// The one shape that the words state.
    pub fn of(words: &PayloadWords) -> Result<Self, PriorFault> {
        let center = words.center_m.unwrap_or_default();
        match (words.size_m, words.cylinder_m, &words.mesh) {
            (Some(size), None, None) => Ok(Self::cuboid(center, size)),
            (None, Some(of), None) => Ok(Self::cylinder(center, of)),
            (None, None, Some(path)) => {
                let scale = words.mesh_scale.unwrap_or(1.0);
                Self::mesh(path, scale, center, words.density_kg_m3.is_some())
            }
            (None, None, None) => Err(fault(
                "size_m",
                "missing, expected the side lengths of a box that holds all of the payload, or `cylinder_m`, or `mesh`",
            )),
            (size, cylinder, _) => {
                let second = if size.is_some() && cylinder.is_some() { "cylinder_m" } else { "mesh" };
                let reason = "given beside another shape, expected one of `size_m`, `cylinder_m` and `mesh`";
                Err(fault(second, reason))
            }
        }
    }

    fn cuboid(center: [f64; 3], size: [f64; 3]) -> Self {
        let volume = size.iter().fold(Interval::constant(1.0), |v, s| v * Interval::constant(*s));
        let deviation = size.map(|s| s / 12f64.sqrt());
        Self::symmetric(center, size.map(|s| 0.5 * s), volume, deviation)
    }

    fn cylinder(center: [f64; 3], [radius, length]: [f64; 2]) -> Self {
        let pi = Interval::new(PI.next_down(), PI.next_up());
        let volume = pi * Interval::constant(radius).sqr() * Interval::constant(length);
        let (across, along) = (0.5 * radius, length / 12f64.sqrt());
        Self::symmetric(center, [radius, radius, 0.5 * length], volume, [across, across, along])
    }

    fn symmetric(center: [f64; 3], half: [f64; 3], volume: Interval, deviation: [f64; 3]) -> Self {
        let region = std::array::from_fn(|k| Interval::around(center[k], half[k].next_up()));
        let deviation = deviation.map(|s| s * (1.0 + 1e-12));
        Self { region, filled: Some(Filled { volume, center: center.map(Interval::constant), deviation }) }
    }

    fn mesh(path: &Path, scale: f64, at: [f64; 3], filled: bool) -> Result<Self, PriorFault> {
        let refuse = |reason: String| fault("mesh", reason);
        let place = |v: &Vector3<f64>| scale * v + Vector3::from(at);
        let vertices: Vec<Vector3<f64>> = mesh::vertices(path).map_err(refuse)?.iter().map(place).collect();
        if let Some(far) = vertices.iter().find(|v| !(v.amax() <= LARGEST)) {
            let (x, shown) = (far.amax(), path.display());
            return Err(refuse(format!("{shown}: a vertex is {x} m off, expected at most {LARGEST} m")));
        }
        let region = std::array::from_fn(|k| {
            let all = vertices.iter().map(|v| v[k]);
            let (low, high) =
                all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            // Scaling and shifting have rounded.
            let slack = 1e-12 * (low.abs() + high.abs() + at[k].abs());
            Interval::new(low - slack, high + slack)
        });
        if !filled {
            return Ok(Self { region, filled: None });
        }
        let triangles = mesh::triangles(path).map_err(refuse)?;
        if !closed(&triangles) {
            let shown = path.display();
            return Err(refuse(format!(
                "{shown}: it is not closed, so it has no volume for a density; expected a closed mesh, or `max_mass_kg` in place of `density_kg_m3`"
            )));
        }
        let triangles: Vec<Triangle> = triangles.iter().map(|t| t.each_ref().map(place)).collect();
        let filled = volume_of(&triangles)
            .ok_or_else(|| refuse(format!("{}: it holds no volume that rounding leaves", path.display())))?;
        Ok(Self { region, filled: Some(filled) })
    }
}

/// Whether each edge occurs once in each direction. Corners of a file are the same where their numbers are.
fn closed(triangles: &[Triangle]) -> bool {
    let key = |v: &Vector3<f64>| [v.x, v.y, v.z].map(|x| (x + 0.0).to_bits());
    let mut edges: HashMap<_, i64> = HashMap::new();
    for t in triangles {
        for k in 0..3 {
            let (a, b) = (key(&t[k]), key(&t[(k + 1) % 3]));
            if a == b {
                // A triangle without area closes nothing and opens nothing.
                continue;
            }
            *edges.entry((a, b)).or_default() += 1;
            *edges.entry((b, a)).or_default() -= 1;
        }
    }
    !edges.is_empty() && edges.values().all(|count| *count == 0)
}

/// Volume, centre and deviations; `None` where rounding leaves no volume above 0.
fn volume_of(triangles: &[Triangle]) -> Option<Filled> {
    let origin = triangles.first()?[0];
    // Sums of 1, x and x^2 over the volume, and of the sizes of what is added.
    let (mut sum, mut size) = ([0.0; 7], [0.0; 7]);
    for t in triangles {
        let [a, b, c] = t.each_ref().map(|v| v - origin);
        let (signed, most) = (a.dot(&b.cross(&c)) / 6.0, a.norm() * b.norm() * c.norm() / 6.0);
        let mut add = |k: usize, term: f64, large: f64| {
            sum[k] += signed * term;
            size[k] += most * large;
        };
        add(0, 1.0, 1.0);
        for k in 0..3 {
            let (x, y, z) = (a[k], b[k], c[k]);
            let large = x.abs().max(y.abs()).max(z.abs());
            // Means over a tetrahedron with one corner in the origin.
            add(1 + k, 0.25 * (x + y + z), large);
            add(4 + k, 0.1 * (x * x + y * y + z * z + x * y + y * z + z * x), large * large);
        }
    }
    let sign = sum[0].signum();
    let total: [Interval; 7] = std::array::from_fn(|k| Interval::around(sign * sum[k], ROUNDED * size[k]));
    if total[0].lower() <= 0.0 {
        return None;
    }
    let from: [Interval; 3] = std::array::from_fn(|k| total[1 + k] / total[0]);
    Some(Filled {
        volume: total[0],
        center: std::array::from_fn(|k| from[k] + Interval::constant(origin[k])),
        deviation: std::array::from_fn(|k| {
            (total[4 + k] / total[0] - from[k].sqr()).upper().max(0.0).sqrt().next_up()
        }),
    })
}
