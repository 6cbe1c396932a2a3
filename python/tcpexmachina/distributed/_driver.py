"""The driver of designs: it takes the steps of the search, whose rounds workers evaluate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._budget import Budget, check_ending, check_search
from .._core import Designer, Error, Model, Step, Table
from .._verbs import _model, single, start_name, start_table
from . import _tasks
from ._chunks import Chunks
from ._executor import Executor, Processes
from ._files import check_new, read, replace_file


@dataclass(frozen=True)
class Design:
    """What to design: a model and how, named as the flags of `exm design`. `delta` replaces the model's weight of
    delay."""

    model: Model | str | Path
    steps: int | None = None
    rules: int | None = None
    score: float | None = None
    seed: int = 1
    delta: float | None = None
    search: str = "evolve"
    start: Table | str | Path | None = None
    hardening: int = 10
    specimens: int = 256

    def budget(self) -> Budget:
        """Its limits. Raises an error where there are none, or the search never reaches one."""
        budget = Budget(self.steps, self.rules, self.score)
        check_search(budget, self.search)
        check_ending(self.hardening, self.specimens)
        return budget

    def loaded(self) -> Design:
        """The same with the contents of its files, for another machine."""
        model = single(_model(self.model))
        model = model if self.delta is None else model.with_delta(self.delta)
        return replace(self, model=model, delta=None)


class Driver:
    """Takes a design from its beginning or its checkpoint to its table."""

    def __init__(self, what: Design, checkpoint: Path | None, resume: bool) -> None:
        what = what.loaded()
        model = what.model
        assert isinstance(model, Model)
        self._what, self._budget, self._checkpoint = what, what.budget(), checkpoint
        self._chunks = Chunks()
        self._folder = str(model.dir)
        if checkpoint is not None and resume:
            self._designer = self._resumed(checkpoint, model)
        else:
            if checkpoint is not None:
                check_new(checkpoint)
            self._designer = Designer(model, what.seed, what.search, start_table(what.start))

    def _resumed(self, checkpoint: Path, model: Model) -> Designer:
        try:
            designer = Designer.resume(read(checkpoint), self._folder)
        except Error as problem:
            raise Error(f"cannot go on from {checkpoint}: {problem}") from None
        if designer.model != model:
            raise Error(f"{checkpoint} is of another model: leave resume out to begin a design in another file")
        for name in ("seed", "search"):
            theirs, ours = getattr(designer, name), getattr(self._what, name)
            if theirs != ours:
                raise Error(f"{checkpoint} is of {name} {theirs}, not {ours}: give the same, or another checkpoint")
        return designer

    def run(
        self,
        executor: Executor,
        share: Callable[[], int],
        progress: Callable[[Step], object] | None = None,
        finish: Executor | None = None,
    ) -> Table:
        """The finished table. `share` is how many of the executor's cores this design may fill. The table is hardened
        here, with all cores of this machine, or by one task of `finish`, with as many as it may."""
        last = None
        build = _tasks.build()

        def evaluate(round: bytes, pairs: int) -> tuple[list[float], float]:
            spans = self._chunks.spans(pairs, share())
            parts = executor.run(_tasks.evaluate, round, [(build, *span) for span in spans])
            seconds = sum(part[1] for part in parts)
            self._chunks.learn(pairs, seconds)
            return [score for part in parts for score in part[0]], seconds

        while not self._budget.is_spent(self._designer, last):
            last = self._designer.step(evaluate)
            if self._checkpoint is not None:
                replace_file(self._checkpoint, self._designer.checkpoint())
            if progress is not None:
                progress(last)
        what = self._what
        ending = (what.hardening, what.specimens, start_name(what.start))
        if finish is None:
            return self._designer.finish(*ending)[0]
        state = self._designer.checkpoint().encode()
        threads = max(1, min(share(), finish.widest()))
        call = (build, self._folder, threads, *ending)
        return Table.from_json(finish.run(_tasks.finish, state, [call], threads)[0][0])


def design(
    model: Model | str | Path,
    *,
    steps: int | None = None,
    rules: int | None = None,
    score: float | None = None,
    seed: int = 1,
    search: str = "evolve",
    start: Table | str | Path | None = None,
    hardening: int = 10,
    specimens: int = 256,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[Step], object] | None = None,
) -> Table:
    """Designs a table, as `tcpexmachina.design` and `exm design` do, with the same bytes, by the workers of `executor`.

    Without an executor the workers are processes of this machine. The state is written to `checkpoint` after each step,
    and `resume` goes on from there: the file is that of `exm design`. `progress` is called after each step.
    """
    what = Design(model, steps, rules, score, seed, None, search, start, hardening, specimens)
    driver = Driver(what, None if checkpoint is None else Path(checkpoint), resume)
    workers = executor or Processes()
    try:
        return driver.run(workers, workers.cores, progress)
    finally:
        if executor is None:
            workers.close()


def study(
    designs: Sequence[Design],
    *,
    executor: Executor | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[int, Step], object] | None = None,
) -> list[Table]:
    """The tables of several designs, such as of several seeds and weights of delay, in their order.

    All of them share the workers of `executor`: what one leaves idle at the end of a round, others use. Each keeps its
    checkpoint and its table in `folder`, as 000.checkpoint and 000.json and so on, and `resume` goes on from there.
    `progress` is called with the number of a design after each of its steps.
    """
    if not designs:
        raise Error("a study needs a design")
    loaded = [what.loaded() for what in designs]
    for what in loaded:
        what.budget()
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    workers = executor or Processes()
    try:
        together = getattr(workers, "study", None) or _Threads(workers).study
        tables: list[Table] = together(loaded, None if folder is None else Path(folder), resume, progress)
        return tables
    finally:
        if executor is None:
            workers.close()


def run_one(
    number: int,
    what: Design,
    folder: Path | None,
    resume: bool,
    executor: Executor,
    share: Callable[[], int],
    progress: Callable[[int, Step], object] | None = None,
) -> Table:
    """The table of a design of a study, from its file where an earlier run has finished it."""
    checkpoint = None if folder is None else checkpoint_of(folder, number)
    kept = None if checkpoint is None else checkpoint.with_suffix(".json")
    driver = Driver(what, checkpoint, resume and checkpoint is not None and checkpoint.exists())
    if resume and kept is not None and kept.exists():
        return Table.load(str(kept))
    shown: Any = None if progress is None else lambda step: progress(number, step)
    table = driver.run(executor, share, shown, finish=executor)
    if kept is not None:
        table.save(kept)
    return table


def checkpoint_of(folder: Path, number: int) -> Path:
    """Where a design of a study keeps its state."""
    return folder / f"{number:03}.checkpoint"


class _Threads:
    """Runs the designs of a study in threads of this process, which wait for workers most of the time."""

    def __init__(self, executor: Executor) -> None:
        self._executor, self._left = executor, 0

    def study(
        self,
        designs: Sequence[Design],
        folder: Path | None,
        resume: bool,
        progress: Callable[[int, Step], object] | None,
    ) -> list[Table]:
        self._left = len(designs)

        def share() -> int:
            return max(1, round(self._executor.cores() / max(1, self._left)))

        def one(number: int) -> Table:
            try:
                return run_one(number, designs[number], folder, resume, self._executor, share, progress)
            finally:
                self._left -= 1

        with ThreadPoolExecutor(len(designs)) as pool:
            return [table for table in pool.map(one, range(len(designs)))]
