//! What the two ends of a tunnel say to each other: any bytes are a message or none, and what is read
//! survives being written.

use exm_tunnel::Message;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    if let Ok(message) = Message::decode(bytes) {
        let written = message.encode();
        assert_eq!(Message::decode(&written), Ok(message));
        assert_eq!(written.len(), bytes.len());
    }
    // Messages begin with a kind and a version, which random bytes seldom do.
    for kind in [1, 2] {
        let likely = [&[kind, 1], bytes].concat();
        if let Ok(message) = Message::decode(&likely) {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }
}
