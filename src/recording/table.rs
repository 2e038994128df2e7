//! Recordings in CSV files: `t, q1.., dq1.., tau1..` and further columns, in any order. An empty field is no reading.

use std::fs::File;
use std::path::Path;

use super::Sample;
use super::assemble::{Assembler, Quantity};
use super::ending::WholeLines;
use super::{LogError, LogPlace, LogRequest, MeasurementLog};
use crate::robot::Model;

/// Characters of a heading that messages show.
const HEADING_SHOWN: usize = 60;
const QUANTITIES: [&str; 3] = ["q", "dq", "tau"];
/// What the numbers of each quantity are counted in.
const UNITS: [&str; 3] =
    ["joints or numbers of a configuration", "joints or degrees of freedom", "joints or degrees of freedom"];

/// Reads a CSV file.
pub(super) fn read(path: &Path, robot: &Model, request: &LogRequest) -> Result<MeasurementLog, LogError> {
    let mut table = Table::open(path, robot, &request.further)?;
    let mut assembler = Assembler::new(path, robot, request);
    let mut record = csv::StringRecord::new();
    while table.next(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        let (sample, further) = table.sample(&record, line)?;
        assembler.push(sample, further, |quantity| table.place(line, quantity))?;
    }
    let both = |j: usize| format!("columns `q{0}` and `dq{0}`", j + 1);
    assembler.finish(table.ignored(), vec![], table.file.get_ref().left_out(), both)
}

/// A CSV file whose heading has been understood.
struct Table<'a> {
    path: &'a Path,
    file: csv::Reader<WholeLines<File>>,
    heading: Vec<String>,
    /// Columns of t, then of q, dq, tau joint by joint.
    time: usize,
    columns: [Vec<usize>; 3],
    further: Vec<usize>,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path, robot: &Model, further: &[String]) -> Result<Self, LogError> {
        let read = |e: csv::Error| unreadable(path, &e);
        let lines = WholeLines::new(File::open(path).map_err(|e| read(e.into()))?);
        let mut file = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(lines);
        let heading: Vec<String> = file.headers().map_err(read)?.iter().map(str::to_owned).collect();
        let columns = [const { Vec::new() }; 3];
        let mut table = Self { path, file, heading, time: 0, columns, further: vec![] };
        table.time = table.column("t", robot.bodies())?;
        let further: Result<_, _> = further.iter().map(|name| table.column(name, robot.bodies())).collect();
        table.further = further?;
        for (k, quantity) in QUANTITIES.iter().enumerate() {
            let joints = if k == 0 { robot.nq() } else { robot.nv() };
            let found: Result<_, _> =
                (1..=joints).map(|j| table.column(&format!("{quantity}{j}"), joints)).collect();
            table.columns[k] = found?;
            let beyond = format!("{quantity}{}", joints + 1);
            if table.heading.contains(&beyond) {
                let reason = format!("is one too many: the robot has {joints} {}", UNITS[k]);
                return Err(LogError::BadColumn { path: path.to_owned(), column: beyond, reason });
            }
        }
        Ok(table)
    }

    fn column(&self, name: &str, joints: usize) -> Result<usize, LogError> {
        let mut places = self.heading.iter().enumerate().filter(|(_, h)| *h == name).map(|(i, _)| i);
        let (path, column) = (self.path.to_owned(), name.to_owned());
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => {
                Err(LogError::BadColumn { path, column, reason: "occurs twice".to_owned() })
            }
            _ => Err(LogError::MissingColumn { path, column, joints, found: self.what_there_is() }),
        }
    }

    /// The heading in a few words.
    fn what_there_is(&self) -> String {
        let names = self.heading.join(",");
        let start: String = names.chars().take(HEADING_SHOWN).collect();
        let more = if start.len() < names.len() { "..." } else { "" };
        match self.heading.len() {
            0 => "the file is empty".to_owned(),
            count => format!("it has {count} column(s): {start}{more}"),
        }
    }

    /// Reads the next row; false at the end of the file.
    fn next(&mut self, record: &mut csv::StringRecord) -> Result<bool, LogError> {
        self.file.read_record(record).map_err(|e| unreadable(self.path, &e))
    }

    fn sample(&self, record: &csv::StringRecord, line: u64) -> Result<(Sample, Vec<f64>), LogError> {
        if record.len() != self.heading.len() {
            let (found, expected) = (record.len(), self.heading.len());
            return Err(LogError::WrongCount { path: self.path.to_owned(), line, found, expected });
        }
        let number = |column: usize| -> Result<f64, LogError> {
            let text = &record[column];
            match text.parse() {
                Ok(x) if f64::is_finite(x) => Ok(x),
                _ => {
                    let place = LogPlace::Field { line, column: self.heading[column].clone() };
                    Err(LogError::BadNumber { path: self.path.to_owned(), place, text: text.to_owned() })
                }
            }
        };
        let reading = |&column: &usize| if record[column].is_empty() { Ok(f64::NAN) } else { number(column) };
        let vector = |k: usize| self.columns[k].iter().map(reading).collect::<Result<Vec<f64>, LogError>>();
        let sample = Sample { t: number(self.time)?, q: vector(0)?, dq: vector(1)?, tau: vector(2)? };
        Ok((sample, self.further.iter().map(reading).collect::<Result<_, _>>()?))
    }

    fn place(&self, line: u64, quantity: Quantity) -> LogPlace {
        let column = match quantity {
            Quantity::Time => self.time,
            Quantity::Position(j) => self.columns[0][j],
            Quantity::Velocity(j) => self.columns[1][j],
            Quantity::Torque(j) => self.columns[2][j],
        };
        LogPlace::Field { line, column: self.heading[column].clone() }
    }

    fn ignored(&self) -> Vec<String> {
        let lists = self.columns.iter().chain([&self.further]);
        let used = |i: &usize| *i == self.time || lists.clone().any(|c| c.contains(i));
        (0..self.heading.len()).filter(|i| !used(i)).map(|i| self.heading[i].clone()).collect()
    }
}

/// A file that is no CSV file.
fn unreadable(path: &Path, error: &csv::Error) -> LogError {
    let reason = match (error.kind(), error.position()) {
        (csv::ErrorKind::Utf8 { .. }, at) => {
            let line = at.map_or(1, csv::Position::line);
            format!("line {line}: no text in UTF-8; expected a CSV file with a heading, or an MCAP file")
        }
        _ => error.to_string(),
    };
    LogError::Read { path: path.to_owned(), reason }
}
