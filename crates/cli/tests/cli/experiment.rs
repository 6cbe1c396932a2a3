//! Experiments from outside: files in, tables, pictures and pages out.

use crate::browser::{browser, opened};
use crate::common::{Folder, assert_fails, error_of};
use std::fs;

const FILE: &str = r#"title = "Two schemes"
duration = "2 s"

[dumbbell]
rate = "5 Mbps"
rtt = "40 ms"
buffer = "50 packets"
senders = 2
controller = "scheme"
traffic = { on = "exp 100 kB", off = "exp 0.2 s" }

[experiment]
source = "a paper"
notes = "packets are longer"
runs = 3
reference = "Reno"

[[experiment.scheme]]
name = "Reno"
controller = "reno"

[[experiment.scheme]]
name = "Cubic"
controller = "cubic"
queue = "codel"
paper = { speedup = 1.5, delay_reduction = 2 }

[[experiment.variant]]
name = "one"
note = "as it was"

[[experiment.scheme]]
name = "absent"
controller = "absent.dna"
optional_file = true
"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(&format!("experiment-{name}"));
    folder.write("two.toml", FILE);
    folder
}

#[test]
fn an_experiment_leaves_tables_and_pictures() {
    let folder = folder("run");
    let text = folder.text("experiment run two.toml");
    for part in [
        "Two schemes (a paper)\n3 runs of 2 s, seed 1, host tcp.",
        "Reno over each other scheme",
        "note: packets are longer\n",
        "note: one: as it was\n",
        "absent was left out: the table absent.dna is not there",
        "picture: results/two/figure.svg, .png, .pdf",
    ] {
        assert!(text.contains(part), "\"{part}\" is not in {text}");
    }
    let cubic = text.lines().rfind(|line| line.starts_with("Cubic")).expect("is compared");
    assert!(cubic.contains(" 1.50 ") && cubic.contains(" 2.00 "), "{cubic}");
    assert_eq!(folder.text("experiment show results/two"), text);
    let json = folder.json("experiment show results/two --json")["results"].take();
    assert_eq!(json["command"], "exm experiment run two.toml");
    assert_eq!(json["comparisons"][0]["speedup"]["paper"], 1.5);
    let csv = fs::read_to_string(folder.path("results/two/results.csv")).expect("is written");
    assert!(csv.starts_with("# command: exm experiment run two.toml\n# configuration: "), "{csv}");
    assert_eq!(csv.lines().count(), 5 + 2 * 3 * 2, "origin, names and a row for each flow and run");
    let others =
        ["links.csv", "results.parquet", "links.parquet", "runs.jsonl", "figure.svg", "figure.png"];
    for name in others {
        assert!(folder.path("results/two").join(name).exists(), "{name}");
    }
}

#[test]
fn the_same_command_goes_on_and_gives_the_same() {
    let folder = folder("resume");
    let run = |words: &str| folder.text(&format!("experiment run two.toml {words}"));
    let first = run("--out a --threads 1");
    let second = run("--out b --threads 3");
    assert_eq!(first.replace("a/figure", "b/figure").replace(": a\n", ": b\n"), second);
    let read = |out: &str, name: &str| fs::read(folder.path(out).join(name)).expect("is written");
    let files = [
        "results.csv",
        "links.csv",
        "results.parquet",
        "links.parquet",
        "results.json",
        "runs.jsonl",
        "figure.svg",
        "figure.png",
    ];
    for name in files {
        assert!(read("a", name) == read("b", name), "{name} differs");
    }
    // As a kill leaves it: some runs, the last one in half.
    let runs = read("a", "runs.jsonl");
    fs::remove_dir_all(folder.path("b")).expect("is there");
    fs::create_dir(folder.path("b")).expect("can be made");
    folder.write("b/runs.jsonl", &runs[..runs.len() / 2]);
    let output = folder.run("experiment run two.toml --out b");
    assert!(error_of(&output).contains("note: going on after "), "{}", error_of(&output));
    for name in files {
        assert!(read("a", name) == read("b", name), "{name} differs");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_finished() {
    let folder = folder("interrupt");
    let words = "experiment run two.toml --runs 100000 --duration 20s --threads 1";
    let mut child = folder.exm(words).spawn().expect("it starts");
    let runs = folder.path("results/two/runs.jsonl");
    while fs::read_to_string(&runs).map_or(0, |text| text.lines().count()) < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!folder.path("results/two/results.json").exists());
    let output = folder.run("experiment run two.toml --runs 1 --duration 20s");
    assert!(output.status.success(), "{}", error_of(&output));
}

#[test]
fn what_is_wrong_is_told_once_with_the_way_out() {
    let folder = folder("wrong");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(words), code, parts);
    };
    folder.write("key.toml", FILE.replace("senders = 2", "sender = 2"));
    folder.write("zero.toml", FILE.replace("senders = 2", "senders = 0"));
    folder.write("unit.toml", FILE.replace("5 Mbps", "5 furlongs"));
    folder.write("trace.toml", FILE.replace("rate = \"5 Mbps\"", "trace = \"empty.trace\""));
    folder.write("small.toml", FILE.replace("50 packets", "10 B"));
    folder.write("empty.trace", "# nothing\n");
    fails("experiment run key.toml", 2, &["key.toml:8:", "did you mean \"senders\"?"]);
    fails("experiment run zero.toml", 2, &["zero.toml:8:", "0 senders cannot be simulated"]);
    fails("experiment run unit.toml", 2, &["unit.toml:5:", "is not a rate"]);
    fails("experiment run trace.toml", 2, &["trace.toml:5:", "empty.trace"]);
    fails("experiment run small.toml", 2, &["small.toml", "holds no packet"]);
    fails("experiment run none.toml", 2, &["none.toml: the experiment cannot be read"]);
    fails("experiment run thesis-3-44", 2, &["did you mean \"thesis-3-4\"?", "experiment list"]);
    fails("experiment run two.toml --only Ren", 2, &["'Ren' for '--only'", "\"Reno\""]);
    fails("experiment run two.toml --trace empty.trace", 2, &["no link with a trace"]);
    fails("experiment run two.toml --trace no.trace", 2, &["cannot read the trace no.trace"]);
    let short = ["'60 s' for '--duration'", "within the experiment's warm-up of 60 s"];
    fails("experiment run thesis-2-9 --duration 60s", 2, &short);
    fails("experiment run a b --out x", 2, &["'x' for '--out'", "one folder cannot hold"]);
    fails("experiment run", 2, &["<EXPERIMENT>"]);
    fails("experiment show none", 2, &["cannot read none/results.json", "tip: give a folder"]);
    fails("report none", 2, &["cannot read none/results.json", "tip: give folders"]);
    fails("report none -o page.pdf", 2, &["'page.pdf' for '--out'", "end its name in .html"]);
}

#[test]
fn results_of_another_version_or_setting_are_refused() {
    let folder = folder("stale");
    folder.text("experiment run two.toml --runs 1");
    let other = folder.run("experiment run two.toml --runs 1 --seed 2");
    assert_fails(&other, 1, &["another scenario, seed or duration", "tip: ", "--force", "--out"]);
    assert!(folder.run("experiment run two.toml --runs 1 --seed 2 --force").status.success());
    let results = folder.path("results/two/results.json");
    let text = fs::read_to_string(&results).expect("is written");
    fs::write(&results, text.replacen("\"version\": 1", "\"version\": 0", 1)).expect("can write");
    let output = folder.run("experiment show results/two");
    assert_fails(&output, 1, &["holds results in format 0 of exm "]);
}

#[test]
fn schemes_are_compared_by_options() {
    let folder = folder("compare");
    let network = "--link 5Mbps --rtt 40ms --senders 2 --duration 2s --runs 2";
    let traffic = "--on exp_100_kB --off exp_0.2_s";
    let words =
        format!("compare --cc reno,reno/codel {network} {traffic} --reference reno -o mine");
    let text = folder.text(&words);
    for part in ["5 Mbps, 40 ms, 2 senders\n2 runs of 2 s", "\nreno/codel ", "mine/figure.svg"] {
        assert!(text.contains(part), "\"{part}\" is not in {text}");
    }
    // The same comparison reuses its runs, and another network needs a folder of its own or --force.
    assert_eq!(folder.text(&words), text);
    let other = format!("{words} --initial-window 3 --handshake --persistent --json");
    let stored = fs::read(folder.path("mine/results.csv")).expect("is written");
    assert_fails(&folder.run(&other), 1, &["another scenario, seed or duration", "--force"]);
    assert_eq!(fs::read(folder.path("mine/results.csv")).expect("is there"), stored);
    let json = folder.json(&format!("{other} --force"))["results"].take();
    let command = json["command"].as_str().expect("text");
    assert!(command.contains(" --initial-window 3 --handshake --persistent "), "{command}");
    let fails = |words: &str, parts: &[&str]| {
        assert_fails(&folder.run(&format!("compare {network} {words}")), 2, parts);
    };
    fails("--cc renu", &["'renu' for '--cc'", "did you mean \"reno\"?"]);
    fails("--cc reno --queue codl", &["'codl' for '--queue <QUEUE>'", "did you mean \"codel\"?"]);
    fails("--cc reno,reno", &["two schemes \"reno\""]);
    fails("--cc reno --on 5s", &["'5s' for '--on'", "give --off as well"]);
    fails("--cc reno --buffer 5", &["'5' for '--buffer'", "is no buffer"]);
    fails("--cc reno --trace lte-like", &["cannot be used with"]);
}

/// What a run warns of, all that shows its results warns of again.
#[test]
fn warnings_stay_with_results() {
    let folder = Folder::new("warnings");
    let words =
        "compare --cc 1x,cubic --link 15Mbps --rtt 150ms --senders 8 --duration 2s --runs 1 -o c";
    let warning = "outside the design range of 1x: senders 8 (designed for 2)";
    for words in [words, "experiment show c", "report c -o page.html", "report c -o page.md"] {
        let output = folder.run(words);
        assert!(output.status.success(), "{}", error_of(&output));
        assert!(error_of(&output).contains(warning), "{words}: {}", error_of(&output));
    }
    assert_eq!(folder.json("experiment show c --json")["warnings"][0], warning);
    for page in ["page.html", "page.md"] {
        let text = fs::read_to_string(folder.path(page)).expect("is written");
        assert!(text.contains(&format!("Warning: {warning}.")), "{text}");
    }
    folder.text("compare --cc cubic --link 15Mbps --rtt 150ms --duration 2s --runs 1 -o d");
    assert_eq!(error_of(&folder.run("experiment show d")), "");
}

#[test]
fn cellular_links_are_synthetic_unless_traces_are_given() {
    let folder = folder("cellular");
    let quick = "--quick --duration 62s --only Sprout --json";
    let json = folder.json(&format!("experiment run thesis-2-9 {quick}"))["results"].take();
    assert_eq!(json["variants"].as_array().map(Vec::len), Some(8));
    let used = |json: &serde_json::Value, case: usize| {
        json["cases"][case]["own"]["values"]["capacity_used"].as_f64().expect("is shown")
    };
    assert!((1.0..100.1).contains(&used(&json, 0)), "{}", used(&json, 0));
    let line = |every: u32| (1..=1000).map(|n| format!("{}\n", n * every)).collect::<String>();
    fs::create_dir_all(folder.path("mine")).expect("can make a folder");
    folder.write("mine/train.down", line(3));
    folder.write("mine/train.up", line(7));
    let json =
        folder.json(&format!("experiment run thesis-2-10 {quick} --traces mine"))["results"].take();
    let names: Vec<&str> =
        json["variants"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, ["mean over all links", "train down", "train up"]);
    let mean = (used(&json, 1) + used(&json, 2)) / 2.0;
    assert!((used(&json, 0) - mean).abs() < 1e-9);
    // Beside the results on other links, and so are their pictures on a page.
    assert!(folder.path("results/thesis-2-10-mine/figure.svg").exists());
    assert!(folder.run("report results/thesis-2-10-mine -o page.md").status.success());
    assert!(folder.path("page/thesis-2-10-mine-figure.svg").exists());
    let error = error_of(&folder.run("experiment run thesis-3-4 --traces mine"));
    assert!(error.contains("a flow whose path and whose way back"), "{error}");
}

#[test]
fn schemes_are_compared_over_a_way_back() {
    let folder = folder("back");
    let options = "--rtt 40ms --runs 1 --duration 5s --warm-up 1s --json";
    let json = folder
        .json(&format!("compare --cc sprout,cubic/codel --trace lte --back lte,_seed_2 {options}"))
        ["results"]
        .take();
    assert_eq!(
        (json["axes"][0].as_str(), json["axes"][1].as_str()),
        (Some("self_inflicted"), Some("goodput"))
    );
    let values = &json["cases"][0]["own"]["values"];
    assert!(values["goodput"].as_f64() > Some(0.1), "{values}");
    let json = folder
        .json(&format!("compare --cc vegas --link 8Mbps --back 1Mbps {options} -o rate"))["results"]
        .take();
    assert_eq!(json["axes"][0].as_str(), Some("delay_95"));
    let output = folder.run("compare --cc vegas --link 8Mbps --back 1Mpbs --rtt 40ms");
    assert!(error_of(&output).contains("'1Mpbs' for '--back'"), "{}", error_of(&output));
}

/// The bytes of base64 text.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0, 0);
    for letter in text.trim_end_matches('=').chars() {
        bits = bits << 6 | LETTERS.find(letter).expect("is base64");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 255) as u8);
        }
    }
    bytes
}

#[test]
fn a_report_is_one_page() {
    let folder = folder("report");
    folder.text("experiment run two.toml --runs 2");
    assert!(folder.run("report results/two -o page.html").status.success());
    let html = fs::read_to_string(folder.path("page.html")).expect("is written");
    for part in [
        "<!DOCTYPE html>",
        "<svg",
        "exm experiment run two.toml --runs 2",
        "a paper",
        "<p>packets are longer</p>",
        "<p>one: as it was</p>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // What it offers for download is what lies in the folder, byte for byte.
    for (file, own) in [
        ("two-figure.csv", "figure.csv"),
        ("two-figure.svg", "figure.svg"),
        ("two.toml", "experiment.toml"),
    ] {
        let link = html.split(&format!("<a download=\"{file}\" href=\"data:")).nth(1);
        let link = link.and_then(|rest| rest.split('"').next()).expect("a link");
        let (_, data) = link.split_once(";base64,").expect("is base64");
        let stored = fs::read(folder.path(&format!("results/two/{own}"))).expect("is stored");
        assert_eq!(decoded(data), stored, "{file}");
    }
    assert_eq!(
        fs::read(folder.path("two.toml")).ok(),
        fs::read(folder.path("results/two/experiment.toml")).ok()
    );
    for part in [
        "<p class=\"finding\">",
        "page written by",
        "@software{exmachina,",
        "<div class=\"narrow\">",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // An unfinished folder is left out with a note; every other problem is an error.
    fs::create_dir(folder.path("results/going")).expect("can be made");
    folder.write("results/going/runs.jsonl", b"");
    let output = folder.run("report results/going results/two -o page.html --force");
    assert!(output.status.success(), "{}", error_of(&output));
    let error = error_of(&output);
    assert!(error.contains("note: left out: results/going is unfinished"), "{error}");
    assert_eq!(fs::read_to_string(folder.path("page.html")).expect("is written"), html);
    let alone = folder.run("report results/going -o none.html");
    assert!(!alone.status.success() && !folder.path("none.html").exists());
    assert!(!folder.run("report results/two results/nothing -o none.html").status.success());
    assert!(folder.run("report results/two -o results.md").status.success());
    let text = fs::read_to_string(folder.path("results.md")).expect("is written");
    assert!(text.contains("](results/two-figure.svg)"), "{text}");
    assert!(folder.path("results/two-figure.svg").exists());
    assert!(text.contains("| Cubic |") && text.contains("was left out"), "{text}");
    assert!(text.contains("\npackets are longer\n\none: as it was\n"), "{text}");
}

#[test]
fn a_report_opens_in_a_browser() {
    let folder = folder("browser");
    let quick = "--quick --duration 2s --only";
    folder.text(&format!("experiment run thesis-3-4 {quick} Cubic,Vegas"));
    folder.text(&format!("experiment run incast {quick} NewReno_(timer_200_ms)"));
    assert!(folder.run("report results/thesis-3-4 results/incast -o page.html").status.success());
    let Some(browser) = browser() else {
        exm_testing::skip("no Chromium or Chrome to open a report in");
        return;
    };
    let Some((document, errors)) = opened(&browser, &folder.path("page.html"), &folder.0) else {
        exm_testing::skip(format!("{} does not run", browser.display()));
        return;
    };
    assert!(errors.is_empty(), "the browser complains: {errors:?}");
    let count = |text: &str, needle: &str| text.matches(needle).count();
    let [_, first, second, citation] = document.split("<section").collect::<Vec<_>>()[..] else {
        panic!("{document}")
    };
    // A picture and a table for each of the three starts of connections, then for the one.
    assert_eq!((count(first, "<figure>"), count(second, "<figure>")), (3, 1));
    for figure in document.split("<figure>").skip(1) {
        let figure = figure.split("</figure>").next().unwrap_or_default();
        assert_eq!((count(figure, "width=\"760\""), count(figure, "width=\"360\"")), (2, 2));
        assert_eq!(count(figure, "<a download="), 3);
    }
    assert!(citation.contains("@software{exmachina,"), "{citation}");
    for scheme in ["Cubic", "Vegas"] {
        assert_eq!(count(first, &format!("<th scope=\"row\">{scheme}</th>")), 3, "{first}");
    }
    assert_eq!(count(second, "<tbody>"), 1);
    assert_eq!(count(second, "<th scope=\"row\">NewReno (timer 200 ms)</th>"), 1, "{second}");
    assert!(first.contains("<p>The papers ran ns-2, in which one connection carries"));
    // The page's own script has run to its end: marks have names instead of titles.
    assert!(document.contains("aria-label=\"Cubic") && document.contains("<div id=\"tip\""));
}

#[test]
fn what_several_experiments_took_is_told_at_the_end() {
    let folder = folder("several");
    folder.write("other.toml", FILE);
    let output = folder.run("experiment run two.toml other.toml --runs 1");
    let error = error_of(&output);
    let lines: Vec<&str> = error.lines().rev().take(4).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["all", "other.toml", "two.toml", "experiment"], "{error}");
    assert!(lines[..3].iter().all(|line| line.ends_with(" s")), "{error}");
    let one = folder.run("experiment run two.toml --runs 1");
    assert!(!error_of(&one).contains("processor time"));
}

#[test]
fn shipped_experiments_are_listed_and_run() {
    let folder = folder("list");
    let list = folder.json("experiment list --json")["experiments"].take();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    for name in [
        "thesis-2-9",
        "thesis-3-4",
        "thesis-3-10",
        "datacenter",
        "competing-compound",
        "sigcomm-11",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(folder.text("experiment list").contains("thesis-3-4"));
    let quick = "--quick --duration 1s --json";
    let json = folder.json(&format!("experiment run thesis-3-7 {quick}"))["results"].take();
    assert_eq!(
        (json["runs"].as_u64(), json["references"][0].as_str()),
        (Some(4), Some("RemyCC delta=0.1"))
    );
}

/// The evidence of a study: a table that another beats on its own model was not designed well enough to be compared.
#[test]
fn no_shipped_design_is_beaten_on_its_own_model() {
    let folder = Folder::new("cross");
    for study in ["thesis-4-1", "price-of-tcp"] {
        let crossed = folder.json(&format!("experiment cross {study} --specimens 32 --json"));
        let models = crossed["models"].as_array().unwrap();
        let mut tables = models.iter().flat_map(|on| on["tables"].as_array().unwrap());
        assert!(tables.all(|table| table["designs"] == 5), "{crossed}");
        assert_eq!(crossed["beaten"], serde_json::json!([]), "{study}");
    }
}

#[test]
fn the_tables_of_an_experiment_are_designed_again() {
    let folder = Folder::new("again");
    let words = "experiment design sigcomm-14-9a --out again --cpu 200ms --quiet --threads 1";
    let result = folder.json(&format!("{words} --json"));
    // Two of its four tables are designed together.
    assert_eq!(result["designs"].as_array().unwrap().len(), 3, "{result}");
    folder.text("experiment run again/sigcomm-14-9a.toml --runs 1 --duration 5s --out results");
    // It goes on, and has nothing left to do.
    let again = folder.json(&format!("{words} --json"));
    assert_eq!(again["designs"][0]["steps"], result["designs"][0]["steps"]);
    // Several seeds: schemes are measured by all of their designs.
    let words = "experiment design thesis-4-1 --out seeds --seeds 3 --steps 1 --quiet --json";
    let result = folder.json(words);
    let designs = result["designs"].as_array().unwrap();
    assert_eq!((designs.len(), designs[2]["seed"].as_u64()), (12, Some(3)), "{result}");
    assert_eq!(designs.iter().filter(|one| one["is_best"] == true).count(), 4);
    let run = "experiment run seeds/thesis-4-1.toml --runs 2 --duration 1s --json --out of-seeds";
    let results = folder.json(run)["results"].take();
    // After the omniscient senders.
    let scheme = &results["cases"][1]["own"];
    let of_designs = scheme["designs"].as_array().unwrap();
    let value = |of: &serde_json::Value| of["values"]["objective"].as_f64().unwrap();
    let mean = of_designs.iter().map(value).sum::<f64>() / 3.0;
    assert!((value(scheme) - mean).abs() < 1e-9, "{scheme}");
    assert_eq!(of_designs[1]["table"], "learn-2x.seed2.json");
    assert_eq!(results["schemes"][1]["designs"].as_array().unwrap().len(), 3);
    let crossed = folder.json("experiment cross seeds/thesis-4-1.toml --specimens 8 --json");
    let models = crossed["models"].as_array().unwrap();
    assert_eq!((models.len(), models[0]["own"].as_str()), (4, Some("learn-2x")), "{crossed}");
    for on in models {
        let tables = on["tables"].as_array().unwrap();
        let own = |table: &&serde_json::Value| table["difference"].is_null();
        assert_eq!((tables.len(), tables.iter().filter(own).count()), (4, 1), "{on}");
        assert!(tables.iter().all(|table| table["designs"] == 3), "{on}");
    }
    // The same steps make the same rules again.
    folder.json("experiment design seeds/thesis-4-1.toml --out same --quiet --json");
    for seed in 1..=3 {
        let rules = |folder_name: &str| {
            let name = format!("{folder_name}/learn-10x.seed{seed}.json");
            let text = std::fs::read_to_string(folder.path(&name)).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["rules"].take()
        };
        assert!(rules("seeds") == rules("same") && !rules("same").is_null());
    }
    let none = folder.run("experiment design thesis-2-11 --out none");
    assert_fails(&none, 2, &["thesis-2-11 runs no table that records its model"]);
}

#[test]
fn results_are_of_the_flows_that_are_asked_for() {
    let folder = Folder::new("flows");
    let text = "duration = \"5 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbps\"\nbuffer = \"5 BDP\"\n\
                [[flow]]\nname = \"near\"\nrtt = \"20 ms\"\ncontroller = \"scheme\"\n\
                traffic.on = \"always\"\n[[flow]]\nname = \"far\"\nrtt = \"90 ms\"\ncontroller = \"scheme\"\ntraffic.on = \"always\"\n\
                [experiment]\nruns = 1\nflow = \"far\"\ncolumns = [\"rtt\"]\n\
                [[experiment.scheme]]\nname = \"Vegas\"\ncontroller = \"vegas\"\n";
    folder.write("two.toml", text);
    let results = folder.text("experiment run two.toml --out results");
    assert!(results.contains("far") && !results.contains("near"), "{results}");
    folder.write("three.toml", text.replace("flow = \"far\"", "flow = [\"far\", \"nearr\"]"));
    let unknown = folder.run("experiment run three.toml --out other");
    assert_fails(
        &unknown,
        2,
        &["three.toml:18", "there are no flows \"nearr\"", "did you mean \"near\""],
    );
}

/// A recording without its opposite direction is its own way back, with a warning; figures beside the recordings are shown
/// beside ours, and a mistake in them has its line.
#[test]
fn recordings_may_be_single_and_have_figures() {
    let folder = folder("recordings");
    let trace: String = (0..4000).map(|ms| format!("{}\n", ms * 2)).collect();
    fs::create_dir_all(folder.path("recordings")).expect("can make a folder");
    folder.write("recordings/a.down", &trace);
    let figure = "[[figure]]\nvariant = \"a down\"\nscheme = \"both ways\"\nreceived = 3.0\n";
    folder.write("recordings/reference.toml", figure);
    let words = "experiment run sprout-links --traces recordings --runs 1 --duration 62s --out out";
    let output = folder.run(&format!("{words} --only both_ways"));
    let (text, warnings) = (output.stdout.clone(), output.stderr.clone());
    let text = String::from_utf8(text).expect("text") + &String::from_utf8(warnings).expect("text");
    for part in [
        "The numbers given with the traces beside ours",
        "a down",
        "a.up is not there: the way back of a.down",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    folder.write("recordings/reference.toml", figure.replace("received", "recieved"));
    let error = error_of(&folder.run(words));
    assert!(
        error.contains("recordings/reference.toml:4: there is no metric \"recieved\""),
        "{error}"
    );
}
