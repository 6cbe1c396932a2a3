//! [`Plan`]: which networks an experiment simulates, and how often.

use crate::backend::Backend;
use crate::canonical;
use crate::case::{Asked, Case};
use crate::edit::{self, Change, What};
use crate::experiment::{Experiment, FigureKind, Scheme, Variant};
use crate::metric::{CLAIM, COMPLETIONS, CONVERGENCES};
use crate::omniscient;
use crate::sweep::Point;
use crate::traces::{GivenFigure, Pair};
use exm_grammar::{FileError, Offset, suggest};
use exm_link::Service;
use exm_random::{Purpose, Stream};
use exm_sim::builtin::Builtin;
use exm_sim::network::Network;
use exm_sim::scenario::{Load, Scenario, Traces, is_synthetic};
use exm_trace::Trace;
use exm_units::{Fnv1a, Span};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::{Table, Value};

/// Settings that override those of an experiment's file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The number of runs of each scheme.
    pub runs: Option<u64>,
    /// The random seed.
    pub seed: Option<u64>,
    /// The simulated time.
    pub duration: Option<Span>,
    /// The schemes to run; empty for all.
    pub only: Vec<String>,
    /// A file that replaces the experiment's traces, as an absolute path.
    pub trace: Option<PathBuf>,
    /// Recorded traces: each direction of each is a variant; they replace the variants that set traces.
    pub traces: Vec<Pair>,
    /// Figures that others reached on those, shown beside ours.
    pub given: Vec<GivenFigure>,
}

/// Which networks are simulated, and how often.
#[derive(Debug)]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// The number of runs of each case.
    pub runs: u64,
    /// The random seed.
    pub seed: u64,
    /// The simulated time of each run.
    pub duration: Span,
    /// The networks, variant by variant, point by point, scheme by scheme, design by design.
    pub cases: Vec<Case>,
    /// Schemes that were left out, with the reasons.
    pub skipped: Vec<Skipped>,
    /// Warnings that are shown with the results.
    pub warnings: Vec<String>,
    /// Whether a [`Backend`] executes the runs in real time instead of the simulator.
    pub is_live: bool,
    /// Figures that others reached, beside which ours are shown.
    pub given: Vec<GivenFigure>,
    pub(crate) asked: Asked,
    pub(crate) hash: Fnv1a,
}

/// A scheme that was left out of a plan.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Skipped {
    /// Its name.
    pub scheme: String,
    /// Why.
    pub reason: String,
}

/// An error that prevents planning.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// An error in the experiment's file.
    #[error(transparent)]
    Experiment(#[from] FileError),
    /// A requested scheme does not exist.
    #[error("there is no scheme \"{name}\": {suggestion}")]
    NoSuchScheme {
        /// The name that was given.
        name: String,
        /// The names that exist, or the nearest one.
        suggestion: String,
    },
    /// All schemes were left out.
    #[error("no scheme is left to run: {0}")]
    NothingLeft(String),
    /// A trace was given, but the experiment has none to replace.
    #[error("the experiment has no link with a trace to replace")]
    NoTrace,
    /// The requested duration ends within the warm-up.
    #[error("{duration} end within the experiment's warm-up of {warm_up}: give a longer duration")]
    TooShort {
        /// The requested duration.
        duration: Span,
        /// The warm-up, which is not measured.
        warm_up: Span,
    },
    /// Traces of both directions were given, but no path has a trace in each direction.
    #[error(
        "traces of both directions need a flow whose path and whose way back each cross a link with \
         a trace, and the experiment has none"
    )]
    NoWays,
}

impl Plan {
    /// Plans `experiment`. `load` loads the controllers that have no built-in name, as in
    /// [`Scenario::network`].
    ///
    /// # Errors
    /// [`PlanError`] if a setting is invalid, a controller or trace is missing, or no scheme is left.
    pub fn new(
        mut experiment: Experiment,
        options: &Options,
        load: &mut Load<'_>,
    ) -> Result<Plan, PlanError> {
        let selected = selected(&experiment, &options.only)?;
        let skipped: Vec<Skipped> =
            selected.iter().filter_map(|&scheme| missing(&experiment, scheme, load)).collect();
        let is_left = |index: &usize| {
            let name = &experiment.schemes[*index].name;
            !skipped.iter().any(|skipped| skipped.scheme == *name)
        };
        let left: Vec<usize> = selected.into_iter().filter(is_left).collect();
        if left.is_empty() {
            let reasons: Vec<&str> = skipped.iter().map(|one| one.reason.as_str()).collect();
            return Err(PlanError::NothingLeft(reasons.join("; ")));
        }
        let base = base(&experiment, options)?;
        if !options.traces.is_empty() {
            experiment.variants = recorded(&experiment.variants, &options.traces, base.clone())?;
        }
        let seed = options.seed.unwrap_or(experiment.seed);
        let mut cases = Vec::new();
        let (traces, prints) = (Traces::default(), Vec::new());
        let mut maker = Maker { experiment: &experiment, base: &base, seed, traces, prints };
        for variant in 0..experiment.variants.len() {
            for (point, value) in experiment.points().iter().enumerate() {
                for &scheme in &left {
                    let designs = experiment.schemes[scheme].controllers.len().max(1);
                    for design in 0..designs {
                        cases.push(maker.case([variant, point, scheme, design], value, load)?);
                    }
                }
            }
        }
        let asked = asked(&experiment);
        let recorded = experiment.variants.iter().filter(|_| !options.traces.is_empty());
        let names = recorded.map(|variant| variant.name.as_str());
        let hash = canonical::plan(&base, seed, names, &asked);
        Ok(Plan {
            runs: options.runs.unwrap_or(experiment.runs),
            seed,
            duration: cases[0].scenario.duration,
            cases,
            skipped,
            warnings: warnings(&experiment, options),
            is_live: false,
            given: options.given.clone(),
            asked,
            hash,
            experiment,
        })
    }

    /// The same plan, executed by `backend`; schemes that it cannot run are left out.
    ///
    /// # Errors
    /// [`PlanError`] if no scheme is left.
    pub fn live(mut self, backend: &dyn Backend) -> Result<Plan, PlanError> {
        let mut refusals = vec![None; self.experiment.schemes.len()];
        for case in &mut self.cases {
            let twin = match case.fluid {
                Some(_) => Err("omniscient senders are computed, and send nothing".to_owned()),
                None => backend.twin(case),
            };
            match twin {
                Ok(twin) => case.twin = Some(twin),
                Err(reason) => refusals[case.scheme] = Some(reason),
            }
        }
        self.cases.retain(|case| refusals[case.scheme].is_none());
        for (scheme, refusal) in self.experiment.schemes.iter().zip(refusals) {
            let scheme = scheme.name.clone();
            self.skipped.extend(refusal.map(|reason| Skipped { scheme, reason }));
        }
        if self.cases.is_empty() {
            let reasons: Vec<String> =
                self.skipped.iter().map(|one| format!("{}: {}", one.scheme, one.reason)).collect();
            return Err(PlanError::NothingLeft(reasons.join("; ")));
        }
        self.hash.add(b"live");
        self.is_live = true;
        Ok(self)
    }

    /// The numbers of the cases that show a scheme each: those of its first table.
    pub(crate) fn shown(&self) -> impl Iterator<Item = usize> {
        (0..self.cases.len()).filter(|&case| self.cases[case].design == 0)
    }

    /// The numbers of the cases of all tables of the scheme whose first has the case `first`.
    pub(crate) fn designs(&self, first: usize) -> Range<usize> {
        let next = self.cases[first + 1..].iter().position(|case| case.design == 0);
        first..next.map_or(self.cases.len(), |more| first + 1 + more)
    }

    /// The seed of the run of this number, the same for all cases: every scheme meets the same traffic
    /// and the same losses. Below 2^53, so that every JSON parser reads it exactly.
    pub fn seed_of(&self, run: u64) -> u64 {
        Stream::new(self.seed, Purpose::Specimen, run as usize).seed() >> 11
    }

    /// The experiment's title, or its name, and the trace of `cases` if they all have the same.
    pub(crate) fn title<'a>(&self, mut cases: impl Iterator<Item = &'a Case>) -> String {
        let title = self.experiment.title.as_ref().unwrap_or(&self.experiment.name);
        let trace = cases.next().and_then(|case| case.trace.as_ref());
        let trace = trace.filter(|trace| cases.all(|case| case.trace.as_ref() == Some(*trace)));
        match trace {
            Some(trace) if !title.contains(trace.trim_start_matches(SYNTHETIC)) => {
                format!("{title}, trace {trace}")
            }
            _ => title.clone(),
        }
    }

    /// An estimate of the work of a run of `case`: thousands of packets that its links could carry; in
    /// real time, every run counts the same.
    pub fn work(&self, case: &Case) -> u64 {
        if self.is_live {
            return 1;
        }
        let secs = case.network.duration().as_secs_f64();
        let links = case.network.links().iter();
        let bits: f64 = links.map(|link| link.service.rate().as_bps() as f64 * secs).sum();
        1 + (bits / 12_000_000.0) as u64
    }
}

/// The prefix of the names of synthetic links in titles.
const SYNTHETIC: &str = "synthetic ";

/// What was assumed of the given traces, and whether their figures are of no use here.
fn warnings(experiment: &Experiment, options: &Options) -> Vec<String> {
    let mut warnings: Vec<String> = options.traces.iter().filter_map(Pair::assumption).collect();
    let is_known = |name: &str| experiment.schemes.iter().any(|scheme| scheme.name == name);
    if !options.given.is_empty() && !options.given.iter().any(|given| is_known(&given.scheme)) {
        let names: Vec<&str> =
            experiment.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
        warnings.push(format!(
            "no figure that is given beside the traces is of a scheme of this experiment: {}",
            names.join("; ")
        ));
    }
    warnings
}

/// The name of a trace in titles.
fn shown_trace(trace: &str) -> String {
    if is_synthetic(trace) {
        return format!("{SYNTHETIC}{trace}");
    }
    let name = Path::new(trace).file_name();
    name.map_or_else(|| trace.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The measurements that the tables and figures of `experiment` need.
fn asked(experiment: &Experiment) -> Asked {
    let shows = |keys: &[&str]| keys.iter().any(|key| experiment.shows(key));
    let is_drawn = |kind: FigureKind| experiment.figures.contains(&kind);
    Asked {
        convergence: shows(&CONVERGENCES).then_some(experiment.window),
        timeline: is_drawn(FigureKind::RateAndDelay).then_some(experiment.window),
        claims: shows(&[CLAIM]).then_some(experiment.window),
        completions: shows(&COMPLETIONS) || is_drawn(FigureKind::Distribution),
    }
}

/// The numbers of the schemes to run.
fn selected(experiment: &Experiment, only: &[String]) -> Result<Vec<usize>, PlanError> {
    let names: Vec<&str> = experiment.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    if let Some(name) = only.iter().find(|name| !names.contains(&name.as_str())) {
        let suggestion = suggest(name, &names);
        return Err(PlanError::NoSuchScheme { name: name.clone(), suggestion });
    }
    let is_selected = |&index: &usize| only.is_empty() || only.iter().any(|o| o == names[index]);
    Ok((0..names.len()).filter(is_selected).collect())
}

/// Why a scheme is left out, if it is: it may be optional, and its table neither a file nor known.
fn missing(experiment: &Experiment, scheme: usize, load: &mut Load<'_>) -> Option<Skipped> {
    let Scheme { name, controllers, is_optional, .. } = &experiment.schemes[scheme];
    let missing = controllers.iter().filter(|_| *is_optional).find_map(|controller| {
        let path = experiment.dir.join(controller);
        let is_there = path.exists() || Builtin::name_in(controller).is_some();
        (!is_there && load(controller, &path).is_err()).then_some(path)
    })?;
    let reason = format!("the table {} is not there", missing.display());
    Some(Skipped { scheme: name.clone(), reason })
}

/// The scenario's tables, with the changes common to all cases.
fn base(experiment: &Experiment, options: &Options) -> Result<Table, PlanError> {
    let mut base = experiment.document.clone();
    if let Some(duration) = options.duration {
        let warm_up =
            base.get("warm_up").and_then(Value::as_str).and_then(|text| text.parse().ok());
        if let Some(warm_up) = warm_up.filter(|&warm_up| duration <= warm_up) {
            return Err(PlanError::TooShort { duration, warm_up });
        }
        base.insert("duration".to_owned(), Value::String(duration.to_string()));
    }
    if let Some(trace) = &options.trace {
        let file = trace.display().to_string();
        let before = base.clone();
        let change = Change { what: What::Trace(file.clone()), place: None };
        // It changes all links that have a trace, and cannot fail.
        let _ = change.apply(&mut base);
        if base == before && !base.to_string().contains(&file) {
            return Err(PlanError::NoTrace);
        }
    }
    Ok(base)
}

/// Each direction of each of `pairs` under each of `variants` that does not concern traces: those that
/// set one are dropped, as are those that change nothing beside them.
fn recorded(
    variants: &[Variant],
    pairs: &[Pair],
    mut document: Table,
) -> Result<Vec<Variant>, PlanError> {
    let ways = edit::traced_ways(&mut document).ok_or(PlanError::NoWays)?;
    let sets_trace = |variant: &Variant| variant.changes.iter().any(Change::is_of_trace);
    let some_do = variants.iter().any(sets_trace);
    let is_trace = |variant: &Variant| sets_trace(variant) || some_do && variant.changes.is_empty();
    let mut kept: Vec<Variant> = variants.to_vec();
    kept.retain(|variant| !is_trace(variant));
    if kept.is_empty() {
        kept.push(Variant::default());
    }
    let mut all = Vec::new();
    for pair in pairs {
        for (word, files) in pair.ways() {
            for variant in &kept {
                let mut variant = variant.clone();
                let comma = if variant.name.is_empty() { "" } else { ", " };
                variant.name = format!("{} {word}{comma}{}", pair.name, variant.name);
                for (link, file) in ways.iter().zip(files) {
                    let what = What::TraceOf(link.clone(), file.display().to_string());
                    variant.changes.push(Change { what, place: None });
                }
                all.push(variant);
            }
        }
    }
    Ok(all)
}

/// Makes the cases of an experiment.
struct Maker<'a> {
    experiment: &'a Experiment,
    base: &'a Table,
    seed: u64,
    traces: Traces,
    /// The fingerprints of those traces, computed once each.
    prints: Vec<(Arc<Trace>, Fnv1a)>,
}

impl Maker<'_> {
    fn case(
        &mut self,
        [variant, point, scheme, design]: [usize; 4],
        value: &Point,
        load: &mut Load<'_>,
    ) -> Result<Case, PlanError> {
        let (of_variant, of_scheme) =
            (&self.experiment.variants[variant], &self.experiment.schemes[scheme]);
        let controller = of_scheme.controllers.get(design);
        let of_design = controller.map(|controller| of_scheme.runs(controller));
        let of_scheme_and_design = of_scheme.changes.iter().chain(&of_design);
        let changes: Vec<&Change> =
            of_variant.changes.iter().chain(&value.changes).chain(of_scheme_and_design).collect();
        let mut document = self.base.clone();
        for change in &changes {
            change
                .apply(&mut document)
                .map_err(|problem| self.experiment.text.error(change.place, problem))?;
        }
        let text = document.to_string();
        let scenario = self.scenario(&text).map_err(|_| self.blame(&changes))?;
        let network = scenario.network(load).map_err(|error| {
            let line = error.line().and_then(|line| text.lines().nth(line.checked_sub(1)?));
            let of_scheme = || changes.iter().rev().find_map(|c| c.place).and(of_scheme.place);
            let place = line.and_then(|line| self.place_of(line)).or_else(of_scheme);
            self.experiment.text.error(place, error.problem())
        })?;
        let fluid =
            of_scheme.is_omniscient().then(|| omniscient::fluid(&scenario, &network)).transpose();
        let fluid =
            fluid.map_err(|problem| self.experiment.text.error(of_scheme.place, problem))?;
        let controller = controller.map(|own| omniscient::stand_in(own));
        let own = scenario.flows.iter().map(|group| {
            self.experiment.is_of(&group.name)
                && controller.is_none_or(|own| *own == group.controller)
        });
        let mut name = format!("{}/{}/{}", of_variant.name, value.label, of_scheme.name);
        if let [_, _, ..] = of_scheme.controllers[..] {
            name += &format!("/{}", of_scheme.controllers[design]);
        }
        let mut hash = self.hash(&document, &scenario, &network);
        if fluid.is_some() {
            hash.add(omniscient::NAME.as_bytes());
        }
        let (is_own, twin, scheme_name) = (own.collect(), None, of_scheme.name.clone());
        let trace = edit::first_trace(&mut document).map(|trace| shown_trace(&trace));
        Ok(Case {
            variant,
            scheme,
            design,
            point,
            scenario,
            network,
            is_own,
            trace,
            fluid,
            twin,
            name,
            scheme_name,
            hash,
        })
    }

    /// Where the experiment's file has the same `line`, a key and its value, which no scheme or variant changed.
    fn place_of(&self, line: &str) -> Offset {
        let source = &self.experiment.text.text;
        let is_same = |known: &str| line.contains('=') && known.trim() == line.trim();
        let mut offset = 0;
        source.split_inclusive('\n').find_map(|known| {
            let start = offset;
            offset += known.len();
            is_same(known).then_some(start)
        })
    }

    fn scenario(&mut self, text: &str) -> Result<Scenario, String> {
        let Experiment { text: source, dir, .. } = self.experiment;
        Scenario::parse_with(text, &source.file, dir, &mut self.traces)
            .map_err(|error| error.problem().to_owned())
    }

    /// The error of the first of `changes` that makes the scenario invalid, or of the scenario itself.
    fn blame(&mut self, changes: &[&Change]) -> FileError {
        let source = &self.experiment.text;
        let mut document = self.base.clone();
        if let Err(problem) = self.scenario(&document.to_string()) {
            return source.error(None, problem);
        }
        for change in changes {
            // It has been applied once before.
            let _ = change.apply(&mut document);
            if let Err(problem) = self.scenario(&document.to_string()) {
                return source.error(change.place, problem);
            }
        }
        source.error(None, "the schemes' settings contradict one another")
    }

    fn print(&mut self, trace: &Arc<Trace>) -> Fnv1a {
        if let Some((_, print)) = self.prints.iter().find(|(known, _)| Arc::ptr_eq(known, trace)) {
            return *print;
        }
        let print = canonical::trace(trace);
        self.prints.push((Arc::clone(trace), print));
        print
    }

    /// Everything that the result depends on: the document, the tables, traces and values it names, the
    /// seed.
    fn hash(&mut self, document: &Table, scenario: &Scenario, network: &Network) -> Fnv1a {
        // Flows of a group are equal.
        let firsts = scenario.groups().map(|(flow, _)| &network.flows()[flow]);
        let mut traces = Vec::new();
        for link in network.links() {
            if let Service::Trace(trace) = &link.service {
                traces.push(self.print(trace));
            }
        }
        canonical::case(document, self.seed, firsts, &traces)
    }
}
