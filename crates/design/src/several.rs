//! Models of several kinds of senders and several links: read, drawn, simulated and designed for.

use crate::evaluate::{self, Prepared, Samples};
use crate::score::{Contender, HeldOut, Scheme, held_out};
use crate::specimen::{Layout, Mixed};
use crate::{Conditions, Designer, Model, SearchKind};
use exm_remy::{Action, RuleTable, SignalSet};
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

fn model(text: &str) -> Model {
    Model::parse(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn problem(text: &str) -> String {
    Model::parse(text, "m.toml").expect_err("it is refused").to_string()
}

fn one_rule(multiple: f64, increment: i32, intersend_ms: f64) -> RuleTable {
    let action = Action { multiple, increment, intersend_ms };
    RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action)
}

#[test]
fn models_print_as_they_are_read() {
    for text in [PLAIN, PARKING_LOT, DIVERSE] {
        let model = model(text);
        let again = self::model(&model.to_string());
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
/// is what the same senders get where the model says the same in sections, with a sender more that is
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
        Layout::Dumbbell(_) => panic!("three kinds are no dumbbell"),
    };
    for (class, most) in [(0, 2), (1, 2), (2, 1)] {
        for number in 0..=most {
            let found = specimens.iter().filter(|s| count(s, class) == number).count();
            assert_eq!(found, 90 / (most + 1), "{number} of class {class}");
        }
    }
    let conditions = Conditions::of_model(&model(PARKING_LOT)).to_string();
    assert_eq!(conditions, "10..100 Mbps, RTT 40..150 ms, 3 senders, buffer unlimited");
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
        assert_eq!(scores.omniscient, None);
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

#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to, expected) in [
        ("path = 2", "path = 3", "there is no link 3: they are numbered from 1 to 2"),
        ("path = [1, 2]", "path = [2, 1]", "links follow one another: a path is a run of them"),
        ("path = 1\n", "", "there are 2 links: say which this sender crosses, such as path"),
        ("rtt = \"40 ms\"", "senders = 3", "\"senders\" belongs in [network]: move it there"),
        (
            "name = \"second\"",
            "name = \"long\"",
            "there are two senders named \"long\": rename one",
        ),
        ("table = \"tao\"", "controller = \"renno\"", "there is no controller \"renno\": did you"),
        ("queue = \"codel\"", "queue = \"coddle\"", "\"coddle\" is not a queue"),
        ("[design]", "[design]\nx = 1", "there is no \"x\" in [design]"),
        ("[[link]]", "[link]", "link is a list of sections: write [[link]]"),
        (
            "rtt = \"75 ms\"",
            "rtt = \"75 ms\"\nsenders = 2",
            "each [[sender]] has its own \"count\"",
        ),
    ] {
        let told = problem(&PARKING_LOT.replacen(from, to, 1));
        assert!(told.contains(expected), "{to}: {told}");
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
