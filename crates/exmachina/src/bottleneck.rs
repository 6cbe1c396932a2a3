//! [`Bottleneck`]: the network that most questions are about, in a few calls.

use exm_grammar::{Buffer, suggest};
use exm_link::{Aggregation, BlockErrors, Limit, QueueKind, Reordering, Service, Timing};
use exm_random::Distribution;
use exm_sim::builtin::{Builtin, BuiltinError};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::metrics::Report;
use exm_sim::network::{Host, LinkSpec, Network, NetworkError, Transport};
use exm_sim::scenario::{FlowGroup, Scenario, ScenarioBuilder};
use exm_sim::traffic::{OnOff, Traffic};
use exm_units::{Packets, Probability, Rate, Span};

/// The buffer unless another is set, as of `exm simulate`.
const DEFAULT_BUFFER: Limit = Limit::Packets(Packets::new(1000));

/// One link that all flows share: a drop-tail queue of 1000 packets, and no random loss, unless set
/// otherwise. ACKs return unhindered.
///
/// For any other graph of links see [`Network`] and [`Scenario::builder`].
#[derive(Clone, Debug)]
#[must_use = "it describes a network: simulate it"]
pub struct Bottleneck {
    link: LinkSpec,
    buffer: Buffer,
    rtt: Span,
    flows: Vec<Flow>,
    seed: u64,
}

/// A flow that crosses a [`Bottleneck`]: its controller, over TCP and always on unless set otherwise.
///
/// ```
/// use exmachina::prelude::*;
///
/// let web = Flow::new("cubic").rtt(Span::from_millis(30)).traffic(OnOff {
///     on: OnFor::Bytes(Distribution::Exponential { mean: 100e3 }),
///     off: Distribution::Exponential { mean: 0.5 },
/// });
/// let link = Bottleneck::new(Rate::from_mbps(20.0), Span::from_millis(100)).flow("bbr").flow(web);
/// let report = link.simulate(Span::from_secs(10))?;
/// assert!(report.flows[1].completion.count() > 0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it describes a flow: add it to a bottleneck"]
pub struct Flow {
    controller: FlowController,
    host: Host,
    rtt: Option<Span>,
    traffic: Traffic,
}

#[derive(Clone, Debug)]
enum FlowController {
    Named(String),
    Given(Box<AnyController>),
}

/// Why a [`Bottleneck`] cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A controller does not have a parameter, or not with this value.
    #[error(transparent)]
    Parameter(#[from] BuiltinError),
    /// No controller has the name of a flow's.
    #[error("there is no controller \"{name}\": {suggestion}")]
    UnknownController {
        /// The name.
        name: String,
        /// Which one may be meant, or all that there are.
        suggestion: String,
    },
    /// A number that no network can have.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A controller from outside failed during the simulation.
    #[error("{0}")]
    ControllerFailed(exm_cc::Failure),
}

impl Bottleneck {
    /// A link of `rate` without flows; those that are added have a round-trip propagation delay of
    /// `rtt`.
    pub fn new(rate: Rate, rtt: Span) -> Bottleneck {
        let link = LinkSpec::new(Service::Fixed(rate));
        Bottleneck { link, buffer: DEFAULT_BUFFER.into(), rtt, flows: Vec::new(), seed: 1 }
    }

    /// Adds a flow: the name of a controller, a controller, or a whole [`Flow`].
    pub fn flow(mut self, flow: impl Into<Flow>) -> Bottleneck {
        self.flows.push(flow.into());
        self
    }

    /// Sets how much may wait at the link: a [`Limit`], or a multiple of the BDP of the longest round trip.
    pub fn buffer(mut self, buffer: impl Into<Buffer>) -> Bottleneck {
        self.buffer = buffer.into();
        self
    }

    /// Sets the queue discipline.
    pub fn queue(mut self, queue: QueueKind) -> Bottleneck {
        self.link.queue = queue;
        self
    }

    /// Sets the probability that the link loses a packet at random.
    pub fn loss(mut self, probability: Probability) -> Bottleneck {
        self.link.loss = probability;
        self
    }

    /// Sets what is added to the propagation delay of each packet, in seconds; packets keep their order.
    pub fn jitter(mut self, jitter: Distribution) -> Bottleneck {
        self.link.jitter = jitter;
        self
    }

    /// Sets which packets the link holds back, so that others overtake them.
    pub fn reordering(mut self, reordering: Reordering) -> Bottleneck {
        self.link.reordering = reordering;
        self
    }

    /// Lets the link transmit packets in frames, as Wi-Fi does.
    pub fn aggregation(mut self, aggregation: Aggregation) -> Bottleneck {
        self.link.aggregation = Some(aggregation);
        self
    }

    /// Lets blocks fail and arrive later, with all packets behind them, as on cellular links.
    pub fn block_errors(mut self, block_errors: BlockErrors) -> Bottleneck {
        self.link.block_errors = Some(block_errors);
        self
    }

    /// Lets the link's rate, delay and loss change by the clock.
    pub fn timing(mut self, timing: Timing) -> Bottleneck {
        self.link.timing = Some(timing);
        self
    }

    /// Sets the random seed of [`Bottleneck::simulate`], which is 1 unless set.
    pub fn seed(mut self, seed: u64) -> Bottleneck {
        self.seed = seed;
        self
    }

    /// The network, to be simulated for `duration`: for [`Simulation`](exm_sim::engine::Simulation),
    /// which can be stepped, observed and changed.
    ///
    /// # Errors
    /// [`Error`] where there is no flow, a controller is not known, or a number is impossible.
    pub fn network(&self, duration: Span) -> Result<Network, Error> {
        let transports = self.flows.iter().map(Flow::transport);
        let transports = transports.collect::<Result<Vec<Transport>, Error>>()?;
        Ok(self.scenario(duration).network_of(transports)?)
    }

    /// Simulates `duration`, and returns what was measured: of flows in the order in which they were
    /// added, and of the link.
    ///
    /// # Errors
    /// As of [`Bottleneck::network`], and if a controller fails.
    pub fn simulate(&self, duration: Span) -> Result<Report, Error> {
        let report = engine::run(&self.network(duration)?, self.seed);
        match report.failure() {
            Some(failure) => Err(Error::ControllerFailed(failure.clone())),
            None => Ok(report),
        }
    }

    /// The link and a group for each flow.
    fn scenario(&self, duration: Span) -> Scenario {
        let builder = Scenario::builder(duration).link(self.link.clone(), self.buffer);
        let flows = self.flows.iter().map(|flow| {
            let rtt = flow.rtt.unwrap_or(self.rtt);
            FlowGroup::new(flow.name(), rtt).name(flow.name()).traffic(flow.traffic.clone())
        });
        flows.fold(builder, ScenarioBuilder::flow).build()
    }
}

impl Flow {
    /// A flow by the controller called `name`: a [`Builtin`], with parameters after its name, such as
    /// `"cubic beta=0.8"`, or, with the feature `design`, a rule table that comes with it.
    pub fn new(name: impl Into<String>) -> Flow {
        Flow::by(FlowController::Named(name.into()))
    }

    fn by(controller: FlowController) -> Flow {
        Flow { controller, host: Host::Tcp, rtt: None, traffic: OnOff::always().into() }
    }

    /// Sets what the controller runs on: TCP, or the bare sender that RemyCCs are trained on. Sprout
    /// is a transport of its own, and takes no notice.
    pub fn host(mut self, host: Host) -> Flow {
        self.host = host;
        self
    }

    /// Sets a round-trip propagation delay other than the [`Bottleneck`]'s.
    pub fn rtt(mut self, rtt: Span) -> Flow {
        self.rtt = Some(rtt);
        self
    }

    /// Sets when there is something to send.
    pub fn traffic(mut self, traffic: impl Into<Traffic>) -> Flow {
        self.traffic = traffic.into();
        self
    }

    /// Its name in errors.
    fn name(&self) -> &str {
        match &self.controller {
            FlowController::Named(name) => name,
            FlowController::Given(_) => "flow",
        }
    }

    fn transport(&self) -> Result<Transport, Error> {
        match &self.controller {
            FlowController::Given(controller) => {
                Ok(self.host.transport(AnyController::clone(controller)))
            }
            FlowController::Named(text) => match Builtin::parse(text)? {
                Some(builtin) => Ok(builtin.transport(self.host)),
                None => Ok(self.host.transport(table(text)?)),
            },
        }
    }
}

impl From<&str> for Flow {
    fn from(name: &str) -> Flow {
        Flow::new(name)
    }
}

impl From<AnyController> for Flow {
    fn from(controller: AnyController) -> Flow {
        Flow::by(FlowController::Given(Box::new(controller)))
    }
}

/// The controller of the rule table called `name`.
fn table(name: &str) -> Result<AnyController, Error> {
    #[cfg(feature = "design")]
    if let Some(file) = exm_design::shipped::table(name) {
        return Ok(exm_remy::RemyCc::new(&file.table).into());
    }
    let names = Builtin::names();
    #[cfg(feature = "design")]
    let names = names.chain(exm_design::shipped::TABLES.iter().map(|&(name, _)| name));
    let names: Vec<&str> = names.collect();
    // Of a misspelt "cubci beta=0.8" the first word is the name.
    let name = if name.contains('=') { name.split(' ').next().unwrap_or(name) } else { name };
    Err(Error::UnknownController { name: name.to_owned(), suggestion: suggest(name, &names) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Span = Span::from_secs(20);

    fn link() -> Bottleneck {
        Bottleneck::new(Rate::from_mbps(10.0), Span::from_millis(50))
    }

    #[test]
    fn every_controller_is_known_by_its_name() {
        let names = Builtin::names();
        #[cfg(feature = "design")]
        let names = names.chain(exm_design::shipped::TABLES.iter().map(|&(name, _)| name));
        for name in names {
            let report = link().flow(name).simulate(Span::from_secs(3)).unwrap();
            assert!(report.flows[0].delivered > 0, "{name}");
        }
    }

    #[test]
    fn parameters_follow_a_name() {
        let of = |name: &str| link().flow(name).simulate(TIME);
        assert_eq!(of("cubic beta=0.7,c=0.4"), of("cubic"));
        assert_ne!(of("cubic beta=0.9"), of("cubic"));
        assert_ne!(of("sprout risk=0.4"), of("sprout"));
        let error = of("cubic beta=9").unwrap_err();
        assert!(matches!(error, Error::Parameter(BuiltinError::BadValue { .. })), "{error}");
        let error = of("cubci beta=0.9").unwrap_err().to_string();
        assert_eq!(error, "there is no controller \"cubci\": did you mean \"cubic\"?");
    }

    #[test]
    fn two_flows_share_the_link() {
        let report = link().flow("cubic").flow("cubic").simulate(TIME).unwrap();
        let rates = report.flows.iter().map(|flow| flow.throughput().unwrap().as_mbps());
        let sum: f64 = rates.sum();
        // 52 of 1500 bytes are headers.
        assert!((9.0..10.0 * 1448.0 / 1500.0).contains(&sum), "{sum}");
    }

    #[test]
    fn what_is_set_has_its_effect() {
        let usual = link().flow("cubic").simulate(TIME).unwrap();
        let small = link().buffer(Limit::Packets(Packets::new(20))).flow("cubic");
        assert!(small.simulate(TIME).unwrap().links[0].dropped > 0);
        let bdp = |times| link().buffer(Buffer::Bdp(times)).flow("cubic").simulate(TIME).unwrap();
        let [shallow, deep] = [0.5, 4.0].map(|times| bdp(times).flows[0].rtt.mean().unwrap());
        assert!(shallow < deep, "{shallow} {deep}");
        let queue = QueueKind::named("codel").unwrap();
        let codel = link().queue(queue).flow("cubic").simulate(TIME).unwrap();
        assert!(codel.flows[0].rtt.mean() < usual.flows[0].rtt.mean());
        let lossy = link().loss(Probability::new(0.01).unwrap()).flow("cubic");
        let [one, other] = [1, 2].map(|seed| lossy.clone().seed(seed).simulate(TIME).unwrap());
        assert!(one.flows[0].lost > 0 && one != other);
        let far = link().flow(Flow::new("cubic").rtt(Span::from_millis(300)));
        let far = far.simulate(TIME).unwrap().flows[0].rtt.mean().unwrap();
        assert!(far > Span::from_millis(300), "{far}");
        let bare = link().flow(Flow::new("aimd").host(Host::Bare)).simulate(TIME).unwrap();
        assert_eq!(bare.flows[0].retransmitted, 0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = link().flow("cubci").simulate(TIME).unwrap_err();
        assert_eq!(error.to_string(), "there is no controller \"cubci\": did you mean \"cubic\"?");
        assert_eq!(link().simulate(TIME).unwrap_err(), Error::Network(NetworkError::NoFlows));
    }
}
