//! Which hinges stick and which slide: the complementarity problem of a step, solved by sign states.
//!
//! For those who change how a step is solved. With each hinge's state known (it sticks, or slides one way; the signs of the impulses
//! that bound its friction), a step is one linear system. A state is exact where its own solution confirms it. The search starts from the state
//! of the last step and takes over what each solution says; where that goes in a circle all states of sticking and sliding are tried,
//! and [`lemke`](super::lemke) comes last. Where friction is large several states may be confirmed; [`StepSpace::solutions`] counts them.

use super::equations::{Equations, HingeFriction, Start, coefficient};
use super::error::DiscreteError;
use super::geometry::Geometry;
use super::lemke::lemke;
use crate::linear::dense::dot;
use crate::linear::gauss::Elimination;

/// Rounds in which a solution may correct the state that it was found with.
const ROUNDS: usize = 12;
/// Relative size of what counts as zero when a state is confirmed.
const SLACK: f64 = 1e-10;

/// Scratch space of one step, and its result.
#[derive(Debug, Clone, Default)]
pub(super) struct StepSpace {
    /// (w, lambda, lambda_t).
    pub(super) y: Vec<f64>,
    pub(super) elimination: Elimination,
    right: Vec<f64>,
    rates: Vec<f64>,
    next: Vec<HingeFriction>,
}

impl StepSpace {
    /// Solves the step from `at` under the impulse `p`. `friction` holds the state to begin with, and then the one that was found; the factors of its
    /// matrix stay.
    pub(super) fn solve(
        &mut self,
        equations: &Equations,
        at: Start<'_>,
        p: &[f64],
        friction: &mut Vec<HingeFriction>,
    ) -> Result<(), DiscreteError> {
        equations.fill_right(at, p, &mut self.right, &mut self.rates);
        if self.right.iter().any(|x| !x.is_finite()) {
            return Err(DiscreteError::NoStep { reason: "the state is not finite".into() });
        }
        friction.resize(equations.dry.len(), HingeFriction::default());
        for round in 0..ROUNDS {
            if !self.solve_in(equations, at, friction) {
                if equations.dry.is_empty() || round == 0 && self.singular_without_friction(equations, at) {
                    let reason =
                        "the constraints' equations are singular (rigid rows that depend on each other?)";
                    return Err(DiscreteError::NoStep { reason: reason.into() });
                }
                break;
            }
            if equations.dry.is_empty() || self.confirmed(equations, at, friction) {
                return Ok(());
            }
            friction.clone_from(&self.next);
        }
        if let Some(found) = self.enumerated(equations, at).into_iter().next() {
            friction.clone_from(&found);
            self.solve_in(equations, at, friction);
            return Ok(());
        }
        self.finish_by_lemke(equations, at, friction)
    }

    /// [`Self::solve`] by Lemke's method alone.
    pub(super) fn solve_by_lemke(
        &mut self,
        equations: &Equations,
        at: Start<'_>,
        p: &[f64],
        friction: &mut Vec<HingeFriction>,
    ) -> Result<(), DiscreteError> {
        equations.fill_right(at, p, &mut self.right, &mut self.rates);
        self.finish_by_lemke(equations, at, friction)
    }

    fn finish_by_lemke(
        &mut self,
        equations: &Equations,
        at: Start<'_>,
        friction: &mut Vec<HingeFriction>,
    ) -> Result<(), DiscreteError> {
        if let Some(found) = self.by_lemke(equations, at) {
            friction.clone_from(&found);
            if self.solve_in(equations, at, friction) {
                return Ok(());
            }
        }
        Err(DiscreteError::NoStep {
            reason: "dry friction has no consistent state here (is a coefficient too large?)".into(),
        })
    }

    /// Appends the solution and the factors of its matrix to `out`.
    pub(super) fn store(&self, out: &mut Vec<f64>) {
        out.extend_from_slice(&self.y);
        self.elimination.store(out);
    }

    /// How many numbers that is.
    pub(super) fn stored(equations: &Equations) -> usize {
        equations.size() * (equations.size() + 2)
    }

    /// Takes them back.
    pub(super) fn restore(&mut self, equations: &Equations, from: &[f64]) {
        let (y, factors) = from.split_at(equations.size());
        self.y.clear();
        self.y.extend_from_slice(y);
        self.elimination.restore(equations.size(), factors);
    }

    fn singular_without_friction(&mut self, equations: &Equations, at: Start<'_>) -> bool {
        let sliding = vec![HingeFriction { sliding: 1, signs: [0.0; 5] }; equations.dry.len()];
        !self.solve_in(equations, at, &sliding)
    }

    /// The linear system of one state; false where it is singular.
    fn solve_in(&mut self, equations: &Equations, at: Start<'_>, friction: &[HingeFriction]) -> bool {
        equations.fill_matrix(at, friction, self.elimination.matrix(equations.size()));
        if !self.elimination.factor() {
            return false;
        }
        self.y.clone_from(&self.right);
        self.elimination.solve_one(&mut self.y);
        self.y.iter().all(|x| x.is_finite())
    }

    /// Whether the solution confirms its state; `next` is the one that it says instead.
    fn confirmed(&mut self, equations: &Equations, at: Start<'_>, friction: &[HingeFriction]) -> bool {
        self.next.clear();
        let mut good = true;
        for (f, &j) in equations.dry.iter().enumerate() {
            let (g, dry) = (&at.geometry.joints[j], at.mechanism.joints[j].dry().unwrap_or_default());
            let impulses = &self.y[equations.nv + g.row..][..5];
            let largest = impulses.iter().fold(0.0f64, |m, l| m.max(l.abs()));
            let mut next = friction[f];
            for (sign, impulse) in next.signs.iter_mut().zip(impulses) {
                if *sign * impulse < -SLACK * largest || *sign == 0.0 {
                    *sign = if *impulse < 0.0 { -1.0 } else { 1.0 };
                    good = false;
                }
            }
            let most = coefficient(&dry, g.turning(at.v)).0 * equations.bound(g, &dry, &next, &self.y);
            let tangential = self.y[equations.nv + equations.nr + f];
            if friction[f].sliding == 0 {
                if tangential.abs() > most * (1.0 + SLACK) + f64::MIN_POSITIVE {
                    next.sliding = if tangential > 0.0 { -1 } else { 1 };
                }
            } else {
                let speed = g.turning(&self.y) + dry.creep * tangential;
                let scale = g.turning(at.v).abs() + speed.abs();
                if f64::from(friction[f].sliding) * speed < -SLACK * scale {
                    next.sliding = 0;
                }
            }
            good &= next.sliding == friction[f].sliding;
            self.next.push(next);
        }
        good
    }

    /// All confirmed states of sticking and sliding, the signs of each found by itself.
    fn enumerated(&mut self, equations: &Equations, at: Start<'_>) -> Vec<Vec<HingeFriction>> {
        let hinges = equations.dry.len() as u32;
        let mut found: Vec<Vec<HingeFriction>> = vec![];
        for code in 0..3usize.pow(hinges.min(8)) {
            let sliding = |f: u32| (code / 3usize.pow(f) % 3) as i8 - 1;
            let mut friction: Vec<HingeFriction> =
                (0..hinges).map(|f| HingeFriction { sliding: sliding(f), ..Default::default() }).collect();
            for _ in 0..ROUNDS {
                if !self.solve_in(equations, at, &friction) {
                    break;
                }
                if self.confirmed(equations, at, &friction) {
                    found.push(friction);
                    break;
                }
                let signs = self.next.iter().map(|n| n.signs);
                let same = friction.iter().zip(signs.clone()).all(|(f, s)| f.signs == s);
                if same {
                    break;
                }
                friction.iter_mut().zip(signs).for_each(|(f, s)| f.signs = s);
            }
        }
        found
    }

    /// The velocities of all confirmed states that differ: more than one where friction is so large that the step is not unique. With one
    /// or two hinges of dry friction each state is tried; with more, those that [`Self::enumerated`] finds.
    pub(super) fn solutions(&mut self, equations: &Equations, at: Start<'_>, p: &[f64]) -> Vec<Vec<f64>> {
        let mut all = sign_states(equations.dry.len());
        equations.fill_right(at, p, &mut self.right, &mut self.rates);
        all.extend(self.enumerated(equations, at));
        self.different(equations, at, all)
    }

    /// [`Self::solutions`] among the states that the search of a step's own finds: most of them, for a small part of the time.
    pub(super) fn usual_solutions(&mut self, equations: &Equations, at: Start<'_>, p: &[f64]) -> usize {
        equations.fill_right(at, p, &mut self.right, &mut self.rates);
        let mut all = self.enumerated(equations, at);
        if equations.dry.len() == 1 {
            all.extend(sign_states(1));
        }
        self.different(equations, at, all).len()
    }

    /// The velocities of those states that are confirmed.
    fn different(
        &mut self,
        equations: &Equations,
        at: Start<'_>,
        states: Vec<Vec<HingeFriction>>,
    ) -> Vec<Vec<f64>> {
        let mut out: Vec<Vec<f64>> = vec![];
        for friction in states {
            if !self.solve_in(equations, at, &friction) || !self.confirmed(equations, at, &friction) {
                continue;
            }
            let w = self.y[..equations.nv].to_vec();
            let near = |o: &Vec<f64>| {
                let d: Vec<f64> = o.iter().zip(&w).map(|(a, b)| a - b).collect();
                dot(&d, &d) <= 1e-12 * (1.0 + dot(&w, &w))
            };
            if !out.iter().any(near) {
                out.push(w);
            }
        }
        out
    }

    /// The state that Lemke's method finds, for the right-hand side that is there.
    pub(super) fn by_lemke(&mut self, equations: &Equations, at: Start<'_>) -> Option<Vec<HingeFriction>> {
        let (m, q) = self.standard_form(equations, at)?;
        let z = lemke(&m, &q).ok()?;
        let state = |z: &[f64]| HingeFriction {
            // Sliding uses up all of the bound, sigma > 0.
            sliding: if z[12] <= 0.0 {
                0
            } else if z[11] > z[10] {
                1
            } else {
                -1
            },
            signs: std::array::from_fn(|i| if z[5 + i] > z[i] { -1.0 } else { 1.0 }),
        };
        Some(z.chunks_exact(13).map(state).collect())
    }

    /// w = M z + q for z = (lambda+, lambda-, lambda_t+, lambda_t-, sigma) of each hinge with dry friction ([5, eq. 2.24]), everything else eliminated.
    /// Nothing where that is singular.
    fn standard_form(&mut self, equations: &Equations, at: Start<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
        let (nv, nr, n, width) = (equations.nv, equations.nr, equations.size(), 13 * equations.dry.len());
        // The base: the rows of hinges with dry friction say lambda = 0, and so do those of friction.
        let sliding = vec![HingeFriction { sliding: 1, signs: [0.0; 5] }; equations.dry.len()];
        let mut whole = vec![0.0; n * n];
        equations.fill_matrix(at, &sliding, &mut whole);
        let base = self.elimination.matrix(n);
        base.copy_from_slice(&whole);
        let rows = |f: usize| nv + at.geometry.joints[equations.dry[f]].row;
        for f in 0..equations.dry.len() {
            for r in rows(f)..rows(f) + 5 {
                base[r * n..(r + 1) * n].fill(0.0);
                base[r * n + r] = 1.0;
            }
        }
        // Columns: what a unit of each impulse does, and the right-hand side.
        let mut right = vec![0.0; n * (width + 1)];
        for i in 0..n {
            right[i * (width + 1) + width] = self.right[i];
        }
        for f in 0..equations.dry.len() {
            for i in 0..5 {
                let r = rows(f) + i;
                right[r * (width + 1) + 13 * f + i] = 1.0;
                right[r * (width + 1) + 13 * f + 5 + i] = -1.0;
                right[r * (width + 1) + width] = 0.0;
            }
            let r = nv + nr + f;
            right[r * (width + 1) + 13 * f + 10] = 1.0;
            right[r * (width + 1) + 13 * f + 11] = -1.0;
        }
        if !self.elimination.factor() {
            return None;
        }
        self.elimination.solve(&mut right, width + 1, 0);
        let (mut m, mut q) = (vec![0.0; width * width], vec![0.0; width]);
        let mut column = vec![0.0; nv];
        for c in 0..=width {
            for (i, x) in column.iter_mut().enumerate() {
                *x = right[i * (width + 1) + c];
            }
            for (f, &j) in equations.dry.iter().enumerate() {
                let (g, o) = (&at.geometry.joints[j], 13 * f);
                let mut put =
                    |row: usize, x: f64| if c < width { m[row * width + c] = x } else { q[row] = x };
                for i in 0..5 {
                    let r = rows(f) + i;
                    let rate = dot(&whole[r * n..r * n + nv], &column)
                        - if c == width { self.right[r] } else { 0.0 };
                    put(o + i, rate);
                    put(o + 5 + i, -rate);
                }
                let speed = g.turning(&column);
                put(o + 10, speed);
                put(o + 11, -speed);
            }
        }
        self.complete_standard_form(equations, at, &mut m);
        Some((m, q))
    }

    /// Compliance, creep and the friction bound.
    fn complete_standard_form(&self, equations: &Equations, at: Start<'_>, m: &mut [f64]) {
        let width = 13 * equations.dry.len();
        for (f, &j) in equations.dry.iter().enumerate() {
            let (o, dry) = (13 * f, at.mechanism.joints[j].dry().unwrap_or_default());
            let (_, sigma) = equations.softness(at.mechanism, j);
            let mu = coefficient(&dry, at.geometry.joints[j].turning(at.v)).0;
            for (i, arm) in super::equations::arms(&dry).iter().enumerate() {
                for k in [o + i, o + 5 + i] {
                    m[k * width + k] += sigma[usize::from(i >= 3)];
                    m[(o + 12) * width + k] = mu * arm;
                }
            }
            for k in [o + 10, o + 11] {
                m[k * width + k] += dry.creep;
                m[k * width + o + 12] = 1.0;
                m[(o + 12) * width + k] = -1.0;
            }
        }
    }

    /// For a start with its geometry: the right-hand side, for [`StepSpace::by_lemke`].
    #[cfg(test)]
    pub(super) fn prepare(&mut self, equations: &Equations, at: Start<'_>, p: &[f64]) {
        equations.fill_right(at, p, &mut self.right, &mut self.rates);
    }
}

/// All states of one or two hinges: three of sliding, and 32 signs of the impulses. None of more hinges, of which there are millions.
fn sign_states(hinges: usize) -> Vec<Vec<HingeFriction>> {
    const STATES: usize = 3 << 5;
    let of = |code: usize| HingeFriction {
        sliding: (code >> 5) as i8 - 1,
        signs: std::array::from_fn(|i| if code >> i & 1 == 0 { 1.0 } else { -1.0 }),
    };
    let count = if hinges > 2 { 0 } else { STATES.pow(hinges as u32) };
    (0..count).map(|code| (0..hinges as u32).map(|f| of(code / STATES.pow(f) % STATES)).collect()).collect()
}

/// The state of friction that velocities `v` suggest before anything is known.
pub(super) fn first_guess(equations: &Equations, geometry: &Geometry, v: &[f64]) -> Vec<HingeFriction> {
    let state = |j: &usize| {
        let speed = geometry.joints[*j].turning(v);
        let sliding = if speed > 0.0 {
            1
        } else if speed < 0.0 {
            -1
        } else {
            0
        };
        HingeFriction { sliding, ..Default::default() }
    };
    equations.dry.iter().map(state).collect()
}
