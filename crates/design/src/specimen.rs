//! [`Specimen`]: one network drawn from a model, and the chance its senders meet.

use crate::model::{Draw, Model, Networks};
use exm_random::{Purpose, Stream};
use exm_sim::dumbbell::Dumbbell;

/// A network to try a table on.
#[derive(Clone, Debug, PartialEq)]
pub struct Specimen {
    /// The network.
    pub network: Dumbbell,
    /// What its traffic and losses are drawn from: the same for every candidate.
    pub seed: u64,
}

/// What the streams of a draw are for. Each has its own, so that one quantity's range may change
/// without another being drawn differently; a new one takes the next number.
#[derive(Clone, Copy, Debug)]
enum Axis {
    Rate,
    Rtt,
    Senders,
    Buffer,
    Loss,
    Seed,
}

impl Model {
    /// How many networks a model of `draw = "grid"` stands for; nothing for one drawn at random.
    pub fn grid_size(&self) -> Option<usize> {
        let grid = self.networks.grid()?;
        Some(grid.iter().fold(1, |product, &length| product.saturating_mul(length)))
    }

    /// Draws `count` specimens: block number `block` of the experiment of `seed`. Other blocks are
    /// independent of it, and the same arguments always give the same specimens.
    ///
    /// A model of `draw = "random"` is drawn by Latin hypercube: each quantity's range is cut into
    /// `count` equally likely parts, every part has one specimen somewhere within it, and which
    /// parts meet in a specimen is left to chance. One of `draw = "grid"` goes through its networks
    /// in turn, each block of equal length beginning where the last has ended. Either way every
    /// specimen has a seed of its own.
    pub fn specimens(&self, seed: u64, block: u64, count: usize) -> Vec<Specimen> {
        // A block's own seed, so that any block can be drawn without those before it.
        let block_seed = Stream::new(seed, Purpose::Specimen, block as usize).seed();
        let stream = |axis: Axis| Stream::new(block_seed, Purpose::Specimen, axis as usize);
        let networks = match self.networks.draw {
            Draw::Random => self.hypercube(count, stream),
            Draw::Grid => self.grid_from(u128::from(block) * count as u128, count),
        };
        let mut seeds = stream(Axis::Seed);
        networks.into_iter().map(|network| Specimen { network, seed: seeds.seed() }).collect()
    }

    fn hypercube(&self, count: usize, stream: impl Fn(Axis) -> Stream) -> Vec<Dumbbell> {
        let axes = [Axis::Rate, Axis::Rtt, Axis::Senders, Axis::Buffer, Axis::Loss];
        let quantiles = axes.map(|axis| strata(count, stream(axis)));
        (0..count).map(|i| self.network(quantiles.each_ref().map(|axis| axis[i]))).collect()
    }

    fn grid_from(&self, start: u128, count: usize) -> Vec<Dumbbell> {
        let lengths = self.networks.grid().unwrap_or([1; 5]);
        let combination = |i: usize| {
            let mut rest = start + i as u128;
            // The last quantity changes with every specimen, the first most rarely.
            let mut quantiles = [0.0; 5];
            for (quantile, &length) in quantiles.iter_mut().zip(&lengths).rev() {
                let index = (rest % length as u128) as usize;
                *quantile = (index as f64 + 0.5) / length as f64;
                rest /= length as u128;
            }
            self.network(quantiles)
        };
        (0..count).map(combination).collect()
    }

    /// The network at these quantiles of rate, round trip, senders, buffer and loss.
    fn network(&self, [rate, rtt, senders, buffer, loss]: [f64; 5]) -> Dumbbell {
        let Networks { packet, .. } = self.networks;
        let rate = self.networks.rate.at(rate);
        let rtt = self.networks.rtt.at(rtt);
        Dumbbell {
            rate,
            packet,
            buffer: self.networks.buffer.at(buffer).limit(rate, rtt, packet),
            loss: self.networks.loss.at(loss),
            delays: vec![rtt; self.networks.senders.at(senders).0 as usize],
            traffic: self.traffic.clone(),
            duration: self.design().duration,
        }
    }
}

impl Networks {
    /// How many values each quantity has, where all combinations are taken in turn.
    fn grid(&self) -> Option<[usize; 5]> {
        if self.draw != Draw::Grid {
            return None;
        }
        Some([
            self.rate.values()?.len(),
            self.rtt.values()?.len(),
            self.senders.values()?.len(),
            self.buffer.values()?.len(),
            self.loss.values()?.len(),
        ])
    }
}

/// One quantile from each of `count` equal parts of [0, 1), in an order left to chance.
fn strata(count: usize, mut stream: Stream) -> Vec<f64> {
    let mut parts: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        parts.swap(last, stream.below(last + 1));
    }
    parts.into_iter().map(|part| (part as f64 + stream.uniform()) / count as f64).collect()
}

#[cfg(test)]
mod tests;
