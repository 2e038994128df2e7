//! What carries a standing robot: torques and contact forces of a motion, what limits leave of them, and the rows that tell parameters.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::shares::LimitShares;
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
/// Least share of a foot's equal part of the weight that it has to carry.
const CARRIED: f64 = 0.05;
/// By how many of their deviations torques may be off. Good motions meet limits at hundreds of samples: four are passed by one in 30,000, three by one in 700.
pub(super) const OFF: f64 = 4.0;
/// Samples whose rows are kept for one product.
const TOGETHER: usize = 512;

/// Where the legs of a motion are sought: they go on as they went.
pub(super) struct Legs {
    near: Vec<f64>,
    before: Option<Vec<f64>>,
}

impl Legs {
    /// Of a motion that begins at `start`.
    pub fn new(start: &[f64]) -> Self {
        Self { near: start.to_vec(), before: None }
    }

    /// They have been found.
    fn found(&mut self, now: &[f64]) {
        self.near = self.before.as_ref().map_or_else(
            || now.to_vec(),
            |before| now.iter().zip(before).map(|(now, before)| 2.0 * now - before).collect(),
        );
        self.before = Some(now.to_vec());
    }
}

/// A time at which a motion is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Time {
    /// From 0 to 1.
    pub share: f64,
    /// Whether it counts for what the motion tells.
    pub tells: bool,
}

/// Even times from 0 to the end, which are `samples` intervals apart. All tell but the last, which is the first of the next repeat.
pub(super) fn even(samples: usize) -> Vec<Time> {
    let at = |k: usize| Time { share: k as f64 / samples as f64, tells: k < samples };
    (0..=samples).map(at).collect()
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
    /// Four deviations of each of these numbers by independent errors of all motors' torques, each of the task's deviation, where the robot gives way to them; N, N m.
    pub force_errors: Vec<Vec<f64>>,
}

/// How a robot is borne in a configuration, however it moves there.
#[derive(Debug, Clone)]
pub(super) struct Bearing {
    /// The motors' torques by u, and by the weighed forces along the ground that are left without them.
    by_u: DMatrix<f64>,
    by_pull: DMatrix<f64>,
    /// Rows of forces along the ground with their weights ([`ground_rows`]).
    level: Vec<(usize, f64)>,
    /// [`Carried::force_errors`].
    force_errors: Vec<Vec<f64>>,
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
        let bearing = self.bearing(state, near)?;
        self.moving(&bearing)
    }

    /// [`Support::carried`] at the next state of a motion, with its legs.
    pub fn next(&mut self, state: &SwayState, legs: &mut Legs) -> Option<Carried> {
        let carried = self.carried(state, &legs.near)?;
        legs.found(&carried.q);
        Some(carried)
    }

    /// Takes the robot to `state`, its legs from where they are in `near`: how it is borne there.
    pub fn bearing(&mut self, state: &SwayState, near: &[f64]) -> Option<Bearing> {
        self.place(state, near)?;
        let own = self.reduced.g().select_rows(&self.driven);
        let held = self.reduced.force_by_torque();
        let (by_motor, level) = (self.force_by_motor(&held), self.ground_rows());
        let by =
            DMatrix::from_fn(level.len(), self.driven.len(), |r, c| level[r].1 * by_motor[(level[r].0, c)]);
        // |tau|^2 + |B tau + p|^2 where own' tau = u. B has few rows: (1 + B'B)^-1 = 1 - B'(1 + B B')^-1 B =: W. With S = own' W own
        // tau = W own S^-1 (u + own' W B' p) - W B' p, and W B' = B'(1 + B B')^-1.
        let few = (DMatrix::identity(by.nrows(), by.nrows()) + &by * by.transpose()).cholesky()?;
        let (across, back) = (own.transpose(), by.transpose());
        let weighed = &own - &back * few.solve(&(&by * &own));
        let by_u = (&across * &weighed).cholesky()?.solve(&weighed.transpose()).transpose();
        let aside = few.solve(&by).transpose();
        let by_pull = &by_u * (across * &aside) - aside;
        let off = OFF * self.torque_deviation;
        let by_all = self.reduced.force_by_free_torque(self.robot, &self.theta, &held).ok()?;
        let by_all = by_all.select_columns(&self.driven);
        let errors: Vec<f64> = by_all.row_iter().map(|row| off * row.norm()).collect();
        Some(Bearing { by_u, by_pull, level, force_errors: self.by_foot(&errors) })
    }

    /// Gives the robot the velocities and accelerations of `state` where it has been placed.
    pub fn set_motion(&mut self, state: &SwayState) -> Option<()> {
        self.reduced.set_motion(self.robot, &state.v, &state.a).ok()
    }

    /// The robot that moves as it was told last, borne as at this configuration.
    pub fn moving(&mut self, bearing: &Bearing) -> Option<Carried> {
        let unbound = self.reduced.unbound_torque(self.robot, &self.theta).ok()?;
        let mut tau = vec![0.0; self.robot.nv()];
        let free = self.reduced.constraint_force_of(self.robot, &unbound, &tau).ok()?;
        let pull = bearing.level.iter().map(|(row, weight)| weight * free[*row]);
        let pull = DVector::from_iterator(bearing.level.len(), pull);
        let u = self.reduced.g().tr_mul(&DVector::from_column_slice(&unbound));
        let chosen = &bearing.by_u * u + &bearing.by_pull * pull;
        self.driven.iter().zip(chosen.iter()).for_each(|(&k, x)| tau[k] = *x);
        let force = self.reduced.constraint_force_of(self.robot, &unbound, &tau).ok()?;
        let [q, v, a] = [self.reduced.q(), self.reduced.v(), self.reduced.a()].map(<[f64]>::to_vec);
        let forces = self.by_foot(force.as_slice());
        Some(Carried { q, v, a, tau, forces, force_errors: bearing.force_errors.clone() })
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
        let nearest = self.links.nearest(self.robot, &at.q);
        self.nearest = self.nearest.or(nearest);
        let mut most = LimitShares { apart: by_room(nearest.room), ..LimitShares::NONE };
        self.each_share(at, |share| most = most.or(share));
        most
    }

    /// What a state uses of each limit of posture, joints and feet, one by one, and `apart` after them. Always as many, in the same order; the largest is that of [`Support::look`].
    pub fn limits(&self, at: &Carried, apart: &[f64]) -> Vec<f64> {
        let mut all = vec![];
        self.each_share(at, |share| all.extend(share.each().map(|(_, share)| share)));
        all.extend(apart);
        all
    }

    /// What the last configuration uses of each distance that links keep.
    pub fn apart(&mut self) -> Vec<f64> {
        let mut rooms = vec![];
        self.links.rooms_into(self.robot, self.reduced.q(), &mut rooms);
        rooms.into_iter().map(by_room).collect()
    }

    fn each_share(&self, at: &Carried, mut give: impl FnMut(&LimitShares)) {
        let lost = 1.0 - self.reduced.smallest_singular_value() / self.singular;
        give(&LimitShares { posture: (lost / LOSS).max(0.0), ..LimitShares::NONE });
        let apart = self.robot.nq() - self.robot.nv();
        for k in BASE..self.robot.nv() {
            let limits = &self.robot.joints[joint_of(self.robot, k)].limits;
            let position = limits.position.map_or(0.0, |(lower, upper)| {
                (2.0 * at.q[k + apart] - lower - upper).abs() / (upper - lower)
            });
            let torque = if limits.torque > 0.0 { at.tau[k].abs() / limits.torque } else { 0.0 };
            let speed = at.v[k].abs() / limits.velocity;
            give(&LimitShares { position, speed, torque, ..LimitShares::NONE });
        }
        for ((foot, force), error) in self.feet.iter().zip(&at.forces).zip(&at.force_errors) {
            let carried = force[2] - error[2];
            let load = if carried > 0.0 { CARRIED * self.part / carried } else { f64::INFINITY };
            give(&LimitShares { load, ..LimitShares::NONE });
            let sole_m = (foot.kind == LoopKind::Rigid).then_some(foot.sole_m);
            let (friction, pressure) = Hold { friction: self.friction, sole_m }.parts(force, error);
            friction.iter().for_each(|&friction| give(&LimitShares { friction, ..LimitShares::NONE }));
            pressure.iter().for_each(|&pressure| give(&LimitShares { pressure, ..LimitShares::NONE }));
        }
    }

    /// What a motion, by a share from 0 to 1 of what there is of it, uses of the limits at these increasing times, if never more than `used` of one, or which that is; and the product Y'Y of the rows that sensors tell the parameters `tells` by (indices among the links')
    /// at those of them that tell, each row by the deviation of its noise where torque sensors err by 1 N m.
    pub fn look(
        &mut self,
        motion: &dyn Fn(f64) -> SwayState,
        times: &[Time],
        used: f64,
        tells: Option<&[usize]>,
    ) -> Result<(LimitShares, DMatrix<f64>), &'static str> {
        let width = tells.map_or(0, <[usize]>::len);
        // Rows of many samples, one a column: one product of all takes a tenth of the time of one a sample.
        let each = self.reduced.independent().len();
        let count = if tells.is_some() { times.len().min(TOGETHER) * each } else { 0 };
        let (mut most, mut rows, mut filled) = (LimitShares::NONE, DMatrix::zeros(width, count), 0);
        let mut information = DMatrix::zeros(width, width);
        let mut legs = Legs::new(&motion(0.0).q);
        for time in times {
            let carried = self.next(&motion(time.share), &mut legs).ok_or(UNREACHED)?;
            most = most.or(&self.shares(&carried));
            if !(most.most() <= used) {
                return Err(most.worst().0);
            }
            if let Some(columns) = tells.filter(|_| time.tells) {
                let own = self.whitening().ok_or(UNREACHED)? * self.rows(columns);
                rows.columns_mut(filled, each).copy_from(&own.transpose());
                filled += each;
                if filled == count {
                    information += &rows * rows.transpose();
                    filled = 0;
                }
            }
        }
        let left = rows.columns(0, filled);
        Ok((most, information + left * left.transpose()))
    }

    /// The largest share of a limit that a motion uses at each of these times.
    pub fn course(&mut self, motion: &dyn Fn(f64) -> SwayState, times: &[Time]) -> Option<Vec<f64>> {
        let mut legs = Legs::new(&motion(0.0).q);
        let mut one = |time: &Time| {
            let carried = self.next(&motion(time.share), &mut legs)?;
            Some(self.shares(&carried).most())
        };
        times.iter().map(&mut one).collect()
    }

    /// What takes [`Support::rows`] at the last configuration to rows of independent noise of deviation 1, where torque sensors err by 1 N m.
    pub fn whitening(&self) -> Option<DMatrix<f64>> {
        let factor = self.measured()?.unpack();
        // One product instead of a solution a column: there are some hundred.
        factor.solve_lower_triangular(&DMatrix::identity(factor.nrows(), factor.nrows()))
    }

    /// Rows of these parameters of the links at the last state: independent freedoms x columns.
    pub fn rows(&mut self, columns: &[usize]) -> DMatrix<f64> {
        self.reduced.link_columns(self.robot, columns)
    }

    /// u of the last state, N m, for tests of what rows say.
    #[cfg(test)]
    pub fn projected(&mut self) -> (DVector<f64>, DMatrix<f64>, Vec<f64>) {
        let u = self.reduced.torque(self.robot, &self.theta).unwrap();
        (u, self.reduced.regressor(self.robot), self.theta.clone())
    }
}

/// The share of a distance that is used where links have so much room, by the distance.
fn by_room(room: f64) -> f64 {
    if room <= 0.0 { f64::INFINITY } else { 1.0 / room }
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
