//! Constraints of a plan from sets over all of K: the nonlinear program of ARMOUR \[6\] and of \[1\], posed once for a whole family of
//! trajectories and evaluated at one k after the other.
//!
//! For each span of time, polynomial zonotopes ([`PolynomialSets`]) hold joint motion, nominal torque and ends of the capsules for every end
//! point on offer. A row is what they leave of a limit at k, and its gradient is the polynomial's own. As in \[6\], the robust torque counts with
//! its largest value over all of K, which does not depend on k ([`FamilySets`]). Where \[6\] looks among the half-spaces of obstacles that were
//! buffered by a link, the direction that separates the two is sought at k itself, which is never worse. Beyond \[6\], the arm's own links are
//! kept apart as well, since the certifier asks for that.
//!
//! One tube has to do for all of K: its constants are the worse of those of three members, the mildest and two far ones. What the program finds
//! gets constants of its own before it is handed out ([`tube_fit::refit`]). Nothing here is trusted: [`crate::certify`] has the last word.

use rayon::prelude::*;

use crate::certify::{Body, ConstraintFamily, ConstraintIndex, Refusal, Shortfall, Workspaces};
use crate::certify::{CellReport, DETAIL_M};
use crate::dynamics::vec3::{self, Vec3};
use crate::family::polynomial_sets::PolynomialSets;
use crate::family::sets::settled;
use crate::family::{FamilySets, Polynomial, TrajectoryFamily};
use crate::reach::direction::nearest_direction;
use crate::reach::moving::{grown, moved_by};
use crate::reach::{Joints, Span, Tube, extent};
use crate::robot::{Arm, Scene, Zonotope3};
use crate::scalar::Scalar;
use crate::trajectory::{Bezier, JointState};

use super::decision::EndPoints;
use super::inertia_floor::FloorFit;
use super::nlp::{MAX_DIMENSION, Row};
use super::propose::Setting;
use super::rows::{CLEARANCE_SCALE_M, KINDS, POSITION_SCALE_RAD};
use super::sliced::{Bound, Sliced};
use super::tube_fit;

/// Monomials that a polynomial has room for: 35 quadratic ones of seven parameters and time would not all fit, and the least go to the remainder.
const MONOMIALS: usize = 40;
/// Symbols of the affine forms that the robust torque comes from: seven joints and their parameters.
const SYMBOLS: usize = 24;
/// Length of a span, s. Twice as fine as what the planner gives the certifier, which halves spans where that is too coarse; nobody does that here.
const SPAN_S: f64 = 3.0 / 64.0;
/// Pairs further apart than this for every k have no row: more than the largest margin that the solver asks of one.
const KEEP_M: f64 = 0.03;

type Form = Polynomial<MONOMIALS, 2>;

/// The program's rows, posed for one setting.
pub(super) struct FamilyRows<'a> {
    robot: &'a Arm,
    scene: &'a Scene,
    /// The tube that the sets were made under.
    pub(super) tube: Tube,
    pairs: Vec<(usize, Body)>,
    spans: Vec<SpanRows>,
}

/// Sets over one span.
struct SpanRows {
    span: (f64, f64),
    position: Vec<Sliced<1>>,
    velocity: Vec<Sliced<1>>,
    torque: Vec<Sliced<1>>,
    /// The largest robust torque over all of K, N m.
    robust: Vec<f64>,
    ends: Vec<[Sliced<3>; 2]>,
    near: Vec<NearPair>,
}

/// Two bodies that some k may bring together.
struct NearPair {
    /// Index in [`FamilyRows::pairs`].
    index: usize,
    /// Of the capsule, grown by what an obstacle may have moved; of both capsules, m.
    radius: f64,
    /// Of two capsules: the differences of their ends, in which what both share cancels.
    apart: Vec<Sliced<3>>,
}

impl<'a> FamilyRows<'a> {
    /// Poses the program of all trajectories from the setting's start to `ends`; `coast` is the mildest of them.
    ///
    /// # Errors
    /// [`Refusal`] where the problem is not one that the proof covers.
    pub(super) fn new(
        setting: &Setting<'a>,
        ends: &EndPoints,
        coast: &[f64],
        (cells, workspaces): (usize, &Workspaces),
    ) -> Result<Self, Refusal> {
        let Setting { robot, set, scene, start, duration_s, .. } = *setting;
        let tube = tube_of_all(setting, ends, coast, (cells, workspaces))?;
        let mut family = TrajectoryFamily::still(robot.dof());
        family
            .aim(start, (ends.centre(), ends.reach()), duration_s)
            .map_err(|error| Refusal::Unsupported(error.to_string()))?;
        let moving = robot.shapes().iter().enumerate().filter(|(_, link)| link.joint.is_some());
        let obstacles =
            moving.flat_map(|(shape, _)| (0..scene.obstacles.len()).map(move |k| (shape, Body::Obstacle(k))));
        let own = robot.self_pairs().iter().map(|&(a, b)| (a, Body::Shape(b)));
        let pairs: Vec<(usize, Body)> = obstacles.chain(own).collect();
        let count = (duration_s / SPAN_S).ceil().max(1.0) as usize;
        let t = |i: usize| duration_s * i as f64 / count as f64;
        // The last one is where the arm rests.
        let times = (0..=count).map(|i| (t(i), t((i + 1).min(count))));
        let spans = times.collect::<Vec<_>>().into_par_iter().map(|span| {
            let sets = PolynomialSets::<MONOMIALS, 2>::new(robot, set.set(), &tube, &family, span);
            let bounds = FamilySets::<SYMBOLS>::new(robot, set, &tube, &family, span);
            SpanRows::new(robot, scene, (&tube, &pairs), (sets, &bounds), span)
        });
        let spans = spans.collect();
        Ok(Self { robot, scene, tube, pairs, spans })
    }

    /// Most rows of a span.
    fn most(&self) -> usize {
        KINDS as usize * self.robot.dof() + self.pairs.len()
    }

    /// Appends all rows at `k`, in the order of their labels.
    pub(super) fn append(&self, k: &[f64], rows: &mut Vec<Row>) {
        let each = self.spans.par_iter().enumerate().map(|(i, span)| {
            let mut rows = vec![];
            span.append(self, k, (i * self.most()) as u32, &mut rows);
            rows
        });
        rows.extend(each.collect::<Vec<_>>().into_iter().flatten());
    }

    /// What a row says of the constraint that it stands for.
    pub(super) fn shortfall(&self, row: &Row) -> Shortfall {
        let (span, place) = (row.label as usize / self.most(), row.label as usize % self.most());
        let (t0, t1) = self.spans[span].span;
        let (joint, kind) = (place / KINDS as usize, place % KINDS as usize);
        let said = |family, place, scale: f64| Shortfall { family, place, t0, t1, margin: row.value * scale };
        if joint >= self.robot.dof() {
            let (shape, other) = self.pairs[place - KINDS as usize * self.robot.dof()];
            return said(ConstraintFamily::Collision, ConstraintIndex::Pair(shape, other), CLEARANCE_SCALE_M);
        }
        let (limits, place) = (&self.robot.joints[joint].limits, ConstraintIndex::Joint(joint));
        match kind {
            0 => said(ConstraintFamily::Torque, place, limits.torque),
            1 => said(ConstraintFamily::Velocity, place, limits.velocity),
            _ => said(ConstraintFamily::Position, place, POSITION_SCALE_RAD),
        }
    }
}

impl SpanRows {
    fn new(
        robot: &Arm,
        scene: &Scene,
        (tube, pairs): (&Tube, &[(usize, Body)]),
        (sets, bounds): (PolynomialSets<MONOMIALS, 2>, &FamilySets<SYMBOLS>),
        span: (f64, f64),
    ) -> Self {
        let n = robot.dof();
        let one = |form: &Form| Sliced::new(&[*form]);
        let leaning = |j: usize| {
            // What the law leans on beside the middle of the set goes with k, but not far.
            let lean = settled(&bounds.lean[j], n, None);
            let (lower, upper) = (extent::lower(&lean), extent::upper(&lean));
            sets.torque[j] + Form::constant(0.5 * (lower + upper)).widen(0.5 * (upper - lower))
        };
        let mut rows = Self {
            span,
            position: sets.q.iter().map(one).collect(),
            velocity: sets.dq.iter().map(one).collect(),
            torque: (0..n).map(|j| one(&leaning(j))).collect(),
            robust: bounds.robust.clone(),
            ends: sets.ends.iter().map(|ends| ends.each_ref().map(Sliced::new)).collect(),
            near: vec![],
        };
        let boxes: Vec<[[f64; 2]; 3]> = sets.ends.iter().map(around).collect();
        let radius = |shape: usize| robot.shapes()[shape].capsule.radius;
        for (index, &(shape, other)) in pairs.iter().enumerate() {
            let (radius, far, apart) = match other {
                Body::Obstacle(k) => {
                    let obstacle = &scene.obstacles[k];
                    let Some(moved) = moved_by(obstacle, tube.gains.period_s, Span::Between(span.0, span.1))
                    else {
                        continue;
                    };
                    let radius = grown(radius(shape), moved);
                    (radius, gap(&boxes[shape], &around_obstacle(obstacle)), None)
                }
                Body::Shape(b) => (radius(shape) + radius(b), gap(&boxes[shape], &boxes[b]), Some(b)),
            };
            if far > radius + KEEP_M {
                continue;
            }
            let apart = apart.map_or(vec![], |b| {
                let differences =
                    sets.ends[shape].iter().flat_map(|x| sets.ends[b].iter().map(move |y| (x, y)));
                differences.map(|(x, y)| Sliced::new(&vec3::sub(x, y))).collect()
            });
            rows.near.push(NearPair { index, radius, apart });
        }
        rows
    }

    /// Appends the rows of this span, the first of which is `first`.
    fn append(&self, of: &FamilyRows<'_>, k: &[f64], first: u32, rows: &mut Vec<Row>) {
        let robot = of.robot;
        for (j, joint) in robot.joints.iter().enumerate() {
            let label = |kind: u32| first + KINDS * j as u32 + kind;
            let limits = &joint.limits;
            let room = limits.torque - self.robust[j];
            rows.push(within(&self.torque[j], k, (-room, room), limits.torque, label(0)));
            let speed = limits.velocity;
            rows.push(within(&self.velocity[j], k, (-speed, speed), speed, label(1)));
            if let Some(range) = limits.position {
                rows.push(within(&self.position[j], k, range, POSITION_SCALE_RAD, label(2)));
            }
        }
        let mut weights = vec![];
        for pair in &self.near {
            let u = self.direction(of, pair, k, &mut weights);
            let (least, gradient) = self.along(of, pair, &u, k);
            let value = least - pair.radius;
            if value <= DETAIL_M {
                let label = first + KINDS * robot.dof() as u32 + pair.index as u32;
                rows.push(scaled(value, &gradient, CLEARANCE_SCALE_M, label));
            }
        }
    }

    /// The unit vector from the nearest point of the other body to that of the capsule's axis, where the middles of both are at `k`.
    fn direction(&self, of: &FamilyRows<'_>, pair: &NearPair, k: &[f64], weights: &mut Vec<f64>) -> [f64; 3] {
        let segment = |shape: usize| {
            let [a, b] = self.ends[shape].each_ref().map(|end| end.middle(k));
            (vec3::times(&vec3::add(&a, &b), 0.5), vec3::times(&vec3::sub(&b, &a), 0.5))
        };
        let (shape, other) = of.pairs[pair.index];
        let (from, half) = segment(shape);
        match other {
            Body::Obstacle(o) => {
                let obstacle = &of.scene.obstacles[o];
                let generators = obstacle.generators.iter().map(|g| -> &[f64; 3] { g.as_ref() });
                nearest_direction(
                    vec3::sub(&from, &obstacle.center.into()),
                    generators.chain([&half]),
                    weights,
                )
            }
            Body::Shape(b) => {
                let (to, other) = segment(b);
                nearest_direction(vec3::sub(&from, &to), [half, other].iter(), weights)
            }
        }
    }

    /// The least distance of the two along `u`, radii not counted, and its gradient while `u` is held.
    ///
    /// How u turns with k is left out: where the nearest point lies within an axis, both its ends are equally far along u, and stay so as u turns, so that
    /// the distance changes as that point does, and not as the end that comes first.
    fn along(
        &self,
        of: &FamilyRows<'_>,
        pair: &NearPair,
        u: &[f64; 3],
        k: &[f64],
    ) -> (f64, [f64; MAX_DIMENSION]) {
        let (shape, other) = of.pairs[pair.index];
        match other {
            Body::Obstacle(o) => {
                let obstacle = &of.scene.obstacles[o];
                let half: f64 = obstacle.generators.iter().map(|g| vec3::dot(u, g.as_ref()).abs()).sum();
                let (below, gradient) = least_of(&self.ends[shape], u, k);
                (below - vec3::dot(u, &obstacle.center.into()) - half, gradient)
            }
            Body::Shape(_) => least_of(&pair.apart, u, k),
        }
    }
}

/// The least value of `direction . x` of any of the points at `k`, and its gradient.
fn least_of(points: &[Sliced<3>], direction: &[f64; 3], k: &[f64]) -> (f64, [f64; MAX_DIMENSION]) {
    let against = direction.map(|x| -x);
    let bounds = points.iter().map(|point| point.most(&against, k));
    let most = bounds.reduce(|most, other| if other.value > most.value { other } else { most });
    most.map_or((f64::INFINITY, [0.0; MAX_DIMENSION]), |Bound { value, gradient }| {
        (-value, gradient.map(|x| -x))
    })
}

/// The row of a value that has to stay between two limits: of the nearer one.
fn within(of: &Sliced<1>, k: &[f64], (lower, upper): (f64, f64), scale: f64, label: u32) -> Row {
    let (most, least) = (of.most(&[1.0], k), of.most(&[-1.0], k));
    let (above, below) = (upper - most.value, -lower - least.value);
    let (value, bound) = if above <= below { (above, most) } else { (below, least) };
    scaled(value, &bound.gradient.map(|x| -x), scale, label)
}

fn scaled(value: f64, gradient: &[f64; MAX_DIMENSION], scale: f64, label: u32) -> Row {
    Row { value: value / scale, gradient: gradient.map(|x| x / scale), label }
}

/// The box of an axis over all of K.
fn around(ends: &[Vec3<Form>; 2]) -> [[f64; 2]; 3] {
    std::array::from_fn(|i| {
        let [a, b] = ends.each_ref().map(|end| end[i].interval());
        [a.lower().min(b.lower()), a.upper().max(b.upper())]
    })
}

fn around_obstacle(obstacle: &Zonotope3) -> [[f64; 2]; 3] {
    std::array::from_fn(|i| {
        let half: f64 = obstacle.generators.iter().map(|g| g[i].abs()).sum();
        [obstacle.center[i] - half, obstacle.center[i] + half]
    })
}

/// Distance of two boxes, m.
fn gap(a: &[[f64; 2]; 3], b: &[[f64; 2]; 3]) -> f64 {
    let gaps = a.iter().zip(b).map(|(a, b)| (a[0] - b[1]).max(b[0] - a[1]).max(0.0));
    gaps.map(|gap| gap * gap).sum::<f64>().sqrt()
}

/// Constants that are the worse of those of three members: coasting, and the ends of the diagonal of K.
fn tube_of_all(
    setting: &Setting<'_>,
    ends: &EndPoints,
    coast: &[f64],
    (cells, workspaces): (usize, &Workspaces),
) -> Result<Tube, Refusal> {
    let Setting { robot, set, start, duration_s, held, .. } = *setting;
    let (mut floors, mut reports): (_, Vec<CellReport>) = (FloorFit::new(robot), vec![]);
    let corner = |x: f64| -> Joints<f64> { coast.iter().map(|_| x).collect() };
    let mut all: Option<Tube> = None;
    for k in [&coast.iter().copied().collect(), &corner(1.0), &corner(-1.0)] {
        let curve = curve_to(start, &ends.at(k), duration_s)?;
        let mut tube = tube_fit::initial(robot);
        let place = (workspaces, &mut floors, &mut reports);
        tube_fit::refit(robot, set, (&curve).into(), &mut tube, (cells / 2, held), place)?;
        match &mut all {
            None => all = Some(tube),
            // What asks too much at the rim must not spoil the middle.
            Some(all) if tube_fit::is_usable(&tube) => cover(all, &tube),
            Some(_) => {}
        }
    }
    all.ok_or_else(|| Refusal::Unsupported("no trajectory is on offer".to_owned()))
}

fn curve_to(start: &JointState, end: &[f64], duration_s: f64) -> Result<Bezier, Refusal> {
    Bezier::to_rest(start, end, duration_s).map_err(|error| Refusal::Unsupported(error.to_string()))
}

/// Makes the constants of `tube` hold wherever those of `other` do.
fn cover(tube: &mut Tube, other: &Tube) {
    let raise = |have: &mut [f64], need: &[f64]| have.iter_mut().zip(need).for_each(|(a, b)| *a = a.max(*b));
    let lower = |have: &mut [f64], need: &[f64]| have.iter_mut().zip(need).for_each(|(a, b)| *a = a.min(*b));
    lower(&mut tube.inertia_floor, &other.inertia_floor);
    lower(&mut tube.lag_floor, &other.lag_floor);
    raise(&mut tube.drift_nm, &other.drift_nm);
    raise(&mut tube.acceleration_bound, &other.acceleration_bound);
    tube.hold_power_w = tube.hold_power_w.max(other.hold_power_w);
    tube.energy_slack_j = tube.energy_slack_j.max(other.energy_slack_j);
}

#[cfg(test)]
mod tests;
