//! TOML as a value of a type, with the place of what is wrong.
//!
//! The deserializers of the crate `toml` are compiled for each type, and in each for tables, for dates and for values that keep
//! their place: together they were a sixth of this crate's code. [`Node`] has one for all that is read, and a type is told what
//! it asks for and nothing else: a struct is a table, a number a number.

use std::fmt::{self, Display};
use std::ops::Range;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// The text but for the keys `without` of its top level, as a `T`. Messages show the line.
pub(crate) fn from_text<T: DeserializeOwned>(text: &str, without: &[&str]) -> Result<T, String> {
    let mut table = DeTable::parse(text).map_err(|error| error.to_string())?;
    without.iter().for_each(|key| drop(table.get_mut().remove(*key)));
    let place = table.span();
    let whole = Node { place: Some(place), kind: Kind::of_placed_table(table.into_inner()) };
    T::deserialize(whole).map_err(|unfit| unfit.in_text(text))
}

/// A table as a `T`. Messages name the key.
pub(crate) fn from_table<T: DeserializeOwned>(table: Table) -> Result<T, String> {
    T::deserialize(Node { place: None, kind: Kind::of_table(table) }).map_err(|unfit| unfit.to_string())
}

/// A value, and where it stands in the text if that is known.
#[derive(Debug)]
struct Node {
    place: Option<Range<usize>>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// Dates as well.
    Text(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
    /// A number that is too large.
    Unreadable(&'static str),
}

#[derive(Debug)]
struct Entry {
    key: String,
    place: Option<Range<usize>>,
    value: Node,
}

impl Kind {
    fn of_placed(value: DeValue<'_>) -> Self {
        match value {
            DeValue::Boolean(yes) => Kind::Boolean(yes),
            DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
                Ok(number) => Kind::Integer(number),
                Err(_) => Kind::Unreadable("integer number overflowed"),
            },
            DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
                Ok(number)
                    if number.is_finite() || !digits.as_str().contains(|c: char| c.is_ascii_digit()) =>
                {
                    Kind::Float(number)
                }
                _ => Kind::Unreadable("floating-point number overflowed"),
            },
            DeValue::String(text) => Kind::Text(text.into_owned()),
            DeValue::Datetime(date) => Kind::Text(date.to_string()),
            DeValue::Array(values) => Kind::Array(values.into_iter().map(Node::of_placed).collect()),
            DeValue::Table(table) => Kind::of_placed_table(table),
        }
    }

    fn of_placed_table(table: DeTable<'_>) -> Self {
        let entry = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
            let place = Some(key.span());
            let key: std::borrow::Cow<'_, str> = key.into_inner();
            Entry { key: key.into_owned(), place, value: Node::of_placed(value) }
        };
        Kind::Table(table.into_iter().map(entry).collect())
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::Boolean(yes) => Kind::Boolean(yes),
            Value::Integer(number) => Kind::Integer(number),
            Value::Float(number) => Kind::Float(number),
            Value::String(text) => Kind::Text(text),
            Value::Datetime(date) => Kind::Text(date.to_string()),
            Value::Array(values) => Kind::Array(
                values.into_iter().map(|v| Node { place: None, kind: Kind::of_value(v) }).collect(),
            ),
            Value::Table(table) => Kind::of_table(table),
        }
    }

    fn of_table(table: Table) -> Self {
        let entry = |(key, value)| {
            let value = Node { place: None, kind: Kind::of_value(value) };
            Entry { key, place: None, value }
        };
        Kind::Table(table.into_iter().map(entry).collect())
    }
}

/// What does not fit the type: a message, the keys that lead to it, and its place in the text.
#[derive(Debug)]
struct Unfit {
    message: String,
    /// The innermost first.
    keys: Vec<String>,
    place: Option<Range<usize>>,
}

impl Unfit {
    /// Stands at `place`, if it is not known better.
    fn at(mut self, place: Option<Range<usize>>) -> Self {
        self.place = self.place.or(place);
        self
    }

    /// The message below the line of the text that it is about.
    fn in_text(&self, text: &str) -> String {
        let Some(place) = &self.place else { return self.to_string() };
        let before = text.get(..place.start).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[begin..].chars().count());
        let content = text[begin..].lines().next().unwrap_or_default();
        let marked = place.len().min(content.len().saturating_sub(column)).max(1);
        let gutter = " ".repeat(line.to_string().len() + 1);
        format!(
            "TOML parse error at line {line}, column {}\n{gutter}|\n{line} | {content}\n{gutter}| {}{}\n{}\n",
            column + 1,
            " ".repeat(column),
            "^".repeat(marked),
            self.message
        )
    }
}

impl Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if !self.keys.is_empty() {
            let keys: Vec<&str> = self.keys.iter().rev().map(String::as_str).collect();
            writeln!(f, "in `{}`", keys.join("."))?;
        }
        Ok(())
    }
}

impl std::error::Error for Unfit {}

impl de::Error for Unfit {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), keys: Vec::new(), place: None }
    }
}

impl Node {
    fn of_placed(value: Spanned<DeValue<'_>>) -> Self {
        Self { place: Some(value.span()), kind: Kind::of_placed(value.into_inner()) }
    }

    fn unexpected(&self, expected: &dyn Expected) -> Unfit {
        let found = match &self.kind {
            Kind::Boolean(yes) => Unexpected::Bool(*yes),
            Kind::Integer(number) => Unexpected::Signed(*number),
            Kind::Float(number) => Unexpected::Float(*number),
            Kind::Text(text) => Unexpected::Str(text),
            Kind::Array(_) => Unexpected::Seq,
            Kind::Table(_) => Unexpected::Map,
            Kind::Unreadable(message) => return de::Error::custom(message),
        };
        de::Error::invalid_type(found, expected)
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let place = self.place;
        let found = match self.kind {
            Kind::Boolean(yes) => visitor.visit_bool(yes),
            Kind::Integer(number) => visitor.visit_i64(number),
            Kind::Float(number) => visitor.visit_f64(number),
            Kind::Text(text) => visitor.visit_string(text),
            Kind::Array(values) => visitor.visit_seq(Elements(values.into_iter())),
            Kind::Table(entries) => visitor.visit_map(Entries::of(entries)),
            Kind::Unreadable(message) => Err(de::Error::custom(message)),
        };
        found.map_err(|unfit| unfit.at(place))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let place = self.place.clone();
        let found = match self.kind {
            Kind::Table(entries) => visitor.visit_map(Entries::of(entries)),
            _ => Err(self.unexpected(&visitor)),
        };
        found.map_err(|unfit| unfit.at(place))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let place = self.place.clone();
        let found = match self.kind {
            Kind::Array(values) => visitor.visit_seq(Elements(values.into_iter())),
            _ => Err(self.unexpected(&visitor)),
        };
        found.map_err(|unfit| unfit.at(place))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let place = self.place.clone();
        let variant = match self.kind {
            Kind::Text(name) => Ok(Variant { name, place: place.clone(), value: None }),
            Kind::Table(mut entries) => match (entries.pop(), entries.is_empty()) {
                (Some(Entry { key, place, value }), true) => {
                    Ok(Variant { name: key, place, value: Some(value) })
                }
                (None, _) => Err("expected table with exactly 1 entry, found empty table"),
                _ => Err("expected table with exactly 1 entry"),
            },
            _ => Err("wanted string or table"),
        };
        variant
            .map_err(de::Error::custom)
            .and_then(|variant| visitor.visit_enum(variant))
            .map_err(|unfit: Unfit| unfit.at(place))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string
        bytes byte_buf unit ignored_any unit_struct tuple_struct identifier
    }
}

impl IntoDeserializer<'_, Unfit> for Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// What is left of an array.
struct Elements(std::vec::IntoIter<Node>);

impl<'de> SeqAccess<'de> for Elements {
    type Error = Unfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Unfit> {
        self.0.next().map(|node| seed.deserialize(node)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// What is left of a table, and the value of the key that was handed out last.
struct Entries {
    left: std::vec::IntoIter<Entry>,
    open: Option<(String, Node)>,
}

impl Entries {
    fn of(entries: Vec<Entry>) -> Self {
        Self { left: entries.into_iter(), open: None }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unfit> {
        let Some(Entry { key, place, value }) = self.left.next() else { return Ok(None) };
        let name: StrDeserializer<'_, Unfit> = key.as_str().into_deserializer();
        let name = seed.deserialize(name).map_err(|unfit| unfit.at(place))?;
        self.open = Some((key, value));
        Ok(Some(name))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Unfit> {
        let open = self.open.take();
        let (key, value) = open.ok_or_else(|| <Unfit as de::Error>::custom("a value without a key"))?;
        let place = value.place.clone();
        seed.deserialize(value).map_err(|unfit| {
            let mut unfit = unfit.at(place);
            unfit.keys.push(key);
            unfit
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A variant of an enum: its name, and what it holds.
struct Variant {
    name: String,
    place: Option<Range<usize>>,
    value: Option<Node>,
}

impl Variant {
    fn content(self) -> Result<Node, Unfit> {
        let Self { name, place, value } = self;
        value.ok_or_else(|| <Unfit as de::Error>::custom(format!("`{name}` needs a value")).at(place))
    }
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Unfit;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Unfit> {
        let name: StrDeserializer<'_, Unfit> = self.name.as_str().into_deserializer();
        let which = seed.deserialize(name).map_err(|unfit| unfit.at(self.place.clone()))?;
        Ok((which, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Unfit;

    fn unit_variant(self) -> Result<(), Unfit> {
        match self.value.map(|value| value.kind) {
            None => Ok(()),
            Some(Kind::Table(entries)) if entries.is_empty() => Ok(()),
            Some(_) => {
                Err(<Unfit as de::Error>::custom(format!("`{}` takes no value", self.name)).at(self.place))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unfit> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unfit> {
        self.content()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let content = self.content()?;
        if let Kind::Table(entries) = &content.kind
            && let Some(other) = entries.iter().find(|entry| !fields.contains(&entry.key.as_str()))
        {
            let unknown = <Unfit as de::Error>::unknown_field(&other.key, fields);
            return Err(unknown.at(other.place.clone()));
        }
        content.deserialize_map(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Whole {
        name: String,
        #[serde(default)]
        count: u32,
        shape: Vec<Shape>,
        pair: (f64, f64),
        #[serde(default)]
        by_name: BTreeMap<String, f64>,
        inner: Option<Inner>,
        kind: Option<Tagged>,
        rest: Option<Table>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        #[serde(flatten)]
        deep: BTreeMap<String, bool>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Point,
        Ball(f64),
        Slab { low: f64, high: f64 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
    enum Tagged {
        Fast { speed: f64 },
        Slow,
    }

    const TEXT: &str = "name = \"n\"\ncount = 3\nshape = [\"point\", { ball = 2 }, { slab = { low = 1.5, high = inf } }]\n\
        pair = [1, -2.5e3]\nkind = { is = \"fast\", speed = 0x10 }\nby_name.a = 1.0\n[inner]\nyes = true\n\
        [rest]\nx = [1, 2]\ny = 2020-01-01\n";

    /// Both ways give the same, and what the crate `toml` gives.
    #[test]
    fn a_text_is_read_as_toml_reads_it() {
        let text = TEXT.replace("y = 2020-01-01\n", "");
        let expected: Whole = toml::from_str(&text).unwrap();
        assert_eq!(from_text::<Whole>(&text, &[]).unwrap(), expected);
        assert_eq!(from_table::<Whole>(toml::from_str(&text).unwrap()).unwrap(), expected);
        let dated: Whole = from_text(TEXT, &[]).unwrap();
        assert_eq!(dated.rest.unwrap()["y"].as_str(), Some("2020-01-01"));
    }

    /// So are the messages, but where a type is told what it asks for.
    #[test]
    fn what_is_wrong_is_named_as_toml_names_it() {
        for (from, to) in [
            ("count = 3", "count = -3"),
            ("count = 3", "count = \"3\""),
            ("count = 3", "count = 3\ncolour = 1"),
            ("name = \"n\"\n", ""),
            ("\"point\"", "\"pint\""),
            ("high = inf", "high = true"),
            ("low = 1.5, ", ""),
            ("by_name.a = 1.0", "by_name.a = \"ä\" # ö"),
            ("yes = true", "yes = 7"),
            ("speed = 0x10", "speed = 1, turns = 2"),
            ("\"fast\"", "\"fest\""),
            ("name = \"n\"", "name = "),
        ] {
            assert!(TEXT.contains(from));
            let text = TEXT.replace(from, to);
            let own = from_text::<Whole>(&text, &[]).unwrap_err();
            assert_eq!(own, toml::from_str::<Whole>(&text).unwrap_err().to_string(), "{to}");
            let Ok(table) = toml::from_str::<Table>(&text) else { continue };
            let toml = table.clone().try_into::<Whole>().unwrap_err().to_string();
            assert_eq!(from_table::<Whole>(table).unwrap_err(), toml, "{to}");
        }
    }

    #[test]
    fn other_faults_are_named_with_their_line() {
        for (from, to, words) in [
            ("[inner]\nyes = true", "inner = [true]", ["line 7", "invalid type: sequence"]),
            ("high = inf", "high = inf, mid = 1", ["line 3", "unknown field `mid`"]),
            ("{ ball = 2 }", "{ ball = 2, point = 3 }", ["line 3", "exactly 1 entry"]),
            ("{ ball = 2 }", "\"ball\"", ["line 3", "`ball` needs a value"]),
            ("\"point\"", "{ point = 1 }", ["line 3", "`point` takes no value"]),
            ("\"point\"", "7", ["line 3", "wanted string or table"]),
            ("count = 3", "count = 99999999999999999999", ["line 2", "overflowed"]),
            ("-2.5e3", "1e999", ["line 4", "overflowed"]),
        ] {
            let told = from_text::<Whole>(&TEXT.replace(from, to), &[]).unwrap_err();
            assert!(words.iter().all(|word| told.contains(word)), "{told}");
        }
        assert!(from_text::<Whole>(&format!("{TEXT}[more]\n"), &["more"]).is_ok());
    }
}
