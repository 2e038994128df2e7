//! The loops inside the motors of a simulated arm, within the robot's bounds.
//!
//! They run by a clock of their own, so that a command comes between two of their readings. The seed decides whether a reading is used for as long as it may be, or for
//! less; and how it errs: by the same amount all the time, at an end, or at random.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::control::MotorCommand;
use crate::robot::Arm;

use super::drives::WITHIN;

/// Least share of its age that a reading is used for.
const LEAST_SHARE: f64 = 0.3;

/// The loops of an arm.
#[derive(Debug)]
pub(crate) struct Motors {
    age_s: f64,
    position_rad: f64,
    velocity_rad_s: f64,
    /// Whether readings are used for as long as they may be.
    lazy: bool,
    /// Shares of the bounds that readings of joints are off by; none: another one each time.
    off: Option<Vec<(f64, f64)>>,
    rng: ChaCha8Rng,
    /// Until when the reading is used, s.
    until_s: f64,
    /// The reading; empty before the first.
    reading: Vec<(f64, f64)>,
}

impl Motors {
    /// Of `robot` as `seed` makes them; none if it has no such loops.
    pub fn new(robot: &Arm, seed: u64) -> Option<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(8);
        let (age_s, sensors) = (robot.timing().motor_loop_age_max_s, robot.encoders());
        let lazy = rng.random();
        let end = |rng: &mut ChaCha8Rng| if rng.random() { 1.0 } else { -1.0 };
        let ends = (0..robot.dof()).map(|_| (end(&mut rng), end(&mut rng))).collect();
        let off = rng.random::<bool>().then_some(ends);
        let (position_rad, velocity_rad_s) = (sensors.position_rad, sensors.velocity_rad_s);
        let reading = Vec::with_capacity(robot.dof());
        (age_s > 0.0).then_some(Self {
            age_s,
            position_rad,
            velocity_rad_s,
            lazy,
            off,
            rng,
            until_s: 0.0,
            reading,
        })
    }

    /// The arm is held in another way: what was read is of no use any more.
    pub fn let_go(&mut self) {
        self.reading.clear();
    }

    /// Takes a reading if none is in use at `now_s` (s) any more, of an arm at these positions and velocities (rad, rad/s). Until when it is used, s.
    pub fn read(&mut self, now_s: f64, (q, dq): (&[f64], &[f64])) -> f64 {
        if self.reading.is_empty() || now_s >= self.until_s {
            self.reading.clear();
            for (j, (q, dq)) in q.iter().zip(dq).enumerate() {
                let mut share = || self.rng.random_range(-1.0..=1.0);
                let (of_q, of_dq) = self.off.as_ref().map_or_else(|| (share(), share()), |off| off[j]);
                self.reading
                    .push((q + WITHIN * self.position_rad * of_q, dq + WITHIN * self.velocity_rad_s * of_dq));
            }
            let share = if self.lazy { WITHIN } else { self.rng.random_range(LEAST_SHARE..WITHIN) };
            self.until_s = now_s + share * self.age_s;
        }
        self.until_s
    }

    /// Writes to `total` what the drives are to apply, N m: `tau` and what their loops add.
    pub fn add(&self, command: &MotorCommand<'_>, tau: &[f64], total: &mut [f64]) {
        for (j, (total, tau)) in total.iter_mut().zip(tau).enumerate() {
            let (q, dq) = self.reading[j];
            *total = tau + command.torque_nm(j, q, dq);
        }
    }
}
