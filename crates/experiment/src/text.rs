//! Results as tables.

use crate::metric::Metric;
use crate::results::{CaseResult, Comparison, PublishedNumber, Ratio, Results, Simulated};
use crate::summary::Summary;
use exm_measure::report::{Cell, Column, ColumnKind, Table};
use exm_store::counted;
use std::fmt::Write;

/// The metrics that tell how far senders and runs differ.
const DEVIATIONS: [&str; 2] = ["sd_throughput", "sd_queueing"];

impl Results {
    /// The subject of the tables, in a line.
    pub fn headline(&self) -> String {
        let mut text = self.title.clone().unwrap_or_else(|| self.experiment.clone());
        if let Some(source) = &self.source {
            write!(text, " ({source})").expect("memory takes it");
        }
        text
    }

    /// How the results were made, in a line.
    pub fn method(&self) -> String {
        let runs = counted(self.runs, "run", "runs");
        let live = if self.is_live { " in real time" } else { "" };
        let mut text = format!("{runs} of {}{live}, seed {}", self.duration, self.seed);
        if !self.host.is_empty() {
            write!(text, ", host {}", self.host).expect("memory takes it");
        }
        let is_median =
            |column: &String| ["throughput", "queueing", "rtt"].contains(&column.as_str());
        if self.columns.iter().any(is_median) {
            text += match self.runs_are_identical() {
                true => {
                    ". The runs of each scheme are identical, because nothing is random: one run is enough"
                }
                false => {
                    ". Throughput, queueing delay and RTT are medians over senders and runs; after ± \
                     stands the standard deviation"
                }
            };
        }
        text
    }

    /// Whether there are several runs, and no seed made a difference: the standard deviations over senders and
    /// runs are 0.
    fn runs_are_identical(&self) -> bool {
        let own = || self.cases.iter().map(|case| &case.own.values);
        let is_measured =
            own().any(|values| DEVIATIONS.iter().any(|key| values.contains_key(*key)));
        let deviations =
            own().flat_map(|values| DEVIATIONS.iter().filter_map(|&key| values.get(key)));
        self.runs > 1
            && is_measured
            && deviations.into_iter().all(|deviation| deviation.abs() < 1e-9)
    }

    /// All tables: the ranks of schemes over all settings, and their harm to others; for each of the settings the
    /// schemes' results, the reference compared with others, and the papers' numbers beside ours.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.tables_across();
        for variant in &self.variants {
            tables.push(self.main_table(variant));
            let compared = self.references.iter();
            tables.extend(compared.filter_map(|one| self.comparison_table(variant, one)));
            tables.extend(self.paper_table(variant));
            tables.extend(self.simulated_table(variant));
        }
        tables
    }

    fn main_table(&self, variant: &str) -> Table {
        let cases: Vec<&CaseResult> =
            self.cases.iter().filter(|case| case.variant == variant).collect();
        let is_grouped = cases.iter().any(|case| !case.groups.is_empty());
        let metrics = self.columns.iter().filter_map(|column| Metric::named(column));
        let is_identical = self.runs_are_identical();
        let shown: Vec<Metric> = metrics
            .filter(|metric| cases.iter().any(|case| case.has_metric(metric.key)))
            .filter(|metric| !(is_identical && DEVIATIONS.contains(&metric.key)))
            .collect();
        let mut columns = self.first_columns("scheme");
        columns.extend(is_grouped.then(|| Column::new("flows", ColumnKind::Text)));
        columns.extend(
            shown
                .iter()
                .map(|metric| Column::new(metric.heading.join(" ").trim_end(), ColumnKind::Number)),
        );
        let mut rows = Vec::new();
        for case in cases {
            // Different groups of flows have no common median.
            let is_pooled = case.groups.iter().filter(|group| group.is_own).count() > 1;
            let row = |flows: &str, summary: &Summary| {
                let mut cells = self.first_cells(&case.point, &case.scheme);
                cells.extend(is_grouped.then(|| Cell::text(flows)));
                cells.extend(shown.iter().map(|metric| cell(summary, metric)));
                cells
            };
            if is_pooled {
                let mut all = case.own.clone();
                all.values.retain(|key, _| crate::rows::of_flow(key).is_none());
                rows.push(row("all", &all));
            } else if case.groups.is_empty() {
                rows.push(row("all", &case.own));
            }
            rows.extend(case.groups.iter().map(|group| row(&group.name, &group.summary)));
        }
        Table { caption: variant.to_owned(), columns, rows }
    }

    fn first_columns(&self, scheme: &str) -> Vec<Column> {
        let swept = self.sweep.iter().map(|sweep| Column::new(sweep, ColumnKind::Text));
        swept.chain([Column::new(scheme, ColumnKind::Text)]).collect()
    }

    fn first_cells(&self, point: &str, scheme: &str) -> Vec<Cell> {
        let point = self.sweep.as_ref().map(|_| Cell::text(point));
        point.into_iter().chain([Cell::text(scheme)]).collect()
    }

    fn comparison_table(&self, variant: &str, reference: &str) -> Option<Table> {
        let is_shown = |one: &&Comparison| one.variant == variant && one.reference == reference;
        let comparisons: Vec<&Comparison> = self.comparisons.iter().filter(is_shown).collect();
        let ratios = comparisons.iter().flat_map(|one| [one.speedup, one.delay_reduction]);
        let has_paper = ratios.flatten().any(|ratio| ratio.paper.is_some());
        let kind = if has_paper { ColumnKind::Compared } else { ColumnKind::Number };
        let mut columns = self.first_columns("over");
        let has_groups = comparisons.iter().any(|one| one.flows.is_some());
        columns.extend(has_groups.then(|| Column::new("flows", ColumnKind::Text)));
        let ratios = comparisons.iter().flat_map(|one| [one.speedup, one.delay_reduction]);
        let is_sure = ratios.flatten().any(|ratio| ratio.interval.is_some());
        for heading in ["speed-up", "delay ratio"] {
            columns.push(Column::new(heading, kind));
            columns.extend(is_sure.then(|| Column::new("interval 95 %", ColumnKind::Number)));
        }
        let has_lead = self.columns.iter().any(|key| key == "objective");
        for heading in ["lead in objective", "interval 95 %"] {
            columns.extend(has_lead.then(|| Column::new(heading, ColumnKind::Number)));
        }
        let rows = comparisons.iter().map(|one| {
            let mut cells = self.first_cells(&one.point, &one.scheme);
            cells.extend(has_groups.then(|| Cell::text(one.flows.clone().unwrap_or_default())));
            for ratio in [one.speedup, one.delay_reduction] {
                let [value, interval] = ratio_cells(ratio, has_paper);
                cells.push(value);
                cells.extend(is_sure.then_some(interval));
            }
            if has_lead {
                let range = |[low, high]: [f64; 2]| format!("{low:.3} to {high:.3}");
                cells.push(one.lead.map_or(Cell::Empty, |lead| Cell::number(lead.ours, 3)));
                let interval = one.lead.and_then(|lead| lead.interval);
                cells.push(interval.map_or(Cell::Empty, |ends| Cell::text(range(ends))));
            }
            cells
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        let caption = self.comparison_caption(variant, reference);
        (!rows.is_empty()).then_some(Table { caption, columns, rows })
    }

    fn simulated_table(&self, variant: &str) -> Option<Table> {
        let is_shown = |one: &&Simulated| one.variant == variant;
        let mut columns = self.first_columns("scheme");
        columns.push(Column::new("quantity", ColumnKind::Text));
        columns.extend(
            ["measured live", "interval 95 %", "simulated", "live/simulated"]
                .map(|heading| Column::new(heading, ColumnKind::Number)),
        );
        columns.push(Column::new("four simulated runs of five", ColumnKind::Text));
        let rows = self.simulated.iter().filter(is_shown).map(|one| {
            let metric = Metric::named(&one.metric);
            let decimals = metric.map_or(3, |metric| metric.decimals);
            let mut cells = self.first_cells(&one.point, &one.scheme);
            cells.push(Cell::text(metric.map_or(one.metric.as_str(), |metric| metric.words)));
            let range = |range: Option<[f64; 2]>| {
                let text =
                    range.map(|[low, high]| format!("{low:.decimals$} to {high:.decimals$}"));
                Cell::text(text.unwrap_or_default())
            };
            cells.push(Cell::number(one.live, decimals));
            cells.push(range(one.live_interval));
            cells.push(Cell::number(one.simulated, decimals));
            cells.push(Cell::number(one.live / one.simulated, 3));
            cells.push(range(one.range));
            cells
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        let caption =
            "Measurements in real time, beside simulations of the same networks".to_owned();
        (!rows.is_empty()).then_some(Table { caption, columns, rows })
    }

    fn comparison_caption(&self, variant: &str, reference: &str) -> String {
        let [x, y] = self.axes.each_ref().map(|key| {
            let words = Metric::named(key).map_or(key.as_str(), |metric| metric.words);
            words.split_once(',').map_or(words, |(quantity, _)| quantity)
        });
        if self.mean.as_deref() == Some(variant) {
            return format!(
                "{reference} over each other scheme: the mean of its {y} over theirs, and the mean of \
                 their {x} over that of its"
            );
        }
        format!(
            "{reference} over each other scheme: its median {y} over theirs, and their median {x} over \
             its"
        )
    }

    fn paper_table(&self, variant: &str) -> Option<Table> {
        let numbers: Vec<&PublishedNumber> =
            self.paper.iter().filter(|one| one.variant == variant).collect();
        let has_groups = numbers.iter().any(|one| one.group.is_some());
        let mut columns = self.first_columns("scheme");
        columns.extend(has_groups.then(|| Column::new("flows", ColumnKind::Text)));
        columns.push(Column::new("quantity", ColumnKind::Text));
        columns.push(Column::new("value", ColumnKind::Compared));
        let rows = numbers.iter().map(|one| {
            let metric = Metric::named(&one.metric);
            let mut cells = self.first_cells(&one.point, &one.scheme);
            cells.extend(has_groups.then(|| Cell::text(one.group.clone().unwrap_or_default())));
            cells.push(Cell::text(metric.map_or(one.metric.as_str(), |metric| metric.words)));
            cells.push(Cell::compared(one.ours, Some(one.paper), 2));
            cells
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        let given = numbers.iter().any(|one| one.is_given);
        let whose = if given { "The numbers given with the traces" } else { "The papers' numbers" };
        let caption = format!("{whose} beside ours");
        (!rows.is_empty()).then_some(Table { caption, columns, rows })
    }
}

impl CaseResult {
    fn has_metric(&self, key: &str) -> bool {
        self.own.values.contains_key(key)
            || self.groups.iter().any(|group| group.summary.values.contains_key(key))
    }
}

fn cell(summary: &Summary, metric: &Metric) -> Cell {
    let Some(&value) = summary.values.get(metric.key) else { return Cell::Empty };
    match (Cell::number(value, metric.decimals), summary.intervals.get(metric.key)) {
        (Cell::Number { text, tooltip }, Some([low, high])) => {
            Cell::Number { text, tooltip: format!("{tooltip}, 95 % interval {low} to {high}") }
        }
        (cell, _) => cell,
    }
}

/// Ours, beside the paper's if there is any, and its interval.
fn ratio_cells(ratio: Option<Ratio>, has_paper: bool) -> [Cell; 2] {
    let Some(ratio) = ratio else { return [Cell::Empty, Cell::Empty] };
    let value = match has_paper {
        true => Cell::compared(Some(ratio.ours), ratio.paper, 2),
        false => Cell::number(ratio.ours, 2),
    };
    let interval = ratio.interval.map_or(Cell::Empty, |[low, high]| Cell::Number {
        text: format!("{low:.2} to {high:.2}"),
        tooltip: String::new(),
    });
    [value, interval]
}
