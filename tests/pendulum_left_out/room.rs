//! How much room parameters have, whoever chooses them: programs over second-order cones, whose optimum is the only one.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use surelift::robot::Model;

use super::{END_S, Motion, SHIFT_STEP_S, shifts};

/// Error of a joint over a recording as a function of the parameters: |F z - g|, N m (root mean square), for each shift of the torques.
pub struct Error {
    f: DMatrix<f64>,
    g: Vec<DVector<f64>>,
}

impl Error {
    /// Of both joints. With Y = U S V', |Y z - tau|^2 = |S V' z - U' tau|^2 + |tau|^2 - |U' tau|^2; the last ones are one more row.
    pub fn of(motion: &Motion, y: &[DMatrix<f64>; 2]) -> [Self; 2] {
        [0, 1].map(|j| {
            let end = (END_S / motion.period_s).ceil() as usize;
            let count = y[j].nrows() - 2 * end;
            let per_row = (count as f64).sqrt().recip();
            let rows = y[j].rows(end, count) * per_row;
            let scale = DVector::from_iterator(rows.ncols(), rows.column_iter().map(|c| c.norm()));
            let told = scale.map(|x| if x > 0.0 { x.recip() } else { 0.0 });
            let scaled = &rows * DMatrix::from_diagonal(&told);
            let eigen = SymmetricEigen::new(scaled.tr_mul(&scaled));
            let floor = 1e-12 * eigen.eigenvalues.amax();
            let kept: Vec<usize> = (0..rows.ncols()).filter(|&i| eigen.eigenvalues[i] > floor).collect();
            let v = DMatrix::from_fn(rows.ncols(), kept.len(), |k, i| eigen.eigenvectors[(k, kept[i])]);
            let root = DVector::from_fn(kept.len(), |i, _| eigen.eigenvalues[kept[i]].sqrt());
            let u = scaled * &v * DMatrix::from_diagonal(&root.map(f64::recip));
            let mut f = DMatrix::zeros(kept.len() + 1, rows.ncols());
            f.rows_mut(0, kept.len())
                .copy_from(&(DMatrix::from_diagonal(&root) * v.transpose() * DMatrix::from_diagonal(&scale)));
            let at = |step: usize| {
                let tau = motion.shifted(j, step as f64 * SHIFT_STEP_S).rows(end, count) * per_row;
                let along = u.tr_mul(&tau);
                let rest = (&tau - &u * &along).norm();
                along.push(rest)
            };
            Self { f, g: (0..=shifts()).map(at).collect() }
        })
    }
}

/// An error that has to stay at or below `fixed + t * growing`.
pub struct Bound<'a> {
    pub error: &'a Error,
    pub step: usize,
    pub fixed: f64,
    pub growing: f64,
}

/// Least t for which some parameters keep all bounds, from below (by the dual program), and such parameters. Friction and armatures are not negative; bodies need not
/// exist. Parameters that no motion tells are left out.
pub fn least(robot: &Model, bounds: &[Bound]) -> (f64, DVector<f64>) {
    let count = robot.parameter_count();
    let told = |k: usize| bounds.iter().map(|b| b.error.f.column(k).norm_squared()).sum::<f64>().sqrt();
    let kept: Vec<usize> = (0..count).filter(|&k| told(k) > 0.0).collect();
    let scale: Vec<f64> = kept.iter().map(|&k| told(k).recip()).collect();
    let t = kept.len();
    let (mut entries, mut b) = (vec![], vec![]);
    for at in (0..robot.dof()).map(|j| robot.joint_index(j)) {
        for k in [at.coulomb, at.viscous, at.armature] {
            if let Some(column) = kept.iter().position(|&kept| kept == k) {
                entries.push((b.len(), column, -1.0));
                b.push(0.0);
            }
        }
    }
    let mut cones = vec![SupportedConeT::NonnegativeConeT(b.len())];
    for bound in bounds {
        let (f, g) = (&bound.error.f, &bound.error.g[bound.step]);
        entries.push((b.len(), t, -bound.growing));
        b.push(bound.fixed);
        for i in 0..f.nrows() {
            entries.extend((0..t).map(|k| (b.len(), k, -f[(i, kept[k])] * scale[k])));
            b.push(-g[i]);
        }
        cones.push(SupportedConeT::SecondOrderConeT(f.nrows() + 1));
    }
    entries.retain(|(_, _, value)| *value != 0.0);
    let [i, k]: [Vec<usize>; 2] =
        [entries.iter().map(|e| e.0).collect(), entries.iter().map(|e| e.1).collect()];
    let matrix = CscMatrix::new_from_triplets(b.len(), t + 1, i, k, entries.iter().map(|e| e.2).collect());
    let cost: Vec<f64> = (0..=t).map(|k| f64::from(u8::from(k == t))).collect();
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let still = CscMatrix::zeros((t + 1, t + 1));
    let mut solver = DefaultSolver::new(&still, &cost, &matrix, &b, &cones, settings).unwrap();
    solver.solve();
    let mut z = DVector::zeros(count);
    kept.iter().zip(&scale).zip(&solver.solution.x).for_each(|((&k, scale), x)| z[k] = scale * x);
    let found = &solver.solution;
    let gap = (found.obj_val - found.obj_val_dual).abs();
    assert!(gap < 1e-4 * found.obj_val, "{:?}, {gap} between both programs", found.status);
    (found.obj_val_dual, z)
}
