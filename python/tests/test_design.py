"""Tables, models, designs, checks and the search for the worst networks."""

import itertools
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tcpexmachina as em


def test_a_table_is_a_sequence_of_rules(tmp_path: Path) -> None:
    table = em.Table.load("general-delta1")
    assert len(list(table)) == len(table) and table[-1].index == len(table) - 1
    assert table.find() is not None and table.find({"rtt_ratio": 2.0}).lower["rtt_ratio"] <= 2.0
    table.save(tmp_path / "copy.json")
    assert em.Table.load(str(tmp_path / "copy.json")) == table
    assert table.conditions is not None and "model" in table.provenance
    with pytest.raises(IndexError):
        table[len(table)]
    with pytest.raises(em.Error, match="rtt_ration"):
        table.find({"rtt_ration": 1.0})


def test_a_design_goes_on_as_if_it_had_not_stopped() -> None:
    designer = em.Designer(em.Model.load("demo"), seed=3)
    steps = list(itertools.islice(designer, 2))
    assert [step.number for step in steps] == [1, 2] and steps[1].cpu_s > 0
    resumed = em.Designer.resume(designer.checkpoint())
    pickled = pickle.loads(pickle.dumps(designer))
    scores = {next(one).score for one in (designer, resumed, pickled)}
    assert len(scores) == 1
    assert list(map(repr, designer.table)) == list(map(repr, resumed.table))
    step = pickle.loads(pickle.dumps(steps[0]))
    assert (step.score, step.what) == (steps[0].score, steps[0].what)
    with pytest.raises(em.Error, match="it is not a checkpoint"):
        em.Designer.resume("{}")


def recorded(text: str) -> dict[str, Any]:
    """The file of a table, without the program and what it cost."""
    table: dict[str, Any] = json.loads(text)
    for key in ("program", "command", "cpu_seconds"):
        table["provenance"].pop(key, None)
    return table


def test_a_design_is_the_commands(exm: Callable[..., dict[str, Any]], small: Path, tmp_path: Path) -> None:
    flags = "--steps 36 --seed 2 --hardening 2 --specimens 8 --quiet"
    exm("design", str(small), "-o", str(tmp_path / "cc.json"), *flags.split())
    ours = em.design(small, steps=36, seed=2, hardening=2, specimens=8)
    assert recorded(ours.to_json()) == recorded((tmp_path / "cc.json").read_text())
    assert "robustness" in json.loads(ours.to_json())["provenance"]


def test_what_ends_a_design() -> None:
    with pytest.raises(em.Error, match="give steps, rules or score"):
        em.design("demo")
    with pytest.raises(em.Error, match="steps of 0: give 1 or more"):
        em.design("demo", steps=0)
    with pytest.raises(em.Error, match="never reached"):
        em.design("demo", score=-9, search="paper")
    with pytest.raises(em.Error, match="designs 2 tables"):
        em.design("diversity", steps=1)
    with pytest.raises(em.Error, match="hardening of 0: give 1 to 1000"):
        em.Designer(em.Model.load("demo")).finish(hardening=0)
    with pytest.raises(em.Error, match="give 1 to 1024 threads"):
        em.Designer(em.Model.load("demo")).finish(threads=0)


def test_a_designed_table_runs(small: Path) -> None:
    table = em.design(small, steps=1, hardening=1, specimens=0)
    report = em.simulate(rate="10 Mbps", duration="5 s", flows=[table, "cubic"])
    assert report.flows.delivered[0] > 0
    assert table.provenance["search"] == "evolve"


def test_a_score_is_the_commands(exm: Callable[..., dict[str, Any]]) -> None:
    ours = em.score(["general-delta1", "aimd"], "demo", specimens=8, seed=2)
    command = "score general-delta1 aimd --model demo --specimens 8 --seed 2"
    theirs = exm(*command.split())["contenders"]
    for row, contender in zip(ours.contenders, theirs, strict=True):
        assert row["score"] == contender["score"]["mean"]
        assert (row["gap_low"], row["gap_high"]) == tuple(contender["gap"]["interval"])
    with pytest.raises(em.Error, match="cubic is designed for TCP"):
        em.score(["cubic"], "demo", specimens=4, host="bare")


def test_a_check_is_of_the_tables_model() -> None:
    check = em.check("general-delta1")
    assert check.verdict == "holds" and check.near["collapses"] == 0 and check.proven


def test_the_worst_network_is_a_scenario() -> None:
    found = em.falsify("vegas", "cubic", tries=16)
    assert found[0].deficit >= found[-1].deficit
    assert em.simulate(found[0].scenario, set={"duration": "1 s"}).flows.sent[0] > 0
    with pytest.raises(em.Error, match="16 to 1000000 tries"):
        em.falsify("vegas", tries=1)


def test_a_trace_has_times() -> None:
    trace = em.Trace.generate("lte", seed=2, duration="10 s")
    assert len(trace.times) == len(trace) and trace.times[-1] == trace.period
    assert em.Trace("5\n10\n").times.tolist() == [0.005, 0.01]
    with pytest.raises(em.Error, match='there is no synthetic link "lty"'):
        em.Trace.generate("lty")
