//! `exm cellsim` with real programs. Skipped if this process may not create networks.

use crate::common::{Folder, assert_envelope, assert_fails, error_of};
use crate::running::Running;
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

/// The command that runs `script` in a link with these options.
fn cellsim(folder: &Folder, options: &[&str], script: &str) -> Command {
    let mut command = folder.exm("cellsim");
    command.args(options).args(["--", "sh", "-c", script]);
    command
}

fn run(folder: &Folder, options: &[&str], script: &str) -> Output {
    cellsim(folder, options, script).output().expect("the program starts")
}

/// The output and exit code of a program that finds its peer through the environment.
#[test]
fn a_program_reaches_its_peer_through_the_link() {
    let Some(folder) = Folder::with_networks("cellsim-peer") else { return };
    let link = ["--up", "10Mbps", "--down", "20Mbps", "--delay", "25ms,15ms", "--json"];
    let options = [&link[..], &["--outside", "namespace", "--log", "log.csv"]].concat();
    let script = "ping -q -c 4 -i 0.2 $EXM_PEER >&2; echo $?; test $EXM_ADDRESS && exit 7";
    let output = run(&folder, &options, script);
    assert_eq!(output.status.code(), Some(7), "{}", error_of(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let (code, json) = text.split_once('\n').unwrap();
    if code == "127" {
        return exm_testing::skip("without ping");
    }
    let summary = error_of(&output);
    let times = summary.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
    let least: f64 = times.unwrap().split('/').next().unwrap().parse().unwrap();
    assert!((40.0..45.0).contains(&least), "{summary}");
    let report: Value = serde_json::from_str(json).unwrap();
    let log = std::fs::read_to_string(folder.path("log.csv")).unwrap();
    assert!(log.contains("\n# command: exm cellsim --up 10Mbps "), "{log}");
    for way in ["up", "down"] {
        let number = |key: &str| report[way][key].as_u64().unwrap();
        assert_eq!(number("arrived"), number("delivered") + number("inside"));
        let rows = log.lines().filter(|line| line.starts_with(&format!("{way},")));
        assert_eq!(rows.count() as u64, number("delivered"));
    }
}

#[test]
fn impossible_requests_are_reported() {
    let Some(folder) = Folder::with_networks("cellsim-errors") else { return };
    let link = ["--up", "10Mbps", "--down", "20Mbps", "--outside", "namespace", "--quiet"];
    let mut command = folder.exm("cellsim");
    let output = command.args(link).args(["--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(error_of(&output).contains("cannot run no-such-program: "), "{}", error_of(&output));
    let output = run(&folder, &[&link[..], &["--log", "no/such/folder"]].concat(), "true");
    assert!(error_of(&output).contains("the log no/such/folder cannot be created"));
    folder.write("lte.up", "1\n2\n");
    folder.write("old.log", "mine");
    for (words, part) in [
        ("--log old.log", "old.log exists already"),
        ("--log lte.up --force", "lte.up is used twice"),
        ("--mahimahi-log ./lte --force", "./lte.up and lte.up are the same file"),
        ("--log new.up --mahimahi-log new", "new.up is used twice"),
        ("--log . --force", ". is a folder, not a file"),
        ("--log /dev/null --force", "/dev/null is a device or a socket"),
    ] {
        let output = folder.run(&format!("cellsim --up lte.up --down 1Mbps {words} -- true"));
        assert_fails(&output, 1, &[part, "tip: "]);
    }
    let whole = ["old.log", "lte.up"].map(|name| std::fs::read(folder.path(name)).unwrap());
    assert_eq!(whole, [&b"mine"[..], b"1\n2\n"]);
    let output = folder.run("cellsim --up 1Mbps --down 1Mbps --bridge lo no-such-device");
    assert!(error_of(&output).contains("there is no network device \"no-such-device\""));
    let output = folder.run("cellsim --up 1Mbps --down 1Mbps --meters");
    assert_fails(&output, 2, &["give a COMMAND"]);
    folder.write("empty", "");
    let output = folder.run("cellsim --up empty --down 1Mbps -- true");
    assert!(error_of(&output).contains("for '--up': the trace empty is empty"));
}

/// The output of a program is printed alone, or followed by the summary as JSON.
#[test]
fn nothing_is_mixed_into_a_programs_output() {
    let Some(folder) = Folder::with_networks("cellsim-output") else { return };
    let link = "cellsim --up 10Mbps --down 20Mbps --outside namespace";
    assert_eq!(folder.text(&format!("{link} -- echo hello")), "hello\n");
    let words = format!("{link} --seed 7 --json -- true");
    let report = assert_envelope(&folder.text(&words), &format!("exm {words}"), &["seed"]);
    assert_eq!((&report["down"]["capacity_bps"], &report["seed"]), (&20_000_000.into(), &7.into()));
}

/// A program that does not end is stopped after the duration, by SIGTERM and then by SIGKILL.
#[test]
fn a_duration_ends_it() {
    let Some(folder) = Folder::with_networks("cellsim-duration") else { return };
    let link = ["--up", "10Mbps", "--down", "20Mbps", "--outside", "namespace", "--quiet"];
    let options = [&link[..], &["--duration", "200ms"]].concat();
    let stubborn = "trap '' TERM; while :; do sleep 0.05; done";
    for script in ["sleep 100", "trap 'exit 4' TERM; while :; do sleep 0.05; done", stubborn] {
        assert_eq!(run(&folder, &options, script).status.code(), Some(0), "{script}");
    }
    // A program that ends before has its own exit code.
    let options = [&link[..], &["--duration", "100s"]].concat();
    assert_eq!(run(&folder, &options, "exit 4").status.code(), Some(4));
}

/// Starts `exm` with `words` on a pseudo-terminal, types `input`, and returns its contents.
fn on_terminal(folder: &Folder, words: &str, input: &str) -> Option<(Option<i32>, String)> {
    let exm = env!("CARGO_BIN_EXE_exm");
    let mut command = Command::new("script");
    command.args(["-qec", &format!("stty rows 24 cols 80; exec {exm} {words}"), "/dev/null"]);
    command.current_dir(&folder.0).env("SHELL", "/bin/bash").env("HOME", &folder.0);
    command.env("TERM", "xterm");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = Running::spawn(piped) else {
        exm_testing::skip("no script(1) to make a terminal");
        return None;
    };
    let mut stdin = child.0.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    let mut text = Vec::new();
    child.0.stdout.take().expect("it is piped").read_to_end(&mut text).expect("it prints");
    Some((child.code(), String::from_utf8_lossy(&text).into_owned()))
}

/// Without a command it is a shell, interactive or for a script.
#[test]
fn without_a_command_it_is_a_shell() {
    let Some(folder) = Folder::with_networks("cellsim-shell") else { return };
    let link = "cellsim --up 10Mbps --down 20Mbps --outside namespace";
    folder.write("script", "echo at $EXM_ADDRESS $PS1\nexit 3\n");
    let mut command = folder.exm(link);
    let script = std::fs::File::open(folder.path("script")).unwrap();
    let output = command.env_remove("SHELL").env_remove("PS1").stdin(script).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", error_of(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.starts_with("at 100.64.") && text.lines().count() == 1, "{text}");
    assert!(!error_of(&output).contains("exit"), "{}", error_of(&output));
    let Some((code, text)) = on_terminal(&folder, link, "echo $((6*7)) inside\nexit 5\n") else {
        return;
    };
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("this shell is inside the link"), "{text}");
    assert!(text.contains("[cellsim] ") && text.contains("42 inside\r\n"), "{text}");
    assert!(text.contains("s emulated\r\n"), "{text}");
}

/// The output of programs while meters cover the terminal is on it afterwards.
#[test]
fn meters_lose_no_output() {
    let Some(folder) = Folder::with_networks("cellsim-meters") else { return };
    let words = "cellsim --up 10Mbps --down 20Mbps --meters --peer 'echo peer here; sleep 9' -- \
                 sh -c 'echo output; echo problem >&2; sleep 0.5; printf last'";
    let Some((code, text)) = on_terminal(&folder, words, "") else { return };
    assert_eq!(code, Some(0), "{text}");
    let after = text.rsplit("\u{1b}[?1049l").next().unwrap();
    for part in ["output\r\n", "problem\r\n", "peer here\r\n", "last", "s emulated\r\n"] {
        assert!(after.contains(part), "{part:?} is not in {after:?}");
    }
}

/// Killed at any moment, it leaves no settings, devices or programs in its network.
///
/// That network is one of the test's own, with a dead-end default route.
#[test]
fn a_killed_emulator_leaves_nothing_behind() {
    let Some(folder) = Folder::with_networks("cellsim-kill") else { return };
    let exm = env!("CARGO_BIN_EXE_exm");
    let mark = format!("1000.{}", std::process::id());
    // Killed after these delays, and once everything has been set up.
    for after in ["0", "0.005", "0.01", "0.02", "0.03", "0.05", "0.08", "ready"] {
        let script = format!(
            "ip link add way type veth peer name out && ip link set way up && ip link set out up \
             && ip addr add 192.0.2.2/24 dev way && ip route add default via 192.0.2.1 || exit 9
             exm() {{ exec {exm} cellsim --up 1Mbps --down 1Mbps --log log --force -- \
                 sh -c 'setsid sleep {mark} & sleep {mark}'; }}
             soon() {{ tries=0; until \"$@\" || [ $tries = 200 ]; do
                 sleep 0.05; tries=$((tries + 1)); done; }}
             runs() {{ ps ax -o args | grep -q '^sleep {mark}'; }}
             left() {{ ip -o link | grep exm; ip route | grep 100.64; nft list ruleset | grep exm
                 ps ax -o args | grep -v grep | grep '^[a-z]* *sleep {mark}$'
                 ps ax -o args | grep '^sleep {mark}'
                 grep -v 0 /proc/sys/net/ipv4/conf/way/forwarding; }}
             is_clean() {{ [ -z \"$(left)\" ]; }}
             exm >/dev/null 2>&1 &
             if [ {after} = ready ]; then soon runs; ip -o link | grep -c exm0; else sleep {after}; fi
             kill -9 $!; wait $!; soon is_clean; left; :"
        );
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]).current_dir(&folder.0).stdin(Stdio::null());
        let output = command.output().unwrap();
        if output.status.code() == Some(9) {
            return exm_testing::skip("no ip, or it cannot make devices");
        }
        let left = String::from_utf8_lossy(&output.stdout).into_owned();
        let expected = if after == "ready" { "1\n" } else { "" };
        assert_eq!(left, expected, "killed after {after}: {}", error_of(&output));
    }
}
