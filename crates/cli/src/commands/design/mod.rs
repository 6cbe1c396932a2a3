//! `exm design`: from a model of networks and an objective to a table of rules.

mod budget;
mod display;
mod files;
mod log;
mod run;
mod summary;

pub(crate) use budget::{Budget, End, cpu_time, spoken};
pub(crate) use files::Files;
pub(crate) use run::Run;

use crate::codes::INTERRUPTED;
use crate::commands::score;
use crate::complete;
use crate::shell::{self, Failure, Printing};
use crate::shipped;
use crate::tables;
use crate::threads::Threads;
use exm_design::score::{Contender, HeldOut, Scheme, Scores};
use exm_design::{Designer, Model, SearchKind, SeveralTables, StartError};
use exm_remy::RuleTable;
use exm_store::counted;
use exm_table::{ArrivalTimes, Provenance, Score, TableFile};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use summary::Summary;

/// The seed unless told.
const DEFAULT_SEED: u64 = 1;

const EXAMPLES: &str = "\
The same model, seed, search, start and number of steps make the same table, on any number of
threads and however often the design was interrupted. An interrupt (Ctrl-C) ends the design after
the present step with nothing lost: go on with --resume, also to spend more on a finished one.

Examples:
  exm design general-delta1 -o cc.json --cpu 10min
  exm design general-delta1 -o cc.json --cpu 1h --resume
  exm design 1x -o 1x.dna --rules 32 --search paper --seed 7";

/// Design a rule table for a model of networks and an objective
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model: what is assumed of networks and asked of their senders; a file, or the name of a
    /// shipped one
    #[arg(value_name = "MODEL", add = complete::models())]
    model: PathBuf,
    /// Where to write the table: .json, or .dna for Remy's own format, which keeps no provenance; where the
    /// model designs several tables, cc.json becomes cc.NAME.json for each
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    budget: Budget,
    /// How to search: evolve (all rules together) or paper (one rule at a time) [default: evolve]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    search: Option<SearchKind>,
    /// The random seed of the search [default: 1]
    #[arg(long, value_name = "N", help_heading = "Search")]
    seed: Option<u64>,
    /// Start from this table, a file or a shipped one, instead of from nothing; its rules may differ
    /// by the model's signals only
    #[arg(long, value_name = "TABLE", help_heading = "Search", conflicts_with = "resume", add = complete::tables())]
    start: Option<PathBuf>,
    /// Score the finished table on this many held-out networks; 0 for none
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Search")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    specimens: u32,
    /// Where the design is kept at every step [default: the output's name and .checkpoint]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    checkpoint: Option<PathBuf>,
    /// Where to write a line of JSON for every step [default: the output's name and .log.jsonl]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    log: Option<PathBuf>,
    /// Go on from the checkpoint
    #[arg(long, help_heading = "Files", conflicts_with = "force")]
    resume: bool,
    /// Start over where there is a checkpoint
    #[arg(long, help_heading = "Files")]
    force: bool,
    /// Remove the checkpoint when the design is finished
    #[arg(long, help_heading = "Files")]
    clean: bool,
    /// Show no progress
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let model = shipped::model(&self.model)?;
        let budget = self.budget.clone().or_default();
        let files = self.files();
        let designer = self.designer(model, &files)?;
        if budget.score.is_some() && designer.search() == SearchKind::Paper {
            let problem = "--score is never reached: the papers' search judges no tables";
            return Err(Failure::usage(problem).with_tip("end it by --cpu, --rules or --steps"));
        }
        let mut run = Run::new(designer, budget, &files, self.quiet)?;
        let end = run.go()?;
        let designer = run.designer();
        let tables = designer.finish();
        let outputs = self.outputs(designer.model());
        let mut made: Vec<TableFile> =
            (0..).zip(tables.clone()).map(|(i, t)| self.file(designer, i, t)).collect();
        save_all(&made, &outputs)?;
        if end == End::Interrupted {
            let tip = format!("go on with: {}", self.resume_command());
            let text = format!(
                "interrupted after {}; {} and its checkpoint are written",
                counted(designer.steps(), "step", "steps"),
                named(&outputs)
            );
            return Err(Failure::new(text).with_tip(tip).with_code(INTERRUPTED));
        }
        let scores = match self.specimens {
            0 => None,
            count => Some(held_out(designer, tables, count as usize)?),
        };
        if let Some(scores) = &scores {
            for file in &mut made {
                file.provenance.held_out_score = Some(score_of(scores));
            }
            save_all(&made, &outputs)?;
        }
        if self.clean {
            files::remove(&files.checkpoint)?;
        }
        self.printing.print(&Summary::new(&self, designer, &made, scores.as_ref(), end))?;
        Ok(ExitCode::SUCCESS)
    }

    /// The file of table number `index` that `designer` made.
    fn file(&self, designer: &Designer, index: usize, table: RuleTable) -> TableFile {
        let mut provenance = provenance(designer, index, &table, shell::command_line());
        if let (Some(start), Some(notes)) = (&self.start, &mut provenance.notes) {
            notes.push_str(&format!("; it started from {}", start.display()));
        }
        TableFile { table, provenance }
    }

    /// The design to go on with: new, or that of the checkpoint. None of its files is in the way.
    fn designer(&self, model: Model, files: &Files) -> Result<Designer, Failure> {
        let checkpoint = files.checkpoint.as_path();
        let path = checkpoint.display();
        // What is no file, such as a pipe, holds nothing to go on from.
        let old = if checkpoint.is_file() {
            let bytes = std::fs::read(checkpoint).map_err(|error| {
                Failure::new(format!("cannot read the checkpoint {path}: {error}"))
            })?;
            // One that is no text is damaged, and said to be.
            Some(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            None
        };
        match old {
            None if self.resume => {
                Err(Failure::usage(format!("there is no checkpoint {path} to go on from"))
                    .with_tip("leave --resume out to begin a design"))
            }
            Some(text) if self.resume => {
                let designer = self.resumed(&model, checkpoint, &text)?;
                self.check_files(files, &model, Some(&designer))?;
                Ok(designer)
            }
            Some(text) if !self.force && Designer::is_checkpoint(&text) => {
                let tip = "go on with it by --resume, start over by --force, or give another --out";
                Err(Failure::new(format!("{path} holds a design already")).with_tip(tip))
            }
            _ => {
                self.check_files(files, &model, None)?;
                let search = self.search.unwrap_or(SearchKind::Evolve);
                let seed = self.seed.unwrap_or(DEFAULT_SEED);
                self.begun(model, search, seed)
            }
        }
    }

    /// A new design, from nothing or from --start.
    fn begun(&self, model: Model, search: SearchKind, seed: u64) -> Result<Designer, Failure> {
        let Some(start) = &self.start else {
            return Designer::new(model, search, seed).map_err(several);
        };
        let table = tables::load(start)?.table;
        Designer::starting_from(&table, model, search, seed).map_err(|error| match error {
            StartError::Search(error) => several(error),
            StartError::Signals(error) => {
                let tip = "list them in signals under [design], or start from another table";
                let path = start.display();
                let text = format!("cannot start from {path}: {error}, which the model leaves out");
                Failure::new(text).with_tip(tip)
            }
        })
    }

    fn resumed(&self, model: &Model, checkpoint: &Path, text: &str) -> Result<Designer, Failure> {
        let path = checkpoint.display();
        let designer = Designer::resume(text).map_err(|error| {
            Failure::new(format!("cannot go on from {path}: {error}"))
                .with_tip("start over by --force")
        })?;
        let differs = |what: &str, of: &dyn std::fmt::Display| {
            Failure::new(format!("{path} is of another {what}: {of}"))
                .with_tip("give the same again, or start over by --force")
        };
        let own = designer.model();
        if own.fingerprint() != model.fingerprint() {
            return Err(differs("model", &own.name().unwrap_or("one without a name")));
        }
        if self.seed.is_some_and(|seed| seed != designer.seed()) {
            return Err(differs("seed", &designer.seed()));
        }
        if self.search.is_some_and(|search| search != designer.search()) {
            return Err(differs("search", &designer.search()));
        }
        Ok(designer)
    }

    /// The command that goes on with this design.
    fn resume_command(&self) -> String {
        let command = shell::command_line();
        let command = command.replace(" --force", "");
        if self.resume { command } else { format!("{command} --resume") }
    }
}

fn several(error: SeveralTables) -> Failure {
    Failure::usage(error.to_string()).with_tip("leave --search out: the default search does")
}

fn save_all(files: &[TableFile], paths: &[PathBuf]) -> Result<(), Failure> {
    let save = |(file, path): (&TableFile, &PathBuf)| {
        crate::interrupt::shielded(|| file.save(path)).map_err(|error| {
            let tip =
                "the checkpoint holds the whole design: the same command with --resume writes it";
            Failure::from(error).with_tip(tip)
        })
    };
    files.iter().zip(paths).try_for_each(save)
}

/// "a.json", or "a.json and b.json".
fn named(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// Scores finished tables where the search has never looked.
pub(crate) fn held_out(
    designer: &Designer,
    tables: Vec<RuleTable>,
    specimens: usize,
) -> Result<Scores, Failure> {
    let contender = Contender { name: "table".into(), scheme: Scheme::Tables(tables) };
    let (model, seed) = (designer.model(), designer.seed());
    let on = HeldOut { seed, specimens, host: model.design().host };
    score::held_out(model, &on, &[contender])
}

/// The first contender's score, for the table's file.
pub(crate) fn score_of(scores: &Scores) -> Score {
    let estimate = scores.contenders[0].score;
    Score {
        mean: estimate.mean,
        interval: estimate.interval(),
        specimens: scores.specimens as u64,
        seed: scores.seed,
    }
}

/// Where `table`, number `index` of those that `designer` made, comes from.
pub(crate) fn provenance(
    designer: &Designer,
    index: usize,
    table: &RuleTable,
    command: String,
) -> Provenance {
    let steps = designer.steps();
    let rules = counted(table.rules().len(), "rule", "rules");
    let taken = counted(steps, "step", "steps");
    let model = designer.model();
    let own = model.classes().iter().find(|class| class.runs(index));
    let objective = own.map_or(model.objective(), |class| &class.objective);
    let mut notes = format!(
        "{rules} after {taken}; the same model, search, seed, start and --steps {steps} \
         make this table again"
    );
    if let [_, _, ..] = model.tables() {
        let name = &model.tables()[index];
        notes.push_str(&format!(
            "; it is \"{name}\" of {}, designed together",
            model.tables().len()
        ));
    }
    Provenance {
        program: Some(format!("exm {}", env!("CARGO_PKG_VERSION"))),
        command: Some(command),
        search: Some(designer.search().name().to_owned()),
        seed: Some(designer.seed()),
        cpu_seconds: Some((designer.cpu_seconds() * 10.0).round() / 10.0),
        objective: Some(objective.to_string()),
        arrival_times: Some(ArrivalTimes::Receiver),
        notes: Some(notes),
        model_hash: Some(model.fingerprint()),
        model: Some(model.text().to_owned()),
        ..Provenance::default()
    }
}
