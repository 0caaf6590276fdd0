"""What no algorithm beats, by the formulas of the literature on links that are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trnbench.facts.fact import Scope
from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.bound import bound_of, pattern_bound, uneven_bound
from trnbench_emulator.fabric.constants import constants_of
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.options import Options
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.systems import fabric_of

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
