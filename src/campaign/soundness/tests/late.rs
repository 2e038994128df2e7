//! The attack on plans of arms whose readings and commands are late is attacked.

use super::*;
use std::sync::Arc;

use crate::campaign::soundness::late::LateCase;
use crate::robot::Spring;

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn late_arms_keep_what_their_plans_say_and_what_is_wrong_is_found_out_at_length() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/campaigns/soundness_late.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let campaign = Soundness::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let case = LateCase::draw(&campaign.arms[0], &mut rng).unwrap();
    let played = |case: &LateCase, beyond: f64, plays: usize| {
        let (mut rng, mut ledger) = (ChaCha8Rng::seed_from_u64(6), Ledger::default());
        let states: u64 = (0..plays).map(|_| case.play(beyond, &mut rng, &mut ledger)).sum();
        assert!(states > 10_000 * plays as u64, "{states}");
        ledger
    };
    let right = played(&case, 1.0, 3);
    assert_eq!(right.outside(), []);
    let used = |check| right.get(check).unwrap().used;
    let all = [Check::Momentum, Check::Lag, Check::PositionError, Check::R, Check::Acceleration];
    println!("{:?}", all.map(|check| (check, used(check))));
    assert!(all.into_iter().all(|check| used(check) > 0.05), "the attack does little");
    // An arm whose drives lag, which begins with the torques that held it.
    let lagging = LateCase::draw(&campaign.arms[2], &mut rng).unwrap();
    assert!(lagging.plan.tube.timing.drive_lag_s == 1e-3 && case.plan.tube.timing.drive_lag_s == 0.0);
    assert_eq!(played(&lagging, 1.0, 2).outside(), []);
    // Drives that do far more beside their commands than is claimed.
    let pushed = played(&case, 100.0, 1).outside();
    assert!(pushed.contains(&Check::Momentum), "{pushed:?}");
    // Bounds of states that are a twentieth of what they ought to be, and a tube.
    let mut wrong = case.clone();
    let bounds = &mut wrong.claim.bounds;
    for list in [&mut bounds.position_error_rad, &mut bounds.r_rad_s, &mut bounds.acceleration_rad_s2] {
        list.iter_mut().for_each(|bound| *bound *= 0.05);
    }
    let found = played(&wrong, 1.0, 1).outside();
    assert_eq!(found, [Check::PositionError, Check::R, Check::Acceleration]);
}

/// Links on springs are not where the plan has their joints; what is left between them and what they must not touch is that of a rigid arm less what springs bend by.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_arm_on_springs_keeps_what_its_plan_says_at_length() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/campaigns/soundness_late.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let campaign = Soundness::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let case = LateCase::draw(campaign.arms.last().unwrap(), &mut rng).unwrap();
    assert!(case.robot.has_springs());
    let mut ledger = Ledger::default();
    for _ in 0..2 {
        case.play(1.0, &mut rng, &mut ledger);
    }
    assert_eq!(ledger.outside(), []);
    // On springs far softer than those of the proof links come to where they must not.
    let soft = |j: usize| {
        let drive = case.robot.drive(j);
        let spring = drive.spring.map(|spring| Spring { stiffness_nm_rad: 100.0, ..spring });
        DriveBounds { spring, ..drive }
    };
    let drives = (0..case.robot.dof()).map(soft).collect();
    let wrong = LateCase { robot: Arc::new(case.robot.with_drives(drives).unwrap()), ..case };
    let mut ledger = Ledger::default();
    wrong.play(1.0, &mut rng, &mut ledger);
    let found = ledger.outside();
    assert!(!found.is_empty(), "links that bend by 50 degrees are not noticed");
    assert!(found.iter().all(|check| [Check::Position, Check::Collision].contains(check)), "{found:?}");
}
