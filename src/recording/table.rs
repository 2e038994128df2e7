//! Recordings in CSV files: `t, q1.., dq1.., tau1..` and further columns, in any order. An empty field is no reading.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::Sample;
use super::assemble::{Assembler, Quantity};
use super::ending::WholeLines;
use super::{LogError, LogPlace, LogRequest, MeasurementLog};
use crate::robot::Model;

/// Characters of a heading that messages show.
const HEADING_SHOWN: usize = 60;
/// Longest heading that is looked at for what parts columns, bytes.
const HEADING_BYTES: u64 = 1 << 16;
/// What the numbers of each quantity are counted in.
const UNITS: [&str; 3] =
    ["joints or numbers of a configuration", "joints or degrees of freedom", "joints or degrees of freedom"];

/// Reads a CSV file.
pub(super) fn read(path: &Path, robot: &Model, request: &LogRequest) -> Result<MeasurementLog, LogError> {
    let mut table = Table::open(path, robot, request)?;
    let mut assembler = Assembler::new(path, robot, request);
    let mut record = csv::StringRecord::new();
    while table.next(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        let row = table.sample(&record, line).and_then(|(sample, further)| {
            assembler.push(sample, further, |quantity| table.place(line, quantity))
        });
        assembler.or_skip(row)?;
    }
    let names = &request.format.columns;
    let both = |j: usize| format!("columns `{}` and `{}`", names.name(1, j, robot), names.name(2, j, robot));
    assembler.finish(table.ignored(), vec![], table.file.get_ref().left_out(), both)
}

/// A CSV file whose heading has been understood.
struct Table<'a> {
    path: &'a Path,
    robot: &'a Model,
    file: csv::Reader<WholeLines<File>>,
    heading: Vec<String>,
    /// Columns of t, then of q, dq, tau joint by joint.
    time: usize,
    columns: [Vec<usize>; 3],
    further: Vec<usize>,
    /// Units of time in a second, where the unit is no second, and the first time, from which such times are counted.
    per_second: Option<f64>,
    first: Option<i128>,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path, robot: &'a Model, request: &LogRequest) -> Result<Self, LogError> {
        let read = |e: csv::Error| unreadable(path, &e);
        let open = || File::open(path).map_err(|e| read(e.into()));
        let delimiter = delimiter(open()?);
        let lines = WholeLines::new(open()?);
        let mut builder = csv::ReaderBuilder::new();
        let mut file = builder.flexible(true).trim(csv::Trim::All).delimiter(delimiter).from_reader(lines);
        let heading: Vec<String> = file.headers().map_err(read)?.iter().map(str::to_owned).collect();
        let columns = [const { Vec::new() }; 3];
        let names = &request.format.columns;
        let per_second = names.per_second();
        let further = vec![];
        let mut table =
            Self { path, robot, file, heading, time: 0, columns, further, per_second, first: None };
        table.time = table.column(&names.name(0, 0, robot), robot.bodies())?;
        let further: Result<_, _> =
            request.further.iter().map(|name| table.column(name, robot.bodies())).collect();
        table.further = further?;
        for k in 0..table.columns.len() {
            let (joints, quantity) = (if k == 0 { robot.nq() } else { robot.nv() }, k + 1);
            let own: Vec<String> = (0..joints).map(|j| names.name(quantity, j, robot)).collect();
            let absent =
                k == 1 && !names.names(quantity) && own.iter().all(|own| !table.heading.contains(own));
            if absent && request.format.velocity_half.is_some() && !robot.has_free_flyer() {
                continue;
            }
            let found: Result<_, _> = own.iter().map(|own| table.column(own, joints)).collect();
            table.columns[k] = found?;
            let beyond = names.name(quantity, joints, robot);
            if !names.names(quantity) && table.heading.contains(&beyond) {
                let reason = format!(
                    "is one too many: the robot has {joints} {}; joints that its files hold still have no columns: name those that count with --columns",
                    UNITS[k]
                );
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

    fn sample(&mut self, record: &csv::StringRecord, line: u64) -> Result<(Sample, Vec<f64>), LogError> {
        if record.len() != self.heading.len() {
            let (found, expected) = (record.len(), self.heading.len());
            return Err(LogError::WrongCount { path: self.path.to_owned(), line, found, expected });
        }
        let t = self.number(record, line, self.time)?;
        let t = self.seconds(&record[self.time], t);
        let reading = |&column: &usize| {
            if record[column].is_empty() { Ok(f64::NAN) } else { self.number(record, line, column) }
        };
        let vector = |k: usize| self.columns[k].iter().map(reading).collect::<Result<Vec<f64>, LogError>>();
        let mut sample = Sample { t, q: vector(0)?, dq: vector(1)?, tau: vector(2)? };
        // Velocities that no column has are no readings.
        sample.dq.resize(sample.tau.len(), f64::NAN);
        Ok((sample, self.further.iter().map(reading).collect::<Result<_, _>>()?))
    }

    fn number(&self, record: &csv::StringRecord, line: u64, column: usize) -> Result<f64, LogError> {
        let text = &record[column];
        match text.parse() {
            Ok(x) if f64::is_finite(x) => Ok(x),
            _ => {
                let place = self.field(line, column);
                Err(LogError::BadNumber { path: self.path.to_owned(), place, text: text.to_owned() })
            }
        }
    }

    /// A time in s. In other units it is counted from the first: whole numbers exactly, whatever their size, where a 64-bit float of
    /// nanoseconds since 1970 would be good to 256 of them.
    fn seconds(&mut self, text: &str, t: f64) -> f64 {
        let Some(per_second) = self.per_second else { return t };
        let whole = text.parse::<i128>();
        let first = *self.first.get_or_insert_with(|| whole.clone().unwrap_or(t.floor() as i128));
        whole.ok().and_then(|whole| whole.checked_sub(first)).map_or(t - first as f64, |apart| apart as f64)
            / per_second
    }

    fn place(&self, line: u64, quantity: Quantity) -> LogPlace {
        let column = match quantity {
            Quantity::Time => self.time,
            Quantity::Position(j) => self.columns[0][j],
            // Of none there is nothing to be refused.
            Quantity::Velocity(j) => self.columns[1].get(j).copied().unwrap_or(self.time),
            Quantity::Torque(j) => self.columns[2][j],
        };
        self.field(line, column)
    }

    fn field(&self, line: u64, column: usize) -> LogPlace {
        let of = |k: usize| self.columns[k].iter().position(|own| *own == column).map(|j| (k, j));
        let named = |(k, j): (usize, usize)| joint_of(self.robot, k == 0, j).map(str::to_owned);
        let joint = (0..self.columns.len()).find_map(of).and_then(named);
        LogPlace::Field { line, column: self.heading[column].clone(), joint }
    }

    fn ignored(&self) -> Vec<String> {
        let lists = self.columns.iter().chain([&self.further]);
        let used = |i: &usize| *i == self.time || lists.clone().any(|c| c.contains(i));
        (0..self.heading.len()).filter(|i| !used(i)).map(|i| self.heading[i].clone()).collect()
    }
}

/// The joint that number `j` of a configuration, or of velocities or torques, is of.
pub(super) fn joint_of(robot: &Model, configuration: bool, j: usize) -> Option<&str> {
    let first = |i: usize| if configuration { robot.q_index(i) } else { robot.v_index(i) };
    let last = (0..robot.joints.len()).rev().find(|&i| first(i) <= j)?;
    Some(&robot.joints[last].name)
}

/// What parts the columns: a semicolon or a tab where the heading has no comma, else a comma.
fn delimiter(file: File) -> u8 {
    let mut heading = Vec::new();
    // What cannot be read is for the reader to tell.
    let _ = BufReader::new(file.take(HEADING_BYTES)).read_until(b'\n', &mut heading);
    let parts = |mark: u8| heading.contains(&mark);
    [b';', b'\t'].into_iter().find(|&mark| parts(mark) && !parts(b',')).unwrap_or(b',')
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
