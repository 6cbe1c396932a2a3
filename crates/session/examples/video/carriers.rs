//! What carries the frames: Sprout, TCP, or UDP at a fixed rate.

use crate::frames::datagrams;
use exm_datagram::Key;
use exm_os::{Clock, TcpInfo, limit_unsent};
use exm_session::{Mailbox, Session, Settings, WhenFull};
use exm_units::{Bytes, Instant, Rate, Span};
use std::error::Error;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// The time for which a forecast is asked.
pub(crate) const AHEAD: Span = Span::from_millis(100);
/// The payload of a full packet of TCP.
const SEGMENT: f64 = 1448.0;
/// What TCP may hold unsent: more would be delay.
const UNSENT: u32 = 16 << 10;
/// The payload of a datagram of UDP.
const DATAGRAM: usize = 1200;

/// How many bytes may go now, and how many will be delivered within [`AHEAD`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) now: u64,
    pub(crate) soon: u64,
}

/// One end that sends frames.
pub(crate) enum Carrier {
    /// Datagrams within the forecast.
    Sprout(Box<Session>, Mailbox),
    /// A connection, and what it did not take yet.
    Tcp(TcpStream, Vec<u8>),
    /// Datagrams at a fixed rate, whatever happens.
    Fixed(UdpSocket, Rate),
}

impl Carrier {
    /// The one called `name`, to `address`.
    pub(crate) fn open(name: &str, address: &str, clock: Clock) -> Result<Carrier, Box<dyn Error>> {
        let address: SocketAddr = address.parse()?;
        match name.split_once(':') {
            None if name == "sprout" => {
                let (key, settings) = (Key::from_env("VIDEO_KEY")?, Settings::default());
                let session = Session::connect(clock, key, settings, vec![address])?;
                let mailbox = Mailbox::new(Bytes::new(1 << 20), WhenFull::Refuse);
                Ok(Carrier::Sprout(Box::new(session), mailbox))
            }
            None if name == "tcp" => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                limit_unsent(&stream, UNSENT)?;
                Ok(Carrier::Tcp(stream, Vec::new()))
            }
            Some(("udp", rate)) => {
                let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                Ok(Carrier::Fixed(socket, rate.parse()?))
            }
            _ => Err(format!("\"{name}\" carries no video: give sprout, tcp or udp:RATE").into()),
        }
    }

    /// What it offers now.
    pub(crate) fn offer(&self) -> Offer {
        match self {
            Carrier::Sprout(session, mailbox) => {
                let waiting = mailbox.queue.bytes().get();
                let now = session.window().get().saturating_sub(waiting);
                Offer { now, soon: session.forecast(AHEAD).get() }
            }
            Carrier::Tcp(stream, waiting) => {
                let info = TcpInfo::of(stream).unwrap_or_default();
                let rtt = info.rtt.as_secs_f64().max(1e-3);
                let rate = f64::from(info.window) * SEGMENT / rtt;
                let soon = (rate * AHEAD.as_secs_f64()) as u64;
                Offer { now: if waiting.is_empty() { soon } else { 0 }, soon }
            }
            Carrier::Fixed(_, rate) => {
                let soon = (rate.as_bps() as f64 / 8.0 * AHEAD.as_secs_f64()) as u64;
                Offer { now: soon, soon }
            }
        }
    }

    /// Sends frame `number`.
    pub(crate) fn send(&mut self, number: u32, frame: &[u8]) -> Result<(), Box<dyn Error>> {
        match self {
            Carrier::Sprout(session, mailbox) => {
                for datagram in datagrams(number, frame, session.settings().max_payload()) {
                    mailbox.queue.push(datagram);
                }
            }
            Carrier::Tcp(_, waiting) => {
                waiting.extend(number.to_be_bytes());
                waiting.extend(u32::try_from(frame.len())?.to_be_bytes());
                waiting.extend(frame);
            }
            Carrier::Fixed(socket, _) => {
                for datagram in datagrams(number, frame, DATAGRAM) {
                    // What the system has no room for is lost, as in any other queue.
                    let _ = socket.send(&datagram);
                }
            }
        }
        Ok(())
    }

    /// Does what is due.
    pub(crate) fn service(&mut self) -> Result<(), Box<dyn Error>> {
        match self {
            Carrier::Sprout(session, mailbox) => session.service(mailbox),
            Carrier::Tcp(stream, waiting) => match stream.write(waiting) {
                Ok(written) => drop(waiting.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            },
            Carrier::Fixed(..) => {}
        }
        Ok(())
    }

    /// Readable when something has arrived.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        match self {
            Carrier::Sprout(session, _) => session.as_fd(),
            Carrier::Tcp(stream, _) => stream.as_fd(),
            Carrier::Fixed(socket, _) => socket.as_fd(),
        }
    }

    /// When [`Carrier::service`] is due at the latest.
    pub(crate) fn next_wake(&self, now: Instant) -> Instant {
        match self {
            Carrier::Sprout(session, _) => session.next_wake(),
            Carrier::Tcp(_, waiting) if !waiting.is_empty() => now + Span::from_millis(1),
            Carrier::Tcp(..) | Carrier::Fixed(..) => Instant::MAX,
        }
    }
}
