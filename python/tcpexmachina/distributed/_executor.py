"""What runs tasks: the interface, and the processes of one machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from .._core import Error

T = TypeVar("T")
Task = Callable[..., T]
"""A function of a module, called with the shared bytes and the arguments of a call. It depends on nothing else, so that
it can be run again where a worker dies."""


class Executor(Protocol):
    """Runs tasks on workers."""

    def cores(self) -> int:
        """The workers that there are now: a task of one thread for each can run at a time."""

    def widest(self) -> int:
        """The cores of the machine that has most."""

    def run(self, task: Task[T], shared: bytes, calls: Sequence[tuple[Any, ...]], threads: int = 1) -> list[T]:
        """The results of `task(shared, *call)` for each call, in their order. A task whose worker dies is run again.
        Each takes so many cores of one machine.

        Raises the error of a task, and an error where workers die again and again or there are none.
        """

    def close(self) -> None:
        """Ends the workers."""


def _end_with_driver() -> None:
    """Ends this worker when its driver is killed, which the pool does not."""
    driver = multiprocessing.parent_process()
    assert driver is not None

    def watch() -> None:
        driver.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Processes:
    """Workers that are processes of this machine, by default one for each of its cores.

    It is what tests of the driver use, and what is there without Ray; `tcpexmachina.design`, whose workers are threads,
    is as fast on one machine.
    """

    TRIES = 5
    """How often workers may die in one round."""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise Error(f"{workers} workers: give 1 or more")
        self._workers = workers or len(os.sched_getaffinity(0))
        self._lock = threading.Lock()
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # A fork would copy the locks of this process's threads.
        return ProcessPoolExecutor(self._workers, multiprocessing.get_context("spawn"), _end_with_driver)

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        """Starts new workers in place of `broken`, unless another thread has."""
        with self._lock:
            if self._pool is broken:
                broken.shutdown(wait=False, cancel_futures=True)
                self._pool = self._new()

    def cores(self) -> int:
        return self._workers

    def widest(self) -> int:
        return self._workers

    def run(self, task: Task[T], shared: bytes, calls: Sequence[tuple[Any, ...]], threads: int = 1) -> list[T]:
        results: dict[int, T] = {}
        for _ in range(self.TRIES):
            pool = self._pool
            try:
                self._try(pool, task, shared, calls, results)
            except BrokenProcessPool:
                self._replace(pool)
            if len(results) == len(calls):
                return [results[index] for index in range(len(calls))]
        raise Error(f"workers died {self.TRIES} times in one round: is there enough memory?")

    def _try(
        self,
        pool: ProcessPoolExecutor,
        task: Task[T],
        shared: bytes,
        calls: Sequence[tuple[Any, ...]],
        results: dict[int, T],
    ) -> None:
        """Runs those calls that have no results yet, and keeps the results of those that end."""
        futures: dict[int, Future[T]] = {}
        try:
            for index, call in enumerate(calls):
                if index not in results:
                    futures[index] = pool.submit(task, shared, *call)
            wait(futures.values())
        finally:
            for future in futures.values():
                future.cancel()
            for index, future in futures.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    results[index] = future.result()
        for future in futures.values():
            future.result()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
