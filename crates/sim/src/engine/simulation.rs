//! [`Simulation`]: a simulation that its caller steps and changes.

use super::event_loop::Engine;
use super::observer::{FlowSample, LinkSample, Observer, SproutSample};
use super::packets::PacketSample;
use crate::controllers::AnyController;
use crate::metrics::Report;
use crate::network::{FlowSpec, LinkSpec, Network, NetworkError};
use crate::traffic::Traffic;
use exm_cc::Decision;
use exm_link::{Limit, QueueKind, Service};
use exm_random::{Purpose, Stream};
use exm_remy::RemyCc;
use exm_units::{Instant, Probability, Rate, Span};

/// A simulation that its caller drives: step by step, up to a time, or to its end; between steps its
/// network can be changed.
///
/// Without changes it gives the same report as [`run`](super::run), to the bit. With changes, the result
/// depends only on the network, the seed, the changes and their times. A clone is a snapshot: it
/// continues from the same state, independently.
///
/// A change takes effect at [`now`](Simulation::now), before any event still due at that instant. After
/// [`run_until`](Simulation::run_until) that is every event at that time.
///
/// ```
/// use exm_link::{Limit, Service};
/// use exm_sim::controllers::AnyController;
/// use exm_sim::engine::Simulation;
/// use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
/// use exm_units::{Instant, Packets, Rate, Span};
///
/// let rate = Service::Fixed(Rate::from_mbps(10.0));
/// let link = LinkSpec::bottleneck(rate, Limit::Packets(Packets::new(100)));
/// let cubic = Host::Tcp.transport(AnyController::named("cubic").unwrap());
/// let flow = FlowSpec::new(cubic).extra_delay(Span::from_millis(100));
/// let network = Network::new(vec![link], vec![flow], Span::from_secs(60))?;
///
/// let mut simulation = Simulation::new(network, 1);
/// simulation.run_until(Instant::ZERO + Span::from_secs(30));
/// let before = simulation.report().flows[0].bytes;
/// simulation.set_rate(0, Rate::from_mbps(2.0))?;
/// let report = simulation.finish();
/// assert!((report.flows[0].bytes - before).get() < before.get() / 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation<O = ()> {
    network: Network,
    seed: u64,
    engine: Engine<O, true>,
}

/// Why a simulation could not be changed. The simulation is unaffected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no such link.
    #[error("there is no link {link}: the network has {links}, numbered from 0")]
    NoSuchLink {
        /// The requested number.
        link: usize,
        /// The number of links.
        links: usize,
    },
    /// There is no such flow.
    #[error("there is no flow {flow}: the network has {flows}, numbered from 0")]
    NoSuchFlow {
        /// The requested number.
        flow: usize,
        /// The number of flows.
        flows: usize,
    },
    /// The link follows a trace, and has no rate of its own.
    #[error("link {link} follows a trace: only a link of fixed rate can be given another rate")]
    FollowsTrace {
        /// The link.
        link: usize,
    },
    /// The sender runs Sprout, which has no controller.
    #[error("flow {flow} is Sprout's, which has no congestion controller to replace")]
    NoController {
        /// The flow.
        flow: usize,
    },
    /// The sender's controller is not a RemyCC of the same signals.
    #[error("flow {flow} is not a RemyCC of the same signals, so it cannot follow these rules")]
    NoRuleTable {
        /// The flow.
        flow: usize,
    },
    /// A queue that cannot be built.
    #[error("{0}")]
    Queue(exm_link::ImpossibleSetting),
    /// A value that no network can have.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl Simulation {
    /// A simulation of `network` at its start, with random numbers drawn from `seed`.
    pub fn new(network: Network, seed: u64) -> Simulation {
        Simulation::observed(network, seed, ())
    }
}

impl<O: Observer> Simulation<O> {
    /// As [`Simulation::new`], watched by `observer`.
    pub fn observed(network: Network, seed: u64, observer: O) -> Simulation<O> {
        let engine = Engine::new(&network, seed, observer);
        Simulation { network, seed, engine }
    }

    /// The current simulated time.
    pub fn now(&self) -> Instant {
        self.engine.now
    }

    /// The end of the simulation.
    pub fn end(&self) -> Instant {
        self.engine.end
    }

    /// The network, with all changes so far.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.engine.observer
    }

    /// The observer, mutably.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.engine.observer
    }

    /// When the next event is due; none if nothing more happens before the end.
    pub fn next_event(&self) -> Option<Instant> {
        self.engine.next_event()
    }

    /// Processes the next event, and returns its time; none if nothing more happens before the end, which
    /// is then the current time.
    pub fn step(&mut self) -> Option<Instant> {
        let at = self.engine.next_event();
        if at.is_some() {
            self.engine.step();
        } else {
            self.engine.now = self.engine.end;
        }
        at
    }

    /// Processes all events before `until`, or before the end if that is earlier. A time in the past
    /// changes nothing.
    pub fn run_until(&mut self, until: Instant) {
        self.engine.run_until(until.clamp(self.engine.now, self.engine.end));
    }

    /// Runs to the end, and returns the measurements.
    pub fn finish(mut self) -> Report {
        self.run_until(self.engine.end);
        self.report()
    }

    /// The measurements so far. A packet whose transmission has begun counts as transmitted.
    /// [`FlowReport::bottleneck`](crate::metrics::FlowReport::bottleneck) is that of the present network.
    pub fn report(&self) -> Report {
        self.engine.report(&self.network, self.seed)
    }

    /// The present state of flow `flow`; none if there is no such flow.
    pub fn flow(&self, flow: usize) -> Option<FlowSample> {
        Some(self.engine.hosts.get(flow)?.sample(self.now(), flow))
    }

    /// How long flow `flow` was on so far; zero if there is no such flow.
    pub fn on_time(&self, flow: usize) -> Span {
        self.engine.hosts.get(flow).map_or(Span::ZERO, |host| host.periods().on_time(self.now()))
    }

    /// The present state of link `link`; none if there is no such link.
    pub fn link(&self, link: usize) -> Option<LinkSample> {
        Some(self.engine.links.get(link)?.sample(self.now(), link))
    }

    /// Every packet in the network now: all that were sent and neither delivered, dropped nor lost. By link,
    /// the packets that wait, in the order in which they would leave, those in transmission and those on
    /// their way to another link; then, by flow, those past their last links.
    pub fn packets(&self) -> Vec<PacketSample> {
        self.engine.packets(&self.network)
    }

    /// The present state of the Sprout session of flow `flow`; none if there is no such flow, or it does
    /// not run Sprout. While the flow is off, it is the state in which the last on-period ended.
    pub fn sprout(&self, flow: usize) -> Option<SproutSample> {
        self.engine.hosts.get(flow)?.sample_sprout(self.now(), flow)
    }

    /// Sets the rate of link `link`, which must have a fixed rate. A packet in transmission still leaves
    /// at its previously computed time.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such link, it follows a trace, or the rate is zero.
    pub fn set_rate(&mut self, link: usize, rate: Rate) -> Result<(), ChangeError> {
        if let Service::Trace(_) = self.link_spec(link)?.service {
            return Err(ChangeError::FollowsTrace { link });
        }
        self.change_link(link, |spec| spec.service = Service::Fixed(rate))?;
        self.engine.links[link].set_rate(rate);
        Ok(())
    }

    /// Sets the propagation delay of link `link` for packets that leave it from now on. They do not
    /// overtake packets that left before.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such link, or the delay is too long.
    pub fn set_delay(&mut self, link: usize, delay: Span) -> Result<(), ChangeError> {
        self.change_link(link, |spec| spec.delay = delay)?;
        self.engine.links[link].delay = delay;
        for (host, spec) in self.engine.hosts.iter_mut().zip(self.network.flows()) {
            host.set_delays(spec, self.network.links());
        }
        Ok(())
    }

    /// Sets the propagation delay of flow `flow` after the last link ([`FlowSpec::extra_delay`]) for
    /// packets that leave that link from now on. They do not overtake packets that left before.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such flow, or the delay is too long.
    pub fn set_extra_delay(&mut self, flow: usize, delay: Span) -> Result<(), ChangeError> {
        self.change_flow(flow, |spec| spec.extra_delay = delay)?;
        let spec = &self.network.flows()[flow];
        self.engine.hosts[flow].set_delays(spec, self.network.links());
        Ok(())
    }

    /// Limits the queue of link `link` to `buffer`. Packets already waiting stay, even beyond it.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such link, or no packet would ever pass.
    pub fn set_buffer(&mut self, link: usize, buffer: Limit) -> Result<(), ChangeError> {
        self.change_link(link, |spec| spec.buffer = buffer)?;
        self.engine.links[link].set_limit(buffer);
        Ok(())
    }

    /// Replaces the queue discipline of link `link` by `queue`. The waiting packets move to it in the
    /// order in which the old one releases them.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such link, or the queue cannot be built.
    pub fn set_queue(&mut self, link: usize, queue: QueueKind) -> Result<(), ChangeError> {
        queue.check().map_err(ChangeError::Queue)?;
        self.change_link(link, |spec| spec.queue = queue)?;
        let spec = &self.network.links()[link];
        let stream = Stream::new(self.seed, Purpose::Queue, link);
        let queue = spec.queue.build_for(&spec.service, spec.buffer, stream);
        let now = self.engine.now;
        self.engine.links[link].set_queue(now, queue, &mut self.engine.actions);
        self.engine.read_actions(link);
        Ok(())
    }

    /// Sets the random loss of link `link` to `probability`.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such link.
    pub fn set_loss(&mut self, link: usize, probability: Probability) -> Result<(), ChangeError> {
        self.change_link(link, |spec| spec.loss = probability)?;
        self.engine.links[link].set_loss(probability);
        Ok(())
    }

    /// Replaces the controller of flow `flow`, which starts as at the start of a flow. Packets in flight
    /// stay in flight, and a TCP connection continues.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such flow, or it runs Sprout.
    pub fn set_controller(
        &mut self,
        flow: usize,
        controller: AnyController,
    ) -> Result<(), ChangeError> {
        if self.flow_spec(flow)?.transport.controller().is_none() {
            return Err(ChangeError::NoController { flow });
        }
        let own = controller.clone();
        self.change_flow(flow, |spec| {
            if let Some(controller) = spec.transport.controller_mut() {
                *controller = own;
            }
        })?;
        let seed = Stream::new(self.seed, Purpose::Controller, flow).seed();
        self.engine.hosts[flow].set_controller(self.engine.now, controller.seeded(seed));
        self.engine.plan(flow);
        Ok(())
    }

    /// The controller of flow `flow`, to be changed in place; none if there is no such flow, or it runs Sprout. What it
    /// decides comes into force at its next event, or by [`Simulation::set_decision`].
    pub fn controller_mut(&mut self, flow: usize) -> Option<&mut AnyController> {
        self.engine.hosts.get_mut(flow)?.controller_mut()
    }

    /// Puts `decision` in force for flow `flow`, as if its controller had made it now: for decisions that are
    /// made outside the simulation. It holds until the controller's next one.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such flow, or it runs Sprout.
    pub fn set_decision(&mut self, flow: usize, decision: Decision) -> Result<(), ChangeError> {
        if self.flow_spec(flow)?.transport.controller().is_none() {
            return Err(ChangeError::NoController { flow });
        }
        self.engine.hosts[flow].set_decision(decision);
        self.engine.plan(flow);
        Ok(())
    }

    /// Lets flow `flow`, a RemyCC, follow the table of `other` from its next ACK on. Unlike with
    /// [`Simulation::set_controller`], it keeps its memory and its window.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such flow, or it is not a RemyCC of the same signals.
    pub fn set_rule_table(&mut self, flow: usize, other: &RemyCc) -> Result<(), ChangeError> {
        let follows = |controller: Option<&mut AnyController>| {
            controller.and_then(AnyController::as_remy_mut).is_some_and(|remy| remy.follow(other))
        };
        self.flow_spec(flow)?;
        let mut follows_now = false;
        self.change_flow(flow, |spec| follows_now = follows(spec.transport.controller_mut()))?;
        if !follows_now {
            return Err(ChangeError::NoRuleTable { flow });
        }
        follows(self.engine.hosts[flow].controller_mut());
        Ok(())
    }

    /// Replaces the traffic of sender `flow`, as at the start of a simulation: a flow that is on ends
    /// now, and [`Traffic::none`] silences the sender.
    ///
    /// # Errors
    /// [`ChangeError`] if there is no such flow, or the traffic is impossible.
    pub fn set_traffic(
        &mut self,
        flow: usize,
        traffic: impl Into<Traffic>,
    ) -> Result<(), ChangeError> {
        let traffic = traffic.into();
        self.change_flow(flow, |spec| spec.traffic = traffic.clone())?;
        let host = &mut self.engine.hosts[flow];
        host.set_traffic(self.engine.now, traffic);
        if host.is_on() {
            self.engine.switch_off(flow);
        }
        self.engine.plan(flow);
        Ok(())
    }

    fn link_spec(&self, link: usize) -> Result<&LinkSpec, ChangeError> {
        let links = self.network.links();
        links.get(link).ok_or(ChangeError::NoSuchLink { link, links: links.len() })
    }

    fn flow_spec(&self, flow: usize) -> Result<&FlowSpec, ChangeError> {
        let flows = self.network.flows();
        flows.get(flow).ok_or(ChangeError::NoSuchFlow { flow, flows: flows.len() })
    }

    fn change_link(
        &mut self,
        link: usize,
        change: impl FnOnce(&mut LinkSpec),
    ) -> Result<(), ChangeError> {
        self.link_spec(link)?;
        self.network = self.network.clone().changed(|links, _| change(&mut links[link]))?;
        Ok(())
    }

    fn change_flow(
        &mut self,
        flow: usize,
        change: impl FnOnce(&mut FlowSpec),
    ) -> Result<(), ChangeError> {
        self.flow_spec(flow)?;
        self.network = self.network.clone().changed(|_, flows| change(&mut flows[flow]))?;
        Ok(())
    }
}
