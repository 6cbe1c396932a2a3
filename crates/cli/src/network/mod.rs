//! The network of `exm simulate` and `exm compare`: a scenario's file or, without one, a single link, as changed by
//! flags.

mod document;

pub(crate) use document::{Document, Edit};

use crate::commands::duration;
use crate::complete;
use crate::options::{
    self, DEFAULT_BUFFER, DEFAULT_DURATION, DEFAULT_LOSS, DEFAULT_ON, DEFAULT_QUEUE, DEFAULT_SEED,
    INITIAL_WINDOW, Setup,
};
use crate::shell::{self, Failure};
use crate::shipped;
use document::{Part, literal};
use exm_link::QueueKind;
use exm_sim::network::{Host, MAX_FLOWS};
use exm_store::counted;
use exm_units::{Probability, Rate, Span};
use std::path::PathBuf;
use toml::Value;

const NO_SCENARIO: &str = "give the path of a scenario, the name of a shipped one, or describe a network by --link, --rtt and \
     --cc";

/// The largest initial window, so that TOML can have it.
const MAX_WINDOW: u64 = 1_000_000_000;

#[derive(Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkFlags {
    /// The network and its senders: a file, or the name of a shipped scenario; flags change its values
    #[arg(value_name = "SCENARIO", add = complete::scenarios(), help_heading = None::<&'static str>)]
    pub(crate) scenario: Option<PathBuf>,
    /// The rate of the link, such as 15Mbps
    #[arg(long, value_name = "RATE", required_unless_present_any = ["scenario", "trace"])]
    link: Option<Rate>,
    /// Instead of a rate, a file of delivery opportunities, or a synthetic link such as lte
    #[arg(long, value_name = "FILE", conflicts_with = "link", add = complete::traces())]
    trace: Option<String>,
    /// The return link that ACKs cross: its rate, or its trace as for --trace
    ///
    /// Goodput and delay are then measured at the receiver, after the warm-up; on a trace the delay
    /// is the self-inflicted delay. A scenario has links of its own for this.
    #[arg(long, value_name = "RATE|FILE", conflicts_with = "scenario", add = complete::traces())]
    back: Option<String>,
    /// Exclude this much time at the start from goodput and delay at the receiver [default: 0 s]
    #[arg(long, value_name = "DURATION")]
    warm_up: Option<Span>,
    /// The round-trip propagation delay, such as 150ms
    #[arg(long, value_name = "DURATION", required_unless_present = "scenario")]
    rtt: Option<Span>,
    /// The number of senders [default: 1, or one for each controller that shares the link]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_FLOWS as u64))]
    senders: Option<u64>,
    /// The queue limit of the link: 250 kB, 5 BDP or unlimited [default: 1000 packets]
    #[arg(long, value_name = "SIZE")]
    buffer: Option<String>,
    /// The queue discipline, and its parameters, such as 'codel target=10ms,interval=50ms' [default:
    /// drop-tail]
    #[arg(long, value_name = "QUEUE", value_parser = options::queue, add = complete::queues())]
    queue: Option<QueueKind>,
    /// The probability that a packet is lost after the link, such as 1% [default: 0]
    #[arg(long, value_name = "PROBABILITY")]
    loss: Option<Probability>,
    /// How long a flow lasts: a time or an amount, such as exp 5 s or 100 kB [default: always]
    ///
    /// Distributions are "5 s", "fixed 20 packets", "exp 100 kB", "uniform 1..2 s", "pareto xm=147
    /// alpha=0.5 shift=-40 cap=3.3e9 B", and "empirical FILE B", a file with one number per line.
    #[arg(long, value_name = "DISTRIBUTION")]
    on: Option<String>,
    /// The time between flows, and before the first, such as exp 5 s
    #[arg(long, value_name = "DISTRIBUTION")]
    off: Option<String>,
    /// The host of all senders: TCP, or the bare host that RemyCCs are trained on, which does not
    /// retransmit what is lost [default: tcp]
    #[arg(long, value_name = "HOST", value_parser = options::host(), help_heading = "Hosts")]
    host: Option<Host>,
    /// The initial window of TCP connections, in packets [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_WINDOW))]
    #[arg(help_heading = "Hosts")]
    initial_window: Option<u64>,
    /// Simulate the TCP handshake
    #[arg(long, help_heading = "Hosts")]
    handshake: bool,
    /// Carry all on-periods of a sender over one TCP connection, which keeps its window
    ///
    /// RemyCCs restart at each on-period, as in the papers. Scenario files have more settings, such as
    /// the effect of idle times on the window.
    #[arg(long, help_heading = "Hosts")]
    persistent: bool,
    /// Set any key of the scenario, such as link.jitter='exp 5 ms' or flow.2.rtt=80ms
    ///
    /// May be given several times. The parts of a key are separated by dots, and a link or flow is
    /// meant by its name or number; without, all are. The keys of a dumbbell may begin with dumbbell,
    /// link or flow. An empty value removes the key. Paths in values are relative to the scenario.
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment, help_heading = "Simulation")]
    set: Vec<(String, String)>,
    /// Repeat everything with each of these values of a key as for --set, such as link.rate=5Mbps,10Mbps
    #[arg(long, value_name = "KEY=A,B,...", value_parser = assignment, help_heading = "Simulation")]
    sweep: Option<(String, String)>,
    /// The time to simulate [default: the scenario's, or 100 s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Simulation")]
    duration: Option<Span>,
    /// The random seed [default: the scenario's, or 1]
    #[arg(long, value_name = "N", help_heading = "Simulation")]
    seed: Option<u64>,
}

/// Parses KEY=VALUE.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("give a key and its value, such as link.rate=20Mbps".to_owned()),
    }
}

impl NetworkFlags {
    /// The scene, if the scenario is a URL that holds one after a # and not a file of that name, and whether it is
    /// given alone.
    pub(crate) fn scene(&self) -> Option<(&str, bool)> {
        let url = self.scenario.as_ref().filter(|path| !path.exists())?.to_str()?;
        let url = Some(url).filter(|url| url.contains('#'))?;
        let alone = NetworkFlags { scenario: self.scenario.clone(), ..NetworkFlags::default() };
        Some((url, *self == alone))
    }

    /// The network as a document; `senders` is how many there are by default if flags alone describe it.
    pub(crate) fn document(&self, senders: usize) -> Result<Document, Failure> {
        let mut document = match &self.scenario {
            None => Document::of_flags(self.back.is_some()),
            Some(file) => Document::of_file(shipped::scenario(file).map_err(|failure| {
                if file.exists() { failure } else { failure.with_tip(NO_SCENARIO) }
            })?)?,
        };
        let default = self.scenario.is_none().then_some(senders as u64);
        if let Some(senders) = self.senders.or(default) {
            let name = if self.senders.is_some() { "--senders" } else { "--cc" };
            let value = Value::Integer(senders.cast_signed());
            let edit = document.change((name, &senders.to_string()), Part::Flow, "count", value)?;
            if self.senders.is_none() {
                edit.hide();
            }
        }
        self.change_links(&mut document)?;
        self.change_flows(&mut document)?;
        self.change_all(&mut document);
        if self.scenario.is_none() {
            document.set_title(&self.title(senders));
        }
        Ok(document)
    }

    fn change_links(&self, document: &mut Document) -> Result<(), Failure> {
        let text = |value: String| Value::String(value);
        if let Some(link) = self.link.map(|link| link.to_string()) {
            document.replace(
                ("--link", &link),
                Part::Link,
                ["rate", "trace"],
                text(link.clone()),
            )?;
        }
        if let Some(trace) = &self.trace {
            let path = text(document.path(trace));
            document.replace(("--trace", trace), Part::Link, ["trace", "rate"], path)?;
        }
        if let Some(back) = &self.back {
            let key = options::service_key(back);
            let other = if key == "rate" { "link.back.trace" } else { "link.back.rate" };
            let edit = Edit::new("--back", back).without(other);
            document.edit(edit.set(format!("link.back.{key}"), text(back.clone())));
        }
        let queue = self.queue.as_ref().map(ToString::to_string);
        let loss = self.loss.map(|loss| loss.to_string());
        let flags = [
            ("--buffer", "buffer", self.buffer.clone()),
            ("--queue", "queue", queue),
            ("--loss", "loss", loss),
        ];
        for (flag, key, value) in flags {
            if let Some(value) = value {
                document.change((flag, &value), Part::Link, key, text(value.clone()))?;
            }
        }
        Ok(())
    }

    fn change_flows(&self, document: &mut Document) -> Result<(), Failure> {
        let text = |value: String| Value::String(value);
        if let Some(rtt) = self.rtt {
            let shown = rtt.to_string();
            document.change(("--rtt", &shown), Part::Flow, "rtt", text(shown.clone()))?;
            if self.back.is_some() {
                let half = text((rtt / 2).to_string());
                document.edit(Edit::new("--rtt", &shown).set("link.delay", half));
            }
        }
        if let Some(host) = self.host.map(Host::name) {
            document.change(("--host", host), Part::Flow, "host", text(host.to_owned()))?;
        }
        if let Some(on) = &self.on {
            if on != DEFAULT_ON && self.off.is_none() && self.scenario.is_none() {
                let problem = "flows end, and the time between them is missing: give --off as well";
                return Err(Failure::invalid_value(on, "--on", problem));
            }
            if on == DEFAULT_ON && self.off.is_none() {
                // The file's time between flows has no meaning any more.
                let keys = ["traffic.on", "traffic.off"];
                document.replace(("--on", on), Part::Flow, keys, text(on.clone()))?;
            } else {
                document.change(("--on", on), Part::Flow, "traffic.on", text(on.clone()))?;
            }
        }
        if let Some(off) = &self.off {
            document.change(("--off", off), Part::Flow, "traffic.off", text(off.clone()))?;
        }
        Ok(())
    }

    /// The flags of the whole scenario, and --set, which is last.
    fn change_all(&self, document: &mut Document) {
        let text = |span: Option<Span>| span.map(|span| Value::String(span.to_string()));
        let number = |number: u64| Value::Integer(number.cast_signed());
        let flags = [
            ("--warm-up", "warm_up", text(self.warm_up)),
            ("--duration", "duration", text(self.duration)),
            ("--initial-window", "tcp.initial_window", self.initial_window.map(number)),
            ("--handshake", "tcp.handshake", self.handshake.then_some(Value::Boolean(true))),
            ("--persistent", "tcp.persistent", self.persistent.then_some(Value::Boolean(true))),
        ];
        for (flag, key, value) in flags {
            if let Some(value) = value {
                let shown = match &value {
                    Value::String(text) => text.clone(),
                    Value::Boolean(_) => String::new(),
                    other => other.to_string(),
                };
                document.edit(Edit::new(flag, &shown).set(key, value));
            }
        }
        if let Some(seed) = self.seed {
            // It changes no key: TOML's numbers end at 2^63.
            document.edit(Edit::new("--seed", &seed.to_string()));
        }
        for (key, value) in &self.set {
            document.edit(Edit::assignment("--set", key, value));
        }
    }

    /// The random seed, if it is not the scenario's.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// --sweep as given.
    pub(crate) fn sweep_text(&self) -> Option<String> {
        self.sweep.as_ref().map(|(key, values)| format!("{key}={values}"))
    }

    /// The key and the values of --sweep.
    pub(crate) fn sweep(&self) -> Option<(&str, Vec<&str>)> {
        let (key, values) = self.sweep.as_ref()?;
        Some((key, values.split(',').map(str::trim).collect()))
    }

    /// The same as an experiment has it.
    pub(crate) fn sweep_table(&self, document: &Document) -> Option<toml::Table> {
        let (key, values) = self.sweep()?;
        let mut sweep = toml::Table::new();
        sweep.insert("key".to_owned(), Value::String(document.key(key)));
        let values: Vec<Value> = values.into_iter().map(literal).collect();
        sweep.insert("values".to_owned(), values.into());
        Some(sweep)
    }

    fn title(&self, senders: usize) -> String {
        let link = self.link.map(|link| link.to_string()).or(self.trace.clone());
        let senders = counted(self.senders.unwrap_or(senders as u64), "sender", "senders");
        let rtt = self.rtt.unwrap_or_default();
        format!("{}, {rtt}, {senders}", link.unwrap_or_default())
    }

    /// The flags, and the defaults of a network that is described by flags; of a scenario only if it is changed.
    pub(crate) fn setup(&self, document: &Document, runs: [u64; 2]) -> Setup {
        let mut setup = Setup::new();
        if let Some(file) = &self.scenario {
            setup.given("scenario", file.display());
            for edit in document.edits().iter().filter(|edit| edit.is_shown()) {
                setup.given(edit.flag().trim_start_matches('-'), edit.shown());
            }
        } else {
            self.describe(&mut setup, document);
        }
        if let Some(sweep) = self.sweep_text() {
            setup.given("sweep", sweep);
        }
        let [runs, usual] = runs;
        setup.usually("runs", runs, usual);
        if self.scenario.is_none() {
            setup.usually("seed", self.seed.unwrap_or(DEFAULT_SEED), DEFAULT_SEED);
        }
        setup
    }

    fn describe(&self, setup: &mut Setup, document: &Document) {
        if let Some(link) = &self.link {
            setup.given("link", link);
        }
        if let Some(trace) = &self.trace {
            setup.given("trace", trace);
        }
        if let Some(back) = &self.back {
            setup.given("back", back);
            setup.usually("warm-up", self.warm_up.unwrap_or_default(), Span::ZERO);
        }
        if let Some(rtt) = &self.rtt {
            setup.given("rtt", rtt);
        }
        let usual = |name, value: Option<&str>, default| {
            (name, value.unwrap_or(default).to_owned(), default)
        };
        let senders = document.default_senders();
        setup.usually("senders", self.senders.unwrap_or(senders), senders);
        let queue = self.queue.as_ref().map(ToString::to_string);
        let loss = self.loss.map(|loss| loss.to_string());
        for (name, value, default) in [
            usual("buffer", self.buffer.as_deref(), DEFAULT_BUFFER),
            usual("queue", queue.as_deref(), DEFAULT_QUEUE),
            usual("loss", loss.as_deref(), DEFAULT_LOSS),
            usual("host", self.host.map(Host::name), Host::default().name()),
        ] {
            setup.usually(name, value, default);
        }
        if self.host.unwrap_or_default() != Host::Bare {
            let window = self.initial_window.unwrap_or(INITIAL_WINDOW);
            setup.usually("initial-window", window, INITIAL_WINDOW);
            setup.usually("handshake", self.handshake, false);
            setup.usually("persistent", self.persistent, false);
        }
        setup.usually("on", self.on.as_deref().unwrap_or(DEFAULT_ON), DEFAULT_ON);
        if let Some(off) = &self.off {
            setup.given("off", off);
        }
        setup.usually("duration", self.duration.unwrap_or(DEFAULT_DURATION), DEFAULT_DURATION);
        for (key, value) in &self.set {
            setup.given("set", format_args!("{key}={value}"));
        }
    }

    /// The words of a command that describe the network, after its `name`.
    pub(crate) fn command(&self, name: &str, document: &Document) -> String {
        let mut words = vec![name.to_owned()];
        if let Some(file) = &self.scenario {
            words.push(shell::quoted(&file.to_string_lossy()));
        }
        for edit in document.edits().iter().filter(|edit| edit.is_shown()) {
            words.push(edit.flag().to_owned());
            if !edit.shown().is_empty() {
                words.push(shell::quoted(edit.shown()));
            }
        }
        if let Some(sweep) = self.sweep_text() {
            words.push(format!("--sweep {}", shell::quoted(&sweep)));
        }
        words.join(" ")
    }
}
