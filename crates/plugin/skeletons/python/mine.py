#!/usr/bin/env python3
"""A congestion controller: additive increase, multiplicative decrease. Change it into your own."""

import math
import sys

import exm


class Mine:
    # What it needs of its host: "delivery", "sent", "marks", "feedback", "own_recovery", "restart".
    needs = []

    def __init__(self, increase=1.0):
        self.increase = increase
        self.cwnd = 10.0
        self.ssthresh = math.inf
        self.recovered_at = 0

    def on_start(self, start):
        """A flow starts."""
        self.cwnd, self.ssthresh, self.recovered_at = float(start.initial_window), math.inf, 0
        return self.cwnd

    def on_ack(self, ack):
        """An acknowledgement arrived."""
        if not ack.stale and not ack.recovering:
            slow_start = self.cwnd < self.ssthresh
            self.cwnd += ack.acked if slow_start else self.increase * ack.acked / self.cwnd
        return self.cwnd

    def on_congestion(self, congestion):
        """The host inferred congestion."""
        if congestion.kind == "idle":
            self.ssthresh = max(self.ssthresh, 0.75 * self.cwnd)
            self.cwnd = min(self.cwnd, float(congestion.packets))
        elif congestion.kind == "timeout":
            self.ssthresh = max(self.cwnd / 2, 2.0)
            self.cwnd = 1.0
            self.recovered_at = congestion.now
        elif congestion.kind != "spurious" and congestion.sent_at >= self.recovered_at:
            # Lost, or marked by a router: once a round trip.
            self.ssthresh = max(self.cwnd / 2, 2.0)
            self.cwnd = self.ssthresh
            self.recovered_at = congestion.now
        return self.cwnd

    def on_tick(self, tick):
        """The time that it asked for has come."""
        return self.cwnd

    def on_mtu(self, event):
        """The size of a full packet has become event.mtu."""
        return self.cwnd


if __name__ == "__main__":
    exm.run(Mine(*(float(word) for word in sys.argv[1:])))
