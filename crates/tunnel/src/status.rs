//! [`Status`]: what a running tunnel does, as other programs read it.

use crate::client::Client;
use crate::flows::FlowQueues;
use crate::pipe::{Counters, Pipe};
use crate::server::Server;
use crate::shared_server::{Member, SharedServer};
use crate::{Flow, Network};
use exm_endpoint::SocketErrors;
use exm_session::{Listener, Session, State, Stats};
use exm_sprout::Forecast;
use exm_units::{Bytes, Instant, Span};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// The most flows of a status: those that were active last.
const MAX_FLOWS: usize = 64;

/// A tunnel at one moment. In JSON it is the reply to `GET /status` of a [`Control`](crate::Control), an object; later
/// versions may have further keys. Counters count from the start of the process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// The ID of its process.
    pub process: u32,
    /// Which end it is.
    pub role: Role,
    /// How long it has run, in seconds.
    pub seconds: f64,
    /// Its network device, once there is one.
    pub device: Option<String>,
    /// The size of the largest packets, in bytes.
    pub mtu: Option<u16>,
    /// The network of the addresses in the tunnel, once it is known.
    pub network: Option<String>,
    /// Received datagrams that no session has seen, of a server of many clients.
    pub unrouted: Option<UnroutedStatus>,
    /// Failures to send or receive.
    pub socket_errors: SocketErrorsStatus,
    /// Its sessions: one, or that of each client, in the order of their names.
    pub sessions: Vec<SessionStatus>,
    /// Its flows, those that were active last first; at most 64. None of a server of many clients.
    pub flows: Vec<FlowStatus>,
}

/// Which end of a tunnel it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A server of one client.
    Server,
    /// A server of many clients.
    SharedServer,
    /// A client.
    Client,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Server => "server",
            Role::SharedServer => "shared-server",
            Role::Client => "client",
        })
    }
}

/// Received datagrams that were dropped before a session saw them; see [`Unrouted`](exm_session::Unrouted).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct UnroutedStatus {
    /// No client's key fits.
    pub strange: u64,
    /// From an unknown address, when the keys that may be tried in a second had been tried.
    pub untried: u64,
    /// Handshake messages of a client beyond 20 a second.
    pub hellos: u64,
    /// Beyond a client's share while the server was overloaded.
    pub excess: u64,
    /// Packets of this machine that were for no client.
    pub unowned: u64,
}

/// Failures to send or receive, by reason; see [`SocketErrors`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SocketErrorsStatus {
    /// The system had no buffer space.
    pub full: u64,
    /// No route leads to the other end.
    pub unreachable: u64,
    /// Nothing listens at the other end.
    pub refused: u64,
    /// Datagrams exceed the path MTU.
    pub too_large: u64,
    /// Any other.
    pub other: u64,
}

/// A session of a tunnel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    /// The client's name, at a server of many clients.
    pub client: Option<String>,
    /// The client's IPv4 address in the tunnel, once it is known.
    pub address: Option<String>,
    /// Its state.
    pub state: SessionState,
    /// The UDP address of the other end.
    pub peer: Option<String>,
    /// How long ago the last datagram arrived, in milliseconds.
    pub silent_ms: Option<f64>,
    /// The smoothed RTT in milliseconds.
    pub srtt_ms: Option<f64>,
    /// The bytes that may be sent now.
    pub window_bytes: u64,
    /// The bytes believed to be in flight.
    pub in_flight_bytes: u64,
    /// The bytes that the link will deliver, by the other end's forecast; what is queued beyond is dropped.
    pub deliverable_bytes: u64,
    /// Whether other senders fill the queue of the link to the other end.
    pub is_crowded: bool,
    /// The other end's forecast: the bytes that it will have received after 20, 40, ..., 160 ms.
    pub send_forecast_bytes: Vec<u64>,
    /// This end's forecast of what it will have received after 20, 40, ..., 160 ms.
    pub receive_forecast_bytes: Vec<u64>,
    /// Its datagrams.
    pub datagrams: DatagramStatus,
    /// The packets to the other end.
    pub queue: QueueStatus,
    /// The packets from the other end, and those that were not carried.
    pub packets: PacketStatus,
}

/// The state of a session; see [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// No handshake has completed yet.
    Waiting,
    /// Datagrams arrive.
    Established,
    /// Nothing has arrived for 10 s.
    Silent,
}

/// The UDP datagrams of a session; see [`Counters`](exm_session::Counters).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DatagramStatus {
    /// Sent, without handshakes.
    pub sent: u64,
    /// Their UDP payload in bytes.
    pub sent_bytes: u64,
    /// Received, and authentic.
    pub received: u64,
    /// Their UDP payload in bytes.
    pub received_bytes: u64,
    /// Sent with a packet in them.
    pub carried: u64,
    /// Received with a packet in them.
    pub delivered: u64,
    /// Received and dropped, by reason.
    pub dropped: DroppedStatus,
    /// Authentic, but with a malformed header.
    pub malformed: u64,
    /// Packets that were empty or too large to send.
    pub unsendable: u64,
    /// Handshake messages from senders without the key.
    pub unauthenticated: u64,
    /// Completed handshakes.
    pub sessions: u64,
    /// How often another client with the key has taken the place of one that was still sending.
    pub displaced: u64,
    /// How often the client's address changed.
    pub moves: u64,
    /// How often the client changed its port.
    pub hops: u64,
}

/// Received datagrams that were dropped, by reason; see [`Dropped`](exm_datagram::Dropped).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DroppedStatus {
    /// Too short to be one.
    pub short: u64,
    /// This end's own, reflected.
    pub wrong_direction: u64,
    /// Received before.
    pub replayed: u64,
    /// Older than what can be told from a replay.
    pub too_old: u64,
    /// Not authentic.
    pub forged: u64,
}

/// The packets to the other end. Bytes are those on the link, with the overhead of each packet.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct QueueStatus {
    /// The packets that wait.
    pub waiting_packets: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// The most bytes that may wait.
    pub bound_bytes: u64,
    /// The packets sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// The packets dropped, because more waited than the link will deliver soon.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// The packets from the other end, and those that were not carried; see [`Counters`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PacketStatus {
    /// Received and accepted by this machine.
    pub received_packets: u64,
    /// Their bytes on the link.
    pub received_bytes: u64,
    /// Received, but not accepted by this machine.
    pub refused: u64,
    /// Received with a source address that the other end may not use.
    pub foreign: u64,
    /// What is not an IP packet, from either side.
    pub malformed: u64,
    /// Beyond the MTU, so that an ICMP error was sent.
    pub too_big: u64,
    /// TCP SYN packets whose maximum segment size was clamped.
    pub clamped: u64,
}

/// A flow of a tunnel, as seen from this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Its protocol, source and destination; `others` for those that share a queue.
    pub flow: String,
    /// The bytes that wait.
    pub waiting_bytes: u64,
    /// How long the last packet sent has waited, in milliseconds.
    pub waited_ms: f64,
    /// The bytes sent.
    pub sent_bytes: u64,
    /// The bytes received.
    pub received_bytes: u64,
    /// The packets dropped.
    pub dropped_packets: u64,
}

impl Status {
    /// The status of a server of one client.
    pub fn of_server(session: &Session, server: &Server) -> Status {
        Status::of_one(session, Role::Server, Some(server.pipe()), Some(server.network()))
    }

    /// The status of a client.
    pub fn of_client(session: &Session, client: &Client) -> Status {
        Status::of_one(session, Role::Client, client.pipe(), client.network())
    }

    fn of_one(
        session: &Session,
        role: Role,
        pipe: Option<&Pipe>,
        network: Option<Network>,
    ) -> Status {
        let (now, stats) = (session.clock().now(), session.stats());
        let queue = pipe.map(|pipe| QueueStatus::of(pipe.queues())).unwrap_or_default();
        let counters = pipe.map(Pipe::counters).unwrap_or_default();
        let one = SessionStatus {
            address: network.map(|network| network.client().to_string()),
            queue,
            packets: counters.into(),
            ..SessionStatus::new(now, &stats)
        };
        Status {
            device: pipe.map(|pipe| pipe.device_name().to_owned()),
            mtu: pipe.map(Pipe::mtu),
            network: network.map(|network| network.ipv4().to_string()),
            socket_errors: stats.counters.socket_errors.into(),
            sessions: vec![one],
            flows: pipe.map(flows).unwrap_or_default(),
            ..Status::new(role, now)
        }
    }

    /// The status of a server of many clients.
    pub fn of_shared(listener: &Listener, server: &SharedServer) -> Status {
        let now = listener.clock().now();
        let unrouted = listener.unrouted();
        let session = |(id, member): (_, &Member)| {
            Some(SessionStatus {
                client: Some(member.name().to_owned()),
                address: Some(member.network().client().to_string()),
                queue: QueueStatus::of(member.queues()),
                packets: member.counters().into(),
                ..SessionStatus::new(now, &listener.stats(id)?)
            })
        };
        let mut sessions: Vec<SessionStatus> = server.members().filter_map(session).collect();
        sessions.sort_by(|a, b| a.client.cmp(&b.client));
        Status {
            device: Some(server.device_name().to_owned()),
            mtu: Some(server.mtu()),
            network: Some(server.network().ipv4().to_string()),
            unrouted: Some(UnroutedStatus {
                strange: unrouted.strange,
                untried: unrouted.untried,
                hellos: unrouted.hellos,
                excess: unrouted.excess,
                unowned: server.unowned(),
            }),
            socket_errors: listener.socket_errors().into(),
            sessions,
            ..Status::new(Role::SharedServer, now)
        }
    }

    /// Of a tunnel that has just been started.
    fn new(role: Role, now: Instant) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            role,
            seconds: now.as_secs_f64(),
            device: None,
            mtu: None,
            network: None,
            unrouted: None,
            socket_errors: SocketErrors::default().into(),
            sessions: Vec::new(),
            flows: Vec::new(),
        }
    }
}

impl SessionStatus {
    /// The status of a session without packets.
    fn new(now: Instant, stats: &Stats) -> SessionStatus {
        let counters = stats.counters;
        let silent = stats.last_received_at.map(|at| now.saturating_since(at));
        SessionStatus {
            client: None,
            address: None,
            state: stats.state.into(),
            peer: stats.peer.map(|peer| peer.to_string()),
            silent_ms: silent.map(Span::as_millis_f64),
            srtt_ms: stats.srtt.map(Span::as_millis_f64),
            window_bytes: stats.window.get(),
            in_flight_bytes: stats.in_flight.get(),
            deliverable_bytes: stats.deliverable.get(),
            is_crowded: stats.is_crowded,
            send_forecast_bytes: forecast(&stats.peer_forecast),
            receive_forecast_bytes: forecast(&stats.own_forecast),
            datagrams: counters.into(),
            queue: QueueStatus::default(),
            packets: PacketStatus::default(),
        }
    }
}

fn forecast(forecast: &Forecast) -> Vec<u64> {
    forecast.delivered.iter().copied().map(Bytes::get).collect()
}

/// The flows of `pipe` that were active last, both directions together.
fn flows(pipe: &Pipe) -> Vec<FlowStatus> {
    let mut flows: BTreeMap<Option<Flow>, (Instant, FlowStatus)> = BTreeMap::new();
    let none = |flow: Option<Flow>| FlowStatus {
        flow: flow.map_or_else(|| "others".to_owned(), |flow| flow.to_string()),
        waiting_bytes: 0,
        waited_ms: 0.0,
        sent_bytes: 0,
        received_bytes: 0,
        dropped_packets: 0,
    };
    for state in pipe.queues().flows() {
        let status = FlowStatus {
            waiting_bytes: state.waiting.bytes,
            waited_ms: state.waited.as_millis_f64(),
            sent_bytes: state.sent.bytes,
            dropped_packets: state.dropped.packets,
            ..none(state.flow)
        };
        flows.insert(state.flow, (state.used_at, status));
    }
    for (flow, received) in pipe.ledger().flows() {
        let flow = Some(flow.reversed());
        let (used_at, status) = flows.entry(flow).or_insert_with(|| (Instant::ZERO, none(flow)));
        *used_at = received.used_at.max(*used_at);
        status.received_bytes = received.tally.bytes;
    }
    let mut flows: Vec<(Instant, FlowStatus)> = flows.into_values().collect();
    flows.sort_by_key(|(used_at, _)| Reverse(*used_at));
    flows.truncate(MAX_FLOWS);
    flows.into_iter().map(|(_, status)| status).collect()
}

impl QueueStatus {
    fn of(queues: &FlowQueues) -> QueueStatus {
        let (waiting, sent, dropped) = (queues.waiting(), queues.sent(), queues.dropped());
        QueueStatus {
            waiting_packets: waiting.packets,
            waiting_bytes: waiting.bytes,
            bound_bytes: queues.bound().get(),
            sent_packets: sent.packets,
            sent_bytes: sent.bytes,
            dropped_packets: dropped.packets,
            dropped_bytes: dropped.bytes,
        }
    }
}

impl From<Counters> for PacketStatus {
    fn from(counters: Counters) -> PacketStatus {
        PacketStatus {
            received_packets: counters.received.packets,
            received_bytes: counters.received.bytes,
            refused: counters.refused,
            foreign: counters.foreign,
            malformed: counters.malformed,
            too_big: counters.too_big,
            clamped: counters.clamped,
        }
    }
}

impl From<exm_session::Counters> for DatagramStatus {
    fn from(counters: exm_session::Counters) -> DatagramStatus {
        DatagramStatus {
            sent: counters.sent,
            sent_bytes: counters.sent_bytes.get(),
            received: counters.received,
            received_bytes: counters.received_bytes.get(),
            carried: counters.carried,
            delivered: counters.delivered,
            dropped: DroppedStatus {
                short: counters.dropped.short,
                wrong_direction: counters.dropped.wrong_direction,
                replayed: counters.dropped.replayed,
                too_old: counters.dropped.too_old,
                forged: counters.dropped.forged,
            },
            malformed: counters.malformed,
            unsendable: counters.unsendable,
            unauthenticated: counters.unauthenticated,
            sessions: counters.sessions,
            displaced: counters.displaced,
            moves: counters.moves,
            hops: counters.hops,
        }
    }
}

impl From<SocketErrors> for SocketErrorsStatus {
    fn from(errors: SocketErrors) -> SocketErrorsStatus {
        let SocketErrors { full, unreachable, refused, too_large, other, .. } = errors;
        SocketErrorsStatus { full, unreachable, refused, too_large, other }
    }
}

impl From<State> for SessionState {
    fn from(state: State) -> SessionState {
        match state {
            State::Waiting => SessionState::Waiting,
            State::Established => SessionState::Established,
            State::Silent => SessionState::Silent,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use exm_os::Clock;
    use exm_session::Settings;

    /// The status of a client that has not reached its server yet.
    pub(crate) fn waiting() -> Status {
        let (clock, key) = (Clock::start(), exm_datagram::Key::from_bytes([1; 16]));
        let servers = vec!["192.0.2.1:60001".parse().unwrap()];
        let session = Session::connect(clock, key, Settings::default(), servers).unwrap();
        Status::of_one(&session, Role::Client, None, None)
    }

    #[test]
    fn a_status_is_read_as_it_was_written() {
        let status = waiting();
        let text = serde_json::to_string(&status).unwrap();
        let read: Status = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!((read.role, read.sessions.len()), (Role::Client, 1));
        let session = &read.sessions[0];
        assert_eq!((session.state, session.send_forecast_bytes.len()), (SessionState::Waiting, 8));
        assert!(text.contains(r#""role":"client""#) && text.contains(r#""state":"waiting""#));
    }
}
