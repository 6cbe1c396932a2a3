//! A stream arrives complete and in order, whatever the network does to segments and ACKs.

use exm_cc::{
    Ack, Aimd, Congestion, CongestionKind, Controller, Decision, INITIAL_WINDOW, Needs, Reno, Start,
};
use exm_tcp::{
    AccEcn, Acknowledgement, Arrival, DelayedAcks, IdleRestart, MinRto, Receiver, Recovery,
    Segment, Sender, Settings, Transfer,
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
        Just(MinRto::Timer(Span::from_millis(200))),
        Just(MinRto::Margin(Span::from_millis(200))),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let recovery = prop_oneof![Just(Recovery::Tcp), Just(Recovery::Quic)];
    let accecn = prop_oneof![Just(AccEcn::Option), Just(AccEcn::Ace), Just(AccEcn::AceAveraged)];
    (1u64..20, floors, windows, flags, recovery, accecn).prop_map(
        |(initial, floor, receive_window, flags, recovery, accecn)| {
            let (handshake, delayed, tail_loss_probe, stamped) = flags;
            let usual = match recovery {
                Recovery::Tcp => Some(DelayedAcks::default()),
                Recovery::Quic => Settings::quic().delayed_acks,
            };
            Settings {
                initial_window: Packets::new(initial),
                handshake,
                floor,
                recovery,
                delayed_acks: usual.filter(|_| delayed),
                ecn: accecn != AccEcn::Option,
                accecn,
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
    Ack(Acknowledgement),
}

/// What happens to segments and to ACKs, in the order in which they are sent. Those sent after the last
/// fate arrive in 10 ms.
#[derive(Clone, Debug, Default)]
struct Fates {
    segments: Vec<Fate>,
    acks: Vec<Fate>,
}

/// A sender, a receiver and the packets in flight between them.
struct Harness<C> {
    sender: Sender,
    receiver: Receiver,
    cc: C,
    data: u64,
    segments: std::vec::IntoIter<Fate>,
    acks: std::vec::IntoIter<Fate>,
    /// By arrival time, then by the order of sending.
    coming: BTreeMap<(Instant, u64), Event>,
    count: u64,
    now: Instant,
    /// Data segments that arrived, to check that the receiver has nothing that was not sent.
    given: Vec<u64>,
    /// How often the timer expired, and how many segments were sent more than once.
    timeouts: u64,
    retransmitted: u64,
    highest: u64,
}

impl<C: Controller> Harness<C> {
    /// The connection starts, with `data` segments to send.
    fn new(settings: Settings, data: u64, mut cc: C, fates: Fates) -> Harness<C> {
        let mut sender = Sender::new(settings, cc.needs());
        sender.start(
            Instant::ZERO,
            Transfer { data: Some(Packets::new(data)), ..Transfer::default() },
            &mut cc,
        );
        Harness {
            sender,
            receiver: Receiver::new(settings.delayed_acks),
            cc,
            data,
            segments: fates.segments.into_iter(),
            acks: fates.acks.into_iter(),
            coming: BTreeMap::new(),
            count: 0,
            now: Instant::ZERO,
            given: Vec::new(),
            timeouts: 0,
            retransmitted: 0,
            highest: 0,
        }
    }

    /// Runs until the stream is complete.
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
            Event::Ack(_) => self.acks.next(),
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

    /// Processes the next event, and returns whether the stream is complete.
    fn step(&mut self) -> bool {
        let send = self.sender.next_send(self.now);
        let timers = self.sender.deadline().min(self.receiver.deadline());
        let arrival = self.coming.keys().next().map_or(Instant::MAX, |key| key.0);
        let next = send.min(timers).min(arrival);
        assert!(next < Instant::MAX, "the connection is stuck");
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
                && let Some(ack) = self.receiver.release()
            {
                self.carry(Event::Ack(ack));
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
                if let Some(ack) = self.receiver.receive(self.now, &arrival) {
                    self.carry(Event::Ack(ack));
                }
                false
            }
            Event::Ack(ack) => {
                let before = self.sender.acknowledged();
                let progress = self.sender.on_ack(self.now, &ack, &mut self.cc);
                assert_eq!(progress.in_order, self.sender.acknowledged() - before);
                assert!(self.sender.acknowledged() <= self.receiver.in_order());
                self.receive_duplicate(&ack);
                progress.finished
            }
        }
    }

    /// A duplicate of the last ACK changes nothing.
    fn receive_duplicate(&mut self, ack: &Acknowledgement) {
        let state =
            |s: &Sender| (s.acknowledged(), s.in_flight(), s.cwnd(), s.srtt(), s.deadline());
        let before = state(&self.sender);
        let progress = self.sender.on_ack(self.now, ack, &mut self.cc);
        assert_eq!((progress.in_order, progress.delivered), (0, 0));
        assert_eq!(state(&self.sender), before);
    }
}

/// A constant window that counts the congestion events reported to it.
#[derive(Clone, Debug, Default)]
struct Recorder {
    lost: u64,
    timeouts: u64,
}

impl Recorder {
    fn decision() -> Decision {
        Decision { cwnd: INITIAL_WINDOW, intersend: Span::ZERO, wake_at: None }
    }
}

impl Controller for Recorder {
    fn on_start(&mut self, _start: &Start) -> Decision {
        Recorder::decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        assert!(ack.acked > Packets::ZERO, "an ACK that acknowledges nothing new");
        Recorder::decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.lost += u64::from(congestion.kind == CongestionKind::Lost);
        self.timeouts += u64::from(congestion.kind == CongestionKind::Timeout);
        Recorder::decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        Recorder::decision()
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_stream_arrives_complete_and_in_order(
        data in 1u64..300,
        settings in settings(),
        segments in fates(),
        acks in fates(),
    ) {
        let mut harness = Harness::new(settings, data, Aimd::new(), Fates { segments, acks });
        let mut steps = 0;
        while !harness.step() {
            let window = settings.receive_window.map_or(u64::MAX, Packets::get);
            let outstanding = harness.sender.in_flight().get();
            // Each probe of QUIC is a packet of its own.
            let most = data.min(window) * 2 + harness.timeouts;
            prop_assert!(outstanding <= most, "{outstanding} in flight");
            steps += 1;
            prop_assert!(steps < 100_000, "it does not end");
        }
        // All of it, nothing beyond it, and nothing that was not sent.
        prop_assert_eq!(harness.receiver.in_order(), data);
        prop_assert_eq!(harness.sender.acknowledged(), data);
        let mut given = harness.given.clone();
        given.sort_unstable();
        given.dedup();
        prop_assert_eq!(given, (0..data).collect::<Vec<_>>());
    }
}

/// What happens to ACKs alone: delays too short for a timeout, loss, duplication.
fn ack_fates() -> impl Strategy<Value = Vec<Fate>> {
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
    /// If every segment arrives in order, nothing that happens to ACKs is taken for a loss, and nothing
    /// is retransmitted unless the timer expires.
    #[test]
    fn lost_and_late_acks_are_not_taken_for_losses(
        data in 1u64..300,
        settings in settings(),
        acks in ack_fates(),
    ) {
        let settings = Settings { tail_loss_probe: false, ..settings };
        let fates = Fates { segments: Vec::new(), acks };
        let mut harness = Harness::new(settings, data, Recorder::default(), fates);
        while !harness.step() && harness.timeouts == 0 {
            prop_assert_eq!((harness.cc.lost, harness.retransmitted), (0, 0));
        }
        harness.run();
        prop_assert_eq!(harness.receiver.in_order(), data);
    }

    /// A probe sent because ACKs were lost or late does not lower the window.
    #[test]
    fn probes_for_lost_acks_report_no_losses(
        data in 1u64..60,
        delayed in any::<bool>(),
        acks in ack_fates(),
    ) {
        let settings = Settings {
            tail_loss_probe: true,
            delayed_acks: delayed.then(DelayedAcks::default),
            ..Settings::default()
        };
        let fates = Fates { segments: Vec::new(), acks };
        let mut harness = Harness::new(settings, data, Recorder::default(), fates);
        while !harness.step() && harness.timeouts == 0 {
            prop_assert_eq!(harness.cc.lost, 0);
        }
    }
}

/// Loses the segments with these numbers, counted from the first one sent.
fn losing(sends: &[usize]) -> Fates {
    let fate = |n: usize| match sends.contains(&n) {
        true => Fate::Vanishes,
        false => Fate::Arrives { after_ms: 10 },
    };
    Fates { segments: (0..40).map(fate).collect(), acks: Vec::new() }
}

/// Segments 3, 8 and 9 of ten are lost. The three after segment 3 reveal its loss, but not that of the
/// tail; the rescue retransmission, sent after segment 3 is retransmitted, does.
#[test]
fn a_rescue_repairs_a_tail() {
    let mut harness =
        Harness::new(Settings::default(), 10, Recorder::default(), losing(&[3, 8, 9]));
    harness.run();
    assert_eq!((harness.timeouts, harness.retransmitted, harness.cc.lost), (0, 3, 1));
    assert!(harness.now < Instant::ZERO + Span::from_millis(100), "{:?}", harness.now);
}

/// A lost tail triggers no ACKs: a probe detects it after two round trips, the timer much later.
#[test]
fn a_probe_repairs_a_tail() {
    let run = |tail_loss_probe, lost: &[usize]| {
        let settings = Settings { tail_loss_probe, ..Settings::default() };
        let mut harness = Harness::new(settings, 10, Recorder::default(), losing(lost));
        harness.run();
        let ms = (harness.now - Instant::ZERO).as_millis_f64();
        (harness.timeouts, harness.retransmitted, harness.cc.lost, ms)
    };
    for lost in [&[9][..], &[7, 8, 9]] {
        let count = lost.len() as u64;
        let (timeouts, retransmitted, _, ms) = run(false, lost);
        assert_eq!((timeouts, retransmitted), (1, count));
        assert!(ms > 200.0, "{ms}");
        // The probe repairs the last segment itself, and reveals the others.
        let (timeouts, retransmitted, losses, ms) = run(true, lost);
        assert_eq!((timeouts, retransmitted, losses), (0, count, 1));
        assert!(ms < 150.0, "{ms}");
    }
    // If the probe is lost too, the timer repairs the tail.
    let (timeouts, retransmitted, _, _) = run(true, &[9, 10]);
    assert_eq!((timeouts, retransmitted), (1, 2));
}

/// A connection whose application sends 160 segments, is silent for `idle`, and sends 60 more. Returns
/// the windows before and after the silence, and how often the controller started.
fn after_a_silence(idle: Span, settings: Settings, needs: Needs) -> (u64, u64, u64) {
    let cc = Starts { cc: Reno::new(), needs, starts: 0 };
    let mut harness = Harness::new(settings, 160, cc, Fates::default());
    harness.run();
    let before = harness.sender.cwnd().get();
    assert_eq!(harness.sender.next_send(harness.now), Instant::MAX, "it is silent");
    harness.now += idle;
    harness.sender.resume(harness.now, Some(Packets::new(60)), &mut harness.cc);
    harness.data += 60;
    let after = harness.sender.cwnd().get();
    harness.run();
    assert_eq!(harness.receiver.in_order(), 220);
    assert_eq!((harness.retransmitted, harness.timeouts), (0, 0));
    (before, after, harness.cc.starts)
}

/// Reno with settable needs, which counts its starts.
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
    assert!(before > 40, "slow start reached only {before}");
    assert_eq!((after, starts), (before, 1));
    // The timer is 20 ms plus Linux's margin of 200 ms: 500 ms are two of it.
    assert_eq!(run(500, IdleRestart::Rfc5681).1, 10);
    assert_eq!(run(500, IdleRestart::Rfc2861).1, before / 4);
    assert_eq!(run(60_000, IdleRestart::Rfc2861).1, 10);
    assert_eq!(run(100, IdleRestart::Rfc5681).1, before, "shorter than the timer: not idle");
}

#[test]
fn a_controller_may_start_anew_at_each_on_period() {
    let settings = Settings { persistent: true, ..Settings::default() };
    let mut needs = Needs::default();
    needs.restart = true;
    let (_, after, starts) = after_a_silence(Span::from_millis(10), settings, needs);
    assert_eq!((after, starts), (10, 2));
}

/// Segments sent before a pause arrive despite losses; nothing beyond them is sent.
#[test]
fn a_paused_connection_repairs_its_losses() {
    let mut harness = Harness::new(Settings::default(), 1000, Reno::new(), losing(&[8, 9]));
    while harness.highest < 10 {
        harness.step();
    }
    harness.sender.pause();
    harness.data = 10;
    harness.run();
    assert_eq!((harness.receiver.in_order(), harness.highest, harness.retransmitted), (10, 10, 2));
}

/// If spurious retransmissions are not undone, a late ACK costs the window.
#[test]
fn without_eifel_a_late_ack_costs_the_window() {
    let run = |eifel| {
        let fates =
            Fates { segments: vec![Fate::Arrives { after_ms: 1500 }; 11], ..Fates::default() };
        let mut harness =
            Harness::new(Settings { eifel, ..Settings::default() }, 10, Reno::new(), fates);
        harness.run();
        assert_eq!(harness.timeouts, 1);
        harness.sender.cwnd().get()
    };
    assert!(run(true) >= 10);
    assert!(run(false) < 10);
}

/// Numbers near those expected, and any others.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..40, 1 => any::<u64>()]
}

fn acks() -> impl Strategy<Value = Acknowledgement> {
    let blocks = [(number(), number()), (number(), number()), (number(), number())];
    let flags = (any::<bool>(), any::<bool>());
    (number(), blocks, number(), number(), number(), flags).prop_map(
        |(cumulative, blocks, sequence, sent, marked, (syn, duplicate))| Acknowledgement {
            cumulative,
            blocks,
            sequence,
            sent_at: Instant::from_nanos(sent),
            delay: Span::ZERO,
            received_at: Instant::ZERO,
            marked,
            feedback: None,
            syn,
            duplicate,
        },
    )
}

proptest! {
    /// Whatever a receiver claims, its sender keeps working, and its in-flight count stays bounded.
    #[test]
    fn any_ack_is_safe_for_a_sender(
        settings in settings(),
        acks in prop::collection::vec(acks(), 1..60),
    ) {
        let mut cc = Aimd::new();
        let mut sender = Sender::new(settings, cc.needs());
        sender.start(Instant::ZERO, Transfer { data: Some(Packets::new(1000)), ..Transfer::default() }, &mut cc);
        for (step, ack) in (1u64..).zip(&acks) {
            let now = Instant::ZERO + Span::from_millis(step * 10);
            for _ in 0..30 {
                if sender.next_send(now) > now {
                    break;
                }
                sender.send(now, &mut cc);
            }
            sender.on_ack(now, ack, &mut cc);
            if sender.deadline() <= now {
                sender.on_timer(now, &mut cc);
            }
            prop_assert!(sender.acknowledged() <= 1000);
            prop_assert!(sender.in_flight().get() <= 2000);
        }
    }

    /// Whatever arrives, a receiver acknowledges exactly what it received in order.
    #[test]
    fn any_segment_is_safe_for_a_receiver(numbers in prop::collection::vec(number(), 1..100)) {
        let mut receiver = Receiver::new(None);
        for &number in &numbers {
            let segment = Segment::Data(number);
            let sent_at = Instant::ZERO;
            let arrival = Arrival { segment, sent_at, marked: false, feedback: None };
            let ack = receiver.receive(Instant::ZERO, &arrival).expect("one a segment");
            prop_assert_eq!(ack.cumulative, receiver.in_order());
        }
        prop_assert!((0..receiver.in_order()).all(|n| numbers.contains(&n)));
    }
}

/// The loss window applies to a controller that ignores timeouts: ACKs that were only late cost one
/// segment, and lost segments are retransmitted once an ACK arrives.
#[test]
fn one_segment_goes_out_after_a_timeout() {
    let run = |fate, count| {
        let fates = Fates { segments: vec![fate; count], acks: Vec::new() };
        let mut harness = Harness::new(Settings::default(), 10, Recorder::default(), fates);
        while harness.timeouts == 0 {
            harness.step();
        }
        assert_eq!(harness.sender.cwnd(), Packets::new(1));
        harness.run();
        assert_eq!(harness.sender.cwnd(), INITIAL_WINDOW);
        (harness.timeouts, harness.retransmitted)
    };
    // Later retransmissions wait for the late ACKs.
    assert_eq!(run(Fate::Arrives { after_ms: 1500 }, 11), (1, 1));
    assert_eq!(run(Fate::Vanishes, 10), (1, 10));
}
