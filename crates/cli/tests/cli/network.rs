//! The network of `exm simulate` and `exm compare`: a scenario's file or flags, and what flags change in it.

use crate::common::{Folder, assert_fails};
use serde_json::Value;
use std::fs;

const OFFICE: &str = r#"
title = "An office"
duration = "2 s"
[dumbbell]
rate = "20 Mbps"
rtt = "40 ms"
senders = 2
controller = "cubic"
buffer = "250 packets"
traffic = { on = "exp 500 kB", off = "exp 0.5 s" }
"#;

const TWO: &str = r#"
duration = "2 s"
[[link]]
name = "down"
from = "a"
to = "b"
rate = "5 Mbps"
[[link]]
name = "up"
from = "b"
to = "a"
rate = "1 Mbps"
[[flow]]
name = "web"
path = ["down"]
rtt = "40 ms"
controller = "scheme"
traffic.on = "always"
[[flow]]
path = ["up"]
rtt = "40 ms"
controller = "reno"
traffic.on = "always"
"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("office.toml", OFFICE);
    folder.write("two.toml", TWO);
    folder
}

/// The flows of the first run of a simulation.
fn flows(folder: &Folder, words: &str) -> Value {
    folder.json(&format!("simulate {words} --json"))["runs"][0]["flows"].take()
}

#[test]
fn flags_change_a_scenario_as_if_it_were_written_so() {
    let folder = folder("changed");
    let written = OFFICE
        .replace("20 Mbps", "10 Mbps")
        .replace("\"cubic\"", "\"bbr\"")
        .replace("senders = 2", "senders = 3\nqueue = \"codel\"\njitter = \"exp 1 ms\"")
        .replace("0.5 s", "1 s")
        .replace("2 s", "3 s");
    folder.write("written.toml", written);
    let flags =
        "office.toml --cc bbr --link 10Mbps --senders 3 --queue codel --off exp_1_s --duration 3s";
    let changed = flows(&folder, &format!("{flags} --set dumbbell.jitter=exp_1_ms"));
    assert_eq!(changed, flows(&folder, "written.toml"));
    assert_eq!(changed, flows(&folder, &format!("{flags} --set link.jitter=exp_1_ms")));
    let alone =
        "--link 20Mbps --rtt 40ms --cc cubic --senders 2 --buffer 250_packets --on exp_500_kB";
    let alone = flows(&folder, &format!("{alone} --off exp_0.5_s --duration 2s"));
    assert_eq!(alone[0]["throughput_mbps"], flows(&folder, "office.toml")[0]["throughput_mbps"]);
    let text = folder.text("simulate office.toml --seed 7 --set link.loss=1%");
    assert!(
        text.contains("seed 7\nhost tcp\nscenario office.toml, seed 7, set link.loss=1%"),
        "{text}"
    );
}

#[test]
fn several_controllers_share_the_link_of_a_scenario() {
    let folder = folder("shared");
    let flows = flows(&folder, "office.toml --cc bbr,cubic --senders 3 --set flow.2.rtt=80ms");
    let of =
        |flow: usize| (flows[flow]["name"].as_str(), flows[flow]["propagation_rtt_ms"].as_f64());
    assert_eq!([of(0), of(1)].map(|flow| flow.1), [Some(40.0); 2]);
    assert_eq!(of(2), (Some("cubic"), Some(80.0)));
}

#[test]
fn an_ambiguous_flag_names_the_way_out() {
    let folder = folder("ambiguous");
    let fails = |words: &str, parts: &[&str]| assert_fails(&folder.run(words), 2, parts);
    fails(
        "simulate two.toml --link 2Mbps",
        &[
            "--link is ambiguous: the scenario has 2 links, down, up",
            "--set 'link.down.rate=2 Mbps'",
        ],
    );
    fails("simulate two.toml --cc bbr", &["2 flows, web, 2", "--set 'flow.web.controller=bbr'"]);
    let flows = "two.toml --set flow.web.controller=bbr --set flow.2.controller=vegas";
    let flows = self::flows(&folder, flows);
    assert_eq!(
        (flows[0]["controller"].as_str(), flows[1]["controller"].as_str()),
        (Some("bbr"), Some("vegas"))
    );
    fails("compare two.toml --cc bbr --rtt 1ms", &["--rtt is ambiguous"]);
}

#[test]
fn errors_name_the_flag_or_the_key() {
    let folder = folder("flags");
    folder.write("wrong.toml", OFFICE.replace("cubic", "cubci"));
    let fails = |words: &str, parts: &[&str]| assert_fails(&folder.run(words), 2, parts);
    for command in ["simulate office.toml --cc reno", "compare office.toml --cc reno -o never"] {
        let fails = |words: &str, parts: &[&str]| fails(&format!("{command} {words}"), parts);
        fails("--set link.rat=5Mbps", &["'link.rat=5Mbps' for '--set'", "did you mean \"rate\"?"]);
        fails("--set link.rate=fast", &["for '--set'", "is not a rate"]);
        fails("--set duration.x=1", &["for '--set'", "has no keys of its own"]);
        fails("--set rate", &["'rate' for '--set <KEY=VALUE>'", "link.rate=20Mbps"]);
        fails("--sweep link.rate=5Mbps,fast", &["for '--sweep'", "is not a rate"]);
        fails("--link 0bps", &["'0 bps' for '--link'", "a rate of zero"]);
        fails("--buffer 0_packets", &["'0 packets' for '--buffer'", "a buffer of no"]);
        fails("--off soon", &["'soon' for '--off'"]);
        fails("--trace none.pps", &["'none.pps' for '--trace'"]);
    }
    fails("simulate office.toml --cc bbr,cubci", &["'cubci' for '--cc'"]);
    fails(
        "simulate office.toml --cc a,b,c",
        &["3 controllers need as many senders", "--senders 3"],
    );
    fails("simulate wrong.toml --link 5Mbps", &["wrong.toml:8: there is no controller \"cubci\""]);
    assert!(folder.run("simulate wrong.toml --cc cubic").status.success());
    assert!(!folder.path("never").exists());
}

#[test]
fn a_sweep_is_a_line_for_each_value() {
    let folder = folder("swept");
    let text = folder.text("simulate office.toml --sweep link.rate=5Mbps,10Mbps");
    let line = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    // The table is too wide for one block of columns.
    assert_eq!((line("5Mbps "), line("10Mbps ")), (2, 2), "{text}");
    let json = folder.json("simulate office.toml --sweep link.rate=5Mbps,10Mbps --json");
    assert_eq!(json["sweep"], "link.rate");
    let one = folder.json("simulate office.toml --link 10Mbps --json");
    assert_eq!(json["points"][1]["means"], one["means"]);
    let text = folder
        .text("compare office.toml --cc reno,bbr --runs 2 --sweep dumbbell.rate=5Mbps,10Mbps");
    assert!(text.contains("\n10Mbps           bbr "), "{text}");
}

#[test]
fn a_scenario_is_compared_as_it_is_simulated() {
    let folder = folder("compared");
    folder.write(
        "e.toml",
        format!(
            "{}[experiment]\n[[experiment.scheme]]\nname = \"bbr\"\ncontroller = \"bbr\"\n",
            OFFICE.replace("cubic", "scheme")
        ),
    );
    folder.text("experiment run e.toml --runs 2 -o e");
    folder.text("compare office.toml --cc bbr --runs 2 -o c");
    let read = |file: &str| fs::read_to_string(folder.path(file)).expect("is written");
    let rows = |text: String| {
        text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(read("c/results.csv")), rows(read("e/results.csv")));
    // Of several kinds of flows, those that wait for a scheme run it.
    let json =
        folder.json("compare two.toml --cc bbr,vegas --runs 1 -o two --json")["results"].take();
    assert!(json["command"].as_str().unwrap().starts_with("exm compare two.toml --cc bbr,vegas"));
}

/// Goodput is payload, and so is throughput: without a warm-up and with steady flows both are the same.
#[test]
fn goodput_is_payload_everywhere() {
    let folder = Folder::new("goodput");
    let words = "--cc reno --link 8Mbps --back 1Mbps --rtt 40ms --duration 20s";
    let simulated = &flows(&folder, words)[0];
    let received = simulated["end_to_end"]["received_mbps"].as_f64().unwrap();
    let goodput = simulated["end_to_end"]["goodput_mbps"].as_f64().unwrap();
    let throughput = simulated["throughput_mbps"].as_f64().unwrap();
    assert!((goodput / throughput - 1.0).abs() < 0.01, "{goodput} {throughput}");
    assert!(goodput < 0.98 * received);
    let compared = folder.json(&format!("compare {words} --runs 1 --json"))["results"].take();
    let compared = compared["cases"][0]["own"]["values"]["goodput"].as_f64().unwrap();
    assert!((compared / goodput - 1.0).abs() < 0.01, "{compared} {goodput}");
}

/// A scene without changes is the network that flags describe; one with changes repeats them.
#[test]
fn a_scene_is_simulated_with_its_changes() {
    let folder = folder("scene");
    let flags = "--link 8Mbps --rtt 40ms --senders 2 --cc reno --duration 3s";
    let [mut scene, mut flags] =
        ["http://localhost/#link=8Mbps&rtt=40ms&flows=2&cc=reno&until=3s", flags]
            .map(|words| flows(&folder, words));
    for flow in scene.as_array_mut().into_iter().chain(flags.as_array_mut()).flatten() {
        flow["name"] = Value::Null;
    }
    assert_eq!(scene, flags);

    let changed =
        "#link=8Mbps&rtt=40ms&cc=reno&cc=vegas&until=3s&change=1s,rate,1Mbps&change=2s,flows,2";
    let lanes = folder.json(&format!("simulate {changed} --json"));
    let lanes = lanes["points"].as_array().expect("lanes");
    assert_eq!(lanes.len(), 2);
    for (lane, controller) in lanes.iter().zip(["reno", "vegas"]) {
        assert_eq!(lane["value"], controller);
        let flows = lane["runs"][0]["flows"].as_array().expect("flows");
        let mbps = |flow: usize| flows[flow]["throughput_mbps"].as_f64().expect("a number");
        assert_eq!(flows.len(), 2, "the others were never on");
        assert!((2.0..4.5).contains(&mbps(0)) && mbps(1) < 1.0, "{flows:?}");
        assert_eq!(flows[1]["on_s"], 1.0);
    }
    assert_fails(&folder.run("simulate #lnik=8Mbps"), 2, &["lnik", "did you mean", "tip"]);
    assert_fails(&folder.run("simulate #link=8Mbps --cc reno"), 2, &["as it is", "after its #"]);
}
