//! The whole arm's base parameters from the recordings, nothing believed of any link beforehand.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::{IdentificationStudy, StudyError};
use crate::identify::parameter_name;
use crate::identify::recorded::at_speed_limit;
use crate::inertia::INERTIAL;
use crate::regression::base::BaseParameters;
use crate::regression::inverse::{Moving, Regressor};
use crate::robot::Arm;

/// Random states that the regrouping rests on, and the seed that draws them.
const STATES: usize = 200;
const SEED: u64 = 1;
/// Directions with an eigenvalue of the scaled normal matrix below this are not seen: their deviations would be 10^5 times those
/// of the best ones.
const UNSEEN: f64 = 1e-10;
/// A base parameter of which more than this lies in unseen directions has no estimate.
const SHARE: f64 = 1e-3;
/// Terms of a base parameter with a smaller factor than this are left out of its name; [`BaseParameterFinding::terms`] has all.
const VISIBLE: f64 = 5e-4;
/// Rounds of weighing the joints by their own errors.
const ROUNDS: usize = 3;

/// Base parameters of the whole arm.
#[derive(Debug, Clone, Serialize)]
pub struct BaseFinding {
    /// How many combinations of the arm's inertial parameters torques can tell apart at all.
    pub rank: usize,
    /// Of so many parameters.
    pub of: usize,
    /// Ratio of the last singular value that counts to the first that does not; a rank without a wide gap is a guess. None at full
    /// rank.
    pub gap: Option<f64>,
    /// The same with friction and transmission inertias among the parameters: as many are estimated.
    pub rank_with_drives: usize,
    /// Of so many.
    pub of_with_drives: usize,
    /// With this gap.
    pub gap_with_drives: Option<f64>,
    /// Condition number of the recordings' regressor, base parameters and friction together, columns of unit length; none where some
    /// direction cannot be seen at all.
    pub condition_number: Option<f64>,
    /// Root mean square of the torque errors that are left, N m, one entry a joint.
    pub fit_rms_nm: Vec<f64>,
    /// The base parameters.
    pub parameters: Vec<BaseParameterFinding>,
}

/// One combination.
#[derive(Debug, Clone, Serialize)]
pub struct BaseParameterFinding {
    /// The combination, for example `link_2 I_zz + link_3 I_yy + 0.177 link_3 m`.
    pub name: String,
    /// What is added to the parameter that it is named after: factors and names.
    pub terms: Vec<(f64, String)>,
    /// Its unit.
    pub unit: &'static str,
    /// Value of the robot's model.
    pub model: f64,
    /// Least-squares estimate with nothing believed beforehand; none where the recordings do not show it.
    pub estimate: Option<f64>,
    /// Its standard deviation if the torque errors were independent; no bound.
    pub deviation: Option<f64>,
}

impl IdentificationStudy<'_> {
    /// Weighted least squares over base parameters and friction, each joint by its own torque errors.
    pub(super) fn base_finding(&self, samples: &[Moving]) -> Result<BaseFinding, StudyError> {
        let robot = self.robot;
        let n = robot.dof();
        let base = BaseParameters::of_robot_with_drives(robot, STATES, SEED);
        let links = BaseParameters::of_robot(robot, STATES, SEED);
        let model = DVector::from_vec(base.regroup(&robot.nominal_parameters()));
        let p = model.len();
        let (mut regressor, mut y) = (Regressor::new(robot), DMatrix::zeros(n, robot.parameter_count()));
        // Per joint: A'A, A'b, b'b, rows, with b the torque beyond the model's.
        let mut parts = vec![(DMatrix::<f64>::zeros(p, p), DVector::<f64>::zeros(p), 0.0, 0_usize); n];
        for s in samples {
            regressor.write(&s.q, &s.dq, &s.ddq, &mut y);
            let rows = base.columns(&y);
            for (i, part) in parts.iter_mut().enumerate().filter(|(i, _)| !at_speed_limit(robot, &s.dq, *i)) {
                let row = rows.row(i).transpose();
                let b = s.tau[i] - row.dot(&model);
                part.0.ger(1.0, &row, &row, 1.0);
                part.1.axpy(b, &row, 1.0);
                part.2 += b * b;
                part.3 += 1;
            }
        }
        let mut variance = vec![1.0; n];
        let mut fit = Fit::default();
        for _ in 0..ROUNDS {
            fit = Fit::of(&parts, &variance);
            for (i, (normal, right, square, rows)) in parts.iter().enumerate() {
                let left = square - 2.0 * right.dot(&fit.x) + fit.x.dot(&(normal * &fit.x));
                variance[i] = (left / (*rows).max(1) as f64).max(1e-12);
            }
        }
        let parameter = |k: usize| BaseParameterFinding {
            name: combination(robot, &base, k),
            terms: terms(robot, &base, k),
            unit: parameter_name(robot, base.independent[k]).1,
            model: model[k],
            estimate: fit.seen[k].then(|| model[k] + fit.x[k]),
            deviation: fit.seen[k].then(|| fit.deviation[k]),
        };
        Ok(BaseFinding {
            rank: links.rank(),
            of: INERTIAL * n,
            gap: finite(links.gap),
            rank_with_drives: base.rank(),
            of_with_drives: robot.parameter_count(),
            gap_with_drives: finite(base.gap),
            condition_number: finite(fit.condition),
            fit_rms_nm: variance.iter().map(|v| v.sqrt()).collect(),
            parameters: (0..base.rank()).map(parameter).collect(),
        })
    }
}

/// Weighted least squares about the model.
#[derive(Default)]
struct Fit {
    x: DVector<f64>,
    deviation: Vec<f64>,
    seen: Vec<bool>,
    condition: f64,
}

impl Fit {
    /// From each joint's normal equations and its errors' variance; unseen directions stay at the model.
    fn of(parts: &[(DMatrix<f64>, DVector<f64>, f64, usize)], variance: &[f64]) -> Self {
        let p = parts.first().map_or(0, |part| part.1.len());
        let (mut normal, mut right) = (DMatrix::zeros(p, p), DVector::zeros(p));
        for ((a, b, _, _), v) in parts.iter().zip(variance) {
            normal += a / *v;
            right += b / *v;
        }
        let scale = normal.diagonal().map(|d: f64| if d > 0.0 { d.sqrt() } else { 1.0 });
        for i in 0..p {
            normal.row_mut(i).scale_mut(1.0 / scale[i]);
            normal.column_mut(i).scale_mut(1.0 / scale[i]);
            right[i] /= scale[i];
        }
        let eigen = normal.symmetric_eigen();
        let largest = eigen.eigenvalues.max();
        let (mut x, mut variance, mut hidden) = (DVector::zeros(p), DVector::zeros(p), DVector::zeros(p));
        let mut smallest = largest;
        for (value, v) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
            let squares = v.component_mul(&v);
            if *value > UNSEEN * largest {
                x += v.into_owned() * (v.dot(&right) / value);
                variance += squares / *value;
                smallest = smallest.min(*value);
            } else {
                hidden += squares;
                smallest = 0.0;
            }
        }
        Self {
            x: x.component_div(&scale),
            deviation: (0..p).map(|k| f64::sqrt(variance[k]) / scale[k]).collect(),
            seen: hidden.iter().map(|share: &f64| share.sqrt() < SHARE).collect(),
            condition: (largest / smallest).sqrt(),
        }
    }
}

/// What base parameter k holds beside the parameter that it is named after.
fn terms(robot: &Arm, base: &BaseParameters, k: usize) -> Vec<(f64, String)> {
    let all = base.dependent.iter().enumerate();
    let factors = all.map(|(l, &j)| (base.regrouping[(k, l)], j)).filter(|(factor, _)| *factor != 0.0);
    factors.map(|(factor, j)| (factor, parameter_name(robot, j).0)).collect()
}

/// Base parameter k in words.
fn combination(robot: &Arm, base: &BaseParameters, k: usize) -> String {
    let mut text = parameter_name(robot, base.independent[k]).0;
    for (factor, name) in terms(robot, base, k) {
        let (sign, size) = (if factor < 0.0 { "-" } else { "+" }, factor.abs());
        if size < VISIBLE {
            continue;
        }
        let size = if (size - 1.0).abs() < VISIBLE { String::new() } else { format!("{size:.3} ") };
        text += &format!(" {sign} {size}{name}");
    }
    text
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
