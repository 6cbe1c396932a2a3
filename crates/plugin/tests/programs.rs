//! Programs over pipes: the same results, and one error for each way of failing.

use exm_cc::{Ack, Controller, Start};
use exm_plugin::{Program, check, script};
use exm_testing::Folder;
use exm_units::{Instant, Span};

/// A script of the shell that answers each line by `answer`, of which $line is the event.
fn program(name: &str, greeting: &str, answer: &str) -> (Folder, String) {
    let folder = Folder::new(&format!("program-{name}"));
    let file = folder.0.join("controller.sh");
    let text = format!("read line\n{greeting}\nwhile read line; do\n{answer}\ndone\n");
    std::fs::write(&file, text).unwrap();
    let command = format!("sh {}", file.display());
    (folder, command)
}

const HELLO: &str = "echo '{}'";
const TEN: &str = r#"echo '{"cwnd":10,"intersend":5}'"#;

#[test]
fn a_program_is_asked_for_each_event() {
    let answer = r#"case "$line" in
        *'"event":"start"'*) echo '{"cwnd":10,"intersend":5}';;
        *'"event":"ack"'*) echo '{"cwnd":11,"wake_at":7000000}';;
        *) echo '{"cwnd":1}';;
    esac"#;
    let (_folder, command) = program("events", r#"echo '{"needs":["delivery"]}'"#, answer);
    let program = Program::new(&command).unwrap();
    let mut controller = program.controller();
    assert!(controller.needs().delivery && !controller.needs().sent);
    let decision = controller.on_start(&Start::new(Instant::ZERO));
    assert_eq!((decision.cwnd.get(), decision.intersend.as_nanos()), (10, 5));
    let ack = Ack::new(0, Instant::ZERO, Instant::ZERO + Span::from_millis(5));
    let decision = controller.on_ack(&ack);
    assert_eq!(decision.cwnd.get(), 11);
    assert_eq!(decision.wake_at, Some(Instant::ZERO + Span::from_millis(7)));
    assert!(script::play(&mut program.controller(), &script::random(50, 1)).len() > 10);
    // A process that has begun cannot be copied, and says so.
    let failure = controller.clone().failure().expect("a copy fails");
    assert!(failure.what.contains("state cannot be copied"), "{failure}");
    assert_eq!(controller.failure(), None);
}

#[test]
fn a_program_that_fails_stops_its_flow() {
    for (name, answer, expected) in [
        ("rubbish", "echo rubbish", "answered \"rubbish\": "),
        ("ends", "exit 3", "ended without an answer (exit status: 3)"),
        ("window", r#"echo '{"cwnd":2000000000}'"#, "asked for a window of 2000000000 packets"),
        ("key", r#"echo '{"cwnd":2,"intersnd":1}'"#, "unknown field `intersnd`"),
        ("nothing", "echo '{}'", "missing field `cwnd`"),
        ("flood", "head -c 100000 /dev/zero", "a line of more than 65536 bytes"),
    ] {
        let (_folder, command) = program(name, HELLO, answer);
        let program = Program::new(&command).unwrap();
        let mut controller = program.controller();
        assert_eq!(controller.on_start(&Start::new(Instant::ZERO)).cwnd.get(), 0, "{name}");
        let failure = controller.failure().expect(name);
        assert!(failure.what.contains(expected), "{name}: {failure}");
        assert!(failure.what.starts_with("sh "), "{failure}");
        assert_eq!(program.failure(), Some(failure));
    }
}

#[test]
fn what_is_no_controller_is_refused() {
    assert!(Program::new("  ").unwrap_err().to_string().starts_with("there is no program"));
    let missing = Program::new("no-such-program-here x").unwrap_err().to_string();
    assert!(missing.starts_with("cannot start no-such-program-here x: No such file"), "{missing}");
    let (_folder, command) = program("needs", r#"echo '{"needs":["speed"]}'"#, TEN);
    let needs = Program::new(&command).unwrap_err().to_string();
    assert!(needs.contains("needs \"speed\": there are own_recovery, "), "{needs}");
    let ended = Program::new("true").unwrap_err().to_string();
    assert!(ended.contains("ended without an answer"), "{ended}");
}

#[test]
fn a_program_that_always_decides_the_same_is_found() {
    let (_folder, command) = program("same", HELLO, TEN);
    let findings = check(&Program::new(&command).unwrap().controller(), false);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].what.contains("it always decides the same"));
}
