//! Correlated sets: what strips leave of rho and add to the nominal torque, part by part.

use super::*;
use crate::enclose::twofold::Twofold;
use crate::inertia::{COULOMB, OFFSET, Strip, TorqueStrips};
use crate::reach::PreparedSet;

/// The slider, speeding up at 10 m/s^2, with strips of one direction: index of a parameter and value; bounds at 0 s and at 2 s.
fn strips(direction: &[(usize, f64)], bounds: [(f64, f64); 2], change: impl FnOnce(&mut Case)) -> CellReport {
    let mut case = slider();
    case.curve = from(&[0.0], &[0.0], &[10.0]);
    change(&mut case);
    let strip = |(lower, upper): (f64, f64)| {
        let mut all = vec![0.0; case.set.len()];
        direction.iter().for_each(|&(p, d)| all[p] = d);
        Strip { direction: all, lower, upper }
    };
    let strips = bounds.map(strip).to_vec();
    let strips = TorqueStrips { times: vec![0.0, 2.0], strips };
    case.set = case.set.with_strips(Some(strips));
    report(&mut case, START)
}

#[test]
fn what_strips_leave_of_rho() {
    let friction = |p: usize| INERTIAL + p;
    let offset = friction(OFFSET);
    // The strip says nothing of the mass: all that the box leaves.
    let narrow = [(-0.1, 0.1); 2];
    let residual = strips(&[], [(0.0, 0.0); 2], |c| widen(c, 0, 0, 0.5));
    meets("residual", 0.5 * 10.0, residual.torque[0].rho);
    // It says half of what the mass does.
    let half = strips(&[(0, 5.0)], [(9.0, 11.0); 2], |c| widen(c, 0, 0, 0.5));
    meets("half of a residual", 0.5 * 5.0 + 1.0, half.torque[0].rho);
    // A strip across the offset, narrower than the box.
    let across = strips(&[(offset, 1.0)], narrow, |c| widen(c, 0, offset, 0.5));
    meets("half-width", 0.1, across.torque[0].rho);
    // Coulomb friction is no column of the row: what the strip holds of it may be anything.
    let other = strips(&[(offset, 1.0), (friction(COULOMB), 2.0)], narrow, |c| {
        widen(c, 0, offset, 1.0);
        widen(c, 0, friction(COULOMB), 0.2);
        c.curve = from(&[0.0], &[1.0], &[0.0]);
    });
    meets("elsewhere", 0.1 + 2.0 * 0.2 + 0.2, other.torque[0].rho);
}

#[test]
fn what_strips_add_to_the_nominal_torque() {
    let offset = INERTIAL + OFFSET;
    let wide = |c: &mut Case| {
        widen(c, 0, offset, 1.0);
        c.curve = still(&[0.0]);
    };
    // Not in the middle of the box.
    let beside = strips(&[(offset, 1.0)], [(0.6, 0.8); 2], wide);
    meets("shift", 0.7, beside.torque[0].nominal_sup());
    meets("half-width", 0.1, beside.torque[0].rho);
    // A strip that is wider than the box: the box bounds what the shift did not need.
    let vast = strips(&[(offset, 1.0)], [(0.7 - 9.0, 0.7 + 9.0); 2], wide);
    meets("box and shift", 1.0 + 0.7, vast.torque[0].rho);
    // Two strips that differ: within a microsecond the first one counts.
    let two = strips(&[(offset, 1.0)], [(0.6, 0.8), (-0.8, -0.6)], wide);
    meets("the first of two", 0.7, two.torque[0].nominal_sup());
}

/// Whatever span a cell is over: at every time of its ticks the two strips that the law takes, and their shares, are in one of its stretches.
#[test]
fn no_share_of_time_escapes() {
    let mut case = slider();
    let times = vec![0.1, 0.3, 0.35, 1.2];
    let strip = Strip { direction: vec![0.0; case.set.len()], lower: 0.0, upper: 0.0 };
    let strips = TorqueStrips { times: times.clone(), strips: vec![strip; 4] };
    case.set = case.set.with_strips(Some(strips));
    let prepared = PreparedSet::new(&case.robot, &case.set);
    let strips = prepared.strips().unwrap();
    let mut seen = [0; 5];
    for first in 0..60 {
        for length in [1e-9, 0.01 / 3.0, 0.2, 1.5] {
            let t0 = f64::from(first) / 33.0;
            let t1 = (t0 + length).min(2.0);
            let stretches = strips.over::<4, Counted>(&case.tube, 2.0, Span::Between(t0, t1));
            for k in 0..=20 {
                // At the start the symbol is -1 exactly.
                let rounded = if k == 0 { 0.0 } else { 1e-13 };
                let share = f64::from(k) / 20.0;
                let t = (t0 + share * (t1 - t0)).clamp(t0, t1);
                // At the very time of a strip it is the second of one pair and the first of the next, which is the same.
                let seconds = [times.partition_point(|x| *x <= t), times.partition_point(|x| *x < t)];
                seen[seconds[0]] += 1;
                let covers = |pair: (usize, usize), exact: Option<Twofold>| {
                    stretches.iter().any(|s| {
                        let Some(exact) = exact else { return (s.first, s.second) == pair };
                        // Time as the cell has it: its symbol runs from the span's start to the end of the ticks.
                        let end = (t1 + case.tube.gains.period_s).min(2.0);
                        let symbol = ((t - t0) / (end - t0) - 0.5) * 2.0;
                        let off = exact.distance_to_line(
                            s.share.center(),
                            s.share.generators(),
                            &[symbol, 0.0, 0.0, 0.0],
                        );
                        (s.first, s.second) == pair && off.head <= s.share.remainder() + rounded
                    })
                };
                let covered = |second: usize| match second {
                    0 => covers((0, 0), None),
                    4 => covers((3, 3), None),
                    _ => {
                        let (a, b) = (Twofold::from(times[second - 1]), Twofold::from(times[second]));
                        covers((second - 1, second), Some(Twofold::from(t).sub(a).div(b.sub(a))))
                    }
                };
                assert!(seconds.into_iter().any(covered), "{t} of {t0} to {t1}: {stretches:?}");
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}
