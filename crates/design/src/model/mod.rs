//! [`Model`]: the assumed networks and the objective of their senders, for which a table is designed.

mod bounds;
mod choice;
mod classes;
mod error;
mod halo;
mod links;
mod networks;
mod objective;
mod parts;
mod quantities;
mod robust;
mod section;
mod traces;
mod traffic;
mod variant;

pub use classes::{Class, Role};
pub(crate) use links::Link;
pub(crate) use networks::{Draw, Networks};
pub(crate) use parts::Part;
pub(crate) use quantities::{Buffer, Senders};
use robust::Robust;

use crate::objective::Objective;
use crate::shipped;
use crate::specimen::LINK_AXES;
use classes::Known;
use error::Problem;
use exm_cc::{Controller, Reno};
use exm_grammar::FileError;
use exm_remy::{Signal, SignalSet};
use exm_sim::network::Host;
use exm_units::{Fnv1a, Span};
use section::{Section, Value, elements, parsed, word};
use std::fmt;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// The longest time simulated: a day and more, and the simulator's clocks stay far from overflow.
const MAX_DURATION: Span = Span::from_secs(100_000);
/// The maximum number of specimens of one trial, and of combinations of a grid.
const MAX_SPECIMENS: usize = 1_000_000;

/// The assumed networks and the objective of their senders, as read from a file.
///
/// It prints as TOML with all settings, defaults included; that text parses to the same model.
///
/// A file is TOML; quantities are text with their unit, or numbers where they have none.
///
/// | key | meaning | unless given |
/// |---|---|---|
/// | `name` | what it is called | |
/// | **`[network]`** | | |
/// | `rate` | of the link | required unless links stand in `[[link]]` alone |
/// | `rtt` | round-trip propagation delay, the same for all senders | required |
/// | `senders` | how many | required |
/// | `buffer` | what may wait at the link: `"1000 packets"`, `"250 kB"` (whole packets that fit), `"5 BDP"` (of the network drawn) or `"unlimited"` | `"unlimited"` |
/// | `loss` | probability that a packet is lost after the link: `0.01` or `"1 %"` | `0` |
/// | `jitter` | mean of an exponential time that is added to each packet's propagation delay; packets keep their order | none |
/// | `reorder` | probability that a packet is held back, so that others overtake it | `0` |
/// | `reorder_delay` | for how long | `"10 ms"` |
/// | `access` | the link transmits in frames, as Wi-Fi does, each after medium access of this mean, exponential | none |
/// | `block_errors` | probability that a transmission of a block fails, on a cellular link | `0` |
/// | `block_step` | the time of its retransmission | `"8 ms"` |
/// | `trace` | instead of `rate`: a file of delivery opportunities, relative to the model, or a synthetic trace such as `"lte, seed 2"`; or a list of them | |
/// | `queue` | discipline at the link, such as `"codel"` or `"codel target=10ms"` | `"drop-tail"` |
/// | `packet_size` | of every packet | `"1500 B"` |
/// | `draw` | `"random"`, or `"grid"` for every combination in turn | `"random"` |
/// | **`[[link]]`** | one more link, after those before it | |
/// | `name` | what paths call it | its number, from 1 on |
/// | `from`, `to` | the nodes that it joins, for a graph that is no row | |
/// | the keys of a link | as in `[network]`; `rtt` is what crossing it adds | as there |
/// | **`[traffic]`** | | |
/// | `on` | how long a flow lasts: a time, an amount of data, or `"always"` | required |
/// | `off` | the time between flows, and before the first | required unless always on or `every` |
/// | `every` | instead of `off`: all senders start a flow at each multiple of this time | |
/// | `spread` | with `every`: each starts up to so much later | `"0 s"` |
/// | **`[[sender]]`** | senders of one kind, in place of `senders` in `[network]` | |
/// | `name` | what they are called | `"sender 1"` |
/// | `count` | how many, 0 included | `1` |
/// | `present` | the probability that they are in a network | `1` |
/// | `one_of` | a group of senders that exclude each other | |
/// | `path` | the links they cross, by number or name | `1`, of one link |
/// | `back` | the links their ACKs cross | |
/// | `rtt` | round-trip propagation delay | that of their links |
/// | `on`, `off`, `every`, `spread` | as in `[traffic]` | as there |
/// | `controller` | what runs them, a controller (over TCP) or a shipped table | the table designed |
/// | `table` | which table they design: kinds that name the same one share it | their name |
/// | `objective` | as `[objective]`, such as `{ delta = 10 }` | as there |
/// | **`[[part]]`** | networks of another kind, which some specimens are of | |
/// | `weight` | the share of the specimens | required |
/// | `duration` | as in `[design]` | as there |
/// | `network`, `link`, `traffic`, `sender` | as the sections of these names, under this one: `[part.network]` | |
/// | **`[halo]`** | networks around the model, short for two parts | |
/// | `share` | the share of the specimens | `0` |
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
/// | `host` | what the senders of designed tables run on: `"bare"`, `"tcp"` or `"quic"` (see [`Host`]) | `"bare"` |
/// | **`[robust]`** | the hardening at the end of a design, see [`crate::harden`] | |
/// | `enabled` | whether there is one | `true` |
/// | `cost` | how many points the tables may lose inside the model | `0.02`, and 0.01 (1 + `delta`) where that is more |
///
/// If several tables are designed, they are designed together, and the objective is the
/// mean over all of their senders, each with its own objective:
///
/// ```
/// let text = r#"
///     [network]
///     rate = "10 Mbps"
///     rtt = "100 ms"
///     [traffic]
///     on = "exp 1 s"
///     off = "exp 1 s"
///     [[sender]]
///     name = "throughput"
///     count = "0..2"
///     objective = { delta = 0.1 }
///     [[sender]]
///     name = "delay"
///     count = "0..2"
///     objective = { delta = 10 }
/// "#;
/// let model = exm_design::Model::parse(text, "diversity.toml")?;
/// assert_eq!(model.tables(), ["throughput", "delay"]);
/// # Ok::<(), exm_grammar::FileError>(())
/// ```
///
/// The first five of `[network]`, and `count` are exact (`"15 Mbps"`), a list (`["10 Mbps", "20 Mbps"]`, each as
/// likely), a range (`"10..20 Mbps"`, uniform, both ends included) or a range drawn uniformly in
/// its logarithm (`"log 4.7..47 Mbps"`); a range in steps (`"log 1..100 Mbps, 100 steps"`) is as many evenly
/// spaced values, both ends included, each as likely. Rates are bits per second or `"1.25 packets/ms"`.
///
/// `on` and `off` are `"5 s"`, `"fixed 20 packets"`, `"exponential 100 kB"` (or `"exp"`),
/// `"uniform 1..2 s"`, `"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B"`, `"empirical FILE B"`,
/// `"cdf 1:0,10:0.9,1000:1 kB"` or a list of amounts.
///
/// Unknown keys are refused, and the nearest known one named. So are models of which a specimen
/// would take too long: one has at most a million flows, as far as can be expected, and its link
/// carries at most 10^9 packets.
#[derive(Clone, Debug)]
pub struct Model {
    name: Option<String>,
    pub(crate) networks: Networks,
    /// Its own classes, then those of its parts.
    classes: Vec<Class>,
    /// How many classes are its own.
    own: usize,
    pub(crate) parts: Vec<Part>,
    /// The names of the tables that are designed.
    tables: Vec<String>,
    objective: Objective,
    design: Design,
    robust: Robust,
    text: String,
    /// Where its relative paths start.
    dir: PathBuf,
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
    /// What the senders of designed tables run on. Only the bare host has a fast path.
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
    /// [`FileError`] where the file cannot be read or is no model.
    pub fn load(path: &Path) -> Result<Model, FileError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let problem = Problem::nowhere(format!("the model cannot be read: {error}"));
            problem.of(&name, "")
        })?;
        Model::parse_in(&text, &name, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads the model `text`, called `name` in errors; relative paths in it start from the current folder.
    ///
    /// # Errors
    /// [`FileError`] where it is none.
    pub fn parse(text: &str, name: &str) -> Result<Model, FileError> {
        Model::parse_in(text, name, Path::new(""))
    }

    /// As [`Model::parse`], but relative paths in it start from `dir`.
    ///
    /// # Errors
    /// [`FileError`] where it is none.
    pub fn parse_in(text: &str, name: &str, dir: &Path) -> Result<Model, FileError> {
        read(text, dir).map_err(|problem| problem.of(name, text))
    }

    /// The shipped model called `name`; `None` if there is none.
    ///
    /// # Panics
    /// Never: a test reads all of them.
    pub fn shipped(name: &str) -> Option<Model> {
        let text = shipped::model(name)?;
        Some(Model::parse(text, name).expect("shipped models are valid"))
    }

    /// What it is called.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What a design is to maximise, unless kinds of senders have objectives of their own.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// The objective of the senders that run designed table number `table`.
    pub fn objective_of(&self, table: usize) -> &Objective {
        let class = self.classes.iter().find(|class| class.runs(table));
        class.map_or(&self.objective, |class| &class.objective)
    }

    /// What is maximised, as people write it: the objective, or, where kinds of senders have objectives of
    /// their own, "throughput: log2(...) - ...; delay: ...".
    pub fn objectives(&self) -> String {
        let designed: Vec<&Class> = self.classes.iter().filter(|c| c.is_designed()).collect();
        match &designed[..] {
            [first, rest @ ..] if rest.iter().all(|class| class.objective == first.objective) => {
                first.objective.to_string()
            }
            classes => {
                let each = classes.iter().map(|c| format!("{}: {}", c.name, c.objective));
                each.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The kinds of senders; never empty.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The classes of its own networks, without those of its parts.
    pub(crate) fn own_classes(&self) -> &[Class] {
        &self.classes[..self.own]
    }

    /// The names of the tables that are designed, one or more. [`Role::Designed`] counts them from 0.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// What a design may consist of, and how it is tried.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The maximum cost of the final hardening, in points; `None` without hardening, which the model
    /// may turn off, or rule out because it fixes parts of actions that guards would change.
    pub fn hardening_limit(&self) -> Option<f64> {
        let may_change_all = self.design.action.len() == ActionPart::ALL.len();
        (self.robust.enabled && may_change_all).then(|| self.hardening_cost())
    }

    /// The most points that a hardening of its tables may cost, whether or not a design ends with one.
    pub fn hardening_cost(&self) -> f64 {
        self.robust.cost(self.largest_delta())
    }

    /// The largest weight of delay of all tables that are designed.
    fn largest_delta(&self) -> f64 {
        let deltas = (0..self.tables.len()).map(|table| self.objective_of(table).delta);
        deltas.fold(0.0, f64::max)
    }

    /// Refuses a model of which the event engine would refuse the smallest or the largest network.
    fn check_networks(&self) -> Result<(), Problem> {
        if self.is_dumbbell() {
            return Ok(());
        }
        let anybody = Host::Tcp.transport(Reno::new().into());
        for quantile in [0.0, 1.0] {
            let links = vec![[quantile; LINK_AXES]; self.networks.links.len()];
            // All the senders that there may be.
            let layout = self.mixed(&links, &vec![[1.0, quantile]; self.own], |_| true);
            let network = layout.network(|_| anybody.clone());
            network.map_err(|error| Problem::nowhere(error.to_string()))?;
        }
        Ok(())
    }

    /// Where its relative paths start.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The text it was read from, comments and all.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A number that tells models apart by what they say: not by name, comments or wording. It is
    /// the 64-bit FNV-1a hash of the printed model without its name, and of its controllers from outside.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv1a::of(Body(self).to_string());
        for class in &self.classes {
            if let Role::Fixed { controller, .. } = &class.role
                && let Some(print) = controller.fingerprint()
            {
                hash.add(&print.to_le_bytes());
            }
        }
        hash.get()
    }
}

fn read(text: &str, dir: &Path) -> Result<Model, Problem> {
    let table = DeTable::parse(text).map_err(|error| {
        let what = error.message().trim_end().replace('\n', "; ").replace('`', "\"");
        let what = format!("this is not TOML: {what}");
        match error.span() {
            Some(span) => Problem::at(span.start, what),
            None => Problem::nowhere(what),
        }
    })?;
    let top = Section::top(table.get_ref(), dir)?;
    let name = match top.get("name") {
        None => None,
        Some(value) => Some(parsed(value, "a name: write text", |text| Ok(text.to_owned()))?),
    };
    let networks = Networks::read(top)?;
    let objective = objective::read(top.section("objective")?, &Objective::default())?;
    let (classes, tables) = classes::read(top, &networks, &objective, Known::default())?;
    let design = read_design(top.section("design")?, longest_rtt(&networks, &classes))?;
    bounds::check(top, &networks, &classes, design.duration)?;
    networks.links.iter().try_for_each(|link| traces::check(&link.traces, design.duration))?;
    let robust = robust::read(top.section("robust")?)?;
    let (text, dir) = (text.to_owned(), dir.to_owned());
    let (own, parts) = (classes.len(), Vec::new());
    let mut model =
        Model { name, networks, classes, own, parts, tables, objective, design, robust, text, dir };
    model.check_networks()?;
    parts::read(top, &mut model)?;
    halo::read(top, &mut model)?;
    match model.grid_size() {
        Some(size) if size > MAX_SPECIMENS => Err(Problem::nowhere(format!(
            "the grid has {size} combinations: list fewer values, at most {MAX_SPECIMENS} in all"
        ))),
        _ => Ok(model),
    }
}

/// The longest time from a packet's sending to its acknowledgement on an idle network.
fn longest_rtt(networks: &Networks, classes: &[Class]) -> Span {
    let service = networks.longest_service();
    let rtt = |class: &Class| {
        let (_, longest) = class.rtt_extremes(networks);
        class.path.iter().fold(longest, |sum, _| sum.saturating_add(service))
    };
    classes.iter().map(rtt).max().unwrap_or(Span::ZERO)
}

fn read_design(section: Section<'_>, longest_rtt: Span) -> Result<Design, Problem> {
    let signals = match section.get("signals") {
        None => SignalSet::FIRST_FOUR,
        Some(value) => {
            let signals = words(value, "signal", &Signal::ALL.map(Signal::name))?;
            let set = SignalSet::new(signals.into_iter().map(|index| Signal::ALL[index]));
            set.unwrap_or(SignalSet::FIRST_FOUR)
        }
    };
    let signals = match section.flag("l4s", false)? {
        true => signals.for_l4s().ok_or_else(|| {
            section.problem(
                "l4s",
                "with \"l4s\" a table has to respond to marks: name \"ecn\" among the signals",
            )
        })?,
        false => signals,
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
    Ok(Design { signals, action, duration: read_duration(section, longest_rtt)?, specimens, host })
}

fn read_duration(section: Section<'_>, longest: Span) -> Result<Span, Problem> {
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

/// The networks of `model` without its parts, and their senders, as a file has them.
fn write_networks(f: &mut fmt::Formatter<'_>, model: &Model) -> fmt::Result {
    write!(f, "{}", model.networks)?;
    match (&model.networks.senders, model.own_classes()) {
        (Some(_), [class]) => {
            writeln!(f, "\n[traffic]")?;
            traffic::write(f, &class.traffic, class.bursts)
        }
        (_, classes) => {
            classes.iter().try_for_each(|class| classes::write(f, class, &model.tables))
        }
    }
}

/// A model without its name, as a file has it.
struct Body<'a>(&'a Model);

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Model { objective, design, robust, parts, .. } = self.0;
        write_networks(f, self.0)?;
        writeln!(f, "\n[objective]")?;
        objective::write(f, objective)?;
        let signals = quoted(design.signals.iter().map(Signal::name));
        let action = quoted(design.action.iter().map(|part| part.name()));
        writeln!(f, "\n[design]\nsignals = [{signals}]\naction = [{action}]")?;
        writeln!(f, "duration = \"{}\"\nspecimens = {}", design.duration, design.specimens)?;
        // Left out where it is the default: models from before there was a choice keep their hash.
        match design.host {
            Host::Bare => {}
            host => writeln!(f, "host = \"{}\"", host.name())?,
        }
        if design.signals.is_for_l4s() {
            writeln!(f, "l4s = true")?;
        }
        robust::write(f, robust, self.0.largest_delta())?;
        parts::write(f, parts)
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
