//! Estimation of states and parameters from encoders, as a problem of [`crate::estimate`].
//!
//! For those who change what is estimated. The cost is that of [5, eq. 3.15],
//!
//! ```text
//! (kappa |p|^2 + |y - angles|^2) / (2 sigma^2)
//! ```
//!
//! with p the impulses from outside that a trajectory needs, and y what encoders read. The first state meets the constraints: (4/h) Upsilon g and
//! G v + (4/h) Upsilon g of it, times the mass of the whole, count as impulses ([5, eqs. 3.16 and 3.17] in other weights: there the first inverts a singular
//! matrix). [`DiscreteForm`] says what the unknowns are. The cost of one trajectory is the same in each.

mod questions;
mod residuals;
mod slopes;

use super::complementarity::{StepSpace, first_guess};
use super::equations::{Equations, HingeFriction, Start};
use super::error::DiscreteError;
use super::geometry::Geometry;
use super::inverse::Inverse;
use super::mechanism::{Mechanism, move_pose, pose_difference, three};
use super::parameters::MechanismParameter;
use crate::estimate::ParameterModel;
use crate::estimate::problem::{EstimationProblem, Point, StageValues, Trajectory};
use crate::estimate::stage::{StageModel, StageSize};
use crate::linear::dense::Mat;

/// Where impulses from outside act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutsideImpulses {
    /// As in \[5\]: one on each body for the velocities, and another for the configuration, which need not agree.
    Twice,
    /// On each body, one for both.
    Bodies,
    /// About the hinges' axes.
    #[default]
    Hinges,
}

/// What the unknowns of a stage are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiscreteForm {
    /// The change of the state; impulses follow from it by inverse dynamics, \[5\]. Needs compliant rows and [`OutsideImpulses::Twice`].
    Changes,
    /// The impulses; the state follows from them by a step, so that no stiff row gets into the weights.
    #[default]
    Impulses,
}

/// A parameter that is estimated. Inside, it is counted in units of `scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoughtParameter {
    /// Which.
    pub parameter: MechanismParameter,
    /// Where to start.
    pub start: f64,
    /// A size that it may have, above 0.
    pub scale: f64,
    /// Least value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// What is known beforehand: a value and its standard deviation.
    pub prior: Option<[f64; 2]>,
}

impl SoughtParameter {
    /// A parameter that starts at `start`, within its physical bounds, without a prior.
    pub fn new(parameter: MechanismParameter, start: f64) -> Self {
        let scale = if start == 0.0 { 1e-3 } else { start.abs() };
        Self { parameter, start, scale, lower: parameter.floor(), upper: f64::INFINITY, prior: None }
    }
}

/// What was recorded, at times one step apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EncoderLog {
    /// Step, s.
    pub step_s: f64,
    /// Angles of the hinges at each time, rad; a reading that is not finite is none.
    pub angles: Vec<Vec<f64>>,
    /// Controls around each time, from half a step before to half a step behind, one a joint; the last serve nothing. (A step's force acts at its beginning, between the
    /// changes of configuration before and behind it.)
    pub controls: Vec<Vec<f64>>,
}

/// How residuals are weighted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResidualWeights {
    /// kappa, rad^2 / (N m s)^2.
    pub kappa: f64,
    /// Standard deviation of an encoder's reading, rad.
    pub angle_rad: f64,
}

/// The problem.
#[derive(Debug, Clone)]
pub struct DiscreteProblem {
    pub(super) mechanism: Mechanism,
    pub(super) equations: Equations,
    pub(super) hinges: Vec<usize>,
    pub(super) log: EncoderLog,
    pub(super) unknowns: Vec<SoughtParameter>,
    pub(super) parameters: Vec<MechanismParameter>,
    pub(super) weights: ResidualWeights,
    impulses: OutsideImpulses,
    form: DiscreteForm,
    /// Mass of all bodies, kg, as it is at first.
    anchor: f64,
}

/// Scratch space of one thread.
#[derive(Debug, Clone)]
pub struct DiscreteSpace {
    pub(super) mechanism: Mechanism,
    theta: Vec<f64>,
    pub(super) geometry: Geometry,
    pub(super) step: [StepSpace; 2],
    pub(super) friction: [Vec<HingeFriction>; 2],
    pub(super) inverse: [Inverse; 2],
    slopes: Vec<f64>,
    row: Vec<f64>,
    gradient: Vec<f64>,
    block: Mat,
}

impl DiscreteProblem {
    /// The problem of estimating `unknowns` of a mechanism from a log.
    ///
    /// # Errors
    /// [`DiscreteError`] for numbers that cannot be, logs of other sizes than the mechanism's, and unknowns that it does not have.
    pub fn new(
        mechanism: Mechanism,
        log: EncoderLog,
        unknowns: Vec<SoughtParameter>,
        weights: ResidualWeights,
        impulses: OutsideImpulses,
        form: DiscreteForm,
    ) -> Result<Self, DiscreteError> {
        let hinges = mechanism.hinges();
        super::check::log(&mechanism, &log)?;
        super::check::unknowns(&mechanism, &unknowns)?;
        super::check::weights(&weights)?;
        super::check::form(&mechanism, impulses, form)?;
        let mut mechanism = mechanism;
        unknowns.iter().for_each(|u| u.parameter.set(&mut mechanism, u.start));
        mechanism.check_at_rest()?;
        let equations = Equations::new(&mechanism, log.step_s);
        let anchor = mechanism.bodies.iter().map(|b| b.mass_kg).sum();
        let parameters = unknowns.iter().map(|u| u.parameter).collect();
        Ok(Self { mechanism, equations, hinges, log, unknowns, parameters, weights, impulses, form, anchor })
    }

    /// The same with other unknowns of each stage.
    ///
    /// # Errors
    /// Where rows without compliance, or other impulses than \[5\]'s, exclude it.
    pub fn formulated(mut self, form: DiscreteForm) -> Result<Self, DiscreteError> {
        super::check::form(&self.mechanism, self.impulses, form)?;
        self.form = form;
        Ok(self)
    }

    /// The parameters that are estimated.
    pub fn unknowns(&self) -> &[SoughtParameter] {
        &self.unknowns
    }

    /// The log.
    pub fn log(&self) -> &EncoderLog {
        &self.log
    }

    /// How residuals are weighted.
    pub fn weights(&self) -> ResidualWeights {
        self.weights
    }

    /// The mechanism with the parameters `theta` (in their units of scale).
    pub fn mechanism_at(&self, theta: &[f64]) -> Mechanism {
        let mut mechanism = self.mechanism.clone();
        for (unknown, theta) in self.unknowns.iter().zip(theta) {
            // Bounds are met to rounding.
            let value = (theta * unknown.scale).clamp(unknown.lower, unknown.upper);
            unknown.parameter.set(&mut mechanism, value);
        }
        mechanism
    }

    /// States through these angles (rad, of the hinges at each time), all constraints met, with the parameters' starts. Velocities lead from each state to the
    /// next one ([5, eq. 4.3]).
    ///
    /// # Errors
    /// [`DiscreteError::Joint`] for mechanisms that angles do not place.
    pub fn guess(&self, angles: &[Vec<f64>]) -> Result<Trajectory, DiscreteError> {
        let (h, nv) = (self.equations.h, self.equations.nv);
        let poses = angles.iter().map(|a| self.mechanism.assemble(a)).collect::<Result<Vec<_>, _>>()?;
        let mut xs: Vec<Vec<f64>> = vec![];
        for k in 0..poses.len() {
            let mut d = vec![0.0; nv];
            let (from, to) = if k == 0 { (0, 1.min(poses.len() - 1)) } else { (k - 1, k) };
            pose_difference(&poses[to], &poses[from], &mut d);
            xs.push(poses[k].iter().copied().chain(d.iter().map(|d| d / h)).collect());
        }
        let theta = self.unknowns.iter().map(|u| u.start / u.scale).collect();
        let mut us = vec![];
        for k in 0..xs.len() {
            let mut u = vec![0.0; self.size(k).input];
            if self.form == DiscreteForm::Changes && k + 1 < xs.len() {
                self.difference(k + 1, &xs[k + 1], &xs[k], &mut u);
            }
            us.push(u);
        }
        Ok(Trajectory { xs, us, theta })
    }

    pub(super) fn last(&self) -> usize {
        self.log.angles.len() - 1
    }

    /// Mechanism and geometry at a point.
    pub(super) fn place(&self, at: Point<'_>, space: &mut DiscreteSpace) {
        if space.theta != at.theta {
            space.theta.clear();
            space.theta.extend_from_slice(at.theta);
            for (unknown, theta) in self.unknowns.iter().zip(at.theta) {
                unknown.parameter.set(&mut space.mechanism, theta * unknown.scale);
            }
        }
        space.geometry.update(&space.mechanism, &at.x[..self.mechanism.pose_numbers()]);
    }

    /// Whether a mechanism with these parameters can move.
    pub(super) fn possible(&self, theta: &[f64]) -> Result<(), String> {
        for (unknown, theta) in self.unknowns.iter().zip(theta) {
            let positive =
                matches!(unknown.parameter, MechanismParameter::Mass(_) | MechanismParameter::Inertia(..));
            let value = theta * unknown.scale;
            if !value.is_finite() || positive && value <= 0.0 {
                return Err(format!("{} is {value}", unknown.parameter.name(&self.mechanism)));
            }
        }
        Ok(())
    }

    /// Impulse p of an input of the implicit form; `i` is 0 for the velocities, 1 for the configuration of [`OutsideImpulses::Twice`].
    fn impulse(&self, u: &[f64], i: usize, geometry: &Geometry) -> Vec<f64> {
        let nv = self.equations.nv;
        match self.impulses {
            OutsideImpulses::Twice => u[i * nv..(i + 1) * nv].to_vec(),
            OutsideImpulses::Bodies => u.to_vec(),
            OutsideImpulses::Hinges => {
                let mut p = vec![0.0; nv];
                for (j, u) in self.hinges.iter().zip(u) {
                    geometry.joints[*j].add_torque(*u, &mut p);
                }
                p
            }
        }
    }

    fn steps(&self) -> usize {
        if self.impulses == OutsideImpulses::Twice { 2 } else { 1 }
    }

    /// Solves the step of stage `k`; the velocities that move the state and its configuration. What dry friction did is remembered: most often it does the same when
    /// it is asked again.
    pub(super) fn step(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut DiscreteSpace,
        memory: &mut Vec<f64>,
    ) -> Result<(), String> {
        let v = &at.x[self.mechanism.pose_numbers()..];
        let dry = self.equations.dry.len();
        let known = memory.len() == self.steps() * dry * HingeFriction::NUMBERS;
        for i in 0..self.steps() {
            let p = self.impulse(at.u, i, &space.geometry);
            let start = Start {
                mechanism: &space.mechanism,
                geometry: &space.geometry,
                v,
                controls: &self.log.controls[k],
            };
            space.friction[i] = if known {
                let own = memory.chunks_exact(HingeFriction::NUMBERS).skip(i * dry).take(dry);
                own.map(HingeFriction::from_numbers).collect()
            } else {
                first_guess(&self.equations, &space.geometry, v)
            };
            space.step[i]
                .solve(&self.equations, start, &p, &mut space.friction[i])
                .map_err(|e| e.to_string())?;
        }
        memory.clear();
        memory.extend(space.friction[..self.steps()].iter().flatten().flat_map(|f| f.numbers()));
        Ok(())
    }

    /// Where impulses from outside act.
    pub fn impulses(&self) -> OutsideImpulses {
        self.impulses
    }

    /// What the unknowns of a stage are.
    pub fn form(&self) -> DiscreteForm {
        self.form
    }

    /// Inverse dynamics between two states: impulses for the velocities, then for the configuration.
    pub(super) fn invert(
        &self,
        k: usize,
        v: &[f64],
        w: [&[f64]; 2],
        space: &mut DiscreteSpace,
        slopes: bool,
    ) -> Result<(), String> {
        let start = Start {
            mechanism: &space.mechanism,
            geometry: &space.geometry,
            v,
            controls: &self.log.controls[k],
        };
        for (inverse, w) in space.inverse.iter_mut().zip(w) {
            inverse.solve(&self.equations, start, w)?;
            if slopes {
                inverse.linearise(&self.equations, start, &self.unknowns, &self.parameters);
            }
        }
        Ok(())
    }

    /// Velocities of a change of state: those after it, and those that move the configuration.
    fn velocities(&self, v: &[f64], u: &[f64]) -> [Vec<f64>; 2] {
        let nv = self.equations.nv;
        let after = v.iter().zip(&u[nv..]).map(|(v, u)| v + u).collect();
        [after, u[..nv].iter().map(|u| u / self.equations.h).collect()]
    }
}

impl EstimationProblem for DiscreteProblem {
    type Workspace = DiscreteSpace;

    fn workspace(&self) -> DiscreteSpace {
        DiscreteSpace {
            mechanism: self.mechanism.clone(),
            theta: vec![f64::NAN],
            geometry: Geometry::default(),
            step: Default::default(),
            friction: Default::default(),
            inverse: Default::default(),
            slopes: vec![],
            row: vec![],
            gradient: vec![],
            block: Mat::zeros(0, 0),
        }
    }

    fn stages(&self) -> usize {
        self.log.angles.len()
    }

    fn size(&self, k: usize) -> StageSize {
        let nv = self.equations.nv;
        let input = match (k == self.last(), self.form, self.impulses) {
            (true, ..) => 0,
            (_, DiscreteForm::Changes, _) | (_, _, OutsideImpulses::Twice) => 2 * nv,
            (_, _, OutsideImpulses::Bodies) => nv,
            (_, _, OutsideImpulses::Hinges) => self.hinges.len(),
        };
        StageSize { state: self.mechanism.pose_numbers() + nv, tangent: 2 * nv, input, constraints: 0 }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        let bounds =
            |u: &SoughtParameter| usize::from(u.lower.is_finite()) + usize::from(u.upper.is_finite());
        (self.unknowns.len(), 0, self.unknowns.iter().map(bounds).sum())
    }

    fn evaluate(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut DiscreteSpace,
        out: &mut StageValues,
    ) -> Result<(), String> {
        let poses = self.mechanism.pose_numbers();
        self.possible(at.theta)?;
        self.place(at, space);
        let mut cost = 0.0;
        self.state_residuals(k, at, space, |r, weight, _| cost += 0.5 * weight * r * r);
        if k == 0 {
            self.prior_cost(at.theta, |_, r, weight| cost += 0.5 * weight * r * r);
        }
        out.next.clear();
        if k < self.last() {
            let weight = self.weights.kappa / self.weights.angle_rad.powi(2);
            out.next.resize(poses + self.equations.nv, 0.0);
            let (pose, velocity) = out.next.split_at_mut(poses);
            let v = &at.x[poses..];
            if self.form == DiscreteForm::Impulses {
                self.step(k, at, space, &mut out.memory)?;
                cost += 0.5 * weight * at.u.iter().map(|u| u * u).sum::<f64>();
                velocity.copy_from_slice(&space.step[0].y[..self.equations.nv]);
                let w = &space.step[self.steps() - 1].y[..self.equations.nv];
                let d: Vec<f64> = w.iter().map(|w| self.equations.h * w).collect();
                move_pose(&at.x[..poses], &d, pose);
            } else {
                let w = self.velocities(v, at.u);
                self.invert(k, v, [&w[0], &w[1]], space, false)?;
                cost += 0.5 * weight * space.inverse.iter().map(Inverse::squares).sum::<f64>();
                velocity.copy_from_slice(&w[0]);
                move_pose(&at.x[..poses], &at.u[..self.equations.nv], pose);
            }
        }
        out.cost = cost;
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut DiscreteSpace,
        model: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, space, out)?;
        let (n, nu, nt) = (model.n(), at.u.len(), self.unknowns.len());
        let mut gradient = std::mem::take(&mut space.gradient);
        gradient.clear();
        gradient.resize(n, 0.0);
        self.state_residuals(k, at, space, |r, weight, slopes| {
            gradient[nu..nu + slopes.len()].copy_from_slice(slopes);
            model.add_residual(r, &gradient, weight);
        });
        space.gradient = gradient;
        if k == 0 {
            self.prior_cost(at.theta, |i, r, weight| model.add_direct(r, n - nt + i, weight));
        }
        if k == self.last() {
            return Ok(());
        }
        if self.form == DiscreteForm::Impulses {
            self.linearise_step(at, k, space, model);
        } else {
            let v = &at.x[self.mechanism.pose_numbers()..];
            let w = self.velocities(v, at.u);
            self.invert(k, v, [&w[0], &w[1]], space, true)?;
            self.linearise_change(at, space, model);
        }
        Ok(())
    }

    fn integrate(&self, _: usize, x: &[f64], dx: &[f64], out: &mut [f64]) {
        let (poses, nv) = (self.mechanism.pose_numbers(), self.equations.nv);
        move_pose(&x[..poses], &dx[..nv], &mut out[..poses]);
        for i in 0..nv {
            out[poses + i] = x[poses + i] + dx[nv + i];
        }
    }

    fn difference(&self, _: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        let (poses, nv) = (self.mechanism.pose_numbers(), self.equations.nv);
        pose_difference(&a[..poses], &b[..poses], &mut out[..nv]);
        for i in 0..nv {
            out[nv + i] = a[poses + i] - b[poses + i];
        }
    }

    fn transport(&self, _: usize, a: &[f64], b: &[f64], _: &mut DiscreteSpace, out: &mut Mat) -> bool {
        let (poses, nv) = (self.mechanism.pose_numbers(), self.equations.nv);
        let mut d = vec![0.0; nv];
        pose_difference(&a[..poses], &b[..poses], &mut d);
        out.reset(2 * nv, 2 * nv);
        (0..2 * nv).for_each(|i| out[(i, i)] = 1.0);
        for body in 0..self.mechanism.bodies.len() {
            let at = 6 * body + 3;
            let slope = crate::linear::rigid_motion::left_jacobian3_inverse(&three(&d, at));
            for i in 0..3 {
                for j in 0..3 {
                    // Column i holds the gradient of component i.
                    out[(at + j, at + i)] = slope[(i, j)];
                }
            }
        }
        true
    }

    fn constrain_parameters(&self, theta: &[f64], out: &mut ParameterModel) {
        let mut row = 0;
        for (i, unknown) in self.unknowns.iter().enumerate() {
            for (bound, sign) in [(unknown.lower, 1.0), (unknown.upper, -1.0)] {
                if bound.is_finite() {
                    out.inequalities.col_mut(row).fill(0.0);
                    out.inequalities[(i, row)] = sign;
                    out.inequality_values[row] = sign * (theta[i] - bound / unknown.scale);
                    row += 1;
                }
            }
        }
    }
}
