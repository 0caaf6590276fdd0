"""What a network keeps between messages changes no answer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.flow import Flow
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.rates import Rates
from trnbench_emulator.fabric.solve import solve

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


def test_rates_do_not_depend_on_what_was_asked_before() -> None:
    """Shares that add up differently in another order: a third, a tenth and a seventh of one link."""
    flows = [Flow(1.0, np.zeros(1, np.intp), np.array([share])) for share in (1 / 3, 0.1, 1 / 7)]
    capacity = np.array([1e9])

    def asked(order: tuple[int, ...]) -> dict[int, float]:
        rates = Rates(capacity)
        mixes = {number: rates.name(flows[number]) for number in order}
        found, _ = rates.of(tuple(mixes[number] for number in order))
        return dict(zip(order, found, strict=True))

    first = asked((0, 1, 2))
    assert all(asked(order) == first for order in permutations(range(3)))


def test_equal_mixes_are_one_however_often_they_are_made() -> None:
    rates = Rates(np.array([90.0, 50.0]))
    one, same = (Flow(1.0, np.arange(2), np.array([1.0, 0.5])) for _ in range(2))
    other = Flow(1.0, np.arange(1), np.array([1.0]))
    assert rates.name(one) == rates.name(same) != rates.name(other)
    # All three share the first resource; the second is not full.
    assert rates.of((rates.name(one), rates.name(other), rates.name(same))) == ([30.0] * 3, False)
