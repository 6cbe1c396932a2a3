use super::*;
use exm_cc::{Cubic, Reno};
use exm_sim::controllers::AnyController;
use exm_sim::network::Host;
use exm_sim::scenario::Scenario;
use exm_sim::traffic::OnFor;
use exm_units::{Rate, Span};
use std::path::Path;

fn over_tcp(controller: impl Into<AnyController>) -> Transport {
    Transport::Tcp { controller: controller.into(), settings: exm_tcp::Settings::default() }
}

fn small() -> Falsify {
    let space = Space {
        rate: (Rate::from_mbps(1.0), Rate::from_mbps(20.0)),
        rtt: (Span::from_millis(5), Span::from_millis(50)),
        senders: (1, 4),
        ..Space::default()
    };
    Falsify {
        space,
        tested: over_tcp(Reno::new()),
        reference: over_tcp(Cubic::new()),
        competitor: over_tcp(Cubic::new()),
        objective: Objective::default(),
        tries: 48,
        seed: 1,
    }
}

#[test]
fn a_search_finds_worse_than_it_meets_on_average_and_does_so_again() {
    let falsify = small();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let done = || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let found = falsify.search(&done).unwrap();
    let (count, most) = (count.into_inner(), falsify.simulations());
    assert!(count <= most && count > most / 2, "{count} of {most}");
    assert_eq!(found, falsify.search(&|| ()).unwrap());
    // A random network of the space.
    let average = |points: Vec<Point>| {
        let tried = falsify.try_all(points, 99, &|| ()).unwrap();
        tried.iter().map(|(_, deficit)| deficit).sum::<f64>() / tried.len() as f64
    };
    let usual = average(latin(40, falsify.stream(77)));
    assert!(found[0].deficit.median > usual + 0.2, "{:?}, usually {usual}", found[0].deficit);
    let (worst, last) = (&found[0], &found[found.len() - 1]);
    assert!(worst.network != last.network);
}

/// The part that is printed is the network again, but for where its delay lies.
#[test]
fn what_is_found_goes_into_a_model() {
    const MODEL: &str = "[network]\nrate = \"10 Mbps\"\nrtt = \"50 ms\"\nsenders = 2\n\
        [traffic]\non = \"exp 1 s\"\noff = \"exp 1 s\"\n";
    let falsify = small();
    for point in latin(24, falsify.stream(5)) {
        let network = falsify.space.network(&point);
        let weight = exm_units::Probability::new(0.25).unwrap();
        let text = format!("{MODEL}\n{}", part(&network, weight, "senders", "cubic"));
        let model = crate::Model::parse(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
        let again = crate::Model::parse(&model.to_string(), "again").unwrap();
        assert_eq!(again.to_string(), model.to_string());
        let drawn: Vec<Mixed> =
            model.specimens(1, 0, 8).into_iter().map(crate::Specimen::mixed).collect();
        let (own, parts): (Vec<_>, Vec<_>) =
            drawn.iter().partition(|drawn| drawn.senders.iter().all(|s| s.class == 0));
        assert_eq!((own.len(), parts.len()), (6, 2), "{text}");
        for drawn in parts {
            assert_eq!(drawn.duration, network.duration);
            for (a, b) in drawn.links.iter().zip(&network.links) {
                assert_eq!((a.rate, a.buffer, a.loss), (b.rate, b.buffer, b.loss));
                assert_eq!((a.jitter, a.reordering), (b.jitter, b.reordering));
            }
            assert_eq!(drawn.senders.len(), network.senders.len());
            for (a, b) in drawn.senders.iter().zip(&network.senders) {
                assert_eq!((&a.path, &a.back, a.rtt), (&b.path, &b.back, b.rtt));
                let is_designed = model.classes()[a.class].is_designed();
                assert_eq!(is_designed, b.class == TESTED);
            }
        }
    }
}

/// What a single network shows by the way in which its packets happen to meet is not found: the runs that judge vary it.
#[test]
fn runs_that_judge_differ_even_where_nothing_is_random() {
    let falsify = Falsify { space: Space { competitors: 0, ..small().space }, ..small() };
    let always = |point: &Point| {
        let network = falsify.space.network(point);
        network.senders.iter().all(|sender| *sender.traffic.on() == OnFor::Always)
    };
    let point = latin(64, falsify.stream(3)).into_iter().find(always).unwrap();
    let found = &falsify.judge(&[point], &|| ()).unwrap()[0];
    assert!(found.deficit.low < found.deficit.high, "{:?}", found.deficit);
}

/// A third of the networks with one bottleneck have traffic in the other direction, and equal senders stand together.
#[test]
fn acks_wait_behind_others_in_some_networks() {
    let falsify = small();
    let networks: Vec<Mixed> =
        latin(90, falsify.stream(5)).iter().map(|point| falsify.space.network(point)).collect();
    let reverse = networks.iter().filter(|network| !network.senders[0].back.is_empty()).count();
    assert!((10..=30).contains(&reverse), "{reverse}");
    for network in &networks {
        let blocks = network.senders.chunk_by(|a, b| a == b).count();
        assert!(blocks <= 3 + 2, "{network:?}");
    }
}

/// The scenario that is printed gives the same packets as the search met.
#[test]
fn what_is_found_is_reproduced_by_its_scenario() {
    let falsify = small();
    for point in latin(12, falsify.stream(5)) {
        let network = falsify.space.network(&point);
        let got = falsify.got(&network, 7, &falsify.tested).unwrap();
        let text = scenario(&network, "a \"title\"", 7, ("reno", Host::Tcp), "cubic");
        let read = Scenario::parse(&text, "found.toml", Path::new(""))
            .unwrap_or_else(|error| panic!("{error}"));
        let same = read.network(&mut |name, _| Err(name.to_owned())).unwrap();
        assert_eq!(read.seed, 7);
        let transport = |class| {
            if class == TESTED { falsify.tested.clone() } else { falsify.competitor.clone() }
        };
        let direct = Layout::Mixed(network.clone()).network(transport).unwrap();
        assert_eq!(events(&same, 7, &mut ()), events(&direct, 7, &mut ()), "{text}");
        assert!(got.score.is_finite());
    }
}
