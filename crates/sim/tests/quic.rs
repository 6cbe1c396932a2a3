//! QUIC's recovery (RFC 9002) beside TCP's.

mod common;

use common::{Bottleneck, totals};
use exm_link::{Limit, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_sim::traffic::{OnFor, OnOff, Traffic};
use exm_tcp::Settings;
use exm_units::{Instant, Packets, Probability, Rate, Span};

/// Without losses that only time shows, both repair the same ones: the sawtooth of one flow is the same.
#[test]
fn long_flows_have_the_throughput_of_tcp() {
    for controller in ["reno", "cubic", "bbr"] {
        let of = |settings| {
            let network = Bottleneck {
                rtts: vec![Span::from_millis(50)],
                packets: 62,
                ..Bottleneck::new(controller, settings, OnOff::always())
            };
            totals(&network.reports(1))
        };
        let (quic, tcp) = (of(Settings::quic()), of(Settings::default()));
        println!("{controller}: QUIC {quic:.2?}, TCP {tcp:.2?}");
        assert!((quic.mbps / tcp.mbps - 1.0).abs() < 0.05, "{controller}: {quic:?} {tcp:?}");
        assert!((quic.wait_ms / tcp.wait_ms - 1.0).abs() < 0.2, "{controller}: {quic:?} {tcp:?}");
    }
}

/// NewReno's law: a mean window of the square root of 3/2 packets over that of the loss probability, less with an ACK for two packets.
#[test]
fn random_losses_give_the_window_of_newreno() {
    for loss in [0.001, 0.003, 0.01] {
        let network = Bottleneck {
            rate: Rate::from_mbps(1000.0),
            rtts: vec![Span::from_millis(50)],
            packets: 10_000,
            loss: Probability::new(loss).expect("is one"),
            ..Bottleneck::new("reno", Settings::quic(), OnOff::always())
        };
        let packets = totals(&network.reports(4)).mbps * 1e6 / (8.0 * 1448.0) * 0.05;
        let ratio = packets / (1.5 / loss).sqrt();
        println!("{loss}: {packets:.1} packets, {ratio:.2} of the law");
        assert!((0.8..1.15).contains(&ratio), "{loss}: {ratio}");
    }
}

/// HyStart++ ends the first slow start sooner, and spares most of the losses.
#[test]
fn hystart_plus_plus_spares_losses() {
    let drops = |controller| {
        let controller = AnyController::named(controller).expect("a known controller");
        let flow = FlowSpec::new(Host::Quic.transport(controller))
            .extra_delay(Span::from_millis(50))
            .traffic(Traffic::Schedule { visits: vec![(Instant::ZERO, None)], on: OnFor::Always });
        let service = Service::Fixed(Rate::from_mbps(50.0));
        let link = LinkSpec::bottleneck(service, Limit::Packets(Packets::new(300)));
        let network = Network::new(vec![link], vec![flow], Span::from_secs(4)).expect("is sound");
        let report = engine::run(&network, 1);
        let rate = report.flows[0].throughput().map_or(0.0, Rate::as_mbps);
        (report.links[0].dropped, rate)
    };
    let (plain, careful) = (drops("cubic-slow-start"), drops("cubic-hystart++"));
    println!("plain {plain:?}, HyStart++ {careful:?}");
    assert!(plain.0 > 500 && careful.0 < plain.0 / 2, "{plain:?} {careful:?}");
    assert!(careful.1 > 0.8 * plain.1, "{plain:?} {careful:?}");
}
