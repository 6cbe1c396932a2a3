//! The page about one design or several: scores over time, the rules that fire, the networks where the table does worst.

use super::picture::{self, Design, Several};
use super::spoken;
use super::watch::Watched;
use crate::shell::{self, Failure};
use exm_design::rule_map::{Colour, Seen, View};
use exm_design::{Candidate, Layout, Model, Prepared, Specimen, simulate};
use exm_measure::figure::{Form, Plot};
use exm_measure::mean;
use exm_measure::report::{
    Block, Cell, Column, ColumnKind, Download, Figure, Page, Section, Table,
};
use exm_remy::{RemyCc, RuleTable, Signal};
use exm_sim::dumbbell::Outcome;
use exm_sim::engine;
use exm_store::counted;
use exm_table::{Provenance, TableFile};
use exm_units::Bytes;
use std::path::Path;

/// The block of specimens that the page simulates. No search, hardening or score draws it.
const BLOCK: u64 = u64::MAX;
/// How many networks the table is tried on, and how many of the worst are shown.
const TRIED: usize = 32;
const WORST: usize = 8;

/// The page about `designs`, at least one. What it shows of a table is of the last design.
pub(super) fn page(designs: &[Watched]) -> Result<Page, Failure> {
    let last = designs.last().expect("there is a design");
    let model = &last.model;
    let name = model.name().unwrap_or("a model without a name");
    let mut sections = vec![scores(designs)?];
    if let [table, ..] = last.tables.as_slice() {
        sections.extend(map(model, table, last.seed));
        sections.push(worst(last));
    }
    let mut provenance = vec![
        ("Objective".to_owned(), model.objectives()),
        ("Search".to_owned(), format!("{}, seed {}", last.search, last.seed)),
        ("Command".to_owned(), shell::command_line()),
        ("Program".to_owned(), format!("exm {}", env!("EXM_VERSION"))),
    ];
    if let [_, _, ..] = designs {
        provenance.insert(1, ("Designs".to_owned(), designs.len().to_string()));
    }
    Ok(Page { title: format!("Design: {name}"), lead: lead(last), provenance, sections })
}

/// What the design has done, and does: "Step 120, 34 rules, 41 s of CPU time; now hardening, generation 3 of 10."
fn lead(design: &Watched) -> String {
    let rules: usize = design.tables.iter().map(|table| table.rules().len()).sum();
    format!(
        "Step {}, {}, {} of CPU time; {}.",
        design.steps,
        counted(rules, "rule", "rules"),
        spoken(design.cpu_seconds),
        design.phase
    )
}

/// Score against CPU time, of those that have taken a step.
fn scores(designs: &[Watched]) -> Result<Section, Failure> {
    let begun = designs.iter().filter(|design| design.steps > 0);
    let logs: Vec<&Path> = begun.map(|design| design.log.as_path()).collect();
    let block = if logs.is_empty() {
        Block::Prose("The first step is not taken yet.".to_owned())
    } else {
        let figure = picture::figure(&Design::load(&logs)?, Several::Lines);
        Block::Figure(Figure {
            svg: figure.drawn(Form::Wide),
            narrow: Some(figure.drawn(Form::Narrow)),
            caption: "Scores in points. The best so far is judged on networks by which no candidate was chosen; a \
                      held-out score is of networks that the search never met."
                .to_owned(),
            file: "scores.svg".to_owned(),
            downloads: vec![Download {
                label: "data, CSV".to_owned(),
                file: "scores.csv".to_owned(),
                media_type: "text/csv",
                content: figure.csv(),
            }],
        })
    };
    Ok(Section { heading: "Score".to_owned(), blocks: vec![block] })
}

/// The table as a map, simulated on one network of its model; `None` if no flow there receives two ACKs.
fn map(model: &Model, table: &RuleTable, seed: u64) -> Option<Section> {
    let specimen = &model.specimens(seed, BLOCK, 1)[0];
    let transport = model.design().host.transport(RemyCc::new(table).into());
    let is_alone = model.tables().len() == 1 && specimen.network.as_dumbbell().is_some();
    // With tables or senders of several kinds, rules of other tables would fire as well.
    let network = is_alone.then(|| specimen.network.network(|_| transport.clone()))?.ok()?;
    let mut seen = Seen::default();
    engine::run_observed(&network, specimen.seed, &mut seen);
    if seen.is_empty() {
        return None;
    }
    let view = View { x: Signal::RttRatio, y: Signal::AckEwma, colour: Colour::Growth };
    let figure = Figure {
        svg: view.map("the table", table, &seen, &described(&specimen.network)).svg(),
        caption: "The rules of the table over two of its signals, on a network of its model: the fraction of ACKs \
                  for which each fired, and the way of the first flows."
            .to_owned(),
        file: "rules.svg".to_owned(),
        narrow: None,
        downloads: vec![Download {
            label: "table, JSON".to_owned(),
            file: "table.json".to_owned(),
            media_type: "application/json",
            content: TableFile { table: table.clone(), provenance: Provenance::default() }.to_json(),
        }],
    };
    Some(Section { heading: "What fires".to_owned(), blocks: vec![Block::Figure(figure)] })
}

/// The networks of the model where the tables of `design` do worst.
fn worst(design: &Watched) -> Section {
    let model = &design.model;
    let candidate: Candidate =
        design.tables.iter().map(|table| Prepared::of(model, table)).collect();
    let tried = |specimen: Specimen| {
        let outcomes = simulate(model, &specimen, &candidate);
        (model.normalised(&specimen.network, &outcomes), specimen.network, outcomes)
    };
    let mut trials: Vec<(f64, Layout, Vec<Outcome>)> =
        model.specimens(design.seed, BLOCK, TRIED).into_iter().map(tried).collect();
    trials.sort_by(|a, b| a.0.total_cmp(&b.0));
    let columns = [
        ("network", ColumnKind::Text),
        ("score", ColumnKind::Number),
        ("throughput, Mbps", ColumnKind::Number),
        ("RTT, ms", ColumnKind::Number),
    ];
    let column = |(heading, kind): (&str, ColumnKind)| Column { heading: heading.to_owned(), kind };
    let row = |(score, network, outcomes): &(f64, Layout, Vec<Outcome>)| {
        let number = |value: f64, decimals: usize| Cell::Number {
            text: format!("{value:.decimals$}"),
            tooltip: String::new(),
        };
        let active = || outcomes.iter().filter(|one| one.delivered > 0);
        let rtt = active().map(|one| one.rtt_sum.as_millis_f64() / one.delivered as f64);
        let packet_bits = packet(network).get() as f64 * 8.0;
        let mbps = active().map(|one| {
            one.delivered as f64 * packet_bits / one.active_time.as_secs_f64().max(1e-9) / 1e6
        });
        vec![
            Cell::Text(described(network)),
            number(*score, 2),
            number(mean(mbps).unwrap_or(0.0), 3),
            number(mean(rtt).unwrap_or(0.0), 1),
        ]
    };
    let table = Table {
        caption: format!(
            "The {WORST} worst of {TRIED} networks of the model that the search never meets. Scores are relative: \
             with exponents of 1, 0 is the whole share without queueing delay. Throughput and RTT are means over senders."
        ),
        columns: columns.map(column).to_vec(),
        rows: trials.iter().take(WORST).map(row).collect(),
    };
    Section { heading: "Where it does worst".to_owned(), blocks: vec![Block::Table(table)] }
}

fn packet(network: &Layout) -> Bytes {
    match network {
        Layout::Dumbbell { network, .. } => network.packet,
        Layout::Mixed(mixed) => mixed.packet,
    }
}

/// "12.5 Mbps, 150 ms, 8 senders, 100 packets".
fn described(network: &Layout) -> String {
    let link = network.bottleneck();
    let senders = counted(network.senders(), "sender", "senders");
    let buffer = link.buffer.map_or(String::new(), |buffer| format!(", buffer {buffer}"));
    let loss = link.loss.get() * 100.0;
    let loss = if loss > 0.0 { format!(", {loss:.1} % loss") } else { String::new() };
    let (rate, rtt) = (link.rate.as_mbps(), link.rtt.as_millis_f64());
    format!("{rate:.1} Mbps, {rtt:.0} ms, {senders}{buffer}{loss}")
}
