//! What torques tell apart at all: base parameters with their covariances, and which of them this recording does not separate.
//!
//! Coordinates of bodies (log-Cholesky and others) are many more than torques can tell of, so that directions nobody asked for stay open. Base
//! parameters are the combinations of *physical* parameters that some motion of this robot tells. Their covariances follow from the
//! posterior of the coordinates by the chain rule. Where a motion is poor, several of them are uncertain together, and a combination of these
//! is known all the same: both are named.

use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::EstimationStudy;
use crate::dynamics::actuation::{drive_slope as slope_of_drive, joint_friction};
use crate::dynamics::{Motion, rotor_column, torque_regressor};
use crate::estimate::ColouredCovariance;
use crate::estimate::posterior::Posterior;
use crate::estimate::problem::Trajectory;
use crate::inertia::INERTIAL;
use crate::multibody::parameters::{JointParameter, PHYSICAL, ParameterMap, UNITS};
use crate::multibody::{MultibodyProblem, drive_slope};
use crate::regression::base::BaseParameters;
use crate::robot::Model;

/// Random states that the combinations rest on, and the seed that draws them.
const STATES: usize = 200;
const SEED: u64 = 1;
/// Samples of the recording that show how much a parameter does to torques, at most.
const SAMPLES: usize = 400;
/// One deviation that changes a parameter's part of the torques by more than this share of the torques themselves is no estimate.
const POOR: f64 = 0.1;
/// Parameters with at least this share of the largest part in a poor direction belong to it.
const MEMBER: f64 = 0.1;
/// Parameters with at least this share of the largest part, in prior deviations, name a direction that the prior alone tells of.
const LEADING: f64 = 0.5;
/// Terms of a combination with a smaller factor are left out of its name.
const VISIBLE: f64 = 5e-4;

/// Base parameters of a problem.
#[derive(Debug, Clone, Serialize)]
pub struct BaseRows {
    /// How many physical parameters are estimated.
    pub of: usize,
    /// The combinations that torques tell of.
    pub parameters: Vec<BaseParameterRow>,
    /// Their covariance by the stated deviations; not a number (null) where nothing is known.
    pub covariance: Vec<Vec<f64>>,
    /// Their coloured covariance.
    pub coloured_covariance: Vec<Vec<f64>>,
    /// Names of those that the recording says nothing of: their posterior variance is the prior's.
    pub prior_alone: Vec<String>,
    /// Combinations that this recording does not separate.
    pub inseparable: Vec<Inseparable>,
    /// Joints whose gains are estimated, if gains, inertias and friction may all grow by one factor without a trace.
    pub scale_unknown: Vec<String>,
}

/// One combination.
#[derive(Debug, Clone, Serialize)]
pub struct BaseParameterRow {
    /// For example `rod I_zz + shoulder I_a`.
    pub name: String,
    /// What it is, in a word.
    pub meaning: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The estimate.
    pub estimate: f64,
    /// Its posterior deviation; nothing where it is open.
    pub deviation: Option<f64>,
    /// Its coloured deviation.
    pub coloured_deviation: Option<f64>,
}

/// Base parameters that a recording shows only together.
#[derive(Debug, Clone, Serialize)]
pub struct Inseparable {
    /// Their places in [`BaseRows::parameters`].
    pub members: Vec<usize>,
    /// What that change does to the torques of the recording, as a share of them.
    pub share: f64,
    /// What all of them may change by together without a trace: one coloured deviation along the direction that is known least.
    pub change: Vec<f64>,
    /// Factors of the combination of them that is known best; the first is 1.
    pub known: Vec<f64>,
    /// Members in the order of those factors.
    pub order: Vec<usize>,
    /// Its value.
    pub value: f64,
    /// Its coloured deviation.
    pub deviation: f64,
}

impl BaseRows {
    /// What a person should know.
    pub fn warnings(&self) -> Vec<String> {
        let mut out = vec![];
        if !self.scale_unknown.is_empty() {
            out.push(format!(
                "the scale is not observable: the gain of {}, all inertias and all friction may grow by one factor without a trace; state a body whose \
                 mass and centre are known",
                quoted(&self.scale_unknown)
            ));
        }
        let open: Vec<_> =
            self.parameters.iter().filter(|p| p.deviation.is_none()).map(|p| p.name.clone()).collect();
        if !open.is_empty() && self.scale_unknown.is_empty() {
            out.push(format!(
                "nothing is known of {}: this motion does not show it, and no prior is stated",
                quoted(&open)
            ));
        }
        if !self.prior_alone.is_empty() {
            out.push(format!(
                "the prior alone tells of {}: this motion does not show it",
                quoted(&self.prior_alone)
            ));
        }
        out.extend(self.inseparable.iter().map(|group| self.sentence(group)));
        if self.of > self.parameters.len() {
            out.push(format!(
                "torques tell {} combinations of the {} parameters apart (`base` in summary.json); what else is in the table is the prior's, or open",
                self.parameters.len(),
                self.of
            ));
        }
        out
    }

    fn sentence(&self, group: &Inseparable) -> String {
        let row = |i: usize| &self.parameters[i];
        let parts: Vec<String> = (group.members.iter().zip(&group.change))
            .map(|(&i, by)| format!("{} `{}` by {by:+.3} {}", row(i).meaning, row(i).name, row(i).unit))
            .collect();
        if group.members.len() == 1 {
            let (what, name) = (row(group.members[0]).meaning, &row(group.members[0]).name);
            return if group.share > 1.0 {
                format!("this motion does not show {what} `{name}`, and no prior tells of it")
            } else {
                format!("this motion hardly shows {} (one coloured deviation)", parts[0])
            };
        }
        let known: Vec<String> = (group.known.iter().zip(&group.order))
            .map(|(factor, &i)| format!("{factor:+.3} ({})", row(i).name))
            .collect();
        format!(
            "this motion does not tell {} apart: together they may change without a trace ({}); known is {} = {:.4} ± {:.4} {}",
            quoted(&group.members.iter().map(|&i| row(i).name.clone()).collect::<Vec<_>>()),
            parts.join(", "),
            known.join(" "),
            group.value,
            group.deviation,
            row(group.order[0]).unit
        )
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Writes what torques change by with each estimated physical parameter.
pub(super) struct Columns<'a> {
    robot: &'a Model,
    map: &'a ParameterMap,
    p: &'a [f64],
    motion: Motion<f64>,
    links: Vec<f64>,
    /// Torques of the transmissions' inertias.
    turning: Vec<f64>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(robot: &'a Model, map: &'a ParameterMap, p: &'a [f64]) -> Self {
        let links = vec![0.0; robot.nv() * INERTIAL * robot.bodies()];
        Self { robot, map, p, motion: Motion::new(robot), links, turning: vec![0.0; robot.nv()] }
    }

    /// At a motion, into `n` rows of `out` from `first` on; without a measured torque as if it was what the motion needs.
    pub(super) fn write(
        &mut self,
        (q, v, a): (&[f64], &[f64], &[f64]),
        tau: Option<&[f64]>,
        (out, first): (&mut DMatrix<f64>, usize),
    ) {
        let (robot, p) = (self.robot, self.p);
        let (n, links) = (robot.nv(), INERTIAL * robot.bodies());
        self.motion.sweep_plain(robot, q, v, a);
        torque_regressor(robot, &self.motion, 0..robot.bodies(), &mut self.links);
        self.turning.fill(0.0);
        for j in 0..n {
            let armature = robot.joint_parameters(p, j).armature;
            self.turning[j] += armature * a[j];
            rotor_column(robot, &self.motion, j, (v, a), |row, x| self.turning[row] += armature * x);
        }
        let needed = |j: usize| {
            let row = &self.links[links * j..links * (j + 1)];
            let rigid = row.iter().zip(p).map(|(y, p)| y * p).sum::<f64>();
            (rigid + self.turning[j] + joint_friction(robot, p, j, v[j]).0) / slope_of_drive(robot, p, j, 1.0)
        };
        for j in 0..n {
            let row = &self.links[links * j..links * (j + 1)];
            for (b, &(body, _)) in self.map.bodies.iter().enumerate() {
                for c in 0..INERTIAL {
                    out[(first + j, INERTIAL * b + c)] = row[INERTIAL * body + c];
                }
            }
            let measured = tau.map_or_else(|| needed(j), |tau| tau[j]);
            for (i, &(joint, which)) in self.map.joints.iter().enumerate() {
                let at = INERTIAL * self.map.bodies.len() + i;
                let slope =
                    if joint == j { drive_slope(robot, p, j, which, (v[j], a[j], measured)) } else { 0.0 };
                out[(first + j, at)] = slope;
            }
        }
        for (i, &(joint, which)) in self.map.joints.iter().enumerate() {
            if which == JointParameter::Armature {
                let at = INERTIAL * self.map.bodies.len() + i;
                rotor_column(robot, &self.motion, joint, (v, a), |row, x| out[(first + row, at)] += x);
            }
        }
    }

    /// Of random motions.
    fn of_any_motion(&mut self) -> DMatrix<f64> {
        let n = self.robot.nv();
        let mut all = DMatrix::zeros(n * STATES, self.map.len());
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        for s in 0..STATES {
            let mut draw = |size: f64| (0..n).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
            let (q, v, a) = (draw(3.0), draw(2.0), draw(5.0));
            self.write((&q, &v, &a), None, (&mut all, n * s));
        }
        all
    }
}

impl EstimationStudy {
    /// The base parameters of the result; nothing where forces of the surroundings stand between motion and torques.
    pub(super) fn base_rows(
        &self,
        problem: &MultibodyProblem,
        trajectory: &Trajectory,
        (estimate, posterior, coloured): (&[f64], &Posterior, &ColouredCovariance),
    ) -> Option<BaseRows> {
        let (robot, map) = (problem.robot(), problem.map());
        let known =
            robot.has_free_flyer() || !self.contacts.constraints.is_empty() || robot.nv() != robot.bodies();
        if known || map.is_empty() {
            return None;
        }
        let mut p = map.nominal.clone();
        map.fill(robot, estimate, &mut p);
        let mut columns = Columns::new(robot, map, &p);
        let any = columns.of_any_motion();
        let base = BaseParameters::of(&any);
        let (names, units) = names(robot, map);
        let physical = DVector::from_vec(super::result::physical(robot, map, &p));
        let mixing = mixing(&base);
        let slopes = &mixing * map.slope(estimate);
        let gradient = |k: usize| slopes.row(k).transpose();
        let deviation = |k: usize| posterior.deviation(&gradient(k));
        let parameter = |k: usize| {
            let place = base.independent[k];
            BaseParameterRow {
                name: combination(&base, k, &names),
                meaning: meaning(map, place),
                unit: units[place],
                estimate: mixing.row(k).transpose().dot(&physical),
                deviation: deviation(k),
                coloured_deviation: deviation(k).map(|_| coloured.deviation(&gradient(k))),
            }
        };
        let parameters: Vec<_> = (0..base.rank()).map(parameter).collect();
        let (nx, nt) = (posterior.nx, map.len());
        let theta = posterior.arrival.view((nx, nx), (nt, nt)).into_owned();
        let of = |covariance: &DMatrix<f64>| &slopes * covariance * slopes.transpose();
        let (plain, wide) = (of(&theta), of(&coloured.covariance));
        let (effects, signal) = self.effects(&mut columns, trajectory, problem, &base)?;
        let values: Vec<f64> = parameters.iter().map(|row| row.estimate).collect();
        let told: Vec<usize> = (0..base.rank()).filter(|&k| parameters[k].deviation.is_some()).collect();
        let listed = |m: &DMatrix<f64>| {
            let entry = |i: usize, k: usize| {
                if told.contains(&i) && told.contains(&k) { m[(i, k)] } else { f64::NAN }
            };
            (0..base.rank()).map(|i| (0..base.rank()).map(|k| entry(i, k)).collect()).collect()
        };
        let prior = of(&DMatrix::from_diagonal(&DVector::from_iterator(
            nt,
            self.deviations.theta.iter().map(|d| d * d),
        )));
        Some(BaseRows {
            of: map.len(),
            prior_alone: prior_alone(&prior, &plain)
                .into_iter()
                .map(|k| parameters[k].name.clone())
                .collect(),
            covariance: listed(&plain),
            coloured_covariance: listed(&wide),
            inseparable: inseparable((&wide, &told), &effects, signal, &values),
            scale_unknown: scale_unknown(robot, map, &any, base.rank()),
            parameters,
        })
    }

    /// What one unit of each base parameter does to the torques of the recording, N m RMS over all joints, and the torques themselves.
    fn effects(
        &self,
        columns: &mut Columns<'_>,
        trajectory: &Trajectory,
        problem: &MultibodyProblem,
        base: &BaseParameters,
    ) -> Option<(Vec<f64>, f64)> {
        let n = self.robot.nv();
        let states: Vec<&Vec<f64>> = problem.states(trajectory).collect();
        let whole: Vec<usize> =
            (0..states.len().checked_sub(1)?).filter(|&k| self.intervals_s[k].is_finite()).collect();
        let kept: Vec<usize> = whole.iter().copied().step_by(whole.len().div_ceil(SAMPLES).max(1)).collect();
        let (mut rows, mut square) = (DMatrix::zeros(n * kept.len(), columns.map.len()), 0.0);
        for (place, &k) in kept.iter().enumerate() {
            let (q, v) = states[k].split_at(self.robot.nq());
            let next = &states[k + 1][self.robot.nq()..];
            let a: Vec<f64> = next.iter().zip(v).map(|(next, v)| (next - v) / self.intervals_s[k]).collect();
            columns.write((q, v, &a), Some(&self.samples[k].tau), (&mut rows, n * place));
            square += self.samples[k].tau.iter().map(|t| t * t).sum::<f64>();
        }
        let count = kept.len().max(1) as f64;
        let size = |&place: &usize| (rows.column(place).norm_squared() / count).sqrt();
        Some((base.independent.iter().map(size).collect(), (square / count).sqrt()))
    }
}

/// [1, B] in the order of all parameters: base parameters from physical ones.
fn mixing(base: &BaseParameters) -> DMatrix<f64> {
    let mut mixing = DMatrix::zeros(base.rank(), base.independent.len() + base.dependent.len());
    for (k, &place) in base.independent.iter().enumerate() {
        mixing[(k, place)] = 1.0;
        for (l, &other) in base.dependent.iter().enumerate() {
            mixing[(k, other)] = base.regrouping[(k, l)];
        }
    }
    mixing
}

/// Joints with gains, if these add less to what torques tell than there are of them.
fn scale_unknown(robot: &Model, map: &ParameterMap, any: &DMatrix<f64>, rank: usize) -> Vec<String> {
    let first = INERTIAL * map.bodies.len();
    let is_gain = |place: usize| place >= first && map.joints[place - first].1 == JointParameter::Gain;
    let (gains, others): (Vec<usize>, Vec<usize>) = (0..map.len()).partition(|&place| is_gain(place));
    if gains.is_empty() || rank == BaseParameters::of(&any.select_columns(&others)).rank() + gains.len() {
        return vec![];
    }
    gains.iter().map(|&place| robot.joints[map.joints[place - first].0].name.clone()).collect()
}

/// Places of the parameters that belong to directions of which the posterior knows what the prior did; none without a prior on everything.
fn prior_alone(prior: &DMatrix<f64>, posterior: &DMatrix<f64>) -> Vec<usize> {
    let count = prior.nrows();
    if count == 0 || prior.iter().any(|x| !x.is_finite()) {
        return vec![];
    }
    let Some(root) = Cholesky::new(prior.clone()).map(|factor| factor.l()) else { return vec![] };
    let Some(half) = root.solve_lower_triangular(posterior) else { return vec![] };
    let Some(whole) = root.solve_lower_triangular(&half.transpose()) else { return vec![] };
    let eigen = SymmetricEigen::new(whole);
    let mut places = vec![];
    for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        let direction = &root * vector;
        let shares: Vec<f64> = (0..count).map(|k| direction[k].abs() / prior[(k, k)].sqrt()).collect();
        let most = shares.iter().copied().fold(0.0, f64::max);
        if *value > super::result::UNSEEN {
            places.extend((0..count).filter(|&k| shares[k] > LEADING * most));
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Poor directions of the covariance, in torques; each parameter is named in one of them.
fn inseparable(
    (covariance, told): (&DMatrix<f64>, &[usize]),
    effects: &[f64],
    signal: f64,
    values: &[f64],
) -> Vec<Inseparable> {
    let of = |places: &[usize]| {
        DMatrix::from_fn(places.len(), places.len(), |i, k| {
            covariance[(places[i], places[k])] * effects[places[i]] * effects[places[k]]
        })
    };
    if told.is_empty() {
        return vec![];
    }
    let eigen = SymmetricEigen::new(of(told));
    let mut order: Vec<usize> = (0..told.len()).collect();
    order.sort_by(|&i, &k| eigen.eigenvalues[k].total_cmp(&eigen.eigenvalues[i]));
    let (mut groups, mut taken) = (vec![], vec![]);
    for at in order {
        let size = eigen.eigenvalues[at].max(0.0).sqrt();
        if !(size > POOR * signal) {
            break;
        }
        let direction = eigen.eigenvectors.column(at);
        let members: Vec<usize> = (0..told.len())
            .filter(|&k| direction[k].abs() > MEMBER * direction.amax())
            .map(|k| told[k])
            .collect();
        if members.iter().any(|k| taken.contains(k)) {
            continue;
        }
        taken.extend_from_slice(&members);
        let change = (0..told.len())
            .filter(|&k| members.contains(&told[k]))
            .map(|k| size * direction[k] / effects[told[k]])
            .collect();
        // The best known direction of the members alone, by the largest of its parts in torques.
        let part = SymmetricEigen::new(of(&members));
        let best = part.eigenvectors.column(part.eigenvalues.imin());
        let mut sorted: Vec<usize> = (0..members.len()).collect();
        sorted.sort_by(|&i, &k| best[k].abs().total_cmp(&best[i].abs()));
        let unit = best[sorted[0]] * effects[members[sorted[0]]];
        let known: Vec<f64> = sorted.iter().map(|&i| best[i] * effects[members[i]] / unit).collect();
        let places: Vec<usize> = sorted.iter().map(|&i| members[i]).collect();
        groups.push(Inseparable {
            share: size / signal,
            change,
            value: known.iter().zip(&places).map(|(factor, &k)| factor * values[k]).sum(),
            deviation: part.eigenvalues.min().max(0.0).sqrt() / unit.abs(),
            members,
            known,
            order: places,
        });
    }
    groups
}

/// Names and units of the estimated physical parameters.
fn names(robot: &Model, map: &ParameterMap) -> (Vec<String>, Vec<&'static str>) {
    let bodies = map.bodies.iter().flat_map(|&(b, _)| (0..INERTIAL).map(move |i| (b, i)));
    let of_bodies = bodies.map(|(b, i)| (format!("{} {}", robot.joints[b].link, PHYSICAL[i]), UNITS[i]));
    let joints = map
        .joints
        .iter()
        .map(|&(j, which)| (format!("{} {}", robot.joints[j].name, which.name().0), which.name().1));
    of_bodies.chain(joints).unzip()
}

/// Base parameter `k` in the names of physical ones.
fn combination(base: &BaseParameters, k: usize, names: &[String]) -> String {
    let mut text = names[base.independent[k]].clone();
    for (l, &place) in base.dependent.iter().enumerate() {
        let factor = base.regrouping[(k, l)];
        if factor.abs() >= VISIBLE {
            let sign = if factor < 0.0 { '-' } else { '+' };
            let size = factor.abs();
            let number = if (size - 1.0).abs() < VISIBLE { String::new() } else { format!("{size:.3} ") };
            text += &format!(" {sign} {number}{}", names[place]);
        }
    }
    text
}

/// What a physical parameter is.
fn meaning(map: &ParameterMap, place: usize) -> &'static str {
    use JointParameter as P;
    let first = INERTIAL * map.bodies.len();
    if place < first {
        return match place % INERTIAL {
            0 => "mass",
            1..=3 => "mass times lever",
            _ => "inertia",
        };
    }
    match map.joints[place - first].1 {
        P::Coulomb | P::SmoothCoulomb => "Coulomb friction",
        P::Viscous | P::SmoothViscous => "viscous friction",
        P::Armature => "rotor's inertia",
        P::Offset => "offset",
        P::Gain => "gain",
        P::Skew => "skew",
        P::StribeckHeight => "height of stiction",
        P::StictionRate | P::StribeckRate | P::SmoothRate => "rate of friction",
    }
}
