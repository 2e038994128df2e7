//! Samples of a limb as rows of the projected regressor.

use nalgebra::{DMatrix, DVector};

use super::{LimbError, LimbStudy, MotorLog};
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics, motors_and_base};
use crate::identify::recorded::at_speed_limit;
use crate::regression::inverse::{Moving, moving};
use crate::regression::robust::SampleRows;
use crate::robot::Limb;
use crate::robot::{Model, configuration};

/// Samples of a limb at most: neighbours of a smoothed signal tell the same.
const SAMPLES: usize = 3000;

/// Rows of a limb's samples, and what a study has to know of each.
#[derive(Clone)]
pub(super) struct LimbRows {
    /// Rows of all parameters, as many a sample as there are motors.
    pub rows: SampleRows,
    /// For each sample its log, by its place among those that were given.
    pub log: Vec<usize>,
    /// For each row whether its motor is so near its speed limit that its drive may brake by itself, whatever torque is asked for.
    pub at_limit: Vec<bool>,
    /// For each row the speed of its motor, rad/s or m/s.
    pub speeds: Vec<f64>,
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
            rows: SampleRows { y: own.y.select_rows(&rows), u: own.u.select_rows(&rows), joints: m },
            log: kept.iter().map(|&s| self.log[s]).collect(),
            at_limit: rows.iter().map(|&row| self.at_limit[row]).collect(),
            speeds: rows.iter().map(|&row| self.speeds[row]).collect(),
            moved: self.moved.clone(),
        }
    }

    /// For each motor the sum of its squared errors with all parameters `theta` and the number of samples, those at its speed limit left out.
    pub fn errors(&self, theta: &[f64]) -> Vec<(f64, usize)> {
        self.sums(&self.rows.residuals(&DVector::from_column_slice(theta)))
    }

    /// The same of residuals, one column a sample.
    pub fn sums(&self, errors: &DMatrix<f64>) -> Vec<(f64, usize)> {
        let own = |j: usize| {
            let free = (0..self.rows.samples()).filter(|s| !self.at_limit[self.rows.joints * s + j]);
            free.fold((0.0, 0), |(sum, count), s| (sum + errors[(j, s)].powi(2), count + 1))
        };
        (0..self.rows.joints).map(own).collect()
    }

    /// For each of so many `blocks` of neighbouring samples the sum of each motor's squared residuals, samples at its speed limit left out.
    pub fn block_sums(&self, errors: &DMatrix<f64>, blocks: usize) -> Vec<Vec<f64>> {
        let (m, count) = (self.rows.joints, self.rows.samples());
        let of = |j: usize, block: usize| {
            let samples = block * count / blocks..(block + 1) * count / blocks;
            samples.filter(|s| !self.at_limit[m * s + j]).map(|s| errors[(j, s)].powi(2)).sum()
        };
        (0..blocks).map(|block| (0..m).map(|j| of(j, block)).collect()).collect()
    }

    /// Whether any motor is at its speed limit in sample `s`.
    pub fn limited(&self, s: usize) -> bool {
        let m = self.rows.joints;
        self.at_limit[m * s..m * (s + 1)].iter().any(|limited| *limited)
    }
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
        let name = self.limb.model.name.clone();
        let smooth = |log: &MotorLog| {
            moving(&log.log, self.study.smoothing)
                .map_err(|source| LimbError::Regression { limb: name.clone(), source })
        };
        let all: Vec<(&MotorLog, Vec<Moving>)> =
            logs.iter().map(|log| Ok((log, smooth(log)?))).collect::<Result<_, LimbError>>()?;
        let count: usize = all.iter().map(|(_, samples)| samples.len()).sum();
        let every = count.div_ceil(SAMPLES).max(1);
        let (m, width) = (self.reduced.independent().len(), self.limb.model.parameter_count());
        let kept: usize = all.iter().map(|(_, samples)| samples.len().div_ceil(every)).sum();
        let (mut y, mut u) = (DMatrix::zeros(m * kept, width), DVector::zeros(m * kept));
        let (mut row, mut log_of, mut at_limit, mut speeds) = (0, vec![], vec![], vec![]);
        let mut moved = vec![(f64::INFINITY, f64::NEG_INFINITY); m];
        for (of, (log, samples)) in all.iter().enumerate() {
            for (k, sample) in samples.iter().enumerate().step_by(every) {
                let torques = self.place(log, k, sample)?;
                log_of.push(of);
                for ((least, most), &j) in moved.iter_mut().zip(self.reduced.independent()) {
                    let q = self.reduced.q()[j];
                    (*least, *most) = (least.min(q), most.max(q));
                }
                let (limb, v) = (&self.limb.model, self.reduced.v());
                at_limit.extend(self.reduced.independent().iter().map(|&j| at_speed_limit(limb, v, j)));
                speeds.extend(self.reduced.independent().iter().map(|&j| v[j]));
                y.rows_mut(row, m).copy_from(&self.reduced.regressor(&self.limb.model));
                u.rows_mut(row, m).copy_from_slice(&torques);
                row += m;
            }
        }
        Ok(LimbRows { rows: SampleRows { y, u, joints: m }, log: log_of, at_limit, speeds, moved })
    }

    /// Takes the limb to a sample; gives its motors' torques.
    fn place(&mut self, log: &MotorLog, k: usize, sample: &Moving) -> Result<Vec<f64>, LimbError> {
        let limb = &self.limb.model;
        let at = |place: &usize| {
            let joint = self.limb.joints[*place];
            if log.passive { Some(joint) } else { self.motors.iter().position(|&motor| motor == joint) }
        };
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
