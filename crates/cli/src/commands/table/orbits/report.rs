//! The figures of orbits, as text and as JSON.

use super::name_of;
use crate::layout;
use exm_ratatouille::{Agreement, OrbitSummary, OrbitSurvey, Quantiles};
use exm_store::{Columns, counted};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// What is printed.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    pub(super) table: &'a Path,
    /// The links, in a line.
    pub(super) networks: String,
    pub(super) seed: u64,
    #[serde(flatten)]
    pub(super) survey: OrbitSurvey,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OrbitSurvey { links, predicted, simulated, shared, .. } = &self.survey;
        let links = counted(*links as u64, "link", "links");
        writeln!(f, "{} on {links}: {}", name_of(self.table), self.networks)?;
        let orbits = [
            ("one flow, predicted", predicted),
            ("one flow, simulated", simulated),
            ("first of two flows", shared),
        ];
        let mut columns = Columns::new(1);
        let heads = ["orbits, % of links", "rest", "cycle", "neither", "state returns"];
        columns.line(heads.map(str::to_owned));
        for (name, summary) in orbits {
            columns.line(kinds(name, summary));
        }
        write!(f, "\n{}", layout::table(&columns))?;
        let mut columns = Columns::new(1);
        columns.line(
            ["10 %, median, 90 %", "period, RTTs", "amplitude / ideal", "in flight / ideal"]
                .map(str::to_owned),
        );
        for (name, summary) in orbits {
            columns.line(quantiles(name, summary));
        }
        write!(f, "\n{}", layout::table(&columns))?;
        self.agreements(f)
    }
}

impl Report<'_> {
    fn agreements(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OrbitSurvey { one_flow, two_flows, two_flows_by_half, balance, .. } = &self.survey;
        let mut columns = Columns::new(1);
        let heads = ["agree within 5 %, % of links", "kind", "period", "amplitude", "both"];
        columns.line(heads.map(str::to_owned));
        let mut errors = Columns::new(1);
        let heads = ["median error, %", "period", "amplitude", "in flight"];
        errors.line(heads.map(str::to_owned));
        let agreements = [
            ("one flow: predicted, simulated", one_flow),
            ("one flow predicted, first of two", two_flows),
            ("one at half the rate, first of two", two_flows_by_half),
        ];
        for (name, agreement) in agreements {
            let Agreement { kind, period, amplitude, both, .. } = *agreement;
            let parts = [kind, period, amplitude, both].map(|part| percent(Some(part)));
            columns.line([name.to_owned()].into_iter().chain(parts));
            let Agreement { period_error, amplitude_error, in_flight_error, .. } = *agreement;
            let parts = [period_error, amplitude_error, in_flight_error].map(percent);
            errors.line([name.to_owned()].into_iter().chain(parts));
        }
        let none = || "-".to_owned();
        let error = percent(balance.in_flight_error);
        errors.line(["one flow by its balance".to_owned(), none(), none(), error]);
        write!(f, "\n{}\n{}", layout::table(&columns), layout::table(&errors))?;
        let part = percent(Some(balance.in_flight));
        writeln!(
            f,
            "\nThe balance is within 5 % of the simulated mean in flight on {part} % of links."
        )
    }
}

fn kinds(name: &str, summary: &OrbitSummary) -> [String; 5] {
    let OrbitSummary { rest, cycle, irregular, exact, .. } = *summary;
    let [rest, cycle, irregular] = [rest, cycle, irregular].map(|part| percent(Some(part)));
    // It is looked for in predictions only.
    let exact = percent(Some(exact).filter(|exact| *exact > 0.0));
    [name.to_owned(), rest, cycle, irregular, exact]
}

fn quantiles(name: &str, summary: &OrbitSummary) -> [String; 4] {
    let three = |quantiles: Option<Quantiles>| {
        quantiles.map_or("-".to_owned(), |Quantiles { low, median, high }| {
            format!("{low:.2}  {median:.2}  {high:.2}")
        })
    };
    let OrbitSummary { period, amplitude, in_flight, .. } = *summary;
    [name.to_owned(), three(period), three(amplitude), three(in_flight)]
}

fn percent(part: Option<f64>) -> String {
    part.map_or("-".to_owned(), |part| format!("{:.1}", part * 100.0))
}
