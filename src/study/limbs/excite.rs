//! Motions that tell the most: Fourier series of the motors, limb by limb, that make the condition number of the projected regressor small.
//!
//! No limb's dynamics depend on another's while the base is held, so each has a search of its own (`search`): random motions that keep the limits,
//! the best few of them together, then small changes of one motion at a time that are kept where they help. But all limbs move at the same time, and
//! links must not touch: where the robot has capsules, limbs are searched one after the other, each beside those that were found before (`apart`).
//! Everything is looked at in samples; nothing is proven but where the loops close in one way ([`ClosureDomain`](crate::dynamics::constraint::reduced::ClosureDomain)).
//!
//! A motor with a small range, such as those of ankles, would hardly become fast with the harmonics of the others, and neither its armature nor how its friction depends on
//! speed would show. Such a motor has harmonics of a higher first frequency besides, with which its range allows the speed that the range of the middle motor allows.

mod apart;
mod search;

use rayon::prelude::*;
use serde::Serialize;

use super::{LimbError, LimbUnknown};
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::regression::RegressionError;
use crate::robot::{IgnoredPair, Limb, LinkShape, Model};
pub use crate::study::self_collision::SelfCollisionReport;
use crate::trajectory::{Curve, Fourier, JointState};
use apart::WholeRobot;
use search::{Found, Search};

/// Harmonics of a motion; the first follows from rest at both ends.
const HARMONICS: usize = 5;
/// Samples of a motion at which rows are made, and in between two of these so many at which limits are looked at.
const SAMPLES: usize = 120;
const FINER: usize = 10;
const TICKS: usize = SAMPLES * FINER;
/// Of each limit so much is used: tracking and noise need the rest.
const USED: f64 = 0.9;
/// Where a joint has no limits, it moves this far, rad.
const UNLIMITED: f64 = 1.0;

/// What motions are to be like.
#[derive(Debug, Clone, Copy)]
pub struct ExcitationTask<'a> {
    /// The robot; a floating base is held.
    pub robot: &'a Model,
    /// What is to be told.
    pub unknown: LimbUnknown,
    /// How many motions, each from rest to rest.
    pub motions: usize,
    /// Duration of each, s.
    pub duration_s: f64,
    /// Where the loops are, the smallest singular value of J_u is proven to be at least this, m/rad.
    pub least_singular_value: f64,
    /// Random motions to begin with, and changes that are tried after that; of each limb.
    pub evaluations: (usize, usize),
    /// Of the search.
    pub seed: u64,
    /// Links of the robot that are kept from each other; without any nothing is looked at.
    pub shapes: &'a [LinkShape],
    /// Pairs of them that are not.
    pub ignored: &'a [IgnoredPair],
    /// The distance that they keep, m.
    pub clearance_m: f64,
}

/// Motions of all limbs.
#[derive(Debug, Clone, Serialize)]
pub struct ExcitingMotions {
    /// The robot's name.
    pub robot: String,
    /// What they are for.
    pub unknown: LimbUnknown,
    /// Duration of each, s.
    pub duration_s: f64,
    /// Names of the motors, in the order of a log.
    pub motors: Vec<String>,
    /// Limb by limb.
    pub limbs: Vec<LimbExcitation>,
    /// How near links come to each other in all motions, in samples.
    pub self_collision: SelfCollisionReport,
    /// What is left of each motion: 1, or less where its links came too near between the samples of the search.
    pub shares: Vec<f64>,
    /// The motions, each of all motors.
    #[serde(skip)]
    pub motions: Vec<Vec<Fourier>>,
}

/// What the motions tell of a limb.
#[derive(Debug, Clone, Serialize)]
pub struct LimbExcitation {
    /// Its name: that of its first joint.
    pub name: String,
    /// Its motors.
    pub motors: Vec<String>,
    /// Number of parameters that motion can tell apart.
    pub rank: usize,
    /// Condition number of the projected regressor's base columns, scaled, over all motions together.
    pub condition_number: f64,
    /// The same of as many random motions within the same limits, in the mean (geometric).
    pub random_condition_number: f64,
    /// Largest share of a speed limit, and of a torque limit by the robot's files.
    pub largest_speed_share: f64,
    /// As said.
    pub largest_torque_share: f64,
    /// Smallest proven bound on the singular values of J_u along the motions, m/rad; `None` without loops.
    pub least_singular_value: Option<f64>,
    /// Where each motion begins and ends, rad or m.
    pub start: Vec<f64>,
    /// For each motion and motor (a_k, b_k) of q = q_0 + sum a_k sin(k w t) / (k w) + b_k (1 - cos(k w t)) / (k w), k = 2.., rad/s;
    /// the first follow from rest.
    pub coefficients: Vec<Vec<Vec<[f64; 2]>>>,
}

impl ExcitationTask<'_> {
    /// Finds the motions.
    ///
    /// # Errors
    /// A setting without sense; a limb without reduced coordinates, or whose loops cannot be proven; [`RegressionError::NoEstimate`] if no
    /// motion keeps the limits.
    pub fn run(&self) -> Result<ExcitingMotions, LimbError> {
        let held = self.robot.with_base_held();
        let driven = |limb: &Limb| !motors_and_base(&limb.model).is_empty();
        let limbs: Vec<Limb> = held.limbs().into_iter().filter(driven).collect();
        if limbs.is_empty() {
            return Err(LimbError::NoMotors { robot: held.name.clone() });
        }
        self.check()?;
        let searches: Result<Vec<_>, _> =
            limbs.par_iter().map(|limb| Search::new(self, &held, limb)).collect();
        let mut searches = searches?;
        let mut whole = WholeRobot::new(self, &held, &mut searches)?;
        let mut found: Vec<Found> = if whole.looks() {
            one_after_the_other(&mut searches, &mut whole)?
        } else {
            searches.par_iter_mut().map(|search| search.run(&whole)).collect::<Result<_, _>>()?
        };
        let kept_apart = whole.keep_apart(&mut searches, &mut found)?;
        Ok(self.told(&held, (&searches, &found), kept_apart))
    }

    /// What was found, of each motion such a share.
    fn told(
        &self,
        held: &Model,
        (searches, found): (&[Search<'_>], &[Found]),
        (shares, self_collision): (Vec<f64>, SelfCollisionReport),
    ) -> ExcitingMotions {
        let of_motion = |k: usize| found.iter().map(|found| found.trials[k].curve.clone()).collect();
        ExcitingMotions {
            robot: self.robot.name.clone(),
            unknown: self.unknown,
            duration_s: self.duration_s,
            motors: motors_and_base(held).iter().map(|&j| held.joints[j].name.clone()).collect(),
            motions: (0..self.motions).map(of_motion).collect(),
            limbs: searches.iter().zip(found).map(|(search, found)| search.told(found)).collect(),
            self_collision,
            shares,
        }
    }

    fn check(&self) -> Result<(), LimbError> {
        let bad = |what: &str, value: f64, expected: &'static str| {
            let source = RegressionError::BadValue { what: what.to_owned(), value, expected };
            Err(LimbError::Regression { limb: "all".to_owned(), source })
        };
        if self.motions == 0 || self.evaluations.0 < self.motions {
            let expected = "at least 1, and at most as many as random motions";
            return bad("the number of motions", self.motions as f64, expected);
        }
        if !(self.duration_s > 0.0 && self.duration_s.is_finite()) {
            return bad("the duration", self.duration_s, "a finite number of seconds > 0");
        }
        if !(self.least_singular_value >= 0.0) {
            return bad("the least singular value", self.least_singular_value, "a number >= 0");
        }
        if !(self.shapes.is_empty() || self.clearance_m > 0.0 && self.clearance_m.is_finite()) {
            return bad("the clearance", self.clearance_m, "a finite number of metres > 0");
        }
        Ok(())
    }
}

/// Searches each limb beside those that were found before.
fn one_after_the_other(
    searches: &mut [Search<'_>],
    whole: &mut WholeRobot<'_>,
) -> Result<Vec<Found>, LimbError> {
    let mut all = vec![];
    for search in searches {
        search.look_at(whole);
        let found = search.run(whole)?;
        for (k, trial) in found.trials.iter().enumerate() {
            whole.follow(k, search, &trial.curve)?;
        }
        all.push(found);
    }
    Ok(all)
}

impl ExcitingMotions {
    /// Positions, velocities and accelerations of all motors in motion `k` at time `t`, in the order of [`ExcitingMotions::motors`].
    pub fn at(&self, k: usize, t: f64) -> JointState {
        let mut all = JointState::at_rest(&vec![0.0; self.motors.len()]);
        for (limb, curve) in self.limbs.iter().zip(&self.motions[k]) {
            let mut own = JointState::at_rest(&limb.start);
            curve.evaluate(t, &mut own);
            for (j, name) in limb.motors.iter().enumerate() {
                if let Some(at) = self.motors.iter().position(|motor| motor == name) {
                    (all.q[at], all.dq[at], all.ddq[at]) = (own.q[j], own.dq[j], own.ddq[j]);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests;
