//! The promise: a newcomer can follow the documents. Links lead somewhere, the table of contents is complete, the tutorial's
//! files are those of the repository, sentences are short, and the README stays one that is read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The README's largest size, bytes.
const README: usize = 10_000;
/// Words that a sentence may have. Some 25 are meant.
const WORDS: usize = 28;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All pages of `docs/`, as paths from there.
fn pages() -> BTreeSet<PathBuf> {
    let docs = root().join("docs");
    let (mut found, mut waiting) = (BTreeSet::new(), vec![docs.clone()]);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "md") {
            found.insert(path.strip_prefix(&docs).unwrap().to_owned());
        }
    }
    found
}

/// The page without what stands in fences, line by line.
fn prose(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    lines.collect()
}

/// Addresses of headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let kept = line.trim_start_matches('#').trim().chars();
        let kept = kept.filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// Targets of links and pictures.
fn links(text: &str) -> Vec<String> {
    let text = prose(text).join("\n");
    let parts = text.split("](").skip(1);
    parts.filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

#[test]
fn links_lead_somewhere() {
    let docs = root().join("docs");
    let mut from: Vec<PathBuf> = pages().into_iter().map(|page| docs.join(page)).collect();
    from.extend([root().join("README.md"), root().join("benches/README.md"), root().join("check/README.md")]);
    let mut checked = 0;
    for page in from {
        let here = text(&page);
        for link in links(&here) {
            if link.starts_with("http") {
                continue;
            }
            let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(f, a)| (f, Some(a)));
            // A book of these pages holds no others.
            let outside = file.split('/').filter(|part| *part == "..").count()
                > page.strip_prefix(&docs).map_or(usize::MAX, |page| page.components().count() - 1);
            assert!(!outside || !page.starts_with(&docs), "{}: {link} leaves the book", page.display());
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            if let Some(anchor) = anchor {
                assert!(
                    anchors(&text(&target)).contains(anchor),
                    "{}: no heading for {link}",
                    page.display()
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} links found");
}

#[test]
fn the_table_of_contents_is_complete() {
    let contents = text(&root().join("docs/SUMMARY.md"));
    let listed: BTreeSet<PathBuf> = links(&contents).into_iter().map(PathBuf::from).collect();
    let mut pages = pages();
    pages.remove(Path::new("SUMMARY.md"));
    assert_eq!(listed, pages);
    assert!(text(&root().join("book.toml")).contains("src = \"docs\""));
}

#[test]
fn the_readme_is_short_and_has_two_commands_that_do_all() {
    let readme = text(&root().join("README.md"));
    assert!(readme.len() <= README, "{} bytes, at most {README} are read", readme.len());
    for command in ["cargo try run scenarios/dumbbell_c_8lb.toml --untimed", "cargo test --release"] {
        assert!(readme.contains(&format!("```sh\n{command}\n```")), "{command}");
    }
    let settings: toml::Table = text(&root().join(".cargo/config.toml")).parse().unwrap();
    let words = |alias: &str| -> Vec<String> { settings["alias"][alias].clone().try_into().unwrap() };
    let (run, verify) = (words("try"), words("verify"));
    assert_eq!(run[0], "run");
    assert!(
        run.ends_with(
            &["--profile", "quick", "--no-default-features", "--features", "cli", "--"].map(str::to_owned)
        ),
        "{run:?}"
    );
    // The same but for the feature and the subcommand, so that no other crate is compiled twice.
    let feature = run.len() - 2;
    assert_eq!(verify[..feature], run[..feature]);
    assert_eq!(verify[feature..], ["verify", "--", "verify"]);
}

#[test]
fn only_the_readme_has_code_that_has_to_compile() {
    for page in pages() {
        let here = text(&root().join("docs").join(&page));
        assert!(!here.contains("```rust"), "{}: nobody compiles this; make it an example", page.display());
    }
}

#[test]
fn files_of_the_tutorial_are_those_of_the_repository() {
    let mut compared = 0;
    for page in pages() {
        let here = text(&root().join("docs").join(&page));
        for part in here.split("<!-- file: ").skip(1) {
            let (file, rest) = part.split_once(" -->").unwrap();
            let block = rest.split("```").nth(1).unwrap();
            let (_, content) = block.split_once('\n').unwrap();
            assert_eq!(content, text(&root().join(file)), "{}: {file}", page.display());
            compared += 1;
        }
    }
    assert_eq!(compared, 4);
}

#[test]
fn the_glossary_is_in_order_and_explains_its_own_words() {
    let glossary = text(&root().join("docs/glossary.md"));
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    let terms: Vec<String> = rows.skip(1).map(|row| row.split(" |").next().unwrap().to_lowercase()).collect();
    assert!(terms.len() > 80, "only {} terms", terms.len());
    for pair in terms.windows(2) {
        let key = |term: &str| term.replace(['é', '-'], "e");
        assert!(key(&pair[0]) < key(&pair[1]), "`{}` after `{}`", pair[1], pair[0]);
    }
    let explained = glossary.split("|---|---|").nth(1).unwrap();
    for word in explained.split('*').skip(1).step_by(2) {
        assert!(terms.iter().any(|term| term == word), "`{word}` has no entry of its own");
    }
}

/// Commands of the pages name files that are there.
#[test]
fn files_that_commands_name_are_there() {
    let mut named = 0;
    let mut all: Vec<PathBuf> = pages().into_iter().map(|page| root().join("docs").join(page)).collect();
    all.push(root().join("README.md"));
    for page in all {
        let here = text(&page);
        for word in here.split(|c: char| c.is_whitespace() || "`,()".contains(c)) {
            let word = word.trim_end_matches(['.', ':', ';']);
            let folder = ["scenarios/", "robots/", "examples/", "tests/", "benches/"];
            let pattern = word.contains(['*', '{', '<', '|']) || word.contains("NAME") || word.contains("::");
            if pattern || !folder.iter().any(|folder| word.starts_with(folder)) {
                continue;
            }
            assert!(root().join(word).exists(), "{} names {word}", page.display());
            named += 1;
        }
    }
    assert!(named > 60, "only {named} files found");
}

/// Sentences of a page: what stands between full stops, tables left out.
fn sentences(page: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in prose(page) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['|', '#', '!', '<']) {
            paragraphs.push(String::new());
            continue;
        }
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = line.strip_prefix("- ").or_else(|| number.strip_prefix(". ").filter(|_| number != line));
        if item.is_some() {
            paragraphs.push(String::new());
        }
        let paragraph = paragraphs.last_mut().unwrap();
        *paragraph += " ";
        *paragraph += item.unwrap_or(line);
    }
    let mut found = vec![];
    for paragraph in paragraphs {
        // Code and the targets of links are no words.
        let plain: String =
            paragraph.split('`').enumerate().map(|(k, s)| if k % 2 == 0 { s } else { "x" }).collect();
        let parts: Vec<&str> = plain.split("](").collect();
        let plain = parts.iter().enumerate().map(|(k, part)| match k {
            0 => *part,
            _ => part.split_once(')').map_or("", |(_, rest)| rest),
        });
        let plain = plain.collect::<Vec<_>>().join("");
        found.extend(plain.split_inclusive(['.', '?', '!']).fold(vec![String::new()], |mut all, part| {
            // A full stop inside a number or a name ends no sentence.
            let goes_on = !part.starts_with([' ', '"', '*', ')']) && !all.last().unwrap().is_empty();
            match goes_on {
                true => *all.last_mut().unwrap() += part,
                false => all.push(part.to_owned()),
            }
            all
        }));
    }
    found
}

#[test]
fn sentences_are_short() {
    // Left out: tables moved as they are, formulas, and what is made from the source code.
    let others = ["results/arms.md", "results/estimation.md", "proof.md", "mutations.md", "SUMMARY.md"];
    let mut all: Vec<PathBuf> = pages().into_iter().filter(|page| !page.starts_with("reference")).collect();
    all.retain(|page| !others.contains(&page.to_str().unwrap()));
    let mut all: Vec<PathBuf> = all.into_iter().map(|page| root().join("docs").join(page)).collect();
    all.push(root().join("README.md"));
    let mut count = 0;
    for page in all {
        for sentence in sentences(&text(&page)) {
            let words = sentence.split_whitespace().count();
            assert!(words <= WORDS, "{}: {words} words, at most {WORDS}: {sentence}", page.display());
            count += usize::from(words > 2);
        }
    }
    assert!(count > 400, "only {count} sentences found");
}

#[test]
fn papers_are_cited_by_numbers_of_the_bibliography() {
    let bibliography = text(&root().join("docs/bibliography.md"));
    let rows = bibliography
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse::<usize>().ok());
    let numbers: Vec<usize> = rows.collect();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
    let mut cited = BTreeSet::new();
    let mut waiting = ["src", "docs", "benches", "scenarios"].map(|folder| root().join(folder)).to_vec();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if !path.extension().is_some_and(|e| ["rs", "md", "toml"].iter().any(|x| e == *x)) {
            continue;
        }
        let here = text(&path);
        for part in here.split('[').skip(1) {
            let Some((number, rest)) = part.split_once(", ") else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            let place = ["eq.", "eqs.", "Sec.", "Table", "Fig.", "Figs.", "Theorem"];
            if place.iter().any(|place| rest.starts_with(place)) {
                assert!(
                    numbers.contains(&number),
                    "{}: [{number}, {}",
                    path.display(),
                    &rest[..rest.len().min(20)]
                );
                cited.insert(number);
            }
        }
    }
    assert!(cited.len() >= 4, "{cited:?}");
}
