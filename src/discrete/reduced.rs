//! The same estimation in minimal coordinates: the state is (angles, rates) of a tree of hinges, which are rigid.
//!
//! For those who want it fast, and those who compare. A step takes the bodies where the angles put them, solves the equations of a step in
//! maximal coordinates there ([`super::stepper`]), bearings' forces and dry friction with them, and keeps of the result what the hinges do:
//!
//! ```text
//! rate' = u . (omega_b' - omega_a'),   angle' = angle + h rate'
//! ```
//!
//! Constraints are met anew in each step, so compliance and relaxation have no say once they are small. With T the velocities of bodies by rates, v = T rate, and
//! S = d(T rate) / d angle, a slope by (q, v) becomes one by (angles, rates) as D_q T + D_v S and D_v T.

use super::error::DiscreteError;
use super::estimator::DiscreteEstimate;
use super::geometry::Geometry;
use super::mechanism::{HeldJointKind, add_three, pose_of};
use super::observe::wrapped;
use super::problem::{DiscreteForm, DiscreteProblem, DiscreteSpace, OutsideImpulses};
use crate::estimate::ParameterModel;
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Point, StageValues, Trajectory};
use crate::estimate::solver::SolverOptions;
use crate::estimate::stage::{StageModel, StageSize};

/// The problem in minimal coordinates.
#[derive(Debug, Clone)]
pub struct ReducedProblem {
    whole: DiscreteProblem,
    /// Of each body: the hinges from the world to it.
    paths: Vec<Vec<usize>>,
}

/// Scratch space of one thread.
#[derive(Debug, Clone)]
pub struct ReducedSpace {
    whole: DiscreteSpace,
    /// (pose, velocity).
    x: Vec<f64>,
    /// T and S, row-major.
    tangent: Vec<f64>,
    turn: Vec<f64>,
    wide: Vec<f64>,
    narrow: Vec<f64>,
    gradient: Vec<f64>,
}

impl DiscreteProblem {
    /// The same in minimal coordinates.
    ///
    /// # Errors
    /// [`DiscreteError`] unless the joints are a tree of hinges that starts in the world, impulses act about them, and are the unknowns.
    pub fn reduced(self) -> Result<ReducedProblem, DiscreteError> {
        self.mechanism.assemble(&vec![0.0; self.mechanism.joints.len()])?;
        if self.impulses() != OutsideImpulses::Hinges || self.form() != DiscreteForm::Impulses {
            let reason = "minimal coordinates need impulses about the hinges as unknowns".to_owned();
            return Err(DiscreteError::Recording { what: "impulses".into(), reason });
        }
        let mut paths = vec![vec![]; self.mechanism.bodies.len()];
        for (j, joint) in self.mechanism.joints.iter().enumerate() {
            debug_assert!(matches!(joint.kind, HeldJointKind::Hinge { .. }));
            let mut path: Vec<usize> = joint.parent.map_or_else(Vec::new, |a| paths[a].clone());
            path.push(j);
            paths[joint.child] = path;
        }
        Ok(ReducedProblem { whole: self, paths })
    }
}

impl ReducedProblem {
    fn hinges(&self) -> usize {
        self.whole.mechanism.joints.len()
    }

    /// Minimises from angles (rad, at each time), rates by their differences and the parameters' starts.
    ///
    /// # Errors
    /// As [`crate::estimate::Solver::solve`].
    pub fn estimate(
        &self,
        angles: &[Vec<f64>],
        options: SolverOptions,
    ) -> Result<DiscreteEstimate, EstimateError> {
        let h = self.whole.equations.h;
        let rate = |k: usize, j: usize| {
            let (from, to) = if k == 0 { (0, 1.min(angles.len() - 1)) } else { (k - 1, k) };
            (angles[to][j] - angles[from][j]) / h
        };
        let state = |k: usize| {
            let rates = (0..self.hinges()).map(|j| rate(k, j));
            angles[k].iter().copied().chain(rates).collect()
        };
        let guess = Trajectory {
            xs: (0..angles.len()).map(state).collect(),
            us: (0..angles.len()).map(|k| vec![0.0; self.size(k).input]).collect(),
            theta: self.whole.unknowns.iter().map(|u| u.start / u.scale).collect(),
        };
        self.whole.estimate_as(self, &guess, options, |found| self.lifted(found))
    }

    /// States in maximal coordinates.
    fn lifted(&self, found: &Trajectory) -> Trajectory {
        let mut space = self.workspace();
        let lift = |k: usize| {
            let _ = self.place(found.at(k), &mut space);
            space.x.clone()
        };
        Trajectory {
            xs: (0..found.xs.len()).map(lift).collect(),
            us: found.us.clone(),
            theta: found.theta.clone(),
        }
    }

    /// Puts the bodies where the angles say, with T and their velocities.
    fn place(&self, at: Point<'_>, space: &mut ReducedSpace) -> Result<(), String> {
        let (n, nv) = (self.hinges(), self.whole.equations.nv);
        let (angles, rates) = at.x.split_at(n);
        space.x = self.whole.mechanism.assemble(angles).map_err(|e| e.to_string())?;
        space.x.resize(space.x.len() + nv, 0.0);
        let there = Point { x: &space.x, u: at.u, theta: at.theta };
        self.whole.place(there, &mut space.whole);
        let poses = self.whole.mechanism.pose_numbers();
        let places = hinge_places(&space.whole.geometry, &space.x[..poses]);
        space.tangent.clear();
        space.tangent.resize(nv * n, 0.0);
        for (b, path) in self.paths.iter().enumerate() {
            let (r, _) = pose_of(&space.x[..poses], b);
            for &j in path {
                let axis = space.whole.geometry.joints[j].axis;
                let linear = axis.cross(&(r - places[j]));
                for i in 0..3 {
                    space.tangent[(6 * b + i) * n + j] = linear[i];
                    space.tangent[(6 * b + 3 + i) * n + j] = axis[i];
                }
                add_three(&mut space.x[poses..], 6 * b, linear * rates[j]);
                add_three(&mut space.x[poses..], 6 * b + 3, axis * rates[j]);
            }
        }
        Ok(())
    }

    /// S.
    fn fill_turn(&self, rates: &[f64], space: &mut ReducedSpace) {
        let (n, nv) = (self.hinges(), self.whole.equations.nv);
        let poses = self.whole.mechanism.pose_numbers();
        let places = hinge_places(&space.whole.geometry, &space.x[..poses]);
        space.turn.clear();
        space.turn.resize(nv * n, 0.0);
        for (b, path) in self.paths.iter().enumerate() {
            let (r, _) = pose_of(&space.x[..poses], b);
            let axis = |j: usize| space.whole.geometry.joints[j].axis;
            for (before, &i) in path.iter().enumerate() {
                let (mut linear, mut angular) = (nalgebra::Vector3::zeros(), nalgebra::Vector3::zeros());
                for (place, &j) in path.iter().enumerate() {
                    if place >= before {
                        // What hinge i carries turns with it.
                        linear += axis(i).cross(&axis(j).cross(&(r - places[j]))) * rates[j];
                        angular += axis(i).cross(&axis(j)) * rates[j];
                    } else {
                        linear += axis(j).cross(&axis(i).cross(&(r - places[i]))) * rates[j];
                    }
                }
                for c in 0..3 {
                    space.turn[(6 * b + c) * n + i] = linear[c];
                    space.turn[(6 * b + 3 + c) * n + i] = angular[c];
                }
            }
        }
    }

    /// Angles and rates after the step; the step's solution stays in the space.
    fn step(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut ReducedSpace,
        out: &mut Vec<f64>,
    ) -> Result<(), String> {
        let there = Point { x: &space.x, u: at.u, theta: at.theta };
        self.whole.step(k, there, &mut space.whole)?;
        let (n, y) = (self.hinges(), &space.whole.step[0].y);
        out.resize(2 * n, 0.0);
        for (j, joint) in space.whole.geometry.joints.iter().enumerate() {
            out[n + j] = joint.turning(y);
            out[j] = at.x[j] + self.whole.equations.h * out[n + j];
        }
        Ok(())
    }

    /// Cost of stage `k`; residuals are told with the index of their variable among the angles.
    fn cost(&self, k: usize, at: Point<'_>, mut each: impl FnMut(usize, f64, f64)) -> f64 {
        let weight = self.whole.weights.angle_rad.powi(-2);
        let mut cost = 0.0;
        for (j, reading) in self.whole.log.angles[k].iter().enumerate().filter(|(_, r)| r.is_finite()) {
            let r = wrapped(at.x[j] - reading);
            cost += 0.5 * weight * r * r;
            each(j, r, weight);
        }
        cost + 0.5 * weight * self.whole.weights.kappa * at.u.iter().map(|u| u * u).sum::<f64>()
    }

    /// Slopes of the step by (u, angles, rates, theta).
    fn linearise_step(&self, k: usize, at: Point<'_>, space: &mut ReducedSpace, model: &mut StageModel) {
        let (n, nv, nu) = (self.hinges(), self.whole.equations.nv, at.u.len());
        let (nt, size) = (self.whole.unknowns.len(), self.whole.equations.size());
        let (wide, narrow) = (nu + 2 * nv + nt, model.n());
        self.fill_turn(&at.x[n..], space);
        let mut slopes = std::mem::take(&mut space.wide);
        slopes.clear();
        slopes.resize(size * wide, 0.0);
        let there = Point { x: &space.x, u: at.u, theta: at.theta };
        self.whole.step_slopes(k, there, 0, &mut space.whole, &mut slopes);
        space.narrow.clear();
        space.narrow.resize(size * narrow, 0.0);
        for (row, out) in slopes.chunks_exact(wide).zip(space.narrow.chunks_exact_mut(narrow)) {
            out[..nu].copy_from_slice(&row[..nu]);
            out[nu + 2 * n..].copy_from_slice(&row[nu + 2 * nv..]);
            let (by_q, by_v) = (&row[nu..nu + nv], &row[nu + nv..nu + 2 * nv]);
            for (i, (q, v)) in by_q.iter().zip(by_v).enumerate() {
                if *q == 0.0 && *v == 0.0 {
                    continue;
                }
                for j in 0..n {
                    let at = i * n + j;
                    out[nu + j] += q * space.tangent[at] + v * space.turn[at];
                    out[nu + n + j] += v * space.tangent[at];
                }
            }
        }
        space.wide = slopes;
        space.whole.step[0].elimination.solve(&mut space.narrow, narrow, 0);
        self.hinge_rows(space, nu, model);
    }

    /// Rates' rows from those of the bodies' velocities, and the angles' from these.
    fn hinge_rows(&self, space: &mut ReducedSpace, nu: usize, model: &mut StageModel) {
        let (n, h, narrow) = (self.hinges(), self.whole.equations.h, model.n());
        let y = &space.whole.step[0].y;
        let gradient = &mut space.gradient;
        for (j, joint) in space.whole.geometry.joints.iter().enumerate() {
            gradient.clear();
            gradient.resize(narrow, 0.0);
            for c in 0..3 {
                let mut add = |body: usize, sign: f64| {
                    let row = &space.narrow[(6 * body + 3 + c) * narrow..][..narrow];
                    gradient.iter_mut().zip(row).for_each(|(g, x)| *g += sign * joint.axis[c] * x);
                };
                // The slopes of the equations stand on the other side.
                add(joint.child, -1.0);
                if let Some(a) = joint.parent {
                    add(a, 1.0);
                }
            }
            let lever = joint.axis.cross(&(joint.child_turn(y) - joint.parent_turn(y)));
            for &i in &self.paths[joint.child] {
                let turned: f64 =
                    (0..3).map(|c| space.tangent[(6 * joint.child + 3 + c) * n + i] * lever[c]).sum();
                gradient[nu + i] += turned;
            }
            model.jac.col_mut(n + j).copy_from_slice(gradient);
            let angle = model.jac.col_mut(j);
            angle.iter_mut().zip(&*gradient).for_each(|(a, g)| *a = h * g);
            angle[nu + j] += 1.0;
        }
    }
}

/// Where the hinges are.
fn hinge_places(geometry: &Geometry, pose: &[f64]) -> Vec<nalgebra::Vector3<f64>> {
    geometry.joints.iter().map(|joint| pose_of(pose, joint.child).0 + joint.arm_b).collect()
}

impl EstimationProblem for ReducedProblem {
    type Workspace = ReducedSpace;

    fn workspace(&self) -> ReducedSpace {
        ReducedSpace {
            whole: self.whole.workspace(),
            x: vec![],
            tangent: vec![],
            turn: vec![],
            wide: vec![],
            narrow: vec![],
            gradient: vec![],
        }
    }

    fn stages(&self) -> usize {
        self.whole.stages()
    }

    fn size(&self, k: usize) -> StageSize {
        let n = self.hinges();
        StageSize { state: 2 * n, tangent: 2 * n, input: self.whole.size(k).input, constraints: 0 }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        self.whole.parameters()
    }

    fn evaluate(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut ReducedSpace,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.whole.possible(at.theta)?;
        out.cost = self.cost(k, at, |_, _, _| ());
        if k == 0 {
            self.whole.prior_cost(at.theta, |_, r, weight| out.cost += 0.5 * weight * r * r);
        }
        out.next.clear();
        if k < self.whole.last() {
            self.place(at, space)?;
            self.step(k, at, space, &mut out.next)?;
        }
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut ReducedSpace,
        model: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, space, out)?;
        let (n, nu, nt) = (model.n(), at.u.len(), self.whole.unknowns.len());
        self.cost(k, at, |j, r, weight| model.add_direct(r, nu + j, weight));
        let weight = self.whole.weights.kappa / self.whole.weights.angle_rad.powi(2);
        at.u.iter().enumerate().for_each(|(i, u)| model.add_direct(*u, i, weight));
        if k == 0 {
            self.whole.prior_cost(at.theta, |i, r, weight| model.add_direct(r, n - nt + i, weight));
        }
        if k < self.whole.last() {
            self.linearise_step(k, at, space, model);
        }
        Ok(())
    }

    fn constrain_parameters(&self, theta: &[f64], out: &mut ParameterModel) {
        self.whole.constrain_parameters(theta, out);
    }
}
