//! [`Model`]: what is assumed of networks and asked of their senders; what a design is made for.

mod bounds;
mod choice;
mod error;
mod networks;
mod section;
mod traffic;

pub use error::ModelError;
pub(crate) use networks::{Buffer, Draw, Networks, Senders};
pub(crate) use traffic::mean;

use crate::objective::Objective;
use error::Problem;
use exm_remy::{Signal, SignalSet};
use exm_sim::network::Host;
use exm_sim::traffic::OnOff;
use exm_units::{Fnv1a, Span};
use section::{Section, Value, elements, parsed, word};
use std::fmt;
use std::path::Path;
use toml::de::DeTable;

/// The longest time simulated: a day and more, and the simulator's clocks stay far from overflow.
const MAX_DURATION: Span = Span::from_secs(100_000);
/// The most specimens of one trial, and the most combinations of a grid.
const MAX_SPECIMENS: usize = 1_000_000;

/// What is assumed of networks and asked of their senders, as read from a file.
///
/// It prints as the TOML of all it says, defaults included; that text is read as the same model.
///
/// A file is TOML; quantities are text with their unit, or numbers where they have none.
///
/// | key | meaning | unless given |
/// |---|---|---|
/// | `name` | what it is called | |
/// | **`[network]`** | | |
/// | `rate` | of the link | required |
/// | `rtt` | round-trip propagation delay, the same for all senders | required |
/// | `senders` | how many | required |
/// | `buffer` | what may wait at the link: `"1000 packets"`, `"250 kB"` (whole packets that fit), `"5 BDP"` (of the network drawn) or `"unlimited"` | `"unlimited"` |
/// | `loss` | chance that a packet is lost after the link: `0.01` or `"1 %"` | `0` |
/// | `packet_size` | of every packet | `"1500 B"` |
/// | `draw` | `"random"`, or `"grid"` for every combination in turn | `"random"` |
/// | **`[traffic]`** | | |
/// | `on` | how long a flow lasts: a time, an amount of data, or `"always"` | required |
/// | `off` | the time between flows, and before the first | required unless always on |
/// | **`[objective]`** | see [`Objective`] | |
/// | `alpha` | fairness in throughput | `1` |
/// | `beta` | fairness in delay | `1` |
/// | `delta` | weight of delay | `1` |
/// | `loss_penalty` | subtracted per unit of loss rate | `0` |
/// | `throughput` | over what time: `"share"` or `"on"` | `"share"` |
/// | `units` | `"absolute"`, or `"relative"` to the network's own | `"absolute"` |
/// | **`[design]`** | | |
/// | `signals` | what a design may look at | `["send_ewma", "ack_ewma", "rtt_ratio", "slow_ack_ewma"]` |
/// | `action` | what it may change | `["window_multiple", "window_increment", "intersend"]` |
/// | `duration` | how much time of a specimen is simulated | `"100 s"` |
/// | `specimens` | how many networks a candidate is tried on | `16` |
/// | `host` | what senders run on when the result is scored: `"bare"` or `"tcp"` (see [`Host`]); searches always use the bare host | `"bare"` |
///
/// The first five of `[network]` are exact (`"15 Mbps"`), a list (`["10 Mbps", "20 Mbps"]`, each as
/// likely), a range (`"10..20 Mbps"`, uniform, both ends included) or a range drawn uniformly in
/// its logarithm (`"log 4.7..47 Mbps"`). Rates are bits per second or `"1.25 packets/ms"`.
///
/// `on` and `off` are `"5 s"`, `"fixed 20 packets"`, `"exponential 100 kB"` (or `"exp"`),
/// `"uniform 1..2 s"`, `"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B"` or a list of amounts.
///
/// Unknown keys are refused, and the nearest known one named. So are models of which a specimen
/// would take too long: one has at most a million flows, as far as can be expected, and its link
/// carries at most 10^9 packets.
#[derive(Clone, Debug)]
pub struct Model {
    name: Option<String>,
    pub(crate) networks: Networks,
    pub(crate) traffic: OnOff,
    objective: Objective,
    design: Design,
    text: String,
}

/// What a design may consist of, and how it is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// What it may look at.
    pub signals: SignalSet,
    /// What it may change; never empty, in the order of [`ActionPart::ALL`].
    pub action: Vec<ActionPart>,
    /// How much time of a specimen is simulated.
    pub duration: Span,
    /// How many networks a candidate is tried on.
    pub specimens: usize,
    /// What held-out scores run senders on. Searches use the bare host whatever stands here: only it
    /// has a fast path.
    pub host: Host,
}

/// A part of a rule's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionPart {
    /// The factor of the window.
    WindowMultiple,
    /// What is added to the window.
    WindowIncrement,
    /// The least time between sends.
    Intersend,
}

impl ActionPart {
    /// All of them.
    pub const ALL: [ActionPart; 3] =
        [ActionPart::WindowMultiple, ActionPart::WindowIncrement, ActionPart::Intersend];

    /// Its name in models.
    pub const fn name(self) -> &'static str {
        match self {
            ActionPart::WindowMultiple => "window_multiple",
            ActionPart::WindowIncrement => "window_increment",
            ActionPart::Intersend => "intersend",
        }
    }
}

impl Model {
    /// Reads the model in the file at `path`.
    ///
    /// # Errors
    /// [`ModelError`] where the file cannot be read or is no model.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let problem = Problem::nowhere(format!("the model cannot be read: {error}"));
            ModelError::new(&name, "", problem)
        })?;
        Model::parse(&text, &name)
    }

    /// Reads the model `text`, called `name` in errors.
    ///
    /// # Errors
    /// [`ModelError`] where it is none.
    pub fn parse(text: &str, name: &str) -> Result<Model, ModelError> {
        read(text).map_err(|problem| ModelError::new(name, text, problem))
    }

    /// What it is called.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What a design is to maximise.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// What a design may consist of, and how it is tried.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The text it was read from, comments and all.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A number that tells models apart by what they say: not by name, comments or wording. It is
    /// the 64-bit FNV-1a hash of the printed model without its name.
    pub fn fingerprint(&self) -> u64 {
        Fnv1a::of(Body(self).to_string()).get()
    }
}

fn read(text: &str) -> Result<Model, Problem> {
    let table = DeTable::parse(text).map_err(|error| {
        let what = error.message().trim_end().replace('\n', "; ").replace('`', "\"");
        let what = format!("this is not TOML: {what}");
        match error.span() {
            Some(span) => Problem::at(span.start, what),
            None => Problem::nowhere(what),
        }
    })?;
    let top = Section::top(table.get_ref())?;
    let name = match top.get("name") {
        None => None,
        Some(value) => Some(parsed(value, "a name: write text", |text| Ok(text.to_owned()))?),
    };
    let networks = Networks::read(top.section("network")?)?;
    let traffic = traffic::read(top.section("traffic")?, networks.packet)?;
    let objective = read_objective(top.section("objective")?)?;
    let design = read_design(top.section("design")?, &networks)?;
    bounds::check(top, &networks, &traffic, design.duration)?;
    let model = Model { name, networks, traffic, objective, design, text: text.to_owned() };
    match model.grid_size() {
        Some(size) if size > MAX_SPECIMENS => Err(Problem::nowhere(format!(
            "the grid has {size} combinations: list fewer values, at most {MAX_SPECIMENS} in all"
        ))),
        _ => Ok(model),
    }
}

fn read_objective(section: Section<'_>) -> Result<Objective, Problem> {
    use crate::objective::{Throughput, Units};
    let number = |key: &str, default: f64, most: f64| {
        let Some(value) = section.get(key) else { return Ok(default) };
        let wanted = format!("a number from 0 to {most}");
        parsed(value, &wanted, |text| match text.replace('_', "").parse::<f64>() {
            Ok(number) if (0.0..=most).contains(&number) => Ok(number),
            _ => Err(format!("\"{key}\" cannot be {text}: give {wanted}")),
        })
    };
    let choice = |key: &str, what: &str, names: &[&str]| match section.get(key) {
        None => Ok(0),
        Some(value) => word(value, what, names),
    };
    let defaults = Objective::default();
    Ok(Objective {
        // Larger exponents would overflow; ten is all but the fairness of maximal minima.
        alpha: number("alpha", defaults.alpha, 10.0)?,
        beta: number("beta", defaults.beta, 10.0)?,
        delta: number("delta", defaults.delta, 1e6)?,
        loss_penalty: number("loss_penalty", defaults.loss_penalty, 1e6)?,
        throughput: Throughput::ALL[choice(
            "throughput",
            "a time to measure throughput over",
            &Throughput::ALL.map(Throughput::name),
        )?],
        units: Units::ALL[choice("units", "a kind of units", &Units::ALL.map(Units::name))?],
    })
}

fn read_design(section: Section<'_>, networks: &Networks) -> Result<Design, Problem> {
    let signals = match section.get("signals") {
        None => SignalSet::FIRST_FOUR,
        Some(value) => {
            let signals = words(value, "signal", &Signal::ALL.map(Signal::name))?;
            let set = SignalSet::new(signals.into_iter().map(|index| Signal::ALL[index]));
            set.unwrap_or(SignalSet::FIRST_FOUR)
        }
    };
    let action = match section.get("action") {
        None => ActionPart::ALL.to_vec(),
        Some(value) => {
            let parts = words(value, "part of an action", &ActionPart::ALL.map(ActionPart::name))?;
            let mut parts: Vec<_> = parts.into_iter().map(|index| ActionPart::ALL[index]).collect();
            parts.sort_unstable();
            parts
        }
    };
    let specimens = match section.get("specimens") {
        None => 16,
        Some(value) => parsed(value, "a number of specimens", |text| match text.parse() {
            Ok(count @ 1..=MAX_SPECIMENS) => Ok(count),
            _ => Err(format!(
                "\"{text}\" is no number of specimens: give a whole one from 1 to {MAX_SPECIMENS}"
            )),
        })?,
    };
    let host = match section.get("host") {
        None => Host::Bare,
        Some(value) => Host::ALL[word(value, "a host", &Host::NAMES)?],
    };
    Ok(Design { signals, action, duration: read_duration(section, networks)?, specimens, host })
}

fn read_duration(section: Section<'_>, networks: &Networks) -> Result<Span, Problem> {
    let longest = networks.longest_rtt();
    let check = |duration: Span| {
        if duration.is_zero() {
            Err("no time leaves nothing to simulate: give more than zero".to_owned())
        } else if duration > MAX_DURATION {
            Err(format!("{duration} is too long: give at most {MAX_DURATION}"))
        } else if duration <= longest {
            Err(format!(
                "a specimen of {duration} ends before a packet is acknowledged, which takes up to \
                 {longest}: let duration be longer"
            ))
        } else {
            Ok(duration)
        }
    };
    let Some(value) = section.get("duration") else {
        return check(Span::from_secs(100)).map_err(Problem::nowhere);
    };
    parsed(value, "a time: give one such as \"100 s\"", |text| {
        text.parse::<Span>().map_err(|error| error.to_string()).and_then(check)
    })
}

/// The places among `known` of a list of names, each named once and at least one.
fn words(value: &Value<'_>, what: &str, known: &[&str]) -> Result<Vec<usize>, Problem> {
    let place = value.span().start;
    let mut found = Vec::new();
    for element in elements(value) {
        let index = word(element, &format!("a {what}"), known)?;
        if found.contains(&index) {
            let twice = format!("\"{}\" stands twice: name it once", known[index]);
            return Err(Problem::at(element.span().start, twice));
        }
        found.push(index);
    }
    if found.is_empty() {
        let what = format!("without any {what} there is nothing to design: name one at least");
        return Err(Problem::at(place, what));
    }
    Ok(found)
}

/// `names` in quotes, as a list in a file has them.
fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A model without its name, as a file has it.
struct Body<'a>(&'a Model);

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Model { networks, traffic, objective, design, .. } = self.0;
        write!(f, "[network]\n{networks}\n[traffic]\n")?;
        traffic::write(f, traffic)?;
        let Objective { alpha, beta, delta, loss_penalty, throughput, units } = objective;
        writeln!(f, "\n[objective]\nalpha = {alpha}\nbeta = {beta}\ndelta = {delta}")?;
        writeln!(f, "loss_penalty = {loss_penalty}")?;
        writeln!(f, "throughput = \"{}\"\nunits = \"{}\"", throughput.name(), units.name())?;
        let signals = quoted(design.signals.iter().map(Signal::name));
        let action = quoted(design.action.iter().map(|part| part.name()));
        writeln!(f, "\n[design]\nsignals = [{signals}]\naction = [{action}]")?;
        writeln!(f, "duration = \"{}\"\nspecimens = {}", design.duration, design.specimens)?;
        // Left out where it is the default: models from before there was a choice keep their hash.
        match design.host {
            Host::Bare => Ok(()),
            host => writeln!(f, "host = \"{}\"", host.name()),
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            writeln!(f, "name = {}\n", toml::Value::from(name.as_str()))?;
        }
        Body(self).fmt(f)
    }
}

#[cfg(test)]
mod tests;
