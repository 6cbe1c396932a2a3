//! Valid scenarios, and the errors of invalid ones.

use super::*;
use crate::traffic::{OnFor, OnOff};
use exm_grammar::Buffer;
use exm_link::{Aggregation, BlockErrors, Limit, Service, Slots, Thinning, TimedStep, Timing};
use exm_random::Distribution;
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_tcp::AccEcn;
use exm_units::{Packets, Rate};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Scenario, FileError> {
    Scenario::parse(text, "test.toml", Path::new(""))
}

/// A loader for scenarios without tables.
fn no_tables(_name: &str, path: &Path) -> Result<AnyController, String> {
    Err(format!("cannot load {}", path.display()))
}

fn network(text: &str) -> Result<Network, FileError> {
    parse(text)?.network(&mut no_tables)
}

const DUMBBELL: &str = r#"
duration = "10 s"
[dumbbell]
rate = "15 Mbps"
rtt = "150 ms"
buffer = "1000 packets"
senders = 3
controller = "aimd"
traffic.on = "exp 100 kB"
traffic.off = "exp 0.5 s"
"#;

const GRAPH: &str = r#"
duration = "10 s"
[[link]]
name = "first"
from = "a"
to = "b"
rate = "20 Mbps"
delay = "37.5 ms"
buffer = "2 BDP"
[[link]]
name = "second"
from = "b"
to = "c"
rate = "10 Mbps"
delay = "37.5 ms"
loss = 0.01
[[flow]]
path = ["first", "second"]
rtt = "150 ms"
controller = "aimd"
traffic.on = "always"
[[flow]]
path = ["first"]
count = 2
rtt = "100 ms"
controller = "aimd"
packet_size = "500 B"
host = "bare"
timer = false
traffic.on = "1 s"
traffic.off = "1 s"
"#;

#[test]
fn a_queue_is_written_as_text_or_as_a_table() {
    let queue = |queue: &str| {
        let text = DUMBBELL.replace("senders", &format!("queue = {queue}\nsenders"));
        parse(&text).expect(queue).links[0].queue.to_string()
    };
    let text = "codel interval=50ms,ecn=false";
    for same in [
        "\"codel interval=50ms,ecn=false\"",
        "\"codel target=5 ms ecn=false interval=50 ms\"",
        "{ name = \"codel\", interval = \"50 ms\", ecn = false }",
    ] {
        assert_eq!(queue(same), text);
    }
    assert_eq!(queue("{ name = \"fq-codel\", bins = 17 }"), "fq-codel bins=17");
    assert_eq!(queue("{ name = \"pie\", alpha = 0.25 }"), "pie alpha=0.25");
}

const LIMIT: Limit = Limit::Packets(Packets::new(1000));

#[test]
fn errors_of_a_built_scenario_name_the_key() {
    let link = |mbps| LinkSpec::new(Service::Fixed(Rate::from_mbps(mbps)));
    let error = |link: LinkSpec, group: FlowGroup| {
        let scenario = Scenario::builder(Span::from_secs(1)).link(link, LIMIT).flow(group).build();
        let error = scenario.network(&mut no_tables).expect_err("it is impossible");
        (error.key(), error.to_string())
    };
    let group = |controller: &str| FlowGroup::new(controller, Span::from_millis(10));
    let (key, text) = error(link(1.0), group("amid"));
    assert_eq!(key, Some("controller"));
    assert_eq!(text, "the scenario, controller: cannot load amid");
    assert_eq!(error(link(0.0), group("cubic")).0, Some("rate"));
    assert_eq!(error(link(1.0).delay(Span::from_secs(1)), group("cubic")).0, Some("rtt"));
    assert_eq!(error(link(1.0), group("cubic").path([1])).0, Some("path"));
    assert_eq!(error(link(1.0), group("cubic").count(0)).0, Some("count"));
}

#[test]
fn a_dumbbell_is_read_as_by_numbers() {
    let read = parse(DUMBBELL).expect("a valid scenario");
    let traffic = OnOff {
        on: OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 }),
        off: Distribution::Exponential { mean: 0.5 },
    };
    let group = FlowGroup::new("aimd", Span::from_millis(150)).count(3).traffic(traffic);
    let made = Scenario::builder(Span::from_secs(10))
        .link(LinkSpec::new(Service::Fixed(Rate::from_mbps(15.0))), Buffer::Limit(LIMIT))
        .flow(group)
        .build();
    assert_eq!(read.flows, made.flows);
    assert_eq!((read.seed, read.duration), (made.seed, made.duration));
    let [read, made] = [read, made].map(|s| s.network(&mut no_tables).expect("a valid network"));
    assert_eq!(crate::engine::run(&read, 1), crate::engine::run(&made, 1));
}

#[test]
fn every_controller_runs_over_tcp_unless_the_bare_host_is_named() {
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
    let hosts = |controller: &str, more: &str| {
        let text = DUMBBELL
            .replace("\"aimd\"", &format!("\"{controller}\"\n{more}"))
            .replace("senders = 3", "senders = 1");
        let scenario = parse(&text).expect("a valid scenario");
        let network = scenario.network(&mut |_, _| Ok(RemyCc::new(&table).into()));
        network.expect("a valid network").flows()[0].transport.host()
    };
    for controller in ["table.json", "cubic", "aimd"] {
        assert_eq!(hosts(controller, ""), Some(Host::Tcp), "{controller}");
        assert_eq!(hosts(controller, "host = \"tcp\""), Some(Host::Tcp), "{controller}");
        assert_eq!(hosts(controller, "host = \"bare\""), Some(Host::Bare), "{controller}");
    }
    assert_eq!(hosts("sprout", ""), None);
}

#[test]
fn a_rate_may_be_in_packets_of_the_scenario_s_size() {
    let text = DUMBBELL.replace("15 Mbps", "1.25 packets/ms");
    let rate = |text: &str| parse(text).expect("a valid scenario").links[0].service.rate();
    assert_eq!(rate(&text), Rate::from_mbps(15.0));
    assert_eq!(rate(&format!("packet_size = \"150 B\"\n{text}")), Rate::from_mbps(1.5));
}

#[test]
fn synthetic_links_have_seeds() {
    let times = |name: &str| {
        let text = DUMBBELL.replace("rate = \"15 Mbps\"", &format!("trace = \"{name}\""));
        match &parse(&text).expect("a valid scenario").links[0].service {
            Service::Trace(trace) => trace.times().to_vec(),
            Service::Fixed(_) => panic!("a trace"),
        }
    };
    assert_eq!(times("umts-like"), times("umts-like, seed 1"));
    assert_ne!(times("umts-like"), times("umts-like, seed 2"));
    assert!(is_synthetic("lte, seed 12") && !is_synthetic("lte, seed x") && !is_synthetic("a.pps"));
}

#[test]
fn delays_vary_as_written() {
    let varied = "jitter = \"exp 5 ms\"\nreorder = \"2 %\"\nreorder_delay = \"3 ms\"\nsenders";
    let text = DUMBBELL.replacen("senders", varied, 1);
    let link = &parse(&text).expect("a valid scenario").links[0];
    assert_eq!(link.jitter, Distribution::Exponential { mean: 0.005 });
    assert_eq!(link.reordering.probability.get(), 0.02);
    assert_eq!(link.reordering.extra, Span::from_millis(3));
    assert!(parse(DUMBBELL).expect("a valid scenario").links[0].has_constant_delay());
    let lines = [
        ("jitter = \"5 kB\"", "\"5 kB\" is no time"),
        ("reorder_delay = \"3 ms\"", "no packets are held back: add \"reorder\""),
        ("reorder_delay = \"1 h\"\nreorder = 0.1", "held back for 3600 s come too late"),
    ];
    for (line, part) in lines {
        refuse(DUMBBELL, "senders", &format!("{line}\nsenders"), Some(7), part);
    }
}

#[test]
fn frames_are_read() {
    let with = |line: &str| DUMBBELL.replacen("senders", &format!("{line}\nsenders"), 1);
    let link = |line: &str| parse(&with(line)).expect("a valid scenario").links[0].clone();
    let usual = Aggregation::default();
    assert_eq!(link("aggregation = {}").aggregation, Some(usual.clone()));
    assert_eq!(link("").aggregation, None);
    let full = "aggregation = { packets = \"256 packets\", airtime = \"5 ms\", access = \"1 ms\" }";
    let expected = usual
        .packets(Packets::new(256))
        .airtime(Span::from_millis(5))
        .access(Distribution::Fixed(0.001));
    assert_eq!(link(full).aggregation, Some(expected));
    for (line, part) in [
        ("aggregation = { packet = \"3 packets\" }", "did you mean \"packets\"?"),
        ("aggregation = { packets = \"0 packets\" }", "give at least one"),
        ("aggregation = { airtime = \"0 s\" }", "give some, such as"),
        ("aggregation = { access = \"2 kB\" }", "\"2 kB\" is no time"),
    ] {
        refuse(DUMBBELL, "senders", &format!("{line}\nsenders"), Some(7), part);
    }
    let trace = with("aggregation = {}").replace("rate = \"15 Mbps\"", "trace = \"lte\"");
    let error = network(&trace).unwrap_err().to_string();
    assert!(error.contains("a trace says when packets leave"), "{error}");
}

#[test]
fn block_errors_are_read() {
    let with = |line: &str| DUMBBELL.replacen("senders", &format!("{line}\nsenders"), 1);
    let link = |line: &str| parse(&with(line)).expect("a valid scenario").links[0].clone();
    let lte = BlockErrors::default();
    assert_eq!(link("block_errors = {}").block_errors, Some(lte));
    assert_eq!(lte.probability.get(), 0.1);
    let nr = link("block_errors = { step = \"3 ms\", slot = \"0.5 ms\" }");
    let expected = lte.step(Span::from_millis(3)).slot(Span::from_micros(500));
    assert_eq!(nr.block_errors, Some(expected));
    assert!(!nr.has_constant_delay());
    for (line, part) in [
        ("block_errors = { retrys = 3 }", "did you mean \"retries\"?"),
        ("block_errors = { retries = 101 }", "give at most 100"),
        ("block_errors = { step = \"1 h\" }", "a step or a slot of 3600 s is too long"),
    ] {
        refuse(DUMBBELL, "senders", &format!("{line}\nsenders"), Some(7), part);
    }
}

#[test]
fn changes_by_the_clock_are_read() {
    let with = |line: &str| DUMBBELL.replacen("senders", &format!("{line}\nsenders"), 1);
    let link = |line: &str| parse(&with(line)).expect("a valid scenario").links[0].clone();
    let steps = link(
        "schedule = { every = \"9 s\", steps = [{ at = \"3 s\", rate = \"1 Mbps\" }, { at = \"5 s\", loss = \"2 %\", delay = \"1 ms\" }] }",
    );
    let [at, later] = [3, 5].map(|s| TimedStep { at: Span::from_secs(s), ..TimedStep::default() });
    let expected = vec![
        TimedStep { rate: Some(Rate::from_mbps(1.0)), ..at },
        TimedStep {
            loss: Some("2 %".parse().expect("a probability")),
            delay: Some(Span::from_millis(1)),
            ..later
        },
    ];
    let every = Some(Span::from_secs(9));
    assert_eq!(steps.timing, Some(Timing::Steps { steps: expected, every }));
    assert_eq!(link("slots = {}").timing, Some(Timing::Slots(Slots::default())));
    assert_eq!(link("").timing, None);
    assert_eq!(link("thin_acks = \"4 packets\"").thinning, Some(Thinning::Each(Packets::new(4))));
    let every = Thinning::Every(Span::from_millis(10));
    assert_eq!(link("thin_acks = \"10 ms\"").thinning, Some(every));
    for (line, part) in [
        ("schedule = { steps = [] }", "there are no steps"),
        ("schedule = { steps = [{ at = \"2 s\" }, { at = \"1 s\" }] }", "sort them by"),
        ("schedule = { steps = [{ at = \"2 s\", lost = 0.1 }] }", "did you mean \"loss\"?"),
        ("slots = { every = \"0 s\" }", "give at least 1 ms"),
        ("slots = { loss = 0.1 }", "add \"edge\""),
        ("slots = { delay = \"2 kB\" }", "\"2 kB\" is no time"),
        ("slots = {}\nschedule = { steps = [] }", "take one of them out"),
        ("thin_acks = \"0 packets\"", "no ACK would be sent"),
        ("thin_acks = \"2 kB\"", "neither a number of ACKs nor a time"),
    ] {
        refuse(DUMBBELL, "senders", &format!("{line}\nsenders"), Some(7), part);
    }
    for (line, part) in [
        ("slots = { lowest_rate = \"1 Mbps\" }", "a trace has no rate to change"),
        ("thin_acks = \"4 packets\"", "ACKs are thinned on links of fixed rate"),
    ] {
        let trace = with(line).replace("rate = \"15 Mbps\"", "trace = \"lte\"");
        let error = network(&trace).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_graph_is_read() {
    let network = network(GRAPH).expect("a valid scenario");
    assert_eq!(network.flows().len(), 3);
    let [first, second] = network.links() else { panic!("two links") };
    // 20 Mbps x 150 ms is 250 packets.
    assert_eq!(first.buffer, Limit::Packets(Packets::new(500)));
    assert_eq!(second.buffer, Limit::Unlimited);
    assert_eq!(second.loss.get(), 0.01);
    let [long, short, _] = network.flows() else { panic!("three flows") };
    assert_eq!(long.extra_delay, Span::from_millis(75));
    assert_eq!(short.extra_delay, Span::from_micros(62_500));
    assert_eq!(short.packet_size, Bytes::new(500));
    assert!(
        matches!(long.transport, Transport::Tcp { .. })
            && matches!(short.transport, Transport::Bare { timer: false, .. })
    );
}

#[test]
fn the_shipped_scenarios_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for name in ["dumbbell", "parking-lot", "mixed"] {
        let scenario = Scenario::load(&folder.join(format!("{name}.toml"))).expect(name);
        let network = scenario.network(&mut no_tables).expect(name);
        let report = crate::engine::run(&network, scenario.seed);
        assert!(report.flows.iter().all(|flow| flow.delivered > 0), "{name}");
    }
}

#[test]
fn a_table_is_loaded_once_from_where_the_file_is() {
    let text = GRAPH.replace("\"aimd\"", "\"tables/a.dna\"");
    let scenario = Scenario::parse(&text, "x/test.toml", Path::new("x")).expect("sound");
    let mut asked = Vec::new();
    let network = scenario.network(&mut |_, path| {
        asked.push(path.to_owned());
        Ok(AnyController::named("aimd").expect("is there"))
    });
    assert_eq!(asked, [Path::new("x/tables/a.dna")]);
    assert!(network.is_ok());
    let error = scenario.network(&mut no_tables).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x/test.toml:20: cannot load x/tables/a.dna\n  20 | controller = \"tables/a.dna\""
    );
}

/// Each change to a valid scenario, and the error: its line and part of its text.
#[test]
fn every_bad_value_of_a_dumbbell_gives_one_clear_error() {
    let changes = [
        ("15 Mbps", "0 bps", 4, "a rate of zero carries nothing: give a rate such as \"15 Mbps\""),
        ("15 Mbps", "15 Mpbs", 4, "\"15 Mpbs\" is not a rate such as \"15 Mbps\""),
        ("rate =", "rat =", 4, "there is no key \"rat\" here: did you mean \"rate\"?"),
        ("senders = 3", "senders = 0", 7, "0 senders cannot be simulated: give 1 to 100000"),
        ("senders = 3", "senders = 100001", 7, "100001 senders cannot be simulated"),
        ("senders = 3", "senders = -1", 7, "-1 cannot stand here: give a whole number from 0 up"),
        (
            "senders",
            "tcp.idle_restart = \"rfc5861\"\nsenders",
            7,
            "no idle restart \"rfc5861\": did you mean \"rfc5681\"?",
        ),
        ("senders", "tcp.timestamps = \"0 s\"\nsenders", 7, "a clock without a tick stands still"),
        (
            "senders",
            "tcp.accecn = \"acer\"\nsenders",
            7,
            "there is no feedback \"acer\" of AccECN: did you mean \"ace\"?",
        ),
        (
            "senders",
            "queue = { name = \"red\", max_p = 2 }\nsenders",
            7,
            "\"2\" is not a probability",
        ),
        ("1000 packets", "0 packets", 6, "a buffer of no packets"),
        ("1000 packets", "1 kB", 6, "a buffer of 1 kB holds no packet of 1.5 kB"),
        ("1000 packets", "1000", 6, "\"1000\" is no buffer: give one such as"),
        ("\"aimd\"", "\"amid\"", 8, "cannot load amid"),
        ("exp 100 kB", "exp kB", 9, "\"kB\" is neither a time nor an amount"),
        ("exp 0.5 s", "exp 5 kB", 10, "\"exp 5 kB\" is no time: give one such as \"exp 5 s\""),
        ("exp 100 kB", "always", 10, "a sender that is always on is never off: take \"off\" out"),
        ("10 s", "0 s", 2, "a duration of 0 ns cannot be simulated"),
        ("10 s", "ten", 2, "\"ten\" is not a duration"),
        ("senders", "queue = \"cudel\"\nsenders", 7, "no queue discipline \"cudel\""),
        ("senders", "queue = \"codel targt=1ms\"\nsenders", 7, "it has target, interval, mtu, ecn"),
        (
            "senders",
            "queue = { name = \"codel\", targt = 1 }\nsenders",
            7,
            "it has target, interval",
        ),
        ("senders", "queue = { name = \"codel\", mtu = [1] }\nsenders", 7, "cannot have mtu = [1]"),
        ("senders", "queue = { target = \"1 ms\" }\nsenders", 7, "the queue has no name: give one"),
        ("senders", "loss = 1.5\nsenders", 7, "\"1.5\" is not a probability such as"),
        ("senders", "loss = \"101 %\"\nsenders", 7, "\"101 %\" is not a probability"),
        ("senders = 3", "senders = 3 4", 7, ""),
    ];
    for (from, to, line, part) in changes {
        refuse(DUMBBELL, from, to, Some(line), part);
    }
}

/// As before, of a graph.
#[test]
fn every_bad_value_of_a_graph_gives_one_clear_error() {
    let changes = [
        ("[\"first\", \"second\"]", "[]", 18, "the path is empty: name at least one link"),
        ("\"first\", \"second\"", "\"frist\"", 18, "no link \"frist\": did you mean \"first\"?"),
        ("\"first\", \"second\"", "\"second\", \"first\"", 18, "link \"second\" does not lead to"),
        ("path = [\"first\"]", "", 25, "the flow has no path: name the links"),
        ("\"second\"\nfrom", "\"first\"\nfrom", 11, "there are two links \"first\""),
        ("from = \"a\"\n", "", 4, "link \"first\" needs \"from\" and \"to\""),
        ("\"150 ms\"", "\"70 ms\"", 19, "a round trip of 70 ms is less than the 75 ms"),
        ("\"500 B\"", "\"0 B\"", 27, "packets of no size cannot be sent"),
        ("traffic.off = \"1 s\"", "", 30, "the traffic has no \"off\""),
        ("host = \"bare\"\n", "", 28, "a TCP host always keeps its timer: take \"timer\" out"),
        ("\"bare\"", "\"bare\"\nduplex = true", 29, "only Sprout's receiver sends data"),
        ("\"bare\"", "\"bare\"\nforesight = \"100 ms\"", 29, "only Sprout's receiver foresees"),
        ("\"bare\"", "\"quic\"", 29, "a QUIC host always keeps its timer: take \"timer\" out"),
        (
            "\"bare\"\ntimer = false",
            "\"quic\"\ntcp.rto = \"1 s\"",
            29,
            "rto is a setting of TCP, and RFC 9002 fixes it for QUIC: take it out",
        ),
        (
            "\"bare\"\ntimer = false",
            "\"quic\"\ntcp.accecn = \"ace\"",
            29,
            "accecn is a setting of TCP, and RFC 9000 fixes it for QUIC: take it out",
        ),
        ("\"bare\"", "\"bear\"", 28, "there is no host \"bear\": did you mean \"bare\"?"),
        (
            "duration",
            "sed = 1\nduration",
            2,
            "there is no key \"sed\" here: did you mean \"seed\"?",
        ),
    ];
    for (from, to, line, part) in changes {
        refuse(GRAPH, from, to, Some(line), part);
    }
    let timeless = GRAPH.replace("\"1 s\"", "\"0 s\"");
    refuse(&timeless, "", "", Some(30), "on and off times of zero");
    let many = GRAPH.replace("count = 2", "count = 100000");
    refuse(&many, "", "", None, "100001 senders are too many: give at most 100000");
}

#[test]
fn a_file_without_a_network_or_a_duration_gives_one_clear_error() {
    refuse(DUMBBELL, "duration = \"10 s\"", "", None, "the key \"duration\" is missing: add it");
    refuse("", "", "duration = \"1 s\"", None, "there is no network: give a [dumbbell]");
    let both = format!("{DUMBBELL}[[link]]\nname = \"a\"\nrate = \"1 Mbps\"\n");
    refuse(&both, "", "", Some(11), "a [dumbbell] stands alone");
}

#[test]
fn a_flow_has_its_own_feedback_of_marks() {
    let feedback = |tcp: &str| {
        let scenario = parse(&DUMBBELL.replace("senders", &format!("{tcp}senders")));
        let cubic = AnyController::named("cubic").expect("a known controller");
        let transport = scenario.expect("a valid scenario").flows[0].transport(cubic);
        let Transport::Tcp { settings, .. } = transport else { panic!("it is over TCP") };
        settings.accecn
    };
    assert_eq!(feedback(""), AccEcn::Option);
    assert_eq!(feedback("tcp.accecn = \"ace\"\n"), AccEcn::Ace);
    assert_eq!(feedback("tcp.accecn = \"ace-averaged\"\n"), AccEcn::AceAveraged);
}

#[test]
fn a_host_of_quic_has_its_recovery_and_what_of_tcp_applies() {
    let settings = |tcp: &str| {
        let file = GRAPH.replace("\"bare\"\ntimer = false", &format!("\"quic\"\n{tcp}"));
        let file = format!("{file}[tcp]\nrto = \"1 s\"\ntimestamps = \"1 ms\"\n");
        let scenario = parse(&file).expect("a valid scenario");
        let aimd = AnyController::named("aimd").expect("a known controller");
        let transport = scenario.flows[1].transport(aimd);
        assert_eq!((transport.host(), transport.host_name()), (Some(Host::Quic), "quic"));
        let Transport::Tcp { settings, .. } = transport else { panic!("it repairs losses") };
        settings
    };
    let usual = Settings::quic();
    let found = settings("");
    assert_eq!((found.recovery, found.delayed_acks), (usual.recovery, usual.delayed_acks));
    assert_eq!(found.timestamps, None, "a file's setting for TCP");
    let found = settings("tcp = { delayed_acks = false, initial_window = 32 }");
    assert_eq!((found.delayed_acks, found.initial_window), (None, Packets::new(32)));
    assert_eq!(found.recovery, usual.recovery);
}

#[test]
fn impossible_settings_of_sprout_are_rejected() {
    let text = |sets: &str| {
        let text = GRAPH.replacen("\"aimd\"", "\"sprout\"", 1);
        format!("{text}\n[sprout]\n{sets}\n")
    };
    let refused = |sets: &str, part: &str| {
        let error = network(&text(sets)).err().unwrap_or_else(|| panic!("{sets} was accepted"));
        assert!(error.problem().contains(part), "{sets}: {error}");
    };
    refused("queueing = \"161 ms\"", "a queueing of 161 ms is beyond the forecast");
    refused("queueing = \"-1 ms\"", "not a duration");
    refused("queuing = \"1 ms\"", "did you mean \"queueing\"?");
    refused("lookahead = 9", "a lookahead of 9 is impossible: give 1 to 8");
    refused("risk = 0.0", "a risk of 0 is impossible");
    refused(
        "model = \"papers\"",
        "there is no model \"papers\" of Sprout: did you mean \"paper\"?",
    );
}

fn refuse(text: &str, from: &str, to: &str, line: Option<usize>, part: &str) {
    let text = text.replacen(from, to, 1);
    let error = network(&text).err().unwrap_or_else(|| panic!("{from} -> {to} was accepted"));
    assert!(error.problem().contains(part), "{from} -> {to}: {error}");
    assert_eq!(error.line(), line, "{from} -> {to}: {error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::load(Path::new("no/such.toml")).unwrap_err().to_string();
    assert!(error.starts_with("no/such.toml: the scenario cannot be read: "), "{error}");
}

proptest! {
    /// Whatever text a file has, reading it gives a scenario or an error.
    #[test]
    fn no_text_makes_the_reader_panic(
        at in 0usize..600,
        length in 0usize..12,
        put in prop_oneof![".{0,8}", Just("1e400".to_owned()), Just("BDP".to_owned())],
    ) {
        for text in [DUMBBELL, GRAPH] {
            let mut text = text.to_owned();
            let (start, end) = (at.min(text.len()), (at + length).min(text.len()));
            text.replace_range(start..end, &put);
            if let Err(error) = network(&text) {
                prop_assert!(!error.problem().is_empty());
            }
        }
    }
}
