//! The honest plant: a joint-space robot with its own true parameters, integrated between control ticks.
//!
//! M(q; theta) ddq + C(q, dq) dq + g(q) + F_c s(dq) + F_v dq + beta = tau, M including the transmission inertia. Coulomb
//! friction follows s = +-1 above the stiction speed; below it, it rises in proportion to the speed up to the joint's own breakaway
//! ratio b, reached at 1/b of the stiction speed, and falls to 1 from there ([`friction_share`]): within what the controller and the
//! identifier assume. The torque is held over a tick; within it the state is integrated by
//! the classical fourth-order Runge-Kutta rule in [`SUBSTEPS`] steps, and every [`AUDIT_EVERY`]th tick once more with
//! steps four times finer to measure the integration error.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use crate::dynamics::{Composites, Motion, Wrench, crba, rnea};
use crate::linear::triangular::solve_positive_definite;
use crate::robot::Arm;

use super::faults::ElasticJoints;
use super::lag::FollowedCommand;
use super::springs::CommonMotion;

/// Integration steps within one control period. Half as many err sixteen times as much; every [`AUDIT_EVERY`]th tick is
/// checked against finer steps, and the summary says by how much they differ.
pub(crate) const SUBSTEPS: usize = 4;
/// One tick in this many is integrated a second time with finer steps, which takes four times as long: the audit costs less
/// than half of the plant's time.
const AUDIT_EVERY: u64 = 10;

/// The state of an arm at one moment.
pub(crate) struct Moment<'a> {
    /// Positions of the links, rad (m).
    pub q: &'a [f64],
    /// Velocities of the links, rad/s (m/s).
    pub dq: &'a [f64],
    /// Positions and velocities of which the tube is one: of elastic joints the common motion of transmissions and links, or where the encoders are if these are behind
    /// the springs.
    pub followed: (&'a [f64], &'a [f64]),
}

/// The simulated robot. Nothing that runs a scenario holds one but [`super::World`], behind private
/// fields.
#[derive(Debug, Clone)]
pub(crate) struct Plant {
    pub(super) robot: Arc<Arm>,
    pub(super) theta: Vec<f64>,
    /// Static over Coulomb friction of each joint.
    pub(super) breakaway: Vec<f64>,
    /// Springs between transmissions and links; positions and velocities of the transmissions then follow those of the links.
    pub(super) elastic: Option<ElasticJoints>,
    /// The common motion of transmissions and links.
    pub(super) common: Option<CommonMotion>,
    pub(crate) q: Vec<f64>,
    pub(crate) dq: Vec<f64>,
    ticks: u64,
    integration_error: f64,
    pub(super) scratch: Scratch,
}

#[derive(Debug, Clone)]
pub(super) struct Scratch {
    pub(super) motion: Motion<f64>,
    pub(super) composites: Composites<f64>,
    pub(super) wrenches: Vec<Wrench<f64>>,
    pub(super) mass: DMatrix<f64>,
    pub(super) bias: DVector<f64>,
    pub(super) zero: Vec<f64>,
    slopes: [(Vec<f64>, Vec<f64>); 4],
    trial: (Vec<f64>, Vec<f64>),
    tau: Vec<f64>,
}

/// Torques on the joints over some time, N m.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActingTorques<'a> {
    /// What stays.
    pub constant: &'a [f64],
    /// What fades besides, where drives lag: x e^(-rate t), with x (N m) and rate (1/s) of each joint.
    pub fading: &'a [(f64, f64)],
}

impl<'a, T: AsRef<[f64]> + ?Sized> From<&'a T> for ActingTorques<'a> {
    fn from(constant: &'a T) -> Self {
        Self { constant: constant.as_ref(), fading: &[] }
    }
}

impl<'a> ActingTorques<'a> {
    /// At `t` (s); in `space` where they fade.
    fn at<'b>(self, t: f64, space: &'b mut Vec<f64>) -> &'b [f64]
    where
        'a: 'b,
    {
        if self.fading.is_empty() {
            return self.constant;
        }
        space.clear();
        let fading = self.fading.iter().map(|(x, rate)| FollowedCommand::behind_after(*x, *rate, t));
        space.extend(self.constant.iter().zip(fading).map(|(constant, behind)| constant + behind));
        space
    }
}

impl Plant {
    /// A plant at rest at `q` with true parameters `theta`.
    pub(crate) fn at_rest(robot: Arc<Arm>, theta: Vec<f64>, q: &[f64]) -> Self {
        let n = robot.dof();
        let zero = vec![0.0; n];
        let scratch = Scratch {
            motion: Motion::new(&robot),
            composites: Composites::new(&robot),
            wrenches: vec![Wrench::zero(); n],
            mass: DMatrix::zeros(n, n),
            bias: DVector::zeros(n),
            slopes: std::array::from_fn(|_| (zero.clone(), zero.clone())),
            trial: (zero.clone(), zero.clone()),
            tau: Vec::with_capacity(n),
            zero,
        };
        let (q, dq, breakaway) = (q.to_vec(), vec![0.0; n], vec![1.0; n]);
        let (elastic, common) = (None, None);
        Self { q, dq, robot, theta, breakaway, elastic, common, ticks: 0, integration_error: 0.0, scratch }
    }

    /// Joints of the arm.
    pub(super) fn joints(&self) -> usize {
        self.robot.dof()
    }

    /// Makes the integrator's storage as long as the state.
    pub(super) fn resize_scratch(&mut self) {
        let zeros = vec![0.0; self.q.len()];
        self.scratch.slopes = std::array::from_fn(|_| (zeros.clone(), zeros.clone()));
        self.scratch.trial = (zeros.clone(), zeros);
    }

    /// The same plant whose joints need so many times their Coulomb friction to break away (>= 1 each).
    pub(crate) fn with_breakaway(self, breakaway: Vec<f64>) -> Self {
        Self { breakaway, ..self }
    }

    /// The true parameters are others from now on; the state stays.
    pub(super) fn change(&mut self, theta: Vec<f64>) {
        self.theta = theta;
    }

    /// It moves no more.
    pub(super) fn halt(&mut self) {
        self.dq.fill(0.0);
        self.settle_common();
    }

    /// Its robot, on its base.
    #[cfg(test)]
    pub(super) fn robot(&self) -> &Arm {
        &self.robot
    }

    /// The true parameters.
    pub(super) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Largest difference seen between the integration and one with steps four times finer, rad over one tick.
    pub(super) fn integration_error(&self) -> f64 {
        self.integration_error
    }

    /// Torques (N m) that hold the plant where it is, at rest, where static friction carries these shares of F_c.
    pub(super) fn holding(&mut self, stuck: &[f64], tau: &mut [f64]) {
        let Scratch { motion, wrenches, zero, .. } = &mut self.scratch;
        motion.sweep_plain(&self.robot, &self.q[..self.robot.dof()], zero, zero);
        rnea(&self.robot, motion, &self.theta, wrenches, tau);
        for (j, (tau, share)) in tau.iter_mut().zip(stuck).enumerate() {
            let own = self.robot.joint_parameters(&self.theta, j);
            *tau += own.offset + share * own.coulomb;
        }
    }

    /// Where in its state those positions begin that encoders see.
    pub(super) fn read_from(&self) -> usize {
        self.elastic.as_ref().map_or(0, |elastic| elastic.read_from(self.joints()))
    }

    /// Advances by so long (s) under `tau`, which is held unless it fades, calling `each` with the state after every [`SUBSTEPS`]th part of it.
    pub(crate) fn advance<'a>(
        &mut self,
        tau: impl Into<ActingTorques<'a>>,
        period_s: f64,
        mut each: impl FnMut(Moment<'_>),
    ) {
        let tau = tau.into();
        let audit = self.ticks.is_multiple_of(AUDIT_EVERY).then(|| (self.q.clone(), self.dq.clone()));
        let (mut q, mut dq) = (std::mem::take(&mut self.q), std::mem::take(&mut self.dq));
        let (n, finer) = (self.joints(), if self.elastic.is_some() { super::elastic::FINER } else { 1 });
        for k in 0..SUBSTEPS {
            let step = period_s / (finer * SUBSTEPS) as f64;
            (0..finer).for_each(|i| {
                self.runge_kutta(&mut q, &mut dq, (tau, step * (k * finer + i) as f64), step);
            });
            self.pass_on((&q, &dq), tau, (k as f64 * finer as f64 * step, finer as f64 * step));
            let followed = self.followed_in((&q, &dq));
            each(Moment { q: &q[..n], dq: &dq[..n], followed });
        }
        if let Some((mut fine_q, mut fine_dq)) = audit {
            let step = period_s / (4 * finer * SUBSTEPS) as f64;
            for k in 0..4 * finer * SUBSTEPS {
                self.runge_kutta(&mut fine_q, &mut fine_dq, (tau, step * k as f64), step);
            }
            let worst = q.iter().zip(&fine_q).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            self.integration_error = self.integration_error.max(worst);
        }
        (self.q, self.dq) = (q, dq);
        self.ticks += 1;
    }

    /// Where the tube is, in a state of the plant: see [`Moment`].
    fn followed_in<'a>(&'a self, (q, dq): (&'a [f64], &'a [f64])) -> (&'a [f64], &'a [f64]) {
        let read = self.read_from()..self.read_from() + self.joints();
        match &self.common {
            Some(common) if read.start > 0 => (&common.q, &common.dq),
            _ => (&q[read.clone()], &dq[read]),
        }
    }

    /// Positions and velocities of which the tube is one: see [`Moment`].
    pub(super) fn followed(&self) -> (&[f64], &[f64]) {
        self.followed_in((&self.q, &self.dq))
    }

    /// The common motion of an elastic arm goes on to this state, `from_s` and `step_s` (s) into a command.
    fn pass_on(&mut self, state: (&[f64], &[f64]), torques: ActingTorques<'_>, (from_s, step_s): (f64, f64)) {
        if self.common.is_some() {
            let mut space = std::mem::take(&mut self.scratch.tau);
            self.follow_common(state, torques.at(from_s + 0.5 * step_s, &mut space), step_s);
            self.scratch.tau = space;
        }
    }

    fn runge_kutta(
        &mut self,
        q: &mut [f64],
        dq: &mut [f64],
        (torques, from_s): (ActingTorques<'_>, f64),
        h: f64,
    ) {
        let n = q.len();
        let mut space = std::mem::take(&mut self.scratch.tau);
        let mut slopes = std::mem::take(&mut self.scratch.slopes);
        let mut trial = std::mem::take(&mut self.scratch.trial);
        for stage in 0..4 {
            let step = [0.0, 0.5 * h, 0.5 * h, h][stage];
            for j in 0..n {
                let (vq, vdq) =
                    if stage == 0 { (0.0, 0.0) } else { (slopes[stage - 1].0[j], slopes[stage - 1].1[j]) };
                trial.0[j] = q[j] + step * vq;
                trial.1[j] = dq[j] + step * vdq;
            }
            slopes[stage].0.copy_from_slice(&trial.1);
            let tau = torques.at(from_s + step, &mut space);
            match self.elastic {
                None => self.acceleration(&trial.0, &trial.1, tau, &mut slopes[stage].1),
                Some(_) => self.elastic_acceleration(&trial.0, &trial.1, tau, &mut slopes[stage].1),
            }
        }
        for j in 0..n {
            for (slope, weight) in slopes.iter().zip([1.0, 2.0, 2.0, 1.0]) {
                q[j] += h / 6.0 * weight * slope.0[j];
                dq[j] += h / 6.0 * weight * slope.1[j];
            }
        }
        self.scratch.slopes = slopes;
        self.scratch.trial = trial;
        self.scratch.tau = space;
    }

    /// Forward dynamics: solves M ddq = tau - bias - friction.
    fn acceleration(&mut self, q: &[f64], dq: &[f64], tau: &[f64], ddq: &mut [f64]) {
        let (robot, s) = (&self.robot, &mut self.scratch);
        s.motion.sweep(robot, q, dq, dq, &s.zero);
        rnea(robot, &s.motion, &self.theta, &mut s.wrenches, s.bias.as_mut_slice());
        crba(robot, &s.motion, &self.theta, &mut s.composites, s.mass.as_mut_slice());
        for j in 0..q.len() {
            let f = robot.joint_parameters(&self.theta, j);
            s.mass[(j, j)] += f.armature;
            let sign = friction_share(dq[j] / robot.gains().stiction_speed_rad_s, self.breakaway[j]);
            s.bias[j] = tau[j] - s.bias[j] - f.coulomb * sign - f.viscous * dq[j] - f.offset;
        }
        solve_positive_definite(s.mass.as_mut_slice(), s.bias.as_mut_slice());
        ddq.copy_from_slice(s.bias.as_slice());
    }
}

/// Share of F_c that acts at `speed`, in units of the stiction speed, on a joint with this breakaway ratio.
pub(crate) fn friction_share(speed: f64, breakaway: f64) -> f64 {
    let (size, peak) = (speed.abs(), 1.0 / breakaway);
    let share = if size >= 1.0 {
        1.0
    } else if size <= peak {
        breakaway * breakaway * size
    } else {
        breakaway + (1.0 - breakaway) * (size - peak) / (1.0 - peak)
    };
    share * speed.signum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friction_breaks_away_within_its_ratio() {
        for breakaway in [1.0, 1.2, 3.0] {
            let shares = (-150..=150).map(|k| friction_share(0.01 * f64::from(k), breakaway));
            let most = shares.clone().fold(0.0, f64::max);
            assert!(most <= breakaway * (1.0 + 1e-12) && most > 0.97 * breakaway);
            let steps: Vec<f64> = shares.collect();
            assert!(steps.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 0.011 * breakaway * breakaway));
            assert_eq!((steps[0], steps[150], steps[300]), (-1.0, 0.0, 1.0));
        }
        // Without any it is the straight line between the signs.
        assert!((friction_share(-0.25, 1.0) + 0.25).abs() < 1e-15);
    }
}
