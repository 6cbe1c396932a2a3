//! A number that tells configurations of links apart.

use crate::{PathSpec, Setup};
use exm_link::Service;

/// A number that tells configurations apart, in 16 digits: the same for the same paths, traces to the
/// nanosecond, and seed. It tells apart what differs by accident, not what somebody makes alike.
pub fn fingerprint(setup: &Setup) -> String {
    // FNV-1a of 64 bits (Fowler, Noll & Vo).
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for path in [&setup.up, &setup.down] {
        let PathSpec { propagation, reordering, loss, bursts, queue, limit, service } = path;
        let text =
            format!("{propagation:?} {reordering:?} {loss:?} {bursts:?} {queue:?} {limit:?}");
        add(text.as_bytes());
        match service {
            Service::Fixed(rate) => add(&rate.as_bps().to_le_bytes()),
            Service::Trace(trace) => {
                trace.times().iter().for_each(|time| add(&time.as_nanos().to_le_bytes()));
            }
        }
    }
    add(&setup.seed.to_le_bytes());
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::{Probability, Rate};

    #[test]
    fn whatever_changes_packets_changes_it() {
        let path = PathSpec::new(Service::Fixed(Rate::from_mbps(1.0)));
        let setup = Setup::new(path.clone(), path.clone());
        let of = |setup: &Setup| fingerprint(setup);
        assert_eq!(of(&setup), of(&setup.clone()));
        assert_ne!(of(&setup), of(&Setup { seed: 2, ..setup.clone() }));
        let lossy = PathSpec { loss: Probability::new(0.1).unwrap(), ..path.clone() };
        assert_ne!(of(&setup), of(&Setup::new(lossy.clone(), path.clone())));
        assert_ne!(of(&Setup::new(path.clone(), lossy.clone())), of(&Setup::new(lossy, path)));
    }
}
