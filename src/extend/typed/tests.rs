use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::from_text;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    flag: bool,
    count: usize,
    signed: i32,
    large: u64,
    real: f64,
    text: String,
    path: PathBuf,
    #[serde(default)]
    maybe: Option<f64>,
    point: [f64; 3],
    pair: (u8, String),
    list: Vec<Part>,
    named: BTreeMap<String, Option<i64>>,
    kind: Kind,
    either: Either,
    wrapped: Wrapped,
    tagged: Tagged,
    flat: Flat,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    a: f32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Bare,
    Held(f64),
    Both(i64, bool),
    Fields { x: f64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(f64),
    List(Vec<f64>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapped(i64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
enum Tagged {
    Ball { radius: f64 },
    Bar { ends: Vec<i64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Flat {
    own: i64,
    #[serde(flatten)]
    rest: BTreeMap<String, f64>,
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("NaN is not equal to itself", |x| !x.is_nan()), Just(f64::INFINITY)]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Bare),
        real().prop_map(Kind::Held),
        any::<(i64, bool)>().prop_map(|(a, b)| Kind::Both(a, b)),
        real().prop_map(|x| Kind::Fields { x })
    ]
}

fn tagged() -> impl Strategy<Value = Tagged> {
    prop_oneof![
        real().prop_map(|radius| Tagged::Ball { radius }),
        any::<Vec<i64>>().prop_map(|ends| Tagged::Bar { ends })
    ]
}

prop_compose! {
    fn whole()(
        (flag, count, signed, large) in any::<(bool, u32, i32, i64)>(),
        real in real(),
        text in ".*",
        maybe in proptest::option::of(real()),
        point in [real(), real(), real()],
        (byte, list) in any::<(u8, Vec<f32>)>(),
        names in proptest::collection::btree_map("[a-z.]{1,3}", any::<i64>(), 0..3),
        (kind, tagged) in (kind(), tagged()),
        either in prop_oneof![real().prop_map(Either::Number), any::<[f64; 2]>().prop_map(|x| Either::List(x.into()))],
        rest in proptest::collection::btree_map("[a-z]{4,5}", real(), 0..3),
    ) -> Whole {
        Whole {
            flag,
            count: count as usize,
            signed,
            large: large.unsigned_abs() / 2,
            real,
            path: text.clone().into(),
            pair: (byte, text.clone()),
            text,
            maybe,
            point,
            list: list.into_iter().filter(|x| !x.is_nan()).map(|a| Part { a }).collect(),
            named: names.into_iter().map(|(name, x)| (name, Some(x))).collect(),
            kind,
            either,
            wrapped: Wrapped(i64::from(signed)),
            tagged,
            flat: Flat { own: large, rest },
        }
    }
}

proptest! {
    /// Files come back as they were written, and as `toml` reads them.
    #[test]
    fn types_are_what_toml_makes_of_them(whole in whole()) {
        let text = toml::to_string(&whole).unwrap();
        prop_assert_eq!(from_text::<Whole>(&text).unwrap(), whole, "{}", &text);
        let table: toml::Table = toml::from_str(&text).unwrap();
        prop_assert_eq!(from_text::<toml::Table>(&text).unwrap(), table);
    }
}

#[test]
fn integers_stand_for_reals_and_not_the_other_way_round() {
    assert_eq!(from_text::<Part>("a = 3").unwrap(), Part { a: 3.0 });
    let said = |text: &str| from_text::<BTreeMap<String, u8>>(text).unwrap_err();
    for (text, parts) in [
        ("x = 3.0", ["floating point `3.0`", "expected u8"]),
        ("x = -1", ["integer `-1`", "expected u8"]),
        ("x = 300", ["integer `300`", "expected u8"]),
        ("x = 99999999999999999999", ["99999999999999999999", "too large"]),
        ("x = \"3\"", ["string \"3\"", "expected u8"]),
        ("x = 1979-05-27", ["a date or a time", "expected u8"]),
    ] {
        let told = said(text);
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
    assert!(from_text::<Part>("a = 1e999").unwrap_err().contains("too large"));
    assert!(from_text::<Part>("a = nan").unwrap().a.is_nan());
    assert_eq!(from_text::<Part>("a = -inf").unwrap().a, f32::NEG_INFINITY);
}

/// Line, column and what is under it.
#[test]
fn mistakes_name_their_line_as_toml_does() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct File {
        part: Vec<Part>,
        kind: Option<Kind>,
    }
    for text in [
        "[[part]]\na = 1.0\n\n[[part]]\na = \"ä\"\n",
        "[[part]]\na = 1.0\nb = 2.0\n",
        "# ä\n[[part]]\n",
        "part = 3",
        "part = [{ a = 1.0 }, { a = true }]",
        "ä = 1\npart = []",
        "kind = \"other\"\npart = []",
        "part = []\n[kind.held]\nx = 1\n",
        "part = []\n[kind.fields]\nx = \"y\"\n",
    ] {
        let (ours, theirs) =
            (from_text::<File>(text).unwrap_err(), toml::from_str::<File>(text).unwrap_err());
        assert_eq!(ours, theirs.to_string(), "{text}");
    }
    let none = from_text::<File>("part = []\nkind = 3").unwrap_err();
    assert!(none.contains("line 2, column 8") && none.contains("integer `3`"), "{none}");
    let both = from_text::<File>("part = []\nkind = { held = 1.0, bare = {} }").unwrap_err();
    assert!(both.contains("2 keys, expected one"), "{both}");
    let full = from_text::<File>("part = []\nkind = { bare = 1.0 }").unwrap_err();
    assert!(full.contains("`bare` holds nothing"), "{full}");
}
