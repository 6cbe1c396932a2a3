"""Designs whose rounds are evaluated by workers, without Ray: any workers, and any deaths, make the same table."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import tcpexmachina as em
from tcpexmachina.distributed import Design, Processes, _chunks, _tasks, design, study
from tcpexmachina.distributed._chunks import LONGEST, Chunks
from tcpexmachina.distributed._executor import T, Task

FLAGS: dict[str, Any] = {"steps": 36, "seed": 2, "hardening": 2, "specimens": 8}
COMMAND = [sys.executable, "-m", "tcpexmachina.distributed"]


def recorded(text: str) -> dict[str, Any]:
    """The file of a table, without the program and what it cost."""
    table: dict[str, Any] = json.loads(text)
    for key in ("program", "command", "cpu_seconds"):
        table["provenance"].pop(key, None)
    return table


class Inline:
    """Runs tasks here, in any order, and each of them twice at times, as where a worker dies."""

    def __init__(self, cores: int) -> None:
        self._cores, self.tasks = cores, 0

    def cores(self) -> int:
        return self._cores

    def widest(self) -> int:
        return self._cores

    def run(self, task: Task[T], shared: bytes, calls: Sequence[tuple[Any, ...]], threads: int = 1) -> list[T]:
        order = list(enumerate(calls))
        random.Random(self.tasks).shuffle(order)
        self.tasks += len(calls)
        results = {index: task(shared, *call) for index, call in order + order[:1]}
        return [results[index] for index in range(len(calls))]

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as workers:
        yield workers


@pytest.fixture
def whole(small: Path) -> dict[str, Any]:
    """The table of one machine."""
    return recorded(em.design(small, **FLAGS).to_json())


@pytest.mark.parametrize("cores", [1, 7, 1000])
def test_the_number_of_workers_changes_nothing(
    cores: int, small: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_chunks, "SHORTEST", 0.0)
    workers = Inline(cores)
    table = design(small, executor=workers, **FLAGS)
    assert recorded(table.to_json()) == whole
    assert workers.tasks >= 36 * 3 * min(cores, 7)


def test_a_killed_worker_changes_nothing(small: Path, whole: dict[str, Any]) -> None:
    with Processes(2) as workers:
        killed = []

        def kill(step: em.Step) -> None:
            if step.number in (3, 9):
                process = next(iter(workers._pool._processes.values()))
                assert process.pid is not None
                pid = process.pid
                # While the next round runs.
                threading.Timer(0.02, os.kill, (pid, signal.SIGKILL)).start()
                killed.append(pid)

        table = design(small, executor=workers, progress=kill, **FLAGS)
    assert recorded(table.to_json()) == whole and len(killed) == 2


def die(shared: bytes) -> None:
    """A task that kills its worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_always_die_end_the_design(processes: Processes) -> None:
    with pytest.raises(em.Error, match="workers died 5 times in one round"):
        processes.run(die, b"", [()])


def test_another_build_is_refused(processes: Processes) -> None:
    with pytest.raises(em.Error, match="has build .* and the driver has build other: install the same wheel"):
        processes.run(_tasks.evaluate, b"", [("other", 0, 1)])


def test_what_is_no_round_is_refused(processes: Processes) -> None:
    with pytest.raises(em.Error, match="it is not a round of a design"):
        processes.run(_tasks.evaluate, b"{}", [(_tasks.build(), 0, 1)])


def test_a_design_resumes_where_it_was(small: Path, tmp_path: Path, whole: dict[str, Any]) -> None:
    state = tmp_path / "state"

    class Stop(Exception):
        pass

    def stop(step: em.Step) -> None:
        if step.number == 7:
            raise Stop

    with pytest.raises(Stop):
        design(small, executor=Inline(2), checkpoint=state, progress=stop, **FLAGS)
    with pytest.raises(em.Error, match="is there already: go on with it by resume"):
        design(small, executor=Inline(2), checkpoint=state, **FLAGS)
    with pytest.raises(em.Error, match="is of seed 2, not 3"):
        design(small, executor=Inline(2), checkpoint=state, resume=True, **FLAGS | {"seed": 3})
    with pytest.raises(em.Error, match="is of another model"):
        design("demo", executor=Inline(2), checkpoint=state, resume=True, **FLAGS)
    table = design(small, executor=Inline(3), checkpoint=state, resume=True, **FLAGS)
    assert recorded(table.to_json()) == whole


def test_a_study_makes_the_tables_of_its_designs(small: Path, tmp_path: Path, processes: Processes) -> None:
    flags: dict[str, Any] = {"steps": 3, "hardening": 1, "specimens": 4}
    designs = [Design(small, seed=seed, delta=delta, **flags) for seed, delta in ((1, None), (2, None), (1, 0.1))]
    alone = [em.design(small, seed=seed, **flags) for seed in (1, 2)]
    together = study(designs, executor=processes, folder=tmp_path / "study")
    for ours, theirs in zip(together, alone, strict=False):
        assert recorded(ours.to_json()) == recorded(theirs.to_json())
    assert together[2] != together[0]
    with pytest.raises(em.Error, match="go on with it by resume"):
        study(designs, executor=processes, folder=tmp_path / "study")
    again = study(designs, executor=processes, folder=tmp_path / "study", resume=True)
    assert again == together
    with pytest.raises(em.Error, match="give steps, rules or score"):
        study([Design(small)], executor=processes)


def test_a_round_is_cut_by_its_cost() -> None:
    chunks = Chunks()

    def covers(pairs: int, cores: int) -> list[int]:
        spans = chunks.spans(pairs, cores)
        assert [first for first, _ in spans] == [0, *(last for _, last in spans[:-1])] and spans[-1][1] == pairs
        return [last - first for first, last in spans]

    assert len(covers(720, 4)) == 12
    chunks.learn(720, 72.0)
    assert max(covers(720, 4)) == 60 and max(covers(720, 1)) == LONGEST / 0.1
    chunks.learn(720, 0.72)
    assert max(covers(720, 1000)) == 20


def children(process: int) -> list[int]:
    """The processes that it has started."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def runs(process: int) -> bool:
    """Whether it still does."""
    status = Path(f"/proc/{process}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


def test_the_command_goes_on_where_it_was_killed(exm: Callable[..., dict[str, Any]], small: Path, tmp_path: Path) -> None:
    flags = "--steps 36 --seed 2 --hardening 2 --specimens 8 --quiet".split()
    exm("design", str(small), "-o", str(tmp_path / "whole.json"), *flags)
    out = tmp_path / "cc.json"
    command = [*COMMAND, str(small), "-o", str(out), "--workers", "2", "--resume", "--json", *flags]
    driver = subprocess.Popen(command)
    state = tmp_path / "cc.json.checkpoint"
    deadline = time.monotonic() + 60
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    workers = children(driver.pid)
    driver.kill()
    driver.wait()
    assert state.exists() and not out.exists()
    while any(map(runs, workers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(workers) >= 2 and not any(map(runs, workers))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["table"] == str(out)
    assert recorded(out.read_text()) == recorded((tmp_path / "whole.json").read_text())
    assert "tcpexmachina.distributed" in json.loads(out.read_text())["provenance"]["command"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["no-such-model", "--steps", "1"], 2, 'no model "no-such-model"'),
        (["demo", "--steps", "1", "--hardening", "0"], 2, "give 1 to 1000 generations"),
        (["demo"], 2, "give steps, rules or score"),
        (["demo", "--steps", "1", "--workers", "0"], 1, "0 workers: give 1 or more"),
        (["demo", "--steps", "1", "--workers", "2", "--address", "auto"], 2, "not allowed with argument"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], code: int, says: str, tmp_path: Path) -> None:
    command = [*COMMAND, *arguments, "-o", str(tmp_path / "cc.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code and says in done.stderr and "Traceback" not in done.stderr
