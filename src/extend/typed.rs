//! Types from the tables of a TOML file.
//!
//! `toml` reads the text; what its tables say becomes a type here. It could do that as well, but each of the crate's types would be compiled into several times as
//! much machine code there: whatever may be asked for, all kinds of values are looked at. That was an eighth of what compiling the library for `cargo try` takes:
//! 111 in place of 97 CPU-seconds by `cargo rustc --lib --profile quick --no-default-features --features cli` after `touch src/lib.rs`.
//! Here a number that is asked for is looked for as a number alone.

use std::fmt;
use std::ops::Range;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

/// What a table lacks or has that its type does not allow.
#[derive(Debug)]
pub(crate) struct Mistake(Box<Said>);

#[derive(Debug)]
struct Said {
    message: String,
    /// Where it stands in its text, bytes.
    place: Option<Range<usize>>,
    /// Keys that lead there, the last one first.
    keys: Vec<String>,
}

/// The type that a text holds; or what is wrong with it, in words that name the line.
#[cfg(feature = "arm")]
pub(crate) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    from_table(table).map_err(|mistake| mistake.in_text(text))
}

/// The type that a table holds.
pub(crate) fn from_table<T: DeserializeOwned>(table: Spanned<DeTable<'_>>) -> Result<T, Mistake> {
    let place = table.span();
    T::deserialize(Value(&DeValue::Table(table.into_inner()))).map_err(|mistake| mistake.at(place))
}

impl Mistake {
    #[cold]
    fn new(message: String) -> Self {
        Self(Box::new(Said { message, place: None, keys: vec![] }))
    }

    /// The innermost place that is known is that of the mistake.
    #[cold]
    fn at(mut self, place: Range<usize>) -> Self {
        self.0.place.get_or_insert(place);
        self
    }

    /// The mistake is in the value of an entry.
    #[cold]
    fn of(mut self, (key, value): Entry<'_>) -> Self {
        self.0.keys.push(key.get_ref().as_ref().to_owned());
        self.at(value.span())
    }

    /// In words, with its line in `text`, as `toml` tells what it cannot read.
    pub(crate) fn in_text(&self, text: &str) -> String {
        let Some(place) = &self.0.place else { return self.to_string() };
        let before = text.get(..place.start).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[begin..].chars().count());
        let content = text[begin..].lines().next().unwrap_or("");
        let length = place.len().min(content.len().saturating_sub(before.len() - begin)).max(1);
        let margin = " ".repeat(line.to_string().len());
        format!(
            "TOML parse error at line {line}, column {}\n{margin} |\n{line} | {content}\n{margin} | {}{}\n{}\n",
            column + 1,
            " ".repeat(column),
            "^".repeat(length),
            self.0.message
        )
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if self.0.keys.is_empty() {
            return Ok(());
        }
        let keys: Vec<&str> = self.0.keys.iter().rev().map(String::as_str).collect();
        write!(f, "\nin `{}`", keys.join("."))
    }
}

impl std::error::Error for Mistake {}

impl serde::de::Error for Mistake {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::new(message.to_string())
    }
}

/// One value of a table. Whoever holds it says where it stands if it is a mistake.
struct Value<'a>(&'a DeValue<'a>);

/// An integer as `serde` has them.
enum Whole {
    Signed(i64),
    Unsigned(u64),
}

/// What an integer is in its text.
fn whole(written: &DeInteger<'_>) -> Result<Whole, Mistake> {
    let (text, radix) = (written.as_str(), written.radix());
    let signed = i64::from_str_radix(text, radix).map(Whole::Signed);
    let either = signed.or_else(|_| u64::from_str_radix(text, radix).map(Whole::Unsigned));
    either.map_err(|_| Mistake::new(format!("the integer {written} is too large")))
}

/// What a number is in its text; too large a one is none, `inf` is.
fn real(written: &str) -> Result<f64, Mistake> {
    let value = written
        .parse::<f64>()
        .ok()
        .filter(|x| x.is_finite() || !written.contains(|c: char| c.is_ascii_digit()));
    value.ok_or_else(|| Mistake::new(format!("the number {written} is too large")))
}

/// Another kind of value than was asked for.
#[cold]
fn other(found: &DeValue<'_>, expected: &dyn Expected) -> Mistake {
    let found = match found {
        DeValue::String(text) => Unexpected::Str(text),
        DeValue::Integer(written) => match whole(written) {
            Ok(Whole::Signed(x)) => Unexpected::Signed(x),
            Ok(Whole::Unsigned(x)) => Unexpected::Unsigned(x),
            Err(mistake) => return mistake,
        },
        DeValue::Float(written) => match real(written.as_str()) {
            Ok(x) => Unexpected::Float(x),
            Err(mistake) => return mistake,
        },
        DeValue::Boolean(flag) => Unexpected::Bool(*flag),
        DeValue::Datetime(_) => Unexpected::Other("a date or a time"),
        DeValue::Array(_) => Unexpected::Seq,
        DeValue::Table(_) => Unexpected::Map,
    };
    Mistake::invalid_type(found, expected)
}

/// Asks for one kind of value. What is of another kind is refused without a look at what else the visitor could take.
macro_rules! ask {
    ($($method:ident($($name:ident: $kind:ty),*) { $($found:pat => $visit:expr),+ } $visitor:ident;)+) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $kind,)* $visitor: V) -> Result<V::Value, Mistake> {
            match self.0 {
                $($found => $visit,)+
                found => Err(other(found, &$visitor)),
            }
        }
    )+};
}

/// Methods that ask for what another one does.
macro_rules! same {
    ($($other:ident: $method:ident($($name:ident: $kind:ty),*);)+) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $kind,)* visitor: V) -> Result<V::Value, Mistake> {
            self.$other(visitor)
        }
    )+};
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Mistake;

    ask! {
        deserialize_any() {
            DeValue::Table(table) => visitor.visit_map(Entries { left: table.iter(), at: None }),
            DeValue::Array(list) => visitor.visit_seq(Items(list.iter())),
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Float(written) => real(written.as_str()).and_then(|x| visitor.visit_f64(x)),
            DeValue::Integer(written) => integer(written, visitor)
        } visitor;
        deserialize_f64() {
            DeValue::Float(written) => real(written.as_str()).and_then(|x| visitor.visit_f64(x)),
            DeValue::Integer(written) => integer(written, visitor)
        } visitor;
        deserialize_u64() { DeValue::Integer(written) => integer(written, visitor) } visitor;
        deserialize_bool() { DeValue::Boolean(flag) => visitor.visit_bool(*flag) } visitor;
        deserialize_str() { DeValue::String(text) => visitor.visit_str(text) } visitor;
        deserialize_seq() { DeValue::Array(list) => visitor.visit_seq(Items(list.iter())) } visitor;
        deserialize_map() { DeValue::Table(table) => visitor.visit_map(Entries { left: table.iter(), at: None }) } visitor;
        deserialize_enum(_name: &'static str, _variants: &'static [&'static str]) {
            DeValue::String(text) => visitor.visit_enum(StrDeserializer::new(text)),
            DeValue::Table(table) => visitor.visit_enum(Variant::of(table)?)
        } visitor;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    same! {
        deserialize_map: deserialize_struct(_name: &'static str, _fields: &'static [&'static str]);
        deserialize_seq: deserialize_tuple(_length: usize);
        deserialize_seq: deserialize_tuple_struct(_name: &'static str, _length: usize);
        deserialize_any: deserialize_unit_struct(_name: &'static str);
        deserialize_any: deserialize_unit();
        deserialize_any: deserialize_bytes();
        deserialize_any: deserialize_byte_buf();
        deserialize_str: deserialize_string();
        deserialize_str: deserialize_char();
        deserialize_str: deserialize_identifier();
        deserialize_f64: deserialize_f32();
        deserialize_u64: deserialize_u8();
        deserialize_u64: deserialize_u16();
        deserialize_u64: deserialize_u32();
        deserialize_u64: deserialize_i8();
        deserialize_u64: deserialize_i16();
        deserialize_u64: deserialize_i32();
        deserialize_u64: deserialize_i64();
    }
}

fn integer<'de, V: Visitor<'de>>(written: &DeInteger<'_>, visitor: V) -> Result<V::Value, Mistake> {
    match whole(written)? {
        Whole::Signed(x) => visitor.visit_i64(x),
        Whole::Unsigned(x) => visitor.visit_u64(x),
    }
}

/// The values of a list.
struct Items<'a>(std::slice::Iter<'a, Spanned<DeValue<'a>>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some(value) = self.0.next() else { return Ok(None) };
        match seed.deserialize(Value(value.get_ref())) {
            Ok(value) => Ok(Some(value)),
            Err(mistake) => Err(mistake.at(value.span())),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A key and its value.
type Entry<'a> = (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>);

/// The entries of a table.
struct Entries<'a> {
    left: toml::map::Iter<'a, Spanned<DeString<'a>>, Spanned<DeValue<'a>>>,
    /// The one whose key was asked for.
    at: Option<Entry<'a>>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        self.at = self.left.next();
        let Some((key, _)) = self.at else { return Ok(None) };
        key_of(key, seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        match self.at {
            Some(entry) => value_of(entry, seed),
            None => Err(Mistake::new("a value was asked for before its key".to_owned())),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

fn key_of<'de, K: DeserializeSeed<'de>>(key: &Spanned<DeString<'_>>, seed: K) -> Result<K::Value, Mistake> {
    seed.deserialize(StrDeserializer::new(key.get_ref())).map_err(|mistake: Mistake| mistake.at(key.span()))
}

fn value_of<'de, V: DeserializeSeed<'de>>((key, value): Entry<'_>, seed: V) -> Result<V::Value, Mistake> {
    seed.deserialize(Value(value.get_ref())).map_err(|mistake| mistake.of((key, value)))
}

/// A variant with what it holds: the only entry of a table.
struct Variant<'a>(Entry<'a>);

impl<'a> Variant<'a> {
    fn of(table: &'a DeTable<'a>) -> Result<Self, Mistake> {
        match table.iter().next() {
            Some(entry) if table.len() == 1 => Ok(Self(entry)),
            _ => Err(Mistake::new(format!("{} keys, expected one: the name of a variant", table.len()))),
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Mistake;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mistake> {
        Ok((key_of(self.0.0, seed)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Mistake;

    fn unit_variant(self) -> Result<(), Mistake> {
        let (key, _) = self.0;
        Err(Mistake::new(format!("`{}` holds nothing, expected its name alone", key.get_ref()))
            .at(key.span()))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mistake> {
        value_of(self.0, seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Mistake> {
        Value(self.0.1.get_ref()).deserialize_seq(visitor).map_err(|mistake| mistake.of(self.0))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        Value(self.0.1.get_ref()).deserialize_map(visitor).map_err(|mistake| mistake.of(self.0))
    }
}

#[cfg(test)]
mod tests;
