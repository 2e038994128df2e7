//! The search: random motions to begin with, and the best of them made better.

use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::shares::LimitShares;
use super::support::{Support, Time, even};
use super::wanted::Wanted;
use super::{FINER, Goal, HARMONICS, SAMPLED_S, SAMPLES, StandingError, StandingTask, USED};
use crate::inertia::INERTIAL;
use crate::simulate::SwayState;
use crate::study::excitation::{Judge, SHARES};
use crate::study::self_collision::SelfCollisionReport;

/// Shares of a random motion's amplitude that are tried besides [`SHARES`]: of short series all are too fast for feet at a twentieth.
const SMALLER_SHARES: [f64; 3] = [0.025, 0.0125, 0.006];

/// A motion and what it tells, its coefficients in [-1, 1] after scaling.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub x: Vec<f64>,
    /// Products of the rows at the columns that were asked for.
    pub information: DMatrix<f64>,
    /// Largest share of a limit.
    pub most: f64,
}

/// What a search has found.
pub(super) struct Found {
    pub best: Trial,
    pub judge: Judge,
    /// Condition number of random motions, in the mean (geometric).
    pub random: f64,
}

/// A search of one task.
pub(super) struct Search<'a> {
    /// The task, with a robot whose dry friction is smooth.
    pub task: &'a StandingTask<'a>,
    pub support: Support<'a>,
    /// Of the robot itself.
    pub exact: Support<'a>,
    pub ranges: Vec<f64>,
    /// When motions are looked at.
    pub times: Vec<Time>,
    pub wanted: Wanted,
}

impl Search<'_> {
    /// The best of random motions, made better.
    ///
    /// # Errors
    /// [`StandingError::Nothing`] if no random motion keeps the limits.
    pub fn run(&mut self) -> Result<Found, StandingError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.task.seed);
        let all: Vec<usize> = (0..INERTIAL * self.task.robot.bodies()).collect();
        let trials = self.random(&all, &mut rng)?;
        let judge = Judge::new(trials.iter().map(|trial| &trial.information));
        let conditions: Vec<f64> =
            trials.par_iter().map(|trial| judge.condition([&trial.information]).ln()).collect();
        let random = (conditions.iter().sum::<f64>() / trials.len() as f64).exp();
        let columns = self.columns(&judge);
        let valued = |trial: &Trial| {
            let information = trial.information.select_rows(columns).select_columns(columns);
            self.value(&judge, &information)
        };
        let values: Vec<f64> = trials.par_iter().map(valued).collect();
        let least = (0..trials.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0);
        let best = self.descended(trials[least].clone(), &judge);
        Ok(Found { best, judge, random })
    }

    /// Random motions, each as large as the limits allow.
    fn random(&self, columns: &[usize], rng: &mut ChaCha8Rng) -> Result<Vec<Trial>, StandingError> {
        let (first, _) = self.task.evaluations;
        let numbers = self.ranges.len() * 2 * (HARMONICS - 1);
        let draws: Vec<Vec<f64>> =
            (0..first).map(|_| (0..numbers).map(|_| rng.random_range(-1.0..=1.0)).collect()).collect();
        let within = |x: &Vec<f64>| {
            let mut tried = Err("");
            for share in SHARES.into_iter().chain(SMALLER_SHARES) {
                tried = self.trial(x.iter().map(|x| share * x).collect(), USED, columns);
                if tried.is_ok() {
                    break;
                }
            }
            tried
        };
        let (trials, refused): (Vec<_>, Vec<_>) = draws.par_iter().map(within).partition(Result::is_ok);
        if trials.is_empty() {
            let reason = refused.into_iter().find_map(Result::err).unwrap_or("nothing");
            return Err(StandingError::Nothing(format!(
                "of {first} random motions none keeps the limits, however small; the first one met {reason}"
            )));
        }
        Ok(trials.into_iter().flatten().collect())
    }

    /// Columns that the goal depends on.
    pub fn columns<'j>(&'j self, judge: &'j Judge) -> &'j [usize] {
        match self.task.goal {
            Goal::Condition => &judge.columns,
            Goal::Deviations | Goal::Posterior => &self.wanted.columns,
        }
    }

    /// What is made small, by the products of rows at [`Search::columns`].
    pub fn value(&self, judge: &Judge, information: &DMatrix<f64>) -> f64 {
        match self.task.goal {
            Goal::Condition => judge.smooth_condition(information),
            Goal::Deviations => self.wanted.log_deviations(&self.passes(information, SAMPLES)),
            Goal::Posterior => self.wanted.log_determinant(&self.passes(information, SAMPLES)),
        }
    }

    /// The derivative of [`Search::value`] by the products of rows.
    pub fn value_slope(&self, judge: &Judge, information: &DMatrix<f64>) -> DMatrix<f64> {
        let passes = self.passes_per(SAMPLES);
        match self.task.goal {
            Goal::Condition => judge.smooth_condition_slope(information),
            Goal::Deviations => passes * self.wanted.deviations_slope(&(information * passes)),
            Goal::Posterior => passes * self.wanted.determinant_slope(&(information * passes)),
        }
    }

    /// The products of as many rows as deviations are told for, from those of so many samples, each by the deviation of its noise.
    fn passes(&self, information: &DMatrix<f64>, samples: usize) -> DMatrix<f64> {
        information * self.passes_per(samples)
    }

    fn passes_per(&self, samples: usize) -> f64 {
        self.task.duration_s / SAMPLED_S / samples as f64 / self.task.torque_deviation_nm.powi(2)
    }

    /// What counts in the search for a share of a limit that is exceeded by all that there is: twice what so large a motion gains, so that limits are kept.
    pub fn price(&self) -> f64 {
        match self.task.goal {
            // Singular values of what motion tells grow with its square at most, those of what gravity tells not.
            Goal::Condition => 4.0,
            Goal::Deviations | Goal::Posterior => 2.0 * self.wanted.columns.len() as f64,
        }
    }

    /// The motion with these coefficients, if it uses no more than so much of each limit.
    pub fn trial(&self, x: Vec<f64>, used: f64, columns: &[usize]) -> Result<Trial, &'static str> {
        let sway = self.task.sway(&self.support, &self.ranges, &x);
        let sway = sway.map_err(|_| "coefficients that make no curve")?;
        let motion = self.task.along(&sway);
        let (shares, information) = self.support.clone().look(&motion, &self.times, used, Some(columns))?;
        Ok(Trial { x, information, most: shares.most() })
    }

    /// What a motion tells of all that is told, and what it uses of the limits when it is looked at ten times as finely as in `samples`; refused where it uses more than `used`.
    pub fn told(
        &self,
        motion: &dyn Fn(f64) -> SwayState,
        (samples, used): (usize, f64),
        judge: &Judge,
    ) -> Result<Told, &'static str> {
        let mut support = self.exact.clone();
        let (shares, _) = support.look(motion, &even(samples * FINER), used, None)?;
        let links = support.links.told(support.nearest);
        let told = |support: &mut Support<'_>, columns: &[usize]| {
            support
                .look(motion, &even(samples), f64::INFINITY, Some(columns))
                .map(|(_, information)| information)
        };
        let condition_number = judge.condition_of(&told(&mut support, &judge.columns)?);
        let wanted = self.passes(&told(&mut support, &self.wanted.columns)?, samples);
        Ok(Told {
            shares,
            links,
            condition_number,
            deviations: self.wanted.deviations(&wanted),
            log_determinant: self.wanted.log_determinant(&wanted),
            directions: self.wanted.told(&wanted),
        })
    }
}

/// What a motion tells, and what it uses of the limits.
pub(super) struct Told {
    pub shares: LimitShares,
    pub links: SelfCollisionReport,
    pub condition_number: f64,
    /// Of all wanted parameters, each link by itself.
    pub deviations: Vec<f64>,
    /// Of all of them together, and how many directions are told.
    pub log_determinant: f64,
    pub directions: usize,
}
