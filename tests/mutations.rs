//! The promise: a file with one wrong value is refused by file and key, or means something; it never ends in a panic, and
//! no number that is none is taken for one. Every value of a scenario and of a robot is changed in every way that comes to mind, one at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rayon::prelude::*;
use surelift::{robot, scenario::Scenario};
use toml::{Table, Value};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// One step on the way to a value.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Key(String),
    Place(usize),
}

/// One change of one value.
#[derive(Debug, Clone)]
struct Change {
    way: Vec<Step>,
    /// `None` takes the value away.
    new: Option<Value>,
}

impl Change {
    fn apply(&self, table: &Table) -> Table {
        let mut changed = Value::Table(table.clone());
        let (last, way) = self.way.split_last().expect("no change of the whole file");
        let parent = way.iter().fold(&mut changed, |value, step| match step {
            Step::Key(key) => &mut value[key.as_str()],
            Step::Place(k) => &mut value[*k],
        });
        match (last, &self.new) {
            (Step::Key(key), Some(new)) => {
                drop(parent.as_table_mut().unwrap().insert(key.clone(), new.clone()))
            }
            (Step::Key(key), None) => drop(parent.as_table_mut().unwrap().remove(key)),
            (Step::Place(k), Some(new)) => parent.as_array_mut().unwrap()[*k] = new.clone(),
            (Step::Place(k), None) => drop(parent.as_array_mut().unwrap().remove(*k)),
        }
        let Value::Table(changed) = changed else { unreachable!("a table stays one") };
        changed
    }

    /// Whether the message says where to look: a key on the way or what it is about (`goal_rad`: the goal), or the name of
    /// what the value belongs to.
    fn is_named_by(&self, message: &str, table: &Table) -> bool {
        let mut value = &Value::Table(table.clone());
        for step in &self.way {
            for key in ["name", "label", "link"] {
                if value.get(key).and_then(Value::as_str).is_some_and(|name| message.contains(name)) {
                    return true;
                }
            }
            let below = match step {
                Step::Key(key) => value.get(key),
                Step::Place(k) => value.get(*k),
            };
            if let Step::Key(key) = step {
                let about = key.split('_').next().unwrap_or(key);
                if message.contains(key.as_str())
                    || message.contains(about.strip_suffix('s').unwrap_or(about))
                {
                    return true;
                }
            }
            let Some(below) = below else { return false };
            value = below;
        }
        false
    }

    fn is_below(&self, keys: &[&str]) -> bool {
        let is_one = |step: &Step| matches!(step, Step::Key(key) if keys.contains(&key.as_str()));
        self.way.iter().any(is_one)
    }

    fn puts_no_number(&self) -> bool {
        self.new.as_ref().and_then(Value::as_float).is_some_and(|x| !x.is_finite())
    }
}

/// All changes of everything below `value`.
fn changes(value: &Value, way: &[Step], found: &mut Vec<Change>) {
    let below = |step: Step| [way, &[step]].concat();
    let others: Vec<Value> = match value {
        Value::Float(x) => {
            let numbers = [f64::NAN, f64::INFINITY, -x - 1.0, 0.0, 1e300];
            numbers
                .map(Value::Float)
                .into_iter()
                .chain(["text".into(), true.into(), Value::Array(vec![])])
                .collect()
        }
        Value::Integer(_) => [-1, 0, i64::MAX]
            .map(Value::Integer)
            .into_iter()
            .chain([0.5.into(), f64::NAN.into(), "text".into()])
            .collect(),
        Value::String(_) => vec!["".into(), "nonsense".into(), "\u{0}".into(), 7.into()],
        Value::Boolean(_) => vec!["yes".into(), 1.into()],
        Value::Array(array) => {
            let longer = array.iter().chain(array.last()).cloned().collect();
            let turned = array.iter().rev().cloned().collect();
            vec![Value::Array(longer), Value::Array(turned), Value::Array(vec![]), 3.into()]
        }
        Value::Table(_) => vec![3.into(), Value::Table(Table::new())],
        Value::Datetime(_) => vec![3.into()],
    };
    if !way.is_empty() {
        let others = others.into_iter().map(Some).chain([None]);
        found.extend(others.map(|new| Change { way: way.to_vec(), new }));
    }
    match value {
        Value::Array(array) => {
            // Of a list of numbers the ends will do.
            let numbers = array.iter().all(|value| value.is_float() || value.is_integer());
            let wanted = |k: usize| !numbers || k == 0 || k + 1 == array.len();
            for (k, value) in array.iter().enumerate().filter(|(k, _)| wanted(*k)) {
                changes(value, &below(Step::Place(k)), found);
            }
        }
        Value::Table(table) => {
            table.iter().for_each(|(key, value)| changes(value, &below(Step::Key(key.clone())), found));
            found.push(Change { way: below(Step::Key("unheard_of".into())), new: Some(1.0.into()) });
        }
        _ => {}
    }
}

/// A shipped file whose references hold from any folder.
fn shipped(file: &str) -> Table {
    fn anchor(value: &mut Value, folder: &Path) {
        match value {
            Value::String(text) if text.ends_with(".toml") || text.ends_with(".urdf") => {
                let near = folder.join(&*text);
                let path = if near.exists() { near } else { Path::new(HERE).join(&*text) };
                *text = path.to_str().unwrap().to_owned();
            }
            Value::Array(array) => array.iter_mut().for_each(|value| anchor(value, folder)),
            Value::Table(table) => table.iter_mut().for_each(|(_, value)| anchor(value, folder)),
            _ => {}
        }
    }
    let path = Path::new(HERE).join(file);
    let mut table = Value::Table(std::fs::read_to_string(&path).unwrap().parse().unwrap());
    anchor(&mut table, path.parent().unwrap());
    let Value::Table(table) = table else { unreachable!() };
    table
}

/// Makes every `step`th change of `table`, one at a time; `load` reads the file. Numbers that are none may stand below `unbounded`.
fn try_every(
    step: usize,
    table: &Table,
    unbounded: &[&str],
    load: impl Fn(&Path) -> Result<(), String> + Sync,
) {
    let try_one = |table: &Table| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changed.toml");
        std::fs::write(&path, toml::to_string(table).unwrap()).unwrap();
        catch_unwind(AssertUnwindSafe(|| load(&path)))
    };
    assert_eq!(try_one(table).expect("no panic"), Ok(()), "the file as it ships");
    let mut all = vec![];
    changes(&Value::Table(table.clone()), &[], &mut all);
    let all: Vec<Change> = all.into_iter().step_by(step).collect();
    let wrong = |change: &Change| match try_one(&change.apply(table)) {
        Err(_) => Some("a panic".to_owned()),
        Ok(Ok(())) if change.puts_no_number() && !change.is_below(unbounded) => Some("accepted".to_owned()),
        Ok(Ok(())) => None,
        Ok(Err(message)) => {
            let left_out = change.new.is_none() && message.contains("missing field");
            let file = message.contains("changed.toml") || message.contains(".urdf");
            (!(file && (left_out || change.is_named_by(&message, table)))).then_some(message)
        }
    };
    let wrong: Vec<String> = all
        .par_iter()
        .filter_map(|change| Some(format!("{:?} -> {:?}: {}", change.way, change.new, wrong(change)?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} changes:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    println!("{} changes", all.len());
}

fn try_all(table: &Table, unbounded: &[&str], load: impl Fn(&Path) -> Result<(), String> + Sync) {
    try_every(1, table, unbounded, load);
}

fn scenario(path: &Path) -> Result<(), String> {
    Scenario::load(path).map(drop).map_err(|e| chain(&e))
}

/// A message with its causes, as the program prints it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn scenarios_at_length() {
    try_all(&shipped("scenarios/dumbbell_c_8lb.toml"), &[], scenario);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn faults_at_length() {
    for name in ["payload_slips", "clock_jumps"] {
        try_all(&shipped(&format!("scenarios/faults/{name}.toml")), &[], scenario);
    }
}

#[test]
fn obstacles_that_move() {
    obstacles(7);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn obstacles_that_move_at_length() {
    obstacles(1);
}

fn obstacles(step: usize) {
    for name in ["person_crosses", "faults/person_runs"] {
        try_every(step, &shipped(&format!("scenarios/{name}.toml")), &[], scenario);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn robots_at_length() {
    let arm = |path: &Path| robot::load(path).map(drop).map_err(|e| chain(&e));
    let tree = |path: &Path| robot::load_model(path).map(drop).map_err(|e| chain(&e));
    try_all(&shipped("robots/z1.toml"), &[], arm);
    try_all(&shipped("robots/digit.toml"), &[], tree);
}
