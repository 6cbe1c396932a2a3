//! A network behind a router whose uplink is a tunnel, set up as the manual says.

use crate::common::{Networks, client, possible, server, shell};
use crate::{HOST4, HOST6, connect, echo, echoes, echoes_datagram, seen_from};
use exm_os::Namespace;
use exm_session::Settings;
use exm_tunnel::{ClientPlan, ServerPlan};
use std::path::Path;

/// The page of the manual, if this is a checkout of the repository.
fn page() -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(folder.join("../cli/docs/tutorials/tunnel-router.md")).ok()
}

/// The text of the page's only block of the `language`.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let start = format!("```{language}\n");
    let (_, rest) = page.split_once(&start).expect("there is such a block");
    rest.split_once("```").expect("it ends").0
}

/// A network behind the client of `networks`, with the addresses of the page.
fn laptop(networks: &Networks) -> Namespace {
    let laptop = Namespace::new().expect("it is possible");
    let router = networks.client.path().display().to_string();
    shell(
        &laptop,
        &format!(
            "ip link set lo up
             ip link add e0 type veth peer name lan0 netns {router}
             ip address add 192.168.7.2/24 dev e0; ip address add fd00:7::2/64 dev e0 nodad
             ip link set e0 up"
        ),
    );
    shell(
        &networks.client,
        "ip address add 192.168.7.1/24 dev lan0; ip address add fd00:7::1/64 dev lan0 nodad
         ip link set lan0 up",
    );
    shell(&laptop, "ip route add default via 192.168.7.1; ip -6 route add default via fd00:7::1");
    laptop
}

/// Sets up the router by the commands and rules of the page.
fn set_up(router: &Namespace, page: &str) {
    let settings = page.lines().filter_map(|line| line.strip_prefix("sysctl -w "));
    for setting in settings {
        let (name, value) = setting.split_once('=').expect("a value");
        shell(router, &format!("echo {value} > /proc/sys/{}", name.replace('.', "/")));
    }
    shell(router, &format!("nft -f - <<'END'\n{}END", block(page, "nft")));
}

#[test]
fn a_network_behind_a_router_with_a_tunnel_reaches_the_internet() {
    if !possible() {
        return;
    }
    let Some(page) = page() else { return exm_testing::skip("without the manual") };
    let networks = Networks::new();
    let laptop = laptop(&networks);
    let _server = server(&networks.server, ServerPlan::default(), Settings::default()).started();
    let client = client(&networks.client, ClientPlan::default(), Settings::default());
    let view = client.report();
    assert_eq!(view.device, "exm0");
    set_up(&networks.client, &page);
    echo(&networks.host);
    for (host, own) in [(HOST4, "203.0.113.1"), (HOST6, "2001:db8:1::1")] {
        let mut stream = connect(&laptop, host);
        assert_eq!(seen_from(&mut stream).to_string(), own);
        echoes(&mut stream, 200_000);
        for length in [1, 1200, 5000] {
            echoes_datagram(&laptop, host, length);
        }
    }
    // The router says how large packets may be.
    let ping = shell(&laptop, "ping -M do -s 1450 -c 1 -W 1 203.0.113.2 2>&1 || true");
    assert!(ping.contains(&view.mtu.to_string()), "{ping}");
    // Without ICMP errors, and what was learnt from them, TCP depends on the clamped MSS.
    shell(
        &laptop,
        "nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }
              add rule inet t c icmp type destination-unreachable drop
              add rule inet t c icmpv6 type packet-too-big drop'
         ip route flush cache; ip -6 route flush cache",
    );
    for host in [HOST4, HOST6] {
        let mut stream = connect(&laptop, host);
        seen_from(&mut stream);
        echoes(&mut stream, 200_000);
    }
    // Nothing leaves past the tunnel when that is down.
    drop(client);
    shell(&networks.server, "ip route add 192.168.7.0/24 via 10.1.0.2");
    let direct = shell(&laptop, "ping -c 1 -W 1 10.9.0.1 2>&1 || true");
    assert!(direct.contains("100% packet loss"), "{direct}");
}
