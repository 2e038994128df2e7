//! The tick of the momentum law.

use std::sync::Arc;

use surelift::control::{Measured, MomentumController, MomentumPlan};
use surelift::inertia::ParameterSet;
use surelift::reach::PreparedSet;
use surelift::reach::momentum::{CycleTiming, Fall, MomentumGains, MomentumTube, WideStart};
use surelift::trajectory::{Bezier, JointState};

use super::{allocations, arm};

const TIMING: CycleTiming =
    CycleTiming { period_s: 1e-3, latency_s: 5e-4, delay_s: 5e-4, jitter_s: 0.0, drive_lag_s: 0.0 };

#[test]
fn the_momentum_law_does_not_allocate_and_gives_numbers() {
    let robot = Arc::new(arm());
    let n = robot.dof();
    let start = JointState::at_rest(&[0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5]);
    let curve = Bezier::to_rest(&start, &[0.5, 0.2, 2.7, -1.7, 0.0, 0.3, 1.2], 1.0).unwrap();
    let tube = MomentumTube {
        gains: MomentumGains { k_r: 6.0, kappa: 60.0 },
        timing: TIMING,
        robust_nm: vec![10.0; n],
        noise_nms: vec![0.05; n],
        lag_nms2: vec![0.05; n],
        sign_band_rad_s: vec![0.05; n],
        start: None,
    };
    let set = Arc::new(PreparedSet::new(&robot, &ParameterSet::around_nominal(&robot)));
    let fall = Fall { hold_s: 0.01, rate_1_s: 5.0 };
    let wide = WideStart {
        robust_nm: vec![20.0; n],
        noise_nms: vec![0.05; n],
        lag_nms2: vec![0.1; n],
        sign_band_rad_s: vec![0.1; n],
        carried_nms: vec![],
        momentum_fall: fall,
        lag_fall: fall,
    };
    let plan = |start| {
        let tube = MomentumTube { start, ..tube.clone() };
        Arc::new(MomentumPlan { set: set.clone(), tube, curve: curve.clone().into() })
    };
    // Plans that are switched to.
    let mut next: Vec<_> = (0..3).map(|_| plan(Some(wide.clone()))).collect();
    let mut handed_back = Vec::with_capacity(3);
    let mut controller = MomentumController::new(robot, plan(None));
    let (start_q, none) = (curve.state(0.0).q, vec![0.0; n]);
    let (mut q, mut dq, mut tau) = (start_q.clone(), vec![0.0; n], vec![0.0; n]);
    let asked = allocations(|| {
        for k in 0..1500 {
            // Where it should be at the start, then too far, then no readings at all.
            q[2] = if k < 10 { start_q[2] } else { 2.0 };
            if k >= 1000 {
                (q[3], dq[3]) = (f64::NAN, f64::INFINITY);
            }
            let tick = controller.tick(1e-3 * f64::from(k), Measured { q: &q, dq: &dq }, &mut tau);
            assert!(tau.iter().all(|x| x.is_finite()));
            match k {
                0..10 => assert!(tick.share < 1.0, "{tick:?}"),
                10..1000 => assert!(tick.share > 1.0, "{tick:?}"),
                _ => assert!(tick.share.is_nan() && tick.saturated, "{tick:?}"),
            }
        }
        for plan in next.drain(..) {
            handed_back.extend(controller.switch(0.0, plan));
            for k in 0..3 {
                let tick =
                    controller.tick(1e-4 * f64::from(k), Measured { q: &start_q, dq: &none }, &mut tau);
                assert!(tick.share < 1.0, "{tick:?}");
            }
            assert!(controller.start_fault(Measured { q: &start_q, dq: &none }).is_none());
        }
    });
    assert_eq!(asked, 0);
    assert_eq!(handed_back.len(), 2);
}
