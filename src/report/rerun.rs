//! A run as a file for the viewer Rerun (<https://rerun.io>): `surelift run --rerun FILE.rrd`, behind the feature `rerun`.
//!
//! What the file holds, on the timeline `t` (simulated time, s):
//!
//! | entity | what |
//! |---|---|
//! | `world/robot` | every capsule of the robot, and of what the hand holds, base frame, m |
//! | `world/obstacles/NAME` | an obstacle; of one that moves, where it is |
//! | `joints/NAME/position`, `speed`, `torque`, `position_wanted`, `speed_wanted`, `error` | the log; rad, rad/s, N m (m, m/s, N) |
//! | `joints/NAME/torque_limit` | plus and minus, N m (N) |
//! | `clearance_m` | distance to the nearest obstacle or other link |
//! | `payload/PARAMETER/lower`, `upper`, `truth` | the proven set of each parameter of the last body, after each update |
//! | `plans` | a line of text for each plan that was tried, and how the run ended |
//!
//! Nothing is computed here but triangles and rotations to draw; the viewer keeps positions in single precision.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use re_sdk::log::TimeColumn;
use re_sdk::{EntityPath, EntityPathPart, RecordingStream, RecordingStreamBuilder, RecordingStreamError};
use re_types::archetypes::{Capsules3D, Mesh3D, Scalars, SeriesLines, TextLog, Transform3D, ViewCoordinates};
use re_types::components::{TextLogLevel, Translation3D};
use re_types::datatypes::Quaternion;

use super::{Replay, ReportError, RunRecord, Summary};

/// The timeline's name.
pub const TIMELINE: &str = "t";
/// How files for Rerun begin: `RRF` and a digit for the form.
const MAGIC: &[u8] = b"RRF";

/// Checks that `file` can be written: its name ends in `.rrd`, its folder is there, and what stands there already is such a file. Touches nothing; meant
/// to be called before a run starts.
///
/// # Errors
/// [`ReportError::Destination`] says what is in the way.
pub fn check_file(file: &Path) -> Result<(), ReportError> {
    let refuse = |reason: String| Err(ReportError::Destination { path: file.to_owned(), reason });
    if file.extension().is_none_or(|end| end != "rrd") {
        return refuse("expected a name that ends in `.rrd`".to_owned());
    }
    if !folder_of(file).is_dir() {
        return refuse(format!("`{}` is no folder; make it, or choose another", folder_of(file).display()));
    }
    let mut begin = [0; MAGIC.len()];
    match fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(()) if begin == MAGIC => Ok(()),
        Ok(()) => refuse("exists and is no file of Rerun; choose another or remove it".to_owned()),
        Err(error) => refuse(format!("exists and cannot be read: {error}; choose another or remove it")),
    }
}

/// The folder that `file` is in.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes the run to `file`, whole or not at all.
///
/// # Errors
/// Those of [`check_file`], and whatever goes wrong while writing.
pub fn write_rerun<P>(file: &Path, record: &RunRecord<P>) -> Result<(), ReportError> {
    check_file(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder_of(file).join(format!(".{name}.partial-{}", std::process::id()));
    let written = save(&partial, record).and_then(|()| fs::rename(&partial, file));
    written.map_err(|source| {
        // What was begun goes, as far as it can; the first error is what counts.
        let _ = fs::remove_file(&partial);
        ReportError::Io { action: "write", path: file.to_owned(), source }
    })
}

fn save<P>(path: &PathBuf, record: &RunRecord<P>) -> io::Result<()> {
    let stream = builder(&record.summary).save(path).map_err(io::Error::other)?;
    tell(&stream, record).map_err(io::Error::other)?;
    stream.flush_blocking().map_err(io::Error::other)
}

fn builder(summary: &Summary) -> RecordingStreamBuilder {
    let run = format!("{}, {}, seed {}", summary.scenario, summary.method, summary.seed);
    // The environment variable `RERUN=off` switches logging off elsewhere; who asks for a file gets one.
    RecordingStreamBuilder::new("surelift").recording_name(run).enabled(true)
}

/// Everything, in the order of the table above.
fn tell<P>(stream: &RecordingStream, record: &RunRecord<P>) -> Result<(), RecordingStreamError> {
    stream.log_static("world", &ViewCoordinates::RIGHT_HAND_Z_UP())?;
    if let Some(replay) = &record.replay {
        tell_robot(stream, replay)?;
        tell_obstacles(stream, replay)?;
    }
    tell_joints(stream, record)?;
    let (t, clearance): (Vec<f64>, Vec<f64>) = record.clearance.iter().copied().unzip();
    tell_series(stream, "clearance_m", &t, &[clearance])?;
    tell_payload(stream, &record.summary)?;
    tell_plans(stream, &record.summary)
}

/// Names may hold what has a meaning in paths.
fn entity(parts: [&str; 3]) -> EntityPath {
    parts.map(EntityPathPart::new).to_vec().into()
}

fn times(t: impl IntoIterator<Item = f64>) -> [TimeColumn; 1] {
    [TimeColumn::new_duration_secs(TIMELINE, t)]
}

/// Capsules as they were over time; their lengths and radii stay.
fn tell_robot(stream: &RecordingStream, replay: &Replay) -> Result<(), RecordingStreamError> {
    let Some(first) = replay.poses.first() else { return Ok(()) };
    let lengths = first.ends.iter().map(|[a, b]| distance(*a, *b) as f32);
    let radii = replay.shapes.iter().map(|shape| shape.radius_m as f32);
    let labels = replay.shapes.iter().map(|shape| shape.name.as_str());
    let capsules = Capsules3D::from_lengths_and_radii(lengths, radii).with_labels(labels);
    stream.log_static("world/robot", &capsules.with_show_labels(false))?;
    let ends = || replay.poses.iter().flat_map(|pose| &pose.ends);
    let moved = Capsules3D::update_fields()
        .with_translations(ends().map(|[a, _]| single(*a)))
        .with_quaternions(ends().map(|[a, b]| Quaternion::from_xyzw(from_z(*a, *b))))
        .columns(replay.poses.iter().map(|pose| pose.ends.len()))?;
    stream.send_columns("world/robot", times(replay.poses.iter().map(|pose| pose.t)), moved)
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (b[i] - a[i]).powi(2)).sum::<f64>().sqrt()
}

fn single(x: [f64; 3]) -> [f32; 3] {
    x.map(|x| x as f32)
}

fn translation(x: [f64; 3]) -> Translation3D {
    let [x, y, z] = single(x);
    Translation3D::new(x, y, z)
}

/// The shortest rotation of the z axis into the direction from `a` to `b`, as a quaternion (x, y, z, w); none where they are the same.
fn from_z(a: [f64; 3], b: [f64; 3]) -> [f32; 4] {
    let length = distance(a, b);
    let d: [f64; 3] = std::array::from_fn(|i| (b[i] - a[i]) / length);
    // Half-way between the axis and the direction: its angle is half of that between them.
    let w = (0.5 * (1.0 + d[2])).sqrt();
    let xyzw = match length > 0.0 {
        false => [0.0, 0.0, 0.0, 1.0],
        // Straight down: half a turn about the x axis.
        true if w < 1e-6 => [1.0, 0.0, 0.0, 0.0],
        true => [-d[1] / (2.0 * w), d[0] / (2.0 * w), 0.0, w],
    };
    xyzw.map(|x| x as f32)
}

/// Faces are convex: a fan of triangles covers each.
fn tell_obstacles(stream: &RecordingStream, replay: &Replay) -> Result<(), RecordingStreamError> {
    let place = |name: &str| entity(["world", "obstacles", name]);
    for obstacle in &replay.obstacles {
        let mut corners = Vec::new();
        let mut triangles: Vec<[u32; 3]> = Vec::new();
        for face in &obstacle.faces {
            let first = corners.len() as u32;
            corners.extend(face.iter().copied().map(single));
            let fan = (1..(face.len() as u32).saturating_sub(1)).map(|k| [first, first + k, first + k + 1]);
            triangles.extend(fan);
        }
        let mesh = Mesh3D::new(corners).with_triangle_indices(triangles);
        stream.log_static(place(&obstacle.name), &mesh)?;
        if !obstacle.moves {
            let there = Transform3D::update_fields().with_translation(translation(obstacle.center));
            stream.log_static(place(&obstacle.name), &there)?;
        }
    }
    // Poses have the centres of those that move, in the order of the obstacles.
    for (k, obstacle) in replay.obstacles.iter().filter(|obstacle| obstacle.moves).enumerate() {
        let centers = replay.poses.iter().map(|pose| translation(pose.centers[k]));
        let moved = Transform3D::update_fields().with_many_translation(centers).columns_of_unit_batches()?;
        stream.send_columns(place(&obstacle.name), times(replay.poses.iter().map(|pose| pose.t)), moved)?;
    }
    Ok(())
}

/// One quantity over time; several values a time are lines of one picture.
fn tell_series(
    stream: &RecordingStream,
    place: impl Into<EntityPath>,
    t: &[f64],
    lines: &[Vec<f64>],
) -> Result<(), RecordingStreamError> {
    if t.is_empty() {
        return Ok(());
    }
    let values = (0..t.len()).flat_map(|k| lines.iter().map(move |line| line[k]));
    let columns = Scalars::new(values).columns(std::iter::repeat_n(lines.len(), t.len()))?;
    stream.send_columns(place, times(t.iter().copied()), columns)
}

fn tell_joints<P>(stream: &RecordingStream, record: &RunRecord<P>) -> Result<(), RecordingStreamError> {
    let t: Vec<f64> = record.log.iter().map(|row| row.t).collect();
    let names = ["position", "speed", "torque", "position_wanted", "speed_wanted", "error"];
    for (j, joint) in record.joints.iter().enumerate() {
        let place = |what: &str| entity(["joints", joint, what]);
        for (column, what) in names.into_iter().enumerate() {
            let line = record.log.iter().map(|row| row.columns()[column].1[j]).collect();
            tell_series(stream, place(what), &t, &[line])?;
        }
        let limit = record.torque_limit[j];
        let ends: Vec<f64> = t.first().into_iter().chain(t.last()).copied().collect();
        let lines = [limit, -limit].map(|limit| vec![limit; ends.len()]);
        tell_series(stream, place("torque_limit"), &ends, &lines)?;
        stream.log_static(place("torque_limit"), &SeriesLines::new().with_names(["upper", "lower"]))?;
    }
    Ok(())
}

/// Bounds of each parameter after each update.
fn tell_payload(stream: &RecordingStream, summary: &Summary) -> Result<(), RecordingStreamError> {
    let Some(payload) = &summary.payload else { return Ok(()) };
    let updates = &summary.identification;
    let t: Vec<f64> = updates.iter().map(|update| update.t).collect();
    for (i, name) in payload.names.iter().enumerate() {
        let place = |what: &str| entity(["payload", name, what]);
        let truth = payload.truth.get(i).copied().filter(|truth| truth.is_finite());
        let lower = updates.iter().map(|update| update.known.lower[i]).collect();
        let upper = updates.iter().map(|update| update.known.upper[i]).collect();
        tell_series(stream, place("lower"), &t, &[lower])?;
        tell_series(stream, place("upper"), &t, &[upper])?;
        if let Some(truth) = truth {
            tell_series(stream, place("truth"), &t, &[vec![truth; t.len()]])?;
        }
    }
    Ok(())
}

/// Plans as lines of a log, and how it ended.
fn tell_plans(stream: &RecordingStream, summary: &Summary) -> Result<(), RecordingStreamError> {
    let plans = summary.plans.iter().map(|plan| {
        let phase = plan.phase;
        match &plan.reason {
            None => (plan.t, format!("{phase}: certified, {}", plan.min_margin), TextLogLevel::INFO),
            Some(reason) => (plan.t, format!("{phase}: refused, {reason}"), TextLogLevel::WARN),
        }
    });
    let outcome = summary.outcome;
    let end = summary.reason.as_ref().map_or(outcome.to_string(), |reason| format!("{outcome}: {reason}"));
    let lines: Vec<_> = plans.chain([(summary.duration_s, end, TextLogLevel::INFO)]).collect();
    let log = TextLog::update_fields()
        .with_many_text(lines.iter().map(|line| line.1.clone()))
        .with_many_level(lines.iter().map(|line| line.2))
        .columns_of_unit_batches()?;
    stream.send_columns("plans", times(lines.iter().map(|line| line.0)), log)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use re_sdk::log::{Chunk, LogMsg};

    use super::*;
    use crate::report::replay::tests::replay;
    use crate::report::tests::record;

    /// What was told, by entity: rows of what changes, and rows of what stays.
    fn told(record: &RunRecord<serde_json::Value>) -> BTreeMap<String, (usize, usize)> {
        let (stream, storage) = builder(&record.summary).memory().unwrap();
        tell(&stream, record).unwrap();
        let mut rows = BTreeMap::new();
        for message in storage.take() {
            let LogMsg::ArrowMsg(_, message) = message else { continue };
            let chunk = Chunk::from_arrow_msg(&message).unwrap();
            let (moves, stays): &mut (usize, usize) =
                rows.entry(chunk.entity_path().to_string()).or_default();
            *(if chunk.is_static() { stays } else { moves }) += chunk.num_rows();
        }
        rows
    }

    #[test]
    fn everything_is_told_once() {
        let record = RunRecord { replay: Some(replay()), ..record() };
        let rows = told(&record);
        assert_eq!(rows["/world/robot"], (101, 1), "{rows:?}");
        assert_eq!(rows["/world/obstacles/person"], (101, 1));
        let table = entity(["world", "obstacles", "table \"x\""]);
        assert_eq!(rows[&table.to_string()], (0, 2), "{rows:?}");
        assert_eq!(rows["/joints/joint_7/torque"], (record.log.len(), 0));
        assert_eq!(rows["/joints/joint_1/torque_limit"], (2, 1));
        assert_eq!(rows["/payload/m/upper"], (record.summary.identification.len(), 0));
        assert_eq!(rows["/plans"], (record.summary.plans.len() + 1, 0));
        // Of a run of which nobody knows where everything was, the rest is told.
        let rows = told(&crate::report::tests::record());
        assert!(!rows.contains_key("/world/robot") && rows.contains_key("/clearance_m"));
    }

    #[test]
    fn capsules_lie_between_their_ends() {
        for end in
            [[1.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.3, 0.4, -0.7], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0; 3]]
        {
            let [x, y, z, w] = from_z([0.0; 3], end);
            assert!((x * x + y * y + z * z + w * w - 1.0).abs() < 1e-6);
            let axis = [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)];
            let length = distance([0.0; 3], end);
            for i in 0..3 {
                let expected = if length > 0.0 { end[i] } else { 0.0 };
                assert!((length * f64::from(axis[i]) - expected).abs() < 1e-6, "{end:?}: {axis:?}");
            }
        }
    }

    /// With `SURELIFT_RERUN_FILE` set, a file is left there for another program to read.
    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.rrd");
        let record = RunRecord { replay: Some(replay()), ..record() };
        write_rerun(&file, &record).unwrap();
        // A second run replaces the first.
        write_rerun(&file, &record).unwrap();
        if let Some(kept) = std::env::var_os("SURELIFT_RERUN_FILE") {
            write_rerun(Path::new(&kept), &record).unwrap();
        }
        assert!(fs::read(&file).unwrap().starts_with(MAGIC));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_place_for_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("thesis.rrd");
        fs::write(&other, "precious").unwrap();
        for (file, word) in [
            (folder.path().join("run.json"), "ends in `.rrd`"),
            (folder.path().join("none/run.rrd"), "is no folder"),
            (other.clone(), "no file of Rerun"),
        ] {
            let error = write_rerun(&file, &record()).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(&*file.to_string_lossy()), "{error}");
        }
        assert_eq!(fs::read(&other).unwrap(), b"precious");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
