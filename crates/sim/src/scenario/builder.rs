//! [`ScenarioBuilder`]: builds a [`Scenario`], for files, command options and programs.

use super::{DEFAULT_PACKET_SIZE, FlowGroup, Places, Scenario, SeriesSpec};
use crate::active::MeasuredOver;
use crate::network::{Host, LinkSpec};
use crate::traffic::{OnOff, Traffic};
use exm_grammar::{Buffer, Source};
use exm_units::{Bytes, Span};
use std::path::{Path, PathBuf};

/// Builds a [`Scenario`]. Links and groups of flows are numbered in the order in which they are
/// added.
///
/// ```
/// use exm_grammar::Buffer;
/// use exm_link::Service;
/// use exm_sim::network::LinkSpec;
/// use exm_sim::scenario::{FlowGroup, Scenario};
/// use exm_units::{Rate, Span};
///
/// let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(20.0)));
/// let scenario = Scenario::builder(Span::from_secs(10))
///     .link(link, Buffer::Bdp(1.0))
///     .flow(FlowGroup::new("cubic", Span::from_millis(100)).count(2))
///     .build();
/// let network = scenario.network(&mut |name, _| Err(format!("there is no table {name}")))?;
/// assert_eq!(network.flows().len(), 2);
/// # Ok::<(), exm_grammar::FileError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it describes a scenario: build it"]
pub struct ScenarioBuilder {
    scenario: Scenario,
    buffers: Vec<Buffer>,
    packet_size: Bytes,
}

impl Scenario {
    /// A scenario of `duration` without links and flows, with seed 1.
    pub fn builder(duration: Span) -> ScenarioBuilder {
        let scenario = Scenario {
            title: None,
            seed: 1,
            duration,
            warm_up: Span::ZERO,
            over: MeasuredOver::default(),
            links: Vec::new(),
            flows: Vec::new(),
            series: None,
            dir: PathBuf::new(),
            source: Source { file: "the scenario".to_owned(), text: String::new() },
            places: Places::default(),
        };
        ScenarioBuilder { scenario, buffers: Vec::new(), packet_size: DEFAULT_PACKET_SIZE }
    }
}

impl ScenarioBuilder {
    /// Adds a link whose queue is limited to `buffer`; a multiple of the BDP is one of the longest
    /// round trip of the flows across the link.
    pub fn link(mut self, link: LinkSpec, buffer: impl Into<Buffer>) -> ScenarioBuilder {
        self.scenario.links.push(link);
        self.buffers.push(buffer.into());
        self
    }

    /// Adds a group of equal flows.
    pub fn flow(mut self, group: FlowGroup) -> ScenarioBuilder {
        self.scenario.flows.push(group);
        self
    }

    /// Sets the title.
    pub fn title(mut self, title: impl Into<String>) -> ScenarioBuilder {
        self.scenario.title = Some(title.into());
        self
    }

    /// Sets the random seed.
    pub fn seed(mut self, seed: u64) -> ScenarioBuilder {
        self.scenario.seed = seed;
        self
    }

    /// Sets how much time to skip before end-to-end delays are measured.
    pub fn warm_up(mut self, warm_up: Span) -> ScenarioBuilder {
        self.scenario.warm_up = warm_up;
        self
    }

    /// Sets over what time throughput is measured.
    pub fn measured_over(mut self, over: MeasuredOver) -> ScenarioBuilder {
        self.scenario.over = over;
        self
    }

    /// Sets the time series to record.
    pub fn series(mut self, series: SeriesSpec) -> ScenarioBuilder {
        self.scenario.series = Some(series);
        self
    }

    /// Sets the size of the packets in which multiples of the BDP are counted.
    pub fn packet_size(mut self, packet_size: Bytes) -> ScenarioBuilder {
        self.packet_size = packet_size;
        self
    }

    /// Sets the directory from which the paths of controllers start.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> ScenarioBuilder {
        self.scenario.dir = dir.into();
        self
    }

    /// The scenario, with the limit of each queue.
    pub fn build(self) -> Scenario {
        let ScenarioBuilder { mut scenario, buffers, packet_size } = self;
        let flows = &scenario.flows;
        for (index, (link, buffer)) in scenario.links.iter_mut().zip(buffers).enumerate() {
            let crosses = |group: &&FlowGroup| group.crossed().any(|link| link == index);
            let rtt = flows.iter().filter(crosses).map(|group| group.rtt).max();
            let rtt = rtt.unwrap_or(Span::ZERO);
            link.buffer = buffer.limit(link.service.rate(), rtt, packet_size);
        }
        scenario
    }

    /// As [`ScenarioBuilder::build`], for a scenario read from `source` in `dir`, with the `places` of its
    /// values.
    pub(super) fn read_from(self, source: Source, dir: &Path, places: Places) -> Scenario {
        Scenario { source, places, dir: dir.to_owned(), ..self.build() }
    }
}

impl FlowGroup {
    /// A flow by the controller called `controller`, or by the rule table in the file of that path, with
    /// a round-trip propagation delay of `rtt`: over link 0 by TCP, always on, unless set otherwise.
    pub fn new(controller: impl Into<String>, rtt: Span) -> FlowGroup {
        FlowGroup {
            name: "sender".to_owned(),
            path: vec![0],
            back: Vec::new(),
            rtt,
            count: 1,
            controller: controller.into(),
            traffic: OnOff::always().into(),
            packet_size: DEFAULT_PACKET_SIZE,
            host: Host::default(),
            timer: None,
            tcp: exm_tcp::Settings::default(),
            sprout: exm_sprout::Settings::default(),
            duplex: false,
            foresight: None,
        }
    }

    /// Sets whether the receivers always have data to send as well.
    #[must_use]
    pub fn duplex(self, duplex: bool) -> FlowGroup {
        FlowGroup { duplex, ..self }
    }

    /// Sets how long ahead the receivers know the first link.
    #[must_use]
    pub fn foresight(self, foresight: Span) -> FlowGroup {
        FlowGroup { foresight: Some(foresight), ..self }
    }

    /// Sets its name in reports.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> FlowGroup {
        FlowGroup { name: name.into(), ..self }
    }

    /// Sets the links that the flows cross, by number.
    #[must_use]
    pub fn path(self, links: impl Into<Vec<usize>>) -> FlowGroup {
        FlowGroup { path: links.into(), ..self }
    }

    /// Sets the links that their ACKs cross, by number.
    #[must_use]
    pub fn back(self, links: impl Into<Vec<usize>>) -> FlowGroup {
        FlowGroup { back: links.into(), ..self }
    }

    /// Sets how many there are.
    #[must_use]
    pub fn count(self, count: usize) -> FlowGroup {
        FlowGroup { count, ..self }
    }

    /// Sets when they are on, and how much they send.
    #[must_use]
    pub fn traffic(self, traffic: impl Into<Traffic>) -> FlowGroup {
        FlowGroup { traffic: traffic.into(), ..self }
    }

    /// Sets the size of their packets.
    #[must_use]
    pub fn packet_size(self, packet_size: Bytes) -> FlowGroup {
        FlowGroup { packet_size, ..self }
    }

    /// Sets their host.
    #[must_use]
    pub fn host(self, host: Host) -> FlowGroup {
        FlowGroup { host, ..self }
    }

    /// Sets whether a bare sender keeps a retransmission timer.
    #[must_use]
    pub fn timer(self, timer: bool) -> FlowGroup {
        FlowGroup { timer: Some(timer), ..self }
    }

    /// Sets their settings of TCP.
    #[must_use]
    pub fn tcp(self, tcp: exm_tcp::Settings) -> FlowGroup {
        FlowGroup { tcp, ..self }
    }

    /// The links that their packets or their ACKs cross.
    pub(super) fn crossed(&self) -> impl Iterator<Item = usize> {
        self.path.iter().chain(&self.back).copied()
    }
}
