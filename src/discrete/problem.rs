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

mod constraints;
mod questions;
mod residuals;
mod slopes;
mod statement;

use nalgebra::Vector3;

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

pub use statement::{DiscreteForm, EncoderLog, OutsideImpulses, ResidualWeights, SoughtParameter};

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
    pub(super) form: DiscreteForm,
    /// Mass of all bodies, kg, as it is at first.
    anchor: f64,
    /// Direction of gravity about which the stand is kept from turning, if it is.
    held_turn: Option<Vector3<f64>>,
    /// Whether inertias that no body has are excluded.
    consistent: bool,
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
    impulse: Vec<f64>,
    /// How far a step moves the bodies.
    moves: Vec<f64>,
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
        super::check::motion(&mechanism, (&log, weights.angle_rad), &unknowns)?;
        let mut mechanism = mechanism;
        unknowns.iter().for_each(|u| u.parameter.set(&mut mechanism, u.start));
        mechanism.check_at_rest()?;
        let equations = Equations::new(&mechanism, log.step_s);
        let anchor = mechanism.bodies.iter().map(|b| b.mass_kg).sum();
        let parameters = unknowns.iter().map(|u| u.parameter).collect();
        let held_turn = constraints::held_direction(&mechanism.gravity_m_s2, &unknowns);
        Ok(Self {
            mechanism,
            equations,
            hinges,
            log,
            unknowns,
            parameters,
            weights,
            impulses,
            form,
            anchor,
            held_turn,
            consistent: false,
        })
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

    /// The same with sought inertias kept such that a body can have them: no principal moment above the sum of the other two.
    #[must_use]
    pub fn consistent(self) -> Self {
        Self { consistent: true, ..self }
    }

    /// The same with another log of the same mechanism.
    pub(super) fn restated(&self, log: EncoderLog, weights: ResidualWeights) -> Self {
        let equations = Equations::new(&self.mechanism, log.step_s);
        Self { equations, log, weights, ..self.clone() }
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
    fn impulse(&self, u: &[f64], i: usize, geometry: &Geometry, p: &mut Vec<f64>) {
        let nv = self.equations.nv;
        p.clear();
        match self.impulses {
            OutsideImpulses::Twice => p.extend_from_slice(&u[i * nv..(i + 1) * nv]),
            OutsideImpulses::Bodies => p.extend_from_slice(u),
            OutsideImpulses::Hinges => {
                p.resize(nv, 0.0);
                for (j, u) in self.hinges.iter().zip(u) {
                    geometry.joints[*j].add_torque(*u, p);
                }
            }
        }
    }

    fn steps(&self) -> usize {
        if self.impulses == OutsideImpulses::Twice { 2 } else { 1 }
    }

    /// Solves the step of stage `k`; the velocities that move the state and its configuration. The solution is remembered with where it was: a step that is taken is asked
    /// for again, to be linearised. Elsewhere dry friction most often does what it did.
    pub(super) fn step(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut DiscreteSpace,
        memory: &mut Vec<f64>,
    ) -> Result<(), String> {
        if self.recall(k, at, space, memory) {
            return Ok(());
        }
        let v = &at.x[self.mechanism.pose_numbers()..];
        for i in 0..self.steps() {
            self.impulse(at.u, i, &space.geometry, &mut space.impulse);
            let start = Start {
                mechanism: &space.mechanism,
                geometry: &space.geometry,
                v,
                controls: &self.log.controls[k],
            };
            if memory.is_empty() {
                space.friction[i].clear();
                space.friction[i].extend(first_guess(&self.equations, &space.geometry, v));
            }
            space.step[i]
                .solve(&self.equations, start, &space.impulse, &mut space.friction[i])
                .map_err(|e| e.to_string())?;
        }
        memory.clear();
        memory.extend(space.friction[..self.steps()].iter().flatten().flat_map(|f| f.numbers()));
        memory.push(k as f64);
        memory.extend(at.x.iter().chain(at.u).chain(at.theta));
        space.step[..self.steps()].iter().for_each(|step| step.store(memory));
        Ok(())
    }

    /// Takes what dry friction did from the memory, and the solution if it is that of this very point; whether it is.
    fn recall(&self, k: usize, at: Point<'_>, space: &mut DiscreteSpace, memory: &mut Vec<f64>) -> bool {
        let numbers = self.equations.dry.len() * HingeFriction::NUMBERS;
        let place = 1 + at.x.len() + at.u.len() + at.theta.len();
        let solution = StepSpace::stored(&self.equations);
        if memory.len() != self.steps() * (numbers + solution) + place {
            memory.clear();
            return false;
        }
        let (friction, rest) = memory.split_at(self.steps() * numbers);
        for (i, out) in space.friction[..self.steps()].iter_mut().enumerate() {
            let own = &friction[i * numbers..(i + 1) * numbers];
            out.clear();
            out.extend(own.chunks_exact(HingeFriction::NUMBERS).map(HingeFriction::from_numbers));
        }
        let (place, solutions) = rest.split_at(place);
        let here = std::iter::once(k as f64).chain(at.x.iter().chain(at.u).chain(at.theta).copied());
        if !here.eq(place.iter().copied()) {
            return false;
        }
        let steps = space.step.iter_mut().zip(solutions.chunks_exact(solution));
        steps.for_each(|(step, from)| step.restore(&self.equations, from));
        true
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
            impulse: vec![],
            moves: vec![],
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
        let (equations, inequalities) = self.constraint_counts();
        (self.unknowns.len(), equations, inequalities)
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
                space.moves.clear();
                space.moves.extend(w.iter().map(|w| self.equations.h * w));
                move_pose(&at.x[..poses], &space.moves, pose);
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
        // Where no gap is left this is the identity to rounding.
        if d.iter().all(|d| d.abs() <= f64::EPSILON) {
            return false;
        }
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
        self.constrain(theta, out);
    }
}
