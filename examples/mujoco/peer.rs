//! The process at the other end of two pipes: what is said to it, what it answers, and what is wrong with an answer.
//!
//! One line of JSON ([`Setup`]) goes out, one JSON answer comes back; then one request and one answer for each control period. The layout is
//! described in `plant.py`. Nothing here waits for ever, and nothing that is no number gets past.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use surelift::control::MotorCommand;
use thiserror::Error;

use crate::setup::Setup;

/// An answer that is longer, bytes, is none.
const LONGEST: u32 = 1 << 24;
/// Lines of the peer's last words that are kept.
const LAST_WORDS: usize = 20;

/// Kind and content; or a length that none has.
type Frame = Result<(u8, Vec<u8>), u32>;

/// Why a peer cannot be used any more.
#[derive(Debug, Error)]
pub enum PeerError {
    /// It cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// What was to be started.
        program: String,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// It has ended, or closed its pipe, in the middle of the talk.
    #[error("the peer ended before it answered {request}{status}{words}")]
    Ended {
        /// What it was asked.
        request: &'static str,
        /// How it ended, if that is known.
        status: String,
        /// What it said last.
        words: String,
    },
    /// It takes too long.
    #[error("the peer did not answer {request} within {seconds} s")]
    Late {
        /// What it was asked.
        request: &'static str,
        /// How long was waited, s.
        seconds: f64,
    },
    /// It says why it does not do what it is asked.
    #[error("the peer refuses {request}: {reason}")]
    Refused {
        /// What it was asked.
        request: &'static str,
        /// What it says.
        reason: String,
    },
    /// An answer that is none.
    #[error("the peer's answer to {request}: {reason}")]
    Answer {
        /// What it was asked.
        request: &'static str,
        /// What is wrong, and what was expected.
        reason: String,
    },
}

/// What the peer says of one control period.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Encoders at the next tick: positions, rad, and speeds, rad/s.
    pub reading: (Vec<f64>, Vec<f64>),
    /// What the torque sensors say of this period, as a mean, N m.
    pub measured: Vec<f64>,
    /// What the drives applied where it was most, N m.
    pub applied: Vec<f64>,
    /// When the next tick is, s since the start.
    pub t: f64,
    /// True mass matrix at the end, transmissions included, row by row.
    pub mass: Vec<f64>,
    /// Least distance between what must not touch, m; infinite where none is near.
    pub least_m: f64,
    /// Contacts.
    pub contacts: f64,
    /// The true state after each step.
    pub path: Vec<Passed>,
}

/// A true state.
#[derive(Debug, Clone, PartialEq)]
pub struct Passed {
    /// Time since the tick, s.
    pub since_s: f64,
    /// Positions where the encoders are, rad.
    pub q: Vec<f64>,
    /// Speeds there, rad/s.
    pub dq: Vec<f64>,
    /// Positions and speeds of the links, where joints have springs: the encoders may be before these.
    pub links: Option<(Vec<f64>, Vec<f64>)>,
}

impl Passed {
    /// Positions and speeds of the links.
    pub fn links(&self) -> (&[f64], &[f64]) {
        self.links.as_ref().map_or((&self.q, &self.dq), |(q, dq)| (q, dq))
    }
}

/// What the peer says at the end.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Farewell {
    /// Pairs that touched.
    pub touched: Vec<Touch>,
    /// Least distance, m, if any was near.
    pub least_m: Option<f64>,
}

/// A contact that must not be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Touch {
    /// What touched what.
    pub pair: String,
    /// When first, s.
    pub t: f64,
}

#[derive(Deserialize)]
struct Greeting {
    joints: usize,
}

/// The peer.
pub struct Peer {
    requests: Box<dyn Write + Send>,
    answers: Receiver<Frame>,
    child: Option<Child>,
    words: Arc<Mutex<Vec<String>>>,
    patience: Duration,
    joints: usize,
    springs: bool,
}

impl Peer {
    /// Starts a process and makes its arm. It is given up after `patience` without an answer.
    ///
    /// # Errors
    /// [`PeerError`] says what cannot be started, or what the process says.
    pub fn start(command: &mut Command, setup: &Setup, patience: Duration) -> Result<Self, PeerError> {
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|source| PeerError::Start { program, source })?;
        let words = Arc::new(Mutex::new(Vec::new()));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(PeerError::Answer {
                request: "its setup",
                reason: "its pipes are missing".to_owned(),
            });
        };
        listen(stderr, words.clone());
        let mut peer = Self::over(stdout, stdin, setup, patience);
        (peer.child, peer.words) = (Some(child), words);
        peer.greet(setup)?;
        Ok(peer)
    }

    /// A peer that is reached by any two streams.
    ///
    /// # Errors
    /// As [`Peer::start`].
    #[allow(dead_code, reason = "the tests talk to a peer of their own")]
    pub fn connect(
        answers: impl Read + Send + 'static,
        requests: impl Write + Send + 'static,
        setup: &Setup,
        patience: Duration,
    ) -> Result<Self, PeerError> {
        let mut peer = Self::over(answers, requests, setup, patience);
        peer.greet(setup)?;
        Ok(peer)
    }

    fn over(
        answers: impl Read + Send + 'static,
        requests: impl Write + Send + 'static,
        setup: &Setup,
        patience: Duration,
    ) -> Self {
        let (send, receive) = sync_channel(4);
        std::thread::spawn(move || {
            let mut from = BufReader::new(answers);
            while let Some(frame) = frame(&mut from) {
                let last = frame.is_err();
                if send.send(frame).is_err() || last {
                    return;
                }
            }
        });
        Self {
            requests: Box::new(requests),
            answers: receive,
            child: None,
            words: Arc::default(),
            patience,
            joints: setup.joints.len(),
            springs: setup.springs.is_some(),
        }
    }

    fn greet(&mut self, setup: &Setup) -> Result<(), PeerError> {
        let request = "its setup";
        let wrong = |reason: String| PeerError::Answer { request, reason };
        let mut line = serde_json::to_vec(setup).map_err(|e| wrong(e.to_string()))?;
        line.push(b'\n');
        let greeting: Greeting = self.json(request, &line)?;
        if greeting.joints != self.joints {
            return Err(wrong(format!("{} joints, expected {}", greeting.joints, self.joints)));
        }
        Ok(())
    }

    /// What the encoders say before the first tick: positions and speeds.
    ///
    /// # Errors
    /// [`PeerError`].
    pub fn first_reading(&mut self) -> Result<(Vec<f64>, Vec<f64>), PeerError> {
        let mut all = self.numbers("the first reading", b"q", (2 * self.joints, 0))?;
        let dq = all.split_off(self.joints);
        Ok((all, dq))
    }

    /// Commands torques, N m, for one period.
    ///
    /// # Errors
    /// [`PeerError`].
    pub fn command(&mut self, tau: &[f64]) -> Result<Answer, PeerError> {
        let mut request = vec![b'c'];
        request.extend(tau.iter().flat_map(|x| x.to_le_bytes()));
        self.period("a command", &request)
    }

    /// Commands torques, N m, for one period, and tells the loops in the motors what to add.
    ///
    /// # Errors
    /// [`PeerError`].
    pub fn command_loops(&mut self, tau: &[f64], loops: &MotorCommand<'_>) -> Result<Answer, PeerError> {
        let MotorCommand { position_rad, velocity_rad_s, k_r, gain_nms_rad, limit_nm } = loops;
        let mut request = vec![b'l'];
        for part in [tau, position_rad, velocity_rad_s, &[*k_r], gain_nms_rad, limit_nm] {
            request.extend(part.iter().flat_map(|x| x.to_le_bytes()));
        }
        self.period("a command with loops in the motors", &request)
    }

    /// Lets the arm stand for one period.
    ///
    /// # Errors
    /// [`PeerError`].
    pub fn hold(&mut self) -> Result<Answer, PeerError> {
        self.period("to hold", b"h")
    }

    /// Ends the talk.
    ///
    /// # Errors
    /// [`PeerError`].
    pub fn end(&mut self) -> Result<Farewell, PeerError> {
        self.json("its farewell", b"x")
    }

    fn period(&mut self, what: &'static str, request: &[u8]) -> Result<Answer, PeerError> {
        let n = self.joints;
        let springs = self.springs;
        let each = if springs { 4 * n + 1 } else { 2 * n + 1 };
        let all = self.numbers(what, request, (period_numbers(n), each))?;
        let mut rest = all.as_slice();
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken.to_vec()
        };
        let steps = (all.len() - period_numbers(n)) / each;
        let answer = Answer {
            reading: (take(n), take(n)),
            measured: take(n),
            applied: take(n),
            t: take(1)[0],
            mass: take(n * n),
            least_m: take(1)[0],
            contacts: take(1)[0],
            path: (0..steps)
                .map(|_| Passed {
                    since_s: take(1)[0],
                    q: take(n),
                    dq: take(n),
                    links: springs.then(|| (take(n), take(n))),
                })
                .collect(),
        };
        let mut before = 0.0;
        for Passed { since_s, .. } in &answer.path {
            if *since_s <= before {
                let reason = format!("a step at {since_s} s of its tick, expected one later than {before} s");
                return Err(PeerError::Answer { request: what, reason });
            }
            before = *since_s;
        }
        Ok(answer)
    }

    /// An answer of so many numbers, and as many more, once or several times, if that is above 0. One alone need not be finite: the last but one of the first ones of
    /// a period, a distance.
    fn numbers(
        &mut self,
        what: &'static str,
        request: &[u8],
        (first, each): (usize, usize),
    ) -> Result<Vec<f64>, PeerError> {
        let wrong = |reason: String| PeerError::Answer { request: what, reason };
        let bytes = self.ask(what, request, b's')?;
        let (count, rest) = (bytes.len() / 8, bytes.len() % 8);
        let good = if each == 0 { count == first } else { count > first && (count - first) % each == 0 };
        if rest != 0 || !good {
            let steps = if each == 0 { String::new() } else { format!(" and {each} for each step") };
            return Err(wrong(format!("{} bytes, expected {first} numbers of 8{steps}", bytes.len())));
        }
        let eight = |chunk: &[u8]| chunk.try_into().map(f64::from_le_bytes).unwrap_or(f64::NAN);
        let all: Vec<f64> = bytes.chunks_exact(8).map(eight).collect();
        let far = |k: usize, x: f64| each > 0 && k + 2 == first && x == f64::INFINITY;
        match all.iter().enumerate().find(|&(k, &x)| !x.is_finite() && !far(k, x)) {
            Some((k, x)) => Err(wrong(format!("{x} as number {} of {count}, expected a finite one", k + 1))),
            None => Ok(all),
        }
    }

    fn json<T: for<'a> Deserialize<'a>>(
        &mut self,
        what: &'static str,
        request: &[u8],
    ) -> Result<T, PeerError> {
        let bytes = self.ask(what, request, b'j')?;
        serde_json::from_slice(&bytes)
            .map_err(|e| PeerError::Answer { request: what, reason: format!("{e}, expected JSON") })
    }

    fn ask(&mut self, what: &'static str, request: &[u8], expected: u8) -> Result<Vec<u8>, PeerError> {
        // A pipe that is closed shows in the answer, with the peer's reason if it gave one.
        let _ = self.requests.write_all(request).and_then(|()| self.requests.flush());
        let wrong = |reason: String| PeerError::Answer { request: what, reason };
        let (kind, bytes) = match self.answers.recv_timeout(self.patience) {
            Ok(Ok(frame)) => frame,
            Ok(Err(length)) => return Err(wrong(format!("{length} bytes, expected at most {LONGEST}"))),
            Err(RecvTimeoutError::Timeout) => {
                return Err(PeerError::Late { request: what, seconds: self.patience.as_secs_f64() });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended(what)),
        };
        match kind {
            b'e' => {
                let reason = String::from_utf8_lossy(&bytes).into_owned();
                Err(PeerError::Refused { request: what, reason })
            }
            kind if kind == expected => Ok(bytes),
            kind => {
                let (kind, expected) = (char::from(kind), char::from(expected));
                Err(wrong(format!("kind {kind:?}, expected {expected:?}")))
            }
        }
    }

    fn ended(&mut self, request: &'static str) -> PeerError {
        let until = Instant::now() + Duration::from_secs(2);
        let mut status = None;
        while let Some(child) = self.child.as_mut().filter(|_| status.is_none() && Instant::now() < until) {
            status = child.try_wait().ok().flatten();
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = status.map_or(String::new(), |status| format!(" ({status})"));
        let words = self.words.lock().map(|words| words.join("\n")).unwrap_or_default();
        let words = if words.is_empty() { words } else { format!("; its last words:\n{words}") };
        PeerError::Ended { request, status, words }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Numbers in the answer of a period, but for its steps, by an arm of so many joints.
fn period_numbers(joints: usize) -> usize {
    4 * joints + 1 + joints * joints + 2
}

/// The next frame, if there is a whole one; only its length if that cannot be.
fn frame(from: &mut impl Read) -> Option<Frame> {
    let mut head = [0; 5];
    from.read_exact(&mut head).ok()?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    if length > LONGEST {
        return Some(Err(length));
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes).ok()?;
    Some(Ok((head[0], bytes)))
}

/// Keeps the last lines of a stream.
fn listen(from: impl Read + Send + 'static, words: Arc<Mutex<Vec<String>>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let Ok(mut words) = words.lock() else { return };
            if words.len() == LAST_WORDS {
                words.remove(0);
            }
            words.push(line);
        }
    });
}
