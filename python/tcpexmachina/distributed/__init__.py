"""Designs on many machines: the rounds of a search are simulated by workers, and added up here.

A table is the same, to the bit, as one designed on one machine, whatever the number of workers and whichever of them
die. `Processes` are workers of this machine, and `RayCluster` those of a cluster.
"""

from ._driver import Design, design, study
from ._executor import Executor, Processes
from ._ray import RayCluster

__all__ = ["Design", "Executor", "Processes", "RayCluster", "design", "study"]
