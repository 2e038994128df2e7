//! Friction that is larger at rest, taken out before dry and viscous friction are fitted.
//!
//! Dry friction often falls with speed from what it is at rest, after Stribeck: by an excess X s(v) exp(-(|v| / r)^p) with p = 1 or 2. Robot files have no such term. A fit without
//! it finds too much dry friction and too little viscous friction, the more so the slower a motor moved; at speeds beyond those of the recordings the model is then wrong.
//!
//! With n the excess' shape at a motor's rows, these rows become Y - n (n'n)^-1 n'Y and u - n (n'n)^-1 n'u: what is left of them is the same whatever X is. A least-squares
//! fit to them is that in which X is unknown too (Frisch and Waugh 1933). The shape is the one for which a fit of the motor's rows alone leaves the least squares: with H = Y'Y and
//! b = Y'u they fall by (n'u - n'Y H^-1 b)^2 / (n'n - n'Y H^-1 Y'n). Rows are left as they are where no excess that is positive is worth it.
//!
//! The shape is found, and taken out, once: of all recordings, those that are left out to choose a belief with them, and before rows are weighted. Weights that come later leave
//! what is left of rows without bias by X, but an outlier has had its share in n'Y and n'u.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::RestFriction;
use super::compressed::Compressed;
use super::rows::LimbRows;

/// Powers p that are looked at (Tustin 1947; Bo and Pavelescu 1982).
const POWERS: [i32; 2] = [1, 2];
/// Rates r from so small a share of the motor's median speed to the whole, each so many times the one before: with larger ones the excess cannot be told from dry and viscous friction.
const SLOWEST: f64 = 1.0 / 16.0;
const NEXT: f64 = 1.25;
/// Share of a motor's squared errors that the excess has to save: smoothed samples are hundreds of independent ones at most, so chance saves hundredths.
const WORTH: f64 = 0.02;
/// Of directions that a motor's rows do not tell, relative to all that is told.
const RIDGE: f64 = 1e-9;

/// How an excess falls with speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    rate_rad_s: f64,
    power: i32,
}

impl Shape {
    fn at(&self, v: f64) -> f64 {
        (-(v.abs() / self.rate_rad_s).powi(self.power)).exp().copysign(v)
    }

    /// n at a motor's rows that are known.
    fn column(&self, speeds: &[f64]) -> DVector<f64> {
        DVector::from_iterator(speeds.len(), speeds.iter().map(|v| self.at(*v)))
    }
}

/// A motor's rows that are known.
struct Own {
    places: Vec<usize>,
    y: DMatrix<f64>,
    u: DVector<f64>,
    speeds: Vec<f64>,
}

impl Own {
    fn of(rows: &LimbRows, j: usize) -> Self {
        let all = &rows.rows;
        let places: Vec<usize> = (j..all.u.len()).step_by(all.joints).filter(|row| all.known[*row]).collect();
        let speeds = places.iter().map(|&row| rows.speeds[row]).collect();
        Self { y: all.y.select_rows(&places), u: all.u.select_rows(&places), speeds, places }
    }

    /// The shape that is worth taking out.
    fn shape(&self) -> Option<Shape> {
        let mut speeds: Vec<f64> = self.speeds.iter().map(|v| v.abs()).collect();
        speeds.sort_by(f64::total_cmp);
        let median = *speeds.get(speeds.len() / 2)?;
        let mut gram = self.y.tr_mul(&self.y);
        let ridge = RIDGE * gram.trace() / gram.nrows().max(1) as f64;
        (0..gram.nrows()).for_each(|k| gram[(k, k)] += ridge);
        let factor = Cholesky::new(gram)?;
        let products = self.y.tr_mul(&self.u);
        let best = factor.solve(&products);
        let left = self.u.norm_squared() - products.dot(&best);
        let gain = |shape: &Shape| {
            let n = shape.column(&self.speeds);
            let products = self.y.tr_mul(&n);
            let own = n.norm_squared() - products.dot(&factor.solve(&products));
            let slope = n.dot(&self.u) - products.dot(&best);
            if own > RIDGE * n.norm_squared() { slope.max(0.0).powi(2) / own } else { 0.0 }
        };
        let rates = std::iter::successors(Some(SLOWEST * median), |rate| Some(NEXT * rate))
            .take_while(|rate| *rate <= median && *rate > 0.0);
        let shapes = rates.flat_map(|rate_rad_s| POWERS.map(|power| Shape { rate_rad_s, power }));
        let (gain, shape) = shapes.map(|shape| (gain(&shape), shape)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        (gain > 0.0 && gain >= WORTH * left).then_some(shape)
    }
}

/// Takes the excess out of each motor's rows, where it has one.
pub(super) fn take_out(learnt: &mut Compressed) -> Vec<Option<Shape>> {
    (0..learnt.rows.rows.joints).map(|j| take_out_of(&mut learnt.rows, j)).collect()
}

fn take_out_of(rows: &mut LimbRows, j: usize) -> Option<Shape> {
    // What stands has no speed that friction could fall with.
    let own = (!rows.stands(j)).then(|| Own::of(rows, j))?;
    let shape = own.shape()?;
    let n = shape.column(&own.speeds);
    let share = &n / n.norm_squared();
    let (y, u) = (&own.y - &n * share.tr_mul(&own.y), &own.u - &n * share.dot(&own.u));
    for (from, &row) in own.places.iter().enumerate() {
        rows.rows.y.row_mut(row).copy_from(&y.row(from));
        rows.rows.u[row] = u[from];
    }
    Some(shape)
}

/// The excess of each motor by all parameters `theta`, from rows that it has not been taken out of.
pub(super) fn told(rows: &LimbRows, shapes: &[Option<Shape>], theta: &[f64]) -> Vec<Option<RestFriction>> {
    let theta = DVector::from_column_slice(theta);
    let one = |(j, shape): (usize, &Option<Shape>)| {
        let (own, shape) = (Own::of(rows, j), (*shape)?);
        let n = shape.column(&own.speeds);
        let excess_nm = n.dot(&(&own.u - &own.y * &theta)) / n.norm_squared();
        (excess_nm > 0.0).then_some(RestFriction {
            excess_nm,
            rate_rad_s: shape.rate_rad_s,
            power: shape.power,
        })
    };
    shapes.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::regression::robust::SampleRows;

    const FRICTION: [f64; 2] = [1.4, 0.6];

    /// Two motors with dry and viscous friction and a load that swings; `excess` of the first at rest, and noise of 0.05 N m. A fifth of its samples are unknown.
    fn rows(excess: f64, shape: Shape, seed: u64) -> LimbRows {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let count = 1000;
        let (mut y, mut u) = (DMatrix::zeros(2 * count, 6), DVector::zeros(2 * count));
        let (mut speeds, mut sticks) = (vec![], vec![]);
        for s in 0..count {
            for j in 0..2 {
                let v: f64 = rng.random_range(-0.8..0.8);
                let row = 2 * s + j;
                let load = rng.random_range(-1.0..1.0);
                (y[(row, 3 * j)], y[(row, 3 * j + 1)], y[(row, 3 * j + 2)]) = (v.signum(), v, load);
                let noise = 0.05 * 3f64.sqrt() * rng.random_range(-1.0..1.0);
                let further = if j == 0 { excess * shape.at(v) } else { 0.0 };
                u[row] = FRICTION[0] * v.signum() + FRICTION[1] * v + 2.0 * load + further + noise;
                speeds.push(v);
                sticks.push(j == 0 && s % 5 == 0);
            }
        }
        let n = u.len();
        let rows = SampleRows { known: vec![true; n], y, u, joints: 2 };
        LimbRows {
            measured: rows.u.clone(),
            rows,
            alike: 1.0,
            log: vec![0; count],
            at_limit: vec![false; n],
            speeds,
            sticks,
            moved: vec![(-1.0, 1.0); 2],
        }
    }

    /// Dry and viscous friction of a motor by least squares.
    fn friction(rows: &LimbRows, j: usize) -> [f64; 2] {
        let own = Own::of(rows, j);
        let found = crate::regression::least_squares::ordinary(&own.y.columns(3 * j, 3).into_owned(), &own.u)
            .unwrap();
        [found[0], found[1]]
    }

    fn off(found: [f64; 2]) -> f64 {
        (found[0] - FRICTION[0]).abs().max((found[1] - FRICTION[1]).abs())
    }

    #[test]
    fn friction_that_is_larger_at_rest_disturbs_no_other() {
        for (seed, rate_rad_s, power) in [(1, 0.1, 2), (2, 0.2, 2), (3, 0.05, 1), (4, 0.15, 1)] {
            let shape = Shape { rate_rad_s, power };
            let mut all = rows(0.5, shape, seed).without_sticking();
            let before = all.clone();
            let plain = off(friction(&all, 0));
            let found: Vec<Option<Shape>> = (0..2).map(|j| take_out_of(&mut all, j)).collect();
            let of = found[0].unwrap_or_else(|| panic!("nothing found for {shape:?}"));
            let own = off(friction(&all, 0));
            println!("{shape:?}: found {of:?}, friction off by {plain:.3} without, {own:.3} with");
            assert!(own < 0.1 && own < 0.3 * plain, "{own} {plain}");
            let at = |shape: &Shape| shape.rate_rad_s * 2f64.ln().powf(1.0 / f64::from(shape.power));
            assert!((at(&of) / at(&shape) - 1.0).abs() < 0.4, "{of:?} {shape:?}");
            assert!(found[1].is_none() && off(friction(&all, 1)) < 0.03);
            // What is told of it is what it is, and rows that are unknown stay nothing.
            let theta = [FRICTION[0], FRICTION[1], 2.0].repeat(2);
            let rest = told(&before, &found, &theta);
            assert!((rest[0].unwrap().excess_nm / 0.5 - 1.0).abs() < 0.3 && rest[1].is_none(), "{rest:?}");
            assert!((0..all.sticks.len()).filter(|row| all.sticks[*row]).all(|row| all.rows.u[row] == 0.0));
        }
    }

    #[test]
    fn where_there_is_none_rows_stay_as_they_are() {
        for seed in 0..20 {
            // None at all, and friction that is smaller at rest.
            for excess in [0.0, -0.3] {
                let before = rows(excess, Shape { rate_rad_s: 0.1, power: 2 }, seed);
                let mut all = before.clone();
                assert_eq!(take_out_of(&mut all, 0), None, "{seed}");
                assert!(all.rows == before.rows);
            }
        }
        // A motor that never moves surely.
        let mut still = rows(0.0, Shape { rate_rad_s: 0.1, power: 2 }, 1);
        still.sticks.iter_mut().for_each(|sticks| *sticks = true);
        assert_eq!(take_out_of(&mut still.without_sticking(), 0), None);
    }
}
