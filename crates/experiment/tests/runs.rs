//! Runs give the same bytes on any number of threads, and however often they were interrupted.

use exm_experiment::{
    Backend, BackendError, Case, Experiment, Live, Measured, Options, Plan, Results, Rows,
    RunError, SimulatedTwin, Store, StoreError, Watch,
};
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_testing::Folder;
use exm_units::Span;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

const FILE: &str = r#"
title = "Two schemes"
duration = "2 s"
[dumbbell]
rate = "5 Mbps"
rtt = "40 ms"
buffer = "50 packets"
senders = 2
controller = "scheme"
traffic = { on = "exp 100 kB", off = "exp 0.2 s" }
[experiment]
runs = 6
figure = ["throughput-delay", "series", "sequence", "bars"]
reference = "Reno"
[[experiment.scheme]]
name = "Reno"
controller = "reno"
[[experiment.scheme]]
name = "Cubic"
controller = "cubic"
queue = "codel"
paper = { speedup = 1.5 }
"#;

/// The names and bytes of all files.
fn files(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(&folder.0).expect("the folder is there");
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .map(|(name, path)| (name, fs::read(path).expect("can be read")))
        .collect();
    files.sort();
    files
}

/// Stops after this many runs.
struct After(u64, AtomicU64);

impl Watch for After {
    fn advance(&self, _work: u64) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }

    fn is_stopped(&self) -> bool {
        self.1.load(Ordering::SeqCst) >= self.0
    }
}

fn plan(text: &str, options: &Options) -> Plan {
    let experiment = Experiment::parse(text, "two.toml", Path::new("")).expect("is valid");
    Plan::new(experiment, options, &mut |name, _| Err(format!("no {name}"))).expect("is valid")
}

/// Makes runs until `watch` stops, and the results if all are made.
fn work(folder: &Folder, plan: &Plan, threads: usize, most: u64) -> Rows {
    let (store, rows) = Store::open(&folder.0, plan, false).expect("can be opened");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let watch = After(most, AtomicU64::new(0));
    pool.install(|| {
        let rows = exm_experiment::run(plan, store, rows, &watch).expect("can be kept");
        if exm_experiment::is_complete(plan, &rows) {
            exm_experiment::write(&folder.0, plan, &rows, "exm".to_owned()).expect("is written");
        }
        rows
    })
}

#[test]
fn threads_and_interruptions_change_no_byte() {
    let plan = plan(FILE, &Options::default());
    let (whole, threads, resumed) =
        (Folder::new("whole"), Folder::new("many"), Folder::new("part"));
    assert_eq!(work(&whole, &plan, 1, u64::MAX).len(), 12);
    work(&threads, &plan, 4, u64::MAX);
    assert!(work(&resumed, &plan, 2, 3).len() < 12);
    // The program was killed in the middle of a line.
    let path = resumed.0.join("runs.jsonl");
    let text = fs::read_to_string(&path).expect("runs are kept");
    fs::write(&path, &text[..text.len() - 20]).expect("can write");
    assert!(work(&resumed, &plan, 2, 7).len() < 12);
    work(&resumed, &plan, 2, u64::MAX);
    let names: Vec<String> = files(&whole).into_iter().map(|(name, _)| name).collect();
    let figures = ["figure-bars", "figure-sequence", "figure-series", "figure"];
    let forms = ["csv", "narrow.svg", "pdf", "png", "svg"];
    let pictures = figures.iter().flat_map(|name| forms.map(|form| format!("{name}.{form}")));
    let others = [
        "links.csv",
        "links.parquet",
        "results.csv",
        "results.json",
        "results.parquet",
        "runs.jsonl",
    ];
    let expected = std::iter::once("experiment.toml".to_owned()).chain(pictures);
    let expected = expected.chain(others.map(str::to_owned));
    let is_made = |name: &String| cfg!(feature = "parquet") || !name.ends_with(".parquet");
    assert_eq!(names, expected.filter(is_made).collect::<Vec<_>>());
    assert!(files(&whole) == files(&threads), "another number of threads gave other bytes");
    assert!(files(&whole) == files(&resumed), "an interruption gave other bytes");
    let results = Results::load(&whole.0).expect("can be read");
    let ratio = results.comparisons[0].speedup.expect("both were measured");
    assert_eq!((ratio.paper, ratio.over_paper), (Some(1.5), Some(ratio.ours / 1.5)));
}

/// A fast and a slow flow of the same scheme.
const UNLIKE: &str = r#"
title = "Two kinds of flows"
duration = "4 s"
[[link]]
name = "fast link"
from = "server"
to = "router"
rate = "10 Mbps"
buffer = "20 packets"
[[link]]
name = "slow link"
from = "router"
to = "phone"
trace = "lte"
buffer = "20 packets"
[[flow]]
name = "fast"
path = ["fast link"]
rtt = "20 ms"
controller = "scheme"
traffic = { on = "exp 50 kB", off = "exp 0.1 s" }
[[flow]]
name = "slow"
path = ["fast link", "slow link"]
rtt = "200 ms"
controller = "scheme"
traffic = { on = "exp 50 kB", off = "exp 0.1 s" }
[experiment]
runs = 3
columns = ["throughput", "share"]
reference = ["Reno", "Cubic"]
paper_axes = { x = [1, 5], y = [1, 20] }
[[experiment.scheme]]
name = "Reno"
controller = "reno"
[[experiment.scheme]]
name = "Cubic"
controller = "cubic"
[[experiment.scheme]]
name = "Vegas"
controller = "vegas"
paper = { Reno = { speedup = 2.5 }, Cubic = { speedup = 1.5 } }
"#;

#[test]
fn unlike_flows_have_a_point_each() {
    let folder = Folder::new("unlike");
    work(&folder, &plan(UNLIKE, &Options::default()), 2, u64::MAX);
    let svg = fs::read_to_string(folder.0.join("figure.svg")).expect("is drawn");
    for name in ["Reno, fast", "Reno, slow", "Vegas, fast", "Vegas, slow"] {
        assert!(svg.contains(&format!(">{name}</text>")), "{name} is not in {svg}");
    }
    assert!(!svg.contains(">Reno</text>"), "there is no point of both");
    // Among the fast flows one scheme is the best on both axes; no line joins them with the slow ones.
    assert!(svg.contains(">efficient frontier, slow<") && !svg.contains(">efficient frontier<"));
    let results = Results::load(&folder.0).expect("can be read");
    let table = &results.tables()[0];
    let all = table.rows.iter().find(|row| row[1] == exm_measure::report::Cell::text("all"));
    // A share is defined for both together, a median throughput is not.
    let all = all.expect("a row of all flows");
    assert_eq!(all[2], exm_measure::report::Cell::Empty);
    assert!(matches!(all[3], exm_measure::report::Cell::Number { .. }));
}

#[test]
fn ratios_and_axes_are_shown_beside_the_papers() {
    let folder = Folder::new("axes");
    work(&folder, &plan(UNLIKE, &Options::default()), 2, u64::MAX);
    let results = Results::load(&folder.0).expect("can be read");
    let of = |reference: &str| {
        let is =
            |one: &&exm_experiment::Comparison| one.reference == reference && one.scheme == "Vegas";
        results.comparisons.iter().find(is).and_then(|one| one.speedup?.paper)
    };
    assert_eq!((of("Reno"), of("Cubic")), (Some(2.5), Some(1.5)));
    let note = results.notes.last().expect("a note on the axes");
    assert!(
        note.starts_with("inside the axes of the paper's figure (queueing delay, ms 1 to 5"),
        "{note}"
    );
    let schemes = ["Reno", "Cubic", "Vegas"];
    assert!(schemes.iter().all(|name| note.matches(name).count() == 1), "{note}");
    let svg = fs::read_to_string(folder.0.join("figure.svg")).expect("is drawn");
    assert!(svg.contains("the paper's axes</text>"));
}

/// Both schemes meet the same traffic, so that their difference is surer than either value.
#[test]
fn leads_are_of_the_same_runs() {
    let folder = Folder::new("leads");
    let text = FILE.replace("reference =", "columns = [\"objective\"]\nreference =");
    work(&folder, &plan(&text, &Options::default()), 2, u64::MAX);
    let results = Results::load(&folder.0).expect("can be read");
    let width = |[low, high]: [f64; 2]| high - low;
    let lead = results.comparisons[0].lead.expect("is measured");
    let own = results.cases.iter().map(|case| case.own.intervals["objective"]);
    let widest = own.map(width).fold(0.0, f64::max);
    let surely = lead.interval.expect("over several runs");
    assert!(surely[0] <= lead.ours && lead.ours <= surely[1]);
    assert!(width(surely) < widest, "{surely:?} of {widest}");
    assert!(results.tables()[1].columns.iter().any(|column| column.heading == "lead in objective"));
}

#[test]
fn a_figure_states_what_it_shows() {
    let text = UNLIKE.replace("[\"fast link\"]", "[\"slow link\"]");
    let folder = Folder::new("words");
    work(&folder, &plan(&text, &Options { runs: Some(1), ..Options::default() }), 1, u64::MAX);
    let results = Results::load(&folder.0).expect("can be read");
    let title = "Two kinds of flows, trace synthetic lte";
    assert_eq!(results.title.as_deref(), Some(title));
    let caption = &results.pictures[0].title;
    assert_eq!(
        *caption,
        format!("{title}: 1 run of 4 s, a single run of each, which has no spread")
    );
    let svg = fs::read_to_string(folder.0.join("figure.svg")).expect("is drawn");
    assert!(!svg.contains("fill-opacity"), "no ellipse over the senders of one run: {svg}");
}

/// One flow, whose ACKs cross a link as well.
const THERE_AND_BACK: &str = r#"
duration = "4 s"
warm_up = "1 s"
[[link]]
name = "data"
from = "server"
to = "phone"
rate = "8 Mbps"
delay = "20 ms"
[[link]]
name = "return"
from = "phone"
to = "server"
rate = "8 Mbps"
delay = "20 ms"
[[flow]]
path = ["data"]
back = ["return"]
rtt = "40 ms"
controller = "scheme"
traffic = { on = "always" }
"#;

/// Two networks of [`THERE_AND_BACK`], and the mean over both.
const MEANS: &str = r#"
[experiment]
runs = 1
figure = ["throughput-delay", "means", "rate-and-delay"]
x = "delay_95"
y = "received"
mean = "both"
columns = ["received", "delay_95", "queued_95", "queued_within"]
reference = "Vegas"
[[experiment.scheme]]
name = "Vegas"
controller = "vegas"
[[experiment.scheme]]
name = "Cubic"
controller = "cubic"
paper = { speedup = 0.5, received = 3 }
[[experiment.variant]]
name = "fast"
[[experiment.variant]]
name = "slow"
set = { "link.data.rate" = "4 Mbps" }
"#;

#[test]
fn the_mean_over_variants_is_shown_beside_the_papers_numbers() {
    let plan = plan(&format!("{THERE_AND_BACK}{MEANS}"), &Options::default());
    let folder = Folder::new("means");
    work(&folder, &plan, 2, u64::MAX);
    let results = Results::load(&folder.0).expect("can be read");
    assert_eq!(results.variants, ["both", "fast", "slow"]);
    let value = |variant: &str, scheme: &str, key: &str| {
        let is = |one: &&exm_experiment::CaseResult| one.variant == variant && one.scheme == scheme;
        results.cases.iter().find(is).expect("is shown").own.values[key]
    };
    for (key, scheme) in [("received", "Cubic"), ("delay_95", "Cubic"), ("received", "Vegas")] {
        let both = (value("fast", scheme, key) + value("slow", scheme, key)) / 2.0;
        assert!((value("both", scheme, key) - both).abs() < 1e-9, "{key} of {scheme}");
    }
    // Cubic fills an unlimited queue; both fill the link.
    assert!((value("fast", "Cubic", "received") - 8.0).abs() < 0.01);
    assert!(value("fast", "Cubic", "queued_95") > value("fast", "Cubic", "delay_95") - 20.1);
    assert!(value("fast", "Cubic", "queued_within") < 50.0);
    assert!(value("fast", "Vegas", "queued_within") > 99.0);
    let ratios = |variant: &str| {
        let is = |one: &&exm_experiment::Comparison| one.variant == variant;
        let one = results.comparisons.iter().find(is).expect("is shown");
        (one.speedup.expect("is measured"), one.delay_reduction.expect("is measured"))
    };
    let [both, fast, slow] = ["both", "fast", "slow"].map(ratios);
    assert!((both.0.ours - (fast.0.ours + slow.0.ours) / 2.0).abs() < 1e-9);
    let means = value("both", "Cubic", "delay_95") / value("both", "Vegas", "delay_95");
    assert!((both.1.ours - means).abs() < 1e-9);
    assert_eq!((both.0.paper, fast.0.paper, slow.0.paper), (Some(0.5), None, None));
    let lead = |variant: &str| {
        let is = |one: &&exm_experiment::Comparison| one.variant == variant;
        results.comparisons.iter().find(is).and_then(|one| one.lead).expect("is measured")
    };
    let leads = ["both", "fast", "slow"].map(lead);
    let expected = value("slow", "Vegas", "objective") - value("slow", "Cubic", "objective");
    assert!((leads[2].ours - expected).abs() < 1e-9);
    assert!((leads[0].ours - (leads[1].ours + leads[2].ours) / 2.0).abs() < 1e-9);
    assert_eq!(results.paper.len(), 1, "the papers' numbers are shown beside the mean only");
    assert_eq!((results.paper[0].variant.as_str(), results.paper[0].paper), ("both", 3.0));
    let pictures: Vec<&str> = results.pictures.iter().map(|one| one.file.as_str()).collect();
    let expected = [
        "figure",
        "figure-slow",
        "figure-means",
        "figure-rate-and-delay",
        "figure-rate-and-delay-slow",
    ];
    assert_eq!(pictures, expected);
}

#[test]
fn more_runs_continue_from_fewer() {
    let plan_of = |runs| plan(FILE, &Options { runs: Some(runs), ..Options::default() });
    let folder = Folder::new("more");
    work(&folder, &plan_of(2), 2, u64::MAX);
    let (_, rows) = Store::open(&folder.0, &plan_of(6), false).expect("is the same experiment");
    assert_eq!(rows.len(), 4);
    let (_, rows) = Store::open(&folder.0, &plan_of(1), false).expect("is the same experiment");
    assert_eq!(rows.len(), 2);
}

#[test]
fn runs_of_other_configurations_are_rejected() {
    let folder = Folder::new("stale");
    let path = folder.0.join("runs.jsonl");
    work(&folder, &plan(FILE, &Options::default()), 2, u64::MAX);
    let refusal = |plan: &Plan| match Store::open(&folder.0, plan, false) {
        Err(error @ StoreError::Stale { .. }) => error.to_string(),
        other => panic!("{:?}", other.map(|(_, rows)| rows.len())),
    };
    let seed = plan(FILE, &Options { seed: Some(2), ..Options::default() });
    assert!(refusal(&seed).contains("with another scenario, seed or duration"));
    let queue = plan(&FILE.replace("codel", "pie"), &Options::default());
    assert!(refusal(&queue).contains("\"Cubic\" with another table, trace or setting"));
    let same = plan(FILE, &Options::default());
    let (store, rows) = Store::open(&folder.0, &same, false).expect("is the same");
    assert_eq!(rows.len(), 12);
    assert!(matches!(Store::open(&folder.0, &same, false), Err(StoreError::Busy { .. })));
    drop(store);
    fs::write(&path, "what\nis this?\n").expect("can write");
    assert!(refusal(&same).contains("holds no runs of an experiment"));
    assert!(Store::open(&folder.0, &same, true).expect("is made anew").1.is_empty());
}

#[test]
fn invalid_results_are_rejected() {
    let folder = Folder::new("none");
    let refusal = |text: &str| {
        fs::write(folder.0.join("results.json"), text).expect("can write");
        Results::load(&folder.0).unwrap_err().to_string()
    };
    let of = |version: u32| {
        format!("{{\"format\":\"exmachina-results\",\"version\":{version},\"program\":\"0.0.1\"}}")
    };
    assert!(refusal("{").contains("holds no results of an experiment"));
    assert!(refusal(&of(0)).contains("format 0 of exm 0.0.1"), "{}", refusal(&of(0)));
    assert!(refusal(&of(1)).contains("is damaged"));
    fs::remove_file(folder.0.join("results.json")).expect("is there");
    assert!(Results::load(&folder.0).unwrap_err().to_string().starts_with("cannot read"));
}

#[test]
fn a_changed_trace_or_table_is_another_configuration() {
    let folder = Folder::new("inputs");
    let text = FILE
        .replace("rate = \"5 Mbps\"", "trace = \"a.trace\"")
        .replace("controller = \"cubic\"", "controller = \"a.json\"");
    let opened = |trace: &str, window: f64| {
        fs::write(folder.0.join("a.trace"), trace).expect("can write");
        let experiment = Experiment::parse(&text, "two.toml", &folder.0).expect("is valid");
        let action = Action { increment: 1, multiple: window, intersend_ms: 1.0 };
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
        let options = Options { runs: Some(1), ..Options::default() };
        let plan = Plan::new(experiment, &options, &mut |_, _| Ok(RemyCc::new(&table).into()));
        let plan = plan.expect("is valid");
        let (store, rows) = Store::open(&folder.0, &plan, false)?;
        let watch = After(u64::MAX, AtomicU64::new(0));
        exm_experiment::run(&plan, store, rows, &watch)
    };
    assert_eq!(opened("1\n2\n3\n", 1.0).expect("is new").len(), 2);
    assert!(opened("1\n2\n3\n", 1.0).is_ok());
    assert!(matches!(opened("1\n1\n3\n", 1.0), Err(RunError::Store(StoreError::Stale { .. }))));
    assert!(matches!(opened("1\n2\n3\n", 0.5), Err(RunError::Store(StoreError::Stale { .. }))));
}

/// Two schemes for [`THERE_AND_BACK`].
const TWO: &str = r#"
[experiment]
runs = 6
[[experiment.scheme]]
name = "Reno"
controller = "reno"
[[experiment.scheme]]
name = "Cubic"
controller = "cubic"
"#;

/// A backend that simulates. Its runs wait at a barrier for a number of others, and one scheme fails.
struct Together(Barrier, &'static str);

impl Backend for Together {
    fn twin(&self, case: &Case) -> Result<SimulatedTwin, String> {
        let network = case.network.clone();
        Ok(SimulatedTwin::new(move |seed| {
            let later = Span::from_millis(200 + seed % 100);
            let alike = network.clone().changed(|_, flows| flows[0].extra_delay += later);
            alike.expect("is valid")
        }))
    }

    fn run(
        &self,
        case: &Case,
        seed: u64,
        _step: Option<Span>,
        _is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, BackendError> {
        self.0.wait();
        let scheme = case.scheme_name().to_owned();
        if scheme == self.1 {
            return Err(BackendError { scheme, source: "there is none".into() });
        }
        let report = exm_sim::engine::run(&case.network, seed);
        Ok(Some(Measured { timelines: vec![None; report.flows.len()], report }))
    }
}

/// The requested number of live runs is executed at once, and they are shown beside simulations that
/// differ from one another as live runs do; a failing run ends the others.
#[test]
fn live_runs_are_executed_at_once() {
    let live = |at_once: usize, missing: &'static str| {
        let folder = Folder::new(&format!("live-{at_once}"));
        let backend = Together(Barrier::new(at_once), missing);
        let experiment = plan(&format!("{THERE_AND_BACK}{TWO}"), &Options::default());
        let plan = experiment.live(&backend).expect("all can be run");
        let (store, rows) = Store::open(&folder.0, &plan, false).expect("can be opened");
        let live =
            Live { backend: &backend, at_once: NonZeroUsize::new(at_once).expect("not zero") };
        let watch = After(u64::MAX, AtomicU64::new(0));
        let rows = exm_experiment::run_live(&plan, store, rows, &watch, live)?;
        let results = exm_experiment::write(&folder.0, &plan, &rows, "exm".to_owned());
        Ok::<_, RunError>((rows.len(), results.expect("is written")))
    };
    let (count, results) = live(2, "").expect("can be made");
    // Of each scheme the throughput, the mean queueing delay and the delay of 95 % of the time.
    assert_eq!((count, results.simulated.len()), (12, 6));
    for one in &results.simulated {
        assert_ne!(one.live, one.simulated, "the networks differ");
        let [low, high] = one.range.expect("there is a range");
        assert!((low..high).contains(&one.simulated), "{one:?}");
    }
    let Err(RunError::Backend(error)) = live(1, "Cubic") else { panic!("it fails") };
    assert_eq!(error.to_string(), "Cubic cannot be run live: there is none");
}
