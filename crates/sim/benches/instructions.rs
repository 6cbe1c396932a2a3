//! The number of instructions a packet costs, counted by valgrind and compared with the table in
//! `instructions.txt`: unlike times, counts do not depend on the load of the machine.
//!
//! `cargo bench -p exm-sim --no-default-features --bench instructions` fails if a count differs from
//! the table's by more than [`TOLERANCE`]; with `-- --renew` it rewrites the table. Counts are specific
//! to a compiler and an architecture: with others, or without valgrind, nothing is compared and the
//! skip is recorded.

mod workloads;

use exm_remy::{CompiledAction, Grid, Lookup, RuleTable, Signal};
use exm_sim::dumbbell::{self, Rules};
use exm_sim::engine;
use exm_sim::network::Network;
use exm_units::Span;
use std::fmt::Write;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use workloads::Senders;

/// The allowed difference of a count from the table's, as a fraction of the latter.
const TOLERANCE: f64 = 0.03;

/// What a workload runs once it is prepared. Returns how many packets (or lookups) it processed.
type Prepared = Box<dyn FnOnce() -> u64>;

/// Prepares a program, such as by reading its tables. Only what it then runs is counted.
type Workload = fn() -> Prepared;

const WORKLOADS: [(&str, Workload); 12] = [
    ("event engine, one rule, 8 senders", || one_rule(8, 400)),
    ("event engine, one rule, 32 senders", || one_rule(32, 400)),
    ("event engine, two bottlenecks", || simulate(workloads::two_bottlenecks(secs(100)))),
    ("event engine, beside reno over TCP", || simulate(workloads::beside_reno(secs(400)))),
    ("fast path, general-delta1, 2 senders", || fast_path(TWO)),
    ("fast path, general-delta1, 8 senders", || fast_path(eight(8))),
    ("TCP, reno, drop-tail", || tcp("reno", "drop-tail")),
    ("TCP, cubic, drop-tail", || tcp("cubic", "drop-tail")),
    ("TCP, bbr, drop-tail", || tcp("bbr", "drop-tail")),
    ("TCP, cubic, codel", || tcp("cubic", "codel")),
    ("TCP, cubic, fq-codel", || tcp("cubic", "fq-codel")),
    ("lookup, 129 rules", look_up),
];

/// The options that prepare a workload, and that prepare and run it, in the process that is counted.
const PREPARE: &str = "--prepare";
const RUN: &str = "--run";

const TWO: Senders = Senders { count: 2, packets_per_ms: 10.0, on_off_ms: 1000.0 };

/// The network of eight senders, of `count`.
const fn eight(count: usize) -> Senders {
    Senders { count, packets_per_ms: 1.25, on_off_ms: 5000.0 }
}

const fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

fn simulate(network: Network) -> Prepared {
    Box::new(move || engine::run(&network, 1).flows.iter().map(|flow| flow.delivered).sum())
}

fn one_rule(senders: usize, duration: u64) -> Prepared {
    simulate(eight(senders).network(&workloads::one_rule(), secs(duration)))
}

fn tcp(controller: &str, queue: &str) -> Prepared {
    simulate(workloads::tcp(controller, queue, secs(200)))
}

fn fast_path(senders: Senders) -> Prepared {
    let table = workloads::shipped("general-delta1");
    let actions: Vec<CompiledAction> =
        table.rules().iter().map(|rule| rule.action.compile()).collect();
    let grid = Grid::new(&table);
    let network = senders.dumbbell(secs((1e6 / senders.packets_per_ms / 1e3) as u64));
    Box::new(move || {
        let rules = Rules { grid: &grid, actions: &actions };
        dumbbell::run(&network, rules, 1).iter().map(|outcome| outcome.delivered).sum()
    })
}

fn look_up() -> Prepared {
    let grid = Grid::new(&many_rules());
    Box::new(move || find_rules(&grid))
}

/// Lookups of memories as in a flow, each near the previous one.
fn find_rules(grid: &Grid) -> u64 {
    const LOOKUPS: u64 = 1_000_000;
    let mut memory = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let (mut state, mut rule) = (1_u64, 0);
    for i in 0..LOOKUPS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let factor = 0.9 + (state >> 40) as f64 * (0.2 / (1 << 24) as f64);
        let signal = &mut memory[i as usize % 4];
        *signal = (*signal * factor).clamp(0.2, 500.0);
        rule = grid.find(black_box(&memory), rule);
    }
    black_box(rule);
    LOOKUPS
}

/// A table of 129 rules on the first four signals.
fn many_rules() -> RuleTable {
    let mut table = workloads::one_rule();
    for cut in 0..128_usize {
        let signal = Signal::ALL[cut % 4];
        let rule = cut * 7 % table.rules().len();
        let domain = table.rules()[rule].domain;
        let (lower, upper) = (domain.lower[signal.index()], domain.upper[signal.index()]);
        // Geometric midpoints: most memories are small.
        table.split(rule, signal, (lower.max(0.1) * upper).sqrt());
    }
    table
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [PREPARE, name] => prepare(name).map(|_| println!("0")),
        [RUN, name] => prepare(name).map(|prepared| println!("{}", prepared())),
        ["--renew", ..] => renew(),
        _ => compare(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prepares one workload.
fn prepare(name: &str) -> Result<Prepared, String> {
    let workload = WORKLOADS.iter().find(|(known, _)| *known == name);
    let (_, workload) = workload.ok_or_else(|| format!("there is no workload \"{name}\""))?;
    Ok(workload())
}

fn table_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt")
}

/// The compiler and architecture: only counts with the same ones are comparable.
fn compiler() -> Result<String, String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(&rustc).arg("--version").output();
    let output = output.map_err(|error| format!("cannot run {rustc} --version: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout);
    Ok(format!("{}, {}", version.trim(), std::env::consts::ARCH))
}

/// The instructions of one workload, per packet, without those that prepare it.
fn count(name: &str) -> Result<f64, String> {
    let (before, _) = count_run(PREPARE, name)?;
    let (all, packets) = count_run(RUN, name)?;
    Ok((all - before) / packets)
}

/// The instructions of this program with `option` and the workload `name`, and the packets that it processed.
fn count_run(option: &str, name: &str) -> Result<(f64, f64), String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find this program's path: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args([option, name])
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}"))?;
    let output_text = String::from_utf8_lossy(&output.stderr);
    let refs = output_text.lines().find_map(|line| line.split_once("I   refs:"));
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let instructions = refs.and_then(|(_, count)| digits(count).parse().ok());
    let packets = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    let counts = instructions.zip(packets).filter(|_| output.status.success());
    counts.ok_or_else(|| format!("valgrind reported no count for \"{name}\":\n{output_text}"))
}

fn renew() -> Result<(), String> {
    let mut text = format!(
        "# Instructions a packet, counted by valgrind; written by `make renew-instructions`.\n{}\n",
        compiler()?
    );
    for (name, _) in &WORKLOADS {
        let count = count(name)?;
        println!("{name:40} {count:8.1}");
        writeln!(text, "{name}: {count:.1}").expect("a string takes all");
    }
    let file = table_file();
    std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

fn compare() -> Result<(), String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        exm_testing::skip("instructions are not counted without valgrind");
        return Ok(());
    }
    let file = table_file();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let (counted_with, compiler) = (lines.next().unwrap_or_default(), compiler()?);
    if counted_with != compiler {
        exm_testing::skip(format_args!(
            "instructions were counted with {counted_with}, and this is {compiler}; `make \
             renew-instructions` counts with this one"
        ));
        return Ok(());
    }
    let table: Vec<(&str, f64)> = lines
        .filter_map(|line| line.rsplit_once(": "))
        .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
        .collect();
    let mut differ = 0;
    for (name, _) in &WORKLOADS {
        let count = count(name)?;
        let known = table.iter().find(|(known, _)| known == name).map(|&(_, count)| count);
        let change = known.map(|known| count / known - 1.0);
        let within = change.is_some_and(|change| change.abs() <= TOLERANCE);
        differ += usize::from(!within);
        let change =
            change.map_or("not in the table".to_owned(), |c| format!("{:+.1} %", 100.0 * c));
        let mark = if within { "" } else { "  <-- differs" };
        println!("{name:40} {count:8.1} instructions a packet, {change}{mark}");
    }
    if differ == 0 {
        return Ok(());
    }
    Err(format!(
        "{differ} counts differ from {} by more than {} %. Find out what costs more (callgrind \
         shows it); if it is justified, or if the count fell, rewrite the table with `make \
         renew-instructions`",
        file.display(),
        100.0 * TOLERANCE
    ))
}
