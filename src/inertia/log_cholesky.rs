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
//! so m = e^(2 alpha), t is the centre of mass, and Sigma = m (L L' + t t') with L the upper left block. (Eqs. 9 and
//! 10 of Martinez, Griffin and Mastalli, "Multi-Contact Inertial Parameters Estimation and Localization in Legged
//! Robots", with e^d3 where (9) repeats s23.) The map, its inverse and all derivatives are smooth everywhere, also at
//! bodies with repeated principal moments, because no eigenvector enters.

use nalgebra::{Matrix4, SMatrix, SVector, Vector3};

use super::INERTIAL;
use super::pseudo::{InertiaError, check_physical, inertial_parameters, pseudo_inertia};

/// Log-Cholesky coordinates (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3); t in metres, the s in metres.
pub type Eta = [f64; INERTIAL];

/// U and its derivative to each coordinate, `D[j]` = dU / d eta_j.
fn factor(eta: &Eta) -> (Matrix4<f64>, [Matrix4<f64>; INERTIAL]) {
    let [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3] = *eta;
    #[rustfmt::skip]
    let u = alpha.exp() * Matrix4::new(
        d1.exp(), s12,      s13,      t1,
        0.0,      d2.exp(), s23,      t2,
        0.0,      0.0,      d3.exp(), t3,
        0.0,      0.0,      0.0,      1.0,
    );
    let at = |(row, column): (usize, usize)| {
        let mut d = Matrix4::zeros();
        // The diagonal is an exponential, its own derivative; the rest is e^alpha times the coordinate.
        d[(row, column)] = if row == column { u[(row, column)] } else { u[(3, 3)] };
        d
    };
    let places = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)];
    (u, std::array::from_fn(|j| if j == 0 { u } else { at(places[j - 1]) }))
}

/// theta(eta): inertial parameters about the link-frame origin.
pub fn theta(eta: &Eta) -> [f64; INERTIAL] {
    let (u, _) = factor(eta);
    inertial_parameters(&(u * u.transpose()))
}

/// d theta / d eta in closed form: entry (i, j) is d theta_i / d eta_j. It is invertible for every eta.
///
/// theta is linear in J = U U', so column j is that linear map of D_j U' + U D_j'.
pub fn jacobian(eta: &Eta) -> SMatrix<f64, INERTIAL, INERTIAL> {
    let (u, d) = factor(eta);
    let mut columns = SMatrix::<f64, INERTIAL, INERTIAL>::zeros();
    for (j, dj) in d.iter().enumerate() {
        let half = dj * u.transpose();
        columns.set_column(j, &SVector::from(inertial_parameters(&(half + half.transpose()))));
    }
    columns
}

/// The second derivatives in closed form: entry (j, k) of matrix i is d^2 theta_i / d eta_j d eta_k.
///
/// From J = U U': D_jk U' + D_j D_k' + D_k D_j' + U D_jk', where D_jk, the second derivative of U, is D_k for
/// j = alpha (U is proportional to e^alpha), D_j for j = k a diagonal exponent, and zero otherwise.
pub fn hessian(eta: &Eta) -> [SMatrix<f64, INERTIAL, INERTIAL>; INERTIAL] {
    let (u, d) = factor(eta);
    let mut second = [SMatrix::<f64, INERTIAL, INERTIAL>::zeros(); INERTIAL];
    for j in 0..INERTIAL {
        for k in j..INERTIAL {
            let mut half = d[j] * d[k].transpose();
            if j == 0 || (j == k && j <= 3) {
                half += d[k] * u.transpose();
            }
            for (i, value) in inertial_parameters(&(half + half.transpose())).into_iter().enumerate() {
                second[i][(j, k)] = value;
                second[i][(k, j)] = value;
            }
        }
    }
    second
}

/// eta(theta), the inverse of [`theta()`]; refuses parameters that are not physically consistent, and flat bodies.
///
/// # Errors
/// [`InertiaError`] says which.
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

    proptest! {
        #[test]
        fn hessian_agrees_with_finite_differences(e in prop::array::uniform10(-1.0..1.0f64)) {
            let second = hessian(&e);
            let step = 1e-5;
            for k in 0..INERTIAL {
                let (mut up, mut down) = (e, e);
                up[k] += step;
                down[k] -= step;
                let numeric = (jacobian(&up) - jacobian(&down)) / (2.0 * step);
                for i in 0..INERTIAL {
                    for j in 0..INERTIAL {
                        let analytic = second[i][(j, k)];
                        prop_assert!((numeric[(i, j)] - analytic).abs() < 1e-6, "({}, {}, {})", i, j, k);
                        prop_assert_eq!(analytic, second[i][(k, j)]);
                    }
                }
            }
        }
    }

    /// A ball: L = r 1, t = 0. The derivatives by hand.
    #[test]
    fn repeated_principal_moments_are_no_special_place() {
        let (m, r): (f64, f64) = (2.0, 0.1);
        let mut e = [0.0; INERTIAL];
        e[0] = 0.5 * m.ln();
        e[1..4].fill(r.ln());
        let moment = 2.0 * m * r * r;
        let p = theta(&e);
        assert!(
            [(4, moment), (6, moment), (9, moment), (0, m)].iter().all(|&(i, x)| (p[i] - x).abs() < 1e-15)
        );
        let first = jacobian(&e);
        // d I_xy / d s12 = -m e^d2, d I_yy / d d1 = 2 m e^(2 d1), d h_x / d t1 = m.
        assert!((first[(5, 4)] + m * r).abs() < 1e-15 && first[(4, 1)] == 0.0);
        assert!((first[(6, 1)] - 2.0 * m * r * r).abs() < 1e-15 && (first[(1, 7)] - m).abs() < 1e-15);
        assert!(first.try_inverse().unwrap().iter().all(|x| x.is_finite()));
        let second = hessian(&e);
        // d^2 I_yy / d d1^2 = 4 m e^(2 d1), d^2 I_zz / d t1^2 = 2 m, d^2 m / d alpha^2 = 4 m.
        assert!((second[6][(1, 1)] - 4.0 * m * r * r).abs() < 1e-15);
        assert!((second[9][(7, 7)] - 2.0 * m).abs() < 1e-15 && (second[0][(0, 0)] - 4.0 * m).abs() < 1e-14);
        assert!(eta(&p).unwrap().iter().zip(e).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn refuses_a_point_mass() {
        let point = eta(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(point, Err(InertiaError::Flat { pivot: 0.0 }));
    }
}
