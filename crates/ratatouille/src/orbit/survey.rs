//! [`OrbitSurvey`]: the orbits of a table on many links, and how well they are predicted.

use super::{IdealLink, Orbit, OrbitKind};
use exm_measure::{median, quantile};
use exm_remy::RuleTable;
use exm_sim::network::NetworkError;
use serde::Serialize;

/// Two numbers agree if they differ by at most this part of the greater.
const TOLERANCE: f64 = 0.05;
/// And amplitudes also if they differ by so few packets: a simulation is looked at 64 times an RTT, a prediction always.
const TOLERATED_PACKETS: u64 = 1;

/// The orbits on one link.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SurveyedLink {
    /// The link.
    pub link: IdealLink,
    /// Of one flow, from the table alone.
    pub predicted: Orbit,
    /// Of one flow, simulated.
    pub simulated: Orbit,
    /// Of the first of two flows, simulated.
    pub shared: Orbit,
    /// Of one flow at half the rate, from the table alone.
    pub halved: Orbit,
    /// [`IdealLink::balance`].
    pub balance: Option<f64>,
}

/// The orbits on many links, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OrbitSurvey {
    /// How many links there are.
    pub links: usize,
    /// The predicted orbits of one flow.
    pub predicted: OrbitSummary,
    /// The simulated ones.
    pub simulated: OrbitSummary,
    /// Those of the first of two flows.
    pub shared: OrbitSummary,
    /// Prediction and simulation of one flow.
    pub one_flow: Agreement,
    /// The prediction of one flow, and the first of two.
    pub two_flows: Agreement,
    /// The prediction of one flow at half the rate, and the first of two.
    pub two_flows_by_half: Agreement,
    /// [`IdealLink::balance`] and the mean packets in flight of one flow.
    pub balance: BalanceAgreement,
}

/// How well balances tell the mean packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BalanceAgreement {
    /// The part of links on which they are the same within 5 %.
    pub in_flight: f64,
    /// The median relative error, where there is a balance.
    pub in_flight_error: Option<f64>,
}

/// Orbits in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OrbitSummary {
    /// The part of them that is at rest.
    pub rest: f64,
    /// The part that are cycles.
    pub cycle: f64,
    /// The part that is neither.
    pub irregular: f64,
    /// The part whose state was seen to repeat itself to the nanosecond.
    pub exact: f64,
    /// The periods of the cycles, in RTTs.
    pub period: Option<Quantiles>,
    /// The amplitudes of all, over the ideal number.
    pub amplitude: Option<Quantiles>,
    /// The mean packets in flight of all, over the ideal number.
    pub in_flight: Option<Quantiles>,
}

/// Some quantiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// The tenth percentile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The ninetieth percentile.
    pub high: f64,
}

/// How well one orbit tells another, link by link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// The part of links on which they are of the same kind.
    pub kind: f64,
    /// The part on which they have the same period within 5 %, or both none.
    pub period: f64,
    /// The part on which they have the same amplitude within 5 % or a packet.
    pub amplitude: f64,
    /// The part on which both are so.
    pub both: f64,
    /// The median relative error of the period, of those that have one.
    pub period_error: Option<f64>,
    /// The median relative error of the amplitude.
    pub amplitude_error: Option<f64>,
    /// The median relative error of the mean packets in flight.
    pub in_flight_error: Option<f64>,
}

impl SurveyedLink {
    /// The orbits of `table` on `link`.
    ///
    /// # Errors
    /// [`NetworkError`] if the simulator refuses the network.
    pub fn new(link: IdealLink, table: &RuleTable) -> Result<SurveyedLink, NetworkError> {
        Ok(SurveyedLink {
            link,
            predicted: link.predict(table),
            simulated: link.simulate(table, 1)?,
            shared: link.simulate(table, 2)?,
            halved: link.halved().predict(table),
            balance: link.balance(table),
        })
    }
}

impl OrbitSurvey {
    /// That of `links`.
    pub fn new(links: &[SurveyedLink]) -> OrbitSurvey {
        let of = |orbit: fn(&SurveyedLink) -> Orbit| {
            OrbitSummary::new(&links.iter().map(orbit).collect::<Vec<_>>())
        };
        let pairs = |pair: fn(&SurveyedLink) -> (Orbit, Orbit)| {
            Agreement::new(&links.iter().map(pair).collect::<Vec<_>>())
        };
        let balances: Vec<Option<f64>> =
            links.iter().map(|of| error(of.balance?, of.simulated.in_flight)).collect();
        let agree = |error: &Option<f64>| error.is_some_and(|error| error <= TOLERANCE);
        let errors: Vec<f64> = balances.iter().flatten().copied().collect();
        OrbitSurvey {
            links: links.len(),
            predicted: of(|link| link.predicted),
            simulated: of(|link| link.simulated),
            shared: of(|link| link.shared),
            one_flow: pairs(|link| (link.predicted, link.simulated)),
            two_flows: pairs(|link| (link.predicted, link.shared)),
            two_flows_by_half: pairs(|link| (link.halved, link.shared)),
            balance: BalanceAgreement {
                in_flight: part(&balances, agree),
                in_flight_error: median(&errors),
            },
        }
    }
}

impl OrbitSummary {
    /// That of `orbits`.
    pub fn new(orbits: &[Orbit]) -> OrbitSummary {
        let kind = |kind: OrbitKind| part(orbits, |orbit| orbit.kind() == kind);
        let all = |of: fn(&Orbit) -> f64| Quantiles::of(&orbits.iter().map(of).collect::<Vec<_>>());
        let periods: Vec<f64> = orbits.iter().filter_map(Orbit::cycle).collect();
        OrbitSummary {
            rest: kind(OrbitKind::Rest),
            cycle: kind(OrbitKind::Cycle),
            irregular: kind(OrbitKind::Irregular),
            exact: part(orbits, |orbit| orbit.exact.is_some()),
            period: Quantiles::of(&periods),
            amplitude: all(|orbit| orbit.amplitude),
            in_flight: all(|orbit| orbit.in_flight),
        }
    }
}

impl Quantiles {
    /// Those of `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Quantiles> {
        let at = |part| quantile(values, part);
        Some(Quantiles { low: at(0.1)?, median: at(0.5)?, high: at(0.9)? })
    }
}

impl Agreement {
    /// That of pairs of a prediction and what it should tell.
    pub fn new(pairs: &[(Orbit, Orbit)]) -> Agreement {
        let errors = |of: fn(&Orbit) -> Option<f64>| {
            let errors = pairs.iter().filter_map(|(told, is)| error(of(told)?, of(is)?));
            median(&errors.collect::<Vec<_>>())
        };
        Agreement {
            kind: part(pairs, |(told, is)| told.kind() == is.kind()),
            period: part(pairs, has_period),
            amplitude: part(pairs, has_amplitude),
            both: part(pairs, |pair| has_period(pair) && has_amplitude(pair)),
            period_error: errors(Orbit::cycle),
            amplitude_error: errors(|orbit| Some(orbit.amplitude)),
            in_flight_error: errors(|orbit| Some(orbit.in_flight)),
        }
    }
}

fn has_period((told, is): &(Orbit, Orbit)) -> bool {
    match (told.cycle(), is.cycle()) {
        (Some(told), Some(is)) => agrees(told, is),
        (told, is) => told == is,
    }
}

fn has_amplitude((told, is): &(Orbit, Orbit)) -> bool {
    told.packets.abs_diff(is.packets) <= TOLERATED_PACKETS || agrees(told.amplitude, is.amplitude)
}

fn agrees(told: f64, is: f64) -> bool {
    (told - is).abs() <= TOLERANCE * told.max(is)
}

/// The relative error of `told`; none where there is nothing to relate it to.
fn error(told: f64, is: f64) -> Option<f64> {
    if told == is {
        return Some(0.0);
    }
    (is > 0.0).then(|| (told / is - 1.0).abs())
}

fn part<T>(all: &[T], is: impl Fn(&T) -> bool) -> f64 {
    all.iter().filter(|one| is(one)).count() as f64 / all.len().max(1) as f64
}
