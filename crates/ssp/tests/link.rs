//! Two ends over a simulated link that loses, delays, reorders and duplicates datagrams.

use exm_ssp::{Rtt, Settings, Transport, UserEvent, UserStream, WindowSize};
use exm_units::{Instant, Span};
use proptest::prelude::*;
use std::collections::BTreeMap;

type End = Transport<UserStream, UserStream>;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// What a link does to datagrams: all drawn from `seed`.
#[derive(Clone, Copy, Debug)]
struct Impairments {
    /// In percent, each way.
    loss: u64,
    duplication: u64,
    /// The propagation delay, and how much more a datagram may take: those behind overtake it.
    delay: u64,
    jitter: u64,
    seed: u64,
}

/// SplitMix64.
fn draw(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) % bound.max(1)
}

struct Simulation {
    ends: [End; 2],
    link: Impairments,
    /// Datagrams on their way, by arrival and order of sending: to which end.
    flying: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    sent: u64,
    now: u64,
    rtt: Rtt,
    /// What each end's peer has done, as taken so far.
    taken: [UserStream; 2],
}

impl Simulation {
    fn new(link: Impairments, payload_limit: usize) -> Simulation {
        let new = |settings| Transport::new(at(0), settings, UserStream::new(), UserStream::new());
        let mut ends = [new(Settings::client(link.seed)), new(Settings::server(link.seed ^ 1))];
        ends.iter_mut().for_each(|end| end.set_payload_limit(payload_limit));
        let srtt = Span::from_millis(2 * link.delay + link.jitter);
        let timeout = (srtt * 2).clamp(Span::from_millis(50), Span::from_millis(1000));
        Simulation {
            ends,
            link,
            flying: BTreeMap::new(),
            sent: 0,
            now: 0,
            rtt: Rtt { srtt, timeout },
            taken: Default::default(),
        }
    }

    fn transmit(&mut self, from: usize) {
        while let Some(payload) =
            self.ends[from].transmit(at(self.now), &self.rtt).expect("short enough")
        {
            let Impairments { loss, duplication, delay, jitter, .. } = self.link;
            let seed = &mut self.link.seed;
            let copies = 1 + u64::from(draw(seed, 100) < duplication);
            for _ in 0..copies {
                if draw(seed, 100) >= loss {
                    let arrival = self.now + delay + draw(seed, jitter + 1);
                    self.sent += 1;
                    self.flying.insert((arrival, self.sent), (1 - from, payload.clone()));
                }
            }
        }
        assert!(self.ends[from].next_wake(at(self.now), &self.rtt) > at(self.now));
    }

    /// Goes on to the next arrival or timer, or to `until`; true if that came first.
    fn step(&mut self, until: u64) -> bool {
        let wakes = [0, 1].map(|end| self.ends[end].next_wake(at(self.now), &self.rtt));
        let timer = wakes.map(|wake| wake.as_nanos().div_ceil(1_000_000)).into_iter().min();
        let arrival = self.flying.first_key_value().map(|((arrival, _), _)| *arrival);
        let next = timer.into_iter().chain(arrival).min().expect("there are timers").max(self.now);
        if next >= until {
            self.now = until;
            return true;
        }
        self.now = next;
        while let Some(entry) = self.flying.first_entry()
            && entry.key().0 <= self.now
        {
            let (to, payload) = entry.remove();
            self.ends[to].receive(at(self.now), &payload).expect("our own");
            let diff = self.ends[to].take_remote_diff();
            exm_ssp::State::apply(&mut self.taken[to], &diff).expect("our own");
        }
        (0..2).for_each(|end| self.transmit(end));
        false
    }

    /// Runs until `until`.
    fn run(&mut self, until: u64) {
        while !self.step(until) {}
    }
}

/// What the user of an end does after a while.
#[derive(Clone, Debug)]
struct Action {
    end: usize,
    wait: u64,
    keys: Vec<u8>,
    resize: Option<u16>,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let keys = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..4),
        1 => prop::collection::vec(any::<u8>(), 0..3000),
    ];
    let action = (0usize..2, prop_oneof![0u64..30, 0u64..3000], keys, prop::option::of(1u16..200));
    let action = action.prop_map(|(end, wait, keys, resize)| Action { end, wait, keys, resize });
    prop::collection::vec(action, 1..40)
}

fn impairments(loss: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = Impairments> {
    (loss, 0u64..30, 0u64..400, prop_oneof![Just(0), 0u64..300], any::<u64>()).prop_map(
        |(loss, duplication, delay, jitter, seed)| Impairments {
            loss,
            duplication,
            delay,
            jitter,
            seed,
        },
    )
}

/// Performs `actions`, and returns what each end's user has done.
fn perform(simulation: &mut Simulation, actions: &[Action]) -> [UserStream; 2] {
    let mut done = [UserStream::new(), UserStream::new()];
    for Action { end, wait, keys, resize } in actions {
        simulation.run(simulation.now + wait);
        for stream in [&mut done[*end], simulation.ends[*end].local_mut()] {
            stream.push_keys(keys).expect("short");
            if let Some(width) = resize {
                stream.push_resize(WindowSize { width: *width, height: 24 }).expect("few");
            }
        }
        simulation.transmit(*end);
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What is typed at either end arrives at the other, once and in order, however bad the link is.
    #[test]
    fn both_ends_converge(
        link in impairments(0..=50),
        actions in actions(),
        payload_limit in prop_oneof![Just(138usize), Just(500), Just(1224)],
    ) {
        let mut simulation = Simulation::new(link, payload_limit);
        let done = perform(&mut simulation, &actions);
        // All fragments of a long instruction must arrive, which takes too long at these losses: what is
        // tested of those is that they arrive once the link is better.
        let until = simulation.now + 60_000;
        simulation.run(until);
        simulation.link.loss = simulation.link.loss.min(1);
        simulation.link.jitter = 0;
        while simulation.taken != [done[1].clone(), done[0].clone()] {
            prop_assert!(simulation.now < until + 60_000, "{:?}", simulation.taken);
            simulation.step(u64::MAX);
        }
        // Everything is acknowledged, and then forgotten.
        let settled = simulation.now + 30_000;
        simulation.run(settled);
        prop_assert!(simulation.ends.iter().all(|end| end.local().is_empty()));
    }

    /// States that fit a datagram arrive within two minutes though up to half of the datagrams are lost.
    #[test]
    fn keys_survive_loss(link in impairments(0..=50), actions in actions()) {
        let mut simulation = Simulation::new(link, 1224);
        let mut actions = actions;
        actions.iter_mut().for_each(|action| action.keys.truncate(3));
        let done = perform(&mut simulation, &actions);
        let start = simulation.now;
        while simulation.taken != [done[1].clone(), done[0].clone()] {
            prop_assert!(simulation.now < start + 120_000, "{:?}", simulation.taken);
            simulation.step(u64::MAX);
        }
    }

    /// An outage of any length costs nothing but time.
    #[test]
    fn an_outage_ends(seconds in 1u64..200, delay in 0u64..100, seed: u64) {
        let link = Impairments { loss: 0, duplication: 0, delay, jitter: 0, seed };
        let mut simulation = Simulation::new(link, 1224);
        simulation.run(1000);
        simulation.link.loss = 100;
        let keys = |end| Action { end, wait: 10, keys: b"key".to_vec(), resize: Some(80) };
        let done = perform(&mut simulation, &[keys(0), keys(1), keys(0)]);
        simulation.run(1000 + seconds * 1000);
        simulation.link.loss = 0;
        // One empty acknowledgement, after 3 s at most, an interval, and the way there.
        simulation.run(1000 + seconds * 1000 + 3000 + 2000);
        prop_assert_eq!(&simulation.taken, &[done[1].clone(), done[0].clone()]);
    }
}

#[test]
fn idle_ends_send_every_three_seconds() {
    let link = Impairments { loss: 0, duplication: 0, delay: 50, jitter: 0, seed: 1 };
    let mut simulation = Simulation::new(link, 1224);
    simulation.run(1000);
    let before = simulation.sent;
    simulation.run(61_000);
    assert_eq!(simulation.sent - before, 2 * 20);
}

#[test]
fn a_key_arrives_after_the_propagation_delay() {
    let link = Impairments { loss: 0, duplication: 0, delay: 50, jitter: 0, seed: 1 };
    let mut simulation = Simulation::new(link, 1224);
    let action = Action { end: 0, wait: 1000, keys: b"k".to_vec(), resize: None };
    perform(&mut simulation, &[action]);
    while simulation.taken[1].is_empty() {
        simulation.step(u64::MAX);
    }
    assert_eq!(simulation.now, 1051);
    assert_eq!(simulation.taken[1].events().next(), Some(&UserEvent::Keys(b"k".to_vec())));
}
