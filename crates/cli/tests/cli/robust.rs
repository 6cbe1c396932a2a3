//! `exm table check` and `exm table harden` from outside, and the end of a design.

use crate::common::{Folder, assert_fails};
use exm_remy::{Action, RuleTable, SignalSet};
use exm_table::{Provenance, TableFile};
use std::fs;

const MODEL: &str = "[network]\nrate = \"10 Mbps\"\nrtt = \"50 ms\"\nsenders = \"1..4\"\n[traffic]\n\
                     on = \"exp 1 s\"\noff = \"exp 1 s\"\n[design]\nduration = \"5 s\"\nspecimens = 4\n";

/// A model, and a table that only its pace holds back.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("model.toml", MODEL);
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 2.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    folder.write("greedy.json", TableFile { table, provenance: Provenance::default() }.to_json());
    folder
}

fn read(folder: &Folder, name: &str) -> TableFile {
    TableFile::from_json(&fs::read_to_string(folder.path(name)).expect(name)).expect(name)
}

#[test]
fn a_check_names_the_rule_and_ends_with_its_code() {
    let folder = folder("check");
    let output = folder.run("table check greedy.json --model model.toml");
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "Rule 0 is at fault: it enlarges the window to 1000000 packets and sends one every 2.0 ms; ";
    assert!(text.contains("near its model fills the queue on ") && text.contains(why), "{text}");
    assert!(
        text.contains("4 senders at 10 Mbps: the queue may grow without limit (rule 0"),
        "{text}"
    );
    let unknown = folder.run("table check greedy.json");
    assert_fails(&unknown, 2, &["does not record what it was designed for", "--model"]);
}

/// A table of one packet at a time fills no queue: beside it, the greedy one is far behind in delay, and not in use.
#[test]
fn a_check_compares_with_another_table() {
    let folder = folder("against");
    let action = Action { multiple: 0.0, increment: 1, intersend_ms: 0.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    folder.write("timid.json", TableFile { table, provenance: Provenance::default() }.to_json());
    let words = "table check greedy.json --model model.toml --against timid.json --seed 2 --json";
    // It collapses, which its exit code tells.
    let report = |threads: &str| {
        let output = folder.run(&format!("{words} --threads {threads}"));
        assert_eq!(output.status.code(), Some(3));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["beside"].clone()
    };
    let beside = report("1");
    assert_eq!(beside["networks"].as_array().unwrap().len(), 61);
    assert!(beside["behind"].as_u64().unwrap() > 20, "{beside}");
    assert!(beside["worst_rtt"][0].as_f64() > beside["worst_rtt"][1].as_f64(), "{beside}");
    // Where others delay packets, one packet at a time is a small share.
    let foreign = &beside["foreign"];
    assert_eq!(foreign["networks"], 12);
    assert!(foreign["throughput"].as_f64().unwrap() > 1.5, "{foreign}");
    assert_eq!(report("3"), beside);
    let other = folder.run("table check greedy.json --model model.toml --as other");
    assert_fails(&other, 2, &["designs no table called \"other\"", "--as"]);
}

#[test]
fn a_hardened_table_says_what_it_was_worth() {
    let folder = folder("harden");
    let words = "table harden greedy.json --model model.toml --cost 0.05 --specimens 8";
    let result = folder.json(&format!("{words} -o hard.json --json"));
    let hard = read(&folder, "hard.json");
    let robustness = hard.robustness().expect("it is of these rules");
    let before = robustness.far_before.expect("it was measured");
    assert!(robustness.far.collapses < before.collapses && robustness.cost.is_some());
    assert_eq!(result["robustness"]["far"]["collapses"], robustness.far.collapses);
    let shown = folder.text("table show hard.json");
    assert!(
        shown.contains("\nnear its model  ") && shown.contains("\nguards          "),
        "{shown}"
    );
    // Its file names the model: nobody has to.
    folder.run("table check hard.json").stdout.starts_with(b"designed for").then_some(()).unwrap();
    folder.text(&format!("{words} -o again.json --threads 1"));
    assert_eq!(read(&folder, "again.json").table, hard.table);
    assert_fails(&folder.run(&format!("{words} -o hard.json")), 1, &["hard.json", "--force"]);
    let negative = folder.run("table harden greedy.json --model model.toml -o x.json --cost=-1");
    assert_fails(&negative, 2, &["--cost", "from 0 to"]);
}

#[test]
fn a_verdict_of_other_rules_is_not_believed() {
    let folder = folder("verdict");
    folder.text("table harden greedy.json --model model.toml --specimens 2 -o hard.json");
    let mut file = read(&folder, "hard.json");
    file.table.set_action(0, Action { multiple: 0.0, increment: 9, intersend_ms: 1.0 });
    folder.write("edited.json", file.to_json());
    let shown = folder.text("table show edited.json");
    assert!(shown.contains("near its model  unknown, because the rules changed"), "{shown}");
}

#[test]
fn a_design_ends_by_hardening_unless_its_model_says_otherwise() {
    let folder = folder("end");
    folder.write("plain.toml", format!("{MODEL}[robust]\nenabled = false\n"));
    let design = |model: &str, out: &str| {
        folder.text(&format!("design {model} -o {out} --steps 3 --specimens 8 -q"));
        let file = read(&folder, out);
        file.robustness().expect("every design is checked").clone()
    };
    assert_eq!(design("plain.toml", "plain.json").far_before, None);
    let hard = design("model.toml", "hard.json");
    assert!(hard.far_before.is_some() && hard.cost.is_some());
    assert!(hard.foreign.is_some_and(|foreign| foreign.kept.is_some()));
    folder.write("bad.toml", format!("{MODEL}[robust]\ncost = -1\n"));
    let bad = folder.run("design bad.toml -o bad.json --steps 1");
    assert_fails(&bad, 2, &["bad.toml:12", "\"-1\" is no cost"]);
}

/// Search, hardening and scores together take about the CPU time that was asked for, and the file says how to repeat them.
#[test]
fn a_budget_of_cpu_time_covers_hardening_and_scores() {
    let folder = folder("budget");
    let result = folder.json("design model.toml -o cc.json --cpu 4s -q --threads 1 --json");
    let phases = &result["phases"];
    let [search, hardening, scoring] =
        ["search", "hardening", "scoring"].map(|phase| phases[phase].as_f64().expect(phase));
    assert!(search >= 2.6 && hardening > 0.0 && scoring > 0.0, "{phases}");
    let sum = search + hardening + scoring;
    assert!((result["cpu_seconds"].as_f64().unwrap() - sum).abs() < 1e-9);
    // Even a slow machine does not take several times as long, as when hardening was not counted.
    assert!(sum < 12.0, "{phases}");
    let made = read(&folder, "cc.json");
    let notes = made.provenance.notes.clone().unwrap();
    let number = |after: &str| {
        let (_, rest) = notes.split_once(after).unwrap_or_else(|| panic!("{after}: {notes}"));
        rest.split(' ').next().unwrap().to_owned()
    };
    let (steps, generations) = (number("--steps "), number("--hardening "));
    folder.text(&format!(
        "design model.toml -o again.json --steps {steps} --hardening {generations} --specimens 8 -q"
    ));
    assert_eq!(read(&folder, "again.json").table, made.table, "{notes}");
}

/// What an interrupted design leaves is marked, and whoever runs it is warned.
#[test]
fn a_table_that_is_not_hardened_yet_is_marked() {
    let folder = folder("pending");
    folder.text("design model.toml -o cc.json --steps 2 --hardening 2 --specimens 8 -q");
    let mut file = read(&folder, "cc.json");
    assert_eq!(file.provenance.pending, None);
    file.provenance.pending = Some(exm_table::Pending::Hardening);
    folder.write("cc.json", file.to_json());
    let run = folder.run("simulate --cc cc.json --link 10Mbps --rtt 50ms --duration 2s");
    let warning = String::from_utf8(run.stderr).unwrap();
    assert!(warning.contains("the design of cc.json was interrupted"), "{warning}");
    folder.text("table harden cc.json -o hard.json --generations 1 --specimens 2");
    assert_eq!(read(&folder, "hard.json").provenance.pending, None);
}
