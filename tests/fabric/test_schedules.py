"""Schedules made from schedules: in the ranks of a group, of several at once, with uneven parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trnbench.facts.fact import Scope
from trnbench.registry import load_registry
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.bound import bound_of, pattern_bound, uneven_bound
from trnbench_emulator.fabric.constants import constants_of
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import Options
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.solve import solve
from trnbench_emulator.fabric.systems import fabric_of
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
def test_a_message_is_as_large_as_the_part_that_it_carries(sent: bool, expected: Any, torus: Make) -> None:
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


# What no algorithm beats, by the formulas of the literature on links that are known ------------------

SIZE, B, A = 2.0**30, 128e9, 1e-6
FOUR = 4 * B  # four cables leave a device of a 4×4 torus

BOUNDS = {
    "all_reduce": 2 * 15 / 16 * SIZE / FOUR,
    "all_gather": 15 / 16 * SIZE / FOUR,
    "reduce_scatter": 15 / 16 * SIZE / FOUR,
    "all_to_all": 15 / 16 * SIZE / FOUR,
    "broadcast": SIZE / FOUR,
    "reduce": SIZE / FOUR,
    "permute": SIZE / FOUR,
}


@pytest.mark.parametrize("collective", BOUNDS)
def test_bytes_that_must_leave_a_device(collective: str, torus: Callable[..., Network]) -> None:
    bound = bound_of(torus(4, 4), collective, SIZE, 16, clustered=False)
    assert bound.bandwidth_s == pytest.approx(BOUNDS[collective], rel=1e-12)
    # The opposite corner is four links away; a permute may stay with neighbours.
    assert bound.latency_s == pytest.approx(A if collective == "permute" else 4 * A)
    assert bound.time_s == bound.bandwidth_s
    assert bound_of(torus(4, 4), collective, 8.0, 16, clustered=False).time_s == bound.latency_s


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "all_to_all"])
def test_ranks_of_one_device_share_what_leaves_it(collective: str, torus: Callable[..., Network]) -> None:
    topology = torus(4, 4).topology
    network = Network(topology, shared=[rank // 2 for rank in range(16)])
    bound = bound_of(network, collective, SIZE, 16, clustered=False)
    wide = {"all_reduce": 2 * 7 / 8, "all_gather": 7 / 8, "all_to_all": 2 * 7 / 8}[collective]
    inside = BOUNDS[collective]
    assert bound.bandwidth_s == pytest.approx(max(inside, wide * SIZE / FOUR), rel=1e-12)


def test_uneven_parts_bind_where_most_is_held_or_sent(torus: Callable[..., Network]) -> None:
    network, shares = torus(4), (0.7, 0.1, 0.1, 0.1)
    gathered = uneven_bound(network, "all_gather", SIZE, shares, clustered=False)
    # Nine tenths enter whoever holds a tenth; two cables lead to a device of a ring.
    assert gathered.bandwidth_s == pytest.approx(0.9 * SIZE / (2 * B))
    sent = uneven_bound(network, "all_to_all", SIZE, shares, clustered=False)
    assert sent.bandwidth_s == pytest.approx(3 * 0.7 * SIZE / (2 * B))
    assert gathered.latency_s == sent.latency_s == pytest.approx(2 * A)


def test_messages_bind_their_busiest_end(torus: Callable[..., Network]) -> None:
    network = torus(4)
    move = Move(size=1.0, pairs=((1, 0), (2, 0), (3, 0)))
    bound = pattern_bound(network, Schedule(algorithm="direct", chains=((Step(moves=(move,)),),), scale=SIZE))
    assert bound.bandwidth_s == pytest.approx(3 * SIZE / (2 * B))
    assert bound.latency_s == pytest.approx(2 * A)


def test_a_bound_is_made_of_documented_figures_alone() -> None:
    """Half of what adapters carry by a fit is no bound, nor is an assumed latency; half of what a network
    that is shared carries is."""
    system = load_registry().system("trn1-ultracluster:2")
    size, instances = 2.0**30, 2
    answers = {
        shared: ask(fabric_of(system, Options(oversubscription=shared)).question("all_reduce", size))
        for shared in (1.0, 2.0)
    }
    adapters = system.book.value(system.instance.parent, "efa_adapter_count", scope=Scope.INSTANCE)
    documented = float(adapters) * 12.5e9
    promised = 2 * (instances - 1) / instances * size / documented
    assert answers[1.0].bound.time_s == pytest.approx(promised, rel=1e-9)
    assert answers[2.0].bound.time_s == pytest.approx(2 * promised, rel=1e-9)
    fitted = constants_of(system.costs).efa_efficiency
    assert 0 < fitted < 1
    waterfall = answers[1.0].waterfall
    assert waterfall.endpoint >= (1 / fitted - 1) * waterfall.ideal * 0.999
    assert ask(fabric_of(system).question("all_reduce", 8.0)).bound.latency_s == 0.0


def test_no_rank_beats_the_bound_of_its_dma_engines() -> None:
    """Two ranks of a device, alone or as a group: the fitted stream of one to the other is no bound."""
    system = load_registry().system("trn1.32xlarge")
    fabric = fabric_of(system, Options(level="core"))
    for question in ({"ranks": (0, 1)}, {"groups": ((0, 1),)}, {"groups": ((0, 1), (2, 3))}):
        answer = ask(fabric.question("all_reduce", 2.0**28, **question))
        assert answer.bound.time_s <= answer.time_s
