//! No traffic bypasses a tunnel that should carry it, and none comes through that should not.

use crate::common::{End, Networks, View, client, eventually, possible, server, shell};
use exm_os::{KillSwitch, Namespace};
use exm_session::Settings;
use exm_tunnel::{ClientPlan, ServerPlan};
use std::io;

pub(crate) const HOST4: &str = "203.0.113.2";
const HOST6: &str = "2001:db8:1::2";

/// The client's own IPv6 access, outside the tunnel, with a counter of its packets.
pub(crate) fn watch(networks: &Networks) {
    shell(
        &networks.client,
        "ip address add 2001:db8:2::2/64 dev w0 nodad; ip -6 route add default via 2001:db8:2::1
         nft add table inet seen
         nft add chain inet seen out '{ type filter hook postrouting priority 300; }'
         nft add rule inet seen out oifname 'w*' ip daddr 203.0.113.2 counter
         nft add rule inet seen out oifname 'w*' ip6 daddr 2001:db8:1::2 counter",
    );
    shell(&networks.server, "ip address add 2001:db8:2::1/64 dev w0 nodad");
}

/// How many packets went outside the tunnel.
pub(crate) fn leaked(networks: &Networks) -> u64 {
    let counters = "nft list table inet seen | sed -n 's/.*counter packets \\([0-9]*\\).*/\\1/p'";
    shell(&networks.client, counters)
        .lines()
        .map(|line| line.parse::<u64>().expect("a count"))
        .sum()
}

/// Whether a ping succeeded, and its output.
pub(crate) fn ping(from: &Namespace, to: &str) -> (bool, String) {
    let output = shell(from, &format!("ping -n -c 1 -W 2 {to} 2>&1 || echo no answer"));
    (!output.contains("no answer"), output)
}

pub(crate) fn assert_replies(from: &Namespace, to: &str) {
    let (replied, output) = ping(from, to);
    assert!(replied, "{output}");
}

pub(crate) fn wide() -> Settings {
    Settings::default()
}

fn narrow() -> Settings {
    Settings::new(exm_sprout::Settings::default(), 700).expect("large enough")
}

/// Waits until the client carries IPv6, or does not.
fn wait_for_six(client: &End<View>, has_ipv6: bool) {
    while client.report().has_ipv6 != has_ipv6 {}
}

#[test]
fn ipv6_is_unreachable_while_the_tunnel_is_too_narrow_for_it() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    watch(&networks);
    ping(&networks.client, HOST6);
    let before = leaked(&networks);
    assert!(before > 0, "packets outside the tunnel are counted");
    let ends = [wide(), narrow(), wide()];
    let mut client_end = None;
    for settings in ends {
        let _server = server(&networks.server, ServerPlan::default(), settings).started();
        let client = client_end
            .take()
            .unwrap_or_else(|| client(&networks.client, ClientPlan::default(), wide()));
        let has_ipv6 = settings.max_payload() == wide().max_payload();
        wait_for_six(&client, has_ipv6);
        assert_replies(&networks.client, HOST4);
        let (replied, output) = ping(&networks.client, HOST6);
        assert_eq!(replied, has_ipv6, "{output}");
        assert!(has_ipv6 || output.contains("No route"), "the sender is notified: {output}");
        assert_eq!(leaked(&networks), before);
        client_end = Some(client);
    }
    drop(client_end);
    ping(&networks.client, HOST6);
    assert!(leaked(&networks) > before, "the routes are restored");
}

/// The server's device loses its IPv6 settings while a client with a small MTU is connected.
#[test]
fn a_server_carries_ipv6_again_after_a_narrow_client() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let _server = server(&networks.server, ServerPlan::default(), wide()).started();
    for settings in [narrow(), wide()] {
        let client = client(&networks.client, ClientPlan::default(), settings);
        wait_for_six(&client, settings.max_payload() == wide().max_payload());
        assert_replies(&networks.client, HOST4);
    }
    let client = client(&networks.client, ClientPlan::default(), wide());
    wait_for_six(&client, true);
    assert_replies(&networks.client, HOST6);
}

#[test]
fn a_kill_switch_blocks_until_it_is_lifted() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    watch(&networks);
    let _server = server(&networks.server, ServerPlan::default(), wide()).started();
    let plan = || ClientPlan { kill_switch: true, ..ClientPlan::default() };
    let blocked = || {
        for host in [HOST4, HOST6] {
            // The kernel limits the rate of ICMP errors, so not every packet gets one.
            let is_rejected = eventually(|| {
                let (replied, output) = ping(&networks.client, host);
                assert!(!replied, "{output}");
                output.contains("not permitted") || output.contains("prohibited")
            });
            assert!(is_rejected, "{host} is blocked without an error");
        }
        assert_eq!(leaked(&networks), 0);
    };
    let first = client(&networks.client, plan(), wide()).started();
    for host in [HOST4, HOST6] {
        assert_replies(&networks.client, host);
    }
    // A local network is blocked as well, but connections to the client get replies.
    assert!(!ping(&networks.client, "10.1.0.1").0);
    assert_replies(&networks.server, "10.1.0.2");
    drop(first);
    blocked();
    assert_replies(&networks.server, "10.1.0.2");
    // Another tunnel takes it over although its plan does not ask for it.
    let second = client(&networks.client, ClientPlan::default(), wide()).started();
    assert_replies(&networks.client, HOST6);
    let mut third = client(&networks.client, plan(), wide());
    assert!(third.failed().to_string().contains("another tunnel"));
    drop(second);
    blocked();
    let lifted = networks.client.run(|| {
        KillSwitch::adopt()?.expect("it is unused").lift()?;
        io::Result::Ok(())
    });
    lifted.expect("it can be lifted");
    ping(&networks.client, HOST4);
    assert!(leaked(&networks) > 0);
}

/// Another network of the server's machine.
fn lan(networks: &Networks) -> Namespace {
    let lan = Namespace::new().expect("it is possible");
    shell(
        &networks.server,
        &format!(
            "ip link add l0 type veth peer name l0 netns {}
             ip address add 10.5.0.1/24 dev l0; ip link set l0 up",
            lan.path().display()
        ),
    );
    shell(
        &lan,
        "ip address add 10.5.0.2/24 dev l0; ip link set l0 up; ip route add default via 10.5.0.1
         nft add table ip seen
         nft add chain ip seen in '{ type filter hook prerouting priority 0; }'
         nft add rule ip seen in ip saddr 203.0.113.2 counter
         ",
    );
    shell(&networks.host, "ip route add 10.5.0.0/24 via 203.0.113.1");
    shell(&networks.host, "ip route add 100.64.0.0/10 via 203.0.113.1");
    lan
}

#[test]
fn a_server_forwards_to_its_uplink_and_replies_back() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let lan = lan(&networks);
    let seen = || shell(&lan, "nft list table ip seen").contains("packets 0 ");
    let client_ip = "ip -4 -o addr show dev exm0 | sed 's/.*inet \\([0-9.]*\\).*/\\1/'";
    for machine_forwards in [false, true] {
        let server = server(&networks.server, ServerPlan::default(), wide()).started();
        let client = client(&networks.client, ClientPlan::default(), wide()).started();
        assert_replies(&networks.client, HOST4);
        // Neither into the client nor, through the server, into its other networks.
        let own = shell(&networks.client, client_ip);
        assert!(!ping(&networks.host, own.trim()).0);
        if machine_forwards {
            break;
        }
        ping(&networks.host, "10.5.0.2");
        assert!(seen(), "the server's machine became a router for its neighbours");
        drop((client, server));
        shell(&networks.server, "echo 1 > /proc/sys/net/ipv4/ip_forward");
    }
    // Where the machine forwards anyway, the client is still blocked, unless it is allowed.
    for allowed in [Vec::new(), vec!["10.5.0.0/24".parse().expect("a range")]] {
        let may = !allowed.is_empty();
        let plan = ServerPlan { allowed, ..ServerPlan::default() };
        let _server = server(&networks.server, plan, wide()).started();
        let _client = client(&networks.client, ClientPlan::default(), wide()).started();
        assert_eq!(ping(&networks.client, "10.5.0.2").0, may);
    }
    let plan = ServerPlan { is_private: true, ..ServerPlan::default() };
    let _server = server(&networks.server, plan, wide()).started();
    let _client = client(&networks.client, ClientPlan::default(), wide()).started();
    assert!(!ping(&networks.client, HOST4).0, "the client reaches the server's machine alone");
    assert_replies(&networks.client, "203.0.113.1");
}

#[test]
fn a_client_accepts_packets_from_its_routes_only() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let _server = server(&networks.server, ServerPlan::default(), wide()).started();
    let routes = vec!["203.0.113.0/24".parse().expect("a range")];
    let _client =
        client(&networks.client, ClientPlan { routes, ..ClientPlan::default() }, wide()).started();
    shell(
        &networks.client,
        "nft add table ip seen
         nft add chain ip seen in '{ type filter hook prerouting priority 0; }'
         nft add rule ip seen in iifname exm0 ip saddr 10.9.0.1 counter
         nft add rule ip seen in iifname exm0 ip saddr 203.0.113.1 counter",
    );
    let own = "ip -4 -o addr show dev exm0 | sed 's/.*inet \\([0-9.]*\\).*/\\1/'";
    let own = shell(&networks.client, own);
    let own = own.trim();
    assert_replies(&networks.server, own);
    assert_replies(&networks.server, &format!("-I 203.0.113.1 {own}"));
    assert!(!ping(&networks.server, &format!("-I 10.9.0.1 {own}")).0);
    let seen = shell(&networks.client, "nft list table ip seen");
    let of = |ip: &str| seen.lines().find(|line| line.contains(ip)).unwrap_or_default().to_owned();
    assert!(of("10.9.0.1").contains("packets 0 "), "{seen}");
    assert!(of("203.0.113.1").contains("packets 1 "), "{seen}");
}
