//! A contest over HTTP: who submits is known, everybody is served, and hostile ones harm nobody.

use exm_contest::http::{self, Limits};
use exm_contest::{Contest, Setup, Site};
use exm_testing::Folder;
use exm_units::Span;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `clients` against the site of a contest with these participants, who get their tokens.
fn with_site(participants: &[String], clients: impl FnOnce(SocketAddr, &[String], &Contest)) {
    let folder = Folder::new("contest-site");
    let setup =
        Setup { duration: Span::from_secs(3), warm_up: Span::from_secs(1), ..Setup::default() };
    let contest = Contest::create(&folder.0.join("contest"), &setup).unwrap();
    let tokens: Vec<String> =
        participants.iter().map(|name| contest.invite(name).unwrap()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let site = Site::new(contest.clone(), address.port()).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let answer = |request: &http::Request| site.answer(request, 1_000_000);
            http::serve(&listener, Limits::default(), &stop, answer)
        });
        clients(address, &tokens, &contest);
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
    });
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn get(address: SocketAddr, path: &str) -> String {
    ask(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
}

fn submit(address: SocketAddr, token: &str, file: &str, body: &[u8]) -> String {
    let head = format!(
        "POST /submit?file={file} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    ask(address, &[head.as_bytes(), body].concat())
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("student{number}")).collect()
}

#[test]
fn a_submission_is_scored_and_shown() {
    with_site(&names(1), |address, tokens, _| {
        let reply = submit(address, &tokens[0], "a.txt", b"cubic beta=0.5");
        assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
        assert!(reply.contains("\"throughput_mbps\""), "{reply}");
        let page = get(address, "/");
        assert!(page.contains("<td>student0</td>") && page.contains("omniscient"), "{page}");
        assert!(get(address, "/figure.svg").contains("</svg>"));
        assert!(get(address, "/board.json").contains("\"student0\""));
        assert!(get(address, "/style.css").contains("color-scheme"));
        assert!(!page.contains(&tokens[0]), "tokens are nobody's business");
    });
}

#[test]
fn a_hundred_participants_submit_at_once() {
    let participants = names(100);
    with_site(&participants, |address, tokens, contest| {
        std::thread::scope(|scope| {
            for (number, token) in tokens.iter().enumerate() {
                scope.spawn(move || {
                    let text = format!("aimd increase={}", 1 + number);
                    let reply = submit(address, token, "a.txt", text.as_bytes());
                    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
                });
            }
        });
        let attempts = contest.attempts().unwrap();
        assert_eq!(attempts.len(), 100);
        assert!(attempts.iter().all(|attempt| attempt.scores.is_some()));
    });
}

#[test]
fn who_may_not_submit_is_refused() {
    with_site(&names(2), |address, tokens, contest| {
        let refused = |reply: String, status: u16| {
            assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {reply}");
        };
        refused(submit(address, "", "a.txt", b"cubic"), 401);
        refused(submit(address, "0123", "a.txt", b"cubic"), 401);
        refused(submit(address, &tokens[0], "a.txt", b"cubci"), 422);
        refused(submit(address, &tokens[0], "../../a.wasm", b"\0asm"), 422);
        refused(submit(address, &tokens[0], "a.wasm", &vec![0; 70_000]), 422);
        refused(submit(address, &tokens[0], "a.json", &vec![b'{'; (1 << 20) + 1]), 413);
        refused(get(address, "/../contest.toml"), 404);
        refused(get(address, "/invitations.json"), 404);
        refused(get(address, "/submit"), 405);
        let foreign = "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        refused(ask(address, foreign.as_bytes()), 403);
        // The clock of this test stands still, so the eleventh within a minute is too many.
        for number in 0..7 {
            submit(
                address,
                &tokens[0],
                "a.txt",
                format!("aimd increase={}", number + 1).as_bytes(),
            );
        }
        refused(submit(address, &tokens[0], "a.txt", b"reno"), 429);
        assert!(submit(address, &tokens[1], "a.txt", b"reno").starts_with("HTTP/1.1 201"));
        assert_eq!(contest.attempts().unwrap().len(), 8);
    });
}

#[test]
fn a_hostile_module_fails_alone() {
    let endless = r#"(module (memory (export "memory") 1)
        (func (export "exm_abi_1") (result i32) (i32.const 0))
        (func (export "on_start") (loop $l (br $l)))
        (func (export "on_ack")) (func (export "on_congestion")) (func (export "on_tick")))"#;
    let wasm = wat::parse_str(endless).unwrap();
    with_site(&names(1), |address, tokens, _| {
        let reply = submit(address, &tokens[0], "a.wasm", &wasm);
        assert!(reply.starts_with("HTTP/1.1 201") && reply.contains("endless loop"), "{reply}");
        assert!(get(address, "/").contains("failed: a.wasm: on_start did not end"));
    });
}

#[test]
fn a_new_invitation_replaces_the_token() {
    with_site(&names(1), |address, tokens, contest| {
        let again = contest.invite("student0").unwrap();
        assert!(submit(address, &tokens[0], "a.txt", b"reno").starts_with("HTTP/1.1 401"));
        assert!(submit(address, &again, "a.txt", b"reno").starts_with("HTTP/1.1 201"));
        assert!(contest.invite("cubic").is_err() && contest.invite("../x").is_err());
    });
}
