//! The promise: `docs/trust.md` names every file of the trusted folders, and only files and tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file in these is either trusted or said not to be.
const FOLDERS: [&str; 12] = [
    "certify",
    "control",
    "dynamics",
    "enclose",
    "identify",
    "inertia",
    "reach",
    "recording",
    "robot",
    "scalar",
    "study",
    "trajectory",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below `folder`, as paths from the root.
fn sources(folder: &str) -> BTreeSet<String> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![root().join(folder)]);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.insert(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}

/// A file of tests alone.
fn tests_only(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/")
}

/// The path of a file's module, as `cargo test` prints it: `reach::law` or `tests/main_job::tampering`.
fn module(file: &str) -> String {
    let path = file.strip_suffix(".rs").unwrap();
    let path = path.strip_suffix("/mod").or_else(|| path.strip_suffix("/main")).unwrap_or(path);
    match path.strip_prefix("src/") {
        Some(path) => path.replace('/', "::"),
        None => format!("tests/{}", path.strip_prefix("tests/").unwrap().replace('/', "::")),
    }
}

/// The tests of a file, by all names that `cargo test` may print for them.
fn tests_of(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let (mut names, mut expected) = (vec![], false);
    for line in text.lines().map(str::trim) {
        // `proptest!` has its tests marked alike.
        expected |= line == "#[test]";
        if expected && let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split('(').next().unwrap();
            let module = module(file);
            names.extend([format!("{module}::{name}"), format!("{module}::tests::{name}")]);
            expected = false;
        }
    }
    names
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_file_is_on_the_list_and_every_name_exists() {
    let text = fs::read_to_string(root().join("docs/trust.md")).unwrap();
    let named: Vec<&str> =
        quoted(&text).filter(|word| word.starts_with("src/") && word.ends_with(".rs")).collect();
    let mut once = BTreeSet::new();
    for file in &named {
        assert!(root().join(file).is_file(), "docs/trust.md: there is no {file}");
        assert!(once.insert(*file), "docs/trust.md: {file} stands there twice");
    }
    let mut expected = BTreeSet::from(["src/scalar.rs".to_owned()]);
    for folder in FOLDERS {
        expected.extend(sources(&format!("src/{folder}")).into_iter().filter(|file| !tests_only(file)));
    }
    let missing: Vec<_> = expected.iter().filter(|file| !once.contains(file.as_str())).collect();
    assert!(missing.is_empty(), "docs/trust.md does not say what rests on {missing:#?}");

    let all: BTreeSet<String> =
        ["src", "tests"].into_iter().flat_map(sources).flat_map(|file| tests_of(&file)).collect();
    let tests: Vec<&str> = quoted(&text).filter(|word| word.contains("::")).collect();
    for test in &tests {
        assert!(all.contains(*test), "docs/trust.md: there is no test {test}");
    }
    assert!(tests.len() > 60, "only {} tests found on the page", tests.len());
}

#[test]
fn every_trusted_file_is_attacked() {
    let text = fs::read_to_string(root().join("docs/trust.md")).unwrap();
    let trusted = text.split("\n## Not trusted").next().unwrap();
    for row in trusted.lines().filter(|line| line.starts_with("| `src/")) {
        let attacked = quoted(row).any(|word| word.contains("::"));
        assert!(attacked || row.contains("(module list)"), "no test: {row}");
        // A list of modules proves nothing, and may not hide something that does.
        if row.contains("(module list)") {
            let file = quoted(row).next().unwrap();
            let source = fs::read_to_string(root().join(PathBuf::from(file))).unwrap();
            assert!(
                !source.lines().any(|line| line.starts_with("pub fn ") || line.starts_with("fn ")),
                "{file}"
            );
        }
    }
}
