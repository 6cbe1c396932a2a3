//! [`Results`]: the results of an experiment, as stored in `results.json`.

mod find;

pub(crate) use find::one_of;

use crate::across::{Harm, Rank};
use crate::metric::{DELAY, THROUGHPUT};
use crate::plan::Skipped;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of the file in a folder of results.
pub(crate) const FILE: &str = "results.json";
const FORMAT: &str = "exmachina-results";
/// The version of the format.
const VERSION: u32 = 1;

/// The results of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    format: String,
    version: u32,
    /// The version of the program.
    pub program: String,
    /// The command that reproduces them.
    pub command: String,
    /// The hash of the configuration.
    pub hash: String,
    /// The random seed.
    pub seed: u64,
    /// The number of runs of each scheme.
    pub runs: u64,
    /// The simulated time of each run, as text.
    pub duration: String,
    /// The hosts of the senders: "tcp", "bare", "sprout", or several of them; empty in results of versions
    /// that did not record it.
    #[serde(default)]
    pub host: String,
    /// Whether the runs were made in real time, and not in the simulator.
    #[serde(default)]
    pub is_live: bool,
    /// The name of the experiment.
    pub experiment: String,
    /// Its title.
    pub title: Option<String>,
    /// Where it was published.
    pub source: Option<String>,
    /// Differences from the publication, with reasons: general ones, then those of each variant.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Warnings, such as tables that ran outside of their design range; missing in results of versions that
    /// did not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The names of the metrics in the tables' columns.
    pub columns: Vec<String>,
    /// What is swept, with its unit.
    pub sweep: Option<String>,
    /// The names of the metrics that are the delay and the throughput of pictures and ratios.
    #[serde(default = "usual_axes")]
    pub axes: [String; 2],
    /// The variant that is the mean over all others, if there is one.
    #[serde(default)]
    pub mean: Option<String>,
    /// The schemes.
    pub schemes: Vec<SchemeInfo>,
    /// The names of the variants; a single empty name if there are none.
    pub variants: Vec<String>,
    /// The schemes that all others are compared with.
    pub references: Vec<String>,
    /// Each scheme in each variant at each point.
    pub cases: Vec<CaseResult>,
    /// Each reference compared with each other scheme.
    pub comparisons: Vec<Comparison>,
    /// The schemes in the order of their mean rank over all settings, by each metric of which the experiment asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<Rank>,
    /// The harm that schemes do to other flows, if the experiment asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub harms: Vec<Harm>,
    /// Other numbers from the papers, beside ours.
    pub paper: Vec<PublishedNumber>,
    /// Measurements in real time, beside simulations of the same networks.
    #[serde(default)]
    pub simulated: Vec<Simulated>,
    /// Schemes that were left out.
    pub skipped: Vec<Skipped>,
    /// The files of its pictures, and what each shows.
    pub pictures: Vec<Picture>,
}

/// A scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeInfo {
    /// Its name.
    pub name: String,
    /// Its controller; of several designs, the first.
    pub controller: Option<String>,
    /// The tables of several designs, of which its results are the means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<String>,
    /// Its queue discipline, if it has one of its own.
    pub queue: Option<String>,
    /// Whether its controller is a rule table.
    pub is_computed: bool,
}

/// A scheme in a variant at a point of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The variant.
    pub variant: String,
    /// The point; empty without a sweep.
    pub point: String,
    /// The scheme.
    pub scheme: String,
    /// The flows that the scheme controlled.
    pub own: Summary,
    /// Each group of flows, if there are several.
    pub groups: Vec<GroupResult>,
}

/// A group of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// Its name.
    pub name: String,
    /// Whether the scheme controlled it.
    pub is_own: bool,
    /// Its summary.
    pub summary: Summary,
}

/// How much better the reference is than a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The variant.
    pub variant: String,
    /// The point.
    pub point: String,
    /// The reference.
    pub reference: String,
    /// The scheme it is compared with.
    pub scheme: String,
    /// The group of flows that is compared, where a scheme runs several controllers, which have no common median; none
    /// for all flows of the scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<String>,
    /// The reference's median throughput over the scheme's; of the mean over variants, the mean of
    /// these ratios.
    pub speedup: Option<Ratio>,
    /// The scheme's median delay over the reference's; of the mean over variants, that of the means.
    pub delay_reduction: Option<Ratio>,
    /// By how much the reference's objective is higher; of the mean over variants, the mean of these leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Lead>,
}

/// By how much something is higher than something else in the same runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// The difference.
    pub ours: f64,
    /// Its 95 % interval, by a bootstrap over runs, whose traffic both share; where one of them has several designs,
    /// over these as well.
    pub interval: Option<[f64; 2]>,
}

/// A ratio of ours, and the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Ours.
    pub ours: f64,
    /// Its 95 % interval, by a bootstrap over runs, whose traffic both share; where one of them has several designs,
    /// over these as well.
    pub interval: Option<[f64; 2]>,
    /// The paper's.
    pub paper: Option<f64>,
    /// Ours over the paper's.
    pub over_paper: Option<f64>,
}

/// A number of a paper beside ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedNumber {
    /// The variant.
    pub variant: String,
    /// The point.
    pub point: String,
    /// The scheme.
    pub scheme: String,
    /// The group of flows, if it is not that of the scheme.
    pub group: Option<String>,
    /// The name of the metric.
    pub metric: String,
    /// Ours; none if it was not measured.
    pub ours: Option<f64>,
    /// The paper's.
    pub paper: f64,
    /// Ours over the paper's.
    pub over_paper: Option<f64>,
    /// Whether it was given beside the traces, instead of by a paper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_given: bool,
}

/// A measurement in real time, and its simulated value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// The variant.
    pub variant: String,
    /// The point.
    pub point: String,
    /// The scheme.
    pub scheme: String,
    /// The name of the metric.
    pub metric: String,
    /// The measured value.
    pub live: f64,
    /// Its 95 % interval over runs, if there are several and the metric has one.
    #[serde(default)]
    pub live_interval: Option<[f64; 2]>,
    /// The simulated value, over all simulated runs.
    pub simulated: f64,
    /// Four fifths of the simulated runs lie between these; missing in results of versions that did not
    /// record it.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
}

/// A picture in the folder of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The name of its file, without ".svg", ".png" or ".pdf".
    pub file: String,
    /// What it shows, under which settings and in how many runs.
    pub title: String,
}

/// An error in loading results.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder has runs but no results yet.
    #[error("{} is unfinished: some of its runs are made, and no results are written", folder.display())]
    Unfinished {
        /// The folder.
        folder: PathBuf,
    },
    /// The file is not one of results.
    #[error("{} {problem}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Results {
    /// The results as JSON, with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("finite numbers are JSON") + "\n"
    }

    /// Reads the results in `folder`.
    ///
    /// # Errors
    /// [`ResultsError`] if there are none, or those of another version.
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
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && folder.join(crate::store::FILE).exists() =>
            {
                return Err(ResultsError::Unfinished { folder: folder.to_owned() });
            }
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

/// The default axes, for results that were written before there were others.
fn usual_axes() -> [String; 2] {
    [DELAY, THROUGHPUT].map(|axis| axis.key.to_owned())
}
