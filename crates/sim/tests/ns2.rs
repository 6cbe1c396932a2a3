//! Persistent connections, as in the papers' ns-2, against figures measured with ns-2.35: figure 3-4 of
//! the thesis, 8 senders on 15 Mbps, 150 ms and a drop-tail queue of 1000 packets, exponential 100 kB on
//! and exponential 0.5 s off.

mod common;

use common::{Bottleneck, Measured, medians};
use exm_link::QueueKind;
use exm_random::Distribution;
use exm_sim::traffic::{OnFor, OnOff};
use exm_tcp::{IdleRestart, MinRto, Settings};
use exm_units::{Packets, Span};

const RUNS: u64 = 16;

/// A connection with the settings of ns-2's agents. What lowers the window there is the timer: at least
/// 200 ms, 50 ms more than the RTT of the empty path. It expires when others' bursts fill the queue, the
/// reduction is never undone, and the threshold stays low for the following transfers.
fn ns2() -> Settings {
    Settings {
        initial_window: Packets::new(2),
        persistent: true,
        idle_restart: IdleRestart::Rfc5681,
        window_validation: false,
        eifel: false,
        floor: MinRto::Timer(Span::from_millis(200)),
        ..Settings::default()
    }
}

fn figure_3_4(controller: &'static str, settings: Settings) -> Measured {
    let traffic = OnOff {
        on: OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 }),
        off: Distribution::Exponential { mean: 0.5 },
    };
    let flows = Bottleneck::new(controller, settings, traffic).shared_by(8);
    let queue = if controller == "xcp" { "xcp" } else { "drop-tail" };
    let queue = QueueKind::named(queue).expect("a known queue");
    let measured = medians(&Bottleneck { queue, ..flows }.reports(RUNS));
    println!("{controller:9} {:.3} Mbps, {:.2} ms", measured.mbps, measured.wait_ms);
    measured
}

/// ns-2's NewReno has 0.66 Mbps and 8.5 ms: it has no SACK, and retransmits everything in flight when its
/// timer expires. Ours has SACK, so it is faster than that and no slower than Compound.
#[test]
fn persistent_connections_have_the_papers_order() {
    let of = |controller| figure_3_4(controller, ns2());
    let (reno, compound, cubic, xcp) = (of("reno"), of("compound"), of("cubic"), of("xcp"));
    for (ours, ns2) in [(compound, 0.93), (cubic, 1.01), (xcp, 1.275)] {
        assert!((ours.mbps / ns2 - 1.0).abs() < 0.07, "{ours:?} {ns2}");
    }
    assert!((cubic.wait_ms - 12.3).abs() < 1.5, "{cubic:?}");
    assert!((0.66..0.97).contains(&reno.mbps), "{reno:?}");
    assert!(reno.mbps < cubic.mbps && compound.mbps < cubic.mbps && cubic.mbps < xcp.mbps);
}

/// A connection that outlives its on-periods and whose window is never lowered needs no slow start: it is
/// faster than new connections, not slower. An idle restart takes most of that back.
#[test]
fn keeping_the_window_makes_the_next_on_period_faster() {
    let fresh = Settings { initial_window: Packets::new(2), ..Settings::default() };
    let persistent = Settings { persistent: true, ..fresh };
    let restarted = Settings { idle_restart: IdleRestart::Rfc2861, ..persistent };
    let mbps = |settings| figure_3_4("reno", settings).mbps;
    let (fresh, persistent, restarted) = (mbps(fresh), mbps(persistent), mbps(restarted));
    assert!(persistent > 2.5 * fresh, "{persistent} {fresh}");
    assert!(restarted > 1.2 * fresh && restarted < 0.7 * persistent, "{restarted}");
}
