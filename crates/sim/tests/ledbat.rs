//! LEDBAT with and without slow start.

mod common;

use common::{Bottleneck, medians};
use exm_random::Distribution;
use exm_sim::traffic::{OnFor, OnOff};
use exm_tcp::Settings;

/// Slow start benefits LEDBAT's short flows: without it they begin with two packets and add less than
/// one per round trip.
#[test]
fn slow_start_doubles_short_flows_of_ledbat() {
    let mbps = |controller| {
        let traffic = OnOff {
            on: OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 }),
            off: Distribution::Exponential { mean: 0.5 },
        };
        let flows = Bottleneck::new(controller, Settings::default(), traffic).shared_by(8);
        medians(&flows.reports(4)).mbps
    };
    let (without, with) = (mbps("ledbat"), mbps("ledbat-slow-start"));
    println!("ledbat {without:.3} Mbps, with slow start {with:.3} Mbps");
    assert!(with > 1.8 * without, "{with} {without}");
}
