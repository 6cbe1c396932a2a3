//! [`Host`]: the transport that a controller runs on.

use super::Network;
use super::Transport;
use crate::controllers::AnyController;
use exm_cc::Needs;
use exm_link::Ecn;
use std::fmt;

/// The ECN codepoint of the packets of a controller with these `needs`, whose host uses ECN by itself if it is `on`.
#[inline]
pub(crate) fn codepoint(needs: Needs, on: bool) -> Ecn {
    match (needs.l4s, needs.marks || on) {
        (true, _) => Ecn::LowLatency,
        (false, true) => Ecn::Capable,
        (false, false) => Ecn::NotCapable,
    }
}

/// The transport that executes a controller's decisions: its sender and its receiver.
///
/// One and the same controller gives different results on different hosts, so only results on the same
/// host can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// TCP: losses are detected and repaired, data is delivered in order, and each packet has headers.
    #[default]
    Tcp,
    /// The bare sender that RemyCCs are trained on: nothing is retransmitted, and a packet is entirely
    /// data.
    Bare,
    /// QUIC: losses are detected and repaired as RFC 9002 has it; headers count as TCP's do.
    Quic,
}

impl Host {
    /// All, the default first.
    pub const ALL: [Host; 3] = [Host::Tcp, Host::Bare, Host::Quic];
    /// Their names, in that order.
    pub const NAMES: [&'static str; 3] = [Host::Tcp.name(), Host::Bare.name(), Host::Quic.name()];

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Host::Tcp => "tcp",
            Host::Bare => "bare",
            Host::Quic => "quic",
        }
    }

    /// The host called `name`, if one is.
    pub fn named(name: &str) -> Option<Host> {
        Host::ALL.into_iter().find(|host| host.name() == name)
    }

    /// Whether `controller` was made for this host, so that its results there are representative.
    ///
    /// Controllers designed by people are made for TCP and QUIC: they need loss recovery. RemyCCs are trained
    /// on the bare host, and the AIMD of the original program was written for it; both run over TCP as
    /// well. Those for media retransmit nothing.
    ///
    /// ```
    /// use exm_sim::controllers::AnyController;
    /// use exm_sim::network::Host;
    ///
    /// let cubic = AnyController::named("cubic").unwrap();
    /// assert!(Host::Tcp.suits(&cubic) && !Host::Bare.suits(&cubic));
    /// assert!(Host::Bare.suits(&AnyController::named("aimd").unwrap()));
    /// ```
    pub const fn suits(self, controller: &AnyController) -> bool {
        match self {
            Host::Tcp | Host::Quic => true,
            Host::Bare => matches!(
                controller,
                AnyController::Remy(_)
                    | AnyController::Aimd(_)
                    | AnyController::Gcc(_)
                    | AnyController::Nada(_)
                    | AnyController::Scream(_)
            ),
        }
    }

    /// `controller` on this host, with the default settings: of TCP or QUIC, or for the bare host a
    /// retransmission timer where the controller [relies on one](AnyController::keeps_timer).
    pub fn transport(self, controller: AnyController) -> Transport {
        match self {
            Host::Tcp => Transport::Tcp { controller, settings: exm_tcp::Settings::default() },
            Host::Quic => Transport::Tcp { controller, settings: exm_tcp::Settings::quic() },
            Host::Bare => Transport::Bare { timer: controller.keeps_timer(), controller },
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Host::Tcp => "TCP",
            Host::Bare => "bare",
            Host::Quic => "QUIC",
        })
    }
}

/// The hosts of the senders in `networks`, each once in order of appearance, for headers: "tcp", or
/// "tcp, bare". Sprout's senders run on a host of their own, "sprout".
pub fn hosts<'a>(networks: impl IntoIterator<Item = &'a Network>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for flow in networks.into_iter().flat_map(Network::flows) {
        let name = flow.transport.host_name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}
