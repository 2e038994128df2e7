//! What joints feel of gravity, whichever way it points.

use super::placement::BodyPlacement;
use super::vec3::{self, Vec3};
use crate::inertia::INERTIAL;
use crate::robot::Model;
use crate::scalar::Scalar;

/// Into `levers`, for each joint j, the vector L_j with: gravity g (m/s^2, base frame) pulls at joint j with the torque L_j . g
/// (N m; a force in N for a sliding joint). kg m (kg for a sliding joint), base frame. The base of `robot` is fixed; `placed` comes
/// from [`super::placements()`].
///
/// With axis a_j through p_j and the bodies i that joint j carries, at p_i with mass m_i and first moment R_i h_i:
/// a_j . sum_i (m_i (p_i - p_j) + R_i h_i) x g = (a_j x sum_i (m_i (p_i - p_j) + R_i h_i)) . g. A sliding joint: (sum_i m_i a_j) . g.
/// Distances between bodies are formed before they meet a mass, so that what positions have in common cancels.
pub fn weight_levers<T: Scalar>(
    robot: &Model,
    placed: &[BodyPlacement<T>],
    theta: &[T],
    levers: &mut Vec<Vec3<T>>,
) {
    levers.clear();
    levers.resize(robot.bodies(), vec3::zero());
    for (i, frame) in placed.iter().enumerate().take(robot.bodies()) {
        let body = &theta[INERTIAL * i..];
        let own = vec3::combine(&frame.axes, &[body[1], body[2], body[3]]);
        let mut ancestor = Some(i);
        while let Some(j) = ancestor {
            let joint = &robot.joints[j];
            let at = &placed[j];
            let moment = if !joint.kind.is_rotation() {
                vec3::times(&at.axes[2], body[0])
            } else if i == j {
                own
            } else {
                vec3::add(&vec3::times(&vec3::sub(&frame.origin, &at.origin), body[0]), &own)
            };
            levers[j] = vec3::add(&levers[j], &moment);
            ancestor = joint.parent;
        }
    }
    for ((lever, joint), at) in levers.iter_mut().zip(&robot.joints).zip(placed) {
        if joint.kind.is_rotation() {
            *lever = vec3::cross(&at.axes[2], lever);
        }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::dynamics::{Motion, Wrench, placements, rnea};
    use crate::robot::fixture::small_model;

    #[test]
    fn levers_say_what_inverse_dynamics_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for mut robot in [small_model(), crate::robot::load_model("robots/kinova_gen3_2f85.toml").unwrap()] {
            let n = robot.dof();
            let (mut motion, mut wrenches) = (Motion::<f64>::new(&robot), vec![Wrench::zero(); n]);
            let (mut placed, mut levers) = (vec![BodyPlacement::base(); n], vec![]);
            for _ in 0..20 {
                robot.gravity = Vector3::from_fn(|_, _| rng.random_range(-10.0..10.0));
                let q: Vec<f64> = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
                let theta: Vec<f64> =
                    (0..robot.parameter_count()).map(|_| rng.random_range(-1.0..1.0)).collect();
                let (zero, mut tau) = (vec![0.0; n], vec![0.0; n]);
                motion.sweep_plain(&robot, &q, &zero, &zero);
                rnea(&robot, &motion, &theta, &mut wrenches, &mut tau);
                placements(&robot, &motion, &mut placed);
                weight_levers(&robot, &placed, &theta, &mut levers);
                for (lever, tau) in levers.iter().zip(&tau) {
                    let pull = vec3::dot(lever, &robot.gravity.into());
                    assert!((pull + tau).abs() < 1e-10 * (1.0 + tau.abs()), "{pull} against {tau}");
                }
            }
        }
    }
}
