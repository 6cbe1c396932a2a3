//! Simulating tables on specimens.

use crate::model::{Model, Role};
use crate::specimen::{Layout, Specimen};
use exm_remy::{CompiledAction, Grid, Point, RemyCc, RuleTable, Signal};
use exm_sim::dumbbell::{self, Dumbbell, Observer, Outcome, Rules};
use exm_sim::engine::{self, FlowSample, Pace};
use exm_sim::metrics::{FlowReport, Report};
use exm_sim::network::{FlowSpec, Host, Network, NetworkError, Transport};
use exm_units::Span;
use rayon::prelude::*;
use std::sync::Arc;

/// A table prepared for simulation. Candidates that differ only in actions share the grid.
#[derive(Clone, Debug)]
pub struct Prepared {
    grid: Arc<Grid>,
    actions: Vec<CompiledAction>,
    /// Whether the fast path simulates its senders if the network is a dumbbell.
    is_fast: bool,
    /// The transport of its senders in the event engine; `None` if the fast path simulates all of them.
    transport: Option<Transport>,
}

impl Prepared {
    /// Makes `table` ready for dumbbells on the bare host: for the fast path, unless the table uses an
    /// extended signal, which only the event engine has.
    pub fn new(table: &RuleTable) -> Prepared {
        let actions = table.rules().iter().map(|rule| rule.action.compile()).collect();
        let is_fast = !table.signals().is_extended();
        let transport = (!is_fast).then(|| Host::Bare.transport(RemyCc::new(table).into()));
        Prepared { grid: Arc::new(Grid::new(table)), actions, is_fast, transport }
    }

    /// Prepares `table` for the networks of `model` on its host.
    pub fn of(model: &Model, table: &RuleTable) -> Prepared {
        Prepared::on(model.design().host, model, table)
    }

    /// Prepares `table` for the networks of `model` on `host`.
    pub fn on(host: Host, model: &Model, table: &RuleTable) -> Prepared {
        let transport = || host.transport(RemyCc::new(table).into());
        let is_fast = host == Host::Bare && !table.signals().is_extended();
        let needs_engine = !(is_fast && model.has_only_dumbbells());
        Prepared { is_fast, transport: needs_engine.then(transport), ..Prepared::new(table) }
    }

    /// Prepares `tables`, those of one candidate, for the networks of `model` on its host.
    pub(crate) fn all(model: &Model, tables: &[RuleTable]) -> Candidate {
        tables.iter().map(|table| Prepared::of(model, table)).collect()
    }

    /// What the senders of `network` get with the table on the bare host; `observer` is told of every rule
    /// that fires.
    pub(crate) fn on_dumbbell(
        &self,
        network: &Dumbbell,
        seed: u64,
        observer: &mut impl Observer,
    ) -> Vec<Outcome> {
        if self.is_fast {
            return dumbbell::run_observed(network, self.rules(), seed, observer);
        }
        let transport = self.transport.clone().expect("what is not for the fast path has one");
        let layout = Layout::Dumbbell { class: 0, network: network.clone() };
        let network = layout.network(|_| transport.clone()).expect("the engine takes dumbbells");
        events(&network.without_distributions(), seed, &mut Fired(observer))
    }

    /// What the fast path wants.
    pub fn rules(&self) -> Rules<'_> {
        Rules { grid: &self.grid, actions: &self.actions }
    }
}

/// The tables that are evaluated together, one for each that the model designs.
pub type Candidate = Vec<Prepared>;

/// The mean score of each candidate over all specimens.
pub fn mean_scores(model: &Model, specimens: &[Specimen], candidates: &[Candidate]) -> Vec<f64> {
    // All pairs at once: candidates are few and specimens unlike in cost, but all of them fill any
    // number of cores.
    let pair = |i: usize| (&candidates[i / specimens.len()], &specimens[i % specimens.len()]);
    let scores: Vec<f64> = (0..candidates.len() * specimens.len())
        .into_par_iter()
        .map(pair)
        .map(|(candidate, specimen)| pair_score(model, specimen, candidate))
        .collect();
    means(&scores, specimens.len())
}

/// The score of `candidate` on `specimen`.
pub(crate) fn pair_score(model: &Model, specimen: &Specimen, candidate: &[Prepared]) -> f64 {
    model.score(&specimen.network, &simulate(model, specimen, candidate))
}

/// The mean of every `specimens` of `scores`, added in their order.
pub(crate) fn means(scores: &[f64], specimens: usize) -> Vec<f64> {
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    scores.chunks(specimens).map(mean).collect()
}

/// The results of the senders of `specimen` with the tables of `candidate`.
pub fn simulate(model: &Model, specimen: &Specimen, candidate: &[Prepared]) -> Vec<Outcome> {
    match fast_path(model, specimen, candidate) {
        Some((network, rules)) => dumbbell::run(network, rules, specimen.seed),
        None => simulate_events(model, specimen, transports(candidate), &mut ()).expect(SOUND),
    }
}

/// The input of the fast path, if it can simulate `candidate` on `specimen`.
fn fast_path<'a>(
    model: &Model,
    specimen: &'a Specimen,
    candidate: &'a [Prepared],
) -> Option<(&'a Dumbbell, Rules<'a>)> {
    let Layout::Dumbbell { class, network } = &specimen.network else { return None };
    let Role::Designed(table) = model.classes()[*class].role else { return None };
    let table = &candidate[table];
    table.is_fast.then(|| (network, table.rules()))
}

/// The transports of the senders of each table of `candidate` in the event engine.
fn transports(candidate: &[Prepared]) -> impl Fn(usize) -> Transport {
    let ready = "it is made ready for the model's networks";
    move |table| candidate[table].transport.clone().expect(ready)
}

/// Why the engine does not refuse a specimen.
const SOUND: &str = "a model whose networks the engine refuses is refused when it is read";

/// The results of the senders of `specimen` in the event engine, where `designed` runs those of each designed
/// table.
pub(crate) fn simulate_events(
    model: &Model,
    specimen: &Specimen,
    designed: impl Fn(usize) -> Transport,
    observer: &mut impl engine::Observer,
) -> Result<Vec<Outcome>, NetworkError> {
    if specimen.network.senders() == 0 {
        return Ok(Vec::new());
    }
    let transport = |class: usize| Model::transport(&model.classes()[class], &designed);
    let network = specimen.network.network(transport)?.without_distributions();
    Ok(events(&network, specimen.seed, observer))
}

/// The results of the senders of `network` in the event engine.
pub(crate) fn events(
    network: &Network,
    seed: u64,
    observer: &mut impl engine::Observer,
) -> Vec<Outcome> {
    outcomes(network, &engine::run_observed(network, seed, observer))
}

/// The results of the senders of `network` in a report of its simulation.
pub fn outcomes(network: &Network, report: &Report) -> Vec<Outcome> {
    report.flows.iter().zip(network.flows()).map(|(flow, spec)| outcome(flow, spec)).collect()
}

/// The results of the flow of `spec` in the event engine.
fn outcome(flow: &FlowReport, spec: &FlowSpec) -> Outcome {
    let payload = spec.transport.payload(spec.packet_size).get() as f64;
    // A retransmitted packet is delivered without telling its round trip: the mean stands for it.
    let (sum, samples) = (flow.rtt.sum_nanos(), u128::from(flow.rtt.count()));
    let of_all = (sum * u128::from(flow.delivered)).checked_div(samples).unwrap_or(0);
    let rtt_nanos = u64::try_from(of_all).unwrap_or(u64::MAX);
    Outcome {
        sent: flow.sent,
        delivered: flow.delivered,
        headers: 1.0 - payload / spec.packet_size.get() as f64,
        lost: flow.lost + flow.dropped_in_all(),
        rtt_sum: Span::from_nanos(rtt_nanos),
        on_time: flow.on_time,
        share_time: flow.share_time,
        active_time: flow.active_time,
        active_share_time: flow.active_share_time,
    }
}

/// The minimum number of memories kept per rule and specimen, if the rule fires that often.
const SAMPLES: usize = 256;

/// Memories that made rules fire.
#[derive(Clone, Debug)]
pub struct Samples {
    rules: Vec<RuleSamples>,
}

#[derive(Clone, Debug, Default)]
struct RuleSamples {
    /// Keep one firing of this many; doubles whenever there are too many.
    stride: u32,
    skipped: u32,
    memories: Vec<Point>,
    fired: u64,
}

impl Observer for Samples {
    #[inline]
    fn fired(&mut self, rule: usize, signals: &Point) {
        self.rules[rule].add(signals);
    }
}

impl RuleSamples {
    fn add(&mut self, signals: &Point) {
        self.fired += 1;
        self.skipped += 1;
        if self.skipped <= self.stride {
            return;
        }
        self.skipped = 0;
        self.memories.push(*signals);
        if self.memories.len() == 2 * SAMPLES {
            let mut keep = false;
            self.memories.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride * 2 + 1;
        }
    }
}

impl Samples {
    /// Runs `candidate` on `specimens` and keeps memories for which the rules of its table `table` fired, evenly
    /// over time.
    pub fn collect(
        model: &Model,
        specimens: &[Specimen],
        candidate: &[Prepared],
        table: usize,
    ) -> Samples {
        let count = candidate[table].actions.len();
        let each: Vec<Samples> = specimens
            .par_iter()
            .map(|specimen| {
                let mut samples = Samples { rules: vec![RuleSamples::default(); count] };
                samples.watch(model, specimen, candidate, table);
                samples
            })
            .collect();
        let mut all = Samples { rules: vec![RuleSamples::default(); count] };
        for (index, rule) in all.rules.iter_mut().enumerate() {
            // Each memory stands for as many firings as its specimen skipped between two.
            let finest = each.iter().map(|s| s.rules[index].stride).max().unwrap_or(0) + 1;
            for samples in &each {
                rule.fired += samples.rules[index].fired;
                let step = finest / (samples.rules[index].stride + 1);
                let memories = samples.rules[index].memories.iter();
                rule.memories.extend(memories.step_by(step as usize));
            }
        }
        all
    }

    fn watch(&mut self, model: &Model, specimen: &Specimen, candidate: &[Prepared], table: usize) {
        let runs = |sender| model.classes()[specimen.network.path_of(sender).0].runs(table);
        let watched: Vec<bool> = (0..specimen.network.senders()).map(runs).collect();
        if !watched.contains(&true) {
            return;
        }
        if let Some((network, rules)) = fast_path(model, specimen, candidate) {
            dumbbell::run_observed(network, rules, specimen.seed, self);
            return;
        }
        let mut watch = Watch { samples: self, watched };
        simulate_events(model, specimen, transports(candidate), &mut watch).expect(SOUND);
    }

    /// How often rule `index` fired.
    pub fn fired(&self, index: usize) -> u64 {
        self.rules[index].fired
    }

    /// The values of one signal, ascending, that made rule `index` fire.
    pub fn values(&self, index: usize, signal: Signal) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.rules[index].memories.iter().map(|memory| memory[signal.index()]).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// Tells an observer of the fast path of the rules that fire in the event engine.
struct Fired<'a, O>(&'a mut O);

impl<O: Observer> engine::Observer for Fired<'_, O> {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        if let (Some(signals), Some(rule)) = (&sample.signals, sample.rule) {
            self.0.fired(rule, signals);
        }
    }
}

/// Watches the senders of one table in the event engine.
struct Watch<'a> {
    samples: &'a mut Samples,
    /// For each flow, whether it is one of them.
    watched: Vec<bool>,
}

impl engine::Observer for Watch<'_> {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        if let (true, Some(signals), Some(rule)) =
            (self.watched[sample.flow], &sample.signals, sample.rule)
        {
            self.samples.rules[rule].add(signals);
        }
    }
}
