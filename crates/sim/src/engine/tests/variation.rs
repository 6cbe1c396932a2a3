//! Jitter and reordering of links.

use super::*;
use exm_link::Reordering;
use exm_tcp::Settings;
use proptest::prelude::*;
use proptest::sample::select;

/// The packets delivered, by number and time of arrival, and how many ACKs delivered nothing new.
#[derive(Default)]
struct Deliveries {
    arrived: Vec<(u64, Instant)>,
    duplicate_acks: u64,
}

impl Observer for Deliveries {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Delivered { packet } => self.arrived.push((packet.sequence, event.at)),
            EventKind::Acknowledged { delivered: 0, .. } => self.duplicate_acks += 1,
            _ => {}
        }
    }
}

impl Deliveries {
    fn of(link: LinkSpec, flow: FlowSpec) -> (Deliveries, FlowReport) {
        let mut seen = Deliveries::default();
        let network = network(vec![link], vec![flow], Span::from_secs(60));
        let mut report = run_observed(&network, 1, &mut seen);
        (seen, report.flows.remove(0))
    }

    /// How many packets arrived after one that was sent later.
    fn overtaken(&self) -> usize {
        let mut highest = 0;
        let late = self.arrived.iter().filter(|&&(number, _)| {
            let late = number < highest;
            highest = highest.max(number);
            late
        });
        late.count()
    }
}

fn jittery(jitter: Distribution) -> LinkSpec {
    LinkSpec { jitter, ..packet_a_ms(Limit::Unlimited, 0.0) }
}

fn reordering(probability: f64, extra_us: u64) -> LinkSpec {
    let probability = Probability::new(probability).expect("a probability");
    let reordering = Reordering { probability, extra: Span::from_micros(extra_us) };
    LinkSpec { reordering, ..packet_a_ms(Limit::Unlimited, 0.0) }
}

fn reno(receive_window: u64) -> FlowSpec {
    let settings =
        Settings { receive_window: Some(Packets::new(receive_window)), ..Settings::default() };
    let controller = AnyController::named("reno").expect("is built in");
    let transport = Transport::Tcp { controller, settings };
    FlowSpec { transport, ..flow(20, window(1), ever()) }
}

#[test]
fn jitter_adds_its_mean_where_packets_are_far_apart() {
    let paced = flow(50, one_rule(0.0, 1000, 100.0), ever());
    let link = jittery(Distribution::Exponential { mean: 0.005 });
    let network = network(vec![link], vec![paced], Span::from_secs(500));
    let rtt = run(&network, 1).flows[0].rtt.mean().expect("ACKs arrived").as_millis_f64();
    // 51 ms without jitter; the mean of 5000 exponential draws of mean 5 ms is 5 ± 0.07 ms.
    assert!((rtt - 56.0).abs() < 0.3, "{rtt}");
}

#[test]
fn one_links_jitter_leaves_the_others_random_numbers_alone() {
    let lossy = |jitter| LinkSpec { jitter, ..packet_a_ms(Limit::Unlimited, 0.1) };
    let lost = |jitter| {
        let paced = flow(50, one_rule(0.0, 1000, 10.0), ever());
        alone(lossy(jitter), paced, Span::from_secs(100)).lost
    };
    assert_eq!(lost(LinkSpec::NO_JITTER), lost(Distribution::Uniform { low: 0.0, high: 0.002 }));
}

#[test]
fn packets_held_back_for_less_than_three_others_cause_duplicate_acks_alone() {
    // One in fifty is overtaken by the next two, a millisecond apart each.
    let (seen, report) = Deliveries::of(reordering(0.02, 2500), reno(30));
    let overtaken = seen.overtaken();
    assert!((1000..1400).contains(&overtaken), "{overtaken}");
    let each = seen.duplicate_acks as f64 / overtaken as f64;
    assert!((1.9..2.0 + 1e-9).contains(&each), "{each}");
    assert_eq!((report.retransmitted, report.timeouts), (0, 0));
}

#[test]
fn packets_held_back_for_longer_are_retransmitted_for_nothing() {
    let (seen, report) = Deliveries::of(reordering(0.02, 6500), reno(30));
    assert!(seen.duplicate_acks as usize > seen.overtaken());
    assert!(report.retransmitted > 50 && report.lost + report.dropped[0] == 0, "{report:?}");
}

proptest! {
    /// Jitter alone keeps the order on every path of packets and ACKs; and the same seed gives the same.
    #[test]
    fn jitter_keeps_the_order(
        jitter in select(vec![
            Distribution::Exponential { mean: 0.02 },
            Distribution::Uniform { low: 0.001, high: 0.1 },
            Distribution::Fixed(0.003),
        ]),
        delay in 0u64..50,
    ) {
        let arrivals = || Deliveries::of(jittery(jitter.clone()), flow(delay, window(20), ever())).0;
        let seen = arrivals();
        prop_assert!(seen.arrived.is_sorted() && seen.overtaken() == 0);
        prop_assert_eq!(&seen.arrived, &arrivals().arrived);
    }

    /// Every packet arrives once, in whatever order.
    #[test]
    fn reordering_loses_nothing(probability in 0.0..1.0, extra_us in 0u64..100_000) {
        let window = flow(20, window(20), ever());
        let (seen, report) = Deliveries::of(reordering(probability, extra_us), window);
        let mut numbers: Vec<u64> = seen.arrived.iter().map(|&(number, _)| number).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(report.under_way() <= 20 + 100, "{}", report.under_way());
        prop_assert_eq!(report.lost, 0);
    }
}
