//! TOML files that differ from another in a few keys: `extends = "FILE"` takes all of that file's keys but those given.
//!
//! Tables are merged key by key, everything else (lists too) is replaced as a whole. The file extended may extend another; its
//! path is relative to the file that names it. Robots, scenarios and campaigns are read this way.
//!
//! A scenario may come in several variants: each table `[items.NAME]` holds what one of them puts over the rest of the file, and `item = "NAME"` says
//! which is meant where nobody chooses.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

mod typed;

#[cfg(feature = "arm")]
pub(crate) use typed::from_text;
use typed::{Mistake, from_table};

/// Files that may extend one another in a row.
const DEPTH: usize = 8;
/// The key that names the file extended.
pub(crate) const KEY: &str = "extends";
/// The table of variants, and the key that names the one that is meant where nobody chooses.
#[cfg(feature = "arm")]
pub(crate) const ITEMS: &str = "items";
/// See [`ITEMS`].
#[cfg(feature = "arm")]
pub(crate) const ITEM: &str = "item";

/// Where files come from.
pub(crate) trait Source {
    /// The file that `reference` means in a file of the folder `near`, or why there is none.
    fn locate(&self, reference: &str, near: &Path) -> Result<PathBuf, String> {
        Ok(near.join(reference))
    }

    /// The text of a file.
    fn text(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(path)
    }
}

/// Files on the disk.
#[cfg(feature = "arm")]
pub(crate) struct Disk;

#[cfg(feature = "arm")]
impl Source for Disk {}

/// Why files cannot be read as one.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file asked for cannot be read.
    Read { path: PathBuf, source: io::Error },
    /// A file is no TOML, has an unknown key, lacks a required one or has a value of the wrong type.
    Parse { path: PathBuf, message: String },
    /// The key [`KEY`] of a file is wrong.
    Extends { path: PathBuf, reason: String },
}

/// One file, without the key [`KEY`].
struct Layer {
    path: PathBuf,
    text: String,
    keys: toml::Table,
}

/// A file and what it extends.
pub(crate) struct Layers {
    /// Each extends the next.
    files: Vec<Layer>,
    /// The variant that was chosen.
    item: Option<String>,
    /// Keys that name files, their steps parted by dots; `*` is each entry of a list or table.
    paths: &'static [&'static str],
}

impl Layers {
    /// Reads the file at `path` and those below it.
    ///
    /// # Errors
    /// [`Fault`] names the file, and `extends` where that is at fault: no text, no such file, too many in a row.
    pub fn read(path: &Path, source: &impl Source) -> Result<Self, Fault> {
        let text = source.text(path);
        let mut text = text.map_err(|source| Fault::Read { path: path.to_path_buf(), source })?;
        let (mut path, mut files) = (path.to_path_buf(), vec![]);
        loop {
            let mut keys: toml::Table = toml::from_str(&text).map_err(|error| unreadable(&path, &error))?;
            let base = keys.remove(KEY);
            files.push(Layer { path: path.clone(), text, keys });
            let Some(base) = base else { return Ok(Self { files, item: None, paths: &[] }) };
            let refuse = |reason: String| Fault::Extends { path: path.clone(), reason };
            let Some(base) = base.as_str() else {
                return Err(refuse(format!(
                    "is {} {}, expected the path of a file",
                    article(&base),
                    base.type_str()
                )));
            };
            if files.len() > DEPTH {
                let reason =
                    format!("expected at most {DEPTH} files that extend one another, none of them itself");
                return Err(refuse(reason));
            }
            let below = source.locate(base, path.parent().unwrap_or(Path::new(""))).map_err(refuse)?;
            text = source
                .text(&below)
                .map_err(|e| refuse(format!("`{}` cannot be read: {e}", below.display())))?;
            path = below;
        }
    }

    /// The same, where files that these keys name are relative to the file that names them, and not to the one asked for.
    #[cfg(feature = "arm")]
    pub fn with_paths(mut self, paths: &'static [&'static str]) -> Self {
        self.paths = paths;
        self
    }

    /// The names of all variants, in alphabetical order.
    #[cfg(feature = "arm")]
    pub fn items(&self) -> Vec<String> {
        let tables = self.files.iter().filter_map(|file| file.keys.get(ITEMS)?.as_table());
        let names: std::collections::BTreeSet<String> = tables.flat_map(|t| t.keys().cloned()).collect();
        names.into_iter().collect()
    }

    /// Chooses a variant: `name`, or the one that the files mean where it is `None`. Files without variants have none to choose. Gives its name.
    ///
    /// # Errors
    /// Says what there is to choose from.
    #[cfg(feature = "arm")]
    pub fn choose(&mut self, name: Option<&str>) -> Result<Option<&str>, String> {
        let items = self.items();
        let meant = self.files.iter().find_map(|file| file.keys.get(ITEM)).and_then(toml::Value::as_str);
        let chosen = name.or(meant).map(str::to_owned);
        self.item = match chosen {
            None if items.is_empty() => return Ok(None),
            None => return Err(format!("nothing is chosen, expected one of {items:?}")),
            Some(name) if items.contains(&name) => Some(name),
            Some(name) if items.is_empty() => {
                return Err(format!("`{name}` is chosen, but the file has no table `{ITEMS}`"));
            }
            Some(name) => return Err(format!("`{name}`, expected one of {items:?}")),
        };
        Ok(self.item.as_deref())
    }

    /// What the files hold together but for the keys `without`, as a `T`.
    ///
    /// # Errors
    /// [`Fault::Parse`] names the key and the lowest file in which it is at fault: its line where that file extends no other, and
    /// the file asked for where it is another.
    pub fn parse<T: DeserializeOwned>(&self, without: &[&str]) -> Result<T, Fault> {
        let said = match self.merged::<T>(0, without) {
            Ok(whole) => return Ok(whole),
            Err(error) => error.to_string(),
        };
        let same = |from: &usize| self.merged::<T>(*from, without).is_err_and(|e| e.to_string() == said);
        let at = (0..self.files.len()).rev().find(same).unwrap_or(0);
        let Layer { path, text, .. } = &self.files[at];
        let mut message = said;
        // Alone, a file without its variant may lack what that states.
        if at + 1 == self.files.len()
            && self.item.is_none()
            && let Err(said) = alone::<T>(text, without)
        {
            message = said;
        }
        message.truncate(message.trim_end().len());
        if at > 0 {
            message += &format!("\n(extended by {})", self.files[0].path.display());
        }
        Err(Fault::Parse { path: path.clone(), message })
    }

    /// The file that has the last word on a key of the top level, or of the variant that was chosen; the one asked for if none names it.
    pub fn stated_in(&self, key: &str) -> &Path {
        #[cfg(feature = "arm")]
        if let Some(item) = &self.item {
            let of_item = |file: &&Layer| {
                let items = file.keys.get(ITEMS).and_then(toml::Value::as_table);
                let own = items.and_then(|items| items.get(item)).and_then(toml::Value::as_table);
                own.is_some_and(|own| own.contains_key(key))
            };
            if let Some(file) = self.files.iter().find(of_item) {
                return &file.path;
            }
        }
        let names = |file: &&Layer| file.keys.contains_key(key);
        &self.files.iter().find(names).unwrap_or(&self.files[0]).path
    }

    /// The files from number `from` down as a `T`.
    fn merged<T: DeserializeOwned>(&self, from: usize, without: &[&str]) -> Result<T, Mistake> {
        let mut whole = DeTable::parse("").map_err(Mistake::custom)?;
        for file in self.files[from..].iter().rev() {
            let mut above = DeTable::parse(&file.text).map_err(Mistake::custom)?.into_inner();
            above.remove(KEY);
            if file.path != self.files[0].path {
                let folder = file.path.parent().unwrap_or(Path::new(""));
                let mut all = DeValue::Table(above);
                self.paths.iter().for_each(|path| place(&mut all, path, folder));
                let DeValue::Table(placed) = all else { continue };
                above = placed;
            }
            overlay(whole.get_mut(), above);
        }
        #[cfg(feature = "arm")]
        if let Some(item) = &self.item {
            whole.get_mut().remove(ITEM);
            if let Some(DeValue::Table(mut items)) = whole.get_mut().remove(ITEMS).map(Spanned::into_inner)
                && let Some(DeValue::Table(chosen)) = items.remove(item.as_str()).map(Spanned::into_inner)
            {
                overlay(whole.get_mut(), chosen);
            }
        }
        without.iter().for_each(|key| drop(whole.get_mut().remove(*key)));
        from_table(whole)
    }
}

/// A file that extends no other as a `T`, from its text: mistakes name the line.
fn alone<T: DeserializeOwned>(text: &str, without: &[&str]) -> Result<T, String> {
    let mut table = DeTable::parse(text).map_err(|error| error.to_string())?;
    without.iter().for_each(|key| drop(table.get_mut().remove(*key)));
    from_table(table).map_err(|mistake| mistake.in_text(text))
}

fn unreadable(path: &Path, error: &Error) -> Fault {
    Fault::Parse { path: path.to_path_buf(), message: error.to_string().trim_end().to_owned() }
}

fn article(value: &toml::Value) -> &'static str {
    if matches!(value, toml::Value::Integer(_) | toml::Value::Array(_)) { "an" } else { "a" }
}

/// Puts what stands in `above` over what stands in `below`, table by table.
fn overlay<'a>(below: &mut DeTable<'a>, above: DeTable<'a>) {
    for (key, value) in above {
        let old = below.get_mut(&key).map(Spanned::get_mut);
        let place = value.span();
        match (old, value.into_inner()) {
            (Some(DeValue::Table(old)), DeValue::Table(new)) => overlay(old, new),
            (_, value) => {
                below.insert(key, Spanned::new(place, value));
            }
        }
    }
}

/// Makes the file that `path` names in `value` one from the root on: what is relative is so to `folder`.
fn place(value: &mut DeValue<'_>, path: &str, folder: &Path) {
    let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
    let each = |value: &mut DeValue<'_>| match (rest, value) {
        (Some(rest), value) => place(value, rest, folder),
        (None, DeValue::String(name)) => {
            let place = folder.join(&**name);
            let place = std::path::absolute(&place).unwrap_or(place);
            *name = place.to_string_lossy().into_owned().into();
        }
        _ => {}
    };
    match value {
        DeValue::Array(entries) if step == "*" => entries.iter_mut().for_each(|entry| each(entry.get_mut())),
        DeValue::Table(table) if step == "*" => table.iter_mut().for_each(|(_, entry)| each(entry.get_mut())),
        DeValue::Table(table) => table
            .iter_mut()
            .filter(|(key, _)| key.get_ref() == step)
            .for_each(|(_, entry)| each(entry.get_mut())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    /// Files by name.
    struct Files(BTreeMap<&'static str, &'static str>);

    impl Source for Files {
        fn text(&self, path: &Path) -> io::Result<String> {
            let text = path.to_str().and_then(|name| self.0.get(name));
            text.map(|text| (*text).to_owned()).ok_or(io::ErrorKind::NotFound.into())
        }
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        name: String,
        list: Vec<i64>,
        part: Part,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        a: f64,
        b: f64,
    }

    #[test]
    fn a_variant_is_put_over_the_rest() {
        let (top, low) = (
            "extends = \"low\"\n[items.x.part]\nb = 7.0\n",
            "item = \"y\"\nname = \"one\"\nlist = [1, 2]\n[part]\na = 1.0\n\
             [items.x]\nlist = [3]\n[items.x.part]\nb = 5.0\n[items.y.part]\nb = 6.0\n",
        );
        let source = Files([("top", top), ("low", low), ("none", WHOLE)].into_iter().collect());
        let read = |file: &str| Layers::read(Path::new(file), &source).unwrap();
        let chosen = |file: &str, item: Option<&str>| {
            let mut layers = read(file);
            layers.choose(item)?;
            layers.parse::<Thing>(&[]).map_err(|fault| format!("{fault:?}"))
        };
        let part =
            |list: &[i64], b| Thing { name: "one".into(), list: list.into(), part: Part { a: 1.0, b } };
        assert_eq!(chosen("top", Some("x")).unwrap(), part(&[3], 7.0));
        assert_eq!(chosen("low", Some("x")).unwrap(), part(&[3], 5.0));
        assert_eq!(chosen("low", None).unwrap(), part(&[1, 2], 6.0));
        assert_eq!(chosen("none", None).unwrap().part.b, 2.0);
        assert_eq!(read("top").items(), ["x", "y"]);
        assert!(chosen("top", Some("z")).unwrap_err().contains("[\"x\", \"y\"]"));
        assert!(chosen("none", Some("z")).unwrap_err().contains("no table `items`"));
        // Where nobody chooses, variants are keys like others: unknown ones.
        assert!(format!("{:?}", read("low").parse::<Thing>(&[]).unwrap_err()).contains("item"));
    }

    fn read(files: &[(&'static str, &'static str)]) -> Result<Thing, Fault> {
        let source = Files(files.iter().copied().collect());
        Layers::read(Path::new(files[0].0), &source)?.parse(&[])
    }

    const WHOLE: &str = "name = \"one\"\nlist = [1, 2]\n[part]\na = 1.0\nb = 2.0\n";

    #[test]
    fn tables_are_merged_and_lists_replaced() {
        let files = [
            ("x/top", "extends = \"../mid\"\nname = \"three\""),
            ("x/../mid", "extends = \"y/low\"\nlist = [3]\n[part]\nb = 5.0"),
            ("x/../y/low", WHOLE),
        ];
        let expected = Thing { name: "three".into(), list: vec![3], part: Part { a: 1.0, b: 5.0 } };
        assert_eq!(read(&files).unwrap(), expected);
        let layers = Layers::read(Path::new("x/top"), &Files(files.into_iter().collect())).unwrap();
        let stated = |key| layers.stated_in(key).to_str().unwrap().to_owned();
        assert_eq!([stated("name"), stated("list"), stated("colour")], ["x/top", "x/../mid", "x/top"]);
    }

    /// Path and message of the fault.
    fn fault(files: &[(&'static str, &'static str)]) -> (String, String) {
        match read(files).unwrap_err() {
            Fault::Read { path, source } => (path.display().to_string(), source.to_string()),
            Fault::Parse { path, message: said } | Fault::Extends { path, reason: said } => {
                (path.display().to_string(), said)
            }
        }
    }

    #[test]
    fn faults_name_the_file_that_they_stand_in() {
        let expect = |files: &[_], path: &str, parts: &[&str]| {
            let (file, said) = fault(files);
            assert_eq!(file, path, "{said}");
            parts.iter().for_each(|part| assert!(said.contains(part), "`{part}` in {said}"));
        };
        expect(&[("a", "extends = \"b\""), ("b", "extends = \"a\"")], "a", &["at most 8", "itself"]);
        expect(&[("a", "extends = \"gone\"")], "a", &["`gone` cannot be read"]);
        expect(&[("a", "extends = [\"b\"]")], "a", &["an array", "expected the path"]);
        expect(&[("a", "extends = \"b\""), ("b", "list = [")], "b", &["line 1"]);
        let top = "extends = \"b\"\n";
        expect(&[("a", "extends = \"b\"\npart.c = 3.0"), ("b", WHOLE)], "a", &["`c`", "part"]);
        expect(&[("a", "extends = \"b\"\nlist = 3"), ("b", WHOLE)], "a", &["list"]);
        let low = "name = \"one\"\nlist = [1, 2]\n[part]\na = 1.0\nb = 2.0\nc = 3.0\n";
        expect(&[("a", top), ("b", low)], "b", &["`c`", "line 6", "extended by a"]);
        expect(&[("a", low)], "a", &["`c`", "line 6"]);
        expect(&[("a", top), ("b", "name = \"one\"")], "b", &["`list`", "extended by a"]);
        // What is repaired above is no fault.
        read(&[
            ("a", "extends = \"b\"\nlist = [1]"),
            ("b", "name = \"n\"\nlist = 7\npart = { a = 1, b = 2 }"),
        ])
        .unwrap();
    }
}
