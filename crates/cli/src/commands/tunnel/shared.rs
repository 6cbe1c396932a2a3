//! Runs a server of many clients until the user ends it, and prints a summary.

use super::control::ControlSocket;
use super::run::TunnelFlags;
use crate::interrupt;
use crate::layout;
use crate::sessions::code_of;
use crate::shell::{Failure, Printing, note, tell};
use exm_os::{AnyOf, Rights, Signal, Signals, set_realtime_priority};
use exm_session::{Listener, LoopControl, State};
use exm_store::Columns;
use exm_tunnel::{SharedServer, Status, drive_shared};
use exm_units::{Instant, Span};
use serde::Serialize;
use std::fmt;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often notices are shown.
const NOTICES: Span = Span::from_millis(200);
/// How often a line is printed.
const LINE: Span = Span::from_secs(1);

/// Runs `server` until the user ends it, and prints a summary. Returns the exit code.
pub(super) fn run_shared(
    mut listener: Listener,
    mut server: SharedServer,
    flags: &TunnelFlags,
    printing: Printing,
) -> Result<ExitCode, Failure> {
    if flags.is_realtime() {
        set_realtime_priority();
    }
    let mut control = ControlSocket::open();
    // The file of clients may belong to the user who has started this by sudo.
    Rights::keep_network_and_reading()?;
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut display = Display::new(!flags.display.quiet, flags.display.plain);
    let mut ended: Option<Signal> = None;
    let alarm = [Some(signals.as_fd()), control.file()];
    let alarm = AnyOf::new(&alarm.into_iter().flatten().collect::<Vec<_>>())?;
    let monitor = |listener: &Listener, server: &mut SharedServer, alarmed: bool| {
        ended = if alarmed { signals.take() } else { None };
        if ended.is_some() {
            return LoopControl::Stop;
        }
        let again = display.update(listener, server);
        let status = || Status::of_shared(listener, server);
        let device = Some(server.device_name());
        let next = control.update((listener.clock().now(), alarmed), device, status);
        LoopControl::WakeAt(again.min(next))
    };
    drive_shared(&mut listener, &mut server, alarm.as_fd(), monitor)
        .map_err(|error| Failure::new(format!("the tunnel cannot continue: {error}")))?;
    if !flags.display.quiet || printing.is_json() {
        printing.print(&Summary::new(&listener, &server))?;
    }
    Ok(code_of(ended))
}

/// Shows what happens, and a line a second if that was asked for.
struct Display {
    shows: bool,
    has_lines: bool,
    notices_at: Instant,
    line_at: Instant,
    /// The bytes sent and received by then.
    bytes: [u64; 2],
}

impl Display {
    fn new(shows: bool, has_lines: bool) -> Display {
        let (notices_at, line_at) = (Instant::ZERO, Instant::ZERO);
        Display { shows, has_lines, notices_at, line_at, bytes: [0; 2] }
    }

    /// Shows what is due. Returns when to call it again.
    fn update(&mut self, listener: &Listener, server: &mut SharedServer) -> Instant {
        let now = listener.clock().now();
        if now < self.notices_at {
            return self.notices_at;
        }
        self.notices_at = now + NOTICES;
        let seconds = now.as_secs_f64();
        for notice in server.take_notices() {
            if self.shows {
                note(&format!("{seconds:.1} s: {notice}"));
            }
        }
        if self.shows && self.has_lines && now >= self.line_at {
            self.line(listener, server, now);
        }
        self.notices_at
    }

    fn line(&mut self, listener: &Listener, server: &SharedServer, now: Instant) {
        let summary = Summary::new(listener, server);
        let bytes = [summary.sent_bytes, summary.received_bytes];
        let before = std::mem::replace(&mut self.bytes, bytes);
        let passed = now.saturating_since(self.line_at) + LINE;
        let rates =
            [0, 1].map(|n| bytes[n].saturating_sub(before[n]) as f64 * 8e-6 / passed.as_secs_f64());
        self.line_at = now + LINE;
        tell(&format!(
            "{:7.1} s  {} of {} clients connected  sent {:8.3} Mbps  received {:8.3} Mbps\n",
            now.as_secs_f64(),
            summary.connected,
            summary.clients.len(),
            rates[0],
            rates[1],
        ));
    }
}

/// The summary of a server of many clients. Bytes are those on the link, with the overhead of each packet.
#[derive(Serialize)]
struct Summary {
    seconds: f64,
    device: String,
    mtu: u16,
    network: String,
    connected: usize,
    sent_bytes: u64,
    received_bytes: u64,
    /// Datagrams that no client's key fits.
    strange: u64,
    /// Datagrams from unknown addresses beyond what is tried in a second.
    untried: u64,
    /// Datagrams of clients beyond their share of a busy server, and handshakes beyond 20 a second.
    excess: u64,
    clients: Vec<ClientLine>,
}

#[derive(Serialize)]
struct ClientLine {
    name: String,
    address: String,
    /// Where it is connected from.
    peer: Option<String>,
    mtu: u16,
    sent_packets: u64,
    sent_bytes: u64,
    received_packets: u64,
    received_bytes: u64,
    dropped: u64,
    refused: u64,
    /// Received with a source address that is not the client's, or for another client.
    foreign: u64,
    malformed: u64,
    too_big: u64,
    clamped: u64,
    sessions: u64,
    moves: u64,
    displaced: u64,
}

impl Summary {
    fn new(listener: &Listener, server: &SharedServer) -> Summary {
        let mut connected = 0;
        let lines = server.members().filter_map(|(id, member)| {
            let stats = listener.stats(id)?;
            let is_connected = stats.state == State::Established;
            connected += usize::from(is_connected);
            let (counters, sent) = (member.counters(), member.queues().sent());
            Some(ClientLine {
                name: member.name().to_owned(),
                address: member.network().client().to_string(),
                peer: stats.peer.filter(|_| is_connected).map(|peer| peer.to_string()),
                mtu: member.mtu(),
                sent_packets: sent.packets,
                sent_bytes: sent.bytes,
                received_packets: counters.received.packets,
                received_bytes: counters.received.bytes,
                dropped: member.queues().dropped().packets,
                refused: counters.refused,
                foreign: counters.foreign,
                malformed: counters.malformed,
                too_big: counters.too_big,
                clamped: counters.clamped,
                sessions: stats.counters.sessions,
                moves: stats.counters.moves,
                displaced: stats.counters.displaced,
            })
        });
        let clients: Vec<ClientLine> = lines.collect();
        let unrouted = listener.unrouted();
        Summary {
            seconds: listener.clock().now().as_secs_f64(),
            device: server.device_name().to_owned(),
            mtu: server.mtu(),
            network: server.network().ipv4().to_string(),
            connected,
            sent_bytes: clients.iter().map(|client| client.sent_bytes).sum(),
            received_bytes: clients.iter().map(|client| client.received_bytes).sum(),
            strange: unrouted.strange,
            untried: unrouted.untried,
            excess: unrouted.excess + unrouted.hellos,
            clients,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(3);
        let titles = ["client", "address", "connected from", "sent", "received", "dropped"];
        columns.line(titles.map(str::to_owned));
        columns.line(["", "", "", "kB", "kB", "packets"].map(str::to_owned));
        let kilo = |bytes: u64| format!("{:.1}", bytes as f64 / 1e3);
        for client in &self.clients {
            let peer = client.peer.clone().unwrap_or_else(|| "-".to_owned());
            let numbers =
                [kilo(client.sent_bytes), kilo(client.received_bytes), client.dropped.to_string()];
            let words = [client.name.clone(), client.address.clone(), peer];
            columns.line(words.into_iter().chain(numbers));
        }
        write!(f, "{}", layout::table(&columns))?;
        let Summary { connected, strange, untried, seconds, .. } = self;
        writeln!(
            f,
            "{connected} connected; {strange} datagrams that no key fits, {untried} that were not tried, in {seconds:.1} s"
        )
    }
}
