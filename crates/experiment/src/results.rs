//! [`Results`]: what an experiment found, as it stands in `results.json`.

use crate::experiment::{Experiment, PaperNumber, Variant};
use crate::metric::{DELAY_REDUCTION, SPEEDUP};
use crate::plan::{Case, Plan, Skipped};
use crate::rows::RunRow;
use crate::store::Rows;
use crate::summary::{Sample, Summary};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of the file in a folder of results.
pub(crate) const FILE: &str = "results.json";
const FORMAT: &str = "exmachina-results";
/// The version of the format.
const VERSION: u32 = 1;
/// The metrics that have intervals.
const SURE: [&str; 2] = ["throughput", "queueing"];

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    format: String,
    version: u32,
    /// The version of the program.
    pub program: String,
    /// The command that makes them.
    pub command: String,
    /// The fingerprint of the configuration.
    pub hash: String,
    /// What chance was drawn from.
    pub seed: u64,
    /// How often each scheme was run.
    pub runs: u64,
    /// How much time each run simulated, as written.
    pub duration: String,
    /// The name of the experiment.
    pub experiment: String,
    /// What it shows.
    pub title: Option<String>,
    /// Where it was published.
    pub source: Option<String>,
    /// What differs from there, and why: of all, then of each of the settings.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The names of the metrics that tables tell.
    pub columns: Vec<String>,
    /// What is swept, with its unit.
    pub sweep: Option<String>,
    /// What was compared.
    pub schemes: Vec<SchemeInfo>,
    /// The names of the settings under which it was; one empty one where there are no others.
    pub variants: Vec<String>,
    /// The schemes that all others are compared with.
    pub references: Vec<String>,
    /// Each scheme under each of the settings at each point.
    pub cases: Vec<CaseResult>,
    /// Each reference over each other scheme.
    pub comparisons: Vec<Comparison>,
    /// Other numbers of the papers, beside ours.
    pub paper: Vec<Beside>,
    /// Schemes that were left out.
    pub skipped: Vec<Skipped>,
    /// The files of its pictures, and what each shows.
    pub pictures: Vec<Picture>,
}

/// What was compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeInfo {
    /// Its name.
    pub name: String,
    /// What ran its senders.
    pub controller: Option<String>,
    /// Its queue discipline, where it had its own.
    pub queue: Option<String>,
    /// Whether it is a computed controller.
    pub is_computed: bool,
}

/// A scheme under some settings at a point of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The settings.
    pub variant: String,
    /// The point; empty where nothing is swept.
    pub point: String,
    /// The scheme.
    pub scheme: String,
    /// The flows that the scheme ran.
    pub own: Summary,
    /// Each group of flows, where there are several.
    pub groups: Vec<GroupResult>,
}

/// A group of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// Its name.
    pub name: String,
    /// Whether the scheme ran it.
    pub is_own: bool,
    /// What it got.
    pub summary: Summary,
}

/// How much better the reference is than a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The settings.
    pub variant: String,
    /// The point.
    pub point: String,
    /// The reference.
    pub reference: String,
    /// The scheme it is compared with.
    pub scheme: String,
    /// The reference's median throughput over the scheme's.
    pub speedup: Option<Ratio>,
    /// The scheme's median queueing delay over the reference's.
    pub delay_reduction: Option<Ratio>,
}

/// A ratio of ours, and the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Ours.
    pub ours: f64,
    /// Its 95 % interval, by a bootstrap over runs, whose traffic both share.
    pub interval: Option<[f64; 2]>,
    /// The paper's.
    pub paper: Option<f64>,
    /// Ours over the paper's.
    pub over_paper: Option<f64>,
}

/// A number of a paper beside ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The settings.
    pub variant: String,
    /// The point.
    pub point: String,
    /// The scheme.
    pub scheme: String,
    /// The group of flows, where it is not of those that the scheme ran.
    pub group: Option<String>,
    /// The name of the metric.
    pub metric: String,
    /// Ours; nothing where nothing was measured.
    pub ours: Option<f64>,
    /// The paper's.
    pub paper: f64,
    /// Ours over the paper's.
    pub over_paper: Option<f64>,
}

/// A picture in the folder of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The name of its file, without ".svg" or ".png".
    pub file: String,
    /// What it shows.
    pub title: String,
}

/// Why a folder shows no results.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("{} {problem}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Results {
    /// What the runs `rows` of `plan` found, made by `command`.
    pub fn new(plan: &Plan, rows: &Rows, command: String) -> Results {
        let experiment = &plan.experiment;
        let schemes = experiment.schemes.iter().enumerate().map(|(index, scheme)| SchemeInfo {
            name: scheme.name.clone(),
            controller: scheme.controller.clone(),
            queue: scheme.queue.clone(),
            is_computed: plan.cases.iter().any(|case| case.scheme == index && case.is_computed()),
        });
        let references = experiment.references.iter();
        let finder = Finder { plan, rows };
        let cases: Vec<CaseResult> =
            (0..plan.cases.len()).into_par_iter().map(|case| finder.case(case)).collect();
        let pairs: Vec<(usize, usize)> = experiment
            .references
            .iter()
            .flat_map(|&reference| (0..plan.cases.len()).map(move |case| (reference, case)))
            .collect();
        let compared: Vec<Option<Comparison>> = pairs
            .into_par_iter()
            .map(|(reference, case)| finder.comparison(reference, case))
            .collect();
        Results {
            format: FORMAT.to_owned(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            hash: plan.hash.to_string(),
            seed: plan.seed,
            runs: plan.runs,
            duration: plan.duration.to_string(),
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            notes: notes(experiment),
            columns: experiment.columns.iter().map(|column| column.key.to_owned()).collect(),
            sweep: experiment.sweep.as_ref().map(|sweep| sweep.title.clone()),
            schemes: schemes.collect(),
            variants: experiment.variants.iter().map(|variant| variant.name.clone()).collect(),
            references: references.map(|&index| experiment.schemes[index].name.clone()).collect(),
            paper: finder.beside(&cases),
            cases,
            comparisons: compared.into_iter().flatten().collect(),
            skipped: plan.skipped.clone(),
            pictures: Vec::new(),
        }
    }

    /// The results as they are kept.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("finite numbers are JSON") + "\n"
    }

    /// Reads the results in `folder`.
    ///
    /// # Errors
    /// [`ResultsError`] where there are none, or those of another version.
    pub fn load(folder: &Path) -> Result<Results, ResultsError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
            program: String,
        }
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ResultsError::Read { path, source }),
        };
        let other = |problem: String| ResultsError::Other { path: path.clone(), problem };
        let head: Head = serde_json::from_str(&text)
            .map_err(|error| other(format!("holds no results of an experiment: {error}")))?;
        if head.format != FORMAT {
            return Err(other("holds no results of an experiment".to_owned()));
        }
        if head.version != VERSION {
            return Err(other(format!(
                "holds results in format {} of exm {}, and this program reads format {VERSION}",
                head.version, head.program
            )));
        }
        serde_json::from_str(&text).map_err(|error| other(format!("is damaged: {error}")))
    }
}

impl Case {
    /// Whether a computed controller runs its flows.
    pub(crate) fn is_computed(&self) -> bool {
        let mut first = 0;
        self.scenario.flows.iter().zip(&self.is_own).any(|(group, &is_own)| {
            let flow = &self.network.flows()[first];
            first += group.count;
            is_own && flow.transport.controller().is_some_and(|cc| cc.as_remy().is_some())
        })
    }
}

/// Finds results in rows.
struct Finder<'a> {
    plan: &'a Plan,
    rows: &'a Rows,
}

impl Finder<'_> {
    fn sample(&self, case: usize, groups: Vec<bool>) -> Sample<'_> {
        Sample::new(rows_of(self.rows, case), &self.plan.cases[case], groups)
    }

    fn case(&self, number: usize) -> CaseResult {
        let (case, experiment) = (&self.plan.cases[number], &self.plan.experiment);
        let count = case.is_own.len();
        let group = |index: usize| GroupResult {
            name: case.scenario.flows[index].name.clone(),
            is_own: case.is_own[index],
            summary: self
                .sample(number, (0..count).map(|other| other == index).collect())
                .summary(self.plan.seed, &[]),
        };
        CaseResult {
            variant: experiment.variants[case.variant].name.clone(),
            point: experiment.points()[case.point].label.clone(),
            scheme: experiment.schemes[case.scheme].name.clone(),
            own: self.sample(number, case.is_own.clone()).summary(self.plan.seed, &SURE),
            groups: if count > 1 { (0..count).map(group).collect() } else { Vec::new() },
        }
    }

    /// The scheme `reference` over that of a case, at the same point with the same settings.
    fn comparison(&self, reference: usize, number: usize) -> Option<Comparison> {
        let (case, experiment) = (&self.plan.cases[number], &self.plan.experiment);
        if reference == case.scheme {
            return None;
        }
        let is_reference = |other: &Case| {
            (other.variant, other.point, other.scheme) == (case.variant, case.point, reference)
        };
        let base = self.plan.cases.iter().position(is_reference)?;
        let own = self.sample(number, case.is_own.clone());
        let base = self.sample(base, self.plan.cases[base].is_own.clone());
        let scheme = &experiment.schemes[case.scheme];
        let ratio = |key: &str, name: &str, is_inverse: bool| {
            let statistic = |runs: &[usize]| {
                let (own, base) = (own.value(key, runs)?, base.value(key, runs)?);
                let ratio = if is_inverse { own / base } else { base / own };
                ratio.is_finite().then_some(ratio)
            };
            let all: Vec<usize> = (0..self.plan.runs as usize).collect();
            let ours = statistic(&all)?;
            let number = scheme.paper.iter().find(|one| one.group.is_none() && one.metric == name);
            let paper = number.map(|number| number.at(case.point));
            Some(Ratio {
                ours,
                interval: own.interval(self.plan.seed, statistic),
                paper,
                over_paper: paper.map(|paper| ours / paper).filter(|ratio| ratio.is_finite()),
            })
        };
        Some(Comparison {
            variant: experiment.variants[case.variant].name.clone(),
            point: experiment.points()[case.point].label.clone(),
            reference: experiment.schemes[reference].name.clone(),
            scheme: scheme.name.clone(),
            speedup: ratio("throughput", SPEEDUP, false),
            delay_reduction: ratio("queueing", DELAY_REDUCTION, true),
        })
    }

    /// The papers' numbers, ratios to the reference left out, beside ours.
    fn beside(&self, results: &[CaseResult]) -> Vec<Beside> {
        let mut all = Vec::new();
        for (case, result) in self.plan.cases.iter().zip(results) {
            let scheme = &self.plan.experiment.schemes[case.scheme];
            let is_ratio = |number: &&PaperNumber| {
                [SPEEDUP, DELAY_REDUCTION].contains(&number.metric.as_str())
            };
            for number in scheme.paper.iter().filter(|number| !is_ratio(number)) {
                let of_group = |name: &String| {
                    let group = result.groups.iter().find(|group| group.name == *name);
                    group.map(|group| &group.summary)
                };
                let summary = number.group.as_ref().map_or(Some(&result.own), of_group);
                let ours = summary.and_then(|summary| summary.values.get(&number.metric)).copied();
                let paper = number.at(case.point);
                let over = ours.map(|ours| ours / paper).filter(|ratio| ratio.is_finite());
                all.push(Beside {
                    variant: result.variant.clone(),
                    point: result.point.clone(),
                    scheme: result.scheme.clone(),
                    group: number.group.clone(),
                    metric: number.metric.clone(),
                    ours,
                    paper,
                    over_paper: over,
                });
            }
        }
        all
    }
}

/// The notes of an experiment, and those of its variants with their names before them.
fn notes(experiment: &Experiment) -> Vec<String> {
    let of_variant =
        |variant: &Variant| Some(format!("{}: {}", variant.name, variant.note.as_ref()?));
    let variants = experiment.variants.iter().filter_map(of_variant);
    experiment.notes.iter().cloned().chain(variants).collect()
}

impl PaperNumber {
    /// What it is at the point of this number.
    fn at(&self, point: usize) -> f64 {
        self.values.get(point).or(self.values.first()).copied().unwrap_or(f64::NAN)
    }
}

/// The rows of a case, run by run.
pub(crate) fn rows_of(rows: &Rows, case: usize) -> Vec<&RunRow> {
    rows.range((case, 0)..=(case, u64::MAX)).map(|(_, row)| row).collect()
}
