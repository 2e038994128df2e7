//! The room as a whole, on a made-up run.

use std::fs;
use std::path::Path;

use serde::ser::Error as _;

use super::*;
use crate::horizon::{BodyEstimate, Identification, Margins, Outcome, PlanSummary, TaskPhase, TorqueWidths};
use crate::robot::{FramedPayload, NamedFrame, Placement};

mod study;

const JOINTS: usize = 7;

/// True parameters of the payload.
const TRUTH: [f64; 10] = [4.55, 0.02, -0.31, -0.52, 0.11, 0.003, 0.09, -0.002, -0.03, 0.05];
/// Half-widths of what is believed of them at first.
const PRIOR: [f64; 10] = [2.0, 0.4, 0.6, 0.9, 0.3, 0.2, 0.3, 0.2, 0.3, 0.3];

/// Parameters beside the truth, by shares of the prior.
fn around(scale: f64, side: f64) -> Vec<f64> {
    TRUTH.iter().zip(PRIOR).map(|(x, half)| x + side * half * scale - 0.1 * half * scale).collect()
}

fn known(scale: f64) -> BodyEstimate {
    BodyEstimate { nominal: around(scale, 0.05), lower: around(scale, -1.0), upper: around(scale, 1.0) }
}

fn payload(scale: f64) -> Payload {
    Payload::new(TRUTH.to_vec(), known(scale))
}

/// The payload in the frame of a tool.
fn alone() -> FramedPayload {
    let placement = Placement::identity();
    let frame = NamedFrame { name: "tool".into(), joint: Some(6), placement };
    let ten = |x: Vec<f64>| -> [f64; 10] { x.try_into().unwrap() };
    let bounds = [ten(around(0.07, -1.0)), ten(around(0.07, 1.0))];
    FramedPayload::alone(&frame, &TRUTH, Some(bounds))
}

/// The `k`-th update of the set: half as wide as the one before.
fn update(k: u32) -> Identification {
    Identification {
        t: 1.5 * f64::from(k),
        known: known(0.5_f64.powi(k as i32)),
        condition_number: (k > 0).then(|| 80.0 / f64::from(k)),
        update_ms: 41.3,
    }
}

/// The `k`-th plan: four excite, four carry, and the sixth is refused.
fn plan(k: u32) -> PlanSummary {
    PlanSummary {
        torque: (k > 0).then(|| TorqueWidths { box_nm: vec![2.0; 7], correlated_nm: vec![1.0; 7] }),
        t: 1.5 * f64::from(k),
        phase: if k < 4 { TaskPhase::Excite } else { TaskPhase::Carry },
        certified: k != 5,
        propose_ms: 620.0 + 13.0 * f64::from(k),
        certify_ms: 240.0,
        min_margin: Margins {
            position: Some(0.21),
            velocity: Some(0.33),
            torque: Some(1.7 + f64::from(k)),
            collision: (k != 5).then_some(0.012),
        },
        reason: (k == 5).then(|| "collision of `forearm` with `shelf` at t = 1.204 s not excluded".into()),
    }
}

/// The log's row of the `i`-th millisecond.
fn row(i: u32) -> LogRow {
    let t = 1e-3 * f64::from(i);
    let wave = |gain: f64, speed: f64| -> Vec<f64> {
        (0..JOINTS).map(|j| gain * (speed * t + j as f64).sin() / (1.0 + j as f64)).collect()
    };
    LogRow {
        t,
        q: wave(1.0, 1.0),
        dq: wave(1.0, 1.1),
        tau: wave(62.0, 1.7),
        q_des: wave(1.0, 1.0),
        dq_des: wave(1.0, 1.1),
        error: wave(8e-4 * (1.0 + 0.3 * (90.0 * t).sin()), 2.0),
    }
}

fn summary() -> Summary {
    Summary {
        schema: summary::SCHEMA,
        scenario: "dumbbell_c_8lb".into(),
        method: "ours".into(),
        seed: 3,
        robot: "kinova_gen3_2f85".into(),
        trusted: vec!["capsules 'a' and 'b' <are> ignored".into()],
        outcome: Outcome::Success,
        reason: None,
        broken: vec![],
        stopped: None,
        gaps: vec![],
        waits: vec![],
        violations: Violations::default(),
        touched_at_rest: 0,
        truth_inside: true,
        payload: Some(payload(0.0625)),
        payload_alone: Some(alone()),
        most_probable: None,
        adapted: vec![],
        unproven: false,
        placing: None,
        identification: (0..5).map(update).collect(),
        plans: (0..8).map(plan).collect(),
        max_tracking_error_rad: Some(1.04e-3),
        tube_used_ratio: Some(0.41),
        max_torque_ratio: Some(0.69),
        min_clearance_m: Some(0.023),
        closest: Some(crate::simulate::ClosestPair {
            t: 5.31,
            distance_m: 0.023,
            link: "<fore>".into(),
            other: "post".into(),
        }),
        springs: None,
        goal_error_rad: Some(0.0021),
        integration_error_rad: Some(3.1e-10),
        route_ms: None,
        deadline_misses: 0,
        ticks: None,
        duration_s: 12.0,
        wall_s: 14.2,
    }
}

/// A run of 12 s that looks like one of the real thing: four exciting plans, four carrying ones.
pub(crate) fn record() -> RunRecord<serde_json::Value> {
    RunRecord {
        summary: summary(),
        log: (0..=12_000).map(row).collect(),
        clearance: (0..=12_000)
            .map(|i| (1e-3 * f64::from(i), 0.1 + 0.077 * (1e-3 * f64::from(i)).cos()))
            .collect(),
        approaches: vec![],
        joints: (1..=JOINTS).map(|j| format!("joint_{j}")).collect(),
        torque_limit: vec![90.0, 90.0, 90.0, 90.0, 45.0, 45.0, 45.0],
        tube: [(0.0, 2.5e-3), (3.0, 1.6e-3)]
            .map(|(t, p)| TubeStep { t, position_rad: p, velocity_rad_s: 20.0 * p })
            .to_vec(),
        plans: (0..8).map(|k| serde_json::json!({ "index": k })).collect(),
        set_proof: None,
        replay: None,
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// With `SURELIFT_REPORT_DIR` set, the folder is left there for a person to look at.
#[test]
fn a_run_is_written_whole_and_read_back() {
    let scratch = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("SURELIFT_REPORT_DIR").map(PathBuf::from);
    let folder = kept.unwrap_or_else(|| scratch.path().join("deep/run"));
    let record = record();
    // Twice: the second replaces the first.
    write(&folder, &record).unwrap();
    write(&folder, &record).unwrap();
    assert_eq!(entries(&folder), ["log.csv", "plans", "report.html", "summary.json"]);
    assert_eq!(entries(folder.parent().unwrap()).iter().filter(|name| name.contains("partial")).count(), 0);
    assert_eq!(entries(&folder.join("plans")).len(), 8);

    let summary: Summary = serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary, record.summary);
    let mut log = csv::Reader::from_path(folder.join("log.csv")).unwrap();
    let heading: Vec<_> = log.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(heading.len(), 1 + 6 * JOINTS);
    for (column, name) in
        [(0, "t"), (1, "q1"), (8, "dq1"), (15, "tau1"), (22, "qd1"), (29, "dqd1"), (42, "e7")]
    {
        assert_eq!(heading[column], name);
    }
    let rows: Vec<_> = log.records().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), record.log.len());
    assert_eq!(rows[77][15].parse::<f64>().unwrap(), record.log[77].tau[0]);
}

#[test]
fn the_summary_has_the_promised_names() {
    let json = serde_json::to_value(record().summary).unwrap();
    for path in [
        "/schema",
        "/scenario",
        "/method",
        "/seed",
        "/outcome",
        "/violations/collision",
        "/violations/torque",
        "/violations/position",
        "/violations/velocity",
        "/violations/tube",
        "/truth_inside",
        "/payload/names/9",
        "/payload/truth/9",
        "/payload/nominal/9",
        "/payload/lower/9",
        "/payload/upper/9",
        "/identification/0/t",
        "/identification/0/nominal",
        "/identification/0/lower",
        "/identification/0/upper",
        "/identification/0/condition_number",
        "/identification/0/update_ms",
        "/plans/0/t",
        "/plans/0/phase",
        "/plans/0/certified",
        "/plans/0/propose_ms",
        "/plans/0/certify_ms",
        "/plans/0/min_margin/position",
        "/plans/0/min_margin/velocity",
        "/plans/0/min_margin/torque",
        "/plans/0/min_margin/collision",
        "/max_tracking_error_rad",
        "/max_torque_ratio",
        "/min_clearance_m",
        "/goal_error_rad",
        "/wall_s",
    ] {
        assert!(json.pointer(path).is_some(), "{path}");
    }
    assert_eq!((&json["outcome"], &json["plans"][7]["phase"]), (&"success".into(), &"carry".into()));
    assert_eq!(serde_json::to_value(Outcome::AssumptionBroken).unwrap(), "assumption_broken");
}

#[test]
fn the_page_refers_to_nothing_outside_it() {
    let mut record = record();
    record.summary.scenario = "<script>alert('x')</script> & \"co\"".into();
    record.summary.reason = Some("<img src=x>".into());
    let page = html::page(&record).unwrap();
    for word in ["http", "//", "src=x>", "href", "url(", "@import", "<script", "<link", "<img", "NaN", "inf"]
    {
        let outside = page.replace("src=x&gt;", "").replace("scr&lt;", "");
        assert!(!outside.contains(word), "{word}");
    }
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    // Mass and widths, the other nine intervals, two views of the payload, tracking and clearance, torques.
    assert_eq!(page.matches("<svg").count(), 4 + 9 + 2 + 2 + JOINTS);
}

#[test]
fn numbers_that_are_not_finite_never_break_a_file() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        let mut record = record();
        let payload = record.summary.payload.as_mut().unwrap();
        (payload.known.upper[0], payload.truth[3]) = (bad, bad);
        record.summary.identification[0].known.lower[2] = bad;
        record.summary.identification[1].t = bad;
        record.summary.identification[2].condition_number = Some(bad);
        record.summary.plans[1].min_margin.torque = Some(bad);
        record.summary.plans[2].t = bad;
        record.summary.max_torque_ratio = Some(bad);
        record.summary.wall_s = bad;
        record.log[5].tau[0] = bad;
        record.log[6].t = f64::NAN;
        record.clearance[9] = (bad, bad);
        record.torque_limit[3] = 0.0;
        record.tube[0].position_rad = bad;
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("run");
        write(&folder, &record).unwrap();
        let text = fs::read(folder.join("summary.json")).unwrap();
        let back: Summary = serde_json::from_slice(&text).unwrap();
        assert!(bad.is_finite() || (back.wall_s.is_nan() && back.max_torque_ratio.is_none()));
        let page = fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(!page.contains("NaN") && page.len() < 3_000_000);
        assert!(
            page.contains("Taken on trust")
                && page.contains("<li>capsules &#39;a&#39; and &#39;b&#39; &lt;are&gt; ignored</li>")
        );
        assert!(table::closing(&back).contains("Payload, in frame 'tool'"));
    }
}

#[test]
fn a_run_that_ended_before_anything_happened_has_a_report() {
    let mut record = record();
    record.summary.outcome = Outcome::AssumptionBroken;
    record.summary.identification.clear();
    record.summary.plans.clear();
    record.summary.payload_alone = None;
    record.summary.duration_s = 0.0;
    record.log.clear();
    record.clearance.clear();
    record.tube.clear();
    let page = html::page(&record).unwrap();
    assert!(page.contains("Assumption broken"));
}

#[test]
fn a_run_with_an_empty_hand_says_nothing_of_a_payload() {
    let mut record = record();
    (record.summary.payload, record.summary.payload_alone) = (None, None);
    record.summary.identification.clear();
    let json = serde_json::to_value(&record.summary).unwrap();
    for absent in ["payload", "payload_alone", "identification"] {
        assert!(json.get(absent).is_none(), "{absent}");
    }
    assert_eq!(serde_json::from_value::<Summary>(json).unwrap(), record.summary);
    let page = html::page(&record).unwrap();
    assert!(!page.contains("payload") && !page.contains("Mass at"));
    assert!(!table::closing(&record.summary).contains("estimate"));
}

#[test]
fn the_closing_table_is_aligned() {
    let mut record = record();
    record.summary.reason = Some("for example".into());
    let text = table::closing(&record.summary);
    println!("{text}");
    assert!(text.contains("Success: for example") && text.contains("7 of 8"));
    for name in ["mass", "centre x", "I_xx about it", "I_yz"] {
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with(&format!("    {name}  "))).collect();
        assert_eq!(rows.len(), 1, "{name}");
    }
    let ends =
        text.lines().filter(|line| line.ends_with("kg") || line.ends_with("mm") || line.ends_with("unit"));
    let widths: std::collections::BTreeSet<_> = ends.map(|line| line.chars().count()).collect();
    assert_eq!(widths.len(), 1, "{text}");
}

#[test]
fn contradictions_are_refused_by_name() {
    let refusal = |change: fn(&mut RunRecord<serde_json::Value>)| {
        let mut record = record();
        change(&mut record);
        html::page(&record).unwrap_err().to_string()
    };
    let text = refusal(|r| r.log[3].tau.truncate(6));
    assert_eq!(text, "run record: log[3].tau has 6 entries, expected 7");
    assert!(
        refusal(|r| r.summary.payload.as_mut().unwrap().known.lower.push(0.0))
            .contains("payload.lower has 11")
    );
    assert!(
        refusal(|r| r.summary.identification[2].known.upper.clear())
            .contains("identification[2].upper has 0")
    );
}

#[test]
fn only_an_earlier_run_is_replaced() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("run");
    write(&folder, &record()).unwrap();
    fs::write(folder.join("plans/notes.json"), "mine").unwrap();
    let refusal = write(&folder, &record()).unwrap_err();
    assert!(matches!(refusal, ReportError::Destination { .. }));
    assert!(refusal.to_string().contains("plans/notes.json"), "{refusal}");
    assert_eq!(fs::read_to_string(folder.join("plans/notes.json")).unwrap(), "mine");

    let file = scratch.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert!(check_destination(&file).unwrap_err().to_string().contains("not a folder"));
    assert!(check_destination(&file.join("below")).is_err());
    assert!(check_destination(Path::new("/")).is_err());
    assert!(check_destination(&scratch.path().join("..")).is_err());
    let weird = default_destination("../a b/c", "ours", 1);
    assert_eq!(weird, Path::new("runs/_a_b_c-ours-1"));
}

/// A plan that cannot be saved.
struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("no"))
    }
}

#[test]
fn an_error_leaves_everything_as_it_was() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("run");
    let RunRecord { summary, log, clearance, approaches, joints, torque_limit, tube, set_proof, .. } =
        record();
    let broken = RunRecord {
        summary,
        log,
        clearance,
        approaches,
        joints,
        torque_limit,
        tube,
        plans: vec![Unwritable],
        set_proof,
        replay: None,
    };
    assert!(matches!(write(&folder, &broken), Err(ReportError::Json { .. })));
    assert_eq!(entries(scratch.path()), [""; 0]);
    write(&folder, &record()).unwrap();
    assert!(write(&folder, &broken).is_err());
    assert_eq!(entries(scratch.path()), ["run"]);
    assert_eq!(entries(&folder.join("plans")).len(), 8);
}

#[test]
fn thinning_keeps_the_peak() {
    let mut points: Vec<_> = (0..50_000).map(|i| (f64::from(i), 0.0)).collect();
    points[31_234].1 = 7.0;
    let kept = plots::thin(&points);
    assert!(kept.len() <= 1500);
    assert!(kept.contains(&(31_234.0, 7.0)) && kept.is_sorted_by(|a, b| a.0 <= b.0));
}
