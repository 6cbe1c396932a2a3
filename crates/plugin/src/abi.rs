//! The interface of modules: where each value of an event stands in the block that host and module share, and where
//! the module's decision does.

use exm_cc::{Ack, Congestion, CongestionKind, Needs, Sent, Start};
use exm_units::{Bytes, Instant};

/// The size of the block, bytes.
pub const BLOCK: usize = 256;

/// A time, a count or a request that is absent.
pub const NONE: u64 = u64::MAX;

/// The export that returns the address of the block; its name is the version of the interface.
pub const ENTRY: &str = "exm_abi_1";

/// The offsets of the fields of the block, which are little-endian 64-bit integers unless said otherwise.
pub mod offset {
    /// When the event happens, ns.
    pub const NOW: usize = 0;
    /// When the packet was sent, ns.
    pub const SENT_AT: usize = 8;
    /// When the receiver got it, ns of its own clock; [`NONE`](super::NONE) where it does not report it.
    pub const RECEIVED_AT: usize = 16;
    /// The packet's number.
    pub const SEQUENCE: usize = 24;
    /// The largest number acknowledged before; or none.
    pub const LARGEST_ACKED: usize = 32;
    /// Packets acknowledged for the first time.
    pub const ACKED: usize = 40;
    /// Their bytes.
    pub const ACKED_BYTES: usize = 48;
    /// How many of them were marked.
    pub const MARKED: usize = 56;
    /// Packets in flight.
    pub const IN_FLIGHT: usize = 64;
    /// Bytes in flight.
    pub const IN_FLIGHT_BYTES: usize = 72;
    /// [`flag`](super::flag)s: 32 bits.
    pub const FLAGS: usize = 80;
    /// The [kind](super::kind_number) of congestion: 32 bits.
    pub const KIND: usize = 84;
    /// Packets that the congestion event is about; when idle, the window to restart with.
    pub const PACKETS: usize = 88;
    /// Bytes that the congestion event is about, or that were sent.
    pub const BYTES: usize = 96;
    /// At the start: the initial window, packets.
    pub const INITIAL_WINDOW: usize = 104;
    /// At the start: the round-trip time of the handshake, ns; or none.
    pub const HANDSHAKE_RTT: usize = 112;
    /// The size of a full packet, bytes: valid from the start on.
    pub const MTU: usize = 120;
    /// Packets delivered up to now.
    pub const DELIVERED: usize = 128;
    /// Packets that had been delivered when this one was sent.
    pub const DELIVERED_AT_SEND: usize = 136;
    /// In what time the difference was delivered, ns.
    pub const DELIVERY_INTERVAL: usize = 144;
    /// Packets deemed lost up to now.
    pub const LOST: usize = 152;
    /// Packets that had been deemed lost when this one was sent.
    pub const LOST_AT_SEND: usize = 160;
    /// Packets in flight when this one was sent.
    pub const IN_FLIGHT_AT_SEND: usize = 168;
    /// The change of the window that routers allow, packets: a 64-bit float, NaN where there is none.
    pub const FEEDBACK: usize = 176;
    /// The seed of the controller's random choices.
    pub const SEED: usize = 184;
    /// Written by the module in `exm_abi_1`: what it [needs](super::need), 32 bits.
    pub const NEEDS: usize = 192;
    /// Written by the module: packets that may be in flight.
    pub const CWND: usize = 200;
    /// Written by the module: the least time between two sends, ns.
    pub const INTERSEND: usize = 208;
    /// Written by the module: when to call `on_tick`, ns; or none.
    pub const WAKE_AT: usize = 216;
}

/// The bits of [`offset::FLAGS`].
pub mod flag {
    /// The packet belongs to an earlier flow of the sender.
    pub const STALE: u32 = 1;
    /// The host is in loss recovery.
    pub const RECOVERING: u32 = 2;
    /// The sender had less to send than its window allowed.
    pub const APP_LIMITED: u32 = 4;
    /// The fields on delivery are valid.
    pub const DELIVERY: u32 = 8;
    /// The sender was application-limited while the delivery rate was measured.
    pub const DELIVERY_APP_LIMITED: u32 = 16;
    /// The packet that was sent is a retransmission.
    pub const RETRANSMISSION: u32 = 32;
}

/// The bits of [`offset::NEEDS`], which are those of [`Needs`].
pub mod need {
    /// [`Needs::own_recovery`](exm_cc::Needs::own_recovery).
    pub const OWN_RECOVERY: u32 = 1;
    /// [`Needs::delivery`](exm_cc::Needs::delivery).
    pub const DELIVERY: u32 = 2;
    /// [`Needs::sent`](exm_cc::Needs::sent).
    pub const SENT: u32 = 4;
    /// [`Needs::marks`](exm_cc::Needs::marks).
    pub const MARKS: u32 = 8;
    /// [`Needs::feedback`](exm_cc::Needs::feedback).
    pub const FEEDBACK: u32 = 16;
    /// [`Needs::restart`](exm_cc::Needs::restart).
    pub const RESTART: u32 = 32;
    /// All of them; other bits must be zero.
    pub const ALL: u32 = 63;
}

/// The number of a kind of congestion in the block.
pub const fn kind_number(kind: CongestionKind) -> u32 {
    match kind {
        CongestionKind::Lost => 0,
        CongestionKind::Marked => 1,
        CongestionKind::Timeout => 2,
        CongestionKind::Spurious => 3,
        CongestionKind::Idle => 4,
        // A kind that this version of the interface does not know is the mildest known one.
        _ => 1,
    }
}

/// What the bits of `bits` ask for; none if there are others.
pub(crate) fn needs(bits: u32) -> Option<Needs> {
    let has = |bit| bits & bit != 0;
    let mut needs = Needs::default();
    needs.own_recovery = has(need::OWN_RECOVERY);
    needs.delivery = has(need::DELIVERY);
    needs.sent = has(need::SENT);
    needs.marks = has(need::MARKS);
    needs.feedback = has(need::FEEDBACK);
    needs.restart = has(need::RESTART);
    (bits & !need::ALL == 0).then_some(needs)
}

/// The block, in the module's memory.
pub(crate) struct Block<'a>(pub(crate) &'a mut [u8; BLOCK]);

impl Block<'_> {
    #[inline]
    fn put(&mut self, offset: usize, value: u64) {
        self.0[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_small(&mut self, offset: usize, value: u32) {
        self.0[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_time(&mut self, offset: usize, time: Option<Instant>) {
        self.put(offset, time.map_or(NONE, Instant::as_nanos));
    }

    #[inline]
    pub(crate) fn get(&self, offset: usize) -> u64 {
        let bytes = self.0[offset..offset + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    }

    pub(crate) fn get_small(&self, offset: usize) -> u32 {
        let bytes = self.0[offset..offset + 4].try_into();
        u32::from_le_bytes(bytes.expect("four bytes"))
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        self.put(offset::SEED, seed);
    }

    pub(crate) fn start(&mut self, start: &Start) {
        self.put(offset::NOW, start.now.as_nanos());
        self.put(offset::INITIAL_WINDOW, start.initial_window.get());
        self.put(offset::HANDSHAKE_RTT, start.rtt.map_or(NONE, exm_units::Span::as_nanos));
        self.put(offset::MTU, start.mtu.get());
    }

    pub(crate) fn tick(&mut self, now: Instant) {
        self.put(offset::NOW, now.as_nanos());
    }

    pub(crate) fn mtu(&mut self, mtu: Bytes) {
        self.put(offset::MTU, mtu.get());
    }

    #[inline]
    pub(crate) fn ack(&mut self, ack: &Ack) {
        self.put(offset::NOW, ack.now.as_nanos());
        self.put(offset::SENT_AT, ack.sent_at.as_nanos());
        self.put_time(offset::RECEIVED_AT, ack.received_at);
        self.put(offset::SEQUENCE, ack.sequence);
        self.put(offset::LARGEST_ACKED, ack.largest_acked.unwrap_or(NONE));
        self.put(offset::ACKED, ack.acked.get());
        self.put(offset::ACKED_BYTES, ack.acked_bytes.get());
        self.put(offset::MARKED, ack.marked.get());
        self.put(offset::IN_FLIGHT, ack.in_flight.get());
        self.put(offset::IN_FLIGHT_BYTES, ack.in_flight_bytes.get());
        self.put(offset::FEEDBACK, ack.feedback.unwrap_or(f64::NAN).to_bits());
        let mut flags = 0;
        let mut set = |bit, on| flags |= if on { bit } else { 0 };
        set(flag::STALE, ack.stale);
        set(flag::RECOVERING, ack.recovering);
        set(flag::APP_LIMITED, ack.app_limited);
        if let Some(delivery) = &ack.delivery {
            set(flag::DELIVERY, true);
            set(flag::DELIVERY_APP_LIMITED, delivery.app_limited);
            self.put(offset::DELIVERED, delivery.total);
            self.put(offset::DELIVERED_AT_SEND, delivery.total_at_send);
            self.put(offset::DELIVERY_INTERVAL, delivery.interval.as_nanos());
            self.put(offset::LOST, delivery.lost);
            self.put(offset::LOST_AT_SEND, delivery.lost_at_send);
            self.put(offset::IN_FLIGHT_AT_SEND, delivery.in_flight_at_send.get());
        }
        self.put_small(offset::FLAGS, flags);
    }

    pub(crate) fn congestion(&mut self, congestion: &Congestion) {
        self.put(offset::NOW, congestion.now.as_nanos());
        self.put(offset::SENT_AT, congestion.sent_at.as_nanos());
        self.put_small(offset::KIND, kind_number(congestion.kind));
        self.put(offset::PACKETS, congestion.packets.get());
        self.put(offset::BYTES, congestion.bytes.get());
        self.put(offset::IN_FLIGHT, congestion.in_flight.get());
        self.put(offset::IN_FLIGHT_BYTES, congestion.in_flight_bytes.get());
    }

    pub(crate) fn sent(&mut self, sent: &Sent) {
        self.put(offset::NOW, sent.now.as_nanos());
        self.put(offset::SEQUENCE, sent.sequence);
        self.put(offset::BYTES, sent.bytes.get());
        self.put(offset::IN_FLIGHT, sent.in_flight.get());
        self.put(offset::IN_FLIGHT_BYTES, sent.in_flight_bytes.get());
        self.put_small(offset::FLAGS, if sent.retransmission { flag::RETRANSMISSION } else { 0 });
    }
}
