use super::*;
use crate::recording::AngleUnit;
use crate::robot::fixture::small_robot;

/// Files that another program has written; see tests/recordings/README.md.
const FOREIGN: [&str; 3] = ["cdr_zstd", "json_lz4", "cdr_unchunked"];

fn foreign(name: &str) -> Vec<u8> {
    std::fs::read(format!("tests/recordings/{name}.mcap")).unwrap()
}

fn read_bytes(bytes: &[u8], topic: Option<&str>) -> Result<MeasurementLog, LogError> {
    let file = tempfile::NamedTempFile::with_suffix(".mcap").unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    MeasurementLog::read_topic(file.path(), &small_robot(), AngleUnit::Radians, topic)
}

/// What a message of a recording may hold.
#[derive(Clone)]
struct Message {
    sec: i32,
    nanosec: u32,
    name: Vec<&'static str>,
    position: Vec<f64>,
    velocity: Vec<f64>,
    effort: Vec<f64>,
}

/// Message k of a slow turn of joint `two`, 10 ms apart.
fn message(k: u32) -> Message {
    let t = 0.01 * f64::from(k);
    Message {
        sec: 7,
        nanosec: 10_000_000 * k,
        name: vec!["two", "one", "three"],
        position: vec![0.5 * t, 0.1, 0.0],
        velocity: vec![0.5, 0.0, 0.0],
        effort: vec![2.0, 1.0, 3.0],
    }
}

fn ten() -> Vec<Message> {
    (0..10).map(message).collect()
}

impl Message {
    /// In CDR of either byte order.
    fn cdr(&self, big: bool) -> Vec<u8> {
        let mut bytes = vec![0, u8::from(!big), 0, 0];
        let word = |bytes: &mut Vec<u8>, word: &[u8]| {
            bytes.resize(4 + (bytes.len() - 4).next_multiple_of(word.len()), 0);
            if big { bytes.extend(word.iter().rev()) } else { bytes.extend(word) }
        };
        let text = |bytes: &mut Vec<u8>, text: &str| {
            word(bytes, &(text.len() as u32 + 1).to_le_bytes());
            bytes.extend(text.as_bytes());
            bytes.push(0);
        };
        word(&mut bytes, &self.sec.to_le_bytes());
        word(&mut bytes, &self.nanosec.to_le_bytes());
        text(&mut bytes, "base");
        word(&mut bytes, &(self.name.len() as u32).to_le_bytes());
        self.name.iter().for_each(|name| text(&mut bytes, name));
        for vector in [&self.position, &self.velocity, &self.effort] {
            word(&mut bytes, &(vector.len() as u32).to_le_bytes());
            vector.iter().for_each(|x| word(&mut bytes, &x.to_le_bytes()));
        }
        bytes
    }

    fn json(&self) -> Vec<u8> {
        let stamp = serde_json::json!({"sec": self.sec, "nsec": self.nanosec});
        serde_json::to_vec(&serde_json::json!({"header": {"stamp": stamp}, "name": self.name,
            "position": self.position, "velocity": self.velocity, "effort": self.effort}))
        .unwrap()
    }
}

/// A file without chunks: channels (schema, topic, encoding), and messages by channel.
fn file(channels: &[(&str, &str, &str)], messages: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = crate::recording::MCAP_MAGIC.to_vec();
    let mut record = |kind: u8, contents: Vec<u8>| {
        bytes.push(kind);
        bytes.extend((contents.len() as u64).to_le_bytes());
        bytes.extend(contents);
    };
    record(1, [text("ros2"), text("by hand")].concat());
    for (k, (schema, topic, encoding)) in channels.iter().enumerate() {
        let id = (k as u16 + 1).to_le_bytes();
        record(3, [id.to_vec(), text(schema), text(""), text("")].concat());
        record(4, [id.to_vec(), id.to_vec(), text(topic), text(encoding), vec![0; 4]].concat());
    }
    for (channel, data) in messages {
        record(5, [channel.to_le_bytes().to_vec(), vec![0; 20], data.clone()].concat());
    }
    record(15, vec![0; 4]);
    record(2, vec![0; 20]);
    bytes.extend(crate::recording::MCAP_MAGIC);
    bytes
}

const STATES: (&str, &str, &str) = ("sensor_msgs/msg/JointState", "/joint_states", "cdr");

fn of_states(messages: &[Message]) -> Vec<u8> {
    let messages: Vec<_> = messages.iter().map(|m| (1, m.cdr(false))).collect();
    file(&[STATES], &messages)
}

/// The error that a recording with `change` made to its fifth message is refused with.
fn refused(change: impl FnOnce(&mut Message)) -> String {
    let mut messages = ten();
    change(&mut messages[4]);
    read_bytes(&of_states(&messages), None).unwrap_err().to_string()
}

#[track_caller]
fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

#[test]
fn files_of_another_writer_are_read() {
    for name in FOREIGN {
        let path = format!("tests/recordings/{name}.mcap");
        let log = MeasurementLog::read(&path, &small_robot(), AngleUnit::Radians).unwrap();
        assert_eq!(log.samples.len(), 36, "{name}");
        for sample in &log.samples {
            let t = sample.t;
            assert!((sample.q[1] - 0.5 * t).abs() < 1e-12 && sample.q[0] == 0.1 && sample.q[2] == 0.03);
            assert_eq!(sample.dq, [0.0, 0.5, 0.0]);
            assert!((sample.tau[1] - 2.0 - t).abs() < 1e-12 && sample.tau[0] == 1.0 && sample.tau[2] == 3.0);
        }
        assert_eq!(log.segments, [0..10, 10..36]);
        assert!((log.gaps[0].from_s - 0.09).abs() < 1e-12 && (log.gaps[0].to_s - 0.14).abs() < 1e-12);
        assert_eq!(log.ignored, ["gripper"]);
        let notes = log.notes().join("\n");
        assert_says(
            &notes,
            &["`/joint_states`", "1700000000.990000000 s", "7 message(s) without", "1 gap(s)"],
        );
    }
}

#[test]
fn both_byte_orders_and_json_say_the_same() {
    let expected = read_bytes(&of_states(&ten()), None).unwrap().samples;
    assert_eq!(expected.len(), 10);
    assert_eq!((expected[3].t, expected[3].tau[0]), (0.03, 1.0));
    let big: Vec<_> = ten().iter().map(|m| (1, m.cdr(true))).collect();
    assert_eq!(read_bytes(&file(&[STATES], &big), None).unwrap().samples, expected);
    let json: Vec<_> = ten().iter().map(|m| (1, m.json())).collect();
    let channel = ("sensor_msgs/JointState", "/joint_states", "json");
    assert_eq!(read_bytes(&file(&[channel], &json), None).unwrap().samples, expected);
}

#[test]
fn one_of_several_topics_has_to_be_chosen() {
    let channels =
        [STATES, ("sensor_msgs/msg/JointState", "/goals", "cdr"), ("sensor_msgs/msg/Imu", "/imu", "cdr")];
    let messages: Vec<_> =
        ten().iter().flat_map(|m| [(1, m.cdr(false)), (2, m.cdr(false)), (3, vec![])]).collect();
    let bytes = file(&channels, &messages);
    let error = read_bytes(&bytes, None).unwrap_err().to_string();
    assert_says(&error, &["--topic", "`/joint_states`", "`/goals`", "10 messages"]);
    assert_eq!(read_bytes(&bytes, Some("/goals")).unwrap().samples.len(), 10);
    let error = read_bytes(&bytes, Some("/imu")).unwrap_err().to_string();
    assert_says(&error, &["`/imu`", "sensor_msgs/msg/Imu", "expected sensor_msgs/msg/JointState"]);
    let error = read_bytes(&bytes, Some("/arm")).unwrap_err().to_string();
    assert_says(&error, &["no topic `/arm`", "`/goals`", "`/imu`"]);
    let none = read_bytes(&file(&channels[2..], &[]), None).unwrap_err().to_string();
    assert_says(&none, &["no topic of sensor_msgs/msg/JointState", "`/imu`"]);
    assert_says(&read_bytes(&file(&[], &[]), None).unwrap_err().to_string(), &["topics: none"]);
}

/// Messages without velocity or effort, as the type allows them: a sensor that is read less often.
#[test]
fn messages_may_lack_velocity_or_effort() {
    let lacking = |(k, m): (usize, Message)| match k % 3 {
        1 => Message { effort: vec![], ..m },
        2 => Message { velocity: vec![], ..m },
        _ => m,
    };
    let bytes = of_states(&ten().into_iter().enumerate().map(lacking).collect::<Vec<_>>());
    assert_eq!(read_bytes(&bytes, None).unwrap().samples.len(), 4);
    let file = tempfile::NamedTempFile::with_suffix(".mcap").unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let request = LogRequest { partial: true, ..LogRequest::default() };
    let log = MeasurementLog::read_request(file.path(), &small_robot(), &request).unwrap();
    assert_eq!(log.samples.len(), 10);
    assert_eq!(log.missing[1].tau, [0, 1, 2]);
    assert_eq!((log.missing[2].dq.len(), log.samples[2].dq[1]), (3, 0.5));
    let request = LogRequest { further: vec!["work".into()], ..request };
    let error = MeasurementLog::read_request(file.path(), &small_robot(), &request).unwrap_err().to_string();
    assert_says(&error, &["no column `work`", "CSV"]);
}

#[test]
fn bad_messages_are_refused_with_topic_message_and_joint() {
    let place = "topic `/joint_states`, message 5";
    assert_says(&refused(|m| m.effort[1] = f64::NAN), &[place, "`effort` of joint `one`", "NaN", "finite"]);
    assert_says(&refused(|m| m.position[0] = f64::INFINITY), &[place, "`position` of joint `two`", "inf"]);
    assert_says(&refused(|m| m.velocity[2] = 1e3), &[place, "`velocity` of joint `three`", "unit"]);
    assert_says(&refused(|m| m.effort.truncate(1)), &[place, "`effort` has 1 numbers", "3 joints"]);
    assert_says(&refused(|m| m.position.clear()), &[place, "`position` has 0 numbers", "3 joints"]);
    assert_says(&refused(|m| m.velocity.push(0.0)), &[place, "`velocity` has 4 numbers"]);
    assert_says(&refused(|m| m.name[1] = "elbow"), &[place, "no joint `one`", "`elbow`"]);
    assert_says(&refused(|m| m.name[1] = "two"), &[place, "joint `two` twice"]);
    assert_says(&refused(|m| m.nanosec = 30_000_000), &[place, "header.stamp", "0.03 s"]);
    assert_says(&refused(|m| m.sec = -1), &[place, "header.stamp", "later"]);

    let others: Vec<Message> =
        ten().into_iter().map(|m| Message { name: vec!["a", "b", "c"], ..m }).collect();
    let error = read_bytes(&of_states(&others), None).unwrap_err().to_string();
    assert_says(&error, &["none of the 10 messages", "`one`, `two`, `three`", "`a`, `b`, `c`"]);
    let error = read_bytes(&of_states(&ten()[..1]), None).unwrap_err();
    assert!(matches!(error, LogError::TooShort { found: 1, .. }), "{error}");

    let cdr = message(0).cdr(false);
    for (encoding, data, expected) in [
        ("ros1", cdr.clone(), "encoding `ros1`, expected `cdr` or `json`"),
        ("json", cdr.clone(), "JSON"),
        (
            "json",
            br#"{"header":{"stamp":{"sec":1,"nanosec":0}},"name":["one"],"position":[null]}"#.to_vec(),
            "null",
        ),
        ("cdr", message(0).json(), "expected 00 00 or 00 01"),
        ("cdr", vec![0, 1], "2 bytes"),
        ("cdr", cdr[..cdr.len() - 1].to_vec(), "ends within a field"),
        ("cdr", [&cdr[..12], &[255; 40]].concat(), "only 36 bytes are left"),
    ] {
        let channel = (STATES.0, STATES.1, encoding);
        let error = read_bytes(&file(&[channel], &[(1, data)]), None).unwrap_err().to_string();
        assert_says(&error, &["message 1", expected]);
    }
}

#[test]
fn files_that_are_cut_off_are_read_up_to_the_cut_wherever_it_is() {
    // A small file at every byte, larger ones near their ends and at many places between.
    let small = [("by hand", of_states(&ten()[..4]))];
    for (name, bytes) in FOREIGN.map(|name| (name, foreign(name))).into_iter().chain(small) {
        let whole = read_bytes(&bytes, None).unwrap();
        let mut longest = 0;
        let count = bytes.len();
        let dense = |length: &usize| {
            count < 2000 || *length < 99 || *length + 99 > count || length.is_multiple_of(23)
        };
        for length in (0..count).filter(dense) {
            match read_bytes(&bytes[..length], None) {
                Ok(log) => {
                    let count = log.samples.len();
                    assert_eq!(log.samples, whole.samples[..count], "{name}, cut at {length}");
                    // A later cut leaves no less.
                    assert!(count >= longest, "{name}, cut at {length}");
                    longest = count;
                    let what = log.cut_off.as_ref().unwrap();
                    assert_says(what, &[&format!("cut off at byte {length}"), &format!("{count} samples")]);
                    assert!(log.notes().contains(what));
                }
                Err(error) => {
                    assert!(longest == 0, "{name}, cut at {length}: {error}");
                    let expected = if length < 8 { "no MCAP file" } else { "cut off at byte" };
                    assert_says(&error.to_string(), &[expected, ".mcap"]);
                }
            }
        }
        assert_eq!(longest, whole.samples.len(), "{name}");
        let log = read_bytes(&bytes[..bytes.len() - 1], None).unwrap();
        assert_says(&log.cut_off.unwrap(), &["none is missing"]);
    }
    let error = read_bytes(b"t,q1,q2\n0,1,2\n", None).unwrap_err();
    assert_says(&error.to_string(), &["no MCAP file"]);
}

#[test]
fn records_that_lead_beyond_the_end_of_a_complete_file_are_damage() {
    let bytes = of_states(&ten());
    // The length of the first record.
    let mut longer = bytes.clone();
    longer[8 + 1 + 4] = 1;
    assert_says(&read_bytes(&longer, None).unwrap_err().to_string(), &["beyond the end", "damaged"]);
    // Other bytes where the closing ones should be are no cut.
    let mut other = bytes.clone();
    *other.last_mut().unwrap() = 0;
    assert_says(&read_bytes(&other, None).unwrap_err().to_string(), &["does not end as an MCAP file"]);
}

#[test]
fn a_chunk_that_promises_more_than_any_writer_makes_is_refused() {
    let mut bytes = crate::recording::MCAP_MAGIC.to_vec();
    let chunk =
        [&[0; 16][..], &u64::MAX.to_le_bytes(), &[0; 4], &4u32.to_le_bytes(), b"zstd", &[0; 8]].concat();
    bytes.push(6);
    bytes.extend((chunk.len() as u64).to_le_bytes());
    bytes.extend(chunk);
    assert_says(
        &read_bytes(&bytes, None).unwrap_err().to_string(),
        &["a chunk of 18446744073709551615 bytes", "at most"],
    );
}

#[test]
fn damage_is_refused_or_changes_nothing() {
    for name in FOREIGN {
        let bytes = foreign(name);
        let expected = read_bytes(&bytes, None).unwrap().samples;
        for at in (8..bytes.len()).step_by(61) {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                if let Ok(log) = read_bytes(&damaged, None) {
                    assert_eq!(log.samples, expected, "{name}, byte {at}");
                }
            }
        }
    }
}
