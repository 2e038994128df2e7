use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::discrete::furuta::{FurutaNumbers, furuta};
use crate::discrete::mechanism::{DryFriction, Motor};
use crate::discrete::parameters::Parameter;

#[test]
fn slopes_agree_with_differences() {
    let mut draw = ChaCha8Rng::seed_from_u64(1);
    let dry = DryFriction { kinetic: 0.01, excess: 0.02, rate: 0.1, radius_m: 0.7, creep: 0.0 };
    for trial in 0..40 {
        let numbers = FurutaNumbers {
            dry: (trial % 2 == 1).then_some([dry; 2]),
            inertias: [[1e-3, 2e-3, 3e-3], [5e-4, 4e-3, 4.5e-3]],
            compliance: [1e-3, 1e-5, 0.0][trial % 3],
            motor: Motor { gain: 2.0, shaft_kg_m2: 3e-4 },
            ..Default::default()
        };
        let mut mechanism = furuta(&numbers);
        mechanism.tilt_rad = nalgebra::Vector3::new(0.1, -0.2, 0.3);
        let eq = Equations::new(&mechanism, 0.01);
        let pose = mechanism.assemble(&[0.3, 1.0]).unwrap();
        let mut off = pose.clone();
        let d: Vec<f64> = (0..12).map(|_| draw.random_range(-1e-2..1e-2)).collect();
        move_pose(&pose, &d, &mut off);
        let v: Vec<f64> = (0..12).map(|_| draw.random_range(-2.0..2.0)).collect();
        let controls = [0.4, 0.0];
        let mut params = vec![Parameter::Mass(0), Parameter::Mass(1), Parameter::Viscous(0), Parameter::Viscous(1), Parameter::Gain(0), Parameter::Shaft(0), Parameter::Tilt(0), Parameter::Tilt(1), Parameter::Tilt(2)];
        for b in 0..2 { for i in 0..3 { params.push(Parameter::Inertia(b, i)); } }
        if numbers.dry.is_some() { for j in 0..2 { params.extend([Parameter::Kinetic(j), Parameter::Excess(j), Parameter::Rate(j)]); } }
        let mut space = StepSpace::default();
        let geometry = Geometry::at(&mechanism, &off);
        let mut friction = first_guess(&eq, &geometry, &v);
        let at = Start { mechanism: &mechanism, geometry: &geometry, v: &v, controls: &controls };
        space.solve(&eq, at, &[], &mut friction).unwrap();
        let y = space.y.clone();
        let width = 24 + params.len();
        let mut dd = vec![0.0; eq.size() * width];
        eq.fill_slopes(at, &friction, &y, &params, 0, &mut dd);
        space.elimination.solve(&mut dd, width, 0);
        let run = |pose: &[f64], v: &[f64], m: &Mechanism| {
            let g = Geometry::at(m, pose);
            let mut s = StepSpace::default();
            let mut f = friction.clone();
            s.solve(&eq, Start { mechanism: m, geometry: &g, v, controls: &controls }, &[], &mut f).unwrap();
            assert_eq!(f, friction);
            s.y
        };
        let e = 1e-6;
        for c in 0..width {
            let both: Vec<Vec<f64>> = [e, -e].iter().map(|&e| {
                if c < 12 {
                    let mut d = vec![0.0; 12]; d[c] = e;
                    let mut p = off.clone(); move_pose(&off, &d, &mut p);
                    run(&p, &v, &mechanism)
                } else if c < 24 {
                    let mut w = v.clone(); w[c - 12] += e; run(&off, &w, &mechanism)
                } else {
                    let mut m = mechanism.clone(); let p = params[c - 24];
                    let s = p.get(&m).abs().max(1e-3) * 1e-0; p.set(&mut m, p.get(&mechanism) + e * s); run(&off, &v, &m).iter().zip(&y).map(|(a, b)| b + (a - b) / s).collect()
                }
            }).collect();
            let scale = (0..eq.nv).map(|i| dd[i * width + c].abs()).fold(1e-2f64, f64::max);
            for i in 0..eq.nv {
                let fd = (both[0][i] - both[1][i]) / (2.0 * e);
                let an = -dd[i * width + c];
                assert!((fd - an).abs() < 1e-5 * scale, "trial {trial} column {c} row {i}: {fd} {an}");
            }
        }
    }
}

#[test]
fn swings() {
    for h in [1e-2, 5e-3, 1e-3] {
        let m = furuta(&FurutaNumbers { compliance: 1e-6, viscous: [0.0; 2], ..Default::default() });
        let pose = m.assemble(&[0.0, std::f64::consts::PI - 0.03]).unwrap();
        let mut s = Stepper::new(m, h, &pose).unwrap();
        let mut x = DiscreteState { pose, velocity: vec![0.0; 12] };
        let e0 = s.energy(&x);
        for k in 0..(2.0 / h) as usize {
            s.step(&mut x, &[0.0; 2]).unwrap();
            if k % ((0.2 / h) as usize) == 0 { println!("{h} {} {:.5} {:.1e}", k, s.energy(&x) - e0, s.violation(&x)); }
        }
    }
}

#[test]
fn lemke_agrees() {
    let mut draw = ChaCha8Rng::seed_from_u64(2);
    let mut stuck = 0;
    for trial in 0..200 {
        let dry = DryFriction { kinetic: draw.random_range(0.0..0.1), excess: draw.random_range(0.0..0.1), rate: 1.0, radius_m: 0.3, creep: 0.0 };
        let mechanism = furuta(&FurutaNumbers { dry: Some([dry; 2]), compliance: 1e-4, ..Default::default() });
        let eq = Equations::new(&mechanism, 0.01);
        let pose = mechanism.assemble(&[draw.random_range(-3.0..3.0), draw.random_range(-3.0..3.0)]).unwrap();
        let size = [1.0, 1e-2, 0.0][trial % 3];
        let v: Vec<f64> = (0..12).map(|_| size * draw.random_range(-1.0..1.0)).collect();
        let geometry = Geometry::at(&mechanism, &pose);
        let at = Start { mechanism: &mechanism, geometry: &geometry, v: &v, controls: &[0.0; 2] };
        let mut space = StepSpace::default();
        let mut friction = first_guess(&eq, &geometry, &v);
        space.solve(&eq, at, &[], &mut friction).unwrap();
        let y = space.y.clone();
        space.prepare(&eq, at, &[]);
        let state = space.by_lemke(&eq, at).expect("lemke");
        let mut other = state.clone();
        space.solve(&eq, at, &[], &mut other).unwrap();
        assert_eq!(other.iter().map(|f| f.sliding).collect::<Vec<_>>(), state.iter().map(|f| f.sliding).collect::<Vec<_>>(), "{trial}");
        for i in 0..12 { assert!((space.y[i] - y[i]).abs() < 1e-9, "{trial} {friction:?} {state:?}"); }
        stuck += friction.iter().filter(|f| f.sliding == 0).count();
        println!("{}", space.solutions(&eq, at, &[]).len());
    }
    println!("{stuck}");
}
