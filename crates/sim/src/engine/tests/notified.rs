//! What a user's controller is notified of, on each host.

use super::*;
use exm_cc::{Ack, Congestion, Controller, Decision, Needs, Sent, Start};
use exm_tcp::Settings;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, Default, PartialEq)]
struct Log {
    mtu: Bytes,
    sent: u64,
    sent_bytes: u64,
    retransmitted: u64,
    acked: u64,
    acked_bytes: u64,
    lost: u64,
    lost_bytes: u64,
    most_in_flight: u64,
    odd: u64,
}

/// Logs its events, for packets of `size`; its window is the number of packets that it saw sent, up to
/// `cwnd`.
#[derive(Clone)]
struct Logger {
    log: Arc<Mutex<Log>>,
    size: u64,
    cwnd: u64,
    seen: u64,
}

impl Logger {
    fn new(size: u64, cwnd: u64) -> (Logger, Arc<Mutex<Log>>) {
        let log = Arc::new(Mutex::new(Log::default()));
        (Logger { log: log.clone(), size, cwnd, seen: 0 }, log)
    }

    fn decision(&self) -> Decision {
        let cwnd = Packets::new((self.seen + 1).min(self.cwnd));
        Decision { cwnd, intersend: Span::ZERO, wake_at: None }
    }

    /// Whether `bytes` is the size of `packets` packets.
    fn check(&self, log: &mut Log, packets: Packets, bytes: Bytes) {
        log.odd += u64::from(packets.get() * self.size != bytes.get());
    }
}

impl Controller for Logger {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.log.lock().unwrap().mtu = start.mtu;
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let mut log = self.log.lock().unwrap();
        log.acked += ack.acked.get();
        log.acked_bytes += ack.acked_bytes.get();
        self.check(&mut log, ack.in_flight, ack.in_flight_bytes);
        drop(log);
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        let mut log = self.log.lock().unwrap();
        log.lost += congestion.packets.get();
        log.lost_bytes += congestion.bytes.get();
        self.check(&mut log, congestion.in_flight, congestion.in_flight_bytes);
        drop(log);
        self.decision()
    }

    fn on_tick(&mut self, _: Instant) -> Decision {
        self.decision()
    }

    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        self.seen += 1;
        let mut log = self.log.lock().unwrap();
        log.sent += 1;
        log.sent_bytes += sent.bytes.get();
        log.retransmitted += u64::from(sent.retransmission);
        log.most_in_flight = log.most_in_flight.max(sent.in_flight.get());
        self.check(&mut log, sent.in_flight, sent.in_flight_bytes);
        drop(log);
        Some(self.decision())
    }

    fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        needs.sent = true;
        needs
    }
}

/// On either host, a controller sees each packet sent, its decisions take effect at once, and bytes are
/// packets of the flow's size.
#[test]
fn controllers_see_packets_and_bytes() {
    let tcp = |controller| Transport::Tcp { controller, settings: Settings::default() };
    let bare = |controller| Transport::Bare { controller, timer: true };
    let hosts: [&dyn Fn(AnyController) -> Transport; 2] = [&bare, &tcp];
    for (host, transport) in hosts.iter().enumerate() {
        let (logger, log) = Logger::new(1000, 40);
        let link = link(Rate::from_mbps(4.0), Limit::Packets(Packets::new(20)), 0.01);
        let spec = FlowSpec {
            packet_size: Bytes::new(1000),
            transport: transport(AnyController::own(logger)),
            ..flow(30, window(1), ever())
        };
        let report = run(&network(vec![link], vec![spec], Span::from_secs(20)), 1);
        let (flow, log) = (&report.flows[0], log.lock().unwrap());
        assert_eq!((log.mtu, log.odd), (Bytes::new(1000), 0), "host {host}");
        // A SYN is not a packet of the controller's.
        assert!(flow.sent - log.sent <= 1, "{} and {}", flow.sent, log.sent);
        assert_eq!(log.sent_bytes, 1000 * log.sent);
        assert_eq!(log.retransmitted, flow.retransmitted);
        assert_eq!(log.acked_bytes, 1000 * log.acked);
        assert_eq!(log.lost_bytes, 1000 * log.lost);
        assert!(log.lost > 0 && log.most_in_flight == 40, "{log:?}");
    }
}
