//! The promises of the gentle stop, on decoupled joints with and without springs, delays and readings.

use super::*;
use crate::inertia::{ARMATURE, ParameterSet};
use crate::reach::fixture;

const H: f64 = 1e-3;

fn stop() -> (Arc<Arm>, GentleStop) {
    let robot = Arc::new(crate::robot::load("kinova_gen3_2f85").unwrap());
    let set = Arc::new(PreparedSet::new(&robot, &ParameterSet::around_nominal(&robot)));
    let tube = fixture::tube(&robot);
    (robot.clone(), GentleStop::new(robot, set, &tube.inertia_floor))
}

/// Gravity's torques of the nominal arm, N m.
fn gravity(stop: &mut GentleStop, q: &[f64]) -> Vec<f64> {
    let mut tau = vec![0.0; q.len()];
    let mut other = stop.clone();
    other.begin(&vec![f64::NAN; q.len()]);
    other.remember(Measured { q, dq: &vec![0.0; q.len()] });
    other.joints.iter_mut().for_each(|joint| joint.bias = 0.0);
    other.tick(Measured { q, dq: &vec![0.0; q.len()] }, &mut tau);
    tau
}

/// What a joint does that has stopped: largest speed and speed at the end, rad/s, over 1.5 s.
struct Came {
    fastest: f64,
    last: f64,
    /// Largest step of the torque, N m, and largest torque.
    step: f64,
    most: f64,
}

/// Joint 4 of a Gen3 at `speed`, alone, with this inertia behind a spring (none: rigid), from `torque` beyond gravity; readings are so many ticks late.
fn coming_to_rest(link: f64, spring: Option<f64>, (speed, beyond): (f64, f64), late: usize) -> Came {
    let (robot, mut stop) = stop();
    let n = robot.dof();
    let (own, finer) = (robot.joints[3].friction, 50);
    let q = vec![0.3; n];
    let held = gravity(&mut stop, &q)[3];
    let mut before = vec![f64::NAN; n];
    before[3] = held + beyond;
    let mut dq = vec![0.0; n];
    dq[3] = speed;
    stop.remember(Measured { q: &q, dq: &dq });
    stop.begin(&before);
    let (mut tau, mut past) = (vec![0.0; n], vec![speed; late + 1]);
    // Angles and speeds of link and transmission, gravity left out.
    let mut state = [0.0, speed, 0.0, speed];
    let mut came = Came { fastest: speed.abs(), last: speed.abs(), step: 0.0, most: 0.0 };
    for _ in 0..1500 {
        past.rotate_right(1);
        past[0] = state[1];
        dq[3] = past[late];
        let last = stop.torque[3];
        // The posture is kept, so that gravity is: speeds alone are looked at.
        stop.tick(Measured { q: &q, dq: &dq }, &mut tau);
        (came.step, came.most) = (came.step.max((tau[3] - last).abs()), came.most.max(tau[3].abs()));
        let h = H / f64::from(finer);
        for _ in 0..finer {
            let input = tau[3] - held - own.viscous * state[3];
            match spring {
                None => {
                    state[1] += h * input / (link + own.armature);
                    state[3] = state[1];
                }
                Some(k) => {
                    let carried = k * (state[2] - state[0]);
                    state[1] += h * carried / link;
                    state[3] += h * (input - carried) / own.armature;
                    state[0] += h * state[1];
                    state[2] += h * state[3];
                }
            }
            came.fastest = came.fastest.max(state[1].abs());
        }
        came.last = state[1].abs();
    }
    came
}

#[test]
fn a_joint_comes_to_rest_and_never_faster() {
    for (link, last) in [(0.0, 0.02), (0.3, 0.02), (3.0, 0.05), (30.0, 0.25)] {
        let came = coming_to_rest(link, None, (0.8, 0.0), 0);
        assert!(came.fastest <= 0.8 * (1.0 + 1e-12) && came.last < last, "{link}: {}", came.last);
    }
    // Stepwise, within the ramp and the limit.
    let (robot, stop) = stop();
    let limit = robot.joints[3].limits.torque;
    let came = coming_to_rest(0.3, None, (0.8, 60.0), 0);
    assert!(came.step <= limit * H / RAMP_S * (1.0 + 1e-12) && came.most <= limit);
    let allowed = 60.0 * 60.0 * RAMP_S / (2.0 * limit * stop.floor[3]);
    assert!(came.fastest - 0.8 <= 1.2 * allowed + 1e-9, "{} of {allowed}", came.fastest - 0.8);
}

#[test]
fn late_readings_do_not_make_it_ring() {
    for late in [1, 5, 20] {
        let came = coming_to_rest(0.3, None, (0.8, 0.0), late);
        assert!(came.fastest <= 0.8 * (1.0 + 1e-12) && came.last < 0.02, "{late}: {}", came.last);
    }
}

/// Springs that are stiffer than the bound: no link rings, light or heavy. Plain damping of the same size does.
#[test]
fn elastic_joints_do_not_ring_with_the_encoder_behind_them() {
    let (robot, stop) = stop();
    let own = robot.joints[3].friction;
    let n = own.armature + stop.reaction_s * own.viscous;
    let least = stop.damping(3) * n / (own.viscous * stop.reaction_s * stop.reaction_s);
    assert!((5e3..16e3).contains(&least), "{least} N m/rad");
    for link in [0.05, 0.3, 1.0, 5.0] {
        let came = coming_to_rest(link, Some(1.05 * least), (0.8, 0.0), 0);
        assert!(came.last < 0.05, "{link}: {}", came.last);
        // Routh: the plain damping torque -d dq would make this link ring.
        let plain = link < stop.damping(3) * own.armature / own.viscous;
        assert!(plain, "{link} is no test");
    }
}

#[test]
fn readings_that_are_lost_or_jump_move_nothing() {
    for kind in 0..3 {
        let (robot, mut stop) = stop();
        let n = robot.dof();
        let (mut q, mut dq) = (vec![0.3; n], vec![0.0; n]);
        dq[3] = 0.5;
        stop.remember(Measured { q: &q, dq: &dq });
        let held = gravity(&mut stop, &q);
        stop.begin(&held);
        match kind {
            0 => (q[3], dq[3]) = (f64::NAN, f64::NAN),
            1 => dq[3] = f64::INFINITY,
            _ => q[3] = 2.3,
        }
        // The damping takes no more momentum than an inertia A has, and gravity is that of the last posture.
        let (mut tau, mut taken) = (vec![0.0; n], 0.0);
        for _ in 0..3000 {
            stop.tick(Measured { q: &q, dq: &dq }, &mut tau);
            assert!(tau.iter().all(|x| x.is_finite()));
            assert!(tau[3] <= held[3] + 1e-9, "{kind}");
            taken += H * (held[3] - tau[3]);
        }
        let had = 0.5 * stop.floor[3];
        assert!(taken > 0.2 * had && taken < 1.02 * had, "{kind}: {taken} of {had}");
        assert!((tau[3] - held[3]).abs() < 1e-6);
    }
}

#[test]
fn the_bias_is_the_mean_and_stays() {
    let (robot, mut stop) = stop();
    let n = robot.dof();
    assert!(robot.nominal_parameters()[robot.friction_index(3) + ARMATURE] > 0.0);
    let q = vec![0.3; n];
    let held = gravity(&mut stop, &q);
    (0..9).for_each(|k| stop.learn(|j| if j == 3 { f64::from(k) } else { 0.0 }));
    stop.remember(Measured { q: &q, dq: &vec![0.0; n] });
    let before: Vec<f64> = held.iter().enumerate().map(|(j, x)| x + if j == 3 { 4.0 } else { 0.0 }).collect();
    stop.begin(&before);
    let mut tau = vec![0.0; n];
    for _ in 0..100 {
        stop.tick(Measured { q: &q, dq: &vec![0.0; n] }, &mut tau);
    }
    assert!((tau[3] - held[3] - 4.0).abs() < 1e-9 && (tau[1] - held[1]).abs() < 1e-9);
}
