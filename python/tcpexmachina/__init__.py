"""Congestion control that is computed: simulate networks, compare and score controllers, design rule tables."""

from ._columns import Columns
from ._core import (
    Ack,
    Congestion,
    Designer,
    Error,
    Model,
    Policy,
    Rule,
    Scenario,
    Start,
    Step,
    Table,
    Trace,
)
from ._network import Bottleneck, Controller, Flow
from ._results import Check, Comparison, Counterexample, Report, Scores
from ._show import Warning
from ._verbs import check, compare, design, falsify, score, simulate

__all__ = [
    "Ack",
    "Bottleneck",
    "Check",
    "Columns",
    "Comparison",
    "Congestion",
    "Controller",
    "Counterexample",
    "Designer",
    "Error",
    "Flow",
    "Model",
    "Policy",
    "Report",
    "Rule",
    "Scenario",
    "Scores",
    "Start",
    "Step",
    "Table",
    "Trace",
    "Warning",
    "check",
    "compare",
    "design",
    "falsify",
    "score",
    "simulate",
]
