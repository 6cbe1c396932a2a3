#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Experiments: schemes compared on one network, from a file to tables and figures.
//!
//! An experiment is a scenario (see [`exm_sim::scenario`]) with a table `[experiment]`:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `source` | where it was published | |
//! | `notes` | what differs from the publication and why, shown below the tables: a text, or a list of texts | |
//! | `figure` | its figures: `"throughput-delay"`, `"means"`, `"rate-and-delay"`, `"sequence"`, `"sweep"`, `"bars"`, `"series"`, `"convergence"`, `"distribution"`, `"flow-lengths"`, `"table"`, or a list of them | `"throughput-delay"` |
//! | `columns` | the columns of the tables: a list of names of [`METRICS`] | nine of them |
//! | `runs` | how often each scheme is run | 128 |
//! | `window` | the averaging time of throughput in time series and in measures of convergence | `"1 s"` |
//! | `x`, `y` | which metrics are the delay and the throughput of pictures and ratios | `"queueing"`, `"throughput"` |
//! | `sigma` | how many standard deviations the ellipses in pictures reach | 1 |
//! | `paper_axes` | the axes of the paper's picture, `{ x = [8, 32], y = [1, 3] }`: drawn as a frame, and notes say which schemes lie inside | none |
//! | `mean` | the name of the mean over all variants, which is then shown beside the papers' numbers | no mean |
//! | `reference` | the scheme that all others are compared with, or a list of such | none |
//! | `ranks` | a metric, or a list of metrics, by which schemes are ranked over all variants and points | none |
//! | `harm` | the `flow` that schemes may harm, the `reference` beside which it has what it loses, a scheme or a list of such, and `metrics` of harm | none |
//!
//! and for each scheme an `[[experiment.scheme]]`:
//!
//! | key | meaning |
//! |---|---|
//! | `name` | its name |
//! | `controller` | replaces `controller = "scheme"` wherever the scenario has it; a list of tables that were designed with different seeds; or `"omniscient"`: senders that have their proportionally fair share at once and never queue, which are computed |
//! | `queue` | the queue of every link, as a scenario has it: `"codel target=5ms"`, or a table of its `name` and parameters |
//! | `tcp` | settings added to the scenario's `[tcp]` |
//! | `set` | other keys of the scenario, by their paths: `{ "dumbbell.buffer" = "5 BDP" }` |
//! | `paper` | the papers' numbers for it: `{ speedup = 2.1, mean_rtt = 7.5 }`; lists where there is a sweep; tables for groups of flows, or for ratios to a reference |
//! | `optional_file` | if its table is absent, the scheme is left out with a note |
//! | `designed_for` | the range of the sweep that it was designed for |
//! | `curve` | a name that it shares with other schemes: a line joins their points, in the order of the file, and no efficient frontier is drawn; over a sweep, the area between their lines is shaded |
//! | `frontier` | the name of the efficient frontier that it takes part in; schemes without one take part in all |
//!
//! Everything is run once for each `[[experiment.variant]]`, which has a `name`, `tcp`, `set` and a `note`.
//! With a table `[experiment.sweep]`, the `key` of the scenario takes each of its `values`, or this many
//! `points` `from` one value `to` another on a `scale`, `"linear"` or `"log"`; `y` is the metric drawn over it,
//! on the scale `y_scale`, and `title` the label of its axis.
//!
//! A path to a key has dots between its steps. A list of tables is one step, of all its members or of
//! the one named next: `"flow.traffic.on"`, `"flow.web.rtt"`.
//!
//! If the ACKs of the first flow cross links, recorded traces may replace those of the file: each [`Pair`]
//! is a network, and each of its recorded directions becomes a variant. They replace variants that set a trace.
//! Figures that others reached on them, [`GivenFigure`]s, are shown beside ours.
//!
//! An [`Experiment`] becomes a [`Plan`], a plan [`Rows`] by a [`run`], and rows [`Results`]. Run r of every
//! scheme draws from the same seed and so meets the same traffic. Results are the same on any number of
//! threads, and however often the runs were interrupted: a [`Store`] keeps finished ones.

mod across;
mod backend;
mod canonical;
mod case;
mod completions;
mod convergence;
mod edit;
mod experiment;
mod figures;
mod file;
mod finding;
mod folder;
mod metric;
mod omniscient;
mod plan;
pub mod queues;
mod report;
mod results;
mod rows;
mod runner;
mod sample;
mod series;
mod sheet;
mod shipped;
mod store;
mod summary;
mod sweep;
mod text;
mod timeline;
mod traces;
mod twin;

pub use across::{Harm, HarmIn, Rank, RankIn};
pub use backend::{Backend, BackendError, Measured};
pub use case::Case;
pub use convergence::Convergence;
pub use edit::{PLACEHOLDER, set_key};
pub use experiment::{Experiment, FigureKind, HarmTo, MAX_RUNS, PaperNumber, Scheme, Variant};
pub use folder::{FolderError, write};
pub use metric::{Better, METRICS, Metric};
pub use plan::{Options, Plan, PlanError, Skipped};
pub use report::{ReportEntry, ShowError, page};
pub use results::{
    CaseResult, Comparison, GroupResult, Lead, Picture, PublishedNumber, Ratio, Results,
    ResultsError, SchemeInfo, Simulated,
};
pub use rows::{EndToEndRow, FlowRow, LinkRow, RunRow};
pub use runner::{Live, RunError, Watch, is_complete, run, run_live, total_work};
pub use shipped::SHIPPED;
pub use store::{Rows, Store, StoreError};
pub use summary::{Shape, Summary};
pub use sweep::{Point, Sweep};
pub use timeline::Timeline;
pub use traces::{GivenFigure, Pair, TracesError, given_figures, pairs};
pub use twin::SimulatedTwin;
