//! [`Sheet`]: results as rows and columns, a row for each flow, or each link, of each run.

use crate::completions::{merged, percentile};
use crate::plan::{Case, Plan};
use crate::results::Results;
use crate::rows::{FlowRow, LinkRow};
use crate::store::Rows;

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Whole,
    Real,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "CSV has no types"))]
    pub(crate) kind: Kind,
}

/// What stands in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Whole(u64),
    Real(f64),
    Nothing,
}

/// Rows and columns.
pub(crate) struct Sheet<'a> {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Box<dyn Iterator<Item = Vec<Cell<'a>>> + 'a>,
}

/// Where a table of values is from: names and values.
pub(crate) fn origin(results: &Results) -> [(&'static str, String); 4] {
    let Results { command, hash, seed, program, .. } = results;
    [
        ("command", command.clone()),
        ("configuration", hash.clone()),
        ("seed", seed.to_string()),
        ("version", program.clone()),
    ]
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text }
}

const fn whole(name: &'static str) -> Column {
    Column { name, kind: Kind::Whole }
}

const fn real(name: &'static str) -> Column {
    Column { name, kind: Kind::Real }
}

/// What says of which run a row is.
const FIRST: [Column; 5] =
    [text("variant"), text("point"), text("scheme"), whole("run"), whole("seed")];

const FLOW: [Column; 25] = [
    whole("flow"),
    text("group"),
    real("on_s"),
    real("throughput_mbps"),
    real("share"),
    real("queueing_ms"),
    real("rtt_ms"),
    real("rtt_ratio"),
    whole("sent"),
    whole("resent"),
    whole("timeouts"),
    whole("delivered"),
    whole("lost"),
    whole("completed"),
    real("completion_ms"),
    real("median_completion_ms"),
    real("p99_completion_ms"),
    whole("starts"),
    whole("settled"),
    real("convergence_s"),
    real("received_mbps"),
    real("capacity_mbps"),
    real("delay_95_ms"),
    real("omniscient_95_ms"),
    real("queued_within_100ms_percent"),
];

const LINK: [Column; 8] = [
    text("link"),
    real("utilisation"),
    real("mean_queue"),
    whole("max_queue"),
    whole("transmitted"),
    whole("dropped"),
    whole("marked"),
    whole("lost"),
];

/// A row for each flow of each run.
pub(crate) fn flows<'a>(plan: &'a Plan, rows: &'a Rows) -> Sheet<'a> {
    let rows = rows.iter().flat_map(move |(&(case, run), row)| {
        let case = &plan.cases[case];
        let flows = row.flows.iter().enumerate();
        flows.map(move |(index, flow)| {
            let group = Cell::Text(&case.scenario.flows[flow.group].name);
            let mut cells = first_cells(plan, case, run, row.seed).to_vec();
            cells.extend([Cell::Whole(index as u64), group]);
            cells.extend(flow_cells(flow));
            cells
        })
    });
    Sheet { columns: FIRST.into_iter().chain(FLOW).collect(), rows: Box::new(rows) }
}

fn flow_cells(flow: &FlowRow) -> [Cell<'static>; 23] {
    let times = merged([flow.completions.as_slice()].into_iter());
    let told = flow.convergence;
    let received = flow.end_to_end.as_ref();
    [
        Cell::Real(flow.on_s),
        real_cell(flow.throughput_mbps),
        real_cell(flow.share),
        real_cell(flow.queueing_ms),
        real_cell(flow.rtt_ms),
        real_cell(flow.rtt_ratio),
        Cell::Whole(flow.sent),
        Cell::Whole(flow.resent),
        Cell::Whole(flow.timeouts),
        Cell::Whole(flow.delivered),
        Cell::Whole(flow.lost),
        Cell::Whole(flow.completed),
        real_cell(flow.completion_ms),
        real_cell(percentile(&times, 0.5)),
        real_cell(percentile(&times, 0.99)),
        told.map_or(Cell::Nothing, |told| Cell::Whole(told.starts)),
        told.map_or(Cell::Nothing, |told| Cell::Whole(told.settled)),
        real_cell(told.and_then(|told| told.longest_s)),
        real_cell(received.map(|told| told.received_mbps)),
        real_cell(received.and_then(|told| told.capacity_mbps)),
        real_cell(received.and_then(|told| told.delay_95_ms)),
        real_cell(received.and_then(|told| told.omniscient_95_ms)),
        real_cell(received.and_then(|told| told.queued_within)),
    ]
}

/// A row for each link of each run.
pub(crate) fn links<'a>(plan: &'a Plan, rows: &'a Rows) -> Sheet<'a> {
    let rows = rows.iter().flat_map(move |(&(case, run), row)| {
        let case = &plan.cases[case];
        row.links.iter().zip(&case.scenario.links).map(move |(link, spec)| {
            let mut cells = first_cells(plan, case, run, row.seed).to_vec();
            cells.push(Cell::Text(&spec.name));
            cells.extend(link_cells(link));
            cells
        })
    });
    Sheet { columns: FIRST.into_iter().chain(LINK).collect(), rows: Box::new(rows) }
}

fn link_cells(link: &LinkRow) -> [Cell<'static>; 7] {
    [
        Cell::Real(link.utilisation),
        Cell::Real(link.mean_queue),
        Cell::Whole(link.max_queue),
        Cell::Whole(link.transmitted),
        Cell::Whole(link.dropped),
        Cell::Whole(link.marked),
        Cell::Whole(link.lost),
    ]
}

fn first_cells<'a>(plan: &'a Plan, case: &Case, run: u64, seed: u64) -> [Cell<'a>; 5] {
    let experiment = &plan.experiment;
    let points = experiment.sweep.as_ref().map(|sweep| &sweep.points);
    [
        Cell::Text(&experiment.variants[case.variant].name),
        Cell::Text(points.map_or("", |points| &points[case.point].label)),
        Cell::Text(&experiment.schemes[case.scheme].name),
        Cell::Whole(run),
        Cell::Whole(seed),
    ]
}

fn real_cell(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Nothing, Cell::Real)
}
