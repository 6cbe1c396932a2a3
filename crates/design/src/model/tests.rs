mod design;

use super::*;
use proptest::prelude::*;

/// A whole model around these lines of its sections.
pub(super) fn model(network: &str, traffic: &str, objective: &str, design: &str) -> String {
    format!(
        "[network]\n{network}\n[traffic]\n{traffic}\n[objective]\n{objective}\n[design]\n{design}\n"
    )
}

pub(super) const NETWORK: &str =
    "rate = \"10..20 Mbps\"\nrtt = \"100..200 ms\"\nsenders = \"1..16\"";
pub(super) const TRAFFIC: &str = "on = \"exp 5 s\"\noff = \"exp 5 s\"";

fn parse(text: &str) -> Model {
    Model::parse(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn problem(text: &str) -> String {
    Model::parse(text, "test").expect_err(text).problem().to_owned()
}

fn with_network(lines: &str) -> String {
    model(lines, TRAFFIC, "", "")
}

/// The general network, but for this line.
fn but(line: &str) -> String {
    let key = line.split('=').next().expect("a key").trim();
    let others = NETWORK.lines().filter(|other| !other.starts_with(key));
    let lines: Vec<_> = others.chain([line]).collect();
    with_network(&lines.join("\n"))
}

#[test]
fn defaults_are_as_documented() {
    let model = parse(&format!("[network]\n{NETWORK}\n[traffic]\n{TRAFFIC}\n"));
    let expected = "\
[network]
rate = \"10 Mbps..20 Mbps\"
rtt = \"100 ms..200 ms\"
senders = \"1..16\"
buffer = \"unlimited\"
loss = 0
packet_size = \"1.5 kB\"
draw = \"random\"

[traffic]
on = \"exponential 5 s\"
off = \"exponential 5 s\"

[objective]
alpha = 1
beta = 1
delta = 1
loss_penalty = 0
measured_over = \"arrivals\"
throughput = \"share\"
units = \"absolute\"

[design]
signals = [\"send_ewma\", \"ack_ewma\", \"rtt_ratio\", \"slow_ack_ewma\"]
action = [\"window_multiple\", \"window_increment\", \"intersend\"]
duration = \"100 s\"
specimens = 16
";
    assert_eq!(model.to_string(), expected);
    assert_eq!(model.name(), None);
    assert_eq!(model.grid_size(), None);
    assert_eq!(*model.objective(), Objective::default());
    assert_eq!(model.design().specimens, 16);
    assert_eq!(parse(expected).fingerprint(), model.fingerprint());
    assert_eq!(model.fingerprint(), 0xe0ed_0f6c_8d9f_16cc);
}

#[test]
fn a_fingerprint_is_of_what_is_said() {
    let plain = parse(&with_network(NETWORK));
    let worded = format!("# a comment\nname = \"x\\n\\\"y\"\n{}", with_network(NETWORK));
    let worded =
        worded.replace("10..20 Mbps", "10000 kbps .. 0.02 Gbps").replace("exp ", "exponential ");
    let worded = parse(&worded);
    assert_eq!(plain.fingerprint(), worded.fingerprint());
    assert_eq!(worded.name(), Some("x\n\"y"));
    assert_eq!(parse(&worded.to_string()).name(), worded.name());
    assert!(worded.text().starts_with("# a comment"));
    assert_ne!(plain.fingerprint(), parse(&but("senders = \"1..15\"")).fingerprint());
}

#[test]
fn quantities_are_read_in_every_form() {
    for (line, printed) in [
        ("rate = \"15 Mbps\"", "rate = \"15 Mbps\""),
        ("rate = [\"10 Mbps\", \"1.25 packets/ms\"]", "rate = [\"10 Mbps\", \"15 Mbps\"]"),
        ("rate = \"0.833..1.667 packets/ms\"", "rate = \"9.996 Mbps..20.004 Mbps\""),
        ("rate = \"log 4.7..47 Mbps\"", "rate = \"log 4.7 Mbps..47 Mbps\""),
        ("rate = \"log 1..1000 Mbps, 100 steps\"", "rate = \"log 1 Mbps..1 Gbps, 100 steps\""),
        ("rtt = \"50..60 ms,3 steps\"", "rtt = \"50 ms..60 ms, 3 steps\""),
        ("rate = \"uniform 900 kbps..1 Gbps\"", "rate = \"900 kbps..1 Gbps\""),
        ("rate = \"1e1..2e1 Mbps\"", "rate = \"10 Mbps..20 Mbps\""),
        ("rtt = \"150 ms..150 ms\"", "rtt = \"150 ms..150 ms\""),
        ("senders = 2", "senders = 2"),
        ("senders = 0x10", "senders = 16"),
        ("senders = [1, 6, 11, 16]", "senders = [1, 6, 11, 16]"),
        ("senders = \"log 1..64\"", "senders = \"log 1..64\""),
        ("buffer = \"1000 packets\"", "buffer = \"1000 packets\""),
        ("buffer = \"250 kB\"", "buffer = \"166 packets\""),
        ("buffer = \"64..256 KiB\"", "buffer = \"43 packets..174 packets\""),
        ("buffer = \"0.5..5 BDP\"", "buffer = \"0.5 BDP..5 BDP\""),
        ("buffer = [\"unlimited\", \"5 BDP\"]", "buffer = [\"unlimited\", \"5 BDP\"]"),
        ("loss = 0.0", "loss = 0"),
        ("loss = \"1 %\"", "loss = 0.01"),
        ("loss = \"0..2 %\"", "loss = \"0..0.02\""),
        ("loss = [0, 0.01]", "loss = [0, 0.01]"),
        ("packet_size = \"1000 B\"", "packet_size = \"1 kB\""),
    ] {
        let text = parse(&but(line)).to_string();
        assert!(text.lines().any(|other| other == printed), "{line}: {text}");
    }
}

#[test]
fn steps_are_evenly_spaced_and_equally_likely() {
    let rates = |text: &str| -> Vec<f64> {
        let model = parse(&but(&format!("rate = \"{text}\"")));
        let choice = &model.networks.links[0].rate;
        let count = choice.count().unwrap();
        (0..count).map(|i| choice.at((i as f64 + 0.5) / count as f64).as_mbps()).collect()
    };
    assert_eq!(rates("10..20 Mbps, 5 steps"), [10.0, 12.5, 15.0, 17.5, 20.0]);
    assert_eq!(rates("log 1..1000 Mbps, 4 steps"), [1.0, 10.0, 100.0, 1000.0]);
    // A grid takes them as it takes a list.
    let network = "rate = \"1..2 Mbps, 3 steps\"\nrtt = \"10 ms\"\nsenders = 1\ndraw = \"grid\"";
    assert_eq!(parse(&model(network, TRAFFIC, "", "")).grid_size(), Some(3));
}

#[test]
fn traffic_is_read_in_every_form() {
    for (lines, printed) in [
        ("on = \"5 s\"\noff = \"fixed 0 s\"", "on = \"fixed 5 s\"\noff = \"fixed 0 s\""),
        (
            "on = \"exponential 150 kB\"\noff = \"uniform 100..500 ms\"",
            "on = \"exponential 100 packets\"\noff = \"uniform 0.1..0.5 s\"",
        ),
        (
            "on = \"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B\"\noff = \"exp 0.2 s\"",
            "on = \"pareto xm=0.098 alpha=0.5 shift=-0.02666666666666667 cap=2200000 packets\"\n\
             off = \"exponential 0.2 s\"",
        ),
        (
            "on = [\"15 kB\", \"1 packet\"]\noff = [\"1 s\"]",
            "on = [\"10 packets\", \"1 packets\"]\noff = [\"1 s\"]",
        ),
        ("on = \"always\"", "on = \"always\""),
        ("on = \"ever\"", "on = \"always\""),
    ] {
        let model = parse(&model(NETWORK, lines, "", ""));
        assert!(model.to_string().contains(&format!("[traffic]\n{printed}\n\n")), "{model}");
    }
}

#[test]
fn what_is_no_network_is_refused_with_a_remedy() {
    let rates = "give one such as \"15 Mbps\" or \"1.25 packets/ms\", or a range such as \
                 \"10..20 Mbps\", in bps, kbps, Mbps, Gbps, bit/s, kbit/s, Mbit/s, Gbit/s, packets/s, \
                 packets/ms";
    for (line, expected) in [
        ("rate = \"15 Mbs\"", format!("\"15 Mbs\" is not a rate: {rates}")),
        ("rate = 15", format!("\"15\" is not a rate: {rates}")),
        ("rate = true", format!("true or false is not a rate: {rates}")),
        ("rate = \"-5 Mbps\"", format!("\"-5 Mbps\" is not a rate: {rates}")),
        ("rate = \"nan packets/ms\"", format!("\"nan packets/ms\" is not a rate: {rates}")),
        ("rate = \"10-20 Mbps\"", format!("\"10-20 Mbps\" is not a rate: {rates}")),
        ("rate = \"0..20 Mbps\"", "a rate of zero carries nothing: give more".into()),
        (
            "rate = \"20..10 Mbps\"",
            "\"20..10 Mbps\" runs backwards: give the lower end first".into(),
        ),
        (
            "rate = \"..10 Mbps\"",
            "\"..10 Mbps\" lacks an end: give both, such as \"10..20 Mbps\"".into(),
        ),
        (
            "rate = \"log 10 Mbps\"",
            "\"log 10 Mbps\" has one end: give both, such as \"log 10..20 Mbps\"".into(),
        ),
        (
            "rate = \"lok 10..20 Mbps\"",
            "\"lok\" is no way to draw a rate: did you mean \"log\"?".into(),
        ),
        ("rate = []", "there is nothing to choose from in an empty list: name one at least".into()),
        (
            "rate = [\"1..2 Mbps\"]",
            "\"1..2 Mbps\" is a range, and a list names single values: give the range alone".into(),
        ),
        (
            "rate = \"2000 Gbps\"",
            "packets of 1.5 kB take less than 10 ns at 2000 Gbps, too short for the simulator's \
             clock: give a lower rate, or larger packets"
                .into(),
        ),
    ] {
        assert_eq!(problem(&but(line)), expected, "{line}");
    }
}

#[test]
fn what_is_no_other_quantity_is_refused_with_a_remedy() {
    for (line, expected) in [
        ("rtt = \"0 ms\"", "a round trip takes time: give more than zero"),
        ("rtt = \"1 h\"", "a round trip of 3600 s is too long: give at most 1000 s"),
        ("senders = 0", "0 senders cannot be simulated: give 1 to 65000"),
        ("senders = \"1..65001\"", "65001 senders cannot be simulated: give 1 to 65000"),
        (
            "senders = 2.5",
            "\"2.5\" is not a number of senders: give one such as 2, or a range such as \"1..16\"",
        ),
        ("buffer = \"0 packets\"", "the buffer must hold at least one packet of 1.5 kB: give more"),
        ("buffer = \"1 kB\"", "the buffer must hold at least one packet of 1.5 kB: give more"),
        (
            "buffer = \"0 BDP\"",
            "the buffer is out of bounds: give more than nothing and at most 1000000000000, or \
             \"unlimited\"",
        ),
        (
            "buffer = \"1 BDP..100 packets\"",
            "there is nothing between \"1 BDP\" and \"100 packets\": list them",
        ),
        ("loss = 1.5", "a loss of 1.5 is out of bounds: give 0 up to 1, or per cent"),
        ("loss = -0.1", "a loss of -0.1 is out of bounds: give 0 up to 1, or per cent"),
        (
            "loss = \"120 %\"",
            "\"120 %\" is not a probability of loss: give one such as 0.01 or \"1 %\", or a range \
             such as \"0..1 %\"",
        ),
        (
            "loss = \"log 0..1 %\"",
            "\"log 0..1 %\" starts at zero, which has no logarithm: start above it",
        ),
        (
            "rate = \"5 Mbps, 3 steps\"",
            "\"5 Mbps\" has no steps: give both ends, such as \"10..20 Mbps, 100 steps\"",
        ),
        (
            "rtt = \"5..9 ms, 1 steps\"",
            "\"1 steps\" is no number of steps: give 2 to 1000000, such as \"100 steps\"",
        ),
        ("senders = \"1..3, 4 steps\"", "\"1..3\" has fewer than 4 values: give fewer steps"),
        ("packet_size = \"0 B\"", "packets of 0 B do not exist: give 1 B to 65.535 kB"),
        ("draw = \"gird\"", "\"gird\" is not a way to draw networks: did you mean \"grid\"?"),
        (
            "draw = \"grid\"",
            "a grid takes every combination, and a range has no end of them: list the values of \
             \"rate\", or let draw be \"random\"",
        ),
    ] {
        assert_eq!(problem(&but(line)), expected, "{line}");
    }
}

#[test]
fn what_is_no_traffic_is_refused_with_a_remedy() {
    for (lines, expected) in [
        ("on = \"exp 0 s\"\noff = \"1 s\"", "the mean of \"exp 0 s\" is zero: give more than zero"),
        ("on = \"0 s\"\noff = \"1 s\"", "a flow must last: give a nanosecond or more"),
        ("on = \"1e-300 us\"\noff = \"1 s\"", "a flow must last: give a nanosecond or more"),
        ("on = \"0 kB\"\noff = \"1 s\"", "a flow must last: give more than zero"),
        (
            "on = \"exponental 5 s\"\noff = \"1 s\"",
            "\"exponental\" is no distribution: did you mean \"exponential\"?",
        ),
        (
            "on = \"5\"\noff = \"1 s\"",
            "\"5\" is neither a time nor an amount of data: give one such as \"5 s\", \"100 kB\" or \
             \"20 packets\", a number and one of ns, us, µs, ms, s, sec, min, h, B, byte, bytes, kB, KB, MB, GB, \
             KiB, MiB, GiB, packet, packets, pkt",
        ),
        ("on = \"-5 s\"\noff = \"1 s\"", "\"-5 s\" is out of bounds: give a number from 0 up"),
        ("on = \"1 s\"", "\"off\" is missing from [traffic]: add off = \"exponential 5 s\""),
        (
            "on = \"1 s\"\noff = \"100 kB\"",
            "the time between flows is no amount of data: give one such as \"exponential 5 s\"",
        ),
        (
            "on = \"always\"\noff = \"1 s\"",
            "a sender that is always on is never off: take \"off\" away",
        ),
        (
            "on = [\"1 s\", \"1 kB\"]\noff = \"1 s\"",
            "times and amounts of data do not mix: list one or the other",
        ),
        ("on = []\noff = \"1 s\"", "an empty list leaves nothing to draw: name one at least"),
        (
            "on = \"uniform 5..1 s\"\noff = \"1 s\"",
            "\"5..1 s\" runs backwards: give the lower end first",
        ),
        (
            "on = \"pareto xm=1 alpha=1 shift=-2 cap=5 s\"\noff = \"1 s\"",
            "what is drawn must be above zero: let xm + shift be",
        ),
        (
            "on = \"pareto xm=1 alpha=1 s\"\noff = \"1 s\"",
            "\"cap\" is missing: give all, such as \"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B\"",
        ),
    ] {
        assert_eq!(problem(&model(NETWORK, lines, "", "")), expected, "{lines}");
    }
}

#[test]
fn what_is_no_objective_or_design_is_refused_with_a_remedy() {
    for (line, expected) in [
        ("alpha = nan", "\"alpha\" cannot be nan: give a number from 0 to 10"),
        ("alpha = -1", "\"alpha\" cannot be -1: give a number from 0 to 10"),
        ("beta = inf", "\"beta\" cannot be inf: give a number from 0 to 10"),
        ("delta = \"big\"", "\"delta\" cannot be big: give a number from 0 to 1000000"),
        ("delta = [1]", "a list is not a number from 0 to 1000000"),
        ("loss_penalty = -0.5", "\"loss_penalty\" cannot be -0.5: give a number from 0 to 1000000"),
        (
            "throughput = \"shared\"",
            "\"shared\" is not a time to measure throughput over: did you mean \"share\"?",
        ),
        ("units = \"si\"", "\"si\" is not a kind of units: give one of \"absolute\", \"relative\""),
    ] {
        assert_eq!(problem(&model(NETWORK, TRAFFIC, line, "")), expected, "{line}");
    }
    for (line, expected) in [
        ("signals = []", "without any signal there is nothing to design: name one at least"),
        ("signals = [\"rtt_rato\"]", "\"rtt_rato\" is not a signal: did you mean \"rtt_ratio\"?"),
        ("signals = [\"rtt_ratio\", \"rtt_ratio\"]", "\"rtt_ratio\" stands twice: name it once"),
        (
            "action = []",
            "without any part of an action there is nothing to design: name one at least",
        ),
        (
            "action = [\"window\"]",
            "\"window\" is not a part of an action: give one of \"window_multiple\", \
             \"window_increment\", \"intersend\"",
        ),
        ("duration = \"0 s\"", "no time leaves nothing to simulate: give more than zero"),
        (
            "duration = 100",
            "\"100\" is not a duration such as \"150 ms\" or \"5 s\": give a number from 0 up and \
             one of ns, us, µs, ms, s, sec, min, h",
        ),
        ("duration = \"100 h\"", "360000 s is too long: give at most 100000 s"),
        (
            "duration = \"200 ms\"",
            "a specimen of 200 ms ends before a packet is acknowledged, which takes up to 201.2 ms: \
             let duration be longer",
        ),
        ("specimens = 0", "\"0\" is no number of specimens: give a whole one from 1 to 1000000"),
    ] {
        assert_eq!(problem(&model(NETWORK, TRAFFIC, "", line)), expected, "{line}");
    }
}

#[test]
fn unknown_and_missing_keys_are_named_with_what_was_meant() {
    let general = with_network(NETWORK);
    for (text, expected) in [
        (
            general.replace("rtt =", "rt ="),
            "there is no \"rt\" in [network]: did you mean \"rtt\"?",
        ),
        (
            general.replace("[traffic]", "[trafic]"),
            "there is no \"trafic\" in a model: did you mean \"traffic\"?",
        ),
        (
            general.replace("[traffic]", "duration = \"1 s\"\n[traffic]"),
            "\"duration\" belongs in [design]: move it there",
        ),
        (
            general.replace("[traffic]", "name = \"x\"\n[traffic]"),
            "\"name\" belongs at the top of the file: move it there",
        ),
        (
            general.replace("rtt = \"100..200 ms\"", ""),
            "\"rtt\" is missing from [network]: add rtt = \"100..200 ms\"",
        ),
        (String::new(), "the section [network] is missing: add it, with rate = \"10..20 Mbps\""),
        ("network = 5".to_owned(), "network is a section: write [network] above it"),
    ] {
        assert_eq!(problem(&text), expected, "{text}");
    }
}

#[test]
fn errors_show_their_line() {
    let text = with_network(NETWORK).replace("rtt =", "rt =");
    let error = Model::parse(&text, "a.toml").unwrap_err();
    assert_eq!(error.line(), Some(3));
    assert_eq!(
        error.to_string(),
        "a.toml:3: there is no \"rt\" in [network]: did you mean \"rtt\"?\n  3 | rt = \"100..200 ms\""
    );
    let missing = with_network(NETWORK).replace("rtt = \"100..200 ms\"", "");
    assert_eq!(Model::parse(&missing, "a.toml").unwrap_err().line(), Some(1));
    let element = but("rtt = [\n  \"100 ms\",\n  \"100\",\n]");
    assert_eq!(Model::parse(&element, "a.toml").unwrap_err().line(), Some(6));
    let broken = Model::parse("name = \n", "a.toml").unwrap_err();
    assert!(broken.to_string().starts_with("a.toml:1: this is not TOML: "), "{broken}");
    let absent = Model::load(Path::new("no/such/model.toml")).unwrap_err();
    assert!(absent.to_string().starts_with("no/such/model.toml: the model cannot be read: "));
}

#[test]
fn a_grid_may_not_be_endless() {
    let list = format!("[{}]", vec!["1"; 1001].join(", "));
    let lines = format!(
        "rate = {}\nrtt = \"1 ms\"\nsenders = {list}\ndraw = \"grid\"",
        list.replace('1', "\"1 Mbps\"")
    );
    let expected = "the grid has 1002001 combinations: list fewer values, at most 1000000 in all";
    assert_eq!(problem(&with_network(&lines)), expected);
}

#[test]
fn the_models_we_keep_are_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("models")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        let model = Model::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let again = parse(&model.to_string());
        assert_eq!(again.fingerprint(), model.fingerprint(), "{}", file.display());
        assert_eq!(again.specimens(1, 0, 16), model.specimens(1, 0, 16), "{}", file.display());
        assert!(model.omniscient(&model.specimens(1, 0, 1)[0]).is_finite());
    }
}

/// A number, most often one that can stand anywhere.
fn number() -> impl Strategy<Value = String> + Clone {
    let odd = vec!["0", "-1", "nan", "inf", "1e308", "", "1e-300", "_", "0.25", "2.5"];
    prop_oneof![
        60 => (1u32..90).prop_map(|n| n.to_string()),
        1 => prop::sample::select(odd).prop_map(str::to_owned),
    ]
}

/// Texts that may stand for a quantity, most of them rightly.
fn quantity(unit: &'static str) -> impl Strategy<Value = String> {
    let single = number().prop_map(move |n| format!("\"{n} {unit}\""));
    let list = |list: Vec<String>| format!("[{}]", list.join(", "));
    let word = prop::sample::select(vec!["", "", "log ", "uniform "]);
    prop_oneof![
        10 => single.clone(),
        10 => prop::collection::vec(single.clone(), 1..4).prop_map(list),
        10 => (word, 1u32..90, 0u32..10).prop_map(move |(word, low, more)| {
            format!("\"{word}{low}..{} {unit}\"", low + more)
        }),
        1 => (number(), number()).prop_map(move |(low, high)| format!("\"{low}..{high} {unit}\"")),
        1 => (number(), number(), 0usize..9).prop_map(move |(low, high, steps)| {
            format!("\"log {low}..{high} {unit}, {steps} steps\"")
        }),
        1 => prop::collection::vec(single, 0..2).prop_map(list),
    ]
}

fn any_model() -> impl Strategy<Value = String> {
    let network = (
        quantity("Mbps"),
        quantity("ms"),
        quantity(""),
        prop_oneof![quantity("BDP"), quantity("packets"), Just("\"unlimited\"".to_owned())],
        prop_oneof![quantity("%"), Just("0.5".to_owned())],
        prop::sample::select(vec!["random", "random", "random", "grid"]),
    );
    let flow = prop_oneof![
        quantity("s"),
        quantity("us"),
        (0u32..20).prop_map(|mean| format!("\"exponential {mean} kB\"")),
        Just("\"exponential 5 s\"".to_owned()),
    ];
    let off = prop_oneof![
        3 => Just("\"exponential 0.5 s\"".to_owned()),
        1 => Just("\"0 s\"".to_owned()),
    ];
    (network, flow, off, 0.0f64..11.0, 0.0f64..3.0).prop_map(
        |((rate, rtt, senders, buffer, loss, draw), on, off, alpha, delta)| {
            model(
                &format!(
                    "rate = {rate}\nrtt = {rtt}\nsenders = {senders}\nbuffer = {buffer}\n\
                     loss = {loss}\ndraw = \"{draw}\""
                ),
                &format!("on = {on}\noff = {off}"),
                &format!("alpha = {alpha}\ndelta = {delta}"),
                "duration = \"10 s\"",
            )
        },
    )
}

/// Whether `value` is what `choice` may be.
fn admits<T: choice::Quantity>(choice: &choice::Choice<T>, value: T) -> bool {
    match choice {
        choice::Choice::List(values) => values.contains(&value),
        choice::Choice::Uniform(low, high) | choice::Choice::LogUniform(low, high) => {
            (low.number()..=high.number()).contains(&value.number())
        }
        choice::Choice::Steps(steps) => {
            (steps.low.number()..=steps.high.number()).contains(&value.number())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_model_is_refused_or_stays_within_its_ranges(text in any_model(), seed: u64, block: u64) {
        let model = match Model::parse(&text, "any") {
            Ok(model) => model,
            Err(error) => {
                prop_assert!(!error.problem().is_empty());
                return Ok(());
            }
        };
        let again = Model::parse(&model.to_string(), "again");
        let again = again.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(model.to_string(), again.to_string());
        let specimens = model.specimens(seed, block, 5);
        prop_assert_eq!(&specimens, &again.specimens(seed, block, 5));
        prop_assert_eq!(specimens.len(), 5);
        for specimen in specimens {
            let (network, link) = (specimen.dumbbell(), &model.networks.links[0]);
            let rtt = network.delays[0];
            prop_assert!(admits(&link.rate, network.rate));
            prop_assert!(network.delays.iter().all(|&delay| delay == rtt));
            prop_assert!(admits(&link.rtt, rtt));
            let senders = Senders(network.delays.len() as u64);
            prop_assert!(admits(&model.classes()[0].count, senders));
            prop_assert!(admits(&link.loss, network.loss));
            prop_assert_eq!(network.duration, model.design().duration);
            prop_assert!(network.buffer.is_none_or(|buffer| buffer.get() > 0));
            prop_assert!(model.objective().omniscient(network).is_finite());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text: String) {
        if let Err(error) = Model::parse(&text, "any") {
            prop_assert!(!error.problem().is_empty());
        }
    }

    #[test]
    fn any_value_is_read_or_refused(value in "\\PC{0,20}", key in 0usize..5) {
        let key = ["rate", "rtt", "senders", "buffer", "loss"][key];
        let quoted = toml::Value::from(value.as_str()).to_string();
        if let Err(error) = Model::parse(&but(&format!("{key} = {quoted}")), "any") {
            prop_assert!(!error.problem().is_empty());
        }
    }
}
