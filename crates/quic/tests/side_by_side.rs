//! NewReno of this project and quinn's, told the same events of one transfer.

#![cfg(feature = "quinn")]

#[path = "../examples/common/mod.rs"]
mod common;
#[allow(dead_code, reason = "it is run with a transport of its own")]
#[path = "../examples/common/quinn.rs"]
mod quinn_transfer;

use common::Link;
use exm_cc::Reno;
use exm_quic::Factory;
use quinn::TransportConfig;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, NewRenoConfig};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The windows of both controllers after an event, in bytes: quinn's, then ours.
type Windows = Arc<Mutex<Vec<[u64; 2]>>>;

/// quinn's NewReno decides, and ours is told the same.
struct Both {
    theirs: Box<dyn Controller>,
    ours: Box<dyn Controller>,
    windows: Windows,
}

impl Both {
    fn note(&self) {
        let windows = [self.theirs.window(), self.ours.window()];
        self.windows.lock().unwrap().push(windows);
    }
}

impl Controller for Both {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.theirs.on_sent(now, bytes, last_packet_number);
        self.ours.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.theirs.on_ack(now, sent, bytes, app_limited, rtt);
        self.ours.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        self.theirs.on_end_acks(now, in_flight, app_limited, largest);
        self.ours.on_end_acks(now, in_flight, app_limited, largest);
        self.note();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.theirs.on_congestion_event(now, sent, persistent, lost);
        self.ours.on_congestion_event(now, sent, persistent, lost);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.theirs.on_mtu_update(new_mtu);
        self.ours.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.theirs.window()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let (theirs, ours) = (self.theirs.clone_box(), self.ours.clone_box());
        Box::new(Both { theirs, ours, windows: Arc::clone(&self.windows) })
    }

    fn initial_window(&self) -> u64 {
        self.theirs.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

struct BothFactory(Windows);

impl ControllerFactory for BothFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let mut theirs = NewRenoConfig::default();
        theirs.initial_window(10 * u64::from(mtu));
        let ours = Factory::new(Reno::new()).expect("it needs nothing special");
        Box::new(Both {
            theirs: Arc::new(theirs).build(now, mtu),
            ours: Arc::new(ours).build(now, mtu),
            windows: Arc::clone(&self.0),
        })
    }
}

#[test]
fn new_reno_follows_quinns_event_by_event() {
    let windows = Windows::default();
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(BothFactory(Arc::clone(&windows))));
    // A window of this project is in packets, of quinn in bytes: the size of packets stays the same.
    transport.mtu_discovery_config(None);
    let link =
        Link { mbps: 10.0, delay: Duration::from_millis(25), queue: Duration::from_millis(30) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(quinn_transfer::transfer(transport, 4_000_000, link)).unwrap();
    assert!(report.lost > 0, "nothing was lost");
    let windows = windows.lock().unwrap();
    let mut off: Vec<f64> =
        windows.iter().map(|[a, b]| (*b as f64 / *a as f64 - 1.0).abs()).collect();
    off.sort_by(f64::total_cmp);
    let at = |part: f64| off[((off.len() - 1) as f64 * part) as usize];
    let text =
        format!("median {:.3}, 90 % {:.3}, most {:.3} of {}", at(0.5), at(0.9), at(1.0), off.len());
    println!("{text}");
    assert!(at(0.5) < 0.05 && at(0.9) < 0.15, "{text}");
}
