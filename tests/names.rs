//! The promise: a public type's name says what it is. No two public types of one name mean different things.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that mean the same wherever they stand, with the reason.
const SAME_MEANING: [(&str, &str); 0] = [];

/// All files of the library but tests.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut waiting) = (vec![], vec![root]);
    while let Some(path) = waiting.pop() {
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The name that a line declares in public, if it declares a type or a trait.
fn declared(line: &str) -> Option<&str> {
    let item = line.strip_prefix("pub ")?;
    let item = item.strip_prefix("unsafe ").unwrap_or(item);
    let name =
        ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|kind| item.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Where each name is declared.
fn declarations() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for (k, line) in text.lines().enumerate() {
            if let Some(name) = declared(line) {
                let place = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
                found.entry(name.to_owned()).or_default().push(format!("{}:{}", place.display(), k + 1));
            }
        }
    }
    found
}

#[test]
fn no_public_name_means_two_things() {
    let all = declarations();
    assert!(all.len() > 200, "only {} public types found", all.len());
    let twice = all
        .iter()
        .filter(|(name, places)| places.len() > 1 && SAME_MEANING.iter().all(|(same, _)| same != name));
    let twice: Vec<String> = twice.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(
        twice.is_empty(),
        "public types of one name; rename all but the one that owns the word, or say in SAME_MEANING why they mean the same:\n{}",
        twice.join("\n")
    );
}

#[test]
fn every_exception_is_needed() {
    let all = declarations();
    for (name, reason) in SAME_MEANING {
        assert!(all.get(name).is_some_and(|places| places.len() > 1), "{name} ({reason}) is declared once");
    }
}
