//! Captures of simulations, analysed by tshark, Wireshark's program for terminals: it must see what was simulated.

use exm_link::{Limit, Service};
use exm_sim::capture::Capture;
use exm_sim::controllers::AnyController;
use exm_sim::engine::{self, AckContents, Event, FlowSample, Observer, Pace, ReceivedAck};
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_testing::{Folder, has, skip};
use exm_units::{Packets, Probability, Rate, Span};
use std::path::Path;
use std::process::Command;

/// Captures, and counts what tshark is to count.
struct Watch {
    capture: Capture<Vec<u8>>,
    cumulative: Option<u64>,
    duplicates: u64,
    most_in_flight: u64,
}

impl Observer for Watch {
    fn pace(&self) -> Pace {
        Pace::Every(Span::from_millis(1))
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.most_in_flight = self.most_in_flight.max(sample.in_flight.get());
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        self.capture.event(event);
    }

    fn wants_acks(&self) -> bool {
        true
    }

    fn ack(&mut self, ack: &ReceivedAck) {
        self.capture.ack(ack);
        if let AckContents::Tcp(contents) = ack.contents
            && !contents.syn
        {
            self.duplicates += u64::from(self.cumulative == Some(contents.cumulative));
            self.cumulative = Some(contents.cumulative);
        }
    }
}

/// How many packets of `file` tshark shows by `filter`.
fn count(file: &Path, filter: &str) -> u64 {
    let checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let shown =
        Command::new("tshark").args(checks).arg("-r").arg(file).args(["-Y", filter]).output();
    let shown = shown.expect("tshark runs");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    String::from_utf8_lossy(&shown.stdout).lines().count() as u64
}

/// Simulates `name` over a lossy link with a short buffer, and compares.
fn compare(name: &str, handshake: bool, seed: u64) {
    let controller = AnyController::named(name).expect("is built in");
    let settings = exm_tcp::Settings { handshake, ..exm_tcp::Settings::default() };
    let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(10.0)))
        .buffer(Limit::Packets(Packets::new(30)))
        .loss(Probability::new(0.005).expect("a probability"));
    let flow = FlowSpec::new(Transport::Tcp { controller, settings });
    let flow = flow.extra_delay(Span::from_millis(50));
    let network = Network::new(vec![link], vec![flow], Span::from_secs(10)).expect("a network");
    let capture = Capture::new(Vec::new(), &network, "test").expect("a vector");
    let mut watch = Watch { capture, cumulative: None, duplicates: 0, most_in_flight: 0 };
    let report = engine::run_observed(&network, seed, &mut watch);
    let folder = Folder::new("tshark");
    let file = folder.0.join("c.pcapng");
    std::fs::write(&file, watch.capture.finish().expect("a vector")).expect("a file");

    let flow = &report.flows[0];
    // With the RTT of a handshake, tshark takes what is retransmitted within it for packets out of order. Where they
    // are sent there are none of these.
    let disorder = if handshake { "|| tcp.analysis.out_of_order" } else { "" };
    let again = format!(
        "tcp.analysis.retransmission || tcp.analysis.fast_retransmission \
         || tcp.analysis.spurious_retransmission {disorder}"
    );
    assert!(flow.retransmitted > 10 && watch.duplicates > 100, "{name}: something happens");
    assert_eq!(count(&file, &again), flow.retransmitted, "{name}: retransmissions");
    assert_eq!(count(&file, "tcp.analysis.duplicate_ack"), watch.duplicates, "{name}: duplicates");
    let strange = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 \
                   || icmp.checksum.status == 0 || tcp.analysis.ack_lost_segment || tcp.analysis.lost_segment \
                   || tcp.analysis.window_full || tcp.analysis.zero_window";
    assert_eq!(count(&file, strange), 0, "{name}: nothing strange");
    let lost = flow.lost + flow.dropped[0];
    assert_eq!(count(&file, "frame.interface_name == \"drops\" && frame.comment"), lost, "{name}");
    assert_eq!(count(&file, "frame.comment contains \"lost at random\""), flow.lost, "{name}");
    let more = format!("tcp.analysis.bytes_in_flight > {}", 2 * watch.most_in_flight * 1448);
    let half = format!("tcp.analysis.bytes_in_flight > {}", watch.most_in_flight * 1448 / 2);
    assert_eq!(count(&file, &more), 0, "{name}: in flight");
    assert!(count(&file, &half) > 0, "{name}: in flight");
}

#[test]
fn tshark_sees_what_was_simulated() {
    if !has("tshark") {
        return skip("there is no tshark: apt-get install tshark");
    }
    compare("cubic", false, 1);
    compare("reno", true, 2);
    compare("bbr", false, 3);
}
