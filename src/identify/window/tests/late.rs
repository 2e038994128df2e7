//! Readings that are late, by nobody knows how much.

use std::f64::consts::FRAC_PI_2;

use super::*;
use crate::robot::TimingBounds;

impl Experiment {
    /// Readings up to `age_s` old: all of them are.
    fn late(&mut self, age_s: f64) {
        let timing = TimingBounds { reading_age_max_s: age_s, ..TimingBounds::EXACT };
        self.robot.stated().timing = timing;
        self.age = |_| 1.0;
    }
}

/// Braking before the window and speeding up at its end, both are read as they were before.
#[test]
fn late_velocities_at_the_ends_move_the_momentum() {
    let armature = small_robot().friction_index(1) + ARMATURE;
    for (column, joints) in [(MOMENT_ZZ, 0..2), (armature, 1..2)] {
        let mut it = Experiment::new(&[(column, 0.2)]);
        it.panels(1, 1e-3);
        it.acceleration[1] = (10.0, [1.0; 4]);
        it.before = -1.0;
        it.late(0.25e-3);
        joints.for_each(|i| it.reaches(i, 0.98));
        // What the encoders err by comes on top.
        it.robot.stated().sensors.velocity_rad_s = 1e-3;
        it.errors[1] = |last, _| if last { -1.0 } else { 1.0 };
        it.reaches(1, 0.98);
    }
}

#[test]
fn late_positions_at_the_ends_move_what_viscous_friction_took() {
    let joint = small_robot().friction_index(0);
    let mut it = Experiment::new(&[(joint + VISCOUS, 8.0)]);
    it.dq = vec![1.0; 3];
    it.late(0.25e-3);
    for age in [|last: bool| f64::from(u8::from(last)), |last: bool| f64::from(u8::from(!last))] {
        it.age = age;
        it.reaches(0, 0.98);
    }
    it.robot.stated().sensors.velocity_rad_s = 0.5;
    it.errors[1] = |_, _| -1.0;
    it.age = |last| f64::from(u8::from(last));
    it.reaches(0, 0.98);
}

#[test]
fn late_positions_at_the_ends_move_the_momentum_of_the_links() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
    it.panels(1, 1e-6);
    (it.q, it.dq) = (vec![0.0, 1.2, 0.0], vec![1.0, 0.5, 0.0]);
    it.late(5e-5);
    for age in [|last: bool| f64::from(u8::from(last)), |last: bool| f64::from(u8::from(!last))] {
        it.age = age;
        (0..2).for_each(|i| it.reaches(i, 0.98));
    }
}

/// Read as standing still, both ends are on the move: away from each other.
#[test]
fn late_positions_are_off_by_what_accelerations_did() {
    let joint = small_robot().friction_index(0);
    let mut it = Experiment::new(&[(joint + VISCOUS, 8.0)]);
    let (age, bound) = (0.25e-3, 10.0);
    it.panels(1, 4.0 * age);
    it.dq[0] = -age * bound;
    it.acceleration[0] = (bound, [0.0, 0.0, 1.0, 1.0]);
    it.before = -1.0;
    it.late(age);
    it.reaches(0, 0.98);
}

/// A weight that turns evenly, read as where it was, or read in time: nobody knows which.
#[test]
fn late_positions_move_the_weight_throughout() {
    for clock in [Clock::Control, Clock::Stamped, Clock::Recorded] {
        let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
        it.clock = clock;
        it.robot.gravity.y = -9.81;
        (it.q, it.dq) = (vec![0.0, FRAC_PI_2 - 0.03, 0.0], vec![0.0, 1.0, 0.0]);
        it.panels(60, 1e-3);
        it.late(2e-3);
        it.reaches(1, 0.98);
        it.age = |_| 0.0;
        it.reaches(1, 0.98);
    }
}

/// The first joint speeds up all the time, and is read as slower than it is.
#[test]
fn late_velocities_move_the_rate_of_the_momentum_throughout() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
    (it.q, it.dq) = (vec![0.0, FRAC_PI_2, 0.0], vec![1.0, 0.0, 0.0]);
    it.acceleration[0] = (3.0, [1.0; 4]);
    it.before = 1.0;
    it.panels(60, 1e-3);
    it.late(0.06);
    it.reaches(1, 0.98);
}

/// It brakes below the stiction speed all the time, and is read as it was above.
#[test]
fn a_late_reading_above_the_stiction_speed_need_not_be_above_it() {
    let mut it = sticking(0.0);
    let (age, bound, period) = (40e-3, 0.1, 1e-3);
    it.panels(20, period);
    it.dq[0] = it.robot.gains().stiction_speed_rad_s - 0.01 * age * bound;
    it.acceleration[0] = (bound, [-1.0; 4]);
    it.before = -1.0;
    it.late(age);
    it.reaches(0, 0.98);
}
