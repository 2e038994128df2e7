use surelift::{
    certify::*,
    inertia::ParameterSet,
    plan::tube_fit,
    robot::{self, Scene},
    trajectory::*,
};
#[test]
fn trial() {
    let mut robot = robot::load("robots/kinova_gen3_2f85.toml").unwrap();
    let mut set = ParameterSet::around_nominal(&robot);
    let vm: f64 = std::env::var("VM").ok().and_then(|s| s.parse().ok()).unwrap_or(0.02);
    let al: f64 = std::env::var("AL").ok().and_then(|s| s.parse().ok()).unwrap_or(20.0);
    let d: f64 = std::env::var("D").ok().and_then(|s| s.parse().ok()).unwrap_or(0.3);
    robot.control.v_max = vm;
    if let Ok(x) = std::env::var("DV") {
        robot.sensors.velocity_rad_s = x.parse().unwrap();
        robot.sensors.position_rad = robot.sensors.velocity_rad_s / 10.;
    }
    robot.control.alpha = al;
    if std::env::var("KNOWN").is_err() {
        let lo = [1.2, -0.4, -0.4, -1.0, 0., -0.2, 0., -0.2, -0.2, 0.];
        let hi = [5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2];
        set.lower[60..70].copy_from_slice(&lo);
        set.upper[60..70].copy_from_slice(&hi);
    }
    let q = [0.0, 0.26, 3.14, -2.27, 0.0, 0.96, 1.57];
    let end: Vec<f64> = q.iter().enumerate().map(|(i, x)| x + if i % 2 == 0 { d } else { -d }).collect();
    let curve = Bezier::to_rest(&JointState::at_rest(&q), &end, 3.0).unwrap();
    let t = std::time::Instant::now();
    let g = tube_fit::initial(&robot);
    let sc = Scene::default();
    for r in [Problem::new(&robot, &set, &sc, &g, &curve)
        .unwrap()
        .report(surelift::reach::Span::Between(0.5, 0.6))]
    {
        println!(
            "first rho {:?}\n v {:?}\n req {:?}",
            r.torque.iter().map(|t| t.rho).collect::<Vec<_>>(),
            r.robust,
            r.required
        );
    }
    let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 32).unwrap();
    println!("fit {:?} {tube:?}", t.elapsed());
    let scene = Scene::default();
    let p = Problem::new(&robot, &set, &scene, &tube, &curve).unwrap();
    let t = std::time::Instant::now();
    let rs: Vec<_> = p.spans(32).into_iter().map(|s| p.report(s)).collect();
    println!("report {:?}", t.elapsed() / 33);
    for r in rs.iter().step_by(8) {
        println!(
            "{:?} gain {:.3} hold {:.4} slack {:.5}",
            r.span, r.required.gain, r.required.hold_power_w, r.required.energy_slack_j
        );
        for j in 0..7 {
            let t = &r.torque[j];
            println!(
                "  j{j} nom [{:.2},{:.2}] half {:.2} rho {:.2} v {:.2} margin {:.2} drift {:.3} acc {:.2} vel {:.3}",
                t.nominal_lower,
                t.nominal_upper,
                (t.nominal_upper - t.nominal_lower) / 2.,
                t.rho,
                r.robust[j],
                r.torque_margin[j],
                r.required.drift_nm[j],
                r.required.acceleration_bound[j],
                r.velocity[j]
            );
        }
        let c = r
            .clearances
            .iter()
            .min_by(|a, b| a.separation.clearance_m.total_cmp(&b.separation.clearance_m))
            .unwrap();
        println!("  clear {} {:?} {:.4}", robot.shapes[c.shape].name, c.other, c.separation.clearance_m);
    }
    let t = std::time::Instant::now();
    println!("{:?} in {:?}", certify(&p, Partition::default()), t.elapsed());
}
