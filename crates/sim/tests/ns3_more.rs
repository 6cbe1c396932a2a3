//! The TCP host and the queues against ns-3 in more settings than those of `ns3.rs`.
//!
//! ns-3's figures were measured with a program of our own that also reproduces those of `ns3.rs`, one
//! run with version 3.44 unless a row says otherwise: SACK, its own recovery (PRR), an initial window of
//! 10, timestamps of 1 ms, an ACK per packet unless stated otherwise, and queue disciplines with one
//! more packet in the device behind them. A queueing delay is the whole time between router and link,
//! including that packet. Where ours is outside the usual bounds of 3 % and 1 ms or 5 %, the row states
//! why; docs/deviations.md has more.

mod common;

use common::{Bottleneck, Measured, medians, totals};
use exm_link::QueueKind;
use exm_random::Distribution;
use exm_sim::traffic::{OnFor, OnOff, Traffic};
use exm_tcp::{DelayedAcks, MinRto, Settings};
use exm_units::{Instant, Probability, Rate, Span};

/// A comparison: our measurement, ns-3's, the allowed relative difference in goodput, and that in
/// queueing delay, in ms (or 5 %).
struct Row {
    what: &'static str,
    ours: Measured,
    ns3: Measured,
    bounds: (f64, f64),
}

const USUAL: (f64, f64) = (0.03, 1.0);

fn row(what: &'static str, ours: Measured, ns3: (f64, f64), bounds: (f64, f64)) -> Row {
    Row { what, ours, ns3: Measured { mbps: ns3.0, wait_ms: ns3.1 }, bounds }
}

fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for Row { what, ours, ns3, bounds } in rows {
        let (part, wait) = (ours.mbps / ns3.mbps - 1.0, ours.wait_ms - ns3.wait_ms);
        println!(
            "{what:44} {:8.3} Mbps (ns-3 {:8.3}, {:+.1} %)  {:7.3} ms ({:7.3}, {wait:+.3})",
            ours.mbps,
            ns3.mbps,
            part * 100.0,
            ours.wait_ms,
            ns3.wait_ms,
        );
        if part.abs() > bounds.0 || wait.abs() > bounds.1.max(0.05 * ns3.wait_ms) {
            wrong.push(*what);
        }
    }
    assert!(wrong.is_empty(), "too far from ns-3: {wrong:?}");
}

/// A timer as in Linux: ns-3's clock granularity of 200 ms.
fn linux() -> Settings {
    Settings { floor: MinRto::Margin(Span::from_millis(200)), ..Settings::default() }
}

/// The timer of the rows of short flows.
fn plain() -> Settings {
    Settings { floor: MinRto::Timer(Span::from_millis(200)), ..Settings::default() }
}

fn delayed(settings: Settings) -> Settings {
    Settings { delayed_acks: Some(DelayedAcks::default()), ..settings }
}

fn ever() -> OnOff {
    OnOff { on: OnFor::Always, off: Distribution::Fixed(0.0) }
}

fn from(start: Span) -> Traffic {
    Traffic::Schedule { visits: vec![(Instant::ZERO + start, None)], on: OnFor::Always }
}

/// Eight senders of exponential 100 kB, half a second off.
fn short(controller: &'static str, settings: Settings) -> Bottleneck {
    let on = OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 });
    let off = Distribution::Exponential { mean: 0.5 };
    Bottleneck::new(controller, settings, OnOff { on, off }).shared_by(8)
}

/// A discipline with these settings.
fn queue(name: &str, settings: &str) -> QueueKind {
    format!("{name} {settings}").parse().expect("a sound queue")
}

const DROPPING: &str = "ecn=false";

#[test]
fn codel_and_fq_codel_agree_with_ns_3() {
    let one = |controller, discipline| {
        let queue = queue(discipline, DROPPING);
        totals(&Bottleneck { queue, ..Bottleneck::new(controller, linux(), ever()) }.reports(1))
    };
    let narrow = |mbps| {
        let queue = queue("codel", DROPPING);
        let flow = Bottleneck::new("cubic", linux(), ever());
        totals(&Bottleneck { queue, rate: Rate::from_mbps(mbps), ..flow }.reports(1))
    };
    let eight = |discipline| {
        let traffic = (0..8).map(|n| from(Span::from_millis(100 * n))).collect();
        let rtts = vec![Span::from_millis(150); 8];
        let queue = queue(discipline, DROPPING);
        let flows = Bottleneck::new("cubic", linux(), ever());
        totals(&Bottleneck { queue, traffic, rtts, ..flows }.reports(1))
    };
    let busy = |discipline| {
        let queue = queue(discipline, DROPPING);
        medians(&Bottleneck { queue, ..short("cubic", plain()) }.reports(24))
    };
    check(&[
        row("one Cubic, CoDel", one("cubic", "codel"), (12.85, 1.355), USUAL),
        row("one Cubic, FQ-CoDel", one("cubic", "fq-codel"), (12.85, 1.355), USUAL),
        // ns-3 gains two or three packets at the end of each recovery.
        row("one Reno, CoDel", one("reno", "codel"), (11.36, 0.703), (0.05, 1.0)),
        row("eight Cubics, CoDel", eight("codel"), (13.71, 6.052), USUAL),
        // ns-3's PRR sends more than is acknowledged in the first half of a recovery, and so loses twice
        // where a flow has its queue to itself. Its classic recovery does not (3 runs).
        row("eight Cubics, FQ-CoDel", eight("fq-codel"), (13.59, 5.391), (0.06, 1.0)),
        row("eight Cubics, FQ-CoDel, classic", eight("fq-codel"), (14.06, 4.804), (0.03, 1.6)),
        row("one Cubic, 1.875 Mbps, CoDel, classic", narrow(1.875), (1.662, 8.212), (0.03, 2.0)),
        row("one Cubic, 5 Mbps, CoDel, classic", narrow(5.0), (4.344, 2.635), USUAL),
        // ns-3's delays include the packet in its device, up to 0.8 ms.
        row("short Cubics, CoDel (3.37, 12 runs)", busy("codel"), (1.564, 16.55), (0.03, 1.5)),
        row("short Cubics, FQ-CoDel (3.37, 12 runs)", busy("fq-codel"), (1.625, 16.03), USUAL),
    ]);
}

#[test]
fn delayed_acks_and_bbr_agree_with_ns_3() {
    let long =
        |controller, settings| totals(&Bottleneck::new(controller, settings, ever()).reports(1));
    let busy = |controller, settings| medians(&short(controller, settings).reports(24));
    check(&[
        row("Reno, delayed", long("reno", delayed(plain())), (14.316, 400.9), USUAL),
        row("Cubic, delayed", long("cubic", delayed(linux())), (14.290, 645.8), USUAL),
        row(
            "short Renos, delayed (3.37, 12 runs)",
            busy("reno", delayed(plain())),
            (1.562, 16.36),
            USUAL,
        ),
        // Ours rounds and leaves room as Linux does, which costs two packets of queue.
        row("BBR, version 1", long("bbr1", linux()), (14.356, 11.00), (0.01, 2.0)),
        row("short BBRs, version 1 (6 runs)", busy("bbr1", plain()), (1.531, 4.815), USUAL),
    ]);
}

#[test]
fn drop_tail_under_loss_agrees_with_ns_3() {
    // Eight flows that begin one by one, at times that differ from run to run.
    let eight = |controller| {
        let runs = (0..12u64).flat_map(|run| {
            let start = |n: u64| Span::from_millis(500 * n + (7919 * run + 104_729 * n) % 500);
            let traffic = (0..8).map(|n| from(start(n))).collect();
            let rtts = vec![Span::from_millis(150); 8];
            let flows = Bottleneck::new(controller, linux(), ever());
            Bottleneck { packets: 188, traffic, rtts, ..flows }.reports(1)
        });
        totals(&runs.collect::<Vec<_>>())
    };
    let loss = Probability::new(0.01).expect("a probability");
    let busy = |controller| medians(&Bottleneck { loss, ..short(controller, plain()) }.reports(24));
    let lossy = Bottleneck { loss, ..Bottleneck::new("cubic", linux(), ever()) };
    check(&[
        row("eight Renos, 188 packets (3.37, 6 runs)", eight("reno"), (14.553, 92.36), USUAL),
        row("eight Cubics, 188 packets (3.37, 6 runs)", eight("cubic"), (14.608, 127.4), USUAL),
        // The queue depends on when the first loss occurs: six other runs of ns-3 have 3.3 ms.
        row(
            "one Cubic, 1 % lost (16 runs)",
            totals(&lossy.reports(32)),
            (1.110, 0.637),
            (0.05, 2.0),
        ),
        // ns-3 gains two or three packets at the end of each recovery.
        row("short Renos, 1 % lost (8 runs)", busy("reno"), (1.253, 9.367), (0.05, 1.0)),
        row("short Cubics, 1 % lost (3.37, 12 runs)", busy("cubic"), (1.314, 9.848), USUAL),
    ]);
}

/// 64 DCTCP flows at 10 Gbps and 4 ms, from their start on for half a second. RED marks packets that
/// find more than 65 waiting, as `step` does.
#[test]
fn dctcp_at_ten_gigabits_agrees_with_ns_3() {
    let red = queue("red", "min=65packets,max=66packets,max_p=1,weight=1,gentle=false");
    let step = QueueKind::named("step").expect("a discipline");
    let settings = Settings { floor: MinRto::Timer(Span::from_millis(10)), ..Settings::default() };
    let run = |queue| {
        let flows = Bottleneck {
            queue,
            rate: Rate::from_mbps(10_000.0),
            rtts: vec![Span::from_millis(4)],
            duration: Span::from_millis(500),
            ..Bottleneck::new("dctcp", settings, ever())
        };
        totals(&flows.shared_by(64).reports(1))
    };
    check(&[
        row("64 DCTCPs, RED (3.37)", run(red), (7405.4, 0.039), (0.03, 0.005)),
        row("64 DCTCPs, step (3.37)", run(step), (7405.4, 0.039), (0.03, 0.005)),
    ]);
}

/// Two Renos with unequal RTTs for 200 s. At exactly 50 and 150 ms all packets of both arrive at the
/// same phases of a packet's transmission, and that alone decides which flow loses packets, in ns-3 as
/// here; at 51.23 and 149.71 ms it does not.
#[test]
fn unequal_rtts_share_as_in_ns_3() {
    let run = |queue: QueueKind| {
        let runs = (0..12u64).flat_map(|run| {
            let rtts = vec![Span::from_micros(51_230), Span::from_micros(149_710)];
            let traffic = (0..2).map(|n| from(Span::from_millis((n + 1) * 419 * run % 1000)));
            let (traffic, duration) = (traffic.collect(), Span::from_secs(200));
            let flows = Bottleneck::new("reno", linux(), ever());
            Bottleneck { queue: queue.clone(), packets: 188, rtts, traffic, duration, ..flows }
                .reports(1)
        });
        runs.collect::<Vec<_>>()
    };
    let of = |reports: &[exm_sim::metrics::Report], flow: usize| {
        let only = reports.iter().cloned().map(|mut report| {
            report.flows = vec![report.flows.swap_remove(flow)];
            report
        });
        totals(&only.collect::<Vec<_>>())
    };
    let tail = run(QueueKind::default());
    let codel = run(queue("codel", DROPPING));
    check(&[
        row("51 ms beside 150 ms, drop-tail (3.37, 5 runs)", of(&tail, 0), (12.484, 112.0), USUAL),
        row(
            "150 ms beside 51 ms, drop-tail (3.37, 5 runs)",
            of(&tail, 1),
            (1.956, 114.3),
            (0.15, 1.0),
        ),
        row("51 ms beside 150 ms, CoDel (3.37, 5 runs)", of(&codel, 0), (8.804, 3.520), USUAL),
        row("150 ms beside 51 ms, CoDel (3.37, 5 runs)", of(&codel, 1), (4.281, 3.698), (0.1, 1.0)),
    ]);
}
