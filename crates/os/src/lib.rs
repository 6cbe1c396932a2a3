#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Linux networking for user programs: TUN devices, network namespaces, addresses, routes, firewall rules,
//! packet sockets, pseudo-terminals, precise timers, signals.
//!
//! Its users need no `unsafe`: the system calls that rustix has no safe wrapper for are in one small module,
//! `sys`.
//!
//! **Nothing outlives the process, however it ends.** Whatever is set up here belongs to something that the
//! kernel removes when the process dies, even by SIGKILL:
//!
//! | what | is removed with |
//! |---|---|
//! | a TUN device with its addresses and routes | the file descriptor of [`Tun`] |
//! | a network namespace with its devices | the file descriptor of [`Namespace`], and the processes in it |
//! | a program in a namespace and its children | its PID namespace, whose init process dies with ours ([`Confined`]) |
//! | its `/etc/resolv.conf` | its mount namespace |
//! | masquerading and forwarding rules | the netlink socket that owns the table ([`Masquerade`], [`Forwarding`], [`AddressGuard`]) |
//! | a program in a pseudo-terminal | the file descriptor of [`Pty`]: it is hung up |
//! | promiscuous mode | the [`PacketSocket`] |
//! | a ban on CPU idle states | the file descriptor of [`IdleInhibitor`] |
//!
//! What the kernel does not undo, such as a sysctl or a system file, is restored by a shell that waits for our
//! process to end ([`Restore`]). Only a [`KillSwitch`] outlives the process, on purpose.
//!
//! Network namespaces are per thread: sockets, devices and files under `/proc/sys/net` belong to the namespace
//! of the thread that opens them. [`Namespace::run`] opens them in another.
#![cfg(target_os = "linux")]

mod address_guard;
mod bpf;
mod clock;
mod host;
mod idle_inhibitor;
mod kill_switch;
mod local;
mod login_record;
mod namespace;
mod netlink;
mod nft;
mod packet;
mod process;
mod pty;
mod remedy;
mod restore;
mod rights;
mod signals;
mod sys;
mod tcp;
mod tun;
mod tun_interface;
mod uplink;
mod vnet;
mod wait;

pub use address_guard::AddressGuard;
pub use bpf::{BpfLink, BpfMap, BpfMapSpec, BpfProgram, BpfProgramSpec, Btf};
pub use clock::Clock;
pub use host::{is_installed, nameservers, take_variable};
pub use idle_inhibitor::IdleInhibitor;
pub use ipnet::IpNet;
pub use kill_switch::KillSwitch;
pub use local::{is_served, runtime_folder};
pub use login_record::LoginRecord;
pub use namespace::{Namespace, read_net_sysctl, set_net_sysctl};
pub use netlink::{Link, Netlink, NetlinkError, ResolvedRoute, Route, Statistics};
pub use packet::PacketSocket;
pub use process::{Confined, Running};
pub use pty::{Pty, RawTerminal, TerminalSize, in_new_session};
pub use remedy::{namespace_remedy, network_remedy, tun_remedy};
pub use restore::{AtExit, Restore};
pub use rights::{
    Identity, Rights, RightsError, keep_memory_private, release_code, set_realtime_priority,
};
pub use signals::{Signal, SignalWatch, Signals};
pub use tcp::{TcpInfo, limit_unsent};
pub use tun::{MAX_PACKET, Offload, Tun, TunOptions};
pub use tun_interface::{TunInterface, TunInterfaceError};
pub use uplink::{DefaultRoute, Egress, Forwarding, ForwardingError, Masquerade};
pub use vnet::{Segmentation, VNET_HEADER, VnetHeader};
pub use wait::{AnyOf, Waiter};
