//! Impossible networks are rejected with clear messages.

use super::*;
use exm_cc::Aimd;
use exm_link::Service;
use exm_units::{Packets, Rate};

fn link(name: &str, ends: (usize, usize)) -> LinkSpec {
    let service = Service::Fixed(Rate::from_mbps(15.0));
    LinkSpec { name: name.to_owned(), ends, ..LinkSpec::bottleneck(service, Limit::Unlimited) }
}

fn flow(path: &[usize]) -> FlowSpec {
    FlowSpec {
        name: "flow".to_owned(),
        path: path.to_vec(),
        back: Vec::new(),
        extra_delay: Span::from_millis(150),
        packet_size: Bytes::new(1500),
        traffic: OnOff { on: OnFor::Always, off: Distribution::Fixed(0.0) }.into(),
        transport: Transport::Bare { controller: Aimd::new().into(), timer: true },
        duplex: false,
        foresight: None,
    }
}

fn refusal(links: Vec<LinkSpec>, flow: FlowSpec) -> String {
    let refused = Network::new(links, vec![flow], Span::from_secs(1));
    refused.expect_err("this network is impossible").to_string()
}

#[test]
fn impossible_links_are_refused() {
    let with = |change: fn(&mut LinkSpec)| {
        let mut link = link("a", (0, 1));
        change(&mut link);
        refusal(vec![link], flow(&[0]))
    };
    let zero_rate = with(|link| link.service = Service::Fixed(Rate::from_bps(0)));
    assert!(zero_rate.starts_with("a rate of zero"), "{zero_rate}");
    let no_room = with(|link| link.buffer = Limit::Packets(Packets::ZERO));
    assert!(no_room.starts_with("a buffer of no packets"), "{no_room}");
    let small = with(|link| link.buffer = Limit::Bytes(Bytes::new(1499)));
    assert!(small.starts_with("a buffer of 1.499 kB holds no packet of 1.5 kB"), "{small}");
    let slow = with(|link| link.delay = MAX_TIME + Span::from_nanos(1));
    assert!(slow.contains("is too long"), "{slow}");
}

#[test]
fn packets_need_room_beside_their_headers() {
    let mut flow = flow(&[0]);
    flow.packet_size = TCP_HEADER;
    let settings = exm_tcp::Settings::default();
    flow.transport = Transport::Tcp { controller: Aimd::new().into(), settings };
    let full = refusal(vec![link("a", (0, 1))], flow);
    assert!(full.starts_with("packets of 52 B have no room beside"), "{full}");
}

#[test]
fn impossible_paths_are_refused() {
    let links = || vec![link("a", (0, 1)), link("b", (1, 2)), link("c", (2, 1))];
    let path = |path: &[usize]| refusal(links(), flow(path));
    assert!(path(&[]).starts_with("the path is empty"));
    assert!(path(&[3]).starts_with("the path names link 3, but there are only 3"));
    let broken = path(&[0, 2]);
    assert!(broken.starts_with("the path is broken: link \"a\" does not lead to"), "{broken}");
    assert!(path(&[0, 1, 2, 1]).starts_with("the path crosses link \"b\" twice"));
    assert!(path(&[0; 65]).starts_with("a path of 65 links is too long"));
}

#[test]
fn impossible_senders_are_refused() {
    let with = |change: fn(&mut FlowSpec)| {
        let mut flow = flow(&[0]);
        change(&mut flow);
        refusal(vec![link("a", (0, 1))], flow)
    };
    assert!(with(|f| f.packet_size = Bytes::ZERO).starts_with("packets of 0 B"));
    assert!(with(|f| f.packet_size = Bytes::new(1_000_001)).starts_with("packets of 1000.001 kB"));
    let endless = OnOff {
        on: OnFor::Time(Distribution::Fixed(0.0)),
        off: Distribution::Exponential { mean: 0.0 },
    };
    let mut timeless = flow(&[0]);
    timeless.traffic = endless.into();
    assert!(
        refusal(vec![link("a", (0, 1))], timeless)
            .starts_with("a sender with on and off times of zero")
    );
    for bad in [
        Distribution::Fixed(f64::NAN),
        Distribution::Exponential { mean: -1.0 },
        Distribution::Uniform { low: 2.0, high: 1.0 },
        Distribution::Pareto { scale: 1.0, shape: 0.0, shift: 0.0, cap: 1.0 },
        Distribution::Empirical(Vec::new()),
    ] {
        let mut flow = flow(&[0]);
        flow.traffic = OnOff { on: OnFor::Packets(bad), off: Distribution::Fixed(1.0) }.into();
        assert!(refusal(vec![link("a", (0, 1))], flow).starts_with("the on time or amount"));
    }
}

#[test]
fn impossible_wholes_are_refused() {
    let refused = |flows: Vec<FlowSpec>, duration| {
        Network::new(vec![link("a", (0, 1))], flows, duration)
            .expect_err("this network is impossible")
    };
    assert_eq!(refused(Vec::new(), Span::from_secs(1)), NetworkError::NoFlows);
    assert_eq!(
        refused(vec![flow(&[0]); MAX_FLOWS + 1], Span::from_secs(1)),
        NetworkError::TooManyFlows(MAX_FLOWS + 1)
    );
    let longest = longest_duration(1, 1);
    for duration in [Span::ZERO, Span::MAX, longest + Span::from_nanos(1)] {
        let error = NetworkError::BadDuration { duration, longest };
        assert_eq!(refused(vec![flow(&[0])], duration), error);
    }
}
