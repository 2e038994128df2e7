//! What a proof quantifies over: an arm, a plan drawn for it, and the states that are possible along the plan.

use std::f64::consts::TAU;

use nalgebra::DVector;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::edge;
use crate::campaign::arm::Setup;
use crate::certify::{Problem, Refusal};
use crate::dynamics::truth::{self, extreme};
use crate::inertia::ParameterSet;
use crate::plan::tube_fit;
use crate::reach::{Tube, formulas};
use crate::robot::{Arm, Scene};
use crate::trajectory::{Bezier, JointState};

/// Plans drawn before it is said that no tube can be proven for an arm. The number is only there to end.
const ATTEMPTS: usize = 50;
/// Straight ways on the way to the edge of a set with strips, at most: one alone would reach few of its corners.
const TURNS: usize = 4;
/// Cells in which a tube is fitted and checked. Half as many refuse more of the plans that are drawn; twice as many take
/// twice the time.
const CELLS: usize = 16;

/// Everything that a proof quantifies over.
#[derive(Debug, Clone)]
pub struct Case {
    /// The robot.
    pub robot: Arm,
    /// The parameters that are possible.
    pub set: ParameterSet,
    /// The obstacles.
    pub scene: Scene,
    /// The constants of the tube.
    pub tube: Tube,
    /// The desired motion.
    pub curve: Bezier,
    /// Parameters within all strips of the set, every body consistent; none if there are no strips.
    pub inside: Option<Vec<f64>>,
}

/// A true state, what is measured of it, and what is desired; rad, s.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Position.
    pub q: Vec<f64>,
    /// Velocity.
    pub dq: Vec<f64>,
    /// Measured position.
    pub read_q: Vec<f64>,
    /// Measured velocity.
    pub read_dq: Vec<f64>,
    /// The desired state.
    pub desired: JointState,
}

impl Case {
    /// A case of a set without strips.
    pub fn new(robot: Arm, set: ParameterSet, scene: Scene, tube: Tube, curve: Bezier) -> Self {
        Self { robot, set, scene, tube, curve, inside: None }
    }

    /// The same case on a base that leans as far as the robot's file allows, some way.
    pub fn tilted(&self, rng: &mut ChaCha8Rng) -> Case {
        let angle = (1.0 - 1e-9) * self.robot.uncertainty().gravity_direction_deg.to_radians();
        Case { robot: self.robot.tilted(angle, rng.random_range(0.0..TAU)), ..self.clone() }
    }

    /// A random plan (parameter k) of an arm, with a tube whose constants are proven over all of it, and with strips along its
    /// motion if the arm is to have some. None if no tube was found for many plans.
    pub fn draw_plan(arm: &Setup, rng: &mut ChaCha8Rng) -> Option<Case> {
        let initial = tube_fit::initial(&arm.robot);
        for _ in 0..ATTEMPTS {
            let Some(curve) = arm.curve(rng) else { continue };
            let Setup { robot, scene, .. } = arm.clone();
            let (set, inside) = match arm.correlated {
                true => {
                    let (set, inside) = edge::correlated(&robot, &arm.set, &curve, rng);
                    (set, Some(inside))
                }
                false => (arm.set.clone(), None),
            };
            let Ok(tube) = tube_fit::fit(&robot, &set, &curve, &initial, CELLS) else { continue };
            let case = Case { robot, set, scene, tube, curve, inside };
            if case.tube_holds().unwrap_or(false) {
                return Some(case);
            }
        }
        None
    }

    /// Parameters of the set at which every body is consistent, mostly at its edge: extreme ones of the box and, where there are
    /// strips, some way from the inside towards such ones, as far as the strips let it go, maybe with turns.
    pub fn parameters(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let consistent = |rng: &mut ChaCha8Rng| truth::consistent(&self.robot, &self.set, rng);
        let Some(inside) = &self.inside else { return consistent(rng) };
        // Consistent bodies form a convex set, so the way between two points of it stays in it.
        let mut theta = inside.clone();
        for _ in 0..=rng.random_range(0..TURNS) {
            theta = edge::toward(&self.set, &theta, &consistent(rng));
        }
        theta
    }

    /// The parameters of the set, consistent or not, at which `slopes` (index, value) together are largest; where there are strips,
    /// only on demand the largest of all.
    pub fn furthest(&self, slopes: &[(usize, f64)], exact: bool) -> Vec<f64> {
        edge::furthest(&self.set, self.inside.as_deref().unwrap_or_default(), slopes, exact)
    }

    /// The proof obligation.
    ///
    /// # Errors
    /// If the certifier does not cover the case at all.
    pub fn problem(&self) -> Result<Problem<'_>, Refusal> {
        Problem::new(&self.robot, &self.set, &self.scene, &self.tube, &self.curve)
    }

    /// Whether the stored constants of the tube cover what every cell of the plan needs: only then is anything claimed.
    ///
    /// # Errors
    /// As for [`Case::problem`].
    pub fn tube_holds(&self) -> Result<bool, Refusal> {
        let problem = self.problem()?;
        Ok(problem.survey(CELLS).iter().all(|report| problem.tube_margin(report) >= 0.0))
    }

    /// dq_a, ddq_a and r from a true or a measured state.
    pub fn auxiliary(&self, desired: &JointState, q: &[f64], dq: &[f64]) -> [Vec<f64>; 3] {
        let k = self.tube.gains.k_r;
        let of = |f: &dyn Fn(f64, f64, usize) -> f64| -> Vec<f64> {
            (0..q.len()).map(|j| f(desired.q[j] - q[j], desired.dq[j] - dq[j], j)).collect()
        };
        [
            of(&|e, _, j| desired.dq[j] + k * e),
            of(&|_, de, j| desired.ddq[j] + k * de),
            of(&|e, de, _| de + k * e),
        ]
    }

    /// The position errors at `direction` (entries in [-1, 1]), cut back to the ellipsoid in which the tube keeps
    /// them: e is r / K_r through a first-order lag, a mean of values of r / K_r, and r'A r <= 2 V_max for A <= M.
    pub fn position_errors(&self, direction: &[f64]) -> Vec<f64> {
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        let radius = |j: usize| formulas::e_radius(&self.tube, j);
        direction.iter().enumerate().map(|(j, x)| x / length * radius(j)).collect()
    }

    /// The state at time `t` with position errors `e`, `r` along `along` with r'M(theta)r/2 at `level` of V_max, and
    /// sensor errors at the given shares of their bounds. No error at all if `along` is zero.
    pub fn state(
        &self,
        theta: &[f64],
        t: f64,
        e: &[f64],
        along: &[f64],
        level: f64,
        off: [&[f64]; 2],
    ) -> Drawn {
        let n = self.robot.dof();
        let desired = self.curve.state(t);
        let q: Vec<f64> = (0..n).map(|j| desired.q[j] - e[j]).collect();
        let energy = truth::energy(&self.robot, theta, &q, along);
        let scale = if energy > 0.0 { (level * self.tube.gains.v_max / energy).sqrt() } else { 0.0 };
        let rate = |j: usize| scale * along[j] - self.tube.gains.k_r * e[j];
        let dq: Vec<f64> = (0..n).map(|j| desired.dq[j] - rate(j)).collect();
        let sensors = self.robot.sensors();
        let read =
            |x: &[f64], bound: f64, off: &[f64]| x.iter().zip(off).map(|(x, s)| x + bound * s).collect();
        Drawn {
            read_q: read(&q, sensors.position_rad, off[0]),
            read_dq: read(&dq, sensors.velocity_rad_s, off[1]),
            q,
            dq,
            desired,
        }
    }

    /// A random state with V = V_max (or less), and extreme position and sensor errors.
    pub fn draw(&self, theta: &[f64], t: f64, rng: &mut ChaCha8Rng) -> Drawn {
        let n = self.robot.dof();
        let corner = |rng: &mut ChaCha8Rng| -> Vec<f64> { (0..n).map(|_| extreme(rng)).collect() };
        let alone = |rng: &mut ChaCha8Rng, x: Vec<f64>| match rng.random_bool(0.3) {
            true => {
                let k = rng.random_range(0..n);
                DVector::from_fn(n, |j, _| if j == k { x[j].signum() } else { 0.0 }).as_slice().to_vec()
            }
            false => x,
        };
        let direction = corner(rng);
        let e = self.position_errors(&alone(rng, direction));
        let direction = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
        let along = alone(rng, direction);
        let level = if rng.random_bool(0.7) { 1.0 } else { rng.random_range(0.0..1.0f64) };
        let off = [corner(rng), corner(rng)];
        self.state(theta, t, &e, &along, level, [&off[0], &off[1]])
    }
}
