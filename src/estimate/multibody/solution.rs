//! The acceleration and the forces of an interval from the torques: Newton's iteration and its derivatives.

use super::MultibodyProblem;
use super::mechanics::{Interval, Mechanics};

/// Newton's iteration ends when a step is below this share of 1 + the largest unknown ...
const SETTLED: f64 = 1e-12;
/// ... or fails after this many steps, or after one shorter than this share of Newton's; a sum of squares that is not
/// this much smaller than the last renews the matrix.
const STEPS: usize = 60;
const SHORTEST: f64 = 1e-6;
const SHRINKS: f64 = 0.01;

impl Mechanics {
    /// Solves R_d = w, R_c = 0 for acceleration and forces. The search starts from the last solution, which is that of
    /// the interval before when stages come in order.
    pub fn solve(&mut self, problem: &MultibodyProblem, at: Interval<'_>, w: &[f64]) -> Result<(), String> {
        let n = self.speed.len();
        self.enter(problem, at.phase);
        let m = self.lambda.len();
        if !self.acceleration.iter().chain(&self.lambda).all(|x| x.is_finite()) {
            self.acceleration.fill(0.0);
            self.lambda.fill(0.0);
        }
        let mut renew = true;
        for _ in 0..STEPS {
            // The matrix of a step serves the next ones as long as they shrink.
            if renew {
                self.differentiate(problem, at)?;
                self.factor(problem, m)?;
            }
            let before = self.remainder(w, m);
            if !before.is_finite() {
                return Err("the equations of motion are not finite".into());
            }
            self.elimination.solve_one(&mut self.newton[..n + m]);
            let (step, size) = self.walk(1.0);
            self.evaluate(problem, at)?;
            if step <= SETTLED * size {
                return Ok(());
            }
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

    /// [`Mechanics::solve`], then the derivatives of the acceleration to (w, q, v, theta) in the last n rows of
    /// `solution`; the number of rows before them.
    pub fn solve_derivatives(
        &mut self,
        problem: &MultibodyProblem,
        at: Interval<'_>,
        w: &[f64],
        theta: &[f64],
    ) -> Result<usize, String> {
        if self.solve(problem, at, w).is_err() {
            // The step here was taken, so there is a solution: friction's kinks led away from it.
            self.acceleration.fill(0.0);
            self.lambda.fill(0.0);
            self.solve(problem, at, w)?;
        }
        self.differentiate(problem, at)?;
        let m = self.lambda.len();
        self.factor(problem, m)?;
        if !problem.map.is_empty() {
            self.differentiate_parameters(problem, theta, at.tau);
        }
        self.sensitivities(problem.map.len(), m);
        Ok(m)
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
