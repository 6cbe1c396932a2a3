"""Steps of the environments from Python, at ten packets a step.

    python benches/steps.py [SECONDS]

One flow sends on 10 Mbps; a step is 12 ms. `FlowEnv` is measured alone, in steps for a CPU-second, and `FlowVectorEnv`
by the clock, beside as many cores as it may use.
"""

import os
import sys
import time

import numpy as np

import tcpexmachina as em
from tcpexmachina.gym import FlowEnv, FlowVectorEnv

LINK = em.Bottleneck(rate="10 Mbps", rtt="12 ms", flows=["cubic"], buffer="50 packets", duration="100 s")
KEYWORDS = {"action": "window", "interval": "12 ms"}
COUNT = 256
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
# Half a window more, then half a window less: the link stays busy.
ACTIONS = [np.array([0.5], np.float32), np.array([-0.5], np.float32)]


def alone():
    """Steps of one environment for a CPU-second, and packets in a step."""
    env = FlowEnv(LINK, **KEYWORDS)
    env.reset(seed=1)
    steps, packets, begun, end = 0, 0, time.process_time(), time.monotonic() + SECONDS
    while time.monotonic() < end:
        for action in ACTIONS * 50:
            truncated = env.step(action)[3]
            steps += 1
            if truncated:
                packets += env.report().flows.throughput_bps[0] * 100 / 8 / 1448
                env.reset()
    seconds = time.process_time() - begun
    return steps / seconds, packets / (steps - steps % 8333)


def together():
    """Steps of many environments for a second of the clock."""
    env = FlowVectorEnv(COUNT, LINK, **KEYWORDS)
    env.reset(seed=1)
    actions = [np.repeat(action[None], COUNT, axis=0) for action in ACTIONS]
    steps, begun, end = 0, time.monotonic(), time.monotonic() + SECONDS
    while time.monotonic() < end:
        for action in actions:
            env.step(action)
            steps += COUNT
    return steps / (time.monotonic() - begun)


cores = len(os.sched_getaffinity(0))
rounds = [(*alone(), together()) for _ in range(5)]
single, packets, vector = np.median(rounds, axis=0)
print(f"one environment: {single:,.0f} steps/CPU-s, {packets:.1f} packets a step")
ratio = np.median([vector / cores / single for single, _, vector in rounds])
print(f"{COUNT} on {cores} cores: {vector:,.0f} steps/s, {ratio:.2f} of the cores' sum")
