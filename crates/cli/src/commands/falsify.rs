//! `exm falsify`: the networks on which a controller does worst.

use crate::complete;
use crate::layout;
use crate::options::{self, DEFAULT_SEED, short_name};
use crate::outputs::{check_output, write_file};
use crate::progress::Progress;
use crate::ranges;
use crate::shell::{Failure, Printing, quoted};
use crate::shipped;
use crate::threads::Threads;
use exm_design::DesignRanges;
use exm_design::falsify::{self, COMPETITOR, Counterexample, Falsify, Performance, Space, TESTED};
use exm_design::{DrawnLink, Mixed, Model, Objective};
use exm_grammar::Unit;
use exm_sim::controllers::AnyController;
use exm_sim::network::Host;
use exm_sim::traffic::Traffic;
use exm_store::{Columns, counted};
use exm_units::{Bytes, Probability};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What tested controllers are compared with, the first that is another one.
const REFERENCES: [&str; 2] = ["cubic", "bbr"];

const EXAMPLES: &str = "\
The search first draws networks at random, and then ever closer to the worst ones. It varies rate, RTT, senders, buffer, loss, \
jitter, reordering, traffic, competitors at the bottleneck and in the other direction, and a second bottleneck. On each network \
the controller and the reference run with the same traffic. The search maximises the reference's lead in points: \
log2(throughput) - delta log2(RTT), relative to the network's rate and propagation RTT. A point is twice the throughput.

Each network found is evaluated by the median of 20 further runs, in which rates, RTT and buffers vary by up to 3 % and senders \
start at other times, so that neither luck nor phase effects decide. \
Without --model, networks have 0.2..500 Mbps, RTTs of 2..400 ms, 1..64 senders, buffers of 0.25..16 BDP but \
at least 8 packets, losses of 0..3 %, a mean jitter of up to half an RTT, and up to 10 % of packets delayed by up \
to an RTT. The same seed and number of tries find the same networks, on any number of threads.

Examples:
  exm falsify general-delta1
  exm falsify bbr --against cubic --competitor none
  exm falsify cc.json --model office.toml --around 4 -o worst.toml
  exm simulate worst.toml
  exm falsify cc.json --model office.toml --into harder.toml --weight '20 %'
  exm design harder.toml --start cc.json -o harder.json";

/// Find the networks on which a controller performs worst relative to another
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The controller to test: a table's file, the name of a shipped table, or of a controller such as bbr
    #[arg(value_name = "CC", add = complete::controllers())]
    cc: String,
    /// The controller to compare it with [default: cubic; bbr for cubic itself]
    #[arg(long, value_name = "CC", add = complete::controllers())]
    against: Option<String>,
    /// Search networks around this model, a file or a shipped one, with its objective
    #[arg(long, value_name = "MODEL", add = complete::models())]
    model: Option<PathBuf>,
    /// Widen the model's ranges by this factor on both sides; 1 searches inside the model
    #[arg(long, value_name = "FACTOR", default_value_t = 10.0, requires = "model")]
    #[arg(value_parser = factor)]
    around: f64,
    /// The weight of delay [default: the model's, or 1]
    #[arg(long, value_name = "DELTA", value_parser = options::delta, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// The controller that competes with the senders at the bottleneck, in a third of the networks; or none
    #[arg(long, value_name = "CC", default_value = "cubic", add = complete::controllers())]
    competitor: String,
    /// The host of both controllers: TCP, or the bare host that RemyCCs are trained on; a reference that requires TCP stays on TCP
    #[arg(long, value_name = "HOST", default_value = "tcp", value_parser = options::host())]
    host: Host,
    /// How many networks to try
    #[arg(long, value_name = "N", default_value_t = 400)]
    #[arg(value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    tries: u32,
    /// The random seed of the search
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// Where to write the worst network, as a scenario
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where to write the model with the worst network as a new part, for another design
    #[arg(long, value_name = "FILE", requires = "model")]
    into: Option<PathBuf>,
    /// The share of that part in the networks of the model
    #[arg(long, value_name = "PROBABILITY", default_value = "0.2", requires = "into")]
    weight: Probability,
    /// Overwrite existing files
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

fn factor(text: &str) -> Result<f64, String> {
    options::number_in(1.0..=1000.0, text)
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let mut taken: Vec<&Path> = self.model.iter().map(PathBuf::as_path).collect();
        for out in self.out.iter().chain(&self.into) {
            check_output(out, &taken, self.force)?;
            taken.push(out);
        }
        self.check_into()?;
        let mut ranges = DesignRanges::default();
        let search = self.search(&mut ranges)?;
        let progress = Progress::new(search.simulations() as u64);
        let found = search.search(&|| progress.advance(1));
        progress.finish();
        let found = found?;
        let report = self.report(&search, &found);
        if let Some(out) = &self.out {
            write_file(out, report.found[0].scenario.as_bytes())?;
        }
        if let Some(into) = &self.into {
            write_file(into, self.extended(&found[0], into)?.as_bytes())?;
        }
        self.printing.print(&report)?;
        Ok(ExitCode::SUCCESS)
    }

    fn search(&self, ranges: &mut DesignRanges) -> Result<Falsify, Failure> {
        let model = self.model.as_deref().map(shipped::model).transpose()?;
        let mut objective =
            model.as_ref().map_or_else(Objective::default, |m| m.objective().clone());
        objective.delta = self.delta.unwrap_or(objective.delta);
        let mut space = model.map_or_else(Space::default, |m| Space::around(&m, self.around));
        let competitor = match self.competitor.as_str() {
            "none" => {
                space.competitors = 0;
                "cubic"
            }
            name => name,
        };
        let mut controller = |name: &str| -> Result<AnyController, Failure> {
            let known = AnyController::parse(name);
            match known.map_err(|error| Failure::usage(error.to_string()))? {
                Some(controller) => Ok(controller),
                None => ranges::controller(ranges, name, Path::new(name)).map_err(Failure::usage),
            }
        };
        let (tested, reference) = (controller(&self.cc)?, controller(self.reference())?);
        let competitor = controller(competitor)?;
        if !self.host.suits(&tested) {
            let name = &self.cc;
            let what = format!("{name} is designed for TCP, and the bare host does not retransmit");
            return Err(Failure::usage(what).with_tip("run it over TCP: --host tcp"));
        }
        // A reference that cannot do without TCP has it.
        let beside = if self.host.suits(&reference) { self.host } else { Host::Tcp };
        Ok(Falsify {
            space,
            tested: self.host.transport(tested),
            reference: beside.transport(reference),
            competitor: Host::Tcp.transport(competitor),
            objective,
            tries: self.tries as usize,
            seed: self.seed,
        })
    }

    /// Refuses a model that cannot take the network as a part, before the search.
    fn check_into(&self) -> Result<(), Failure> {
        let (Some(_), Some(model)) = (&self.into, &self.model) else { return Ok(()) };
        let model = shipped::model(model)?;
        if let [_, _, ..] = model.tables() {
            let what = "the model designs several tables, and the network tests one";
            return Err(Failure::usage(what).with_tip("write it with -o, and its [[part]] by hand"));
        }
        Ok(())
    }

    /// The text of the model, with the network of `found` as a further part; its paths must start where those
    /// of `into` do.
    fn extended(&self, found: &Counterexample, into: &Path) -> Result<String, Failure> {
        let model = shipped::model(self.model.as_deref().expect("clap requires it"))?;
        let part = falsify::part(&found.network, self.weight, &model.tables()[0], &self.competitor);
        let (tested, reference) = (short_name(&self.cc), short_name(self.reference()));
        let text = format!(
            "{}\n\n# Where {tested} was {:.1} points behind {reference}, as exm falsify found with seed {}.\n{part}",
            model.text().trim_end(),
            found.deficit.median,
            self.seed
        );
        let dir = into.parent().unwrap_or(Path::new(""));
        Model::parse_in(&text, &into.display().to_string(), dir)?;
        Ok(text)
    }

    fn reference(&self) -> &str {
        let default =
            || REFERENCES.into_iter().find(|name| *name != self.cc).unwrap_or(REFERENCES[0]);
        self.against.as_deref().unwrap_or_else(default)
    }

    fn report(&self, search: &Falsify, found: &[Counterexample]) -> Report {
        let (tested, reference) = (short_name(&self.cc), short_name(self.reference()));
        let each = found.iter().map(|found| {
            let title = format!(
                "{tested} is {:.1} points behind {reference}, as exm falsify found with seed {}",
                found.deficit.median, self.seed
            );
            let controller = (self.cc.as_str(), self.host);
            let text =
                falsify::scenario(&found.network, &title, found.seed, controller, &self.competitor);
            FoundRow::new(found, text, &self.competitor)
        });
        let found = each.collect();
        Report {
            tested,
            reference,
            host: self.host.name(),
            reference_host: search.reference.host_name(),
            seed: self.seed,
            tries: self.tries,
            objective: search.objective.to_string(),
            found,
            scenario: self.out.as_ref().map(|out| quoted(&out.display().to_string())),
            extended: self.into.as_ref().map(|into| quoted(&into.display().to_string())),
        }
    }
}

/// What was found, the worst first.
#[derive(Serialize)]
struct Report {
    tested: String,
    reference: String,
    host: &'static str,
    reference_host: &'static str,
    seed: u64,
    tries: u32,
    objective: String,
    found: Vec<FoundRow>,
    /// Where the first was written.
    #[serde(skip)]
    scenario: Option<String>,
    /// Where the model with it was written.
    #[serde(skip)]
    extended: Option<String>,
}

#[derive(Serialize)]
struct FoundRow {
    /// The median lead of the reference in points, and its 95 % interval.
    deficit: f64,
    interval: (f64, f64),
    tested: Performance,
    reference: Performance,
    rate_mbps: f64,
    rtt_ms: f64,
    senders: usize,
    competitors: usize,
    /// As [`fmt::Display`] has it.
    network: String,
    scenario: String,
}

impl FoundRow {
    fn new(found: &Counterexample, scenario: String, competitor: &str) -> FoundRow {
        let network = &found.network;
        let count = |class| network.senders.iter().filter(|sender| sender.class == class).count();
        FoundRow {
            deficit: found.deficit.median,
            interval: (found.deficit.low, found.deficit.high),
            tested: found.tested,
            reference: found.reference,
            rate_mbps: network.links[0].rate.as_mbps(),
            rtt_ms: network.senders[0].rtt.as_millis_f64(),
            senders: count(TESTED),
            competitors: count(COMPETITOR),
            network: described(network, count(TESTED), count(COMPETITOR), competitor),
            scenario,
        }
    }
}

/// "15 Mbps, RTT 150 ms, buffer 40 packets, loss 1 %, 3 senders on exp 5 s, off exp 1 s, beside 1 cubic".
fn described(network: &Mixed, tested: usize, competitors: usize, competitor: &str) -> String {
    let links = network.links.iter().map(|link| {
        let buffer = link.buffer.map_or("unlimited".to_owned(), |buffer| buffer.to_string());
        format!("{}, buffer {buffer}", link.rate)
    });
    let sender = &network.senders[0];
    let mut text = format!("{}, RTT {}", links.collect::<Vec<_>>().join(", then "), sender.rtt);
    let loss = network.links[0].loss.get();
    if loss > 0.0 {
        text += &format!(", loss {} %", (loss * 1e4).round() / 1e2);
    }
    text += &variation(&network.links[0]);
    text += &format!(", {}", counted(tested as u64, "sender", "senders"));
    text += &traffic(&sender.traffic);
    if competitors > 0 {
        text += &format!(", beside {competitors} {competitor}");
    }
    text
}

/// ", jitter 5 ms, 2 % held back for 10 ms", as far as `link` has them.
fn variation(link: &DrawnLink) -> String {
    let jitter = (!link.jitter.is_zero()).then(|| format!(", jitter {}", link.jitter));
    let (probability, extra) = (link.reordering.probability.get(), link.reordering.extra);
    let percent = (probability * 1e4).round() / 1e2;
    let held = (probability > 0.0).then(|| format!(", {percent} % held back for {extra}"));
    jitter.unwrap_or_default() + &held.unwrap_or_default()
}

/// The traffic of a network of the space: on and off by turns.
fn traffic(traffic: &Traffic) -> String {
    let Some(on) = traffic.on().amounts() else { return " always on".to_owned() };
    let mean = match on.unit {
        Unit::Bytes => Bytes::new(on.distribution.mean() as u64).to_string(),
        unit => format!("{} {unit}", on.distribution.mean()),
    };
    let off = match traffic {
        Traffic::OnOff(process) => process.off.mean(),
        Traffic::Every { .. } | Traffic::Schedule { .. } => 0.0,
    };
    format!(" with flows of {mean} on average, {off} s apart")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { tested, reference, .. } = self;
        let mut host = self.host.to_owned();
        if self.reference_host != self.host {
            host += &format!(", {reference} on {}", self.reference_host);
        }
        writeln!(
            f,
            "{tested} against {reference}: {} networks tried, seed {}, host {host}\nobjective: {}, relative\n",
            self.tries, self.seed, self.objective
        )?;
        let mut columns = Columns::new(0);
        let heading = ["behind by", "95 % interval", "share", "", "RTT ratio", ""];
        columns.line(heading.map(str::to_owned));
        columns.line(["points", "", tested, reference, tested, reference].map(str::to_owned));
        for row in &self.found {
            let ratio = |got: &Performance| {
                got.rtt_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
            };
            columns.line([
                format!("{:.2}", row.deficit),
                format!("{:.2}..{:.2}", row.interval.0, row.interval.1),
                format!("{:.2}", row.tested.share),
                format!("{:.2}", row.reference.share),
                ratio(&row.tested),
                ratio(&row.reference),
            ]);
        }
        writeln!(f, "{}", layout::table(&columns))?;
        for (index, row) in self.found.iter().enumerate() {
            writeln!(f, "{}. {}", index + 1, row.network)?;
        }
        if self.found[0].interval.0 <= 0.0 {
            writeln!(
                f,
                "\nOn none of them is {reference} ahead beyond doubt: more --tries may find one."
            )?;
        }
        match &self.scenario {
            Some(file) => writeln!(f, "\nSee the first:\n  exm simulate {file}")?,
            None => writeln!(f, "\nWith -o worst.toml the first is written as a scenario.")?,
        }
        match &self.extended {
            Some(file) => writeln!(f, "\nDesign again with it:\n  exm design {file} -o again.json"),
            None => Ok(()),
        }
    }
}
