//! What is asked of the Linux kernel.
//!
//! Devices, namespaces, addresses, routes, packet sockets, precise waiting, signals. Whoever uses it
//! needs no `unsafe`: what the safe wrappers of `nix` do not cover is in one small module, `sys`.
//!
//! **Nothing outlives the process, however it ends.** Whatever is set up here belongs to something
//! that the kernel takes down itself when the process dies, by SIGKILL too:
//!
//! | what | is gone with |
//! |---|---|
//! | a TUN device, its addresses, its routes | the file descriptor of [`Tun`] |
//! | a network namespace and all that is in it | the file descriptor of [`Namespace`], and the processes in it |
//! | a program in a namespace and those it started | its own namespace of processes, whose first dies with us ([`Confined`]) |
//! | its view of `/etc/resolv.conf` | its own namespace of mounts |
//! | masquerading and rules | the netlink socket that owns the table ([`Masquerade`], [`Forwarding`]) |
//! | promiscuous mode | the [`PacketSocket`] |
//! | processors that stay awake | the file descriptor of [`AwakeProcessors`] |
//!
//! What the kernel does not take back, such as a forwarding switch or a file of the system, is
//! restored by a shell that waits for us to end ([`Restore`]). Only a [`KillSwitch`] is meant to stay.
//!
//! Threads have namespaces of their own: sockets, devices and files under `/proc/sys/net` belong to
//! the network of the thread that opens them. [`Namespace::run`] opens them elsewhere.
#![cfg(target_os = "linux")]

mod awake;
mod clock;
mod forwarding;
mod kill_switch;
mod masquerade;
mod namespace;
mod netlink;
mod nft;
mod packet;
mod process;
mod restore;
mod rights;
mod signals;
mod sys;
mod tun;
mod vnet;
mod wait;

/// Takes the variable `name` out of the environment, so that no program that is started from now on
/// has it, and returns its value. It has to be called while this process has one thread: later the
/// value is returned, and the variable stays. The kernel goes on showing what the process was started
/// with, to its own user and to root alone (`/proc/PID/environ`, proc(5)).
pub fn take_variable(name: &str) -> Option<std::ffi::OsString> {
    sys::take_variable(name)
}

pub use awake::AwakeProcessors;
pub use clock::Clock;
pub use forwarding::{Egress, Forwarding, ForwardingError};
pub use kill_switch::KillSwitch;
pub use masquerade::Masquerade;
pub use namespace::{Namespace, read_net, set_net};
pub use netlink::{Address, Destination, Link, Netlink, NetlinkError, Path, Route, Statistics};
pub use packet::PacketSocket;
pub use process::{Confined, Running};
pub use restore::{AtExit, Restore};
pub use rights::{Identity, Rights, RightsError, set_realtime_priority};
pub use signals::{Signal, Signals};
pub use tun::{MAX_PACKET, Offload, Tun, TunOptions};
pub use vnet::{Segmentation, VNET_HEADER, VnetHeader};
pub use wait::{AnyOf, Waiter};
