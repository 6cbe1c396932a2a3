//! Neighbours, servers, DHCP servers and other programs on the client's machine change nothing about what the tunnel
//! carries, or the user is told.

use crate::common::{Networks, client, eventually, possible, server, shell};
use crate::leaks::{HOST4, assert_replies, leaked, ping, watch, wide};
use exm_os::{IpNet, KillSwitch};
use exm_tunnel::{ClientPlan, Network, ServerPlan};
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

fn net(text: &str) -> IpNet {
    text.parse().expect("a network")
}

fn network(text: &str) -> ServerPlan {
    let network = Some(Network::new(net(text)).expect("room for two"));
    ServerPlan { network, ..ServerPlan::default() }
}

/// The class of CVE-2019-14899.
#[test]
fn a_neighbour_does_not_reach_the_tunnels_address() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let _server = server(&networks.server, ServerPlan::default(), wide()).started();
    let _client = client(&networks.client, ClientPlan::default(), wide()).started();
    assert_replies(&networks.client, HOST4);
    shell(
        &networks.client,
        "nft add table inet seen
         nft add chain inet seen in '{ type filter hook input priority 0; }'
         nft add rule inet seen in iifname 'w*' ip daddr 100.64.0.0/10 counter
         nft add rule inet seen in iifname 'w*' ip6 daddr fd00::/8 counter
         ip address add 2001:db8:2::2/64 dev w0 nodad",
    );
    shell(
        &networks.server,
        "ip route add default via 10.1.0.2 dev w0 metric 9999
         ip address add 2001:db8:2::1/64 dev w0 nodad
         ip -6 route add default via 2001:db8:2::2 dev w0 metric 9999",
    );
    let addresses = "ip -o addr show dev exm0 scope global | sed 's/.*inet6* \\([^ /]*\\).*/\\1/'";
    let own = shell(&networks.client, addresses);
    assert_eq!(own.lines().count(), 2, "{own}");
    for own in own.lines() {
        assert!(!ping(&networks.server, &format!("-I w0 {own}")).0, "{own} is reached");
        assert_replies(&networks.client, own);
        assert_replies(&networks.server, own);
    }
    assert_eq!(leaked(&networks), 0, "packets to the tunnel's addresses came in by w0");
}

#[test]
fn a_servers_network_takes_no_routes_from_the_client() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let routes = vec![net("203.0.113.0/24")];
    let first = server(&networks.server, network("172.16.0.0/12"), wide()).started();
    let mut client =
        client(&networks.client, ClientPlan { routes, ..ClientPlan::default() }, wide()).started();
    assert_replies(&networks.client, "172.16.0.1");
    assert_replies(&networks.client, HOST4);
    let route = |to: &str| shell(&networks.client, &format!("ip route get {to}"));
    assert!(route("172.16.0.1").contains("dev exm0"));
    assert!(route("172.20.0.1").contains("dev w0"), "{}", route("172.20.0.1"));
    // Later the client is in a network that a restarted server chooses.
    drop(first);
    shell(&networks.client, "ip address add 172.30.0.77/24 dev w1");
    let _second = server(&networks.server, network("172.30.0.0/30"), wide()).started();
    let error = client.failed().to_string();
    assert!(error.contains("conflict with 172.30.0.77/24"), "{error}");
    assert!(route("172.30.0.1").contains("dev w1"));
}

#[test]
fn traffic_past_the_tunnel_is_noticed() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    watch(&networks);
    let _server = server(&networks.server, ServerPlan::default(), wide()).started();
    let client = client(&networks.client, ClientPlan::default(), wide());
    assert!(client.report().notices.is_empty(), "local networks are no surprise");
    let told = |part: &str| {
        client.wait_until(|view| view.notices.iter().any(|notice| notice.contains(part)));
    };
    shell(&networks.client, "ip link set exm0 down");
    told("took the tunnel's device down");
    assert_replies(&networks.client, HOST4);
    assert_eq!(leaked(&networks), 0, "it is up again");
    shell(&networks.client, "ip route del 128.0.0.0/1 dev exm0");
    assert!(eventually(|| shell(&networks.client, "ip route").contains("128.0.0.0/1 dev exm0")));
    // As a DHCP server's option 121 does.
    shell(&networks.client, "ip route add 203.0.113.0/24 via 10.1.0.1 dev w0");
    told("traffic to 203.0.113.0/24 leaves outside the tunnel");
    ping(&networks.client, HOST4);
    assert!(leaked(&networks) > 0);
    assert_eq!(client.newest().notices.len(), 2, "each is told once");
}

#[test]
fn a_kill_switch_stays_whole() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let _server = server(&networks.server, ServerPlan::default(), wide()).started();
    let start = |routes: &[&str]| {
        let routes = routes.iter().map(|route| net(route)).collect();
        let plan = ClientPlan { routes, kill_switch: true, ..ClientPlan::default() };
        client(&networks.client, plan, wide()).started()
    };
    drop(start(&["203.0.113.0/24", "10.0.0.0/8"]));
    let second = start(&["198.51.100.0/24"]);
    shell(&networks.client, "nft flush ruleset");
    second.wait_until(|view| view.notices.iter().any(|notice| notice.contains("kill switch")));
    drop(second);
    watch(&networks);
    assert!(!ping(&networks.client, HOST4).0, "the first client's networks stay blocked");
    // A neighbour's datagram from port 123 does not open that port, and DHCP's port is no way out.
    let bind = |network: &exm_os::Namespace, to: &str| {
        let socket = network.run(|| UdpSocket::bind(to)).expect("it is free");
        socket.set_read_timeout(Some(Duration::from_millis(500))).expect("it can be set");
        socket
    };
    let neighbour = bind(&networks.server, "10.1.0.1:123");
    let ours = bind(&networks.client, "10.1.0.2:123");
    neighbour.send_to(b"forged", "10.1.0.2:123").expect("it is taken");
    let mut buffer = [0; 100];
    assert_eq!(ours.recv(&mut buffer).expect("it arrives"), 6);
    for to in ["10.1.0.1:123", "203.0.113.2:67"] {
        let sent = ours.send_to(b"secret", to).map_err(|error| error.kind());
        assert_eq!(sent, Err(io::ErrorKind::PermissionDenied), "{to}");
    }
    assert!(neighbour.recv(&mut buffer).is_err(), "it was answered");
    assert_eq!(leaked(&networks), 0);
    let lifted = networks.client.run(|| KillSwitch::adopt()?.expect("it is unused").lift());
    lifted.expect("it can be lifted");
}
