//! Obstacles of a scenario: boxes, zonotopes, and boxes around vertices or meshes.
//!
//! # Rounding
//! Numbers of the file are exact; what an obstacle's `rpy_rad` turns is not, and is rounded outward by [`TURNED`].

use std::collections::HashSet;
use std::path::Path;

use nalgebra::{Matrix3, Rotation3, Vector3};

use super::Check;
use super::schema::Obstacle;
use crate::robot::mesh;
use crate::robot::scene::TURNED;
use crate::robot::{Scene, Zonotope3};
use crate::scenario::error::ScenarioError;
use crate::simulate::ObstaclePath;

/// No obstacle is faster, m/s: a hundred times as fast as anybody runs.
const FASTEST_M_S: f64 = 1e3;
/// What rounding makes of a path's speed, relatively.
const ROUNDED: f64 = 1e-9;
/// Most generators of a zonotope: distances to it take time that grows with their number.
const MOST_GENERATORS: usize = 64;

/// Generators along the axes that make up for `off` in each coordinate, m.
fn allowance(off: f64) -> impl Iterator<Item = Vector3<f64>> {
    (0..3).map(move |k| Vector3::ith(k, off))
}

impl Check<'_> {
    /// The scene of a scenario file.
    pub(super) fn scene(&self, obstacles: &[Obstacle]) -> Result<Scene, ScenarioError> {
        let mut names = HashSet::new();
        let mut scene = Scene::default();
        for obstacle in obstacles {
            let field = |what: &str| format!("obstacles.{}.{what}", obstacle.name);
            if !names.insert(&obstacle.name) {
                return Err(self.error(field("name"), "the name is used by two obstacles"));
            }
            for (key, values) in [("center_m", &obstacle.center_m), ("rpy_rad", &obstacle.rpy_rad)] {
                self.places(&field(key), values.as_ref().map_or(&[][..], |x| &x[..]))?;
            }
            let speed_m_s = obstacle.speed_m_s.unwrap_or_default();
            if !(0.0..=FASTEST_M_S).contains(&speed_m_s) {
                let reason = format!("{speed_m_s} m/s, expected a number from 0 to {FASTEST_M_S}");
                return Err(self.error(field("speed_m_s"), reason));
            }
            scene.obstacles.push(Zonotope3 { speed_m_s, ..self.obstacle(obstacle, &field)? });
        }
        Ok(scene)
    }

    /// Where the obstacles go, none faster than it is said to.
    pub(super) fn paths(&self, obstacles: &[Obstacle]) -> Result<Vec<ObstaclePath>, ScenarioError> {
        let given = obstacles.iter().enumerate().filter(|(_, obstacle)| !obstacle.path.is_empty());
        given.map(|(k, obstacle)| self.path(k, obstacle)).collect()
    }

    fn path(&self, k: usize, obstacle: &Obstacle) -> Result<ObstaclePath, ScenarioError> {
        let field = |point: usize, what: &str| format!("obstacles.{}.path[{point}].{what}", obstacle.name);
        for (i, point) in obstacle.path.iter().enumerate() {
            self.places(&field(i, "offset_m"), &point.offset_m)?;
        }
        let points = obstacle.path.iter().map(|point| (point.at_s, Vector3::from(point.offset_m))).collect();
        let path = ObstaclePath::new(k, points).map_err(|late| {
            let at = obstacle.path[late].at_s;
            self.error(field(late, "at_s"), format!("{at} s, expected a time after 0 and the point before"))
        })?;
        let ((speed, point), most) = (path.fastest(), obstacle.speed_m_s.unwrap_or_default());
        if !(speed <= most * (1.0 + ROUNDED)) {
            let reason = format!("reached at {speed:.4} m/s, expected at most its speed_m_s of {most} m/s");
            return Err(self.error(field(point, "offset_m"), reason));
        }
        Ok(path)
    }

    fn obstacle(
        &self,
        obstacle: &Obstacle,
        field: &dyn Fn(&str) -> String,
    ) -> Result<Zonotope3, ScenarioError> {
        let [roll, pitch, yaw] = obstacle.rpy_rad.unwrap_or_default();
        let turned = obstacle.rpy_rad.is_some_and(|rpy| rpy != [0.0; 3]);
        let rotation = Rotation3::from_euler_angles(roll, pitch, yaw).into_inner();
        let name = obstacle.name.clone();
        let needs_center = || {
            let missing = || self.error(field("center_m"), "missing; expected the place of the obstacle");
            obstacle.center_m.map(Vector3::from).ok_or_else(missing)
        };
        match (&obstacle.size_m, &obstacle.generators_m, &obstacle.vertices_m, &obstacle.mesh) {
            (Some(size), None, None, None) => {
                size.iter().try_for_each(|&x| self.positive(&field("size_m"), x))?;
                self.places(&field("size_m"), size)?;
                let (center, size) = (needs_center()?, (*size).into());
                Ok(match turned {
                    true => Zonotope3::turned_box(name, center, size, &rotation),
                    false => Zonotope3::cuboid(name, center, size, &Matrix3::identity()),
                })
            }
            (None, Some(generators), None, None) => {
                let generators = self.generators(generators, turned.then_some(&rotation), field)?;
                Ok(Zonotope3::still(name, needs_center()?, generators))
            }
            (None, None, Some(vertices), None) => {
                for (k, vertex) in vertices.iter().enumerate() {
                    self.places(&field(&format!("vertices_m[{k}]")), vertex)?;
                }
                let vertices: Vec<Vector3<f64>> = vertices.iter().map(|v| (*v).into()).collect();
                self.around(obstacle, &vertices, &rotation, &field("vertices_m"))
            }
            (None, None, None, Some(file)) => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let scale = obstacle.mesh_scale.unwrap_or(1.0);
                self.positive(&field("mesh_scale"), scale)?;
                let vertices = mesh::vertices(&folder.join(file));
                let vertices = vertices.map_err(|reason| self.error(field("mesh"), reason))?;
                let scaled: Vec<_> = vertices.iter().map(|v| v * scale).collect();
                self.around(obstacle, &scaled, &rotation, &field("mesh"))
            }
            _ => {
                let reason = "expected one of `size_m`, `generators_m`, `vertices_m` and `mesh`";
                Err(self.error(field("shape"), reason))
            }
        }
    }

    /// Checked generators, turned where the obstacle is, with what that may err by.
    fn generators(
        &self,
        given: &[[f64; 3]],
        turned: Option<&Matrix3<f64>>,
        field: &dyn Fn(&str) -> String,
    ) -> Result<Vec<Vector3<f64>>, ScenarioError> {
        let count = given.len();
        if count == 0 || count > MOST_GENERATORS {
            let reason = format!("{count} vectors, expected 1 to {MOST_GENERATORS}");
            return Err(self.error(field("generators_m"), reason));
        }
        for (k, generator) in given.iter().enumerate() {
            self.places(&field(&format!("generators_m[{k}]")), generator)?;
        }
        let mut own: Vec<Vector3<f64>> = given.iter().map(|g| (*g).into()).collect();
        if let Some(rotation) = turned {
            let reach: f64 = own.iter().map(|g| g.abs().sum()).sum();
            own.iter_mut().for_each(|g| *g = rotation * *g);
            own.extend(allowance(TURNED * reach));
        }
        Ok(own)
    }

    /// A box around the hull of `vertices`, turned and moved to where the obstacle is.
    fn around(
        &self,
        obstacle: &Obstacle,
        vertices: &[Vector3<f64>],
        rotation: &Matrix3<f64>,
        field: &str,
    ) -> Result<Zonotope3, ScenarioError> {
        // In the shape's own frame, along whose axes boxes are usually tight.
        let Some(mut found) = Zonotope3::around(obstacle.name.clone(), vertices) else {
            let reason = format!("no box could be put around {} vertices", vertices.len());
            return Err(self.error(field, format!("{reason}, expected at least one, all of them finite")));
        };
        if obstacle.center_m.is_some() || obstacle.rpy_rad.is_some() || obstacle.mesh_scale.is_some() {
            let center = Vector3::from(obstacle.center_m.unwrap_or_default());
            // Scaling, turning and moving round numbers of this size.
            let reach = found.generators.iter().fold(found.center.abs(), |sum, g| sum + g.abs());
            let off = (center.amax() + reach.sum()) * TURNED;
            found.center = center + rotation * found.center;
            found.generators.iter_mut().for_each(|g| *g = rotation * *g);
            found.generators.extend(allowance(off));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
