//! Placements, Jacobians and their derivatives of frames that are fixed to bodies.
//!
//! A frame's velocity J v and its rate dJ v + J a have six components, linear before angular. They are seen from one of
//! three places ([`Axes`]). With S, dS, ddS, v, a as in [`mod@super::derivatives`] (here without gravity), moving joint
//! k turns the frame along with its velocity and acceleration; what is left in the frame's own axes is dS_k and
//! ddS_k + dS_k x v. Seen in turned axes the turn e of the frame, e x ., is added.

use crate::robot::{Model, NamedFrame, Placement};

use super::spatial::Spatial;
use super::vec3::{self, Vec3};
use super::workspace::{Link, Workspace, turn_back, turn_by};

/// Where a frame's velocity and acceleration are seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axes {
    /// The frame's own axes and origin. The rate of J v is the spatial acceleration in the frame: linear part
    /// less omega x velocity against the classical one.
    Local,
    /// Axes of the base frame, origin of the frame. The rate of J v is the classical acceleration.
    WorldAligned,
    /// Axes and origin of the base frame: the velocity is that of the point of the body that passes there.
    World,
}

/// Derivatives of a frame's velocity J v and of its rate dJ v + J a: row-major 6 x nv, linear rows first. What is left,
/// d(J v)/dv = d(dJ v + J a)/da, is the Jacobian.
#[derive(Debug, Clone)]
pub struct FrameDerivatives {
    /// J.
    pub jacobian: Vec<f64>,
    /// d(J v)/dq, in tangent space.
    pub velocity_by_q: Vec<f64>,
    /// d(dJ v + J a)/dq, in tangent space.
    pub acceleration_by_q: Vec<f64>,
    /// d(dJ v + J a)/dv.
    pub acceleration_by_v: Vec<f64>,
}

impl FrameDerivatives {
    /// Room for the results; the only allocation.
    pub fn new(robot: &Model) -> Self {
        let blank = vec![0.0; 6 * robot.nv()];
        Self {
            jacobian: blank.clone(),
            velocity_by_q: blank.clone(),
            acceleration_by_q: blank.clone(),
            acceleration_by_v: blank,
        }
    }
}

/// A frame in the root frame, and how vectors are seen from it.
struct View {
    axes: Axes,
    /// Columns of the rotation from the frame to the root frame.
    turn: [Vec3<f64>; 3],
    /// Columns of the rotation from the root frame to the base frame.
    base: [Vec3<f64>; 3],
    /// Point that linear components belong to, in the root frame.
    point: Vec3<f64>,
}

impl View {
    /// A motion vector of the root frame in the view's point and axes.
    fn see(&self, x: &Spatial) -> Spatial {
        let lin = vec3::add(&x.lin, &vec3::cross(&x.ang, &self.point));
        match self.axes {
            Axes::Local => Spatial { lin: turn_back(&self.turn, &lin), ang: turn_back(&self.turn, &x.ang) },
            Axes::WorldAligned | Axes::World => {
                Spatial { lin: turn_by(&self.base, &lin), ang: turn_by(&self.base, &x.ang) }
            }
        }
    }

    /// An angular vector of the root frame in the view's axes.
    fn direction(&self, x: &Vec3<f64>) -> Vec3<f64> {
        if self.axes == Axes::Local { turn_back(&self.turn, x) } else { turn_by(&self.base, x) }
    }
}

/// `turn x` both halves.
fn turned(turn: &Vec3<f64>, x: &Spatial) -> Spatial {
    Spatial { lin: vec3::cross(turn, &x.lin), ang: vec3::cross(turn, &x.ang) }
}

fn write(matrix: &mut [f64], n: usize, column: usize, x: &Spatial) {
    for (r, x) in x.to_array().into_iter().enumerate() {
        matrix[n * r + column] = x;
    }
}

impl Workspace {
    /// Places all bodies at `q`; what the other methods of frames start from.
    pub fn place(&mut self, robot: &Model, q: &[f64]) {
        self.place_links(robot, q);
    }

    /// Places all bodies and gives them velocities and accelerations (of kinematics: without gravity).
    pub fn place_moving(&mut self, robot: &Model, q: &[f64], v: &[f64], a: &[f64]) {
        self.place_links(robot, q);
        self.move_links(robot, v);
        self.accelerate_links(robot, v, a, [0.0; 3]);
        self.second_rates(robot, [0.0; 3]);
    }

    /// Placement of the body of joint `i` in the base frame; after [`Workspace::place`].
    pub fn body_placement(&self, i: usize) -> Placement {
        let link = &self.links[i];
        let axes: [_; 3] = std::array::from_fn(|k| self.to_base(&link.axes[k]));
        let origin = vec3::add(&self.root.origin, &self.to_base(&link.origin));
        super::BodyPlacement { axes, origin }.to_placement()
    }

    /// Placement of a frame in the base frame; after [`Workspace::place`].
    pub fn frame_placement(&self, frame: &NamedFrame) -> Placement {
        frame.joint.map_or(frame.placement, |i| self.body_placement(i).compose(&frame.placement))
    }

    fn view(&self, frame: &NamedFrame, axes: Axes) -> View {
        let rotation = frame.placement.rotation.data.0;
        let shift: Vec3<f64> = frame.placement.translation.into();
        let base = self.root.axes;
        let (turn, origin) = match frame.joint.map(|i| &self.links[i]) {
            Some(link) => (
                rotation.map(|column| turn_by(&link.axes, &column)),
                vec3::add(&link.origin, &turn_by(&link.axes, &shift)),
            ),
            None => (rotation, shift),
        };
        let point = match axes {
            Axes::Local | Axes::WorldAligned => origin,
            Axes::World => turn_back(&base, &self.root.origin).map(|x| -x),
        };
        View { axes, turn, base, point }
    }

    /// Visits the axes that move body `joint`, with their columns and the link that they belong to; a free flyer's six as
    /// (axis, rate of the axis) of the root frame.
    fn each_axis(
        &self,
        robot: &Model,
        joint: Option<usize>,
        mut visit: impl FnMut(usize, Spatial, &Link, bool),
    ) {
        let first = robot.first_actuated();
        let mut next = joint;
        while let Some(j) = next.filter(|&j| j >= first) {
            visit(robot.v_index(j), self.links[j].axis, &self.links[j], false);
            next = self.parents[j];
        }
        if next.is_some() {
            // The way ends at a root body that flies.
            for k in 0..6 {
                visit(k, Spatial::unit(k), &self.links[0], true);
            }
        }
    }

    /// Velocity J v of a frame; after [`Workspace::place_moving`].
    pub fn frame_velocity(&self, frame: &NamedFrame, axes: Axes) -> [f64; 6] {
        let v = frame.joint.map_or(Spatial::ZERO, |i| self.links[i].v);
        self.view(frame, axes).see(&v).to_array()
    }

    /// The rate dJ v + J a of a frame's velocity; after [`Workspace::place_moving`].
    pub fn frame_acceleration(&self, frame: &NamedFrame, axes: Axes) -> [f64; 6] {
        let Some(link) = frame.joint.map(|i| &self.links[i]) else { return [0.0; 6] };
        let view = self.view(frame, axes);
        self.seen_acceleration(link, &view).to_array()
    }

    fn seen_acceleration(&self, link: &Link, view: &View) -> Spatial {
        let mut a = view.see(&link.a);
        if view.axes == Axes::WorldAligned {
            let v = view.see(&link.v);
            a.lin = vec3::add(&a.lin, &vec3::cross(&v.ang, &v.lin));
        }
        a
    }

    /// Jacobian J of a frame, row-major 6 x nv, linear rows first; after [`Workspace::place`].
    pub fn frame_jacobian(&self, robot: &Model, frame: &NamedFrame, axes: Axes, out: &mut [f64]) {
        let (n, view) = (robot.nv(), self.view(frame, axes));
        out.fill(0.0);
        self.each_axis(robot, frame.joint, |column, axis, _, _| write(out, n, column, &view.see(&axis)));
    }

    /// dJ/dt of a frame, row-major 6 x nv; after [`Workspace::place_moving`].
    pub fn frame_jacobian_rate(&self, robot: &Model, frame: &NamedFrame, axes: Axes, out: &mut [f64]) {
        let (n, view) = (robot.nv(), self.view(frame, axes));
        out.fill(0.0);
        let Some(i) = frame.joint else { return };
        let body = self.links[i].v;
        let v = view.see(&body);
        self.each_axis(robot, frame.joint, |column, axis, link, root| {
            let rate = if root { link.v.cross(&axis) } else { link.axis_rate };
            let seen = match axes {
                // The axes of the frame turn and move with the body.
                Axes::Local => view.see(&(rate - body.cross(&axis))),
                Axes::World => view.see(&rate),
                Axes::WorldAligned => {
                    let (mut seen, axis) = (view.see(&rate), view.see(&axis));
                    seen.lin = vec3::add(&seen.lin, &vec3::cross(&axis.ang, &v.lin));
                    seen
                }
            };
            write(out, n, column, &seen);
        });
    }

    /// J and the derivatives of J v and dJ v + J a of a frame; after [`Workspace::place_moving`].
    pub fn frame_derivatives(
        &self,
        robot: &Model,
        frame: &NamedFrame,
        axes: Axes,
        out: &mut FrameDerivatives,
    ) {
        for matrix in [
            &mut out.jacobian,
            &mut out.velocity_by_q,
            &mut out.acceleration_by_q,
            &mut out.acceleration_by_v,
        ] {
            matrix.fill(0.0);
        }
        let Some(i) = frame.joint else { return };
        let (n, view, body) = (robot.nv(), self.view(frame, axes), self.links[i]);
        let (v, a) = (view.see(&body.v), self.seen_acceleration(&body, &view));
        self.each_axis(robot, frame.joint, |column, axis, link, root| {
            // What moving along the axis does in axes that move with the frame.
            let (rate, second) =
                if root { (Spatial::ZERO, Spatial::ZERO) } else { (link.axis_rate, link.axis_second) };
            let (mut by_q, mut acceleration) = (rate, second + rate.cross(&body.v));
            let twice = if root { link.v.cross(&axis) } else { link.axis_rate.times(2.0) };
            let by_v = twice + axis.cross(&body.v);
            if axes == Axes::World {
                by_q += axis.cross(&body.v);
                acceleration += axis.cross(&body.a);
            }
            let (mut by_q, mut acceleration, mut by_v) =
                (view.see(&by_q), view.see(&acceleration), view.see(&by_v));
            let jacobian = view.see(&axis);
            if axes == Axes::WorldAligned {
                let add = |to: &mut Spatial, x: &Vec3<f64>, y: &Vec3<f64>| {
                    to.lin = vec3::add(&to.lin, &vec3::cross(x, y))
                };
                // Classical acceleration: a + w x v.
                add(&mut acceleration, &by_q.ang, &v.lin);
                add(&mut acceleration, &v.ang, &by_q.lin);
                add(&mut by_v, &jacobian.ang, &v.lin);
                add(&mut by_v, &v.ang, &jacobian.lin);
                let turn = view.direction(&axis.ang);
                by_q += turned(&turn, &v);
                acceleration += turned(&turn, &a);
            }
            write(&mut out.jacobian, n, column, &jacobian);
            write(&mut out.velocity_by_q, n, column, &by_q);
            write(&mut out.acceleration_by_q, n, column, &acceleration);
            write(&mut out.acceleration_by_v, n, column, &by_v);
        });
    }
}
