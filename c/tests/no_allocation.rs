//! The promise: a tick asks for no memory, whatever it finds, and neither do the dynamics.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{null, null_mut};

use surelift_c::*;

mod fixture;
use fixture::*;

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is going away has no counter any more; nobody looks at it either.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What this thread asks for, or gives back, during `work`.
fn asked(work: impl FnOnce()) -> usize {
    let before = ASKED.get();
    work();
    ASKED.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(asked(|| drop(std::hint::black_box(vec![1.0; 100]))), 2);
}

#[test]
fn a_tick_asks_for_no_memory() {
    let robot = robot();
    let plan = plan(robot, nominal_set(robot));
    // What is wrong at the tick of that number.
    let wrongs: [(&str, f64, f64, SureliftStatus); 4] = [
        ("nothing", 0.0, 0.0, SureliftStatus::Ok),
        ("a time", f64::NAN, 0.0, SureliftStatus::Broken),
        ("a reading", 0.0, f64::NAN, SureliftStatus::Broken),
        ("the place", 0.0, 0.4, SureliftStatus::Broken),
    ];
    for (what, late, off, expected) in wrongs {
        let controller = controller(plan);
        let (mut q, mut dq, mut ddq, mut tau) = ([0.0; DOF], [0.0; DOF], [0.0; DOF], [0.0; DOF]);
        let mut tick = |k: i32, late: f64, off: f64| {
            let t = 1e-3 * f64::from(k);
            // SAFETY: vectors of that length.
            unsafe {
                let (q, dq, ddq) = (&mut q, &mut dq, &mut ddq);
                let status =
                    surelift_plan_desired(plan, t, q.as_mut_ptr(), dq.as_mut_ptr(), ddq.as_mut_ptr(), DOF);
                assert_eq!(status, SureliftStatus::Ok, "{}", last_error());
                q[3] += off;
                let mut said = SureliftTick {
                    energy_j: 0.0,
                    energy_floor_j: 0.0,
                    saturated: false,
                    stop: SureliftStop::None,
                    joint: -1,
                };
                let (q, dq, tau) = (q.as_ptr(), dq.as_ptr(), tau.as_mut_ptr());
                let mut status = SureliftStatus::Ok;
                let asked = asked(|| {
                    status = surelift_controller_tick(controller, t + late, q, dq, DOF, tau, &mut said);
                });
                (status, asked)
            }
        };
        // Warm-up.
        tick(0, 0.0, 0.0);
        for k in 1..200 {
            let (late, off) = if k == 100 { (late, off) } else { (0.0, 0.0) };
            let (status, asked) = tick(k, late, off);
            assert_eq!(
                status,
                if k < 100 { SureliftStatus::Ok } else { expected },
                "{what}: {}",
                last_error()
            );
            assert_eq!(asked, 0, "{what}, tick {k}");
        }
    }
}

#[test]
fn refusals_and_dynamics_ask_for_no_memory() {
    let dynamics = dynamics(robot());
    let (zero, mut out, mut mass) = ([0.0; DOF], [0.0; DOF], [0.0; DOF * DOF]);
    let (q, z) = (START.as_ptr(), zero.as_ptr());
    let found = asked(|| {
        // SAFETY: vectors of these lengths, or null.
        unsafe {
            let out = out.as_mut_ptr();
            for _ in 0..10 {
                assert_eq!(
                    surelift_dynamics_rnea(dynamics, q, z, z, DOF, null(), 0, out),
                    SureliftStatus::Ok
                );
                assert_eq!(
                    surelift_dynamics_forward(dynamics, q, z, z, DOF, null(), 0, out),
                    SureliftStatus::Ok
                );
                let mass = mass.as_mut_ptr();
                assert_eq!(
                    surelift_dynamics_mass_matrix(dynamics, q, DOF, null(), 0, mass),
                    SureliftStatus::Ok
                );
                assert_eq!(
                    surelift_dynamics_rnea(dynamics, null(), z, z, DOF, null(), 0, out),
                    SureliftStatus::Pointer
                );
                let none = SureliftController { id: 0 };
                let status = surelift_controller_tick(none, 0.0, q, z, DOF, out, null_mut());
                assert_eq!(status, SureliftStatus::Handle);
            }
        }
    });
    assert_eq!(found, 0);
}
