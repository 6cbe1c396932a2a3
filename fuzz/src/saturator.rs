//! Saturators: any bytes are a message or none, and whatever an end that has the key says, the other
//! neither panics nor grows without bound.

use exm_datagram::Key;
use exm_saturator::{
    Arrival, ArrivalLog, Client, Collector, Message, Path, Saturation, Server, Settings, Window,
};
use exm_units::{Instant, Span};
use std::cell::RefCell;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    strangers(bytes);
    let (mut log, mut collector) = (ArrivalLog::new(), Collector::new());
    let (mut window, mut saturation) = (Window::new(), Saturation::new());
    let (mut now, mut rest) = (Instant::ZERO, bytes);
    while let [length, wait, after @ ..] = rest {
        let (message, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        now += Span::from_millis(u64::from(*wait) * 8);
        let Ok(message) = Message::decode(message) else { continue };
        let mut again = Vec::new();
        message.encode(&mut again);
        assert_eq!(Message::decode(&again), Ok(message.clone()));
        match message {
            Message::Data { number, sent_at, .. } => {
                log.push(Arrival { number, sent_at, received_at: now });
            }
            Message::Arrivals { first, arrivals } => {
                collector.reported(now, first, &arrivals);
                for arrival in arrivals {
                    window.acknowledge(arrival.number, now.saturating_since(arrival.sent_at));
                }
            }
            Message::Request { first, count } => {
                assert!(log.repeat(first, count).count() <= 10)
            }
            Message::Status { arrivals, .. } => collector.expect(arrivals),
        }
        while let Some(arrival) = collector.take(now) {
            // The times of an end that is out of its mind may be anything, and are not waited for.
            let received_at = now;
            saturation.arrived(Arrival { received_at, ..arrival }, window.size());
            while saturation.closed().is_some() {}
        }
        if let Some(request) = collector.request(now) {
            assert!(matches!(request, Message::Request { count: 1..=450, .. }), "{request:?}");
        }
        while log.report().is_some() {}
        while window.is_open(now) {
            window.send(now);
        }
        assert!((10..=1500).contains(&window.size()));
    }
}

thread_local! {
    /// Two ends that wait for each other; made once, since greetings take long.
    static ENDS: RefCell<(Server, Client)> = {
        let key = Key::from_bytes([9; 16]);
        let client = Client::new(Instant::ZERO, &key, Settings::default()).expect("randomness");
        RefCell::new((Server::new(key), client))
    };
}

/// Who has no key changes nothing, and gets no answer.
fn strangers(bytes: &[u8]) {
    ENDS.with_borrow_mut(|(server, client)| {
        server.receive(Instant::ZERO, ([192, 0, 2, 1], 9).into(), &mut bytes.to_vec());
        assert_eq!(server.transmit(Instant::ZERO, &mut Vec::new()), None);
        for path in [Path::Data, Path::Control] {
            client.receive(Instant::ZERO, path, &mut bytes.to_vec());
        }
        assert!(!client.is_connected());
    });
}
