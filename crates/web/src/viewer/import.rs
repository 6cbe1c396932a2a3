//! Files that are given to the page.

use super::{Refusal, Viewer};
use base64ct::{Base64, Encoding};
use exm_design::{Model, shipped};
use exm_ratatouille::{File, MOST_FLOWS, Network, Scene, stem};
use exm_sim::scenario::Scenario;
use exm_table::{TableFile, dna};
use exm_trace::{Origin, Trace};
use serde_json::{Value, json};
use std::path::Path;

/// A link of more characters than this is a burden to send.
const LONG_LINK: usize = 30_000;
/// The round trip of a scene made of a trace: that of the papers' experiments on cellular links.
const TRACE_RTT: &str = "40ms";

/// What a file is.
enum Content {
    Table(Box<TableFile>),
    Trace(Trace),
    /// What a model or a scenario describes, or a link to a scene.
    Scene(&'static str, Scene),
}

impl Viewer {
    /// Reads a file called `name`: a rule table, a model, a scenario, a trace, or a link to a scene.
    pub(super) fn import(
        &mut self,
        name: &str,
        text: Option<String>,
        base64: Option<String>,
    ) -> Result<Value, Refusal> {
        let bytes = match (text, base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(data)) => Base64::decode_vec(&data)
                .map_err(|_| Refusal::new("base64", "this is not base64"))?,
            _ => return Err(Refusal::new("import", "give either text or base64")),
        };
        let content = read(name, &bytes).map_err(|problem| Refusal::new(name, problem))?;
        match content {
            Content::Table(table) => self.import_table(name, &table),
            Content::Trace(trace) => {
                let own = stem(name);
                let mut scene = Scene::default();
                scene.add_file(File::of_trace(&own, &trace)?);
                let keys = [("trace", own), ("rtt", TRACE_RTT.to_owned())];
                scene.network = Network::Link(keys.to_vec());
                scene.lanes =
                    [["sprout"], ["cubic"]].map(|lane| lane.map(str::to_owned).to_vec()).to_vec();
                Ok(answer("trace", name, &scene))
            }
            Content::Scene(kind, scene) => Ok(answer(kind, name, &scene)),
        }
    }

    /// Adds a table to the open scene, under a name that nothing else there has.
    fn import_table(&mut self, name: &str, table: &TableFile) -> Result<Value, Refusal> {
        let monitor = self.monitor()?;
        let is_shipped = |name: &str| shipped::TABLES.iter().any(|(known, _)| *known == name);
        let file = monitor.player().scene().file_of(table, name, is_shipped)?;
        let name = file.name().to_owned();
        monitor.add_file(file)?;
        Ok(json!({ "kind": "table", "name": name }))
    }
}

fn answer(kind: &str, name: &str, scene: &Scene) -> Value {
    let link = scene.to_string();
    let length = link.len();
    let mut answer = json!({ "kind": kind, "name": stem(name), "scene": link });
    if length > LONG_LINK {
        answer["warning"] = format!("the link holds the whole file: {} kB", length / 1000).into();
    }
    answer
}

/// Reads a file, and tells what it is by what it contains.
fn read(name: &str, bytes: &[u8]) -> Result<Content, String> {
    let Some(text) = std::str::from_utf8(bytes).ok().map(str::trim_start) else {
        return table(dna::read(bytes).map_err(|error| error.to_string())?);
    };
    if text.starts_with('{') {
        return TableFile::from_json(text)
            .map(|table| Content::Table(Box::new(table)))
            .map_err(|error| error.to_string());
    }
    if name.ends_with(".dna") {
        return table(dna::read(bytes).map_err(|error| error.to_string())?);
    }
    let is_line = text.trim_end().lines().count() == 1;
    if is_line && text.contains('=') && !text.contains(" = ") {
        let scene = Scene::from_url(text.trim_end()).map_err(|error| error.to_string())?;
        return Ok(Content::Scene("scene", scene));
    }
    if let Ok(document) = text.parse::<toml::Table>()
        && !document.is_empty()
    {
        return toml(name, text, &document);
    }
    let trace = if text.starts_with(|first: char| first.is_ascii_digit()) {
        Trace::parse(bytes, name)
    } else {
        Trace::read_csv(bytes, name, Origin::First)
    };
    let accepted =
        "give a rule table (.dna or JSON), a model, a scenario, a trace or a link to a scene";
    trace.map(Content::Trace).map_err(|error| format!("{error}; {accepted}"))
}

fn table(table: exm_remy::RuleTable) -> Result<Content, String> {
    let file = TableFile { table, provenance: Default::default() };
    Ok(Content::Table(Box::new(file)))
}

/// A model or a scenario.
fn toml(name: &str, text: &str, document: &toml::Table) -> Result<Content, String> {
    if document.contains_key("network") || document.contains_key("objective") {
        let model = Model::parse(text, name).map_err(|error| error.to_string())?;
        return Ok(Content::Scene("model", scene_of(&model, &stem(name), document)));
    }
    Scenario::parse(text, name, Path::new("")).map_err(|error| error.to_string())?;
    let mut scene = Scene::default();
    scene.network = Network::Toml(text.to_owned());
    Ok(Content::Scene("scenario", scene))
}

/// A network drawn from `model`, with its senders.
fn scene_of(model: &Model, name: &str, document: &toml::Table) -> Scene {
    let layout = model.specimens(1, 0, 1).remove(0).network;
    let bottleneck = layout.bottleneck();
    let mut keys = vec![
        ("link", bottleneck.rate.to_string()),
        ("rtt", bottleneck.rtt.to_string()),
        ("loss", bottleneck.loss.get().to_string()),
    ];
    let buffer = bottleneck.buffer.map_or("unlimited".to_owned(), |packets| packets.to_string());
    keys.push(("buffer", buffer));
    let traffic = document.get("traffic").and_then(toml::Value::as_table);
    for key in ["on", "off"] {
        let value = traffic.and_then(|traffic| traffic.get(key)).and_then(toml::Value::as_str);
        keys.extend(value.map(|value| (key, value.to_owned())));
    }
    let table = if shipped::table(name).is_some() { name } else { "general-delta1" };
    let mut scene = Scene::default();
    scene.network = Network::Link(keys);
    scene.active = Some(layout.senders().clamp(1, MOST_FLOWS));
    scene.lanes = vec![vec![table.to_owned()], vec!["cubic".to_owned()]];
    scene
}
