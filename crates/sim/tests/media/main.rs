//! Video by controllers for real-time media, in the test cases of RFC 8867, with the metrics of RFC 8868.

mod cases;
mod rfc8868;
mod tables;

use exm_link::{Limit, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine::Simulation;
use exm_sim::metrics::{FlowReport, Report};
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, OnOff, Traffic};
use exm_sim::video::{Video, VideoReport};
use exm_units::{Bytes, Instant, Rate, Span};

/// Section 4 of RFC 8867: the queue takes 300 ms.
fn bottleneck(mbps: f64) -> LinkSpec {
    let room = (mbps * 1e6 * 0.3 / 8.0) as u64;
    LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(mbps)), Limit::Bytes(Bytes::new(room)))
}

/// The controllers for media.
const CONTROLLERS: [&str; 3] = ["gcc", "nada", "scream"];

fn video(controller: &str, one_way: u64) -> FlowSpec {
    let on = OnFor::Video(Video::default());
    FlowSpec::new(Host::Bare.transport(AnyController::named(controller).expect("it is built in")))
        .name(controller)
        .packet_size(Bytes::new(1200))
        .traffic(Traffic::OnOff(OnOff { on, ..OnOff::always() }))
        .extra_delay(Span::from_millis(2 * one_way))
}

fn network(link: LinkSpec, flows: Vec<FlowSpec>, seconds: u64) -> Network {
    Network::new(vec![link], flows, Span::from_secs(seconds)).expect("it is a network")
}

fn run(network: Network, seed: u64) -> Report {
    Simulation::new(network, seed).finish()
}

fn seen(flow: &FlowReport) -> &VideoReport {
    flow.video.as_ref().expect("it is a video")
}

/// The rate of what was shown, in Mbps.
fn shown(flow: &FlowReport) -> f64 {
    seen(flow).rate().as_mbps()
}

fn p95_ms(flow: &FlowReport) -> f64 {
    seen(flow).delay.percentile(95.0).expect("frames arrived").as_millis_f64()
}

/// Section 5.1: the capacity is 1, 2.5, 0.6 and 1 Mbps from 0, 40, 60 and 80 s on, of 100 s.
#[test]
fn one_flow_follows_a_variable_capacity() {
    let capacity = [(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)];
    for (controller, least, most_delay) in
        [("gcc", 0.6, 200.0), ("nada", 0.75, 350.0), ("scream", 0.75, 250.0)]
    {
        for seed in 1..=5 {
            let network = network(bottleneck(1.0), vec![video(controller, 50)], 100);
            let mut simulation = Simulation::new(network, seed);
            for (seconds, mbps) in capacity {
                simulation.run_until(Instant::ZERO + Span::from_secs(seconds));
                simulation.set_rate(0, Rate::from_mbps(mbps)).expect("it is a rate");
            }
            let report = simulation.finish();
            let flow = &report.flows[0];
            // What could be encoded at most: 1 Mbps for 60 s, 1.5 for 20 and 0.6 for 20.
            let used = shown(flow) / 1.02;
            let (delay, lost) = (p95_ms(flow), flow.lost + flow.dropped_in_all());
            println!("{controller} {seed}: {used:.2} of it, p95 {delay:.0} ms, {lost} lost");
            assert!((least..1.0).contains(&used), "{controller}, seed {seed}: {used}");
            assert!(delay < most_delay, "{controller}, seed {seed}: {delay}");
        }
    }
}

/// Section 5.5: five flows with one-way propagation delays of 10 to 150 ms.
#[test]
fn flows_of_different_round_trips_share() {
    for (controller, least) in [("gcc", 0.85), ("nada", 0.87), ("scream", 0.7)] {
        for seed in 1..=3 {
            let flows = [10, 25, 50, 100, 150].map(|one_way| video(controller, one_way));
            let report = run(network(bottleneck(4.0), flows.to_vec(), 300), seed);
            let rates: Vec<f64> = report.flows.iter().map(shown).collect();
            let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
            let jain = sum * sum / (5.0 * squares);
            println!("{controller} {seed}: {rates:.2?} Mbps, Jain {jain:.2}");
            assert!(jain > least, "{controller}, seed {seed}: {rates:?}");
        }
    }
}

/// Section 5.6: beside a long TCP flow on 2 Mbps.
#[test]
fn a_call_survives_beside_a_download() {
    for (controller, least) in [("gcc", 0.05), ("nada", 0.25), ("scream", 0.04)] {
        for seed in 1..=3 {
            let tcp: Transport = Host::Tcp.transport(AnyController::named("cubic").expect("it is"));
            let download = FlowSpec::new(tcp).extra_delay(Span::from_millis(100));
            let flows = vec![video(controller, 50), download];
            let report = run(network(bottleneck(2.0), flows, 120), seed);
            let rate = shown(&report.flows[0]);
            println!("{controller} {seed}: {rate:.2} Mbps, p95 {:.0}", p95_ms(&report.flows[0]));
            assert!(rate > least, "{controller}, seed {seed}: {rate}");
        }
    }
}

/// Marks of L4S keep SCReAM's packets from waiting, where without them the queue grows to half of its target and more.
#[test]
fn marks_keep_the_queue_of_scream_short() {
    let p95 = |controller, queue: &str| {
        let link = bottleneck(1.0).queue(queue.parse().expect("a queue"));
        let report = run(network(link, vec![video(controller, 10)], 60), 1);
        let flow = &report.flows[0];
        let queued = flow.queueing_delay.percentile(95.0).map_or(0.0, Span::as_millis_f64);
        println!(
            "{controller}, {queue}: {:.2} Mbps, p95 of packets {queued:.0} ms, of frames {:.0}",
            shown(flow),
            p95_ms(flow)
        );
        (shown(flow), queued)
    };
    let (rate, marked) = p95("scream", "dual-pi2");
    let (_, plain) = p95("scream", "drop-tail");
    assert!(rate > 0.7 && marked < 0.6 * plain, "{rate} {marked} {plain}");
}

/// Any transport may carry a video: TCP shows every frame, if late; the bare host loses those that lost a packet.
#[test]
fn each_transport_carries_frames() {
    let lossy = || bottleneck(3.0).loss("2%".parse().expect("a probability"));
    let over = |transport: Transport| video("gcc", 20).transport(transport);
    let tcp = over(Host::Tcp.transport(AnyController::named("cubic").expect("it is built in")));
    let report = run(network(lossy(), vec![tcp], 60), 1);
    let video_ = seen(&report.flows[0]);
    assert_eq!(video_.lost, 0);
    assert!(video_.shown > 500 && video_.frames - video_.shown < 10, "{video_:?}");
    let report = run(network(lossy(), vec![video("gcc", 20)], 60), 1);
    let video_ = seen(&report.flows[0]);
    assert!(video_.shown > 500 && video_.lost > 20, "{video_:?}");
    assert_eq!(report.flows[0].completion.count(), 0, "a video does not complete");
}

/// Sprout over a link with a return path follows its forecast.
#[test]
fn sprout_carries_frames_by_its_forecast() {
    let link = |name: &str, ends: (usize, usize)| {
        LinkSpec::new(Service::Fixed(Rate::from_mbps(2.0)))
            .name(name)
            .ends(ends.0, ends.1)
            .delay(Span::from_millis(20))
    };
    let sprout = Transport::Sprout(exm_sprout::Settings::default());
    let flow = video("gcc", 0).transport(sprout).path([0]).back([1]);
    let links = vec![link("down", (0, 1)), link("up", (1, 0))];
    let network = Network::new(links, vec![flow], Span::from_secs(60)).expect("a network");
    let report = run(network, 1);
    let video_ = seen(&report.flows[0]);
    println!("{:.2} Mbps {video_:?}", shown(&report.flows[0]));
    assert!(shown(&report.flows[0]) > 0.5, "{video_:?}");
    assert!(p95_ms(&report.flows[0]) < 200.0, "{video_:?}");
    assert_eq!(video_.lost, 0);
}

/// The same seed gives the same video.
#[test]
fn a_video_is_deterministic() {
    let once = || run(network(bottleneck(1.0), vec![video("gcc", 50)], 20), 7);
    assert_eq!(once(), once());
}
