//! [`QlogFlags`]: the log of a session's datagrams, for viewers of QUIC.

use crate::outputs::{QlogForm, check_output};
use crate::shell::{Failure, note};
use exm_os::Clock;
use exm_qlog::{Event, Frame, Header, Metrics, Packet, Vantage, Writer};
use exm_session::{RecordedDatagram, Recorder, Session, State};
use exm_units::{Bytes, Instant, Span};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The bytes of records that are passed to the writing thread at once.
const BATCH: usize = 1 << 16;
/// Records wait for others at most this long.
const DELAY: Span = Span::from_secs(1);
/// The most batches that wait for the disk: 16 MiB. Records beyond are left out.
const MAX_WAITING: usize = 256;

/// Options of the log of a session.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct QlogFlags {
    /// Log each datagram, the window and the RTT of the session, as qlog for viewers of QUIC
    #[arg(long, value_name = "FILE.sqlog")]
    qlog: Option<PathBuf>,
    /// The form of the qlog
    #[arg(long, value_enum, default_value_t = QlogForm::Current, requires = "qlog")]
    qlog_form: QlogForm,
}

impl QlogFlags {
    /// Begins the log of `session`, if one is wanted. Must be called before this process gives up its rights.
    pub(super) fn begin(
        &self,
        session: &mut Session,
        vantage: Vantage,
    ) -> Result<Option<Qlog>, Failure> {
        let Some(path) = &self.qlog else { return Ok(None) };
        let failed = |error: io::Error| Failure::new(problem(path, &error));
        let file = File::create(path).map_err(failed)?;
        let name = match vantage {
            Vantage::Server => "server",
            _ => "client",
        };
        let title = format!("SproutTunnel, exm {}: {name}", env!("CARGO_PKG_VERSION"));
        let header = Header { title: &title, vantage, name };
        let writer = Writer::new(Records::new(file), self.qlog_form.into(), &header);
        let log = Arc::new(Mutex::new(Log {
            writer: writer.map_err(failed)?,
            last_at: Instant::ZERO,
            sent: Numbers::default(),
            received: Numbers::default(),
            min_rtt: None,
        }));
        session.set_recorder(Some(Box::new(Told(Arc::clone(&log)))));
        Ok(Some(Qlog { path: path.clone(), log }))
    }

    /// Checks that the log would overwrite nothing.
    pub(super) fn check(&self) -> Result<(), Failure> {
        // The remedy is another name: there is no option to overwrite it.
        let check = |path: &PathBuf| match path.is_file() {
            true => {
                let problem = format!("the log {} exists already", path.display());
                Err(Failure::usage(problem).with_tip("name another file, or remove it"))
            }
            false => check_output(path, &[], false),
        };
        self.qlog.as_ref().map_or(Ok(()), check)
    }
}

/// The log of a session, and its file.
pub(super) struct Qlog {
    path: PathBuf,
    log: Arc<Mutex<Log>>,
}

impl Qlog {
    /// Logs what `session` measures and decides now.
    pub(super) fn look(&self, session: &Session) {
        let (now, stats) = (session.clock().now(), session.stats());
        let state = match stats.state {
            State::Waiting => "waiting",
            State::Established if stats.is_crowded => "crowded",
            State::Established => "established",
            State::Silent => "silent",
        };
        let mut log = locked(&self.log);
        log.min_rtt = stats.rtt.into_iter().chain(log.min_rtt).min();
        let window = Bytes::new(stats.window.get().saturating_add(stats.in_flight.get()));
        let metrics = Metrics {
            latest_rtt: stats.rtt,
            smoothed_rtt: stats.srtt,
            min_rtt: log.min_rtt,
            congestion_window: Some(window),
            bytes_in_flight: Some(stats.in_flight),
            ..Metrics::default()
        };
        log.event(now, &Event::Metrics(&metrics));
        log.event(now, &Event::State(state));
    }

    /// Ends the log, whose `session` is told nothing more, and reports what it lacks.
    pub(super) fn finish(self, session: &mut Session) {
        session.set_recorder(None);
        let Qlog { path, log } = self;
        let Ok(log) = Arc::try_unwrap(log) else { return };
        let log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
        match log.writer.finish().and_then(Records::finish) {
            Ok(0) => {}
            Ok(left_out) => note(&format!(
                "the log {} lacks {left_out} records: the disk was slower than the session",
                path.display()
            )),
            Err(error) => note(&problem(&path, &error)),
        }
    }
}

fn problem(path: &Path, error: &io::Error) -> String {
    format!("the log {} cannot be written: {error}", path.display())
}

/// The log while it is written.
struct Log {
    writer: Writer<Records>,
    last_at: Instant,
    sent: Numbers,
    received: Numbers,
    min_rtt: Option<Span>,
}

impl Log {
    /// Writes an event. Datagrams are told with the time at which they arrived, which may be before the last look.
    fn event(&mut self, at: Instant, event: &Event<'_>) {
        self.last_at = at.max(self.last_at);
        self.writer.event(self.last_at, event);
    }
}

/// Numbers of packets, which go on where a new session begins at zero again.
#[derive(Default)]
struct Numbers {
    session: u64,
    base: u64,
    next: u64,
}

impl Numbers {
    fn of(&mut self, datagram: &RecordedDatagram) -> u64 {
        if datagram.session != self.session {
            (self.session, self.base) = (datagram.session, self.next);
        }
        let number = self.base + datagram.sequence;
        self.next = self.next.max(number + 1);
        number
    }
}

/// What the session tells each datagram.
struct Told(Arc<Mutex<Log>>);

impl Recorder for Told {
    fn sent(&mut self, at: Instant, datagram: &RecordedDatagram) {
        let mut log = locked(&self.0);
        let number = log.sent.of(datagram);
        log.event(at, &Event::PacketSent(&packet(number, datagram)));
    }

    fn received(&mut self, at: Instant, datagram: &RecordedDatagram) {
        let mut log = locked(&self.0);
        let number = log.received.of(datagram);
        log.event(at, &Event::PacketReceived(&packet(number, datagram)));
    }
}

fn packet(number: u64, datagram: &RecordedDatagram) -> Packet<'static> {
    let frame = match datagram.payload.get() {
        0 => Frame::Ping,
        length => Frame::Datagram { length },
    };
    Packet::new(number, datagram.size, frame)
}

/// The log, which only the thread of the session uses.
fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes whole records to a thread that writes them, so that a slow disk does not delay packets. The thread starts with
/// the first of them, when this process has given up its rights.
#[derive(Debug)]
struct Records {
    /// Until the thread has it.
    file: Option<File>,
    batch: Vec<u8>,
    /// The records of the batch.
    count: u64,
    left_out: u64,
    clock: Clock,
    passed_at: Instant,
    disk: Option<Disk>,
}

/// The thread that writes, and the batches that wait for it.
#[derive(Debug)]
struct Disk {
    batches: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Records {
    fn new(file: File) -> Records {
        Records {
            file: Some(file),
            batch: Vec::new(),
            count: 0,
            left_out: 0,
            clock: Clock::start(),
            passed_at: Instant::ZERO,
            disk: None,
        }
    }

    /// Passes the batch on, unless too many wait.
    fn pass(&mut self, now: Instant) -> io::Result<()> {
        self.passed_at = now;
        if let Some(mut file) = self.file.take() {
            let (batches, waiting) = sync_channel::<Vec<u8>>(MAX_WAITING);
            let write = move || waiting.iter().try_for_each(|batch| file.write_all(&batch));
            let thread = thread::Builder::new().name("exm-qlog".to_owned()).spawn(write)?;
            self.disk = Some(Disk { batches, thread });
        }
        let count = std::mem::take(&mut self.count);
        let batch = std::mem::take(&mut self.batch);
        match self.disk.as_ref().map(|disk| disk.batches.try_send(batch)) {
            Some(Err(TrySendError::Full(_))) => self.left_out += count,
            // The thread has failed, which is reported at the end.
            Some(Err(TrySendError::Disconnected(_)) | Ok(())) | None => {}
        }
        Ok(())
    }

    /// Waits until all is written. Returns the number of records left out.
    fn finish(mut self) -> io::Result<u64> {
        if let Some(mut file) = self.file.take() {
            file.write_all(&self.batch)?;
        }
        let Some(Disk { batches, thread }) = self.disk.take() else { return Ok(0) };
        // It may wait for the disk now.
        let _ = batches.send(std::mem::take(&mut self.batch));
        drop(batches);
        let failed = |_| io::Error::other("the thread that writes it has failed");
        thread.join().map_err(failed)?.map(|()| self.left_out)
    }
}

impl Write for Records {
    /// Takes a whole record.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.batch.extend_from_slice(record);
        self.count += 1;
        let now = self.clock.now();
        if self.batch.len() >= BATCH || now.saturating_since(self.passed_at) >= DELAY {
            self.pass(now)?;
        }
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_testing::Folder;

    #[test]
    fn numbers_go_on_in_the_next_session() {
        let mut numbers = Numbers::default();
        let mut of = |session, sequence| {
            let (size, payload) = (Bytes::new(100), Bytes::ZERO);
            numbers.of(&RecordedDatagram::new(session, sequence, size, payload))
        };
        let given = [of(1, 0), of(1, 3), of(1, 2), of(2, 0), of(2, 1), of(3, 0)];
        assert_eq!(given, [0, 3, 2, 4, 5, 6]);
    }

    #[test]
    fn records_are_written_whole() {
        let folder = Folder::new("tunnel-qlog");
        let path = folder.0.join("a");
        let mut records = Records::new(File::create(&path).unwrap());
        for n in 0..30_000 {
            writeln!(records, "{n}").unwrap();
        }
        assert_eq!(records.finish().unwrap(), 0);
        let text = std::fs::read_to_string(&path).unwrap();
        let numbers = text.lines().map(|line| line.parse::<u32>().unwrap());
        assert!(numbers.eq(0..30_000));
    }
}
