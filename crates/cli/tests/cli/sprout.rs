//! `exm sprout` as a process: two programs that communicate, their output and their exit codes.

use crate::common::{Folder, assert_envelope, assert_fails, error_of};
use crate::running::Running;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::ChildStderr;
use std::time::Duration;

/// A server at a free port, that port, its key, and its further output.
fn listen(folder: &Folder, words: &str) -> (Running, u16, String, BufReader<ChildStderr>) {
    // Between two tests at once the port of one may be taken by the other, so a range is given.
    let words = format!("sprout serve --bind 127.0.0.1 --port 61000:61999 --new-key {words}");
    let mut server = Running::start(&mut folder.exm(words.trim_end()));
    let mut stderr = BufReader::new(server.0.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the port is printed");
    let port = line.trim().rsplit(' ').next().and_then(|port| port.parse().ok());
    line.clear();
    stderr.read_line(&mut line).expect("the key is printed");
    let key = line.trim().strip_prefix("key: ").expect("a key").to_owned();
    assert_eq!(key.len(), 22);
    (server, port.expect("a port"), key, stderr)
}

#[test]
fn lines_go_both_ways_and_the_key_comes_in_any_way() {
    let folder = Folder::new("sprout-lines");
    let (mut server, port, key, _said) = listen(&folder, "");
    let mut answers = server.0.stdin.take().expect("it is piped");
    let mut printed = BufReader::new(server.0.stdout.take().expect("it is piped"));
    folder.write("key", format!("{key}\n"));
    for (way, first) in [
        (" --key-file key", ""),
        (" --key-env THEIRS", ""),
        ("", ""),
        (" --key-stdin", key.as_str()),
    ] {
        let words = format!("sprout connect 127.0.0.1:{port}{way}");
        let mut command = folder.exm(&words);
        command.env("THEIRS", &key).env("EXM_KEY", &key);
        let mut client = Running::start(&mut command);
        let mut typed = client.0.stdin.take().expect("it is piped");
        let first = if first.is_empty() { String::new() } else { format!("{first}\n") };
        writeln!(typed, "{first}a line by{way}").expect("it is taken");
        let mut line = String::new();
        printed.read_line(&mut line).expect("it is printed");
        assert_eq!(line, format!("a line by{way}\n"));
        // The server replies to the client that it received from last.
        writeln!(answers, "an answer to{way}").expect("it is taken");
        let mut received = BufReader::new(client.0.stdout.take().expect("it is piped"));
        line.clear();
        received.read_line(&mut line).expect("it is printed");
        assert_eq!(line, format!("an answer to{way}\n"));
        drop(typed);
        assert_eq!(client.code(), Some(0), "it ends with its input");
    }
    server.signal("TERM");
    assert_eq!(server.code(), Some(143));
}

#[test]
fn a_new_key_is_written_where_the_client_finds_it() {
    let folder = Folder::new("sprout-new-key");
    let words = "sprout serve --bind 127.0.0.1 --port 61000:61999 --new-key --key-file key";
    let mut server = Running::start(&mut folder.exm(words));
    let mut stderr = BufReader::new(server.0.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the port is printed");
    let port = line.trim().rsplit(' ').next().expect("a port").to_owned();
    let mut client =
        Running::start(&mut folder.exm(&format!("sprout connect 127.0.0.1:{port} --key-file key")));
    writeln!(client.0.stdin.take().expect("it is piped"), "a line").expect("it is taken");
    line.clear();
    let mut printed = BufReader::new(server.0.stdout.take().expect("it is piped"));
    printed.read_line(&mut line).expect("it is printed");
    assert_eq!(line, "a line\n");
    let again = folder.run(words);
    assert_fails(&again, 1, &["cannot write the key to key: ", "exists", "no --new-key"]);
}

#[test]
fn signals_end_it_with_their_codes() {
    let folder = Folder::new("sprout-signals");
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (mut server, _, _, mut stderr) = listen(&folder, "--plain");
        // Once it prints lines, it listens to signals as well.
        stderr.read_line(&mut String::new()).expect("a line");
        server.signal(signal);
        assert_eq!(server.code(), Some(code), "{signal}");
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).expect("text");
        assert!(!rest.contains("error") && !rest.contains("panicked"), "{rest}");
    }
}

#[test]
fn a_benchmark_is_reported_as_text_and_as_json() {
    let folder = Folder::new("sprout-bench");
    let short = "--duration 2s --warm-up 500ms --rate 2Mbps --quiet";
    let words = format!("sprout bench --here --direction both {short} --json");
    let result = assert_envelope(&folder.text(&words), &format!("exm {words}"), &["seconds"]);
    for half in ["up", "down"] {
        assert!(
            result[half]["throughput_mbps"].as_f64().is_some_and(|mbps| mbps > 0.2),
            "{result}"
        );
        assert!(
            result[half]["delay_95_ms"].as_f64().is_some_and(|delay| delay < 1000.0),
            "{result}"
        );
        assert!(result[half]["received"].as_u64() <= result[half]["sent"].as_u64(), "{result}");
    }
    assert_eq!(result["delay_is"], "end to end");
    assert!(result["cpu_here_percent"].as_f64().is_some_and(|cpu| cpu > 0.0), "{result}");
    let (_server, port, key, _said) = listen(&folder, "--bench");
    folder.write("key", key);
    let text = folder.text(&format!("sprout bench 127.0.0.1:{port} --key-file key {short}"));
    for word in ["throughput", "95 % delay", "down", "round trip", "CPU"] {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
    assert!(!text.contains("\nup"), "{text}");
}

#[test]
fn errors_name_a_remedy() {
    let folder = Folder::new("sprout-errors");
    folder.write("key", "AAECAwQFBgcICQoLDA0ODw");
    folder.write("bad", "AAECAwQFBgcICQoLDA0ODw==");
    let no_key = folder.exm("sprout connect 127.0.0.1:9").env_remove("EXM_KEY").output();
    assert_fails(&no_key.expect("it starts"), 2, &["EXM_KEY is not set", "--key-file"]);
    let bad = folder.run("sprout serve --key-file bad");
    assert_fails(&bad, 1, &["bad holds no key: a key is 22 letters", "--new-key"]);
    assert!(!error_of(&bad).contains("AAEC"), "it is not shown");
    let none = folder.run("sprout connect 127.0.0.1:9 --key-file missing");
    assert_fails(&none, 2, &["cannot read the key from missing"]);
    let place = folder.run("sprout connect nowhere --key-file key");
    assert_fails(&place, 1, &["cannot find nowhere:60001", "HOST:PORT"]);
    let skip = folder.run("sprout bench --here --duration 1s --warm-up 1s");
    assert_fails(&skip, 2, &["--warm-up"]);
    let port = folder.run("sprout serve --key-file key --port 7:6");
    assert_fails(&port, 2, &["7:6", "60001:60010"]);
    let (_server, port, ..) = listen(&folder, "");
    let words = format!("sprout serve --bind 127.0.0.1 --port {port} --key-file key");
    let taken = folder.run(&words);
    assert_fails(&taken, 1, &[&format!("cannot listen on UDP port {port} of 127.0.0.1"), "range"]);
}

#[test]
fn a_key_that_others_can_read_is_reported() {
    let folder = Folder::new("sprout-mode");
    folder.write("key", "AAECAwQFBgcICQoLDA0ODw");
    for (mode, is_warned) in [(0o644, true), (0o640, true), (0o600, false), (0o400, false)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path("key"), permissions).expect("it is ours");
        let output = folder.run("sprout connect nowhere.invalid --key-file key");
        let result = error_of(&output);
        let note =
            format!("the key in key is not private, its mode is {mode:04o}: run chmod 600 key");
        assert_eq!(result.contains(&note), is_warned, "{result}");
    }
}

/// A limit on the size of files does what a full disk does.
#[test]
fn no_empty_key_is_left_on_a_full_disk() {
    let folder = Folder::new("sprout-full");
    let exm = env!("CARGO_BIN_EXE_exm");
    let words = "sprout listen --bind 127.0.0.1 --port 61000:61999 --new-key --key-file key";
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {exm} {words}");
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &script]).current_dir(&folder.0).output().expect("a shell");
    assert_fails(&output, 1, &["cannot write the key to key: ", "File too large"]);
    assert!(!folder.path("key").exists());
}

#[test]
fn a_benchmark_of_a_dead_server_gives_up() {
    let folder = Folder::new("sprout-dead");
    folder.write("key", "AAECAwQFBgcICQoLDA0ODw");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let place = silent.local_addr().expect("it is bound");
    // It takes 15 s.
    let output = folder.run(&format!("sprout bench {place} --key-file key --quiet --json"));
    assert_fails(&output, 1, &["the server does not take part: is it running, reachable"]);
}

/// It keeps trying, and reports that.
#[test]
fn a_missing_server_is_reported() {
    let folder = Folder::new("sprout-silence");
    folder.write("key", "AAECAwQFBgcICQoLDA0ODw");
    let words = "sprout connect 127.0.0.1:9 --key-file key --forward 0";
    let mut client = Running::start(&mut folder.exm(words));
    let stderr = BufReader::new(client.0.stderr.take().expect("it is piped"));
    let result =
        stderr.lines().map(|line| line.expect("text")).find(|line| line.contains("respond"));
    let result = result.expect("it does not end");
    assert!(result.contains("127.0.0.1:9 does not respond: see that the server runs"), "{result}");
    client.signal("INT");
    assert_eq!(client.code(), Some(130));
}

#[test]
fn programs_talk_through_it() {
    let folder = Folder::new("sprout-forward");
    let target = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let to = target.local_addr().expect("it is bound");
    let (_server, port, key, _said) = listen(&folder, &format!("--to {to}"));
    folder.write("key", key);
    let mut client = Running::start(
        &mut folder.exm(&format!("sprout connect 127.0.0.1:{port} --key-file key --forward 0")),
    );
    let mut stderr = BufReader::new(client.0.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the address is printed");
    let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
    let program = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    for socket in [&program, &target] {
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    }
    let mut buffer = [0; 100];
    let question = (0..50).find_map(|_| {
        program.send_to(b"question", &address).expect("it is sent");
        target.recv_from(&mut buffer).ok()
    });
    let (length, from) = question.expect("it arrives");
    assert_eq!(&buffer[..length], b"question");
    let answer = (0..50).find_map(|_| {
        target.send_to(b"answer", from).expect("it is sent");
        program.recv(&mut buffer).ok()
    });
    assert_eq!(answer.map(|length| &buffer[..length]), Some(&b"answer"[..]));
}

/// Sprout's forecasts score better than a moving average; probabilities and shares are ones.
#[test]
fn forecasts_are_scored() {
    let folder = Folder::new("sprout-score");
    let text = folder.text("sprout score --networks 2 --duration 30s --warm-up 5s");
    for part in ["network 2 down", "CRPS, mean of links", "Sprout, paper's model", "EWMA"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = folder.text("sprout score --networks 2 --duration 30s --warm-up 5s --json");
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["links"].as_array().expect("links").len(), 4);
    let crps = |index: usize| found["mean"][index]["crps"][3].as_f64().expect("a score");
    assert_eq!(found["mean"][3]["forecaster"], "EWMA");
    assert!(crps(0) < crps(3), "{json}");
    let short = &found["mean"][0]["short"];
    assert!((0.0..=1.0).contains(&short["seen"].as_f64().expect("a share")), "{short}");
    for (words, problem) in [
        ("sprout score --networks 0", "there is no link to score on"),
        ("sprout score --duration 60s", "the warm-up must be shorter than the duration"),
        ("sprout score --traces missing", "missing"),
    ] {
        let error = error_of(&folder.run(words));
        assert!(error.contains(problem), "{words}: {error}");
    }
}

/// The shipped constants are candidate 0; every fold leaves networks out; the figure is written.
#[test]
fn constants_are_chosen_by_cross_validation() {
    let folder = Folder::new("sprout-tune");
    let short = "--networks 2 --folds 2 --duration 4s --warm-up 1s";
    let words = format!("sprout tune {short} --candidates 3 -o frontier.svg");
    let text = folder.text(&words);
    for part in ["3 candidates on 4 links, seed 1", "network 1", "network 2", "mean"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        std::fs::read_to_string(folder.path("frontier.svg")).expect("a figure").contains("<svg")
    );
    let json = folder.text(&format!("sprout tune {short} --candidates 3 --json"));
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["candidates"][0]["constants"]["risk"], 0.05);
    assert_eq!(found["folds"].as_array().expect("folds").len(), 2);
    for (words, problem) in [
        (words.as_str(), "frontier.svg"),
        (
            "sprout tune --networks 1 --candidates 2",
            "4 folds need as many networks, and there are 1",
        ),
        ("sprout tune --warm-up 90s", "the warm-up must be shorter than the duration"),
    ] {
        let error = error_of(&folder.run(words));
        assert!(error.contains(problem), "{words}: {error}");
    }
}
