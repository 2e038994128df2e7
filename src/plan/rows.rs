//! Constraints of a plan as rows of a nonlinear program: the certifier's margins, with gradients of the nominal motion.
//!
//! The values are those of the certifier itself, cell by cell; only the gradients are approximate (taken at the middle
//! of a cell without tracking errors, buffers held constant), which is all that a solver needs.

use arrayvec::ArrayVec;

use crate::certify::DETAIL_M;
use crate::certify::{Body, CellReport};
use crate::dynamics::{BodyPlacement, Motion, Wrench, placements, rnea, vec3};
use crate::reach::{PreparedSet, Span};
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};
use crate::trajectory::{Bezier, JointState, end_point_basis};

use super::nlp::{MAX_DIMENSION, Row};

type Slope = Dual<f64, MAX_DIMENSION>;
type Slopes = ArrayVec<Slope, MAX_DIMENSION>;

/// Kinds of rows of a joint: torque, velocity, position.
pub(super) const KINDS: u32 = 3;
/// Scale of clearance rows, m: a margin of this size counts like a whole torque limit. Rows share one penalty, so their
/// scales say what is traded for what.
pub(super) const CLEARANCE_SCALE_M: f64 = 0.1;
/// Scale of position rows, rad, as [`CLEARANCE_SCALE_M`]: about what a plan moves a joint by.
pub(super) const POSITION_SCALE_RAD: f64 = 0.5;

/// Builds rows for one robot; scratch space is kept between evaluations.
#[derive(Debug, Clone)]
pub struct RowBuilder {
    theta: Vec<Slope>,
    motion: Motion<Slope>,
    wrenches: Vec<Wrench<Slope>>,
    tau: Vec<Slope>,
    placed: Vec<BodyPlacement<Slope>>,
    state: JointState,
}

impl RowBuilder {
    /// Rows for `robot` whose nominal torques are those of the centre of `set`.
    pub fn new(robot: &Arm, set: &PreparedSet) -> Self {
        let n = robot.dof();
        let mut builder = Self {
            theta: Vec::new(),
            motion: Motion::new(robot),
            wrenches: vec![Wrench::zero(); n],
            tau: vec![Slope::zero(); n],
            placed: vec![BodyPlacement::base(); n],
            state: JointState::at_rest(&vec![0.0; n]),
        };
        builder.take(set);
        builder
    }

    /// From now on the nominal torques are those of the centre of `set`.
    pub fn take(&mut self, set: &PreparedSet) {
        self.theta.clear();
        self.theta.extend(set.center().iter().map(|center| Slope::constant(*center)));
    }

    /// Most rows of a cell with so many pairs.
    pub fn most(robot: &Arm, pairs: usize) -> usize {
        KINDS as usize * robot.dof() + pairs
    }

    /// Appends the rows of the `index`-th cell of `curve`, whose end point moves by `reach[j]` a unit of k_j; at most
    /// [`MAX_DIMENSION`] joints. Pairs further apart than [`DETAIL_M`] have none: they cannot become active within one step.
    pub fn append(
        &mut self,
        robot: &Arm,
        (index, report): (usize, &CellReport),
        curve: &Bezier,
        reach: &[f64],
        rows: &mut Vec<Row>,
    ) {
        let first = (index * Self::most(robot, report.clearances.len())) as u32;
        let t = match report.span {
            Span::Between(t0, t1) => 0.5 * (t0 + t1),
            Span::Rest => curve.duration_s,
        };
        let basis = end_point_basis(t, curve.duration_s);
        curve.evaluate(t, &mut self.state);
        let along = |x: &[f64], b: f64| -> Slopes {
            (0..x.len())
                .map(|j| {
                    let mut slope = [0.0; MAX_DIMENSION];
                    slope[j] = b * reach[j];
                    Slope::new(x[j], slope)
                })
                .collect()
        };
        let state = &self.state;
        let (q, dq, ddq) =
            (along(&state.q, basis[0]), along(&state.dq, basis[1]), along(&state.ddq, basis[2]));
        self.motion.sweep(robot, &q, &dq, &dq, &ddq);
        self.joint_rows(robot, report, (&q, &dq, &ddq), first, rows);
        self.clearance_rows(robot, report, first + KINDS * q.len() as u32, rows);
    }

    fn joint_rows(
        &mut self,
        robot: &Arm,
        report: &CellReport,
        (q, dq, ddq): (&[Slope], &[Slope], &[Slope]),
        first: u32,
        rows: &mut Vec<Row>,
    ) {
        rnea(robot, &self.motion, &self.theta, &mut self.wrenches, &mut self.tau);
        let label = |kind: u32, j: usize| first + KINDS * j as u32 + kind;
        for (j, joint) in robot.joints.iter().enumerate() {
            let f = robot.joint_parameters(&self.theta, j);
            let tau = self.tau[j] + f.armature * ddq[j] + f.viscous * dq[j];
            // Only the side that is nearer to the limit; where no set of torques is given, that of the nominal one.
            let upward = report
                .torque
                .get(j)
                .map_or(tau.value >= 0.0, |torque| torque.nominal_upper >= -torque.nominal_lower);
            let sign = if upward { 1.0 } else { -1.0 };
            rows.push(row(report.torque_margin[j], &tau.slope, -sign, joint.limits.torque, label(0, j)));
            let speed = if dq[j].value >= 0.0 { 1.0 } else { -1.0 };
            rows.push(row(report.velocity[j], &dq[j].slope, -speed, joint.limits.velocity, label(1, j)));
            if let Some((lower, upper)) = joint.limits.position {
                let side = if q[j].value - lower < upper - q[j].value { 1.0 } else { -1.0 };
                rows.push(row(report.position[j], &q[j].slope, side, POSITION_SCALE_RAD, label(2, j)));
            }
        }
    }

    fn clearance_rows(&mut self, robot: &Arm, report: &CellReport, first: u32, rows: &mut Vec<Row>) {
        placements(robot, &self.motion, &mut self.placed);
        let base = BodyPlacement::base();
        for (pair, clearance) in report.clearances.iter().enumerate() {
            let value = clearance.separation.clearance_m;
            if value > DETAIL_M {
                continue;
            }
            let u = clearance.separation.direction.map(Slope::constant);
            // Support of a capsule along +-u: the lower end's coordinate.
            let lower = |shape: usize, sign: f64| {
                let link = &robot.shapes()[shape];
                let body = link.joint.map_or(&base, |j| &self.placed[j]);
                let ends =
                    [link.capsule.a, link.capsule.b].map(|p| vec3::dot(&u, &body.point(&p)).scale(sign));
                if ends[0].value <= ends[1].value { ends[0] } else { ends[1] }
            };
            let mut support = lower(clearance.shape, 1.0);
            if let Body::Shape(other) = clearance.other {
                support = support + lower(other, -1.0);
            }
            rows.push(row(value, &support.slope, 1.0, CLEARANCE_SCALE_M, first + pair as u32));
        }
    }
}

fn row(value: f64, slope: &[f64; MAX_DIMENSION], sign: f64, scale: f64, label: u32) -> Row {
    Row { value: value / scale, gradient: slope.map(|s| sign * s / scale), label }
}
