"""The command `python -m tcpexmachina.distributed`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .._budget import Budget
from .._core import Error, Step, Table
from ._driver import Design, Driver
from ._executor import Executor, Processes
from ._files import check_new
from ._ray import RayCluster

FAILED, USAGE, INTERRUPTED = 1, 2, 130

EPILOG = """\
The table is the same, to the bit, as that of `exm design` with the same flags, at any number of workers and whichever
of them die. The state is written after each step: after an interrupt (Ctrl-C), or if this machine dies, go on with
--resume.

Without --workers and --address the workers are those of the Ray cluster that RAY_ADDRESS names, as in a job of
`ray job submit`, or else processes, one for each core of this machine.

examples:
  python -m tcpexmachina.distributed general16 -o cc.json --steps 100
  python -m tcpexmachina.distributed general16 -o cc.json --steps 400 --resume --address auto
  ray job submit --working-dir . -- python -m tcpexmachina.distributed m.toml -o /shared/cc.json --steps 400 --resume

exit codes:
  0    the work is done
  1    it failed
  2    usage error: an unknown option, value or name, or a model that is none
  130  interrupted
"""


def parser() -> argparse.ArgumentParser:
    """The options, named as those of `exm design`."""
    made = argparse.ArgumentParser(
        prog="python -m tcpexmachina.distributed",
        description="Design a rule table for a model of networks and an objective, on many cores or machines",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("model", metavar="MODEL", help="the model: a file, or the name of a shipped one")
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="where to write the table: .json or .dna")
    add("--steps", type=int, metavar="N", help="end after this many steps of the search")
    add("--rules", type=int, metavar="N", help="end when a table with at least this many rules has been evaluated")
    add("--score", type=float, metavar="X", help="end when the score of an evaluated table reaches this")
    add("--seed", type=int, default=1, metavar="N", help="the random seed of the search [default: 1]")
    add("--search", default="evolve", choices=["evolve", "paper"], help="how to search [default: evolve]")
    add("--start", metavar="TABLE", help="start from this table, a file or a shipped one")
    add("--hardening", type=int, default=10, metavar="N", help="generations of guards to try [default: 10]")
    add("--specimens", type=int, default=256, metavar="N", help="held-out networks to score on [default: 256]")
    where = made.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="use this many processes of this machine, without Ray")
    where.add_argument("--address", metavar="ADDRESS", help='use the Ray cluster there: "auto" finds it on this machine')
    add("--checkpoint", type=Path, metavar="FILE", help="where to save the state [default: the output's and .checkpoint]")
    old = made.add_mutually_exclusive_group()
    old.add_argument("--resume", action="store_true", help="continue from the checkpoint, if there is one")
    old.add_argument("--force", action="store_true", help="start over, and overwrite files")
    add("-q", "--quiet", action="store_true", help="show no progress")
    add("--json", action="store_true", help="print the result as JSON")
    return made


def executor(args: argparse.Namespace) -> Executor:
    """The workers that the options ask for."""
    address = args.address or (None if args.workers is not None else os.environ.get("RAY_ADDRESS"))
    return RayCluster(address) if address else Processes(args.workers)


def begin(args: argparse.Namespace) -> tuple[Driver, Progress | None]:
    """The driver of what the options ask for. None of its files is in the way."""
    out: Path = args.out
    if out.suffix not in (".json", ".dna"):
        raise Error(f"{out}: end its name in .json, or in .dna for Remy's own format")
    state = args.checkpoint or out.with_name(out.name + ".checkpoint")
    if args.force:
        state.unlink(missing_ok=True)
    elif not args.resume:
        check_new(out)
    what = Design(
        args.model,
        args.steps,
        args.rules,
        args.score,
        args.seed,
        search=args.search,
        start=args.start,
        hardening=args.hardening,
        specimens=args.specimens,
    )
    driver = Driver(what, state, args.resume and state.exists())
    return driver, None if args.quiet else Progress(what.budget())


def run(args: argparse.Namespace, driver: Driver, progress: Progress | None) -> None:
    """Designs, and writes the table."""
    workers = executor(args)
    try:
        table = driver.run(workers, workers.cores, progress)
    finally:
        workers.close()
    save(table, args.out)
    report(table, args.out, args.json)


def save(table: Table, out: Path) -> None:
    """Writes the table, with the command that made it."""
    file = json.loads(table.to_json())
    file["provenance"]["command"] = shlex.join(["python", "-m", "tcpexmachina.distributed", *sys.argv[1:]])
    Table.from_json(json.dumps(file)).save(out)


def report(table: Table, out: Path, as_json: bool) -> None:
    """Prints what was made."""
    file = json.loads(table.to_json())["provenance"]
    score = file.get("held_out_score", {}).get("mean")
    if as_json:
        result = {"table": str(out), "rules": len(table), "held_out_score": score, "cpu_seconds": file["cpu_seconds"]}
        print(json.dumps(result))
    else:
        scored = "" if score is None else f", held-out score {score:.3f}"
        print(f"{out}: {len(table)} rules{scored}, {file['cpu_seconds']:.1f} s of CPU time in the search")


class Progress:
    """A line about each step, with an estimate of what is left."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._began, self._first = budget, time.monotonic(), 0

    def __call__(self, step: Step) -> None:
        self._first = self._first or step.number - 1
        text = f"step {step.number}: score {step.score:.3f}, {step.rules} rules, {step.cpu_s:.0f} s of CPU time"
        if self._budget.steps is not None:
            each = (time.monotonic() - self._began) / (step.number - self._first)
            text += f", {_spoken(each * (self._budget.steps - step.number))} left, then hardening"
        is_terminal = sys.stderr.isatty()
        print(f"\r\x1b[K{text}" if is_terminal else text, end="" if is_terminal else "\n", file=sys.stderr, flush=True)
        if is_terminal and self._budget.steps == step.number:
            print(file=sys.stderr)


def _spoken(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 100 else f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command."""
    args = parser().parse_args(arguments)
    code = USAGE
    try:
        begun = begin(args)
        code = FAILED
        run(args, *begun)
    except Error as problem:
        print(f"error: {problem}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        print("interrupted; the checkpoint is written: go on with --resume", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
