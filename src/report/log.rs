//! `log.csv`: what was measured, wanted and missed, one row a sample.

use std::io::Write;

use super::ReportError;
use crate::horizon::LogRow;

/// Writes the heading `t,q1..,dq1..,tau1..,qd1..,dqd1..,e1..` and all rows. Numbers are the shortest decimals that
/// read back to the same double; NaN and infinities stand as `NaN` and `inf`.
///
/// # Errors
/// [`ReportError::Csv`] if `sink` fails or rows differ in length.
pub fn write_csv<W: Write>(rows: &[LogRow], joints: usize, sink: W) -> Result<(), ReportError> {
    let mut file = csv::Writer::from_writer(sink);
    let prefixes = ["q", "dq", "tau", "qd", "dqd", "e"];
    let names = prefixes.iter().flat_map(|p| (1..=joints).map(move |i| format!("{p}{i}")));
    file.write_record(std::iter::once("t".to_owned()).chain(names))?;
    for row in rows {
        let values = row.columns().into_iter().flat_map(|(_, column)| column.iter());
        file.write_record(std::iter::once(&row.t).chain(values).map(f64::to_string))?;
    }
    file.flush().map_err(csv::Error::from)?;
    Ok(())
}
