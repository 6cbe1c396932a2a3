//! Tunnels between network namespaces. Skipped if this process may not create any.
#![cfg(target_os = "linux")]

mod common;
mod intruders;
mod leaks;
mod many;
mod router;

use common::{Networks, client, eventually, possible, server, shell};
use exm_os::Namespace;
use exm_session::Settings;
use exm_tunnel::{ClientPlan, IpNet, Network, ServerPlan};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

pub(crate) const HOST4: &str = "203.0.113.2:7";
pub(crate) const HOST6: &str = "[2001:db8:1::2]:7";

/// An echo server on port 7 for TCP and UDP, which first sends the client's address.
pub(crate) fn echo(host: &Namespace) {
    let (tcp, udp) = host
        .run(|| {
            let any = "[::]:7";
            io::Result::Ok((TcpListener::bind(any)?, UdpSocket::bind(any)?))
        })
        .expect("the port is free");
    thread::spawn(move || {
        for stream in tcp.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let from = stream.peer_addr().expect("it is connected").ip().to_canonical();
                let _ = stream.write_all(format!("{from}\n").as_bytes());
                let mut reader = stream.try_clone().expect("there are files");
                let _ = io::copy(&mut reader, &mut stream);
            });
        }
    });
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((length, from)) = udp.recv_from(&mut buffer) {
            let _ = udp.send_to(&buffer[..length], from);
        }
    });
}

pub(crate) fn connect(network: &Namespace, to: &str) -> TcpStream {
    let to: SocketAddr = to.parse().expect("an address");
    let stream = network.run(|| TcpStream::connect_timeout(&to, Duration::from_secs(10)));
    let stream = stream.expect("the host answers");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it can be set");
    stream
}

/// The source address that the host sees.
pub(crate) fn seen_from(stream: &mut TcpStream) -> IpAddr {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read_exact(&mut byte).is_ok() && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("text").parse().expect("an address")
}

pub(crate) fn echoes(stream: &mut TcpStream, length: usize) {
    let sent: Vec<u8> = (0..length).map(|place| (place * 7 % 251) as u8).collect();
    let mut writer = stream.try_clone().expect("there are files");
    thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&sent).expect("it is taken"));
        let mut got = vec![0; length];
        stream.read_exact(&mut got).expect("it comes back");
        assert!(got == sent, "it comes back unchanged");
    });
}

pub(crate) fn echoes_datagram(network: &Namespace, to: &str, length: usize) {
    let to: SocketAddr = to.parse().expect("an address");
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = network.run(|| UdpSocket::bind(any)).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(1))).expect("it can be set");
    let sent = vec![5; length];
    let mut got = vec![0; 65_536];
    // The host's first packets exceed the tunnel's MTU; it gets an ICMP error, and then fragments.
    let came_back = (0..3).any(|_| {
        socket.send_to(&sent, to).expect("it is taken");
        socket.recv_from(&mut got).is_ok_and(|(got_length, _)| got_length == length)
    });
    assert!(came_back && got[..length] == sent, "{length} bytes to {to} come back");
}

#[test]
fn all_traffic_is_carried_with_the_servers_address() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let before = [&networks.client, &networks.server].map(all_of);
    let server = server(&networks.server, ServerPlan::default(), Settings::default()).started();
    let client = client(&networks.client, ClientPlan::default(), Settings::default());
    let view = client.report();
    assert!(view.has_ipv6 && usize::from(view.mtu) == Settings::default().max_payload());
    echo(&networks.host);
    for (host, own) in [(HOST4, "203.0.113.1"), (HOST6, "2001:db8:1::1")] {
        let mut stream = connect(&networks.client, host);
        assert_eq!(seen_from(&mut stream).to_string(), own);
        echoes(&mut stream, 200_000);
        for length in [1, 1200, 5000] {
            echoes_datagram(&networks.client, host, length);
        }
    }
    // Path MTU discovery works.
    let ping = shell(&networks.client, "ping -M do -s 1400 -c 1 -W 1 203.0.113.2 2>&1 || true");
    assert!(ping.contains(&view.mtu.to_string()), "{ping}");
    shell(&networks.client, "ping -c 1 -W 5 203.0.113.2");
    client.end().expect("it ends without an error");
    server.end().expect("it ends without an error");
    let after = [&networks.client, &networks.server].map(all_of);
    assert_eq!(before, after);
}

/// Everything that a tunnel might change in a network.
fn all_of(network: &Namespace) -> String {
    shell(
        network,
        "ip -o link | cut -d: -f2; ip route; ip -6 route; ip rule; ip -6 rule; nft list ruleset
         cd /proc/sys/net; grep -r . ipv4/conf/*/forwarding ipv4/conf/*/rp_filter ipv6/conf/*/forwarding
         grep -rs . ipv6/conf/*/force_forwarding ipv6/conf/*/accept_ra",
    )
}

fn net(text: &str) -> IpNet {
    text.parse().expect("a network")
}

#[test]
fn a_client_that_moves_keeps_its_connections() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let _server = server(&networks.server, ServerPlan::default(), Settings::default()).started();
    // Also with strict reverse path filtering.
    shell(&networks.client, "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    let client = client(&networks.client, ClientPlan::default(), Settings::default()).started();
    echo(&networks.host);
    let mut stream = connect(&networks.client, HOST4);
    seen_from(&mut stream);
    echoes(&mut stream, 50_000);
    let rp_filter = || shell(&networks.client, "cat /proc/sys/net/ipv4/conf/w?/rp_filter");
    assert_eq!(rp_filter(), "2\n0\n");
    shell(&networks.client, "ip link set w0 down");
    echoes(&mut stream, 50_000);
    assert_eq!(rp_filter(), "0\n2\n");
    // Without any route for a while: data sent meanwhile arrives once there is one again.
    shell(&networks.client, "ip link set w1 down");
    thread::scope(|scope| {
        let before = client.newest().unreachable;
        scope.spawn(|| echoes(&mut stream, 50_000));
        client.wait_until(|view| view.unreachable > before);
        let up = "ip link set w1 up; ip route add default via 10.2.0.1 dev w1 metric 200";
        shell(&networks.client, up);
    });
    drop(client);
    assert_eq!(rp_filter(), "0\n0\n");
}

#[test]
fn some_traffic_goes_through_a_narrow_tunnel_of_given_addresses() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let network = Network::new(net("10.77.0.0/30"));
    let plan = ServerPlan { network, is_private: true, ..ServerPlan::default() };
    let narrow = Settings::new(exm_sprout::Settings::default(), 700).expect("large enough");
    let _server = server(&networks.server, plan, Settings::default()).started();
    let routes = vec![net("203.0.113.1/32")];
    let plan = ClientPlan { routes, device: "exmtest".to_owned(), ..ClientPlan::default() };
    let client = client(&networks.client, plan, narrow);
    let view = client.report();
    assert_eq!((usize::from(view.mtu), view.has_ipv6), (narrow.max_payload(), false));
    assert_eq!(view.device, "exmtest");
    echo(&networks.server);
    for to in ["10.77.0.1:7", "203.0.113.1:7"] {
        let mut stream = connect(&networks.client, to);
        assert_eq!(seen_from(&mut stream).to_string(), "10.77.0.2");
        echoes(&mut stream, 20_000);
        echoes_datagram(&networks.client, to, 2000);
    }
    // The server forwards nothing.
    let beyond = HOST4.parse().expect("an address");
    let refused = networks
        .client
        .run(|| TcpStream::connect_timeout(&beyond, Duration::from_millis(300)))
        .map(drop);
    assert!(refused.is_err());
}

#[test]
fn addresses_in_use_are_reported() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let network = Network::new(net("10.2.0.0/24"));
    let plan = ServerPlan { network, is_private: true, ..ServerPlan::default() };
    shell(&networks.server, "ip address del 10.2.0.1/24 dev w1");
    let _server = server(&networks.server, plan, Settings::default()).started();
    let mut client = client(&networks.client, ClientPlan::default(), Settings::default());
    let error = client.failed().to_string();
    assert!(error.contains("conflict with 10.2.0.2/24, a network of this machine"), "{error}");
}

const MARK: &str = "EXM_TEST_TUNNEL";
const RESOLV_CONF: &str = "EXM_TEST_RESOLV_CONF";

/// An end in the network that this process was started in, until it is killed; run by the test below
/// in a separate process.
#[test]
fn run_an_end_until_it_is_killed() {
    let Some(which) = std::env::var_os(MARK) else { return };
    let network = Namespace::current().expect("there is one");
    if which == "server" {
        let server = server(&network, ServerPlan::default(), Settings::default()).started();
        eprintln!("ready");
        let _ = server.end_of_time();
    } else {
        let resolv_conf = std::env::var_os(RESOLV_CONF).expect("it is set").into();
        let dns = vec![IpAddr::from([9, 9, 9, 9])];
        let plan = ClientPlan { dns, resolv_conf, ..ClientPlan::default() };
        let client = client(&network, plan, Settings::default()).started();
        eprintln!("ready");
        let _ = client.end_of_time();
    }
}

fn start(network: &Namespace, which: &str, resolv_conf: &std::path::Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("it is running"));
    command.args(["--exact", "run_an_end_until_it_is_killed", "--nocapture"]);
    command.env(MARK, which).env(RESOLV_CONF, resolv_conf);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    network.run(|| command.spawn()).expect("it can be run")
}

fn wait_until_ready(child: &mut Child) {
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"), "it sets up");
}

/// Killed at any moment, neither end leaves anything behind.
#[test]
fn nothing_is_left_of_a_tunnel_that_is_killed() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let both = [&networks.client, &networks.server];
    shell(&networks.client, "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    let file = std::env::temp_dir().join(format!("exm-tunnel-{}", std::process::id()));
    std::fs::write(&file, "nameserver 192.0.2.53\n").expect("a temporary file");
    let seen = || (both.map(all_of), std::fs::read_to_string(&file).expect("it is there"));
    let before = seen();
    let come_back = |what: &str| {
        let restored = eventually(|| seen() == before);
        assert!(restored, "killed {what}: {:#?} instead of {before:#?}", seen());
    };
    // The only sleeps: they vary the moment of the kill; the outcome must not depend on it.
    for after_ms in [0, 3, 6, 10, 15, 20, 30, 50] {
        let mut server = start(&networks.server, "server", &file);
        thread::sleep(Duration::from_millis(after_ms));
        server.kill().expect("it runs");
        server.wait().expect("it ended");
        come_back(&format!("a server after {after_ms} ms"));
    }
    let mut server = start(&networks.server, "server", &file);
    wait_until_ready(&mut server);
    let with_server = all_of(&networks.server);
    for after_ms in [0, 10, 20, 30, 40, 50, 60, 80, 100, 150, 10_000] {
        let mut client = start(&networks.client, "client", &file);
        if after_ms < 1000 {
            thread::sleep(Duration::from_millis(after_ms));
        } else {
            wait_until_ready(&mut client);
            let during = seen();
            assert!(during.0[0].contains("128.0.0.0/1 dev exm0"), "{}", during.0[0]);
            assert_eq!(
                during.1,
                "# Written by exm tunnel, for as long as it runs.\nnameserver 9.9.9.9\n"
            );
        }
        client.kill().expect("it runs");
        client.wait().expect("it ended");
        let restored = eventually(|| {
            let (client, file) = (all_of(both[0]), seen().1);
            client == before.0[0] && file == before.1
        });
        assert!(restored, "killed a client after {after_ms} ms: {:#?}", seen());
    }
    assert_eq!(all_of(&networks.server), with_server);
    server.kill().expect("it runs");
    server.wait().expect("it ended");
    come_back("the server");
    std::fs::remove_file(&file).expect("it is there");
}
