// The interface of Ex Machina's controllers, version 1, for AssemblyScript: you need not change this file.
//
// Host and module share one block of 256 bytes. Times are in nanoseconds, windows in packets, sizes in bytes.

const block = memory.data(256, 8);

/** A time or a number that is absent. */
export const NONE: u64 = u64.MAX_VALUE;

/** The address of the block, with what the controller needs of its host: NEEDS_DELIVERY and others. */
export function address(needs: u32): usize {
  store<u32>(block, needs, 192);
  return block;
}

export function now(): u64 { return load<u64>(block, 0); }
/** When the packet was sent. */
export function sentAt(): u64 { return load<u64>(block, 8); }
/** When the receiver got it, by its clock, or NONE. */
export function receivedAt(): u64 { return load<u64>(block, 16); }
export function sequence(): u64 { return load<u64>(block, 24); }
/** The largest number acknowledged before, or NONE. */
export function largestAcked(): u64 { return load<u64>(block, 32); }
/** Packets acknowledged for the first time, their bytes, and how many of them routers marked. */
export function acked(): u64 { return load<u64>(block, 40); }
export function ackedBytes(): u64 { return load<u64>(block, 48); }
export function marked(): u64 { return load<u64>(block, 56); }
export function inFlight(): u64 { return load<u64>(block, 64); }
export function inFlightBytes(): u64 { return load<u64>(block, 72); }
/** STALE and others. */
export function flags(): u32 { return load<u32>(block, 80); }
/** The kind of congestion: LOST and others. */
export function kind(): u32 { return load<u32>(block, 84); }
/** Packets that the congestion is about; for IDLE, the window to restart with. */
export function packets(): u64 { return load<u64>(block, 88); }
export function bytes(): u64 { return load<u64>(block, 96); }
/** At the start: the initial window, and the round-trip time of the handshake, or NONE. */
export function initialWindow(): u64 { return load<u64>(block, 104); }
export function handshakeRtt(): u64 { return load<u64>(block, 112); }
export function mtu(): u64 { return load<u64>(block, 120); }
/** These six are valid if the flag HAS_DELIVERY is set. */
export function delivered(): u64 { return load<u64>(block, 128); }
export function deliveredAtSend(): u64 { return load<u64>(block, 136); }
export function deliveryInterval(): u64 { return load<u64>(block, 144); }
export function lost(): u64 { return load<u64>(block, 152); }
export function lostAtSend(): u64 { return load<u64>(block, 160); }
export function inFlightAtSend(): u64 { return load<u64>(block, 168); }
/** The change of the window that routers allow (XCP), or not a number. */
export function feedback(): f64 { return load<f64>(block, 176); }
/** The seed of the controller's random choices. */
export function seed(): u64 { return load<u64>(block, 184); }

/** The decision: packets that may be in flight, the least time between two sends, and when to call on_tick. */
export function decide(cwnd: u64, intersend: u64 = 0, wakeAt: u64 = NONE): void {
  store<u64>(block, cwnd, 200);
  store<u64>(block, intersend, 208);
  store<u64>(block, wakeAt, 216);
}

export const STALE: u32 = 1;
export const RECOVERING: u32 = 2;
export const APP_LIMITED: u32 = 4;
export const HAS_DELIVERY: u32 = 8;
export const DELIVERY_APP_LIMITED: u32 = 16;
export const RETRANSMISSION: u32 = 32;

export const LOST: u32 = 0;
export const MARKED: u32 = 1;
export const TIMEOUT: u32 = 2;
export const SPURIOUS: u32 = 3;
export const IDLE: u32 = 4;

export const NEEDS_OWN_RECOVERY: u32 = 1;
export const NEEDS_DELIVERY: u32 = 2;
export const NEEDS_SENT: u32 = 4;
export const NEEDS_MARKS: u32 = 8;
export const NEEDS_FEEDBACK: u32 = 16;
export const NEEDS_RESTART: u32 = 32;
