//! [`Server`]: the end where programs run.

use crate::channels::Channels;
use crate::echo::Echo;
use crate::extensions::Extensions;
use crate::history::Feed;
use crate::input::{Arrows, Input, inputs};
use crate::rtt::{Losses, rtt};
use crate::shown::Shown;
use crate::side::Side;
use exm_datagram::{Key, OpenError, Roaming, Role, Session};
use exm_ssp::{Received, Settings, Sided, State, Transport, UserStream};
use exm_terminal::{Screen, Terminal};
use exm_units::{Instant, Span};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// After so long without a datagram, nothing is sent to the client until it returns.
const FORGOTTEN: Span = Span::from_secs(40);
/// An address that is not validated gets differences of at most so many bytes: those of a prompt.
const MODEST: usize = 200;

/// The end of a session where programs run: it has their terminal, and keeps the client's copy of its screen up to date.
///
/// Its caller hands it datagrams ([`Server::receive`]) and the programs' output ([`Server::output`]), writes what
/// [`Server::take_input`] and [`Server::take_answers`] return to the programs, and sends what [`Server::transmit`] returns after each of these
/// and at [`Server::next_wake`].
pub struct Server {
    crypto: Session,
    roaming: Roaming,
    transport: Transport<Sided<Shown>, Sided<UserStream>>,
    grants: Extensions,
    side: Side,
    feed: Feed,
    terminal: Terminal,
    /// Whether the terminal has had output since the last look at it.
    is_changed: bool,
    /// When the local state must be what the terminal shows, as a change would be sent; none if it is.
    behind: Option<Instant>,
    losses: Losses,
    echo: Echo,
    arrows: Arrows,
    input: Vec<Input>,
    outgoing: VecDeque<(SocketAddr, Vec<u8>)>,
    last_received_at: Option<Instant>,
    /// Whether the newest datagram came from an address that is not validated, and when the client was last asked to answer there, if ever: the
    /// first datagram to a client asks, since it waits for 3 s before it replies to one that does not.
    is_elsewhere: bool,
    asked_at: Option<Instant>,
    malformed: u64,
}

impl Server {
    /// A server at `now` for the client that has `key`. The seed of what hides the lengths of datagrams must be unpredictable. It
    /// grants [`Extensions::HARMLESS`].
    pub fn new(now: Instant, key: &Key, seed: u64) -> Server {
        let initial = Sided::new(Shown::default());
        Server {
            crypto: Session::new(key, Role::Server),
            roaming: Roaming::server(),
            terminal: Terminal::new(initial.state.screen.size()),
            transport: Transport::new(now, Settings::server(seed), initial, Sided::default()),
            grants: Extensions::HARMLESS,
            side: Side::new(Channels::server(Extensions::HARMLESS)),
            feed: Feed::new(now),
            is_changed: true,
            behind: None,
            losses: Losses::default(),
            echo: Echo::default(),
            arrows: Arrows::default(),
            input: Vec::new(),
            outgoing: VecDeque::new(),
            last_received_at: None,
            is_elsewhere: false,
            asked_at: None,
            malformed: 0,
        }
    }

    /// Takes a new client, which has `key`: it finds the programs' terminal as it is. Returns the end of the session with
    /// the client before, which is notified that it is over.
    pub fn replace_client(&mut self, now: Instant, key: &Key, seed: u64) -> Server {
        let mut before = Server::new(now, key, seed).granting(self.grants);
        std::mem::swap(self, &mut before);
        let left = Terminal::showing(before.terminal.screen().clone());
        self.terminal = std::mem::replace(&mut before.terminal, left);
        before.shutdown(now);
        before
    }

    /// The same server, which grants `extensions` to a client that asks for them. To be called before a client has come.
    #[must_use]
    pub fn granting(mut self, extensions: Extensions) -> Server {
        self.grants = extensions;
        self.side = Side::new(Channels::server(extensions));
        self
    }

    /// Processes `datagram`, received from `from` at `now`.
    ///
    /// # Errors
    /// It is not the client's, or a replay, and changes nothing.
    pub fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Result<(), OpenError> {
        let opened = self.crypto.open(now, datagram)?;
        self.last_received_at = Some(now);
        self.losses.opened(Some(opened.sequence));
        self.transport.set_lossy(self.losses.is_lossy());
        self.roaming.receive(now, &opened, from);
        if opened.newest {
            let is_elsewhere = self.roaming.peer() != Some(from);
            // What was held back.
            self.is_changed |= self.is_elsewhere && !is_elsewhere;
            self.is_elsewhere = is_elsewhere;
            // A new address gets few datagrams, and each must be answered.
            self.transport.set_early(!self.is_elsewhere);
        }
        match self.transport.receive(now, opened.payload) {
            Ok(Received::State { number, newest: true, changed: true }) => self.typed(now, number),
            Ok(_) => {}
            Err(_) => self.malformed += 1,
        }
        Ok(())
    }

    /// The user's state `number` has arrived.
    fn typed(&mut self, now: Instant, number: u64) {
        let is_honest = self.side.receive(&self.transport.remote().stream);
        self.malformed += u64::from(!is_honest);
        self.feed.receive(&mut self.side.channels, &mut self.terminal);
        let diff = self.transport.take_remote_diff();
        let Ok(events) = UserStream::decode_diff(&diff) else { return };
        // Bytes for channels are no keys: a screen that only echoes them would be answered for ever.
        if !events.is_empty() {
            self.echo.typed(now, number);
        }
        for input in inputs(events) {
            self.input.push(match input {
                Input::Keys(keys) => {
                    let application = self.terminal.screen().modes().application_cursor;
                    Input::Keys(self.arrows.translate(&keys, application))
                }
                Input::Resize(size) => {
                    self.terminal.resize(size);
                    self.is_changed = true;
                    Input::Resize(size)
                }
            });
        }
    }

    /// What the user has done since the last call, in order.
    pub fn take_input(&mut self) -> Vec<Input> {
        std::mem::take(&mut self.input)
    }

    /// The programs have written `bytes`.
    pub fn output(&mut self, bytes: &[u8]) {
        self.terminal.advance(bytes);
        self.is_changed = true;
    }

    /// The terminal's answers to queries of programs since the last call, for their input.
    pub fn take_answers(&mut self) -> Vec<u8> {
        self.terminal.take_answers()
    }

    /// The next datagram to send at `now`, and its destination; none if nothing is due.
    pub fn transmit(&mut self, now: Instant) -> Option<(SocketAddr, Vec<u8>)> {
        if let Some(next) = self.outgoing.pop_front() {
            return Some(next);
        }
        if self.is_forgotten(now) {
            return None;
        }
        self.synchronise(now);
        let payload = self.transport.transmit(now, &rtt(&self.crypto)).ok()??;
        let end = self.transport.local().stream.end();
        self.side.sent(now, self.transport.sent_number(), end);
        self.seal(now, &payload);
        self.outgoing.pop_front()
    }

    /// Whether there is no client to send to.
    fn is_forgotten(&self, now: Instant) -> bool {
        self.last_received_at.is_none_or(|at| now.saturating_since(at) > FORGOTTEN)
    }

    /// Makes the local state what the terminal shows, if something is sent now: more often would cost more than the emulation itself.
    fn synchronise(&mut self, now: Instant) {
        let rtt = rtt(&self.crypto);
        let has_changed = std::mem::take(&mut self.is_changed);
        if has_changed {
            self.behind = Some(self.transport.change_due(now, &rtt));
        }
        let local = &self.transport.local().state;
        let (before, mut asked) = ((local.echoed, local.asked), local.asked);
        if self.is_elsewhere && now >= self.next_question() {
            self.asked_at = Some(now);
            asked += 1;
        }
        let echoed = self.echo.echoed(now);
        let is_answer = before != (echoed, asked);
        let is_due = self.behind.is_some_and(|due| due <= now)
            || (self.behind.is_some() && self.transport.next_wake(now, &rtt) <= now);
        if is_answer || is_due {
            self.behind = None;
            let state = self.shown(echoed, asked);
            if self.transport.local().state != state {
                let stream = self.transport.local().stream.clone();
                self.transport.set_local(Sided { state, stream });
            }
        }
        self.feed.update(now, has_changed, &mut self.side.channels, &mut self.terminal);
        self.side.update(now, &rtt, &mut self.transport, self.is_elsewhere);
    }

    /// What the client is to be shown. At an address that is not validated yet it gets little, and can answer only what it gets whole: then
    /// what it has already may have to do, and shows the effects of no more keys.
    fn shown(&self, echoed: u64, asked: u64) -> Shown {
        let styles = self.extensions().is_some_and(|granted| granted.styles);
        let shown = Shown { screen: self.terminal.screen().clone(), echoed, asked, styles };
        let known = &self.transport.acknowledged().state;
        if self.is_elsewhere && shown.diff_from(known).len() > MODEST {
            return Shown { asked, ..known.clone() };
        }
        shown
    }

    /// When the client may be asked again: a challenge to its new address waits for an answer.
    fn next_question(&self) -> Instant {
        let timeout = rtt(&self.crypto).timeout;
        self.asked_at.map_or(Instant::ZERO, |at| at.saturating_add(timeout))
    }

    /// Seals `payload` for the client; and, as a challenge, for an address that it may have moved to.
    fn seal(&mut self, now: Instant, payload: &[u8]) {
        let mut datagram = Vec::new();
        if let Some(peer) = self.roaming.peer()
            && self.crypto.seal(now, &[payload], &mut datagram).is_ok()
        {
            self.outgoing.push_back((peer, std::mem::take(&mut datagram)));
        }
        let length = exm_datagram::OVERHEAD + payload.len();
        if let Some((address, mark)) = self.roaming.challenge(now, length)
            && self.crypto.seal_marked(now, mark, &[payload], &mut datagram).is_ok()
        {
            self.outgoing.push_back((address, datagram));
        }
    }

    /// When to call [`Server::transmit`] next, unless something happens before. It may be before `now`.
    pub fn next_wake(&mut self, now: Instant) -> Instant {
        if !self.outgoing.is_empty() {
            return now;
        }
        if self.is_forgotten(now) {
            return Instant::MAX;
        }
        self.synchronise(now);
        let question = if self.is_elsewhere { self.next_question() } else { Instant::MAX };
        let rtt = rtt(&self.crypto);
        let change = self.behind.unwrap_or(Instant::MAX);
        let wake = self.transport.next_wake(now, &rtt).min(change);
        let wake = wake.min(self.side.next_wake(&rtt)).min(self.feed.next_wake());
        wake.min(self.echo.next()).min(question)
    }

    /// What was granted to the client; none until it has asked, which clients of mosh never do.
    pub fn extensions(&self) -> Option<Extensions> {
        self.side.channels.granted()
    }

    /// The channels between both ends. What is done with them is sent by [`Server::transmit`], to be called afterwards.
    pub fn channels(&mut self) -> &mut Channels {
        &mut self.side.channels
    }

    /// What the terminal shows.
    pub fn screen(&self) -> &Screen {
        self.terminal.screen()
    }

    /// When the client's last datagram arrived.
    pub fn last_received_at(&self) -> Option<Instant> {
        self.last_received_at
    }

    /// The client's address, once it is known.
    pub fn client(&self) -> Option<SocketAddr> {
        self.roaming.peer()
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

    /// Begins to end the session: the client is notified.
    pub fn shutdown(&mut self, now: Instant) {
        (self.is_changed, self.behind) = (false, Some(now));
        self.synchronise(now);
        self.transport.shutdown(now);
    }

    /// Whether the session is over: the client has agreed, or has asked for it and was answered, or does not answer.
    pub fn is_over(&self, now: Instant) -> bool {
        let ours =
            self.transport.is_shutdown_acknowledged() || self.transport.is_shutdown_expired(now);
        self.outgoing.is_empty() && (ours || self.transport.has_answered_shutdown())
    }

    /// Whether the client has announced the end of the session.
    pub fn client_is_leaving(&self) -> bool {
        self.transport.peer_is_shutting_down()
    }
}
