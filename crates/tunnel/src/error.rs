//! [`TunnelError`]: why there is no tunnel.

use crate::network::Network;
use exm_os::{ForwardingError, NetlinkError};
use std::io;
use std::net::IpAddr;

/// Why there is no tunnel, or why it ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunnelError {
    /// No device.
    #[error("the TUN device {name} cannot be made: {source}; {}", way_out(source))]
    Device {
        /// What it was to be called.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The device cannot be set up.
    #[error("the tunnel's device cannot be set up: {0}")]
    SetUp(#[from] NetlinkError),
    /// The device failed.
    #[error("the tunnel's device is gone: {0}")]
    Gone(io::Error),
    /// All are in use.
    #[error(
        "all networks from 100.96.0.0/24 on are in use here: give the tunnel another by --network"
    )]
    NoNetwork,
    /// The server has addresses in the network that it was given.
    #[error(
        "this machine has the address {used} already, which is of the network {}: give the tunnel \
         another by --network", network.cidr()
    )]
    Taken {
        /// What it was given.
        network: Network,
        /// The machine's address.
        used: IpAddr,
    },
    /// The client has addresses in the network that the server chose.
    #[error(
        "this machine has the address {used} already, which is of the network {} that the server \
         chose: start that with another --network", network.cidr()
    )]
    Conflict {
        /// What the server chose.
        network: Network,
        /// The machine's address.
        used: IpAddr,
    },
    /// The other end is something else.
    #[error("the server answers, but not as a tunnel: is it run by \"exm tunnel serve\"?")]
    NoTunnel,
    /// The other end is of another version.
    #[error(
        "the other end speaks version {theirs} of the tunnel's protocol, this one {ours}: \
             update the older of them"
    )]
    Version {
        /// What the other end speaks.
        theirs: u8,
        /// What this one speaks.
        ours: u8,
    },
    /// What the client sends cannot be forwarded.
    #[error("what the client sends cannot be forwarded: {0}")]
    Forwarding(#[from] ForwardingError),
    /// The settings of the tunnel's device cannot be set again.
    #[error("packets cannot be forwarded any more: {0}")]
    Renewal(io::Error),
    /// The kill switch cannot be engaged.
    #[error(
        "traffic past the tunnel cannot be blocked: {0}; load the modules of nftables \
         (modprobe nft_ct nft_reject_inet)"
    )]
    KillSwitch(io::Error),
    /// Another tunnel has the kill switch.
    #[error("another tunnel of this machine has the kill switch: end that first")]
    KillSwitchHeld,
    /// The device by which the server is reached cannot be used.
    #[error(
        "the session cannot keep to the device \"{device}\", as it must beside its own routes: \
             {source}"
    )]
    Exit {
        /// By which the server is reached.
        device: String,
        /// What the system said.
        source: io::Error,
    },
    /// The machine's resolvers cannot be changed.
    #[error("the resolvers cannot be set to {}: {source}", list(servers))]
    Dns {
        /// What they were to be.
        servers: Vec<IpAddr>,
        /// What the system said.
        source: io::Error,
    },
}

/// What to do where there is no TUN device.
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::ResourceBusy => {
            "give it a name that no other device has (--device)"
        }
        _ => "it takes root's rights, /dev/net/tun, and the module tun (modprobe tun)",
    }
}

fn list(ips: &[IpAddr]) -> String {
    ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

impl From<TunnelError> for io::Error {
    fn from(error: TunnelError) -> io::Error {
        io::Error::other(error)
    }
}
