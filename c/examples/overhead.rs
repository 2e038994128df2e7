//! How long a tick takes through the C interface, and in Rust alone.
//!
//! ```text
//! cargo run --release --package surelift-c --example overhead
//! ```

use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

use surelift::control::{Controller, Measured, SupervisedController};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::robot::{self, Scene};
use surelift::trajectory::{Bezier, JointState};
use surelift_c::*;

const DOF: usize = 7;
const START: [f64; DOF] = [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5];
const END: [f64; DOF] = [0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2];
/// Ticks of one round, and rounds; the fastest round counts.
const TICKS: u32 = 3000;
const ROUNDS: usize = 400;

/// Microseconds a tick.
fn us(round: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    round();
    1e6 * begun.elapsed().as_secs_f64() / f64::from(TICKS)
}

fn good(status: SureliftStatus) {
    assert_eq!(status, SureliftStatus::Ok);
}

fn main() {
    let arm = Arc::new(robot::load("kinova_gen3_2f85").unwrap());
    let set = ParameterSet::around_nominal(&arm);
    let curve = Bezier::to_rest(&JointState::at_rest(&START), &END, 3.0).unwrap();
    let proven = Plan::prove_from_rest(&arm, &set, &Scene::default(), curve.clone().into()).unwrap();
    let tube = proven.tube.energy().unwrap();
    let states: Vec<JointState> = (0..TICKS).map(|k| curve.state(1e-3 * f64::from(k))).collect();

    let (mut handle, mut all, mut plan) =
        (SureliftRobot { id: 0 }, SureliftSet { id: 0 }, SureliftPlan { id: 0 });
    let none = SureliftScene { id: 0 };
    // SAFETY: texts, vectors of that length, and places for the answers.
    unsafe {
        good(surelift_robot_load(c"kinova_gen3_2f85".as_ptr(), &mut handle));
        good(surelift_set_around_nominal(handle, &mut all));
        let (start, end) = (START.as_ptr(), END.as_ptr());
        good(surelift_plan_certify_to_rest(handle, all, none, start, end, DOF, 3.0, &mut plan));
    }
    let (mut in_rust, mut in_c) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let (mut law, mut desired) = (SupervisedController::new(arm.clone(), &set, tube), states[0].clone());
        let mut tau = vec![0.0; DOF];
        in_rust = in_rust.min(us(|| {
            for (k, state) in states.iter().enumerate() {
                let t = 1e-3 * k as f64;
                proven.curve.evaluate(t, &mut desired);
                law.tick(t, Measured { q: &state.q, dq: &state.dq }, &desired, &mut tau);
            }
        }));
        assert_eq!(law.stopped(), None);
        let mut controller = SureliftController { id: 0 };
        // SAFETY: a place for the answer.
        good(unsafe { surelift_controller_new(plan, &mut controller) });
        in_c = in_c.min(us(|| {
            for (k, state) in states.iter().enumerate() {
                let (t, q, dq) = (1e-3 * k as f64, state.q.as_ptr(), state.dq.as_ptr());
                // SAFETY: vectors of that length.
                good(unsafe {
                    surelift_controller_tick(controller, t, q, dq, DOF, tau.as_mut_ptr(), null_mut())
                });
            }
        }));
        good(surelift_controller_close(controller));
    }
    let more = 1e3 * (in_c - in_rust);
    println!(
        "a tick takes {in_rust:.3} us in Rust, {in_c:.3} us through C: {more:.0} ns more, {:.3} times as long",
        in_c / in_rust
    );
}
