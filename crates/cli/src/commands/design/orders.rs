//! Designs that another command asks for.

use super::args::DesignArgs;
use super::batch::{self, Member, Row};
use super::held_out;
use crate::shell::{self, Failure};
use exm_design::{Model, SearchKind};
use exm_measure::Estimate;
use exm_units::Span;
use serde::Serialize;
use std::path::PathBuf;

/// A design that a command asks for, with the defaults of `exm design` for all else.
pub(crate) struct Order {
    /// What it is called while it goes on.
    pub(crate) name: String,
    /// The file of its model.
    pub(crate) model_path: PathBuf,
    pub(crate) model: Model,
    /// The file of its table, or of its tables as `exm design -o` has it.
    pub(crate) output: PathBuf,
    pub(crate) cpu: Span,
    pub(crate) seed: u64,
    pub(crate) search: SearchKind,
}

/// A design that has been carried out.
#[derive(Serialize)]
pub(crate) struct CarriedOut {
    pub(crate) seed: u64,
    #[serde(flatten)]
    row: Row,
    /// On networks that its search has not met.
    pub(crate) held_out: Estimate,
}

impl CarriedOut {
    pub(crate) fn rules(&self) -> usize {
        self.row.rules
    }

    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.row.cpu_seconds
    }

    pub(crate) fn table(&self) -> &PathBuf {
        &self.row.table
    }
}

/// Carries out `orders`, one after the other; those that have a checkpoint go on from it.
pub(crate) fn carry_out(orders: Vec<Order>, quiet: bool) -> Result<Vec<CarriedOut>, Failure> {
    let designs = orders.into_iter().map(|order| {
        let seed = order.seed;
        let args = order.args(quiet);
        let resume = args.files().checkpoint.is_file();
        let args = DesignArgs { resume, ..args };
        (seed, Member { name: order.name, args, model: order.model })
    });
    let designs: Vec<(u64, Member)> = designs.collect();
    designs.into_iter().map(|(seed, member)| one(seed, &member, quiet)).collect()
}

fn one(seed: u64, member: &Member, quiet: bool) -> Result<CarriedOut, Failure> {
    let Member { name, args, model } = member;
    let designer = args.designer(model.clone())?;
    if !quiet {
        shell::tell(&format!("{name}: {}\n", args.output.display()));
    }
    let mut finished = args.search(designer)?;
    let scores = held_out(model, seed, finished.specimens, vec![finished.tables()])?;
    finished.keep_score(&scores, 0)?;
    let held_out = scores.contenders[0].score;
    Ok(CarriedOut { seed, row: batch::Row::new(args, &finished), held_out })
}

/// The options of `exm design`, without its program.
#[derive(clap::Parser)]
struct Options {
    #[command(flatten)]
    design: DesignArgs,
}

impl Order {
    fn args(&self, quiet: bool) -> DesignArgs {
        let words =
            ["exm".as_ref(), self.model_path.as_os_str(), "-o".as_ref(), self.output.as_os_str()];
        let options = <Options as clap::Parser>::parse_from(words);
        let DesignArgs { budget, .. } = options.design.clone();
        DesignArgs {
            budget: super::Budget { cpu: Some(self.cpu), ..budget },
            seed: Some(self.seed),
            search: Some(self.search),
            quiet,
            ..options.design
        }
    }
}
