//! The promise: each robot file says by which command its gains were found or are confirmed, and that command still says so.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A robot that ships with gains, and the command that its file names above them.
struct Shipped {
    file: PathBuf,
    /// Words after `surelift`.
    command: Vec<String>,
    /// The evidence, line by line.
    evidence: Vec<String>,
    gains: [f64; 3],
}

const KEYS: [&str; 3] = ["k_r", "alpha", "v_max"];

impl Shipped {
    /// None of a robot without gains of its own.
    fn read(file: PathBuf) -> Option<Self> {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        lines.iter().find(|line| line.starts_with("k_r ="))?;
        let name = file.display();
        let own = surelift::robot::load(&file).unwrap();
        if own.timing().has_motor_loops() {
            // There is nothing to tune: limits and gains are those of each plan. A run confirms the rest, see `tests/motor_loops`.
            assert!(
                text.contains("# Evidence: `surelift run "),
                "{name}: gains, but no run that confirms them"
            );
            return None;
        }
        let at = lines.iter().position(|line| line.starts_with("#   surelift robot tune "));
        let at = at.unwrap_or_else(|| panic!("{name}: gains, but no command that confirms them"));
        let end = lines.iter().position(|line| line.contains("(end of what was found)"));
        let evidence = lines[at + 1..end.unwrap()].iter().map(|line| (*line).to_owned()).collect();
        let command = lines[at].split_whitespace().skip(2).map(str::to_owned).collect();
        let own = own.gains();
        Some(Self { file, command, evidence, gains: [own.k_r, own.alpha, own.v_max] })
    }

    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("robots");
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let tomls = files.into_iter().filter(|file| file.extension().is_some_and(|e| e == "toml"));
        tomls.filter_map(Self::read).collect()
    }

    /// What the command prints, run from the repository, with further options.
    fn run(&self, more: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_surelift"))
            .args(&self.command)
            .args(more)
            .arg("--quiet")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {output:?}", self.file.display());
        String::from_utf8(output.stdout).unwrap()
    }

    fn searched(&self) -> bool {
        self.command.iter().all(|word| word != "--own")
    }

    /// The proof and the simulation of the shipped gains give the figures that stand in the file.
    fn is_confirmed(&self) {
        let told = self.run(if self.searched() { &["--own"] } else { &[] });
        for line in &self.evidence {
            // How many candidates there were is what a search alone can tell.
            if !line.starts_with("# Set: ") && !line.starts_with("# Refused with narrower") {
                assert!(told.lines().any(|l| l == line), "{}: expected {line}\n{told}", self.file.display());
            }
        }
    }
}

#[test]
fn every_robot_with_gains_names_the_command_that_confirms_them() {
    let all = Shipped::all();
    let named = |shipped: &Shipped| {
        let path = Path::new(&shipped.command[2]);
        assert!(shipped.file.ends_with(path), "{}: {:?}", shipped.file.display(), shipped.command);
        assert!(shipped.evidence.len() > 4, "{}", shipped.file.display());
    };
    all.iter().for_each(named);
    assert_eq!(all.len(), 6);
    let found: Vec<_> = all.iter().filter(|shipped| shipped.searched()).collect();
    assert!(found.len() >= 3, "{}", found.len());
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_gains_of_the_panda_are_confirmed_at_length() {
    let panda = Shipped::all().into_iter().find(|shipped| shipped.file.ends_with("panda.toml"));
    panda.unwrap().is_confirmed();
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn shipped_gains_are_confirmed_at_length() {
    Shipped::all().iter().for_each(Shipped::is_confirmed);
}

/// The search itself, from the file's own gains on, ends with these.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn shipped_gains_are_what_the_search_finds_at_length() {
    for shipped in Shipped::all().iter().filter(|shipped| shipped.searched()) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("found.toml");
        shipped.run(&["--out", out.to_str().unwrap()]);
        let found = surelift::robot::load(&out).unwrap().gains();
        assert_eq!(
            [found.k_r, found.alpha, found.v_max],
            shipped.gains,
            "{KEYS:?} of {}",
            shipped.file.display()
        );
    }
}
