//! What the estimate leaves of the readings, channel by channel: whether the stated deviations hold.

use serde::Serialize;

use crate::estimate::Trajectory;
use crate::estimate::error::EstimateError;
use crate::linear::dense::Mat;
use crate::multibody::{Deviations, MultibodyProblem};
use crate::recording::{MissingReadings, Sample};
use crate::robot::Model;
use crate::robot::configuration::difference;

/// A residual counts in chi squared if the fit leaves this share of its variance at least, on average: of readings that the trajectory simply
/// passes through nothing is learnt.
const FREE: f64 = 0.05;
/// Chi squared per degree of freedom, and correlation of neighbours, beyond which a person is warned.
const LARGE: f64 = 1.5;
const COLOURED: f64 = 0.3;

/// What is left of one channel: the positions, velocities or torques of one joint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResidualRow {
    /// `q`, `dq` or `tau`, and the joint.
    pub channel: String,
    /// Its unit.
    pub unit: String,
    /// Number of readings.
    pub count: usize,
    /// Standard deviation that was stated.
    pub stated: f64,
    /// Root mean square of what is left.
    pub rms: f64,
    /// Chi squared per degree of freedom: the sum of squares, in stated deviations, over what the fit leaves of it if these are right. Nothing
    /// where the fit leaves too little to tell.
    pub chi_squared: Option<f64>,
    /// Standard deviation by that.
    pub estimated: Option<f64>,
    /// Correlation of neighbouring residuals: near 0 if they are white.
    pub correlation: f64,
}

impl ResidualRow {
    /// What a person should know of it.
    pub fn warning(&self) -> Option<String> {
        let chi = self.chi_squared?;
        let mut parts = vec![];
        if chi > LARGE {
            let estimated = self.estimated.unwrap_or(f64::NAN);
            parts.push(format!(
                "chi squared is {chi:.2} per degree of freedom: {estimated:.3e} {} rather than the stated {:.3e}",
                self.unit, self.stated
            ));
        }
        let noise = 3.0 / (self.count as f64).sqrt();
        if self.correlation.abs() > COLOURED.max(noise) {
            parts.push(format!(
                "neighbours correlate by {:.2}, so errors are not independent",
                self.correlation
            ));
        }
        (!parts.is_empty()).then(|| {
            format!("{}: {}; trust the coloured deviations, not the others", self.channel, parts.join("; "))
        })
    }
}

/// One channel on its way: residuals over the stated deviation by sample, and how much of each one's variance the fit leaves.
#[derive(Debug, Clone)]
struct Channel {
    residuals: Vec<Option<f64>>,
    free: f64,
}

/// Collects the variances that the fit leaves, stage by stage, while the posterior is computed.
pub(super) struct Leftover<'a> {
    problem: &'a MultibodyProblem,
    deviations: &'a Deviations,
    /// Positions, velocities, torques, joint by joint each.
    channels: Vec<Channel>,
    missing: &'a [MissingReadings],
}

impl<'a> Leftover<'a> {
    /// The residuals of `trajectory`.
    ///
    /// # Errors
    /// Where the trajectory is outside the model's domain.
    pub(super) fn new(
        problem: &'a MultibodyProblem,
        (samples, missing): (&[Sample], &'a [MissingReadings]),
        deviations: &'a Deviations,
        trajectory: &Trajectory,
    ) -> Result<Self, EstimateError> {
        let robot = problem.robot();
        let (n, nq) = (robot.nv(), robot.nq());
        let mut channels = vec![Channel { residuals: vec![None; samples.len()], free: 0.0 }; 3 * n];
        let mut error = vec![0.0; n];
        for (k, (x, sample)) in problem.states(trajectory).zip(samples).enumerate() {
            difference(robot, &sample.q, &x[..nq], &mut error);
            for j in 0..n {
                let pairs = [(error[j], deviations.q[j]), (x[nq + j] - sample.dq[j], deviations.dq[j])];
                for (quantity, (left, deviation)) in pairs.into_iter().enumerate() {
                    if deviation.is_finite() && is_read(robot, missing.get(k), quantity, j) {
                        channels[n * quantity + j].residuals[k] = Some(left / deviation);
                    }
                }
            }
        }
        for (k, noise) in
            problem.noise(trajectory)?.iter().enumerate().filter(|(k, _)| problem.knows_forces(*k))
        {
            for (j, w) in noise.iter().enumerate() {
                channels[2 * n + j].residuals[k] = Some(w / deviations.tau[j]);
            }
        }
        Ok(Self { problem, deviations, channels, missing })
    }

    /// Takes the covariance of (dx, dtheta) at stage `k`, and the variances of its noise.
    pub(super) fn add(&mut self, k: usize, joint: &Mat, noise: &[f64]) {
        let n = self.problem.robot().nv();
        let Some((sample, step)) = self.problem.sample_of(k) else { return };
        for j in 0..n {
            let variances = [
                (
                    joint[(j, j)],
                    self.deviations.q[j],
                    is_read(self.problem.robot(), self.missing.get(sample), 0, j),
                ),
                (
                    joint[(n + j, n + j)],
                    self.deviations.dq[j],
                    is_read(self.problem.robot(), self.missing.get(sample), 1, j),
                ),
                (
                    noise.get(j).copied().unwrap_or(0.0),
                    self.deviations.tau[j],
                    step && noise.len() == n && self.problem.knows_forces(sample),
                ),
            ];
            for (quantity, (variance, deviation, counts)) in variances.into_iter().enumerate() {
                if counts && deviation.is_finite() {
                    self.channels[n * quantity + j].free += (1.0 - variance / deviation.powi(2)).max(0.0);
                }
            }
        }
    }

    /// One row a channel that has readings.
    pub(super) fn rows(&self) -> Vec<ResidualRow> {
        let robot = self.problem.robot();
        let n = robot.nv();
        let mut rows = vec![];
        for i in robot.first_actuated()..robot.bodies() {
            let (j, joint) = (robot.v_index(i), &robot.joints[i]);
            let units = if joint.kind.is_rotation() { ["rad", "rad/s", "N m"] } else { ["m", "m/s", "N"] };
            let stated = [self.deviations.q[j], self.deviations.dq[j], self.deviations.tau[j]];
            for (quantity, name) in ["q", "dq", "tau"].into_iter().enumerate() {
                let channel = &self.channels[n * quantity + j];
                let named = (format!("{name} of {}", joint.name), units[quantity], stated[quantity]);
                rows.extend(channel.row(named));
            }
        }
        rows
    }
}

impl Channel {
    fn row(&self, (channel, unit, stated): (String, &str, f64)) -> Option<ResidualRow> {
        let of: Vec<f64> = self.residuals.iter().flatten().copied().collect();
        let square: f64 = of.iter().map(|r| r * r).sum();
        if of.is_empty() {
            return None;
        }
        let pairs = self.residuals.windows(2).filter_map(|w| Some(w[0]? * w[1]?));
        let chi_squared = (self.free > FREE * of.len() as f64).then(|| square / self.free);
        Some(ResidualRow {
            channel,
            unit: unit.to_owned(),
            count: of.len(),
            stated,
            rms: stated * (square / of.len() as f64).sqrt(),
            chi_squared,
            estimated: chi_squared.map(|c| stated * c.sqrt()),
            correlation: if square > 0.0 { pairs.sum::<f64>() / square } else { 0.0 },
        })
    }
}

/// Whether position (0) or velocity (1) of a degree of freedom was read.
fn is_read(robot: &Model, missing: Option<&MissingReadings>, quantity: usize, j: usize) -> bool {
    let Some(missing) = missing else { return true };
    let place = robot.nq() - robot.nv() + j;
    if quantity == 0 { !missing.q.contains(&place) } else { !missing.dq.contains(&j) }
}
