//! A number that identifies configurations of links.
//!
//! It is the 64-bit FNV-1a hash of text with a line for each setting that affects packets: first those of
//! the path up, then those of the path down, each line beginning with `up` or `down`; last the seed.
//!
//! | line | then |
//! |---|---|
//! | `propagation` | the delay; or the times and delays of the schedule in turn |
//! | `reordering` | the probability and the additional delay, or `none` |
//! | `loss` | the probability |
//! | `bursts` | the probabilities to turn bad, to turn good, of loss while good and while bad, or `none` |
//! | `queue` | the discipline's name, and each of its parameters, such as `ecn=true` |
//! | `limit` | a number of `packets` or `bytes`, or `unlimited` |
//! | `rate` or `trace` | in bits per second; or its opportunities |
//! | `seed` | as it is |
//!
//! Times are in whole nanoseconds; probabilities are the shortest decimals that parse as the same number.

use crate::path::Propagation;
use crate::{PathSpec, Setup};
use exm_link::{Limit, Service};
use exm_units::Fnv1a;
use std::fmt::{self, Write};

/// A number that identifies a configuration, in 16 digits: the same for the same paths, traces to the
/// nanosecond, and seed. It detects accidental differences, not forgeries.
pub fn fingerprint(setup: &Setup) -> String {
    let mut hash = Fnv1a::new();
    write(setup, &mut hash).expect("a hash takes any text");
    hash.to_string()
}

fn write(setup: &Setup, out: &mut impl Write) -> fmt::Result {
    write_path("up", &setup.up, out)?;
    write_path("down", &setup.down, out)?;
    writeln!(out, "seed {}", setup.seed)
}

fn write_path(name: &str, path: &PathSpec, out: &mut impl Write) -> fmt::Result {
    let PathSpec { propagation, reordering, loss, bursts, queue, limit, service } = path;
    write!(out, "{name} propagation")?;
    match propagation {
        Propagation::Fixed(delay) => write!(out, " {}", delay.as_nanos())?,
        Propagation::Varying(schedule) => schedule
            .steps()
            .iter()
            .try_for_each(|(at, delay)| write!(out, " {} {}", at.as_nanos(), delay.as_nanos()))?,
    }
    write!(out, "\n{name} reordering ")?;
    match reordering {
        Some(some) => write!(out, "{} {}", some.probability, some.extra.as_nanos())?,
        None => out.write_str("none")?,
    }
    write!(out, "\n{name} loss {loss}\n{name} bursts ")?;
    match bursts {
        Some(some) => {
            let (good, bad) = (some.loss_in_good, some.loss_in_bad);
            write!(out, "{} {} {good} {bad}", some.to_bad, some.to_good)?;
        }
        None => out.write_str("none")?,
    }
    write!(out, "\n{name} queue {}", queue.name())?;
    for (parameter, value) in queue.settings().parameters() {
        write!(out, " {parameter}={value}")?;
    }
    write!(out, "\n{name} limit ")?;
    match limit {
        Limit::Packets(packets) => write!(out, "{} packets", packets.get())?,
        Limit::Bytes(bytes) => write!(out, "{} bytes", bytes.get())?,
        Limit::Unlimited => out.write_str("unlimited")?,
    }
    match service {
        Service::Fixed(rate) => write!(out, "\n{name} rate {}", rate.as_bps())?,
        Service::Trace(trace) => {
            write!(out, "\n{name} trace")?;
            trace.times().iter().try_for_each(|at| write!(out, " {}", at.as_nanos()))?;
        }
    }
    out.write_char('\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Bursts, Reordering, Schedule};
    use exm_link::QueueKind;
    use exm_trace::Trace;
    use exm_units::{Instant, Packets, Probability, Rate, Span};
    use std::sync::Arc;

    #[test]
    fn every_setting_changes_it() {
        let path = PathSpec::new(Service::Fixed(Rate::from_mbps(1.0)));
        let setup = Setup::new(path.clone(), path.clone());
        let of = |setup: &Setup| fingerprint(setup);
        assert_eq!(of(&setup), of(&setup.clone()));
        assert_ne!(of(&setup), of(&Setup { seed: 2, ..setup.clone() }));
        let lossy = PathSpec { loss: Probability::new(0.1).unwrap(), ..path.clone() };
        assert_ne!(of(&setup), of(&Setup::new(lossy.clone(), path.clone())));
        assert_ne!(of(&Setup::new(path.clone(), lossy.clone())), of(&Setup::new(lossy, path)));
    }

    /// Logs of different years are compared by it: neither the text nor the hash may change unnoticed.
    #[test]
    fn the_text_and_its_hash_are_pinned() {
        let ms = |ms| Instant::ZERO + Span::from_millis(ms);
        let probability = |value| Probability::new(value).unwrap();
        let steps = vec![(ms(0), Span::from_millis(5)), (ms(1000), Span::from_micros(7500))];
        let trace = Trace::new([1, 2, 4].map(ms).into()).unwrap();
        let up = PathSpec {
            propagation: Propagation::Varying(Arc::new(Schedule::new(steps).unwrap())),
            reordering: Some(Reordering {
                probability: probability(0.01),
                extra: Span::from_millis(3),
            }),
            bursts: Bursts::of(probability(0.2), 4.0),
            queue: QueueKind::named("codel").unwrap(),
            limit: Limit::Packets(Packets::new(50)),
            ..PathSpec::new(Service::Trace(Arc::new(trace)))
        };
        let down = PathSpec {
            propagation: Propagation::Fixed(Span::from_millis(20)),
            loss: probability(0.5),
            ..PathSpec::new(Service::Fixed(Rate::from_mbps(1.5)))
        };
        let setup = Setup { seed: 7, ..Setup::new(up, down) };
        let mut text = String::new();
        write(&setup, &mut text).unwrap();
        let expected = "up propagation 0 5000000 1000000000 7500000
up reordering 0.01 3000000
up loss 0
up bursts 0.0625 0.25 0 1
up queue codel target=5ms interval=100ms mtu=1.5kB ecn=true ce_threshold=0ns ce_low_latency=false
up limit 50 packets
up trace 1000000 2000000 4000000
down propagation 20000000
down reordering none
down loss 0.5
down bursts none
down queue drop-tail
down limit unlimited
down rate 1500000
seed 7
";
        assert_eq!(text, expected);
        assert_eq!(fingerprint(&setup), "8932af99635ba9ff");
    }
}
