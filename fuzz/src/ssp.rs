//! SSP: whatever a peer with the key sends, an end neither panics nor sends without pause, the peer's states
//! only get newer, and differences that are read survive being written.

use exm_ssp::{
    Fragment, Instruction, Rtt, Settings, Sided, State, Transport, UserStream, VERSION, compress,
    decode_host, encode_host,
};
use exm_units::{Instant, Span};

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let empty = UserStream::new;
    let mut end = Transport::new(Instant::ZERO, Settings::client(1), empty(), empty());
    let (mut now, mut rest) = (Instant::ZERO, bytes);
    while let [step, wait, length, after @ ..] = rest {
        let (data, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        now += Span::from_millis(u64::from(*wait) * 10);
        let newest = end.remote_number();
        let _ = end.receive(now, &payload(*step, data));
        assert!(end.remote_number() >= newest);
        if step & 0x40 != 0 && end.local_mut().push_keys(data).is_err() {
            panic!("so few bytes fit");
        }
        if *step == 0xff {
            end.shutdown(now);
        }
        transmit(&mut end, now, u64::from(*length));
        differences(data);
        end.take_remote_diff();
    }
}

/// What the peer makes of `data`: a payload, a compressed instruction, or the numbers and the difference of
/// one.
fn payload(step: u8, data: &[u8]) -> Vec<u8> {
    let instruction = match (step % 4, data) {
        (0, _) => return data.to_vec(),
        (1, _) => data.to_vec(),
        (2, [old, new, acknowledged, throwaway, diff @ ..]) => {
            let [old, new, acknowledged, throwaway] =
                [old, new, acknowledged, throwaway].map(|&number| match number {
                    255 => u64::MAX,
                    number => u64::from(number % 8),
                });
            let diff = diff.to_vec();
            let numbers = Instruction { version: VERSION, old, new, ..Instruction::default() };
            Instruction { acknowledged, throwaway, diff, ..numbers }.encode()
        }
        _ => {
            let mut typed = UserStream::new();
            typed.push_keys(data).expect("few bytes");
            let (new, diff) = (u64::from(step) + 1, typed.initial_diff());
            Instruction { version: VERSION, new, diff, ..Instruction::default() }.encode()
        }
    };
    let compressed = compress(&instruction).expect("short");
    let last = Fragment { id: u64::from(step), index: 0, last: true, data: &compressed };
    last.encode()
}

/// Sends what is due: one instruction at most.
fn transmit(end: &mut Transport<UserStream, UserStream>, now: Instant, millis: u64) {
    let rtt = Rtt { srtt: Span::from_millis(millis), timeout: Span::from_millis(millis + 50) };
    let mut ids = Vec::new();
    while let Some(payload) = end.transmit(now, &rtt).expect("the state is small") {
        ids.push(Fragment::decode(&payload).expect("our own").id);
    }
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(end.next_wake(now, &rtt) > now);
}

/// Differences of both directions.
fn differences(data: &[u8]) {
    if let Ok(events) = decode_host(data) {
        assert_eq!(decode_host(&encode_host(&events)), Ok(events));
    }
    let mut sided = Sided::new(UserStream::new());
    if sided.apply(data).is_ok() {
        let mut copy = Sided::new(UserStream::new());
        copy.apply(&sided.initial_diff()).expect("our own");
        assert!(copy == sided && sided.stream.len() <= data.len());
    }
    let mut stream = UserStream::new();
    if stream.apply(data).is_ok() {
        let mut copy = UserStream::new();
        copy.apply(&stream.initial_diff()).expect("our own");
        assert!(copy == stream);
    }
}
