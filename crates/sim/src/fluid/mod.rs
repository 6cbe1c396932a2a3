//! Omniscient senders: the bound with which controllers are compared, by a simulation of a fluid instead of packets.

mod fair;

use crate::active::MeasuredOver;
use crate::network::{LinkSpec, Network};
use crate::traffic::{FlowDemand, Traffic, TrafficSource};
use exm_link::{Limit, Service};
use exm_random::{Purpose, Stream};
use exm_units::{Bytes, Instant, Packets, Span};
use fair::Routes;
use std::collections::BTreeMap;

/// The minimum time step, so that flows of length zero end.
const LEAST_MS: f64 = 1e-6;

/// Links that a fluid flows through, and the senders that share them.
#[derive(Clone, Debug)]
pub struct Fluid {
    /// The links.
    pub links: Vec<FluidLink>,
    /// The senders.
    pub senders: Vec<FluidSender>,
    /// The size of every packet.
    pub packet: Bytes,
    /// How much time to simulate.
    pub duration: Span,
}

/// A link.
#[derive(Clone, Copy, Debug)]
pub struct FluidLink {
    /// Its rate, in packets per millisecond.
    pub packets_per_ms: f64,
    /// The fraction of packets that is lost after it.
    pub loss: f64,
    /// How many packets may wait; `None` for no limit.
    pub buffer: Option<Packets>,
}

/// A sender.
#[derive(Clone, Debug)]
pub struct FluidSender {
    /// The links that it crosses, by number; one at least.
    pub path: Vec<usize>,
    /// The round-trip propagation delay, in ms.
    pub delay_ms: f64,
    /// The time that its links take to transmit a packet, in ms.
    pub service_ms: f64,
    /// When it has something to send.
    pub traffic: Traffic,
}

/// What an omniscient sender gets.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// Packets that arrive and are acknowledged before the end.
    pub delivered: f64,
    /// How long it is on, in ms.
    pub on_ms: f64,
    /// The integral of 1 / (senders on) over that time, in ms.
    pub share_ms: f64,
    /// How long it is on or its packets still arrive, in ms.
    pub active_ms: f64,
    /// The integral of 1 / (senders active) over that time, in ms.
    pub active_share_ms: f64,
    /// The round-trip time of its packets, none of which waits, in ms.
    pub rtt_ms: f64,
    /// The fraction of its packets that is lost.
    pub loss: f64,
    /// How long a packet may wait at its slowest link, in ms.
    pub room_ms: f64,
    /// For each on-period that ends: how long its sender is inactive afterwards, in ms.
    pub pauses_ms: Vec<f64>,
}

/// Why there is no bound for omniscient senders on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoBound {
    /// A link follows a trace.
    #[error("omniscient senders need links of a fixed rate, and one follows a trace")]
    Trace,
    /// Packets have several sizes.
    #[error("omniscient senders need packets of one size")]
    Sizes,
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

impl Fluid {
    /// The links and senders of `network`, whatever controllers it has. ACKs use no links.
    ///
    /// # Errors
    /// [`NoBound`] for networks that it cannot stand for.
    pub fn of(network: &Network) -> Result<Fluid, NoBound> {
        let packet = network.flows()[0].packet_size;
        if network.flows().iter().any(|flow| flow.packet_size != packet) {
            return Err(NoBound::Sizes);
        }
        let link = |link: &LinkSpec| match &link.service {
            Service::Trace(_) => Err(NoBound::Trace),
            Service::Fixed(rate) => Ok(FluidLink {
                packets_per_ms: rate.as_packets_per_ms(packet),
                loss: link.loss.get(),
                buffer: room(link.buffer, packet),
            }),
        };
        let senders = network.flows().iter().map(|flow| {
            let rates = flow.path.iter().map(|&link| network.links()[link].service.rate());
            let service: Span = rates.map(|rate| rate.service_time(packet)).sum();
            FluidSender {
                path: flow.path.clone(),
                delay_ms: flow.propagation(network.links()).as_millis_f64(),
                service_ms: service.as_millis_f64(),
                traffic: flow.traffic.clone(),
            }
        });
        Ok(Fluid {
            links: network.links().iter().map(link).collect::<Result<_, _>>()?,
            senders: senders.collect(),
            packet,
            duration: network.duration(),
        })
    }

    /// What each sender gets, with traffic drawn from `seed` as in the simulator. Each sends at its proportionally
    /// fair rate at once, and never queues. A flow of an amount of data lasts until its last packet is
    /// acknowledged, an RTT after it was sent, in which others use the links.
    ///
    /// ```
    /// use exm_cc::Cubic;
    /// use exm_link::{Limit, Service};
    /// use exm_sim::fluid::Fluid;
    /// use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
    /// use exm_units::{Rate, Span};
    ///
    /// let rate = Service::Fixed(Rate::from_bps(12_000_000));
    /// let link = LinkSpec::bottleneck(rate, Limit::Unlimited);
    /// let flow = FlowSpec::new(Host::Tcp.transport(Cubic::new().into()));
    /// let network = Network::new(vec![link], vec![flow.clone(), flow], Span::from_secs(10)).unwrap();
    /// let bounds = Fluid::of(&network).unwrap().run(1);
    /// // Half of one packet a millisecond, for ten seconds.
    /// assert!((bounds[0].delivered - 5_000.0).abs() < 1.0);
    /// ```
    pub fn run(&self, seed: u64) -> Vec<Bound> {
        Run::new(self, seed).run()
    }

    /// The proportionally fair rate of each sender while all of them send, in packets per millisecond that arrive.
    pub fn shares(&self) -> Vec<f64> {
        let routes = Routes::of(self);
        let mut active = vec![0; routes.count()];
        (0..self.senders.len()).for_each(|sender| active[routes.of_sender(sender)] += 1);
        let rates = routes.fair_rates(&active);
        (0..self.senders.len()).map(|sender| rates[routes.of_sender(sender)]).collect()
    }

    /// The slowest link on the path of the sender of this number: the first of them.
    ///
    /// # Panics
    /// If there is no such sender, or its path has no link.
    pub fn slowest(&self, sender: usize) -> FluidLink {
        let links = self.senders[sender].path.iter().map(|&link| self.links[link]);
        let slower =
            |a: FluidLink, b: FluidLink| if b.packets_per_ms < a.packets_per_ms { b } else { a };
        links.reduce(slower).expect("a path has a link")
    }
}

/// How many packets a buffer holds.
fn room(buffer: Limit, packet: Bytes) -> Option<Packets> {
    match buffer {
        Limit::Packets(packets) => Some(packets),
        Limit::Bytes(bytes) => Some(Packets::new(bytes.get() / packet.get())),
        Limit::Unlimited => None,
    }
}

impl Bound {
    /// Whether it was ever on.
    pub fn was_on(&self) -> bool {
        self.on_ms > 0.0
    }

    /// The time that throughput is measured over, and the integral of 1 / (senders) over it, in ms: as
    /// [`FlowReport::measured`](crate::metrics::FlowReport::measured) of a simulation.
    pub fn measured(&self, over: MeasuredOver) -> (f64, f64) {
        match over {
            MeasuredOver::Arrivals => (self.active_ms, self.active_share_ms),
            MeasuredOver::Papers => (self.on_ms, self.share_ms),
        }
    }
}

/// A simulation of a fluid.
struct Run {
    routes: Routes,
    senders: Vec<Sender>,
    /// A cache of the rates of each route by the numbers of active senders, which recur.
    rates: BTreeMap<Vec<u32>, Vec<f64>>,
    now_ms: f64,
    end_ms: f64,
}

impl Run {
    fn new(network: &Fluid, seed: u64) -> Run {
        let senders = network.senders.iter().enumerate().map(|(index, sender)| {
            let stream = Stream::new(seed, Purpose::Traffic, index);
            let mut source = TrafficSource::new(sender.traffic.clone(), stream, network.packet);
            let state = State::Off(ms(source.next_start(Instant::ZERO)));
            let losses = sender.path.iter().map(|&link| network.links[link].loss);
            let loss = 1.0 - losses.map(|loss| 1.0 - loss).product::<f64>();
            let slowest = network.slowest(index);
            let room = slowest.buffer.map_or(f64::INFINITY, |buffer| buffer.get() as f64 + 1.0);
            let got = Bound {
                rtt_ms: sender.delay_ms + sender.service_ms,
                loss,
                room_ms: room / slowest.packets_per_ms,
                ..Bound::default()
            };
            let after_ms = (got.rtt_ms - 1.0 / slowest.packets_per_ms).max(sender.delay_ms);
            Sender {
                source,
                state,
                after_ms,
                delay_ms: sender.delay_ms,
                arrived_ms: f64::NEG_INFINITY,
                got,
            }
        });
        Run {
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
