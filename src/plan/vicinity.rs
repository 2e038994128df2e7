//! Obstacles that a plan can come near: the others are left out while it is sought.
//!
//! # Assumed
//! The planner's tubes have no larger errors of position than the sets were made with; [`Vicinity::scene`] looks, and where one has, all
//! obstacles count.
//!
//! # Proven
//! The sets over all of K ([`Places`]) hold the ends of every capsule for every end point on offer, every time and every
//! tracking error, and a capsule's axis is the convex hull of its ends. An obstacle is left out if over every span of time each moving
//! axis is further from it than the capsule's radius, what the obstacle may have moved by ([`crate::reach::moving`]) and `KEEP_M`: by boxes around both (`reach::block`), or along a direction u in which the
//! forms of both ends stay above the obstacle's support. All bounds are rounded outward; |u| is one up to 2^-50, which
//! takes less from a distance than the millimetres that `KEEP_M` holds beyond the solver's largest margin. So no row of it is active at any k.
//!
//! No certificate rests on this: the proof of a plan looks at all obstacles.

use crate::certify::{Body, ConstraintIndex, Shortfall};
use crate::dynamics::vec3::{self, Vec3};
use crate::enclose::{Affine, Counted};
use crate::family::sets::settled;
use crate::family::{Places, TrajectoryFamily};
use crate::reach::block::Block;
use crate::reach::direction::nearest_direction;
use crate::reach::links::{coarsely_clear, zonotope_above};
use crate::reach::moving::{grown, moved_by};
use crate::reach::{Span, Tube, extent};
use crate::robot::{Arm, Scene, Zonotope3};
use crate::scalar::Scalar;

use super::decision::EndPoints;
use super::inertia_floor::armature_floor;
use super::propose::Setting;
use super::tube_fit;

/// What is kept is within this of where a capsule may be, m: more than the largest margin that the solver asks of a row.
const KEEP_M: f64 = 0.03;
/// Fewer obstacles cost less than it does to look for those to leave out.
const FEW: usize = 64;
/// Spans of time that are looked at. All of K is in the last one; finer ones cost more than they leave out.
const SPANS: usize = 4;
/// The planner may shrink the floors of a tube, and with them widen its errors; so much is allowed for. Tubes beyond it see
/// the whole scene, which only costs time.
const ALLOWED: f64 = 1.5;
/// Symbols of the forms: time, two a joint for the errors, and one a joint for k.
const SYMBOLS: usize = 24;

type Form = Affine<SYMBOLS>;

/// The obstacles near the trajectories on offer, in storage that is kept from one proposal to the next.
#[derive(Debug)]
pub struct Vicinity {
    family: TrajectoryFamily,
    places: Places<SYMBOLS>,
    /// The tube with the errors that the sets hold.
    tube: Tube,
    blocks: Vec<Block>,
    weights: Vec<f64>,
    /// Every obstacle, those in `near` hollow, and which these are.
    home: Vec<Zonotope3>,
    taken: Vec<usize>,
    near: Scene,
    narrowed: bool,
}

impl Vicinity {
    /// Storage for `robot`.
    pub fn new(robot: &Arm) -> Self {
        Self {
            family: TrajectoryFamily::still(robot.dof()),
            places: Places::new(robot),
            tube: tube_fit::initial(robot),
            blocks: Vec::new(),
            weights: Vec::new(),
            home: Vec::new(),
            taken: Vec::new(),
            near: Scene::default(),
            narrowed: false,
        }
    }

    /// Looks which obstacles any trajectory from the start to rest at one of `ends` can come near.
    pub fn look(&mut self, setting: &Setting<'_>, ends: &EndPoints) {
        let Setting { robot, set, scene, start, duration_s, held, .. } = *setting;
        self.narrowed = false;
        let many = scene.obstacles.len() >= FEW;
        if !many || self.family.aim(start, (ends.centre(), ends.reach()), duration_s).is_err() {
            return;
        }
        self.gather(scene);
        for (j, floor) in self.tube.lag_floor.iter_mut().enumerate() {
            let own = armature_floor(robot, set.set(), j);
            *floor = held.map_or(own, |held| own.min(held.lag_floor[j])) / ALLOWED;
        }
        let t = |i: usize| duration_s * i as f64 / SPANS as f64;
        // The whole of K is in the later spans: what is near is found there first.
        for i in (0..SPANS).rev() {
            self.take_near(robot, (t(i), t(i + 1)));
        }
        self.taken.sort_unstable();
        for &k in &self.taken {
            let hollow = Zonotope3::still(String::new(), self.home[k].center, vec![]);
            self.near.obstacles.push(std::mem::replace(&mut self.home[k], hollow));
        }
        self.narrowed = true;
    }

    /// What a planner must look at under `tube`: the obstacles near, or all of `whole`, the scene that was looked at.
    pub fn scene<'a>(&'a self, tube: &Tube, whole: &'a Scene) -> &'a Scene {
        let held = |j: usize| tube.e_radius(j) <= self.tube.e_radius(j);
        if self.narrowed && (0..tube.lag_floor.len()).all(held) { &self.near } else { whole }
    }

    /// What fell short in `scene`, one of [`Vicinity::scene`], with the obstacle's index in the whole scene.
    pub fn in_the_whole(&self, scene: &Scene, mut shortfall: Shortfall) -> Shortfall {
        if let ConstraintIndex::Pair(_, Body::Obstacle(k)) = &mut shortfall.place
            && std::ptr::eq(scene, &raw const self.near)
        {
            *k = self.taken[*k];
        }
        shortfall
    }

    /// All obstacles of `scene` at home, none near.
    fn gather(&mut self, scene: &Scene) {
        for (k, obstacle) in self.taken.drain(..).zip(self.near.obstacles.drain(..)) {
            self.home[k] = obstacle;
        }
        if self.home != scene.obstacles {
            self.home.clone_from(&scene.obstacles);
        }
        let count = self.home.len();
        self.taken.reserve(count);
        self.near.obstacles.reserve(count);
        self.blocks.clear();
        self.blocks.extend(self.home.iter().map(Block::around_zonotope));
        let most = self.home.iter().map(|obstacle| obstacle.generators.len()).max();
        self.weights.clear();
        self.weights.reserve(1 + most.unwrap_or(0));
    }

    /// Takes the obstacles that some capsule can come near in the span.
    fn take_near(&mut self, robot: &Arm, span: (f64, f64)) {
        let Self { family, places, tube, blocks, weights, home, taken, .. } = self;
        let n = robot.dof();
        let all_ends = places.over(robot, tube, family, span);
        for (shape, ends) in robot.shapes().iter().zip(all_ends) {
            // A capsule fixed to the base does not move.
            if shape.joint.is_none() {
                continue;
            }
            let radius = shape.capsule.radius;
            let axis = Block::around_axis(&ends.map(|end| end.map(|x| settled(&x, n, None))));
            for (k, obstacle) in home.iter().enumerate() {
                // An obstacle that moves is not kept clear of at rest, but until then.
                let moved = moved_by(obstacle, tube.gains.period_s, Span::Between(span.0, span.1));
                let radius = grown(radius, moved.unwrap_or_default());
                let clear = coarsely_clear(&axis, radius, &blocks[k]).clearance_m > KEEP_M;
                if !clear && !taken.contains(&k) && !stays_beyond(ends, radius + KEEP_M, obstacle, n, weights)
                {
                    taken.push(k);
                }
            }
        }
    }
}

/// Whether both ends stay further than `distance` (m) from an obstacle along the direction that separates their middles from it.
fn stays_beyond(
    ends: &[Vec3<Form>; 2],
    distance: f64,
    obstacle: &Zonotope3,
    dof: usize,
    weights: &mut Vec<f64>,
) -> bool {
    let center: [f64; 3] = obstacle.center.into();
    let generators = obstacle.generators.iter().map(|g| -> &[f64; 3] { g.as_ref() });
    let [a, b] = ends.each_ref().map(|end| end.map(|x| x.center()));
    let (middle, half) = (vec3::times(&vec3::add(&a, &b), 0.5), vec3::times(&vec3::sub(&b, &a), 0.5));
    let u = nearest_direction(vec3::sub(&middle, &center), generators.clone().chain([&half]), weights);
    let along = |end: &Vec3<Form>| {
        let form = end[0].scale(u[0]) + end[1].scale(u[1]) + end[2].scale(u[2]);
        extent::lower(&settled(&form, dof, None))
    };
    let above = zonotope_above::<Counted>(&u, &center, generators);
    // False where something is no number.
    along(&ends[0]).min(along(&ends[1])) - above > distance
}

#[cfg(test)]
mod tests;
