"""The verbs of `exm` as functions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _core
from ._budget import Budget, check_ending, check_search
from ._columns import Columns
from ._core import Designer, Error, Model, Scenario, Table
from ._network import Bottleneck, ControllerLike, Names
from ._results import Check, Comparison, Counterexample, Report, Scores
from ._show import Progress, shown, warn

Network = Scenario | Bottleneck | str | Path


def _scenario(network: Network | None, set: Mapping[str, Any] | None, flags: Mapping[str, Any]) -> Scenario:
    if network is None:
        scenario = Bottleneck(**flags).scenario()
    elif flags:
        raise Error(f"{', '.join(flags)} describe a network, and another is given: give its keys by set")
    elif isinstance(network, Bottleneck):
        scenario = network.scenario()
    elif isinstance(network, Scenario):
        scenario = network
    else:
        scenario = Scenario.load(str(network))
    if set:
        texts = {key: None if value is None else _literal(value) for key, value in set.items()}
        scenario = scenario.with_keys(texts)
    return scenario


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _model(model: Model | str | Path) -> Model:
    return model if isinstance(model, Model) else Model.load(str(model))


def simulate(
    network: Network | None = None,
    *,
    seed: int | None = None,
    every: str | None = None,
    set: Mapping[str, Any] | None = None,
    progress: Progress = False,
    **flags: Any,
) -> Report:
    """Simulates a network: a scenario, its name or file, a bottleneck, or the keywords of one.

    `every`, such as "100 ms", records time series. `set` changes keys of the scenario. `progress` shows a bar, or is
    called with the part that is done, from 0 to 1. The same network and seed give the same results, to the bit, as
    `exm simulate`.
    """
    scenario = _scenario(network, set, flags)
    with shown(progress) as show:
        raw = scenario.simulate(seed, every, show)
    warn(raw.pop("warnings"))
    return Report(**{key: _columns(value) for key, value in raw.items()})


def _columns(value: Any) -> Any:
    return Columns(value) if isinstance(value, dict) else value


def compare(
    network: Network,
    schemes: Sequence[ControllerLike],
    *,
    runs: int = 16,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    progress: Progress = False,
) -> Comparison:
    """Compares schemes on a network, as `exm compare`: each controls the flows whose controller is "scheme", or else
    all. A name may be followed by a queue: "cubic/codel"."""
    scenario, names = _scenario(network, set, {}), Names()
    words = [names.name(scheme) for scheme in schemes]
    with tempfile.TemporaryDirectory() as folder, shown(progress) as show:
        text = _core.compare(scenario, words, names.given, runs, seed, folder, show)
        files = sorted(Path(folder).glob("*.svg"))
        pictures = {file.name: file.read_text() for file in files if "narrow" not in file.name}
    results = json.loads(text)
    warn(results.get("warnings", []))
    return Comparison(results, pictures)


def score(
    contenders: Sequence[ControllerLike],
    model: Model | str | Path,
    *,
    specimens: int = 1000,
    seed: int = 1,
    host: str | None = None,
    progress: Progress = False,
) -> Scores:
    """Scores controllers on networks of a model that are held out from every search, as `exm score`."""
    names = Names()
    words = [names.name(contender) for contender in contenders]
    on = _model(model)
    with shown(progress) as show:
        raw = _core.score(on, words, names.given, specimens, seed, host, show)
    warn(raw.pop("warnings"))
    raw["contenders"], raw["trials"] = Columns(raw["contenders"]), Columns(raw["trials"])
    return Scores(**raw)


def check(
    table: Table | str | Path, model: Model | str | Path | None = None, *, name: str | None = None, **seed: int
) -> Check:
    """Checks a table on networks around its model, as `exm table check`; `seed` draws other networks further out.

    `name` is the table's where its model designs several, one of `Model.tables`.
    """
    table = table if isinstance(table, Table) else Table.load(str(table))
    return Check(**_core.check(table, None if model is None else _model(model), name, **seed))


def falsify(
    cc: ControllerLike,
    against: ControllerLike = "cubic",
    *,
    model: Model | str | Path | None = None,
    around: float = 10.0,
    delta: float | None = None,
    competitor: ControllerLike = "cubic",
    host: str = "tcp",
    tries: int = 400,
    seed: int = 1,
    progress: Progress = False,
) -> list[Counterexample]:
    """Searches the networks on which `cc` performs worst relative to `against`, as `exm falsify`; the worst first."""
    names = Names()
    words = [names.name(one) for one in (cc, against, competitor)]
    search = {"around": around, "delta": delta, "competitor": words[2]}
    search |= {"host": host, "tries": tries, "seed": seed}
    at = None if model is None else _model(model)
    with shown(progress) as show:
        found, warnings = _core.falsify(words[0], words[1], names.given, at, search, show)
    warn(warnings)
    for one in found:
        one["scenario"] = Scenario(one["scenario"], controllers=names.given)
    return [Counterexample(**one) for one in found]


def design(
    model: Model | str | Path,
    *,
    steps: int | None = None,
    rules: int | None = None,
    score: float | None = None,
    seed: int = 1,
    search: str = "evolve",
    start: Table | str | Path | None = None,
    hardening: int = 10,
    specimens: int = 256,
    progress: Progress = False,
) -> Table:
    """Designs a table, as `exm design` with the flags of the same names: the same rules, guards and scores, to the bit.

    It ends after `steps` steps of the search, or when an evaluated table has `rules` rules or a `score`, whichever is
    first. Then the table is hardened, in up to `hardening` generations of guards, checked, and scored on `specimens`
    held-out networks. `Designer` takes the steps one at a time, and can be stopped and resumed;
    `tcpexmachina.distributed.design` uses other machines as well.
    """
    budget = Budget(steps, rules, score)
    check_search(budget, search)
    check_ending(hardening, specimens)
    designer = Designer(single(_model(model)), seed, search, start_table(start))
    last = None
    with shown(progress) as show:
        while not budget.is_spent(designer, last):
            last = designer.step()
            part = budget.part(last.number)
            if show and part is not None:
                show(part)
    return designer.finish(hardening, specimens, start_name(start))[0]


def single(model: Model) -> Model:
    """The model, if it designs one table.

    Raises an error for one that designs several, before the work.
    """
    if len(model.tables) > 1:
        raise Error(f"the model designs {len(model.tables)} tables, {', '.join(model.tables)}: Designer returns them all")
    return model


def start_table(start: Table | str | Path | None) -> Table | None:
    """The table that a design starts from."""
    return start if start is None or isinstance(start, Table) else Table.load(str(start))


def start_name(start: Table | str | Path | None) -> str | None:
    """What the provenance calls it."""
    return "a table" if isinstance(start, Table) else None if start is None else str(start)
