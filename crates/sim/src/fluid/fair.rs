//! Proportionally fair rates: how omniscient senders would share a network of links.

use super::Fluid;

/// The maximum number of sweeps over the links; a network of one link needs one.
const SWEEPS: usize = 500;
/// The tolerance in filling links.
const PRECISION: f64 = 1e-9;

/// The distinct routes of senders through a network, and their use of its links.
pub(super) struct Routes {
    /// The capacity of each link, in packets per millisecond.
    capacities: Vec<f64>,
    /// For each route, the links that it crosses, each with the number of packets that it transmits per packet that
    /// arrives at the receiver: more than one if packets are lost after it.
    crossed: Vec<Vec<(usize, f64)>>,
    /// The route of each sender.
    of_sender: Vec<usize>,
}

impl Routes {
    /// Those of `network`.
    pub(super) fn of(network: &Fluid) -> Routes {
        let mut paths: Vec<&[usize]> = Vec::new();
        let of_sender = network.senders.iter().map(|sender| {
            let known = paths.iter().position(|path| *path == sender.path);
            known.unwrap_or_else(|| {
                paths.push(&sender.path);
                paths.len() - 1
            })
        });
        let of_sender = of_sender.collect();
        let crossed = |path: &[usize]| {
            let mut sent = 1.0;
            let each = path.iter().rev().map(|&link| {
                sent /= 1.0 - network.links[link].loss;
                (link, sent)
            });
            each.collect()
        };
        Routes {
            capacities: network.links.iter().map(|link| link.packets_per_ms).collect(),
            crossed: paths.into_iter().map(crossed).collect(),
            of_sender,
        }
    }

    /// How many routes there are.
    pub(super) fn count(&self) -> usize {
        self.crossed.len()
    }

    /// The route of `sender`.
    pub(super) fn of_sender(&self, sender: usize) -> usize {
        self.of_sender[sender]
    }

    /// The packets per millisecond that arrive from each sender of a route, if `active[route]` of
    /// them send: the rates with the largest sum of logarithms that the links can carry (Kelly, Maulloo &
    /// Tan, J. Oper. Res. Soc. 1998). 0 for a route without active senders.
    ///
    /// Each link has a price for transmitting a packet, and a sender's rate is the inverse of the price of its
    /// route. In turn, each link's price is set so that the link is full, or to 0 if it cannot be filled.
    pub(super) fn fair_rates(&self, active: &[u32]) -> Vec<f64> {
        let mut prices = vec![0.0; self.capacities.len()];
        for _ in 0..SWEEPS {
            let mut change: f64 = 0.0;
            for link in 0..prices.len() {
                let price = self.filling_price(active, &prices, link);
                change = change.max((price - prices[link]).abs() / price.max(f64::MIN_POSITIVE));
                prices[link] = price;
            }
            if change < PRECISION {
                break;
            }
        }
        let rate = |(route, &count): (usize, &u32)| {
            if count == 0 { 0.0 } else { 1.0 / self.cost(route, &prices) }
        };
        active.iter().enumerate().map(rate).collect()
    }

    fn cost(&self, route: usize, prices: &[f64]) -> f64 {
        self.crossed[route].iter().map(|&(link, sent)| sent * prices[link]).sum()
    }

    /// The price of `link` at which its senders fill it, given the other prices.
    fn filling_price(&self, active: &[u32], prices: &[f64], link: usize) -> f64 {
        // Of each route across the link: its senders, what a packet uses here, and costs elsewhere.
        let crossing: Vec<(f64, f64, f64)> = self
            .crossed
            .iter()
            .enumerate()
            .filter(|&(route, _)| active[route] > 0)
            .filter_map(|(route, links)| {
                let &(_, sent) = links.iter().find(|&&(crossed, _)| crossed == link)?;
                let elsewhere = self.cost(route, prices) - sent * prices[link];
                Some((f64::from(active[route]), sent, elsewhere.max(0.0)))
            })
            .collect();
        let load = |price: f64| -> f64 {
            crossing.iter().map(|&(count, sent, rest)| count * sent / (rest + sent * price)).sum()
        };
        let capacity = self.capacities[link];
        if crossing.is_empty() || load(0.0) <= capacity {
            return 0.0;
        }
        // With nothing to pay elsewhere all the senders would fill it at this price.
        let senders: f64 = crossing.iter().map(|&(count, ..)| count).sum();
        let (mut low, mut high) = (0.0, senders / capacity);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if load(middle) > capacity { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn routes(capacities: &[f64], crossed: &[&[usize]]) -> Routes {
        let each = |path: &&[usize]| path.iter().map(|&link| (link, 1.0)).collect();
        Routes {
            capacities: capacities.to_vec(),
            crossed: crossed.iter().map(each).collect(),
            of_sender: Vec::new(),
        }
    }

    fn near(actual: &[f64], expected: &[f64]) {
        for (a, b) in actual.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6 * b.max(1.0), "{actual:?} is not {expected:?}");
        }
    }

    #[test]
    fn one_link_is_shared_equally() {
        let one = routes(&[10.0], &[&[0]]);
        near(&one.fair_rates(&[4]), &[2.5]);
        assert_eq!(one.fair_rates(&[0]), [0.0]);
    }

    /// A flow across two equal links gets a third of each, those that cross one two thirds.
    #[test]
    fn a_parking_lot_is_shared_in_thirds() {
        let lot = routes(&[3.0, 3.0], &[&[0, 1], &[0], &[1]]);
        near(&lot.fair_rates(&[1, 1, 1]), &[1.0, 2.0, 2.0]);
        near(&lot.fair_rates(&[1, 0, 0]), &[3.0, 0.0, 0.0]);
        // A slower first link is the only bottleneck of the long flow, once the second is fast enough.
        let unequal = routes(&[2.0, 100.0], &[&[0, 1], &[0], &[1]]);
        near(&unequal.fair_rates(&[1, 1, 0]), &[1.0, 1.0, 0.0]);
    }

    #[test]
    fn losses_use_links_without_delivering() {
        let mut lossy = routes(&[10.0], &[&[0]]);
        lossy.crossed[0][0].1 = 2.0;
        near(&lossy.fair_rates(&[1]), &[5.0]);
    }

    proptest! {
        /// No link carries more than it can, and moving along any direction that the links allow loses
        /// more, in proportion, than it gains: the definition of proportional fairness.
        #[test]
        fn rates_are_feasible_and_fair(
            capacities in prop::collection::vec(0.1_f64..100.0, 3),
            active in prop::collection::vec(0_u32..4, 5),
            other in prop::collection::vec(0.01_f64..1.0, 5),
        ) {
            let routes = routes(&capacities, &[&[0], &[1], &[2], &[0, 1], &[0, 1, 2]]);
            let rates = routes.fair_rates(&active);
            let load = |rates: &[f64], link: usize| -> f64 {
                (0..5)
                    .filter(|&r| routes.crossed[r].iter().any(|&(l, _)| l == link))
                    .map(|r| f64::from(active[r]) * rates[r])
                    .sum()
            };
            for (link, capacity) in capacities.iter().enumerate() {
                prop_assert!(load(&rates, link) <= capacity * (1.0 + 1e-6));
            }
            // Another allocation, scaled until it fits.
            let fits = (0..3).map(|link| load(&other, link) / capacities[link]).fold(0.0, f64::max);
            if fits > 0.0 {
                let gain: f64 = (0..5)
                    .filter(|&r| active[r] > 0)
                    .map(|r| f64::from(active[r]) * (other[r] / fits - rates[r]) / rates[r])
                    .sum();
                prop_assert!(gain < 1e-5, "{gain}");
            }
        }
    }
}
