//! The program from outside: results as JSON, files that are whole or not there, pipes.

use crate::common::{Folder, assert_envelope, assert_fails, error_of};
use exm_remy::{Action, RuleTable, Signal, SignalSet};
use exm_table::{Provenance, TableFile, dna};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// The names of all files in `folder`.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

fn table() -> TableFile {
    let mut table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
    assert!(table.split(0, Signal::RttRatio, 1.5));
    assert!(table.split(0, Signal::AckEwma, 2.0));
    table.set_action(1, Action { multiple: 0.5, increment: 3, intersend_ms: 0.25 });
    let provenance = Provenance { seed: Some(7), ..Provenance::default() };
    TableFile { table, provenance }
}

/// A folder with a table in both formats, and files that are none.
fn tables(name: &str) -> Folder {
    let folder = Folder::new(name);
    let json = table().to_json();
    let dna = dna::write(&table().table).expect("Remy's signals");
    let files: [(&str, &[u8]); 6] = [
        ("a.json", json.as_bytes()),
        ("a.dna", &dna),
        ("cut.json", &json.as_bytes()[..json.len() / 2]),
        ("cut.dna", &dna[..dna.len() / 2]),
        ("garbage.dna", b"\xff\xfe no table"),
        (
            "impossible.json",
            &json.replace("\"intersend_ms\": 0.25", "\"intersend_ms\": -1").into_bytes(),
        ),
    ];
    for (name, bytes) in files {
        folder.write(name, bytes);
    }
    folder
}

const SIMULATE: &str = "simulate --link 15Mbps --rtt 150ms --duration 5s";

#[test]
fn results_are_json_where_asked_for() {
    let folder = tables("json");
    assert_eq!(folder.json("table show --json a.dna")["rules"].as_array().unwrap().len(), 3);
    assert_eq!(folder.json("table stats --json a.json")["rules"], 3);
    assert_eq!(folder.json("table diff --json a.json a.dna")["differing_cells"], 0);
    let tables = folder.json("table list --json");
    let of = |name: &str| {
        let all = tables["tables"].as_array().unwrap();
        all.iter().find(|table| table["name"] == name).expect(name).clone()
    };
    let networks = "10..20 Mbps, RTT 100..200 ms, 1..16 senders, buffer unlimited";
    assert_eq!(of("general-delta1")["designed_for"], networks);
    assert_eq!(of("1x")["designed_for"], "15 Mbps, RTT 150 ms, 2 senders, buffer unlimited");
    assert!(folder.text("table show general-delta1").ends_with(&format!("for    {networks}\n")));
    assert_eq!(folder.json("table convert --json a.json b.dna")["output"], "b.dna");
    let one = folder.json(&format!("{SIMULATE} --cc a.json,aimd --senders 3 --json"));
    let flows = one["runs"][0]["flows"].as_array().unwrap();
    let names: Vec<&str> = flows.iter().map(|flow| flow["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a 1", "a 2", "aimd"]);
    assert!(flows[2]["throughput_mbps"].as_f64().unwrap() > 0.1);
    assert!(flows[2]["rtt_ms"]["mean"].as_f64().unwrap() > 150.0);
    assert!(one["runs"][0]["links"][0]["utilisation_percent"].as_f64().unwrap() > 1.0);
    assert_eq!(one["means"]["tp"]["interval"], Value::Null);
}

#[test]
fn every_result_in_json_tells_version_and_command() {
    let folder = tables("envelope");
    folder.write("model.toml", MODEL);
    folder.write("lte.trace", "1\n2\n5\n");
    let compare = "compare --cc cubic --link 5Mbps --rtt 50ms --duration 2s --runs 1 -o c --json";
    for (words, keys) in [
        (&format!("{SIMULATE} --cc a.json --json")[..], &["seed", "host", "warnings"][..]),
        (compare, &["seed", "host", "warnings"]),
        ("score a.json --model model.toml --specimens 2 --json", &["seed", "host", "warnings"]),
        ("design model.toml -o d.json --steps 1 --hardening 2 --specimens 2 --json", &["seed"]),
        ("experiment show c --json", &["seed", "host", "warnings"]),
        ("experiment list --json", &[]),
        ("table list --json", &[]),
        ("table stats a.json --json", &[]),
        ("table diff a.json a.dna --json", &[]),
        ("table convert a.json b.dna --json", &[]),
        ("trace info lte.trace --json", &[]),
        ("trace convert lte.trace lte.pps --json", &[]),
        ("trace generate lte --for 5s -o new.trace --json", &["seed"]),
    ] {
        assert_envelope(&folder.text(words), &format!("exm {words}"), keys);
    }
}

const MODEL: &str = "[network]\nrate = \"5..20 Mbps\"\nrtt = \"100 ms\"\nsenders = \"1..4\"\n\
                     [traffic]\non = \"exp 1 s\"\noff = \"exp 1 s\"\n[objective]\n\
                     [design]\nduration = \"5 s\"\nspecimens = 2\n";

#[test]
fn scores_are_told_for_each_network_and_on_one_host() {
    let folder = tables("score");
    folder.write("model.toml", MODEL);
    let score = "score a.json aimd --model model.toml --specimens 4 --json";
    let bare = folder.json(score);
    assert_eq!(bare["host"], "bare");
    for contender in bare["contenders"].as_array().unwrap() {
        let trials = contender["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 4);
        let mean = trials.iter().map(|t| t["score"].as_f64().unwrap()).sum::<f64>() / 4.0;
        assert!((mean - contender["score"]["mean"].as_f64().unwrap()).abs() < 1e-9);
    }
    let networks = bare["networks"].as_array().unwrap();
    assert!(networks.iter().all(|n| (5.0..=20.0).contains(&n["rate_mbps"].as_f64().unwrap())));
    let refused = folder.run(&score.replace("aimd", "bbr"));
    assert_fails(&refused, 2, &["bbr is designed for TCP", "tip: score all contenders over TCP"]);
    let tcp = folder.json(&score.replace("aimd", "bbr --host tcp"));
    assert_eq!(tcp["host"], "tcp");
    assert_ne!(tcp["contenders"][0]["trials"], bare["contenders"][0]["trials"]);
    // A model may name the host itself.
    folder.write("tcp.toml", format!("{MODEL}host = \"tcp\"\n"));
    let named = folder.json(&score.replace("model.toml", "tcp.toml"));
    assert_eq!(named["contenders"][0]["trials"], tcp["contenders"][0]["trials"]);
    let text = folder.text("score a.json --model model.toml --specimens 2");
    assert!(text.contains("host bare\n") && text.contains("in packets/ms and 100 ms\n"), "{text}");
    let heading = text.lines().find(|line| line.trim_start().starts_with("relative  ")).unwrap();
    let words: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(words, ["relative", "gap", "score", "share", "RTT"]);
}

#[test]
fn comparisons_are_over_tcp_with_one_buffer_by_default() {
    let folder = tables("alike");
    let words = "--cc a.json --link 100Mbps --rtt 20ms --senders 20 --duration 2s --json";
    let simulated = folder.json(&format!("simulate {words}"));
    let compared = folder.json(&format!("compare {words} --runs 1 -o out"));
    for result in [&simulated, &compared] {
        assert_eq!(result["host"], "tcp");
        assert_eq!(result["setup"]["buffer"], "1000 packets");
        assert_eq!(result["warnings"], Value::Array(Vec::new()), "nothing is known of this table");
    }
    let bare = folder.json(&format!("simulate {words} --host bare"));
    assert_eq!(
        (&bare["host"], &bare["runs"][0]["flows"][0]["host"]),
        (&"bare".into(), &"bare".into())
    );
    assert_ne!(bare["means"], simulated["means"]);
    let text = folder.text(&format!("{SIMULATE} --cc a.json"));
    let setup = "link 15 Mbps, rtt 150 ms, senders 1*, buffer 1000 packets*, queue drop-tail*, loss 0*, host \
                 tcp*,\ninitial-window 10*, handshake false*, persistent false*, on always*, duration 5 s, runs 1*, \
                 seed 1*\n(* default)\n";
    assert!(text.replace('\n', " ").contains(&setup.replace('\n', " ")), "{text}");
}

#[test]
fn a_table_out_of_its_design_range_causes_a_warning() {
    let folder = tables("ranges");
    folder.write("model.toml", MODEL);
    let words = "--cc coexist --link 100Mbps --rtt 150ms --duration 2s --buffer 2000_packets";
    let warning = "outside the design range of coexist: rate 100 Mbps (designed for 10..20 Mbps)";
    for words in [format!("simulate {words}"), format!("compare {words} --runs 1 -o out")] {
        let output = folder.run(&words);
        assert!(error_of(&output).contains(&format!("warning: {warning}\n")), "{words}");
        assert_eq!(folder.json(&format!("{words} --json"))["warnings"][0], warning);
    }
    let score = folder.json("score 1x --model model.toml --specimens 2 --json");
    let warning = score["warnings"][0].as_str().unwrap();
    assert!(warning.contains("rate 5..20 Mbps (designed for 15 Mbps)"), "{warning}");
    assert!(warning.contains("RTT 100 ms (designed for 150 ms)"), "{warning}");
    assert!(warning.contains("senders 1..4 (designed for 2)"), "{warning}");
}

#[test]
fn runs_are_the_same_on_any_number_of_threads() {
    let folder = tables("threads");
    let words = "--cc aimd --on exp_1s --off exp_1s --senders 2 --seed 5 --runs 4 --json";
    let result = |threads: u32| {
        let mut result = folder.json(&format!("{SIMULATE} {words} --threads {threads}"));
        result["command"].take();
        result
    };
    let several = result(3);
    assert_eq!(several, result(1));
    let seeds: Vec<u64> =
        several["runs"].as_array().unwrap().iter().map(|r| r["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [5, 6, 7, 8]);
    let tp = &several["means"]["tp"];
    let [low, mean, high] =
        [&tp["interval"][0], &tp["mean"], &tp["interval"][1]].map(|v| v.as_f64().unwrap());
    assert!(low < mean && mean < high, "{tp}");
    let single = folder.json(&format!(
        "{SIMULATE} --cc aimd --on exp_1s --off exp_1s --senders 2 --seed 6 --json"
    ));
    assert_eq!(single["runs"][0], several["runs"][1]);
}

#[test]
fn conversions_go_there_and_back() {
    let folder = tables("convert");
    let convert = |words: &str| {
        let output = folder.run(&format!("table convert {words}"));
        assert!(output.status.success(), "{words}: {}", error_of(&output));
        error_of(&output)
    };
    let read = |name: &str| fs::read(folder.path(name)).expect(name);
    convert("a.dna b.json");
    convert("b.json b.dna");
    assert_eq!(read("a.dna"), read("b.dna"));
    convert("a.json c.json");
    assert_eq!(read("a.json"), read("c.json"), "the provenance is kept");
    assert!(convert("a.json d.dna").contains("no room for where the table comes from"));
    assert!(folder.run("table diff d.dna a.json").status.success());
    let refused = folder.run("table convert a.json b.dna");
    assert_fails(&refused, 1, &["b.dna exists already", "--force"]);
    assert_eq!(read("a.dna"), read("b.dna"));
    convert("--force a.json b.dna");
}

#[test]
fn published_tables_convert_byte_for_byte() {
    let Some(source) = exm_testing::reference("remycc") else {
        return;
    };
    let entries = fs::read_dir(source).expect("a folder");
    let folder = Folder::new("published");
    for path in entries.map(|entry| entry.unwrap().path()) {
        let convert = |from: &Path, to: &str| {
            let output = folder.exm("table convert -f").arg(from).arg(to).output();
            assert!(output.unwrap().status.success(), "{}", from.display());
        };
        convert(&path, "there.json");
        convert(Path::new("there.json"), "back.dna");
        assert!(fs::read(&path).unwrap() == fs::read(folder.path("back.dna")).unwrap());
    }
}

#[test]
fn invalid_tables_are_rejected() {
    let folder = tables("bad");
    for command in ["table show", "table stats", "table diff a.json", "table convert"] {
        let out = if command == "table convert" { " out.json" } else { "" };
        let code = if command.starts_with("table diff") { 2 } else { 1 };
        let fails = |file: &str, parts: &[&str]| {
            assert_fails(&folder.run(&format!("{command} {file}{out}")), code, parts);
        };
        fails("cut.json", &["cut.json is not a table in JSON: line", "is the file complete?"]);
        fails("cut.dna", &["cut.dna is not a table in Remy's format: byte", "tip: "]);
        fails("garbage.dna", &["garbage.dna is not a table", "tip: "]);
        fails("impossible.json", &["impossible action", "intersend from 0"]);
        fails(".", &["cannot read .: Is a directory"]);
    }
    assert_fails(&folder.run("table convert a.json a.txt"), 1, &["a.txt", "end its name in .json"]);
    assert_fails(&folder.run("table convert a.json no/a.dna"), 1, &["cannot write no/a.dna"]);
    assert!(!files(&folder.0).iter().any(|name| name.contains("out") || name.contains("partial")));
}

#[test]
fn simulations_of_missing_inputs_are_rejected() {
    let folder = tables("refused");
    let scenario = "duration = \"5 s\"\n[dumbbell]\nrate = \"15 Mbps\"\nrtt = \"150 ms\"\n\
                    senders = 1\ncontroller = \"none.dna\"\ntraffic.on = \"always\"\n";
    folder.write("s.toml", scenario);
    folder.write("cut.toml", &scenario[..40]);
    folder.write("garbage.toml", b"\xff\xfe");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(words), code, parts);
    };
    fails("simulate none.toml", 2, &["none.toml: the scenario cannot be read: No such file"]);
    fails("simulate cut.toml", 2, &["cut.toml"]);
    fails("simulate garbage.toml", 2, &["garbage.toml: the scenario cannot be read"]);
    fails("simulate s.toml", 2, &["s.toml:6: cannot read none.dna: No such file"]);
    fails("simulate s.toml --back 1Mbps", 2, &["cannot be used with"]);
    fails("simulate s.toml --duration 0s", 2, &["give a duration between"]);
    fails("simulate", 2, &["--link <RATE>"]);
    fails("simulate s.toml --every 10ms", 2, &["--series <FOLDER>"]);
    let flags = |words: &str, parts: &[&str]| fails(&format!("{SIMULATE} {words}"), 2, parts);
    flags("--cc amid", &["'amid' for '--cc'", "did you mean \"aimd\"?"]);
    flags("--cc cut.dna", &["'cut.dna' for '--cc'", "not a table in Remy's format"]);
    flags("--cc aimd --on soon --off 1s", &["'soon' for '--on'", "\"soon\" is no distribution"]);
    flags("--cc aimd --on 5s", &["'5s' for '--on'", "give --off as well"]);
    flags("--cc aimd --off 5s", &["'5s' for '--off'", "always on"]);
    flags("--cc aimd --on 5s --off 1kB", &["'1kB' for '--off'", "is no time"]);
    flags("--cc aimd --buffer 5", &["'5' for '--buffer'", "is no buffer"]);
    flags("--cc aimd --buffer 10B", &["for '--buffer'", "holds no packet"]);
    flags("--cc aimd --loss 150%", &["'--loss <PROBABILITY>'", "is not a probability"]);
    flags("--cc aimd --senders 0", &["0 is not in 1..=100000"]);
    flags("--cc aimd,aimd --senders 1", &["2 controllers need as many senders"]);
    flags("--cc aimd --seed 18446744073709551615 --runs 2", &["'--seed'", "give a smaller one"]);
    flags("--cc aimd --every 0s --series x", &["'--every <DURATION>'", "is no pace"]);
    fails(
        "simulate --link 0bps --rtt 1ms --cc aimd",
        2,
        &["'0 bps' for '--link'", "carries nothing"],
    );
    fails("simulate --link fast --rtt 1ms --cc aimd", 2, &["'--link <RATE>'", "is not a rate"]);
    fails("simulate --link 1Mbps --rtt 90h --cc aimd --threads 0", 2, &["'--threads <N>'"]);
    assert!(!folder.path("x").exists());
}

#[test]
fn series_are_recorded_for_each_run() {
    let folder = tables("series");
    let words = format!("{SIMULATE} --cc a.dna --every 1s --series out --seed 3");
    assert!(folder.run(&format!("{words} --runs 2")).status.success());
    let out = folder.path("out");
    let four = ["seed-3.flows.csv", "seed-3.links.csv", "seed-4.flows.csv", "seed-4.links.csv"];
    assert_eq!(files(&out), four);
    let flows = fs::read_to_string(out.join(four[0])).unwrap();
    assert!(flows.starts_with("# command: exm simulate --link 15Mbps"), "{flows}");
    assert_eq!(flows.lines().count(), 3 + 1 + 5, "origin, names and a row each second");
    assert_fails(&folder.run(&words), 1, &["seed-3.flows.csv exists already", "--force"]);
    assert!(folder.run(&format!("{words} --force --format parquet")).status.success());
    assert_eq!(files(&out).len(), 6);
    folder.write("file", "");
    let output = folder.run(&format!("{SIMULATE} --cc aimd --series file"));
    assert_fails(&output, 1, &["cannot make the folder file for the series"]);
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let folder = tables("pipe");
    let mut child = folder
        .exm("completions bash")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(error, "");
    assert!(child.wait().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let folder = tables("full");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = folder.exm("table show a.dna").stdout(full).output().unwrap();
    assert_fails(&output, 1, &["cannot write the result to the standard output: No space left"]);
    // No series are left behind that cannot be written.
    let limited = format!(
        "ulimit -f 1; trap '' XFSZ; exec '{}' {SIMULATE} --cc aimd --every event --series out",
        env!("CARGO_BIN_EXE_exm")
    );
    let output = Command::new("sh").args(["-c", &limited]).current_dir(&folder.0).output().unwrap();
    assert_fails(&output, 1, &["cannot write the series out/seed-1.", "File too large"]);
    assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_half_written() {
    let folder = tables("interrupt");
    let words = "simulate --link 15Mbps --rtt 150ms --cc aimd --duration 100000s --series out";
    let mut child = folder.exm(words).spawn().unwrap();
    let out = folder.path("out");
    let is_begun = || fs::read_dir(&out).is_ok_and(|entries| entries.count() == 2);
    while !is_begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new("man");
    assert!(folder.run("man pages").status.success());
    for page in ["exm.1", "exm-simulate.1", "exm-table-diff.1"] {
        assert!(folder.path("pages").join(page).exists(), "{page}");
    }
    folder.write("file", "");
    assert_fails(&folder.run("man file"), 1, &["cannot write the manual pages into file"]);
    assert_fails(&folder.run("completions tcsh"), 2, &["'tcsh' for '<SHELL>'", "possible values"]);
}

/// A file called - is not created: the trace goes to standard output, and nothing else does.
#[test]
fn a_dash_is_the_standard_output() {
    let folder = Folder::new("dash");
    let words = "trace generate lte --for 2s --fine";
    let file = folder.text(&format!("{words} -o lte.trace"));
    assert!(file.starts_with("lte.trace: "), "{file}");
    let whole = std::fs::read_to_string(folder.path("lte.trace")).expect("it is there");
    let printed = folder.text(&format!("{words} -o -"));
    let times = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert!(times(&whole).len() > 10 && times(&whole) == times(&printed), "{printed}");
    assert_eq!(
        folder.text("trace convert lte.trace - --to fine").lines().count(),
        times(&whole).len()
    );
    let svg = folder.text("trace plot lte.trace -o -");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let table = folder.text("table convert 1x -");
    assert!(serde_json::from_str::<Value>(&table).is_ok_and(|table| !table["rules"].is_null()));
    folder.text("compare --cc cubic --link 5Mbps --rtt 50ms --duration 1s --runs 1 -o c");
    assert!(folder.text("report c -o -").trim_end().ends_with("</html>"));
    let words = "saturate record 127.0.0.1:9 --key-file key --device lo -o -";
    assert_fails(&folder.run(words), 2, &["'-' for '--out'", "three files"]);
    assert!(!folder.path("-").exists());
}

#[test]
fn a_table_is_drawn_with_the_rules_that_fired() {
    let folder = tables("plot");
    let words = "table plot general-delta1 --duration 10s";
    folder.text(&format!("{words} -o growth.svg"));
    let growth = fs::read_to_string(folder.path("growth.svg")).expect("a picture");
    assert!(growth.contains("rtt_ratio</text>") && growth.contains("ack_ewma, ms</text>"));
    let boxes: Vec<&str> = growth.split("<title>rule ").skip(1).collect();
    assert!(boxes.len() > 5, "{} boxes", boxes.len());
    // Each place belongs to one rule, so that no share of the ACKs is counted twice.
    let share = |text: &str| -> Option<f64> {
        text.split(" % of ACKs").next()?.rsplit(' ').next()?.parse().ok()
    };
    let total: f64 = boxes.iter().filter_map(|text| share(text)).sum();
    assert!(total > 5.0 && total < 101.0, "{total} % of the ACKs");
    assert!(growth.contains("<polyline"), "there is no trajectory");
    folder.text(&format!("{words} -o again.svg"));
    assert_eq!(growth, fs::read_to_string(folder.path("again.svg")).expect("a picture"));
    // An underscore in these words would be a space.
    let drawn = |words: &str, x: &str| {
        folder.exm(words).args(["--x", x]).output().expect("the program starts")
    };
    let paced = drawn(&format!("{words} --colour pace -o pace.svg"), "send_ewma");
    assert!(paced.status.success(), "{}", error_of(&paced));
    let pace = fs::read_to_string(folder.path("pace.svg")).expect("a picture");
    assert!(pace.contains("send_ewma, ms</text>") && pace.contains(">least time between"));
    let same = drawn(&format!("{words} -o none.svg"), "ack_ewma");
    assert_fails(&same, 2, &["'ack_ewma' for '--y'", "give another"]);
    let kept = folder.run(&format!("{words} -o growth.svg"));
    assert_fails(&kept, 1, &["growth.svg"]);
    assert_fails(&folder.run(&format!("{words} --x rtt -o none.svg")), 2, &["is not a signal"]);
}
