"""Environments and policies: Gymnasium's and PettingZoo's own checks, and policies that do what they learnt."""

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcpexmachina as em

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from tcpexmachina.gym import FlowEnv, FlowVectorEnv  # noqa: E402

LINK = em.Bottleneck(rate="10 Mbps", rtt="50 ms", buffer="1 BDP", flows=["cubic", "bbr"], duration="5 s")


def policy(env: Any, seed: int = 1) -> em.Policy:
    """A perceptron with random weights for `env`."""
    random = np.random.default_rng(seed)
    inputs, outputs = env.observation_space.shape[0], env.action_space.shape[0]
    widths = [inputs, 8, outputs]
    layers = [(random.normal(size=(o, i)) / i, random.normal(size=o)) for i, o in zip(widths, widths[1:], strict=False)]
    return em.Policy(layers, **env.interface)


def play(env: FlowEnv, policy: em.Policy, **reset: Any) -> tuple[float, dict[str, Any]]:
    """An episode: its return, and the information at its end."""
    observation, _ = env.reset(**reset)
    total, ended, info = 0.0, False, {}
    while not ended:
        observation, reward, _, ended, info = env.step(policy.act(observation))
        total += reward
    return total, info


@pytest.mark.parametrize("observation", ["aurora", "remy", "raw"])
@pytest.mark.parametrize("action", ["rate", "window", "window_and_pace"])
def test_gymnasium_takes_it_for_an_environment(observation: str, action: str) -> None:
    env = gymnasium.make("tcpexmachina/Flow-v0", network="demo", observation=observation, action=action)
    with warnings.catch_warnings():
        # It recommends bounds, which plain units do not have.
        warnings.filterwarnings("ignore", message=".*infinity.*|.*maximum value.*")
        check_env(env.unwrapped)


def test_equal_seeds_give_equal_episodes_and_wrappers_wrap() -> None:
    env = gymnasium.make("tcpexmachina/Flow-v0", network="demo", duration="3 s")
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    runs = []
    for _ in range(2):
        env.reset(seed=3)
        env.action_space.seed(3)
        ended = False
        while not ended:
            *_, ended, info = env.step(env.action_space.sample())
        runs.append((info["episode"]["r"], info["score"]))
    assert runs[0] == runs[1]


def test_a_policy_scores_as_it_did_where_it_learnt(exm: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    env = FlowEnv(LINK, action="window", history=2)
    learnt = policy(env)
    play(env, learnt, seed=1, options={"episode": 7})
    report = em.simulate(em.Bottleneck(**{**vars(LINK), "flows": [learnt, "bbr"]}), seed=7)
    assert env.report().flows.delivered.tolist() == report.flows.delivered.tolist()
    assert env.report().flows.controller == ["learner", "bbr"]
    learnt.save(tmp_path / "mine.policy")
    command = "simulate --link 10Mbps --rtt 50ms --buffer 1BDP --duration 5s --seed 7 --cc"
    theirs = exm(*command.split(), f"{tmp_path}/mine.policy,bbr")["runs"][0]["flows"]
    assert [flow["delivered"] for flow in theirs] == report.flows.delivered.tolist()


def test_a_policy_meets_tables_in_score_compare_and_falsify() -> None:
    env = FlowEnv("demo")
    learnt = policy(env)
    names = list(em.score([learnt, "cubic", "general-delta1"], "demo", specimens=4, host="tcp").contenders.name)
    assert names == ["Policy", "cubic", "general-delta1"]
    assert em.falsify(learnt, "cubic", tries=16)[0].deficit > 0
    assert "Policy" in em.compare("dumbbell", [learnt, "cubic"], runs=2, set={"duration": "2 s"})._repr_html_()


def test_a_policy_is_a_file(tmp_path: Path) -> None:
    learnt = policy(FlowEnv("demo", observation="raw", interval="30 ms"))
    learnt.save(tmp_path / "mine.policy")
    assert em.Policy.load(tmp_path / "mine.policy") == learnt == pickle.loads(pickle.dumps(learnt))
    assert em.Policy(learnt.layers, **learnt.interface) == learnt
    with pytest.raises(em.Error, match="layer 1 has 8 inputs, but 30 come from before it"):
        em.Policy([(np.zeros((1, 8)), [0.0])])
    with pytest.raises(em.Error, match='there is no activation "than": did you mean "tanh"'):
        em.Policy([(np.zeros((1, 30)), [0.0])], activation="than")
    with pytest.raises(em.Error, match="layer 1 has the number NaN"):
        em.Policy([(np.full((1, 30), np.nan), [0.0])])
    with pytest.raises(em.Error, match="the observation has 3 numbers, not 9"):
        learnt.act(np.zeros(3))
    (tmp_path / "broken.policy").write_text(learnt.to_json().replace('"version":1', '"version":9'))
    with pytest.raises(em.Error, match=r'broken.policy: it is "exmachina-policy" of version 9, not'):
        em.Policy.load(tmp_path / "broken.policy")


def test_what_is_no_action_is_refused_and_nothing_happens() -> None:
    env = FlowEnv(LINK)
    env.reset(seed=1)
    before = env.report()
    for action, error in [
        ([np.nan], "number 0 of the actions is NaN: actions are numbers from -1 to 1"),
        ([0.0, 0.0], "the actions have 2 numbers, not 1"),
    ]:
        with pytest.raises(em.Error, match=error):
            env.step(action)
    assert env.report() == before
    ended = False
    while not ended:
        *_, ended, info = env.step([0.0])
    assert info == {"score": None}
    with pytest.raises(em.Error, match="the episode has ended: reset the environment"):
        env.step([0.0])


def test_wrong_keywords_are_named() -> None:
    for keywords, error in [
        ({"observation": "auror"}, 'there is no observation "auror": did you mean "aurora"'),
        ({"action": "rat"}, 'there is no action "rat": did you mean "rate"'),
        ({"reward": "points"}, 'there is no reward "points"'),
        ({"interval": "1 RT"}, 'the interval is "1 RT": write'),
        ({"history": 0}, "the history is 0 intervals"),
        ({"change": -1.0}, "the change of an action is -1"),
        ({"others": "cubci"}, 'there is no controller "cubci": did you mean "cubic"'),
        ({"host": "udp"}, 'there is no host "udp"'),
        ({"duration": "1 ms"}, "no flow learns in any of 1000 networks"),
    ]:
        with pytest.raises(em.Error, match=error):
            FlowEnv("demo", **keywords)
    with pytest.raises(em.Error, match="there is no flow 2: the network has 2"):
        FlowEnv(LINK, flow=2)
    with pytest.raises(em.Error, match='there is no option "sed"'):
        FlowEnv(LINK).reset(options={"sed": 1})


def test_a_copy_looks_ahead() -> None:
    env = FlowEnv(LINK)
    env.reset(seed=1)
    ahead = copy.deepcopy(env)
    for _ in range(5):
        ahead.step([1.0])
    assert env.report().flows.sent[0] < ahead.report().flows.sent[0]
    for _ in range(5):
        env.step([1.0])
    assert env.report() == ahead.report()


def test_vectors_step_as_single_environments() -> None:
    many = gymnasium.make_vec(
        "tcpexmachina/Flow-v0", num_envs=3, vectorization_mode="vector_entry_point", network="demo", duration="3 s"
    )
    observations, _ = many.reset(seed=5)
    assert observations.shape == many.observation_space.shape == (3, 30)
    alone = [FlowVectorEnv(1, "demo", duration="3 s") for _ in range(3)]
    for index, env in enumerate(alone):
        assert np.array_equal(env.reset(seed=5 + index)[0][0], observations[index])
    random, ends = np.random.default_rng(1), 0
    for _ in range(300):
        actions = random.uniform(-1, 1, (3, 1)).astype(np.float32)
        observations, rewards, _, truncated, info = many.step(actions)
        for index, env in enumerate(alone):
            observation, reward, _, end, _ = env.step(actions[index : index + 1])
            assert np.array_equal(observation[0], observations[index])
            assert (reward[0], end[0]) == (rewards[index], truncated[index])
        if truncated.any():
            ends += truncated.sum()
            assert np.isfinite(info["score"][truncated]).all()
    assert ends > 3
    with pytest.raises(em.Error, match="environment 1: number 0 of the actions is NaN"):
        many.step(np.array([[0.0], [np.nan], [0.0]]))


def test_controllers_in_python_run_beside_a_learner() -> None:
    class Ten(em.Controller):
        def on_ack(self, ack: em.Ack) -> float:
            return 10.0

    class Broken(em.Controller):
        def on_ack(self, ack: em.Ack) -> float:
            raise RuntimeError("it broke")

    env = FlowEnv(em.Bottleneck(rate="10 Mbps", flows=["cubic", Ten], duration="2 s"))
    play(env, policy(env), seed=1)
    assert env.report().flows.delivered[1] > 0
    with pytest.raises(RuntimeError, match="it broke"):
        env = FlowEnv(em.Bottleneck(rate="10 Mbps", flows=["cubic", Broken], duration="2 s"))
        play(env, policy(env), seed=1)


def test_the_example_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    import learn

    monkeypatch.setattr(learn, "EPISODES", 4)
    said: list[str] = []
    first = learn.learn(seed=3, generations=2, log=said.append)
    assert first == learn.learn(seed=3, generations=2, log=said.append)
    mean = [float(text.split()[3].strip(",")) for text in said[:2]]
    assert mean[1] > mean[0]


def test_pettingzoo_takes_it_for_an_environment() -> None:
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import parallel_api_test

    from tcpexmachina.gym import FlowsEnv

    env = FlowsEnv("demo", duration="5 s")
    parallel_api_test(env, num_cycles=200)
    _, infos = env.reset(seed=1)
    assert set(env.agents) <= set(env.possible_agents) and any(info["acts"] for info in infos.values())
    rewards: dict[str, float] = {}
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        _, rewards, _, truncated, infos = env.step(actions)
    assert all(truncated.values()) and np.isfinite(infos["flow_0"]["score"])
    assert set(rewards) == set(infos)
