//! Things that a simulated hand takes one after the other, and what it holds in between.

use std::collections::VecDeque;
use std::fmt;

use nalgebra::{Matrix3, Vector3};

use crate::inertia::INERTIAL;
use crate::inertia::pseudo::from_center_of_mass;
use crate::robot::{Arm, Capsule, Placement};

/// A thing of even density in the shape of a box, in the tool frame of the arm ([`Arm::tool_frames`]). What it weighs is the simulator's secret.
pub struct SimulatedObject {
    mass_kg: f64,
    center_m: [f64; 3],
    size_m: [f64; 3],
}

impl fmt::Debug for SimulatedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedObject")
    }
}

impl SimulatedObject {
    /// A box of so many kg with this centre and these full side lengths, m, once it is held.
    ///
    /// # Errors
    /// What is wrong with the numbers: the mass and the sides have to be above 0, all of them finite.
    pub fn cuboid(mass_kg: f64, center_m: [f64; 3], size_m: [f64; 3]) -> Result<Self, String> {
        let fine = |x: f64| x.is_finite() && x > 0.0;
        if !(fine(mass_kg) && size_m.iter().all(|x| fine(*x)) && center_m.iter().all(|x| x.is_finite())) {
            return Err(format!(
                "{mass_kg} kg, centre {center_m:?} m, sides {size_m:?} m, expected finite numbers, mass and sides above 0"
            ));
        }
        Ok(Self { mass_kg, center_m, size_m })
    }

    /// What the hand with the thing is, if it is `empty` without, about and in the frame of the hand's joint, with the tool frame there.
    pub(super) fn in_hand(&self, empty: &[f64], tool: &Placement) -> [f64; INERTIAL] {
        let square = self.size_m.map(|side| side * side / 12.0);
        let [x, y, z] = square;
        let about = tool.rotation
            * Matrix3::from_diagonal(&Vector3::new(y + z, x + z, x + y))
            * tool.rotation.transpose();
        let own =
            from_center_of_mass(self.mass_kg, &tool.point(&self.center_m.into()), &(about * self.mass_kg));
        std::array::from_fn(|k| empty[k] + own[k])
    }

    /// A capsule around it, in the tool frame, to look at what it touches.
    pub(super) fn capsule(&self) -> Capsule {
        let longest = (0..3).fold(0, |most, k| if self.size_m[k] > self.size_m[most] { k } else { most });
        let along = Vector3::ith(longest, 0.5 * self.size_m[longest]);
        let across: f64 = (0..3).filter(|&k| k != longest).map(|k| (0.5 * self.size_m[k]).powi(2)).sum();
        let center = Vector3::from(self.center_m);
        Capsule { a: center - along, b: center + along, radius: across.sqrt() }
    }
}

/// What is to be taken, and what is held.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) waiting: VecDeque<SimulatedObject>,
    pub(super) held: Option<SimulatedObject>,
    /// The hand without anything in it.
    pub(super) empty: Vec<f64>,
}

/// The arm that holds this, for whoever looks at contacts; without a shape where its own capsule cannot be attached.
pub(super) fn holding(robot: &Arm, object: &SimulatedObject) -> Option<Arm> {
    robot.with_payload_shape(&[object.capsule().placed(&tool_of(robot))], &[]).ok()
}

/// The tool frame in that of the hand's joint.
pub(super) fn tool_of(robot: &Arm) -> Placement {
    robot.tool_frames().get(None).map_or(Placement::identity(), |frame| frame.placement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cuboid_is_what_its_corners_and_formulas_say() {
        let thing = SimulatedObject::cuboid(2.0, [0.1, 0.0, -0.2], [0.1, 0.2, 0.3]).unwrap();
        let own = thing.in_hand(&[0.0; INERTIAL], &Placement::identity());
        let expected = [
            2.0,
            0.2,
            0.0,
            -0.4,
            2.0 * ((0.04 + 0.09) / 12.0 + 0.04),
            0.0,
            2.0 * ((0.01 + 0.09) / 12.0 + 0.05),
            0.04,
            0.0,
            2.0 * ((0.01 + 0.04) / 12.0 + 0.01),
        ];
        for k in 0..INERTIAL {
            assert!((own[k] - expected[k]).abs() < 1e-12, "{k}: {own:?}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(SimulatedObject::cuboid(bad, [0.0; 3], [0.1; 3]).is_err());
            assert!(SimulatedObject::cuboid(1.0, [0.0; 3], [0.1, bad, 0.1]).is_err());
        }
        assert!(SimulatedObject::cuboid(1.0, [f64::NAN, 0.0, 0.0], [0.1; 3]).is_err());
    }
}
