//! Every command reports missing inputs in the same way, with the same exit code.

use crate::common::{Folder, assert_fails};

const MODEL: &str = "[network]\nrate = \"5 Mbps\"\nrtt = \"100 ms\"\nsenders = 2\n\
                     [traffic]\non = \"exp 1 s\"\noff = \"exp 1 s\"\n[objective]\n";

/// A scenario with these keys in place of the usual ones of the link and of the flow.
fn scenario(link: &str, controller: &str) -> String {
    format!(
        "duration = \"1 s\"\n[[link]]\nname = \"a\"\n{link}\n[[flow]]\nrtt = \"10 ms\"\n\
         controller = \"{controller}\"\ntraffic.on = \"always\"\n"
    )
}

/// Checks each command line against a part of its error. An underscore is a space within a word.
fn check(folder: &Folder, cases: &[(&str, &str)]) {
    for (words, part) in cases {
        assert_fails(&folder.run(words), 2, &[part]);
    }
}

const LINK: &str = "--link 5Mbps --rtt 10ms --duration 1s";

#[test]
fn unknown_names_end_every_command_alike() {
    let folder = Folder::new("unknown-names");
    folder.write("model.toml", MODEL);
    folder.write("queue.toml", scenario("rate = \"5 Mbps\"\nqueue = \"codl\"", "cubic"));
    folder.write("controller.toml", scenario("rate = \"5 Mbps\"", "cubci"));
    folder.write("scheme.toml", scenario("rate = \"5 Mbps\"", "cubic/codl"));
    folder.write("unit.toml", scenario("rate = \"5 Mbs\"", "cubic"));
    let experiment = scenario("rate = \"5 Mbps\"", "scheme")
        + "[experiment]\n[[experiment.scheme]]\nname = \"a\"\ncontroller = \"cubci\"\n";
    folder.write("experiment.toml", experiment);
    let queue = "there is no queue discipline \"codl\": did you mean \"";
    let controller = "there is no controller \"cubci\": did you mean \"cubic\"?";
    let simulate = format!("simulate {LINK}");
    let compare = format!("compare {LINK} --runs 1");
    check(
        &folder,
        &[
            (&format!("{simulate} --cc cubci"), controller),
            (&format!("{simulate} --cc cubic/codl"), &format!("{queue}cubic/codel\"?")),
            (&format!("{simulate} --cc cubic --queue codl"), &format!("{queue}codel\"?")),
            (&format!("{simulate} --cc 2x"), "there is no controller \"2x\": did you mean \"1x\"?"),
            (&format!("{compare} --cc cubci"), controller),
            (&format!("{compare} --cc cubic/codl"), &format!("{queue}cubic/codel\"?")),
            (&format!("{compare} --cc cubci/codel"), controller),
            (&format!("{compare} --cc cubic --queue codl"), &format!("{queue}codel\"?")),
            (&format!("{compare} --cc cubic --reference reno"), "there is no scheme \"reno\""),
            ("simulate queue.toml", queue),
            (
                &format!("{simulate} --cc cubic --queue codel_targt=1ms"),
                "no parameter \"targt\": it has",
            ),
            (
                &format!("{compare} --cc cubic/codel_targt=1ms"),
                "no parameter \"targt\": it has target",
            ),
            ("simulate controller.toml", controller),
            ("simulate scheme.toml", &format!("{queue}cubic/codel\"?")),
            ("simulate unit.toml", "\"5 Mbs\" is not a rate"),
            ("simulate --trace ltte --rtt 10ms --cc cubic", "cannot read the trace ltte"),
            ("score cubci --model model.toml", controller),
            ("score cubic/codl --model model.toml", &format!("{queue}cubic/codel\"?")),
            ("table show coexits", "there is no table \"coexits\": did you mean \"coexist\"?"),
            ("table stats coexits", "there is no table \"coexits\""),
            ("table diff coexist coexits", "there is no table \"coexits\""),
            ("table convert coexits a.json", "there is no table \"coexits\""),
            ("design model.toml -o a.json --start coexits", "there is no table \"coexits\""),
            ("design demmo -o a.json", "there is no model \"demmo\": did you mean \"demo\"?"),
            ("score aimd --model 2x", "there is no model \"2x\": did you mean \"1x\"?"),
            ("simulate dumbel", "there is no scenario \"dumbel\": did you mean \"dumbbell\"?"),
            ("experiment run thesis-3-44", "there is no experiment \"thesis-3-44\": did you mean"),
            ("experiment run experiment.toml", controller),
            ("experiment run thesis-3-4 --only cubci", "for '--only': there is no such scheme"),
            ("trace generate ltte -o a.trace", "there is no link \"ltte\": did you mean \"lte\"?"),
            ("completions bsh", "invalid value 'bsh'"),
            ("tabel", "unrecognized subcommand 'tabel'"),
            ("table list --jsn", "unexpected argument '--jsn'"),
        ],
    );
}

#[test]
fn missing_files_end_every_command_alike() {
    let folder = Folder::new("missing-files");
    folder.write("model.toml", MODEL);
    folder.write("table.toml", scenario("rate = \"5 Mbps\"", "no.dna"));
    folder.write("trace.toml", scenario("trace = \"no.trace\"", "cubic"));
    let no_file = "No such file";
    check(
        &folder,
        &[
            ("simulate no.toml", no_file),
            ("simulate table.toml", "cannot read no.dna"),
            ("simulate trace.toml", "cannot read the trace no.trace"),
            ("simulate --trace no.trace --rtt 10ms --cc cubic", no_file),
            (&format!("simulate {LINK} --cc no.dna"), no_file),
            (&format!("compare {LINK} --cc no.dna"), no_file),
            ("score aimd --model no.toml", no_file),
            ("score no.dna --model model.toml", no_file),
            ("design no.toml -o a.json", no_file),
            ("design model.toml -o a.json --start no.dna", no_file),
            ("design model.toml -o a.json --resume", "there is no checkpoint"),
            ("table show no.dna", no_file),
            ("table stats no/a.json", no_file),
            ("table diff no.dna coexist", no_file),
            ("table convert no.dna a.json", no_file),
            ("experiment run no.toml", no_file),
            ("experiment run thesis-2-1 --trace no.trace", no_file),
            ("experiment run thesis-2-10 --traces no", no_file),
            ("experiment show no", no_file),
            ("report no", no_file),
            ("trace info no.trace", no_file),
            ("trace plot no.trace -o a.svg", no_file),
            ("trace convert no.trace a.csv --to rates", no_file),
            ("trace convert no.pcap a.trace", no_file),
            ("trace generate no.toml -o a.trace", no_file),
        ],
    );
}

/// Wherever a quantity is misspelt, its units are listed.
#[test]
fn units_stand_in_the_error_of_a_unit() {
    let folder = Folder::new("units");
    folder.write("model.toml", MODEL.replace("5 Mbps", "5 Mbs"));
    folder.write("rate.toml", scenario("rate = \"5 Mbs\"", "cubic"));
    folder.write("buffer.toml", scenario("rate = \"5 Mbps\"\nbuffer = \"5 BPD\"", "cubic"));
    folder.write("queue.toml", scenario("rate = \"5 Mbps\"\nqueue = \"pie target=5\"", "cubic"));
    let rates = "bps, kbps, Mbps, Gbps, bit/s, kbit/s, Mbit/s, Gbit/s, packets/s, packets/ms";
    let times = "ns, us, µs, ms, s, sec, min, h";
    let sizes = "packet, packets, pkt, B, byte, bytes, kB, KB, MB, GB, KiB, MiB, GiB, BDP";
    let simulate = "simulate --cc cubic --rtt 10ms --link 5Mbps";
    check(
        &folder,
        &[
            ("simulate --cc cubic --rtt 10ms --link 15Mbs", rates),
            ("simulate --cc cubic --rtt 10 --link 15Mbps", times),
            (&format!("{simulate} --duration 5sek"), times),
            (&format!("{simulate} --buffer 5BPD"), sizes),
            (&format!("{simulate} --on 5sek --off 5s"), times),
            (&format!("{simulate} --on 5s --off 5kB"), times),
            (&format!("{simulate} --every 5 --series x"), times),
            (&format!("{simulate} --queue codel_target=5"), times),
            ("compare --cc cubic --rtt 10ms --link 15Mbs", rates),
            ("compare --cc cubic --rtt 10ms --link 15Mbps --back 15Mbs", rates),
            ("design model.toml -o a.json", rates),
            ("design model.toml -o a.json --cpu 5", times),
            ("simulate rate.toml", rates),
            ("simulate buffer.toml", sizes),
            ("simulate queue.toml", times),
            ("trace generate lte --duration 5 -o a.trace", times),
            ("experiment run thesis-3-4 --duration 5", times),
        ],
    );
    #[cfg(target_os = "linux")]
    if exm_testing::can_make_networks(&[]) {
        let link = "cellsim --up 1Mbps --down";
        check(
            &folder,
            &[
                (&format!("{link} 15Mbs -- true"), rates),
                (&format!("{link} 15Mbps --delay 5 -- true"), times),
                (&format!("{link} 15Mbps --buffer 5BPD -- true"), sizes),
                ("sprout bench --here --rate 5Mbs", rates),
            ],
        );
    }
}

/// What is there and cannot be used is a failure, not a missing thing.
#[test]
fn what_is_damaged_is_a_failure() {
    let folder = Folder::new("damaged");
    for name in ["a.json", "a.dna", "a.trace"] {
        folder.write(name, "garbage");
    }
    for (words, part) in [
        ("table show a.json", "is not a table in JSON"),
        ("table stats a.dna", "is not a table in Remy's format"),
        ("trace info a.trace", "is not a time in milliseconds"),
        ("table show .", "cannot read .: Is a directory"),
    ] {
        assert_fails(&folder.run(words), 1, &[part]);
    }
}

/// Where commands use the network, too.
#[cfg(target_os = "linux")]
#[test]
fn commands_on_the_network_tell_it_alike() {
    let folder = Folder::new("missing-network");
    let link = "cellsim --up 1Mbps --down 1Mbps";
    for server in ["sprout serve", "tunnel serve", "saturate serve"] {
        let missing = folder.run(&format!("{server} --key-file no"));
        assert_fails(&missing, 2, &["cannot read the key from no", "No such file"]);
    }
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    check(
        &folder,
        &[
            ("cellsim --up no.trace --down 1Mbps -- true", "No such file"),
            ("cellsim --up 1Mbps --down ltte -- true", "cannot read the trace ltte"),
            (&format!("{link} --delay no.delays -- true"), "there is no such file"),
            (&format!("{link} --queue codl -- true"), "did you mean \"codel\"?"),
            (
                &format!("{link} --queue pie,codel_targt=1ms -- true"),
                "no parameter \"targt\": it has",
            ),
            (&format!("{link} --bridge lo no-such-device"), "there is no network device"),
        ],
    );
}

/// The README lists the codes by the words that the help begins with.
#[test]
fn exit_codes_are_documented() {
    let folder = Folder::new("exit-codes");
    let mut command = folder.exm("--help");
    let help = command.env("COLUMNS", "100").output().expect("the program starts");
    let help = String::from_utf8(help.stdout).expect("text");
    let table = help.split("Exit codes:\n").nth(1).expect("it has the table");
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("it is there");
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with(' ')).collect();
    assert!(rows.len() >= 4, "{table}");
    for (code, meaning) in rows.iter().filter_map(|row| row.trim().split_once("  ")) {
        let meaning = meaning.trim().split(':').next().unwrap_or_default();
        let listed = format!("{code}: {meaning}");
        // Rows that go on from the one before them begin with no number.
        assert!(
            code.parse::<u8>().is_err() || readme.contains(&listed),
            "README.md lacks: {listed}"
        );
    }
}
