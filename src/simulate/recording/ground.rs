//! Ground that is not where a walking robot believes it.
//!
//! The law plans each step on a floor that is flat. A foot stands as soon as it is on the true ground, which is higher or lower there: it comes down early, with the
//! speed that it has then, or goes on down behind the planned end until it meets the ground. A sensor tells when a foot left the ground
//! and when it came down again, early or late by some milliseconds.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::body::Body;
use super::law::Law;
use crate::robot::Placement;
use crate::simulate::posture::Posture;

/// Streams of random numbers beside that of the noise, which stays as it is without a ground.
const HEIGHTS: u64 = 1;
const TIMES: u64 = 2;
/// Times of one sample differ by rounding.
const SAME: f64 = 1e-9;

/// Ground that is not where the law believes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ground {
    /// Every place where a foot comes down is higher or lower by up to this, m.
    pub height_error_m: f64,
    /// Every time that is told of a contact is early or late by up to this, s.
    pub told_time_error_s: f64,
}

/// One foot over true ground.
#[derive(Debug)]
struct FootOnGround {
    frame: usize,
    planned: Vec<[f64; 2]>,
    /// Height of the ground where each step ends, m.
    heights: Vec<f64>,
    /// From when to when it was in the air, s; while it is, there is no end.
    lifted: Vec<[f64; 2]>,
}

/// The ground under all feet while a recording is made.
#[derive(Debug)]
pub(super) struct FeltGround {
    ground: Ground,
    feet: Vec<FootOnGround>,
}

impl FeltGround {
    /// Under feet that stand at `places` (m) at first; `seed` draws the heights.
    pub fn new(ground: Ground, posture: &Posture, places: Vec<Placement>, seed: u64) -> Self {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        draw.set_stream(HEIGHTS);
        let foot = |(foot, place): (&crate::simulate::posture::Foot, Placement)| FootOnGround {
            frame: foot.frame,
            planned: foot.lifted.clone(),
            heights: (1..=foot.lifted.len())
                .map(|i| {
                    place.translation.z
                        + i as f64 * foot.step.z
                        + ground.height_error_m * draw.random_range(-1.0..=1.0)
                })
                .collect(),
            lifted: vec![],
        };
        Self { ground, feet: posture.feet.iter().zip(places).map(foot).collect() }
    }

    /// Which feet stand from sample `k` at `t` s on, if that is new; the law is told of those that come down. In words, the foot that is still in the air when its
    /// next step begins.
    pub fn feel(
        &mut self,
        k: usize,
        t: f64,
        body: &mut Body,
        law: &mut Law<'_>,
    ) -> Result<Option<Vec<bool>>, String> {
        let mut news = k == 0;
        for (f, foot) in self.feet.iter_mut().enumerate() {
            let steps = foot.lifted.len();
            match foot.lifted.last_mut().filter(|last| last[1].is_infinite()) {
                None => {
                    if foot.planned.get(steps).is_some_and(|next| t >= next[0] - SAME) {
                        foot.lifted.push([t, f64::INFINITY]);
                        news = true;
                    }
                }
                Some(_) if foot.planned.get(steps).is_some_and(|next| t >= next[0] - SAME) => {
                    return Err(format!(
                        "foot {f} has not found the ground at {t:.3} s, when its next step begins"
                    ));
                }
                Some(last) => {
                    let [from, to] = foot.planned[steps - 1];
                    let place = body.place_of(foot.frame);
                    // On its way down.
                    if t > 0.5 * (from + to) && place.translation.z <= foot.heights[steps - 1] {
                        last[1] = t;
                        law.touch(f, place);
                        news = true;
                    }
                }
            }
        }
        let stands = |foot: &FootOnGround| foot.lifted.last().is_none_or(|last| last[1].is_finite());
        Ok(news.then(|| self.feet.iter().map(stands).collect()))
    }

    /// From when to when each foot was in the air, s, as a sensor tells it.
    pub fn told(&self, seed: u64) -> Vec<Vec<[f64; 2]>> {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        draw.set_stream(TIMES);
        let late = self.ground.told_time_error_s;
        let mut tell = |t: &f64| t + late * draw.random_range(-1.0..=1.0);
        let all = self.feet.iter();
        all.map(|foot| foot.lifted.iter().map(|[from, to]| [tell(from), tell(to)]).collect()).collect()
    }
}
