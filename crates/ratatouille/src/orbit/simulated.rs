//! Orbits as the simulator has them.

use super::course::Course;
use super::{IdealLink, Orbit};
use exm_link::{Limit, Service};
use exm_remy::{RemyCc, RuleTable};
use exm_sim::engine::{self, FlowSample, Observer, Pace};
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network, NetworkError};
use exm_sim::traffic::{OnFor, OnOff, Traffic};
use exm_units::{Instant, Span};

/// How many tenths of an RTT each further flow starts after the one before: long after slow starts, and between
/// round trips.
const LATER_TENTHS: u64 = 105;

/// The course of the first flow, by samples.
struct Watched {
    course: Course,
    interval: Span,
}

impl Observer for Watched {
    fn pace(&self) -> Pace {
        Pace::Every(self.interval)
    }

    fn flow(&mut self, sample: &FlowSample) {
        if sample.flow == 0 {
            self.course.set(sample.at, sample.in_flight.get());
        }
    }
}

impl IdealLink {
    /// The orbit of the first of `flows` senders of `table`, simulated by the event engine on the bare host that tables
    /// are designed on. The others start 10.5 RTTs after one another; all stay on.
    ///
    /// # Errors
    /// [`NetworkError`] if the simulator refuses the network.
    pub fn simulate(&self, table: &RuleTable, flows: usize) -> Result<Orbit, NetworkError> {
        let course = Course::new(self, flows);
        let mut watched = Watched { interval: course.interval(), course };
        // Nothing is drawn at random: any seed gives the same.
        engine::run_observed(&self.network(table, flows)?, 1, &mut watched);
        Ok(watched.course.orbit(Instant::ZERO + self.duration()))
    }

    pub(super) fn network(&self, table: &RuleTable, flows: usize) -> Result<Network, NetworkError> {
        let remy = RemyCc::new(table);
        let flow = |number: u64| {
            let start = Instant::ZERO + self.rtt * (LATER_TENTHS * number) / 10;
            let traffic = match number {
                0 => OnOff::always().into(),
                _ => Traffic::Schedule { visits: vec![(start, None)], on: OnFor::Always },
            };
            FlowSpec::new(Host::Bare.transport(remy.clone().into()))
                .extra_delay(self.rtt)
                .packet_size(self.packet)
                .traffic(traffic)
        };
        let link = LinkSpec::bottleneck(Service::Fixed(self.rate), Limit::Unlimited);
        Network::new(vec![link], (0..flows as u64).map(flow).collect(), self.duration())
    }
}
