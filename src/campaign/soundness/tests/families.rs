//! The sets of a family of trajectories, attacked with its members.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::campaign::soundness::case::Case;
use crate::dynamics::truth;
use crate::enclose::Affine;
use crate::family::TrajectoryFamily;
use crate::family::sets::{FamilySets, settled};
use crate::inertia::ParameterSet;
use crate::plan::tube_fit;
use crate::reach::{PreparedSet, extent};
use crate::robot::{self, Scene};
use crate::trajectory::{Bezier, JointState};

type Sets = FamilySets<24>;

fn case() -> (Case, TrajectoryFamily) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
    let robot = robot::load(path).unwrap();
    let set = ParameterSet::around_nominal(&robot);
    let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
    let curve = Bezier::to_rest(&start, &[0.2, 0.4, 3.0, -1.7, 0.1, 0.6, 1.4], 3.0).unwrap();
    let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 16).unwrap();
    let family = TrajectoryFamily::new(curve.clone(), vec![std::f64::consts::PI / 24.0; 7]).unwrap();
    (Case::new(robot, set, Scene::default(), tube, curve), family)
}

fn within(form: &Affine<24>, x: f64) -> bool {
    extent::lower(form) <= x && x <= extent::upper(form)
}

#[test]
fn no_k_no_parameters_and_no_tracking_error_escape() {
    let (mut case, family) = case();
    let prepared = PreparedSet::new(&case.robot, &case.set);
    let center = case.set.center();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..10 {
        let t0 = rng.random_range(0.0..2.9);
        let t1 = t0 + 3.0 / 64.0;
        let sets = Sets::new(&case.robot, &prepared, &case.tube, &family, (t0, t1));
        for _ in 0..40 {
            let k: Vec<f64> = (0..7).map(|_| truth::extreme(&mut rng)).collect();
            case.curve = family.at(&k);
            let theta = truth::consistent(&case.robot, &case.set, &mut rng);
            let t = rng.random_range(t0..=t1).min(3.0);
            let drawn = case.draw(&theta, t, &mut rng);
            let at = |form: &Affine<24>| settled(form, 7, Some(&k));
            let [dqa, ddqa, _] = case.auxiliary(&drawn.desired, &drawn.read_q, &drawn.read_dq);
            let state = [&drawn.read_q[..], &drawn.read_dq, &dqa, &ddqa];
            let nominal = truth::needed(&case.robot, &center, state);
            let needed = truth::needed(&case.robot, &theta, state);
            for j in 0..7 {
                let charge = center[case.robot.joint_index(j).coulomb];
                assert!(within(&at(&sets.q[j]), drawn.q[j]) && within(&at(&sets.q[j]), drawn.read_q[j]));
                assert!(within(&at(&sets.dq[j]), drawn.dq[j]) && within(&at(&sets.dq[j]), drawn.read_dq[j]));
                let slice = at(&sets.torque[j]);
                assert!(extent::lower(&slice) <= nominal[j] + charge, "joint {j}");
                assert!(nominal[j] - charge <= extent::upper(&slice), "joint {j}");
                assert!((needed[j] - nominal[j]).abs() <= sets.rho[j], "joint {j}");
                let (all, one) = (sets.command(j, None), sets.command(j, Some(&k)));
                assert!(all.0 <= one.0 + 1e-9 && one.1 <= all.1 + 1e-9);
            }
            let frames = case.robot.frames(&drawn.q);
            for (shape, ends) in sets.ends.iter().enumerate() {
                let capsule = case.robot.placed_capsule(shape, &frames);
                for (end, point) in ends.iter().zip([capsule.a, capsule.b]) {
                    assert!((0..3).all(|r| within(&at(&end[r]), point[r])), "{shape} at {t}");
                }
            }
        }
    }
}
