//! The world around the robot.

use nalgebra::{Matrix3, Rotation3, Vector3};
use serde::{Deserialize, Serialize};

/// Bound on what turning a shape by three angles gets wrong in each coordinate, as a share of the lengths in play.
///
/// Entries of a rotation computed from roll, pitch and yaw are sums of up to two products of sines and cosines, each off by at most an ulp, so they are off by
/// less than 2^-49; turning a vector and moving it adds less than 2^-49 of the lengths in play. This is 32 times as much.
pub(crate) const TURNED: f64 = 1.0 / (1_u64 << 44) as f64;

/// A zonotope: { center + sum_k x_k generators_k, |x_k| <= 1 }, metres, base frame. It holds an obstacle, which stays there or moves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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

    /// A box that contains the one with these full side lengths turned by exactly the angles that `rotation` was computed from.
    ///
    /// With the computed rotation R' = R + E, a point R x of the exact box is R' y for y = x - R'^-1 E x. As |E| <= 3 * 2^-49 in the
    /// spectral norm and R' is orthogonal but for as much, |y_k - x_k| <= 2^-47 |x| <= 2^-47 sum_i h_i for half side lengths h. The
    /// generators R' diag(h') are themselves rounded by 2^-53 h' in each coordinate: E again. So half sides h' = h + `TURNED` sum_i h_i do.
    pub(crate) fn turned_box(
        name: impl Into<String>,
        center: Vector3<f64>,
        size: Vector3<f64>,
        rotation: &Matrix3<f64>,
    ) -> Self {
        let more = 2.0 * TURNED * size.sum();
        Self::cuboid(name, center, size.add_scalar(more), rotation)
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
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Scene {
    /// The obstacles, in the robot's base frame.
    pub obstacles: Vec<Zonotope3>,
}

impl Scene {
    /// The same with a box that stays where it is: its centre and full side lengths along the base frame's axes, m.
    pub fn with_box(self, name: impl Into<String>, center_m: [f64; 3], size_m: [f64; 3]) -> Self {
        self.with(Zonotope3::cuboid(name, center_m.into(), Vector3::from(size_m).abs(), &Matrix3::identity()))
    }

    /// The same with a box that is turned by roll, pitch and yaw about the fixed axes x, y, z; what these are rounded by makes the box larger.
    pub fn with_turned_box(
        self,
        name: impl Into<String>,
        center_m: [f64; 3],
        size_m: [f64; 3],
        [roll, pitch, yaw]: [f64; 3],
    ) -> Self {
        let rotation = Rotation3::from_euler_angles(roll, pitch, yaw).into_inner();
        self.with(Zonotope3::turned_box(name, center_m.into(), Vector3::from(size_m).abs(), &rotation))
    }

    /// The same with a box that is there now and of which no point moves faster than `speed_m_s`.
    pub fn with_moving_box(
        self,
        name: impl Into<String>,
        center_m: [f64; 3],
        size_m: [f64; 3],
        speed_m_s: f64,
    ) -> Self {
        let there =
            Zonotope3::cuboid(name, center_m.into(), Vector3::from(size_m).abs(), &Matrix3::identity());
        self.with(Zonotope3 { speed_m_s, ..there })
    }

    /// The same with another obstacle.
    pub fn with(mut self, obstacle: Zonotope3) -> Self {
        self.obstacles.push(obstacle);
        self
    }

    /// Whether any obstacle may move.
    pub fn moves(&self) -> bool {
        self.obstacles.iter().any(Zonotope3::moves)
    }

    /// The obstacles that do not move.
    pub fn still_part(&self) -> Scene {
        Scene { obstacles: self.obstacles.iter().filter(|obstacle| !obstacle.moves()).cloned().collect() }
    }
}
