//! Results as comma-separated text: a row for each flow, or each link, of each run.

use crate::plan::{Case, Plan};
use crate::results::Results;
use crate::rows::{FlowRow, LinkRow};
use crate::store::Rows;
use std::fmt::Write;

/// What a table of values begins with: where it is from, and the names of its columns.
fn begun(results: &Results, columns: &str) -> String {
    let Results { command, hash, seed, program, .. } = results;
    format!(
        "# command: {command}\n# configuration: {hash}\n# seed: {seed}\n# version: {program}\n\
         variant,point,scheme,run,seed,{columns}\n"
    )
}

/// A row for each flow of each run.
pub(crate) fn flows(plan: &Plan, rows: &Rows, results: &Results) -> String {
    let columns = "flow,group,on_s,throughput_mbps,share,queueing_ms,rtt_ms,rtt_ratio,sent,resent,\
                   timeouts,delivered,lost,completed,completion_ms";
    let mut text = begun(results, columns);
    for (&(case, run), row) in rows {
        let case = &plan.cases[case];
        let first = first_cells(plan, case, run, row.seed);
        for (index, flow) in row.flows.iter().enumerate() {
            let group = quoted(&case.scenario.flows[flow.group].name);
            let FlowRow { on_s, sent, resent, timeouts, delivered, lost, completed, .. } = flow;
            let [throughput, share, queueing, rtt, ratio, completion] = [
                flow.throughput_mbps,
                flow.share,
                flow.queueing_ms,
                flow.rtt_ms,
                flow.rtt_ratio,
                flow.completion_ms,
            ]
            .map(cell);
            writeln!(
                text,
                "{first},{index},{group},{on_s},{throughput},{share},{queueing},{rtt},{ratio},\
                 {sent},{resent},{timeouts},{delivered},{lost},{completed},{completion}"
            )
            .expect("memory takes it");
        }
    }
    text
}

/// A row for each link of each run.
pub(crate) fn links(plan: &Plan, rows: &Rows, results: &Results) -> String {
    let columns = "link,utilisation,mean_queue,max_queue,transmitted,dropped,marked,lost";
    let mut text = begun(results, columns);
    for (&(case, run), row) in rows {
        let case = &plan.cases[case];
        let first = first_cells(plan, case, run, row.seed);
        for (link, spec) in row.links.iter().zip(&case.scenario.links) {
            let name = quoted(&spec.name);
            let LinkRow { utilisation, mean_queue, max_queue, transmitted, .. } = link;
            let LinkRow { dropped, marked, lost, .. } = link;
            writeln!(
                text,
                "{first},{name},{utilisation},{mean_queue},{max_queue},{transmitted},{dropped},\
                 {marked},{lost}"
            )
            .expect("memory takes it");
        }
    }
    text
}

fn first_cells(plan: &Plan, case: &Case, run: u64, seed: u64) -> String {
    let experiment = &plan.experiment;
    let variant = quoted(&experiment.variants[case.variant].name);
    let point = quoted(&experiment.points()[case.point].label);
    let scheme = quoted(&experiment.schemes[case.scheme].name);
    format!("{variant},{point},{scheme},{run},{seed}")
}

fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// `text` as a cell (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(quoted("Cubic/sfqCoDel"), "Cubic/sfqCoDel");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!((cell(None), cell(Some(1.5))), (String::new(), "1.5".to_owned()));
    }
}
