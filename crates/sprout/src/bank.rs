//! [`Bank`]: selects the model that fits a link best.

use crate::model::RATES;
use crate::{Filter, Model};

/// Forecast likelihoods are forgotten with a time constant of half a minute: 1500 ticks.
const MEMORY: f64 = 1.0 - 1.0 / 1500.0;
/// Another model is selected once it is this much likelier, as a logarithm: e^3, twenty times.
const MARGIN: f64 = 3.0;
/// The factors on [`Model::sigma`] and [`Model::escape`] of the alternative models.
const NEIGHBOURS: [(f64, f64); 6] =
    [(0.5, 1.0), (0.7, 1.0), (1.4, 1.0), (2.0, 1.0), (1.0, 0.25), (1.0, 4.0)];

/// Filters for a model and, if it [learns](Model::learns), for its neighbours. The selected one is
/// that with the best recent forecasts: an extension that the thesis proposes.
#[derive(Clone, Debug)]
pub(crate) struct Bank {
    filters: Vec<Filter>,
    /// The log-likelihood that each filter assigned to the observations, recent ones weighted more.
    scores: Vec<f64>,
    best: usize,
}

impl Bank {
    pub(crate) fn new(model: Model) -> Bank {
        let near = |&(sigma, escape): &(f64, f64)| Model {
            sigma: model.sigma * sigma,
            escape: model.escape * escape,
            ..model
        };
        let neighbours = NEIGHBOURS.iter().filter(|_| model.learns).map(near);
        let filters: Vec<_> = std::iter::once(model).chain(neighbours).map(Filter::new).collect();
        Bank { scores: vec![0.0; filters.len()], filters, best: 0 }
    }

    /// The filter of the selected model.
    pub(crate) fn best(&self) -> &Filter {
        &self.filters[self.best]
    }

    /// Advances by a tick.
    pub(crate) fn evolve(&mut self) {
        self.filters.iter_mut().for_each(Filter::evolve);
    }

    /// As [`Filter::observe_part`].
    pub(crate) fn observe(&mut self, packets: f64, share: f64) {
        for (filter, score) in self.filters.iter_mut().zip(&mut self.scores) {
            *score = MEMORY * *score + filter.observe_part(packets, share);
        }
        let likeliest =
            (0..self.scores.len()).max_by(|&a, &b| self.scores[a].total_cmp(&self.scores[b]));
        if let Some(index) = likeliest
            && self.scores[index] > self.scores[self.best] + MARGIN
        {
            self.best = index;
        }
    }

    /// Counts in units of two packets from now on. A nonzero rate stays nonzero, so that it
    /// is not taken for an outage.
    pub(crate) fn halve(&mut self) {
        self.filters.iter_mut().for_each(|filter| filter.renumber(|rate| rate.div_ceil(2)));
    }

    /// Counts in units of half the previous size from now on.
    pub(crate) fn double(&mut self) {
        self.filters
            .iter_mut()
            .for_each(|filter| filter.renumber(|rate| (2 * rate).min(RATES - 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor on sigma of the model selected for a link that delivers `counts` repeatedly.
    fn learnt(counts: &[f64]) -> f64 {
        let mut bank = Bank::new(Model { learns: true, ..Model::default() });
        for &count in counts.iter().cycle().take(3000) {
            bank.evolve();
            bank.observe(count, 1.0);
        }
        bank.best.checked_sub(1).map_or(1.0, |neighbour| NEIGHBOURS[neighbour].0)
    }

    #[test]
    fn steady_links_are_distinguished_from_variable_ones() {
        assert_eq!(learnt(&[3.0, 7.0, 5.0, 8.0, 2.0]), 0.5);
        let wild: Vec<f64> = (0..40).map(|tick| if tick % 20 < 10 { 2.0 } else { 16.0 }).collect();
        assert_eq!(learnt(&wild), 2.0);
    }
}
