//! What senders that know all would get on any network: a simulation of fluid instead of packets.

use super::fair::Routes;
use super::{Got, NOTHING, Objective, Throughput};
use crate::specimen::Mixed;
use exm_random::{Purpose, Stream};
use exm_sim::traffic::{FlowDemand, TrafficSource};
use exm_units::Instant;
use std::collections::BTreeMap;

/// Time passes in steps of this at least, so that flows without length come to an end.
const LEAST_MS: f64 = 1e-6;

/// What one sender would get.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bound {
    /// Packets that arrive and are acknowledged before the end.
    delivered: f64,
    on_ms: f64,
    /// The integral of 1 / (senders on) over that time.
    share_ms: f64,
    rtt_ms: f64,
    loss: f64,
}

/// What a sender does.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Its next flow starts then.
    Off(f64),
    /// It sends until then.
    Until(f64),
    /// So many packets of its flow are to be sent.
    Deliver(f64),
    /// All of its flow is sent, and acknowledged then.
    Acknowledged(f64),
}

struct Sender {
    source: TrafficSource,
    state: State,
    got: Bound,
}

/// What each sender of `network` would get, its traffic drawn from `seed` as the simulator draws it: from its
/// first moment on each sends at its proportionally fair rate, and none ever waits in a queue. A flow of an
/// amount of data lasts until its last packet is acknowledged, a round trip after it was sent, in which time
/// others have the links.
pub(crate) fn bounds(network: &Mixed, seed: u64) -> Vec<Bound> {
    Fluid::new(network, seed).run()
}

impl Bound {
    /// Whether it was ever on.
    pub(crate) fn was_on(&self) -> bool {
        self.on_ms > 0.0
    }

    /// As the objective counts it.
    pub(crate) fn got(&self, objective: &Objective) -> Got {
        let time_ms = match objective.throughput {
            Throughput::Share => self.share_ms,
            Throughput::On => self.on_ms,
        };
        let packets_per_ms = self.delivered.max(NOTHING) / time_ms;
        Got { packets_per_ms, rtt_ms: self.rtt_ms, loss: self.loss }
    }
}

struct Fluid {
    routes: Routes,
    senders: Vec<Sender>,
    /// The rates of each route for the numbers of senders that send, which recur.
    rates: BTreeMap<Vec<u32>, Vec<f64>>,
    now_ms: f64,
    end_ms: f64,
}

impl Fluid {
    fn new(network: &Mixed, seed: u64) -> Fluid {
        let senders = network.senders.iter().enumerate().map(|(index, sender)| {
            let stream = Stream::new(seed, Purpose::Traffic, index);
            let mut source = TrafficSource::new(sender.traffic.clone(), stream, network.packet);
            let state = State::Off(ms(source.next_start(Instant::ZERO)));
            let path = network.path(sender);
            let losses = sender.path.iter().map(|&link| network.links[link].loss.get());
            let loss = 1.0 - losses.map(|loss| 1.0 - loss).product::<f64>();
            let got = Bound { rtt_ms: path.delay_ms + path.service_ms, loss, ..Bound::default() };
            Sender { source, state, got }
        });
        Fluid {
            routes: Routes::of(network),
            senders: senders.collect(),
            rates: BTreeMap::new(),
            now_ms: 0.0,
            end_ms: network.duration.as_millis_f64(),
        }
    }

    fn run(mut self) -> Vec<Bound> {
        while self.now_ms < self.end_ms {
            self.turn();
            let rates = self.rates();
            let next_ms = self.next_change(&rates).min(self.end_ms);
            self.advance(next_ms, &rates);
        }
        self.senders.into_iter().map(|sender| sender.got).collect()
    }

    /// Starts and ends the flows that do so now.
    fn turn(&mut self) {
        let now_ms = self.now_ms;
        let now = Instant::from_nanos((now_ms * 1e6) as u64);
        for sender in &mut self.senders {
            // Flows may be so short that one ends as it starts; each takes some time off.
            loop {
                sender.state = match sender.state {
                    State::Off(start) if start <= now_ms => match sender.source.next_flow(now) {
                        FlowDemand::Until(end) => State::Until(ms(end)),
                        FlowDemand::Deliver(packets) => State::Deliver(packets.get() as f64),
                    },
                    State::Until(end) | State::Acknowledged(end) if end <= now_ms => {
                        State::Off(ms(sender.source.next_start(now)).max(now_ms + LEAST_MS))
                    }
                    State::Deliver(rest) if rest <= 0.0 => {
                        State::Acknowledged(now_ms + sender.got.rtt_ms)
                    }
                    _ => break,
                }
            }
        }
    }

    /// The packets a millisecond that arrive from each sender.
    fn rates(&mut self) -> Vec<f64> {
        let mut active = vec![0; self.routes.count()];
        for (index, sender) in self.senders.iter().enumerate() {
            active[self.routes.of_sender(index)] += u32::from(sender.sends());
        }
        let rates = match self.rates.get(&active) {
            Some(known) => known,
            None => {
                let rates = self.routes.fair_rates(&active);
                self.rates.entry(active).or_insert(rates)
            }
        };
        let of = |(index, sender): (usize, &Sender)| {
            if sender.sends() { rates[self.routes.of_sender(index)] } else { 0.0 }
        };
        self.senders.iter().enumerate().map(of).collect()
    }

    /// When a flow next starts or ends, if each sends at its rate until then.
    fn next_change(&self, rates: &[f64]) -> f64 {
        let change = |(sender, rate): (&Sender, &f64)| match sender.state {
            State::Off(at) | State::Until(at) | State::Acknowledged(at) => at,
            State::Deliver(rest) => self.now_ms + (rest / rate).max(LEAST_MS),
        };
        self.senders.iter().zip(rates).map(change).fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, next_ms: f64, rates: &[f64]) {
        let elapsed = next_ms - self.now_ms;
        let on = self.senders.iter().filter(|sender| sender.is_on()).count();
        for (sender, rate) in self.senders.iter_mut().zip(rates) {
            if let State::Deliver(rest) = &mut sender.state {
                *rest -= rate * elapsed;
                // What rounding has left is less than the least part of a packet that matters.
                *rest = if *rest < 1e-6 { 0.0 } else { *rest };
            }
            let is_on = sender.is_on();
            let got = &mut sender.got;
            // What is sent in the last round trip is not acknowledged before the end.
            let counted = next_ms.min(self.end_ms - got.rtt_ms) - self.now_ms;
            got.delivered += rate * counted.max(0.0);
            if is_on {
                got.on_ms += elapsed;
                got.share_ms += elapsed / on as f64;
            }
        }
        self.now_ms = next_ms;
    }
}

impl Sender {
    fn is_on(&self) -> bool {
        !matches!(self.state, State::Off(_))
    }

    fn sends(&self) -> bool {
        matches!(self.state, State::Until(_) | State::Deliver(_))
    }
}

fn ms(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e6
}
