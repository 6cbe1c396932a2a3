//! Every command knows shipped files by name, from an empty folder.

use crate::common::Folder;

#[test]
fn shipped_models_scenarios_and_experiments_are_known_by_name() {
    let folder = Folder::new("shipped");
    let designed =
        folder.json("design demo -o cc.json --steps 1 --hardening 2 --specimens 0 --quiet --json");
    assert_eq!(designed["steps"], 1);
    let scored = folder.json("score cc.json aimd --model general-delta1 --specimens 2 --json");
    assert_eq!(scored["contenders"].as_array().map(Vec::len), Some(2));
    for name in [
        "adsl",
        "call",
        "cellular",
        "dumbbell",
        "l4s",
        "leo",
        "mixed",
        "parking-lot",
        "policer",
        "wifi",
        "5g",
    ] {
        let simulated = folder.json(&format!("simulate {name} --duration 61s --json"));
        assert!(simulated["title"].is_string(), "{name}: {simulated}");
    }
    let compared =
        "compare --cc general-delta1,cubic --link 15Mbps --rtt 50ms --runs 1 --duration 2s";
    assert!(folder.text(&format!("{compared} --out compared")).contains("general-delta1"));
    let run =
        "experiment run incast --runs 1 --duration 2s --only DCTCP_(timer_200_ms) --out incast";
    assert!(folder.text(run).contains("DCTCP"), "{run}");
}

/// If a file has the name of a shipped one, the file is read.
#[test]
fn a_file_comes_before_what_is_shipped() {
    let folder = Folder::new("shipped-file");
    folder.write("dumbbell", "duration = 1");
    let output = folder.run("simulate dumbbell");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("dumbbell:1"));
}
