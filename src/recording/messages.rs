//! Recordings in MCAP files: joint states of one topic, matched to the robot's joints by name.
//!
//! The file is read twice, first for its topics. Memory grows with the largest chunk, not with the file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::Path;

use super::Sample;
use super::assemble::{Assembler, Quantity};
use super::container::{self, Record};
use super::joint_state::JointState;
use super::{LogError, LogPlace, LogRequest, MeasurementLog};
use crate::robot::{Joint, Model};

/// Names of the message type: in ROS 2, in ROS 1, and as middleware spells it.
const SCHEMAS: [&str; 3] =
    ["sensor_msgs/msg/JointState", "sensor_msgs/JointState", "sensor_msgs::msg::dds_::JointState_"];

/// Reads the joint states of the topic that is asked for, or of the only one that has any.
pub(super) fn read(path: &Path, robot: &Model, request: &LogRequest) -> Result<MeasurementLog, LogError> {
    let wrong = |reason: &str| LogError::Request { path: path.to_owned(), reason: reason.to_owned() };
    if robot.has_free_flyer() {
        return Err(wrong("joint states say nothing of a floating base, expected a CSV file"));
    }
    if let Some(column) = request.further.first() {
        return Err(wrong(&format!("joint states have no column `{column}`, expected a CSV file")));
    }
    let mut topics = Topics::default();
    let cut_off = messages(path, &mut topics, &mut |_, _| Ok(()))?;
    let topic = topics.choose(request.topic.as_deref()).map_err(|reason| {
        let cut_off = cut_off.map(|what| format!("; {what}")).unwrap_or_default();
        LogError::NoTopic { path: path.to_owned(), reason: reason + &cut_off }
    })?;
    let mut states = States::new(path, robot, request, topic);
    let cut_off = messages(path, &mut Topics::default(), &mut |channel, data| {
        if channel.topic != states.topic {
            return Ok(());
        }
        let row = states.take(channel, data);
        states.assembler.or_skip(row)
    })?;
    states.finish(cut_off)
}

/// A channel of the file.
#[derive(Debug, Clone)]
struct Channel {
    topic: String,
    encoding: String,
    /// Name of the message type, empty if there is none.
    schema: String,
}

impl Channel {
    fn has_joint_states(&self) -> bool {
        SCHEMAS.contains(&self.schema.as_str())
    }
}

/// What has been seen of a file's channels.
#[derive(Default)]
struct Topics {
    schemas: HashMap<u16, String>,
    channels: HashMap<u16, Channel>,
    /// How many messages each topic has.
    counts: BTreeMap<String, u64>,
}

impl Topics {
    /// The topic that is wanted, or why there is none.
    fn choose(&self, wanted: Option<&str>) -> Result<String, String> {
        let mut all: Vec<&Channel> = self.channels.values().collect();
        all.sort_by(|a, b| a.topic.cmp(&b.topic));
        let list = |channels: &[&Channel]| {
            let each = |c: &&Channel| {
                let count = self.counts.get(&c.topic).copied().unwrap_or(0);
                let schema = if c.schema.is_empty() { "no schema" } else { &c.schema };
                format!("`{}` ({schema}, {}, {count} messages)", c.topic, c.encoding)
            };
            if channels.is_empty() {
                "none".to_owned()
            } else {
                channels.iter().map(each).collect::<Vec<_>>().join(", ")
            }
        };
        if let Some(wanted) = wanted {
            let found = all.iter().find(|c| c.topic == wanted);
            return match found {
                Some(channel) if channel.has_joint_states() => Ok(wanted.to_owned()),
                Some(channel) => Err(format!("{}, expected {}", list(&[*channel]), SCHEMAS[0])),
                None => Err(format!("no topic `{wanted}`; topics: {}", list(&all))),
            };
        }
        let fitting: Vec<&Channel> = all.iter().filter(|c| c.has_joint_states()).copied().collect();
        let names: BTreeSet<&str> = fitting.iter().map(|c| c.topic.as_str()).collect();
        match (names.first(), names.len()) {
            (Some(only), 1) => Ok((*only).to_owned()),
            (None, _) => Err(format!("no topic of {}; topics: {}", SCHEMAS[0], list(&all))),
            _ => Err(format!("several topics of joint states, choose one with --topic: {}", list(&fitting))),
        }
    }
}

type OnMessage<'a> = dyn FnMut(&Channel, &[u8]) -> Result<(), LogError> + 'a;

/// Calls `visit` for every message of a file, and keeps in `topics` what channels and messages there are. Says where the file breaks off, if
/// it does.
fn messages(path: &Path, topics: &mut Topics, visit: &mut OnMessage) -> Result<Option<String>, LogError> {
    let file =
        File::open(path).map_err(|e| LogError::Read { path: path.to_owned(), reason: e.to_string() })?;
    let damaged = |reason: String| LogError::Read { path: path.to_owned(), reason };
    container::walk(file, &damaged, &mut |record| match record {
        Record::Schema { id, name } => {
            topics.schemas.insert(id, name);
            Ok(())
        }
        Record::Channel { id, schema, topic, encoding } => {
            let schema = topics.schemas.get(&schema).cloned().unwrap_or_default();
            topics.channels.insert(id, Channel { topic, encoding, schema });
            Ok(())
        }
        Record::Message { channel, data } => {
            let found = topics.channels.get(&channel);
            let channel = found.ok_or_else(|| {
                damaged(format!("a message of channel {channel}, which is nowhere defined"))
            })?;
            *topics.counts.entry(channel.topic.clone()).or_default() += 1;
            visit(channel, data)
        }
    })
}

/// The joint states of one topic on their way to a log.
struct States<'a> {
    path: &'a Path,
    robot: &'a Model,
    topic: String,
    assembler: Assembler<'a>,
    /// Messages of the topic so far.
    number: u64,
    /// Time stamp of the first message that was used, ns.
    first: Option<i128>,
    /// Joints of the last message, and for each of the robot's joints its place among them; none if no joint is the
    /// robot's.
    names: Vec<String>,
    places: Option<Vec<usize>>,
    /// Joints of others.
    ignored: BTreeSet<String>,
    /// Messages about others' joints alone.
    others: u64,
}

impl<'a> States<'a> {
    fn new(path: &'a Path, robot: &'a Model, request: &'a LogRequest, topic: String) -> Self {
        let assembler = Assembler::new(path, robot, request);
        let (names, ignored) = (vec![], BTreeSet::new());
        Self {
            path,
            robot,
            topic,
            assembler,
            number: 0,
            first: None,
            names,
            places: None,
            ignored,
            others: 0,
        }
    }

    fn bad(&self, reason: String) -> LogError {
        LogError::BadMessage {
            path: self.path.to_owned(),
            topic: self.topic.clone(),
            number: self.number,
            reason,
        }
    }

    fn take(&mut self, channel: &Channel, data: &[u8]) -> Result<(), LogError> {
        self.number += 1;
        let state = match channel.encoding.as_str() {
            "cdr" => JointState::from_cdr(data),
            "json" => JointState::from_json(data),
            other => Err(format!("encoding `{other}`, expected `cdr` or `json`")),
        };
        let state = state.map_err(|reason| self.bad(reason))?;
        if state.name != self.names || self.number == 1 {
            self.places = self.find_joints(&state.name)?;
            self.names.clone_from(&state.name);
        }
        let Some(places) = &self.places else {
            self.others += 1;
            return Ok(());
        };
        let vectors =
            [("position", &state.position), ("velocity", &state.velocity), ("effort", &state.effort)];
        for (what, vector) in vectors {
            // The message's own way to say that there is no reading.
            let none = vector.is_empty() && what != "position";
            if vector.len() != state.name.len() && !none {
                let (found, names) = (vector.len(), state.name.len());
                return Err(self.bad(format!(
                    "`{what}` has {found} numbers, expected one for each of its {names} joints"
                )));
            }
        }
        let of = |vector: &[f64], none: f64| -> Vec<f64> {
            places.iter().map(|&k| vector.get(k).copied().unwrap_or(none)).collect()
        };
        let first = *self.first.get_or_insert(state.nanoseconds());
        let t = (state.nanoseconds() - first) as f64 / 1e9;
        let sample = |none: f64| Sample {
            t,
            q: of(&state.position, none),
            dq: of(&state.velocity, none),
            tau: of(&state.effort, none),
        };
        let (topic, number, robot) = (&self.topic, self.number, self.robot);
        let place = |quantity| {
            let of = |what: &str, j: usize| format!("`{what}` of joint `{}`", robot.joints[j].name);
            let what = match quantity {
                Quantity::Time => "`header.stamp`, counted from the first".to_owned(),
                Quantity::Position(j) => of("position", j),
                Quantity::Velocity(j) => of("velocity", j),
                Quantity::Torque(j) => of("effort", j),
            };
            LogPlace::Message { topic: topic.clone(), number, what }
        };
        self.assembler.check_numbers(&sample(0.0), place)?;
        self.assembler.push(sample(f64::NAN), vec![], place)
    }

    /// Where the robot's joints stand among `names`; `None` if none of them does.
    fn find_joints(&mut self, names: &[String]) -> Result<Option<Vec<usize>>, LogError> {
        let joints = &self.robot.joints;
        let place = |name: &String| names.iter().position(|n| n == name);
        let others = names.iter().filter(|n| joints.iter().all(|j| j.name != **n));
        self.ignored.extend(others.cloned());
        if joints.iter().all(|j| place(&j.name).is_none()) {
            return Ok(None);
        }
        let twice = names.iter().enumerate().find(|(k, n)| names[..*k].contains(n));
        if let Some((_, name)) = twice {
            return Err(self.bad(format!("names joint `{name}` twice")));
        }
        let find = |joint: &Joint| {
            place(&joint.name).ok_or_else(|| LogError::MissingJoint {
                path: self.path.to_owned(),
                topic: self.topic.clone(),
                number: self.number,
                joint: joint.name.clone(),
                names: quoted(names),
            })
        };
        joints.iter().map(find).collect::<Result<_, _>>().map(Some)
    }

    fn finish(self, cut_off: Option<String>) -> Result<MeasurementLog, LogError> {
        let Some(first) = self.first else {
            let joints: Vec<String> = self.robot.joints.iter().map(|j| j.name.clone()).collect();
            let others: Vec<String> = self.ignored.into_iter().collect();
            let reason = format!(
                "none of the {} messages of topic `{}` names a joint of the robot; it has {}, the messages have {}",
                self.number,
                self.topic,
                quoted(&joints),
                quoted(&others)
            ) + &cut_off.map(|what| format!("; {what}")).unwrap_or_default();
            return Err(LogError::NoTopic { path: self.path.to_owned(), reason });
        };
        let (seconds, rest) = (first.div_euclid(1_000_000_000), first.rem_euclid(1_000_000_000));
        let mut done =
            vec![format!("topic `{}`, time counted from the stamp {seconds}.{rest:09} s", self.topic)];
        if self.others > 0 {
            done.push(format!("{} message(s) without the robot's joints left out", self.others));
        }
        let robot = self.robot;
        let both = |j: usize| format!("`position` and `velocity` of joint `{}`", robot.joints[j].name);
        self.assembler.finish(self.ignored.into_iter().collect(), done, cut_off, both)
    }
}

fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
