//! Models of networks whose links follow traces or vary their delays, and of flows that start together.

use super::{model, one_rule, problem};
use crate::evaluate::{self, Prepared};
use crate::objective::Path;
use crate::score::{Contender, HeldOut, Scheme, held_out};
use crate::{Designer, Layout, Mixed, Model, SearchKind, Specimen};
use exm_sim::network::Host;
use exm_sim::traffic::{OnFor, Traffic};
use exm_testing::Folder;
use exm_units::Span;

const PLAIN: &str = r#"
    [network]
    rate = "10 Mbps"
    rtt = "50 ms"
    senders = 2
    [traffic]
    on = "exp 100 kB"
    off = "exp 500 ms"
    [design]
    duration = "4 s"
    specimens = 4
"#;

fn with(line: &str) -> String {
    PLAIN.replacen("senders = 2", &format!("senders = 2\n{line}"), 1)
}

fn mixed(model: &Model, count: usize) -> Vec<Mixed> {
    model.specimens(1, 0, count).into_iter().map(Specimen::mixed).collect()
}

fn mean_score(model: &Model, window: i32) -> f64 {
    let candidate = vec![Prepared::of(model, &one_rule(0.0, window, 0.0))];
    evaluate::mean_scores(model, &model.specimens(1, 0, 4), &[candidate])[0]
}

/// A folder with a file `name` of `text`.
fn folder_with(name: &str, text: &str) -> Folder {
    let folder = Folder::new("varied");
    std::fs::write(folder.0.join(name), text).unwrap();
    folder
}

#[test]
fn delays_vary_within_their_ranges_and_cost_points() {
    let lines = "jitter = \"1..5 ms\"\nreorder = \"1..2 %\"\nreorder_delay = \"2..4 ms\"";
    let varied = model(&with(lines));
    assert_eq!(model(&varied.to_string()).to_string(), varied.to_string());
    for network in mixed(&varied, 16) {
        let link = &network.links[0];
        assert!((1.0..=5.0).contains(&link.jitter.as_millis_f64()), "{}", link.jitter);
        assert!((0.01..=0.02).contains(&link.reordering.probability.get()));
        assert!((2.0..=4.0).contains(&link.reordering.extra.as_millis_f64()));
    }
    assert!(mean_score(&varied, 10) < mean_score(&model(PLAIN), 10));
    assert_ne!(varied.fingerprint(), model(PLAIN).fingerprint());
    // What is not said has no part in the hash.
    assert_eq!(model(&with("jitter = \"0 s\"")).fingerprint(), model(PLAIN).fingerprint());
}

#[test]
fn frames_and_block_errors_vary_within_their_ranges_and_cost_points() {
    let wifi = model(&with("access = \"0.5..2 ms\""));
    let nr = model(&with("block_errors = \"5..10 %\"\nblock_step = \"2..5 ms\""));
    for varied in [&wifi, &nr] {
        assert_eq!(model(&varied.to_string()).to_string(), varied.to_string());
        assert!(mean_score(varied, 10) < mean_score(&model(PLAIN), 10));
        assert_ne!(varied.fingerprint(), model(PLAIN).fingerprint());
    }
    for network in mixed(&wifi, 16) {
        assert!((0.5..=2.0).contains(&network.links[0].access.as_millis_f64()));
        assert_eq!(network.links[0].block_errors, None);
    }
    for network in mixed(&nr, 16) {
        let errors = network.links[0].block_errors.expect("blocks fail");
        assert!((0.05..=0.1).contains(&errors.probability.get()));
        assert!((2.0..=5.0).contains(&errors.step.as_millis_f64()));
    }
}

const PARTS: &str = r#"
    [[part]]
    weight = "25 %"
    duration = "2 s"
    [part.network]
    rate = "1 Mbps"
    rtt = "10 ms"
    senders = "3..4"
    [part.traffic]
    on = "always"
    [[part]]
    weight = 0.5
    [[part.link]]
    rate = "30..40 Mbps"
    rtt = "20 ms"
    [[part.sender]]
    count = 2
    on = "always"
    [[part.sender]]
    name = "old"
    controller = "reno"
    on = "always"
"#;

#[test]
fn specimens_are_of_each_part_by_its_weight() {
    let model = model(&format!("{PLAIN}{PARTS}"));
    let again = Model::parse(&model.to_string(), "again").unwrap();
    assert_eq!((again.to_string(), again.fingerprint()), (model.to_string(), model.fingerprint()));
    let names: Vec<&str> = model.classes().iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["senders", "part 1: senders", "part 2: sender 1", "part 2: old"]);
    assert_eq!(model.tables(), ["senders"]);
    let networks = mixed(&model, 16);
    let of = |mbps: std::ops::RangeInclusive<f64>| {
        networks.iter().filter(|n| mbps.contains(&n.links[0].rate.as_mbps())).count()
    };
    assert_eq!((of(10.0..=10.0), of(1.0..=1.0), of(30.0..=40.0)), (4, 4, 8));
    for network in &networks {
        let classes: Vec<usize> = network.senders.iter().map(|sender| sender.class).collect();
        let slow = network.links[0].rate.as_mbps() == 1.0;
        assert_eq!(network.duration, Span::from_secs(if slow { 2 } else { 4 }));
        assert!(
            [vec![0, 0], vec![1, 1, 1], vec![1, 1, 1, 1], vec![2, 2, 3]].contains(&classes),
            "{classes:?}"
        );
    }
    assert!(mean_score(&model, 10).is_finite());
    let conditions = crate::Conditions::of_model(&model).to_string();
    assert!(conditions.starts_with("1..40 Mbps, RTT 10..50 ms, 2..4 senders"), "{conditions}");
    let mut designer = Designer::new(model, SearchKind::Evolve, 1).unwrap();
    designer.step();
    let resumed = Designer::resume(&designer.checkpoint()).unwrap();
    assert_eq!(resumed.checkpoint(), designer.checkpoint());
}

/// Dumbbells among a model's networks, its own or those of parts, are simulated by the fast path, and what their senders
/// get is what they get in the event engine.
#[test]
fn dumbbells_beside_other_networks_are_fast() {
    let model = model(&format!("{PLAIN}{PARTS}"));
    assert!(!model.is_fast() && model.is_dumbbell());
    let candidate = vec![Prepared::of(&model, &one_rule(0.9, 3, 1.0))];
    let mut dumbbells = 0;
    for specimen in model.specimens(1, 0, 16) {
        let engine = Layout::Mixed(specimen.clone().mixed());
        let engine = Specimen { network: engine, seed: specimen.seed };
        dumbbells += usize::from(specimen.network.as_dumbbell().is_some());
        let [fast, slow] =
            [&specimen, &engine].map(|on| evaluate::simulate(&model, on, &candidate));
        for (a, b) in fast.iter().zip(&slow) {
            assert_eq!((a.sent, a.delivered, a.lost), (b.sent, b.delivered, b.lost));
        }
        let scores = [model.score(&specimen.network, &fast), model.score(&engine.network, &slow)];
        assert!((scores[0] - scores[1]).abs() < 1e-6, "{scores:?}");
    }
    assert_eq!(dumbbells, 8);
}

/// A part leaves the networks of the model itself as they are without it, apart from those that it replaces.
#[test]
fn a_part_of_no_weight_changes_no_network() {
    let none = PARTS.replace("\"25 %\"", "0").replace("0.5", "0");
    let host = PLAIN.replace("senders = 2", "senders = 2\nqueue = \"codel\"");
    assert_eq!(mixed(&model(&format!("{host}{none}")), 8), mixed(&model(&host), 8));
}

#[test]
fn a_part_that_cannot_be_is_refused() {
    let whole = format!("{PLAIN}{PARTS}");
    for (from, to, line, part) in [
        ("weight = 0.5", "weight = 0.8", 23, "add up to more than 1: give less"),
        (
            "weight = 0.5",
            "weigth = 0.5",
            23,
            "there is no \"weigth\" in [part]: did you mean \"weight\"?",
        ),
        ("weight = 0.5\n", "", 22, "\"weight\" is missing from [part]"),
        ("count = 2\n", "count = 2\ntable = \"b\"\n", 29, "no table \"b\" outside this part"),
        ("duration = \"2 s\"", "duration = \"1 ms\"", 15, "ends before a packet is acknowledged"),
        ("senders = 2\n", "senders = 2\ndraw = \"grid\"\n", 15, "let draw be \"random\""),
    ] {
        let text = whole.replacen(from, to, 1);
        let error = Model::parse(&text, "m.toml").expect_err(to);
        assert!(error.problem().contains(part), "{to}: {error}");
        assert_eq!(error.line(), Some(line), "{error}");
    }
}

#[test]
fn what_varies_in_no_way_is_refused() {
    for (line, part) in [
        ("jitter = \"5\"", "m.toml:6: \"5\" is not a time: give one such as \"5 ms\""),
        ("reorder = 2", "a reorder of 2 is out of bounds"),
        ("reorder_delay = \"5 ms\"", "m.toml:6: no packets are held back: add \"reorder\""),
        ("block_step = \"5 ms\"", "m.toml:6: no blocks fail: add \"block_errors\""),
        ("trace = \"lte\"", "m.toml:6: a link has a rate or a trace: take one of them out"),
        ("draw = \"grid\"\njitter = [\"0 s\", \"1 ms\"]", "give \"jitter\" one value"),
    ] {
        let problem = problem(&with(line));
        assert!(problem.contains(part), "{line}: {problem}");
    }
    let traced = |name: &str| PLAIN.replace("rate = \"10 Mbps\"", &format!("trace = {name}"));
    let error = problem(&traced("\"no.pps\""));
    assert!(error.starts_with("m.toml:3: ") && error.contains("no.pps"), "{error}");
    let error = problem(&traced("[]"));
    assert!(error.starts_with("m.toml:3: there is nothing to choose from"), "{error}");
}

#[test]
fn links_follow_each_of_their_traces() {
    let traces = "trace = [\"lte-like\", \"lte-like, seed 2\"]";
    let text = PLAIN.replace("rate = \"10 Mbps\"", traces);
    let model = model(&text);
    let networks = mixed(&model, 4);
    let rates: std::collections::BTreeSet<_> = networks.iter().map(|n| n.links[0].rate).collect();
    assert_eq!(rates.len(), 2, "{rates:?}");
    let link = &networks[0].links[0];
    let trace = link.trace.as_ref().unwrap();
    // The mean over the time that is simulated, not over the whole trace.
    let end = exm_units::Instant::ZERO + Span::from_secs(4);
    let bits = trace.capacity(exm_units::Instant::ZERO, end).get() as f64 * 8.0;
    assert!((link.rate.as_bps() as f64 - bits / 4.0).abs() < 1.0);
    let scores = [mean_score(&model, 1), mean_score(&model, 20)];
    assert!(scores.iter().all(|score| score.is_finite()) && scores[0] != scores[1]);
}

/// One who knows all has the trace's mean rate; nobody does better with flows that are always on.
#[test]
fn the_omniscient_bound_of_a_trace_is_its_mean_rate() {
    let text = PLAIN.replace("rate = \"10 Mbps\"", "trace = \"lte-like\"");
    let text = text.replace("on = \"exp 100 kB\"\n    off = \"exp 500 ms\"", "on = \"always\"");
    let model = model(&text);
    let table = one_rule(0.0, 200, 0.0);
    let contender = Contender { name: "fixed".to_owned(), scheme: Scheme::Table(table) };
    let on = HeldOut { seed: 1, specimens: 4, host: Host::Bare };
    let scores = held_out(&model, &on, &[contender], &|| ()).unwrap();
    assert!(scores.contenders[0].score.mean < scores.omniscient, "{scores:?}");
}

#[test]
fn a_design_on_a_trace_goes_on_unless_the_trace_has_changed() {
    let lines = |ms: u64| (1..400).map(|at| format!("{}\n", ms * at)).collect::<String>();
    let dir = folder_with("link.pps", &lines(2));
    let text = PLAIN.replace("rate = \"10 Mbps\"", "trace = \"link.pps\"");
    let model = Model::parse_in(&text, "m.toml", &dir.0).unwrap();
    let mut whole = Designer::new(model.clone(), SearchKind::Evolve, 1).unwrap();
    whole.step();
    let checkpoint = whole.checkpoint();
    let mut resumed = Designer::resume_in(&checkpoint, &dir.0).unwrap();
    whole.step();
    resumed.step();
    assert_eq!(whole.checkpoint(), resumed.checkpoint());
    std::fs::write(dir.0.join("link.pps"), lines(3)).unwrap();
    let error = Designer::resume_in(&checkpoint, &dir.0).unwrap_err().to_string();
    assert!(error.contains("has changed since"), "{error}");
    let other = Model::parse_in(&text, "m.toml", &dir.0).unwrap();
    assert_ne!(model.fingerprint(), other.fingerprint());
}

#[test]
fn flows_start_together_within_their_spread() {
    let together = PLAIN.replace("off = \"exp 500 ms\"", "every = \"500 ms\"\nspread = \"2 ms\"");
    let bursts = model(&together);
    assert_eq!(model(&bursts.to_string()).to_string(), bursts.to_string());
    let Traffic::Every { period, spread, on } = &mixed(&bursts, 1)[0].senders[0].traffic else {
        panic!("flows start together");
    };
    assert_eq!((*period, *spread), (Span::from_millis(500), Span::from_millis(2)));
    assert!(matches!(on, OnFor::Packets(_)));
    assert!(mean_score(&bursts, 10).is_finite());
    for (line, part) in [
        ("off = \"1 s\"\nevery = \"1 s\"", "flows start after \"off\" or \"every\" so often"),
        ("off = \"1 s\"\nspread = \"1 s\"", "flows do not start together: add \"every\""),
        ("every = \"1 s\"\nspread = \"1 s\"", "flows would start without end"),
    ] {
        let text = PLAIN.replace("off = \"exp 500 ms\"", line);
        let error = Model::parse(&text, "m.toml").unwrap_err();
        assert!(error.problem().contains(part) && error.line().is_some(), "{error}");
    }
}

#[test]
fn flow_lengths_come_from_a_file_beside_the_model() {
    let dir = folder_with("web.txt", "1, 0.5 # half are of one packet\n100, 1\n");
    let text = PLAIN.replace("exp 100 kB", "empirical web.txt packets");
    let model = Model::parse_in(&text, "m.toml", &dir.0).unwrap();
    assert!(model.to_string().contains("on = \"cdf 1:0.5,100:1 packets\""), "{model}");
    assert_eq!(Model::parse(&model.to_string(), "again").unwrap().to_string(), model.to_string());
    assert!(model.is_fast() && mean_score(&model, 10).is_finite());
    let path: Path = model.specimens(1, 0, 1)[0].network.path_of(0).1;
    assert_eq!(path.delay_ms, 50.0);
    let error = Model::parse(&text, "m.toml").unwrap_err();
    assert!(error.line() == Some(7) && error.problem().contains("web.txt"), "{error}");
}
