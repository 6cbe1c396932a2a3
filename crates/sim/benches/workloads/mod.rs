//! The networks that the simulator's speed is measured on: docs/performance.md.

use exm_link::{Limit, QueueKind, Service};
use exm_random::Distribution;
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_sim::controllers::AnyController;
use exm_sim::dumbbell::Dumbbell;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_sim::traffic::{OnFor, OnOff};
use exm_units::{Bytes, Packets, Probability, Rate, Span};

const PACKET: Bytes = Bytes::new(1500);
/// Every path's round-trip propagation delay.
const RTT: Span = Span::from_millis(150);

/// Senders of one table that share a link without a limit to its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Senders {
    pub(crate) count: usize,
    pub(crate) packets_per_ms: f64,
    /// The mean of their on and of their off times.
    pub(crate) on_off_ms: f64,
}

impl Senders {
    fn traffic(&self) -> OnOff {
        let span = Distribution::Exponential { mean: self.on_off_ms / 1000.0 };
        OnOff { on: OnFor::Time(span.clone()), off: span }
    }

    fn rate(&self) -> Rate {
        Rate::from_packets_per_ms(self.packets_per_ms, PACKET)
    }

    /// Their network, for the fast path.
    pub(crate) fn dumbbell(&self, duration: Span) -> Dumbbell {
        Dumbbell {
            rate: self.rate(),
            packet: PACKET,
            buffer: None,
            loss: Probability::ZERO,
            delays: vec![RTT; self.count],
            traffic: self.traffic(),
            duration,
        }
    }

    /// Their network, for the event engine.
    pub(crate) fn network(&self, table: &RuleTable, duration: Span) -> Network {
        let link = LinkSpec::bottleneck(Service::Fixed(self.rate()), Limit::Unlimited);
        let flow = FlowSpec::new(Host::Bare.transport(RemyCc::new(table).into()))
            .extra_delay(RTT)
            .traffic(self.traffic());
        Network::new(vec![link], vec![flow; self.count], duration).expect("the network is sound")
    }
}

/// A table of one rule, which every memory hits.
pub(crate) fn one_rule() -> RuleTable {
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 3.0 };
    RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action)
}

/// Eight TCP senders of 100 kB flows: the papers' standard network of 15 Mbps and 1000 packets.
pub(crate) fn tcp(controller: &str, queue: &str, duration: Span) -> Network {
    let limit = Limit::Packets(Packets::new(1000));
    let link = LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(15.0)), limit)
        .queue(QueueKind::named(queue).expect("a known discipline"));
    let on = OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 });
    let controller = AnyController::named(controller).expect("a known controller");
    let flow = FlowSpec::new(Host::Tcp.transport(controller))
        .extra_delay(RTT)
        .traffic(OnOff { on, off: Distribution::Exponential { mean: 0.5 } });
    Network::new(vec![link], vec![flow; 8], duration).expect("the network is sound")
}
