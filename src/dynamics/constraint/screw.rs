//! Bodies' motions in axes of the base frame, and how they change with configuration and velocity.
//!
//! Spatial vectors are taken about one fixed point, so that nothing has to be moved between bodies: the origin of the base
//! frame, or of a floating robot the point where its root body is, so that no accuracy is lost far from the origin.
//!
//! With the twist S_k of unit speed of degree of freedom k, V and A the spatial velocity and
//! acceleration of a body, p(j) the body that the joint of j hangs on, b(j) the one that it moves:
//!
//! ```text
//! V   = sum_k S_k v_k             dV/dv_j = S_j     dV/dq_j = S_j x (V - V_p(j))
//! A   = sum_k S_k a_k + dS_k/dt v_k,                dS_k/dt = V_b(k) x S_k
//! dA/dv_j = S_j x (V - V_p(j)) + V_b(j) x S_j
//! dA/dq_j = S_j x (A - A_p(j)) + (V_p(j) x S_j) x (V - V_p(j))
//! ```
//!
//! for the j that carry the body, and zero for others (sums over those k). They follow from dS_k/dq_j = S_j x S_k for
//! every k that j carries: moving j moves everything behind it as one rigid body. The same holds among the six degrees
//! of freedom of a free flyer, whose derivatives are taken along its body-fixed tangent. "x" is the cross product of
//! twists, and the last line is the Jacobi identity.

use nalgebra::{Matrix3, Vector3};

use crate::robot::{JointKind, Model, Placement, pose};

/// A spatial motion vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Twist {
    /// Angular part.
    pub w: Vector3<f64>,
    /// Linear part: of the body-fixed point at the point of reference.
    pub v: Vector3<f64>,
}

impl Twist {
    const ZERO: Self = Self { w: Vector3::new(0.0, 0.0, 0.0), v: Vector3::new(0.0, 0.0, 0.0) };

    /// `self` x `other`: how `other` changes when carried along by `self`.
    #[inline]
    pub fn cross(&self, other: &Self) -> Self {
        Self { w: self.w.cross(&other.w), v: self.w.cross(&other.v) + self.v.cross(&other.w) }
    }

    #[inline]
    pub fn minus(&self, other: &Self) -> Self {
        Self { w: self.w - other.w, v: self.v - other.v }
    }

    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        Self { w: self.w + other.w, v: self.v + other.v }
    }

    #[inline]
    fn add_scaled(&mut self, other: &Self, factor: f64) {
        self.w += other.w * factor;
        self.v += other.v * factor;
    }

    /// The linear part at point `p`.
    #[inline]
    pub fn at(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.v + self.w.cross(p)
    }
}

/// A moment about the point of reference, and a force.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub n: Vector3<f64>,
    pub f: Vector3<f64>,
}

impl Load {
    /// Power on a twist.
    #[inline]
    pub fn dot(&self, s: &Twist) -> f64 {
        self.n.dot(&s.w) + self.f.dot(&s.v)
    }

    /// How the load changes when carried along by `s`.
    #[inline]
    pub fn carried(&self, s: &Twist) -> Self {
        Self { n: s.w.cross(&self.n) + s.v.cross(&self.f), f: s.w.cross(&self.f) }
    }
}

/// Position, velocity and acceleration of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body {
    pub pose: Placement,
    pub velocity: Twist,
    pub acceleration: Twist,
}

impl Body {
    const fn at_rest(pose: Placement) -> Self {
        Self { pose, velocity: Twist::ZERO, acceleration: Twist::ZERO }
    }
}

/// Unit twists of all degrees of freedom, motions of all bodies, and the tree over degrees of freedom.
#[derive(Debug, Clone)]
pub(super) struct Screws {
    /// S_k.
    pub unit: Vec<Twist>,
    /// Joint of each degree of freedom.
    pub joint: Vec<usize>,
    /// The degree of freedom before each one on the way to the base; a free flyer's six are a chain.
    parent: Vec<Option<usize>>,
    base: Body,
    bodies: Vec<Body>,
    /// Last degree of freedom of each joint.
    last: Vec<usize>,
}

impl Screws {
    pub fn new(robot: &Model) -> Self {
        let n = robot.nv();
        let mut screws = Self {
            unit: vec![Twist::ZERO; n],
            joint: Vec::with_capacity(n),
            parent: Vec::with_capacity(n),
            base: Body::at_rest(Placement::identity()),
            bodies: vec![Body::at_rest(Placement::identity()); robot.bodies()],
            last: Vec::with_capacity(robot.bodies()),
        };
        for (i, joint) in robot.joints.iter().enumerate() {
            let mut parent = joint.parent.map(|p| screws.last[p]);
            for k in robot.v_index(i)..robot.v_index(i) + joint.kind.nv() {
                screws.joint.push(i);
                screws.parent.push(parent);
                parent = Some(k);
            }
            screws.last.push(robot.v_index(i) + joint.kind.nv() - 1);
        }
        screws
    }

    /// Degrees of freedom that move the body of `joint` (none for the base), from it to the base.
    #[inline]
    pub fn support(&self, joint: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(joint.map(|j| self.last[j]), |&k| self.parent[k])
    }

    /// Motion of the body that `joint` moves, or of the base; positions are from the point of reference.
    #[inline]
    pub fn body(&self, joint: Option<usize>) -> Body {
        joint.map_or(self.base, |j| self.bodies[j])
    }

    /// Fills everything for configuration `q` (length nq), velocity and acceleration (length nv).
    pub fn sweep(&mut self, robot: &Model, q: &[f64], velocity: &[f64], acceleration: &[f64]) {
        if robot.has_free_flyer() {
            self.base.pose.translation = -Vector3::new(q[0], q[1], q[2]);
        }
        for (i, joint) in robot.joints.iter().enumerate() {
            let parent = self.body(joint.parent);
            let seat = parent.pose.compose(&joint.placement);
            let pose = seat.compose(&pose::motion(joint.kind, &q[robot.q_index(i)..]));
            let first = robot.v_index(i);
            self.fill_units(joint.kind, first, &pose);
            let (mut own, mut push) = (Twist::ZERO, Twist::ZERO);
            for k in first..first + joint.kind.nv() {
                own.add_scaled(&self.unit[k], velocity[k]);
                push.add_scaled(&self.unit[k], acceleration[k]);
            }
            let body = parent.velocity.plus(&own);
            let swing = body.cross(&own);
            let rate = parent.acceleration.plus(&push).plus(&swing);
            self.bodies[i] = Body { pose, velocity: body, acceleration: rate };
        }
    }

    fn fill_units(&mut self, kind: JointKind, first: usize, pose: &Placement) {
        let (r, p) = (&pose.rotation, &pose.translation);
        let along = |axis: usize| Twist { w: Vector3::zeros(), v: r.column(axis).into_owned() };
        let about = |axis: usize| {
            let w: Vector3<f64> = r.column(axis).into_owned();
            Twist { w, v: p.cross(&w) }
        };
        match kind {
            JointKind::Revolute | JointKind::Continuous => self.unit[first] = about(2),
            JointKind::Prismatic => self.unit[first] = along(2),
            JointKind::FreeFlyer => {
                for axis in 0..3 {
                    self.unit[first + axis] = along(axis);
                    self.unit[first + 3 + axis] = about(axis);
                }
            }
        }
    }

    /// Derivatives of the motion of the body of a joint that `j` carries, to q_j and v_j.
    #[inline]
    pub fn slopes(&self, robot: &Model, body: &Body, j: usize) -> Slopes {
        let (s, moved) = (&self.unit[j], self.joint[j]);
        let (before, here) = (self.body(robot.joints[moved].parent), &self.bodies[moved]);
        let relative = body.velocity.minus(&before.velocity);
        let velocity = s.cross(&relative);
        let swing = before.velocity.cross(s);
        Slopes {
            velocity_by_q: velocity,
            acceleration_by_q: s
                .cross(&body.acceleration.minus(&before.acceleration))
                .plus(&swing.cross(&relative)),
            acceleration_by_v: velocity.plus(&here.velocity.cross(s)),
        }
    }
}

/// Columns of the derivatives of a body's V and A to one degree of freedom.
pub(super) struct Slopes {
    pub velocity_by_q: Twist,
    pub acceleration_by_q: Twist,
    pub acceleration_by_v: Twist,
}

/// A point of a body: where it is and how it moves.
pub(super) struct Point {
    pub body: Body,
    pub at: Vector3<f64>,
    pub axes: Matrix3<f64>,
    /// Velocity of the point.
    pub velocity: Vector3<f64>,
    /// Its acceleration (classical: the second derivative of its position).
    pub acceleration: Vector3<f64>,
}

/// Derivatives of a point's position, velocity and acceleration, and of the body's angular ones, to one degree of
/// freedom.
pub(super) struct PointSlopes {
    pub unit: Twist,
    /// Of the position to q, of the velocity to v, of the acceleration to a: the Jacobian's column.
    pub position: Vector3<f64>,
    pub velocity_by_q: Vector3<f64>,
    pub spin_by_q: Vector3<f64>,
    pub acceleration_by_q: Vector3<f64>,
    pub spin_rate_by_q: Vector3<f64>,
    pub acceleration_by_v: Vector3<f64>,
    pub spin_rate_by_v: Vector3<f64>,
}

impl Point {
    /// The origin of a frame that is fixed to the body of `joint`.
    pub fn new(screws: &Screws, joint: Option<usize>, frame: &Placement) -> Self {
        let body = screws.body(joint);
        let pose = body.pose.compose(frame);
        let at = pose.translation;
        let velocity = body.velocity.at(&at);
        let acceleration = body.acceleration.at(&at) + body.velocity.w.cross(&velocity);
        Self { body, at, axes: pose.rotation, velocity, acceleration }
    }

    /// Derivatives to degree of freedom `j`, which carries the body.
    #[inline]
    pub fn slopes(&self, robot: &Model, screws: &Screws, j: usize) -> PointSlopes {
        let unit = screws.unit[j];
        let by = screws.slopes(robot, &self.body, j);
        let (p, spin) = (&self.at, &self.body.velocity.w);
        let position = unit.at(p);
        let velocity_by_q = by.velocity_by_q.at(p) + spin.cross(&position);
        PointSlopes {
            unit,
            position,
            velocity_by_q,
            spin_by_q: by.velocity_by_q.w,
            acceleration_by_q: by.acceleration_by_q.at(p)
                + self.body.acceleration.w.cross(&position)
                + by.velocity_by_q.w.cross(&self.velocity)
                + spin.cross(&velocity_by_q),
            spin_rate_by_q: by.acceleration_by_q.w,
            acceleration_by_v: by.acceleration_by_v.at(p)
                + unit.w.cross(&self.velocity)
                + spin.cross(&position),
            spin_rate_by_v: by.acceleration_by_v.w,
        }
    }
}
