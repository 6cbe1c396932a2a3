//! Ranks and harm as tables and in words.

use super::{Harm, Rank};
use crate::metric::Metric;
use crate::results::Results;
use exm_measure::report::{Cell, Column, ColumnKind, Table};

/// The settings of a table as headings of columns: variants whose names begin with a short one before a colon are
/// headed by that, if no others begin alike.
fn headings<'a>(settings: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let names = settings.map(|(variant, point)| {
        let name = [variant, point].into_iter().filter(|part| !part.is_empty());
        name.collect::<Vec<_>>().join(", ")
    });
    let names: Vec<String> = names.collect();
    fn start(name: &str) -> &str {
        name.split(':').next().unwrap_or(name)
    }
    let heading = |name: &String| {
        let alike = names.iter().filter(|other| start(other) == start(name)).count();
        if alike > 1 { name.clone() } else { start(name).to_owned() }
    };
    names.iter().map(heading).collect()
}

/// The name of a metric without its unit.
fn words(key: &str) -> String {
    match Metric::named(key) {
        // Its own words are a formula.
        Some(metric) if metric.key != "objective" => {
            let words = metric.words;
            words.rsplit_once(',').map_or(words, |(quantity, _)| quantity).to_owned()
        }
        _ => key.to_owned(),
    }
}

/// A value with two decimals; next to nothing has no sign.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn range(ends: [f64; 2]) -> String {
    let [low, high] = ends.map(short);
    format!("{low} to {high}")
}

/// A scheme, its mean and the interval of that.
fn part(scheme: &str, mean: f64, interval: Option<[f64; 2]>) -> String {
    let ends = interval.map_or(String::new(), |ends| format!(", 95 % interval {}", range(ends)));
    format!("{scheme} ({}{ends})", short(mean))
}

/// A value and its interval.
fn sure(value: Option<f64>, interval: Option<[f64; 2]>) -> Cell {
    let Some(value) = value else { return Cell::Empty };
    let ends = interval.map_or(String::new(), |ends| format!(" ({})", range(ends)));
    Cell::Number { text: format!("{}{ends}", short(value)), tooltip: format!("{value}") }
}

fn interval_cell(interval: Option<[f64; 2]>) -> Cell {
    interval.map_or(Cell::Empty, |ends| Cell::text(range(ends)))
}

impl Results {
    /// The tables of ranks, one for each metric, and of harm, one for each metric and reference.
    pub(crate) fn tables_across(&self) -> Vec<Table> {
        let ranks = self.ranks.chunk_by(|a, b| a.metric == b.metric).map(rank_table);
        let same = |a: &Harm, b: &Harm| (&a.metric, &a.reference) == (&b.metric, &b.reference);
        ranks.chain(self.harms.chunk_by(same).map(harm_table)).collect()
    }

    /// In a sentence, which schemes have the best mean ranks.
    pub(crate) fn best_ranks(&self) -> Option<String> {
        let [first, second, ..] = self.ranks.chunk_by(|a, b| a.metric == b.metric).next()? else {
            return None;
        };
        let part = |one: &Rank| part(&one.scheme, one.mean, one.interval);
        Some(format!(
            "Ranked by {} on {} networks, {} has the best mean rank, followed by {}.",
            words(&first.metric),
            first.each.len(),
            part(first),
            part(second)
        ))
    }

    /// In a sentence, which schemes harm others the most and the least.
    pub(crate) fn most_harmful(&self) -> Option<String> {
        let same = |a: &Harm, b: &Harm| (&a.metric, &a.reference) == (&b.metric, &b.reference);
        let known: Vec<&Harm> =
            self.harms.chunk_by(same).next()?.iter().filter(|one| one.mean.is_some()).collect();
        let [most, .., least] = known[..] else { return None };
        let part = |one: &Harm| part(&one.scheme, one.mean.unwrap_or_default(), one.interval);
        Some(format!(
            "On average over {} networks, the most harm to {}'s {}, compared with what it has beside {}, is by {}, the \
             least by {}.",
            most.each.len(),
            most.flow,
            words(&most.metric),
            most.reference,
            part(most),
            part(least)
        ))
    }
}

fn rank_table(ranks: &[Rank]) -> Table {
    let mut columns = vec![Column::new("scheme", ColumnKind::Text)];
    columns.extend(
        ["mean rank", "interval 95 %"].map(|heading| Column::new(heading, ColumnKind::Number)),
    );
    let settings = ranks.first().into_iter().flat_map(|rank| &rank.each);
    let headings = headings(settings.map(|one| (one.variant.as_str(), one.point.as_str())));
    columns.extend(headings.iter().map(|heading| Column::new(heading, ColumnKind::Number)));
    let row = |rank: &Rank| {
        let mut cells = vec![
            Cell::text(&*rank.scheme),
            Cell::number(rank.mean, 2),
            interval_cell(rank.interval),
        ];
        let decimals = |rank: f64| usize::from(rank.fract() != 0.0);
        cells.extend(rank.each.iter().map(|one| Cell::number(one.rank, decimals(one.rank))));
        cells
    };
    let metric = ranks.first().map_or(String::new(), |rank| words(&rank.metric));
    Table {
        caption: format!(
            "Ranks by {metric}: 1 is the best, and equal schemes share the mean of theirs"
        ),
        columns,
        rows: ranks.iter().map(row).collect(),
    }
}

fn harm_table(harms: &[Harm]) -> Table {
    let mut columns = vec![Column::new("scheme", ColumnKind::Text)];
    columns.extend(
        ["mean harm", "interval 95 %"].map(|heading| Column::new(heading, ColumnKind::Number)),
    );
    let settings = harms.first().into_iter().flat_map(|harm| &harm.each);
    let headings = headings(settings.map(|one| (one.variant.as_str(), one.point.as_str())));
    columns.extend(headings.iter().map(|heading| Column::new(heading, ColumnKind::Number)));
    let row = |harm: &Harm| {
        let mut cells =
            vec![Cell::text(&*harm.scheme), sure(harm.mean, None), interval_cell(harm.interval)];
        cells.extend(harm.each.iter().map(|one| sure(one.harm, one.interval)));
        cells
    };
    let caption = harms.first().map_or(String::new(), |one| {
        format!(
            "Harm to {}'s {}, compared with what it has beside {}: 1 is the most, and less than 0 a benefit; 95 % \
             intervals in brackets",
            one.flow,
            words(&one.metric),
            one.reference
        )
    });
    Table { caption, columns, rows: harms.iter().map(row).collect() }
}
