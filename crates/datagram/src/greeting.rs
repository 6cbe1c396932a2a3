//! [`Agreement`]: fresh keys for each session, out of one that both ends were given.
//!
//! A [`Session`](crate::Session)'s key must not be used for two sessions, yet programs are started
//! again and keep the key they were given. So that key is used for nothing but a Noise handshake
//! (`Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s`, revision 34 of T. Perrin's framework), in which the
//! server makes new ones and sends them. Who does not have the shared key can neither take part nor
//! read them, and who gets it later cannot read what was recorded before.

use crate::{Key, KeyError};
use snow::{Builder, HandshakeState};
use std::fmt;
use zeroize::Zeroizing;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Bytes of a message beside its keys: an ephemeral key, and a tag.
const AROUND: usize = 32 + 16;
/// The bytes of a key.
const KEY: usize = 16;

/// How many keys are agreed on, and for what: both ends must mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    purpose: &'static str,
    keys: usize,
}

/// A question that waits for its answer: the client's half of an [`Agreement`].
pub struct Question {
    agreement: Agreement,
    state: Box<HandshakeState>,
    message: Vec<u8>,
}

impl Agreement {
    /// On so many `keys` for `purpose`, such as "exm saturate 1".
    pub const fn new(purpose: &'static str, keys: usize) -> Agreement {
        Agreement { purpose, keys }
    }

    /// The bytes of a question and of its answer: equal, so that nothing is amplified.
    pub const fn length(&self) -> usize {
        AROUND + KEY * self.keys
    }

    /// A new question to a server that has `key`.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn ask(self, key: &Key) -> Result<Question, KeyError> {
        let secret = widened(key);
        let unsound = || KeyError::NoRandomness(getrandom::Error::UNEXPECTED);
        let builder = self.builder(&secret).ok_or_else(unsound)?;
        let mut state = builder.build_initiator().map_err(|_| unsound())?;
        let mut message = vec![0; self.length()];
        // As many bytes as the answer has for its keys.
        state.write_message(&vec![0; KEY * self.keys], &mut message).map_err(|_| unsound())?;
        Ok(Question { agreement: self, state: Box::new(state), message })
    }

    /// The answer to `question` and the keys agreed on, where it is of one who has `key`.
    pub fn answer(self, key: &Key, question: &[u8]) -> Option<(Vec<u8>, Vec<Key>)> {
        if question.len() != self.length() {
            return None;
        }
        let secret = widened(key);
        let mut state = self.builder(&secret)?.build_responder().ok()?;
        state.read_message(question, &mut vec![0; KEY * self.keys]).ok()?;
        let keys = std::iter::repeat_with(Key::generate).take(self.keys);
        let keys: Vec<Key> = keys.collect::<Result<_, _>>().ok()?;
        let text: Vec<u8> = keys.iter().flat_map(|key| *key.bytes()).collect();
        let text = Zeroizing::new(text);
        let mut answer = vec![0; self.length()];
        state.write_message(&text, &mut answer).ok()?;
        Some((answer, keys))
    }

    fn builder(self, secret: &[u8; 32]) -> Option<Builder<'_>> {
        let builder = Builder::new(PATTERN.parse().ok()?);
        builder.psk(0, secret).ok()?.prologue(self.purpose.as_bytes()).ok()
    }
}

impl Question {
    /// What to send, as often as it takes.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The keys in `answer`, if that is the answer to this question; once.
    pub fn answered(&mut self, answer: &[u8]) -> Option<Vec<Key>> {
        if answer.len() != self.agreement.length() {
            return None;
        }
        let mut text = Zeroizing::new(vec![0; answer.len()]);
        let length = self.state.read_message(answer, &mut text).ok()?;
        let key = |bytes: &[u8]| Some(Key::from_bytes(bytes.try_into().ok()?));
        text.get(..length)?.chunks(KEY).map(key).collect()
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("agreement", &self.agreement).finish_non_exhaustive()
    }
}

/// Noise takes a key of 32 bytes; the other 16 say what it is used for.
fn widened(key: &Key) -> Zeroizing<[u8; 32]> {
    let mut secret = Zeroizing::new(*b"................exm agreement  1");
    secret[..KEY].copy_from_slice(key.bytes());
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Agreement = Agreement::new("test 1", 2);

    #[test]
    fn both_get_the_same_keys_and_others_each_time() {
        let shared = Key::from_bytes([1; 16]);
        let mut question = TWO.ask(&shared).expect("randomness");
        let (said, keys) = TWO.answer(&shared, question.message()).expect("it has the key");
        assert_eq!((said.len(), question.message().len()), (TWO.length(), TWO.length()));
        assert_eq!(question.answered(&said), Some(keys.clone()));
        assert_eq!(question.answered(&said), None, "once");
        let (again, others) = TWO.answer(&shared, question.message()).expect("it has the key");
        assert!(others != keys && again != said && keys[0] != keys[1]);
    }

    #[test]
    fn strangers_are_not_answered() {
        let (ours, theirs) = (Key::from_bytes([1; 16]), Key::from_bytes([2; 16]));
        let mut question = TWO.ask(&theirs).expect("randomness");
        assert!(TWO.answer(&ours, question.message()).is_none());
        let another = Agreement::new("test 2", 2);
        assert!(another.answer(&theirs, question.message()).is_none(), "for another purpose");
        let (said, _) = TWO.answer(&theirs, question.message()).expect("it has the key");
        for place in 0..TWO.length() {
            let mut changed = said.clone();
            changed[place] ^= 4;
            assert_eq!(question.answered(&changed), None, "byte {place}");
            assert_eq!(question.answered(&changed[..place]), None, "cut at {place}");
            let mut changed = question.message().to_vec();
            changed[place] ^= 4;
            assert!(TWO.answer(&theirs, &changed).is_none(), "byte {place}");
            assert!(TWO.answer(&theirs, &changed[..place]).is_none(), "cut at {place}");
        }
        assert!(question.answered(&said).is_some(), "what was forged did no harm");
    }
}
