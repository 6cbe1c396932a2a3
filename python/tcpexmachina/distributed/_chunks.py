"""How a round is cut into tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST = 10.0
"""The maximum CPU time of a task, s: a worker that dies loses little."""
SHORTEST = 0.02
"""The minimum, s, where a round is small: some twenty times what a task costs on a cluster."""
WAVES = 3
"""Tasks for each core in a round. Pairs differ in cost, and a core that ends early takes another task."""


@dataclass
class Chunks:
    """Cuts rounds into tasks by the measured cost of a pair of a candidate and a specimen."""

    pair_s: float | None = None
    """The mean CPU time of a pair in the last round, s; none before the first."""

    def spans(self, pairs: int, cores: int) -> list[tuple[int, int]]:
        """The first and last pair, exclusive, of each task."""
        size = math.ceil(pairs / (WAVES * max(cores, 1)))
        if self.pair_s:
            size = max(size, math.ceil(SHORTEST / self.pair_s))
            size = min(size, max(1, math.floor(LONGEST / self.pair_s)))
        return [(first, min(first + size, pairs)) for first in range(0, pairs, size)]

    def learn(self, pairs: int, seconds: float) -> None:
        """Takes notice of the CPU time of a round."""
        self.pair_s = seconds / pairs
