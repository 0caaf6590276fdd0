"""Schedules made from schedules: in the ranks of a group, of several at once, with uneven parts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.solve import solve
from trnbench_emulator.fabric.transform import fractions, side_by_side, spread, with_shares

Make = Callable[..., Network]
GROUPS = ((0, 2, 4), (1, 3, 5))
PARTS = (0.5, 0.25, 0.0)


def one_step(*pairs: tuple[int, int]) -> Schedule:
    step = Step(moves=(Move(size=0.5, pairs=pairs, writes=2.0),), times=3)
    return Schedule(
        algorithm="some", chains=((step,),), startup_s=1e-6, note="a note", key="some 4", scale=8.0
    )


def test_a_plan_of_a_part_is_spread_over_its_ranks_of_the_whole(torus: Make) -> None:
    part = torus(4)
    planned = spread(one_step((0, 1), (3, 2)), part, (7, 5, 9, 2))
    ((step,),) = planned.chains
    assert step.moves[0].pairs == ((7, 5), (2, 9))
    assert (step.times, step.moves[0].writes, planned.scale, planned.startup_s) == (3, 2.0, 8.0, 1e-6)
    assert planned.key == ""  # what was found out about the plan of the part holds for it alone
    (forward,) = part.symmetry.offset(0, 1) if part.symmetry else ()
    turned = Schedule(algorithm="some", chains=((Step(moves=(Move(size=1.0, offset=(forward,)),)),),))
    ((step,),) = spread(turned, part, (7, 5, 9, 2)).chains
    assert step.moves[0].offset is None
    assert sorted(step.moves[0].pairs) == [(2, 7), (5, 9), (7, 5), (9, 2)]


def test_plans_of_groups_run_side_by_side() -> None:
    both = side_by_side([one_step((0, 1)), one_step((2, 3))], 2)
    assert [chain[0].moves[0].pairs for chain in both.chains] == [((0, 1),), ((2, 3),)]
    assert both.note == "2 groups of 2 at once; a note"
    assert both.key == ""


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (True, {0.5: {(0, 2), (0, 4), (1, 3), (1, 5)}, 0.25: {(2, 0), (2, 4), (3, 1), (3, 5)}}),
        (False, {0.5: {(2, 0), (4, 0), (3, 1), (5, 1)}, 0.25: {(0, 2), (4, 2), (1, 3), (5, 3)}}),
    ],
)
def test_a_message_is_as_large_as_the_part_that_it_carries(
    sent: bool, expected: dict[float, set[tuple[int, int]]], torus: Make
) -> None:
    pairs = [(a, b) for group in GROUPS for a in group for b in group if a != b]
    ((step,),) = with_shares(one_step(*pairs), torus(6), GROUPS, PARTS, sent=sent).chains
    assert {move.size: set(move.pairs) for move in step.moves} == expected
    assert all(move.writes == 2.0 for move in step.moves)
    assert step.times == 1


def test_a_hot_receiver_is_not_a_hot_sender(torus: Make) -> None:
    """Where one half of a cable is slow the two differ: who has the large part matters."""
    network = Network(torus(4).topology, scale={(1, 0): 0.5, (3, 0): 0.5})
    plan = ALGORITHMS["direct"].schedule(network, "all_to_all", 1.0)
    times = [
        solve(network, with_shares(plan, network, (range(4),), (0.7, 0.1, 0.1, 0.1), sent=sent)).latency_s
        for sent in (True, False)
    ]
    large = [
        solve(network, Schedule(algorithm="direct", chains=shared.chains, scale=2.0**30)).time_s
        for sent in (True, False)
        for shared in (with_shares(plan, network, (range(4),), (0.7, 0.1, 0.1, 0.1), sent=sent),)
    ]
    assert times[0] == times[1]
    assert large[1] > 1.5 * large[0]


def test_shares_are_parts_of_one() -> None:
    assert fractions((3, 1, 0)) == (0.75, 0.25, 0.0)
    assert sum(fractions([1e300, 1e300])) == 1.0
