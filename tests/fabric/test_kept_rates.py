"""What a network keeps between messages changes no answer."""

from __future__ import annotations

from collections.abc import Callable

from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.solve import solve

SIZES = (2.0**10, 2.0**24, 2.0**30)


def test_a_used_network_answers_like_a_new_one(torus: Callable[..., Network]) -> None:
    used = torus(4, 4)
    for name in ("ring", "rdh", "mesh", "tree"):
        for size in SIZES:
            again = solve(used, ALGORITHMS[name].schedule(used, "all_reduce", size), use_symmetry=False)
            new = torus(4, 4)
            once = solve(new, ALGORITHMS[name].schedule(new, "all_reduce", size), use_symmetry=False)
            assert again.total_ticks == once.total_ticks


def test_free_memory_keeps_no_rates_of_memory_that_is_not(torus: Callable[..., Network]) -> None:
    plain = torus(4, 4)
    bound = Network(plain.topology, memory=1e9)
    schedule = ALGORITHMS["rdh"].schedule(bound, "all_reduce", 2.0**28)
    slow = solve(bound, schedule)
    free = solve(bound.with_free_memory, schedule)
    assert free.total_ticks == solve(plain, schedule).total_ticks
    assert slow.total_ticks > 5 * free.total_ticks
