"""Whether an algorithm can do a collective here, without carrying it out."""

from __future__ import annotations

from trnbench.emulator.fabric import cluster
from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import PERMUTE
from trnbench.emulator.fabric.collective import _ClusterRunner, _Runner
from trnbench.emulator.fabric.systems import Fabric

SHIFT = "shift"
"""What a permute does where no algorithm is needed."""


def names(fabric: Fabric) -> tuple[str, ...]:
    """Every algorithm that there is for such a system."""
    if not fabric.clustered:
        return (*ALGORITHMS, SHIFT)
    from trnbench.emulator.fabric.algorithms.algorithm import COLLECTIVES

    return tuple(dict.fromkeys(name for each in COLLECTIVES for name in cluster.algorithms(each)))


def meant(fabric: Fabric, collective: str, algorithm: str) -> bool:
    """Whether the algorithm is one for this collective at all."""
    if fabric.clustered:
        return algorithm in cluster.algorithms(collective)
    if algorithm == SHIFT:
        return collective == PERMUTE
    return collective in ALGORITHMS[algorithm].collectives


def plan(fabric: Fabric, collective: str, algorithm: str, size: float) -> int:
    """Steps of the longest chain. Raises NotPossible where this system does not allow it."""
    runner = (
        _ClusterRunner(fabric, collective, size)
        if fabric.clustered
        else _Runner(fabric, fabric.network, collective, size)
    )
    return runner._schedule(algorithm).steps
