//! `exm design`: from a model of networks and an objective to a table of rules.

mod args;
mod batch;
mod budget;
mod display;
mod files;
mod finished;
mod finishing;
mod live;
mod log;
mod orders;
mod page;
mod picture;
mod plot;
mod run;
mod seeds;
mod single;
mod summary;
mod sweep;
mod watch;

pub(crate) use budget::{Budget, End, cpu_time, spoken};
pub(crate) use files::Files;
pub(crate) use orders::{CarriedOut, Order, carry_out};
pub(crate) use run::Run;

use crate::commands::{commands, score};
use crate::outputs::write_file;
use crate::pictures::Format;
use crate::shell::Failure;
use crate::shipped;
use args::DesignArgs;
use exm_design::score::{Contender, HeldOut, Scheme, Scores};
use exm_design::{Designer, Model};
use exm_remy::RuleTable;
use exm_table::Provenance;
use std::path::Path;
use std::process::ExitCode;
use watch::Watch;

const EXAMPLES: &str = "\
The same model, seed, search, start and number of steps give the same table, on any number of
threads and however often the design was interrupted. An interrupt (Ctrl-C) ends the design after
the current step and loses nothing: continue with --resume, which can also extend a finished design.

A design ends by hardening its tables, so that they neither fill queues nor starve on networks around
the model, and by checking and scoring them (exm help robust-tables). [robust] in the model limits the
cost of hardening. --cpu covers all of it: up to a quarter, but at most 5 minutes per table, is
reserved for the work after the search.

--seeds N runs a design with each of N seeds. Each has the whole budget and its own files: with
-o cc.json, cc.seed1.json and so on. The best table, which becomes cc.json, is selected on one set of
held-out networks, drawn with the seed after the last. Reported scores are from another set, drawn
with the first seed, so that the selection does not bias them. --plot draws the median of all
designs, and the range from the lowest to the highest.

--delta X,Y runs a design for each weight of delay. Each has the whole budget and its own files,
cc.delta0.1.json and so on. All tables are scored on the same held-out networks, each with its own
objective; --plot draws throughput against queueing delay, and the efficient frontier.

--live shows the search in a browser as it runs: scores against CPU time, a map of the rules that fire, and the
networks where the table does worst. What it simulates for that counts as CPU time, at most a twentieth.
--page keeps the page in the end.

Examples:
  exm design general-delta1 -o cc.json --cpu 10min
  exm design general-delta1 -o cc.json --cpu 10min --live --page cc.html
  exm design general-delta1 -o cc.json --cpu 1h --resume --plot cc.svg
  exm design general-delta1 -o cc.json --cpu 10min --seeds 5 --plot seeds.svg
  exm design general-delta1 -o cc.json --cpu 10min --delta 0.1,1,10 --plot frontier.svg
  exm design 1x -o 1x.dna --rules 32 --search paper --seed 7";

/// Design a rule table for a model of networks and an objective
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = "COMMAND", disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(flatten)]
    design: Option<DesignArgs>,
    #[command(subcommand)]
    command: Option<Command>,
}

commands! {
    /// The commands on designs.
    Command {
        Plot(plot),
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match (self.command, self.design) {
            (Some(command), _) => command.run(),
            (None, Some(args)) => design(args),
            (None, None) => Err(Failure::usage("there is no model to design a table for")),
        }
    }
}

/// Designs one table, or several, as `args` request.
fn design(mut args: DesignArgs) -> Result<ExitCode, Failure> {
    args.threads.start()?;
    let model = shipped::model(&args.model)?;
    if let Some(plot) = &args.plot {
        Format::of(plot, "--plot")?;
    }
    if args.live.is_some() || args.page.is_some() {
        args.watch = Watch::on();
    }
    if let Some(port) = args.live {
        live::serve(port, args.watch.clone())?;
    }
    let code = match args.seeds {
        Some(count) => seeds::run(&args, &model, count)?,
        None if !args.delta.is_empty() => sweep::run(&args, &model)?,
        None => args.design(model)?,
    };
    if let Some(path) = &args.page {
        write_file(path, page::page(&args.watch.designs())?.html().as_bytes())?;
    }
    Ok(code)
}

/// Writes the picture `svg` to `path`, in the format that its name asks for.
fn draw(path: &Path, svg: String) -> Result<(), Failure> {
    write_file(path, &Format::of(path, "--plot")?.encode(svg)?)
}

/// Scores finished `tables`, those of one design in each element, on held-out networks drawn with
/// `seed`.
pub(crate) fn held_out(
    model: &Model,
    seed: u64,
    specimens: usize,
    tables: Vec<Vec<RuleTable>>,
) -> Result<Scores, Failure> {
    let contender = |tables| Contender { name: "table".into(), scheme: Scheme::Tables(tables) };
    let contenders: Vec<Contender> = tables.into_iter().map(contender).collect();
    let on = HeldOut { seed, specimens, host: model.design().host };
    score::held_out(model, &on, &contenders)
}

/// The provenance of `table`, number `index` of those that `designer` made by `command`.
pub(crate) fn provenance(
    designer: &Designer,
    index: usize,
    table: &RuleTable,
    command: String,
) -> Provenance {
    Provenance {
        program: Some(format!("exm {}", env!("CARGO_PKG_VERSION"))),
        command: Some(command),
        ..designer.provenance(index, table)
    }
}
