//! Units as numbers: conversions, sums and their limits.

use exm_units::{Bytes, Instant, Packets, Probability, Rate, Span};
use proptest::prelude::*;

#[test]
fn spans_convert() {
    assert_eq!(Span::from_secs(2).as_millis_f64(), 2000.0);
    assert_eq!(Span::from_micros(5).as_nanos(), 5_000);
    assert_eq!(Span::from_millis_f64(0.25).as_nanos(), 250_000);
    assert_eq!(Span::from_secs_f64(1e-9).as_nanos(), 1);
    assert_eq!(Span::from_millis_f64(-1.0), Span::ZERO);
    assert_eq!(Span::from_millis_f64(f64::NAN), Span::ZERO);
    assert_eq!(Span::from_millis_f64(f64::INFINITY), Span::MAX);
    assert_eq!(Span::from_secs_f64(1e300), Span::MAX);
    assert!(Span::ZERO.is_zero() && !Span::from_nanos(1).is_zero());
}

#[test]
fn bandwidth_delay_products_are_whole_packets_rounded_up() {
    let size = Bytes::new(1500);
    for (mbps, rtt_ms, times, packets) in [
        (15.0, 150, 1.0, 188),
        (15.0, 150, 0.001, 1),
        // 83 1/3 packets times 1.5: rounding the third first would give 126.
        (10.0, 100, 1.5, 125),
        (10.0, 50, 1.2, 50),
        (24.0, 100, 0.005, 1),
        (12.0, 100, 0.5, 50),
    ] {
        let rtt = Span::from_millis(rtt_ms);
        let product = Rate::from_mbps(mbps).bandwidth_delay(rtt, times, size);
        assert_eq!(product, Packets::new(packets), "{times} BDP of {mbps} Mbps, {rtt_ms} ms");
    }
    let most = Rate::from_bps(u64::MAX).bandwidth_delay(Span::MAX, 1e12, Bytes::new(1));
    assert_eq!(most, Packets::new(u64::MAX));
    for bad in [f64::NAN, -1.0, 0.0] {
        let product = Rate::from_mbps(10.0).bandwidth_delay(Span::from_millis(100), bad, size);
        assert_eq!(product, Packets::new(1));
    }
}

#[test]
fn instants_and_spans_add_up() {
    let start = Instant::from_nanos(100);
    let later = start + Span::from_nanos(50);
    assert_eq!(later - start, Span::from_nanos(50));
    assert_eq!(later - Span::from_nanos(150), Instant::ZERO);
    assert_eq!(start.saturating_since(later), Span::ZERO);
    assert_eq!(later.saturating_since(start), Span::from_nanos(50));
    assert_eq!(Instant::MAX.saturating_add(Span::from_nanos(1)), Instant::MAX);
    assert_eq!(Span::MAX.saturating_add(Span::MAX), Span::MAX);
    assert_eq!(Span::ZERO.saturating_sub(Span::MAX), Span::ZERO);
    assert_eq!(Span::from_nanos(7) * 3 / 2, Span::from_nanos(10));
    let spans = [Span::from_nanos(1), Span::from_nanos(2)];
    assert_eq!(spans.into_iter().sum::<Span>(), Span::from_nanos(3));
}

#[test]
fn bytes_fill_packets() {
    let size = Bytes::new(1500);
    assert_eq!(Bytes::ZERO.in_packets(size), Packets::ZERO);
    assert_eq!(Bytes::new(1).in_packets(size), Packets::new(1));
    assert_eq!(Bytes::new(1500).in_packets(size), Packets::new(1));
    assert_eq!(Bytes::new(100_000).in_packets(size), Packets::new(67));
    let mut packets = Packets::new(3) - Packets::new(1);
    packets += Packets::new(5);
    packets -= Packets::new(2);
    assert_eq!(packets + Packets::new(1), Packets::new(6));
}

#[test]
fn service_times_are_exact() {
    let packet = Bytes::new(1500);
    assert_eq!(Rate::from_mbps(15.0).service_time(packet), Span::from_micros(800));
    assert_eq!(Rate::from_mbps(12.0).service_time(packet), Span::from_millis(1));
    assert_eq!(Rate::from_bps(7).service_time(Bytes::new(1)), Span::from_nanos(1_142_857_143));
    assert_eq!(Rate::from_bps(0).service_time(packet), Span::MAX, "never");
    assert_eq!(
        Rate::from_bps(u64::MAX).service_time(packet),
        Span::from_nanos(1),
        "at least one nanosecond"
    );
    assert_eq!(Rate::from_bps(1).service_time(Bytes::new(u64::MAX)), Span::MAX);
}

#[test]
fn rates_convert_to_remys_unit() {
    let packet = Bytes::new(1500);
    let rate = Rate::from_packets_per_ms(1.25, packet);
    assert_eq!(rate, Rate::from_mbps(15.0));
    assert_eq!(rate.as_packets_per_ms(packet), 1.25);
    assert_eq!(rate.as_mbps(), 15.0);
    assert_eq!(Rate::from_mbps(f64::NAN), Rate::from_bps(0));
    assert_eq!(Rate::from_mbps(-3.0), Rate::from_bps(0));
}

#[test]
fn probabilities_are_from_0_to_1() {
    assert_eq!(Probability::new(0.0), Some(Probability::ZERO));
    assert!(Probability::new(1.0).is_some());
    for value in [-1e-9, 1.0 + 1e-9, f64::NAN, f64::INFINITY] {
        assert_eq!(Probability::new(value), None, "{value}");
    }
}

proptest! {
    #[test]
    fn a_service_time_is_the_nearest_nanosecond(
        rate in 1_u64..400_000_000_000,
        size in 1_u64..100_000,
    ) {
        let nanos = Rate::from_bps(rate).service_time(Bytes::new(size)).as_nanos();
        let (exact, given) = (u128::from(size) * 8_000_000_000, u128::from(nanos) * u128::from(rate));
        let error = exact.abs_diff(given) * 2;
        prop_assert!(error <= u128::from(rate) || nanos == 1, "{nanos}");
    }

    #[test]
    fn a_larger_packet_or_a_slower_link_never_takes_less(
        rate in 1_u64..u64::MAX / 2,
        size in 0_u64..u64::MAX / 2,
        more in 0_u64..u64::MAX / 2,
    ) {
        let time = |rate, size| Rate::from_bps(rate).service_time(Bytes::new(size));
        prop_assert!(time(rate, size) <= time(rate, size + more));
        prop_assert!(time(rate + more, size) <= time(rate, size));
    }

    #[test]
    fn millis_and_back(nanos in 0_u64..1 << 50) {
        let span = Span::from_nanos(nanos);
        prop_assert_eq!(Span::from_millis_f64(span.as_millis_f64()), span);
        prop_assert_eq!(Span::from_secs_f64(span.as_secs_f64()), span);
    }
}
