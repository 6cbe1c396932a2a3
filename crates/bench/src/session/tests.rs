use super::arrivals::Arrivals;
use super::wire::Message;
use super::*;
use exm_units::Instant;
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

fn messages() -> impl Strategy<Value = Message> {
    let span = any::<u64>().prop_map(Span::from_nanos);
    let plan = (any::<bool>(), any::<bool>(), span.clone(), span.clone(), any::<Option<u32>>());
    let plan = plan.prop_map(|(up, down, duration, skip, rate)| {
        let rate = rate.map(|rate| Rate::from_bps(u64::from(rate) + 1));
        Plan { up, down, duration, skip, rate }
    });
    let delay = prop::option::of((0..u64::MAX).prop_map(Span::from_nanos));
    let half = (any::<[u64; 3]>(), delay.clone(), delay);
    let half = half.prop_map(|([sent, received, bits], delay_50, delay_95)| DirectionReport {
        sent,
        received,
        throughput: Rate::from_bps(bits),
        delay_50,
        delay_95,
    });
    let run = any::<u32>();
    prop_oneof![
        (run, any::<[u64; 2]>()).prop_map(|(run, [number, nanos])| {
            Message::Data { run, number, sent_at: Instant::from_nanos(nanos) }
        }),
        (run, plan, any::<u128>()).prop_map(|(run, plan, machine)| Message::Start {
            run,
            plan,
            machine
        }),
        (run, any::<u128>()).prop_map(|(run, machine)| Message::Started { run, machine }),
        run.prop_map(|run| Message::End { run }),
        (run, half, span).prop_map(|(run, half, work)| Message::Report { run, half, work }),
    ]
}

proptest! {
    #[test]
    fn messages_are_decoded_as_encoded(message in messages(), cut in any::<prop::sample::Index>()) {
        let mut encoded = Vec::new();
        message.encode(&mut encoded);
        prop_assert_eq!(Message::decode(&encoded), Some(message));
        prop_assert_eq!(Message::decode(&encoded[..cut.index(encoded.len())]), None);
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Message::decode(&bytes);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Any send time, however wrong, is scored somehow.
    #[test]
    fn any_send_time_is_safe(
        stamps in prop::collection::vec(any::<[u64; 2]>(), 1..20),
        one_clock in any::<bool>(),
    ) {
        let mut arrivals = Arrivals::new(Instant::ZERO, at(1_000_000), one_clock);
        let mut now = 0u64;
        for [sent, wait] in &stamps {
            now = now.saturating_add(wait >> 30);
            arrivals.arrived(Instant::from_nanos(*sent), Instant::from_nanos(now), 100);
        }
        prop_assert_eq!(arrivals.half(0).received, stamps.len() as u64);
    }
}

/// A packet every 10 ms, with a delay of 30 ms except for a second with 200 ms.
fn delays(one_clock: bool, difference: i64) -> DirectionReport {
    let mut arrivals = Arrivals::new(at(100_000), at(110_000), one_clock);
    for number in 0..1000 {
        let sent = 100_000 + 10 * number;
        let delay = if (500..600).contains(&number) { 200 } else { 30 };
        let stamp = at((sent as i64 + difference) as u64);
        arrivals.arrived(stamp, at(sent + delay), 1290);
    }
    arrivals.half(1010)
}

#[test]
fn delays_are_absolute_by_one_clock_and_relative_by_two() {
    let millis = |half: DirectionReport| half.delay_95.map(|delay| delay.as_millis_f64().round());
    let half = delays(true, 0);
    assert_eq!((half.received, millis(half)), (1000, Some(205.0)));
    assert!((half.loss() - 10.0 / 1010.0).abs() < 1e-12);
    // 997 arrive before the end of the ten seconds, of 1361 bytes each.
    assert_eq!(half.throughput, Rate::from_bps((997 * 1361 * 8 + 5) / 10));
    for difference in [-90_000, 0, 90_000] {
        assert_eq!(millis(delays(false, difference)), Some(175.0), "clocks {difference} ms apart");
    }
}

#[test]
fn a_machine_recognises_itself_without_revealing_its_boot_id() {
    let name = machine(1);
    assert!(name != 0 && is_ours(1, name) && !is_ours(2, name) && !is_ours(1, 0));
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux has one");
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).collect();
    assert_ne!(format!("{name:032x}"), digits);
    assert_ne!(name, machine(2), "runs cannot be linked to one machine");
}
