//! `exm experiment design`: the tables that an experiment runs, designed again.

use crate::commands::design::{CarriedOut, Order, carry_out, cpu_time};
use crate::layout;
use crate::outputs::write_file;
use crate::shell::{Failure, Printing, note};
use crate::threads::Threads;
use crate::{complete, experiments, tables};
use exm_design::SearchKind;
use exm_experiment::{Experiment, SHIPPED, Scheme};
use exm_plugin::outside;
use exm_sim::builtin::Builtin;
use exm_store::Columns;
use exm_table::TableFile;
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The key of files that names tables.
const KEY: &str = "controller";
/// What stands there for the scheme's.
const SCHEME: &str = "scheme";

const EXAMPLES: &str = "\
A table file records the model, the search, its seed and the CPU time. The command designs each table
again from these, and writes it and its model into the folder, together with a copy of the experiment
that uses the new tables. Repeat the command to resume interrupted designs, or to extend them with a
larger --cpu.

Tables without a recorded model are left unchanged.

Examples:
  exm experiment design thesis-4-1 --out again
  exm experiment design thesis-4-1 --out longer --cpu 16min
  exm experiment run again/thesis-4-1.toml";

/// Design the tables that an experiment runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The experiment: a file, or the name of a shipped one
    #[arg(value_name = "EXPERIMENT", add = complete::experiments())]
    name: String,
    /// The folder of the tables
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// Spend this much CPU time on each design [default: the time recorded in its table]
    #[arg(long, value_name = "DURATION", value_parser = cpu_time)]
    cpu: Option<Span>,
    /// Show no progress
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

/// A table that is designed again.
struct Wanted {
    /// Its name in schemes.
    controller: String,
    /// The name of its file in the folder, without its ending.
    table: String,
}

#[derive(Serialize)]
struct Designed {
    experiment: PathBuf,
    designs: Vec<CarriedOut>,
    /// The tables left unchanged.
    kept: Vec<String>,
}

impl fmt::Display for Designed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        columns.line(["table", "seed", "rules", "CPU time", "held-out score"].map(str::to_owned));
        for one in &self.designs {
            columns.line([
                one.table().display().to_string(),
                one.seed.to_string(),
                one.rules().to_string(),
                format!("{:.0} s", one.cpu_seconds()),
                one.held_out.text(3),
            ]);
        }
        writeln!(f, "{}", layout::table(&columns))?;
        writeln!(
            f,
            "Run the experiment with them:\n  exm experiment run {}",
            self.experiment.display()
        )
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let experiment = experiments::load(&self.name)?;
        std::fs::create_dir_all(&self.out).map_err(|error| {
            Failure::new(format!("cannot make the folder {}: {error}", self.out.display()))
        })?;
        let mut orders: Vec<Order> = Vec::new();
        let (mut wanted, mut kept) = (Vec::new(), Vec::new());
        let text = source(&self.name)?;
        for (controller, file) in tables_of(&experiment, &text)? {
            match self.order(&controller, &file)? {
                None => {
                    note(&format!("{controller} records no model, and stays as it is"));
                    kept.push(controller);
                }
                Some((order, table)) => {
                    // One design may make several of the tables.
                    if orders.iter().all(|other| other.output != order.output) {
                        orders.push(order);
                    }
                    wanted.push(Wanted { controller, table });
                }
            }
        }
        if orders.is_empty() {
            let problem = format!("{} runs no table that records its model", self.name);
            return Err(
                Failure::usage(problem).with_tip("exm experiment list prints those that do")
            );
        }
        for order in &orders {
            write_file(&order.model_path, order.model.text().as_bytes())?;
        }
        let path = self.rewritten(&experiment, text, &wanted)?;
        let designs = carry_out(orders, self.quiet)?;
        self.printing.print(&Designed { experiment: path, designs, kept })?;
        Ok(ExitCode::SUCCESS)
    }

    /// The design that made `file`, called `controller`, and its name for the table; `None` if the file does not
    /// record them.
    fn order(
        &self,
        controller: &str,
        file: &TableFile,
    ) -> Result<Option<(Order, String)>, Failure> {
        let Some(model) = exm_design::model_of(file) else { return Ok(None) };
        let stem = stem(controller);
        // One of several tables is called MODEL.TABLE.
        let (base, table) = match model.tables() {
            [_] => (stem.clone(), stem),
            _ => (stem.split('.').next().unwrap_or(&stem).to_owned(), stem.clone()),
        };
        let of_table =
            file.provenance.cpu_seconds.map(|seconds| Span::from_millis_f64(seconds * 1e3));
        let Some(cpu) = self.cpu.or(of_table) else {
            let problem = format!("{controller} does not record how long its design took");
            return Err(Failure::usage(problem).with_tip("say how long to take: --cpu 3min"));
        };
        let search = file.provenance.search.as_deref().and_then(|search| search.parse().ok());
        let order = Order {
            name: base.clone(),
            model_path: self.out.join(format!("{base}.model.toml")),
            model,
            output: self.out.join(format!("{base}.json")),
            cpu,
            seed: file.provenance.seed.unwrap_or(1),
            search: search.unwrap_or(SearchKind::Evolve),
        };
        Ok(Some((order, table)))
    }

    /// Writes the experiment with the tables of the folder in place of its own, and returns its path.
    fn rewritten(
        &self,
        experiment: &Experiment,
        mut text: String,
        wanted: &[Wanted],
    ) -> Result<PathBuf, Failure> {
        for Wanted { controller, table } in wanted {
            for key in [KEY.to_owned(), format!("{KEY}\"")] {
                let named = |table: &str| format!("{key} = \"{table}\"");
                text = text.replace(&named(controller), &named(&format!("{table}.json")));
            }
        }
        let path = self.out.join(format!("{}.toml", experiment.name));
        write_file(&path, text.as_bytes())?;
        Ok(path)
    }
}

/// The tables that `experiment`, whose file has this `text`, names and that are at hand, each once.
fn tables_of(experiment: &Experiment, text: &str) -> Result<Vec<(String, TableFile)>, Failure> {
    let mut found: Vec<(String, TableFile)> = Vec::new();
    for name in controllers(text) {
        let is_known = found.iter().any(|(known, _)| known == name);
        if is_known
            || name == SCHEME
            || Builtin::name_in(name).is_some()
            || outside::is_outside(name)
        {
            continue;
        }
        let is_file = [".json", ".dna"].iter().any(|ending| name.ends_with(ending));
        let is_optional =
            |scheme: &Scheme| scheme.is_optional && scheme.controller.as_deref() == Some(name);
        match tables::for_controller(name, &experiment.folder().join(name)) {
            Ok(file) => found.push((name.to_owned(), file)),
            // It is another kind of transport, or may be missing.
            Err(_) if !is_file || experiment.schemes.iter().any(is_optional) => {}
            Err(problem) => return Err(Failure::new(problem)),
        }
    }
    Ok(found)
}

/// The values of all keys called `controller`, and of paths that end in it, in the text of a file.
fn controllers(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(KEY).filter_map(|(at, key)| {
        let rest = &text[at + key.len()..];
        let rest = rest.strip_prefix('"').unwrap_or(rest).trim_start().strip_prefix('=')?;
        let value = rest.trim_start().strip_prefix('"')?;
        Some(value.split_once('"')?.0)
    })
}

/// "learn-2x" of "tables/learn-2x.json".
fn stem(controller: &str) -> String {
    let name = Path::new(controller).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| controller.to_owned());
    let endings = [".json", ".dna"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stem.map_or_else(|| name.clone(), str::to_owned)
}

/// The text of the experiment called `name`.
fn source(name: &str) -> Result<String, Failure> {
    if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    std::fs::read_to_string(name)
        .map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_found_however_their_key_is_written() {
        let text = "controller = \"scheme\"\nset = { \"flow.a.controller\" = \"b\", controller=\"c\" }\n\
                    # a controller of people\ncontroller = 1";
        assert_eq!(controllers(text).collect::<Vec<_>>(), ["scheme", "b", "c"]);
    }

    #[test]
    fn a_table_is_called_by_the_name_of_its_file() {
        assert_eq!(stem("tables/learn-2x.json"), "learn-2x");
        assert_eq!(stem("diversity.delay"), "diversity.delay");
    }
}
