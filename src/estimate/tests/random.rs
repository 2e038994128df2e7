//! Random linear-quadratic problems, with every kind of rank deficiency that the core promises to bear.

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::super::*;

#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Stages without the last.
    pub n: usize,
    pub nx: usize,
    pub nu: usize,
    pub nt: usize,
    /// Independent equations a stage.
    pub own: usize,
    /// Equations a stage that are combinations of the others.
    pub dependent: usize,
    /// Equations on the state alone, at every third stage.
    pub on_state: usize,
    /// Parameter equations.
    pub equalities: usize,
}

/// cost d'H d / 2 + g'd, next = F d + c, constraints C d + e, with d = (u, x, theta).
pub struct Stage {
    pub h: DMatrix<f64>,
    pub g: DVector<f64>,
    pub f: DMatrix<f64>,
    pub c: DVector<f64>,
    pub con: DMatrix<f64>,
    pub e: DVector<f64>,
    /// How many of the equations are independent; they come first.
    pub independent: usize,
    pub nu: usize,
}

pub struct RandomProblem {
    pub shape: Shape,
    pub stages: Vec<Stage>,
    pub equalities: DMatrix<f64>,
    pub equality_values: DVector<f64>,
    /// sign (theta_i - bound) >= 0 for parameter i, as (sign, bound).
    pub bounds: Vec<(f64, f64)>,
    /// All bounds are on the first parameter.
    pub same_parameter: bool,
    /// A stage that hands out a Jacobian of the wrong shape.
    pub wrong_shape: Option<usize>,
    /// Orthonormal columns: directions of theta that nothing sees.
    pub blind: DMatrix<f64>,
}

fn matrix(rows: usize, cols: usize, size: f64, draw: &mut ChaCha8Rng) -> DMatrix<f64> {
    DMatrix::from_fn(rows, cols, |_, _| size * draw.random_range(-1.0..1.0))
}

impl RandomProblem {
    pub fn new(shape: Shape, seed: u64) -> Self {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let stages = (0..=shape.n).map(|k| Stage::new(shape, k, &mut draw)).collect();
        Self {
            shape,
            stages,
            equalities: matrix(shape.equalities, shape.nt, 1.0, &mut draw),
            equality_values: matrix(shape.equalities, 1, 1.0, &mut draw).column(0).into_owned(),
            bounds: Vec::new(),
            same_parameter: false,
            wrong_shape: None,
            blind: DMatrix::zeros(shape.nt, 0),
        }
    }

    /// Makes `count` random directions of theta unobservable.
    pub fn blind(&mut self, count: usize) {
        let nt = self.shape.nt;
        let mut draw = ChaCha8Rng::seed_from_u64(77);
        let q = matrix(nt, count, 1.0, &mut draw).qr().q();
        let keep = DMatrix::identity(nt, nt) - &q * q.transpose();
        for s in &mut self.stages {
            let n = s.h.nrows();
            let mut p = DMatrix::identity(n, n);
            p.view_mut((n - nt, n - nt), (nt, nt)).copy_from(&keep);
            s.h = p.transpose() * &s.h * &p;
            s.g = p.transpose() * &s.g;
            s.f = &s.f * &p;
            s.con = &s.con * &p;
        }
        self.blind = q;
    }

    /// How much the first stage's cost sees of a direction of theta.
    pub fn seen(&self, direction: &[f64]) -> f64 {
        let (s, v) = (&self.stages[0], DVector::from_column_slice(direction));
        let at = s.h.ncols() - self.shape.nt;
        (s.h.columns(at, self.shape.nt) * v).amax()
    }

    pub fn zero(&self) -> Trajectory {
        Trajectory {
            xs: vec![vec![0.0; self.shape.nx]; self.shape.n + 1],
            us: self.stages.iter().map(|s| vec![0.0; s.nu]).collect(),
            theta: vec![0.0; self.shape.nt],
        }
    }

    pub fn x_index(&self, k: usize) -> usize {
        k * (self.shape.nu + self.shape.nx) + self.stages[k].nu
    }

    pub fn theta_index(&self) -> usize {
        self.shape.n * (self.shape.nu + self.shape.nx) + self.shape.nx
    }

    pub fn bound(&self, i: usize) -> (usize, f64, f64) {
        let (sign, bound) = self.bounds[i];
        (if self.same_parameter { 0 } else { i }, sign, bound)
    }

    fn d(at: Point<'_>) -> DVector<f64> {
        DVector::from_iterator(
            at.u.len() + at.x.len() + at.theta.len(),
            at.u.iter().chain(at.x).chain(at.theta).copied(),
        )
    }
}

impl Stage {
    fn new(shape: Shape, k: usize, draw: &mut ChaCha8Rng) -> Self {
        let last = k == shape.n;
        let (nu, ny) = if last { (0, 0) } else { (shape.nu, shape.nx) };
        let n = nu + shape.nx + shape.nt;
        let root = matrix(n + 2, n, (1.0 / n as f64).sqrt(), draw);
        let mut f = matrix(ny, n, (1.0 / n as f64).sqrt(), draw);
        for i in 0..ny {
            f[(i, nu + i)] += 0.7;
        }
        let own = if last { 0 } else { shape.own };
        let on_state = if k % 3 == 1 { shape.on_state } else { 0 };
        let independent = own + on_state;
        let dependent = if own > 0 { shape.dependent } else { 0 };
        let mut con = matrix(independent + dependent, n, 1.0, draw);
        let mut e = matrix(independent + dependent, 1, 0.5, draw).column(0).into_owned();
        con.view_mut((own, 0), (on_state, nu)).fill(0.0);
        for i in independent..independent + dependent {
            let mix = matrix(1, independent, 1.0, draw);
            let row = &mix * con.rows(0, independent);
            con.row_mut(i).copy_from(&row.row(0));
            e[i] = (&mix * e.rows(0, independent))[0];
        }
        Stage {
            h: root.transpose() * root,
            g: matrix(n, 1, 1.0, draw).column(0).into_owned(),
            c: matrix(ny, 1, 0.5, draw).column(0).into_owned(),
            f,
            con,
            e,
            independent,
            nu,
        }
    }
}

impl EstimationProblem for RandomProblem {
    type Workspace = ();

    fn workspace(&self) {}

    fn stages(&self) -> usize {
        self.stages.len()
    }

    fn size(&self, k: usize) -> StageSize {
        let s = &self.stages[k];
        StageSize { state: self.shape.nx, tangent: self.shape.nx, input: s.nu, constraints: s.e.len() }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        (self.shape.nt, self.shape.equalities, self.bounds.len())
    }

    fn evaluate(&self, k: usize, at: Point<'_>, _: &mut (), out: &mut StageValues) -> Result<(), String> {
        let (s, d) = (&self.stages[k], Self::d(at));
        out.cost = 0.5 * d.dot(&(&s.h * &d)) + s.g.dot(&d);
        out.next.copy_from_slice((&s.f * &d + &s.c).as_slice());
        out.constraints.copy_from_slice((&s.con * &d + &s.e).as_slice());
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        workspace: &mut (),
        model: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, workspace, out)?;
        let (s, d) = (&self.stages[k], Self::d(at));
        model.cost = out.cost;
        model.grad.copy_from_slice((&s.h * &d + &s.g).as_slice());
        for j in 0..s.h.ncols() {
            model.hess.col_mut(j).copy_from_slice(s.h.column(j).as_slice());
            (0..s.f.nrows()).for_each(|i| model.jac[(j, i)] = s.f[(i, j)]);
            (0..s.con.nrows()).for_each(|i| model.con[(j, i)] = s.con[(i, j)]);
        }
        model.con_value.copy_from_slice(&out.constraints);
        if self.wrong_shape == Some(k) {
            model.jac = crate::linear::dense::Mat::zeros(model.n() - 1, s.f.nrows());
        }
        Ok(())
    }

    fn constrain_parameters(&self, theta: &[f64], out: &mut ParameterModel) {
        for i in 0..self.shape.equalities {
            let row = self.equalities.row(i);
            out.equality_values[i] =
                self.equality_values[i] + row.iter().zip(theta).map(|(a, b)| a * b).sum::<f64>();
            (0..theta.len()).for_each(|j| out.equalities[(j, i)] = row[j]);
        }
        for i in 0..self.bounds.len() {
            let (parameter, sign, bound) = self.bound(i);
            out.inequality_values[i] = sign * (theta[parameter] - bound);
            out.inequalities[(parameter, i)] = sign;
        }
    }
}
