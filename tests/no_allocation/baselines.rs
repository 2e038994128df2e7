//! The ticks of the controllers that the law is compared with.

use std::sync::Arc;

use surelift::control::{
    AdaptiveController, AdaptiveGains, AdaptiveRobustController, AdaptiveRobustGains, Controller, GravityPid,
    Measured, PidGains,
};
use surelift::trajectory::JointState;

use super::{allocations, arm};

#[test]
fn the_controllers_to_compare_with_do_not_allocate_and_give_numbers() {
    let robot = Arc::new(arm());
    let model = robot.nominal_parameters();
    let laws: [Box<dyn Controller>; 3] = [
        Box::new(GravityPid::new(robot.clone(), &model, PidGains::default()).unwrap()),
        Box::new(AdaptiveController::new(robot.clone(), &model, AdaptiveGains::default()).unwrap()),
        Box::new(
            AdaptiveRobustController::new(robot.clone(), &model, AdaptiveRobustGains::default()).unwrap(),
        ),
    ];
    let desired = JointState::at_rest(&[0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5]);
    let (mut q, mut dq, mut tau) = (desired.q.clone(), desired.dq.clone(), vec![0.0; robot.dof()]);
    for mut law in laws {
        let asked = allocations(|| {
            for k in 0..1500 {
                // Near the desired state, far from it, and not a number at all.
                let error = [1e-3, 0.3, f64::NAN, 1e300, f64::INFINITY][k as usize % 5];
                for j in 0..q.len() {
                    (q[j], dq[j]) = (desired.q[j] + error, -error);
                }
                law.tick(1e-3 * f64::from(k), Measured { q: &q, dq: &dq }, &desired, &mut tau);
                let within =
                    tau.iter().zip(&robot.joints).all(|(tau, joint)| tau.abs() <= joint.limits.torque);
                assert!(within, "{tau:?}");
            }
        });
        assert_eq!(asked, 0);
    }
}
