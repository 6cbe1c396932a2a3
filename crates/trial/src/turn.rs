//! [`Turn`]: one congestion control on the path, for a while.

use crate::wire::{Consent, HANDSHAKE, Line, Receipt, Request, is_impatience};
use exm_datagram::{Key, KeyError, Role, Session};
use exm_os::{Clock, TcpInfo, limit_unsent};
use exm_units::{Instant, Rate, Span};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketType};
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long a connection, a response or a receipt may take.
const PATIENCE: Span = Span::from_secs(30);
/// How often the kernel is asked for the RTT.
const SAMPLE: Span = Span::from_millis(20);
/// How long a write waits for room, and how long is slept where the rate's limit is reached.
const NAP: Duration = Duration::from_millis(2);
/// What is handed to the kernel before it can be sent: enough that it is never idle.
const UNSENT: u32 = 1 << 17;
/// How much is handed to the kernel at once.
const CHUNK: usize = 1 << 16;
/// What the limit of the rate lets leave at once after a pause.
const BURST: Span = Span::from_millis(50);

/// One congestion control on the path to a [`Listener`](crate::Listener).
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The listener's address.
    pub server: SocketAddr,
    /// The listener's key.
    pub key: &'a Key,
    /// The congestion control, by the kernel's name.
    pub control: &'a str,
    /// How long it sends.
    pub duration: Span,
    /// The most that is handed to TCP in a second.
    pub max_rate: Rate,
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Payload that was acknowledged within the time, Mbps.
    pub goodput_mbps: f64,
    /// The mean of the smoothed RTT, which is read every 20 ms.
    pub rtt: Span,
    /// Its 95th percentile.
    pub rtt_95: Span,
    /// The least RTT.
    pub least_rtt: Span,
    /// Of the bytes sent, the share that was retransmitted.
    pub retransmitted: f64,
    /// Payload that was sent, bytes.
    pub bytes: u64,
}

/// Why a turn came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The kernel has no such congestion control, or lets only root use it.
    #[error("the congestion control {control} cannot be used: {source}")]
    Control {
        /// Its name.
        control: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// There is no connection.
    #[error("{server} cannot be reached by TCP: {source}")]
    Connect {
        /// The listener's address.
        server: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// What listens there is no listener with this key.
    #[error("{0} does not answer as one with this key would")]
    Stranger(SocketAddr),
    /// The listener takes less.
    #[error("the listener takes turns of {duration} and {bytes} bytes at most")]
    TooMuch {
        /// The longest turn.
        duration: Span,
        /// The most bytes.
        bytes: u64,
    },
    /// The connection ended before its time.
    #[error("the connection was lost: {0}")]
    Lost(#[source] io::Error),
    /// Somebody on the path answers in the listener's place.
    #[error(
        "{arrived} of {sent} bytes arrived: the path itself ends TCP connections, so it cannot be measured"
    )]
    Intercepted {
        /// What the listener received.
        arrived: u64,
        /// What was acknowledged here.
        sent: u64,
    },
    /// No randomness.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// It was stopped.
    #[error("stopped")]
    Stopped,
}

impl Turn<'_> {
    /// Connects, sends until the time is over or `stop` is set, and waits until everything has arrived.
    ///
    /// # Errors
    /// [`TurnError`].
    pub fn run(&self, stop: &AtomicBool) -> Result<Measured, TurnError> {
        let stream = self.connect()?;
        let line = Line { stream: &stream, clock: Clock::start(), stop };
        let lost = |error| of_line(error, stop);
        let mut session = self.begin(&line)?;
        let sending = Sending::start(self, &line).and_then(|sending| sending.run(&line));
        let (measured, sent) = sending.map_err(lost)?;
        stream.shutdown(Shutdown::Write).map_err(lost)?;
        let deadline = line.clock.now() + PATIENCE;
        let receipt: Receipt = line.receive(&mut session, deadline).map_err(lost)?;
        if receipt.bytes != sent {
            return Err(TurnError::Intercepted { arrived: receipt.bytes, sent });
        }
        Ok(measured)
    }

    /// Checks that the kernel has the control, that the listener is there, and that it takes the turn. Sends no data.
    ///
    /// # Errors
    /// [`TurnError`].
    pub fn check(&self, stop: &AtomicBool) -> Result<(), TurnError> {
        let stream = self.connect()?;
        self.begin(&Line { stream: &stream, clock: Clock::start(), stop }).map(drop)
    }

    fn connect(&self) -> Result<TcpStream, TurnError> {
        let control = |source: Errno| TurnError::Control {
            control: self.control.to_owned(),
            source: source.into(),
        };
        let failed =
            |source: Errno| TurnError::Connect { server: self.server, source: source.into() };
        let family = match self.server {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let socket = net::socket(family, SocketType::STREAM, None).map_err(failed)?;
        sockopt::set_tcp_congestion(&socket, self.control).map_err(control)?;
        let patience = Duration::from_nanos(PATIENCE.as_nanos() / 3);
        sockopt::set_socket_timeout(&socket, Timeout::Send, Some(patience)).map_err(failed)?;
        net::connect(&socket, &self.server).map_err(failed)?;
        let stream = TcpStream::from(socket);
        let prepared = stream.set_nodelay(true).and_then(|()| limit_unsent(&stream, UNSENT));
        prepared.map_err(TurnError::Lost)?;
        Ok(stream)
    }

    /// The session with the listener, once it has consented.
    fn begin(&self, line: &Line<'_>) -> Result<Session, TurnError> {
        let deadline = line.clock.now() + PATIENCE;
        let stranger = |error: io::Error| match error.kind() {
            ErrorKind::Interrupted => TurnError::Stopped,
            _ => TurnError::Stranger(self.server),
        };
        let mut initiator = HANDSHAKE.initiate(self.key)?;
        let mut stream = line.stream;
        stream.write_all(initiator.initiation()).map_err(stranger)?;
        let mut response = vec![0; HANDSHAKE.length()];
        line.read(&mut response, deadline).map_err(stranger)?;
        let keys = initiator.finish(&response).unwrap_or_default();
        let key = keys.first().ok_or(TurnError::Stranger(self.server))?;
        let mut session = Session::new(key, Role::Client);
        let request = Request { duration: self.duration, bytes: self.most() };
        line.send(&mut session, &request).map_err(stranger)?;
        let consent: Consent = line.receive(&mut session, deadline).map_err(stranger)?;
        if !consent.covers(&request) {
            let Consent { duration, bytes } = consent;
            return Err(TurnError::TooMuch { duration, bytes });
        }
        Ok(session)
    }

    /// The most bytes of the turn.
    pub fn most(&self) -> u64 {
        allowance(self.max_rate, self.duration.saturating_add(BURST))
    }
}

/// What a rate lets through in a time, bytes.
fn allowance(rate: Rate, time: Span) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

fn of_line(error: io::Error, stop: &AtomicBool) -> TurnError {
    if stop.load(Ordering::Relaxed) { TurnError::Stopped } else { TurnError::Lost(error) }
}

/// A turn that is under way.
struct Sending {
    start: Instant,
    end: Instant,
    max_rate: Rate,
    /// What the connection had carried before.
    before: TcpInfo,
    rtts: Vec<Span>,
    sample_at: Instant,
    written: u64,
    /// What was forgone because the path did not take it at once, bytes.
    forgone: u64,
}

impl Sending {
    fn start(turn: &Turn<'_>, line: &Line<'_>) -> io::Result<Sending> {
        let start = line.clock.now();
        line.stream.set_write_timeout(Some(NAP))?;
        Ok(Sending {
            start,
            end: start + turn.duration,
            max_rate: turn.max_rate,
            before: TcpInfo::of(line.stream)?,
            rtts: Vec::new(),
            sample_at: start + SAMPLE,
            written: 0,
            forgone: 0,
        })
    }

    /// What was measured, and the bytes that were written.
    fn run(mut self, line: &Line<'_>) -> io::Result<(Measured, u64)> {
        static ZEROS: [u8; CHUNK] = [0; CHUNK];
        loop {
            let now = line.clock.now();
            if now >= self.end {
                return self.finish(line, now);
            }
            if line.stop.load(Ordering::Relaxed) {
                return Err(ErrorKind::Interrupted.into());
            }
            if now >= self.sample_at {
                self.sample_at = now + SAMPLE;
                self.rtts.push(TcpInfo::of(line.stream)?.rtt);
            }
            let room = self.room(now);
            if room == 0 {
                thread::sleep(NAP);
                continue;
            }
            let mut stream = line.stream;
            match stream.write(&ZEROS[..room.min(CHUNK)]) {
                Ok(size) => self.written += size as u64,
                Err(error) if is_impatience(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// How much the limit of the rate lets leave now. What it did not take is forgone, but for a short burst.
    fn room(&mut self, now: Instant) -> usize {
        let allowed = allowance(self.max_rate, now.saturating_since(self.start));
        let burst = allowance(self.max_rate, BURST).max(1);
        let room = allowed.saturating_sub(self.written + self.forgone);
        self.forgone += room.saturating_sub(burst);
        usize::try_from(room.min(burst)).unwrap_or(usize::MAX)
    }

    fn finish(mut self, line: &Line<'_>, now: Instant) -> io::Result<(Measured, u64)> {
        let info = TcpInfo::of(line.stream)?;
        self.rtts.push(info.rtt);
        self.rtts.sort_unstable();
        let seconds = now.saturating_since(self.start).as_secs_f64();
        let acked = info.acked.saturating_sub(self.before.acked);
        let sent = info.sent.saturating_sub(self.before.sent);
        let again = info.retransmitted.saturating_sub(self.before.retransmitted);
        let sum: u64 = self.rtts.iter().map(|rtt| rtt.as_nanos()).sum();
        let count = self.rtts.len();
        let measured = Measured {
            goodput_mbps: acked as f64 * 8e-6 / seconds,
            rtt: Span::from_nanos(sum / count as u64),
            rtt_95: self.rtts[(count * 95).div_ceil(100) - 1],
            least_rtt: info.least_rtt,
            retransmitted: if sent == 0 { 0.0 } else { again as f64 / sent as f64 },
            bytes: sent,
        };
        Ok((measured, self.written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_bounds_what_leaves() {
        let rate = Rate::from_mbps(8.0);
        let mut sending = Sending {
            start: Instant::ZERO,
            end: Instant::ZERO + Span::from_secs(10),
            max_rate: rate,
            before: TcpInfo::default(),
            rtts: Vec::new(),
            sample_at: Instant::ZERO,
            written: 0,
            forgone: 0,
        };
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        assert_eq!(sending.room(at(0)), 0);
        assert_eq!(sending.room(at(10)), 10_000);
        sending.written += 10_000;
        assert_eq!(sending.room(at(10)), 0);
        assert_eq!(sending.room(at(1010)), 50_000, "a pause is not made up for");
        sending.written += 50_000;
        assert_eq!(sending.room(at(1020)), 10_000);
        let key = Key::from_bytes([1; 16]);
        let server = ([127, 0, 0, 1], 1).into();
        let duration = Span::from_secs(2);
        let turn = Turn { server, key: &key, control: "reno", duration, max_rate: rate };
        assert_eq!(turn.most(), 2_050_000);
        assert_eq!(allowance(Rate::from_bps(u64::MAX), Span::MAX), u64::MAX);
    }
}
