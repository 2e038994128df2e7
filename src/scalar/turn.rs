//! Sines and cosines of several floats at once, written so that the compiler can use vector instructions.
//!
//! # The claim and its proof
//! Each result is within 2^-51 of the exact sine or cosine (also what [`crate::reach`] assumes of them). For |x| <= [`FAR`]
//! let k be the integer nearest 2x/pi and r = x - k pi/2, so |r| <= pi/4 + 1e-10. pi/2 = P1 + P2 + P3 + e with |e| < 2^-118; P1 and P2
//! have 33 significant bits and k has at most 17, so k P1 and k P2 are exact; x - k P1 is exact too (Sterbenz: k P1 is
//! within a factor of two of x once k != 0). The two subtractions that follow are off by half an ulp of a number below 1, and
//! k (P3, e) by less than 2^-100: |computed r - r| <= 2^-53. The series of sine to r^15 and of cosine to r^16 leave less
//! than r^17 / 17! < 2^-54 and r^18 / 18! < 2^-58. In Horner's form the last operation, r + r^3 s or 1 + r^2 c, adds half an
//! ulp of a number at most 1 (2^-54 for the sine, which is below 0.71, 2^-54 for the cosine) to what its last terms bring: |r^3 s| < 0.09
//! and |r^2 c| < 0.31 carry fewer than four roundings each, together below 2^-53 (fewer still where a product and a sum are fused). Sum: less than 2^-53 + 2^-54 + 2^-53 + 2^-54 < 2^-51.
//! Other angles are left to the platform's functions.

use super::Scalar;

/// Angles beyond this (rad) are left to the platform.
const FAR: f64 = 1e5;
/// First 33 bits of pi/2, the next 33, and what remains.
const P1: f64 = 1.570_796_326_734_125_6;
const P2: f64 = 6.077_100_506_303_966e-11;
const P3: f64 = 2.022_266_248_795_950_6e-21;
/// Adding and subtracting it rounds to an integer, which then stands in the lowest bits of the sum.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// Angles that are treated together.
const LANES: usize = 4;

/// 1 / k!, with the sign of the series of sine and cosine.
const fn series<const N: usize>(first: usize) -> [f64; N] {
    let mut terms = [0.0; N];
    let mut i = 0;
    while i < N {
        let (order, mut product, mut k) = (first + 2 * i, 1.0, 2);
        while k <= order {
            product *= k as f64;
            k += 1;
        }
        terms[i] = if (order / 2) % 2 == 0 { 1.0 / product } else { -1.0 / product };
        i += 1;
    }
    terms
}

/// -1/3!, 1/5!, ...
const SINE: [f64; 7] = series(3);
/// -1/2!, 1/4!, ...
const COSINE: [f64; 8] = series(2);

// A call of its own: the results then go to memory side by side, which is what the compiler vectorises from.
#[inline(never)]
fn lanes(x: &[f64; LANES], sin: &mut [f64; LANES], cos: &mut [f64; LANES]) {
    for i in 0..LANES {
        let shifted = x[i] * std::f64::consts::FRAC_2_PI + SHIFT;
        let k = shifted - SHIFT;
        let r = ((x[i] - k * P1) - k * P2) - k * P3;
        let z = r * r;
        let mut s = SINE[6];
        for a in SINE[..6].iter().rev() {
            s = Scalar::mul_add(s, z, *a);
        }
        let mut c = COSINE[7];
        for a in COSINE[..7].iter().rev() {
            c = Scalar::mul_add(c, z, *a);
        }
        let (s, c) = (Scalar::mul_add(r * z, s, r), Scalar::mul_add(z, c, 1.0));
        // Quarter turns: odd ones swap sine and cosine, half turns change signs.
        let quarter = shifted.to_bits();
        let swap = (quarter & 1).wrapping_neg();
        let (s, c) = (s.to_bits(), c.to_bits());
        let differ = (s ^ c) & swap;
        sin[i] = f64::from_bits((s ^ differ) ^ ((quarter & 2) << 62));
        cos[i] = f64::from_bits((c ^ differ) ^ (((quarter.wrapping_add(1)) & 2) << 62));
    }
}

/// Sine and cosine of each angle (rad).
#[inline]
pub(super) fn sin_cos(angles: &[f64], out: &mut [(f64, f64)]) {
    for (angles, out) in angles.chunks(LANES).zip(out.chunks_mut(LANES)) {
        // Not by a copy of the slice, which would be a call for its variable length.
        let x: [f64; LANES] = match angles.first_chunk() {
            Some(x) => *x,
            None => std::array::from_fn(|i| angles.get(i).copied().unwrap_or(0.0)),
        };
        // Not a number is not below either.
        if x.iter().all(|x| x.abs() <= FAR) {
            let (mut sin, mut cos) = ([0.0; LANES], [0.0; LANES]);
            lanes(&x, &mut sin, &mut cos);
            for (out, turn) in out.iter_mut().zip(sin.into_iter().zip(cos)) {
                *out = turn;
            }
        } else {
            for (out, angle) in out.iter_mut().zip(angles) {
                *out = angle.sin_cos();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn within_the_promise_of_the_platforms_functions() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut angles = vec![0.0, -0.0, 1e-300, 1e5, -1e5, 1.1e5, 1e300];
        // Near and at the places where the reduction cancels or changes its quarter.
        for k in -2000..2000_i32 {
            let at = f64::from(k) * std::f64::consts::FRAC_PI_4;
            angles.extend([at, at.next_up(), at.next_down(), at + 1e-9]);
        }
        for range in [1.0, 10.0, 1000.0, FAR] {
            angles.extend((0..20_000).map(|_| rng.random_range(-range..range)));
        }
        let mut out = vec![(0.0, 0.0); angles.len()];
        sin_cos(&angles, &mut out);
        for (x, &(s, c)) in angles.iter().zip(&out) {
            // The platform's own are within an ulp of a number at most 1.
            assert!((s - x.sin()).abs() <= 2.0 * f64::EPSILON, "sin {x:?}: {s}");
            assert!((c - x.cos()).abs() <= 2.0 * f64::EPSILON, "cos {x:?}: {c}");
            assert!((s * s + c * c - 1.0).abs() < 4.0 * f64::EPSILON);
        }
        sin_cos(&[f64::NAN, f64::INFINITY, 0.5], &mut out);
        assert!(out[0].0.is_nan() && out[1].1.is_nan());
        assert!((out[2].0 - 0.5f64.sin()).abs() < 1e-16);
    }
}
