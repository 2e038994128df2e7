//! The pseudo-inertia of a body: the 4x4 matrix whose positive definiteness is physical consistency.
//!
//! With theta = (m, h, I) the inertial parameters about the link-frame origin,
//!
//! ```text
//! J(theta) = [ Sigma  h ]     Sigma = tr(I)/2 1 - I   (second moments of the mass distribution)
//!            [ h'     m ]     I     = tr(Sigma) 1 - Sigma
//! ```
//!
//! J is the integral of p p' over the mass with p = (x, y, z, 1), so it is positive definite for every body that
//! is not flat, and every positive definite J belongs to some distribution of positive mass. J is linear in theta.

use nalgebra::{Matrix3, Matrix4, SymmetricEigen, Vector3, Vector4};
use thiserror::Error;

use super::INERTIAL;

/// Names of the ten inertial parameters in the order of the parameter vector.
pub const INERTIAL_NAMES: [&str; INERTIAL] =
    ["m", "h_x", "h_y", "h_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];

/// How far principal moments may miss the triangle inequality, relative to their sum: CAD programs print six
/// digits, and a thin plate or rod satisfies it with equality.
const TRIANGLE_TOLERANCE: f64 = 1e-9;

/// Why ten numbers are not the inertial parameters of a body.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum InertiaError {
    /// A parameter is NaN or infinite.
    #[error("inertial parameter {name} is {value}, expected a finite number")]
    NotFinite {
        /// Name from [`INERTIAL_NAMES`].
        name: &'static str,
        /// The offending value.
        value: f64,
    },
    /// The mass is zero or negative.
    #[error("mass is {mass} kg, expected > 0")]
    NonPositiveMass {
        /// The mass, kg.
        mass: f64,
    },
    /// A principal moment is negative.
    #[error("principal moment of inertia {moment:.6e} kg m^2 at the centre of mass is negative")]
    NegativeMoment {
        /// The smallest principal moment about the centre of mass, kg m^2.
        moment: f64,
    },
    /// The principal moments are those of no mass distribution.
    #[error(
        "principal moments of inertia {0:.6e}, {1:.6e}, {2:.6e} kg m^2 violate the triangle inequality \
         (the largest may not exceed the sum of the others)",
        .moments[0], .moments[1], .moments[2]
    )]
    Triangle {
        /// Principal moments about the centre of mass, ascending, kg m^2.
        moments: [f64; 3],
    },
    /// The body is as thin as a plate, a rod or a point: it exists, but has no log-Cholesky coordinates.
    #[error("all mass lies in one plane (a pivot of the pseudo-inertia is {pivot:e}, expected > 0)")]
    Flat {
        /// The pivot that is not positive, m^2.
        pivot: f64,
    },
}

/// J(theta), the 4x4 pseudo-inertia; theta about the link-frame origin, SI units.
pub fn pseudo_inertia(theta: &[f64; INERTIAL]) -> Matrix4<f64> {
    let [m, hx, hy, hz, ixx, ixy, iyy, ixz, iyz, izz] = *theta;
    let half_trace = 0.5 * (ixx + iyy + izz);
    Matrix4::new(
        half_trace - ixx,
        -ixy,
        -ixz,
        hx,
        -ixy,
        half_trace - iyy,
        -iyz,
        hy,
        -ixz,
        -iyz,
        half_trace - izz,
        hz,
        hx,
        hy,
        hz,
        m,
    )
}

/// The inverse of [`pseudo_inertia`]; reads the upper triangle of `j`.
pub fn inertial_parameters(j: &Matrix4<f64>) -> [f64; INERTIAL] {
    let (sx, sy, sz) = (j[(0, 0)], j[(1, 1)], j[(2, 2)]);
    [
        j[(3, 3)],
        j[(0, 3)],
        j[(1, 3)],
        j[(2, 3)],
        sy + sz,
        -j[(0, 1)],
        sx + sz,
        -j[(0, 2)],
        -j[(1, 2)],
        sx + sy,
    ]
}

/// The coefficients of the linear functional theta -> v' J(theta) v.
///
/// They are exact (no rounding) when the components of `v` are multiples of 2^-20 of magnitude at most one, as
/// [`on_grid`] makes them: every product is then a multiple of 2^-40, every half-sum one of 2^-41, of magnitude
/// below 2^2, which 53 bits hold.
pub fn quadratic_form(v: &Vector4<f64>) -> [f64; INERTIAL] {
    let (x, y, z, w) = (v[0], v[1], v[2], v[3]);
    let (xx, yy, zz) = (x * x, y * y, z * z);
    [
        w * w,
        2.0 * x * w,
        2.0 * y * w,
        2.0 * z * w,
        0.5 * (yy + zz - xx),
        -2.0 * x * y,
        0.5 * (xx + zz - yy),
        -2.0 * x * z,
        -2.0 * y * z,
        0.5 * (xx + yy - zz),
    ]
}

/// `v` scaled to largest component one, components rounded to multiples of 2^-20; `None` if `v` is zero or not
/// finite.
pub fn on_grid(v: &Vector4<f64>) -> Option<Vector4<f64>> {
    const GRID: f64 = (1u64 << 20) as f64;
    let largest = v.amax();
    let usable = largest.is_finite() && largest > 0.0 && v.iter().all(|x| x.is_finite());
    usable.then(|| v.map(|x| (x / largest * GRID).round() / GRID))
}

/// Checks that theta is a body: finite, positive mass, and an inertia about the centre of mass that passes
/// [`check_moments`]; that is the same as J(theta) >= 0. In plain floating point.
///
/// # Errors
/// [`InertiaError`] names the first thing that is wrong.
pub fn check_physical(theta: &[f64; INERTIAL]) -> Result<(), InertiaError> {
    check_finite_with_mass(theta)?;
    let [mass, hx, hy, hz, ixx, ixy, iyy, ixz, iyz, izz] = *theta;
    let about_origin = Matrix3::new(ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz);
    check_moments(&(about_origin - point_inertia(mass, &(Vector3::new(hx, hy, hz) / mass))))
}

fn check_finite_with_mass(theta: &[f64; INERTIAL]) -> Result<(), InertiaError> {
    for (name, &value) in INERTIAL_NAMES.iter().zip(theta) {
        if !value.is_finite() {
            return Err(InertiaError::NotFinite { name, value });
        }
    }
    let mass = theta[0];
    if mass > 0.0 { Ok(()) } else { Err(InertiaError::NonPositiveMass { mass }) }
}

/// The body nearest to theta that exists and is not flat: same mass and centre of mass, and second moments about the
/// centre of mass of at least `floor` m^2 times the mass (`floor` >= 0; 1e-6 is a millimetre of thickness).
///
/// Of all second-moment matrices with eigenvalues of at least the floor, the one with raised eigenvalues and the same
/// axes is nearest in the Frobenius norm. Makers' models hold inertias that no body can have; this replaces them.
/// Errors: a parameter that is not finite, or a mass that is not positive, has no such neighbour.
///
/// # Errors
/// [`InertiaError`] for numbers that are not finite or a mass that is not positive: there is no such body nearby.
pub fn nearest_physical(theta: &[f64; INERTIAL], floor: f64) -> Result<[f64; INERTIAL], InertiaError> {
    check_finite_with_mass(theta)?;
    let mut j = pseudo_inertia(theta);
    let (m, h) = (theta[0], Vector3::new(theta[1], theta[2], theta[3]));
    let first = h * h.transpose() / m;
    let mut eigen = SymmetricEigen::new(j.fixed_view::<3, 3>(0, 0) - first);
    if eigen.eigenvalues.min() >= floor * m {
        return Ok(*theta);
    }
    eigen.eigenvalues.apply(|x| *x = x.max(floor * m));
    j.fixed_view_mut::<3, 3>(0, 0).copy_from(&(eigen.recompose() + first));
    Ok(inertial_parameters(&j))
}

/// Checks that a mass distribution with this inertia about its centre of mass (kg m^2, finite, symmetric) exists:
/// non-negative principal moments that satisfy the triangle inequality. Thin plates and rods, which satisfy it with
/// equality, pass.
///
/// # Errors
/// [`InertiaError::NegativeMoment`] or [`InertiaError::Triangle`].
pub fn check_moments(about_center: &Matrix3<f64>) -> Result<(), InertiaError> {
    let mut moments: [f64; 3] = about_center.symmetric_eigenvalues().into();
    moments.sort_by(f64::total_cmp);
    let [small, middle, large] = moments;
    let tolerance = TRIANGLE_TOLERANCE * about_center.trace().abs();
    if small < -tolerance {
        return Err(InertiaError::NegativeMoment { moment: small });
    }
    if large > small + middle + tolerance { Err(InertiaError::Triangle { moments }) } else { Ok(()) }
}

/// The inertia of a point mass about the origin, kg m^2.
pub(super) fn point_inertia(mass: f64, at: &Vector3<f64>) -> Matrix3<f64> {
    (Matrix3::identity() * at.norm_squared() - at * at.transpose()) * mass
}

/// Directions v in which v' J(theta) v < -`tolerance` |v|^2, most negative first: the eigenvectors of J in units
/// of length in which one unit is `length` metres, so that the entries of J are of one magnitude. `theta` must be finite.
pub fn violated_directions(theta: &[f64; INERTIAL], length: f64, tolerance: f64) -> Vec<Vector4<f64>> {
    let to_unit = Vector4::new(1.0 / length, 1.0 / length, 1.0 / length, 1.0);
    let scale = Matrix4::from_diagonal(&to_unit);
    let eigen = SymmetricEigen::new(scale * pseudo_inertia(theta) * scale);
    let mut found: Vec<(f64, Vector4<f64>)> = (0..4)
        .filter(|&i| eigen.eigenvalues[i] < -tolerance)
        .map(|i| (eigen.eigenvalues[i], scale * eigen.eigenvectors.column(i)))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, v)| v).collect()
}

/// The inertial parameters of a body from mass (kg), centre of mass (m) and inertia about it (kg m^2), all in the
/// link frame.
pub fn from_center_of_mass(mass: f64, center: &Vector3<f64>, inertia: &Matrix3<f64>) -> [f64; INERTIAL] {
    let (h, i) = (center * mass, inertia + point_inertia(mass, center));
    [mass, h.x, h.y, h.z, i.m11, i.m12, i.m22, i.m13, i.m23, i.m33]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Point masses are the definition: J is the sum of m p p'.
        #[test]
        fn agrees_with_point_masses(points in prop::collection::vec(prop::array::uniform4(-1.0..1.0f64), 5..9),
                                    v in prop::array::uniform4(-1.0..1.0f64)) {
            let mut theta = [0.0; INERTIAL];
            let mut j = Matrix4::zeros();
            for [x, y, z, w] in points {
                let mass = 1.1 + w;
                let part = from_center_of_mass(mass, &Vector3::new(x, y, z), &Matrix3::zeros());
                theta.iter_mut().zip(part).for_each(|(a, b)| *a += b);
                let p = Vector4::new(x, y, z, 1.0);
                j += mass * p * p.transpose();
            }
            prop_assert!((pseudo_inertia(&theta) - j).amax() < 1e-12);
            let back = inertial_parameters(&j);
            prop_assert!(theta.iter().zip(back).all(|(a, b)| (a - b).abs() < 1e-12));
            prop_assert!(check_physical(&theta).is_ok());
            let v = Vector4::from(v);
            let linear: f64 = quadratic_form(&v).iter().zip(theta).map(|(c, t)| c * t).sum();
            prop_assert!((linear - (v.transpose() * j * v)[0]).abs() < 1e-11);
        }

        /// The functional of a grid vector has coefficients without rounding: integers in units of 2^-41.
        #[test]
        fn grid_cuts_are_exact(v in prop::array::uniform4(-10.0..10.0f64)) {
            let v = on_grid(&Vector4::from(v)).unwrap();
            let n = v.map(|x| x * (1u64 << 20) as f64);
            let n: Vec<i128> = n.iter().map(|&x| { assert_eq!(x.fract(), 0.0); x as i128 }).collect();
            let exact = [2 * n[3] * n[3], 4 * n[0] * n[3], 4 * n[1] * n[3], 4 * n[2] * n[3],
                n[1] * n[1] + n[2] * n[2] - n[0] * n[0], -4 * n[0] * n[1],
                n[0] * n[0] + n[2] * n[2] - n[1] * n[1], -4 * n[0] * n[2], -4 * n[1] * n[2],
                n[0] * n[0] + n[1] * n[1] - n[2] * n[2]];
            for (c, e) in quadratic_form(&v).iter().zip(exact) {
                prop_assert_eq!((c * (1u64 << 41) as f64) as i128, e);
            }
        }
    }

    proptest! {
        #[test]
        fn the_nearest_body_exists_and_none_is_nearer(p in prop::array::uniform10(-1.0..1.0f64),
                                                      other in prop::array::uniform6(-1.0..1.0f64)) {
            let mut p = p;
            p[0] = p[0].abs() + 0.1;
            let near = nearest_physical(&p, 1e-4).unwrap();
            prop_assert!(check_physical(&near).is_ok());
            prop_assert_eq!(&near[..4], &p[..4]);
            prop_assert_eq!(nearest_physical(&near, 0.9e-4).unwrap(), near);
            // No other body with this mass and centre of mass has second moments nearer to those asked for.
            let l = Matrix3::new(other[0], 0.0, 0.0, other[1], other[2], 0.0, other[3], other[4], other[5]);
            let h = Vector3::new(p[1], p[2], p[3]);
            let sigma = l * l.transpose() + Matrix3::identity() * 1e-4 * p[0] + h * h.transpose() / p[0];
            let asked = pseudo_inertia(&p).fixed_view::<3, 3>(0, 0).into_owned();
            let found = pseudo_inertia(&near).fixed_view::<3, 3>(0, 0).into_owned();
            prop_assert!((found - asked).norm() <= (sigma - asked).norm() + 1e-9);
        }
    }

    #[test]
    fn refuses_what_cannot_exist() {
        let good = [2.0, 0.1, 0.0, -0.3, 0.2, 0.0, 0.2, 0.0, 0.0, 0.1];
        assert!(check_physical(&good).is_ok());
        for (index, value) in [(0, f64::NAN), (9, f64::INFINITY)] {
            let mut bad = good;
            bad[index] = value;
            assert!(matches!(check_physical(&bad), Err(InertiaError::NotFinite { .. })));
        }
        let mut bad = good;
        bad[0] = 0.0;
        assert_eq!(check_physical(&bad), Err(InertiaError::NonPositiveMass { mass: 0.0 }));
        // The triangle inequality I_zz <= I_xx + I_yy is one of the conditions.
        let mut bad = good;
        bad[9] = 0.41;
        assert!(matches!(check_physical(&bad), Err(InertiaError::Triangle { .. })));
        let violated = violated_directions(&bad, 0.2, 1e-9);
        let value: f64 = quadratic_form(&violated[0]).iter().zip(bad).map(|(c, t)| c * t).sum();
        assert!(value < 0.0 && violated.len() == 1);
    }

    #[test]
    fn a_body_must_have_the_inertia_that_its_first_moment_forces() {
        let mut p = [2.0, 0.0, 0.0, -1.0, 0.51, 0.0, 0.51, 0.0, 0.0, 0.01];
        assert_eq!(check_physical(&p), Ok(()));
        p[4] = 0.49;
        assert!(check_physical(&p).unwrap_err().to_string().contains("negative"));
    }

    #[test]
    fn moments_are_named_with_their_fault() {
        let check = |moments: [f64; 3]| check_moments(&Matrix3::from_diagonal(&moments.into()));
        assert!(check([1.0, 1.0, -0.1]).unwrap_err().to_string().contains("negative"));
        assert!(check([1.0, 1.0, 2.1]).unwrap_err().to_string().contains("triangle"));
        assert_eq!(check([1.0, 1.0, 2.0]), Ok(()));
        let skewed = Matrix3::new(1.0, 1.5, 0.0, 1.5, 1.0, 0.0, 0.0, 0.0, 1.0);
        assert!(check_moments(&skewed).unwrap_err().to_string().contains("negative"));
    }
}
