"""Progress bars and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

#: Whether to show a bar, or what to call with the part that is done, from 0 to 1.
Progress = bool | Callable[[float], object]


class Warning(UserWarning):
    """What may make a result other than expected, in the words of the library."""


def warn(texts: Iterable[str]) -> None:
    """Warns the caller of the verb that calls this."""
    for text in texts:
        warnings.warn(text, Warning, stacklevel=3)


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[float], object] | None]:
    """What to call with the part that is done; a bar is left on a line of its own, however the work ends."""
    if progress is not True:
        yield progress or None
        return
    try:
        yield bar
    finally:
        print(file=sys.stderr)


def bar(done: float) -> None:
    """A progress bar, in a terminal as in a notebook."""
    width = 40
    full = round(done * width)
    print(f"\r[{'#' * full}{' ' * (width - full)}] {done:4.0%}", end="", file=sys.stderr, flush=True)
