"""The workers of a cluster, by Ray."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._core import Error, Step, Table
from ._driver import Design, checkpoint_of, run_one
from ._executor import T, Task
from ._files import check_new

TRIES = 5
"""How often a task is run again whose worker or machine is lost. A task that kills its worker must end as well."""
PATIENCE = 60.0
"""How long a cluster may be without cores, s, such as while its machines start."""
CONNECT = 10.0
"""How long to wait for the cluster's port, s."""
LOOK = 2.0
"""How often a driver that waits looks at the cluster, s."""
ONE_THREAD = {"env_vars": {"RAYON_NUM_THREADS": "1"}}
"""A task has one core."""


class RayCluster:
    """The workers of a Ray cluster: at `address`, "auto" for the one that this machine belongs to, or "local" for a new
    one on this machine.

    A machine that joins is used from the next round on. All need the same build of this package.
    """

    def __init__(self, address: str = "auto") -> None:
        try:
            import ray
        except ImportError:
            raise Error("Ray is not installed: pip install 'tcpexmachina[ray]'") from None
        self._ray = ray
        self._starts = not ray.is_initialized()
        if self._starts:
            _check_there(address)
            try:
                ray.init(address=address, log_to_driver=False, logging_level="error")
            except (ConnectionError, RuntimeError, ValueError, OSError) as problem:
                raise Error(f"there is no Ray cluster at {address}: {problem}") from None

    def cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def widest(self) -> int:
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        return int(max((node["Resources"].get("CPU", 0) for node in alive), default=0))

    def run(self, task: Task[T], shared: bytes, calls: Sequence[tuple[Any, ...]], threads: int = 1) -> list[T]:
        # Once a round, not once a task.
        kept = self._ray.put(shared)
        remote = self._remote(task, num_cpus=threads)
        return self._results([remote.remote(kept, *call) for call in calls])

    def study(
        self,
        designs: Sequence[Design],
        folder: Path | None,
        resume: bool,
        progress: Callable[[int, Step], object] | None,
    ) -> list[Table]:
        """The drivers are tasks as well, which need no core of their own: one machine could not drive hundreds. `folder`
        must then be on storage that all machines share. Progress is not shown: see the checkpoints."""
        if folder is not None:
            folder = folder.absolute()
            # A task that is run again resumes, whether or not its study does.
            for number in () if resume else range(len(designs)):
                check_new(checkpoint_of(folder, number))
        remote = self._remote(_design, num_cpus=0)
        count = len(designs)
        calls = [remote.remote(number, what, count, folder) for number, what in enumerate(designs)]
        return self._results(calls)

    def _remote(self, function: Callable[..., Any], **options: Any) -> Any:
        return self._ray.remote(max_retries=TRIES, runtime_env=ONE_THREAD, **options)(function)

    def _results(self, references: Sequence[Any]) -> list[Any]:
        """The results of tasks, in their order; as soon as one fails, its error."""
        waiting, alone_since = list(references), None
        try:
            while waiting:
                ready, waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=LOOK)
                if not ready:
                    alone_since = self._check_cores(alone_since)
                # A task that has failed ends the round at once.
                self._ray.get(ready)
            results: list[Any] = self._ray.get(list(references))
            return results
        except self._ray.exceptions.RayTaskError as problem:
            raise _cause(problem) from None
        except self._ray.exceptions.RayError as problem:
            text = str(problem).strip().splitlines()[0]
            raise Error(f"the cluster lost a task {TRIES + 1} times: {text}") from None
        finally:
            for reference in waiting:
                self._ray.cancel(reference)

    def _check_cores(self, alone_since: float | None) -> float | None:
        """Raises an error where the cluster has been without cores for too long."""
        if self.cores() > 0:
            return None
        now = time.monotonic()
        if alone_since is not None and now - alone_since > PATIENCE:
            raise Error(f"the cluster has had no cores for {PATIENCE:.0f} s: start machines, and resume")
        return now if alone_since is None else alone_since

    def close(self) -> None:
        if self._starts:
            self._ray.shutdown()

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_there(address: str) -> None:
    """Raises an error at once where nothing listens at an address with a port: Ray tries for minutes."""
    there = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address)
    if there is None:
        return
    try:
        socket.create_connection((there[1].strip("[]"), int(there[2])), timeout=CONNECT).close()
    except (OSError, OverflowError) as problem:
        raise Error(f"there is no Ray cluster at {address}: {problem}") from None


def _cause(problem: Any) -> Exception:
    """The error of a task, without the trace of the worker where it is one of ours."""
    cause = problem.cause
    if isinstance(cause, Error):
        return cause
    if isinstance(cause, ModuleNotFoundError):
        return Error(f"a worker has no {cause.name}: install the same wheel of tcpexmachina on all machines")
    return Error(f"a task failed: {cause!r}")


def _design(number: int, what: Design, count: int, folder: Path | None) -> Table:
    """A design of a study. Where its machine is lost, it goes on from its checkpoint on another."""
    cluster = RayCluster()

    def share() -> int:
        return max(1, round(cluster.cores() / count))

    return run_one(number, what, folder, True, cluster, share)
