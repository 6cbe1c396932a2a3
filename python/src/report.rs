//! The results of a simulation as columns: bit/s, seconds, bytes and packets.

use crate::columns::Columns;
use crate::error::error;
use exmachina::sim::engine::{FlowSample, LinkSample, Observer, Pace};
use exmachina::sim::metrics::{FlowReport, Histogram, LinkReport, Report};
use exmachina::sim::network::Network;
use exmachina::sim::scenario::{FlowGroup, Scenario};
use exmachina::sim::traffic::OnFor;
use exmachina::units::{Instant, Span};
use pyo3::PyResult;

/// Seconds, to the nearest double.
pub(crate) fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// The names of the flows: of its group, with a number in a group of several.
pub(crate) fn flow_names(scenario: &Scenario) -> Vec<String> {
    let named = |group: &FlowGroup, number: usize| match group.count {
        1 => group.name.clone(),
        _ => format!("{} {number}", group.name),
    };
    let groups = scenario.flows.iter();
    groups.flat_map(|group| (1..=group.count).map(move |number| named(group, number))).collect()
}

/// What is known of a flow besides its results.
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) controller: String,
    /// The propagation RTT.
    pub(crate) rtt: Span,
}

/// What `scenario` says of its flows.
pub(crate) fn known(scenario: &Scenario) -> Vec<Known> {
    let groups = scenario.flows.iter().flat_map(|group| vec![group; group.count]);
    let known = |(name, group): (String, &FlowGroup)| Known {
        name,
        controller: group.controller.clone(),
        rtt: group.rtt,
    };
    flow_names(scenario).into_iter().zip(groups).map(known).collect()
}

/// A row for each flow of `network`, of which so much is `known`.
pub(crate) fn flows(known: &[Known], network: &Network, report: &Report) -> Columns {
    let mut columns = Columns::default();
    columns.texts("name", known.iter().map(|flow| flow.name.clone()));
    columns.texts("controller", known.iter().map(|flow| flow.controller.clone()));
    let hosts = network.flows().iter().map(|flow| flow.transport.host_name().to_owned());
    columns.texts("host", hosts);
    let rtts = known.iter().map(|flow| Some(seconds(flow.rtt)));
    columns.numbers("propagation_rtt_s", rtts);
    let flows = || report.flows.iter();
    columns.numbers("on_s", flows().map(|flow| Some(seconds(flow.on_time))));
    let rate = |flow: &FlowReport| flow.throughput().map(|rate| rate.as_bps() as f64);
    columns.numbers("throughput_bps", flows().map(rate));
    columns.numbers("share", flows().map(FlowReport::normalised_throughput));
    let ratios = flows().zip(known).map(|(flow, known)| flow.rtt_ratio(known.rtt));
    columns.numbers("rtt_ratio", ratios.map(|ratio| ratio.filter(|ratio| ratio.is_finite())));
    spread(&mut columns, ["rtt_mean_s", "rtt_median_s", "rtt_p95_s"], report, |f| &f.rtt);
    let names = ["queueing_delay_mean_s", "queueing_delay_median_s", "queueing_delay_p95_s"];
    spread(&mut columns, names, report, |flow| &flow.queueing_delay);
    columns.counts("sent", flows().map(|flow| flow.sent));
    columns.counts("delivered", flows().map(|flow| flow.delivered));
    columns.counts("bytes", flows().map(|flow| flow.bytes.get()));
    columns.counts("retransmitted", flows().map(|flow| flow.retransmitted));
    columns.counts("timeouts", flows().map(|flow| flow.timeouts));
    columns.counts("lost", flows().map(|flow| flow.lost));
    columns.counts("dropped", flows().map(FlowReport::dropped_in_all));
    let completed = flows().zip(network.flows()).map(|(flow, spec)| {
        let completes = matches!(spec.traffic.on(), OnFor::Packets(_) | OnFor::Bytes(_));
        completes.then(|| flow.completion.count() as f64)
    });
    columns.numbers("completed", completed);
    let names = ["completion_mean_s", "completion_median_s", "completion_p95_s"];
    spread(&mut columns, names, report, |flow| &flow.completion);
    let received = flows().map(|f| Some(f.end_to_end.as_ref()?.throughput.as_bps() as f64));
    columns.numbers("received_bps", received);
    let delay = |flow: &FlowReport| flow.end_to_end.as_ref()?.delay_95.map(seconds);
    columns.numbers("delay_p95_s", flows().map(delay));
    let own = flows().map(|flow| {
        let (scores, best) = (flow.end_to_end.as_ref()?, flow.omniscient.as_ref()?);
        scores.self_inflicted(best).map(seconds)
    });
    columns.numbers("self_inflicted_s", own);
    columns
}

/// The mean, the median and the 95th percentile of a distribution of times of each flow.
fn spread(
    columns: &mut Columns,
    [mean, median, p95]: [&'static str; 3],
    report: &Report,
    of: fn(&FlowReport) -> &Histogram,
) {
    let seconds = |span: Option<Span>| span.map(seconds);
    let times = || report.flows.iter().map(of);
    columns.numbers(mean, times().map(|times| seconds(times.mean())));
    columns.numbers(median, times().map(|times| seconds(times.percentile(50.0))));
    columns.numbers(p95, times().map(|times| seconds(times.percentile(95.0))));
}

/// A count of a link.
type Count = (&'static str, fn(&LinkReport) -> u64);

/// A row for each link.
pub(crate) fn links(report: &Report) -> Columns {
    let mut columns = Columns::default();
    let links = || report.links.iter();
    columns.texts("name", links().map(|link| link.name.clone()));
    columns.numbers("utilisation", links().map(|link| Some(link.utilisation)));
    columns.numbers("mean_queue_packets", links().map(|link| Some(link.mean_queue)));
    let counts: [Count; 6] = [
        ("max_queue_packets", |link| link.max_queue),
        ("arrived", |link| link.arrived),
        ("transmitted", |link| link.transmitted),
        ("dropped", |link| link.dropped),
        ("marked", |link| link.marked),
        ("lost", |link| link.lost),
    ];
    for (name, of) in counts {
        columns.counts(name, links().map(of));
    }
    columns
}

/// Records time series of flows and links.
#[derive(Clone)]
pub(crate) struct Series {
    every: Span,
    flows: Vec<FlowSample>,
    links: Vec<LinkSample>,
}

impl Series {
    /// Samples `every` so often.
    pub(crate) fn new(every: Span) -> PyResult<Series> {
        match every.is_zero() {
            true => Err(error("the sampling interval is zero: give one such as \"100 ms\"")),
            false => Ok(Series { every, flows: Vec::new(), links: Vec::new() }),
        }
    }

    /// The series of flows and of links, called by these names.
    pub(crate) fn columns(&self, flows: &[String], links: &[String]) -> [Columns; 2] {
        let (mut of_flows, mut of_links) = (Columns::default(), Columns::default());
        let samples = || self.flows.iter();
        of_flows
            .numbers("time_s", samples().map(|sample| Some(seconds(sample.at - Instant::ZERO))));
        of_flows.texts("flow", samples().map(|sample| flows[sample.flow].clone()));
        of_flows.counts("cwnd_packets", samples().map(|sample| sample.cwnd.get()));
        let intersend = samples().map(|sample| Some(seconds(sample.intersend)));
        of_flows.numbers("intersend_s", intersend);
        of_flows.counts("in_flight_packets", samples().map(|sample| sample.in_flight.get()));
        of_flows.counts("delivered", samples().map(|sample| sample.delivered));
        of_flows.numbers("rtt_s", samples().map(|sample| sample.rtt.map(seconds)));
        let samples = || self.links.iter();
        of_links
            .numbers("time_s", samples().map(|sample| Some(seconds(sample.at - Instant::ZERO))));
        of_links.texts("link", samples().map(|sample| links[sample.link].clone()));
        of_links.counts("queue_packets", samples().map(|sample| sample.packets));
        of_links.counts("queue_bytes", samples().map(|sample| sample.bytes));
        [of_flows, of_links]
    }
}

impl Observer for Series {
    fn pace(&self) -> Pace {
        Pace::Every(self.every)
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.flows.push(*sample);
    }

    fn link(&mut self, sample: &LinkSample) {
        self.links.push(*sample);
    }
}
