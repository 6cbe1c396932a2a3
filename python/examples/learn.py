"""Learns a congestion controller in about a minute, by the cross-entropy method and numpy alone.

    python examples/learn.py [SEED] [MODEL] [FILE]

Candidates are linear policies, each on the same networks of the model. The best quarter of them is the centre of the next
generation. The other senders of a network run the centre, so the policy learns among its like, which is how it is scored.
"""

import sys
import time

import numpy as np

import tcpexmachina as em
from tcpexmachina.gym import FlowVectorEnv

CANDIDATES, EPISODES, GENERATIONS, ELITE = 24, 8, 12, 6
INTERFACE = {"observation": "aurora", "history": 2, "action": "window", "change": 0.5, "interval": "1 RTT"}


def policy(weights):
    """The linear policy of these weights, the last of which is the bias."""
    return em.Policy([([weights[:-1]], [weights[-1]])], **INTERFACE)


def returns(env, candidates, seed):
    """The mean return of each candidate over the same episodes."""
    seeds = [seed + episode for _ in candidates for episode in range(EPISODES)]
    observations, _ = env.reset(seed=seeds)
    weights = np.repeat(candidates, EPISODES, axis=0)
    totals, steps = np.zeros(len(seeds)), 0
    running = np.ones(len(seeds), bool)
    while running.any():
        actions = np.clip((observations * weights[:, :-1]).sum(axis=1) + weights[:, -1], -1, 1)
        observations, rewards, _, truncated, _ = env.step(actions[:, None])
        totals += np.where(running, rewards, 0.0)
        steps += running.sum()
        running &= ~truncated
    return totals.reshape(len(candidates), EPISODES).mean(axis=1), steps


def learn(seed=1, model="general-delta1", duration="10 s", log=print):
    """The policy that was learnt."""
    random = np.random.default_rng(seed)
    size = FlowVectorEnv(1, model, **INTERFACE).single_observation_space.shape[0] + 1
    centre, spread = np.zeros(size), np.ones(size)
    begun, steps = time.perf_counter(), 0
    for generation in range(GENERATIONS):
        others = policy(centre) if generation else "cubic"
        env = FlowVectorEnv(CANDIDATES * EPISODES, model, others=others, duration=duration, **INTERFACE)
        candidates = random.normal(centre, spread, (CANDIDATES, size))
        values, taken = returns(env, candidates, seed=1000 * seed + 100 * generation)
        best = candidates[np.argsort(-values)[:ELITE]]
        centre, spread = best.mean(axis=0), best.std(axis=0) + 0.3 * 0.8**generation
        steps += taken
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
