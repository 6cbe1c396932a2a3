//! Devices, addresses and routes in network namespaces of their own. Skipped, saying so, where this
//! process may not make any.
#![cfg(target_os = "linux")]

use exm_os::{
    Clock, IpNet, Masquerade, Namespace, Netlink, Offload, Route, Segmentation, Tun, TunOptions,
    VNET_HEADER, VnetHeader, Waiter, read_net_sysctl, set_net_sysctl,
};
use exm_units::Span;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(100, 64, 0, last).into()
}

fn network(ip: IpAddr, prefix: u8) -> IpNet {
    IpNet::new(ip, prefix).unwrap()
}

/// A namespace with a device of address `last`, that routes everything into it.
fn end(last: u8, offload: Offload) -> (Namespace, Tun, u32) {
    let namespace = Namespace::new().unwrap();
    let (tun, index) = namespace
        .run(|| {
            let tun = Tun::new(&TunOptions { offload, ..TunOptions::default() })?;
            let netlink = Netlink::open().unwrap();
            let index = netlink.index(tun.name()).unwrap();
            netlink.set_mtu(index, 1400).unwrap();
            netlink.set_queue_length(index, 5000).unwrap();
            netlink.set_up(index).unwrap();
            netlink.add_address(index, network(ip(last), 24)).unwrap();
            netlink.add_route(&Route::default_by(index, None, ip(last))).unwrap();
            io::Result::Ok((tun, index))
        })
        .unwrap();
    (namespace, tun, index)
}

#[test]
fn what_is_set_can_be_read() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let (namespace, tun, index) = end(1, Offload::None);
    namespace
        .run(|| {
            let netlink = Netlink::open().unwrap();
            let link = netlink.link(index).unwrap();
            assert_eq!(link.name, tun.name());
            assert_eq!((link.is_up, link.mtu, link.queue_length), (true, 1400, 5000));
            assert_eq!(netlink.addresses(index).unwrap()[0], network(ip(1), 24));
            let path = netlink.resolve_route(Ipv4Addr::new(9, 9, 9, 9).into()).unwrap();
            assert_eq!((path.device, path.gateway, path.source), (index, None, Some(ip(1))));
            let again = netlink.add_address(index, network(ip(1), 24));
            let message = again.unwrap_err().to_string();
            assert!(message.contains("cannot add 100.64.0.1/24 to network device "), "{message}");
            let routes = netlink.routes(ip(1)).unwrap();
            let default = Route { metric: 0, ..Route::default_by(index, None, ip(1)) };
            assert!(routes.contains(&default), "{routes:?}");
            assert!(routes.iter().any(|route| route.destination.prefix_len() == 24), "{routes:?}");
            netlink.delete_route(&default).unwrap();
            assert_eq!(netlink.routes(ip(1)).unwrap().len(), routes.len() - 1);
            let more = network(ip(9), 32);
            netlink.add_address(index, more).unwrap();
            assert!(netlink.addresses(index).unwrap().contains(&more));
            netlink.delete_address(index, more).unwrap();
            assert!(!netlink.addresses(index).unwrap().contains(&more));
            let lost = netlink.resolve_route(Ipv4Addr::new(9, 9, 9, 9).into()).unwrap_err();
            assert!(lost.to_string().starts_with("there is no route to 9.9.9.9: "), "{lost}");
            assert!(netlink.index("none").unwrap_err().to_string().contains("\"none\""));
            set_net_sysctl("ipv4/tcp_ecn", "1")?;
            assert_eq!(read_net_sysctl("ipv4/tcp_ecn")?, "1");
            assert!(
                set_net_sysctl("ipv4/none", "1").unwrap_err().to_string().contains("ipv4/none")
            );
            io::Result::Ok(())
        })
        .unwrap();
    assert!(Netlink::open().unwrap().index(tun.name()).is_err(), "it is not in our own network");
}

#[test]
fn addresses_of_six_work_too() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let (namespace, _tun, index) = end(1, Offload::None);
    let six: IpAddr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into();
    namespace
        .run(|| {
            let netlink = Netlink::open().unwrap();
            netlink.add_address(index, network(six, 64)).unwrap();
            netlink.add_route(&Route::default_by(index, None, six)).unwrap();
            let world = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into();
            let path = netlink.resolve_route(world).unwrap();
            assert_eq!((path.device, path.source), (index, Some(six)));
            assert!(netlink.addresses(index).unwrap().contains(&network(six, 64)));
            io::Result::Ok(())
        })
        .unwrap();
}

/// Datagrams cross two devices, moved by hand; a burst crosses as one packet that is still to be cut,
/// where the kernel can.
#[test]
fn packets_cross_with_and_without_offloads() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    for offload in [Offload::None, Offload::TcpUdp] {
        let ((a, from, from_index), (b, to, _)) = (end(1, offload), end(2, offload));
        let sender = a.run(|| UdpSocket::bind((ip(1), 0))).unwrap();
        let receiver = b.run(|| UdpSocket::bind((ip(2), 7))).unwrap();
        sender.send_to(b"hello", (ip(2), 7)).unwrap();
        let waiter = Waiter::new(Clock::start(), Span::ZERO);
        let mut buffer = vec![0; 70_000];
        loop {
            waiter.wait([from.as_fd()], exm_units::Instant::MAX).unwrap();
            let length = from.read(&mut buffer).unwrap().unwrap();
            let packet = &buffer[from.header_len()..length];
            if packet[0] >> 4 != 4 {
                continue; // IPv6 neighbour discovery.
            }
            if offload != Offload::None {
                let header = VnetHeader::read(buffer[..VNET_HEADER].try_into().unwrap());
                assert_eq!(header.segmentation, Segmentation::None);
            }
            assert!(to.write(&[IoSlice::new(&buffer[..length])]).unwrap());
            break;
        }
        let (length, address) = receiver.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], address.ip()), (&b"hello"[..], ip(1)));
        let netlink = a.run(|| Ok::<_, io::Error>(Netlink::open().unwrap())).unwrap();
        let statistics = netlink.link(from_index).unwrap().statistics;
        assert!(statistics.sent >= 1 && statistics.send_dropped == 0, "{statistics:?}");
    }
}

#[test]
fn masquerading_is_there_and_gone_again() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let (namespace, ..) = end(1, Offload::None);
    let listed = || {
        let list = namespace.run(|| {
            let mut nft = std::process::Command::new("nft");
            nft.args(["list", "ruleset"]).output()
        });
        list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).ok()
    };
    let network4 = network(ip(9), 24);
    let masquerade = namespace.run(|| Masquerade::new("exm-test", network4)).unwrap();
    let network6 = network("fd65:1::7".parse().unwrap(), 64);
    let masquerade6 = namespace.run(|| Masquerade::new("exm-test", network6)).unwrap();
    let Some(rules) = listed() else {
        return exm_testing::skip("without nft");
    };
    assert!(rules.contains("ip saddr 100.64.0.0/24 masquerade"), "{rules}");
    assert!(rules.contains("ct state invalid drop"), "{rules}");
    assert!(rules.contains("flags owner"), "{rules}");
    assert!(rules.contains("ip6 saddr fd65:1::/64 masquerade"), "{rules}");
    drop((masquerade, masquerade6));
    assert_eq!(listed().as_deref(), Some(""));
}
