//! How soon a letter is on the screen, and what it costs, with Mosh's own ends and with ours.
//!
//! Real processes are measured: a client in a pseudo-terminal, a server that runs `cat` or a shell, and between them a relay that
//! delays and loses datagrams. All pairs and all scenarios run at the same time, as they sleep most of the time; what needs a processor (Ctrl-C, floods,
//! emulation) runs afterwards, one pair at a time. The times are those from the write of a key to the client's terminal to the
//! moment at which a terminal that shows the client's output has it at its place.
//!
//! `cargo bench -p exm-mosh --bench latency -- [OPTIONS]`, after `cargo build -p exm`:
//!
//! | option | meaning |
//! |---|---|
//! | `--exm FILE` | our program; else `$EXM`, `target/release/exm`, `target/demo/exm` or `target/debug/exm` |
//! | `--pairs A,B` | of `original`, `ours`, `our-client`, `our-server` (the other end is Mosh's) |
//! | `--scenarios A,B` | of `rtt100`, `loss29`, `rtt500`, `adaptive`, `bash`, `vim`, `less`, `slow`, `rtt30`, `rtt250`, `slow-lossy`, `ctrl-c`, `flood-yes`, `flood-redraw`, `flood-counter`, `emulation` |
//! | `--letters N` | letters of a scenario: 150, at most 700, 200 ms apart |
//! | `--runs N` | how often Ctrl-C is typed: 20 |
//! | `--megabytes N` | output of the scenario `emulation`: 100 |
//! | `--seed N` | of the losses |
//! | `--json` | print JSON |
//!
//! `up` is from client to server. Bytes count the headers of IPv4 and UDP. `corrected` is the share of letters that were shown and then replaced.
//! The scenarios `bash`, `vim` and `less` type to programs with adaptive predictions, and compare each screen with that of the program in a terminal: `letters`
//! are the keys that the program repeats at the cursor, `keys` all that change the screen, and `corrected` is the share of all keys after which something was
//! shown that is neither what was there before nor what the program shows; $EXM_MOSH_SHOW prints each key.
//! `anon` is the part of a process's memory that is not in files.

#[cfg(target_os = "linux")]
#[path = "latency/editing.rs"]
mod editing;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the tests of the program need more of it")]
#[path = "latency/ends.rs"]
mod ends;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the tests of the program need more of it")]
#[path = "latency/relay.rs"]
mod relay;
#[cfg(target_os = "linux")]
#[path = "latency/scenarios.rs"]
mod scenarios;

#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the tests of the program need more of it")]
#[path = "latency/view.rs"]
mod view;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    if let Err(error) = linux::run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::Options;

#[cfg(target_os = "linux")]
mod linux {
    use crate::ends::Pair;
    use crate::scenarios::{Kind, MOST_LETTERS, Row, SCENARIOS, Scenario, measure, write_files};
    use std::io;
    use std::path::{Path, PathBuf};
    use std::thread;

    /// What is measured.
    pub(crate) struct Options {
        exm: Option<PathBuf>,
        pairs: Vec<String>,
        scenarios: Vec<String>,
        pub(crate) letters: usize,
        pub(crate) runs: usize,
        pub(crate) megabytes: usize,
        pub(crate) seed: u64,
        is_json: bool,
    }

    impl Options {
        fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
            let list = |text: &str| text.split(',').map(str::to_owned).collect();
            let mut options = Options {
                exm: std::env::var_os("EXM").map(PathBuf::from),
                pairs: list("original,ours,our-client,our-server"),
                scenarios: SCENARIOS.iter().map(|scenario| scenario.name.to_owned()).collect(),
                letters: 150,
                runs: 20,
                megabytes: 100,
                seed: 1,
                is_json: false,
            };
            while let Some(option) = arguments.next() {
                if option == "--json" {
                    options.is_json = true;
                    continue;
                }
                // What cargo itself says.
                if option == "--bench" {
                    continue;
                }
                let value = arguments.next().ok_or(format!("{option} needs a value"))?;
                let number =
                    || value.parse::<usize>().map_err(|_| format!("{option}: not a number"));
                match option.as_str() {
                    "--exm" => options.exm = Some(value.into()),
                    "--pairs" => options.pairs = list(&value),
                    "--scenarios" => options.scenarios = list(&value),
                    "--letters" => options.letters = number()?.min(MOST_LETTERS),
                    "--runs" => options.runs = number()?,
                    "--megabytes" => options.megabytes = number()?,
                    "--seed" => options.seed = number()? as u64,
                    _ => return Err(format!("there is no option {option}")),
                }
            }
            Ok(options)
        }

        /// Our program.
        fn exm(&self) -> PathBuf {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
            let target = target.unwrap_or_else(|| root.join("target"));
            let mut built =
                ["release", "demo", "debug"].iter().map(|name| target.join(name).join("exm"));
            let default = || built.find(|path| path.exists()).unwrap_or_else(|| "exm".into());
            self.exm.clone().unwrap_or_else(default)
        }
    }

    pub(crate) fn run() -> io::Result<()> {
        let options = Options::parse(std::env::args().skip(1)).map_err(io::Error::other)?;
        let exm = options.exm();
        let pair = |name: &String| {
            Pair::of(name, &exm).ok_or_else(|| io::Error::other(format!("there is no pair {name}")))
        };
        let pairs: Vec<Pair> = options.pairs.iter().map(pair).collect::<io::Result<_>>()?;
        let folder = exm_testing::Folder::new("latency");
        write_files(&folder.0)?;
        let wanted =
            |scenario: &&Scenario| options.scenarios.iter().any(|name| name == scenario.name);
        let (sleepers, others): (Vec<&Scenario>, Vec<&Scenario>) =
            SCENARIOS.iter().filter(wanted).partition(|scenario| {
                matches!(scenario.kind, Kind::Letters { .. } | Kind::Editing { .. })
            });
        let mut rows = Vec::new();
        thread::scope(|scope| {
            let mut running = Vec::new();
            for scenario in &sleepers {
                for pair in &pairs {
                    let (options, folder) = (&options, &folder.0);
                    let name = (scenario.name, pair.name);
                    running.push((name, scope.spawn(|| measure(scenario, pair, options, folder))));
                }
            }
            for (name, thread) in running {
                add(
                    &mut rows,
                    name,
                    thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked"))),
                );
            }
        });
        for scenario in &others {
            for pair in &pairs {
                let measured = measure(scenario, pair, &options, &folder.0);
                add(&mut rows, (scenario.name, pair.name), measured);
            }
        }
        print!("{}", if options.is_json { json(&rows) } else { table(&rows) });
        Ok(())
    }

    /// Adds what was measured, or says why it was not.
    fn add(rows: &mut Vec<Row>, name: (&str, &str), measured: io::Result<Row>) {
        match measured {
            Ok(row) => rows.push(row),
            Err(error) => eprintln!("{} {}: {error}", name.0, name.1),
        }
    }

    /// A table of each scenario.
    fn table(rows: &[Row]) -> String {
        let mut text = String::new();
        let mut last = "";
        for row in rows {
            if row.scenario != last {
                let names: Vec<&str> = row.values.iter().map(|value| value.0.trim()).collect();
                text += &format!("\n| {} | {} |\n", row.scenario, names.join(" | "));
                text += &format!("|{}\n", "---|".repeat(names.len() + 1));
                last = row.scenario;
            }
            let values =
                row.values.iter().map(|(_, value, decimals)| format!("{value:.decimals$}"));
            text += &format!("| {} | {} |\n", row.pair, values.collect::<Vec<_>>().join(" | "));
        }
        text
    }

    /// An array of objects.
    fn json(rows: &[Row]) -> String {
        let object = |row: &Row| {
            let values = row.values.iter().map(|(name, value, _)| format!("\"{name}\": {value}"));
            let values = values.collect::<Vec<_>>().join(", ");
            format!(
                "  {{\"scenario\": \"{}\", \"pair\": \"{}\", {values}}}",
                row.scenario, row.pair
            )
        };
        format!("[\n{}\n]\n", rows.iter().map(object).collect::<Vec<_>>().join(",\n"))
    }
}
