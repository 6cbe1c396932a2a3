"""The interface of Ex Machina's controllers over pipes, version 1, for Python: you need not change this file."""

import json
import sys
from types import SimpleNamespace


def run(controller):
    """Answers events by the methods of controller until the simulation ends.

    Times are in nanoseconds, windows in packets, sizes in bytes. A method returns the window, or the window and the
    least time between two sends, or these two and the time at which on_tick is to be called.
    """
    for line in sys.stdin:
        event = SimpleNamespace(**json.loads(line))
        if event.event == "hello":
            if hasattr(controller, "seed"):
                controller.seed(event.seed)
            answer = {"needs": list(getattr(controller, "needs", []))}
        else:
            answer = decision(getattr(controller, "on_" + event.event)(event))
        print(json.dumps(answer), flush=True)


def decision(answer):
    parts = answer if isinstance(answer, tuple) else (answer,)
    cwnd, intersend, wake_at = parts + (0, None)[len(parts) - 1 :]
    return {
        "cwnd": int(cwnd),
        "intersend": int(intersend),
        "wake_at": None if wake_at is None else int(wake_at),
    }
