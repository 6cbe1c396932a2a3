//! Experiments: schemes side by side on one network, from a file to tables and pictures.
//!
//! An experiment is a scenario (see [`exm_sim::scenario`]) with a table `[experiment]`:
//!
//! | key | meaning | unless given |
//! |---|---|---|
//! | `source` | where it was published | |
//! | `notes` | what differs from there and why, to stand below the tables: a text, or a list of texts | |
//! | `figure` | its pictures: `"throughput-delay"`, `"means"`, `"rate-and-delay"`, `"sequence"`, `"sweep"`, `"bars"`, `"series"`, `"convergence"`, `"distribution"`, `"flow-lengths"`, `"table"`, or a list of them | `"throughput-delay"` |
//! | `columns` | what the tables tell: a list of names of [`METRICS`] | the usual |
//! | `runs` | how often each scheme is run | 128 |
//! | `window` | the time over which throughput is told where it changes, as it does on the way to the fair share | `"1 s"` |
//! | `x`, `y` | which metrics are the delay and the throughput of pictures and ratios | `"queueing"`, `"throughput"` |
//! | `sigma` | how many standard deviations the ellipses in pictures reach | 1 |
//! | `paper_axes` | the axes of the paper's picture, `{ x = [8, 32], y = [1, 3] }`: drawn as a frame, and notes say which schemes lie inside | none |
//! | `mean` | what the mean over all variants is called, which the papers' numbers then stand beside | none is told |
//! | `reference` | the scheme that all others are compared with, or a list of such | none |
//!
//! and for each scheme an `[[experiment.scheme]]`:
//!
//! | key | meaning |
//! |---|---|
//! | `name` | what it is called |
//! | `controller` | what stands wherever the scenario has `controller = "scheme"` |
//! | `queue` | the queue of every link, as a scenario has it: `"codel target=5ms"`, or a table of its `name` and parameters |
//! | `tcp` | settings that are put into the scenario's `[tcp]` |
//! | `set` | other keys of the scenario, by their paths: `{ "dumbbell.buffer" = "5 BDP" }` |
//! | `paper` | what the papers say of it: `{ speedup = 2.1, mean_rtt = 7.5 }`; lists where there is a sweep; tables for groups of flows, or for ratios to a reference |
//! | `optional_file` | the scheme is left out, and that is said, where its table is absent |
//! | `designed_for` | the range of the sweep that it was designed for |
//! | `curve` | a name that it shares with the schemes that a line joins it with, in the order of the file; with curves no efficient frontier is drawn |
//! | `frontier` | what the efficient frontier is called that it takes part in; the schemes without one take part in all |
//!
//! For each `[[experiment.variant]]`, with `name`, `tcp`, `set` and a `note`, all is run once. A table
//! `[experiment.sweep]` lets the `key` of the scenario take each of its `values`, or so many `points`
//! `from` one `to` another on a `scale`, `"linear"` or `"log"`; `y` is the metric drawn over it and
//! `title` the name of its axis.
//!
//! A path to a key has dots between its steps. A list of tables is one step, of all its members or of
//! the one named next: `"flow.traffic.on"`, `"flow.web.rtt"`.
//!
//! Where the answers of the first flow cross links, recorded traces may take the place of the file's:
//! each [`Pair`] of them is a network whose two directions become a variant each, in place of variants
//! that set a trace.
//!
//! An [`Experiment`] becomes a [`Plan`], a plan [`Rows`] by a [`run`], and rows [`Results`]. Run r of
//! every scheme draws from the same seed and so meets the same traffic. Results are the same on any
//! number of threads, and however often the runs were interrupted: a [`Store`] keeps those that are
//! finished.

mod canonical;
mod completions;
mod convergence;
mod course;
mod csv;
mod edit;
mod experiment;
mod figures;
mod file;
mod folder;
mod lab;
mod metric;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod report;
mod results;
mod rows;
mod runner;
mod series;
mod sheet;
mod store;
mod summary;
mod sweep;
mod text;
mod traces;

pub use convergence::Convergence;
pub use course::Course;
/// What is wrong with an experiment, which is a scenario and more.
pub use exm_sim::scenario::ScenarioError as ExperimentError;
pub use experiment::{Experiment, FigureKind, MAX_RUNS, PaperNumber, Scheme, Variant};
pub use folder::{FolderError, write};
pub use lab::{Lab, LabError, Likeness, Measured};
pub use metric::{METRICS, Metric};
pub use plan::{Case, Options, Plan, PlanError, Skipped};
pub use report::{ShowError, Shown, page};
pub use results::{
    Beside, CaseResult, Comparison, GroupResult, Picture, Ratio, Results, ResultsError, SchemeInfo,
    Simulated,
};
pub use rows::{EndToEndRow, FlowRow, LinkRow, RunRow};
pub use runner::{Live, LiveError, Watch, is_complete, run, run_live, total_work};
pub use store::{Rows, Store, StoreError};
pub use summary::{Shape, Summary};
pub use sweep::{Point, Sweep};
pub use text::TextTable;
pub use traces::{Pair, TracesError, pairs};
