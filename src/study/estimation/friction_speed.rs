//! Below which speed dry friction is a straight line, found from the log.
//!
//! No one number is right for a motor that sticks: its sensors err, control shakes it, and between two samples its friction takes values that neither sample has. What a sample sees of
//! a sign is a mean over all that, so the line is wider than the joint's own. With one that is too narrow, friction at rest counts as the noise of the velocity has it, and dry
//! friction comes out too small; with one that is too wide, too large. Viscous friction makes up for it.
//!
//! So the width is the one that explains the samples best: that of the least cost, half the sum of squared errors over deviations at the best trajectory and parameters. (How likely
//! the samples are depends on the trajectory's volume besides, which is not counted.) Widths are doubled, or halved, as long as the cost falls; then points between are looked at,
//! each half as far, on a logarithmic scale.

use std::sync::Arc;

use serde::Deserialize;

use super::EstimationStudy;
use crate::estimate::error::EstimateError;
use crate::estimate::solver::{Solver, Status};

/// Samples that are looked at, at most.
const SAMPLES: usize = 3000;
/// How often a width is doubled or halved at most, and how many times points between are looked at: down to a factor of 2^(1/4).
const DOUBLINGS: usize = 8;
const ROUNDS: i32 = 2;

/// Where the speed below which Coulomb friction is a straight line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrictionSpeedUse {
    /// From the problem file or the robot's.
    #[default]
    Stated,
    /// From the samples: that with which the cost is least; what is stated is where the search begins.
    Found,
}

impl EstimationStudy {
    /// Puts the speed that the samples tell of in the place of the robot's, where it is to be found.
    ///
    /// # Errors
    /// What [`EstimationStudy::problem`] and [`Solver::solve`] refuse at the stated speed.
    pub(super) fn settle_friction_speed(&mut self) -> Result<(), EstimateError> {
        if self.friction_speed == FrictionSpeedUse::Stated {
            return Ok(());
        }
        let stated = self.robot.friction_speed_rad_s;
        let mut best = (stated, self.cost_with(stated)?);
        // What cannot be solved explains nothing.
        let mut look = |speed: f64| (speed, self.cost_with(speed).unwrap_or(f64::INFINITY));
        for factor in [2.0, 0.5] {
            let (from, mut looks) = (best.0, 0);
            while looks < DOUBLINGS {
                let next = look(factor * best.0);
                if !(next.1 < best.1) {
                    break;
                }
                best = next;
                looks += 1;
            }
            if best.0 != from {
                break;
            }
        }
        for round in 1..=ROUNDS {
            let step = 2f64.powf(0.5f64.powi(round));
            let middle = best.0;
            for speed in [middle / step, middle * step] {
                let next = look(speed);
                if next.1 < best.1 {
                    best = next;
                }
            }
        }
        let (speed, cost) = best;
        Arc::make_mut(&mut self.robot).friction_speed_rad_s = speed;
        self.notes.push(if cost.is_finite() {
            format!(
                "dry friction is taken as a straight line below {speed:.2e} rad/s (stated: {stated:.2e}): with it the samples are explained best"
            )
        } else {
            format!("dry friction stays a straight line below {stated:.2e} rad/s: the search ends with no speed that was tried")
        });
        Ok(())
    }

    /// The least cost with dry friction a straight line below this speed; infinite where it is not found.
    fn cost_with(&mut self, speed_rad_s: f64) -> Result<f64, EstimateError> {
        Arc::make_mut(&mut self.robot).friction_speed_rad_s = speed_rad_s;
        let problem = self.problem()?.beginning(SAMPLES);
        let mut solver = Solver::new(&problem, self.options)?;
        let outcome = self.solve(&problem, &mut solver)?;
        Ok(if outcome.status == Status::Converged { outcome.cost } else { f64::INFINITY })
    }
}
