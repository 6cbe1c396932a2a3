//! Who a design is for: its host, its codepoint, and the senders that it considers.

use super::*;
use exm_sim::dumbbell::Outcome;

#[test]
fn considered_senders_of_a_controller_count() {
    let senders = |considered: &str| {
        format!(
            "[network]\nrate = \"10 Mbps\"\nrtt = \"100 ms\"\n[traffic]\non = \"always\"\n[[sender]]\n\
             [[sender]]\ncontroller = \"reno\"\n{considered}"
        )
    };
    let of = |considered: &str| Model::parse(&senders(considered), "m").unwrap();
    let (selfish, considerate) = (of(""), of("considered = true\nobjective = { delta = 0.5 }"));
    assert_eq!(selfish.fingerprint(), of("considered = false").fingerprint());
    let again = Model::parse(&considerate.to_string(), "m").unwrap();
    assert_eq!(again.fingerprint(), considerate.fingerprint());
    let score = |model: &Model, theirs: u64| {
        let specimen = &model.specimens(1, 0, 1)[0];
        let second = Span::from_secs(1);
        let on = |delivered: u64| Outcome {
            sent: delivered,
            delivered,
            headers: 0.0,
            lost: 0,
            rtt_sum: Span::from_millis(100) * delivered,
            on_time: second,
            share_time: 1.0,
            active_time: second,
            active_share_time: 1.0,
        };
        model.score(&specimen.network, &[on(1000), on(theirs)])
    };
    assert_eq!(score(&selfish, 1000), score(&selfish, 4000));
    // Twice a factor of two in throughput, for one of two senders.
    let gain = score(&considerate, 4000) - score(&considerate, 1000);
    assert!((gain - 1.0).abs() < 1e-9, "{gain}");
    let wrong =
        problem(&senders("").replace("[[sender]]\n[[", "[[sender]]\nconsidered = true\n[["));
    assert!(wrong.starts_with("senders of a table to design count anyway"), "{wrong}");
}

#[test]
fn only_who_sees_marks_can_be_for_l4s() {
    let signals = "signals = [\"rtt_ratio\", \"ecn\"]\n";
    let of = |l4s: &str| {
        Model::parse(&model(NETWORK, TRAFFIC, "", &format!("{signals}{l4s}")), "m").unwrap()
    };
    let (plain, l4s) = (of(""), of("l4s = true"));
    assert!(l4s.design().signals.is_for_l4s() && !plain.design().signals.is_for_l4s());
    assert_ne!(plain.fingerprint(), l4s.fingerprint());
    assert_eq!(plain.fingerprint(), of("l4s = false").fingerprint());
    assert_eq!(Model::parse(&l4s.to_string(), "m").unwrap().fingerprint(), l4s.fingerprint());
    let wrong = problem(&model(NETWORK, TRAFFIC, "", "l4s = true"));
    assert_eq!(
        wrong,
        "with \"l4s\" a table has to respond to marks: name \"ecn\" among the signals"
    );
    let wrong = problem(&model(NETWORK, TRAFFIC, "", "l4s = 1"));
    assert_eq!(wrong, "\"l4s\" is either true or false");
}

#[test]
fn the_host_of_scores_is_bare_unless_named() {
    let of = |line: &str| parse(&model(NETWORK, TRAFFIC, "", line));
    let (bare, tcp) = (of(""), of("host = \"tcp\""));
    assert_eq!((bare.design().host, tcp.design().host), (Host::Bare, Host::Tcp));
    // Models from before there was a choice keep their hash.
    assert_eq!(bare.fingerprint(), of("host = \"bare\"").fingerprint());
    assert_ne!(bare.fingerprint(), tcp.fingerprint());
    assert_eq!(parse(&tcp.to_string()).design(), tcp.design());
    let wrong = problem(&model(NETWORK, TRAFFIC, "", "host = \"tpc\""));
    assert_eq!(wrong, "\"tpc\" is not a host: did you mean \"tcp\"?");
}
