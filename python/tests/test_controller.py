"""Controllers written in Python."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import tcpexmachina as em
from tcpexmachina._network import Decision

LINK: dict[str, Any] = {"rate": "20 Mbps", "rtt": "50 ms", "duration": "10 s", "buffer": "1 BDP"}


class Reno(em.Controller):
    """Half of the window at a loss, a packet more a round trip."""

    def on_start(self, start: em.Start) -> float:
        self.window = float(start.initial_window)
        self.recovered_at = -1.0
        return self.window

    def on_ack(self, ack: em.Ack) -> float:
        if not ack.recovering:
            self.window += ack.acked / self.window
        return self.window

    def on_congestion(self, congestion: em.Congestion) -> float:
        if congestion.kind == "lost" and congestion.sent_at > self.recovered_at:
            self.recovered_at = congestion.now
            self.window = max(2.0, self.window / 2)
        return self.window


class Paced(em.Controller):
    """A packet every 2 ms, by the time between sends, and woken every 100 ms."""

    ticks = 0

    def on_start(self, start: em.Start) -> Decision:
        return 1000, 0.002, start.now + 0.1

    def on_ack(self, ack: em.Ack) -> Decision:
        return 1000, 0.002, ack.now + 0.001

    def on_tick(self, now: float) -> Decision:
        Paced.ticks += 1
        return None


def test_a_controller_shares_a_link_with_cubic() -> None:
    both = em.simulate(**LINK, flows=[Reno, "cubic"])
    assert both.flows.throughput_bps.min() > 1e6
    assert list(both.flows.name) == ["Reno", "cubic"]
    assert em.simulate(**LINK, flows=[Reno, "cubic"]) == both


def test_each_flow_has_an_object_of_its_own() -> None:
    of_class = em.simulate(**LINK, flows=[em.Flow(Reno, count=3)])
    assert of_class.flows == em.simulate(**LINK, flows=[em.Flow(Reno(), count=3)]).flows


def test_pacing_and_ticks_are_obeyed() -> None:
    Paced.ticks = 0
    report = em.simulate(**LINK, flows=[Paced])
    assert report.flows.sent[0] == pytest.approx(10 / 0.002, abs=2)
    assert Paced.ticks > 100


def test_a_controller_is_scored_beside_others() -> None:
    scores = em.score([Reno, "cubic", "general-delta1"], "demo", specimens=8, host="tcp")
    assert scores.contenders.name == ["Reno", "cubic", "general-delta1"]
    assert len(scores.trials) == 24
    assert scores == em.score([Reno, "cubic", "general-delta1"], "demo", specimens=8, host="tcp")


def test_a_controller_is_compared() -> None:
    result = em.compare(em.Bottleneck(**LINK), [Reno, "cubic/codel"], runs=2)
    assert result.schemes.scheme == ["Reno", "cubic/codel"]
    assert result._repr_svg_().startswith("<svg")


class Broken(Reno):
    def on_ack(self, ack: em.Ack) -> float:
        if ack.now > 1.0:
            raise LookupError("no more ideas")
        return super().on_ack(ack)


def test_exceptions_arrive_as_exceptions() -> None:
    with pytest.raises(LookupError, match="no more ideas") as raised:
        em.simulate(**LINK, flows=["cubic", Broken])
    assert raised.traceback[-1].name == "on_ack"
    with pytest.raises(LookupError):
        em.score(["cubic", Broken], "demo", specimens=4, host="tcp")
    with pytest.raises(LookupError):
        em.compare(em.Bottleneck(**LINK), [Broken], runs=1)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (float("nan"), "Odd.on_ack returned NaN as the window"),
        (-1, "Odd.on_ack returned -1 as the window"),
        ("10", "Odd.on_ack returned '10' as the window"),
        ((10, -0.5), "Odd.on_ack returned -0.5 as the time between sends"),
        ((10, 0.1, float("inf")), "Odd.on_ack returned inf as the time to wake at"),
        ((), "Odd.on_ack returned a tuple of 0 values"),
    ],
)
def test_impossible_decisions_are_refused(returned: object, text: str) -> None:
    class Odd(em.Controller):
        def on_ack(self, ack: em.Ack) -> Decision:
            return returned  # type: ignore[return-value]

    with pytest.raises(em.Error, match=text):
        em.simulate(**LINK, flows=[Odd])


def test_what_is_no_controller_is_refused() -> None:
    with pytest.raises(em.Error, match="int has no method on_start"):
        em.simulate(**LINK, flows=[3])

    class Needy(Reno):
        needs = ("delivry",)

    with pytest.raises(em.Error, match='Needy.needs has "delivry": did you mean "delivery"?'):
        em.simulate(**LINK, flows=[Needy])


def test_needs_are_met() -> None:
    rates = []

    class Curious(Reno):
        needs = ("delivery",)

        def on_ack(self, ack: em.Ack) -> float:
            rates.append(ack.delivery_rate)
            return super().on_ack(ack)

    em.simulate(**LINK, flows=[Curious])
    assert any(rate is not None and rate > 1000 for rate in rates)


def test_a_scenario_with_a_controller_pickles() -> None:
    scenario = em.Bottleneck(**LINK, flows=[Reno]).scenario()
    again = pickle.loads(pickle.dumps(scenario))
    assert em.simulate(again) == em.simulate(scenario)


def test_a_program_that_fails_is_no_result(tmp_path: Path) -> None:
    program = tmp_path / "fails.py"
    program.write_text("input(); print('{}', flush=True); input()\n")
    failing = f"program:{sys.executable} {program}"
    with pytest.raises(em.Error, match="ended without an answer"):
        em.simulate(**LINK, flows=[failing])
    with pytest.raises(em.Error, match="ended without an answer"):
        em.score([failing], "demo", specimens=2, host="tcp")
