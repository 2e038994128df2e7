//! Rows of a limb in as few columns as tell the same.
//!
//! A limb's regressor Y has many columns that depend on one another: the inertia of links that turn about one axis, or what no motor feels. With D a diagonal of the
//! parameters' sizes and Y D = Q R, R = W S V', the columns U = Y D V S^-1 of the singular values that count have Y = U C with C = S V' D^-1. Fits
//! work on U; their unknowns stay the limb's parameters. What is left out changes no torque by more than a millionth of what a parameter's size does.

use nalgebra::{DMatrix, DVector};

use super::LimbUnknown;
use super::fit::Free;
use super::rows::LimbRows;
use crate::robot::Model;

/// Singular values below this share of the largest do not count.
const NEGLIGIBLE: f64 = 1e-7;

/// U, C, and the right-hand side.
pub(super) struct Compressed {
    /// U in the place of Y.
    pub rows: LimbRows,
    /// C, columns of U x parameters of the limb.
    pub map: DMatrix<f64>,
    /// Y's triangular factor: its columns depend on one another as those of Y do.
    pub triangle: DMatrix<f64>,
}

impl Compressed {
    pub fn of(limb: &Model, rows: &LimbRows) -> Self {
        let sizes = sizes(limb);
        let mut scaled = rows.rows.y.clone();
        scaled.column_iter_mut().zip(&sizes).for_each(|(mut column, size)| column *= *size);
        let (mut u, mut map) = (rows.rows.y.clone(), DMatrix::identity(sizes.len(), sizes.len()));
        let mut triangle = scaled.clone().qr().r();
        let svd = triangle.clone().svd(false, true);
        triangle.column_iter_mut().zip(&sizes).for_each(|(mut column, size)| column /= *size);
        if let Some(v) = svd.v_t {
            let largest = svd.singular_values.max();
            let kept: Vec<usize> = (0..svd.singular_values.len())
                .filter(|&k| svd.singular_values[k] > NEGLIGIBLE * largest)
                .collect();
            let (mut onto, mut from) = (v.select_rows(&kept), v.select_rows(&kept).transpose());
            for (place, &k) in kept.iter().enumerate() {
                onto.row_mut(place).scale_mut(svd.singular_values[k]);
                from.column_mut(place).scale_mut(1.0 / svd.singular_values[k]);
            }
            onto.column_iter_mut().zip(&sizes).for_each(|(mut column, size)| column /= *size);
            (u, map) = (scaled * from, onto);
        }
        let mut compressed = rows.clone();
        compressed.rows.y = u;
        Self { rows: compressed, map, triangle }
    }

    /// The samples for which `wanted` holds, in the same columns.
    pub fn select(&self, wanted: impl Fn(usize) -> bool) -> Self {
        Self { rows: self.rows.select(wanted), map: self.map.clone(), triangle: self.triangle.clone() }
    }

    /// C times all parameters.
    pub fn onto(&self, theta: &[f64]) -> DVector<f64> {
        &self.map * DVector::from_column_slice(theta)
    }
}

/// Size of each parameter: the deviation of its prior, or what the robot's files say where it is never free; one where that is nothing.
fn sizes(limb: &Model) -> Vec<f64> {
    let size = |x: &f64| if *x == 0.0 { 1.0 } else { x.abs() };
    let mut sizes: Vec<f64> = limb.nominal_parameters().iter().map(size).collect();
    let free = Free::of(limb, LimbUnknown::Everything, limb.bodies());
    free.indices.iter().zip(&free.deviations).for_each(|(&k, deviation)| sizes[k] = *deviation);
    sizes
}
