//! Numbers as trials are written down: JSON knows neither infinite ones nor what is no number, so these are texts (`"inf"`, `"-inf"`, `"NaN"`).
//! For `#[serde(with = "exact")]`; [`list`] does the same for lists.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number as it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Finite(f64),
    Text(String),
}

impl From<f64> for Written {
    fn from(x: f64) -> Self {
        if x.is_finite() { Self::Finite(x) } else { Self::Text(x.to_string()) }
    }
}

impl Written {
    fn number<E: de::Error>(self) -> Result<f64, E> {
        match self {
            Self::Finite(x) => Ok(x),
            Self::Text(text) => text.parse().map_err(|_| E::custom(format!("`{text}` is no number"))),
        }
    }
}

pub(super) fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
    Written::from(*x).serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Written::deserialize(from)?.number()
}

/// Lists of such numbers.
pub(super) mod list {
    use super::{Deserialize, Deserializer, Serializer, Written};

    pub(in super::super) fn serialize<S: Serializer>(x: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(x.iter().map(|x| Written::from(*x)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        Vec::<Written>::deserialize(from)?.into_iter().map(Written::number).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use crate::campaign::exact;

    #[derive(Serialize, Deserialize)]
    struct Trial {
        #[serde(with = "exact")]
        one: f64,
        #[serde(with = "exact::list")]
        many: Vec<f64>,
    }

    #[test]
    fn every_number_comes_back_as_it_was() {
        let all = [0.1 + 0.2, -0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0];
        for one in all {
            let text = serde_json::to_string(&Trial { one, many: all.to_vec() }).unwrap();
            let back: Trial = serde_json::from_str(&text).unwrap();
            let bits = |x: &f64| x.to_bits();
            assert_eq!(back.one.to_bits(), one.to_bits(), "{text}");
            assert!(back.many.iter().map(bits).eq(all.iter().map(bits)), "{text}");
        }
        assert!(serde_json::from_str::<Trial>("{\"one\": \"two\", \"many\": []}").is_err());
    }
}
