//! What springs do of what is assumed of them ([`crate::robot::Spring`]): the common motion of an elastic arm, and what it needs.
//!
//! M(theta) v = I_a dtheta + M_l(q) dq gives the velocity v of a rigid arm with the same momentum, where the encoders are. The common motion is
//! dx = v + c (theta - x), integrated beside the plant. What a rigid arm would need to move so, beside the torques that act, is M(x) ddx + C(x, dx) dx + g(x) and
//! friction at dx, less those torques. It is taken from the differences over each integration step, in its middle.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use crate::dynamics::{crba, rnea};
use crate::linear::triangular::solve_positive_definite;
use crate::robot::Arm;

use super::plant::{Plant, friction_share};

/// c, 1/s. Any is allowed. Larger ones keep x nearer to the encoder and need more torque, c M (dtheta - dx).
const RETURN_1_S: f64 = 8.0;

/// What springs did of what is assumed of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct SpringAudit {
    /// Largest ratio of a spring's torque to the joint's limit.
    pub torque_ratio: f64,
    /// Largest bends of the springs, rad (m).
    pub bent_rad: Vec<f64>,
    /// Largest torque by which the common motion of each joint differs from that of a rigid one, N m (N).
    pub unmodelled_nm: Vec<f64>,
    /// Largest distances of the encoders' velocities from the common ones, rad/s (m/s).
    pub velocity_rad_s: Vec<f64>,
    /// Largest distances of their positions, rad (m).
    pub position_rad: Vec<f64>,
    /// The largest ratio to what the robot's file states, of bends to what the stated stiffness bends by at the torque limit; none where it states no springs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_ratio: Option<f64>,
}

impl SpringAudit {
    /// With what `robot` states.
    fn beside(mut self, robot: &Arm) -> Self {
        let over = |x: f64, most: f64| if x == 0.0 { 0.0 } else { x / most };
        let ratio = |j: usize| {
            let stated = robot.drive(j).spring?;
            let all = [
                over(self.bent_rad[j], robot.joints[j].limits.torque / stated.stiffness_nm_rad),
                over(self.unmodelled_nm[j], stated.unmodelled_nm),
                over(self.velocity_rad_s[j], stated.velocity_rad_s),
                over(self.position_rad[j], stated.position_rad),
            ];
            Some(all.into_iter().fold(0.0, f64::max))
        };
        self.stated_ratio = (0..robot.dof()).filter_map(ratio).reduce(f64::max);
        self
    }
}

/// The larger of two sizes; what is not a number is larger than any.
fn most(so_far: &mut f64, x: f64) {
    *so_far = if x.is_nan() { f64::INFINITY } else { so_far.max(x.abs()) };
}

/// Follows the common motion of an elastic plant.
#[derive(Debug, Clone)]
pub(super) struct CommonMotion {
    /// x and dx.
    pub q: Vec<f64>,
    pub dq: Vec<f64>,
    /// Torque that it took beside what acted, over the last step, N m (N).
    besides: Vec<f64>,
    mass: DMatrix<f64>,
    audit: SpringAudit,
}

impl CommonMotion {
    /// Of an arm at rest with its encoders at `q`.
    pub fn at_rest(q: &[f64]) -> Self {
        let zero = vec![0.0; q.len()];
        let audit = SpringAudit {
            torque_ratio: 0.0,
            bent_rad: zero.clone(),
            unmodelled_nm: zero.clone(),
            velocity_rad_s: zero.clone(),
            position_rad: zero.clone(),
            stated_ratio: None,
        };
        Self { q: q.to_vec(), dq: zero.clone(), besides: zero, mass: DMatrix::zeros(q.len(), q.len()), audit }
    }
}

impl Plant {
    /// What the springs did; none of rigid joints.
    pub(super) fn spring_audit(&self) -> Option<SpringAudit> {
        Some(self.common.as_ref()?.audit.clone().beside(&self.robot))
    }

    /// The arm rests where it is, and its common motion where the encoders are.
    pub(super) fn settle_common(&mut self) {
        let n = self.joints();
        if let Some(common) = &mut self.common {
            common.q.copy_from_slice(&self.q[n..]);
            common.dq.fill(0.0);
        }
    }

    /// Goes on along the common motion of an elastic arm to the state (`q`, `dq`), so long (s) after the last one, under `tau` (N m).
    pub(super) fn follow_common(&mut self, (q, dq): (&[f64], &[f64]), tau: &[f64], step_s: f64) {
        let (Some(mut common), Some(elastic)) = (self.common.take(), self.elastic.take()) else { return };
        let n = self.joints();
        let velocity = self.momentum_velocity(q, dq, &mut common.mass);
        let (robot, s) = (&self.robot, &mut self.scratch);
        let (mut x, mut dx, mut ddx) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            // dx = v + c (theta - x) at the end of the step, x by the mean of dx over it.
            let half = 0.5 * step_s;
            let known = velocity[j] + RETURN_1_S * (q[n + j] - common.q[j] - half * common.dq[j]);
            let end = known / (1.0 + RETURN_1_S * half);
            (ddx[j], dx[j]) = ((end - common.dq[j]) / step_s, 0.5 * (end + common.dq[j]));
            x[j] = common.q[j] + half * dx[j];
            common.q[j] += step_s * dx[j];
            common.dq[j] = end;
        }
        s.motion.sweep(robot, &x, &dx, &dx, &ddx);
        rnea(robot, &s.motion, &self.theta, &mut s.wrenches, s.bias.as_mut_slice());
        let (audit, read) = (&mut common.audit, elastic.read_from(n));
        for j in 0..n {
            let f = robot.joint_parameters(&self.theta, j);
            let sign = friction_share(dq[n + j] / robot.stiction_speed_of_transmissions(), self.breakaway[j]);
            let asked = s.bias[j] + f.armature * ddx[j] + f.coulomb * sign + f.viscous * dx[j] + f.offset;
            let bent = q[n + j] - q[j];
            most(&mut audit.bent_rad[j], bent);
            most(&mut audit.torque_ratio, elastic.stiffness_nm_rad[j] * bent / robot.joints[j].limits.torque);
            common.besides[j] = asked - tau[j];
            most(&mut audit.unmodelled_nm[j], common.besides[j]);
            most(&mut audit.velocity_rad_s[j], dq[read + j] - common.dq[j]);
            most(&mut audit.position_rad[j], q[read + j] - common.q[j]);
        }
        (self.common, self.elastic) = (Some(common), Some(elastic));
    }

    /// v; `mass` is storage.
    fn momentum_velocity(&mut self, q: &[f64], dq: &[f64], mass: &mut DMatrix<f64>) -> Vec<f64> {
        let n = self.joints();
        let (robot, theta, s) = (&self.robot, &self.theta, &mut self.scratch);
        let armature = |j: usize| robot.joint_parameters(theta, j).armature;
        let mut links = |q: &[f64], mass: &mut DMatrix<f64>| {
            s.motion.place(robot, q);
            crba(robot, &s.motion, theta, &mut s.composites, mass.as_mut_slice());
        };
        links(&q[..n], mass);
        let own = |j: usize| armature(j) * dq[n + j] + (0..n).map(|k| mass[(j, k)] * dq[k]).sum::<f64>();
        let mut velocity: Vec<f64> = (0..n).map(own).collect();
        links(&q[n..], mass);
        (0..n).for_each(|j| mass[(j, j)] += armature(j));
        solve_positive_definite(mass.as_mut_slice(), &mut velocity);
        velocity
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::faults::ElasticJoints;
    use super::*;
    use crate::robot::EncoderSide;

    const START: [f64; 7] = [0.3, 0.5, 3.0, -1.6, 0.2, 0.4, 1.5];
    /// Shorter than a control period, so that what is told of its last part holds for all of it.
    const TICK_S: f64 = 2.5e-4;

    fn arm() -> Arc<Arm> {
        Arc::new(crate::robot::load("kinova_gen3_2f85_elastic").unwrap())
    }

    fn elastic(robot: &Arc<Arm>, stiffness_nm_rad: f64) -> Plant {
        let springs =
            ElasticJoints { stiffness_nm_rad: vec![stiffness_nm_rad; 7], encoders: EncoderSide::Motor };
        Plant::at_rest(robot.clone(), robot.nominal_parameters(), &START).with_elastic_joints(&springs)
    }

    /// Torques that push the arm about, N m.
    fn pushed(holding: &[f64], t: f64) -> Vec<f64> {
        let push = |j: usize| 12.0 * (3.0 * t + j as f64).sin() + if t % 0.02 < 0.01 { 2.0 } else { -2.0 };
        holding.iter().enumerate().map(|(j, x)| x + push(j)).collect()
    }

    /// A rigid arm under the same torques, and those that are told besides, moves as the common motion does.
    #[test]
    fn the_common_motion_is_that_of_a_rigid_arm_with_the_torques_told() {
        let robot = arm();
        // Dry friction is that of the transmission, near rest another one than the rigid arm's.
        let mut slippery = robot.nominal_parameters();
        (0..7).for_each(|j| slippery[robot.joint_index(j).coulomb] = 0.0);
        let mut soft = elastic(&robot, 1e4);
        soft.change(slippery.clone());
        let mut holding = [0.0; 7];
        soft.holding(&[0.0; 7], &mut holding);
        let rigid = || Plant::at_rest(robot.clone(), slippery.clone(), &START);
        let (mut told, mut alone) = (rigid(), rigid());
        for k in 0..2000 {
            let tau = pushed(&holding, TICK_S * f64::from(k));
            soft.advance(&tau, TICK_S, |_| ());
            alone.advance(&tau, TICK_S, |_| ());
            let besides = &soft.common.as_ref().unwrap().besides;
            let all: Vec<f64> = tau.iter().zip(besides).map(|(tau, besides)| tau + besides).collect();
            told.advance(&all, TICK_S, |_| ());
        }
        let common = soft.common.as_ref().unwrap();
        let apart = |q: &[f64]| q.iter().zip(&common.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart(&alone.q) > 1e-4, "springs change nothing: {}", apart(&alone.q));
        assert!(apart(&told.q) < 0.05 * apart(&alone.q), "{} of {}", apart(&told.q), apart(&alone.q));
        // Encoders stay by it.
        let audit = soft.spring_audit().unwrap();
        let most = |all: &[f64]| all.iter().fold(0.0f64, |most, x| most.max(*x));
        assert!((1e-6..1e-3).contains(&most(&audit.position_rad)), "{audit:?}");
        assert!((1e-4..2e-2).contains(&most(&audit.velocity_rad_s)), "{audit:?}");
        assert!(most(&audit.unmodelled_nm) < 2.0 && audit.torque_ratio < 1.0, "{audit:?}");
    }

    /// The stiffer the springs, the less is needed; and what needs more than is stated is told.
    #[test]
    fn stiff_springs_need_little_and_soft_ones_are_told() {
        let robot = arm();
        let audit = |stiffness_nm_rad: f64| {
            let mut plant = elastic(&robot, stiffness_nm_rad);
            let mut holding = [0.0; 7];
            plant.holding(&[0.0; 7], &mut holding);
            for k in 0..500 {
                plant.advance(&pushed(&holding, 1e-3 * f64::from(k)), 1e-3, |_| ());
            }
            plant.spring_audit().unwrap()
        };
        let (soft, stiff) = (audit(2e3), audit(1e5));
        let all =
            |audit: &SpringAudit| [audit.position_rad[1], audit.velocity_rad_s[1], audit.unmodelled_nm[1]];
        assert!(
            all(&soft).iter().zip(all(&stiff)).all(|(soft, stiff)| *soft > 3.0 * stiff),
            "{soft:?} {stiff:?}"
        );
        // A spring softer than stated bends further than its torque tells.
        let bent = (0..7).map(|j| soft.bent_rad[j] * 1e4 / robot.joints[j].limits.torque).fold(0.0, f64::max);
        assert!(
            (bent - 5.0 * soft.torque_ratio).abs() < 1e-9 && soft.stated_ratio.unwrap() >= bent,
            "{soft:?}"
        );
        assert!(soft.stated_ratio.unwrap() > 1.0 && stiff.stated_ratio.unwrap() < 1.0, "{soft:?} {stiff:?}");
    }

    #[test]
    fn springs_are_drawn_as_soft_as_stated_or_stiffer() {
        let robot = arm();
        let drawn: Vec<f64> =
            (0..40).flat_map(|seed| ElasticJoints::of(&robot, seed).unwrap().stiffness_nm_rad).collect();
        assert!(drawn.iter().all(|k| (1e4..3e4).contains(k)) && drawn.iter().any(|k| *k > 2.5e4));
        let softest = drawn.iter().filter(|k| **k == 1e4).count();
        assert!((80..200).contains(&softest), "{softest} of 280");
        assert_eq!(ElasticJoints::of(&crate::robot::load("kinova_gen3_2f85_measured").unwrap(), 1), None);
    }

    #[test]
    fn what_is_not_a_number_is_told_as_infinite() {
        let mut so_far = 0.5;
        most(&mut so_far, -0.7);
        assert_eq!(so_far, 0.7);
        most(&mut so_far, f64::NAN);
        assert_eq!(so_far, f64::INFINITY);
    }
}
