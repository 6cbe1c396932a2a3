//! [`Environment`]: episodes, one after the other.

use crate::agent::Agent;
use crate::episode::{ActionError, Episode, Status};
use crate::source::{ResetError, Settings, Source};
use exm_policy::Measurement;
use exm_sim::controllers::AnyController;
use exm_sim::engine::Simulation;
use exm_sim::metrics::Report;
use std::sync::Arc;

/// How many networks are drawn before it is said that nobody learns in any of them.
const DRAWS: u64 = 1000;

/// An environment in which one or several flows learn. A step lasts until the next of them is due to act.
///
/// The same source, settings, seed and actions give the same observations and rewards, to the bit.
#[derive(Clone, Debug)]
pub struct Environment {
    source: Arc<Source>,
    settings: Arc<Settings>,
    agent: AnyController,
    episode: Episode,
}

impl Environment {
    /// An environment at the start of the episode of `seed`.
    ///
    /// # Errors
    /// [`ResetError`] if it cannot begin.
    pub fn new(
        source: impl Into<Arc<Source>>,
        settings: impl Into<Arc<Settings>>,
        seed: u64,
    ) -> Result<Environment, ResetError> {
        let (source, settings) = (source.into(), settings.into());
        let agent = AnyController::own(Agent::new(settings.interface));
        let episode = begin(&source, &settings, &agent, seed)?;
        Ok(Environment { source, settings, agent, episode })
    }

    /// Begins the episode of `seed`: a network drawn from a model, or the source's network with other random
    /// numbers.
    ///
    /// # Errors
    /// [`ResetError`] if it cannot begin; the present episode then goes on.
    pub fn reset(&mut self, seed: u64) -> Result<(), ResetError> {
        self.episode = begin(&self.source, &self.settings, &self.agent, seed)?;
        Ok(())
    }

    /// Takes the actions of all learners, one after the other, of which only those count that are due to act.
    ///
    /// # Errors
    /// [`ActionError`] for actions of another size, numbers that are none, or if the episode has ended.
    pub fn step(&mut self, actions: &[f32]) -> Result<Status, ActionError> {
        self.episode.step(actions)
    }

    /// What learners observe and decide.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many flows learn.
    pub fn learners(&self) -> usize {
        self.episode.learners()
    }

    /// The number of learner `learner` among the flows of the network.
    pub fn flow(&self, learner: usize) -> usize {
        self.episode.flow(learner)
    }

    /// Whether learner `learner` is due to act: it is on, and its interval has just ended.
    pub fn acts(&self, learner: usize) -> bool {
        self.episode.acts(learner)
    }

    /// Writes the observation of learner `learner` to `room`, which has as many numbers as the interface has inputs.
    pub fn observe(&mut self, learner: usize, room: &mut [f32]) {
        self.episode.observe(learner, room);
    }

    /// The reward of learner `learner` in the last step.
    pub fn reward(&self, learner: usize) -> f64 {
        self.episode.reward_of(learner)
    }

    /// What learner `learner` measured in its last interval.
    pub fn measured(&self, learner: usize) -> &Measurement {
        self.episode.measured(learner)
    }

    /// Whether the episode has ended.
    pub fn has_ended(&self) -> bool {
        self.episode.status() == Status::Ended
    }

    /// The mean score of the learners so far, by the model's objective; none without a model.
    pub fn score(&self) -> Option<f64> {
        self.episode.score()
    }

    /// The simulation's measurements so far.
    pub fn report(&self) -> Report {
        self.episode.report()
    }

    /// The simulation.
    pub fn simulation(&self) -> &Simulation {
        self.episode.simulation()
    }
}

/// The first of the networks of `seed` in which somebody acts.
fn begin(
    source: &Arc<Source>,
    settings: &Arc<Settings>,
    agent: &AnyController,
    seed: u64,
) -> Result<Episode, ResetError> {
    for number in 0..DRAWS {
        let drawn = source.draw(settings, agent, seed, number)?;
        if drawn.learners.is_empty() {
            continue;
        }
        let episode = Episode::new(Arc::clone(source), Arc::clone(settings), drawn);
        if episode.status() == Status::Running {
            return Ok(episode);
        }
    }
    Err(ResetError::NobodyLearns(DRAWS as usize))
}
