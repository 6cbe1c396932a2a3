//! Presets of synthetic links.

use super::{BlockErrors, Cox, Frames, Interruption, Regime, Synthetic, population};
use exm_random::Distribution::{self, Exponential, Fixed, Pareto, Uniform};
use exm_units::{Rate, Span};

impl Synthetic {
    /// The names of the links that [`Synthetic::named`] knows, each with a description.
    pub const PRESETS: &'static [(&'static str, &'static str)] = &[
        ("3g", "3G, standing and walking: 2 Mbps, occasionally seconds without service"),
        ("umts", "UMTS, driving: below 2 Mbps, handovers and long outages"),
        ("lte", "LTE, driving: 6 Mbps, short handovers, rarely an outage"),
        ("5g", "5G: 100 to 700 Mbps in slots of half a millisecond"),
        ("5g-mid", "5G at mid band: 150 Mbps, failed blocks sent again after 3 ms"),
        ("wifi", "Wi-Fi beside others: 100 Mbps in frames of 4 ms"),
        ("satellite", "low Earth orbit: 100 Mbps, a new rate every 15 s after a short gap"),
        ("geo", "geostationary orbit: a steady 20 Mbps"),
        ("cox", "Sprout's model: any rate up to 12 Mbps"),
        ("lte-like", "a Cox process of 5 Mbps, for experiments"),
        ("umts-like", "a Cox process of 2 Mbps with many outages, for experiments"),
        ("any", "link SEED of a population: 0.1 to 300 Mbps, even or bursty, steady or fading"),
    ];

    /// The names of [`Synthetic::PRESETS`].
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::PRESETS.iter().map(|&(name, _)| name)
    }

    /// The preset called `name`, with fixed constants, so that everyone uses the same link; of the population
    /// `any`, link 1.
    ///
    /// The constants are orders of magnitude, not measurements of a particular network. `lte-like`
    /// and `umts-like` offer on average 5.0 and 2.0 Mbps including their outages, as the published
    /// traces of the Verizon LTE and T-Mobile UMTS downlinks do.
    pub fn named(name: &str) -> Option<Synthetic> {
        Synthetic::seeded(name, 1)
    }

    /// As [`Synthetic::named`]; of the population `any`, link number `seed`. Its links differ in rate (0.1 to 300
    /// Mbps), evenness, fading and outages; two successive numbers from an odd one on are the directions of a network.
    pub fn seeded(name: &str, seed: u64) -> Option<Synthetic> {
        let second = Span::from_secs(1);
        Some(match name {
            "3g" => three_g(),
            "umts" => umts(),
            "lte" => lte(),
            "5g" => five_g(),
            "5g-mid" => five_g_mid(),
            "wifi" => wifi(),
            "satellite" => low_orbit(),
            "geo" => cox(20.0, 25.0, (40.0, second * 20)).into(),
            "cox" => Cox::SPROUT.into(),
            "lte-like" => cox(5.35, 12.0, (200.0, second * 2)).into(),
            "any" => population::drawn(seed),
            "umts-like" => cox(2.7, 7.0, (200.0, second)).into(),
            _ => return None,
        })
    }
}

/// A rate around `mean`, up to `max` Mbps, with a volatility and a pull; outages last a second on
/// average.
fn cox(mean: f64, max: f64, (volatility, pull): (f64, Span)) -> Cox {
    let (mean, max) = (Rate::from_mbps(mean), Rate::from_mbps(max));
    Cox { mean, max, volatility, pull, outage: Span::from_secs(1) }
}

pub(super) fn regime(rate: Cox, dwell: Distribution, weight: f64) -> Regime {
    Regime { rate, dwell: Some(dwell), weight }
}

/// Times with a power-law tail: at least `least` and at most `most` seconds.
pub(super) fn heavy(least: f64, alpha: f64, most: f64) -> Distribution {
    Pareto { scale: least, shape: alpha, shift: 0.0, cap: most }
}

pub(super) fn exp(mean: f64) -> Distribution {
    Exponential { mean }
}

pub(super) fn interruption(every: Distribution, lasts: Distribution) -> Interruption {
    Interruption { every, lasts }
}

fn three_g() -> Synthetic {
    let moving = |mean, max| cox(mean, max, (60.0, Span::from_secs(2)));
    Synthetic {
        regimes: vec![
            regime(moving(2.8, 6.0), exp(40.0), 1.0),
            regime(moving(1.6, 5.0), exp(30.0), 1.0),
        ],
        interruptions: vec![interruption(exp(60.0), heavy(0.3, 1.5, 10.0))],
        slot: Some(Span::from_millis(2)),
        ..Synthetic::EMPTY
    }
}

fn umts() -> Synthetic {
    let driving = |mean, max| cox(mean, max, (mean * 35.0, Span::from_secs(2)));
    Synthetic {
        regimes: vec![
            regime(driving(2.4, 6.0), exp(20.0), 2.0),
            regime(driving(1.4, 4.0), exp(20.0), 2.0),
            regime(driving(0.5, 2.0), exp(10.0), 1.0),
        ],
        interruptions: vec![interruption(exp(25.0), heavy(0.4, 1.2, 30.0))],
        slot: Some(Span::from_millis(10)),
        ..Synthetic::EMPTY
    }
}

fn lte() -> Synthetic {
    // A rate of zero lasts only briefly here: the interruptions below are the long ones.
    let outage = Span::from_millis(150);
    let driving = |mean, max| Cox { outage, ..cox(mean, max, (200.0, Span::from_secs(2))) };
    Synthetic {
        regimes: vec![
            regime(driving(9.0, 20.0), exp(15.0), 1.0),
            regime(driving(5.5, 14.0), exp(20.0), 2.0),
            regime(driving(2.5, 8.0), exp(10.0), 1.0),
        ],
        interruptions: vec![
            interruption(exp(30.0), Uniform { low: 0.04, high: 0.12 }),
            interruption(exp(180.0), heavy(0.3, 1.3, 10.0)),
        ],
        slot: Some(Span::from_millis(1)),
        ..Synthetic::EMPTY
    }
}

fn five_g() -> Synthetic {
    let beam = |mean, max| cox(mean, max, (6000.0, Span::from_secs(1)));
    Synthetic {
        regimes: vec![
            regime(beam(500.0, 1000.0), exp(12.0), 2.0),
            regime(beam(120.0, 400.0), exp(6.0), 1.0),
        ],
        interruptions: vec![interruption(exp(20.0), Uniform { low: 0.02, high: 0.08 })],
        slot: Some(Span::from_micros(500)),
        ..Synthetic::EMPTY
    }
}

/// A tenth of blocks fail at first, which is the usual target of rate adaptation (3GPP TS 38.214, section 5.2.2.1).
fn five_g_mid() -> Synthetic {
    let (probability, step, retries) = (0.1, Span::from_millis(3), 3);
    Synthetic {
        slot: Some(Span::from_micros(500)),
        block_errors: Some(BlockErrors { probability, step, retries }),
        ..cox(150.0, 300.0, (2000.0, Span::from_secs(1))).into()
    }
}

/// 4 ms of air is what many drivers allow; a millisecond of medium access is a medium that some others use.
fn wifi() -> Synthetic {
    Synthetic {
        frames: Some(Frames { airtime: Span::from_millis(4), access: exp(0.001) }),
        ..cox(125.0, 200.0, (1500.0, Span::from_secs(1))).into()
    }
}

/// A new satellite is assigned every 15 s, as measured for the largest such network (Mohan et al.,
/// *A multifaceted look at Starlink performance*, WWW 2024).
fn low_orbit() -> Synthetic {
    let assigned = |mean, max| cox(mean, max, (800.0, Span::from_millis(500)));
    Synthetic {
        regimes: vec![
            regime(assigned(110.0, 250.0), Fixed(15.0), 3.0),
            regime(assigned(170.0, 300.0), Fixed(15.0), 2.0),
            regime(assigned(50.0, 150.0), Fixed(15.0), 1.0),
        ],
        interruptions: vec![
            interruption(Fixed(15.0), Uniform { low: 0.02, high: 0.12 }),
            interruption(exp(180.0), heavy(0.3, 1.3, 5.0)),
        ],
        slot: Some(Span::from_nanos(1_333_333)),
        ..Synthetic::EMPTY
    }
}
