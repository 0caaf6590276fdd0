"""The same links and algorithms as other simulators: equal where the models are, apart where we say so.

Times in ns from runs of SimGrid 3.32 (fluid model CM02, cross-traffic off) and ASTRA-sim (analytical,
congestion aware, one chunk) on test links: rings and 4×4 torus 128 GB/s and 1,000 ns per direction, a
switch of 64 ports 1,024 GB/s with 500 ns per link. Only numbers; docs/fabric.md says why they differ.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.solve import solve

MIB, GIB = 2**20, 2**30
Make = Callable[..., Network]

# collective, topology, size, our algorithm, their ns
EQUAL = [
    ("all_gather", "ring16", MIB, "ring-1", 22680.0),
    ("all_gather", "ring16", GIB, "ring-1", 7879320.0),
    ("reduce_scatter", "ring16", GIB, "ring-1", 7879320.0),
    ("all_reduce", "ring16", MIB, "ring-1", 45360.0),
    ("all_reduce", "ring16", GIB, "ring-1", 15758640.0),
    ("all_reduce", "switch64", MIB, "ring-1", 128016.0),
    ("all_reduce", "switch64", GIB, "ring-1", 2190384.0),
    ("all_reduce", "switch64", MIB, "mesh", 4016.0),
    ("all_reduce", "switch64", GIB, "mesh", 2066384.0),
    ("all_gather", "switch64", GIB, "mesh", 1033192.0),
    ("all_to_all", "switch64", MIB, "direct", 2008.0),
    ("all_to_all", "switch64", GIB, "direct", 1033192.0),
    ("all_to_all", "switch64", GIB, "pairwise", 1095192.0),
]

# ours against theirs: the factor that they are slower, and the bound that we reach
APART = [
    ("all_to_all", "ring16", GIB, "direct", 18875368.0, 1.125),  # half-way partners all sent one way round
    ("all_to_all", "torus4x4", GIB, "direct", 6292456.0, 1.5),
    ("all_reduce", "torus4x4", GIB, "bucket", 25182662.0, 6.4),  # one dimension at a time, in full each
    ("all_reduce", "torus4x4", GIB, "ring", 15788640.0, 4.0),  # one cycle one way round; we use four
]


def network(topology: str, torus: Make, switch: Make) -> Network:
    made = {"ring16": lambda: torus(16), "torus4x4": lambda: torus(4, 4), "switch64": lambda: switch(64)}
    return made[topology]()


@pytest.mark.parametrize(("collective", "topology", "size", "algorithm", "theirs"), EQUAL)
def test_equal_models_give_equal_times(
    collective: str, topology: str, size: int, algorithm: str, theirs: float, torus: Make, switch: Make
) -> None:
    net = network(topology, torus, switch)
    found = solve(net, ALGORITHMS[algorithm].schedule(net, collective, size))
    assert found.time_s * 1e9 == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(("collective", "topology", "size", "algorithm", "theirs", "ratio"), APART)
def test_where_models_differ_the_factor_is_the_one_explained(
    collective: str,
    topology: str,
    size: int,
    algorithm: str,
    theirs: float,
    ratio: float,
    torus: Make,
    switch: Make,
) -> None:
    net = network(topology, torus, switch)
    found = solve(net, ALGORITHMS[algorithm].schedule(net, collective, size))
    assert theirs / (found.time_s * 1e9) == pytest.approx(ratio, rel=0.01)
