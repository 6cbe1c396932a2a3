//! Scores as they are printed.

use crate::layout;
use exm_design::score::{Score, Scores, Trial};
use exm_design::{Layout, Model, Units};
use exm_measure::Estimate;
use exm_store::Columns;
use exm_store::counted;
use exm_units::Packets;
use serde::Serialize;
use std::fmt;

/// Scores of several contenders.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    model: Option<String>,
    objective: String,
    /// The units of throughput and RTT in scores and gaps.
    units: &'static str,
    host: &'static str,
    seed: u64,
    specimens: usize,
    /// The number of networks of the model, if it is a grid.
    grid: Option<usize>,
    omniscient: Omniscient,
    contenders: Vec<Row>,
    /// The network of each specimen.
    networks: Vec<NetworkRow>,
}

/// A network drawn from the model.
#[derive(Debug, Serialize)]
struct NetworkRow {
    rate_mbps: f64,
    rtt_ms: f64,
    senders: usize,
    /// None if it is unlimited.
    buffer_packets: Option<u64>,
    loss: f64,
    omniscient: f64,
}

/// A contender's results on one network.
#[derive(Debug, Serialize)]
struct TrialRow {
    relative: f64,
    score: f64,
    gap: f64,
    share: f64,
    rtt_ratio: Option<f64>,
    queueing_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Omniscient {
    score: f64,
    sum: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    score: Interval,
    /// Over the networks of a grid.
    sum: Option<Interval>,
    relative: Interval,
    gap: Interval,
    /// The difference from the first contender.
    difference: Option<Difference>,
    share: f64,
    rtt_ratio: Option<f64>,
    /// The mean score of each kind of senders by its own objective, if there are several.
    senders: Vec<(String, Option<f64>)>,
    /// Its results on each network, in their order.
    trials: Vec<TrialRow>,
}

/// A mean and the ends of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Serialize)]
struct Interval {
    mean: f64,
    interval: (f64, f64),
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Difference {
    mean: f64,
    interval: (f64, f64),
    excludes_zero: bool,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Interval {
        Interval { mean: estimate.mean, interval: estimate.interval() }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", plus_minus(self.mean, self.interval))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mean > 0.0 { "+" } else { "" };
        let text = |word: &str| format!("{sign}{} {word}", plus_minus(self.mean, self.interval));
        let is_same = self.mean == 0.0 && self.interval == (0.0, 0.0);
        f.write_str(&match (self.excludes_zero, self.mean > 0.0) {
            _ if is_same => "the same on every network".to_owned(),
            (true, true) => layout::good(&text("better")),
            (true, false) => layout::bad(&text("worse")),
            (false, _) => text("unsure"),
        })
    }
}

/// "-9.982 ±0.120".
fn plus_minus(mean: f64, (_, high): (f64, f64)) -> String {
    format!("{mean:.3} ±{:.3}", high - mean)
}

/// An estimate as text: "-9.982".
pub(crate) fn signed(estimate: &Estimate) -> String {
    format!("{:.3}", estimate.mean)
}

/// Half of its interval as text: "±0.120".
pub(crate) fn reach(estimate: &Estimate) -> String {
    format!("±{:.3}", estimate.reach())
}

impl Report {
    /// The report of `scores` on `model`.
    pub(crate) fn new(model: &Model, scores: &Scores) -> Report {
        let grid = scores.grid.map(|size| size as f64);
        Report {
            model: model.name().map(str::to_owned),
            objective: model.objectives(),
            units: units(model),
            host: scores.host.name(),
            seed: scores.seed,
            specimens: scores.specimens,
            grid: scores.grid,
            omniscient: Omniscient {
                score: scores.omniscient,
                sum: grid.map(|size| size * scores.omniscient),
            },
            contenders: scores
                .contenders
                .iter()
                .map(|score| Row::new(model, score, grid))
                .collect(),
            networks: networks(scores),
        }
    }

    /// The names of the columns, and their units.
    fn heading(&self) -> [Vec<&'static str>; 2] {
        let mut heading = vec![("", ""), ("relative", "points")];
        heading.extend([("gap", "points"), ("score", "points")]);
        if self.grid.is_some() {
            heading.push(("sum", "points"));
        }
        heading.extend([("share", "of equal"), ("RTT", "ratio")]);
        if self.contenders.len() > 1 {
            heading.push(("difference", "points"));
        }
        let (names, units) = heading.into_iter().unzip();
        [names, units]
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let mut cells = vec![row.name.clone(), row.relative.to_string()];
        cells.push(row.gap.to_string());
        cells.push(row.score.to_string());
        cells.extend(row.sum.map(|sum| sum.to_string()));
        cells.push(format!("{:.3}", row.share));
        cells.push(row.rtt_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}")));
        cells.extend(row.difference.map(|difference| difference.to_string()));
        cells
    }
}

impl Row {
    fn new(model: &Model, score: &Score, grid: Option<f64>) -> Row {
        let difference = |estimate: Estimate| Difference {
            mean: estimate.mean,
            interval: estimate.interval(),
            excludes_zero: estimate.excludes_zero(),
        };
        Row {
            name: score.name.clone(),
            score: score.score.into(),
            sum: grid.map(|size| score.score.scaled(size).into()),
            relative: score.normalised.into(),
            gap: Interval::from(score.to_omniscient),
            senders: match model.classes() {
                [_] => Vec::new(),
                classes => {
                    let names = classes.iter().map(|class| class.name.clone());
                    names.zip(score.classes.iter().copied()).collect()
                }
            },
            difference: score.difference.map(difference),
            share: score.share,
            rtt_ratio: score.rtt_ratio,
            trials: score.trials.iter().map(TrialRow::new).collect(),
        }
    }
}

/// The units in which the objective of `model` measures throughput and RTT.
fn units(model: &Model) -> &'static str {
    match model.objective().units {
        Units::Absolute => "packets/ms and 100 ms",
        Units::Relative => "each network's own rate and propagation RTT",
    }
}

fn networks(scores: &Scores) -> Vec<NetworkRow> {
    // What the omniscient score on a network is the same beside every contender.
    let omniscient = scores.contenders[0].trials.iter().map(|trial| trial.omniscient);
    let row = |(layout, omniscient): (&Layout, f64)| {
        let bottleneck = layout.bottleneck();
        NetworkRow {
            rate_mbps: bottleneck.rate.as_mbps(),
            rtt_ms: bottleneck.rtt.as_millis_f64(),
            senders: layout.senders(),
            buffer_packets: bottleneck.buffer.map(Packets::get),
            loss: bottleneck.loss.get(),
            omniscient,
        }
    };
    scores.networks.iter().zip(omniscient).map(row).collect()
}

impl TrialRow {
    fn new(trial: &Trial) -> TrialRow {
        TrialRow {
            relative: trial.normalised,
            score: trial.score,
            gap: trial.omniscient - trial.score,
            share: trial.share,
            rtt_ratio: trial.rtt_ratio,
            queueing_ms: trial.queueing_ms,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.model.as_deref().unwrap_or("the model");
        write!(f, "{name}: {} held-out specimens", self.specimens)?;
        if let Some(size) = self.grid {
            write!(f, " of its {}", counted(size, "network", "networks"))?;
        }
        writeln!(f, ", seed {}, host {}", self.seed, self.host)?;
        writeln!(f, "objective: {}, in {}", self.objective, self.units)?;
        if self.host != "bare" {
            writeln!(f, "throughput and share: user data, without headers")?;
        }
        writeln!(f, "relative: the same in each network's own rate and propagation RTT")?;
        writeln!(f, "gap: how much higher an omniscient sender would score\n")?;
        let mut columns = Columns::new(1);
        for line in self.heading() {
            columns.line(line.into_iter().map(str::to_owned));
        }
        for row in &self.contenders {
            columns.line(self.cells(row));
        }
        let best = |score: f64| format!("{score:.3}       ");
        let mut omniscient = vec!["omniscient".to_owned(), String::new(), best(0.0)];
        omniscient.push(best(self.omniscient.score));
        omniscient.extend(self.omniscient.sum.map(best));
        columns.line(omniscient);
        write!(f, "{}", layout::table(&columns))?;
        for row in self.contenders.iter().filter(|row| !row.senders.is_empty()) {
            write!(f, "\n{}, each kind of senders by its own objective:", row.name)?;
            for (index, (name, score)) in row.senders.iter().enumerate() {
                let score = score.map_or("-".to_owned(), |score| format!("{score:.3}"));
                write!(f, "{} {name} {score}", if index == 0 { "" } else { "," })?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
