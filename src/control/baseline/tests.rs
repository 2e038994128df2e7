//! An arm to try controllers on: rigid bodies, friction with breakaway, torques held for a tick, encoders with their errors.

use std::sync::Arc;

use crate::control::{AdaptiveController, AdaptiveRobustController, Controller, GravityPid, Measured};
use crate::dynamics::Workspace;
use crate::inertia::{COULOMB, INERTIAL, pseudo};
use crate::robot::Arm;
use crate::trajectory::{Bezier, JointState};

/// The arm stretched forward: the hand is far from the joints that carry it.
pub(in crate::control) const STRETCHED: [f64; 7] = [0.3, 1.3, 0.2, -0.4, 0.1, 0.3, 0.2];
/// The dumbbell of 8 lb, kg.
pub(in crate::control) const HELD_KG: f64 = 3.629;
/// Steps of the plant within a tick.
const STEPS: usize = 2;
/// Static over Coulomb friction: as large as the robot file allows.
const BREAKAWAY: f64 = 1.2;

/// What came of a stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::control) struct Followed {
    /// Largest error of each joint, rad.
    pub error: Vec<f64>,
    /// Ticks with a torque at its limit.
    pub saturated: usize,
}

impl Followed {
    /// Largest error of any joint, rad.
    pub fn most(&self) -> f64 {
        self.error.iter().copied().fold(0.0, f64::max)
    }
}

/// The arm on the bench.
pub(in crate::control) struct Bench {
    pub robot: Arc<Arm>,
    pub theta: Vec<f64>,
    pub q: Vec<f64>,
    pub dq: Vec<f64>,
    noisy: bool,
    noise: u64,
    space: Workspace,
}

impl Bench {
    /// The empty arm at rest at `q`.
    pub fn empty(q: &[f64]) -> Self {
        let robot = Arc::new(crate::robot::load("kinova_gen3_2f85").unwrap());
        let space = Workspace::new(&robot);
        let (q, dq, theta) = (q.to_vec(), vec![0.0; q.len()], robot.nominal_parameters());
        Self { robot, theta, q, dq, noisy: true, noise: 1, space }
    }

    /// The arm with so many kg between its fingers.
    pub fn holding(q: &[f64], held_kg: f64) -> Self {
        let mut bench = Self::empty(q);
        if held_kg > 0.0 {
            let center = nalgebra::Vector3::new(0.0, 0.0, -0.1815);
            let inertia = nalgebra::Matrix3::from_diagonal(&nalgebra::Vector3::new(0.016, 0.005, 0.016));
            let held = pseudo::from_center_of_mass(held_kg, &center, &inertia);
            let at = bench.robot.body_range(bench.robot.end_effector());
            bench.theta[at].iter_mut().zip(held).for_each(|(x, held)| *x += held);
        }
        bench
    }

    /// The same arm with links and friction heavier than its model by this ratio; the robot file allows 0.05.
    pub fn heavier(mut self, ratio: f64) -> Self {
        self.theta.iter_mut().for_each(|x| *x *= 1.0 + ratio);
        self
    }

    /// `theta` without Coulomb friction.
    pub fn without_coulomb(&self, theta: &[f64]) -> Vec<f64> {
        let mut theta = theta.to_vec();
        (0..self.robot.dof()).for_each(|j| theta[self.robot.friction_index(j) + COULOMB] = 0.0);
        theta
    }

    /// The same arm without Coulomb friction.
    pub fn without_friction(mut self) -> Self {
        self.theta = self.without_coulomb(&self.theta);
        self
    }

    /// The same arm with perfect encoders and ticks of this length.
    pub fn ideal(mut self, period_s: f64) -> Self {
        let gains = crate::robot::Gains { period_s, ..self.robot.gains() };
        self.robot = Arc::new(self.robot.with_gains(gains).unwrap());
        self.noisy = false;
        self
    }

    /// Uniform in -1 ..= 1 (a linear congruential generator is enough).
    fn draw(&mut self) -> f64 {
        self.noise =
            self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        2.0 * ((self.noise >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    }

    /// What the encoders say.
    fn read(&mut self, values: &[f64], bound: f64) -> Vec<f64> {
        let bound = if self.noisy { bound } else { 0.0 };
        values.iter().map(|x| x + bound * self.draw()).collect()
    }

    /// Follows `desired`, a function of the time from here, for `duration_s`.
    pub fn run(
        &mut self,
        law: &mut (impl Controller + ?Sized),
        duration_s: f64,
        desired: impl FnMut(f64) -> JointState,
    ) -> Followed {
        self.run_pushed(law, (0.0, duration_s), desired, |_| 0.0)
    }

    /// [`Bench::run`] from a time on, for a duration, while the second joint is pushed by so many N m.
    pub fn run_pushed(
        &mut self,
        law: &mut (impl Controller + ?Sized),
        (start_s, duration_s): (f64, f64),
        mut desired: impl FnMut(f64) -> JointState,
        push: impl Fn(f64) -> f64,
    ) -> Followed {
        let (n, period, sensors) = (self.q.len(), self.robot.gains().period_s, self.robot.sensors().clone());
        let (mut tau, mut found) = (vec![0.0; n], Followed { error: vec![0.0; n], saturated: 0 });
        for k in 0..(duration_s / period).round() as usize {
            let t = start_s + k as f64 * period;
            let at = desired(t);
            let (true_q, true_dq) = (self.q.clone(), self.dq.clone());
            let (q, dq) =
                (self.read(&true_q, sensors.position_rad), self.read(&true_dq, sensors.velocity_rad_s));
            found.saturated += usize::from(law.tick(t, Measured { q: &q, dq: &dq }, &at, &mut tau).saturated);
            for (j, error) in found.error.iter_mut().enumerate() {
                *error = error.max((at.q[j] - self.q[j]).abs());
            }
            let mut applied = tau.clone();
            applied[1] += push(t);
            (0..STEPS).for_each(|_| self.step(&applied, period / STEPS as f64));
        }
        found
    }

    fn acceleration(&mut self, q: &[f64], dq: &[f64], tau: &[f64]) -> Vec<f64> {
        let band = self.robot.gains().stiction_speed_rad_s;
        let left = |(j, tau): (usize, &f64)| {
            let own = self.robot.joint_parameters(&self.theta, j);
            tau - own.coulomb * share(dq[j] / band) - own.viscous * dq[j] - own.offset
        };
        let left: Vec<f64> = tau.iter().enumerate().map(left).collect();
        let mut ddq = vec![0.0; q.len()];
        self.space.forward_dynamics(&self.robot, q, dq, &left, &self.theta, &mut ddq);
        ddq
    }

    /// One step of the classical Runge-Kutta rule.
    fn step(&mut self, tau: &[f64], h: f64) {
        let plus =
            |x: &[f64], s: f64, y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(a, b)| a + s * b).collect() };
        let (q1, v1) = (self.q.clone(), self.dq.clone());
        let a1 = self.acceleration(&q1, &v1, tau);
        let (q2, v2) = (plus(&q1, 0.5 * h, &v1), plus(&v1, 0.5 * h, &a1));
        let a2 = self.acceleration(&q2, &v2, tau);
        let (q3, v3) = (plus(&q1, 0.5 * h, &v2), plus(&v1, 0.5 * h, &a2));
        let a3 = self.acceleration(&q3, &v3, tau);
        let (q4, v4) = (plus(&q1, h, &v3), plus(&v1, h, &a3));
        let a4 = self.acceleration(&q4, &v4, tau);
        for j in 0..q1.len() {
            self.q[j] += h / 6.0 * (v1[j] + 2.0 * v2[j] + 2.0 * v3[j] + v4[j]);
            self.dq[j] += h / 6.0 * (a1[j] + 2.0 * a2[j] + 2.0 * a3[j] + a4[j]);
        }
    }
}

/// Share of F_c at `speed`, in units of the stiction speed: up to breakaway, then down to 1, as the simulated arm has it.
fn share(speed: f64) -> f64 {
    let (size, peak) = (speed.abs(), 1.0 / BREAKAWAY);
    let share = if size >= 1.0 {
        1.0
    } else if size <= peak {
        BREAKAWAY * BREAKAWAY * size
    } else {
        BREAKAWAY + (1.0 - BREAKAWAY) * (size - peak) / (1.0 - peak)
    };
    share * speed.signum()
}

/// Half a radian of all joints within 3 s, from rest to rest.
pub(in crate::control) fn half_radian(from: &[f64]) -> impl Fn(f64) -> JointState {
    let end: Vec<f64> = from.iter().map(|q| q - 0.5).collect();
    let curve = Bezier::to_rest(&JointState::at_rest(from), &end, 3.0).unwrap();
    move |t| curve.state(t)
}

/// A motion that excites all ten parameters of the hand: sines of different periods, at rest at first.
pub(in crate::control) fn exciting(around: &[f64], t: f64) -> JointState {
    let mut at = JointState::at_rest(around);
    for j in 0..around.len() {
        let (size, w) = (0.4, 1.0 + 0.37 * j as f64);
        at.q[j] += size * (1.0 - (w * t).cos());
        at.dq[j] = size * w * (w * t).sin();
        at.ddq[j] = size * w * w * (w * t).cos();
    }
    at
}

/// Neither a body's parameters nor their number are those of another layout.
#[test]
fn what_is_held_is_added_to_the_hand() {
    let (empty, holding) = (Bench::empty(&STRETCHED), Bench::holding(&STRETCHED, HELD_KG));
    let at = empty.robot.body_range(empty.robot.end_effector());
    assert_eq!(at.len(), INERTIAL);
    assert!((holding.theta[at.start] - empty.theta[at.start] - HELD_KG).abs() < 1e-12);
}

/// Sampling is no limit to the gains: with ticks five times as long the loaded arm is still followed and held.
#[test]
fn ticks_that_are_five_times_as_long_do_no_harm() {
    fn most(law: impl Fn(&Bench, &[f64]) -> Box<dyn Controller>) -> [f64; 2] {
        [1e-3, 5e-3].map(|period_s| {
            let mut bench = Bench::holding(&STRETCHED, HELD_KG).ideal(period_s);
            let mut law = law(&bench, &bench.robot.nominal_parameters());
            let followed = bench.run(law.as_mut(), 3.0, half_radian(&STRETCHED));
            let end = half_radian(&STRETCHED)(3.0);
            bench.run(law.as_mut(), 2.0, |_| end.clone());
            let held = bench.run(law.as_mut(), 1.0, |_| end.clone());
            assert!(held.most() < 2e-3, "{period_s} s: {held:?}");
            followed.most()
        })
    }
    let all = [
        most(|b, model| Box::new(GravityPid::new(b.robot.clone(), model, Default::default()).unwrap())),
        most(|b, model| {
            Box::new(AdaptiveController::new(b.robot.clone(), model, Default::default()).unwrap())
        }),
        most(|b, model| {
            Box::new(AdaptiveRobustController::new(b.robot.clone(), model, Default::default()).unwrap())
        }),
    ];
    for [fast, slow] in all {
        assert!(slow < 1.2 * fast, "{all:?}");
    }
}
