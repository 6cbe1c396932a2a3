"""How well a design fills a cluster: measured on two cores, predicted for more.

    python benches/cluster.py [--model NAME] [--steps N] [--designs N]

The simulations of each round are timed one by one, and Ray's overhead for a task and for a round is measured on a cluster
of this machine. From these the rounds are replayed on more cores: a core takes the next task when it is free, and each
driver submits one task after the other. The same replay of two cores is compared with a study on this machine's cluster.
Hardening takes the cores of a design's share, at most those of a machine, and is assumed to fill them.

Not in the prediction: the network between machines, and the limits of Ray's own head node.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tcpexmachina import Table
from tcpexmachina.distributed import Design, RayCluster, _tasks, study
from tcpexmachina.distributed._chunks import Chunks

CORES = (2, 16, 100, 1000)
MACHINE = 16
"""Cores of a machine of the larger clusters."""


@dataclass
class Round:
    """A round of a design: what the driver computed before it, and each of its simulations, s."""

    driver_s: float
    pairs_s: list[float]


@dataclass
class Costs:
    """What Ray adds, s: to each task at the driver, to each task at the worker, and to each round."""

    submit: float
    read: float
    round: float


class Recorder:
    """An executor in this process that times each simulation by itself."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []
        self.read_s: list[float] = []
        self.finish_s = 0.0
        """What hardening and scoring the table took, on one core."""
        self.shared = b""
        """The last round, as workers get it."""
        self._idle_since = time.perf_counter()

    def cores(self) -> int:
        return 1

    def widest(self) -> int:
        return 1

    def run(self, task: Any, shared: bytes, calls: Any, threads: int = 1) -> list[Any]:
        if task is _tasks.finish:
            begun = time.process_time()
            tables = [task(shared, *call) for call in calls]
            self.finish_s = time.process_time() - begun
            return tables
        driver = time.perf_counter() - self._idle_since
        self.shared = shared
        _, reading = task(shared, calls[0][0], 0, 0)
        self.read_s.append(reading)
        times: list[float] = []
        results = []
        for build, first, last in calls:
            pairs = [task(shared, build, pair, pair + 1) for pair in range(first, last)]
            times += [max(0.0, seconds - reading) for _, seconds in pairs]
            results.append(([score for (score,), _ in pairs], sum(times[first:last])))
        self.rounds.append(Round(driver, times))
        self._idle_since = time.perf_counter()
        return results

    def close(self) -> None:
        pass


def nothing(shared: bytes) -> None:
    """An empty task."""


def measured_costs(cluster: RayCluster, shared: bytes, read: float) -> Costs:
    """The medians of several runs of empty tasks, few and many of them."""
    few, many = 2, 402

    def seconds(count: int) -> float:
        begun = time.perf_counter()
        cluster.run(nothing, shared, [()] * count)
        return time.perf_counter() - begun

    seconds(many)
    short = statistics.median(seconds(few) for _ in range(15))
    long = statistics.median(seconds(many) for _ in range(7))
    submit = (long - short) / (many - few)
    return Costs(submit, read, max(0.0, short - few * submit))


def spans(chunks: Chunks, one: Round, share: int) -> list[float]:
    """How long each task of the round takes, s."""
    cut = chunks.spans(len(one.pairs_s), share)
    chunks.learn(len(one.pairs_s), sum(one.pairs_s))
    return [sum(one.pairs_s[first:last]) for first, last in cut]


def makespan(rounds: list[Round], finish_s: float, cores: int, costs: Costs, designs: int) -> float:
    """How long so many designs of these rounds take side by side, s. Each begins at another round, and ends with one
    task that hardens its table."""
    share = max(1, round(cores / designs))
    threads = min(share, MACHINE)
    free = [0.0] * cores
    heapq.heapify(free)
    # (when its task is submitted, tie-breaker, design, how long it takes)
    waiting: list[tuple[float, int, int, float]] = []
    hardenings: list[float] = []
    ticket = itertools.count()
    left = [0] * designs
    ends = [0.0] * designs
    todo: list[Iterator[Round]] = []
    cutters = [Chunks() for _ in range(designs)]

    def begin(number: int, now: float) -> None:
        """Submits the next round of a design."""
        one = next(todo[number], None)
        if one is None:
            hardenings.append(now + costs.round)
            return
        at = now + one.driver_s + costs.round
        tasks = spans(cutters[number], one, share)
        left[number] = len(tasks)
        for seconds in tasks:
            at += costs.submit
            heapq.heappush(waiting, (at, next(ticket), number, seconds))

    for number in range(designs):
        turn = number * len(rounds) // designs
        todo.append(iter(rounds[turn:] + rounds[:turn]))
        begin(number, 0.0)
    while waiting:
        submitted, _, number, seconds = heapq.heappop(waiting)
        end = max(submitted, heapq.heappop(free)) + costs.read + seconds
        heapq.heappush(free, end)
        ends[number] = max(ends[number], end)
        left[number] -= 1
        if left[number] == 0:
            begin(number, ends[number])
    # A cluster that is busy starts tasks of one core before those of several: here, after all of them.
    free.sort()
    groups = [max(free[first : first + threads]) for first in range(0, cores - threads + 1, threads)]
    heapq.heapify(groups)
    for submitted in sorted(hardenings):
        end = max(submitted, heapq.heappop(groups)) + finish_s / threads
        heapq.heappush(groups, end)
        ends.append(end)
    return max(ends)


def content(table: Table) -> dict[str, Any]:
    """What a table file says, other than how long the design took."""
    file: dict[str, Any] = json.loads(table.to_json())
    del file["provenance"]["cpu_seconds"]
    return file


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", default="general16")
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--designs", type=int, default=300, help="the number of designs of the study")
    args = options.parse_args()
    recorder = Recorder()
    what = Design(args.model, steps=args.steps)
    alone = study([what], executor=recorder)[0]
    rounds, finish = recorder.rounds, recorder.finish_s
    work = finish + sum(sum(one.pairs_s) for one in rounds)
    print(f"{args.model}, {args.steps} steps, {len(alone)} rules: {len(rounds)} rounds of", end=" ")
    print(f"{statistics.mean(len(one.pairs_s) for one in rounds):.0f} simulations, {work:.1f} CPU-s;", end=" ")
    print(f"{finish:.1f} CPU-s of it in hardening; {sum(one.driver_s for one in rounds):.2f} s at the driver")
    with RayCluster("local") as cluster:
        costs = measured_costs(cluster, recorder.shared, statistics.median(recorder.read_s))
        print(f"Ray: {costs.submit * 1e3:.2f} ms a task, {costs.round * 1e3:.1f} ms a round;", end=" ")
        print(f"a task reads its round in {costs.read * 1e3:.2f} ms")
        began = time.perf_counter()
        together = study([what] * 2, executor=cluster)
        wall, cores = time.perf_counter() - began, cluster.cores()
    assert [content(table) for table in together] == [content(alone)] * 2, "the tables differ"
    predicted = makespan(rounds, finish, cores, costs, 2)
    print(f"two designs on {cores} cores: predicted {predicted:.1f} s, measured {wall:.1f} s")
    print("cores  one design  a study")
    for cores in CORES:
        one = work / cores / makespan(rounds, finish, cores, costs, 1)
        many = args.designs * work / cores / makespan(rounds, finish, cores, costs, args.designs)
        print(f"{cores:5}  {one:10.2f}  {many:7.2f}")


if __name__ == "__main__":
    main()
