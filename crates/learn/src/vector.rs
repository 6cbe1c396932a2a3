//! [`Vector`]: many environments, stepped together on all cores.

use crate::environment::Environment;
use crate::episode::{ActionError, Status};
use crate::source::{ResetError, Settings, Source};
use exm_random::{Purpose, Stream};
use rayon::prelude::*;
use std::sync::Arc;

/// Environments of one learner each, stepped together. One whose episode has ended begins the next at its next step,
/// whose action is ignored. Results do not depend on the number of threads.
#[derive(Clone, Debug)]
pub struct Vector {
    slots: Vec<Slot>,
    inputs: usize,
    outputs: usize,
}

#[derive(Clone, Debug)]
struct Slot {
    environment: Environment,
    /// The seeds of its episodes.
    seeds: Stream,
}

/// Where [`Vector::step`] writes, with a part for each environment.
#[derive(Debug)]
pub struct Results<'a> {
    /// The observations.
    pub observations: &'a mut [f32],
    /// The rewards.
    pub rewards: &'a mut [f64],
    /// Whether its episode has ended: 0 or 1.
    pub ended: &'a mut [u8],
}

impl Slot {
    fn reset(&mut self) -> Result<(), ResetError> {
        let seed = self.seeds.seed();
        self.environment.reset(seed)
    }
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// An action.
    #[error("environment {environment}: {problem}")]
    Action {
        /// Which environment, from 0.
        environment: usize,
        /// What is wrong.
        problem: ActionError,
    },
    /// A new episode.
    #[error(transparent)]
    Reset(#[from] ResetError),
}

impl Vector {
    /// Environments of the same kind, one for each seed, at the start of their first episodes.
    ///
    /// # Errors
    /// [`ResetError`] if one cannot begin.
    pub fn new(source: Source, settings: Settings, seeds: &[u64]) -> Result<Vector, ResetError> {
        let (inputs, outputs) = (settings.interface.inputs(), settings.interface.outputs());
        let (source, settings) = (Arc::new(source), Arc::new(settings));
        let slot = |&seed: &u64| {
            let mut seeds = stream(seed);
            let first = seeds.seed();
            let environment = Environment::new(Arc::clone(&source), Arc::clone(&settings), first)?;
            Ok(Slot { environment, seeds })
        };
        let slots = seeds.iter().map(slot).collect::<Result<_, ResetError>>()?;
        Ok(Vector { slots, inputs, outputs })
    }

    /// How many environments there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The numbers of an observation, and those of an action.
    pub const fn sizes(&self) -> (usize, usize) {
        (self.inputs, self.outputs)
    }

    /// Begins new episodes of all; where seeds are given, one for each, from these on.
    ///
    /// # Errors
    /// [`ResetError`] if one cannot begin.
    pub fn reset(&mut self, seeds: Option<&[u64]>) -> Result<(), ResetError> {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Some(seed) = seeds.and_then(|seeds| seeds.get(index)) {
                slot.seeds = stream(*seed);
            }
            slot.reset()?;
        }
        Ok(())
    }

    /// Writes all observations.
    pub fn observe(&mut self, room: &mut [f32]) {
        for (slot, room) in self.slots.iter_mut().zip(room.chunks_exact_mut(self.inputs)) {
            slot.environment.observe(0, room);
        }
    }

    /// Steps all environments by `actions`, one after the other, and writes what came of it.
    ///
    /// # Errors
    /// [`StepError`]; for an action that is none, nothing has changed.
    pub fn step(&mut self, actions: &[f32], results: Results<'_>) -> Result<(), StepError> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        self.check(actions)?;
        let actions = actions.par_chunks_exact(outputs);
        let observations = results.observations.par_chunks_exact_mut(inputs);
        let written = observations.zip(results.rewards.par_iter_mut()).zip(results.ended);
        let each = self.slots.par_iter_mut().zip(actions).zip(written).enumerate();
        each.try_for_each(|(environment, ((slot, action), ((room, reward), ended)))| {
            if slot.environment.has_ended() {
                slot.reset()?;
                (*reward, *ended) = (0.0, 0);
            } else {
                let status = slot.environment.step(action);
                let status =
                    status.map_err(|problem| StepError::Action { environment, problem })?;
                *reward = slot.environment.reward(0);
                *ended = u8::from(status == Status::Ended);
            }
            slot.environment.observe(0, room);
            Ok(())
        })
    }

    fn check(&self, actions: &[f32]) -> Result<(), StepError> {
        let expected = self.outputs * self.slots.len();
        if actions.len() != expected {
            let problem = ActionError::Size { got: actions.len(), expected };
            return Err(StepError::Action { environment: 0, problem });
        }
        match actions.iter().position(|action| !action.is_finite()) {
            Some(index) => {
                let (environment, index, value) =
                    (index / self.outputs, index % self.outputs, actions[index]);
                let problem = ActionError::Number { index, value };
                Err(StepError::Action { environment, problem })
            }
            None => Ok(()),
        }
    }

    /// The scores of the episodes that run or have just ended; NaN without a model.
    pub fn scores(&self) -> Vec<f64> {
        let score = |slot: &Slot| slot.environment.score().unwrap_or(f64::NAN);
        self.slots.iter().map(score).collect()
    }
}

fn stream(seed: u64) -> Stream {
    Stream::new(seed, Purpose::Specimen, 0)
}
