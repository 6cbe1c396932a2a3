//! Sprout's header: any bytes are read or refused, what is read survives being written, and an
//! endpoint takes it whatever it says.

use exm_sprout::{Endpoint, Header, Settings};
use exm_units::{Bytes, Instant, Span};

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let mut endpoint = Endpoint::new(Instant::ZERO, Settings::default());
    let (mut now, mut rest) = (Instant::ZERO, bytes);
    while let Ok((header, after)) = Header::decode(rest) {
        let mut written = Vec::new();
        header.encode(&mut written);
        assert!(written.len() <= Header::MAX_LEN);
        assert_eq!(Header::decode(&written), Ok((header, &[][..])));
        rest = after;
        let (wait, size) = match rest {
            [wait, size, after @ ..] => {
                rest = after;
                (*wait, u64::from(*size) * 6 + 70)
            }
            _ => break,
        };
        now += Span::from_millis(u64::from(wait));
        endpoint.receive(now, &header, Bytes::new(size), size > 70);
        if size <= endpoint.window().get() || endpoint.is_due(now) {
            endpoint.send(now, Bytes::new(size), size > 70, None);
        }
        assert!(endpoint.next_wake() > now);
    }
}
