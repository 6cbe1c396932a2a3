//! Time series of a simulation, written as it runs to CSV or Parquet files.
//!
//! A [`Recorder`] is an observer of the engine that writes one row per sample, flows into one file and
//! links into another, so memory use does not grow with the length of the simulation. Each file begins
//! with the command, the seed and the version that made it; in CSV as comments after `#`, in Parquet as
//! key-value metadata.
//!
//! Flows: `time_s`, `flow`, `on` (0 or 1), `cwnd`, `in_flight` and `delivered` (packets), `intersend_ms`,
//! `rtt_ms` of the last acknowledged packet; for RemyCCs also their signals
//! (times in ms) and `rule`.
//! Links: `time_s`, `link`, `queue_packets` and `queue_bytes` (waiting), `busy` (0 or 1). Flows and links
//! are numbered as in the network. Unknown values are empty.
//!
//! [`Rates`] keeps the rates of flows in memory instead, for metrics that are computed from them.

mod rates;

pub use rates::Rates;

use crate::engine::{FlowSample, LinkSample, Observer, Pace};
use crate::scenario::SeriesSpec;
pub use exm_store::Format;
use exm_store::{Cell, Column, Header, PartialFile, RowWriter};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The origin of a file of results.
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
    /// The origin as names and values.
    fn entries(&self) -> [(&'static str, String); 3] {
        [
            ("command", self.command.clone()),
            ("seed", self.seed.to_string()),
            ("version", self.version.clone()),
        ]
    }
}

/// A series that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the series {}: {source}", path.display())]
pub struct SeriesError {
    path: PathBuf,
    source: io::Error,
}

const FLOW_COLUMNS: [Column; 18] = [
    Column::real("time_s"),
    Column::whole("flow"),
    Column::whole("on"),
    Column::whole("cwnd"),
    Column::real("intersend_ms"),
    Column::whole("in_flight"),
    Column::whole("delivered"),
    Column::real("rtt_ms"),
    Column::real("send_ewma"),
    Column::real("ack_ewma"),
    Column::real("rtt_ratio"),
    Column::real("slow_ack_ewma"),
    Column::real("rtt_diff"),
    Column::real("queueing_delay"),
    Column::real("ecn"),
    Column::real("loss"),
    Column::real("receive_rate"),
    Column::whole("rule"),
];

const LINK_COLUMNS: [Column; 5] = [
    Column::real("time_s"),
    Column::whole("link"),
    Column::whole("queue_packets"),
    Column::whole("queue_bytes"),
    Column::whole("busy"),
];

/// A file being written, under a preliminary name until it is complete.
struct Output {
    path: PathBuf,
    file: PartialFile,
    rows: RowWriter<BufWriter<File>>,
}

impl Output {
    fn create(
        path: PathBuf,
        format: Format,
        columns: &'static [Column],
        origin: &Origin,
    ) -> Result<Output, SeriesError> {
        let header = Header { schema: "series", columns, origin: &origin.entries() };
        let open = || {
            let file = PartialFile::create(&path)?;
            let rows = RowWriter::new(format, BufWriter::new(file.file().try_clone()?), &header)?;
            Ok((file, rows))
        };
        match open() {
            Ok((file, rows)) => Ok(Output { path, file, rows }),
            Err(source) => Err(SeriesError { path, source }),
        }
    }

    fn finish(self) -> Result<PathBuf, SeriesError> {
        let Output { path, file, rows } = self;
        match rows.finish().and_then(|_| file.commit()) {
            Ok(()) => Ok(path),
            Err(source) => Err(SeriesError { path, source }),
        }
    }
}

fn file_of(stem: &Path, kind: &str, format: Format) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(format!(".{kind}.{}", format.extension()));
    path.into()
}

/// Writes time series as a simulation runs.
pub struct Recorder {
    pace: Pace,
    flows: Option<Output>,
    links: Option<Output>,
    error: Option<SeriesError>,
}

impl Recorder {
    /// Records what `spec` selects into the files `STEM.flows.EXT` and `STEM.links.EXT`, with the
    /// extension of `format`. They get these names when the recorder is finished.
    ///
    /// # Errors
    /// [`SeriesError`] if a file cannot be created.
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

    /// The preliminary names of the files. Dropping an unfinished recorder removes them; a program that
    /// exits without dropping it must remove them itself.
    pub fn preliminary_paths(&self) -> Vec<PathBuf> {
        let outputs = self.flows.iter().chain(&self.links);
        outputs.filter_map(|output| output.file.partial_path()).map(Path::to_owned).collect()
    }

    /// The files that a recorder with the same arguments would write.
    pub fn paths(spec: &SeriesSpec, stem: &Path, format: Format) -> Vec<PathBuf> {
        let kinds = [(spec.flows, "flows"), (spec.links, "links")];
        let wanted = kinds.into_iter().filter(|&(wanted, _)| wanted);
        wanted.map(|(_, kind)| file_of(stem, kind, format)).collect()
    }

    /// Completes the files and returns their paths.
    ///
    /// # Errors
    /// The first [`SeriesError`] since the start; nothing after it was recorded.
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
        let signal = |index: usize| Cell::from(sample.signals.map(|signals| signals[index]));
        let row = [
            Cell::Real(sample.at.as_nanos() as f64 / 1e9),
            Cell::Whole(sample.flow as u64),
            Cell::Whole(u64::from(sample.on)),
            Cell::Whole(sample.cwnd.get()),
            Cell::Real(sample.intersend.as_nanos() as f64 / 1e6),
            Cell::Whole(sample.in_flight.get()),
            Cell::Whole(sample.delivered),
            Cell::from(sample.rtt.map(|rtt| rtt.as_nanos() as f64 / 1e6)),
            signal(0),
            signal(1),
            signal(2),
            signal(3),
            signal(4),
            signal(5),
            signal(6),
            signal(7),
            signal(8),
            Cell::from(sample.rule.map(|rule| rule as u64)),
        ];
        write_row(&mut self.flows, &mut self.error, &row);
    }

    fn link(&mut self, sample: &LinkSample) {
        let row = [
            Cell::Real(sample.at.as_nanos() as f64 / 1e9),
            Cell::Whole(sample.link as u64),
            Cell::Whole(sample.packets),
            Cell::Whole(sample.bytes),
            Cell::Whole(u64::from(sample.busy)),
        ];
        write_row(&mut self.links, &mut self.error, &row);
    }
}

/// Writes `row`, unless that file is not wanted or an earlier write failed.
fn write_row(output: &mut Option<Output>, error: &mut Option<SeriesError>, row: &[Cell<'_>]) {
    if let (Some(output), None) = (output, &error)
        && let Err(source) = output.rows.row(row)
    {
        *error = Some(SeriesError { path: output.path.clone(), source });
    }
}

#[cfg(test)]
mod tests;
