//! `exm design`, `exm score` and `exm demo` from outside.

use crate::common::{Folder, assert_fails, error_of};
use crate::small_model::{MODEL, folder};
use exm_table::{ArrivalTimes, TableFile};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).expect(name)
}

fn read_table(folder: &Folder, name: &str) -> TableFile {
    TableFile::load(folder.path(name)).expect(name)
}

/// The steps and scores in the log `name`.
fn read_log(folder: &Folder, name: &str) -> Vec<(u64, f64)> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert!(line["cpu_seconds"].is_f64() && line["what"].is_string(), "{line}");
        (line["step"].as_u64().expect("a step"), line["score"].as_f64().expect("a score"))
    };
    steps_of(&read(folder, name)).map(line).collect()
}

/// The lines of a log but for that of the held-out score.
fn steps_of(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| !line.contains("held_out"))
}

/// The checkpoint `name` but for the CPU time.
fn read_checkpoint(folder: &Folder, name: &str) -> Value {
    let mut checkpoint: Value = serde_json::from_str(&read(folder, name)).expect("JSON");
    checkpoint.as_object_mut().expect("an object").remove("cpu_seconds").expect("it is there");
    checkpoint
}

const DESIGN: &str = "design model.toml --specimens 8 --hardening 2 --quiet";

#[test]
fn a_resumed_design_is_that_of_one_run() {
    let folder = folder("resume");
    folder.text(&format!("{DESIGN} -o whole.json --steps 40 --threads 1"));
    folder.text(&format!("{DESIGN} -o part.json --steps 5 --threads 2"));
    // As if killed after steps that the checkpoint does not hold, in the midst of a line.
    let log = read(&folder, "part.json.log.jsonl");
    let log: String = steps_of(&log).map(|line| format!("{line}\n")).collect();
    let later = log.lines().last().unwrap().replace("\"step\":5", "\"step\":6");
    folder.write("part.json.log.jsonl", format!("{log}{later}\n{{\"step\":7,"));
    folder.text(&format!("{DESIGN} -o part.json --steps 40 --resume"));
    assert_eq!(read_table(&folder, "whole.json").table, read_table(&folder, "part.json").table);
    let score = |name: &str| read_table(&folder, name).provenance.held_out_score;
    assert_eq!(score("whole.json"), score("part.json"));
    assert_eq!(read_log(&folder, "whole.json.log.jsonl"), read_log(&folder, "part.json.log.jsonl"));
    assert_eq!(read_log(&folder, "part.json.log.jsonl").len(), 40);
    let checkpoint = |name: &str| read_checkpoint(&folder, name);
    assert_eq!(checkpoint("whole.json.checkpoint"), checkpoint("part.json.checkpoint"));
}

#[test]
fn a_table_tells_where_it_comes_from() {
    let folder = folder("provenance");
    let result = folder.json(&format!("{DESIGN} -o cc.json --steps 3 --seed 9 --json"));
    let provenance = read_table(&folder, "cc.json").provenance;
    assert!(provenance.program.unwrap().starts_with("exm "));
    assert_eq!(
        provenance.command.unwrap(),
        format!("exm {DESIGN} -o cc.json --steps 3 --seed 9 --json")
    );
    assert_eq!(provenance.search.as_deref(), Some("evolve"));
    assert_eq!(provenance.seed, Some(9));
    assert!(provenance.cpu_seconds.is_some_and(|seconds| seconds >= 0.0));
    assert_eq!(provenance.objective.unwrap(), "log2(throughput/share) - 1 log2(RTT)");
    assert_eq!(provenance.arrival_times, Some(ArrivalTimes::Receiver));
    assert_eq!(provenance.model.as_deref(), Some(MODEL));
    let model = exm_design::Model::parse(MODEL, "model.toml").unwrap();
    assert_eq!(provenance.model_hash, Some(model.fingerprint()));
    let hash = format!("\nmodel hash      {:016x}\n", model.fingerprint());
    assert!(folder.text("table show cc.json").contains(&hash));
    assert!(provenance.notes.unwrap().contains("--steps 3 make this table again"));
    let score = provenance.held_out_score.unwrap();
    assert_eq!((score.specimens, score.seed), (8, 9));
    assert_eq!(result["held_out"]["score"], score.mean);
    assert!(result["held_out"]["omniscient"].as_f64().unwrap() > score.mean);
    // Remy's own format keeps the table alone.
    folder.text(&format!("{DESIGN} -o cc.dna --steps 3 --seed 9 --clean"));
    folder.text("table diff cc.dna cc.json");
    assert!(!folder.path("cc.dna.checkpoint").exists());
    assert!(folder.path("cc.json.checkpoint").exists());
}

#[test]
fn designs_end_by_rules_and_by_score() {
    let folder = folder("ends");
    let result = folder.json(&format!("{DESIGN} -o rules.json --rules 2 --cpu 1min --json"));
    assert_eq!(result["end"], "there are as many rules as asked for");
    let result = folder.json(&format!("{DESIGN} -o score.json --score -99 --json"));
    assert_eq!(result["end"], "the score asked for is reached");
    let result = folder.json(&format!("{DESIGN} -o cpu.json --cpu 300ms --json"));
    assert_eq!(result["end"], "the CPU time is spent");
    assert!(result["cpu_seconds"].as_f64().unwrap() >= 0.3);
    let start = format!("{DESIGN} -o again.json --start cpu.json --search paper --steps 2 --json");
    assert_eq!(folder.json(&start)["search"], "paper");
}

#[test]
fn what_is_asked_for_wrongly_is_refused_before_the_work() {
    let folder = folder("refused");
    folder.text(&format!("{DESIGN} -o cc.json --steps 1"));
    folder.write("other.toml", MODEL.replace("1..4", "1..5"));
    folder.write("empty.toml", MODEL.replace("5..20", "20..5"));
    fs::create_dir(folder.path("folder.json")).unwrap();
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(words), code, parts);
    };
    fails(&format!("{DESIGN} -o cc.json"), 1, &["holds a design already", "--resume", "--force"]);
    fails(
        &format!("{DESIGN} -o x.json --resume"),
        2,
        &["there is no checkpoint x.json.checkpoint"],
    );
    fails("design other.toml -o cc.json --resume", 1, &["is of another model", "--force"]);
    fails(&format!("{DESIGN} -o cc.json --resume --seed 2"), 1, &["is of another seed: 1"]);
    fails("design empty.toml -o x.json", 2, &["empty.toml"]);
    fails("design none.toml -o x.json", 2, &["none.toml: the model cannot be read"]);
    fails(&format!("{DESIGN} -o x.txt"), 2, &["'--out'", ".json"]);
    fails(&format!("{DESIGN} -o none/x.json"), 1, &["cannot write none/x.json"]);
    fails(&format!("{DESIGN} -o folder.json"), 1, &["folder.json is a folder"]);
    fails(&format!("{DESIGN} -o x.json --log none/log"), 1, &["cannot write none/log"]);
    fails(&format!("{DESIGN} -o x.json --start none.json"), 2, &["cannot read none.json"]);
    fails(&format!("{DESIGN} -o x.json --search paper --score -1"), 2, &["judges no tables"]);
    fails(&format!("{DESIGN} -o x.json --cpu 0s"), 2, &["--cpu"]);
    let left = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with('x')).collect();
    assert!(left.is_empty(), "{left:?}");
    // A damaged checkpoint.
    let text = read(&folder, "cc.json.checkpoint");
    folder.write("cc.json.checkpoint", &text[..text.len() / 2]);
    fails(&format!("{DESIGN} -o cc.json --resume"), 1, &["is not a checkpoint", "--force"]);
    folder.text(&format!("{DESIGN} -o cc.json --force --steps 2"));
}

/// The size limit of files stands for a full disk: beyond it, writing fails and making does not.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_before_the_work() {
    let folder = folder("full");
    let exm = env!("CARGO_BIN_EXE_exm");
    let script = format!("trap '' XFSZ; ulimit -f 0; exec '{exm}' {DESIGN} -o x.json");
    let output = Command::new("sh").args(["-c", &script]).current_dir(&folder.0).output().unwrap();
    assert_fails(&output, 1, &["cannot write x.json.checkpoint", "File too large"]);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "the model alone is left");
}

#[test]
fn a_design_replaces_no_file_but_its_own() {
    let folder = folder("own");
    let fails = |words: &str, parts: &[&str]| {
        assert_fails(&folder.run(&format!("{DESIGN} {words}")), 1, parts);
    };
    folder.text(&format!("{DESIGN} -o cc.json --steps 2 --clean"));
    let table = read(&folder, "cc.json");
    let log = read(&folder, "cc.json.log.jsonl");
    // The table is all that is left of hours of work, and its checkpoint is gone.
    fails("-o cc.json --steps 1", &["cc.json exists already", "--force"]);
    fails("-o new.json --log cc.json.log.jsonl", &["cc.json.log.jsonl exists already"]);
    fails("-o new.json --checkpoint model.toml --force", &["model.toml is used twice"]);
    fails(
        "-o new.json --log ./model.toml --force",
        &["./model.toml and model.toml are the same file"],
    );
    fails("-o new.json --start cc.json --checkpoint cc.json --force", &["cc.json is used twice"]);
    fails("-o cc.json --log cc.json --force", &["cc.json is used twice"]);
    fails("-o new.json --checkpoint . --force --clean", &[". is a folder"]);
    fails("-o new.json --checkpoint cc.json --resume", &["cannot go on from cc.json"]);
    #[cfg(unix)]
    for file in ["--checkpoint", "--log"] {
        let words = format!("-o new.json {file} /dev/null --force --clean --steps 1");
        fails(&words, &["/dev/null is a device"]);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
    assert_eq!(read(&folder, "model.toml"), MODEL);
    assert_eq!((read(&folder, "cc.json"), read(&folder, "cc.json.log.jsonl")), (table, log));
    assert!(!folder.path("new.json").exists() && !folder.path("new.json.checkpoint").exists());
    folder.text(&format!("{DESIGN} -o cc.json --steps 1 --force"));
    // Going on, the files must be those of the design.
    folder.write("cc.json.log.jsonl", "a diary");
    fails("-o cc.json --steps 2 --resume", &["cc.json.log.jsonl exists already", "not of this"]);
    assert_eq!(read(&folder, "cc.json.log.jsonl"), "a diary");
    fs::remove_file(folder.path("cc.json.log.jsonl")).unwrap();
    folder.write("cc.json", "{}");
    fails("-o cc.json --steps 2 --resume", &["cc.json exists already", "not of this design"]);
    fs::remove_file(folder.path("cc.json")).unwrap();
    folder.text(&format!("{DESIGN} -o cc.json --steps 2 --resume"));
    folder.text(&format!("{DESIGN} -o cc.json --steps 3 --resume"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_loses_nothing() {
    let folder = folder("interrupt");
    let words = "design model.toml -o cc.json --cpu 10min --specimens 8";
    let mut child = folder.exm(words).stderr(Stdio::piped()).spawn().expect("the program starts");
    let is_under_way = || {
        fs::read_to_string(folder.path("cc.json.log.jsonl"))
            .is_ok_and(|log| log.lines().count() > 3)
    };
    while !is_under_way() {
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().expect("it ends");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains(&format!("go on with: exm {words} --resume")), "{error}");
    let steps = read_checkpoint(&folder, "cc.json.checkpoint")["steps"].as_u64().unwrap();
    assert_eq!(read_log(&folder, "cc.json.log.jsonl").last().unwrap().0, steps);
    assert!(!read_table(&folder, "cc.json").table.rules().is_empty());
    // Gone on with, it is that of one run.
    let steps = steps + 3;
    folder.text(&format!("{DESIGN} -o cc.json --steps {steps} --resume"));
    folder.text(&format!("{DESIGN} -o whole.json --steps {steps}"));
    assert_eq!(read_table(&folder, "cc.json").table, read_table(&folder, "whole.json").table);
}

/// What the command line `words` writes to a terminal on which the user interrupts it as soon as
/// it shows a bar; nothing where there is no script(1) to make a terminal with.
#[cfg(target_os = "linux")]
fn interrupted_on_terminal(folder: &Folder, words: &str) -> Option<String> {
    use std::io::{Read, Write};
    let command = format!("exec '{}' {words}", env!("CARGO_BIN_EXE_exm"));
    let mut child = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .current_dir(&folder.0)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let (mut keys, mut screen) = (child.stdin.take()?, child.stdout.take()?);
    let (mut written, mut buffer, mut pressed) = (String::new(), [0; 4096], false);
    loop {
        let count = screen.read(&mut buffer).expect("a terminal");
        if count == 0 {
            break;
        }
        written += &String::from_utf8_lossy(&buffer[..count]);
        if !pressed && written.contains(" left") {
            keys.write_all(b"\x03").expect("a terminal");
            pressed = true;
        }
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{written}");
    Some(written)
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_takes_the_bar_away_before_a_word_is_said() {
    let folder = folder("terminal");
    let words = "score aimd --model model.toml --specimens 1000000";
    let Some(score) = interrupted_on_terminal(&folder, words) else {
        exm_testing::skip("without script(1)");
        return;
    };
    assert!(score.ends_with("\r\u{1b}[2K"), "{score:?}");
    let words = "design model.toml -o cc.json --cpu 10min";
    let design = interrupted_on_terminal(&folder, words).expect("there is script(1)");
    // The note comes where the bar's lines were erased, the error on a line of its own.
    let before = |word: &str| {
        let colours = format!("\u{1b}[1m\u{1b}[{word}");
        design.split_once(&colours).unwrap_or_else(|| panic!("no {word} in {design:?}")).0
    };
    let up = before("33mnote:").trim_end_matches(|c: char| c == 'A' || c.is_ascii_digit());
    assert!(up.ends_with("\u{1b}[2K\u{1b}["), "{design:?}");
    assert!(before("31merror:").ends_with('\n'), "{design:?}");
}

#[test]
fn scores_stand_side_by_side() {
    let folder = folder("score");
    folder.text(&format!("{DESIGN} -o cc.json --steps 12"));
    let words = "score cc.json aimd --model model.toml --specimens 50 --seed 4";
    let text = folder.text(words);
    for part in ["small: 50 held-out specimens, seed 4", "\ncc ", "\naimd ", "\nomniscient ", "±"]
    {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    assert!(text.contains(" worse\n") || text.contains(" better\n"), "{text}");
    let on = |threads: u32| {
        let mut result = folder.json(&format!("{words} --json --threads {threads}"));
        result["command"].take();
        result
    };
    let result = on(1);
    assert!(result == on(2), "results depend on the number of threads");
    let [cc, aimd] = result["contenders"].as_array().unwrap().as_slice() else { panic!("two") };
    let mean = |row: &Value, what: &str| row[what]["mean"].as_f64().unwrap();
    assert!(cc["difference"].is_null() && aimd["sum"].is_null());
    let difference = mean(aimd, "score") - mean(cc, "score");
    assert!((mean(aimd, "difference") - difference).abs() < 1e-9);
    let omniscient = result["omniscient"]["score"].as_f64().unwrap();
    assert!((mean(cc, "gap") - (omniscient - mean(cc, "score"))).abs() < 1e-9);
    assert_fails(&folder.run("score none.json --model model.toml"), 2, &["cannot read none.json"]);
    assert_fails(&folder.run("score aimd --model none.toml"), 2, &["the model cannot be read"]);
    assert_fails(&folder.run("score aimd --model model.toml --specimens 1"), 2, &["2..=1000000"]);
}

#[test]
fn the_sum_over_a_grid_is_printed() {
    let folder = folder("grid");
    let grid = MODEL
        .replace("\"5..20 Mbps\"", "[\"5 Mbps\", \"20 Mbps\"]\ndraw = \"grid\"")
        .replace("\"50..150 ms\"", "\"100 ms\"")
        .replace("\"1..4\"", "[1, 2, 3]");
    folder.write("grid.toml", grid);
    let result = folder.json("score aimd --model grid.toml --specimens 13 --json");
    assert_eq!((&result["specimens"], &result["grid"]), (&Value::from(18), &Value::from(6)));
    let row = &result["contenders"][0];
    let mean = |what: &str| row[what]["mean"].as_f64().unwrap();
    assert!((mean("sum") - 6.0 * mean("score")).abs() < 1e-9);
    let text = folder.text("score aimd --model grid.toml --specimens 13");
    assert!(text.contains("18 held-out specimens of its 6 networks"), "{text}");
}

#[test]
fn the_demonstration_leaves_a_table_and_a_figure() {
    let folder = folder("demo");
    let text = folder.text("demo --out tour --cpu 1s");
    // The program is not installed.
    let next = format!("Try next:\n  {} table show tour", env!("CARGO_BIN_EXE_exm"));
    for part in ["RemyCC, ", "one rule ", "AIMD ", "omniscient ", &next] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    assert!(read_table(&folder, "tour/remycc.json").provenance.held_out_score.is_some());
    let figure = read(&folder, "tour/comparison.svg");
    for part in
        [">AIMD</text>", ">one rule</text>", ">RemyCC, ", "queueing delay", ">better</text>"]
    {
        assert!(figure.contains(part), "{part} is missing: {figure}");
    }
    assert!(!folder.path("tour/checkpoint").exists());
    assert_fails(&folder.run("demo --out model.toml --cpu 1s"), 1, &["cannot make the folder"]);
    assert_fails(&folder.run("demo --out . --cpu 1s"), 1, &["model.toml exists already", "--out"]);
    folder.text("demo --out tour --cpu 300ms");
    assert_fails(&folder.run("demo --cpu soon"), 2, &["--cpu"]);
    assert_fails(&folder.run("demo --cpu 0s"), 2, &["--cpu"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_demonstration_keeps_its_design() {
    let folder = folder("demo-interrupted");
    let mut command = folder.exm("demo --out tour --cpu 10min");
    let child =
        command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program starts");
    while !fs::read_to_string(folder.path("tour/design.log.jsonl"))
        .is_ok_and(|log| log.lines().count() > 3)
    {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().expect("it ends");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(!read_table(&folder, "tour/remycc.json").table.rules().is_empty());
    let line = error.split("go on with: ").nth(1).expect("a way on").lines().next().unwrap();
    let words = line
        .split_once(' ')
        .unwrap()
        .1
        .replace("--cpu 10min", "--steps 8 --specimens 4 --hardening 1");
    folder.text(&words);
    assert!(read_table(&folder, "tour/remycc.json").provenance.held_out_score.is_some());
}
