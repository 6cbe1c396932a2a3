//! The joint score of a network's senders, by the objectives of their classes.

use crate::model::{Class, Model};
use crate::objective::{self, Objective, Performance};
use crate::specimen::{Layout, Mixed, Specimen};
use exm_measure::mean;
use exm_sim::MeasuredOver;
use exm_sim::dumbbell::Outcome;
use exm_sim::traffic::OnFor;

impl Model {
    /// The score of `outcomes`, those of the senders of `network` in order: finite, and larger is better.
    /// It is the mean over the senders of designed tables, and of those that are considered beside them, each by the
    /// objective of its class; 0 if none of them was ever on.
    pub fn score(&self, network: &Layout, outcomes: &[Outcome]) -> f64 {
        let own = |class: &Class| class.counts().then(|| class.objective.clone());
        self.mean_value(network, outcomes, own).unwrap_or(0.0)
    }

    /// As [`Model::score`], in relative units, in which networks can be compared.
    pub fn normalised(&self, network: &Layout, outcomes: &[Outcome]) -> f64 {
        let relative = |class: &Class| class.counts().then(|| class.objective.relative());
        self.mean_value(network, outcomes, relative).unwrap_or(0.0)
    }

    /// The score of the senders of one class, by their own objective; `None` if none was ever on.
    pub fn class_score(&self, class: usize, network: &Layout, outcomes: &[Outcome]) -> Option<f64> {
        let only = &self.classes()[class];
        let own = |class: &Class| std::ptr::eq(class, only).then(|| class.objective.clone());
        self.mean_value(network, outcomes, own)
    }

    /// The score of sender number `sender` of `network`, by the objective of its class; `None` if it was never on.
    pub fn sender_score(&self, network: &Layout, sender: usize, outcome: &Outcome) -> Option<f64> {
        let (class, path) = network.path_of(sender);
        let objective = &self.classes()[class].objective;
        let got = (!outcome.on_time.is_zero()).then(|| objective.got(path, outcome))?;
        Some(objective.value(path, got))
    }

    /// The objective of sender number `sender` of `network` at one time, at which it performs as `performance` says: for
    /// those who reward a sender while it runs. Unlike a score, it does not count how many senders share a link.
    pub fn value_at(&self, network: &Layout, sender: usize, performance: &Performance) -> f64 {
        let (class, path) = network.path_of(sender);
        self.classes()[class].objective.value(path, performance.into())
    }

    /// The score of omniscient senders. Each sends at its proportionally fair rate and never queues, except at
    /// the end of an on-period: since they know when it ends, they may leave packets behind that
    /// arrive after it, if that pays. The score is for the specimen's own traffic; on a dumbbell with flows of an amount of data,
    /// it is an expectation ([`Objective::omniscient`]). It is an upper bound for senders that share fairly. Senders
    /// of controllers that are not designed are assumed to share fairly, too.
    pub fn omniscient(&self, specimen: &Specimen) -> f64 {
        match &specimen.network {
            Layout::Dumbbell { class, network } => {
                let objective = &self.classes()[*class].objective;
                let lasts =
                    matches!(network.traffic.on, OnFor::Time(_) | OnFor::Always | OnFor::Video(_));
                if lasts && objective.over == MeasuredOver::Arrivals {
                    self.bound(&Mixed::of(network, *class), specimen.seed)
                } else {
                    objective.omniscient(network)
                }
            }
            Layout::Mixed(mixed) => self.bound(mixed, specimen.seed),
        }
    }

    /// The score of omniscient senders, with the traffic drawn from `seed`; 0 if none was ever on.
    fn bound(&self, mixed: &Mixed, seed: u64) -> f64 {
        let bounds = objective::bounds(mixed, seed);
        let scores = mixed.senders.iter().zip(&bounds).filter_map(|(sender, bound)| {
            let class = &self.classes()[sender.class];
            let counts = class.counts() && bound.was_on();
            counts.then(|| class.objective.of_bound(mixed.path(sender), bound))
        });
        mean(scores).unwrap_or(0.0)
    }

    /// The mean over the senders that were on and whose class has an `objective`.
    fn mean_value(
        &self,
        network: &Layout,
        outcomes: &[Outcome],
        objective: impl Fn(&Class) -> Option<Objective>,
    ) -> Option<f64> {
        mean(outcomes.iter().enumerate().filter(|(_, o)| !o.on_time.is_zero()).filter_map(
            |(sender, outcome)| {
                let (class, path) = network.path_of(sender);
                let objective = objective(&self.classes()[class])?;
                Some(objective.value(path, objective.got(path, outcome)))
            },
        ))
    }
}
