//! A plant whose joints are elastic: the transmission's inertia and friction before a spring, the link behind it.
//!
//! I_a ddtheta + F_c s(dtheta) + F_v dtheta + beta = tau - k (theta - q) for each joint's motor side, theta and tau in the link's measure, and
//! M(q) ddq + C(q, dq) dq + g(q) = k (theta - q) for the links, M without the transmission inertia. This is the model of Spong (1987): the rotors' motion
//! is coupled to the links by the springs alone. Nothing damps the springs.

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::dynamics::{crba, rnea};
use crate::linear::triangular::solve_positive_definite;

use crate::robot::{Arm, EncoderSide};

use super::faults::ElasticJoints;
use super::plant::{Plant, friction_share};
use super::springs::CommonMotion;

/// Steps of an elastic plant for one of a rigid one: the springs of light links are fast.
pub(super) const FINER: usize = 4;

/// Rounds in which links sink into their springs: each leaves some hundredths of what the last one did.
const SETTLING: usize = 12;

/// How much stiffer than stated springs are at most. Many are as soft as they may be.
const STIFFER: f64 = 3.0;

impl ElasticJoints {
    /// The springs of an arm whose file states some, as `seed` makes them: each as soft as stated, every second time, or stiffer.
    pub(super) fn of(robot: &Arm, seed: u64) -> Option<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(9);
        let mut drawn = |j: usize| {
            let spring = robot.drive(j).spring?;
            let stiffer = if rng.random() { 1.0 } else { rng.random_range(1.0..STIFFER) };
            Some((spring.stiffness_nm_rad * stiffer, spring.encoders))
        };
        let springs: Vec<(f64, EncoderSide)> = (0..robot.dof()).filter_map(&mut drawn).collect();
        let (_, encoders) = *springs.first()?;
        Some(Self {
            stiffness_nm_rad: springs.into_iter().map(|(stiffness, _)| stiffness).collect(),
            encoders,
        })
    }

    /// Where in the state of an arm with so many joints those positions begin that encoders see: links come first.
    pub(super) fn read_from(&self, joints: usize) -> usize {
        if self.encoders == EncoderSide::Motor { joints } else { 0 }
    }
}

impl Plant {
    /// The same plant with elastic joints: what encoders see stands where the joints did, and the springs carry the links.
    pub(super) fn with_elastic_joints(mut self, elastic: &ElasticJoints) -> Self {
        let n = self.q.len();
        let start = self.q.clone();
        let mut bent = vec![0.0; n];
        for _ in 0..SETTLING {
            self.bend(elastic, &mut bent);
            if elastic.encoders == EncoderSide::Motor {
                self.q.iter_mut().zip(&start).zip(&bent).for_each(|((q, start), bent)| *q = start - bent);
            }
        }
        let motors: Vec<f64> = self.q.iter().zip(&bent).map(|(q, bent)| q + bent).collect();
        self.q.extend(motors);
        self.dq.resize(2 * n, 0.0);
        self.resize_scratch();
        self.common = Some(CommonMotion::at_rest(&self.q[n..]));
        self.elastic = Some(elastic.clone());
        self
    }

    /// By how much the springs are bent that carry the links where they stand, rad (m).
    fn bend(&mut self, elastic: &ElasticJoints, bent: &mut [f64]) {
        let none = vec![0.0; bent.len()];
        self.holding(&none, bent);
        for (j, &stiffness) in elastic.stiffness_nm_rad.iter().enumerate() {
            bent[j] = (bent[j] - self.robot.joint_parameters(&self.theta, j).offset) / stiffness;
        }
    }

    /// Positions and velocities at the encoders.
    pub(super) fn at_encoders(&self) -> (&[f64], &[f64]) {
        let read = self.read_from()..self.read_from() + self.joints();
        (&self.q[read.clone()], &self.dq[read])
    }

    /// Positions of the links.
    pub(super) fn link_positions(&self) -> &[f64] {
        &self.q[..self.joints()]
    }

    /// Velocities of the links.
    pub(super) fn link_velocities(&self) -> &[f64] {
        &self.dq[..self.joints()]
    }

    /// Accelerations of links and transmissions.
    pub(super) fn elastic_acceleration(&mut self, q: &[f64], dq: &[f64], tau: &[f64], ddq: &mut [f64]) {
        let n = self.joints();
        let Some(elastic) = &self.elastic else { return };
        let (robot, s) = (&self.robot, &mut self.scratch);
        let (mass, bias): (&mut DMatrix<f64>, &mut DVector<f64>) = (&mut s.mass, &mut s.bias);
        s.motion.sweep(robot, &q[..n], &dq[..n], &dq[..n], &s.zero);
        rnea(robot, &s.motion, &self.theta, &mut s.wrenches, bias.as_mut_slice());
        crba(robot, &s.motion, &self.theta, &mut s.composites, mass.as_mut_slice());
        for j in 0..n {
            let spring = elastic.stiffness_nm_rad[j] * (q[n + j] - q[j]);
            let f = robot.joint_parameters(&self.theta, j);
            let sign = friction_share(dq[n + j] / robot.stiction_speed_of_transmissions(), self.breakaway[j]);
            bias[j] = spring - bias[j];
            ddq[n + j] = (tau[j] - spring - f.coulomb * sign - f.viscous * dq[n + j] - f.offset) / f.armature;
        }
        solve_positive_definite(mass.as_mut_slice(), bias.as_mut_slice());
        ddq[..n].copy_from_slice(bias.as_slice());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn plant(elastic: Option<f64>) -> Plant {
        with_encoders(elastic, EncoderSide::Link)
    }

    fn with_encoders(elastic: Option<f64>, encoders: EncoderSide) -> Plant {
        let robot = Arc::new(crate::robot::load("kinova_gen3_2f85").unwrap());
        let theta = robot.nominal_parameters();
        let n = robot.dof();
        let plant = Plant::at_rest(robot, theta, &[0.3, 0.5, 3.0, -1.6, 0.2, 0.4, 1.5]);
        let with = |k: f64| ElasticJoints { stiffness_nm_rad: vec![k; n], encoders };
        elastic.map_or(plant.clone(), |k| plant.with_elastic_joints(&with(k)))
    }

    /// Encoders before the springs read where the joints stood; the links have sunk, and nothing moves.
    #[test]
    fn encoders_read_the_start_and_links_have_sunk() {
        let rigid = plant(None);
        let mut soft = with_encoders(Some(1e4), EncoderSide::Motor);
        assert_eq!(soft.at_encoders().0.len(), 7);
        let read =
            |soft: &Plant| soft.at_encoders().0.iter().zip(&rigid.q).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(read(&soft));
        let sunk = soft.link_positions().iter().zip(&rigid.q).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!((1e-4..1e-2).contains(&sunk), "{sunk}");
        let (mut holding, start) = ([0.0; 7], soft.q.clone());
        // The torques that hold the links where they are now.
        soft.holding(&[0.0; 7], &mut holding);
        (0..200).for_each(|_| soft.advance(&holding, 1e-3, |_| ()));
        assert!(soft.q.iter().zip(&start).all(|(a, b)| (a - b).abs() < 1e-9), "{:?} {start:?}", soft.q);
    }

    /// It stands where it stood, and stiff springs make it the rigid plant.
    #[test]
    fn stiff_joints_move_as_rigid_ones() {
        let mut holding = [0.0; 7];
        plant(None).holding(&[0.0; 7], &mut holding);
        let mut soft = plant(Some(1e4));
        let start = soft.q.clone();
        (0..200).for_each(|_| soft.advance(&holding, 1e-3, |_| ()));
        assert!(soft.q.iter().zip(&start).all(|(a, b)| (a - b).abs() < 1e-9), "{:?} {start:?}", soft.q);
        let pushed: Vec<f64> = holding.iter().map(|x| x + 8.0).collect();
        let moved = |mut plant: Plant| {
            (0..300).for_each(|_| plant.advance(&pushed, 1e-3, |moment| assert_eq!(moment.q.len(), 7)));
            plant.link_positions().to_vec()
        };
        let (rigid, stiff, soft) = (moved(plant(None)), moved(plant(Some(1e5))), moved(plant(Some(3e3))));
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(apart(&rigid, &stiff) < 1e-3 && apart(&rigid, &start[..7]) > 1e-2);
        assert!(apart(&rigid, &soft) > 2.0 * apart(&rigid, &stiff));
    }
}
