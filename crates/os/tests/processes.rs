//! Programs in separate networks, and that a killed process leaves nothing behind.
//! Skipped, saying so, where this process may not make namespaces.
#![cfg(target_os = "linux")]

use exm_os::{Confined, Masquerade, Namespace, Netlink, PacketSocket, Route, Tun, TunOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_program_sees_its_own_network_processes_and_resolver() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let resolv_conf = Some("nameserver 192.0.2.7\n");
    let confined = Confined { network: Some(&namespace), resolv_conf, identity: None };
    let mut command = shell("cat /etc/resolv.conf; ls /proc/sys/net/ipv4/conf; echo $$; exit 7");
    command.stdout(Stdio::piped());
    let mut running = confined.run(command).unwrap();
    let mut output = String::new();
    running.child().stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(7));
    assert!(output.starts_with("nameserver 192.0.2.7\n"), "{output}");
    assert!(!output.contains("eth0") && output.contains("\nlo\n"), "{output}");
    assert!(output.trim_end().ends_with("\n2"), "it is the second of its namespace: {output}");
    assert!(!std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default().contains("192.0.2.7"));
}

#[test]
fn what_cannot_be_run_is_told_and_signals_are_codes() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let confined = Confined { network: Some(&namespace), resolv_conf: None, identity: None };
    let missing = confined.run(Command::new("/no/such/program")).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    let mut killed = confined.run(shell("kill -9 $$")).unwrap();
    assert_eq!(killed.wait().unwrap().code(), Some(128 + 9));
    let mut patient = shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done");
    patient.stdout(Stdio::piped());
    let mut asked = confined.run(patient).unwrap();
    let mut lines = BufReader::new(asked.child().stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    asked.terminate().unwrap();
    assert_eq!(asked.wait().unwrap().code(), Some(3));
}

/// Who it is inside, where this process is root only in a user namespace.
#[test]
fn a_program_can_run_as_another_user() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let identity = Some(exm_os::Identity { user: 1234, group: 2345 });
    let confined = Confined { network: Some(&namespace), resolv_conf: None, identity };
    let mut command = shell("id -u; id -g");
    command.stdout(Stdio::piped());
    let mut running = confined.run(command).unwrap();
    let mut output = String::new();
    running.child().stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, "1234\n2345\n");
}

const MARK: &str = "EXM_TEST_SETS_UP";

/// What is set up, one after the other.
const STAGES: [&str; 8] =
    ["namespace", "device", "up", "address", "route", "masquerade", "socket", "programs"];

/// Sets up one of everything in the machine's own network, telling of each, and waits to be killed; run
/// by the test below in a process of its own.
#[test]
fn set_up_and_wait() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let mut stages = STAGES.iter();
    let mut done = || eprintln!("{}", stages.next().unwrap());
    let namespace = Namespace::new().unwrap();
    done();
    let tun = Tun::new(&TunOptions { name: "exmtest%d", ..TunOptions::default() }).unwrap();
    done();
    let netlink = Netlink::open().unwrap();
    let index = netlink.index(tun.name()).unwrap();
    netlink.set_up(index).unwrap();
    done();
    let ip = Ipv4Addr::new(100, 127, 7, 1);
    netlink.add_address(index, exm_os::IpNet::new(ip.into(), 24).unwrap()).unwrap();
    done();
    let destination = exm_os::IpNet::new(Ipv4Addr::new(198, 51, 100, 0).into(), 24).unwrap();
    let route = Route { destination, ..Route::default_by(index, None, ip.into()) };
    netlink.add_route(&route).unwrap();
    done();
    let name = format!("exm-{}", std::process::id());
    let _masquerade = Masquerade::new(&name, exm_os::IpNet::new(ip.into(), 24).unwrap()).unwrap();
    done();
    let loopback = netlink.index("lo").unwrap();
    let _socket = PacketSocket::open(loopback, 1 << 16).unwrap();
    done();
    let confined = Confined { network: Some(&namespace), resolv_conf: None, identity: None };
    // A process that is not waited for, beside the program.
    let mut running = confined.run(shell("setsid sleep 1000.75 & sleep 1000.75")).unwrap();
    done();
    running.wait().unwrap();
}

/// What there is of a process in the machine's own network, and of the programs it ran: the lines
/// that have what only it would set up. Others may change the network meanwhile.
fn seen() -> Vec<String> {
    let list = [
        ("ip -o link", "exmtest"),
        ("ip route", "exmtest"),
        ("ip -6 route", "exmtest"),
        ("nft list ruleset", "100.127.7.0"),
        ("ps ax -o args", "1000.75"),
    ];
    let lines = list.iter().flat_map(|&(command, mark)| {
        let output = shell(command).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<_> = text.lines().filter(|l| l.contains(mark)).map(str::to_owned).collect();
        lines
    });
    lines.collect()
}

/// Killed at any stage, a process leaves nothing.
#[test]
fn a_killed_process_leaves_nothing_behind() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    assert_eq!(seen(), [""; 0]);
    // At once, and after each stage.
    for stage in std::iter::once(None).chain(STAGES.map(Some)) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "set_up_and_wait", "--nocapture"]).env(MARK, "1");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(stage) = stage {
            let lines = BufReader::new(child.stderr.take().unwrap()).lines();
            assert!(lines.map_while(Result::ok).any(|line| line == stage), "{stage} was set up");
        }
        if stage == STAGES.last().copied() {
            assert!(seen().len() >= 5, "it is seen while it is there: {:#?}", seen());
        }
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        // The kernel removes network namespaces a moment later, without notification.
        let gone = (0..500).any(|_| {
            let is_gone = seen().is_empty();
            if !is_gone {
                std::thread::sleep(Duration::from_millis(20));
            }
            is_gone
        });
        assert!(gone, "{stage:?}: {:#?}", seen());
    }
}
