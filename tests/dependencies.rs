//! The promise: a user of the dynamics alone gets few dependencies, and no heavy one (`docs/howto/dynamics.md`).

use std::collections::BTreeSet;
use std::process::Command;

/// Entries of the tree of dependencies of the dynamics alone, with files, surelift included; and of the program.
const ENTRIES: usize = 40;
const PROGRAM: usize = 130;

/// The distinct lines of `cargo tree` for the library with `features` and no others.
fn tree(features: &str, more: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--no-default-features"]);
    let out = cargo.args(["--features", features]).args(more).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Packages alone: none is named a second time as one seen before.
fn packages(features: &str) -> BTreeSet<String> {
    tree(features, &["--no-dedupe"])
}

#[test]
fn dynamics_alone_have_few_dependencies() {
    let lines = tree("", &[]);
    assert!(lines.len() <= ENTRIES, "{} entries: {lines:#?}", lines.len());
    let with_files = packages("urdf");
    assert!(with_files.len() <= ENTRIES, "{} packages: {with_files:#?}", with_files.len());
}

#[test]
fn dynamics_alone_come_without_what_an_arm_needs() {
    let (dynamics, arm, desk) = (packages("rand,urdf"), packages("arm"), packages("studies"));
    let named =
        |tree: &BTreeSet<String>, name: &str| tree.iter().any(|line| line.starts_with(&format!("{name} ")));
    // Nothing that moves an arm solves conic programs.
    assert!(!named(&arm, "clarabel") && named(&desk, "clarabel"));
    for heavy in ["parry3d-f64", "plotters", "rayon", "csv", "serde_json"] {
        assert!(named(&arm, heavy), "the feature `arm` does not bring {heavy}");
        assert!(!named(&dynamics, heavy), "dynamics alone bring {heavy}: {dynamics:#?}");
    }
}

/// The first command is not to wait for what does little.
#[test]
fn the_program_has_few_packages() {
    let program = packages("cli,mcap");
    assert!(program.len() <= PROGRAM, "{} packages: {program:#?}", program.len());
}

/// The figures of the page are those of the tree.
#[test]
fn the_page_counts_what_the_tree_has() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/howto/dynamics.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (row, features) in [("none", ""), ("`urdf`", "urdf")] {
        let line = page.lines().find(|line| line.starts_with(&format!("| {row} |"))).unwrap();
        let stated = line.trim_end_matches([' ', '|']).rsplit(' ').next().unwrap();
        assert_eq!(stated, packages(features).len().to_string(), "{line}");
    }
}
