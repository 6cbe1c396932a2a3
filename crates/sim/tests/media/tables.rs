//! The tables of the page `results/media.md`.

use super::CONTROLLERS;
use super::cases::{
    CAPACITY, ONE_WAY, Outcome, beside_tcp, even_frames, unequal_delays, variable_capacity,
};
use super::rfc8868::{BESIDE, LATER, Phase, Sharing, even_after, phase, sharing};
use exm_measure::Estimate;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// Other seeds than those of the tests, which the tests' bounds were not chosen by.
const SEEDS: RangeInclusive<u64> = 101..=120;

fn run(case: impl Fn(&str, u64) -> Outcome, controller: &str) -> Vec<Outcome> {
    SEEDS.map(|seed| case(controller, seed)).collect()
}

/// The mean of `of` over `all`, times `scale`, with its interval.
fn cell<T>(all: &[T], scale: f64, decimals: usize, of: impl Fn(&T) -> f64) -> String {
    let values: Vec<f64> = all.iter().map(|one| of(one) * scale).collect();
    Estimate::of(&values).text(decimals)
}

/// Times of those runs that have one, and how many these are.
fn times(all: &[Option<f64>]) -> String {
    let settled: Vec<f64> = all.iter().flatten().copied().collect();
    let time = Estimate::of_any(&settled).map_or("–".into(), |time| time.text(1));
    format!("{} of {} | {time}", settled.len(), all.len())
}

fn capacity_table() -> String {
    let mut text = String::from(
        "| controller | Mbps | settled in | after s | deviation %, 1 s | 200 ms | swings | used % | unused % | above % | and in the phase |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut whole = String::from(
        "| controller | yields at 60 s in | after s | queueing ms, 95 % | lost % |\n|---|---:|---:|---:|---:|\n",
    );
    for controller in CONTROLLERS {
        let outcomes = run(variable_capacity, controller);
        for (index, (_, capacity)) in CAPACITY.iter().enumerate() {
            let all: Vec<Phase> = outcomes.iter().map(|outcome| phase(outcome, index)).collect();
            let settled: Vec<_> = all.iter().map(|phase| phase.settled).collect();
            let cells = [
                times(&settled),
                cell(&all, 100.0, 1, |phase| phase.deviation[0]),
                cell(&all, 100.0, 1, |phase| phase.deviation[1]),
                all.iter().map(|phase| phase.swings).sum::<usize>().to_string(),
                cell(&all, 100.0, 1, |phase| phase.used.mean),
                cell(&all, 100.0, 1, |phase| phase.used.unused),
                cell(&all, 100.0, 1, |phase| phase.over[1]),
                cell(&all, 100.0, 1, |phase| phase.over[0]),
            ];
            writeln!(text, "| {controller} | {capacity} | {} |", cells.join(" | ")).expect("text");
        }
        let queueing = cell(&outcomes, 1.0, 0, |outcome| outcome.queueing(0));
        let lost = cell(&outcomes, 1.0, 2, |outcome| outcome.lost(0));
        let yielded: Vec<_> = outcomes.iter().map(|outcome| phase(outcome, 2).yielded).collect();
        let yielded = times(&yielded);
        writeln!(whole, "| {controller} | {yielded} | {queueing} | {lost} |").expect("text");
    }
    text + "\n" + &whole
}

fn even_table() -> String {
    let mut text = String::from(
        "| controller | Mbps | settled after s | deviation %, 1 s | used % | above % |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for controller in CONTROLLERS {
        let outcome = even_frames(controller);
        for (index, (_, capacity)) in CAPACITY.iter().enumerate() {
            let Phase { settled, deviation, used, over, .. } = phase(&outcome, index);
            let settled = settled.map_or("–".into(), |time| format!("{time:.1}"));
            let figures =
                [deviation[0], used.mean, over[1]].map(|part| format!("{:.1}", part * 100.0));
            let figures = figures.join(" | ");
            writeln!(text, "| {controller} | {capacity} | {settled} | {figures} |").expect("text");
        }
    }
    text
}

fn delays_table() -> String {
    let mut text = String::from(
        "| controller | within 3 in | after s | Jain, 1 s | 5 s | 20 s | most / least | deviation %, 1 s | used % | above % | queueing ms, 95 % | lost % |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut rates = String::from(
        "| controller | 10 ms | 25 ms | 50 ms | 100 ms | 150 ms |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for controller in CONTROLLERS {
        let outcomes = run(unequal_delays, controller);
        let all: Vec<Sharing> =
            outcomes.iter().map(|outcome| sharing(outcome, 4.0, LATER)).collect();
        let flows = 0..ONE_WAY.len();
        let mean = |outcome: &Outcome, of: &dyn Fn(usize) -> f64| {
            let flows = 0..outcome.sent.len();
            flows.map(of).sum::<f64>() / outcome.sent.len() as f64
        };
        let cells = [
            times(&outcomes.iter().map(even_after).collect::<Vec<_>>()),
            cell(&all, 1.0, 3, |all| all.jain[0]),
            cell(&all, 1.0, 3, |all| all.jain[1]),
            cell(&all, 1.0, 3, |all| all.jain[2]),
            cell(&all, 1.0, 2, most_over_least),
            cell(&all, 100.0, 1, |all| all.deviation),
            cell(&all, 100.0, 1, |all| all.used),
            cell(&all, 100.0, 1, |all| all.over),
            cell(&outcomes, 1.0, 0, |outcome| mean(outcome, &|flow| outcome.queueing(flow))),
            cell(&outcomes, 1.0, 2, |outcome| mean(outcome, &|flow| outcome.lost(flow))),
        ];
        writeln!(text, "| {controller} | {} |", cells.join(" | ")).expect("text");
        let each: Vec<_> = flows.map(|flow| cell(&all, 1.0, 2, |all| all.rates[flow])).collect();
        writeln!(rates, "| {controller} | {} |", each.join(" | ")).expect("text");
    }
    text + "\n" + &rates
}

fn most_over_least(all: &Sharing) -> f64 {
    let rates = || all.rates.iter().copied();
    rates().fold(0.0, f64::max) / rates().fold(f64::INFINITY, f64::min)
}

fn tcp_table() -> String {
    let mut text = String::from(
        "| controller | video Mbps | Cubic Mbps | video / Cubic | Jain, 1 s | 5 s | 20 s | used % | queueing ms, 95 % | lost % |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for controller in CONTROLLERS {
        let outcomes = run(beside_tcp, controller);
        let all: Vec<Sharing> =
            outcomes.iter().map(|outcome| sharing(outcome, 2.0, BESIDE)).collect();
        let cells = [
            cell(&all, 1.0, 3, |all| all.rates[0]),
            cell(&all, 1.0, 3, |all| all.rates[1]),
            cell(&all, 1.0, 3, |all| all.rates[0] / all.rates[1]),
            cell(&all, 1.0, 3, |all| all.jain[0]),
            cell(&all, 1.0, 3, |all| all.jain[1]),
            cell(&all, 1.0, 3, |all| all.jain[2]),
            cell(&all, 100.0, 1, |all| all.used),
            cell(&outcomes, 1.0, 0, |outcome| outcome.queueing(0)),
            cell(&outcomes, 1.0, 2, |outcome| outcome.lost(0)),
        ];
        writeln!(text, "| {controller} | {} |", cells.join(" | ")).expect("text");
    }
    text
}

#[test]
#[ignore = "a measurement: it prints the tables of results/media.md"]
fn tables_of_the_page() {
    let tables = [
        ("5.1", capacity_table()),
        ("5.1, even frames", even_table()),
        ("5.5", delays_table()),
        ("5.6", tcp_table()),
    ];
    for (section, table) in tables {
        println!("Section {section}\n\n{table}");
    }
}
