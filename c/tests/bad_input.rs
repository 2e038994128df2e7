//! The promise: pointers that are null, numbers that are none, wrong sizes, handles that are closed and times that go back get a status and words, and nothing
//! is written.

use std::ptr::{null, null_mut};

use surelift_c::*;

mod fixture;
use fixture::*;

use SureliftStatus::{Broken, Handle, Input, NotProven, Ok as Done, Pointer, Size};

const ZERO: [f64; DOF] = [0.0; DOF];

/// `START` with one entry that is no number.
fn with(x: f64) -> [f64; DOF] {
    let mut vector = START;
    vector[2] = x;
    vector
}

const NONE: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

#[test]
fn robots_that_cannot_be_loaded() {
    let mut robot = SureliftRobot { id: 7 };
    // SAFETY: texts or null, and a place for the answer or null.
    unsafe {
        refused(Pointer, "path: the pointer is null", || surelift_robot_load(null(), &mut robot));
        refused(Pointer, "robot: the pointer is null", || surelift_robot_load(c"z1".as_ptr(), null_mut()));
        refused(Input, "no_such_robot", || surelift_robot_load(c"no_such_robot".as_ptr(), &mut robot));
        refused(Input, "UTF-8", || surelift_robot_load(c"\xff\xfe".as_ptr(), &mut robot));
        let shifted = (&raw mut robot).cast::<u8>().add(1).cast::<SureliftRobot>();
        refused(Pointer, "alignment", || surelift_robot_load(c"z1".as_ptr(), shifted));
    }
    assert_eq!(robot.id, 7);
}

#[test]
fn names_go_where_there_is_room() {
    let robot = robot();
    let mut name = [b'x' as std::ffi::c_char; 32];
    // SAFETY: as much room as is said.
    unsafe {
        refused(Size, "room for 4 bytes, expected 17", || surelift_robot_name(robot, name.as_mut_ptr(), 4));
        assert!(name.iter().all(|c| *c == b'x' as std::ffi::c_char));
        assert_eq!(surelift_robot_name(robot, name.as_mut_ptr(), 17), Done, "{}", last_error());
        assert_eq!(std::ffi::CStr::from_ptr(name.as_ptr()), c"kinova_gen3_2f85");
        assert_eq!(surelift_robot_joint_name(robot, 6, name.as_mut_ptr(), 32), Done);
        refused(Input, "joint 7: expected one below 7", || {
            surelift_robot_joint_name(robot, 7, name.as_mut_ptr(), 32)
        });
        refused(Pointer, "name", || surelift_robot_joint_name(robot, 0, null_mut(), 32));
    }
    let (mut a, mut b, mut c, mut d) = (ZERO, ZERO, ZERO, ZERO);
    let [a, b, c, d] = [&mut a, &mut b, &mut c, &mut d].map(|x| x.as_mut_ptr());
    // SAFETY: as much room as is said, or none.
    unsafe {
        refused(Size, "lower: 6 numbers, expected 7", || surelift_robot_limits(robot, a, b, c, d, 6));
        refused(Pointer, "torque", || surelift_robot_limits(robot, a, b, c, null_mut(), 7));
        assert_eq!(surelift_robot_limits(robot, a, b, c, d, 7), Done);
    }
}

#[test]
fn dynamics_of_nonsense() {
    let dynamics = dynamics(robot());
    let (mut tau, mut mass) = ([5.0; DOF], [5.0; DOF * DOF]);
    let (q, z) = (START.as_ptr(), ZERO.as_ptr());
    // SAFETY: vectors as long as is said, or null.
    unsafe {
        let out = tau.as_mut_ptr();
        let rnea = |q, n, theta, count, out| surelift_dynamics_rnea(dynamics, q, z, z, n, theta, count, out);
        refused(Pointer, "q", || rnea(null(), 7, null(), 0, out));
        refused(Pointer, "tau", || rnea(q, 7, null(), 0, null_mut()));
        refused(Size, "7", || rnea(q, 6, null(), 0, out));
        refused(Size, "7", || rnea(q, usize::MAX, null(), 0, out));
        refused(Size, "theta: 3 numbers, expected 98", || rnea(q, 7, z, 3, out));
        for x in NONE {
            refused(Input, "q: entry 2", || rnea(with(x).as_ptr(), 7, null(), 0, out));
            refused(Input, "v: entry 2", || {
                surelift_dynamics_forward(dynamics, q, with(x).as_ptr(), z, 7, null(), 0, out)
            });
        }
        let crba = |n, out| surelift_dynamics_mass_matrix(dynamics, q, n, null(), 0, out);
        refused(Size, "mass", || crba(6, mass.as_mut_ptr()));
        refused(Size, "mass", || crba(usize::MAX, mass.as_mut_ptr()));
        refused(Pointer, "mass", || crba(7, null_mut()));
    }
    assert_eq!((tau, mass), ([5.0; DOF], [5.0; DOF * DOF]));
}

#[test]
fn sets_and_scenes_of_nonsense() {
    let robot = robot();
    let mut set = SureliftSet { id: 7 };
    let mut scene = SureliftScene { id: 0 };
    let (one, prior) = ([1.0; DOF], file("scenarios/priors/gen3_hand.toml"));
    // SAFETY: vectors as long as is said, texts, or null.
    unsafe {
        refused(Pointer, "lower", || surelift_set_new(null(), one.as_ptr(), 7, &mut set));
        refused(Input, "lower: entry 2", || {
            surelift_set_new(with(f64::NAN).as_ptr(), one.as_ptr(), 7, &mut set)
        });
        refused(Input, "", || surelift_set_new(one.as_ptr(), ZERO.as_ptr(), 7, &mut set));
        assert_eq!(set.id, 7);
        assert_eq!(surelift_set_new(ZERO.as_ptr(), one.as_ptr(), 7, &mut set), Done);
        let mut other = SureliftSet { id: 7 };
        let narrow = |path, out| surelift_set_with_prior(set, path, robot, out);
        refused(Size, "set: 7 numbers, expected 98", || narrow(prior.as_ptr(), &mut other));
        let all = nominal_set(robot);
        refused(Input, "nowhere", || {
            surelift_set_with_prior(all, c"nowhere.toml".as_ptr(), robot, &mut other)
        });
        assert_eq!(other.id, 7);
        refused(Size, "lower", || surelift_set_bounds(all, null_mut(), null_mut(), 7));
        refused(Pointer, "lower", || surelift_set_bounds(all, null_mut(), null_mut(), 98));

        assert_eq!(surelift_scene_new(&mut scene), Done);
        let add = |name, center: &[f64], size: &[f64]| {
            surelift_scene_add_box(scene, name, center.as_ptr(), size.as_ptr())
        };
        refused(Pointer, "name", || add(null(), &ZERO, &one));
        refused(Input, "size_m of 'table'", || add(c"table".as_ptr(), &ZERO, &[1.0, 0.0, 1.0]));
        refused(Input, "center_m: entry 2", || add(c"table".as_ptr(), &with(f64::NAN), &one));
        refused(Pointer, "size_m", || surelift_scene_add_box(scene, c"t".as_ptr(), one.as_ptr(), null()));
        assert_eq!(add(c"table".as_ptr(), &ZERO, &one), Done);
    }
}

#[test]
fn motions_that_make_no_sense_or_are_not_proven() {
    let robot = robot();
    let set = nominal_set(robot);
    let mut plan = SureliftPlan { id: 7 };
    let (start, end) = (START.as_ptr(), END.as_ptr());
    let mut scene = SureliftScene { id: 0 };
    // SAFETY: vectors as long as is said, texts, or null.
    unsafe {
        let prove = |start, n, duration_s, out| {
            surelift_plan_certify_to_rest(robot, set, NO_SCENE, start, end, n, duration_s, out)
        };
        refused(Pointer, "start", || prove(null(), 7, 3.0, &mut plan));
        refused(Size, "start: 8", || prove(start, 8, 3.0, &mut plan));
        for x in NONE {
            refused(Input, "start: entry 2", || prove(with(x).as_ptr(), 7, 3.0, &mut plan));
            refused(Input, "duration_s", || prove(start, 7, x, &mut plan));
        }
        refused(Input, "duration_s", || prove(start, 7, 0.0, &mut plan));
        refused(NotProven, "cannot prove", || prove(start, 7, 0.3, &mut plan));
        // As long as one likes: it asks for no more memory.
        assert_eq!(prove(start, 7, 1e9, &mut plan), Done, "{}", last_error());
        plan.id = 7;
        // Where the arm stands is something now.
        assert_eq!(surelift_scene_new(&mut scene), Done);
        let (center, size) = ([0.0, 0.0, 0.3], [1.0, 1.0, 0.5]);
        assert_eq!(surelift_scene_add_box(scene, c"block".as_ptr(), center.as_ptr(), size.as_ptr()), Done);
        refused(NotProven, "block", || {
            surelift_plan_certify_to_rest(robot, set, scene, start, end, 7, 3.0, &mut plan)
        });

        let mut points = [[0.0; 6]; DOF];
        points.iter_mut().zip(&START).for_each(|(b, q)| b.fill(*q));
        let prove = |points: &[[f64; 6]; DOF], n, durations: &[f64], pieces, out| {
            surelift_plan_certify(
                robot,
                set,
                NO_SCENE,
                points.as_ptr().cast(),
                n,
                durations.as_ptr(),
                pieces,
                out,
            )
        };
        assert_eq!(prove(&points, 7, &[1.0], 1, &mut plan), Done, "{}", last_error());
        plan.id = 7;
        refused(Size, "points: 6", || prove(&points, 6, &[1.0], 1, &mut plan));
        refused(Input, "pieces: 0", || prove(&points, 7, &[1.0], 0, &mut plan));
        refused(Input, "pieces", || prove(&points, 7, &[1.0], usize::MAX, &mut plan));
        refused(Input, "duration_s", || prove(&points, 7, &[-1.0], 1, &mut plan));
        points[1][1] += 0.01;
        refused(NotProven, "start", || prove(&points, 7, &[1.0], 1, &mut plan));
        points[1][1] -= 0.01;
        points[1][5] += 0.01;
        refused(Input, "does not come to rest", || prove(&points, 7, &[1.0], 1, &mut plan));
    }
    assert_eq!(plan.id, 7);
}

#[test]
fn plan_files_that_are_none() {
    let folder = folder("bad_plans");
    let at = |name: &str| std::ffi::CString::new(folder.join(name).to_str().unwrap()).unwrap();
    let robot = robot();
    let good = plan(robot, nominal_set(robot));
    let mut plan = SureliftPlan { id: 7 };
    // SAFETY: texts and a place for the answer.
    unsafe {
        assert_eq!(surelift_plan_save(good, at("good.json").as_ptr()), Done);
        refused(Input, "cannot be written", || surelift_plan_save(good, at("no/folder.json").as_ptr()));
        refused(Input, "cannot read the plan", || surelift_plan_load(at("none.json").as_ptr(), &mut plan));
    }
    let text = std::fs::read_to_string(folder.join("good.json")).unwrap();
    let mut tampered: Vec<(serde_json::Value, SureliftStatus)> = vec![];
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut change = |status, change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        change(&mut value);
        tampered.push((value, status));
    };
    change(Size, &|plan| drop(plan["curve"]["points"].as_array_mut().unwrap().pop()));
    change(Input, &|plan| plan["curve"]["duration_s"] = (-1.0).into());
    change(Input, &|plan| plan["schema"] = 99.into());
    change(Input, &|plan| drop(plan["tube"]["drift_nm"].as_array_mut().unwrap().pop()));
    for (value, status) in tampered {
        std::fs::write(folder.join("bad.json"), value.to_string()).unwrap();
        // SAFETY: a text and a place for the answer.
        refused(status, "", || unsafe { surelift_plan_load(at("bad.json").as_ptr(), &mut plan) });
    }
    assert_eq!(plan.id, 7);
}

#[test]
fn ticks_of_nonsense() {
    let robot = robot();
    let plan = plan(robot, nominal_set(robot));
    let controller = controller(plan);
    let mut tau = [5.0; DOF];
    let (q, dq) = (START.as_ptr(), ZERO.as_ptr());
    // SAFETY: vectors as long as is said, or null.
    unsafe {
        let tick = |t, q, n, tau| surelift_controller_tick(controller, t, q, dq, n, tau, null_mut());
        refused(Pointer, "q", || tick(0.0, null(), 7, tau.as_mut_ptr()));
        refused(Pointer, "tau", || tick(0.0, q, 7, null_mut()));
        refused(Size, "tau: 6", || tick(0.0, q, 6, tau.as_mut_ptr()));
        assert_eq!(tau, [5.0; DOF]);
        refused(Broken, "does not stand where its plan starts: joint 2", || {
            surelift_controller_check_start(controller, with(3.2).as_ptr(), dq, 7)
        });
        refused(Input, "q: entry 2", || {
            surelift_controller_check_start(controller, with(f64::NAN).as_ptr(), dq, 7)
        });
        // None of these was a tick.
        assert_eq!(tick(0.0, q, 7, tau.as_mut_ptr()), Done, "{}", last_error());
        assert_eq!(tick(0.001, q, 7, tau.as_mut_ptr()), Done, "{}", last_error());
    }
    // Whatever is wrong, the torques are there, and it stays stopped.
    for t in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5] {
        let controller = self::controller(plan);
        let (mut tau, mut torques) = ([f64::NAN; DOF], [f64::NAN; DOF]);
        // SAFETY: vectors as long as is said.
        unsafe {
            let tick = |t, tau| surelift_controller_tick(controller, t, q, dq, DOF, tau, null_mut());
            assert_eq!(tick(0.0, torques.as_mut_ptr()), Done);
            refused(Broken, "passed since the tick before", || tick(t, tau.as_mut_ptr()));
            refused(Broken, "passed since the tick before", || tick(0.001, torques.as_mut_ptr()));
        }
        assert!(tau.iter().chain(&torques).all(|x| x.is_finite()), "{t}: {tau:?}");
        assert_eq!(surelift_controller_close(controller), Done);
    }
    let blank = SureliftTick {
        energy_j: 0.0,
        energy_floor_j: 0.0,
        saturated: false,
        stop: SureliftStop::None,
        joint: 9,
    };
    for x in NONE {
        let controller = self::controller(plan);
        let (mut tau, mut said) = ([f64::NAN; DOF], blank);
        // SAFETY: vectors as long as is said.
        refused(Broken, "joint 2", || unsafe {
            surelift_controller_tick(controller, 0.0, with(x).as_ptr(), dq, DOF, tau.as_mut_ptr(), &mut said)
        });
        assert_eq!((said.stop, said.joint), (SureliftStop::Reading, 2));
        assert!(tau.iter().all(|x| x.is_finite()), "{tau:?}");
    }
    let mut at = [ZERO; 3];
    let [a, b, c] = &mut at;
    // SAFETY: as much room as is said.
    unsafe {
        let mut desired =
            |t, n| surelift_plan_desired(plan, t, a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr(), n);
        refused(Input, "t: NaN", || desired(f64::NAN, 7));
        refused(Size, "q: 3", || desired(0.0, 3));
        refused(Size, "tracking_error_rad: 3", || {
            surelift_plan_tube(plan, tau.as_mut_ptr(), tau.as_mut_ptr(), 3)
        });
    }
    assert_eq!(at, [ZERO; 3]);
}

#[test]
fn measurements_of_nonsense() {
    let robot = robot();
    let (identifier, prior) = identifier(robot);
    let (q, z) = (START.as_ptr(), ZERO.as_ptr());
    let mut other = SureliftIdentifier { id: 7 };
    // SAFETY: vectors as long as is said, or null.
    unsafe {
        let make = |bound, n, window_s, out| surelift_identifier_new(robot, prior, bound, n, window_s, out);
        refused(Pointer, "acceleration_rad_s2", || make(null(), 7, 0.1, &mut other));
        refused(Size, "acceleration_rad_s2: 3", || make(z, 3, 0.1, &mut other));
        refused(Input, "acceleration bound", || make(with(-1.0).as_ptr(), 7, 0.1, &mut other));
        for x in NONE {
            refused(Input, "window length", || make(z, 7, x, &mut other));
            refused(Input, "acceleration_rad_s2: entry 2", || make(with(x).as_ptr(), 7, 0.1, &mut other));
        }
        assert_eq!(other.id, 7);
        let push = |t, q, tau, n| surelift_identifier_push(identifier, t, q, z, tau, n);
        assert_eq!(push(0.0, q, z, 7), Done);
        refused(Pointer, "tau", || push(0.001, q, null(), 7));
        refused(Size, "q: 6", || push(0.001, q, z, 6));
        for x in NONE {
            refused(Input, "q: entry 2", || push(0.001, with(x).as_ptr(), z, 7));
            refused(Input, "tau: entry 2", || push(0.001, q, with(x).as_ptr(), 7));
            refused(Input, "time", || push(x, q, z, 7));
        }
        refused(Input, "follows", || push(0.0, q, z, 7));
        refused(Input, "follows", || push(-0.001, q, z, 7));
        refused(Input, "follows", || push(0.5, q, z, 7));
        refused(Broken, "joint 2", || push(0.001, with(3.2).as_ptr(), z, 7));
        // All of them left it as it was.
        assert_eq!(push(0.001, q, z, 7), Done, "{}", last_error());
        assert_eq!(surelift_identifier_resume(identifier, 0.5, q, z, z, 7), Done, "{}", last_error());
        refused(Input, "follows", || push(0.4, q, z, 7));
        refused(Size, "acceleration", || surelift_identifier_set_acceleration(identifier, z, 3));
        refused(Input, "acceleration", || {
            surelift_identifier_set_acceleration(identifier, with(-1.0).as_ptr(), 7)
        });
        refused(Pointer, "payload", || surelift_identifier_payload(identifier, null(), null_mut()));
        refused(Pointer, "set", || surelift_identifier_set(identifier, null_mut()));
    }
    // Torques that no load explains: at the third update or before.
    let wild = [500.0; DOF];
    for tick in 0..301 {
        let t = 0.501 + 1e-3 * f64::from(tick);
        // SAFETY: vectors as long as is said.
        let status = unsafe { surelift_identifier_push(identifier, t, q, z, wild.as_ptr(), DOF) };
        assert_eq!(status, Done, "{}", last_error());
    }
    // SAFETY: no place for the answer is asked for.
    refused(Broken, "an assumption is broken", || unsafe {
        surelift_identifier_update(identifier, null_mut())
    });
}

#[test]
fn handles_that_are_closed_null_or_of_another_kind() {
    let robot = robot();
    let set = nominal_set(robot);
    let plan = plan(robot, set);
    let (controller, dynamics, (identifier, prior)) = (controller(plan), dynamics(robot), identifier(robot));
    // SAFETY: a place for the answer.
    let scene = made(SureliftScene { id: 0 }, |out| unsafe { surelift_scene_new(out) });
    // Every one is closed once, and refused from then on; what was made from it goes on.
    assert_eq!(surelift_robot_close(robot), Done);
    assert_eq!(surelift_set_close(set), Done);
    assert_eq!(surelift_plan_close(plan), Done);
    let (q, z, mut tau) = (START.as_ptr(), ZERO.as_ptr(), ZERO);
    // SAFETY: vectors as long as is said.
    let mut tick = |controller| unsafe {
        surelift_controller_tick(controller, 0.0, q, z, DOF, tau.as_mut_ptr(), null_mut())
    };
    assert_eq!(tick(controller), Done, "{}", last_error());
    refused(Handle, "plan: the handle is closed", || surelift_plan_close(plan));
    refused(Handle, "robot: the handle is closed", || surelift_robot_close(robot));
    assert_eq!(surelift_controller_close(controller), Done);
    refused(Handle, "controller: the handle is closed", || tick(controller));
    refused(Handle, "controller: the handle is null", || tick(SureliftController { id: 0 }));
    refused(Handle, "controller: the handle is of another kind", || {
        tick(SureliftController { id: dynamics.id })
    });
    refused(Handle, "controller", || tick(SureliftController { id: u64::MAX }));
    assert_eq!(surelift_dynamics_close(dynamics), Done);
    assert_eq!(surelift_identifier_close(identifier), Done);
    assert_eq!(surelift_scene_close(scene), Done);
    let (mut count, mut number) = (0, 0.0);
    // SAFETY: vectors as long as is said, texts, and places for the answers.
    unsafe {
        refused(Handle, "robot", || surelift_robot_dof(robot, &mut count));
        refused(Handle, "robot", || surelift_robot_period(robot, &mut number));
        refused(Handle, "robot", || surelift_dynamics_new(robot, &mut dynamics.clone()));
        refused(Handle, "robot", || surelift_set_around_nominal(robot, &mut set.clone()));
        refused(Handle, "set", || surelift_set_bounds(set, q.cast_mut(), q.cast_mut(), 7));
        refused(Handle, "plan", || surelift_plan_duration(plan, &mut number));
        refused(Handle, "plan", || surelift_controller_new(plan, &mut controller.clone()));
        refused(Handle, "scene", || surelift_scene_add_box(scene, c"b".as_ptr(), q, q));
        refused(Handle, "dynamics", || {
            surelift_dynamics_mass_matrix(dynamics, q, 7, null(), 0, tau.as_mut_ptr())
        });
        refused(Handle, "identifier", || surelift_identifier_push(identifier, 0.0, q, z, z, 7));
        refused(Handle, "identifier", || surelift_identifier_update(identifier, null_mut()));
        let robot = self::robot();
        refused(Handle, "set", || surelift_identifier_new(robot, set, z, 7, 0.1, &mut identifier.clone()));
        let set = prior;
        refused(Handle, "scene", || {
            surelift_plan_certify_to_rest(robot, set, scene, q, q, 7, 3.0, &mut plan.clone())
        });
    }
    refused(Handle, "dynamics", || surelift_dynamics_close(dynamics));
    refused(Handle, "identifier", || surelift_identifier_close(identifier));
    refused(Handle, "scene", || surelift_scene_close(scene));
}

/// Sets bits of the control word of this thread's floating-point arithmetic, and says what it was.
#[cfg(target_arch = "x86_64")]
fn control(set: impl Fn(u32) -> u32) -> u32 {
    let mut before = 0_u32;
    // SAFETY: it is what a program in C does, too. The caller sets it back.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut before) };
    let after = set(before);
    // SAFETY: as above.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const after) };
    before
}

/// A program that rounds in another way, or was compiled with `-ffast-math`, gets no proof.
#[cfg(target_arch = "x86_64")]
#[test]
fn other_arithmetic_is_refused() {
    // Threads of the library begin with this one's.
    let robot = robot();
    let set = nominal_set(robot);
    let proven = plan(robot, set);
    let (identifier, _) = identifier(robot);
    for (bits, words) in [(0x4000, "round to nearest"), (0x8040, "near zero")] {
        let before = control(|word| word | bits);
        let mut plan = SureliftPlan { id: 3 };
        // SAFETY: vectors of that length, and places for the answers.
        let found = unsafe {
            let (start, end) = (START.as_ptr(), END.as_ptr());
            let certified =
                surelift_plan_certify_to_rest(robot, set, NO_SCENE, start, end, DOF, 3.0, &mut plan);
            let first = (certified, last_error());
            let updated = surelift_identifier_update(identifier, null_mut());
            let second = (updated, last_error());
            let mut margins = std::mem::MaybeUninit::uninit();
            let verified = surelift_plan_verify(proven, margins.as_mut_ptr());
            [first, second, (verified, last_error())]
        };
        control(|_| before);
        for (status, told) in found {
            assert!(status == Input && told.contains(words), "{status:?} {told}");
        }
        assert_eq!(plan.id, 3);
    }
    // SAFETY: a place for no answer.
    assert_eq!(unsafe { surelift_identifier_update(identifier, null_mut()) }, Done);
}
