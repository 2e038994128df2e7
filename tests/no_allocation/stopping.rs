//! The gentle stop, and what it takes over from.

use std::sync::Arc;

use surelift::control::{Controller, Measured, SupervisedController};
use surelift::inertia::ParameterSet;
use surelift::plan::tube_fit;
use surelift::reach::PreparedSet;
use surelift::trajectory::JointState;

use super::{allocations, arm};

#[test]
fn supervision_and_the_gentle_stop_do_not_allocate() {
    let robot = Arc::new(arm());
    let n = robot.dof();
    let start = JointState::at_rest(&[0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5]);
    let (set, tube) = (ParameterSet::around_nominal(&robot), tube_fit::initial(&robot));
    let mut controller = SupervisedController::new(robot.clone(), &set, &tube);
    let next = Arc::new(PreparedSet::new(&robot, &set));
    let (mut q, mut dq, mut tau) = (start.q.clone(), vec![0.0; n], vec![0.0; n]);
    let mut kept = None;
    let asked = allocations(|| {
        for k in 0..1000 {
            // Nothing wrong, then far from the desired state, then no readings at all in one joint and then in any.
            dq[2] = if k < 200 { 0.0 } else { 0.3 };
            if k >= 400 {
                (q[3], dq[3]) = (f64::NAN, f64::INFINITY);
            }
            if k >= 700 {
                q.fill(f64::NAN);
            }
            assert_eq!(controller.stopped().is_some(), k > 200);
            controller.tick(0.0, Measured { q: &q, dq: &dq }, &start, &mut tau);
            assert!(tau.iter().all(|x| x.is_finite()));
        }
        kept = Some(controller.switch(next, &tube));
    });
    assert_eq!(asked, 0);
    assert!(kept.is_some());
}
