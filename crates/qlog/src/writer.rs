//! [`Writer`]: a log being written.

use crate::record::Record;
use crate::{Event, Metrics};
use exm_units::Instant;
use serde::Serialize;
use std::io::{self, Write};

/// What precedes each record (RFC 7464, section 2.2); a newline follows it.
const RECORD_SEPARATOR: u8 = 0x1e;

/// The form of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// That of the present drafts, with the namespace `quic` of draft-ietf-quic-qlog-quic-events-13.
    Current,
    /// Version 0.3, with the categories `transport` and `recovery`: of draft-ietf-quic-qlog-main-schema-02 and
    /// draft-ietf-quic-qlog-quic-events-01. The viewer qvis reads it.
    Older,
}

/// Where a log is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vantage {
    /// At the end that began the connection.
    Client,
    /// At the other one.
    Server,
}

/// The beginning of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// A title, which viewers show.
    pub title: &'a str,
    /// Where it is recorded.
    pub vantage: Vantage,
    /// The name of that place.
    pub name: &'a str,
}

/// Writes a log. After an error it writes nothing more. It writes each record at once: hand it a buffered writer.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    form: Form,
    record: Vec<u8>,
    /// The last value of each of the metrics, and the last state.
    metrics: Metrics,
    state: Option<String>,
    error: Option<io::Error>,
}

#[derive(Serialize)]
struct CurrentHeader<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: &'a str,
    trace: CurrentTrace<'a>,
}

#[derive(Serialize)]
struct CurrentTrace<'a> {
    title: &'a str,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'static str; 1],
    common_fields: CurrentCommon,
}

#[derive(Serialize)]
struct CurrentCommon {
    time_format: &'static str,
    reference_time: ReferenceTime,
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
}

#[derive(Serialize)]
struct OlderHeader<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    trace: OlderTrace<'a>,
}

#[derive(Serialize)]
struct OlderTrace<'a> {
    title: &'a str,
    vantage_point: VantagePoint<'a>,
    common_fields: OlderCommon,
}

#[derive(Serialize)]
struct OlderCommon {
    protocol_type: [&'static str; 1],
    time_format: &'static str,
    reference_time: u64,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<W: Write> Writer<W> {
    /// Begins a log.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(out: W, form: Form, header: &Header<'_>) -> io::Result<Writer<W>> {
        let (metrics, record) = (Metrics::default(), Vec::new());
        let mut writer = Writer { out, form, record, metrics, state: None, error: None };
        let &Header { title, vantage, name } = header;
        let kind = match vantage {
            Vantage::Client => "client",
            Vantage::Server => "server",
        };
        let vantage_point = VantagePoint { name, kind };
        match form {
            Form::Current => {
                let reference_time = ReferenceTime { clock_type: "monotonic", epoch: "unknown" };
                let time_format = "relative_to_epoch";
                let common_fields = CurrentCommon { time_format, reference_time };
                let event_schemas = ["urn:ietf:params:qlog:events:quic-13"];
                writer.write(&CurrentHeader {
                    file_schema: "urn:ietf:params:qlog:file:sequential",
                    serialization_format: "application/qlog+json-seq",
                    title,
                    trace: CurrentTrace { title, vantage_point, event_schemas, common_fields },
                })?;
            }
            Form::Older => {
                let (protocol_type, time_format) = (["QUIC"], "relative");
                let common_fields = OlderCommon { protocol_type, time_format, reference_time: 0 };
                writer.write(&OlderHeader {
                    qlog_version: "0.3",
                    qlog_format: "JSON-SEQ",
                    title,
                    trace: OlderTrace { title, vantage_point, common_fields },
                })?;
            }
        }
        Ok(writer)
    }

    /// Writes an event, which happens `at` that time, not before the last one. Of metrics and states it writes what has
    /// changed, if anything has. An error is returned by [`Writer::finish`].
    pub fn event(&mut self, at: Instant, event: &Event<'_>) {
        if self.error.is_some() {
            return;
        }
        let written = match *event {
            Event::Metrics(now) => self.update(at, now),
            Event::State(now) if self.state.as_deref() == Some(now) => Ok(()),
            Event::State(now) => {
                let old = self.state.replace(now.to_owned());
                self.write(&Record::new(self.form, at, event, old.as_deref()))
            }
            _ => self.write(&Record::new(self.form, at, event, None)),
        };
        self.error = written.err();
    }

    /// The end of the log: hands back what it was written to, flushed.
    ///
    /// # Errors
    /// The first error in writing since the start; nothing after it was written.
    pub fn finish(mut self) -> io::Result<W> {
        self.error.map_or(Ok(()), Err)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn update(&mut self, at: Instant, now: &Metrics) -> io::Result<()> {
        let changed = now.since(&self.metrics);
        if changed == Metrics::default() {
            return Ok(());
        }
        self.metrics.update(&changed);
        self.write(&Record::new(self.form, at, &Event::Metrics(&changed), None))
    }

    fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.record.clear();
        self.record.push(RECORD_SEPARATOR);
        serde_json::to_writer(&mut self.record, record)?;
        self.record.push(b'\n');
        self.out.write_all(&self.record)
    }
}
