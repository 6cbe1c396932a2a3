//! `exm design --delta`: a table for each weight of delay, and the frontier of throughput and delay.

use super::args::DesignArgs;
use super::batch::{self, Member, Row};
use super::finished::Finished;
use super::{draw, held_out, spoken};
use crate::layout;
use crate::shell::Failure;
use exm_design::Model;
use exm_design::score::{Score, Scores, throughput_delay};
use exm_measure::figure::{self, Style};
use exm_measure::{Estimate, quantile};
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Designs a table for each delta, and compares them.
pub(super) fn run(args: &DesignArgs, model: &Model) -> Result<ExitCode, Failure> {
    let members = args.delta.iter().enumerate().map(|(index, &delta)| {
        if args.delta[..index].contains(&delta) {
            let problem = "each weight of delay can be given once";
            return Err(Failure::invalid_value(&delta.to_string(), "--delta", problem));
        }
        let model = model.with_delta(delta).map_err(|error| refused(delta, &error))?;
        let name = format!("delta {delta}");
        Ok(Member { name, args: args.of_one(&format!("delta{delta}")), model })
    });
    let members: Vec<Member> = members.collect::<Result<_, Failure>>()?;
    let check = |resumed: Option<&_>| args.check_common(None, resumed);
    let mut finished = batch::run(args, members, check)?;
    let specimens = batch::specimens(&finished);
    let mut scores = Vec::new();
    for one in &mut finished {
        // The networks are the same: delta changes none of them.
        let (model, seed) = (one.designer().model(), one.designer().seed());
        let own = held_out(model, seed, specimens, vec![one.tables()])?;
        one.keep_score(&own, 0)?;
        scores.push(own);
    }
    if args.clean {
        batch::clean(&finished)?;
    }
    if let Some(plot) = &args.plot {
        draw(plot, frontier(model, &args.delta, &scores))?;
    }
    args.printing.print(&Summary::new(args, &finished, &scores))?;
    Ok(ExitCode::SUCCESS)
}

fn refused(delta: f64, error: &dyn std::error::Error) -> Failure {
    let problem = error.to_string();
    Failure::invalid_value(&delta.to_string(), "--delta", &problem)
}

/// Throughput against queueing delay of the tables of all deltas, on the same networks, as an SVG file.
fn frontier(model: &Model, deltas: &[f64], scores: &[Scores]) -> String {
    let scheme = |(index, (delta, scores)): (usize, (&f64, &Scores))| figure::Scheme {
        frontiers: vec!["efficient frontier".to_owned()],
        ..scores.contenders[0].scheme(format!("delta {delta}"), Style::nth(index))
    };
    let networks = scores.first().map_or(0, |scores| scores.specimens);
    let figure = throughput_delay(
        format!("{}: a table for each delta", model.name().unwrap_or("RemyCCs")),
        format!("medians and quartiles over {networks} networks that no search met"),
        "Throughput and queueing delay of the table designed for each delta.".to_owned(),
        deltas.iter().zip(scores).enumerate().map(scheme).collect(),
    );
    figure.svg()
}

/// Finished designs for several deltas.
#[derive(Serialize)]
struct Summary {
    model: PathBuf,
    search: &'static str,
    seed: u64,
    /// Of all designs.
    cpu_seconds: f64,
    specimens: usize,
    host: &'static str,
    designs: Vec<DeltaRow>,
    picture: Option<PathBuf>,
}

#[derive(Serialize)]
struct DeltaRow {
    delta: f64,
    objective: String,
    #[serde(flatten)]
    row: Row,
    /// By its own objective.
    held_out: Estimate,
    gap: Estimate,
    share: Option<Quartiles>,
    queueing_ms: Option<Quartiles>,
}

/// Over networks.
#[derive(Serialize)]
struct Quartiles {
    lower: f64,
    middle: f64,
    upper: f64,
}

impl Quartiles {
    /// None where there are no values.
    fn of(values: impl Iterator<Item = f64>) -> Option<Quartiles> {
        let values: Vec<f64> = values.collect();
        let at = |part| quantile(&values, part);
        Some(Quartiles { lower: at(0.25)?, middle: at(0.5)?, upper: at(0.75)? })
    }
}

impl DeltaRow {
    fn new(args: &DesignArgs, delta: f64, finished: &Finished, score: &Score) -> DeltaRow {
        DeltaRow {
            delta,
            objective: finished.designer().model().objectives(),
            row: Row::new(args, finished),
            held_out: score.score,
            gap: score.to_omniscient,
            share: Quartiles::of(score.trials.iter().map(|trial| trial.share)),
            queueing_ms: Quartiles::of(score.trials.iter().filter_map(|trial| trial.queueing_ms)),
        }
    }
}

impl Summary {
    fn new(args: &DesignArgs, finished: &[Finished], scores: &[Scores]) -> Summary {
        let (first, designer) = (&scores[0], finished[0].designer());
        let designs = args.delta.iter().zip(finished.iter().zip(scores));
        Summary {
            model: args.model.clone(),
            search: designer.search().name(),
            seed: designer.seed(),
            cpu_seconds: finished.iter().map(|one| one.phases.sum()).sum(),
            specimens: first.specimens,
            host: first.host.name(),
            designs: designs
                .map(|(&delta, (one, s))| DeltaRow::new(args, delta, one, &s.contenders[0]))
                .collect(),
            picture: args.plot.clone(),
        }
    }
}

const NOTES: &str = "\
Scores and gaps are by the objective with that delta. share is throughput over the equal share of
the link, queueing the queueing delay: medians over the same networks for all.
";

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, cpu) = (self.designs.len(), spoken(self.cpu_seconds));
        writeln!(f, "Designed for {count} weights of delay in {cpu} of CPU time.\n")?;
        let mut columns = Columns::with_words(7..8);
        let heading =
            ["delta", "rules", "CPU time", "held-out score", "gap", "share", "queueing", "table"];
        columns.line(heading.map(str::to_owned));
        let middle = |quartiles: &Option<Quartiles>, decimals: usize, unit: &str| match quartiles {
            Some(quartiles) => format!("{:.decimals$}{unit}", quartiles.middle),
            None => "-".to_owned(),
        };
        for one in &self.designs {
            columns.line([
                one.delta.to_string(),
                one.row.rules.to_string(),
                spoken(one.row.cpu_seconds),
                one.held_out.text(3),
                one.gap.text(3),
                middle(&one.share, 3, ""),
                middle(&one.queueing_ms, 2, " ms"),
                one.row.table.display().to_string(),
            ]);
        }
        let Summary { specimens, seed, host, model, .. } = self;
        writeln!(f, "{}", layout::table(&columns))?;
        writeln!(f, "{NOTES}")?;
        writeln!(f, "networks  {specimens} that no search met, seed {seed}, host {host}")?;
        if let Some(picture) = &self.picture {
            writeln!(f, "picture   {}", picture.display())?;
        }
        let tables = self.designs.iter().map(|one| one.row.table.display().to_string());
        let tables: Vec<String> = tables.collect();
        writeln!(f, "\nNext:\n  exm score {} --model {}", tables.join(" "), model.display())
    }
}
