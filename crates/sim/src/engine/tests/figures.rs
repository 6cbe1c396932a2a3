//! Results known beforehand.

use super::*;

fn exponential(secs: f64) -> OnOff {
    let mean = Distribution::Exponential { mean: secs };
    OnOff { on: OnFor::Time(mean.clone()), off: mean }
}

/// The original program's reference run (one default rule, 8 senders, 1.25 packets/ms, 150 ms, on =
/// off = 5 s) gives a throughput of 0.8398 of the equal share and an RTT of 2.94 propagation
/// delays. One run of 10 000 s is within about 1 % and 2 % of the mean of many runs; here the mean
/// of twelve must be within 1 %.
#[test]
fn the_default_rule_agrees_with_the_original_program() {
    let rate = Rate::from_packets_per_ms(1.25, PACKET);
    let sender = flow(150, one_rule(1.0, 1, 3.0), exponential(5.0));
    let links = vec![link(rate, Limit::Unlimited, 0.0)];
    let network = network(links, vec![sender; 8], Span::from_secs(10_000))
        .measured_over(crate::MeasuredOver::Papers);
    let runs = 12;
    let (mut throughput, mut rtt) = (0.0, 0.0);
    for seed in 1..=runs {
        let report = run(&network, seed);
        throughput += report.mean_normalised_throughput().expect("some was on") / runs as f64;
        rtt += report.mean_rtt_secs().expect("some was delivered") / 0.150 / runs as f64;
    }
    assert!((throughput / 0.8398 - 1.0).abs() < 0.01, "{throughput}");
    assert!((rtt / 2.94 - 1.0).abs() < 0.01, "{rtt}");
}

/// Single packets from many senders approximate a Poisson process, and wait as in the formula of
/// Pollaczek and Khinchine for a fixed service time: load / (2 (1 - load)) services.
#[test]
fn packets_wait_as_in_an_m_d_1_queue() {
    for load in [0.3, 0.5, 0.8] {
        let senders = 3000;
        // A sender is off for a mean time, then on until its packet is acknowledged: 1 ms and its
        // wait.
        let off = senders as f64 * 0.001 / load;
        let traffic = OnOff {
            on: OnFor::Packets(Distribution::Fixed(1.0)),
            off: Distribution::Exponential { mean: off },
        };
        let sender = flow(0, window(1), traffic);
        let links = vec![packet_a_ms(Limit::Unlimited, 0.0)];
        let report = run(&network(links, vec![sender; senders], Span::from_secs(2000)), 1);
        let link = &report.links[0];
        assert!((link.utilisation / load - 1.0).abs() < 0.01, "{}", link.utilisation);
        // The mean queue is the arrival rate times the mean wait (Little).
        let wait = link.mean_queue / link.utilisation;
        let expected = load / (2.0 * (1.0 - load));
        assert!((wait / expected - 1.0).abs() < 0.03, "load {load}: {wait}, not {expected}");
    }
}

/// A fixed window on one link: throughput and RTT in closed form.
#[test]
fn a_fixed_window_agrees_with_its_closed_form() {
    for (packets, utilisation, rtt_ms) in [(50, 0.5, 100.0), (100, 1.0, 100.0), (300, 1.0, 300.0)] {
        let sender = flow(99, window(packets), ever());
        let links = vec![packet_a_ms(Limit::Unlimited, 0.0)];
        let report = run(&network(links, vec![sender], Span::from_secs(1000)), 1);
        assert!((report.links[0].utilisation / utilisation - 1.0).abs() < 0.001);
        let rtt = report.mean_rtt_secs().expect("some was delivered") * 1000.0;
        assert!((rtt / rtt_ms - 1.0).abs() < 0.001, "{packets}: {rtt}");
    }
}

/// Two hops: packets wait at the slower one, and a flow over both has the sum of the delays.
#[test]
fn packets_wait_at_the_narrowest_link() {
    let at = |mbps: f64, ends| LinkSpec {
        ends,
        delay: Span::from_millis(20),
        ..link(Rate::from_mbps(mbps), Limit::Unlimited, 0.0)
    };
    let links = vec![at(24.0, (0, 1)), at(12.0, (1, 2))];
    let sender = FlowSpec { path: vec![0, 1], ..flow(10, window(100), ever()) };
    let report = run(&network(links, vec![sender], Span::from_secs(100)), 1);
    assert_eq!(report.flows[0].rtt.min(), Some(Span::from_micros(51_500)));
    assert!(report.links[1].utilisation > 0.99 && report.links[0].utilisation < 0.51);
    assert!(report.links[0].mean_queue < 0.1, "{}", report.links[0].mean_queue);
    // 100 in flight, 51.5 of them on the links and in the delays.
    assert!((report.links[1].mean_queue - 48.5).abs() < 0.5, "{}", report.links[1].mean_queue);
}
