//! `exm falsify`: the search for the networks on which a controller does worst.

use crate::common::{Folder, assert_fails};
use std::fs;

const MODEL: &str = r#"
    [network]
    rate = "2..8 Mbps"
    rtt = "20..80 ms"
    senders = "1..2"
    [traffic]
    on = "exp 1 s"
    off = "exp 1 s"
"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(&format!("falsify-{name}"));
    folder.write("m.toml", MODEL);
    folder
}

#[test]
fn the_worst_network_is_written_as_a_scenario_that_shows_it() {
    let folder = folder("worst");
    let words = "falsify 1x --model m.toml --around 2 --tries 16 --seed 3";
    let text = folder.text(&format!("{words} -o worst.toml --threads 1"));
    for part in ["1x against cubic: 16 networks tried, seed 3, host tcp", "RTT ratio", "\n1. "] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    let found = folder.json(&format!("{words} --json --threads 2"))["found"].take();
    // The same on any number of threads.
    assert_eq!(found[0]["scenario"], fs::read_to_string(folder.0.join("worst.toml")).unwrap());
    // The scenario is the network that the runs vary.
    let run = folder.json("simulate worst.toml --json");
    let groups = run["means"]["groups"].as_array().expect("groups");
    let tested = groups.iter().find(|group| group["controller"] == "1x").expect("it is there");
    assert!(tested["throughput_mbps"]["mean"].as_f64().expect("a number") > 0.0, "{tested}");
}

#[test]
fn the_worst_network_becomes_a_part_of_the_model() {
    let folder = folder("part");
    let words = "falsify 1x --model m.toml --around 2 --tries 16 --seed 3 --threads 1";
    let text = folder.text(&format!("{words} --into harder.toml --weight 25%"));
    assert!(text.contains("exm design harder.toml -o again.json"), "{text}");
    let harder = fs::read_to_string(folder.0.join("harder.toml")).unwrap();
    assert!(harder.starts_with(MODEL.trim_end()) && harder.contains("weight = 0.25"), "{harder}");
    folder.text("score 1x --model harder.toml --specimens 8 --threads 1");
    // And once more, on top of that.
    let words = words.replace("m.toml", "harder.toml");
    folder.text(&format!("{words} --into hardest.toml"));
    let hardest = fs::read_to_string(folder.0.join("hardest.toml")).unwrap();
    assert_eq!(hardest.matches("[[part]]").count(), 2, "{hardest}");
    assert_fails(
        &folder.run(&format!("{words} --into m.toml --force --weight 2")),
        2,
        &["--weight"],
    );
    assert_fails(&folder.run("falsify reno --into a.toml"), 2, &["--model"]);
}

#[test]
fn a_reference_made_for_tcp_keeps_it() {
    let folder = folder("hosts");
    let words = "falsify gcc --host bare --model m.toml --around 1 --tries 16 --seed 3 --threads 1";
    let text = folder.text(words);
    assert!(text.contains("seed 3, host bare, cubic on tcp"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder("refused");
    folder.write("worst.toml", "mine");
    for (words, code, parts) in [
        ("falsify cubic --host bare", 2, &["cubic is designed for TCP", "--host tcp"][..]),
        ("falsify none.json", 2, &["none.json"]),
        ("falsify reno --model none.toml", 2, &["the model cannot be read"]),
        ("falsify reno --around 2", 2, &["--model"]),
        ("falsify reno --model m.toml --around 0.5", 2, &["from 1 to 1000"]),
        ("falsify reno --delta -1", 2, &["--delta"]),
        ("falsify reno --tries 3", 2, &["16..=1000000"]),
        ("falsify reno -o worst.toml", 1, &["worst.toml exists", "--force"]),
        ("falsify reno --model m.toml -o m.toml --force", 1, &["m.toml"]),
        ("falsify reno -o -", 2, &["standard output", "name a file"]),
    ] {
        assert_fails(&folder.run(words), code, parts);
    }
    assert_eq!(fs::read_to_string(folder.0.join("worst.toml")).unwrap(), "mine");
}
