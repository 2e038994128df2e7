//! Samples of a limb as rows of the projected regressor.

use nalgebra::{DMatrix, DVector};

use super::sticking::sticks;
use super::{LimbError, LimbStudy, MotorLog};
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics, motors_and_base};
use crate::identify::recorded::at_speed_limit;
use crate::regression::RegressionError;
use crate::regression::inverse::{Moving, moving, moving_samples, smoothed_torques};
use crate::regression::robust::SampleRows;
use crate::robot::Limb;
use crate::robot::{Model, configuration};

/// Samples of a limb at most: neighbours of a smoothed signal tell the same.
const SAMPLES: usize = 3000;

/// A motor stands still if it moves by less than this in all recordings, rad or m: encoders and what a posture is held with err by less.
const STILL: f64 = 0.01;

/// Rows of a limb's samples, and what a study has to know of each.
#[derive(Clone)]
pub(super) struct LimbRows {
    /// Rows of all parameters, as many a sample as there are motors. Torques are smoothed as speeds are, so that they belong to the same accelerations.
    pub rows: SampleRows,
    /// Torques as they were measured.
    pub measured: DVector<f64>,
    /// So many samples are as good as one whose error is independent of all others': with white noise before the filter, and rows that change slowly beside it. What a model
    /// lacks lasts for longer.
    pub alike: f64,
    /// For each sample its log, by its place among those that were given.
    pub log: Vec<usize>,
    /// For each row whether its motor is so near its speed limit that its drive may brake by itself, whatever torque is asked for.
    pub at_limit: Vec<bool>,
    /// For each row the speed of its motor, rad/s or m/s.
    pub speeds: Vec<f64>,
    /// For each row whether its motor may stick ([`sticks`]).
    pub sticks: Vec<bool>,
    /// For each motor the range of its positions, rad or m.
    pub moved: Vec<(f64, f64)>,
}

impl LimbRows {
    /// The samples for which `wanted` holds.
    pub fn select(&self, wanted: impl Fn(usize) -> bool) -> Self {
        let m = self.rows.joints;
        let kept: Vec<usize> = (0..self.rows.samples()).filter(|s| wanted(*s)).collect();
        let rows: Vec<usize> = kept.iter().flat_map(|s| m * s..m * (s + 1)).collect();
        let own = &self.rows;
        Self {
            rows: SampleRows {
                y: own.y.select_rows(&rows),
                u: own.u.select_rows(&rows),
                joints: m,
                known: rows.iter().map(|&row| own.known[row]).collect(),
            },
            measured: self.measured.select_rows(&rows),
            alike: self.alike,
            log: kept.iter().map(|&s| self.log[s]).collect(),
            at_limit: rows.iter().map(|&row| self.at_limit[row]).collect(),
            speeds: rows.iter().map(|&row| self.speeds[row]).collect(),
            sticks: rows.iter().map(|&row| self.sticks[row]).collect(),
            moved: self.moved.clone(),
        }
    }

    /// Whether a motor stands still in all recordings.
    pub fn stands(&self, j: usize) -> bool {
        self.moved[j].1 - self.moved[j].0 < STILL
    }

    /// The same with rows of motors that may stick unknown, and zero. A motor that stands still in all recordings keeps its rows: of links nothing else tells.
    pub fn without_sticking(mut self) -> Self {
        let m = self.rows.joints;
        for row in (0..self.sticks.len())
            .filter(|row| self.sticks[*row] && !self.stands(*row % m))
            .collect::<Vec<_>>()
        {
            self.rows.known[row] = false;
            self.rows.y.row_mut(row).fill(0.0);
            self.rows.u[row] = 0.0;
        }
        self
    }

    /// The same with torques as they were measured, whose errors are independent: where low speeds tell most, as of exponents, no filter may mix them with others.
    pub fn unsmoothed(mut self) -> Self {
        self.rows.u.copy_from(&self.measured);
        self.alike = 1.0;
        self
    }

    /// For each motor the share of samples that [`Self::without_sticking`] makes unknown.
    pub fn sticking(&self) -> Vec<f64> {
        let m = self.rows.joints;
        let count = |j: usize| (j..self.sticks.len()).step_by(m).filter(|row| self.sticks[*row]).count();
        let share = |j: usize| count(j) as f64 / self.rows.samples().max(1) as f64;
        (0..m).map(|j| if self.stands(j) { 0.0 } else { share(j) }).collect()
    }

    /// Whether the torque of motor `j` in sample `s` tells how well its model is.
    fn counts(&self, s: usize, j: usize) -> bool {
        let row = self.rows.joints * s + j;
        self.rows.known[row] && !self.at_limit[row]
    }

    /// For each motor the sum of its squared errors with all parameters `theta` and the number of samples, those that are unknown or at its speed limit left out. Torques
    /// are those that were measured.
    pub fn errors(&self, theta: &[f64]) -> Vec<(f64, usize)> {
        let errors = self.rows.residuals(&DVector::from_column_slice(theta));
        let smoothed = DMatrix::from_column_slice(
            errors.nrows(),
            errors.ncols(),
            (&self.rows.u - &self.measured).as_slice(),
        );
        self.sums(&(errors + smoothed))
    }

    /// The same of residuals, one column a sample.
    pub fn sums(&self, errors: &DMatrix<f64>) -> Vec<(f64, usize)> {
        let own = |j: usize| {
            let free = (0..self.rows.samples()).filter(|&s| self.counts(s, j));
            free.fold((0.0, 0), |(sum, count), s| (sum + errors[(j, s)].powi(2), count + 1))
        };
        (0..self.rows.joints).map(own).collect()
    }

    /// For each of so many `blocks` of neighbouring samples the sum of each motor's squared residuals, samples that are unknown or at its speed limit left out.
    pub fn block_sums(&self, errors: &DMatrix<f64>, blocks: usize) -> Vec<Vec<f64>> {
        let (m, count) = (self.rows.joints, self.rows.samples());
        let of = |j: usize, block: usize| {
            let samples = block * count / blocks..(block + 1) * count / blocks;
            samples.filter(|&s| self.counts(s, j)).map(|s| errors[(j, s)].powi(2)).sum()
        };
        (0..blocks).map(|block| (0..m).map(|j| of(j, block)).collect()).collect()
    }

    /// Whether any motor is at its speed limit in sample `s`.
    pub fn limited(&self, s: usize) -> bool {
        let m = self.rows.joints;
        self.at_limit[m * s..m * (s + 1)].iter().any(|limited| *limited)
    }
}

/// A log as rows are made of it.
struct Read<'l> {
    log: &'l MotorLog,
    samples: Vec<Moving>,
    /// Of each motor of the limb the smoothed torque in each sample, N m or N.
    torques: Vec<Vec<f64>>,
    /// Of each motor of the limb and sample whether it may stick.
    sticks: Vec<Vec<bool>>,
}

/// Turns samples into rows.
pub(super) struct RowMaker<'a> {
    study: &'a LimbStudy<'a>,
    limb: &'a Limb,
    reduced: ReducedDynamics,
    domain: ClosureDomain,
    /// Joints of the held robot that the motors' part of a sample is about, in its order.
    motors: Vec<usize>,
}

impl<'a> RowMaker<'a> {
    /// # Errors
    /// A limb without reduced coordinates, or whose loops cannot be proven to close in one way.
    pub(super) fn new(study: &'a LimbStudy<'a>, held: &Model, limb: &'a Limb) -> Result<Self, LimbError> {
        let name = || limb.joints.first().map_or("", |&j| held.joints[j].name.as_str()).to_owned();
        let reduced = ReducedDynamics::of_loops(&limb.model)
            .map_err(|source| LimbError::Reduced { limb: name(), source })?;
        let domain =
            ClosureDomain::of(&limb.model).map_err(|source| LimbError::Domain { limb: name(), source })?;
        Ok(Self { study, limb, reduced, domain, motors: motors_and_base(held) })
    }

    /// Rows of all logs, thinned evenly.
    ///
    /// # Errors
    /// A filter without sense; a sample outside the proven domain, or with passive joints on another branch.
    pub(super) fn rows(&mut self, logs: &[MotorLog]) -> Result<LimbRows, LimbError> {
        let all: Vec<Read> = logs.iter().map(|log| self.read(log)).collect::<Result<_, _>>()?;
        let count: usize = all.iter().map(|read| read.samples.len()).sum();
        let every = count.div_ceil(SAMPLES).max(1);
        let gain =
            logs.first().map_or(Ok(1.0), |log| self.study.smoothing.noise_gain(1.0 / log.log.period_s));
        let gain = gain.map_err(|source| self.failed(source))?;
        let (m, width) = (self.reduced.independent().len(), self.limb.model.parameter_count());
        let kept: usize = all.iter().map(|read| read.samples.len().div_ceil(every)).sum();
        let (mut y, mut u) = (DMatrix::zeros(m * kept, width), DVector::zeros(m * kept));
        let mut measured = u.clone();
        let (mut row, mut log_of, mut at_limit, mut speeds, mut sticks) = (0, vec![], vec![], vec![], vec![]);
        let mut moved = vec![(f64::INFINITY, f64::NEG_INFINITY); m];
        for (of, read) in all.iter().enumerate() {
            for (k, sample) in read.samples.iter().enumerate().step_by(every) {
                measured.rows_mut(row, m).copy_from_slice(&self.place(read.log, k, sample)?);
                log_of.push(of);
                for ((least, most), &j) in moved.iter_mut().zip(self.reduced.independent()) {
                    let q = self.reduced.q()[j];
                    (*least, *most) = (least.min(q), most.max(q));
                }
                let (limb, v) = (&self.limb.model, self.reduced.v());
                at_limit.extend(self.reduced.independent().iter().map(|&j| at_speed_limit(limb, v, j)));
                speeds.extend(self.reduced.independent().iter().map(|&j| v[j]));
                sticks.extend(read.sticks.iter().map(|own| own[k]));
                y.rows_mut(row, m).copy_from(&self.reduced.regressor(&self.limb.model));
                read.torques.iter().enumerate().for_each(|(j, own)| u[row + j] = own[k]);
                row += m;
            }
        }
        let rows = SampleRows { known: vec![true; u.len()], y, u, joints: m };
        let alike = (1.0 / (every as f64 * gain)).max(1.0);
        Ok(LimbRows { rows, measured, alike, log: log_of, at_limit, speeds, sticks, moved })
    }

    /// A log, smoothed.
    fn read<'l>(&self, log: &'l MotorLog) -> Result<Read<'l>, LimbError> {
        let smoothing = self.study.smoothing;
        let samples = moving(&log.log, smoothing).map_err(|source| self.failed(source))?;
        let smoothed = smoothed_torques(&log.log, smoothing).map_err(|source| self.failed(source))?;
        let width_s = smoothing.width_s(log.log.period_s);
        let mut read = Read { log, samples, torques: vec![], sticks: vec![] };
        for &place in self.reduced.independent() {
            let missing = LimbError::NoMotors { robot: self.limb.model.name.clone() };
            let from = self.channel(log, place).ok_or(missing)?;
            let measured: Vec<f64> = moving_samples(&log.log).map(|sample| sample.dq[from]).collect();
            read.torques.push(smoothed.iter().map(|tau| tau[from]).collect());
            read.sticks.push(sticks(&read.samples, &measured, from, width_s));
        }
        Ok(read)
    }

    fn failed(&self, source: RegressionError) -> LimbError {
        LimbError::Regression { limb: self.limb.model.name.clone(), source }
    }

    /// The place of a limb's joint in a log.
    fn channel(&self, log: &MotorLog, place: usize) -> Option<usize> {
        let joint = self.limb.joints[place];
        if log.passive { Some(joint) } else { self.motors.iter().position(|&motor| motor == joint) }
    }

    /// Takes the limb to a sample; gives its motors' torques.
    fn place(&mut self, log: &MotorLog, k: usize, sample: &Moving) -> Result<Vec<f64>, LimbError> {
        let limb = &self.limb.model;
        let channels: Vec<Option<usize>> =
            (0..limb.joints.len()).map(|place| self.channel(log, place)).collect();
        let at = |place: &usize| channels[*place];
        let (path, number, t) = (log.log.path.display().to_string(), k + 1, sample.t);
        let mut q = configuration::neutral(limb);
        let all: Vec<usize> = (0..limb.joints.len()).collect();
        all.iter().for_each(|place| {
            if let Some(from) = at(place) {
                q[*place] = sample.q[from];
            }
        });
        let outside = |source| LimbError::Sample { path: path.clone(), sample: number, t, source };
        if log.passive {
            self.domain.check(limb, &q, self.study.passive_tolerance).map_err(outside)?;
        }
        self.domain.place(limb, &mut q).map_err(outside)?;
        let wrong = |source| LimbError::Closure { path: path.clone(), sample: number, t, source };
        self.reduced.close(limb, &mut q).map_err(wrong)?;
        let own = |of: &[f64]| -> Vec<f64> {
            self.reduced.independent().iter().filter_map(|place| Some(of[at(place)?])).collect()
        };
        let (v, a, tau) = (own(&sample.dq), own(&sample.ddq), own(&sample.tau));
        self.reduced.place(limb, &q, &v, &a).map_err(wrong)?;
        Ok(tau)
    }
}
