//! What another motion of the same robot on the same feet tells, to compare with: such as the sway of a problem of `surelift estimate`.

use nalgebra::Vector3;
use serde::Serialize;

use super::search::Search;
use super::shares::LimitShares;
use super::support::{Support, even};
use super::{FINER, LinkDeviations, SAMPLES, StandingError, StandingTask};
use crate::robot::configuration::difference;
use crate::simulate::posture::{Foot, Posture, PostureReference};
use crate::simulate::sway::{BASE, SwayState};
use crate::study::excitation::Judge;

/// Half of the interval of the differences that give velocities and accelerations, s: what is cut off is 1e-7 of a motion of 1 Hz, what is rounded 1e-8 m/s^2.
const HALF_S: f64 = 1e-4;

/// Samples of it in a second: sways are of some Hz, and products of its rows of four times as many.
const SAMPLED_HZ: f64 = 32.0;

/// Halvings by which the share of a motion that keeps the limits is found: to half a percent.
const HALVINGS: usize = 8;

/// What a motion tells that was not searched for, in the same time.
#[derive(Debug, Clone, Serialize)]
pub struct Beside {
    /// The motion as it is.
    pub whole: Compared,
    /// Where it uses more of a limit than there is: the share of its amplitudes that keeps all limits, and what it tells then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_limits: Option<(f64, Compared)>,
}

/// What a motion tells, to compare with.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Condition number of the base columns, scaled as for the motion that was found.
    pub condition_number: f64,
    /// Deviations of the wanted links.
    pub deviations: Vec<LinkDeviations>,
    /// As [`super::StandingMotion::log_determinant`].
    pub log_determinant: f64,
    /// What it uses of the limits, which may be more than there is; of friction infinitely much where a foot would lift.
    pub used: LimitShares,
}

impl StandingTask<'_> {
    /// What `posture` tells in this task's time: its sway and swing, from this task's start, on this task's feet, which all stand.
    pub(super) fn beside(
        &self,
        posture: &Posture,
        search: &Search<'_>,
        judge: &Judge,
    ) -> Result<Beside, StandingError> {
        let whole = self.compared(posture, search, judge)?;
        // A series is told as it is: it was found within limits of its own.
        if whole.used.most() <= 1.0 || posture.series.is_some() {
            return Ok(Beside { whole, within_limits: None });
        }
        let (mut kept, mut refused) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let share = 0.5 * (kept + refused);
            let keeps = self.uses(&scaled(posture, share), &search.exact)?.most() <= 1.0;
            *if keeps { &mut kept } else { &mut refused } = share;
        }
        let within =
            (kept > 0.0).then(|| self.compared(&scaled(posture, kept), search, judge)).transpose()?;
        Ok(Beside { whole, within_limits: within.map(|within| (kept, within)) })
    }

    /// What a posture uses of the limits.
    ///
    /// # Errors
    /// [`StandingError::Setting`] where legs do not reach.
    pub(super) fn uses(
        &self,
        posture: &Posture,
        support: &Support<'_>,
    ) -> Result<LimitShares, StandingError> {
        let reference = self.reference(posture)?;
        let motion = |share: f64| self.sampled(&reference, support, share * self.duration_s);
        let times = even(self.samples_beside() * FINER);
        let looked = support.clone().look(&motion, &times, f64::INFINITY, None);
        looked.map(|(used, _)| used).map_err(bad)
    }

    /// Samples of a motion that need not repeat anything.
    fn samples_beside(&self) -> usize {
        SAMPLES.max((self.duration_s * SAMPLED_HZ).ceil() as usize)
    }

    /// Sway and swing of a posture, from this task's start, on this task's feet.
    fn reference(&self, posture: &Posture) -> Result<PostureReference, StandingError> {
        let foot = |foot: &super::Footprint| Foot {
            frame: foot.frame,
            kind: foot.kind,
            lifted: vec![],
            step: Vector3::zeros(),
            height: 0.0,
        };
        let standing = Posture {
            feet: self.feet.iter().map(foot).collect(),
            jump: None,
            speed: Vector3::zeros(),
            circles: vec![],
            ..posture.clone()
        };
        PostureReference::new(self.robot, standing, &self.start).map_err(bad)
    }

    fn compared(
        &self,
        posture: &Posture,
        search: &Search<'_>,
        judge: &Judge,
    ) -> Result<Compared, StandingError> {
        let reference = self.reference(posture)?;
        let motion = |share: f64| self.sampled(&reference, &search.exact, share * self.duration_s);
        let told = search.told(&motion, (self.samples_beside(), f64::INFINITY), judge).map_err(bad)?;
        Ok(Compared {
            condition_number: told.condition_number,
            deviations: self.of_links(&search.wanted.before, &told.deviations),
            log_determinant: told.log_determinant,
            used: told.shares,
        })
    }

    /// The reference's base and swinging joints at `t` s, with their rates by differences.
    fn sampled(&self, reference: &PostureReference, support: &Support<'_>, t: f64) -> SwayState {
        let robot = self.robot;
        let at = |t: f64| {
            let mut q = self.start.clone();
            reference.upper(robot, t, &mut q);
            q
        };
        let [before, now, after] = [t - 2.0 * HALF_S, t, t + 2.0 * HALF_S].map(at);
        let rate = |from: &[f64], to: &[f64]| -> Vec<f64> {
            let mut moved = vec![0.0; robot.nv()];
            difference(robot, from, to, &mut moved);
            let independent = (0..BASE).chain(support.swinging().iter().copied());
            independent.map(|k| moved[k] / (2.0 * HALF_S)).collect()
        };
        let (earlier, later) = (rate(&before, &now), rate(&now, &after));
        let both = || earlier.iter().zip(&later);
        SwayState {
            v: both().map(|(a, b)| 0.5 * (a + b)).collect(),
            a: both().map(|(a, b)| (b - a) / (2.0 * HALF_S)).collect(),
            q: now,
        }
    }
}

/// A posture whose sway and swing are `share` times as large.
fn scaled(posture: &Posture, share: f64) -> Posture {
    let mut posture = posture.clone();
    posture.sway.iter_mut().for_each(|[amplitude, ..]| *amplitude *= share);
    posture.joints.iter_mut().for_each(|[amplitude, _]| *amplitude *= share);
    posture
}

fn bad(reason: impl std::fmt::Display) -> StandingError {
    StandingError::Setting(format!("the motion beside: {reason}"))
}
