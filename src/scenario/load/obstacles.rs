//! Obstacles of a scenario: boxes, zonotopes, and boxes around vertices or meshes.

use std::collections::HashSet;
use std::path::Path;

use nalgebra::{Matrix3, Rotation3, Vector3};

use super::Check;
use super::mesh;
use super::schema::Obstacle;
use crate::robot::{Scene, Zonotope3};
use crate::scenario::error::ScenarioError;

/// Most generators of a zonotope: distances to it take time that grows with their number.
const MOST_GENERATORS: usize = 64;

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
            scene.obstacles.push(self.obstacle(obstacle, &field)?);
        }
        Ok(scene)
    }

    fn obstacle(
        &self,
        obstacle: &Obstacle,
        field: &dyn Fn(&str) -> String,
    ) -> Result<Zonotope3, ScenarioError> {
        let [roll, pitch, yaw] = obstacle.rpy_rad.unwrap_or_default();
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
                Ok(Zonotope3::cuboid(name, needs_center()?, (*size).into(), &rotation))
            }
            (None, Some(generators), None, None) => {
                let count = generators.len();
                if count == 0 || count > MOST_GENERATORS {
                    let reason = format!("{count} vectors, expected 1 to {MOST_GENERATORS}");
                    return Err(self.error(field("generators_m"), reason));
                }
                for (k, generator) in generators.iter().enumerate() {
                    self.places(&field(&format!("generators_m[{k}]")), generator)?;
                }
                let generators = generators.iter().map(|g| rotation * Vector3::from(*g)).collect();
                Ok(Zonotope3 { name, center: needs_center()?, generators })
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
            // Scaling, turning and moving round: some dozen operations on numbers of this size, each off by 2^-53 of it, and
            // the rotation's own entries by as much. 2^-44 in each coordinate covers them.
            let reach = found.generators.iter().fold(found.center.abs(), |sum, g| sum + g.abs());
            let off = (center.amax() + reach.sum()) * (1.0 / (1_u64 << 44) as f64);
            found.center = center + rotation * found.center;
            found.generators.iter_mut().for_each(|g| *g = rotation * *g);
            found.generators.extend(Matrix3::from_diagonal_element(off).column_iter().map(Vector3::from));
        }
        Ok(found)
    }
}
