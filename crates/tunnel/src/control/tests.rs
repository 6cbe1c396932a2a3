use super::*;
use crate::status::tests::waiting;
use exm_os::{Clock, Waiter};
use exm_testing::Folder;
use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

fn connect(control: &Control) -> UnixStream {
    let stream = UnixStream::connect(control.path()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

fn ask(control: &Control, request: &str) -> UnixStream {
    let mut stream = connect(control);
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn text(mut stream: UnixStream) -> String {
    let mut text = Vec::new();
    // Refused requests may be closed with an error, after the reply.
    let _ = stream.read_to_end(&mut text);
    String::from_utf8(text).unwrap()
}

/// Whether its file is readable now.
fn is_ready(control: &Control) -> bool {
    Waiter::new(Clock::start(), Span::ZERO).wait([control.as_fd()], Instant::ZERO).unwrap()[0]
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

#[test]
fn requests_are_answered() {
    let folder = Folder::new("tunnel-control-requests");
    let mut control = Control::open(&folder.0).unwrap();
    assert!(!is_ready(&control));
    let asked = ["/metrics", "/status", "/other"];
    let streams = asked.map(|path| ask(&control, &format!("GET {path} HTTP/1.0\r\n\r\n")));
    assert!(is_ready(&control));
    control.service(at(0), waiting);
    let [metrics, status, other] = streams.map(text);
    assert!(metrics.starts_with("HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
    assert!(metrics.contains("\nexm_tunnel_up 0\n"), "{metrics}");
    let body = status.split("\r\n\r\n").nth(1).unwrap();
    let status: Status = serde_json::from_str(body).unwrap();
    assert_eq!(status.process, std::process::id());
    assert!(other.starts_with("HTTP/1.0 404 "), "{other}");
    assert_eq!((control.next_wake(), is_ready(&control)), (Instant::MAX, false));
}

#[test]
fn a_request_may_come_in_pieces_but_not_forever() {
    let folder = Folder::new("tunnel-control-pieces");
    let mut control = Control::open(&folder.0).unwrap();
    let (mut slow, slower) = (connect(&control), ask(&control, "GET /status"));
    for piece in ["GET /metr", "ics HTTP/1.0\r\n"] {
        slow.write_all(piece.as_bytes()).unwrap();
        control.service(at(0), waiting);
    }
    assert_eq!(control.next_wake(), at(2000));
    slow.write_all(b"\r\n").unwrap();
    control.service(at(1999), waiting);
    assert!(text(slow).contains("exm_tunnel_up"));
    control.service(at(2000), waiting);
    assert_eq!((text(slower).as_str(), control.next_wake()), ("", Instant::MAX));
}

#[test]
fn connections_beyond_the_bound_are_told_to_try_again() {
    let folder = Folder::new("tunnel-control-many");
    let mut control = Control::open(&folder.0).unwrap();
    let idle: Vec<UnixStream> = (0..20).map(|_| connect(&control)).collect();
    for _ in 0..3 {
        control.service(at(0), waiting);
    }
    assert!(!is_ready(&control));
    let refused = idle.into_iter().skip(MAX_CONNECTIONS).map(text);
    assert_eq!(refused.filter(|text| text.starts_with("HTTP/1.0 503 ")).count(), 16);
    // The others have gone.
    control.service(at(1), waiting);
    let next = ask(&control, "GET /metrics HTTP/1.0\n\n");
    control.service(at(2), waiting);
    assert!(text(next).contains("exm_tunnel_up"));
}

#[test]
fn a_reader_that_does_not_read_waits_by_itself() {
    let folder = Folder::new("tunnel-control-stuck");
    let mut control = Control::open(&folder.0).unwrap();
    let many = || {
        let mut status = waiting();
        let one = status.sessions[0].clone();
        status.sessions = vec![one; 2000];
        status
    };
    let stuck = ask(&control, "GET /metrics HTTP/1.0\r\n\r\n");
    for _ in 0..50 {
        control.service(at(0), many);
    }
    assert!(!is_ready(&control), "the buffer is full");
    // Another one is served meanwhile.
    let other = ask(&control, "GET /status HTTP/1.0\r\n\r\n");
    let reader = std::thread::spawn(move || text(other));
    while !reader.is_finished() {
        control.service(at(1), many);
    }
    assert!(reader.join().unwrap().len() > 1_000_000);
    // It reads on, and gets all of it.
    let reader = std::thread::spawn(move || text(stuck));
    while !reader.is_finished() {
        control.service(at(2), many);
    }
    let whole = reader.join().unwrap();
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
}

#[test]
fn replies_are_made_once_for_many_readers() {
    let folder = Folder::new("tunnel-control-cached");
    let mut control = Control::open(&folder.0).unwrap();
    let mut made = 0;
    for millis in 0..100 {
        let stream = ask(&control, "GET /status HTTP/1.0\r\n\r\n");
        control.service(at(millis), || {
            made += 1;
            waiting()
        });
        assert!(text(stream).contains("200 OK"));
    }
    assert_eq!(made, 2);
}

#[test]
fn readers_that_leave_or_send_too_much_are_forgotten() {
    let folder = Folder::new("tunnel-control-leave");
    let mut control = Control::open(&folder.0).unwrap();
    drop(ask(&control, "GET /st"));
    let closed = ask(&control, "GET /status HTTP/1.0\r\n");
    closed.shutdown(Shutdown::Write).unwrap();
    let long = ask(&control, &"a".repeat(10_000));
    for _ in 0..3 {
        control.service(at(0), waiting);
    }
    assert!(text(long).starts_with("HTTP/1.0 431 "));
    assert_eq!((text(closed).as_str(), is_ready(&control)), ("", false));
    assert_eq!(control.next_wake(), Instant::MAX);
}

#[test]
fn a_socket_has_the_name_of_its_device_and_is_removed() {
    let folder = Folder::new("tunnel-control-names");
    let pid = std::process::id();
    let mut first = Control::open(&folder.0).unwrap();
    assert_eq!(folder.names(), [format!("starting-{pid}.sock")]);
    first.set_device("exm0").unwrap();
    assert_eq!(folder.names(), ["tunnel-exm0.sock"]);
    let mode = fs::metadata(first.path()).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Another tunnel in another network namespace has the same device.
    let mut second = Control::open(&folder.0).unwrap();
    second.set_device("exm0").unwrap();
    assert_eq!(folder.names(), [format!("tunnel-exm0-{pid}.sock"), "tunnel-exm0.sock".to_owned()]);
    drop(first);
    drop(second);
    assert!(folder.names().is_empty());
}

#[test]
fn a_socket_of_a_killed_process_is_replaced() {
    let folder = Folder::new("tunnel-control-stale");
    for name in ["tunnel-exm0.sock", &format!("starting-{}.sock", std::process::id())] {
        drop(UnixListener::bind(folder.0.join(name)).unwrap());
    }
    let mut control = Control::open(&folder.0).unwrap();
    control.set_device("exm0").unwrap();
    assert_eq!(folder.names(), ["tunnel-exm0.sock"]);
    let stream = ask(&control, "GET /metrics HTTP/1.0\r\n\r\n");
    control.service(at(0), waiting);
    assert!(text(stream).contains("exm_tunnel_up"));
}

#[test]
fn the_status_of_all_tunnels_is_read() {
    let folder = Folder::new("tunnel-control-read");
    assert!(Status::read_all(&folder.0.join("missing")).unwrap().is_empty());
    drop(UnixListener::bind(folder.0.join("tunnel-killed.sock")).unwrap());
    fs::write(folder.0.join("net-1-kill-switch"), "").unwrap();
    let mut control = Control::open(&folder.0).unwrap();
    control.set_device("exm3").unwrap();
    let path = folder.0.clone();
    let reader = std::thread::spawn(move || Status::read_all(&path));
    while !reader.is_finished() {
        control.service(at(0), || Status { device: Some("exm3".to_owned()), ..waiting() });
    }
    let read = reader.join().unwrap().unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].device.as_deref(), Some("exm3"));
}

#[test]
fn sockets_of_killed_processes_are_removed() {
    let folder = Folder::new("tunnel-control-stale");
    let paths = ["tunnel-exm7-1.sock", "starting-1.sock", "tunnel-exm8.sock", "new.sock", "other"];
    let paths = paths.map(|name| folder.0.join(name));
    let mut listeners: Vec<UnixListener> =
        paths.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
    let served = listeners.remove(2);
    drop(listeners);
    for path in [0, 1, 2, 4].map(|index| &paths[index]) {
        let touched = Command::new("touch").args(["-d", "2 minutes ago"]).arg(path).status();
        assert!(touched.unwrap().success());
    }
    let _control = Control::open(&folder.0).unwrap();
    let left = paths.map(|path| path.exists());
    assert_eq!(left, [false, false, true, true, true], "{served:?}");
}
