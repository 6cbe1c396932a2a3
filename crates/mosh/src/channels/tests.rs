use super::*;
use proptest::prelude::*;

const ALL: Extensions =
    Extensions { history: true, tcp: true, listen: true, agent: true, files: true, styles: true };

fn tcp() -> Opening {
    Opening::Tcp { host: "localhost".to_owned(), port: 80 }
}

/// Both ends, after they have agreed on everything.
fn pair() -> [Channels; 2] {
    let mut ends = [Channels::client(ALL), Channels::server(ALL)];
    exchange(&mut ends);
    assert_eq!(ends[0].granted(), Some(ALL));
    assert_eq!(ends[1].granted(), Some(ALL));
    ends
}

/// Moves bytes until nothing is left.
fn exchange(ends: &mut [Channels; 2]) {
    while ends.iter().any(Channels::has_output) {
        for from in 0..2 {
            let bytes = ends[from].pull(1 << 20);
            assert!(ends[1 - from].receive(&bytes));
        }
    }
}

/// Both ends, and a channel that the client has opened.
fn opened() -> ([Channels; 2], ChannelId) {
    let mut ends = pair();
    let id = ends[0].open(tcp()).expect("it is granted");
    exchange(&mut ends);
    assert_eq!(ends[1].next_event(), Some(Event::Opened(id, tcp())));
    ends[1].accept(id);
    exchange(&mut ends);
    assert_eq!(ends[0].next_event(), Some(Event::Accepted(id)));
    (ends, id)
}

fn held(end: &Channels) -> usize {
    let channels = end.channels.values();
    let buffers = channels.map(|channel| channel.outgoing.len() + channel.held_incoming());
    end.control.len() + buffers.sum::<usize>()
}

#[test]
fn a_channel_lives_and_ends() {
    let ([mut client, mut server], id) = opened();
    assert_eq!(id, ChannelId(0));
    assert_eq!(client.write(id, b"question"), 8);
    client.end(id);
    assert_eq!((client.writable(id), client.write(id, b"more")), (0, 0));
    let mut ends = [client, server];
    exchange(&mut ends);
    [client, server] = ends;
    assert_eq!(server.next_event(), Some(Event::Data(id)));
    assert_eq!(server.next_event(), None, "the end follows the data");
    assert_eq!(server.read(id, 3), b"que");
    assert_eq!(server.read(id, 99), b"stion");
    assert_eq!(server.next_event(), Some(Event::Ended(id)));
    server.write(id, b"answer");
    server.end(id);
    ends = [client, server];
    exchange(&mut ends);
    [client, server] = ends;
    assert_eq!(client.next_event(), Some(Event::Data(id)));
    assert_eq!(client.read(id, 99), b"answer");
    assert_eq!(client.next_event(), Some(Event::Ended(id)));
    let closed = Some(Event::Closed(id, Reason::Finished));
    assert_eq!((client.next_event(), server.next_event()), (closed.clone(), closed));
    assert!(client.channels.is_empty() && server.channels.is_empty());
}

#[test]
fn either_end_closes_a_channel() {
    for closer in 0..2 {
        let (mut ends, id) = opened();
        ends[closer].write(id, b"lost");
        ends[1 - closer].write(id, b"lost, too");
        let reason = Reason::Failed("the disk is full".to_owned());
        ends[closer].close(id, reason.clone());
        exchange(&mut ends);
        for end in &mut ends {
            assert_eq!(end.next_event(), Some(Event::Closed(id, reason.clone())));
            assert!(end.channels.is_empty() && end.next_event().is_none());
        }
    }
}

#[test]
fn what_was_sent_before_a_close_is_read() {
    let (mut ends, id) = opened();
    ends[0].write(id, b"last words");
    let bytes = ends[0].pull(1 << 20);
    ends[0].close(id, Reason::Finished);
    assert!(ends[1].receive(&bytes));
    exchange(&mut ends);
    assert_eq!(ends[1].next_event(), Some(Event::Data(id)));
    assert_eq!(ends[1].next_event(), None);
    assert_eq!(ends[1].read(id, 99), b"last words");
    assert_eq!(ends[1].next_event(), Some(Event::Closed(id, Reason::Finished)));
}

#[test]
fn a_channel_is_refused() {
    let mut ends = pair();
    let id = ends[1].open(Opening::Agent).expect("it is granted");
    assert_eq!(id, ChannelId(1));
    exchange(&mut ends);
    assert_eq!(ends[0].next_event(), Some(Event::Opened(id, Opening::Agent)));
    ends[0].refuse(id, Reason::Failed("no agent".to_owned()));
    exchange(&mut ends);
    let reason = Reason::Failed("no agent".to_owned());
    assert_eq!(ends[1].next_event(), Some(Event::Refused(id, reason)));
    assert!(ends.iter().all(|end| end.channels.is_empty()));
}

#[test]
fn a_channel_is_closed_before_it_is_answered() {
    for is_accepted in [true, false] {
        let mut ends = pair();
        let id = ends[0].open(tcp()).expect("it is granted");
        ends[0].close(id, Reason::Finished);
        exchange(&mut ends);
        assert_eq!(ends[1].next_event(), Some(Event::Opened(id, tcp())));
        if is_accepted {
            ends[1].accept(id);
        } else {
            ends[1].refuse(id, Reason::TooMany);
        }
        exchange(&mut ends);
        assert!(ends[0].next_event().is_some());
        assert_eq!(ends[1].next_event().is_some(), is_accepted);
        assert!(ends.iter().all(|end| end.channels.is_empty()));
    }
}

#[test]
fn only_what_is_granted_can_be_opened() {
    let few = Extensions { tcp: true, ..Extensions::default() };
    let mut ends = [Channels::client(ALL), Channels::server(few)];
    assert_eq!(ends[0].open(tcp()), Err(OpenError::NotGranted), "not yet");
    exchange(&mut ends);
    assert_eq!(ends[0].granted(), Some(few));
    assert_eq!(ends[0].open(Opening::History), Err(OpenError::NotGranted));
    assert_eq!(ends[1].open(tcp()), Err(OpenError::NotGranted), "clients do");
    assert!(ends[0].open(tcp()).is_ok());
    // A client that opens other channels anyway is refused.
    let mut out = Vec::new();
    Frame::Open { id: 2, opening: Some(Opening::History) }.put(&mut out);
    Frame::Open { id: 4, opening: None }.put(&mut out);
    exchange(&mut ends);
    assert!(ends[1].receive(&out));
    let mut refusals = Vec::new();
    let mut decoder = Decoder::default();
    let pulled = ends[1].pull(1 << 20);
    let collect = |frame| {
        refusals.push(frame);
        Ok(())
    };
    decoder.add(&pulled, collect).expect("our own");
    let refused = |id, reason| Frame::Refuse { id, reason };
    assert_eq!(refusals, [refused(2, Reason::Denied), refused(4, Reason::Unsupported)]);
}

#[test]
fn a_slow_reader_stops_only_its_own_channel() {
    let (mut ends, slow) = opened();
    let fast = ends[0].open(tcp()).expect("it is granted");
    exchange(&mut ends);
    assert_eq!(ends[1].next_event(), Some(Event::Opened(fast, tcp())));
    ends[1].accept(fast);
    let (mut sent, mut read) = (0, 0);
    for _ in 0..1000 {
        sent += ends[0].write(slow, &[1; 10_000]);
        ends[0].write(fast, &[2; 10_000]);
        exchange(&mut ends);
        read += ends[1].read(fast, usize::MAX).len();
    }
    assert_eq!(sent, CREDIT + MOST_WRITTEN);
    assert!(read > 9_000_000, "{read}");
    assert!(held(&ends[1]) <= CREDIT);
    // Once it is read, it goes on.
    let mut rest = 0;
    while let [_, ..] = &ends[1].read(slow, usize::MAX)[..] {
        rest += 1;
        exchange(&mut ends);
    }
    assert_eq!((rest, ends[0].unsent(slow)), (2, 0));
}

#[test]
fn the_number_of_channels_is_bounded() {
    let mut ends = pair();
    let ids: Vec<ChannelId> =
        (0..MAX_CHANNELS).map(|_| ends[0].open(tcp()).expect("few")).collect();
    assert_eq!(ends[0].open(tcp()), Err(OpenError::TooMany));
    exchange(&mut ends);
    let mut out = Vec::new();
    Frame::Open { id: 1000, opening: Some(tcp()) }.put(&mut out);
    assert!(ends[1].receive(&out));
    assert_eq!(ends[1].channels.len(), ids.len());
    // A peer that asks again and again without reading the answers is cut off.
    let mut is_honest = true;
    for id in 1..100_000 {
        out.clear();
        Frame::Open { id: 1000 + 2 * id, opening: Some(tcp()) }.put(&mut out);
        is_honest &= ends[1].receive(&out);
        assert!(held(&ends[1]) <= MOST_CONTROL + 1000);
    }
    assert!(!is_honest && ends[1].has_failed());
}

#[test]
fn malformed_frames_end_all_channels() {
    let frames = [
        Frame::Accept { id: 0 },
        Frame::Data { id: 8, bytes: Vec::new() },
        Frame::Data { id: 0, bytes: vec![0; 10_000] },
        Frame::Credit { id: 0, bytes: 1 },
        Frame::Open { id: 1, opening: Some(tcp()) },
        Frame::Open { id: 0, opening: Some(tcp()) },
        Frame::Hello { version: 1, extensions: 31 },
    ];
    for frame in frames {
        let (mut ends, _) = opened();
        let mut out = Vec::new();
        // The third one exceeds the credit.
        (0..27).for_each(|_| frame.put(&mut out));
        assert!(!ends[1].receive(&out), "{frame:?}");
        assert!(ends[1].has_failed() && ends[1].granted().is_none());
        assert!(ends[1].receive(&out), "it is counted once");
        exchange(&mut ends);
        assert!(ends[0].has_failed(), "the other end is notified");
        assert_eq!(ends[0].open(tcp()), Err(OpenError::NotGranted));
        assert!(!ends[0].has_output() && !ends[1].has_output());
    }
    let mut early = Channels::server(ALL);
    assert!(!early.receive(&[2, 1, 0]), "before a greeting");
    assert!(!early.has_output(), "a peer that does not know extensions is not notified");
    let mut unasked = Channels::client(Extensions::default());
    assert!(!unasked.receive(&[0, 2, 1, 31]));
}

#[test]
fn frames_on_the_wire() {
    let mut client = Channels::client(ALL);
    assert_eq!(client.pull(99), [0, 2, 1, 63]);
    assert!(client.receive(&[0, 2, 1, 2]));
    client.open(tcp()).expect("it is granted");
    assert_eq!(client.pull(99), *b"\x01\x0d\x00\x02\x09localhost\x50");
    assert!(client.receive(&[77, 1, 9]), "an unknown kind is skipped");
}

fn openings() -> impl Strategy<Value = Opening> {
    let path = || prop::collection::vec(any::<u8>(), 0..9);
    prop_oneof![
        Just(Opening::History),
        Just(Opening::Agent),
        (".{0,9}", any::<u16>()).prop_map(|(host, port)| Opening::Tcp { host, port }),
        (".{0,9}", any::<u16>()).prop_map(|(address, port)| Opening::Listen { address, port }),
        (any::<u32>(), ".{0,9}")
            .prop_map(|(listener, origin)| Opening::Incoming { listener, origin }),
        (path(), any::<u64>()).prop_map(|(path, offset)| Opening::Fetch { path, offset }),
        (path(), any::<u32>(), any::<u64>()).prop_map(|(path, mode, offset)| Opening::Store {
            path,
            mode,
            offset
        }),
    ]
}

/// What a user of a pair of multiplexers does.
#[derive(Clone, Debug)]
enum Step {
    Open,
    Write { end: usize, channel: usize, length: usize },
    Read { end: usize, channel: usize, most: usize },
    End { end: usize, channel: usize },
    Move { from: usize, pulled: usize, cut: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ends = || 0usize..2;
    let step = prop_oneof![
        1 => Just(Step::Open),
        4 => (ends(), 0usize..4, 0usize..100_000)
            .prop_map(|(end, channel, length)| Step::Write { end, channel, length }),
        4 => (ends(), 0usize..4, 0usize..200_000)
            .prop_map(|(end, channel, most)| Step::Read { end, channel, most }),
        1 => (ends(), 0usize..4).prop_map(|(end, channel)| Step::End { end, channel }),
        8 => (ends(), prop_oneof![0usize..40, 0usize..100_000], 1usize..1000)
            .prop_map(|(from, pulled, cut)| Step::Move { from, pulled, cut }),
    ];
    prop::collection::vec(step, 1..100)
}

/// A pair whose channels carry counted bytes.
#[derive(Default)]
struct Counted {
    /// By end and channel: how many were written and read.
    written: BTreeMap<(usize, u32), usize>,
    read: BTreeMap<(usize, u32), usize>,
}

/// The byte at `place` of what `end` writes on `channel`.
fn byte(end: usize, channel: u32, place: usize) -> u8 {
    (place as u32).wrapping_mul(31).wrapping_add(channel * 7 + end as u32) as u8
}

impl Counted {
    fn write(&mut self, ends: &mut [Channels; 2], end: usize, id: u32, length: usize) {
        let written = self.written.entry((end, id)).or_default();
        let bytes: Vec<u8> =
            (*written..*written + length).map(|place| byte(end, id, place)).collect();
        *written += ends[end].write(ChannelId(id), &bytes);
    }

    fn read(&mut self, ends: &mut [Channels; 2], end: usize, id: u32, most: usize) {
        let read = self.read.entry((1 - end, id)).or_default();
        for got in ends[end].read(ChannelId(id), most) {
            assert_eq!(got, byte(1 - end, id, *read));
            *read += 1;
        }
    }
}

fn accept_all(end: &mut Channels) {
    while let Some(event) = end.next_event() {
        if let Event::Opened(id, _) = event {
            end.accept(id);
        }
    }
}

proptest! {
    /// All data arrives in order, however steps are interleaved and the bytes are cut.
    #[test]
    fn data_arrives_in_order(steps in steps()) {
        let mut ends = pair();
        let mut counted = Counted::default();
        for step in steps {
            match step {
                Step::Open => drop(ends[0].open(tcp())),
                Step::Write { end, channel, length } => {
                    counted.write(&mut ends, end, channel as u32 * 2, length);
                }
                Step::Read { end, channel, most } => {
                    counted.read(&mut ends, end, channel as u32 * 2, most);
                }
                Step::End { end, channel } => ends[end].end(ChannelId(channel as u32 * 2)),
                Step::Move { from, pulled, cut } => {
                    let bytes = ends[from].pull(pulled);
                    prop_assert!(bytes.len() <= pulled);
                    for piece in bytes.chunks(cut) {
                        prop_assert!(ends[1 - from].receive(piece));
                    }
                    accept_all(&mut ends[1 - from]);
                }
            }
        }
        for _ in 0..20 {
            exchange(&mut ends);
            for end in 0..2 {
                for id in (0..200).step_by(2) {
                    counted.read(&mut ends, end, id, usize::MAX);
                }
                accept_all(&mut ends[end]);
            }
        }
        counted.written.retain(|_, count| *count > 0);
        counted.read.retain(|_, count| *count > 0);
        prop_assert_eq!(counted.written, counted.read);
    }

    #[test]
    fn openings_come_back(opening in openings()) {
        let mut bytes = Vec::new();
        opening.put(&mut bytes);
        prop_assert_eq!(Opening::take(&mut wire::Body(&bytes)), Ok(Some(opening)));
    }

    #[test]
    fn any_bytes_are_processed_or_refused(bytes in prop::collection::vec(0u8..12, 0..300)) {
        let (mut ends, _) = opened();
        ends[1].receive(&bytes);
        accept_all(&mut ends[1]);
        prop_assert!(held(&ends[1]) <= 300 + 20 * 300);
    }
}
