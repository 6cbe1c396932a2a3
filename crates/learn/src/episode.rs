//! [`Episode`]: one network, from its start to its end.

use crate::agent::Agent;
use crate::reward::Reward;
use crate::source::{Drawn, Settings, Source};
use exm_design::{Layout, outcomes};
use exm_policy::Measurement;
use exm_sim::engine::Simulation;
use exm_sim::metrics::Report;
use exm_units::Span;
use std::sync::Arc;

/// Where an episode stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A flow is due to act.
    Running,
    /// The simulated time is over.
    Ended,
}

/// Why a step cannot be taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActionError {
    /// An action of the wrong size.
    #[error("the actions have {got} numbers, not {expected}")]
    Size {
        /// How many numbers there were.
        got: usize,
        /// How many the learners take together.
        expected: usize,
    },
    /// A number that is none.
    #[error("number {index} of the actions is {value}: actions are numbers from -1 to 1")]
    Number {
        /// Which one, from 0.
        index: usize,
        /// What it is.
        value: f32,
    },
    /// The episode has ended, or none has begun.
    #[error("the episode has ended: reset the environment")]
    Ended,
}

/// A flow that learns.
#[derive(Clone, Debug)]
struct Learner {
    flow: usize,
    reward: f64,
    measured: Measurement,
    acts: bool,
    /// For how long the flow had been on when it was rewarded last.
    on: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Episode {
    source: Arc<Source>,
    settings: Arc<Settings>,
    simulation: Simulation,
    layout: Option<Layout>,
    learners: Vec<Learner>,
    status: Status,
}

impl Episode {
    /// The episode on `drawn`, at its first action.
    pub(crate) fn new(source: Arc<Source>, settings: Arc<Settings>, drawn: Drawn) -> Episode {
        let Drawn { network, seed, learners, layout } = drawn;
        let learner = |flow| Learner {
            flow,
            reward: 0.0,
            measured: Measurement::default(),
            acts: false,
            on: Span::ZERO,
        };
        let learners = learners.into_iter().map(learner).collect();
        let simulation = Simulation::new(network, seed);
        let mut episode =
            Episode { source, settings, simulation, layout, learners, status: Status::Running };
        episode.advance();
        episode
    }

    /// Takes the actions of those that are due, one after the other; the numbers of others are ignored.
    pub(crate) fn step(&mut self, actions: &[f32]) -> Result<Status, ActionError> {
        let size = self.settings.interface.outputs();
        let expected = size * self.learners.len();
        if self.status == Status::Ended {
            return Err(ActionError::Ended);
        }
        if actions.len() != expected {
            return Err(ActionError::Size { got: actions.len(), expected });
        }
        if let Some(index) = actions.iter().position(|action| !action.is_finite()) {
            return Err(ActionError::Number { index, value: actions[index] });
        }
        for (index, action) in actions.chunks_exact(size).enumerate() {
            if self.learners[index].acts {
                let flow = self.learners[index].flow;
                let decision = agent(&mut self.simulation, flow).act(action);
                self.simulation.set_decision(flow, decision).expect("it has a controller");
            }
        }
        self.advance();
        Ok(self.status)
    }

    /// Simulates until a learner is due to act, or the end.
    fn advance(&mut self) {
        self.simulate();
        if self.simulation.now() >= self.simulation.end() {
            self.status = Status::Ended;
        }
        for index in 0..self.learners.len() {
            let Learner { flow, on: before, .. } = self.learners[index];
            let agent = agent(&mut self.simulation, flow);
            let (acts, mut measured) = (agent.is_waiting, *agent.flow.measured());
            let (mut reward, mut on) = (0.0, before);
            if acts || self.status == Status::Ended {
                if !acts {
                    measured = self.last(flow);
                }
                on = self.simulation.on_time(flow);
                reward = self.reward(flow, &measured, on.saturating_sub(before));
            }
            self.learners[index] = Learner { flow, reward, measured, acts, on };
        }
    }

    /// Event by event, since an interval may end earlier than it seemed to: a flow that starts, and its first ACK,
    /// change that.
    fn simulate(&mut self) {
        while !self.is_anyone_waiting() {
            if self.simulation.step().is_none() {
                return;
            }
        }
        // Others whose intervals end now act now.
        let now = self.simulation.now();
        while self.simulation.next_event() == Some(now) && self.ends_now() {
            self.simulation.step();
        }
    }

    /// Whether the interval of a learner that is not waiting ends now.
    fn ends_now(&mut self) -> bool {
        let Episode { simulation, learners, .. } = self;
        let now = simulation.now();
        learners.iter().any(|learner| agent(simulation, learner.flow).flow.end() == now)
    }

    fn is_anyone_waiting(&mut self) -> bool {
        let Episode { simulation, learners, .. } = self;
        learners.iter().any(|learner| agent(simulation, learner.flow).is_waiting)
    }

    /// What `flow` measured since its last action.
    fn last(&mut self, flow: usize) -> Measurement {
        let now = self.simulation.now();
        agent(&mut self.simulation, flow).flow.unfinished(now)
    }

    /// The reward of `flow`, which was on for `on` since the last one.
    fn reward(&self, flow: usize, measured: &Measurement, on: Span) -> f64 {
        match (self.settings.reward, self.status) {
            (Reward::Score, Status::Ended) => self.score_of(flow).unwrap_or(0.0),
            // Aurora's is per interval, so the last one, which is cut off, has none.
            (Reward::Aurora, Status::Ended) => 0.0,
            (reward, _) => {
                reward.of(measured, on, |at| self.source.value(self.layout.as_ref(), flow, at))
            }
        }
    }

    /// The score of `flow` so far, by the model; none without a model.
    fn score_of(&self, flow: usize) -> Option<f64> {
        let (Source::Model(model), Some(layout)) = (&*self.source, &self.layout) else {
            return None;
        };
        let outcomes = outcomes(self.simulation.network(), &self.report());
        model.sender_score(layout, flow, &outcomes[flow])
    }

    /// The mean score of the learners so far, by the model.
    pub(crate) fn score(&self) -> Option<f64> {
        let scores: Vec<f64> =
            self.learners.iter().filter_map(|learner| self.score_of(learner.flow)).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    }

    pub(crate) fn report(&self) -> Report {
        self.simulation.report()
    }

    pub(crate) fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    pub(crate) fn learners(&self) -> usize {
        self.learners.len()
    }

    pub(crate) fn flow(&self, learner: usize) -> usize {
        self.learners[learner].flow
    }

    pub(crate) fn observe(&mut self, learner: usize, room: &mut [f32]) {
        let flow = self.learners[learner].flow;
        room.copy_from_slice(agent(&mut self.simulation, flow).flow.features());
    }

    pub(crate) fn reward_of(&self, learner: usize) -> f64 {
        self.learners[learner].reward
    }

    pub(crate) fn measured(&self, learner: usize) -> &Measurement {
        &self.learners[learner].measured
    }

    pub(crate) fn acts(&self, learner: usize) -> bool {
        self.learners[learner].acts
    }
}

/// The agent that controls `flow`.
fn agent(simulation: &mut Simulation, flow: usize) -> &mut Agent {
    let controller = simulation.controller_mut(flow).and_then(|cc| cc.own_mut());
    controller.expect("a learner's controller is an agent")
}
