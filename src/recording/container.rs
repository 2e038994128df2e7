//! The records of an MCAP file (version 0, <https://mcap.dev/spec>), as far as messages need them.
//!
//! A file is eight magic bytes, records, and the magic bytes again. A record is one byte that says which, the length of its
//! contents in 64 bits, and the contents; numbers are little-endian. A chunk holds further records, mostly compressed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::{LogError, MCAP_MAGIC};

const FOOTER: u8 = 0x02;
const SCHEMA: u8 = 0x03;
const CHANNEL: u8 = 0x04;
const MESSAGE: u8 = 0x05;
const CHUNK: u8 = 0x06;
const DATA_END: u8 = 0x0f;
/// Bytes before a record's contents.
const HEAD: usize = 9;
/// No chunk is larger once it is decompressed: writers end a chunk after some 1 to 8 MB, and a few bytes could promise to become more than
/// there is memory.
const LARGEST_CHUNK: u64 = 1 << 27;

/// A record that says something about messages.
pub(super) enum Record<'a> {
    /// A message type.
    Schema { id: u16, name: String },
    /// Messages of one type under one topic; `schema` 0 stands for none.
    Channel { id: u16, schema: u16, topic: String, encoding: String },
    /// One message.
    Message { channel: u16, data: &'a [u8] },
}

/// What is done with a record.
type Visit<'a> = dyn FnMut(Record<'_>) -> Result<(), LogError> + 'a;
/// Makes an error of what is wrong with the file.
type Damaged<'a> = dyn Fn(String) -> LogError + 'a;

/// Calls `visit` for every schema, channel and message of a file, those in chunks included, and checks the sums that the
/// file has over its data. Of a file that is cut off the whole records are visited; the answer is where it breaks off, in words.
pub(super) fn walk(file: File, damaged: &Damaged, visit: &mut Visit) -> Result<Option<String>, LogError> {
    let mut source = Source::new(file).map_err(|e| damaged(e.to_string()))?;
    let mut sum = crc32fast::Hasher::new();
    let mut contents = vec![];
    let mut data_ended = false;
    source.fill(MCAP_MAGIC.len() as u64, &mut contents).map_err(damaged)?;
    sum.update(&contents);
    loop {
        let whole = source.at;
        if !source.fill(HEAD as u64, &mut contents).map_err(damaged)? {
            return Ok(Some(source.breaks_off(whole, data_ended)));
        }
        let head = contents.clone();
        let (kind, length) = Fields(&head).head().map_err(damaged)?;
        if !source.fill(length, &mut contents).map_err(damaged)? {
            return Ok(Some(source.breaks_off(whole, data_ended)));
        }
        match kind {
            CHUNK => {
                let records = chunk(&contents).map_err(damaged)?;
                walk_chunk(&records, damaged, visit)?;
            }
            DATA_END => {
                check_sum(Fields(&contents).u32().map_err(damaged)?, sum.clone()).map_err(damaged)?;
                data_ended = true;
            }
            FOOTER => break,
            _ => visit_record(kind, &contents, damaged, visit)?,
        }
        sum.update(&head);
        sum.update(&contents);
    }
    let whole = source.at;
    if !source.fill(MCAP_MAGIC.len() as u64, &mut contents).map_err(damaged)? {
        return Ok(Some(source.breaks_off(whole, true)));
    }
    if contents == MCAP_MAGIC {
        Ok(None)
    } else {
        Err(damaged("it does not end as an MCAP file does".to_owned()))
    }
}

/// A file on its way.
struct Source {
    file: BufReader<File>,
    /// Bytes that were read.
    at: u64,
    /// Whether the file ends as it should. One that does is not cut off: what leads beyond its end is damage.
    complete: bool,
}

impl Source {
    fn new(mut file: File) -> io::Result<Self> {
        let mut end = vec![];
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(MCAP_MAGIC.len() as u64)))?;
        file.read_to_end(&mut end)?;
        file.rewind()?;
        let complete = length >= 2 * MCAP_MAGIC.len() as u64 && end == MCAP_MAGIC;
        Ok(Self { file: BufReader::new(file), at: 0, complete })
    }

    /// Reads exactly `count` bytes into `contents`, or answers that the file is cut off before; storage grows with what is there, not with
    /// what is promised.
    fn fill(&mut self, count: u64, contents: &mut Vec<u8>) -> Result<bool, String> {
        contents.clear();
        (&mut self.file).take(count).read_to_end(contents).map_err(|e| e.to_string())?;
        self.at += contents.len() as u64;
        match contents.len() as u64 == count {
            false if self.complete => {
                Err("a record leads beyond the end of the file: the file is damaged".to_owned())
            }
            filled => Ok(filled),
        }
    }

    /// Where the file breaks off; what ends at byte `whole` was read.
    fn breaks_off(&self, whole: u64, data_ended: bool) -> String {
        let left_out = self.at - whole;
        match data_ended {
            true => format!("the file is cut off at byte {}, behind its messages: none is missing", self.at),
            false => format!(
                "the file is cut off at byte {}: the last {left_out} bytes are no whole record and are left out",
                self.at
            ),
        }
    }
}

fn walk_chunk(records: &[u8], damaged: &Damaged, visit: &mut Visit) -> Result<(), LogError> {
    let mut rest = Fields(records);
    while !rest.0.is_empty() {
        let (kind, contents) = rest
            .head()
            .and_then(|(kind, length)| Ok((kind, rest.take(length)?)))
            .map_err(|reason| damaged(format!("in a chunk, {reason}")))?;
        visit_record(kind, contents, damaged, visit)?;
    }
    Ok(())
}

/// All other records say nothing about messages.
fn visit_record(kind: u8, contents: &[u8], damaged: &Damaged, visit: &mut Visit) -> Result<(), LogError> {
    let mut fields = Fields(contents);
    let mut record = || {
        Ok::<_, String>(match kind {
            SCHEMA => Some(Record::Schema { id: fields.u16()?, name: fields.string()? }),
            CHANNEL => Some(Record::Channel {
                id: fields.u16()?,
                schema: fields.u16()?,
                topic: fields.string()?,
                encoding: fields.string()?,
            }),
            MESSAGE => {
                let channel = fields.u16()?;
                // Its number and two times of the recorder.
                fields.take(4 + 8 + 8)?;
                Some(Record::Message { channel, data: fields.0 })
            }
            _ => None,
        })
    };
    record().map_err(damaged)?.map_or(Ok(()), visit)
}

/// The records in a chunk.
fn chunk(contents: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let mut fields = Fields(contents);
    // The first and the last time of its messages.
    fields.take(8 + 8)?;
    let (size, sum) = (fields.u64()?, fields.u32()?);
    let compression = fields.string()?;
    let length = fields.u64()?;
    let data = fields.take(length)?;
    let records = match compression.as_str() {
        "" => Cow::Borrowed(data),
        _ if size > LARGEST_CHUNK => {
            return Err(format!("a chunk of {size} bytes, expected at most {LARGEST_CHUNK}"));
        }
        "lz4" => Cow::Owned(decompressed(lz4_flex::frame::FrameDecoder::new(data), size)?),
        "zstd" => {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(data).map_err(|e| format!("a chunk: {e}"))?;
            Cow::Owned(decompressed(decoder, size)?)
        }
        other => return Err(format!("a chunk compressed by `{other}`, expected zstd, lz4 or nothing")),
    };
    if records.len() as u64 != size {
        return Err(format!("a chunk of {} bytes, expected {size}", records.len()));
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&records);
    check_sum(sum, hasher)?;
    Ok(records)
}

fn decompressed(source: impl Read, size: u64) -> Result<Vec<u8>, String> {
    let mut records = vec![];
    // One byte more than there should be, so that too much is noticed.
    let mut source = source.take(size.saturating_add(1));
    source.read_to_end(&mut records).map_err(|e| format!("a chunk cannot be decompressed: {e}"))?;
    Ok(records)
}

/// Compares with the sum that the file states; 0 stands for none.
fn check_sum(stated: u32, found: crc32fast::Hasher) -> Result<(), String> {
    let found = found.finalize();
    if stated == 0 || stated == found {
        return Ok(());
    }
    Err(format!("the file is damaged: check sum {found:08x}, expected {stated:08x}"))
}

/// What is left of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let count = usize::try_from(count).ok().filter(|&count| count <= self.0.len());
        let count = count.ok_or("a record is shorter than its fields: the file is damaged")?;
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, String> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Result<String, String> {
        let count = self.u32()?;
        let text = self.take(u64::from(count))?.to_vec();
        String::from_utf8(text).map_err(|_| "a name that is no UTF-8: the file is damaged".to_owned())
    }

    /// Which record follows, and how long its contents are.
    fn head(&mut self) -> Result<(u8, u64), String> {
        let [kind] = self.array()?;
        Ok((kind, self.u64()?))
    }
}
