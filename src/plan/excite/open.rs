//! The literature's way to excite: one long trajectory of a family with many coefficients, at rest at both ends, chosen
//! beforehand for its condition number. For comparison alone: its constraints are looked at in samples, for the prior,
//! without tracking errors. Nothing is proven about it, and nothing executes it but a simulated experiment.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::criterion::Judgement;
use super::{Criterion, Information, samples_along};
use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::robot::{Arm, Scene};
use crate::trajectory::{BSpline, Curve, Fourier, JointState};

/// Random designs from which the search starts with the best. They count beside the evaluations asked for; a search from a
/// bad start spends more than these on getting away.
const CANDIDATES: usize = 60;
/// Shares of a design's amplitude that are tried until it keeps the limits. Steps of a fifth to a half: finer ones waste
/// evaluations on designs that are out of the question.
const SHARES: [f64; 8] = [1.0, 0.8, 0.64, 0.5, 0.38, 0.28, 0.18, 0.1];
/// First step of the search, as a share of a coefficient's range, and what becomes of it after a success and a failure:
/// it stays where one step in five is one.
const STEP: (f64, f64, f64) = (0.3, 1.5, 0.903_602);

/// A family of trajectories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurveBasis {
    /// [`Fourier`] with so many harmonics, at least 2.
    Fourier(usize),
    /// [`BSpline`] with so many free control points, at least 1.
    BSpline(usize),
}

/// What a design has to keep to.
#[derive(Debug, Clone, Copy)]
pub struct DesignTask<'a> {
    /// The robot, payload shape included.
    pub robot: &'a Arm,
    /// What is known of the parameters.
    pub set: &'a ParameterSet,
    /// Obstacles.
    pub scene: &'a Scene,
    /// Where the arm rests at first, rad.
    pub start: &'a [f64],
    /// Duration, s.
    pub duration_s: f64,
    /// Samples at which cost and limits are looked at.
    pub samples: usize,
    /// Which limits it keeps to.
    pub limits: DesignLimits,
}

/// Limits of a design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DesignLimits {
    /// Position, speed, torque for every parameter of the set, and distance.
    All,
    /// Position, speed and this acceleration, rad/s^2 (m/s^2), alone, as in the baseline `grav-pid-excit` of \[1\].
    Kinematic(f64),
}

/// The best design that a random search of `evaluations` steps found, with the logarithm of its condition number; `None` if no
/// motion at all keeps the limits.
pub fn design(
    task: &DesignTask<'_>,
    family: CurveBasis,
    evaluations: usize,
    seed: u64,
) -> Option<(Box<dyn Curve>, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = task.robot.dof();
    let numbers = n * match family {
        CurveBasis::Fourier(harmonics) => 2 * (harmonics.max(2) - 1),
        CurveBasis::BSpline(points) => points.max(1),
    };
    let mut best: Option<(Vec<f64>, Box<dyn Curve>, f64)> = None;
    let mut step = STEP.0;
    for k in 0..CANDIDATES + evaluations {
        let trial: Vec<f64> = match &best {
            Some((x, ..)) if k >= CANDIDATES => {
                x.iter().map(|x| (x + step * rng.random_range(-1.0..=1.0)).clamp(-1.0, 1.0)).collect()
            }
            _ => (0..numbers).map(|_| rng.random_range(-1.0..=1.0)).collect(),
        };
        let found = SHARES.iter().find_map(|share| {
            let scaled: Vec<f64> = trial.iter().map(|x| share * x).collect();
            let curve = task.curve(family, &scaled).filter(|curve| task.allows(curve.as_ref()))?;
            Some((scaled, curve))
        });
        let cost = found.as_ref().map_or(f64::INFINITY, |(_, curve)| task.cost(curve.as_ref()));
        let better = best.as_ref().is_none_or(|(.., least)| cost < *least);
        if k >= CANDIDATES {
            step = (step * if better { STEP.1 } else { STEP.2 }).clamp(1e-3, 1.0);
        }
        if let Some((x, curve)) = found.filter(|_| better && cost.is_finite()) {
            best = Some((x, curve, cost));
        }
    }
    best.map(|(_, curve, cost)| (curve, cost))
}

impl DesignTask<'_> {
    /// The trajectory with the coefficients `x` in \[-1, 1\].
    fn curve(&self, family: CurveBasis, x: &[f64]) -> Option<Box<dyn Curve>> {
        let n = self.robot.dof();
        let each = x.len() / n.max(1);
        let speed = |j: usize| self.robot.joints[j].limits.velocity;
        match family {
            CurveBasis::Fourier(_) => {
                let pair = |j: usize, c: &[f64]| [c[0] * speed(j), c[1] * speed(j)];
                let free = |j: usize| x[each * j..each * (j + 1)].chunks(2).map(|c| pair(j, c)).collect();
                let free: Vec<Vec<[f64; 2]>> = (0..n).map(free).collect();
                Some(Box::new(Fourier::at_rest(self.start, &free, self.duration_s).ok()?))
            }
            CurveBasis::BSpline(_) => {
                // As far as the joint gets from one knot to the next, and half a turn at most.
                let reach = |j: usize| (speed(j) * self.duration_s).min(std::f64::consts::PI);
                let free = |j: usize| {
                    x[each * j..each * (j + 1)].iter().map(|x| self.start[j] + reach(j) * x).collect()
                };
                let free: Vec<Vec<f64>> = (0..n).map(free).collect();
                Some(Box::new(BSpline::at_rest(self.start, &free, self.duration_s).ok()?))
            }
        }
    }

    fn cost(&self, curve: &dyn Curve) -> f64 {
        let samples = samples_along(self.robot, curve, self.duration_s, self.samples, None);
        let (criterion, nothing) = (Criterion::condition_number(), Information::none());
        criterion.judge(&nothing, &samples, &mut Judgement::default()).unwrap_or(f64::INFINITY)
    }

    /// Whether position, velocity, torque (for every parameter of the set) and distance are kept at all samples.
    fn allows(&self, curve: &dyn Curve) -> bool {
        let robot = self.robot;
        let n = robot.dof();
        let (center, radius) = (self.set.center(), self.set.radius());
        let (mut motion, mut y) = (Motion::new(robot), vec![0.0; n * INERTIAL * n]);
        let mut state = JointState::at_rest(&vec![0.0; n]);
        (0..=self.samples).all(|s| {
            curve.evaluate(self.duration_s * s as f64 / self.samples as f64, &mut state);
            let within = robot.joints.iter().enumerate().all(|(j, joint)| {
                let inside = |(lower, upper): (f64, f64)| (lower..=upper).contains(&state.q[j]);
                joint.limits.position.is_none_or(inside) && state.dq[j].abs() <= joint.limits.velocity
            });
            if !within {
                return false;
            }
            if let DesignLimits::Kinematic(acceleration) = self.limits {
                return state.ddq.iter().all(|ddq| ddq.abs() <= acceleration);
            }
            motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
            torque_regressor(robot, &motion, 0..n, &mut y);
            let strong = (0..n).all(|j| {
                let at = robot.joint_index(j);
                let friction = [
                    (at.coulomb, state.dq[j].signum()),
                    (at.viscous, state.dq[j]),
                    (at.armature, state.ddq[j]),
                    (at.offset, 1.0),
                ];
                let links = y[INERTIAL * n * j..INERTIAL * n * (j + 1)].iter().copied().enumerate();
                let (tau, spread) = links.chain(friction).fold((0.0, 0.0), |(tau, spread), (p, y)| {
                    (tau + y * center[p], spread + y.abs() * radius[p])
                });
                tau.abs() + spread <= robot.joints[j].limits.torque
            });
            strong && self.is_free(&state.q)
        })
    }

    fn is_free(&self, q: &[f64]) -> bool {
        let frames = self.robot.frames(q);
        let nearest =
            [self.robot.obstacle_clearance(&frames, self.scene), self.robot.self_clearance(&frames)];
        nearest.into_iter().flatten().all(|clearance| clearance.distance > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::fixture::dumbbell;

    #[test]
    fn designs_keep_the_limits_and_get_better() {
        designs_get_better(&[CurveBasis::Fourier(4)]);
    }

    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn designs_keep_the_limits_and_get_better_at_length() {
        designs_get_better(&[CurveBasis::Fourier(4), CurveBasis::BSpline(6)]);
    }

    fn designs_get_better(families: &[CurveBasis]) {
        let public = dumbbell(3.0);
        let task = DesignTask {
            robot: &public.robot,
            set: &public.set,
            scene: &public.scene,
            start: &public.start,
            duration_s: 7.5,
            samples: 60,
            limits: DesignLimits::All,
        };
        for &family in families {
            let (_, first) = design(&task, family, 0, 1).unwrap();
            let (curve, later) = design(&task, family, 40, 1).unwrap();
            assert!(later < first && later.is_finite(), "{first} {later}");
            let mut state = JointState::at_rest(&[0.0; 7]);
            for (k, still) in [(0, true), (30, false), (60, true)] {
                curve.evaluate(7.5 * f64::from(k) / 60.0, &mut state);
                assert_eq!(state.dq.iter().all(|x| x.abs() < 1e-9), still, "{state:?}");
            }
            assert!(task.allows(curve.as_ref()));
        }
        // A slow joint is all that counts.
        let slow = DesignTask { limits: DesignLimits::Kinematic(5.0), ..task };
        let (curve, _) = design(&slow, CurveBasis::Fourier(4), 0, 1).unwrap();
        let mut state = JointState::at_rest(&[0.0; 7]);
        for k in 0..=60 {
            curve.evaluate(7.5 * f64::from(k) / 60.0, &mut state);
            assert!(state.ddq.iter().all(|ddq| ddq.abs() <= 5.0));
        }
        // Where the start is not allowed, nothing is.
        let stuck = DesignTask { start: &[0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0], ..task };
        assert!(design(&stuck, CurveBasis::Fourier(3), 0, 1).is_none());
    }
}
