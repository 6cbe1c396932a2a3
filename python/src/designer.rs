//! [`Designer`]: a design, step by step.

use crate::controller::Stop;
use crate::error::error;
use crate::round::Evaluator;
use crate::table::{Model, Table};
use crate::work::{heed, interruptible, on_threads};
use exmachina::design::harden::{GENERATIONS, HardeningStep};
use exmachina::design::{Designer as Design, SearchKind};
use exmachina::remy::RuleTable;
use exmachina::table::{Pending, Provenance, TableFile};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PROGRAM: &str = concat!("tcpexmachina ", env!("CARGO_PKG_VERSION"));
/// The limits of the command's options.
const MOST_GENERATIONS: usize = 1000;
const MOST_SPECIMENS: usize = 1_000_000;
const MOST_THREADS: usize = 1024;

/// A design that is taken a step at a time. It can be stopped, saved and resumed at any step, and the result is the
/// same.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Designer {
    design: Mutex<Design>,
    dir: PathBuf,
}

/// A step of a design.
#[pyclass(frozen, get_all, module = "tcpexmachina")]
pub(crate) struct Step {
    /// Its number, from 1.
    number: u64,
    /// The mean score on specimens of the search.
    score: f64,
    /// The table's score on separate specimens, if it was evaluated.
    judged: Option<f64>,
    /// How many rules the table had.
    rules: usize,
    /// The CPU time of the whole design so far, s.
    cpu_s: f64,
    /// What was done.
    what: String,
}

#[pymethods]
impl Step {
    fn __repr__(&self) -> String {
        let Step { number, score, rules, cpu_s, .. } = self;
        format!("<Step {number}: score {score:.4}, {rules} rules, {cpu_s:.1} s of CPU time>")
    }

    /// The step of these values, in the order of its attributes.
    #[staticmethod]
    fn _of(values: (u64, f64, Option<f64>, usize, f64, String)) -> Step {
        let (number, score, judged, rules, cpu_s, what) = values;
        Step { number, score, judged, rules, cpu_s, what }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Step { number, score, judged, rules, cpu_s, what } = self;
        let values = (*number, *score, *judged, *rules, *cpu_s, what.clone()).into_pyobject(py)?;
        let made = py.get_type::<Step>().getattr("_of")?;
        (made, (values,)).into_pyobject(py)
    }
}

#[pymethods]
impl Designer {
    #[new]
    #[pyo3(signature = (model, seed = 1, search = "evolve", start = None))]
    fn new(model: &Model, seed: u64, search: &str, start: Option<&Table>) -> PyResult<Designer> {
        let search: SearchKind = search.parse().map_err(error)?;
        let dir = model.model.dir().to_owned();
        let model = model.model.clone();
        let design = match start {
            None => Design::new(model, search, seed).map_err(error)?,
            Some(start) => {
                Design::starting_from(&start.file.table, model, search, seed).map_err(error)?
            }
        };
        Ok(Designer { design: Mutex::new(design), dir })
    }

    /// Continues from the text of a checkpoint; relative paths in its model start from `dir`.
    #[staticmethod]
    #[pyo3(signature = (text, dir = PathBuf::new()))]
    fn resume(text: &str, dir: PathBuf) -> PyResult<Designer> {
        let design = Design::resume_in(text, &dir).map_err(error)?;
        Ok(Designer { design: Mutex::new(design), dir })
    }

    /// The whole state as text.
    fn checkpoint(&self) -> String {
        self.lock().checkpoint()
    }

    /// Takes one step. After an interrupt or an error the design is as it was before the step.
    ///
    /// `evaluate` evaluates candidates elsewhere: it gets the bytes of a round and the number of its pairs, and returns
    /// their scores, as the function `evaluate` computes them, and the CPU time that they took, s.
    #[pyo3(signature = (evaluate = None))]
    fn step(&self, py: Python<'_>, evaluate: Option<Py<PyAny>>) -> PyResult<Step> {
        // Other designs of this process may run on other threads: where the candidates are evaluated elsewhere, only
        // this thread's time counts.
        let name = if evaluate.is_some() { "thread_time" } else { "process_time" };
        let clock = py.import("time")?.getattr(name)?;
        let start: f64 = clock.call0()?.extract()?;
        let mut next = self.lock().clone();
        let (mut next, progress, elsewhere) = match evaluate {
            None => {
                let work = move || {
                    let progress = next.step();
                    Ok((next, progress, 0.0))
                };
                interruptible(py, &Arc::new(Stop::default()), false, work)?
            }
            // The callable is called on this thread, where an interrupt is raised in it.
            Some(call) => {
                let evaluator = Evaluator::new(call);
                let progress = py.detach(|| next.step_by(&evaluator))?;
                (next, progress, evaluator.cpu_seconds())
            }
        };
        let end: f64 = clock.call0()?.extract()?;
        next.set_cpu_seconds(next.cpu_seconds() + end - start + elsewhere);
        let step = Step {
            number: next.steps(),
            score: progress.score,
            judged: progress.judged,
            rules: progress.rules,
            cpu_s: next.cpu_seconds(),
            what: progress.what,
        };
        *self.lock() = next;
        Ok(step)
    }

    fn __iter__(own: Bound<'_, Designer>) -> Bound<'_, Designer> {
        own
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Step> {
        self.step(py, None)
    }

    /// The tables to keep if the design ends now, not hardened: one for each that the model designs.
    #[getter]
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<Table>> {
        let design = self.lock().clone();
        let work = move || Ok((design.finish(), design));
        let (tables, design) = interruptible(py, &Arc::new(Stop::default()), false, work)?;
        let pending = design.hardening(GENERATIONS).map(|_| Pending::Hardening);
        let file = |(index, table): (usize, RuleTable)| {
            let provenance = Provenance {
                program: Some(PROGRAM.to_owned()),
                pending,
                ..design.provenance(index, &table)
            };
            Table { file: TableFile { table, provenance } }
        };
        Ok(tables.into_iter().enumerate().map(file).collect())
    }

    /// The tables of the finished design, as `exm design` ends one: hardened in up to `hardening` generations of
    /// guards, unless the model or the papers' search disables that, checked, and scored on `specimens` held-out
    /// networks, if any. `start` names the table that the design started from, for their provenance. It is done by so
    /// many `threads`, instead of one for each core.
    #[pyo3(signature = (hardening = 10, specimens = 256, start = None, threads = None))]
    fn finish(
        &self,
        hardening: usize,
        specimens: usize,
        start: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Table>> {
        if !(1..=MOST_GENERATIONS).contains(&hardening) {
            let range = format!("give 1 to {MOST_GENERATIONS} generations of guards");
            return Err(error(format!("hardening of {hardening}: {range}")));
        }
        if specimens > MOST_SPECIMENS {
            let range = format!("give 0 to {MOST_SPECIMENS}");
            return Err(error(format!("{specimens} specimens: {range}")));
        }
        if threads.is_some_and(|threads| !(1..=MOST_THREADS).contains(&threads)) {
            return Err(error(format!("give 1 to {MOST_THREADS} threads, or none for one a core")));
        }
        let design = self.lock().clone();
        let stop = Arc::new(Stop::default());
        let asked = stop.clone();
        let work = move || {
            let tried = |_: HardeningStep| {
                heed(&asked);
                ControlFlow::Continue(())
            };
            let finished = || design.finished_files(hardening, specimens, &tried).map_err(error);
            match threads {
                Some(threads) => on_threads(threads, finished)?,
                None => finished(),
            }
        };
        let mut files = Python::attach(|py| interruptible(py, &stop, false, work))?;
        for file in &mut files {
            file.provenance.program = Some(PROGRAM.to_owned());
            if let (Some(start), Some(notes)) = (start, &mut file.provenance.notes) {
                notes.push_str(&format!("; it started from {start}"));
            }
        }
        Ok(files.into_iter().map(|file| Table { file }).collect())
    }

    /// The table to keep if the design ends now, not hardened, where the model designs one.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let mut tables = self.tables(py)?;
        if tables.len() > 1 {
            let count = tables.len();
            return Err(error(format!("the model designs {count} tables: they are in tables")));
        }
        Ok(tables.remove(0))
    }

    /// The model that it designs for.
    #[getter]
    fn model(&self) -> Model {
        Model::of(self.lock().model().clone(), "the model".to_owned())
    }

    /// The name of the search.
    #[getter]
    fn search(&self) -> &'static str {
        self.lock().search().name()
    }

    /// Steps taken.
    #[getter]
    fn steps(&self) -> u64 {
        self.lock().steps()
    }

    /// The CPU time so far, s, also before the last checkpoint.
    #[getter]
    fn cpu_s(&self) -> f64 {
        self.lock().cpu_seconds()
    }

    /// The random seed of the search.
    #[getter]
    fn seed(&self) -> u64 {
        self.lock().seed()
    }

    fn __repr__(&self) -> String {
        let design = self.lock();
        let (steps, seconds) = (design.steps(), design.cpu_seconds());
        format!("<Designer after {steps} steps, {seconds:.1} s of CPU time>")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let resume = py.get_type::<Designer>().getattr("resume")?;
        let dir: &Path = &self.dir;
        (resume, (self.checkpoint(), dir)).into_pyobject(py)
    }
}

impl Designer {
    fn lock(&self) -> MutexGuard<'_, Design> {
        self.design.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
