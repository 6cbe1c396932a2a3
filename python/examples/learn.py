"""Learns a congestion controller in a minute or two, by the cross-entropy method and numpy alone.

    python examples/learn.py [SEED] [MODEL] [FILE]

Candidates are linear policies, each on the same networks of the model; the best quarter of them is the centre of the next
generation. The other senders of a network run the candidate as well, since that is how a controller is scored: against
polite senders, the best answer would be greed.
"""

import sys
import time

import numpy as np

import tcpexmachina as em
from tcpexmachina.gym import FlowVectorEnv

CANDIDATES, ELITE, EPISODES, GENERATIONS = 24, 6, 32, 12
INTERFACE = {"observation": "aurora", "history": 1, "action": "window", "change": 1.0, "interval": "1 RTT"}
# Aurora's features of a flow without a queue: the RTT's slope and ratio, and packets sent for each that is delivered.
CALM = np.array([0.0, 1.0, 1.0])


def policy(weights):
    """The linear policy of these weights of what differs from a calm flow; the last one is its action there."""
    return em.Policy([([weights[:-1]], [weights[-1] - weights[:-1] @ CALM])], **INTERFACE)


def mean_return(weights, model, seed, duration="10 s"):
    """The mean return of a candidate over the episodes of `seed`, and how many steps they took."""
    env = FlowVectorEnv(EPISODES, model, others=policy(weights), duration=duration, **INTERFACE)
    observations, _ = env.reset(seed=[seed + episode for episode in range(EPISODES)])
    total, steps = 0.0, 0
    running = np.ones(EPISODES, bool)
    while running.any():
        actions = np.clip((observations - CALM) @ weights[:-1] + weights[-1], -1, 1)
        observations, rewards, _, truncated, _ = env.step(actions[:, None])
        total += rewards[running].sum()
        steps += running.sum()
        running &= ~truncated
    return total / EPISODES, steps


def learn(seed=1, model="general-delta1", generations=GENERATIONS, log=print):
    """The policy that was learnt."""
    random = np.random.default_rng(seed)
    centre, spread = np.zeros(len(CALM) + 1), np.ones(len(CALM) + 1)
    begun, steps = time.perf_counter(), 0
    for generation in range(generations):
        candidates = random.normal(centre, spread, (CANDIDATES, len(centre)))
        results = [mean_return(each, model, 1000 * seed + 100 * generation) for each in candidates]
        values = np.array([value for value, _ in results])
        best = candidates[np.argsort(-values)[:ELITE]]
        centre, spread = best.mean(axis=0), best.std(axis=0) + 0.3 * 0.8**generation
        steps += sum(taken for _, taken in results)
        log(f"generation {generation + 1:2}: return {values.mean():8.2f}, best {values.max():8.2f}")
    log(f"{steps} steps in {time.perf_counter() - begun:.0f} s")
    return policy(centre)


if __name__ == "__main__":
    seed, model, file = (sys.argv[1:] + ["1", "general-delta1", "learnt.policy"][len(sys.argv) - 1 :])[:3]
    learnt = learn(int(seed), model)
    learnt.save(file)
    scores = em.score([file, "cubic", "bbr", "general-delta1"], model, specimens=64, host="tcp")
    for row in scores.contenders:
        print(f"{row['name']:16} {row['relative']:6.2f}  ({row['relative_low']:.2f} to {row['relative_high']:.2f})")
