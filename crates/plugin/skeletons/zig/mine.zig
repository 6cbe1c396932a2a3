//! A congestion controller: additive increase, multiplicative decrease. Change it into your own.

const exm = @import("exm.zig");

var block: exm.Block = .{};

/// A parameter: --cc 'mine.wasm increase=2' sets it.
var increase: f64 = 1;
/// The window, in packets.
var cwnd: f64 = 10;
const infinity: f64 = 0x1p1023;
var ssthresh: f64 = infinity;
/// Losses of packets sent before were responded to.
var recovered_at: u64 = 0;

fn decide() void {
    block.cwnd = @intFromFloat(@min(cwnd, 1e9));
    block.intersend = 0;
    block.wake_at = exm.none;
}

/// The address of the block. Say here what you need: block.needs = exm.need.delivery;
export fn exm_abi_1() *exm.Block {
    return &block;
}

export fn set_increase(value: f64) void {
    increase = value;
}

/// A flow starts.
export fn on_start() void {
    cwnd = @floatFromInt(block.initial_window);
    ssthresh = infinity;
    recovered_at = 0;
    decide();
}

/// An acknowledgement arrived.
export fn on_ack() void {
    if (block.flags & (exm.flag.stale | exm.flag.recovering) == 0) {
        const acked: f64 = @floatFromInt(block.acked);
        cwnd += if (cwnd < ssthresh) acked else increase * acked / cwnd;
    }
    decide();
}

/// The host inferred congestion.
export fn on_congestion() void {
    switch (block.kind) {
        exm.kind.spurious => {},
        exm.kind.idle => {
            const restart: f64 = @floatFromInt(block.packets);
            ssthresh = @max(ssthresh, 0.75 * cwnd);
            cwnd = @min(cwnd, restart);
        },
        exm.kind.timeout => {
            ssthresh = @max(cwnd / 2, 2);
            cwnd = 1;
            recovered_at = block.now;
        },
        // Lost, or marked by a router: once a round trip.
        else => if (block.sent_at >= recovered_at) {
            ssthresh = @max(cwnd / 2, 2);
            cwnd = ssthresh;
            recovered_at = block.now;
        },
    }
    decide();
}

/// The time that it asked for by wake_at has come.
export fn on_tick() void {
    decide();
}

test "a loss halves the window once a round trip" {
    const expect = @import("std").testing.expect;
    block = .{ .initial_window = 10 };
    on_start();
    try expect(block.cwnd == 10);
    block.now = 100_000_000;
    block.acked = 1;
    on_ack();
    try expect(block.cwnd == 11);
    on_congestion();
    try expect(block.cwnd == 5);
    on_congestion();
    try expect(block.cwnd == 5);
}
