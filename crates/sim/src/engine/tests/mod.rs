//! Tests of the engine: properties of every network, the behaviour of senders, and results known
//! beforehand.

mod effects;
mod figures;
mod hostile;
mod laws;
mod metrics;
mod notified;
mod packets;
mod sender;
mod signals;
mod simulation;
mod variation;

use super::*;
use crate::controllers::AnyController;
use crate::metrics::FlowReport;
use crate::network::{FlowSpec, LinkSpec, Transport};
use crate::traffic::{OnFor, OnOff, Traffic};
use exm_link::{Limit, Service};
use exm_random::Distribution;
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_units::{Bytes, Packets, Probability, Rate, Span};

const PACKET: Bytes = Bytes::new(1500);

/// A RemyCC of one rule for all memory.
fn one_rule(multiple: f64, increment: i32, intersend_ms: f64) -> AnyController {
    let action = Action { multiple, increment, intersend_ms };
    RemyCc::new(&RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action)).into()
}

/// A RemyCC whose window is always `packets`, without pacing.
fn window(packets: i32) -> AnyController {
    one_rule(0.0, packets, 0.0)
}

fn aimd() -> AnyController {
    AnyController::named("aimd").expect("is built in")
}

fn link(rate: Rate, limit: Limit, loss: f64) -> LinkSpec {
    LinkSpec {
        loss: Probability::new(loss).expect("a probability"),
        ..LinkSpec::bottleneck(Service::Fixed(rate), limit)
    }
}

/// 12 Mbps: a packet a millisecond.
fn packet_a_ms(limit: Limit, loss: f64) -> LinkSpec {
    link(Rate::from_mbps(12.0), limit, loss)
}

/// A flow over link 0.
fn flow(delay_ms: u64, controller: AnyController, traffic: OnOff) -> FlowSpec {
    FlowSpec {
        name: "flow".to_owned(),
        path: vec![0],
        back: Vec::new(),
        extra_delay: Span::from_millis(delay_ms),
        packet_size: PACKET,
        transport: Transport::Bare { timer: controller.keeps_timer(), controller },
        traffic: traffic.into(),
        duplex: false,
        foresight: None,
    }
}

fn ever() -> OnOff {
    OnOff::always()
}

fn fixed_packets(count: f64, off_secs: f64) -> OnOff {
    let on = OnFor::Packets(Distribution::Fixed(count));
    OnOff { on, off: Distribution::Fixed(off_secs) }
}

fn fixed_time(on_secs: f64, off_secs: f64) -> OnOff {
    let on = OnFor::Time(Distribution::Fixed(on_secs));
    OnOff { on, off: Distribution::Fixed(off_secs) }
}

fn network(links: Vec<LinkSpec>, flows: Vec<FlowSpec>, duration: Span) -> Network {
    Network::new(links, flows, duration).expect("a sound network")
}

/// One flow over one link.
fn alone(link: LinkSpec, flow: FlowSpec, duration: Span) -> FlowReport {
    run(&network(vec![link], vec![flow], duration), 1).flows.remove(0)
}
