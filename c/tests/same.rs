//! The promise: what C gets is, to the bit, what Rust gets.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use surelift::control::{Controller, Measured, SupervisedController};
use surelift::dynamics::Workspace;
use surelift::identify::{Identifier, IdentifierOptions, Update};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::recording::Sample;
use surelift::robot::{self, FramedBody, FramedPayload, Scene};
use surelift::trajectory::{Bezier, JointState, PiecewiseBezier};
use surelift_c::*;

mod fixture;
use fixture::*;

fn loaded() -> robot::Arm {
    robot::load("kinova_gen3_2f85").unwrap()
}

#[test]
fn dynamics_are_the_same() {
    let (handle, arm) = (robot(), loaded());
    let dynamics = dynamics(handle);
    let mut workspace = Workspace::new(&arm);
    let mut theta = arm.nominal_parameters();
    assert_eq!(parameters(handle), theta);
    theta.iter_mut().for_each(|x| *x *= 1.01);
    let (v, a) = ([0.1; DOF], [-0.3; DOF]);
    let (mut expected, mut found) = (vec![0.0; DOF], [0.0; DOF]);
    workspace.inverse_dynamics(&arm, &START, &v, &a, &theta, &mut expected);
    let (q, v, a) = (START.as_ptr(), v.as_ptr(), a.as_ptr());
    let (parameters, count) = (theta.as_ptr(), theta.len());
    // SAFETY: vectors of these lengths.
    unsafe {
        let status = surelift_dynamics_rnea(dynamics, q, v, a, DOF, parameters, count, found.as_mut_ptr());
        assert_eq!(status, SureliftStatus::Ok, "{}", last_error());
    }
    assert_eq!(found[..], expected);
    // What is written may lie where something is read.
    let torques = found;
    workspace.forward_dynamics(&arm, &START, &[0.1; DOF], &torques, &theta, &mut expected);
    // SAFETY: vectors of these lengths.
    unsafe {
        let at = found.as_mut_ptr();
        assert_eq!(
            surelift_dynamics_forward(dynamics, q, v, at, DOF, parameters, count, at),
            SureliftStatus::Ok
        );
    }
    assert_eq!(found[..], expected);
    assert!(found.iter().all(|x| (x + 0.3).abs() < 1e-9), "{found:?}");
    let (mut expected, mut found) = (vec![0.0; DOF * DOF], vec![0.0; DOF * DOF]);
    workspace.mass_matrix(&arm, &START, &arm.nominal_parameters(), &mut expected);
    // SAFETY: vectors of these lengths.
    unsafe {
        let status = surelift_dynamics_mass_matrix(dynamics, q, DOF, null(), 0, found.as_mut_ptr());
        assert_eq!(status, SureliftStatus::Ok);
    }
    assert_eq!(found, expected);
    assert_eq!(surelift_dynamics_close(dynamics), SureliftStatus::Ok);
    assert_eq!(surelift_robot_close(handle), SureliftStatus::Ok);
}

#[test]
fn a_plan_is_the_same_from_coefficients_and_through_a_file() {
    let (handle, arm) = (robot(), loaded());
    let set = nominal_set(handle);
    let start = JointState::at_rest(&START);
    // Half of the way and the rest of it, from rest to rest.
    let middle: Vec<f64> = START.iter().zip(&END).map(|(a, b)| 0.5 * (a + b)).collect();
    let first = Bezier::to_rest(&start, &middle, 2.0).unwrap();
    let then = vec![Bezier::to_rest(&JointState::at_rest(&middle), &END, 2.5).unwrap()];
    let curve = PiecewiseBezier { first: first.clone(), then: then.clone() };
    let nominal = ParameterSet::around_nominal(&arm);
    let expected = Plan::prove_from_rest(&arm, &nominal, &Scene::default(), curve).unwrap();
    let points: Vec<f64> = first.points.iter().chain(&then[0].points).flatten().copied().collect();
    let durations = [2.0, 2.5];
    let plan = made(SureliftPlan { id: 0 }, |out| {
        // SAFETY: vectors of these lengths.
        unsafe {
            surelift_plan_certify(handle, set, NO_SCENE, points.as_ptr(), DOF, durations.as_ptr(), 2, out)
        }
    });
    let folder = folder("same_plan");
    let path = std::ffi::CString::new(folder.join("plan.json").to_str().unwrap()).unwrap();
    // SAFETY: a text.
    assert_eq!(unsafe { surelift_plan_save(plan, path.as_ptr()) }, SureliftStatus::Ok, "{}", last_error());
    assert_eq!(Plan::load(path.to_str().unwrap()).unwrap(), expected);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    // SAFETY: a text and a place for the answer.
    let again = made(SureliftPlan { id: 0 }, |out| unsafe { surelift_plan_load(path.as_ptr(), out) });
    let blank = SureliftMargins {
        position_rad: 0.0,
        velocity_rad_s: 0.0,
        torque_nm: 0.0,
        collision_m: 0.0,
        tube: 0.0,
    };
    // SAFETY: a place for the answer.
    let proven = made(blank, |out| unsafe { surelift_plan_verify(again, out) });
    // SAFETY: a place for the answer.
    let said = made(blank, |out| unsafe { surelift_plan_margins(plan, out) });
    assert_eq!(proven, said);
    assert_eq!(Some(said.torque_nm), expected.certificate.torque.value);
    // SAFETY: a place for the answer.
    assert_eq!(made(0.0, |out| unsafe { surelift_plan_duration(again, out) }), 4.5);
    let mut found = [[0.0; DOF]; 3];
    let [q, dq, ddq] = &mut found;
    // SAFETY: vectors of that length.
    let status =
        unsafe { surelift_plan_desired(again, 3.1, q.as_mut_ptr(), dq.as_mut_ptr(), ddq.as_mut_ptr(), DOF) };
    let state = expected.curve.state(3.1);
    assert_eq!((status, found.map(|x| x.to_vec())), (SureliftStatus::Ok, [state.q, state.dq, state.ddq]));
    for plan in [plan, again] {
        assert_eq!(surelift_plan_close(plan), SureliftStatus::Ok);
    }
}

#[test]
fn ticks_are_the_same_and_a_stop_is_told() {
    let handle = robot();
    let plan = plan(handle, nominal_set(handle));
    let controller = controller(plan);
    let arm = Arc::new(loaded());
    let curve = Bezier::to_rest(&JointState::at_rest(&START), &END, 3.0).unwrap();
    let set = ParameterSet::around_nominal(&arm);
    let expected = Plan::prove_from_rest(&arm, &set, &Scene::default(), curve.clone().into()).unwrap();
    let mut law = SupervisedController::new(arm.clone(), &set, expected.tube.energy().unwrap());
    let at = START.as_ptr();
    // SAFETY: vectors of that length.
    let status = unsafe { surelift_controller_check_start(controller, at, [0.0; DOF].as_ptr(), DOF) };
    assert_eq!(status, SureliftStatus::Ok, "{}", last_error());
    let (mut by_law, mut found) = (vec![0.0; DOF], [0.0; DOF]);
    let none = SureliftTick {
        energy_j: 0.0,
        energy_floor_j: 0.0,
        saturated: false,
        stop: SureliftStop::None,
        joint: -1,
    };
    for tick in 0..400_i32 {
        let t = f64::from(tick) * arm.gains().period_s;
        let mut state = curve.state(t);
        state.q.iter_mut().for_each(|q| *q += 1e-5 * (37.0 * t).sin());
        if tick == 300 {
            state.dq[4] = f64::NAN;
        }
        let measured = Measured { q: &state.q, dq: &state.dq };
        let told = law.tick(t, measured, &curve.state(t), &mut by_law);
        let mut said = none;
        let (q, dq) = (state.q.as_ptr(), state.dq.as_ptr());
        // SAFETY: vectors of that length.
        let status =
            unsafe { surelift_controller_tick(controller, t, q, dq, DOF, found.as_mut_ptr(), &mut said) };
        assert_eq!(found[..], by_law, "tick {tick}");
        assert_eq!((said.energy_j, said.energy_floor_j), (told.energy_j, told.energy_floor_j));
        let stopped = tick >= 300;
        assert_eq!(status, if stopped { SureliftStatus::Broken } else { SureliftStatus::Ok }, "tick {tick}");
        let (stop, joint) = if stopped { (SureliftStop::Reading, 4) } else { (SureliftStop::None, -1) };
        assert_eq!((said.stop, said.joint), (stop, joint), "tick {tick}");
    }
    assert!(last_error().contains("readings of joint 4"), "{}", last_error());
    assert_eq!(surelift_controller_close(controller), SureliftStatus::Ok);
}

/// An arm that stands and carries a body of the prior.
#[test]
fn what_is_learnt_is_the_same() {
    let (handle, arm) = (robot(), Arc::new(loaded()));
    let (identifier, prior) = identifier(handle);
    let dynamics = dynamics(handle);
    let mut theta = parameters(handle);
    let [lower, upper] = bounds(prior, theta.len());
    let hand = surelift::inertia::INERTIAL * arm.end_effector()
        ..surelift::inertia::INERTIAL * (arm.end_effector() + 1);
    let truth = FramedBody {
        mass_kg: 3.2,
        com_m: [0.01, 0.0, -0.2],
        inertia_kg_m2: [0.02, 0.0, 0.02, 0.0, 0.0, 0.01],
    }
    .parameters();
    hand.clone().zip(truth).for_each(|(k, x)| theta[k] = x);
    let q = [0.0, 0.9, 3.1, -1.2, 0.0, 0.8, 1.5];
    let tau = gravity(dynamics, &q, &theta);
    let set = ParameterSet::new(lower, upper).unwrap();
    let mut law = Identifier::new(arm.clone(), &set, vec![0.0; DOF], IdentifierOptions::default()).unwrap();
    let push = |t: f64| {
        // SAFETY: vectors of that length.
        unsafe { surelift_identifier_push(identifier, t, q.as_ptr(), [0.0; DOF].as_ptr(), tau.as_ptr(), DOF) }
    };
    for tick in 0..301_i32 {
        let t = f64::from(tick) * arm.gains().period_s;
        law.push(Sample { t, q: q.to_vec(), dq: vec![0.0; DOF], tau: tau.to_vec() }).unwrap();
        assert_eq!(push(t), SureliftStatus::Ok, "{}", last_error());
    }
    refused(SureliftStatus::Input, "follows the one at", || push(0.2));
    let blank = SureliftUpdate { windows: 0, rows: 0, condition_number: 0.0, update_ms: 0.0 };
    // SAFETY: a place for the answer.
    let update = made(blank, |out| unsafe { surelift_identifier_update(identifier, out) });
    let expected = law.update().unwrap();
    assert_eq!((update.windows, update.rows), (3, expected.rows));
    // SAFETY: a place for the answer.
    let learnt = made(SureliftSet { id: 0 }, |out| unsafe { surelift_identifier_set(identifier, out) });
    let [lower, upper] = bounds(learnt, theta.len());
    assert_eq!((&lower[..], &upper[..]), (expected.set.lower(), expected.set.upper()));
    assert!(hand.clone().all(|k| lower[k] <= theta[k] && theta[k] <= upper[k]));
    assert!(
        upper[hand.start] - lower[hand.start] < 0.5 * (set.upper()[hand.start] - set.lower()[hand.start])
    );
    the_payload_is_the_same(&arm, handle, (identifier, learnt), &expected);
    // Nothing is left to learn from.
    // SAFETY: no place for the answer is asked for.
    assert_eq!(unsafe { surelift_identifier_update(identifier, null_mut()) }, SureliftStatus::Ok);
}

/// The payload in the tool frame, from the identifier and from its set, against what Rust has.
fn the_payload_is_the_same(
    arm: &robot::Arm,
    handle: SureliftRobot,
    (identifier, learnt): (SureliftIdentifier, SureliftSet),
    expected: &Update,
) {
    let body = expected.set.body(arm.end_effector());
    let framed =
        FramedPayload::of_last_body(arm, None, &expected.nominal, Some([body.lower(), body.upper()]), None)
            .unwrap();
    let (framed, estimate) = (framed.bounds.unwrap(), framed.estimate.unwrap());
    let payload = |out: *mut SureliftPayload, frame| {
        // SAFETY: a text or none, and a place for the answer.
        unsafe { surelift_identifier_payload(identifier, frame, out) }
    };
    let zero = SureliftInterval { lower: 0.0, upper: 0.0 };
    let blank = SureliftPayload {
        mass_kg: zero,
        com_m: [zero; 3],
        inertia_kg_m2: [zero; 6],
        estimated_mass_kg: 0.0,
        estimated_com_m: [0.0; 3],
        estimated_inertia_kg_m2: [0.0; 6],
    };
    let found = made(blank, |out| payload(out, null()));
    assert_eq!([found.mass_kg.lower, found.mass_kg.upper], framed.mass_kg);
    assert_eq!(
        found.com_m.map(|x| [x.lower, x.upper]),
        framed.com_m.unwrap_or([[f64::NEG_INFINITY, f64::INFINITY]; 3])
    );
    assert_eq!(found.inertia_kg_m2.map(|x| [x.lower, x.upper]), framed.inertia_kg_m2);
    assert_eq!((found.estimated_mass_kg, found.estimated_com_m), (estimate.mass_kg, estimate.com_m));
    // SAFETY: a place for the answer.
    let of_set = made(blank, |out| unsafe { surelift_set_payload(learnt, handle, null(), out) });
    assert_eq!((of_set.mass_kg, of_set.inertia_kg_m2), (found.mass_kg, found.inertia_kg_m2));
    assert!(of_set.estimated_mass_kg.is_nan());
    refused(SureliftStatus::Input, "no link `elsewhere`", || {
        payload(&mut blank.clone(), c"elsewhere".as_ptr())
    });
}

/// One thread pushes while another updates and a third reads.
#[test]
fn a_loop_goes_on_while_an_update_is_under_way() {
    let handle = robot();
    let (identifier, _prior) = identifier(handle);
    let dynamics = dynamics(handle);
    let q = [0.0, 0.9, 3.1, -1.2, 0.0, 0.8, 1.5];
    let mut theta = parameters(handle);
    theta[60] += 1.0;
    let tau = gravity(dynamics, &q, &theta);
    std::thread::scope(|scope| {
        let pushing = scope.spawn(move || {
            for tick in 0..1000_i32 {
                let t = 1e-3 * f64::from(tick);
                // SAFETY: vectors of that length.
                let status = unsafe {
                    surelift_identifier_push(
                        identifier,
                        t,
                        q.as_ptr(),
                        [0.0; DOF].as_ptr(),
                        tau.as_ptr(),
                        DOF,
                    )
                };
                assert_eq!(status, SureliftStatus::Ok, "{}", last_error());
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        while !pushing.is_finished() {
            // SAFETY: no place for the answer is asked for.
            let status = unsafe { surelift_identifier_update(identifier, null_mut()) };
            assert_eq!(status, SureliftStatus::Ok, "{}", last_error());
            // SAFETY: a place for the answer.
            let set = made(SureliftSet { id: 0 }, |out| unsafe { surelift_identifier_set(identifier, out) });
            assert_eq!(surelift_set_close(set), SureliftStatus::Ok);
        }
    });
}
