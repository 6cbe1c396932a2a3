//! `exm table plot`: a table as a map of two of its signals, and a simulation's way through it.

use crate::complete;
use crate::outputs::{check_only_output, write_output};
use crate::pictures::Format;
use crate::ranges::DesignRanges;
use crate::shell::{self, Failure};
use crate::{shipped, tables};
use exm_measure::figure::{Colours, RuleBox, RuleMap};
use exm_remy::{Action, Cuboid, Point, RemyCc, Rule, RuleTable, Signal};
use exm_sim::controllers::AnyController;
use exm_sim::engine::{self, FlowSample, Observer, Pace};
use exm_units::Span;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The table runs all senders of the scenario, on the scenario's hosts. The picture is a cut through the
rules: the signals that are not on its axes have their median value in the simulation, so that each
point belongs to one rule. A box's label is the fraction of all senders' ACKs that
fired its rule. The lines are the first three flows of the first sender; the first begins at the dot.

Colours of growth: the effect of an ACK on the simulation's median window, from half of
it (red) to twice (blue). Colours of pace: the minimum time between two packets.

Examples:
  exm table plot general-delta1 -o general.svg
  exm table plot cc.json --network office.toml --x rtt_ratio --y ack_ewma --colour pace -o cc.png";

/// The quantile of a simulation's memories at the lower end of the axes; the upper end is symmetric.
const SHOWN: [f64; 2] = [0.002, 0.998];

/// Draw a rule table: its actions over two signals, and how often each rule fires
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    /// Where to write the picture: .svg, .png or .pdf; - is the standard output, as SVG
    #[arg(short, long = "out", value_name = "FILE")]
    output: PathBuf,
    /// The network that the table is simulated on: a scenario's file, or the name of a shipped one
    #[arg(long, value_name = "SCENARIO", default_value = "dumbbell")]
    network: PathBuf,
    /// How much time to simulate [default: the scenario's]
    #[arg(long, value_name = "DURATION", value_parser = crate::commands::duration)]
    duration: Option<Span>,
    /// The random seed [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The signal on the horizontal axis
    #[arg(long, value_name = "SIGNAL", default_value = "rtt_ratio")]
    x: Signal,
    /// The signal on the vertical axis
    #[arg(long, value_name = "SIGNAL", default_value = "ack_ewma")]
    y: Signal,
    /// What colours show
    #[arg(long, value_enum, default_value_t = Colour::Growth)]
    colour: Colour,
    /// Overwrite an existing picture
    #[arg(long, short)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Colour {
    /// How an ACK changes the window
    Growth,
    /// The minimum time between two packets
    Pace,
}

/// How a simulation used a table.
#[derive(Debug, Default)]
struct Seen {
    /// How often each rule fired.
    fired: Vec<u64>,
    /// The memory at each ACK of each flow of the first sender, but for the first ACK, which only sets
    /// its baselines.
    first: Vec<Vec<Point>>,
    /// The same of all senders, together.
    all: Vec<Point>,
    /// The number of ACKs of all senders.
    acks: u64,
    /// The window after each ACK, in packets.
    windows: Vec<f64>,
}

impl Observer for Seen {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        let (Some(signals), Some(rule)) = (sample.signals, sample.rule) else { return };
        if self.fired.len() <= rule {
            self.fired.resize(rule + 1, 0);
        }
        self.fired[rule] += 1;
        self.acks += 1;
        // The first ACK can raise the extended signals.
        let is_new = signals[..Signal::REMYS] == [0.0; Signal::REMYS];
        if sample.flow == 0 && is_new {
            self.first.push(Vec::new());
        }
        if is_new {
            return;
        }
        self.all.push(signals);
        self.windows.push(sample.cwnd.get() as f64);
        if sample.flow == 0
            && let Some(flow) = self.first.last_mut()
        {
            flow.push(signals);
        }
    }
}

impl Seen {
    /// The fraction of all ACKs that fired rule `index`.
    fn share(&self, index: usize) -> f64 {
        let fired = self.fired.get(index).copied().unwrap_or(0);
        fired as f64 / self.acks.max(1) as f64
    }

    /// The quantile `part` of `signal` over the memories.
    fn quantile(&self, signal: Signal, part: f64) -> f64 {
        let values: Vec<f64> = self.all.iter().map(|memory| memory[signal.index()]).collect();
        exm_measure::quantile(&values, part).unwrap_or(0.0)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let format = Format::of(&self.output, "--out")?;
        if self.x == self.y {
            let problem = "it is the signal to the right already: give another";
            return Err(Failure::invalid_value(self.y.name(), "--y", problem));
        }
        check_only_output(&self.output, &[&self.table, &self.network], self.force)?;
        let file = tables::load(&self.table)?;
        let mut ranges = DesignRanges::default();
        ranges.note(&self.table.display().to_string(), &file);
        let (seen, network) = self.simulated(&file.table, &ranges)?;
        let svg = self.map(&file.table, &seen, &network).svg();
        write_output(&self.output, &format.encode(svg)?)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Simulates the scenario with `table` as the controller of all senders; also its title.
    fn simulated(
        &self,
        table: &RuleTable,
        ranges: &DesignRanges,
    ) -> Result<(Seen, String), Failure> {
        let mut scenario = shipped::scenario(&self.network)?;
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        let name = self.table.display().to_string();
        for group in &mut scenario.flows {
            group.controller.clone_from(&name);
        }
        let remy = AnyController::from(RemyCc::new(table));
        let network = scenario.network(&mut |_, _| Ok(remy.clone()))?;
        ranges.warnings([(&scenario, &network)]).iter().for_each(|warning| shell::warn(warning));
        let mut seen = Seen::default();
        engine::run_observed(&network, self.seed.unwrap_or(scenario.seed), &mut seen);
        if seen.all.is_empty() {
            let problem = format!("no flow of {} receives two ACKs", self.network.display());
            return Err(Failure::new(problem).with_tip("simulate longer: --duration"));
        }
        let title = scenario.title.unwrap_or_else(|| self.network.display().to_string());
        Ok((seen, title))
    }

    fn map(&self, table: &RuleTable, seen: &Seen, network: &str) -> RuleMap {
        let held = Signal::ALL.map(|signal| seen.quantile(signal, 0.5));
        let window = exm_measure::median(&seen.windows).unwrap_or(0.0).max(1.0);
        let slice: Vec<(usize, &Rule)> = table
            .rules()
            .iter()
            .enumerate()
            .filter(|(_, rule)| self.is_in_slice(&rule.domain, table, &held))
            .collect();
        let boxes = slice.iter().map(|&(index, rule)| RuleBox {
            x: side(&rule.domain, self.x),
            y: side(&rule.domain, self.y),
            value: self.value(&rule.action, window),
            label: percent(seen.share(index)),
            tooltip: tooltip(index, &rule.action, seen.share(index)),
        });
        let boxes: Vec<RuleBox> = boxes.collect();
        let shown: f64 = slice.iter().map(|&(index, _)| seen.share(index)).sum();
        let others = table.signals().iter().filter(|&signal| signal != self.x && signal != self.y);
        let others: Vec<String> = others
            .map(|signal| format!("{} = {:.3}", signal.name(), held[signal.index()]))
            .collect();
        let held =
            if others.is_empty() { String::new() } else { format!(" at {}", others.join(", ")) };
        let axis = |signal: Signal| {
            let [low, high] = SHOWN.map(|part| seen.quantile(signal, part));
            let room = (high - low).max(1e-3) * 0.05;
            (axis_label(signal), low - room, high + room)
        };
        let name = self.table.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        RuleMap {
            title: format!("{name} on {network}"),
            subtitle: format!(
                "{} of {} rules{held}; they fired {} of {} ACKs",
                slice.len(),
                table.rules().len(),
                percent(shown),
                seen.acks
            ),
            description: boxes.iter().map(|rule| rule.tooltip.clone() + ". ").collect(),
            x: axis(self.x),
            y: axis(self.y),
            colours: self.colours(&boxes, window),
            boxes,
            trajectory: seen.first.iter().map(|flow| self.way(flow)).collect(),
        }
    }

    /// The memories of a flow as points of the picture.
    fn way(&self, flow: &[Point]) -> Vec<(f64, f64)> {
        flow.iter().map(|memory| (memory[self.x.index()], memory[self.y.index()])).collect()
    }

    /// Whether the box holds a memory whose signals besides the two of the picture are `held`.
    fn is_in_slice(&self, domain: &Cuboid, table: &RuleTable, held: &Point) -> bool {
        let whole = table.domain();
        table.signals().iter().all(|signal| {
            let index = signal.index();
            // What lies outside of the whole table counts as the nearest memory inside.
            let value = held[index].max(whole.lower[index]).min(whole.upper[index].next_down());
            signal == self.x
                || signal == self.y
                || (domain.lower[index] <= value && value < domain.upper[index])
        })
    }

    /// The value that the colour of an action shows: logarithms to base 2 of the window's growth at
    /// `window` packets, or of the pace in ms.
    fn value(&self, action: &Action, window: f64) -> f64 {
        match self.colour {
            Colour::Growth => {
                let next = action.multiple * window + f64::from(action.increment);
                libm::log2(next.max(1e-3) / window)
            }
            Colour::Pace => libm::log2(action.intersend_ms.max(1e-6)),
        }
    }

    fn colours(&self, boxes: &[RuleBox], window: f64) -> Colours {
        match self.colour {
            Colour::Growth => Colours {
                title: format!("an ACK makes of a window of {window:.0}"),
                low: -1.0,
                middle: Some(0.0),
                high: 1.0,
                names: ["half or less", "the same", "twice or more"].map(str::to_owned),
            },
            Colour::Pace => {
                let values = || boxes.iter().map(|rule| rule.value);
                let low = values().fold(f64::INFINITY, f64::min);
                let high = values().fold(f64::NEG_INFINITY, f64::max);
                let name = |value: f64| format!("{:.3} ms", libm::exp2(value));
                Colours {
                    title: "least time between two packets".to_owned(),
                    low,
                    middle: None,
                    high,
                    names: [name(low), String::new(), name(high)],
                }
            }
        }
    }
}

/// The range of `signal` in a box.
fn side(domain: &Cuboid, signal: Signal) -> (f64, f64) {
    (domain.lower[signal.index()], domain.upper[signal.index()])
}

fn axis_label(signal: Signal) -> String {
    match signal.unit() {
        "" => signal.name().to_owned(),
        unit => format!("{}, {unit}", signal.name()),
    }
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent > 0.0 && percent < 0.05 {
        "< 0.1 %".to_owned()
    } else if percent >= 10.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A rule in words.
fn tooltip(index: usize, action: &Action, share: f64) -> String {
    let Action { multiple, increment, intersend_ms } = action;
    format!(
        "rule {index}: window x {multiple:.3} + {increment}, {intersend_ms:.3} ms between packets, {} of ACKs",
        percent(share)
    )
}
