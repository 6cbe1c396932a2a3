//! A stream arrives whole and in order, whatever the network does to segments and acknowledgements.

use exm_cc::{Aimd, Controller};
use exm_tcp::{
    Acknowledgement, Arrival, DelayedAcks, Floor, Job, Receiver, Segment, Sender, Settings,
};
use exm_units::{Instant, Packets, Span};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What the network does to one packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives { after_ms: u64 },
    Vanishes,
    ArrivesTwice { after_ms: u64, again_ms: u64 },
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let delay = 10u64..12;
    let late = 10u64..400;
    let fate = prop_oneof![
        12 => delay.prop_map(|after_ms| Fate::Arrives { after_ms }),
        2 => late.clone().prop_map(|after_ms| Fate::Arrives { after_ms }),
        2 => Just(Fate::Vanishes),
        1 => (late.clone(), late)
            .prop_map(|(after_ms, again_ms)| Fate::ArrivesTwice { after_ms, again_ms }),
    ];
    prop::collection::vec(fate, 1..300)
}

fn settings() -> impl Strategy<Value = Settings> {
    let windows = prop::option::of((1u64..40).prop_map(Packets::new));
    let floors = prop_oneof![
        Just(Floor::Timer(Span::from_millis(200))),
        Just(Floor::Margin(Span::from_millis(200))),
    ];
    (1u64..20, any::<bool>(), floors, any::<bool>(), windows).prop_map(
        |(initial, handshake, floor, delayed, receive_window)| Settings {
            initial_window: Packets::new(initial),
            handshake,
            floor,
            delayed_acks: delayed.then(DelayedAcks::default),
            ecn: false,
            receive_window,
        },
    )
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Segment(Segment, Instant),
    Answer(Acknowledgement),
}

/// Two ends and the packets between them. What is sent after the last fate arrives in 10 ms.
struct World<C> {
    sender: Sender,
    receiver: Receiver,
    cc: C,
    fates: std::vec::IntoIter<Fate>,
    /// By time, and by order at the same time.
    coming: BTreeMap<(Instant, u64), Event>,
    count: u64,
    now: Instant,
    /// Data segments the receiver was given, to tell that what it has it was sent.
    given: Vec<u64>,
}

impl<C: Controller> World<C> {
    fn carry(&mut self, event: Event) {
        let delays = match self.fates.next() {
            None => vec![10],
            Some(Fate::Arrives { after_ms }) => vec![after_ms],
            Some(Fate::Vanishes) => vec![],
            Some(Fate::ArrivesTwice { after_ms, again_ms }) => vec![after_ms, again_ms],
        };
        for delay in delays {
            self.count += 1;
            self.coming.insert((self.now + Span::from_millis(delay), self.count), event);
        }
    }

    /// Does what is next, and returns whether the stream is complete.
    fn step(&mut self) -> bool {
        let send = self.sender.next_send(self.now);
        let timers = self.sender.deadline().min(self.receiver.deadline());
        let arrival = self.coming.keys().next().map_or(Instant::MAX, |key| key.0);
        let next = send.min(timers).min(arrival);
        assert!(next < Instant::MAX, "nothing will ever happen again");
        assert!(next >= self.now, "time goes backwards");
        self.now = next;
        if arrival == next {
            let (_, event) = self.coming.pop_first().expect("something is coming");
            return self.arrive(event);
        }
        if timers == next {
            if self.sender.deadline() <= next {
                self.sender.on_timer(next, &mut self.cc);
            }
            if self.receiver.deadline() <= next
                && let Some(answer) = self.receiver.release()
            {
                self.carry(Event::Answer(answer));
            }
            return false;
        }
        let segment = self.sender.send(next);
        self.carry(Event::Segment(segment, next));
        false
    }

    fn arrive(&mut self, event: Event) -> bool {
        match event {
            Event::Segment(segment, sent_at) => {
                if let Segment::Data(number) = segment {
                    self.given.push(number);
                }
                let arrival = Arrival { segment, sent_at, marked: false, feedback: None };
                if let Some(answer) = self.receiver.receive(self.now, &arrival) {
                    self.carry(Event::Answer(answer));
                }
                false
            }
            Event::Answer(answer) => {
                let before = self.sender.acknowledged();
                let progress = self.sender.on_ack(self.now, &answer, &mut self.cc);
                assert_eq!(progress.in_order, self.sender.acknowledged() - before);
                assert!(self.sender.acknowledged() <= self.receiver.in_order());
                progress.finished
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_stream_arrives_whole_and_in_order(
        data in 1u64..300,
        settings in settings(),
        fates in fates(),
    ) {
        let mut cc = Aimd::new();
        let mut sender = Sender::new(settings, cc.needs());
        sender.start(Instant::ZERO, Job { data: Some(Packets::new(data)), rtt: None }, &mut cc);
        let mut world = World {
            sender,
            receiver: Receiver::new(settings.delayed_acks),
            cc,
            fates: fates.into_iter(),
            coming: BTreeMap::new(),
            count: 0,
            now: Instant::ZERO,
            given: Vec::new(),
        };
        let mut steps = 0;
        while !world.step() {
            let window = settings.receive_window.map_or(u64::MAX, Packets::get);
            let outstanding = world.sender.in_flight().get();
            prop_assert!(outstanding <= data.min(window) * 2, "{outstanding} in flight");
            steps += 1;
            prop_assert!(steps < 100_000, "it does not end");
        }
        // All of it, nothing beyond it, and nothing that was not sent.
        prop_assert_eq!(world.receiver.in_order(), data);
        prop_assert_eq!(world.sender.acknowledged(), data);
        let mut given = world.given.clone();
        given.sort_unstable();
        given.dedup();
        prop_assert_eq!(given, (0..data).collect::<Vec<_>>());
    }
}

/// Numbers near those that are due, and any.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..40, 1 => any::<u64>()]
}

fn answers() -> impl Strategy<Value = Acknowledgement> {
    let blocks = [(number(), number()), (number(), number()), (number(), number())];
    (number(), blocks, number(), number(), number(), any::<bool>()).prop_map(
        |(cumulative, blocks, sequence, sent, marked, syn)| Acknowledgement {
            cumulative,
            blocks,
            sequence,
            sent_at: Instant::from_nanos(sent),
            received_at: Instant::ZERO,
            marked,
            feedback: None,
            syn,
        },
    )
}

proptest! {
    /// Whatever a receiver claims to have, its sender goes on, and what it may have in flight stays
    /// within its window.
    #[test]
    fn no_answer_upsets_a_sender(
        settings in settings(),
        answers in prop::collection::vec(answers(), 1..60),
    ) {
        let mut cc = Aimd::new();
        let mut sender = Sender::new(settings, cc.needs());
        sender.start(Instant::ZERO, Job { data: Some(Packets::new(1000)), rtt: None }, &mut cc);
        for (step, answer) in (1u64..).zip(&answers) {
            let now = Instant::ZERO + Span::from_millis(step * 10);
            for _ in 0..30 {
                if sender.next_send(now) > now {
                    break;
                }
                sender.send(now);
            }
            sender.on_ack(now, answer, &mut cc);
            if sender.deadline() <= now {
                sender.on_timer(now, &mut cc);
            }
            prop_assert!(sender.acknowledged() <= 1000);
            prop_assert!(sender.in_flight().get() <= 2000);
        }
    }

    /// Whatever arrives, a receiver has in order what it was given, and answers.
    #[test]
    fn no_segment_upsets_a_receiver(numbers in prop::collection::vec(number(), 1..100)) {
        let mut receiver = Receiver::new(None);
        for &number in &numbers {
            let segment = Segment::Data(number);
            let sent_at = Instant::ZERO;
            let arrival = Arrival { segment, sent_at, marked: false, feedback: None };
            let answer = receiver.receive(Instant::ZERO, &arrival).expect("one a segment");
            prop_assert_eq!(answer.cumulative, receiver.in_order());
        }
        prop_assert!((0..receiver.in_order()).all(|n| numbers.contains(&n)));
    }
}
