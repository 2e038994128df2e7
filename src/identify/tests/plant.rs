//! A simulated arm that moves and is measured.

use super::*;
use crate::robot::Sensors;

pub(super) struct Plant<'a> {
    robot: &'a Arm,
    theta: &'a [f64],
    pub(super) motion: Motion<f64>,
    composites: Composites<f64>,
    pub(super) wrenches: Vec<Wrench<f64>>,
}

impl<'a> Plant<'a> {
    pub(super) fn new(robot: &'a Arm, theta: &'a [f64]) -> Self {
        let n = robot.dof();
        Self {
            robot,
            theta,
            motion: Motion::new(robot),
            composites: Composites::new(robot),
            wrenches: vec![Wrench::zero(); n],
        }
    }

    pub(super) fn friction(&self, j: usize, dq: f64) -> f64 {
        let at = self.robot.joint_index(j);
        let s = (dq / self.robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
        self.theta[at.coulomb] * s + self.theta[at.viscous] * dq + self.theta[at.offset]
    }

    /// Torque for an acceleration.
    pub(super) fn inverse(&mut self, q: &[f64], dq: &[f64], ddq: &[f64]) -> Vec<f64> {
        let n = self.robot.dof();
        let mut tau = vec![0.0; n];
        self.motion.sweep(self.robot, q, dq, dq, ddq);
        rnea(self.robot, &self.motion, self.theta, &mut self.wrenches, &mut tau);
        for j in 0..n {
            tau[j] += self.friction(j, dq[j]) + self.theta[self.robot.joint_index(j).armature] * ddq[j];
        }
        tau
    }

    pub(super) fn forward(&mut self, q: &[f64], dq: &[f64], tau: &[f64]) -> DVector<f64> {
        let n = self.robot.dof();
        let bias = self.inverse(q, dq, &vec![0.0; n]);
        let mut m = vec![0.0; n * n];
        crba(self.robot, &self.motion, self.theta, &mut self.composites, &mut m);
        let mut m = DMatrix::from_row_slice(n, n, &m);
        for j in 0..n {
            m[(j, j)] += self.theta[self.robot.joint_index(j).armature];
        }
        m.cholesky().unwrap().solve(&DVector::from_fn(n, |j, _| tau[j] - bias[j]))
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    Uniform,
    /// Always at the end of its interval, one sign a joint: nothing averages out.
    Corner,
}

pub(crate) fn noise(seed: u64) -> Noise {
    if seed.is_multiple_of(2) { Noise::Uniform } else { Noise::Corner }
}

/// Angles that are sums of two cosines at every joint, from rest.
struct Waves {
    start: Vec<f64>,
    /// Amplitude and frequency of either cosine.
    waves: Vec<[f64; 4]>,
}

impl Waves {
    fn draw(n: usize, rng: &mut ChaCha8Rng) -> Self {
        let waves = (0..n)
            .map(|_| {
                let frequency = rng.random_range(0.6..1.6);
                let slower = rng.random_range(0.3..0.9);
                [
                    rng.random_range(0.2..0.5) / frequency,
                    frequency,
                    rng.random_range(0.2..0.5) / slower,
                    slower,
                ]
            })
            .collect();
        Self { waves, start: (0..n).map(|_| rng.random_range(-1.0..1.0)).collect() }
    }

    /// Angle, velocity and acceleration of joint `j` at time `t`.
    fn at(&self, j: usize, t: f64) -> (f64, f64, f64) {
        let [a, w, b, v] = self.waves[j];
        (
            self.start[j] + a * (1.0 - (w * t).cos()) + b * (1.0 - (v * t).cos()),
            a * w * (w * t).sin() + b * v * (v * t).sin(),
            a * w * w * (w * t).cos() + b * v * v * (v * t).cos(),
        )
    }

    /// Accelerations that lead back to the motion from wherever the arm is.
    fn wanted(&self, t: f64, q: &[f64], dq: &[f64]) -> Vec<f64> {
        (0..q.len())
            .map(|j| {
                let (p, v, a) = self.at(j, t);
                a + 20.0 * (v - dq[j]) + 100.0 * (p - q[j])
            })
            .collect()
    }
}

/// Sensors whose errors are within their bounds.
struct Reader<'a> {
    sensors: &'a Sensors,
    noise: Noise,
    signs: Vec<f64>,
    rng: &'a mut ChaCha8Rng,
}

impl Reader<'_> {
    fn read(&mut self, values: &[f64], bound: &dyn Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut share = |j: usize| match self.noise {
            Noise::Uniform => self.rng.random_range(-0.9999..0.9999),
            Noise::Corner => 0.9999 * self.signs[j],
        };
        values.iter().enumerate().map(|(j, &x)| x + bound(j, x) * share(j)).collect()
    }

    fn sample(&mut self, t: f64, q: &[f64], dq: &[f64], tau: &[f64]) -> Sample {
        let sensors = self.sensors;
        Sample {
            t,
            q: self.read(q, &|_, _| sensors.position_rad),
            dq: self.read(dq, &|_, _| sensors.velocity_rad_s),
            tau: self.read(tau, &|j, x| sensors.torque(j).error_nm(x)),
        }
    }
}

/// Moves the state by `h` seconds under constant torques, in four steps of Runge and Kutta's.
fn advance(x: &mut DVector<f64>, h: f64, mut rate: impl FnMut(&DVector<f64>) -> DVector<f64>) {
    let steps = 4;
    for _ in 0..steps {
        let s = h / steps as f64;
        let k1 = rate(x);
        let k2 = rate(&(&*x + 0.5 * s * &k1));
        let k3 = rate(&(&*x + 0.5 * s * &k2));
        let k4 = rate(&(&*x + s * &k3));
        *x += s / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    }
}

/// Simulates `seconds` of exciting motion; returns measured samples and the largest accelerations.
pub(crate) fn recording(
    robot: &Arm,
    theta: &[f64],
    seconds: f64,
    noise: Noise,
    rng: &mut ChaCha8Rng,
) -> (Vec<Sample>, Vec<f64>) {
    let (n, h) = (robot.dof(), robot.gains().period_s);
    let mut plant = Plant::new(robot, theta);
    let waves = Waves::draw(n, rng);
    let signs = (0..n).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
    let mut reader = Reader { sensors: robot.sensors(), noise, signs, rng };
    let mut x = DVector::from_fn(2 * n, |i, _| if i < n { waves.start[i] } else { 0.0 });
    let (mut samples, mut acceleration) = (vec![], vec![0.0_f64; n]);
    for k in 0..=(seconds / h).round() as usize {
        let t = k as f64 * h;
        let (q, dq) = x.as_slice().split_at(n);
        let tau = plant.inverse(q, dq, &waves.wanted(t, q, dq));
        samples.push(reader.sample(t, q, dq, &tau));
        advance(&mut x, h, |x| {
            let a = plant.forward(&x.as_slice()[..n], &x.as_slice()[n..], &tau);
            (0..n).for_each(|j| acceleration[j] = acceleration[j].max(1.05 * a[j].abs()));
            DVector::from_fn(2 * n, |i, _| if i < n { x[n + i] } else { a[i - n] })
        });
    }
    (samples, acceleration)
}
