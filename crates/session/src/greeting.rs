//! How the two ends agree on a key of their own for each session.
//!
//! The key that both were given is used for nothing else. A key of the datagram layer must not be
//! used for two sessions, whose datagrams would have the same numbers, and what was recorded of one
//! must mean nothing in another; yet programs are started again, and keep the key they were given.
//! So the server makes a key for each session and sends it under the protection of a Noise handshake
//! (`Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s`, revision 34 of T. Perrin's framework): who does not have
//! the shared key can neither take part nor read it, and who gets it later cannot read what was
//! recorded before.
//!
//! Both messages are of one length, so that an answer is never longer than the question. Their first
//! byte is one that no datagram begins with, since no session lives to have numbers that large.

use exm_datagram::Key;
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

/// The first byte of a client's question, and of a server's answer.
pub(crate) const QUESTION: u8 = 0x40;
pub(crate) const ANSWER: u8 = 0xc0;
/// Bytes of either: the first, an ephemeral key, 16 bytes encrypted, and their tag.
pub(crate) const LENGTH: usize = 1 + 32 + 16 + 16;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// What both ends agree on without saying so.
const PROLOGUE: &[u8] = b"exm session 1";

/// A message of a greeting.
pub(crate) type Message = [u8; LENGTH];

/// A client's half: a question that waits for its answer.
pub(crate) struct Greeting {
    state: Box<HandshakeState>,
    question: Message,
}

impl Greeting {
    /// A new question to a server that has `key`. Nothing where the system has no randomness.
    pub(crate) fn new(key: &Key) -> Option<Greeting> {
        let secret = widened(key);
        let mut state = builder(&secret)?.build_initiator().ok()?;
        let mut question = [0; LENGTH];
        question[0] = QUESTION;
        // As many bytes as the answer has for its key.
        state.write_message(&[0; 16], &mut question[1..]).ok()?;
        Some(Greeting { state: Box::new(state), question })
    }

    /// What to send, as often as it takes.
    pub(crate) fn question(&self) -> &Message {
        &self.question
    }

    /// The key in `answer`, if that is the answer to this question.
    pub(crate) fn answered(&mut self, answer: &[u8]) -> Option<Key> {
        let message = answer.strip_prefix(&[ANSWER])?;
        let mut bytes = Zeroizing::new([0; LENGTH]);
        let length = self.state.read_message(message, &mut *bytes).ok()?;
        Some(Key::from_bytes(bytes.get(..length)?.try_into().ok()?))
    }
}

/// A server's half: its answer to `question` and the key of the session, where the question is of
/// one who has `key`.
pub(crate) fn answer(key: &Key, question: &[u8]) -> Option<(Message, Key)> {
    let secret = widened(key);
    let mut state = builder(&secret)?.build_responder().ok()?;
    let mut ignored = [0; LENGTH];
    state.read_message(question.strip_prefix(&[QUESTION])?, &mut ignored).ok()?;
    let fresh = Key::generate().ok()?;
    let mut answer = [0; LENGTH];
    answer[0] = ANSWER;
    let length = state.write_message(fresh.bytes(), &mut answer[1..]).ok()?;
    (length + 1 == LENGTH).then_some((answer, fresh))
}

fn builder(secret: &[u8; 32]) -> Option<Builder<'_>> {
    let builder = Builder::new(PATTERN.parse().ok()?);
    builder.psk(0, secret).ok()?.prologue(PROLOGUE).ok()
}

/// Noise takes a key of 32 bytes; the other 16 say what it is used for.
fn widened(key: &Key) -> Zeroizing<[u8; 32]> {
    let mut secret = Zeroizing::new(*b"................exm session key1");
    secret[..16].copy_from_slice(key.bytes());
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_get_the_same_key_and_another_each_time() {
        let shared = Key::from_bytes([1; 16]);
        let mut greeting = Greeting::new(&shared).expect("randomness");
        let (said, key) = answer(&shared, greeting.question()).expect("it has the key");
        assert_eq!(greeting.answered(&said).as_ref(), Some(&key));
        assert_eq!(greeting.answered(&said), None, "once");
        let (again, other) = answer(&shared, greeting.question()).expect("it has the key");
        assert!(other != key && again != said);
    }

    #[test]
    fn strangers_are_not_answered() {
        let (ours, theirs) = (Key::from_bytes([1; 16]), Key::from_bytes([2; 16]));
        let mut greeting = Greeting::new(&theirs).expect("randomness");
        assert!(answer(&ours, greeting.question()).is_none());
        let (said, _) = answer(&theirs, greeting.question()).expect("it has the key");
        for place in 0..LENGTH {
            let mut changed = said;
            changed[place] ^= 4;
            assert_eq!(greeting.answered(&changed), None, "byte {place}");
            assert_eq!(greeting.answered(&changed[..place]), None, "cut at {place}");
        }
        assert!(greeting.answered(&said).is_some(), "what was forged did no harm");
        for place in 0..LENGTH {
            let mut changed = *greeting.question();
            changed[place] ^= 4;
            assert!(answer(&theirs, &changed).is_none(), "byte {place}");
            assert!(answer(&theirs, &changed[..place]).is_none(), "cut at {place}");
        }
    }
}
