//! The promise: `report.html` shows a run again in three dimensions, as it was and with what its certificates cover, on one page of less than 3 MB that
//! needs nothing else. It works in a browser, with and without WebGL; where no Chromium is on the PATH, that part is left out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use surelift::horizon::{Outcome, RunOptions};
use surelift::plan::Plan;
use surelift::report::replay::{MOST_POSES, QUANTUM_M};
use surelift::report::{Replay, RunRecord, html};
use surelift::robot::Arm;
use surelift::scenario::{self, Scenario};
use tempfile::TempDir;

/// What the browser does with the page.
const VISIT: &str = include_str!("page/visit.js");

struct Run {
    robot: Arm,
    record: RunRecord<Plan>,
    page: String,
}

/// A short run among obstacles of which one moves.
static RUN: LazyLock<Run> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/person_crosses.toml");
    let scenario = Scenario::load(path).unwrap();
    let robot = scenario.task().robot.clone();
    let options = RunOptions { method: "ours".into(), seed: 0, timed: false };
    let record = scenario::run(scenario, &options, &mut ()).unwrap();
    assert_eq!(record.summary.outcome, Outcome::Success);
    let page = html::page(&record).unwrap();
    Run { robot, record, page }
});

impl Run {
    fn replay(&self) -> &Replay {
        self.record.replay.as_ref().unwrap()
    }

    /// The data in the page.
    fn data(&self) -> Value {
        let (_, rest) =
            self.page.split_once("<script type=\"application/json\" id=\"replay-data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }
}

/// Undoes the differences from row to row.
fn rows(list: &Value, width: usize) -> Vec<Vec<i64>> {
    let list: Vec<i64> = list.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect();
    assert_eq!(list.len() % width, 0);
    let mut sum = vec![0; width];
    let mut next = |row: &[i64]| {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        sum.clone()
    };
    list.chunks(width).map(&mut next).collect()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn the_page_is_small_and_needs_nothing_else() {
    let page = &RUN.page;
    println!("{} bytes", page.len());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    for word in
        ["http:", "https:", "//", " src=", "url(", "@import", "import(", "fetch(", "XMLHttp", "<link", "<img"]
    {
        assert!(!page.contains(word), "{word}");
    }
    let closest = RUN.record.summary.closest.as_ref().unwrap();
    assert_eq!(Some(closest.distance_m), RUN.record.summary.min_clearance_m);
    assert!(page.contains(&format!("data-seek=\"{:.3}\"", closest.t)));
    for joint in &RUN.robot.joints {
        assert!(page.contains(&joint.name));
    }
    for plan in RUN.record.summary.plans.iter().filter(|plan| !plan.certified) {
        let reason = plan.reason.as_ref().unwrap().replace('\'', "&#39;");
        assert!(page.matches(&reason).count() >= 2, "{reason}");
    }
}

/// The numbers in the page, against the readings of the encoders in the log.
#[test]
fn the_poses_are_those_of_the_log() {
    let (robot, data, log) = (&RUN.robot, RUN.data(), &RUN.record.log);
    let shapes = robot.shapes().len();
    let times = rows(&data["t_ms"], 1);
    let poses = rows(&data["poses"], 6 * shapes + 3);
    assert!(times.len() == poses.len() && times.len() > 300 && times.len() <= MOST_POSES);
    // Readings are off by no more than this, and no end is farther from a joint.
    let off = robot.dof() as f64 * robot.sensors().position_rad * 1.5 + QUANTUM_M;
    let mut compared = 0;
    for (t, pose) in times.iter().zip(&poses).step_by(7) {
        let t = t[0] as f64 * 1e-3;
        let Some(row) = log.iter().find(|row| (row.t - t).abs() < 1e-6) else { continue };
        let frames = robot.frames(&row.q);
        for shape in 0..shapes {
            let capsule = robot.placed_capsule(shape, &frames);
            for (end, exact) in [capsule.a, capsule.b].into_iter().enumerate() {
                let at = 6 * shape + 3 * end;
                let shown = [0, 1, 2].map(|k| pose[at + k] as f64 * QUANTUM_M);
                let away = distance(shown, exact.into());
                assert!(away <= off, "{} at {t} s: {away} m", robot.shapes()[shape].name);
            }
        }
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
    // The person walks; the other obstacle stands.
    let person = |k: usize| poses[k][6 * shapes..].to_vec();
    assert_ne!(person(0), person(poses.len() - 1));
    assert_eq!(
        (&data["obstacles"][0]["moves"], &data["obstacles"][1]["moves"]),
        (&false.into(), &true.into())
    );
}

/// The arm is never outside of what is shown as certified for the plan in force.
#[test]
fn the_arm_stays_in_the_volume_that_is_shown() {
    let replay = RUN.replay();
    let period = RUN.robot.gains().period_s;
    let mut inside = 0;
    for pose in &replay.poses {
        let Some(plan) = replay.plans.iter().rev().find(|plan| plan.t <= pose.t) else { continue };
        let (t, cells) = (pose.t - plan.t, plan.cells.len());
        if t >= plan.duration_s {
            continue;
        }
        let at = |k: usize| plan.duration_s * k as f64 / cells as f64;
        let cell = ((t / plan.duration_s * cells as f64) as usize).min(cells - 1);
        let last = (at(cell + 1) + period).min(plan.duration_s);
        let share = (t - at(cell)) / (last - at(cell));
        for (shape, swept) in plan.cells[cell].iter().enumerate() {
            for end in 0..2 {
                let (from, to) = (swept.start[end], swept.end[end]);
                let place = [0, 1, 2].map(|k| from[k] + share * (to[k] - from[k]));
                let away = distance(pose.ends[shape][end], place);
                assert!(
                    away <= swept.off[end] + 1e-9,
                    "{} at {} s: {away} m",
                    replay.shapes[shape].name,
                    pose.t
                );
                assert!(swept.off[end] < 0.1, "{} m", swept.off[end]);
                inside += 1;
            }
        }
    }
    assert!(inside > 1000, "{inside}");
}

/// A Chromium on the PATH.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// A browser that ends with its test.
struct Browser {
    process: Child,
    _profile: TempDir,
}

impl Browser {
    fn start(program: &Path, more: &[&str], address: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
                     --disable-component-update --disable-sync --hide-scrollbars --enable-unsafe-swiftshader";
        let process = Command::new(program)
            .args(flags.split_whitespace())
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(more)
            .arg(address)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, _profile: profile }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A request that was read in full: its first line and its body.
fn read_request(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).ok()?))
}

/// Answers one connection; what the page sends, or asks for beside itself.
fn answer(mut stream: TcpStream, page: &str) -> Option<Result<Value, String>> {
    let (first, body) = read_request(&stream)?;
    let words: Vec<&str> = first.split_whitespace().take(2).collect();
    let (status, text) = match words[..] {
        ["GET", "/"] => ("200 OK", page),
        // Browsers ask for it whatever the page says.
        ["GET", "/favicon.ico"] => ("404 Not Found", ""),
        ["POST", "/found"] => return Some(serde_json::from_str(&body).map_err(|e| e.to_string())),
        // A connection that is opened in advance and not used.
        [] => return None,
        _ => return Some(Err(format!("the page asks for {first}"))),
    };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // A browser that hangs up has changed its mind.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
    None
}

/// What the browser finds on the page, which is all that it is given.
fn visit(program: &Path, more: &[&str]) -> Value {
    let watch = "<script>window.faults = []; window.addEventListener('error', e => window.faults.push(e.message)); \
                 console.error = (...all) => window.faults.push(all.join(' '));</script><title>";
    let page = RUN.page.replacen("<title>", watch, 1);
    let page = Arc::new(page.replacen("</body>", &format!("<script>{VISIT}</script></body>"), 1));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, found) = mpsc::channel();
    // It ends with the process; each connection has a thread, as browsers open some that they do not use.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (sender, page) = (sender.clone(), page.clone());
            thread::spawn(move || answer(stream, &page).map(|result| sender.send(result)));
        }
    });
    let _browser = Browser::start(program, more, &address);
    let found = found.recv_timeout(Duration::from_secs(120)).expect("the browser sends nothing").unwrap();
    println!("{found:#}");
    found
}

/// What holds in any browser.
fn works(found: &Value) {
    assert_eq!(found["faults"], serde_json::json!([]));
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name} is missing"));
    assert!(number("colours") > 50.0, "the picture is blank");
    for change in ["moved", "swept", "turned", "closer", "path", "pinched", "wheeled"] {
        assert!(number(change) > 0.0005, "{change}: the picture does not change");
    }
    // What is drawn depends on nothing but what is shown.
    assert!(number("back") < 0.001 && number("reset") < 0.001, "the way back leads elsewhere");
    assert!(found["scrolls"] == true && found["zooms"] == true, "the wheel");
    assert!(number("cursors") >= 9.0 && number("cursor_after") > number("cursor_before") + 100.0);
    assert!((number("clicked") - number("clicked_at")).abs() < 0.05, "a click in a plot");
    assert!((number("stepped") - 0.1).abs() < 1e-3, "an arrow key");
    assert!(number("played") > 0.2 && found["pause"] == "Pause" && found["play"] == "Play");
    assert!((number("closest") - RUN.record.summary.closest.as_ref().unwrap().t).abs() < 2e-3);
    assert!(number("wider") <= 0.0, "the page is wider than its window");
    assert_eq!(found["unnamed"], 0, "controls without a name");
}

#[test]
fn the_replay_works_in_a_browser() {
    let Some(program) = browser() else {
        println!("skipped: no Chromium on the PATH");
        return;
    };
    let found = visit(&program, &["--window-size=1200,900"]);
    assert_eq!(found["renderer"], "webgl");
    works(&found);
    // A phone without WebGL.
    let found = visit(&program, &["--window-size=500,900", "--disable-3d-apis"]);
    assert_eq!(found["renderer"], "canvas");
    works(&found);
    // Without a server too, as people open it.
    let folder = tempfile::tempdir().unwrap();
    let (file, picture) = (folder.path().join("report.html"), folder.path().join("page.png"));
    std::fs::write(&file, &RUN.page).unwrap();
    let shot = format!("--screenshot={}", picture.display());
    let more = ["--window-size=1200,1400", "--virtual-time-budget=4000", &shot];
    let mut browser = Browser::start(&program, &more, &format!("file://{}", file.display()));
    assert!(browser.process.wait().unwrap().success());
    assert!(std::fs::metadata(picture).unwrap().len() > 40_000);
}
