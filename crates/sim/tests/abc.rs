//! ABC (Goyal et al., NSDI 2020): its laws on a link of a fixed rate, and its place among others on cellular links.
//!
//! Recordings are not part of the project: without them their tests are skipped.

mod common;

use common::{mbps, percentile};
use exm_link::{Limit, QueueKind, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::metrics::Report;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, Traffic};
use exm_trace::{Synthetic, Trace};
use exm_units::{Instant, Packets, Rate, Span};
use std::sync::Arc;

/// A scheme: a controller, and the queue of its bottleneck.
type Scheme = (&'static str, &'static str);

const ABC: Scheme = ("abc", "abc");

fn transport(controller: &str) -> Transport {
    match controller {
        "sprout" => Transport::Sprout(exm_sprout::Settings::default()),
        name => Host::Tcp.transport(AnyController::named(name).expect("a known controller")),
    }
}

fn link(service: Service, queue: &str, packets: u64) -> LinkSpec {
    let queue: QueueKind = queue.parse().expect("a queue");
    LinkSpec::bottleneck(service, Limit::Packets(Packets::new(packets))).queue(queue)
}

/// Flows that come a `gap` after each other, to stay, over a path of these links with a round trip of 100 ms.
fn share(controller: &str, links: &[LinkSpec], flows: u64, times: (Span, Span)) -> Report {
    let (gap, duration) = times;
    let flow = |number: u64| {
        let visits = vec![(Instant::ZERO + gap * number, None)];
        FlowSpec::new(transport(controller))
            .path((0..links.len()).collect::<Vec<_>>())
            .extra_delay(Span::from_millis(100))
            .traffic(Traffic::Schedule { visits, on: OnFor::Always })
    };
    let network = Network::new(links.to_vec(), (0..flows).map(flow).collect(), duration);
    engine::run(&network.expect("is sound"), 1)
}

/// A link of a fixed rate, with room for 1000 packets.
fn fixed(mbps: f64, queue: &str) -> LinkSpec {
    link(Service::Fixed(Rate::from_mbps(mbps)), queue, 1000)
}

/// A path of two links.
fn chain([first, second]: [LinkSpec; 2]) -> [LinkSpec; 2] {
    [first.name("first").ends(0, 1), second.name("second").ends(1, 2)]
}

/// A minute of flows that start together over one link.
fn minute(controller: &str, mbps: f64, queue: &str, flows: u64) -> Report {
    share(controller, &[fixed(mbps, queue)], flows, (Span::ZERO, Span::from_secs(60)))
}

/// Section 3: where each of N flows adds a packet a round trip to W packets in all, the queueing delay is
/// `threshold + delta (eta - 1 + N/W)`; below the threshold, eta / (1 - N/W) of the link is used, at most all.
#[test]
fn the_queue_and_the_use_of_a_fixed_link_are_those_of_the_fluid_model() {
    for (rate, flows) in [(10.0, 1), (10.0, 2), (10.0, 5), (10.0, 10), (50.0, 1), (50.0, 10)] {
        let report = minute("abc", rate, "abc", flows);
        // 1500-byte packets in a millisecond.
        let pace = rate / 12.0;
        let mut queueing = 0.0;
        for _ in 0..100 {
            let added = flows as f64 / (pace * (100.0 + queueing));
            let fixed_point = 20.0 + 133.0 * (0.98 - 1.0 + added);
            queueing = 0.5 * (queueing + if fixed_point > 20.0 { fixed_point } else { 0.0 });
        }
        let added = flows as f64 / (pace * (100.0 + queueing));
        let used = (0.98 / (1.0 - added)).min(1.0);
        let found = (percentile(&report.flows[0], 50.0), report.links[0].utilisation);
        println!("{rate} Mbps, {flows} flows: {found:.4?} for {queueing:.1} ms, {used:.4}");
        // At the threshold itself the model has any queue up to it.
        assert!(found.0 < queueing.max(20.0) + 3.0, "{found:?}");
        assert!(queueing < 22.0 || found.0 > queueing - 3.0, "{found:?}");
        // Slow start takes less than a second of the minute.
        assert!(found.1 > used - 0.02, "{found:?}");
        assert_eq!(report.links[0].dropped, 0);
    }
}

/// Section 3: additive increase makes flows equal, within W/N round trips to 1/e: here 20, or 2 s.
#[test]
fn latecomers_get_their_share() {
    let bytes = |seconds| {
        let times = (Span::from_secs(10), Span::from_secs(seconds));
        let report = share("abc", &[fixed(10.0, "abc")], 5, times);
        report.flows.iter().map(|flow| flow.bytes.get() as f64).collect::<Vec<f64>>()
    };
    // The last one comes at 40 s. The longer run begins as the shorter one.
    let (before, after) = (bytes(50), bytes(70));
    let rates: Vec<f64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
    let (sum, squares): (f64, f64) =
        (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
    let jain = sum * sum / squares / rates.len() as f64;
    println!("Jain {jain:.4}: {rates:.0?}");
    assert!(jain > 0.99, "{jain}, {rates:?}");
}

/// Section 3: a router turns accelerate into brake and never back, so the one that allows the least decides.
#[test]
fn the_least_of_two_routers_decides() {
    for rates in [[20.0, 10.0], [10.0, 20.0]] {
        let links = chain([fixed(rates[0], "abc"), fixed(rates[1], "abc")]);
        let report = share("abc", &links, 1, (Span::ZERO, Span::from_secs(60)));
        let slow = usize::from(rates[0] > rates[1]);
        let (used, waited) = (report.links[slow].utilisation, percentile(&report.flows[0], 95.0));
        println!("{rates:?} Mbps: {used:.4}, {waited} ms");
        assert!(used > 0.96 && waited < 20.0, "{rates:?}: {used}, {waited} ms");
    }
}

/// Over QUIC, which acknowledges every second packet: marks are counted, so that delayed ACKs hide none.
#[test]
fn delayed_acks_hide_no_marks() {
    let controller = AnyController::named("abc").expect("a known controller");
    let flow = FlowSpec::new(Host::Quic.transport(controller));
    let flow = flow
        .extra_delay(Span::from_millis(100))
        .traffic(Traffic::Schedule { visits: vec![(Instant::ZERO, None)], on: OnFor::Always });
    let network = Network::new(vec![fixed(10.0, "abc")], vec![flow], Span::from_secs(60));
    let report = engine::run(&network.expect("is sound"), 1);
    let (used, waited) = (report.links[0].utilisation, percentile(&report.flows[0], 95.0));
    println!("{used:.4}, {waited} ms");
    assert!(used > 0.96 && waited < 20.0, "{used}, {waited} ms");
}

/// Section 5.1: over a bottleneck without ABC it is Cubic, also where a router of ABC lies on its path.
#[test]
fn without_its_router_it_is_cubic() {
    let cubic = minute("cubic-slow-start", 10.0, "drop-tail", 1);
    let plain = minute("abc", 10.0, "drop-tail", 1);
    let links = chain([fixed(20.0, "abc"), fixed(10.0, "drop-tail")]);
    let both = share("abc", &links, 1, (Span::ZERO, Span::from_secs(60)));
    let found = |report: &Report| {
        let flow = &report.flows[0];
        (mbps(flow), flow.queueing_delay.mean().map_or(0.0, Span::as_millis_f64))
    };
    let (cubic, plain, both) = (found(&cubic), found(&plain), found(&both));
    println!("Cubic {cubic:.2?}, ABC {plain:.2?}, with a router {both:.2?}");
    // The router limits slow start to what it lets through.
    for (abc, tolerance) in [(plain, 0.001), (both, 0.05)] {
        assert!((abc.0 / cubic.0 - 1.0).abs() < tolerance, "{abc:?} {cubic:?}");
        assert!((abc.1 / cubic.1 - 1.0).abs() < tolerance, "{abc:?} {cubic:?}");
    }
}

/// Throughput in Mbps, and the 95th percentile of queueing delay in ms.
#[derive(Clone, Copy, Debug)]
struct Found {
    mbps: f64,
    wait: f64,
}

/// One flow over links with 50 ms of propagation delay each, as in the paper, whose bottleneck holds 250 packets: three
/// minutes, of which the first is skipped.
fn cellular(scheme: Scheme, ways: &[Arc<Trace>; 2]) -> Found {
    let (controller, queue) = scheme;
    let link = |name: &str, way: usize| {
        let queue = if way == 0 { queue } else { "drop-tail" };
        link(Service::Trace(Arc::clone(&ways[way])), queue, 250)
            .name(name)
            .ends(way, 1 - way)
            .delay(Span::from_millis(50))
    };
    let flow = FlowSpec::new(transport(controller)).back([1]);
    let links = vec![link("there", 0), link("back", 1)];
    let network = Network::new(links, vec![flow], Span::from_secs(180)).expect("a network");
    let network = network.scored_after(Span::from_secs(60)).expect("a warm-up");
    let flow = engine::run(&network, 1).flows.swap_remove(0);
    let throughput = flow.end_to_end.as_ref().map(|scores| scores.throughput.as_mbps());
    let found = Found { mbps: throughput.unwrap_or(0.0), wait: percentile(&flow, 95.0) };
    println!("  {controller:6} {queue:9} {:7.3} Mbps, {:7.1} ms", found.mbps, found.wait);
    found
}

/// The paper's ordering (section 6.2): about half more throughput than Cubic over CoDel, for which it finds similar delays and we
/// up to twice as long ones; a small part of the delay of Cubic, and of Verus's, at not much less than their throughput; and
/// more throughput than Sprout.
fn is_in_its_place(ways: &[Arc<Trace>; 2]) {
    let abc = cellular(ABC, ways);
    let [codel, cubic, verus, sprout] = [
        ("cubic", "codel"),
        ("cubic", "drop-tail"),
        ("verus", "drop-tail"),
        ("sprout", "drop-tail"),
    ]
    .map(|scheme| cellular(scheme, ways));
    assert!(abc.mbps > 1.1 * codel.mbps && abc.wait < 2.5 * codel.wait, "{abc:?} {codel:?}");
    assert!(abc.mbps > 0.75 * cubic.mbps && abc.wait < 0.3 * cubic.wait, "{abc:?} {cubic:?}");
    assert!(abc.mbps > 0.8 * verus.mbps && abc.wait < 0.6 * verus.wait, "{abc:?} {verus:?}");
    assert!(abc.mbps > 1.1 * sprout.mbps && abc.wait < 2.0 * sprout.wait, "{abc:?} {sprout:?}");
}

#[test]
fn is_in_its_place_on_synthetic_cellular_links() {
    for (name, seed) in [("lte", 101), ("lte", 102), ("3g", 101), ("3g", 102)] {
        let synthetic = Synthetic::named(name).expect("it is built in");
        let trace = |seed| Arc::new(synthetic.generate(seed, Span::from_secs(180)).expect("one"));
        println!("{name}, seed {seed}");
        is_in_its_place(&[trace(seed), trace(seed + 1000)]);
    }
}

#[test]
fn is_in_its_place_on_recorded_links() {
    for (there, back) in [
        ("Verizon-LTE-short.down", "Verizon-LTE-short.up"),
        ("ATT-LTE-driving.down", "ATT-LTE-driving.up"),
    ] {
        let load = |name: &str| {
            let file = exm_testing::reference(format!("traces/{name}"))?;
            Some(Arc::new(Trace::load(&file).expect("a trace")))
        };
        let (Some(there_trace), Some(back_trace)) = (load(there), load(back)) else { return };
        println!("{there}");
        is_in_its_place(&[there_trace, back_trace]);
    }
}
