//! Links that limbs keep from each other: all limbs move at the same time, so a limb is looked at beside where the others are then.

use rayon::prelude::*;

use super::search::{Found, Search, Trial};
use super::{ExcitationTask, SelfCollisionReport, TICKS, USED};
use crate::regression::RegressionError;
use crate::robot::{Limb, LinkShape, Model};
use crate::study::excitation::SHARES;
use crate::study::limbs::LimbError;
use crate::study::self_collision::{Nearest, SelfCollision};
use crate::trajectory::Fourier;

/// Ticks that one thread looks at.
const TOGETHER: usize = 256;

/// The whole robot in each motion: limbs whose motions are found follow these, others rest where they begin.
pub(super) struct WholeRobot<'a> {
    pub held: &'a Model,
    pub links: SelfCollision,
    /// Where motions begin (length nq); empty where nothing is looked at.
    pub start: Vec<f64>,
    /// Its configurations in each motion, at each tick.
    postures: Vec<Vec<Vec<f64>>>,
}

impl<'a> WholeRobot<'a> {
    /// At rest in all motions.
    pub fn new(
        task: &ExcitationTask<'_>,
        held: &'a Model,
        searches: &mut [Search<'_>],
    ) -> Result<Self, LimbError> {
        // As of every limit a share is used.
        let least_m = task.clearance_m / USED;
        let (mut start, mut postures) = (vec![], vec![]);
        let mut links = SelfCollision::none();
        if !task.shapes.is_empty() {
            start = crate::robot::configuration::neutral(held);
            for search in searches {
                let name = search.name().to_owned();
                let (limb, q) =
                    search.start().ok_or_else(|| nothing(&name, "loops do not close at its start".into()))?;
                scatter(held, (limb, &q), &mut start);
            }
            let shapes = held_shapes(task);
            links = SelfCollision::new(held, (&shapes, task.ignored), &start, least_m);
            postures = vec![vec![start.clone(); TICKS + 1]; task.motions];
        }
        let mut whole = Self { held, links, start, postures };
        let first = whole.links.nearest(held, &whole.start);
        if let Some((distance, [a, b])) = whole.links.told(first).nearest.filter(|_| !(first.room >= 1.0)) {
            let reason = format!(
                "`{a}` and `{b}` are {distance:.4} m apart where motions begin, expected {least_m:.4} m; a clearance below {:.4} m is needed",
                (1e4 * USED * distance).floor() / 1e4
            );
            return Err(nothing("all", reason));
        }
        Ok(whole)
    }

    /// Whether there is anything to look at.
    pub fn looks(&self) -> bool {
        self.links.looks()
    }

    /// The whole robot in motion `k` at a tick, with this limb elsewhere, into `all`.
    pub fn place(&self, k: usize, tick: usize, limb: (&Limb, &[f64]), all: &mut [f64]) {
        all.copy_from_slice(&self.postures[k][tick]);
        scatter(self.held, limb, all);
    }

    /// Lets a limb follow a curve in motion `k`.
    pub fn follow(&mut self, k: usize, search: &mut Search<'_>, curve: &Fourier) -> Result<(), LimbError> {
        let found = search.postures(curve).ok_or_else(|| {
            nothing(search.name(), format!("loops do not close between samples of motion {}", k + 1))
        })?;
        for (all, q) in self.postures[k].iter_mut().zip(&found) {
            scatter(self.held, (search.limb(), q), all);
        }
        Ok(())
    }

    /// Looks at all pairs in all motions, at all ticks. A motion whose links come too near is made smaller. Gives what is left of each, and how near links come.
    pub fn keep_apart(
        &mut self,
        searches: &mut [Search<'_>],
        found: &mut [Found],
    ) -> Result<(Vec<f64>, SelfCollisionReport), LimbError> {
        let motions = found.first().map_or(0, |found| found.trials.len());
        let (mut shares, mut nearest) = (vec![1.0; motions], Nearest::NONE);
        if !self.looks() {
            return Ok((shares, self.links.told(nearest)));
        }
        for (k, share) in shares.iter_mut().enumerate() {
            let mut own = self.nearest(k);
            if !(own.room >= 1.0) {
                (*share, own) = self.made_smaller((k, own), searches, found)?;
            }
            nearest = nearest.or(own);
        }
        Ok((shares, self.links.told(nearest)))
    }

    /// Makes motion `k`, whose nearest pair is too near, as much smaller as it has to be.
    fn made_smaller(
        &mut self,
        (k, mut nearest): (usize, Nearest),
        searches: &mut [Search<'_>],
        found: &mut [Found],
    ) -> Result<(f64, Nearest), LimbError> {
        for &share in &SHARES[1..] {
            let pairs = searches.iter_mut().zip(&*found);
            let smaller: Option<Vec<Trial>> =
                pairs.map(|(search, found)| search.smaller(&found.trials[k], share)).collect();
            let Some(smaller) = smaller else { continue };
            for (search, trial) in searches.iter_mut().zip(&smaller) {
                self.follow(k, search, &trial.curve)?;
            }
            nearest = self.nearest(k);
            if nearest.room >= 1.0 {
                found.iter_mut().zip(smaller).for_each(|(found, trial)| found.replace(k, trial));
                return Ok((share, nearest));
            }
        }
        let pair = self.links.told(nearest).nearest;
        let words = pair.map_or_else(String::new, |(distance, [a, b])| {
            format!("; `{a}` and `{b}` come as near as {distance:.4} m")
        });
        Err(nothing(
            "all",
            format!("links are too near in motion {}, however small it is made{words}", k + 1),
        ))
    }

    /// The nearest pair of motion `k`.
    fn nearest(&self, k: usize) -> Nearest {
        let part = |ticks: &[Vec<f64>]| {
            let mut links = self.links.clone();
            ticks.iter().fold(Nearest::NONE, |best, q| best.or(links.nearest(self.held, q)))
        };
        let parts: Vec<Nearest> = self.postures[k].par_chunks(TOGETHER).map(part).collect();
        parts.into_iter().fold(Nearest::NONE, Nearest::or)
    }
}

fn nothing(limb: &str, reason: String) -> LimbError {
    LimbError::Regression { limb: limb.to_owned(), source: RegressionError::NoEstimate(reason) }
}

/// Puts a limb's configuration in its place in the whole robot's.
fn scatter(held: &Model, (limb, q): (&Limb, &[f64]), all: &mut [f64]) {
    for (own, &joint) in limb.joints.iter().enumerate() {
        all[held.q_index(joint)] = q[limb.model.q_index(own)];
    }
}

/// The shapes on the joints of the robot whose base is held.
fn held_shapes(task: &ExcitationTask<'_>) -> Vec<LinkShape> {
    let mut shapes = task.shapes.to_vec();
    if task.robot.has_free_flyer() {
        shapes.iter_mut().for_each(|shape| shape.joint = shape.joint.and_then(|j| j.checked_sub(1)));
    }
    shapes
}
