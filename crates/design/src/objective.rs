//! [`Objective`]: the function that a design maximises.

mod bound;
mod omniscient;

pub(crate) use bound::bounds;

use exm_measure::mean;
use exm_sim::MeasuredOver;
use exm_sim::dumbbell::{Dumbbell, Outcome};
use exm_units::Span;
use std::fmt;

/// The unit of RTTs in absolute units, ms: the original program's.
const RTT_UNIT_MS: f64 = 100.0;
/// The number of packets assumed for a sender that delivered none, so that scores
/// stay finite: fewer than for any sender that delivered something.
const NOTHING: f64 = 0.5;

/// The function that a design maximises: the mean over a network's senders of
/// `U_alpha(throughput) - delta U_beta(RTT) - loss_penalty x loss`,
/// where `U_1(x) = log2(x)` and otherwise `U_a(x) = x^(1-a) / (1-a)` (SIGCOMM 2013, section 3.3).
///
/// The logarithm is to base 2, so with `alpha = 1` a point is twice the throughput. If an
/// exponent is not 1, its units scale that term: see [`Units`].
///
/// Each sender that was ever on counts. A sender that delivered nothing counts as having
/// delivered half a packet with the whole run as its RTT. The loss rate is the packets lost over
/// those lost or delivered: packets in flight at the end count as neither.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// The exponent of throughput: 0 is efficiency alone, 1 proportional fairness, 2 minimum
    /// transfer time, and large values approach max-min fairness.
    pub alpha: f64,
    /// The exponent of round-trip times.
    pub beta: f64,
    /// The weight of round-trip times.
    pub delta: f64,
    /// What is subtracted per unit of loss rate.
    pub loss_penalty: f64,
    /// Over what time throughput is measured.
    pub throughput: Throughput,
    /// Which time of flows that last a time counts.
    pub over: MeasuredOver,
    /// What throughput and round-trip times are measured in.
    pub units: Units,
}

/// Over what time throughput is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// Over the integral of 1 / (senders active) while the sender is active: as if it had the link to
    /// itself. The whole equal share of a link is the link's rate. The original program's way.
    Share,
    /// Over the time it is active: as the papers write.
    On,
}

/// What throughput and round-trip times are measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Packets per millisecond and 100 ms, as in the original program.
    Absolute,
    /// The link's rate and the sender's round-trip propagation delay, so that 1 is the best on any
    /// network, and networks of different rates have equal weight even if an exponent is not 1.
    Relative,
}

impl Throughput {
    /// Both, the default first.
    pub const ALL: [Throughput; 2] = [Throughput::Share, Throughput::On];

    /// Its name in models.
    pub const fn name(self) -> &'static str {
        match self {
            Throughput::Share => "share",
            Throughput::On => "on",
        }
    }
}

impl Units {
    /// Both, the default first.
    pub const ALL: [Units; 2] = [Units::Absolute, Units::Relative];

    /// Its name in models.
    pub const fn name(self) -> &'static str {
        match self {
            Units::Absolute => "absolute",
            Units::Relative => "relative",
        }
    }
}

impl Default for Objective {
    /// The original program's: all exponents and weights 1, no penalty for losses.
    fn default() -> Objective {
        Objective {
            alpha: 1.0,
            beta: 1.0,
            delta: 1.0,
            loss_penalty: 0.0,
            throughput: Throughput::Share,
            over: MeasuredOver::Arrivals,
            units: Units::Absolute,
        }
    }
}

/// The results of one sender, in plain units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Got {
    packets_per_ms: f64,
    rtt_ms: f64,
    loss: f64,
}

/// How a sender performs at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Performance {
    /// Packets delivered per second.
    pub throughput: f64,
    /// The mean RTT.
    pub rtt: Span,
    /// Packets lost as a share of those lost or delivered.
    pub loss: f64,
}

impl From<&Performance> for Got {
    fn from(of: &Performance) -> Got {
        let (packets_per_ms, rtt_ms) = (of.throughput / 1e3, of.rtt.as_millis_f64());
        Got { packets_per_ms, rtt_ms, loss: of.loss }
    }
}

/// The path of a sender, which determines the units of an objective, and the duration of its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The rate of the slowest link.
    pub(crate) packets_per_ms: f64,
    /// The round-trip propagation delay.
    pub(crate) delay_ms: f64,
    /// The time that its links take to transmit one packet.
    pub(crate) service_ms: f64,
    pub(crate) duration: Span,
}

impl Path {
    pub(crate) fn of(network: &Dumbbell, delay: &Span) -> Path {
        Path {
            packets_per_ms: network.rate.as_packets_per_ms(network.packet),
            delay_ms: delay.as_millis_f64(),
            service_ms: network.rate.service_time(network.packet).as_millis_f64(),
            duration: network.duration,
        }
    }

    /// Throughput over the equal share of the slowest link.
    pub(crate) fn share(&self, got: &Outcome) -> f64 {
        self.share_over(got, MeasuredOver::default())
    }

    /// As [`Path::share`], with throughput measured `over` another time.
    pub(crate) fn share_over(&self, got: &Outcome, over: MeasuredOver) -> f64 {
        goodput(got) / (got.measured(over).1 * 1e3 * self.packets_per_ms)
    }

    /// The mean RTT over the propagation RTT; `None` if nothing was delivered.
    pub(crate) fn rtt_ratio(&self, got: &Outcome) -> Option<f64> {
        rtt_ms(got).map(|rtt_ms| rtt_ms / self.delay_ms)
    }

    /// The mean queueing delay, ms; `None` if nothing was delivered.
    pub(crate) fn queueing_ms(&self, got: &Outcome) -> Option<f64> {
        rtt_ms(got).map(|rtt_ms| (rtt_ms - self.delay_ms - self.service_ms).max(0.0))
    }
}

/// The data that was delivered, without headers, in packets.
fn goodput(got: &Outcome) -> f64 {
    got.delivered as f64 * (1.0 - got.headers)
}

/// The mean RTT; `None` if nothing was delivered.
fn rtt_ms(got: &Outcome) -> Option<f64> {
    (got.delivered > 0).then(|| got.rtt_sum.as_millis_f64() / got.delivered as f64)
}

impl Objective {
    /// The maximum weight of RTTs in models.
    pub const MAX_DELTA: f64 = 1e6;

    /// The score of `outcomes`, those of the senders of `network` in order: finite, and larger is
    /// better. It is 0 if no sender was ever on, for any table.
    pub fn score(&self, network: &Dumbbell, outcomes: &[Outcome]) -> f64 {
        let senders = network.delays.iter().zip(outcomes);
        mean(senders.filter(|(_, outcome)| !outcome.on_time.is_zero()).map(|(delay, outcome)| {
            let path = Path::of(network, delay);
            self.value(path, self.got(path, outcome))
        }))
        .unwrap_or(0.0)
    }

    /// As [`Objective::score`], in relative units, in which networks can be compared: with exponents of 1, 0
    /// is the whole share without queueing delay.
    pub fn normalised(&self, network: &Dumbbell, outcomes: &[Outcome]) -> f64 {
        self.relative().score(network, outcomes)
    }

    /// The score of omniscient senders: each sends at its equal share of the link at once and never
    /// queues, so that its RTT is the propagation delay
    /// plus one packet's transmission time. It is a reference for tables, and counts everything that the
    /// simulator counts for any sender: a flow of an amount of data lasts until its last packet is
    /// acknowledged, one propagation delay after its transmission, in which others use the
    /// link; and packets sent in a run's last propagation delay are not delivered in it.
    ///
    /// A flow with a duration is also measured until its last packet has arrived.
    ///
    /// It is an expectation: over many runs no sender that shares equally and leaves no queue scores higher, but in
    /// a single run it may by luck. [`Model::omniscient`](crate::Model::omniscient) bounds one run.
    pub fn omniscient(&self, network: &Dumbbell) -> f64 {
        mean(network.delays.iter().map(|delay| {
            let path = Path::of(network, delay);
            let packets_per_ms = omniscient::throughput(self, network, path.delay_ms);
            let rtt_ms = path.delay_ms + path.service_ms;
            self.value(path, Got { packets_per_ms, rtt_ms, loss: network.loss.get() })
        }))
        .unwrap_or(0.0)
    }

    pub(crate) fn relative(&self) -> Objective {
        Objective { units: Units::Relative, ..self.clone() }
    }

    pub(crate) fn got(&self, path: Path, outcome: &Outcome) -> Got {
        let (time, share_time) = outcome.measured(self.over);
        let time_ms = match self.throughput {
            Throughput::Share => share_time * 1e3,
            Throughput::On => time.as_millis_f64(),
        };
        let ended = outcome.delivered + outcome.lost;
        let loss = outcome.lost as f64 / ended.max(1) as f64;
        if outcome.delivered == 0 {
            let rtt_ms = path.duration.as_millis_f64();
            return Got { packets_per_ms: NOTHING / time_ms, rtt_ms, loss };
        }
        let rtt_ms = outcome.rtt_sum.as_millis_f64() / outcome.delivered as f64;
        Got { packets_per_ms: goodput(outcome) / time_ms, rtt_ms, loss }
    }

    /// Its value for one sender, in absolute units: [`Model::value_at`](crate::Model::value_at) knows a sender's path.
    pub fn value_at(&self, performance: &Performance) -> f64 {
        let (packets_per_ms, duration) = (1.0, performance.rtt);
        let path = Path { packets_per_ms, delay_ms: RTT_UNIT_MS, service_ms: 0.0, duration };
        self.value(path, performance.into())
    }

    /// The contribution of a sender on `path` to the score.
    pub(crate) fn value(&self, path: Path, got: Got) -> f64 {
        let (rate_unit, rtt_unit) = match self.units {
            Units::Absolute => (1.0, RTT_UNIT_MS),
            Units::Relative => (path.packets_per_ms, path.delay_ms),
        };
        utility(got.packets_per_ms / rate_unit, self.alpha)
            - self.delta * utility(got.rtt_ms / rtt_unit, self.beta)
            - self.loss_penalty * got.loss
    }
}

/// The utility of `x` with exponent `a`.
fn utility(x: f64, a: f64) -> f64 {
    if a == 1.0 { libm::log2(x) } else { libm::pow(x, 1.0 - a) / (1.0 - a) }
}

/// As people write it: "log2(throughput/share) - 0.1 log2(RTT)".
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over = match self.throughput {
            Throughput::Share => "throughput/share",
            Throughput::On => "throughput",
        };
        match self.alpha {
            // The first term needs no parentheses around it.
            0.0 => f.write_str(over)?,
            2.0 if over.contains('/') => write!(f, "-1/({over})")?,
            2.0 => write!(f, "-1/{over}")?,
            alpha => write_utility(f, over, alpha)?,
        }
        if self.delta > 0.0 {
            write!(f, " - {} ", self.delta)?;
            write_utility(f, "RTT", self.beta)?;
        }
        if self.loss_penalty > 0.0 {
            write!(f, " - {} loss", self.loss_penalty)?;
        }
        match self.units {
            Units::Absolute => Ok(()),
            Units::Relative => f.write_str(", relative"),
        }
    }
}

fn write_utility(f: &mut fmt::Formatter<'_>, what: &str, a: f64) -> fmt::Result {
    match 1.0 - a {
        0.0 => write!(f, "log2({what})"),
        1.0 => write!(f, "({what})"),
        -1.0 => write!(f, "(-1/({what}))"),
        power => write!(f, "({what})^({power})/({power})"),
    }
}

#[cfg(test)]
mod tests;
