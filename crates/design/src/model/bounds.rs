//! Refuses models whose specimens would take too long to simulate.

use super::classes::Class;
use super::error::Problem;
use super::networks::Networks;
use super::quantities::Senders;
use super::section::Section;
use super::traffic::Bursts;
use exm_random::Distribution;
use exm_sim::traffic::OnFor;
use exm_units::Span;

/// The maximum expected number of flows in one specimen: a hundred times that of our busiest model,
/// simulated in about a second.
const MAX_FLOWS: f64 = 1e6;
/// The maximum number of packets that one specimen's link may carry: some minutes of simulation.
const MAX_PACKETS: u64 = 1_000_000_000;

/// Refuses a model that has a specimen with more flows or packets than that; `top` is its file.
pub(super) fn check(
    top: Section<'_>,
    networks: &Networks,
    classes: &[Class],
    duration: Span,
) -> Result<(), Problem> {
    let at = |section, key, what| {
        let value = top.section(section)?.get(key);
        Err(value.map_or_else(
            || Problem::nowhere(&what),
            |value| Problem::at(value.span().start, &what),
        ))
    };
    let service = networks.shortest_service().as_nanos();
    let longest = Span::from_nanos(service.saturating_mul(MAX_PACKETS));
    if duration > longest {
        let what = format!(
            "a specimen's link carries up to {MAX_PACKETS} packets, at this rate for {longest}: \
             let \"duration\" be no longer, or \"rate\" lower"
        );
        return at("network", "rate", what);
    }
    let flows: f64 = classes.iter().map(|class| expected_flows(networks, class, duration)).sum();
    if flows > MAX_FLOWS {
        let what = format!(
            "a specimen has up to {MAX_FLOWS} flows, and here {flows:.0e} are to be expected: let \
             \"on\" or \"off\" be longer, \"senders\" fewer or \"duration\" shorter"
        );
        return at("traffic", "on", what);
    }
    Ok(())
}

/// How many flows of a class are to be expected of a specimen at the worst, an amount
/// of data taking a round trip and its time on the fastest link.
fn expected_flows(networks: &Networks, class: &Class, duration: Span) -> f64 {
    let (seconds, traffic) = (duration.as_secs_f64(), &class.traffic);
    let shortest_rtt = class.rtt_extremes(networks).0.as_secs_f64();
    let (_, Senders(senders)) = class.count.ends();
    let service = networks.shortest_service().as_secs_f64();
    let data = |amount: &Distribution, packet: f64| {
        let packets = amount.mean_below(packet * seconds / service) / packet;
        shortest_rtt + packets.max(1.0) * service
    };
    let on = match &traffic.on {
        OnFor::Always | OnFor::Video(_) => seconds,
        OnFor::Time(time) => time.mean_below(seconds),
        OnFor::Packets(amount) => data(amount, 1.0),
        OnFor::Bytes(amount) => data(amount, networks.packet.get() as f64),
    };
    // What lasts longer than the specimen ends with it: of a mean that owes all to a few values so
    // long, a specimen sees nothing.
    let off = traffic.off.mean_below(seconds);
    if let Some(Bursts { every, .. }) = class.bursts {
        return senders as f64 * seconds / every.as_secs_f64();
    }
    senders as f64 * seconds / (on + off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::tests::{NETWORK, TRAFFIC, model, problem};
    use exm_random::{Purpose, Stream};
    use exm_sim::traffic::{FlowDemand, TrafficSource};
    use exm_units::Instant;

    const SOME: &str = "rate = \"10 Mbps\"\nrtt = \"10 ms\"\nsenders = \"1..10\"";

    fn parse(traffic: &str, duration: &str) -> Model {
        let text = model(SOME, traffic, "", &format!("duration = \"{duration}\""));
        Model::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
    }

    fn expected(model: &Model) -> f64 {
        expected_flows(&model.networks, &model.classes()[0], model.design().duration)
    }

    #[test]
    fn endless_switching_is_refused_with_a_remedy() {
        for (traffic, count) in [
            ("on = \"1 ns\"\noff = \"1 ns\"", "8e11"),
            ("on = \"exp 1e-9 s\"\noff = \"0 s\"", "2e12"),
            ("on = \"1 ms\"\noff = \"0 s\"", "2e6"),
            // Nearly all are short, and a specimen sees few of the long ones.
            ("on = \"pareto xm=1e-9 alpha=0.5 cap=1e9 s\"\noff = \"0 s\"", "3e6"),
        ] {
            let expected = format!(
                "a specimen has up to 1000000 flows, and here {count} are to be expected: let \
                 \"on\" or \"off\" be longer, \"senders\" fewer or \"duration\" shorter"
            );
            assert_eq!(problem(&model(NETWORK, traffic, "", "")), expected, "{traffic}");
        }
        let error = Model::parse(&model(NETWORK, "off = \"0 s\"\non = \"1 ns\"", "", ""), "a.toml");
        assert!(error.unwrap_err().to_string().ends_with("\n  7 | on = \"1 ns\""));
        // An amount of data takes a round trip: here a thousand rounds of a thousand senders.
        let network = "rate = \"10 Gbps\"\nrtt = \"100 ms\"\nsenders = \"1000\"";
        let data = "on = \"1 packet\"\noff = \"0 s\"";
        assert!(Model::parse(&model(network, data, "", ""), "test").is_ok());
        let near = network.replace("100 ms", "90 ms");
        assert!(problem(&model(&near, data, "", "")).contains("here 1e6 are to be expected"));
    }

    #[test]
    fn endless_packets_are_refused_with_a_remedy() {
        let network = NETWORK.replace("10..20 Mbps", "1..150 Gbps");
        let expected = "a specimen's link carries up to 1000000000 packets, at this rate for 80 s: \
                        let \"duration\" be no longer, or \"rate\" lower";
        assert_eq!(problem(&model(&network, TRAFFIC, "", "")), expected);
        let text = model(&network, TRAFFIC, "", "duration = \"80 s\"");
        assert!(Model::parse(&text, "test").is_ok());
        let slow = model(&NETWORK.replace("10..20 Mbps", "500 bps"), TRAFFIC, "", "");
        assert!(Model::parse(&slow, "test").is_ok());
    }

    #[test]
    fn as_many_flows_start_as_expected() {
        for traffic in [
            "on = \"exp 1 ms\"\noff = \"exp 3 ms\"",
            "on = \"1 ms\"\noff = \"uniform 0..2 ms\"",
            "on = [\"1 us\", \"1 us\", \"1 us\", \"1 s\"]\noff = \"0 s\"",
            "on = \"pareto xm=1e-4 alpha=0.7 cap=1e6 s\"\noff = \"exp 1 us\"",
            "on = \"1000 s\"\noff = \"1000 s\"",
        ] {
            let model = parse(traffic, "2 s");
            let runs = 200;
            let flows: u64 = (0..10 * runs).map(|index| started(&model, index)).sum();
            let ratio = (flows as f64 / runs as f64) / expected(&model);
            // A flow may outlast the specimen, so that up to one more a sender starts; and by
            // renewal theory no more than twice as many where times are unlike.
            let most = 2.0 + 10.0 / expected(&model);
            assert!((0.0..most).contains(&ratio), "{traffic}: {ratio}");
            assert!(ratio > 0.9 || expected(&model) < 20.0, "{traffic}: {ratio}");
        }
    }

    /// How many flows one sender starts.
    fn started(model: &Model, index: usize) -> u64 {
        let end = Instant::ZERO + model.design().duration;
        let stream = Stream::new(1, Purpose::Traffic, index);
        let mut source =
            TrafficSource::new(model.classes()[0].traffic.clone(), stream, model.networks.packet);
        let (mut now, mut count) = (source.next_start(Instant::ZERO), 0);
        while now < end {
            count += 1;
            let FlowDemand::Until(off) = source.next_flow(now) else {
                panic!("flows that last a time")
            };
            now = source.next_start(off);
        }
        count
    }

    #[test]
    fn the_busiest_specimen_that_is_allowed_is_simulated_at_once() {
        let model = parse("on = \"5 us\"\noff = \"5 us\"", "1 s");
        assert!((expected(&model) - MAX_FLOWS).abs() < 0.1);
        let table = exm_remy::RuleTable::single(
            exm_remy::SignalSet::FIRST_FOUR,
            16384.0,
            exm_remy::Action::INITIAL,
        );
        let prepared = crate::evaluate::Prepared::new(&table);
        let specimen = model.specimens(1, 0, 1).remove(0);
        let mut network = specimen.dumbbell().clone();
        network.delays = vec![Span::from_millis(10); 10];
        let outcomes = exm_sim::dumbbell::run(&network, prepared.rules(), specimen.seed);
        assert!(outcomes.iter().all(|outcome| outcome.on_time > Span::from_millis(499)));
    }
}
