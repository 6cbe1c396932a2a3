"""Learns a congestion controller as Aurora does: by PPO, on Aurora's networks, with its observations, actions and reward.

    pip install stable-baselines3
    python examples/ppo.py [SEED] [STEPS] [FILE]

Half a million steps take some minutes, nearly all of them in PyTorch. The policy is kept in a file that runs without it,
as a controller in `exm compare` and `exm score`.

Source: Jay, Rotman, Godfrey, Schapira and Tamar, "A Deep Reinforcement Learning Perspective on Internet Congestion
Control", ICML 2019, section 4 and its table 1.
"""

import sys
import time

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import tcpexmachina as em
import tcpexmachina.gym

AURORA = em.Model("""
    name = "Aurora"
    [network]
    rate = "1.2..6 Mbps"
    rtt = "100..1000 ms"
    buffer = "2..3000 packets"
    loss = "0..5 %"
    senders = 1
    [traffic]
    on = "always"
    [objective]
    alpha = 1
    beta = 1
    delta = 1
    [design]
    duration = "200 s"
""")
ENVIRONMENTS = 8


def environment():
    return gymnasium.make("tcpexmachina/Flow-v0", network=AURORA, reward="aurora")


def exported(model, environment):
    """The policy of a model, without exploration."""
    network = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    layers = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    weights = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers]
    return em.Policy(weights, activation="tanh", **environment.unwrapped.interface)


def learn(seed, steps):
    """The policy after so many steps."""
    begun = time.perf_counter()
    environments = DummyVecEnv([environment] * ENVIRONMENTS)
    shape = {"net_arch": {"pi": [32, 16], "vf": [32, 16]}, "activation_fn": torch.nn.Tanh}
    model = PPO("MlpPolicy", environments, seed=seed, n_steps=1024, batch_size=512, gamma=0.99, policy_kwargs=shape)
    model.learn(steps)
    print(f"{model.num_timesteps} steps in {time.perf_counter() - begun:.0f} s")
    return exported(model, environment())


if __name__ == "__main__":
    seed, steps, file = (sys.argv[1:] + ["1", "500000", "ppo.policy"][len(sys.argv) - 1 :])[:3]
    learn(int(seed), int(steps)).save(file)
    scores = em.score([file, "cubic", "bbr", "vegas"], AURORA, specimens=64, host="tcp")
    for row in scores.contenders:
        print(f"{row['name']:16} {row['relative']:6.2f}  ({row['relative_low']:.2f} to {row['relative_high']:.2f})")
