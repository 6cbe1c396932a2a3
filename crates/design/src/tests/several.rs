//! Models of several kinds of senders and several links: read, drawn, simulated and designed for.

use super::{model, one_rule, problem};
use crate::evaluate::{self, Prepared, Samples};
use crate::score::{Contender, HeldOut, Scheme, held_out};
use crate::specimen::{Layout, Mixed, Specimen};
use crate::{Conditions, Designer, Model, SearchKind};
use exm_remy::{Signal, SignalSet};
use exm_sim::network::Host;
use exm_units::Span;

const PLAIN: &str = r#"
    [network]
    rate = "5..20 Mbps"
    rtt = "50..150 ms"
    senders = 2
    buffer = "1..5 BDP"
    loss = "0..1 %"
    [traffic]
    on = "exp 1 s"
    off = "exp 500 ms"
    [design]
    duration = "5 s"
    specimens = 4
"#;

/// Two bottlenecks in a row, one table over both and each.
const PARKING_LOT: &str = r#"
    [network]
    rate = "log 10..100 Mbps"
    rtt = "75 ms"
    [[link]]
    rate = "log 10..100 Mbps"
    rtt = "75 ms"
    queue = "codel"
    [[sender]]
    name = "long"
    table = "tao"
    path = [1, 2]
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "first"
    table = "tao"
    path = 1
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "second"
    table = "tao"
    path = 2
    rtt = "40 ms"
    on = "always"
    [design]
    duration = "4 s"
    specimens = 3
"#;

/// Two tables with objectives of their own, beside NewReno.
const DIVERSE: &str = r#"
    name = "diverse"
    [network]
    rate = "10 Mbps"
    rtt = "100 ms"
    buffer = "250 kB"
    [traffic]
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "throughput"
    count = "0..2"
    objective = { delta = 0.1 }
    [[sender]]
    name = "delay"
    count = "0..2"
    objective = { delta = 10 }
    [[sender]]
    name = "old"
    controller = "reno"
    count = [0, 1]
    [design]
    duration = "4 s"
    specimens = 4
"#;

#[test]
fn models_print_as_they_are_read() {
    for text in [PLAIN, PARKING_LOT, DIVERSE] {
        let model = model(text);
        let again = super::model(&model.to_string());
        assert_eq!(again.to_string(), model.to_string());
        assert_eq!(again.specimens(3, 1, 7), model.specimens(3, 1, 7));
        assert_eq!(again.fingerprint(), model.fingerprint());
    }
    let objectives = "throughput: log2(throughput/share) - 0.1 log2(RTT); \
                      delay: log2(throughput/share) - 10 log2(RTT)";
    assert_eq!(model(DIVERSE).objectives(), objectives);
    assert_eq!(model(PLAIN).objectives(), "log2(throughput/share) - 1 log2(RTT)");
    assert_eq!(model(DIVERSE).tables(), ["throughput", "delay"]);
    assert_eq!(model(PARKING_LOT).tables(), ["tao"]);
}

/// The fast path and the event engine are two ways to one result: what a plain model's senders get in one
/// equals what the same senders get where the model has the same in sections, with one more sender that is
/// never there.
#[test]
fn both_ways_of_simulating_agree() {
    let sections = PLAIN.replace("senders = 2", "").replace(
        "[design]",
        "[[sender]]\nname = \"a\"\ncount = 2\n[[sender]]\ncontroller = \"cubic\"\ncount = 0\n[design]",
    );
    let (plain, mixed) = (model(PLAIN), model(&sections));
    assert!(plain.is_dumbbell() && !mixed.is_dumbbell());
    let table = one_rule(0.9, 3, 1.0);
    for (specimen, other) in plain.specimens(1, 0, 8).iter().zip(mixed.specimens(1, 0, 8)) {
        assert_eq!(specimen.seed, other.seed);
        let fast = evaluate::simulate(&plain, specimen, &[Prepared::of(&plain, &table)]);
        let slow = evaluate::simulate(&mixed, &other, &[Prepared::of(&mixed, &table)]);
        for (a, b) in fast.iter().zip(&slow) {
            assert_eq!((a.sent, a.delivered, a.lost), (b.sent, b.delivered, b.lost));
            assert_eq!(a.on_time, b.on_time);
        }
        let scores = [
            plain.score(&specimen.network, &fast),
            mixed.score(&other.network, &slow),
            mixed.class_score(0, &other.network, &slow).unwrap(),
        ];
        assert!((scores[0] - scores[1]).abs() < 1e-6, "{scores:?}");
        assert_eq!(scores[1], scores[2]);
        assert_eq!(mixed.class_score(1, &other.network, &slow), None);
    }
    let samples = |model: &Model| {
        let candidate = [Prepared::of(model, &table)];
        let samples = Samples::collect(model, &model.specimens(1, 0, 4), &candidate, 0);
        samples.fired(0)
    };
    // The engine reports a sender's memory after each ACK, the fast path each rule that fires: a flow's
    // first rule, before any ACK, is in the one alone.
    let (fast, slow) = (samples(&plain), samples(&mixed));
    assert!(slow > 0 && slow <= fast && fast - slow < fast / 20, "{fast} and {slow}");
}

#[test]
fn links_and_classes_are_drawn_as_the_model_says() {
    for specimen in model(PARKING_LOT).specimens(1, 0, 20) {
        let Layout::Mixed(Mixed { links, senders, .. }) = &specimen.network else {
            panic!("two links are no dumbbell")
        };
        assert_eq!((links.len(), senders.len()), (2, 3));
        assert_ne!(links[0].rate, links[1].rate);
        let rtts: Vec<Span> = senders.iter().map(|sender| sender.rtt).collect();
        assert_eq!(rtts, [150, 75, 40].map(Span::from_millis));
    }
    let specimens = model(DIVERSE).specimens(1, 0, 90);
    let count = |specimen: &crate::Specimen, class: usize| match &specimen.network {
        Layout::Mixed(mixed) => mixed.senders.iter().filter(|s| s.class == class).count(),
        Layout::Dumbbell { .. } => panic!("three kinds are no dumbbell"),
    };
    for (class, most) in [(0, 2), (1, 2), (2, 1)] {
        for number in 0..=most {
            let found = specimens.iter().filter(|s| count(s, class) == number).count();
            assert_eq!(found, 90 / (most + 1), "{number} of class {class}");
        }
    }
    let conditions = Conditions::of_model(&model(PARKING_LOT)).to_string();
    assert_eq!(conditions, "10..100 Mbps, RTT 40..150 ms, 2 senders, buffer unlimited");
}

/// Several tables evolve together, go on from a checkpoint as if nothing had happened, and get better, each
/// by its own objective.
#[test]
fn several_tables_are_designed_together() {
    for text in [PARKING_LOT, DIVERSE] {
        let model = model(text);
        let mut designer = Designer::new(model.clone(), SearchKind::Evolve, 1).unwrap();
        let before = designer.current();
        assert_eq!(before.len(), model.tables().len());
        for step in 0..10 {
            if step % 5 == 0 {
                let mut resumed = Designer::resume(&designer.checkpoint()).unwrap();
                let mut whole = designer.clone();
                assert_eq!(resumed.step(), whole.step());
                assert_eq!(resumed.checkpoint(), whole.checkpoint());
            }
            designer.step();
        }
        let contender = |name: &str, tables| Contender {
            name: name.to_owned(),
            scheme: Scheme::Tables(tables),
        };
        let contenders = [contender("before", before), contender("after", designer.finish())];
        let on = HeldOut { seed: 1, specimens: 40, host: Host::Bare };
        let scores = held_out(&model, &on, &contenders, &|| {}).unwrap();
        let gain = scores.contenders[1].difference.unwrap();
        assert!(gain.mean > 0.0, "{gain:?}");
        let gap = scores.contenders[1].to_omniscient.mean;
        assert!(gap > 0.0 && scores.omniscient.is_finite(), "{gap}");
        assert_eq!(scores.contenders[1].classes.len(), model.classes().len());
        assert!(scores.contenders[1].classes.iter().all(Option::is_some));
    }
}

#[test]
fn the_papers_search_designs_one_table_on_any_network() {
    let error = Designer::new(model(DIVERSE), SearchKind::Paper, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model designs 2 tables together, and the papers' search designs one"
    );
    let mut designer = Designer::new(model(PARKING_LOT), SearchKind::Paper, 1).unwrap();
    let first = designer.step();
    assert!((0..3).map(|_| designer.step().score).fold(first.score, f64::max) > first.score);
}

/// Half of the time the competitor is NewReno, otherwise it runs the same table.
const AWARE: &str = r#"
    [network]
    rate = "10 Mbps"
    rtt = "100 ms"
    buffer = "2 BDP"
    [traffic]
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "ours"
    table = "aware"
    [[sender]]
    name = "same"
    table = "aware"
    one_of = "competitor"
    present = "50 %"
    [[sender]]
    name = "tcp"
    controller = "reno"
    one_of = "competitor"
    present = 0.25
    count = 2
    [design]
    duration = "4 s"
    specimens = 3
"#;

#[test]
fn senders_are_there_with_their_probability_and_exclude_each_other() {
    let model = model(AWARE);
    let specimens = model.specimens(1, 0, 40);
    let classes = |specimen: &Specimen| -> Vec<usize> {
        (0..specimen.network.senders()).map(|i| specimen.network.path_of(i).0).collect()
    };
    let count = |wanted: &[usize]| specimens.iter().filter(|s| classes(s) == wanted).count();
    // Specimens are drawn evenly, so that the numbers are exact.
    assert_eq!([count(&[0, 1]), count(&[0, 2, 2]), count(&[0])], [20, 10, 10]);
    assert_eq!(Conditions::of_model(&model).senders, (1, 3));
    assert_eq!(super::model(&model.to_string()).specimens(1, 0, 9), model.specimens(1, 0, 9));
    let more = AWARE.replace("present = 0.25", "present = 0.6");
    assert!(problem(&more).contains("their probabilities add up to 1.1: let \"present\" be less"));
    assert!(problem(&AWARE.replace("0.25", "2")).contains("a probability such as"));
}

/// Two ways that share nothing but their nodes, each with a queue of its own for the ACKs of the other.
const REVERSE: &str = r#"
    [network]
    packet_size = "1000 B"
    [[link]]
    name = "down"
    from = "server"
    to = "client"
    rate = "10 Mbps"
    rtt = "30 ms"
    queue = "codel target=10ms"
    [[link]]
    name = "up"
    from = "client"
    to = "server"
    rate = "1..2 Mbps"
    rtt = "50 ms"
    buffer = "20 packets"
    [[sender]]
    name = "download"
    table = "both"
    path = "down"
    back = "up"
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "upload"
    table = "both"
    path = ["up"]
    back = ["down"]
    on = "always"
    [design]
    duration = "4 s"
    specimens = 3
"#;

#[test]
fn links_make_any_graph_and_acks_may_cross_them() {
    let model = model(REVERSE);
    assert_eq!(super::model(&model.to_string()).specimens(1, 0, 3), model.specimens(1, 0, 3));
    let specimen = &model.specimens(1, 0, 1)[0];
    let Layout::Mixed(network) = &specimen.network else { panic!("it has two links") };
    assert_eq!([network.links[0].ends, network.links[1].ends], [(0, 1), (1, 0)]);
    assert_eq!(network.links[0].queue.to_string(), "codel target=10ms");
    // 15 ms there, 25 ms back.
    assert!(network.senders.iter().all(|sender| sender.rtt == Span::from_millis(40)));
    let table = one_rule(1.0, 1, 8.0);
    let got = evaluate::simulate(&model, specimen, &[Prepared::of(&model, &table)]);
    assert!(got.iter().all(|outcome| outcome.delivered > 100), "{got:?}");
    for (from, to, expected) in [
        ("to = \"client\"", "", "the link leads nowhere: add \"to\""),
        ("name = \"up\"", "name = \"down\"", "there are two links \"down\": rename one"),
        ("name = \"up\"", "name = \"2\"", "\"2\" would be taken for a link's number"),
        ("path = \"down\"", "path = \"donw\"", "there is no link \"donw\": did you mean"),
        ("back = \"up\"", "back = \"down\"", "link \"down\" does not lead to link \"down\""),
        ("to = \"server\"", "to = \"router\"", "the links back do not end where the path begins"),
        ("from = \"client\"\n    to = \"server\"", "", "each names the nodes"),
        ("packet_size", "rtt = \"10 ms\"\npacket_size", "describes no link without a \"rate\""),
    ] {
        let found = problem(&REVERSE.replacen(from, to, 1));
        assert!(found.contains(expected), "{to}: {found}");
    }
}

/// On TCP a loss costs a retransmission, and a design is tried there.
#[test]
fn designs_may_be_tried_over_tcp() {
    let text = PLAIN.replace("[design]", "[design]\n    host = \"tcp\"");
    let (bare, tcp) = (model(PLAIN), model(&text));
    assert!(bare.is_fast() && tcp.is_dumbbell() && !tcp.is_fast());
    let table = one_rule(1.0, 1, 1.0);
    let specimen = &bare.specimens(1, 0, 1)[0];
    assert_eq!(*specimen, tcp.specimens(1, 0, 1)[0]);
    let on = |model: &Model| evaluate::simulate(model, specimen, &[Prepared::of(model, &table)]);
    assert_ne!(on(&bare), on(&tcp));
    let mut designer = Designer::new(tcp.clone(), SearchKind::Evolve, 1).unwrap();
    let first = designer.step();
    assert!((0..4).map(|_| designer.step().score).fold(first.score, f64::max) > first.score);
}

/// The bound by fluid is that of the closed form on a dumbbell, over many runs.
#[test]
fn the_fluid_bound_agrees_with_the_closed_form() {
    for (on, off) in [("exp 1 s", "exp 500 ms"), ("exp 200 kB", "exp 1 s")] {
        let text = PLAIN.replace("exp 1 s", on).replace("exp 500 ms", off);
        let text = text.replace("5 s\"\n    specimens", "60 s\"\n    specimens");
        let text = text.replace("5..20 Mbps", "10 Mbps").replace("50..150 ms", "100 ms");
        let plain = model(&text.replace("\"0..1 %\"", "\"1 %\"").replace("1..5 BDP", "1 BDP"));
        let mixed = model(
            &plain
                .to_string()
                .replace("queue", "")
                .replace("draw = \"random\"", "draw = \"random\"\nqueue = \"codel\""),
        );
        assert!(!mixed.is_dumbbell());
        let mean = |model: &Model, of: &dyn Fn(&Specimen) -> f64| {
            model.specimens(1, 0, 400).iter().map(of).sum::<f64>() / 400.0
        };
        let closed = mean(&plain, &|s| plain.objective().omniscient(s.dumbbell()));
        let fluid = mean(&mixed, &|s| mixed.omniscient(s));
        assert!((closed - fluid).abs() < 0.03, "{on}: {closed} against {fluid}");
    }
}

/// Nothing that we know does better than the bound, on whatever network.
#[test]
fn nobody_beats_the_bound() {
    for text in [PARKING_LOT, DIVERSE, AWARE, REVERSE] {
        let model = model(text);
        let tables = || 0..model.tables().len();
        for intersend_ms in [0.5, 2.0, 8.0] {
            let table = one_rule(1.0, 1, intersend_ms);
            let candidate: Vec<Prepared> = tables().map(|_| Prepared::of(&model, &table)).collect();
            let margin = |specimen: &Specimen| {
                let outcomes = evaluate::simulate(&model, specimen, &candidate);
                model.omniscient(specimen) - model.score(&specimen.network, &outcomes)
            };
            let specimens = model.specimens(1, 0, 30);
            let margin = specimens.iter().map(margin).sum::<f64>() / 30.0;
            assert!(margin > 0.0, "{text}: {margin}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to, expected) in [
        ("path = 2", "path = 3", "there is no link 3: they are numbered from 1 to 2"),
        (
            "path = [1, 2]",
            "path = [2, 1]",
            "link 2 does not lead to link 1: links of a path follow",
        ),
        ("path = 2\n", "path = []\n", "a path has a link at least: name one"),
        ("rtt = \"40 ms\"", "rtt = \"20 ms\"", "the links that it crosses take up to 37.5 ms"),
        ("path = 1\n", "", "there are 2 links: say which this sender crosses, such as path"),
        ("rtt = \"40 ms\"", "senders = 3", "\"senders\" belongs in [network]: move it there"),
        (
            "name = \"second\"",
            "name = \"long\"",
            "there are two senders named \"long\": rename one",
        ),
        ("table = \"tao\"", "controller = \"renno\"", "there is no controller \"renno\": did you"),
        ("queue = \"codel\"", "queue = \"coddle\"", "there is no queue discipline \"coddle\""),
        ("[design]", "[design]\nx = 1", "there is no \"x\" in [design]"),
        ("[[link]]", "[link]", "link is a list of sections: write [[link]]"),
        (
            "rtt = \"75 ms\"",
            "rtt = \"75 ms\"\nsenders = 2",
            "each [[sender]] has its own \"count\"",
        ),
    ] {
        let error = problem(&PARKING_LOT.replacen(from, to, 1));
        assert!(error.contains(expected), "{to}: {error}");
    }
    let none = DIVERSE.replace("[design]", "[x]").replace(
        "[[sender]]\n    name = \"old\"",
        "[[sender]]\n    name = \"old\"\n    table = \"t\"",
    );
    assert!(problem(&none).contains("m.toml"));
    let both = DIVERSE.replace("controller = \"reno\"", "controller = \"reno\"\ntable = \"t\"");
    assert!(problem(&both).contains("a controller or a table to design: give one of the two"));
    let nobody = PLAIN
        .replace("senders = 2", "")
        .replace("[design]", "[[sender]]\ncontroller = \"reno\"\n[design]");
    assert!(problem(&nobody).contains("no sender runs a table to design"));
    let grid = DIVERSE.replace("buffer", "draw = \"grid\"\nbuffer");
    assert!(problem(&grid).contains("a grid is of one kind of senders"));
}

/// A table on more signals whose rules do not differ by them gets the same in the event engine as on the
/// fast path.
#[test]
fn tables_on_extended_signals_are_simulated_by_events() {
    let model = model(PLAIN);
    let mut table = one_rule(0.9, 3, 1.0);
    assert!(table.split(0, Signal::RttRatio, 1.5));
    let all = SignalSet::new(Signal::ALL).expect("all signals");
    let extended = table.with_signals(all, 16384.0).expect("signals are added only");
    for specimen in model.specimens(1, 0, 8) {
        let got = [&table, &extended]
            .map(|table| evaluate::simulate(&model, &specimen, &[Prepared::of(&model, table)]));
        assert!(got[0][0].sent > 0);
        for (a, b) in got[0].iter().zip(&got[1]) {
            assert_eq!((a.sent, a.delivered, a.lost), (b.sent, b.delivered, b.lost));
        }
        let fired = [&table, &extended].map(|table| {
            let candidate = [Prepared::of(&model, table)];
            let samples = Samples::collect(&model, std::slice::from_ref(&specimen), &candidate, 0);
            samples.fired(0) + samples.fired(1)
        });
        // Only the fast path tells of the rule that fires when a flow starts.
        assert!(fired[0].abs_diff(fired[1]) * 50 < fired[0], "{fired:?}");
    }
}

/// Checks of a table on extended signals give the same as those of the table without them.
#[test]
fn stress_networks_take_extended_signals() {
    let table = one_rule(0.9, 3, 1.0);
    let all = SignalSet::new(Signal::ALL).expect("all signals");
    let extended = table.with_signals(all, 16384.0).expect("signals are added only");
    let model = Model::shipped("general-delta1").expect("is shipped");
    let network = &crate::stress::networks(&model, 0, crate::stress::StressSet::Near)[0];
    let [plain, extended] =
        [&table, &extended].map(|table| crate::stress::run(network, &Prepared::new(table)));
    assert!((plain.rtt_ratio - extended.rtt_ratio).abs() < 1e-6);
    assert_eq!(plain.used, extended.used);
}

#[test]
fn the_state_of_a_search_by_extended_signals_is_kept() {
    let text = PLAIN.replace("[design]", "[design]\nsignals = [\"rtt_ratio\", \"ecn\", \"loss\"]");
    let model = model(&text);
    assert!(model.is_dumbbell() && !model.is_fast());
    for search in [SearchKind::Evolve, SearchKind::Paper] {
        let mut designer = Designer::new(model.clone(), search, 1).unwrap();
        (0..3).for_each(|_| drop(designer.step()));
        let mut resumed = Designer::resume(&designer.checkpoint()).unwrap();
        assert_eq!(resumed.step(), designer.step());
        assert_eq!(resumed.checkpoint(), designer.checkpoint());
    }
}
