//! The state common to both ends: a window of data packets, and two encrypted paths.

use crate::message::Message;
use crate::window::Window;
use crate::wire::{Path, Settings};
use exm_datagram::{Key, Mark, Opened, Role, Session};
use exm_units::Instant;

/// The padding of data packets.
static ZEROS: [u8; Settings::MAX_SIZE as usize] = [0; Settings::MAX_SIZE as usize];

/// The data packets that one end sends.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    window: Window,
    /// The number after the highest arrival that was acknowledged.
    acknowledged: u64,
}

impl Sending {
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// The next data packet, if one may be sent at `now`.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Message> {
        if !self.window.is_open(now) {
            return None;
        }
        let window = self.window.size();
        Some(Message::Data { number: self.window.send(now), sent_at: now, window })
    }

    /// Processes a report of arrivals, received at `now`. Each arrival counts once; late reports are of packets
    /// that newer arrivals have acknowledged already.
    pub(crate) fn reported(&mut self, now: Instant, first: u64, arrivals: &[crate::Arrival]) {
        for (index, arrival) in (first..).zip(arrivals) {
            if index >= self.acknowledged {
                self.acknowledged = index + 1;
                let rtt = now.saturating_since(arrival.sent_at);
                self.window.acknowledge(arrival.number, rtt);
            }
        }
    }
}

/// The two paths, each encrypted with its own key.
#[derive(Debug)]
pub(crate) struct Paths {
    data: Session,
    control: Session,
    sealed: Vec<u8>,
    text: Vec<u8>,
}

impl Paths {
    /// Paths with the session keys; `None` unless there are two.
    pub(crate) fn new(keys: &[Key], role: Role) -> Option<Paths> {
        let [data, control] = keys else { return None };
        let [data, control] = [data, control].map(|key| Session::new(key, role));
        Some(Paths { data, control, sealed: Vec::new(), text: Vec::new() })
    }

    /// Writes the datagram of `message` to `out`; `None` once the key has reached its limit, after 2 PB.
    pub(crate) fn seal(
        &mut self,
        now: Instant,
        message: &Message,
        settings: Settings,
        out: &mut Vec<u8>,
    ) -> Option<Path> {
        self.seal_marked(now, Mark::NONE, (message, settings), out)
    }

    /// Like [`Paths::seal`], as a path challenge with `mark`.
    pub(crate) fn seal_marked(
        &mut self,
        now: Instant,
        mark: Mark,
        (message, settings): (&Message, Settings),
        out: &mut Vec<u8>,
    ) -> Option<Path> {
        let is_data = matches!(message, Message::Data { .. });
        let path = if is_data { Path::Data } else { Path::Control };
        let zeros = if is_data { &ZEROS[..settings.padding()] } else { &[] };
        self.text.clear();
        message.encode(&mut self.text);
        let session = match path {
            Path::Data => &mut self.data,
            Path::Control => &mut self.control,
        };
        session.seal_marked(now, mark, &[&self.text, zeros], &mut self.sealed).ok()?;
        out.clear();
        out.push(path.tag());
        out.extend_from_slice(&self.sealed);
        Some(path)
    }

    /// The message in `datagram`, received over `path` and without its first byte, with the datagram layer's
    /// metadata; `None` if it is forged, replayed or malformed.
    pub(crate) fn open<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Option<(Message, Opened<'a>)> {
        let session = match path {
            Path::Data => &mut self.data,
            Path::Control => &mut self.control,
        };
        let opened = session.open(now, datagram).ok()?;
        let message = Message::decode(opened.payload).ok()?;
        // Only data takes the data path.
        let fits = matches!(message, Message::Data { .. }) == (path == Path::Data);
        fits.then_some((message, opened))
    }
}
