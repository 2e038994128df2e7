//! Makes a broken file of a good one.

use std::ops::Range;

use crate::random::Random;

/// No input is larger, bytes.
const LARGEST: usize = 1 << 20;
/// Texts in the place of a number.
const NUMBERS: [&str; 32] = [
    "nan",
    "inf",
    "-inf",
    "NaN",
    "null",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "-0.0",
    "0",
    "1",
    "-1",
    "2",
    "1e-9",
    "1e9",
    "1e150",
    "-1e150",
    "1e18",
    "255",
    "256",
    "65536",
    "1000000",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.1",
];
/// What opens something that another of its kind may stand in.
const NESTS: [&str; 10] = ["[", "{", "[[", "{\"a\":", "a.", "a={", "<link name=\"a\">", "<a>", "(", "\""];

/// A changed copy of `input`; parts of `other` may go into it.
pub fn mutate(input: &[u8], other: &[u8], text: bool, random: &mut Random) -> Vec<u8> {
    let mut data = input.to_vec();
    let times = 1 << random.below(4);
    for _ in 0..1 + random.below(times) {
        if text && !random.once_in(4) {
            of_text(&mut data, other, random);
        } else {
            of_bytes(&mut data, other, random);
        }
        data.truncate(LARGEST);
    }
    data
}

/// A part of so many bytes, mostly a short one.
fn part(length: usize, random: &mut Random) -> Range<usize> {
    let start = random.below(length + 1);
    let most = if random.once_in(4) { length - start } else { (length - start).min(16) };
    start..start + random.below(most + 1)
}

fn of_bytes(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(data.len());
    match random.below(9) {
        0 if !data.is_empty() => data[at] ^= 1 << random.below(8),
        1 if !data.is_empty() => data[at] = random.next() as u8,
        2 => data.insert(at, random.next() as u8),
        3 => drop(data.drain(part(data.len(), random))),
        4 => data.truncate(at),
        5 => {
            let piece = data[part(data.len(), random)].to_vec();
            data.splice(at..at, piece);
        }
        6 => {
            let piece = other[part(other.len(), random)].to_vec();
            let place = part(data.len(), random);
            data.splice(place, piece);
        }
        7 => {
            let from = random.below(other.len());
            data.truncate(at);
            data.extend(&other[from..]);
        }
        _ => word(data, at, random),
    }
}

/// Overwrites a length or a number in binary.
fn word(data: &mut [u8], at: usize, random: &mut Random) {
    let words: [u64; 12] = [
        0,
        1,
        2,
        0x7f,
        0xff,
        0xffff,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 30,
        i64::MAX as u64,
        u64::MAX,
        0x7ff0 << 48,
    ];
    let mut value = words[random.below(words.len())];
    if random.once_in(3) {
        value = data.len() as u64 + random.below(5) as u64 - 2.min(data.len() as u64);
    }
    let bytes = value.to_le_bytes();
    let count = [1, 2, 4, 8][random.below(4)].min(data.len() - at);
    data[at..at + count].copy_from_slice(&bytes[..count]);
}

fn of_text(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match random.below(10) {
        0..=3 => number(data, random),
        4 => {
            let nest = random.one_of(&NESTS).repeat([2, 20, 200, 20_000][random.below(4)]);
            let at = random.below(data.len());
            data.splice(at..at, nest.into_bytes());
        }
        5 => {
            // Very long: a piece many times over.
            let piece =
                if random.once_in(2) { piece_between(data, b",", random) } else { part(data.len(), random) };
            let times = [10, 1000, 100_000][random.below(3)];
            let many = data[piece.clone()].repeat(times.min(LARGEST / piece.len().max(1)));
            data.splice(piece, many);
        }
        6 => {
            let from = piece_between(data, b"\"", random);
            let piece = if random.once_in(2) {
                data[from].to_vec()
            } else {
                other[piece_between(other, b"\"", random)].to_vec()
            };
            let to = piece_between(data, b"\"", random);
            data.splice(to, piece);
        }
        _ => lines(data, other, random),
    }
}

/// Deletes, doubles, moves or takes over a line.
fn lines(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let line = piece_between(data, b"\n", random);
    let at = piece_between(data, b"\n", random).start;
    let with_break = line.start..(line.end + 1).min(data.len());
    match random.below(4) {
        0 => drop(data.drain(with_break)),
        1 => {
            let copy = data[with_break].to_vec();
            data.splice(at..at, copy);
        }
        2 => {
            let moved = data[with_break.clone()].to_vec();
            data.drain(with_break);
            let at = at.min(data.len());
            data.splice(at..at, moved);
        }
        _ => {
            let mut taken = other[piece_between(other, b"\n", random)].to_vec();
            taken.push(b'\n');
            data.splice(at..at, taken);
        }
    }
}

/// The piece around a random place up to the nearest of `ends` on each side.
fn piece_between(data: &[u8], ends: &[u8], random: &mut Random) -> Range<usize> {
    let at = random.below(data.len());
    let start = data[..at].iter().rposition(|b| ends.contains(b)).map_or(0, |k| k + 1);
    let end = data[at..].iter().position(|b| ends.contains(b)).map_or(data.len(), |k| at + k);
    start..end
}

/// Puts another number in the place of one.
fn number(data: &mut Vec<u8>, random: &mut Random) {
    let of_number = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
    let from = random.below(data.len());
    let Some(at) = data[from..].iter().position(u8::is_ascii_digit).map(|k| from + k) else { return };
    let start = data[..at].iter().rposition(|b| !of_number(b)).map_or(0, |k| k + 1);
    let end = data[at..].iter().position(|b| !of_number(b)).map_or(data.len(), |k| at + k);
    let old = std::str::from_utf8(&data[start..end]).ok().and_then(|text| text.parse::<f64>().ok());
    let new = match (old, random.below(3)) {
        (Some(x), 0) => {
            let factors = [-1.0, 0.5, 2.0, 10.0, 0.1, 1.001, 1e3, 1e-3, 1e6];
            let y = x * factors[random.below(factors.len())];
            if random.once_in(2) { format!("{y}") } else { format!("{}", y as i64) }
        }
        (Some(x), 1) if random.once_in(2) => {
            format!("{}", (x as i64).saturating_add(random.below(5) as i64 - 2))
        }
        _ => random.one_of(&NUMBERS).to_owned(),
    };
    data.splice(start..end, new.into_bytes());
}

/// Sets the check sums of an MCAP file to none, so that what they protect is read.
pub fn without_sums(data: &mut [u8]) {
    let mut at = 8;
    while at + 9 <= data.len() {
        let length = u64::from_le_bytes(data[at + 1..at + 9].try_into().unwrap_or_default());
        let Some(end) = usize::try_from(length).ok().and_then(|n| (at + 9).checked_add(n)) else { return };
        let sum = match data[at] {
            6 => at + 9 + 24,
            15 => at + 9,
            _ => usize::MAX - 4,
        };
        if let Some(sum) = data.get_mut(sum..sum + 4) {
            sum.fill(0);
        }
        at = end;
    }
}
