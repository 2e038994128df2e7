//! Where the robot's capsules are, and how far they are from boxes and from each other, in plain floating point.
//!
//! For proposals only: the certifier has its own enclosures. Distances are signed (negative: penetration) and come
//! with the closest points and the direction along which the link leaves the obstacle, so that the direction times
//! the velocity of the closest point is the distance's rate of change.

use crate::dynamics::{BodyPlacement, Motion, placements};
use crate::robot::{Capsule, LinkShape, Robot};
use nalgebra::{Matrix3, Vector3};
use thiserror::Error;

/// Below this length (metres) two points are taken to coincide and another direction is chosen.
const COINCIDENT: f64 = 1e-12;

/// A shape that can't be used.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum GeometryError {
    /// A generator or centre with a non-finite entry.
    #[error("box with centre {centre:?} and generators {generators:?}: expected finite numbers")]
    NotFinite {
        /// Centre as given.
        centre: [f64; 3],
        /// Generators as given.
        generators: [[f64; 3]; 3],
    },
    /// Generators that are not orthogonal to each other.
    #[error("box generators {first} and {second}: expected a right angle, found a cosine of {cosine:.3e}")]
    NotOrthogonal {
        /// Index of one generator.
        first: usize,
        /// Index of the other.
        second: usize,
        /// Cosine of the angle between them.
        cosine: f64,
    },
}

/// The set centre + x u_1 + y u_2 + z u_3 with |x| <= half_1 and so on; metres, base frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrientedBox {
    centre: Vector3<f64>,
    /// Columns are the unit axes.
    axes: Matrix3<f64>,
    half: Vector3<f64>,
}

impl OrientedBox {
    /// The zonotope of three mutually orthogonal generators (a generator of length zero makes a flat box).
    ///
    /// # Errors
    /// [`GeometryError`] for non-finite numbers, or generators further than 1e-6 from orthogonal.
    pub fn new(centre: Vector3<f64>, generators: [Vector3<f64>; 3]) -> Result<Self, GeometryError> {
        if !(centre.iter().all(|x| x.is_finite()) && generators.iter().all(|g| g.norm().is_finite())) {
            let generators = generators.map(Into::into);
            return Err(GeometryError::NotFinite { centre: centre.into(), generators });
        }
        let half = generators.map(|g| g.norm());
        for (first, second) in [(0, 1), (0, 2), (1, 2)] {
            let product = half[first] * half[second];
            if product > 0.0 {
                let cosine = generators[first].dot(&generators[second]) / product;
                if cosine.abs() > 1e-6 {
                    return Err(GeometryError::NotOrthogonal { first, second, cosine });
                }
            }
        }
        Ok(Self { centre, axes: frame(&generators, &half), half: Vector3::from(half) })
    }

    /// The box's coordinates of a point.
    fn local(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.axes.tr_mul(&(p - self.centre))
    }
}

/// Orthonormal axes along the generators; a generator without length gets what the others leave.
fn frame(generators: &[Vector3<f64>; 3], half: &[f64; 3]) -> Matrix3<f64> {
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| half[b].total_cmp(&half[a]));
    let [i, j, _] = order;
    let first = if half[i] > 0.0 { generators[i] / half[i] } else { Vector3::x() };
    let second = if half[j] > 0.0 { generators[j] / half[j] } else { perpendicular(&first) };
    let second = (second - first * first.dot(&second)).normalize();
    let mut axes = Matrix3::zeros();
    axes.set_column(i, &first);
    axes.set_column(j, &second);
    axes.set_column(order[2], &first.cross(&second));
    axes
}

/// A unit vector at a right angle to `v`.
fn perpendicular(v: &Vector3<f64>) -> Vector3<f64> {
    let other = if v.x.abs() < 0.6 * v.norm() { Vector3::x() } else { Vector3::y() };
    v.cross(&other).try_normalize(0.0).unwrap_or(Vector3::z())
}

/// How far two shapes are from each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proximity {
    /// Signed distance, metres; negative when the shapes overlap.
    pub distance: f64,
    /// Point of the link's axis (segment) that is nearest to, or deepest in, the other shape.
    pub on_link: Vector3<f64>,
    /// Nearest point of the other shape (of its axis, where it is a capsule).
    pub on_other: Vector3<f64>,
    /// Unit vector from the other shape to the link.
    pub direction: Vector3<f64>,
}

/// Signed distance of a capsule from a box.
///
/// Outside, the Euclidean distance. Where the axis enters the box, minus the depth of its deepest point, less the
/// radius: continuous, negative exactly when the shapes overlap by more than a touch, and no greater than zero then.
pub fn capsule_box(capsule: &Capsule, obstacle: &OrientedBox) -> Proximity {
    let (a, b) = (obstacle.local(&capsule.a), obstacle.local(&capsule.b));
    let ab = b - a;
    let p = a + ab * nearest_outside(&a, &ab, &obstacle.half);
    let q = Vector3::from_fn(|i, _| p[i].clamp(-obstacle.half[i], obstacle.half[i]));
    let gap = (p - q).norm();
    let (distance, p, q, direction) = if gap > COINCIDENT {
        (gap, p, q, (p - q) / gap)
    } else {
        let (s, axis, sign) = deepest_inside(&a, &ab, &obstacle.half);
        let p = a + ab * s;
        let mut q = p;
        q[axis] = sign * obstacle.half[axis];
        let direction = Vector3::from_fn(|i, _| if i == axis { sign } else { 0.0 });
        (sign * p[axis] - obstacle.half[axis], p, q, direction)
    };
    let world = |x: Vector3<f64>| obstacle.centre + obstacle.axes * x;
    Proximity {
        distance: distance - capsule.radius,
        on_link: world(p),
        on_other: world(q),
        direction: obstacle.axes * direction,
    }
}

/// The s in \[0, 1\] where a + s ab is nearest to the box, by the squared distance's derivative: piecewise linear and
/// increasing in s, with kinks where a coordinate passes a face.
fn nearest_outside(a: &Vector3<f64>, ab: &Vector3<f64>, half: &Vector3<f64>) -> f64 {
    let slope = |s: f64| -> f64 {
        let beyond = |i: usize| {
            let p = a[i] + s * ab[i];
            p - p.clamp(-half[i], half[i])
        };
        (0..3).map(|i| beyond(i) * ab[i]).sum()
    };
    if slope(0.0) >= 0.0 {
        return 0.0;
    }
    if slope(1.0) <= 0.0 {
        return 1.0;
    }
    // Between the last kink with a negative slope and the first with a positive one, the slope is linear.
    let (mut left, mut right) = ((0.0, slope(0.0)), (1.0, slope(1.0)));
    for i in 0..3 {
        for face in [-half[i], half[i]] {
            let s = (face - a[i]) / ab[i];
            if s > left.0 && s < right.0 {
                let value = slope(s);
                if value < 0.0 { left = (s, value) } else { right = (s, value) }
            }
        }
    }
    left.0 + (right.0 - left.0) * left.1 / (left.1 - right.1)
}

/// Where a + s ab lies deepest in the box: (s, axis, side) of the face that is nearest there. The depth is the upper
/// envelope of six lines; its minimum is at an end or where two lines meet.
fn deepest_inside(a: &Vector3<f64>, ab: &Vector3<f64>, half: &Vector3<f64>) -> (f64, usize, f64) {
    let faces = [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0), (2, -1.0)];
    let line = |(i, sign): (usize, f64)| (sign * a[i] - half[i], sign * ab[i]);
    let envelope = |s: f64| {
        let value = |f: (usize, f64)| line(f).0 + s * line(f).1;
        let mut best = (value(faces[0]), faces[0]);
        for &f in &faces[1..] {
            if value(f) > best.0 {
                best = (value(f), f);
            }
        }
        best
    };
    let mut best = (0.0, envelope(0.0));
    let mut offer = |s: f64| {
        if (0.0..=1.0).contains(&s) {
            let found = envelope(s);
            if found.0 < best.1.0 {
                best = (s, found);
            }
        }
    };
    offer(1.0);
    for (k, &f) in faces.iter().enumerate() {
        for &g in &faces[k + 1..] {
            let ((c, m), (d, l)) = (line(f), line(g));
            offer((d - c) / (m - l));
        }
    }
    (best.0, best.1.1.0, best.1.1.1)
}

/// Signed distance of two capsules; `link` is the one that the direction points to.
pub fn capsule_capsule(link: &Capsule, other: &Capsule) -> Proximity {
    let (p, q) = closest_on_segments(link, other);
    let gap = (p - q).norm();
    let direction = if gap > COINCIDENT {
        (p - q) / gap
    } else {
        let across = (link.b - link.a).cross(&(other.b - other.a));
        across.try_normalize(COINCIDENT).unwrap_or_else(|| perpendicular(&(link.b - link.a)))
    };
    Proximity { distance: gap - link.radius - other.radius, on_link: p, on_other: q, direction }
}

/// Closest points of the two axes: the unconstrained minimum when it lies in both, otherwise the best of the four
/// end points against the other axis.
fn closest_on_segments(one: &Capsule, two: &Capsule) -> (Vector3<f64>, Vector3<f64>) {
    let (u, v, w) = (one.b - one.a, two.b - two.a, one.a - two.a);
    let (uu, uv, vv) = (u.norm_squared(), u.dot(&v), v.norm_squared());
    let determinant = uu * vv - uv * uv;
    if determinant > 1e-12 * uu * vv {
        let (uw, vw) = (u.dot(&w), v.dot(&w));
        let (s, t) = ((uv * vw - vv * uw) / determinant, (uu * vw - uv * uw) / determinant);
        if (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t) {
            return (one.a + u * s, two.a + v * t);
        }
    }
    let ends = [
        (one.a, closest_on_segment(two, &one.a)),
        (one.b, closest_on_segment(two, &one.b)),
        (closest_on_segment(one, &two.a), two.a),
        (closest_on_segment(one, &two.b), two.b),
    ];
    let mut best = ends[0];
    for pair in &ends[1..] {
        if (pair.0 - pair.1).norm_squared() < (best.0 - best.1).norm_squared() {
            best = *pair;
        }
    }
    best
}

fn closest_on_segment(segment: &Capsule, p: &Vector3<f64>) -> Vector3<f64> {
    let u = segment.b - segment.a;
    let uu = u.norm_squared();
    let s = if uu > 0.0 { ((p - segment.a).dot(&u) / uu).clamp(0.0, 1.0) } else { 0.0 };
    segment.a + u * s
}

/// Placements of all body frames in the base frame at `q` (rad or m, length n).
pub fn body_frames(robot: &Robot, q: &[f64]) -> Vec<BodyPlacement<f64>> {
    let mut motion = Motion::new(robot);
    motion.place(robot, q);
    let mut frames = vec![BodyPlacement::base(); robot.dof()];
    placements(robot, &motion, &mut frames);
    frames
}

/// The robot's collision capsules in the base frame, in the order of `robot.shapes`, given its [`body_frames`].
pub fn place_capsules(robot: &Robot, frames: &[BodyPlacement<f64>]) -> Vec<Capsule> {
    let place = |shape: &LinkShape| match shape.joint {
        None => shape.capsule,
        Some(joint) => Capsule {
            a: frames[joint].point(&shape.capsule.a).into(),
            b: frames[joint].point(&shape.capsule.b).into(),
            radius: shape.capsule.radius,
        },
    };
    robot.shapes.iter().map(place).collect()
}

/// What a shape of the robot is closest to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Index into the obstacles.
    Obstacle(usize),
    /// Index into `robot.shapes`.
    Shape(usize),
}

/// The tightest place of a configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clearance {
    /// Signed distance, metres.
    pub distance: f64,
    /// Index into `robot.shapes`.
    pub shape: usize,
    /// What it is closest to.
    pub neighbour: Neighbour,
}

/// Smallest signed distance between the robot's moving shapes and the obstacles, and between its own `self_pairs`,
/// at `q` (rad or m, length n); `None` when there is nothing to hit.
pub fn clearance(robot: &Robot, q: &[f64], obstacles: &[OrientedBox]) -> Option<Clearance> {
    let capsules = place_capsules(robot, &body_frames(robot, q));
    let moving = capsules.iter().enumerate().filter(|&(shape, _)| robot.shapes[shape].joint.is_some());
    let outside = moving.flat_map(|(shape, capsule)| {
        obstacles.iter().enumerate().map(move |(i, obstacle)| Clearance {
            distance: capsule_box(capsule, obstacle).distance,
            shape,
            neighbour: Neighbour::Obstacle(i),
        })
    });
    let inside = robot.self_pairs.iter().map(|&(shape, other)| Clearance {
        distance: capsule_capsule(&capsules[shape], &capsules[other]).distance,
        shape,
        neighbour: Neighbour::Shape(other),
    });
    outside.chain(inside).min_by(|a, b| a.distance.total_cmp(&b.distance))
}

#[cfg(test)]
pub(crate) mod tests;
