use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::enclose::Counted;
use crate::inertia::{COULOMB, ParameterSet};
use crate::reach::Span;
use crate::reach::cell::{TIME, position_symbol};
use crate::reach::law::sums;
use crate::reach::strips::OWN;

type Form = Affine<16, Counted>;

/// A point of the unit ball, often of its sphere.
fn in_ball(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let x: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0f64)).collect();
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let size = if rng.random() { 1.0 } else { rng.random_range(0.0..1.0) };
    x.iter().map(|x| size * x / length).collect()
}

#[test]
fn no_state_of_the_tube_has_a_larger_spread() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
    let prepared = PreparedSet::new(&robot, &ParameterSet::around_nominal(&robot));
    let n = robot.dof();
    let (mut used, mut gained) = (0.0f64, 1.0f64);
    for _ in 0..60 {
        // Entries of which some keep their sign over the tube, and some do not.
        let certain = rng.random_range(0.0..1.0);
        let mut form = |_| {
            let generators =
                std::array::from_fn(|k| if k <= 2 * n { rng.random_range(-0.1..0.1) } else { 0.0 });
            let center = rng.random_range(-1.0..1.0f64);
            let center = if rng.random_bool(certain) { 3.0 * center } else { 0.1 * center };
            Form::new(center, generators, rng.random_range(0.0..0.01))
        };
        let row: Vec<Form> = (0..INERTIAL * n).map(&mut form).collect();
        let own = [form(0), form(1), Form::constant(1.0)];
        let j = rng.random_range(0..n);
        let at = robot.friction_index(j);
        let radius = |p: usize| prepared.radius()[p];
        let radii: Vec<f64> = (0..row.len()).chain(OWN.map(|column| at + column)).map(radius).collect();
        let all: Vec<Form> = row.iter().chain(&own).copied().collect();
        let bound = {
            let row = TorqueRow { links: &row, own };
            sums(&prepared, j, (Affine::zero(), Upward(0.0)), (&row, &row)).1.0
        };
        let apart: f64 = all.iter().zip(&radii).map(|(y, g)| extent::sup_abs(y) * g).sum();
        gained = gained.min(bound / apart);
        for _ in 0..200 {
            let (time, e, r) = (rng.random_range(-1.0..=1.0), in_ball(n, &mut rng), in_ball(n, &mut rng));
            let mut value = |y: &Form| {
                let g = y.generators();
                let errors = (0..n).map(|i| g[position_symbol(i)] * e[i] + g[position_symbol(i) + 1] * r[i]);
                let off = y.remainder() * [-1.0, 1.0][rng.random_range(0..2)];
                y.center() + g[TIME] * time + errors.sum::<f64>() + off
            };
            let total: f64 = all.iter().zip(&radii).map(|(y, g)| value(y).abs() * g).sum();
            assert!(total <= bound * (1.0 + 1e-12), "{total} of {bound}");
            used = used.max(total / bound);
        }
    }
    // 0.969 and 0.832.
    assert!(used > 0.96 && gained < 0.87, "{used} used, {gained} of the sum of all suprema");
}

/// A cell in which joints may stick charges all that they may need to break away; one in which they move for sure does not.
#[test]
fn what_a_joint_needs_to_break_away_is_charged_where_it_may_stick() {
    use crate::reach::fixture;
    use crate::trajectory::{Bezier, JointState};

    let mut robot = crate::robot::load("kinova_gen3_2f85").unwrap();
    robot.stated().uncertainty.breakaway_ratio = 1.5;
    let (n, set, tube) = (robot.dof(), ParameterSet::around_nominal(&robot), fixture::tube(&robot));
    let prepared = PreparedSet::new(&robot, &set);
    let start = JointState { q: vec![0.0; n], dq: vec![0.5; n], ddq: vec![0.0; n] };
    let curve = Bezier::to_rest(&start, &vec![0.5; n], 2.0).unwrap();
    for (span, sticks) in [(Span::Rest, true), (Span::Between(0.0, 0.01), false)] {
        let cell = Cell::<16, Counted>::new(&robot, &tube, &curve, span);
        for j in 0..n {
            let y = vec![Affine::zero(); INERTIAL * n];
            let row = TorqueRow::new(&y, (0, INERTIAL * n), cell.dq[j], cell.ddqa[j]);
            let Upward(charge) = Law::new(&robot, &prepared, &tube).by_box(j, &row, &row).charge;
            let at = robot.friction_index(j) + COULOMB;
            // The most that friction may do, and what it differs by from the centre's.
            let expected = if sticks { 1.5 * set.upper()[at] } else { prepared.radius()[at] };
            assert!((expected..expected * (1.0 + 1e-9)).contains(&charge), "joint {j}: {charge} {expected}");
        }
    }
}
