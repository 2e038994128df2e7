//! What carries a standing robot: torques and contact forces of a motion, what limits leave of them, and the rows that tell parameters.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::{Footprint, StandingError, StandingTask};
use crate::dynamics::constraint::Constraint;
use crate::dynamics::constraint::reduced::ReducedDynamics;
use crate::robot::{LoopKind, Model, Placement};
use crate::simulate::Hold;
use crate::simulate::posture::{ground_rows, leg};
use crate::simulate::sway::{BASE, SwayState};
use crate::study::self_collision::{Nearest, SelfCollision};

/// Share of the legs' smallest singular value that a motion may lose: near a singular posture joints are fast, and a law that follows the motion is lost.
const LOSS: f64 = 0.6;
/// What is in the way where there is no posture.
const UNREACHED: &str = "legs that do not reach, or are stretched";
/// What is in the way where links come too near.
pub(super) const APART: &str = "the distance of links from each other";
/// Least share of a foot's equal part of the weight that it has to carry.
const CARRIED: f64 = 0.05;
/// By how many of their deviations torques may be off.
pub(super) const OFF: f64 = 3.0;
/// Samples whose rows are kept for one product.
const TOGETHER: usize = 512;

/// The largest share of each limit that a motion uses: 1 is the limit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LimitShares {
    /// Of half of a joint's range, from its middle.
    pub position: f64,
    /// Of a joint's speed.
    pub speed: f64,
    /// Of a motor's torque.
    pub torque: f64,
    /// Of the friction cone ([`Hold::shares`]), forces off by [`Carried::force_errors`] to the worse; infinite where a foot carries less than a twentieth of its part of the weight.
    pub friction: f64,
    /// Of the way to a singular posture, such as a stretched knee: of the loss of the legs' smallest singular value that is allowed.
    pub posture: f64,
    /// Of the sole, from its middle to its edge, by the centre of pressure; 0 for feet that are points.
    pub pressure: f64,
    /// The distance that links have to keep from each other, by that which they keep; infinite where they overlap, 0 without shapes.
    pub apart: f64,
}

impl LimitShares {
    /// Of a motion that does nothing.
    pub const NONE: Self = Self {
        position: 0.0,
        speed: 0.0,
        torque: 0.0,
        friction: 0.0,
        posture: 0.0,
        pressure: 0.0,
        apart: 0.0,
    };

    /// The largest of all.
    pub fn most(&self) -> f64 {
        self.worst().1
    }

    /// The limit of which most is used, in words, and how much of it.
    pub fn worst(&self) -> (&'static str, f64) {
        let all = [
            ("a joint's range", self.position),
            ("a joint's speed", self.speed),
            ("a motor's torque", self.torque),
            ("what a foot has to carry, or its friction", self.friction),
            ("a singular posture of the legs", self.posture),
            ("the edge of a sole", self.pressure),
            (APART, self.apart),
        ];
        // What is no number is worst.
        let worse = |limit: f64, worst: f64| !worst.is_nan() && !(limit <= worst);
        all.into_iter()
            .fold(("nothing", 0.0), |worst, limit| if worse(limit.1, worst.1) { limit } else { worst })
    }

    /// The larger of both, one by one.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            position: larger(self.position, other.position),
            speed: larger(self.speed, other.speed),
            torque: larger(self.torque, other.torque),
            friction: larger(self.friction, other.friction),
            posture: larger(self.posture, other.posture),
            pressure: larger(self.pressure, other.pressure),
            apart: larger(self.apart, other.apart),
        }
    }
}

/// The larger number; what is no number is larger than all.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

/// Where legs are sought next: they go on as they went since `before`.
pub(super) fn onward(before: Option<&[f64]>, now: &[f64]) -> Vec<f64> {
    before.map_or_else(
        || now.to_vec(),
        |before| now.iter().zip(before).map(|(now, before)| 2.0 * now - before).collect(),
    )
}

/// A robot on its feet: the base and the joints that carry nothing are independent, legs follow.
#[derive(Debug, Clone)]
pub(super) struct Support<'a> {
    robot: &'a Model,
    feet: &'a [Footprint],
    friction: f64,
    reduced: ReducedDynamics,
    pub theta: Vec<f64>,
    /// Degrees of freedom with a motor.
    driven: Vec<usize>,
    /// Deviation of the motors' torques, N m.
    torque_deviation: f64,
    /// Weight on a foot if all carry the same, N.
    part: f64,
    /// Smallest singular value of the legs at the start, m/rad.
    singular: f64,
    /// Links that keep a distance from each other.
    pub links: SelfCollision,
    /// The nearest pair of all states that were looked at.
    pub nearest: Nearest,
}

/// The robot at one time.
#[derive(Debug, Clone)]
pub struct Carried {
    /// Configuration (length nq), velocities and accelerations (length nv).
    pub q: Vec<f64>,
    /// See `q`.
    pub v: Vec<f64>,
    /// See `q`.
    pub a: Vec<f64>,
    /// Torques of all degrees of freedom, N m: zero where there is no motor.
    pub tau: Vec<f64>,
    /// Forces (N) of each foot in axes of the world, and for rigid ones the moment about its frame (N m).
    pub forces: Vec<Vec<f64>>,
    /// Three deviations of each of these numbers by independent errors of all motors' torques, each of the task's deviation, where the robot gives way to them; N, N m.
    pub force_errors: Vec<Vec<f64>>,
}

impl<'a> Support<'a> {
    pub fn new(task: &'a StandingTask<'_>) -> Result<Self, StandingError> {
        let StandingTask { robot, feet, friction, start, clearance_m, torque_deviation_nm, .. } = task;
        let mut constraints: Vec<Constraint> =
            (0..robot.loops.len()).map(|i| Constraint::closure(robot, i).in_plane(robot)).collect();
        let first = constraints.len();
        let contact =
            |foot: &Footprint| Constraint::contact(robot, foot.frame, foot.kind, Placement::identity());
        constraints.extend(feet.iter().map(contact));
        let legs = legs(robot, feet)?;
        let passive = |k: usize| robot.joints[joint_of(robot, k)].limits.torque <= 0.0;
        let independent: Vec<usize> =
            (0..robot.nv()).filter(|&k| k < BASE || !(legs.contains(&k) || passive(k))).collect();
        let mut reduced = ReducedDynamics::new(robot, constraints, independent)?;
        for foot in 0..feet.len() {
            reduced.hold_here(robot, first + foot, start)?;
        }
        let theta = robot.nominal_parameters();
        let mass: f64 = (0..robot.bodies()).map(|i| theta[robot.body_range(i).start]).sum();
        Ok(Self {
            driven: (BASE..robot.nv()).filter(|&k| !passive(k)).collect(),
            part: mass * robot.gravity.norm() / feet.len() as f64,
            singular: {
                let still = vec![0.0; reduced.independent().len()];
                reduced.place(robot, start, &still, &still)?;
                reduced.smallest_singular_value()
            },
            links: SelfCollision::new(robot, (&task.shapes, &task.ignored), start, *clearance_m),
            nearest: Nearest::NONE,
            torque_deviation: *torque_deviation_nm,
            robot,
            feet,
            friction: *friction,
            reduced,
            theta,
        })
    }

    /// Independent degrees of freedom that are no base's.
    pub fn swinging(&self) -> &[usize] {
        &self.reduced.independent()[BASE..]
    }

    /// Takes the robot to `state`, its legs from where they are in `near`.
    fn place(&mut self, state: &SwayState, near: &[f64]) -> Option<()> {
        let mut q = state.q.clone();
        let apart = self.robot.nq() - self.robot.nv();
        for &k in self.reduced.dependent() {
            q[k + apart] = near[k + apart];
        }
        self.reduced.close(self.robot, &mut q).ok()?;
        self.reduced.place(self.robot, &q, &state.v, &state.a).ok()
    }

    /// The Cholesky factor of the product of G's rows at the motors: the covariance of u by noise of 1 N m on each torque sensor.
    fn measured(&self) -> Option<Cholesky<f64, nalgebra::Dyn>> {
        let own = self.reduced.g().select_rows(&self.driven);
        (own.transpose() * own).cholesky()
    }

    /// The robot at one time, with the torques that [`crate::simulate::Posture`]'s law chooses along a series ([`ground_rows`]). Nothing where legs do not reach.
    pub fn carried(&mut self, state: &SwayState, near: &[f64]) -> Option<Carried> {
        self.place(state, near)?;
        let u = self.reduced.torque(self.robot, &self.theta).ok()?;
        let mut tau = vec![0.0; self.robot.nv()];
        let free = self.reduced.constraint_force(self.robot, &self.theta, &tau).ok()?;
        let own = self.reduced.g().select_rows(&self.driven);
        let held = self.reduced.force_by_torque();
        let (by_motor, level) = (self.force_by_motor(&held), self.ground_rows());
        let by =
            DMatrix::from_fn(level.len(), self.driven.len(), |r, c| level[r].1 * by_motor[(level[r].0, c)]);
        let pull = DVector::from_iterator(level.len(), level.iter().map(|(row, weight)| weight * free[*row]));
        // |tau|^2 + |B tau + p|^2 where own' tau = u. B has few rows: (1 + B'B)^-1 = 1 - B'(1 + B B')^-1 B.
        let few = (DMatrix::identity(by.nrows(), by.nrows()) + &by * by.transpose()).cholesky()?;
        let (across, back) = (own.transpose(), by.transpose());
        let weighed = &own - &back * few.solve(&(&by * &own));
        let aside = back * few.solve(&pull);
        let multiplier = (&across * &weighed).cholesky()?.solve(&(u + across * &aside));
        let chosen = weighed * multiplier - aside;
        self.driven.iter().zip(chosen.iter()).for_each(|(&k, x)| tau[k] = *x);
        let force = self.reduced.constraint_force(self.robot, &self.theta, &tau).ok()?;
        let [q, v, a] = [self.reduced.q(), self.reduced.v(), self.reduced.a()].map(<[f64]>::to_vec);
        let off = OFF * self.torque_deviation;
        let by_all = self.reduced.force_by_free_torque(self.robot, &self.theta, &held).ok()?;
        let by_all = by_all.select_columns(&self.driven);
        let errors: Vec<f64> = by_all.row_iter().map(|row| off * row.norm()).collect();
        let (forces, force_errors) = (self.by_foot(force.as_slice()), self.by_foot(&errors));
        Some(Carried { q, v, a, tau, forces, force_errors })
    }

    /// What belongs to the rows of each foot.
    fn by_foot(&self, rows: &[f64]) -> Vec<Vec<f64>> {
        let mut left = &rows[self.first_row()..];
        let mut own = |foot: &Footprint| {
            let (now, after) = left.split_at(foot.rows());
            left = after;
            now.to_vec()
        };
        self.feet.iter().map(&mut own).collect()
    }

    /// What the motors' torques add to all rows of the constraints' forces at the last configuration, accelerations unchanged, by what `all` dependent freedoms add: one column a motor, zero for those of no leg.
    fn force_by_motor(&self, all: &DMatrix<f64>) -> DMatrix<f64> {
        let place = |k: &usize| self.reduced.dependent().iter().position(|dof| dof == k);
        let places: Vec<Option<usize>> = self.driven.iter().map(place).collect();
        DMatrix::from_fn(all.nrows(), places.len(), |r, c| places[c].map_or(0.0, |k| all[(r, k)]))
    }

    /// The first row of the feet among those of all constraints.
    fn first_row(&self) -> usize {
        self.reduced.dependent().len() - self.feet.iter().map(Footprint::rows).sum::<usize>()
    }

    /// Rows of forces along the ground, and of moments on it, with their weights.
    fn ground_rows(&self) -> Vec<(usize, f64)> {
        let mut at = self.first_row();
        let mut rows = vec![];
        for foot in self.feet {
            rows.extend(ground_rows(foot.kind).iter().map(|&(row, weight)| (at + row, weight)));
            at += foot.rows();
        }
        rows
    }

    /// What a state uses of the limits.
    fn shares(&mut self, at: &Carried) -> LimitShares {
        let least = self.reduced.smallest_singular_value();
        let lost = 1.0 - least / self.singular;
        let mut most = LimitShares { posture: (lost / LOSS).max(0.0), ..LimitShares::NONE };
        let apart = self.robot.nq() - self.robot.nv();
        for k in BASE..self.robot.nv() {
            let limits = &self.robot.joints[joint_of(self.robot, k)].limits;
            let position = limits.position.map_or(0.0, |(lower, upper)| {
                (2.0 * at.q[k + apart] - lower - upper).abs() / (upper - lower)
            });
            let torque = if limits.torque > 0.0 { at.tau[k].abs() / limits.torque } else { 0.0 };
            let speed = at.v[k].abs() / limits.velocity;
            most = most.or(&LimitShares { position, speed, torque, ..LimitShares::NONE });
        }
        let nearest = self.links.nearest(self.robot, &at.q);
        self.nearest = self.nearest.or(nearest);
        let apart = if nearest.room <= 0.0 { f64::INFINITY } else { 1.0 / nearest.room };
        most = most.or(&LimitShares { apart, ..LimitShares::NONE });
        for ((foot, force), error) in self.feet.iter().zip(&at.forces).zip(&at.force_errors) {
            let sole_m = (foot.kind == LoopKind::Rigid).then_some(foot.sole_m);
            let [friction, pressure] = Hold { friction: self.friction, sole_m }.shares(force, error);
            let carries = force[2] - error[2] > CARRIED * self.part;
            let shares = if carries {
                LimitShares { friction, pressure, ..LimitShares::NONE }
            } else {
                LimitShares { friction: f64::INFINITY, ..LimitShares::NONE }
            };
            most = most.or(&shares);
        }
        most
    }

    /// What a motion, by a share from 0 to 1 of what there is of it, uses of the limits at so many times, if never more than `used` of one, or which that is; and the product Y'Y of the rows that sensors tell the parameters `tells` by (indices among the links'), each row
    /// by the deviation of its noise where torque sensors err by 1 N m.
    pub fn look(
        &mut self,
        motion: &dyn Fn(f64) -> SwayState,
        samples: usize,
        used: f64,
        tells: Option<&[usize]>,
    ) -> Result<(LimitShares, DMatrix<f64>), &'static str> {
        let width = tells.map_or(0, <[usize]>::len);
        // Rows of many samples, one a column: one product of all takes a tenth of the time of one a sample.
        let each = self.reduced.independent().len();
        let count = if tells.is_some() { samples.min(TOGETHER) * each } else { 0 };
        let (mut most, mut rows, mut filled) = (LimitShares::NONE, DMatrix::zeros(width, count), 0);
        let mut information = DMatrix::zeros(width, width);
        let (mut near, mut before) = (motion(0.0).q, None::<Vec<f64>>);
        for k in 0..=samples {
            let state = motion(k as f64 / samples as f64);
            let carried = self.carried(&state, &near).ok_or(UNREACHED)?;
            most = most.or(&self.shares(&carried));
            if !(most.most() <= used) {
                return Err(most.worst().0);
            }
            if let Some(columns) = tells.filter(|_| k < samples) {
                let own = self.whitened(columns).ok_or(UNREACHED)?;
                rows.columns_mut(filled, each).copy_from(&own.transpose());
                filled += each;
                if filled == count || k + 1 == samples {
                    let told = rows.columns(0, filled);
                    information += told * told.transpose();
                    filled = 0;
                }
            }
            near = onward(before.as_deref(), &carried.q);
            before = Some(carried.q);
        }
        Ok((most, information))
    }

    /// Rows of these parameters at the last state, by the deviation of their noise.
    fn whitened(&mut self, columns: &[usize]) -> Option<DMatrix<f64>> {
        let factor = self.measured()?.unpack();
        let rows = self.reduced.link_columns(self.robot, columns);
        // One product instead of a solution a column: there are some hundred.
        let inverse = factor.solve_lower_triangular(&DMatrix::identity(factor.nrows(), factor.nrows()))?;
        Some(inverse * rows)
    }

    /// u of the last state, N m, for tests of what rows say.
    #[cfg(test)]
    pub fn projected(&mut self) -> (DVector<f64>, DMatrix<f64>, Vec<f64>) {
        let u = self.reduced.torque(self.robot, &self.theta).unwrap();
        (u, self.reduced.regressor(self.robot), self.theta.clone())
    }
}

/// The joint that owns a degree of freedom.
pub(super) fn joint_of(robot: &Model, dof: usize) -> usize {
    (0..robot.bodies()).rev().find(|&i| robot.v_index(i) <= dof).unwrap_or(0)
}

/// Degrees of freedom of all supporting legs.
fn legs(robot: &Model, feet: &[Footprint]) -> Result<Vec<usize>, StandingError> {
    let mut all = vec![];
    for foot in feet {
        let frame = &robot.named_frames[foot.frame];
        let mut own = leg(robot, frame.joint);
        // The joints next to the foot place it.
        own.truncate(foot.rows());
        own.retain(|k| !all.contains(k));
        if own.len() < foot.rows() {
            return Err(StandingError::Leg {
                foot: frame.name.clone(),
                joints: own.len(),
                expected: foot.rows(),
            });
        }
        all.extend(own);
    }
    Ok(all)
}
