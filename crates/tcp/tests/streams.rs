//! A stream arrives whole and in order, whatever the network does to segments and acknowledgements.

use exm_cc::{
    Ack, Aimd, Congestion, CongestionKind, Controller, Decision, INITIAL_WINDOW, Needs, Reno, Start,
};
use exm_tcp::{
    Acknowledgement, Arrival, DelayedAcks, Floor, IdleRestart, Receiver, Segment, Sender, Settings,
    Transfer,
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
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (1u64..20, floors, windows, flags).prop_map(
        |(initial, floor, receive_window, (handshake, delayed, tail_loss_probe, stamped))| {
            Settings {
                initial_window: Packets::new(initial),
                handshake,
                floor,
                delayed_acks: delayed.then(DelayedAcks::default),
                ecn: false,
                receive_window,
                tail_loss_probe,
                timestamps: stamped.then_some(Span::from_millis(1)),
                ..Settings::default()
            }
        },
    )
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Segment(Segment, Instant),
    Answer(Acknowledgement),
}

/// What happens to segments, and to their answers, in the order in which they are sent. What is
/// sent after the last fate arrives in 10 ms.
#[derive(Clone, Debug, Default)]
struct Fates {
    segments: Vec<Fate>,
    answers: Vec<Fate>,
}

/// Two ends and the packets between them.
struct World<C> {
    sender: Sender,
    receiver: Receiver,
    cc: C,
    data: u64,
    segments: std::vec::IntoIter<Fate>,
    answers: std::vec::IntoIter<Fate>,
    /// By time, and by order at the same time.
    coming: BTreeMap<(Instant, u64), Event>,
    count: u64,
    now: Instant,
    /// Data segments the receiver was given, to tell that what it has it was sent.
    given: Vec<u64>,
    /// How often the timer ran out, and how many segments were sent more than once.
    timeouts: u64,
    retransmitted: u64,
    highest: u64,
}

impl<C: Controller> World<C> {
    /// The connection starts, with `data` segments to send.
    fn new(settings: Settings, data: u64, mut cc: C, fates: Fates) -> World<C> {
        let mut sender = Sender::new(settings, cc.needs());
        sender.start(
            Instant::ZERO,
            Transfer { data: Some(Packets::new(data)), ..Transfer::default() },
            &mut cc,
        );
        World {
            sender,
            receiver: Receiver::new(settings.delayed_acks),
            cc,
            data,
            segments: fates.segments.into_iter(),
            answers: fates.answers.into_iter(),
            coming: BTreeMap::new(),
            count: 0,
            now: Instant::ZERO,
            given: Vec::new(),
            timeouts: 0,
            retransmitted: 0,
            highest: 0,
        }
    }

    /// Goes on until the stream is complete.
    fn run(&mut self) {
        let complete = (0..100_000).any(|_| self.is_complete() || self.step());
        assert!(complete, "it does not end");
    }

    fn is_complete(&self) -> bool {
        self.sender.acknowledged() >= self.data
    }

    fn carry(&mut self, event: Event) {
        let fate = match event {
            Event::Segment(..) => self.segments.next(),
            Event::Answer(_) => self.answers.next(),
        };
        let delays = match fate {
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
                self.timeouts += u64::from(self.sender.on_timer(next, &mut self.cc));
            }
            if self.receiver.deadline() <= next
                && let Some(answer) = self.receiver.release()
            {
                self.carry(Event::Answer(answer));
            }
            return false;
        }
        let segment = self.sender.send(next, &mut self.cc);
        if let Segment::Data(number) = segment {
            self.retransmitted += u64::from(number < self.highest);
            self.highest = self.highest.max(number + 1);
        }
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
                self.hear_again(&answer);
                progress.finished
            }
        }
    }

    /// A duplicate of the last ACK changes nothing.
    fn hear_again(&mut self, answer: &Acknowledgement) {
        let state =
            |s: &Sender| (s.acknowledged(), s.in_flight(), s.cwnd(), s.srtt(), s.deadline());
        let before = state(&self.sender);
        let progress = self.sender.on_ack(self.now, answer, &mut self.cc);
        assert_eq!((progress.in_order, progress.delivered), (0, 0));
        assert_eq!(state(&self.sender), before);
    }
}

/// A window that stands still, and what it is told of.
#[derive(Clone, Debug, Default)]
struct Told {
    lost: u64,
    timeouts: u64,
}

impl Told {
    fn decision() -> Decision {
        Decision { cwnd: INITIAL_WINDOW, intersend: Span::ZERO, wake_at: None }
    }
}

impl Controller for Told {
    fn on_start(&mut self, _start: &Start) -> Decision {
        Told::decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        assert!(ack.acked > Packets::ZERO, "an answer that says nothing new");
        Told::decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.lost += u64::from(congestion.kind == CongestionKind::Lost);
        self.timeouts += u64::from(congestion.kind == CongestionKind::Timeout);
        Told::decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        Told::decision()
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_stream_arrives_whole_and_in_order(
        data in 1u64..300,
        settings in settings(),
        segments in fates(),
        answers in fates(),
    ) {
        let mut world = World::new(settings, data, Aimd::new(), Fates { segments, answers });
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

/// What befalls answers alone: lateness that no timer takes for silence, loss, copies.
fn answers_fates() -> impl Strategy<Value = Vec<Fate>> {
    let late = 10u64..150;
    let fate = prop_oneof![
        6 => late.clone().prop_map(|after_ms| Fate::Arrives { after_ms }),
        2 => Just(Fate::Vanishes),
        1 => (late.clone(), late)
            .prop_map(|(after_ms, again_ms)| Fate::ArrivesTwice { after_ms, again_ms }),
    ];
    prop::collection::vec(fate, 1..300)
}

proptest! {
    /// Where every segment arrives in order, nothing that befalls the ACKs is taken for loss; and
    /// nothing is retransmitted, unless silence outlasted the timer.
    #[test]
    fn lost_and_late_answers_are_no_losses(
        data in 1u64..300,
        settings in settings(),
        answers in answers_fates(),
    ) {
        let settings = Settings { tail_loss_probe: false, ..settings };
        let fates = Fates { segments: Vec::new(), answers };
        let mut world = World::new(settings, data, Told::default(), fates);
        while !world.step() && world.timeouts == 0 {
            prop_assert_eq!((world.cc.lost, world.retransmitted), (0, 0));
        }
        world.run();
        prop_assert_eq!(world.receiver.in_order(), data);
    }

    /// A probe into silence that answers alone have made lowers no window.
    #[test]
    fn probes_for_lost_answers_are_no_losses(
        data in 1u64..60,
        delayed in any::<bool>(),
        answers in answers_fates(),
    ) {
        let settings = Settings {
            tail_loss_probe: true,
            delayed_acks: delayed.then(DelayedAcks::default),
            ..Settings::default()
        };
        let fates = Fates { segments: Vec::new(), answers };
        let mut world = World::new(settings, data, Told::default(), fates);
        while !world.step() && world.timeouts == 0 {
            prop_assert_eq!(world.cc.lost, 0);
        }
    }
}

/// Loses the segments sent as these, counted from the first.
fn losing(sends: &[usize]) -> Fates {
    let fate = |n: usize| match sends.contains(&n) {
        true => Fate::Vanishes,
        false => Fate::Arrives { after_ms: 10 },
    };
    Fates { segments: (0..40).map(fate).collect(), answers: Vec::new() }
}

/// Segments 3, 8 and 9 of ten are lost. Three that follow report segment 3, and nothing of the
/// tail; the rescue, once segment 3 was retransmitted, does.
#[test]
fn a_rescue_repairs_a_tail() {
    let mut world = World::new(Settings::default(), 10, Told::default(), losing(&[3, 8, 9]));
    world.run();
    assert_eq!((world.timeouts, world.retransmitted, world.cc.lost), (0, 3, 1));
    assert!(world.now < Instant::ZERO + Span::from_millis(100), "{:?}", world.now);
}

/// A lost tail is silent: a probe makes it known after two round trips, the timer much later.
#[test]
fn a_probe_repairs_a_tail() {
    let run = |tail_loss_probe, lost: &[usize]| {
        let settings = Settings { tail_loss_probe, ..Settings::default() };
        let mut world = World::new(settings, 10, Told::default(), losing(lost));
        world.run();
        let ms = (world.now - Instant::ZERO).as_millis_f64();
        (world.timeouts, world.retransmitted, world.cc.lost, ms)
    };
    for lost in [&[9][..], &[7, 8, 9]] {
        let count = lost.len() as u64;
        let (timeouts, retransmitted, _, ms) = run(false, lost);
        assert_eq!((timeouts, retransmitted), (1, count));
        assert!(ms > 200.0, "{ms}");
        // The probe repairs the last segment itself, and brings the others to light.
        let (timeouts, retransmitted, told, ms) = run(true, lost);
        assert_eq!((timeouts, retransmitted, told), (0, count, 1));
        assert!(ms < 150.0, "{ms}");
    }
    // A probe that is lost as well leaves it to the timer.
    let (timeouts, retransmitted, _, _) = run(true, &[9, 10]);
    assert_eq!((timeouts, retransmitted), (1, 2));
}

/// A connection over which its application sends `data` segments, is silent for `idle`, and sends as many
/// again. Returns the windows before and after the silence, and how often the controller started.
fn after_a_silence(idle: Span, settings: Settings, needs: Needs) -> (u64, u64, u64) {
    let cc = Starts { cc: Reno::new(), needs, starts: 0 };
    let mut world = World::new(settings, 160, cc, Fates::default());
    world.run();
    let before = world.sender.cwnd().get();
    assert_eq!(world.sender.next_send(world.now), Instant::MAX, "it is silent");
    world.now += idle;
    world.sender.resume(world.now, Some(Packets::new(60)), &mut world.cc);
    world.data += 60;
    let after = world.sender.cwnd().get();
    world.run();
    assert_eq!(world.receiver.in_order(), 220);
    assert_eq!((world.retransmitted, world.timeouts), (0, 0));
    (before, after, world.cc.starts)
}

/// Reno, with needs of its own, which counts its starts.
#[derive(Clone, Debug)]
struct Starts {
    cc: Reno,
    needs: Needs,
    starts: u64,
}

impl Controller for Starts {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.starts += 1;
        self.cc.on_start(start)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.cc.on_ack(ack)
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.cc.on_congestion(congestion)
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.cc.on_tick(now)
    }

    fn needs(&self) -> Needs {
        self.needs
    }
}

#[test]
fn a_persistent_connection_keeps_its_window() {
    let with = |idle_restart| Settings { persistent: true, idle_restart, ..Settings::default() };
    let run = |ms, restart| after_a_silence(Span::from_millis(ms), with(restart), Needs::default());
    let (before, after, starts) = run(60_000, IdleRestart::None);
    assert!(before > 40, "slow start has brought it to {before}");
    assert_eq!((after, starts), (before, 1));
    // The timer is 20 ms and the 200 ms of Linux's margin: 500 ms are two of it.
    assert_eq!(run(500, IdleRestart::Rfc5681).1, 10);
    assert_eq!(run(500, IdleRestart::Rfc2861).1, before / 4);
    assert_eq!(run(60_000, IdleRestart::Rfc2861).1, 10);
    assert_eq!(run(100, IdleRestart::Rfc5681).1, before, "no idle time, by the timer");
}

#[test]
fn a_controller_may_start_anew_at_each_on_period() {
    let settings = Settings { persistent: true, ..Settings::default() };
    let mut needs = Needs::default();
    needs.restart = true;
    let (_, after, starts) = after_a_silence(Span::from_millis(10), settings, needs);
    assert_eq!((after, starts), (10, 2));
}

/// What an application has sent before it pauses arrives, whatever is lost; nothing beyond it is sent.
#[test]
fn a_paused_connection_repairs_its_losses() {
    let mut world = World::new(Settings::default(), 1000, Reno::new(), losing(&[8, 9]));
    while world.highest < 10 {
        world.step();
    }
    world.sender.pause();
    world.data = 10;
    world.run();
    assert_eq!((world.receiver.in_order(), world.highest, world.retransmitted), (10, 10, 2));
}

/// Where spurious retransmissions are not undone, a late ACK costs the window.
#[test]
fn without_eifel_a_late_ack_costs_the_window() {
    let run = |eifel| {
        let fates =
            Fates { segments: vec![Fate::Arrives { after_ms: 1500 }; 11], ..Fates::default() };
        let mut world =
            World::new(Settings { eifel, ..Settings::default() }, 10, Reno::new(), fates);
        world.run();
        assert_eq!(world.timeouts, 1);
        world.sender.cwnd().get()
    };
    assert!(run(true) >= 10);
    assert!(run(false) < 10);
}

/// Numbers near those that are due, and any.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..40, 1 => any::<u64>()]
}

fn answers() -> impl Strategy<Value = Acknowledgement> {
    let blocks = [(number(), number()), (number(), number()), (number(), number())];
    let flags = (any::<bool>(), any::<bool>());
    (number(), blocks, number(), number(), number(), flags).prop_map(
        |(cumulative, blocks, sequence, sent, marked, (syn, duplicate))| Acknowledgement {
            cumulative,
            blocks,
            sequence,
            sent_at: Instant::from_nanos(sent),
            received_at: Instant::ZERO,
            marked,
            feedback: None,
            syn,
            duplicate,
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
        sender.start(Instant::ZERO, Transfer { data: Some(Packets::new(1000)), ..Transfer::default() }, &mut cc);
        for (step, answer) in (1u64..).zip(&answers) {
            let now = Instant::ZERO + Span::from_millis(step * 10);
            for _ in 0..30 {
                if sender.next_send(now) > now {
                    break;
                }
                sender.send(now, &mut cc);
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

/// A controller that knows of no timeouts has the loss window forced upon it: answers that were only
/// late cost one segment, and what was lost goes out again once something comes back.
#[test]
fn one_segment_goes_out_after_a_timeout() {
    let run = |fate, count| {
        let fates = Fates { segments: vec![fate; count], answers: Vec::new() };
        let mut world = World::new(Settings::default(), 10, Told::default(), fates);
        while world.timeouts == 0 {
            world.step();
        }
        assert_eq!(world.sender.cwnd(), Packets::new(1));
        world.run();
        assert_eq!(world.sender.cwnd(), INITIAL_WINDOW);
        (world.timeouts, world.retransmitted)
    };
    // Retransmissions wait behind what is late.
    assert_eq!(run(Fate::Arrives { after_ms: 1500 }, 11), (1, 1));
    assert_eq!(run(Fate::Vanishes, 10), (1, 10));
}
