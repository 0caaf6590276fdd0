"""Whether an algorithm can do a collective here, without carrying it out."""

from __future__ import annotations

from trnbench.emulator.fabric import cluster
from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import COLLECTIVES
from trnbench.emulator.fabric.cluster_runner import runner_of
from trnbench.emulator.fabric.systems import Fabric


def names(fabric: Fabric) -> tuple[str, ...]:
    """Every algorithm that there is for such a system."""
    if not fabric.clustered:
        return tuple(ALGORITHMS)

    return tuple(dict.fromkeys(name for each in COLLECTIVES for name in cluster.algorithms(each)))


def meant(fabric: Fabric, collective: str, algorithm: str) -> bool:
    """Whether the algorithm is one for this collective at all."""
    if fabric.clustered:
        return algorithm in cluster.algorithms(collective)
    return collective in ALGORITHMS[algorithm].collectives


def plan(fabric: Fabric, collective: str, algorithm: str, size: float) -> int:
    """Steps of the longest chain. Raises NotPossible where this system does not allow it."""
    return runner_of(fabric, collective, size).schedule(algorithm).steps
