//! Drives of a simulated arm whose torques follow their commands with a first-order lag, within the robot's bound.
//!
//! The seed decides for each joint what habit its lag has, as it does for readings that are late: always the same, often at the bound; at each command none or all
//! of it; or anywhere between.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::robot::Arm;

use super::drives::WITHIN;
use super::lateness::Habit;

/// One joint's drive.
#[derive(Debug, Clone, Copy)]
struct Lagging {
    habit: Habit,
    /// T, s.
    lag_s: f64,
    /// Its torque, N m.
    torque_nm: f64,
}

/// The torque of a drive while one command is in effect: `command` and `behind` e^(-t / T) from its beginning on, N m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FollowedCommand {
    /// What it comes to.
    pub command: f64,
    /// What it is off by at first.
    pub behind: f64,
    /// 1 / T, 1/s; infinite where it follows at once.
    pub rate_1_s: f64,
    /// Its mean.
    pub mean: f64,
    /// At its end.
    pub end: f64,
}

impl FollowedCommand {
    /// What it is off by after so long (s), N m.
    pub fn behind_after(behind: f64, rate_1_s: f64, t: f64) -> f64 {
        if behind == 0.0 { 0.0 } else { behind * (-rate_1_s * t).exp() }
    }

    /// The value nearest to zero that it has, N m.
    pub fn least(&self) -> f64 {
        let (a, b) = (self.command + self.behind, self.end);
        if a * b <= 0.0 {
            0.0
        } else if a.abs() < b.abs() {
            a
        } else {
            b
        }
    }

    /// The largest size that it has, N m.
    pub fn most(&self) -> f64 {
        (self.command + self.behind).abs().max(self.end.abs())
    }
}

/// The drives of an arm.
#[derive(Debug)]
pub(crate) struct DriveLag {
    bound_s: f64,
    joints: Vec<Lagging>,
    rng: ChaCha8Rng,
}

impl DriveLag {
    /// Of `robot` as `seed` makes it; none if drives do not lag.
    pub fn new(robot: &Arm, seed: u64) -> Option<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(7);
        Self::within(robot.timing().drive_lag_max_s, robot.dof(), rng)
    }

    /// Of so many `joints` whose drives lag by at most `bound_s` (s); none if they do not.
    pub fn within(bound_s: f64, joints: usize, mut rng: ChaCha8Rng) -> Option<Self> {
        let joint = |_| Lagging { habit: Habit::draw(&mut rng), lag_s: 0.0, torque_nm: 0.0 };
        let joints = (0..joints).map(joint).collect();
        (bound_s > 0.0).then_some(Self { bound_s, joints, rng })
    }

    /// The largest time constant, s.
    pub fn bound_s(&self) -> f64 {
        self.bound_s
    }

    /// The arm stands by these torques, N m.
    pub fn hold(&mut self, torque: &[f64]) {
        self.joints.iter_mut().zip(torque).for_each(|(joint, x)| joint.torque_nm = *x);
    }

    /// Another time constant for each joint that changes its own.
    pub fn redraw(&mut self) {
        for joint in &mut self.joints {
            joint.lag_s = WITHIN * self.bound_s * joint.habit.share(&mut self.rng);
        }
    }

    /// For so long (s) joint `j` is asked for `command`, N m.
    pub fn follow(&mut self, j: usize, command: f64, length_s: f64) -> FollowedCommand {
        let joint = &mut self.joints[j];
        let rate_1_s = 1.0 / joint.lag_s;
        let behind = if joint.lag_s > 0.0 { joint.torque_nm - command } else { 0.0 };
        let left = FollowedCommand::behind_after(behind, rate_1_s, length_s);
        joint.torque_nm = command + left;
        let share = if length_s > 0.0 { joint.lag_s / length_s } else { 0.0 };
        let mean = command + share * (behind - left);
        FollowedCommand { command, behind, rate_1_s, mean, end: joint.torque_nm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::{self, TimingBounds};

    #[test]
    fn torques_follow_commands_with_lags_that_reach_their_bounds() {
        const BOUND_S: f64 = 2e-3;
        let arm = robot::load("kinova_gen3_2f85").unwrap();
        assert!(DriveLag::new(&arm, 1).is_none());
        let arm = arm.with_timing(TimingBounds { drive_lag_max_s: BOUND_S, ..TimingBounds::EXACT }).unwrap();
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for seed in 0..20 {
            let mut drives = DriveLag::new(&arm, seed).unwrap();
            drives.hold(&vec![3.0; arm.dof()]);
            for k in 0..30 {
                drives.redraw();
                for j in 0..arm.dof() {
                    let before = drives.joints[j].torque_nm;
                    let (command, length) = (f64::from(k % 3) - 2.0, 7e-4);
                    let found = drives.follow(j, command, length);
                    // T dl/dt = command - l by many small steps.
                    let lag = drives.joints[j].lag_s;
                    (least, most) = (least.min(lag), most.max(lag));
                    let (mut l, mut sum, steps) = (before, 0.0, 4000);
                    for _ in 0..steps {
                        let h = length / f64::from(steps);
                        let next =
                            if lag > 0.0 { command + (l - command) * (-h / lag).exp() } else { command };
                        sum += 0.5 * (if lag > 0.0 { l } else { command } + next) / f64::from(steps);
                        l = next;
                    }
                    assert!((found.end - l).abs() < 1e-9 && (drives.joints[j].torque_nm - l).abs() < 1e-9);
                    // The trapezoids of a lag of some steps are off.
                    assert!(lag < 1e-5 || (found.mean - sum).abs() < 1e-3, "{lag}: {} {sum}", found.mean);
                    let begins = if lag > 0.0 { before } else { command };
                    assert!((found.command + found.behind - begins).abs() < 1e-12);
                    assert!((found.most() - begins.abs().max(l.abs())).abs() < 1e-9);
                    let crossed = begins * l <= 0.0;
                    assert!(if crossed { found.least() == 0.0 } else { found.least().abs() <= found.most() });
                }
            }
        }
        assert!(least == 0.0 && most > 0.999_999 * BOUND_S && most <= BOUND_S, "{least} to {most}");
    }
}
