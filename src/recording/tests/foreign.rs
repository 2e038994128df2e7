//! Files that others wrote: other names, units and scales, bad rows, other formats.

use super::*;
use crate::recording::{LogFormat, LogRequest};

fn read_format(text: &str, format: LogFormat) -> Result<MeasurementLog, LogError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let request = LogRequest { format, ..LogRequest::default() };
    MeasurementLog::read_request(file.path(), &small_robot(), &request)
}

fn named(columns: &str) -> LogFormat {
    LogFormat { columns: columns.parse().unwrap(), ..LogFormat::default() }
}

#[test]
fn names_units_and_scales_are_converted() {
    let start = 1_700_000_000_123_456_789_i128;
    let mut text = "stamp,pos_0,pos_1,pos_2,vel_0,vel_1,vel_2,eff_0,eff_1,eff_2,eff_3\n".to_owned();
    for k in 0..20 {
        let turn = 0.5 * 0.01 * f64::from(k);
        text += &format!(
            "{},0,{},0,0,{},0,1,-2,3,9\n",
            start + 10_000_000 * i128::from(k),
            turn.to_degrees(),
            0.5f64.to_degrees()
        );
    }
    let columns = "t=stamp:ns,q=pos_{0}:deg,dq=vel_{0}:deg,tau=eff_{0}";
    let format = LogFormat { torque_scale: vec![1.0, -0.5, 2.0], ..named(columns) };
    let log = read_format(&text, format).unwrap();
    let last = &log.samples[19];
    assert!((last.t - 0.19).abs() < 1e-15 && (last.q[1] - 0.095).abs() < 1e-15);
    assert!((last.dq[1] - 0.5).abs() < 1e-15);
    assert_eq!(last.tau, [1.0, 1.0, 6.0]);
    assert_eq!(log.ignored, ["eff_3"]);
    assert!(log.notes().iter().any(|note| note.contains(columns)), "{:?}", log.notes());
    let missing = read_format(&text, named("q=angle_{}")).unwrap_err().to_string();
    assert!(missing.contains("no column `t`"), "{missing}");
    let missing = read_format(&text, named("t=stamp:ns,q=angle_{}")).unwrap_err().to_string();
    assert!(missing.contains("no column `angle_1`") && missing.contains("pos_0"), "{missing}");
    let scale = LogFormat { torque_scale: vec![1.0, 2.0], ..named(columns) };
    assert!(read_format(&text, scale).unwrap_err().to_string().contains("expected 1 or 3"));
}

#[test]
fn bad_rows_are_named_or_skipped_and_counted() {
    let mut lines = rows(40);
    lines[5] = lines[5].replace("0.1", "nan");
    lines[11] = "0.11,1,2".into();
    lines[20] = lines[3].clone();
    let text = format!("{HEADING}\n{}\n", lines.join("\n"));
    let refused = read_format(&text, LogFormat::default()).unwrap_err().to_string();
    assert!(refused.contains("line 7, column `q1`"), "{refused}");
    let skip = LogFormat { skip_bad: true, ..LogFormat::default() };
    let log = read_format(&text, skip.clone()).unwrap();
    assert_eq!(log.samples.len(), 37);
    // What is missing is a gap, as it would be if the recorder had lost it.
    assert_eq!(log.segments.len(), 4);
    let note = log.notes().into_iter().find(|note| note.contains("skipped")).unwrap();
    assert!(note.contains("3 of 40") && note.contains("line 7, column `q1`"), "{note}");
    let mut lines = rows(40);
    lines[2] = lines[2].replace("0.02,", "900,");
    let text = format!("{HEADING}\n{}\n", lines.join("\n"));
    let refused = read_format(&text, skip).unwrap_err().to_string();
    assert!(refused.contains("37 of 40 rows") && refused.contains("line 5, column `t`"), "{refused}");
}

#[test]
fn degrees_are_recognised_where_they_are_clear() {
    let turning = |q: f64, dq: f64| {
        let row = |k: i32| {
            let t = 0.01 * f64::from(k);
            format!("{t},0.1,{},0,0,{dq},0,1,2,3", q * t)
        };
        format!("{HEADING}\n{}\n", (0..100).map(row).collect::<Vec<_>>().join("\n"))
    };
    let error = |text: &str| read_format(text, LogFormat::default()).unwrap_err().to_string();
    // Positions of the second joint alone.
    let text = error(&turning(0.5f64.to_degrees(), 0.5));
    assert!(text.contains("degrees") && text.contains("--"), "{text}");
    let text = error(&turning(0.05f64.to_degrees(), 0.05f64));
    assert!(text.contains("positions look like degrees (--columns q=NAME:deg)"), "{text}");
    let text = error(&turning(0.04, 0.04f64.to_degrees()));
    assert!(text.contains("degrees") || text.contains("unit right"), "{text}");
}

#[test]
fn bags_of_other_formats_say_how_to_convert_them() {
    let folder = tempfile::tempdir().unwrap();
    let (by_name, by_content) = (folder.path().join("bag_0.db3"), folder.path().join("bag.csv"));
    std::fs::write(&by_name, "").unwrap();
    std::fs::write(&by_content, b"SQLite format 3\0more").unwrap();
    for path in [&by_name, &by_content] {
        let text = MeasurementLog::read(path, &small_robot(), AngleUnit::Radians).unwrap_err().to_string();
        assert!(text.contains("ros2 bag convert") && text.contains(path.to_str().unwrap()), "{text}");
    }
    let text =
        MeasurementLog::read(folder.path(), &small_robot(), AngleUnit::Radians).unwrap_err().to_string();
    assert!(text.contains("folder"), "{text}");
}

#[test]
fn semicolons_and_tabs_part_columns_too() {
    let text = |mark: &str| {
        let names = ["t", "q1", "q2", "q3", "dq1", "dq2", "dq3", "tau1", "tau2", "tau3"];
        let row = |k: usize| {
            let cells: Vec<String> = (0..10).map(|c| format!("{}", 0.01 * (k + c * k) as f64)).collect();
            cells.join(mark)
        };
        let rows: Vec<String> = (0..20).map(row).collect();
        format!("{}\n{}\n", names.join(mark), rows.join("\n"))
    };
    let plain = read_format(&text(","), LogFormat::default()).unwrap();
    for mark in [";", "\t"] {
        let other = read_format(&text(mark), LogFormat::default()).unwrap();
        assert_eq!(other.samples, plain.samples, "{mark:?}");
    }
    // A comma anywhere in the heading is what parts it.
    let mixed = text(",").replace("tau3", "tau3,a;b");
    assert!(
        read_format(&mixed, LogFormat::default()).is_err_and(|e| !e.to_string().contains("no column `t`"))
    );
}
