//! The promise: `surelift robot calibrate` makes a profile from recordings and says when and at which joint another recording contradicts it; bad
//! input is exit code 2 with the culprit named, and nothing is written. Recordings of a real arm are not part of the repository:
//!
//! ```text
//! SURELIFT_RECORDINGS=DIR cargo test --release --test calibrate -- --ignored --nocapture
//! ```
//!
//! with kinova_gen3_1.csv to kinova_gen3_4.csv in DIR.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

use surelift::calibrate::{Calibration, CalibrationOptions};
use surelift::recording::{AngleUnit, MeasurementLog};

fn calibrate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["robot", "calibrate"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

/// Rows of a CSV file in which all joints of a Gen3 stand, changed by `change`.
fn rows(change: impl Fn(usize, &mut Vec<String>)) -> String {
    let names = ["q", "dq", "tau"].iter().flat_map(|p| (1..=7).map(move |i| format!("{p}{i}")));
    let heading: Vec<String> = std::iter::once("t".to_owned()).chain(names).collect();
    let mut text = heading.join(",") + "\n";
    for k in 0..40 {
        let mut row = vec!["0".to_owned(); 22];
        row[0] = format!("{}", 0.01 * k as f64);
        change(k, &mut row);
        text += &(row.join(",") + "\n");
    }
    text
}

/// Options beside robot and destination, and what the message must name.
const REFUSED: [(&str, &str); 15] = [
    ("--log still.csv", "does not move"),
    ("--log nan.csv", "nan.csv"),
    ("--log inf.csv", "inf.csv"),
    ("--log back.csv", "back.csv"),
    ("--log short.csv", "short.csv"),
    ("--log none.csv", "none.csv"),
    ("--log no_such_file.csv", "no_such_file.csv"),
    ("--log still.csv --validate no_such_file.csv", "no_such_file.csv"),
    ("--log still.csv --log still.csv", "same samples"),
    ("--log still.csv --room NaN", "room"),
    ("--log still.csv --room 0.5", "room"),
    ("--log still.csv --window inf", "window"),
    ("--log still.csv --window 0", "window"),
    ("--log still.csv --delay soon", "soon"),
    ("", "--log"),
];

#[test]
fn bad_input_names_its_culprit_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("still.csv", rows(|_, _| ())),
        (
            "nan.csv",
            rows(|k, row| {
                if k == 7 {
                    row[3] = "NaN".into()
                }
            }),
        ),
        (
            "inf.csv",
            rows(|k, row| {
                if k == 7 {
                    row[20] = "inf".into()
                }
            }),
        ),
        (
            "back.csv",
            rows(|k, row| {
                if k == 9 {
                    row[0] = "0.01".into()
                }
            }),
        ),
        (
            "short.csv",
            rows(|k, row| {
                if k == 5 {
                    row.truncate(20)
                }
            }),
        ),
        ("none.csv", "t,q1\n".to_owned()),
    ];
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let gen3 = ["--robot", "kinova_gen3", "--out", "out.toml"];
    for (more, culprit) in REFUSED {
        let more: Vec<&str> = more.split_whitespace().collect();
        let output = calibrate(folder.path(), &[&gen3[..], &more].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {text}");
        assert!(text.contains(culprit) && !text.contains("panicked"), "{more:?}: {text}");
    }
    for (robot, culprit) in [("no_such_arm", "no_such_arm"), ("go1", "go1"), ("arm.urdf", "arm.urdf")] {
        let output = calibrate(folder.path(), &["--robot", robot, "--log", "still.csv", "--out", "out.toml"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{robot}: {text}");
        assert!(text.contains(culprit) && !text.contains("panicked"), "{robot}: {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), files.len());
}

/// Bounds on the mean torque errors over windows of the fourth recording, N m RMS, which are 0.56, 0.88, 0.96, 0.66, 0.23, 0.47 and 0.23.
const REACHED: [f64; 7] = [0.72, 1.37, 1.19, 0.98, 0.34, 0.78, 0.30];
/// Share of the windows of a recording that was not learnt from in which every joint errs by no more than the profile allows.
const WITHIN: f64 = 0.95;

#[test]
#[ignore = "needs recordings of a real arm in the folder that SURELIFT_RECORDINGS names"]
fn three_recordings_of_a_real_arm_calibrate_for_the_fourth() {
    let folder = std::env::var_os("SURELIFT_RECORDINGS").expect("SURELIFT_RECORDINGS names the folder");
    let robot = surelift::robot::load("kinova_gen3").unwrap();
    let read = |k: usize| {
        let path = Path::new(&folder).join(format!("kinova_gen3_{k}.csv"));
        MeasurementLog::read(path, &robot, AngleUnit::Radians).unwrap()
    };
    for unseen in 1..=4 {
        let logs: Vec<_> = (1..=4).filter(|k| *k != unseen).map(read).collect();
        let calibration = Calibration::of(&robot, &logs, &CalibrationOptions::default()).unwrap();
        let fourth = read(unseen);
        let check = calibration.check(&fourth).unwrap();
        for (joint, found) in check.joints.iter().zip(&calibration.joints) {
            println!(
                "{unseen} {}: {} of {} windows, {:.3} N m RMS, additive {:.2} N m",
                joint.name, joint.within, joint.windows, joint.rms_nm, found.additive_nm
            );
            println!("    {:?}", joint.excursions);
            assert!(joint.within as f64 >= WITHIN * joint.windows as f64, "{unseen} {}", joint.name);
        }
        if unseen == 4 {
            let reached = check.joints.iter().zip(REACHED).all(|(joint, most)| joint.rms_nm <= most);
            assert!(reached, "{:?}", check.joints.iter().map(|joint| joint.rms_nm).collect::<Vec<_>>());
        }
        pushed(&calibration, fourth);
    }
}

/// Somebody leans on joint 3 for a tenth of the recording: the check says so, of no other joint there, and when.
fn pushed(calibration: &Calibration, log: MeasurementLog) {
    const JOINT: usize = 2;
    let before = calibration.check(&log).unwrap();
    let push = 3.0 * before.joints[JOINT].errors.iter().map(|e| e.allowed_nm).fold(0.0, f64::max);
    let [from, to] = before.time_s;
    let when = [from + 0.4 * (to - from), from + 0.5 * (to - from)];
    let mut samples = log.samples.clone();
    samples.iter_mut().filter(|s| (when[0]..=when[1]).contains(&s.t)).for_each(|s| s.tau[JOINT] += push);
    let check =
        calibration.check(&MeasurementLog::of_samples("pushed.csv".into(), samples).unwrap()).unwrap();
    let (joint, at) = check.worst().expect("it is noticed");
    assert_eq!(joint.name, before.joints[JOINT].name);
    // Torques are up to a tenth of a second late, and a window is as long.
    assert!(at.from_s > when[0] - 0.25 && at.to_s < when[1] + 0.25, "{at:?}, {when:?}");
    for (j, (joint, alone)) in check.joints.iter().zip(&before.joints).enumerate() {
        assert!(j == JOINT || joint.within == alone.within, "{}", joint.name);
    }
}
