//! Log-Cholesky coordinates: every eta in R^10 is a physically consistent body, and every such body has one eta.
//!
//! J(theta) = U U' with U upper triangular and last row (0, 0, 0, 1) e^alpha:
//!
//! ```text
//!               [ e^d1  s12   s13   t1 ]
//! U = e^alpha * [ 0     e^d2  s23   t2 ]     eta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)
//!               [ 0     0     e^d3  t3 ]
//!               [ 0     0     0     1  ]
//! ```
//!
//! so m = e^(2 alpha), t is the centre of mass, and Sigma = m (L L' + t t') with L the upper left block.

use nalgebra::{Matrix3, Matrix4, SMatrix, SVector, Vector3};

use super::pseudo::{InertiaError, check_physical, inertial_parameters, pseudo_inertia};
use crate::robot::INERTIAL;

/// Log-Cholesky coordinates (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3); t in metres, the s in metres.
pub type Eta = [f64; INERTIAL];

/// Inertial parameters (SI, link frame) from mass m, first moment h and second moments Sigma.
fn assemble(m: f64, h: Vector3<f64>, sigma: &Matrix3<f64>) -> [f64; INERTIAL] {
    let mut j = Matrix4::zeros();
    j.fixed_view_mut::<3, 3>(0, 0).copy_from(sigma);
    j.fixed_view_mut::<3, 1>(0, 3).copy_from(&h);
    j[(3, 3)] = m;
    inertial_parameters(&j)
}

fn factors(eta: &Eta) -> (f64, Matrix3<f64>, Vector3<f64>) {
    let [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3] = *eta;
    let l = Matrix3::new(d1.exp(), s12, s13, 0.0, d2.exp(), s23, 0.0, 0.0, d3.exp());
    ((2.0 * alpha).exp(), l, Vector3::new(t1, t2, t3))
}

/// theta(eta): inertial parameters about the link-frame origin.
pub fn theta(eta: &Eta) -> [f64; INERTIAL] {
    let (m, l, t) = factors(eta);
    assemble(m, m * t, &(m * (l * l.transpose() + t * t.transpose())))
}

/// d theta / d eta in closed form: entry (i, j) is d theta_i / d eta_j.
pub fn jacobian(eta: &Eta) -> SMatrix<f64, INERTIAL, INERTIAL> {
    let (m, l, t) = factors(eta);
    let mut columns = SMatrix::<f64, INERTIAL, INERTIAL>::zeros();
    let mut set = |j: usize, column: [f64; INERTIAL]| columns.set_column(j, &SVector::from(column));
    // theta is proportional to e^(2 alpha).
    set(0, theta(eta).map(|x| 2.0 * x));
    let places = [(1, 0, 0), (2, 1, 1), (3, 2, 2), (4, 0, 1), (5, 1, 2), (6, 0, 2)];
    for (j, row, column) in places {
        let mut dl = Matrix3::zeros();
        // The diagonal is an exponential, its own derivative.
        dl[(row, column)] = if row == column { l[(row, column)] } else { 1.0 };
        let half = dl * l.transpose();
        set(j, assemble(0.0, Vector3::zeros(), &(m * (half + half.transpose()))));
    }
    for k in 0..3 {
        let dt = Vector3::ith(k, 1.0);
        let half = dt * t.transpose();
        set(7 + k, assemble(0.0, m * dt, &(m * (half + half.transpose()))));
    }
    columns
}

/// eta(theta), the inverse of [`theta()`]; refuses parameters that are not physically consistent, and flat bodies.
pub fn eta(theta: &[f64; INERTIAL]) -> Result<Eta, InertiaError> {
    check_physical(theta)?;
    let j = pseudo_inertia(theta);
    let m = theta[0];
    let t = Vector3::new(theta[1], theta[2], theta[3]) / m;
    let s = j.fixed_view::<3, 3>(0, 0) / m - t * t.transpose();
    // Cholesky from the last row upwards, because L is upper triangular.
    let l33 = root(s[(2, 2)])?;
    let (l23, l13) = (s[(1, 2)] / l33, s[(0, 2)] / l33);
    let l22 = root(s[(1, 1)] - l23 * l23)?;
    let l12 = (s[(0, 1)] - l13 * l23) / l22;
    let l11 = root(s[(0, 0)] - l12 * l12 - l13 * l13)?;
    Ok([0.5 * m.ln(), l11.ln(), l22.ln(), l33.ln(), l12, l23, l13, t[0], t[1], t[2]])
}

/// Square root of a pivot; one that is not positive means that the body is on the border.
fn root(pivot: f64) -> Result<f64, InertiaError> {
    if pivot > 0.0 { Ok(pivot.sqrt()) } else { Err(InertiaError::Flat { pivot }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_u_u_transpose_and_round_trips(e in prop::array::uniform10(-1.0..1.0f64)) {
            let a = e[0].exp();
            let u = a * Matrix4::new(e[1].exp(), e[4], e[6], e[7], 0.0, e[2].exp(), e[5], e[8],
                0.0, 0.0, e[3].exp(), e[9], 0.0, 0.0, 0.0, 1.0);
            let p = theta(&e);
            prop_assert!((pseudo_inertia(&p) - u * u.transpose()).amax() < 1e-12);
            let back = eta(&p).unwrap();
            prop_assert!(e.iter().zip(back).all(|(a, b)| (a - b).abs() < 1e-9), "{:?} {:?}", e, back);
        }

        #[test]
        fn jacobian_agrees_with_finite_differences(e in prop::array::uniform10(-1.0..1.0f64)) {
            let analytic = jacobian(&e);
            let step = 1e-5;
            for j in 0..INERTIAL {
                let (mut up, mut down) = (e, e);
                up[j] += step;
                down[j] -= step;
                let (up, down) = (theta(&up), theta(&down));
                for i in 0..INERTIAL {
                    let numeric = (up[i] - down[i]) / (2.0 * step);
                    prop_assert!((numeric - analytic[(i, j)]).abs() < 1e-6, "({}, {})", i, j);
                }
            }
        }
    }

    #[test]
    fn refuses_a_point_mass() {
        let point = eta(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(point, Err(InertiaError::Flat { pivot: 0.0 }));
    }
}
