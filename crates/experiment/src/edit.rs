//! Changes to a scenario, by which schemes, variants and the points of a sweep differ.
//!
//! They are applied to the file's own tables, which are then parsed as any scenario is. So every key
//! of a scenario can be changed, and invalid values give the same errors.

use exm_grammar::{GrammarError, Offset};
use toml::{Table, Value};

/// The name that stands in a scenario for each scheme's own controller.
pub const PLACEHOLDER: &str = "scheme";

/// One change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) what: What,
    /// Its position in the file.
    pub(crate) place: Offset,
}

/// The kind of change.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The controller, wherever the placeholder is.
    Controller(String),
    /// The queue of every link.
    Queue(Value),
    /// A key, by its path: names of keys separated by dots. A list of tables is one step: all its
    /// members or, if the next step is the name of one, that one.
    Key(String, Value),
    /// The trace of every link that has one.
    Trace(String),
    /// The trace of the link with this name.
    TraceOf(String, String),
}

impl Change {
    /// Applies the change, or returns why it cannot be applied.
    pub(crate) fn apply(&self, document: &mut Table) -> Result<(), String> {
        match &self.what {
            What::Controller(name) => {
                let mut count = 0;
                for flow in members(document, &["dumbbell", "flow"]) {
                    if flow.get("controller").and_then(Value::as_str) == Some(PLACEHOLDER) {
                        flow.insert("controller".to_owned(), Value::String(name.clone()));
                        count += 1;
                    }
                }
                if count > 0 {
                    return Ok(());
                }
                Err(format!(
                    "no flow waits for a scheme's controller: write controller = \"{PLACEHOLDER}\" \
                     where it goes"
                ))
            }
            What::Queue(queue) => {
                for link in members(document, &["dumbbell", "link"]) {
                    link.insert("queue".to_owned(), queue.clone());
                }
                Ok(())
            }
            What::Trace(file) => {
                let links = members(document, &["dumbbell", "link"]);
                let traced = links.into_iter().filter(|link| link.contains_key("trace"));
                traced.for_each(|link| {
                    link.insert("trace".to_owned(), Value::String(file.clone()));
                });
                Ok(())
            }
            What::TraceOf(name, file) => {
                for link in members(document, &["link"]) {
                    if name_of(link) == Some(name) {
                        link.insert("trace".to_owned(), Value::String(file.clone()));
                    }
                }
                Ok(())
            }
            What::Key(path, value) => {
                set_key(document, path, Some(value)).map_err(GrammarError::into)
            }
        }
    }
}

impl Change {
    /// Whether it sets the trace of a link.
    pub(crate) fn is_of_trace(&self) -> bool {
        match &self.what {
            What::Trace(_) | What::TraceOf(..) => true,
            What::Key(path, _) => {
                let mut steps = path.split('.');
                matches!(steps.next(), Some("link" | "dumbbell"))
                    && steps.next_back() == Some("trace")
            }
            What::Controller(_) | What::Queue(_) => false,
        }
    }
}

/// The names of the first links with traces on the first flow's path and return path.
pub(crate) fn traced_ways(document: &mut Table) -> Option<[String; 2]> {
    let links = members(document, &["link"]).into_iter().filter(|link| link.contains_key("trace"));
    let traced: Vec<String> = links.filter_map(|link| Some(name_of(link)?.to_owned())).collect();
    let flows = members(document, &["flow"]);
    let first = flows.into_iter().next()?;
    let crossed = |key: &str| {
        let names = first.get(key)?.as_array()?.iter().filter_map(Value::as_str);
        names.into_iter().find(|name| traced.iter().any(|own| own == name)).map(str::to_owned)
    };
    Some([crossed("path")?, crossed("back")?])
}

/// The first trace on the first flow's path: its file or its synthetic link.
pub(crate) fn first_trace(document: &mut Table) -> Option<String> {
    let of = |table: &Table| table.get("trace").and_then(Value::as_str).map(str::to_owned);
    if let Some(trace) = members(document, &["dumbbell"]).into_iter().find_map(|one| of(one)) {
        return Some(trace);
    }
    let first = members(document, &["flow"]).into_iter().next()?.clone();
    let path = first.get("path").and_then(Value::as_array).cloned();
    let links = members(document, &["link"]);
    let Some(path) = path else { return links.into_iter().find_map(|link| of(link)) };
    path.iter().filter_map(Value::as_str).find_map(|name| {
        links.iter().find(|link| name_of(link) == Some(name)).and_then(|link| of(link))
    })
}

fn name_of(table: &Table) -> Option<&str> {
    table.get("name").and_then(Value::as_str)
}

/// The tables called one of `names`, and the members of lists with that name.
pub(crate) fn members<'a>(document: &'a mut Table, names: &[&str]) -> Vec<&'a mut Table> {
    let named = document.iter_mut().filter(|(key, _)| names.contains(&key.as_str()));
    let tables = named.flat_map(|(_, value)| match value {
        Value::Table(table) => vec![table],
        Value::Array(list) => list.iter_mut().filter_map(Value::as_table_mut).collect(),
        _ => Vec::new(),
    });
    tables.collect()
}

/// Sets the key of a scenario's `document` at `path` to `value`, or removes it. The steps of a path are separated
/// by dots. A list of tables is one step, of all its members or, if the next step is the name or the number of
/// one, counted from 1, of that one: "flow.traffic.on", "flow.web.rtt", "flow.2.rtt".
///
/// # Errors
/// What is wrong with the path.
pub fn set_key(
    document: &mut Table,
    path: &str,
    value: Option<&Value>,
) -> Result<(), GrammarError> {
    let steps: Vec<&str> = path.split('.').collect();
    if steps.iter().any(|step| step.is_empty()) {
        let problem = format!("\"{path}\" is no key: give one such as \"dumbbell.rate\"");
        return Err(GrammarError::new(problem));
    }
    set(document, &steps, value).map_err(|step| {
        let problem = format!("\"{path}\" is no key: \"{step}\" has no keys of its own");
        GrammarError::new(problem)
    })
}

/// Sets the key at `path`; a step without keys is returned as the error.
fn set<'a>(table: &mut Table, path: &[&'a str], value: Option<&Value>) -> Result<(), &'a str> {
    let [step, rest @ ..] = path else { return Ok(()) };
    if rest.is_empty() {
        match value {
            Some(value) => table.insert((*step).to_owned(), value.clone()),
            None => table.remove(*step),
        };
        return Ok(());
    }
    let next = table.entry(*step).or_insert_with(|| Value::Table(Table::new()));
    match next {
        Value::Table(table) => set(table, rest, value),
        Value::Array(list) => {
            let is_named = |member: &Value| {
                member.as_table().and_then(name_of).is_some_and(|name| name == rest[0])
            };
            let named = list.iter().any(is_named);
            let number = rest[0].parse::<usize>().ok();
            let number = number.filter(|n| !named && (1..=list.len()).contains(n));
            let rest = if named || number.is_some() { &rest[1..] } else { rest };
            if rest.is_empty() {
                return Err(step);
            }
            let is_chosen = |index: usize, member: &Value| match number {
                Some(number) => index + 1 == number,
                None => !named || is_named(member),
            };
            for (index, member) in list.iter_mut().enumerate() {
                if is_chosen(index, member)
                    && let Some(table) = member.as_table_mut()
                {
                    set(table, rest, value)?;
                }
            }
            Ok(())
        }
        _ => Err(step),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        duration = "1 s"
        [[link]]
        name = "first"
        rate = "1 Mbps"
        [[link]]
        name = "second"
        trace = "a.pps"
        [[flow]]
        controller = "scheme"
        traffic = { on = "always" }
        [[flow]]
        controller = "cubic"
    "#;

    fn changed(what: What) -> Result<Table, String> {
        let mut document: Table = FILE.parse().expect("TOML");
        Change { what, place: None }.apply(&mut document).map(|()| document)
    }

    fn key(path: &str) -> Result<String, String> {
        changed(What::Key(path.to_owned(), Value::Integer(7))).map(|table| table.to_string())
    }

    #[test]
    fn only_the_placeholder_is_replaced() {
        let document = changed(What::Controller("vegas".to_owned())).expect("can be changed");
        let controllers: Vec<&str> = document["flow"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|flow| flow["controller"].as_str())
            .collect();
        assert_eq!(controllers, ["vegas", "cubic"]);
        let mut none = Table::new();
        let change = Change { what: What::Controller("vegas".to_owned()), place: None };
        assert!(change.apply(&mut none).expect_err("no flow").contains("controller = \"scheme\""));
    }

    #[test]
    fn paths_lead_through_tables_and_lists() {
        assert_eq!(key("duration").unwrap().matches('7').count(), 1);
        assert!(key("tcp.initial_window").unwrap().contains("[tcp]\ninitial_window = 7"));
        assert_eq!(key("link.rate").unwrap().matches("rate = 7").count(), 2);
        assert_eq!(key("link.second.rate").unwrap().matches("rate = 7").count(), 1);
        assert_eq!(key("flow.traffic.off").unwrap().matches("off = 7").count(), 2);
        assert!(key("flow.2.rtt").unwrap().rsplit("[[flow]]").next().unwrap().contains("rtt = 7"));
        assert_eq!(key("flow.2.rtt").unwrap().matches("rtt = 7").count(), 1);
        assert!(key("link.first").unwrap_err().contains("\"link\" has no keys"));
        assert!(key("duration.x").unwrap_err().contains("\"duration\" has no keys"));
        assert!(key("link..rate").unwrap_err().contains("is no key"));
    }

    #[test]
    fn queues_apply_to_all_links_and_traces_to_those_that_have_one() {
        let queue = changed(What::Queue(Value::String("codel".to_owned()))).expect("is changed");
        assert_eq!(queue.to_string().matches("queue = \"codel\"").count(), 2);
        let trace = changed(What::Trace("b.pps".to_owned())).expect("is changed").to_string();
        assert_eq!(trace.matches("trace = ").count(), 1);
        assert!(trace.contains("b.pps"));
        let of = |name: &str| changed(What::TraceOf(name.to_owned(), "c.pps".to_owned()));
        assert!(of("second").expect("is changed").to_string().contains("trace = \"c.pps\""));
    }

    #[test]
    fn both_directions_of_the_first_flow_are_found() {
        let ways = |flow: &str| {
            let links = FILE.replace("rate = \"1 Mbps\"", "trace = \"b.pps\"");
            let text = links.replacen("[[flow]]", &format!("[[flow]]\n{flow}"), 1);
            traced_ways(&mut text.parse().expect("TOML"))
        };
        let both = Some(["second".to_owned(), "first".to_owned()]);
        assert_eq!(ways("path = [\"second\"]\nback = [\"first\"]"), both);
        assert_eq!(ways("path = [\"second\"]"), None);
        assert_eq!(traced_ways(&mut FILE.parse().expect("TOML")), None);
    }

    #[test]
    fn the_first_trace_on_the_path_is_found() {
        let of = |text: &str| first_trace(&mut text.parse().expect("TOML"));
        assert_eq!(of(FILE).as_deref(), Some("a.pps"), "without a path, any link");
        let on = |path: &str| FILE.replacen("[[flow]]", &format!("[[flow]]\npath = {path}"), 1);
        assert_eq!(of(&on("[\"first\", \"second\"]")).as_deref(), Some("a.pps"));
        assert_eq!(of(&on("[\"first\"]")), None);
        assert_eq!(of("[dumbbell]\ntrace = \"lte\"").as_deref(), Some("lte"));
        assert_eq!(of(""), None);
    }

    #[test]
    fn changes_of_traces_are_recognised() {
        let is = |path: &str| {
            let what = What::Key(path.to_owned(), Value::Integer(1));
            Change { what, place: None }.is_of_trace()
        };
        assert!(is("link.trace") && is("link.down.trace") && is("dumbbell.trace"));
        assert!(!is("link.rate") && !is("trace"));
    }
}
