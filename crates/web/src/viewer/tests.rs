use super::*;
use exm_sim::engine;
use serde_json::Value;

fn call(viewer: &mut Viewer, command: &Value) -> Value {
    serde_json::from_str(&viewer.call(&command.to_string())).expect("answers are JSON")
}

fn done(viewer: &mut Viewer, command: &Value) -> Value {
    let answer = call(viewer, command);
    assert!(answer.get("error").is_none(), "{command}: {answer}");
    answer
}

fn refused(viewer: &mut Viewer, command: &Value) -> String {
    let answer = call(viewer, command);
    let error = answer.get("error").expect("it is refused");
    format!("{}: {}", error["key"].as_str().unwrap(), error["problem"].as_str().unwrap())
}

fn opened(scene: &str) -> Viewer {
    let mut viewer = Viewer::default();
    done(&mut viewer, &json!({ "command": "open", "scene": scene }));
    viewer
}

/// The rows of each section of a frame, by its number.
fn frame(viewer: &mut Viewer) -> BTreeMap<u32, Vec<Vec<f64>>> {
    let mut numbers = Vec::new();
    viewer.frame(&mut numbers);
    let (mut sections, mut rest) = (BTreeMap::new(), numbers.as_slice());
    while let [number, rows, columns, data @ ..] = rest {
        let (rows, columns) = (*rows as usize, *columns as usize);
        let (section, after) = data.split_at(rows * columns);
        let rows: Vec<Vec<f64>> = section.chunks(columns).map(<[f64]>::to_vec).collect();
        assert!(sections.insert(*number as u32, rows).is_none(), "section {number} comes once");
        rest = after;
    }
    assert!(rest.is_empty());
    sections
}

const BUSY: &str = "link=15Mbps&rtt=100ms&buffer=1%20BDP&loss=0.5%25&flows=3&cc=general-delta1&cc=cubic,reno&until=20s";

#[test]
fn frames_tell_what_happened_since_the_last() {
    let mut viewer = opened(BUSY);
    assert_eq!(viewer.advance(2.0, 0.01, f64::INFINITY), 2.0);
    let first = frame(&mut viewer);
    let [samples, links] = [1, 2].map(|number| &first[&number]);
    assert_eq!((samples.len(), links.len()), (200 * 3 * 2, 200 * 2));
    let times: Vec<f64> = links.iter().step_by(2).map(|row| row[0]).collect();
    assert!(times.iter().enumerate().all(|(n, time)| (time - 0.01 * (n + 1) as f64).abs() < 1e-9));
    let in_flight =
        |lane: f64| -> f64 { samples.iter().filter(|row| row[1] == lane).map(|row| row[4]).sum() };
    assert!(in_flight(0.0) > 0.0 && in_flight(1.0) > 0.0);
    let kinds: Vec<f64> = first[&3].iter().map(|row| row[3]).collect();
    assert!(kinds.contains(&1.0) && kinds.contains(&3.0) && kinds.contains(&5.0), "{kinds:?}");
    assert!(first[&4].len() > 100 && first[&5].len() > 100);
    assert!(first[&5].iter().all(|row| row.len() == 4 + 4 && row[0] <= 2.0));
    assert!(first[&6].iter().all(|row| (0.0..=4.0).contains(&row[2]) && row[3] >= 0.0));
    assert_eq!(first[&7].len(), 6);
    assert!(!first.contains_key(&8), "nothing here is Sprout");
    let again = frame(&mut viewer);
    assert_eq!((again[&1].len(), again[&3].len(), again[&5].len()), (0, 0, 0));
    assert_eq!(again[&6], first[&6]);
}

/// Going back keeps the flow that is watched, though the past watched another.
#[test]
fn the_watched_flow_stays_so_in_the_past() {
    let mut viewer = opened(BUSY);
    viewer.advance(3.0, 0.01, f64::INFINITY);
    done(&mut viewer, &json!({ "command": "watch", "lane": 0, "flow": 2 }));
    done(&mut viewer, &json!({ "command": "seek", "time": 1.0 }));
    assert!(frame(&mut viewer)[&4].is_empty());
    viewer.advance(2.0, 0.01, f64::INFINITY);
    let frame = frame(&mut viewer);
    assert!(frame[&4].len() > 50 && frame[&5].len() > 50);
}

/// What the page shows is what `exm simulate` computes, however it is stepped, sampled and watched.
#[test]
fn watching_changes_nothing() {
    let mut viewer = opened(BUSY);
    let mut now = 0.0;
    while now < 20.0 {
        now = viewer.advance(20.0, 0.003, 500.0);
        frame(&mut viewer);
        done(&mut viewer, &json!({ "command": "watch", "lane": 1, "flow": 1 }));
    }
    let scene: Scene = BUSY.parse().unwrap();
    let mut library = Library::default();
    let networks = scene.networks(&mut |name, _| library.controller(name)).unwrap();
    let player = viewer.shown().unwrap().player();
    for ((scenario, network), lane) in networks.into_iter().zip(player.lanes()) {
        let network = network.changed(|_, flows| {
            flows[3..].iter_mut().for_each(|flow| flow.traffic = exm_sim::traffic::Traffic::none());
        });
        let report = engine::run(&network.unwrap(), scenario.seed);
        assert!(report == lane.report());
    }
}

#[test]
fn packets_limit_how_far_it_goes() {
    let mut viewer = opened("link=100Mbps&rtt=20ms&flows=8&cc=cubic");
    let reached = viewer.advance(60.0, 0.01, 1_000.0);
    assert!(reached > 0.0 && reached < 1.0, "{reached}");
    let mut empty = Viewer::default();
    assert_eq!(empty.advance(1.0, 0.01, 1.0), 0.0);
    assert!(frame(&mut empty).is_empty());
}

#[test]
fn the_description_follows_changes() {
    let mut viewer = opened("flows=2&cc=general-delta1&cc=cubic,reno&until=20s&on=always");
    viewer.advance(1.0, 0.01, f64::INFINITY);
    for change in [
        "rate,5Mbps",
        "buffer,1 BDP",
        "queue,codel target=10ms",
        "loss,1%",
        "delay,80ms",
        "flows,3",
        "on,exp 100 kB",
        "off,exp 1 s",
        "cc.1.0,bbr",
        "rule.0.0.0,1 2 3ms",
    ] {
        done(&mut viewer, &json!({ "command": "change", "change": change }));
    }
    let shown = done(&mut viewer, &json!({ "command": "describe" }));
    let link = &shown["links"][0];
    assert_eq!((link["rate"].as_u64(), link["loss"].as_f64()), (Some(5_000_000), Some(0.01)));
    // The BDP is that of the time of its change: 150 ms at 5 Mbps.
    assert_eq!(
        (link["buffer"].as_str(), link["buffer_packets"].as_u64()),
        (Some("63 packets"), Some(63))
    );
    assert_eq!(link["queue"], "codel target=10ms");
    assert_eq!((shown["active"].as_u64(), shown["on"].as_str()), (Some(3), Some("exp 100 kB")));
    let flows = &shown["lanes"][1]["flows"];
    assert_eq!(
        (flows[0]["controller"].as_str(), flows[0]["rtt"].as_f64()),
        (Some("bbr"), Some(0.08))
    );
    assert_eq!(
        (flows[1]["controller"].as_str(), flows[1]["table"].as_bool()),
        (Some("reno"), Some(false))
    );
    assert_eq!(shown["lanes"][0]["flows"][2]["edited"], true);
    assert_eq!(
        (shown["changes"].as_array().unwrap().len(), shown["applied"].as_u64()),
        (10, Some(10))
    );
    let again = opened(shown["scene"].as_str().unwrap());
    let player = again.shown().unwrap().player();
    assert_eq!(player.scene().to_string(), shown["scene"].as_str().unwrap());
    let went = done(&mut viewer, &json!({ "command": "seek", "time": 0.5 }));
    assert_eq!(went["now"], 0.5);
    assert_eq!(done(&mut viewer, &json!({ "command": "describe" }))["applied"], 0);
}

#[test]
fn tables_are_shown_edited_and_saved() {
    let mut viewer = opened("cc=1x&until=5s");
    viewer.advance(1.0, 0.01, f64::INFINITY);
    let ask = json!({ "command": "table", "lane": 0, "flow": 0 });
    let table = done(&mut viewer, &ask);
    let rules = table["rules"].as_array().unwrap().len();
    assert!(rules > 3 && table["about"].as_str().unwrap().starts_with("designed for 15 Mbps"));
    assert_eq!(table["signals"][0]["name"], "send_ewma");
    done(&mut viewer, &json!({ "command": "change", "change": "rule.0.0.1,0.5 7 2ms" }));
    let edited = done(&mut viewer, &ask);
    assert_eq!(edited["rules"][1]["increment"], 7);
    let saved = done(&mut viewer, &json!({ "command": "save", "lane": 0, "flow": 0 }));
    let import = json!({ "command": "import", "name": saved["name"], "text": saved["text"] });
    let own = done(&mut viewer, &import);
    assert_eq!((own["kind"].as_str(), own["name"].as_str()), (Some("table"), Some("1x-2")));
    let lanes = done(&mut viewer, &json!({ "command": "lanes", "lanes": [["1x-2"], ["cubic"]] }));
    assert_eq!(lanes["lanes"][0]["name"], "1x-2");
    assert_eq!(lanes["now"], 1.0);
    let scene = lanes["scene"].as_str().unwrap();
    assert!(scene.contains("file=1x-2:") && scene.matches("file=").count() == 1, "{scene}");
}

#[test]
fn files_are_told_apart() {
    let mut viewer = opened("");
    let mut import = |name: &str, text: &str| {
        let answer = done(&mut viewer, &json!({ "command": "import", "name": name, "text": text }));
        if let Some(scene) = answer["scene"].as_str() {
            opened(scene).advance(1.0, 0.01, f64::INFINITY);
        }
        answer["kind"].as_str().unwrap().to_owned()
    };
    let trace: String = (1..2_000).map(|n| format!("{}\n", n * 5)).collect();
    assert_eq!(import("train.trace", &trace), "trace");
    assert_eq!(import("rates.csv", "time_s,rate_mbps\n0,5\n1,2\n2,8\n"), "trace");
    assert_eq!(import("link.txt", "http://127.0.0.1:80/#link=5Mbps&cc=bbr\n"), "scene");
    let (_, scenario) = exm_sim::scenario::SHIPPED[1];
    assert_eq!(import("dumbbell.toml", scenario), "scenario");
    for (name, model) in exm_design::shipped::MODELS {
        assert_eq!(import(&format!("{name}.toml"), model), "model", "{name}");
    }
    for (name, text, problem) in [
        ("x.json", "{", "line 1"),
        ("x.txt", "to be or not to be", "give a rule table"),
        ("x.dna", "abc", ""),
        ("x.toml", "[network]\nrate = \"fast\"", "rate"),
        ("empty", "", "give a rule table"),
    ] {
        let command = json!({ "command": "import", "name": name, "text": text });
        let error = refused(&mut viewer, &command);
        assert!(error.starts_with(name) && error.contains(problem), "{error}");
    }
    let dna = json!({ "command": "import", "name": "x", "base64": "////" });
    assert!(refused(&mut viewer, &dna).starts_with("x: "));
    let not = json!({ "command": "import", "name": "x", "base64": "%" });
    assert!(refused(&mut viewer, &not).starts_with("base64: "));
}

#[test]
fn sprout_shows_its_belief() {
    let mut viewer = opened("trace=lte&rtt=40ms&cc=sprout&until=20s");
    viewer.advance(5.0, 0.02, f64::INFINITY);
    let frame = frame(&mut viewer);
    let sum: f64 = frame[&8].iter().map(|row| row[1]).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    let forecast = &frame[&9];
    assert!(forecast.is_sorted_by_key(|row| row[1]) && (forecast[4][0] - 0.1).abs() < 1e-9);
    assert_eq!(frame[&10].len(), 1);
    let shown = done(&mut viewer, &json!({ "command": "describe" }));
    assert_eq!(
        (shown["links"][0]["trace"].as_str(), shown["lanes"][0]["flows"][0]["host"].as_str()),
        (Some("lte"), Some("Sprout"))
    );
}

#[test]
fn steps_go_by_event_ack_and_rtt() {
    let mut viewer = opened("rtt=100ms&flows=2&cc=cubic");
    let mut step = |by: &str| {
        done(&mut viewer, &json!({ "command": "step", "by": by }))["now"].as_f64().unwrap()
    };
    let first = step("event");
    let ack = step("ack");
    assert!((0.1..0.11).contains(&ack) && first < ack, "{first} {ack}");
    let rtt = step("rtt");
    assert!((rtt - ack - 0.1).abs() < 0.01, "{rtt}");
}

#[test]
fn a_table_outside_its_design_range_is_warned_of() {
    let warnings = |scene: &str| {
        let mut viewer = opened(scene);
        done(&mut viewer, &json!({ "command": "describe" }))["warnings"].clone()
    };
    assert_eq!(warnings("cc=1x&flows=2&buffer=unlimited"), json!([]));
    let two = warnings("cc=1x&flows=3&link=100Mbps&buffer=unlimited");
    let line = two[0].as_str().unwrap();
    assert!(
        line.starts_with("outside the design range of 1x: ") && line.contains("senders 3"),
        "{line}"
    );
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let mut viewer = Viewer::default();
    assert!(refused(&mut viewer, &json!({ "command": "describe" })).contains("open a scene first"));
    let mut viewer = opened("cc=cubic");
    let before = done(&mut viewer, &json!({ "command": "describe" }));
    for (command, problem) in [
        (json!({ "command": "dance" }), "dance"),
        (json!({ "command": "open" }), "scene"),
        (json!({ "command": "open", "scene": "cc=qubic" }), "cc: "),
        (json!({ "command": "open", "scene": "cc=cubik" }), "did you mean \"cubic\""),
        (json!({ "command": "change", "change": "rate,0Mbps" }), "change: "),
        (json!({ "command": "lanes", "lanes": [] }), "lanes: "),
        (json!({ "command": "watch", "lane": 3, "flow": 0 }), "no flow 0 in lane 3"),
        (json!({ "command": "table", "lane": 0, "flow": 0 }), "has no rule table"),
        (json!({ "command": "save", "lane": 9, "flow": 9 }), "has no rule table"),
        (json!({ "command": "import", "name": "x" }), "either text or base64"),
    ] {
        let error = refused(&mut viewer, &command);
        assert!(error.contains(problem), "{command}: {error}");
    }
    assert!(viewer.call("not JSON").contains("\"error\""));
    assert_eq!(done(&mut viewer, &json!({ "command": "describe" })), before);
}

#[test]
fn all_names_can_be_used() {
    let names = done(&mut Viewer::default(), &json!({ "command": "names" }));
    for kind in ["tables", "controllers"] {
        for entry in names[kind].as_array().unwrap() {
            opened(&format!("cc={}", entry["name"].as_str().unwrap()));
            assert!(!entry["about"].as_str().unwrap().is_empty(), "{entry}");
        }
    }
    for entry in names["queues"].as_array().unwrap() {
        opened(&format!("queue={}", entry["name"].as_str().unwrap()));
    }
    for (kind, key) in [("scenarios", "scenario"), ("traces", "trace")] {
        for entry in names[kind].as_array().unwrap() {
            opened(&format!("{key}={}", entry["name"].as_str().unwrap()));
        }
    }
}

/// A report of a part is that of a scene that ends there.
#[test]
fn reports_are_of_the_time_so_far() {
    let ask = json!({ "command": "report" });
    let mut part = opened(&format!("{BUSY}&change=2s,flows,5&change=9s,rate,3Mbps"));
    assert_eq!(done(&mut part, &ask), json!({ "lanes": [] }));
    part.advance(4.0, 0.01, f64::INFINITY);
    let mut whole = opened(&format!("{}&change=2s,flows,5", BUSY.replace("20s", "4s")));
    whole.advance(4.0, 0.01, f64::INFINITY);
    let report = done(&mut part, &ask);
    assert_eq!(report, done(&mut whole, &ask));
    assert_eq!(report["lanes"][1]["flows"].as_array().unwrap().len(), 5);
    assert!(report["lanes"][0]["flows"][0]["throughput"].as_u64().unwrap() > 1_000_000);
}
