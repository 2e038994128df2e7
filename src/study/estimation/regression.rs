//! Regressions of one body's parameters from the same samples: what an estimate is compared with ([2, Sec. VI-C2], [3, Sec. IX-E]).
//!
//! Both know everything but the body: friction as the robot's file has it, the other links, the schedule of contacts. Both take samples that are read as a whole. Both minimise their sum of squares over
//! bodies that can exist (exponential-eigenvalue coordinates), as the papers' do.

use nalgebra::{DMatrix, DVector, SMatrix, SVector};

use super::EstimationStudy;
use crate::dynamics::actuation::joint_friction;
use crate::dynamics::{Axes, Workspace, torque_regressor};
use crate::estimate::error::EstimateError;
use crate::inertia::{INERTIAL, exponential_eigenvalue};
use crate::recording::Sample;
use crate::regression::filter::LocalPolynomial;
use crate::robot::Model;

/// Steps of the search over bodies, and its damping relative to the largest diagonal entry.
const STEPS: usize = 500;
const DAMPING: f64 = 1e-3;
/// A change of the sum of squares (relative) that ends the search.
const STILL: f64 = 1e-13;

/// Positions, velocities and accelerations of one sample.
type Signals = (Vec<f64>, Vec<f64>, Vec<f64>);
type Ten = SVector<f64, INERTIAL>;
type TenByTen = SMatrix<f64, INERTIAL, INERTIAL>;

impl EstimationStudy {
    /// The `b`-th estimated body by inverse dynamics: positions and velocities smoothed, accelerations differentiated by a
    /// Savitzky-Golay filter of second degree over `window_s`, forces of standing feet projected out.
    ///
    /// # Errors
    /// When the window is longer than the log, the study estimates no such body, or contacts depend on each other.
    pub fn regress_torques(&self, b: usize, window_s: f64) -> Result<[f64; INERTIAL], EstimateError> {
        let robot = &*self.robot;
        let (n, width) = (robot.nv(), INERTIAL * robot.bodies());
        let body = self.estimated(b)?;
        let signals = self.smoothed(window_s)?;
        let mut workspace = Workspace::new(robot);
        let rest = self.without(body);
        let (mut tau, mut jacobian, mut regressor) = (vec![0.0; n], vec![0.0; 6 * n], vec![0.0; n * width]);
        let mut sum = Squares::default();
        // Near the ends the filter looks to one side.
        let ends = self.half_window(window_s);
        for k in ends..signals.len() - ends {
            let (q, v, a) = &signals[k];
            workspace.inverse_dynamics(robot, q, v, a, &rest, &mut tau);
            torque_regressor(robot, workspace.motion(), body..body + 1, &mut regressor);
            let loss = self.friction(v);
            let mut y = DMatrix::from_fn(n, INERTIAL, |j, c| regressor[width * j + INERTIAL * body + c]);
            let mut r = DVector::from_fn(n, |j, _| self.samples[k].tau[j] - loss[j] - tau[j]);
            if let Some(rows) = self.held(&mut workspace, q, k, &mut jacobian) {
                let gram = (&rows * rows.transpose()).cholesky().ok_or_else(|| EstimateError::Schedule {
                    reason: format!(
                        "contacts depend on each other at sample {k}; no regression without their forces"
                    ),
                })?;
                y -= rows.tr_mul(&gram.solve(&(&rows * &y)));
                r -= rows.tr_mul(&gram.solve(&(&rows * &r)));
            }
            sum.add(&y, &r);
        }
        Ok(sum.solve(&self.start_of(b)))
    }

    /// The `b`-th estimated body by energies over intervals of `window_s`: input work less friction is the change of
    /// mechanical energy. No acceleration is needed; standing feet do no work.
    ///
    /// # Errors
    /// When the window is longer than the log, or the study estimates no such body.
    pub fn regress_energy(&self, b: usize, window_s: f64) -> Result<[f64; INERTIAL], EstimateError> {
        let robot = &*self.robot;
        let body = self.estimated(b)?;
        let every = 2 * self.half_window(window_s);
        self.fits(every)?;
        let (mut workspace, rest) = (Workspace::new(robot), self.without(body));
        let mut unit = vec![0.0; rest.len()];
        let mut energy = |s: &Sample| {
            let constant = workspace.energy(robot, &s.q, &s.dq, &rest).mechanical();
            let row: [f64; INERTIAL] = std::array::from_fn(|c| {
                unit.fill(0.0);
                unit[INERTIAL * body + c] = 1.0;
                workspace.energy(robot, &s.q, &s.dq, &unit).mechanical()
            });
            (constant, row)
        };
        let mut sum = Squares::default();
        let (mut work, mut before) = (0.0, energy(&self.samples[0]));
        for (k, pair) in self.samples.windows(2).enumerate() {
            let speed: Vec<f64> = pair[0].dq.iter().zip(&pair[1].dq).map(|(a, b)| 0.5 * (a + b)).collect();
            let loss = self.friction(&speed);
            work += (0..robot.nv()).map(|j| self.step_s * speed[j] * (pair[0].tau[j] - loss[j])).sum::<f64>();
            if (k + 1) % every == 0 {
                let now = energy(&pair[1]);
                let y = DMatrix::from_fn(1, INERTIAL, |_, c| now.1[c] - before.1[c]);
                sum.add(&y, &DVector::from_element(1, work - (now.0 - before.0)));
                (before, work) = (now, 0.0);
            }
        }
        Ok(sum.solve(&self.start_of(b)))
    }

    /// Index of the `b`-th estimated body's joint.
    fn estimated(&self, b: usize) -> Result<usize, EstimateError> {
        let found = self.map.bodies.len();
        self.map.bodies.get(b).map(|(body, _)| *body).ok_or(EstimateError::Size {
            what: "estimated bodies".into(),
            found,
            expected: b + 1,
        })
    }

    /// Where the search for the `b`-th body begins: where the estimate does.
    fn start_of(&self, b: usize) -> [f64; INERTIAL] {
        let nominal = &self.map.nominal[self.robot.body_range(self.map.bodies[b].0)];
        std::array::from_fn(|i| nominal[i])
    }

    fn half_window(&self, window_s: f64) -> usize {
        ((0.5 * window_s / self.step_s).round() as usize).max(1)
    }

    fn fits(&self, window: usize) -> Result<(), EstimateError> {
        if !self.missing.is_empty() || !self.added_force.is_empty() {
            let reason =
                "regressions need samples that are read as a whole, and contacts whose times are certain"
                    .into();
            return Err(EstimateError::Recording { reason });
        }
        let found = self.samples.len();
        if found > 2 * window {
            return Ok(());
        }
        Err(EstimateError::Size { what: "samples".into(), found, expected: 2 * window + 1 })
    }

    /// The nominal robot without body `body`.
    fn without(&self, body: usize) -> Vec<f64> {
        let mut rest = self.map.nominal[..self.robot.parameter_count()].to_vec();
        let at = self.robot.body_range(body);
        rest[at].fill(0.0);
        rest
    }

    /// A floating base's pose is left as it is measured; everything else is smoothed.
    fn smoothed(&self, window_s: f64) -> Result<Vec<Signals>, EstimateError> {
        let half = self.half_window(window_s);
        self.fits(2 * half)?;
        let times: Vec<f64> = (0..self.samples.len()).map(|k| k as f64 * self.step_s).collect();
        let filter = LocalPolynomial::new(&times, half, 2).map_err(|e| EstimateError::Body {
            body: self.robot.name.clone(),
            reason: format!("the filter: {e}"),
        })?;
        let columns = |of: &dyn Fn(&Sample) -> &[f64]| -> Vec<Vec<f64>> {
            (0..of(&self.samples[0]).len()).map(|j| self.samples.iter().map(|s| of(s)[j]).collect()).collect()
        };
        let dq = columns(&|s| &s.dq);
        let speed: Vec<_> = dq.iter().map(|x| filter.values(x)).collect();
        let acceleration: Vec<_> = dq.iter().map(|x| filter.derivatives(x)).collect();
        let pose = if self.robot.has_free_flyer() { 7 } else { 0 };
        let smooth = |(j, x): (usize, Vec<f64>)| if j < pose { x } else { filter.values(&x) };
        let place: Vec<_> = columns(&|s| &s.q).into_iter().enumerate().map(smooth).collect();
        let row = |of: &[Vec<f64>], k: usize| of.iter().map(|x| x[k]).collect::<Vec<f64>>();
        Ok((0..times.len()).map(|k| (row(&place, k), row(&speed, k), row(&acceleration, k))).collect())
    }

    /// Friction torques of the nominal robot.
    fn friction(&self, v: &[f64]) -> Vec<f64> {
        let robot: &Model = &self.robot;
        let mut out = vec![0.0; v.len()];
        for i in robot.first_actuated()..robot.bodies() {
            let at = robot.v_index(i);
            out[at] = joint_friction(robot, &self.map.nominal, i, v[at]).0;
        }
        out
    }

    /// Jacobian of the feet that stand at sample `k` (their points); nothing where none does.
    fn held(
        &self,
        workspace: &mut Workspace,
        q: &[f64],
        k: usize,
        jacobian: &mut [f64],
    ) -> Option<DMatrix<f64>> {
        let (robot, n) = (&*self.robot, self.robot.nv());
        let phase = self.contacts.phases.iter().rfind(|p| p.from <= k)?;
        let frames: Vec<_> = self
            .contacts
            .constraints
            .iter()
            .zip(&phase.active)
            .filter(|(_, active)| **active)
            .filter_map(|(c, _)| robot.named_frames.iter().find(|f| f.name == c.name))
            .collect();
        if frames.is_empty() {
            return None;
        }
        workspace.place(robot, q);
        let mut rows = DMatrix::zeros(3 * frames.len(), n);
        for (f, frame) in frames.into_iter().enumerate() {
            workspace.frame_jacobian(robot, frame, Axes::WorldAligned, jacobian);
            rows.rows_mut(3 * f, 3).copy_from(&DMatrix::from_row_slice(3, n, &jacobian[..3 * n]));
        }
        Some(rows)
    }
}

/// |Y pi - r|^2 = pi'A pi - 2 b'pi + c.
#[derive(Default)]
struct Squares {
    a: TenByTen,
    b: Ten,
}

impl Squares {
    fn add(&mut self, y: &DMatrix<f64>, r: &DVector<f64>) {
        self.a += y.tr_mul(y);
        self.b += y.tr_mul(r);
    }

    fn value(&self, pi: &Ten) -> f64 {
        0.5 * (self.a * pi).dot(pi) - self.b.dot(pi)
    }

    /// The minimiser over bodies that can exist, by damped Gauss-Newton steps in exponential-eigenvalue coordinates.
    fn solve(&self, start: &[f64; INERTIAL]) -> [f64; INERTIAL] {
        let Ok(start) = exponential_eigenvalue::coordinates(start) else { return *start };
        let mut at = Ten::from(start);
        let physical = |c: &Ten| Ten::from(exponential_eigenvalue::theta(&(*c).into()));
        let mut value = self.value(&physical(&at));
        let mut damping = DAMPING;
        for _ in 0..STEPS {
            let slope = exponential_eigenvalue::jacobian(&at.into());
            let gradient = slope.tr_mul(&(self.a * physical(&at) - self.b));
            let mut hessian = slope.tr_mul(&(self.a * slope));
            let scale = hessian.diagonal().max().max(f64::MIN_POSITIVE);
            (0..INERTIAL).for_each(|i| hessian[(i, i)] += damping * scale);
            let Some(factor) = hessian.cholesky() else { break };
            let next = at - factor.solve(&gradient);
            let new = self.value(&physical(&next));
            if new < value {
                let gain = value - new;
                (at, value, damping) = (next, new, (0.2 * damping).max(1e-14));
                if gain < STILL * value.abs() {
                    break;
                }
            } else if damping < 1e6 {
                damping *= 10.0;
            } else {
                break;
            }
        }
        physical(&at).into()
    }
}
