"""What workers do."""

from __future__ import annotations

import functools
import hashlib
import platform
import time
from pathlib import Path

from .. import _core


@functools.cache
def build() -> str:
    """What identifies the compiled part of the package: scores of another build may differ."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()[:16]


def check_build(expected: str) -> None:
    """Refuses to work for a driver of another build."""
    if build() != expected:
        raise _core.Error(
            f"the worker on {platform.node()} has build {build()} of tcpexmachina, and the driver has build {expected}:"
            " install the same wheel on all machines"
        )


def evaluate(round: bytes, expected: str, first: int, last: int) -> tuple[list[float], float]:
    """The scores of pairs `first` to `last` of a round, and the CPU time that they took, s."""
    check_build(expected)
    start = time.thread_time()
    scores = _core.evaluate(round, first, last)
    return scores, time.thread_time() - start


def finish(
    checkpoint: bytes, expected: str, folder: str, threads: int, hardening: int, specimens: int, start: str | None
) -> list[str]:
    """The tables of the design of a checkpoint, hardened, checked and scored, as JSON."""
    check_build(expected)
    designer = _core.Designer.resume(checkpoint.decode(), folder)
    return [table.to_json() for table in designer.finish(hardening, specimens, start, threads)]
