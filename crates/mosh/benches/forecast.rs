//! Whether Sprout's forecast would pace a session better than its own rules, on links of varying rate.
//!
//! A client and a server made of `exm-ssp`, without sockets, over an emulated link that recorded or synthetic traces serve: 20 ms of
//! propagation each way, and drop-tail queues of 2 MB. A letter is typed every 200 ms on average and echoed, and beside it there may be a download.
//! Time is simulated, in steps of a millisecond; a seed gives the same figures each time.
//!
//! `cargo bench -p exm-mosh --bench forecast -- [OPTIONS]`:
//!
//! | option | meaning |
//! |---|---|
//! | `--traces FOLDER` | where `NAME.down` and `NAME.up` are; else `shared/data/traces` beside the repository |
//! | `--pairs A,B` | of the names of [`PAIRS`], or `DOWN:UP`, names of files in the folder |
//! | `--rules A,B` | of `mosh`, `ours`, `forecast`, `along` |
//! | `--loads A,B` | what is beside the letters, of `letters` (nothing), `stream`, `redraws`, `cubic` |
//! | `--seconds N` | how long a session is measured: 120, after 10 s |
//! | `--seeds N` | how many sessions: 5, each from another moment of the traces |
//!
//! Rules: `mosh` sends an instruction in half a round trip; `ours` is that of `exm mosh`; `forecast` sends what Sprout's forecast has room for, with
//! Sprout's heartbeats; `along` the same within 80 ms in place of 100, without heartbeats. Sprout's headers travel beside the datagrams and count as 40 bytes.
//!
//! Loads: `stream` is a download in the session's own side stream, `cubic` that of another program through the same queue, and `redraws` a program that draws all
//! of the screen, 1850 bytes that do not compress, all the time.
//!
//! Printed are means over the seeds, with the least and the most in brackets: milliseconds from key to echo; the download in kbit/s, or redraws a second; and what the session
//! sends down and up, in kbit/s. `p95 wins` counts the seeds with a lower 95 % than `ours`.

#[path = "forecast/end.rs"]
mod end;
#[path = "forecast/flow.rs"]
mod flow;
#[allow(dead_code, unused_imports, reason = "its tests are not run here")]
#[path = "../src/rtt.rs"]
mod rtt;
#[path = "forecast/rule.rs"]
mod rule;
#[path = "forecast/session.rs"]
mod session;
#[allow(dead_code, reason = "the product uses more of it")]
#[path = "../src/side.rs"]
mod side;
#[path = "forecast/states.rs"]
mod states;
#[path = "forecast/way.rs"]
mod way;

/// What `side.rs` knows channels as.
mod channels {
    pub(crate) use crate::states::Channels;
}

use end::Rule;
use exm_trace::Trace;
use exm_units::Span;
use session::{Figures, Links, Load, measure};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// The recorded pairs: name, down, up. Those of New York have no uplink of the same ride.
const PAIRS: [(&str, &str, &str); 8] = [
    ("verizon-lte", "Verizon-LTE-short.down", "Verizon-LTE-short.up"),
    ("tmobile-umts", "TMobile-UMTS-driving.down", "TMobile-UMTS-driving.up"),
    ("verizon-evdo", "Verizon-EVDO-driving.down", "Verizon-EVDO-driving.up"),
    ("att-lte", "ATT-LTE-driving.down", "ATT-LTE-driving.up"),
    ("nyc-3g", "NYC2018-3G-times-square.down", "NYC2018-3G-subway.up"),
    ("nyc-taxi", "NYC2019-taxi1.down", "Verizon-LTE-short.up"),
    ("nyc-home", "NYC2019-home1.down", "Verizon-LTE-short.up"),
    ("nyc-bus", "NYC2019-bus.down", "Verizon-LTE-short.up"),
];

struct Options {
    folder: PathBuf,
    pairs: Vec<String>,
    rules: Vec<Rule>,
    loads: Vec<Load>,
    seconds: u64,
    seeds: u64,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/traces");
        let mut options = Options {
            folder: root,
            pairs: PAIRS.iter().map(|pair| pair.0.to_owned()).collect(),
            rules: Rule::ALL.to_vec(),
            loads: Load::ALL.to_vec(),
            seconds: 120,
            seeds: 5,
        };
        while let Some(option) = arguments.next() {
            // What cargo itself says.
            if option == "--bench" {
                continue;
            }
            let value = arguments.next().ok_or(format!("{option} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{option}: not a number"));
            let names = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
            match option.as_str() {
                "--traces" => options.folder = value.into(),
                "--pairs" => options.pairs = names(),
                "--rules" => options.rules = picked(&names(), &Rule::ALL, Rule::name)?,
                "--loads" => options.loads = picked(&names(), &Load::ALL, Load::name)?,
                "--seconds" => options.seconds = number()?.max(1),
                "--seeds" => options.seeds = number()?.max(1),
                _ => return Err(format!("there is no option {option}")),
            }
        }
        Ok(options)
    }
}

/// Those of `all` that have one of `names`.
fn picked<T: Copy>(
    names: &[String],
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Vec<T>, String> {
    let one = |wanted: &String| {
        let found = all.iter().find(|value| name(**value) == wanted);
        found.copied().ok_or(format!("there is no {wanted}"))
    };
    names.iter().map(one).collect()
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1))?;
    println!("| traces | beside | rule | median | 95 % | 99 % | download | down | up | p95 wins |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for name in &options.pairs {
        let Some(links) = links(name, &options)? else {
            println!("{name}: skipped, as its traces are not in {}", options.folder.display());
            continue;
        };
        for &load in &options.loads {
            compare(name, &links, load, &options);
        }
    }
    Ok(())
}

/// The links of the pair `name`; none if there are no such files.
fn links(name: &str, options: &Options) -> Result<Option<Links>, String> {
    let known = PAIRS.iter().find(|pair| pair.0 == name).map(|pair| (pair.1, pair.2));
    let pair = known.or_else(|| name.split_once(':'));
    let (down, up) = pair.ok_or(format!("there is no pair {name}"))?;
    let (down, up) = (options.folder.join(down), options.folder.join(up));
    if !down.exists() || !up.exists() {
        return Ok(None);
    }
    let load = |file: &Path| Trace::load(file).map(Arc::new).map_err(|error| error.to_string());
    let duration = Span::from_secs(options.seconds);
    Ok(Some(Links { down: load(&down)?, up: load(&up)?, duration, seed: 0 }))
}

/// Prints a row for each rule.
fn compare(name: &str, links: &Links, load: Load, options: &Options) {
    let sessions = |rule| move |seed| measure(&Links { seed, ..links.clone() }, rule, load);
    let ours = in_parallel(options.seeds, sessions(Rule::Ours));
    for &rule in &options.rules {
        let figures = match rule {
            Rule::Ours => ours.clone(),
            _ => in_parallel(options.seeds, sessions(rule)),
        };
        let wins = figures.iter().zip(&ours).filter(|(rule, ours)| p95(rule) < p95(ours)).count();
        let echo = |share: f64| summary(&figures, |figures| quantile(&figures.echoes, share));
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} | {wins}/{} |",
            load.name(),
            rule.name(),
            echo(0.5),
            echo(0.95),
            echo(0.99),
            summary(&figures, |figures| figures.bulk),
            mean(&figures, |figures| figures.sent.0),
            mean(&figures, |figures| figures.sent.1),
            figures.len()
        );
    }
}

/// The figures of all seeds, each from a thread of its own.
fn in_parallel(seeds: u64, one: impl Fn(u64) -> Figures + Sync) -> Vec<Figures> {
    thread::scope(|scope| {
        let one = &one;
        let running: Vec<_> = (1..=seeds).map(|seed| scope.spawn(move || one(seed))).collect();
        running.into_iter().map(|session| session.join().expect("it does not panic")).collect()
    })
}

fn p95(figures: &Figures) -> f64 {
    quantile(&figures.echoes, 0.95)
}

/// The quantile of sorted values; 0 of none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).copied().unwrap_or(0.0)
}

fn mean(figures: &[Figures], value: impl Fn(&Figures) -> f64) -> f64 {
    figures.iter().map(value).sum::<f64>() / figures.len().max(1) as f64
}

/// The mean, the least and the most.
fn summary(figures: &[Figures], value: impl Fn(&Figures) -> f64) -> String {
    let values = figures.iter().map(&value);
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    format!("{:.0} [{least:.0}, {most:.0}]", mean(figures, value))
}
