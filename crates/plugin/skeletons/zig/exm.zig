//! The interface of Ex Machina's controllers, version 1, for Zig: you need not change this file.
//!
//! Host and module share one block of 256 bytes. Times are in nanoseconds, windows in packets, sizes in bytes.

/// A time or a number that is absent.
pub const none: u64 = 0xffff_ffff_ffff_ffff;

pub const Block = extern struct {
    now: u64 = 0,
    /// When the packet was sent.
    sent_at: u64 = 0,
    /// When the receiver got it, by its clock, or none.
    received_at: u64 = none,
    sequence: u64 = 0,
    /// The largest number acknowledged before, or none.
    largest_acked: u64 = none,
    /// Packets acknowledged for the first time, their bytes, and how many of them routers marked.
    acked: u64 = 0,
    acked_bytes: u64 = 0,
    marked: u64 = 0,
    in_flight: u64 = 0,
    in_flight_bytes: u64 = 0,
    /// `flag.stale` and others.
    flags: u32 = 0,
    /// The kind of congestion: `kind.lost` and others.
    kind: u32 = 0,
    /// Packets that the congestion is about; when idle, the window to restart with.
    packets: u64 = 0,
    bytes: u64 = 0,
    /// At the start: the initial window, and the round-trip time of the handshake, or none.
    initial_window: u64 = 0,
    handshake_rtt: u64 = none,
    mtu: u64 = 0,
    /// These six are valid if `flag.has_delivery` is set.
    delivered: u64 = 0,
    delivered_at_send: u64 = 0,
    delivery_interval: u64 = 0,
    lost: u64 = 0,
    lost_at_send: u64 = 0,
    in_flight_at_send: u64 = 0,
    /// The change of the window that routers allow (XCP), or not a number.
    feedback: f64 = 0,
    /// The seed of the controller's random choices.
    seed: u64 = 0,
    /// Write it in exm_abi_1: `need.delivery` and others.
    needs: u32 = 0,
    unused: u32 = 0,
    /// Write these three: packets that may be in flight, the least time between two sends, and when on_tick is to
    /// be called, or none.
    cwnd: u64 = 0,
    intersend: u64 = 0,
    wake_at: u64 = none,
    reserved: [4]u64 = .{ 0, 0, 0, 0 },
};

comptime {
    if (@sizeOf(Block) != 256) @compileError("the block has 256 bytes");
}

pub const flag = struct {
    pub const stale: u32 = 1;
    pub const recovering: u32 = 2;
    pub const app_limited: u32 = 4;
    pub const has_delivery: u32 = 8;
    pub const delivery_app_limited: u32 = 16;
    pub const retransmission: u32 = 32;
};

pub const kind = struct {
    pub const lost: u32 = 0;
    pub const marked: u32 = 1;
    pub const timeout: u32 = 2;
    pub const spurious: u32 = 3;
    pub const idle: u32 = 4;
};

pub const need = struct {
    pub const own_recovery: u32 = 1;
    pub const delivery: u32 = 2;
    pub const sent: u32 = 4;
    pub const marks: u32 = 8;
    pub const feedback: u32 = 16;
    pub const restart: u32 = 32;
};
