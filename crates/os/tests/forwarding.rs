//! Forwarding and the kill switch in network namespaces of their own. Skipped, saying so, where this
//! process may not make any.
#![cfg(target_os = "linux")]

use exm_os::{Egress, Forwarding, IpNet, KillSwitch, Namespace, read_net_sysctl, set_net_sysctl};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

#[track_caller]
fn possible() -> bool {
    exm_testing::can_make_networks(&["ip", "nft"])
}

fn network(ip: &str, prefix: u8) -> IpNet {
    IpNet::new(ip.parse().unwrap(), prefix).unwrap()
}

/// What a command prints in the network of this thread.
fn shell(script: &str) -> String {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A network with an uplink, a local network, and two devices to forward from.
fn router() -> Namespace {
    let router = Namespace::new().unwrap();
    router
        .run(|| {
            for (device, ip) in
                [("up0", "192.0.2.1"), ("lan0", "10.5.0.1"), ("a0", "10.6.0.1"), ("b0", "10.7.0.1")]
            {
                shell(&format!(
                    "ip link add {device} type veth peer name {device}x
                     ip addr add {ip}/24 dev {device}
                     ip link set {device} up; ip link set {device}x up"
                ));
            }
            shell("ip route add default via 192.0.2.9");
            io::Result::Ok(())
        })
        .unwrap();
    router
}

/// The rules without the lines that describe their layout.
fn rules() -> Vec<String> {
    let list = shell("nft list ruleset");
    list.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn forwarding_stays_on_until_the_last_is_gone() {
    if !possible() {
        return;
    }
    let up = || read_net_sysctl("ipv4/conf/up0/forwarding").unwrap();
    let ended = router().run(|| {
        let of = |device, ip| Forwarding::new(device, network(ip, 24), &Egress::Uplink(Vec::new()));
        assert_eq!(up(), "0");
        let a = of("a0", "10.6.0.0").unwrap();
        let b = of("b0", "10.7.0.0").unwrap();
        assert_eq!((a.uplink(), up().as_str()), (Some("up0"), "1"));
        drop(a);
        assert_eq!(up(), "1", "the other needs it");
        let guarded = rules().iter().any(|rule| rule.starts_with("iifname \"up0\" ct state"));
        assert!(guarded, "{:#?}", rules());
        drop(b);
        assert_eq!(up(), "0");
        assert!(rules().is_empty());
        // Where it is on without us, it stays on.
        set_net_sysctl("ipv4/conf/up0/forwarding", "1")?;
        drop(of("a0", "10.6.0.0").unwrap());
        assert_eq!(up(), "1");
        io::Result::Ok(())
    });
    ended.unwrap();
}

#[test]
fn rules_say_where_packets_may_go() {
    if !possible() {
        return;
    }
    let ended = router().run(|| {
        let of = |egress: &Egress| Forwarding::new("a0", network("10.6.0.0", 24), egress);
        let has = |part: &str| rules().iter().any(|rule| rule.contains(part));
        let nowhere = of(&Egress::Nowhere).unwrap();
        assert!(has("iifname \"a0\" drop") && !has("masquerade"), "{:#?}", rules());
        assert_eq!(
            (nowhere.uplink(), read_net_sysctl("ipv4/conf/up0/forwarding")?.as_str()),
            (None, "0")
        );
        drop(nowhere);
        let uplink = of(&Egress::Uplink(vec![network("10.5.0.0", 24)])).unwrap();
        assert!(has("iifname \"a0\" oifname \"up0\" accept"), "{:#?}", rules());
        assert!(has("iifname \"a0\" ip daddr 10.5.0.0/24 accept"), "{:#?}", rules());
        assert!(has("iifname \"a0\" drop") && has("iifname \"lan0\" ct state"), "{:#?}", rules());
        assert!(has("ip saddr 10.6.0.0/24 masquerade"), "{:#?}", rules());
        drop(uplink);
        let unknown = of(&Egress::Uplink(vec![network("10.9.0.0", 24)]));
        assert!(unknown.is_ok(), "the default route leads there");
        drop(unknown);
        shell("ip route del default");
        let unknown = of(&Egress::Uplink(vec![network("10.9.0.0", 24)])).unwrap_err().to_string();
        assert!(unknown.starts_with("the network 10.9.0.0/24 cannot be reached: "), "{unknown}");
        io::Result::Ok(())
    });
    ended.unwrap();
}

#[test]
fn a_kill_switch_stays_until_it_is_lifted() {
    if !possible() {
        return;
    }
    let ended = router().run(|| {
        let everything = || vec![network("0.0.0.0", 1), network("8000::", 1)];
        assert!(!KillSwitch::is_engaged());
        let mut engaged = KillSwitch::engage(everything())?.expect("it is unused");
        assert!(KillSwitch::engage(everything())?.is_none(), "it is in use");
        assert!(KillSwitch::adopt()?.is_none(), "it is in use");
        engaged.allow("a0")?;
        let listed = rules();
        for part in [
            "oifname \"a0\" accept",
            "meta mark 0x0065786d accept",
            "ct direction reply tcp flags",
            "ip daddr 255.255.255.255 udp dport 67-67 accept",
            "ip daddr 169.254.0.0/16 udp dport 67-67 accept",
            "ct direction reply icmp type 0-0 accept",
            "ip6 daddr fe80::/10 accept",
            "ip daddr 0.0.0.0/1 reject with icmpx admin-prohibited",
            "ip6 daddr 8000::/1 reject with icmpx admin-prohibited",
        ] {
            let count = listed.iter().filter(|rule| rule.contains(part)).count();
            assert_eq!(count, 2, "{part}: {listed:#?}");
        }
        assert!(!engaged.renew()?, "all rules are there");
        for damage in ["nft flush ruleset", "nft flush chain inet exm-kill-switch output"] {
            shell(damage);
            assert!(engaged.renew()?, "{damage}");
            assert_eq!(rules(), listed);
        }
        drop(engaged);
        assert!(KillSwitch::is_engaged(), "the process ended");
        let narrow = vec![network("192.0.2.0", 24), network("0.0.0.0", 1)];
        let next = KillSwitch::engage(narrow)?.expect("it is unused");
        let all = [network("0.0.0.0", 1), network("192.0.2.0", 24), network("8000::", 1)];
        assert_eq!(next.networks(), all, "the union");
        drop(next);
        KillSwitch::adopt()?.expect("it is unused").lift()?;
        assert!(!KillSwitch::is_engaged() && rules().is_empty());
        let inode = std::fs::metadata("/proc/thread-self/ns/net")?.ino();
        let lock = format!("/run/exm/net-{inode}-kill-switch");
        assert!(!std::fs::exists(lock)?, "an empty lock file is removed");
        let alone = KillSwitch::engage(vec![network("192.0.2.0", 24)])?.expect("it is unused");
        assert_eq!(alone.networks(), [network("192.0.2.0", 24)], "the lifted one is forgotten");
        io::Result::Ok(())
    });
    ended.unwrap();
}
