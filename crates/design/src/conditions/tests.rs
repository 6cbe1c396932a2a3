use super::*;
use exm_sim::scenario::Scenario;
use std::path::Path;

const GENERAL: &str = "[network]\nrate = \"10..20 Mbps\"\nrtt = \"100..200 ms\"\nsenders = \"1..16\"\n\
                       [traffic]\non = \"exp 5 s\"\noff = \"exp 5 s\"\n[objective]\n";

fn model(changes: &[(&str, &str)]) -> Conditions {
    let text = changes.iter().fold(GENERAL.to_owned(), |text, (from, to)| text.replace(from, to));
    Conditions::of_model(&Model::parse(&text, "test").unwrap_or_else(|error| panic!("{error}")))
}

/// What of the dumbbell with these lines lies outside of `design`.
fn outside(design: &Conditions, lines: &str) -> Vec<String> {
    let lines = format!("duration = \"100 s\"\n[dumbbell]\ncontroller = \"aimd\"\n{lines}");
    let scenario = Scenario::parse(&lines, "test", Path::new("")).expect("a sound scenario");
    let network = scenario.network(&mut |_, _| Err(String::new())).expect("a sound network");
    let conditions = Conditions::of_flow(&network, 0);
    conditions.outside(design).iter().map(ToString::to_string).collect()
}

const WITHIN: &str = "rate = \"15 Mbps\"\nrtt = \"150 ms\"\nsenders = 8\nbuffer = \"2000 packets\"\n\
                      traffic.on = \"always\"\n";

#[test]
fn nothing_is_outside_within_the_ranges() {
    let design = model(&[]);
    assert_eq!(outside(&design, WITHIN), [""; 0]);
    let ends = WITHIN.replace("15 Mbps", "20 Mbps").replace("150 ms", "200 ms").replace("8", "16");
    assert_eq!(outside(&design, &ends), [""; 0]);
    assert!(design.outside(&design).is_empty());
    assert_eq!(design.to_string(), "10..20 Mbps, RTT 100..200 ms, 1..16 senders, buffer unlimited");
}

/// Each of the two links of the parking lot has two senders, though there are three.
#[test]
fn senders_are_those_of_a_link() {
    let parking = Conditions::of_model(&Model::shipped("parking-two").unwrap());
    assert_eq!(parking.senders, (2, 2));
}

#[test]
fn each_quantity_outside_is_named_with_its_range() {
    let design = model(&[]);
    for (from, to, expected) in [
        ("15 Mbps", "100 Mbps", "rate 100 Mbps (designed for 10..20 Mbps)"),
        ("15 Mbps", "9.5 Mbps", "rate 9.5 Mbps (designed for 10..20 Mbps)"),
        ("150 ms", "20 ms", "RTT 20 ms (designed for 100..200 ms)"),
        ("senders = 8", "senders = 32", "senders 32 (designed for 1..16)"),
        ("traffic", "loss = \"1 %\"\ntraffic", "loss 1 % (designed for 0 %)"),
        (
            "2000 packets",
            "100 packets",
            "buffer 100 packets (designed for unlimited, or 1 BDP and more)",
        ),
    ] {
        assert_eq!(outside(&design, &WITHIN.replace(from, to)), [expected], "{to}");
    }
    let all = WITHIN.replace("15 Mbps", "100 Mbps").replace("senders = 8", "senders = 32");
    assert_eq!(outside(&design, &all).len(), 2);
}

#[test]
fn a_deeper_buffer_or_shorter_flows_are_not_outside() {
    let shallow = model(&[("senders =", "buffer = \"0.5 BDP\"\nsenders =")]);
    assert_eq!(outside(&shallow, WITHIN), [""; 0]);
    assert_eq!(outside(&shallow, &WITHIN.replace("2000 packets", "unlimited")), [""; 0]);
    let none = outside(&shallow, &WITHIN.replace("2000 packets", "50 packets"));
    assert_eq!(none, ["buffer 50 packets (designed for 0.5 BDP and more)"]);
    let short = WITHIN.replace("\"always\"", "\"exp 1 ms\"\ntraffic.off = \"1 s\"");
    assert_eq!(outside(&model(&[]), &short), [""; 0]);
    // A design for short transfers has seen the beginning of a flow and no more.
    let transfers = model(&[("on = \"exp 5 s\"", "on = \"exp 100 kB\"")]);
    let long = outside(&transfers, WITHIN);
    assert_eq!(long, ["flow length about 100 s (designed for about 140..280 ms)"]);
}

#[test]
fn several_networks_are_told_as_one_range() {
    let design = model(&[]);
    let slow = model(&[("10..20 Mbps", "1 Mbps"), ("1..16", "2")]);
    let fast = model(&[("10..20 Mbps", "1 Gbps"), ("1..16", "4")]);
    let lines: Vec<String> =
        slow.joined(fast).outside(&design).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["rate 1..1000 Mbps (designed for 10..20 Mbps)"]);
    let exact = model(&[("10..20 Mbps", "15 Mbps")]);
    assert_eq!(design.outside(&exact)[0].to_string(), "rate 10..20 Mbps (designed for 15 Mbps)");
}
