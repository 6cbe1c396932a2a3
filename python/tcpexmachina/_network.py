"""`Bottleneck`, `Flow` and `Controller`: networks and controllers that Python describes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._core import Ack, Congestion, Scenario, Start, Table

#: What a controller returns: a window in packets; (window, intersend); (window, intersend, wake_at), with times in
#: seconds; or None for what it returned last.
Decision = (
    float | tuple[float] | tuple[float, float | None] | tuple[float, float | None, float | None] | None
)


class Controller:
    """A congestion controller. Each flow gets an object of the class, or a copy of the object that is given.

    `needs` are names of what it asks of its host: "delivery" for `Ack.delivery_rate`, "own_recovery" to set the window
    during loss recovery, "marks" for ECN marks instead of drops, and "restart" for `on_start` at each on-period of a
    persistent connection.
    """

    needs: tuple[str, ...] = ()

    def on_start(self, start: Start) -> Decision:
        """A flow starts. By default its window is the host's initial window."""
        return start.initial_window

    def on_ack(self, ack: Ack) -> Decision:
        """An acknowledgement arrived."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, congestion: Congestion) -> Decision:
        """The host inferred congestion. By default nothing changes."""
        return None

    def on_tick(self, now: float) -> Decision:
        """The time `wake_at` has come. By default nothing changes."""
        return None


#: A controller by its name, as on the command line; a table; or a class or an object with the methods of `Controller`.
ControllerLike = str | Path | Table | Controller | type[Controller] | Any


class Names:
    """The names by which controllers that Python gives stand in a scenario."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def name(self, controller: ControllerLike) -> str:
        """The name of a controller, which is new for one that has none."""
        if isinstance(controller, (str, Path)):
            return str(controller)
        for name, known in self.given.items():
            if known is controller:
                return name
        kind = controller if isinstance(controller, type) else type(controller)
        name, number = kind.__name__, 1
        while name in self.given:
            number += 1
            name = f"{kind.__name__} {number}"
        self.given[name] = controller
        return name


@dataclass
class Flow:
    """Equal flows over a bottleneck: their controller, over TCP and always on unless set otherwise."""

    controller: ControllerLike
    name: str | None = None
    count: int = 1
    rtt: str | None = None
    on: str = "always"
    off: str | None = None
    host: str | None = None


@dataclass
class Bottleneck:
    """One link that all flows share, as by the flags of `exm simulate`: quantities are texts with units.

    `rate` or `trace` is required: a rate such as "15 Mbps", or a file or a synthetic link such as "lte".
    """

    rate: str | None = None
    rtt: str = "100 ms"
    flows: Sequence[Flow | ControllerLike] = field(default_factory=lambda: ["cubic"])
    trace: str | None = None
    buffer: str = "1000 packets"
    queue: str | None = None
    loss: str | float | None = None
    jitter: str | None = None
    duration: str = "100 s"
    seed: int = 1
    title: str | None = None

    def scenario(self) -> Scenario:
        """The scenario that it describes."""
        names = Names()
        flows = [flow if isinstance(flow, Flow) else Flow(flow) for flow in self.flows]
        lines = _lines(title=self.title, seed=self.seed, duration=self.duration)
        lines += ["[[link]]"] + _lines(
            name="bottleneck",
            rate=self.rate,
            trace=self.trace,
            buffer=self.buffer,
            queue=self.queue,
            loss=self.loss,
            jitter=self.jitter,
        )
        for flow in flows:
            controller = names.name(flow.controller)
            lines += ["[[flow]]"] + _lines(
                name=flow.name or Path(controller).name,
                controller=controller,
                count=flow.count,
                rtt=flow.rtt or self.rtt,
                host=flow.host,
            )
            lines += [f"traffic.on = {_quoted(flow.on)}"]
            lines += [f"traffic.off = {_quoted(flow.off)}"] if flow.off else []
        return Scenario("\n".join(lines) + "\n", controllers=names.given)


def _lines(**keys: str | float | None) -> list[str]:
    return [f"{key} = {_quoted(value)}" for key, value in keys.items() if value is not None]


def _quoted(value: str | float) -> str:
    """A value as in TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
