//! [`Client`]: the end where a user types.

use crate::channels::{Channels, Opening};
use crate::extensions::Extensions;
use crate::history::History;
use crate::notice::Notice;
use crate::rtt::{Losses, rtt};
use crate::shown::{Shown, window_size};
use crate::side::Side;
use exm_datagram::{Key, OpenError, Role, Session};
use exm_predict::{Display, Frames, Predictor};
use exm_ssp::{FullError, Received, Settings, Sided, Transport, UserStream, send_interval};
use exm_terminal::{Screen, Size};
use exm_units::{Instant, Span};

/// What a client is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// When predictions are shown, and whether they overwrite the text under the cursor, as [`Predictor::new`] says.
    pub predictions: (Display, bool),
    /// What it asks the server for.
    pub extensions: Extensions,
    /// How many lines of the history it keeps: 10 000 unless set otherwise.
    pub history_lines: usize,
}

/// The lines of the history that are kept unless set otherwise.
const HISTORY_LINES: usize = 10_000;

impl From<(Display, bool)> for ClientSettings {
    /// These predictions, and no extensions.
    fn from(predictions: (Display, bool)) -> ClientSettings {
        let (extensions, history_lines) = (Extensions::default(), HISTORY_LINES);
        ClientSettings { predictions, extensions, history_lines }
    }
}

/// The end of a session where a user types.
///
/// Its caller hands it keys, changes of the terminal's size, and datagrams; sends what [`Client::transmit`] returns after each of these and
/// at [`Client::next_wake`]; and shows [`Client::screen`].
pub struct Client {
    crypto: Session,
    transport: Transport<Sided<UserStream>, Sided<Shown>>,
    side: Side,
    history: History,
    has_asked_history: bool,
    predictor: Predictor,
    losses: Losses,
    began: Instant,
    last_received_at: Option<Instant>,
    malformed: u64,
}

impl Client {
    /// A client at `now` of the server that has `key`, for a terminal of `size`. The seed of what hides the lengths of datagrams must be
    /// unpredictable.
    pub fn new(
        now: Instant,
        key: &Key,
        size: Size,
        settings: impl Into<ClientSettings>,
        seed: u64,
    ) -> Client {
        let ClientSettings { predictions, extensions, history_lines } = settings.into();
        let (display, overwrites) = predictions;
        let initial = (Sided::default(), Sided::default());
        let mut transport = Transport::new(now, Settings::client(seed), initial.0, initial.1);
        let user: &mut UserStream = &mut transport.local_mut().state;
        user.push_resize(window_size(size)).unwrap_or_default();
        Client {
            crypto: Session::new(key, Role::Client),
            transport,
            side: Side::new(Channels::client(extensions)),
            history: History::new(history_lines),
            has_asked_history: false,
            predictor: Predictor::new(display, overwrites),
            losses: Losses::default(),
            began: now,
            last_received_at: None,
            malformed: 0,
        }
    }

    /// The user has typed `keys`, which were read at once.
    ///
    /// # Errors
    /// More than a megabyte waits to be acknowledged: try again later.
    pub fn type_keys(&mut self, now: Instant, keys: &[u8]) -> Result<(), FullError> {
        self.transport.local_mut().state.push_keys(keys)?;
        self.judge(now);
        self.predictor.type_keys(now, keys, &self.transport.remote().state.screen);
        Ok(())
    }

    /// The terminal has another size.
    ///
    /// # Errors
    /// Too much waits to be acknowledged: try again later.
    pub fn resize(&mut self, size: Size) -> Result<(), FullError> {
        self.transport.local_mut().state.push_resize(window_size(size))
    }

    /// Processes `datagram`, received at `now`.
    ///
    /// # Errors
    /// It is not the server's, or a replay, and changes nothing.
    pub fn receive(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), OpenError> {
        let opened = self.crypto.open(now, datagram)?;
        self.last_received_at = Some(now);
        self.losses.opened(Some(opened.sequence));
        self.transport.set_lossy(self.losses.is_lossy());
        match self.transport.receive(now, opened.payload) {
            Ok(Received::State { newest: true, changed: true, .. }) => self.read_stream(),
            Ok(_) => {}
            Err(_) => self.malformed += 1,
        }
        self.judge(now);
        Ok(())
    }

    /// Reads what the server's newest state brings for channels.
    fn read_stream(&mut self) {
        if self.transport.remote().stream.end() > 0 {
            let is_honest = self.side.receive(&self.transport.remote().stream);
            self.malformed += u64::from(!is_honest);
            self.transport.forget_remote();
            let channels = &mut self.side.channels;
            if !self.has_asked_history && channels.granted().is_some_and(|granted| granted.history)
            {
                self.has_asked_history = channels.open(Opening::History).is_ok();
            }
            self.history.receive(channels);
        }
    }

    /// The next datagram to send at `now`; none if nothing is due.
    pub fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let rtt = rtt(&self.crypto);
        self.side.update(now, &rtt, &mut self.transport, false);
        let payload = self.transport.transmit(now, &rtt).ok()??;
        let end = self.transport.local().stream.end();
        self.side.sent(now, self.transport.sent_number(), end);
        let mut datagram = Vec::new();
        self.crypto.seal(now, &[&payload], &mut datagram).ok()?;
        self.judge(now);
        Some(datagram)
    }

    /// When to call [`Client::transmit`], and then [`Client::screen`], next, unless something happens before. It may be before `now`.
    pub fn next_wake(&mut self, now: Instant) -> Instant {
        let rtt = rtt(&self.crypto);
        self.side.update(now, &rtt, &mut self.transport, false);
        let wake = self.transport.next_wake(now, &rtt).min(self.side.next_wake(&rtt));
        wake.min(self.predictor.next_look(now))
    }

    /// What to show at `now`: the server's screen, with predictions drawn over it.
    pub fn screen(&mut self, now: Instant) -> Screen {
        self.judge(now);
        let mut screen = self.transport.remote().state.screen.clone();
        self.predictor.draw(&mut screen);
        screen
    }

    /// What the server has granted; none until it has answered, which servers of mosh never do.
    pub fn extensions(&self) -> Option<Extensions> {
        self.side.channels.granted()
    }

    /// The channels between both ends. What is done with them is sent by [`Client::transmit`], to be called afterwards.
    pub fn channels(&mut self) -> &mut Channels {
        &mut self.side.channels
    }

    /// The lines that have scrolled off the server's screen, if that was asked for and granted.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Draws over the first row of `screen` that nothing comes from the server at `now`, if that is so.
    pub fn draw_notice(&self, now: Instant, screen: &mut Screen) {
        Notice::of(self, now, false).draw(screen);
    }

    /// Judges predictions by what the server shows.
    fn judge(&mut self, now: Instant) {
        let remote = &self.transport.remote().state;
        let frames = Frames { sent: self.transport.sent_number(), echoed: remote.echoed };
        let interval = send_interval(&rtt(&self.crypto));
        self.predictor.update(now, frames, interval, &remote.screen);
    }

    /// Whether the server has ever answered.
    pub fn is_connected(&self) -> bool {
        self.last_received_at.is_some()
    }

    /// When the server's last datagram arrived.
    pub fn last_received_at(&self) -> Option<Instant> {
        self.last_received_at
    }

    /// For how long nothing new has come from the server.
    pub fn silence(&self, now: Instant) -> Span {
        let last = if self.is_connected() { self.transport.last_contact() } else { self.began };
        now.saturating_since(last)
    }

    /// For how long the server has acknowledged nothing that was sent.
    pub fn unacknowledged(&self, now: Instant) -> Span {
        let last = self.transport.last_acknowledgement().unwrap_or(self.began);
        now.saturating_since(last)
    }

    /// The smoothed RTT, once it is known.
    pub fn srtt(&self) -> Option<Span> {
        self.crypto.rtt().srtt()
    }

    /// How many authentic datagrams were malformed.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Sets the longest payload of a datagram, for paths where longer ones do not fit. It is one of
    /// [`exm_ssp::Settings::payload_limit`].
    pub fn set_payload_limit(&mut self, limit: usize) {
        self.transport.set_payload_limit(limit);
    }

    /// Begins to end the session: the server is notified.
    pub fn shutdown(&mut self, now: Instant) {
        self.transport.shutdown(now);
    }

    /// Whether the session is over: the server has agreed, or has asked for it and was answered, or does not answer.
    pub fn is_over(&self, now: Instant) -> bool {
        self.transport.is_shutdown_acknowledged()
            || self.transport.is_shutdown_expired(now)
            || self.transport.has_answered_shutdown()
    }
}
