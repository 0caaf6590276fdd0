"""Groups on the grid of ranks, and several collectives at once."""

from __future__ import annotations

import pytest
from fabric_question import GIB, run

from trnbench.registry import Registry
from trnbench_emulator.fabric.question import Beside
from trnbench_emulator.fabric.systems import Fabric, Options


def test_groups_lie_on_the_grid_of_ranks(registry: Registry) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"))
    sizes = {"data": 4, "tensor": 4}
    assert fabric.groups(sizes, "tensor")[:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert fabric.groups(sizes, "data")[:2] == [[0, 4, 8, 12], [1, 5, 9, 13]]
    row = run(fabric, "all_reduce", GIB, ranks=(0, 1, 2, 3), algorithm="ring")
    assert (row.ranks, row.factor) == (4, 1.5)


def test_a_collective_beside_another_takes_longer_and_says_how_much(registry: Registry) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"), Options(ideal=True))
    alone = run(fabric, "all_reduce", GIB, algorithm="ring")
    same = run(
        fabric,
        "all_reduce",
        GIB,
        beside=(Beside(collective="all_reduce", size=GIB, algorithm="ring"),),
        algorithm="ring",
    )
    # All but the latency, which they do not share.
    assert same.time_s == pytest.approx(2 * alone.time_s - alone.latency_s, rel=1e-6)
    assert same.notes[-2:] == ("beside all_reduce of 1,073,741,824 B by ring", "1.98 times as long as alone")
    assert same.waterfall.total == round(same.time_s * 1e12)
    assert same.waterfall.contention >= alone.waterfall.contention
    assert all(each.utilisation <= 1 + 1e-9 for each in same.hottest)
    # What ends soon frees its links: half of the other's bytes cost half of its time.
    short = run(
        fabric,
        "all_reduce",
        GIB,
        beside=(Beside(collective="all_reduce", size=GIB / 2, algorithm="ring"),),
        algorithm="ring",
    )
    assert short.time_s == pytest.approx(1.5 * alone.time_s, rel=2e-2)
    # Rows of the torus have links of their own.
    rows = ((0, 1, 2, 3), (4, 5, 6, 7))
    one = run(
        fabric,
        "all_reduce",
        GIB,
        beside=(Beside(collective="all_reduce", size=GIB, algorithm="ring", groups=rows[1:]),),
        algorithm="ring",
        groups=rows[:1],
    )
    assert one.notes[-1] == "1.00 times as long as alone"
