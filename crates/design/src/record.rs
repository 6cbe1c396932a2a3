//! What the files of designed tables record, and the end of a design as one call.

use crate::designer::{Designer, SearchKind};
use crate::finish::{Finished, Finishing, finish};
use crate::harden::{Hardening, HardeningStep};
use crate::score::{self, Contender, HeldOut, Scheme, ScoreError, Scores};
use exm_remy::RuleTable;
use exm_store::counted;
use exm_table::{ArrivalTimes, Provenance, Score, TableFile};
use std::ops::ControlFlow;

impl Designer {
    /// How its tables are hardened, in up to so many generations of guards; `None` if the model or the papers' search
    /// disables hardening.
    pub fn hardening(&self, generations: usize) -> Option<Hardening> {
        let is_ours = self.search() == SearchKind::Evolve;
        let limit = self.model().hardening_limit().filter(|_| is_ours)?;
        Some(Hardening { generations, seed: self.seed(), ..Hardening::new(limit) })
    }

    /// The provenance of `table`, number `index` of those that it made, without the program and its command.
    pub fn provenance(&self, index: usize, table: &RuleTable) -> Provenance {
        let steps = self.steps();
        let rules = counted(table.rules().len(), "rule", "rules");
        let taken = counted(steps, "step", "steps");
        let model = self.model();
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
            search: Some(self.search().name().to_owned()),
            seed: Some(self.seed()),
            steps: Some(steps),
            cpu_seconds: Some((self.cpu_seconds() * 10.0).round() / 10.0),
            objective: Some(objective.to_string()),
            arrival_times: Some(ArrivalTimes::Receiver),
            notes: Some(notes),
            model_hash: Some(model.fingerprint()),
            model: Some(model.text().to_owned()),
            ..Provenance::default()
        }
    }

    /// The files of its tables if the design ends now: hardened in up to `generations` generations of guards and
    /// checked, as `exm design` does, and scored on `specimens` held-out networks, if any. `tried` is called as by
    /// [`crate::harden::harden`]. The result is the same on any number of threads.
    ///
    /// # Errors
    /// As [`score::held_out`].
    pub fn finished_files(
        &self,
        generations: usize,
        specimens: usize,
        tried: &dyn Fn(HardeningStep) -> ControlFlow<()>,
    ) -> Result<Vec<TableFile>, ScoreError> {
        let (model, seed) = (self.model(), self.seed());
        let finishing = Finishing { hardening: self.hardening(generations), specimens, seed };
        let made = finish(model, &self.finish(), finishing, tried)?;
        let file = |(index, one): (usize, Finished)| {
            let provenance = self.provenance(index, &one.table);
            one.into_file(provenance)
        };
        let mut files: Vec<TableFile> = made.into_iter().enumerate().map(file).collect();
        if specimens > 0 {
            let tables = files.iter().map(|file| file.table.clone()).collect();
            let contender = Contender { name: "table".into(), scheme: Scheme::Tables(tables) };
            let on = HeldOut { seed, specimens, host: model.design().host };
            let score = score::held_out(model, &on, &[contender], &|| ())?.record(0);
            files.iter_mut().for_each(|file| file.provenance.held_out_score = Some(score));
        }
        Ok(files)
    }
}

impl Finished {
    /// Its file: `provenance`, with its robustness and the number of generations of guards.
    pub fn into_file(self, mut provenance: Provenance) -> TableFile {
        provenance.robustness = Some(self.robustness);
        if let (Some(notes), true) = (&mut provenance.notes, self.generations > 0) {
            notes.push_str(&format!("; --hardening {} repeats its guards", self.generations));
        }
        TableFile { table: self.table, provenance }
    }
}

impl Scores {
    /// The score of the contender of this `index`, for its table's file.
    ///
    /// # Panics
    /// If there is no such contender.
    pub fn record(&self, index: usize) -> Score {
        let estimate = self.contenders[index].score;
        Score {
            mean: estimate.mean,
            interval: estimate.interval(),
            specimens: self.specimens as u64,
            seed: self.seed,
        }
    }
}
