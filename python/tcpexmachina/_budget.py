"""How long a design goes on."""

from __future__ import annotations

from dataclasses import dataclass

from ._core import Designer, Error, Step


@dataclass(frozen=True)
class Budget:
    """The limits of a design, named as the flags of `exm design`; it ends at the first that it reaches."""

    steps: int | None = None
    rules: int | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        if self.steps is None and self.rules is None and self.score is None:
            raise Error("a design needs an end: give steps, rules or score")
        for name, least in (("steps", self.steps), ("rules", self.rules)):
            if least is not None and least < 1:
                raise Error(f"{name} of {least}: give 1 or more")

    def is_spent(self, designer: Designer, last: Step | None) -> bool:
        """Whether `designer`, whose last step is known or none, has reached a limit. Rules and scores count where a
        table was evaluated, as for `exm design`; the papers' search evaluates none, and its rules always count."""
        if self.steps is not None and designer.steps >= self.steps:
            return True
        if last is None:
            return False
        if self.score is not None and last.judged is not None and last.judged >= self.score:
            return True
        counts = last.judged is not None or designer.search == "paper"
        return self.rules is not None and counts and last.rules >= self.rules

    def part(self, steps: int) -> float | None:
        """The part of the steps that is taken, from 0 to 1; none if their number has no limit."""
        return None if self.steps is None else min(1.0, steps / self.steps)


def check_ending(hardening: int, specimens: int) -> None:
    """Refuses what the end of a design would refuse, before the work."""
    if not 1 <= hardening <= 1000:
        raise Error(f"hardening of {hardening}: give 1 to 1000 generations of guards")
    if not 0 <= specimens <= 1_000_000:
        raise Error(f"{specimens} specimens: give 0 to 1000000")


def check_search(budget: Budget, search: str) -> None:
    """Refuses a score as the end of a search that never evaluates one."""
    if search == "paper" and budget.score is not None:
        raise Error("score is never reached: the papers' search evaluates no tables; give rules or steps")
