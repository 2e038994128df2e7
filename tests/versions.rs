//! The promise: crate, Python package, C header, ROS 2 node and browser page have one version, the changelog tells of it, and the oldest Rust and the versions of files are those of the
//! documents (`docs/versions.md`).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The value of a key of a manifest's first table, `[package]`.
fn stated(manifest: &str, key: &str) -> String {
    let manifest: toml::Table = toml::from_str(&text(manifest)).unwrap();
    manifest["package"][key].as_str().unwrap().to_owned()
}

/// Whether this folder is there: the packed crate lacks those of other packages.
fn is_there(package: &str) -> bool {
    let there = Path::new(env!("CARGO_MANIFEST_DIR")).join(package).join("Cargo.toml").exists();
    if !there {
        println!("skipped: no folder {package} (the crate is packed without it)");
    }
    there
}

#[test]
fn crate_and_wheel_have_one_version() {
    let own = env!("CARGO_PKG_VERSION");
    for package in ["python", "ros", "web"].into_iter().filter(|package| is_there(package)) {
        assert_eq!(stated(&format!("{package}/Cargo.toml"), "version"), own, "{package}");
    }
    if !is_there("python") || !is_there("ros") {
        return;
    }
    // maturin takes the version of the crate that it builds.
    let project: toml::Table = toml::from_str(&text("pyproject.toml")).unwrap();
    let project = project["project"].as_table().unwrap();
    let dynamic = project["dynamic"].as_array().unwrap();
    assert!(!project.contains_key("version") && dynamic.iter().any(|key| key.as_str() == Some("version")));
    let own_lock = ["surelift", "surelift-c", "surelift-python"].map(|name| ("Cargo.lock", name));
    for (lock, name) in own_lock.into_iter().chain([("ros/Cargo.lock", "surelift-ros")]) {
        let lock: toml::Table = toml::from_str(&text(lock)).unwrap();
        let locked = lock["package"].as_array().unwrap().iter().find(|p| p["name"].as_str() == Some(name));
        assert_eq!(locked.unwrap()["version"].as_str(), Some(own), "{name}");
    }
}

#[test]
fn the_header_has_the_version_of_the_crate() {
    let own = env!("CARGO_PKG_VERSION");
    if !is_there("c") {
        return;
    }
    assert_eq!(stated("c/Cargo.toml", "version"), own);
    let header = text("c/include/surelift.h");
    let number = |part: &str| {
        let line =
            header.lines().find_map(|line| line.strip_prefix(&format!("#define SURELIFT_VERSION_{part} ")));
        line.unwrap_or_else(|| panic!("the header has no SURELIFT_VERSION_{part}")).to_owned()
    };
    assert_eq!(["MAJOR", "MINOR", "PATCH"].map(number).join("."), own);
}

/// The newest version of the changelog is this one, with entries; what is not yet in one stands above it.
#[test]
fn the_changelog_tells_of_this_version() {
    let changelog = text("CHANGELOG.md");
    let sections: Vec<&str> = changelog.split("\n## ").skip(1).collect();
    assert!(sections[0].starts_with("[Unreleased]"), "{}", sections[0]);
    let (heading, body) = sections[1].split_once('\n').unwrap();
    assert!(heading.starts_with(&format!("[{}] - ", env!("CARGO_PKG_VERSION"))), "{heading}");
    assert!(body.lines().any(|line| line.starts_with("- ")), "{heading} has no entry");
    let kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let groups = changelog.lines().filter_map(|line| line.strip_prefix("### "));
    groups.for_each(|group| assert!(kinds.contains(&group), "`{group}` is none of {kinds:?}"));
}

#[test]
fn the_oldest_rust_is_the_same_everywhere() {
    let oldest = stated("Cargo.toml", "rust-version");
    for package in ["python", "c", "ros"].into_iter().filter(|package| is_there(package)) {
        assert_eq!(stated(&format!("{package}/Cargo.toml"), "rust-version"), oldest, "{package}");
    }
    assert!(text("README.md").contains(&format!("A Rust toolchain ({oldest} or later")));
    assert!(text("docs/versions.md").contains(&format!("\nRust {oldest}. ")));
}

/// Versions of a file that its source knows: of constants called `SCHEMA...`, and of comparisons and values of fields called `schema`.
fn versions(source: &str) -> BTreeSet<u32> {
    let number = |rest: &str| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    let after = |line: &str, words: &str| line.split_once(words).and_then(|(_, rest)| number(rest));
    let product = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let constants = product.lines().filter(|line| line.contains("const SCHEMA"));
    let constants = constants.filter_map(|line| after(line, ": u32 = "));
    let fields = product.lines().filter_map(|line| after(line, "schema: ").or(after(line, "schema != ")));
    constants.chain(fields).collect()
}

#[test]
fn versions_of_files_are_those_of_the_page() {
    let page = text("docs/versions.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`"));
    let mut listed = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let source = cells[3].trim_matches('`');
        let told: Vec<u32> = cells[2].split(" to ").map(|number| number.parse().unwrap()).collect();
        let known = versions(&text(source));
        let ends = (known.first(), known.last());
        assert_eq!(ends, (told.first(), told.last()), "{row}");
        listed.insert(source.to_owned());
    }
    // None is left out.
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if fs::read_to_string(&path).is_ok_and(|source| source.contains("const SCHEMA: u32")) {
            let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_str().unwrap().to_owned();
            assert!(listed.contains(&name), "{name} is missing in docs/versions.md");
        }
    }
    assert!(listed.len() >= 10, "{listed:?}");
}

#[test]
fn constants_and_fields_are_read() {
    let source = "const SCHEMA: u32 = 4;\nconst SCHEMA_MORE: u32 = 12;\nif self.schema != 3 {\nschema: u32,\nschema: SCHEMA,\n    schema: 7,\n\
        #[cfg(test)]\nmod tests {\nschema: 99,";
    assert_eq!(versions(source), BTreeSet::from([3, 4, 7, 12]));
}
