//! Arms on a fixed base: forward dynamics with torque noise, encoders and torque sensors, inertial and friction parameters.
//!
//! For those who estimate from a log. The state is (q, dq), the input is what the measured torque differs from the true
//! one by (process noise, with the covariance of the torque sensor and of what the model leaves out), and a stage lasts
//! one sampling interval h with the torque held:
//!
//! ```text
//! a = M^-1 (tau + w - bias - friction) at (q + h dq / 2, dq),   q' = q + h dq + h^2 a / 2,   dq' = dq + h a
//! ```
//!
//! so that gravity and inertia are taken in the middle of the interval. All derivatives are exact: those of the inverse
//! dynamics at the acceleration found, da = M^-1 (dtau - dID), with the regressor for the parameters.

use std::sync::Arc;

use super::dense::{Mat, partial_cholesky, solve_lower, solve_lower_transposed};
use super::error::EstimateError;
use super::parameters::ParameterMap;
use super::problem::{Point, Problem, StageValues, Trajectory};
use super::stage::{StageModel, StageSize};
use crate::dynamics::{Composites, Motion, Wrench, crba, rnea, torque_regressor};
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, VISCOUS};
use crate::scalar::{Dual, Scalar};

/// Directions that one sweep differentiates in.
const DIRECTIONS: usize = 7;
type D = Dual<f64, DIRECTIONS>;

/// What was measured at one instant; the torque is that of the interval which begins there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Positions, rad.
    pub q: Vec<f64>,
    /// Velocities, rad/s.
    pub dq: Vec<f64>,
    /// Torques, N m.
    pub tau: Vec<f64>,
}

/// Standard deviations of everything that is uncertain, one number a joint or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviations {
    /// Encoders, rad.
    pub q: Vec<f64>,
    /// Velocities, rad/s.
    pub dq: Vec<f64>,
    /// Torques over one interval, N m.
    pub tau: Vec<f64>,
    /// First position, rad; infinite where nothing is known.
    pub first_q: Vec<f64>,
    /// First velocity, rad/s.
    pub first_dq: Vec<f64>,
    /// Parameters, in coordinates; infinite where nothing is known.
    pub theta: Vec<f64>,
}

/// An arm's log as an estimation problem.
#[derive(Debug, Clone)]
pub struct ArmProblem {
    robot: Arc<Robot>,
    map: ParameterMap,
    samples: Vec<Sample>,
    /// Sampling interval, s.
    step: f64,
    weights: Weights,
    prior: Vec<f64>,
    /// Bounds theta_i >= value, as (i, value).
    lower: Vec<(usize, f64)>,
}

/// One over the variances.
#[derive(Debug, Clone)]
struct Weights {
    q: Vec<f64>,
    dq: Vec<f64>,
    tau: Vec<f64>,
    first: Vec<f64>,
    theta: Vec<f64>,
}

impl ArmProblem {
    /// The problem of explaining `samples`, taken every `step_s` seconds, starting from the map's nominal parameters.
    /// Friction and transmission inertia are kept from becoming negative.
    ///
    /// # Errors
    /// When sizes disagree, a deviation is missing (zero, negative, NaN), or a sample is not finite.
    pub fn new(
        robot: Arc<Robot>,
        map: ParameterMap,
        samples: Vec<Sample>,
        step_s: f64,
        deviations: &Deviations,
    ) -> Result<Self, EstimateError> {
        if robot.has_free_flyer() {
            let reason = "its base floats, expected a fixed one".to_owned();
            return Err(EstimateError::Body { body: robot.name.clone(), reason });
        }
        let n = robot.dof();
        if samples.len() < 2 {
            return Err(EstimateError::Size { what: "samples".into(), found: samples.len(), expected: 2 });
        }
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(EstimateError::Deviation { what: "the sampling interval".into(), value: step_s });
        }
        for (k, s) in samples.iter().enumerate() {
            for (name, values) in [("q", &s.q), ("dq", &s.dq), ("tau", &s.tau)] {
                if values.len() != n {
                    let what = format!("{name} of sample {k}");
                    return Err(EstimateError::Size { what, found: values.len(), expected: n });
                }
                if values.iter().any(|x| !x.is_finite()) {
                    return Err(EstimateError::NotFinite { what: "a sample", stage: k });
                }
            }
        }
        let d = deviations;
        let mut first = weights("the first position", &d.first_q, n, true)?;
        first.extend(weights("the first velocity", &d.first_dq, n, true)?);
        let weights = Weights {
            q: weights("the encoders", &d.q, n, false)?,
            dq: weights("the velocities", &d.dq, n, false)?,
            tau: weights("the torques", &d.tau, n, false)?,
            first,
            theta: weights("the parameters", &d.theta, map.len(), true)?,
        };
        let prior = map.start(&robot)?;
        let at = INERTIAL * map.bodies.len();
        let positive = |i: &usize| map.joints[*i].1.index() != OFFSET;
        let lower = (0..map.joints.len()).filter(positive).map(|i| (at + i, 0.0)).collect();
        Ok(Self { robot, map, samples, step: step_s, weights, prior, lower })
    }

    /// The first guess: the measured states, no noise, the nominal parameters.
    pub fn guess(&self) -> Trajectory {
        let n = self.robot.dof();
        Trajectory {
            xs: self.samples.iter().map(|s| [s.q.as_slice(), s.dq.as_slice()].concat()).collect(),
            us: (0..self.samples.len())
                .map(|k| vec![0.0; if k + 1 < self.samples.len() { n } else { 0 }])
                .collect(),
            theta: self.prior.clone(),
        }
    }

    /// What theta means.
    pub fn map(&self) -> &ParameterMap {
        &self.map
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    fn last(&self, k: usize) -> bool {
        k + 1 == self.samples.len()
    }

    fn cost(&self, k: usize, at: Point<'_>) -> f64 {
        let (w, s, n) = (&self.weights, &self.samples[k], self.robot.dof());
        let mut cost = 0.0;
        for j in 0..n {
            cost += w.q[j] * (at.x[j] - s.q[j]).powi(2) + w.dq[j] * (at.x[n + j] - s.dq[j]).powi(2);
        }
        cost += at.u.iter().zip(&w.tau).map(|(u, w)| w * u * u).sum::<f64>();
        if k == 0 {
            let measured = s.q.iter().chain(&s.dq);
            cost +=
                at.x.iter().zip(measured).zip(&w.first).map(|((x, m), w)| w * (x - m).powi(2)).sum::<f64>();
            cost += at
                .theta
                .iter()
                .zip(&self.prior)
                .zip(&w.theta)
                .map(|((t, m), w)| w * (t - m).powi(2))
                .sum::<f64>();
        }
        0.5 * cost
    }

    fn add_costs(&self, k: usize, at: Point<'_>, m: &mut StageModel) {
        let (w, s, n) = (&self.weights, &self.samples[k], self.robot.dof());
        let nu = m.nu;
        for j in 0..n {
            m.add_direct(at.x[j] - s.q[j], nu + j, w.q[j]);
            m.add_direct(at.x[n + j] - s.dq[j], nu + n + j, w.dq[j]);
        }
        for j in 0..nu {
            m.add_direct(at.u[j], j, w.tau[j]);
        }
        if k == 0 {
            for j in 0..n {
                m.add_direct(at.x[j] - s.q[j], nu + j, w.first[j]);
                m.add_direct(at.x[n + j] - s.dq[j], nu + n + j, w.first[n + j]);
            }
            for i in 0..at.theta.len() {
                m.add_direct(at.theta[i] - self.prior[i], nu + 2 * n + i, w.theta[i]);
            }
        }
    }
}

/// One over the squares of standard deviations; zero for infinite ones where `open` allows it.
fn weights(what: &str, deviations: &[f64], expected: usize, open: bool) -> Result<Vec<f64>, EstimateError> {
    if deviations.len() != expected {
        let what = format!("standard deviations of {what}");
        return Err(EstimateError::Size { what, found: deviations.len(), expected });
    }
    let bad = deviations.iter().find(|&&d| !(d > 0.0 && (open || d.is_finite())));
    match bad {
        Some(&value) => {
            Err(EstimateError::Deviation { what: format!("the standard deviation of {what}"), value })
        }
        None => Ok(deviations.iter().map(|d| 1.0 / (d * d)).collect()),
    }
}

/// Scratch space of one thread.
#[derive(Debug)]
pub struct ArmSpace {
    motion: Motion<f64>,
    slopes: Motion<D>,
    composites: Composites<f64>,
    wrenches: Vec<Wrench<f64>>,
    slope_wrenches: Vec<Wrench<D>>,
    constants: Vec<D>,
    parameters: Vec<f64>,
    theta: Vec<f64>,
    middle: Vec<f64>,
    tau: Vec<f64>,
    acceleration: Vec<f64>,
    zero: Vec<f64>,
    mass: Vec<f64>,
    factor: Mat,
    duals: [Vec<D>; 4],
    regressor: Vec<f64>,
    /// da: columns of dq, ddq, then theta; n x (2 n + nt).
    slope: Mat,
    /// M^-1.
    inverse: Mat,
}

impl ArmSpace {
    fn new(problem: &ArmProblem) -> Self {
        let (robot, nt) = (&*problem.robot, problem.map.len());
        let n = robot.dof();
        let dual = || vec![D::zero(); n];
        Self {
            motion: Motion::new(robot),
            slopes: Motion::new(robot),
            composites: Composites::new(robot),
            wrenches: vec![Wrench::zero(); n],
            slope_wrenches: vec![Wrench::zero(); n],
            constants: vec![D::zero(); robot.parameter_count()],
            parameters: problem.map.nominal.clone(),
            theta: vec![f64::NAN; nt],
            middle: vec![0.0; n],
            tau: vec![0.0; n],
            acceleration: vec![0.0; n],
            zero: vec![0.0; n],
            mass: vec![0.0; n * n],
            factor: Mat::zeros(n, n),
            duals: [dual(), dual(), dual(), dual()],
            regressor: vec![0.0; n * INERTIAL * n],
            slope: Mat::zeros(n, 2 * n + nt),
            inverse: Mat::zeros(n, n),
        }
    }

    /// Physical parameters at theta, computed anew only where theta has changed.
    fn parameterise(&mut self, problem: &ArmProblem, theta: &[f64]) {
        if self.theta != theta || theta.is_empty() {
            problem.map.fill(&problem.robot, theta, &mut self.parameters);
            self.theta.copy_from_slice(theta);
            for (out, &p) in self.constants.iter_mut().zip(&self.parameters) {
                *out = D::constant(p);
            }
        }
    }

    /// The acceleration in the middle of the interval; the mass matrix stays factored.
    fn accelerate(&mut self, problem: &ArmProblem, k: usize, at: Point<'_>) -> Result<(), String> {
        let (robot, n) = (&*problem.robot, problem.robot.dof());
        self.parameterise(problem, at.theta);
        let (q, dq) = at.x.split_at(n);
        for j in 0..n {
            self.middle[j] = q[j] + 0.5 * problem.step * dq[j];
        }
        self.motion.sweep(robot, &self.middle, dq, dq, &self.zero);
        rnea(robot, &self.motion, &self.parameters, &mut self.wrenches, &mut self.tau);
        crba(robot, &self.motion, &self.parameters, &mut self.composites, &mut self.mass);
        for j in 0..n {
            let f = &self.parameters[robot.friction_index(j)..];
            let friction = f[COULOMB] * sign(robot, dq[j]).0 + f[VISCOUS] * dq[j] + f[OFFSET];
            self.acceleration[j] = problem.samples[k].tau[j] + at.u[j] - self.tau[j] - friction;
            self.factor.col_mut(j).copy_from_slice(&self.mass[n * j..n * (j + 1)]);
            self.factor[(j, j)] += f[ARMATURE];
        }
        if !partial_cholesky(&mut self.factor, n) {
            return Err("the mass matrix is not positive definite".into());
        }
        solve_lower(&self.factor, &mut self.acceleration);
        solve_lower_transposed(&self.factor, &mut self.acceleration);
        Ok(())
    }

    /// Derivatives of the acceleration with respect to the middle position, the velocity and theta, and M^-1.
    fn differentiate(&mut self, problem: &ArmProblem, at: Point<'_>) {
        let (robot, n) = (&*problem.robot, problem.robot.dof());
        let dq = &at.x[n..];
        let [q_dual, dq_dual, a_dual, tau_dual] = &mut self.duals;
        for start in (0..2 * n).step_by(DIRECTIONS) {
            for j in 0..n {
                q_dual[j] = D::constant(self.middle[j]);
                dq_dual[j] = D::constant(dq[j]);
                a_dual[j] = D::constant(self.acceleration[j]);
            }
            let width = DIRECTIONS.min(2 * n - start);
            for d in 0..width {
                let c = start + d;
                if c < n { q_dual[c].slope[d] = 1.0 } else { dq_dual[c - n].slope[d] = 1.0 }
            }
            self.slopes.sweep(robot, q_dual, dq_dual, dq_dual, a_dual);
            rnea(robot, &self.slopes, &self.constants, &mut self.slope_wrenches, tau_dual);
            for d in 0..width {
                for (out, tau) in self.slope.col_mut(start + d).iter_mut().zip(tau_dual.iter()) {
                    *out = -tau.slope[d];
                }
            }
        }
        for j in 0..n {
            let f = &self.parameters[robot.friction_index(j)..];
            self.slope[(j, n + j)] -= f[VISCOUS] + f[COULOMB] * sign(robot, dq[j]).1;
        }
        self.motion.sweep(robot, &self.middle, dq, dq, &self.acceleration);
        for (b, &(body, _)) in problem.map.bodies.iter().enumerate() {
            torque_regressor(robot, &self.motion, body..body + 1, &mut self.regressor);
            let block = problem.map.block(at.theta, b);
            for c in 0..INERTIAL {
                let out = self.slope.col_mut(2 * n + INERTIAL * b + c);
                for (j, out) in out.iter_mut().enumerate() {
                    let row = &self.regressor[n * INERTIAL * j + INERTIAL * body..][..INERTIAL];
                    // Joints that do not carry the body have a row of zeros, and old entries of other bodies beside.
                    *out = -row.iter().zip(block.column(c).iter()).map(|(y, p)| y * p).sum::<f64>();
                }
            }
        }
        for (i, &(j, which)) in problem.map.joints.iter().enumerate() {
            let column = self.slope.col_mut(2 * n + INERTIAL * problem.map.bodies.len() + i);
            column.fill(0.0);
            column[j] = -match which.index() {
                COULOMB => sign(robot, dq[j]).0,
                VISCOUS => dq[j],
                ARMATURE => self.acceleration[j],
                _ => 1.0,
            };
        }
        for c in 0..self.slope.cols() {
            solve_lower(&self.factor, self.slope.col_mut(c));
            solve_lower_transposed(&self.factor, self.slope.col_mut(c));
        }
        for j in 0..n {
            let column = self.inverse.col_mut(j);
            column.fill(0.0);
            column[j] = 1.0;
            solve_lower(&self.factor, column);
            solve_lower_transposed(&self.factor, column);
        }
    }
}

/// Direction of Coulomb friction, a clamped ramp below the stiction speed, and its slope.
fn sign(robot: &Robot, dq: f64) -> (f64, f64) {
    let speed = robot.control.stiction_speed_rad_s;
    let ratio = dq / speed;
    if ratio.abs() < 1.0 { (ratio, 1.0 / speed) } else { (ratio.signum(), 0.0) }
}

impl Problem for ArmProblem {
    type Workspace = ArmSpace;

    fn workspace(&self) -> ArmSpace {
        ArmSpace::new(self)
    }

    fn stages(&self) -> usize {
        self.samples.len()
    }

    fn size(&self, k: usize) -> StageSize {
        let n = self.robot.dof();
        StageSize { state: 2 * n, tangent: 2 * n, input: if self.last(k) { 0 } else { n }, constraints: 0 }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        (self.map.len(), 0, self.lower.len())
    }

    fn evaluate(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut ArmSpace,
        out: &mut StageValues,
    ) -> Result<(), String> {
        out.cost = self.cost(k, at);
        if self.last(k) {
            return Ok(());
        }
        s.accelerate(self, k, at)?;
        let (n, h) = (self.robot.dof(), self.step);
        for j in 0..n {
            out.next[j] = at.x[j] + h * at.x[n + j] + 0.5 * h * h * s.acceleration[j];
            out.next[n + j] = at.x[n + j] + h * s.acceleration[j];
        }
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut ArmSpace,
        m: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, s, out)?;
        self.add_costs(k, at, m);
        if self.last(k) {
            return Ok(());
        }
        s.differentiate(self, at);
        let (n, h) = (self.robot.dof(), self.step);
        for i in 0..n {
            // da_i in the order (w, q, dq, theta); the middle position moves with dq as well.
            let row = m.jac.col_mut(n + i);
            for j in 0..n {
                row[j] = h * s.inverse[(i, j)];
                row[n + j] = h * s.slope[(i, j)];
                row[2 * n + j] = h * (s.slope[(i, n + j)] + 0.5 * h * s.slope[(i, j)]);
            }
            for t in 0..self.map.len() {
                row[3 * n + t] = h * s.slope[(i, 2 * n + t)];
            }
        }
        for i in 0..n {
            for j in 0..m.n() {
                m.jac[(j, i)] = 0.5 * h * m.jac[(j, n + i)];
            }
            m.jac[(n + i, i)] += 1.0;
            m.jac[(2 * n + i, i)] += h;
            m.jac[(2 * n + i, n + i)] += 1.0;
        }
        Ok(())
    }

    fn constrain_parameters(&self, theta: &[f64], out: &mut super::ParameterModel) {
        for (row, &(i, bound)) in self.lower.iter().enumerate() {
            out.inequality_values[row] = theta[i] - bound;
            out.inequalities[(i, row)] = 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::{Coordinates, JointParameter};
    use super::*;
    use crate::robot::load;

    /// A problem with everything estimated, at an arbitrary place.
    fn problem(coordinates: Coordinates) -> ArmProblem {
        let robot = Arc::new(load("robots/kinova_gen3_2f85.toml").unwrap());
        let n = robot.dof();
        let mut map = ParameterMap::none(&robot);
        map.bodies = vec![(6, coordinates), (2, coordinates)];
        use JointParameter::{Armature, Coulomb, Offset, Viscous};
        map.joints = vec![(0, Coulomb), (3, Viscous), (5, Armature), (6, Offset)];
        let wave = |p: f64| (0..n).map(|j| (p + j as f64).sin()).collect::<Vec<_>>();
        let sample = |k: usize| Sample { q: wave(0.1 * k as f64), dq: wave(1.0), tau: wave(2.0) };
        let deviations = Deviations {
            q: vec![1e-3; n],
            dq: vec![1e-2; n],
            tau: vec![0.1; n],
            first_q: vec![1.0; n],
            first_dq: vec![f64::INFINITY; n],
            theta: vec![0.5; map.len()],
        };
        ArmProblem::new(robot, map, (0..3).map(sample).collect(), 0.01, &deviations).unwrap()
    }

    #[test]
    fn derivatives_agree_with_finite_differences() {
        for coordinates in [Coordinates::LogCholesky, Coordinates::ExponentialEigenvalue] {
            let p = problem(coordinates);
            let mut guess = p.guess();
            guess.theta.iter_mut().enumerate().for_each(|(i, t)| *t += 0.01 * (i as f64).cos());
            guess.us[0].iter_mut().enumerate().for_each(|(i, u)| *u = (i as f64).sin());
            let (mut s, size) = (p.workspace(), p.size(0));
            let mut model = StageModel::new(size, 2 * p.robot.dof(), p.map.len());
            let blank = || StageValues { cost: 0.0, next: vec![0.0; size.state], constraints: vec![] };
            let mut out = blank();
            p.linearise(0, guess.at(0), &mut s, &mut model, &mut out).unwrap();
            let (nu, nx) = (size.input, size.tangent);
            for i in 0..model.n() {
                let step = 1e-5;
                let moved = |sign: f64, s: &mut ArmSpace| {
                    let mut g = guess.clone();
                    if i < nu {
                        g.us[0][i] += sign * step;
                    } else if i < nu + nx {
                        g.xs[0][i - nu] += sign * step;
                    } else {
                        g.theta[i - nu - nx] += sign * step;
                    }
                    let mut out = blank();
                    p.evaluate(0, g.at(0), s, &mut out).unwrap();
                    out
                };
                let (up, down) = (moved(1.0, &mut s), moved(-1.0, &mut s));
                let slope = (up.cost - down.cost) / (2.0 * step);
                assert!((slope - model.grad[i]).abs() < 1e-4 * (1.0 + slope.abs()), "cost by {i}");
                for c in 0..nx {
                    let slope = (up.next[c] - down.next[c]) / (2.0 * step);
                    let e = (slope - model.jac[(i, c)]).abs();
                    assert!(e < 1e-7 * (1.0 + slope.abs()), "{coordinates:?}: d f_{c} / d {i}: {e:e}");
                }
            }
        }
    }

    #[test]
    fn bad_input_is_told() {
        let p = problem(Coordinates::LogCholesky);
        let n = p.robot.dof();
        let good = Deviations {
            q: vec![1e-3; n],
            dq: vec![1e-2; n],
            tau: vec![0.1; n],
            first_q: vec![1.0; n],
            first_dq: vec![1.0; n],
            theta: vec![0.5; p.map.len()],
        };
        let build = |d: &Deviations, samples: Vec<Sample>, step| {
            ArmProblem::new(p.robot.clone(), p.map.clone(), samples, step, d)
                .map(|_| ())
                .unwrap_err()
                .to_string()
        };
        let missing = Deviations { tau: vec![0.0; n], ..good.clone() };
        assert!(build(&missing, p.samples.clone(), 0.01).contains("standard deviation of the torques"));
        let short = Deviations { theta: vec![1.0], ..good.clone() };
        assert!(build(&short, p.samples.clone(), 0.01).contains("1 numbers, expected 24"));
        let mut samples = p.samples.clone();
        samples[1].dq.pop();
        assert!(build(&good, samples, 0.01).contains("dq of sample 1: 6 numbers, expected 7"));
        let mut samples = p.samples.clone();
        samples[2].tau[0] = f64::NAN;
        assert!(build(&good, samples, 0.01).contains("stage 2"));
        assert!(build(&good, p.samples.clone(), f64::NAN).contains("sampling interval"));
        assert!(build(&good, Vec::new(), 0.01).contains("samples: 0"));
    }
}
