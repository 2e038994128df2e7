//! Numbers in JSON, which has no other word than `null` for one that is not finite.

use serde::{Deserialize, Deserializer};

/// Reads a number, or NaN where the file says `null`.
pub(crate) fn number<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(source)?.unwrap_or(f64::NAN))
}

/// Reads numbers, NaN where the file says `null`.
pub(crate) fn numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(source)?;
    Ok(values.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
}
