//! What a log is known again by.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Failure;
use crate::identify::proof::LogFile;
use crate::recording::{AngleUnit, LogRequest};

/// Bytes that are hashed at a time: any number does, and a log need not fit into memory.
const PORTION: usize = 1 << 16;

/// What has to be known of a log to read it again and to know it again.
///
/// # Errors
/// Bad input if the file cannot be read.
pub(super) fn describe(path: &Path, request: &LogRequest) -> Result<LogFile, Failure> {
    let sha256 = hash(path)?;
    let degrees = request.unit == AngleUnit::Degrees;
    let (topic, format) = (request.topic.clone(), request.format.clone());
    let left_out_s = request.left_out_s.clone();
    Ok(LogFile { path: path.to_owned(), sha256, degrees, topic, format, left_out_s })
}

/// SHA-256 of all bytes, in hexadecimal digits.
///
/// # Errors
/// Bad input if the file cannot be read.
pub(super) fn hash(path: &Path) -> Result<String, Failure> {
    let all = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let (mut hash, mut portion) = (Sha256::new(), vec![0; PORTION]);
        loop {
            match file.read(&mut portion)? {
                0 => break,
                count => hash.update(&portion[..count]),
            }
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    };
    all().map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}
