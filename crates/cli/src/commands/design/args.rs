//! The options of a design.

use super::Budget;
use super::watch::Watch;
use crate::complete;
use crate::options;
use crate::shell::Printing;
use crate::threads::Threads;
use exm_design::SearchKind;
use std::path::PathBuf;

/// The default seed.
pub(super) const DEFAULT_SEED: u64 = 1;

/// What to design, how, and into which files.
#[derive(Clone, Debug, clap::Args)]
// They are given where a model is: clap cannot infer it, as they have groups among them.
#[group(arg = "model")]
pub(super) struct DesignArgs {
    /// The model, which states the assumed networks and the objective: a file, or the name of a
    /// shipped one
    #[arg(value_name = "MODEL", add = complete::models())]
    pub(super) model: PathBuf,
    /// Where to write the table: .json, or .dna for Remy's own format, which cannot store provenance; if the
    /// model designs several tables, cc.json becomes cc.NAME.json for each
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) threads: Threads,
    #[command(flatten)]
    pub(super) budget: Budget,
    /// How to search: evolve (all rules together) or paper (one rule at a time) [default: evolve]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub(super) search: Option<SearchKind>,
    /// The random seed of the search [default: 1]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(super) seed: Option<u64>,
    /// Start from this table, a file or a shipped one; its rules may use only the model's signals. Ignored
    /// with --resume
    #[arg(long, value_name = "TABLE", help_heading = "Search", add = complete::tables())]
    pub(super) start: Option<PathBuf>,
    /// Design a table with each of N seeds, from --seed on, and keep the best
    #[arg(long, value_name = "N", help_heading = "Search", conflicts_with_all = ["checkpoint", "log"])]
    #[arg(value_parser = clap::value_parser!(u64).range(2..=100))]
    pub(super) seeds: Option<u64>,
    /// Design a table for each of these weights of delay instead of the model's, such as 0.1,1,10
    #[arg(long, value_name = "X,..", help_heading = "Search", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["seeds", "checkpoint", "log"])]
    #[arg(allow_negative_numbers = true, value_parser = options::delta)]
    pub(super) delta: Vec<f64>,
    /// How many generations of guards to try when the table is hardened [default: 10, or as many as --cpu
    /// allows]
    #[arg(long, value_name = "N", help_heading = "Search")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) hardening: Option<u32>,
    /// Score the finished table on this many held-out networks; 0 for none [default: 256, or as many as --cpu
    /// allows, but at least 32]
    #[arg(long, value_name = "N", help_heading = "Search")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) specimens: Option<u32>,
    /// Where to save the state of the design at every step [default: the output's name and .checkpoint]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Where to write a line of JSON for every step [default: the output's name and .log.jsonl]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub(super) log: Option<PathBuf>,
    /// Where to draw score against CPU time, or, with --delta, throughput against queueing delay: .svg, .png
    /// or .pdf; --resume overwrites it
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub(super) plot: Option<PathBuf>,
    /// Write a page about the finished design: scores over time, the rules that fire, the networks where the table does worst;
    /// one HTML file that can be sent; --resume overwrites it
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub(super) page: Option<PathBuf>,
    /// Show that page while the design runs, in a browser on this machine; on this port, or any free one
    #[arg(long, value_name = "PORT", help_heading = "Output", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "0")]
    pub(super) live: Option<u16>,
    #[arg(skip)]
    pub(super) watch: Watch,
    /// Continue from the checkpoint
    #[arg(long, help_heading = "Files", conflicts_with = "force")]
    pub(super) resume: bool,
    /// Start over even if there is a checkpoint
    #[arg(long, help_heading = "Files")]
    pub(super) force: bool,
    /// Remove the checkpoint when the design is finished
    #[arg(long, help_heading = "Files")]
    pub(super) clean: bool,
    /// Show no progress
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) printing: Printing,
}
