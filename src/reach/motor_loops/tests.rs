//! The claim against the worst of what it allows, and each term of what readings are off by.

use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::truth::{self, consistent};
use crate::enclose::Counted;
use crate::inertia::ParameterSet;
use crate::reach::PreparedSet;
use crate::reach::fixture;
use crate::robot::{Gains, TimingBounds};
use crate::trajectory::{Bezier, JointState};

/// What the loop of one joint leaves of its power at most, for an r of this size: the disturbance along r, the reading off against it.
fn left(loops: &MotorLoops, j: usize, (rho, eta): (f64, f64), r: f64) -> f64 {
    let (u, k, r) = (loops.limit_nm[j], loops.gain_nms_rad[j], r.abs());
    r * (rho - (k * (r - eta)).clamp(-u, u))
}

fn loops(limit_nm: Vec<f64>, gain_nms_rad: Vec<f64>) -> MotorLoops {
    let rate_rad_s2 = vec![1.0; limit_nm.len()];
    MotorLoops { limit_nm, gain_nms_rad, rate_rad_s2 }
}

const JOINTS: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    /// dV/dt is below zero wherever V is above the claimed level.
    #[test]
    fn the_energy_falls_wherever_it_is_above_the_level(
        l in prop::array::uniform9(-1.0..1.0f64),
        share in prop::array::uniform3(0.05..0.95f64),
        u in prop::array::uniform3(0.5..20.0f64),
        k in prop::array::uniform3(1.0..1000.0f64),
        eta in prop::array::uniform3(1e-4..0.5f64),
        along in prop::array::uniform16(prop::array::uniform3(-1.0..1.0f64)),
        above in prop::array::uniform16(1e-9..3.0f64),
    ) {
        let l = DMatrix::from_row_slice(JOINTS, JOINTS, &l);
        let mass = &l * l.transpose() + DMatrix::identity(JOINTS, JOINTS) * 0.01;
        let diagonal: Vec<f64> = (0..JOINTS).map(|j| mass[(j, j)]).collect();
        let rho: Vec<f64> = u.iter().zip(share).map(|(u, share)| share * u).collect();
        let loops = loops(u.to_vec(), k.to_vec());
        let level = loops.least_v_max_j(&rho, &eta, &diagonal);
        for (along, above) in along.iter().zip(above) {
            let along = DVector::from_column_slice(along);
            let energy = 0.5 * (along.transpose() * &mass * &along)[0];
            let r = along * (level * (1.0 + above) / energy.max(1e-300)).sqrt();
            let power: f64 = (0..JOINTS).map(|j| left(&loops, j, (rho[j], eta[j]), r[j])).sum();
            prop_assert!(power < 0.0, "{power} at {r:?}, {}", 1.0 + above);
        }
    }
}

/// With k eta = u - 2 rho the parabola of a joint is met where its level is: a level that is 3 % smaller is not kept.
#[test]
fn the_level_is_met_by_one_joint() {
    let (rho, eta, mass) = (1.0, 2.0, 0.7);
    let loops = loops(vec![4.0], vec![1.0]);
    let level = loops.least_v_max_j(&[rho], &[eta], &[mass]);
    let power = |level: f64| left(&loops, 0, (rho, eta), (2.0 * level / mass).sqrt());
    assert!((level - 0.5 * mass * 9.0).abs() < 1e-12);
    assert!(power(level).abs() < 1e-12 && power(0.97 * level) > 0.1 && power(1.03 * level) < 0.0);
}

/// What one joint's loop adds to S lifts V on another joint, as far as the claim says: with half of the other's share it would not be kept.
#[test]
fn what_one_joint_leaves_another_has_to_take_away() {
    let loops = loops(vec![4.0, 4.0], vec![1.0, 1.0]);
    let (rho, eta, mass) = ([1.0, 1.0], [2.0, 2.0], [0.7, 1e-9]);
    let level = loops.least_v_max_j(&rho, &eta, &mass);
    // The second joint, which weighs nothing, is where it leaves most.
    let most = (0..4000).map(|i| left(&loops, 1, (rho[1], eta[1]), 2e-3 * f64::from(i))).fold(0.0, f64::max);
    let power = |level: f64| left(&loops, 0, (rho[0], eta[0]), (2.0 * level / mass[0]).sqrt()) + most;
    assert!(most > 2.0 && power(level) < 0.0);
    let alone = loops.least_v_max_j(&rho[..1], &eta[..1], &mass[..1]);
    assert!(power(alone) > 0.0, "{alone} of {level}");
}

#[test]
fn limits_that_are_not_above_the_disturbance_have_no_level() {
    let loops = loops(vec![4.0, 4.0], vec![1.0, 1.0]);
    for rho in [[4.0, 1.0], [1.0, 5.0], [f64::NAN, 1.0]] {
        assert_eq!(loops.least_v_max_j(&rho, &[0.1; 2], &[1.0; 2]), f64::INFINITY);
    }
    assert_eq!(loops.least_v_max_j(&[1.0; 2], &[0.1, f64::NAN], &[1.0; 2]), f64::INFINITY);
    assert_eq!(loops.fault(2), None);
    assert!(loops.fault(3).unwrap().contains("motor_loops.limit_nm: expected 3 values, found 2"));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let named = |change: &dyn Fn(&mut MotorLoops)| {
            let mut changed = loops.clone();
            change(&mut changed);
            changed.fault(2).unwrap()
        };
        assert!(named(&|x| x.limit_nm[1] = bad).starts_with("motor_loops.limit_nm"));
        assert!(named(&|x| x.gain_nms_rad[0] = bad).starts_with("motor_loops.gain_nms_rad"));
        assert!(named(&|x| x.rate_rad_s2[1] = bad).starts_with("motor_loops.rate_rad_s2"));
    }
}

const PERIOD_S: f64 = 2e-3;
const AGE_S: f64 = 3e-4;
const K_R: f64 = 9.0;

/// The Z1 with loops in its motors, a tube of theirs, and a motion.
fn case() -> (Arm, Tube, Bezier) {
    let robot = crate::robot::load("z1").unwrap();
    let gains = Gains { k_r: K_R, alpha: 400.0, period_s: PERIOD_S, ..robot.gains() };
    let robot = robot.with_gains(gains).unwrap();
    let robot =
        robot.with_timing(TimingBounds { motor_loop_age_max_s: AGE_S, ..TimingBounds::EXACT }).unwrap();
    let mut tube = fixture::tube(&robot);
    let n = robot.dof();
    tube.motor_loops = Some(Box::new(MotorLoops {
        limit_nm: vec![8.0; n],
        gain_nms_rad: vec![100.0; n],
        rate_rad_s2: (0..n).map(|j| 20.0 + 10.0 * j as f64).collect(),
    }));
    let start = [0.1, 0.6, -1.0, 0.2, 0.0, 0.3];
    let end: Vec<f64> =
        start.iter().enumerate().map(|(j, q)| q + if j % 2 == 0 { 0.8 } else { -0.5 }).collect();
    let curve = Bezier::to_rest(&JointState::at_rest(&start), &end, 1.2).unwrap();
    (robot, tube, curve)
}

fn needs(robot: &Arm, tube: &Tube, curve: &Bezier, span: Span, age_s: f64) -> MotorNeeds {
    let n = robot.dof();
    let cell = Cell::<16, Counted>::new(robot, tube, curve, span);
    let loops = tube.motor_loops.as_ref().unwrap();
    let (rho, mass) = (vec![1.0; n].into_iter().collect(), vec![1.0; n].into_iter().collect());
    MotorNeeds::new((tube, loops), (curve.into(), span, age_s), &cell, rho, mass, &vec![0.0; n])
}

/// A loop's reading: at a tick the computer refers to the middle of it, and a reading of an older moment is off by what the arm did since. All of it within eta, and nearly
/// all of that can be met.
#[test]
fn readings_of_loops_stay_within_their_bound_and_use_it_up() {
    let (robot, tube, curve) = case();
    let (n, sensors) = (robot.dof(), robot.sensors());
    let rates = &tube.motor_loops.as_ref().unwrap().rate_rad_s2;
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut most = vec![0.0f64; n];
    for round in 0..60 {
        let t0 = rng.random_range(0.0..1.15);
        let span = Span::Between(t0, t0 + 1e-4);
        let needed = needs(&robot, &tube, &curve, span, AGE_S);
        let s = |t: f64, j: usize| {
            let at = curve.state(t.clamp(0.0, curve.duration_s));
            at.dq[j] + K_R * at.q[j]
        };
        for j in 0..n {
            for extreme in 0..8 {
                let tick = t0 + 1e-4 * f64::from(extreme % 2);
                let t = tick + if extreme / 2 % 2 == 0 { 0.0 } else { PERIOD_S };
                let toward = if extreme / 4 == 0 { 1.0 } else { -1.0 };
                let at = curve.state(tick);
                let referred = s(tick, j) + 0.5 * PERIOD_S * (at.ddq[j] + K_R * at.dq[j]);
                // What is read is of the arm at t, whatever that is: its age and its errors count.
                let read = toward * (AGE_S * rates[j] + sensors.velocity_rad_s + K_R * sensors.position_rad);
                let off = (referred - s(t, j) + read).abs();
                assert!(off <= needed.misread_rad_s[j], "{round} {j}: {off} of {}", needed.misread_rad_s[j]);
                most[j] = most[j].max(off / needed.misread_rad_s[j]);
            }
        }
    }
    assert!(most.iter().all(|x| *x > 0.985), "{most:?}");
}

/// |M^-1 d| for bodies of the set, wherever the cell is.
#[test]
fn rates_hold_for_all_bodies_between() {
    let (robot, tube, curve) = case();
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let set = ParameterSet::around_nominal(&robot);
    let prepared = PreparedSet::new(&robot, &set);
    let n = robot.dof();
    let mut space = crate::reach::CellWorkspace::<16, Counted>::new(&robot);
    let mut most = 0.0f64;
    for _ in 0..12 {
        let t0 = rng.random_range(0.0..1.1);
        let cell = Cell::<16, Counted>::new(&robot, &tube, &curve, Span::Between(t0, t0 + 0.01));
        space.forms.motion.place(&robot, &cell.q);
        let pull: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..10.0)).collect();
        let place = (&mut space.forms, &mut space.form_mass);
        let bound = rates(&robot, prepared.between(), &pull, place).unwrap();
        for _ in 0..40 {
            let theta = consistent(&robot, &set, &mut rng);
            let q = curve.state(t0 + rng.random_range(0.0..0.01)).q;
            let mass = truth::mass(&robot, &theta, &q);
            let push: Vec<f64> = pull.iter().map(|d| d * if rng.random() { 1.0 } else { -1.0 }).collect();
            let moved = mass.cholesky().unwrap().solve(&DVector::from_vec(push));
            for j in 0..n {
                assert!(moved[j].abs() <= bound[j], "{j}: {} of {}", moved[j], bound[j]);
                most = most.max(moved[j].abs() / bound[j]);
            }
        }
    }
    assert!(most > 0.8, "{most}");
}

/// Term by term, each where it stands alone or is known exactly.
#[test]
fn each_term_of_what_readings_are_off_by_is_charged_and_no_more() {
    let (robot, mut tube, curve) = case();
    let (n, sensors) = (robot.dof(), robot.sensors());
    let near = |found: f64, right: f64, what: &str| {
        assert!((right..=right * 1.002).contains(&found), "{what}: {found} for {right}");
    };
    let sensed = sensors.velocity_rad_s + K_R * sensors.position_rad;
    let rates = tube.motor_loops.clone().unwrap().rate_rad_s2;
    let rest = needs(&robot, &tube, &curve, Span::Rest, AGE_S);
    for j in 0..n {
        near(rest.misread_rad_s[j], sensed + AGE_S * rates[j], "age");
    }
    tube.motor_loops.as_mut().unwrap().rate_rad_s2.fill(f64::MIN_POSITIVE);
    let rest = needs(&robot, &tube, &curve, Span::Rest, AGE_S);
    for j in 0..n {
        near(rest.misread_rad_s[j], sensed, "sensors");
        // Of the tube at rest: |dq| is that of the errors, twice r.
        near(rest.rate_rad_s2[j], K_R * (2.0 * tube.r_radius(j) + sensors.velocity_rad_s), "rate");
    }
    const T0: f64 = 0.31;
    let moving = needs(&robot, &tube, &curve, Span::Between(T0, T0), AGE_S);
    for j in 0..n {
        let slope = |t: f64| {
            let at = curve.state(t);
            at.ddq[j] + K_R * at.dq[j]
        };
        let times = || (0..=200).map(|i| T0 + PERIOD_S * f64::from(i) / 200.0);
        let first = times().map(|t| slope(t).abs()).fold(0.0, f64::max);
        let bent = |t: f64| (slope(t + 1e-6) - slope(t - 1e-6)).abs() / 2e-6;
        let second = times().map(bent).fold(0.0, f64::max);
        let moved = 0.5 * PERIOD_S * first + 0.5 * PERIOD_S * PERIOD_S * second;
        near(moving.misread_rad_s[j], sensed + moved * (1.0 - 1e-6), "reference");
    }
}
