#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Named streams of random numbers, and the distributions drawn from them.
//!
//! Every random process has a stream of its own, so changing a controller never changes the traffic or
//! losses of the others: candidates are compared on the same arrivals.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// What a stream of random numbers is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The on and off times of the sender of this number.
    Traffic,
    /// The losses of the link of this number.
    Loss,
    /// The networks drawn from a model.
    Specimen,
    /// The choices of a search.
    Search,
    /// Which packets the queue of this number drops or marks.
    Queue,
    /// The random choices of this sender's controller.
    Controller,
    /// The resamplings of a bootstrap.
    Bootstrap,
    /// The opportunities of a synthetic trace.
    Trace,
    /// When the link of this number loses packets in bursts, and which.
    Bursts,
    /// Which packets the link of this number holds back, so that others overtake them.
    Reordering,
    /// When a run in real time begins, and how long its hosts take.
    Hosts,
    /// How much the link of this number adds to the propagation delay of each packet.
    Jitter,
    /// How long the link of this number takes for medium access before each frame.
    Access,
    /// Which blocks of the link of this number arrive only after retransmissions.
    Blocks,
    /// How the link of this number changes from slot to slot.
    Slots,
    /// The sizes and times of the frames that the sender of this number encodes.
    Video,
}

/// A stream of random numbers: PCG XSL-RR 128/64.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of number `index` for `purpose` in the experiment of `seed`.
    pub fn new(seed: u64, purpose: Purpose, index: usize) -> Stream {
        // Seeds and stream numbers in use are small and similar: mix them so that the streams differ.
        let state = u128::from(mix(seed)) << 64 | u128::from(mix(!seed));
        let number = (purpose as u128) << 64 | index as u128;
        Stream(Pcg64::new(state, number))
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [0, bound).
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "bound must be above zero");
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Exponential of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.uniform())
    }

    /// Standard normal, by the polar form of two draws (Box & Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// A whole number of 64 random bits: a seed for another experiment.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Independent losses of a fixed probability, drawn as the number of packets between them.
#[derive(Clone, Debug)]
pub struct Losses {
    stream: Stream,
    /// 1 / ln(1 - p), so that a gap costs one logarithm; none without losses.
    scale: Option<f64>,
    /// Packets that still pass before the next loss.
    gap: u64,
}

impl Losses {
    /// Losses of `probability`, from `stream`.
    pub fn new(probability: f64, stream: Stream) -> Losses {
        let scale = (probability > 0.0).then(|| 1.0 / libm::log1p(-probability));
        let mut losses = Losses { stream, scale, gap: u64::MAX };
        losses.draw();
        losses
    }

    /// Changes the probability for the packets that follow.
    pub fn set_probability(&mut self, probability: f64) {
        self.scale = (probability > 0.0).then(|| 1.0 / libm::log1p(-probability));
        self.draw();
    }

    fn draw(&mut self) {
        self.gap = match self.scale {
            None => u64::MAX,
            Some(scale) => (libm::log1p(-self.stream.uniform()) * scale) as u64,
        };
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn next_is_lost(&mut self) -> bool {
        let lost = self.gap == 0;
        if lost {
            self.draw();
        } else {
            self.gap -= 1;
        }
        lost
    }
}

/// A distribution of nonnegative numbers, in any unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same value.
    Fixed(f64),
    /// Exponential with this mean.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Pareto with the given scale and shape, shifted by `shift` and capped at `cap`: the flow lengths of
    /// Allman (CCR 2013) have scale 147, shape 0.5 and shift -40.
    Pareto {
        /// The least value before the shift.
        scale: f64,
        /// The exponent of the tail.
        shape: f64,
        /// Added to every draw.
        shift: f64,
        /// The largest value drawn.
        cap: f64,
    },
    /// Uniform between two values.
    Uniform {
        /// The least value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// One of these values with equal probability; never empty.
    Empirical(Vec<f64>),
    /// By its cumulative distribution function: each value with the probability of not exceeding it, linear in
    /// between. Both ascend, and the last probability is 1; never empty.
    Cdf(Vec<(f64, f64)>),
}

impl Distribution {
    /// Checks that all draws are finite and nonnegative.
    ///
    /// # Errors
    /// The parameter that makes draws impossible as times or amounts.
    pub fn check(&self) -> Result<(), &'static str> {
        let sound = |value: &f64| (0.0..1e18).contains(value);
        match self {
            Distribution::Fixed(value) | Distribution::Exponential { mean: value } => {
                sound(value).then_some(()).ok_or("the value must be a number from 0 to 1e18")
            }
            Distribution::Uniform { low, high } => (sound(low) && sound(high) && low <= high)
                .then_some(())
                .ok_or("the ends must be numbers from 0 to 1e18, the lower first"),
            Distribution::Pareto { scale, shape, shift, cap } => {
                let numbers = sound(scale) && sound(cap) && shift.is_finite();
                let shaped = *scale > 0.0 && *shape > 0.0 && shape.is_finite();
                (numbers && shaped)
                    .then_some(())
                    .ok_or("xm and alpha must be above zero, the cap at most 1e18")
            }
            Distribution::Empirical(values) => (!values.is_empty() && values.iter().all(sound))
                .then_some(())
                .ok_or("there must be at least one value, all from 0 to 1e18"),
            Distribution::Cdf(points) => {
                let ascends = points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1);
                let is_whole = points.last().is_some_and(|&(_, probability)| probability == 1.0);
                let sound = points.iter().all(|(value, p)| sound(value) && (0.0..=1.0).contains(p));
                (ascends && is_whole && sound)
                    .then_some(())
                    .ok_or("values and cumulative probabilities must ascend, the latter to 1")
            }
        }
    }

    /// The mean; values of a Pareto distribution above the cap count as the cap.
    pub fn mean(&self) -> f64 {
        self.mean_below(f64::INFINITY)
    }

    /// The mean, where values above `most` count as `most`.
    pub fn mean_below(&self, most: f64) -> f64 {
        match self {
            Distribution::Fixed(value) => value.min(most),
            Distribution::Exponential { mean } => -mean * libm::expm1(-most / mean),
            Distribution::Uniform { low, high } if *high <= most => 0.5 * (low + high),
            Distribution::Uniform { low, .. } if most <= *low => most,
            Distribution::Uniform { low, high } => {
                let below = (most - low) / (high - low);
                below * 0.5 * (low + most) + (1.0 - below) * most
            }
            Distribution::Empirical(values) => {
                values.iter().map(|value| value.min(most)).sum::<f64>() / values.len() as f64
            }
            Distribution::Cdf(points) => {
                let (value, probability) = points[0];
                let pieces = points.windows(2).map(|pair| {
                    let [(low, p), (high, q)] = [pair[0], pair[1]];
                    (q - p) * Distribution::Uniform { low, high }.mean_below(most)
                });
                probability * value.min(most) + pieces.sum::<f64>()
            }
            Distribution::Pareto { scale, shape, shift, cap } => {
                // The minimum plus the integral of the probability of exceeding x, up to the cap.
                let cap = cap.min(most);
                let ratio = ((cap - shift) / scale).max(0.0);
                if ratio <= 1.0 {
                    return cap;
                }
                let tail = if *shape == 1.0 {
                    libm::log(ratio)
                } else {
                    (libm::pow(ratio, 1.0 - shape) - 1.0) / (1.0 - shape)
                };
                shift + scale * (1.0 + tail)
            }
        }
    }

    /// Draws one number.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Exponential { mean } => mean * stream.exponential(),
            Distribution::Pareto { scale, shape, shift, cap } => {
                let tail = libm::pow(1.0 - stream.uniform(), -1.0 / shape);
                (scale * tail + shift).clamp(0.0, *cap)
            }
            Distribution::Uniform { low, high } => low + (high - low) * stream.uniform(),
            Distribution::Empirical(values) => values[stream.below(values.len())],
            Distribution::Cdf(points) => {
                let at = stream.uniform();
                let index = points.partition_point(|&(_, probability)| probability <= at);
                let Some(before) = index.checked_sub(1) else { return points[0].0 };
                let [(low, p), (high, q)] = [points[before], points[index]];
                low + (high - low) * (at - p) / (q - p)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(count: usize, draw: impl FnMut() -> f64) -> f64 {
        std::iter::repeat_with(draw).take(count).sum::<f64>() / count as f64
    }

    /// Published results, designed tables and stored runs depend on these numbers: a change here changes
    /// them all.
    #[test]
    fn streams_are_stable() {
        let first = |seed, purpose, index| Stream::new(seed, purpose, index).seed();
        for (purpose, number) in [
            (Purpose::Traffic, 0xead4_3e26_dc61_bab1),
            (Purpose::Loss, 0x9d4c_9a29_6f3a_a2ec),
            (Purpose::Specimen, 0x1904_7398_bb51_4337),
            (Purpose::Search, 0xe33a_95a8_b012_30d5),
            (Purpose::Queue, 0x282f_f241_58be_221f),
            (Purpose::Controller, 0x7e3f_cbef_b7ff_7838),
            (Purpose::Bootstrap, 0xa78d_2a4f_3b22_b67d),
            (Purpose::Trace, 0x1158_c191_d0bf_29cc),
            (Purpose::Bursts, 0xef6c_5d9a_0f47_6e1d),
            (Purpose::Reordering, 0x22d3_cad2_c280_9a08),
            (Purpose::Hosts, 0xf660_3d34_c322_5809),
            (Purpose::Jitter, 0x0fc7_7983_fe0d_7e88),
            (Purpose::Access, 0xbc90_a8de_51e5_9e39),
            (Purpose::Blocks, 0xa168_0c12_a52d_3562),
            (Purpose::Slots, 0xc231_7451_cd06_c085),
            (Purpose::Video, 0x7c9b_1dd7_5c21_950d),
        ] {
            assert_eq!(first(1, purpose, 0), number, "{purpose:?}");
        }
        assert_eq!(first(1, Purpose::Traffic, 1), 0xd47a_3043_8600_ae54);
        assert_eq!(first(2, Purpose::Traffic, 0), 0xca8c_8f3c_7426_5a77);
        assert_eq!(first(u64::MAX, Purpose::Hosts, usize::MAX), 0xbad7_4c7e_a802_4420);
        let mut stream = Stream::new(1, Purpose::Traffic, 0);
        let three = std::iter::repeat_with(|| stream.seed()).take(3).collect::<Vec<_>>();
        assert_eq!(three, [0xead4_3e26_dc61_bab1, 0xe2c7_6c05_25ec_8644, 0x9731_6214_5e90_7f85]);
    }

    #[test]
    fn draws_are_stable() {
        let mut stream = Stream::new(1, Purpose::Traffic, 0);
        assert_eq!(stream.uniform().to_bits(), 0x3fed_5a87_c4db_8c37);
        assert_eq!(stream.below(1000), 885);
        assert_eq!(stream.exponential().to_bits(), 0x3fec_93ea_145b_ed5d);
        assert_eq!(stream.normal().to_bits(), 0x4007_10cc_ae5b_de18);
        let pareto = Distribution::Pareto { scale: 147.0, shape: 0.5, shift: -40.0, cap: 1e9 };
        assert_eq!(pareto.draw(&mut stream).to_bits(), 0x4095_29d9_42be_ae74);
        let mut losses = Losses::new(0.1, Stream::new(1, Purpose::Loss, 0));
        let lost: Vec<usize> = (0..60).filter(|_| losses.next_is_lost()).collect();
        assert_eq!(lost, [9, 17, 37, 43, 44]);
    }

    #[test]
    fn losses_come_at_their_rate() {
        let mut losses = Losses::new(0.02, Stream::new(7, Purpose::Loss, 0));
        let lost = mean(1_000_000, || f64::from(u8::from(losses.next_is_lost())));
        assert!((lost - 0.02).abs() < 0.0006, "{lost}");
        let mut none = Losses::new(0.0, Stream::new(7, Purpose::Loss, 0));
        assert!((0..1000).all(|_| !none.next_is_lost()));
        let mut all = Losses::new(1.0, Stream::new(7, Purpose::Loss, 0));
        assert!((0..1000).all(|_| all.next_is_lost()));
    }

    #[test]
    fn distributions_have_their_means() {
        let mut stream = Stream::new(3, Purpose::Traffic, 5);
        let exponential = Distribution::Exponential { mean: 5.0 };
        assert!((mean(100_000, || exponential.draw(&mut stream)) - 5.0).abs() < 0.08);
        let pareto = Distribution::Pareto { scale: 1.0, shape: 3.0, shift: -1.0, cap: 1e9 };
        assert!((mean(100_000, || pareto.draw(&mut stream)) - 0.5).abs() < 0.02);
        let uniform = Distribution::Uniform { low: 2.0, high: 4.0 };
        assert!((mean(100_000, || uniform.draw(&mut stream)) - 3.0).abs() < 0.01);
        let cdf = Distribution::Cdf(vec![(1.0, 0.5), (3.0, 0.75), (7.0, 1.0)]);
        assert_eq!((cdf.check(), cdf.mean()), (Ok(()), 0.5 + 0.5 + 1.25));
        assert_eq!(cdf.mean_below(3.0), 0.5 + 0.5 + 0.75);
        assert!((mean(100_000, || cdf.draw(&mut stream)) - 2.25).abs() < 0.03);
        let falls = Distribution::Cdf(vec![(1.0, 0.5), (0.5, 1.0)]);
        assert!(falls.check().is_err() && Distribution::Cdf(vec![(1.0, 0.5)]).check().is_err());
        let list = Distribution::Empirical(vec![1.0, 2.0, 6.0]);
        assert!((mean(100_000, || list.draw(&mut stream)) - 3.0).abs() < 0.03);
    }
}
