//! The drives of a simulated arm: torques that differ from the commands, and torques that no model accounts for, within the robot's bounds.
//!
//! The seed decides for each joint what kind of error it has, so that runs meet the ends of the bounds as well as their inside: one that stays,
//! often at an end; one that is another at every tick; and, for what is unmodelled, one that goes with the position as cogging does.

use std::f64::consts::TAU;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::robot::{Arm, DriveBounds};

/// Share of a bound that the world draws at most: the rest is for rounding.
pub(super) const WITHIN: f64 = 1.0 - 1e-9;
/// Periods of cogging in a turn of the joint: from a few pole pairs without a gear to many behind one.
const PERIODS_A_TURN: std::ops::Range<f64> = 4.0..400.0;

/// How a torque wanders within its bound.
#[derive(Debug, Clone, Copy)]
enum Course {
    /// This share of the bound at all times.
    Constant(f64),
    /// Any share, another at each tick.
    Restless,
    /// sin(wave q + phase).
    Cogging { wave: f64, phase: f64 },
}

impl Course {
    fn draw(cogging: bool, rng: &mut ChaCha8Rng) -> Self {
        match rng.random_range(0..if cogging { 4 } else { 3 }) {
            0 => Self::Constant(if rng.random() { WITHIN } else { -WITHIN }),
            1 => Self::Constant(WITHIN * rng.random_range(-1.0..=1.0)),
            2 => Self::Restless,
            _ => Self::Cogging { wave: rng.random_range(PERIODS_A_TURN), phase: rng.random_range(0.0..TAU) },
        }
    }

    /// Share of the bound at position `q`.
    fn share(self, q: f64, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Constant(share) => share,
            Self::Restless => WITHIN * rng.random_range(-1.0..=1.0),
            Self::Cogging { wave, phase } => WITHIN * (wave * q + phase).sin(),
        }
    }
}

/// One joint's drive.
#[derive(Debug, Clone, Copy)]
struct DriveErrors {
    bounds: DriveBounds,
    absolute: Course,
    ratio: Course,
    unmodelled: Course,
}

/// The drives of an arm.
#[derive(Debug)]
pub(super) struct Drives {
    joints: Vec<DriveErrors>,
    rng: ChaCha8Rng,
}

impl Drives {
    /// The drives of `robot` as `seed` makes them.
    pub fn new(robot: &Arm, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(5);
        let joint = |j| DriveErrors {
            bounds: robot.drive(j),
            absolute: Course::draw(false, &mut rng),
            ratio: Course::draw(false, &mut rng),
            unmodelled: Course::draw(true, &mut rng),
        };
        let joints = (0..robot.dof()).map(joint).collect();
        Self { joints, rng }
    }

    /// Torque that drive `j` applies when asked for `command`, N m.
    pub fn applied(&mut self, j: usize, q: f64, command: f64) -> f64 {
        let DriveErrors { bounds, absolute, ratio, .. } = self.joints[j];
        let absolute = bounds.error_nm * absolute.share(q, &mut self.rng);
        command + absolute + bounds.error_ratio * command.abs() * ratio.share(q, &mut self.rng)
    }

    /// Torque on joint `j` that nobody accounts for, N m, but for what springs do: that the plant sees to.
    pub fn unmodelled(&mut self, j: usize, q: f64) -> f64 {
        let DriveErrors { bounds, unmodelled, .. } = self.joints[j];
        bounds.unmodelled_besides_springs_nm() * unmodelled.share(q, &mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_reach_their_bounds_and_stay_within() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let bounds =
            DriveBounds { error_nm: 0.5, error_ratio: 0.02, unmodelled_nm: 0.7, ..DriveBounds::IDEAL };
        let robot = robot.with_drives(vec![bounds; robot.dof()]).unwrap();
        let (mut most, mut moved) = ([0.0f64; 2], 0);
        for seed in 0..40 {
            let mut drives = Drives::new(&robot, seed);
            for j in 0..robot.dof() {
                let at = |q: f64, drives: &mut Drives| {
                    (drives.applied(j, q, -20.0) + 20.0, drives.unmodelled(j, q))
                };
                let (first, second) = (at(0.1, &mut drives), at(0.13, &mut drives));
                for (error, unmodelled) in [first, second] {
                    assert!(error.abs() < 0.9 && unmodelled.abs() < 0.7);
                    most = [most[0].max(error.abs()), most[1].max(unmodelled.abs())];
                }
                moved += usize::from(first.1 != second.1);
            }
        }
        assert!(most[0] > 0.88 && most[1] > 0.699, "{most:?}");
        assert!((50..250).contains(&moved), "{moved} of 280 change with time or position");
        // An ideal drive does as it is told, to the last bit.
        let ideal = robot.with_drives(vec![]).unwrap();
        let mut drives = Drives::new(&ideal, 3);
        assert!(
            (0..robot.dof())
                .all(|j| drives.applied(j, 0.1, 1.25) == 1.25 && drives.unmodelled(j, 0.1) == 0.0)
        );
    }
}
