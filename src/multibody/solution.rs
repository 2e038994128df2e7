//! The acceleration and the forces of an interval from the torques: Newton's iteration and its derivatives.
//!
//! A stage remembers the solution that it had last and its derivatives ([`crate::estimate::StageValues::memory`]). They foresee the
//! solution of a trial step to second order, and serve as the matrix of Newton's iteration there; the linearisation
//! that follows begins at what the trial step has found, and one matrix is all that it needs.

use super::MultibodyProblem;
use super::mechanics::{Interval, Mechanics};
use crate::estimate::problem::Point;
use crate::linear::dense::dot;
use crate::robot::configuration::difference;

/// Newton's iteration ends when a step, or what its shrinking leaves of the next, is below this share of 1 + the largest
/// unknown ...
const SETTLED: f64 = 1e-12;
/// ... or fails after this many steps, or after one shorter than this share of Newton's; a sum of squares that is not
/// this much smaller than the last renews the matrix.
const STEPS: usize = 60;
const SHORTEST: f64 = 1e-6;
const SHRINKS: f64 = 0.01;
/// A step with a fresh matrix below this share is the last one, and the matrix that of the solution: what is left is of the
/// second order, below rounding, and derivatives differ by this share times the interval.
const LAST: f64 = 1e-9;

impl Mechanics {
    /// Solves R_d = w, R_c = 0 for acceleration and forces at the inputs and parameters of `point`, from what `memory`
    /// foresees, or else from zero; keeps the solution there. Never from the solution that this thread had last: which stage
    /// that was depends on how the threads share the work, and the solution's last digits on where the search began.
    ///
    /// # Errors
    /// As [`Mechanics::find`].
    pub fn solve(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        point: Point<'_>,
        memory: &mut Vec<f64>,
    ) -> Result<(), String> {
        self.enter(problem, at.phase);
        let inverse = self.foresee(problem, at, point, memory).filter(|_| self.lambda.is_empty());
        if self.find(problem, at, point.u, inverse).is_err() {
            self.find_from_rest(problem, at, point.u)?;
        }
        self.keep_solution(memory);
        Ok(())
    }

    /// [`Mechanics::find`] without a guess: friction's kinks may lead away from a solution that there is.
    fn find_from_rest(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        w: &[f64],
    ) -> Result<(), String> {
        self.acceleration.fill(0.0);
        self.lambda.fill(0.0);
        self.find(problem, at, w, None)
    }

    /// Newton's iteration from the acceleration and forces in `self`, with the rows of `inverse` (da/d(w, ..), if there are
    /// no forces) for a first matrix.
    ///
    /// # Errors
    /// Where the equations of motion have no solution nearby, or active constraints depend on each other.
    pub fn find(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        w: &[f64],
        inverse: Option<&[f64]>,
    ) -> Result<(), String> {
        self.enter(problem, at.phase);
        let m = self.lambda.len();
        if !self.acceleration.iter().chain(&self.lambda).all(|x| x.is_finite()) {
            self.acceleration.fill(0.0);
            self.lambda.fill(0.0);
        }
        let (mut renew, mut inverse, mut last) = (inverse.is_none(), inverse, 0.0f64);
        if !renew {
            self.evaluate(problem, at)?;
        }
        for _ in 0..STEPS {
            // The matrix of a step serves the next ones as long as they shrink.
            if renew {
                self.differentiate(problem, at)?;
                self.factor(problem, m)?;
                (inverse, last) = (None, 0.0);
            }
            let before = self.remainder(w, m);
            if !before.is_finite() {
                return Err("the equations of motion are not finite".into());
            }
            self.direction(problem, m, inverse);
            let (step, size) = self.walk(1.0);
            // Steps with one matrix shrink at a steady rate.
            if step * (step / last).min(1.0) <= SETTLED * size {
                return Ok(());
            }
            last = step;
            self.evaluate(problem, at)?;
            let mut after = self.square(w, m);
            let good = |after: f64| after.is_finite() && after < before;
            if !good(after) && !renew {
                // The old matrix led astray.
                self.walk(-1.0);
                renew = true;
                continue;
            }
            // Where friction has kinks, a whole step may lead away; the direction is one of descent.
            let mut length = 1.0;
            while !good(after) && length > SHORTEST {
                self.walk(-0.5 * length);
                length *= 0.5;
                self.evaluate(problem, at)?;
                after = self.square(w, m);
            }
            renew = length < 1.0 || !(after < SHRINKS * before);
        }
        Err("the equations of motion of an interval are not solved; is it too long?".into())
    }

    /// The step from the remainder in `newton`, in its place.
    fn direction(&mut self, problem: &MultibodyProblem, m: usize, inverse: Option<&[f64]>) {
        let n = self.speed.len();
        let Some(rows) = inverse else {
            self.elimination.solve_one(&mut self.newton[..n + m]);
            return;
        };
        let width = self.width(problem);
        self.change[..n].copy_from_slice(&self.newton[..n]);
        for (step, row) in self.newton[..n].iter_mut().zip(rows.chunks_exact(width)) {
            *step = dot(&row[..n], &self.change[..n]);
        }
    }

    /// Columns of the derivatives of the acceleration, to (w, q, v, theta).
    fn width(&self, problem: &MultibodyProblem) -> usize {
        3 * self.speed.len() + problem.map.len()
    }

    /// Starts from what is remembered: the last solution, or what the last linearisation makes of the way since. The rows of
    /// that, if there is one.
    fn foresee<'m>(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        point: Point<'_>,
        memory: &'m [f64],
    ) -> Option<&'m [f64]> {
        let (n, m, nq, nt) = (self.speed.len(), self.lambda.len(), at.q.len(), problem.map.len());
        let width = self.width(problem);
        let model = nq + 3 * n + nt + n * width;
        // Another phase's memory is none.
        if memory.len() != n + m && memory.len() != n + m + model {
            self.acceleration.fill(0.0);
            self.lambda.fill(0.0);
            return None;
        }
        let (solution, model) = memory.split_at(n + m);
        self.acceleration.copy_from_slice(&solution[..n]);
        self.lambda.copy_from_slice(&solution[n..]);
        if model.is_empty() {
            return None;
        }
        let (q, model) = model.split_at(nq);
        let (v, model) = model.split_at(n);
        let (w, model) = model.split_at(n);
        let (theta, model) = model.split_at(nt);
        let (then, rows) = model.split_at(n);
        difference(&problem.robot, q, at.q, &mut self.change[n..2 * n]);
        let flat = [(0, point.u, w), (2 * n, at.v, v), (3 * n, point.theta, theta)];
        for (first, now, was) in flat {
            for ((change, now), was) in self.change[first..].iter_mut().zip(now).zip(was) {
                *change = now - was;
            }
        }
        for ((a, then), row) in self.acceleration.iter_mut().zip(then).zip(rows.chunks_exact(width)) {
            *a = then + dot(row, &self.change);
        }
        Some(rows)
    }

    /// Takes the last solution from `memory`, if there is one.
    fn recall(&mut self, memory: &[f64]) -> bool {
        let (n, m) = (self.speed.len(), self.lambda.len());
        let Some((a, lambda)) = memory.get(..n + m).map(|solution| solution.split_at(n)) else {
            return false;
        };
        self.acceleration.copy_from_slice(a);
        self.lambda.copy_from_slice(lambda);
        true
    }

    /// Keeps the solution; the model in `memory`, if there is one, stays what it is.
    fn keep_solution(&self, memory: &mut Vec<f64>) {
        let (n, m) = (self.speed.len(), self.lambda.len());
        if memory.len() < n + m {
            memory.resize(n + m, 0.0);
        }
        memory[..n].copy_from_slice(&self.acceleration);
        memory[n..n + m].copy_from_slice(&self.lambda);
    }

    /// Keeps the solution and the rows of its derivatives.
    fn keep_model(
        &self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        point: Point<'_>,
        memory: &mut Vec<f64>,
    ) {
        let (m, width) = (self.lambda.len(), self.width(problem));
        memory.clear();
        let rows = &self.solution[width * m..width * (m + self.speed.len())];
        let parts =
            [&self.acceleration, &self.lambda, at.q, at.v, point.u, point.theta, &self.acceleration, rows];
        parts.iter().for_each(|part| memory.extend_from_slice(part));
    }

    /// Sum of squares of (R_d - w, R_c).
    fn square(&self, w: &[f64], m: usize) -> f64 {
        let n = w.len();
        let dynamics = w.iter().zip(&self.value).map(|(w, r)| (r - w) * (r - w)).sum::<f64>();
        dynamics + self.value[n..n + m].iter().map(|r| r * r).sum::<f64>()
    }

    /// Puts (w - R_d, -R_c) where the next step is solved for; its square.
    fn remainder(&mut self, w: &[f64], m: usize) -> f64 {
        let n = w.len();
        for (j, w) in w.iter().enumerate() {
            self.newton[j] = w - self.value[j];
        }
        for i in n..n + m {
            self.newton[i] = -self.value[i];
        }
        self.newton[..n + m].iter().map(|x| x * x).sum()
    }

    /// Goes `length` of the last step; the size of the step and of the largest unknown (at least 1).
    fn walk(&mut self, length: f64) -> (f64, f64) {
        let (mut step, mut size) = (0.0f64, 1.0f64);
        let unknowns = self.lambda.iter_mut().chain(&mut self.acceleration);
        for (x, d) in unknowns.zip(&self.newton) {
            *x += length * d;
            step = step.max(d.abs());
            size = size.max(x.abs());
        }
        (step, size)
    }

    /// The matrix of R by (lambda, a), factored; after [`Mechanics::differentiate`].
    fn factor(&mut self, problem: &MultibodyProblem, m: usize) -> Result<(), String> {
        let n = self.speed.len();
        let size = n + m;
        let matrix = self.elimination.matrix(size);
        for i in 0..size {
            matrix[size * i + m..size * (i + 1)].copy_from_slice(&self.by_a[n * i..n * (i + 1)]);
        }
        let rows = self.phase.map_or(&[][..], |p| &problem.schedule.rows[p]);
        for (r, &row) in rows.iter().enumerate() {
            for i in 0..n {
                matrix[size * i + r] = -self.residuals.jacobian[n * row + i];
            }
            matrix[size * (n + r) + r] = problem.schedule.contacts.compliance;
        }
        if self.elimination.factor() {
            return Ok(());
        }
        Err("contacts or loops depend on each other; give them a compliance".into())
    }

    /// The solution as [`Mechanics::solve`] finds it, and the derivatives of the acceleration to (w, q, v, theta) in the last
    /// n rows of `solution`; the number of rows before them. Both are kept in `memory`.
    ///
    /// # Errors
    /// As [`Mechanics::find`].
    pub fn solve_derivatives(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        point: Point<'_>,
        memory: &mut Vec<f64>,
    ) -> Result<usize, String> {
        self.enter(problem, at.phase);
        let m = self.lambda.len();
        let known = self.recall(memory) && self.one_step(problem, at, point.u).unwrap_or(false);
        if !known {
            // The step here was taken, so its solution is nearby; what is foreseen may lie beyond a kink of friction.
            let found = self.recall(memory) && self.find(problem, at, point.u, None).is_ok();
            if !found {
                self.solve(problem, at, point, memory)?;
            }
            self.differentiate(problem, at)?;
            self.factor(problem, m)?;
        }
        if !problem.map.is_empty() {
            self.differentiate_parameters(problem, point.theta, at.tau);
        }
        self.sensitivities(problem.map.len(), m);
        self.keep_model(problem, at, point, memory);
        Ok(m)
    }

    /// One step of Newton's iteration, its matrix left factored; whether it was the last.
    fn one_step(&mut self, problem: &MultibodyProblem, at: Interval<'_>, w: &[f64]) -> Result<bool, String> {
        let m = self.lambda.len();
        self.differentiate(problem, at)?;
        self.factor(problem, m)?;
        self.remainder(w, m);
        self.direction(problem, m, None);
        let (step, size) = self.walk(1.0);
        Ok(step <= LAST * size)
    }

    /// Factors the matrix of (R_d, R_c) by (lambda, a), and derives (lambda, a) by (w, q, v, theta), all rows of
    /// `solution`, and what closes R_c at the present ones (`newton`); after [`Mechanics::differentiate`] and
    /// [`Mechanics::differentiate_parameters`]. False where the matrix is singular.
    pub fn invert(&mut self, problem: &MultibodyProblem) -> bool {
        let (n, m) = (self.speed.len(), self.lambda.len());
        if self.factor(problem, m).is_err() {
            return false;
        }
        self.sensitivities(problem.map.len(), 0);
        self.newton[..n].fill(0.0);
        for i in n..n + m {
            self.newton[i] = -self.value[i];
        }
        self.elimination.solve_one(&mut self.newton[..n + m]);
        true
    }

    /// Derivatives of a by (w, q, v) alone, from the row of `solution` that is returned; nothing where the matrix is
    /// singular.
    pub fn invert_plain(&mut self, problem: &MultibodyProblem) -> Option<usize> {
        let m = self.lambda.len();
        self.factor(problem, m).ok()?;
        self.sensitivities(0, m);
        Some(m)
    }

    /// Derivatives of (lambda, a) by (w, q, v) and `nt` parameters by the factored matrix; rows before `from` are left
    /// unfinished.
    fn sensitivities(&mut self, nt: usize, from: usize) {
        let (n, m) = (self.speed.len(), self.lambda.len());
        let width = 3 * n + nt;
        let rhs = &mut self.solution[..(n + m) * width];
        for (i, row) in rhs.chunks_exact_mut(width).enumerate() {
            row[..n].fill(0.0);
            for c in 0..n {
                row[n + c] = -self.by_q[n * i + c];
                row[2 * n + c] = -self.by_v[n * i + c];
            }
            if i < n {
                row[i] = 1.0;
                for t in 0..nt {
                    row[3 * n + t] = -self.effect[(i, t)];
                }
            } else {
                row[3 * n..].fill(0.0);
            }
        }
        self.elimination.solve(rhs, width, from);
    }
}
