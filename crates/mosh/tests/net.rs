//! Both ends with their sockets and terminals: each other, and the real mosh-client.
//!
//! Skipped if pseudo-terminals or mosh are missing.
#![cfg(target_os = "linux")]

use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_mosh::net::{Ended, Limits, NetError, Service, UserTerminal};
use exm_os::Signals;
use exm_predict::Display;
use exm_terminal::{Row, Screen, Size, Terminal};
use exm_testing::{has, skip};
use exm_units::Span;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const SHELL: &str = "PS1='ready$ ' exec sh -i";

/// A service on a thread of its own, which runs `script` for whoever has the key.
fn serve(script: &str, limits: Limits) -> (SocketAddr, Key, JoinHandle<Result<(), NetError>>) {
    let key = Key::generate().expect("randomness");
    let local = Some(Ipv4Addr::LOCALHOST.into());
    let service = Service::open(key.clone(), local, PortRange::single(0)).expect("a free port");
    let address = service.address().expect("an address");
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("TERM", "xterm-256color");
    let signals = Signals::catch().expect("signals");
    (address, key, thread::spawn(move || service.run(command, limits, &signals)))
}

/// A pseudo-terminal of 90 columns and 20 rows, without a program: our side, and the terminal twice.
fn terminal() -> (File, File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let main: OwnedFd = openpt(flags).expect("a pseudo-terminal");
    grantpt(&main).and_then(|()| unlockpt(&main)).expect("it is ours");
    let size = Winsize { ws_row: 20, ws_col: 90, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&main, size).expect("it is a terminal");
    let name = ptsname(&main, Vec::new()).expect("it has a name").into_string().expect("text");
    let open = || OpenOptions::new().read(true).write(true).open(&name).expect("it is there");
    (File::from(main), open(), open())
}

/// What a user sees.
#[derive(Clone)]
struct Window(Arc<Mutex<Terminal>>);

impl Window {
    /// Reads what is shown from `file` until its end.
    fn of(mut file: impl Read + Send + 'static) -> Window {
        let window = Window(Arc::new(Mutex::new(Terminal::new(Size::new(90, 20)))));
        let reading = window.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = file.read(&mut buffer)
                && count > 0
            {
                reading.0.lock().expect("nobody panics").advance(&buffer[..count]);
            }
        });
        window
    }

    fn screen(&self) -> Screen {
        self.0.lock().expect("nobody panics").screen().clone()
    }

    fn until(&self, text: &str) {
        let shows = || self.screen().rows().any(|row| row.text().contains(text));
        for _ in 0..2000 {
            if shows() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let rows: Vec<String> = self.screen().rows().map(Row::text).collect();
        panic!("{text:?} does not appear: {rows:?}");
    }
}

#[test]
fn a_user_works_in_a_shell_and_leaves_it() {
    let (address, key, service) = serve(SHELL, Limits::default());
    let (main, mut input, mut output) = terminal();
    let window = Window::of(main.try_clone().expect("it is open"));
    let shown = thread::spawn(move || {
        let user =
            UserTerminal { predictions: (Display::Always, false), ..UserTerminal::default() };
        let signals = Signals::catch().expect("signals");
        user.show(&[address], &key, (&mut input, &mut output), &signals)
    });
    let mut keyboard = main;
    window.until("ready$");
    for key in b"stty size; echo hel\"\"lo\r" {
        keyboard.write_all(&[*key]).expect("it takes keys");
        thread::sleep(Duration::from_millis(5));
    }
    window.until("hello");
    window.until("20 90");
    // The escape key and a full stop leave.
    keyboard.write_all(b"\x1e.").expect("it takes keys");
    assert_eq!(shown.join().expect("it does not panic").expect("a session"), Ended::ByUser);
    service.join().expect("it does not panic").expect("a session");
}

#[test]
fn the_end_of_the_program_ends_the_session() {
    let (address, key, service) = serve(SHELL, Limits::default());
    let (main, mut input, mut output) = terminal();
    let window = Window::of(main.try_clone().expect("it is open"));
    let shown = thread::spawn(move || {
        let signals = Signals::catch().expect("signals");
        UserTerminal::default().show(&[address], &key, (&mut input, &mut output), &signals)
    });
    window.until("ready$");
    (&main).write_all(b"exit\r").expect("it takes keys");
    assert_eq!(shown.join().expect("it does not panic").expect("a session"), Ended::ByServer);
    service.join().expect("it does not panic").expect("a session");
}

#[test]
fn a_service_without_a_client_ends() {
    let limits = Limits { first: Span::from_millis(200), ..Limits::default() };
    let (_, _, service) = serve(SHELL, limits);
    service.join().expect("it does not panic").expect("it ended in time");
}

#[test]
fn mosh_client_works_in_our_shell() {
    if !has("mosh-client") || !has("script") {
        skip("mosh-client or script is missing");
        return;
    }
    let (address, key, service) = serve(SHELL, Limits::default());
    let mut command = Command::new("script");
    let client = format!("stty rows 20 cols 90; exec mosh-client 127.0.0.1 {}", address.port());
    command.args(["-qefc", &client, "/dev/null"]);
    command.env("MOSH_KEY", key.to_text().as_str()).env("LC_ALL", "C.UTF-8");
    command.env("TERM", "xterm-256color");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("script is there");
    let window = Window::of(child.stdout.take().expect("it is piped"));
    let mut keyboard = child.stdin.take().expect("it is piped");
    window.until("ready$");
    keyboard.write_all(b"stty size; echo hel\"\"lo\r").expect("it takes keys");
    window.until("hello");
    window.until("20 90");
    keyboard.write_all(b"exit\r").expect("it takes keys");
    window.until("[mosh is exiting.]");
    service.join().expect("it does not panic").expect("a session");
    drop(keyboard);
    let _ = child.kill();
    let _ = child.wait();
}

/// The history is shown, its keys are not the shell's, and the screen comes back.
#[test]
fn a_user_scrolls_back() {
    let (address, key, service) = serve(SHELL, Limits::default());
    let (main, mut input, mut output) = terminal();
    let window = Window::of(main.try_clone().expect("it is open"));
    let shown = thread::spawn(move || {
        let user = UserTerminal { scrollback: Some(1000), ..UserTerminal::default() };
        let signals = Signals::catch().expect("signals");
        user.show(&[address], &key, (&mut input, &mut output), &signals)
    });
    let mut keyboard = main;
    window.until("ready$");
    let count = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo li\"\"ne $i; done; echo a\"\"ll\r";
    keyboard.write_all(count.as_bytes()).expect("it takes keys");
    window.until("all");
    // The lines follow the screen. While the history is shown, the escape key leaves it, and the rest is dropped.
    for _ in 0..1000 {
        keyboard.write_all(b"\x1e[g").expect("it takes keys");
        thread::sleep(Duration::from_millis(100));
        if window.screen().rows().any(|row| row.text().trim_end() == "line 1") {
            break;
        }
    }
    window.until("History: line 1 of");
    // Keys that leave it, and what is pasted there, are not typed.
    keyboard.write_all(b"\x1b[200~exit\r\x1b[201~j\x1b[Bx leaked\r").expect("it takes keys");
    window.until("line 50");
    keyboard.write_all(b"echo e\"\"nd\r").expect("it takes keys");
    window.until("end");
    assert!(!window.screen().rows().any(|row| row.text().contains("leaked")));
    keyboard.write_all(b"\x1e.").expect("it takes keys");
    assert_eq!(shown.join().expect("it does not panic").expect("a session"), Ended::ByUser);
    service.join().expect("it does not panic").expect("a session");
}
