use super::*;
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// The scores over `from..until` for packets of 1500 bytes sent and received at these milliseconds.
fn scores(from: u64, until: u64, packets: &[(u64, u64)]) -> Scores {
    let mut scores = EndToEnd::new(at(from), at(until));
    for &(sent, received) in packets {
        scores.arrived(at(sent), at(received), crate::OPPORTUNITY);
    }
    scores.finish()
}

/// Percentiles in milliseconds, rounded.
fn millis(scores: &Scores, percents: &[f64]) -> Vec<f64> {
    let rounded = |span: Span| span.as_millis_f64().round();
    percents.iter().map(|&p| rounded(scores.percentile(p).expect("some delay"))).collect()
}

#[test]
fn the_delay_rises_until_a_newer_packet_arrives() {
    // From 20 to 120 ms, then from 20 to 220 ms: 20..120 is covered twice.
    let two = scores(0, 320, &[(0, 20), (100, 120)]);
    assert_eq!(millis(&two, &[0.0, 50.0, 75.0, 95.0, 100.0]), [20.0, 95.0, 145.0, 205.0, 220.0]);
    assert_eq!((two.bytes, two.throughput), (Bytes::new(3000), Rate::from_bps(75_000)));
}

#[test]
fn an_older_packet_changes_only_the_throughput() {
    let late = scores(0, 320, &[(0, 20), (100, 120), (50, 200), (100, 300)]);
    let without = scores(0, 320, &[(0, 20), (100, 120)]);
    assert_eq!(late.delay_95, without.delay_95);
    assert_eq!(late.bytes, Bytes::new(6000));
}

#[test]
fn the_interval_begins_with_the_age_of_the_last_arrival() {
    // At 1000 the last arrival was sent 990 ms ago; the next arrives 100 ms later.
    let outage = scores(1000, 1100, &[(10, 30), (1090, 1100), (1095, 1200)]);
    assert_eq!(millis(&outage, &[0.0, 50.0, 100.0]), [990.0, 1040.0, 1090.0]);
    assert_eq!(outage.bytes, Bytes::ZERO);
}

#[test]
fn without_a_packet_there_is_no_delay() {
    assert!(scores(0, 100, &[]).delay_95.is_none());
    assert!(scores(0, 100, &[(50, 100)]).delay_95.is_none());
    assert!(scores(100, 100, &[(5, 50)]).delay_95.is_none());
    assert_eq!(scores(0, 0, &[(5, 50)]).throughput, Rate::from_bps(0));
}

#[test]
fn clock_errors_do_no_harm() {
    let early = scores(0, 100, &[(60, 50), (70, 40)]);
    assert_eq!(millis(&early, &[0.0, 100.0]), [0.0, 50.0]);
}

#[test]
fn delays_of_packets() {
    let mut delays = PacketDelays::new(at(10), at(100));
    for (received, delay) in [(9, 900), (10, 5), (20, 5), (30, 50), (99, 20), (100, 900)] {
        delays.record(at(received), Span::from_millis(delay));
    }
    assert_eq!((delays.count(), delays.mean()), (4, Some(Span::from_millis(20))));
    assert_eq!(delays.longest(), Some(Span::from_millis(50)));
    let half = delays.percentile(50.0).expect("packets").as_millis_f64();
    assert!((half - 5.0).abs() < 0.07, "{half}");
    assert_eq!(delays.percentile(100.0), delays.longest());
    let none = PacketDelays::new(at(0), at(1));
    assert_eq!((none.mean(), none.longest(), none.percentile(50.0)), (None, None, None));
}

#[test]
fn the_omniscient_protocol_has_the_traces_capacity_and_outages() {
    // Opportunities at 10, 20 and 100 ms, repeated.
    let trace = Trace::new([10, 20, 100].map(at).to_vec()).expect("a trace");
    let best = omniscient(&trace, Span::from_millis(20), at(1000), at(2000));
    assert_eq!(best.bytes, trace.capacity(at(1000), at(2000)));
    // 20..30 is covered three times in 100 ms, 30..100 once.
    assert_eq!(millis(&best, &[0.0, 30.0, 95.0, 100.0]), [20.0, 30.0, 95.0, 100.0]);
    let worse = scores(1000, 2000, &[(0, 500), (1000, 1001)]);
    assert_eq!(worse.self_inflicted(&best).map(Span::as_millis_f64).map(f64::round), Some(856.0));
    assert_eq!(worse.utilisation(&best), Some(1.0 / 30.0));
    // A propagation delay longer than the trace's start.
    let far = omniscient(&trace, Span::from_millis(500), at(0), at(600));
    assert_eq!((far.bytes, millis(&far, &[0.0])), (Bytes::new(4500), vec![500.0]));
}

/// What the original programs measured on the published traces, 20 ms each way, from 60 s to 180 s:
/// capacity in kbit/s, and the omniscient protocol's 95 % delay in ms.
#[test]
fn the_omniscient_protocol_on_published_traces() {
    let published = [
        ("TMobile-UMTS-driving.down", 1545, 1935),
        ("TMobile-UMTS-driving.up", 752, 1668),
        ("Verizon-LTE-short.down", 5262, 49),
        ("Verizon-LTE-short.up", 6488, 40),
    ];
    for (name, capacity, delay) in published {
        let Some(file) = exm_testing::reference(format!("traces/{name}")) else {
            continue;
        };
        let trace = Trace::load(&file).expect("a trace");
        let (from, until) = (at(60_000), at(180_000));
        let best = omniscient(&trace, Span::from_millis(20), from, until);
        let measured = best.delay_95.expect("some delay").as_millis_f64();
        assert!((measured - f64::from(delay)).abs() <= 1.0, "{name}: {measured} ms");
        let kbps = best.throughput.as_bps() / 1000;
        assert!(kbps.abs_diff(capacity) <= 1, "{name}: {kbps} kbit/s");
    }
}

/// The delay at each of these nanoseconds, by definition.
fn naive(packets: &[(u64, u64)], from: u64, until: u64) -> Vec<u64> {
    let newest = |now| packets.iter().filter(|p| p.1 <= now).map(|p| p.0).max();
    (from..until).filter_map(|now| Some(now - newest(now)?)).collect()
}

proptest! {
    /// The distribution agrees with the definition, sampled in steps.
    #[test]
    fn agrees_with_the_definition(
        gaps in prop::collection::vec((0u64..40, 0u64..60), 0..30),
        from in 0u64..200,
        length in 1u64..400,
        percent in 0.0f64..100.0,
    ) {
        let mut received = 0;
        let packets: Vec<(u64, u64)> = gaps
            .iter()
            .map(|&(gap, age)| { received += gap; (received.saturating_sub(age), received) })
            .collect();
        let until = from + length;
        let mut delays = naive(&packets, from, until);
        delays.sort_unstable();
        let measured = scores(from, until, &packets).percentile(percent);
        prop_assert_eq!(measured.is_none(), delays.is_empty());
        if let Some(measured) = measured {
            // Each step of the definition stands for the millisecond after it.
            let rank = percent / 100.0 * delays.len() as f64;
            let low = delays[(rank - 1.0).floor().max(0.0) as usize] as f64;
            let high = delays[(rank.ceil() as usize).min(delays.len() - 1)] as f64 + 1.0;
            let measured = measured.as_millis_f64();
            prop_assert!(low - 0.07 <= measured && measured <= high + 0.07, "{measured} {low} {high}");
        }
    }
}
