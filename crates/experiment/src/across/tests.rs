//! Ranks and harm by hand.

use super::*;
use crate::experiment::Experiment;
use crate::plan::Options;
use crate::results::Results;
use crate::rows::{FlowRow, RunRow};
use std::path::Path;

const FILE: &str = r#"
duration = "1 s"

[[link]]
name = "link"
rate = "10 Mbps"

[[flow]]
name = "tested"
rtt = "100 ms"
controller = "scheme"
traffic.on = "always"

[[flow]]
name = "neighbour"
rtt = "100 ms"
controller = "cubic"
traffic.on = "always"

[experiment]
runs = 2
columns = ["throughput"]
ranks = ["throughput", "queueing"]

[experiment.harm]
flow = "neighbour"
reference = "Reno"

[[experiment.variant]]
name = "slow: 1 Mbps"

[[experiment.variant]]
name = "fast: 2 Mbps"

[[experiment.scheme]]
name = "Reno"
controller = "reno"

[[experiment.scheme]]
name = "Vegas"
controller = "vegas"

[[experiment.scheme]]
name = "BBR"
controller = "bbr"
"#;

fn planned(text: &str) -> Result<Plan, String> {
    let experiment = Experiment::parse(text, "a.toml", Path::new(""));
    let experiment = experiment.map_err(|error| error.to_string())?;
    let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
    plan.map_err(|error| error.to_string())
}

fn flow(group: usize, throughput: f64, queueing: f64) -> FlowRow {
    FlowRow {
        on_s: 1.0,
        throughput_mbps: Some(throughput),
        queueing_ms: Some(queueing),
        ..FlowRow::of_group(group)
    }
}

/// Rows of the plan of [`FILE`]: the throughput of the tested flow in each case and run, and that of its neighbour.
fn rows<const CASES: usize>(throughputs: [[[f64; 2]; 2]; CASES]) -> Rows {
    let mut rows = Rows::new();
    for (case, runs) in throughputs.into_iter().enumerate() {
        for (run, [tested, neighbour]) in runs.into_iter().enumerate() {
            let flows = vec![flow(0, tested, 10.0), flow(1, neighbour, 100.0 / neighbour)];
            rows.insert((case, run as u64), RunRow { seed: 1, flows, links: Vec::new() });
        }
    }
    rows
}

/// Vegas is first in both runs of both variants; Reno and BBR are equal in the first variant, and change places from run
/// to run of the second.
const THROUGHPUTS: [[[f64; 2]; 2]; 6] = [
    [[1.0, 8.0], [1.0, 4.0]],
    [[9.0, 4.0], [9.0, 2.0]],
    [[1.0, 8.0], [1.0, 8.0]],
    [[1.0, 8.0], [4.0, 4.0]],
    [[9.0, 4.0], [9.0, 2.0]],
    [[2.0, 16.0], [2.0, 16.0]],
];

#[test]
fn ranks_are_shared_by_equals() {
    let of = |better, values: &[f64]| {
        ranked(better, &values.iter().map(|&value| Some(value)).collect::<Vec<_>>())
    };
    assert_eq!(of(Better::More, &[3.0, 1.0, 2.0]), [1.0, 3.0, 2.0]);
    assert_eq!(of(Better::Less, &[3.0, 1.0, 2.0]), [3.0, 1.0, 2.0]);
    assert_eq!(of(Better::More, &[2.0, 5.0, 2.0, 1.0]), [2.5, 1.0, 2.5, 4.0]);
    assert_eq!(of(Better::Less, &[1.0, 1.0, 1.0]), [2.0, 2.0, 2.0]);
    assert_eq!(ranked(Better::Less, &[None, Some(7.0), None]), [2.5, 1.0, 2.5]);
    assert_eq!(ranked(Better::More, &[Some(f64::NAN), Some(-7.0)]), [2.0, 1.0]);
}

#[test]
fn mean_ranks_by_hand() {
    let plan = planned(FILE).expect("is valid");
    let rows = rows(THROUGHPUTS);
    let found = ranks(&plan, &rows);
    let by_throughput: Vec<(&str, f64, Option<[f64; 2]>)> =
        found[..3].iter().map(|one| (one.scheme.as_str(), one.mean, one.interval)).collect();
    // Of the second variant, Reno has 1 and 4 Mbps, so 2.5 in the median of both runs, and BBR 2; but each of the runs
    // may be drawn twice.
    assert_eq!(
        by_throughput,
        [
            ("Vegas", 1.0, Some([1.0, 1.0])),
            ("Reno", 2.25, Some([2.25, 2.75])),
            ("BBR", 2.75, Some([2.25, 2.75]))
        ]
    );
    let each = |one: &Rank| one.each.iter().map(|one| one.rank).collect::<Vec<_>>();
    assert_eq!(each(&found[1]), [2.5, 2.0]);
    assert_eq!(found[1].each[1].variant, "fast: 2 Mbps");
    assert!(found[3..].iter().all(|one| one.metric == "queueing" && one.mean == 2.0), "{found:?}");
}

#[test]
fn harm_by_hand() {
    let plan = planned(FILE).expect("is valid");
    let rows = rows(THROUGHPUTS);
    let found = harms(&plan, &rows);
    let [vegas, bbr, ..] = &found[..] else { panic!("{found:?}") };
    // Beside Reno it has 6 Mbps on average, beside Vegas 3, and beside BBR 8 and 16.
    assert_eq!((vegas.scheme.as_str(), vegas.metric.as_str()), ("Vegas", "mean_throughput"));
    assert_eq!((vegas.mean, vegas.interval), (Some(0.5), Some([0.5, 0.5])));
    assert_eq!(bbr.each[0].harm, Some((6.0 - 8.0) / 6.0));
    assert_eq!(bbr.each[1].interval, Some([-3.0, -1.0]));
    // By the delay, which is 100 over the throughput.
    let by_delay: Vec<&Harm> = found.iter().filter(|one| one.metric == "mean_queueing").collect();
    assert_eq!((by_delay.len(), by_delay[0].scheme.as_str()), (2, "Vegas"));
    assert_eq!(by_delay[0].each[0].harm, Some(0.5));
}

#[test]
fn intervals_include_the_luck_of_designs() {
    let text = FILE.replace("controller = \"vegas\"", "controller = [\"vegas\", \"compound\"]");
    let plan = planned(&text).expect("is valid");
    // Beside Reno the neighbour has 6 Mbps, beside one of the designs 3 and beside the other 1.
    let alike = [
        [[2.0, 6.0], [2.0, 6.0]],
        [[3.0, 3.0], [3.0, 3.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[0.5, 6.0], [0.5, 6.0]],
    ];
    let mut twice = [[[0.0; 2]; 2]; 8];
    twice[..4].copy_from_slice(&alike);
    twice[4..].copy_from_slice(&alike);
    let rows = rows(twice);
    let near = |interval: Option<[f64; 2]>, mean: f64, reach: f64| {
        let [low, high] = interval.expect("there is one");
        assert!(
            (low - mean + reach).abs() < 1e-3 && (high - mean - reach).abs() < 1e-3,
            "{low} to {high}"
        );
    };
    // Student's t for two designs is 12.706, their standard error half of what is between them.
    let harm = &harms(&plan, &rows)[0];
    assert_eq!((harm.scheme.as_str(), harm.mean), ("Vegas", Some(2.0 / 3.0)));
    near(harm.interval, 2.0 / 3.0, 12.706 / 6.0);
    near(harm.each[1].interval, 2.0 / 3.0, 12.706 / 6.0);
    // Its mean of 2 Mbps is as much as Reno has; one design is first, the other second.
    let ranks = ranks(&plan, &rows);
    let rank = ranks.iter().find(|one| one.scheme == "Vegas").expect("there is one");
    assert_eq!(rank.mean, 1.5);
    near(rank.interval, 1.5, 12.706 / 2.0);
}

#[test]
fn one_run_has_no_interval() {
    let plan = planned(FILE).expect("is valid");
    let mut rows = rows(THROUGHPUTS);
    rows.retain(|&(_, run), _| run == 0);
    assert!(ranks(&plan, &rows).iter().all(|one| one.interval.is_none()));
    assert!(harms(&plan, &rows).iter().all(|one| one.interval.is_none() && one.mean.is_some()));
}

#[test]
fn tables_of_ranks_and_harm() {
    let plan = planned(FILE).expect("is valid");
    let results = Results::new(&plan, &rows(THROUGHPUTS), "exm".to_owned());
    let tables = results.tables();
    let headings = |index: usize| {
        tables[index].columns.iter().map(|column| column.heading.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(headings(0), ["scheme", "mean rank", "interval 95 %", "slow", "fast"]);
    assert_eq!(headings(2), ["scheme", "mean harm", "interval 95 %", "slow", "fast"]);
    assert!(tables[1].caption.starts_with("Ranks by queueing delay:"), "{}", tables[1].caption);
    assert!(tables[2].caption.starts_with("Harm to neighbour's mean throughput, compared"));
    assert_eq!(
        results.finding().expect("there is one"),
        "Ranked by throughput on 2 networks, Vegas (1.00, 95 % interval 1.00 to 1.00) has the best mean rank, \
         followed by Reno (2.25, 95 % interval 2.25 to 2.75)."
    );
    let again: Results = serde_json::from_str(&results.to_json()).expect("is valid");
    assert_eq!(again, results);
}

#[test]
fn the_most_harmful_scheme_in_words() {
    let plan = planned(&FILE.replacen("ranks = [\"throughput\", \"queueing\"]\n", "", 1));
    let results = Results::new(&plan.expect("is valid"), &rows(THROUGHPUTS), "exm".to_owned());
    let text = results.finding().expect("there is one");
    assert!(
        text.starts_with(
            "On average over 2 networks, the most harm to neighbour's mean throughput, compared with what it has beside \
             Reno, is by Vegas (0.50, 95 % interval 0.50 to 0.50), the least by BBR (-1.00, 95 % interval "
        ),
        "{text}"
    );
}

#[test]
fn wrong_keys_are_refused() {
    let error = |from: &str, to: &str| planned(&FILE.replacen(from, to, 1)).expect_err(to);
    let no_better = error("ranks = [\"throughput\", \"queueing\"]", "ranks = \"marks\"");
    assert!(no_better.contains("neither more nor less of \"marks\" is better"), "{no_better}");
    let unknown = error("ranks = [\"throughput\", \"queueing\"]", "ranks = \"objectiv\"");
    assert!(unknown.contains("nothing called \"objectiv\" is measured"), "{unknown}");
    let flow = error("flow = \"neighbour\"", "flow = \"neighbor\"");
    assert!(flow.contains("there are no flows \"neighbor\""), "{flow}");
    let reference = error("reference = \"Reno\"", "reference = \"Renoo\"");
    assert!(reference.contains("there is no scheme \"Renoo\""), "{reference}");
}
