//! Runs: the same bytes on any number of threads, and however often they were interrupted.

use exm_experiment::{Experiment, Options, Plan, Results, Rows, Store, StoreError, Watch};
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use std::fs;
use std::path::{Path, PathBuf};
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

/// A folder of its own for the test `name`, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("exm-runs-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    /// The names and bytes of all files.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(&self.0).expect("the folder is there");
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
            .map(|(name, path)| (name, fs::read(path).expect("can be read")))
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Stops when so many runs have been made.
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
    let experiment = Experiment::parse(text, "two.toml", Path::new("")).expect("is sound");
    Plan::new(experiment, options, &mut |name, _| Err(format!("no {name}"))).expect("is sound")
}

/// Makes runs until so many are made, and the results where all are.
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
    let names: Vec<String> = whole.files().into_iter().map(|(name, _)| name).collect();
    let expected = [
        "figure-bars.png",
        "figure-bars.svg",
        "figure-sequence.png",
        "figure-sequence.svg",
        "figure-series.png",
        "figure-series.svg",
        "figure.png",
        "figure.svg",
        "links.csv",
        "links.parquet",
        "results.csv",
        "results.json",
        "results.parquet",
        "runs.jsonl",
    ];
    let is_made = |name: &&str| cfg!(feature = "parquet") || !name.ends_with(".parquet");
    assert_eq!(names, expected.into_iter().filter(is_made).collect::<Vec<_>>());
    assert!(whole.files() == threads.files(), "another number of threads gave other bytes");
    assert!(whole.files() == resumed.files(), "an interruption gave other bytes");
    let results = Results::load(&whole.0).expect("can be read");
    let ratio = results.comparisons[0].speedup.expect("both were measured");
    assert_eq!((ratio.paper, ratio.over_paper), (Some(1.5), Some(ratio.ours / 1.5)));
}

#[test]
fn more_runs_go_on_from_fewer() {
    let plan_of = |runs| plan(FILE, &Options { runs: Some(runs), ..Options::default() });
    let folder = Folder::new("more");
    work(&folder, &plan_of(2), 2, u64::MAX);
    let (_, rows) = Store::open(&folder.0, &plan_of(6), false).expect("is the same experiment");
    assert_eq!(rows.len(), 4);
    let (_, rows) = Store::open(&folder.0, &plan_of(1), false).expect("is the same experiment");
    assert_eq!(rows.len(), 2);
}

#[test]
fn runs_of_something_else_are_refused() {
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
fn results_that_are_none_are_refused() {
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
fn another_trace_or_table_of_the_same_name_is_another_configuration() {
    let folder = Folder::new("inputs");
    let text = FILE
        .replace("rate = \"5 Mbps\"", "trace = \"a.trace\"")
        .replace("controller = \"cubic\"", "controller = \"a.json\"");
    let opened = |trace: &str, window: f64| {
        fs::write(folder.0.join("a.trace"), trace).expect("can write");
        let experiment = Experiment::parse(&text, "two.toml", &folder.0).expect("is sound");
        let action = Action { increment: 1, multiple: window, intersend_ms: 1.0 };
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
        let options = Options { runs: Some(1), ..Options::default() };
        let plan = Plan::new(experiment, &options, &mut |_, _| Ok(RemyCc::new(&table).into()));
        let plan = plan.expect("is sound");
        let (store, rows) = Store::open(&folder.0, &plan, false)?;
        let watch = After(u64::MAX, AtomicU64::new(0));
        exm_experiment::run(&plan, store, rows, &watch)
    };
    assert_eq!(opened("1\n2\n3\n", 1.0).expect("is new").len(), 2);
    assert!(opened("1\n2\n3\n", 1.0).is_ok());
    assert!(matches!(opened("1\n1\n3\n", 1.0), Err(StoreError::Stale { .. })));
    assert!(matches!(opened("1\n2\n3\n", 0.5), Err(StoreError::Stale { .. })));
}
