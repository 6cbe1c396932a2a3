//! [`Fragments`]: the flows of IP fragments.

use exm_packet::{Flow, Packet};
use std::collections::VecDeque;
use std::net::IpAddr;

/// The most packets whose fragments are expected; fragments arrive close together.
const MOST: usize = 64;

/// What all fragments of a packet share (RFC 791, section 3.2; RFC 8200, section 4.5).
type Whole = (IpAddr, IpAddr, u8, u32);

/// The flows of packets whose first fragment has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    recent: VecDeque<(Whole, Flow)>,
}

impl Fragments {
    /// The flow of `packet`. A fragment belongs to the flow of its first fragment, which has the ports; if
    /// that has not arrived, to the flow without ports.
    pub(super) fn flow_of(&mut self, packet: &Packet) -> Flow {
        let flow = packet.flow;
        let Some(fragment) = packet.fragment else { return flow };
        let whole = (flow.from.0, flow.to.0, flow.protocol, fragment.id);
        if !fragment.is_first {
            let known = self.recent.iter().rev().find(|(of, _)| *of == whole);
            return known.map_or(flow, |&(_, flow)| flow);
        }
        if self.recent.len() == MOST {
            self.recent.pop_front();
        }
        self.recent.push_back((whole, flow));
        flow
    }
}
