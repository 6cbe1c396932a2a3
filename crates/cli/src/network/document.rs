//! [`Document`]: a scenario's TOML, and the edits that flags make to it.
//!
//! Experiments change scenarios in this way, too: schemes and sweeps set any key, which a builder cannot do. So
//! both commands share one path, and a network described by flags alone is an edit of a template.

use crate::options::{DEFAULT_BUFFER, DEFAULT_DURATION, DEFAULT_ON, short_name};
use crate::shell::Failure;
use exm_experiment::{PLACEHOLDER, set_key};
use exm_grammar::FileError;
use exm_sim::network::Network;
use exm_sim::scenario::{Load, Scenario, Traces, is_synthetic};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The keys of a dumbbell that are its link's; all others are its flows'.
const OF_LINK: [&str; 13] = [
    "rate",
    "trace",
    "buffer",
    "queue",
    "loss",
    "jitter",
    "reorder",
    "reorder_delay",
    "aggregation",
    "block_errors",
    "schedule",
    "slots",
    "thin_acks",
];

/// A list of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Link,
    Flow,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Link => "link",
            Part::Flow => "flow",
        }
    }
}

/// What a flag changes.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    flag: &'static str,
    shown: String,
    /// Whether the flag was given with this value.
    is_shown: bool,
    /// Keys by their paths, and their values; without one, the key is removed.
    keys: Vec<(String, Option<Value>)>,
    /// The names of the groups into which all senders are divided first.
    groups: Vec<String>,
}

impl Edit {
    pub(super) fn new(flag: &'static str, shown: &str) -> Edit {
        let (keys, groups) = (Vec::new(), Vec::new());
        Edit { flag, shown: shown.to_owned(), is_shown: true, keys, groups }
    }

    /// An edit by `flag` KEY=VALUE.
    pub(crate) fn assignment(flag: &'static str, key: &str, value: &str) -> Edit {
        let edit = Edit::new(flag, &format!("{key}={value}"));
        let value = (!value.is_empty()).then(|| literal(value));
        Edit { keys: vec![(key.to_owned(), value)], ..edit }
    }

    pub(super) fn set(mut self, key: impl Into<String>, value: Value) -> Edit {
        self.keys.push((key.into(), Some(value)));
        self
    }

    pub(super) fn without(mut self, key: &str) -> Edit {
        self.keys.push((key.to_owned(), None));
        self
    }

    /// Leaves it out of what is shown: it was not given, or is a part of another.
    pub(crate) fn hide(&mut self) {
        self.is_shown = false;
    }

    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    pub(super) fn flag(&self) -> &'static str {
        self.flag
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    fn failure(&self, problem: &str) -> Failure {
        Failure::invalid_value(&self.shown, self.flag, problem)
    }
}

/// The value `text` of a key: a number, a truth value, a list or a table as in TOML, or else text.
pub(super) fn literal(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    let value = parsed.and_then(|mut table| (table.len() == 1).then(|| table.remove("value"))?);
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// A scenario's TOML and its edits. A dumbbell is written as its link and its flow.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    base: Table,
    edits: Vec<Edit>,
    /// The scenario of the file; none if flags alone describe the network.
    original: Option<Scenario>,
    dir: PathBuf,
    /// The default number of senders.
    senders: u64,
}

impl Document {
    /// What flags change if they alone describe the network: they replace its rate, RTT and controller.
    pub(super) fn of_flags(has_back: bool) -> Document {
        let (ends, return_link, ways) = if has_back {
            let back = "[[link]]\nname = \"back\"\nfrom = \"receiver\"\nto = \"sender\"\nrate = \"1 Gbps\"";
            ("from = \"sender\"\nto = \"receiver\"", back, "path = [\"there\"]\nback = [\"back\"]")
        } else {
            ("", "", "")
        };
        let name = if has_back { "there" } else { "bottleneck" };
        let text = format!(
            "duration = \"{DEFAULT_DURATION}\"\n[[link]]\nname = \"{name}\"\nrate = \"1 Gbps\"\nbuffer = \
             \"{DEFAULT_BUFFER}\"\n{ends}\n{return_link}\n[[flow]]\nname = \"sender\"\nrtt = \"1 ms\"\n{ways}\n\
             controller = \"cubic\"\ntraffic.on = \"{DEFAULT_ON}\"\n"
        );
        let base = text.parse().expect("the template is TOML");
        Document { base, edits: Vec::new(), original: None, dir: PathBuf::new(), senders: 1 }
    }

    pub(super) fn of_file(scenario: Scenario) -> Result<Document, Failure> {
        let (text, dir) = scenario.source();
        let mut base: Table = text.parse()?;
        base.remove("experiment");
        if let Some(Value::Table(dumbbell)) = base.remove("dumbbell") {
            let (mut link, mut flow): (Table, Table) =
                dumbbell.into_iter().partition(|(key, _)| OF_LINK.contains(&key.as_str()));
            link.insert("name".to_owned(), Value::String("bottleneck".to_owned()));
            flow.insert("name".to_owned(), Value::String("sender".to_owned()));
            if let Some(senders) = flow.remove("senders") {
                flow.insert("count".to_owned(), senders);
            }
            base.insert("link".to_owned(), Value::Array(vec![Value::Table(link)]));
            base.insert("flow".to_owned(), Value::Array(vec![Value::Table(flow)]));
        }
        let dir = dir.to_owned();
        Ok(Document { base, edits: Vec::new(), original: Some(scenario), dir, senders: 1 })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Whether flags change the file.
    pub(crate) fn is_edited(&self) -> bool {
        !self.edits.is_empty()
    }

    pub(super) fn default_senders(&self) -> u64 {
        self.senders
    }

    pub(super) fn set_title(&mut self, title: &str) {
        self.base.insert("title".to_owned(), Value::String(title.to_owned()));
    }

    /// The name of a file on the command line, as a scenario in another folder has to write it.
    pub(crate) fn path(&self, name: &str) -> String {
        let is_file = !is_synthetic(name) && Path::new(name).exists();
        let absolute =
            std::path::absolute(name).ok().filter(|_| is_file && self.dir != Path::new(""));
        absolute.map_or_else(|| name.to_owned(), |path| path.display().to_string())
    }

    /// The path of `key` in this document, which has no dumbbell.
    pub(super) fn key(&self, key: &str) -> String {
        let Some(of_dumbbell) = key.strip_prefix("dumbbell.") else { return key.to_owned() };
        let first = of_dumbbell.split('.').next().unwrap_or_default();
        match first {
            "senders" => "flow.count".to_owned(),
            _ if OF_LINK.contains(&first) => format!("link.{of_dumbbell}"),
            _ => format!("flow.{of_dumbbell}"),
        }
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        self.edits.push(edit);
    }

    /// Sets the `key` of the only link or flow to `value`, for a flag that was given with the value shown.
    pub(super) fn change(
        &mut self,
        (flag, shown): (&'static str, &str),
        part: Part,
        key: &str,
        value: Value,
    ) -> Result<&mut Edit, Failure> {
        let key = self.key_of_only(part, flag, [key, shown])?;
        self.edits.push(Edit::new(flag, shown).set(key, value));
        Ok(self.edits.last_mut().expect("it was added"))
    }

    /// The same, and removes the other key.
    pub(super) fn replace(
        &mut self,
        flag: (&'static str, &str),
        part: Part,
        [key, other]: [&str; 2],
        value: Value,
    ) -> Result<(), Failure> {
        let removed = self.key_of_only(part, flag.0, [key, flag.1])?.replace(key, other);
        self.change(flag, part, key, value)?.keys.push((removed, None));
        Ok(())
    }

    /// The path of `key` of the only link or flow; with a way back, of the link there.
    fn key_of_only(
        &self,
        part: Part,
        flag: &str,
        [key, shown]: [&str; 2],
    ) -> Result<String, Failure> {
        let list = part.name();
        let names = self.names(part);
        if self.original.is_none() {
            let first = if part == Part::Link { ".1" } else { "" };
            return Ok(format!("{list}{first}.{key}"));
        }
        let [_] = names.as_slice() else {
            let count = names.len();
            let problem = format!(
                "{flag} is ambiguous: the scenario has {count} {list}s, {}",
                names.join(", ")
            );
            let tip = format!(
                "say which by --set '{list}.{}.{key}={shown}', or set all by --set '{list}.{key}={shown}'",
                names[0]
            );
            return Err(Failure::usage(problem).with_tip(tip));
        };
        Ok(format!("{list}.{key}"))
    }

    /// The names of the links or flows, or their numbers.
    fn names(&self, part: Part) -> Vec<String> {
        let list = self.base.get(part.name()).and_then(Value::as_array);
        let members = list.into_iter().flatten().enumerate();
        let name = |(index, member): (usize, &Value)| {
            let name =
                member.get("name").and_then(Value::as_str).filter(|name| !name.contains('.'));
            name.map_or_else(|| (index + 1).to_string(), str::to_owned)
        };
        members.map(name).collect()
    }

    /// Divides the senders among `controllers`, in blocks that are as equal as possible; a single one replaces that
    /// of the file.
    pub(crate) fn divide(&mut self, controllers: &[String]) -> Result<(), Failure> {
        self.senders = controllers.len() as u64;
        if let ([only], Some(_)) = (controllers, &self.original) {
            let value = Value::String(self.path(only));
            self.change(("--cc", only), Part::Flow, "controller", value)?;
            return Ok(());
        }
        let shown = controllers.join(",");
        self.key_of_only(Part::Flow, "--cc", ["controller", &controllers[0]])?;
        let groups = controllers.iter().map(|cc| short_name(cc)).collect();
        // After the number of senders, and before whatever is set of single flows.
        let is_count = |edit: &Edit| matches!(edit.flag, "--senders" | "--cc");
        let mut at = self.edits.iter().take_while(|edit| is_count(edit)).count();
        self.edits.insert(at, Edit { groups, ..Edit::new("--cc", &shown) });
        for (index, cc) in controllers.iter().enumerate() {
            at += 1;
            let key = format!("flow.{}.controller", index + 1);
            let mut edit = Edit::new("--cc", cc).set(key, Value::String(self.path(cc)));
            edit.hide();
            self.edits.insert(at, edit);
        }
        Ok(())
    }

    /// Lets the flows wait for the controllers of schemes: those that have [`PLACEHOLDER`] in place of a
    /// controller, or else the only one.
    pub(crate) fn await_schemes(&mut self) -> Result<(), Failure> {
        let flows = self.base.get("flow").and_then(Value::as_array).into_iter().flatten();
        let mut controllers = flows.filter_map(|flow| flow.get("controller")?.as_str());
        let sets_one = |edit: &Edit| edit.keys.iter().any(|(_, v)| *v == Some(PLACEHOLDER.into()));
        if controllers.any(|name| name == PLACEHOLDER) || self.edits.iter().any(sets_one) {
            return Ok(());
        }
        self.change(("--cc", PLACEHOLDER), Part::Flow, "controller", PLACEHOLDER.into())?.hide();
        Ok(())
    }

    /// The tables with all edits.
    pub(crate) fn edited(&self) -> Result<Table, Failure> {
        let mut table = self.base.clone();
        for edit in &self.edits {
            self.apply(edit, &mut table).map_err(|problem| edit.failure(&problem))?;
        }
        Ok(table)
    }

    fn apply(&self, edit: &Edit, table: &mut Table) -> Result<(), String> {
        if !edit.groups.is_empty() {
            divide(table, &edit.groups)?;
        }
        for (key, value) in &edit.keys {
            set_key(table, &self.key(key), value.as_ref()).map_err(String::from)?;
        }
        Ok(())
    }

    /// The scenario with all edits, and its network. Errors name the flag, or the line of the file.
    pub(crate) fn network(&self, load: &mut Load<'_>) -> Result<(Scenario, Network), Failure> {
        let mut traces = Traces::default();
        let error = match self.parsed(&self.edited()?, &mut traces, load) {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        // The first edit after which the error is there.
        let mut table = self.base.clone();
        let is_there = |table: &Table, traces: &mut Traces, load: &mut Load<'_>| {
            let result = self.parsed(table, traces, load);
            result.is_err_and(|own| own.problem() == error.problem())
        };
        if is_there(&table, &mut traces, load)
            && let Some(original) = &self.original
        {
            original.network(load)?;
        }
        for edit in &self.edits {
            if self.apply(edit, &mut table).is_ok() && is_there(&table, &mut traces, load) {
                return Err(edit.failure(error.problem()));
            }
        }
        Err(Failure::usage(error.problem()))
    }

    fn parsed(
        &self,
        table: &Table,
        traces: &mut Traces,
        load: &mut Load<'_>,
    ) -> Result<(Scenario, Network), FileError> {
        let text = table.to_string();
        let scenario = Scenario::parse_with(&text, "the scenario", &self.dir, traces)?;
        let network = scenario.network(load)?;
        Ok((scenario, network))
    }
}

/// Replaces the only group of flows by one for each of `names`, in which its number of senders is divided.
fn divide(table: &mut Table, names: &[String]) -> Result<(), String> {
    let Some([Value::Table(all)]) = table.get("flow").and_then(Value::as_array).map(Vec::as_slice)
    else {
        return Ok(());
    };
    let (parts, all) = (names.len() as u64, all.clone());
    let count = all.get("count").and_then(Value::as_integer).unwrap_or(1).unsigned_abs();
    if count < parts {
        return Err(format!(
            "{parts} controllers need as many senders at least, and there are {count}: give --senders \
             {parts} or more"
        ));
    }
    let groups = names.iter().zip(0..).map(|(name, index)| {
        let mut group = all.clone();
        let share = count / parts + u64::from(index < count % parts);
        group.insert("name".to_owned(), Value::String(name.clone()));
        group.insert("count".to_owned(), Value::Integer(share.cast_signed()));
        Value::Table(group)
    });
    table.insert("flow".to_owned(), Value::Array(groups.collect()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_divided_in_blocks() {
        let counts = |names: &[&str], count: i64| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut table: Table = format!("[[flow]]\ncount = {count}").parse().expect("TOML");
            divide(&mut table, &names)?;
            let flows = table["flow"].as_array().expect("a list").iter();
            Ok::<_, String>(
                flows.map(|flow| flow["count"].as_integer().unwrap()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(counts(&["a", "b", "c"], 8), Ok(vec![3, 3, 2]));
        assert_eq!(counts(&["a", "b"], 2), Ok(vec![1, 1]));
        assert!(counts(&["a", "b"], 1).unwrap_err().contains("--senders 2"));
    }

    #[test]
    fn values_are_those_of_toml_or_text() {
        assert_eq!(literal("5"), Value::Integer(5));
        assert_eq!(literal("true"), Value::Boolean(true));
        assert_eq!(literal("[\"a\"]"), Value::Array(vec!["a".into()]));
        for text in ["20Mbps", "exp 5 s", "1\nseed = 2"] {
            assert_eq!(literal(text), Value::String(text.to_owned()));
        }
    }
}
