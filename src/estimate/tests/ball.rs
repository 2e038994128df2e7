//! A bouncing ball: two phases joined by a reset map whose instant is known, restitution and gravity unknown.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::super::*;
use crate::estimate::posterior::variance;

const STEP: f64 = 0.02;
const SIGMA: f64 = 0.01;

/// States (height, speed); flight with noise on the speed; the reset stage reverses the speed and asks for height 0,
/// an equation on the state alone. theta = (gravity, restitution).
struct Ball {
    heights: Vec<f64>,
    bounce: usize,
    noise: f64,
}

/// Normal numbers by Box and Muller.
fn normal(draw: &mut ChaCha8Rng) -> f64 {
    use rand::RngExt;
    let (a, b): (f64, f64) = (draw.random_range(f64::MIN_POSITIVE..1.0), draw.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

impl Ball {
    fn simulated(seed: u64) -> Self {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let (g, e, noise) = (9.81, 0.8, 0.02);
        // Thrown so that it is exactly at height 0 after 20 steps; the noise is drawn anew until it is nearly so.
        let (bounce, total) = (20, 41);
        let speeds: Vec<f64> = (0..total).map(|_| noise * normal(&mut draw)).collect();
        let mut v = 2.0;
        // Height at the bounce is h_0 + sum of v_k dt: choose h_0 for zero.
        let mut drop = 0.0;
        for w in &speeds[..bounce] {
            drop += STEP * v;
            v += -STEP * g + w;
        }
        let (mut h, mut v) = (-drop, 2.0);
        let mut heights = Vec::new();
        for k in 0..=total {
            heights.push(h + SIGMA * normal(&mut draw));
            if k == bounce {
                v *= -e;
            } else if k < total {
                h += STEP * v;
                v += -STEP * g + speeds[k];
            }
        }
        Self { heights, bounce, noise }
    }

    fn guess(&self) -> Trajectory {
        Trajectory {
            xs: self.heights.iter().map(|h| vec![*h, 0.0]).collect(),
            us: (0..self.heights.len()).map(|k| vec![0.0; self.size(k).input]).collect(),
            theta: vec![5.0, 0.4],
        }
    }
}

impl EstimationProblem for Ball {
    type Workspace = ();
    fn workspace(&self) {}
    fn stages(&self) -> usize {
        self.heights.len()
    }
    fn size(&self, k: usize) -> StageSize {
        let flight = k != self.bounce && k + 1 < self.heights.len();
        StageSize {
            state: 2,
            tangent: 2,
            input: usize::from(flight),
            constraints: usize::from(k == self.bounce),
        }
    }
    fn parameters(&self) -> (usize, usize, usize) {
        (2, 0, 0)
    }
    fn evaluate(&self, k: usize, at: Point<'_>, _: &mut (), out: &mut StageValues) -> Result<(), String> {
        let r = at.x[0] - self.heights[k];
        out.cost =
            0.5 * (r / SIGMA).powi(2) + at.u.iter().map(|w| 0.5 * (w / self.noise).powi(2)).sum::<f64>();
        if k == self.bounce {
            out.next.copy_from_slice(&[at.x[0], -at.theta[1] * at.x[1]]);
            out.constraints[0] = at.x[0];
        } else if k + 1 < self.heights.len() {
            out.next.copy_from_slice(&[at.x[0] + STEP * at.x[1], at.x[1] - STEP * at.theta[0] + at.u[0]]);
        }
        Ok(())
    }
    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        w: &mut (),
        m: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, w, out)?;
        let x = m.nu;
        m.add_direct(at.x[0] - self.heights[k], x, SIGMA.powi(-2));
        if k == self.bounce {
            m.jac[(0, 0)] = 1.0;
            m.jac[(1, 1)] = -at.theta[1];
            m.jac[(3, 1)] = -at.x[1];
            m.con[(0, 0)] = 1.0;
            m.con_value[0] = at.x[0];
        } else if m.nu == 1 {
            m.add_direct(at.u[0], 0, self.noise.powi(-2));
            m.jac.col_mut(0)[1..3].copy_from_slice(&[1.0, STEP]);
            m.jac.col_mut(1).copy_from_slice(&[1.0, 0.0, 1.0, -STEP, 0.0]);
        }
        Ok(())
    }
}

#[test]
fn phases_joined_by_a_reset_are_one_problem() {
    let ball = Ball::simulated(1);
    for rollout in [Rollout::Single, Rollout::Feasible, Rollout::Multiple] {
        let mut solver = Solver::new(&ball, SolverOptions { rollout, ..SolverOptions::default() }).unwrap();
        let outcome = solver.solve(&ball.guess()).unwrap();
        assert_eq!(outcome.status, Status::Converged, "{rollout:?} {:?}", outcome.record);
        let t = solver.trajectory();
        assert!((t.theta[0] - 9.81).abs() < 0.3 && (t.theta[1] - 0.8).abs() < 0.03, "{:?}", t.theta);
        assert!(t.xs[ball.bounce][0].abs() < 1e-8, "the ball bounces on the ground");
    }
}

#[test]
fn deviations_are_the_spread_over_noise_realisations() {
    let mut found: Vec<[f64; 3]> = Vec::new();
    let mut told = [0.0f64; 3];
    for seed in 0..200 {
        let ball = Ball::simulated(1000 + seed);
        let mut solver =
            Solver::new(&ball, SolverOptions { parallel: false, ..SolverOptions::default() }).unwrap();
        assert_eq!(solver.solve(&ball.guess()).unwrap().status, Status::Converged);
        let t = solver.trajectory();
        // The true speed after the throw is 2 m/s in every realisation.
        found.push([t.theta[0], t.theta[1], t.xs[0][1]]);
        let mut speed = 0.0;
        let posterior = solver
            .posterior(|k, joint| {
                if k == 0 {
                    speed = variance(joint, &[0.0, 1.0, 0.0, 0.0]);
                }
            })
            .unwrap();
        let deviations = [posterior.parameter_deviation(0), posterior.parameter_deviation(1), speed.sqrt()];
        told.iter_mut().zip(deviations).for_each(|(sum, d)| *sum += d / 200.0);
    }
    for (i, truth) in [9.81, 0.8, 2.0].into_iter().enumerate() {
        let spread = (found.iter().map(|f| (f[i] - truth).powi(2)).sum::<f64>() / 200.0).sqrt();
        // 200 draws tell a deviation to 5 %; four of those.
        assert!((spread / told[i] - 1.0).abs() < 0.2, "{i}: spread {spread}, told {}", told[i]);
    }
}
