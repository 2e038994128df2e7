//! The attack is attacked: claims that are wrong on purpose must be found out. Mistakes are made: a remainder forgotten,
//! a rounding the wrong way, a tube, capsules and a set that are too small; the drift is left out; and strips of correlated sets are
//! too narrow. Each on every arm of the shipped campaign.

use super::*;
use crate::campaign::Campaign;
use crate::dynamics::truth;
use crate::enclose::rounding::Tally;
use crate::inertia::INERTIAL;
use crate::robot::DriveBounds;

mod families;
mod late;
mod motors;

fn campaign(samples: u64) -> Soundness {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/campaigns/soundness.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut campaign = Soundness::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap();
    campaign.samples = samples;
    campaign
}

/// What of a wrong claim the campaign finds out, arm by arm.
fn found_out<R: Rounding>(wrong: impl Fn(&mut Case), seed: u64) -> Vec<Vec<Check>> {
    let campaign = campaign(1);
    let of = |arm: &Setup| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let truth = Case::draw_plan(arm, &mut rng).unwrap();
        let mut claim = truth.clone();
        wrong(&mut claim);
        campaign.attack_plan::<R>(&claim, &truth, (&Workspaces::default(), &mut rng)).unwrap().0.outside()
    };
    campaign.arms.iter().map(of).collect()
}

/// What the campaign finds out, arm by arm, of claims that allow this share of the angle by which the base leans.
fn found_of_leaning(share: f64, seed: u64) -> Vec<Ledger> {
    let campaign = campaign(1);
    let of = |arm: &Setup| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut claim = Case::draw_plan(arm, &mut rng).unwrap();
        let truth = claim.tilted(&mut rng);
        claim.robot.stated().uncertainty.gravity_direction_deg *= share;
        campaign.attack_plan::<Counted>(&claim, &truth, (&Workspaces::default(), &mut rng)).unwrap().0
    };
    campaign.arms.iter().map(of).collect()
}

/// What the campaign finds out, arm by arm, of claims that allow this share of what the drives do beside their commands.
fn found_of_drives(share: f64, seed: u64) -> Vec<Option<Ledger>> {
    let campaign = campaign(1);
    let drive = |share: f64| DriveBounds {
        error_nm: 0.2 * share,
        error_ratio: 0.01 * share,
        unmodelled_nm: 0.5 * share,
        ..DriveBounds::IDEAL
    };
    let of = |arm: &Setup| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut arm = arm.clone();
        arm.robot.stated().drives = vec![drive(1.0); arm.robot.dof()];
        let truth = Case::draw_plan(&arm, &mut rng)?;
        let mut claim = truth.clone();
        claim.robot.stated().drives = vec![drive(share); arm.robot.dof()];
        Some(campaign.attack_plan::<Counted>(&claim, &truth, (&Workspaces::default(), &mut rng)).unwrap().0)
    };
    campaign.arms.iter().map(of).collect()
}

/// Some arms have no provable tube under such drives; the two Gen3 have.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn drives_that_do_more_than_is_claimed_are_found_out_at_length() {
    let right: Vec<_> = found_of_drives(1.0, 21).into_iter().flatten().collect();
    assert!(right.len() >= 2 && right.iter().all(|found| found.outside().is_empty()), "{right:?}");
    let used = right.iter().map(|found| found.get(Check::Drift).unwrap().used).fold(0.0, f64::max);
    assert!(used > 0.9, "only {used} of the drift is used: the test attacks nothing");
    for wrong in found_of_drives(0.5, 21).iter().flatten() {
        assert!(wrong.outside().contains(&Check::Drift), "{:?}", wrong.get(Check::Drift));
    }
}

/// Whether every arm shows the mistake.
fn everywhere(found: &[Vec<Check>], check: Check) -> bool {
    found.iter().all(|found| found.contains(&check))
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_right_claim_stands_at_length() {
    let findings = campaign(1).run(&|_, _| ()).unwrap();
    println!("{}", crate::report::table::align(&findings.table));
    assert!(findings.passed, "{}", findings.verdict);
    assert!(found_out::<Counted>(|_| (), 10).iter().all(Vec::is_empty));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn thinner_capsules_are_found_out_at_length() {
    let thinner = |c: &mut Case| c.robot.stated().shapes.iter_mut().for_each(|s| s.capsule.radius -= 0.005);
    let found = found_out::<Counted>(thinner, 11);
    assert!(everywhere(&found, Check::Collision), "{found:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_tube_that_is_too_thin_is_found_out_at_length() {
    let found = found_out::<Counted>(|c| c.tube.gains.v_max *= 0.95 * 0.95, 12);
    for check in [Check::Position, Check::LevelOfV] {
        assert!(everywhere(&found, check), "{check:?} was not, only {found:?}");
    }
    // Speeds show it where transmissions carry the floor; where links do, no state uses all of every joint's bound on r.
    assert!(found.iter().any(|found| found.contains(&Check::Velocity)), "{found:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_floor_that_the_mass_matrix_does_not_have_is_found_out_at_length() {
    let higher = |c: &mut Case| {
        c.tube.inertia_floor.iter_mut().chain(&mut c.tube.lag_floor).for_each(|a| *a *= 1.2);
    };
    let found = found_out::<Counted>(higher, 17);
    for check in [Check::Position, Check::Velocity] {
        assert!(everywhere(&found, check), "{check:?} was not, only {found:?}");
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn forgotten_drift_is_found_out_at_length() {
    let found = found_out::<Counted>(|c| c.tube.drift_nm.iter_mut().for_each(|d| *d = 0.0), 13);
    // Strips leave more of rho unused than drift takes: it is the bare box that must show it.
    for (arm, found) in campaign(1).arms.iter().zip(&found).filter(|(arm, _)| !arm.correlated) {
        assert!(found.contains(&Check::Disturbance), "{}: {found:?}", arm.label);
    }
}

/// The Gen3 uses 57 % of its drift (42 % where strips are drawn), and 145 % (169 %) without the lean; of the Z1's so much is left
/// unused that its lean hides in it. A lean that is 3 % too small shows on a pendulum
/// (`attained::rates`).
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_lean_that_is_left_out_is_found_out_at_length() {
    let arms = campaign(1).arms;
    for share in [1.0, 0.0] {
        let mut gen3 = 0;
        for (arm, ledger) in arms.iter().zip(found_of_leaning(share, 18)) {
            let used = ledger.get(Check::Drift).unwrap().used;
            println!("{}: {used:.3} of the drift with {share} of the lean", arm.label);
            let heavy = arm.robot.name == "kinova_gen3_2f85";
            gen3 += usize::from(heavy);
            let found = ledger.outside().contains(&Check::Drift);
            assert!(
                if heavy { found == (share == 0.0) } else { share == 0.0 || !found },
                "{}: {used}",
                arm.label
            );
        }
        assert!(gen3 > 1);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_set_that_is_too_small_is_found_out_at_length() {
    let shrink = |c: &mut Case| {
        let (center, radius) = (c.set.center(), c.set.radius());
        for p in 0..center.len() {
            let (lower, upper) = c.set.bounds();
            lower[p] = center[p] - 0.95 * radius[p];
            upper[p] = center[p] + 0.95 * radius[p];
        }
        narrow_strips(c);
    };
    let found = found_out::<Counted>(shrink, 14);
    assert!(everywhere(&found, Check::Parameters), "{found:?}");
}

fn narrow_strips(c: &mut Case) {
    for strip in c.set.known_strips().into_iter().flat_map(|s| &mut s.strips) {
        let (middle, half) = (0.5 * (strip.lower + strip.upper), 0.5 * (strip.upper - strip.lower));
        (strip.lower, strip.upper) = (middle - 0.95 * half, middle + 0.95 * half);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn strips_that_are_too_narrow_are_found_out_at_length() {
    let found = found_out::<Counted>(narrow_strips, 17);
    let arms = campaign(1).arms;
    assert!(arms.iter().any(|arm| arm.correlated));
    for (arm, found) in arms.iter().zip(&found) {
        assert_eq!(found.contains(&Check::Parameters), arm.correlated, "{}: {found:?}", arm.label);
    }
}

/// Arithmetic with a mistake in it.
macro_rules! mistaken {
    ($name:ident, $forgets:expr, $split:expr) => {
        #[derive(Debug, Clone, Copy, PartialEq)]
        struct $name;

        impl Rounding for $name {
            type Real = Tally;
            type Enclosure = <Counted as Rounding>::Enclosure;
            const FORGETS_REMAINDER: bool = $forgets;

            fn exact(x: f64) -> Tally {
                Counted::exact(x)
            }
            fn product(a: f64, b: f64) -> Tally {
                Counted::product(a, b)
            }
            fn total<const N: usize>(terms: &[f64; N]) -> Tally {
                Counted::total(terms)
            }
            fn magnitude<const N: usize>(terms: &[f64; N]) -> Tally {
                Counted::magnitude(terms)
            }
            fn split(x: Tally) -> (f64, f64) {
                let (value, error) = Counted::split(x);
                (value, $split(error))
            }
            fn lower(x: Tally) -> f64 {
                Counted::lower(x)
            }
            fn upper(x: Tally) -> f64 {
                Counted::upper(x)
            }
        }
    };
}

mistaken!(Forgetful, true, |error: f64| error);
mistaken!(Inward, false, |error: f64| -error);

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_forgotten_remainder_is_found_out_at_length() {
    let found = found_out::<Forgetful>(|_| (), 15);
    assert!(everywhere(&found, Check::Enclosure), "{found:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_rounding_the_wrong_way_is_found_out_at_length() {
    let found = found_out::<Inward>(|_| (), 16);
    assert!(everywhere(&found, Check::Enclosure), "{found:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn bodies_with_a_known_part_are_mended_into_their_box_at_length() {
    let mut tried = 0;
    for arm in &campaign(1).arms {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let case = Case::draw_plan(arm, &mut rng).unwrap();
        let Some(core) = case.set.core() else { continue };
        for _ in 0..200 {
            let body =
                truth::mended(&case.set, core.first, &core.part, &mut rng).expect("such a body exists");
            let rest: [f64; INERTIAL] = std::array::from_fn(|p| body[p] - core.part[p]);
            assert!(
                rest[0] > 0.0 && crate::inertia::pseudo::pseudo_inertia(&rest).cholesky().is_some(),
                "{rest:?}"
            );
            for (p, x) in body.iter().enumerate() {
                assert!(
                    (case.set.lower()[core.first + p]..=case.set.upper()[core.first + p]).contains(x),
                    "{p}: {x}"
                );
            }
            tried += 1;
        }
    }
    assert!(tried > 0);
}
