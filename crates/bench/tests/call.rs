//! A call beside a download, with and without a tunnel, in real time. Skipped if this process may
//! not create networks.
#![cfg(target_os = "linux")]

use exm_bench::tunnel::{BenchPlan, Measured, Transport, measure};
use exm_emulator::{PathSpec, Propagation, Setup};
use exm_link::Service;
use exm_session::Settings;
use exm_trace::{Synthetic, Trace};
use exm_units::Span;
use std::sync::Arc;

fn path(trace: Trace) -> PathSpec {
    let propagation = Propagation::Fixed(Span::from_millis(20));
    PathSpec { propagation, ..PathSpec::new(Service::Trace(Arc::new(trace))) }
}

fn plan(up: Trace, down: Trace, [warm_up, duration]: [u64; 2]) -> BenchPlan {
    BenchPlan {
        link: Setup { warm_up: Span::from_secs(warm_up), ..Setup::new(path(up), path(down)) },
        settings: Settings::default(),
        congestion: "cubic".to_owned(),
        duration: Span::from_secs(duration),
    }
}

fn show(name: &str, measured: &Measured) {
    let ms = |span: Option<Span>| span.map_or(f64::NAN, Span::as_millis_f64);
    println!("{name}: download {:.0} kbit/s", measured.download.as_bps() as f64 / 1e3);
    for (way, call) in [("up", measured.up), ("down", measured.down)] {
        println!(
            "  call {way}: {:.0} of {:.0} kbit/s, delay {:.1} ms, 95 % {:.1} ms",
            call.received.as_bps() as f64 / 1e3,
            call.sent.as_bps() as f64 / 1e3,
            ms(call.delay_50),
            ms(call.delay_95),
        );
    }
    for flow in measured.flows.iter().flatten() {
        let name = flow.flow.map_or("others".to_owned(), |flow| flow.to_string());
        println!("  {name}: {:?} sent, {:?} dropped", flow.sent.packets, flow.dropped.packets);
    }
}

/// On a synthetic link, for less time than the call without a tunnel needs to reach its worst.
#[test]
fn a_tunnel_protects_a_call_from_a_download() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let lte = Synthetic::named("lte").expect("a preset");
    let trace = |seed| lte.generate(seed, Span::from_secs(60)).expect("it can be");
    let plan = plan(trace(2), trace(1), [3, 5]);
    let direct = measure(&plan, Transport::Direct, |_| true).expect("it is measured");
    show("direct", &direct);
    let tunnel = measure(&plan, Transport::Tunnel, |_| true).expect("it is measured");
    show("tunnel", &tunnel);
    let delays = [direct, tunnel].map(|measured| measured.down.delay_95.expect("packets arrive"));
    assert!(delays[1] * 2 < delays[0]);
}
