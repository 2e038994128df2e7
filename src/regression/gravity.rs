//! Gravity-only estimation: mass and first moment of the held body from torques at rest.

use nalgebra::{DMatrix, DVector};

use super::error::RegressionError;
use super::inverse::Regressor;
use super::least_squares::ordinary;
use crate::recording::Sample;
use crate::robot::Arm;

/// Mass and first moment: the parameters that gravity alone shows.
const STATIC: usize = 4;

/// What the torques at rest say of the last body.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRest {
    /// Mass, kg.
    pub mass: f64,
    /// m c in the end-effector joint's frame, kg m.
    pub first_moment: [f64; 3],
    /// Root mean square of what is left, N m.
    pub residual_nm: f64,
    /// Condition number of the regressor; infinite where a direction cannot be seen.
    pub condition_number: f64,
}

/// Least squares over the samples slower than `still_rad_s` in every joint, the rest of the robot as in `z`. Friction
/// at rest is unknown within +-F_c and is left out: approach each pose from both sides, so that it averages out.
///
/// # Errors
/// [`RegressionError::WrongLength`] if fewer than four rows are at rest or `z` does not fit the robot.
pub fn at_rest(
    robot: &Arm,
    z: &[f64],
    samples: &[Sample],
    still_rad_s: f64,
) -> Result<AtRest, RegressionError> {
    let (n, p) = (robot.dof(), robot.parameter_count());
    if z.len() != p {
        return Err(RegressionError::WrongLength { what: "parameters", found: z.len(), expected: p });
    }
    let still: Vec<&Sample> =
        samples.iter().filter(|s| s.dq.iter().all(|v| v.abs() <= still_rad_s)).collect();
    if n * still.len() < STATIC {
        let found = n * still.len();
        return Err(RegressionError::WrongLength { what: "rows at rest", found, expected: STATIC });
    }
    let at = robot.inertial_index(robot.end_effector());
    let mut known = DVector::from_column_slice(z);
    known.rows_mut(at, STATIC).fill(0.0);
    let (mut regressor, mut y) = (Regressor::new(robot), DMatrix::zeros(n, p));
    let zero = vec![0.0; n];
    let mut a = DMatrix::zeros(n * still.len(), STATIC);
    let mut b = DVector::zeros(n * still.len());
    for (k, sample) in still.iter().enumerate() {
        regressor.write(&sample.q, &zero, &zero, &mut y);
        a.rows_mut(n * k, n).copy_from(&y.columns(at, STATIC));
        b.rows_mut(n * k, n).copy_from(&(DVector::from_column_slice(&sample.tau) - &y * &known));
    }
    let x = ordinary(&a, &b)?;
    let values = a.singular_values();
    let (largest, smallest) = (values.max(), values.min());
    Ok(AtRest {
        mass: x[0],
        first_moment: [x[1], x[2], x[3]],
        residual_nm: ((&a * &x - &b).norm_squared() / b.len() as f64).sqrt(),
        condition_number: if smallest > 0.0 { largest / smallest } else { f64::INFINITY },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn poses_from_both_sides_show_mass_and_centre() {
        let robot = crate::robot::load("robots/kinova_gen3_2f85.toml").unwrap();
        let n = robot.dof();
        let mut truth = robot.nominal_parameters();
        let at = robot.body_range(robot.end_effector());
        truth[at].copy_from_slice(&[4.9, 0.02, -0.01, -0.77, 0.15, 0.0, 0.14, 0.0, 0.0, 0.02]);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut regressor, mut y) = (Regressor::new(&robot), DMatrix::zeros(n, truth.len()));
        let mut samples = vec![];
        for k in 0..40 {
            let q: Vec<f64> = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
            regressor.write(&q, &vec![0.0; n], &vec![0.0; n], &mut y);
            let gravity = &y * DVector::from_column_slice(&truth);
            for side in [-1.0, 1.0] {
                let tau = (0..n).map(|j| gravity[j] + side * truth[robot.joint_index(j).coulomb]).collect();
                samples.push(Sample { t: k as f64, q: q.clone(), dq: vec![0.0; n], tau });
            }
            // A moving sample that must be left out.
            samples.push(Sample { t: k as f64 + 0.5, q, dq: vec![1.0; n], tau: vec![1e3; n] });
        }
        let found = at_rest(&robot, &robot.nominal_parameters(), &samples, 0.01).unwrap();
        assert!((found.mass - 4.9).abs() < 1e-9, "{found:?}");
        for (h, expected) in found.first_moment.iter().zip([0.02, -0.01, -0.77]) {
            assert!((h - expected).abs() < 1e-9, "{found:?}");
        }
        assert!(found.condition_number < 50.0 && (0.1..1.0).contains(&found.residual_nm), "{found:?}");
        assert!(matches!(
            at_rest(&robot, &truth, &samples[2..3], 0.01),
            Err(RegressionError::WrongLength { .. })
        ));
        assert!(matches!(
            at_rest(&robot, &truth[1..], &samples, 0.01),
            Err(RegressionError::WrongLength { .. })
        ));
    }
}
