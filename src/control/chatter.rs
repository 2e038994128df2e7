//! A watchdog for *chatter*: torques or speeds that swing to and fro, as no proven motion does.
//!
//! A *reversal* of a signal is a turn after which it has come back by at least the *swing*: [`TORQUE_SHARE`] of the joint's torque limit for a
//! command, [`SPEED_SHARE`] of its velocity limit for a measured velocity. [`REVERSALS`] of them within [`WINDOW_S`] in one joint are chatter. This
//! covers signs that alternate from tick to tick as well as the ringing of elastic joints from 13 Hz on. Smaller swings, and slower ones, are
//! not chatter.
//!
//! Can the proven law trip it?
//! * *Speeds*: five swings of a quarter of the velocity limit within 0.2 s need an acceleration of at least 6.25 velocity limits a second. A plan
//!   whose proven bound on accelerations ([`crate::reach::Tube::acceleration_bound`]) is below that cannot trip it. On a Gen3 that is 10.9 rad/s^2 (wrist 12.2).
//! * *Torques*: their nominal part is smooth. The robust part v follows r, and |v_j| stays within what the plan's proof has. Where that is below an
//!   eighth of the limit, v cannot make a swing; where it is not, nothing is proven, but r would have to cross its whole layer six times in
//!   0.2 s. Over seeds 0 to 4 of `scenarios/dumbbell_c_8lb.toml` (75 s at 1 kHz) the most reversals within 0.2 s in any joint were one, even with a tenth of
//!   the limit as the swing.
//!
//! Under the momentum law the robust torque may swing between its bounds, so that only swings beyond them count ([`super::SupervisedController`]); speeds are watched
//! as above.

use crate::robot::Arm;

/// Swing of a command that counts, as a share of the torque limit. Below it, chatter wears the gears but moves no arm.
pub const TORQUE_SHARE: f64 = 0.25;
/// Swing of a measured velocity that counts, as a share of the velocity limit.
pub const SPEED_SHARE: f64 = 0.25;
/// Reversals that are chatter. Motions that are meant have one or two in so short a time.
pub const REVERSALS: usize = 6;
/// Time within which they are chatter, s.
pub const WINDOW_S: f64 = 0.2;

/// The turns of one signal.
#[derive(Debug, Clone, Copy)]
struct Turns {
    /// How far it must come back.
    swing: f64,
    /// Lowest and highest value since the last turn.
    range: (f64, f64),
    /// Way of the last swing: up, down, or none yet.
    upward: Option<bool>,
    /// Ticks of the last reversals, the oldest at `next`; none where there were fewer.
    at: [Option<u64>; REVERSALS],
    next: usize,
}

impl Turns {
    fn new(swing: f64) -> Self {
        let range = (f64::INFINITY, f64::NEG_INFINITY);
        Self { swing, range, upward: None, at: [None; REVERSALS], next: 0 }
    }

    /// Takes the value of tick `now`. Whether so many reversals lie within `window` ticks.
    fn take(&mut self, x: f64, now: u64, window: u64) -> bool {
        if !x.is_finite() {
            return false;
        }
        self.range = (self.range.0.min(x), self.range.1.max(x));
        let (fell, rose) = (self.range.1 - x >= self.swing, x - self.range.0 >= self.swing);
        let upward = match self.upward {
            None | Some(true) if fell => false,
            None | Some(false) if rose => true,
            Some(true) if x >= self.range.1 => return self.stretch(x),
            Some(false) if x <= self.range.0 => return self.stretch(x),
            _ => return false,
        };
        let reversed = self.upward.is_some();
        (self.upward, self.range) = (Some(upward), (x, x));
        if !reversed {
            return false;
        }
        self.at[self.next] = Some(now);
        self.next = (self.next + 1) % REVERSALS;
        self.at[self.next].is_some_and(|oldest| now - oldest <= window)
    }

    /// The swing goes on: it is from here that it has to come back.
    fn stretch(&mut self, x: f64) -> bool {
        self.range = (x, x);
        false
    }
}

/// The watchdog of one robot. [`ChatterWatch::tick`] neither allocates nor panics.
#[derive(Debug, Clone)]
pub struct ChatterWatch {
    /// Torque and speed of each joint.
    joints: Vec<[Turns; 2]>,
    ticks: u64,
    window: u64,
}

impl ChatterWatch {
    /// A watchdog that has seen nothing yet.
    pub fn new(robot: &Arm) -> Self {
        let limits = || robot.joints.iter().map(|joint| &joint.limits);
        let torque: Vec<f64> = limits().map(|limits| TORQUE_SHARE * limits.torque).collect();
        let speed: Vec<f64> = limits().map(|limits| SPEED_SHARE * limits.velocity).collect();
        Self::of_swings(&torque, &speed, robot.gains().period_s)
    }

    /// One for which other swings count: one of the first and one of the second signal a joint, in their units; infinite ones never do.
    pub fn of_swings(torque: &[f64], speed: &[f64], period_s: f64) -> Self {
        let turns = |(torque, speed): (&f64, &f64)| [Turns::new(*torque), Turns::new(*speed)];
        let window = (WINDOW_S / period_s).round() as u64;
        Self { joints: torque.iter().zip(speed).map(turns).collect(), ticks: 0, window }
    }

    /// From now on a command of joint `j` has to come back by `swing(j)` (N m) to count.
    pub fn set_torque_swings(&mut self, swing: impl Fn(usize) -> f64) {
        self.joints.iter_mut().enumerate().for_each(|(j, turns)| turns[0].swing = swing(j));
    }

    /// Looks at the command `tau` (N m) and the measured velocities `dq` (rad/s) of a tick. The first joint that chatters, if one does; what is no
    /// number is passed over.
    pub fn tick(&mut self, tau: &[f64], dq: &[f64]) -> Option<usize> {
        self.ticks += 1;
        let mut found = None;
        for (j, (turns, (&tau, &dq))) in self.joints.iter_mut().zip(tau.iter().zip(dq)).enumerate() {
            let torque = turns[0].take(tau, self.ticks, self.window);
            let speed = turns[1].take(dq, self.ticks, self.window);
            if (torque || speed) && found.is_none() {
                found = Some(j);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tick, of 2000, at which a signal of joint 4 in shares of its torque limit is taken for chatter.
    fn caught(signal: impl Fn(f64) -> f64) -> Option<u64> {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let (mut watch, h) = (ChatterWatch::new(&robot), robot.gains().period_s);
        let mut tau = vec![30.0; robot.dof()];
        let still = vec![0.0; robot.dof()];
        (0..2000).find(|&k| {
            tau[3] = robot.joints[3].limits.torque * signal(k as f64 * h);
            watch.tick(&tau, &still).map(|joint| assert_eq!(joint, 3)).is_some()
        })
    }

    #[test]
    fn signs_that_alternate_and_ringing_are_chatter_and_motions_are_not() {
        let sign = |t: f64| if ((t / 1e-3).round() as u64).is_multiple_of(2) { 1.0 } else { -1.0 };
        assert!(caught(|t| 0.9 * sign(t)).is_some_and(|tick| tick < 10));
        // It need not be about zero.
        assert!(caught(|t| 0.6 + 0.2 * sign(t)).is_some());
        for (hertz, is) in
            [(200.0, true), (50.0, true), (20.0, true), (14.0, true), (11.0, false), (2.0, false)]
        {
            let found = caught(|t| 0.3 * (std::f64::consts::TAU * hertz * t).sin());
            assert_eq!(found.is_some(), is, "{hertz} Hz");
            assert!(found.is_none_or(|tick| tick < 300), "{hertz} Hz: {found:?}");
        }
        // Noise below the swing, however fast, and a motion that goes on and on.
        assert_eq!(caught(|t| 0.12 * sign(t)), None);
        assert_eq!(caught(|t| 0.5 * t + 0.1 * sign(t)), None);
    }

    #[test]
    fn other_swings_count_where_they_are_asked_for() {
        let reversals = |swing: f64| {
            let mut watch = ChatterWatch::of_swings(&[swing, 1.0], &[f64::INFINITY; 2], 1e-3);
            (0..100).find_map(|k| watch.tick(&[if k % 2 == 0 { 0.3 } else { -0.2 }, 0.0], &[1e3, -1e3]))
        };
        assert_eq!((reversals(0.5), reversals(0.51), reversals(f64::INFINITY)), (Some(0), None, None));
    }

    #[test]
    fn speeds_count_as_torques_do_and_what_is_no_number_does_not() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let mut watch = ChatterWatch::new(&robot);
        let (still, mut dq) = (vec![0.0; robot.dof()], vec![0.0; robot.dof()]);
        let found = (0..20).find_map(|k| {
            dq[2] = [0.5, f64::NAN, -0.5, f64::INFINITY][k % 4];
            watch.tick(&still, &dq)
        });
        assert_eq!(found, Some(2));
    }
}
