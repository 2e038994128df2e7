//! What is known for certain about the unknown parameters: a box, rows of data, and cuts of physical consistency.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::bounds::Tightened;
use super::window::Pick;
use crate::inertia::pseudo::{on_grid, quadratic_form, violated_directions};
use crate::inertia::{INERTIAL, ParameterSet};

/// Length (m) that makes the entries of a pseudo-inertia comparable with one another; a choice of units only.
const LENGTH: f64 = 0.2;

/// Rows of data: the true z satisfies |y_w z - u_w| <= radius_w for every row w.
///
/// Units of u and radius are those of the balance the rows come from (N m s for the momentum balance). `radius`
/// includes everything that may be wrong: sensor noise, quadrature, encoder errors, the rounding of `y` and `u`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Rows {
    /// Coefficients, one row of length p each.
    pub y: DMatrix<f64>,
    /// Right-hand sides.
    pub u: Vec<f64>,
    /// Known bounds on |y_w z - u_w|, >= 0.
    pub radius: Vec<f64>,
    /// Where each row comes from, for messages.
    pub origin: Vec<Origin>,
    /// How each row can be made again; rows beyond its end were made by hand.
    #[serde(default)]
    pub source: Vec<Option<Source>>,
}

/// How a row can be made again, in another process too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(untagged)]
pub enum Source {
    /// Joint, first tick, last tick of a span of measurements; and which step of learning made the row.
    Span([u32; 4]),
    /// A step that proved strips, and which of its strips the row is.
    Strip([u32; 2]),
    /// Number of the row among all those of recordings ([`super::recorded::numbered_rows`]).
    Recorded([u32; 1]),
}

/// The time (s, end of the window) and the joint that a row of data comes from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Origin {
    /// End of the window, s.
    pub t: f64,
    /// Joint index.
    pub joint: usize,
}

impl Rows {
    /// No rows, over `parameters` unknowns.
    pub fn none(parameters: usize) -> Self {
        Self { y: DMatrix::zeros(0, parameters), u: vec![], radius: vec![], origin: vec![], source: vec![] }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.u.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.u.is_empty()
    }

    /// These rows followed by `more` (same number of unknowns).
    pub fn append(&mut self, more: &Rows) {
        self.append_all(std::slice::from_ref(more));
    }

    /// These rows followed by those of all of `more` (same number of unknowns).
    pub fn append_all(&mut self, more: &[Rows]) {
        let (mut at, columns) = (self.len(), self.y.ncols());
        let total = at + more.iter().map(Rows::len).sum::<usize>();
        let y = std::mem::replace(&mut self.y, DMatrix::zeros(0, columns));
        self.y = y.resize_vertically(total, 0.0);
        for more in more {
            self.y.rows_mut(at, more.len()).copy_from(&more.y);
            self.source.resize(at, None);
            self.source.extend(more.source.iter().take(more.len()));
            at += more.len();
            self.u.extend_from_slice(&more.u);
            self.radius.extend_from_slice(&more.radius);
            self.origin.extend_from_slice(&more.origin);
        }
    }

    /// The rows with the given indices. Leaving rows out only forgets, so it is always sound.
    pub fn select(&self, keep: &[usize]) -> Rows {
        Rows {
            y: self.y.select_rows(keep),
            u: keep.iter().map(|&w| self.u[w]).collect(),
            radius: keep.iter().map(|&w| self.radius[w]).collect(),
            origin: keep.iter().map(|&w| self.origin[w]).collect(),
            source: keep.iter().map(|&w| self.source_of(w)).collect(),
        }
    }

    /// How row `w` can be made again, if it is known.
    pub fn source_of(&self, w: usize) -> Option<Source> {
        self.source.get(w).copied().flatten()
    }
}

/// Half-spaces c' theta >= 0 on one body's inertial parameters, each of the form v' J(theta) v >= 0 with v on the
/// grid of [`on_grid`], so that c is exact and the half-space holds for every physically consistent body.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Cuts {
    /// Index of the body's first inertial parameter in the parameter vector.
    pub offset: usize,
    /// How many of the coefficients, from the first, are those of [`Cuts::axes`].
    pub basic: usize,
    /// Coefficients on the body's ten parameters.
    pub coefficients: Vec<[f64; INERTIAL]>,
}

impl Cuts {
    /// The cuts that hold from the start: non-negative second moments and mass along and between the axes.
    pub fn axes(offset: usize) -> Self {
        let mut cuts = Self { offset, basic: 0, coefficients: vec![] };
        for i in 0..4 {
            let mut v = nalgebra::Vector4::zeros();
            v[i] = 1.0;
            cuts.coefficients.push(quadratic_form(&v));
            for j in 0..i {
                for sign in [-1.0, 1.0] {
                    // Between two axes; LENGTH weighs the mass against the moments.
                    v[j] = if i == 3 { sign / LENGTH } else { sign };
                    cuts.coefficients.extend(on_grid(&v).as_ref().map(quadratic_form));
                }
                v[j] = 0.0;
            }
        }
        cuts.basic = cuts.coefficients.len();
        cuts
    }

    /// The body's parameters within the full vector z.
    pub fn body(&self, z: &[f64]) -> [f64; INERTIAL] {
        std::array::from_fn(|j| z[self.offset + j])
    }

    /// Adds the cuts that separate z from the physically consistent bodies; returns how many (0: z is consistent
    /// up to `tolerance`).
    pub fn separate(&mut self, z: &[f64], tolerance: f64) -> usize {
        let theta = self.body(z);
        if theta.iter().any(|x| !x.is_finite()) {
            return 0;
        }
        let before = self.coefficients.len();
        for v in violated_directions(&theta, LENGTH, tolerance) {
            self.coefficients.extend(on_grid(&v).as_ref().map(quadratic_form));
        }
        self.coefficients.len() - before
    }
}

/// { z in box : rows and cuts hold }: a set that contains the true parameters.
#[derive(Debug, Clone)]
pub struct Polytope {
    /// The box, all p parameters.
    pub set: ParameterSet,
    /// Rows of data.
    pub rows: Rows,
    /// Cuts of physical consistency.
    pub cuts: Cuts,
    /// How much the first rows have held in place lately, 0 for idle ones. The rows beyond are new.
    pub weight: Vec<f64>,
}

/// What an update leaves of the weight of a row that it does not need.
const FADING: f64 = 0.5;

impl Polytope {
    /// A box with neither rows nor cuts beyond [`Cuts::axes`] for the body whose parameters start at `offset`.
    pub fn from_box(set: ParameterSet, offset: usize) -> Self {
        let rows = Rows::none(set.len());
        Self { set, rows, cuts: Cuts::axes(offset), weight: vec![] }
    }

    /// Number of unknowns p.
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether there are no unknowns.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Notes how much each row holds in place now.
    pub fn note_weights(&mut self, share: &[f64]) {
        self.weight.resize(share.len(), 0.0);
        self.weight.iter_mut().zip(share).for_each(|(weight, share)| *weight = weight.max(*share));
    }

    /// The rows with a share in a bound that spans of measurements can make again, and these spans.
    pub(super) fn holding(&self, row_share: &[f64]) -> Vec<(usize, Pick)> {
        let pick = |w: usize| match self.rows.source_of(w) {
            Some(Source::Span([joint, from, to, _])) if row_share[w] > 0.0 => {
                Some((w, Pick { from: from as usize, to: to as usize, joint: joint as usize }))
            }
            _ => None,
        };
        (0..row_share.len()).filter_map(pick).collect()
    }

    /// Forgets what the rows with these indices held in place: others say the same and more.
    pub fn supersede(&mut self, rows: &[usize]) {
        for &w in rows {
            if let Some(weight) = self.weight.get_mut(w) {
                *weight = 0.0;
            }
        }
    }

    /// Drops the cuts that no bound uses, and all but `budget` of the rows: those that hold the bounds stay. Forgetting
    /// only makes the set larger, so it is always sound.
    pub fn forget(&mut self, found: &Tightened, budget: usize) {
        let mut index = 0;
        let basic = self.cuts.basic;
        self.cuts.coefficients.retain(|_| {
            index += 1;
            index <= basic || found.cut_used[index - 1]
        });
        self.weight.iter_mut().for_each(|weight| *weight *= FADING);
        self.note_weights(&found.row_share);
        if self.rows.len() > budget {
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            order.sort_by(|&a, &b| self.weight[b].total_cmp(&self.weight[a]));
            order.truncate(budget);
            order.sort_unstable();
            self.rows = self.rows.select(&order);
            self.weight = order.iter().map(|&w| self.weight[w]).collect();
        }
    }
}
