//! [`Results`]: what an experiment found, as it stands in `results.json`.

mod find;

pub(crate) use find::rows_of;

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
    /// What senders ran on: "tcp", "bare", "sprout", or several of them; empty in results that were
    /// written before it was told.
    #[serde(default)]
    pub host: String,
    /// Whether the runs were made in real time, and not in the simulator.
    #[serde(default)]
    pub is_live: bool,
    /// The name of the experiment.
    pub experiment: String,
    /// What it shows.
    pub title: Option<String>,
    /// Where it was published.
    pub source: Option<String>,
    /// What differs from there, and why: of all, then of each of the settings.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What may make them other than expected, such as tables outside the range that they were designed
    /// for; missing in results that were written before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The names of the metrics that tables tell.
    pub columns: Vec<String>,
    /// What is swept, with its unit.
    pub sweep: Option<String>,
    /// The names of the metrics that are the delay and the throughput of pictures and ratios.
    #[serde(default = "usual_axes")]
    pub axes: [String; 2],
    /// The one of the variants that is the mean over all others, if one is.
    #[serde(default)]
    pub mean: Option<String>,
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
    /// What was measured in real time, beside the same simulated.
    #[serde(default)]
    pub simulated: Vec<Simulated>,
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
    /// The reference's median throughput over the scheme's; of the mean over variants, the mean of
    /// these ratios.
    pub speedup: Option<Ratio>,
    /// The scheme's median delay over the reference's; of the mean over variants, that of the means.
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

/// A number that was measured in real time, and what the simulator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// The settings.
    pub variant: String,
    /// The point.
    pub point: String,
    /// The scheme.
    pub scheme: String,
    /// The name of the metric.
    pub metric: String,
    /// What was measured.
    pub live: f64,
    /// What the simulator says, over all its runs.
    pub simulated: f64,
    /// Between these are four fifths of its runs, each by itself; missing in results that were written
    /// before it was told.
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
    /// Runs are kept there, and no results yet.
    #[error("{} is unfinished: some of its runs are made, and no results are written", folder.display())]
    Unfinished {
        /// The folder.
        folder: PathBuf,
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

/// The axes of results that were written before there were others.
fn usual_axes() -> [String; 2] {
    [DELAY, THROUGHPUT].map(|axis| axis.key.to_owned())
}
