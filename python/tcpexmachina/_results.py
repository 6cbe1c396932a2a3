"""What the verbs return: `Report`, `Scores`, `Comparison`, `Check` and `Counterexample`."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, _plots
from ._columns import Columns
from ._core import Scenario


@dataclass(eq=True)
class Report:
    """The results of a simulation: a row for each flow and link, in bit/s, seconds, bytes and packets."""

    title: str | None
    seed: int
    duration_s: float
    events: int
    flows: Columns
    links: Columns
    #: Time series of the flows and of the links, if they were asked for.
    flow_series: Columns | None = None
    link_series: Columns | None = None

    def _repr_svg_(self) -> str:
        title = self.title or f"{len(self.flows)} flows in {self.duration_s:g} s, seed {self.seed}"
        if self.flow_series is not None and self.link_series is not None:
            panels = [
                ("window, packets", _lines(self.flow_series, "flow", "cwnd_packets")),
                ("RTT, s", _lines(self.flow_series, "flow", "rtt_s")),
                ("queue, packets", _lines(self.link_series, "link", "queue_packets")),
            ]
            return _core.series_svg(title, panels)
        schemes = [
            (row["name"], [(_millis(row["queueing_delay_mean_s"]), row["throughput_bps"] / 1e6)])
            for row in self.flows
            if row["throughput_bps"] == row["throughput_bps"]
        ]
        return _core.throughput_delay_svg(title, "throughput, Mbps", schemes)

    def _repr_html_(self) -> str:
        return self._repr_svg_() + self.flows._repr_html_() + self.links._repr_html_()

    def plot(self, ax: Any = None) -> Any:
        """Draws windows over time, or throughput against queueing delay, by matplotlib; returns the axes."""
        if self.flow_series is not None:
            windows = {name: _split(points) for name, points in _lines(self.flow_series, "flow", "cwnd_packets")}
            return _plots.lines(ax, windows, "time, s", "window, packets")
        flows = {
            row["name"]: ([row["queueing_delay_mean_s"] * 1e3], [row["throughput_bps"] / 1e6]) for row in self.flows
        }
        return _plots.throughput_delay(ax, flows, "throughput, Mbps")


def _split(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _millis(seconds: float) -> float | None:
    return seconds * 1e3 if seconds == seconds else None


def _lines(series: Columns, of: str, value: str) -> list[tuple[str, list[tuple[float, float]]]]:
    names, values = np.array(series[of]), series[value].astype(float)
    lines = []
    for name in dict.fromkeys(series[of]):
        own = (names == name) & ~np.isnan(values)
        points = zip(series["time_s"][own].tolist(), values[own].tolist(), strict=True)
        lines.append((str(name), list(points)))
    return lines


@dataclass(eq=True)
class Scores:
    """Contenders side by side on held-out networks."""

    host: str
    seed: int
    specimens: int
    #: The mean score of omniscient senders.
    omniscient: float
    #: A row for each contender, with the ends of 95 % intervals.
    contenders: Columns
    #: A row for each contender on each network.
    trials: Columns

    def _repr_svg_(self) -> str:
        rows: dict[str, list[tuple[float | None, float]]] = {}
        for row in self.trials:
            rows.setdefault(row["name"], []).append((_millis(row["queueing_delay_s"]), row["share"]))
        title = f"Scores on {self.specimens} networks"
        return _core.throughput_delay_svg(
            title, "throughput / equal share of the link", list(rows.items())
        )

    def _repr_html_(self) -> str:
        return self._repr_svg_() + self.contenders._repr_html_()

    def plot(self, ax: Any = None) -> Any:
        """Draws each contender's share against its queueing delay on each network, by matplotlib; returns the axes."""
        points: dict[str, tuple[list[float], list[float]]] = {}
        for row in self.trials:
            delays, shares = points.setdefault(row["name"], ([], []))
            delays.append(row["queueing_delay_s"] * 1e3)
            shares.append(row["share"])
        return _plots.throughput_delay(ax, points, "throughput / equal share of the link")


#: Metrics of comparisons: their columns, and what these are in theirs.
_METRICS = {
    "throughput": ("throughput_bps", 1e6),
    "queueing": ("queueing_delay_s", 1e-3),
    "rtt": ("rtt_s", 1e-3),
    "goodput": ("goodput_bps", 1e6),
    "delay_95": ("delay_p95_s", 1e-3),
    "self_inflicted": ("self_inflicted_s", 1e-3),
    "completion": ("completion_s", 1e-3),
    "loss": ("loss", 1e-2),
    "retransmitted": ("retransmitted", 1e-2),
    "utilisation": ("utilisation", 1e-2),
    "jain": ("jain", 1.0),
}


def _numbers(values: Iterable[float | None]) -> np.ndarray[Any, Any]:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


@dataclass
class Comparison:
    """Schemes side by side on one network, as `exm compare` has them."""

    #: What `results.json` of the command has.
    results: dict[str, Any]
    #: The pictures, by the names of their files.
    pictures: dict[str, str]

    @property
    def schemes(self) -> Columns:
        """A row for each scheme: medians over its flows in all runs, the ends of 95 % intervals, and how many flows
        these are."""
        cases = self.results["cases"]
        columns: dict[str, Any] = {"scheme": [case["scheme"] for case in cases]}
        columns["samples"] = np.array([case["own"]["samples"] for case in cases], dtype="u8")
        for metric, (column, unit) in _METRICS.items():
            if not any(metric in case["own"]["values"] for case in cases):
                continue
            columns[column] = _numbers(case["own"]["values"].get(metric) for case in cases) * unit
            ends = [case["own"]["intervals"].get(metric, (None, None)) for case in cases]
            for name, values in zip(("low", "high"), zip(*ends, strict=True), strict=True):
                if any(value is not None for value in values):
                    columns[f"{column}_{name}"] = _numbers(values) * unit
        return Columns(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draws the medians of the schemes as its picture has them, by matplotlib; returns the axes."""
        x, y = self.results["axes"]
        values = {case["scheme"]: case["own"]["values"] for case in self.results["cases"]}
        points = {name: ([of[x]], [of[y]]) for name, of in values.items() if x in of and y in of}
        return _plots.throughput_delay(ax, points, f"{y}, Mbps", f"{x}, ms")

    def _repr_svg_(self) -> str:
        return next(iter(self.pictures.values()), "")

    def _repr_html_(self) -> str:
        return self._repr_svg_() + self.schemes._repr_html_()


@dataclass
class Check:
    """What a table does around its model."""

    #: "holds", "collapses" or "starves".
    verdict: str
    #: On networks near the model: how many there are, on how many it collapses, and the worst RTT.
    near: dict[str, float]
    #: On networks further out.
    far: dict[str, float]
    #: On how many networks with foreign delay it starves.
    starved: int
    #: Where and why it collapses, in words.
    collapses: list[str]
    #: Where it starves.
    starvations: list[str]
    #: Bounds that are proven without simulation.
    proven: list[str]

    def _repr_html_(self) -> str:
        items = [*self.collapses, *self.starvations, *self.proven]
        shown = "".join(f"<li>{html.escape(item)}</li>" for item in items)
        return f"<p><b>{html.escape(self.verdict)}</b></p><ul>{shown}</ul>"


@dataclass
class Counterexample:
    """A network on which the tested controller falls behind the reference."""

    #: The median lead of the reference, in points of the objective.
    deficit: float
    #: Its 95 % interval.
    interval: tuple[float, float]
    #: The score, share and RTT ratio of the tested senders.
    tested: dict[str, float | None]
    #: Those of the reference in their place.
    reference: dict[str, float | None]
    #: The network.
    scenario: Scenario
