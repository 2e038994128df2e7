use std::io::Write;

use super::*;
use crate::robot::fixture::small_robot;

const HEADING: &str = "t,q1,q2,q3,dq1,dq2,dq3,tau1,tau2,tau3";

/// `count` rows of a steady turn of the second joint, 10 ms apart.
fn rows(count: usize) -> Vec<String> {
    (0..count)
        .map(|k| {
            let t = 0.01 * k as f64;
            format!("{t},0.1,{},0,0,0.5,0,1,2,3", 0.5 * t)
        })
        .collect()
}

fn read_text(text: &str, unit: AngleUnit) -> Result<MeasurementLog, LogError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    MeasurementLog::read(file.path(), &small_robot(), unit)
}

fn read(heading: &str, rows: &[String]) -> Result<MeasurementLog, LogError> {
    read_text(&format!("{heading}\n{}\n", rows.join("\n")), AngleUnit::Radians)
}

#[test]
fn columns_may_come_in_any_order_and_others_are_listed() {
    let log = read(
        "tau3,note,t,q1,q2,q3,dq1,dq2,dq3,tau1,tau2",
        &["3,hello,0,0.1,0.2,0.3,0,0,0,1,2".into(), "3,again,0.01,0.1,0.2,0.3,0,0,0,1,2".into()],
    )
    .unwrap();
    let expected = Sample { t: 0.0, q: vec![0.1, 0.2, 0.3], dq: vec![0.0; 3], tau: vec![1.0, 2.0, 3.0] };
    assert_eq!(log.samples[0], expected);
    assert_eq!(log.ignored, ["note"]);
    assert!(log.notes().iter().any(|n| n.contains("ignored: note")));
}

#[test]
fn gaps_end_segments() {
    let mut lines = rows(30);
    lines.drain(10..15);
    let log = read(HEADING, &lines).unwrap();
    assert_eq!(log.segments, [0..10, 10..25]);
    assert!((log.period_s - 0.01).abs() < 1e-12);
    assert!((log.gaps[0].from_s - 0.09).abs() < 1e-12 && (log.gaps[0].to_s - 0.15).abs() < 1e-12);
    assert!(log.notes().iter().any(|n| n.contains("1 gap(s)") && n.contains("0.060 s")), "{:?}", log.notes());
    assert!(log.clone().at_least(15).is_ok());
    assert!(matches!(log.at_least(16), Err(LogError::TooShort { found: 15, expected: 16, .. })));
}

#[test]
fn full_turns_are_undone_once_and_counted() {
    let wrapped: Vec<String> = (0..400)
        .map(|k| {
            let t = 0.01 * k as f64;
            let angle = (2.0 + 1.5 * t + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU);
            format!("{t},0.1,{},0,0,1.5,0,1,2,3", angle - std::f64::consts::PI)
        })
        .collect();
    let log = read(HEADING, &wrapped).unwrap();
    assert_eq!(log.unwrapped, 1);
    for (k, sample) in log.samples.iter().enumerate() {
        assert!((sample.q[1] - (2.0 + 0.015 * k as f64)).abs() < 1e-12);
    }
}

#[test]
fn degrees_are_converted_where_asked() {
    let lines: Vec<String> =
        (0..20).map(|k| format!("{},90,{},0.2,0,50,0,1,2,3", 0.01 * k as f64, 0.5 * k as f64)).collect();
    let text = format!("{HEADING}\n{}\n", lines.join("\n"));
    let log = read_text(&text, AngleUnit::Degrees).unwrap();
    assert!((log.samples[0].q[0] - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
    assert!((log.samples[0].dq[1] - 50f64.to_radians()).abs() < 1e-15);
    assert_eq!(log.samples[0].q[2], 0.2, "a sliding joint has no degrees");
    let error = read_text(&text, AngleUnit::Radians).unwrap_err();
    assert!(matches!(&error, LogError::Degrees { place: LogPlace::Field { line: 2, .. }, .. }), "{error}");
    assert!(error.to_string().contains("q1") && error.to_string().contains("--degrees"), "{error}");
    let error = read_text(&text.replace(",90,", ",0.9,"), AngleUnit::Radians).unwrap_err();
    assert!(
        matches!(&error, LogError::Implausible { place: LogPlace::Field { line: 2, .. }, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("dq2") && error.to_string().contains("unit"), "{error}");
}

#[test]
fn mixed_units_are_noticed() {
    let lines: Vec<String> = (0..100)
        .map(|k| format!("{},0.1,{},0,0,0.5,0,1,2,3", 0.01 * k as f64, 28.6 * 0.01 * k as f64))
        .collect();
    let error = read(HEADING, &lines).unwrap_err();
    assert!(matches!(error, LogError::Mismatch { .. }) && error.to_string().contains("`dq2`"), "{error}");
}

#[test]
fn bad_files_are_refused_with_line_and_column() {
    let with = |k: usize, line: &str| {
        let mut lines = rows(10);
        lines[k] = line.into();
        read(HEADING, &lines).unwrap_err()
    };
    for text in ["NaN", "inf", "-inf", "one"] {
        let error = with(4, &format!("0.04,0.1,0.02,0,0,0.5,0,1,{text},3"));
        let expected = LogPlace::Field { line: 6, column: "tau2".into(), joint: Some("two".into()) };
        assert!(matches!(&error, LogError::BadNumber { place, .. } if *place == expected), "{error}");
    }
    let error = with(4, "0.04,0.1,0.02,0,0,0.5,0,1,2");
    assert!(matches!(error, LogError::WrongCount { line: 6, found: 9, expected: 10, .. }), "{error}");
    for t in ["0.03", "0.02", "-5"] {
        let error = with(4, &format!("{t},0.1,0.02,0,0,0.5,0,1,2,3"));
        assert!(
            matches!(error, LogError::TimeBackwards { place: LogPlace::Field { line: 6, .. }, .. }),
            "{error}"
        );
    }
    let error = with(4, "0.04,0.1,0.02,0,0,0.5,0,1,2e6,3");
    assert!(matches!(error, LogError::Implausible { place: LogPlace::Field { line: 6, .. }, .. }), "{error}");

    let missing = read(&HEADING.replace("dq2", "speed"), &rows(5)).unwrap_err();
    assert!(missing.to_string().contains("`dq2`"), "{missing}");
    let twice = read(&HEADING.replace("dq2", "dq1"), &rows(5)).unwrap_err();
    assert!(twice.to_string().contains("twice"), "{twice}");
    let more = rows(5).iter().map(|r| format!("{r},1")).collect::<Vec<_>>();
    let error = read(&format!("{HEADING},q4"), &more).unwrap_err();
    assert!(error.to_string().contains("q4") && error.to_string().contains("3 joints"), "{error}");
    assert!(matches!(read(HEADING, &rows(1)), Err(LogError::TooShort { .. })));
    assert!(matches!(read_text("", AngleUnit::Radians), Err(LogError::MissingColumn { .. })));
    let empty = read_text("", AngleUnit::Radians).unwrap_err().to_string();
    assert!(empty.contains("the file is empty"), "{empty}");
    let bars = read(&HEADING.replace(',', "|"), &[]).unwrap_err().to_string();
    assert!(bars.contains("separated by commas") && bars.contains("t|q1"), "{bars}");
    let mut binary = tempfile::NamedTempFile::new().unwrap();
    binary.write_all(&[0x80, 0xff, 0x00, 0xfe]).unwrap();
    let binary =
        MeasurementLog::read(binary.path(), &small_robot(), AngleUnit::Radians).unwrap_err().to_string();
    assert!(binary.contains("line 1") && binary.contains("expected a CSV file"), "{binary}");
    let nowhere = MeasurementLog::read("no/such/log.csv", &small_robot(), AngleUnit::Radians).unwrap_err();
    assert!(nowhere.to_string().contains("no/such/log.csv"), "{nowhere}");
}

#[test]
fn late_torques_are_moved_and_the_ends_dropped() {
    let mut lines: Vec<String> =
        (0..20).map(|k| format!("{},0,0,0,0,0,0,{},0,0", 0.01 * k as f64, 3.0 * 0.01 * k as f64)).collect();
    lines.remove(10);
    let log = read(HEADING, &lines).unwrap().with_torque_delay(0.025).unwrap();
    // Segments of ten and nine samples, each without its last three.
    assert_eq!(log.segments, [0..7, 7..13]);
    for sample in &log.samples {
        assert!((sample.tau[0] - 3.0 * (sample.t + 0.025)).abs() < 1e-12);
    }
    assert!(log.notes().iter().any(|n| n.contains("0.0250 s later; 6 sample(s)")), "{:?}", log.notes());
    assert!(matches!(log.clone().with_torque_delay(1.0), Err(LogError::TooShort { .. })));
    assert_eq!(log.clone().with_torque_delay(0.0).unwrap().samples, log.samples);
    let early = log.clone().with_torque_delay(-0.01).unwrap();
    assert_eq!(early.samples[0].t, log.samples[1].t);
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_the_cut() {
    // A line break within quotes is none that ends a row.
    let text = format!("{HEADING},note\n{}\n", rows(7).join(",ok\n") + ",\"said \"\"so\"\"\"");
    let whole = read_text(&text, AngleUnit::Radians).unwrap();
    assert_eq!((whole.samples.len(), &whole.cut_off), (7, &None));
    for (text, ends) in [(text.clone(), "\n"), (text.replace('\n', "\r\n"), "\r\n")] {
        for length in 0..text.len() {
            let cut = &text[..length];
            let rows = cut.matches(&ends[..1]).count().saturating_sub(1);
            let ended = cut.ends_with(['\r', '\n']);
            match read_text(cut, AngleUnit::Radians) {
                Ok(log) => {
                    assert_eq!(log.samples, whole.samples[..rows], "cut at {length}");
                    assert_eq!(log.cut_off.is_none(), ended, "cut at {length}: {:?}", log.cut_off);
                    let line = format!("line {} ", rows + 2);
                    let said = format!("{rows} samples up to t = {:.3} s", log.samples[rows - 1].t);
                    if let Some(what) = &log.cut_off {
                        assert!(what.starts_with(&line) && what.contains(&said), "{what}");
                        assert!(log.notes().contains(what));
                    }
                }
                Err(error) => {
                    assert!(rows < 2, "cut at {length}: {error}");
                    let named =
                        rows == 0 || ended || error.to_string().contains(&format!("line {} ", rows + 2));
                    assert!(named, "cut at {length}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_fault_before_the_cut_stays_a_fault() {
    let mut lines = rows(10);
    lines[4] = "0.04,0.1,0.02,0,0,0.5,0,1,2".into();
    let text = format!("{HEADING}\n{}", lines.join("\n"));
    let error = read_text(&text, AngleUnit::Radians).unwrap_err();
    assert!(matches!(error, LogError::WrongCount { line: 6, found: 9, expected: 10, .. }), "{error}");
    // What is left out is not looked at.
    lines[4] = rows(10).remove(4);
    lines[9] = "0.03,no number".into();
    let log = read_text(&format!("{HEADING}\n{}", lines.join("\n")), AngleUnit::Radians).unwrap();
    assert!(log.samples.len() == 9 && log.cut_off.is_some_and(|what| what.starts_with("line 11 ")));
}

fn read_request(text: &str, request: &LogRequest) -> Result<MeasurementLog, LogError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    MeasurementLog::read_request(file.path(), &small_robot(), request)
}

/// Sensors at several rates: torques at every other stamp, velocities between them.
#[test]
fn empty_fields_are_no_readings() {
    let line = |k: usize| {
        let t = 0.01 * k as f64;
        let (dq, tau) =
            if k.is_multiple_of(2) { (",,", format!("1,{},3", 2.0 + t)) } else { ("0,0.5,0", ",,".into()) };
        format!("{t},0.1,{},0,{dq},{tau}", 0.5 * t)
    };
    let text = format!("{HEADING}\n{}\n", (0..9).map(line).collect::<Vec<_>>().join("\n"));
    let partial = LogRequest { partial: true, ..LogRequest::default() };
    let log = read_request(&text, &partial).unwrap();
    assert_eq!((log.samples.len(), log.missing.len()), (9, 9));
    assert_eq!((&log.missing[0].dq[..], &log.missing[0].tau[..]), (&[0, 1, 2][..], &[][..]));
    assert_eq!((&log.missing[3].dq[..], &log.missing[3].tau[..]), (&[][..], &[0, 1, 2][..]));
    // On the line between its neighbours.
    assert!((log.samples[3].tau[1] - 2.03).abs() < 1e-12 && log.samples[0].dq[1] == 0.5);
    assert!(log.notes().iter().any(|n| n.contains("9 sample(s) lack readings")), "{:?}", log.notes());
    // Who needs whole samples gets none here, and is told.
    let error = read_request(&text, &LogRequest::default()).unwrap_err();
    assert!(matches!(error, LogError::TooShort { found: 0, .. }), "{error}");
    let mut lines = rows(9);
    lines[4] = "0.04,0.1,0.02,0,,0.5,0,1,2,3".into();
    let log = read(HEADING, &lines).unwrap();
    assert_eq!((log.samples.len(), log.segments.len(), log.missing.len()), (8, 2, 0));
    assert!(log.notes().iter().any(|n| n.contains("1 sample(s) without all readings left out; the first, at t = 0.0400 s, lacks the velocity of joint `one`")));
    let none: Vec<String> = rows(9).iter().map(|row| row.replace(",2,3", ",,3")).collect();
    let error = read_request(&format!("{HEADING}\n{}\n", none.join("\n")), &partial).unwrap_err().to_string();
    assert!(error.contains("tau2 has no reading in any of 9 samples"), "{error}");
}

#[test]
fn a_part_of_a_log_and_further_columns_can_be_asked_for() {
    let with_meter: Vec<String> = rows(20).iter().enumerate().map(|(k, row)| format!("{row},{k}")).collect();
    let text = format!("{HEADING},work\n{}\n", with_meter.join("\n"));
    let mut request =
        LogRequest { range_s: Some([0.045, 0.12]), further: vec!["work".into()], ..LogRequest::default() };
    let log = read_request(&text, &request).unwrap();
    assert_eq!((log.samples[0].t, log.samples.len()), (0.05, 8));
    assert_eq!(log.further, (5..13).map(|k| vec![f64::from(k)]).collect::<Vec<_>>());
    assert!(log.ignored.is_empty());
    let (first, second) = log.split(0.5).unwrap();
    assert_eq!((first.further.len(), second.further[0][0]), (4, 9.0));
    assert_eq!(log.with_torque_delay(0.015).unwrap().further.len(), 6);
    request.further.push("imu.rate1".into());
    assert!(read_request(&text, &request).unwrap_err().to_string().contains("`imu.rate1`"));
    for range_s in [[1.0, 0.5], [f64::NAN, 1.0], [0.0, f64::NAN]] {
        let request = LogRequest { range_s: Some(range_s), ..LogRequest::default() };
        let error = read_request(&text, &request).unwrap_err().to_string();
        assert!(error.contains("expected the first time before the second"), "{error}");
    }
    for gap_periods in [f64::NAN, 1.0, -3.0] {
        let request = LogRequest { gap_periods, ..LogRequest::default() };
        assert!(read_request(&text, &request).unwrap_err().to_string().contains("expected more than 1"));
    }
}

mod foreign;
