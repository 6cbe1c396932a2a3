//! [`Direction`]: one direction of a recording, and its files.

use crate::shell::Failure;
use exm_saturator::{Arrival, Precision, Recorder, Saturation, Second};
use exm_units::{Bytes, Span};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is written during the recording.
pub(super) struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    /// Creates a file; an existing one is overwritten only with `force`.
    pub(super) fn create(path: PathBuf, force: bool) -> Result<Output, Failure> {
        let mut options = OpenOptions::new();
        options.write(true);
        let opened = if force {
            options.create(true).truncate(true).open(&path)
        } else {
            options.create_new(true).open(&path)
        };
        match opened {
            Ok(file) => Ok(Output { path, file: BufWriter::new(file) }),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(taken(&path)),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Writes `line` and a line break.
    pub(super) fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.file, "{line}").map_err(|error| failed(&self.path, &error))
    }

    /// Flushes the file.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| failed(&self.path, &error))
    }
}

/// The failure for an existing file.
fn taken(path: &Path) -> Failure {
    Failure::new(format!("{} exists already", path.display()))
        .with_tip("give --force to overwrite it")
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

/// The columns that [`Direction::close`] writes.
pub(super) const COLUMNS: &str =
    "second,direction,received,missing,least_queueing_ms,most_queueing_ms,window,saturated";

/// One direction: its trace, and how saturated it is.
pub(super) struct Direction {
    name: &'static str,
    path: PathBuf,
    recorder: Recorder<BufWriter<File>>,
    saturation: Saturation,
    /// The last second that is complete.
    latest: Option<Second>,
    total: Total,
    /// The size of packets, with all headers.
    size: Bytes,
}

/// The totals of one direction.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Total {
    trace: PathBuf,
    packets: u64,
    /// The opportunities of 1500 bytes in the trace.
    opportunities: u64,
    missing: u64,
    /// Whole seconds from the first to the last arrival.
    seconds: u64,
    saturated_seconds: u64,
    mbps: f64,
    least_mbps: f64,
    most_mbps: f64,
}

impl Direction {
    /// Records the direction called `name` in a file; packets have `size` bytes, with all headers.
    pub(super) fn new(
        name: &'static str,
        output: Output,
        precision: Precision,
        size: Bytes,
    ) -> Direction {
        let recorder = Recorder::new(output.file, precision, size);
        let (saturation, total) = (Saturation::new(), Total::default());
        Direction { name, path: output.path, recorder, saturation, latest: None, total, size }
    }

    /// Adds an arrival, with the sender's window of `window` packets.
    pub(super) fn arrived(&mut self, arrival: Arrival, window: u32) -> Result<(), Failure> {
        self.recorder.arrived(arrival.received_at).map_err(|error| failed(&self.path, &error))?;
        self.saturation.arrived(arrival, window);
        Ok(())
    }

    /// Writes the complete seconds to `table`, and flushes the trace.
    pub(super) fn close(&mut self, table: &mut Output) -> Result<(), Failure> {
        while let Some(second) = self.saturation.closed() {
            self.total.seconds += 1;
            self.total.saturated_seconds += u64::from(second.is_saturated());
            let mbps = self.mbps(second.received, 1.0);
            let is_first = self.total.seconds == 1;
            let least = if is_first { mbps } else { self.total.least_mbps };
            self.total.least_mbps = least.min(mbps);
            self.total.most_mbps = self.total.most_mbps.max(mbps);
            self.total.missing += second.missing;
            self.latest = Some(second);
            table.line(&self.row(&second))?;
        }
        self.recorder.flush().map_err(|error| failed(&self.path, &error))
    }

    /// Writes the last, incomplete second too, and returns the totals.
    pub(super) fn finish(mut self, table: &mut Output) -> Result<Total, Failure> {
        self.close(table)?;
        if let Some(last) = self.saturation.last() {
            table.line(&self.row(&last))?;
            self.total.missing += last.missing;
        }
        let packets = self.recorder.count();
        let seconds = self.total.seconds.max(1) as f64;
        let whole = packets - self.saturation.last().map_or(0, |last| last.received);
        let mbps = self.mbps(whole, seconds);
        let opportunities = self.recorder.opportunities();
        Ok(Total { trace: self.path, packets, opportunities, mbps, ..self.total })
    }

    fn mbps(&self, packets: u64, seconds: f64) -> f64 {
        (packets * self.size.get() * 8) as f64 / seconds / 1e6
    }

    fn row(&self, second: &Second) -> String {
        let millis = |span: Span| format!("{:.3}", span.as_millis_f64());
        let Second { index, received, missing, window, saturated, .. } = second;
        let least = second.least_queueing.map_or(String::new(), millis);
        let most = millis(second.most_queueing);
        let name = self.name;
        format!("{index},{name},{received},{missing},{least},{most},{window},{saturated:.3}")
    }

    /// The state as short text.
    pub(super) fn summary(&self) -> String {
        let Some(second) = self.latest else { return format!("{}: nothing yet", self.name) };
        let saturated = (second.saturated * 100.0).round();
        format!(
            "{} {:6.2} Mbps, queued {:4.0} ms, window {:4}, {saturated:3} % saturated",
            self.name,
            self.mbps(second.received, 1.0),
            second.most_queueing.as_millis_f64(),
            second.window
        )
    }
}

impl Total {
    /// The cells of a table with the heading [`Total::HEADING`].
    pub(super) fn cells(&self) -> [String; 7] {
        let share = 100.0 * self.saturated_seconds as f64 / self.seconds.max(1) as f64;
        [
            self.trace.display().to_string(),
            self.packets.to_string(),
            self.missing.to_string(),
            format!("{:.3}", self.mbps),
            format!("{:.2}", self.least_mbps),
            format!("{:.2}", self.most_mbps),
            format!("{} of {} ({share:.0} %)", self.saturated_seconds, self.seconds),
        ]
    }

    pub(super) const HEADING: [&'static str; 7] =
        ["", "packets", "missing", "Mbps", "least", "most", "saturated seconds"];

    /// Whether no packet was recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Whether at least a tenth of the seconds were not saturated.
    pub(super) fn is_doubtful(&self) -> bool {
        self.saturated_seconds * 10 < self.seconds * 9 || self.seconds == 0
    }
}
