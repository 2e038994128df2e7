//! Rigid motions SE(3): exponential, logarithm and their Jacobians.
//!
//! A tangent vector is (rho, phi): linear before angular, in the moving frame. With [.] the cross-product matrix,
//! exp(rho, phi) = (Exp \[phi\], J rho), J = 1 + c2 \[phi\] + c3 \[phi\]^2, where c_k = sum_j (-1)^j theta^(2j) / (2j + k)! and
//! theta = |phi|; the left Jacobian is [[J, Q], [0, J]] with
//! Q = \[rho\]/2 + c3 (PR + RP + PRP) + c4 (PPR + RPP - 3 PRP) + (c4 - 3 c5)/2 (PRPP + PPRP), P = \[phi\], R = \[rho\]
//! ([17, eq. 7.86], in these coefficients). The right Jacobian is the left one of the
//! opposite vector.

use nalgebra::{Matrix3, Matrix6, Quaternion, UnitQuaternion, Vector3, Vector6};

/// c_1 .. c_5 of the module header: the first by series where the closed forms cancel.
fn coefficients(theta_squared: f64) -> [f64; 5] {
    let x = theta_squared;
    if x < 1.0 {
        // Ten terms leave 1 / 21!.
        return std::array::from_fn(|k| {
            let mut term = 1.0 / (1..=k + 1).product::<usize>() as f64;
            let mut sum = 0.0;
            for j in 0..10 {
                sum += term;
                term *= -x / ((2 * j + k + 2) * (2 * j + k + 3)) as f64;
            }
            sum
        });
    }
    let theta = x.sqrt();
    let (sin, cos) = theta.sin_cos();
    let (c1, c2) = (sin / theta, (1.0 - cos) / x);
    [c1, c2, (1.0 - c1) / x, (0.5 - c2) / x, (1.0 / 6.0 - (1.0 - c1) / x) / x]
}

/// The rotation vector of `rotation`, of length at most pi.
fn rotation_vector(rotation: &UnitQuaternion<f64>) -> Vector3<f64> {
    let (v, w) = (rotation.imag(), rotation.w);
    // q and -q are the same rotation; the one with w >= 0 has the shorter vector.
    let (v, w) = if w < 0.0 { (-v, -w) } else { (v, w) };
    let sine = v.norm();
    // 2 atan(sine / w) / sine, by its series where that is 0 / 0.
    let factor = if sine < 1e-4 {
        2.0 / w - 2.0 * sine * sine / (3.0 * w * w * w)
    } else {
        2.0 * sine.atan2(w) / sine
    };
    v * factor
}

/// The unit quaternion of a rotation vector.
fn quaternion(phi: &Vector3<f64>) -> UnitQuaternion<f64> {
    let [half_sine, ..] = coefficients(0.25 * phi.norm_squared());
    let v = phi * (0.5 * half_sine);
    UnitQuaternion::new_normalize(Quaternion::from_parts((0.5 * phi.norm()).cos(), v))
}

/// J of the module header.
pub(crate) fn left_jacobian3(phi: &Vector3<f64>) -> Matrix3<f64> {
    let [_, c2, c3, ..] = coefficients(phi.norm_squared());
    let p = phi.cross_matrix();
    Matrix3::identity() + p * c2 + p * p * c3
}

/// J^-1 = 1 - \[phi\]/2 + k \[phi\]^2, for |phi| < 2 pi.
pub(crate) fn left_jacobian3_inverse(phi: &Vector3<f64>) -> Matrix3<f64> {
    let x = phi.norm_squared();
    let k = if x < 0.02 {
        1.0 / 12.0 + x * (1.0 / 720.0 + x * (1.0 / 30_240.0 + x / 1_209_600.0))
    } else {
        let [c1, c2, ..] = coefficients(x);
        (1.0 - 0.5 * c1 / c2) / x
    };
    let p = phi.cross_matrix();
    Matrix3::identity() - p * 0.5 + p * p * k
}

fn halves(xi: &Vector6<f64>) -> (Vector3<f64>, Vector3<f64>) {
    (xi.fixed_rows::<3>(0).into_owned(), xi.fixed_rows::<3>(3).into_owned())
}

/// Q of the module header.
fn coupling(rho: &Vector3<f64>, phi: &Vector3<f64>) -> Matrix3<f64> {
    let [_, _, c3, c4, c5] = coefficients(phi.norm_squared());
    let (p, r) = (phi.cross_matrix(), rho.cross_matrix());
    let (pr, rp, pp) = (p * r, r * p, p * p);
    let prp = pr * p;
    r * 0.5
        + (pr + rp + prp) * c3
        + (p * pr + rp * p - prp * 3.0) * c4
        + (prp * p + pp * rp) * (0.5 * (c4 - 3.0 * c5))
}

/// exp of a tangent vector: rotation and translation.
pub(crate) fn exp(xi: &Vector6<f64>) -> (UnitQuaternion<f64>, Vector3<f64>) {
    let (rho, phi) = halves(xi);
    (quaternion(&phi), left_jacobian3(&phi) * rho)
}

/// The tangent vector of a rigid motion, with a rotation of at most pi.
pub(crate) fn log(rotation: &UnitQuaternion<f64>, translation: &Vector3<f64>) -> Vector6<f64> {
    let phi = rotation_vector(rotation);
    let rho = left_jacobian3_inverse(&phi) * translation;
    Vector6::new(rho.x, rho.y, rho.z, phi.x, phi.y, phi.z)
}

/// Left Jacobian: exp(xi + d) = exp(J d) exp(xi) to first order.
pub(crate) fn left_jacobian(xi: &Vector6<f64>) -> Matrix6<f64> {
    let (rho, phi) = halves(xi);
    let j = left_jacobian3(&phi);
    blocks(&j, &coupling(&rho, &phi))
}

/// Inverse of [`left_jacobian`], for rotations below 2 pi.
pub(crate) fn left_jacobian_inverse(xi: &Vector6<f64>) -> Matrix6<f64> {
    let (rho, phi) = halves(xi);
    let j = left_jacobian3_inverse(&phi);
    blocks(&j, &-(j * coupling(&rho, &phi) * j))
}

/// Ad of a rigid motion: what it makes of a twist, \[\[R, \[p\] R\], \[0, R\]\].
pub(crate) fn adjoint(rotation: &UnitQuaternion<f64>, translation: &Vector3<f64>) -> Matrix6<f64> {
    let r = rotation.to_rotation_matrix().into_inner();
    blocks(&r, &(translation.cross_matrix() * r))
}

fn blocks(diagonal: &Matrix3<f64>, corner: &Matrix3<f64>) -> Matrix6<f64> {
    let mut m = Matrix6::zeros();
    m.fixed_view_mut::<3, 3>(0, 0).copy_from(diagonal);
    m.fixed_view_mut::<3, 3>(3, 3).copy_from(diagonal);
    m.fixed_view_mut::<3, 3>(0, 3).copy_from(corner);
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tangent vectors with rotations from nothing to nearly pi.
    fn vectors() -> Vec<Vector6<f64>> {
        let direction = Vector3::new(0.3, -0.8, 0.52).normalize();
        [0.0, 1e-9, 1e-5, 1e-4, 2e-4, 0.1, 0.1415, 0.9999, 1.0001, 2.0, 3.1]
            .iter()
            .map(|a| {
                let phi = direction * *a;
                Vector6::new(0.7, -1.2, 0.4, phi.x, phi.y, phi.z)
            })
            .collect()
    }

    #[test]
    fn coefficients_agree_on_both_sides_of_the_switch() {
        let (below, above) = (coefficients(1.0 - 1e-14), coefficients(1.0));
        for (a, b) in below.iter().zip(above) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
    }

    #[test]
    fn log_undoes_exp() {
        for xi in vectors() {
            let (r, p) = exp(&xi);
            assert!((log(&r, &p) - xi).norm() < 1e-13, "{xi}");
            let turned = UnitQuaternion::new_unchecked(-r.into_inner());
            assert!((log(&turned, &p) - xi).norm() < 1e-13);
        }
    }

    #[test]
    fn left_jacobian_is_the_derivative() {
        for xi in vectors() {
            let (r, p) = exp(&xi);
            let (j, inverse) = (left_jacobian(&xi), left_jacobian_inverse(&xi));
            assert!((j * inverse - Matrix6::identity()).norm() < 1e-12);
            for k in 0..6 {
                let h = 1e-5;
                let mut step = Vector6::zeros();
                step[k] = h;
                let off = |d: Vector6<f64>| {
                    let (r2, p2) = exp(&(xi + d));
                    let turn = r2 * r.inverse();
                    log(&turn, &(p2 - turn * p))
                };
                let slope = (off(step) - off(-step)) / (2.0 * h);
                assert!((slope - j.column(k)).norm() < 1e-9, "{xi} {k}");
            }
        }
    }
}
