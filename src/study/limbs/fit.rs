//! The convex fit of a limb, and what is told of it.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::belief::{self, Outliers};
use super::compressed::Compressed;
use super::exponents;
use super::rows::LimbRows;
use super::stribeck;
use super::{LimbBase, LimbFinding, LimbParameter, LimbUnknown, MotorFinding, RestFriction};
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::identify::parameter_name;
use crate::inertia::pseudo::nearest_physical;
use crate::inertia::{ARMATURE, COULOMB, FRICTION, INERTIAL, VISCOUS};
use crate::regression::RegressionError;
use crate::regression::barrier::{ConvexFit, Optimum};
use crate::regression::base::BaseParameters;
use crate::regression::robust::{Reweighted, Rounds, reweight, reweight_each};
use crate::robot::{Limb, Model};

/// What is believed beforehand, so that each parameter has an estimate: a link within this share of what the files say, its mass spread over at
/// least so many metres ...
const LINK_SHARE: f64 = 1.0;
const LEAST_SPREAD_M: f64 = 0.05;
/// ... and friction, armature and offset within this share of the limb's largest torque (per rad/s, or rad/s^2).
const JOINT_SHARE: f64 = 0.05;
/// ... of joints without motor so much of that: bearings without gears rub far less than drives. Many of them move in proportion to a motor, and friction that is as likely
/// in them as in its drive is found in them.
const PASSIVE_SHARE: f64 = 0.01;
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
    pub(super) start: DVector<f64>,
    /// Deviations of the prior.
    pub(super) deviations: Vec<f64>,
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
                let (joint, place) = (&limb.joints[(k - links) / FRICTION], (k - links) % FRICTION);
                let share = if joint.limits.torque > 0.0 { JOINT_SHARE } else { PASSIVE_SHARE * JOINT_SHARE };
                let deviation = share * largest;
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

    /// Optimum of the free parameters with the prior, its problem, and all parameters with it, from the sums over weighted rows U (`gram` = U'U, `slope` = U'u) with
    /// Y = U `map`.
    pub(super) fn minimise(
        &self,
        limb: &Model,
        map: &DMatrix<f64>,
        (gram, slope): (&DMatrix<f64>, &DVector<f64>),
        gap: f64,
    ) -> Result<(Optimum, ConvexFit, Vec<f64>), RegressionError> {
        let mut theta = limb.nominal_parameters();
        let nominal: Vec<f64> = self.indices.iter().map(|&k| theta[k]).collect();
        self.indices.iter().for_each(|&k| theta[k] = 0.0);
        let own = map.select_columns(&self.indices);
        let turned = own.transpose();
        let left = slope - gram * (map * DVector::from_column_slice(&theta));
        // Products with transposes that are made: their blocks fit caches, which dot products of long columns do not.
        let (mut hessian, mut slope) = (&turned * (gram * &own), &turned * left);
        for (k, deviation) in self.deviations.iter().enumerate() {
            let weight = deviation.powi(-2);
            hessian[(k, k)] += weight;
            slope[k] += weight * nominal[k];
        }
        let (bodies, nonnegative) = (self.bodies.clone(), self.nonnegative.clone());
        let problem = ConvexFit { hessian, slope, bodies, nonnegative };
        let found = problem.minimise_primal_dual(&self.start, gap)?;
        self.indices.iter().zip(&found.z).for_each(|(&k, x)| theta[k] = *x);
        Ok((found, problem, theta))
    }
}

/// How exact a fit has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// It only tells which samples are outliers.
    Search,
    /// It is told.
    Final,
}

impl Effort {
    /// When reweighting ends, and the duality gap that is aimed at in units of half a squared deviation.
    fn limits(self) -> (Rounds, f64) {
        match self {
            Self::Search => (Rounds { most: 10, settled: 1e-3 }, 1e-2),
            Self::Final => (Rounds::default(), GAP),
        }
    }
}

/// The end of a fit.
pub(super) struct Fitted {
    /// All parameters of the limb.
    pub theta: Vec<f64>,
    /// Of the free ones, from the last round.
    optimum: Optimum,
    pub problem: ConvexFit,
    pub rounds: Reweighted,
}

/// Fits the free parameters to rows of all of them.
pub(super) fn fit(
    limb: &Model,
    free: &Free,
    all: &Compressed,
    (outliers, effort): (Outliers, Effort),
) -> Result<Fitted, RegressionError> {
    let (rows, alike) = (&all.rows.rows, all.rows.alike);
    let (until, gap) = effort.limits();
    let mut last: Option<(Optimum, ConvexFit, Vec<f64>)> = None;
    let solve = |y: &DMatrix<f64>, u: &DVector<f64>, _: &DVector<f64>| {
        let turned = y.transpose();
        let sums = (&(&turned * y / alike), &(&turned * u / alike));
        let found = free.minimise(limb, &all.map, sums, gap)?;
        let x = all.onto(&found.2);
        last = Some(found);
        Ok(x)
    };
    let start = DVector::zeros(all.map.nrows());
    let rounds = match outliers {
        Outliers::Samples => reweight(rows, &start, until, solve),
        Outliers::Motors => reweight_each(rows, &start, until, solve),
    }?;
    let Some((optimum, problem, theta)) = last else {
        return Err(RegressionError::NoEstimate("no samples".to_owned()));
    };
    Ok(Fitted { theta, optimum, problem, rounds })
}

/// Learns a limb from rows of all its parameters: what is unknown, and whether exponents of friction are.
pub(super) fn learn(
    (of, name): (&Limb, String),
    (unknown, exponents): (LimbUnknown, bool),
    rows: &LimbRows,
    predicted: Option<&LimbRows>,
) -> Result<LimbFinding, RegressionError> {
    let limb = &of.model;
    let nominal = limb.nominal_parameters();
    // What a drive does at its speed limit tells nothing of links and friction.
    let free_running = rows.select(|s| !rows.limited(s));
    let running = if free_running.rows.samples() == 0 { rows.clone() } else { free_running };
    let sought = exponents && unknown != LimbUnknown::Links;
    let found = sought.then(|| exponents::find(limb, unknown, &running.clone().unsmoothed())).transpose()?;
    let bent = |rows: &LimbRows| found.as_ref().map(|found| exponents::with(limb, rows, found));
    let kept = bent(&running).unwrap_or(running).without_sticking();
    let mut learnt = Compressed::of(limb, &kept);
    let shapes = if unknown == LimbUnknown::Links { vec![] } else { stribeck::take_out(&mut learnt) };
    let mut free = Free::of(limb, unknown, limb.bodies());
    let mut belief = None;
    let mut outliers = Outliers::Samples;
    if unknown != LimbUnknown::Friction {
        let chosen = belief::choose(limb, unknown, &learnt)?;
        free = Free::of(limb, unknown, chosen.links).within(chosen.link_share);
        outliers = chosen.outliers;
        belief = Some(chosen);
    }
    let Fitted { mut theta, optimum, problem, rounds } =
        fit(limb, &free, &learnt, (outliers, Effort::Final))?;
    let mut apart = None;
    if let Some(belief) = &belief {
        let links_apart = belief::links_apart(limb, unknown, (&learnt, outliers), Effort::Final)?;
        theta = belief::mixed(&theta, &links_apart, belief.learnt_share);
        apart = Some(links_apart);
    }
    let covariance = Cholesky::new(problem.hessian).map(|factor| factor.inverse());
    let parameter = |(place, &k): (usize, &usize)| {
        let (name, unit) = parameter_name(limb, k);
        let deviation = covariance.as_ref().map_or(f64::NAN, |c| c[(place, place)].sqrt());
        LimbParameter { name, unit, model: nominal[k], estimate: theta[k], deviation }
    };
    let far = rounds.weights.iter().filter(|w| **w < 0.5).count() as f64 / rounds.weights.len() as f64;
    let by_files = [Some(rows), predicted].map(|rows| rows.map(|rows| rms(rows, &nominal)));
    let (bent_rows, bent_predicted) = (bent(rows), predicted.and_then(bent));
    let told = (bent_rows.as_ref().unwrap_or(rows), bent_predicted.as_ref().or(predicted));
    let aside = Aside {
        exponents: found,
        sticking: kept.sticking(),
        at_rest: stribeck::told(&kept, &shapes, &theta),
    };
    Ok(LimbFinding {
        name,
        samples: rounds.weights.len(),
        outliers: far,
        still: still(limb, rows),
        motors: motors(limb, told, by_files, (&theta, apart.as_deref()), &aside),
        parameters: free.indices.iter().enumerate().map(parameter).collect(),
        base: base(limb, &free, &learnt.triangle),
        value: optimum.value,
        duality_gap: optimum.gap,
        rounds: rounds.rounds,
        belief,
        joints: of.joints.clone(),
        theta,
    })
}

/// Motors that stand still in all recordings.
fn still(limb: &Model, rows: &LimbRows) -> Vec<String> {
    let motors = motors_and_base(limb).into_iter().enumerate();
    motors.filter(|(j, _)| rows.stands(*j)).map(|(_, joint)| limb.joints[joint].name.clone()).collect()
}

/// Errors of each motor, N m RMS; samples at its speed limit are left out.
fn rms(rows: &LimbRows, theta: &[f64]) -> Vec<f64> {
    rows.errors(theta).into_iter().map(|(sum, count)| (sum / count as f64).sqrt()).collect()
}

/// What was found of each motor's friction beside its parameters.
struct Aside {
    exponents: Option<Vec<f64>>,
    /// Shares of samples.
    sticking: Vec<f64>,
    /// Nothing at all where friction is known.
    at_rest: Vec<Option<RestFriction>>,
}

/// What is told of the motors: errors on what was learnt from and on what is predicted, those of the files (`by_files`) there, and what robot files have no place for.
fn motors(
    limb: &Model,
    (rows, predicted): (&LimbRows, Option<&LimbRows>),
    [model, model_there]: [Option<Vec<f64>>; 2],
    (theta, apart): (&[f64], Option<&[f64]>),
    aside: &Aside,
) -> Vec<MotorFinding> {
    let fit = rms(rows, theta);
    let there = predicted.map(|p| rms(p, theta));
    let apart_there = predicted.and_then(|p| Some(rms(p, apart?)));
    let motor = |(k, &joint): (usize, &usize)| MotorFinding {
        joint: limb.joints[joint].name.clone(),
        friction_exponent: aside.exponents.as_ref().map(|exponents| exponents[k]),
        sticking: aside.sticking[k],
        rest_friction: aside.at_rest.get(k).copied().flatten(),
        fit_rms_nm: fit[k],
        model_rms_nm: model.as_ref().map_or(f64::NAN, |rms| rms[k]),
        validation_rms_nm: there.as_ref().map(|rms| rms[k]),
        validation_model_rms_nm: model_there.as_ref().map(|rms| rms[k]),
        validation_apart_rms_nm: apart_there.as_ref().map(|rms| rms[k]),
    };
    motors_and_base(limb).iter().enumerate().map(motor).collect()
}

/// What the rows tell apart of the free parameters, from their triangular factor.
fn base(limb: &Model, free: &Free, triangle: &DMatrix<f64>) -> LimbBase {
    let found = BaseParameters::of(&triangle.select_columns(&free.indices));
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
