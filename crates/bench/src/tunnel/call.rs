//! [`Caller`]: one end of a call.

use super::{Host, Times};
use exm_os::{Waiter, set_realtime_priority};
use exm_trace::delay::{EndToEnd, Scores};
use exm_units::{Bytes, Instant, Span};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval of datagrams...
const INTERVAL: Span = Span::from_millis(20);
/// ... and their size as IP packets: 480 kbit/s.
const PACKET: u64 = 1200;
const HEADERS: u64 = 28;
/// How often the receiver checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// One end of a call.
pub(super) struct Caller(UdpSocket);

impl Caller {
    /// Both ends of a call between two hosts.
    pub(super) fn pair(near: Host<'_>, far: Host<'_>) -> io::Result<[Caller; 2]> {
        let bind = |host: Host<'_>| {
            let socket = host.network.run(|| UdpSocket::bind((host.ip, 0)))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            io::Result::Ok(socket)
        };
        let (near, far) = (bind(near)?, bind(far)?);
        near.connect(far.local_addr()?)?;
        far.connect(near.local_addr()?)?;
        Ok([Caller(near), Caller(far)])
    }

    /// Sends at the rate of the call; returns the scored bytes. A packet that the system does not accept is
    /// lost.
    pub(super) fn send(&self, times: Times, stop: &AtomicBool) -> io::Result<u64> {
        set_realtime_priority();
        let waiter = Waiter::new(times.clock, Span::ZERO);
        let mut payload = [0; (PACKET - HEADERS) as usize];
        let (mut at, mut bytes) = (times.begin, 0);
        while at < times.until && !stop.load(Ordering::Relaxed) {
            waiter.wait([], at)?;
            let now = times.clock.now();
            payload[..8].copy_from_slice(&now.as_nanos().to_be_bytes());
            let _ = self.0.send(&payload);
            if times.counts(now) {
                bytes += PACKET;
            }
            at += INTERVAL;
        }
        Ok(bytes)
    }

    /// Receives; returns the scores.
    pub(super) fn receive(&self, times: Times, stop: &AtomicBool) -> io::Result<Scores> {
        set_realtime_priority();
        let mut scores = EndToEnd::new(times.from, times.until);
        let mut payload = [0; 2048];
        while !stop.load(Ordering::Relaxed) {
            // Nothing has arrived for a while, or the other end is gone.
            let Ok(length) = self.0.recv(&mut payload) else { continue };
            let now = times.clock.now();
            if let Some(stamp) = payload[..length].first_chunk::<8>() {
                let sent_at = Instant::from_nanos(u64::from_be_bytes(*stamp));
                scores.arrived(sent_at.min(now), now, Bytes::new(length as u64 + HEADERS));
            }
        }
        Ok(scores.finish())
    }
}
