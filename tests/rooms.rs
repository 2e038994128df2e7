//! The promise: a room of the library, its tests included, uses rooms below it alone, so that each can be read, tested and trusted without those above.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the ground up: each may use those before it.
const ROOMS: [&str; 31] = [
    "scalar",
    "extend",
    "linear",
    "enclose",
    "inertia",
    "trajectory",
    "robot",
    "dynamics",
    "recording",
    "regression",
    "reach",
    "certify",
    "control",
    "family",
    "identify",
    "estimate",
    "discrete",
    "multibody",
    "plan",
    "horizon",
    "job",
    "prelude",
    "simulate",
    "study",
    "report",
    "scenario",
    "benchmark",
    "tune",
    "campaign",
    "calibrate",
    "cli",
];

fn sources() -> Vec<PathBuf> {
    let (mut found, mut waiting) = (vec![], vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")]);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The path of a file below `src`, and its room.
fn place(path: &Path) -> (String, String) {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let below = below.to_str().unwrap().to_owned();
    let room = below.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
    (below, room)
}

/// What a file says, its tests included, without comments.
fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The rooms that `text` names behind `crate::`.
fn used(text: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for (at, start) in text.match_indices("crate::") {
        let rest = &text[at + start.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        // `crate::{a::b, c::{d, e}}`: words at the first level.
        let (mut depth, mut fresh) = (0, true);
        for (i, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => fresh = true,
                c if depth == 0 && fresh && !c.is_whitespace() => {
                    found.insert(word(&list[i..]));
                    fresh = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Where each room stands in the order.
fn level(room: &str) -> Option<usize> {
    ROOMS.iter().position(|known| *known == room)
}

#[test]
fn every_room_uses_rooms_below_it_alone() {
    let mut upward = vec![];
    for path in sources() {
        let (file, room) = place(&path);
        if file == "lib.rs" || file == "main.rs" {
            continue;
        }
        let own =
            level(&room).unwrap_or_else(|| panic!("{file}: the room `{room}` is missing from the order"));
        let text = fs::read_to_string(&path).unwrap();
        let above =
            used(&code(&text)).into_iter().filter(|other| level(other).is_some_and(|other| other > own));
        upward.extend(above.map(|other| format!("{file} uses `{other}`")));
    }
    assert!(upward.is_empty(), "rooms above are used: {upward:#?}");
}

#[test]
fn lists_of_paths_are_read() {
    let text = "use crate::{\n    reach::{Cell, law},\n    robot,\n};\nfn f() { crate::plan::go() }";
    let expected = ["plan", "reach", "robot"].map(str::to_owned);
    assert_eq!(used(text), BTreeSet::from(expected));
}
