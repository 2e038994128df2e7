//! What another motion of the same robot on the same feet tells, to compare with: such as the sway of a problem of `surelift estimate`.

use serde::Serialize;

use super::support::{LimitShares, Support};
use super::{FINER, Judge, LinkDeviations, SAMPLES, StandingError, StandingTask};
use crate::robot::configuration::difference;
use crate::simulate::posture::{Foot, Posture, PostureReference};
use crate::simulate::sway::{BASE, SwayState};

/// Half of the interval of the differences that give velocities and accelerations, s: what is cut off is 1e-7 of a motion of 1 Hz, what is rounded 1e-8 m/s^2.
const HALF_S: f64 = 1e-4;

/// What a motion tells that was not searched for, in the same time.
#[derive(Debug, Clone, Serialize)]
pub struct Beside {
    /// Condition number of the base columns, scaled as for the motion that was found.
    pub condition_number: f64,
    /// Deviations of the wanted links.
    pub deviations: Vec<LinkDeviations>,
    /// What it uses of the limits, which may be more than there is; of friction infinitely much where a foot would lift.
    pub used: LimitShares,
}

impl StandingTask<'_> {
    /// What `posture` tells in this task's time: its sway and swing, from this task's start, on this task's feet, which all stand.
    pub(super) fn beside(
        &self,
        posture: &Posture,
        support: &Support<'_>,
        judge: &Judge,
    ) -> Result<Beside, StandingError> {
        let foot =
            |foot: &super::Footprint| Foot { frame: foot.frame, kind: foot.kind, lifted: vec![], step: nalgebra::Vector3::zeros(), height: 0.0 };
        let standing = Posture {
            feet: self.feet.iter().map(foot).collect(),
            jump: None,
            speed: nalgebra::Vector3::zeros(),
            circles: vec![],
            ..posture.clone()
        };
        let bad = |reason| StandingError::Setting(format!("the motion beside: {reason}"));
        let reference = PostureReference::new(self.robot, standing, &self.start).map_err(bad)?;
        let motion = |share: f64| self.sampled(&reference, support, share * self.duration_s);
        let mut support = support.clone();
        let mut look = |samples, tells| {
            support.look(&motion, samples, f64::INFINITY, tells).map_err(|reason| bad(reason.to_owned()))
        };
        let (_, information) = look(SAMPLES, true)?;
        let (used, _) = look(SAMPLES * FINER, false)?;
        Ok(Beside {
            condition_number: judge.condition([&information]),
            deviations: self.told_deviations(&information),
            used,
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
