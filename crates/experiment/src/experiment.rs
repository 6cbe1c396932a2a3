//! [`Experiment`]: the contents of an experiment's file.

mod reader;

use crate::edit::{Change, What};
use crate::file::File;
use crate::metric::{DELAY_REDUCTION, Metric, SPEEDUP};
use crate::omniscient;
use crate::sweep::{Point, Sweep};
use exm_grammar::{FileError, Offset, Source};
use exm_sim::scenario::{Scenario, is_synthetic};
use exm_units::Span;
use reader::Reader;
use std::path::{Path, PathBuf};
use toml::Table;

/// The most runs, which limits the memory for results.
pub const MAX_RUNS: u64 = 100_000;
/// The contents of an experiment's file: a scenario, and the schemes to run in it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name: that of the file, without extension.
    pub name: String,
    /// What it shows.
    pub title: Option<String>,
    /// Where it was published.
    pub source: Option<String>,
    /// Notes: differences from the paper, with reasons.
    pub notes: Vec<String>,
    /// The figures to draw.
    pub figures: Vec<FigureKind>,
    /// The metrics in the tables, in the order of their columns.
    pub columns: Vec<Metric>,
    /// The number of runs of each scheme.
    pub runs: u64,
    /// The averaging window of throughput where it is shown over time.
    pub window: Span,
    /// The delay metric of figures and ratios.
    pub x: Metric,
    /// The throughput metric of figures and ratios.
    pub y: Metric,
    /// The size of ellipses in figures, in standard deviations.
    pub sigma: f64,
    /// The axes of the paper's figure: the ranges of its delay and of its throughput.
    pub paper_axes: Option<[[f64; 2]; 2]>,
    /// The name of the mean over all variants, if it is shown.
    pub mean: Option<String>,
    /// The random seed.
    pub seed: u64,
    /// The schemes that all others are compared with.
    pub references: Vec<usize>,
    /// The metrics by which schemes are ranked over all variants.
    pub ranks: Vec<Metric>,
    /// The flows that schemes may harm.
    pub harm: Option<HarmTo>,
    /// The names of the flows that tables and pictures are of; empty for all.
    pub flows: Vec<String>,
    /// The schemes.
    pub schemes: Vec<Scheme>,
    /// The settings under which all schemes are run, each in turn; at least one.
    pub variants: Vec<Variant>,
    /// A key of the scenario that takes several values.
    pub sweep: Option<Sweep>,
    /// The scenario's tables.
    pub(crate) document: Table,
    /// The directory that relative paths start from.
    pub(crate) dir: PathBuf,
    pub(crate) text: Source,
}

/// Flows that schemes may harm, see [`Harm`](crate::Harm).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarmTo {
    /// The name of the group of flows.
    pub flow: String,
    /// The metrics by which it is measured.
    pub metrics: Vec<Metric>,
    /// The schemes beside which these flows have what they lose beside others.
    pub references: Vec<usize>,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// Throughput against delay.
    ThroughputDelay,
    /// The same, of the means over all variants.
    Means,
    /// Throughput and end-to-end delay over time, of the first run.
    RateAndDelay,
    /// Bytes delivered over time, of the first run.
    Sequence,
    /// A quantity over the values of the sweep.
    Sweep,
    /// Shares of the throughput by group of flows.
    Bars,
    /// Queue and window over time, of the first run.
    Series,
    /// The queue of the first link over time and the packets that it drops, scheme by scheme, of the first run.
    Queue,
    /// The throughput of each flow over time, of the first run.
    Convergence,
    /// The distribution of flow completion times.
    Distribution,
    /// The distribution of flow lengths, as the scenario's traffic draws them.
    FlowLengths,
    /// None: the results are shown in tables only.
    Table,
}

impl FigureKind {
    /// All kinds and their names in files.
    pub(crate) const NAMED: [(&'static str, FigureKind); 12] = [
        ("throughput-delay", FigureKind::ThroughputDelay),
        ("means", FigureKind::Means),
        ("rate-and-delay", FigureKind::RateAndDelay),
        ("sequence", FigureKind::Sequence),
        ("sweep", FigureKind::Sweep),
        ("bars", FigureKind::Bars),
        ("series", FigureKind::Series),
        ("queue", FigureKind::Queue),
        ("convergence", FigureKind::Convergence),
        ("distribution", FigureKind::Distribution),
        ("flow-lengths", FigureKind::FlowLengths),
        ("table", FigureKind::Table),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        let named = FigureKind::NAMED.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }
}

/// A scheme: a controller with its settings.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Its name.
    pub name: String,
    /// Its controller: a name, a table, or "omniscient" for senders that know the network; several are tables that were designed for one model with different seeds, and
    /// the scheme is measured by their means. None if the file's own are used.
    pub controllers: Vec<String>,
    /// The name of its queue discipline, if it differs from the file's.
    pub queue: Option<String>,
    /// Whether it is left out if its file is absent.
    pub is_optional: bool,
    /// The papers' numbers for it.
    pub paper: Vec<PaperNumber>,
    /// The values of the sweep that it was designed for.
    pub designed_for: Option<(f64, f64)>,
    /// The name shared by the schemes that a line joins with it.
    pub curve: Option<String>,
    /// The efficient frontier that it takes part in, if not in all.
    pub frontier: Option<String>,
    pub(crate) changes: Vec<Change>,
    /// The path of its controller, or else its name, in the file.
    pub(crate) place: Offset,
}

/// A number from a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperNumber {
    /// The group of flows that it is about; none for those that the scheme runs. For a ratio, its
    /// reference; none if it is to each.
    pub group: Option<String>,
    /// The name of a metric, or "speedup" or "delay_reduction".
    pub metric: String,
    /// One for each point of the sweep, or a single one for all.
    pub values: Vec<f64>,
}

/// Settings under which all schemes are run.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Their name; empty if there is only one variant.
    pub name: String,
    /// A note on them.
    pub note: Option<String>,
    pub(crate) changes: Vec<Change>,
}

impl Experiment {
    /// Reads the experiment in the file at `path`.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be read or is not an experiment.
    pub fn load(path: &Path) -> Result<Experiment, FileError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let source = Source { file: file.clone(), text: String::new() };
            source.error(None, format!("the experiment cannot be read: {error}"))
        })?;
        Experiment::parse(&text, &file, path.parent().unwrap_or(Path::new("")))
    }

    /// Parses the experiment `text` of the file called `file`; paths in it start from `dir`.
    ///
    /// # Errors
    /// [`FileError`] if it is not an experiment.
    pub fn parse(text: &str, file: &str, dir: &Path) -> Result<Experiment, FileError> {
        let source = Source { file: file.to_owned(), text: text.to_owned() };
        let scenario = Scenario::parse(text, file, dir)?;
        let parsed: File = toml::from_str(text).map_err(|error| source.parse_error(&error))?;
        let Some(table) = parsed.experiment else {
            let problem = "this is a scenario and no experiment: add a table [experiment] with a \
                           [[experiment.scheme]] for each scheme, or give it to exm simulate";
            return Err(source.error(None, problem));
        };
        let mut document: Table = text.parse().map_err(|error| source.parse_error(&error))?;
        document.remove("experiment");
        Reader { source: &source, dir }.experiment(table, scenario, document)
    }

    /// The folder that files it names are relative to.
    pub fn folder(&self) -> &Path {
        &self.dir
    }

    /// The points of the sweep; without a sweep, a single one that changes nothing.
    pub fn points(&self) -> Vec<Point> {
        self.sweep.as_ref().map_or_else(|| vec![Point::default()], |sweep| sweep.points.clone())
    }

    /// Whether its tables and pictures are of the flows called `name`.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        self.flows.is_empty() || self.flows.iter().any(|flow| flow == name)
    }

    /// Whether the metric called `key` is in its tables or figures.
    pub(crate) fn shows(&self, key: &str) -> bool {
        let mut numbers = self.schemes.iter().flat_map(|scheme| &scheme.paper);
        let of_harm = self.harm.iter().flat_map(|harm| &harm.metrics);
        self.columns.iter().chain(&self.ranks).chain(of_harm).any(|metric| metric.key == key)
            || self.sweep.as_ref().is_some_and(|sweep| sweep.y.key == key)
            || numbers.any(|number| number.metric == key)
    }

    /// The files that it names, which need not exist: tables and traces.
    pub fn files(&self) -> Vec<String> {
        let is_file = |name: &&String| name.ends_with(".json") || name.ends_with(".dna");
        let controllers = self.schemes.iter().flat_map(|scheme| &scheme.controllers);
        let mut files: Vec<String> = controllers.filter(is_file).cloned().collect();
        let mut document = self.document.clone();
        let links = crate::edit::members(&mut document, &["dumbbell", "link"]);
        let traces = links.into_iter().filter_map(|link| link.get("trace")?.as_str());
        let recorded = traces.filter(|name| !is_synthetic(name));
        files.extend(recorded.map(str::to_owned));
        files.sort();
        files.dedup();
        files
    }
}

impl Scheme {
    /// The change that has its flows run `controller`.
    pub(crate) fn runs(&self, controller: &str) -> Change {
        Change {
            what: What::Controller(omniscient::stand_in(controller).to_owned()),
            place: self.place,
        }
    }

    /// Its tables, if they are several designs.
    pub fn designs(&self) -> &[String] {
        if self.controllers.len() > 1 { &self.controllers } else { &[] }
    }

    /// Whether the papers compare it with a reference.
    fn is_compared(&self) -> bool {
        self.paper.iter().any(PaperNumber::is_ratio)
    }
}

impl PaperNumber {
    /// Whether it is a ratio to a reference.
    pub(crate) fn is_ratio(&self) -> bool {
        [SPEEDUP, DELAY_REDUCTION].contains(&self.metric.as_str())
    }
}

#[cfg(test)]
mod tests;
