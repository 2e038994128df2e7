//! Sensors beside encoders: what a frame of the robot tells.

use nalgebra::{Rotation3, UnitQuaternion, Vector3};

use crate::dynamics::{Axes, Workspace};
use crate::robot::Model;

/// What a sensor tells of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Orientation in the base frame, a unit quaternion (x, y, z, w).
    Orientation,
    /// Angular velocity in the frame's axes, rad/s.
    Rate,
    /// Specific force (classical acceleration of the origin less gravity) in the frame's axes, m/s^2, in the middle of the
    /// sampling interval.
    Acceleration,
    /// Place of the origin in the base frame, m; with [`Quantity::Orientation`], a pose.
    Position,
    /// Velocity of the origin in the frame's axes, m/s: an IMU's accelerations integrated beforehand.
    Velocity,
}

impl Quantity {
    /// Numbers of one reading.
    pub fn count(self) -> usize {
        if self == Quantity::Orientation { 4 } else { 3 }
    }
}

/// A sensor on a named frame of the robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensor {
    /// Index of the frame among the robot's named ones.
    pub frame: usize,
    /// What it tells.
    pub quantity: Quantity,
}

impl Sensor {
    /// The reading without noise (a rotation vector's place is taken by the quaternion), after
    /// [`Workspace::place_moving`]; three numbers, or four of a quaternion.
    pub fn read(&self, robot: &Model, workspace: &Workspace) -> Vec<f64> {
        let frame = &robot.named_frames[self.frame];
        let place = workspace.frame_placement(frame);
        match self.quantity {
            Quantity::Orientation => {
                let rotation = Rotation3::from_matrix_unchecked(place.rotation);
                UnitQuaternion::from_rotation_matrix(&rotation).coords.as_slice().to_vec()
            }
            Quantity::Velocity => workspace.frame_velocity(frame, Axes::Local)[..3].to_vec(),
            Quantity::Rate => workspace.frame_velocity(frame, Axes::Local)[3..].to_vec(),
            Quantity::Acceleration => {
                let a = workspace.frame_acceleration(frame, Axes::WorldAligned);
                let force = Vector3::new(a[0], a[1], a[2]) - robot.gravity;
                place.rotation.tr_mul(&force).as_slice().to_vec()
            }
            Quantity::Position => place.translation.as_slice().to_vec(),
        }
    }

    /// Disturbs a reading by three numbers: a turn in the frame's own axes, or an addition.
    pub fn disturb(&self, reading: &mut [f64], by: &[f64; 3]) {
        if self.quantity == Quantity::Orientation {
            let q = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(
                reading[3], reading[0], reading[1], reading[2],
            ));
            let turned = q * UnitQuaternion::from_scaled_axis(Vector3::from(*by));
            reading.copy_from_slice(turned.coords.as_slice());
        } else {
            reading.iter_mut().zip(by).for_each(|(r, d)| *r += d);
        }
    }
}
