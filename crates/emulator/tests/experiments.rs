//! Live runs of an experiment, in network namespaces. Skipped if this process may not create any.
#![cfg(target_os = "linux")]

use exm_emulator::live::EmulatorBackend;
use exm_experiment::{Backend, Experiment, Measured, Options, Plan, PlanError};
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::metrics::FlowReport;
use exm_units::{Rate, Span};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const FILE: &str = r#"
    duration = "4 s"
    warm_up = "1 s"
    [[link]]
    name = "data"
    from = "a"
    to = "b"
    rate = "8 Mbps"
    delay = "20 ms"
    [[link]]
    name = "return"
    from = "b"
    to = "a"
    rate = "8 Mbps"
    delay = "20 ms"
    [[flow]]
    path = ["data"]
    back = ["return"]
    rtt = "40 ms"
    controller = "scheme"
    traffic = { on = "always" }
    [experiment]
    figure = "rate-and-delay"
    runs = 1
    [[experiment.scheme]]
    name = "Sprout"
    controller = "sprout"
    [[experiment.scheme]]
    name = "Reno"
    controller = "reno"
    [[experiment.scheme]]
    name = "XCP"
    controller = "xcp"
    queue = "xcp"
"#;

#[track_caller]
fn backend() -> Option<EmulatorBackend> {
    if !Path::new("/dev/net/tun").exists() {
        exm_testing::skip("without /dev/net/tun");
        return None;
    }
    match EmulatorBackend::open() {
        Ok(backend) => Some(backend),
        Err(error) => {
            exm_testing::skip(error);
            None
        }
    }
}

/// Four senders, on and off.
const TURNS: &str = r#"
    duration = "6 s"
    [dumbbell]
    rate = "8 Mbps"
    rtt = "40 ms"
    buffer = "200 packets"
    senders = 4
    controller = "scheme"
    traffic = { on = "exp 60 kB", off = "exp 100 ms" }
    [experiment]
    figure = "throughput-delay"
    runs = 1
    [[experiment.scheme]]
    name = "RemyCC"
    controller = "a table"
    [[experiment.scheme]]
    name = "Reno"
    controller = "reno"
"#;

/// A RemyCC with a window of 20 packets and a pace of 1 per millisecond.
fn one_rule() -> AnyController {
    let action = Action { multiple: 0.0, increment: 20, intersend_ms: 1.0 };
    RemyCc::new(&RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action)).into()
}

fn plan(only: &[&str]) -> Plan {
    plan_of(FILE, only)
}

fn plan_of(text: &str, only: &[&str]) -> Plan {
    let experiment = Experiment::parse(text, "live.toml", Path::new("")).expect("is valid");
    let only = only.iter().map(|&name| name.to_owned()).collect();
    let options = Options { only, ..Options::default() };
    Plan::new(experiment, &options, &mut |_, _| Ok(one_rule())).expect("is valid")
}

fn check(scheme: &str, measured: &Measured) {
    let flow = &measured.report.flows[0];
    let scores = flow.end_to_end.as_ref().expect("is measured");
    let mbps = scores.throughput.as_mbps();
    // On any machine, however busy: no more than the link carries, and no sooner.
    assert!((0.3..=8.3).contains(&mbps), "{scheme}: {mbps} Mbps");
    let delay = scores.delay_95.expect("something arrived");
    assert!(delay > Span::from_millis(21), "{scheme}: {delay}");
    assert!(flow.arrived > 100 && flow.arrived + flow.lost + flow.dropped[0] <= flow.sent);
    assert!(flow.bytes.get() > 100_000, "{scheme}: {}", flow.bytes);
    let timeline = measured.timelines[0].as_ref().expect("was asked for");
    assert_eq!((timeline.from_s, timeline.bytes.len()), (1.0, 30));
    assert!(timeline.bytes.is_sorted() && timeline.bytes[29] <= scores.bytes.get());
}

#[test]
fn schemes_run_on_an_emulated_link() {
    let Some(backend) = backend() else { return };
    let plan = plan(&[]).live(&backend).expect("two can be run");
    assert!(plan.is_live);
    let skipped: Vec<&str> = plan.skipped.iter().map(|one| one.scheme.as_str()).collect();
    assert_eq!(skipped, ["XCP"], "the kernel has none");
    for case in &plan.cases {
        let step = Some(Span::from_millis(100));
        let measured =
            backend.run(case, 1, step, &|| false).expect("can be run").expect("to its end");
        check(case.scheme_name(), &measured);
    }
}

#[test]
fn flows_come_and_go_as_in_the_simulator() {
    let Some(backend) = backend() else { return };
    let plan = plan_of(TURNS, &[]).live(&backend);
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return exm_testing::skip(error),
    };
    for case in &plan.cases {
        let measured =
            backend.run(case, 1, None, &|| false).expect("can be run").expect("to its end");
        let flows = &measured.report.flows;
        assert_eq!(flows.len(), 4);
        for flow in flows {
            // On any machine, however busy.
            assert!(flow.completion.count() > 3 && flow.bytes.get() > 100_000, "{flow:?}");
            assert!(flow.on_time <= flow.active_time && flow.active_time < Span::from_secs(6));
            assert!(flow.throughput().expect("was on").as_mbps() < 8.3);
        }
        let share: f64 = flows.iter().map(|flow| flow.active_share_time).sum();
        assert!((0.5..=6.01).contains(&share), "{share} s of 6 had a sender");
        let simulated = engine::run(&case.network, 1);
        let mean = |flows: &[FlowReport]| {
            flows.iter().filter_map(FlowReport::throughput).map(Rate::as_mbps).sum::<f64>() / 4.0
        };
        let ratio = mean(flows) / mean(&simulated.flows);
        assert!((0.3..1.5).contains(&ratio), "{}: {ratio}", case.scheme_name());
    }
}

#[test]
fn a_run_that_is_stopped_measures_nothing() {
    let Some(backend) = backend() else { return };
    let plan = plan(&["Reno"]).live(&backend).expect("can be run");
    let looks = AtomicU32::new(0);
    let stopped = || looks.fetch_add(1, Ordering::Relaxed) > 3;
    let measured = backend.run(&plan.cases[0], 1, None, &stopped).expect("is no error");
    assert!(measured.is_none());
}

#[test]
fn if_nothing_can_be_run_the_error_states_why() {
    let Some(backend) = backend() else { return };
    let Err(PlanError::NothingLeft(reasons)) = plan(&["XCP"]).live(&backend) else {
        panic!("XCP is run by this kernel")
    };
    assert!(reasons.contains("no congestion control that is xcp"), "{reasons}");
}
