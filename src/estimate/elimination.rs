//! How a stage's constraints are eliminated: the input in terms of what they leave free of it, and equations that bind the
//! state alone.

use super::stage::StageModel;
use crate::linear::dense::{Mat, axpy, dot, norm};
use crate::linear::orthogonal::Orthogonal;

/// What remains of a normalised constraint row below this is rounding.
const RANK: f64 = 1e-10;

/// Linear equations C (dx, dtheta) + c = 0 that a stage leaves to its state: what no input can fulfil.
#[derive(Debug, Clone)]
pub struct Leftover {
    /// Column i holds the gradient of equation i, (nx + nt) x count.
    pub rows: Mat,
    /// The values at the guess.
    pub values: Vec<f64>,
}

impl Default for Leftover {
    fn default() -> Self {
        Self { rows: Mat::zeros(0, 0), values: Vec::new() }
    }
}

/// Scratch space of [`Lift::eliminate`].
#[derive(Debug, Clone)]
pub struct EliminationSpace {
    qr: Orthogonal,
    hess: Mat,
    half: Mat,
    jac: Mat,
    lift: Mat,
    grad: Vec<f64>,
    row: Vec<f64>,
    values: Vec<f64>,
    rest: Mat,
    rest_values: Vec<f64>,
}

impl Default for EliminationSpace {
    fn default() -> Self {
        let empty = || Mat::zeros(0, 0);
        Self {
            qr: Orthogonal::default(),
            hess: empty(),
            half: empty(),
            jac: empty(),
            lift: empty(),
            grad: Vec::new(),
            row: Vec::new(),
            values: Vec::new(),
            rest: empty(),
            rest_values: Vec::new(),
        }
    }
}

/// The input in terms of what is left free of it: du = lift (z, dx, dtheta) + shift, with z the coordinates in the
/// nullspace of h_u ([3, eq. 77], du = Y du_y + Z z, where du_y is already expressed by dx and dtheta).
#[derive(Debug, Clone)]
pub struct Lift {
    /// Column i holds the gradient of input i with respect to (z, x, theta); empty while z is u itself.
    pub rows: Mat,
    /// The inputs at z = dx = dtheta = 0.
    pub shift: Vec<f64>,
    /// Whether constraints were eliminated; otherwise z is u.
    pub active: bool,
    /// Change of the stage's cost by `shift`.
    pub constant: f64,
    /// What is left to the state.
    pub leftover: Leftover,
    /// Largest residual among equations that contradict others or have no variable in them.
    pub contradiction: f64,
}

impl Default for Lift {
    fn default() -> Self {
        Self {
            rows: Mat::zeros(0, 0),
            shift: Vec::new(),
            active: false,
            constant: 0.0,
            leftover: Leftover::default(),
            contradiction: 0.0,
        }
    }
}

impl Lift {
    /// Back to z = u.
    pub fn clear(&mut self) {
        self.active = false;
        self.constant = 0.0;
        self.contradiction = 0.0;
        self.leftover.rows.reset(0, 0);
        self.leftover.values.clear();
    }

    /// Eliminates the equations in `model.con` from `model`, in place: afterwards its input is z. Rank-deficient
    /// equations are welcome: those that depend on others are dropped, those that bind only (x, theta) become
    /// `leftover`. May be called again on the result with further equations.
    ///
    /// With h_u' P = Q R, Q = [Y Z], the first r equations (in the order of P) give Y'du = -R11^-T (h_x dx + h_t
    /// dtheta + h), and R12' Y'du + ... = 0, the others, no longer contain the input.
    pub fn eliminate(&mut self, model: &mut StageModel, s: &mut EliminationSpace) {
        normalise(&mut model.con, &mut model.con_value);
        let (nu, tail) = (model.nu, model.nx + model.nt);
        s.qr.factor(&model.con, nu, RANK);
        let rank = s.qr.rank;
        let nz = nu - rank;
        s.lift.reset(nz + tail, nu);
        s.values.clear();
        s.values.resize(nu, 0.0);
        s.rest.reset(tail, model.con.cols() - rank);
        s.rest_values.clear();
        s.rest_values.resize(model.con.cols() - rank, 0.0);
        // Column by column of (dx, dtheta, 1): y = -R11^-T h, then u = Y y and the rest.
        s.row.clear();
        s.row.resize(model.con.cols(), 0.0);
        for c in 0..=tail {
            for (i, &original) in s.qr.order.iter().enumerate() {
                s.row[i] = if c < tail { model.con[(nu + c, original)] } else { model.con_value[original] };
            }
            s.qr.solve_r_transposed(&mut s.row);
            for i in 0..nu {
                let value = -(0..rank).map(|k| s.qr.q[(i, k)] * s.row[k]).sum::<f64>();
                if c < tail { s.lift[(nz + c, i)] = value } else { s.values[i] = value }
            }
            for i in rank..model.con.cols() {
                let value = s.row[i] - dot(&s.qr.r.col(i)[..rank], &s.row[..rank]);
                if c < tail { s.rest[(c, i - rank)] = value } else { s.rest_values[i - rank] = value }
            }
        }
        for i in 0..nu {
            for k in 0..nz {
                s.lift[(k, i)] = s.qr.q[(i, rank + k)];
            }
        }
        self.keep_independent(s);
        if rank > 0 {
            self.constant += substitute(model, s, nz);
            self.compose(s, nz, tail);
        }
        model.con.reset(model.n(), 0);
        model.con_value.clear();
    }

    /// Of the equations that bind the state alone, keeps an independent set.
    fn keep_independent(&mut self, s: &mut EliminationSpace) {
        let tail = s.rest.rows();
        s.qr.factor(&s.rest, tail, RANK);
        let rank = s.qr.rank;
        self.leftover.rows.reset(tail, rank);
        self.leftover.values.clear();
        for i in 0..rank {
            self.leftover.rows.col_mut(i).copy_from_slice(s.rest.col(s.qr.order[i]));
            self.leftover.values.push(s.rest_values[s.qr.order[i]]);
        }
        // A dropped equation is a combination of kept ones; so must its value be.
        s.row.clear();
        s.row.extend_from_slice(&self.leftover.values);
        s.qr.solve_r_transposed(&mut s.row);
        for i in rank..s.rest.cols() {
            let implied = dot(&s.qr.r.col(i)[..rank], &s.row[..rank]);
            self.contradiction = self.contradiction.max((s.rest_values[s.qr.order[i]] - implied).abs());
        }
    }

    /// Follows an earlier elimination by the one in `s`: u = lift (z, ..) + shift, z = s.lift (z', ..) + s.values.
    fn compose(&mut self, s: &mut EliminationSpace, nz: usize, tail: usize) {
        if !self.active {
            self.active = true;
            self.rows.copy_from(&s.lift);
            self.shift.clear();
            self.shift.extend_from_slice(&s.values);
            return;
        }
        let middle = s.values.len();
        s.half.reset(nz + tail, self.rows.cols());
        for i in 0..self.rows.cols() {
            let old = self.rows.col(i);
            self.shift[i] += dot(&old[..middle], &s.values);
            let out = s.half.col_mut(i);
            out[nz..].copy_from_slice(&old[middle..]);
            for k in 0..middle {
                axpy(old[k], s.lift.col(k), out);
            }
        }
        self.rows.copy_from(&s.half);
    }
}

/// Scales every equation to a gradient of length one, so that rank decisions do not depend on units.
fn normalise(con: &mut Mat, values: &mut [f64]) {
    for (i, value) in values.iter_mut().enumerate() {
        let length = norm(con.col(i));
        if length > 0.0 {
            con.col_mut(i).iter_mut().for_each(|x| *x /= length);
            *value /= length;
        }
    }
}

/// Puts u = s.lift (z, x, theta) + s.values into the model; returns the change of its cost at zero.
fn substitute(model: &mut StageModel, s: &mut EliminationSpace, nz: usize) -> f64 {
    let (nu, n) = (model.nu, model.n());
    let reduced = n - nu + nz;
    model.hess.mirror();
    // Gradient and gap at the shifted input.
    s.grad.clear();
    s.grad.extend_from_slice(&model.grad);
    for k in 0..nu {
        axpy(s.values[k], model.hess.col(k), &mut s.grad);
    }
    let constant = 0.5 * (dot(&s.values, &model.grad[..nu]) + dot(&s.values, &s.grad[..nu]));
    for (i, gap) in model.gap.iter_mut().enumerate() {
        *gap += dot(&model.jac.col(i)[..nu], &s.values);
    }
    // M'v for M = [lift; 1]: column by column.
    s.jac.reset(reduced, model.jac.cols());
    for i in 0..model.jac.cols() {
        lifted(model.jac.col(i), &s.lift, nz, s.jac.col_mut(i));
    }
    model.jac.copy_from(&s.jac);
    s.half.reset(reduced, n);
    for i in 0..n {
        lifted(model.hess.col(i), &s.lift, nz, s.half.col_mut(i));
    }
    s.hess.reset(reduced, reduced);
    for d in 0..reduced {
        if d >= nz {
            s.hess.col_mut(d).copy_from_slice(s.half.col(nu + d - nz));
        }
        for k in 0..nu {
            axpy(s.lift[(d, k)], s.half.col(k), s.hess.col_mut(d));
        }
    }
    model.hess.copy_from(&s.hess);
    model.grad.clear();
    model.grad.resize(reduced, 0.0);
    lifted(&s.grad, &s.lift, nz, &mut model.grad);
    model.nu = nz;
    constant
}

/// out = M'v with M = [lift; 0 1].
fn lifted(v: &[f64], lift: &Mat, nz: usize, out: &mut [f64]) {
    let nu = lift.cols();
    out[..nz].fill(0.0);
    out[nz..].copy_from_slice(&v[nu..]);
    for k in 0..nu {
        if v[k] != 0.0 {
            axpy(v[k], lift.col(k), out);
        }
    }
}
