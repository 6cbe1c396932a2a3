//! The reference pages name every key that files may have and every column and key of results. A key or
//! column that is in the code and not on its page, or on a page only, fails here.

use crate::common::Folder;
use crate::manual::docs;
use exm_design::Model;
use exm_experiment::{Experiment, METRICS};
use exm_grammar::Source;
use exm_link::QueueKind;
use exm_sim::builtin::{Builtin, parameters_of};
use exm_sim::scenario::{Scenario, parse_synthetic};
use exm_trace::Synthetic;
use exm_units::{Bytes, Packets, Rate, Span};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A key that is similar to no other, so that the error lists all known keys.
const UNKNOWN: &str = "zzzzzzzzzzzzzzzzzzzzzzzz";

fn page(name: &str) -> String {
    fs::read_to_string(docs().join("reference").join(name)).expect(name)
}

/// The text below the heading `heading`, up to the next of any level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page
        .match_indices('\n')
        .map(|(place, _)| place + 1)
        .chain([0])
        .find(|&place| {
            let line = page[place..].lines().next().unwrap_or_default();
            line.starts_with('#') && line.trim_start_matches('#').trim() == heading
        })
        .unwrap_or_else(|| panic!("there is no heading \"{heading}\""));
    let text = &page[start..];
    let body = text.find('\n').map_or("", |end| &text[end + 1..]);
    body.split("\n#").next().unwrap_or_default()
}

/// The code in the first cells of the tables of `text`.
fn first_cells(text: &str) -> BTreeSet<String> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// All that stands as code in `text`.
fn code(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The names that an error offers in place of [`UNKNOWN`].
fn offered(error: &str) -> BTreeSet<String> {
    let list = error
        .split_once("give one of ")
        .or_else(|| error.split_once("expected one of "))
        .or_else(|| error.split_once("expected "))
        .unwrap_or_else(|| panic!("no names are offered: {error}"));
    let list = list.1.lines().next().unwrap_or_default();
    let quote = if list.contains('`') { '`' } else { '"' };
    list.split(quote).skip(1).step_by(2).map(str::to_owned).collect()
}

/// Asserts that the tables below `heading` of `page` have exactly the keys that `error` offers.
fn assert_keys(page_name: &str, heading: &str, error: &str) {
    let documented = first_cells(section(&page(page_name), heading));
    assert_eq!(documented, offered(error), "{page_name}, {heading}: page, then code");
}

#[test]
fn every_key_of_models_is_documented() {
    const NETWORK: &str = "[network]\nrate = \"1 Mbps\"\nrtt = \"1 s\"\nsenders = 1\n";
    let error = |text: String| Model::parse(&text, "m").expect_err(&text).to_string();
    let top = error(format!("{UNKNOWN} = 1\n"));
    assert_keys("model-files.md", "Top of the file", &top);
    assert_keys("model-files.md", "[network]", &error(format!("[network]\n{UNKNOWN} = 1\n")));
    for name in ["link", "sender"] {
        let text = format!("{NETWORK}[[{name}]]\n{UNKNOWN} = 1\n");
        assert_keys("model-files.md", &format!("[[{name}]]"), &error(text));
    }
    for name in ["traffic", "objective", "design", "robust"] {
        let before = if name == "traffic" { "" } else { "[traffic]\non = \"always\"\n" };
        let text = format!("{NETWORK}{before}[{name}]\n{UNKNOWN} = 1\n");
        assert_keys("model-files.md", &format!("[{name}]"), &error(text));
    }
}

#[test]
fn every_key_of_scenarios_is_documented() {
    let error = |text: String| {
        let read = Scenario::parse(&text, "s", Path::new(""));
        read.expect_err(&text).to_string()
    };
    let top = error(format!("{UNKNOWN} = 1\n"));
    assert_keys("scenario-files.md", "Top of the file", &top);
    for name in ["dumbbell", "tcp", "sprout", "series"] {
        let text = format!("[{name}]\n{UNKNOWN} = 1\n");
        assert_keys("scenario-files.md", &format!("[{name}]"), &error(text));
    }
    for name in ["link", "flow"] {
        let text = format!("[[{name}]]\n{UNKNOWN} = 1\n");
        assert_keys("scenario-files.md", &format!("[[{name}]]"), &error(text));
    }
    let text = format!("[dumbbell]\ntraffic = {{ {UNKNOWN} = 1 }}\n");
    assert_keys("scenario-files.md", "traffic", &error(text));
}

#[test]
fn every_key_of_experiments_is_documented() {
    const SCENARIO: &str = "duration = \"1 s\"\n[dumbbell]\nrate = \"1 Mbps\"\nrtt = \"1 ms\"\nsenders = 1\n\
         controller = \"scheme\"\ntraffic.on = \"always\"\n[experiment]\n";
    let error = |text: &str| {
        let text = format!("{SCENARIO}{text}");
        Experiment::parse(&text, "e", Path::new("")).expect_err(&text).to_string()
    };
    let unknown = |table: &str| error(&format!("{table}\n{UNKNOWN} = 1\n"));
    let page_name = "experiment-files.md";
    assert_keys(page_name, "[experiment]", &unknown(""));
    for heading in [
        "[[experiment.scheme]]",
        "[[experiment.variant]]",
        "[experiment.sweep]",
        "[experiment.harm]",
    ] {
        assert_keys(page_name, heading, &unknown(heading));
    }
    assert_keys(page_name, "paper_axes", &error(&format!("paper_axes = {{ {UNKNOWN} = 1 }}\n")));
    let scheme = "[[experiment.scheme]]\nname = \"a\"\ncontroller = \"reno\"\n";
    let figure = error(&format!("figure = \"{UNKNOWN}\"\n{scheme}"));
    assert_keys(page_name, "Kinds of pictures", &figure);
    let metrics = set(METRICS.iter().map(|metric| metric.key));
    assert_eq!(first_cells(section(&page(page_name), "Metrics")), metrics);
}

#[test]
fn every_key_of_synthetic_links_is_documented() {
    let error = |text: String| {
        let source = Source { file: "l".to_owned(), text: text.clone() };
        parse_synthetic(&source, Path::new("")).expect_err(&text).to_string()
    };
    let top = error(format!("{UNKNOWN} = 1\n"));
    assert_keys("trace-files.md", "Top of the file", &top);
    for name in ["regime", "interruption"] {
        let text = format!("[[{name}]]\n{UNKNOWN} = 1\n");
        assert_keys("trace-files.md", &format!("[[{name}]]"), &error(text));
    }
    let names = first_cells(section(&page("trace-files.md"), "Synthetic links"));
    assert_eq!(names, Synthetic::names().map(str::to_owned).collect());
}

#[test]
fn every_unit_queue_and_controller_is_documented() {
    let page = page("quantities.md");
    let units = code(section(&page, "Quantities, distributions, queues and controllers"));
    for unit in [Rate::UNITS, Span::UNITS, Bytes::UNITS, Packets::UNITS].concat() {
        assert!(units.contains(unit), "the unit {unit} is not on the page");
    }
    let queues = section(&page, "Queues");
    assert_eq!(first_cells(queues), set(QueueKind::NAMES.iter().copied()));
    for &name in QueueKind::NAMES {
        let kind = QueueKind::named(name).expect("it is one");
        let row = queues.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let documented = code(row.expect(name));
        let parameters = kind.settings().parameters();
        let known = parameters.iter().map(|(parameter, _)| *parameter).chain([name]);
        assert_eq!(documented, set(known), "parameters of {name}");
    }
    assert_eq!(first_cells(section(&page, "Controllers")), set(Builtin::names()));
}

#[test]
fn every_parameter_of_controllers_is_documented() {
    let page = page("quantities.md");
    let rows = section(&page, "Parameters of controllers").lines();
    let rows: Vec<&str> = rows.filter(|line| line.starts_with("| `")).collect();
    let mut groups: Vec<(Vec<&str>, Vec<_>)> = Vec::new();
    for name in Builtin::names() {
        let parameters = parameters_of(name);
        match groups.iter_mut().find(|(_, others)| *others == parameters) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], parameters)),
        }
    }
    let expected = groups.iter().flat_map(|(names, parameters)| {
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        parameters.iter().map(move |known| {
            let (name, default, values) = (known.name, &known.default, &known.values);
            format!("| {names} | `{name}` | {default} | {values} | {} |", known.description)
        })
    });
    assert_eq!(
        rows,
        expected.collect::<Vec<_>>(),
        "the table of parameters is not that of the code"
    );
}

#[test]
fn every_key_of_tables_is_documented() {
    let folder = Folder::new("reference-table");
    let whole = page("table-files.md");
    let example = whole.split("```json\n").nth(1).and_then(|rest| rest.split("\n```").next());
    let example = example.expect("the page has an example");
    folder.write("a.json", example);
    folder.text("table show a.json");
    // With an unknown key first in each object.
    let score = format!("\"held_out_score\": {{\"{UNKNOWN}\": 1}}, ");
    let remy = format!("\"remy_file\": {{\"{UNKNOWN}\": 1}}, ");
    let robustness = format!("\"robustness\": {{\"{UNKNOWN}\": 1}}, ");
    let near = format!("\"robustness\": {{\"near\": {{\"{UNKNOWN}\": 1}}}}, ");
    let cost = format!("\"robustness\": {{\"cost\": {{\"{UNKNOWN}\": 1}}}}, ");
    let parts = format!("{{\"{UNKNOWN}\": 1}}");
    let unknown = format!("\"{UNKNOWN}\": 1, ");
    for (heading, before, inserted, after) in [
        ("Top of the file", "\"version\": 1,", &unknown, ""),
        ("rules", "{\"rule\": 0, ", &unknown, ""),
        ("box", "\"box\": {", &unknown, ""),
        ("provenance", "\"provenance\": {", &unknown, ""),
        ("held_out_score", "\"provenance\": {", &score, ""),
        ("robustness", "\"provenance\": {", &robustness, ""),
        ("near, far and far_before", "\"provenance\": {", &near, ""),
        ("cost", "\"provenance\": {", &cost, ""),
        ("remy_file", "\"provenance\": {", &remy, ""),
        ("tree", "\"tree\": ", &parts, "[0, 1]"),
    ] {
        let place = format!("{before}{after}");
        assert!(example.contains(&place), "{heading}: {place} is not in the example");
        folder.write("b.json", example.replacen(&place, &format!("{before}{inserted}"), 1));
        let output = folder.run("table show b.json");
        assert_keys("table-files.md", heading, &crate::common::error_of(&output));
    }
}

/// The names of all keys of `value` and of what is in it.
fn keys_of(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                keys.insert(key.clone());
                keys_of(value, keys);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys_of(value, keys)),
        _ => {}
    }
}

const MODEL: &str = "[network]\nrate = \"5..20 Mbps\"\nrtt = \"100 ms\"\nsenders = \"1..2\"\n\
                     [traffic]\non = \"exp 1 s\"\noff = \"exp 1 s\"\n[design]\nduration = \"5 s\"\n\
                     specimens = 2\n";

#[test]
fn every_key_of_design_logs_is_documented() {
    let folder = Folder::new("reference-log");
    folder.write("m.toml", MODEL);
    folder.text("design m.toml -o t.json --steps 3 --hardening 2 --specimens 2 -q");
    let log = fs::read_to_string(folder.path("t.json.log.jsonl")).expect("there is a log");
    assert_eq!(log.lines().count(), 4, "three steps and the held-out score");
    let mut keys = BTreeSet::new();
    for line in log.lines() {
        keys_of(&serde_json::from_str(line).expect(line), &mut keys);
    }
    assert_eq!(first_cells(&page("design-log.md")), keys);
}

/// The names of the columns of the CSV file `name`.
fn columns(folder: &Folder, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.path(name)).expect(name);
    let header = text.lines().find(|line| !line.starts_with('#')).expect("a header");
    set(header.split(','))
}

#[test]
fn every_column_of_results_is_documented() {
    let folder = Folder::new("reference-columns");
    let page = page("result-files.md");
    folder.text("compare --cc aimd --link 5Mbps --rtt 50ms --duration 2s --runs 1 -o c");
    for (file, heading) in
        [("c/results.csv", "Flows of an experiment"), ("c/links.csv", "Links of an experiment")]
    {
        assert_eq!(first_cells(section(&page, heading)), columns(&folder, file), "{heading}");
    }
    folder.text("simulate --cc aimd --link 5Mbps --rtt 50ms --duration 2s --series s");
    for (file, heading) in
        [("s/seed-1.flows.csv", "Flows over time"), ("s/seed-1.links.csv", "Links over time")]
    {
        assert_eq!(first_cells(section(&page, heading)), columns(&folder, file), "{heading}");
    }
}

#[test]
fn every_exit_code_is_documented() {
    let folder = Folder::new("reference-codes");
    let help = folder.text("--help");
    let table = help.split("Exit codes:\n").nth(1).expect("help lists them");
    let codes = table.lines().take_while(|line| line.starts_with(' '));
    let codes = codes.filter_map(|line| line.trim().split(' ').next());
    let codes = codes.filter(|word| word.chars().all(|letter| letter.is_ascii_digit()));
    assert_eq!(first_cells(&page("exit-codes.md")), set(codes));
}

/// The paths of all keys of `value`, but for those of estimates, distributions, boxes, actions and metrics.
fn paths_of(value: &serde_json::Value, path: &str, paths: &mut BTreeSet<String>) {
    const REPEATED: [&str; 4] = ["mean", "interval", "excludes_zero", "median"];
    let last = path.rsplit('.').next().unwrap_or_default();
    let is_known_elsewhere = [
        "setup",
        "values",
        "intervals",
        "box",
        "first",
        "second",
        "down",
        "summary",
        "delay_reduction",
        "robustness",
    ];
    match value {
        serde_json::Value::Object(object) => {
            let is_statistic = object.contains_key("mean")
                && object.keys().all(|key| REPEATED.contains(&key.as_str()) || key == "p95");
            let is_action = path.starts_with("only_in") && last == "action";
            if is_statistic || is_action || is_known_elsewhere.contains(&last) {
                return;
            }
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                paths.insert(path.clone());
                paths_of(value, &path, paths);
            }
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| paths_of(value, &format!("{path}[]"), paths));
        }
        _ => {}
    }
}

/// Asserts that the table below `heading` has exactly the keys of the results of `commands`, which it may
/// also name by what is in them; `unseen` are those that no test can bring about.
fn assert_json(folder: &Folder, heading: &str, commands: &[&str], unseen: &[&str]) {
    let page = page("json-results.md");
    let documented = first_cells(section(&page, heading));
    let mut paths = BTreeSet::new();
    for command in commands {
        paths_of(&folder.json(command), "", &mut paths);
    }
    // What every result has is described at the top of the page.
    let envelope = ["version", "command", "warnings", "seed", "host"];
    paths.retain(|path| !envelope.contains(&path.as_str()) && path != "down");
    let is_named = |path: &String| {
        documented.contains(path)
            || documented.iter().any(|known| {
                known.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
            })
    };
    let missing: Vec<&String> = paths.iter().filter(|path| !is_named(path)).collect();
    assert!(missing.is_empty(), "{heading} lacks {missing:?}");
    let gone: Vec<&String> = documented
        .iter()
        .filter(|key| !paths.contains(*key) && !unseen.contains(&key.as_str()))
        .collect();
    assert!(gone.is_empty(), "{heading} has {gone:?}, which no result had");
}

#[test]
fn every_key_of_results_in_json_is_documented() {
    let folder = Folder::new("reference-json");
    folder.write("m.toml", MODEL);
    folder.write(
        "grid.toml",
        MODEL
            .replace("[traffic]", "draw = \"grid\"\n[traffic]")
            .replace("5..20", "5")
            .replace("\"1..2\"", "[1, 2]"),
    );
    folder.write("lte.trace", (0..2000).map(|ms| format!("{}\n", ms * 3)).collect::<String>());
    let simulate =
        "simulate --cc cubic --link 5Mbps --rtt 50ms --on exp_50_kB --off exp_0.2_s --duration 5s";
    assert_json(
        &folder,
        "exm simulate",
        &[
            &format!("{simulate} --runs 2 --json"),
            "simulate cellular --duration 70s --json",
            "simulate call --duration 20s --json",
        ],
        &[],
    );
    let falsify = "falsify reno --tries 16 --around 1 --model m.toml --json";
    assert_json(&folder, "exm falsify", &[falsify], &[]);
    let score = "score aimd general-delta1 --specimens 4 --json --model";
    assert_json(
        &folder,
        "exm score",
        &[&format!("{score} m.toml"), &format!("{score} grid.toml")],
        &[],
    );
    assert_json(
        &folder,
        "exm design",
        &["design m.toml -o d.json --steps 1 --hardening 2 --specimens 2 --json"],
        &[],
    );
    let several =
        "design m.toml -o s.json --steps 1 --hardening 2 --specimens 2 --plot s.svg --json";
    assert_json(&folder, "exm design --seeds", &[&format!("{several} --seeds 2")], &[]);
    let deltas = format!("{several} --delta 1,2 --force");
    assert_json(&folder, "exm design --delta", &[&deltas], &[]);
    // A table that collapses is told by the exit code.
    let check = folder.run("table check d.json --json");
    let check: serde_json::Value = serde_json::from_slice(&check.stdout).expect("JSON");
    let mut paths = BTreeSet::new();
    paths_of(&check, "", &mut paths);
    let documented = first_cells(section(&page("json-results.md"), "exm table check"));
    let top = ["version", "command"];
    let missing = paths.iter().filter(|path| !top.contains(&path.as_str()) && !path.contains('.'));
    for path in missing {
        let is_named = |known: &String| known == path || known.starts_with(&format!("{path}."));
        let is_listed = |known: &String| known.starts_with(&format!("{path}[]"));
        assert!(documented.iter().any(|known| is_named(known) || is_listed(known)), "{path}");
    }
    let harden = "table harden d.json -o e.json --generations 2 --specimens 2 --force --json";
    assert_json(&folder, "exm table harden", &[harden], &[]);
    assert_json(&folder, "exm experiment list", &["experiment list --json"], &[]);
    assert_json(&folder, "exm table list", &["table list --json"], &[]);
    let orbits = "table orbits general-delta1 --networks 4 --json";
    assert_json(&folder, "exm table orbits", &[orbits], &[]);
    assert_json(&folder, "exm table stats", &["table stats 1x --json"], &[]);
    assert_json(&folder, "exm trace info", &["trace info lte.trace --json"], &[]);
}

#[test]
fn every_key_of_the_difference_of_tables_is_documented() {
    let folder = Folder::new("reference-diff");
    // The exit code shows that tables differ.
    let output = folder.run("table diff 1x 10x --json");
    let page = page("json-results.md");
    let mut paths = BTreeSet::new();
    paths_of(&serde_json::from_slice(&output.stdout).expect("JSON"), "", &mut paths);
    paths.retain(|path| {
        !["version", "command", "only_in_first", "only_in_second", "biggest"]
            .contains(&path.as_str())
    });
    assert_eq!(first_cells(section(&page, "exm table diff")), paths);
}

#[test]
fn every_key_of_experiments_results_is_documented() {
    const EXPERIMENT: &str = r#"
        duration = "5 s"
        [[link]]
        name = "link"
        rate = "5 Mbps"
        [[flow]]
        name = "tested"
        rtt = "20 ms"
        controller = "scheme"
        traffic = { on = "exp 50 kB", off = "exp 0.2 s" }
        [[flow]]
        name = "other"
        rtt = "30 ms"
        controller = "reno"
        traffic = { on = "exp 50 kB", off = "exp 0.2 s" }
        [experiment]
        runs = 3
        reference = "Reno"
        ranks = "objective"
        harm = { flow = "other", reference = "Reno" }
        [[experiment.scheme]]
        name = "Reno"
        controller = "reno"
        [[experiment.scheme]]
        name = "Cubic"
        controller = "cubic"
        paper = { speedup = 2, throughput = 3 }
        [[experiment.scheme]]
        name = "designs"
        controller = ["1x", "10x"]
    "#;
    // Flows with different controllers are compared group by group.
    const UNLIKE: &str = r#"
        duration = "2 s"
        [[link]]
        name = "link"
        rate = "5 Mbps"
        [[flow]]
        name = "one"
        rtt = "20 ms"
        controller = "reno"
        traffic.on = "always"
        [[flow]]
        name = "other"
        rtt = "20 ms"
        controller = "vegas"
        traffic.on = "always"
        [experiment]
        runs = 1
        reference = "apart"
        [[experiment.scheme]]
        name = "apart"
        [[experiment.scheme]]
        name = "together"
        set = { "flow.one.controller" = "cubic" }
    "#;
    let folder = Folder::new("reference-results");
    folder.write("e.toml", EXPERIMENT);
    folder.text("experiment run e.toml -o e");
    folder.write("unlike.toml", UNLIKE);
    folder.text("experiment run unlike.toml -o unlike");
    folder.text("compare --cc cubic,vegas --link 5Mbps --rtt 50ms --duration 2s --runs 2 -o c");
    let compare =
        "compare --cc cubic,vegas --link 5Mbps --rtt 50ms --duration 2s --runs 2 -o c --json";
    assert_json(
        &folder,
        "exm compare and exm experiment show",
        &["experiment show e --json", "experiment show unlike --json", compare],
        &["results.warnings", "results.skipped", "results.simulated"],
    );
}

#[test]
#[cfg(target_os = "linux")]
fn every_key_of_cellsim_is_documented() {
    let Some(folder) = Folder::with_networks("reference-cellsim") else { return };
    let command = "cellsim --up 5Mbps --down 5Mbps --duration 5s --json -- true";
    assert_json(&folder, "exm cellsim", &[command], &[]);
}
