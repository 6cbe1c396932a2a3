//! Sprout over recorded cellular links, compared with the original's results and with TCP.
//!
//! The recordings are not part of the project: without them the tests are skipped.

use exm_link::{QueueKind, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::metrics::FlowReport;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sprout::{Method, Model, Settings};
use exm_trace::Trace;
use exm_units::{Probability, Span};
use std::sync::Arc;

/// A recording, the one of the opposite direction, and the original's results: kbit/s, and ms of
/// self-inflicted delay.
type Row = (&'static str, &'static str, f64, f64);

const ROWS: [Row; 4] = [
    ("TMobile-UMTS-driving.down", "TMobile-UMTS-driving.up", 589.0, 2063.0),
    ("TMobile-UMTS-driving.up", "TMobile-UMTS-driving.down", 263.0, 732.0),
    ("Verizon-LTE-short.down", "Verizon-LTE-short.up", 2954.0, 53.0),
    ("Verizon-LTE-short.up", "Verizon-LTE-short.down", 3717.0, 65.0),
];

#[track_caller]
fn trace(name: &str) -> Option<Arc<Trace>> {
    let file = exm_testing::reference(format!("traces/{name}"))?;
    Some(Arc::new(Trace::load(&file).expect("a trace")))
}

/// Three minutes, of which the first is skipped, over `there` and `back`, each with 20 ms of
/// propagation delay.
fn run(ways: [&Arc<Trace>; 2], transport: Transport, queue: &str, loss: f64) -> FlowReport {
    run_over(Span::from_millis(20), ways, transport, queue, loss)
}

fn run_over(
    delay: Span,
    ways: [&Arc<Trace>; 2],
    transport: Transport,
    queue: &str,
    loss: f64,
) -> FlowReport {
    let link = |name: &str, way: usize| {
        LinkSpec::new(Service::Trace(Arc::clone(ways[way])))
            .name(name)
            .ends(way, 1 - way)
            .queue(QueueKind::named(queue).expect("a known discipline"))
            .delay(delay)
            .loss(Probability::new(loss).expect("a probability"))
    };
    let flow = FlowSpec::new(transport).back([1]);
    let links = vec![link("there", 0), link("back", 1)];
    let network = Network::new(links, vec![flow], Span::from_secs(180)).expect("a network");
    let network = network.scored_after(Span::from_secs(60)).expect("a warm-up");
    engine::run(&network, 1).flows.swap_remove(0)
}

fn sprout(method: Method) -> Transport {
    Transport::Sprout(Settings { method, ..Settings::default() })
}

fn cubic() -> Transport {
    let controller = AnyController::named("cubic").expect("a known controller");
    Transport::Tcp { controller, settings: exm_tcp::Settings::default() }
}

/// Kilobits a second, and milliseconds of 95 % end-to-end and of self-inflicted delay.
fn scores(what: &str, report: &FlowReport) -> (f64, f64, f64) {
    let scores = report.end_to_end.as_ref().expect("a way back");
    let best = report.omniscient.as_ref().expect("a trace");
    let kbps = scores.throughput.as_bps() as f64 / 1e3;
    let delay = scores.delay_95.expect("arrivals").as_millis_f64();
    let own = scores.self_inflicted(best).expect("arrivals").as_millis_f64();
    println!(
        "  {what:12} {kbps:6.0} kbit/s, 95 % delay {delay:6.0} ms, self-inflicted {own:6.0} ms"
    );
    (kbps, delay, own)
}

/// Sprout exceeds the original's throughput by a quarter with no more self-inflicted delay; Cubic
/// over CoDel has more delay.
#[test]
fn surpasses_the_original_and_cubic_over_codel() {
    for (there, back, original_kbps, original_own) in ROWS {
        let (Some(there_trace), Some(back_trace)) = (trace(there), trace(back)) else { return };
        let ways = [&there_trace, &back_trace];
        println!("{there}: the original {original_kbps} kbit/s, {original_own} ms");
        let ours = scores("sprout", &run(ways, sprout(Method::default()), "drop-tail", 0.0));
        scores("ewma", &run(ways, sprout(Method::Ewma), "drop-tail", 0.0));
        let codel = scores("cubic, codel", &run(ways, cubic(), "codel", 0.0));
        assert!(ours.0 >= 1.25 * original_kbps, "{there}");
        assert!(ours.2 <= original_own, "{there}");
        assert!(ours.1 < codel.1, "{there}");
    }
}

/// The thesis's open question: whether Sprout at some setting has both more throughput and less delay
/// than Sprout-EWMA. It does, except for the delay on the link that one outage decides, which is
/// equal to within five in a thousand.
#[test]
fn one_setting_surpasses_sprout_ewma_but_for_one_delay() {
    let model = Model { sigma: 178.0, idleness: 0.67, ..Model::default() };
    let method = Method::Bayes { model, risk: 0.43 };
    let settings = Settings { method, lookahead: 4, queueing: Span::ZERO, ..Settings::default() };
    for (there, back, ..) in ROWS {
        let (Some(there_trace), Some(back_trace)) = (trace(there), trace(back)) else { return };
        let ways = [&there_trace, &back_trace];
        println!("{there}");
        let ours = scores("sprout", &run(ways, Transport::Sprout(settings), "drop-tail", 0.0));
        let ewma = scores("ewma", &run(ways, sprout(Method::Ewma), "drop-tail", 0.0));
        let decided_by_an_outage = there == ROWS[0].0;
        assert!(ours.0 > ewma.0, "{there}");
        assert!(ours.2 < ewma.2 * if decided_by_an_outage { 1.005 } else { 1.0 }, "{there}");
    }
}

/// Loss is not a congestion signal: throughput falls no faster than the paper's on Verizon's LTE
/// downlink (4741, 3971 and 2768 kbit/s at 0, 5 and 10 % each way), and delay does not rise.
#[test]
fn loss_costs_little_throughput_and_no_delay() {
    let (there, back, ..) = ROWS[2];
    let (Some(there), Some(back)) = (trace(there), trace(back)) else { return };
    let at = |loss: f64| {
        let report = run([&there, &back], sprout(Method::default()), "drop-tail", loss);
        scores(&format!("loss {loss}"), &report)
    };
    let (none, some, more) = (at(0.0), at(0.05), at(0.1));
    assert!(some.0 / none.0 > 3971.0 / 4741.0 && more.0 / none.0 > 2768.0 / 4741.0);
    assert!(some.1 < none.1 && more.1 < none.1);
}

/// On a link without outages the 95th percentile of queueing delay is at most 100 ms.
#[test]
fn queueing_stays_under_100_ms() {
    for (there, back, ..) in &ROWS[2..] {
        let (Some(there), Some(back)) = (trace(there), trace(back)) else { return };
        let report = run([&there, &back], sprout(Method::default()), "drop-tail", 0.0);
        let waited = report.queueing_delay.percentile(95.0).expect("arrivals");
        println!("95 % of packets waited less than {waited}");
        assert!(waited < Span::from_millis(100), "{waited}");
    }
}

/// Propagation delay is not mistaken for queueing: at twice the RTT most of the throughput remains,
/// and packets still wait less than 100 ms.
#[test]
fn longer_round_trips_cost_little() {
    for (there, back, ..) in &ROWS[2..] {
        let (Some(there_trace), Some(back_trace)) = (trace(there), trace(back)) else { return };
        println!("{there}");
        let [short, long] = [20, 40].map(|millis| {
            let ways = [&there_trace, &back_trace];
            let delay = Span::from_millis(millis);
            let report = run_over(delay, ways, sprout(Method::default()), "drop-tail", 0.0);
            let waited = report.queueing_delay.percentile(95.0).expect("arrivals");
            assert!(waited < Span::from_millis(100), "{waited}");
            scores(&format!("{millis} ms"), &report).0
        });
        assert!(long > 0.8 * short, "{long} and {short} kbit/s");
    }
}
