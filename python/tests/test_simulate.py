"""Simulations: the command's results to the bit, errors in the library's words, interrupts, threads."""

import math
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

import tcpexmachina as em

Exm = Callable[..., dict[str, Any]]
LINK: dict[str, Any] = {"rate": "15 Mbps", "rtt": "150 ms", "duration": "20 s"}


def assert_same(report: em.Report, of_command: dict[str, Any]) -> None:
    run = of_command["runs"][0]
    assert report.seed == run["seed"]
    assert len(report.flows) == len(run["flows"])
    for ours, theirs in zip(report.flows, run["flows"], strict=True):
        assert ours["throughput_bps"] * 1e-6 == theirs["throughput_mbps"]
        for name in ["name", "controller", "host", "sent", "delivered", "lost", "dropped", "share", "rtt_ratio"]:
            assert ours[name] == theirs[name], name
        for name in ["rtt", "queueing_delay"]:
            for part in ["mean", "median", "p95"]:
                ms = ours[f"{name}_{part}_s"] * 1e3
                assert math.isclose(ms, theirs[f"{name}_ms"][part], rel_tol=1e-14)
    for ours, theirs in zip(report.links, run["links"], strict=True):
        assert ours["utilisation"] * 100.0 == theirs["utilisation_percent"]
        for name in ["arrived", "transmitted", "dropped", "mean_queue_packets", "max_queue_packets"]:
            assert ours[name] == theirs[name], name


def test_flags_give_the_bits_of_the_command(exm: Exm) -> None:
    ours = em.simulate(**LINK, flows=["cubic", "bbr", "general-delta1"], loss="0.1 %", seed=7)
    command = "simulate --link 15Mbps --rtt 150ms --duration 20s --loss 0.001 --seed 7"
    theirs = exm(*command.split(), "--cc", "cubic,bbr,general-delta1")
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["dumbbell", "mixed", "parking-lot"])
def test_scenarios_give_the_bits_of_the_command(exm: Exm, name: str) -> None:
    ours = em.simulate(name, seed=3, set={"duration": "5 s"})
    assert_same(ours, exm("simulate", name, "--seed", "3", "--duration", "5s"))


def test_series_do_not_change_results() -> None:
    plain = em.simulate(**LINK)
    watched = em.simulate(**LINK, every="100 ms")
    assert plain.flows == watched.flows and plain.links == watched.links
    assert watched.flow_series is not None and watched.link_series is not None
    assert len(watched.flow_series) == 200
    assert watched.flow_series.cwnd_packets.max() > 100


def test_errors_are_the_librarys() -> None:
    with pytest.raises(em.Error, match='there is no controller "cubci": did you mean "cubic"?'):
        em.simulate(**LINK, flows=["cubci"])
    with pytest.raises(em.Error, match='there is no scenario "dumbel": did you mean "dumbbell"?'):
        em.simulate("dumbel")
    with pytest.raises(ValueError, match='the scenario:3: there is no key "rat" here'):
        em.Scenario('duration = "1 s"\n[[link]]\nrat = "1 Mbps"\n')
    with pytest.raises(em.Error, match="cannot be read"):
        em.simulate(Path("no/such.toml"))
    with pytest.raises(em.Error, match="the sampling interval is zero"):
        em.simulate(**LINK, every="0 s")
    with pytest.raises(em.Error, match="describe a network, and another is given"):
        em.simulate("dumbbell", rate="5 Mbps")


def test_everything_pickles() -> None:
    report = em.simulate(**LINK, every="1 s")
    assert pickle.loads(pickle.dumps(report)) == report
    table = em.Table.load("general-delta1")
    trace = em.Trace.generate("lte", duration="10 s")
    for one in [em.Scenario.load("mixed"), em.Model.load("demo"), table, trace]:
        assert pickle.loads(pickle.dumps(one)) == one
    link = em.Bottleneck(rate="5 Mbps", flows=["cubic", em.Flow("bbr", rtt="20 ms")])
    assert pickle.loads(pickle.dumps(link)) == link
    error = pickle.loads(pickle.dumps(em.Error("a problem")))
    assert isinstance(error, em.Error) and str(error) == "a problem"


def test_an_interrupt_ends_a_simulation_at_once() -> None:
    interrupted(lambda: em.simulate(rate="1 Gbps", rtt="20 ms", flows=["cubic"] * 4, duration="1000 s"))


def test_an_interrupt_ends_scores_at_once() -> None:
    interrupted(lambda: em.score(["general-delta1"], "general-delta1", specimens=100_000))


def interrupted(work: Callable[[], object]) -> None:
    """Interrupts `work`, which a tenth of a second later has ended, but for tries that other programs delay."""
    took = [seconds_to_interrupt(work) for _ in range(3)]
    assert min(took) < 0.1, took


def seconds_to_interrupt(work: Callable[[], object]) -> float:
    sent = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    took = time.monotonic() - sent[0]
    timer.join()
    return took


def test_other_threads_run_meanwhile() -> None:
    work = threading.Thread(target=lambda: em.simulate(rate="1 Gbps", rtt="20 ms", duration="5 s"))
    work.start()
    turns = 0
    while work.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 20


def test_progress_is_reported() -> None:
    parts: list[float] = []
    em.simulate(**LINK, progress=parts.append)
    assert parts == sorted(parts) and parts[-1] == 1.0


def test_pictures_are_the_librarys() -> None:
    report = em.simulate(**LINK, flows=["cubic", "vegas"])
    assert report._repr_svg_().startswith("<svg") and "vegas" in report._repr_svg_()
    assert "<table>" in report._repr_html_()
    series = em.simulate(**LINK, every="100 ms")._repr_svg_()
    assert "queue, packets" in series


@pytest.mark.parametrize("every", [None, "100 ms"])
def test_plots_are_drawn_into_axes_that_are_given(every: str | None) -> None:
    ax = MagicMock()
    assert em.simulate(**LINK, every=every).plot(ax) is ax
    assert ax.legend.called and (ax.plot.called if every else ax.scatter.called)
