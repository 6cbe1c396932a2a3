use super::*;
use crate::dna::Layout;
use crate::provenance::{ArrivalTimes, Pending, Score};
use exm_remy::Action;

fn table() -> RuleTable {
    let signals = SignalSet::new([Signal::SendEwma, Signal::RttRatio]).expect("two signals");
    let mut table = RuleTable::single(signals, 16384.0, Action::INITIAL);
    assert!(table.split(0, Signal::SendEwma, 2.5));
    assert!(table.split(0, Signal::RttRatio, 1.1));
    table.set_action(1, Action { multiple: 0.5, increment: -3, intersend_ms: 0.25 });
    table
}

fn file() -> TableFile {
    let provenance = Provenance { seed: Some(1), ..Provenance::default() };
    TableFile { table: table(), provenance }
}

const TEXT: &str = r#"{
  "format": "exmachina-remycc",
  "version": 1,
  "signals": ["send_ewma", "rtt_ratio"],
  "provenance": {
    "seed": 1
  },
  "rules": [
    {"rule": 0, "box": {"send_ewma": [0.0, 2.5], "rtt_ratio": [0.0, 1.1]}, "multiple": 1.0, "increment": 1, "intersend_ms": 0.01},
    {"rule": 1, "box": {"send_ewma": [2.5, 16384.0], "rtt_ratio": [0.0, 16384.0]}, "multiple": 0.5, "increment": -3, "intersend_ms": 0.25},
    {"rule": 2, "box": {"send_ewma": [0.0, 2.5], "rtt_ratio": [1.1, 16384.0]}, "multiple": 1.0, "increment": 1, "intersend_ms": 0.01}
  ],
  "tree": [[0, 2], 1]
}
"#;

/// The error that [`TEXT`] gives with `old` replaced by `new`.
fn error(old: &str, new: &str) -> String {
    assert!(TEXT.contains(old), "{old}");
    TableFile::from_json(&TEXT.replace(old, new)).expect_err(new).to_string()
}

#[test]
fn a_table_is_written_and_read_back() {
    assert_eq!(file().to_json(), TEXT);
    assert_eq!(TableFile::from_json(TEXT).unwrap(), file());
}

#[test]
fn all_of_the_provenance_is_kept() {
    let score =
        Score { mean: f64::NEG_INFINITY, interval: (-1.5, 0.1), specimens: 64, seed: u64::MAX };
    let provenance = Provenance {
        program: Some("exm 0.1.0".to_owned()),
        command: Some("exm design \"a b\"".to_owned()),
        search: Some("remy".to_owned()),
        seed: Some(u64::MAX),
        steps: Some(7),
        cpu_seconds: Some(0.1),
        objective: Some("log throughput - log RTT".to_owned()),
        arrival_times: Some(ArrivalTimes::Ack),
        held_out_score: Some(score),
        robustness: None,
        pending: Some(Pending::Hardening),
        notes: Some("line\nline".to_owned()),
        model_hash: Some(0x2a),
        model: Some("[link]\nrate = \"10..20 Mbps\"\n".to_owned()),
        remy_file: Some(Layout { names_axes: false, settings: vec![0x22, 0] }),
    };
    let file = TableFile { table: table(), provenance };
    let text = file.to_json();
    assert!(text.contains("\"arrival_times\": \"ack\""), "{text}");
    assert!(text.contains("\"model_hash\": \"000000000000002a\""), "{text}");
    assert!(text.contains("      \"rate = \\\"10..20 Mbps\\\"\","), "{text}");
    assert!(text.contains("\"settings\": \"2200\""), "{text}");
    let read = TableFile::from_json(&text).unwrap();
    assert_eq!(read, file);
    assert_eq!(read.to_json(), text);
    for model in ["", "\n", "a\r\nb"] {
        let provenance = Provenance { model: Some(model.to_owned()), ..Provenance::default() };
        let file = TableFile { table: table(), provenance };
        assert_eq!(TableFile::from_json(&file.to_json()).unwrap(), file);
    }
}

#[test]
fn open_sides_and_boxes_of_nothing_are_kept() {
    let mut first = Cuboid::EVERYTHING;
    first.upper[0] = 3.0;
    let mut second = Cuboid::EVERYTHING;
    second.lower[0] = 3.0;
    let mut empty = second;
    empty.upper[0] = 3.0;
    let rules: Vec<Rule> = [empty, first, second]
        .map(|domain| Rule { domain, action: Action::INITIAL })
        .into_iter()
        .collect();
    let nothing = Node::Split {
        domain: Cuboid { lower: [7.0; Signal::COUNT], upper: [7.0; Signal::COUNT] },
        children: vec![Node::Leaf(0)],
    };
    let root = Node::Split {
        domain: Cuboid::EVERYTHING,
        children: vec![nothing, Node::Leaf(1), Node::Leaf(2)],
    };
    let signals = SignalSet::new(Signal::ALL).expect("all signals");
    let table = RuleTable::new(signals, rules, root).unwrap();
    let file = TableFile { table, provenance: Provenance::default() };
    let text = file.to_json();
    assert!(text.contains("{\"send_ewma\": [\"-inf\", 3.0]}"), "{text}");
    assert!(text.contains("{\"box\": {\"send_ewma\": [7.0, 7.0], "), "{text}");
    assert!(text.contains("\"parts\": [\n      0\n    ]}"), "{text}");
    assert_eq!(TableFile::from_json(&text).unwrap(), file);
}

#[test]
fn a_long_tree_is_broken_into_lines() {
    let signals = SignalSet::new([Signal::SendEwma]).expect("one signal");
    let mut table = RuleTable::single(signals, 100.0, Action::INITIAL);
    for at in 1..40 {
        assert!(table.split(at - 1, Signal::SendEwma, at as f64));
    }
    let file = TableFile { table, provenance: Provenance::default() };
    let text = file.to_json();
    let tree = &text[text.find("\"tree\"").unwrap()..];
    assert!(tree.lines().all(|line| line.len() <= WIDTH), "{tree}");
    assert!(tree.lines().count() > 10, "{tree}");
    assert_eq!(TableFile::from_json(&text).unwrap(), file);
}

#[test]
fn the_deepest_tree_is_read_back() {
    let signals = SignalSet::new([Signal::SendEwma]).expect("one signal");
    let mut table = RuleTable::single(signals, 100.0, Action::INITIAL);
    for at in 1..64 {
        assert!(table.split(at - 1, Signal::SendEwma, at as f64));
    }
    let file = TableFile { table, provenance: Provenance::default() };
    assert_eq!(file.table.depth(), exm_remy::MAX_DEPTH);
    assert_eq!(TableFile::from_json(&file.to_json()).unwrap(), file);
}

#[test]
fn errors_name_the_line() {
    let cut = TableFile::from_json(&TEXT[..200]).expect_err("cut short").to_string();
    assert!(cut.starts_with("line 9, column "), "{cut}");
    assert!(cut.ends_with("is the file complete?"), "{cut}");
    assert_eq!(
        error("exmachina-remycc", "geojson"),
        "it is no table of rules: it has no \"format\": \"exmachina-remycc\""
    );
    assert_eq!(
        TableFile::from_json("[]").expect_err("a list").to_string(),
        "line 1, column 2: invalid length 0, expected a table of rules"
    );
    assert_eq!(
        error("\"version\": 1", "\"version\": 2, \"new\": {}"),
        "it is of version 2, and this program reads version 1: use a newer program"
    );
    let unknown = error("\"multiple\": 0.5", "\"multiply\": 0.5");
    assert!(unknown.contains("line 10, column "), "{unknown}");
    assert!(unknown.contains("unknown field `multiply`, expected one of `rule`, "), "{unknown}");
    let signal = error("[\"send_ewma\", \"rtt_ratio\"]", "[\"send_ewma\", \"rtt\"]");
    assert!(signal.contains("\"rtt\" is not a signal; the signals are"), "{signal}");
    let twice = error("[\"send_ewma\", \"rtt_ratio\"]", "[\"send_ewma\", \"send_ewma\"]");
    assert_eq!(twice, "\"signals\" must list one signal or more, each once");
    let bound = error("[2.5, 16384.0]", "[2.5, \"far\"]");
    assert!(bound.contains("expected a number, \"inf\" or \"-inf\""), "{bound}");
    assert_eq!(
        error("\"rule\": 2", "\"rule\": 1"),
        "rule 1 stands at place 2 of \"rules\": number them 0, 1, 2, ..."
    );
    assert!(error("\"seed\": 1", "\"seeds\": 1").contains("unknown field `seeds`"));
}

#[test]
fn trees_that_do_not_match_their_rules_are_rejected() {
    assert_eq!(
        error("[[0, 2], 1]", "[[0, 3], 1]"),
        "rule 3 does not stand in the tree exactly once"
    );
    assert_eq!(
        error("[[0, 2], 1]", "[[0, 2], 0]"),
        "rule 0 does not stand in the tree exactly once"
    );
    assert_eq!(error("[[0, 2], 1]", "[0, 2]"), "rule 1 does not stand in the tree exactly once");
    assert!(error("[[0, 2], 1]", "[[0, 2], 1, []]").contains("a box is split into no parts"));
    assert!(error("[[0, 2], 1]", "-1").contains("expected the number of a rule"));
    assert!(error("[[0, 2], 1]", "{\"box\": {}, \"parts\": 0}").contains("not a list of parts"));
    let deep = format!("{}0{}", "[".repeat(1000), "]".repeat(1000));
    assert!(error("[[0, 2], 1]", &deep).contains("recursion limit"));
    let wide = format!("[{}0]", "0, ".repeat(MAX_RULES));
    assert!(error("[[0, 2], 1]", &wide).contains("more than 10000 rules"));
    assert_eq!(
        error("\"rtt_ratio\": [1.1,", "\"rtt_ratio\": [1.2,"),
        "the parts of box {send_ewma 0..2.5, rtt_ratio 0..16384} leave a hole in it: extend one \
         over {send_ewma 0..2.5, rtt_ratio 1.1..1.2}, or add a rule"
    );
    assert_eq!(
        error("\"rtt_ratio\": [1.1,", "\"rtt_ratio\": [1.0,"),
        "boxes {send_ewma 0..2.5, rtt_ratio 0..1.1} and {send_ewma 0..2.5, rtt_ratio 1..16384} \
         overlap: shrink one of them"
    );
    assert!(error("\"rtt_ratio\": [1.1,", "\"ack_ewma\": [1.1,").contains("not among the table's"));
}

#[test]
fn a_table_for_l4s_says_so() {
    let signals = r#""signals": ["send_ewma", "rtt_ratio"]"#;
    let text = TEXT
        .replace(signals, "\"signals\": [\"send_ewma\", \"rtt_ratio\", \"ecn\"],\n  \"l4s\": true");
    let read = TableFile::from_json(&text).expect("a table");
    assert!(read.table.signals().is_for_l4s());
    assert_eq!(read.to_json(), text);
    let unseeing = error(signals, &format!("{signals}, \"l4s\": true"));
    assert_eq!(
        unseeing,
        "\"l4s\" needs \"ecn\" among \"signals\": its sender has to respond to marks"
    );
}
