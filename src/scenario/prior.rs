//! Does a box of inertial parameters contain any rigid body at all?
//!
//! Kelley's cutting planes: maximise t subject to v'J(theta)v >= t for the unit vectors v met so far, theta in the
//! box. J is linear in theta, so each program is linear and its value bounds the largest possible smallest eigenvalue
//! of J over the box from above; the eigenvectors at its solution are the next cuts. It ends with a body (smallest
//! eigenvalue >= 0) or with a negative value, which excludes all bodies.
//!
//! This answers a person who wrote a file; it is no link of the guarantee, and its numbers are plain floats.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
};
use nalgebra::{Matrix4, SymmetricEigen, Vector4};

use super::task::Prior;
use crate::robot::INERTIAL;

/// Programs solved before the question is left open (and the prior accepted).
const ROUNDS: usize = 100;
/// Eigenvalues this close to zero, relative to the largest bound of the box, count as zero.
const TOLERANCE: f64 = 1e-7;

/// Pseudo-inertia J(theta) = [[tr(I)/2 - I, h], [h', m]].
fn pseudo_inertia(theta: &[f64]) -> Matrix4<f64> {
    let [m, hx, hy, hz, xx, xy, yy, xz, yz, zz] = std::array::from_fn(|k| theta[k]);
    let half = 0.5 * (xx + yy + zz);
    #[rustfmt::skip]
    let j = Matrix4::new(
        half - xx, -xy,       -xz,       hx,
        -xy,       half - yy, -yz,       hy,
        -xz,       -yz,       half - zz, hz,
        hx,        hy,        hz,        m,
    );
    j
}

/// Coefficients c with c . theta = v'J(theta)v.
fn cut(v: &Vector4<f64>) -> [f64; INERTIAL] {
    std::array::from_fn(|k| {
        let mut unit = [0.0; INERTIAL];
        unit[k] = 1.0;
        v.dot(&(pseudo_inertia(&unit) * v))
    })
}

/// Solves: maximise t, cuts . theta >= t, theta in the box. Returns (theta, t), or `None` if the solver gives up.
fn best(prior: &Prior, cuts: &[[f64; INERTIAL]]) -> Option<(Vec<f64>, f64)> {
    let (mut rows, mut columns, mut values, mut right) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut push = |entries: &[(usize, f64)], bound: f64| {
        for &(column, value) in entries {
            rows.push(right.len());
            columns.push(column);
            values.push(value);
        }
        right.push(bound);
    };
    for k in 0..INERTIAL {
        push(&[(k, 1.0)], prior.upper[k]);
        push(&[(k, -1.0)], -prior.lower[k]);
    }
    for c in cuts {
        let row: Vec<_> = c.iter().map(|x| -x).enumerate().chain(std::iter::once((INERTIAL, 1.0))).collect();
        push(&row, 0.0);
    }
    let n = INERTIAL + 1;
    let a = CscMatrix::new_from_triplets(right.len(), n, rows, columns, values);
    let mut objective = vec![0.0; n];
    objective[INERTIAL] = -1.0;
    let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(right.len())];
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let mut solver =
        DefaultSolver::new(&CscMatrix::zeros((n, n)), &objective, &a, &right, &cones, settings).ok()?;
    solver.solve();
    let solved = matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
    solved.then(|| (solver.solution.x[..INERTIAL].to_vec(), solver.solution.x[INERTIAL]))
}

/// Why the prior's box contains no physically consistent body; `None` if it contains one (or none is excluded).
pub(super) fn exclusion(prior: &Prior) -> Option<String> {
    if prior.upper[0] <= 0.0 {
        return Some(format!("the mass is at most {} kg, expected room for a mass > 0", prior.upper[0]));
    }
    let scale = prior.lower.iter().chain(&prior.upper).fold(0.0_f64, |s, x| s.max(x.abs()));
    let mut cuts: Vec<_> = (0..4).map(|k| cut(&Vector4::ith(k, 1.0))).collect();
    for _ in 0..ROUNDS {
        let (theta, bound) = best(prior, &cuts)?;
        if bound < -TOLERANCE * scale {
            return Some(format!(
                "no rigid body has parameters in this box: its pseudo-inertia would have an eigenvalue of \
                 {bound:.3e} or less, expected >= 0 (for a given mass and first moment the inertia about the joint \
                 frame must at least be that of a point mass)"
            ));
        }
        let eigen = SymmetricEigen::new(pseudo_inertia(&theta));
        if eigen.eigenvalues.min() >= -TOLERANCE * scale {
            return None;
        }
        cuts.extend(eigen.eigenvectors.column_iter().map(|v| cut(&v.into_owned())));
    }
    None
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn table_1() -> Prior {
        let inertia = |x: f64| [x; 6];
        let join =
            |head: [f64; 4], x: f64| std::array::from_fn(|k| if k < 4 { head[k] } else { inertia(x)[k - 4] });
        Prior {
            lower: join([1.2, -0.4, -0.4, -1.0], -0.2),
            upper: join([5.2, 0.4, 0.4, -0.1], 0.2),
            nominal: join([3.2, 0.0, 0.0, -0.5], 0.0),
        }
    }

    #[test]
    fn the_published_prior_holds_bodies() {
        assert_eq!(exclusion(&table_1()), None);
    }

    #[test]
    fn priors_that_exclude_physics_are_refused() {
        // A centre of mass further out than the inertia allows: I_xx >= h_z^2 / m = 0.9^2 / 2.
        let mut far = table_1();
        (far.upper[0], far.upper[3]) = (2.0, -0.9);
        assert!(exclusion(&far).unwrap().contains("no rigid body"));
        // Products of inertia larger than the moments.
        let mut skew = table_1();
        skew.lower[5] = 0.19;
        (skew.upper[4], skew.upper[6], skew.upper[9]) = (0.1, 0.1, 0.1);
        assert!(exclusion(&skew).unwrap().contains("eigenvalue"));
        // The triangle inequality.
        let mut sharp = table_1();
        (sharp.lower[9], sharp.upper[4], sharp.upper[6]) = (0.2, 0.09, 0.09);
        assert!(exclusion(&sharp).is_some());
        let mut weightless = table_1();
        (weightless.lower[0], weightless.upper[0]) = (-1.0, 0.0);
        assert!(exclusion(&weightless).unwrap().contains("mass"));
    }

    #[test]
    fn a_box_around_a_body_is_never_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..100 {
            // Some point masses: always a body.
            let mut theta = [0.0; INERTIAL];
            for _ in 0..rng.random_range(1..6) {
                let m: f64 = rng.random_range(0.01..2.0);
                let r: [f64; 3] = std::array::from_fn(|_| rng.random_range(-0.3..0.3));
                let [x, y, z] = r;
                let point =
                    [1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y];
                theta.iter_mut().zip(point).for_each(|(t, p)| *t += m * p);
            }
            let width: f64 = rng.random_range(0.0..0.1);
            let prior = Prior {
                lower: theta.map(|x| x - width * rng.random_range(0.0..1.0)),
                upper: theta.map(|x| x + width * rng.random_range(0.0..1.0)),
                nominal: theta,
            };
            assert_eq!(exclusion(&prior), None);
        }
    }
}
