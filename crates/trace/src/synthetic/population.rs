//! A population of links, for tests on links that nothing was tuned for.

use super::presets::{exp, heavy, interruption, regime};
use super::{Cox, Interruption, Regime, Synthetic};
use exm_random::Distribution::{self, Uniform};
use exm_units::{Rate, Span};

/// The slowest link's rate in Mbps, and that of the fastest over it.
const SLOWEST: f64 = 0.1;
const RANGE: f64 = 3000.0;
/// The exponential stages of a gap between opportunities: a Poisson process, and ever more even ones.
const STAGES: [u32; 4] = [1, 1, 4, 30];
/// The slots of the radio, in microseconds; none at zero. The longest ones deliver in bursts.
const SLOTS: [u64; 6] = [0, 1000, 2000, 5000, 10_000, 20_000];
/// How far the rate wanders in a second, as a part of it, and the time to revert in seconds.
const WANDERING: [(f64, f64); 4] = [(0.02, 5.0), (0.2, 3.0), (0.5, 2.0), (1.0, 1.0)];
/// The mean time in seconds between fades to other rates; none at zero.
const FADES: [f64; 4] = [0.0, 0.5, 4.0, 25.0];
/// The rates of fades, as parts of the rate.
const DEPTHS: [f64; 3] = [1.0, 0.45, 0.12];

/// Link `seed` of the population. Two successive numbers from an odd one on, such as 7 and 8, are the two directions
/// of a network: they have the same character, and the second at most the rate of the first.
pub(super) fn drawn(seed: u64) -> Synthetic {
    let network = seed.div_ceil(2);
    let [rate, stages, slot, wandering, fades, outages, ratio] = coordinates(network);
    let ratio = if seed.is_multiple_of(2) { 0.2 + 0.8 * ratio } else { 1.0 };
    let mbps = SLOWEST * libm::pow(RANGE, rate) * ratio;
    let pace = (mbps * 1e6 / 12_000.0).max(1.0);
    let (part, pull) = pick(&WANDERING, wandering);
    let wander = |depth: f64| Cox {
        mean: Rate::from_bps((mbps * depth * 1e6) as u64),
        max: Rate::from_bps((mbps * depth * 2.5e6) as u64),
        volatility: pace * depth * part,
        pull: Span::from_secs_f64(pull),
        outage: Span::from_millis(200),
    };
    let regimes = match pick(&FADES, fades) {
        0.0 => vec![Regime { rate: wander(1.0), dwell: None, weight: 1.0 }],
        every => DEPTHS.map(|depth| regime(wander(depth), exp(every), depth.sqrt())).to_vec(),
    };
    let slot = Some(Span::from_micros(pick(&SLOTS, slot))).filter(|slot| !slot.is_zero());
    let interruptions = pick(&INTERRUPTIONS, outages).iter().map(|make| make()).collect();
    let stages = pick(&STAGES, stages);
    Synthetic { regimes, interruptions, slot, stages, ..Synthetic::EMPTY }
}

/// Kinds of interruptions: none, handovers, handovers and long outages, and gaps of any length at any time.
const INTERRUPTIONS: [&[fn() -> Interruption]; 4] =
    [&[], &[handovers], &[handovers, outages], &[gaps]];

fn handovers() -> Interruption {
    interruption(exp(20.0), Uniform { low: 0.04, high: 0.15 })
}

fn outages() -> Interruption {
    interruption(exp(40.0), heavy(0.3, 1.3, 15.0))
}

fn gaps() -> Interruption {
    let lengths: Distribution = heavy(0.01, 1.4, 1.0);
    interruption(exp(0.6), lengths)
}

/// The one of `all` at the fraction `part`.
fn pick<T: Copy>(all: &[T], part: f64) -> T {
    all[((part * all.len() as f64) as usize).min(all.len() - 1)]
}

/// Point `index` of a sequence that fills the unit cube evenly from the start: any few links in a row are diverse. It
/// adds the powers of the inverse of the root of x^8 = x + 1 (Roberts 2018, the sequence R_d for d = 7).
fn coordinates(index: u64) -> [f64; 7] {
    const ROOT: f64 = 1.096_981_557_798_559_8;
    std::array::from_fn(|dimension| {
        let step = libm::pow(ROOT, -(dimension as f64 + 1.0));
        (0.5 + step * index as f64).fract()
    })
}
