//! The interface of Ex Machina's controllers, version 1, for Rust: you need not change this file.
//!
//! Its types have the names and fields of those of the library exm-cc, and with the feature `native` they are those.

#![allow(dead_code, unused_imports, reason = "a controller uses some of it")]

#[cfg(feature = "native")]
pub use exm_cc::{
    Ack, Congestion, CongestionKind, Controller, Decision, Delivery, Needs, Sent, Start,
};
#[cfg(feature = "native")]
pub use exm_units::{Bytes, Instant, Packets, Span};

#[cfg(not(feature = "native"))]
pub use own::*;

#[cfg(not(feature = "native"))]
mod own {
    use core::ops::{Add, AddAssign, Div, Mul, Sub};

    /// A time since the start of the simulation, in nanoseconds.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(u64);

    impl Instant {
        pub const ZERO: Instant = Instant(0);
        pub const MAX: Instant = Instant(u64::MAX);
        pub const fn from_nanos(nanos: u64) -> Instant {
            Instant(nanos)
        }
        pub const fn as_nanos(self) -> u64 {
            self.0
        }
        pub fn as_secs_f64(self) -> f64 {
            self.0 as f64 / 1e9
        }
        pub const fn saturating_since(self, earlier: Instant) -> Span {
            Span(self.0.saturating_sub(earlier.0))
        }
        pub const fn saturating_add(self, span: Span) -> Instant {
            Instant(self.0.saturating_add(span.0))
        }
    }

    impl Add<Span> for Instant {
        type Output = Instant;
        fn add(self, span: Span) -> Instant {
            Instant(self.0 + span.0)
        }
    }

    impl AddAssign<Span> for Instant {
        fn add_assign(&mut self, span: Span) {
            self.0 += span.0;
        }
    }

    impl Sub for Instant {
        type Output = Span;
        fn sub(self, earlier: Instant) -> Span {
            Span(self.0 - earlier.0)
        }
    }

    /// A duration, in nanoseconds.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Span(u64);

    impl Span {
        pub const ZERO: Span = Span(0);
        pub const fn from_nanos(nanos: u64) -> Span {
            Span(nanos)
        }
        pub const fn from_micros(micros: u64) -> Span {
            Span(micros * 1000)
        }
        pub const fn from_millis(millis: u64) -> Span {
            Span(millis * 1_000_000)
        }
        pub const fn from_secs(secs: u64) -> Span {
            Span(secs * 1_000_000_000)
        }
        pub const fn as_nanos(self) -> u64 {
            self.0
        }
        pub fn as_secs_f64(self) -> f64 {
            self.0 as f64 / 1e9
        }
        pub const fn is_zero(self) -> bool {
            self.0 == 0
        }
        pub const fn saturating_sub(self, other: Span) -> Span {
            Span(self.0.saturating_sub(other.0))
        }
    }

    impl Add for Span {
        type Output = Span;
        fn add(self, other: Span) -> Span {
            Span(self.0 + other.0)
        }
    }

    impl Mul<u64> for Span {
        type Output = Span;
        fn mul(self, times: u64) -> Span {
            Span(self.0 * times)
        }
    }

    impl Div<u64> for Span {
        type Output = Span;
        fn div(self, parts: u64) -> Span {
            Span(self.0 / parts)
        }
    }

    macro_rules! counts {
        ($($(#[doc = $doc:literal])* $name:ident),*) => {
            $($(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
            pub struct $name(u64);

            impl $name {
                pub const ZERO: $name = $name(0);
                pub const fn new(count: u64) -> $name {
                    $name(count)
                }
                pub const fn get(self) -> u64 {
                    self.0
                }
            })*
        };
    }
    counts! {
        /// A number of packets.
        Packets,
        /// A number of bytes.
        Bytes
    }

    /// A flow starts.
    #[derive(Clone, Copy, Debug)]
    pub struct Start {
        pub now: Instant,
        /// The window to start with: ten packets.
        pub initial_window: Packets,
        /// The round-trip time of the handshake, if there was one.
        pub rtt: Option<Span>,
        /// The size of a full packet.
        pub mtu: Bytes,
    }

    impl Start {
        pub fn new(now: Instant) -> Start {
            Start { now, initial_window: Packets(10), rtt: None, mtu: Bytes(1500) }
        }
    }

    /// An acknowledgement arrived.
    #[derive(Clone, Copy, Debug)]
    pub struct Ack {
        pub now: Instant,
        /// When the packet that it acknowledges was sent.
        pub sent_at: Instant,
        /// When the receiver got that packet, by the receiver's clock.
        pub received_at: Option<Instant>,
        pub sequence: u64,
        /// The largest number acknowledged before.
        pub largest_acked: Option<u64>,
        /// How many packets it acknowledges for the first time, and their size.
        pub acked: Packets,
        pub acked_bytes: Bytes,
        /// How many of them were marked by routers.
        pub marked: Packets,
        /// What is in flight now.
        pub in_flight: Packets,
        pub in_flight_bytes: Bytes,
        /// The packet belongs to an earlier flow of the sender.
        pub stale: bool,
        /// The host is recovering from losses: the window must not grow.
        pub recovering: bool,
        /// The sender had less to send than its window allowed.
        pub app_limited: bool,
        /// What was delivered since the packet was sent: if asked for by [`Needs::delivery`].
        pub delivery: Option<Delivery>,
        /// The change of the window that routers allow: if asked for by [`Needs::feedback`].
        pub feedback: Option<f64>,
    }

    impl Ack {
        pub fn new(sequence: u64, sent_at: Instant, now: Instant) -> Ack {
            Ack {
                now,
                sent_at,
                received_at: None,
                sequence,
                largest_acked: sequence.checked_sub(1),
                acked: Packets(1),
                acked_bytes: Bytes(1500),
                marked: Packets(0),
                in_flight: Packets(0),
                in_flight_bytes: Bytes(0),
                stale: false,
                recovering: false,
                app_limited: false,
                delivery: None,
                feedback: None,
            }
        }

        /// The round-trip time.
        pub fn rtt(&self) -> Span {
            self.now.saturating_since(self.sent_at)
        }
    }

    /// What the network delivered between the sending of a packet and its acknowledgement.
    #[derive(Clone, Copy, Debug)]
    pub struct Delivery {
        pub total: u64,
        pub total_at_send: u64,
        pub interval: Span,
        pub app_limited: bool,
        pub lost: u64,
        pub lost_at_send: u64,
        pub in_flight_at_send: Packets,
    }

    impl Delivery {
        /// Packets per second; `None` if the interval is unknown.
        pub fn rate(&self) -> Option<f64> {
            let packets = self.total.saturating_sub(self.total_at_send) as f64;
            (!self.interval.is_zero()).then(|| packets / self.interval.as_secs_f64())
        }
    }

    /// The host inferred congestion.
    #[derive(Clone, Copy, Debug)]
    pub struct Congestion {
        pub now: Instant,
        pub kind: CongestionKind,
        /// When the affected packet was sent.
        pub sent_at: Instant,
        /// How many packets are affected; when idle, the window to restart with.
        pub packets: Packets,
        pub bytes: Bytes,
        pub in_flight: Packets,
        pub in_flight_bytes: Bytes,
    }

    impl Congestion {
        pub fn new(kind: CongestionKind, sent_at: Instant, now: Instant) -> Congestion {
            Congestion {
                now,
                kind,
                sent_at,
                packets: Packets(1),
                bytes: Bytes(1500),
                in_flight: Packets(0),
                in_flight_bytes: Bytes(0),
            }
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum CongestionKind {
        Lost,
        Marked,
        Timeout,
        Spurious,
        Idle,
    }

    /// A packet was sent: if asked for by [`Needs::sent`].
    #[derive(Clone, Copy, Debug)]
    pub struct Sent {
        pub now: Instant,
        pub sequence: u64,
        pub bytes: Bytes,
        pub in_flight: Packets,
        pub in_flight_bytes: Bytes,
        pub retransmission: bool,
    }

    /// What the sender may do from now on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Decision {
        pub cwnd: Packets,
        pub intersend: Span,
        pub wake_at: Option<Instant>,
    }

    /// What a controller asks of its host.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Needs {
        pub own_recovery: bool,
        pub delivery: bool,
        pub sent: bool,
        pub marks: bool,
        pub feedback: bool,
        pub restart: bool,
    }

    pub trait Controller: Clone {
        fn on_start(&mut self, start: &Start) -> Decision;
        fn on_ack(&mut self, ack: &Ack) -> Decision;
        fn on_congestion(&mut self, congestion: &Congestion) -> Decision;
        fn on_tick(&mut self, now: Instant) -> Decision;
        fn on_sent(&mut self, _sent: &Sent) -> Option<Decision> {
            None
        }
        fn on_mtu(&mut self, _mtu: Bytes) {}
        fn needs(&self) -> Needs {
            Needs::default()
        }
        /// Sets the seed of its random choices, before the first flow.
        fn seed(&mut self, _seed: u64) {}
    }

    /// The block of 256 bytes that host and module share.
    #[repr(C, align(8))]
    pub struct Block {
        now: u64,
        sent_at: u64,
        received_at: u64,
        sequence: u64,
        largest_acked: u64,
        acked: u64,
        acked_bytes: u64,
        marked: u64,
        in_flight: u64,
        in_flight_bytes: u64,
        flags: u32,
        kind: u32,
        packets: u64,
        bytes: u64,
        initial_window: u64,
        handshake_rtt: u64,
        mtu: u64,
        delivered: u64,
        delivered_at_send: u64,
        delivery_interval: u64,
        lost: u64,
        lost_at_send: u64,
        in_flight_at_send: u64,
        feedback: f64,
        seed: u64,
        pub needs: u32,
        unused: u32,
        cwnd: u64,
        intersend: u64,
        wake_at: u64,
        reserved: [u64; 4],
    }

    const _: () = assert!(size_of::<Block>() == 256);
    const NONE: u64 = u64::MAX;

    fn some(value: u64) -> Option<u64> {
        (value != NONE).then_some(value)
    }

    impl Block {
        pub const EMPTY: Block = Block {
            now: 0,
            sent_at: 0,
            received_at: NONE,
            sequence: 0,
            largest_acked: NONE,
            acked: 0,
            acked_bytes: 0,
            marked: 0,
            in_flight: 0,
            in_flight_bytes: 0,
            flags: 0,
            kind: 0,
            packets: 0,
            bytes: 0,
            initial_window: 0,
            handshake_rtt: NONE,
            mtu: 0,
            delivered: 0,
            delivered_at_send: 0,
            delivery_interval: 0,
            lost: 0,
            lost_at_send: 0,
            in_flight_at_send: 0,
            feedback: f64::NAN,
            seed: 0,
            needs: 0,
            unused: 0,
            cwnd: 0,
            intersend: 0,
            wake_at: NONE,
            reserved: [0; 4],
        };

        pub fn ask(&mut self, needs: Needs) {
            let bits = [
                needs.own_recovery,
                needs.delivery,
                needs.sent,
                needs.marks,
                needs.feedback,
                needs.restart,
            ];
            self.needs = (0..).zip(bits).map(|(bit, is)| u32::from(is) << bit).sum();
        }

        pub fn decide(&mut self, decision: Decision) {
            self.cwnd = decision.cwnd.0;
            self.intersend = decision.intersend.0;
            self.wake_at = decision.wake_at.map_or(NONE, |at| at.0);
        }

        pub fn seed(&self) -> u64 {
            self.seed
        }

        pub fn now(&self) -> Instant {
            Instant(self.now)
        }

        pub fn mtu(&self) -> Bytes {
            Bytes(self.mtu)
        }

        pub fn start(&self) -> Start {
            Start {
                now: self.now(),
                initial_window: Packets(self.initial_window),
                rtt: some(self.handshake_rtt).map(Span),
                mtu: self.mtu(),
            }
        }

        pub fn ack(&self) -> Ack {
            let has = |bit| self.flags & bit != 0;
            let delivery = Delivery {
                total: self.delivered,
                total_at_send: self.delivered_at_send,
                interval: Span(self.delivery_interval),
                app_limited: has(16),
                lost: self.lost,
                lost_at_send: self.lost_at_send,
                in_flight_at_send: Packets(self.in_flight_at_send),
            };
            Ack {
                now: self.now(),
                sent_at: Instant(self.sent_at),
                received_at: some(self.received_at).map(Instant),
                sequence: self.sequence,
                largest_acked: some(self.largest_acked),
                acked: Packets(self.acked),
                acked_bytes: Bytes(self.acked_bytes),
                marked: Packets(self.marked),
                in_flight: Packets(self.in_flight),
                in_flight_bytes: Bytes(self.in_flight_bytes),
                stale: has(1),
                recovering: has(2),
                app_limited: has(4),
                delivery: has(8).then_some(delivery),
                feedback: (!self.feedback.is_nan()).then_some(self.feedback),
            }
        }

        pub fn congestion(&self) -> Congestion {
            Congestion {
                now: self.now(),
                kind: match self.kind {
                    0 => CongestionKind::Lost,
                    2 => CongestionKind::Timeout,
                    3 => CongestionKind::Spurious,
                    4 => CongestionKind::Idle,
                    _ => CongestionKind::Marked,
                },
                sent_at: Instant(self.sent_at),
                packets: Packets(self.packets),
                bytes: Bytes(self.bytes),
                in_flight: Packets(self.in_flight),
                in_flight_bytes: Bytes(self.in_flight_bytes),
            }
        }

        pub fn sent(&self) -> Sent {
            Sent {
                now: self.now(),
                sequence: self.sequence,
                bytes: Bytes(self.bytes),
                in_flight: Packets(self.in_flight),
                in_flight_bytes: Bytes(self.in_flight_bytes),
                retransmission: self.flags & 32 != 0,
            }
        }
    }
}

/// Exports a controller that has a [`Default`] from the module, with these of its fields as parameters.
#[macro_export]
macro_rules! export_controller {
    ($type:ident { $($parameter:ident),* $(,)? }) => {
        #[cfg(all(target_family = "wasm", not(feature = "native")))]
        #[allow(static_mut_refs, reason = "a module has one thread, and its functions do not call one another")]
        mod exports {
            use super::*;
            use $crate::exm::Block;

            static mut BLOCK: Block = Block::EMPTY;
            static mut CONTROLLER: Option<$type> = None;

            fn controller() -> &'static mut $type {
                // SAFETY: the module has one thread, and its exported functions do not call one another.
                unsafe { CONTROLLER.get_or_insert_with($type::default) }
            }

            fn block() -> &'static mut Block {
                // SAFETY: as above.
                unsafe { &mut BLOCK }
            }

            #[unsafe(no_mangle)]
            extern "C" fn exm_abi_1() -> *const Block {
                block().ask(controller().needs());
                block()
            }

            #[unsafe(no_mangle)]
            extern "C" fn on_start() {
                static mut SEEDED: bool = false;
                // SAFETY: as above.
                if !unsafe { core::mem::replace(&mut SEEDED, true) } {
                    controller().seed(block().seed());
                }
                let decision = controller().on_start(&block().start());
                block().decide(decision);
            }

            #[unsafe(no_mangle)]
            extern "C" fn on_ack() {
                let decision = controller().on_ack(&block().ack());
                block().decide(decision);
            }

            #[unsafe(no_mangle)]
            extern "C" fn on_congestion() {
                let decision = controller().on_congestion(&block().congestion());
                block().decide(decision);
            }

            #[unsafe(no_mangle)]
            extern "C" fn on_tick() {
                let decision = controller().on_tick(block().now());
                block().decide(decision);
            }

            #[unsafe(no_mangle)]
            extern "C" fn on_sent() {
                if let Some(decision) = controller().on_sent(&block().sent()) {
                    block().decide(decision);
                }
            }

            #[unsafe(no_mangle)]
            extern "C" fn on_mtu() {
                controller().on_mtu(block().mtu());
            }

            $(const _: () = {
                #[unsafe(export_name = concat!("set_", stringify!($parameter)))]
                extern "C" fn set(value: f64) {
                    controller().$parameter = value;
                }
            };)*
        }
    };
}
pub use export_controller as export;
