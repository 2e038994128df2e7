//! What is probably wrong with a recording whose torques the robot's files do not explain: one joint's sign, unit or gear.
//!
//! For each joint the measured torque is fitted as a tau_links + F_c sign(dq) + F_v dq + I_a ddq + beta by least squares, with tau_links by the
//! links of the robot's files, once with a = 1 and once with a free. Where a free a leaves much less of the torque, and is far from 1, torques
//! were most likely recorded with another sign, in another unit, or on the motors' side of a gear. These are hints: nothing rests on them.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use crate::dynamics::Workspace;
use crate::regression::inverse::Moving;
use crate::robot::Model;

/// A factor between this and its inverse may be the payload's or the files' fault.
const FAR: f64 = 4.0;
/// What is in the hand multiplies the torques of the last joints by less than this.
const BEYOND_PAYLOADS: f64 = 25.0;
/// No unit and no gear makes a larger factor, nor one below its inverse.
const LARGEST: f64 = 1e4;
/// A hint leaves at most this share of the error that there is without it ...
const EXPLAINS: f64 = 0.35;
/// ... and of the torque itself.
const LEFT: f64 = 0.5;
/// Samples that are looked at, at most.
const SAMPLES: usize = 4000;
/// Share by which a factor may differ from one with a name.
const NEAR: f64 = 0.15;

/// A factor that explains a joint's torques.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TorqueHint {
    /// The joint.
    pub joint: String,
    /// Its number, from 1.
    pub number: usize,
    /// What the measured torques are to be multiplied by.
    pub factor: f64,
    /// Error without it, friction fitted, N m (N) RMS as recorded.
    pub error_before: f64,
    /// Error with it, N m (N) RMS as recorded.
    pub error_after: f64,
}

impl TorqueHint {
    /// Whether no payload that the robot's files do not know of explains it as well: another sign, or a factor that is farther from 1 than a
    /// hand full makes it.
    pub fn is_no_payload(&self) -> bool {
        self.factor < 0.0 || !(1.0 / BEYOND_PAYLOADS..=BEYOND_PAYLOADS).contains(&self.factor)
    }

    /// In words, with what the factor may mean.
    pub fn sentence(&self) -> String {
        let Self { joint, number, factor, error_before, error_after } = self;
        let size = factor.abs();
        let near = |x: f64| (size / x - 1.0).abs() < NEAR;
        let meaning = if near(1.0) {
            "the other sign"
        } else if near(1e-3) || near(1e3) {
            "N mm or kN m in the place of N m"
        } else if near(1f64.to_radians()) || near(1f64.to_degrees()) {
            "a conversion of degrees that torques do not need"
        } else if size > 1.0 {
            "torques before the gear"
        } else {
            "another unit, or a gear counted twice"
        };
        let sign = if *factor < 0.0 && !near(1.0) { ", with the other sign" } else { "" };
        format!(
            "torques of joint {number} (`{joint}`) fit with the factor {factor:.4} ({meaning}{sign}): they leave {error_after:.3} of them \
             unexplained with it, {error_before:.3} without (RMS); see --torque-scale"
        )
    }
}

/// The joints whose torques a factor explains, by the links of the robot's files; none for a floating base or closed chains.
pub fn torque_hints(robot: &Model, samples: &[Moving]) -> Vec<TorqueHint> {
    if robot.has_free_flyer() || !robot.loops.is_empty() || samples.is_empty() {
        return vec![];
    }
    let mut workspace = Workspace::new(robot);
    let theta = links_alone(robot);
    let n = robot.nv();
    let every = samples.len().div_ceil(SAMPLES);
    let chosen: Vec<&Moving> = samples.iter().step_by(every).collect();
    let mut links = DMatrix::zeros(chosen.len(), n);
    let mut tau = vec![0.0; n];
    for (k, s) in chosen.iter().enumerate() {
        workspace.inverse_dynamics(robot, &s.q, &s.dq, &s.ddq, &theta, &mut tau);
        links.row_mut(k).copy_from_slice(&tau);
    }
    (0..n).filter_map(|j| hint(robot, &chosen, &links, j)).collect()
}

/// The robot's parameters with neither friction nor armature.
fn links_alone(robot: &Model) -> Vec<f64> {
    let mut theta = robot.nominal_parameters();
    let first = crate::inertia::INERTIAL * robot.bodies();
    theta[first..].fill(0.0);
    theta
}

fn hint(robot: &Model, samples: &[&Moving], links: &DMatrix<f64>, j: usize) -> Option<TorqueHint> {
    let own = DVector::from_iterator(samples.len(), samples.iter().map(|s| s.tau[j]));
    let by_links = links.column(j).clone_owned();
    let friction = |k: usize, column: usize| {
        let s = samples[k];
        match column {
            0 => s.dq[j].signum(),
            1 => s.dq[j],
            2 => s.ddq[j],
            _ => 1.0,
        }
    };
    let without = DMatrix::from_fn(samples.len(), 4, friction);
    let with = DMatrix::from_fn(samples.len(), 5, |k, c| if c < 4 { friction(k, c) } else { by_links[k] });
    let rms = |v: &DVector<f64>| v.norm() / (v.len() as f64).sqrt();
    let left = |y: &DMatrix<f64>, u: &DVector<f64>| -> Option<(f64, DVector<f64>)> {
        let x = y.clone().svd(true, true).solve(u, 1e-9).ok()?;
        Some((rms(&(u - y * &x)), x))
    };
    let (before, _) = left(&without, &(&own - &by_links))?;
    let (after, x) = left(&with, &own)?;
    let scale = x[4];
    let far = scale < 0.0 || !(1.0 / FAR..=FAR).contains(&scale);
    // What the links explain has to be more than friction does anyway.
    let (friction_alone, _) = left(&without, &own)?;
    let possible = (1.0 / LARGEST..=LARGEST).contains(&scale.abs());
    let good = after <= EXPLAINS * before && after <= LEFT * friction_alone && possible;
    (far && good).then(|| TorqueHint {
        joint: robot.joints[j].name.clone(),
        number: j + 1,
        factor: 1.0 / scale,
        error_before: before,
        error_after: after,
    })
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::robot::load_model;

    /// Smooth motions with friction and noise, torques of joint `j` multiplied by `factor`.
    fn samples(robot: &Model, j: usize, factor: f64) -> Vec<Moving> {
        let n = robot.nv();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let waves: Vec<[f64; 3]> = (0..n)
            .map(|_| [rng.random_range(0.3..0.8), rng.random_range(0.7..2.0), rng.random_range(0.0..6.0)])
            .collect();
        let (mut workspace, theta) = (Workspace::new(robot), links_alone(robot));
        let one = |k: usize| {
            let t = 0.01 * k as f64;
            let of = |f: &dyn Fn(&[f64; 3]) -> f64| waves.iter().map(f).collect::<Vec<f64>>();
            let (q, dq) =
                (of(&|[a, w, p]| a * (w * t + p).sin()), of(&|[a, w, p]| a * w * (w * t + p).cos()));
            let ddq = of(&|[a, w, p]| -a * w * w * (w * t + p).sin());
            let mut tau = vec![0.0; n];
            workspace.inverse_dynamics(robot, &q, &dq, &ddq, &theta, &mut tau);
            for i in 0..n {
                tau[i] += dq[i].signum() + 0.5 * dq[i] + rng.random_range(-0.2..0.2);
            }
            tau[j] *= factor;
            Moving { t, q, dq, ddq, tau }
        };
        (0..1500).map(one).collect()
    }

    #[test]
    fn a_sign_a_unit_and_a_gear_are_found_at_their_joint_alone() {
        let robot = load_model("kinova_gen3").unwrap();
        assert_eq!(torque_hints(&robot, &samples(&robot, 1, 1.0)), vec![]);
        let said = |factor: f64| torque_hints(&robot, &samples(&robot, 3, factor))[0].is_no_payload();
        assert!(said(-1.0) && said(0.01) && said(1000.0) && !said(5.0));
        for (factor, words) in [
            (-1.0, "the other sign"),
            (1000.0, "N mm"),
            (1f64.to_radians(), "degrees"),
            (0.01, "before the gear"),
        ] {
            let hints = torque_hints(&robot, &samples(&robot, 3, factor));
            assert_eq!(hints.len(), 1, "{factor}: {hints:?}");
            assert!((hints[0].factor * factor - 1.0).abs() < 0.1, "{:?}", hints[0]);
            let text = hints[0].sentence();
            assert!(text.contains("joint 4") && text.contains(words), "{text}");
        }
    }
}
