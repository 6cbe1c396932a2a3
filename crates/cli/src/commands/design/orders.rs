//! Designs that another command asks for.

use super::args::DesignArgs;
use super::batch::{self, Member, Row};
use super::{Budget, held_out, seeds};
use crate::shell::{self, Failure};
use exm_design::{Model, SearchKind};
use exm_measure::Estimate;
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
    pub(crate) budget: Budget,
    pub(crate) seed: u64,
    /// With how many seeds from that one on; of several, `output` gets the best.
    pub(crate) seeds: u64,
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
    /// Whether it is the best of several seeds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_best: bool,
}

impl CarriedOut {
    pub(crate) fn steps(&self) -> u64 {
        self.row.steps
    }

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

/// Carries out `orders`, one after the other; designs that have a checkpoint go on from it.
pub(crate) fn carry_out(orders: &[Order], quiet: bool) -> Result<Vec<CarriedOut>, Failure> {
    let mut all = Vec::new();
    for (index, order) in orders.iter().enumerate() {
        if !quiet {
            let of = if orders.len() > 1 {
                format!(" ({} of {})", index + 1, orders.len())
            } else {
                String::new()
            };
            shell::tell(&format!("{}{of}\n", order.name));
        }
        all.extend(order.carry_out(quiet)?);
    }
    Ok(all)
}

impl Order {
    fn carry_out(&self, quiet: bool) -> Result<Vec<CarriedOut>, Failure> {
        let Order { model, seeds, .. } = self;
        let args = self.args(quiet);
        let members = match seeds {
            1 => vec![Member { name: self.name.clone(), args: args.clone(), model: model.clone() }],
            count => seeds::members(&args, model, *count)?,
        };
        let resume = members.iter().any(|one| one.args.files().checkpoint.is_file());
        let mut finished = batch::run(&DesignArgs { resume, ..args.clone() }, members, |_| Ok(()))?;
        let (best, scores) = match &mut finished[..] {
            [one] => {
                let scores = held_out(model, self.seed, one.specimens, vec![one.tables()])?;
                one.keep_score(&scores, 0)?;
                (None, scores)
            }
            several => {
                let chosen = seeds::choose(&args, model, several)?;
                (Some(chosen.best), chosen.scores)
            }
        };
        let carried = finished.iter().enumerate().map(|(index, one)| CarriedOut {
            seed: one.designer().seed(),
            row: Row::new(&args, one),
            held_out: scores.contenders[index].score,
            is_best: best == Some(index),
        });
        Ok(carried.collect())
    }
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
        DesignArgs {
            budget: self.budget.clone(),
            seed: Some(self.seed),
            search: Some(self.search),
            quiet,
            ..options.design
        }
    }
}
