//! [`Source`] and [`Settings`]: where networks come from, and who learns on them.

use crate::reward::Reward;
use exm_design::{Layout, Model, Objective, Performance, Specimen};
use exm_policy::Interface;
use exm_sim::controllers::AnyController;
use exm_sim::network::{Host, Network, NetworkError, Transport};
use exm_units::Span;

/// Where an environment's networks come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Networks drawn from a model. Its designed senders learn, or some of them.
    Model(Box<Model>),
    /// One network; the flows with these numbers learn.
    Network {
        /// The network; the controllers of the learning flows are replaced.
        network: Box<Network>,
        /// The numbers of the flows that learn.
        flows: Vec<usize>,
    },
}

/// Which of a model's designed senders learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learners {
    /// The first one; the others run [`Settings::others`].
    First,
    /// All of them.
    All,
}

/// What learning flows observe, decide and get.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What they observe and decide, and how often.
    pub interface: Interface,
    /// What they are rewarded by.
    pub reward: Reward,
    /// Which senders learn.
    pub learners: Learners,
    /// The controller of a model's designed senders that do not learn.
    pub others: AnyController,
    /// The host of learning flows.
    pub host: Host,
    /// How long an episode lasts, instead of the model's simulated time.
    pub duration: Option<Span>,
}

/// Why an episode cannot begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResetError {
    /// The engine refuses the network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// No flow acts before the end.
    #[error(
        "no flow learns in any of {0} networks: it is never on for longer than the first interval; give a longer \
         duration"
    )]
    NobodyLearns(usize),
    /// There is no such flow.
    #[error("there is no flow {flow}: the network has {flows}, numbered from 0")]
    NoSuchFlow {
        /// The number.
        flow: usize,
        /// How many there are.
        flows: usize,
    },
    /// The flow is Sprout's.
    #[error("flow {0} is Sprout's, which has no controller to replace")]
    NoController(usize),
}

/// A network with its learners.
pub(crate) struct Drawn {
    pub(crate) network: Network,
    pub(crate) seed: u64,
    /// The numbers of the flows that learn.
    pub(crate) learners: Vec<usize>,
    /// The specimen's network, if it comes from a model.
    pub(crate) layout: Option<Layout>,
}

impl Source {
    /// Network number `number` of those of `seed`, where learning flows run `agent`.
    pub(crate) fn draw(
        &self,
        settings: &Settings,
        agent: &AnyController,
        seed: u64,
        number: u64,
    ) -> Result<Drawn, ResetError> {
        match self {
            Source::Model(model) => from_model(model, settings, agent, seed, number),
            Source::Network { network, flows } => {
                let seed = seed.wrapping_add(number);
                from_network(network, flows, settings, agent, seed)
            }
        }
    }

    /// The objective of a learner at one time: the model's or, where there is none, the default one.
    pub(crate) fn value(&self, layout: Option<&Layout>, flow: usize, at: &Performance) -> f64 {
        match (self, layout) {
            (Source::Model(model), Some(layout)) => model.value_at(layout, flow, at),
            _ => Objective::default().value_at(at),
        }
    }
}

fn from_model(
    model: &Model,
    settings: &Settings,
    agent: &AnyController,
    seed: u64,
    number: u64,
) -> Result<Drawn, ResetError> {
    let mut drawn = model.specimens(seed, number, 1);
    let Specimen { network: mut layout, seed } = drawn.pop().expect("one was asked for");
    if let Some(duration) = settings.duration {
        layout.set_duration(duration);
    }
    let is_designed = |&sender: &usize| model.classes()[layout.class_of(sender)].is_designed();
    let designed: Vec<usize> = (0..layout.senders()).filter(is_designed).collect();
    let learners = match settings.learners {
        Learners::First => designed.iter().copied().take(1).collect(),
        Learners::All => designed,
    };
    // As cross traffic in models.
    let host = if settings.others.as_remy().is_some() { Host::Bare } else { Host::Tcp };
    let others = host.transport(settings.others.clone());
    let network = model.network(&layout, &others)?;
    let network = with_agents(network, &learners, &settings.host.transport(agent.clone()))?;
    Ok(Drawn { network, seed, learners, layout: Some(layout) })
}

fn from_network(
    network: &Network,
    flows: &[usize],
    settings: &Settings,
    agent: &AnyController,
    seed: u64,
) -> Result<Drawn, ResetError> {
    for &flow in flows {
        let count = network.flows().len();
        let spec = network.flows().get(flow);
        let spec = spec.ok_or(ResetError::NoSuchFlow { flow, flows: count })?;
        if spec.transport.controller().is_none() {
            return Err(ResetError::NoController(flow));
        }
    }
    let agent = settings.host.transport(agent.clone());
    let network = with_agents(network.clone(), flows, &agent)?;
    Ok(Drawn { network, seed, learners: flows.to_vec(), layout: None })
}

fn with_agents(
    network: Network,
    learners: &[usize],
    agent: &Transport,
) -> Result<Network, NetworkError> {
    network.changed(|_, flows| {
        for &learner in learners {
            flows[learner].transport = agent.clone();
        }
    })
}
