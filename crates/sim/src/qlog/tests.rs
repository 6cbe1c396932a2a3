use super::*;
use crate::controllers::AnyController;
use crate::engine::{run, run_observed};
use crate::metrics::{FlowReport, Report};
use crate::network::{Host, LinkSpec};
use crate::traffic::{OnFor, OnOff};
use exm_link::{Limit, Service};
use exm_random::Distribution;
use exm_units::Probability;
use serde_json::Value;
use std::collections::BTreeSet;

fn controller(name: &str) -> AnyController {
    AnyController::named(name).expect("is built in")
}

/// Two senders over a short link of 10 Mbps that loses this share of the packets.
fn network(transport: Transport, traffic: OnOff, loss: f64) -> Network {
    let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(10.0)))
        .buffer(Limit::Packets(Packets::new(20)))
        .loss(Probability::new(loss).expect("a probability"));
    let flow = FlowSpec::new(transport).extra_delay(Span::from_millis(40)).traffic(traffic);
    Network::new(vec![link], vec![flow.clone(), flow], Span::from_secs(10)).expect("a network")
}

/// Short transfers.
fn transfers() -> OnOff {
    let on = OnFor::Packets(Distribution::Fixed(50.0));
    OnOff { on, off: Distribution::Fixed(0.2) }
}

fn logs(network: &Network, form: Form) -> (Report, Vec<Vec<u8>>) {
    let outs = [(0, Vec::new()), (1, Vec::new())];
    let mut qlog = Qlog::new(network, form, "test", outs).expect("vectors");
    let report = run_observed(network, 1, &mut qlog);
    (report, qlog.finish().expect("vectors"))
}

/// What a log tells.
#[derive(Debug, Default)]
struct Told {
    sent: BTreeSet<u64>,
    received: u64,
    acked: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    lost_to_timeouts: u64,
    offsets: BTreeSet<u64>,
    metrics: u64,
    states: Vec<String>,
}

/// Checks each record of `log` against the schema, and those before it.
fn checked(log: &[u8]) -> Told {
    let text = std::str::from_utf8(log).expect("a text");
    let mut records = text.split('\x1e').skip(1).map(|record| {
        assert!(record.ends_with('\n'));
        serde_json::from_str::<Value>(record).expect("JSON")
    });
    let header = records.next().expect("a header");
    assert_eq!(header["trace"]["vantage_point"]["type"], "client");
    let mut told = Told::default();
    let mut last = 0.0;
    for record in records {
        let time = record["time"].as_f64().expect("a time");
        assert!(time >= last, "{record}");
        last = time;
        let (data, name) = (&record["data"], record["name"].as_str().expect("a name"));
        let number = data["header"]["packet_number"].as_u64();
        assert!(number.is_none() || data["header"]["packet_type"] == "1RTT");
        let frame = &data["frames"][0];
        match name.split_once(':').expect("a namespace").1 {
            "packet_sent" => {
                assert!(told.sent.insert(number.expect("a number")), "{record}");
                assert!(data["raw"]["length"].as_u64().is_some(), "{record}");
                told.offsets.extend(frame["offset"].as_u64());
                let kinds = ["stream", "datagram", "ping"];
                assert!(kinds.contains(&frame["frame_type"].as_str().expect("a type")), "{record}");
            }
            "packet_received" => {
                assert_eq!(number, Some(told.received));
                told.received += 1;
                for range in frame["acked_ranges"].as_array().into_iter().flatten() {
                    let bounds: Vec<u64> = serde_json::from_value(range.clone()).expect("numbers");
                    told.acked.extend(bounds[0]..=bounds[bounds.len() - 1]);
                }
            }
            "packet_lost" => {
                let number = number.expect("a number");
                assert!(told.sent.contains(&number) && told.lost.insert(number), "{record}");
                told.lost_to_timeouts += u64::from(data["trigger"] == "pto_expired");
            }
            "recovery_metrics_updated" | "metrics_updated" => {
                assert!(!data.as_object().expect("values").is_empty(), "{record}");
                told.metrics += 1;
            }
            "congestion_state_updated" => {
                let state = data["new"].as_str().expect("a state").to_owned();
                assert_eq!(data["old"].as_str(), told.states.last().map(String::as_str));
                assert_ne!(Some(&state), told.states.last());
                told.states.push(state);
            }
            _ => panic!("{record}"),
        }
    }
    assert!(told.sent.is_superset(&told.acked));
    assert_eq!(told.sent.last().map(|last| last + 1), Some(told.sent.len() as u64));
    told
}

fn each(transport: Transport, traffic: OnOff, check: impl Fn(&Told, &FlowReport)) {
    each_over(&network(transport, traffic, 0.01), check);
}

fn each_over(network: &Network, check: impl Fn(&Told, &FlowReport)) {
    for form in [Form::Current, Form::Older] {
        let (report, files) = logs(network, form);
        for (file, flow) in files.iter().zip(&report.flows) {
            let told = checked(file);
            assert_eq!(told.sent.len() as u64, flow.sent);
            check(&told, flow);
        }
        assert_eq!(logs(network, form).1, files);
        assert_eq!(run(network, 1).flows, report.flows);
    }
}

#[test]
fn tcp_is_told_packet_by_packet() {
    each(Host::Tcp.transport(controller("cubic")), OnOff::always(), |told, flow| {
        assert!(flow.retransmitted > 20);
        assert_eq!(told.lost.len() as u64, flow.retransmitted);
        assert_eq!(told.received, flow.arrived);
        assert_eq!(told.offsets.len() as u64, flow.sent - flow.retransmitted);
        // Nothing was spurious, so what arrived was not deemed lost.
        let (lost, acked) = (told.lost.len() as u64, told.acked.len() as u64);
        assert!(told.lost.is_disjoint(&told.acked));
        assert!(lost + acked <= flow.sent && lost + acked + 60 > flow.sent, "{lost} {acked}");
        assert!(told.metrics > 200 && told.states.len() > 1, "{told:?}");
        assert_eq!(told.states[0], "slow start");
    });
}

/// A connection for each on-period, with numbers that go on.
#[test]
fn connections_follow_each_other() {
    let settings = exm_tcp::Settings { handshake: true, ..exm_tcp::Settings::default() };
    let transport = Transport::Tcp { controller: controller("reno"), settings };
    each(transport, transfers(), |told, flow| {
        assert!(flow.completion.count() > 5);
        assert!(told.lost.len() as u64 >= flow.retransmitted);
        assert_eq!(told.offsets.len(), 50);
    });
    let settings = exm_tcp::Settings { persistent: true, ..exm_tcp::Settings::default() };
    let transport = Transport::Tcp { controller: controller("reno"), settings };
    each(transport, transfers(), |told, flow| {
        assert_eq!(told.lost.len() as u64, flow.retransmitted);
        assert_eq!(told.offsets.len() as u64, flow.sent - flow.retransmitted);
    });
}

#[test]
fn the_bare_host_loses_what_an_ack_skips() {
    each(Host::Bare.transport(controller("aimd")), OnOff::always(), |told, flow| {
        assert_eq!(told.received, flow.arrived);
        assert_eq!(told.acked.len() as u64, flow.arrived);
        // The last of those lost, or all of them, may not be known yet.
        let lost = flow.lost + flow.dropped.iter().sum::<u64>();
        let deemed = told.lost.len() as u64;
        assert!(deemed > 20 && deemed <= lost && deemed + 10 > lost, "{deemed} of {lost}");
        assert!(told.lost.is_disjoint(&told.acked));
    });
    let lossy = network(Host::Bare.transport(controller("aimd")), transfers(), 0.2);
    each_over(&lossy, |told, _| {
        assert!(told.lost_to_timeouts > 0);
    });
}

#[test]
fn sprout_tells_of_packets_and_windows() {
    let sprout = Transport::Sprout(exm_sprout::Settings::default());
    each(sprout, OnOff::always(), |told, _| {
        assert!(told.lost.is_empty() && told.acked.is_empty() && told.received > 100);
        assert!(told.metrics > 100);
    });
}

#[test]
fn a_sender_that_is_not_there_and_a_full_disk_are_reported() {
    let network = network(Host::Tcp.transport(controller("cubic")), OnOff::always(), 0.0);
    let error = Qlog::new(&network, Form::Current, "test", [(2, Vec::new())]).expect_err("two");
    assert_eq!(error.to_string(), "there is no sender 2: 2 are numbered from 0");
    let mut room = [0; 2000];
    let mut qlog = Qlog::new(&network, Form::Current, "test", [(1, &mut room[..])]).expect("room");
    run_observed(&network, 1, &mut qlog);
    assert_eq!(qlog.finish().expect_err("full").kind(), io::ErrorKind::WriteZero);
}
