//! Valid and invalid files.

use super::*;
use crate::case::Asked;
use crate::plan::{Options, Plan, PlanError};
use exm_units::Span;

const FILE: &str = r#"title = "T"
duration = "1 s"

[dumbbell]
rate = "15 Mbps"
rtt = "150 ms"
senders = 2
controller = "scheme"
traffic = { on = "exp 100 kB", off = "exp 0.5 s" }

[experiment]
source = "S"
runs = 3
reference = "Reno"

[[experiment.scheme]]
name = "Reno"
controller = "reno"

[[experiment.scheme]]
name = "Cubic"
controller = "cubic"
paper = { speedup = 1.5, mean_rtt = [1, 2] }

[[experiment.variant]]
name = "today"

[[experiment.variant]]
name = "then"
tcp = { initial_window = 3 }

[experiment.sweep]
key = "dumbbell.senders"
values = [1, 2]
"#;

fn parsed(text: &str) -> Result<Experiment, FileError> {
    Experiment::parse(text, "a/file.toml", Path::new(""))
}

fn planned(text: &str, options: &Options) -> Result<Plan, PlanError> {
    Plan::new(parsed(text)?, options, &mut |name, _| Err(format!("no table {name}")))
}

/// The error of [`FILE`] with `from` replaced by `to`.
fn refusal(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "{from}");
    match planned(&FILE.replacen(from, to, 1), &Options::default()) {
        Ok(_) => panic!("{to} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_is_parsed() {
    let experiment = parsed(FILE).expect("is valid");
    assert_eq!((experiment.name.as_str(), experiment.runs, experiment.seed), ("file", 3, 1));
    assert_eq!(experiment.figures, [FigureKind::ThroughputDelay]);
    assert_eq!(experiment.references, [0]);
    let paper = &experiment.schemes[1].paper;
    assert_eq!(
        (paper[0].metric.as_str(), paper[0].values.as_slice()),
        ("mean_rtt", &[1.0, 2.0][..])
    );
    let labels: Vec<String> = experiment.points().into_iter().map(|point| point.label).collect();
    assert_eq!(labels, ["1", "2"]);
}

#[test]
fn ratios_axes_and_ellipses_are_checked() {
    let with = |line: &str| refusal("runs = 3", &format!("runs = 3\n{line}"));
    assert!(with("sigma = 0.0").contains("ellipse of 0 standard deviations"));
    assert!(with("paper_axes = { x = [8, 2], y = [1, 3] }").contains("their low end first"));
    assert!(with("paper_axes = { x = [0, 2], y = [1, 3] }").contains("delays above 0"));
    assert!(with("paper_axes = { x = [1, 2] }").contains("the key \"y\" is missing"));
    let error = refusal("speedup = 1.5", "Rino = { speedup = 1.5 }");
    assert!(error.contains("\"Rino\" is none: did you mean \"Reno\"?"), "{error}");
}

#[test]
fn a_list_of_designs_is_checked() {
    let with = |list: &str| refusal("controller = \"reno\"", &format!("controller = {list}"));
    assert!(with("[]").contains("there is no table in the list"), "{}", with("[]"));
    let twice = with("[\"a.json\", \"b.json\", \"a.json\"]");
    assert!(twice.contains("\"a.json\" is listed twice"), "{twice}");
    assert!(with("[1, 2]").contains("neither a word in quotes nor a list"), "{}", with("[1, 2]"));
}

#[test]
fn notes_are_paragraphs() {
    let with = |notes: &str| {
        let text = FILE.replacen("runs = 3", &format!("runs = 3\nnotes = {notes}"), 1);
        parsed(&text).expect("is valid").notes
    };
    assert!(parsed(FILE).expect("is valid").notes.is_empty());
    assert_eq!(with("\"\"\"one\n  line\"\"\""), ["one line"]);
    assert_eq!(with("[\"a\", \" \", \"b\"]"), ["a", "b"]);
    let text = FILE.replacen("name = \"then\"", "name = \"then\"\nnote = \"as\nbefore\"", 1);
    assert!(parsed(&text).is_err(), "a line break in a plain string is no TOML");
    let text = FILE.replacen("name = \"then\"", "name = \"then\"\nnote = \" as before\"", 1);
    let experiment = parsed(&text).expect("is valid");
    assert_eq!(experiment.variants[1].note.as_deref(), Some("as before"));
    assert_eq!(experiment.variants[0].note, None);
}

#[test]
fn expensive_measurements_are_made_only_where_needed() {
    let asked = |from: &str, to: &str| {
        let text = FILE.replacen(from, to, 1);
        planned(&text, &Options::default()).expect("is valid")
    };
    let usual = asked("", "");
    assert_eq!(usual.asked, Asked::default());
    let way = asked("runs = 3", "window = \"0.5 s\"\ncolumns = [\"converged\"]");
    let convergence = Some(Span::from_millis(500));
    assert_eq!(way.asked, Asked { convergence, ..Asked::default() });
    let times = asked("runs = 3", "figure = \"distribution\"");
    assert_eq!(times.asked, Asked { completions: true, ..Asked::default() });
    let timeline = asked("runs = 3", "figure = \"rate-and-delay\"");
    assert_eq!(timeline.asked, Asked { timeline: Some(Span::from_secs(1)), ..Asked::default() });
    assert_ne!((usual.hash, usual.hash), (way.hash, times.hash));
}

#[test]
fn a_plan_has_a_case_for_each_scheme_point_and_variant() {
    let plan = planned(FILE, &Options::default()).expect("is valid");
    let cases: Vec<[usize; 3]> =
        plan.cases.iter().map(|case| [case.variant, case.point, case.scheme]).collect();
    let expected: Vec<[usize; 3]> =
        (0..8).map(|number| [number / 4, number / 2 % 2, number % 2]).collect();
    assert_eq!(cases, expected);
    assert_eq!(plan.cases[2].network.flows().len(), 2);
    let window = |case: usize| plan.cases[case].scenario.flows[0].tcp.initial_window.get();
    assert_eq!((window(0), window(4)), (10, 3));
    assert_ne!(plan.cases[0].hash, plan.cases[4].hash);
    assert_ne!(plan.seed_of(0), plan.seed_of(1));
}

#[test]
fn options_change_the_plan() {
    let only = |names: &[&str]| Options {
        only: names.iter().map(|&name| name.to_owned()).collect(),
        runs: Some(1),
        seed: Some(9),
        duration: Some(Span::from_millis(10)),
        ..Options::default()
    };
    let plan = planned(FILE, &only(&["Cubic"])).expect("is valid");
    assert_eq!((plan.cases.len(), plan.runs, plan.seed), (4, 1, 9));
    assert_eq!(plan.duration, Span::from_millis(10));
    let error = planned(FILE, &only(&["Cubik"])).unwrap_err().to_string();
    assert!(error.contains("did you mean \"Cubic\"?"), "{error}");
    let trace = Options { trace: Some("/a/b".into()), ..Options::default() };
    assert!(matches!(planned(FILE, &trace), Err(PlanError::NoTrace)));
}

/// A flow whose ACKs cross a link, each direction with a trace.
const BOTH_WAYS: &str = r#"
duration = "1 s"
[[link]]
name = "data"
from = "server"
to = "phone"
trace = "lte-like"
[[link]]
name = "return"
from = "phone"
to = "server"
trace = "lte-like, seed 2"
[[flow]]
path = ["data"]
back = ["return"]
rtt = "40 ms"
controller = "scheme"
traffic = { on = "always" }
[experiment]
[[experiment.scheme]]
name = "Reno"
controller = "reno"
[[experiment.variant]]
name = "A"
set = { "link.data.trace" = "umts-like" }
[[experiment.variant]]
name = "as above"
[[experiment.variant]]
name = "late"
set = { "link.delay" = "10 ms" }
"#;

#[test]
fn recorded_traces_replace_others_in_both_directions() {
    let folder = std::env::temp_dir().join(format!("exm-recorded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (down, up) = (folder.join("n.down"), folder.join("n.up"));
    std::fs::write(&down, "10\n20\n").and_then(|()| std::fs::write(&up, "7\n")).expect("can write");
    let pair = crate::Pair { name: "n".to_owned(), down: Some(down), up: Some(up) };
    let options = Options { traces: vec![pair], ..Options::default() };
    let plan = planned(BOTH_WAYS, &options).expect("is valid");
    let refused = planned(FILE, &options);
    std::fs::remove_dir_all(&folder).ok();
    assert!(matches!(refused, Err(PlanError::NoWays)));
    let names: Vec<&str> = plan.experiment.variants.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["n down, late", "n up, late"]);
    let opportunities = |case: usize| {
        let links = plan.cases[case].network.links().iter();
        let counts = links.map(|link| match &link.service {
            exm_link::Service::Trace(trace) => trace.times().len(),
            exm_link::Service::Fixed(_) => 0,
        });
        counts.collect::<Vec<usize>>()
    };
    assert_eq!((opportunities(0), opportunities(1)), (vec![2, 1], vec![1, 2]));
    let usual = planned(BOTH_WAYS, &Options::default()).expect("is valid");
    assert_eq!(usual.experiment.variants.len(), 3);
    assert_ne!(usual.hash, plan.hash);
    assert!(
        parsed(BOTH_WAYS).expect("is valid").files().is_empty(),
        "no trace of the other variants"
    );
}

#[test]
fn schemes_whose_table_may_be_absent_are_left_out() {
    let text =
        FILE.replacen("controller = \"cubic\"", "controller = \"no.dna\"\noptional_file = true", 1);
    let plan = planned(&text, &Options::default()).expect("is valid");
    assert_eq!((plan.skipped.len(), plan.cases.len()), (1, 4));
    assert!(plan.skipped[0].reason.contains("no.dna"), "{:?}", plan.skipped);
    let only = Options { only: vec!["Cubic".to_owned()], ..Options::default() };
    assert!(matches!(planned(&text, &only), Err(PlanError::NothingLeft(_))));
    assert_eq!(parsed(&text).expect("is valid").files(), ["no.dna"]);
}

#[test]
fn errors_name_the_line_and_the_nearest_word() {
    for (from, to, parts) in [
        ("runs = 3", "run = 3", &["a/file.toml:13:", "\"run\"", "did you mean \"runs\"?"][..]),
        ("runs = 3", "runs = 0", &["file.toml:13:", "0 runs", "give 1 to"]),
        ("reference = \"Reno\"", "reference = \"Renu\"", &[":14:", "did you mean \"Reno\"?"]),
        ("reference = \"Reno\"", "", &[":22:", "add reference ="]),
        ("source = \"S\"", "x = \"jain\"", &[":12:", "no quantity of each flow"]),
        ("source = \"S\"", "y = \"recieved\"", &[":12:", "did you mean \"received\"?"]),
        ("source = \"S\"", "mean = \"then\"", &[":12:", "needs a name of its own"]),
        ("source = \"S\"", "figure = \"bar\"", &[":12:", "did you mean \"bars\"?"]),
        ("source = \"S\"", "columns = [\"thruput\"]", &[":12:", "did you mean \"throughput\"?"]),
        ("runs = 3", "window = \"0 s\"", &[":13:", "throughput over 0 s cannot be averaged"]),
        ("runs = 3", "window = \"2 s\"", &[":13:", "at most the 1 s that are simulated"]),
        ("runs = 3", "window = \"long\"", &[":13:", "a duration"]),
        ("tcp = {", "notes = 1\ntcp = {", &[":30:", "did you mean \"note\"?"]),
        ("speedup", "spedup", &[":23:", "did you mean \"speedup\"?"]),
        ("[1, 2] }", "[1, 2, 3] }", &[":23:", "3 numbers cannot stand beside 2 points"]),
        ("[1, 2] }", "\"x\" }", &[":23:", "\"mean_rtt\" is no number"]),
        ("initial_window = 3", "initial_windw = 3", &[":30:", "did you mean \"initial_window\"?"]),
        ("values = [1, 2]", "values = [1, 0]", &[":34:", "0 senders cannot be simulated"]),
        ("values = [1, 2]", "values = []", &[":34:", "0 values cannot be swept"]),
        ("values = [1, 2]", "from = \"1\"", &[":33:", "values = [...], or from and to"]),
        ("dumbbell.senders", "dumbbell.sender", &[":34:", "did you mean \"senders\"?"]),
        ("rate = \"15 Mbps\"", "rate = \"15 furlongs\"", &[":5:", "is not a rate"]),
        ("senders = 2", "senders = 0", &[":7:", "0 senders cannot be simulated"]),
        ("senders = 2", "sender = 2", &[":7:", "did you mean \"senders\"?"]),
        ("controller = \"scheme\"", "controller = \"reno\"", &[":18:", "controller = \"scheme\""]),
        ("name = \"Cubic\"", "name = \"Reno\"", &[":22:", "two schemes \"Reno\""]),
        ("controller = \"cubic\"", "controller = \"cubik\"", &[":22:", "no table cubik"]),
        ("controller = \"cubic\"", "queue = \"codl\"", &[":22:", "did you mean \"codel\"?"]),
    ] {
        let error = refusal(from, to);
        for part in parts {
            assert!(error.contains(part), "{to}: \"{part}\" is not in {error}");
        }
    }
}

#[test]
fn a_scenario_is_not_an_experiment() {
    let text = &FILE[..FILE.find("[experiment]").expect("it is there")];
    let error = parsed(text).unwrap_err();
    assert!(error.problem().starts_with("this is a scenario and no experiment"), "{error}");
    assert!(parsed(&format!("{text}[experiment]\n")).unwrap_err().problem().contains("no scheme"));
    let error = Experiment::load(Path::new("no/such.toml")).unwrap_err();
    assert!(
        error.to_string().starts_with("no/such.toml: the experiment cannot be read"),
        "{error}"
    );
}
