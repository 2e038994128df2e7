//! What a program that uses the library is told by a subscriber of its own.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use surelift::control::Measured;
use surelift::identify::{Identifier, IdentifierOptions, IdentifyError};
use surelift::inertia::ParameterSet;
use surelift::plan::{Follower, Plan};
use surelift::prelude::*;
use surelift::recording::Sample;
use surelift::simulate::World;
use surelift::trajectory::{Bezier, JointState};
use tracing_subscriber::fmt::MakeWriter;

use super::{ROOT, named, number};

/// Lines that are written one after the other.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The events of `act`, in this thread.
fn told(act: impl FnOnce()) -> Vec<Value> {
    let lines = Lines::default();
    let listener = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::with_default(listener, act);
    let written = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn spans(event: &Value) -> Vec<&str> {
    event["spans"].as_array().unwrap().iter().map(|span| span["name"].as_str().unwrap()).collect()
}

/// A proof belongs to one span; a plan that is followed is told to have stopped once, when somebody asks.
#[test]
fn a_follower_tells_once_why_it_stopped() {
    let robot = robot::load("kinova_gen3_2f85").unwrap();
    let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
    let curve = Bezier::to_rest(&start, &[0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2], 3.0).unwrap();
    let set = ParameterSet::around_nominal(&robot);
    let mut plan = None;
    let events = told(|| {
        plan = Some(Plan::prove_from_rest(&robot, &set, &Scene::default(), curve.into()).unwrap());
    });
    assert_eq!(spans(named(&events, "proven")[0]), ["certify"]);
    let mut follower = Follower::new(&plan.unwrap()).unwrap();
    let mut tau = [0.0; 7];
    let still = Measured { q: &start.q, dq: &start.dq };
    let ticks = told(|| {
        follower.tick(0.0, still, &mut tau);
        assert_eq!(follower.stopped(), None);
        // A tick is left out, and then another one.
        follower.tick(0.1, still, &mut tau);
        follower.tick(0.2, still, &mut tau);
    });
    assert_eq!(ticks, Vec::<Value>::new(), "something is told within a tick");
    let asked = told(|| assert!(follower.stopped().is_some() && follower.stopped().is_some()));
    let [broken] = &asked[..] else { panic!("{asked:#?}") };
    assert_eq!((&broken["message"], &broken["level"]), (&"assumption broken".into(), &"WARN".into()));
    assert!(broken["reason"].as_str().unwrap().contains("Clock"), "{broken}");
}

#[test]
fn an_identifier_tells_of_a_jump() {
    let robot = robot::load("kinova_gen3_2f85").unwrap();
    let set = ParameterSet::around_nominal(&robot);
    let n = robot.dof();
    let mut identifier =
        Identifier::new(Arc::new(robot), &set, vec![1.0; n], IdentifierOptions::default()).unwrap();
    let sample = |t: f64, q: f64| Sample { t, q: vec![q; n], dq: vec![0.0; n], tau: vec![0.0; n] };
    let events = told(|| {
        identifier.push(sample(0.0, 0.1)).unwrap();
        assert!(matches!(identifier.push(sample(0.001, 3.0)), Err(IdentifyError::Jump { .. })));
        // Out of order: no assumption about the arm is broken.
        assert!(identifier.push(sample(-1.0, 0.1)).is_err());
        identifier.update().unwrap();
    });
    let [broken, updated] = &events[..] else { panic!("{events:#?}") };
    assert_eq!(broken["message"], "measurements contradict what is assumed");
    assert!(broken["error"].as_str().unwrap().contains("position"), "{broken}");
    assert_eq!((&updated["message"], spans(updated)), (&"set updated".into(), vec!["identify"]));
}

#[test]
fn a_job_has_a_span_and_tells_of_its_steps_and_its_end() {
    let arm = robot::load(Path::new(ROOT).join("examples/my_arm/my_arm.toml")).unwrap();
    let home = [-0.8, 0.6, 0.9];
    let world = World::with_objects(Arc::new(arm.clone()), Scene::default(), &home, vec![], 3);
    let events = told(|| {
        let mut job = Job::new(arm, Scene::default(), world).unwrap();
        job.move_to(&[-0.4, 0.6, 0.9]).unwrap();
        // Where no arm of this kind gets.
        assert!(job.move_to(&[f64::NAN; 3]).is_err());
        job.finish();
    });
    assert!(events.iter().all(|event| spans(event)[0] == "job"), "{events:#?}");
    assert_eq!((&events[0]["message"], &events[0]["scenario"]), (&"run started".into(), &"job".into()));
    let [step] = named(&events, "step ended")[..] else { panic!("{events:#?}") };
    assert_eq!(step["step"], "move_to");
    assert!(number(step, "t") > number(step, "from_s"));
    let certified = named(&events, "plan certified");
    assert!(!certified.is_empty() && certified.iter().all(|event| spans(event) == ["job", "plan"]));
    let ended = events.last().unwrap();
    assert_eq!(
        (&ended["message"], number(ended, "steps"), number(ended, "failed")),
        (&"job ended".into(), 1.0, 0.0)
    );
}
