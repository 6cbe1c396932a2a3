//! [`Scene`]: what is played, as the fragment of a URL.

use crate::change::Recorded;
use crate::files::{File, is_of_simulator, stem};
use exm_remy::RemyCc;
use exm_sim::controllers::AnyController;
use exm_sim::network;
use exm_sim::scenario::{Load, Scenario, Traces};
use exm_table::TableFile;
use exm_units::{ParseUnitError, Span};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use toml::{Table, Value};

/// The number of flows of a network that the scene itself describes. Those that are not active are silent until
/// their number is changed.
pub const MOST_FLOWS: usize = 8;
/// The time until which a scene is played if it does not say.
const DEFAULT_UNTIL: Span = Span::from_secs(60);
/// What needs no escape in a fragment, so that links stay legible.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',')
    .remove(b':')
    .remove(b'/');

/// A network, the controllers that are compared on it, a seed, and the changes made while it runs.
///
/// It is written as pairs `key=value` joined by `&`, percent-encoded:
///
/// | key | meaning | default |
/// |---|---|---|
/// | `link` | the rate of the bottleneck | `15Mbps` |
/// | `trace` | instead of a rate, a synthetic trace such as `lte` | |
/// | `rtt` | the round-trip propagation delay | `150ms` |
/// | `buffer`, `queue`, `loss` | of the bottleneck, as in scenarios | `1000 packets`, `drop-tail`, 0 |
/// | `on`, `off` | the offered load of each flow | `always` |
/// | `flows` | how many flows are active at the start, up to [`MOST_FLOWS`] | 1, or all of a scenario |
/// | `scenario` | instead of the keys above except `flows`, the name of a shipped scenario | |
/// | `toml` | or the text of a scenario | |
/// | `cc` | a lane, each time it is given: the controllers of its flows, in turn, separated by commas | those of the scenario, or `cubic` |
/// | `seed` | the random seed | 1 |
/// | `speed` | simulated time over real time, when it is watched | 1 |
/// | `until` | how long it is played | the scenario's duration, or `60s` |
/// | `file` | each time it is given, a [file](File) that the scene brings along: `NAME:DATA` | |
/// | `change` | each time it is given, a [change](crate::Change) and its time: `12.5s,rate,5Mbps` | |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scene {
    /// The network.
    pub network: Network,
    /// How many flows are active at the start; `None` for all of a scenario.
    pub active: Option<usize>,
    /// The controllers of the flows of each lane, in turn; without a lane, those of the scenario.
    pub lanes: Vec<Vec<String>>,
    /// The random seed; `None` for that of the scenario.
    pub seed: Option<u64>,
    /// Simulated time over real time.
    pub speed: f64,
    /// How long it is played; `None` for the duration of the scenario.
    pub until: Option<Span>,
    /// Files that it brings along: rule tables that controllers are named after, and traces.
    pub files: Vec<File>,
    /// The changes, in order of time.
    pub changes: Vec<Recorded>,
}

/// The network of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// A single link, by keys of scenarios and their values; the defaults stand for others.
    Link(Vec<(&'static str, String)>),
    /// A shipped scenario, by its name.
    Shipped(String),
    /// The text of a scenario.
    Toml(String),
}

/// What is wrong with a scene, and with which of its keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct SceneError {
    key: String,
    problem: String,
}

impl SceneError {
    pub(crate) fn new(key: impl Into<String>, problem: impl fmt::Display) -> SceneError {
        SceneError { key: key.into(), problem: problem.to_string() }
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong with its value.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// The keys that describe a single link: each with its table and its name in a scenario, and the default.
const OF_LINK: [(&str, Part, &str, Option<&str>); 8] = [
    ("link", Part::Link, "rate", Some("15Mbps")),
    ("trace", Part::Link, "trace", None),
    ("buffer", Part::Link, "buffer", Some("1000 packets")),
    ("queue", Part::Link, "queue", Some("drop-tail")),
    ("loss", Part::Link, "loss", Some("0")),
    ("rtt", Part::Flow, "rtt", Some("150ms")),
    ("on", Part::Traffic, "on", Some("always")),
    ("off", Part::Traffic, "off", None),
];
const OTHERS: [&str; 9] =
    ["scenario", "toml", "flows", "cc", "seed", "speed", "until", "file", "change"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Link,
    Flow,
    Traffic,
}

impl Default for Scene {
    /// One flow of Cubic over 15 Mbps and 150 ms, the papers' standard link.
    fn default() -> Scene {
        Scene {
            network: Network::Link(Vec::new()),
            active: None,
            lanes: Vec::new(),
            seed: None,
            speed: 1.0,
            until: None,
            files: Vec::new(),
            changes: Vec::new(),
        }
    }
}

impl FromStr for Scene {
    type Err = SceneError;

    fn from_str(text: &str) -> Result<Scene, SceneError> {
        let mut scene = Scene::default();
        let mut link: Vec<(&'static str, String)> = Vec::new();
        let mut whole = None;
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let [key, value] =
                [key, value].map(|part| percent_decode_str(part).decode_utf8_lossy());
            match &*key {
                "scenario" => whole = Some(Network::Shipped(value.into_owned())),
                "toml" => whole = Some(Network::Toml(value.into_owned())),
                "change" => scene.changes.push(value.parse()?),
                "file" => scene.add_file(value.parse()?),
                _ => match OF_LINK.iter().find(|(known, ..)| *known == key) {
                    Some((known, ..)) => link.push((known, value.into_owned())),
                    None => {
                        let set = scene.set(&key, &value);
                        set.map_err(|problem| SceneError::new(&*key, problem))?;
                    }
                },
            }
        }
        scene.changes.sort_by_key(|recorded| recorded.at);
        scene.network = match (whole, link.first()) {
            (Some(_), Some((key, _))) => {
                let problem = "a scenario describes its own network: take this key out";
                return Err(SceneError::new(*key, problem));
            }
            (Some(whole), None) => whole,
            (None, _) => Network::Link(link),
        };
        Ok(scene)
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (1e-6..=1e6).contains(speed));
    speed
        .ok_or_else(|| format!("\"{text}\" is not a speed: give a number from 0.000001 to 1000000"))
}

fn unknown(key: &str) -> String {
    let known: Vec<&str> = OF_LINK.iter().map(|(key, ..)| *key).chain(OTHERS).collect();
    format!("a scene has no such key: {}", exm_grammar::suggest(key, &known))
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        match &self.network {
            Network::Link(keys) => pairs.extend(keys.iter().cloned()),
            Network::Shipped(name) => pairs.push(("scenario", name.clone())),
            Network::Toml(text) => pairs.push(("toml", text.clone())),
        }
        pairs.extend(self.active.map(|flows| ("flows", flows.to_string())));
        pairs.extend(self.lanes.iter().map(|lane| ("cc", lane.join(","))));
        pairs.extend(self.seed.map(|seed| ("seed", seed.to_string())));
        pairs.extend((self.speed != 1.0).then(|| ("speed", self.speed.to_string())));
        pairs.extend(self.until.map(|until| ("until", compact(&until))));
        pairs.extend(self.files.iter().map(|file| ("file", file.to_string())));
        pairs.extend(self.changes.iter().map(|change| ("change", change.to_string())));
        for (index, (key, value)) in pairs.iter().enumerate() {
            let and = if index > 0 { "&" } else { "" };
            write!(f, "{and}{key}={}", utf8_percent_encode(value, ESCAPED))?;
        }
        Ok(())
    }
}

/// A quantity without the space before its unit.
pub(crate) fn compact(quantity: &impl fmt::Display) -> String {
    quantity.to_string().replace(' ', "")
}

impl Scene {
    /// Sets what the whole scene has once, or adds a lane.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = |what| format!("\"{value}\" is not a {what}: give a whole number");
        match key {
            "flows" => {
                self.active = Some(value.parse().map_err(|_| number("number of flows"))?);
            }
            "cc" => self.lanes.push(exm_sim::builtin::split_list(value)),
            "seed" => self.seed = Some(value.parse().map_err(|_| number("seed"))?),
            "speed" => self.speed = speed(value)?,
            "until" => self.until = Some(value.parse().map_err(|e: ParseUnitError| e.to_string())?),
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    /// Brings `file` along, instead of one of the same name.
    pub fn add_file(&mut self, file: File) {
        self.files.retain(|known| known.name != file.name);
        self.files.push(file);
    }

    /// A file of `table`, named after `path`, with a number where something else has that name: the simulator, another
    /// table of the scene, or what `is_taken` knows.
    ///
    /// # Errors
    /// [`SceneError`] if the table is too large for a link.
    pub fn file_of(
        &self,
        table: &TableFile,
        path: impl AsRef<Path>,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<File, SceneError> {
        let stem = stem(path);
        let numbered = (2..).map(|count| format!("{stem}-{count}"));
        let names = std::iter::once(stem.clone()).chain(numbered);
        for name in names.filter(|name| !is_of_simulator(name) && !is_taken(name)) {
            let file = File::of_table(&name, table)?;
            if self.files.iter().all(|known| known.name != file.name || *known == file) {
                return Ok(file);
            }
        }
        unreachable!("there are more numbers than files")
    }

    /// The controller called `name`: one of the simulator's, or that of a file of the scene, or what `load` returns.
    pub(crate) fn controller(
        &self,
        name: &str,
        load: &mut Load<'_>,
    ) -> Result<AnyController, String> {
        if let Some(controller) = AnyController::parse(name).map_err(|error| error.to_string())? {
            return Ok(controller);
        }
        self.own_table(name).unwrap_or_else(|| load(name, Path::new(name)))
    }

    /// The RemyCC of the file called `name`, if there is one.
    fn own_table(&self, name: &str) -> Option<Result<AnyController, String>> {
        let file = self.files.iter().find(|file| file.name == name)?;
        Some(file.table().map(|table| RemyCc::new(&table.table).into()))
    }

    /// The traces among its files, by their names.
    fn traces(&self) -> Result<Traces, SceneError> {
        let mut traces = Traces::default();
        for file in self.files.iter().filter(|file| !file.is_table()) {
            let trace = file.trace().map_err(|problem| SceneError::new("file", problem))?;
            traces.insert(&file.name, trace);
        }
        Ok(traces)
    }

    /// The scene of a URL: what stands after its `#`. Without one, the text is taken for the scene itself.
    ///
    /// # Errors
    /// [`SceneError`] if a key is unknown, or its value impossible.
    pub fn from_url(url: &str) -> Result<Scene, SceneError> {
        url.split_once('#').map_or(url, |(_, fragment)| fragment).parse()
    }

    /// Its scenario, with the controllers of the scenario itself, to be played for [`Scene::until`].
    ///
    /// # Errors
    /// [`SceneError`] if it is not a valid scenario.
    pub fn scenario(&self) -> Result<Scenario, SceneError> {
        let mut traces = self.traces()?;
        let mut scenario = match &self.network {
            Network::Link(keys) => of_link(keys, &mut traces)?,
            Network::Shipped(name) => Scenario::shipped(name).ok_or_else(|| {
                let known = exm_sim::scenario::SHIPPED.iter().map(|(name, _)| *name);
                let suggestion = exm_grammar::suggest(name, &known.collect::<Vec<_>>());
                SceneError::new("scenario", format!("there is no \"{name}\": {suggestion}"))
            })?,
            Network::Toml(text) => {
                let scenario =
                    Scenario::parse_with(text, "the scenario", Path::new(""), &mut traces);
                scenario.map_err(|error| SceneError::new("toml", error))?
            }
        };
        scenario.duration = self.until.unwrap_or(scenario.duration);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        Ok(scenario)
    }

    /// The scenario of each lane, and its network with all its flows; tables are loaded by `load`.
    ///
    /// # Errors
    /// [`SceneError`] if there is no such controller, or the network is impossible.
    pub fn networks(
        &self,
        load: &mut Load<'_>,
    ) -> Result<Vec<(Scenario, network::Network)>, SceneError> {
        let scenario = self.scenario()?;
        let lanes: &[Vec<String>] = if self.lanes.is_empty() { &[Vec::new()] } else { &self.lanes };
        let of_lane = |lane: &Vec<String>| {
            let mut scenario = scenario.clone();
            if !lane.is_empty() {
                for (group, controller) in scenario.flows.iter_mut().zip(lane.iter().cycle()) {
                    group.controller.clone_from(controller);
                }
            }
            let network =
                scenario.network(&mut |name: &str, path: &Path| match self.own_table(name) {
                    Some(table) => table,
                    None => load(name, path),
                });
            let network =
                network.map_err(|error| SceneError::new(self.key_of(&error), error.problem()))?;
            Ok((scenario, network))
        };
        lanes.iter().map(of_lane).collect()
    }

    /// How many of `all` flows are active at the start.
    pub(crate) fn active_of(&self, all: usize) -> Result<usize, SceneError> {
        let default = if matches!(self.network, Network::Link(_)) { 1 } else { all };
        let active = self.active.unwrap_or(default);
        if active > all {
            let problem = format!("this network has {all} flows: give at most so many");
            return Err(SceneError::new("flows", problem));
        }
        Ok(active)
    }

    /// The key of the scene that `error` is about.
    fn key_of(&self, error: &exm_grammar::FileError) -> &'static str {
        match &self.network {
            _ if error.key() == Some("controller") => "cc",
            Network::Link(_) => key_for(error.key().unwrap_or_default()).unwrap_or("until"),
            Network::Shipped(_) => "scenario",
            Network::Toml(_) => "toml",
        }
    }
}

/// The scenario of a single link and [`MOST_FLOWS`] flows.
fn of_link(keys: &[(&'static str, String)], traces: &mut Traces) -> Result<Scenario, SceneError> {
    let given = |key: &str| keys.iter().rev().find(|(known, _)| *known == key);
    let [mut link, mut flow, mut traffic] = [Table::new(), Table::new(), Table::new()];
    link.insert("name".to_owned(), "bottleneck".into());
    for (key, part, name, default) in OF_LINK {
        // A link follows a trace, or has a rate.
        let default = default.filter(|_| key != "link" || given("trace").is_none());
        let Some(value) = given(key).map(|(_, value)| value.as_str()).or(default) else { continue };
        let table = match part {
            Part::Link => &mut link,
            Part::Flow => &mut flow,
            Part::Traffic => &mut traffic,
        };
        table.insert(name.to_owned(), value.into());
    }
    flow.insert("traffic".to_owned(), traffic.into());
    flow.insert("controller".to_owned(), "cubic".into());
    let flows = (1..=MOST_FLOWS).map(|number| {
        let mut flow = flow.clone();
        flow.insert("name".to_owned(), format!("flow {number}").into());
        Value::Table(flow)
    });
    let mut scenario = Table::new();
    scenario.insert("duration".to_owned(), DEFAULT_UNTIL.to_string().into());
    scenario.insert("link".to_owned(), Value::Array(vec![link.into()]));
    scenario.insert("flow".to_owned(), Value::Array(flows.collect()));
    let text = scenario.to_string();
    let scenario = Scenario::parse_with(&text, "the scene", Path::new(""), traces);
    scenario.map_err(|error| {
        let line = error.line().and_then(|line| text.lines().nth(line - 1));
        let name = line.and_then(|line| line.split('=').next()).unwrap_or_default();
        SceneError::new(key_for(name.trim()).unwrap_or("link"), error.problem())
    })
}

/// The key of a scene for that of a scenario, such as `traffic.on`, if it describes a single link.
fn key_for(of_scenario: &str) -> Option<&'static str> {
    let name = of_scenario.rsplit('.').next();
    OF_LINK.iter().find(|(_, _, known, _)| Some(*known) == name).map(|(key, ..)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_tables(name: &str, _: &Path) -> Result<AnyController, String> {
        Err(format!("there is no table {name}"))
    }

    fn error(text: &str) -> String {
        let scene = text.parse::<Scene>();
        let result = scene.and_then(|scene| scene.networks(&mut no_tables).map(|_| ()));
        result.expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_scene_is_its_text() {
        for text in [
            "",
            "link=5Mbps&rtt=20ms&buffer=1%20BDP&queue=codel%20target%3D5ms&loss=1%25&flows=3",
            "scenario=mixed&flows=2&cc=cubic,reno&cc=bbr&seed=7&speed=0.001&until=12.5s",
            "cc=reno-hystart%2B%2B",
            "cc=cubic&change=1s,rate,5Mbps&change=2s,cc.0.1,reno&change=3s,on,exp%205%20s",
        ] {
            let scene: Scene = text.parse().expect("a scene");
            assert_eq!(scene.to_string(), text);
            scene.networks(&mut no_tables).expect("networks");
        }
        let plus: Scene = "cc=reno-hystart++&buffer=1 BDP".parse().expect("a scene");
        assert_eq!(plus.to_string(), "buffer=1%20BDP&cc=reno-hystart%2B%2B");
        let url = Scene::from_url("http://127.0.0.1:4000/#link=5Mbps").expect("a scene");
        assert_eq!(url.to_string(), "link=5Mbps");
    }

    #[test]
    fn a_scenario_brings_its_own_flows() {
        let text = "[[link]]\nname = \"l\"\nrate = \"1 Mbps\"\n[[flow]]\nname = \"f\"\nrtt = \"9 ms\"\ncontroller = \"reno\"\n\
                    traffic.on = \"always\"\n";
        let mut scene = Scene { network: Network::Toml(text.to_owned()), ..Scene::default() };
        assert!(scene.networks(&mut no_tables).expect_err("no duration").key() == "toml");
        scene.network = Network::Toml(format!("duration = \"7 s\"\n{text}"));
        let (scenario, network) = scene.networks(&mut no_tables).expect("a network").remove(0);
        assert_eq!((scenario.duration, network.flows().len()), (Span::from_secs(7), 1));
        assert_eq!(scene.to_string().parse::<Scene>(), Ok(scene));
    }

    #[test]
    fn errors_name_the_key() {
        assert_eq!(error("lnik=5Mbps"), "lnik: a scene has no such key: did you mean \"link\"?");
        assert!(error("link=fast").starts_with("link: "), "{}", error("link=fast"));
        assert!(error("link=0Mbps").starts_with("link: "), "{}", error("link=0Mbps"));
        assert!(error("rtt=long").starts_with("rtt: "), "{}", error("rtt=long"));
        assert!(error("buffer=1").starts_with("buffer: "), "{}", error("buffer=1"));
        assert!(error("on=exp 1 s").starts_with("on: "), "{}", error("on=exp 1 s"));
        assert!(error("cc=qubic").starts_with("cc: there is no table qubic"));
        assert!(error("speed=-1").starts_with("speed: \"-1\" is not a speed"));
        assert!(error("seed=x").starts_with("seed: "));
        assert!(error("scenario=dumbel").starts_with("scenario: there is no \"dumbel\""));
        assert!(error("scenario=dumbbell&rtt=1ms").starts_with("rtt: a scenario describes"));
        assert!(error("change=1s,rate").starts_with("change: "));
    }
}
