//! The results of omniscient senders: the bound with which tables are compared.

use super::{Objective, Throughput};
use exm_random::{Distribution, Purpose, Stream};
use exm_sim::MeasuredOver;
use exm_sim::dumbbell::Dumbbell;
use exm_sim::traffic::OnFor;

/// The number of draws that represent a distribution.
const DRAWS: usize = 10_000;

/// The throughput, in packets a millisecond, of a sender of `network` whose round-trip propagation
/// delay is `delay_ms`, if all senders share the link equally from their first moment and never
/// queue. It is what the simulator would measure on average over many runs.
pub(super) fn throughput(objective: &Objective, network: &Dumbbell, delay_ms: f64) -> f64 {
    let link = network.rate.as_packets_per_ms(network.packet) * (1.0 - network.loss.get());
    let amount = match &network.traffic.on {
        OnFor::Packets(amount) => packets(amount, 1.0),
        OnFor::Bytes(amount) => packets(amount, network.packet.get() as f64),
        OnFor::Time(_) | OnFor::Always | OnFor::Video(_) => {
            let share = match (objective.throughput, objective.over) {
                (Throughput::Share, MeasuredOver::Papers) => 1.0,
                (Throughput::Share, MeasuredOver::Arrivals) => equal_share(network, delay_ms),
                (Throughput::On, MeasuredOver::Papers) => time_share(network),
                (Throughput::On, MeasuredOver::Arrivals) => {
                    time_share(network) * Fractions::of(network, delay_ms).on_of_active()
                }
            };
            return share * link * delivered_by_the_end(network, delay_ms);
        }
    };
    let cycle = Cycle::of(network, amount / link, delay_ms);
    match objective.throughput {
        Throughput::Share => amount / cycle.share_ms,
        Throughput::On => amount / cycle.on_ms,
    }
}

/// The fraction of sent packets that is delivered before the run ends: packets sent in the last
/// propagation delay are not counted, although the time of their sender is.
fn delivered_by_the_end(network: &Dumbbell, delay_ms: f64) -> f64 {
    let run_ms = network.duration.as_millis_f64();
    // A run shorter than a round trip delivers nothing, with any sender.
    if delay_ms < run_ms { (run_ms - delay_ms) / run_ms } else { 1.0 }
}

/// The mean share of the link of a sender whose flows have a duration, while it is on.
fn time_share(network: &Dumbbell) -> f64 {
    let senders = network.delays.len() as f64;
    let OnFor::Time(time) = &network.traffic.on else { return 1.0 / senders };
    // Any of the others is on with probability p; the mean of 1 / (1 + how many are).
    let (on, off) = (time.mean(), network.traffic.off.mean());
    let p = on / (on + off);
    (1.0 - libm::pow(1.0 - p, senders)) / (senders * p)
}

/// Of a sender whose flows last a time, the fractions of the time that it is on, and that it is on or its
/// packets still arrive.
struct Fractions {
    on: f64,
    active: f64,
}

impl Fractions {
    fn of(network: &Dumbbell, delay_ms: f64) -> Fractions {
        let OnFor::Time(time) = &network.traffic.on else {
            return Fractions { on: 1.0, active: 1.0 };
        };
        let (on, off) = (time.mean(), &network.traffic.off);
        let cycle = on + off.mean();
        Fractions { on: on / cycle, active: 1.0 - mean_beyond(off, delay_ms / 1e3) / cycle }
    }

    fn on_of_active(&self) -> f64 {
        self.on / self.active
    }
}

/// The part of its equal share that a sender whose flows last a time has, among senders with its delay: the
/// link carries something while any is on, and their shares add up to the time in which any is active.
fn equal_share(network: &Dumbbell, delay_ms: f64) -> f64 {
    let Fractions { on, active } = Fractions::of(network, delay_ms);
    let senders = network.delays.len() as f64;
    let any = |fraction: f64| 1.0 - libm::pow(1.0 - fraction, senders);
    any(on) / any(active)
}

/// The mean excess of a draw over `least`, where smaller draws count as 0.
fn mean_beyond(distribution: &Distribution, least: f64) -> f64 {
    let beyond = |value: f64| (value - least).max(0.0);
    let mean =
        |values: &[f64]| values.iter().map(|&v| beyond(v)).sum::<f64>() / values.len() as f64;
    match distribution {
        Distribution::Fixed(value) => beyond(*value),
        Distribution::Exponential { mean } => mean * libm::exp(-least / mean),
        Distribution::Uniform { low, high } if low < high => {
            (beyond(*high).powi(2) - beyond(*low).powi(2)) / (2.0 * (high - low))
        }
        Distribution::Empirical(values) => mean(values),
        Distribution::Uniform { .. } | Distribution::Pareto { .. } | Distribution::Cdf(_) => {
            let mut stream = Stream::new(1, Purpose::Traffic, 0);
            let draws: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut stream)).collect();
            mean(&draws)
        }
    }
}

/// The mean number of packets of a flow whose length is `amount`, in units of which a packet holds
/// `unit`: the simulator rounds each flow up to whole packets.
fn packets(amount: &Distribution, unit: f64) -> f64 {
    let whole = |value: f64| (value / unit).ceil().max(1.0);
    match amount {
        Distribution::Fixed(value) => whole(*value),
        Distribution::Exponential { mean } => -1.0 / libm::expm1(-unit / mean),
        Distribution::Empirical(values) => {
            values.iter().map(|&value| whole(value)).sum::<f64>() / values.len() as f64
        }
        // Spread over many packets, lengths are rounded up by half a packet on average.
        Distribution::Uniform { .. } | Distribution::Pareto { .. } | Distribution::Cdf(_) => {
            (amount.mean() / unit + 0.5).max(1.0)
        }
    }
}

/// The mean times of a sender from one flow's start to the next.
struct Cycle {
    /// How long it is on: until the last packet of the flow is acknowledged.
    on_ms: f64,
    /// The integral of 1 / (senders on) over that.
    share_ms: f64,
}

impl Cycle {
    /// Senders whose flows take `work_ms` of the whole link, plus `delay_ms` until the last
    /// packet is acknowledged, which is part of the flow but does not use the link.
    ///
    /// It is a closed queueing network of one shared server and two delays, off times and
    /// propagation, solved by mean-value analysis (Reiser & Lavenberg, J. ACM 1980): a new flow sees the
    /// distribution of active senders in a network with one sender fewer. Only the means of the
    /// distributions matter (Baskett, Chandy, Muntz & Palacios, J. ACM 1975).
    fn of(network: &Dumbbell, work_ms: f64, delay_ms: f64) -> Cycle {
        let senders = network.delays.len() as f64;
        let off_ms = network.traffic.off.mean() * 1e3;
        let away_ms = off_ms + delay_ms;
        let (mut transmitting, mut cycle_ms) = (0.0, 0.0);
        for population in 1..=network.delays.len() {
            let takes_ms = work_ms * (1.0 + transmitting);
            cycle_ms = away_ms + takes_ms;
            transmitting = population as f64 * takes_ms / cycle_ms;
        }
        // While no sender transmits, all are off or wait for their last acknowledgement; each of them
        // is off with the same probability.
        let nobody_transmits = (1.0 - senders * work_ms / cycle_ms).max(0.0);
        let is_off = if away_ms > 0.0 { off_ms / away_ms } else { 0.0 };
        let somebody_is_on = 1.0 - nobody_transmits * libm::pow(is_off, senders);
        // The share times of all senders add up to the time in which any is on.
        Cycle { on_ms: cycle_ms - off_ms, share_ms: cycle_ms * somebody_is_on / senders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_sim::traffic::OnOff;
    use exm_units::{Bytes, Probability, Rate, Span};

    const PACKET: Bytes = Bytes::new(1500);

    /// One packet a millisecond, with these senders, delays and traffic.
    fn network(senders: usize, delay_ms: u64, on: OnFor, off_s: f64) -> Dumbbell {
        Dumbbell {
            rate: Rate::from_packets_per_ms(1.0, PACKET),
            packet: PACKET,
            buffer: None,
            loss: Probability::ZERO,
            delays: vec![Span::from_millis(delay_ms); senders],
            traffic: OnOff { on, off: Distribution::Fixed(off_s) },
            duration: Span::from_secs(100),
        }
    }

    fn near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
    }

    fn thousand() -> OnFor {
        OnFor::Packets(Distribution::Fixed(1000.0))
    }

    #[test]
    fn the_share_of_flows_that_last_a_time() {
        let five = OnFor::Time(Distribution::Exponential { mean: 5.0 });
        // Two senders, on half of the time: alone or halved, each as likely.
        near(time_share(&network(2, 150, five.clone(), 5.0)), 0.75);
        near(time_share(&network(1, 150, five.clone(), 5.0)), 1.0);
        near(time_share(&network(4, 150, OnFor::Always, 0.0)), 0.25);
        // Of 100 s, what is sent in the last 0.15 does not arrive.
        let papers = Objective { over: MeasuredOver::Papers, ..Objective::default() };
        near(throughput(&papers, &network(2, 150, five, 5.0), 150.0), 0.9985);
    }

    #[test]
    fn a_flow_that_lasts_a_time_lasts_until_its_last_packet_has_arrived() {
        let one = OnFor::Time(Distribution::Fixed(1.0));
        // On for 1 s of each 4, and active for 0.25 s more.
        let by = |throughput, senders| {
            let objective = Objective { throughput, ..Objective::default() };
            super::throughput(&objective, &network(senders, 250, one.clone(), 3.0), 250.0) / 0.9975
        };
        near(by(Throughput::Share, 1), 1.0 / 1.25);
        near(by(Throughput::On, 1), 1.0 / 1.25);
        // Any of two is on for 7/16 of the time, and any active for 135/256.
        near(by(Throughput::Share, 2), 112.0 / 135.0);
        near(by(Throughput::On, 2), 7.0 / 8.0 / 1.25);
        // What arrives in the next on-period counts no time twice.
        let always = network(1, 250, one, 0.1);
        near(throughput(&Objective::default(), &always, 250.0), 0.9975 / 1.1);
    }

    #[test]
    fn the_mean_beyond_a_value() {
        near(mean_beyond(&Distribution::Fixed(3.0), 1.0), 2.0);
        near(mean_beyond(&Distribution::Exponential { mean: 2.0 }, 2.0), 2.0 / std::f64::consts::E);
        near(mean_beyond(&Distribution::Uniform { low: 0.0, high: 4.0 }, 2.0), 0.5);
        near(mean_beyond(&Distribution::Uniform { low: 1.0, high: 3.0 }, 0.5), 1.5);
        near(mean_beyond(&Distribution::Empirical(vec![1.0, 4.0]), 2.0), 1.0);
        let cdf = Distribution::Cdf(vec![(0.0, 0.0), (4.0, 1.0)]);
        assert!((mean_beyond(&cdf, 2.0) - 0.5).abs() < 0.02);
    }

    #[test]
    fn a_flow_of_an_amount_lasts_a_round_trip_longer_than_its_packets() {
        for over in Throughput::ALL {
            let objective = Objective { throughput: over, ..Objective::default() };
            let alone = network(1, 250, thousand(), 3.0);
            near(throughput(&objective, &alone, 250.0), 1000.0 / 1250.0);
            let bytes = OnFor::Bytes(Distribution::Fixed(100_000.0));
            near(throughput(&objective, &network(1, 150, bytes, 3.0), 150.0), 67.0 / 217.0);
        }
    }

    #[test]
    fn flows_of_an_amount_take_as_long_as_those_they_share_the_link_with_let_them() {
        let on = |senders, off_s| {
            let cycle = Cycle::of(&network(senders, 0, thousand(), off_s), 1000.0, 0.0);
            (1000.0 / cycle.on_ms, 1000.0 / cycle.share_ms)
        };
        // Flows of 1 s alone, off for 1 s. With two senders the states of none, one and both on last
        // 1/5, 2/5 and 2/5 of the time (a Markov chain): the link is busy for 4/5 of it, with 6/5
        // senders on, which makes 2/3 each, and the whole link by share.
        near(on(2, 1.0).0, 2.0 / 3.0);
        near(on(2, 1.0).1, 1.0);
        near(on(4, 0.0).0, 0.25);
        near(on(1, 0.0).0, 1.0);
    }

    #[test]
    fn while_a_flow_waits_for_its_last_acknowledgement_others_have_its_share() {
        // Two senders, 1 s of work, 1 s of delay, never off: with one away and one at work, or two
        // at work, or two away. Weights 1, 1 and 1/2 (product form): no sender transmits for 1/5 of the time.
        let cycle = Cycle::of(&network(2, 1000, thousand(), 0.0), 1000.0, 1000.0);
        // Two cycles of 1 s of work in 4/5 of the time: each takes 2.5 s, all of it on.
        near(cycle.on_ms, 2500.0);
        near(cycle.share_ms, 1250.0);
    }

    #[test]
    fn flows_are_rounded_up_to_whole_packets() {
        near(packets(&Distribution::Fixed(1501.0), 1500.0), 2.0);
        near(packets(&Distribution::Empirical(vec![1.0, 3000.0]), 1500.0), 1.5);
        // Half of all flows of mean 1/ln 2 packets are of one packet, a quarter of two ...
        let mean = 1.0 / std::f64::consts::LN_2;
        near(packets(&Distribution::Exponential { mean }, 1.0), 2.0);
    }
}
