//! The promise: the header that is checked in is that of the sources, every function of it says what it takes, and none lets a panic out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Expr, Item, ItemFn, Stmt};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> PathBuf {
    root().join("include/surelift.h")
}

/// What cbindgen makes of the sources.
fn generated() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let sources = files()
        .into_iter()
        .fold(cbindgen::Builder::new().with_config(config), |builder, file| builder.with_src(file));
    let mut text = Vec::new();
    sources.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

/// The sources, in the order of the header.
fn files() -> Vec<PathBuf> {
    let names = [
        "version",
        "border",
        "robot",
        "dynamics",
        "payload",
        "set",
        "scene",
        "plan",
        "controller",
        "identifier",
    ];
    names.map(|name| root().join(format!("src/{name}.rs"))).to_vec()
}

/// Functions of the sources that C can call.
fn functions() -> Vec<(String, ItemFn)> {
    let mut found = vec![];
    for path in fs::read_dir(root().join("src")).unwrap().map(|entry| entry.unwrap().path()) {
        let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        for item in file.items {
            if let Item::Fn(function) = item
                && function.sig.abi.is_some()
            {
                found.push((name.clone(), function));
            }
        }
    }
    found
}

#[test]
fn the_header_is_that_of_the_sources() {
    let generated = generated();
    if std::env::var_os("SURELIFT_WRITE").is_some() {
        fs::write(header(), &generated).unwrap();
    }
    let stored = fs::read_to_string(header()).unwrap_or_default();
    assert!(
        stored == generated,
        "c/include/surelift.h is not that of the sources: SURELIFT_WRITE=1 cargo test --release --package surelift-c --test header"
    );
}

#[test]
fn every_function_is_in_the_header_by_its_name() {
    let header = generated();
    let all = functions();
    assert!(all.len() > 40, "{} functions", all.len());
    let names: BTreeSet<String> = all.iter().map(|(_, function)| function.sig.ident.to_string()).collect();
    for name in &names {
        assert!(name.starts_with("surelift_"), "{name}");
        assert!(header.contains(&format!(" {name}(")) || header.contains(&format!("*{name}(")), "{name}");
    }
    // Nothing private slips in, and no link of rustdoc, which C knows nothing of.
    let told = header.matches("surelift_").count();
    assert!(told >= names.len() && !header.contains("[`") && !header.contains("Object"));
}

/// A function that may panic has one statement: the border.
fn is_guarded(function: &ItemFn) -> bool {
    let [Stmt::Expr(Expr::Call(call), None)] = &function.block.stmts[..] else { return false };
    matches!(&*call.func, Expr::Path(path) if path.path.is_ident("border"))
}

#[test]
fn every_function_stands_behind_the_border_and_says_what_it_does() {
    // These give texts of the library, without any work.
    let plain = ["surelift_last_error", "surelift_status_name", "surelift_version"];
    for (file, function) in functions() {
        let name = function.sig.ident.to_string();
        assert!(is_guarded(&function) != plain.contains(&name.as_str()), "{file}: {name}");
        assert!(function.attrs.iter().any(|attribute| attribute.path().is_ident("doc")), "{file}: {name}");
    }
}

#[test]
fn a_function_without_a_border_is_found() {
    let bare = |text: &str| !is_guarded(&syn::parse_str(text).unwrap());
    assert!(bare("extern \"C\" fn f() -> i32 { work(); border(|| Ok(())) }"));
    assert!(bare("extern \"C\" fn f() -> i32 { other(|| Ok(())) }"));
    assert!(bare("extern \"C\" fn f() { border(|| Ok(())); }"));
    assert!(!bare("extern \"C\" fn f() -> i32 { border(|| Ok(())) }"));
}

#[test]
fn a_compiler_for_c_takes_the_header() {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    for (language, standard) in [("c", "c11"), ("c++", "c++17")] {
        let mut command = std::process::Command::new(&compiler);
        command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", language]);
        let Ok(out) = command.arg(format!("-std={standard}")).arg(header()).output() else {
            println!("skipped: there is no compiler `{compiler}` here");
            return;
        };
        let words = String::from_utf8_lossy(&out.stderr);
        // A compiler for C may come without one for C++.
        if words.contains("cc1plus") {
            println!("skipped: `{compiler}` has no compiler for C++");
            continue;
        }
        assert!(out.status.success(), "{language}: {words}");
    }
}
