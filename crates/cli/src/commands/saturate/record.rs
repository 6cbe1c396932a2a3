//! `exm saturate record`: the end under test.

use super::direction::{COLUMNS, Direction, Output, Total};
use crate::commands::duration;
use crate::interrupt;
use crate::outputs::check_output;
use crate::sessions::{KeyFlags, servers};
use crate::shell::{Failure, Printing, command_line, note, tell};
use exm_endpoint::OpenError;
use exm_os::{Clock, Signal, Signals};
use exm_saturator::net::{ClientPorts, Interface, NetError};
use exm_saturator::{Client, Event, Precision, Settings};
use exm_store::Columns;
use exm_units::{Bytes, Instant, Span};
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

/// How long to wait for the server.
const PATIENCE: Span = Span::from_secs(15);
/// How often files are flushed and progress is shown.
const LINE: Span = Span::from_secs(1);
/// After this long without a datagram from the server, the user is notified.
const SILENCE: Span = Span::from_secs(5);

const EXAMPLES: &str = "\
It writes the traces NAME.down and NAME.up every second, so that an interruption loses nothing,
and NAME.csv, the saturation of each second: the fraction of it in which arriving packets had
certainly been queued. The trace shows the capacity of the link only in saturated seconds.

Examples:
  exm saturate record example.org:60001 --device wwan0 --control eth0 -o walk
  exm saturate record 192.0.2.7:60001 --key-file key --device usb0 --duration 1h --fine -o train";

/// Record the traces of a link, both ways
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server's address [default port: 60001]
    #[arg(value_name = "HOST[:PORT]")]
    server: String,
    /// The device under test, such as wwan0, or its address: it carries the data
    #[arg(long, value_name = "DEVICE")]
    device: Interface,
    /// Another device, or its address, for everything else [default: chosen by the routing table]
    #[arg(long, value_name = "DEVICE")]
    control: Option<Interface>,
    /// The name of the files, without extension
    #[arg(short, long = "out", alias = "output", value_name = "NAME")]
    output: String,
    /// The duration of the recording
    #[arg(long, alias = "for", value_name = "DURATION", default_value = "10min", value_parser = duration)]
    duration: Span,
    /// Write times in nanoseconds instead of mahimahi's whole milliseconds
    #[arg(long)]
    fine: bool,
    /// The size of data packets, as bytes of UDP payload
    #[arg(long, value_name = "BYTES", default_value_t = Settings::DEFAULT_SIZE)]
    size: u16,
    /// Overwrite existing files
    #[arg(long, short)]
    force: bool,
    /// Print nothing while recording
    #[arg(long, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    key: KeyFlags,
}

/// The result of a recording.
#[derive(Serialize)]
struct Report {
    down: Total,
    up: Total,
    /// Arrivals at the server that were never reported.
    untold: u64,
    /// Datagrams that could not be sent.
    refused: u64,
}

impl Report {
    /// Checks that both traces have packets.
    ///
    /// # Errors
    /// Nothing arrived in one direction or both.
    fn check(&self) -> Result<(), Failure> {
        let empty = [&self.down, &self.up].into_iter().filter(|total| total.is_empty());
        let files: Vec<String> = empty.map(|total| total.cells()[0].clone()).collect();
        if files.is_empty() {
            return Ok(());
        }
        let problem = format!("no packet was recorded in {}", files.join(" and "));
        Err(Failure::new(problem).with_tip(
            "see that the device under test reaches the server, that firewalls let its UDP port \
             through, and that no other client took the server over",
        ))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        columns.line(Total::HEADING.map(str::to_owned));
        columns.line(self.down.cells());
        columns.line(self.up.cells());
        f.write_str(&crate::layout::table(&columns))
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let settings = Settings::new(self.size).map_err(|error| {
            Failure::invalid_value(&self.size.to_string(), "--size", &error.to_string())
        })?;
        if self.output == "-" {
            let problem = "a recording is three files: give a name for them";
            return Err(Failure::invalid_value(&self.output, "--out", problem));
        }
        let key = self.key.key()?;
        self.check_files()?;
        let clock = Clock::start();
        let mut ports = self.open(clock, &servers(&self.server)?)?;
        if self.control.as_ref().is_none_or(|control| *control == self.device) {
            note(
                "without a --control of its own, acknowledgements may wait behind the data: what \
                 is recorded is right only where the other way is not loaded",
            );
        }
        let signals = Signals::catch()?;
        interrupt::hand_over();
        let client = Client::new(clock.now(), &key, settings)?;
        let client = match self.connect(&mut ports, clock, client, &signals)? {
            Connected::Yes(client) => *client,
            Connected::No(signal) => return Ok(ExitCode::from(signal.exit_code())),
        };
        let mut recording = Recording::new(&self, ports.headers())?;
        let code = recording.run(&mut ports, clock, client, &signals)?;
        let errors = ports.errors();
        if errors.too_large > 0 {
            note("packets were larger than the device carries whole: give a smaller --size");
        }
        let report = recording.finish(errors.total())?;
        if code == ExitCode::SUCCESS {
            report.check()?;
        }
        for total in [&report.down, &report.up].into_iter().filter(|total| total.is_doubtful()) {
            let file = &total.cells()[0];
            note(&format!("{file}: a tenth of the time and more was not saturated; see the .csv"));
        }
        self.printing.print(&report)?;
        Ok(code)
    }

    /// The suffixes of the files.
    fn file(&self, end: &str) -> PathBuf {
        PathBuf::from(format!("{}.{end}", self.output))
    }

    /// Checks whether the files may be written, before anything is sent.
    fn check_files(&self) -> Result<(), Failure> {
        let csv = self.file("csv");
        let folder = csv.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let problem =
                format!("cannot write {}: there is no folder {}", csv.display(), folder.display());
            return Err(Failure::new(problem));
        }
        let files = ["csv", "down", "up"].map(|end| self.file(end));
        files.iter().try_for_each(|file| check_output(file, &[], self.force))
    }

    /// Waits for the server's response.
    fn connect(
        &self,
        ports: &mut ClientPorts,
        clock: Clock,
        mut client: Client,
        signals: &Signals,
    ) -> Result<Connected, Failure> {
        let end = clock.now() + PATIENCE;
        while !client.is_connected() {
            if let Some(signal) = signals.take() {
                return Ok(Connected::No(signal));
            }
            if clock.now() > end {
                let problem = format!("{} does not respond", self.server);
                return Err(Failure::new(problem).with_tip(
                    "see that \"exm saturate serve\" of the same version runs there with the same key, \
                     and that the control path and its firewalls let UDP through",
                ));
            }
            ports.turn(&mut client, signals.as_fd(), end)?;
        }
        Ok(Connected::Yes(Box::new(client)))
    }

    /// Sockets to the first of `servers` that both interfaces can reach.
    fn open(&self, clock: Clock, servers: &[SocketAddr]) -> Result<ClientPorts, Failure> {
        let control = self.control.as_ref().unwrap_or(&Interface::Any);
        let mut last = None;
        for &server in servers {
            match ClientPorts::open(clock, server, &self.device, control) {
                Err(NetError::Interface(error @ OpenError::Version { .. })) => last = Some(error),
                Ok(ports) => return Ok(ports),
                Err(error) => {
                    let tip = "give a device that \"ip link\" lists, or an address of one";
                    return Err(Failure::from(error).with_tip(tip));
                }
            }
        }
        let error = last.map(Failure::from);
        Err(error.unwrap_or_else(|| Failure::new(format!("{} has no address", self.server))))
    }
}

/// Whether the server has responded.
enum Connected {
    Yes(Box<Client>),
    /// The user has interrupted the wait.
    No(Signal),
}

/// A running recording.
struct Recording<'a> {
    args: &'a Args,
    down: Direction,
    up: Direction,
    table: Output,
    untold: u64,
}

impl Recording<'_> {
    fn new(args: &Args, headers: u16) -> Result<Recording<'_>, Failure> {
        let create = |end: &str| Output::create(args.file(end), args.force);
        let precision = if args.fine { Precision::Nanos } else { Precision::Millis };
        let mut table = create("csv")?;
        table.line(&format!("# {}", command_line()))?;
        table.line(COLUMNS)?;
        let (down, up) = (create("down")?, create("up")?);
        let size = Bytes::new(u64::from(args.size) + u64::from(headers));
        Ok(Recording {
            args,
            down: Direction::new("down", down, precision, size),
            up: Direction::new("up", up, precision, size),
            table,
            untold: 0,
        })
    }

    /// Records until the end; returns the exit code.
    fn run(
        &mut self,
        ports: &mut ClientPorts,
        clock: Clock,
        mut client: Client,
        signals: &Signals,
    ) -> Result<ExitCode, Failure> {
        let mut code = ExitCode::SUCCESS;
        let began = clock.now();
        let end = began.saturating_add(self.args.duration);
        let mut next_line = began + LINE;
        while !client.is_done(clock.now()) {
            let now = clock.now();
            if let Some(signal) = signals.take() {
                code = ExitCode::from(signal.exit_code());
                if client.is_ending() {
                    // A second interrupt does not wait for outstanding reports.
                    break;
                }
                client.end(now);
            }
            if now >= end {
                client.end(now);
            }
            if now >= next_line {
                next_line = now + LINE;
                self.flush_and_report(&client, now, now.saturating_since(began))?;
            }
            ports.turn(&mut client, signals.as_fd(), next_line)?;
            while let Some(event) = client.event() {
                match event {
                    Event::Down(arrival, window) => self.down.arrived(arrival, window)?,
                    Event::Up(arrival, window) => self.up.arrived(arrival, window)?,
                }
            }
        }
        self.untold = client.given_up();
        Ok(code)
    }

    /// Writes what has been recorded so far, and shows progress.
    fn flush_and_report(
        &mut self,
        client: &Client,
        now: Instant,
        elapsed: Span,
    ) -> Result<(), Failure> {
        self.down.close(&mut self.table)?;
        self.up.close(&mut self.table)?;
        self.table.flush()?;
        if self.args.quiet {
            return Ok(());
        }
        let seconds = elapsed.as_secs_f64();
        let silent = client.silence(now).filter(|&silence| silence > SILENCE);
        let line = match silent {
            Some(silence) => {
                format!("{seconds:5.0} s  nothing received for {:.0} s", silence.as_secs_f64())
            }
            None => format!("{seconds:5.0} s  {} | {}", self.down.summary(), self.up.summary()),
        };
        tell(&(line + "\n"));
        Ok(())
    }

    fn finish(mut self, refused: u64) -> Result<Report, Failure> {
        let untold = self.untold;
        let down = self.down.finish(&mut self.table)?;
        let up = self.up.finish(&mut self.table)?;
        self.table.flush()?;
        Ok(Report { down, up, untold, refused })
    }
}
