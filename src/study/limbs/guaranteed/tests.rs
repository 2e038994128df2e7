//! Digit's leg with truths and sensor errors drawn, and each term of the bound attacked.

mod terms;
mod trials;
mod whole;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::*;
use crate::recording::MeasurementLog;
use crate::robot::load_model;
use crate::study::limbs::tests::{Sine, sums_of_sines};

/// Sensor errors of the trials, by the campaign on Digit: its deviations are bounds here.
pub(super) fn assumptions() -> FrictionAssumptions {
    FrictionAssumptions {
        position_error: 1e-4,
        velocity_error: 2e-3,
        torque_error: vec![0.2],
        unmodelled: vec![0.05],
        acceleration: vec![0.0],
        breakaway_ratio: 1.2,
        clock: Clock::Control,
        window_s: [0.032, 0.6],
    }
}

/// The left leg: six motors, nine passive joints, three loops.
pub(super) fn leg() -> Model {
    let held = load_model("digit").unwrap().with_base_held();
    let limb = held.limbs().into_iter().find(|limb| !limb.model.loops.is_empty()).unwrap();
    assert_eq!((motors_and_base(&limb.model).len(), limb.model.bodies()), (6, 15));
    limb.model
}

/// Sums of sines of the motors.
pub(super) struct Waves {
    waves: Vec<(f64, [Sine; 2])>,
}

impl Waves {
    /// Within the proven domain and 0.6 of the other joints' ranges.
    pub(super) fn draw(robot: &Model, domain: &ClosureDomain, rng: &mut ChaCha8Rng) -> Self {
        let wave = |&motor: &usize| {
            let block = domain.blocks.iter().find_map(|block| {
                let place = block.block.motors.iter().position(|&j| j == motor)?;
                Some((block.rectangle[place].lower(), block.rectangle[place].upper()))
            });
            let (lower, upper) = block.or(robot.joints[motor].limits.position).unwrap_or((-1.0, 1.0));
            let share = if block.is_some() { 0.8 } else { 0.5 };
            let amplitude = (share * 0.5 * (upper - lower)).min(0.5);
            let mut sine = |k: usize| {
                let speed = (6.0 + 7.0 * k as f64) * rng.random_range(0.8..1.2);
                (amplitude * [0.7, 0.3][k], speed, rng.random_range(0.0..std::f64::consts::TAU))
            };
            (0.5 * (lower + upper), [sine(0), sine(1)])
        };
        Self { waves: motors_and_base(robot).iter().map(wave).collect() }
    }

    /// Positions, velocities and accelerations at time t.
    pub(super) fn at(&self, t: f64) -> [Vec<f64>; 3] {
        sums_of_sines(&self.waves, t)
    }

    /// What accelerations never exceed.
    pub(super) fn acceleration(&self) -> Vec<f64> {
        self.waves.iter().map(|(_, sines)| sines.iter().map(|(a, w, _)| 1.0001 * a * w * w).sum()).collect()
    }
}

/// The leg by plain numbers: what the enclosures must hold.
pub(super) struct Numbers<'a> {
    pub robot: &'a Model,
    pub domain: &'a ClosureDomain,
    pub reduced: ReducedDynamics,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(robot: &'a Model, domain: &'a ClosureDomain) -> Self {
        Self { robot, domain, reduced: ReducedDynamics::of_loops(robot).unwrap() }
    }

    pub(super) fn place(&mut self, [q_a, v, a]: &[Vec<f64>; 3]) {
        let mut q = configuration::neutral(self.robot);
        motors_and_base(self.robot).iter().zip(q_a).for_each(|(&k, x)| q[k] = *x);
        self.domain.place(self.robot, &mut q).unwrap();
        self.reduced.close(self.robot, &mut q).unwrap();
        self.reduced.place(self.robot, &q, v, a).unwrap();
    }

    /// Torques that a motion needs, N m.
    pub(super) fn torque(&mut self, theta: &[f64], motion: &[Vec<f64>; 3]) -> Vec<f64> {
        self.place(motion);
        self.reduced.torque(self.robot, theta).unwrap().as_slice().to_vec()
    }

    /// Their mean from `from` to `to` s, by Gauss's three nodes.
    pub(super) fn mean(
        &mut self,
        theta: &[f64],
        motion: &dyn Fn(f64) -> [Vec<f64>; 3],
        [from, to]: [f64; 2],
    ) -> Vec<f64> {
        let mut mean = vec![0.0; motors_and_base(self.robot).len()];
        for (node, weight) in [(-(0.6f64.sqrt()), 5.0 / 18.0), (0.0, 8.0 / 18.0), (0.6f64.sqrt(), 5.0 / 18.0)]
        {
            let u = self.torque(theta, &motion(0.5 * (from + to) + 0.5 * (to - from) * node));
            mean.iter_mut().zip(&u).for_each(|(mean, u)| *mean += weight * u);
        }
        mean
    }
}

/// Anything in the box, or one of its corners.
pub(super) fn truth(set: &ParameterSet, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let corner = rng.random_bool(0.5);
    let draw = |(lower, upper): (&f64, &f64)| {
        if !corner {
            lower + rng.random_range(0.0..=1.0) * (upper - lower)
        } else if rng.random() {
            *lower
        } else {
            *upper
        }
    };
    let mut theta: Vec<f64> = set.lower().iter().zip(set.upper()).map(draw).collect();
    // Rounding may have left the box by a unit.
    theta.iter_mut().enumerate().for_each(|(j, x)| *x = x.clamp(set.lower()[j], set.upper()[j]));
    theta
}
