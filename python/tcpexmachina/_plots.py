"""Pictures by matplotlib, which is no dependency: each draws into the axes it is given, or into new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: A line of a legend, and its points as x and y.
Points = Mapping[str, tuple[Sequence[float], Sequence[float]]]
Range = tuple[float, float]
Axis = tuple[str, float, float]


def axes(ax: Any) -> Any:
    """The axes that are given, or new ones."""
    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots()[1]
    return ax


def lines(ax: Any, points: Points, xlabel: str, ylabel: str) -> Any:
    """A line for each name."""
    ax = axes(ax)
    for name, (x, y) in points.items():
        ax.plot(x, y, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()
    return ax


def throughput_delay(ax: Any, points: Points, ylabel: str, xlabel: str = "queueing delay, ms") -> Any:
    """Throughput against queueing delay, which grows to the left: better is up and to the right.

    Of several points of a name, each is faint, and their median is marked.
    """
    ax = axes(ax)
    for name, (delays, throughputs) in points.items():
        x, y = np.array(delays, dtype=float), np.array(throughputs, dtype=float)
        seen = ~np.isnan(x)
        if not seen.any():
            continue
        middle = ax.scatter([np.median(x[seen])], [np.median(y[seen])], label=name, zorder=3)
        if seen.sum() > 1:
            ax.scatter(x[seen], y[seen], color=middle.get_facecolor(), alpha=0.15, s=8)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.invert_xaxis()
    ax.legend()
    return ax


def capacity(ax: Any, shown: tuple[Any, float]) -> Any:
    """The rates of a link, bit/s, one after the other so many seconds."""
    rates, step = shown
    middles = (np.arange(len(rates)) + 0.5) * step
    ax = axes(ax)
    ax.plot(middles, rates / 1e6)
    ax.set(xlabel="time, s", ylabel="capacity, Mbps")
    return ax


def rule_map(
    ax: Any,
    shown: tuple[
        str, Axis, Axis, Axis, Sequence[tuple[Range, Range, float]], Sequence[Sequence[tuple[float, float]]]
    ],
) -> Any:
    """Rules as boxes, coloured by what they do to the window, and the way of a sender's first flows."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    title, x, y, (meaning, low, high), boxes, flows = shown
    ax = axes(ax)
    colours = ScalarMappable(Normalize(low, high), cmap="RdBu")
    for (left, right), (bottom, top), value in boxes:
        size = (right - left, top - bottom)
        ax.add_patch(Rectangle((left, bottom), *size, facecolor=colours.to_rgba(np.array(value)), edgecolor="grey"))
    for flow in flows[:3]:
        ax.plot(*zip(*flow, strict=True), color="black", alpha=0.3, linewidth=0.7)
    ax.set(title=title, xlabel=x[0], ylabel=y[0], xlim=x[1:], ylim=y[1:])
    ax.figure.colorbar(colours, ax=ax, label=f"{meaning}, log2")
    return ax
