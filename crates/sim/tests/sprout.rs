//! Sprout over recorded cellular links, beside what the original and kernel TCP reach there.

use exm_link::{Limit, QueueKind, Service};
use exm_random::Distribution;
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::metrics::FlowReport;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, OnOff};
use exm_sprout::{Method, Model, Settings};
use exm_trace::Trace;
use exm_units::{Bytes, Span};
use std::path::Path;
use std::sync::Arc;

fn trace(name: &str) -> Option<Arc<Trace>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/traces");
    Trace::load(&folder.join(name)).ok().map(Arc::new)
}

fn run(
    down: &Arc<Trace>,
    up: &Arc<Trace>,
    transport: Transport,
    queue: &str,
    secs: u64,
) -> FlowReport {
    let link = |name: &str, trace: &Arc<Trace>, ends, queue: &str| LinkSpec {
        name: name.to_owned(),
        ends,
        queue: QueueKind::named(queue).expect("a queue"),
        delay: Span::from_millis(20),
        ..LinkSpec::bottleneck(Service::Trace(Arc::clone(trace)), Limit::Unlimited)
    };
    let flow = FlowSpec {
        name: "flow".to_owned(),
        path: vec![0],
        back: vec![1],
        extra_delay: Span::ZERO,
        packet_size: Bytes::new(1500),
        traffic: OnOff { on: OnFor::Ever, off: Distribution::Fixed(0.0) }.into(),
        transport,
    };
    let links = vec![link("down", down, (0, 1), queue), link("up", up, (1, 0), queue)];
    let network = Network::new(links, vec![flow], Span::from_secs(secs)).expect("a network");
    let network = network.scored_after(Span::from_secs(60)).expect("a warm-up");
    engine::run(&network, 1).flows.swap_remove(0)
}

fn tcp(name: &str) -> Transport {
    Transport::Tcp {
        controller: AnyController::named(name).expect("a controller"),
        settings: exm_tcp::Settings::default(),
    }
}

fn show(what: &str, report: &FlowReport) {
    let (scores, best) = (report.end_to_end.as_ref().unwrap(), report.omniscient.as_ref().unwrap());
    println!(
        "{what:24} {:6.0} kbit/s ({:3.0} %) p95 {:7.0} ms self {:7.0} ms; omniscient {:5.0}  capacity {:5.0}",
        scores.throughput.as_bps() as f64 / 1e3,
        scores.utilisation(best).unwrap_or(0.0) * 100.0,
        scores.delay_95.unwrap_or_default().as_millis_f64(),
        scores.self_inflicted(best).unwrap_or_default().as_millis_f64(),
        best.delay_95.unwrap_or_default().as_millis_f64(),
        best.throughput.as_bps() as f64 / 1e3,
    );
}

#[test]
fn table() {
    let traces = [
        ("TMobile-UMTS-driving.down", "TMobile-UMTS-driving.up"),
        ("TMobile-UMTS-driving.up", "TMobile-UMTS-driving.down"),
        ("Verizon-LTE-short.down", "Verizon-LTE-short.up"),
        ("Verizon-LTE-short.up", "Verizon-LTE-short.down"),
    ];
    for (there, back) in traces {
        println!("{there}");
        let (Some(a), Some(b)) = (trace(there), trace(back)) else { return };
        let list = |name: &str, usual: &[f64]| -> Vec<f64> {
            let text = std::env::var(name).unwrap_or_default();
            if text.is_empty() {
                usual.to_vec()
            } else {
                text.split(',').map(|t| t.parse().unwrap()).collect()
            }
        };
        for risk in list("RISK", &[0.05]) {
            for look in list("LOOK", &[5.0]) {
                for sigma in list("SIGMA", &[200.0]) {
                    for beat in list("BEAT", &[50.0]) {
                        for escape in list("ESCAPE", &[1.0]) {
                            let method = Method::Bayes { model: Model { sigma, escape }, risk };
                            let s = Settings {
                                method,
                                lookahead: look as usize,
                                heartbeat: Span::from_millis(beat as u64),
                                ..Settings::default()
                            };
                            show(
                                &format!("r{risk} l{look} s{sigma} b{beat} e{escape}"),
                                &run(&a, &b, Transport::Sprout(s), "drop-tail", 180),
                            );
                        }
                    }
                }
            }
        }
        if std::env::var("RISK").is_ok() {
            continue;
        }
        let s = Settings { method: Method::Ewma, ..Settings::default() };
        show("ewma", &run(&a, &b, Transport::Sprout(s), "drop-tail", 180));
        show("cubic", &run(&a, &b, tcp("cubic"), "drop-tail", 180));
        show("cubic codel", &run(&a, &b, tcp("cubic"), "codel", 180));
        show("bbr1", &run(&a, &b, tcp("bbr1"), "drop-tail", 180));
    }
}
