"""Collective algorithms by name. A new one is a file and a line here: what it can do is said by itself."""

from __future__ import annotations

from trnbench_emulator.fabric.algorithms.algorithm import Algorithm, OverInstances
from trnbench_emulator.fabric.algorithms.bucket import Bucket
from trnbench_emulator.fabric.algorithms.exchange import Direct, Mesh, Pairwise, SingleStepMesh
from trnbench_emulator.fabric.algorithms.halving import HalvingDoubling
from trnbench_emulator.fabric.algorithms.hierarchical import Hierarchical
from trnbench_emulator.fabric.algorithms.instances import (
    FlatRings,
    InstanceDirect,
    InstanceShift,
    InstanceTree,
)
from trnbench_emulator.fabric.algorithms.kangaring import Kangaring
from trnbench_emulator.fabric.algorithms.ring import Ring, Shift
from trnbench_emulator.fabric.algorithms.scatter import ScatterGather, Tree
from trnbench_emulator.fabric.algorithms.switch import SwitchDirect

ALGORITHMS: dict[str, Algorithm] = {
    each.name: each
    for each in (
        Ring("ring-1", directions=1, cycles=1),
        Ring("ring-2", directions=2, cycles=1),
        Ring("ring"),
        Bucket("bucket-1", ports="one"),
        Bucket("bucket-2", ports="two"),
        Bucket("bucket", ports="all"),
        Mesh(),
        SingleStepMesh(),
        HalvingDoubling(),
        Kangaring(),
        SwitchDirect("switch-direct"),
        SwitchDirect("switch-direct-all", lanes=0),
        Hierarchical("hierarchical-ring", outer="ring"),
        Hierarchical("hierarchical-rdh", outer="rdh"),
        Hierarchical("hierarchical-mesh", outer="mesh"),
        ScatterGather(),
        Tree(),
        Direct(),
        Pairwise(),
        Shift(),
    )
}

OVER_INSTANCES: dict[str, OverInstances] = {
    each.name: each
    for each in (
        Hierarchical("hierarchical-rdh", outer="rdh"),
        Hierarchical("hierarchical-ring", outer="ring"),
        Hierarchical("hierarchical-mesh", outer="mesh"),
        FlatRings(),
        InstanceTree(),
        InstanceDirect(),
        InstanceShift(),
    )
}
"""Of a cluster, whose instances a few stand for."""
