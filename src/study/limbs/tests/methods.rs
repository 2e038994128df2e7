//! One convex fit by three methods: the barrier's path, the primal-dual method, and second-order cones with cuts by clarabel.

use std::time::Instant;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SupportedConeT};
use nalgebra::{Cholesky, DVector, Matrix4, Vector4};

use super::super::compressed::Compressed;
use super::super::fit::Free;
use super::super::rows::RowMaker;
use super::*;
use crate::inertia::pseudo::pseudo_inertia;
use crate::regression::barrier::ConvexFit;

/// Gap that all aim at, in units of half a squared deviation, and the least eigenvalue that cuts end at, against the start's.
const GAP: f64 = 1e-4;
const LEAST: f64 = 1e-6;
const ROUNDS: usize = 40;

/// J >= 0 as seen by two vectors: the two-by-two matrix of their products is positive semidefinite, which is a cone of second order.
struct Cut {
    body: usize,
    vectors: [Vector4<f64>; 2],
}

fn body(z: &DVector<f64>, first: usize) -> Matrix4<f64> {
    pseudo_inertia(&std::array::from_fn(|p| z[first + p]))
}

/// Cuts by all pairs of four vectors.
fn pairs(first: usize, vectors: Matrix4<f64>) -> impl Iterator<Item = Cut> {
    (0..4).flat_map(move |i| {
        (0..i)
            .map(move |j| Cut { body: first, vectors: [vectors.column(i).into(), vectors.column(j).into()] })
    })
}

/// The fit with cuts in the place of J_i >= 0.
fn relaxed(fit: &ConvexFit, cuts: &[Cut]) -> DVector<f64> {
    let n = fit.slope.len();
    let sizes = fit.hessian.diagonal().map(|h| 1.0 / h.sqrt());
    let (mut pointers, mut rows, mut values) = (vec![0], vec![], vec![]);
    for c in 0..n {
        (0..=c).for_each(|r| {
            rows.push(r);
            values.push(fit.hessian[(r, c)] * sizes[r] * sizes[c]);
        });
        pointers.push(rows.len());
    }
    let hessian = CscMatrix::new(n, n, pointers, rows, values);
    let slope: Vec<f64> = (0..n).map(|k| -fit.slope[k] * sizes[k]).collect();
    let mut entries: Vec<(usize, usize, f64)> =
        fit.nonnegative.iter().enumerate().map(|(row, &k)| (row, k, -1.0)).collect();
    let mut cones = vec![SupportedConeT::NonnegativeConeT(fit.nonnegative.len())];
    for (i, Cut { body, vectors: [u, v] }) in cuts.iter().enumerate() {
        for p in 0..INERTIAL {
            let unit = pseudo_inertia(&std::array::from_fn(|q| f64::from(u8::from(p == q))));
            let (a, b, c) = (u.dot(&(unit * u)), v.dot(&(unit * v)), u.dot(&(unit * v)));
            for (row, x) in [a + b, a - b, 2.0 * c].into_iter().enumerate() {
                entries.push((fit.nonnegative.len() + 3 * i + row, body + p, -x * sizes[body + p]));
            }
        }
        cones.push(SupportedConeT::SecondOrderConeT(3));
    }
    let count = fit.nonnegative.len() + 3 * cuts.len();
    let (rows, (columns, values)): (Vec<_>, (Vec<_>, Vec<_>)) =
        entries.into_iter().map(|(r, c, x)| (r, (c, x))).unzip();
    let matrix = CscMatrix::new_from_triplets(count, n, rows, columns, values);
    let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
    let mut solver =
        DefaultSolver::new(&hessian, &slope, &matrix, &vec![0.0; count], &cones, settings).unwrap();
    solver.solve();
    DVector::from_fn(n, |k, _| solver.solution.x[k] * sizes[k])
}

/// Cuts by eigenvectors until no body is less than nothing; gives the point, how often clarabel was asked, and the least eigenvalue against the start's.
fn by_cones(fit: &ConvexFit, start: &DVector<f64>) -> (DVector<f64>, usize, f64) {
    let whiten = |first: usize| {
        let lower = Cholesky::new(body(start, first)).unwrap().l();
        lower.try_inverse().unwrap()
    };
    let mut cuts: Vec<Cut> =
        fit.bodies.iter().flat_map(|&first| pairs(first, whiten(first).transpose())).collect();
    for round in 1.. {
        let z = relaxed(fit, &cuts);
        let mut least = f64::INFINITY;
        for &first in &fit.bodies {
            let inverse = whiten(first);
            let eigen = (inverse * body(&z, first) * inverse.transpose()).symmetric_eigen();
            least = least.min(eigen.eigenvalues.min());
            if eigen.eigenvalues.min() < -LEAST {
                cuts.extend(pairs(first, inverse.transpose() * eigen.eigenvectors));
            }
        }
        if least >= -LEAST || round == ROUNDS {
            return (z, round, least);
        }
    }
    unreachable!()
}

/// Prints a table of times and objectives.
#[test]
#[ignore = "a comparison of times"]
fn methods_of_the_fit_compared() {
    let data = data(false, 10.0);
    let held = data.robot.with_base_held();
    let study = LimbStudy {
        robot: &data.robot,
        logs: &data.logs,
        validation: None,
        unknown: LimbUnknown::Everything,
        smoothing: Smoothing::SavitzkyGolay { half: 2, degree: 2 },
        passive_tolerance: 1e-6,
        exponents: false,
    };
    println!("limb, share, method, ms, steps, value above the primal-dual's, gap or least eigenvalue");
    for limb in held.limbs().iter().filter(|limb| !motors_and_base(&limb.model).is_empty()).take(3) {
        let rows = RowMaker::new(&study, &held, limb).unwrap().rows(&data.logs).unwrap();
        let all = Compressed::of(&limb.model, &rows);
        let turned = all.rows.rows.y.transpose() / (NOISE_NM * NOISE_NM);
        let (gram, slope) = (&turned * &all.rows.rows.y, &turned * &all.rows.rows.u);
        for share in [1.0, 0.1] {
            let free = Free::of(&limb.model, LimbUnknown::Everything, limb.model.bodies()).within(share);
            let (_, fit, _) = free.minimise(&limb.model, &all.map, (&gram, &slope), GAP).unwrap();
            let timed = |of: &dyn Fn() -> (f64, usize, f64)| {
                let begin = Instant::now();
                let (value, steps, gap) = of();
                (1e3 * begin.elapsed().as_secs_f64(), value, steps, gap)
            };
            let fast = timed(&|| {
                let found = fit.minimise_primal_dual(&free.start, GAP).unwrap();
                (found.value, found.steps, found.gap)
            });
            let path = timed(&|| {
                let found = fit.minimise(&free.start, GAP).unwrap();
                (found.value, found.steps, found.gap)
            });
            let cones = timed(&|| {
                let (z, steps, least) = by_cones(&fit, &free.start);
                (fit.value(&z), steps, least)
            });
            let name = &limb.model.joints[0].name;
            let (columns, unknowns) = (all.map.nrows(), fit.slope.len());
            println!("{name}: {columns} columns for {unknowns} parameters, f is {:.3e}", fast.1);
            for (method, (ms, value, steps, gap)) in
                [("primal-dual", fast), ("barrier", path), ("cones", cones)]
            {
                println!("{name}, {share}, {method}, {ms:.1}, {steps}, {:.2e}, {gap:.1e}", value - fast.1);
            }
            assert!(fast.3 <= GAP && path.3 <= GAP && (fast.1 - path.1).abs() <= GAP);
            // Cuts let in more than bodies that can exist, by as much as they end at.
            assert!((cones.1 - fast.1).abs() < 1e-3 * (1.0 + fast.1.abs()), "{} {}", cones.1, fast.1);
        }
    }
}
