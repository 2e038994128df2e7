//! The world around the robot.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// A zonotope: { center + sum_k x_k generators_k, |x_k| <= 1 }, metres, base frame. It holds an obstacle, which stays there or moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zonotope3 {
    /// Name for messages.
    pub name: String,
    /// Centre.
    pub center: Vector3<f64>,
    /// Half-axes; three orthogonal ones make a box.
    pub generators: Vec<Vector3<f64>>,
    /// No point of the obstacle moves faster, m/s; it stays where it is if left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub speed_m_s: f64,
    /// Of one that moves: how long before the plan starts it was in the zonotope, s; 0 if left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub age_s: f64,
}

/// What is left out of files.
fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl Zonotope3 {
    /// An obstacle that does not move.
    pub fn still(name: impl Into<String>, center: Vector3<f64>, generators: Vec<Vector3<f64>>) -> Self {
        Self { name: name.into(), center, generators, speed_m_s: 0.0, age_s: 0.0 }
    }

    /// Whether the obstacle may move. A speed that is no number counts as one.
    pub fn moves(&self) -> bool {
        self.speed_m_s != 0.0
    }

    /// Why the obstacle cannot be kept clear of: the field whose number is none, or negative.
    pub fn fault(&self) -> Option<String> {
        let bounds = [("speed_m_s", self.speed_m_s), ("age_s", self.age_s)];
        let bad = bounds.into_iter().find(|(_, x)| !(x.is_finite() && *x >= 0.0));
        bad.map(|(field, x)| {
            format!("obstacle '{}': {field} is {x}, expected a finite number not below 0", self.name)
        })
    }

    /// A box with the given full side lengths along the columns of `rotation`.
    pub fn cuboid(
        name: impl Into<String>,
        center: Vector3<f64>,
        size: Vector3<f64>,
        rotation: &Matrix3<f64>,
    ) -> Self {
        let generators = (0..3).map(|k| rotation.column(k) * (0.5 * size[k])).collect();
        Self::still(name, center, generators)
    }

    /// Upper estimate, m, of how far a point of this zonotope can be from the one before: every point centre + sum x_k generators_k has moved by
    /// no more than the centre and the generators have together. Plain floating point, for evidence.
    pub fn moved_from(&self, before: &Self) -> f64 {
        let (now, then) = (&self.generators, &before.generators);
        let at = |all: &[Vector3<f64>], k: usize| all.get(k).copied().unwrap_or_default();
        let turned = (0..now.len().max(then.len())).map(|k| (at(now, k) - at(then, k)).norm());
        (self.center - before.center).norm() + turned.sum::<f64>()
    }

    /// The point of the zonotope that is furthest in `direction`.
    pub fn support(&self, direction: &Vector3<f64>) -> Vector3<f64> {
        self.generators.iter().fold(self.center, |p, g| if g.dot(direction) < 0.0 { p - g } else { p + g })
    }
}

/// Obstacles; they do not move, or no faster than they say (assumption A3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// The obstacles, in the robot's base frame.
    pub obstacles: Vec<Zonotope3>,
}

impl Scene {
    /// Whether any obstacle may move.
    pub fn moves(&self) -> bool {
        self.obstacles.iter().any(Zonotope3::moves)
    }

    /// The obstacles that do not move.
    pub fn still_part(&self) -> Scene {
        Scene { obstacles: self.obstacles.iter().filter(|obstacle| !obstacle.moves()).cloned().collect() }
    }
}
