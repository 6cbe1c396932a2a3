//! The simulated twin of a live run: the scenario's network with the overhead of real hosts added.

use crate::live::setup::{Sender, ours};
use exm_link::Service;
use exm_random::{Distribution, Purpose, Stream};
use exm_sim::controllers::AnyController;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, Traffic};
use exm_trace::Trace;
use exm_units::{Instant, Span};
use std::sync::Arc;

/// The least and the most that a host adds to a round trip between a packet's arrival and its ACK: the
/// minimum RTTs of ping over an emulated link of 40 ms are 40.10 to 40.18 ms.
const HOST_DELAY: (Span, Span) = (Span::from_micros(100), Span::from_micros(180));

/// By how much longer than the least a round trip takes, on average: a ping of 100 packets a second over an emulated link
/// takes 42 us longer (`ping` inside `exm cellsim`). To most senders it is nothing. A table that was designed
/// where RTTs are exact may take a ratio of 1.0007 for a queue.
const HOST_JITTER: Distribution = Distribution::Exponential { mean: 42e-6 };

/// The most by which a packet is late because the thread that forwards it has to wake up first. Recorded
/// delivery opportunities lie at whole milliseconds; without this jitter a simulated session stays in
/// phase with them, which a live one does not.
const LATENESS: Span = Span::from_micros(200);

/// The longest time between the start of the link and that of the sender: one Sprout tick, so that ticks
/// have any phase relative to the recorded delivery opportunities.
const START_DELAY: Span = Span::from_millis(20);

/// The simulated twin of `network` with these senders, one for each flow, for the run with the random seed `seed`.
pub(crate) fn twin_network(network: &Network, senders: &[Sender], seed: u64) -> Network {
    let twin =
        network.clone().changed(|links, flows| add_host_overhead(links, flows, senders, seed));
    // A delay that is already the longest possible stays as it is.
    twin.unwrap_or_else(|_| network.clone())
}

fn add_host_overhead(
    links: &mut [LinkSpec],
    flows: &mut [FlowSpec],
    senders: &[Sender],
    seed: u64,
) {
    let mut random = Stream::new(seed, Purpose::Hosts, 0);
    let mut below = |most: Span| Span::from_nanos(random.below(most.as_nanos() as usize) as u64);
    for (flow, sender) in flows.iter_mut().zip(senders) {
        flow.extra_delay += HOST_DELAY.0 + below(HOST_DELAY.1 - HOST_DELAY.0);
        let begins = Instant::ZERO + below(START_DELAY);
        if *flow.traffic.on() == OnFor::Always {
            flow.traffic = Traffic::Schedule { visits: vec![(begins, None)], on: OnFor::Always };
        }
        match_sender(flow, sender);
    }
    let tables = flows.iter().zip(senders).filter(|(_, sender)| matches!(sender, Sender::Table(_)));
    // Where ACKs cross no link, the jitter is on the way there: a round trip is the same.
    let jittered = |flow: &FlowSpec| flow.back.first().or(flow.path.first()).copied();
    for link in tables.filter_map(|(flow, _)| jittered(flow)) {
        links[link].jitter = HOST_JITTER;
    }
    for link in links {
        if let Service::Trace(trace) = &mut link.service {
            let mut times: Vec<Instant> =
                trace.times().iter().map(|&at| at + below(LATENESS)).collect();
            times.sort_unstable();
            // Shifting it by less than a millisecond keeps a trace valid, except at the end of time.
            if let Some(late) = Trace::new(times) {
                *trace = Arc::new(late);
            }
        }
    }
}

/// Makes the flow send as `sender` does: Sprout packets of the size that forecasts count, or the simulated
/// TCP that is closest to the kernel's.
fn match_sender(flow: &mut FlowSpec, sender: &Sender) {
    match (sender, &mut flow.transport) {
        (Sender::Sprout(settings), _) => flow.packet_size = settings.sprout().packet,
        (Sender::Tcp(name), Transport::Tcp { controller, .. }) => {
            *controller = AnyController::named(ours(name)).expect("known to the plan");
        }
        // A RemyCC is what it is in the simulator, and so is its host: TCP.
        (Sender::Tcp(_) | Sender::Table(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::setup::Run;
    use crate::live::setup::tests::plan;
    use exm_units::Bytes;

    fn senders(run: &Run<'_>) -> Vec<Sender> {
        run.flows.iter().map(|(_, sender)| sender.clone()).collect()
    }

    #[test]
    fn the_twin_has_the_hosts_overhead_and_the_sessions_packets() {
        let controls = ["reno", "cubic"].map(str::to_owned);
        for (name, alike_name, size) in
            [("reno", "reno", 1500), ("cubic", "cubic-linux", 1500), ("sprout", "sprout", 1423)]
        {
            let [plan, other] =
                [name, alike_name].map(|name| plan("\"cubic\"", &format!("\"{name}\"")));
            let case = &plan.cases[0];
            let run = Run::of(case, &controls).expect("can be run");
            let networks = [1, 2].map(|seed| twin_network(&case.network, &senders(&run), seed));
            let [ours, another] = networks.each_ref().map(|network| &network.flows()[0]);
            assert_eq!(ours.packet_size, Bytes::new(size), "{name}");
            let added = ours.extra_delay - case.network.flows()[0].extra_delay;
            assert!((HOST_DELAY.0..=HOST_DELAY.1).contains(&added), "{added}");
            assert_ne!(ours.extra_delay, another.extra_delay, "each run differs");
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
        let (planned, late) =
            (times(&case.network), times(&twin_network(&case.network, &senders(&run), 1)));
        assert_eq!(planned.len(), late.len());
        let pairs = planned.iter().zip(&late);
        assert!(
            pairs.clone().all(|(planned, late)| (*planned..*planned + LATENESS).contains(late))
        );
        assert!(pairs.filter(|(planned, late)| planned != late).count() > planned.len() / 2);
    }
}
