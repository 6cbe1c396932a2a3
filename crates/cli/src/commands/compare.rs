//! `exm compare`: compares schemes on a network described by options.

use crate::commands::duration;
use crate::commands::experiment::{Shown, Stale, Work};
use crate::complete;
use crate::experiments;
use crate::options::{
    self, DEFAULT_BUFFER, DEFAULT_DURATION, DEFAULT_LOSS, DEFAULT_ON, DEFAULT_QUEUE, DEFAULT_SEED,
    INITIAL_WINDOW, Setup, Text, short_name,
};
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use exm_experiment::{Experiment, MAX_RUNS, Options, Plan, PlanError};
use exm_link::QueueKind;
use exm_sim::network::{Host, MAX_FLOWS};
use exm_store::counted;
use exm_units::{Probability, Rate, Span};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The default number of runs.
const RUNS: u64 = 16;

const EXAMPLES: &str = "\
All senders of a run use the same scheme, and all schemes get the same traffic. As in the papers, the
picture shows throughput against queueing delay. For several links, several kinds of flows or sweeps,
write a file for exm experiment.

Examples:
  exm compare --cc cubic,vegas,cc.json --link 15Mbps --rtt 150ms --senders 8 \\
      --on 'exp 100 kB' --off 'exp 0.5 s'
  exm compare --cc cubic,cubic/sfq-codel,bbr --link 50Mbps --rtt 40ms --buffer '1 BDP' -o mine
  exm compare --cc general-delta1,cubic --trace lte-like --rtt 50ms --runs 32
  exm compare --cc sprout,cubic/codel,bbr --trace lte --back 'lte, seed 2' --rtt 40ms --runs 1 \\
      --buffer unlimited --warm-up 60s --duration 300s";

/// Compare congestion controllers on one link and draw throughput against queueing delay
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The schemes to compare: names such as cubic, files of tables, or names of shipped tables
    ///
    /// A slash may be followed by the scheme's queue discipline and its parameters:
    /// cubic/sfq-codel, 'cubic/codel target=10ms,interval=50ms'.
    #[arg(long, value_name = "CC,...", value_delimiter = ',', required = true)]
    #[arg(add = complete::schemes())]
    cc: Vec<String>,
    /// The rate of the link, such as 15Mbps
    #[arg(long, value_name = "RATE", required_unless_present = "trace", help_heading = "Network")]
    link: Option<Rate>,
    /// Instead of a rate, a file of delivery opportunities, or a synthetic link such as lte
    #[arg(long, value_name = "FILE", conflicts_with = "link", help_heading = "Network")]
    #[arg(add = complete::traces())]
    trace: Option<String>,
    /// The return link that ACKs cross: its rate, or its trace as for --trace
    ///
    /// Throughput and delay are then measured at the receiver, after the warm-up; on a trace the delay
    /// is the self-inflicted delay.
    #[arg(long, value_name = "RATE|FILE", help_heading = "Network", add = complete::traces())]
    back: Option<String>,
    /// Exclude this much time at the start from throughput and delay at the receiver
    #[arg(long, value_name = "DURATION", requires = "back", default_value = "0 s")]
    #[arg(help_heading = "Network")]
    warm_up: Span,
    /// The round-trip propagation delay, such as 150ms
    #[arg(long, value_name = "DURATION", help_heading = "Network")]
    rtt: Span,
    /// The number of senders
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Network")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_FLOWS as u64))]
    senders: u64,
    /// The queue limit of the link: 1000 packets, 250 kB, 5 BDP or unlimited
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_BUFFER, help_heading = "Network")]
    buffer: String,
    /// The queue discipline of schemes that name none, and its parameters, such as 'codel
    /// target=10ms,interval=50ms'
    #[arg(long, value_name = "QUEUE", default_value = DEFAULT_QUEUE, help_heading = "Network")]
    #[arg(value_parser = options::queue, add = complete::queues())]
    queue: QueueKind,
    /// The probability that a packet is lost after the link, such as 1%
    #[arg(long, value_name = "PROBABILITY", default_value = DEFAULT_LOSS, help_heading = "Network")]
    loss: Probability,
    /// How long a flow lasts: a time or an amount, such as exp 5 s or 100 kB, or always
    #[arg(long, value_name = "DISTRIBUTION", default_value = DEFAULT_ON, help_heading = "Network")]
    on: String,
    /// The time between flows, and before the first, such as exp 5 s
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Network")]
    off: Option<String>,
    /// The host of all senders: TCP, or the bare host that RemyCCs are trained on, which does not
    /// retransmit what is lost
    #[arg(long, value_name = "HOST", default_value = "tcp", value_parser = options::host())]
    #[arg(help_heading = "Hosts")]
    host: Host,
    /// The initial window of TCP connections, in packets
    #[arg(long, value_name = "N", default_value_t = INITIAL_WINDOW, help_heading = "Hosts")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    initial_window: u64,
    /// Simulate the TCP handshake
    #[arg(long, help_heading = "Hosts")]
    handshake: bool,
    /// Carry all on-periods of a sender over one TCP connection, which keeps its window
    ///
    /// RemyCCs restart at each on-period, as in the papers. Scenario files have more settings, such as
    /// the effect of idle times on the window.
    #[arg(long, help_heading = "Hosts")]
    persistent: bool,
    /// The scheme that all others are compared with
    #[arg(long, value_name = "CC", add = complete::schemes())]
    reference: Option<String>,
    /// The time to simulate
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value_t = DEFAULT_DURATION)]
    duration: Span,
    /// The number of runs of each scheme
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_RUNS))]
    runs: u64,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// The folder of the results
    #[arg(short, long, value_name = "FOLDER", default_value = "results/compare")]
    out: PathBuf,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let plan = self.plan()?;
        let work = Work {
            plan: &plan,
            folder: &self.out,
            command: self.command(),
            fresh: false,
            stale: Stale::Replace,
            live: None,
        };
        let results = work.carry_out()?;
        let shown = Shown::new(&results, &self.out).with_setup(self.setup());
        self.printing.print_warned(&shown, &results.warnings)?;
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Result<Plan, Failure> {
        if self.on != DEFAULT_ON && self.off.is_none() {
            let problem = "flows end, and the time between them is missing: give --off as well";
            return Err(Failure::invalid_value(&self.on, "--on", problem));
        }
        let text = self.text();
        let experiment = Experiment::parse(text.as_str(), "compare.toml", Path::new(""))
            .map_err(|error| text.failure(error.line(), error.problem()))?;
        let options = Options { runs: Some(self.runs), ..Options::default() };
        experiments::plan(experiment, &options).map_err(|error| match error {
            PlanError::Experiment(error) => text.failure(error.line(), error.problem()),
            other => Failure::from(other),
        })
    }

    /// The experiment that the options describe.
    fn text(&self) -> Text {
        let mut text = Text::default();
        text.line(&format!("title = {}", serde_json::Value::from(self.title())));
        text.line(&format!("seed = {}", self.seed));
        text.option("--duration", "duration", &self.duration.to_string());
        if self.back.is_some() {
            text.option("--warm-up", "warm_up", &self.warm_up.to_string());
        }
        text.line("[tcp]");
        text.line(&format!("initial_window = {}", self.initial_window));
        text.line(&format!("handshake = {}", self.handshake));
        text.line(&format!("persistent = {}", self.persistent));
        match &self.back {
            Some(back) => self.both_ways(&mut text, back),
            None => self.dumbbell(&mut text),
        }
        text.option("--cc", "controller", "scheme");
        text.option("--host", "host", self.host.name());
        text.option("--on", "traffic.on", &self.on);
        if let Some(off) = &self.off {
            text.option("--off", "traffic.off", off);
        }
        text.line("[experiment]");
        if self.back.is_some() {
            let delay = if self.trace.is_some() { "self_inflicted" } else { "delay_95" };
            text.line(&format!("x = \"{delay}\"\ny = \"received\""));
            text.line(&format!("columns = {}", columns(self.trace.is_some())));
        }
        if let Some(reference) = &self.reference {
            text.option("--reference", "reference", &shown_name(reference));
        }
        for cc in &schemes(&self.cc) {
            let (controller, queue) = parts(cc);
            text.line("[[experiment.scheme]]");
            text.option("--cc", "name", &shown_name(cc));
            text.option("--cc", "controller", controller);
            if let Some(queue) = queue {
                text.option("--cc", "queue", queue);
            }
        }
        text
    }

    fn dumbbell(&self, text: &mut Text) {
        text.line("[dumbbell]");
        self.service(text);
        text.option("--rtt", "rtt", &self.rtt.to_string());
        text.line(&format!("senders = {}", self.senders));
    }

    /// A link in each direction, each with half of the propagation delay.
    fn both_ways(&self, text: &mut Text, back: &str) {
        let half = (self.rtt / 2).to_string();
        text.line("[[link]]\nname = \"there\"\nfrom = \"sender\"\nto = \"receiver\"");
        self.service(text);
        text.option("--rtt", "delay", &half);
        text.line("[[link]]\nname = \"back\"\nfrom = \"receiver\"\nto = \"sender\"");
        text.option("--back", options::service_key(back), back);
        text.option("--rtt", "delay", &half);
        text.line("[[flow]]\npath = [\"there\"]\nback = [\"back\"]");
        text.option("--rtt", "rtt", &self.rtt.to_string());
        text.line(&format!("count = {}", self.senders));
    }

    /// The link with the queue.
    fn service(&self, text: &mut Text) {
        if let Some(link) = self.link {
            text.option("--link", "rate", &link.to_string());
        }
        if let Some(trace) = &self.trace {
            text.option("--trace", "trace", trace);
        }
        text.option("--buffer", "buffer", &self.buffer);
        text.option("--queue", "queue", &self.queue.to_string());
        text.option("--loss", "loss", &self.loss.to_string());
    }

    fn title(&self) -> String {
        let link = self.link.map(|link| link.to_string());
        let link = link.or(self.trace.clone()).unwrap_or_default();
        format!("{link}, {}, {}", self.rtt, counted(self.senders, "sender", "senders"))
    }

    /// The options, including defaults.
    fn setup(&self) -> Setup {
        let mut setup = Setup::new();
        if let Some(link) = &self.link {
            setup.given("link", link);
        }
        if let Some(trace) = &self.trace {
            setup.given("trace", trace);
        }
        if let Some(back) = &self.back {
            setup.given("back", back);
            setup.usually("warm-up", self.warm_up, Span::ZERO);
        }
        setup.given("rtt", self.rtt);
        setup.usually("senders", self.senders, 1);
        setup.usually("buffer", &self.buffer, DEFAULT_BUFFER);
        setup.usually("queue", &self.queue, DEFAULT_QUEUE);
        setup.usually("loss", self.loss, DEFAULT_LOSS);
        setup.usually("host", self.host.name(), Host::default().name());
        if self.host == Host::Tcp {
            setup.usually("initial-window", self.initial_window, INITIAL_WINDOW);
            setup.usually("handshake", self.handshake, false);
            setup.usually("persistent", self.persistent, false);
        }
        setup.usually("on", &self.on, DEFAULT_ON);
        if let Some(off) = &self.off {
            setup.given("off", off);
        }
        setup.usually("duration", self.duration, DEFAULT_DURATION);
        setup.usually("runs", self.runs, RUNS);
        setup.usually("seed", self.seed, DEFAULT_SEED);
        setup
    }

    /// The command that reproduces the results, without options that do not affect them.
    fn command(&self) -> String {
        let mut words = vec!["exm compare".to_owned()];
        let mut option = |name: &str, value: &str| {
            words.push(format!("{name} {}", shell::quoted(value)));
        };
        option("--cc", &self.cc.join(","));
        if let Some(link) = self.link {
            option("--link", &link.to_string());
        }
        if let Some(trace) = &self.trace {
            option("--trace", trace);
        }
        if let Some(back) = &self.back {
            option("--back", back);
            option("--warm-up", &self.warm_up.to_string());
        }
        option("--rtt", &self.rtt.to_string());
        option("--senders", &self.senders.to_string());
        option("--buffer", &self.buffer);
        option("--queue", &self.queue.to_string());
        option("--loss", &self.loss.to_string());
        option("--on", &self.on);
        if let Some(off) = &self.off {
            option("--off", off);
        }
        option("--host", self.host.name());
        option("--initial-window", &self.initial_window.to_string());
        if let Some(reference) = &self.reference {
            option("--reference", reference);
        }
        option("--duration", &self.duration.to_string());
        option("--runs", &self.runs.to_string());
        option("--seed", &self.seed.to_string());
        if self.handshake {
            words.push("--handshake".to_owned());
        }
        if self.persistent {
            words.push("--persistent".to_owned());
        }
        words.join(" ")
    }
}

/// The columns for throughput and delay at the receiver, on a trace or not.
fn columns(of_trace: bool) -> &'static str {
    if of_trace {
        "[\"received\", \"capacity_used\", \"delay_95\", \"self_inflicted\", \"queued_within\", \"loss\"]"
    } else {
        "[\"received\", \"delay_95\", \"queued_95\", \"queued_within\", \"loss\", \"jain\"]"
    }
}

/// The schemes in `words`, which were separated by commas: the parameters of a queue are separated
/// by commas, too.
fn schemes(words: &[String]) -> Vec<String> {
    let mut schemes: Vec<String> = Vec::new();
    for word in words {
        let is_parameter = word.contains('=') && !word.contains('/');
        match schemes.last_mut() {
            Some(last) if is_parameter && parts(last).1.is_some() => {
                last.push(',');
                last.push_str(word);
            }
            _ => schemes.push(word.clone()),
        }
    }
    schemes
}

/// A controller and the queue after it, if any.
fn parts(cc: &str) -> (&str, Option<&str>) {
    let Some((controller, queue)) = cc.rsplit_once('/') else { return (cc, None) };
    let name = queue.split_whitespace().next().unwrap_or_default();
    if QueueKind::NAMES.contains(&name) && !controller.is_empty() {
        (controller, Some(queue))
    } else {
        (cc, None)
    }
}

fn shown_name(cc: &str) -> String {
    match parts(cc) {
        (controller, Some(queue)) => {
            let queue =
                queue.parse().map_or_else(|_| queue.to_owned(), |q: QueueKind| q.to_string());
            format!("{}/{queue}", short_name(controller))
        }
        (controller, None) => short_name(controller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_may_stand_after_a_slash() {
        assert_eq!(parts("cubic/sfq-codel"), ("cubic", Some("sfq-codel")));
        assert_eq!(parts("a/b.json/codel"), ("a/b.json", Some("codel")));
        assert_eq!(parts("a/b.json"), ("a/b.json", None));
        assert_eq!(shown_name("a/b.json/codel"), "b/codel");
        assert_eq!(shown_name("cubic/codel target=1 ms"), "cubic/codel target=1ms");
    }

    #[test]
    fn the_parameters_of_a_queue_have_commas_too() {
        let of = |text: &str| schemes(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        let queue = "cubic/codel target=1ms,interval=20ms";
        assert_eq!(of(&format!("bbr,{queue},reno")), ["bbr", queue, "reno"]);
        assert_eq!(of("cubic,a=b.json"), ["cubic", "a=b.json"]);
    }
}
