//! One design, from its beginning or its checkpoint to its tables and scores.

use super::args::{DEFAULT_SEED, DesignArgs};
use super::budget::{Budget, CpuClock};
use super::finished::{Finished, save_all};
use super::finishing::Phases;
use super::picture::{self, Design, Several};
use super::summary::Summary;
use super::{End, Files, Run, draw, files, held_out, provenance};
use crate::codes::INTERRUPTED;
use crate::shell::{self, Failure};
use crate::tables;
use exm_design::{Designer, Model, SearchKind, SeveralTables, StartError};
use exm_remy::RuleTable;
use exm_store::counted;
use exm_table::{Pending, Provenance, TableFile};
use exm_units::Span;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

impl DesignArgs {
    /// Designs what the options ask for.
    pub(super) fn design(&self, model: Model) -> Result<ExitCode, Failure> {
        let designer = self.designer(model)?;
        let mut finished = self.search(designer)?;
        let designer = finished.designer();
        let clock = CpuClock::from(0.0);
        self.watch.phase("scored on held-out networks");
        let scores = match finished.specimens {
            0 => None,
            count => {
                let (model, seed) = (designer.model(), designer.seed());
                Some(held_out(model, seed, count, vec![finished.tables()])?)
            }
        };
        finished.phases.scoring += clock.seconds();
        if let Some(scores) = &scores {
            finished.keep_score(scores, 0)?;
        }
        self.watch.phase("finished");
        if self.clean {
            files::remove(&finished.files.checkpoint)?;
        }
        if let Some(plot) = &self.plot {
            draw(plot, picture::svg(&Design::load(&[&finished.files.log])?, Several::Lines))?;
        }
        self.printing.print(&Summary::new(self, &finished, scores.as_ref()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Goes on with `designer` until the budget is spent.
    pub(super) fn search(&self, designer: Designer) -> Result<Finished, Failure> {
        let files = self.files();
        let cpu = self.searching(&designer).map(Span::from_secs_f64);
        let budget = Budget { cpu, ..self.budget.clone() };
        self.watch.begin(&designer, &files);
        let mut run =
            Run::new(designer, budget, &files, self.quiet)?.watched_by(self.watch.clone());
        let end = run.go()?;
        let designer = run.designer();
        let outputs = self.outputs(designer.model());
        let pending = self.hardening(designer).map(|_| Pending::Hardening);
        let tables = designer.finish();
        let file = |(index, table): (usize, &RuleTable)| {
            let mut file = self.file(designer, index, table.clone());
            file.provenance.pending = pending;
            file
        };
        save_all(&tables.iter().enumerate().map(file).collect::<Vec<_>>(), &outputs)?;
        if end == End::Interrupted {
            return Err(self.interrupted(designer, &outputs, "its checkpoint"));
        }
        let specimens = self.scored_on(designer, &tables);
        let clock = CpuClock::from(0.0);
        let Some(made) = self.finished(designer, &tables, specimens)? else {
            let what = "its checkpoint, not hardened yet,";
            return Err(self.interrupted(designer, &outputs, what));
        };
        let search = designer.cpu_seconds();
        let phases = Phases { search, hardening: clock.seconds(), scoring: 0.0 };
        let file = |(index, one): (usize, exm_design::Finished)| {
            let provenance = self.provenance(designer, index, &one.table);
            one.into_file(provenance)
        };
        let made: Vec<TableFile> = made.into_iter().enumerate().map(file).collect();
        save_all(&made, &outputs)?;
        self.watch.tables(made.iter().map(|file| &file.table));
        self.watch.phase("finished");
        Ok(Finished { run, files, made, outputs, end, specimens, phases })
    }

    /// What an interrupted design leaves, and how to go on with it.
    fn interrupted(&self, designer: &Designer, outputs: &[PathBuf], what: &str) -> Failure {
        let text = format!(
            "interrupted after {}; {} and {what} are written",
            counted(designer.steps(), "step", "steps"),
            named(outputs)
        );
        let tip = format!("go on with: {}", self.resume_command());
        Failure::new(text).with_tip(tip).with_code(INTERRUPTED)
    }

    /// The file of table number `index` that `designer` made.
    fn file(&self, designer: &Designer, index: usize, table: RuleTable) -> TableFile {
        TableFile { provenance: self.provenance(designer, index, &table), table }
    }

    /// The provenance of `table`, number `index` of those that `designer` made.
    fn provenance(&self, designer: &Designer, index: usize, table: &RuleTable) -> Provenance {
        let mut provenance = provenance(designer, index, table, shell::command_line());
        // What is resumed may have started from another.
        let start = self.start.as_ref().filter(|_| !self.resume);
        if let (Some(start), Some(notes)) = (start, &mut provenance.notes) {
            notes.push_str(&format!("; it started from {}", start.display()));
        }
        provenance
    }

    /// The design to go on with: new, or that of the checkpoint. None of its files is in the way.
    pub(super) fn designer(&self, model: Model) -> Result<Designer, Failure> {
        let designer = self.new_or_resumed(model, &self.files())?;
        if self.budget.score.is_some() && designer.search() == SearchKind::Paper {
            let problem = "--score is never reached: the papers' search judges no tables";
            return Err(Failure::usage(problem).with_tip("end it by --cpu, --rules or --steps"));
        }
        Ok(designer)
    }

    fn new_or_resumed(&self, model: Model, files: &Files) -> Result<Designer, Failure> {
        let checkpoint = files.checkpoint.as_path();
        let path = checkpoint.display();
        // What is no file, such as a pipe, holds nothing to go on from.
        let old = if checkpoint.is_file() {
            let bytes = std::fs::read(checkpoint).map_err(|error| {
                Failure::new(format!("cannot read the checkpoint {path}: {error}"))
            })?;
            // One that is no text is reported as damaged.
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
        let designer = Designer::resume_in(text, model.dir()).map_err(|error| {
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
        let command = shell::command_line().replace(" --force", "");
        // Of several designs of a command, only those begun are resumed.
        if command.contains(" --resume") { command } else { format!("{command} --resume") }
    }
}

fn several(error: SeveralTables) -> Failure {
    Failure::usage(error.to_string()).with_tip("leave --search out: the default search does")
}

/// "a.json", or "a.json and b.json".
fn named(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
}
