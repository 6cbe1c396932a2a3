//! What the two ends of a benchmark say to each other: any bytes are a message or none, and what is
//! read survives being written.

use exm_bench::session::Message;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let Some(message) = Message::decode(bytes) else { return };
    let mut written = Vec::new();
    message.encode(&mut written);
    assert_eq!(Message::decode(&written), Some(message));
    assert!(written.len() <= bytes.len(), "what follows a message is without meaning");
    assert_eq!(Message::decode(&written[..written.len() - 1]), None);
}
