//! Controllers for [quinn](https://docs.rs/quinn).
//!
//! quinn takes the window from its controller, not the pace: its pacer lets 1.25 windows leave in an RTT, whatever the
//! controller says.

use crate::factory::{Factory, Path};
use crate::sender::Lost;
use exm_cc::Controller;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

impl<C: Controller + Send + Sync + 'static> ControllerFactory for Factory<C> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(QuinnPath(self.path(now, current_mtu)))
    }
}

#[derive(Clone)]
struct QuinnPath<C>(Path<C>);

impl<C: Controller + Send + Sync + 'static> congestion::Controller for QuinnPath<C> {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.0.sender.on_sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
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

    /// quinn tells of ECN marks as of a loss of nothing.
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        if lost_bytes == 0 {
            self.0.sender.on_marked(now, sent);
        } else {
            let lost = Lost { sent, bytes: lost_bytes, persistent: is_persistent_congestion };
            self.0.sender.on_lost(now, lost);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.sender.on_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.sender.window()
    }

    /// For qlog alone: the pace is in bits per second there.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.0.sender.window();
        metrics.pacing_rate = self.0.sender.pacing_rate().map(|rate| rate.saturating_mul(8));
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
