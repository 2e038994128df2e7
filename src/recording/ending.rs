//! Files that end before their end, as a recorder leaves them that was killed, or a disk that is full.
//!
//! Of a text, what is cut off within a number may still be a number, a wrong one. So a last line without a line break is never believed: not even
//! where it has all its fields.

use std::io::{self, Read};

use super::Sample;

/// Bytes that are asked for at a time: any number does.
const PORTION: usize = 1 << 16;

/// Where a file breaks off, with how much of it was read.
pub(super) fn with_extent(breaks_off: &str, samples: &[Sample]) -> String {
    let last = samples.last().map_or(f64::NAN, |sample| sample.t);
    format!("{breaks_off}; {} samples up to t = {last:.3} s were read", samples.len())
}

/// The whole lines of a text; what follows the last line break is held back. A text of a single line without one is given as it is: that is a
/// heading at best, and messages about it should say what it holds.
pub(super) struct WholeLines<R> {
    source: R,
    /// What has been read of the source and not yet given on.
    held: Vec<u8>,
    /// How much of that belongs to whole lines, and how much of it has been given on.
    whole: usize,
    given: usize,
    /// Lines that were found to be whole, and whether the last byte that was read ends a line with `\r`: a `\n` may follow.
    lines: u64,
    after_return: bool,
    ended: bool,
}

impl<R: Read> WholeLines<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, held: vec![], whole: 0, given: 0, lines: 0, after_return: false, ended: false }
    }

    /// What was held back, in words, once all has been read; nothing where the text ends with a line break.
    pub(super) fn left_out(&self) -> Option<String> {
        (self.ended && self.held.len() > self.whole).then(|| {
            format!(
                "line {} does not end with a line break, so it may be cut off and is left out",
                self.lines + 1
            )
        })
    }

    /// Reads a portion more.
    fn fill(&mut self) -> io::Result<()> {
        self.held.drain(..self.given);
        (self.whole, self.given) = (self.whole - self.given, 0);
        let before = self.held.len();
        let count = (&mut self.source).take(PORTION as u64).read_to_end(&mut self.held)?;
        for (k, byte) in self.held.iter().enumerate().skip(before) {
            let second = *byte == b'\n' && self.after_return;
            self.after_return = *byte == b'\r';
            if *byte == b'\n' || *byte == b'\r' {
                self.whole = k + 1;
                self.lines += u64::from(!second);
            }
        }
        self.ended = count < PORTION;
        if self.ended && self.lines == 0 {
            self.whole = self.held.len();
        }
        Ok(())
    }
}

impl<R: Read> Read for WholeLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.whole && !self.ended {
            self.fill()?;
        }
        let count = out.len().min(self.whole - self.given);
        out[..count].copy_from_slice(&self.held[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is given of a text, and what is said of the rest.
    fn lines(text: &[u8]) -> (Vec<u8>, Option<String>) {
        let (mut whole, mut given) = (WholeLines::new(text), vec![]);
        whole.read_to_end(&mut given).unwrap();
        (given, whole.left_out())
    }

    #[test]
    fn what_follows_the_last_line_break_is_held_back_and_said() {
        for whole in ["", "a\n", "a\nb\n", "a\r\nb\r\n", "a\rb\r", "a\n\n"] {
            assert_eq!(lines(whole.as_bytes()), (whole.into(), None));
        }
        for (text, whole, line) in [
            ("a\nb", "a\n", "line 2 "),
            ("a\r\nb\r\nc", "a\r\nb\r\n", "line 3 "),
            ("a\rb\rc", "a\rb\r", "line 3 "),
            ("a\n\0\0", "a\n", "line 2 "),
        ] {
            let (given, left_out) = lines(text.as_bytes());
            assert_eq!(given, whole.as_bytes());
            assert!(left_out.unwrap().starts_with(line));
        }
        // A heading alone.
        assert_eq!(lines(b"t,q1"), (b"t,q1".into(), None));
    }

    #[test]
    fn portions_may_end_anywhere() {
        for count in [PORTION - 2, PORTION - 1, PORTION, PORTION + 1, 3 * PORTION] {
            let mut text = vec![b'x'; count];
            text.extend(b"\r\nsecond\r\nthird");
            let (given, left_out) = lines(&text);
            assert_eq!(given.len(), count + 10);
            assert!(left_out.unwrap().starts_with("line 3 "));
        }
    }
}
