//! The promise: `report.html` shows a run again in three dimensions, as it was and with what its certificates cover, on one page of less than 3 MB that
//! needs nothing else. It works in a browser, with and without WebGL; where no Chromium is on the PATH, that part is left out. The same holds of the
//! page of a campaign, which shows all methods on all experiments.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use surelift::benchmark::{Learning, MethodPreset};
use surelift::campaign::{self, Journal};
use surelift::horizon::{Outcome, RunOptions};
use surelift::plan::Plan;
use surelift::report::replay::{MOST_POSES, QUANTUM_M};
use surelift::report::{Replay, RunRecord, html};
use surelift::robot::Arm;
use surelift::scenario::{self, Scenario};
use tempfile::TempDir;

/// What the browser does with the page.
const VISIT: &str = include_str!("page/visit.js");
/// The same for the page of a campaign.
const VISIT_CAMPAIGN: &str = include_str!("page/campaign.js");
/// The largest page, bytes.
const LARGEST: usize = 3_000_000;
/// What a page that needs nothing else does not contain.
const OUTWARD: [&str; 11] =
    ["http:", "https:", "//", " src=", "url(", "@import", "import(", "fetch(", "XMLHttp", "<link", "<img"];

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
    assert!(page.len() < LARGEST, "{} bytes", page.len());
    for word in OUTWARD {
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
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_arm_stays_in_the_volume_that_is_shown_at_length() {
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

/// What `script` finds on the page in the browser, which is given nothing else.
fn visit(program: &Path, more: &[&str], page: &str, script: &str) -> Value {
    let watch = "<script>window.faults = []; window.addEventListener('error', e => window.faults.push(e.message)); \
                 console.error = (...all) => window.faults.push(all.join(' '));</script><title>";
    let page = page.replacen("<title>", watch, 1);
    let page = Arc::new(page.replacen("</body>", &format!("<script>{script}</script></body>"), 1));
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
    let found = visit(&program, &["--window-size=1200,900"], &RUN.page, VISIT);
    assert_eq!(found["renderer"], "webgl");
    works(&found);
    // A phone without WebGL.
    let found = visit(&program, &["--window-size=500,900", "--disable-3d-apis"], &RUN.page, VISIT);
    assert_eq!(found["renderer"], "canvas");
    works(&found);
    shot(&program, &RUN.page);
}

/// Without a server too, as people open it.
fn shot(program: &Path, page: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (file, picture) = (folder.path().join("report.html"), folder.path().join("page.png"));
    std::fs::write(&file, page).unwrap();
    let shot = format!("--screenshot={}", picture.display());
    let more = ["--window-size=1200,1400", "--virtual-time-budget=4000", &shot];
    let mut browser = Browser::start(program, &more, &format!("file://{}", file.display()));
    assert!(browser.process.wait().unwrap().success());
    let size = std::fs::metadata(picture).unwrap().len();
    println!("a picture of {size} bytes");
    assert!(size > 40_000, "the picture is blank");
}

/// A run of each sort of method, as the campaign wrote it down: of one that identifies, one that adapts, one that does neither.
fn trials_of_each_sort() -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A short search for the series.
    let preset = std::fs::read_to_string(shipped.join("planners/grav-pid-excit.toml")).unwrap();
    let method = folder.path().join("quick.toml");
    assert!(preset.contains("fourier = {}"));
    std::fs::write(&method, preset.replace("fourier = {}", "fourier = { evaluations = 20 }")).unwrap();
    let file = folder.path().join("few.toml");
    let text = format!(
        "schema = 1\nname = \"few\"\nkind = \"methods\"\nseeds = 1\nmethods = [{method:?}, \"adap-1\", \"grav-pid\"]\n\
         [[experiments]]\nlabel = \"c\"\nscenario = {:?}\n",
        shipped.join("scenarios/dumbbell_c.toml")
    );
    std::fs::write(&file, text).unwrap();
    let journal = Journal::open(folder.path(), false).unwrap();
    campaign::load(&file).unwrap().go_on(&journal, &|_, _| ()).unwrap();
    let lines = std::fs::read_to_string(folder.path().join("trials.jsonl")).unwrap();
    let trials: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |method: &str| {
        let own = |line: &&Value| line["key"].as_str().unwrap().ends_with(&format!("{method}/c/8lb/0"));
        trials.iter().find(own).unwrap()["trial"].clone()
    };
    ["quick.toml", "adap-1", "grav-pid"].map(of).to_vec()
}

/// The page of the shipped campaign after as many runs as it has, each of which goes like that of its sort.
fn page_of_the_shipped_campaign() -> String {
    let folder = tempfile::tempdir().unwrap();
    let sorts = trials_of_each_sort();
    assert!(sorts[0]["known"].is_object() && sorts[1]["masses"].as_array().unwrap().len() > 10);
    assert!(sorts[1]["followed"].is_object() && sorts[2]["followed"].is_object());
    let mut lines = String::new();
    for method in MethodPreset::names() {
        let learns = &MethodPreset::find(method).unwrap().learns;
        let sort = match learns {
            Learning::Planned(_) | Learning::Fourier(_) => 0,
            Learning::Adapting => 1,
            Learning::Nothing => {
                if method.starts_with("adap") {
                    1
                } else {
                    2
                }
            }
        };
        for (experiment, item) in
            ["a", "b"].into_iter().flat_map(|e| [4, 5, 6, 7, 8].map(|lb| (e, lb))).chain([("c", 8)])
        {
            for seed in 0..5 {
                let mut trial = sorts[sort].clone();
                // One that ended on the way has no path: as large as the largest.
                trial["followed"] = if seed == 0 { sorts[1]["followed"].clone() } else { Value::Null };
                trial["method"] = method.into();
                trial["experiment"] = experiment.into();
                trial["item"] = format!("{item}lb").into();
                trial["seed"] = seed.into();
                let key = format!("{method}/{experiment}/{item}lb/{seed}");
                lines += &format!("{}\n", serde_json::json!({ "key": key, "trial": trial }));
            }
        }
    }
    let count = lines.lines().count();
    std::fs::write(folder.path().join("trials.jsonl"), lines).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/campaigns/dumbbells.toml");
    let journal = Journal::open(folder.path(), true).unwrap();
    let findings =
        campaign::load(&shipped).unwrap().go_on(&journal, &|_, total| assert_eq!(total, 825)).unwrap();
    // None was made anew.
    let after = std::fs::read_to_string(folder.path().join("trials.jsonl")).unwrap();
    assert_eq!((count, after.lines().count()), (825, 825));
    findings.files.into_iter().find(|(name, _)| name == "report.html").unwrap().1
}

#[test]
fn the_page_of_a_campaign_works_in_a_browser() {
    let page = page_of_the_shipped_campaign();
    println!("{} bytes", page.len());
    assert!(page.len() < LARGEST, "{} bytes", page.len());
    for word in OUTWARD {
        assert!(!page.contains(word), "{word}");
    }
    let Some(program) = browser() else {
        println!("skipped: no Chromium on the PATH");
        return;
    };
    for size in ["--window-size=1200,900", "--window-size=500,900"] {
        let found = visit(&program, &[size], &page, VISIT_CAMPAIGN);
        assert_eq!(found["faults"], serde_json::json!([]));
        let methods: Vec<&str> = MethodPreset::names().collect();
        let mut shown: Vec<&str> =
            found["methods"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect();
        shown.sort_by_key(|name| methods.iter().position(|other| other == name));
        assert_eq!(shown, methods);
        assert!(found["columns"].as_array().unwrap().iter().all(|columns| columns == 4));
        assert_eq!(found["bodies"].as_array().unwrap().len(), 11);
        // Two plots a method and body open with a click, besides those of the masses.
        assert_eq!(found["captions"], 11 * 15);
        assert_eq!(found["hidden"], 0, "what is folded takes room");
        assert!(found["plots"].as_u64().unwrap() >= 11 * (2 * 15 + 1));
        for none in ["small", "empty", "unlabelled"] {
            assert_eq!(found[none], 0, "{none}");
        }
        assert!(found["wider"].as_f64().unwrap() <= 0.0, "the page is wider than its window");
        assert!(found["nan"] == false && found["text"].as_u64().unwrap() > 10_000);
    }
    shot(&program, &page);
}
