//! Time series: what happened on the way, written as it happens to CSV or Parquet files.
//!
//! A [`Recorder`] is an observer of the engine that writes one row for each sample, flows into one
//! file and links into another, so that memory stays flat however long the simulation. Each file
//! begins with the command, the seed and the version that made it; CSV as comments after `#`,
//! Parquet as key-value metadata.
//!
//! Flows: `time_s`, `flow`, `on` (0 or 1), `cwnd`, `in_flight` and `delivered` (packets), `intersend_ms`,
//! `rtt_ms` of the last acknowledged packet; of RemyCCs also their six signals (times in ms) and
//! `rule`. Links: `time_s`, `link`, `queue_packets` and `queue_bytes` that wait, `busy` (0 or 1).
//! Flows and links are numbered as in the network. What is not known is left empty.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use crate::engine::{FlowSample, LinkSample, Observer, Pace};
use crate::scenario::SeriesSpec;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Where a file of results comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The command that made it, as typed.
    pub command: String,
    /// The seed of the simulation.
    pub seed: u64,
    /// The version of the program.
    pub version: String,
}

impl Origin {
    /// What is told of the origin: names and values.
    fn entries(&self) -> [(&'static str, String); 3] {
        [
            ("command", self.command.clone()),
            ("seed", self.seed.to_string()),
            ("version", self.version.clone()),
        ]
    }
}

/// A file format for series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated text.
    Csv,
    /// Apache Parquet, compressed with Snappy.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    const fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
        }
    }
}

/// A series that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the series {}: {source}", path.display())]
pub struct SeriesError {
    path: PathBuf,
    source: io::Error,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Whole(i64),
    Real(f64),
    Nothing,
}

/// A column: its name, and whether its values are whole numbers.
#[derive(Clone, Copy, Debug)]
struct Column {
    name: &'static str,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "CSV has no types"))]
    whole: bool,
}

const fn whole(name: &'static str) -> Column {
    Column { name, whole: true }
}

const fn real(name: &'static str) -> Column {
    Column { name, whole: false }
}

const FLOW_COLUMNS: [Column; 15] = [
    real("time_s"),
    whole("flow"),
    whole("on"),
    whole("cwnd"),
    real("intersend_ms"),
    whole("in_flight"),
    whole("delivered"),
    real("rtt_ms"),
    real("send_ewma"),
    real("ack_ewma"),
    real("rtt_ratio"),
    real("slow_ack_ewma"),
    real("rtt_diff"),
    real("queueing_delay"),
    whole("rule"),
];

const LINK_COLUMNS: [Column; 5] =
    [real("time_s"), whole("link"), whole("queue_packets"), whole("queue_bytes"), whole("busy")];

/// A table being written, row by row.
trait Table {
    /// Writes one row, as long as there are columns.
    fn row(&mut self, cells: &[Cell]) -> io::Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A table on its way to a file. The file has a preliminary name until it is whole, and is removed
/// if it never becomes so.
struct Output {
    path: PathBuf,
    /// Nothing once it is whole.
    table: Option<Box<dyn Table>>,
}

impl Output {
    fn create(
        path: PathBuf,
        format: Format,
        columns: &'static [Column],
        origin: &Origin,
    ) -> Result<Output, SeriesError> {
        let open = || -> io::Result<Box<dyn Table>> {
            let writer = BufWriter::new(File::create(preliminary(&path))?);
            Ok(match format {
                Format::Csv => Box::new(csv::Csv::new(writer, columns, origin)?),
                #[cfg(feature = "parquet")]
                Format::Parquet => Box::new(parquet::Parquet::new(writer, columns, origin)?),
            })
        };
        // Made before the file is, so that one half made is removed too.
        let mut output = Output { path: path.clone(), table: None };
        match open() {
            Ok(table) => {
                output.table = Some(table);
                Ok(output)
            }
            Err(source) => Err(SeriesError { path, source }),
        }
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        self.table.as_mut().map_or(Ok(()), |table| table.row(row))
    }

    fn finish(mut self) -> Result<PathBuf, SeriesError> {
        let path = self.path.clone();
        let whole = self.table.take().map_or(Ok(()), Table::finish);
        match whole.and_then(|()| std::fs::rename(preliminary(&path), &path)) {
            Ok(()) => Ok(path),
            Err(source) => Err(SeriesError { path, source }),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Once it is whole there is no file of this name.
        let _ = std::fs::remove_file(preliminary(&self.path));
    }
}

fn file_of(stem: &Path, kind: &str, format: Format) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(format!(".{kind}.{}", format.extension()));
    path.into()
}

fn preliminary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Writes time series as a simulation runs.
pub struct Recorder {
    pace: Pace,
    flows: Option<Output>,
    links: Option<Output>,
    error: Option<SeriesError>,
}

impl Recorder {
    /// Records what `spec` asks for into the files `STEM.flows.EXT` and `STEM.links.EXT`, the
    /// extension that of `format`. They appear under these names when the recorder is finished.
    ///
    /// # Errors
    /// [`SeriesError`] where a file cannot be created.
    pub fn create(
        spec: &SeriesSpec,
        stem: &Path,
        format: Format,
        origin: &Origin,
    ) -> Result<Recorder, SeriesError> {
        let output = |wanted: bool, kind: &str, columns: &'static [Column]| {
            let path = file_of(stem, kind, format);
            wanted.then(|| Output::create(path, format, columns, origin)).transpose()
        };
        Ok(Recorder {
            pace: spec.pace,
            flows: output(spec.flows, "flows", &FLOW_COLUMNS)?,
            links: output(spec.links, "links", &LINK_COLUMNS)?,
            error: None,
        })
    }

    /// The files as they are called until they are whole. A recorder that is dropped unfinished
    /// removes them; a program that ends without dropping it has to.
    pub fn preliminary_paths(&self) -> Vec<PathBuf> {
        self.flows.iter().chain(&self.links).map(|output| preliminary(&output.path)).collect()
    }

    /// The files that a recorder of the same arguments would write.
    pub fn paths(spec: &SeriesSpec, stem: &Path, format: Format) -> Vec<PathBuf> {
        let kinds = [(spec.flows, "flows"), (spec.links, "links")];
        let wanted = kinds.into_iter().filter(|&(wanted, _)| wanted);
        wanted.map(|(_, kind)| file_of(stem, kind, format)).collect()
    }

    /// Completes the files and returns their paths.
    ///
    /// # Errors
    /// The first [`SeriesError`] met since the start; what came after it is not recorded.
    pub fn finish(self) -> Result<Vec<PathBuf>, SeriesError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.flows.into_iter().chain(self.links).map(Output::finish).collect()
    }
}

impl Observer for Recorder {
    fn pace(&self) -> Pace {
        self.pace
    }

    fn flow(&mut self, sample: &FlowSample) {
        let number = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Real);
        let signal = |index: usize| number(sample.signals.map(|signals| signals[index]));
        let rule = sample.rule.map_or(Cell::Nothing, |rule| Cell::Whole(rule as i64));
        let row = [
            Cell::Real(sample.at.as_nanos() as f64 / 1e9),
            Cell::Whole(sample.flow as i64),
            Cell::Whole(i64::from(sample.on)),
            Cell::Whole(sample.cwnd.get() as i64),
            Cell::Real(sample.intersend.as_nanos() as f64 / 1e6),
            Cell::Whole(sample.in_flight.get() as i64),
            Cell::Whole(sample.delivered as i64),
            number(sample.rtt.map(|rtt| rtt.as_nanos() as f64 / 1e6)),
            signal(0),
            signal(1),
            signal(2),
            signal(3),
            signal(4),
            signal(5),
            rule,
        ];
        write_row(&mut self.flows, &mut self.error, &row);
    }

    fn link(&mut self, sample: &LinkSample) {
        let row = [
            Cell::Real(sample.at.as_nanos() as f64 / 1e9),
            Cell::Whole(sample.link as i64),
            Cell::Whole(sample.packets as i64),
            Cell::Whole(sample.bytes as i64),
            Cell::Whole(i64::from(sample.busy)),
        ];
        write_row(&mut self.links, &mut self.error, &row);
    }
}

/// Writes `row`, unless nothing is to be written there or something failed before.
fn write_row(output: &mut Option<Output>, error: &mut Option<SeriesError>, row: &[Cell]) {
    if let (Some(output), None) = (output, &error)
        && let Err(source) = output.row(row)
    {
        *error = Some(SeriesError { path: output.path.clone(), source });
    }
}

#[cfg(test)]
mod tests;
