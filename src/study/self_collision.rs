//! Which links of a robot keep a distance from each other while motions are searched for, and how near they come.
//!
//! Links are the capsules of the robot's file. Bodies that a joint joins share a housing about it, and pairs that overlap where a motion starts do so by their build: both are left out, the latter
//! by name, and so is what the robot's file ignores. Bodies that two joints join may be nearer to each other by their build than they are asked to be: such a pair keeps a share of the distance that it
//! starts with. Distances are those of plain arithmetic at one configuration; nothing is proven.

use serde::Serialize;

use crate::robot::{Capsule, IgnoredPair, LinkShape, Model, Placement, between_capsules};

/// What pairs that two joints join keep of their distance at the start, where that is less than they are asked for.
const NEAR_BY_BUILD: f64 = 0.8;

/// The pairs of capsules that are kept apart.
#[derive(Debug, Clone)]
pub(super) struct SelfCollision {
    shapes: Vec<LinkShape>,
    pairs: Vec<(usize, usize)>,
    /// What each pair keeps, m.
    least_m: Vec<f64>,
    /// Pairs that keep less than they are asked for.
    near_by_build: Vec<(f64, [String; 2])>,
    left_out: Vec<[String; 2]>,
    frames: Vec<Placement>,
    placed: Vec<Capsule>,
}

/// How near a pair is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Nearest {
    /// Its distance by the one that it keeps: below 1 it is too near; infinite without a pair.
    pub room: f64,
    distance_m: f64,
    pair: Option<(usize, usize)>,
}

impl Nearest {
    /// Of no pair.
    pub const NONE: Self = Self { room: f64::INFINITY, distance_m: f64::INFINITY, pair: None };

    /// The one with less room; what is no number is worst.
    pub fn or(self, other: Self) -> Self {
        if self.room.is_nan() || other.room >= self.room { self } else { other }
    }
}

/// What was looked at, and how near links come.
#[derive(Debug, Clone, Serialize)]
pub struct SelfCollisionReport {
    /// Pairs of capsules that were looked at; 0 if the robot's file has no shapes.
    pub pairs: usize,
    /// Pairs that were not, because they overlap at the start.
    pub overlap_at_start: Vec<[String; 2]>,
    /// Pairs that keep less than they are asked for, as two joints join them and they start nearer; and how much, m.
    pub near_by_build: Vec<(f64, [String; 2])>,
    /// The distance, m, of the pair that comes nearest by what it keeps; nothing without pairs.
    pub nearest: Option<(f64, [String; 2])>,
}

impl SelfCollision {
    /// Nothing that is looked at.
    pub fn none() -> Self {
        Self {
            shapes: vec![],
            pairs: vec![],
            least_m: vec![],
            near_by_build: vec![],
            left_out: vec![],
            frames: vec![],
            placed: vec![],
        }
    }

    /// Of these shapes of the robot, for motions from `start` (length nq) along which pairs are to keep `least_m`.
    pub fn new(
        robot: &Model,
        (shapes, ignored): (&[LinkShape], &[IgnoredPair]),
        start: &[f64],
        least_m: f64,
    ) -> Self {
        let count = shapes.len();
        let mut own = Self { shapes: shapes.to_vec(), ..Self::none() };
        own.place(robot, start);
        for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
            let said = ignored.iter().any(|pair| [(pair.a, pair.b), (pair.b, pair.a)].contains(&(a, b)));
            if said || robot.adjacent(shapes[a].joint, shapes[b].joint) {
                continue;
            }
            let distance = between_capsules(&own.placed[a], &own.placed[b]);
            let kept = NEAR_BY_BUILD * distance;
            if distance <= 0.0 {
                own.left_out.push(own.names((a, b)));
                continue;
            }
            let near = kept < least_m && two_joints_join(robot, shapes[a].joint, shapes[b].joint);
            if near {
                own.near_by_build.push((kept, own.names((a, b))));
            }
            own.pairs.push((a, b));
            own.least_m.push(if near { kept } else { least_m });
        }
        own
    }

    /// Whether there are pairs to look at.
    pub fn looks(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The same, of the pairs of which one hangs on a joint of these (ascending).
    pub fn of_joints(&self, joints: &[usize]) -> Self {
        let own = |shape: usize| self.shapes[shape].joint.is_some_and(|j| joints.binary_search(&j).is_ok());
        let kept = self.pairs.iter().zip(&self.least_m).filter(|((a, b), _)| own(*a) || own(*b));
        let (pairs, least_m) = kept.map(|(pair, least)| (*pair, *least)).unzip();
        Self { pairs, least_m, ..self.clone() }
    }

    fn names(&self, (a, b): (usize, usize)) -> [String; 2] {
        [a, b].map(|shape| self.shapes[shape].name.clone())
    }

    fn place(&mut self, robot: &Model, q: &[f64]) {
        if self.shapes.is_empty() {
            return;
        }
        robot.frames_into(q, &mut self.frames);
        self.placed.clear();
        let base = Placement::identity();
        let placed = |shape: &LinkShape| shape.capsule.placed(shape.joint.map_or(&base, |j| &self.frames[j]));
        self.placed.extend(self.shapes.iter().map(placed));
    }

    /// The pair that is nearest at `q` by what it keeps.
    pub fn nearest(&mut self, robot: &Model, q: &[f64]) -> Nearest {
        self.place(robot, q);
        self.each().fold(Nearest::NONE, Nearest::or)
    }

    /// How near each pair is at the last configuration.
    fn each(&self) -> impl Iterator<Item = Nearest> + '_ {
        self.pairs.iter().zip(&self.least_m).map(|(&(a, b), least_m)| {
            let distance_m = between_capsules(&self.placed[a], &self.placed[b]);
            Nearest { room: distance_m / least_m, distance_m, pair: Some((a, b)) }
        })
    }

    /// The distances of all pairs at `q` by those that they keep, in their order, into `rooms` in place of what it holds.
    pub fn rooms_into(&mut self, robot: &Model, q: &[f64], rooms: &mut Vec<f64>) {
        self.place(robot, q);
        rooms.clear();
        rooms.extend(self.each().map(|pair| pair.room));
    }

    /// What is told of a motion whose nearest pair is this.
    pub fn told(&self, nearest: Nearest) -> SelfCollisionReport {
        SelfCollisionReport {
            pairs: self.pairs.len(),
            overlap_at_start: self.left_out.clone(),
            near_by_build: self.near_by_build.clone(),
            nearest: nearest.pair.map(|pair| (nearest.distance_m, self.names(pair))),
        }
    }
}

/// Whether some body is a neighbour of both.
fn two_joints_join(robot: &Model, a: Option<usize>, b: Option<usize>) -> bool {
    let mut bodies = std::iter::once(None).chain((0..robot.bodies()).map(Some));
    bodies.any(|between| robot.adjacent(a, between) && robot.adjacent(between, b))
}

#[cfg(all(test, feature = "urdf"))]
mod tests {
    use super::*;
    use crate::robot::configuration::neutral;
    use crate::robot::{LinkedModel, load_model_with_shapes};

    fn go1() -> (Model, Vec<LinkShape>, Vec<f64>) {
        let LinkedModel { model: robot, shapes, .. } = load_model_with_shapes("go1").unwrap();
        let mut start = neutral(&robot);
        (0..4).for_each(|leg| start[7 + 3 * leg..10 + 3 * leg].copy_from_slice(&[0.0, 0.8, -1.6]));
        (robot, shapes, start)
    }

    /// Points of both segments by brute force.
    #[test]
    fn distances_are_those_of_the_nearest_points() {
        let (robot, shapes, start) = go1();
        let mut links = SelfCollision::new(&robot, (&shapes, &[]), &start, 0.01);
        for turn in [0.0, -0.2, -0.4] {
            let mut q = start.clone();
            // The front left leg swings inwards, with its calf.
            q[7] = turn;
            let Nearest { distance_m: distance, pair, .. } = links.nearest(&robot, &q);
            let frames = robot.frames(&q);
            let points = |shape: &LinkShape| -> Vec<_> {
                let capsule = shape.capsule.placed(&frames[shape.joint.unwrap()]);
                (0..=200).map(|k| capsule.a + (capsule.b - capsule.a) * (f64::from(k) / 200.0)).collect()
            };
            let mut least = f64::INFINITY;
            for &(a, b) in &links.pairs {
                let gap = shapes[a].capsule.radius + shapes[b].capsule.radius;
                for x in points(&shapes[a]) {
                    for y in points(&shapes[b]) {
                        least = least.min((x - y).norm() - gap);
                    }
                }
            }
            assert!(least >= distance - 1e-9 && least - distance < 2e-3, "{turn}: {distance} {least}");
            assert!(pair.is_some());
        }
    }

    #[test]
    fn legs_that_cross_are_found_by_name() {
        let (robot, shapes, start) = go1();
        let mut links = SelfCollision::new(&robot, (&shapes, &[]), &start, 0.01);
        assert!(links.nearest(&robot, &start).room > 1.0);
        let mut q = start;
        (q[7], q[10]) = (-0.7, 0.7);
        let found = links.nearest(&robot, &q);
        let (distance, pair) = links.told(found).nearest.unwrap();
        assert!(distance < 0.0 && pair.iter().all(|name| name.starts_with('F')), "{distance} {pair:?}");
    }

    #[test]
    fn what_a_file_ignores_is_not_looked_at() {
        let (robot, shapes, start) = go1();
        let all = SelfCollision::new(&robot, (&shapes, &[]), &start, 0.01);
        // Given the other way round.
        let (a, b) = all.pairs[3];
        let ignored = IgnoredPair { a: b, b: a, reason: "cables".to_owned() };
        let links = SelfCollision::new(&robot, (&shapes, &[ignored]), &start, 0.01);
        assert_eq!(links.pairs.len() + 1, all.pairs.len());
        assert!(!links.pairs.contains(&(a, b)));
    }

    /// Trunk and thighs of a B1, two joints apart, keep what they can of a clearance that they do not have; pairs of different legs have no such excuse.
    #[test]
    fn what_is_near_by_its_build_keeps_a_share_and_is_named() {
        let LinkedModel { model: robot, shapes, .. } = load_model_with_shapes("b1").unwrap();
        let mut start = neutral(&robot);
        (0..4).for_each(|leg| start[7 + 3 * leg..10 + 3 * leg].copy_from_slice(&[0.0, 0.8, -1.6]));
        let of = |least_m| SelfCollision::new(&robot, (&shapes, &[]), &start, least_m);
        let mut fine = of(0.01);
        assert!(fine.told(Nearest::NONE).near_by_build.is_empty() && fine.nearest(&robot, &start).room > 1.0);
        let distance = fine.nearest(&robot, &start).distance_m;
        // Nearer than is asked for, the nearest pair keeps 0.8 of its distance; without that rule it would be too near at once.
        let mut links = of(1.5 * distance);
        let told = links.told(Nearest::NONE).near_by_build;
        assert!(told.iter().any(|(_, [a, b])| a == "trunk" && b.ends_with("thigh")), "{told:?}");
        assert!(told.iter().any(|(kept, _)| (kept - 0.8 * distance).abs() < 1e-12), "{told:?} {distance}");
        assert!((links.nearest(&robot, &start).room - 1.25).abs() < 1e-9);
        // Half a metre is more than legs have between them.
        let mut links = of(0.5);
        assert!(links.nearest(&robot, &start).room < 1.0);
        let crosses = |a: &str, b: &str| a.ends_with("calf") && b.ends_with("calf");
        assert!(links.told(Nearest::NONE).near_by_build.iter().all(|(_, [a, b])| !crosses(a, b)));
    }

    /// What is no number is too near.
    #[test]
    fn what_is_no_number_is_nearest() {
        let one = Nearest { room: f64::NAN, distance_m: f64::NAN, pair: Some((0, 1)) };
        assert!(one.or(Nearest::NONE).room.is_nan() && Nearest::NONE.or(one).room.is_nan());
        let (far, near) = (Nearest { room: 2.0, ..Nearest::NONE }, Nearest { room: 1.0, ..Nearest::NONE });
        assert_eq!((far.or(near).room, near.or(far).room), (1.0, 1.0));
    }

    #[test]
    fn what_overlaps_by_its_build_is_named_and_left_out() {
        let (robot, mut shapes, start) = go1();
        let trunk = shapes.iter_mut().find(|shape| shape.name == "trunk").unwrap();
        trunk.capsule.radius = 0.2;
        let links = SelfCollision::new(&robot, (&shapes, &[]), &start, 0.01);
        let told = links.told(Nearest::NONE);
        assert!(told.overlap_at_start.iter().any(|pair| pair[0] == "trunk" && pair[1].ends_with("thigh")));
        assert!(told.nearest.is_none() && told.pairs > 20);
        assert_eq!(SelfCollision::new(&robot, (&[], &[]), &start, 0.01).told(Nearest::NONE).pairs, 0);
    }
}
