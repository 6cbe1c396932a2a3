//! `exm sprout bench`: measures a session.

use crate::commands::duration;
use crate::layout;
use crate::sessions::{Charts, Display, DisplayFlags, KeyFlags, SproutFlags, carry, servers};
use crate::shell::{Failure, Printing};
use exm_bench::session::{Bench, BenchServer, DirectionReport, Outcome, Plan};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::Clock;
use exm_session::{LoopControl, Session, Settings, drive};
use exm_store::Columns;
use exm_units::{Instant, Rate, Span};
use serde::Serialize;
use std::fmt;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The server runs \"exm sprout serve --bench\" with the same key. Throughput counts whole IP packets.
Delay is the 95th percentile over time of the end-to-end delay, which is the age of the most recently
sent packet that has arrived. Between two machines, whose clocks differ, it is relative to the minimum
delay of a packet. CPU is the load of each end, as a percentage of one processor.

Examples:
  exm sprout bench example.org:60001 --key-file key
  exm sprout bench example.org:60001 --key-file key --direction both --duration 60s --json
  exm sprout bench --here --rate 10Mbps --duration 10s";

/// Measure throughput, delay, loss and CPU of a session
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server's address [default port: 60001]
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "here")]
    server: Option<String>,
    /// Measure without a server: both ends in this program, over the loopback device
    #[arg(long, conflicts_with_all = ["server", "key"])]
    here: bool,
    /// The duration of sending
    #[arg(long, alias = "for", value_name = "DURATION", default_value = "30s", value_parser = duration)]
    duration: Span,
    /// Exclude this much time at the start from the scores
    #[arg(long, alias = "skip", value_name = "DURATION", default_value = "2s")]
    warm_up: Span,
    /// Who sends: this end (up), the server (down), or both
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Direction::Down)]
    direction: Direction,
    /// Send at this rate as far as the window allows, instead of as fast as it allows
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    sprout: SproutFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    display: DisplayFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Direction {
    Up,
    Down,
    Both,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let plan = self.plan()?;
        let settings = self.sprout.settings()?;
        let ended = match &self.server {
            Some(server) => {
                let (key, servers) = (self.key.key()?, servers(server)?);
                let session = Session::connect(Clock::start(), key, settings, servers)?;
                self.measure(session, plan)
            }
            None => self.measure_here(plan, settings),
        };
        let (outcome, code) = ended?;
        if let Some(outcome) = outcome {
            self.printing.print(&Report::new(&outcome))?;
        }
        Ok(code)
    }

    fn plan(&self) -> Result<Plan, Failure> {
        if self.warm_up >= self.duration {
            let problem = format!("nothing is left of the measured {}", self.duration);
            return Err(Failure::invalid_value(&self.warm_up.to_string(), "--warm-up", &problem));
        }
        if self.rate.is_some_and(|rate| rate.as_bps() == 0) {
            return Err(Failure::invalid_value("0", "--rate", "nothing would be sent"));
        }
        let up = self.direction != Direction::Down;
        let down = self.direction != Direction::Up;
        let (duration, skip, rate) = (self.duration, self.warm_up, self.rate);
        Ok(Plan { up, down, duration, skip, rate })
    }

    /// Measures over `session`. Returns the result, unless interrupted, and the exit code.
    fn measure(
        &self,
        mut session: Session,
        plan: Plan,
    ) -> Result<(Option<Outcome>, ExitCode), Failure> {
        // A number that is unique among all runs and clients.
        let mut number = [0; 4];
        number.copy_from_slice(&Key::generate()?.bytes()[..4]);
        let mut bench = Bench::new(&session, plan, u32::from_be_bytes(number));
        let free = !self.printing.is_json();
        let mut display = Display::new("sprout bench", self.display, free, Charts);
        if let Some(server) = &self.server {
            display = display.awaiting(server);
        }
        match carry(&mut session, &mut bench, display, &mut ())? {
            Some(signal) => Ok((None, ExitCode::from(signal.exit_code()))),
            None => Ok((Some(bench.outcome()?), ExitCode::SUCCESS)),
        }
    }

    /// Measures with a server in this process.
    fn measure_here(
        &self,
        plan: Plan,
        settings: Settings,
    ) -> Result<(Option<Outcome>, ExitCode), Failure> {
        let (clock, key) = (Clock::start(), Key::generate()?);
        let local = Ipv4Addr::LOCALHOST.into();
        let ports = PortRange::single(0);
        let server = Session::listen(clock, key.clone(), settings, Some(local), ports)?;
        let client = Session::connect(clock, key, settings, vec![server.local_address()?])?;
        // The server's thread ends when this stream is closed, whatever happens here.
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || serve(server, &theirs));
            let measured = self.measure(client, plan);
            drop(ours);
            match thread.join() {
                Ok(served) => served.map_err(Failure::from).and(measured),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// Serves measurements until the other end of `stop` is closed.
fn serve(mut session: Session, stop: &UnixStream) -> std::io::Result<()> {
    let mut application = BenchServer::new(&session);
    let mut stream = stop;
    let look = |_: &Session, _: &BenchServer, _| match stream.read(&mut [0; 1]) {
        Ok(_) => LoopControl::Stop,
        Err(_) => LoopControl::WakeAt(Instant::MAX),
    };
    drive(&mut session, &mut application, stop.as_fd(), look)
}

#[derive(Serialize)]
struct Report {
    seconds: f64,
    /// Whether delays are absolute, or relative to the minimum.
    delay_is: &'static str,
    up: Option<DirectionResult>,
    down: Option<DirectionResult>,
    rtt_median_ms: Option<f64>,
    rtt_95_ms: Option<f64>,
    cpu_here_percent: f64,
    cpu_there_percent: f64,
}

#[derive(Serialize)]
struct DirectionResult {
    throughput_mbps: f64,
    delay_median_ms: Option<f64>,
    delay_95_ms: Option<f64>,
    sent: u64,
    received: u64,
    loss_percent: f64,
}

impl Report {
    fn new(outcome: &Outcome) -> Report {
        let line = |half: &DirectionReport| DirectionResult {
            throughput_mbps: half.throughput.as_mbps(),
            delay_median_ms: half.delay_50.map(Span::as_millis_f64),
            delay_95_ms: half.delay_95.map(Span::as_millis_f64),
            sent: half.sent,
            received: half.received,
            loss_percent: 100.0 * half.loss(),
        };
        Report {
            seconds: outcome.plan.duration.saturating_sub(outcome.plan.skip).as_secs_f64(),
            delay_is: if outcome.one_clock { "end to end" } else { "above the least" },
            up: outcome.up.as_ref().map(line),
            down: outcome.down.as_ref().map(line),
            rtt_median_ms: outcome.rtt_50.map(Span::as_millis_f64),
            rtt_95_ms: outcome.rtt_95.map(Span::as_millis_f64),
            cpu_here_percent: 100.0 * outcome.processor[0],
            cpu_there_percent: 100.0 * outcome.processor[1],
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        let heading = ["", "throughput", "delay", "95 % delay", "loss", "sent", "received"];
        columns.line(heading.map(str::to_owned));
        columns.line(["", "Mbps", "ms", "ms", "%", "packets", "packets"].map(str::to_owned));
        let number = |value: Option<f64>, decimals| {
            value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
        };
        for (name, line) in [("up", &self.up), ("down", &self.down)] {
            let Some(line) = line else { continue };
            columns.line([
                name.to_owned(),
                number(Some(line.throughput_mbps), 3),
                number(line.delay_median_ms, 1),
                number(line.delay_95_ms, 1),
                number(Some(line.loss_percent), 2),
                line.sent.to_string(),
                line.received.to_string(),
            ]);
        }
        writeln!(f, "{}", layout::table(&columns))?;
        let rtts = [self.rtt_median_ms, self.rtt_95_ms].map(|rtt| number(rtt, 0));
        writeln!(f, "delay       {}", self.delay_is)?;
        writeln!(f, "round trip  {} ms, 95 % below {} ms", rtts[0], rtts[1])?;
        let cpu = [self.cpu_here_percent, self.cpu_there_percent];
        writeln!(f, "CPU         {:.2} % of a processor here, {:.2} % there", cpu[0], cpu[1])
    }
}
