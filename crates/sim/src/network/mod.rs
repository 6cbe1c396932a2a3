//! [`Network`]: links, the flows that cross them, and the duration.

mod error;
mod host;
mod spec;

pub use error::NetworkError;
pub(crate) use host::codepoint;
pub use host::{Host, hosts};
pub use spec::{FlowSpec, LinkSpec, SPROUT_EMPTY, SPROUT_HEADER, TCP_HEADER, Transport};

use crate::active::MeasuredOver;
use crate::traffic::{OnFor, OnOff, Traffic};
use exm_link::{Limit, Service, Thinning, Timing};
use exm_random::Distribution;
use exm_units::{Bytes, Instant, Packets, Span};

/// The maximum number of senders of a network.
pub const MAX_FLOWS: usize = 100_000;
/// The maximum number of links.
pub const MAX_LINKS: usize = 100_000;
/// The maximum number of links on one path.
pub const MAX_HOPS: usize = 64;
/// The largest packet: well above IP's 65 535 bytes, and small enough to avoid overflow.
pub const MAX_PACKET: Bytes = Bytes::new(1_000_000);
/// The longest simulation and the longest delay: 31 years, a ninth of the range of 64 bits.
pub const MAX_TIME: Span = Span::from_secs(1_000_000_000);
/// The longest time for which a receiver knows its link ahead.
pub const MAX_FORESIGHT: Span = Span::from_secs(10);

/// The maximum delay that jitter, and that reordering, adds to a packet.
pub const MAX_VARIATION: Span = Span::from_secs(1000);

/// The longest duration that can be simulated with `links` links and `flows` senders: the engine packs the
/// time of an event, its kind and its source into 64 bits. That is 18 years for two senders and a link,
/// and 2 hours for the largest networks.
pub const fn longest_duration(links: usize, flows: usize) -> Span {
    let sources = (links + flows + 1).next_power_of_two() as u64;
    let latest = u64::MAX / EVENT_KINDS / sources - 1;
    if latest < MAX_TIME.as_nanos() { Span::from_nanos(latest) } else { MAX_TIME }
}

/// How many kinds of events the engine knows.
pub(crate) const EVENT_KINDS: u64 = 8;

/// A network that can be simulated: all its parameters have been checked.
#[derive(Clone, Debug)]
pub struct Network {
    links: Vec<LinkSpec>,
    flows: Vec<FlowSpec>,
    duration: Span,
    warm_up: Span,
    over: MeasuredOver,
    distributions: bool,
}

impl Network {
    /// A network of `links` crossed by `flows`, to be simulated for `duration`.
    ///
    /// # Errors
    /// [`NetworkError`] if a parameter or a path is impossible.
    pub fn new(
        links: Vec<LinkSpec>,
        flows: Vec<FlowSpec>,
        duration: Span,
    ) -> Result<Network, NetworkError> {
        let (warm_up, over) = (Span::ZERO, MeasuredOver::default());
        let network = Network { links, flows, duration, warm_up, over, distributions: true };
        network.check()?;
        Ok(network)
    }

    /// The links.
    pub fn links(&self) -> &[LinkSpec] {
        &self.links
    }

    /// The flows.
    pub fn flows(&self) -> &[FlowSpec] {
        &self.flows
    }

    /// For how long it is simulated.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// The same network, with end-to-end delays and the omniscient throughput measured only after
    /// `warm_up`.
    ///
    /// # Errors
    /// [`NetworkError::WarmUp`] if nothing would be measured.
    pub fn scored_after(self, warm_up: Span) -> Result<Network, NetworkError> {
        if warm_up >= self.duration {
            return Err(NetworkError::WarmUp { warm_up, duration: self.duration });
        }
        Ok(Network { warm_up, ..self })
    }

    /// The same network, with throughput measured `over` another time.
    pub fn measured_over(self, over: MeasuredOver) -> Network {
        Network { over, ..self }
    }

    /// Over what time throughput is measured.
    pub fn over(&self) -> MeasuredOver {
        self.over
    }

    /// The same network, of whose round-trip times and queueing delays reports have the count and the sum, thus the
    /// mean, but no distribution: minima, maxima and percentiles are none. That is faster.
    pub fn without_distributions(self) -> Network {
        Network { distributions: false, ..self }
    }

    /// Whether reports have the distributions of round-trip times and queueing delays. By default they do.
    pub fn has_distributions(&self) -> bool {
        self.distributions
    }

    /// The same network with its links and flows changed by `change`.
    ///
    /// # Errors
    /// [`NetworkError`] if a parameter or a path is then impossible.
    pub fn changed(
        mut self,
        change: impl FnOnce(&mut [LinkSpec], &mut [FlowSpec]),
    ) -> Result<Network, NetworkError> {
        change(&mut self.links, &mut self.flows);
        self.check()?;
        Ok(self)
    }

    /// The interval in which end-to-end delays are measured.
    pub fn scored(&self) -> (Instant, Instant) {
        (Instant::ZERO + self.warm_up, Instant::ZERO + self.duration)
    }

    fn check(&self) -> Result<(), NetworkError> {
        if self.flows.is_empty() {
            return Err(NetworkError::NoFlows);
        }
        if self.flows.len() > MAX_FLOWS {
            return Err(NetworkError::TooManyFlows(self.flows.len()));
        }
        if self.links.len() > MAX_LINKS {
            return Err(NetworkError::TooManyLinks(self.links.len()));
        }
        let longest = longest_duration(self.links.len(), self.flows.len());
        if self.duration.is_zero() || self.duration > longest {
            return Err(NetworkError::BadDuration { duration: self.duration, longest });
        }
        for (index, link) in self.links.iter().enumerate() {
            check_link(index, link)?;
        }
        for (index, flow) in self.flows.iter().enumerate() {
            self.check_path(index, flow)?;
            self.check_sender(index, flow)?;
        }
        Ok(())
    }

    fn check_path(&self, flow: usize, spec: &FlowSpec) -> Result<(), NetworkError> {
        let (path, back) = (&spec.path, &spec.back);
        let all: Vec<usize> = path.iter().chain(back).copied().collect();
        let links = self.links.len();
        if path.is_empty() {
            return Err(NetworkError::EmptyPath { flow });
        }
        if all.len() > MAX_HOPS {
            return Err(NetworkError::LongPath { flow, hops: all.len() });
        }
        if let Some(&link) = all.iter().find(|&&link| link >= links) {
            return Err(NetworkError::NoSuchLink { flow, link, links });
        }
        let ends = |pair: &[usize]| (self.links[pair[0]].ends.1, self.links[pair[1]].ends.0);
        if let Some(pair) = all.windows(2).find(|pair| ends(pair).0 != ends(pair).1) {
            let name = |link: usize| self.links[link].name.clone();
            let (before, after) = (name(pair[0]), name(pair[1]));
            return Err(NetworkError::BrokenPath { flow, before, after });
        }
        if let Some(i) = (1..all.len()).find(|&i| all[..i].contains(&all[i])) {
            return Err(NetworkError::Loop { flow, link: self.links[all[i]].name.clone() });
        }
        if !back.is_empty() && ends(&[all[all.len() - 1], all[0]]).0 != self.links[path[0]].ends.0 {
            let link = self.links[all[all.len() - 1]].name.clone();
            return Err(NetworkError::NoReturn { flow, link });
        }
        Ok(())
    }

    /// Whether the receiver of `spec` can know the link for so long ahead.
    fn is_foreseeable(&self, spec: &FlowSpec, foresight: Span) -> bool {
        let ticks = foresight.as_nanos().is_multiple_of(exm_sprout::TICK.as_nanos());
        let follows_trace = matches!(self.links[spec.path[0]].service, Service::Trace(_));
        let is_sprout = matches!(spec.transport, Transport::Sprout(_));
        is_sprout && follows_trace && ticks && foresight <= MAX_FORESIGHT
    }

    fn check_sender(&self, flow: usize, spec: &FlowSpec) -> Result<(), NetworkError> {
        if spec.duplex && (spec.back.is_empty() || !matches!(spec.transport, Transport::Sprout(_)))
        {
            return Err(NetworkError::Duplex { flow });
        }
        if spec.foresight.is_some_and(|foresight| !self.is_foreseeable(spec, foresight)) {
            return Err(NetworkError::Foresight { flow });
        }
        let size = spec.packet_size;
        if size == Bytes::ZERO || size > MAX_PACKET {
            return Err(NetworkError::PacketSize { flow, size });
        }
        if spec.transport.payload(size) == Bytes::ZERO {
            return Err(NetworkError::NoPayload { flow, size });
        }
        for &link in &spec.path {
            let limit = self.links[link].buffer;
            if !limit.holds(size) {
                return Err(NetworkError::NoBuffer { link, limit, packet: size });
            }
        }
        if spec.extra_delay > MAX_TIME {
            return Err(NetworkError::FlowDelay { flow, delay: spec.extra_delay });
        }
        check_traffic(flow, &spec.traffic)
    }
}

fn check_link(link: usize, spec: &LinkSpec) -> Result<(), NetworkError> {
    if spec.service.rate().as_bps() == 0 {
        return Err(NetworkError::ZeroRate { link });
    }
    if spec.buffer == Limit::Packets(Packets::ZERO) {
        return Err(NetworkError::EmptyBuffer { link });
    }
    if spec.delay > MAX_TIME {
        return Err(NetworkError::LinkDelay { link, delay: spec.delay });
    }
    spec.jitter.check().map_err(|problem| NetworkError::Jitter { link, problem })?;
    if spec.reordering.extra > MAX_VARIATION {
        return Err(NetworkError::HeldBack { link, extra: spec.reordering.extra });
    }
    check_effects(spec).map_err(|(key, problem)| NetworkError::LinkSetting { link, key, problem })
}

/// Checks what only some links do; the error names the key.
fn check_effects(spec: &LinkSpec) -> Result<(), (&'static str, String)> {
    let follows_trace = matches!(spec.service, Service::Trace(_));
    if let Some(aggregation) = &spec.aggregation {
        let key = "aggregation";
        if follows_trace {
            let problem = "a trace says when packets leave: give the link a \"rate\", or leave \"aggregation\" out";
            return Err((key, problem.to_owned()));
        }
        aggregation.check().map_err(|problem| (key, problem))?;
    }
    if let Some(block_errors) = &spec.block_errors {
        block_errors.check().map_err(|problem| ("block_errors", problem))?;
    }
    if let Some(timing) = &spec.timing {
        let key = if matches!(timing, Timing::Slots(_)) { "slots" } else { "schedule" };
        if follows_trace && timing.changes_rate() {
            let problem = "a trace has no rate to change: give the link a \"rate\", or change its delay and loss alone";
            return Err((key, problem.to_owned()));
        }
        timing.check().map_err(|problem| (key, problem))?;
    }
    if let Some(thinning) = spec.thinning {
        let key = "thin_acks";
        if follows_trace {
            let problem = "ACKs are thinned on links of fixed rate: give the link a \"rate\", or leave \"thin_acks\" out";
            return Err((key, problem.to_owned()));
        }
        if thinning == Thinning::Each(Packets::ZERO) {
            return Err((key, "no ACK would be sent: give at least \"1 packet\"".to_owned()));
        }
    }
    Ok(())
}

fn check_traffic(flow: usize, traffic: &Traffic) -> Result<(), NetworkError> {
    let bad = |what| move |problem| NetworkError::BadTraffic { flow, what, problem };
    let takes_time = match traffic.on() {
        OnFor::Always => true,
        OnFor::Video(video) => {
            video.check().map_err(|problem| NetworkError::Video { flow, problem })?;
            true
        }
        OnFor::Time(span) => {
            span.check().map_err(bad("on"))?;
            !is_always_zero(span)
        }
        OnFor::Packets(count) | OnFor::Bytes(count) => {
            count.check().map_err(bad("on"))?;
            true
        }
    };
    let passes = match traffic {
        Traffic::OnOff(OnOff { on, .. }) if on.is_endless() => true,
        Traffic::OnOff(OnOff { off, .. }) => {
            off.check().map_err(bad("off"))?;
            takes_time || !is_always_zero(off)
        }
        Traffic::Every { period, spread, .. } => takes_time && spread < period,
        Traffic::Schedule { visits, .. } => {
            let ends = visits.iter().map(|&(start, end)| (start, end.unwrap_or(start)));
            if !ends.clone().is_sorted() || ends.clone().any(|(start, end)| end < start) {
                return Err(bad("scheduled")(
                    "the flows must be in order, each ending after it starts",
                ));
            }
            true
        }
    };
    if passes { Ok(()) } else { Err(NetworkError::NoTimePasses { flow }) }
}

fn is_always_zero(distribution: &Distribution) -> bool {
    match distribution {
        Distribution::Fixed(value) | Distribution::Exponential { mean: value } => *value < 1e-9,
        Distribution::Uniform { high, .. } => *high < 1e-9,
        Distribution::Pareto { cap, .. } => *cap < 1e-9,
        Distribution::Empirical(values) => values.iter().all(|value| *value < 1e-9),
        Distribution::Cdf(points) => points.iter().all(|&(value, _)| value < 1e-9),
    }
}

#[cfg(test)]
mod tests;
