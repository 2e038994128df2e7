//! Answers that wait until whoever asked can hear them.
//!
//! A client of a service has two ends on DDS: one writes requests, the other reads replies. Discovery tells of them one by one, so that a request can be here before
//! the end for its reply is known. A reply that is sent then reaches nobody, and its client waits in vain. So a reply waits until the service has as many readers of
//! replies as writers of requests. The first reply to a new reader waits a little longer: Cyclone DDS drops what comes before the writer's first heartbeat
//! (ros2/rmw_cyclonedds, issue 367).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ros2_client::dds::rustdds::{DomainParticipant, GUID};

use crate::wires::Wires;

/// Between a reader's discovery and the first reply to it. On a machine with four busy loops on two cores, 10 ms lose one first reply in forty.
const CONNECTS: Duration = Duration::from_millis(300);
/// An answer is sent after so long in any case: its client may be gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// One answer.
struct Answer {
    service: String,
    since: Instant,
    /// Since when its client can hear it.
    heard: Option<Instant>,
    send: Box<dyn FnOnce(&Wires)>,
}

/// All that wait.
pub struct Answers {
    participant: DomainParticipant,
    /// Who read the last answer of a service.
    readers: BTreeMap<String, Vec<GUID>>,
    waiting: Vec<Answer>,
}

impl Answers {
    /// None yet; `participant` knows who is there.
    pub fn new(participant: DomainParticipant) -> Self {
        Self { participant, readers: BTreeMap::new(), waiting: vec![] }
    }

    /// An answer of `service`, such as `/surelift/plan`; it goes out as soon as it can be heard.
    pub fn add(&mut self, service: String, send: impl FnOnce(&Wires) + 'static) {
        let (since, heard) = (Instant::now(), None);
        self.waiting.push(Answer { service, since, heard, send: Box::new(send) });
    }

    /// Sends what can be heard by now.
    pub fn send(&mut self, wires: &Wires) {
        if self.waiting.is_empty() {
            return;
        }
        let (participant, readers) = (&self.participant, &mut self.readers);
        self.waiting = std::mem::take(&mut self.waiting)
            .into_iter()
            .filter_map(|mut answer| {
                let (asking, hearing) = clients(participant, &answer.service);
                let before = readers.get(&answer.service).map_or(&[][..], Vec::as_slice);
                let known = !hearing.is_empty() && hearing.iter().all(|reader| before.contains(reader));
                answer.heard = (hearing.len() >= asking).then(|| answer.heard.unwrap_or_else(Instant::now));
                let in_time = |heard: Instant| known || heard.elapsed() >= CONNECTS;
                if !answer.heard.is_some_and(in_time) && answer.since.elapsed() < PATIENCE {
                    return Some(answer);
                }
                readers.insert(answer.service, hearing);
                (answer.send)(wires);
                None
            })
            .collect();
    }
}

/// How many write requests to a service, and who reads its replies.
fn clients(participant: &DomainParticipant, service: &str) -> (usize, Vec<GUID>) {
    let (requests, replies) = (format!("rq{service}Request"), format!("rr{service}Reply"));
    let writers = participant.discovered_writers();
    let readers = participant.discovered_readers();
    let asking = writers.iter().filter(|w| w.publication_topic_data.topic_name == requests).count();
    let own = readers.iter().filter(|r| r.subscription_topic_data.topic_name() == &replies);
    (asking, own.map(|r| r.reader_proxy.remote_reader_guid).collect())
}
