//! [`Transport`]: one end of a session.

use crate::SHUTDOWN;
use crate::chaff::Chaff;
use crate::fragment::{Assembler, Fragment, FragmentError};
use crate::instruction::{Instruction, VERSION};
use crate::protobuf::DecodeError;
use crate::receiver::{Outcome, Receiver};
use crate::sender::Sender;
use crate::state::{DiffError, State};
use crate::timing::{ACK_DELAY, Rtt, Settings, fragment_capacity};
use crate::zlib::{CompressionError, compress, decompress};
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// What a payload costs besides its length: the headers of UDP and IPv4, and the overhead of encryption.
const OVERHEAD: usize = 28 + 28;

/// Why a payload is dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// It is not a fragment, or not one that fits those before.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
    /// The instruction cannot be decompressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The instruction cannot be decoded.
    #[error("the instruction is malformed: {0}")]
    Decode(#[from] DecodeError),
    /// The peer speaks another version of the protocol.
    #[error("the peer speaks version {version} of the protocol, this end {VERSION}")]
    Version {
        /// Its version.
        version: u64,
    },
    /// The difference in the instruction cannot be applied.
    #[error(transparent)]
    Diff(#[from] DiffError),
}

/// Why a state cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransmitError {
    /// The difference from what the peer has is too long. The session cannot go on unless the local
    /// state is made smaller.
    #[error("the difference to send does not fit an instruction: {0}")]
    Compression(#[from] CompressionError),
}

/// What a payload did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// It is a fragment of an instruction of which others are missing.
    Fragment,
    /// It leads to a state that is there already, for instance because it is a copy.
    Known,
    /// It refers to a state that is not there. The peer will notice, and refer to an older one.
    UnknownBase,
    /// Too many states are held: see [`MAX_STATES`](crate::MAX_STATES).
    Quenched,
    /// It brought a new state of the peer.
    State {
        /// The number of that state.
        number: u64,
        /// Whether it is the newest. Others were overtaken.
        newest: bool,
        /// Whether its difference was not empty: it is more than an acknowledgement.
        changed: bool,
    },
}

/// One end of a session: keeps a copy of the peer's state `R`, and lets the peer keep one of the local state
/// `L`.
///
/// The caller passes decrypted payloads to [`Transport::receive`], calls [`Transport::transmit`] after that,
/// after each change of the local state and at [`Transport::next_wake`], until it returns none, and
/// encrypts and sends what it returns. A server that does not know its client's address yet does not
/// call `transmit`.
#[derive(Clone, Debug)]
pub struct Transport<L, R> {
    sender: Sender<L>,
    receiver: Receiver<R>,
    assembler: Assembler,
    chaff: Chaff,
    payload_limit: usize,
    /// The number of the next instruction's fragments.
    next_id: u64,
    /// Payloads of the last instruction that have not been sent.
    pending: VecDeque<Vec<u8>>,
    /// Whether an instruction that acknowledges the peer's shutdown was made.
    shutdown_answered: bool,
}

impl<L: State, R: State> Transport<L, R> {
    /// An end that begins at `now`. Both ends must agree on the initial states `local` and `remote`.
    pub fn new(now: Instant, settings: Settings, local: L, remote: R) -> Transport<L, R> {
        let Settings { payload_limit, seed, .. } = settings;
        Transport {
            sender: Sender::new(now, local, &settings),
            receiver: Receiver::new(remote),
            assembler: Assembler::new(),
            chaff: Chaff::new(seed),
            payload_limit,
            next_id: 0,
            pending: VecDeque::new(),
            shutdown_answered: false,
        }
    }

    /// Processes the decrypted `payload` of a datagram that was received at `now`.
    ///
    /// # Errors
    /// It is malformed. What it contained is dropped, except that an acknowledgement in an instruction
    /// whose difference cannot be applied has been processed.
    pub fn receive(&mut self, now: Instant, payload: &[u8]) -> Result<Received, ReceiveError> {
        let Some(compressed) = self.assembler.add(Fragment::decode(payload)?)? else {
            return Ok(Received::Fragment);
        };
        let instruction = Instruction::decode(&decompress(&compressed)?)?;
        if instruction.version != VERSION {
            return Err(ReceiveError::Version { version: instruction.version });
        }
        self.sender.acknowledge(now, instruction.acknowledged);
        let number = instruction.new;
        let stream_end = self.remote().stream_end();
        let newest = match self.receiver.receive(now, &instruction)? {
            Outcome::Known => {
                // Our acknowledgement of the peer's shutdown may have been lost: it waits for that.
                if number == SHUTDOWN {
                    self.sender.acknowledge_within(now, ACK_DELAY);
                } else if stream_end > 0 && !instruction.diff.is_empty() {
                    // The peer's stream waits for an acknowledgement that was lost.
                    self.sender.acknowledge_within(now, Span::ZERO);
                } else if number == self.remote_number() && !instruction.diff.is_empty() {
                    self.sender.heard_copy(now);
                }
                return Ok(Received::Known);
            }
            Outcome::UnknownBase => return Ok(Received::UnknownBase),
            Outcome::Quenched => return Ok(Received::Quenched),
            Outcome::Inserted { newest } => newest,
        };
        self.sender.heard(now);
        let changed = !instruction.diff.is_empty();
        if number == SHUTDOWN {
            self.sender.acknowledge_within(now, Span::ZERO);
        } else if newest && changed {
            let is_stream = self.remote().stream_end() != stream_end;
            self.sender.acknowledge_within(now, if is_stream { Span::ZERO } else { ACK_DELAY });
        }
        Ok(Received::State { number, newest, changed })
    }

    /// The payload of a datagram to be sent at `now`; `None` if nothing is due.
    ///
    /// # Errors
    /// The local state has changed too much: see [`TransmitError`].
    pub fn transmit(&mut self, now: Instant, rtt: &Rtt) -> Result<Option<Vec<u8>>, TransmitError> {
        if self.pending.is_empty()
            && let Some(instruction) = self.sender.tick(now, rtt)
        {
            self.enqueue(instruction)?;
            let bytes = self.pending.iter().map(|payload| payload.len() + OVERHEAD).sum();
            self.sender.charge(now, bytes);
        }
        Ok(self.pending.pop_front())
    }

    /// When to call [`Transport::transmit`] next if nothing is received until then. It may be before `now`.
    pub fn next_wake(&mut self, now: Instant, rtt: &Rtt) -> Instant {
        if self.pending.is_empty() { self.sender.due(now, rtt).first() } else { now }
    }

    /// When a change of the local state at `now` would be sent: until then the state need not be made, since the peer gets only what it is
    /// at that time. [`Transport::next_wake`] does not know of the change. Each call counts as another change.
    pub fn change_due(&mut self, now: Instant, rtt: &Rtt) -> Instant {
        self.sender.touch();
        self.sender.change_due(now, rtt)
    }

    /// Replaces the local state, at a time that [`Transport::change_due`] returned: unlike with [`Transport::local_mut`], the change counts as
    /// collected.
    pub fn set_local(&mut self, state: L) {
        self.sender.current = state;
    }

    /// Sets whether small instructions may be sent early, see [`Settings::budget`]: at first they may. A server that does not know yet where its
    /// client is keeps to the interval.
    pub fn set_early(&mut self, is_early: bool) {
        self.sender.set_early(is_early);
    }

    /// Sets whether datagrams of the peer get lost: then ours are likely to be, and are repeated sooner.
    pub fn set_lossy(&mut self, is_lossy: bool) {
        self.sender.set_lossy(is_lossy);
    }

    /// The newest local state that the peer is known to have.
    pub fn acknowledged(&self) -> &L {
        self.sender.acknowledged_state()
    }

    /// The local state.
    pub fn local(&self) -> &L {
        &self.sender.current
    }

    /// The local state, to be changed. Changes after [`Transport::shutdown`] may never be sent.
    pub fn local_mut(&mut self) -> &mut L {
        self.sender.touch();
        &mut self.sender.current
    }

    /// The peer's newest state.
    pub fn remote(&self) -> &R {
        self.receiver.newest().1
    }

    /// The number of the peer's newest state; 0 until one has arrived.
    pub fn remote_number(&self) -> u64 {
        self.receiver.newest().0
    }

    /// The difference between the peer's newest state and the one at the previous call, or the initial one:
    /// what a user has typed since, or what a screen needs.
    ///
    /// If the peer's state is a log, what both ends have is then forgotten, so that it does not grow for ever;
    /// [`Transport::remote`] is only the rest.
    pub fn take_remote_diff(&mut self) -> Vec<u8> {
        self.receiver.take_diff()
    }

    /// Forgets what both ends have, if the peer's state is a log, like [`Transport::take_remote_diff`], but makes no
    /// difference: for callers that read [`Transport::remote`].
    pub fn forget_remote(&mut self) {
        self.receiver.forget();
    }

    /// The number of the newest local state that the peer has acknowledged.
    pub fn acknowledged_number(&self) -> u64 {
        self.sender.acknowledged_number()
    }

    /// The number of the local state that was sent last. A prediction made now is confirmed by the state after
    /// it.
    pub fn sent_number(&self) -> u64 {
        self.sender.last_number()
    }

    /// When a new state of the peer arrived last; before the first, when this end began.
    pub fn last_contact(&self) -> Instant {
        self.sender.last_heard()
    }

    /// When the peer acknowledged something new last.
    pub fn last_acknowledgement(&self) -> Option<Instant> {
        self.sender.last_acknowledgement()
    }

    /// Sets the longest payload in bytes, the fragment's header included, from the next instruction on. It
    /// is smaller where the path's MTU is; mosh falls back to 500 when a datagram is too long to be
    /// sent.
    pub fn set_payload_limit(&mut self, limit: usize) {
        self.payload_limit = limit;
    }

    /// Begins to end the session, at `now`. The state that is sent next is the last one.
    pub fn shutdown(&mut self, now: Instant) {
        self.sender.begin_shutdown(now);
    }

    /// Whether this end has begun to end the session.
    pub fn is_shutting_down(&self) -> bool {
        self.sender.is_shutting_down()
    }

    /// Whether the peer has agreed to end the session.
    pub fn is_shutdown_acknowledged(&self) -> bool {
        self.sender.acknowledged_number() == SHUTDOWN
    }

    /// Whether the peer has not agreed to end the session after 16 announcements or 10 s.
    pub fn is_shutdown_expired(&self, now: Instant) -> bool {
        self.sender.shutdown_expired(now)
    }

    /// Whether the peer has announced the end of the session.
    pub fn peer_is_shutting_down(&self) -> bool {
        self.remote_number() == SHUTDOWN
    }

    /// Whether the peer has announced the end of the session and this end has agreed: it can quit. If that
    /// datagram is lost, the peer gives up by itself.
    pub fn has_answered_shutdown(&self) -> bool {
        self.shutdown_answered && self.pending.is_empty()
    }

    /// Completes and compresses `instruction`, and cuts it into payloads.
    fn enqueue(&mut self, mut instruction: Instruction) -> Result<(), TransmitError> {
        instruction.acknowledged = self.remote_number();
        instruction.chaff = self.chaff.draw();
        let compressed = compress(&instruction.encode())?;
        let capacity = fragment_capacity(self.payload_limit);
        let fragments = Fragment::split(self.next_id, &compressed, capacity);
        self.pending.extend(fragments.map(|fragment| fragment.encode()));
        self.next_id += 1;
        self.shutdown_answered |= instruction.acknowledged == SHUTDOWN;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
