#!/usr/bin/env python3
"""Run a RemyCC's rule table in ns-3, on a dumbbell, as a check of Ex Machina's own simulator.

The sender follows the description of a RemyCC, over UDP, without loss recovery: what the scenario files call
host = "bare". It needs Python 3.11 and the package ns3. The same arguments and seed give the same result.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import signal
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterator, Sequence

SIGNALS = ("send_ewma", "ack_ewma", "rtt_ratio", "slow_ack_ewma", "rtt_diff", "queueing_delay")
PACKET_BITS = 12_000
UNLIMITED = 100_000_000  # packets; ns-3 has no queue without a limit


class InputError(Exception):
    """Something that the user gave is wrong; the text is one line."""


@dataclass(frozen=True)
class Rule:
    """A box over the table's signals, and what an ACK in it does."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    multiple: float
    increment: float
    intersend_ms: float


@dataclass(frozen=True)
class Table:
    """A rule table: the signals that it looks at, and its rules."""

    signals: tuple[str, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Traffic:
    """On-periods of mean `on` (in `unit`: "s", or "packets"), and exponential pauses of mean `off` seconds.

    With `on` infinite a sender is on from the start to the end. With `every`, flows have exactly `on` packets, and one
    begins within the first half of each such time.
    """

    on: float = math.inf
    unit: str = "s"
    off: float = 0.0
    every: float = 0.0


@dataclass(frozen=True)
class Network:
    """A dumbbell: rate in bits per second, propagation RTT and duration in seconds, buffer in packets."""

    rate: int
    rtt: float
    buffer: int
    senders: int
    duration: float


@dataclass(frozen=True)
class Period:
    """An on-period of a sender: from `begin` until `end` (s) or, if `packets` is not zero, until so many packets were
    delivered. If `after_previous`, `begin` counts from the end of the one before it."""

    begin: float
    end: float
    packets: int = 0
    after_previous: bool = False


@dataclass
class Flow:
    """What one sender did in one run."""

    on_s: float  # on-periods alone: measure.throughput = "papers"
    on_arrivals_s: float  # on-periods until their last packet was acknowledged: "arrivals"
    sent: int
    delivered: int
    completed: int
    throughput_papers_mbps: float | None
    throughput_mbps: float | None
    rtt_mean_ms: float | None
    queueing_delay_mean_ms: float | None


def number(value: Any, what: str) -> float:
    """A bound or an action's number from a table: a number, "inf" or "-inf"."""
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise InputError(f"{what} is not a number: {value!r}")
    return float(value)


def read_rule(rule: Any, signals: Sequence[str], where: str) -> Rule:
    """One element of the table's `rules`."""
    if not isinstance(rule, dict) or not isinstance(rule.get("box"), dict):
        raise InputError(f"{where} has no box")
    low, high = [], []
    for signal in signals:
        bounds = rule["box"].get(signal, ["-inf", "inf"])
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise InputError(f"{where}: {signal} needs a lower and an upper bound")
        low.append(number(bounds[0], f"{where}: {signal}"))
        high.append(number(bounds[1], f"{where}: {signal}"))
    action = [number(rule.get(key), f"{where}: {key}") for key in ("multiple", "increment", "intersend_ms")]
    if not all(map(math.isfinite, action)) or action[2] <= 0:
        raise InputError(f"{where}: multiple and increment must be finite, and intersend_ms above 0")
    return Rule(tuple(low), tuple(high), *action)


def read_table(path: Path) -> Table:
    """Reads a table's JSON file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != "exmachina-remycc":
        raise InputError(f'{path} is not a rule table: "format" must be "exmachina-remycc"')
    if content.get("version") != 1:
        raise InputError(f"{path}: version {content.get('version')!r} of the format is not known, only 1")
    signals, rules = content.get("signals"), content.get("rules")
    if not isinstance(signals, list) or not isinstance(rules, list) or not rules:
        raise InputError(f"{path}: signals and rules must be lists, with at least one rule")
    for signal in signals:
        if signal not in SIGNALS:
            raise InputError(f"{path}: the signal {signal!r} is not one of {', '.join(SIGNALS)}")
    parsed = (read_rule(rule, signals, f"{path}: rule {index}") for index, rule in enumerate(rules))
    return Table(tuple(signals), tuple(parsed))


def draw_periods(traffic: Traffic, network: Network, seed: int) -> list[list[Period]]:
    """The on-periods of all senders. Each sender has a random stream of its own."""
    return [draw_sender(traffic, network, random.Random(f"{seed}/{index}")) for index in range(network.senders)]


def draw_sender(traffic: Traffic, network: Network, source: random.Random) -> list[Period]:
    """The on-periods of one sender: exponential pauses, the first before the first period."""
    if math.isinf(traffic.on):
        return [Period(0.0, network.duration)]
    if traffic.every:
        count = math.ceil(network.duration / traffic.every)
        begins = [round((index + source.random() / 2) * traffic.every, 9) for index in range(count)]
        return [Period(begin, 0.0, round(traffic.on)) for begin in begins if begin < network.duration]
    periods = []
    now = 0.0
    while now < network.duration:
        pause = source.expovariate(1 / traffic.off)
        length = source.expovariate(1 / traffic.on)
        if traffic.unit == "s":
            begin = round(now + pause, 9)
            now = round(begin + length, 9)
            if begin < network.duration:
                periods.append(Period(begin, now))
        else:
            packets = max(1, math.ceil(length))
            now += pause  # a period takes some time, so that there are never too few
            periods.append(Period(pause, 0.0, packets, True))
    return periods


@contextmanager
def quiet() -> Iterator[None]:
    """Hides what the compiler of ns-3's bindings says about its own headers when they are loaded."""
    sys.stderr.flush()
    saved = os.dup(2)
    with open(os.devnull, "w", encoding="utf-8") as sink:
        os.dup2(sink.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


class Simulator:
    """ns-3 with the RemyCC's sender; loading it takes ten seconds to a minute."""

    def __init__(self) -> None:
        sources = [Path(__file__).with_name(name) for name in ("remycc.cc", "remycc_tcp.cc")]
        try:
            with quiet():
                from ns import ns  # type: ignore[import-not-found]
        except ImportError as error:
            raise InputError(f"ns-3 is not installed (pip install ns3): {error}") from None
        for source in sources:
            if not ns.cppyy.cppdef(source.read_text(encoding="utf-8")):
                raise InputError(f"{source} does not compile with this version of ns-3")
        self._cpp = ns.cppyy.gbl
        self._cpp.ns3.Time.SetResolution(self._cpp.ns3.Time.NS)

    def table(self, table: Table) -> Any:
        """The table in C++."""
        out = self._cpp.exm_ns3.Table()
        for signal in table.signals:
            out.signals.push_back(SIGNALS.index(signal))
        for rule in table.rules:
            flat = [bound for pair in zip(rule.low, rule.high) for bound in pair]
            flat += [rule.multiple, rule.increment, rule.intersend_ms]
            out.Add(self._cpp.std.vector["double"](flat))
        out.Finish()
        return out

    def run(
        self, table: Table, network: Network, periods: list[list[Period]], acks_first: bool = False, tcp: bool = False
    ) -> dict[str, Any]:
        """One simulation. `acks_first` is --acks-first, `tcp` is --host tcp."""
        module = self._cpp.exm_ns3
        rules = self.table(table)
        dumbbell = module.Dumbbell()
        dumbbell.acksFirst = acks_first
        for sender in periods:
            vector = self._cpp.std.vector[module.Period]()
            for period in sender:
                item = module.Period()
                item.begin, item.end, item.packets = period.begin, period.end, period.packets
                item.afterPrevious = period.after_previous
                vector.push_back(item)
            dumbbell.periods.push_back(vector)
        dumbbell.Build(network.senders, network.rate, network.rtt, network.buffer)
        if tcp:
            module.TcpFlow.Defaults()
            module.TcpFlow.Run(dumbbell, rules, network.duration)
        else:
            dumbbell.Run(rules, network.duration)
        if rules.uncovered or rules.ambiguous:
            raise InputError(f"the boxes overlap or leave gaps: met {rules.ambiguous + rules.uncovered} times")
        flows = [asdict(measure(result, network)) for result in dumbbell.results]
        return summary(flows, int(dumbbell.dropped), network)


def measure(result: Any, network: Network) -> Flow:
    """The figures of one sender, as `exm simulate --json` defines them."""
    megabits = result.delivered * PACKET_BITS / 1e6
    rtt = result.rttSum / result.delivered if result.delivered else None
    shortest = (network.rtt + PACKET_BITS / network.rate) * 1e3
    return Flow(
        on_s=result.on,
        on_arrivals_s=result.onArrivals,
        sent=int(result.sent),
        delivered=int(result.delivered),
        completed=int(result.completed),
        throughput_papers_mbps=megabits / result.on if result.on else None,
        throughput_mbps=megabits / result.onArrivals if result.onArrivals else None,
        rtt_mean_ms=rtt,
        queueing_delay_mean_ms=None if rtt is None else rtt - shortest,
    )


def summary(flows: list[dict[str, Any]], dropped: int, network: Network) -> dict[str, Any]:
    """The figures of one run: its flows, their means, and the bottleneck's."""
    delivered = sum(flow["delivered"] for flow in flows)
    keys = ("throughput_papers_mbps", "throughput_mbps", "rtt_mean_ms", "queueing_delay_mean_ms")
    means = {}
    for key in keys:
        known = [flow[key] for flow in flows if flow[key] is not None]
        means[key] = sum(known) / len(known) if known else None
    fates = delivered + dropped
    return {
        **means,
        "loss_percent": 100 * dropped / fates if fates else 0.0,
        "dropped": dropped,
        "link_percent": 100 * delivered * PACKET_BITS / network.rate / network.duration,
        "flows": flows,
    }


UNITS = {
    "rate": {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9},
    "time": {"us": 1e-6, "ms": 1e-3, "s": 1.0},
    "data": {"packets": 1.0, "B": 1 / 1500, "kB": 1000 / 1500, "MB": 1e6 / 1500},
}


# In bits per second, seconds and packets.
RANGES = {"rate": (1e3, 1e12), "time": (1e-6, 1e5), "data": (1e-3, 1e9)}


def quantity(text: str, kind: str) -> float:
    """A positive number with a unit of its kind, such as 15Mbps."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    units = UNITS[kind]
    if match is None or match.group(2) not in units:
        raise InputError(f"{text!r} is not a {kind} in {', '.join(units)}")
    try:
        value = float(match.group(1)) * units[match.group(2)]
    except ValueError:
        raise InputError(f"{text!r} is not a {kind}: no number") from None
    low, high = RANGES[kind]
    if not low <= value <= high:
        raise InputError(f"{text!r} is out of range")
    return value


def parse_traffic(on: str, off: str | None) -> Traffic:
    """Traffic from --on and --off."""
    if on.strip() == "always":
        if off is not None:
            raise InputError("--off needs an --on that ends")
        return Traffic()
    if off is None:
        raise InputError("--on needs --off, such as --off 'exp 1 s'")
    lengths = []
    for text in (on, off):
        if not text.startswith("exp "):
            raise InputError(f"{text!r} is not a distribution: only 'exp 1 s' and 'exp 100 kB' are known")
        lengths.append(text.removeprefix("exp "))
    pause = quantity(lengths[1], "time")
    in_time = lengths[0].strip().split(" ")[-1] in UNITS["time"]
    mean = quantity(lengths[0], "time" if in_time else "data")
    return Traffic(mean, "s" if in_time else "packets", pause)


def parse_buffer(text: str, rate: int, rtt: float) -> int:
    """A buffer in packets, in BDP (rounded up to whole packets), or unlimited."""
    if text.strip() == "unlimited":
        return UNLIMITED
    match = re.fullmatch(r"\s*([0-9]+)\s*(packets|BDP)\s*", text)
    if match is None or int(match.group(1)) == 0:
        raise InputError(f"{text!r} is not a buffer: '1000 packets', '5 BDP' or 'unlimited'")
    unit = 1 if match.group(2) == "packets" else math.ceil(rate * rtt / PACKET_BITS - 1e-9)
    return int(match.group(1)) * unit


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line; argparse reports what it finds wrong in one line below the usage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the table's JSON file, such as ../../design/remyccs/learn-100x.json")
    parser.add_argument("--link", default="15Mbps", help="rate of the bottleneck [%(default)s]")
    parser.add_argument("--rtt", default="150ms", help="round-trip propagation delay [%(default)s]")
    parser.add_argument("--senders", type=int, default=1, help="number of senders, up to 250 [%(default)s]")
    parser.add_argument("--buffer", default="1000 packets", help="queue limit, e.g. '5 BDP', 'unlimited' [%(default)s]")
    parser.add_argument("--on", default="always", help="'exp 1 s', 'exp 100 kB' or always [%(default)s]")
    parser.add_argument("--off", help="time between flows and before the first: 'exp 1 s'")
    parser.add_argument("--duration", default="100s", help="simulated time [%(default)s]")
    parser.add_argument("--runs", type=int, default=1, help="number of runs, of consecutive seeds [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run [%(default)s]")
    parser.add_argument("--host", choices=("bare", "tcp"), default="bare", help="tcp: one flow that is always on [bare]")
    parser.add_argument(
        "--acks-first",
        action="store_true",
        help="let ACKs that arrive in the nanosecond in which a packet may be sent come first, as in Ex Machina; "
        "without, both come in ns-3's order, that in which they were scheduled",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the results of all runs as JSON."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    options = parse_arguments(arguments)
    try:
        if not 1 <= options.senders <= 250 or options.runs < 1:
            raise InputError("--senders must be from 1 to 250, and --runs at least 1")
        rate, rtt = round(quantity(options.link, "rate")), quantity(options.rtt, "time")
        buffer = parse_buffer(options.buffer, rate, rtt)
        network = Network(rate, rtt, buffer, options.senders, quantity(options.duration, "time"))
        traffic = parse_traffic(options.on, options.off)
        if traffic.unit == "packets" and buffer < UNLIMITED:
            raise InputError("flows of an amount need --buffer unlimited: this sender has no timer for lost packets")
        if options.host == "tcp" and (options.senders > 1 or not math.isinf(traffic.on)):
            raise InputError("--host tcp is for one sender that is always on")
        if traffic.off and network.duration / traffic.off > 1e6:
            raise InputError("more than a million pauses are expected: give a longer --off or a shorter --duration")
        table = read_table(options.table)
        simulator = Simulator()
        runs = []
        for seed in range(options.seed, options.seed + options.runs):
            periods = draw_periods(traffic, network, seed)
            result = simulator.run(table, network, periods, options.acks_first, options.host == "tcp")
            runs.append({"seed": seed, **result})
    except InputError as error:
        print(f"second_simulator.py: {error}", file=sys.stderr)
        return 2
    json.dump({"network": asdict(network), "runs": runs}, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
