//! Numbers as a person reads them.

/// About four significant digits, `–` for what is not known.
///
/// Plain decimals between 1e-4 and 1e6, powers of ten outside; -0 is 0.
pub fn figure(x: f64) -> String {
    if x.is_nan() {
        return "–".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    let size = x.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{x:.2e}");
    }
    // Digits before the point: 4 significant in all, at most 5 behind the point.
    let magnitude = size.log10().floor() as i32;
    format!("{x:.*}", (3 - magnitude).clamp(0, 5) as usize)
}

/// [`figure`] with a unit; the unit is left out where the number is not known.
pub fn with_unit(x: Option<f64>, unit: &str) -> String {
    match x {
        Some(x) if !x.is_nan() => format!("{} {unit}", figure(x)),
        _ => figure(f64::NAN),
    }
}

/// A ratio in per cent.
pub fn percent(x: Option<f64>) -> String {
    match x {
        Some(x) if x.is_finite() && x < 0.01 => format!("{:.2} %", 100.0 * x),
        Some(x) if x.is_finite() => format!("{:.1} %", 100.0 * x),
        _ => figure(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_never_lie_about_what_is_unknown() {
        for (x, text) in [
            (5.71234, "5.712"),
            (-0.01234567, "-0.01235"),
            (123.456, "123.5"),
            (0.0, "0"),
            (-0.0, "0"),
            (1e-9, "1.00e-9"),
            (12345.6, "12346"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "-∞"),
        ] {
            assert_eq!(figure(x), text);
        }
        assert_eq!(with_unit(Some(f64::NAN), "m"), "–");
        assert_eq!(percent(Some(0.123)), "12.3 %");
    }
}
