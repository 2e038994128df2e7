//! Which links of a robot keep a distance from each other while motions are searched for, and how near they come.
//!
//! Links are the capsules of the robot's file. Bodies that a joint joins share a housing about it, and pairs that overlap where a motion starts do so by their build: both are left out, the latter
//! by name, and so is what the robot's file ignores. Distances are those of plain arithmetic at one configuration; nothing is proven.

use serde::Serialize;

use crate::robot::{Capsule, IgnoredPair, LinkShape, Model, Placement, between_capsules};

/// The pairs of capsules that are kept apart.
#[derive(Debug, Clone)]
pub(super) struct SelfCollision {
    shapes: Vec<LinkShape>,
    pairs: Vec<(usize, usize)>,
    left_out: Vec<[String; 2]>,
    frames: Vec<Placement>,
    placed: Vec<Capsule>,
}

/// What was looked at, and how near links come.
#[derive(Debug, Clone, Serialize)]
pub struct SelfCollisionReport {
    /// Pairs of capsules that were looked at; 0 if the robot's file has no shapes.
    pub pairs: usize,
    /// Pairs that were not, because they overlap at the start.
    pub overlap_at_start: Vec<[String; 2]>,
    /// The least distance, m, and between what; nothing without pairs.
    pub nearest: Option<(f64, [String; 2])>,
}

impl SelfCollision {
    /// Nothing that is looked at.
    pub fn none() -> Self {
        Self { shapes: vec![], pairs: vec![], left_out: vec![], frames: vec![], placed: vec![] }
    }

    /// Of these shapes of the robot, for motions from `start` (length nq).
    pub fn new(robot: &Model, (shapes, ignored): (&[LinkShape], &[IgnoredPair]), start: &[f64]) -> Self {
        let count = shapes.len();
        let mut own = Self { shapes: shapes.to_vec(), ..Self::none() };
        own.place(robot, start);
        for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
            let said = ignored.iter().any(|pair| [(pair.a, pair.b), (pair.b, pair.a)].contains(&(a, b)));
            if said || robot.adjacent(shapes[a].joint, shapes[b].joint) {
                continue;
            }
            if between_capsules(&own.placed[a], &own.placed[b]) > 0.0 {
                own.pairs.push((a, b));
            } else {
                own.left_out.push(own.names((a, b)));
            }
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
        let mut part = self.clone();
        part.pairs.retain(|&(a, b)| own(a) || own(b));
        part
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

    /// The least distance of a pair at `q` (m, below zero where they overlap), and the pair; infinite without pairs.
    pub fn nearest(&mut self, robot: &Model, q: &[f64]) -> (f64, Option<(usize, usize)>) {
        self.place(robot, q);
        let distance = |&(a, b): &(usize, usize)| between_capsules(&self.placed[a], &self.placed[b]);
        let all = self.pairs.iter().map(|pair| (distance(pair), Some(*pair)));
        all.fold((f64::INFINITY, None), |best, one| if one.0 < best.0 { one } else { best })
    }

    /// The distances of all pairs at `q`, m, in their order, into `distances` in place of what it holds.
    pub fn distances_into(&mut self, robot: &Model, q: &[f64], distances: &mut Vec<f64>) {
        self.place(robot, q);
        distances.clear();
        let distance = |&(a, b): &(usize, usize)| between_capsules(&self.placed[a], &self.placed[b]);
        distances.extend(self.pairs.iter().map(distance));
    }

    /// What is told of a motion whose nearest pair is this.
    pub fn told(&self, (distance, pair): (f64, Option<(usize, usize)>)) -> SelfCollisionReport {
        SelfCollisionReport {
            pairs: self.pairs.len(),
            overlap_at_start: self.left_out.clone(),
            nearest: pair.map(|pair| (distance, self.names(pair))),
        }
    }
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
        let mut links = SelfCollision::new(&robot, (&shapes, &[]), &start);
        for turn in [0.0, -0.2, -0.4] {
            let mut q = start.clone();
            // The front left leg swings inwards, with its calf.
            q[7] = turn;
            let (distance, pair) = links.nearest(&robot, &q);
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
        let mut links = SelfCollision::new(&robot, (&shapes, &[]), &start);
        assert!(links.nearest(&robot, &start).0 > 0.01);
        let mut q = start;
        (q[7], q[10]) = (-0.7, 0.7);
        let found = links.nearest(&robot, &q);
        let (distance, pair) = links.told(found).nearest.unwrap();
        assert!(distance < 0.0 && pair.iter().all(|name| name.starts_with('F')), "{distance} {pair:?}");
    }

    #[test]
    fn what_a_file_ignores_is_not_looked_at() {
        let (robot, shapes, start) = go1();
        let all = SelfCollision::new(&robot, (&shapes, &[]), &start);
        // Given the other way round.
        let (a, b) = all.pairs[3];
        let ignored = IgnoredPair { a: b, b: a, reason: "cables".to_owned() };
        let links = SelfCollision::new(&robot, (&shapes, &[ignored]), &start);
        assert_eq!(links.pairs.len() + 1, all.pairs.len());
        assert!(!links.pairs.contains(&(a, b)));
    }

    #[test]
    fn what_overlaps_by_its_build_is_named_and_left_out() {
        let (robot, mut shapes, start) = go1();
        let trunk = shapes.iter_mut().find(|shape| shape.name == "trunk").unwrap();
        trunk.capsule.radius = 0.2;
        let links = SelfCollision::new(&robot, (&shapes, &[]), &start);
        let told = links.told((f64::INFINITY, None));
        assert!(told.overlap_at_start.iter().any(|pair| pair[0] == "trunk" && pair[1].ends_with("thigh")));
        assert!(told.nearest.is_none() && told.pairs > 20);
        assert_eq!(SelfCollision::new(&robot, (&[], &[]), &start).told((f64::INFINITY, None)).pairs, 0);
    }
}
