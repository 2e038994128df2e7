//! Energy observations: the work that the drives are told to have done in an interval ([3, Sec. VII]).
//!
//! Work and the change of mechanical energy plus what friction takes are the same thing; by the equations of motion in
//! the middle of the interval, with P = R_d + gain tau = M a + bias + friction - J' lambda (`super::mechanics`),
//!
//! ```text
//! v_m' P = d(kinetic + potential)/dt + v_m' friction - (J v_m)' lambda,     r = h v_m' P - observed work
//! ```
//!
//! What stands still or is a closed loop, J v_m = 0, does no work. The midpoint rule errs by O(h^3), as the motion's own
//! integration does.

use super::mechanics::{Interval, Mechanics};
use super::parameters::JointParameter;
use super::{Formulation, MultibodyProblem};
use crate::dynamics::actuation::drive_torque;
use crate::estimate::problem::Point;
use crate::estimate::stage::StageModel;
use crate::inertia::INERTIAL;
use crate::linear::dense::{axpy, dot};

/// Observed work of each interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    /// J, one number a sample: of the interval that begins there.
    pub observed: Vec<f64>,
    /// One over the variance.
    pub weight: f64,
}

impl Mechanics {
    /// P, into `newton`; after an evaluation with noise `w` (the forward form: the inputs).
    fn effort(&mut self, problem: &MultibodyProblem, at: Interval<'_>, w: Option<&[f64]>) {
        let (robot, n) = (&*problem.robot, self.speed.len());
        let noise = w.unwrap_or(&self.value[..n]);
        for (j, (out, w)) in self.newton.iter_mut().zip(noise).enumerate() {
            *out = w + at.tau[j];
        }
        for i in robot.first_actuated()..robot.bodies() {
            let j = robot.v_index(i);
            self.newton[j] += drive_torque(robot, &self.parameters, i, at.tau[j]) - at.tau[j];
        }
    }

    /// r of an interval; after its evaluation.
    fn work_residual(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        w: Option<&[f64]>,
        observed: f64,
    ) -> f64 {
        self.effort(problem, at, w);
        let power: f64 = self.speed.iter().zip(&self.newton).map(|(v, p)| v * p).sum();
        at.step * power - observed
    }
}

impl MultibodyProblem {
    /// The noise among the inputs `u`, where they are noise.
    fn noise_of<'a>(&self, u: &'a [f64]) -> Option<&'a [f64]> {
        (self.formulation == Formulation::Forward).then_some(u)
    }

    /// Cost of an interval's observed work; after the interval's evaluation.
    pub(super) fn work_cost(
        &self,
        sample: usize,
        at: Interval<'_>,
        u: &[f64],
        mechanics: &mut Mechanics,
    ) -> f64 {
        let Some(work) = &self.work else { return 0.0 };
        let r = mechanics.work_residual(self, at, self.noise_of(u), work.observed[sample]);
        0.5 * work.weight * r * r
    }

    /// The same added to the interval's model; where its inputs are noise, the derivatives of a stand in `mechanics.solution`
    /// from row `before` on.
    pub(super) fn add_work(
        &self,
        sample: usize,
        interval: Interval<'_>,
        at: Point<'_>,
        (mechanics, before): (&mut Mechanics, Option<usize>),
        (row, m): (&mut Vec<f64>, &mut StageModel),
    ) {
        let Some(work) = &self.work else { return };
        let r = mechanics.work_residual(self, interval, self.noise_of(at.u), work.observed[sample]);
        let (n, nu, h) = (mechanics.speed.len(), m.nu, interval.step);
        row.clear();
        row.resize(m.n(), 0.0);
        // v_m = v + h a / 2.
        for (j, p) in mechanics.newton[..n].iter().enumerate() {
            row[nu + n + j] += h * p;
            match before {
                None => row[j] += 0.5 * h * h * p,
                Some(before) => {
                    let width = row.len();
                    axpy(0.5 * h * h * p, &mechanics.solution[width * (before + j)..][..width], row);
                }
            }
        }
        let drives = self.map.joints.iter().enumerate().filter(|(_, (_, which))| which.is_of_the_sensor());
        let first = nu + 2 * n;
        match before {
            Some(_) => {
                axpy(h, &mechanics.speed, &mut row[..n]);
                for (i, &(joint, which)) in drives {
                    let j = self.robot.v_index(joint);
                    let told =
                        if which == JointParameter::Skew { interval.tau[j].abs() } else { interval.tau[j] };
                    row[first + INERTIAL * self.map.bodies.len() + i] += h * mechanics.speed[j] * told;
                }
            }
            None => {
                for (j, v) in mechanics.speed.iter().enumerate() {
                    let part = n * j..n * (j + 1);
                    axpy(h * v, &mechanics.by_a[part.clone()], &mut row[..n]);
                    axpy(h * v, &mechanics.by_q[part.clone()], &mut row[nu..nu + n]);
                    axpy(h * v, &mechanics.by_v[part], &mut row[nu + n..first]);
                    for c in 0..nu - n {
                        row[n + c] -= h * v * mechanics.row(self, interval.phase, c)[j];
                    }
                    for t in 0..at.theta.len() {
                        row[first + t] += h * v * mechanics.effect[(j, t)];
                    }
                }
                // P holds no torque but through R_d: of a gain or a skew nothing is left.
                for (i, _) in drives {
                    row[first + INERTIAL * self.map.bodies.len() + i] = 0.0;
                }
            }
        }
        let moved = if m.substitution.active {
            // By the shift of the inputs, through v_m alone: w is what it is.
            0.5 * h * h * dot(&mechanics.newton[..n], &m.substitution.shift[..n])
        } else {
            0.0
        };
        m.add_moved_residual(r, moved, row, work.weight);
    }
}
