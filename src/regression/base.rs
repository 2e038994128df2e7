//! Base parameters: the combinations of inertial parameters that torques can tell apart at all.
//!
//! A column-pivoted QR decomposition of a regressor sorts its columns into independent and dependent ones
//! (Gautier 1991): Y = Y_1 [1, B] P', so Y z = Y_1 (z_1 + B z_2). The rank is read from the singular values and
//! reported with the gap behind the last that counts: a rank without a wide gap is a guess.

use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::inverse::Regressor;
use crate::inertia::INERTIAL;
use crate::robot::Arm;

/// Columns are scaled to unit length, but those shorter than this share of the longest only as much as it: what is small
/// in every motion stays small.
const SHORT: f64 = 0.1;
/// Singular values below this share of the largest are no parameters: robot files write right angles as 1.5708, and what
/// shows through such rounding alone (on the Gen3 because the first axis is 7e-6 rad off the vertical) cannot be measured.
const RESOLUTION: f64 = 1e-3;

/// How the columns of a regressor depend on one another.
#[derive(Debug, Clone)]
pub struct BaseParameters {
    /// Columns (parameter indices) that are kept, as many as the rank; increasing.
    pub independent: Vec<usize>,
    /// The others; increasing.
    pub dependent: Vec<usize>,
    /// B, independent x dependent: base parameter k is z_independent\[k\] + sum_l B_kl z_dependent\[l\].
    pub regrouping: DMatrix<f64>,
    /// Singular values of the regressor with its columns scaled to about unit length, decreasing.
    pub singular_values: Vec<f64>,
    /// Ratio of the last singular value that counts to the first that does not; infinite at full rank.
    pub gap: f64,
}

impl BaseParameters {
    /// Of any regressor (rows x columns). Zero columns are dependent, with a zero column of B.
    pub fn of(y: &DMatrix<f64>) -> Self {
        let p = y.ncols();
        let lengths: Vec<f64> = y.column_iter().map(|c| c.norm()).collect();
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let moving: Vec<usize> = (0..p).filter(|&j| lengths[j] > 0.0).collect();
        let norms: Vec<f64> = lengths.iter().map(|l| l.max(SHORT * longest)).collect();
        let mut scaled = y.select_columns(&moving);
        for (k, &j) in moving.iter().enumerate() {
            scaled.column_mut(k).scale_mut(1.0 / norms[j]);
        }
        let mut singular_values: Vec<f64> =
            if moving.is_empty() { vec![] } else { scaled.singular_values().iter().copied().collect() };
        singular_values.sort_by(|a, b| b.total_cmp(a));
        let (rank, gap) = rank(&singular_values);

        let qr = scaled.col_piv_qr();
        let mut order = DMatrix::from_fn(1, moving.len(), |_, k| k as f64);
        qr.p().permute_columns(&mut order);
        let pivots: Vec<usize> = order.iter().map(|&k| k as usize).collect();
        let r = qr.r();
        let mut regrouping = r.view((0, rank), (rank, moving.len() - rank)).into_owned();
        // Columns beyond the rank have no say in whether this can be solved; r's leading block is regular.
        r.view((0, 0), (rank, rank)).solve_upper_triangular_mut(&mut regrouping);

        // Back to the original units and to increasing indices.
        let sorted = |part: &[usize]| {
            let mut places: Vec<usize> = (0..part.len()).collect();
            places.sort_by_key(|&k| moving[part[k]]);
            places
        };
        let (rows, columns) = (sorted(&pivots[..rank]), sorted(&pivots[rank..]));
        let index = |k: usize| moving[pivots[k]];
        let independent: Vec<usize> = rows.iter().map(|&k| index(k)).collect();
        let mut dependent: Vec<usize> = (0..p).filter(|j| !independent.contains(j)).collect();
        dependent.sort_unstable();
        let mut full = DMatrix::zeros(rank, dependent.len());
        for &k in &columns {
            let j = index(rank + k);
            let Ok(column) = dependent.binary_search(&j) else { continue };
            for (row, &i) in rows.iter().enumerate() {
                full[(row, column)] = regrouping[(i, k)] * norms[j] / norms[index(i)];
            }
        }
        Self { independent, dependent, regrouping: full, singular_values, gap }
    }

    /// Of a robot's inertial parameters, from random states: what motion at all could tell apart.
    /// The regressor is that of `states` random positions, velocities and accelerations.
    pub fn of_robot(robot: &Arm, states: usize, seed: u64) -> Self {
        Self::of_columns(robot, INERTIAL * robot.dof(), states, seed)
    }

    /// As [`Self::of_robot`] of the full parameter vector, friction and transmission inertias included: an inertia about an axis
    /// that gravity does not turn cannot be told from the transmission's.
    pub fn of_robot_with_drives(robot: &Arm, states: usize, seed: u64) -> Self {
        Self::of_columns(robot, robot.parameter_count(), states, seed)
    }

    /// Of the first `columns` parameters.
    fn of_columns(robot: &Arm, columns: usize, states: usize, seed: u64) -> Self {
        let (n, p) = (robot.dof(), robot.parameter_count());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut regressor, mut y) = (Regressor::new(robot), DMatrix::zeros(n, p));
        let mut all = DMatrix::zeros(n * states, columns);
        for s in 0..states {
            let mut draw = |size: f64| (0..n).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
            let (q, dq, ddq) = (draw(3.0), draw(2.0), draw(5.0));
            regressor.write(&q, &dq, &ddq, &mut y);
            all.rows_mut(n * s, n).copy_from(&y.columns(0, columns));
        }
        Self::of(&all)
    }

    /// Number of base parameters.
    pub fn rank(&self) -> usize {
        self.independent.len()
    }

    /// Base parameters of a full vector.
    pub fn regroup(&self, z: &[f64]) -> Vec<f64> {
        let others = |k: usize| -> f64 {
            self.dependent.iter().enumerate().map(|(l, &j)| self.regrouping[(k, l)] * z[j]).sum()
        };
        self.independent.iter().enumerate().map(|(k, &j)| z[j] + others(k)).collect()
    }

    /// Columns of `y` that multiply the base parameters.
    pub fn columns(&self, y: &DMatrix<f64>) -> DMatrix<f64> {
        y.select_columns(&self.independent)
    }
}

/// How many of the decreasing `values` are above the resolution of the model, and the ratio of the last of them to the
/// next.
fn rank(values: &[f64]) -> (usize, f64) {
    let floor = RESOLUTION * values.first().copied().unwrap_or(0.0);
    let rank = values.iter().take_while(|v| **v > floor).count();
    let gap = match (rank.checked_sub(1), values.get(rank)) {
        (Some(last), Some(next)) => values[last] / next,
        _ => f64::INFINITY,
    };
    (rank, gap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::fixture::small_robot;

    #[test]
    fn a_pendulum_has_three() {
        // One joint about the vertical: gravity does no work, only I_zz shows. About a tilted axis: h_x, h_y as well.
        let mut robot = small_robot();
        robot.joints.truncate(1);
        robot.stated().end_effector = 0;
        assert_eq!(BaseParameters::of_robot(&robot, 40, 1).rank(), 1);
        robot.gravity = nalgebra::Vector3::new(3.0, 0.0, -9.0);
        let base = BaseParameters::of_robot(&robot, 40, 1);
        assert_eq!(base.independent, [1, 2, 9]);
    }

    #[test]
    fn the_gen3_has_forty_three_and_they_predict_the_torques() {
        let robot = crate::robot::load("robots/kinova_gen3_2f85.toml").unwrap();
        let base = BaseParameters::of_robot(&robot, 120, 3);
        assert_eq!(base.rank(), 43, "{:.2e}: {:?}", base.gap, base.singular_values);
        println!("gap {:.1e}", base.gap);
        assert!(base.gap > 1e3, "{}", base.gap);
        // Unseen states, random parameters: the regrouped torques are the full ones.
        let n = robot.dof();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut regressor, mut y) = (Regressor::new(&robot), DMatrix::zeros(n, robot.parameter_count()));
        for _ in 0..50 {
            let mut draw =
                |size: f64, k: usize| (0..k).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
            let z = draw(2.0, INERTIAL * n);
            regressor.write(&draw(3.0, n), &draw(2.0, n), &draw(5.0, n), &mut y);
            let links = y.columns(0, INERTIAL * n).into_owned();
            let full = &links * nalgebra::DVector::from_vec(z.clone());
            let reduced = base.columns(&links) * nalgebra::DVector::from_vec(base.regroup(&z));
            // What the rounded right angles of the model file add: some 1e-5 of these torques.
            assert!((full - reduced).amax() < 1e-3);
        }
    }

    #[test]
    fn dependent_and_zero_columns_are_found() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut y = DMatrix::from_fn(30, 6, |_, _| rng.random_range(-1.0..1.0));
        y.column_mut(4).fill(0.0);
        let mixed = y.column(0) * 2.0 - y.column(1) * 300.0;
        y.set_column(5, &mixed);
        let base = BaseParameters::of(&y);
        assert_eq!(base.rank(), 4);
        let z: Vec<f64> = (0..6).map(f64::from).collect();
        let full = &y * nalgebra::DVector::from_vec(z.clone());
        let reduced = base.columns(&y) * nalgebra::DVector::from_vec(base.regroup(&z));
        assert!((full - reduced).amax() < 1e-10);
        let regular = BaseParameters::of(&y.columns(0, 4).into_owned());
        assert_eq!((regular.rank(), regular.gap), (4, f64::INFINITY));
        assert_eq!(BaseParameters::of(&DMatrix::zeros(5, 3)).rank(), 0);
    }
}
