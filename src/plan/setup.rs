//! An arm that random motions are drawn for: what proofs, gains and limits are tried on.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::inertia::ParameterSet;
use crate::robot::{Arm, Scene};
use crate::trajectory::{Bezier, JointState};

/// An arm, what is known of it, and the plans to draw for it.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What tables call it.
    pub label: String,
    /// The robot.
    pub robot: Arm,
    /// The parameters that are possible.
    pub set: ParameterSet,
    /// The obstacles.
    pub scene: Scene,
    /// Where plans start, rad (m); length n.
    pub start: Vec<f64>,
    /// How far a plan may take each joint, rad (m); length n.
    pub range: Vec<f64>,
    /// Duration of a plan, s.
    pub duration_s: f64,
    /// How large the tracking error of each joint may be, rad (m), where a goal has a tolerance; length n.
    pub tolerance: Option<Vec<f64>>,
    /// Whether soundness is attacked with strips along each plan's motion besides the box.
    pub correlated: bool,
}

impl Setup {
    /// A random motion (parameter k) from the start; half of them begin at a speed, no larger than such motions have on their way.
    pub fn curve(&self, rng: &mut ChaCha8Rng) -> Option<Bezier> {
        let reach = rng.random_range(0.1..1.0);
        let ends = self.start.iter().zip(&self.range);
        let end: Vec<f64> = ends.map(|(q, r)| q + reach * r * rng.random_range(-1.0..=1.0)).collect();
        let mut start = JointState::at_rest(&self.start);
        if rng.random() {
            let share = |j: usize| (self.range[j] * 3.0 / self.duration_s).min(1.0);
            start.dq.iter_mut().enumerate().for_each(|(j, x)| *x = share(j) * rng.random_range(-0.3..0.3));
            start.ddq.iter_mut().enumerate().for_each(|(j, x)| *x = share(j) * rng.random_range(-0.5..0.5));
        }
        Bezier::to_rest(&start, &end, self.duration_s).ok()
    }
}
