//! Units as text: what parses, what is rejected, and that printing and parsing lose nothing.

use exm_units::{Bytes, Instant, Packets, Probability, Rate, RateText, Span};
use proptest::prelude::*;
use std::fmt::Display;
use std::str::FromStr;

fn read<T: FromStr<Err: Display>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn error<T: FromStr<Err: Display> + Display>(text: &str) -> String {
    match text.parse::<T>() {
        Ok(value) => panic!("\"{text}\" is read as {value}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn spans_are_read_in_every_unit() {
    let cases = [
        ("7 ns", 7),
        ("1.5 us", 1_500),
        ("1.5 µs", 1_500),
        ("150 ms", 150_000_000),
        ("150ms", 150_000_000),
        ("  0.25  s ", 250_000_000),
        ("2 sec", 2_000_000_000),
        ("1 min", 60_000_000_000),
        ("2 h", 7_200_000_000_000),
        ("1e3 ms", 1_000_000_000),
        ("0 s", 0),
        ("0.4 ns", 0),
        ("0.6 ns", 1),
        ("106751 h", 384_303_600_000_000_000),
    ];
    for (text, nanos) in cases {
        assert_eq!(read::<Span>(text).as_nanos(), nanos, "{text}");
    }
}

#[test]
fn rates_bytes_packets_and_probabilities_are_read() {
    assert_eq!(read::<Rate>("15 Mbps"), Rate::from_bps(15_000_000));
    assert_eq!(read::<Rate>("2.5 Gbit/s"), Rate::from_bps(2_500_000_000));
    assert_eq!(read::<Rate>("9600 bps"), Rate::from_bps(9600));
    assert_eq!(read::<Rate>("64 kbit/s"), Rate::from_bps(64_000));
    assert_eq!(read::<Rate>("1.25 packets/ms"), Rate::from_bps(15_000_000));
    assert_eq!(read::<Rate>("0.5packets/ms"), Rate::from_bps(6_000_000));
    assert_eq!(read::<RateText>("1.25 packets/ms").of(Bytes::new(150)), Rate::from_bps(1_500_000));
    assert_eq!(read::<RateText>("15 Mbps").of(Bytes::new(150)), Rate::from_bps(15_000_000));
    assert_eq!(read::<Bytes>("100 kB"), Bytes::new(100_000));
    assert_eq!(read::<Bytes>("1.5 KiB"), Bytes::new(1536));
    assert_eq!(read::<Bytes>("1 GiB"), Bytes::new(1 << 30));
    assert_eq!(read::<Bytes>("1 byte"), Bytes::new(1));
    assert_eq!(read::<Bytes>("1500 bytes"), Bytes::new(1500));
    assert_eq!(read::<Packets>("1000 packets"), Packets::new(1000));
    assert_eq!(read::<Packets>("1 pkt"), Packets::new(1));
    assert_eq!(read::<Probability>("0.01").get(), 0.01);
    assert_eq!(read::<Probability>("1 %").get(), 0.01);
    assert_eq!(read::<Probability>(" 100% ").get(), 1.0);
}

#[test]
fn invalid_quantities_are_rejected_with_an_example() {
    let span = "a duration such as \"150 ms\" or \"5 s\": give a number from 0 up and one of ns, us, \
                µs, ms, s, sec, min, h";
    for text in ["", "5", "s", "5 parsecs", "-1 s", "nan s", "inf s", "1e300 s", "1,5 s", "5 m"] {
        assert_eq!(error::<Span>(text), format!("\"{text}\" is not {span}"));
    }
    let rate = "a rate such as \"15 Mbps\": give a number from 0 up and one of bps, kbps, Mbps, Gbps, \
                bit/s, kbit/s, Mbit/s, Gbit/s, packets/s, packets/ms";
    for text in
        ["15 MB", "15Mbs", "packets/ms", "-1 packets/s", "nan packets/ms", "1e300 packets/ms"]
    {
        assert_eq!(error::<Rate>(text), format!("\"{text}\" is not {rate}"));
    }
    assert_eq!(
        error::<Bytes>("9 bits"),
        "\"9 bits\" is not an amount of data such as \"100 kB\": give a number from 0 up and one of \
         B, byte, bytes, kB, KB, MB, GB, KiB, MiB, GiB"
    );
    assert_eq!(
        error::<Packets>("many packets"),
        "\"many packets\" is not a number of packets such as \"1000 packets\": give a number from 0 \
         up and one of packet, packets, pkt"
    );
    let probability = "a probability such as \"0.01\" or \"1 %\"";
    for text in ["1.01", "-0.1", "101 %", "nan", "likely"] {
        assert_eq!(error::<Probability>(text), format!("\"{text}\" is not {probability}"));
    }
    let long = "x".repeat(1000);
    assert!(error::<Span>(&long).len() < 220, "a long text is truncated in the message");
}

/// Every unit that an error lists is accepted.
#[test]
fn every_unit_is_accepted() {
    for unit in Span::UNITS {
        read::<Span>(&format!("1 {unit}"));
    }
    for unit in Rate::UNITS {
        read::<Rate>(&format!("1 {unit}"));
    }
    for unit in Bytes::UNITS {
        read::<Bytes>(&format!("1{unit}"));
    }
    for unit in Packets::UNITS {
        read::<Packets>(&format!("1 {unit}"));
    }
    assert_eq!(read::<Rate>("1250 packets/s"), Rate::from_mbps(15.0));
}

#[test]
fn quantities_print_in_the_unit_people_would_choose() {
    assert_eq!(Span::from_millis(150).to_string(), "150 ms");
    assert_eq!(Span::from_millis(1500).to_string(), "1.5 s");
    assert_eq!(Span::from_nanos(1_234_567).to_string(), "1234.567 us");
    assert_eq!(Span::ZERO.to_string(), "0 ns");
    assert_eq!(Span::from_micros(1).to_string(), "1 us");
    assert_eq!(format!("{:?}", Span::from_secs(2)), "2 s");
    assert_eq!(Rate::from_mbps(15.0).to_string(), "15 Mbps");
    assert_eq!(Rate::from_bps(1_200_000).to_string(), "1.2 Mbps");
    assert_eq!(Bytes::new(1500).to_string(), "1.5 kB");
    assert_eq!(Packets::new(1).to_string(), "1 packet");
    assert_eq!(Packets::new(2).to_string(), "2 packets");
    assert_eq!(format!("{:?}", Instant::ZERO + Span::from_millis(20)), "@20 ms");
}

/// Numbers of every size, those with few digits as well as those with many.
fn number() -> impl Strategy<Value = u64> {
    let limit = 9_000_000_000_000_000_000_u64;
    prop_oneof![
        0..=limit,
        0..1_000_000_000_u64,
        (0..10_000_u64, 0_u32..15).prop_map(|(digits, zeros)| digits * 10_u64.pow(zeros)),
        (0_u32..63).prop_map(|power| (1 << power) + 1),
    ]
    .prop_map(move |number| number.min(limit))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_is_printed_is_read_back(number in number()) {
        let span = Span::from_nanos(number);
        prop_assert_eq!(read::<Span>(&span.to_string()), span);
        let rate = Rate::from_bps(number);
        prop_assert_eq!(read::<Rate>(&rate.to_string()), rate);
        let bytes = Bytes::new(number);
        prop_assert_eq!(read::<Bytes>(&bytes.to_string()), bytes);
        let packets = Packets::new(number);
        prop_assert_eq!(read::<Packets>(&packets.to_string()), packets);
    }

    #[test]
    fn a_probability_is_read_back(number in 0.0..=1.0) {
        let probability = Probability::new(number).expect("within bounds");
        prop_assert_eq!(read::<Probability>(&probability.to_string()), probability);
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,12}", number in "[0-9.e+-]{0,8}") {
        for text in [text, format!("{number} s"), format!("{number}%"), format!("{number} GB")] {
            let _ = (text.parse::<Span>(), text.parse::<Rate>(), text.parse::<Bytes>());
            let _ = (text.parse::<Packets>(), text.parse::<Probability>());
        }
    }
}

#[cfg(feature = "serde")]
#[test]
fn in_files_units_are_strings() {
    assert_eq!(serde_json::to_string(&Span::from_millis(150)).unwrap(), "\"150 ms\"");
    assert_eq!(serde_json::from_str::<Rate>("\"15 Mbps\"").unwrap(), Rate::from_mbps(15.0));
    let error = serde_json::from_str::<Bytes>("\"15 Mbps\"").unwrap_err().to_string();
    assert!(error.starts_with("\"15 Mbps\" is not an amount of data"), "{error}");
    assert!(serde_json::from_str::<Span>("150").is_err());
    // A probability has no unit, and may be a number.
    for text in ["0.01", "\"0.01\"", "\"1 %\""] {
        let probability = serde_json::from_str::<Probability>(text).unwrap();
        assert_eq!(Some(probability), Probability::new(0.01), "{text}");
    }
    assert!(serde_json::from_str::<Probability>("2").is_err());
}
