//! Estimates with their deviations, in each of the three forms.
//!
//! For those who use the room. A deviation here is that of the cost's own curvature times s, with
//!
//! ```text
//! s^2 = 2 cost / (readings - parameters - free directions of the first state)
//! ```
//!
//! States are fitted as well: there are as many of them as impulses that hold them together, so they leave as many degrees of freedom as there are
//! readings. [5, eqs. 3.26 and 3.27] divide by the number of steps instead, as if no state had been fitted.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::explicit::{ExplicitIteration, LevenbergMarquardt, levenberg_marquardt, symmetric};
use super::mechanism::Mechanism;
use super::problem::{DiscreteForm, DiscreteProblem};
use crate::estimate::ColouredCovariance;
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::{Posterior, describe};
use crate::estimate::problem::{EstimationProblem, StageValues, Trajectory};
use crate::estimate::solver::{Iteration, Solver, SolverOptions, Status};
use crate::linear::rigid_motion::left_jacobian3;

/// Eigenvalues of the scaled information below this belong to directions that nothing tells of.
const UNOBSERVABLE: f64 = 1e-10;

/// In words: the turn that no reading tells of.
const TURN: &str = "turning the stand about gravity";

/// One parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterEstimate {
    /// Name, with that of its body or joint.
    pub name: String,
    /// Unit.
    pub unit: &'static str,
    /// Where it started.
    pub start: f64,
    /// Estimate.
    pub value: f64,
    /// Standard deviation; nothing where an unobservable direction moves it. Of a tilt sought whole: that of the rotation vector whose part along gravity is held.
    pub deviation: Option<f64>,
    /// The same without the belief that errors are independent ([`ColouredCovariance`]); nothing of the explicit form's estimates either.
    pub coloured_deviation: Option<f64>,
    /// Whether it ended at a bound.
    pub bound: bool,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct DiscreteEstimate {
    /// The parameters.
    pub parameters: Vec<ParameterEstimate>,
    /// Directions of the parameters that nothing tells of, in words.
    pub unobservable: Vec<String>,
    /// |y - angles|^2 over the number of times that have readings, rad^2.
    pub observation: f64,
    /// kappa |p|^2 over the number of times, rad^2.
    pub state: f64,
    /// How many times larger errors are than assumed, s.
    pub scale: f64,
    /// Whether the tolerances were met.
    pub converged: bool,
    /// Whether the iteration found no step that lowers the cost, although tolerances promise one.
    pub stalled: bool,
    /// Of the explicit form: share of the cost that one more step promises to gain ([`super::explicit::ExplicitOutcome::promised`]).
    pub promised: Option<f64>,
    /// Iterations.
    pub iterations: usize,
    /// The cost (kappa |p|^2 + |y - angles|^2) before each iteration.
    pub costs: Vec<f64>,
    /// The convergence record, costs as in `costs`.
    pub record: Vec<Iteration>,
    /// Over how many stages errors were found to last ([`ColouredCovariance`]); 1 of the explicit form's.
    pub coloured_length: f64,
    /// States, inputs and parameters.
    pub trajectory: Trajectory,
}

impl DiscreteEstimate {
    /// Sum of both mean squares: the cost that \[5\] tells.
    pub fn cost(&self) -> f64 {
        self.observation + self.state
    }

    /// A parameter by its name.
    pub fn parameter(&self, name: &str) -> Option<&ParameterEstimate> {
        self.parameters.iter().find(|p| p.name == name)
    }
}

impl DiscreteProblem {
    /// Solves by the recursion of [`crate::estimate`]: the implicit form, or the explicit one, as the problem is stated.
    ///
    /// # Errors
    /// As [`Solver::solve`].
    pub fn estimate(
        &self,
        guess: &Trajectory,
        options: SolverOptions,
    ) -> Result<DiscreteEstimate, EstimateError> {
        let mut solver = Solver::new(self, options)?;
        let outcome = solver.solve(guess)?;
        let posterior = solver.posterior(|_, _| ())?;
        let coloured = self.coloured(&mut solver, &posterior)?;
        let (nx, nt) = (self.size(0).tangent, self.unknowns.len());
        let covariance = posterior.arrival.view((nx, nx), (nt, nt)).into_owned();
        let hidden = posterior.unobservable.iter().map(|v| v[nx..].to_vec()).collect();
        let unit = 2.0 * self.weights.angle_rad.powi(2);
        let mut out = self.result(solver.trajectory().clone(), covariance, hidden)?;
        out.converged = outcome.status == Status::Converged;
        out.stalled = outcome.status == Status::Stalled;
        out.iterations = outcome.record.len().saturating_sub(1);
        out.costs = outcome.record.iter().map(|i| unit * i.cost).collect();
        let scaled = |i: &Iteration| Iteration { cost: unit * i.cost, expected: unit * i.expected, ..*i };
        out.record = outcome.record.iter().map(scaled).collect();
        out.coloured_length = coloured.length;
        for (i, row) in out.parameters.iter_mut().enumerate() {
            let gradient = DVector::from_fn(nt, |j, _| if i == j { self.unknowns[i].scale } else { 0.0 });
            row.coloured_deviation = row.deviation.map(|_| coloured.deviation(&gradient));
        }
        Ok(out)
    }

    /// The parameters' covariance by how the stages pull at them.
    fn coloured(
        &self,
        solver: &mut Solver<'_, Self>,
        posterior: &Posterior,
    ) -> Result<ColouredCovariance, EstimateError> {
        let mut scores = solver.scores()?;
        let mut information = vec![0.0; self.unknowns.len()];
        let theta = solver.trajectory().theta.clone();
        // The prior's own pull is known by its covariance.
        self.prior_cost(&theta, |i, r, weight| {
            scores[(0, i)] -= weight * r;
            information[i] = weight;
        });
        Ok(ColouredCovariance::of_scores(&scores, posterior, &information))
    }

    /// Solves as \[5\] does ([`levenberg_marquardt`]).
    ///
    /// # Errors
    /// As [`levenberg_marquardt`]; the problem must be stated with changes of state as unknowns.
    pub fn estimate_explicitly(
        &self,
        guess: &Trajectory,
        options: LevenbergMarquardt,
    ) -> Result<DiscreteEstimate, EstimateError> {
        let outcome = levenberg_marquardt(self, guess, options)?;
        let free = self.free_changes();
        let information = symmetric(&outcome.information) / self.weights.angle_rad.powi(2);
        let (covariance, hidden) = invert(&(free.transpose() * information * &free));
        let covariance = &free * covariance * free.transpose();
        let hidden = hidden.into_iter().map(|v| (&free * DVector::from_vec(v)).as_slice().to_vec()).collect();
        let mut trajectory = outcome.trajectory;
        for k in 0..self.last() {
            let mut u = vec![0.0; self.size(k).input];
            self.difference(k + 1, &trajectory.xs[k + 1], &trajectory.xs[k], &mut u);
            trajectory.us[k] = u;
        }
        let mut out = self.result(trajectory, covariance, hidden)?;
        (out.converged, out.promised) = (outcome.converged, Some(outcome.promised));
        out.iterations = outcome.record.len();
        out.costs = outcome.record.iter().map(|i| i.cost).collect();
        let row = |i: &ExplicitIteration| Iteration {
            cost: i.cost,
            violation: 0.0,
            expected: i.promised,
            step: 1.0,
            trials: 1,
            damping: i.damping,
        };
        out.record = outcome.record.iter().map(row).collect();
        Ok(out)
    }

    /// Mean squares of readings and of impulses (times kappa) along a trajectory.
    ///
    /// # Errors
    /// [`EstimateError::Stage`] where a stage cannot be evaluated.
    pub fn mean_squares(&self, at: &Trajectory) -> Result<(f64, f64), EstimateError> {
        let (mut space, mut values) = (self.workspace(), StageValues::default());
        let (mut cost, mut seen) = (0.0, 0.0);
        for k in 0..=self.last() {
            self.evaluate(k, at.at(k), &mut space, &mut values)
                .map_err(|reason| EstimateError::Stage { stage: k, reason })?;
            cost += values.cost;
            self.state_residuals(k, at.at(k), &mut space, |r, weight, _| {
                // Readings alone: the first state's constraints have other weights.
                if weight == self.weights.angle_rad.powi(-2) {
                    seen += r * r;
                }
            });
        }
        let count = self.times();
        Ok((seen / count, (2.0 * cost * self.weights.angle_rad.powi(2) - seen) / count))
    }

    /// At how many times there is a reading.
    fn times(&self) -> f64 {
        let read = |angles: &&Vec<f64>| angles.iter().any(|a| a.is_finite());
        self.log.angles.iter().filter(read).count() as f64
    }

    fn result(
        &self,
        trajectory: Trajectory,
        covariance: DMatrix<f64>,
        hidden: Vec<Vec<f64>>,
    ) -> Result<DiscreteEstimate, EstimateError> {
        let (observation, state) = self.mean_squares(&trajectory)?;
        let readings = self.log.angles.iter().flatten().filter(|a| a.is_finite()).count();
        let free = 2 * (self.equations.nv - self.equations.nr.min(self.equations.nv));
        let untold = hidden.len() + usize::from(self.holds_turn());
        let taken = self.unknowns.len() - untold.min(self.unknowns.len()) + free;
        let freedom = readings.saturating_sub(taken).max(1) as f64;
        let count = self.times();
        let scale = ((observation + state) * count / freedom).sqrt() / self.weights.angle_rad;
        let names: Vec<String> = self.unknowns.iter().map(|u| u.parameter.name(&self.mechanism)).collect();
        let parameters = (0..self.unknowns.len())
            .map(|i| {
                let u = &self.unknowns[i];
                let value = (trajectory.theta[i] * u.scale).clamp(u.lower, u.upper);
                let seen = !self.is_held(i) && hidden.iter().all(|v| v[i].abs() < 1e-4);
                let near = |bound: f64| (value - bound).abs() <= 1e-9 * u.scale;
                ParameterEstimate {
                    name: names[i].clone(),
                    unit: u.parameter.unit(),
                    start: u.start,
                    value,
                    deviation: seen.then(|| scale * u.scale * covariance[(i, i)].max(0.0).sqrt()),
                    coloured_deviation: None,
                    bound: near(u.lower) || near(u.upper),
                }
            })
            .collect();
        let mechanism = self.mechanism_at(&trajectory.theta);
        // What no recording can tell is named whether or not this one could have decided it by its rounding.
        let held = self.holds_turn().then(|| TURN.to_owned());
        let named = hidden.iter().map(|v| self.name_direction(v, &names, &mechanism));
        let unobservable = held.into_iter().chain(named).collect();
        Ok(DiscreteEstimate {
            parameters,
            unobservable,
            observation,
            state,
            scale,
            converged: false,
            stalled: false,
            promised: None,
            iterations: 0,
            costs: vec![],
            record: vec![],
            coloured_length: 1.0,
            trajectory,
        })
    }

    /// A direction in words: turning the tilted stand about gravity by its name.
    fn name_direction(&self, direction: &[f64], names: &[String], at: &Mechanism) -> String {
        use super::parameters::MechanismParameter::Tilt;
        let physical: Vec<f64> = direction.iter().zip(&self.unknowns).map(|(d, u)| d * u.scale).collect();
        let mut turn = nalgebra::Vector3::zeros();
        let mut rest = 0.0f64;
        for (i, u) in self.unknowns.iter().enumerate() {
            match u.parameter {
                Tilt(axis) => turn[axis] = physical[i],
                _ => rest = rest.max(direction[i].abs()),
            }
        }
        // A change of the rotation vector turns the stand by this, and gravity with it.
        let turned = left_jacobian3(&at.tilt_rad) * turn;
        let about = turned.normalize().dot(&at.gravity().normalize()).abs();
        if rest < 0.05 && about > 0.99 {
            return TURN.into();
        }
        describe(direction, names)
    }

    /// Explicit form for the same problem.
    ///
    /// # Errors
    /// As [`DiscreteProblem::formulated`].
    pub fn explicit(self) -> Result<Self, super::DiscreteError> {
        self.formulated(DiscreteForm::Changes)
    }
}

/// The inverse of an information matrix, directions that nothing tells of left out, and these, of length one.
fn invert(information: &DMatrix<f64>) -> (DMatrix<f64>, Vec<Vec<f64>>) {
    let n = information.nrows();
    let scale: Vec<f64> = (0..n).map(|i| information[(i, i)].max(f64::MIN_POSITIVE).sqrt().recip()).collect();
    let scaled = DMatrix::from_fn(n, n, |i, j| information[(i, j)] * scale[i] * scale[j]);
    let eigen = SymmetricEigen::new(scaled);
    let (mut covariance, mut hidden) = (DMatrix::zeros(n, n), vec![]);
    for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        let direction = nalgebra::DVector::from_fn(n, |i, _| vector[i] * scale[i]);
        if *value > UNOBSERVABLE {
            covariance += &direction * direction.transpose() / *value;
        } else {
            hidden.push(direction.normalize().as_slice().to_vec());
        }
    }
    (covariance, hidden)
}
