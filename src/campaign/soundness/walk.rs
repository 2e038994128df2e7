//! An adversary that walks: from a random state uphill towards the bound of one claim.
//!
//! A state is a point of a cube: time, position errors, r, sensor errors, each as a share of what is possible. The
//! share of a bound that is used is a function on the cube; its gradient comes from differences, the step from what
//! succeeds. Where parameters enter linearly the worst corner is taken at each point, which is the exact ascent.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::attack::{Attack, AttackedLaw};
use super::case::Drawn;
use super::ledger::Ledger;
use crate::control::{Controller, Measured};
use crate::dynamics::truth::{self, extreme};
use crate::reach::Span;

/// Steps of one walk. Twice as many cost twice the time.
const STEPS: usize = 24;
/// Half the distance over which the gradient is taken, as a share of what a coordinate can reach: differences lose half
/// their digits to rounding, and what is left is enough to go uphill.
const REACH: f64 = 1e-4;

/// What a walk tries to exhaust.
#[derive(Debug, Clone, Copy)]
enum Goal {
    /// Nominal torque of a joint, up or down.
    Nominal(usize, f64),
    /// Disturbance bound of a joint.
    Rho(usize),
    /// Velocity of a joint.
    Velocity(usize),
    /// Position of a joint.
    Position(usize),
    /// Distance of a pair of the report.
    Distance(usize),
    /// V at the measured against V at the true state.
    Slack,
    /// Change of a joint's required torque within a tick.
    Drift(usize),
    /// Acceleration of a joint.
    Acceleration(usize),
    /// Command of a joint.
    Command(usize),
}

/// Parameters among which a walk that cannot compute the worst ones picks. Each takes a drawn body.
const THETAS: usize = 6;

impl Attack<'_> {
    /// Walks from a random state towards the bound of a random claim; what is met at the end of the walk is noted, and
    /// attacked in all other ways too. Gives the number of states that were tried.
    pub fn by_walking(&mut self, rng: &mut ChaCha8Rng, ledger: &mut Ledger) -> u64 {
        let n = self.truth.robot.dof();
        let mut theta = self.truth.parameters(rng);
        let goal = self.goal(n, rng);
        let mut x: Vec<f64> = (0..=4 * n).map(|_| 0.5 * extreme(rng)).collect();
        if matches!(goal, Goal::Drift(_) | Goal::Acceleration(_)) {
            let mut most = self.used(goal, &theta, &x);
            for _ in 1..THETAS {
                let other = self.truth.parameters(rng);
                let used = self.used(goal, &other, &x);
                if used > most {
                    (most, theta) = (used, other);
                }
            }
        }
        let tried = climb(&mut x, |x| self.used(goal, &theta, x));
        let (t, drawn) = self.at(&theta, &x);
        self.with(&theta, t, &drawn, rng, ledger);
        tried
    }

    fn goal(&self, n: usize, rng: &mut ChaCha8Rng) -> Goal {
        let j = rng.random_range(0..n);
        let near: Vec<usize> = (0..self.report.clearances.len())
            .filter(|&k| {
                let claimed = self.report.clearances[k].separation.clearance_m;
                claimed > 0.0 && claimed.is_finite()
            })
            .collect();
        match rng.random_range(0..11) {
            0 | 1 => Goal::Nominal(j, if rng.random() { 1.0 } else { -1.0 }),
            2 => Goal::Rho(j),
            3 => Goal::Velocity(j),
            4 => Goal::Position(j),
            5 => Goal::Slack,
            6 => Goal::Drift(j),
            7 => Goal::Acceleration(j),
            8 => Goal::Command(j),
            _ if near.is_empty() => Goal::Rho(j),
            _ => Goal::Distance(near[rng.random_range(0..near.len())]),
        }
    }

    /// The time and the state at a point of the cube.
    fn at(&self, theta: &[f64], x: &[f64]) -> (f64, Drawn) {
        let n = self.truth.robot.dof();
        let (t0, t1) = match self.report.span {
            Span::Between(t0, t1) => (t0, t1),
            Span::Rest => (self.truth.curve.duration_s, self.truth.curve.duration_s + 1.0),
        };
        let t = (0.5 * (t0 + t1) + 0.5 * (t1 - t0) * x[0]).clamp(t0, t1);
        let part = |k: usize| &x[1 + k * n..1 + (k + 1) * n];
        let level = part(1).iter().map(|x| x * x).sum::<f64>().min(1.0);
        let e = self.truth.position_errors(part(0));
        (t, self.truth.state(theta, t, &e, part(1), level, [part(2), part(3)]))
    }

    /// Share of the goal's bound that is used at a point of the cube.
    fn used(&mut self, goal: Goal, theta: &[f64], x: &[f64]) -> f64 {
        let (t, d) = self.at(theta, x);
        if let Goal::Drift(j) | Goal::Acceleration(j) | Goal::Command(j) = goal {
            let Tick { drift, acceleration, command } = self.tick_from(theta, t, &d);
            let report = self.report;
            return match goal {
                Goal::Drift(_) => drift[j].abs() / report.required.drift_nm[j],
                Goal::Acceleration(_) => acceleration[j].abs() / report.required.acceleration_bound[j],
                _ => command[j].abs() / (report.torque[j].nominal_sup() + report.robust[j]),
            };
        }
        let (robot, report) = (&self.truth.robot, self.report);
        let law = || AttackedLaw::new(self.claim, t, (&d.read_q, &d.read_dq), &d.desired);
        match goal {
            Goal::Nominal(j, sign) => {
                let bounds = &report.torque[j];
                let middle = 0.5 * (bounds.nominal_lower + bounds.nominal_upper);
                sign * (law().nominal[j] - middle) / (bounds.nominal_upper - middle)
            }
            Goal::Rho(j) => law().rho[j] / report.torque[j].rho,
            Goal::Velocity(j) => d.dq[j].abs() - robot.joints[j].limits.velocity,
            Goal::Position(j) => match robot.joints[j].limits.position {
                Some((lower, upper)) => (lower - d.q[j]).max(d.q[j] - upper),
                None => d.q[j],
            },
            Goal::Distance(k) => -self.distance(k, &robot.frames(&d.q)),
            Goal::Slack => {
                let [_, _, read_r] = self.claim.auxiliary(&d.desired, &d.read_q, &d.read_dq);
                let [_, _, r] = self.claim.auxiliary(&d.desired, &d.q, &d.dq);
                let energy = |q: &[f64], r: &[f64]| truth::energy(robot, theta, q, r);
                (energy(&d.q, &r) - energy(&d.read_q, &read_r)).abs() / report.required.energy_slack_j
            }
            Goal::Drift(_) | Goal::Acceleration(_) | Goal::Command(_) => f64::NEG_INFINITY,
        }
    }

    /// What one tick from a state makes, friction pushing outward: near enough to walk by (the motion within the tick at constant
    /// acceleration); the state where a walk ends is held against the claims by a better plant.
    fn tick_from(&mut self, theta: &[f64], t: f64, d: &Drawn) -> Tick {
        let (robot, n) = (&self.truth.robot, self.truth.robot.dof());
        let h = self.claim.tube.gains.period_s;
        let mut command = vec![0.0; n];
        self.controller.tick(t, Measured { q: &d.read_q, dq: &d.read_dq }, &d.desired, &mut command);
        let [read_dqa, read_ddqa, _] = self.claim.auxiliary(&d.desired, &d.read_q, &d.read_dq);
        let before = truth::needed(&self.claim.robot, theta, [&d.read_q, &d.read_dq, &read_dqa, &read_ddqa]);
        let [_, _, r] = self.claim.auxiliary(&d.desired, &d.q, &d.dq);
        let pushes: Vec<f64> = r.iter().map(|r| r.signum()).collect();
        let acceleration = truth::acceleration(robot, theta, &d.q, &d.dq, &command, &pushes);
        let plus = |x: &[f64], y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x + h * y).collect() };
        let (q, dq) = (plus(&d.q, &d.dq), plus(&d.dq, &acceleration));
        let desired = self.truth.curve.state(t + h);
        let [dqa, ddqa, _] = self.claim.auxiliary(&desired, &q, &dq);
        let after = truth::needed(robot, theta, [&q, &dq, &dqa, &ddqa]);
        let drift = after.iter().zip(&before).map(|(a, b)| a - b).collect();
        Tick { drift, acceleration, command }
    }
}

/// Change of the required torque (N m), acceleration (rad/s^2) and command (N m) of each joint.
struct Tick {
    drift: Vec<f64>,
    acceleration: Vec<f64>,
    command: Vec<f64>,
}

/// Projected gradient ascent of `f` on the cube [-1, 1]^m from `x`; gives the number of evaluations.
fn climb(x: &mut Vec<f64>, mut f: impl FnMut(&[f64]) -> f64) -> u64 {
    let mut best = f(x);
    let mut tried = 1;
    let mut stride = 0.5;
    for _ in 0..STEPS {
        let slope: Vec<f64> = (0..x.len())
            .map(|i| {
                let at = x[i];
                let (up, down) = ((at + REACH).min(1.0), (at - REACH).max(-1.0));
                let mut side = |to: f64| {
                    x[i] = to;
                    f(x)
                };
                let slope = (side(up) - side(down)) / (up - down);
                x[i] = at;
                slope
            })
            .collect();
        tried += 2 * x.len() as u64;
        let steepest = slope.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        if !(steepest > 0.0) {
            break;
        }
        while stride > 1e-3 {
            let next: Vec<f64> =
                x.iter().zip(&slope).map(|(x, s)| (x + stride * s / steepest).clamp(-1.0, 1.0)).collect();
            let value = f(&next);
            tried += 1;
            if value > best {
                (best, *x) = (value, next);
                stride *= 2.0;
                break;
            }
            stride *= 0.25;
        }
        if stride <= 1e-3 {
            break;
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbs_to_the_top_of_a_hill_and_to_the_corner_of_a_slope() {
        let mut x = vec![0.9, -0.9];
        climb(&mut x, |x| -(x[0] - 0.2).powi(2) - 3.0 * (x[1] + 0.1).powi(2));
        assert!((x[0] - 0.2).abs() < 0.05 && (x[1] + 0.1).abs() < 0.05, "{x:?}");
        let mut x = vec![0.0, 0.0, 0.3];
        climb(&mut x, |x| x[0] - 2.0 * x[1]);
        assert_eq!((x[0], x[1]), (1.0, -1.0));
    }
}
