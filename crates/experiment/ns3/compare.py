#!/usr/bin/env python3
"""Run shipped rule tables in Ex Machina's simulator and in ns-3, and print the figures of both as Markdown.

It needs the program `exm`, Python 3.11 and the package ns3. The same seed gives the same figures.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Sequence

import second_simulator as second
from second_simulator import InputError, Network, Period, Simulator, Traffic

TABLES = Path(__file__).resolve().parents[2] / "design" / "remyccs"
RESAMPLES = 10_000


@dataclass(frozen=True)
class Case:
    """One table on one network. If `paired`, both simulators have the same on-periods; otherwise each draws its own."""

    group: str
    table: str
    network: Network
    traffic: Traffic = field(default_factory=Traffic)
    runs: int = 1
    paired: bool = True
    measured: str = "arrivals"
    host: str = "bare"

    @property
    def title(self) -> str:
        """The case in a row's words."""
        rate = f"{self.network.rate / 1e6:g} Mbps"
        return f"{self.table}, {rate}"

    @property
    def ordered(self) -> bool:
        """Whether it is run in ns-3 a second time, with ACKs first."""
        return self.paired and self.network.senders > 1


def dumbbell(mbps: float, senders: int, duration: float, buffer: str) -> Network:
    """A dumbbell with a propagation RTT of 150 ms."""
    rate = round(mbps * 1e6)
    return Network(rate, 0.15, second.parse_buffer(buffer, rate, 0.15), senders, duration)


def all_cases() -> list[Case]:
    """What the page of results shows."""
    second_on, hundred_kb = Traffic(1.0, "s", 1.0), Traffic(100 / 1.5, "packets", 0.5)
    rates = (3.2, 10, 32, 100)
    alone = [Case("alone", "learn-100x", dumbbell(rate, 1, 100, "5 BDP")) for rate in rates]
    alone += [
        Case("alone", table, dumbbell(15, 1, 100, "unlimited"))
        for table in ("learn-2x", "learn-10x", "learn-100x", "general-delta1", "knock-none")
    ]
    same = [
        Case("same", table, dumbbell(rate, 2, 20, "5 BDP"), second_on, 3, measured="papers")
        for table in ("learn-100x", "general-delta1", "learn-2x", "learn-10x")
        for rate in rates
    ]
    drops = [
        Case("drops", table, dumbbell(15, 8, 20, "20 packets"), second_on, 3)
        for table in ("learn-100x", "general-delta1", "knock-none")
    ]
    own = [
        Case("own", "learn-100x", dumbbell(rate, 2, 20, "5 BDP"), second_on, 24, False, "papers") for rate in (10, 32)
    ]
    fixed = [
        Case("fixed", table, dumbbell(15, 8, 20, "unlimited"), Traffic(200, "packets", every=4.0), 3)
        for table in ("knock-none", "general-delta1", "learn-100x")
    ]
    amounts = [
        Case("amounts", table, dumbbell(15, 8, 100, "unlimited"), hundred_kb, 16, False)
        for table in ("knock-none", "general-delta1")
    ]
    tcp = [replace(case, group="tcp", host="tcp") for case in alone if case.network.rate < 100e6]
    return alone + tcp + same + drops + fixed + own + amounts


def scenario(case: Case, periods: list[list[Period]] | None) -> str:
    """The case as a scenario file: with these on-periods, or with the simulator's own."""
    network = case.network
    buffer = "unlimited" if network.buffer == second.UNLIMITED else f"{network.buffer} packets"
    lines = [
        f'duration = "{network.duration:g} s"',
        f'measure.throughput = "{case.measured}"',
        f'[[link]]\nname = "bottleneck"\nrate = "{network.rate} bps"\nbuffer = "{buffer}"',
    ]
    if case.host == "tcp":
        lines.insert(0, "tcp.handshake = true")
    common = f'[[flow]]\nrtt = "{network.rtt * 1e3:g} ms"\nhost = "{case.host}"\ncontroller = "{case.table}"\n'
    if periods is None:
        on = f"exp {case.traffic.on:g} s" if case.traffic.unit == "s" else f"exp {case.traffic.on * 1.5:g} kB"
        off = f"exp {case.traffic.off:g} s"
        lines.append(f'{common}count = {network.senders}\ntraffic = {{ on = "{on}", off = "{off}" }}')
    for sender in periods or []:
        lines.append(common + listed(sender, network.duration))
    return "\n".join(lines) + "\n"


def listed(periods: list[Period], duration: float) -> str:
    """A sender's on-periods as its traffic; one that has none begins when the run is over."""
    periods = periods or [Period(duration + 1, duration + 2)]
    ends = [f"..{period.end:.9f} s" if not period.packets else "" for period in periods]
    at = ", ".join(f'"{period.begin:.9f} s{end}"' for period, end in zip(periods, ends))
    on = f"fixed {periods[0].packets} packets" if periods[0].packets else "always"
    return f'traffic = {{ on = "{on}", at = [{at}] }}'


def run_exm(program: str, case: Case, seed: int) -> dict[str, Any]:
    """One run in Ex Machina's simulator: the means over the senders."""
    periods = second.draw_periods(case.traffic, case.network, seed) if case.paired else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        path.write_text(scenario(case, periods), encoding="utf-8")
        command = [program, "simulate", str(path), "--seed", str(seed), "--threads", "1", "--json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise InputError(f"cannot run {program}: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise InputError(f"{program} simulate failed: {lines[0]}")
    figures = exm_figures(json.loads(done.stdout)["runs"][0])
    if case.host == "tcp":  # whole packets, since the two have different headers
        figures["throughput"] = figures["delivered"] * second.PACKET_BITS / 1e6 / case.network.duration
    return figures


def exm_figures(run: dict[str, Any]) -> dict[str, Any]:
    """Means over senders of the figures that are compared."""
    flows = [flow for flow in run["flows"] if flow["delivered"]]
    dropped = sum(flow["dropped"] for flow in run["flows"])
    fates = dropped + sum(flow["delivered"] for flow in flows)
    count = max(1, len(flows))
    return {
        "throughput": sum(flow["throughput_mbps"] for flow in flows) / count,
        "queueing": sum(flow["queueing_delay_ms"]["mean"] for flow in flows) / count,
        "rtt": sum(flow["rtt_ms"]["mean"] for flow in flows) / count,
        "loss": 100 * dropped / fates if fates else 0.0,
        "sent": sum(flow["sent"] for flow in run["flows"]),
        "delivered": sum(flow["delivered"] for flow in run["flows"]),
    }


def ns3_figures(run: dict[str, Any], measured: str) -> dict[str, Any]:
    """The same of a run in ns-3."""
    flows = [flow for flow in run["flows"] if flow["delivered"]]
    key = "throughput_papers_mbps" if measured == "papers" else "throughput_mbps"
    count = max(1, len(flows))
    return {
        "throughput": sum(flow[key] for flow in flows) / count,
        "queueing": sum(flow["queueing_delay_mean_ms"] for flow in flows) / count,
        "rtt": sum(flow["rtt_mean_ms"] for flow in flows) / count,
        "loss": run["loss_percent"],
        "sent": sum(flow["sent"] for flow in run["flows"]),
        "delivered": sum(flow["delivered"] for flow in run["flows"]),
    }


_loaded: Simulator | None = None


def run_ns3(case: Case, seed: int, acks_first: bool = False) -> dict[str, Any]:
    """One run in ns-3, which each process loads once."""
    global _loaded
    if _loaded is None:
        _loaded = Simulator()
    # Seeds of the two simulators' own draws have nothing in common, so any will do.
    periods = second.draw_periods(case.traffic, case.network, seed)
    table = second.read_table(TABLES / f"{case.table}.json")
    run = _loaded.run(table, case.network, periods, acks_first, case.host == "tcp")
    return ns3_figures(run, case.measured)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)


def ratio(ours: Sequence[float], theirs: Sequence[float], paired: bool) -> tuple[float, float, float] | None:
    """ns-3's mean over ours, with the 95 % bootstrap interval over runs; None if ours is zero."""
    if mean(ours) <= 1e-6:
        return None
    source = random.Random(1)
    count, samples = len(ours), []
    for _ in range(RESAMPLES if count > 1 else 0):
        left = source.choices(range(count), k=count)
        right = left if paired else source.choices(range(count), k=count)
        below = mean([ours[index] for index in left])
        if below > 0:
            samples.append(mean([theirs[index] for index in right]) / below)
    centre = mean(theirs) / mean(ours)
    if not samples:
        return centre, centre, centre
    samples.sort()
    return centre, samples[int(0.025 * len(samples))], samples[int(0.975 * len(samples))]


def ratio_text(value: tuple[float, float, float] | None) -> str:
    """A ratio with its interval, where there is one."""
    if value is None:
        return "–"
    centre, low, high = value
    digits = 4 if max(abs(centre - low), abs(high - centre)) < 0.01 else 3
    interval = "" if low == high else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{centre:.{digits}f}{interval}"


def row(case: Case, ours: list[dict[str, Any]], theirs: list[dict[str, Any]], ordered: list[dict[str, Any]]) -> str:
    """One line of a table; `ordered` are ns-3's runs with ACKs first, for paired cases."""
    cells = [case.title]
    for key, digits in (("throughput", 3), ("queueing", 2)):
        left, right = [run[key] for run in ours], [run[key] for run in theirs]
        compared = ratio(left, right, case.paired)
        cells += [f"{mean(left):.{digits}f}", f"{mean(right):.{digits}f}", ratio_text(compared)]
    cells += [f"{mean([run['loss'] for run in runs]):.2f}" for runs in (ours, theirs)]
    if case.paired and case.host == "bare":
        cells += [same_packets(ours, runs) for runs in (theirs, ordered) if runs]
    return "| " + " | ".join(cells) + " |"


def same_packets(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    """In how many runs both sent and delivered the same numbers of packets, with mean RTTs equal to 10 ns."""
    counts = ("sent", "delivered")
    same = [
        all(left[key] == right[key] for key in counts) and abs(left["rtt"] - right["rtt"]) < 1e-5
        for left, right in zip(ours, theirs)
    ]
    return f"{sum(same)} of {len(same)}"


def heading(case: Case) -> str:
    """The head of a group's table."""
    columns = ["table, link", "Mbps", "in ns-3", "ratio", "queueing ms", "in ns-3", "ratio", "loss %", "in ns-3"]
    columns += ["same", "same, ACKs first"] if case.ordered else ["same"] if case.group == "alone" else []
    return f"\n## {case.group}\n\n| {' | '.join(columns)} |\n|---|" + "---:|" * (len(columns) - 1)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    groups = list(dict.fromkeys(case.group for case in all_cases()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exm", default="exm", help="the program [%(default)s]")
    parser.add_argument("--group", choices=groups, action="append", help="only these groups of cases")
    parser.add_argument("--runs", type=int, help="at most this many runs of each case")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run [%(default)s]")
    parser.add_argument("--jobs", type=int, default=2, help="processes that run ns-3 [%(default)s]")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables, a group after another."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    options = parse_arguments(arguments)
    try:
        if options.jobs < 1 or (options.runs is not None and options.runs < 1):
            raise InputError("--jobs and --runs must be at least 1")
        shown = None
        with ProcessPoolExecutor(options.jobs) as pool:
            for case in all_cases():
                if options.group and case.group not in options.group:
                    continue
                seeds = range(options.seed, options.seed + min(case.runs, options.runs or case.runs))
                waiting = [pool.submit(run_ns3, case, seed) for seed in seeds]
                later = [pool.submit(run_ns3, case, seed, True) for seed in seeds if case.ordered]
                ours = [run_exm(options.exm, case, seed) for seed in seeds]
                theirs = [future.result() for future in waiting]
                if case.group != shown:
                    print(heading(case))
                    shown = case.group
                print(row(case, ours, theirs, [future.result() for future in later]), flush=True)
    except InputError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
