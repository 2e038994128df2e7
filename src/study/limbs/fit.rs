//! The convex fit of a limb, and what is told of it.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::belief::{self, Outliers};
use super::rows::LimbRows;
use super::{LimbBase, LimbFinding, LimbParameter, LimbUnknown, MotorFinding};
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::identify::parameter_name;
use crate::inertia::pseudo::nearest_physical;
use crate::inertia::{ARMATURE, COULOMB, FRICTION, INERTIAL, VISCOUS};
use crate::regression::RegressionError;
use crate::regression::barrier::{ConvexFit, Optimum};
use crate::regression::base::BaseParameters;
use crate::regression::robust::{Reweighted, SampleRows, reweight, reweight_each};
use crate::robot::{Limb, Model};

/// What is believed beforehand, so that each parameter has an estimate: a link within this share of what the files say, its mass spread over at
/// least so many metres ...
const LINK_SHARE: f64 = 1.0;
const LEAST_SPREAD_M: f64 = 0.05;
/// ... and friction, armature and offset within this share of the limb's largest torque (per rad/s, or rad/s^2).
const JOINT_SHARE: f64 = 0.05;
/// Thickness of bodies that the fit starts from, m^2: none of its optima lies on a flat body's inertia.
const FLOOR_M2: f64 = 1e-6;
/// Starts of numbers that are not negative, in deviations of the prior.
const START: f64 = 1e-3;
/// Duality gap that is aimed at, in units of half a squared deviation.
const GAP: f64 = 1e-4;
/// Terms of a base parameter that are told.
const TOLD: f64 = 1e-3;

/// Which parameters are free, and where the search starts.
#[derive(Clone)]
pub(super) struct Free {
    pub(super) indices: Vec<usize>,
    /// Place among `indices` of each free body's first parameter.
    bodies: Vec<usize>,
    nonnegative: Vec<usize>,
    start: DVector<f64>,
    /// Deviations of the prior.
    deviations: Vec<f64>,
}

impl Free {
    /// What is unknown; of links only the first `bodies`, which no motor further out feels.
    pub(super) fn of(limb: &Model, unknown: LimbUnknown, bodies: usize) -> Self {
        let (theta, links) = (limb.nominal_parameters(), INERTIAL * limb.bodies());
        let mut free = Self {
            indices: vec![],
            bodies: vec![],
            nonnegative: vec![],
            start: DVector::zeros(0),
            deviations: vec![],
        };
        let mut start = vec![];
        if unknown != LimbUnknown::Friction {
            for (i, joint) in limb.joints.iter().enumerate().take(bodies) {
                // A body without mass cannot be found wrong within a share of it.
                let Ok(body) = nearest_physical(&joint.inertia, FLOOR_M2) else { continue };
                free.bodies.push(free.indices.len());
                free.indices.extend(limb.body_range(i));
                let spread =
                    (0.5 * (body[4] + body[6] + body[9]) / body[0]).max(0.0).sqrt().max(LEAST_SPREAD_M);
                let size = LINK_SHARE * body[0];
                free.deviations.push(size);
                free.deviations.extend([size * spread; 3]);
                free.deviations.extend([size * spread * spread; 6]);
                start.extend_from_slice(&body);
            }
        }
        if unknown != LimbUnknown::Links {
            let largest = limb.joints.iter().map(|joint| joint.limits.torque).fold(0.0, f64::max);
            for k in links..limb.parameter_count() {
                let place = (k - links) % FRICTION;
                let deviation = JOINT_SHARE * largest;
                let mut x = theta[k];
                if [COULOMB, VISCOUS, ARMATURE].contains(&place) {
                    free.nonnegative.push(free.indices.len());
                    x = x.max(START * deviation);
                }
                free.indices.push(k);
                free.deviations.push(deviation);
                start.push(x);
            }
        }
        free.start = DVector::from_vec(start);
        free
    }

    /// The same with links believed to be within a share of the deviations that they have here.
    pub(super) fn within(&self, share: f64) -> Self {
        let mut narrower = self.clone();
        narrower.deviations[..INERTIAL * self.bodies.len()].iter_mut().for_each(|x| *x *= share);
        narrower
    }

    /// The columns of the free parameters, and what they have to explain.
    fn rows(&self, limb: &Model, rows: &SampleRows) -> SampleRows {
        let mut fixed = limb.nominal_parameters();
        self.indices.iter().for_each(|&k| fixed[k] = 0.0);
        let u = &rows.u - &rows.y * DVector::from_vec(fixed);
        SampleRows { y: rows.y.select_columns(&self.indices), u, joints: rows.joints }
    }

    /// The fit of whitened rows with the prior.
    fn problem(&self, nominal: &[f64], y: &DMatrix<f64>, u: &DVector<f64>) -> ConvexFit {
        // A product with the transpose made: its blocks fit caches, which dot products of long columns do not.
        let (mut hessian, mut slope) = (y.transpose() * y, y.tr_mul(u));
        for (k, deviation) in self.deviations.iter().enumerate() {
            let weight = deviation.powi(-2);
            hessian[(k, k)] += weight;
            slope[k] += weight * nominal[self.indices[k]];
        }
        ConvexFit { hessian, slope, bodies: self.bodies.clone(), nonnegative: self.nonnegative.clone() }
    }
}

/// The end of a fit.
pub(super) struct Fitted {
    /// All parameters of the limb.
    pub theta: Vec<f64>,
    /// Of the free ones, from the last round.
    optimum: Optimum,
    problem: ConvexFit,
    rounds: Reweighted,
}

/// Fits the free parameters to rows of all of them.
pub(super) fn fit(
    limb: &Model,
    free: &Free,
    rows: &SampleRows,
    outliers: Outliers,
) -> Result<Fitted, RegressionError> {
    let nominal = limb.nominal_parameters();
    let own = free.rows(limb, rows);
    let mut last: Option<(Optimum, ConvexFit)> = None;
    let solve = |y: &DMatrix<f64>, u: &DVector<f64>, _: &DVector<f64>| {
        let problem = free.problem(&nominal, y, u);
        let found = problem.minimise(&free.start, GAP)?;
        let z = found.z.clone();
        last = Some((found, problem));
        Ok(z)
    };
    let rounds = match outliers {
        Outliers::Samples => reweight(&own, &free.start, solve),
        Outliers::Motors => reweight_each(&own, &free.start, solve),
    }?;
    let Some((optimum, problem)) = last else {
        return Err(RegressionError::NoEstimate("no samples".to_owned()));
    };
    let mut theta = nominal;
    free.indices.iter().zip(&optimum.z).for_each(|(&k, x)| theta[k] = *x);
    Ok(Fitted { theta, optimum, problem, rounds })
}

/// Learns a limb from rows of all its parameters.
pub(super) fn learn(
    of: &Limb,
    unknown: LimbUnknown,
    rows: &LimbRows,
    predicted: Option<&LimbRows>,
    name: String,
) -> Result<LimbFinding, RegressionError> {
    let limb = &of.model;
    let nominal = limb.nominal_parameters();
    // What a drive does at its speed limit tells nothing of links and friction.
    let free_running = rows.select(|s| !rows.limited(s));
    let learnt = if free_running.rows.samples() == 0 { rows } else { &free_running };
    let mut free = Free::of(limb, unknown, limb.bodies());
    let mut belief = None;
    let mut outliers = Outliers::Samples;
    if unknown != LimbUnknown::Friction {
        let chosen = belief::choose(limb, unknown, learnt)?;
        free = Free::of(limb, unknown, chosen.links).within(chosen.link_share);
        outliers = chosen.outliers;
        belief = Some(chosen);
    }
    let Fitted { mut theta, optimum, problem, rounds } = fit(limb, &free, &learnt.rows, outliers)?;
    let mut apart = None;
    if let Some(belief) = &belief {
        let links_apart = belief::links_apart(limb, unknown, (&learnt.rows, outliers))?;
        theta = belief::mixed(&theta, &links_apart, belief.learnt_share);
        apart = Some(links_apart);
    }
    let covariance = Cholesky::new(problem.hessian).map(|factor| factor.inverse());
    let parameter = |(place, &k): (usize, &usize)| {
        let (name, unit) = parameter_name(limb, k);
        let deviation = covariance.as_ref().map_or(f64::NAN, |c| c[(place, place)].sqrt());
        LimbParameter { name, unit, model: nominal[k], estimate: theta[k], deviation }
    };
    let outliers = rounds.weights.iter().filter(|w| **w < 0.5).count() as f64 / rounds.weights.len() as f64;
    Ok(LimbFinding {
        name,
        samples: rounds.weights.len(),
        outliers,
        motors: motors(limb, rows, predicted, (&theta, apart.as_deref())),
        parameters: free.indices.iter().enumerate().map(parameter).collect(),
        base: base(limb, &free, &free.rows(limb, &learnt.rows).y),
        value: optimum.value,
        duality_gap: optimum.gap,
        rounds: rounds.rounds,
        belief,
        joints: of.joints.clone(),
        theta,
    })
}

/// Errors of each motor, N m RMS; samples at its speed limit are left out.
fn rms(rows: &LimbRows, theta: &[f64]) -> Vec<f64> {
    rows.errors(theta).into_iter().map(|(sum, count)| (sum / count as f64).sqrt()).collect()
}

fn motors(
    limb: &Model,
    rows: &LimbRows,
    predicted: Option<&LimbRows>,
    (theta, apart): (&[f64], Option<&[f64]>),
) -> Vec<MotorFinding> {
    let nominal = limb.nominal_parameters();
    let (fit, model) = (rms(rows, theta), rms(rows, &nominal));
    let (there, model_there) = (predicted.map(|p| rms(p, theta)), predicted.map(|p| rms(p, &nominal)));
    let apart_there = predicted.and_then(|p| Some(rms(p, apart?)));
    let motor = |(k, &joint): (usize, &usize)| MotorFinding {
        joint: limb.joints[joint].name.clone(),
        fit_rms_nm: fit[k],
        model_rms_nm: model[k],
        validation_rms_nm: there.as_ref().map(|rms| rms[k]),
        validation_model_rms_nm: model_there.as_ref().map(|rms| rms[k]),
        validation_apart_rms_nm: apart_there.as_ref().map(|rms| rms[k]),
    };
    motors_and_base(limb).iter().enumerate().map(motor).collect()
}

/// What the rows tell apart of the free parameters. Columns of a tall matrix depend on each other as those of its triangular factor do.
fn base(limb: &Model, free: &Free, y: &DMatrix<f64>) -> LimbBase {
    let found = BaseParameters::of(&y.clone().qr().r());
    let name = |column: usize| parameter_name(limb, free.indices[column]).0;
    let combination = |k: usize| {
        let mut text = name(found.independent[k]);
        for (l, &column) in found.dependent.iter().enumerate() {
            let factor = found.regrouping[(k, l)];
            if factor.abs() >= TOLD {
                let sign = if factor < 0.0 { '-' } else { '+' };
                text += &format!(" {sign} {:.4} {}", factor.abs(), name(column));
            }
        }
        text
    };
    let values = &found.singular_values;
    LimbBase {
        rank: found.rank(),
        gap: Some(found.gap).filter(|gap| gap.is_finite()),
        condition_number: match found.rank() {
            0 => f64::INFINITY,
            rank => values[0] / values[rank - 1],
        },
        combinations: (0..found.rank()).map(combination).collect(),
    }
}
