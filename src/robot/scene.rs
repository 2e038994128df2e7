//! The world around the robot.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// A zonotope: { center + sum_k x_k generators_k, |x_k| <= 1 }, metres, base frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Zonotope3 {
    /// Name for messages.
    pub name: String,
    /// Centre.
    pub center: Vector3<f64>,
    /// Half-axes; three orthogonal ones make a box.
    pub generators: Vec<Vector3<f64>>,
}

impl Zonotope3 {
    /// A box with the given full side lengths along the columns of `rotation`.
    pub fn cuboid(
        name: impl Into<String>,
        center: Vector3<f64>,
        size: Vector3<f64>,
        rotation: &Matrix3<f64>,
    ) -> Self {
        let generators = (0..3).map(|k| rotation.column(k) * (0.5 * size[k])).collect();
        Self { name: name.into(), center, generators }
    }

    /// The point of the zonotope that is furthest in `direction`.
    pub fn support(&self, direction: &Vector3<f64>) -> Vector3<f64> {
        self.generators.iter().fold(self.center, |p, g| if g.dot(direction) < 0.0 { p - g } else { p + g })
    }
}

/// Obstacles; they do not move (assumption A3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// The obstacles, in the robot's base frame.
    pub obstacles: Vec<Zonotope3>,
}
