use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::identify::certificate::{box_bound, upper_bound};
use crate::identify::polytope::{Cuts, Rows};
use crate::inertia::{INERTIAL, log_cholesky};

/// A random problem whose truth is known: one physically consistent body and `extra` other parameters, `m` rows
/// with noise at the corners of its interval or inside it.
fn random_problem(seed: u64, extra: usize, m: usize) -> (Polytope, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut eta: [f64; INERTIAL] = std::array::from_fn(|_| rng.random_range(-0.1..0.1));
    (1..4).for_each(|i| eta[i] = rng.random_range(-4.0..-1.5));
    eta[0] = rng.random_range(0.0..0.8);
    let mut truth = log_cholesky::theta(&eta).to_vec();
    truth.extend((0..extra).map(|_| rng.random_range(-2.0..10.0)));
    let p = truth.len();
    let (lower, upper) = truth
        .iter()
        .enumerate()
        .map(|(j, x): (usize, &f64)| {
            let half = if j < INERTIAL { rng.random_range(0.1..1.0) } else { 0.05 * x.abs() };
            let at = match rng.random_range(0..4) {
                0 => 0.0,
                1 => 1.0,
                _ => rng.random::<f64>(),
            };
            ((x - 2.0 * half * at).min(*x), (x + 2.0 * half * (1.0 - at)).max(*x))
        })
        .unzip();
    let mut rows = Rows::none(p);
    let y = DMatrix::from_fn(m, p, |_, j| {
        let sparse: bool = j < INERTIAL || rng.random_bool(0.5);
        if sparse { rng.random_range(-1.0..1.0) } else { 0.0 }
    });
    for w in 0..m {
        let exact: f64 = y.row(w).iter().zip(&truth).map(|(y, z)| y * z).sum();
        let radius = 0.02 * exact.abs() + 0.01;
        let noise = match rng.random_range(0..3) {
            0 => 1.0,
            1 => -1.0,
            _ => rng.random_range(-1.0..1.0),
        };
        // A hair inside, so that rounding of the test itself does not put the truth outside.
        rows.u.push(exact + noise * radius * (1.0 - 1e-12));
        rows.radius.push(radius);
        rows.origin.push(Origin { t: w as f64, joint: 0 });
    }
    rows.y = y;
    (
        Polytope { set: ParameterSet::new(lower, upper).unwrap(), rows, cuts: Cuts::axes(0), weight: vec![] },
        truth,
    )
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn first_ten() -> Vec<usize> {
    (0..INERTIAL).collect()
}

#[test]
fn truth_is_always_inside_and_widths_never_grow() {
    for seed in 0..60 {
        let (mut polytope, truth) = random_problem(seed, 12, 5 + 3 * seed as usize);
        let old = polytope.set.clone();
        let found = tighten(&mut polytope, &first_ten(), Effort::default()).unwrap();
        assert!(found.set.contains(&truth), "seed {seed}");
        for j in 0..truth.len() {
            assert!(found.set.lower()[j] >= old.lower()[j] && found.set.upper()[j] <= old.upper()[j]);
        }
        assert!(
            seed < 10
                || found.set.upper()[0] - found.set.lower()[0] < 0.9 * (old.upper()[0] - old.lower()[0])
        );
    }
}

#[test]
fn no_proposal_can_exclude_the_truth() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let special =
        [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 5e-324, 1e-300];
    for seed in 0..40 {
        let (polytope, truth) = random_problem(seed, 5, 20);
        for trial in 0..200 {
            let mut number = |spread: f64| match trial % 4 {
                0 if rng.random_bool(0.1) => special[rng.random_range(0..special.len())],
                1 => rng.random_range(-1.0..1.0) * 10f64.powf(rng.random_range(-300.0..300.0)),
                2 if rng.random_bool(0.5) => 0.0,
                _ => rng.random_range(-spread..spread),
            };
            let proposal = Multipliers {
                rows: (0..polytope.rows.len()).map(|_| number(0.1)).collect(),
                cuts: polytope.cuts.coefficients.iter().map(|_| number(0.01)).collect(),
            };
            let d: Vec<f64> = (0..polytope.len()).map(|j| f64::from(j as u32 == trial % 15)).collect();
            let bound = upper_bound(&polytope, &d, &proposal);
            assert!(bound.value >= dot(&d, &truth), "seed {seed} trial {trial}");
            assert!(bound.value <= box_bound(&polytope, &d));
        }
        let short = Multipliers { rows: vec![1.0], cuts: vec![] };
        let d = vec![1.0; polytope.len()];
        assert_eq!(upper_bound(&polytope, &d, &short).value, box_bound(&polytope, &d));
    }
}

/// Solves the same program with clarabel: maximise d'z over box, rows, cuts.
fn clarabel_maximum(polytope: &Polytope, d: &[f64]) -> f64 {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
    let (p, m) = (polytope.len(), polytope.rows.len());
    let cuts = &polytope.cuts;
    let k = cuts.coefficients.len();
    let mut a = DMatrix::zeros(2 * m + k + 2 * p, p);
    let mut b = vec![];
    a.rows_mut(0, m).copy_from(&polytope.rows.y);
    a.rows_mut(m, m).copy_from(&-&polytope.rows.y);
    b.extend(polytope.rows.u.iter().zip(&polytope.rows.radius).map(|(u, r)| u + r));
    b.extend(polytope.rows.u.iter().zip(&polytope.rows.radius).map(|(u, r)| r - u));
    for (i, c) in cuts.coefficients.iter().enumerate() {
        (0..INERTIAL).for_each(|j| a[(2 * m + i, cuts.offset + j)] = -c[j]);
    }
    b.extend(std::iter::repeat_n(0.0, k));
    for j in 0..p {
        a[(2 * m + k + j, j)] = 1.0;
        a[(2 * m + k + p + j, j)] = -1.0;
    }
    b.extend(polytope.set.upper());
    b.extend(polytope.set.lower().iter().map(|x| -x));
    let rows: Vec<Vec<f64>> = (0..a.nrows()).map(|i| a.row(i).iter().copied().collect()).collect();
    let cost: Vec<f64> = d.iter().map(|x| -x).collect();
    let settings = DefaultSettings { verbose: false, ..Default::default() };
    let cones = [SupportedConeT::NonnegativeConeT(b.len())];
    let mut solver =
        DefaultSolver::new(&CscMatrix::zeros((p, p)), &cost, &CscMatrix::from(&rows), &b, &cones, settings)
            .unwrap();
    solver.solve();
    -solver.solution.obj_val
}

#[test]
fn proposals_reach_the_optimum_of_clarabel() {
    for seed in 0..25 {
        let (polytope, _) = random_problem(100 + seed, 10, 30 + seed as usize);
        let program = LinearProgram::new(&polytope, 1e-6);
        for j in 0..INERTIAL {
            for sign in [-1.0, 1.0] {
                let mut d = vec![0.0; polytope.len()];
                d[j] = sign;
                let bound = upper_bound(&polytope, &d, &program.maximise(&d).multipliers).value;
                let best = clarabel_maximum(&polytope, &d);
                let width = polytope.set.upper()[j] - polytope.set.lower()[j];
                assert!((bound - best).abs() < 1e-5 * width, "seed {seed}, {sign} e_{j}: {bound} {best}");
            }
        }
    }
}

#[test]
fn a_search_goes_on_where_further_cuts_come() {
    let mut cuts = 0;
    for seed in 0..10 {
        let (mut polytope, _) = random_problem(400 + seed, 10, 40);
        let mut program = LinearProgram::new(&polytope, 1e-6);
        for j in 0..INERTIAL {
            let mut d = vec![0.0; polytope.len()];
            d[j] = 1.0;
            let mut state = program.start(&d);
            program.solve(&mut state);
            cuts += polytope.cuts.separate(&program.proposal(&state, &d).z, 1e-6);
            program.extend(&polytope);
            program.solve(&mut state);
            let bound = |multipliers: &Multipliers| upper_bound(&polytope, &d, multipliers).value;
            let went_on = bound(&program.proposal(&state, &d).multipliers);
            let anew = bound(&LinearProgram::new(&polytope, 1e-6).maximise(&d).multipliers);
            let width = polytope.set.upper()[j] - polytope.set.lower()[j];
            assert!((went_on - anew).abs() < 1e-5 * width, "seed {seed}, e_{j}: {went_on} {anew}");
        }
    }
    assert!(cuts > 0);
}

#[test]
fn tiny_problems_agree_with_vertex_enumeration() {
    // Two free parameters beside a body that is fixed to a point: a polygon, whose corners can be listed.
    for seed in 0..40 {
        let (mut polytope, truth) = random_problem(200 + seed, 2, 6);
        let (lower, upper) = polytope.set.bounds();
        lower[..INERTIAL].copy_from_slice(&truth[..INERTIAL]);
        upper[..INERTIAL].copy_from_slice(&truth[..INERTIAL]);
        // Half-planes a x + b y <= c.
        let (rows, set) = (&polytope.rows, &polytope.set);
        let mut planes = vec![
            [1.0, 0.0, set.upper()[10]],
            [-1.0, 0.0, -set.lower()[10]],
            [0.0, 1.0, set.upper()[11]],
            [0.0, -1.0, -set.lower()[11]],
        ];
        for w in 0..rows.len() {
            let y: Vec<f64> = rows.y.row(w).iter().copied().collect();
            let u = rows.u[w] - dot(&y[..INERTIAL], &truth[..INERTIAL]);
            planes.push([y[10], y[11], u + rows.radius[w]]);
            planes.push([-y[10], -y[11], rows.radius[w] - u]);
        }
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for (i, p) in planes.iter().enumerate() {
            for q in &planes[..i] {
                let det = p[0] * q[1] - p[1] * q[0];
                let corner = [(p[2] * q[1] - p[1] * q[2]) / det, (p[0] * q[2] - p[2] * q[0]) / det];
                let inside = |h: &[f64; 3]| h[0] * corner[0] + h[1] * corner[1] <= h[2] + 1e-9;
                if det != 0.0 && planes.iter().all(inside) {
                    for k in 0..2 {
                        low[k] = low[k].min(corner[k]);
                        high[k] = high[k].max(corner[k]);
                    }
                }
            }
        }
        let widths: Vec<f64> = (10..12).map(|j| polytope.set.upper()[j] - polytope.set.lower()[j]).collect();
        let found =
            tighten(&mut polytope, &[10, 11], Effort { tolerance: 1e-7, ..Effort::default() }).unwrap().set;
        for k in 0..2 {
            let (below, above) = (low[k] - found.lower()[10 + k], found.upper()[10 + k] - high[k]);
            let tolerance = 1e-5 * widths[k] + 1e-8;
            assert!(below.abs() < tolerance && above.abs() < tolerance, "seed {seed}: {below} {above}");
        }
    }
}

#[test]
fn contradictions_are_reported_with_a_factor_that_is_too_small() {
    // One row far off: named at once.
    let (mut polytope, _) = random_problem(1, 4, 40);
    polytope.rows.u[17] += 1000.0;
    let error = tighten(&mut polytope, &first_ten(), Effort::default()).unwrap_err();
    assert!(matches!(error, IdentifyError::AssumptionBroken { t: 17.0, by, .. } if by > 10.0), "{error}");
    // Rows that each fit the box and contradict one another: only the programs see it.
    let mut found = 0;
    for seed in 0..20 {
        let (mut polytope, _) = random_problem(300 + seed, 4, 60);
        for w in 0..polytope.rows.len() {
            polytope.rows.u[w] += 1.5 * polytope.rows.radius[w] * if w % 2 == 0 { 1.0 } else { -1.0 };
        }
        if let Err(IdentifyError::AssumptionBroken { by, .. }) =
            tighten(&mut polytope, &first_ten(), Effort::default())
        {
            // 2.5 times the radius explains everything, so a proven lower bound cannot exceed that.
            assert!((1.0..=2.5).contains(&by), "{by}");
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_row_that_says_nothing_does_no_harm() {
    let (mut polytope, truth) = random_problem(9, 4, 40);
    let mut spoiled = polytope.clone();
    spoiled.rows.radius[3] = f64::INFINITY;
    polytope.rows = polytope.rows.select(&(0..40).filter(|&w| w != 3).collect::<Vec<_>>());
    let without = tighten(&mut polytope, &first_ten(), Effort::default()).unwrap().set;
    let with = tighten(&mut spoiled, &first_ten(), Effort::default()).unwrap().set;
    assert!(with.contains(&truth));
    for j in 0..INERTIAL {
        assert!((with.upper()[j] - without.upper()[j]).abs() < 1e-5);
    }
}

#[test]
fn full_size_update_timing() {
    let (mut polytope, truth) = random_problem(5, 88, 525);
    let start = std::time::Instant::now();
    let d: Vec<f64> = (0..98).map(|j| f64::from(j == 0)).collect();
    let program = LinearProgram::new(&polytope, 1e-6);
    let proposal = program.maximise(&d);
    println!("one program {:?}", start.elapsed());
    let start = std::time::Instant::now();
    let value = upper_bound(&polytope, &d, &proposal.multipliers).value;
    println!("one certificate {:?}", start.elapsed());
    let start = std::time::Instant::now();
    let best = clarabel_maximum(&polytope, &d);
    println!("clarabel {:?}  {value} {best}", start.elapsed());
    let start = std::time::Instant::now();
    let found = tighten(&mut polytope, &first_ten(), Effort::default()).unwrap();
    println!("twenty bounds {:?}, {} cuts", start.elapsed(), polytope.cuts.coefficients.len());
    assert!(found.set.contains(&truth));
}

/// A sensor of one joint that shows too much: its rows contradict those of all others, and a single contradiction could be laid to
/// any of them.
#[test]
fn the_joint_at_fault_is_named() {
    let (mut broken, mut named) = (0, 0);
    for seed in 0..40 {
        let (mut polytope, _) = random_problem(seed, 12, 90);
        let fault = seed as usize % 3;
        let Rows { u, origin, .. } = &mut polytope.rows;
        for (w, (u, origin)) in u.iter_mut().zip(origin).enumerate() {
            origin.joint = w % 3;
            *u *= if w % 3 == fault { 1.1 } else { 1.0 };
        }
        match tighten(&mut polytope, &first_ten(), Effort::default()) {
            Err(IdentifyError::AssumptionBroken { joint, by, .. }) => {
                broken += 1;
                named += usize::from(joint == fault);
                assert!(by > 1.0);
            }
            other => assert!(other.is_ok(), "{:?}", other.err()),
        }
    }
    println!("{named} of {broken}");
    assert!(broken > 20 && named == broken, "{named} of {broken}");
}

/// Threads of other arithmetic, as a program in C may have made them, prove no bound.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_with_other_arithmetic_proves_no_bound() {
    let (polytope, _) = random_problem(7, 2, 9);
    let mut d = vec![0.0; polytope.len()];
    d[0] = 1.0;
    let proposal = Multipliers { rows: vec![0.0; 9], cuts: vec![0.0; polytope.cuts.coefficients.len()] };
    let within = |bits: u32| {
        let begin = move |_| {
            let mut control = 0_u32;
            // SAFETY: the thread ends with the pool, and computes nothing that is relied on.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control);
                control |= bits;
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control);
            }
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(begin).build().unwrap();
        pool.install(|| upper_bound(&polytope, &d, &proposal).value)
    };
    assert!(within(0).is_finite());
    for bits in [0x2000, 0x4000, 0x6000, 0x8000, 0x0040] {
        assert_eq!(within(bits), f64::INFINITY, "{bits:x}");
    }
}
