//! [`Convergence`]: how soon flows that start at set times reach their fair share.

use crate::case::{Case, STEPS};
use crate::series::Recording;
use exm_measure::convergence_time;
use exm_sim::network::Network;
use exm_sim::traffic::{OnOff, Traffic};
use exm_units::{Instant, Span};
use serde::{Deserialize, Serialize};

/// The last part of the time between two changes, from which the final fair share is computed.
const LAST: usize = 5;

/// The tolerance around the fair share, as a fraction of it.
const TOLERANCE: f64 = 0.2;
/// The fraction of its final throughput at which a flow has claimed the freed capacity.
const CLAIMED: f64 = 0.9;

/// How soon a flow reached its fair share, see [`METRICS`](crate::METRICS).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// How often the flow started at a set time.
    pub starts: u64,
    /// After how many starts it reached its fair share and stayed there.
    pub settled: u64,
    /// The longest time this took, in seconds; none if it did not happen every time.
    pub longest_s: Option<f64>,
}

/// How soon each flow of `case` reached its fair share; none for flows that start at random times. The
/// `recording` has a sample each [`step`](crate::case::step).
///
/// Each start is evaluated until the next set start or end of any flow. The fair share is an equal part
/// of the total throughput of the active flows in the last fifth of that time: a scheme that leaves the
/// link idle is slow, not unfair.
pub(crate) fn convergence(case: &Case, recording: &Recording) -> Vec<Option<Convergence>> {
    let network = &case.network;
    let changes = changes(network);
    let of_flow = |flow: usize| {
        let starts = visits(&network.flows()[flow].traffic).into_iter().map(|visit| visit.0);
        let spans = starts.filter_map(|start| {
            let next = changes.iter().find(|&&change| change > start)?;
            Some((start, *next))
        });
        let settled: Vec<Option<f64>> =
            spans.map(|(start, next)| settled(network, recording, flow, (start, next))).collect();
        let all: Option<Vec<f64>> = settled.iter().copied().collect();
        (!settled.is_empty()).then(|| Convergence {
            starts: settled.len() as u64,
            settled: settled.iter().flatten().count() as u64,
            longest_s: all.and_then(|all| all.into_iter().reduce(f64::max)),
        })
    };
    (0..network.flows().len()).map(of_flow).collect()
}

/// How many propagation RTTs each flow of `case` took on average to use the capacity that others freed by
/// ending at set times; none for flows beside which no flow ended, or that gained nothing.
pub(crate) fn claims(case: &Case, recording: &Recording) -> Vec<Option<f64>> {
    let network = &case.network;
    let changes = changes(network);
    let groups = case.scenario.flows.iter();
    let rtts = groups.flat_map(|group| std::iter::repeat_n(group.rtt, group.count));
    let of_flow = |(flow, rtt): (usize, Span)| {
        let others = (0..network.flows().len()).filter(|&other| other != flow);
        let ends = others.flat_map(|other| visits(&network.flows()[other].traffic));
        let ends = ends.filter_map(|(_, end)| end);
        let spans = ends.filter_map(|end| {
            let next = changes.iter().find(|&&change| change > end)?;
            claimed(network, recording, flow, (end, *next))
        });
        let all: Vec<f64> = spans.map(|secs| secs / rtt.as_secs_f64()).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    rtts.enumerate().map(of_flow).collect()
}

/// How long after `end` a window of a flow's throughput first reached [`CLAIMED`] of its throughput at
/// `next`, in seconds.
fn claimed(
    network: &Network,
    recording: &Recording,
    flow: usize,
    (end, next): (Instant, Instant),
) -> Option<f64> {
    let samples = &recording.flows[flow];
    let step = recording.pace.as_nanos();
    let first = end.as_nanos().div_ceil(step) as usize;
    let last = ((next.as_nanos() / step) as usize).min(samples.len().checked_sub(1)?);
    if first < STEPS || last < first + STEPS || !samples[last - 1].is_on || !samples[first].is_on {
        return None;
    }
    let rate = |from: usize, to: usize| rate(network, recording, flow, (from, to));
    let whole = rate(last - STEPS.max((last - first) / LAST), last) * CLAIMED;
    if rate(first - STEPS, first) >= whole {
        return None;
    }
    let at = (first..=last).find(|&at| rate(at - STEPS, at) >= whole)?;
    Some((at as u64 * step - end.as_nanos()) as f64 * 1e-9)
}

/// The set start and end times of flows of `traffic`; a sender that is always on starts at once.
fn visits(traffic: &Traffic) -> Vec<(Instant, Option<Instant>)> {
    match traffic {
        Traffic::Schedule { visits, .. } => visits.clone(),
        Traffic::OnOff(OnOff { on, .. }) if on.is_endless() => vec![(Instant::ZERO, None)],
        Traffic::OnOff(_) | Traffic::Every { .. } => Vec::new(),
    }
}

/// All set start and end times of flows, and the end of the simulation.
fn changes(network: &Network) -> Vec<Instant> {
    let end = Instant::ZERO + network.duration();
    let visits = network.flows().iter().flat_map(|flow| visits(&flow.traffic));
    let mut changes: Vec<Instant> =
        visits.flat_map(|(start, stop)| [Some(start), stop]).flatten().collect();
    changes.retain(|&change| change < end);
    changes.push(end);
    changes.sort();
    changes
}

/// The time from a flow's start until it stayed near its fair share, in seconds.
fn settled(
    network: &Network,
    recording: &Recording,
    flow: usize,
    (start, next): (Instant, Instant),
) -> Option<f64> {
    let step = recording.pace.as_nanos();
    let first = start.as_nanos().div_ceil(step) as usize;
    let last = ((next.as_nanos() / step) as usize).min(recording.flows[flow].len().checked_sub(1)?);
    if last < first + STEPS {
        return None;
    }
    let is_on = |flow: &usize| recording.flows[*flow][last - 1].is_on;
    let on = (0..recording.flows.len()).filter(is_on).count();
    let tail = last - STEPS.max((last - first) / LAST);
    let all = (0..recording.flows.len()).map(|flow| rate(network, recording, flow, (tail, last)));
    let share = all.sum::<f64>() / on as f64;
    let windows = (first..=last - STEPS).map(|from| {
        let time = (from as u64 * step - start.as_nanos()) as f64 * 1e-9;
        (time, rate(network, recording, flow, (from, from + STEPS)))
    });
    if !is_on(&flow) {
        return None;
    }
    convergence_time(&windows.collect::<Vec<_>>(), share, TOLERANCE)
}

/// The throughput of a flow between two samples, in Mbps.
pub(crate) fn rate(
    network: &Network,
    recording: &Recording,
    flow: usize,
    (from, to): (usize, usize),
) -> f64 {
    let spec = &network.flows()[flow];
    let samples = &recording.flows[flow];
    let packets = samples[to].delivered - samples[from].delivered;
    let bits = packets * spec.transport.payload(spec.packet_size).get() * 8;
    let micros = (to - from) as f64 * recording.pace.as_nanos() as f64 * 1e-3;
    bits as f64 / micros
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::step;
    use crate::plan::{Options, Plan};
    use crate::{Experiment, series};
    use std::path::Path;

    /// Two flows on 12 Mbps, the second from 10 s on; each with a different window.
    const FILE: &str = r#"
        duration = "30 s"
        [[link]]
        name = "link"
        rate = "12 Mbps"
        [[flow]]
        name = "first"
        rtt = "50 ms"
        controller = "scheme"
        traffic = { on = "always", at = ["0 s"] }
        [[flow]]
        name = "second"
        rtt = "50 ms"
        controller = "scheme"
        traffic = { on = "always", at = ["10 s..20 s"] }
        [[flow]]
        name = "other"
        rtt = "50 ms"
        controller = "scheme"
        traffic = { on = "fixed 1 kB", off = "fixed 100 s" }
        [experiment]
        columns = ["convergence", "converged"]
        [[experiment.scheme]]
        name = "Reno"
        controller = "reno"
    "#;

    fn samples(rates: &[(u64, u64)]) -> Vec<series::Sampled> {
        let mut delivered = 0;
        let sampled = rates.iter().flat_map(|&(count, packets)| (0..count).map(move |_| packets));
        let mut all = vec![0];
        all.extend(sampled.map(|packets| {
            delivered += packets;
            delivered
        }));
        let sampled = all.iter().enumerate().map(|(index, &delivered)| series::Sampled {
            time: index as f64 * 0.1,
            is_on: index + 1 < all.len() && all[index + 1] > delivered,
            in_flight: 0,
            delivered,
            received: None,
        });
        sampled.collect()
    }

    #[test]
    fn the_time_to_the_fair_share_by_hand() {
        let experiment = Experiment::parse(FILE, "a.toml", Path::new("")).expect("is sound");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        let plan = plan.expect("is sound");
        // In tenths of a second: the first alone at full rate except for 2 s of silence, then it yields
        // over 4 s; the second takes over within 2 s, and ends at 20 s.
        let recording = Recording {
            flows: vec![
                samples(&[(20, 0), (80, 100), (40, 80), (60, 50), (100, 100)]),
                samples(&[(100, 0), (20, 10), (80, 50), (100, 0)]),
                samples(&[(300, 0)]),
            ],
            links: vec![Vec::new()],
            pace: step(Span::from_secs(1)),
        };
        let all = convergence(&plan.cases[0], &recording);
        let once = |longest_s| Some(Convergence { starts: 1, settled: 1, longest_s });
        // Windows of 1 s: one that begins 0.2 s before the flow starts holds 80 % of the share.
        assert_eq!((all[0], all[1]), (once(Some(1.8)), once(Some(1.8))));
        assert_eq!(all[2], None, "it starts at random");
        let rate = rate(&plan.cases[0].network, &recording, 0, (30, 40));
        assert!((rate - 1000.0 * 1448.0 * 8e-6).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn the_time_to_use_freed_capacity_by_hand() {
        let experiment = Experiment::parse(FILE, "a.toml", Path::new("")).expect("is sound");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        let plan = plan.expect("is sound");
        // The second ends at 20 s; the first continues with half for 1 s, then has it all: the window of
        // 1 s that ends 1.8 s later has nine tenths of it.
        let recording = |after: &[(u64, u64)]| Recording {
            flows: vec![
                samples(&[&[(100, 100), (100, 50)], after].concat()),
                samples(&[(100, 0), (100, 50), (100, 0)]),
                samples(&[(300, 0)]),
            ],
            links: vec![Vec::new()],
            pace: step(Span::from_secs(1)),
        };
        let times = claims(&plan.cases[0], &recording(&[(10, 50), (90, 100)]));
        let first = times[0].expect("it claims it");
        assert!((first - 1.8 / 0.05).abs() < 1e-9, "{first} RTTs");
        assert_eq!(times[1..], [None, None], "no flow ended beside them");
        assert_eq!(claims(&plan.cases[0], &recording(&[(100, 50)]))[0], None, "it gained nothing");
    }

    #[test]
    fn a_flow_that_never_settles_is_reported() {
        let experiment = Experiment::parse(FILE, "a.toml", Path::new("")).expect("is sound");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        let plan = plan.expect("is sound");
        let recording = Recording {
            flows: vec![
                samples(&[(100, 100), (100, 90), (100, 100)]),
                samples(&[(100, 0), (100, 10), (100, 0)]),
                samples(&[(300, 0)]),
            ],
            links: vec![Vec::new()],
            pace: step(Span::from_secs(1)),
        };
        let second = convergence(&plan.cases[0], &recording)[1];
        assert_eq!(second, Some(Convergence { starts: 1, settled: 0, longest_s: None }));
    }
}
