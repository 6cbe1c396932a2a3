//! A rule table as a map of two of its signals, with a simulation's way through it.

use exm_measure::figure::{Colours, RuleBox, RuleMap};
use exm_remy::{Action, Cuboid, Point, Rule, RuleTable, Signal};
use exm_sim::engine::{FlowSample, Observer, Pace};

/// The quantile of a simulation's memories at the lower end of the axes; the upper end is symmetric.
const SHOWN: [f64; 2] = [0.002, 0.998];

/// What the colours of a map show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// How an ACK changes the window
    Growth,
    /// The minimum time between two packets
    Pace,
}

/// The signals on the axes of a map, and what its colours show.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The signal to the right.
    pub x: Signal,
    /// The signal upwards.
    pub y: Signal,
    /// What colours show.
    pub colour: Colour,
}

/// How a simulation used a table.
#[derive(Debug, Default)]
pub struct Seen {
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
    /// Whether there is nothing to draw: no flow received two ACKs.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

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

impl View {
    /// The map of `table`, called `name`, as a simulation of `network` used it.
    pub fn map(self, name: &str, table: &RuleTable, seen: &Seen, network: &str) -> RuleMap {
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
    fn way(self, flow: &[Point]) -> Vec<(f64, f64)> {
        flow.iter().map(|memory| (memory[self.x.index()], memory[self.y.index()])).collect()
    }

    /// Whether the box holds a memory whose signals besides the two of the picture are `held`.
    fn is_in_slice(self, domain: &Cuboid, table: &RuleTable, held: &Point) -> bool {
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
    fn value(self, action: &Action, window: f64) -> f64 {
        match self.colour {
            Colour::Growth => {
                let next = action.multiple * window + f64::from(action.increment);
                libm::log2(next.max(1e-3) / window)
            }
            Colour::Pace => libm::log2(action.intersend_ms.max(1e-6)),
        }
    }

    fn colours(self, boxes: &[RuleBox], window: f64) -> Colours {
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
