use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::certify::{Partition, Problem, Start, certify};
use crate::dynamics::{Motion as Swept, Wrench, rnea};
use crate::plan::excite::{Criterion, Information};
use crate::plan::fixture::{Task, dumbbell, gen3_past_a_post};
use crate::plan::propose::{ConstraintModel, OverAll, Planner, Purpose};
use crate::reach::PreparedSet;
use crate::robot::{Clearance, Obstruction};

/// The task from rest, with all the time in the world.
fn setting<'a>(task: &'a Task, set: &'a Arc<PreparedSet>, start: &'a JointState) -> Setting<'a> {
    Setting {
        robot: &task.robot,
        set,
        scene: &task.scene,
        start,
        duration_s: task.duration_s,
        reach: &task.range_rad,
        warm: None,
        held: None,
        growth_max_m: None,
        seed: 0,
        deadline: Instant::now() + Duration::from_secs(600),
    }
}

/// What the middle of the set needs at the desired state, without friction's sign, N m.
fn torque(robot: &Arm, theta: &[f64], state: &JointState) -> Vec<f64> {
    let n = robot.dof();
    let mut motion = Swept::new(robot);
    motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
    let mut tau = vec![0.0; n];
    rnea(robot, &motion, theta, &mut vec![Wrench::zero(); n], &mut tau);
    let own = |j: usize| {
        let f = robot.joint_parameters(theta, j);
        f.viscous * state.dq[j] + f.armature * state.ddq[j] + f.coulomb * state.dq[j].signum()
    };
    tau.iter().enumerate().map(|(j, tau)| tau + own(j)).collect()
}

/// A family of motions of the Gen3 with a dumbbell, and its rows.
fn posed<'a>(setting: &Setting<'a>, range: f64) -> (EndPoints, FamilyRows<'a>) {
    let n = setting.robot.dof();
    let ends = EndPoints::within_limits(setting.robot, setting.start, &vec![range; n]).unwrap();
    let rows = FamilyRows::new(setting, &ends, &vec![0.0; n], (32, &Workspaces::default())).unwrap();
    (ends, rows)
}

/// The index of a pair.
fn pair_of(family: &FamilyRows<'_>, shape: usize, to: Obstruction) -> usize {
    let other = match to {
        Obstruction::Obstacle(o) => Body::Obstacle(o),
        Obstruction::Shape(b) => Body::Shape(b),
    };
    family.pairs.iter().position(|pair| *pair == (shape, other)).unwrap()
}

/// At random k and times what is true leaves at least what the rows say is left: torque of the middle of the set and its robust part, speed,
/// position, and distances of the axes where the arm is to be. And the rows are no empty claim: most leave much.
#[test]
fn rows_bound_what_is_true_at_each_k() {
    let mut task = dumbbell(3.0);
    task.set = crate::inertia::ParameterSet::around_nominal(&task.robot);
    let start = JointState::at_rest(&task.start);
    let set = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let setting = setting(&task, &set, &start);
    let (ends, family) = posed(&setting, 0.2);
    let (robot, theta) = (&task.robot, task.set.center());
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut nearest, mut apart) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..12 {
        let k: Vec<f64> =
            (0..7).map(|_| [-1.0, 1.0, rng.random_range(-1.0..1.0)][rng.random_range(0..3)]).collect();
        let mut rows = vec![];
        family.append(&k, &mut rows);
        assert!(rows.windows(2).all(|pair| pair[0].label < pair[1].label), "labels are in order");
        let curve = Bezier::to_rest(&start, &ends.at(&k), 3.0).unwrap();
        let mut state = start.clone();
        for row in &rows {
            let Shortfall { family: kind, place, t0, t1, margin } = family.shortfall(row);
            curve.evaluate(rng.random_range(t0..=t1), &mut state);
            let robust = &family.spans[row.label as usize / family.most()].robust;
            let left = match (kind, place) {
                (ConstraintFamily::Torque, ConstraintIndex::Joint(j)) => {
                    robot.joints[j].limits.torque - torque(robot, &theta, &state)[j].abs() - robust[j]
                }
                (ConstraintFamily::Velocity, ConstraintIndex::Joint(j)) => {
                    robot.joints[j].limits.velocity - state.dq[j].abs()
                }
                (ConstraintFamily::Position, ConstraintIndex::Joint(j)) => {
                    let (lower, upper) = robot.joints[j].limits.position.unwrap();
                    (state.q[j] - lower).min(upper - state.q[j])
                }
                (_, ConstraintIndex::Pair(..)) => continue,
                (_, other) => panic!("{other:?}"),
            };
            assert!(left >= margin - 1e-6, "{kind:?} {place:?} at {k:?}: {left} of {margin}");
            if kind == ConstraintFamily::Torque {
                nearest = nearest.min(left - margin);
            }
        }
        assert!(rows.iter().all(|row| row.value > -0.5), "rows say nothing");
        for (i, span) in family.spans.iter().enumerate() {
            curve.evaluate(rng.random_range(span.span.0..=span.span.1), &mut state);
            let frames = robot.frames(&state.q);
            let all = [robot.obstacle_clearance(&frames, &task.scene), robot.self_clearance(&frames)];
            for Clearance { distance, shape, to } in all.into_iter().flatten() {
                let index = pair_of(&family, shape, to);
                let label = (i * family.most() + 3 * 7 + index) as u32;
                let at_least = rows
                    .iter()
                    .find(|row| row.label == label)
                    .map_or(KEEP_M, |row| row.value * CLEARANCE_SCALE_M);
                assert!(distance >= at_least - 1e-6, "{shape} {to:?}: {distance} of {at_least}");
                apart = apart.min(distance - at_least);
            }
        }
    }
    assert!(nearest < 1.5, "the nearest of all torques is {nearest} N m from its bound");
    assert!(apart < 0.03, "the nearest of all distances is {apart} m from its bound");
}

#[test]
fn gradients_are_those_of_the_rows() {
    let mut task = gen3_past_a_post();
    task.start[0] = -0.2;
    let start = JointState::at_rest(&task.start);
    let set = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let setting = setting(&task, &set, &start);
    let (_, family) = posed(&setting, 0.2);
    let k = [0.3, -0.5, 0.2, 0.7, -0.1, 0.4, 0.6];
    let rows = |k: &[f64]| {
        let mut rows = vec![];
        family.append(k, &mut rows);
        rows
    };
    let here = rows(&k);
    let (mut off, mut all) = (0, 0);
    for j in 0..7 {
        let mut ahead = k;
        ahead[j] += 1e-4;
        let there = rows(&ahead);
        for a in here.iter().filter(|a| family.shortfall(a).family != ConstraintFamily::Collision) {
            let Some(b) = there.iter().find(|b| b.label == a.label) else { continue };
            let slope = (b.value - a.value) / 1e-4;
            all += 1;
            // Where another side becomes the nearer one there is no gradient.
            off += usize::from((slope - a.gradient[j]).abs() > 2e-3 * (1.0 + slope.abs()));
        }
    }
    assert!(all > 2500 && off * 100 < all, "{off} of {all} rows of joints");
}

/// Of all near pairs at `k`, the gradients of distances against differences from both sides: how many there are, how many have a kink here, where both sides
/// differ and no gradient is right, and how many of the others are missed by more than 1e-4, all while the direction does not turn.
fn slopes_of_distances(family: &FamilyRows<'_>, k: [f64; 7]) -> (usize, usize, usize) {
    let (mut all, mut kinks, mut missed) = (0, 0, 0);
    let (h, mut weights) = (1e-5, vec![]);
    for span in &family.spans {
        for pair in &span.near {
            let u = span.direction(family, pair, &k, &mut weights);
            let (here, gradient) = span.along(family, pair, &u, &k);
            // Where middles overlap, the direction is any.
            if here <= 1e-3 {
                continue;
            }
            for j in 0..7 {
                let sides = [-h, h].map(|step| {
                    let mut there = k;
                    there[j] += step;
                    (span.along(family, pair, &u, &there).0 - here) / step
                });
                let off = sides.map(|slope| (slope - gradient[j]).abs());
                all += 1;
                if (sides[0] - sides[1]).abs() > 1e-4 {
                    kinks += 1;
                } else {
                    missed += usize::from(off[0].max(off[1]) > 1e-4);
                }
            }
        }
    }
    (all, kinks, missed)
}

/// The gradient of a distance is exact while its direction is held. How the direction turns is not in it.
#[test]
fn gradients_of_distances_are_exact_along_a_direction() {
    let mut task = gen3_past_a_post();
    task.start[0] = -0.2;
    let start = JointState::at_rest(&task.start);
    let set = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let setting = setting(&task, &set, &start);
    let (_, family) = posed(&setting, 0.2);
    let (all, kinks, missed) = slopes_of_distances(&family, [0.3, -0.5, 0.2, 0.7, -0.1, 0.4, 0.6]);
    assert!(all > 500 && kinks * 20 < all, "{kinks} kinks of {all}");
    assert_eq!(missed, 0, "of {all}");
}

/// What the program over all of K finds can be proven, stays within its range, and excites.
#[test]
fn what_is_found_over_all_of_k_can_be_proven() {
    let task = dumbbell(3.0);
    let start = JointState::at_rest(&task.start);
    let set = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let setting = setting(&task, &set, &start);
    let range_rad = 0.15;
    let mut planner = Planner::with_constraints(ConstraintModel::PolynomialZonotopes(OverAll { range_rad }));
    let criterion = Criterion::condition_number();
    let known = Information::none();
    let exciting = Purpose::Excite { known: &known, criterion: &criterion, samples: 32, horizon_s: 3.0 };
    let target: Vec<f64> = task.start.iter().map(|q| q + 0.1).collect();
    for purpose in [exciting, Purpose::Approach(&target)] {
        let found = planner.propose(&setting, purpose).unwrap().clone();
        let moved = found.curve.end().iter().zip(&task.start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(moved > 0.02 && moved <= range_rad + 1e-9, "{moved}");
        let problem = Problem::new(&task.robot, &task.set, &task.scene, &found.tube, &found.curve).unwrap();
        certify(&problem, &Start::Rest, Partition::default()).unwrap();
    }
}

/// Where nothing on offer is safe, the constraint is named.
#[test]
fn what_stands_in_the_way_is_named() {
    let mut task = dumbbell(3.0);
    task.robot.joints[1].limits.torque = 5.0;
    let start = JointState::at_rest(&task.start);
    let set = Arc::new(PreparedSet::new(&task.robot, &task.set));
    let model = ConstraintModel::PolynomialZonotopes(OverAll { range_rad: 0.1 });
    let target = task.start.clone();
    let refused = Planner::with_constraints(model)
        .propose(&setting(&task, &set, &start), Purpose::Approach(&target))
        .unwrap_err();
    assert!(refused.to_string().contains("joint_2"), "{refused}");
}
