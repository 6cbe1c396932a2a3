//! What a network here has beyond what its scenario says, for the simulator to have it too.

use crate::setup::{Sender, ours};
use exm_link::Service;
use exm_random::{Purpose, Stream};
use exm_sim::controllers::AnyController;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, Traffic};
use exm_trace::Trace;
use exm_units::{Instant, Span};
use std::sync::Arc;

/// The least and the most that hosts here add to a round trip, from a packet's arrival to its answer: the least
/// round trips of ping over an emulated link of 40 ms are 40.10 to 40.18 ms.
const HOSTS: (Span, Span) = (Span::from_micros(100), Span::from_micros(180));

/// How late a packet may be, though it is not always: whoever carries it has to wake first. A recording's
/// opportunities are at whole milliseconds, and a session that answers each to the nanosecond is never out of
/// step with them, as one here soon is.
const LATENESS: Span = Span::from_micros(200);

/// How much later than the link a sender may begin: a tick of Sprout's, whose ticks then lie anywhere between
/// the opportunities of a recording.
const BEGINNING: Span = Span::from_millis(20);

/// `network` as it is here, where `sender` sends, in a run whose chances are drawn from `seed`.
pub(crate) fn alike(network: &Network, sender: &Sender, seed: u64) -> Network {
    let alike = network.clone().changed(|links, flows| liken(links, flows, sender, seed));
    // A delay that can be no longer stays what it is.
    alike.unwrap_or_else(|_| network.clone())
}

fn liken(links: &mut [LinkSpec], flows: &mut [FlowSpec], sender: &Sender, seed: u64) {
    let mut chance = Stream::new(seed, Purpose::Hosts, 0);
    let mut below = |most: Span| Span::from_nanos(chance.below(most.as_nanos() as usize) as u64);
    for flow in flows {
        flow.extra_delay += HOSTS.0 + below(HOSTS.1 - HOSTS.0);
        let begins = Instant::ZERO + below(BEGINNING);
        flow.traffic = Traffic::Schedule { visits: vec![(begins, None)], on: OnFor::Ever };
        send_alike(flow, sender);
    }
    for link in links {
        if let Service::Trace(trace) = &mut link.service {
            let mut times: Vec<Instant> =
                trace.times().iter().map(|&at| at + below(LATENESS)).collect();
            times.sort_unstable();
            // Late by less than a millisecond it is as sound as it was, but at the end of time.
            if let Some(late) = Trace::new(times) {
                *trace = Arc::new(late);
            }
        }
    }
}

/// What sends here: Sprout's packets of the size that forecasts count, or the TCP that does as the kernel's.
fn send_alike(flow: &mut FlowSpec, sender: &Sender) {
    match (sender, &mut flow.transport) {
        (Sender::Sprout(settings), _) => flow.packet_size = settings.sprout().packet,
        (Sender::Tcp(name), Transport::Tcp { controller, .. }) => {
            *controller = AnyController::named(ours(name)).expect("a case has it, or one like it");
        }
        (Sender::Tcp(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Run;
    use crate::setup::tests::plan;
    use exm_units::Bytes;

    #[test]
    fn the_simulator_has_what_hosts_take_and_sessions_send() {
        let controls = ["reno", "cubic"].map(str::to_owned);
        for (name, alike_name, size) in
            [("reno", "reno", 1500), ("cubic", "cubic-linux", 1500), ("sprout", "sprout", 1423)]
        {
            let [plan, other] =
                [name, alike_name].map(|name| plan("\"cubic\"", &format!("\"{name}\"")));
            let case = &plan.cases[0];
            let run = Run::of(case, &controls).expect("can be run");
            let networks = [1, 2].map(|seed| alike(&case.network, &run.sender, seed));
            let [ours, another] = networks.each_ref().map(|network| &network.flows()[0]);
            assert_eq!(ours.packet_size, Bytes::new(size), "{name}");
            let added = ours.extra_delay - case.network.flows()[0].extra_delay;
            assert!((HOSTS.0..=HOSTS.1).contains(&added), "{added}");
            assert_ne!(ours.extra_delay, another.extra_delay, "each run is another");
            assert_ne!(ours.traffic, another.traffic);
            let transports = [ours, &other.cases[0].network.flows()[0]];
            let [ours, wanted] = transports.map(|flow| format!("{:?}", flow.transport));
            assert_eq!(ours, wanted);
        }
    }

    #[test]
    fn opportunities_come_a_little_late() {
        let plan = plan("rate = \"8 Mbps\"", "trace = \"lte\"");
        let case = &plan.cases[0];
        let run = Run::of(case, &["cubic".to_owned()]).expect("can be run");
        let times = |network: &Network| match &network.links()[0].service {
            Service::Trace(trace) => trace.times().to_vec(),
            Service::Fixed(_) => panic!("it has a trace"),
        };
        let (planned, late) = (times(&case.network), times(&alike(&case.network, &run.sender, 1)));
        assert_eq!(planned.len(), late.len());
        let pairs = planned.iter().zip(&late);
        assert!(
            pairs.clone().all(|(planned, late)| (*planned..*planned + LATENESS).contains(late))
        );
        assert!(pairs.filter(|(planned, late)| planned != late).count() > planned.len() / 2);
    }
}
