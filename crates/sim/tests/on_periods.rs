//! Packets at the ends and beginnings of on-periods, on every host.

use exm_link::Service;
use exm_random::Distribution;
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, OnOff};
use exm_tcp::{DelayedAcks, Settings};
use exm_units::{Rate, Span};

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// One flow over links of 25 ms there and, if ACKs cross a link, back. Returns the packets sent and
/// delivered.
fn timed(transport: Transport, crosses: bool) -> (u64, u64) {
    let links = [(0, 1), (1, 0)].map(|(from, to)| {
        let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(12.0)));
        link.ends(from, to).delay(ms(25))
    });
    // On-periods of 120 ms every 150: the last round trip of each is in flight when it ends, and
    // arrives during the next. The last ends at 900 ms, and everything has arrived by 1000 ms.
    let on = OnFor::Time(Distribution::Fixed(0.120));
    let flow = FlowSpec::new(transport)
        .back(if crosses { vec![1] } else { Vec::new() })
        .extra_delay(ms(if crosses { 0 } else { 25 }))
        .traffic(OnOff { on, off: Distribution::Fixed(0.030) });
    let network = Network::new(links.to_vec(), vec![flow], ms(929)).expect("a sound network");
    let report = engine::run(&network, 1);
    (report.flows[0].sent, report.flows[0].delivered)
}

/// Packets in flight at the end of a timed on-period count once their ACK has arrived, on every host
/// and whether or not ACKs cross links. The exceptions are packets in flight at the end of the
/// simulation and, with delayed ACKs, one segment of each on-period.
#[test]
fn arrivals_after_their_on_period_count() {
    let controller = AnyController::named("reno").expect("is built in");
    let tcp = |settings| Transport::Tcp { controller: controller.clone(), settings };
    let delayed = Settings { delayed_acks: Some(DelayedAcks::default()), ..Settings::default() };
    let bare = Transport::Bare { controller: controller.clone(), timer: true };
    for (name, transport, untold) in [
        ("bare", bare, 0),
        ("fresh", tcp(Settings::default()), 0),
        ("delayed ACKs", tcp(delayed), 6),
    ] {
        for crosses in [false, true] {
            let (sent, delivered) = timed(transport.clone(), crosses);
            println!("{name} {crosses}: sent {sent}, delivered {delivered}");
            // Of the sixth on-period the last round trip is still in flight.
            let last = sent / 6 + 1;
            assert!(delivered + untold + last >= sent, "{name} {crosses}: {sent} {delivered}");
            assert!(delivered < sent, "{name} {crosses}: {sent} {delivered}");
        }
    }
}
