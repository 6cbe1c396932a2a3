//! The text of controllers is read as it is written, and has its effect.

use super::*;
use crate::engine;
use crate::network::LinkSpec;
use crate::scenario::{FlowGroup, Scenario};
use exm_grammar::Buffer;
use exm_link::Service;
use exm_units::{Rate, Span};
use proptest::prelude::*;
use proptest::sample::select;

fn builtin(text: &str) -> Builtin {
    Builtin::parse(text).expect(text).expect(text)
}

/// The settings of Sprout in `text`.
fn sprout(text: &str) -> exm_sprout::Settings {
    builtin(text).sprout(exm_sprout::Settings::default()).expect("is Sprout")
}

/// What two flows by `controller` and one by Cubic do in twelve seconds, in full.
fn run(controller: &str) -> String {
    let mut link = LinkSpec::new(Service::Fixed(Rate::from_mbps(12.0)));
    link.loss = exm_units::Probability::new(0.002).unwrap();
    let scenario = Scenario::builder(Span::from_secs(12))
        .link(link, Buffer::Bdp(1.0))
        .flow(FlowGroup::new(controller, Span::from_millis(40)).count(2).name("a"))
        .flow(FlowGroup::new("cubic", Span::from_millis(60)))
        .build();
    let network = scenario.network(&mut |name, _| Err(unknown(name, &[]))).expect(controller);
    format!("{:?}", engine::run(&network, 1))
}

/// `name` with all its defaults as parameters.
fn explicit(name: &str) -> String {
    let entries = parameters_of(name).into_iter().filter(|entry| entry.name != "confidence");
    let set: Vec<String> =
        entries.map(|entry| format!("{}={}", entry.name, entry.default)).collect();
    format!("{name} {}", set.join(","))
}

#[test]
fn explicit_defaults_change_nothing() {
    for name in Builtin::names() {
        assert!(run(name) == run(&explicit(name)), "{name}");
    }
    let usual = exm_sprout::Settings::default();
    assert_eq!(sprout(&explicit("sprout")), usual);
    assert_eq!(sprout("sprout confidence=0.95"), usual);
    assert_eq!(sprout("sprout model=paper").queueing, Span::ZERO);
}

#[test]
fn each_parameter_has_an_effect() {
    let mut without = Vec::new();
    for text in [
        "aimd increase=3",
        "aimd decrease=0.8",
        "reno increase=3",
        "reno decrease=0.8",
        "reno-hystart++ decrease=0.8",
        "cubic beta=0.85",
        "cubic c=4",
        "cubic-linux beta=0.85",
        "vegas alpha=10,beta=12",
        "vegas gamma=20",
        "compound alpha=1",
        "compound beta=0.2",
        "compound k=0.9",
        "compound gamma=5",
        "compound gamma=5,zeta=0.1",
        "ledbat target=5ms",
        "ledbat gain=0.2",
        "ledbat decrease=0.9",
        "bbr beta=0.99",
        "bbr headroom=0.5",
        "bbr loss_thresh=0.0001",
        "bbr probe_rtt_interval=500ms",
        "bbr probe_rtt_interval=500ms,probe_rtt_duration=50ms",
        "bbr1 cwnd_gain=1.2",
        "sprout risk=0.4",
        "sprout lookahead=2,queueing=0ms",
        "sprout-ewma lookahead=1,queueing=0ms",
    ] {
        let name = Builtin::name_in(text).unwrap();
        let before = match text {
            "compound gamma=5,zeta=0.1" => "compound gamma=5",
            "bbr probe_rtt_interval=500ms,probe_rtt_duration=50ms" => {
                "bbr probe_rtt_interval=500ms"
            }
            _ => name,
        };
        if run(text) == run(before) {
            without.push(text);
        }
    }
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn parameters_stand_after_the_name() {
    for text in [
        "cubic beta=0.8,c=0.2",
        " cubic  beta=0.8 c=0.2 ",
        "cubic c=0.2, beta=0.8",
        "cubic c=0.20 beta=.8",
    ] {
        assert_eq!(builtin(text).to_string(), "cubic beta=0.8,c=0.2", "{text}");
    }
    assert_eq!(builtin("ledbat target=25 ms").to_string(), "ledbat target=25ms");
    assert_eq!(builtin("cubic beta=0.7").to_string(), "cubic");
    assert_eq!(builtin("sprout confidence=0.5").to_string(), "sprout risk=0.5");
    for other in ["cubci", "general-delta1", "", "a/cubic.json", "cubic/codel"] {
        assert!(Builtin::parse(other).unwrap().is_none(), "{other}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (text, expected) in [
        (
            "cubic beta=2",
            "the controller cubic cannot have beta = 2: give a number from 0.1 to 0.99",
        ),
        ("cubic beta=nan", "the controller cubic cannot have beta = nan: give a number from 0.1"),
        ("cubic beta", "\"beta\" after the controller cubic has no value: parameters are written"),
        ("cubic c=1,c=2", "the controller cubic has c twice: give it once"),
        (
            "cubic bta=0.8",
            "the controller cubic has no parameter \"bta\": did you mean \"beta\"? It has beta, c",
        ),
        ("xcp beta=0.8", "the controller xcp has no parameter \"beta\": it has none"),
        (
            "ledbat target=25",
            "the controller ledbat cannot have target = 25: give a duration from 1us to 10s",
        ),
        (
            "vegas alpha=5",
            "the controller vegas cannot have these parameters: alpha is above beta, so that",
        ),
        ("sprout risk=0", "the controller sprout cannot have risk = 0: a risk of 0 is impossible"),
        ("sprout risk=0.1,confidence=0.9", "the controller sprout has risk twice: give it once"),
        (
            "sprout model=papr",
            "the controller sprout cannot have model = papr: there is no model \"papr\" of Sprout: \
             did you mean \"paper\"?",
        ),
        ("sprout lookahead=1.5", "the controller sprout cannot have lookahead = 1.5: give a whole"),
        ("sprout queueing=9s", "the controller sprout cannot have queueing = 9s: a queueing of"),
        (
            "sprout-ewma risk=0.1",
            "the controller sprout-ewma has no parameter \"risk\": it has lookahead, queueing",
        ),
    ] {
        let error = Builtin::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let unknown = unknown("cubci beta=0.8", &[]);
    assert_eq!(unknown, "there is no controller \"cubci\": did you mean \"cubic\"?");
}

#[test]
fn a_table_of_sprout_is_overridden() {
    let text = "duration = \"1 s\"\n[sprout]\nrisk = 0.2\nlookahead = 3\n[dumbbell]\nrate = \"5 Mbps\"\n\
                rtt = \"40 ms\"\nsenders = 1\ncontroller = \"sprout risk=0.3\"\ntraffic.on = \"always\"\n";
    let scenario = Scenario::parse(text, "test", std::path::Path::new("")).unwrap();
    let network = scenario.network(&mut |name, _| Err(name.to_owned())).unwrap();
    let Transport::Sprout(settings) = &network.flows()[0].transport else { panic!("is Sprout") };
    let exm_sprout::Method::Bayes { risk, .. } = settings.method else { panic!("has a model") };
    assert_eq!((risk, settings.lookahead), (0.3, 3));
    let text = text.replace("risk=0.3", "risk=3");
    let scenario = Scenario::parse(&text, "test", std::path::Path::new("")).unwrap();
    let error = scenario.network(&mut |name, _| Err(name.to_owned())).unwrap_err();
    assert_eq!(error.line(), Some(9));
}

#[test]
fn parameters_continue_what_they_follow() {
    let of = |text: &str| split_list(text);
    assert_eq!(of("cubic beta=0.8,c=0.2,bbr"), ["cubic beta=0.8,c=0.2", "bbr"]);
    assert_eq!(
        of("cubic beta=0.8,c=0.2/codel target=1ms,ecn=false,bbr"),
        ["cubic beta=0.8,c=0.2/codel target=1ms,ecn=false", "bbr"]
    );
    assert_eq!(of("cubic,a=b.json,x/y=1.json"), ["cubic", "a=b.json", "x/y=1.json"]);
    assert_eq!(of("mine.json/codel target=1ms,mtu=9kB"), ["mine.json/codel target=1ms,mtu=9kB"]);
}

proptest! {
    /// Every text is read or refused, and what is read is written so that it is read again.
    #[test]
    fn what_is_written_is_read(
        name in select(Builtin::names().collect::<Vec<_>>()),
        choices in prop::collection::vec((0_usize..9, 0.0..1.0_f64), 0..9),
        rest in "[ -~]{0,20}",
    ) {
        let entries = parameters_of(name);
        let mut set: Vec<String> = Vec::new();
        for (which, part) in choices {
            let Some(entry) = entries.get(which) else { continue };
            let value = match entry.name {
                "target" | "outage" | "queueing" => format!("{}ms", 20.0 + part * 100.0),
                name if name.starts_with("probe_rtt") => format!("{}ms", 100.0 + part * 100.0),
                _ => part.to_string(),
            };
            set.push(format!("{}={value}", entry.name));
        }
        for text in [format!("{name} {}", set.join(",")), format!("{name} {}{rest}", set.join(" ")), rest] {
            let Ok(Some(read)) = Builtin::parse(&text) else { continue };
            let written = read.to_string();
            let again = builtin(&written);
            prop_assert_eq!(format!("{read:?}"), format!("{again:?}"));
            prop_assert_eq!(again.to_string(), written);
        }
    }

    /// Lists of any text can be split, and nothing is lost.
    #[test]
    fn any_list_is_split(text in "[a-z=/, .]{0,40}") {
        let joined: String = split_list(&text).concat();
        let kept = |text: &str| text.chars().filter(|c| !matches!(c, ',' | ' ')).collect::<String>();
        prop_assert_eq!(kept(&joined), kept(&text));
    }
}
