"""Designs on a cluster of Ray: two raylets on this machine stand for two machines."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

import tcpexmachina as em
from tcpexmachina.distributed import Design, RayCluster, _ray, _tasks, design, study

FLAGS: dict[str, Any] = {"steps": 36, "seed": 2, "hardening": 2, "specimens": 8}
COMMAND = [sys.executable, "-m", "tcpexmachina.distributed"]


def recorded(table: em.Table) -> dict[str, Any]:
    """Its file, without the program and what it cost."""
    file: dict[str, Any] = json.loads(table.to_json())
    for key in ("program", "command", "cpu_seconds"):
        file["provenance"].pop(key, None)
    return file


@pytest.fixture(scope="module")
def machines() -> Iterator[Cluster]:
    """A head with one core. Tests add machines, and lose them."""
    # Where workers find the tasks of this file.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def workers(machines: Cluster) -> Iterator[RayCluster]:
    with RayCluster(machines.address) as cluster:
        yield cluster


def kill_a_worker(_: bytes) -> None:
    """Kills another worker of the same machine that runs tasks, or this one."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_machines_that_join_are_used_and_lost_ones_change_nothing(
    machines: Cluster, workers: RayCluster, small: Path
) -> None:
    whole = recorded(em.design(small, **FLAGS))
    cores, node = [], []

    def change(step: em.Step) -> None:
        cores.append(workers.cores())
        if step.number == 3:
            node.append(machines.add_node(num_cpus=2))
            machines.wait_for_nodes()
        if step.number == 12:
            # While the next round runs.
            threading.Timer(0.02, machines.remove_node, (node.pop(),), {"allow_graceful": False}).start()

    assert recorded(design(small, executor=workers, progress=change, **FLAGS)) == whole
    assert cores[0] == 1 and max(cores) == 3


def worker_pids(_: bytes) -> int:
    """The process of the worker."""
    time.sleep(0.05)
    return os.getpid()


def test_a_killed_worker_changes_nothing(workers: RayCluster, small: Path) -> None:
    def kill(step: em.Step) -> None:
        if step.number in (3, 9):
            [pid] = workers.run(worker_pids, b"", [()])
            threading.Timer(0.02, os.kill, (pid, signal.SIGKILL)).start()

    table = design(small, executor=workers, progress=kill, **FLAGS)
    assert recorded(table) == recorded(em.design(small, **FLAGS))


def test_a_task_that_always_dies_ends_the_design(workers: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ray, "TRIES", 1)
    with pytest.raises(em.Error, match="the cluster lost a task 2 times"):
        workers.run(kill_a_worker, b"", [()])


def test_another_build_and_no_round_are_refused(workers: RayCluster) -> None:
    with pytest.raises(em.Error, match="the driver has build other: install the same wheel on all machines"):
        workers.run(_tasks.evaluate, b"", [("other", 0, 1)])
    with pytest.raises(em.Error, match="it is not a round of a design"):
        workers.run(_tasks.evaluate, b"{}", [(_tasks.build(), 0, 1)])


def test_a_study_makes_the_tables_of_its_designs(workers: RayCluster, small: Path, tmp_path: Path) -> None:
    flags: dict[str, Any] = {"steps": 3, "hardening": 1, "specimens": 4}
    tables = study([Design(small, seed=seed, **flags) for seed in (1, 2)], executor=workers, folder=tmp_path / "study")
    for seed, table in zip((1, 2), tables, strict=True):
        assert recorded(table) == recorded(em.design(small, seed=seed, **flags))


def test_the_command_goes_on_where_it_was_killed(machines: Cluster, small: Path, tmp_path: Path) -> None:
    out, state = tmp_path / "cc.json", tmp_path / "cc.json.checkpoint"
    flags = "--steps 36 --seed 2 --hardening 2 --specimens 8 --quiet --resume".split()
    command = [*COMMAND, str(small), "-o", str(out), "--address", machines.address, *flags]
    driver = subprocess.Popen(command)
    deadline = time.monotonic() + 120
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    assert state.exists() and not out.exists()
    subprocess.run(command, check=True, timeout=300)
    assert recorded(em.Table.load(str(out))) == recorded(em.design(small, **FLAGS))


def test_there_may_be_no_cluster(tmp_path: Path) -> None:
    command = [*COMMAND, "demo", "--steps", "1", "-o", str(tmp_path / "cc.json"), "--address", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 1 and "there is no Ray cluster at 127.0.0.1:1" in done.stderr
