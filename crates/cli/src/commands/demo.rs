//! `exm demo`: the whole program in a minute.

use crate::codes::INTERRUPTED;
use crate::commands::design::{self, Budget, End, Files, Run};
use crate::commands::score::{self, Report};
use crate::outputs::{check_output, write_file};
use crate::shell::{self, Failure};
use crate::threads::Threads;
use exm_cc::Aimd;
use exm_design::score::{Contender, HeldOut, Scheme, Score, Scores, throughput_delay};
use exm_design::{Designer, Model, SearchKind};
use exm_measure::figure::Styles;
use exm_remy::{Action, RuleTable};
use exm_sim::network::Host;
use exm_store::{counted, remove_regular};
use exm_table::TableFile;
use exm_units::Span;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const SEED: u64 = 1;
/// The files written into the folder.
const FILES: [&str; 5] =
    ["model.toml", "checkpoint", "design.log.jsonl", "remycc.json", "comparison.svg"];
/// The number of networks for the comparison, and its host: all three schemes are made for the bare
/// host.
const HELD_OUT: HeldOut = HeldOut { seed: SEED, specimens: 400, host: Host::Bare };
/// How many times, and for at most how many steps, the search improves a single rule for
/// comparison.
const SINGLE_ROUNDS: u64 = 3;
const SINGLE_STEPS: u64 = 100;
/// The start of that search: the original program's default.
const DEFAULT_RULE: Action = Action { multiple: 1.0, increment: 1, intersend_ms: 3.0 };

const EXAMPLES: &str = "\
Examples:
  exm demo
  exm demo --out /tmp/demo --cpu 5min";

/// Design a small RemyCC live and compare it with simpler senders: a minute's tour
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder to write into; it is created if necessary
    #[arg(short, long, value_name = "FOLDER", default_value = "demo")]
    out: PathBuf,
    /// The CPU time of the design, summed over threads
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = design::cpu_time)]
    cpu: Span,
    #[command(flatten)]
    threads: Threads,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        std::fs::create_dir_all(&self.out).map_err(|error| {
            Failure::new(format!("cannot make the folder {}: {error}", self.out.display()))
        })?;
        let model = demo_model();
        self.check_files()?;
        write_file(&self.path("model.toml"), model.text().as_bytes())?;
        shell::print(&introduction(&model, self.cpu))?;
        let designer = self.design(model)?;
        // What follows may be interrupted.
        self.write_table(&designer, None)?;
        let single = Single::search(designer.model());
        let table = designer.finish().remove(0);
        let name = format!("RemyCC, {} rules", table.rules().len());
        let contenders = [
            contender(&name, Scheme::Table(table)),
            single.contender(designer.model()),
            contender("AIMD", Scheme::Controller(Aimd::new().into())),
        ];
        let scores = score::held_out(designer.model(), &HELD_OUT, &contenders)?;
        self.write(&designer, &scores)?;
        let report = Report::new(designer.model(), &scores);
        shell::print(&format!("\n{report}\n{}", self.explanation(&scores, &single)))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Rejects a folder that has files of these names which no demonstration wrote.
    fn check_files(&self) -> Result<(), Failure> {
        let model = Model::load(&self.path("model.toml"));
        let is_own = model.is_ok_and(|model| model.name() == Some("demo"));
        FILES.iter().try_for_each(|name| {
            check_output(&self.path(name), &[], is_own)
                .map_err(|failure| failure.with_tip("name another folder by --out"))
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// Designs a table.
    fn design(&self, model: Model) -> Result<Designer, Failure> {
        let files =
            Files { checkpoint: self.path("checkpoint"), log: self.path("design.log.jsonl") };
        let designer = Designer::new(model, SearchKind::Evolve, SEED)?;
        let mut run = Run::new(designer, Budget::of_cpu(self.cpu), &files, false)?;
        let end = run.go()?;
        let designer = run.designer().clone();
        if end == End::Interrupted {
            self.write_table(&designer, None)?;
            return Err(self.interrupted(&designer, &files));
        }
        // The demonstration always starts over.
        let _ = remove_regular(&files.checkpoint);
        Ok(designer)
    }

    /// What an interrupted demonstration leaves, and how to go on with its design.
    fn interrupted(&self, designer: &Designer, files: &Files) -> Failure {
        let table = self.path("remycc.json");
        let text = format!(
            "interrupted after {}; {} and its checkpoint are written",
            counted(designer.steps(), "step", "steps"),
            table.display()
        );
        let quoted = |path: &Path| shell::quoted(&path.to_string_lossy());
        let tip = format!(
            "go on with: {} design {} -o {} --checkpoint {} --log {} --cpu {} --resume",
            shell::program(),
            quoted(&self.path("model.toml")),
            quoted(&table),
            quoted(&files.checkpoint),
            quoted(&files.log),
            design::spoken(self.cpu.as_secs_f64()).replace(' ', "")
        );
        Failure::new(text).with_tip(tip).with_code(INTERRUPTED)
    }

    fn write_table(&self, designer: &Designer, scores: Option<&Scores>) -> Result<(), Failure> {
        let table = designer.finish().remove(0);
        let mut provenance = design::provenance(designer, 0, &table, shell::command_line());
        provenance.held_out_score = scores.map(|scores| scores.record(0));
        let file = TableFile { table, provenance };
        write_file(&self.path("remycc.json"), file.to_json().as_bytes())
    }

    fn write(&self, designer: &Designer, scores: &Scores) -> Result<(), Failure> {
        self.write_table(designer, Some(scores))?;
        let mut styles = Styles::new();
        let scheme = |score: &Score| score.scheme(score.name.clone(), styles.of(&score.name));
        let figure = throughput_delay(
            "Computed in a minute, against simpler senders".to_owned(),
            format!(
                "medians and quartiles over {} networks never seen: 5-20 Mbps, 50-150 ms, 1-8 senders",
                scores.specimens
            ),
            "Throughput and queueing delay of each scheme.".to_owned(),
            scores.contenders.iter().map(scheme).collect(),
        );
        write_file(&self.path("comparison.svg"), figure.svg().as_bytes())
    }

    fn explanation(&self, scores: &Scores, single: &Single) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        let (table, model) = (path("remycc.json"), path("model.toml"));
        let exm = shell::program();
        format!(
            "A score one higher is twice the throughput, or half the round-trip time; the gap is\n\
             to omniscient senders, with their share from the first moment and no queue. All ran\n\
             on the bare host, where a RemyCC is designed: nothing that is lost is retransmitted.\n\
             {}\n\
             \n\
             table    {table}\n\
             figure   {}\n\
             model    {model}\n\
             log      {}\n\
             \n\
             Try next:\n  \
             {exm} table show {table}\n  \
             {exm} score {table} aimd --model {model} --specimens {}\n  \
             {exm} design {model} -o cc.json --cpu 10min    # after changing what it assumes\n  \
             {exm} compare --cc {table},cubic,bbr --link 15Mbps --rtt 100ms --senders 4    # over TCP\n",
            single.explanation(),
            path("comparison.svg"),
            path("design.log.jsonl"),
            10 * scores.specimens,
        )
    }
}

/// The model of the demonstration.
fn demo_model() -> Model {
    Model::shipped("demo").expect("it is shipped")
}

fn introduction(model: &Model, cpu: Span) -> String {
    format!(
        "Designing a congestion controller for what this model assumes and asks for:\n\n\
         {}\n\
         objective: {}, for {} of CPU time\n\n",
        indented_body(model.text()),
        model.objective(),
        design::spoken(cpu.as_secs_f64())
    )
}

/// The lines of a model that are neither comments nor empty, indented.
fn indented_body(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| format!("  {line}\n")).collect()
}

fn contender(name: &str, scheme: Scheme) -> Contender {
    Contender { name: name.to_owned(), scheme }
}

/// The best single rule that a short search finds, if it finds one.
#[derive(Default)]
struct Single(Option<Action>);

impl Single {
    /// Improves one rule with the same search, each time until it would split it.
    fn search(model: &Model) -> Single {
        let mut single = Single::default();
        for round in 0..SINGLE_ROUNDS {
            let start = single.table(model);
            let seed = SEED + round;
            let designer = Designer::starting_from(&start, model.clone(), SearchKind::Evolve, seed);
            let mut designer = designer.expect("the start is of the model's signals");
            while designer.step().judged.is_none() && designer.steps() < SINGLE_STEPS {}
            // Just split: all parts have the same action as the whole.
            let table = designer.current().remove(0);
            let mut actions = table.rules().iter().map(|rule| rule.action);
            let first = actions.next();
            if actions.all(|action| Some(action) == first) {
                single.0 = first;
            }
        }
        single
    }

    fn table(&self, model: &Model) -> RuleTable {
        let action = self.0.unwrap_or(DEFAULT_RULE);
        RuleTable::single(model.design().signals, 16_384.0, action)
    }

    fn contender(&self, model: &Model) -> Contender {
        contender("one rule", Scheme::Table(self.table(model)))
    }

    fn explanation(&self) -> String {
        let Action { multiple, increment, intersend_ms } = self.0.unwrap_or(DEFAULT_RULE);
        let source = match self.0 {
            Some(_) => "the best single one the same search finds",
            None => "the original program's default",
        };
        format!(
            "'one rule' is {source}:\non every acknowledgement the window \
             becomes {multiple:.2} of itself and {increment} more, a\npacket at most every \
             {intersend_ms:.2} ms."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_sound() {
        let model = demo_model();
        let text = introduction(&model, Span::from_secs(60));
        assert!(
            text.contains("  rate = \"5..20 Mbps\"\n") && text.contains("for 1 min of"),
            "{text}"
        );
    }

    #[test]
    fn a_single_rule_is_bettered() {
        let model = demo_model();
        let none = Single::default();
        assert!(none.explanation().contains("original program's default"));
        assert_eq!(none.table(&model).rules()[0].action, DEFAULT_RULE);
        let short = model.text().replace("20 s", "4 s").replace("= 16", "= 4");
        let model = Model::parse(&short, "demo").unwrap();
        let found = Single::search(&model);
        assert!(found.0.is_some());
        let contenders = [none.contender(&model), found.contender(&model)];
        let on = HeldOut { specimens: 100, ..HELD_OUT };
        let scores = exm_design::score::held_out(&model, &on, &contenders, &|| {}).unwrap();
        assert!(scores.contenders[1].difference.is_some_and(|gain| gain.mean > 0.0));
    }
}
