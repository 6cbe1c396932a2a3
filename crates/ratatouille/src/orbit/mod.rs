//! The orbit of a RemyCC's packets in flight: predicted from its table, and as the simulator has it.

mod balance;
mod course;
mod recursion;
mod simulated;
mod survey;
#[cfg(test)]
mod tests;

use course::Course;
use exm_remy::RuleTable;
use exm_units::{Bytes, Instant, Rate, Span};
use recursion::Recursion;
pub use survey::{Agreement, BalanceAgreement, OrbitSummary, OrbitSurvey, Quantiles, SurveyedLink};

/// A flow is followed for this many RTTs at least.
const RTTS: u64 = 128;
/// And for this many services of the link, so that slow links show their orbit as well: the slow average of the ACKs'
/// intervals has a memory of 256.
const SERVICES: u64 = 16_384;
/// The first of so many parts is not measured: the flow starts in it.
const UNMEASURED: u64 = 4;

/// One link of fixed rate that never drops a packet, and the path behind it.
///
/// ```
/// use exm_ratatouille::{IdealLink, OrbitKind};
/// use exm_remy::{Action, RuleTable, SignalSet};
/// use exm_units::{Bytes, Rate, Span};
///
/// // One rule: on each ACK the window becomes half of it plus 20, which comes to rest at 39 packets.
/// let action = Action { multiple: 0.5, increment: 20, intersend_ms: 0.0 };
/// let table = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
/// let link = IdealLink::new(Rate::from_mbps(12.0), Span::from_millis(20), Bytes::PACKET).unwrap();
/// let orbit = link.predict(&table);
/// assert_eq!(orbit.kind(), OrbitKind::Rest);
/// assert_eq!(orbit.in_flight, 39.0 / 20.0, "of the BDP of 20 packets");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdealLink {
    rate: Rate,
    rtt: Span,
    packet: Bytes,
}

/// What the packets in flight of one flow do in the steady state, over the last three quarters of the time that it
/// is followed.
///
/// The ideal number is the BDP divided by the number of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Orbit {
    /// Mean packets in flight over the ideal number.
    pub in_flight: f64,
    /// The greatest number less the least, over the ideal number.
    pub amplitude: f64,
    /// The same in packets.
    pub packets: u64,
    /// After how many RTTs the course repeats itself by its autocorrelation, as [`Measures`](crate::Measures) has it;
    /// absent where it does not.
    pub period: Option<f64>,
    /// The repetition of the whole state, times to the nanosecond and signals to a millionth, if there is one in the time and
    /// it was looked for.
    pub exact: Option<Repetition>,
}

/// After how much the state of a flow and its link is the same again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    /// ACKs.
    pub acks: u64,
    /// Propagation RTTs.
    pub rtts: f64,
}

/// What an [`Orbit`] is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrbitKind {
    /// A fixed point: the number in flight changes by no more than a packet.
    Rest,
    /// A limit cycle: the number repeats itself.
    Cycle,
    /// Neither.
    Irregular,
}

impl Orbit {
    /// What it is like.
    pub fn kind(&self) -> OrbitKind {
        match self.period {
            _ if self.packets <= 1 => OrbitKind::Rest,
            Some(_) => OrbitKind::Cycle,
            None => OrbitKind::Irregular,
        }
    }

    /// Its period in RTTs, if it is a cycle.
    pub fn cycle(&self) -> Option<f64> {
        self.period.filter(|_| self.kind() == OrbitKind::Cycle)
    }
}

impl IdealLink {
    /// A link of `rate` with a round-trip propagation delay of `rtt`, for packets of size `packet`; `None` if one of them is
    /// zero, or the link too slow to be followed.
    pub fn new(rate: Rate, rtt: Span, packet: Bytes) -> Option<IdealLink> {
        let link = IdealLink { rate, rtt, packet };
        let service = (rate.as_bps() > 0).then(|| rate.service_time(packet))?;
        let longest = Span::from_secs(1_000_000).as_nanos();
        let fits = service.as_nanos() <= longest / SERVICES && rtt.as_nanos() <= longest / RTTS;
        (fits && !service.is_zero() && !rtt.is_zero()).then_some(link)
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Its round-trip propagation delay.
    pub fn rtt(&self) -> Span {
        self.rtt
    }

    /// The bandwidth-delay product, in packets.
    pub fn bdp(&self) -> f64 {
        self.rate.as_bps() as f64 * self.rtt.as_secs_f64() / 8.0 / self.packet.get() as f64
    }

    /// The same at half the rate: the share of each of two flows.
    #[must_use]
    pub fn halved(&self) -> IdealLink {
        IdealLink { rate: Rate::from_bps((self.rate.as_bps() / 2).max(1)), ..*self }
    }

    /// How long a flow is followed.
    pub(crate) fn duration(&self) -> Span {
        (self.rtt * RTTS).max(self.rate.service_time(self.packet) * SERVICES)
    }

    /// The orbit of one sender of `table` that is always on, from the table alone: ACK by ACK, by the arithmetic of the
    /// link and of the table, without a simulator.
    ///
    /// Sends at `s` leave the link at `d = max(s, d of the packet before) + 1/rate` and are acknowledged at `d + RTT`. So
    /// one sender is a recursion: each ACK updates the signals, these choose the rule, and the rule sets the window and
    /// the pace by which packets are sent before the next ACK. All of it is in whole nanoseconds and in differences of
    /// times, so a state can return and be the same, and from then on everything repeats.
    pub fn predict(&self, table: &RuleTable) -> Orbit {
        let mut course = Course::new(self, 1);
        let mut recursion = Recursion::new(self, table);
        let end = Instant::ZERO + self.duration();
        let mut exact = None;
        let mut brent = (!table.signals().is_extended()).then(|| recursion::Brent::new(&recursion));
        while let Some(step) = recursion.step()
            && step.at < end
        {
            course.set(step.at, recursion.in_flight());
            if let Some(search) = &mut brent
                && step.is_ack
                && let Some((acks, time)) = search.look(&recursion)
            {
                let rtts = time.as_secs_f64() / self.rtt.as_secs_f64();
                (exact, brent) = (Some(Repetition { acks, rtts }), None);
            }
        }
        Orbit { exact, ..course.orbit(end) }
    }
}
