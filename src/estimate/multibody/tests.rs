use super::super::parameters::{Coordinates, JointParameter};
use super::*;
use crate::robot::configuration::neutral;
use crate::robot::load;

/// A problem with much estimated, at an arbitrary place.
fn problem(name: &str, coordinates: Coordinates) -> MultibodyProblem {
    let robot = Arc::new(load(format!("robots/{name}.toml")).unwrap());
    let (n, last) = (robot.nv(), robot.bodies() - 1);
    let mut map = ParameterMap::none(&robot);
    map.bodies = vec![(last, coordinates), (last / 2, coordinates)];
    map.bodies.dedup();
    use JointParameter::{Armature, Coulomb, Offset, Viscous};
    if last > 0 {
        map.joints = vec![(1, Coulomb), (3, Viscous), (5, Armature), (6, Offset)];
    }
    let wave = |p: f64| (0..n).map(|j| (p + j as f64).sin()).collect::<Vec<_>>();
    let sample = |k: usize| {
        let mut q = neutral(&robot);
        integrate(&robot, &neutral(&robot), &wave(0.1 * k as f64), &mut q);
        Sample { q, dq: wave(1.0), tau: wave(2.0) }
    };
    let deviations = Deviations {
        q: vec![1e-3; n],
        dq: vec![1e-2; n],
        tau: vec![0.1; n],
        first_q: vec![1.0; n],
        first_dq: vec![f64::INFINITY; n],
        theta: vec![0.5; map.len()],
    };
    let samples = (0..3).map(sample).collect();
    MultibodyProblem::new(robot.clone(), map, samples, 0.01, &deviations).unwrap()
}

#[test]
fn derivatives_agree_with_finite_differences() {
    use Coordinates::{ExponentialEigenvalue, LogCholesky};
    let cases = [
        ("kinova_gen3_2f85", LogCholesky),
        ("kinova_gen3_2f85", ExponentialEigenvalue),
        ("go1", LogCholesky),
        ("hector", ExponentialEigenvalue),
    ];
    for (name, coordinates) in cases {
        let p = problem(name, coordinates);
        let mut guess = p.guess();
        guess.theta.iter_mut().enumerate().for_each(|(i, t)| *t += 0.01 * (i as f64).cos());
        guess.us[0].iter_mut().enumerate().for_each(|(i, u)| *u = (i as f64).sin());
        let (mut s, size) = (p.workspace(), p.size(0));
        // Away from the measured place, so that position residuals count.
        let away: Vec<f64> = (0..size.tangent).map(|i| 0.01 * (3.0 * i as f64).sin()).collect();
        let measured = guess.xs[0].clone();
        p.integrate(0, &measured, &away, &mut guess.xs[0]);
        let mut model = StageModel::new(size, size.tangent, p.map.len());
        let blank = || StageValues { cost: 0.0, next: vec![0.0; size.state], constraints: vec![] };
        let mut out = blank();
        p.linearise(0, guess.at(0), &mut s, &mut model, &mut out).unwrap();
        let (nu, nx) = (size.input, size.tangent);
        let mut plain = blank();
        p.evaluate(0, guess.at(0), &mut s, &mut plain).unwrap();
        assert!((plain.cost - out.cost).abs() < 1e-9 * out.cost);
        for i in 0..model.n() {
            let step = 1e-5;
            let mut moved = |sign: f64| {
                let mut g = guess.clone();
                if i < nu {
                    g.us[0][i] += sign * step;
                } else if i < nu + nx {
                    let mut shift = vec![0.0; nx];
                    shift[i - nu] = sign * step;
                    p.integrate(0, &guess.xs[0], &shift, &mut g.xs[0]);
                } else {
                    g.theta[i - nu - nx] += sign * step;
                }
                let mut moved = blank();
                p.evaluate(0, g.at(0), &mut s, &mut moved).unwrap();
                let mut change = vec![0.0; nx];
                p.difference(1, &moved.next, &out.next, &mut change);
                (moved.cost, change)
            };
            // Differences of fourth order: light links make curved functions of their inertia.
            let (up, down, far_up, far_down) = (moved(1.0), moved(-1.0), moved(2.0), moved(-2.0));
            let difference = |u: f64, d: f64, fu: f64, fd: f64| (8.0 * (u - d) - (fu - fd)) / (12.0 * step);
            let slope = difference(up.0, down.0, far_up.0, far_down.0);
            let e = (slope - model.grad[i]).abs();
            assert!(e < 1e-4 * (1.0 + slope.abs()), "{name}: cost by {i}: {slope} {}", model.grad[i]);
            for c in 0..nx {
                let slope = difference(up.1[c], down.1[c], far_up.1[c], far_down.1[c]);
                let e = (slope - model.jac[(i, c)]).abs();
                assert!(e < 1e-6 * (1.0 + slope.abs()), "{name}: d f_{c} / d {i}: {e:e}");
            }
        }
    }
}

#[test]
fn bad_input_is_told() {
    let p = problem("kinova_gen3_2f85", Coordinates::LogCholesky);
    let n = p.robot.nv();
    let good = Deviations {
        q: vec![1e-3; n],
        dq: vec![1e-2; n],
        tau: vec![0.1; n],
        first_q: vec![1.0; n],
        first_dq: vec![1.0; n],
        theta: vec![0.5; p.map.len()],
    };
    let build = |d: &Deviations, samples: Vec<Sample>, step| {
        MultibodyProblem::new(p.robot.clone(), p.map.clone(), samples, step, d)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    let missing = Deviations { tau: vec![0.0; n], ..good.clone() };
    assert!(build(&missing, p.samples.clone(), 0.01).contains("standard deviation of the torques"));
    let short = Deviations { theta: vec![1.0], ..good.clone() };
    assert!(build(&short, p.samples.clone(), 0.01).contains("1 numbers, expected 24"));
    let mut samples = p.samples.clone();
    samples[1].dq.pop();
    assert!(build(&good, samples, 0.01).contains("dq of sample 1: 6 numbers, expected 7"));
    let mut samples = p.samples.clone();
    samples[2].tau[0] = f64::NAN;
    assert!(build(&good, samples, 0.01).contains("stage 2"));
    assert!(build(&good, p.samples.clone(), f64::NAN).contains("sampling interval"));
    assert!(build(&good, Vec::new(), 0.01).contains("samples: 0"));
}
