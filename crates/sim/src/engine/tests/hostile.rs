//! Controllers with absurd decisions: they may perform badly, but must not stop the engine or its
//! time.

use super::*;
use crate::metrics::Report;
use exm_cc::{Ack, Congestion, Controller, Decision, MAX_WINDOW, Start, Wakeup};
use exm_tcp::Settings;

/// A controller with a constant decision, which counts its ticks.
#[derive(Clone, Debug)]
struct Hostile {
    cwnd: u64,
    intersend: Span,
    /// When it asks to be woken, as a function of the present time.
    wake_at: fn(Instant) -> Instant,
}

impl Hostile {
    fn decide(&self, now: Instant) -> Decision {
        Decision {
            cwnd: Packets::new(self.cwnd),
            intersend: self.intersend,
            wake_at: Some((self.wake_at)(now)),
        }
    }
}

impl Controller for Hostile {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.decide(start.now)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.decide(ack.now)
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.decide(congestion.now)
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.decide(now)
    }
}

/// A decision without pacing and with an unlimited window.
const PAST: [fn(Instant) -> Instant; 4] = [
    |_| Instant::ZERO,
    |now| now,
    |now| Instant::from_nanos(now.as_nanos().saturating_sub(1)),
    |now| now + Span::from_nanos(1),
];

/// The report of one such controller on each host, over a link of 12 Mbps with a buffer of ten
/// packets.
fn reports(hostile: &Hostile, duration: Span) -> [Report; 2] {
    let controller = AnyController::own(hostile.clone());
    let tcp = Transport::Tcp { controller: controller.clone(), settings: Settings::default() };
    let bare = Transport::Bare { controller, timer: true };
    [bare, tcp].map(|transport| {
        let link = packet_a_ms(Limit::Packets(Packets::new(10)), 0.01);
        let flow = FlowSpec { transport, ..flow(20, aimd(), ever()) };
        run(&network(vec![link], vec![flow], duration), 1)
    })
}

#[test]
fn wake_ups_in_the_past_come_once_a_tick() {
    for wake_at in PAST {
        let plain = Hostile { cwnd: 5, intersend: Span::ZERO, wake_at: |_| Instant::MAX };
        let hostile = Hostile { wake_at, ..plain.clone() };
        let duration = Span::from_secs(2);
        let ticks = duration.as_nanos() / Wakeup::TICK.as_nanos();
        let pairs = reports(&plain, duration).into_iter().zip(reports(&hostile, duration));
        for (plain, woken) in pairs {
            let more = woken.events - plain.events;
            assert!((ticks / 2..=ticks + 1).contains(&more), "{more}");
            assert_eq!(woken.flows, plain.flows, "ticks that change nothing change nothing");
        }
    }
}

#[test]
fn unlimited_windows_and_rates_are_bounded() {
    for (cwnd, intersend) in [
        (0, Span::ZERO),
        (0, Span::MAX),
        (u64::MAX, Span::MAX),
        (u64::MAX, Span::from_nanos(1000)),
        (u64::MAX, Span::ZERO),
    ] {
        let hostile = Hostile { cwnd, intersend, wake_at: PAST[1] };
        for report in reports(&hostile, Span::from_millis(100)) {
            let flow = &report.flows[0];
            // At most a window at the start and one in each of the five round trips.
            assert!(flow.sent <= 6 * MAX_WINDOW.get(), "{cwnd} {intersend}: {}", flow.sent);
            assert_eq!(report.in_network, flow.under_way());
        }
    }
}
