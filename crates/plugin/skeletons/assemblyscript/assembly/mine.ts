// A congestion controller: additive increase, multiplicative decrease. Change it into your own.

import * as exm from "./exm";

let increase: f64 = 1; // a parameter: --cc 'mine.wasm increase=2' sets it
let cwnd: f64 = 10; // packets
let ssthresh: f64 = Infinity;
let recoveredAt: u64 = 0; // losses of packets sent before were responded to

function decide(): void {
  exm.decide(cwnd < 1e9 ? <u64>cwnd : 1000000000);
}

/** The address of the block, and what the controller needs, such as exm.NEEDS_DELIVERY. */
export function exm_abi_1(): usize {
  return exm.address(0);
}

export function set_increase(value: f64): void {
  increase = value;
}

/** A flow starts. */
export function on_start(): void {
  cwnd = <f64>exm.initialWindow();
  ssthresh = Infinity;
  recoveredAt = 0;
  decide();
}

/** An acknowledgement arrived. */
export function on_ack(): void {
  if ((exm.flags() & (exm.STALE | exm.RECOVERING)) == 0) {
    const acked = <f64>exm.acked();
    cwnd += cwnd < ssthresh ? acked : (increase * acked) / cwnd;
  }
  decide();
}

/** The host inferred congestion. */
export function on_congestion(): void {
  const kind = exm.kind();
  if (kind == exm.IDLE) {
    ssthresh = max(ssthresh, 0.75 * cwnd);
    cwnd = min(cwnd, <f64>exm.packets());
  } else if (kind == exm.TIMEOUT) {
    ssthresh = max(cwnd / 2, 2);
    cwnd = 1;
    recoveredAt = exm.now();
  } else if (kind != exm.SPURIOUS && exm.sentAt() >= recoveredAt) {
    // Lost, or marked by a router: once a round trip.
    ssthresh = max(cwnd / 2, 2);
    cwnd = ssthresh;
    recoveredAt = exm.now();
  }
  decide();
}

/** The time that it asked for by wakeAt has come. */
export function on_tick(): void {
  decide();
}
