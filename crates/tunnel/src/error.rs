//! [`TunnelError`]: why a tunnel fails.

use crate::clients::ClientsError;
use crate::network::Network;
use exm_os::{ForwardingError, NetlinkError, TunInterfaceError, tun_remedy};
use ipnet::IpNet;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a tunnel cannot be set up, or ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunnelError {
    /// The TUN device cannot be created.
    #[error("cannot create the TUN device {name}: {source}; {}", remedy(source))]
    Device {
        /// The name of the device.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The device cannot be set up.
    #[error("the tunnel's device cannot be set up: {0}")]
    SetUp(#[from] NetlinkError),
    /// The device failed.
    #[error("the tunnel's device is gone: {0}")]
    Gone(io::Error),
    /// All networks for tunnels are in use.
    #[error(
        "all networks from 100.96.0.0/24 on are in use on this machine: give the tunnel another by --network"
    )]
    NoNetwork,
    /// The server has an address in the network that it was given.
    #[error(
        "this machine already has the address {used} of the network {}: give the tunnel \
         another by --network", network.ipv4()
    )]
    Taken {
        /// The network.
        network: Network,
        /// The machine's address.
        used: IpAddr,
    },
    /// The addresses that the server chose are in a network of the client.
    #[error(
        "the server chose {} and {} for the tunnel, which conflict with {used}, a network of this machine: \
         start the server with another --network", network.server(), network.client()
    )]
    Conflict {
        /// The network that the server chose.
        network: Network,
        /// The machine's address with its network.
        used: IpNet,
    },
    /// Packets to the tunnel's addresses cannot be filtered.
    #[error(
        "packets to the tunnel's addresses from outside it cannot be dropped: {0}; load the module of \
         nftables (modprobe nf_tables)"
    )]
    Guard(io::Error),
    /// The other end is not a tunnel.
    #[error("the server responds, but not as a tunnel: was it started by \"exm tunnel serve\"?")]
    NoTunnel,
    /// The file of the server's clients is unusable.
    #[error(transparent)]
    Clients(#[from] ClientsError),
    /// Another client has the same key.
    #[error(
        "another client with this key has connected from {by}, and a server serves only the one that connected \
         last: give each client a key of its own (\"exm tunnel clients add\" on the server)"
    )]
    Displaced {
        /// Its address.
        by: SocketAddr,
    },
    /// The server's administrator has revoked the key.
    #[error(
        "the server accepts this key no longer: it was revoked there (\"exm tunnel clients revoke\")"
    )]
    Revoked,
    /// The other end has another version.
    #[error(
        "the other end speaks version {theirs} of the tunnel's protocol, this one {ours}: \
             update the older of them"
    )]
    Version {
        /// The version of the other end.
        theirs: u8,
        /// The version of this end.
        ours: u8,
    },
    /// Forwarding cannot be set up.
    #[error("the client's packets cannot be forwarded: {0}")]
    Forwarding(#[from] ForwardingError),
    /// The settings of the device cannot be restored.
    #[error("packets can no longer be forwarded: {0}")]
    Renewal(io::Error),
    /// The kill switch cannot be engaged.
    #[error(
        "traffic outside the tunnel cannot be blocked: {0}; load the modules of nftables \
         (modprobe nft_ct nft_reject_inet)"
    )]
    KillSwitch(io::Error),
    /// Another tunnel has the kill switch.
    #[error("another tunnel of this machine has the kill switch: end that first")]
    KillSwitchHeld,
    /// The session cannot be bound to the device through which the server is reached.
    #[error(
        "the session cannot be bound to the device \"{device}\", as its own routes require: \
             {source}"
    )]
    UnderlayRoute {
        /// The device.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// The machine's resolvers cannot be changed.
    #[error("the resolvers cannot be set to {}: {source}", list(servers))]
    Dns {
        /// The resolvers.
        servers: Vec<IpAddr>,
        /// The system's error.
        source: io::Error,
    },
}

impl TunnelError {
    /// The failure to create the device called `name`.
    pub(crate) fn creating(name: &str, error: TunInterfaceError) -> TunnelError {
        match error {
            TunInterfaceError::Device(source) => {
                TunnelError::Device { name: name.to_owned(), source }
            }
            TunInterfaceError::SetUp(error) => TunnelError::SetUp(error),
        }
    }
}

/// What to do about a TUN device that cannot be created.
fn remedy(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::ResourceBusy => {
            "give it a name that no other device has (--device)".to_owned()
        }
        _ => tun_remedy(),
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
