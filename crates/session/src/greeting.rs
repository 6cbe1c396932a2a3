//! How the two ends begin a session: they agree on a key of its own.
//!
//! A key of the datagram layer must not be used for two sessions, whose datagrams would have the same
//! numbers, and what was recorded of one must mean nothing in another; yet programs are started
//! again, and keep the key they were given. So that is used for nothing but an [`Agreement`].
//!
//! A question and its answer are datagrams of one length, so that nobody is sent more than was asked
//! with. Their first byte is one that no datagram of a session begins with, since none lives to have
//! numbers that large.

use exm_datagram::{Agreement, Key, Question};

/// The first byte of a client's question, and of a server's answer.
pub(crate) const QUESTION: u8 = 0x40;
pub(crate) const ANSWER: u8 = 0xc0;
/// Bytes of either.
const LENGTH: usize = 1 + AGREEMENT.length();

const AGREEMENT: Agreement = Agreement::new("exm session 1", 1);

/// A datagram of a greeting.
pub(crate) type Message = [u8; LENGTH];

/// A client's half: a question that waits for its answer.
pub(crate) struct Greeting {
    question: Question,
    message: Message,
}

impl Greeting {
    /// A new question to a server that has `key`. Nothing where the system has no randomness.
    pub(crate) fn new(key: &Key) -> Option<Greeting> {
        let question = AGREEMENT.ask(key).ok()?;
        let message = message(QUESTION, question.message())?;
        Some(Greeting { question, message })
    }

    /// What to send, as often as it takes.
    pub(crate) fn question(&self) -> &Message {
        &self.message
    }

    /// The key in `answer`, if that is the answer to this question.
    pub(crate) fn answered(&mut self, answer: &[u8]) -> Option<Key> {
        self.question.answered(answer.strip_prefix(&[ANSWER])?)?.pop()
    }
}

/// A server's half: its answer to `question` and the key of the session, where the question is of
/// one who has `key`.
pub(crate) fn answer(key: &Key, question: &Message) -> Option<(Message, Key)> {
    let (answer, mut keys) = AGREEMENT.answer(key, question.strip_prefix(&[QUESTION])?)?;
    Some((message(ANSWER, &answer)?, keys.pop()?))
}

fn message(kind: u8, text: &[u8]) -> Option<Message> {
    let mut message = [kind; LENGTH];
    message.get_mut(1..)?.copy_from_slice(text.get(..LENGTH - 1)?);
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_get_the_same_key() {
        let shared = Key::from_bytes([1; 16]);
        let mut greeting = Greeting::new(&shared).expect("randomness");
        let question = *greeting.question();
        let (said, key) = answer(&shared, &question).expect("it has the key");
        assert_eq!([question[0], said[0]], [QUESTION, ANSWER]);
        let stranger = Key::from_bytes([2; 16]);
        assert!(answer(&stranger, &question).is_none());
        assert_eq!(greeting.answered(&said[..LENGTH - 1]), None);
        assert_eq!(greeting.answered(&question), None);
        assert_eq!(greeting.answered(&said), Some(key));
    }
}
