use super::parameters::JointParameter;
use super::*;
use crate::dynamics::Constraint;
use crate::estimate::{Solver, SolverOptions};
use crate::inertia::Coordinates;
use crate::recording::Sensor;
use crate::robot::configuration::neutral;
use crate::robot::{LoopKind, Placement, load_model};

mod derivatives;
mod spread;
mod workspace;

/// A problem with much estimated, at an arbitrary place.
fn problem(name: &str, coordinates: Coordinates) -> MultibodyProblem {
    let robot = Arc::new(load_model(format!("robots/{name}.toml")).unwrap());
    let (n, last) = (robot.nv(), robot.bodies() - 1);
    let mut map = ParameterMap::none(&robot);
    map.bodies = vec![(last, coordinates), (last / 2, coordinates)];
    map.bodies.dedup();
    use JointParameter::{Armature, Coulomb, Gain, Offset, Skew, Viscous};
    if last > 0 {
        map.joints = vec![(1, Coulomb), (3, Viscous), (5, Armature), (6, Offset), (2, Gain), (4, Skew)];
    }
    let wave = |p: f64| (0..n).map(|j| (p + j as f64).sin()).collect::<Vec<_>>();
    let sample = |k: usize| {
        let mut q = neutral(&robot);
        integrate(&robot, &neutral(&robot), &wave(0.1 * k as f64), &mut q);
        Sample { t: 0.01 * k as f64, q, dq: wave(1.0), tau: wave(2.0) }
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

/// The problem with rotors that ride on other links: one that is estimated (joint 5), and one that is not.
fn geared(mut p: MultibodyProblem) -> MultibodyProblem {
    let robot = Arc::make_mut(&mut p.robot);
    for (joint, ratio) in [(2, 9.0), (5, -6.0)] {
        robot.joints[joint].gear_ratio = Some(ratio);
    }
    p
}

/// The problem with feet on the ground; the third stage begins with an impact of the last foot.
fn standing(name: &str, feet: &[&str], kind: LoopKind) -> MultibodyProblem {
    let p = problem(name, Coordinates::LogCholesky);
    let constraints: Vec<Constraint> = feet
        .iter()
        .map(|foot| {
            let frame = p.robot.frame_index(foot).unwrap();
            Constraint::contact(&p.robot, frame, kind, Placement::identity()).stabilised(0.0, 20.0)
        })
        .collect();
    let count = constraints.len();
    let phase =
        |from, up: &[usize]| ContactPhase { from, active: (0..count).map(|c| !up.contains(&c)).collect() };
    let phases = vec![phase(0, &[count - 1]), phase(1, &[])];
    p.with_contacts(Contacts { constraints, phases, compliance: 0.0 }).unwrap()
}

/// The problem with every kind of sensor on its IMU, and one on a foot.
fn sensing(p: MultibodyProblem, foot: &str) -> MultibodyProblem {
    use crate::recording::Quantity::{Acceleration, Orientation, Position, Rate, Velocity};
    let frame = |name: &str| p.robot.frame_index(name).unwrap();
    let sensor = |name: &str, quantity, size: f64| Observation {
        sensor: Sensor { frame: frame(name), quantity },
        deviation: [size, 2.0 * size, f64::INFINITY],
        standing: None,
    };
    let observations = [
        sensor("imu", Orientation, 0.1),
        sensor("imu", Rate, 0.5),
        sensor("imu", Acceleration, 2.0),
        Observation { standing: Some(0), ..sensor(foot, Position, 0.2) },
        sensor("imu", Velocity, 0.3),
    ];
    let readings =
        [0.1, -0.2, 0.3, 0.9f64.sqrt(), 0.4, 0.5, 0.6, 1.0, 2.0, 9.0, 0.3, 0.2, 0.1, 0.4, -0.1, 0.2];
    let readings = vec![readings.to_vec(); p.samples.len()];
    p.with_observations(&observations, readings).unwrap()
}

/// The problem with observed work.
fn working(p: MultibodyProblem) -> MultibodyProblem {
    p.with_work(vec![0.3; 3], 0.05).unwrap()
}

/// What a stage remembers is another way to the same solution, wherever the last one was.
#[test]
fn memory_changes_no_result() {
    let feet = ["LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT"];
    let cases = [
        (problem("kinova_gen3_2f85", Coordinates::LogCholesky), 0),
        (problem("go1", Coordinates::ExponentialEigenvalue), 0),
        (standing("anymal_b", &feet, LoopKind::Point), 1),
    ];
    for (p, k) in cases {
        let (size, mut s) = (p.size(k), p.workspace());
        let blank = || StageValues { next: vec![0.0; size.state], ..StageValues::default() };
        let mut kept = blank();
        let mut model = StageModel::new(size, size.tangent, p.map.len());
        p.linearise(k, p.guess().at(k), &mut s, &mut model, &mut kept).unwrap();
        for (far, which) in [(1e-6, 0.3), (1e-2, 1.1), (1.0, 2.7)] {
            let mut moved = p.guess();
            let away: Vec<f64> = (0..size.tangent).map(|i| 0.3 * far * (which * i as f64).sin()).collect();
            p.integrate(k, &p.guess().xs[k], &away, &mut moved.xs[k]);
            moved.us[k].iter_mut().enumerate().for_each(|(i, u)| *u += far * (which * i as f64).cos());
            moved.theta.iter_mut().enumerate().for_each(|(i, t)| *t += 0.1 * far * (i as f64).cos());
            let mut told = vec![0.0; size.tangent];
            // Relative to the velocity behind the interval: light links are fast.
            let mut apart = |a: &[f64], b: &[f64]| {
                p.difference(k + 1, a, b, &mut told);
                let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, d| m.max(d.abs()));
                largest(&told) / (1.0 + largest(a))
            };
            // A trial step, then the linearisation where it led, each from a memory and from none.
            let mut fresh = blank();
            p.evaluate(k, moved.at(k), &mut p.workspace(), &mut fresh).unwrap();
            p.evaluate(k, moved.at(k), &mut s, &mut kept).unwrap();
            assert!(apart(&fresh.next, &kept.next) < 1e-12, "{far}");
            let mut anew = StageModel::new(size, size.tangent, p.map.len());
            p.linearise(k, moved.at(k), &mut p.workspace(), &mut anew, &mut blank()).unwrap();
            model.clear(size, size.tangent);
            p.linearise(k, moved.at(k), &mut s, &mut model, &mut kept).unwrap();
            assert!(apart(&fresh.next, &kept.next) < 1e-12, "{far}");
            for (a, b) in [(&anew.jac, &model.jac), (&anew.hess, &model.hess)] {
                for j in 0..a.cols() {
                    let (a, b) = (a.col(j), b.col(j));
                    let size = a.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
                    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * size), "{far}, {j}");
                }
            }
        }
    }
}

/// V at fixed states, accelerations and forces, from the recursion's own factors.
fn volume(p: &MultibodyProblem, at: &Trajectory) -> (f64, Vec<f64>) {
    // No iteration: the factors at the guess.
    let options =
        SolverOptions { iterations: 0, marginal: true, parallel: false, ..SolverOptions::default() };
    let mut solver = Solver::new(p, options).unwrap();
    solver.solve(at).unwrap();
    let posterior = solver.posterior(|_, _| {}).unwrap();
    let precision = posterior.arrival.clone().try_inverse().unwrap();
    let nx = posterior.nx;
    let mut v = 0.5 * precision.view((0, 0), (nx, nx)).into_owned().determinant().ln();
    let (inputs, by_physical) = solver.volume_of_inputs().unwrap();
    v += inputs;
    let (mut physical, mut slopes) = (vec![0.0; by_physical.len()], Mat::zeros(0, 0));
    p.naturalise(&at.theta, &mut physical, &mut slopes);
    let by_theta = |i: usize| (0..physical.len()).map(|c| by_physical[c] * slopes[(i, c)]).sum();
    (v, (0..at.theta.len()).map(by_theta).collect())
}

#[test]
fn the_volumes_slope_agrees_with_differences() {
    let cases = [
        ("arm", problem("kinova_gen3_2f85", Coordinates::ExponentialEigenvalue)),
        ("flying", problem("go1", Coordinates::LogCholesky)),
        ("rotors on links", geared(problem("kinova_gen3_2f85", Coordinates::LogCholesky))),
        // With two impacts.
        ("four feet", standing("anymal_b", &["LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT"], LoopKind::Point)),
    ];
    for (name, p) in cases {
        let mut p = p.formulated(Formulation::Inverse);
        // Noise moves it more than sensors err.
        p.weights.first.fill(1e8);
        p.weights.tau.fill(1e-4);
        p.weights.dq.fill(1e4);
        let mut guess = p.guess();
        guess.us.iter_mut().flatten().enumerate().for_each(|(i, u)| *u += (i as f64).sin());
        let (_, slope) = volume(&p, &guess);
        for i in 0..guess.theta.len() {
            let step = 1e-4;
            let moved = |steps: f64| {
                let mut g = guess.clone();
                g.theta[i] += steps * step;
                volume(&p, &g).0
            };
            let difference = (8.0 * (moved(1.0) - moved(-1.0)) - (moved(2.0) - moved(-2.0))) / (12.0 * step);
            let e = (difference - slope[i]).abs();
            // Rounding of V over the step counts too.
            let allowed = 1e-4 * (2e-2 + slope[i].abs());
            assert!(e < allowed, "{name}, {i}: {difference} {}", slope[i]);
        }
        assert!(slope.iter().any(|s| s.abs() > 1e-2), "{name}: {slope:?}");
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
    assert!(build(&short, p.samples.clone(), 0.01).contains("1 numbers, expected 26"));
    let mut samples = p.samples.clone();
    samples[1].dq.pop();
    assert!(build(&good, samples, 0.01).contains("dq of sample 1: 6 numbers, expected 7"));
    let mut samples = p.samples.clone();
    samples[2].tau[0] = f64::NAN;
    assert!(build(&good, samples, 0.01).contains("stage 2"));
    assert!(build(&good, p.samples.clone(), f64::NAN).contains("sampling interval"));
    assert!(build(&good, Vec::new(), 0.01).contains("samples: 0"));
    let work = |observed: Vec<f64>, deviation| {
        p.clone().with_work(observed, deviation).map(|_| ()).unwrap_err().to_string()
    };
    assert!(work(vec![0.0; 2], 1.0).contains("the observed work: 2 numbers, expected 3"));
    assert!(work(vec![0.0, 0.0, f64::NAN], 1.0).contains("the observed work at stage 2"));
    for missing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(work(vec![0.0; 3], missing).contains("standard deviation of the observed work"), "{missing}");
    }
}

#[test]
fn schedules_and_sensors_that_make_no_sense_are_told() {
    let p = problem("anymal_b", Coordinates::LogCholesky);
    let frame = p.robot.frame_index("LF_FOOT").unwrap();
    let held = Constraint::contact(&p.robot, frame, LoopKind::Point, Placement::identity());
    let contacts = |phases: &[(usize, usize)]| {
        let phase = |&(from, count): &(usize, usize)| ContactPhase { from, active: vec![true; count] };
        let (constraints, phases) = (vec![held.clone()], phases.iter().map(phase).collect());
        let contacts = Contacts { constraints, phases, compliance: 0.0 };
        p.clone().with_contacts(contacts).map(|_| ()).unwrap_err().to_string()
    };
    assert!(contacts(&[]).contains("does not begin with sample 0"));
    assert!(contacts(&[(1, 1)]).contains("does not begin with sample 0"));
    assert!(contacts(&[(0, 2)]).contains("phase 0 speaks of 2 constraints, expected 1"));
    assert!(contacts(&[(0, 1), (0, 1)]).contains("phase 1 begins no later than the one before"));
    assert!(
        contacts(&[(0, 1), (2, 1)])
            .contains("phase 1 begins at sample 2, expected one before the last of the log's 3")
    );
    let standing = Contacts {
        constraints: vec![held.clone()],
        phases: vec![ContactPhase { from: 0, active: vec![true] }],
        compliance: 0.0,
    };
    let refused = geared(p.clone()).with_contacts(standing).unwrap_err().to_string();
    assert!(refused.contains("gear_ratio") && refused.contains(&p.robot.joints[2].name), "{refused}");
    let observation = |frame, deviation, standing| {
        let sensor = Sensor { frame, quantity: crate::recording::Quantity::Rate };
        let observations = [Observation { sensor, deviation, standing }];
        p.clone()
            .with_observations(&observations, vec![vec![]; p.samples.len()])
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(observation(9999, [1.0; 3], None).contains("sensor 0"));
    assert!(observation(frame, [1.0; 3], Some(0)).contains("bound to a contact that does not exist"));
    assert!(observation(frame, [1.0, 0.0, 1.0], None).contains("standard deviation of sensor 0"));
    assert!(observation(frame, [1.0; 3], None).contains("the readings of sample 0: 0 numbers, expected 3"));
}
