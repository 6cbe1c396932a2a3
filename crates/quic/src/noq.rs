//! Controllers for [noq](https://docs.rs/noq), which takes the window and the pace from its controller.
//!
//! noq's pacer lets the packets of 2 ms leave together, or ten of them where that takes at most 10 ms.

use crate::factory::{Factory, Path};
use crate::sender::Lost;
use exm_cc::Controller;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A pace that holds nothing back, bytes per second: without one noq spreads the window over the RTT.
const UNPACED: u64 = 1 << 50;

impl<C: Controller + Send + Sync + 'static> ControllerFactory for Factory<C> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(NoqPath(self.path(now, current_mtu)))
    }
}

#[derive(Clone)]
struct NoqPath<C>(Path<C>);

impl<C: Controller> fmt::Debug for NoqPath<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sender = &self.0.sender;
        write!(f, "NoqPath({} bytes, a packet each {})", sender.window(), sender.intersend())
    }
}

impl<C: Controller + Send + Sync + 'static> congestion::Controller for NoqPath<C> {
    fn on_sent(&mut self, now: Instant, bytes: u64, _largest_pn: u64) {
        self.0.sender.on_sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        _pn: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.0.acked(sent, bytes);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.0.end_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        if is_ecn {
            self.0.sender.on_marked(now, sent);
        } else {
            let lost = Lost { sent, bytes: lost_bytes, persistent: is_persistent_congestion };
            self.0.sender.on_lost(now, lost);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.0.sender.on_spurious_loss();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.sender.on_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.sender.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let sender = &self.0.sender;
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = sender.window();
        metrics.pacing_rate = Some(sender.pacing_rate().unwrap_or(UNPACED));
        metrics.send_quantum = sender.pacing_rate().map(|_| sender.mtu());
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.0.sender.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0.sender)
    }
}
