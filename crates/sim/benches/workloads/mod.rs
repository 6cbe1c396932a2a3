//! The networks that the simulator's speed is measured on: docs/performance.md.

use exm_link::{Limit, QueueKind, Service};
use exm_random::Distribution;
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_sim::controllers::AnyController;
use exm_sim::dumbbell::Dumbbell;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_sim::traffic::{OnFor, OnOff};
use exm_table::TableFile;
use exm_units::{Bytes, Packets, Probability, Rate, Span};
use std::path::Path;

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
        on_and_off(self.on_off_ms / 1000.0)
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
        let network = Network::new(vec![link], vec![flow; self.count], duration);
        network.expect("the network is sound").without_distributions()
    }
}

/// Traffic that is on and off for a mean of `secs` each.
fn on_and_off(secs: f64) -> OnOff {
    let span = Distribution::Exponential { mean: secs };
    OnOff { on: OnFor::Time(span.clone()), off: span }
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

/// A table of the repository.
pub(crate) fn shipped(name: &str) -> RuleTable {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../design/remyccs");
    let file = TableFile::load(folder.join(format!("{name}.json")));
    file.expect("the table is part of the repository").table
}

/// Two bottlenecks in a row, as in the model `parking-two` of designs: a sender of its table over both, and one
/// over each.
pub(crate) fn two_bottlenecks(duration: Span) -> Network {
    let (one_way, buffer) = (Span::from_micros(37_500), Limit::Packets(Packets::new(1000)));
    let link = |mbps, from| {
        LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(mbps)), buffer)
            .ends(from, from + 1)
            .delay(one_way)
    };
    let transport = Host::Bare.transport(RemyCc::new(&shipped("parking-two")).into());
    let flow = |path: &[usize]| {
        FlowSpec::new(transport.clone())
            .path(path)
            .extra_delay(one_way * path.len() as u64)
            .traffic(on_and_off(1.0))
    };
    let (links, flows) = ([link(30.0, 0), link(40.0, 1)], [flow(&[0, 1]), flow(&[0]), flow(&[1])]);
    let network = Network::new(links.into(), flows.into(), duration);
    network.expect("the network is sound").without_distributions()
}

/// A sender of the table `tcp-aware` beside one of NewReno, both over TCP.
pub(crate) fn beside_reno(duration: Span) -> Network {
    let limit = Limit::Packets(Packets::new(250));
    let link = LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(10.0)), limit);
    let remy = RemyCc::new(&shipped("tcp-aware")).into();
    let reno = AnyController::named("reno").expect("a known controller");
    let flow = |controller| {
        FlowSpec::new(Host::Tcp.transport(controller)).extra_delay(RTT).traffic(on_and_off(5.0))
    };
    let flows = vec![flow(remy), flow(reno)];
    let network = Network::new(vec![link], flows, duration);
    network.expect("the network is sound").without_distributions()
}
