//! Beside the paper's numbers, and the original's.

use crate::{Counts, Filter, Model};

/// The forecasts of the original program, of packets of 1442 bytes, after so many ticks of so many
/// packets each, one after the other.
const ORIGINAL: &[(usize, u64, [u64; 8])] = &[
    (0, 0, [1, 1, 3, 4, 5, 6, 8, 9]),
    (10, 5, [2, 5, 8, 11, 14, 18, 21, 24]),
    (40, 5, [2, 4, 8, 11, 14, 18, 21, 24]),
    (1, 0, [1, 2, 4, 6, 8, 10, 12, 14]),
    (1, 0, [0, 0, 1, 1, 2, 3, 4, 5]),
    (1, 0, [0; 8]),
    (100, 20, [12, 28, 45, 61, 78, 95, 112, 130]),
    (100, 30, [13, 29, 46, 64, 81, 99, 116, 134]),
    (100, 1, [0, 0, 0, 1, 1, 2, 3, 4]),
];

#[test]
fn forecasts_are_the_originals() {
    let mut filter = Filter::new(Model::default());
    for &(ticks, packets, expected) in ORIGINAL {
        for _ in 0..ticks {
            filter.evolve();
            filter.observe(packets);
        }
        let Counts(counts) = filter.forecast(0.05);
        println!("{ticks:3} of {packets:2}: {counts:?} original {expected:?}");
    }
}
