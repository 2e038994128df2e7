//! The attack on plans whose feedback runs in the motors is attacked.

use super::*;
use crate::campaign::soundness::motors::MotorCase;
use crate::robot::TimingBounds;

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn loops_in_motors_keep_what_plans_say_and_what_is_wrong_is_found_out_at_length() {
    let path =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/campaigns/soundness_motor_loops.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let campaign = Soundness::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap();
    let played = |case: &MotorCase, beyond: f64| {
        let (mut rng, mut ledger) = (ChaCha8Rng::seed_from_u64(6), Ledger::default());
        let states = case.play(beyond, &mut rng, &mut ledger);
        assert!(states > 1_000, "{states}");
        ledger
    };
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for arm in &campaign.arms {
        let case = MotorCase::draw(arm, &mut rng).unwrap();
        let right = played(&case, 1.0);
        assert_eq!(right.outside(), []);
        let used = |check| right.get(check).unwrap().used;
        let all = [Check::LevelOfV, Check::PositionError, Check::R, Check::Acceleration];
        println!("{:?}", all.map(|check| (check, used(check))));
        assert!(all.into_iter().all(|check| used(check) > 0.3), "the attack does little");
        // Loops that are far slower than the file says leave the level.
        let slow = played(&case, 60.0).outside();
        assert!(slow.contains(&Check::LevelOfV), "{slow:?}");
    }
    let slower = TimingBounds { motor_loop_age_max_s: 2e-3, ..TimingBounds::EXACT };
    let mut arm = campaign.arms[0].clone();
    arm.robot = arm.robot.with_timing(slower).unwrap();
    assert!(
        MotorCase::draw(&arm, &mut rng).is_none(),
        "nothing is proven for loops as slow as the computer's"
    );
}
