//! The shipped estimation problems: contact schedules that do not fit are told, and threads change no estimate.

use std::path::Path;

use surelift::estimate::EstimateError;
use surelift::study::estimation::EstimationStudy;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The shipped problem with text replaced, in a folder of its own; paths stay valid because they are made absolute.
fn changed(name: &str, changes: &[(&str, &str)]) -> Result<EstimationStudy, EstimateError> {
    let shipped = Path::new(ROOT).join("scenarios/estimation").join(format!("{name}.toml"));
    let mut text = std::fs::read_to_string(shipped).unwrap();
    text = text.replace("robots/", &format!("{ROOT}/robots/"));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    EstimationStudy::load(path)
}

/// One walking cycle with two steps.
const SHORT_WALK: [(&str, &str); 4] = [
    ("duration_s = 14.0", "duration_s = 1.3"),
    ("repeat_s = 1.6\n", ""),
    ("lifted_s = [[1.3, 1.6]]\n", ""),
    ("lifted_s = [[1.7, 2.0]]\n", ""),
];

#[test]
fn schedules_that_do_not_fit_are_told() {
    let error = |changes: &[(&str, &str)]| {
        let all: Vec<_> = SHORT_WALK.iter().chain(changes).copied().collect();
        changed("go1_walk", &all).map(|_| ()).unwrap_err().to_string()
    };
    let late = error(&[("[[0.5, 0.8]]", "[[0.5, 1.8]]")]);
    assert!(late.contains("contact[0].lifted_s") && late.contains("the log ends at 1.299 s"), "{late}");
    let off = error(&[("[[0.5, 0.8]]", "[[0.5005, 0.8]]")]);
    assert!(off.contains("multiple"), "{off}");
    let order = error(&[("[[0.5, 0.8]]", "[[0.5, 0.8], [0.7, 0.9]]")]);
    assert!(order.contains("overlap"), "{order}");
    let frame = error(&[("frame = \"RL_foot\"", "frame = \"RL_toe\"")]);
    assert!(frame.contains("no frame `RL_toe`") && frame.contains("RL_foot"), "{frame}");
    let missing = error(&[("tau_nm = { base = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1], joints = 0.1 }\n", "")]);
    assert!(missing.contains("tau_nm"), "{missing}");
}

/// A schedule that says of a foot in the air that it stands.
#[test]
fn schedules_that_contradict_the_log_are_told() {
    let study = changed("go1_walk", &SHORT_WALK).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (nq, n) = (study.robot.nq(), study.robot.nv());
    let mut text = String::from("t");
    for (name, count) in [("q", nq), ("dq", n), ("tau", n)] {
        (1..=count).for_each(|j| text += &format!(",{name}{j}"));
    }
    for (k, s) in study.samples.iter().enumerate() {
        text += &format!("\n{}", 0.001 * k as f64);
        s.q.iter().chain(&s.dq).chain(&s.tau).for_each(|x| text += &format!(",{x}"));
    }
    let log = folder.path().join("log.csv");
    std::fs::write(&log, text + "\n").unwrap();
    let shipped =
        std::fs::read_to_string(Path::new(ROOT).join("scenarios/estimation/go1_walk.toml")).unwrap();
    let mut shipped = shipped.replace("robots/", &format!("{ROOT}/robots/"));
    for (from, to) in SHORT_WALK {
        shipped = shipped.replace(from, to);
    }
    let (head, rest) = shipped.split_once("[simulate]").unwrap();
    let (_, tail) = rest.split_once("# What the estimator assumes.").unwrap();
    let load = |lifted: &str| {
        let head = head.replace("lifted_s = [[0.5, 0.8]]", lifted);
        let path = folder.path().join("problem.toml");
        std::fs::write(&path, format!("{head}[log]\nfile = \"{}\"\n#{tail}", log.display())).unwrap();
        EstimationStudy::load(path)
    };
    assert!(load("lifted_s = [[0.5, 0.8]]").is_ok());
    let error = load("lifted_s = []").unwrap_err().to_string();
    assert!(error.contains("`RL_foot` stands") && error.contains("moves by"), "{error}");
}

/// All digits: the double pendulum's inertias are told so badly that the last digits of one stage's acceleration move them.
#[test]
fn threads_change_no_estimate() {
    for name in ["double_pendulum", "hector_payload"] {
        let found = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let result = pool.install(|| changed(name, &[]).unwrap().run().unwrap());
            let rows = result.parameters.iter().map(|row| (row.estimate, row.deviation)).collect::<Vec<_>>();
            (result.iterations, result.cost, rows)
        };
        let alone = found(1);
        for threads in [2, 3] {
            assert_eq!(found(threads), alone, "{name}, {threads} threads");
        }
    }
}
