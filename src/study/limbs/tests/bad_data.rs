//! Recordings with parts missing, motions that tell little, postures where loops are not proven; and what MCAP files say.

use super::*;

/// Digit's recording `seed` in a file, changed line by line: what a line is (the heading being line 1), and its fields.
fn changed(
    all: bool,
    seconds: f64,
    change: impl Fn(usize, &mut Vec<String>),
) -> (tempfile::TempDir, PathBuf) {
    let held = load_model("digit").unwrap().with_base_held();
    let theta = truth(&held, &mut ChaCha8Rng::seed_from_u64(7));
    let text = recording(&held, &theta, 1, seconds, all);
    let line = |(k, line): (usize, &str)| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        change(k + 1, &mut fields);
        fields.join(",") + "\n"
    };
    let text: String = text.lines().enumerate().map(line).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn read(path: &Path) -> Result<MotorLog, LogError> {
    MotorLog::read(path, &load_model("digit").unwrap(), &LogRequest::default())
}

fn run(logs: &[MotorLog]) -> Result<LimbFindings, LimbError> {
    let robot = load_model("digit").unwrap();
    LimbStudy {
        robot: &robot,
        logs,
        validation: None,
        unknown: LimbUnknown::Everything,
        smoothing: Smoothing::SavitzkyGolay { half: 2, degree: 2 },
        passive_tolerance: 1e-6,
        exponents: false,
    }
    .run()
}

/// A sensor of a passive joint that breaks off: samples without it are left out, and which joint lacks from when on is told. What is no number is refused.
#[test]
fn a_passive_sensor_that_breaks_off_is_named() {
    let held = load_model("digit").unwrap().with_base_held();
    let tarsus = held.joints.iter().position(|joint| joint.name == "left_tarsus").unwrap();
    // From t = 1 s on, which is line 102.
    let broken = |with: &'static str| {
        changed(true, 1.2, move |line, fields| {
            if line >= 102 {
                fields[1 + tarsus] = with.to_owned();
            }
        })
    };
    let (_folder, path) = broken("");
    let log = read(&path).unwrap();
    assert!(log.passive && log.log.samples.len() == 100);
    let notes = log.log.notes().join("\n");
    let told = "20 sample(s) without all readings left out; the first, at t = 1.0000 s, lacks the position of joint `left_tarsus`";
    assert!(notes.contains(told), "{notes}");
    let (_folder, path) = broken("NaN");
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("a.csv") && error.contains("line 102") && error.contains("of joint `left_tarsus`"),
        "{error}"
    );
    // Without the column at all it is named too.
    let (_folder, path) = changed(true, 0.1, |_, fields| {
        fields.remove(1 + tarsus);
    });
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains(&format!("`q{}`", tarsus + 1)), "{error}");
}

/// A recording in which one motor moves, or none: what it cannot tell is told, and the files' parameters stand.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn motors_that_stand_still_are_named_at_length() {
    let robot = load_model("digit").unwrap();
    let held = robot.with_base_held();
    let theta = truth(&held, &mut ChaCha8Rng::seed_from_u64(7));
    let folder = tempfile::tempdir().unwrap();
    for moving in [Some("left_knee"), None] {
        let only = moving.map(|name| held.joints.iter().position(|joint| joint.name == name).unwrap());
        let path = folder.path().join("still.csv");
        std::fs::write(
            &path,
            recording_of(&held, &theta, (1, 2.0, false), |motor| Some(motor) == only, |_, _| 0.0),
        )
        .unwrap();
        let found = run(&[read(&path).unwrap()]).unwrap();
        for limb in &found.limbs {
            let leg = limb.name.starts_with("left_hip") && moving.is_some();
            let still = limb.motors.len() - usize::from(leg);
            assert_eq!(limb.still.len(), still, "{:?}", limb.still);
            assert!(!limb.still.contains(&"left_knee".to_owned()) || moving.is_none());
            // Torques that hold one posture are one base parameter a motor at most.
            assert!(leg || limb.base.rank <= limb.motors.len(), "{}: {}", limb.name, limb.base.rank);
            assert!(limb.theta.iter().all(|x| x.is_finite()) && limb.duality_gap < 1e-2);
        }
    }
}

/// Motors alone, where the loops have no proven closure: beyond the domain, where they come to singular postures or cannot close at all.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn motors_where_loops_do_not_close_are_named_at_length() {
    for (motor, at) in [("left_toe_A", 1.2), ("right_knee", -3.0)] {
        let (_folder, path) = changed(false, 1.0, |_, _| ());
        let mut log = read(&path).unwrap();
        assert!(!log.passive);
        let held = load_model("digit").unwrap().with_base_held();
        let motors = motors_and_base(&held);
        let place = motors.iter().position(|&j| held.joints[j].name == motor).unwrap();
        log.log.samples[30].q[place] = at;
        let error = run(&[log]).unwrap_err().to_string();
        assert!(error.contains("a.csv: sample 31 at t = 0.3000 s"), "{error}");
        assert!(error.contains(&format!("`{motor}` is at {at:.4}")) && error.contains("expected"), "{error}");
    }
}

/// What an MCAP file begins and ends with.
#[cfg(feature = "mcap")]
const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";

/// A recording as an MCAP file of joint states in JSON, without chunks.
#[cfg(feature = "mcap")]
fn mcap(text: &str, names: &[&str]) -> Vec<u8> {
    let string = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = MAGIC.to_vec();
    let mut record = |kind: u8, contents: Vec<u8>| {
        bytes.push(kind);
        bytes.extend((contents.len() as u64).to_le_bytes());
        bytes.extend(contents);
    };
    let id = 1u16.to_le_bytes().to_vec();
    record(1, [string("ros2"), string("by hand")].concat());
    record(3, [id.clone(), string("sensor_msgs/msg/JointState"), string(""), string("")].concat());
    record(4, [id.clone(), id.clone(), string("/joint_states"), string("json"), vec![0; 4]].concat());
    for line in text.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
        let part = |k: usize| numbers[1 + k * names.len()..1 + (k + 1) * names.len()].to_vec();
        let nanoseconds = (1e9 * numbers[0]).round() as u64;
        let stamp =
            serde_json::json!({"sec": nanoseconds / 1_000_000_000, "nsec": nanoseconds % 1_000_000_000});
        let state = serde_json::json!({"header": {"stamp": stamp}, "name": names,
            "position": part(0), "velocity": part(1), "effort": part(2)});
        record(5, [id.clone(), vec![0; 20], serde_json::to_vec(&state).unwrap()].concat());
    }
    record(15, vec![0; 4]);
    record(2, vec![0; 20]);
    bytes.extend(MAGIC);
    bytes
}

/// The same recording as a CSV file and as joint states of a ROS 2 bag, of all joints and of the motors alone.
#[cfg(feature = "mcap")]
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn bags_say_what_tables_say_at_length() {
    let robot = load_model("digit").unwrap();
    let held = robot.with_base_held();
    let theta = truth(&held, &mut ChaCha8Rng::seed_from_u64(7));
    let folder = tempfile::tempdir().unwrap();
    for all in [true, false] {
        let text = recording(&held, &theta, 1, 2.0, all);
        let joints: Vec<usize> = if all { (0..held.nv()).collect() } else { motors_and_base(&held) };
        let names: Vec<&str> = joints.iter().map(|&j| held.joints[j].name.as_str()).collect();
        let [table, bag] = ["a.csv", "a.mcap"].map(|name| folder.path().join(name));
        std::fs::write(&table, &text).unwrap();
        std::fs::write(&bag, mcap(&text, &names)).unwrap();
        let [table, bag] = [table, bag].map(|path| read(&path).unwrap());
        assert_eq!((table.passive, bag.passive, bag.log.samples.len()), (all, all, 200));
        let [table, bag] = [[table], [bag]].map(|logs| run(&logs).unwrap());
        for (one, other) in table.limbs.iter().zip(&bag.limbs) {
            assert!(one.motors[0].fit_rms_nm < one.motors[0].model_rms_nm);
            for (x, y) in one.theta.iter().zip(&other.theta) {
                assert!((x - y).abs() <= 1e-6 * (1.0 + x.abs()), "{x} {y}");
            }
        }
    }
}
