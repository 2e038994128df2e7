//! Exponential-eigenvalue coordinates: mass, first moment, principal axes and second moments of a body, each free.
//!
//! ```text
//! coordinates (sigma_m, h_x, h_y, h_z, omega_x, omega_y, omega_z, sigma_x, sigma_y, sigma_z)
//! m = e^sigma_m,   R = Exp(omega),   L = diag(e^sigma_x, e^sigma_y, e^sigma_z)
//! Sigma = R L R' + h h' / m          (second moments about the link-frame origin; I = tr(Sigma) 1 - Sigma)
//! ```
//!
//! (Eqs. 46 and 47 of Martinez, Tonneau and Mastalli, "System Identification under Constraints and Disturbance";
//! their I_c = R diag(P L) R' is tr(L) 1 - R L R', the same body.) Every point of R^10 is a physically consistent body.
//! Units: h kg m, omega rad, L kg m^2, in the link frame.
//!
//! # Repeated principal moments
//! The map itself and [`jacobian`] are smooth everywhere. But where two of the L are equal, turning about the third
//! axis changes nothing: the Jacobian loses one rank (three if all are equal), the coordinates of a body are no longer
//! unique, and the inverse map has no derivative there, because the eigenvectors of a perturbed body jump to the axes
//! of the perturbation. So
//! - [`coordinates`] picks, of all coordinates of a body, those whose axes are nearest to the link's (or to given
//!   ones: [`coordinates_near`]), also inside a plane or space of equal moments; |omega| then stays below 63 degrees;
//! - [`inverse_jacobian`] is the inverse of the Jacobian where there is one, and stays finite elsewhere by leaving the
//!   rotation still in each plane of equal moments: a generalised inverse G of A = [`jacobian`], A G A = A.
//!
//! [`super::log_cholesky`] has no such places.

use nalgebra::{Matrix3, Matrix4, Rotation3, SMatrix, SVector, SymmetricEigen, UnitQuaternion, Vector3};

use super::INERTIAL;
use super::pseudo::{InertiaError, check_physical, inertial_parameters, pseudo_inertia};
use crate::linear::rigid_motion::left_jacobian3;

/// Exponential-eigenvalue coordinates (sigma_m, h, omega, sigma_x, sigma_y, sigma_z).
pub type EigenvalueCoordinates = [f64; INERTIAL];

/// Second moments that differ by less than this, relative to the largest, are taken for equal: an eigenvalue
/// decomposition in double precision cannot tell their axes.
pub const EQUAL_MOMENTS: f64 = 1e-12;

struct Parts {
    mass: f64,
    h: Vector3<f64>,
    omega: Vector3<f64>,
    rotation: Matrix3<f64>,
    moments: Vector3<f64>,
}

impl Parts {
    fn new(c: &EigenvalueCoordinates) -> Self {
        let omega = Vector3::new(c[4], c[5], c[6]);
        Self {
            mass: c[0].exp(),
            h: Vector3::new(c[1], c[2], c[3]),
            omega,
            rotation: Rotation3::new(omega).into_inner(),
            moments: Vector3::new(c[7].exp(), c[8].exp(), c[9].exp()),
        }
    }

    /// R L R', the second moments about the centre of mass.
    fn central(&self) -> Matrix3<f64> {
        self.rotation * Matrix3::from_diagonal(&self.moments) * self.rotation.transpose()
    }
}

/// Inertial parameters from mass, first moment and second moments about the origin (or their derivatives: linear).
fn assemble(m: f64, h: &Vector3<f64>, sigma: &Matrix3<f64>) -> [f64; INERTIAL] {
    let mut j = Matrix4::zeros();
    j.fixed_view_mut::<3, 3>(0, 0).copy_from(sigma);
    j.fixed_view_mut::<3, 1>(0, 3).copy_from(h);
    j[(3, 3)] = m;
    inertial_parameters(&j)
}

/// theta(c): inertial parameters about the link-frame origin.
pub fn theta(c: &EigenvalueCoordinates) -> [f64; INERTIAL] {
    let p = Parts::new(c);
    assemble(p.mass, &p.h, &(p.central() + p.h * p.h.transpose() / p.mass))
}

/// d theta / d c in closed form: entry (i, j) is d theta_i / d c_j. Finite and right for every c; its rank is 10 where
/// the second moments differ, else less (see the module's documentation).
///
/// With R = Exp(omega), dR / d omega_i = R \[J_r e_i\]x, J_r the right Jacobian of SO(3).
pub fn jacobian(c: &EigenvalueCoordinates) -> SMatrix<f64, INERTIAL, INERTIAL> {
    let p = Parts::new(c);
    let mut columns = SMatrix::<f64, INERTIAL, INERTIAL>::zeros();
    let mut set = |j: usize, column: [f64; INERTIAL]| columns.set_column(j, &SVector::from(column));
    set(0, assemble(p.mass, &Vector3::zeros(), &(-p.h * p.h.transpose() / p.mass)));
    let right = right_jacobian(&p.omega);
    for k in 0..3 {
        let unit = Vector3::ith(k, 1.0);
        let half = unit * p.h.transpose() / p.mass;
        set(1 + k, assemble(0.0, &unit, &(half + half.transpose())));
        let turn = Vector3::from(right.column(k)).cross_matrix();
        let half = p.rotation * turn * Matrix3::from_diagonal(&p.moments) * p.rotation.transpose();
        set(4 + k, assemble(0.0, &Vector3::zeros(), &(half + half.transpose())));
        let axis = p.rotation.column(k);
        set(7 + k, assemble(0.0, &Vector3::zeros(), &(p.moments[k] * axis * axis.transpose())));
    }
    columns
}

/// A generalised inverse of [`jacobian`] at c: entry (j, i) is d c_j / d theta_i, the derivative of
/// [`coordinates_near`] c, with no rotation in a plane of moments that are equal to [`EQUAL_MOMENTS`].
///
/// In the principal frame a change E = R' dSigma_c R asks for d sigma_i = E_ii / L_i and for the body-fixed rotation
/// phi with phi_k = E_ij / (L_i - L_j), (i, j, k) cyclic; d omega = J_r^-1 phi. Where L_i = L_j only changes with
/// E_ij = 0 have a derivative, and they ask for no phi_k. Needs |omega| < 2 pi, where J_r is invertible; `None` there.
pub fn inverse_jacobian(c: &EigenvalueCoordinates) -> Option<SMatrix<f64, INERTIAL, INERTIAL>> {
    let p = Parts::new(c);
    if p.omega.norm() >= std::f64::consts::TAU {
        return None;
    }
    let to_omega = right_jacobian(&p.omega).try_inverse()?;
    let equal = EQUAL_MOMENTS * p.moments.max();
    let mut columns = SMatrix::<f64, INERTIAL, INERTIAL>::zeros();
    for i in 0..INERTIAL {
        let mut unit = [0.0; INERTIAL];
        unit[i] = 1.0;
        let j = pseudo_inertia(&unit);
        let (dm, dh) = (j[(3, 3)], j.fixed_view::<3, 1>(0, 3).into_owned());
        let half = dh * p.h.transpose() / p.mass;
        let outer = p.h * p.h.transpose() * (dm / (p.mass * p.mass));
        let d = j.fixed_view::<3, 3>(0, 0) - half - half.transpose() + outer;
        let e = p.rotation.transpose() * d * p.rotation;
        let phi = Vector3::from_fn(|k, _| {
            let (a, b) = ((k + 1) % 3, (k + 2) % 3);
            let gap = p.moments[a] - p.moments[b];
            if gap.abs() <= equal { 0.0 } else { e[(a, b)] / gap }
        });
        columns[(0, i)] = dm / p.mass;
        columns.fixed_view_mut::<3, 1>(1, i).copy_from(&dh);
        columns.fixed_view_mut::<3, 1>(4, i).copy_from(&(to_omega * phi));
        for k in 0..3 {
            columns[(7 + k, i)] = e[(k, k)] / p.moments[k];
        }
    }
    Some(columns)
}

/// The coordinates of a body whose principal axes are nearest to those of the link frame; refuses parameters that are
/// not physically consistent, and flat bodies.
///
/// # Errors
/// [`InertiaError`] says which.
pub fn coordinates(theta: &[f64; INERTIAL]) -> Result<EigenvalueCoordinates, InertiaError> {
    coordinates_near(theta, &Vector3::zeros())
}

/// The coordinates of a body whose principal axes are nearest to Exp(`omega`) (largest tr(R' Exp(omega))): an
/// optimiser that carries its last omega sees no jump where moments cross. Of equal rotations by omega and by whole turns
/// more, the one nearest to `omega` is returned.
///
/// # Errors
/// As [`coordinates`].
pub fn coordinates_near(
    theta: &[f64; INERTIAL],
    omega: &Vector3<f64>,
) -> Result<EigenvalueCoordinates, InertiaError> {
    check_physical(theta)?;
    let j = pseudo_inertia(theta);
    let h: Vector3<f64> = j.fixed_view::<3, 1>(0, 3).into_owned();
    let central = j.fixed_view::<3, 3>(0, 0) - h * h.transpose() / theta[0];
    let eigen = SymmetricEigen::new(central);
    let smallest = eigen.eigenvalues.min();
    if !(smallest > 0.0) {
        return Err(InertiaError::Flat { pivot: smallest / theta[0] });
    }
    let (rotation, moments) = nearest_axes(&eigen, Rotation3::new(*omega).matrix());
    // By way of the quaternion: the angle from a matrix's trace loses half the digits of a small turn.
    let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    let turned = nearest_branch(&turn.scaled_axis(), omega);
    let [x, y, z] = moments.map(f64::ln).into();
    Ok([theta[0].ln(), h.x, h.y, h.z, turned.x, turned.y, turned.z, x, y, z])
}

/// Of all rotation vectors of one rotation the one nearest to `reference`: whole turns are added along its axis.
fn nearest_branch(omega: &Vector3<f64>, reference: &Vector3<f64>) -> Vector3<f64> {
    let Some(axis) = omega.try_normalize(0.0) else { return *omega };
    let turns = ((reference - omega).dot(&axis) / std::f64::consts::TAU).round();
    omega + axis * (turns * std::f64::consts::TAU)
}

/// Of all right-handed frames of principal axes the one nearest to `reference` (largest trace of the turn between
/// them), with the moments in its order.
fn nearest_axes(
    eigen: &SymmetricEigen<f64, nalgebra::U3>,
    reference: &Matrix3<f64>,
) -> (Matrix3<f64>, Vector3<f64>) {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    const SIGNS: [[f64; 2]; 4] = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    let equal = EQUAL_MOMENTS * eigen.eigenvalues.max();
    let same =
        |moments: &Vector3<f64>, k: usize| (moments[(k + 1) % 3] - moments[(k + 2) % 3]).abs() <= equal;
    if (0..3).filter(|&k| same(&eigen.eigenvalues, k)).count() > 1 {
        return (*reference, eigen.eigenvalues);
    }
    let mut best = (f64::NEG_INFINITY, *reference, eigen.eigenvalues);
    for order in ORDERS {
        let moments = Vector3::from_fn(|k, _| eigen.eigenvalues[order[k]]);
        for signs in SIGNS {
            let x = eigen.eigenvectors.column(order[0]) * signs[0];
            let y = eigen.eigenvectors.column(order[1]) * signs[1];
            let mut frame = Matrix3::from_columns(&[x, y, x.cross(&y)]);
            if let Some(k) = (0..3).find(|&k| same(&moments, k)) {
                // Any turn about axis k will do; the best one, in closed form.
                let b = frame.transpose() * reference;
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let angle = (b[(j, i)] - b[(i, j)]).atan2(b[(i, i)] + b[(j, j)]);
                frame *= Rotation3::new(Vector3::ith(k, angle)).matrix();
            }
            let score = (frame.transpose() * reference).trace();
            if score > best.0 {
                best = (score, frame, moments);
            }
        }
    }
    (best.1, best.2)
}

/// J_r(omega): Exp(omega + d) = Exp(omega) Exp(J_r d) to first order; the transpose of the left Jacobian.
fn right_jacobian(omega: &Vector3<f64>) -> Matrix3<f64> {
    left_jacobian3(omega).transpose()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use proptest::prelude::*;

    fn difference(c: &EigenvalueCoordinates, j: usize) -> SVector<f64, INERTIAL> {
        let step = 1e-5;
        let (mut up, mut down) = (*c, *c);
        up[j] += step;
        down[j] -= step;
        (SVector::from(theta(&up)) - SVector::from(theta(&down))) / (2.0 * step)
    }

    fn assert_first_derivative(c: &EigenvalueCoordinates) {
        let analytic = jacobian(c);
        for j in 0..INERTIAL {
            let gap = (difference(c, j) - analytic.column(j)).amax();
            assert!(gap < 1e-8, "column {j} of {c:?}: {gap:e}");
        }
    }

    proptest! {
        #[test]
        fn every_point_is_a_body_and_comes_back(c in prop::array::uniform10(-1.5..1.5f64)) {
            let p = theta(&c);
            prop_assert!(check_physical(&p).is_ok());
            let omega = Vector3::new(c[4], c[5], c[6]);
            // The same body from any coordinates; the same coordinates when the axes are asked for.
            for back in [coordinates(&p).unwrap(), coordinates_near(&p, &omega).unwrap()] {
                prop_assert!(theta(&back).iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-11));
            }
            let gap = (0..3).map(|k| (c[7 + k] - c[7 + (k + 1) % 3]).abs()).fold(f64::INFINITY, f64::min);
            if gap > 1e-3 {
                let back = coordinates_near(&p, &omega).unwrap();
                prop_assert!(back.iter().zip(c).all(|(a, b)| (a - b).abs() < 1e-8), "{:?} {:?}", back, c);
            }
        }

        #[test]
        fn derivatives_agree_with_differences(c in prop::array::uniform10(-1.5..1.5f64)) {
            assert_first_derivative(&c);
            let (a, g) = (jacobian(&c), inverse_jacobian(&c).unwrap());
            let gap = (0..3).map(|k| (c[7 + k] - c[7 + (k + 1) % 3]).abs()).fold(f64::INFINITY, f64::min);
            prop_assert!((g * a - SMatrix::<f64, 10, 10>::identity()).amax() < 1e-11 / gap.min(1.0));
        }

        /// Plates of revolution and balls: what the module's documentation promises.
        #[test]
        fn equal_moments_keep_everything_finite(mut c in prop::array::uniform10(-1.5..1.5f64), which in 0usize..4) {
            match which {
                3 => { c[8] = c[7]; c[9] = c[7]; }
                k => {
                    c[7 + (k + 1) % 3] = c[7 + k];
                    c[7 + (k + 2) % 3] = c[7 + k] + 0.7;
                }
            }
            assert_first_derivative(&c);
            let (a, g) = (jacobian(&c), inverse_jacobian(&c).unwrap());
            prop_assert!(g.iter().all(|x| x.is_finite()));
            prop_assert!((a * g * a - a).amax() < 1e-11 * a.amax() * g.amax().max(1.0));
            prop_assert_eq!(a.rank(1e-9), if which == 3 { 7 } else { 9 });
            let p = theta(&c);
            let omega = Vector3::new(c[4], c[5], c[6]);
            let near = coordinates_near(&p, &omega).unwrap();
            prop_assert!(theta(&near).iter().zip(p).all(|(x, y)| (x - y).abs() < 1e-11));
            // Nearest axes: never further than those that made the body.
            let turn = |w: &[f64]| UnitQuaternion::new(Vector3::new(w[0], w[1], w[2]));
            let away = turn(&near[4..7]).angle_to(&UnitQuaternion::new(omega));
            prop_assert!(away < 1e-6, "{}", away);
        }

        /// The widest turn to the nearest of a cube's 24 frames is 62.8 degrees.
        #[test]
        fn axes_of_choice_are_near_the_frame(c in prop::array::uniform10(-3.0..3.0f64)) {
            let back = coordinates(&theta(&c)).unwrap();
            prop_assert!(Vector3::new(back[4], back[5], back[6]).norm() < 62.9_f64.to_radians());
        }
    }

    #[test]
    fn a_ball_has_the_axes_that_it_is_asked_for() {
        let ball = [2.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.02, 0.0, 0.0, 0.02];
        assert_eq!(coordinates(&ball).unwrap()[4..7], [0.0; 3]);
        let omega = Vector3::new(0.3, -0.2, 0.9);
        let near = coordinates_near(&ball, &omega).unwrap();
        assert!((Vector3::new(near[4], near[5], near[6]) - omega).norm() < 1e-12);
    }

    #[test]
    fn the_right_jacobian_has_no_seam() {
        for t in [0.0, 1e-9, 1e-3, 0.0316, 0.0317, 0.5, 3.0, 6.0] {
            let omega = Vector3::new(0.6, 0.0, -0.8) * t;
            let analytic = right_jacobian(&omega);
            for k in 0..3 {
                let d = Vector3::ith(k, 1e-5);
                let turn = |s: f64| UnitQuaternion::new(omega).inverse() * UnitQuaternion::new(omega + s * d);
                let numeric = (turn(1.0).scaled_axis() - turn(-1.0).scaled_axis()) / 2e-5;
                assert!((numeric - analytic.column(k)).norm() < 1e-9, "{t}");
            }
        }
        assert_eq!(inverse_jacobian(&[0.0, 0.0, 0.0, 0.0, 2.0 * PI, 0.0, 0.0, 0.0, 0.1, 0.2]), None);
    }

    #[test]
    fn what_is_no_body_is_refused() {
        let rod = [1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0];
        assert!(matches!(coordinates(&rod), Err(InertiaError::Flat { .. })));
        let mut bad = rod;
        bad[0] = -1.0;
        assert!(matches!(coordinates(&bad), Err(InertiaError::NonPositiveMass { .. })));
        bad[0] = f64::NAN;
        assert!(matches!(coordinates(&bad), Err(InertiaError::NotFinite { .. })));
    }
}
