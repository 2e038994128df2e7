//! How large the errors of a log are, before anything is estimated from it: what the sensors' noise is, how much of the torques' errors moves the
//! robot from one sample to the next, and for how many samples errors last.
//!
//! Three things spoil an estimate whose deviations are taken as a person states them. All are found here.
//!
//! 1. *Sensors noisier than stated.* The trajectory then follows their noise, with accelerations that only a light robot could have under the measured
//!    torques. White noise of velocities is measured by itself, as what a short polynomial leaves of them or by third differences, whichever is less,
//!    and stated deviations are raised to it.
//! 2. *Torque errors that are not white.* What a model lacks lasts for many samples. Stated as independent from one sample to the next, it allows the
//!    trajectory the same accelerations, for the same price: bodies become light, which allows more of them, until nothing is left of the bodies. So
//!    the torques' deviation begins at a small share of the stated one, where a trajectory is as good as simulated, and grows as long as the trajectory
//!    leaves the velocities their noise (homotopy). Each solution is the next one's start.
//! 3. *Errors that last.* N samples then count as fewer. All deviations are multiplied by one factor, which leaves what the data say alone
//!    as it is, but makes deviations as large as coloured ones in the mean, and gives priors the weight that they have against so many samples (an
//!    adjusted composite likelihood: Pauli, Racugno and Ventura 2011; Ribatet, Cooley and Davison 2012).

use serde::{Deserialize, Serialize};

use super::EstimationStudy;
use super::result::collapses;
use crate::estimate::error::EstimateError;
use crate::estimate::problem::Trajectory;
use crate::estimate::solver::{Solver, SolverOptions};
use crate::multibody::MultibodyProblem;
use crate::regression::filter::LocalPolynomial;

/// Half of the polynomial that tells motion from noise, s, its fewest samples on a side, and its degree.
const HALF_S: f64 = 0.025;
const FEWEST: usize = 4;
const DEGREE: usize = 2;
/// Shares of the stated deviation of torques, from a trajectory that is as good as simulated on.
const SHARES: [f64; 5] = [1.0 / 16.0, 0.125, 0.25, 0.5, 1.0];
/// The trajectory leaves velocities their noise if it leaves this share of what the first share leaves of them.
const KEPT: f64 = 0.97;
/// Samples that are looked at, at most.
const SAMPLES: usize = 3000;
/// What the looks are left at, and the estimate itself: half of the square of the distance in deviations.
const LOOK: f64 = 0.05;
const ENOUGH: f64 = 1e-3;
/// A parameter whose variance is above this share of its prior's says nothing of how long errors last.
const SEEN: f64 = 0.5;

/// Where the sizes of errors come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseUse {
    /// From the log, with those of the problem file for a start. Simulated samples, contacts, loops, gains that are estimated, recordings
    /// without velocities and trajectories that are integrated out are taken as stated all the same.
    #[default]
    Fitted,
    /// From the problem file, all errors independent.
    Stated,
}

/// What was found of the errors of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoiseFinding {
    /// White noise of each velocity, rad/s (m/s).
    pub velocity: Vec<f64>,
    /// Share of the stated deviation of torques that the trajectory is allowed.
    pub torque_share: f64,
    /// What all deviations are multiplied by for the time that errors last.
    pub lasting: f64,
}

impl NoiseFinding {
    /// What was made of the stated deviations, in words.
    pub fn sentence(&self) -> String {
        format!(
            "errors of torques count with {:.3} of their stated deviation from one sample to the next, so that the trajectory leaves velocities their noise; \
             all deviations are {:.1} times larger, since errors last",
            self.torque_share, self.lasting
        )
    }
}

impl EstimationStudy {
    /// The study with the sizes of errors that its log tells of; what was found, and the parameters to start from. Nothing where they are taken as
    /// stated.
    ///
    /// # Errors
    /// What [`EstimationStudy::problem`] and [`Solver::solve`] refuse.
    pub fn settle_noise(&mut self) -> Result<Option<(NoiseFinding, Vec<f64>)>, EstimateError> {
        if !self.noise_is_open() {
            return Ok(None);
        }
        let velocity = self.velocity_noise()?;
        let stated = self.deviations.clone();
        self.deviations.dq.iter_mut().zip(&velocity).for_each(|(d, noise)| *d = d.max(*noise));
        let raised = self.deviations.dq.clone();
        let options = SolverOptions { significance: self.options.significance.max(LOOK), ..self.options };
        let mut found: Option<(f64, Vec<f64>, f64)> = None;
        let mut left: Option<Vec<f64>> = None;
        for share in SHARES {
            self.deviations.tau = stated.tau.iter().map(|d| share * d).collect();
            let problem = self.problem()?.beginning(SAMPLES);
            let mut solver = Solver::new(&problem, options)?;
            let start =
                found.as_ref().map_or_else(|| problem.guess_theta().to_vec(), |(_, theta, _)| theta.clone());
            if let Err(e) = solver.solve(&problem.guess_at(&start)) {
                // The last share that could be solved stays.
                if found.is_none() {
                    return Err(e);
                }
                break;
            }
            let theta = solver.trajectory().theta.clone();
            let now = self.left_of_velocities(&problem, solver.trajectory());
            let most = left.get_or_insert_with(|| now.clone());
            let keeps = now.iter().zip(most.iter()).all(|(now, most)| *now >= KEPT * most);
            let stays = collapses(&problem, problem.guess_theta(), &theta).is_empty();
            if found.is_some() && !(keeps && stays) {
                break;
            }
            let lasting = self.lasting(&problem, &mut solver)?;
            found = Some((share, theta, lasting));
        }
        let Some((torque_share, theta, lasting)) = found else { return Ok(None) };
        let scaled = |of: &[f64], factor: f64| of.iter().map(|d| factor * d).collect::<Vec<_>>();
        self.deviations.q = scaled(&stated.q, lasting);
        self.deviations.dq = scaled(&raised, lasting);
        self.deviations.tau = scaled(&stated.tau, lasting * torque_share);
        self.options.significance = self.options.significance.max(ENOUGH);
        let finding = NoiseFinding { velocity, torque_share, lasting };
        self.notes.push(finding.sentence());
        Ok(Some((finding, theta)))
    }

    fn noise_is_open(&self) -> bool {
        let measured = |deviations: &[f64]| deviations.iter().all(|d| d.is_finite());
        self.noise == NoiseUse::Fitted
            && self.options.cautious
            && !self.options.marginal
            && !self.sensor_noise
            && !self.robot.has_free_flyer()
            && self.contacts.constraints.is_empty()
            && !self.map.is_empty()
            && measured(&self.deviations.q)
            && measured(&self.deviations.dq)
    }

    /// White noise of each velocity: what a polynomial around each sample leaves of it, over what it would leave of white noise, or the same by third
    /// differences, whichever is less: the one counts fast motion as noise, the other noise that alternates for more than it is. 0 where no segment is
    /// long enough.
    fn velocity_noise(&self) -> Result<Vec<f64>, EstimateError> {
        let n = self.robot.nv();
        let half = ((HALF_S / self.step_s).round() as usize).max(FEWEST);
        let m = half as f64;
        // Weight of the middle sample in its own value (Savitzky and Golay, second degree).
        let own = 3.0 * (3.0 * m * m + 3.0 * m - 1.0) / ((2.0 * m - 1.0) * (2.0 * m + 1.0) * (2.0 * m + 3.0));
        let (mut squares, mut counts) = (vec![[0.0f64; 2]; n], vec![0usize; n]);
        for segment in self.segments().into_iter().filter(|s| s.len() > 2 * half) {
            let samples = &self.samples[segment.clone()];
            let times: Vec<f64> = samples.iter().map(|s| s.t).collect();
            let refused = |e| EstimateError::Recording { reason: format!("noise of velocities: {e}") };
            let filter = LocalPolynomial::new(&times, half, DEGREE).map_err(refused)?;
            for j in 0..n {
                let signal: Vec<f64> = samples.iter().map(|s| s.dq[j]).collect();
                let smooth = filter.values(&signal);
                for i in (half..samples.len() - half).filter(|i| self.is_seen(segment.start + i, j)) {
                    let third = signal[i + 2] - 3.0 * signal[i + 1] + 3.0 * signal[i] - signal[i - 1];
                    squares[j][0] += (signal[i] - smooth[i]).powi(2) / (1.0 - own);
                    // Squares of the factors 1, 3, 3, 1 add up to 20.
                    squares[j][1] += third * third / 20.0;
                    counts[j] += 1;
                }
            }
        }
        let of = |(s, c): (&[f64; 2], &usize)| (s[0].min(s[1]) / (*c).max(1) as f64).sqrt();
        Ok(squares.iter().zip(&counts).map(of).collect())
    }

    /// Samples between gaps.
    pub(super) fn segments(&self) -> Vec<std::ops::Range<usize>> {
        let (mut all, mut first) = (vec![], 0);
        for k in 0..self.samples.len() {
            if k + 1 == self.samples.len() || self.intervals_s[k].is_infinite() {
                all.push(first..k + 1);
                first = k + 1;
            }
        }
        all
    }

    /// What the trajectory leaves of each velocity, root mean square.
    fn left_of_velocities(&self, problem: &MultibodyProblem, trajectory: &Trajectory) -> Vec<f64> {
        let (n, nq) = (self.robot.nv(), self.robot.nq());
        let (mut squares, mut counts) = (vec![0.0; n], vec![0usize; n]);
        for (k, (x, sample)) in problem.states(trajectory).zip(&self.samples).enumerate() {
            for j in (0..n).filter(|&j| self.is_seen(k, j)) {
                squares[j] += (x[nq + j] - sample.dq[j]).powi(2);
                counts[j] += 1;
            }
        }
        squares.iter().zip(&counts).map(|(s, c)| (s / (*c).max(1) as f64).sqrt()).collect()
    }

    /// Whether the velocity of joint `j` was read at sample `k`.
    fn is_seen(&self, k: usize, j: usize) -> bool {
        self.missing.get(k).is_none_or(|missing| !missing.dq.contains(&j))
    }

    /// How many times larger deviations of parameters are by how errors last than by independent ones: the geometric mean over those parameters of
    /// which the data say something.
    fn lasting(
        &self,
        problem: &MultibodyProblem,
        solver: &mut Solver<'_, MultibodyProblem>,
    ) -> Result<f64, EstimateError> {
        let posterior = solver.posterior(|_, _| ())?;
        let coloured = self.coloured(problem, solver, &posterior)?;
        let (mut sum, mut count) = (0.0, 0usize);
        for (i, prior) in self.deviations.theta.iter().enumerate() {
            let plain = posterior.parameter_deviation(i).powi(2);
            let wide = coloured.covariance[(i, i)];
            if plain > 0.0 && plain.is_finite() && wide > 0.0 && plain < SEEN * prior * prior {
                sum += 0.5 * (wide / plain).ln();
                count += 1;
            }
        }
        Ok((sum / count.max(1) as f64).exp().max(1.0))
    }
}
