//! The parameterised, equality-constrained Riccati recursion: one Newton step in time linear in the number of stages.
//!
//! For those who change the solver; problems are stated in [`super::problem`]. The value function of a stage,
//! V(dx, dtheta) = constant + v'y + y'V y / 2 with y = (dx, dtheta), is carried from the last stage to the first. With
//! V' that of the next stage and gap = f (-) x' ([2, eqs. 22 to 27], [3, eqs. 74 to 80], re-derived):
//!
//! ```text
//! Q = L + F_a' V' F_a,    F_a = [f_u f_x f_t; 0 0 1],    q = l + F_a' (v' + V'_{.x} gap)
//! ```
//!
//! in the order (z, dx, dtheta), where z is what the stage's constraints leave of the input ([`super::elimination`]). One
//! partial Cholesky factorisation of Q gives all of it: with Q_zz = L L', S = Q_{y z} L^-T and s = L^-1 q_z,
//!
//! ```text
//! z = -L^-T (s + S'y),    V = Q_yy - S S',    v = q_y - S s,    constant = constant' + v'_x'gap + gap'V'_xx gap / 2 - s's / 2
//! ```
//!
//! V is symmetric because only its lower triangle is ever computed. Cost: O(N (ndx + nu)^3 + N (ndx + nu)^2 nt + N ndx
//! nt^2).
//!
//! Equations that a stage cannot fulfil by its input bind its state (rank-deficient h_u). They are handed to the stage
//! before, through its dynamics, and so on; what reaches the first stage joins the parameter constraints there.

use super::elimination::{EliminationSpace, Lift};
use super::stage::{StageModel, StageSize};
use crate::linear::dense::{
    Mat, add_product_lower, axpy, dot, partial_cholesky, set_product, solve_lower, solve_lower_transposed,
};

/// The large parts of a stage's model, which are needed only between its linearisation and its step of the recursion: a
/// few of these serve all stages by turns ([`Node::borrow`]).
#[derive(Debug, Clone)]
pub struct StageBuffers {
    hess: Mat,
    con: Mat,
}

impl Default for StageBuffers {
    fn default() -> Self {
        Self { hess: Mat::zeros(0, 0), con: Mat::zeros(0, 0) }
    }
}

/// Scratch space of [`Node::policy`], and the step that it was called for.
#[derive(Debug, Clone, Default)]
pub struct PolicySpace {
    /// (z, dx, scale dtheta).
    whole: Vec<f64>,
    /// The change of the model's input.
    input: Vec<f64>,
}

/// One stage with its model, its elimination and its policy.
#[derive(Debug, Clone)]
pub struct Node {
    /// Sizes as the problem states them.
    pub size: StageSize,
    /// Tangent dimension of the next state, 0 at the end.
    pub next: usize,
    /// The quadratic model; its input is z after [`Node::condense`]. Hessian and constraints are there only while they are borrowed.
    pub model: StageModel,
    /// u in terms of z.
    pub lift: Lift,
    /// Gradient of the cost before elimination.
    gradient: Vec<f64>,
    /// Gap before elimination.
    raw_gap: Vec<f64>,
    /// L over S: what the partial factorisation leaves of Q's first nz columns.
    factor: Mat,
    /// s.
    forward: Vec<f64>,
    /// V'_xx of the next stage, where this one has no input.
    ahead: Mat,
    /// Equations handed over by the stage after this one are already in.
    handed: bool,
}

impl Node {
    /// A stage of `size`, followed by a state of tangent dimension `next`, with `nt` parameters.
    pub fn new(size: StageSize, next: usize, nt: usize) -> Self {
        let n = size.input + size.tangent + nt;
        let mut model = StageModel::new(size, next, nt);
        (model.hess, model.con) = (Mat::zeros(0, 0), Mat::zeros(0, 0));
        Self {
            size,
            next,
            model,
            lift: Lift::default(),
            gradient: vec![0.0; n],
            raw_gap: vec![0.0; next],
            factor: Mat::zeros(n, size.input),
            forward: vec![0.0; size.input],
            ahead: Mat::zeros(0, 0),
            handed: false,
        }
    }

    /// Takes (or, the second time, gives back) what is borrowed.
    pub fn borrow(&mut self, buffers: &mut StageBuffers) {
        std::mem::swap(&mut self.model.hess, &mut buffers.hess);
        std::mem::swap(&mut self.model.con, &mut buffers.con);
    }

    /// A model of zeros to linearise into.
    pub fn clear(&mut self) {
        self.model.clear(self.size, self.next);
        self.lift.clear();
        self.handed = false;
    }

    /// Eliminates the stage's constraints. Stages do not depend on each other here. On `level` ground the cost's slope counts as zero: then the
    /// step is the least one, in the metric of the Hessian, that fulfils the constraints and closes the gaps.
    pub fn condense(&mut self, space: &mut EliminationSpace, level: bool) {
        self.gradient.clear();
        self.gradient.extend_from_slice(&self.model.grad);
        if level {
            self.model.grad.fill(0.0);
        }
        self.raw_gap.copy_from_slice(&self.model.gap);
        let substitution = &self.model.substitution;
        if substitution.active {
            axpy(1.0, &substitution.drift, &mut self.model.gap);
            axpy(1.0, &substitution.bend, &mut self.model.grad);
            self.lift.constant = substitution.constant;
        }
        if self.model.con.cols() > 0 {
            self.lift.eliminate(&mut self.model, space);
        }
    }

    /// Takes over the equations `next` cannot fulfil: C'(F d + gap, dtheta) + c = 0.
    fn take_over(&mut self, next: &Lift, space: &mut EliminationSpace) {
        if self.handed || next.leftover.values.is_empty() {
            return;
        }
        self.handed = true;
        let (own, handed) = (self.lift.leftover.values.len(), next.leftover.values.len());
        let m = &mut self.model;
        let (n, nz) = (m.n(), m.nu);
        m.con.reset(n, own + handed);
        m.con_value.clear();
        for i in 0..own {
            m.con.col_mut(i)[nz..].copy_from_slice(self.lift.leftover.rows.col(i));
            m.con_value.push(self.lift.leftover.values[i]);
        }
        for i in 0..handed {
            let row = next.leftover.rows.col(i);
            let (ahead, parameters) = row.split_at(self.next);
            let out = m.con.col_mut(own + i);
            for (k, &factor) in ahead.iter().enumerate() {
                axpy(factor, m.jac.col(k), out);
            }
            axpy(1.0, parameters, &mut out[n - m.nt..]);
            m.con_value.push(next.leftover.values[i] + dot(ahead, &m.gap));
        }
        self.lift.eliminate(&mut self.model, space);
    }

    /// The input change for a state change `dx`: du = scale (feed-forward + feedback of `dtheta`) + feedback of `dx`.
    pub fn policy(&self, dx: &[f64], dtheta: &[f64], scale: f64, space: &mut PolicySpace, du: &mut [f64]) {
        let (nz, whole) = (self.model.nu, &mut space.whole);
        whole.clear();
        whole.resize(nz, 0.0);
        whole.extend_from_slice(dx);
        whole.extend(dtheta.iter().map(|x| scale * x));
        let (z, tail) = whole.split_at_mut(nz);
        for (k, z) in z.iter_mut().enumerate() {
            *z = -(scale * self.forward[k] + dot(&self.factor.col(k)[nz..], tail));
        }
        solve_lower_transposed(&self.factor, z);
        // The input of the model, then that of the problem.
        let substitution = &self.model.substitution;
        let input = &mut space.input;
        input.clear();
        if self.lift.active {
            let of = |(i, s): (usize, &f64)| scale * s + dot(self.lift.rows.col(i), whole);
            input.extend(self.lift.shift.iter().enumerate().map(of));
        } else {
            input.extend_from_slice(&whole[..nz]);
        }
        if !substitution.active {
            du.copy_from_slice(input);
            return;
        }
        let inputs = input.len();
        input.extend_from_slice(&whole[nz..]);
        for (i, du) in du.iter_mut().enumerate() {
            *du = scale * substitution.shift[i] + dot(substitution.rows.col(i), input);
        }
        input.truncate(inputs);
    }

    /// The next state's change for the step that [`Node::policy`] left in `space`, gap included.
    pub fn step(&self, space: &PolicySpace, next: &mut [f64]) {
        for (i, out) in next.iter_mut().enumerate() {
            *out = dot(self.model.jac.col(i), &space.whole) + self.model.gap[i];
        }
    }

    /// How the stage answers to a change of its state and the parameters alone, all later inputs at their best: the change of the next state,
    /// and the slope of this stage's cost along it.
    pub fn respond(&self, dx: &[f64], dtheta: &[f64], space: &mut PolicySpace, next: &mut [f64]) -> f64 {
        let (nz, whole) = (self.model.nu, &mut space.whole);
        whole.clear();
        whole.resize(nz, 0.0);
        whole.extend(dx.iter().chain(dtheta));
        let (z, tail) = whole.split_at_mut(nz);
        for (k, z) in z.iter_mut().enumerate() {
            *z = -dot(&self.factor.col(k)[nz..], tail);
        }
        solve_lower_transposed(&self.factor, z);
        for (i, out) in next.iter_mut().enumerate() {
            *out = dot(self.model.jac.col(i), whole);
        }
        space.input.clear();
        if self.lift.active {
            space.input.extend((0..self.lift.shift.len()).map(|i| dot(self.lift.rows.col(i), whole)));
        } else {
            space.input.extend_from_slice(&whole[..nz]);
        }
        let (u, rest) = self.gradient.split_at(space.input.len());
        dot(u, &space.input) + dot(rest, &whole[nz..])
    }

    /// Slope of the cost along the step that [`Node::policy`] left in `space`, taken with scale one.
    pub fn slope(&self, space: &PolicySpace) -> f64 {
        let (u, rest) = self.gradient.split_at(space.input.len());
        let substitution = &self.model.substitution;
        let start = if substitution.active { substitution.slope } else { 0.0 };
        start + dot(u, &space.input) + dot(rest, &space.whole[self.model.nu..])
    }

    /// f (-) x' at the guess.
    pub fn raw_gap(&self) -> &[f64] {
        &self.raw_gap
    }

    /// The Hessian of the next stage's value function by its state, where this stage has no input; otherwise empty.
    pub fn ahead(&self) -> &Mat {
        &self.ahead
    }

    /// Covariance factor of z given (dx, dtheta): z-noise is L^-T e with e standard normal.
    pub fn noise_factor(&self) -> &Mat {
        &self.factor
    }
}

/// A value function, constant + v'y + y'V y / 2 for y = (dx, dtheta).
#[derive(Debug, Clone)]
pub struct Value {
    /// V; both triangles of the (dx, dx) block, the lower one elsewhere.
    pub hess: Mat,
    /// v.
    pub grad: Vec<f64>,
    /// Its value at y = 0, relative to the cost at the guess.
    pub constant: f64,
}

impl Default for Value {
    fn default() -> Self {
        Self { hess: Mat::zeros(0, 0), grad: Vec::new(), constant: 0.0 }
    }
}

/// The backward pass and its scratch space.
#[derive(Debug, Clone)]
pub struct Recursion {
    /// Value function of the stage that was done last.
    pub value: Value,
    /// How much of the cost the inputs of all stages so far gain, gaps left aside.
    pub decrement: f64,
    q: Mat,
    half: Mat,
    cross: Mat,
    grad: Vec<f64>,
    deflected: Vec<f64>,
    space: EliminationSpace,
}

impl Default for Recursion {
    fn default() -> Self {
        let empty = || Mat::zeros(0, 0);
        Self {
            value: Value::default(),
            decrement: 0.0,
            q: empty(),
            half: empty(),
            cross: empty(),
            grad: Vec::new(),
            deflected: Vec::new(),
            space: EliminationSpace::default(),
        }
    }
}

impl Recursion {
    /// Before the last stage.
    pub fn start(&mut self) {
        self.value.constant = 0.0;
        self.decrement = 0.0;
    }

    /// One stage, condensed, `next` being the elimination of the one after it; `value` becomes its value function.
    /// `damping` is added to Q_zz relative to its diagonal (Levenberg-Marquardt). False if Q_zz is not positive definite.
    pub fn advance(&mut self, node: &mut Node, next: Option<&Lift>, damping: f64) -> bool {
        if let Some(next) = next {
            node.take_over(next, &mut self.space);
        }
        self.stage(node, damping)
    }

    fn stage(&mut self, node: &mut Node, damping: f64) -> bool {
        // The Hessian is borrowed, and nobody asks for it again.
        std::mem::swap(&mut self.q, &mut node.model.hess);
        let m = &node.model;
        let (nz, n, nt) = (m.nu, m.n(), m.nt);
        self.grad.clear();
        self.grad.extend_from_slice(&m.grad);
        if node.next > 0 {
            if node.size.input == 0 {
                node.ahead.reset(node.next, node.next);
                for j in 0..node.next {
                    node.ahead.col_mut(j).copy_from_slice(&self.value.hess.col(j)[..node.next]);
                }
            }
            self.look_ahead(m, node.next);
        }
        self.value.constant += node.lift.constant;
        for j in 0..nz {
            self.q[(j, j)] += damping * (1.0 + self.q[(j, j)].abs());
        }
        if !partial_cholesky(&mut self.q, nz) {
            return false;
        }
        let (z, y) = self.grad.split_at_mut(nz);
        solve_lower(&self.q, z);
        for k in 0..nz {
            axpy(-z[k], &self.q.col(k)[nz..], y);
        }
        self.value.constant -= 0.5 * dot(z, z);
        self.decrement += 0.5 * dot(z, z);
        node.forward.clear();
        node.forward.extend_from_slice(z);
        node.factor.reset(n, nz);
        for k in 0..nz {
            node.factor.col_mut(k).copy_from_slice(self.q.col(k));
        }
        let value = &mut self.value;
        value.grad.clear();
        value.grad.extend_from_slice(y);
        value.hess.reshape(n - nz, n - nz);
        for j in nz..n {
            value.hess.col_mut(j - nz)[j - nz..].copy_from_slice(&self.q.col(j)[j..]);
        }
        let s = self.q.block(nz, n - nz, nz);
        add_product_lower(&mut value.hess, -1.0, s, s);
        mirror_leading(&mut value.hess, n - nz - nt);
        true
    }

    /// Q += F_a' V' F_a (lower triangle), q += F_a' (v' + V' gap).
    fn look_ahead(&mut self, m: &StageModel, next: usize) {
        let (n, nt, value) = (m.n(), m.nt, &mut self.value);
        let f = m.jac.below(0);
        // v' at the gap: (V_xx gap, V_tx gap) is V's columns of x times the gap.
        self.deflected.clear();
        self.deflected.resize(next + nt, 0.0);
        for (j, &gap) in m.gap.iter().enumerate() {
            if gap != 0.0 {
                axpy(gap, value.hess.col(j), &mut self.deflected);
            }
        }
        value.constant += dot(&value.grad[..next], &m.gap) + 0.5 * dot(&self.deflected[..next], &m.gap);
        axpy(1.0, &value.grad, &mut self.deflected);
        for (i, &slope) in self.deflected[..next].iter().enumerate() {
            axpy(slope, m.jac.col(i), &mut self.grad);
        }
        axpy(1.0, &self.deflected[next..], &mut self.grad[n - nt..]);
        // F' V_xx F.
        set_product(&mut self.half, 1.0, f, value.hess.block(0, next, next));
        add_product_lower(&mut self.q, 1.0, f, self.half.below(0));
        if nt == 0 {
            return;
        }
        // The rows of theta: V_tx F, its transpose in the (theta, theta) block, and V_tt.
        set_product(&mut self.cross, 1.0, value.hess.block(next, nt, next), f);
        for j in 0..n - nt {
            axpy(1.0, self.cross.col(j), &mut self.q.col_mut(j)[n - nt..]);
        }
        for j in 0..nt {
            let (old, out) = (&value.hess.col(next + j)[next..], &mut self.q.col_mut(n - nt + j)[n - nt..]);
            for i in j..nt {
                out[i] += old[i] + self.cross[(i, n - nt + j)] + self.cross[(j, n - nt + i)];
            }
        }
    }
}

/// Copies the lower triangle of the leading block to its upper one.
fn mirror_leading(m: &mut Mat, size: usize) {
    for j in 0..size {
        for i in j + 1..size {
            m[(j, i)] = m[(i, j)];
        }
    }
}
