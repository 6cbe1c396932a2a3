//! `exm design` with several seeds and several deltas, and the pictures of designs.

use crate::common::{Folder, assert_fails, error_of};
use crate::small_model::{MODEL, folder};
use exm_table::TableFile;
use serde_json::Value;
use std::fs;

const DESIGN: &str = "design model.toml --specimens 8 --hardening 2 --quiet";

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).expect(name)
}

/// The table `name` and how it was scored.
fn table(folder: &Folder, name: &str) -> (String, Option<exm_table::Score>) {
    let TableFile { table, provenance } = TableFile::load(folder.path(name)).expect(name);
    (format!("{table:?}"), provenance.held_out_score)
}

/// The names of the files in `folder`, in order.
fn files(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_design_is_drawn_from_its_log() {
    let folder = folder("drawn");
    let text = folder.text(&format!("{DESIGN} -o cc.json --steps 30 --plot cc.svg"));
    assert!(text.contains("\npicture         cc.svg\n"), "{text}");
    let picture = read(&folder, "cc.svg");
    for part in ["single steps", "best ", ">held-out -", "omniscient ", "cc: 30 steps, the first"] {
        assert!(picture.contains(part), "{part}");
    }
    // The log has all that the picture shows.
    let log = "cc.json.log.jsonl";
    folder.text(&format!("design plot {log} -o again.svg"));
    assert_eq!(read(&folder, "again.svg"), picture);
    assert_eq!(folder.text(&format!("design plot {log} -o -")), picture);
    folder.text(&format!("design plot {log} -o cc.png"));
    assert!(fs::read(folder.path("cc.png")).unwrap().starts_with(b"\x89PNG"));
    // One that is being written, its last line cut short.
    let text = read(&folder, log);
    folder.write("part.log.jsonl", &text[..text.len() / 2]);
    folder.text("design plot part.log.jsonl cc.json.log.jsonl -o two.svg");
    let two = read(&folder, "two.svg");
    assert!(two.contains(">part<") && two.contains(">cc: -"), "{two}");
    folder.text(&format!("design plot part.log.jsonl {log} --median -o two.pdf"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = folder("undrawn");
    folder.text("design model.toml -o cc.json --steps 3 --hardening 2 --specimens 0 --quiet");
    let log = read(&folder, "cc.json.log.jsonl");
    folder.write("empty", "");
    folder.write("damaged", log.replace("\"step\":2", "\"step\""));
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(&format!("design plot {words}")), code, parts);
    };
    fails("none -o x.svg", 2, &["cannot read the log none"]);
    fails("model.toml -o x.svg", 1, &["model.toml is no log of a design", "cc.json.log.jsonl"]);
    fails("empty -o x.svg", 1, &["empty holds no step of a design yet"]);
    fails("damaged -o x.svg", 1, &["damaged is damaged: line 2 is no line"]);
    fails("cc.json.log.jsonl -o x.txt", 2, &["'x.txt' for '--out'", ".svg"]);
    fails("cc.json.log.jsonl -o cc.json.log.jsonl", 2, &["'--out'"]);
    fails("-o x.svg", 2, &["<LOG>"]);
    let drawn = format!("{DESIGN} -o new.json --steps 1 --plot");
    assert_fails(&folder.run(&format!("{drawn} x.txt")), 2, &["'x.txt' for '--plot'", ".svg"]);
    folder.write("old.svg", "<svg/>");
    assert_fails(&folder.run(&format!("{drawn} old.svg")), 1, &["old.svg exists already"]);
    assert!(!files(&folder).iter().any(|name| name.starts_with("new.") || name.starts_with('x')));
}

#[test]
fn the_best_of_several_seeds_is_kept() {
    let folder = folder("seeds");
    let words = format!("{DESIGN} -o cc.json --steps 8 --seeds 3 --seed 4 --plot cc.svg --json");
    let result = folder.json(&format!("{words} --threads 1"));
    let rows = result["designs"].as_array().expect("rows");
    let seeds: Vec<u64> = rows.iter().map(|row| row["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [4, 5, 6]);
    let mean = |row: &Value, key: &str| row[key]["mean"].as_f64().expect(key);
    let best = rows.iter().find(|row| row["seed"] == result["best"]).expect("the best");
    assert!(rows.iter().all(|row| mean(row, "choice") <= mean(best, "choice")), "{result}");
    let name = format!("cc.seed{}.json", result["best"]);
    assert_eq!(best["table"], name.as_str());
    assert_eq!(table(&folder, "cc.json"), table(&folder, &name));
    let notes = TableFile::load(folder.path("cc.json")).unwrap().provenance.notes.unwrap();
    assert!(notes.ends_with("; it is the best of seeds 4 to 6"), "{notes}");
    // Each is what it would be alone, and the networks are those of exm score.
    folder.text(&format!("{DESIGN} -o alone.json --steps 8 --seed 5"));
    assert_eq!(table(&folder, "alone.json").0, table(&folder, "cc.seed5.json").0);
    for (key, seed) in [("choice", 7), ("held_out", 4)] {
        let score = format!("score cc.seed5.json --model model.toml --specimens 8 --seed {seed}");
        let score = folder.json(&format!("{score} --json"));
        assert_eq!(score["contenders"][0]["score"], rows[1][key], "{key}");
        assert_eq!(result[key]["seed"], seed);
    }
    let means = rows.iter().map(|row| mean(row, "held_out"));
    let (low, high) = (means.clone().reduce(f64::min), means.reduce(f64::max));
    assert_eq!(result["held_out"]["lowest"].as_f64(), low);
    assert_eq!(result["held_out"]["highest"].as_f64(), high);
    // The picture is that of the logs.
    let logs = "cc.seed4.json.log.jsonl cc.seed5.json.log.jsonl cc.seed6.json.log.jsonl";
    folder.text(&format!("design plot {logs} --median -o again.svg"));
    assert_eq!(read(&folder, "again.svg"), read(&folder, "cc.svg"));
    // The same on other threads.
    let other = self::folder("seeds-threads");
    other.text(&format!("{words} --threads 2"));
    for name in ["cc.json", "cc.seed4.json", "cc.seed5.json", "cc.seed6.json"] {
        assert_eq!(table(&folder, name), table(&other, name), "{name}");
    }
    // Finished, it is only summarised again.
    let text = folder.text(&format!("{} --resume", words.replace(" --json", "")));
    assert!(
        text.contains(", the best\n") && text.contains("8 held-out networks, seed 7"),
        "{text}"
    );
    assert_eq!(table(&folder, "cc.json"), table(&other, "cc.json"));
}

#[cfg(unix)]
#[test]
fn several_seeds_are_resumed_where_they_were_interrupted() {
    use std::process::{Command, Stdio};
    let folder = folder("seeds-interrupted");
    let words = "design model.toml --specimens 8 -o cc.json --seeds 2 --cpu 10min";
    let mut child = folder.exm(words).stderr(Stdio::piped()).spawn().expect("the program starts");
    let log = folder.path("cc.seed1.json.log.jsonl");
    while fs::read_to_string(&log).map_or(0, |log| log.lines().count()) < 4 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().expect("it ends");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("cc.seed1.json and its checkpoint are written"), "{error}");
    assert!(error.contains(&format!("go on with: exm {words} --resume\n")), "{error}");
    let steps = read(&folder, "cc.seed1.json.log.jsonl").lines().count() + 2;
    folder.text(&format!("{DESIGN} -o cc.json --seeds 2 --steps {steps} --resume"));
    folder.text(&format!("{DESIGN} -o whole.json --seeds 2 --steps {steps} --clean"));
    for name in ["json", "seed1.json", "seed2.json"] {
        let both = ["cc", "whole"].map(|stem| table(&folder, &format!("{stem}.{name}")));
        assert_eq!(both[0], both[1], "{name}");
    }
    assert!(files(&folder).contains(&"cc.seed2.json.checkpoint".to_owned()));
    assert!(!files(&folder).contains(&"whole.seed2.json.checkpoint".to_owned()));
}

/// A design that ended by its rules or score ends at once when it is resumed with the same budget, so several
/// designs may be resumed after some have finished.
#[test]
fn a_finished_design_takes_no_further_step() {
    let folder = folder("finished");
    for budget in ["--rules 2", "--score -99", "--steps 3"] {
        let words = format!("{DESIGN} -o cc.json {budget} --json");
        let first = folder.json(&format!("{words} --force"));
        let again = folder.json(&format!("{words} --resume"));
        assert_eq!(first["steps"], again["steps"], "{budget}");
        assert_eq!(first["end"], again["end"]);
        assert_eq!(first["held_out"], again["held_out"]);
    }
}

/// The command that was interrupted is repeated as it was, with --resume.
#[test]
fn a_design_that_started_from_a_table_is_resumed() {
    let folder = folder("started");
    let words = format!("{DESIGN} --start 1x");
    folder.text(&format!("{words} -o cc.json --steps 1"));
    folder.text(&format!("{words} -o cc.json --steps 2 --resume"));
    folder.text(&format!("{words} -o whole.json --steps 2"));
    assert_eq!(table(&folder, "cc.json"), table(&folder, "whole.json"));
}

#[test]
fn a_table_is_designed_for_each_delta() {
    let folder = folder("deltas");
    let words = format!("{DESIGN} -o cc.json --steps 8 --delta 0.1,10 --plot f.svg");
    let result = folder.json(&format!("{words} --json --clean"));
    assert_eq!(
        files(&folder),
        [
            "cc.delta0.1.json",
            "cc.delta0.1.json.log.jsonl",
            "cc.delta10.json",
            "cc.delta10.json.log.jsonl",
            "f.svg",
            "model.toml"
        ]
    );
    let rows = result["designs"].as_array().expect("rows");
    assert_eq!(rows[1]["objective"], "log2(throughput/share) - 10 log2(RTT)");
    let queueing = |row: &Value| row["queueing_ms"]["middle"].as_f64().expect("a delay");
    assert!(queueing(&rows[0]) > queueing(&rows[1]), "{result}");
    let picture = read(&folder, "f.svg");
    for part in ["small: a table for each delta", ">delta 0.1<", ">delta 10<", "queueing delay"] {
        assert!(picture.contains(part), "{part}");
    }
    // The networks are those of a design and of exm score.
    folder.write("ten.toml", MODEL.replace("[objective]", "[objective]\ndelta = 10"));
    let score = folder.json("score cc.delta10.json --model ten.toml --specimens 8 --json");
    assert_eq!(score["contenders"][0]["score"], rows[1]["held_out"]);
    folder.text("design ten.toml -o alone.json --specimens 8 --quiet --steps 8 --hardening 2");
    assert_eq!(table(&folder, "alone.json"), table(&folder, "cc.delta10.json"));
    // A further delta joins those that are finished.
    let more = format!("{DESIGN} -o more.json --steps 8 --plot f.svg --delta");
    folder.text(&format!("{more} 0.1 --force"));
    let text = folder.text(&format!("{more} 0.1,10 --resume"));
    assert!(text.contains("\npicture   f.svg\n") && text.contains("more.delta10.json"), "{text}");
    assert_eq!(read(&folder, "f.svg"), picture);
}

#[test]
fn several_designs_are_refused_before_the_work() {
    let folder = folder("several-refused");
    let own = "[[sender]]\nname = \"a\"\nobjective = { delta = 2 }\n[objective]";
    let own = MODEL.replace("senders = \"1..4\"\n", "").replace("[objective]", own);
    folder.write("own.toml", own);
    let before = files(&folder);
    let fails = |words: &str, parts: &[&str]| {
        let output = folder.run(&format!("design model.toml -o cc.json --steps 1 {words}"));
        assert_fails(&output, 2, parts);
    };
    fails("--seeds 2 --delta 1,2", &["'--delta <X,..>'", "cannot be used with"]);
    fails("--seeds 2 --log x", &["'--seeds <N>'", "'--log <FILE>'"]);
    fails("--delta 1 --checkpoint x", &["'--delta <X,..>'", "'--checkpoint <FILE>'"]);
    fails("--seeds 1", &["'--seeds <N>'", "2..=100"]);
    fails("--seeds 2 --seed 18446744073709551615", &["there are no 2 seeds from"]);
    fails("--seeds 2 --specimens 0", &["--specimens cannot be 0"]);
    fails("--delta 1 --specimens 0", &["--specimens cannot be 0"]);
    fails("--delta 1,2,1.0", &["'1' for '--delta'", "once"]);
    fails("--delta 1,-2", &["'-2' for '--delta", "from 0 to 1000000"]);
    fails("--delta -1", &["'-1' for '--delta <X,..>'", "from 0 to 1000000"]);
    fails("--delta 1,x", &["'x' for '--delta"]);
    fails("--seeds 2 --resume", &["there is no checkpoint cc.seed1.json.checkpoint"]);
    fails("--seeds 2 --plot x.txt", &["'x.txt' for '--plot'"]);
    let own = folder.run("design own.toml -o cc.json --delta 1,3");
    assert_fails(&own, 2, &["each kind of senders has a delta of its own"]);
    assert_fails(&folder.run("design"), 2, &["<MODEL>", "--out"]);
    assert_eq!(files(&folder), before);
    // What is in the way of one of them is in the way of all.
    folder.write("cc.seed2.json", "a table of another");
    let output = folder.run("design model.toml -o cc.json --steps 1 --seeds 2");
    assert_fails(&output, 1, &["cc.seed2.json exists already"]);
    assert!(!folder.path("cc.seed1.json.checkpoint").exists());
}

/// With several tables each seed has a file of each.
#[test]
fn several_seeds_design_several_tables() {
    let folder = folder("seeds-tables");
    let kinds = "[[sender]]\nname = \"a\"\n[[sender]]\nname = \"b\"\n[objective]";
    let model = MODEL.replace("senders = \"1..4\"\n", "").replace("[objective]", kinds);
    folder.write("model.toml", model);
    let result = folder.json(&format!("{DESIGN} -o cc.json --steps 1 --seeds 2 --clean --json"));
    assert_eq!(result["tables"], serde_json::json!(["cc.a.json", "cc.b.json"]));
    for name in ["cc.seed1.a.json", "cc.seed2.b.json", "cc.b.json"] {
        assert!(files(&folder).contains(&name.to_owned()), "{name}");
    }
}
