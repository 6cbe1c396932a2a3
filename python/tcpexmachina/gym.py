"""Environments in which policies learn, for Gymnasium and PettingZoo: `pip install tcpexmachina[gym]`.

Its import registers them: `gymnasium.make("tcpexmachina/Flow-v0")` is `FlowEnv`, and
`gymnasium.make_vec("tcpexmachina/Flow-v0", num_envs=64, vectorization_mode="vector_entry_point")` is `FlowVectorEnv`, whose
environments are stepped together on all cores.
`FlowsEnv` has several flows that learn, as PettingZoo's parallel environments.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _core
from ._columns import Columns
from ._core import Error, Model, Scenario
from ._network import Bottleneck, ControllerLike, Names
from ._results import Report

try:
    from pettingzoo import ParallelEnv
except ImportError:  # FlowEnv needs Gymnasium alone.
    ParallelEnv = None

#: A model or its name, which is drawn from; or a network, which is the same in each episode.
NetworkLike = Model | Scenario | Bottleneck | str | Path
Array = NDArray[np.float32]

ID = "tcpexmachina/Flow-v0"
_SEEDS = 2**63


def _source(network: NetworkLike) -> Model | Scenario:
    if isinstance(network, Bottleneck):
        return network.scenario()
    if isinstance(network, (Model, Scenario)):
        return network
    return Model.load(str(network))


class _Made:
    """What the keywords of an environment mean."""

    def __init__(
        self,
        network: NetworkLike,
        *,
        observation: str = "aurora",
        history: int | None = None,
        action: str = "rate",
        change: float | None = None,
        interval: str = "1 RTT",
        reward: str = "objective",
        others: ControllerLike = "cubic",
        host: str = "tcp",
        duration: str | None = None,
        flows: Sequence[int] | None = None,
        all: bool = False,
    ) -> None:
        names = Names()
        self.source = _source(network)
        if history is None:
            history = 10 if observation == "aurora" else 1
        self.keywords = {"observation": observation, "history": history, "action": action, "change": change}
        self.keywords |= {"interval": interval, "reward": reward, "others": names.name(others), "host": host}
        self.keywords |= {"duration": duration, "flows": None if flows is None else list(flows), "all": all}
        self.controllers = names.given

    def environment(self, seed: int) -> _core.Environment:
        return _core.Environment(self.source, self.keywords, self.controllers, seed)

    def vector(self, seeds: Sequence[int]) -> _core.Vector:
        return _core.Vector(self.source, self.keywords, self.controllers, list(seeds))


def _spaces(core: _core.Environment | _core.Vector) -> tuple[Box, Box]:
    low, high = (np.array(bound, np.float32) for bound in core.bounds)
    return Box(low, high, dtype=np.float32), Box(-1.0, 1.0, (core.sizes[1],), np.float32)


def _report(core: _core.Environment) -> Report:
    raw = core.report()
    return Report(**{key: Columns(value) if isinstance(value, dict) else value for key, value in raw.items()})


class FlowEnv(gymnasium.Env[Array, Array]):
    """A flow that learns, on networks drawn from a model, or on one network.

    - `network`: a model or its name, whose first designed sender learns; or a scenario or a bottleneck, whose flow
      number `flow` learns.
    - `observation`: "aurora", "remy" or "raw", of each of the last `history` intervals (10 of Aurora's, 1 of others).
    - `action`: "rate", "window" or "window_and_pace". An action of 1 multiplies by 1 + `change`, one of -1 divides by
      it; it is 0.025 for rates, 1 for windows.
    - `interval`: how long a step lasts: "1 RTT", or a time such as "30 ms".
    - `reward`: "objective", the model's, integrated over the interval; "aurora"; or "score", the flow's score by the
      model, at the end.
    - `others`: the controller of the model's other designed senders. `host`: "tcp" or "bare", of the flow that learns.
      `duration`: of an episode, instead of the model's.

    An episode is truncated at the end of the simulated time, where `info["score"]` is the flow's score by the model;
    nothing terminates. `reset(seed=...)` draws the network; `reset(options={"network": ...})` takes another network
    or model from then on, and `options={"episode": n}` the network number n of it.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, network: NetworkLike = "general-delta1", *, flow: int = 0, **keywords: Any) -> None:
        self._keywords = {"flows": [flow], **keywords}
        self.render_mode = None
        self._take(network)

    def _take(self, network: NetworkLike) -> None:
        self._core = _Made(network, **self._keywords).environment(0)
        self.observation_space, self.action_space = _spaces(self._core)
        self._size = self._core.sizes[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode."""
        super().reset(seed=seed)
        options = dict(options or {})
        if "network" in options:
            self._take(options.pop("network"))
        episode = options.pop("episode", None)
        if options:
            raise Error(f'there is no option "{next(iter(options))}": there are network and episode')
        self._core.reset(int(self.np_random.integers(_SEEDS)) if episode is None else int(episode))
        observation = np.empty(self._size, np.float32)
        self._core.observe(observation)
        return observation, {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Takes an action, and simulates until the next one is due."""
        observation = np.empty(self._size, np.float32)
        rewards, ended = self._core.step(np.asarray(action, np.float32), observation)
        return observation, rewards[0], False, ended, {"score": self._core.score} if ended else {}

    @property
    def interface(self) -> dict[str, Any]:
        """What is observed and decided, as keywords of `tcpexmachina.Policy`."""
        return self._core.interface

    def measurement(self) -> dict[str, float]:
        """What the flow measured in the last interval, for rewards of your own."""
        return self._core.measurement(0)

    def report(self) -> Report:
        """The results of all flows and links so far."""
        return _report(self._core)


class FlowVectorEnv(gymnasium.vector.VectorEnv[Array, Array, NDArray[Any]]):
    """Many `FlowEnv`s of the same keywords, stepped together on all cores.

    One whose episode has ended begins the next at its next step, whose action is ignored (Gymnasium's
    `AutoresetMode.NEXT_STEP`). `reset(seed=n)` gives environment i the seed n + i.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": [],
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, num_envs: int = 1, network: NetworkLike = "general-delta1", *, flow: int = 0, **keywords: Any
    ) -> None:
        if num_envs < 1:
            raise Error(f"there are {num_envs} environments: make at least one")
        self.num_envs = num_envs
        self.render_mode = None
        self._core = _Made(network, flows=[flow], **keywords).vector(range(num_envs))
        self.single_observation_space, self.single_action_space = _spaces(self._core)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode of each."""
        if options:
            raise Error("there are no options here: make the environments of another network")
        seeds = range(seed, seed + self.num_envs) if isinstance(seed, int) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise Error(f"there are {len(seeds)} seeds for {self.num_envs} environments")
        observations = self._observations()
        self._core.reset(None if seeds is None else list(seeds), observations)
        return observations, {}

    def step(self, actions: Any) -> tuple[Array, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Steps all."""
        observations, rewards = self._observations(), np.empty(self.num_envs)
        ended = np.empty(self.num_envs, np.uint8)
        self._core.step(np.ascontiguousarray(actions, np.float32), observations, rewards, ended)
        truncated = ended.astype(bool)
        info: dict[str, Any] = {}
        if truncated.any():
            scores = np.array(self._core.scores)
            info = {"score": np.where(truncated, scores, np.nan), "_score": truncated}
        return observations, rewards, np.zeros(self.num_envs, bool), truncated, info

    def _observations(self) -> Array:
        return np.empty((self.num_envs, self._core.sizes[0]), np.float32)


if ParallelEnv is not None:

    class FlowsEnv(ParallelEnv[str, Array, Array]):
        """Several flows that learn, as PettingZoo's parallel environments: all designed senders of a model, or the
        `flows` of a scenario.

        The keywords are those of `FlowEnv`. All step together, every 100 ms by default: an interval of so many RTTs
        would let each flow act at times of its own, and those hold that are not due. `infos[agent]["acts"]` says whether
        an agent's flow is due, which it is not while it is off.
        """

        metadata: ClassVar[dict[str, Any]] = {"name": "tcpexmachina/Flows-v0", "render_modes": []}

        def __init__(
            self,
            network: NetworkLike = "general-delta1",
            *,
            flows: Sequence[int] | None = None,
            interval: str = "100 ms",
            **keywords: Any,
        ) -> None:
            made = _Made(network, flows=flows, interval=interval, all=True, **keywords)
            self._core = made.environment(0)
            self._random = np.random.default_rng()
            self.render_mode = None
            count = self._core.learners if isinstance(made.source, Scenario) else made.source.most_senders
            self.possible_agents = [f"flow_{number}" for number in range(count)]
            self.agents: list[str] = []
            self._observation_space, self._action_space = _spaces(self._core)

        @functools.lru_cache(maxsize=None)  # noqa: B019
        def observation_space(self, agent: str) -> Box:
            """The same for all agents."""
            return self._observation_space

        @functools.lru_cache(maxsize=None)  # noqa: B019
        def action_space(self, agent: str) -> Box:
            """The same for all agents."""
            return self._action_space

        def reset(
            self, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
            """Begins an episode, with as many agents as its network has flows that learn."""
            if seed is not None:
                self._random = np.random.default_rng(seed)
            episode = (options or {}).get("episode")
            self._core.reset(int(self._random.integers(_SEEDS)) if episode is None else int(episode))
            self.agents = self.possible_agents[: self._core.learners]
            observations = np.empty((len(self.agents), self._core.sizes[0]), np.float32)
            self._core.observe(observations)
            return self._by_agent(observations), self._infos()

        def step(
            self, actions: dict[str, Array]
        ) -> tuple[
            dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
        ]:
            """Takes the actions of all agents, and simulates until the next ones are due."""
            missing = [agent for agent in self.agents if agent not in actions]
            if missing:
                raise Error(f"there is no action of {', '.join(missing)}")
            numbers = np.array([actions[agent] for agent in self.agents], np.float32)
            observations = np.empty((len(self.agents), self._core.sizes[0]), np.float32)
            rewards, ended = self._core.step(numbers, observations)
            by_agent, infos = self._by_agent(observations), self._infos()
            if ended:
                for info in infos.values():
                    info["score"] = self._core.score
            agents = self.agents
            self.agents = [] if ended else agents
            return (
                by_agent,
                dict(zip(agents, rewards, strict=True)),
                dict.fromkeys(agents, False),
                dict.fromkeys(agents, ended),
                infos,
            )

        def _by_agent(self, observations: Array) -> dict[str, Array]:
            return dict(zip(self.agents, observations, strict=True))

        def _infos(self) -> dict[str, dict[str, Any]]:
            return {agent: {"acts": acts} for agent, acts in zip(self.agents, self._core.acts, strict=True)}

        def report(self) -> Report:
            """The results of all flows and links so far."""
            return _report(self._core)


if ID not in gymnasium.registry:
    gymnasium.register(ID, f"{__name__}:FlowEnv", vector_entry_point=f"{__name__}:FlowVectorEnv")
