//! Numbers as a person reads them.

/// About four significant digits, `–` for what is not known.
///
/// Plain decimals between 1e-4 and 1e6, powers of ten outside; whole numbers without a point; -0 is 0.
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
    if x.fract() == 0.0 && size < 1e6 {
        return format!("{x:.0}");
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{x:.2e}");
    }
    // Digits before the point: 4 significant in all, at most 5 behind the point.
    let magnitude = size.log10().floor() as i32;
    format!("{x:.*}", (3 - magnitude).clamp(0, 5) as usize)
}

/// [`figure`], but never above `x`: what is printed of a lower bound is a lower bound.
pub fn below(x: f64) -> String {
    outward(x, -1.0)
}

/// [`figure`], but never below `x`: what is printed of an upper bound is an upper bound.
pub fn above(x: f64) -> String {
    outward(x, 1.0)
}

/// [`figure`] of the first printable number from `x` in the direction `sign`.
fn outward(x: f64, sign: f64) -> String {
    let text = figure(x);
    let inward = |text: &str| text.parse::<f64>().is_ok_and(|printed| sign * (printed - x) < 0.0);
    if !inward(&text) {
        return text;
    }
    // One unit of the last printed place; two when rounding took the first one away again.
    let magnitude = x.abs().log10().floor() as i32;
    let places = if (1e-4..1e6).contains(&x.abs()) { (magnitude - 3).clamp(-5, 0) } else { magnitude - 2 };
    let unit = 10_f64.powi(places);
    let next = figure(x + sign * unit);
    if inward(&next) { figure(x + 2.0 * sign * unit) } else { next }
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
    fn printed_bounds_stay_bounds() {
        assert_eq!(
            (below(4.4128), above(4.4121), below(-0.01), above(2.0)),
            ("4.412".into(), "4.413".into(), "-0.01000".into(), "2".into())
        );
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mantissa = (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            let x = mantissa * 10_f64.powi((state % 19) as i32 - 10);
            let (low, high): (f64, f64) = (below(x).parse().unwrap(), above(x).parse().unwrap());
            assert!(low <= x && x <= high, "{low} {x} {high}");
            assert!(high - low <= 0.02 * x.abs() || high - low <= 2.1e-5, "{low} {x} {high}");
        }
    }

    #[test]
    fn figures_are_short_and_never_lie_about_what_is_unknown() {
        for (x, text) in [
            (5.71234, "5.712"),
            (-0.01234567, "-0.01235"),
            (123.456, "123.5"),
            (0.0, "0"),
            (90.0, "90"),
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
