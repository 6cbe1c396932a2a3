//! The results of omniscient senders on any network: a simulation of a fluid instead of packets.

use super::fair::Routes;
use super::{Got, NOTHING, Objective, Path, Throughput};
use crate::specimen::Mixed;
use exm_random::{Purpose, Stream};
use exm_sim::MeasuredOver;
use exm_sim::traffic::{FlowDemand, TrafficSource};
use exm_units::Instant;
use std::collections::BTreeMap;

/// The minimum time step, so that flows of length zero end.
const LEAST_MS: f64 = 1e-6;

/// The number of queue lengths to try, each shorter by a fifth.
const QUEUES: usize = 60;

/// The results of one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bound {
    /// Packets that arrive and are acknowledged before the end.
    delivered: f64,
    on_ms: f64,
    /// The integral of 1 / (senders on) over that time.
    share_ms: f64,
    /// How long it is on or its packets still arrive.
    active_ms: f64,
    /// The integral of 1 / (senders active) over that time.
    active_share_ms: f64,
    rtt_ms: f64,
    loss: f64,
    /// How long a packet may wait at its slowest link.
    room_ms: f64,
    /// For each on-period that ends: how long its sender is inactive afterwards.
    pauses_ms: Vec<f64>,
}

/// The state of a sender.
#[derive(Clone, Copy, Debug)]
enum State {
    /// It is off until its next flow starts at this time.
    Off(f64),
    /// It sends until this time.
    Until(f64),
    /// It sends; this many packets of its flow remain.
    Deliver(f64),
    /// All of its flow is sent, and will be acknowledged at this time.
    Acknowledged(f64),
}

struct Sender {
    source: TrafficSource,
    state: State,
    /// The time from the transmission of its last packet to the ACK.
    after_ms: f64,
    /// Its propagation delay.
    delay_ms: f64,
    /// When its last packet of an on-period that has ended arrives.
    arrived_ms: f64,
    got: Bound,
}

/// The results of each omniscient sender of `network`, with traffic drawn from `seed` as in the simulator. Each
/// sends at its proportionally fair rate at once, and never queues. A flow of an
/// amount of data lasts until its last packet is acknowledged, an RTT after it was sent, in which
/// others use the links.
pub(crate) fn bounds(network: &Mixed, seed: u64) -> Vec<Bound> {
    Fluid::new(network, seed).run()
}

impl Bound {
    /// Whether it was ever on.
    pub(crate) fn was_on(&self) -> bool {
        self.on_ms > 0.0
    }

    /// Its contribution to the score by `objective`, on `path`: the maximum over queues that it may leave behind at
    /// the end of its on-periods, whose packets arrive later. That can pay because a flow's last
    /// propagation delay, in which the link carries nothing of it, has less weight in a longer flow.
    pub(crate) fn value(&self, objective: &Objective, path: Path) -> f64 {
        let with_queue = |queue_ms| objective.value(path, self.got(objective, path, queue_ms));
        if objective.over == MeasuredOver::Papers || self.pauses_ms.is_empty() {
            return with_queue(0.0);
        }
        let most_ms = self.room_ms.min(path.duration.as_millis_f64());
        let queues = std::iter::successors(Some(most_ms), |queue_ms| Some(queue_ms * 0.8));
        queues.take(QUEUES).map(with_queue).fold(with_queue(0.0), f64::max)
    }

    /// Its results for the objective, if this much is queued at the end of each on-period.
    fn got(&self, objective: &Objective, path: Path, queue_ms: f64) -> Got {
        let time_ms = match (objective.throughput, objective.over) {
            (Throughput::Share, MeasuredOver::Papers) => self.share_ms,
            (Throughput::On, MeasuredOver::Papers) => self.on_ms,
            (Throughput::Share, MeasuredOver::Arrivals) => self.active_share_ms,
            (Throughput::On, MeasuredOver::Arrivals) => self.active_ms,
        };
        if queue_ms == 0.0 {
            let packets_per_ms = self.delivered.max(NOTHING) / time_ms;
            return Got { packets_per_ms, rtt_ms: self.rtt_ms, loss: self.loss };
        }
        let link = path.packets_per_ms * (1.0 - self.loss);
        let queued = link * queue_ms * self.pauses_ms.len() as f64;
        let delivered = self.delivered + queued;
        let longer_ms: f64 = self.pauses_ms.iter().map(|pause_ms| pause_ms.min(queue_ms)).sum();
        let packets_per_ms = (delivered / (time_ms + longer_ms)).min(link);
        // The packets of a queue wait from nothing to all of it.
        let wait_ms = queued * queue_ms / 2.0 / delivered;
        Got { packets_per_ms, rtt_ms: self.rtt_ms + wait_ms, loss: self.loss }
    }
}

struct Fluid {
    routes: Routes,
    senders: Vec<Sender>,
    /// A cache of the rates of each route by the numbers of active senders, which recur.
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
            let slowest = &network.links[network.slowest(sender)];
            let room = slowest.buffer.map_or(f64::INFINITY, |buffer| buffer.get() as f64 + 1.0);
            let got = Bound {
                rtt_ms: path.delay_ms + path.service_ms,
                loss,
                room_ms: room / path.packets_per_ms,
                ..Bound::default()
            };
            let after_ms = (got.rtt_ms - 1.0 / path.packets_per_ms).max(path.delay_ms);
            Sender {
                source,
                state,
                after_ms,
                delay_ms: path.delay_ms,
                arrived_ms: f64::NEG_INFINITY,
                got,
            }
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
        self.senders.into_iter().map(|sender| sender.ended(self.end_ms)).collect()
    }

    /// Starts and ends the flows that do so now.
    fn turn(&mut self) {
        let now_ms = self.now_ms;
        let now = Instant::from_nanos((now_ms * 1e6) as u64);
        for sender in &mut self.senders {
            // Flows may be so short that one ends as it starts; each takes some time off.
            loop {
                sender.state = match sender.state {
                    State::Off(start) if start <= now_ms => {
                        sender.pause_until(now_ms);
                        match sender.source.next_flow(now) {
                            FlowDemand::Until(end) => State::Until(ms(end)),
                            FlowDemand::Deliver(packets) => State::Deliver(packets.get() as f64),
                        }
                    }
                    State::Until(end) | State::Acknowledged(end) if end <= now_ms => {
                        if let State::Until(_) = sender.state {
                            sender.arrived_ms = now_ms + sender.delay_ms;
                        }
                        State::Off(ms(sender.source.next_start(now)).max(now_ms + LEAST_MS))
                    }
                    State::Deliver(rest) if rest <= 0.0 => {
                        State::Acknowledged(now_ms + sender.after_ms)
                    }
                    _ => break,
                }
            }
        }
    }

    /// The packets per millisecond that arrive from each sender.
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
            State::Off(at) if sender.arrived_ms > self.now_ms => at.min(sender.arrived_ms),
            State::Off(at) | State::Until(at) | State::Acknowledged(at) => at,
            State::Deliver(rest) => self.now_ms + (rest / rate).max(LEAST_MS),
        };
        self.senders.iter().zip(rates).map(change).fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, next_ms: f64, rates: &[f64]) {
        let elapsed = next_ms - self.now_ms;
        let on = self.senders.iter().filter(|sender| sender.is_on()).count();
        let now_ms = self.now_ms;
        let active = self.senders.iter().filter(|sender| sender.is_active(now_ms)).count();
        for (sender, rate) in self.senders.iter_mut().zip(rates) {
            if let State::Deliver(rest) = &mut sender.state {
                *rest -= rate * elapsed;
                // What rounding has left is less than the least part of a packet that matters.
                *rest = if *rest < 1e-6 { 0.0 } else { *rest };
            }
            let (is_on, is_active) = (sender.is_on(), sender.is_active(now_ms));
            let got = &mut sender.got;
            // What is transmitted after that is not acknowledged before the end.
            let counted = next_ms.min(self.end_ms - sender.after_ms) - now_ms;
            got.delivered += rate * counted.max(0.0);
            if is_on {
                got.on_ms += elapsed;
                got.share_ms += elapsed / on as f64;
            }
            if is_active {
                got.active_ms += elapsed;
                got.active_share_ms += elapsed / active as f64;
            }
        }
        self.now_ms = next_ms;
    }
}

impl Sender {
    /// Whether it is on, or its packets still arrive.
    fn is_active(&self, now_ms: f64) -> bool {
        self.is_on() || now_ms < self.arrived_ms
    }

    /// If it has been inactive since an on-period with a duration, that ends now.
    fn pause_until(&mut self, now_ms: f64) {
        if self.arrived_ms.is_finite() {
            self.got.pauses_ms.push((now_ms - self.arrived_ms).max(0.0));
        }
    }

    /// Its results at the end of the run.
    fn ended(mut self, end_ms: f64) -> Bound {
        if !self.is_on() {
            self.pause_until(end_ms);
        }
        self.got
    }

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
