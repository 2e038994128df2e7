//! One message of the type `sensor_msgs/JointState`, from the two encodings in which MCAP files hold it.
//!
//! CDR is what ROS 2 writes: four bytes that name the byte order, then the fields in the order of the message's
//! definition, each aligned to its own size counted from the end of those four bytes. Strings and sequences begin with
//! their length in 32 bits; a string's includes its closing zero.

use serde::Deserialize;

/// A joint state: one entry a joint in each vector that is filled at all.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct JointState {
    header: Header,
    pub(super) name: Vec<String>,
    #[serde(default)]
    pub(super) position: Vec<f64>,
    #[serde(default)]
    pub(super) velocity: Vec<f64>,
    #[serde(default)]
    pub(super) effort: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Header {
    stamp: Stamp,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Stamp {
    sec: i64,
    #[serde(alias = "nsec")]
    nanosec: u32,
}

impl JointState {
    /// Time of the measurement in nanoseconds; exact, where a 64-bit float of seconds since 1970 is good to 0.2 us.
    pub(super) fn nanoseconds(&self) -> i128 {
        i128::from(self.header.stamp.sec) * 1_000_000_000 + i128::from(self.header.stamp.nanosec)
    }

    /// Reads a message in JSON; says what is wrong with it otherwise.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|e| format!("no joint state in JSON: {e}"))
    }

    /// Reads a message in CDR; says what is wrong with it otherwise.
    pub(super) fn from_cdr(bytes: &[u8]) -> Result<Self, String> {
        let big = match bytes {
            [0, 0, _, _, ..] => true,
            [0, 1, _, _, ..] => false,
            [a, b, _, _, ..] => {
                return Err(format!(
                    "starts with the bytes {a:02x} {b:02x}, expected 00 00 or 00 01 (plain CDR)"
                ));
            }
            _ => return Err(format!("{} bytes, expected at least 4", bytes.len())),
        };
        let mut cdr = Cdr { bytes: &bytes[4..], at: 0, big };
        let sec = i64::from(cdr.u32()?.cast_signed());
        let nanosec = cdr.u32()?;
        let _frame = cdr.string()?;
        let count = cdr.count(4)?;
        let name = (0..count).map(|_| cdr.string()).collect::<Result<_, _>>()?;
        let (position, velocity, effort) = (cdr.numbers()?, cdr.numbers()?, cdr.numbers()?);
        Ok(Self { header: Header { stamp: Stamp { sec, nanosec } }, name, position, velocity, effort })
    }
}

/// A place in a message in CDR.
struct Cdr<'a> {
    /// What follows the first four bytes.
    bytes: &'a [u8],
    at: usize,
    big: bool,
}

impl<'a> Cdr<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest
            .get(..count)
            .ok_or_else(|| format!("ends within a field, at byte {}", self.bytes.len() + 4))?;
        self.at += count;
        Ok(taken)
    }

    /// The next `N` bytes from a multiple of `N`, the most significant one first.
    fn aligned<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.at = self.at.next_multiple_of(N);
        let mut word = [0; N];
        word.copy_from_slice(self.take(N)?);
        if !self.big {
            word.reverse();
        }
        Ok(word)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.aligned().map(u32::from_be_bytes)
    }

    /// A length of something whose entries take at least `size` bytes each, so that no storage is made for entries that
    /// cannot be there.
    fn count(&mut self, size: usize) -> Result<usize, String> {
        let count = self.u32()? as usize;
        let left = self.bytes.len().saturating_sub(self.at);
        if count > left / size {
            return Err(format!("a length of {count}, but only {left} bytes are left"));
        }
        Ok(count)
    }

    fn string(&mut self) -> Result<String, String> {
        let count = self.count(1)?;
        let text = self.take(count)?;
        let text = text.strip_suffix(&[0]).unwrap_or(text);
        String::from_utf8(text.to_vec()).map_err(|_| "a name that is no UTF-8".to_owned())
    }

    fn numbers(&mut self) -> Result<Vec<f64>, String> {
        let count = self.count(8)?;
        (0..count).map(|_| self.aligned().map(f64::from_be_bytes)).collect()
    }
}
